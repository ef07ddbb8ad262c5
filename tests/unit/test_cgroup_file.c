/* SPDX-License-Identifier: MIT */
#include "source/cgroup/cgroup.h"

#include "cgroup_tree.h"

static void check(bool live)
{
    struct cgroup_tree t;
    struct cgroup_file f = CGROUP_FILE_CLOSED, missing = CGROUP_FILE_CLOSED;
    char text[16];
    cgroup_tree_open(&t, "", "");
    t.root.live = live;
    cgroup_write(&t, "job", "value", "1\n", NULL);
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(
            cgroup_file_read(&f, &t.root, "sys/fs/cgroup/job", "value", text, sizeof text), 2);
        assert_int_equal(f.fd >= 0, live);
        assert_int_equal(
            cgroup_file_read(&missing, &t.root, "sys/fs/cgroup/job", "none", text, sizeof text),
            -ENOENT);
        assert_int_equal(missing.refused, live ? -ENOENT : 0);
    }
    cgroup_file_close(&f);
    assert_int_equal(f.fd, -1);
    cgroup_tree_close(&t);
}

static void test_kept_on_the_running_machine(void **state)
{
    check(true);
}

static void test_not_kept_in_a_recorded_tree(void **state)
{
    check(false);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kept_on_the_running_machine),
        cmocka_unit_test(test_not_kept_in_a_recorded_tree),
    };
    return RUN("cgroup_file", tests);
}
