/* SPDX-License-Identifier: MIT
 * /proc/stat: the CPUs together and each for itself. */
#include "base/clock.h"
#include "collect/collectors.h"
#include "collect/cpu_frequency.h"
#include "collect/kernel_file.h"
#include "collect/machine_row.h"
#include "parse/proc_stat.h"

#include <stdio.h>

struct core {
    struct measured measured;
    unsigned number;
    struct cpu_frequency frequency;
};

struct machine_cpu {
    struct kernel_file stat;
    uint64_t ns_per_tick;
    struct core **cores; /* owned, in order of appearance */
    unsigned core_count;
    uint64_t frequency_due_ns; /* when the next round over all cores begins */
    unsigned frequency_next;   /* the core to begin with */
    bool has_no_frequency;
};

static const struct {
    enum metric_id of_system, of_core;
} modes[CPU_MODES] = {
    [CPU_USER] = {system_cpu_user_seconds, core_cpu_user_seconds},
    [CPU_NICE] = {system_cpu_nice_seconds, core_cpu_nice_seconds},
    [CPU_SYSTEM] = {system_cpu_system_seconds, core_cpu_system_seconds},
    [CPU_IDLE] = {system_cpu_idle_seconds, core_cpu_idle_seconds},
    [CPU_IOWAIT] = {system_cpu_iowait_seconds, core_cpu_iowait_seconds},
    [CPU_IRQ] = {system_cpu_irq_seconds, core_cpu_irq_seconds},
    [CPU_SOFTIRQ] = {system_cpu_softirq_seconds, core_cpu_softirq_seconds},
    [CPU_STEAL] = {system_cpu_steal_seconds, core_cpu_steal_seconds},
    [CPU_GUEST] = {system_cpu_guest_seconds, core_cpu_guest_seconds},
};

/* Idle and iowait of real kernels step back now and then. */
static void put_times(struct row *row, const struct cpu_times *t, uint64_t ns_per_tick)
{
    bool is_core = row->first == core_first;
    for (unsigned mode = 0; mode < t->modes; mode++)
        row_put_held_scaled(row, is_core ? modes[mode].of_core : modes[mode].of_system,
                            t->ticks[mode], ns_per_tick);
    row_put_held_scaled(row, is_core ? core_cpu_seconds : system_cpu_seconds, t->busy_ticks,
                        ns_per_tick);
}

static void put_counts(struct row *row, const struct proc_stat *st)
{
    static const enum metric_id ids[STAT_COUNTS] = {
        [STAT_INTERRUPTS] = system_interrupts_count,
        [STAT_SWITCHES] = system_context_switches_count,
        [STAT_FORKS] = system_forks_count,
        [STAT_RUNNING] = system_tasks_running_count,
        [STAT_BLOCKED] = system_tasks_blocked_count,
    };
    for (unsigned n = 0; n < STAT_COUNTS; n++) {
        if (!(st->seen & 1U << n))
            continue;
        if (metric_of(ids[n])->kind == METRIC_COUNTER)
            row_put_held(row, ids[n], st->counts[n]);
        else
            row_put_u64(row, ids[n], st->counts[n]);
    }
    if (st->cpu_count)
        row_put_u64(row, system_cpus_online_count, st->cpu_count);
}

/* A CPU that comes online later is not new: the kernel kept what it had counted before. */
static struct core *add_core(struct machine_cpu *s, unsigned number)
{
    struct core **longer = realloc(s->cores, (s->core_count + 1) * sizeof *longer);
    if (!longer)
        return NULL;
    s->cores = longer;
    struct core *core = calloc(1, sizeof *core);
    if (!core)
        return NULL;
    measured_init(&core->measured, ENTITY_CORE);
    snprintf(core->measured.entity.name, sizeof core->measured.entity.name, "%u", number);
    core->number = number;
    core->frequency = CPU_FREQUENCY_NONE;
    s->cores[s->core_count++] = core;
    return core;
}

/* Where it was at the last tick, which is at the guess unless CPUs came or left. */
static struct core *find_core(struct machine_cpu *s, unsigned number, unsigned guess)
{
    for (unsigned i = 0; i < s->core_count; i++) {
        struct core *core = s->cores[(guess + i) % s->core_count];
        if (core->number == number)
            return core;
    }
    return add_core(s, number);
}

static void put_frequency(struct core *core, const struct sysroot *root, bool keep)
{
    uint64_t hertz;
    if (cpu_frequency_read(&core->frequency, root, core->number, keep, &hertz) == 0)
        row_put_u64(&core->measured.read, core_frequency_hertz, hertz);
    else
        row_unknown(&core->measured.read, core_frequency_hertz);
}

enum { MOST_KEPT_FREQUENCIES = 64 }; /* descriptors are scarce: 1024 for everything */

/* About once a second, and at every look at a recorded tree. Some kernels measure when they are
 * asked, which takes them 10 ms for each CPU: a round that lasts is left, and goes on at the next
 * tick where it was. */
static void collect_frequencies(struct machine_cpu *s, const struct sysroot *root)
{
    static const uint64_t between_ns = 900 * NS_PER_MS, most_ns = 5 * NS_PER_MS;
    uint64_t begun_ns = clock_mono(NULL);
    if (root->live && (s->has_no_frequency || begun_ns < s->frequency_due_ns))
        return;
    bool keep = root->live && s->core_count <= MOST_KEPT_FREQUENCIES;
    bool found_any = false;
    for (unsigned i = 0; i < s->core_count; i++) {
        if (root->live && i && clock_mono(NULL) - begun_ns > most_ns)
            return;
        struct core *core = s->cores[s->frequency_next++ % s->core_count];
        put_frequency(core, root, keep);
        found_any |= row_has(&core->measured.read, core_frequency_hertz);
    }
    s->has_no_frequency = !found_any;
    s->frequency_due_ns = begun_ns + between_ns;
}

static void collect_cores(struct machine_cpu *s, const struct proc_stat *st,
                          struct measured_list *out)
{
    struct scan lines = st->cpus;
    struct cpu_times times;
    unsigned number;
    for (unsigned i = 0; i < st->cpu_count; i++) {
        if (parse_proc_stat_cpu(&lines, &number, &times) <= 0)
            continue;
        struct core *core = find_core(s, number, i);
        if (!core)
            continue;
        put_times(&core->measured.read, &times, s->ns_per_tick);
        measured_list_add(out, &core->measured);
    }
}

static int machine_cpu_open(void **ret_state, const struct collect_context *c)
{
    struct machine_cpu *s = calloc(1, sizeof *s);
    if (!s)
        return -ENOMEM;
    long ticks = c->root->live ? sysconf(_SC_CLK_TCK) : 100;
    s->ns_per_tick = NS_PER_SECOND / (uint64_t)(ticks > 0 ? ticks : 100);
    s->stat = KERNEL_FILE_NONE;
    *ret_state = s;
    return 0;
}

static void machine_cpu_collect(void *state, const struct collect_context *c,
                                struct measured_list *out)
{
    struct machine_cpu *s = state;
    struct row *row = &c->system->read;
    struct scan text;
    struct proc_stat st;
    row_forget(row, collector_machine_cpu.gives_of_system);
    if (kernel_file_read(&s->stat, c->root->proc, "stat", c->root->live, &text) < 0 ||
        parse_proc_stat(text, &st) < 0)
        return;
    put_times(row, &st.all, s->ns_per_tick);
    put_counts(row, &st);
    uint64_t of_cores = c->selection->of[ENTITY_CORE];
    if (of_cores)
        collect_cores(s, &st, out);
    if (of_cores & BIT(core_frequency_hertz - core_first))
        collect_frequencies(s, c->root);
}

static void machine_cpu_close(void *state)
{
    struct machine_cpu *s = state;
    if (!s)
        return;
    for (unsigned i = 0; i < s->core_count; i++) {
        cpu_frequency_done(&s->cores[i]->frequency);
        free(s->cores[i]);
    }
    free(s->cores);
    kernel_file_done(&s->stat);
    free(s);
}

const struct collector collector_machine_cpu = {
    .name = "machine_cpu",
    .gives = BIT(ENTITY_SYSTEM) | BIT(ENTITY_CORE),
    .gives_of_system = SYSTEM_BITS(cpu_seconds, tasks_blocked_count) |
                       SYSTEM_BITS(context_switches_count, forks_count),
    .cost = COST_CHEAP,
    .open = machine_cpu_open,
    .collect = machine_cpu_collect,
    .close = machine_cpu_close,
};
