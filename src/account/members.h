/* SPDX-License-Identifier: MIT
 * The processes of a target, parents before children: a child that is reaped between two readings
 * is then missed for a moment, never counted twice. */
#pragma once

#include "base/memory.h"
#include "metric/frame.h"

/* ==== Members ================================================================================= */

/* What a process that is reaped adds to the one that reaped it, as far as losses are judged by it.
 */
struct handed_on {
    uint64_t faults;
    uint64_t cpu_ns;
};

enum { IO_COUNTERS = process_io_write_calls_count - process_storage_read_bytes + 1 };

struct member {
    struct process process;
    /* Bits of targets: */
    uint64_t targets;      /* those it belongs to; 0: only watched, a child of theirs */
    uint64_t root_of;      /* those it belongs to by itself, not as a child */
    uint64_t main_of;      /* those it is the main process of */
    uint64_t been;         /* those it ever counted for */
    uint64_t parted;       /* those it did not belong to any more at its last look */
    uint64_t joined_ticks; /* a child born before is not born into its targets */
    uint64_t base_unknown; /* bits of counters that could not be read when it joined, and count from
                            * there on: what it had by then is in no base */
    uint64_t io_before[IO_COUNTERS]; /* I/O as below, at the look before the last; attached only */
    uint64_t io_left_out;            /* bits of I/O that it may get from a child with such a base */
    bool gone;                       /* found to have left; removed at the end of the walk */
    bool in_books;                   /* its leaving is booked */
    bool was_seen;                   /* read at least once, so it counts as started */
    bool end_is_sent;                /* to the outputs, by the kernel's record of it */
    uint32_t slot;
    bool loss_noted;                   /* a note says that its children vanish uncounted */
    bool had_children;                 /* members were seen that were born to it */
    uint64_t inherited_base_ns;        /* CPU time it had inherited when it was first seen */
    uint64_t vanished_ns;              /* CPU time of its children that have left since */
    struct handed_on inherited_before; /* what it had inherited at the look before the last */
    pid_t parent_before;               /* its parent at that look, 0: there was none */
    struct handed_on arrived;          /* what it inherited since then */
    struct handed_on expected;         /* what it should have inherited at least */
    uint64_t losses_round;             /* in which these were read, see losses.h */
    bool arrived_is_known;
    bool ended_meanwhile;
    bool stays_ended; /* it had ended at the look before the last, and was not reaped since */
    uint64_t old_peak_bytes;  /* high-water mark from before it was tracked, 0: none */
    uint64_t seen_peak_bytes; /* the most memory it was seen with since it is tracked */
    struct rate rates[RATES_PER_ENTITY];
    uint64_t gpus;             /* bits of the GPUs it uses, by their place */
    uint64_t slow_pass;        /* the last round of slow reads that came by */
    unsigned slow_execs;       /* how often it had called exec then */
    uint32_t memory_id;        /* the same for members that share one memory; 0: it has its own */
    unsigned memory_execs;     /* how often it had called exec when memory_id was found */
    bool memory_is_asked;      /* it was found for good: only exec could change it */
    uint64_t memory_elsewhere; /* bits of the targets where another member counts its memory */
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
    uint32_t memory_ids;      /* the last that was given out */
    struct map memories;      /* memory_id -> its place in memory_targets */
    uint64_t *memory_targets; /* owned; bits of the targets that have counted it */
    size_t memory_capacity;
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

/* Two members have one memory. */
void members_share_memory(struct members *m, struct member *one, struct member *other);

/* Decide for each memory that several members share which of them counts it: in each target the
 * first of those alive. To be called when members came, left or were read. */
void members_count_memory_once(struct members *m);

/* What a member adds to sums: its own figures; its memory as 0, and no mark of its largest, when
 * that counts elsewhere. The copy is needed then. */
const struct row *member_adds(const struct member *m, bool elsewhere, struct row *copy);

/* Bits of what permissions hide of it and is missing in sums. What has ended has no gauges: those
 * that were hidden are not missed any more. Its counters, when nothing of them was seen while it
 * lived, come with what its parent inherits, in a moment or at the next look, as all that was used
 * between two looks. */
uint64_t member_hides(const struct member *m);

/* I/O that a member has inherited, with its own where the kernel mixes the two. */
uint64_t member_inherited_io(const struct member *m, enum metric_id id);

/* Put them in the order of their start, which puts parents before children wherever they were
 * found. */
void members_sort(struct members *m);

/* ==== Subtree ================================================================================= */

/* The figures of one member with all its descendants. */

/* What they have used so far, and have now: own figures and inherited ones, so that children they
 * have reaped count. fresh: bits of slow figures that were read for all members. Gauges that one of
 * them has not shown yet stay unknown. False when the process is no member. */
bool subtree_sum(const struct members *members, pid_t pid, uint64_t fresh, struct row *ret);

/* ==== Losses ================================================================================== */

/* Whether the figures of a member that left arrived anywhere.
 *
 * A child that is reaped adds its page faults and its CPU time to the process that reaped it. The
 * kernel discards them instead when the parent ignores SIGCHLD, has set SA_NOCLDWAIT, or is the
 * init of a pid namespace that ends before its children. Only the first shows in a file. The proof
 * of the others is arithmetic: a parent that lives has inherited less since the last look than the
 * children that left since were seen to have. If the parent has ended, each ancestor may have got
 * the figures: all of them are compared, as they were at the look before, and there is no proof if
 * one was reaped by the tracker meanwhile. Page faults are whole numbers, so that one fault less is
 * proof enough; CPU time comes in ticks.
 *
 * A loss is never claimed without proof: it would count twice. One goes unnoticed when the child
 * was not seen, when a process that may have inherited it could not be read after it, or when other
 * children that were not seen made up for it. */

struct losses {
    const struct members *members;
    pid_t tracker;        /* the parent of those it has started or taken over */
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
