/* SPDX-License-Identifier: MIT */
#include "source/machine/load.h"

#include "base/io/file.h"
#include "base/text/scan.h"
#include "tree.h"

static void open_tree(struct tree *t, struct sysroot *root)
{
    tree_make(t);
    tree_write(t, "proc/sys/kernel/ostype", "Linux\n");
    tree_write(t, "proc/1/stat", "");
    tree_write(t, "proc/22/stat", "");
    tree_write(t, "proc/2nd", "");
    assert_int_equal(sysroot_open(root, t->path, NULL), 0);
}

static void test_recorded(void **state)
{
    struct tree t;
    struct sysroot root;
    struct process_census p = {0};
    uint64_t count;
    open_tree(&t, &root);
    assert_int_equal(process_census_take(&p, &root, &count), 0);
    assert_int_equal(count, 2);
    assert_false(p.by_links);
    sysroot_close(&root);
    tree_remove(&t);
}

/* An ordinary directory counts its links as /proc does, as far as the filesystem counts any. */
static void test_links_are_checked(void **state)
{
    struct tree t;
    struct sysroot root;
    struct process_census p = {0};
    uint64_t count;
    open_tree(&t, &root);
    root.live = true;
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(process_census_take(&p, &root, &count), 0);
        assert_int_equal(count, 2);
    }
    /* Links that are not explained by what is to be seen: they are counted no more. */
    p = (struct process_census){.by_links = true, .other_links = UINT64_MAX, .next_check_in = 1};
    assert_int_equal(process_census_take(&p, &root, &count), 0);
    assert_int_equal(count, 2);
    sysroot_close(&root);
    tree_remove(&t);
}

/* Mounted with hidepid=2, /proc shows an ordinary user his own processes. */
static void test_others_are_hidden(void **state)
{
    struct tree t;
    struct sysroot root;
    struct process_census p = {.next_check_in = 1};
    uint64_t count;
    tree_make(&t);
    tree_write(&t, "proc/22/stat", "");
    assert_int_equal(sysroot_open(&root, t.path, NULL), 0);
    root.live = true;
    assert_int_equal(process_census_take(&p, &root, &count), -ENODATA);
    sysroot_close(&root);
    tree_remove(&t);
}

static void test_no_process(void **state)
{
    struct tree t;
    struct sysroot root;
    struct process_census p = {0};
    uint64_t count = 7;
    tree_make(&t);
    tree_write(&t, "proc/version", "Linux\n");
    assert_int_equal(sysroot_open(&root, t.path, NULL), 0);
    assert_int_equal(process_census_take(&p, &root, &count), -ENODATA);
    assert_int_equal(count, 7);
    sysroot_close(&root);
    tree_remove(&t);
}

static void count_number(void *arg, const char *name)
{
    struct scan s = scan_string(name);
    uint64_t pid;
    *(uint64_t *)arg += scan_u64(&s, &pid);
}

/* Others start and end processes meanwhile: once it must agree with a count. */
static void test_live(void **state)
{
    struct sysroot root;
    struct process_census p = {0};
    bool agreed = false;
    assert_int_equal(sysroot_open(&root, NULL, NULL), 0);
    for (unsigned i = 0; i < 1000 && !agreed; i++) {
        uint64_t taken, counted = 0;
        assert_int_equal(process_census_take(&p, &root, &taken), 0);
        assert_int_equal(file_each_entry(root.proc, count_number, &counted), 0);
        agreed = taken == counted;
    }
    assert_true(agreed);
    sysroot_close(&root);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_recorded),
        cmocka_unit_test(test_links_are_checked),
        cmocka_unit_test(test_others_are_hidden),
        cmocka_unit_test(test_no_process),
        cmocka_unit_test(test_live),
    };
    return RUN("process_census", tests);
}
