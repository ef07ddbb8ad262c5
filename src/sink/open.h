/* SPDX-License-Identifier: MIT
 * Which format a destination is for, and where its options begin. */
#pragma once

#include "sink/sink.h"

/* ==== Sink choice ============================================================================= */

/* Where the options of a kind begin behind a path that ends with its suffix: "run.om,every=5s"; a
 * path may have commas itself. NULL: the suffix is nowhere. */
const char *sink_options_behind(const struct sink_kind *kind, const char *path);

/* ==== Sinks =================================================================================== */

/* The formats by name; only sinks.c needs them. */

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
