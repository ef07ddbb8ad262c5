/* SPDX-License-Identifier: MIT
 * toll_send. */
#include "base/err.h"
#include "base/sized.h"
#include "sink/spool_send.h"

int toll_send(const char *spool, const char *destination, struct toll_sent *ret,
              struct toll_error *e)
{
    struct toll_sent sent = {.size = sizeof sent};
    if (!spool || !*spool)
        return err_set(e, -EINVAL, "there is no file to send");
    int r = ret ? sized_check(ret, "what was sent", e) : 0;
    if (r < 0)
        return r;
    r = spool_send(spool, destination, &sent, e);
    if (ret)
        sized_give(ret, &sent, sizeof sent);
    return r;
}
