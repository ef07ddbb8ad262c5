/* SPDX-License-Identifier: MIT
 * Reading kernel files: whole, in one call, through a descriptor that may be kept. */
#pragma once

#include "base/text/buf.h"
#include "base/text/scan.h"
#include "toll.h"

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* ==== File ==================================================================================== */

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

/* How many entries a directory has but . and .., or -errno. */
ssize_t file_count_entries(int dir);

/* Like file_each_entry in the order of numbers, which /proc has by itself and a copy of it has not.
 */
int file_each_entry_sorted(int dir, void (*visit)(void *arg, const char *name), void *arg);

/* ==== Line reader ============================================================================= */

/* A file line by line, whatever its size: what is held in memory is a block and the longest line.
 */

struct line_reader {
    int fd;           /* borrowed */
    struct buf block; /* what was read and not handed out, from `at` on */
    size_t at;
    size_t longest;  /* that is taken */
    uint64_t number; /* of the line that was handed out last, from 1 */
    bool at_end;
};

void line_reader_init(struct line_reader *l, int fd, size_t longest);
void line_reader_done(struct line_reader *l);

/* The next line without its newline, good until the next call. 1; 0 at the end; -EMSGSIZE when it
 * is too long, or the -errno of reading. *ret_is_whole is false for a last one without newline. */
int line_reader_next(struct line_reader *l, const char **ret, size_t *ret_length,
                     bool *ret_is_whole);

/* ==== Open files ============================================================================== */

/* Which descriptors a program has open, to tell those that a library opens later from its own. */

struct open_files {
    int *fds; /* owned, rising */
    size_t count;
};

/* Those that are open now. Where they cannot be listed there are none, and nothing will be hidden.
 */
void open_files_note(struct open_files *f);

/* How many are open now; 0 where they cannot be listed. */
size_t open_files_count(void);

/* What was opened since then is not inherited by the programs that this one starts. */
void open_files_hide_new(const struct open_files *f);
void open_files_done(struct open_files *f);

/* ==== Sysroot ================================================================================= */

/* Where /proc and /sys are looked for. Every reader starts from a sysroot, so that a recorded
 * machine can stand in for this one. */

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
