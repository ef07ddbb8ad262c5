/* SPDX-License-Identifier: MIT */
#include "base/io/sqlite.h"

#include "unit.h"

#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <sys/stat.h>

static char directory[] = "/tmp/toll-sqlite.XXXXXX";
static char path[64];

static int setup(void **state)
{
    if (!sqlite_is_built_in())
        skip();
    strcpy(directory + sizeof directory - 7, "XXXXXX");
    assert_non_null(mkdtemp(directory));
    snprintf(path, sizeof path, "%s/a.sqlite", directory);
    return 0;
}

static int teardown(void **state)
{
    unlink(path);
    rmdir(directory);
    return 0;
}

static struct sqlite *opened(enum sqlite_mode mode)
{
    struct sqlite *db;
    struct toll_error e = {0};
    assert_int_equal(sqlite_open(&db, path, mode, 0, &e), 0);
    return db;
}

static void test_values(void **state)
{
    struct sqlite *db = opened(SQLITE_MODE_WRITE);
    struct sqlite_statement *st;
    struct toll_error e = {0};
    assert_int_equal(sqlite_run(db, "CREATE TABLE t (a INTEGER, b REAL, c TEXT, d)", &e), 0);
    assert_int_equal(sqlite_prepare(&st, db, "INSERT INTO t VALUES (?,?,?,?)", &e), 0);
    for (int i = 0; i < 2; i++) {
        sqlite_bind_i64(st, 1, INT64_MIN + i);
        sqlite_bind_double(st, 2, i ? NAN : 0.1);
        sqlite_bind_text(st, 3, "it's; \0 one", 11);
        sqlite_bind_null(st, 4);
        assert_int_equal(sqlite_step(st, &e), 0);
    }
    sqlite_bind_i64(st, 5, 1); /* there are four */
    assert_int_equal(sqlite_step(st, &e), -EINVAL);
    sqlite_end(st);
    sqlite_close(db);

    db = opened(SQLITE_MODE_READ);
    assert_int_equal(sqlite_prepare(&st, db, "SELECT a, b, c, d FROM t ORDER BY rowid", &e), 0);
    for (int i = 0; i < 2; i++) {
        size_t length;
        assert_int_equal(sqlite_step(st, &e), 1);
        assert_int_equal(sqlite_columns(st), 4);
        assert_string_equal(sqlite_column_name(st, 2), "c");
        assert_true(sqlite_column_i64(st, 0) == INT64_MIN + i);
        assert_int_equal(sqlite_column_type(st, 0), SQLITE_IS_INTEGER);
        assert_int_equal(sqlite_column_type(st, 1), i ? SQLITE_IS_NULL : SQLITE_IS_FLOAT);
        assert_true(i ? isnan(sqlite_column_double(st, 1)) : sqlite_column_double(st, 1) == 0.1);
        assert_memory_equal(sqlite_column_text(st, 2, &length), "it's; \0 one", 11);
        assert_int_equal(length, 11);
        assert_int_equal(sqlite_column_type(st, 2), SQLITE_IS_TEXT);
        assert_string_equal(sqlite_column_text(st, 3, &length), "");
        assert_int_equal(length, 0);
    }
    assert_int_equal(sqlite_step(st, &e), 0);
    sqlite_end(st);
    sqlite_end(NULL);
    sqlite_close(db);
    sqlite_close(NULL);
}

static void test_bad_statement(void **state)
{
    struct sqlite *db = opened(SQLITE_MODE_WRITE);
    struct sqlite_statement *st = NULL;
    struct toll_error e = {0};
    assert_int_equal(sqlite_prepare(&st, db, "SELECT a FROM nowhere", &e), -EINVAL);
    assert_null(st);
    assert_non_null(strstr(e.message, path));
    assert_non_null(strstr(e.message, "nowhere"));
    assert_int_equal(sqlite_run(db, "CREATE", &e), -EINVAL);
    sqlite_close(db);
}

static void test_bad_file(void **state)
{
    struct sqlite *db = NULL;
    struct toll_error e = {0};
    assert_int_equal(sqlite_open(&db, path, SQLITE_MODE_READ, 0, &e), -ENOENT);
    assert_int_equal(sqlite_open(&db, path, SQLITE_MODE_APPEND, 0, &e), -ENOENT);
    assert_int_equal(sqlite_open(&db, path, SQLITE_MODE_APPEND_APART, 0, &e), -ENOENT);
    assert_int_not_equal(access(path, F_OK), 0);
    assert_non_null(strstr(e.message, path));
    assert_non_null(strstr(e.message, "No such file"));
    assert_int_equal(sqlite_open(&db, "/tmp/no/such/a.sqlite", SQLITE_MODE_WRITE, 0, &e), -ENOENT);

    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    assert_int_equal(write(fd, "this is no database, but text\n", 30), 30);
    close(fd);
    assert_int_equal(sqlite_open(&db, path, SQLITE_MODE_READ, 0, &e), -EBADMSG);
    assert_int_equal(sqlite_open(&db, path, SQLITE_MODE_WRITE, 0, &e), -EBADMSG);
    assert_null(db);
}

static void test_busy(void **state)
{
    struct sqlite *one = opened(SQLITE_MODE_WRITE), *other = opened(SQLITE_MODE_WRITE);
    struct toll_error e = {0};
    assert_int_equal(sqlite_run(one, "BEGIN IMMEDIATE; CREATE TABLE t (a)", &e), 0);
    assert_int_equal(sqlite_run(other, "CREATE TABLE u (a)", &e), -EBUSY);
    assert_int_equal(sqlite_run(one, "COMMIT", &e), 0);
    assert_int_equal(sqlite_run(other, "CREATE TABLE u (a)", &e), 0);
    sqlite_close(one);
    sqlite_close(other);
}

/* As it lies there, whoever holds it; nothing is made. */
static void test_peek(void **state)
{
    struct sqlite *db = NULL;
    struct sqlite_statement *st;
    struct toll_error e = {0};
    assert_int_equal(sqlite_open(&db, path, SQLITE_MODE_PEEK, 0, &e), -ENOENT);
    struct sqlite *other = opened(SQLITE_MODE_WRITE);
    assert_int_equal(sqlite_run(other,
                                "CREATE TABLE t (a); PRAGMA locking_mode = EXCLUSIVE; BEGIN "
                                "EXCLUSIVE",
                                &e),
                     0);
    db = opened(SQLITE_MODE_PEEK);
    assert_int_equal(sqlite_prepare(&st, db, "SELECT count(*) FROM t", &e), 0);
    assert_int_equal(sqlite_step(st, &e), 1);
    sqlite_end(st);
    assert_int_equal(sqlite_run(db, "CREATE TABLE u (a)", &e), -EROFS);
    sqlite_close(db);
    assert_int_equal(sqlite_run(other, "ROLLBACK", &e), 0);
    sqlite_close(other);
}

static void test_apart(void **state)
{
    struct toll_error e = {0};
    struct sqlite *other = opened(SQLITE_MODE_WRITE), *db = opened(SQLITE_MODE_APPEND_APART);
    assert_int_equal(sqlite_run(db, "CREATE TABLE t (a)", &e), 0);
    assert_int_equal(sqlite_run(other, "INSERT INTO t VALUES (1)", &e), 0);
    sqlite_close(other);
    sqlite_close(db);
}

static void test_quote(void **state)
{
    struct buf b = {0};
    sqlite_quote(&b, "a\"b c");
    assert_string_equal(b.data, "\"a\"\"b c\"");
    buf_done(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_values, setup, teardown),
        cmocka_unit_test_setup_teardown(test_bad_statement, setup, teardown),
        cmocka_unit_test_setup_teardown(test_bad_file, setup, teardown),
        cmocka_unit_test_setup_teardown(test_busy, setup, teardown),
        cmocka_unit_test_setup_teardown(test_peek, setup, teardown),
        cmocka_unit_test_setup_teardown(test_apart, setup, teardown),
        cmocka_unit_test(test_quote),
    };
    return RUN("sqlite", tests);
}
