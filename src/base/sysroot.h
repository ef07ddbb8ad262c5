/* SPDX-License-Identifier: MIT
 * Where /proc and /sys are looked for. Every reader starts from a sysroot, so that a recorded
 * machine can stand in for this one. */
#pragma once

#include "toll.h"

#include <stdbool.h>

struct sysroot {
    int proc;  /* directory descriptor of …/proc, owned */
    bool live; /* false for a recorded tree: its pids are not this machine's */
};

/* path NULL or "/" is the running machine. */
int sysroot_open(struct sysroot *ret, const char *path, struct toll_error *e);
void sysroot_close(struct sysroot *s);
