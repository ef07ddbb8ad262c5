/* SPDX-License-Identifier: MIT */
#include "base/io/file.h"

#include "base/util.h"
#include "unit.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>

static void test_live(void **state)
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

static void test_the_rest_later(void **state)
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

static void test_recorded(void **state)
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

static void test_missing(void **state)
{
    struct toll_error e = {0};
    struct sysroot root = SYSROOT_NONE;
    assert_int_equal(sysroot_open(&root, "/nowhere/at/all", &e), -ENOENT);
    assert_int_equal(e.code, -ENOENT);
    assert_non_null(strstr(e.message, "/nowhere/at/all/proc"));
    assert_int_equal(root.proc, -1);
    assert_int_equal(sysroot_open(&root, "/dev/null", NULL), -ENOTDIR);
}

static void test_path_too_long(void **state)
{
    char path[PATH_MAX + 10];
    memset(path, 'x', sizeof path - 1);
    path[sizeof path - 1] = '\0';
    struct toll_error e = {0};
    struct sysroot root = SYSROOT_NONE;
    assert_int_equal(sysroot_open(&root, path, &e), -ENAMETOOLONG);
    assert_int_equal(root.proc, -1);
}

static void test_copy(void **state)
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_copy),           cmocka_unit_test(test_live),
        cmocka_unit_test(test_the_rest_later), cmocka_unit_test(test_recorded),
        cmocka_unit_test(test_missing),        cmocka_unit_test(test_path_too_long),
    };
    return RUN("sysroot", tests);
}
