/* SPDX-License-Identifier: MIT
 * What an output to OpenTelemetry is told by its options and by the variables that every exporter
 * of OpenTelemetry knows (OTEL_…). An option wins over a variable for metrics, and that over one
 * for all signals. An empty variable counts as none; one that makes no sense is passed over, and
 * noted, unless it says where to send. */
#pragma once

#include "sink/http.h"

struct otlp_setup {
    char *url;                 /* owned: where requests go */
    struct http_settings http; /* what holds where no option says something; headers are owned */
    bool wants_gzip;
    bool is_disabled; /* nothing is sent */
};

/* Reads them, also sink->place and sink->plan.gather_ns; sink->notice says what was passed over.
 * -EINVAL and a sentence. */
int otlp_setup_read(struct sink *s, struct otlp_setup *ret, struct toll_error *e);
void otlp_setup_done(struct otlp_setup *setup);

/* Calls each with every key and value of OTEL_RESOURCE_ATTRIBUTES. */
void otlp_setup_attributes(struct sink *s,
                           void (*each)(void *arg, const char *key, const char *value), void *arg);

/* OTEL_SERVICE_NAME, or NULL. */
const char *otlp_setup_service(void);
