/* SPDX-License-Identifier: MIT
 * The ladder of exactness: several means give the same figure, some better than others. A rung is
 * a row of values with the bits of what it can answer for; for every metric the highest rung that
 * has it is taken and named. A better source of truth (a cgroup of one's own, exit records) is one
 * more rung at its place. */
#pragma once

#include "account/ledger.h"

struct rung {
    const char *name;
    const struct row *row; /* borrowed */
    uint64_t answers;      /* bits of the metrics this rung answers for */
    enum quality quality;
    uint64_t incomplete; /* bits for which something was seen to be missing: lower bounds */
};

/* The best figure of a metric. The value is written unless the quality is unknown. */
struct verdict ladder_pick(const struct rung *rungs, size_t count, enum metric_id id,
                           union value *ret_value);

/* What became of the target, for judging the rungs. */
struct evidence {
    bool all_reaped;           /* no member is left, so all they used has come to the tracker */
    bool auto_reaping;         /* children vanished uncounted, or could have */
    bool started_is_exact;     /* the kernel has recorded every process that was started */
    bool peak_is_exact;        /* the high-water mark is the job's, not the launcher's */
    uint64_t denied[PARTS];    /* bits of the parts that permissions hid, of gauges at any time, of
                                * counters of members that are left or took them along */
    uint64_t main_at_end;      /* bits of the main process that were read after it had ended */
    uint64_t of_cgroup;        /* bits that the cgroup of the target has counted itself … */
    bool cgroup_is_gone;       /* … up to some moment before it was removed */
    bool cgroup_has_ticks;     /* … and user and system time in ticks */
    struct verdict of_network; /* of its network bytes */
};

enum { LADDER_RUNGS = 9 };

/* The rungs of a part, best first; returns how many. row: the part's last figures. */
size_t ladder_build(struct rung rungs[LADDER_RUNGS], enum part part, bool own_only,
                    const struct row *row, const struct evidence *e);

/* What a difference of two figures is worth. What is missing in the second is too much in the
 * difference, so a lower bound there gives no bound at all. of_others: both were added up from the
 * same readings of processes, so the difference is what was read of the others, and lacks what the
 * whole lacks. */
struct verdict ladder_difference(struct verdict whole, struct verdict part, bool of_others);
