/* SPDX-License-Identifier: MIT */
#include "machine_tree.h"

#include <sys/sysinfo.h>

#define SOME "some avg10=0.00 avg60=0.00 avg300=0.00 total="
#define FULL "full avg10=0.00 avg60=0.00 avg300=0.00 total="

static void test_all(void **state)
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

static void test_without_pressure(void **state)
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

static void test_what_nobody_asked_for_is_not_read(void **state)
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

static void test_live(void **state)
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all),
        cmocka_unit_test(test_without_pressure),
        cmocka_unit_test(test_what_nobody_asked_for_is_not_read),
        cmocka_unit_test(test_live),
    };
    return RUN("machine_load", tests);
}
