/* SPDX-License-Identifier: MIT
 * Reading files: those of the kernel as a whole through a descriptor that may be kept, others line
 * by line; writing to descriptors without signals; where /proc and /sys are. */
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

/* The whole text of a file that the kernel hands out page by page. Replaces the content of ret,
 * whose memory is kept. A read ends early only where the next line would not fit: one that leaves
 * room for longest_line (up to FILE_ANY_LINE) was the last, which saves a call. 0 or -errno; -EFBIG
 * beyond 16 MiB. */
int file_reread_whole(int fd, size_t longest_line, struct buf *ret);
int file_read_whole_at(int dir, const char *path, size_t longest_line, struct buf *ret);

/* Writes all of it, in several calls where needed. 0 or -errno; *ret_written is how much was
 * written in either case, and may be NULL. */
int file_write_all(int fd, const char *data, size_t length, size_t *ret_written);

/* The same without SIGPIPE and SIGXFSZ, which would end the program. */
int file_write_quietly(int fd, const char *data, size_t length, size_t *ret_written);

/* For calls that write by themselves (SQLite): until the release, neither a closed pipe nor a limit
 * of file sizes ends the program; the release discards the signals that were raised. */
struct held_signals {
    sigset_t before, pending;
};
void file_signals_hold(struct held_signals *h);
void file_signals_release(const struct held_signals *h);

/* Whether it is a directory, or ends with a slash. */
bool file_is_directory(const char *path);

/* Whether the limit of descriptors is lower. */
bool file_limit_is_below(unsigned enough);

/* Raises the soft limit of descriptors to the hard one. */
void file_raise_limit(void);

/* Calls visit with every entry of a directory but . and .., without allocating. 0 or -errno. */
int file_each_entry(int dir, void (*visit)(void *arg, const char *name), void *arg);

/* How many entries a directory has but . and .., or -errno. */
ssize_t file_count_entries(int dir);

/* Like file_each_entry in the order of numbers, which /proc has by itself and a copy of it has not.
 */
int file_each_entry_sorted(int dir, void (*visit)(void *arg, const char *name), void *arg);

/* The names of the records in a directory, known by their suffix (.jsonl, .sqlite, .db), in order.
 * Only regular files count: a FIFO would be waited for. *ret is NULL-terminated, and NULL if there
 * are none; the caller frees it and the names. 0 or -errno. */
int file_list_records(int dir, char ***ret);

/* The path of a file in a directory, as it is shown: without "./". */
void file_put_path(struct buf *b, const char *directory, const char *name);

/* ==== Line reader ============================================================================= */

/* A file line by line: memory holds one block and the longest line, whatever the size. */

struct line_reader {
    int fd;           /* borrowed */
    struct buf block; /* what was read and not handed out, from `at` on */
    size_t at;
    size_t longest;  /* line that is accepted */
    uint64_t number; /* of the line that was handed out last, from 1 */
    bool at_end;
};

void line_reader_init(struct line_reader *l, int fd, size_t longest);
void line_reader_done(struct line_reader *l);

/* The next line without its newline, valid until the next call. 1; 0 at the end; -EMSGSIZE when it
 * is too long, or -errno. *ret_is_whole is false for a last line without newline. */
int line_reader_next(struct line_reader *l, const char **ret, size_t *ret_length,
                     bool *ret_is_whole);

/* ==== Open files ============================================================================== */

/* The descriptors that a program has open, to distinguish them from those that a library opens
 * later. */

struct open_files {
    int *fds; /* owned, rising */
    size_t count;
};

/* Those that are open now; none where they cannot be listed, and then nothing is hidden. */
void open_files_note(struct open_files *f);

/* How many are open now; 0 where they cannot be listed. */
size_t open_files_count(void);

/* Descriptors that were opened since then are closed on exec. */
void open_files_hide_new(const struct open_files *f);
void open_files_done(struct open_files *f);

/* ==== Sysroot ================================================================================= */

/* Where /proc and /sys are. Every reader starts from a sysroot, so that a recorded machine can be
 * read like this one. */

struct sysroot {
    int proc;  /* directory descriptor of …/proc, owned; negative: it is not mounted */
    int pids;  /* the same for looking up processes by number; negative: proc is not mounted, or
                  shows another pid namespace, in which a number is another process */
    int sys;   /* directory descriptor of …/sys, owned; negative when there is none */
    int root;  /* directory descriptor of their parent, owned */
    bool live; /* false for a recorded tree: its pids are not this machine's */
};

#define SYSROOT_NONE ((struct sysroot){.proc = -1, .pids = -1, .sys = -1, .root = -1})

/* path NULL or "/" is the running machine. */
int sysroot_open(struct sysroot *ret, const char *path, struct toll_error *e);

/* proc of the running machine alone, for programs with few descriptors; sysroot_open_rest opens
 * what it can of the rest. 0 also where proc is not mounted or belongs to another pid namespace. */
int sysroot_open_proc(struct sysroot *ret, struct toll_error *e);
void sysroot_open_rest(struct sysroot *s);

/* The same from a directory descriptor; -errno when there is no proc in it. */
int sysroot_open_at(struct sysroot *ret, int at, const char *path, bool live);

/* Duplicates the descriptors; negative where that fails. */
void sysroot_copy(struct sysroot *ret, const struct sysroot *s);

/* Why processes cannot be looked up by number, as part of a sentence; NULL when they can. */
const char *sysroot_why_no_pids(const struct sysroot *s);

/* Ignores negative descriptors. */
void sysroot_close(struct sysroot *s);
