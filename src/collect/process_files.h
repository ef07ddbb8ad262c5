/* SPDX-License-Identifier: MIT
 * THE list of a process's files: what each gives, what it costs, how it is read. A new figure of a
 * process is a row in metrics.def and a line in one of these readers. */
#pragma once

#include "collect/process_reader.h"

/* How much is read at a visit. */
enum process_depth {
    DEPTH_STILL,   /* stat alone: it has not run, but its memory may have been taken away */
    DEPTH_CHANGE,  /* what moves with every bit of work */
    DEPTH_REFRESH, /* everything but what is on the budget */
};

struct process_file {
    const char *name;
    uint64_t gives; /* bits of process metrics */
    enum metric_cost cost;
    bool of_zombies; /* still there when the process has ended but was not reaped */
    /* 0, -ESRCH when the process is gone, -EACCES, -ENOENT, -EBADMSG */
    int (*read)(struct process_reader *r, struct process_source *s, struct process *p,
                enum process_depth depth);
};

/* Ends with a row whose name is NULL; stat is the first and is always read. */
extern const struct process_file process_files[];

/* The figures of an io file in the words of metrics. */
struct pid_io;
void process_put_io(struct row *row, const struct pid_io *io);

int process_read_stat(struct process_reader *r, struct process_source *s, struct process *p,
                      enum process_depth depth);
int process_read_io(struct process_reader *r, struct process_source *s, struct process *p,
                    enum process_depth depth);
int process_read_status(struct process_reader *r, struct process_source *s, struct process *p,
                        enum process_depth depth);
int process_read_waits(struct process_reader *r, struct process_source *s, struct process *p,
                       enum process_depth depth);
int process_read_open_files(struct process_reader *r, struct process_source *s, struct process *p,
                            enum process_depth depth);

/* It has ended: it uses no memory, threads and files any more. */
void process_empty_gauges(struct process *p);

/* Walks page tables: milliseconds per gigabyte, and holds a lock of the process meanwhile. */
/* RSS, which is also what one process has with each page counted once. */
void process_put_rss(struct process *p, uint64_t bytes);

int process_read_rollup(struct process_reader *r, struct process_source *s, struct process *p,
                        enum process_depth depth);
