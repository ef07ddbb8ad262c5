/* SPDX-License-Identifier: MIT
 * One walk over the members: who did something, who is new, who has left. */
#pragma once

#include "engine/tracker.h"

void walk_init(struct toll_tracker *t, pid_t tracker_pid);
void walk_done(struct toll_tracker *t);

/* Children that this process has before the launch do not belong to the job: a shell that executes
 * toll may leave it some. */
void walk_note_strangers(struct toll_tracker *t);
bool walk_is_stranger(const struct toll_tracker *t, pid_t pid);

/* Whether this process has a child that is no stranger. */
bool walk_has_children(struct toll_tracker *t);

/* The first member. 0 or -ENOMEM. */
int walk_begin(struct toll_tracker *t, pid_t main);

void walk(struct toll_tracker *t, uint64_t now_ns);

/* A child of the tracker has ended and is about to be reaped: read it a last time. Returns the
 * member, NULL when it is none. */
struct member *walk_last_look(struct toll_tracker *t, pid_t pid, uint64_t now_ns);

/* It was reaped by the tracker. */
void walk_reaped(struct toll_tracker *t, struct member *m, const struct toll_end *end,
                 uint64_t now_ns);
