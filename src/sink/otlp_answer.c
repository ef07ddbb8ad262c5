/* SPDX-License-Identifier: MIT
 *
 *   message ExportMetricsServiceResponse { PartialSuccess partial_success = 1; }
 *   message PartialSuccess { int64 rejected_data_points = 1; string error_message = 2; }
 *
 * Fields come in any order, and there may be others. */
#include "sink/otlp_answer.h"

#include "base/protobuf.h"

static bool read_partial_success(struct scan s, struct otlp_answer *ret)
{
    struct protobuf_field f;
    while (s.at < s.end) {
        if (!protobuf_next(&s, &f))
            return false;
        if (f.number == 1 && f.wire == PROTOBUF_VARINT && f.value <= INT64_MAX)
            ret->rejected = f.value;
        else if (f.number == 2 && f.wire == PROTOBUF_BYTES)
            ret->message = f.bytes;
    }
    return true;
}

bool otlp_answer_read(const char *text, size_t length, struct otlp_answer *ret)
{
    struct scan s = {text, text + length};
    struct protobuf_field f;
    *ret = (struct otlp_answer){0};
    while (s.at < s.end)
        if (!protobuf_next(&s, &f) ||
            (f.number == 1 && f.wire == PROTOBUF_BYTES && !read_partial_success(f.bytes, ret)))
            return false;
    return true;
}
