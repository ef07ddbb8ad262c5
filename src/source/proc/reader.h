/* SPDX-License-Identifier: MIT
 * The files of processes under /proc, opened once and read again.
 *
 * A descriptor of /proc/PID/… is bound to the process as a pidfd is: after its end it answers
 * ESRCH, also when the pid is in use again. */
#pragma once

#include "base/io/file.h"
#include "metric/frame.h"
#include "source/kernel_file.h"
#include "source/proc/own.h"

/* ==== Process reader ========================================================================== */

/* The bit of a process metric in a mask. */
#define PROCESS_BIT(name) BIT(process_##name)

/* What an io file gives. */
#define PROCESS_IO_BITS                                                                            \
    (PROCESS_BIT(storage_read_bytes) | PROCESS_BIT(storage_written_bytes) |                        \
     PROCESS_BIT(storage_cancelled_bytes) | PROCESS_BIT(io_read_bytes) |                           \
     PROCESS_BIT(io_written_bytes) | PROCESS_BIT(io_read_calls_count) |                            \
     PROCESS_BIT(io_write_calls_count))

/* What the CPU clock and statm give. */
#define PROCESS_BRIEF_BITS                                                                         \
    (PROCESS_BIT(cpu_seconds) | PROCESS_BIT(memory_rss_bytes) |                                    \
     PROCESS_BIT(memory_distinct_bytes) | PROCESS_BIT(memory_virtual_bytes))

/* COMMANDS_MASKED hides what looks like a secret, see base/text/secrets.h. */
enum command_reading { COMMANDS_NOT_READ, COMMANDS_MASKED, COMMANDS_AS_THEY_ARE };

/* Shared by all processes of a tracker. */
struct process_reader {
    const struct sysroot *root; /* borrowed */
    struct fd_cache cache;
    uint64_t wanted;      /* bits of the process metrics that were asked for */
    uint64_t ns_per_tick; /* of the CPU times in stat */
    uint64_t page_bytes;
    bool has_clock;                /* the pid CPU clock can be used */
    bool fd_dir_has_size;          /* stat of /proc/PID/fd counts its entries (Linux 6.2) */
    bool no_rollup;                /* smaps_rollup does not exist here */
    bool no_children;              /* task/TID/children does not exist here */
    uint64_t threads_cpu_ns;       /* CPU time of reads that are spaced out by their cost */
    enum command_reading commands; /* whether command lines are read */
    char *text;                    /* owned, PROCESS_TEXT_BYTES */
    struct own_thread own;         /* when the program measures itself */
    size_t own_files;    /* descriptors of the tracker in that program, without the cache's */
    bool own_was_shared; /* a helper process had a copy of that program's memory */
};

/* What the reader keeps of one process. */
struct process_source {
    struct kept_fds kept;
    uint64_t clock_ns;          /* CPU clock at the last probe */
    bool has_run;               /* since the last refresh */
    bool is_behind;             /* it has run since stat and io were read */
    unsigned command_execs;     /* execs when its command line was read, plus 1; 0: it was not */
    uint64_t threads;           /* at the last reading */
    bool had_threads;           /* beside its main one, at some time */
    pid_t living_thread;        /* of one whose main thread has ended; 0: none was found */
    bool knows_namespace;       /* whether it is the init of one was read */
    bool may_have_children;     /* it has run since it was last asked for them */
    uint64_t waits_after_ns;    /* with many threads: when to read their waits again */
    uint64_t children_after_ns; /* with many threads: when to look for children again */
};

enum { PROCESS_TEXT_BYTES = 8192, PROCESS_PATH_BYTES = 64 };

/* Keeps no descriptors before process_reader_keep_files. */
int process_reader_init(struct process_reader *r, const struct sysroot *root, uint64_t wanted);

/* Keep as many descriptors as the limit of the process leaves room for. */
void process_reader_keep_files(struct process_reader *r);
void process_reader_done(struct process_reader *r);

void process_source_init(struct process_source *s);
void process_source_done(struct process_source *s, struct process_reader *r);

/* A descriptor of /proc/PID/name for the caller to close, or -errno. */
int process_open(struct process_reader *r, pid_t pid, const char *name, int flags);

/* Open, read into r->text, close. The length, or -errno. */
ssize_t process_read_once(struct process_reader *r, pid_t pid, const char *name);

/* Read into r->text through the kept descriptor, or through one that is kept from now on if there
 * is room; a process that changed makes room. */
ssize_t process_read_kept(struct process_reader *r, struct process_source *s, pid_t pid,
                          enum kept_file file, const char *name, bool changed);

/* Calls visit with every entry of a directory that is a number. 0 or -errno. */
int process_each_number(const struct process_reader *r, int dir,
                        void (*visit)(void *arg, pid_t number), void *arg);

/* Calls visit with every thread of the process. 0 or -errno. */
int process_each_thread(struct process_reader *r, pid_t pid, void (*visit)(void *arg, pid_t thread),
                        void *arg);

/* ==== Process files =========================================================================== */

/* The files of a process: what each gives, what it costs, how it is read. A new figure of a process
 * is a row in metrics.def and a line in one of these readers. */

/* How much is read at a visit. */
enum process_depth {
    DEPTH_STILL,   /* stat alone: it has not run, but its memory may have been taken away */
    DEPTH_BRIEF,   /* statm alone: how much memory it has, beside its CPU clock */
    DEPTH_CHANGE,  /* what moves with every bit of work: stat and io */
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

/* Puts the figures of an io file. */
struct pid_io;
void process_put_io(struct row *row, const struct pid_io *io);

int process_read_stat(struct process_reader *r, struct process_source *s, struct process *p,
                      enum process_depth depth);

/* Puts the memory of a process through the kept descriptor of statm. The kernel adds up here what
 * it counts for each CPU; stat has a rounded sum, which may lack some hundred pages. -EAGAIN: the
 * descriptor was just opened, read stat; -ENODATA: the process has no memory. */
int process_read_statm(struct process_reader *r, struct process_source *s, struct process *p);

int process_read_io(struct process_reader *r, struct process_source *s, struct process *p,
                    enum process_depth depth);
int process_read_status(struct process_reader *r, struct process_source *s, struct process *p,
                        enum process_depth depth);
int process_read_waits(struct process_reader *r, struct process_source *s, struct process *p,
                       enum process_depth depth);
int process_read_open_files(struct process_reader *r, struct process_source *s, struct process *p,
                            enum process_depth depth);

/* Walks page tables: milliseconds per gigabyte, and holds a lock of the process meanwhile. */
int process_read_rollup(struct process_reader *r, struct process_source *s, struct process *p,
                        enum process_depth depth);

/* ==== Visit =================================================================================== */

/* One look at one process.
 * A process is probed first: its CPU clock costs a quarter of a microsecond and shows whether it
 * did anything at all since the last look. Only those that did have their files read; the files of
 * all others are read about once a second. */

/* Has the process run since the last probe? 1 or 0, or -ESRCH. Without a clock it is always 1. */
int process_probe(struct process_reader *r, struct process_source *s, struct process *p);

/* Read the files of that depth. 0; -ESRCH when the process is gone, also when another one has its
 * pid; another error only when stat itself cannot be read. */
int process_visit(struct process_reader *r, struct process_source *s, struct process *p,
                  enum process_depth depth);

/* After process_visit has failed: whether the process lives and /proc hides it from this user
 * (hidepid). All that files would give is denied then; its CPU clock says how much CPU time it
 * had at least. */
bool process_hide(struct process_reader *r, const struct process_source *s, struct process *p);

/* Whether a process lives and /proc hides its files, though one that was opened before may be read
 * on. */
bool process_is_hidden(const struct process_reader *r, pid_t pid);

/* Memory with its sharing resolved, for the budget to decide when. 0 or -errno. */
int process_visit_slow(struct process_reader *r, struct process_source *s, struct process *p);

/* Whether the kernel lists children at all (CONFIG_PROC_CHILDREN), asked of a process that is
 * there. */
bool process_lists_children(struct process_reader *r, pid_t pid);

/* The parent of a process, as the kernel says now, or -errno. */
pid_t process_parent(struct process_reader *r, pid_t pid);

/* Whether the process is pid itself or one of those it descends from, as the kernel says now. */
bool process_is_above(struct process_reader *r, pid_t above, pid_t pid);

/* Whether a process is on its way out, or gone. */
bool process_is_leaving(struct process_reader *r, pid_t pid);

/* Whether a process is there, and neither on its way out nor sent SIGKILL. */
bool process_continues(struct process_reader *r, pid_t pid);

/* Parent, group, session and start of a process that is no member, into p. 0 or -errno. */
int process_identify(struct process_reader *r, struct process *p);

/* Group and session alone, without its files. 0, or -errno where that is not possible. */
int process_identify_quickly(const struct process_reader *r, struct process *p);

/* The effective user of a process. 0 or -errno. */
int process_user(struct process_reader *r, pid_t pid, uid_t *ret);

/* A command line of text as in /proc/PID/cmdline, its last byte overwritten: masked unless asked
 * otherwise, with blanks between the words, cut to 255 bytes. The caller frees it; NULL: none. */
char *process_command_of(enum command_reading how, char *text, size_t length);

/* Its command line with blanks between the words, in the reader's own buffer until the next read;
 * of what has none, its name. 0 or -errno. */
int process_command_line(struct process_reader *r, pid_t pid, char **ret);

/* Whether two processes have one memory, as after vfork: 1 or 0, or -errno: -ESRCH when one is
 * gone, -ENOSYS or -EPERM when the kernel does not say. */
int process_compare_memory(const struct process_reader *r, pid_t one, pid_t other);

/* Calls meet for every child of a process, whichever of its threads made it. 0, or -ENOENT when
 * the kernel does not have the list (CONFIG_PROC_CHILDREN). meet must not read through r. */
int process_children(struct process_reader *r, struct process_source *s, pid_t pid,
                     void (*meet)(void *arg, pid_t child), void *arg);

/* Calls meet for every process of the machine. */
int process_scan(struct process_reader *r, void (*meet)(void *arg, pid_t pid), void *arg);
