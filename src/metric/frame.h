/* SPDX-License-Identifier: MIT
 * A row is one entity's values with a bit for each that says whether it is known; a frame is all
 * rows of one tick. */
#pragma once

#include "base/arena.h"
#include "metric/entity.h"

struct row {
    uint64_t present;  /* bit i: values[i] is known */
    uint64_t at_least; /* bit i: values[i] is a lower bound, since a process that has some of it
                        * could not be read. Such a figure is not known: bit i of present is not
                        * set. Only rows that were published have such bits */
    enum metric_id first;
    union value values[SYSTEM_METRICS];
};

void row_init(struct row *r, enum entity_kind kind);

static inline bool row_has(const struct row *r, enum metric_id id)
{
    return r->present >> (id - r->first) & 1;
}

static inline void row_put_u64(struct row *r, enum metric_id id, uint64_t value)
{
    r->values[id - r->first].u = value;
    r->present |= BIT(id - r->first);
}

static inline void row_put_double(struct row *r, enum metric_id id, double value)
{
    r->values[id - r->first].d = value;
    r->present |= BIT(id - r->first);
}

static inline void row_unknown(struct row *r, enum metric_id id)
{
    r->present &= ~BIT(id - r->first);
    r->at_least &= ~BIT(id - r->first);
}

/* The bits of all that has a value: known, or at least a lower bound. */
static inline uint64_t row_seen(const struct row *r)
{
    return r->present | r->at_least;
}

/* Of the figures of the mask, what is known becomes a lower bound. */
static inline void row_bound(struct row *r, uint64_t mask)
{
    r->at_least |= r->present & mask;
    r->present &= ~mask;
}

/* 0 when unknown: for sums, never for output. */
static inline uint64_t row_u64(const struct row *r, enum metric_id id)
{
    return row_has(r, id) ? r->values[id - r->first].u : 0;
}

static inline union value row_value(const struct row *r, enum metric_id id)
{
    return r->values[id - r->first];
}

/* sum += r, for the metrics of the mask that r knows; of whole numbers. */
void row_add(struct row *sum, const struct row *r, uint64_t mask);

enum { RATES_PER_ENTITY = 2 };

/* Where the last rate was measured from. */
struct rate {
    uint64_t value;
    uint64_t at_ns;
    bool known;
};

/* A thing of the machine with its figures: a disk, a CPU, the whole of it. Collectors own them and
 * write what the kernel says into `read`; the accounts make `row` of it, which counts from the
 * start of the run and has the rates. It stays where it is in memory until its collector is closed,
 * also when the thing itself is gone. */
struct measured {
    struct entity entity;
    struct row read;
    struct row row;
    struct row base;    /* what counters had when they were first read */
    unsigned number;    /* from 1 in order of appearance; 0: not published yet */
    bool is_new;        /* came after the start: its counters count from zero */
    uint64_t unlimited; /* bits of limits that were read and are none, by the place in the row */
    struct rate rates[RATES_PER_ENTITY];
};

void measured_init(struct measured *m, enum entity_kind kind);

/* What the collectors read in one tick. */
struct measured_list {
    struct measured **items; /* owned array of borrowed things */
    size_t count;
    size_t capacity;
};

/* 0 or -ENOMEM. */
int measured_list_add(struct measured_list *l, struct measured *m);
void measured_list_done(struct measured_list *l);

struct frame_row {
    const struct entity *entity; /* borrowed until the next tick */
    const struct row *row;       /* borrowed until the next tick */
};

/* One of several targets. */
struct frame_target {
    const char *name;
    bool has_ended;
    struct frame_row parts[PARTS]; /* row NULL: this part does not exist */
};

struct frame {
    uint64_t tick;    /* counts from 0 */
    uint64_t mono_ns; /* when it was taken */
    uint64_t real_ns;
    uint64_t elapsed_ns;  /* since the start of the run */
    uint64_t interval_ns; /* since the frame before, really */
    bool last;
    bool between;                   /* taken for the sake of a mark, not because it was time */
    struct frame_row target[PARTS]; /* all targets together; row NULL: this part does not exist */
    const struct frame_target *targets; /* each of several, borrowed until the next tick */
    size_t target_count;                /* 0 when there is but one */
    struct measured *const *machine;    /* what was read of the machine, borrowed likewise */
    size_t machine_count;
    struct frame_row self;
    struct frame_row *processes; /* from the arena; those the plan asked for */
    size_t process_count;
    struct arena arena; /* emptied each tick */
};

void frame_begin(struct frame *f);
void frame_done(struct frame *f);
