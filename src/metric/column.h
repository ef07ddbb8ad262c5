/* SPDX-License-Identifier: MIT
 * The flat names of figures: "target_cpu_seconds" of all targets together, "main_cpu_seconds" of a
 * part, "target.NAME.cpu_seconds" of one of several targets, "system_load_1_number",
 * "disk.vda.read_bytes" of a thing, "self_cpu_seconds". */
#pragma once

#include "metric/entity.h"

/* What stands before the metric's name. name: of one of several targets or of a thing, or NULL. */
void column_lead(struct buf *b, enum entity_kind kind, enum part part, const char *name);

/* The metric that a column of such a row is of, or -ENOENT when it is none of it. */
int column_metric(enum entity_kind kind, enum part part, const char *name, const char *column);
