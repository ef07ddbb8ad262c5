/* SPDX-License-Identifier: MIT
 * How much there is to do for the machine: load, pressure, processes; and how long it has been up.
 */
#include "source/machine/load.h"

#include "base/clock.h"
#include "base/io/file.h"
#include "base/util.h"
#include "source/collector.h"
#include "source/kernel_file.h"
#include "source/probe.h"

#include <fcntl.h>
#include <sys/stat.h>

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
