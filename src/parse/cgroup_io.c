/* SPDX-License-Identifier: MIT
 *
 * Version 2:
 * 8:16 rbytes=1459200 wbytes=314773504 rios=192 wios=353 dbytes=0 dios=0
 * 8:0
 * 7:1 7:0 254:0 rbytes=4096 wbytes=0 rios=1 wios=0 dbytes=0 dios=0 cost.usage=11
 *
 * Some kernels forget the newline behind a device that has no values: it stands in front of the
 * next one then, and the values belong to the last.
 *
 * Version 1:
 * 8:0 Read 1459200
 * 8:0 Write 314773504
 * 8:0 Sync 0
 * 8:0 Total 316232704
 * Total 316232704
 */
#include "parse/cgroup_io.h"

#include "base/util.h"

/* "254:0" at the start of a field of its own. */
static bool read_device(struct scan *line, unsigned *ret_major, unsigned *ret_minor)
{
    struct scan s = *line;
    uint64_t major, minor;
    if (!scan_u64(&s, &major) || !scan_word(&s, ":") || scan_done(&s) || *s.at == ' ' ||
        !scan_u64(&s, &minor) || major > UINT32_MAX || minor > UINT32_MAX)
        return false;
    if (!scan_done(&s) && *s.at != ' ')
        return false;
    *line = s;
    *ret_major = (unsigned)major;
    *ret_minor = (unsigned)minor;
    return true;
}

static bool at_blank(const struct scan *s)
{
    return scan_done(s) || *s->at == ' ';
}

/* The fields behind the device; those that nobody asks for are passed over. */
static int read_values(struct scan line, struct cgroup_io *io)
{
    const struct {
        const char *key;
        uint64_t *value;
    } keys[] = {
        {"rbytes=", &io->read_bytes},
        {"wbytes=", &io->written_bytes},
        {"rios=", &io->reads},
        {"wios=", &io->writes},
    };
    unsigned seen = 0;
    for (scan_blanks(&line); !scan_done(&line); scan_blanks(&line)) {
        size_t k = 0;
        while (k < ARRAY_LEN(keys) && !scan_word(&line, keys[k].key))
            k++;
        if (k == ARRAY_LEN(keys)) {
            if (!scan_skip_fields(&line, 1))
                return -EBADMSG;
            continue;
        }
        if (at_blank(&line) || !scan_u64(&line, keys[k].value) || !at_blank(&line))
            return -EBADMSG;
        seen |= 1U << k;
    }
    if (seen && seen != BIT(ARRAY_LEN(keys)) - 1)
        return -EBADMSG;
    io->has_values = seen;
    return 0;
}

int parse_cgroup_io(struct scan *text, struct cgroup_io *ret)
{
    struct scan line;
    do
        if (!scan_line(text, &line) || line.end == text->at) /* without its newline it was cut */
            return 0;
    while (scan_done(&line));
    struct cgroup_io io = {0};
    if (!read_device(&line, &io.major, &io.minor))
        return -EBADMSG;
    while (read_device(&line, &io.major, &io.minor))
        ;
    if (read_values(line, &io) < 0)
        return -EBADMSG;
    *ret = io;
    return 1;
}

int parse_cgroup_blkio(struct scan *text, struct cgroup_blkio *ret)
{
    struct scan line;
    while (scan_line(text, &line) && line.end != text->at) {
        struct cgroup_blkio b = {0};
        if (scan_done(&line) || scan_word(&line, "Total "))
            continue;
        if (!read_device(&line, &b.major, &b.minor))
            return -EBADMSG;
        b.is_write = scan_word(&line, " Write ");
        if (!b.is_write && !scan_word(&line, " Read "))
            continue;
        if (at_blank(&line) || !scan_u64(&line, &b.value) || !scan_done(&line))
            return -EBADMSG;
        *ret = b;
        return 1;
    }
    return 0;
}
