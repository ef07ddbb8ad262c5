/* SPDX-License-Identifier: MIT
 * /proc/diskstats: whole block devices, and the sum over those that are real. */
#include "collect/collectors.h"
#include "collect/disk_facts.h"
#include "collect/disk_history.h"
#include "collect/kernel_file.h"
#include "collect/machine_row.h"

#include <stdio.h>

/* A name in /proc/diskstats, also when it is a partition: it is looked for in /sys once. */
struct disk {
    char name[DISKSTATS_NAME_BYTES];
    struct disk_facts facts;
    struct disk_history history;
    struct measured *measured; /* owned; NULL as long as it was never put into the list */
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
    unsigned size_next;  /* whose size is looked at next */
    bool has_read;       /* what appears from now on is new */
    bool has_sum;        /* it is decided what is added up: */
    bool sum_is_stacked; /* stacked devices instead of real ones, of which none is to be seen */
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

static struct disk *add_disk(struct disks *s, const char *name)
{
    struct disk *longer = realloc(s->list, (s->count + 1) * sizeof *longer);
    if (!longer)
        return NULL;
    s->list = longer;
    struct disk *d = &s->list[s->count++];
    *d = (struct disk){0};
    snprintf(d->name, sizeof d->name, "%s", name);
    return d;
}

/* Where it was at the last tick, which is at the guess unless devices came or left. */
static struct disk *find_disk(struct disks *s, const char *name, unsigned guess)
{
    for (unsigned i = 0; i < s->count; i++) {
        struct disk *d = &s->list[(guess + i) % s->count];
        if (strcmp(d->name, name) == 0)
            return d;
    }
    return add_disk(s, name);
}

static void put_size(struct disk *d, const struct sysroot *root)
{
    uint64_t bytes;
    if (disk_facts_read_size(root, d->name, &bytes) == 0)
        row_put_u64(&d->measured->read, disk_size_bytes, bytes);
    else
        row_unknown(&d->measured->read, disk_size_bytes);
}

/* One that was hidden before for want of use is new, too: its counters were zero. */
static int begin_measuring(struct disk *d, const struct sysroot *root, bool is_new)
{
    d->measured = malloc(sizeof *d->measured);
    if (!d->measured)
        return -ENOMEM;
    measured_init(d->measured, ENTITY_DISK);
    d->measured->is_new = is_new;
    snprintf(d->measured->entity.name, sizeof d->measured->entity.name, "%s", d->name);
    put_size(d, root);
    return 0;
}

/* Dozens of loop devices and the like are made in case somebody wants them. */
static bool is_in_use(const struct disk *d)
{
    if (d->facts.class != DISK_VIRTUAL)
        return true;
    for (unsigned field = 0; field < DISKSTATS_FIELDS; field++)
        if (d->history.total[field])
            return true;
    return false;
}

static void put_counters(struct row *row, const struct disk *d)
{
    const struct diskstats *last = &d->history.last;
    for (size_t i = 0; i < ARRAY_LEN(counters); i++)
        if (counters[i].field < last->fields)
            row_put_held_scaled(row, counters[i].id, d->history.total[counters[i].field],
                                counters[i].unit);
    uint64_t in_flight = last->values[DISKSTATS_IN_FLIGHT];
    if (in_flight <= INT32_MAX) /* some kernels count it below zero */
        row_put_u64(row, disk_in_flight_count, in_flight);
    else
        row_unknown(row, disk_in_flight_count);
}

static void read_disk(struct disks *s, const struct collect_context *c, const struct diskstats *now,
                      unsigned guess, struct measured_list *out)
{
    struct disk *d = find_disk(s, now->name, guess);
    if (!d || d->is_there) /* a name that stands there twice is nobody's */
        return;
    if (!d->has_facts)
        d->facts = disk_facts_read(c->root, d->name);
    d->has_facts = true;
    d->is_there = true;
    if (d->facts.class == DISK_IGNORED)
        return;
    disk_history_add(&d->history, now, d->was_removed);
    d->was_removed = false;
    if (!c->selection->of[ENTITY_DISK] || !is_in_use(d))
        return;
    if (!d->measured && begin_measuring(d, c->root, s->has_read) < 0)
        return;
    d->measured->entity.labels[0] = (struct label){"class", disk_class_name(d->facts.class)};
    put_counters(&d->measured->read, d);
    measured_list_add(out, d->measured);
}

/* The kernel hands the file out in pieces, and may leave a device out when another one goes in
 * between: only what is missing in /sys, too, was removed. */
static void look_for_removed(struct disks *s, const struct sysroot *root)
{
    for (unsigned i = 0; i < s->count; i++) {
        struct disk *d = &s->list[i];
        if (d->is_there || !d->has_facts || disk_facts_exist(root, d->name))
            continue;
        d->has_facts = false;
        d->was_removed = true;
    }
}

/* Sizes seldom change, and are dear: one device in turn, on the running machine now and then. */
static void look_at_a_size(struct disks *s, const struct sysroot *root)
{
    if (root->live && ++s->readings % READINGS_BETWEEN_SIZES)
        return;
    for (unsigned i = 0; i < s->count; i++) {
        struct disk *d = &s->list[s->size_next++ % s->count];
        if (!d->measured || !d->is_there)
            continue;
        put_size(d, root);
        return;
    }
}

/* ---- the machine ----------------------------------------------------------------------------- */

/* A container may see the device of its files without those it is made of. */
static bool stands_for_unseen(const struct disk *d)
{
    return d->facts.class == DISK_STACKED && !d->facts.has_slaves;
}

/* Once and for all, because a sum must not fall. */
static void decide_sum(struct disks *s)
{
    bool has_real = false, has_unseen = false;
    for (unsigned i = 0; i < s->count; i++) {
        has_real |= s->list[i].facts.class == DISK_REAL;
        has_unseen |= stands_for_unseen(&s->list[i]);
    }
    s->has_sum = has_real || has_unseen;
    s->sum_is_stacked = !has_real;
}

static bool is_summed(const struct disks *s, const struct disk *d)
{
    return s->sum_is_stacked ? stands_for_unseen(d) : d->facts.class == DISK_REAL;
}

/* Devices that have gone remain in it. */
static void put_sums(const struct disks *s, struct row *row)
{
    for (size_t i = 0; i < ARRAY_LEN(counters); i++) {
        if (counters[i].of_system == METRIC_COUNT)
            continue;
        uint64_t sum = 0;
        for (unsigned n = 0; n < s->count; n++)
            if (is_summed(s, &s->list[n]))
                sum += s->list[n].history.total[counters[i].field];
        row_put_held_scaled(row, counters[i].of_system, sum, counters[i].unit);
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

static void disks_collect(void *state, const struct collect_context *c, struct measured_list *out)
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
            read_disk(s, c, &now, line, out);
    s->has_read = true;
    look_for_removed(s, c->root);
    look_at_a_size(s, c->root);
    if (!s->has_sum)
        decide_sum(s);
    if (s->has_sum)
        put_sums(s, &c->system->read);
}

static void disks_close(void *state)
{
    struct disks *s = state;
    if (!s)
        return;
    for (unsigned i = 0; i < s->count; i++)
        free(s->list[i].measured);
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
