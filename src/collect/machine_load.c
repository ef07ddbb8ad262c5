/* SPDX-License-Identifier: MIT
 * How much there is to do for the machine: load, pressure, processes; and how long it has been up.
 */
#include "base/clock.h"
#include "collect/collectors.h"
#include "collect/kernel_file.h"
#include "collect/machine_row.h"
#include "collect/process_census.h"
#include "parse/loadavg.h"
#include "parse/pressure.h"
#include "parse/uptime.h"

/* METRIC_COUNT: not published. */
static const struct {
    const char *path;
    enum metric_id some, full;
    uint64_t gives;
} pressures[] = {
    {"pressure/cpu", system_cpu_pressure_some_seconds, METRIC_COUNT,
     SYSTEM_BIT(cpu_pressure_some_seconds)},
    {"pressure/memory", system_memory_pressure_some_seconds, system_memory_pressure_full_seconds,
     SYSTEM_BITS(memory_pressure_some_seconds, memory_pressure_full_seconds)},
    {"pressure/io", system_io_pressure_some_seconds, system_io_pressure_full_seconds,
     SYSTEM_BITS(io_pressure_some_seconds, io_pressure_full_seconds)},
};

struct machine_load {
    struct kernel_file loadavg, uptime, pressures[ARRAY_LEN(pressures)];
    struct process_census census;
};

#define OF_LOADAVG  (SYSTEM_BITS(load_1m_number, load_15m_number) | SYSTEM_BIT(threads_count))
#define OF_PRESSURE SYSTEM_BITS(cpu_pressure_some_seconds, io_pressure_full_seconds)

static int machine_load_open(void **ret_state, const struct collect_context *c)
{
    (void)c;
    struct machine_load *s = calloc(1, sizeof *s);
    if (!s)
        return -ENOMEM;
    s->loadavg = s->uptime = KERNEL_FILE_NONE;
    for (size_t i = 0; i < ARRAY_LEN(pressures); i++)
        s->pressures[i] = KERNEL_FILE_NONE;
    *ret_state = s;
    return 0;
}

static void put_load(struct machine_load *s, const struct sysroot *root, struct row *row)
{
    struct scan text;
    struct loadavg l;
    if (kernel_file_read(&s->loadavg, root->proc, "loadavg", root->live, &text) < 0 ||
        parse_loadavg(text, &l) < 0)
        return;
    row_put_double(row, system_load_1m_number, l.load[0]);
    row_put_double(row, system_load_5m_number, l.load[1]);
    row_put_double(row, system_load_15m_number, l.load[2]);
    row_put_u64(row, system_threads_count, l.threads);
}

static void put_uptime(struct machine_load *s, const struct sysroot *root, struct row *row)
{
    struct scan text;
    uint64_t ns = root->live ? clock_since_boot() : 0;
    if (ns || (kernel_file_read(&s->uptime, root->proc, "uptime", root->live, &text) == 0 &&
               parse_uptime(text, &ns) == 0))
        row_put_u64(row, system_uptime_seconds, ns);
}

/* Not there before Linux 4.20; there and refused when the machine was started without it. */
static void put_pressures(struct machine_load *s, const struct sysroot *root, uint64_t wanted,
                          struct row *row)
{
    for (size_t i = 0; i < ARRAY_LEN(pressures); i++) {
        struct scan text;
        struct pressure p;
        if (!(wanted & pressures[i].gives) ||
            kernel_file_read(&s->pressures[i], root->proc, pressures[i].path, root->live, &text) <
                0 ||
            parse_pressure(text, &p) < 0)
            continue;
        row_put_held(row, pressures[i].some, p.some_ns);
        if (p.has_full && pressures[i].full != METRIC_COUNT)
            row_put_held(row, pressures[i].full, p.full_ns);
    }
}

static void machine_load_collect(void *state, const struct collect_context *c,
                                 struct measured_list *out)
{
    (void)out;
    struct machine_load *s = state;
    struct row *row = &c->system->read;
    uint64_t processes;
    row_forget(row, collector_machine_load.gives_of_system);
    uint64_t wanted = c->selection->of[ENTITY_SYSTEM];
    if (wanted & OF_LOADAVG)
        put_load(s, c->root, row);
    if (wanted & SYSTEM_BIT(uptime_seconds))
        put_uptime(s, c->root, row);
    put_pressures(s, c->root, wanted, row);
    if (wanted & SYSTEM_BIT(processes_count) &&
        process_census_take(&s->census, c->root, &processes) == 0)
        row_put_u64(row, system_processes_count, processes);
}

static void machine_load_close(void *state)
{
    struct machine_load *s = state;
    if (!s)
        return;
    kernel_file_done(&s->loadavg);
    kernel_file_done(&s->uptime);
    for (size_t i = 0; i < ARRAY_LEN(pressures); i++)
        kernel_file_done(&s->pressures[i]);
    free(s);
}

const struct collector collector_machine_load = {
    .name = "machine_load",
    .gives = BIT(ENTITY_SYSTEM),
    .gives_of_system = SYSTEM_BIT(uptime_seconds) | OF_LOADAVG | OF_PRESSURE |
                       SYSTEM_BIT(processes_count),
    .cost = COST_REFRESH,
    .open = machine_load_open,
    .collect = machine_load_collect,
    .close = machine_load_close,
};
