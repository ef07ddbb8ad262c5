/* SPDX-License-Identifier: MIT
 * The processes of a target, parents before children: a child that is reaped between two readings
 * is then missed for a moment, never counted twice. */
#pragma once

#include "base/map.h"
#include "metric/process.h"

/* In place of what a parent has inherited. Its children were handed to somebody else, who may have
 * reaped them: of these nothing can be said. */
#define PARENT_HAS_ENDED UINT64_MAX

struct member {
    struct process process;
    uint64_t targets; /* bits of the targets it belongs to; 0: only watched, a child of theirs */
    uint64_t root_of; /* … of those it belongs to by itself, not as a child … */
    uint64_t main_of; /* … and of those it is the main process of */
    uint64_t been;    /* … and of those it ever counted for */
    uint64_t parted;  /* … and of those it did not belong to any more at its last look */
    uint64_t joined_ticks; /* whoever was born before is not born into its targets */
    bool gone;             /* found to have left; removed at the end of the walk */
    bool in_books;         /* … and its leaving is booked already */
    bool was_seen;         /* read at least once, so it counts as started */
    uint32_t slot;
    bool loss_told;              /* it was said that its children vanish uncounted */
    uint64_t inherited_base_ns;  /* CPU time it had inherited when it was first seen … */
    uint64_t inherited_now_ns;   /* … and when its children that left were last judged, … */
    uint64_t inherited_grown_ns; /* … since it was judged before */
    uint64_t judged_at_ns;       /* … which was then */
    uint64_t vanished_ns;     /* CPU time of its children that have left since it was first seen */
    uint64_t lost_ns;         /* … and of those that were booked as lost */
    uint64_t old_peak_bytes;  /* high-water mark from before it was tracked, 0: none */
    uint64_t seen_peak_bytes; /* … and the most memory it was seen with since */
    struct rate rates[RATES_PER_ENTITY];
    uint64_t gpus;                        /* bits of the GPUs it uses, by their place */
    uint64_t slow_pass;                   /* the last round of slow reads that came by */
    _Alignas(max_align_t) char payload[]; /* belongs to whoever made the table */
};

struct members {
    struct member **order; /* owned; in order of discovery, which puts parents first */
    size_t count;
    size_t capacity;
    struct member **slots; /* owned; slot -> member, NULL when free */
    uint32_t slot_count;
    struct member **spare; /* owned; members to be used again */
    size_t spare_count;
    struct map by_pid;
    size_t payload_bytes;
};

void members_init(struct members *m, size_t payload_bytes);
void members_done(struct members *m);

/* The member with that pid that has not left, or NULL. */
struct member *members_find(const struct members *m, pid_t pid);

/* The same, or the one that has left but was not swept out yet. */
struct member *members_find_any(const struct members *m, pid_t pid);

/* A new member at the end, or NULL when there is no memory. Its payload is zeroed. */
struct member *members_add(struct members *m, pid_t pid);

/* Forget those marked as gone. */
void members_sweep(struct members *m);

/* Put them in the order of their start, which puts parents before children wherever they were
 * found. */
void members_sort(struct members *m);
