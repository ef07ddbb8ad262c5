/* SPDX-License-Identifier: MIT
 * Whether the figures of a member that left arrived anywhere.
 *
 * A child that is reaped adds its page faults and its CPU time to the process that reaped it. The
 * kernel discards them instead when the parent ignores SIGCHLD, has set SA_NOCLDWAIT, or is the
 * init of a pid namespace that ends before its children. Only the first shows in a file. The proof
 * of the others is arithmetic: the nearest ancestor that is left has inherited less since the last
 * look than the members that left since were seen to have. Page faults are whole numbers, so that
 * one fault less is proof enough; CPU time comes in ticks.
 *
 * A loss is never claimed without proof. One goes unnoticed when the child was not seen, when the
 * parent could not be read after it, or when other children that were not seen made up for it. */
#pragma once

#include "account/members.h"

struct losses {
    const struct members *members;
    bool has_all_orphans; /* a process without parent comes to the tracker or to a member */
    bool is_recorded; /* files were copied one after the other: a parent may show its child late */
    uint64_t ns_per_tick;
    uint64_t round; /* another number for each booking of members that left; not 0 */
    /* Reads what the member has inherited by now. False: it cannot be read. */
    bool (*read)(void *context, struct member *m, struct handed_on *ret, bool *ret_has_ended);
    void *context;
};

enum loss {
    LOSS_NOT_SEEN,
    LOSS_OF_SOME, /* of this member or of another that left with it */
    LOSS_OF_THIS, /* nothing inherited it: what was last seen of it is not in any other figure */
};

/* To be called before a member is read in a walk. Parents are read before their children, so that
 * what a parent had inherited then has nothing of the children found alive after it. */
void losses_before_look(struct member *m);

/* Judges a member that has left. ret_ancestor: the one that should have inherited it; not written
 * with LOSS_NOT_SEEN. */
enum loss losses_judge(const struct losses *l, struct member *m, struct member **ret_ancestor);
