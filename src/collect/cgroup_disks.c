/* SPDX-License-Identifier: MIT
 * The kernel counts at each device that a request passes: one for a logical volume is counted there
 * and again at the disk below. Each device is shown as it is; the sum leaves out those that stand
 * on others. */
#include "collect/cgroup_disks.h"

#include "base/file.h"
#include "parse/cgroup_io.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>

enum { TEXT_BYTES = 32768, LOOP_MAJOR = 7 };

struct cgroup_disk {
    struct cgroup_disk *next;
    unsigned major, minor;
    bool stands_on_others;
    bool read_now;
    struct measured measured;
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

static void note_entry(void *arg, const char *name)
{
    *(bool *)arg = true;
}

/* A loop device has a file below it instead of a device; what happens there is counted too. */
static bool stands_on_others(const struct sysroot *root, unsigned major, unsigned minor)
{
    if (major == LOOP_MAJOR)
        return true;
    char path[64];
    snprintf(path, sizeof path, "dev/block/%u:%u/slaves", major, minor);
    CLEANUP_CLOSE int dir = openat(root->sys, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool some = false;
    if (dir >= 0)
        file_each_entry(dir, note_entry, &some);
    return some;
}

/* DEVNAME=vda */
static bool name_in_uevent(const struct sysroot *root, const char *link, char *ret, size_t capacity)
{
    char path[64], text[1024];
    snprintf(path, sizeof path, "%s/uevent", link);
    ssize_t n = file_read_at(root->sys, path, text, sizeof text);
    struct scan rest = scan_text(text, n > 0 ? (size_t)n : 0), line;
    while (scan_line(&rest, &line))
        if (scan_word(&line, "DEVNAME=") && !scan_done(&line)) {
            snprintf(ret, capacity, "%.*s", (int)(line.end - line.at), line.at);
            return true;
        }
    return false;
}

static void name_device(const struct sysroot *root, unsigned major, unsigned minor, char *ret,
                        size_t capacity)
{
    char link[48], target[PATH_MAX];
    snprintf(link, sizeof link, "dev/block/%u:%u", major, minor);
    if (name_in_uevent(root, link, ret, capacity))
        return;
    ssize_t n = readlinkat(root->sys, link, target, sizeof target - 1);
    target[n > 0 ? n : 0] = '\0';
    const char *slash = strrchr(target, '/');
    if (slash && slash[1])
        snprintf(ret, capacity, "%s", slash + 1);
    else
        snprintf(ret, capacity, "%u:%u", major, minor);
}

static struct cgroup_disk *disk_new(struct cgroup_disks *d, const struct sysroot *root,
                                    unsigned major, unsigned minor)
{
    struct cgroup_disk *disk = calloc(1, sizeof *disk);
    if (!disk)
        return NULL;
    disk->major = major;
    disk->minor = minor;
    disk->stands_on_others = stands_on_others(root, major, minor);
    measured_init(&disk->measured, ENTITY_CGROUP_DISK);
    struct entity *e = &disk->measured.entity;
    name_device(root, major, minor, e->name, sizeof e->name);
    e->labels[0] = (struct label){"cgroup", d->cgroup};
    disk->measured.is_new = d->begun;
    return disk;
}

/* New ones behind the others, so that they keep their order. NULL without memory. */
static struct cgroup_disk *find_disk(struct cgroup_disks *d, const struct sysroot *root,
                                     unsigned major, unsigned minor)
{
    struct cgroup_disk **at = &d->first;
    while (*at && ((*at)->major != major || (*at)->minor != minor))
        at = &(*at)->next;
    if (!*at)
        *at = disk_new(d, root, major, minor);
    return *at;
}

/* Whether the file could be read. */
static bool read_v2(struct cgroup_disks *d, const struct sysroot *root, const char *directory)
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
        struct cgroup_disk *disk = io.has_values ? find_disk(d, root, io.major, io.minor) : NULL;
        if (!disk)
            continue;
        struct row *row = &disk->measured.read;
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

/* Where no throttling is set, version 1 has zeros whatever was done. So they say something only
 * when not all of them are zero. */
static bool has_any(struct scan text)
{
    struct cgroup_blkio b;
    while (parse_cgroup_blkio(&text, &b) > 0)
        if (b.value)
            return true;
    return false;
}

static bool read_blkio(struct cgroup_disks *d, const struct sysroot *root, const char *directory,
                       const struct blkio_file *what, struct cgroup_file files[2])
{
    char text[TEXT_BYTES];
    ssize_t n = cgroup_file_read(&files[0], root, directory, what->name, text, sizeof text);
    if (n < 0)
        n = cgroup_file_read(&files[1], root, directory, what->old_name, text, sizeof text);
    struct scan rest = scan_text(text, n > 0 ? (size_t)n : 0);
    if (!has_any(rest))
        return false;
    struct cgroup_blkio b;
    while (parse_cgroup_blkio(&rest, &b) > 0) {
        struct cgroup_disk *disk = find_disk(d, root, b.major, b.minor);
        if (!disk)
            continue;
        row_put_u64(&disk->measured.read, b.is_write ? what->writes : what->reads, b.value);
        disk->read_now = true;
    }
    return true;
}

static bool read_v1(struct cgroup_disks *d, const struct sysroot *root, const char *directory)
{
    static const struct blkio_file bytes = {"blkio.throttle.io_service_bytes_recursive",
                                            "blkio.throttle.io_service_bytes",
                                            cgroup_disk_read_bytes, cgroup_disk_written_bytes};
    static const struct blkio_file operations = {"blkio.throttle.io_serviced_recursive",
                                                 "blkio.throttle.io_serviced",
                                                 cgroup_disk_reads_count, cgroup_disk_writes_count};
    bool any = read_blkio(d, root, directory, &bytes, &d->files[1]);
    return read_blkio(d, root, directory, &operations, &d->files[3]) || any;
}

/* A device that is gone counts with what it had. */
static void add_up(const struct cgroup_disks *d, struct row *row)
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
            if (disk->stands_on_others)
                continue;
            complete &= row_has(&disk->measured.read, ids[i][1]) &&
                        !__builtin_add_overflow(sum, row_u64(&disk->measured.read, ids[i][1]),
                                                &sum);
        }
        if (complete)
            row_put_u64(row, ids[i][0], sum);
    }
}

void cgroup_disks_collect(struct cgroup_disks *d, const struct sysroot *root,
                          const struct cgroup_places *places, struct row *row,
                          struct measured_list *out)
{
    const struct cgroup_place *p = cgroup_place_for(places, CGROUP_BLKIO);
    if (!p)
        return;
    for (struct cgroup_disk *disk = d->first; disk; disk = disk->next)
        disk->read_now = false;
    bool known = p->v2 ? read_v2(d, root, p->directory) : read_v1(d, root, p->directory);
    d->begun = true;
    if (known)
        add_up(d, row);
    for (struct cgroup_disk *disk = d->first; disk; disk = disk->next)
        if (disk->read_now)
            measured_list_add(out, &disk->measured);
}
