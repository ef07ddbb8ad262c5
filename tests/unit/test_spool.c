/* SPDX-License-Identifier: MIT */
#include "sink/spool.h"

#include "unit.h"

#include <stdio.h>
#include <sys/stat.h>

static int count_ops(void *arg, const struct spool_op *op)
{
    unsigned *left = arg;
    return *left && --*left ? 0 : 1;
}

static void add(struct spool *s, size_t length)
{
    struct buf op = {0};
    char *body = calloc(1, length + 1);
    memset(body, 'x', length);
    spool_ops_add(&op, SPOOL_BATCH, "", body, length);
    assert_int_equal(spool_add(s, op.data, op.length, false), 0);
    buf_done(&op);
    free(body);
}

static void test_the_life_of_a_spool(void **state)
{
    char directory[] = "/tmp/toll-unit-XXXXXX", path[64];
    struct spool s, again;
    struct stat st;
    assert_non_null(mkdtemp(directory));
    setenv("XDG_STATE_HOME", directory, 1);
    snprintf(path, sizeof path, "%s/toll/mlflow-x.spool", directory);
    assert_int_equal(spool_init(&s, "mlflow", NULL, "x", NULL), 0);
    assert_string_equal(s.path, path);
    spool_ops_add(&s.head, SPOOL_HEAD, "mlflow", "", 0);
    assert_int_not_equal(stat(path, &st), 0); /* not before it is needed */
    assert_false(spool_has_some(&s));
    for (unsigned i = 0; i < 3; i++)
        add(&s, 10);
    add(&s, 3 << 20); /* larger than what is read at once */
    add(&s, 10);
    assert_true(spool_has_some(&s));
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0600);
    assert_int_equal(st.st_size, s.length);
    assert_int_equal(spool_open(&again, path), -EBUSY);
    unsigned left = 3; /* the third one stops it */
    assert_int_equal(spool_each(&s, &s.sent, count_ops, &left), 1);
    left = 100;
    assert_int_equal(spool_each(&s, &s.sent, count_ops, &left), 0);
    assert_int_equal(left, 100 - 3);
    assert_int_equal(s.sent, s.length);
    add(&s, 1);
    spool_done(&s); /* something is in it: it stays */
    assert_int_equal(spool_open(&s, path), 0);
    left = 100;
    uint64_t at = 0;
    assert_int_equal(spool_each(&s, &at, count_ops, &left), 0);
    assert_int_equal(left, 100 - 7);
    spool_remove(&s);
    assert_int_not_equal(stat(path, &st), 0);
    spool_done(&s);
    snprintf(path, sizeof path, "rm -r %s", directory);
    assert_int_equal(system(path), 0);
}

static void test_what_cannot_be(void **state)
{
    struct spool s;
    uint64_t at = 0;
    unsigned left = 100;
    char path[] = "/tmp/toll-unit-XXXXXX";
    assert_int_equal(spool_init(&s, "mlflow", "none", "x", NULL), 0);
    assert_int_equal(spool_add(&s, "x", 1, false), -ENOENT);
    spool_done(&s);
    int fd = mkstemp(path);
    assert_int_equal(write(fd, "batch - 5\nab", 12), 12);
    assert_int_equal(spool_open(&s, path), 0);
    assert_int_equal(spool_each(&s, &at, count_ops, &left), -EBADMSG);
    assert_int_equal(at, 0);
    spool_done(&s);
    close(fd);
    unlink(path);
    assert_int_equal(spool_open(&s, path), -ENOENT);
    assert_int_equal(spool_open(&s, "/dev/null"), -EBADMSG);
    assert_int_equal(spool_open(&s, "/tmp"), -EISDIR);
}

/* Neither written to nor a reason to lose anything. */
static void test_somebodys_file(void **state)
{
    struct spool s, again;
    struct stat st;
    char directory[] = "/tmp/toll-unit-XXXXXX", path[64], next[64];
    assert_non_null(mkdtemp(directory));
    snprintf(path, sizeof path, "%s/spool", directory);
    snprintf(next, sizeof next, "%s/spool.2", directory);
    assert_int_equal(symlink("/dev/null", path), 0);
    assert_int_equal(spool_init(&s, "mlflow", path, "x", NULL), 0);
    assert_int_equal(spool_init(&again, "mlflow", path, "x", NULL), 0);
    assert_int_equal(spool_add(&s, "x", 1, false), 0);
    assert_int_equal(spool_add(&again, "xy", 2, false), 0);
    assert_string_equal(again.path, next);
    assert_int_equal(stat(next, &st), 0);
    assert_int_equal(st.st_size, 2);
    spool_remove(&s);
    spool_remove(&again);
    spool_done(&s);
    spool_done(&again);
    unlink(path);
    assert_int_equal(rmdir(directory), 0);
}

static void expect_refused(const char *file, const char *word)
{
    struct spool s;
    struct toll_error e = {0};
    assert_int_equal(spool_init(&s, "mlflow", file, "x", &e), -EINVAL);
    assert_non_null(strstr(e.message, word));
    spool_done(&s);
}

/* Before anything runs, and nothing is made. */
static void test_a_place_that_cannot_be(void **state)
{
    struct stat st;
    char directory[] = "/tmp/toll-unit-XXXXXX", path[64];
    assert_non_null(mkdtemp(directory));
    snprintf(path, sizeof path, "%s/typo/spool", directory);
    expect_refused(path, "typo': No such file");
    expect_refused(directory, "is a directory");
    snprintf(path, sizeof path, "%s/typo/", directory);
    expect_refused(path, "is a directory");
    snprintf(path, sizeof path, "%s/typo", directory);
    assert_int_not_equal(stat(path, &st), 0);
    if (geteuid() != 0)
        expect_refused("/x", "'/': ");
    assert_int_equal(rmdir(directory), 0);
}

static void test_as_large_as_it_may_be(void **state)
{
    struct spool s;
    char path[] = "/tmp/toll-unit-XXXXXX";
    close(mkstemp(path));
    unlink(path);
    assert_int_equal(spool_init(&s, "mlflow", path, "x", NULL), 0);
    s.most_bytes = 100;
    char text[80] = {0};
    assert_int_equal(spool_add(&s, text, 80, false), 0);
    assert_int_equal(spool_add(&s, text, 20, false), 0);
    assert_int_equal(spool_add(&s, text, 1, false), -EFBIG);
    assert_int_equal(s.length, 100);
    assert_int_equal(spool_add(&s, text, 40, true), 0); /* the end of a run */
    assert_int_equal(s.length, 140);
    spool_remove(&s);
    spool_done(&s);
}

/* Where anybody can make a directory, one that somebody else can write to is none for us. */
static void test_a_directory_that_is_not_ours(void **state)
{
    struct spool s;
    char home[] = "/tmp/toll-unit-XXXXXX", path[64];
    assert_non_null(mkdtemp(home));
    snprintf(path, sizeof path, "%s/toll", home);
    setenv("XDG_STATE_HOME", home, 1);
    assert_int_equal(spool_init(&s, "mlflow", NULL, "x", NULL), 0);
    assert_int_equal(symlink("/tmp", path), 0);
    assert_int_equal(spool_add(&s, "x", 1, true), -EPERM);
    unlink(path);
    assert_int_equal(mkdir(path, 0700), 0);
    assert_int_equal(chmod(path, 0777), 0);
    assert_int_equal(spool_add(&s, "x", 1, true), -EPERM);
    assert_int_equal(chmod(path, 0700), 0);
    if (geteuid() == 0) {
        assert_int_equal(chown(path, 65534, 65534), 0);
        assert_int_equal(spool_add(&s, "x", 1, true), -EPERM);
        assert_int_equal(chown(path, 0, 0), 0);
    }
    assert_int_equal(spool_add(&s, "x", 1, true), 0);
    spool_remove(&s);
    spool_done(&s);
    rmdir(path);
    assert_int_equal(rmdir(home), 0);
}

static void test_where_it_is(void **state)
{
    struct spool s;
    setenv("XDG_STATE_HOME", "/state", 1);
    spool_init(&s, "mlflow", NULL, "ab", NULL);
    assert_string_equal(s.path, "/state/toll/mlflow-ab.spool");
    spool_done(&s);
    unsetenv("XDG_STATE_HOME");
    setenv("HOME", "/home/me", 1);
    spool_init(&s, "mlflow", NULL, "ab", NULL);
    assert_string_equal(s.path, "/home/me/.local/state/toll/mlflow-ab.spool");
    spool_done(&s);
    unsetenv("HOME");
    spool_init(&s, "mlflow", NULL, "ab", NULL);
    assert_int_equal(strncmp(s.path, "/tmp/toll-", 10), 0);
    spool_done(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_life_of_a_spool),
        cmocka_unit_test(test_what_cannot_be),
        cmocka_unit_test(test_somebodys_file),
        cmocka_unit_test(test_a_place_that_cannot_be),
        cmocka_unit_test(test_as_large_as_it_may_be),
        cmocka_unit_test(test_a_directory_that_is_not_ours),
        cmocka_unit_test(test_where_it_is),
    };
    return RUN("spool", tests);
}
