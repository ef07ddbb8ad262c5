/* SPDX-License-Identifier: MIT */
#include "source/cgroup/cgroup.h"

#include "cgroup_tree.h"

static void read_row(struct cgroup_tree *t, struct row *row)
{
    struct cgroup_places p;
    struct cgroup_figures f;
    assert_int_equal(cgroup_places_of_pid(&p, &t->root, 1), 0);
    cgroup_figures_init(&f, &t->root);
    row_init(row, ENTITY_CGROUP);
    cgroup_figures_read(&f, &t->root, &p, row);
    cgroup_figures_close_files(&f);
    cgroup_places_done(&p);
}

static void test_kernel_memory_of_old_kernels(void **state)
{
    struct cgroup_tree t;
    struct row row;
    cgroup_tree_open(&t, V2_MOUNT, "0::/job\n");
    cgroup_write(&t, "job", "cgroup.procs", "", "cgroup.events", "", "memory.stat",
                 "anon 1\nkernel_stack 2\npagetables 3\npercpu 4\nslab 5\n", NULL);
    read_row(&t, &row);
    assert_value(&row, cgroup_memory_kernel_bytes, 14);
    cgroup_write(&t, "job", "memory.stat", "anon 1\nkernel_stack 2\nslab 5\n", NULL);
    read_row(&t, &row);
    assert_unknown(&row, cgroup_memory_kernel_bytes); /* a sum that leaves something out */
    assert_value(&row, cgroup_memory_anon_bytes, 1);
    cgroup_tree_close(&t);
}

/* Version 2 has cpu.stat without any controller. */
static void test_no_controllers(void **state)
{
    struct cgroup_tree t;
    struct row row;
    cgroup_tree_open(&t, V2_MOUNT, "0::/job\n");
    cgroup_write(&t, "job", "cgroup.procs", "", "cgroup.events", "", "cpu.stat",
                 "usage_usec 7\nuser_usec 5\nsystem_usec 2\n", NULL);
    read_row(&t, &row);
    assert_value(&row, cgroup_cpu_seconds, 7000);
    assert_unknown(&row, cgroup_cpu_periods_count);
    assert_unknown(&row, cgroup_memory_bytes);
    assert_unknown(&row, cgroup_tasks_count);
    cgroup_tree_close(&t);
}

static void test_garbage(void **state)
{
    struct cgroup_tree t;
    struct row row;
    cgroup_tree_open(&t, V2_MOUNT, "0::/job\n");
    cgroup_write(&t, "job", "cgroup.procs", "", "cgroup.events", "", "cpu.stat",
                 "usage_usec x\nuser_usec 5\n", "memory.current", "max\n", "memory.peak", "",
                 "memory.stat", "anon -5\n", "cpu.pressure", "some\n", "pids.events",
                 "max 99999999999999999999\n", NULL);
    read_row(&t, &row);
    assert_true(row.present == 0);
    cgroup_write(&t, "job", "cpu.stat", "usage_usec 18446744073709551615\n", NULL);
    read_row(&t, &row);
    assert_true(row.present == 0); /* more nanoseconds than fit */
    cgroup_tree_close(&t);
}

static void test_v1_split_of_cpu_time(void **state)
{
    struct cgroup_tree t;
    struct row row;
    cgroup_tree_open(&t, V1_MOUNTS, "2:cpuacct:/job\n");
    cgroup_write(&t, "cpuacct/job", "cgroup.procs", "", "cpuacct.usage", "90\n",
                 "cpuacct.usage_user", "60\n", "cpuacct.stat", "user 2\nsystem 1\n", NULL);
    read_row(&t, &row);
    assert_value(&row, cgroup_cpu_seconds, 90);
    /* usage_user is counted in ticks, too, and not made to fit the sum. */
    assert_value(&row, cgroup_cpu_user_seconds, 20000000);
    assert_value(&row, cgroup_cpu_system_seconds, 10000000);
    cgroup_tree_close(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kernel_memory_of_old_kernels),
        cmocka_unit_test(test_no_controllers),
        cmocka_unit_test(test_garbage),
        cmocka_unit_test(test_v1_split_of_cpu_time),
    };
    return RUN("cgroup_figures", tests);
}
