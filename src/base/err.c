/* SPDX-License-Identifier: MIT */
#include "base/err.h"

#include "base/text/buf.h"
#include "base/text/secrets.h"
#include "base/util.h"

#include <ctype.h>
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

/* ==== Suggestion ============================================================================== */

/* Optimal string alignment; three rows of the matrix are enough, since a swap looks two back. */
size_t suggestion_distance(const char *a, const char *b)
{
    size_t rows[3][SUGGESTION_BYTES];
    size_t *before = rows[0], *above = rows[1], *row = rows[2];
    size_t rows_count = strlen(a), columns = strlen(b);
    if (rows_count >= SUGGESTION_BYTES || columns >= SUGGESTION_BYTES)
        return SIZE_MAX;
    for (size_t j = 0; j <= columns; j++)
        above[j] = j;
    for (size_t i = 1; i <= rows_count; i++) {
        row[0] = i;
        for (size_t j = 1; j <= columns; j++) {
            int here = tolower((unsigned char)a[i - 1]), there = tolower((unsigned char)b[j - 1]);
            size_t best = min_u64(min_u64(above[j], row[j - 1]) + 1,
                                  above[j - 1] + (here != there));
            if (i > 1 && j > 1 && here == tolower((unsigned char)b[j - 2]) &&
                there == tolower((unsigned char)a[i - 2]))
                best = min_u64(best, before[j - 2] + 1);
            row[j] = best;
        }
        size_t *oldest = before;
        before = above;
        above = row;
        row = oldest;
    }
    return above[columns];
}

void suggestion_begin(struct suggestion *s, const char *typed)
{
    size_t length = strlen(typed);
    *s = (struct suggestion){.typed = typed};
    s->distance = (length < 2 ? 0 : length < 6 ? 1 : length < 9 ? 2 : 3) + 1;
}

void suggestion_offer(struct suggestion *s, const char *known)
{
    enum { ABBREVIATION_BYTES = 3 };
    size_t length = strlen(s->typed);
    size_t distance = suggestion_distance(s->typed, known);
    if (length >= ABBREVIATION_BYTES && strncasecmp(known, s->typed, length) == 0)
        distance = 0; /* an abbreviation is no mistake */
    if (distance >= s->distance || strlen(known) >= sizeof s->word)
        return;
    s->distance = distance;
    snprintf(s->word, sizeof s->word, "%s", known);
}

const char *suggestion_text(struct suggestion *s)
{
    s->text[0] = '\0';
    if (*s->word)
        snprintf(s->text, sizeof s->text, " (did you mean '%s'?)", s->word);
    return s->text;
}
