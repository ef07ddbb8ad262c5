/* SPDX-License-Identifier: MIT */
#include "base/err.h"

#include "base/text/buf.h"
#include "base/text/secrets.h"
#include "base/util.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* ==== Err ===================================================================================== */

/* A sentence quotes the user and files, whose secrets and control characters must not be shown. */
static void err_make_harmless(struct toll_error *e)
{
    secrets_mask_sentence(e->message, sizeof e->message);
    text_make_printable(e->message);
}

int err_set(struct toll_error *e, int code, const char *format, ...)
{
    if (!e)
        return code;
    va_list args;
    va_start(args, format);
    vsnprintf(e->message, sizeof e->message, format, args);
    va_end(args);
    err_make_harmless(e);
    e->code = code;
    return code;
}

int err_wrap(struct toll_error *e, int code, const char *format, ...)
{
    if (!e)
        return code;
    char inner[sizeof e->message];
    memcpy(inner, e->message, sizeof inner);
    va_list args;
    va_start(args, format);
    int outer = vsnprintf(e->message, sizeof e->message, format, args);
    va_end(args);
    size_t used = outer < 0 ? 0 : (size_t)outer;
    /* A sentence too long for the space is cut. */
    if (used < sizeof e->message &&
        snprintf(e->message + used, sizeof e->message - used, ": %s", inner) < 0)
        e->message[used] = '\0';
    err_make_harmless(e);
    e->code = code;
    return code;
}

/* ==== Sized =================================================================================== */

static size_t sized_size_of(const void *asked)
{
    size_t size;
    memcpy(&size, asked, sizeof size);
    return size;
}

int sized_check(const void *asked, const char *what, struct toll_error *e)
{
    return sized_size_of(asked) < sizeof(size_t)
               ? err_set(e, -EINVAL, "size of the %s is not set (expected sizeof of the struct)",
                         what)
               : 0;
}

int sized_take(void *ret, size_t known, const void *asked, const char *what, struct toll_error *e)
{
    memset(ret, 0, known);
    if (!asked)
        return 0;
    int r = sized_check(asked, what, e);
    if (r < 0)
        return r;
    size_t size = sized_size_of(asked);
    for (size_t i = known; i < size; i++)
        if (((const char *)asked)[i])
            return err_set(e, -E2BIG,
                           "unsupported field set in the %s (libtoll %s is too old for it)", what,
                           TOLL_VERSION);
    memcpy(ret, asked, min_u64(size, known));
    return 0;
}

void sized_give(void *ret, const void *from, size_t known)
{
    size_t size = sized_size_of(ret);
    if (size <= sizeof size)
        return;
    memcpy((char *)ret + sizeof size, (const char *)from + sizeof size,
           min_u64(size, known) - sizeof size);
}
