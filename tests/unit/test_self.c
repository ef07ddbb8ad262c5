/* SPDX-License-Identifier: MIT */
#include "source/proc/own.h"

#include "base/clock.h"
#include "tree.h"

static void test_live(void **state)
{
    struct sysroot root;
    struct row row;
    assert_int_equal(sysroot_open(&root, NULL, NULL), 0);
    row_init(&row, ENTITY_SELF);
    self_collect(&root, clock_own_cpu(), &row, false);
    assert_true(row_has(&row, self_cpu_seconds));
    assert_false(row_has(&row, self_memory_rss_bytes)); /* not asked for */
    uint64_t before = row_u64(&row, self_cpu_seconds);
    unsigned fds = tree_open_fds();
    self_collect(&root, clock_own_cpu(), &row, true);
    assert_int_equal(tree_open_fds(), fds);
    assert_true(row_u64(&row, self_cpu_seconds) >= before);
    assert_true(row_u64(&row, self_cpu_seconds) <= clock_own_cpu());
    uint64_t rss = row_u64(&row, self_memory_rss_bytes);
    assert_true(rss > 100000 && rss % (uint64_t)sysconf(_SC_PAGESIZE) == 0);
    sysroot_close(&root);
}

static void test_a_replay_costs_nothing(void **state)
{
    struct tree tree;
    struct sysroot root;
    struct row row;
    tree_make(&tree);
    tree_write(&tree, "proc/self/statm", "1 2 3 4 5 6 7\n");
    assert_int_equal(sysroot_open(&root, tree.path, NULL), 0);
    row_init(&row, ENTITY_SELF);
    self_collect(&root, 0, &row, true);
    assert_true(row.present == 0);
    sysroot_close(&root);
    tree_remove(&tree);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_live),
        cmocka_unit_test(test_a_replay_costs_nothing),
    };
    return RUN("self", tests);
}
