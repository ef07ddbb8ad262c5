/* SPDX-License-Identifier: MIT */
#include "base/sized.h"

#include "base/err.h"
#include "base/util.h"

static size_t size_of(const void *asked)
{
    size_t size;
    memcpy(&size, asked, sizeof size);
    return size;
}

int sized_check(const void *asked, const char *what, struct toll_error *e)
{
    return size_of(asked) < sizeof(size_t)
               ? err_set(e, -EINVAL,
                         "the size of the %s is not set: it is the sizeof of the struct", what)
               : 0;
}

static bool is_zero(const unsigned char *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (bytes[i])
            return false;
    return true;
}

int sized_take(void *ret, size_t known, const void *asked, const char *what, struct toll_error *e)
{
    memset(ret, 0, known);
    if (!asked)
        return 0;
    int r = sized_check(asked, what, e);
    if (r < 0)
        return r;
    size_t size = size_of(asked);
    if (size > known && !is_zero((const unsigned char *)asked + known, size - known))
        return err_set(e, -E2BIG, "there is something in the %s that libtoll %s does not know",
                       what, TOLL_VERSION);
    memcpy(ret, asked, min_u64(size, known));
    return 0;
}

void sized_give(void *ret, const void *from, size_t known)
{
    size_t size = size_of(ret);
    if (size <= sizeof size)
        return;
    memcpy((char *)ret + sizeof size, (const char *)from + sizeof size,
           min_u64(size, known) - sizeof size);
}
