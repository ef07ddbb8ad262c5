/* SPDX-License-Identifier: MIT
 * Structs that programs fill in and that may grow: they begin with their size. */
#pragma once

#include "toll.h"

/* Copies as much as both know into *ret, of `known` bytes; what the program does not know of is
 * zero. NULL is all zero. `what` is "options", say. -EINVAL when there is no size, -E2BIG when the
 * program asks for something that is not known here. */
int sized_take(void *ret, size_t known, const void *asked, const char *what, struct toll_error *e);

/* Copies as much as the program has room for out of *from, and leaves its size alone. */
void sized_give(void *ret, const void *from, size_t known);

/* Whether it has one. */
int sized_check(const void *asked, const char *what, struct toll_error *e);
