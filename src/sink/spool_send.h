/* SPDX-License-Identifier: MIT
 * Sends what an output has put aside in a spool. */
#pragma once

#include "toll.h"

/* As toll_send says. */
int spool_send(const char *path, const char *destination, struct toll_sent *ret,
               struct toll_error *e);
