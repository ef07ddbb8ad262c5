/* SPDX-License-Identifier: MIT
 * The numbers by which rows of a SQLite file say what they are of. A thing gets one when it is
 * first met, and is described then; a process another one when it has changed its name, its parent
 * or its targets. */
#pragma once

#include "base/map.h"
#include "metric/frame.h"
#include "summary/run_facts.h"

enum { SQLITE_TARGETS_AT_MOST = 64 };

struct known_process;

struct sqlite_entities {
    struct buf met; /* rows for those that were met since it was last emptied */
    unsigned next;  /* number; 0 before the first */
    uint64_t fixed; /* bits of the fixed numbers that were met */
    unsigned targets[SQLITE_TARGETS_AT_MOST][PARTS];
    unsigned *things; /* owned, by the numbers of the things */
    size_t thing_capacity;
    struct map pids;             /* to the places of processes */
    struct known_process *known; /* owned */
    size_t known_count, known_capacity;
};

void sqlite_entities_done(struct sqlite_entities *x);

/* target NULL: all together; otherwise the one with that index. */
unsigned sqlite_entities_part(struct sqlite_entities *x, const struct run_target *target,
                              size_t index, enum part part);
unsigned sqlite_entities_self(struct sqlite_entities *x);
unsigned sqlite_entities_thing(struct sqlite_entities *x, const struct measured *m);
unsigned sqlite_entities_process(struct sqlite_entities *x, const struct run *run,
                                 const struct entity *e);

/* It will not be met again. */
void sqlite_entities_left(struct sqlite_entities *x, const struct entity *e);

/* The names of the targets it belongs to as a value, unknown where there are not several. */
void sqlite_entities_targets(struct buf *b, const struct run *run, uint64_t targets);
