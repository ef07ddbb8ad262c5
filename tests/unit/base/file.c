/* SPDX-License-Identifier: MIT */
#include "base/io/file.h"
#include "base/util.h"
#include "tree.h"
#include "unit.h"

#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- file ----------------------------------------------------------------------------------- */

static int file_test_file_with(const char *text)
{
    int fd = memfd_create("test_file", MFD_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(file_write_all(fd, text, strlen(text), NULL), 0);
    return fd;
}

static void test_file_reread(void **state)
{
    CLEANUP_CLOSE int fd = file_test_file_with("hello");
    char buf[16];
    for (int i = 0; i < 3; i++) {
        assert_int_equal(file_reread(fd, buf, sizeof buf), 5);
        assert_memory_equal(buf, "hello", 5);
    }
}

static void test_file_small_buffer(void **state)
{
    CLEANUP_CLOSE int fd = file_test_file_with("hello");
    char *buf = exact_copy("xyz", 3);
    assert_int_equal(file_reread(fd, buf, 3), 3);
    assert_memory_equal(buf, "hel", 3);
    assert_int_equal(file_reread(fd, buf, 0), 0);
    free(buf);
}

static void test_file_reread_bad_descriptor(void **state)
{
    char buf[4];
    assert_int_equal(file_reread(-1, buf, sizeof buf), -EBADF);
}

static void test_file_read_at(void **state)
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

static void test_file_kept_descriptor_of_a_dead_process(void **state)
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
static void test_file_write_in_chunks(void **state)
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

static void test_file_write_to_a_full_disk(void **state)
{
    CLEANUP_CLOSE int fd = open("/dev/full", O_WRONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(file_write_all(fd, "x", 1, NULL), -ENOSPC);
    assert_int_equal(file_write_all(fd, "x", 0, NULL), 0);
    assert_int_equal(file_write_all(-1, "x", 1, NULL), -EBADF);
}

static void test_file_a_whole_file(void **state)
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

/* ---- line reader ---------------------------------------------------------------------------- */

/* A descriptor of a file with that text. */
static int line_reader_file_with(struct tree *t, const char *text, size_t length)
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

static void test_line_reader_lines(void **state)
{
    struct tree t;
    struct line_reader l;
    tree_make(&t);
    int fd = line_reader_file_with(&t, "one\n\nthree\nhalf", 15);
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

static void test_line_reader_nothing(void **state)
{
    struct tree t;
    struct line_reader l;
    tree_make(&t);
    int fd = line_reader_file_with(&t, "", 0);
    line_reader_init(&l, fd, 100);
    expect_end(&l, 0);
    line_reader_done(&l);
    close(fd);
    line_reader_init(&l, -1, 100);
    expect_end(&l, -EBADF);
    line_reader_done(&l);
    tree_remove(&t);
}

static void test_line_reader_too_long(void **state)
{
    struct tree t;
    struct line_reader l;
    tree_make(&t);
    int fd = line_reader_file_with(&t, "12345\n123456\n", 13);
    line_reader_init(&l, fd, 5);
    expect_line(&l, "12345", true);
    expect_end(&l, -EMSGSIZE);
    line_reader_done(&l);
    close(fd);
    tree_remove(&t);
}

/* Longer than a block, and many of all lengths: none is lost. */
static void test_line_reader_many(void **state)
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
    int fd = line_reader_file_with(&t, text.data, text.length);
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

/* ---- sysroot -------------------------------------------------------------------------------- */

static void test_sysroot_live(void **state)
{
    static const char *const paths[] = {NULL, "/"};
    for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
        struct sysroot root;
        assert_int_equal(sysroot_open(&root, paths[i], NULL), 0);
        assert_true(root.live);
        assert_true(fcntl(root.proc, F_GETFD) & FD_CLOEXEC);
        char buf[64];
        assert_true(file_read_at(root.proc, "self/comm", buf, sizeof buf) > 0);
        sysroot_close(&root);
        assert_int_equal(root.proc, -1);
        sysroot_close(&root);
    }
}

static void test_sysroot_the_rest_later(void **state)
{
    struct sysroot root;
    assert_int_equal(sysroot_open_proc(&root, NULL), 0);
    assert_true(root.live && root.proc >= 0);
    assert_true(root.sys < 0 && root.root < 0);
    sysroot_open_rest(&root);
    assert_true(fcntl(root.root, F_GETFD) & FD_CLOEXEC);
    char buf[64];
    assert_true(file_read_at(root.root, "proc/self/comm", buf, sizeof buf) > 0);
    int before[] = {root.root, root.sys};
    sysroot_open_rest(&root); /* it has it */
    assert_int_equal(root.root, before[0]);
    assert_int_equal(root.sys, before[1]);
    sysroot_close(&root);
    assert_int_equal(root.root, -1);
}

static void test_sysroot_recorded(void **state)
{
    char dir[] = "/tmp/test_sysroot.XXXXXX";
    char path[64];
    assert_non_null(mkdtemp(dir));
    snprintf(path, sizeof path, "%s/proc", dir);
    assert_int_equal(mkdir(path, 0700), 0);
    snprintf(path, sizeof path, "%s/proc/loadavg", dir);
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(file_write_all(fd, "recorded", 8, NULL), 0);
    close(fd);

    struct sysroot root;
    assert_int_equal(sysroot_open(&root, dir, NULL), 0);
    assert_false(root.live);
    char buf[64];
    assert_int_equal(file_read_at(root.proc, "loadavg", buf, sizeof buf), 8);
    assert_memory_equal(buf, "recorded", 8);
    sysroot_close(&root);

    unlink(path);
    snprintf(path, sizeof path, "%s/proc", dir);
    rmdir(path);
    rmdir(dir);
}

static void test_sysroot_missing(void **state)
{
    struct toll_error e = {0};
    struct sysroot root = SYSROOT_NONE;
    assert_int_equal(sysroot_open(&root, "/nowhere/at/all", &e), -ENOENT);
    assert_int_equal(e.code, -ENOENT);
    assert_non_null(strstr(e.message, "/nowhere/at/all/proc"));
    assert_int_equal(root.proc, -1);
    assert_int_equal(sysroot_open(&root, "/dev/null", NULL), -ENOTDIR);
}

static void test_sysroot_path_too_long(void **state)
{
    char path[PATH_MAX + 10];
    memset(path, 'x', sizeof path - 1);
    path[sizeof path - 1] = '\0';
    struct toll_error e = {0};
    struct sysroot root = SYSROOT_NONE;
    assert_int_equal(sysroot_open(&root, path, &e), -ENAMETOOLONG);
    assert_int_equal(root.proc, -1);
}

static void test_sysroot_copy(void **state)
{
    struct sysroot s, copy;
    assert_int_equal(sysroot_open(&s, NULL, NULL), 0);
    sysroot_copy(&copy, &s);
    assert_true(copy.live && copy.proc != s.proc);
    sysroot_close(&s);
    assert_int_equal(faccessat(copy.proc, "self/stat", F_OK, 0), 0);
    sysroot_close(&copy);
    s = SYSROOT_NONE;
    sysroot_copy(&copy, &s);
    assert_int_equal(copy.proc, -1);
}

/* ---- open files ----------------------------------------------------------------------------- */

static bool is_inherited(int fd)
{
    return !(fcntl(fd, F_GETFD) & FD_CLOEXEC);
}

static void test_open_files_new_ones_are_hidden(void **state)
{
    struct open_files before = {0};
    int old = open("/dev/null", O_RDONLY), old_hidden = open("/dev/null", O_RDONLY | O_CLOEXEC);
    open_files_note(&before);
    int new = open("/dev/null", O_RDONLY);
    open_files_hide_new(&before);
    assert_true(is_inherited(old));
    assert_false(is_inherited(old_hidden));
    assert_false(is_inherited(new));
    assert_true(is_inherited(STDERR_FILENO));
    open_files_note(&before); /* anew */
    int another = open("/dev/null", O_RDONLY);
    open_files_hide_new(&before);
    assert_false(is_inherited(another));
    close(old), close(old_hidden), close(new), close(another);
    open_files_done(&before);
    open_files_done(&before);
}

static void test_open_files_without_a_list_nothing_is(void **state)
{
    struct open_files none = {0};
    int fd = open("/dev/null", O_RDONLY);
    open_files_hide_new(&none);
    assert_true(is_inherited(fd));
    close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_file_a_whole_file),
        cmocka_unit_test(test_file_reread),
        cmocka_unit_test(test_file_small_buffer),
        cmocka_unit_test(test_file_reread_bad_descriptor),
        cmocka_unit_test(test_file_read_at),
        cmocka_unit_test(test_file_kept_descriptor_of_a_dead_process),
        cmocka_unit_test(test_file_write_in_chunks),
        cmocka_unit_test(test_file_write_to_a_full_disk),
        cmocka_unit_test(test_line_reader_lines),
        cmocka_unit_test(test_line_reader_nothing),
        cmocka_unit_test(test_line_reader_too_long),
        cmocka_unit_test(test_line_reader_many),
        cmocka_unit_test(test_sysroot_copy),
        cmocka_unit_test(test_sysroot_live),
        cmocka_unit_test(test_sysroot_the_rest_later),
        cmocka_unit_test(test_sysroot_recorded),
        cmocka_unit_test(test_sysroot_missing),
        cmocka_unit_test(test_sysroot_path_too_long),
        cmocka_unit_test(test_open_files_new_ones_are_hidden),
        cmocka_unit_test(test_open_files_without_a_list_nothing_is),
    };
    return RUN("base/file", tests);
}
