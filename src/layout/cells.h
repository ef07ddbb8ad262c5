/* SPDX-License-Identifier: MIT
 * Numbers as Python prints them, which is what the tools print whose layouts these are. */
#pragma once

#include "base/text/buf.h"

/* As repr(float) and json.dumps: as few digits as give it again when read, always with a point or
 * an exponent: 0.1, 63.0, 1e-05, 1e+16. */
void python_float(struct buf *b, double value);

/* Rounded to so many decimals as round(value, decimals) does. */
double python_round(double value, unsigned decimals);

/* A whole number, the nearest. */
void python_integer(struct buf *b, double value);
