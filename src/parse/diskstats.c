/* SPDX-License-Identifier: MIT
 *
 *    7       0 loop0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0
 *  254       0 vda 241180 43510 19290002 323281 325734 533479 37954896 221104 0 202924 639245
 *  709421 262 29569984 94792 1213 67
 *  254       1 vda1 …
 *
 * 14 columns before Linux 4.18, 18 before 5.5, then 20.
 */
#include "parse/diskstats.h"

#include "base/util.h"

enum { FEWEST_FIELDS = DISKSTATS_QUEUE_MS + 1 };

static bool read_name(struct scan *line, char ret[DISKSTATS_NAME_BYTES])
{
    scan_blanks(line);
    struct scan name = *line;
    if (!scan_skip_fields(line, 1))
        return false;
    size_t length = (size_t)(line->at - name.at);
    if (length >= DISKSTATS_NAME_BYTES || *name.at == '.')
        return false;
    memcpy(ret, name.at, length);
    ret[length] = '\0';
    for (size_t i = 0; i < length; i++)
        if ((unsigned char)ret[i] < 0x20 || ret[i] == 0x7F)
            return false;
    return true;
}

int parse_diskstats_line(struct scan *text, struct diskstats *ret)
{
    struct scan line;
    struct diskstats d = {0};
    if (!scan_line(text, &line))
        return 0;
    bool is_cut = line.end == text->at; /* no newline: its last number may be cut, too */
    if (is_cut || !scan_u64(&line, &d.major) || !scan_u64(&line, &d.minor) ||
        !read_name(&line, d.name))
        return -EBADMSG;
    while (d.fields < DISKSTATS_FIELDS && scan_u64(&line, &d.values[d.fields]))
        d.fields++;
    bool has_more = d.fields == DISKSTATS_FIELDS && !scan_done(&line) && *line.at == ' ';
    if (d.fields < FEWEST_FIELDS || !(scan_done(&line) || has_more))
        return -EBADMSG;
    *ret = d;
    return 1;
}
