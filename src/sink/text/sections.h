/* SPDX-License-Identifier: MIT
 * GPUs in a summary for people. */
#pragma once

#include "sink/text/table.h"

/* A table of them, unless it stands among the things of the machine; how long each had nothing to
 * do; the energy of the run. Nothing where none was read. */
void text_gpus(struct sink *s, const struct summary *summary, bool has_table);
