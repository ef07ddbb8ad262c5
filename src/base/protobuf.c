/* SPDX-License-Identifier: MIT */
#include "base/protobuf.h"

#include <string.h>

enum { TYPE_VARINT = 0, TYPE_FIXED64 = 1, TYPE_BYTES = 2, VARINT_BYTES = 10 };

static size_t encode(char ret[VARINT_BYTES], uint64_t value)
{
    size_t n = 0;
    for (; value >= 0x80; value >>= 7)
        ret[n++] = (char)(value | 0x80);
    ret[n++] = (char)value;
    return n;
}

void protobuf_add_varint(struct buf *b, uint64_t value)
{
    char bytes[VARINT_BYTES];
    buf_add(b, bytes, encode(bytes, value));
}

static void add_key(struct buf *b, unsigned field, unsigned type)
{
    protobuf_add_varint(b, field << 3 | type);
}

void protobuf_varint(struct buf *b, unsigned field, uint64_t value)
{
    add_key(b, field, TYPE_VARINT);
    protobuf_add_varint(b, value);
}

void protobuf_fixed64(struct buf *b, unsigned field, uint64_t value)
{
    char bytes[8];
    for (unsigned i = 0; i < 8; i++)
        bytes[i] = (char)(value >> 8 * i);
    add_key(b, field, TYPE_FIXED64);
    buf_add(b, bytes, sizeof bytes);
}

void protobuf_double(struct buf *b, unsigned field, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    protobuf_fixed64(b, field, bits);
}

void protobuf_bytes(struct buf *b, unsigned field, const char *data, size_t length)
{
    add_key(b, field, TYPE_BYTES);
    protobuf_add_varint(b, length);
    buf_add(b, data, length);
}

void protobuf_string(struct buf *b, unsigned field, const char *text)
{
    protobuf_bytes(b, field, text, strlen(text));
}

size_t protobuf_begin(struct buf *b, unsigned field)
{
    add_key(b, field, TYPE_BYTES);
    return b->length;
}

/* The length stands before the message, and is as long as it is large. */
void protobuf_end(struct buf *b, size_t began)
{
    char bytes[VARINT_BYTES];
    if (buf_failed(b))
        return;
    size_t length = b->length - began, n = encode(bytes, length), room;
    if (!buf_room(b, n, &room))
        return;
    memmove(b->data + began + n, b->data + began, length);
    memcpy(b->data + began, bytes, n);
    b->length += n;
}

/* ---- Reading --------------------------------------------------------------------------------- */

static bool take_varint(struct scan *s, uint64_t *ret)
{
    *ret = 0;
    for (unsigned shift = 0; s->at < s->end && shift < 64; shift += 7) {
        unsigned char byte = (unsigned char)*s->at++;
        *ret |= (uint64_t)(byte & 0x7F) << shift;
        if (byte < 0x80)
            return true;
    }
    return false;
}

static bool take_bytes(struct scan *s, uint64_t length, struct scan *ret)
{
    if (length > (uint64_t)(s->end - s->at))
        return false;
    *ret = (struct scan){s->at, s->at + length};
    s->at += length;
    return true;
}

static bool take_value(struct scan *s, struct protobuf_field *ret)
{
    uint64_t length;
    switch (ret->wire) {
    case PROTOBUF_VARINT: return take_varint(s, &ret->value);
    case PROTOBUF_FIXED64: return take_bytes(s, 8, &ret->bytes);
    case PROTOBUF_BYTES: return take_varint(s, &length) && take_bytes(s, length, &ret->bytes);
    case PROTOBUF_FIXED32: return take_bytes(s, 4, &ret->bytes);
    }
    return false;
}

bool protobuf_next(struct scan *message, struct protobuf_field *ret)
{
    uint64_t key;
    const char *began = message->at;
    if (!take_varint(message, &key))
        return false;
    ret->number = key >> 3;
    ret->wire = (enum protobuf_wire)(key & 7);
    if (!take_value(message, ret))
        return false;
    ret->whole = (struct scan){began, message->at};
    return true;
}
