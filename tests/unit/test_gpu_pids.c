/* SPDX-License-Identifier: MIT */
#include "source/gpu/pids.h"

#include "source/gpu/vendor.h"
#include "tree.h"

struct place {
    struct tree tree;
    struct sysroot root;
    struct gpu_pids pids;
};

static void add_link(struct place *p, const char *name, const char *target)
{
    char path[512];
    tree_path(&p->tree, path, name);
    tree_make_parents(path);
    assert_int_equal(symlink(target, path), 0);
}

static void place_make(struct place *p, const char *namespace)
{
    tree_make(&p->tree);
    tree_write(&p->tree, "proc/version", "Linux\n");
    if (namespace)
        add_link(p, "proc/self/ns/pid", namespace);
    assert_int_equal(sysroot_open(&p->root, p->tree.path, NULL), 0);
    gpu_pids_init(&p->pids, &p->root);
}

static void place_remove(struct place *p)
{
    gpu_pids_done(&p->pids);
    sysroot_close(&p->root);
    tree_remove(&p->tree);
}

static void test_on_the_machine_itself(void **state)
{
    struct place p;
    place_make(&p, "pid:[4026531836]");
    assert_false(p.pids.is_nested);
    assert_int_equal(gpu_pids_map(&p.pids, 4242), 4242); /* whether or not it is there */
    assert_int_equal(gpu_pids_map(&p.pids, 0), GPU_UNKNOWN_PID);
    assert_int_equal(gpu_pids_map(&p.pids, UINT32_MAX), GPU_UNKNOWN_PID);
    place_remove(&p);
    place_make(&p, NULL);
    assert_false(p.pids.is_nested);
    place_remove(&p);
}

static void test_by_namespaces(void **state)
{
    struct place p;
    const pid_t interest[] = {17, 20, 99};
    place_make(&p, "pid:[4026532201]");
    assert_true(p.pids.is_nested);
    tree_write(&p.tree, "proc/17/status", "Name:\ttrain\nNSpid:\t17\t4242\n");
    tree_write(&p.tree, "proc/20/status", "Name:\tsh\nNSpid:\t20\n");
    gpu_pids_begin(&p.pids, interest, 3, 10 * NS_PER_SECOND);
    assert_int_equal(gpu_pids_map(&p.pids, 4242), 17);
    assert_int_equal(gpu_pids_map(&p.pids, 20), GPU_UNKNOWN_PID); /* the machine has its own 20 */
    assert_int_equal(gpu_pids_map(&p.pids, 4243), GPU_UNKNOWN_PID);
    place_remove(&p);
}

/* Who comes is looked at: what was not to be found before may be theirs. */
static void test_new_process(void **state)
{
    struct place p;
    const pid_t interest[] = {17, 20};
    place_make(&p, "pid:[4026532201]");
    tree_write(&p.tree, "proc/20/status", "NSpid:\t20\t4242\n");
    gpu_pids_begin(&p.pids, interest, 1, 10 * NS_PER_SECOND);
    assert_int_equal(gpu_pids_map(&p.pids, 4242), GPU_UNKNOWN_PID);
    gpu_pids_begin(&p.pids, interest, 2, 10 * NS_PER_SECOND + NS_PER_MS);
    assert_int_equal(gpu_pids_map(&p.pids, 4242), 20);
    place_remove(&p);
}

static void test_two_of_the_same_pid(void **state)
{
    struct place p;
    const pid_t interest[] = {17, 18};
    place_make(&p, "pid:[4026532201]");
    tree_write(&p.tree, "proc/17/status", "NSpid:\t17\t5\n");
    tree_write(&p.tree, "proc/18/status", "NSpid:\t18\t5\n");
    gpu_pids_begin(&p.pids, interest, 2, NS_PER_SECOND);
    assert_int_equal(gpu_pids_map(&p.pids, 5), GPU_UNKNOWN_PID);
    place_remove(&p);
}

static void test_by_open_device(void **state)
{
    struct place p;
    place_make(&p, "pid:[4026532201]");
    add_link(&p, "proc/30/fd/0", "/dev/null");
    add_link(&p, "proc/30/fd/4", "/dev/nvidia0");
    add_link(&p, "proc/31/fd/4", "/dev/nv");
    gpu_pids_begin(&p.pids, NULL, 0, NS_PER_SECOND);
    assert_int_equal(gpu_pids_map(&p.pids, 30), 30);
    assert_int_equal(gpu_pids_map(&p.pids, 31), GPU_UNKNOWN_PID);
    assert_int_equal(gpu_pids_map(&p.pids, 32), GPU_UNKNOWN_PID);
    /* What was found out is asked again after a second. */
    add_link(&p, "proc/31/fd/5", "/dev/nvidiactl");
    gpu_pids_begin(&p.pids, NULL, 0, NS_PER_SECOND + NS_PER_MS);
    assert_int_equal(gpu_pids_map(&p.pids, 31), GPU_UNKNOWN_PID);
    gpu_pids_begin(&p.pids, NULL, 0, 2 * NS_PER_SECOND);
    assert_int_equal(gpu_pids_map(&p.pids, 31), 31);
    place_remove(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_on_the_machine_itself), cmocka_unit_test(test_by_namespaces),
        cmocka_unit_test(test_new_process),           cmocka_unit_test(test_two_of_the_same_pid),
        cmocka_unit_test(test_by_open_device),
    };
    return RUN("gpu_pids", tests);
}
