/* SPDX-License-Identifier: MIT
 * The message of Prometheus remote write 1.0:
 *
 *   message WriteRequest   { repeated TimeSeries = 1; repeated MetricMetadata = 3; }
 *   message TimeSeries     { repeated Label labels = 1; repeated Sample samples = 2; }
 *   message Label          { string name = 1; string value = 2; }
 *   message Sample         { double value = 1; int64 timestamp = 2; }   in milliseconds
 *   message MetricMetadata { type = 1; string metric_family_name = 2; help = 4; unit = 5; }
 *
 * A request has each series once, with its samples in the order of time. */
#pragma once

#include "base/text/buf.h"
#include "base/text/scan.h"
#include "sink/points.h"

/* A series: begin it with its labels, to which the name is added, add samples, end it. */
size_t write_request_begin_series(struct buf *b, const char *name, const struct labels *labels);
void write_request_add_sample(struct buf *b, double value, int64_t time_ms);
void write_request_end_series(struct buf *b, size_t began);

void write_request_add_metadata(struct buf *b, const char *name, bool is_counter, const char *help,
                                const char *unit);

/* Adds a request with some figures of another: samples in their order, and descriptions of metrics,
 * which count as one each. Each series keeps all labels. Malformed input adds nothing. */
void write_request_cut(struct buf *b, struct scan request, uint64_t first, uint64_t count);

/* The number of figures. */
uint64_t write_request_count(struct scan request);
