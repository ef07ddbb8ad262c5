/* SPDX-License-Identifier: MIT
 * The threads of the processes that use most CPU time (options.threads): how much each has used,
 * and waited for a CPU. A row is made for the busiest; the others are counted together. */
#pragma once

#include "engine/target/tracked.h"

/* A process whose threads were read. */
struct threaded {
    pid_t pid;
    uint64_t start_ticks;
    uint64_t base_ns; /* what it had used before it was tracked */
    uint64_t cpu_ns;  /* at the last look, without base_ns */
};

enum { THREADED_AT_MOST = 64 };

struct threads {
    unsigned wanted;      /* rows at a time; 0: nothing is read */
    struct thread *items; /* owned: those that are there, and those that have a row */
    size_t count;
    struct map by_id; /* threads that are there */
    uint64_t next_ns; /* when to look again */
    uint64_t look;    /* number of the last look */
    uint64_t looked_at_ns;
    bool no_waits;           /* the kernel has no schedstat: CPU times are in ticks */
    uint64_t unlisted_count; /* threads that have ended without a row, */
    uint64_t unlisted_ns;    /* and what they were seen to use */
    struct threaded processes[THREADED_AT_MOST];
    size_t process_count;
    bool has_more_processes; /* than those */
};

void threads_begin(struct threads *s, struct tracked *t);
void threads_done(struct threads *s);

/* Reads the threads when it is time, and adds the rows of those that have run since. */
void threads_tick(struct threads *s, struct tracked *t, const struct frame *f,
                  struct instance_list *list);

/* A process has ended and was not reaped yet: the times of its main thread are final. */
void threads_last_look(struct threads *s, struct tracked *t, struct member *m);

/* How good the figures of each row are, into a summary. */
void threads_judge(const struct threads *s, struct summary *summary);

/* What the rows leave out, as a note. */
void threads_finish(const struct threads *s, struct tracked *t);
