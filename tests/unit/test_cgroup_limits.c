/* SPDX-License-Identifier: MIT */
#include "source/cgroup/cgroup.h"

#include "cgroup_tree.h"

static struct cgroup_limit limits[CGROUP_LIMIT_KINDS];

/* Reads into `limits`; the paths in it live until the tree's places are done. */
static void read_limits(struct cgroup_tree *t, struct cgroup_places *p, struct cgroup_limits *l)
{
    assert_int_equal(cgroup_places_of_pid(p, &t->root, 1), 0);
    assert_int_equal(cgroup_limits_init(l, p), 0);
    cgroup_limits_read(l, &t->root, limits);
}

static void end(struct cgroup_tree *t, struct cgroup_places *p, struct cgroup_limits *l)
{
    cgroup_limits_done(l);
    cgroup_places_done(p);
    cgroup_tree_close(t);
}

static void test_the_tightest_counts(void **state)
{
    struct cgroup_tree t;
    struct cgroup_places p;
    struct cgroup_limits l;
    cgroup_tree_v2(&t);
    read_limits(&t, &p, &l);
    assert_true(limits[CGROUP_LIMIT_MEMORY].known);
    assert_int_equal(limits[CGROUP_LIMIT_MEMORY].value, 1000000000);
    assert_string_equal(limits[CGROUP_LIMIT_MEMORY].path, "/a");
    assert_true(limits[CGROUP_LIMIT_CORES].cores == 0.5);
    assert_string_equal(limits[CGROUP_LIMIT_CORES].path, "/a");
    assert_int_equal(limits[CGROUP_LIMIT_TASKS].value, 50);
    assert_true(limits[CGROUP_LIMIT_SWAP].known && limits[CGROUP_LIMIT_SWAP].value == 0);
    assert_string_equal(limits[CGROUP_LIMIT_SWAP].path, "/a/job");
    end(&t, &p, &l);
}

static void test_no_limits(void **state)
{
    struct cgroup_tree t;
    struct cgroup_places p;
    struct cgroup_limits l;
    cgroup_tree_open(&t, V2_MOUNT, "0::/job\n");
    cgroup_write(&t, ".", "cgroup.procs", "900\n", "cpu.stat", "usage_usec 99\n", NULL);
    cgroup_write(&t, "job", "cgroup.procs", "", "cgroup.events", "", "memory.max", "max\n",
                 "cpu.max", "max 100000\n", "pids.max", "max\n", "memory.swap.max", "garbage",
                 NULL);
    read_limits(&t, &p, &l);
    for (unsigned i = 0; i < CGROUP_LIMIT_KINDS; i++) {
        assert_false(limits[i].known);
        assert_int_equal(limits[i].unlimited, i != CGROUP_LIMIT_SWAP); /* could not be read */
    }
    end(&t, &p, &l);
}

/* The limit of a container is set at what it sees as the top, or above. */
static void test_v1_container(void **state)
{
    struct cgroup_tree t;
    struct cgroup_places p;
    struct cgroup_limits l;
    cgroup_tree_open(&t, "35 31 0:32 /docker/abc /sys/fs/cgroup/memory rw - cgroup c rw,memory\n",
                     "4:memory:/docker/abc/in\n");
    cgroup_write(&t, "memory", "cgroup.procs", "", "memory.limit_in_bytes", "500\n", NULL);
    cgroup_write(&t, "memory/in", "cgroup.procs", "", "memory.limit_in_bytes",
                 "9223372036854771712\n", "memory.stat", "hierarchical_memory_limit 500\n", NULL);
    read_limits(&t, &p, &l);
    assert_int_equal(limits[CGROUP_LIMIT_MEMORY].value, 500);
    assert_string_equal(limits[CGROUP_LIMIT_MEMORY].path, "/docker/abc");
    cgroup_write(&t, "memory/in", "memory.stat", "hierarchical_memory_limit 400\n", NULL);
    cgroup_limits_read(&l, &t.root, limits);
    assert_int_equal(limits[CGROUP_LIMIT_MEMORY].value, 400);
    assert_null(limits[CGROUP_LIMIT_MEMORY].path);
    assert_false(limits[CGROUP_LIMIT_MEMORY].unlimited);
    /* Only the file that speaks for ancestors which are not seen can say that there is none. */
    cgroup_write(&t, "memory", "memory.limit_in_bytes", "9223372036854771712\n", NULL);
    cgroup_write(&t, "memory/in", "memory.stat", "hierarchical_memory_limit 9223372036854771712\n",
                 NULL);
    cgroup_limits_read(&l, &t.root, limits);
    assert_true(!limits[CGROUP_LIMIT_MEMORY].known && limits[CGROUP_LIMIT_MEMORY].unlimited);
    cgroup_write(&t, "memory/in", "memory.stat", "total_rss 0\n", NULL);
    cgroup_limits_read(&l, &t.root, limits);
    assert_true(!limits[CGROUP_LIMIT_MEMORY].known && !limits[CGROUP_LIMIT_MEMORY].unlimited);
    end(&t, &p, &l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_tightest_counts),
        cmocka_unit_test(test_no_limits),
        cmocka_unit_test(test_v1_container),
    };
    return RUN("cgroup_limits", tests);
}
