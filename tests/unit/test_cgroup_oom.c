/* SPDX-License-Identifier: MIT */
#include "source/cgroup/limits.h"

#include "cgroup_tree.h"

static void test_version_2_counts_all_below(void **state)
{
    struct cgroup_tree t;
    struct cgroup_oom o;
    struct cgroup_place place = {.directory = (char[]){"sys/fs/cgroup/a/job"}, .v2 = true};
    cgroup_tree_v2(&t);
    cgroup_oom_init(&o);
    assert_false(o.known);
    cgroup_oom_read(&o, &t.root, NULL);
    assert_false(o.known);
    cgroup_oom_read(&o, &t.root, &place);
    assert_true(o.known && o.kills == 4);
    cgroup_oom_done(&o);
    cgroup_tree_close(&t);
}

static void test_version_1_is_walked(void **state)
{
    struct cgroup_tree t;
    struct cgroup_oom o;
    struct cgroup_place place = {.directory = (char[]){"sys/fs/cgroup/memory/job"}};
    cgroup_tree_open(&t, "", "");
    cgroup_write(&t, "memory/job", "memory.oom_control", "under_oom 0\noom_kill 2\n", NULL);
    cgroup_write(&t, "memory/job/a", "memory.oom_control", "under_oom 0\noom_kill 3\n", NULL);
    cgroup_write(&t, "memory/job/a/b", "memory.oom_control", "garbage", NULL);
    cgroup_oom_init(&o);
    cgroup_oom_read(&o, &t.root, &place);
    assert_true(o.known && o.kills == 5);
    cgroup_oom_done(&o);
    cgroup_tree_close(&t);
}

static void test_what_is_gone_still_counts(void **state)
{
    struct cgroup_tree t;
    struct cgroup_oom o;
    struct cgroup_place place = {.directory = (char[]){"sys/fs/cgroup/memory/job"}};
    cgroup_tree_open(&t, "", "");
    cgroup_write(&t, "memory/job", "memory.oom_control", "oom_kill 7\n", NULL);
    cgroup_oom_init(&o);
    cgroup_oom_read(&o, &t.root, &place);
    cgroup_write(&t, "memory/job", "memory.oom_control", "oom_kill 1\n", NULL);
    cgroup_oom_read(&o, &t.root, &place);
    assert_true(o.kills == 7);
    place.directory = (char[]){"sys/fs/cgroup/memory/gone"};
    cgroup_oom_done(&o);
    cgroup_oom_read(&o, &t.root, &place);
    assert_true(o.known && o.kills == 7);
    cgroup_oom_note(&o, 9);
    assert_true(o.kills == 9);
    cgroup_tree_close(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_version_2_counts_all_below),
        cmocka_unit_test(test_version_1_is_walked),
        cmocka_unit_test(test_what_is_gone_still_counts),
    };
    return RUN("cgroup_oom", tests);
}
