/* SPDX-License-Identifier: MIT */
#include "base/io/file.h"

#include "base/util.h"
#include "tree.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>

static int file_with(const char *text)
{
    int fd = memfd_create("test_file", MFD_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(file_write_all(fd, text, strlen(text), NULL), 0);
    return fd;
}

static void test_reread(void **state)
{
    CLEANUP_CLOSE int fd = file_with("hello");
    char buf[16];
    for (int i = 0; i < 3; i++) {
        assert_int_equal(file_reread(fd, buf, sizeof buf), 5);
        assert_memory_equal(buf, "hello", 5);
    }
}

static void test_small_buffer(void **state)
{
    CLEANUP_CLOSE int fd = file_with("hello");
    char *buf = exact_copy("xyz", 3);
    assert_int_equal(file_reread(fd, buf, 3), 3);
    assert_memory_equal(buf, "hel", 3);
    assert_int_equal(file_reread(fd, buf, 0), 0);
    free(buf);
}

static void test_reread_bad_descriptor(void **state)
{
    char buf[4];
    assert_int_equal(file_reread(-1, buf, sizeof buf), -EBADF);
}

static void test_read_at(void **state)
{
    CLEANUP_CLOSE int proc = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(proc >= 0);
    char buf[64];
    ssize_t n = file_read_at(proc, "self/comm", buf, sizeof buf);
    assert_true(n > 1);
    assert_int_equal(buf[n - 1], '\n');
    assert_int_equal(file_read_at(proc, "self/no such file", buf, sizeof buf), -ENOENT);
    assert_int_equal(file_read_at(AT_FDCWD, "/proc/self", buf, sizeof buf), -EISDIR);
}

static int open_stat_of(pid_t pid)
{
    char path[32];
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    return open(path, O_RDONLY | O_CLOEXEC);
}

static void test_kept_descriptor_of_a_dead_process(void **state)
{
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        pause();
        _exit(0);
    }
    CLEANUP_CLOSE int fd = open_stat_of(child);
    char buf[512];
    ssize_t alive = file_reread(fd, buf, sizeof buf);
    kill(child, SIGKILL);
    assert_int_equal(waitpid(child, NULL, 0), child);
    assert_true(alive > 0);
    assert_int_equal(file_reread(fd, buf, sizeof buf), -ESRCH);
}

/* A pipe takes less than is offered at a time. */
static void test_write_in_chunks(void **state)
{
    enum { BYTES = 1 << 20 };
    int ends[2];
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        close(ends[1]);
        static char buf[4099];
        size_t total = 0;
        for (ssize_t n; (n = read(ends[0], buf, sizeof buf)) > 0;)
            for (ssize_t i = 0; i < n; i++, total++)
                if (buf[i] != (char)(total % 251))
                    _exit(1);
        _exit(total == BYTES ? 0 : 2);
    }
    close(ends[0]);
    char *data = malloc(BYTES);
    for (size_t i = 0; i < BYTES; i++)
        data[i] = (char)(i % 251);
    assert_int_equal(file_write_all(ends[1], data, BYTES, NULL), 0);
    free(data);
    close(ends[1]);
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

static void test_write_to_a_full_disk(void **state)
{
    CLEANUP_CLOSE int fd = open("/dev/full", O_WRONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(file_write_all(fd, "x", 1, NULL), -ENOSPC);
    assert_int_equal(file_write_all(fd, "x", 0, NULL), 0);
    assert_int_equal(file_write_all(-1, "x", 1, NULL), -EBADF);
}

static void test_a_whole_file(void **state)
{
    enum { LENGTH = 20000 };
    struct tree t;
    struct buf text = {0};
    char *longer = malloc(LENGTH + 1);
    assert_non_null(longer);
    memset(longer, 'x', LENGTH);
    longer[LENGTH] = '\0';
    tree_make(&t);
    tree_write(&t, "long", longer);
    tree_write(&t, "short", "abc\n");
    tree_write(&t, "empty", "");
    int dir = open(t.path, O_RDONLY | O_DIRECTORY);
    assert_int_equal(file_read_whole_at(dir, "long", FILE_ANY_LINE, &text), 0);
    assert_int_equal(text.length, LENGTH);
    const char *memory = text.data;
    assert_int_equal(file_read_whole_at(dir, "short", 100, &text), 0);
    assert_int_equal(text.length, 4);
    assert_memory_equal(text.data, "abc\n", 4);
    assert_ptr_equal(text.data, memory);
    assert_int_equal(file_read_whole_at(dir, "empty", 100, &text), 0);
    assert_int_equal(text.length, 0);
    assert_int_equal(file_read_whole_at(dir, "not-there", 100, &text), -ENOENT);
    buf_done(&text);
    free(longer);
    close(dir);
    tree_remove(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_whole_file),
        cmocka_unit_test(test_reread),
        cmocka_unit_test(test_small_buffer),
        cmocka_unit_test(test_reread_bad_descriptor),
        cmocka_unit_test(test_read_at),
        cmocka_unit_test(test_kept_descriptor_of_a_dead_process),
        cmocka_unit_test(test_write_in_chunks),
        cmocka_unit_test(test_write_to_a_full_disk),
    };
    return RUN("file", tests);
}
