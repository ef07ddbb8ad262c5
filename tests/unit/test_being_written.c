/* SPDX-License-Identifier: MIT */
#include "record/reader.h"

#include "tree.h"

#include <limits.h>

#include <sys/file.h>
#include <sys/utsname.h>

static void test_lines(void **state)
{
    struct tree t;
    char path[512];
    int ends[2];
    tree_make(&t);
    tree_write(&t, "run.jsonl", "{}\n");
    tree_path(&t, path, "run.jsonl");
    int fd = open(path, O_RDONLY | O_CLOEXEC), writer = open(path, O_WRONLY | O_CLOEXEC);
    assert_int_equal(being_written_lines(fd), WRITER_GONE);
    assert_int_equal(flock(writer, LOCK_EX), 0);
    assert_int_equal(being_written_lines(fd), WRITER_THERE);
    close(writer);
    assert_int_equal(being_written_lines(fd), WRITER_GONE);
    close(fd);
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    assert_int_equal(being_written_lines(ends[0]), WRITER_GONE);
    close(ends[0]);
    close(ends[1]);
    tree_remove(&t);
}

static void test_tables(void **state)
{
    struct tree t;
    struct run run = {.own_pid = getpid()};
    struct utsname u;
    char path[512];
    tree_make(&t);
    tree_write(&t, "runs.db", "");
    tree_path(&t, path, "runs.db");
    assert_int_equal(uname(&u), 0);
    snprintf(run.host, sizeof run.host, "%s", u.nodename);
    assert_int_equal(being_written_tables(path, &run), WRITER_GONE); /* it has it not open */
    int fd = open(path, O_PATH | O_CLOEXEC);
    assert_int_equal(being_written_tables(path, &run), WRITER_THERE);
    run.own_pid = INT_MAX; /* there is no such process */
    assert_int_equal(being_written_tables(path, &run), WRITER_GONE);
    run.own_pid = 0;
    assert_int_equal(being_written_tables(path, &run), WRITER_UNKNOWN);
    run.own_pid = getpid();
    snprintf(run.host, sizeof run.host, "another machine");
    assert_int_equal(being_written_tables(path, &run), WRITER_UNKNOWN);
    close(fd);
    tree_remove(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lines),
        cmocka_unit_test(test_tables),
    };
    return RUN("being_written", tests);
}
