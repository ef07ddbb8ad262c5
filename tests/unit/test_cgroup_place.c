/* SPDX-License-Identifier: MIT */
#include "source/cgroup/place.h"

#include "cgroup_tree.h"

static void test_container(void **state)
{
    struct cgroup_tree t;
    struct cgroup_places p;
    cgroup_tree_open(&t, "24 18 0:22 /docker/abc /sys/fs/cgroup ro - cgroup2 cgroup rw\n",
                     "0::/docker/abc\n");
    cgroup_write(&t, ".", "cgroup.procs", "1\n", "cgroup.events", "populated 1\n", NULL);
    cgroup_write(&t, "in", "cgroup.procs", "2\n", "cgroup.events", "populated 1\n", NULL);
    assert_int_equal(cgroup_places_of_pid(&p, &t.root, 1), 0);
    const struct cgroup_place *main = cgroup_place_main(&p);
    assert_string_equal(main->path, "/docker/abc");
    assert_string_equal(main->directory, "sys/fs/cgroup");
    assert_false(main->is_root || main->sees_root);
    assert_ptr_equal(cgroup_place_for(&p, CGROUP_MEMORY), &p.at[CGROUP_UNIFIED]);
    cgroup_places_done(&p);
    /* As the kernel has it, as it is seen in the container, and as a directory. */
    static const char *const names[] = {"/docker/abc/in", "/in", "in/", "/sys/fs/cgroup/in"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        assert_int_equal(cgroup_places_of_path(&p, &t.root, names[i], NULL), 0);
        assert_string_equal(cgroup_place_main(&p)->directory, "sys/fs/cgroup/in");
        assert_string_equal(cgroup_place_main(&p)->path, "/docker/abc/in");
        cgroup_places_done(&p);
    }
    cgroup_tree_close(&t);
}

/* In a namespace of its own a container is at "/", and not at the root of the machine. */
static void test_namespace(void **state)
{
    struct cgroup_tree t;
    struct cgroup_places p;
    cgroup_tree_open(&t, V2_MOUNT, "0::/\n");
    cgroup_write(&t, ".", "cgroup.procs", "1\n", "cgroup.events", "populated 1\n", NULL);
    assert_int_equal(cgroup_places_of_pid(&p, &t.root, 1), 0);
    assert_false(cgroup_place_main(&p)->is_root);
    cgroup_places_done(&p);
    cgroup_tree_close(&t);
}

static void check_none(const char *mounts, const char *cgroup)
{
    struct cgroup_tree t;
    struct cgroup_places p;
    cgroup_tree_open(&t, mounts, cgroup);
    cgroup_write(&t, ".", "cgroup.procs", "1\n", NULL);
    cgroup_write(&t, "x", "no_cgroup", "", NULL);
    assert_int_equal(cgroup_places_of_pid(&p, &t.root, 1), -ENOENT);
    assert_int_equal(cgroup_places_of_pid(&p, &t.root, 2), -ENOENT);
    cgroup_tree_close(&t);
}

static void test_not_to_be_had(void **state)
{
    check_none(V2_MOUNT, "0::/../x\n");
    check_none(V2_MOUNT, "0::/gone (deleted)\n");
    check_none(V2_MOUNT, "0::/missing\n");
    check_none(V2_MOUNT, "0::/x\n");
    check_none(V2_MOUNT, "4:memory:/\n");
    check_none(V2_MOUNT, "garbage\n");
    check_none(V2_MOUNT, "");
    check_none("", "0::/\n");
    check_none("garbage\n", "0::/\n");
    check_none("24 18 0:22 /docker/abc /sys/fs/cgroup ro - cgroup2 c rw\n", "0::/docker/abcd\n");
}

static void test_v1(void **state)
{
    struct cgroup_tree t;
    struct cgroup_places p;
    cgroup_tree_v1(&t);
    assert_int_equal(cgroup_places_of_pid(&p, &t.root, 1), 0);
    assert_string_equal(p.at[CGROUP_MEMORY].directory, "sys/fs/cgroup/memory/job");
    assert_true(p.at[CGROUP_CPUACCT].is_root && p.at[CGROUP_UNIFIED].is_root);
    assert_null(cgroup_place_for(&p, CGROUP_CPUACCT));
    assert_string_equal(cgroup_place_deepest(&p)->directory, "sys/fs/cgroup/memory/job");
    cgroup_places_done(&p);
    /* Named by one directory, it is found in all hierarchies. */
    assert_int_equal(cgroup_places_of_path(&p, &t.root, "/sys/fs/cgroup/cpu/job", NULL), 0);
    assert_string_equal(p.at[CGROUP_MEMORY].directory, "sys/fs/cgroup/memory/job");
    assert_string_equal(p.at[CGROUP_PIDS].directory, "sys/fs/cgroup/pids/job");
    assert_null(p.at[CGROUP_CPUACCT].directory);
    cgroup_places_done(&p);
    cgroup_tree_close(&t);
}

static void test_sentences(void **state)
{
    static const struct {
        const char *path;
        int code;
        const char *words;
    } cases[] = {
        {"/nope", -ENOENT, "there is no cgroup /nope"},
        {"/proc/self", -EINVAL, "/proc/self is no cgroup"},
        {"", -EINVAL, "is no path of a cgroup"},
        {"/a/../b", -EINVAL, "has .. in it"},
    };
    struct cgroup_tree t;
    struct cgroup_places p;
    cgroup_tree_v2(&t);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct toll_error e = {0};
        assert_int_equal(cgroup_places_of_path(&p, &t.root, cases[i].path, &e), cases[i].code);
        assert_non_null(strstr(e.message, cases[i].words));
    }
    tree_write(&t.tree, "proc/self/mountinfo", "");
    struct toll_error e = {0};
    assert_int_equal(cgroup_places_of_path(&p, &t.root, "/a", &e), -ENOENT);
    assert_non_null(strstr(e.message, "no cgroup hierarchy is mounted"));
    cgroup_tree_close(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_container),     cmocka_unit_test(test_namespace),
        cmocka_unit_test(test_not_to_be_had), cmocka_unit_test(test_v1),
        cmocka_unit_test(test_sentences),
    };
    return RUN("cgroup_place", tests);
}
