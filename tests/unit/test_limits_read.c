/* SPDX-License-Identifier: MIT */
#include "source/cgroup/limits.h"

#include "cgroup_tree.h"

static void test_of_a_cgroup(void **state)
{
    struct cgroup_tree t;
    struct cgroup *c;
    struct limits l;
    cgroup_tree_v2(&t);
    tree_write(&t.tree, "sys/devices/system/cpu/online", "0-3\n");
    tree_write(&t.tree, "proc/meminfo", "MemTotal:       24682416 kB\n");
    tree_write(&t.tree, "proc/sys/kernel/threads-max", "1000\n");
    tree_write(&t.tree, "proc/1/limits",
               "Max open files            1024                 4096                 files     \n"
               "Max address space         unlimited            unlimited            bytes     \n");
    assert_int_equal(cgroup_open_of(&c, &t.root, 1), 0);
    limits_read(&l, &t.root, 1, c);
    assert_true(l.of[LIMIT_CPUS].known && l.of[LIMIT_CPUS].cores == 0.5);
    assert_string_equal(l.of[LIMIT_CPUS].by, "cpu quota");
    assert_string_equal(l.of[LIMIT_CPUS].cgroup, "/a");
    assert_int_equal(l.of[LIMIT_MEMORY_BYTES].value, 1000000000);
    assert_string_equal(l.of[LIMIT_MEMORY_BYTES].cgroup, "/a");
    assert_true(l.of[LIMIT_SWAP_BYTES].known && l.of[LIMIT_SWAP_BYTES].value == 0);
    assert_int_equal(l.of[LIMIT_TASKS].value, 50);
    assert_int_equal(l.of[LIMIT_OPEN_FILES].value, 1024);
    assert_true(l.of[LIMIT_ADDRESS_BYTES].known && l.of[LIMIT_ADDRESS_BYTES].unlimited);
    assert_false(l.of[LIMIT_CPU_SECONDS].known);
    limits_done(&l);

    cgroup_write(&t, "a", "cpu.max", "max 100000\n", NULL);
    limits_read(&l, &t.root, 1, c);
    assert_true(l.of[LIMIT_CPUS].cores == 2);
    assert_string_equal(l.of[LIMIT_CPUS].by, "cpuset");
    limits_done(&l);
    cgroup_close(c);
    cgroup_tree_close(&t);
}

static void test_affinity(void **state)
{
    struct cgroup_tree t;
    struct limits l;
    cgroup_tree_open(&t, "", "");
    tree_write(&t.tree, "proc/stat", "cpu  1 2 3\ncpu0 1\ncpu1 1\ncpu5 1\nintr 5\n");
    tree_write(&t.tree, "proc/1/status", "Name:\tx\nCpus_allowed_list:\t0-127\n");
    limits_read(&l, &t.root, 1, NULL);
    assert_true(l.of[LIMIT_CPUS].cores == 3);
    assert_string_equal(l.of[LIMIT_CPUS].by, "machine");
    limits_done(&l);
    tree_write(&t.tree, "proc/1/status", "Name:\tx\nCpus_allowed_list:\t1-2\n");
    limits_read(&l, &t.root, 1, NULL);
    assert_true(l.of[LIMIT_CPUS].cores == 1);
    assert_string_equal(l.of[LIMIT_CPUS].by, "affinity");
    limits_done(&l);
    cgroup_tree_close(&t);
}

static void test_nothing_to_read(void **state)
{
    struct cgroup_tree t;
    struct limits l;
    cgroup_tree_open(&t, "", "");
    limits_read(&l, &t.root, 7, NULL);
    for (unsigned i = 0; i < LIMITS; i++)
        assert_false(l.of[i].known);
    limits_done(&l);
    cgroup_tree_close(&t);
}

static void test_live(void **state)
{
    struct sysroot root;
    struct limits l;
    assert_int_equal(sysroot_open(&root, NULL, NULL), 0);
    limits_read(&l, &root, 0, NULL);
    assert_true(l.of[LIMIT_CPUS].known && l.of[LIMIT_CPUS].cores >= 1);
    assert_true(l.of[LIMIT_CPUS].cores <= (double)sysconf(_SC_NPROCESSORS_ONLN));
    assert_true(l.of[LIMIT_MEMORY_BYTES].known && l.of[LIMIT_OPEN_FILES].known);
    limits_done(&l);
    sysroot_close(&root);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_of_a_cgroup),
        cmocka_unit_test(test_affinity),
        cmocka_unit_test(test_nothing_to_read),
        cmocka_unit_test(test_live),
    };
    return RUN("limits_read", tests);
}
