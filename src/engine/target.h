/* SPDX-License-Identifier: MIT
 * One target: who belongs to it, and its books. */
#pragma once

#include "account/ledger.h"
#include "account/rates.h"
#include "toll.h"

#include <regex.h>

enum { TARGET_GPU_GAUGES = 3 };
enum { TARGETS_AT_MOST = 63 }; /* one bit each in the masks of members, and one for all together */

/* What went over the interfaces of a network namespace of its own. */
struct namespace_bytes {
    bool known;
    bool is_shared;  /* it is another namespace than ours, but others are in it too */
    bool is_partial; /* something went over other interfaces, or before it was found */
    int net_dev;     /* kept until the target ends, so that nothing is missed; -1: not open */
    uint64_t number; /* of the namespace */
    uint64_t members_at_ns; /* whether all members are in it is looked at then … */
    uint64_t others_at_ns;  /* … and whether others are */
    uint64_t received, sent;
    uint64_t read_received, read_sent; /* what the kernel said last */
};

struct target {
    enum toll_target_kind kind;
    bool is_launched; /* the command that toll started */
    bool is_union;    /* all others together */
    uint64_t bit;
    char *name;    /* owned */
    char *text;    /* owned: what was asked for, as it was written */
    pid_t id;      /* process, group or session */
    uid_t user;    /* of a user: it may be larger than a pid */
    regex_t regex; /* of a match */
    bool has_regex;
    struct cgroup *cgroup; /* owned, of a cgroup */
    struct map in_cgroup;  /* pids it had when last asked */

    int pidfd;      /* of the main process, or of any that is left; -1: none */
    pid_t watched;  /* whose it is */
    int main_pidfd; /* kept to the last: how it ended is told once somebody has reaped it; -1 */
    bool ended;
    uint64_t end_ns;
    struct toll_end end;

    struct namespace_bytes namespace;
    struct cgroup *inside;               /* borrowed from the surroundings: where it is; or NULL */
    uint64_t cgroups_hash;               /* of the cgroups it was in when last asked */
    const struct measured *cgroup_thing; /* its figures as last read, NULL: none */
    uint64_t cgroup_bits;                /* metrics of the whole that the cgroup answers for */
    struct row of_cgroup;                /* the whole as it was put last, with these */
    bool cgroup_has_ticks; /* it counts user and system time in ticks, which are not all CPU time */

    struct ledger ledger;
    struct rate rates[PARTS][RATES_PER_ENTITY];
    struct row parts[PARTS];
    struct entity entities[PARTS];
    uint64_t gpu_missing_ns[PARTS]
                           [TARGET_GPU_GAUGES]; /* how long what it has of GPUs was unknown */
    uint64_t most_slow_rss[PARTS]; /* the most memory of each part in any round of slow reads */
};

/* Children of members belong to it too. */
static inline bool target_is_tree(const struct target *t)
{
    return t->is_launched || t->kind == TOLL_TARGET_PROCESS || t->kind == TOLL_TARGET_MATCH;
}

/* There is one process whose descendants the others are. */
static inline bool target_has_main(const struct target *t)
{
    return t->is_launched || (t->kind == TOLL_TARGET_PROCESS && !t->is_union);
}
