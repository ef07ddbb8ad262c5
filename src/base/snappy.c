/* SPDX-License-Identifier: MIT */
#include "base/snappy.h"

#include "base/protobuf.h"

enum { LITERAL_OF_TWO_BYTES = 61 << 2, LONGEST_LITERAL = 65536 };

void snappy_wrap(struct buf *b, const char *data, size_t length)
{
    protobuf_add_varint(b, length);
    while (length) {
        size_t part = min_u64(length, LONGEST_LITERAL);
        char head[] = {(char)LITERAL_OF_TWO_BYTES, (char)(part - 1), (char)((part - 1) >> 8)};
        buf_add(b, head, sizeof head);
        buf_add(b, data, part);
        data += part;
        length -= part;
    }
}
