/* SPDX-License-Identifier: MIT */
#include "source/cgroup/limits.h"

#include "base/clock.h"
#include "tree.h"

static void test_recorded(void **state)
{
    struct tree tree;
    struct sysroot root;
    tree_make(&tree);
    tree_write(&tree, "proc/version", "Linux\n");
    tree_write(&tree, "dev/kmsg", "3,0,5,-;Out of memory: Killed process 5 (x)\n");
    assert_int_equal(sysroot_open(&root, tree.path, NULL), 0);
    assert_int_equal(kernel_log_killed(&root, 5, 0), KERNEL_LOG_UNKNOWN);
    sysroot_close(&root);
    tree_remove(&tree);
}

/* We are alive, so nobody killed us; where the log may not be read, that is not known. */
static void test_live(void **state)
{
    struct sysroot root;
    assert_int_equal(sysroot_open(&root, NULL, NULL), 0);
    unsigned fds = tree_open_fds();
    assert_true(kernel_log_killed(&root, getpid(), clock_mono(NULL)) != KERNEL_LOG_YES);
    assert_int_equal(tree_open_fds(), fds);
    sysroot_close(&root);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_recorded),
        cmocka_unit_test(test_live),
    };
    return RUN("kernel_log", tests);
}
