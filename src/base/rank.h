/* SPDX-License-Identifier: MIT
 * Who this process is in a parallel job, by what its launcher put into the environment. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* The rank as text ("0", "17"); false when nothing launched us that has ranks. */
bool rank_find(char *ret, size_t capacity);
