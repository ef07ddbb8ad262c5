/* SPDX-License-Identifier: MIT
 * Which members have run since the last look, of a command with a cgroup of its own: one pass of a
 * program in the kernel instead of a call for each process. It finds them; their figures are read
 * as always. Between two samples that have all, the others are not looked at.
 *
 * A task that is not on a CPU has its whole CPU time in the kernel's sum, and one that is on a CPU
 * counts as having run: nothing is missed. */
#pragma once

#include "account/members.h"
#include "source/bpf/members.h"

struct changes {
    struct bpf_members *source; /* owned; NULL: not open */
    struct member_task *before; /* owned: the tasks at the last reading */
    size_t before_count, before_capacity;
    pid_t *moved; /* owned: processes that may have run since the reading before */
    size_t moved_count, moved_capacity;
    bool is_settled; /* they are the members, no more and no fewer */
    bool was_tried;
};

/* cgroup: a descriptor of its directory. Where it is not possible, all members are asked as ever. */
void changes_open(struct changes *c, int cgroup);
void changes_close(struct changes *c);

/* True: the same tasks as at the last reading are there, they are the members, and `moved` has those
 * that may have run since. */
bool changes_read(struct changes *c);

/* All members were looked at: whether they are the processes of the last reading. */
void changes_settle(struct changes *c, const struct members *members);
