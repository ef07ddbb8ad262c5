/* SPDX-License-Identifier: MIT */
#include "base/io/file.h"

#include "tree.h"

#include <fcntl.h>

/* A descriptor of a file with that text. */
static int file_with(struct tree *t, const char *text, size_t length)
{
    char path[512];
    int fd = open(tree_path(t, path, "lines"), O_RDWR | O_CREAT | O_TRUNC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, length), length);
    assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
    return fd;
}

static void expect_line(struct line_reader *l, const char *text, bool is_whole)
{
    const char *line;
    size_t length;
    bool whole;
    assert_int_equal(line_reader_next(l, &line, &length, &whole), 1);
    assert_int_equal(length, strlen(text));
    assert_memory_equal(line, text, length);
    assert_int_equal(whole, is_whole);
}

static void expect_end(struct line_reader *l, int result)
{
    const char *line;
    size_t length;
    bool whole;
    assert_int_equal(line_reader_next(l, &line, &length, &whole), result);
}

static void test_lines(void **state)
{
    struct tree t;
    struct line_reader l;
    tree_make(&t);
    int fd = file_with(&t, "one\n\nthree\nhalf", 15);
    line_reader_init(&l, fd, 100);
    expect_line(&l, "one", true);
    expect_line(&l, "", true);
    expect_line(&l, "three", true);
    assert_int_equal(l.number, 3);
    expect_line(&l, "half", false);
    expect_end(&l, 0);
    expect_end(&l, 0);
    line_reader_done(&l);
    close(fd);
    tree_remove(&t);
}

static void test_nothing(void **state)
{
    struct tree t;
    struct line_reader l;
    tree_make(&t);
    int fd = file_with(&t, "", 0);
    line_reader_init(&l, fd, 100);
    expect_end(&l, 0);
    line_reader_done(&l);
    close(fd);
    line_reader_init(&l, -1, 100);
    expect_end(&l, -EBADF);
    line_reader_done(&l);
    tree_remove(&t);
}

static void test_too_long(void **state)
{
    struct tree t;
    struct line_reader l;
    tree_make(&t);
    int fd = file_with(&t, "12345\n123456\n", 13);
    line_reader_init(&l, fd, 5);
    expect_line(&l, "12345", true);
    expect_end(&l, -EMSGSIZE);
    line_reader_done(&l);
    close(fd);
    tree_remove(&t);
}

/* Longer than a block, and many of all lengths: none is lost. */
static void test_many(void **state)
{
    struct tree t;
    struct line_reader l;
    struct buf text = {0};
    uint64_t seed = 3;
    size_t lengths[400];
    tree_make(&t);
    for (size_t i = 0; i < 400; i++) {
        lengths[i] = i == 200 ? 1500000 : random_below(&seed, 5000);
        for (size_t k = 0; k < lengths[i]; k++)
            buf_putc(&text, (char)('a' + i % 26));
        buf_putc(&text, '\n');
    }
    int fd = file_with(&t, text.data, text.length);
    line_reader_init(&l, fd, 2000000);
    for (size_t i = 0; i < 400; i++) {
        const char *line;
        size_t length;
        bool whole;
        assert_int_equal(line_reader_next(&l, &line, &length, &whole), 1);
        assert_int_equal(length, lengths[i]);
        assert_true(whole);
        for (size_t k = 0; k < length; k++)
            assert_true(line[k] == (char)('a' + i % 26));
    }
    expect_end(&l, 0);
    line_reader_done(&l);
    buf_done(&text);
    close(fd);
    tree_remove(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lines),
        cmocka_unit_test(test_nothing),
        cmocka_unit_test(test_too_long),
        cmocka_unit_test(test_many),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
