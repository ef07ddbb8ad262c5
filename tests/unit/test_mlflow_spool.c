/* SPDX-License-Identifier: MIT */
#include "sink/mlflow_spool.h"

#include "unit.h"

#include <stdio.h>
#include <sys/stat.h>

static int count_ops(void *arg, const struct mlflow_op *op)
{
    unsigned *left = arg;
    return *left && --*left ? 0 : 1;
}

static void add(struct mlflow_spool *s, size_t length)
{
    struct buf op = {0};
    char *body = calloc(1, length + 1);
    memset(body, 'x', length);
    mlflow_ops_add(&op, MLFLOW_BATCH, "", body, length);
    assert_int_equal(mlflow_spool_add(s, op.data, op.length, 1), 0);
    buf_done(&op);
    free(body);
}

static void test_the_life_of_a_spool(void **state)
{
    char directory[] = "/tmp/toll-unit-XXXXXX", path[64];
    struct mlflow_spool s, again;
    struct stat st;
    assert_non_null(mkdtemp(directory));
    snprintf(path, sizeof path, "%s/a/b/spool", directory);
    assert_int_equal(mlflow_spool_init(&s, path, "x"), 0);
    mlflow_ops_add(&s.head, MLFLOW_SPOOL, "mlflow", "", 0);
    assert_int_not_equal(stat(path, &st), 0); /* not before it is needed */
    assert_false(mlflow_spool_has_some(&s));
    for (unsigned i = 0; i < 3; i++)
        add(&s, 10);
    add(&s, 3 << 20); /* larger than what is read at once */
    add(&s, 10);
    assert_int_equal(s.samples, 5);
    assert_true(mlflow_spool_has_some(&s));
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0600);
    assert_int_equal(st.st_size, s.length);
    assert_int_equal(mlflow_spool_open(&again, path), -EBUSY);
    unsigned left = 3; /* the third one stops it */
    assert_int_equal(mlflow_spool_each(&s, &s.sent, count_ops, &left), 1);
    left = 100;
    assert_int_equal(mlflow_spool_each(&s, &s.sent, count_ops, &left), 0);
    assert_int_equal(left, 100 - 3);
    assert_int_equal(s.sent, s.length);
    add(&s, 1);
    mlflow_spool_done(&s); /* something is in it: it stays */
    assert_int_equal(mlflow_spool_open(&s, path), 0);
    left = 100;
    uint64_t at = 0;
    assert_int_equal(mlflow_spool_each(&s, &at, count_ops, &left), 0);
    assert_int_equal(left, 100 - 7);
    mlflow_spool_remove(&s);
    assert_int_not_equal(stat(path, &st), 0);
    mlflow_spool_done(&s);
    snprintf(path, sizeof path, "rm -r %s", directory);
    assert_int_equal(system(path), 0);
}

static void test_what_cannot_be(void **state)
{
    struct mlflow_spool s;
    uint64_t at = 0;
    unsigned left = 100;
    char path[] = "/tmp/toll-unit-XXXXXX";
    assert_int_equal(mlflow_spool_init(&s, "none", "x"), 0);
    assert_int_equal(mlflow_spool_add(&s, "x", 1, 1), -ENOENT);
    mlflow_spool_done(&s);
    int fd = mkstemp(path);
    assert_int_equal(mlflow_spool_init(&s, path, "x"), 0);
    assert_int_equal(mlflow_spool_add(&s, "x", 1, 1), -EEXIST); /* somebody's file */
    mlflow_spool_done(&s);
    assert_int_equal(write(fd, "batch - 5\nab", 12), 12);
    assert_int_equal(mlflow_spool_open(&s, path), 0);
    assert_int_equal(mlflow_spool_each(&s, &at, count_ops, &left), -EBADMSG);
    assert_int_equal(at, 0);
    mlflow_spool_done(&s);
    close(fd);
    unlink(path);
    assert_int_equal(mlflow_spool_open(&s, path), -ENOENT);
    assert_int_equal(mlflow_spool_open(&s, "/dev/null"), -EBADMSG);
    assert_int_equal(mlflow_spool_open(&s, "/tmp"), -EISDIR);
}

static void test_where_it_is(void **state)
{
    struct mlflow_spool s;
    setenv("XDG_STATE_HOME", "/state", 1);
    mlflow_spool_init(&s, NULL, "ab");
    assert_string_equal(s.path, "/state/toll/mlflow-ab.spool");
    mlflow_spool_done(&s);
    unsetenv("XDG_STATE_HOME");
    setenv("HOME", "/home/me", 1);
    mlflow_spool_init(&s, NULL, "ab");
    assert_string_equal(s.path, "/home/me/.local/state/toll/mlflow-ab.spool");
    mlflow_spool_done(&s);
    unsetenv("HOME");
    mlflow_spool_init(&s, NULL, "ab");
    assert_int_equal(strncmp(s.path, "/tmp/toll-", 10), 0);
    mlflow_spool_done(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_life_of_a_spool),
        cmocka_unit_test(test_what_cannot_be),
        cmocka_unit_test(test_where_it_is),
    };
    return RUN("mlflow_spool", tests);
}
