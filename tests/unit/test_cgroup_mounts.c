/* SPDX-License-Identifier: MIT */
#include "source/cgroup/place.h"

#include "cgroup_tree.h"

static void test_read(void **state)
{
    struct cgroup_tree t;
    struct cgroup_mounts m;
    cgroup_tree_open(&t, "garbage\n" V2_MOUNT "9 8 0:9 /a\\040b /x rw - cgroup c rw,cpu\n", "");
    assert_int_equal(cgroup_mounts_read(&m, &t.root), 0);
    assert_int_equal(m.count, 2);
    assert_true(m.list[0].v2 && !m.list[1].v2);
    assert_string_equal(m.list[1].root, "/a b");
    assert_string_equal(m.list[1].options, "rw,cpu");
    cgroup_mounts_done(&m);
    tree_unlink(&t.tree, "proc/self/mountinfo");
    assert_int_equal(cgroup_mounts_read(&m, &t.root), -ENOENT);
    cgroup_tree_close(&t);
}

/* Other filesystems, lines that are cut, and paths that are none. */
static void test_passed_over(void **state)
{
    struct cgroup_tree t;
    struct cgroup_mounts m;
    cgroup_tree_open(&t,
                     "31 23 0:28 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755\n"
                     "25 18 0:23 / /dev/shm rw - cgroupish none rw\n"
                     "31 23 0:28 / /x rw - cgroup\n"
                     "31 23 0:28 / /x rw - cgroup cgroup\n"
                     "31 23 0:28 x /x rw - cgroup cgroup rw\n"
                     "31 23 0:28 / x rw - cgroup cgroup rw\n"
                     "31 23 0:28 /\\000 /x rw - cgroup cgroup rw\n"
                     "33 31 0:30 / /sys/fs/cgroup/cpu,cpuacct rw shared:9 master:1 - cgroup cgroup "
                     "rw,cpu,cpuacct\n"
                     "31 23 0:28 / /x rw - cgroup cgroup rw,cp",
                     "");
    assert_int_equal(cgroup_mounts_read(&m, &t.root), 0);
    assert_int_equal(m.count, 1);
    assert_string_equal(m.list[0].point, "/sys/fs/cgroup/cpu,cpuacct");
    assert_string_equal(m.list[0].options, "rw,cpu,cpuacct");
    cgroup_mounts_done(&m);
    cgroup_tree_close(&t);
}

static void test_below(void **state)
{
    assert_string_equal(cgroup_path_below("/a/x", "/a"), "/x");
    assert_string_equal(cgroup_path_below("/a", "/a"), "");
    assert_string_equal(cgroup_path_below("/a", "/"), "/a");
    assert_string_equal(cgroup_path_below("/", "/"), "");
    assert_null(cgroup_path_below("/ab", "/a"));
    assert_null(cgroup_path_below("/", "/a"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_read),
        cmocka_unit_test(test_passed_over),
        cmocka_unit_test(test_below),
    };
    return RUN("cgroup_mounts", tests);
}
