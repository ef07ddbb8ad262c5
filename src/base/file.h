/* SPDX-License-Identifier: MIT
 * Reading kernel files: whole, in one call, through a descriptor that may be kept. */
#pragma once

#include "base/buf.h"
#include "base/scan.h"

#include <signal.h>
#include <sys/types.h>

/* Read from the start of fd into buf. Length read, or -errno. A kept descriptor of a process that
 * is gone answers -ESRCH. */
ssize_t file_reread(int fd, char *buf, size_t capacity);

/* Open, read, close. A missing file is -ENOENT. */
ssize_t file_read_at(int dir, const char *path, char *buf, size_t capacity);

enum { FILE_ANY_LINE = 4096 };

/* The whole text of a file that the kernel hands out in pieces of a page, in place of what ret had;
 * its memory is kept. A piece ends early only where the next line would not fit: one that leaves
 * room for longest_line (up to FILE_ANY_LINE) was the last, which spares asking again. 0 or -errno;
 * -EFBIG beyond 16 MiB. */
int file_reread_whole(int fd, size_t longest_line, struct buf *ret);
int file_read_whole_at(int dir, const char *path, size_t longest_line, struct buf *ret);

/* Write all of it, whatever the number of calls. 0 or -errno; *ret_written is how much went out in
 * either case, and may be NULL. */
int file_write_all(int fd, const char *data, size_t length, size_t *ret_written);

/* The same in a program that a closed pipe or a limit of file sizes would end by a signal. */
int file_write_quietly(int fd, const char *data, size_t length, size_t *ret_written);

/* For calls that write in their own way (SQLite): until the release, neither a closed pipe nor a
 * limit of file sizes ends the program, and a signal that they raised is taken back. */
struct held_signals {
    sigset_t before, pending;
};
void file_signals_hold(struct held_signals *h);
void file_signals_release(const struct held_signals *h);

/* Whether there is a directory, or the name ends as one. */
bool file_is_directory(const char *path);

/* Whether fewer descriptors are allowed: then a command may need them more than we do. */
bool file_limit_is_below(unsigned enough);

/* Many descriptors will be kept: the soft limit of this process up to the hard one. */
void file_raise_limit(void);

/* Calls visit with every entry of a directory but . and .., without allocating. 0 or -errno. */
int file_each_entry(int dir, void (*visit)(void *arg, const char *name), void *arg);

/* The same in the order of numbers, which /proc has by itself and a copy of it has not. */
int file_each_entry_sorted(int dir, void (*visit)(void *arg, const char *name), void *arg);
