/* SPDX-License-Identifier: MIT */
#include "source/kernel_file.h"

#include "base/util.h"
#include "tree.h"

static int open_tree(struct tree *t)
{
    tree_make(t);
    int dir = open(t->path, O_RDONLY | O_DIRECTORY);
    assert_true(dir >= 0);
    return dir;
}

static void test_a_kept_file_is_read_again(void **state)
{
    struct tree t;
    int dir = open_tree(&t);
    struct kernel_file f = KERNEL_FILE_NONE;
    struct scan text;
    tree_write(&t, "stat", "one\n");
    unsigned fds = tree_open_fds();
    assert_int_equal(kernel_file_read(&f, dir, "stat", true, &text), 0);
    assert_int_equal(tree_open_fds(), fds + 1);
    tree_write(&t, "stat", "three\n");
    assert_int_equal(kernel_file_read(&f, dir, "stat", true, &text), 0);
    assert_int_equal(text.end - text.at, 6);
    assert_memory_equal(text.at, "three\n", 6);
    kernel_file_done(&f);
    assert_int_equal(tree_open_fds(), fds);
    close(dir);
    tree_remove(&t);
}

static void test_nothing_is_kept_of_a_recorded_tree(void **state)
{
    struct tree t;
    int dir = open_tree(&t);
    struct kernel_file f = KERNEL_FILE_NONE;
    struct scan text;
    tree_write(&t, "stat", "one\n");
    unsigned fds = tree_open_fds();
    assert_int_equal(kernel_file_read(&f, dir, "stat", false, &text), 0);
    assert_int_equal(tree_open_fds(), fds);
    tree_unlink(&t, "stat");
    assert_int_equal(kernel_file_read(&f, dir, "stat", false, &text), -ENOENT);
    kernel_file_done(&f);
    kernel_file_done(&f);
    close(dir);
    tree_remove(&t);
}

static void test_long_text(void **state)
{
    enum { LENGTH = 200000 };
    struct tree t;
    int dir = open_tree(&t);
    struct kernel_file f = KERNEL_FILE_NONE;
    struct scan text;
    char *written = malloc(LENGTH + 1);
    assert_non_null(written);
    for (size_t i = 0; i < LENGTH; i++)
        written[i] = (char)('a' + i % 23);
    written[LENGTH] = '\0';
    tree_write(&t, "stat", written);
    assert_int_equal(kernel_file_read(&f, dir, "stat", true, &text), 0);
    assert_int_equal(text.end - text.at, LENGTH);
    assert_memory_equal(text.at, written, LENGTH);
    const char *room = f.text.data;
    assert_int_equal(kernel_file_read(&f, dir, "stat", true, &text), 0);
    assert_ptr_equal(f.text.data, room); /* it fits from now on */
    kernel_file_done(&f);
    free(written);
    close(dir);
    tree_remove(&t);
}

static void test_a_file_that_cannot_be_read(void **state)
{
    struct tree t;
    int dir = open_tree(&t);
    struct kernel_file f = KERNEL_FILE_NONE;
    struct scan text;
    tree_write(&t, "directory/file", "");
    unsigned fds = tree_open_fds();
    assert_int_equal(kernel_file_read(&f, dir, "directory", true, &text), -EISDIR);
    assert_int_equal(tree_open_fds(), fds);
    assert_int_equal(kernel_file_read(&f, dir, "directory/file", true, &text), 0);
    assert_true(scan_done(&text));
    kernel_file_done(&f);
    close(dir);
    tree_remove(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_kept_file_is_read_again),
        cmocka_unit_test(test_nothing_is_kept_of_a_recorded_tree),
        cmocka_unit_test(test_long_text),
        cmocka_unit_test(test_a_file_that_cannot_be_read),
    };
    return RUN("kernel_file", tests);
}
