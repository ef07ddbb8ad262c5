/* SPDX-License-Identifier: MIT
 * The books of a target.
 *
 * When a process is reaped, the kernel adds its CPU time, faults and I/O to whoever reaped it. So
 * the sum over live members of what is their own and what they inherited is conserved, and
 *
 *     total = live members (own + inherited) + reaped by the tracker + lost − foreign − base
 *
 * counts every process once, however short it lived, as long as somebody waits for it. A process
 * that nobody waits for (its parent ignores SIGCHLD) takes its figures away: what was last seen of
 * it is kept under `lost`, and the total is then a lower bound. The same holds for one whose parent
 * is not in the target. The other way round, what a member inherits from a child that was not in
 * the target (another process group) is `foreign`. What members had used before they were tracked
 * is the `base`.
 *
 * Members are read one after the other. One that is reaped in between may be missed in this round,
 * so a published counter is held where it was until the sum has caught up: it never falls. */
#pragma once

#include "account/members.h"
#include "metric/frame.h"
#include "metric/metric.h"

/* Sums over the live members, one set for all and one without the main process. */
struct ledger_sums {
    struct row all; /* own, and inherited where the fold says so */
    struct row own; /* own times and faults alone, of a target with a base */
    struct row others;
    uint64_t unread; /* bits that some live member has not shown yet */
    uint64_t unread_others;
    uint64_t denied[PARTS]; /* bits that permissions hide for some member of the part */
    uint64_t live;
    uint64_t live_others;
    uint64_t memories; /* of those that live: less, where several share one */
    uint64_t memories_others;
};

struct ledger {
    struct ledger_sums sums;   /* as of the last change */
    uint64_t folds[FOLD_NONE]; /* bits of the metrics of each fold */
    uint64_t bit;              /* of the target in the masks of members */
    bool own_only;             /* only the main processes, without their children */
    pid_t main;                /* the main process, 0: there is none */
    struct row base; /* what members had when they were first seen, if it does not count */
    struct row own_base;
    struct row main_base;
    struct row foreign;   /* inherited by members from processes outside */
    struct row own_left;  /* own figures of those that left, for own_only */
    struct row reaped;    /* by the tracker itself, with all they had inherited */
    struct row lost;      /* last seen of members nobody reaped */
    struct row departed;  /* last seen of every member that left, for what is not handed on */
    struct row main_left; /* the main process as it ended */
    bool main_has_left;
    uint64_t main_fresh;    /* bits of it that were read after it had ended */
    bool kinds_are_old;     /* user and system time are of an earlier moment than CPU time */
    struct row held[PARTS]; /* the counters as published */
    /* The last fold, which holds until something changes: most samples of a job that sleeps. */
    struct row folded[PARTS];
    bool folded_kinds_old; /* kinds_are_old at that time */
    bool is_changed;       /* a call of this header has changed the books since */
    uint64_t started;
    bool has_proof;         /* page faults that are not the main process's prove a descendant */
    uint64_t recorded;      /* started by the kernel's records, which miss none; 0: not read */
    uint64_t unknown_left;  /* bits that permissions hid for members that left, for good */
    uint64_t left_out;      /* bits whose growth does not count in the next fold */
    uint64_t left_out_next; /* the same in the one after it */
    uint64_t main_denied;   /* bits that permissions hid for the main process when it ended */
    uint64_t denied[PARTS]; /* bits of the parts that permissions hide, of some member now or of one
                             * that nobody inherits: what is known of them is a lower bound */
    uint64_t replaced_user_ns, replaced_system_ns; /* of ledger_replace, as last divided */
    bool is_divided_again; /* user and system time of the union, at the end */
    bool ignoring; /* a member ignores SIGCHLD: its children vanish uncounted, if it has any */
    bool losing;   /* members were seen to vanish so */
};

void ledger_init(struct ledger *l, uint64_t bit, bool own_only);

/* A member was seen for the first time. from_birth: all it used so far counts. */
void ledger_join(struct ledger *l, const struct member *m, bool from_birth);

/* It was read again before anything counts: what it did since `before` is not the target's. */
void ledger_rebase(struct ledger *l, const struct member *m, const struct process *before);

/* Bits of counters that nothing is known of when a member joins, but that may come to light later:
 * when it can be read, or with the process that reaps it. */
uint64_t ledger_unknown_base(const struct ledger *l, const struct process *p);

/* Such counters of a member come to light, with what it had before it joined. How much that is
 * cannot be found out, so all that the target gets of them until the fold after the next, when the
 * process that reaps it was read, is left out: they are lower bounds from now on. */
void ledger_leave_out(struct ledger *l, const struct member *m, uint64_t metrics);

/* The same of a counter, where it is known how much came to light. */
void ledger_leave_out_growth(struct ledger *l, enum metric_id id, uint64_t growth);

/* A member lives on but does not belong to the target any more: what it used until now stays. */
void ledger_part(struct ledger *l, const struct member *m);

/* A process outside left, and a member will inherit its figures. */
void ledger_foreign(struct ledger *l, const struct member *child);

/* A member left. lost: nobody reaped it, so its figures went with it. */
void ledger_leave(struct ledger *l, const struct member *m, bool lost);

/* What the tracker itself has reaped so far, in place of what it said before; the peak stays. */
void ledger_put_reaped(struct ledger *l, const struct row *reaped);

/* The most memory of any process that was reaped, as wait4 reports it. */
void ledger_raise_reaped_peak(struct ledger *l, uint64_t bytes);

/* Figures of the main process at its end, as the kernel recorded them: nothing is missing. */
void ledger_put_main(struct ledger *l, const struct row *end);

/* A member was discarded, or may have been: the totals are lower bounds. */
void ledger_note_loss(struct ledger *l);

/* How many processes the kernel's records show, which miss none. */
void ledger_put_recorded(struct ledger *l, uint64_t started);

/* Sum up into the rows of the parts; PART_DESCENDANTS stays unknown with own_only. changed: a
 * member came, left or was read since the last time. last: the parts must add up, even if one
 * falls, and user and system time make up the CPU time of each part; with a base they always do.
 * Members that may not be read are left out: `denied` says of which figures. */
void ledger_fold(struct ledger *l, const struct members *members, bool changed, bool last,
                 struct row parts[PARTS]);

/* How much of the CPU time `cpu` counts as user time, where the two kinds are known as ticks that
 * do not make up all of it: divided as user stands to system, in halves where there are no ticks.
 * At least least_user, and leaving at least least_system. The kernel itself divides in this way. */
uint64_t ledger_user_share(uint64_t cpu, uint64_t user, uint64_t system, uint64_t least_user,
                           uint64_t least_system);

/* Figures of the whole that a better source has counted, such as a cgroup, replace the sums over
 * the members. has_ticks: its user and system time only say how its CPU time is divided; neither
 * falls. */
void ledger_replace(struct ledger *l, const struct row *better, bool has_ticks,
                    struct row *combined);

/* The whole has at least the CPU time that the command's own cgroup counted, also of processes that
 * were not waited for; the descendants have what the main process has not. user, system: how it is
 * divided, 0 where that is not known. */
void ledger_raise_cpu(struct ledger *l, uint64_t cpu, uint64_t user, uint64_t system, bool last,
                      struct row *parts);

/* After a fold: the whole has at least what was counted of every process, also of those that were
 * not waited for; the descendants have what the main process has not. last: as for ledger_fold. */
void ledger_raise(struct ledger *l, const struct row *counted, bool last, struct row *parts);

/* For samples, which go to places where a counter that falls has begun again from 0: after the last
 * fold, what fell is kept where it was. */
void ledger_hold(const struct ledger *l, struct row parts[PARTS]);

/* Of targets that have nobody in common: what they counted makes the whole, to the last digit. Each
 * holds its counters by itself, so that their sum may stand higher than what the whole holds. */
void ledger_add_up(struct ledger *whole, const struct row *const targets[], size_t count,
                   struct row *combined);

/* The union of targets with members in common has at least what any of them has, also where that
 * was counted by a cgroup, which misses nobody. last: user and system time make up its CPU time. */
void ledger_at_least(struct ledger *whole, const struct row *const targets[], size_t count,
                     bool last, struct row *combined);

/* ==== Rates =================================================================================== */

/* Counters to rates. A mean over the run is total over time; these are the steps in between. */

/* ==== Rates =================================================================================== */

/* A counter that begins at zero now. */
void rates_begin(struct rate rates[RATES_PER_ENTITY], uint64_t now_ns);

/* Put the rates of the row's entity into it, from what their counters grew since they were last
 * known, which need not be the tick before. most_cores: that a process can use at once; 0: any. */
void rates_put(struct rate rates[RATES_PER_ENTITY], struct row *row, enum entity_kind kind,
               uint64_t now_ns, double most_cores);

/* ==== Settle ================================================================================== */

/* What the kernel says of a thing of the machine, made to figures of the run. */

/* Takes what counters have now as what they count from, where nothing was taken before. */
void settle_base(struct instance *m);

/* From m->read to m->row: counters from their first reading on (since_start: from the machine's
 * start), then the rates. */
void settle(struct instance *m, bool since_start, uint64_t now_ns);
