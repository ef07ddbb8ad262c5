/* SPDX-License-Identifier: MIT
 * Our figures as OpenTelemetry's semantic conventions have them, and what the conventions do not
 * have in a namespace of our own, "toll.".
 *
 * A metric of OpenTelemetry has a name, an instrument and a unit, and one or more series that an
 * attribute tells apart (cpu.mode). Series of one name can be added up: a whole and its parts never
 * share a name. Most series are one figure of ours; some are the sum or the difference of several.
 */
#pragma once

#include "base/text/buf.h"
#include "metric/metric.h"

/* The version of the conventions whose names these are. */
#define OTLP_SCHEMA_URL "https://opentelemetry.io/schemas/1.40.0"

/* The first only grows; the second goes up and down, and can be added up too. */
enum otlp_instrument { OTLP_COUNTER, OTLP_UPDOWNCOUNTER, OTLP_GAUGE };

struct otlp_metric {
    const char *name;
    enum otlp_instrument instrument;
    const char *unit; /* as UCUM has it */
    const char *description;
    bool is_whole_number; /* of its values */
};

enum { OTLP_TERMS = 3 };

struct otlp_series {
    const struct otlp_metric *metric;
    const char *key, *value; /* the attribute that tells it apart; NULL: there is none */
    unsigned term_count;
    struct {
        unsigned index; /* of the metric of ours within its entity */
        bool is_subtracted;
    } terms[OTLP_TERMS];
};

/* All series of an entity (that of a target are those of a process); *ret_count: how many. */
const struct otlp_series *otlp_series_of(enum entity_kind kind, size_t *ret_count);

/* The value of a series, of values of the entity that are known as the bits of present say. cpus:
 * how many the target may use, 0: not known. False: it is not known. */
bool otlp_series_value(const struct otlp_series *s, const double *values, uint64_t present,
                       unsigned cpus, double *ret);

/* What is a part of something that has the name already: its metrics are called prefix and the rest
 * of the name ("process.cpu.time" is "toll.part.cpu.time"). */
void otlp_name(struct buf *b, const struct otlp_metric *m, const char *prefix);
