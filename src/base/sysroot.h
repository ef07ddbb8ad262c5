/* SPDX-License-Identifier: MIT
 * Where /proc and /sys are looked for. Every reader starts from a sysroot, so that a recorded
 * machine can stand in for this one. */
#pragma once

#include "toll.h"

#include <stdbool.h>

struct sysroot {
    int proc;  /* directory descriptor of …/proc, owned; negative: it is not mounted */
    int pids;  /* the same for looking up processes by number; negative: proc is not mounted, or
                  shows another pid namespace, in which a number is another process */
    int sys;   /* … and of …/sys; negative when there is none */
    int root;  /* … and of what both stand in */
    bool live; /* false for a recorded tree: its pids are not this machine's */
};

#define SYSROOT_NONE ((struct sysroot){.proc = -1, .pids = -1, .sys = -1, .root = -1})

/* path NULL or "/" is the running machine. */
int sysroot_open(struct sysroot *ret, const char *path, struct toll_error *e);

/* proc of the running machine alone, for who may have few descriptors; the rest can follow, and is
 * negative where it cannot be had. 0 also where proc is not mounted or is not ours. */
int sysroot_open_proc(struct sysroot *ret, struct toll_error *e);
void sysroot_open_rest(struct sysroot *s);

/* The same from a directory descriptor; -errno when there is no proc in it. */
int sysroot_open_at(struct sysroot *ret, int at, const char *path, bool live);

/* Descriptors of its own on the same; negative where they cannot be had. */
void sysroot_copy(struct sysroot *ret, const struct sysroot *s);

/* Why processes cannot be looked up by number, as part of a sentence; NULL: they can be. */
const char *sysroot_why_no_pids(const struct sysroot *s);

/* What is not open is negative. */
void sysroot_close(struct sysroot *s);
