/* SPDX-License-Identifier: MIT
 * /proc/stat: the CPUs together and each for itself. */
#include "source/machine/cpu.h"

#include "base/clock.h"
#include "base/io/file.h"
#include "base/memory.h"
#include "base/util.h"
#include "source/collector.h"
#include "source/kernel_file.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>

/* ==== Proc stat =============================================================================== */

/* cpu  395580 1959 445594 1508054 8999 0 2655 6161 0 0
 * cpu0 186345 963 223657 767478 2284 0 358 3084 0 0
 * cpu1 209234 995 221937 740575 6714 0 2297 3077 0 0
 *  user nice system idle iowait irq softirq steal guest guest_nice
 * intr 9598926 0 0 0 0 …
 * ctxt 22054369
 * btime 1794778006
 * processes 1889347
 * procs_running 5
 * procs_blocked 0
 * softirq 6789574 0 782302 4 1158 1079180 0 3 1153992 0 3772935
 *
 * CPUs that are offline have no line. Old kernels end earlier: steal came with Linux 2.6.11, guest
 * with 2.6.24, guest_nice with 2.6.33. The line of interrupts may be many kilobytes long. */

enum { FEWEST_COLUMNS = CPU_IDLE + 1, GUEST_NICE = CPU_MODES, COLUMNS };

/* The numbers after "cpu" or "cpu0". */
static int proc_stat_read_times(struct scan line, struct cpu_times *ret)
{
    uint64_t columns[COLUMNS] = {0};
    unsigned count = 0;
    while (count < COLUMNS && scan_u64(&line, &columns[count]))
        count++;
    bool has_more = count == COLUMNS && !scan_done(&line) && *line.at == ' ';
    if (count < FEWEST_COLUMNS || !(scan_done(&line) || has_more))
        return -EBADMSG;
    struct cpu_times t = {.modes = (unsigned)min_u64(count, CPU_MODES)};
    memcpy(t.ticks, columns, sizeof t.ticks);
    t.ticks[CPU_USER] = left_u64(columns[CPU_USER], columns[CPU_GUEST]);
    t.ticks[CPU_NICE] = left_u64(columns[CPU_NICE], columns[GUEST_NICE]);
    if (__builtin_add_overflow(t.ticks[CPU_GUEST], columns[GUEST_NICE], &t.ticks[CPU_GUEST]))
        return -EBADMSG;
    static const enum cpu_mode busy[] = {CPU_USER, CPU_NICE,    CPU_SYSTEM,
                                         CPU_IRQ,  CPU_SOFTIRQ, CPU_GUEST};
    for (size_t i = 0; i < ARRAY_LEN(busy); i++)
        if (__builtin_add_overflow(t.busy_ticks, t.ticks[busy[i]], &t.busy_ticks))
            return -EBADMSG;
    *ret = t;
    return 0;
}

int parse_proc_stat_cpu(struct scan *cpus, unsigned *ret_number, struct cpu_times *ret)
{
    struct scan line;
    uint64_t number;
    if (!scan_line(cpus, &line))
        return 0;
    if (!scan_word(&line, "cpu") || !scan_u64_here(&line, &number) || number > INT_MAX)
        return -EBADMSG;
    int e = proc_stat_read_times(line, ret);
    if (e < 0)
        return e;
    *ret_number = (unsigned)number;
    return 1;
}

/* A line that lacks its newline was cut short. */
static bool proc_stat_whole_line(struct scan *text, struct scan *ret)
{
    return scan_line(text, ret) && ret->end < text->at;
}

static int proc_stat_read_count(struct scan line, struct proc_stat *st)
{
    static const char *const keys[STAT_COUNTS] = {
        [STAT_INTERRUPTS] = "intr ",       [STAT_SWITCHES] = "ctxt ",
        [STAT_FORKS] = "processes ",       [STAT_RUNNING] = "procs_running ",
        [STAT_BLOCKED] = "procs_blocked ",
    };
    for (unsigned k = 0; k < STAT_COUNTS; k++) {
        if (!scan_word(&line, keys[k]))
            continue;
        if (!scan_u64(&line, &st->counts[k]) || !(scan_done(&line) || *line.at == ' '))
            return -EBADMSG;
        st->seen |= 1U << k;
        return 0;
    }
    return 0;
}

int parse_proc_stat(struct scan text, struct proc_stat *ret)
{
    if (scan_done(&text))
        return -ENODATA;
    struct proc_stat st = {0};
    struct scan line, word;
    if (!proc_stat_whole_line(&text, &line) || !scan_word(&line, "cpu "))
        return -EBADMSG;
    int e = proc_stat_read_times(line, &st.all);
    st.cpus = (struct scan){.at = text.at, .end = text.at};
    bool has_more;
    while ((has_more = proc_stat_whole_line(&text, &line))) {
        word = line;
        if (!scan_word(&word, "cpu"))
            break;
        st.cpu_count++;
        st.cpus.end = text.at;
    }
    if (!has_more) /* CPUs may be missing: nothing shows that these are all */
        return -EBADMSG;
    while (e == 0 && has_more && st.seen != BIT(STAT_COUNTS) - 1) {
        e = proc_stat_read_count(line, &st);
        has_more = proc_stat_whole_line(&text, &line);
    }
    if (e == 0)
        *ret = st;
    return e;
}

/* ==== Machine cpu ============================================================================= */

struct core {
    struct instance instance;
    unsigned number;
    struct number_file frequency; /* in kHz, or "<unknown>" */
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
static void machine_cpu_put_times(struct row *row, const struct cpu_times *t, uint64_t ns_per_tick)
{
    bool is_core = row->first == core_first;
    for (unsigned mode = 0; mode < t->modes; mode++)
        row_hold_scaled(row, is_core ? modes[mode].of_core : modes[mode].of_system, t->ticks[mode],
                        ns_per_tick);
    row_hold_scaled(row, is_core ? core_cpu_seconds : system_cpu_seconds, t->busy_ticks,
                    ns_per_tick);
}

static void machine_cpu_put_counts(struct row *row, const struct proc_stat *st)
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
            row_hold_u64(row, ids[n], st->counts[n]);
        else
            row_put_u64(row, ids[n], st->counts[n]);
    }
    if (st->cpu_count)
        row_put_u64(row, system_cpus_online_count, st->cpu_count);
}

/* The guess is where the core was at the last tick, which is right unless CPUs came or left. A CPU
 * that comes online later is not new: the kernel kept what it had counted before. */
static struct core *machine_cpu_find_core(struct machine_cpu *s, unsigned number, unsigned guess)
{
    for (unsigned i = 0; i < s->core_count; i++) {
        struct core *core = s->cores[(guess + i) % s->core_count];
        if (core->number == number)
            return core;
    }
    struct core *core = ARRAY_GROW(s->cores, s->core_count) ? calloc(1, sizeof *core) : NULL;
    if (!core)
        return NULL;
    char folder[64];
    snprintf(folder, sizeof folder, "devices/system/cpu/cpu%u/cpufreq", number);
    number_file_init(&core->frequency, folder, "scaling_cur_freq");
    instance_init(&core->instance, ENTITY_CORE);
    snprintf(core->instance.entity.name, sizeof core->instance.entity.name, "%u", number);
    core->number = number;
    s->cores[s->core_count++] = core;
    return core;
}

enum { MOST_KEPT_FREQUENCIES = 64 }; /* descriptors are scarce: 1024 for everything */

/* About once a second, and at every tick of a recorded tree. Some kernels measure when the file is
 * read, which takes 10 ms for each CPU: a round that takes long goes on at the next tick. */
static void machine_cpu_collect_frequencies(struct machine_cpu *s, const struct sysroot *root)
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
        int64_t khz;
        row_unknown(&core->instance.read, core_frequency_hertz);
        if (number_file_read(&core->frequency, root, &khz) == 0 && khz >= 0 &&
            khz <= INT64_MAX / 1000) {
            row_put_u64(&core->instance.read, core_frequency_hertz, (uint64_t)khz * 1000);
            found_any = true;
        }
        if (!keep)
            number_file_done(&core->frequency);
    }
    s->has_no_frequency = !found_any;
    s->frequency_due_ns = begun_ns + between_ns;
}

static void machine_cpu_collect_cores(struct machine_cpu *s, const struct proc_stat *st,
                                      struct instance_list *out)
{
    struct scan lines = st->cpus;
    struct cpu_times times;
    unsigned number;
    for (unsigned i = 0; i < st->cpu_count; i++) {
        if (parse_proc_stat_cpu(&lines, &number, &times) <= 0)
            continue;
        struct core *core = machine_cpu_find_core(s, number, i);
        if (!core)
            continue;
        machine_cpu_put_times(&core->instance.read, &times, s->ns_per_tick);
        instance_list_add(out, &core->instance);
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
                                struct instance_list *out)
{
    struct machine_cpu *s = state;
    struct row *row = &c->system->read;
    struct scan text;
    struct proc_stat st;
    row_forget(row, collector_machine_cpu.gives_of_system);
    if (kernel_file_read(&s->stat, c->root->proc, "stat", c->root->live, &text) < 0 ||
        parse_proc_stat(text, &st) < 0)
        return;
    machine_cpu_put_times(row, &st.all, s->ns_per_tick);
    machine_cpu_put_counts(row, &st);
    uint64_t of_cores = c->selection->of[ENTITY_CORE];
    if (of_cores)
        machine_cpu_collect_cores(s, &st, out);
    if (of_cores & BIT(core_frequency_hertz - core_first))
        machine_cpu_collect_frequencies(s, c->root);
}

static void machine_cpu_close(void *state)
{
    struct machine_cpu *s = state;
    if (!s)
        return;
    for (unsigned i = 0; i < s->core_count; i++) {
        number_file_done(&s->cores[i]->frequency);
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
