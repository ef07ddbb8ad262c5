/* SPDX-License-Identifier: MIT */
#pragma once

#include "sink/sink.h"

/* A line for each output that was sent somewhere: what arrived, and what did not. */
void text_outputs(struct sink *s, const struct summary *summary);
