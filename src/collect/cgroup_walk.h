/* SPDX-License-Identifier: MIT
 * A cgroup and everything below it. */
#pragma once

#include "base/sysroot.h"

/* Calls visit with a descriptor of the directory and of each below it, which is closed afterwards.
 * 0, or -errno when the first cannot be opened. */
int cgroup_walk(const struct sysroot *root, const char *directory,
                void (*visit)(void *arg, int dir), void *arg);

/* The same from a directory that is open already, which stays open. */
void cgroup_walk_from(int dir, void (*visit)(void *arg, int dir), void *arg);
