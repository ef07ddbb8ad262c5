/* SPDX-License-Identifier: MIT
 * Source priority: several sources give the same figure, some better than others. A source is a row
 * of values with the bits of the metrics it answers for. For every metric the first source that has
 * it is used and named. A better source (a cgroup, exit records) is one more entry at its place. */
#pragma once

#include "account/ledger.h"

struct figure_source {
    const char *name;
    const struct row *row; /* borrowed */
    uint64_t answers;      /* bits of the metrics this source answers for */
    enum quality quality;
    uint64_t incomplete; /* bits for which something was seen to be missing: lower bounds */
};

/* The best figure of a metric. The value is written unless the quality is unknown. */
struct provenance quality_pick(const struct figure_source *sources, size_t count, enum metric_id id,
                               union value *ret_value);

/* What became of the target, for judging the sources. */
struct evidence {
    bool all_reaped;        /* no member is left, so all they used has come to the tracker */
    bool auto_reaping;      /* children vanished uncounted, or could have */
    bool started_is_exact;  /* the kernel has recorded every process that was started */
    bool peak_is_exact;     /* the high-water mark is the job's, not the launcher's */
    uint64_t denied[PARTS]; /* bits of the parts that permissions hid, of gauges at any time, of
                             * counters of members that are left or took them along */
    uint64_t main_at_end;   /* bits of the main process that were read after it had ended */
    uint64_t of_cgroup;     /* bits that the cgroup of the target has counted itself */
    uint64_t of_records;   /* bits that the kernel's records of ended tasks have of every process */
    bool cgroup_is_gone;   /* it has counted up to some moment before it was removed */
    bool cgroup_has_ticks; /* it counts user and system time in ticks */
    struct provenance of_network; /* of its network bytes */
    struct provenance of_packets; /* of what is known of its packets */
};

enum { QUALITY_SOURCES_AT_MOST = 11 };

/* The sources of a part, best first; returns how many. row: the part's last figures. */
size_t quality_sources(struct figure_source sources[QUALITY_SOURCES_AT_MOST], enum part part,
                       bool own_only, const struct row *row, const struct evidence *e);

/* What a difference of two figures is worth. What is missing in the second is too much in the
 * difference, so a lower bound there gives no bound at all. of_others: both were added up from the
 * same readings of processes, so the difference is what was read of the others, and lacks what the
 * whole lacks. */
struct provenance quality_of_difference(struct provenance whole, struct provenance part,
                                        bool of_others);
