/* SPDX-License-Identifier: MIT
 * A tracking file in CSV, made one in SQLite: a table "static_data" and a table "data". */
#pragma once

#include "toll.h"

/* Takes the place of a file that is there, as a whole. */
int points_to_sqlite(const char *csv, const char *sqlite, struct toll_error *e);
