/* SPDX-License-Identifier: MIT
 * Filesystems that answer, do not answer, or end whoever asks, by their path. */
#pragma once

#include "source/machine/space.h"
#include "unit.h"

#include <poll.h>
#include <signal.h>
#include <sys/wait.h>

static inline int fake_statvfs(const char *path, struct statvfs *ret)
{
    while (strstr(path, "hang"))
        poll(NULL, 0, -1);
    if (strstr(path, "deadly"))
        _exit(1);
    if (strstr(path, "denied")) {
        errno = EACCES;
        return -1;
    }
    *ret = (struct statvfs){
        .f_bsize = 1 << 20, /* what it likes to read at once, not the unit of the figures */
        .f_frsize = 4096,
        .f_blocks = strstr(path, "empty") ? 0 : 1000,
        .f_bfree = 400,
        .f_bavail = 300,
        .f_files = 50,
        .f_ffree = 20,
    };
    return 0;
}

/* Helpers are nobody's business but the engine's; here it is the test that reaps them. */
static inline void reap_helper(pid_t pid)
{
    pid_t found = waitpid(pid, NULL, __WALL);
    assert_true(found == pid || (found < 0 && errno == ECHILD)); /* the asker waits for its own */
}
