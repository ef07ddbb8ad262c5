/* SPDX-License-Identifier: MIT
 * How full the filesystems are. */
#pragma once

#include "base/io/file.h"
#include "base/text/buf.h"
#include "base/text/scan.h"
#include "metric/frame.h"
#include "source/collector.h"
#include "source/machine/space.h"

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
