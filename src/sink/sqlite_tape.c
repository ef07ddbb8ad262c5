/* SPDX-License-Identifier: MIT */
#include "sink/sqlite_tape.h"

#include "base/utf8.h"

#include <math.h>

/* A byte that tells what follows: nothing, a byte, eight bytes, or a length and as many bytes. */
static void put(struct buf *b, enum tape_is is, const void *value, size_t size)
{
    char bytes[1 + sizeof(uint64_t)];
    bytes[0] = (char)is;
    memcpy(bytes + 1, value, size);
    buf_add(b, bytes, 1 + size);
}

void sqlite_tape_row(struct buf *b, unsigned statement)
{
    uint8_t number = (uint8_t)statement;
    put(b, TAPE_ROW, &number, sizeof number);
}

void sqlite_tape_null(struct buf *b)
{
    buf_putc(b, TAPE_NULL);
}

void sqlite_tape_i64(struct buf *b, int64_t value)
{
    put(b, TAPE_I64, &value, sizeof value);
}

void sqlite_tape_u64(struct buf *b, uint64_t value)
{
    if (value > INT64_MAX)
        sqlite_tape_null(b);
    else
        sqlite_tape_i64(b, (int64_t)value);
}

void sqlite_tape_double(struct buf *b, double value)
{
    if (isnan(value))
        sqlite_tape_null(b);
    else
        put(b, TAPE_DOUBLE, &value, sizeof value);
}

/* Where the length stands is known before the length is. */
static size_t text_begin(struct buf *b)
{
    uint32_t length = 0;
    put(b, TAPE_TEXT, &length, sizeof length);
    return b->length;
}

static void text_end(struct buf *b, size_t began)
{
    if (buf_failed(b))
        return;
    uint32_t length = (uint32_t)(b->length - began);
    memcpy(b->data + began - sizeof length, &length, sizeof length);
}

void sqlite_tape_text(struct buf *b, const char *value)
{
    if (!value) {
        sqlite_tape_null(b);
        return;
    }
    size_t began = text_begin(b);
    const unsigned char *at = (const unsigned char *)value;
    const unsigned char *end = at + strlen(value);
    while (at < end) {
        size_t taken = 0;
        while (at + taken < end && at[taken] < 0x80)
            taken++;
        if (!taken)
            taken = utf8_length(at, (size_t)(end - at));
        if (taken)
            buf_add(b, (const char *)at, taken);
        else
            buf_add(b, (const char[]){(char)(0xC0 | *at >> 6), (char)(0x80 | (*at & 0x3F))}, 2);
        at += taken ? taken : 1;
    }
    text_end(b, began);
}

size_t sqlite_tape_json(struct buf *b, struct json_out *j)
{
    size_t began = text_begin(b);
    json_begin(j, b, 0);
    return began;
}

void sqlite_tape_json_end(struct buf *b, size_t began)
{
    text_end(b, began);
}

static bool take(struct scan *tape, void *ret, size_t size)
{
    if ((size_t)(tape->end - tape->at) < size)
        return false;
    memcpy(ret, tape->at, size);
    tape->at += size;
    return true;
}

enum tape_is sqlite_tape_next(struct scan *tape, struct tape_item *ret)
{
    uint8_t is, number;
    uint32_t length;
    if (!take(tape, &is, sizeof is))
        return TAPE_END;
    switch (is) {
    case TAPE_ROW:
        if (!take(tape, &number, sizeof number))
            return TAPE_END;
        ret->statement = number;
        return TAPE_ROW;
    case TAPE_NULL: return TAPE_NULL;
    case TAPE_I64: return take(tape, &ret->i, sizeof ret->i) ? TAPE_I64 : TAPE_END;
    case TAPE_DOUBLE: return take(tape, &ret->d, sizeof ret->d) ? TAPE_DOUBLE : TAPE_END;
    case TAPE_TEXT:
        if (!take(tape, &length, sizeof length) || (size_t)(tape->end - tape->at) < length)
            return TAPE_END;
        ret->text = (struct scan){tape->at, tape->at + length};
        tape->at += length;
        return TAPE_TEXT;
    default: return TAPE_END;
    }
}
