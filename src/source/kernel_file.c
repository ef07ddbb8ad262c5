/* SPDX-License-Identifier: MIT */
#include "source/kernel_file.h"

#include "base/io/file.h"
#include "base/util.h"

#include <fcntl.h>
#include <stdio.h>

/* ==== Pressure ================================================================================ */

/* some avg10=31.72 avg60=10.26 avg300=7.68 total=1634313557
 * full avg10=0.00 avg60=0.00 avg300=0.00 total=0
 *  averages in percent, the totals in microseconds */

/* The total is found by its name: fields may be added in front of it. */
static bool read_total(struct scan line, uint64_t *ret_ns)
{
    for (scan_blanks(&line); !scan_done(&line); scan_blanks(&line)) {
        uint64_t total_us;
        if (scan_word(&line, "total="))
            return !scan_done(&line) && *line.at != ' ' && scan_u64(&line, &total_us) &&
                   scan_done(&line) && !__builtin_mul_overflow(total_us, NS_PER_US, ret_ns);
        if (!scan_skip_fields(&line, 1))
            return false;
    }
    return false;
}

int parse_pressure(struct scan text, struct pressure *ret)
{
    if (scan_done(&text))
        return -ENODATA;
    struct pressure p = {0};
    bool has_some = false;
    struct scan line;
    while (scan_line(&text, &line) && line.end != text.at) { /* a line without newline was cut */
        bool some = scan_word(&line, "some ");
        if (!some && !scan_word(&line, "full "))
            continue;
        if (!read_total(line, some ? &p.some_ns : &p.full_ns))
            return -EBADMSG;
        has_some |= some;
        p.has_full |= !some;
    }
    if (!has_some)
        return -EBADMSG;
    *ret = p;
    return 0;
}

/* ==== Mountinfo =============================================================================== */

/* 27 1 254:0 / / rw,relatime - ext4 /dev/vda rw,discard
 * 36 35 98:0 /mnt1 /mnt/with\040blank rw,noatime master:1 shared:4 - ext3 /dev/root rw
 * 39 31 0:36 / /sys/fs/cgroup/pids rw,relatime - cgroup cgroup rw,pids
 *
 * There is exactly one blank between two fields, so that two of them show an empty source. The
 * kernel escapes blanks, tabs, newlines and backslashes in texts. */

/* Up to the next blank, which is taken too. */
static bool take_field(struct scan *s, struct scan *ret)
{
    const char *blank = memchr(s->at, ' ', (size_t)(s->end - s->at));
    if (!blank)
        return false;
    *ret = (struct scan){.at = s->at, .end = blank};
    s->at = blank + 1;
    return true;
}

static bool take_filled(struct scan *s, struct scan *ret)
{
    return take_field(s, ret) && !scan_done(ret);
}

/* The line begins with a digit: scan_u64 alone would skip blanks. */
static bool mountinfo_take_number(struct scan *s, const char *behind, uint64_t *ret)
{
    return s->at < s->end && *s->at != ' ' && *s->at != '\t' && scan_u64(s, ret) &&
           scan_word(s, behind);
}

static bool take_device(struct scan *s, uint64_t *ret)
{
    uint64_t major, minor;
    if (!mountinfo_take_number(s, ":", &major) || !mountinfo_take_number(s, " ", &minor) ||
        major > UINT32_MAX || minor > UINT32_MAX)
        return false;
    *ret = major << 32 | minor;
    return true;
}

/* Everything before the lone dash, without the blank in front of it. */
static bool take_optional(struct scan *s, struct scan *ret)
{
    struct scan field;
    *ret = (struct scan){.at = s->at, .end = s->at};
    while (take_filled(s, &field)) {
        if (field.end - field.at == 1 && *field.at == '-')
            return true;
        ret->end = field.end;
    }
    return false;
}

int parse_mountinfo(struct scan line, struct mountinfo *ret)
{
    struct mountinfo m = {0};
    if (!mountinfo_take_number(&line, " ", &m.id) ||
        !mountinfo_take_number(&line, " ", &m.parent) || !take_device(&line, &m.device) ||
        !take_filled(&line, &m.root) || !take_filled(&line, &m.point) ||
        !take_filled(&line, &m.options) || !take_optional(&line, &m.optional) ||
        !take_filled(&line, &m.type) || !take_field(&line, &m.source) || scan_done(&line))
        return -EBADMSG;
    m.super_options = line;
    *ret = m;
    return 0;
}

bool mountinfo_next(struct scan *text, struct mountinfo *ret)
{
    struct scan line;
    while (scan_line(text, &line) && line.end < text->at)
        if (parse_mountinfo(line, ret) == 0)
            return true;
    return false;
}

static bool is_octal(char c)
{
    return c >= '0' && c <= '7';
}

/* The byte that \ooo stands for, or -1 when it is no escape. */
static int escaped_byte(const struct scan *s)
{
    const char *at = s->at;
    if (s->end - at < 4 || at[0] != '\\' || at[1] > '3' || !is_octal(at[1]) || !is_octal(at[2]) ||
        !is_octal(at[3]))
        return -1;
    return (at[1] - '0') << 6 | (at[2] - '0') << 3 | (at[3] - '0');
}

ssize_t mountinfo_decode(struct scan field, char *buf, size_t capacity)
{
    size_t length = 0;
    while (!scan_done(&field)) {
        int byte = escaped_byte(&field);
        char c = byte < 0 ? *field.at : (char)byte;
        if (!c)
            return -EBADMSG;
        if (length + 1 >= capacity)
            return -ENAMETOOLONG;
        buf[length++] = c;
        field.at += byte < 0 ? 1 : 4;
    }
    if (!capacity)
        return -ENAMETOOLONG;
    buf[length] = '\0';
    return (ssize_t)length;
}

/* ==== Cgroup flat ============================================================================= */

/* usage_usec 1836400
 * user_usec 1170128
 * system_usec 666272
 * nr_periods 0
 *
 * A last line without its newline was cut short: its number may be too, so it is not there. */

/* The number of the key that the line begins with, or count. */
static unsigned find_key(struct scan *line, const char *const *keys, unsigned count)
{
    for (unsigned k = 0; k < count; k++) {
        struct scan s = *line;
        if (*s.at == *keys[k] && scan_word(&s, keys[k]) && scan_word(&s, " ")) {
            *line = s;
            return k;
        }
    }
    return count;
}

int parse_cgroup_flat(struct scan text, const char *const *keys, unsigned count, uint64_t *values)
{
    if (count > CGROUP_FLAT_KEYS)
        return -EINVAL;
    uint64_t found[CGROUP_FLAT_KEYS];
    unsigned seen = 0;
    unsigned all = (unsigned)BIT(count) - 1;
    struct scan line;
    while (seen != all && scan_line(&text, &line) && line.end != text.at) {
        unsigned k = scan_done(&line) ? count : find_key(&line, keys, count);
        if (k == count)
            continue;
        if (!scan_u64(&line, &found[k]) || !scan_done(&line))
            return -EBADMSG;
        seen |= 1U << k;
    }
    for (unsigned k = 0; k < count; k++)
        if (seen >> k & 1)
            values[k] = found[k];
    return (int)seen;
}

/* ==== Cpu list ================================================================================ */

/* 0-3,8,10-11 */

/* Reads "8" or "0-3"; no blanks. */
static bool read_range(struct scan *s, uint64_t *ret_first, uint64_t *ret_last)
{
    if (scan_done(s) || *s->at == ' ' || *s->at == '\t' || !scan_u64(s, ret_first))
        return false;
    *ret_last = *ret_first;
    if (scan_word(s, "-") &&
        (scan_done(s) || *s->at == ' ' || *s->at == '\t' || !scan_u64(s, ret_last)))
        return false;
    return scan_done(s) && *ret_first <= *ret_last && *ret_last < CPU_LIST_MOST;
}

int parse_cpu_list(struct scan text, struct cpu_list *ret)
{
    if (!scan_done(&text) && text.end[-1] == '\n')
        text.end--;
    scan_blanks(&text);
    if (scan_done(&text))
        return -ENODATA;
    if (text.end[-1] == ',')
        return -EBADMSG;
    struct cpu_list list = {0};
    uint64_t next = 0; /* the kernel writes them in their order */
    struct scan word;
    while (comma_list_next(&text, &word)) {
        uint64_t first, last;
        if (!read_range(&word, &first, &last) || first < next)
            return -EBADMSG;
        for (uint64_t cpu = first; cpu <= last; cpu++)
            list.bits[cpu / 64] |= BIT(cpu % 64);
        next = last + 1;
    }
    *ret = list;
    return 0;
}

unsigned cpu_list_count(const struct cpu_list *l)
{
    unsigned count = 0;
    for (size_t i = 0; i < ARRAY_LEN(l->bits); i++)
        count += (unsigned)__builtin_popcountll(l->bits[i]);
    return count;
}

void cpu_list_keep(struct cpu_list *l, const struct cpu_list *other)
{
    for (size_t i = 0; i < ARRAY_LEN(l->bits); i++)
        l->bits[i] &= other->bits[i];
}

/* ==== Fd cache ================================================================================ */

void fd_cache_init(struct fd_cache *c, unsigned limit)
{
    *c = (struct fd_cache){.limit = limit};
}

void kept_fds_init(struct kept_fds *k)
{
    *k = (struct kept_fds){0};
    for (unsigned i = 0; i < KEPT_FILES; i++)
        k->fds[i] = -1;
}

static void unlink_entry(struct fd_cache *c, struct kept_fds *k)
{
    *(k->newer ? &k->newer->older : &c->newest) = k->older;
    *(k->older ? &k->older->newer : &c->oldest) = k->newer;
    k->newer = k->older = NULL;
}

static void link_newest(struct fd_cache *c, struct kept_fds *k)
{
    k->older = c->newest;
    *(c->newest ? &c->newest->newer : &c->oldest) = k;
    c->newest = k;
}

void fd_cache_drop(struct fd_cache *c, struct kept_fds *k)
{
    if (!k->count)
        return;
    unlink_entry(c, k);
    for (unsigned i = 0; i < KEPT_FILES; i++) {
        if (k->fds[i] >= 0)
            close(k->fds[i]);
        k->fds[i] = -1;
    }
    c->used -= k->count;
    k->count = 0;
}

bool fd_cache_admits(struct fd_cache *c, struct kept_fds *k, bool changed)
{
    if (c->used < c->limit)
        return true;
    if (!changed || !c->oldest || c->oldest == k)
        return false;
    fd_cache_drop(c, c->oldest);
    return c->used < c->limit;
}

void fd_cache_keep(struct fd_cache *c, struct kept_fds *k, enum kept_file file, int fd)
{
    if (!k->count)
        link_newest(c, k);
    k->fds[file] = fd;
    k->count++;
    c->used++;
}

void fd_cache_touch(struct fd_cache *c, struct kept_fds *k)
{
    if (!k->count || c->newest == k)
        return;
    unlink_entry(c, k);
    link_newest(c, k);
}

void fd_cache_shrink(struct fd_cache *c)
{
    c->limit = c->used / 2;
    while (c->used > c->limit && c->oldest)
        fd_cache_drop(c, c->oldest);
}

/* ==== Number file ============================================================================= */

static int number_file_join(char path[128], const char *folder, const char *name)
{
    return snprintf(path, 128, "%s/%s", folder, name) < 128 ? 0 : -ENAMETOOLONG;
}

int number_file_init(struct number_file *f, const char *folder, const char *name)
{
    f->fd = -1;
    return number_file_join(f->path, folder, name);
}

void number_file_done(struct number_file *f)
{
    close_p(&f->fd);
}

int number_file_read(struct number_file *f, const struct sysroot *root, int64_t *ret)
{
    char text[64];
    CLEANUP_CLOSE int fd = f->fd < 0 ? openat(root->sys, f->path, O_RDONLY | O_CLOEXEC)
                                     : take_fd(&f->fd);
    if (fd < 0)
        return -errno;
    ssize_t n = file_reread(fd, text, sizeof text);
    if (n < 0) /* opened anew next time: the device may have been taken away and put back */
        return (int)n;
    if (root->live)
        f->fd = take_fd(&fd);
    struct scan s = scan_text(text, (size_t)n);
    int64_t value;
    if (!scan_i64(&s, &value) || !scan_word(&s, "\n") || !scan_done(&s))
        return -EBADMSG;
    *ret = value;
    return 0;
}

int number_file_read_word(const struct sysroot *root, const char *folder, const char *name,
                          char *ret, size_t capacity)
{
    char path[128], text[256];
    if (number_file_join(path, folder, name) < 0)
        return -ENAMETOOLONG;
    ssize_t n = file_read_at(root->sys, path, text, sizeof text);
    if (n < 0)
        return (int)n;
    struct scan s = scan_text(text, (size_t)n), line;
    if (!scan_line(&s, &line))
        return -ENODATA;
    scan_blanks(&line);
    while (!scan_done(&line) && (line.end[-1] == ' ' || line.end[-1] == '\t'))
        line.end--;
    size_t length = min_u64((uint64_t)(line.end - line.at), capacity - 1);
    if (!length)
        return -ENODATA;
    for (size_t i = 0; i < length; i++)
        if ((unsigned char)line.at[i] < ' ' || line.at[i] == 127)
            return -EBADMSG;
    memcpy(ret, line.at, length);
    ret[length] = '\0';
    return 0;
}

/* ==== Kernel file ============================================================================= */

enum { LONGEST_LINE = 2048 }; /* of those that a file is read in pieces by */

int kernel_file_read(struct kernel_file *f, int dir, const char *path, bool keep,
                     struct scan *ret_text)
{
    CLEANUP_CLOSE int fd = take_fd(&f->fd);
    if (fd < 0)
        fd = openat(dir, path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    int r = file_reread_whole(fd, LONGEST_LINE, &f->text);
    if (r < 0)
        return r;
    if (keep)
        f->fd = take_fd(&fd);
    *ret_text = scan_text(f->text.data, f->text.length);
    return 0;
}

void kernel_file_done(struct kernel_file *f)
{
    close_p(&f->fd);
    buf_done(&f->text);
    *f = KERNEL_FILE_NONE;
}
