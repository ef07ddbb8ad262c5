/* SPDX-License-Identifier: MIT */
#include "base/text/buf.h"
#include "machine_tree.h"

#include <sys/sysinfo.h>

#define TICK (NS_PER_SECOND / 100)
#define TAIL                                                                                       \
    "intr 900 1 2\nctxt 22\nbtime 1\nprocesses 18\nprocs_running 5\nprocs_blocked 1\nsoftirq 1\n"

static void write_stat(struct machine *m, const char *text)
{
    tree_write(&m->tree, "proc/stat", text);
    machine_collect(m);
}

static void test_the_machine_and_its_cores(void **state)
{
    struct machine m;
    machine_make(&m);
    machine_open(&m, &collector_machine_cpu);
    write_stat(&m, "cpu  100 20 30 400 50 6 7 8 90 5\n"
                   "cpu0 60 20 30 200 25 6 7 8 50 5\ncpu2 40 0 0 200 25 0 0 0 40 0\n" TAIL);
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

static void test_no_counter_falls(void **state)
{
    struct machine m;
    machine_make(&m);
    machine_open(&m, &collector_machine_cpu);
    write_stat(&m, "cpu  100 0 0 400 50 0 0 0 0 0\ncpu0 100 0 0 400 50 0 0 0 0 0\n" TAIL);
    write_stat(&m, "nonsense\n");
    assert_unknown(&m.system.read, system_cpu_idle_seconds);
    assert_unknown(&m.system.read, system_cpus_online_count);
    assert_int_equal(m.list.count, 0);
    write_stat(&m, "cpu  101 0 0 399 48 0 0 0 0 0\ncpu0 101 0 0 399 48 0 0 0 0 0\n" TAIL);
    assert_value(&m.system.read, system_cpu_user_seconds, 101 * TICK);
    assert_value(&m.system.read, system_cpu_idle_seconds, 400 * TICK);
    assert_value(&machine_find(&m, "0")->read, core_cpu_iowait_seconds, 50 * TICK);
    machine_remove(&m);
}

static void test_old_kernel(void **state)
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

static void test_cpus_come_and_go(void **state)
{
    struct machine m;
    machine_make(&m);
    machine_open(&m, &collector_machine_cpu);
    write_stat(&m, "cpu  9 0 0 9\ncpu0 1 0 0 1\ncpu1 8 0 0 8\n" TAIL);
    const struct instance *second = machine_find(&m, "1");
    write_stat(&m, "cpu  9 0 0 9\ncpu0 1 0 0 1\n" TAIL);
    assert_null(machine_find(&m, "1"));
    assert_value(&m.system.read, system_cpus_online_count, 1);
    write_stat(&m, "cpu  9 0 0 9\ncpu1 9 0 0 9\ncpu2 500 0 0 7\n" TAIL);
    assert_ptr_equal(machine_find(&m, "1"), second);
    assert_value(&second->read, core_cpu_seconds, 9 * TICK);
    /* The kernel kept what it had done before: that does not belong to this run. */
    assert_false(machine_find(&m, "2")->is_new);
    machine_remove(&m);
}

static void test_frequency(void **state)
{
    struct machine m;
    machine_make(&m);
    machine_open(&m, &collector_machine_cpu);
    tree_write(&m.tree, "sys/devices/system/cpu/cpu1/cpufreq/scaling_cur_freq", "1800000\n");
    write_stat(&m, "cpu  9 0 0 9\ncpu0 1 0 0 1\ncpu1 8 0 0 8\n" TAIL);
    assert_value(&machine_find(&m, "1")->read, core_frequency_hertz, UINT64_C(1800000000));
    assert_unknown(&machine_find(&m, "0")->read, core_frequency_hertz);
    tree_write(&m.tree, "sys/devices/system/cpu/cpu1/cpufreq/scaling_cur_freq", "<unknown>\n");
    machine_collect(&m);
    assert_unknown(&machine_find(&m, "1")->read, core_frequency_hertz);
    machine_remove(&m);
}

static void test_cores_nobody_asked_for(void **state)
{
    struct machine m;
    machine_make(&m);
    machine_open(&m, &collector_machine_cpu);
    assert_int_equal(selection_parse(&m.selection, "system_*", NULL), 0);
    write_stat(&m, "cpu  9 0 0 9\ncpu0 9 0 0 9\n" TAIL);
    assert_int_equal(m.list.count, 0);
    assert_value(&m.system.read, system_cpus_online_count, 1);
    machine_remove(&m);
}

static void test_a_large_machine(void **state)
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

static void test_a_figure_too_large_is_unknown(void **state)
{
    struct machine m;
    machine_make(&m);
    machine_open(&m, &collector_machine_cpu);
    write_stat(&m, "cpu  1 0 0 18446744073709551615\nctxt 5\n");
    assert_value(&m.system.read, system_cpu_user_seconds, TICK);
    assert_unknown(&m.system.read, system_cpu_idle_seconds);
    machine_remove(&m);
}

static void test_nothing_there(void **state)
{
    struct machine m;
    machine_make(&m);
    machine_open(&m, &collector_machine_cpu);
    machine_collect(&m);
    assert_true(m.system.read.present == 0);
    assert_int_equal(m.list.count, 0);
    machine_remove(&m);
}

static void test_live(void **state)
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_machine_and_its_cores),
        cmocka_unit_test(test_no_counter_falls),
        cmocka_unit_test(test_old_kernel),
        cmocka_unit_test(test_cpus_come_and_go),
        cmocka_unit_test(test_frequency),
        cmocka_unit_test(test_cores_nobody_asked_for),
        cmocka_unit_test(test_a_large_machine),
        cmocka_unit_test(test_a_figure_too_large_is_unknown),
        cmocka_unit_test(test_nothing_there),
        cmocka_unit_test(test_live),
    };
    return RUN("machine_cpu", tests);
}
