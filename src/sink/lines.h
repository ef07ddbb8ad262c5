/* SPDX-License-Identifier: MIT
 * GPUs below a line of figures of the machine. */
#pragma once

#include "sink/sink.h"

/* A line for each GPU that was read in this sample: what has a heading in the table of metrics and
 * is known. How many lines. */
unsigned lines_gpus(struct sink *s, const struct frame *f);
