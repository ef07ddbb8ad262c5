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
        /* Later kernels may add fields before the total. */
        uint64_t total_us;
        for (scan_blanks(&line); !scan_word(&line, "total="); scan_blanks(&line))
            if (!scan_skip_fields(&line, 1))
                return -EBADMSG;
        if (!scan_u64_here(&line, &total_us) || !scan_done(&line) ||
            __builtin_mul_overflow(total_us, NS_PER_US, some ? &p.some_ns : &p.full_ns))
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

/* Cuts off the field before the next blank, which is taken too. */
static bool mountinfo_field(struct scan *s, struct scan *ret)
{
    const char *blank = memchr(s->at, ' ', (size_t)(s->end - s->at));
    if (!blank || blank == s->at)
        return false;
    *ret = (struct scan){.at = s->at, .end = blank};
    s->at = blank + 1;
    return true;
}

static bool mountinfo_number(struct scan *s, const char *after, uint64_t *ret)
{
    return scan_u64_here(s, ret) && scan_word(s, after);
}

int parse_mountinfo(struct scan line, struct mountinfo *ret)
{
    struct mountinfo m = {0};
    uint64_t major, minor;
    if (!mountinfo_number(&line, " ", &m.id) || !mountinfo_number(&line, " ", &m.parent) ||
        !mountinfo_number(&line, ":", &major) || !mountinfo_number(&line, " ", &minor) ||
        major > UINT32_MAX || minor > UINT32_MAX || !mountinfo_field(&line, &m.root) ||
        !mountinfo_field(&line, &m.point) || !mountinfo_field(&line, &m.options))
        return -EBADMSG;
    m.device = major << 32 | minor;
    /* Any number of optional fields, ended by a dash. */
    struct scan field;
    for (m.optional = (struct scan){.at = line.at, .end = line.at};; m.optional.end = field.end) {
        if (!mountinfo_field(&line, &field))
            return -EBADMSG;
        if (field.end - field.at == 1 && *field.at == '-')
            break;
    }
    if (!mountinfo_field(&line, &m.type))
        return -EBADMSG;
    if (scan_word(&line, " ")) /* the source is empty */
        m.source = (struct scan){.at = line.at - 1, .end = line.at - 1};
    else if (!mountinfo_field(&line, &m.source))
        return -EBADMSG;
    if (scan_done(&line))
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

ssize_t mountinfo_decode(struct scan field, char *buf, size_t capacity)
{
    size_t length = 0;
    while (!scan_done(&field)) {
        /* \ooo with three octal digits, up to \377 */
        const char *at = field.at;
        bool is_escape = field.end - at >= 4 && at[0] == '\\' && at[1] >= '0' && at[1] <= '3' &&
                         at[2] >= '0' && at[2] <= '7' && at[3] >= '0' && at[3] <= '7';
        char c = is_escape ? (char)((at[1] - '0') << 6 | (at[2] - '0') << 3 | (at[3] - '0')) : *at;
        if (!c)
            return -EBADMSG;
        if (length + 1 >= capacity)
            return -ENAMETOOLONG;
        buf[length++] = c;
        field.at += is_escape ? 4 : 1;
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
 * A last line without its newline was cut short: its number may be too, so it is left out. */

int parse_cgroup_flat(struct scan text, const char *const *keys, unsigned count, uint64_t *values)
{
    if (count > CGROUP_FLAT_KEYS)
        return -EINVAL;
    uint64_t found[CGROUP_FLAT_KEYS];
    unsigned seen = 0;
    unsigned all = (unsigned)BIT(count) - 1;
    struct scan line;
    while (seen != all && scan_line(&text, &line) && line.end != text.at) {
        struct scan value = line;
        unsigned k = 0;
        for (; k < count; k++, value = line)
            if (scan_word(&value, keys[k]) && scan_word(&value, " "))
                break;
        if (k == count)
            continue;
        if (!scan_u64(&value, &found[k]) || !scan_done(&value))
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
        uint64_t first, last; /* "0-3" or "8" */
        if (!scan_u64_here(&word, &first))
            return -EBADMSG;
        last = first;
        if (scan_word(&word, "-") && !scan_u64_here(&word, &last))
            return -EBADMSG;
        if (!scan_done(&word) || first < next || last < first || last >= CPU_LIST_MOST)
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

static void fd_cache_unlink(struct fd_cache *c, struct kept_fds *k)
{
    *(k->newer ? &k->newer->older : &c->newest) = k->older;
    *(k->older ? &k->older->newer : &c->oldest) = k->newer;
    k->newer = k->older = NULL;
}

static void fd_cache_link_newest(struct fd_cache *c, struct kept_fds *k)
{
    k->older = c->newest;
    *(c->newest ? &c->newest->newer : &c->oldest) = k;
    c->newest = k;
}

void fd_cache_drop(struct fd_cache *c, struct kept_fds *k)
{
    if (!k->count)
        return;
    fd_cache_unlink(c, k);
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
        fd_cache_link_newest(c, k);
    k->fds[file] = fd;
    k->count++;
    c->used++;
}

void fd_cache_touch(struct fd_cache *c, struct kept_fds *k)
{
    if (!k->count || c->newest == k)
        return;
    fd_cache_unlink(c, k);
    fd_cache_link_newest(c, k);
}

void fd_cache_shrink(struct fd_cache *c)
{
    c->limit = c->used / 2;
    while (c->used > c->limit && c->oldest)
        fd_cache_drop(c, c->oldest);
}

/* ==== Number file ============================================================================= */

int number_file_init(struct number_file *f, const char *folder, const char *name)
{
    f->fd = -1;
    int length = snprintf(f->path, sizeof f->path, "%s/%s", folder, name);
    return length < (int)sizeof f->path ? 0 : -ENAMETOOLONG;
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
    struct number_file f;
    char text[256];
    if (number_file_init(&f, folder, name) < 0)
        return -ENAMETOOLONG;
    ssize_t n = file_read_at(root->sys, f.path, text, sizeof text);
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

enum { LONGEST_LINE = 2048 }; /* a file that is read in parts is cut after a whole line */

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
