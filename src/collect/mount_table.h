/* SPDX-License-Identifier: MIT
 * The filesystems that are mounted, each once, found in mountinfo. */
#pragma once

#include "base/buf.h"
#include "base/sysroot.h"
#include "collect/mount_types.h"
#include "collect/space_asker.h"
#include "metric/frame.h"

struct mount {
    struct measured measured;
    struct mount *next;
    uint64_t device; /* as in mountinfo */
    enum mount_class class;
    bool is_there; /* it is in the list as it was read last */
    bool may_hang; /* it, or one on the way to it, may keep us waiting */
    char *point;   /* owned, as the next two; the entity borrows them */
    char *type;
    char *source;
    struct space_question question;
};

struct mount_table {
    struct mount *first; /* owned list, in order of appearance; those that left stay */
    int fd;              /* mountinfo, kept when live; -1 */
    bool was_read;       /* at least once */
    bool is_outdated;    /* a change was told, but could not be read yet */
    struct buf text;
    struct mount_line *lines; /* owned */
    size_t line_capacity;
};

void mount_table_init(struct mount_table *t);
void mount_table_done(struct mount_table *t);

/* Reads the list again if it has changed. 0 or -errno; the table is as it was then. */
int mount_table_refresh(struct mount_table *t, const struct sysroot *root);
