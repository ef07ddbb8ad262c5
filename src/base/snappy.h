/* SPDX-License-Identifier: MIT
 * A block of snappy, as it is asked for by those who take protocol buffers in it. */
#pragma once

#include "base/buf.h"

/* Adds a block that holds the data as it is: valid, and not smaller. */
void snappy_wrap(struct buf *b, const char *data, size_t length);
