/* SPDX-License-Identifier: MIT
 * What a column is made of, parsed once. See dialect.h for how it is written. */
#pragma once

#include "metric/entity.h"

/* What is known beside figures. */
enum dialect_fact {
    FACT_TIME,     /* seconds since 1970 */
    FACT_ELAPSED,  /* seconds since the start of the run */
    FACT_INTERVAL, /* seconds since the sample before */
    FACT_PID,      /* of the main process */
    FACT_OWN_PID,  /* of the process that measures */
    FACT_GROUP,    /* the process group of the target */
    FACT_GPUS,     /* that the machine has, read or not */
    FACT_CPUS,     /* that the machine has */
    FACT_STEP,     /* rows before this one */
    FACT_SINCE,    /* 1: counters count from before the run */
    FACT_HAS_GPUS, /* 1: GPUs are read, whether or not they have answered yet */
    FACT_UTC,      /* a text: 2026-11-16T07:02:15.123+00:00 */
    FACT_LOCAL,    /* a text: 2026/11/16 07:02:15.123, as nvidia-smi writes it */
    FACT_NUMBER,   /* of the thing of the row, from 0 */
    FACT_NAME,     /* a text: of the target or the thing of the row */
    DIALECT_FACTS
};

extern const char *const dialect_fact_names[DIALECT_FACTS];

enum term_of {
    TERM_FIGURE,
    TERM_SUM,
    TERM_LARGEST,
    TERM_ROOT, /* of the thing that is called "/" */
    TERM_COUNT,
    TERM_ABOVE_ZERO,
    TERM_FACT,
    TERM_OPTION,
    TERM_OWN, /* a figure of the job's own */
};

struct term {
    bool minus;
    enum term_of of;
    enum entity_kind kind;
    enum part part;
    enum metric_id id;
    enum dialect_fact fact;
    const char *option; /* or the name of the job's own figure; borrowed from the text */
};

enum { TERMS_AT_MOST = 6 };

struct terms {
    struct term items[TERMS_AT_MOST];
    size_t count;
};

/* 0, or -EINVAL when there is no such figure, fact, or sign. */
int terms_parse(struct terms *ret, const char *text);

/* Whether one of them is of such an entity. */
bool terms_have(const struct terms *t, enum entity_kind kind);
