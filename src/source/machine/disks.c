/* SPDX-License-Identifier: MIT
 * /proc/diskstats: whole block devices, and the sum over those that are real. */
#include "source/machine/machine.h"

#include "base/io/file.h"
#include "base/memory.h"
#include "base/util.h"
#include "source/collector.h"
#include "source/kernel_file.h"
#include "source/probe.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

/* ==== Disk history ============================================================================ */

void disk_history_add(struct disk_history *h, const struct diskstats *now, bool was_removed)
{
    static const uint64_t times = BIT(DISKSTATS_READ_MS) | BIT(DISKSTATS_WRITE_MS) |
                                  BIT(DISKSTATS_ACTIVE_MS) | BIT(DISKSTATS_QUEUE_MS) |
                                  BIT(DISKSTATS_DISCARD_MS) | BIT(DISKSTATS_FLUSH_MS);
    const struct diskstats before = h->last;
    /* Times wrap, and step back a little when CPUs are added up; the number of requests does not.
     */
    bool has_restarted = was_removed || now->major != before.major || now->minor != before.minor ||
                         now->values[DISKSTATS_READS] < before.values[DISKSTATS_READS] ||
                         now->values[DISKSTATS_WRITES] < before.values[DISKSTATS_WRITES];
    h->last = *now;
    for (unsigned field = 0; field < now->fields; field++) {
        uint64_t last = h->has_last && !has_restarted ? before.values[field] : 0;
        uint64_t value = now->values[field];
        bool has_wrapped = times & BIT(field) && last <= UINT32_MAX && last > value &&
                           last - value > UINT32_MAX / 2;
        if (has_wrapped) {
            h->total[field] += UINT32_MAX - last + 1;
            last = 0;
        }
        h->total[field] += counter_growth(&last, value);
        if (field != DISKSTATS_IN_FLIGHT)
            h->last.values[field] = last;
    }
    h->has_last = true;
}

/* ==== Diskstats =============================================================================== */

/* 7       0 loop0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0
 *  254       0 vda 241180 43510 19290002 323281 325734 533479 37954896 221104 0 202924 639245
 *  709421 262 29569984 94792 1213 67
 *  254       1 vda1 …
 *
 * 14 columns before Linux 4.18, 18 before 5.5, then 20. */

enum { FEWEST_FIELDS = DISKSTATS_QUEUE_MS + 1 };

static bool diskstats_read_name(struct scan *line, char ret[DISKSTATS_NAME_BYTES])
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
        !diskstats_read_name(&line, d.name))
        return -EBADMSG;
    while (d.fields < DISKSTATS_FIELDS && scan_u64(&line, &d.values[d.fields]))
        d.fields++;
    bool has_more = d.fields == DISKSTATS_FIELDS && !scan_done(&line) && *line.at == ' ';
    if (d.fields < FEWEST_FIELDS || !(scan_done(&line) || has_more))
        return -EBADMSG;
    *ret = d;
    return 1;
}

/* ==== Disk facts ============================================================================== */

enum { PATH_BYTES = DISKSTATS_NAME_BYTES + 32 };

const char *disk_class_name(enum disk_class class)
{
    static const char *const names[] = {"", "disk", "stacked", "virtual"};
    return names[class];
}

/* A slash in a name (cciss/c0d0) is written as ! in /sys. */
static void disk_facts_path(char ret[PATH_BYTES], const char *name, const char *file)
{
    int start = snprintf(ret, PATH_BYTES, "block/");
    snprintf(ret + start, PATH_BYTES - (size_t)start, "%s%s", name, file);
    for (size_t i = 0; i < strlen(name); i++)
        if (name[i] == '/')
            ret[(size_t)start + i] = '!';
}

/* The prefix and a number: md127, not mdraid. */
static bool disk_facts_is_named(const char *name, const char *const *prefixes)
{
    for (; *prefixes; prefixes++) {
        struct scan s = scan_string(name);
        uint64_t number;
        if (scan_word(&s, *prefixes) && scan_u64(&s, &number))
            return true;
    }
    return false;
}

/* A hardware device has a link to it, and is not among the virtual ones. In a recorded tree the
 * entry may be a plain directory, which does not show that. */
static bool disk_facts_has_hardware(const struct sysroot *root, const char *path, int dir)
{
    struct stat st;
    char target[256];
    if (fstatat(dir, "device", &st, AT_SYMLINK_NOFOLLOW) == 0)
        return true;
    ssize_t length = readlinkat(root->sys, path, target, sizeof target - 1);
    if (length < 0)
        return false;
    target[length] = '\0';
    return !strstr(target, "/virtual/");
}

struct disk_facts disk_facts_read(const struct sysroot *root, const char *name)
{
    static const char *const stacked[] = {"dm-", "md", "md_d", "bcache", NULL};
    static const char *const no_hardware[] = {"loop", "zram", "ram", "nbd", NULL};
    char path[PATH_BYTES];
    disk_facts_path(path, name, "");
    CLEANUP_CLOSE int dir = root->sys < 0
                                ? -1
                                : openat(root->sys, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    /* An NVMe device with several paths has a visible head for them; the paths are hidden. */
    char hidden[4];
    if (dir < 0 || (file_read_at(dir, "hidden", hidden, sizeof hidden) > 0 && hidden[0] == '1'))
        return (struct disk_facts){.class = DISK_IGNORED};
    CLEANUP_CLOSE int slaves = openat(dir, "slaves", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool has_slaves = slaves >= 0 && file_count_entries(slaves) > 0;
    if (has_slaves || disk_facts_is_named(name, stacked))
        return (struct disk_facts){.class = DISK_STACKED, .has_slaves = has_slaves};
    if (disk_facts_is_named(name, no_hardware) || !disk_facts_has_hardware(root, path, dir))
        return (struct disk_facts){.class = DISK_VIRTUAL};
    return (struct disk_facts){.class = DISK_REAL};
}

bool disk_facts_exist(const struct sysroot *root, const char *name)
{
    char path[PATH_BYTES];
    struct stat st;
    disk_facts_path(path, name, "");
    return root->sys >= 0 && fstatat(root->sys, path, &st, 0) == 0;
}

int disk_facts_read_size(const struct sysroot *root, const char *name, uint64_t *ret_bytes)
{
    char path[PATH_BYTES], text[32];
    uint64_t sectors;
    disk_facts_path(path, name, "/size");
    ssize_t n = root->sys < 0 ? -ENOENT : file_read_at(root->sys, path, text, sizeof text);
    if (n < 0)
        return (int)n;
    struct scan s = scan_text(text, (size_t)n);
    if (!scan_u64(&s, &sectors) || !scan_word(&s, "\n") ||
        sectors > UINT64_MAX / DISKSTATS_SECTOR_BYTES)
        return -EBADMSG;
    *ret_bytes = sectors * DISKSTATS_SECTOR_BYTES;
    return 0;
}

/* ==== Disks =================================================================================== */

/* A name in /proc/diskstats, also of a partition: it is looked for in /sys once. */
struct disk {
    char name[DISKSTATS_NAME_BYTES];
    struct disk_facts facts;
    struct disk_history history;
    struct instance *instance; /* owned; NULL as long as it was never put into the list */
    bool has_facts;
    bool is_there;    /* at this reading */
    bool was_removed; /* since the last one that had it */
};

enum { READINGS_BETWEEN_SIZES = 16 };

struct disks {
    struct kernel_file file;
    struct disk *list; /* owned, in order of appearance */
    unsigned count;
    unsigned readings;
    unsigned size_next;  /* the disk whose size is read next */
    bool has_read;       /* disks that appear from now on are new */
    bool has_sum;        /* sum_is_stacked is decided */
    bool sum_is_stacked; /* no real device is visible: the sum is that of the stacked ones */
};

static const struct {
    enum diskstats_field field;
    uint64_t unit;
    enum metric_id id;
    enum metric_id of_system; /* METRIC_COUNT: no sum */
} counters[] = {
    {DISKSTATS_READ_SECTORS, DISKSTATS_SECTOR_BYTES, disk_read_bytes, system_disk_read_bytes},
    {DISKSTATS_WRITTEN_SECTORS, DISKSTATS_SECTOR_BYTES, disk_written_bytes,
     system_disk_written_bytes},
    {DISKSTATS_DISCARDED_SECTORS, DISKSTATS_SECTOR_BYTES, disk_discarded_bytes, METRIC_COUNT},
    {DISKSTATS_READS, 1, disk_reads_count, system_disk_reads_count},
    {DISKSTATS_WRITES, 1, disk_writes_count, system_disk_writes_count},
    {DISKSTATS_READ_MS, NS_PER_MS, disk_read_time_seconds, METRIC_COUNT},
    {DISKSTATS_WRITE_MS, NS_PER_MS, disk_write_time_seconds, METRIC_COUNT},
    {DISKSTATS_QUEUE_MS, NS_PER_MS, disk_queue_time_seconds, METRIC_COUNT},
    {DISKSTATS_ACTIVE_MS, NS_PER_MS, disk_active_seconds, METRIC_COUNT},
};

/* ---- devices --------------------------------------------------------------------------------- */

/* The guess is where the disk was at the last tick, which is right unless devices came or left. */
static struct disk *disks_find_disk(struct disks *s, const char *name, unsigned guess)
{
    for (unsigned i = 0; i < s->count; i++) {
        struct disk *d = &s->list[(guess + i) % s->count];
        if (strcmp(d->name, name) == 0)
            return d;
    }
    if (!ARRAY_GROW(s->list, s->count))
        return NULL;
    struct disk *d = &s->list[s->count++];
    *d = (struct disk){0};
    snprintf(d->name, sizeof d->name, "%s", name);
    return d;
}

static void disks_put_size(struct disk *d, const struct sysroot *root)
{
    uint64_t bytes;
    if (disk_facts_read_size(root, d->name, &bytes) == 0)
        row_put_u64(&d->instance->read, disk_size_bytes, bytes);
    else
        row_unknown(&d->instance->read, disk_size_bytes);
}

/* is_new: it appeared, or an unused one was used for the first time, after the start of the run. */
static int disks_begin_measuring(struct disk *d, const struct sysroot *root, bool is_new)
{
    d->instance = malloc(sizeof *d->instance);
    if (!d->instance)
        return -ENOMEM;
    instance_init(d->instance, ENTITY_DISK);
    d->instance->is_new = is_new;
    snprintf(d->instance->entity.name, sizeof d->instance->entity.name, "%s", d->name);
    disks_put_size(d, root);
    return 0;
}

/* Systems make dozens of loop devices and the like that are never used. */
static bool disks_is_in_use(const struct disk *d)
{
    if (d->facts.class != DISK_VIRTUAL)
        return true;
    for (unsigned field = 0; field < DISKSTATS_FIELDS; field++)
        if (d->history.total[field])
            return true;
    return false;
}

static void disks_put_counters(struct row *row, const struct disk *d)
{
    const struct diskstats *last = &d->history.last;
    for (size_t i = 0; i < ARRAY_LEN(counters); i++)
        if (counters[i].field < last->fields)
            row_hold_scaled(row, counters[i].id, d->history.total[counters[i].field],
                            counters[i].unit);
    uint64_t in_flight = last->values[DISKSTATS_IN_FLIGHT];
    if (in_flight <= INT32_MAX) /* some kernels count it below zero */
        row_put_u64(row, disk_in_flight_count, in_flight);
    else
        row_unknown(row, disk_in_flight_count);
}

static void disks_read_disk(struct disks *s, const struct collect_context *c,
                            const struct diskstats *now, unsigned guess, struct instance_list *out)
{
    struct disk *d = disks_find_disk(s, now->name, guess);
    if (!d || d->is_there) /* listed twice: the first one counts */
        return;
    if (!d->has_facts)
        d->facts = disk_facts_read(c->root, d->name);
    d->has_facts = true;
    d->is_there = true;
    if (d->facts.class == DISK_IGNORED)
        return;
    disk_history_add(&d->history, now, d->was_removed);
    d->was_removed = false;
    if (!c->selection->of[ENTITY_DISK] || !disks_is_in_use(d))
        return;
    if (!d->instance && disks_begin_measuring(d, c->root, s->has_read) < 0)
        return;
    d->instance->entity.labels[0] = (struct label){"class", disk_class_name(d->facts.class)};
    disks_put_counters(&d->instance->read, d);
    instance_list_add(out, d->instance);
}

/* The file is read in parts, and a device may be missing in it when another one was removed between
 * two of them: only a device that is missing in /sys too was removed. */
static void disks_look_for_removed(struct disks *s, const struct sysroot *root)
{
    for (unsigned i = 0; i < s->count; i++) {
        struct disk *d = &s->list[i];
        if (d->is_there || !d->has_facts || disk_facts_exist(root, d->name))
            continue;
        d->has_facts = false;
        d->was_removed = true;
    }
}

/* Sizes seldom change and are expensive: one device in turn, and only now and then when live. */
static void disks_look_at_a_size(struct disks *s, const struct sysroot *root)
{
    if (root->live && ++s->readings % READINGS_BETWEEN_SIZES)
        return;
    for (unsigned i = 0; i < s->count; i++) {
        struct disk *d = &s->list[s->size_next++ % s->count];
        if (!d->instance || !d->is_there)
            continue;
        disks_put_size(d, root);
        return;
    }
}

/* ---- the machine ----------------------------------------------------------------------------- */

/* A container may see the device of its files without those it is made of. */
static bool disks_stands_for_unseen(const struct disk *d)
{
    return d->facts.class == DISK_STACKED && !d->facts.has_slaves;
}

/* Adds the devices up. Which ones are added is decided once, and devices that have gone remain in
 * the sum, because it must not fall. */
static void disks_put_sums(struct disks *s, struct row *row)
{
    if (!s->has_sum) {
        bool has_real = false, has_unseen = false;
        for (unsigned i = 0; i < s->count; i++) {
            has_real |= s->list[i].facts.class == DISK_REAL;
            has_unseen |= disks_stands_for_unseen(&s->list[i]);
        }
        s->has_sum = has_real || has_unseen;
        s->sum_is_stacked = !has_real;
    }
    for (size_t i = 0; s->has_sum && i < ARRAY_LEN(counters); i++) {
        if (counters[i].of_system == METRIC_COUNT)
            continue;
        uint64_t sum = 0;
        for (unsigned n = 0; n < s->count; n++) {
            const struct disk *d = &s->list[n];
            if (s->sum_is_stacked ? disks_stands_for_unseen(d) : d->facts.class == DISK_REAL)
                sum += d->history.total[counters[i].field];
        }
        row_hold_scaled(row, counters[i].of_system, sum, counters[i].unit);
    }
}

/* ---- the collector --------------------------------------------------------------------------- */

static int disks_open(void **ret_state, const struct collect_context *c)
{
    (void)c;
    struct disks *s = calloc(1, sizeof *s);
    if (!s)
        return -ENOMEM;
    s->file = KERNEL_FILE_NONE;
    *ret_state = s;
    return 0;
}

static void disks_collect(void *state, const struct collect_context *c, struct instance_list *out)
{
    struct disks *s = state;
    struct scan text;
    struct diskstats now;
    row_forget(&c->system->read, collector_disks.gives_of_system);
    if (kernel_file_read(&s->file, c->root->proc, "diskstats", c->root->live, &text) < 0)
        return;
    for (unsigned i = 0; i < s->count; i++)
        s->list[i].is_there = false;
    int r;
    for (unsigned line = 0; (r = parse_diskstats_line(&text, &now)) != 0; line++)
        if (r > 0)
            disks_read_disk(s, c, &now, line, out);
    s->has_read = true;
    disks_look_for_removed(s, c->root);
    disks_look_at_a_size(s, c->root);
    disks_put_sums(s, &c->system->read);
}

static void disks_close(void *state)
{
    struct disks *s = state;
    if (!s)
        return;
    for (unsigned i = 0; i < s->count; i++)
        free(s->list[i].instance);
    free(s->list);
    kernel_file_done(&s->file);
    free(s);
}

const struct collector collector_disks = {
    .name = "disks",
    .gives = BIT(ENTITY_SYSTEM) | BIT(ENTITY_DISK),
    .gives_of_system = SYSTEM_BITS(disk_read_bytes, disk_writes_count),
    .cost = COST_CHEAP,
    .open = disks_open,
    .collect = disks_collect,
    .close = disks_close,
};

/* ==== Probe =================================================================================== */

void probe_disks(const struct probe_facts *p, struct finding *f)
{
    struct probe_look l;
    finding_ok(f, "exact", "/proc/diskstats");
    int r = probe_look_begin(&l, p, &collector_disks);
    if (r < 0 || faccessat(p->root.proc, "diskstats", R_OK, 0) < 0) {
        finding_missing(f, "/proc/diskstats cannot be read");
        finding_remedy(f, "mount -t proc proc /proc");
    } else if (probe_has_sys_class(p, f, "cannot distinguish disks from partitions")) {
        finding_detail(f, "%u real, %u stacked, %u virtual", probe_look_count(&l, "disk"),
                       probe_look_count(&l, "stacked"), probe_look_count(&l, "virtual"));
    }
    probe_look_end(&l);
}
