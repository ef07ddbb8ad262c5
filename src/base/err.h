/* SPDX-License-Identifier: MIT
 * Errors of set-up calls: a code and one sentence for the user. The hot path uses codes alone. */
#pragma once

#include "base/util.h"
#include "toll.h"

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
