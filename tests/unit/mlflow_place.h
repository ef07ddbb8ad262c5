/* SPDX-License-Identifier: MIT
 * An output to MLflow at a server of the test's own. */
#pragma once

#include "http_server.h"
#include "sample.h"

#define ANSWER(status, length, body)                                                               \
    "HTTP/1.1 " status "\r\nContent-Length: " length "\r\n\r\n" body

static const char fine[] = ANSWER("200 OK", "81",
                                  "{\"experiment_id\":\"4\",\"run_id\":\"ab-1\",\"artifact_uri\":"
                                  "\"mlflow-artifacts:/4/ab-1/x\"}");

static inline struct sink *open_or_skip(struct sample *s, const char *destination)
{
    struct sink *sink = NULL;
    struct toll_error e = {0};
    struct toll_output out = {.size = sizeof out, .destination = destination};
    if (sink_open(&sink, &out, &s->selection, &e) == -EOPNOTSUPP)
        skip();
    assert_string_equal(e.message, "");
    return sink;
}

static inline struct sink *open_at(struct sample *s, const struct http_server *server,
                                   const char *more)
{
    char destination[256];
    snprintf(destination, sizeof destination, "mlflow:http://me:secret@127.0.0.1:%u/%s",
             server->port, more);
    return open_or_skip(s, destination);
}

/* Variables of MLflow that the test was started with are none of its business. */
static inline void forget_variables(void)
{
    static const char *const variables[] = {
        "MLFLOW_TRACKING_URI",
        "MLFLOW_RUN_ID",
        "MLFLOW_EXPERIMENT_NAME",
        "MLFLOW_EXPERIMENT_ID",
        "MLFLOW_TRACKING_TOKEN",
        "MLFLOW_SYSTEM_METRICS_NODE_ID",
        "RANK",
        "WORLD_SIZE",
    };
    for (size_t i = 0; i < ARRAY_LEN(variables); i++)
        unsetenv(variables[i]);
}
