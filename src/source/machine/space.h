/* SPDX-License-Identifier: MIT
 * Asks filesystems that may never answer how full they are.
 *
 * statvfs of a filesystem whose server is gone sleeps in the kernel, possibly for ever, and no
 * signal wakes it. So helper processes call it: questions go to a helper through a socket, all at
 * once, and answers are taken when they have come. A helper that does not answer in time is stuck
 * in its oldest question; another one is asked the rest, up to SPACE_HELPERS in all. A helper that
 * answers again is used again. Nothing here ever waits. */
#pragma once

#include "base/io/file.h"
#include "base/text/buf.h"
#include "base/text/scan.h"
#include "base/util.h"
#include "metric/frame.h"
#include "source/collector.h"

#include <limits.h>
#include <sys/statvfs.h>
#include <sys/types.h>

/* ==== Statvfs record ========================================================================== */

/* The file `statvfs` of a recorded machine: how full its filesystems were. */

/* What statvfs says of a filesystem. */
struct space {
    uint64_t block_bytes; /* f_frsize */
    uint64_t blocks;
    uint64_t blocks_free;
    uint64_t blocks_available; /* to an ordinary user */
    uint64_t files;
    uint64_t files_free;
};

struct statvfs_record {
    struct scan point; /* a window on the line, escaped as in mountinfo */
    struct space space;
};

/* One line without its newline. 0, or -EBADMSG. */
int parse_statvfs_record(struct scan line, struct statvfs_record *ret);

/* The first line for that mount point. 0; -ENODATA when there is none. */
int statvfs_record_find(struct scan text, const char *point, struct space *ret);

/* ==== Space helper ============================================================================ */

/* The process that calls statvfs, and the messages to and from it. */

/* Like statvfs(3). In the helper it may do only what a signal handler may do. */
typedef int statvfs_function(const char *path, struct statvfs *ret);

struct space_request {
    uint64_t serial;
    char path[PATH_MAX]; /* sent up to its zero */
};

struct space_answer {
    uint64_t serial;
    int64_t error; /* 0 or -errno of statvfs */
    struct space space;
};

/* Forks a helper that answers requests at *ret_fd, one after the other, until that is closed. Its
 * pid, to be waited for with __WALL, or -errno. */
pid_t space_helper_start(statvfs_function *ask, int *ret_fd);

/* ==== Space asker ============================================================================= */

enum { SPACE_HELPERS = 4 };

struct space_helper {
    pid_t pid;
    int fd; /* -1: not running */
    uint64_t heard_ns;
    bool is_stuck;
};

struct space_question {
    const char *path; /* borrowed */
    /* Out: */
    bool has_answer; /* error and space are those of the last answer, which is not outdated */
    bool is_late;    /* the filesystem does not answer */
    int error;       /* 0 or -errno of statvfs */
    struct space space;
    /* The asker's: */
    struct space_question *next;
    struct space_helper *helper; /* that has the question, or NULL */
    uint64_t serial;             /* of what was asked last */
    uint64_t asked_ns;
    bool is_open; /* ask it at every round */
};

struct space_asker {
    statvfs_function *statvfs;
    uint64_t deadline_ns;
    struct space_question *first; /* borrowed, those that were ever open */
    struct space_helper helpers[SPACE_HELPERS];
    unsigned started;
    uint64_t serial;
    void (*own_child)(void *arg, pid_t pid); /* called for a new helper; may be NULL */
    void *arg;
};

void space_asker_init(struct space_asker *a, statvfs_function *ask);

/* Ends the helpers, and waits some milliseconds for that at most. */
void space_asker_done(struct space_asker *a);

/* From now on the question is asked at every round, or no longer. */
void space_asker_open(struct space_asker *a, struct space_question *q, bool is_open);

/* Takes answers, finds helpers that are late, and sends the open questions again. */
void space_asker_round(struct space_asker *a, uint64_t now_ns);

/* Takes the answers that have come. */
void space_asker_take(struct space_asker *a, uint64_t now_ns);

/* ==== Mount types ============================================================================= */

/* What a type of filesystem means for its space. */

enum mount_class {
    MOUNT_LOCAL,
    MOUNT_MEMORY,  /* its files are memory */
    MOUNT_OVERLAY, /* shows the space of the filesystem below it once more */
    MOUNT_NETWORK,
    MOUNT_PSEUDO, /* has no space, or is full by design */
};

enum mount_class mount_class_of(struct scan type);

/* Whether statvfs of it may never return: the network, and filesystems that a process serves. */
bool mount_may_hang(struct scan type);

/* "local" and so on: the label `class`. */
const char *mount_class_name(enum mount_class class);

/* ==== Mount table ============================================================================= */

/* The filesystems that are mounted, each once, found in mountinfo. */

struct mount {
    struct instance instance;
    struct mount *next;
    uint64_t device; /* as in mountinfo */
    enum mount_class class;
    bool is_there; /* it is in the list as it was read last */
    bool may_hang; /* statvfs may never return: because of it, or of a mount on the way to it */
    char *point;   /* owned, as the next two; the entity borrows them */
    char *type;
    char *source;
    struct space_question question;
};

struct mount_table {
    struct mount *first; /* owned list, in order of appearance; those that left stay */
    int fd;              /* mountinfo, kept when live; -1 */
    bool was_read;       /* at least once */
    bool is_outdated;    /* it has changed and could not be read yet */
    struct buf text;
    struct mount_line *lines; /* owned */
    size_t line_capacity;
};

void mount_table_init(struct mount_table *t);
void mount_table_done(struct mount_table *t);

/* Reads the list again if it has changed. 0 or -errno; the table is as it was then. */
int mount_table_refresh(struct mount_table *t, const struct sysroot *root);

/* ==== Mounts ================================================================================== */

struct mounts {
    struct mount_table table;
    struct space_asker asker;
    statvfs_function *statvfs;
    char *record; /* owned: the file of a recorded machine with its answers of statvfs */
};

/* The collector's open with another function instead of statvfs. */
int mounts_open(struct mounts **ret, const struct collect_context *c, statvfs_function *ask);
