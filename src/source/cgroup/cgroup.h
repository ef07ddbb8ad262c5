/* SPDX-License-Identifier: MIT
 * A cgroup, version 1 or 2 or both: its figures, its limits, its processes. */
#pragma once

#include "base/io/file.h"
#include "base/text/scan.h"
#include "base/util.h"
#include "metric/frame.h"
#include "source/cgroup/place.h"
#include "toll.h"

#include <sys/types.h>

/* ==== Cgroup file ============================================================================= */

/* A file of a cgroup that is read again and again. On the running machine it is opened once, and a
 * file that is not there is asked for once; in a recorded tree nothing is kept. */

struct cgroup_file {
    int fd;      /* owned */
    int refused; /* -ENOENT or -EACCES: it is not opened again; else 0 */
};

#define CGROUP_FILE_CLOSED ((struct cgroup_file){.fd = -1})

/* Length read, or -errno: -ENODEV when the cgroup is gone. */
ssize_t cgroup_file_read(struct cgroup_file *f, const struct sysroot *root, const char *directory,
                         const char *name, char *ret, size_t capacity);
void cgroup_file_close(struct cgroup_file *f);

/* ==== Cgroup limits =========================================================================== */

/* What a cgroup may use: the tightest limit of it and of its ancestors, as far as they are seen. */

struct cgroup_limit {
    bool known;       /* some limit is set */
    bool unlimited;   /* none is: every file that could set one was read */
    uint64_t value;   /* bytes or tasks */
    double cores;     /* of the CPU quota instead */
    const char *path; /* the cgroup that sets it, borrowed; NULL: an ancestor that is not seen */
};

enum cgroup_limit_kind {
    CGROUP_LIMIT_MEMORY,
    CGROUP_LIMIT_SWAP,
    CGROUP_LIMIT_CORES,
    CGROUP_LIMIT_TASKS,
    CGROUP_LIMIT_KINDS,
};

struct cgroup_limits {
    struct limit_source *sources; /* owned chain, the cgroup before its ancestors */
    unsigned hidden;              /* bits of kinds that ancestors which are not seen may limit */
};

/* 0 or -ENOMEM. */
int cgroup_limits_init(struct cgroup_limits *l, const struct cgroup_places *places);
void cgroup_limits_done(struct cgroup_limits *l);
void cgroup_limits_close_files(struct cgroup_limits *l);

void cgroup_limits_read(const struct cgroup_limits *l, const struct sysroot *root,
                        struct cgroup_limit ret[CGROUP_LIMIT_KINDS]);

/* ==== Cgroup ================================================================================== */

struct cgroup;

/* The cgroup that a process is in, pid 0 for the caller. The sysroot is borrowed until the close.
 * 0; -ENOENT when none is mounted; -ESRCH; -ENOMEM. */
int cgroup_open_of(struct cgroup **ret, const struct sysroot *root, pid_t pid);

/* The cgroup at places that are known; they are copied. 0 or -ENOMEM. */
int cgroup_open_places(struct cgroup **ret, const struct sysroot *root,
                       const struct cgroup_places *places);

/* pid_cgroup_hash of that process then. */
uint64_t cgroup_hash(const struct cgroup *c);

/* The cgroup that a user named: a directory of some hierarchy (/sys/fs/cgroup/memory/job,
 * /sys/fs/cgroup/job.slice) or a path within them (/job). 0, or -errno and a sentence. */
int cgroup_open_path(struct cgroup **ret, const struct sysroot *root, const char *path,
                     struct toll_error *e);
void cgroup_close(struct cgroup *c);

/* Closes all descriptors, which are opened again when needed. What was read stays. */
void cgroup_close_files(struct cgroup *c);

/* The path within its hierarchy, "/job". With version 1 the paths may differ: it is that of memory,
 * else of cpu, else of version 2. Lives as long as the cgroup. */
const char *cgroup_name(const struct cgroup *c);

/* Whether it is the root of every hierarchy: its figures are those of the machine. */
bool cgroup_is_root(const struct cgroup *c);

/* Version 1 counts user and system time in ticks, which do not make up the CPU time; version 2
 * counts them in microseconds, and they do. */
bool cgroup_counts_ticks(const struct cgroup *c);

/* Whether both are the same directory in every hierarchy. */
bool cgroup_same(const struct cgroup *a, const struct cgroup *b);

/* Whether the second is the first, or below it, in the hierarchy both are named after. */
bool cgroup_contains(const struct cgroup *outer, const struct cgroup *inner);

/* Whether its directory was removed. */
bool cgroup_is_gone(struct cgroup *c);

/* Every process of it and of those below, once each; those of other pid namespaces are left out.
 * 0 or -errno. */
int cgroup_each_pid(struct cgroup *c, void (*meet)(void *arg, pid_t pid), void *arg);

/* Adds its own row and one for each block device. The root has none. */
void cgroup_collect(struct cgroup *c, struct instance_list *out);

/* The same with counters and the peak of memory alone, from which a run counts. */
void cgroup_collect_base(struct cgroup *c, struct instance_list *out);

/* How many processes of it and below the OOM killer has killed, read now; the last reading when it
 * is gone. Version 1 forgets those of cgroups that were removed. False when that is unknown. */
bool cgroup_oom_kills(struct cgroup *c, uint64_t *ret);

/* The last reading of that, by cgroup_collect too. */
bool cgroup_oom_kills_seen(const struct cgroup *c, uint64_t *ret);

/* The tightest limits of it and its ancestors; the paths live as long as the cgroup. */
void cgroup_read_limits(const struct cgroup *c, struct cgroup_limit ret[CGROUP_LIMIT_KINDS]);

/* Text of a file of one controller that is read once. Length or -errno. */
ssize_t cgroup_read_file(const struct cgroup *c, enum cgroup_controller controller,
                         const char *name, char *ret, size_t capacity);

/* ==== Cgroup value ============================================================================ */

/* The files of a cgroup that have one value or limit in them. */

struct cgroup_value {
    bool unlimited; /* "max", -1, or what version 1 writes when no limit is set */
    uint64_t value; /* 0 when unlimited */
};

/* memory.max, memory.limit_in_bytes, pids.current, cpu.cfs_quota_us…: 0 or -EBADMSG. */
int parse_cgroup_value(struct scan text, struct cgroup_value *ret);

/* A number of another file (hierarchical_memory_limit), where the largest means no limit. */
struct cgroup_value cgroup_value_of(uint64_t number);

struct cgroup_cpu_max {
    bool unlimited;
    uint64_t quota_us; /* 0 when unlimited */
    uint64_t period_us;
};

/* cpu.max of version 2: 0 or -EBADMSG. */
int parse_cgroup_cpu_max(struct scan text, struct cgroup_cpu_max *ret);

/* ==== Cgroup figures ========================================================================== */

/* The figures that are in files of a cgroup as they are: CPU, memory, tasks, pressure. */

enum { CGROUP_FIGURE_FILES = 20 };

struct cgroup_figures {
    struct cgroup_file files[CGROUP_FIGURE_FILES];
    uint64_t ns_per_tick;
};

void cgroup_figures_init(struct cgroup_figures *f, const struct sysroot *root);
void cgroup_figures_close_files(struct cgroup_figures *f);

/* Puts what can be read into the row; only_base: of the files with counters and the peak of memory
 * alone. */
void cgroup_figures_read(struct cgroup_figures *f, const struct sysroot *root,
                         const struct cgroup_places *places, bool only_base, struct row *row);

/* ==== Disks =================================================================================== */

/* What a cgroup read from and wrote to each block device, and to all of them. */

/* ==== Cgroup disks ============================================================================ */

struct cgroup_disks {
    struct cgroup_disk *first;   /* owned chain; what was once seen stays */
    const char *cgroup;          /* borrowed: the name for the labels */
    struct cgroup_file files[5]; /* io.stat, or those of blkio */
    bool begun;
};

void cgroup_disks_init(struct cgroup_disks *d, const char *cgroup);
void cgroup_disks_done(struct cgroup_disks *d);

/* What was read of the devices stays. */
void cgroup_disks_close_files(struct cgroup_disks *d);

/* Adds the devices to the list, and their sum to the row of the cgroup. */
void cgroup_disks_collect(struct cgroup_disks *d, const struct sysroot *root,
                          const struct cgroup_places *places, struct row *row,
                          struct instance_list *out);

/* ==== Cgroup io =============================================================================== */

/* What a cgroup read and wrote, by device: io.stat of version 2, the blkio.throttle files of
 * version 1. */

struct cgroup_io {
    unsigned major, minor;
    bool has_values; /* false for a device that nothing was counted for: the rest is 0 */
    uint64_t read_bytes, written_bytes;
    uint64_t reads, writes;
};

/* The next device of io.stat: 1, 0 at the end of the text, or -EBADMSG. A bad line is consumed, so
 * that one can go on behind it. */
int parse_cgroup_io(struct scan *text, struct cgroup_io *ret);

struct cgroup_blkio {
    unsigned major, minor;
    bool is_write;
    uint64_t value; /* bytes or operations */
};

/* The next line of version 1 that counts reads or writes of a device; as above. */
int parse_cgroup_blkio(struct scan *text, struct cgroup_blkio *ret);

/* ==== A cgroup of the job's own =============================================================== */

/* A cgroup that toll makes for a command: made, counted, limited, emptied of stale ones, removed.
 * It is a directory "toll-PID" below the cgroup that toll itself is in, so that every limit from
 * there upwards still holds for the command. With version 1 there is one in each hierarchy. toll
 * keeps each directory open and locked: one that can be locked was left by a toll that is gone. */

enum { OWN_CGROUP_DIRECTORIES = 6 };

struct own_cgroup_directory {
    char *directory; /* owned, below the sysroot: sys/fs/cgroup/unified/toll-123 */
    char *path;      /* owned, within the hierarchy, as /proc/PID/cgroup shows it: /toll-123 */
    int dir;         /* owned and locked; -1: it was removed */
    bool v2;
};

struct own_cgroup {
    const struct sysroot *root; /* borrowed; NULL: none was made */
    struct own_cgroup_directory directories[OWN_CGROUP_DIRECTORIES];
    size_t count;

    /* Version 2, for clone3 and for programs of bpf(2). */
    int dir;     /* borrowed from the directories; -1: it has no directory of version 2 */
    uint64_t id; /* the kernel's id of it; 0: none */

    bool is_quiet;               /* it hides no limit and no figure: see own_cgroup_open */
    struct cgroup_places places; /* where its figures are, unless it is quiet */
    int cpu;                     /* kept descriptor of its CPU time, -1: not known */
    size_t cpu_at;               /* the directory that has it */
    char *supervisor;            /* owned directory that toll itself had to move to; NULL: none */
    char *enabled;               /* owned: controllers enabled for it, "-cpu -memory"; NULL: none */
};

#define OWN_CGROUP_NONE ((struct own_cgroup){.dir = -1, .cpu = -1})

struct own_cgroup_limits {
    uint64_t memory_bytes; /* 0: none, in all of them */
    double cores;
    uint64_t tasks;
};

/* whole false: only where the command cannot misread anything, which is in a hierarchy of version 2
 * without the controllers that programs take limits from, or at the root of one. true: in all
 * hierarchies that have figures. The sysroot is borrowed until the close. 0, or -errno with a
 * sentence; then nothing is left. */
int own_cgroup_open(struct own_cgroup *ret, const struct sysroot *root, bool whole,
                    const struct own_cgroup_limits *limits, struct toll_error *e);

static inline bool own_cgroup_exists(const struct own_cgroup *o)
{
    return o->count > 0;
}

/* Whether it has directories that a process cannot be born in. */
bool own_cgroup_needs_join(const struct own_cgroup *o);

/* Moves a process in; born_inside: it is in that of version 2 already. 0 or -errno. */
int own_cgroup_join(const struct own_cgroup *o, pid_t pid, bool born_inside);
/* Moves it back to where toll is: it was not taken in everywhere. */
void own_cgroup_leave(struct own_cgroup *o, pid_t pid);

/* CPU time of everything that ever was in it or below it. */
struct own_cgroup_cpu {
    uint64_t cpu_ns;
    bool has_kinds; /* version 2 only: user_ns + system_ns = cpu_ns */
    uint64_t user_ns, system_ns;
};

/* 0 or -errno. */
int own_cgroup_read_cpu(const struct own_cgroup *o, struct own_cgroup_cpu *ret);

/* Calls meet with every process that is in it or below it, as far as its CPU time is counted there.
 * 0 or -errno. */
int own_cgroup_each_pid(const struct own_cgroup *o, void (*meet)(void *arg, pid_t pid), void *arg);

/* Whether a process with that text of /proc/PID/cgroup is counted; true where it is not known. */
bool own_cgroup_counts(const struct own_cgroup *o, struct scan text);

/* Removes the directories and those below that are empty. What has processes in it stays: -EBUSY,
 * and the first of them in *ret_pid (0: not visible). */
int own_cgroup_remove(struct own_cgroup *o, pid_t *ret_pid);

/* Removes empty cgroups beside it that a toll left which was killed. */
void own_cgroup_remove_stale(const struct own_cgroup *o);

/* Closes the descriptors; removes nothing. */
void own_cgroup_close(struct own_cgroup *o);
