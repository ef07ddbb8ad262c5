/* SPDX-License-Identifier: MIT
 * One table: a file, the version of cgroups that has it, and the metrics its values are. A metric
 * may stand in several files; the first that has it is taken, and a file that has nothing left to
 * tell is not read. */
#include "collect/cgroup_figures.h"

#include "parse/cgroup_flat.h"
#include "parse/cgroup_value.h"
#include "parse/pressure.h"

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
    {V2, CGROUP_MEMORY, "memory.events.local", FLAT, {{"max", cgroup_memory_limit_events_count, 1}}},
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

static unsigned figure_count(const struct source *s)
{
    unsigned count = 0;
    while (count < FIGURES_PER_FILE && s->figures[count].key)
        count++;
    return count;
}

static bool has_all(const struct source *s, const struct row *row)
{
    for (unsigned i = 0; i < figure_count(s); i++)
        if (!row_has(row, s->figures[i].id))
            return false;
    return true;
}

static void put(const struct cgroup_figures *f, struct row *row, const struct figure *figure,
                uint64_t value)
{
    uint64_t scale = figure->scale == TICKS ? f->ns_per_tick : figure->scale;
    if (!row_has(row, figure->id) && value <= UINT64_MAX / scale)
        row_put_u64(row, figure->id, value * scale);
}

/* Kernels before 5.18 do not add the kernel's memory up: its parts do, when all are told. */
static void put_kernel_parts(struct row *row, struct scan text)
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

static void put_flat(const struct cgroup_figures *f, struct row *row, const struct source *s,
                     struct scan text)
{
    const char *keys[FIGURES_PER_FILE] = {0};
    uint64_t values[FIGURES_PER_FILE];
    unsigned count = figure_count(s);
    for (unsigned i = 0; i < count; i++)
        keys[i] = s->figures[i].key;
    int seen = parse_cgroup_flat(text, keys, count, values);
    if (seen < 0)
        return;
    for (unsigned i = 0; i < count; i++)
        if (seen >> i & 1)
            put(f, row, &s->figures[i], values[i]);
    if (s->versions == V2 && s->controller == CGROUP_MEMORY)
        put_kernel_parts(row, text);
}

static void put_pressure(const struct cgroup_figures *f, struct row *row, const struct source *s,
                         struct scan text)
{
    struct pressure p;
    if (parse_pressure(text, &p) < 0)
        return;
    put(f, row, &s->figures[0], p.some_ns);
    if (p.has_full)
        put(f, row, &s->figures[1], p.full_ns);
}

static void put_value(const struct cgroup_figures *f, struct row *row, const struct source *s,
                      struct scan text)
{
    struct cgroup_value v;
    if (parse_cgroup_value(text, &v) == 0 && !v.unlimited)
        put(f, row, &s->figures[0], v.value);
}

void cgroup_figures_read(struct cgroup_figures *f, const struct sysroot *root,
                         const struct cgroup_places *places, struct row *row)
{
    static void (*const put_form[])(const struct cgroup_figures *, struct row *,
                                    const struct source *, struct scan) = {
        [ONE_VALUE] = put_value, [FLAT] = put_flat, [PRESSURE] = put_pressure};
    char text[TEXT_BYTES];
    for (unsigned i = 0; i < CGROUP_FIGURE_FILES; i++) {
        const struct source *s = &sources[i];
        const struct cgroup_place *p = cgroup_place_for(places, s->controller);
        if (!p || !(s->versions & (p->v2 ? V2 : V1)) || has_all(s, row))
            continue;
        ssize_t n = cgroup_file_read(&f->files[i], root, p->directory, s->name, text, sizeof text);
        if (n > 0)
            put_form[s->form](f, row, s, scan_text(text, (size_t)n));
    }
}
