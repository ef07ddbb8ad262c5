/* SPDX-License-Identifier: MIT
 * The process that sleeps in statvfs in our place, and what is said to it. */
#pragma once

#include "parse/statvfs_record.h"

#include <limits.h>
#include <sys/statvfs.h>
#include <sys/types.h>

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

/* The figures of statvfs in our words. */
struct space space_of_statvfs(const struct statvfs *st);
