/* SPDX-License-Identifier: MIT
 *
 * The format (google/snappy, format_description.txt): the length of the whole as a varint, then
 * elements. The low two bits of an element's first byte tell what it is:
 *
 *   00  a literal: (length - 1) << 2 up to 60 bytes; 60 << 2 or 61 << 2 and the length - 1 in one
 * or two bytes; then the bytes themselves 10  a copy of 1 to 64 bytes from before: (length - 1) <<
 * 2 | 2, then how far back in two bytes
 *
 * Data is taken in fragments of 64 KiB, so that two bytes are enough for any distance within one.
 */
#include "base/snappy.h"

#include "base/protobuf.h"

#include <string.h>

enum {
    FRAGMENT_BYTES = 65536,
    HASH_BITS = 12,
    SHORTEST_COPY = 4,
    LONGEST_COPY = 64,
    LITERAL_OF_ONE_BYTE = 60 << 2,
    LITERAL_OF_TWO_BYTES = 61 << 2,
};

static uint32_t load_four(const char *at)
{
    uint32_t four;
    memcpy(&four, at, sizeof four);
    return four;
}

static void add_literal(struct buf *b, const char *data, size_t length)
{
    if (!length)
        return;
    size_t less = length - 1;
    char head[] = {(char)LITERAL_OF_TWO_BYTES, (char)less, (char)(less >> 8)};
    if (less < 60) {
        buf_putc(b, (char)(less << 2));
    } else if (less < 256) {
        head[0] = (char)LITERAL_OF_ONE_BYTE;
        buf_add(b, head, 2);
    } else {
        buf_add(b, head, 3);
    }
    buf_add(b, data, length);
}

static void add_copy(struct buf *b, size_t distance, size_t length)
{
    while (length) {
        size_t part = min_u64(length, LONGEST_COPY);
        char element[] = {(char)((part - 1) << 2 | 2), (char)distance, (char)(distance >> 8)};
        buf_add(b, element, sizeof element);
        length -= part;
    }
}

/* The last place of each four bytes is looked up by their hash. What is not found again and again
 * is stepped over faster and faster, so that data without repetitions costs little. */
static void compress_fragment(struct buf *b, const char *data, size_t length)
{
    uint16_t places[1 << HASH_BITS] = {0};
    size_t at = 1, literal = 0, misses = 0;
    while (at + SHORTEST_COPY <= length) {
        uint32_t four = load_four(data + at);
        uint16_t *place = &places[four * UINT32_C(0x1E35A7BD) >> (32 - HASH_BITS)];
        size_t before = *place;
        *place = (uint16_t)at;
        if (before >= at || load_four(data + before) != four) {
            at += 1 + (misses++ >> 5);
            continue;
        }
        size_t same = SHORTEST_COPY;
        while (at + same < length && data[before + same] == data[at + same])
            same++;
        add_literal(b, data + literal, at - literal);
        add_copy(b, at - before, same);
        at += same;
        literal = at;
        misses = 0;
    }
    add_literal(b, data + literal, length - literal);
}

void snappy_compress(struct buf *b, const char *data, size_t length)
{
    protobuf_add_varint(b, length);
    while (length) {
        size_t part = min_u64(length, FRAGMENT_BYTES);
        compress_fragment(b, data, part);
        data += part;
        length -= part;
    }
}
