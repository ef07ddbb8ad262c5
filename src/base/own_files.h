/* SPDX-License-Identifier: MIT
 * Descriptors of a thread's own, which the rest of the program neither sees nor closes. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* From now on the calling thread has descriptors of its own: the ones in keep, which must be in
 * rising order, and nothing else but /dev/null for those below 3. from: another thread of this
 * program, which has the descriptors of the program and does not end meanwhile. 0, or -errno when
 * the table cannot be shown to be separate, and nothing was closed. */
int own_files_only(const int *keep, size_t count, pid_t from);

/* The same for a process that was forked: its table is its own already. */
void own_files_close_rest(const int *keep, size_t count);

/* A descriptor of a program that may close it, and open something else under its number. */
struct known_file {
    int fd;
    dev_t device;
    ino_t inode;
};

void known_file_set(struct known_file *f, int fd);

struct stat;

/* Whether that is what fstat tells of the file. */
bool known_file_is(const struct known_file *f, const struct stat *st);

/* Whether the number still is that file. */
bool known_file_is_there(const struct known_file *f);

/* Unless it is somebody else's by now. */
void known_file_close(struct known_file *f);
