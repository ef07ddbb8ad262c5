/* SPDX-License-Identifier: MIT
 * What is said of a run at its beginning and at its end, as operations. */
#pragma once

#include "sink/sink.h"

/* Of the names that phases have, behind "toll/" and the node. */
#define MLFLOW_PHASE_PREFIX "phase/"

struct mlflow_facts {
    const char *node;     /* "", or "rank_3/": which of several in one run */
    const char *id;       /* what a run that was made is found by */
    const char *run_name; /* NULL: that of the run */
    const char *parent;   /* the run that it is nested below, or NULL */
    bool with_command;    /* the whole command line, which may have secrets in it */
    bool with_params;     /* what was run, where and how it is measured, as parameters */
    bool with_artifact;   /* the summary as a file */
    bool ends_run;        /* it was made by us */
};

/* The body that makes the run, without its experiment. */
void mlflow_facts_create(struct buf *body, const struct mlflow_facts *f, const struct run *run);

void mlflow_facts_begin(struct buf *ops, const struct mlflow_facts *f, const struct run *run);

void mlflow_facts_end(struct buf *ops, const struct mlflow_facts *f, const struct summary *summary,
                      const struct selection *selection);

/* It was made, and then nothing ran. */
void mlflow_facts_nothing_ran(struct buf *ops);
