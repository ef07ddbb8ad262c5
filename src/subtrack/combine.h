/* SPDX-License-Identifier: MIT
 * Sub-tracking files made one, and files of that kind written. */
#pragma once

#include "toll.h"

/* All rows of all files, in their order, into a file that is not there yet and has the same suffix.
 * It comes into being whole or not at all. files: NULL behind the last. */
int combine_blocks(const char *destination, const char *const *files, struct toll_error *e);
