/* SPDX-License-Identifier: MIT
 * Errors of set-up calls: a code and one sentence for the user. The hot path uses codes alone. */
#pragma once

#include "base/util.h"
#include "toll.h"

/* ==== Err ===================================================================================== */

/* Writes the sentence and returns the code, so that `return err_set(e, -EINVAL, …)` reads well.
 * e may be NULL. */
int err_set(struct toll_error *e, int code, const char *format, ...) PRINTF_LIKE(3, 4);

/* -EINVAL of a call whose result has nowhere to go: its ret is NULL. */
static inline int err_set_no_place(struct toll_error *e)
{
    return err_set(e, -EINVAL, "there is no place for the result: ret is NULL");
}

/* Puts "outer: " in front of the sentence already there, and returns its code. */
int err_wrap(struct toll_error *e, int code, const char *format, ...) PRINTF_LIKE(3, 4);

/* ==== Sized =================================================================================== */

/* Structs that programs fill in and that may grow: they begin with their size. */

/* Copies as much as both know into *ret, of `known` bytes; what the program does not know of is
 * zero. NULL is all zero. `what` is "options", say. -EINVAL when there is no size, -E2BIG when the
 * program asks for something that is not known here. */
int sized_take(void *ret, size_t known, const void *asked, const char *what, struct toll_error *e);

/* Copies as much as the program has room for out of *from, and leaves its size alone. */
void sized_give(void *ret, const void *from, size_t known);

/* Whether it has one. */
int sized_check(const void *asked, const char *what, struct toll_error *e);
