/* SPDX-License-Identifier: MIT
 * The parts of the sink for OpenTelemetry: names of the semantic conventions, the setup from
 * options and variables, and answers. */
#pragma once

#include "base/text/buf.h"
#include "base/text/scan.h"
#include "metric/metric.h"
#include "sink/http.h"

/* ==== Names (names.c) ========================================================================= */

/* toll's figures by the names of the semantic conventions; those that the conventions do not have
 * are in the namespace "toll.".
 *
 * A metric of OpenTelemetry has a name, an instrument and a unit, and one or more series that
 * differ by an attribute (cpu.mode). Series of one name can be added up: a whole and its parts
 * never share a name. Most series are one figure; some are the sum or the difference of several. */

/* The version of the conventions. */
#define OTLP_SCHEMA_URL "https://opentelemetry.io/schemas/1.40.0"

/* A counter only grows; an up-down counter can be added up as well. */
enum otlp_instrument { OTLP_COUNTER, OTLP_UPDOWNCOUNTER, OTLP_GAUGE };

struct otlp_metric {
    const char *name;
    enum otlp_instrument instrument;
    const char *unit; /* UCUM */
    const char *description;
    bool is_whole_number; /* its values are integers */
};

enum { OTLP_TERMS = 3 };

struct otlp_series {
    const struct otlp_metric *metric;
    const char *key, *value; /* the attribute that distinguishes it; or NULL */
    unsigned term_count;
    struct {
        unsigned index; /* of toll's metric within its entity */
        bool is_subtracted;
    } terms[OTLP_TERMS];
};

/* All series of an entity; a target has those of a process. */
const struct otlp_series *otlp_series_of(enum entity_kind kind, size_t *ret_count);

/* The value of a series, from the values of the entity whose bit of present is set. cpus: the
 * number that the target may use, or 0. False: unknown. */
bool otlp_series_value(const struct otlp_series *s, const double *values, uint64_t present,
                       unsigned cpus, double *ret);

/* Adds the name. prefix: replaces the first part of the name for a row that is contained in another
 * ("process.cpu.time" becomes "toll.part.cpu.time"), or NULL. */
void otlp_name(struct buf *b, const struct otlp_metric *m, const char *prefix);

/* ==== Setup (setup.c) ========================================================================= */

/* Options and the variables of every exporter of OpenTelemetry (OTEL_…). An option wins over a
 * variable for metrics, which wins over one for all signals. Empty variables are ignored; an
 * invalid one is ignored and noted, unless it is the URL. */
struct otlp_setup {
    char *url;                 /* owned */
    struct http_settings http; /* without those of the options; headers are owned */
    bool wants_gzip;
    bool is_disabled; /* nothing is sent */
};

/* Also sets sink->place and sink->plan.gather_ns, and sink->notice for an ignored variable. -EINVAL
 * and a sentence. */
int otlp_setup_read(struct sink *s, struct otlp_setup *ret, struct toll_error *e);
void otlp_setup_done(struct otlp_setup *setup);

/* Calls each with every key and value of OTEL_RESOURCE_ATTRIBUTES. */
void otlp_setup_attributes(struct sink *s,
                           void (*each)(void *arg, const char *key, const char *value), void *arg);

/* OTEL_SERVICE_NAME, or NULL. */
const char *otlp_setup_service(void);

/* ==== Answers (otlp.c) ======================================================================== */

struct otlp_answer {
    uint64_t rejected; /* figures */
    struct scan
        message; /* borrowed from the answer; may be empty, and may come with no rejection */
};

/* False: malformed; *ret has what was read before. */
bool otlp_answer_read(const char *text, size_t length, struct otlp_answer *ret);
