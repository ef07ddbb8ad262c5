/* SPDX-License-Identifier: MIT
 *
 *   message ExportMetricsServiceResponse { PartialSuccess partial_success = 1; }
 *   message PartialSuccess { int64 rejected_data_points = 1; string error_message = 2; }
 *
 * Fields come in any order, and there may be others. */
#include "sink/otlp_answer.h"

enum wire { WIRE_VARINT = 0, WIRE_FIXED64 = 1, WIRE_BYTES = 2, WIRE_FIXED32 = 5 };

struct field {
    uint64_t number;
    enum wire wire;
    uint64_t value;    /* of a varint */
    struct scan bytes; /* of the others */
};

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

static bool take_field(struct scan *s, struct field *ret)
{
    uint64_t key, length;
    if (!take_varint(s, &key))
        return false;
    ret->number = key >> 3;
    ret->wire = (enum wire)(key & 7);
    switch (ret->wire) {
    case WIRE_VARINT: return take_varint(s, &ret->value);
    case WIRE_FIXED64: return take_bytes(s, 8, &ret->bytes);
    case WIRE_BYTES: return take_varint(s, &length) && take_bytes(s, length, &ret->bytes);
    case WIRE_FIXED32: return take_bytes(s, 4, &ret->bytes);
    }
    return false;
}

static bool read_partial_success(struct scan s, struct otlp_answer *ret)
{
    struct field f;
    while (s.at < s.end) {
        if (!take_field(&s, &f))
            return false;
        if (f.number == 1 && f.wire == WIRE_VARINT && f.value <= INT64_MAX)
            ret->rejected = f.value;
        else if (f.number == 2 && f.wire == WIRE_BYTES)
            ret->message = f.bytes;
    }
    return true;
}

bool otlp_answer_read(const char *text, size_t length, struct otlp_answer *ret)
{
    struct scan s = {text, text + length};
    struct field f;
    *ret = (struct otlp_answer){0};
    while (s.at < s.end)
        if (!take_field(&s, &f) ||
            (f.number == 1 && f.wire == WIRE_BYTES && !read_partial_success(f.bytes, ret)))
            return false;
    return true;
}
