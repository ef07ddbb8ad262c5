/* SPDX-License-Identifier: MIT
 * The kernel counts a request at each device that it passes: at a logical volume and again at the
 * disk below. Each device is shown as it is; the sum leaves out devices that are made of others. */
#include "source/cgroup/cgroup.h"

#include "base/io/file.h"
#include "base/util.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>

/* ==== Cgroup io =============================================================================== */

/* Version 2:
 * 8:16 rbytes=1459200 wbytes=314773504 rios=192 wios=353 dbytes=0 dios=0
 * 8:0
 * 7:1 7:0 254:0 rbytes=4096 wbytes=0 rios=1 wios=0 dbytes=0 dios=0 cost.usage=11
 *
 * Some kernels omit the newline after a device without values: the values on such a line belong to
 * its last device.
 *
 * Version 1:
 * 8:0 Read 1459200
 * 8:0 Write 314773504
 * 8:0 Sync 0
 * 8:0 Total 316232704
 * Total 316232704 */

/* "254:0" at the start of a field of its own. */
static bool cgroup_io_read_device(struct scan *line, unsigned *ret_major, unsigned *ret_minor)
{
    struct scan s = *line;
    uint64_t major, minor;
    if (!scan_u64(&s, &major) || !scan_word(&s, ":") || !scan_u64_here(&s, &minor) ||
        major > UINT32_MAX || minor > UINT32_MAX || (!scan_done(&s) && *s.at != ' '))
        return false;
    *line = s;
    *ret_major = (unsigned)major;
    *ret_minor = (unsigned)minor;
    return true;
}

/* The fields after the device; other keys are skipped. */
static int cgroup_io_read_values(struct scan line, struct cgroup_io *io)
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
        if (!scan_u64_here(&line, keys[k].value) || (!scan_done(&line) && *line.at != ' '))
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
    if (!cgroup_io_read_device(&line, &io.major, &io.minor))
        return -EBADMSG;
    while (cgroup_io_read_device(&line, &io.major, &io.minor))
        ;
    if (cgroup_io_read_values(line, &io) < 0)
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
        if (!cgroup_io_read_device(&line, &b.major, &b.minor))
            return -EBADMSG;
        b.is_write = scan_word(&line, " Write ");
        if (!b.is_write && !scan_word(&line, " Read "))
            continue;
        if (!scan_u64_here(&line, &b.value) || !scan_done(&line))
            return -EBADMSG;
        *ret = b;
        return 1;
    }
    return 0;
}

/* ==== Cgroup disks ============================================================================ */

enum { TEXT_BYTES = 32768, LOOP_MAJOR = 7 };

struct cgroup_disk {
    struct cgroup_disk *next;
    unsigned major, minor;
    bool has_lower;
    bool read_now;
    struct instance instance;
};

void cgroup_disks_init(struct cgroup_disks *d, const char *cgroup)
{
    *d = (struct cgroup_disks){.cgroup = cgroup};
    for (size_t i = 0; i < ARRAY_LEN(d->files); i++)
        d->files[i] = CGROUP_FILE_CLOSED;
}

void cgroup_disks_close_files(struct cgroup_disks *d)
{
    for (size_t i = 0; i < ARRAY_LEN(d->files); i++)
        cgroup_file_close(&d->files[i]);
}

void cgroup_disks_done(struct cgroup_disks *d)
{
    cgroup_disks_close_files(d);
    while (d->first) {
        struct cgroup_disk *next = d->first->next;
        free(d->first);
        d->first = next;
    }
}

/* A loop device is made of a file, whose I/O is counted at its own device. */
static bool cgroup_disk_has_lower(const struct sysroot *root, unsigned major, unsigned minor)
{
    if (major == LOOP_MAJOR)
        return true;
    char path[64];
    snprintf(path, sizeof path, "dev/block/%u:%u/slaves", major, minor);
    CLEANUP_CLOSE int dir = openat(root->sys, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return dir >= 0 && file_count_entries(dir) > 0;
}

/* By its uevent file (DEVNAME=vda), else by what /sys/dev/block links to, else by its number. */
static void cgroup_disk_name(const struct sysroot *root, unsigned major, unsigned minor, char *ret,
                             size_t capacity)
{
    char path[64], text[1024], target[PATH_MAX];
    snprintf(path, sizeof path, "dev/block/%u:%u/uevent", major, minor);
    ssize_t n = file_read_at(root->sys, path, text, sizeof text);
    struct scan rest = scan_text(text, n > 0 ? (size_t)n : 0), line;
    while (scan_line(&rest, &line))
        if (scan_word(&line, "DEVNAME=") && !scan_done(&line)) {
            snprintf(ret, capacity, "%.*s", (int)scan_length(line), line.at);
            return;
        }
    snprintf(path, sizeof path, "dev/block/%u:%u", major, minor);
    n = readlinkat(root->sys, path, target, sizeof target - 1);
    target[n > 0 ? n : 0] = '\0';
    const char *slash = strrchr(target, '/');
    if (slash && slash[1])
        snprintf(ret, capacity, "%s", slash + 1);
    else
        snprintf(ret, capacity, "%u:%u", major, minor);
}

/* New disks are appended, so that the order stays. NULL without memory. */
static struct cgroup_disk *cgroup_disks_find_disk(struct cgroup_disks *d,
                                                  const struct sysroot *root, unsigned major,
                                                  unsigned minor)
{
    struct cgroup_disk **at = &d->first;
    while (*at && ((*at)->major != major || (*at)->minor != minor))
        at = &(*at)->next;
    struct cgroup_disk *disk = *at;
    if (disk)
        return disk;
    disk = *at = calloc(1, sizeof *disk);
    if (!disk)
        return NULL;
    disk->major = major;
    disk->minor = minor;
    disk->has_lower = cgroup_disk_has_lower(root, major, minor);
    instance_init(&disk->instance, ENTITY_CGROUP_DISK);
    struct entity *e = &disk->instance.entity;
    cgroup_disk_name(root, major, minor, e->name, sizeof e->name);
    e->labels[0] = (struct label){"cgroup", d->cgroup};
    disk->instance.is_new = d->begun;
    return disk;
}

/* Whether the file could be read. */
static bool cgroup_disks_read_v2(struct cgroup_disks *d, const struct sysroot *root,
                                 const char *directory)
{
    char text[TEXT_BYTES];
    ssize_t n = cgroup_file_read(&d->files[0], root, directory, "io.stat", text, sizeof text);
    if (n < 0)
        return false;
    struct scan rest = scan_text(text, (size_t)n);
    struct cgroup_io io;
    int more;
    while ((more = parse_cgroup_io(&rest, &io)) != 0) {
        if (more < 0)
            return false;
        struct cgroup_disk *disk = io.has_values
                                       ? cgroup_disks_find_disk(d, root, io.major, io.minor)
                                       : NULL;
        if (!disk)
            continue;
        struct row *row = &disk->instance.read;
        row_put_u64(row, cgroup_disk_read_bytes, io.read_bytes);
        row_put_u64(row, cgroup_disk_written_bytes, io.written_bytes);
        row_put_u64(row, cgroup_disk_reads_count, io.reads);
        row_put_u64(row, cgroup_disk_writes_count, io.writes);
        disk->read_now = true;
    }
    return true;
}

struct blkio_file {
    const char *name, *old_name; /* the old one leaves out what is below the cgroup */
    enum metric_id reads, writes;
};

static bool cgroup_disks_read_blkio(struct cgroup_disks *d, const struct sysroot *root,
                                    const char *directory, const struct blkio_file *what,
                                    struct cgroup_file files[2])
{
    char text[TEXT_BYTES];
    ssize_t n = cgroup_file_read(&files[0], root, directory, what->name, text, sizeof text);
    if (n < 0)
        n = cgroup_file_read(&files[1], root, directory, what->old_name, text, sizeof text);
    struct scan rest = scan_text(text, n > 0 ? (size_t)n : 0), look = rest;
    /* Where no throttling is set, version 1 has zeros whatever was done. So zeros count only when
     * there is another number too. */
    struct cgroup_blkio b;
    bool has_any = false;
    while (!has_any && parse_cgroup_blkio(&look, &b) > 0)
        has_any = b.value;
    if (!has_any)
        return false;
    while (parse_cgroup_blkio(&rest, &b) > 0) {
        struct cgroup_disk *disk = cgroup_disks_find_disk(d, root, b.major, b.minor);
        if (!disk)
            continue;
        row_put_u64(&disk->instance.read, b.is_write ? what->writes : what->reads, b.value);
        disk->read_now = true;
    }
    return true;
}

static bool cgroup_disks_read_v1(struct cgroup_disks *d, const struct sysroot *root,
                                 const char *directory)
{
    static const struct blkio_file bytes = {"blkio.throttle.io_service_bytes_recursive",
                                            "blkio.throttle.io_service_bytes",
                                            cgroup_disk_read_bytes, cgroup_disk_written_bytes};
    static const struct blkio_file operations = {"blkio.throttle.io_serviced_recursive",
                                                 "blkio.throttle.io_serviced",
                                                 cgroup_disk_reads_count, cgroup_disk_writes_count};
    bool any = cgroup_disks_read_blkio(d, root, directory, &bytes, &d->files[1]);
    return cgroup_disks_read_blkio(d, root, directory, &operations, &d->files[3]) || any;
}

/* The last figures of a device that is gone stay in the sum. */
static void cgroup_disks_add_up(const struct cgroup_disks *d, struct row *row)
{
    static const enum metric_id ids[][2] = {
        {cgroup_storage_read_bytes, cgroup_disk_read_bytes},
        {cgroup_storage_written_bytes, cgroup_disk_written_bytes},
        {cgroup_storage_reads_count, cgroup_disk_reads_count},
        {cgroup_storage_writes_count, cgroup_disk_writes_count},
    };
    for (size_t i = 0; i < ARRAY_LEN(ids); i++) {
        uint64_t sum = 0;
        bool complete = true;
        for (const struct cgroup_disk *disk = d->first; disk; disk = disk->next) {
            if (disk->has_lower)
                continue;
            complete &= row_has(&disk->instance.read, ids[i][1]) &&
                        !__builtin_add_overflow(sum, row_u64(&disk->instance.read, ids[i][1]),
                                                &sum);
        }
        if (complete)
            row_put_u64(row, ids[i][0], sum);
    }
}

void cgroup_disks_collect(struct cgroup_disks *d, const struct sysroot *root,
                          const struct cgroup_places *places, struct row *row,
                          struct instance_list *out)
{
    const struct cgroup_place *p = cgroup_place_for(places, CGROUP_BLKIO);
    if (!p)
        return;
    for (struct cgroup_disk *disk = d->first; disk; disk = disk->next)
        disk->read_now = false;
    bool known = p->v2 ? cgroup_disks_read_v2(d, root, p->directory)
                       : cgroup_disks_read_v1(d, root, p->directory);
    d->begun = true;
    if (known)
        cgroup_disks_add_up(d, row);
    for (struct cgroup_disk *disk = d->first; disk; disk = disk->next)
        if (disk->read_now)
            instance_list_add(out, &disk->instance);
}
