/* SPDX-License-Identifier: MIT
 * A file of the kernel that is read whole at every tick, however long it is. */
#pragma once

#include "base/io/file.h"
#include "base/text/buf.h"
#include "base/text/scan.h"
#include "base/util.h"

#include <sys/types.h>

/* ==== Kernel file ============================================================================= */

struct kernel_file {
    int fd;          /* kept open between readings, or -1 */
    struct buf text; /* what was read last */
};

#define KERNEL_FILE_NONE ((struct kernel_file){.fd = -1})

/* Reads path below the directory. keep: through a descriptor that stays open, which is right on the
 * running machine and wrong in a recorded one. The text is valid until the next reading.
 * 0 or -errno. */
int kernel_file_read(struct kernel_file *f, int dir, const char *path, bool keep,
                     struct scan *ret_text);
void kernel_file_done(struct kernel_file *f);

/* ==== Number file ============================================================================= */

/* Files of /sys with one number or one line in them. */

struct number_file {
    char path[128]; /* below /sys */
    int fd;         /* kept between ticks of a live machine; -1 */
};

/* The path is made of a folder and a name in it. 0, or -ENAMETOOLONG. */
int number_file_init(struct number_file *f, const char *folder, const char *name);
void number_file_done(struct number_file *f);

/* 0; -EBADMSG when it is no number, or what the kernel or the driver answered. */
int number_file_read(struct number_file *f, const struct sysroot *root, int64_t *ret);

/* The one line of a file, without blanks at its ends, cut to the capacity. 0; -ENODATA when it is
 * empty, -EBADMSG when there are control characters in it, or -errno. */
int number_file_read_word(const struct sysroot *root, const char *folder, const char *name,
                          char *ret, size_t capacity);

/* ==== Fd cache ================================================================================ */

/* Descriptors kept open from one tick to the next, within the limit of the process. Opening a file
 * of /proc costs as much as reading it, so the processes that change keep theirs. At the limit, the
 * files of the process that changed least recently are closed, and opened again when needed. */

enum kept_file {
    KEPT_STAT,
    KEPT_STATM,
    KEPT_IO,
    KEPT_CHILDREN,
    KEPT_STATUS,
    KEPT_WAITS,
    KEPT_FILES
};

/* The descriptors of one process, a link of the list from most to least recently changed. */
struct kept_fds {
    struct kept_fds *newer, *older;
    int fds[KEPT_FILES]; /* -1 = not open */
    unsigned count;
};

struct fd_cache {
    struct kept_fds *newest, *oldest;
    unsigned used;
    unsigned limit;
};

/* limit: how many descriptors may be kept in all; 0 keeps none. */
void fd_cache_init(struct fd_cache *c, unsigned limit);

void kept_fds_init(struct kept_fds *k);

/* Whether a file of this process may be kept. A changed process makes room at the cost of those
 * that changed longer ago; another one only takes what is free. */
bool fd_cache_admits(struct fd_cache *c, struct kept_fds *k, bool changed);

/* Takes the descriptor. */
void fd_cache_keep(struct fd_cache *c, struct kept_fds *k, enum kept_file file, int fd);

/* The process changed: it is now the last to lose its descriptors. */
void fd_cache_touch(struct fd_cache *c, struct kept_fds *k);

/* Close what is kept of a process. */
void fd_cache_drop(struct fd_cache *c, struct kept_fds *k);

/* The tracker ran out of descriptors all the same: keep fewer from now on. */
void fd_cache_shrink(struct fd_cache *c);

/* ==== Keyed =================================================================================== */

/* Lines "key: value", of which a few are wanted. */

/* Reads one value; like scan_u64. */
typedef bool keyed_value(struct scan *s, uint64_t *ret);

struct keyed {
    const char *key; /* with its colon, so that Pss: is not Pss_Dirty: */
    keyed_value *read;
};

/* "  1628 kB" as bytes; false, and nothing consumed, when they do not fit. */
static inline bool keyed_kib(struct scan *s, uint64_t *ret_bytes)
{
    struct scan t = *s;
    uint64_t kib;
    if (!scan_u64(&t, &kib) || !scan_word(&t, " kB") || kib > UINT64_MAX / 1024)
        return false;
    *s = t;
    *ret_bytes = kib * 1024;
    return true;
}

/* Reads the keys in whatever order they come, skips all other lines, and stops when it has all.
 * Bit k of the answer: values[k] was written. -EBADMSG when a value is not as expected.
 * A last line without its newline was cut short: its number may be too, so it is left out. */
static inline int keyed_read(struct scan text, const struct keyed *keys, unsigned count,
                             uint64_t *values)
{
    int all = (int)(BIT(count) - 1);
    int seen = 0;
    uint64_t letters = 0; /* those that keys begin with: most lines need no closer look */
    for (unsigned k = 0; k < count; k++)
        letters |= BIT(*keys[k].key & 63);
    unsigned next = 0; /* the kernel's order is most often ours */
    struct scan line;
    while (seen != all && scan_line(&text, &line) && line.end < text.at) {
        if (!(letters & BIT(*line.at & 63))) /* an empty line shows its newline */
            continue;
        for (unsigned i = 0, k = next; i < count; i++, k = k + 1 < count ? k + 1 : 0) {
            if (*line.at != *keys[k].key || !scan_word(&line, keys[k].key))
                continue;
            if (!keys[k].read(&line, &values[k]) || !scan_done(&line))
                return -EBADMSG;
            seen |= 1 << k;
            next = k + 1 < count ? k + 1 : 0;
            break;
        }
    }
    return seen;
}

/* ==== Comma list ============================================================================== */

/* Comma-separated lists, as in "cpu,cpuacct". */

/* Cuts the next word off; false at the end. Empty words are handed out as such. */
static inline bool comma_list_next(struct scan *list, struct scan *ret_word)
{
    if (scan_done(list))
        return false;
    const char *comma = memchr(list->at, ',', (size_t)(list->end - list->at));
    *ret_word = (struct scan){.at = list->at, .end = comma ? comma : list->end};
    list->at = comma ? comma + 1 : list->end;
    return true;
}

static inline bool comma_list_has(struct scan list, const char *wanted)
{
    struct scan word;
    while (comma_list_next(&list, &word))
        if (scan_word(&word, wanted) && scan_done(&word))
            return true;
    return false;
}

/* ==== Cpu list ================================================================================ */

/* Lists of CPUs, as in /sys/devices/system/cpu/online, Cpus_allowed_list and cpuset.cpus. */

enum { CPU_LIST_MOST = 8192 }; /* the largest number of CPUs that a kernel is built for */

struct cpu_list {
    uint64_t bits[CPU_LIST_MOST / 64];
};

/* 0; -ENODATA for an empty list (a cpuset that was not set); -EBADMSG. The newline may be missing.
 */
int parse_cpu_list(struct scan text, struct cpu_list *ret);

unsigned cpu_list_count(const struct cpu_list *l);

/* Removes the CPUs that are not in `other`. */
void cpu_list_keep(struct cpu_list *l, const struct cpu_list *other);

/* ==== Cgroup flat ============================================================================= */

/* The flat files of a cgroup: cpu.stat, memory.stat, memory.events, pids.events and
 * memory.oom_control, of which a few lines are wanted. */

enum { CGROUP_FLAT_KEYS = 16 }; /* the most that may be asked for at once */

/* Bit k of the answer: values[k] was written. -EBADMSG when a wanted value is no number; then
 * nothing is written. A key that is not there is a bit that is not set. */
int parse_cgroup_flat(struct scan text, const char *const *keys, unsigned count, uint64_t *values);

/* ==== Mountinfo =============================================================================== */

/* /proc/PID/mountinfo: what is mounted where, a line for each mount. */

/* One line. The texts are windows on the line, still escaped: see mountinfo_decode. */
struct mountinfo {
    uint64_t id;
    uint64_t parent;      /* the mount that this one is mounted on; its own id for the first one */
    uint64_t device;      /* major << 32 | minor; the same for all mounts of one filesystem */
    struct scan root;     /* which directory of the filesystem is seen, "/" for all of it */
    struct scan point;    /* where, as the process of the file sees it */
    struct scan options;  /* comma-separated: see comma_list_next */
    struct scan optional; /* shared:1 master:2 and the like, separated by blanks; often empty */
    struct scan type;
    struct scan source;        /* may be empty */
    struct scan super_options; /* of the filesystem; the controllers of a cgroup of version 1 */
};

/* One line without its newline. 0, or -EBADMSG. */
int parse_mountinfo(struct scan line, struct mountinfo *ret);

/* Cuts lines off the text up to the first that can be read; false when none is left. A last line
 * without its newline was cut short and is left out. */
bool mountinfo_next(struct scan *text, struct mountinfo *ret);

/* Decodes escapes such as \040 and terminates the text. The
 * length; -ENAMETOOLONG when it does not fit, -EBADMSG when it would have a zero inside. */
ssize_t mountinfo_decode(struct scan field, char *buf, size_t capacity);

/* ==== Pressure ================================================================================ */

/* /proc/pressure/cpu, memory, io, and the files of the same form in a cgroup: time lost in waiting
 * (Linux 4.20 and later). */

struct pressure {
    bool has_full;    /* of the CPU since Linux 5.13 */
    uint64_t some_ns; /* some task waited */
    uint64_t full_ns; /* every task that was not idle waited; 0 when it is not there */
};

/* 0; -EBADMSG when there is no line of "some" or a total is no number, -ENODATA when there is no
 * text. */
int parse_pressure(struct scan text, struct pressure *ret);
