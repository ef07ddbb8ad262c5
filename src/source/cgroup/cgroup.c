/* SPDX-License-Identifier: MIT */
#include "source/cgroup/cgroup.h"

#include "base/err.h"
#include "base/io/file.h"
#include "base/memory.h"
#include "base/util.h"
#include "source/cgroup/limits.h"
#include "source/cgroup/place.h"
#include "source/kernel_file.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>

/* ==== Cgroup value ============================================================================ */

/* memory.max             max                   or 1073741824
 * memory.limit_in_bytes  9223372036854771712   or 1073741824
 * cpu.cfs_quota_us       -1                    or 50000
 * cpu.max                max 100000            or 50000 100000
 *
 * Without a limit version 1 writes the largest number of bytes in whole pages, so it depends on the
 * size of pages; kernels before 4.0 wrote the largest number there is. */

static const uint64_t largest_page = 65536;

struct cgroup_value cgroup_value_of(uint64_t number)
{
    bool unlimited = number > INT64_MAX - largest_page;
    return (struct cgroup_value){.unlimited = unlimited, .value = unlimited ? 0 : number};
}

static bool cgroup_value_read_limit(struct scan *s, struct cgroup_value *ret)
{
    uint64_t value;
    if (scan_word(s, "max") || scan_word(s, "-1")) {
        *ret = (struct cgroup_value){.unlimited = true};
        return true;
    }
    if (!scan_u64_here(s, &value))
        return false;
    *ret = cgroup_value_of(value);
    return true;
}

/* One line and its newline: without it the number may have been cut. */
static bool cgroup_value_at_end(struct scan s)
{
    return scan_word(&s, "\n") && scan_done(&s);
}

int parse_cgroup_value(struct scan text, struct cgroup_value *ret)
{
    struct cgroup_value v;
    if (!cgroup_value_read_limit(&text, &v) || !cgroup_value_at_end(text))
        return -EBADMSG;
    *ret = v;
    return 0;
}

int parse_cgroup_cpu_max(struct scan text, struct cgroup_cpu_max *ret)
{
    struct cgroup_value quota;
    uint64_t period;
    if (!cgroup_value_read_limit(&text, &quota) || !scan_word(&text, " ") ||
        !scan_u64(&text, &period) || !cgroup_value_at_end(text) || period == 0)
        return -EBADMSG;
    *ret = (struct cgroup_cpu_max){
        .unlimited = quota.unlimited, .quota_us = quota.value, .period_us = period};
    return 0;
}

/* ==== Cgroup figures ========================================================================== */

/* A file, the versions of cgroups that have it, and the metrics of its values. A metric may be in
 * several files: the first that has it is used, and a file without any other metric is not read. */

enum { FIGURES_PER_FILE = 8, TEXT_BYTES = 8192 };

#define TICKS 0 /* as a scale: the value is in ticks of the clock */

struct figure {
    const char *key; /* of a flat file */
    enum metric_id id;
    uint64_t scale; /* to nanoseconds, bytes or a count */
};

enum file_form { ONE_VALUE, FLAT, PRESSURE };
enum { V1 = 1, V2 = 2 };

static const struct source {
    unsigned versions;
    enum cgroup_controller controller;
    const char *name;
    enum file_form form;
    struct figure figures[FIGURES_PER_FILE]; /* up to one without a key */
} sources[CGROUP_FIGURE_FILES] = {
    {V2,
     CGROUP_CPUACCT,
     "cpu.stat",
     FLAT,
     {{"usage_usec", cgroup_cpu_seconds, NS_PER_US},
      {"user_usec", cgroup_cpu_user_seconds, NS_PER_US},
      {"system_usec", cgroup_cpu_system_seconds, NS_PER_US},
      {"nr_periods", cgroup_cpu_periods_count, 1},
      {"nr_throttled", cgroup_cpu_throttled_periods_count, 1},
      {"throttled_usec", cgroup_cpu_throttled_seconds, NS_PER_US}}},
    {V2, CGROUP_MEMORY, "memory.current", ONE_VALUE, {{"", cgroup_memory_bytes, 1}}},
    {V2, CGROUP_MEMORY, "memory.peak", ONE_VALUE, {{"", cgroup_memory_peak_bytes, 1}}},
    {V2, CGROUP_MEMORY, "memory.swap.current", ONE_VALUE, {{"", cgroup_memory_swap_bytes, 1}}},
    {V2,
     CGROUP_MEMORY,
     "memory.stat",
     FLAT,
     {{"anon", cgroup_memory_anon_bytes, 1},
      {"file", cgroup_memory_file_bytes, 1},
      {"shmem", cgroup_memory_shmem_bytes, 1},
      {"kernel", cgroup_memory_kernel_bytes, 1}}},
    /* Since Linux 5.2: of this cgroup's own limit, without those of cgroups below it. */
    {V2,
     CGROUP_MEMORY,
     "memory.events.local",
     FLAT,
     {{"max", cgroup_memory_limit_events_count, 1}}},
    {V2,
     CGROUP_MEMORY,
     "memory.events",
     FLAT,
     {{"high", cgroup_memory_high_events_count, 1},
      {"max", cgroup_memory_limit_events_count, 1},
      {"oom", cgroup_oom_events_count, 1},
      {"oom_kill", cgroup_oom_kills_count, 1}}},
    {V1 | V2, CGROUP_PIDS, "pids.current", ONE_VALUE, {{"", cgroup_tasks_count, 1}}},
    {V1 | V2, CGROUP_PIDS, "pids.events", FLAT, {{"max", cgroup_tasks_limit_events_count, 1}}},
    {V2,
     CGROUP_UNIFIED,
     "cpu.pressure",
     PRESSURE,
     {{"some", cgroup_cpu_pressure_some_seconds, 1},
      {"full", cgroup_cpu_pressure_full_seconds, 1}}},
    {V2,
     CGROUP_UNIFIED,
     "memory.pressure",
     PRESSURE,
     {{"some", cgroup_memory_pressure_some_seconds, 1},
      {"full", cgroup_memory_pressure_full_seconds, 1}}},
    {V2,
     CGROUP_UNIFIED,
     "io.pressure",
     PRESSURE,
     {{"some", cgroup_io_pressure_some_seconds, 1}, {"full", cgroup_io_pressure_full_seconds, 1}}},

    {V1, CGROUP_CPUACCT, "cpuacct.usage", ONE_VALUE, {{"", cgroup_cpu_seconds, 1}}},
    {V1,
     CGROUP_CPUACCT,
     "cpuacct.stat",
     FLAT,
     {{"user", cgroup_cpu_user_seconds, TICKS}, {"system", cgroup_cpu_system_seconds, TICKS}}},
    {V1,
     CGROUP_CPU,
     "cpu.stat",
     FLAT,
     {{"nr_periods", cgroup_cpu_periods_count, 1},
      {"nr_throttled", cgroup_cpu_throttled_periods_count, 1},
      {"throttled_time", cgroup_cpu_throttled_seconds, 1}}},
    {V1, CGROUP_MEMORY, "memory.usage_in_bytes", ONE_VALUE, {{"", cgroup_memory_bytes, 1}}},
    {V1,
     CGROUP_MEMORY,
     "memory.max_usage_in_bytes",
     ONE_VALUE,
     {{"", cgroup_memory_peak_bytes, 1}}},
    {V1,
     CGROUP_MEMORY,
     "memory.stat",
     FLAT,
     {{"total_rss", cgroup_memory_anon_bytes, 1},
      {"total_cache", cgroup_memory_file_bytes, 1},
      {"total_shmem", cgroup_memory_shmem_bytes, 1},
      {"total_swap", cgroup_memory_swap_bytes, 1}}},
    {V1,
     CGROUP_MEMORY,
     "memory.kmem.usage_in_bytes",
     ONE_VALUE,
     {{"", cgroup_memory_kernel_bytes, 1}}},
    {V1, CGROUP_MEMORY, "memory.failcnt", ONE_VALUE, {{"", cgroup_memory_limit_events_count, 1}}},
};

void cgroup_figures_init(struct cgroup_figures *f, const struct sysroot *root)
{
    long ticks = root->live ? sysconf(_SC_CLK_TCK) : 100;
    f->ns_per_tick = NS_PER_SECOND / (uint64_t)(ticks > 0 ? ticks : 100);
    for (unsigned i = 0; i < CGROUP_FIGURE_FILES; i++)
        f->files[i] = CGROUP_FILE_CLOSED;
}

void cgroup_figures_close_files(struct cgroup_figures *f)
{
    for (unsigned i = 0; i < CGROUP_FIGURE_FILES; i++)
        cgroup_file_close(&f->files[i]);
}

static unsigned source_figure_count(const struct source *s)
{
    unsigned count = 0;
    while (count < FIGURES_PER_FILE && s->figures[count].key)
        count++;
    return count;
}

static void cgroup_figures_put(const struct cgroup_figures *f, struct row *row,
                               const struct figure *figure, uint64_t value)
{
    uint64_t scale = figure->scale == TICKS ? f->ns_per_tick : figure->scale;
    if (!row_has(row, figure->id) && value <= UINT64_MAX / scale)
        row_put_u64(row, figure->id, value * scale);
}

/* Kernels before 5.18 have no sum of the kernel's memory, only its parts. */
static void cgroup_figures_put_kernel_parts(struct row *row, struct scan text)
{
    static const char *const keys[] = {"kernel_stack", "pagetables", "percpu", "slab"};
    uint64_t values[ARRAY_LEN(keys)], sum = 0;
    if (row_has(row, cgroup_memory_kernel_bytes) ||
        parse_cgroup_flat(text, keys, ARRAY_LEN(keys), values) != BIT(ARRAY_LEN(keys)) - 1)
        return;
    for (unsigned i = 0; i < ARRAY_LEN(keys); i++)
        if (__builtin_add_overflow(sum, values[i], &sum))
            return;
    row_put_u64(row, cgroup_memory_kernel_bytes, sum);
}

static void cgroup_figures_put_text(const struct cgroup_figures *f, struct row *row,
                                    const struct source *s, struct scan text)
{
    struct cgroup_value v;
    struct pressure p;
    const char *keys[FIGURES_PER_FILE] = {0};
    uint64_t values[FIGURES_PER_FILE];
    unsigned count = source_figure_count(s);
    int seen;
    switch (s->form) {
    case ONE_VALUE:
        if (parse_cgroup_value(text, &v) == 0 && !v.unlimited)
            cgroup_figures_put(f, row, &s->figures[0], v.value);
        break;
    case PRESSURE:
        if (parse_pressure(text, &p) < 0)
            break;
        cgroup_figures_put(f, row, &s->figures[0], p.some_ns);
        if (p.has_full)
            cgroup_figures_put(f, row, &s->figures[1], p.full_ns);
        break;
    case FLAT:
        for (unsigned i = 0; i < count; i++)
            keys[i] = s->figures[i].key;
        seen = parse_cgroup_flat(text, keys, count, values);
        if (seen < 0)
            break;
        for (unsigned i = 0; i < count; i++)
            if (seen >> i & 1)
                cgroup_figures_put(f, row, &s->figures[i], values[i]);
        if (s->versions == V2 && s->controller == CGROUP_MEMORY)
            cgroup_figures_put_kernel_parts(row, text);
        break;
    }
}

void cgroup_figures_read(struct cgroup_figures *f, const struct sysroot *root,
                         const struct cgroup_places *places, bool only_base, struct row *row)
{
    char text[TEXT_BYTES];
    for (unsigned i = 0; i < CGROUP_FIGURE_FILES; i++) {
        const struct source *s = &sources[i];
        const struct cgroup_place *p = cgroup_place_for(places, s->controller);
        bool has_all = true, has_base = false;
        for (unsigned k = 0; k < source_figure_count(s); k++) {
            enum metric_id id = s->figures[k].id;
            has_all &= row_has(row, id);
            has_base |= metric_of(id)->kind == METRIC_COUNTER || id == cgroup_memory_peak_bytes;
        }
        if (!p || !(s->versions & (p->v2 ? V2 : V1)) || has_all || (only_base && !has_base))
            continue;
        ssize_t n = cgroup_file_read(&f->files[i], root, p->directory, s->name, text, sizeof text);
        if (n > 0)
            cgroup_figures_put_text(f, row, s, scan_text(text, (size_t)n));
    }
}

/* ==== Cgroup file ============================================================================= */

ssize_t cgroup_file_read(struct cgroup_file *f, const struct sysroot *root, const char *directory,
                         const char *name, char *ret, size_t capacity)
{
    if (f->fd >= 0)
        return file_reread(f->fd, ret, capacity);
    if (f->refused)
        return f->refused;
    char path[PATH_MAX];
    if (snprintf(path, sizeof path, "%s/%s", directory, name) >= (int)sizeof path)
        return -ENAMETOOLONG;
    if (!root->live)
        return file_read_at(root->root, path, ret, capacity);
    f->fd = openat(root->root, path, O_RDONLY | O_CLOEXEC);
    if (f->fd < 0) {
        f->refused = errno == ENOENT || errno == EACCES ? -errno : 0;
        return -errno;
    }
    return file_reread(f->fd, ret, capacity);
}

void cgroup_file_close(struct cgroup_file *f)
{
    if (f->fd >= 0)
        close(f->fd);
    *f = CGROUP_FILE_CLOSED;
}

/* ==== Cgroup ================================================================================== */

struct cgroup {
    const struct sysroot *root; /* borrowed */
    struct cgroup_places places;
    struct cgroup_figures figures;
    struct cgroup_limits limits;
    struct cgroup_disks disks;
    struct cgroup_file presence; /* a small file that can be read as long as the cgroup exists */
    struct cgroup_oom oom;
    struct map pids; /* the processes found in a walk */
    struct buf pids_text;
    struct instance instance;
};

/* With version 1 a process may be in different cgroups of different hierarchies; a label names the
 * cgroup that figures are of when it is another one. */
static void cgroup_label_other_paths(struct cgroup *c)
{
    static const struct {
        enum cgroup_controller controller;
        const char *key;
    } labels[] = {
        {CGROUP_MEMORY, "memory_cgroup"}, {CGROUP_CPUACCT, "cpu_cgroup"},
        {CGROUP_CPU, "quota_cgroup"},     {CGROUP_BLKIO, "storage_cgroup"},
        {CGROUP_PIDS, "tasks_cgroup"},    {CGROUP_UNIFIED, "pressure_cgroup"},
    };
    struct label *next = c->instance.entity.labels;
    for (size_t i = 0; i < ARRAY_LEN(labels); i++) {
        const struct cgroup_place *p = cgroup_place_for(&c->places, labels[i].controller);
        /* The root of version 1 has no figures of memory. */
        if (labels[i].controller == CGROUP_MEMORY && c->places.at[CGROUP_MEMORY].directory)
            continue;
        if (p && strcmp(p->path, cgroup_name(c)) != 0)
            *next++ = (struct label){labels[i].key, p->path};
    }
}

/* Takes the places. */
static int cgroup_new(struct cgroup **ret, const struct sysroot *root, struct cgroup_places *places)
{
    struct cgroup *c = calloc(1, sizeof *c);
    if (!c) {
        cgroup_places_done(places);
        return -ENOMEM;
    }
    c->root = root;
    c->places = *places;
    c->presence = CGROUP_FILE_CLOSED;
    cgroup_oom_init(&c->oom);
    cgroup_figures_init(&c->figures, root);
    const struct cgroup_place *storage = cgroup_place_for(&c->places, CGROUP_BLKIO);
    cgroup_disks_init(&c->disks, storage ? storage->path : cgroup_name(c));
    instance_init(&c->instance, ENTITY_CGROUP);
    c->instance.entity.path = cgroup_name(c);
    cgroup_label_other_paths(c);
    int r = cgroup_limits_init(&c->limits, &c->places);
    if (r < 0) {
        cgroup_close(c);
        return r;
    }
    *ret = c;
    return 0;
}

int cgroup_open_of(struct cgroup **ret, const struct sysroot *root, pid_t pid)
{
    struct cgroup_places places;
    int r = cgroup_places_of_pid(&places, root, pid);
    return r < 0 ? r : cgroup_new(ret, root, &places);
}

int cgroup_open_places(struct cgroup **ret, const struct sysroot *root,
                       const struct cgroup_places *places)
{
    struct cgroup_places copy = *places;
    bool is_whole = true;
    for (unsigned i = 0; i < CGROUP_CONTROLLERS; i++) {
        struct cgroup_place *p = &copy.at[i];
        if (!p->directory)
            continue;
        p->directory = strdup(p->directory);
        p->path = strdup(p->path);
        is_whole &= p->directory && p->path;
    }
    if (is_whole)
        return cgroup_new(ret, root, &copy);
    cgroup_places_done(&copy);
    return -ENOMEM;
}

int cgroup_open_path(struct cgroup **ret, const struct sysroot *root, const char *path,
                     struct toll_error *e)
{
    struct cgroup_places places;
    int r = cgroup_places_of_path(&places, root, path, e);
    if (r < 0)
        return r;
    r = cgroup_new(ret, root, &places);
    if (r < 0)
        return err_set(e, r, "cgroup: cannot open '%s': %s", path, strerror(-r));
    cgroup_is_gone(*ret); /* opens `presence` */
    return 0;
}

void cgroup_close_files(struct cgroup *c)
{
    cgroup_figures_close_files(&c->figures);
    cgroup_limits_close_files(&c->limits);
    cgroup_disks_close_files(&c->disks);
    cgroup_oom_done(&c->oom);
    cgroup_file_close(&c->presence);
}

void cgroup_close(struct cgroup *c)
{
    if (!c)
        return;
    cgroup_close_files(c);
    cgroup_limits_done(&c->limits);
    cgroup_disks_done(&c->disks);
    map_done(&c->pids);
    buf_done(&c->pids_text);
    cgroup_places_done(&c->places);
    free(c);
}

const char *cgroup_name(const struct cgroup *c)
{
    return cgroup_place_main(&c->places)->path;
}

uint64_t cgroup_hash(const struct cgroup *c)
{
    return c->places.hash;
}

bool cgroup_is_root(const struct cgroup *c)
{
    return cgroup_place_main(&c->places)->is_root;
}

bool cgroup_counts_ticks(const struct cgroup *c)
{
    const struct cgroup_place *cpu = cgroup_place_for(&c->places, CGROUP_CPUACCT);
    return cpu && !cpu->v2;
}

bool cgroup_same(const struct cgroup *a, const struct cgroup *b)
{
    for (unsigned i = 0; i < CGROUP_CONTROLLERS; i++) {
        const char *x = a->places.at[i].directory, *y = b->places.at[i].directory;
        if (!x != !y || (x && strcmp(x, y) != 0))
            return false;
    }
    return true;
}

bool cgroup_contains(const struct cgroup *outer, const struct cgroup *inner)
{
    return cgroup_path_below(cgroup_place_main(&inner->places)->directory,
                             cgroup_place_main(&outer->places)->directory) != NULL;
}

bool cgroup_is_gone(struct cgroup *c)
{
    const struct cgroup_place *p = cgroup_place_main(&c->places);
    char text[256];
    if (cgroup_file_read(&c->presence, c->root, p->directory,
                         p->v2 ? "cgroup.subtree_control" : "notify_on_release", text,
                         sizeof text) == -ENODEV)
        return true;
    return faccessat(c->root->root, p->directory, F_OK, 0) < 0;
}

/* ---- Processes ------------------------------------------------------------------------------- */

enum { LONGEST_PID = 16 };

struct meeting {
    struct cgroup *c;
    void (*meet)(void *arg, pid_t pid);
    void *arg;
    int error;
};

static void cgroup_meet_directory(void *arg, int dir)
{
    struct meeting *m = arg;
    if (file_read_whole_at(dir, "cgroup.procs", LONGEST_PID, &m->c->pids_text) < 0)
        return; /* just removed, or it has threads only */
    struct scan rest = scan_text(m->c->pids_text.data, m->c->pids_text.length), line;
    while (scan_line(&rest, &line) && line.end != rest.at) {
        uint64_t pid;
        uint32_t known;
        if (!scan_u64(&line, &pid) || !scan_done(&line) || pid == 0 || pid > INT_MAX)
            continue;
        if (map_get(&m->c->pids, (uint32_t)pid, &known))
            continue;
        if (map_put(&m->c->pids, (uint32_t)pid, 1) < 0)
            m->error = -ENOMEM;
        else
            m->meet(m->arg, (pid_t)pid);
    }
}

int cgroup_each_pid(struct cgroup *c, void (*meet)(void *arg, pid_t pid), void *arg)
{
    struct meeting m = {.c = c, .meet = meet, .arg = arg};
    map_clear(&c->pids);
    int r = cgroup_walk(c->root, cgroup_place_deepest(&c->places)->directory, cgroup_meet_directory,
                        &m);
    return r < 0 ? r : m.error;
}

/* ---- Figures --------------------------------------------------------------------------------- */

bool cgroup_oom_kills(struct cgroup *c, uint64_t *ret)
{
    cgroup_oom_read(&c->oom, c->root, cgroup_place_for(&c->places, CGROUP_MEMORY));
    return cgroup_oom_kills_seen(c, ret);
}

bool cgroup_oom_kills_seen(const struct cgroup *c, uint64_t *ret)
{
    if (c->oom.known)
        *ret = c->oom.kills;
    return c->oom.known;
}

static void cgroup_put_limits(struct cgroup *c, struct row *row)
{
    static const struct {
        enum cgroup_limit_kind limit;
        enum cgroup_controller controller;
        enum metric_id id;
    } counted[] = {
        {CGROUP_LIMIT_CORES, CGROUP_CPU, cgroup_cpu_periods_count},
        {CGROUP_LIMIT_CORES, CGROUP_CPU, cgroup_cpu_throttled_periods_count},
        {CGROUP_LIMIT_CORES, CGROUP_CPU, cgroup_cpu_throttled_seconds},
        {CGROUP_LIMIT_MEMORY, CGROUP_MEMORY, cgroup_memory_limit_events_count},
    };
    struct cgroup_limit limits[CGROUP_LIMIT_KINDS];
    cgroup_read_limits(c, limits);
    /* The kernel counts where the limit is set. When that is an ancestor, a 0 of the cgroup itself
     * does not mean that it never had to wait. */
    for (size_t i = 0; i < ARRAY_LEN(counted); i++) {
        const struct cgroup_limit *limit = &limits[counted[i].limit];
        const struct cgroup_place *p = cgroup_place_for(&c->places, counted[i].controller);
        bool is_above = limit->known && p && (!limit->path || strcmp(limit->path, p->path) != 0);
        if (is_above && row_u64(row, counted[i].id) == 0)
            row_unknown(row, counted[i].id);
    }
    static const struct {
        enum cgroup_limit_kind limit;
        enum metric_id id;
    } shown[] = {
        {CGROUP_LIMIT_MEMORY, cgroup_memory_limit_bytes},
        {CGROUP_LIMIT_CORES, cgroup_cpu_limit_cores},
        {CGROUP_LIMIT_TASKS, cgroup_tasks_limit_count},
    };
    c->instance.unlimited = 0;
    for (size_t i = 0; i < ARRAY_LEN(shown); i++)
        if (limits[shown[i].limit].unlimited)
            c->instance.unlimited |= BIT(shown[i].id - cgroup_first);
    if (limits[CGROUP_LIMIT_MEMORY].known)
        row_put_u64(row, cgroup_memory_limit_bytes, limits[CGROUP_LIMIT_MEMORY].value);
    if (limits[CGROUP_LIMIT_CORES].known)
        row_put_double(row, cgroup_cpu_limit_cores, limits[CGROUP_LIMIT_CORES].cores);
    if (limits[CGROUP_LIMIT_TASKS].known)
        row_put_u64(row, cgroup_tasks_limit_count, limits[CGROUP_LIMIT_TASKS].value);
}

static void cgroup_collect_some(struct cgroup *c, bool only_base, struct instance_list *out)
{
    if (cgroup_is_root(c))
        return;
    struct row *row = &c->instance.read;
    uint64_t kills;
    row->present = 0;
    cgroup_figures_read(&c->figures, c->root, &c->places, only_base, row);
    if (!only_base)
        cgroup_put_limits(c, row);
    if (row_has(row, cgroup_oom_kills_count))
        cgroup_oom_note(&c->oom, row_u64(row, cgroup_oom_kills_count));
    else if (cgroup_oom_kills(c, &kills))
        row_put_u64(row, cgroup_oom_kills_count, kills);
    size_t place = out->count;
    if (instance_list_add(out, &c->instance) < 0)
        return;
    cgroup_disks_collect(&c->disks, c->root, &c->places, row, out);
    if (!row->present && out->count == place + 1)
        out->count = place; /* gone, or nothing may be read */
}

void cgroup_collect(struct cgroup *c, struct instance_list *out)
{
    cgroup_collect_some(c, false, out);
}

void cgroup_collect_base(struct cgroup *c, struct instance_list *out)
{
    cgroup_collect_some(c, true, out);
}

void cgroup_read_limits(const struct cgroup *c, struct cgroup_limit ret[CGROUP_LIMIT_KINDS])
{
    cgroup_limits_read(&c->limits, c->root, ret);
}

ssize_t cgroup_read_file(const struct cgroup *c, enum cgroup_controller controller,
                         const char *name, char *ret, size_t capacity)
{
    const struct cgroup_place *p = cgroup_place_for(&c->places, controller);
    char path[PATH_MAX];
    if (!p || snprintf(path, sizeof path, "%s/%s", p->directory, name) >= (int)sizeof path)
        return -ENOENT;
    return file_read_at(c->root->root, path, ret, capacity);
}
