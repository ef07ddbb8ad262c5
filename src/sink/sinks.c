/* SPDX-License-Identifier: MIT */
#include "sink/sinks.h"

const struct sink_kind *const sink_kinds[] = {
    &sink_csv,         &sink_jsonl,        &sink_json,   &sink_text, &sink_lines,
    &sink_sqlite,      &sink_openmetrics,  &sink_mlflow, &sink_otlp, &sink_prometheus,
    &sink_pushgateway, &sink_sub_tracking, NULL,
};
