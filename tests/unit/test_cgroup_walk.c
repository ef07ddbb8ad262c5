/* SPDX-License-Identifier: MIT */
#include "source/cgroup/place.h"

#include "cgroup_tree.h"

static void count(void *arg, int dir)
{
    *(unsigned *)arg += faccessat(dir, "cgroup.procs", F_OK, 0) == 0;
}

static void test_all_below(void **state)
{
    struct cgroup_tree t;
    unsigned met = 0;
    cgroup_tree_v2(&t);
    unsigned fds = tree_open_fds();
    assert_int_equal(cgroup_walk(&t.root, "sys/fs/cgroup", count, &met), 0);
    assert_int_equal(met, 4);
    assert_int_equal(tree_open_fds(), fds);
    met = 0;
    assert_int_equal(cgroup_walk(&t.root, "sys/fs/cgroup/a/job/below", count, &met), 0);
    assert_int_equal(met, 1);
    assert_int_equal(cgroup_walk(&t.root, "sys/fs/cgroup/none", count, &met), -ENOENT);
    cgroup_tree_close(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_all_below)};
    return RUN("cgroup_walk", tests);
}
