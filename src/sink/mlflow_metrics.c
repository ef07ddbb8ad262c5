/* SPDX-License-Identifier: MIT */
#include "sink/mlflow_metrics.h"

#include "sink/spool_ops.h"

#include <math.h>

static void add_value(struct json_out *j, double value)
{
    json_key(j, "value");
    if (isfinite(value))
        json_number(j, value);
    else /* bare, the server would store 0 at the time 0, and say nothing */
        json_string(j, isnan(value) ? "NaN" : value > 0 ? "Infinity" : "-Infinity");
}

void mlflow_metrics_add(struct mlflow_metrics *m, const char *key, double value, int64_t time_ms,
                        uint64_t step)
{
    if (!m->count) {
        json_begin(&m->json, &m->body, 0);
        json_object(&m->json);
        json_key(&m->json, "metrics");
        json_array(&m->json);
    }
    json_object(&m->json);
    json_put_string(&m->json, "key", key);
    add_value(&m->json, value);
    json_put_i64(&m->json, "timestamp", time_ms);
    json_put_u64(&m->json, "step", step);
    json_object_end(&m->json);
    if (++m->count == MLFLOW_METRICS_AT_MOST)
        mlflow_metrics_end(m);
}

void mlflow_metrics_end(struct mlflow_metrics *m)
{
    if (m->count) {
        json_array_end(&m->json);
        json_object_end(&m->json);
        m->ops->failed |= buf_failed(&m->body);
        spool_ops_add(m->ops, SPOOL_BATCH, "", m->body.data, m->body.length);
    }
    m->count = 0;
    buf_done(&m->body);
}
