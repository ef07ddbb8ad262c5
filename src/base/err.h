/* SPDX-License-Identifier: MIT
 * Errors of set-up calls: a code and one sentence for the user. The hot path uses codes alone. */
#pragma once

#include "base/util.h"
#include "toll.h"

#include <stddef.h>

/* ==== Err ===================================================================================== */

/* Writes the sentence and returns the code, so that `return err_set(e, -EINVAL, …)` reads well.
 * e may be NULL. */
int err_set(struct toll_error *e, int code, const char *format, ...) PRINTF_LIKE(3, 4);

/* For a call whose ret is NULL. */
static inline int err_set_no_place(struct toll_error *e)
{
    return err_set(e, -EINVAL, "ret is NULL (expected a place for the result)");
}

/* Puts "outer: " before the sentence that is there, and returns the code. */
int err_wrap(struct toll_error *e, int code, const char *format, ...) PRINTF_LIKE(3, 4);

/* ==== Sized =================================================================================== */

/* Structs of the public API that may grow: they begin with their size. */

/* Copies a program's struct into *ret, of `known` bytes; fields that the program does not have are
 * zero, and so is all of it for NULL. `what` is its name in errors ("options"). -EINVAL when the
 * size is not set, -E2BIG when a field that is not known here is set. */
int sized_take(void *ret, size_t known, const void *asked, const char *what, struct toll_error *e);

/* Copies *from into a program's struct as far as there is room, except for the size. */
void sized_give(void *ret, const void *from, size_t known);

/* -EINVAL when the size is not set. */
int sized_check(const void *asked, const char *what, struct toll_error *e);

/* ==== Suggestion ============================================================================== */

/* "Did you mean": the known word that is nearest to one that was mistyped. */

enum { SUGGESTION_BYTES = 64 };

/* One search; all known words are offered, then the text goes behind the error. */
struct suggestion {
    const char *typed;           /* borrowed */
    size_t distance;             /* of the best so far */
    char word[SUGGESTION_BYTES]; /* the best so far, "" while none is near enough */
    char text[SUGGESTION_BYTES + 24];
};

void suggestion_begin(struct suggestion *s, const char *typed);

/* A word that begins with what was typed is nearer than others; of several that are equally near
 * the first one stays. */
void suggestion_offer(struct suggestion *s, const char *known);

/* " (did you mean 'doctor'?)", or "" when nothing is near. Valid as long as s is. */
const char *suggestion_text(struct suggestion *s);

/* How many letters to insert, remove, replace or swap with their neighbour to make one word of the
 * other, upper and lower case being the same; SIZE_MAX for words of SUGGESTION_BYTES and more. */
size_t suggestion_distance(const char *a, const char *b);
