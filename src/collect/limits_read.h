/* SPDX-License-Identifier: MIT
 * What a process may use: the least of what the machine has and of what is granted to it. */
#pragma once

#include "base/sysroot.h"
#include "collect/cgroup.h"
#include "metric/limits.h"

/* pid 0 is the caller; the cgroup may be NULL. What cannot be read is unknown. */
void limits_read(struct limits *ret, const struct sysroot *root, pid_t pid, const struct cgroup *c);

/* Only the resource limits, again: a process may change its own. */
void limits_read_resources(struct limits *l, const struct sysroot *root, pid_t pid);
void limits_done(struct limits *l);
