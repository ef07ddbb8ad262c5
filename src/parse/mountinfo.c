/* SPDX-License-Identifier: MIT
 *
 * 27 1 254:0 / / rw,relatime - ext4 /dev/vda rw,discard
 * 36 35 98:0 /mnt1 /mnt/with\040blank rw,noatime master:1 shared:4 - ext3 /dev/root rw
 * 39 31 0:36 / /sys/fs/cgroup/pids rw,relatime - cgroup cgroup rw,pids
 *
 * There is exactly one blank between two fields, so that two of them show an empty source. The
 * kernel escapes blanks, tabs, newlines and backslashes in texts.
 */
#include "parse/mountinfo.h"

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
static bool take_number(struct scan *s, const char *behind, uint64_t *ret)
{
    return s->at < s->end && *s->at != ' ' && *s->at != '\t' && scan_u64(s, ret) &&
           scan_word(s, behind);
}

static bool take_device(struct scan *s, uint64_t *ret)
{
    uint64_t major, minor;
    if (!take_number(s, ":", &major) || !take_number(s, " ", &minor) || major > UINT32_MAX ||
        minor > UINT32_MAX)
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
    if (!take_number(&line, " ", &m.id) || !take_number(&line, " ", &m.parent) ||
        !take_device(&line, &m.device) || !take_filled(&line, &m.root) ||
        !take_filled(&line, &m.point) || !take_filled(&line, &m.options) ||
        !take_optional(&line, &m.optional) || !take_filled(&line, &m.type) ||
        !take_field(&line, &m.source) || scan_done(&line))
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
