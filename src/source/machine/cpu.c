/* SPDX-License-Identifier: MIT
 * /proc/stat: the CPUs together and each for itself. */
#include "source/machine/machine.h"

#include "base/clock.h"
#include "base/io/file.h"
#include "base/memory.h"
#include "base/util.h"
#include "source/collector.h"
#include "source/kernel_file.h"
#include "source/probe.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>

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

/* ==== Load ==================================================================================== */

/* How much there is to do for the machine: load, pressure, processes; and how long it has been up.
 */

/* ==== Process census ========================================================================== */

enum { CALLS_BETWEEN_CHECKS = 64, TRIES = 4 };

struct entries {
    int proc;
    uint64_t processes;
    uint64_t directories; /* of other things, when with_directories */
    bool with_directories;
    bool first_seen; /* process 1 */
};

static void process_census_count_entry(void *arg, const char *name)
{
    struct entries *e = arg;
    struct scan s = scan_string(name);
    uint64_t pid;
    struct stat st;
    if (scan_u64(&s, &pid) && scan_done(&s)) {
        e->processes++;
        e->first_seen |= pid == 1;
    } else if (e->with_directories && fstatat(e->proc, name, &st, AT_SYMLINK_NOFOLLOW) == 0)
        e->directories += S_ISDIR(st.st_mode);
}

/* 0 when they are unknown. */
static uint64_t process_census_links(int proc)
{
    struct stat st;
    return fstat(proc, &st) < 0 ? 0 : st.st_nlink;
}

/* Processes come and go meanwhile, so it is tried a few times whether the links are those of the
 * entries that were counted and the two that every directory has. */
static void process_census_check_links(struct process_census *p, int proc)
{
    p->by_links = false;
    p->next_check_in = CALLS_BETWEEN_CHECKS;
    for (unsigned i = 0; i < TRIES && !p->by_links; i++) {
        struct entries e = {.proc = proc, .with_directories = true};
        if (file_each_entry(proc, process_census_count_entry, &e) < 0)
            return;
        p->other_links = e.directories + 2;
        p->by_links = process_census_links(proc) == e.processes + p->other_links;
    }
}

int process_census_take(struct process_census *p, const struct sysroot *root, uint64_t *ret)
{
    if (!root->live)
        p->by_links = false;
    else if (p->next_check_in == 0)
        process_census_check_links(p, root->proc);
    else
        p->next_check_in--;

    uint64_t links = p->by_links ? process_census_links(root->proc) : 0;
    if (p->by_links && links > p->other_links) {
        *ret = links - p->other_links;
        return 0;
    }
    struct entries e = {.proc = root->proc};
    int r = file_each_entry(root->proc, process_census_count_entry, &e);
    if (r < 0)
        return r;
    if (e.processes == 0) /* a recorded tree without processes */
        return -ENODATA;
    if (root->live && !e.first_seen) /* /proc shows only processes of this user (hidepid) */
        return -ENODATA;
    *ret = e.processes;
    return 0;
}

/* ==== Uptime ================================================================================== */

/* 11898.49 15080.54
 *  seconds since the start, seconds that CPUs were idle */

int parse_uptime(struct scan text, uint64_t *ret_ns)
{
    if (scan_done(&text))
        return -ENODATA;
    struct decimal seconds;
    uint64_t ns;
    /* There are always two decimals. What follows shows that they were not cut short. */
    if (!decimal_take_json(&text, &seconds) || seconds.exponent != -2 || !scan_word(&text, " ") ||
        !decimal_u64(&seconds, 9, &ns))
        return -EBADMSG;
    *ret_ns = ns;
    return 0;
}

/* ==== Loadavg ================================================================================= */

/* 0.27 0.06 0.02 1/81 3799
 *  load over 1, 5 and 15 minutes, running/all threads, last pid */

int parse_loadavg(struct scan text, struct loadavg *ret)
{
    if (scan_done(&text))
        return -ENODATA;
    struct loadavg l;
    /* What follows the last number used shows that it was not cut short. */
    if (!scan_decimal(&text, &l.load[0]) || !scan_word(&text, " ") ||
        !scan_decimal(&text, &l.load[1]) || !scan_word(&text, " ") ||
        !scan_decimal(&text, &l.load[2]) || !scan_word(&text, " ") ||
        !scan_u64(&text, &l.running) || !scan_word(&text, "/") || !scan_u64(&text, &l.threads) ||
        !scan_word(&text, " "))
        return -EBADMSG;
    *ret = l;
    return 0;
}

int parse_loadavg_last_pid(struct scan text, uint64_t *ret)
{
    if (scan_done(&text))
        return -ENODATA;
    uint64_t pid;
    /* The newline shows that the number was not cut short. */
    if (!scan_skip_fields(&text, 4) || !scan_u64(&text, &pid) || !scan_word(&text, "\n"))
        return -EBADMSG;
    *ret = pid;
    return 0;
}

/* ==== Machine load ============================================================================ */

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

static void machine_load_put_load(struct machine_load *s, const struct sysroot *root,
                                  struct row *row)
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

/* Missing before Linux 4.20; cannot be read on a kernel that was started without it. */
static void machine_load_put_pressures(struct machine_load *s, const struct sysroot *root,
                                       uint64_t wanted, struct row *row)
{
    for (size_t i = 0; i < ARRAY_LEN(pressures); i++) {
        struct scan text;
        struct pressure p;
        if (!(wanted & pressures[i].gives) ||
            kernel_file_read(&s->pressures[i], root->proc, pressures[i].path, root->live, &text) <
                0 ||
            parse_pressure(text, &p) < 0)
            continue;
        row_hold_u64(row, pressures[i].some, p.some_ns);
        if (p.has_full && pressures[i].full != METRIC_COUNT)
            row_hold_u64(row, pressures[i].full, p.full_ns);
    }
}

static void machine_load_collect(void *state, const struct collect_context *c,
                                 struct instance_list *out)
{
    (void)out;
    struct machine_load *s = state;
    struct row *row = &c->system->read;
    uint64_t processes;
    row_forget(row, collector_machine_load.gives_of_system);
    uint64_t wanted = c->selection->of[ENTITY_SYSTEM];
    if (wanted & OF_LOADAVG)
        machine_load_put_load(s, c->root, row);
    if (wanted & SYSTEM_BIT(uptime_seconds)) {
        struct scan text;
        uint64_t ns = c->root->live ? clock_since_boot() : 0;
        if (ns ||
            (kernel_file_read(&s->uptime, c->root->proc, "uptime", c->root->live, &text) == 0 &&
             parse_uptime(text, &ns) == 0))
            row_put_u64(row, system_uptime_seconds, ns);
    }
    machine_load_put_pressures(s, c->root, wanted, row);
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

/* ==== Probe =================================================================================== */

static bool probe_knows(const struct probe_facts *p, const struct collector *c,
                        enum metric_id metric)
{
    struct probe_look l;
    bool known = probe_look_begin(&l, p, c) == 0 && row_has(&l.system.read, metric);
    probe_look_end(&l);
    return known;
}

void probe_system(const struct probe_facts *p, struct finding *f)
{
    bool cpu = probe_knows(p, &collector_machine_cpu, system_cpu_user_seconds);
    bool memory = probe_knows(p, &collector_machine_memory, system_memory_available_bytes) ||
                  probe_knows(p, &collector_machine_memory, system_memory_total_bytes);
    bool load = probe_knows(p, &collector_machine_load, system_load_1m_number);
    finding_ok(f, "exact", "/proc/stat, meminfo, loadavg");
    if (cpu && memory && load)
        return;
    if (!cpu && !memory && !load)
        finding_missing(f, "/proc/stat, meminfo and loadavg cannot be read");
    else
        finding_partly(f, "cannot be read in /proc:%s%s%s", cpu ? "" : " stat",
                       memory ? "" : " meminfo", load ? "" : " loadavg");
    finding_remedy(f, "mount -t proc proc /proc");
}

void probe_pressure(const struct probe_facts *p, struct finding *f)
{
    finding_ok(f, "exact", "/proc/pressure");
    if (probe_knows(p, &collector_machine_load, system_cpu_pressure_some_seconds))
        return;
    finding_missing(f, "/proc/pressure cannot be read");
    finding_remedy(f, probe_is_since(p, 4, 20) ? "boot with psi=1 (a kernel with CONFIG_PSI=y)"
                                               : "Linux 4.20 or later with CONFIG_PSI=y");
}
