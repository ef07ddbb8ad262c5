/* SPDX-License-Identifier: MIT
 * Errors of set-up calls: a code and one sentence for the user. The hot path uses codes alone. */
#pragma once

#include "base/util.h"
#include "toll.h"

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
