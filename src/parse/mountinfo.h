/* SPDX-License-Identifier: MIT
 * /proc/PID/mountinfo: what is mounted where, a line for each mount. */
#pragma once

#include "base/scan.h"
#include "base/util.h"

#include <sys/types.h>

/* One line. The texts are windows on the line, still escaped: see mountinfo_decode. */
struct mountinfo {
    uint64_t id;
    uint64_t parent;      /* the mount that this one stands on; its own id for the first of all */
    uint64_t device;      /* major << 32 | minor; the same for all mounts of one filesystem */
    struct scan root;     /* which directory of the filesystem is seen, "/" for all of it */
    struct scan point;    /* where, as the process of the file sees it */
    struct scan options;  /* with commas between, as in parse/comma_list.h */
    struct scan optional; /* shared:1 master:2 …, blanks between; often empty */
    struct scan type;
    struct scan source;        /* may be empty */
    struct scan super_options; /* of the filesystem; the controllers of a cgroup of version 1 */
};

/* One line without its newline. 0, or -EBADMSG. */
int parse_mountinfo(struct scan line, struct mountinfo *ret);

/* Cuts lines off the text up to the first that can be read; false when none is left. A last line
 * without its newline was cut short and is left out. */
bool mountinfo_next(struct scan *text, struct mountinfo *ret);

/* A text with \040 and its like turned back to what they stand for, and a zero behind it. The
 * length; -ENAMETOOLONG when it does not fit, -EBADMSG when it would have a zero inside. */
ssize_t mountinfo_decode(struct scan field, char *buf, size_t capacity);
