/* SPDX-License-Identifier: MIT
 * Reading kernel files: whole, in one call, through a descriptor that may be kept. */
#pragma once

#include "base/scan.h"

#include <sys/types.h>

/* Read from the start of fd into buf. Length read, or -errno. A kept descriptor of a process that
 * is gone answers -ESRCH. */
ssize_t file_reread(int fd, char *buf, size_t capacity);

/* Open, read, close. A missing file is -ENOENT. */
ssize_t file_read_at(int dir, const char *path, char *buf, size_t capacity);

/* Write all of it, whatever the number of calls. 0 or -errno; *ret_written is how much went out in
 * either case, and may be NULL. */
int file_write_all(int fd, const char *data, size_t length, size_t *ret_written);

/* Many descriptors will be kept: the soft limit of this process up to the hard one. */
void file_raise_limit(void);

/* Calls visit with every entry of a directory but . and .., without allocating. 0 or -errno. */
int file_each_entry(int dir, void (*visit)(void *arg, const char *name), void *arg);

/* The same in the order of numbers, which /proc has by itself and a copy of it has not. */
int file_each_entry_sorted(int dir, void (*visit)(void *arg, const char *name), void *arg);
