/* SPDX-License-Identifier: MIT
 * The vocabulary: every metric as an enumerator (process_cpu_user_seconds) and as a row of facts.
 * Seconds are held as nanoseconds, bytes and counts as they are, cores and ratios as doubles. */
#pragma once

#include "base/buf.h"
#include "toll.h"

enum entity_kind {
    ENTITY_PROCESS,
    ENTITY_TARGET, /* measured in the metrics of a process */
    ENTITY_SELF,
};

enum metric_id {
#define METRIC(entity, stem, kind, unit, ...) entity##_##stem##_##unit,
#include "metric/metrics.def"
    METRIC_COUNT
};

enum {
    PROCESS_METRICS = self_cpu_seconds, /* the first row of the next entity */
    SELF_METRICS = METRIC_COUNT - PROCESS_METRICS,
    METRICS_PER_ENTITY = 64, /* the width of a presence mask */
};

enum metric_kind { METRIC_COUNTER, METRIC_GAUGE };
enum metric_unit { UNIT_seconds, UNIT_bytes, UNIT_cores, UNIT_ratio, UNIT_count };
enum metric_fold { FOLD_SUM, FOLD_MAX, FOLD_CONSERVED, FOLD_KEPT, FOLD_COUNT, FOLD_NONE };
enum metric_cost { COST_CHEAP, COST_REFRESH, COST_SLOW };
enum metric_show { SHOW_HEAD, SHOW_TABLE, SHOW_MORE, SHOW_NEVER };

/* What a value is: see the head of this file. */
union value {
    uint64_t u;
    double d;
};

struct metric {
    enum metric_kind kind;
    enum metric_unit unit;
    enum metric_fold fold;
    enum metric_cost cost;
    enum metric_show show;
    struct toll_metric facts; /* the same and the texts, for the world outside */
};

const struct metric *metric_of(enum metric_id id);

/* The process metrics of a fold, as bits. */
uint64_t metric_fold_mask(enum metric_fold fold);

/* For each set bit of a mask, lowest first. */
#define FOR_EACH_BIT(id, mask)                                                                     \
    for (uint64_t left_ = (mask), id; left_ && (id = (uint64_t)__builtin_ctzll(left_), true);      \
         left_ &= left_ - 1)

/* The metrics of an entity are a run of ids. */
enum metric_id metric_first(enum entity_kind entity);
unsigned metric_count(enum entity_kind entity);

static inline bool metric_is_double(const struct metric *m)
{
    return m->unit == UNIT_cores || m->unit == UNIT_ratio;
}

/* A value in its base unit, as a number. */
double metric_number(const struct metric *m, union value v);

/* The same as text for CSV and JSON, nothing lost: 1.234567891 for nanoseconds. */
void metric_write(struct buf *b, const struct metric *m, union value v);

/* Whether one of the globs, with commas between, is the metric's name with or without the prefix
 * of an entity. NULL matches everything. */
bool metric_matches(const char *globs, const char *prefix, const struct metric *m);

/* 0, or -EINVAL and a sentence when one of the globs matches no metric at all. */
int metric_check_globs(const char *globs, struct toll_error *e);
