/* SPDX-License-Identifier: MIT */
#include "base/io/file.h"
#include "base/text/buf.h"
#include "base/text/scan.h"
#include "base/util.h"
#include "machine_tree.h"
#include "source/machine/machine.h"
#include "tree.h"
#include "unit.h"

#include <sys/sysinfo.h>

/* ---- machine cpu ---------------------------------------------------------------------------- */

#define TICK (NS_PER_SECOND / 100)
#define MACHINE_CPU_TAIL                                                                           \
    "intr 900 1 2\nctxt 22\nbtime 1\nprocesses 18\nprocs_running 5\nprocs_blocked 1\nsoftirq 1\n"

static void write_stat(struct machine *m, const char *text)
{
    tree_write(&m->tree, "proc/stat", text);
    machine_collect(m);
}

static void test_machine_cpu_the_machine_and_its_cores(void **state)
{
    struct machine m;
    machine_make(&m);
    machine_open(&m, &collector_machine_cpu);
    write_stat(&m,
               "cpu  100 20 30 400 50 6 7 8 90 5\n"
               "cpu0 60 20 30 200 25 6 7 8 50 5\ncpu2 40 0 0 200 25 0 0 0 40 0\n" MACHINE_CPU_TAIL);
    const struct row *row = &m.system.read;
    assert_value(row, system_cpu_user_seconds, 10 * TICK);
    assert_value(row, system_cpu_nice_seconds, 15 * TICK);
    assert_value(row, system_cpu_guest_seconds, 95 * TICK);
    assert_value(row, system_cpu_steal_seconds, 8 * TICK);
    assert_value(row, system_cpu_seconds, (100 + 20 + 30 + 6 + 7) * TICK);
    assert_value(row, system_cpus_online_count, 2);
    assert_value(row, system_tasks_running_count, 5);
    assert_value(row, system_tasks_blocked_count, 1);
    assert_value(row, system_context_switches_count, 22);
    assert_value(row, system_interrupts_count, 900);
    assert_value(row, system_forks_count, 18);
    assert_int_equal(m.list.count, 2);
    const struct instance *core = machine_find(&m, "2");
    assert_non_null(core);
    assert_int_equal(core->entity.kind, ENTITY_CORE);
    assert_value(&core->read, core_cpu_seconds, 40 * TICK);
    assert_value(&core->read, core_cpu_user_seconds, 0);
    assert_value(&core->read, core_cpu_idle_seconds, 200 * TICK);
    machine_remove(&m);
}

static void test_machine_cpu_no_counter_falls(void **state)
{
    struct machine m;
    machine_make(&m);
    machine_open(&m, &collector_machine_cpu);
    write_stat(&m,
               "cpu  100 0 0 400 50 0 0 0 0 0\ncpu0 100 0 0 400 50 0 0 0 0 0\n" MACHINE_CPU_TAIL);
    write_stat(&m, "nonsense\n");
    assert_unknown(&m.system.read, system_cpu_idle_seconds);
    assert_unknown(&m.system.read, system_cpus_online_count);
    assert_int_equal(m.list.count, 0);
    write_stat(&m,
               "cpu  101 0 0 399 48 0 0 0 0 0\ncpu0 101 0 0 399 48 0 0 0 0 0\n" MACHINE_CPU_TAIL);
    assert_value(&m.system.read, system_cpu_user_seconds, 101 * TICK);
    assert_value(&m.system.read, system_cpu_idle_seconds, 400 * TICK);
    assert_value(&machine_find(&m, "0")->read, core_cpu_iowait_seconds, 50 * TICK);
    machine_remove(&m);
}

static void test_machine_cpu_old_kernel(void **state)
{
    struct machine m;
    machine_make(&m);
    machine_open(&m, &collector_machine_cpu);
    write_stat(&m, "cpu  100 20 30 400 50 6 7\ncpu0 100 20 30 400 50 6 7\nctxt 5\n");
    assert_value(&m.system.read, system_cpu_softirq_seconds, 7 * TICK);
    assert_unknown(&m.system.read, system_cpu_steal_seconds);
    assert_unknown(&m.system.read, system_cpu_guest_seconds);
    assert_unknown(&m.system.read, system_forks_count);
    machine_remove(&m);
}

static void test_machine_cpu_cpus_come_and_go(void **state)
{
    struct machine m;
    machine_make(&m);
    machine_open(&m, &collector_machine_cpu);
    write_stat(&m, "cpu  9 0 0 9\ncpu0 1 0 0 1\ncpu1 8 0 0 8\n" MACHINE_CPU_TAIL);
    const struct instance *second = machine_find(&m, "1");
    write_stat(&m, "cpu  9 0 0 9\ncpu0 1 0 0 1\n" MACHINE_CPU_TAIL);
    assert_null(machine_find(&m, "1"));
    assert_value(&m.system.read, system_cpus_online_count, 1);
    write_stat(&m, "cpu  9 0 0 9\ncpu1 9 0 0 9\ncpu2 500 0 0 7\n" MACHINE_CPU_TAIL);
    assert_ptr_equal(machine_find(&m, "1"), second);
    assert_value(&second->read, core_cpu_seconds, 9 * TICK);
    /* The kernel kept what it had done before: that does not belong to this run. */
    assert_false(machine_find(&m, "2")->is_new);
    machine_remove(&m);
}

static void test_machine_cpu_frequency(void **state)
{
    struct machine m;
    machine_make(&m);
    machine_open(&m, &collector_machine_cpu);
    tree_write(&m.tree, "sys/devices/system/cpu/cpu1/cpufreq/scaling_cur_freq", "1800000\n");
    write_stat(&m, "cpu  9 0 0 9\ncpu0 1 0 0 1\ncpu1 8 0 0 8\n" MACHINE_CPU_TAIL);
    assert_value(&machine_find(&m, "1")->read, core_frequency_hertz, UINT64_C(1800000000));
    assert_unknown(&machine_find(&m, "0")->read, core_frequency_hertz);
    static const char *const unknown[] = {"", "\n", "<unknown>\n", "24", "18446744073709551615\n"};
    for (size_t i = 0; i < ARRAY_LEN(unknown); i++) {
        tree_write(&m.tree, "sys/devices/system/cpu/cpu1/cpufreq/scaling_cur_freq", unknown[i]);
        machine_collect(&m);
        assert_unknown(&machine_find(&m, "1")->read, core_frequency_hertz);
    }
    machine_remove(&m);
}

static void test_machine_cpu_cores_nobody_asked_for(void **state)
{
    struct machine m;
    machine_make(&m);
    machine_open(&m, &collector_machine_cpu);
    assert_int_equal(selection_parse(&m.selection, "system_*", NULL), 0);
    write_stat(&m, "cpu  9 0 0 9\ncpu0 9 0 0 9\n" MACHINE_CPU_TAIL);
    assert_int_equal(m.list.count, 0);
    assert_value(&m.system.read, system_cpus_online_count, 1);
    machine_remove(&m);
}

static void test_machine_cpu_a_large_machine(void **state)
{
    struct machine m;
    struct buf text = {0};
    machine_make(&m);
    machine_open(&m, &collector_machine_cpu);
    buf_puts(&text, "cpu  512000 0 0 512000 0 0 0 0 0 0\n");
    for (unsigned i = 0; i < 512; i++)
        buf_printf(&text, "cpu%u %u 0 0 1000 0 0 0 0 0 0\n", i, 1000 + i);
    buf_puts(&text, "intr 77");
    for (unsigned i = 0; i < 40000; i++)
        buf_puts(&text, " 0");
    buf_puts(&text, "\nctxt 99\nprocesses 3\nprocs_running 1\nprocs_blocked 0\n");
    buf_putc(&text, '\0');
    assert_true(text.length > 65536);
    write_stat(&m, text.data);
    assert_value(&m.system.read, system_cpus_online_count, 512);
    assert_value(&m.system.read, system_interrupts_count, 77);
    assert_value(&m.system.read, system_context_switches_count, 99);
    assert_int_equal(m.list.count, 512);
    assert_value(&machine_find(&m, "511")->read, core_cpu_seconds, 1511 * TICK);
    machine_remove(&m);
    buf_done(&text);
}

static void test_machine_cpu_a_figure_too_large_is_unknown(void **state)
{
    struct machine m;
    machine_make(&m);
    machine_open(&m, &collector_machine_cpu);
    write_stat(&m, "cpu  1 0 0 18446744073709551615\nctxt 5\n");
    assert_value(&m.system.read, system_cpu_user_seconds, TICK);
    assert_unknown(&m.system.read, system_cpu_idle_seconds);
    machine_remove(&m);
}

static void test_machine_cpu_nothing_there(void **state)
{
    struct machine m;
    machine_make(&m);
    machine_open(&m, &collector_machine_cpu);
    machine_collect(&m);
    assert_true(m.system.read.present == 0);
    assert_int_equal(m.list.count, 0);
    machine_remove(&m);
}

static void test_machine_cpu_live(void **state)
{
    struct machine m;
    unsigned fds = tree_open_fds();
    machine_make_live(&m);
    machine_open(&m, &collector_machine_cpu);
    machine_collect(&m);
    assert_value(&m.system.read, system_cpus_online_count, (unsigned)get_nprocs());
    assert_int_equal(m.list.count, get_nprocs());
    uint64_t before = row_u64(&m.system.read, system_cpu_idle_seconds);
    unsigned kept = tree_open_fds();
    machine_collect(&m);
    assert_int_equal(tree_open_fds(), kept);
    assert_true(row_u64(&m.system.read, system_cpu_idle_seconds) >= before);
    assert_true(row_u64(&m.system.read, system_cpu_seconds) > 0);
    machine_remove(&m);
    assert_int_equal(tree_open_fds(), fds);
}

/* ---- proc stat ------------------------------------------------------------------------------ */

#define PROC_STAT_TAIL                                                                             \
    "intr 9598926 0 0 17 0 4302\nctxt 22054369\nbtime 1794778006\nprocesses 1889347\n"             \
    "procs_running 5\nprocs_blocked 1\nsoftirq 6789574 0 782302\n"

static const char good[] = "cpu  395580 1959 445594 1508054 8999 7 2655 6161 80 9\n"
                           "cpu0 186345 963 223657 767478 2284 3 358 3084 80 0\n"
                           "cpu3 209234 995 221937 740575 6714 4 2297 3077 0 9\n" PROC_STAT_TAIL;

/* A cut text may have less, never anything else. */
static bool proc_stat_same(const struct proc_stat *whole, const struct proc_stat *cut)
{
    for (unsigned n = 0; n < STAT_COUNTS; n++)
        if (cut->seen & BIT(n) && whole->counts[n] != cut->counts[n])
            return false;
    return whole->cpu_count == cut->cpu_count && whole->all.modes == cut->all.modes &&
           memcmp(whole->all.ticks, cut->all.ticks, sizeof whole->all.ticks) == 0 &&
           whole->all.busy_ticks == cut->all.busy_ticks && (cut->seen & ~whole->seen) == 0;
}

PARSER_HARNESS(proc_stat, parse_proc_stat, struct proc_stat, proc_stat_same)

static void test_proc_stat_good(void **state)
{
    struct proc_stat st;
    assert_int_equal(proc_stat_parse(good, &st), 0);
    assert_int_equal(st.seen, BIT(STAT_COUNTS) - 1);
    assert_int_equal(st.counts[STAT_INTERRUPTS], 9598926);
    assert_int_equal(st.counts[STAT_SWITCHES], 22054369);
    assert_int_equal(st.counts[STAT_FORKS], 1889347);
    assert_int_equal(st.counts[STAT_RUNNING], 5);
    assert_int_equal(st.counts[STAT_BLOCKED], 1);
    assert_int_equal(st.cpu_count, 2);
    assert_int_equal(st.all.modes, CPU_MODES);
    assert_int_equal(st.all.ticks[CPU_IDLE], 1508054);
    assert_int_equal(st.all.ticks[CPU_IOWAIT], 8999);
    assert_int_equal(st.all.ticks[CPU_STEAL], 6161);
}

/* The kernel counts a guest's time in user and in guest. */
static void test_proc_stat_guests_count_once(void **state)
{
    struct proc_stat st;
    assert_int_equal(proc_stat_parse(good, &st), 0);
    assert_int_equal(st.all.ticks[CPU_USER], 395580 - 80);
    assert_int_equal(st.all.ticks[CPU_NICE], 1959 - 9);
    assert_int_equal(st.all.ticks[CPU_GUEST], 89);
    assert_int_equal(st.all.busy_ticks, 395580 + 1959 + 445594 + 7 + 2655);
    assert_int_equal(proc_stat_parse("cpu  5 1 0 0 0 0 0 0 7 0\n" PROC_STAT_TAIL, &st), 0);
    assert_int_equal(st.all.ticks[CPU_USER], 0); /* read in between: not below nothing */
}

static void test_proc_stat_cpu_lines(void **state)
{
    struct proc_stat st;
    struct cpu_times t;
    unsigned number;
    assert_int_equal(parse_proc_stat(scan_string(good), &st), 0);
    assert_int_equal(parse_proc_stat_cpu(&st.cpus, &number, &t), 1);
    assert_int_equal(number, 0);
    assert_int_equal(t.ticks[CPU_SYSTEM], 223657);
    assert_int_equal(parse_proc_stat_cpu(&st.cpus, &number, &t), 1);
    assert_int_equal(number, 3); /* 1 and 2 are offline */
    assert_int_equal(t.ticks[CPU_SOFTIRQ], 2297);
    assert_int_equal(parse_proc_stat_cpu(&st.cpus, &number, &t), 0);
}

static void test_proc_stat_bad_cpu_lines(void **state)
{
    static const char *const texts[] = {"cpu  1 2 3 4\n", "cpux 1 2 3 4\n",
                                        "cpu0 1 2 3\n",   "cpu0\n",
                                        "cpu0 1 2 3 x\n", "cpu99999999999 1 2 3 4\n"};
    struct cpu_times t;
    unsigned number;
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        struct scan s = scan_string(texts[i]);
        assert_int_equal(parse_proc_stat_cpu(&s, &number, &t), -EBADMSG);
    }
}

static void test_proc_stat_cut_short(void **state)
{
    proc_stat_check_cuts(good, -ENODATA);
}

static void test_proc_stat_old_kernel(void **state)
{
    struct proc_stat st;
    assert_int_equal(
        proc_stat_parse("cpu  10 2 30 400 5 6 7\ncpu0 10 2 30 400 5 6 7\nintr 5\n", &st), 0);
    assert_int_equal(st.all.modes, CPU_STEAL); /* steal and guests are not there */
    assert_int_equal(st.all.busy_ticks, 55);
    assert_int_equal(st.seen, BIT(STAT_INTERRUPTS));
    assert_int_equal(proc_stat_parse("cpu  10 2 30 400\nctxt 7\n", &st), 0);
    assert_int_equal(st.all.modes, CPU_IOWAIT);
    assert_int_equal(st.cpu_count, 0);
}

static void test_proc_stat_new_kernel(void **state)
{
    struct proc_stat st;
    assert_int_equal(proc_stat_parse("cpu  1 2 3 4 5 6 7 8 0 0 99 98\nfuture 1\n" PROC_STAT_TAIL
                                     "more 7\n",
                                     &st),
                     0);
    assert_int_equal(st.all.modes, CPU_MODES);
    assert_int_equal(st.seen, BIT(STAT_COUNTS) - 1);
}

static void test_proc_stat_garbage(void **state)
{
    static const char *const texts[] = {
        "\n",
        "nonsense",
        "cpu\n",
        "cpu  1 2 3\n" PROC_STAT_TAIL,
        "cpu  1 2 3 x\n" PROC_STAT_TAIL,
        "cpu  1 2 3 4 x\n" PROC_STAT_TAIL,
        "cpu0 1 2 3 4\n" PROC_STAT_TAIL,
        PROC_STAT_TAIL,
        "cpu  1 2 3 4\nctxt x\n",
        "cpu  1 2 3 4\nctxt 5x\n",
        "cpu  1 2 3 4\ncpu0 1 2 3 4\n",
    };
    struct proc_stat st;
    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        assert_int_equal(proc_stat_parse(texts[i], &st), -EBADMSG);
}

static void test_proc_stat_huge(void **state)
{
    struct proc_stat st;
    assert_int_equal(
        proc_stat_parse("cpu  18446744073709551615 0 0 18446744073709551615\n" PROC_STAT_TAIL, &st),
        0);
    assert_true(st.all.busy_ticks == UINT64_MAX);
    assert_int_equal(proc_stat_parse("cpu  18446744073709551615 1 0 4\n" PROC_STAT_TAIL, &st),
                     -EBADMSG);
    assert_int_equal(proc_stat_parse("cpu  18446744073709551616 0 0 4\n" PROC_STAT_TAIL, &st),
                     -EBADMSG);
    assert_int_equal(proc_stat_parse("cpu  1 2 3 4\nctxt 18446744073709551616\n", &st), -EBADMSG);
}

/* ---- machine load --------------------------------------------------------------------------- */

#define SOME "some avg10=0.00 avg60=0.00 avg300=0.00 total="
#define FULL "full avg10=0.00 avg60=0.00 avg300=0.00 total="

static void test_machine_load_all(void **state)
{
    struct machine m;
    machine_make(&m);
    machine_open(&m, &collector_machine_load);
    tree_write(&m.tree, "proc/loadavg", "0.50 1.25 12.75 4/100 7390\n");
    tree_write(&m.tree, "proc/uptime", "100.25 15080.54\n");
    tree_write(&m.tree, "proc/pressure/cpu", SOME "1\n" FULL "0\n");
    tree_write(&m.tree, "proc/pressure/memory", SOME "20\n" FULL "3\n");
    tree_write(&m.tree, "proc/pressure/io", SOME "40\n");
    tree_write(&m.tree, "proc/1/stat", "");
    tree_write(&m.tree, "proc/7390/stat", "");
    machine_collect(&m);
    const struct row *row = &m.system.read;
    assert_true(row_has(row, system_load_15m_number));
    assert_true(row_value(row, system_load_1m_number).d == 0.5);
    assert_true(row_value(row, system_load_15m_number).d == 12.75);
    assert_value(row, system_threads_count, 100);
    assert_value(row, system_processes_count, 2);
    assert_value(row, system_uptime_seconds, UINT64_C(100250000000));
    assert_value(row, system_cpu_pressure_some_seconds, 1000);
    assert_value(row, system_memory_pressure_some_seconds, 20000);
    assert_value(row, system_memory_pressure_full_seconds, 3000);
    assert_value(row, system_io_pressure_some_seconds, 40000);
    assert_unknown(row, system_io_pressure_full_seconds);
    machine_remove(&m);
}

static void test_machine_load_without_pressure(void **state)
{
    struct machine m;
    machine_make(&m);
    machine_open(&m, &collector_machine_load);
    tree_write(&m.tree, "proc/loadavg", "0.50 1.25 12.75 4/100 7390\n");
    machine_collect(&m);
    assert_value(&m.system.read, system_threads_count, 100);
    assert_unknown(&m.system.read, system_cpu_pressure_some_seconds);
    assert_unknown(&m.system.read, system_uptime_seconds);
    assert_unknown(&m.system.read, system_processes_count);
    tree_write(&m.tree, "proc/loadavg", "garbage\n");
    machine_collect(&m);
    assert_true(m.system.read.present == 0);
    machine_remove(&m);
}

static void test_machine_load_what_nobody_asked_for_is_not_read(void **state)
{
    struct machine m;
    machine_make(&m);
    assert_int_equal(selection_parse(&m.selection, "io_pressure_some_seconds,processes", NULL), 0);
    machine_open(&m, &collector_machine_load);
    tree_write(&m.tree, "proc/loadavg", "0.50 1.25 12.75 4/100 7390\n");
    tree_write(&m.tree, "proc/uptime", "100.25 300.00\n");
    tree_write(&m.tree, "proc/pressure/cpu", "some avg10=0.00 avg60=0.00 avg300=0.00 total=1\n");
    tree_write(&m.tree, "proc/pressure/io", "some avg10=0.00 avg60=0.00 avg300=0.00 total=40\n");
    tree_write(&m.tree, "proc/7390/stat", "");
    machine_collect(&m);
    assert_true(m.system.read.present ==
                (SYSTEM_BIT(io_pressure_some_seconds) | SYSTEM_BIT(processes_count)));
    machine_remove(&m);
}

static void test_machine_load_live(void **state)
{
    struct machine m;
    struct sysinfo before, after;
    unsigned fds = tree_open_fds();
    machine_make_live(&m);
    machine_open(&m, &collector_machine_load);
    assert_int_equal(sysinfo(&before), 0);
    machine_collect(&m);
    assert_int_equal(sysinfo(&after), 0);
    uint64_t uptime = row_u64(&m.system.read, system_uptime_seconds) / NS_PER_SECOND;
    assert_in_range(uptime, (uint64_t)before.uptime - 1, (uint64_t)after.uptime);
    assert_true(row_u64(&m.system.read, system_processes_count) > 0);
    machine_remove(&m);
    assert_int_equal(tree_open_fds(), fds);
}

/* ---- loadavg -------------------------------------------------------------------------------- */

PARSER_HARNESS(loadavg, parse_loadavg_last_pid, uint64_t, SAME_BYTES)

static void test_loadavg_good(void **state)
{
    uint64_t pid;
    assert_int_equal(loadavg_parse("0.27 0.06 0.02 1/81 3799\n", &pid), 0);
    assert_int_equal(pid, 3799);
}

static void test_loadavg_cut_short(void **state)
{
    loadavg_check_cuts("0.27 0.06 0.02 1/81 3799\n", -ENODATA);
    uint64_t pid;
    assert_int_equal(loadavg_parse("0.27 0.06 0.02 1/81 379", &pid), -EBADMSG);
}

static void test_loadavg_garbage(void **state)
{
    static const char *const texts[] = {"\n",
                                        "x",
                                        "0.27 0.06 0.02 1/81\n",
                                        "0.27 0.06\n0.02 1/81 3799\n",
                                        "1 2 3 4 x\n",
                                        "0.27 0.06 0.02 1/81 -1\n"};
    uint64_t pid;
    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        assert_int_equal(loadavg_parse(texts[i], &pid), -EBADMSG);
}

static void test_loadavg_huge(void **state)
{
    uint64_t pid;
    assert_int_equal(loadavg_parse("99999.99 0.06 0.02 1/4194304 18446744073709551615\n", &pid), 0);
    assert_true(pid == UINT64_MAX);
    assert_int_equal(loadavg_parse("0.27 0.06 0.02 1/81 18446744073709551616\n", &pid), -EBADMSG);
}

static bool loadavg_same(const struct loadavg *a, const struct loadavg *b)
{
    return a->load[0] == b->load[0] && a->load[1] == b->load[1] && a->load[2] == b->load[2] &&
           a->running == b->running && a->threads == b->threads;
}

static void test_loadavg_loads(void **state)
{
    static const char text[] = "0.27 1.06 12.50 1/81 3799\n";
    struct loadavg l, cut;
    assert_int_equal(parse_loadavg(scan_string(text), &l), 0);
    assert_true(l.load[0] > 0.2699 && l.load[0] < 0.2701);
    assert_true(l.load[1] > 1.0599 && l.load[1] < 1.0601);
    assert_true(l.load[2] == 12.5);
    assert_int_equal(l.running, 1);
    assert_int_equal(l.threads, 81);
    assert_int_equal(parse_loadavg(scan_text(text, 0), &cut), -ENODATA);
    for (size_t length = 1; length < strlen(text); length++)
        if (parse_loadavg(scan_text(text, length), &cut) == 0)
            assert_true(loadavg_same(&l, &cut));
}

static void test_loadavg_loads_of_garbage(void **state)
{
    static const char *const texts[] = {"\n",
                                        "x",
                                        "0.27 1.06 12.50\n",
                                        "0.27 1.06 12.50 1 81 3\n",
                                        "0.27 1.06 x 1/81 3799\n",
                                        "0.27 1.06 12.50 1/x 3799\n",
                                        "0.1 0.1 0.1 1/18446744073709551616 1\n"};
    struct loadavg l;
    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        assert_int_equal(parse_loadavg(scan_string(texts[i]), &l), -EBADMSG);
}

/* ---- uptime --------------------------------------------------------------------------------- */

PARSER_HARNESS(uptime, parse_uptime, uint64_t, SAME_BYTES)

static void test_uptime_good(void **state)
{
    uint64_t ns;
    assert_int_equal(uptime_parse("11898.49 15080.54\n", &ns), 0);
    assert_true(ns == UINT64_C(11898490000000));
    assert_int_equal(uptime_parse("0.05 0.00\n", &ns), 0);
    assert_true(ns == 50000000);
}

static void test_uptime_cut_short(void **state)
{
    uptime_check_cuts("11898.49 15080.54\n", -ENODATA);
}

static void test_uptime_garbage(void **state)
{
    static const char *const texts[] = {
        "\n",        "x",          "1 2\n",        "1. 2.0\n",
        "1.5 2.0\n", "1. 5 2.0\n", "-1.00 1.00\n", "18446744074.00 1.00\n"};
    uint64_t ns;
    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        assert_int_equal(uptime_parse(texts[i], &ns), -EBADMSG);
}

/* ---- process census ------------------------------------------------------------------------- */

static void process_census_open_tree(struct tree *t, struct sysroot *root)
{
    tree_make(t);
    tree_write(t, "proc/sys/kernel/ostype", "Linux\n");
    tree_write(t, "proc/1/stat", "");
    tree_write(t, "proc/22/stat", "");
    tree_write(t, "proc/2nd", "");
    assert_int_equal(sysroot_open(root, t->path, NULL), 0);
}

static void test_process_census_recorded(void **state)
{
    struct tree t;
    struct sysroot root;
    struct process_census p = {0};
    uint64_t count;
    process_census_open_tree(&t, &root);
    assert_int_equal(process_census_take(&p, &root, &count), 0);
    assert_int_equal(count, 2);
    assert_false(p.by_links);
    sysroot_close(&root);
    tree_remove(&t);
}

/* An ordinary directory counts its links as /proc does, as far as the filesystem counts any. */
static void test_process_census_links_are_checked(void **state)
{
    struct tree t;
    struct sysroot root;
    struct process_census p = {0};
    uint64_t count;
    process_census_open_tree(&t, &root);
    root.live = true;
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(process_census_take(&p, &root, &count), 0);
        assert_int_equal(count, 2);
    }
    /* Links that are not explained by what is to be seen: they are counted no more. */
    p = (struct process_census){.by_links = true, .other_links = UINT64_MAX, .next_check_in = 1};
    assert_int_equal(process_census_take(&p, &root, &count), 0);
    assert_int_equal(count, 2);
    sysroot_close(&root);
    tree_remove(&t);
}

/* Mounted with hidepid=2, /proc shows an ordinary user his own processes. */
static void test_process_census_others_are_hidden(void **state)
{
    struct tree t;
    struct sysroot root;
    struct process_census p = {.next_check_in = 1};
    uint64_t count;
    tree_make(&t);
    tree_write(&t, "proc/22/stat", "");
    assert_int_equal(sysroot_open(&root, t.path, NULL), 0);
    root.live = true;
    assert_int_equal(process_census_take(&p, &root, &count), -ENODATA);
    sysroot_close(&root);
    tree_remove(&t);
}

static void test_process_census_no_process(void **state)
{
    struct tree t;
    struct sysroot root;
    struct process_census p = {0};
    uint64_t count = 7;
    tree_make(&t);
    tree_write(&t, "proc/version", "Linux\n");
    assert_int_equal(sysroot_open(&root, t.path, NULL), 0);
    assert_int_equal(process_census_take(&p, &root, &count), -ENODATA);
    assert_int_equal(count, 7);
    sysroot_close(&root);
    tree_remove(&t);
}

static void count_number(void *arg, const char *name)
{
    struct scan s = scan_string(name);
    uint64_t pid;
    *(uint64_t *)arg += scan_u64(&s, &pid);
}

/* Others start and end processes meanwhile: once it must agree with a count. */
static void test_process_census_live(void **state)
{
    struct sysroot root;
    struct process_census p = {0};
    bool agreed = false;
    assert_int_equal(sysroot_open(&root, NULL, NULL), 0);
    for (unsigned i = 0; i < 1000 && !agreed; i++) {
        uint64_t taken, counted = 0;
        assert_int_equal(process_census_take(&p, &root, &taken), 0);
        assert_int_equal(file_each_entry(root.proc, count_number, &counted), 0);
        agreed = taken == counted;
    }
    assert_true(agreed);
    sysroot_close(&root);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_machine_cpu_the_machine_and_its_cores),
        cmocka_unit_test(test_machine_cpu_no_counter_falls),
        cmocka_unit_test(test_machine_cpu_old_kernel),
        cmocka_unit_test(test_machine_cpu_cpus_come_and_go),
        cmocka_unit_test(test_machine_cpu_frequency),
        cmocka_unit_test(test_machine_cpu_cores_nobody_asked_for),
        cmocka_unit_test(test_machine_cpu_a_large_machine),
        cmocka_unit_test(test_machine_cpu_a_figure_too_large_is_unknown),
        cmocka_unit_test(test_machine_cpu_nothing_there),
        cmocka_unit_test(test_machine_cpu_live),
        cmocka_unit_test(test_proc_stat_good),
        cmocka_unit_test(test_proc_stat_guests_count_once),
        cmocka_unit_test(test_proc_stat_cpu_lines),
        cmocka_unit_test(test_proc_stat_bad_cpu_lines),
        cmocka_unit_test(test_proc_stat_cut_short),
        cmocka_unit_test(test_proc_stat_old_kernel),
        cmocka_unit_test(test_proc_stat_new_kernel),
        cmocka_unit_test(test_proc_stat_garbage),
        cmocka_unit_test(test_proc_stat_huge),
        cmocka_unit_test(test_machine_load_all),
        cmocka_unit_test(test_machine_load_without_pressure),
        cmocka_unit_test(test_machine_load_what_nobody_asked_for_is_not_read),
        cmocka_unit_test(test_machine_load_live),
        cmocka_unit_test(test_loadavg_good),
        cmocka_unit_test(test_loadavg_cut_short),
        cmocka_unit_test(test_loadavg_garbage),
        cmocka_unit_test(test_loadavg_huge),
        cmocka_unit_test(test_loadavg_loads),
        cmocka_unit_test(test_loadavg_loads_of_garbage),
        cmocka_unit_test(test_uptime_good),
        cmocka_unit_test(test_uptime_cut_short),
        cmocka_unit_test(test_uptime_garbage),
        cmocka_unit_test(test_process_census_recorded),
        cmocka_unit_test(test_process_census_links_are_checked),
        cmocka_unit_test(test_process_census_others_are_hidden),
        cmocka_unit_test(test_process_census_no_process),
        cmocka_unit_test(test_process_census_live),
    };
    return RUN("source/machine/cpu", tests);
}
