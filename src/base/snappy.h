/* SPDX-License-Identifier: MIT
 * Compresses a block as snappy does, which is how remote write wants its protocol buffers. */
#pragma once

#include "base/buf.h"

void snappy_compress(struct buf *b, const char *data, size_t length);
