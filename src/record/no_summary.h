/* SPDX-License-Identifier: MIT
 * The summary of a run whose record has none: what its samples came to. */
#pragma once

#include "record/being_written.h"
#include "record/reading.h"

/* Completes reading->summary. Returns a sentence on what is missing, and why, which is a note of it
 * too. */
const char *no_summary_make(struct reading *r, enum writer writer, bool is_sqlite);
