/* SPDX-License-Identifier: MIT
 * A file of a cgroup that is read again and again. On the running machine it is opened once, and a
 * file that is not there is asked for once; in a recorded tree nothing is kept. */
#pragma once

#include "base/sysroot.h"
#include "base/util.h"

#include <sys/types.h>

struct cgroup_file {
    int fd; /* owned */
    int refused; /* -ENOENT or -EACCES: it is not asked for again; 0 */
};

#define CGROUP_FILE_CLOSED ((struct cgroup_file){.fd = -1})

/* Length read, or -errno: -ENODEV when the cgroup is gone. */
ssize_t cgroup_file_read(struct cgroup_file *f, const struct sysroot *root, const char *directory,
                         const char *name, char *ret, size_t capacity);
void cgroup_file_close(struct cgroup_file *f);
