/* SPDX-License-Identifier: MIT
 * What our metrics are called in OpenTelemetry. Several of ours may be one there, told apart by an
 * attribute: CPU time by mode, bytes by direction. What has no name there, or is the sum of others
 * that have, is called after us. */
#pragma once

#include "base/buf.h"
#include "metric/metric.h"

struct otlp_attribute {
    const char *key;
    char value[32];
};

void otlp_name(struct buf *b, enum entity_kind kind, const struct metric *m);

/* What tells it apart from those that share its name. False: nothing has to. */
bool otlp_attribute(enum entity_kind kind, const struct metric *m, struct otlp_attribute *ret);

/* Whether two metrics of an entity have one name; and the first of those that do. */
bool otlp_is_same(enum entity_kind kind, const struct metric *a, const struct metric *b);
const struct metric *otlp_first(enum entity_kind kind, const struct metric *m);

/* As UCUM has it: s, By, 1. */
const char *otlp_unit(enum entity_kind kind, const struct metric *m);

/* Utilisation goes from 0 to 1 there. */
double otlp_divisor(enum entity_kind kind, const struct metric *m, unsigned cpus);
