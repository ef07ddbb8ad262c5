/* SPDX-License-Identifier: MIT
 * The formats by name; only sinks.c needs them. */
#pragma once

#include "sink/sink.h"

extern const struct sink_kind sink_csv;
extern const struct sink_kind sink_jsonl;
extern const struct sink_kind sink_json;
extern const struct sink_kind sink_text;
extern const struct sink_kind sink_lines;
extern const struct sink_kind sink_openmetrics;
extern const struct sink_kind sink_otlp;
extern const struct sink_kind sink_prometheus;
extern const struct sink_kind sink_pushgateway;
extern const struct sink_kind sink_sqlite;
extern const struct sink_kind sink_sub_tracking;
extern const struct sink_kind sink_mlflow;
