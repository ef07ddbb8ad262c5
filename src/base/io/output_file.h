/* SPDX-License-Identifier: MIT
 * Opening and replacing the files that outputs go to, in directories that other users may write to.
 *
 * Every path is followed step by step, so that what is checked is what is opened. In a directory
 * that others may write to, links and pipes are used only when they belong to this user or to root
 * (-EPERM), and regular files only when they have one name (-EMLINK); with the sticky bit (/tmp),
 * regular files have to belong to this user or root, too. The kernel does much of this where
 * fs.protected_symlinks, protected_fifos and protected_regular are set, which not every system has.
 * Nothing here waits: a pipe without a reader is -ENXIO.
 *
 * Files are not synced: after a crash of the machine a file may have its old content, or a part of
 * the new one. */
#pragma once

#include "base/util.h"
#include "toll.h"

#include <sys/stat.h>

/* ==== Output file ============================================================================= */

/* Opens a file to append to, and creates it where it does not exist, with mode 0666 less the umask.
 * It may also be a pipe or a device. A descriptor that does not block, or -errno and a sentence.
 * ret_made may be NULL. */
int output_file_open(const char *path, bool *ret_made, struct toll_error *e);

/* Opens a regular file that exists, to read and to write. */
int output_file_open_existing(const char *path, struct toll_error *e);

/* 0 when a library that takes paths only (SQLite) may open the path: it leads to a regular file
 * that output_file_open would open, or to nothing. Otherwise -errno and a sentence. */
int output_file_check(const char *path, struct toll_error *e);

/* Removes the file of the descriptor when the path still leads to it. A link stays. */
void output_file_remove(const char *path, int fd);

/* The path without links, whether there is a file or not; the caller frees it. NULL when it cannot
 * be followed. */
char *output_file_resolve(const char *path);

/* ---- Replacing a file as a whole ------------------------------------------------------------- */

enum {
    REPLACEMENT_NAMED = 1,    /* has its temporary name at once, for what opens it by its path */
    REPLACEMENT_IS_NEW = 2,   /* nothing may be there yet; -EEXIST, also at the commit */
    REPLACEMENT_FOR_ALL = 4,  /* mode 0644 whatever the umask is */
    REPLACEMENT_IN_PLACE = 8, /* a file in a directory that takes no other is emptied instead */
};

/* A new file in the same directory that takes the place of another at the commit. Where the path is
 * a link, the link stays, and what it leads to is replaced. Mode, owner and group are those of the
 * file that was there, as far as the user may give them; access lists are not kept. */
struct replacement {
    int fd;       /* to write to; it does not block. -1: closed */
    bool is_file; /* false: a pipe or a device, which is written directly */
    char *path;   /* owned, with REPLACEMENT_NAMED: where it is until the commit, or NULL */

    int directory;   /* private from here on */
    char *name;      /* owned */
    char *temporary; /* owned: its name in the directory; NULL: it has none yet */
    unsigned flags;
    bool was_there;
    struct stat before; /* of what was there */
};

/* -errno and a sentence. After a failure there is nothing to close. */
int replacement_open(struct replacement *r, const char *path, unsigned flags, struct toll_error *e);

/* Puts it into place. 0 or -errno. It still has to be closed. */
int replacement_commit(struct replacement *r);

/* Discards what was not committed. Accepts one that is closed. */
void replacement_close(struct replacement *r);

#define REPLACEMENT_CLOSED                                                                         \
    {                                                                                              \
        .fd = -1, .directory = -1                                                                  \
    }

/* Creates an empty file with a unique name beside the path, and with that suffix, for what is made
 * in steps and removed afterwards. Its path, which the caller frees, or NULL and a sentence. */
char *output_file_make_beside(const char *path, const char *suffix, struct toll_error *e);

/* ==== Stream ================================================================================== */

/* Writing to an inherited descriptor (a pipe, a terminal, a socket) without waiting for its reader.
 *
 * O_NONBLOCK cannot be set: it belongs to the open file description, which the shell and the job
 * share. Therefore pipes and terminals are opened again through /proc, and sockets are written with
 * MSG_DONTWAIT. Where that is not possible (no /proc; the terminal of another user), poll is called
 * first, and no more is written at a time than there is room for. */

struct stream {
    int fd;  /* borrowed */
    int own; /* the same file, opened again; or -1 */
    enum { STREAM_NEVER_WAITS, STREAM_SOCKET, STREAM_IN_SMALL_PARTS } way;
};

/* Regular files are written directly. */
void stream_open(struct stream *s, int fd);
void stream_close(struct stream *s);

/* Writes as much as there is room for, *ret_written bytes. 0, -EAGAIN when that was not all, or
 * another -errno. Raises no signal. */
int stream_write(struct stream *s, const char *data, size_t length, size_t *ret_written);

/* Waits until there is room again or the reader is gone; false after timeout_ms, or when a signal
 * handler ran. -1 has no end, and signal handlers do not end it. */
bool stream_wait(const struct stream *s, int timeout_ms);

/* Writes all of it; -EAGAIN when nothing could be written for wait_ms. */
int stream_write_patiently(struct stream *s, const char *data, size_t length, int wait_ms);
