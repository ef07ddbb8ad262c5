/* SPDX-License-Identifier: MIT
 *
 * mount point, block size, blocks, free, available, files, files free:
 *
 * / 4096 5127680 2437116 2170616 1310720 1094213
 * /mnt/with\040blank 1048576 953344 120 0 0 0
 */
#include "parse/statvfs_record.h"

#include "parse/mountinfo.h"

#include <limits.h>

int parse_statvfs_record(struct scan line, struct statvfs_record *ret)
{
    struct statvfs_record r = {.point.at = line.at};
    if (scan_done(&line) || *line.at != '/' || !scan_skip_fields(&line, 1))
        return -EBADMSG;
    r.point.end = line.at;
    uint64_t *const figures[] = {
        &r.space.block_bytes,      &r.space.blocks, &r.space.blocks_free,
        &r.space.blocks_available, &r.space.files,  &r.space.files_free,
    };
    for (size_t i = 0; i < ARRAY_LEN(figures); i++)
        if (!scan_u64(&line, figures[i]))
            return -EBADMSG;
    if (!scan_done(&line))
        return -EBADMSG;
    *ret = r;
    return 0;
}

int statvfs_record_find(struct scan text, const char *point, struct space *ret)
{
    struct scan line;
    struct statvfs_record record;
    char decoded[PATH_MAX];
    while (scan_line(&text, &line) && line.end < text.at) {
        if (parse_statvfs_record(line, &record) < 0 ||
            mountinfo_decode(record.point, decoded, sizeof decoded) < 0 ||
            strcmp(decoded, point) != 0)
            continue;
        *ret = record.space;
        return 0;
    }
    return -ENODATA;
}
