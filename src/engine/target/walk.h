/* SPDX-License-Identifier: MIT
 * One walk over the members: who did something, who is new, who has left. */
#pragma once

#include "engine/target/tracked.h"

/* ==== Membership ============================================================================== */

/* Which processes belong to which target: by descent, by a rule (group, session, user, cgroup), by
 * name. */

/* ==== Membership ============================================================================== */

void membership_init(struct tracked *t, pid_t tracker_pid);
void membership_done(struct tracked *t);

/* The masks of the targets, once they are all known. */
void membership_plan(struct tracked *t);

/* A member that belongs to those targets by itself, not by descent. NULL when there is no memory.
 */
struct member *membership_add_root(struct tracked *t, pid_t pid, uint64_t bits);

/* Children that this process has before the launch do not belong to the job: a shell that executes
 * toll may leave it some. */
void membership_note_strangers(struct tracked *t);
void membership_add_stranger(void *tracker, pid_t pid);
bool membership_is_stranger(const struct tracked *t, pid_t pid);

/* Whether this process has a child that is no stranger. */
bool membership_has_children(struct tracked *t);

/* A child of discovery.parent was listed. Members are added at the end and are visited in the same
 * walk. */
void membership_meet(void *tracker, pid_t pid);

/* A process was read for the first time: true when it belongs to a target, or is a child of one
 * that has to be watched. */
bool membership_confirm(struct tracked *t, struct member *m);

/* It was read again: it may have changed its group, its session, its user or its cgroup. False when
 * it need not be watched any more. */
bool membership_review(struct tracked *t, struct member *m, bool thoroughly);

/* It counts from now on, for every target it belongs to. */
void membership_welcome(struct tracked *t, struct member *m, uint64_t now_ns);

/* The CPU time of a process as it may have been, where it is made of ticks: the kernel cuts user
 * and system time. What is subtracted is rounded up, so that a difference is never too large. User
 * and system time themselves stay as they are, before as after: rounded up, most of what many
 * processes use would be missing, and they only say how the CPU time is to be divided. */
void membership_round_up(const struct tracked *t, struct process *p);

/* The same of a process that counts from now on. As long as its CPU time is not above that, it
 * reads as no more and no less. */
void membership_set_baseline(const struct tracked *t, struct process *p);

/* How long it has lived, so long after the start of the run. */
void membership_put_wall(const struct tracked *t, struct member *m, uint64_t elapsed_ns);

/* Ask cgroups who is in them, and look at all processes of the machine that are not known yet,
 * where a target needs that. again: also those that were turned away before. */
void membership_scan(struct tracked *t, bool by_parent, bool again);

/* ==== Rules =================================================================================== */

/* The rules by which a process belongs to a target without being anybody's child. */

/* Bits of the groups, sessions, users and cgroups a process is in. dear: users too, which takes a
 * file more; otherwise those of rules_that_cost are not answered. present: the bits it has, which
 * it keeps where its user cannot be read. */
uint64_t rules_of(struct tracked *t, const struct process *p, uint64_t present, bool dear);
uint64_t rules_that_cost(const struct tracked *t);

/* Bits of the regular expressions that match its command line, now. */
uint64_t rules_matching(struct tracked *t, pid_t pid);

/* ==== Walk ==================================================================================== */

void walk(struct tracked *t, uint64_t now_ns);

/* For how long stat and io of a process that runs need not be read again. */
uint64_t walk_work_holds_ns(const struct tracked *t);

/* A child of the tracker has ended and is about to be reaped: read it a last time. Returns the
 * member, NULL when it is none. */
struct member *walk_last_look(struct tracked *t, pid_t pid, uint64_t now_ns);

/* A process that is not the tracker's child has ended: read it a last time, if it is still there.
 */
void walk_end(struct tracked *t, pid_t pid, uint64_t now_ns);

/* ==== Departure =============================================================================== */

/* Members that leave, and where their figures go. */

/* Found to have ended: it takes no part any more, its leaving is booked after the walk. */
void departure_forget(struct tracked *t, struct member *m);

/* Book all that have left in this walk: a parent is asked once for all its children. */
void departure_book(struct tracked *t, uint64_t now_ns);

/* It was reaped by the tracker, which knows how it ended. */
void departure_reaped(struct tracked *t, struct member *m, const struct toll_end *end,
                      uint64_t now_ns);
