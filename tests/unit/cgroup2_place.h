/* SPDX-License-Identifier: MIT
 * A cgroup of version 2 that a test makes on the running machine, and runs a child in. */
#pragma once

#include "base/util.h"
#include "source/cgroup/place.h"
#include "unit.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>

struct cgroup2 {
    char path[300];
    int directory;
};

/* Skips the test where none can be made. */
static inline void cgroup2_make(struct cgroup2 *c)
{
    struct sysroot root = SYSROOT_NONE;
    struct toll_error e;
    struct cgroup_mounts mounts = {0};
    *c = (struct cgroup2){.directory = -1};
    if (sysroot_open_proc(&root, &e) == 0) {
        cgroup_mounts_read(&mounts, &root);
        sysroot_close(&root);
    }
    for (size_t i = 0; i < mounts.count; i++)
        if (mounts.list[i].v2)
            snprintf(c->path, sizeof c->path, "%s/toll-test-%d", mounts.list[i].point,
                     (int)getpid());
    cgroup_mounts_done(&mounts);
    if (!*c->path || mkdir(c->path, 0755) < 0) {
        print_message("needs a cgroup hierarchy of version 2 that can be written\n");
        skip();
    }
    c->directory = open(c->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(c->directory >= 0);
}

static inline void cgroup2_remove(struct cgroup2 *c)
{
    close(c->directory);
    rmdir(c->path);
}

/* Runs the function in a child that is in the cgroup, and waits for it. */
static inline int cgroup2_run(const struct cgroup2 *c, int (*function)(void))
{
    pid_t child = fork();
    if (child == 0) {
        int procs = openat(c->directory, "cgroup.procs", O_WRONLY | O_CLOEXEC);
        if (procs < 0 || write(procs, "0", 1) != 1)
            _exit(100);
        close(procs);
        _exit(function());
    }
    int status = -1;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}
