/* SPDX-License-Identifier: MIT */
#include "base/err.h"

#include "base/secrets.h"
#include "base/utf8.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* A sentence quotes words of the user and of files: no secret and no control character of theirs
 * gets into it. */
static void make_harmless(struct toll_error *e)
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
    make_harmless(e);
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
    make_harmless(e);
    e->code = code;
    return code;
}
