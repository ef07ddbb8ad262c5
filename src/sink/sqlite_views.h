/* SPDX-License-Identifier: MIT
 * Views of a SQLite file for people: names instead of numbers, base units, times of day. */
#pragma once

#include "base/buf.h"

/* SQL that makes all of them anew, ending with a semicolon. */
void sqlite_views_add(struct buf *b);
