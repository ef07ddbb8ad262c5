/* SPDX-License-Identifier: MIT
 * Metrics as requests that an MLflow server takes. */
#pragma once

#include "base/json_out.h"

/* What the server takes in one request. */
enum { MLFLOW_METRICS_AT_MOST = 1000, MLFLOW_TAGS_AT_MOST = 100 };

/* Collects metrics into operations that are not too large. */
struct mlflow_metrics {
    struct buf *ops; /* borrowed */
    struct buf body;
    struct json_out json;
    size_t count;
};

/* Values that are no numbers are written as the texts that the server reads as such. */
void mlflow_metrics_add(struct mlflow_metrics *m, const char *key, double value, int64_t time_ms,
                        uint64_t step);
void mlflow_metrics_end(struct mlflow_metrics *m);
