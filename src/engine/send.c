/* SPDX-License-Identifier: MIT
 * toll_send: only one format puts aside what it cannot send. */
#include "base/err.h"
#include "base/sized.h"
#include "sink/mlflow_send.h"

int toll_send(const char *spool, const char *destination, struct toll_sent *ret,
              struct toll_error *e)
{
    struct toll_sent sent = {.size = sizeof sent};
    if (!spool || !*spool)
        return err_set(e, -EINVAL, "there is no file to send");
    int r = ret ? sized_check(ret, "what was sent", e) : 0;
    if (r < 0)
        return r;
    r = mlflow_send(spool, destination, &sent, e);
    if (ret)
        sized_give(ret, &sent, sizeof sent);
    return r;
}
