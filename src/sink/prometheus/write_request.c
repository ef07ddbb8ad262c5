/* SPDX-License-Identifier: MIT */
#include "sink/prometheus/write_request.h"

#include "base/text/encoding.h"

#include <string.h>

enum { FIELD_SERIES = 1, FIELD_METADATA = 3, FIELD_LABELS = 1, FIELD_SAMPLES = 2 };
enum { TYPE_COUNTER = 1, TYPE_GAUGE = 2 };

static void write_request_add_label(struct buf *b, const char *name, const char *value)
{
    size_t began = protobuf_begin(b, FIELD_LABELS);
    protobuf_string(b, 1, name);
    protobuf_string(b, 2, value);
    protobuf_end(b, began);
}

/* Labels are sorted; the name is one of them. */
size_t write_request_begin_series(struct buf *b, const char *name, const struct labels *labels)
{
    static const char own[] = "__name__";
    bool is_named = false;
    size_t began = protobuf_begin(b, FIELD_SERIES);
    for (size_t i = 0; i <= labels->count; i++) {
        if (!is_named && (i == labels->count || strcmp(labels->items[i].name, own) > 0)) {
            write_request_add_label(b, own, name);
            is_named = true;
        }
        if (i < labels->count)
            write_request_add_label(b, labels->items[i].name, labels->items[i].value);
    }
    return began;
}

void write_request_add_sample(struct buf *b, double value, int64_t time_ms)
{
    size_t began = protobuf_begin(b, FIELD_SAMPLES);
    protobuf_double(b, 1, value);
    protobuf_varint(b, 2, (uint64_t)time_ms);
    protobuf_end(b, began);
}

void write_request_end_series(struct buf *b, size_t began)
{
    protobuf_end(b, began);
}

void write_request_add_metadata(struct buf *b, const char *name, bool is_counter, const char *help,
                                const char *unit)
{
    size_t began = protobuf_begin(b, FIELD_METADATA);
    protobuf_varint(b, 1, is_counter ? TYPE_COUNTER : TYPE_GAUGE);
    protobuf_string(b, 2, name);
    protobuf_string(b, 4, help);
    if (*unit)
        protobuf_string(b, 5, unit);
    protobuf_end(b, began);
}

static uint64_t write_request_count_samples(struct scan series)
{
    struct protobuf_field f;
    uint64_t count = 0;
    while (series.at < series.end && protobuf_next(&series, &f))
        count += f.number == FIELD_SAMPLES;
    return count;
}

uint64_t write_request_count(struct scan request)
{
    struct protobuf_field f;
    uint64_t count = 0;
    while (request.at < request.end && protobuf_next(&request, &f))
        count += f.number == FIELD_SERIES && f.wire == PROTOBUF_BYTES
                     ? write_request_count_samples(f.bytes)
                     : f.number == FIELD_METADATA;
    return count;
}

void write_request_cut(struct buf *b, struct scan request, uint64_t first, uint64_t count)
{
    struct protobuf_field f;
    uint64_t at = 0, last = sum_u64(first, count);
    while (request.at < request.end && protobuf_next(&request, &f) && at < last) {
        bool is_series = f.number == FIELD_SERIES && f.wire == PROTOBUF_BYTES;
        uint64_t figures = is_series ? write_request_count_samples(f.bytes)
                                     : f.number == FIELD_METADATA;
        if (at + figures > first && at >= first && at + figures <= last) {
            protobuf_add_whole(b, &f);
            at += figures;
        } else if (at + figures > first && is_series) { /* its labels, and some of its samples */
            struct protobuf_field inner;
            size_t began = protobuf_begin(b, FIELD_SERIES);
            while (f.bytes.at < f.bytes.end && protobuf_next(&f.bytes, &inner)) {
                bool is_sample = inner.number == FIELD_SAMPLES;
                if (!is_sample || (at >= first && at < last))
                    protobuf_add_whole(b, &inner);
                at += is_sample;
            }
            protobuf_end(b, began);
        } else {
            at += figures;
        }
    }
}
