/* SPDX-License-Identifier: MIT
 * Labels of series as Prometheus and its relatives want them: names of letters, digits and _, each
 * once, sorted; values of valid UTF-8, none empty. */
#pragma once

#include "base/buf.h"
#include "summary/run_facts.h"

/* Room for what a thing is stays: a series without it would be another one's. */
enum { LABELS_AT_MOST = 128, LABELS_OF_USER_AT_MOST = 100 };

struct labels {
    struct {
        char *name, *value; /* owned */
    } items[LABELS_AT_MOST];
    size_t count;
    bool failed; /* no memory, or too many */
};

/* Keeps them sorted. A name that is taken already gets "label_" in front, a value that is empty is
 * none. */
void labels_add(struct labels *l, const char *name, const char *value);

/* run, instance, id when it is asked for; job_id, array_index and rank where they are known. */
void labels_add_run(struct labels *l, const struct run *run, bool with_id);

/* Those of the user, behind all others: toll's own keep their names. */
void labels_add_users(struct labels *l, const struct run *run);

/* Whether some series, though not all, has a label of toll's that is called so. */
bool labels_is_of_things(const char *name);

/* Whether there is one of that name and value: another thing may have another value. */
bool labels_has(const struct labels *l, const char *name, const char *value);

void labels_done(struct labels *l);
