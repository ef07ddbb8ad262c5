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

/* What tells it apart from those that share its name. NULL: nothing has to. */
const struct otlp_attribute *otlp_attribute(const struct metric *m);

/* The first metric that is the same one there; it may be of another entity (all disks, a disk). */
const struct metric *otlp_first(const struct metric *m);

/* As UCUM has it: s, By, 1. */
const char *otlp_unit(const struct metric *m);

/* Utilisation goes from 0 to 1 there. */
double otlp_divisor(const struct metric *m, unsigned cpus);
