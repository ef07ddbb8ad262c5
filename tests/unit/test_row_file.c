/* SPDX-License-Identifier: MIT */
#include "layout/gpu_tracker/row_file.h"

#include "base/io/sqlite.h"

#include "scratch.h"

#include <math.h>

static struct row_file *opened(const char *path)
{
    struct row_file *f;
    struct toll_error e = {0};
    assert_int_equal(row_file_open(&f, path, &e), 0);
    return f;
}

static void check_two_tables(const char *path)
{
    struct toll_error e = {0};
    struct row_file *f = opened(path);
    double value;
    assert_int_equal(row_file_table(f, "static_data", &e), 0);
    assert_int_equal(row_file_columns(f), 2);
    assert_int_equal(row_file_next(f, &e), 1);
    assert_string_equal(row_file_text(f, 0), "giga");
    assert_int_equal(row_file_number(f, 1, &value, &e), 0);
    assert_true(value == 12);
    assert_int_equal(row_file_number(f, 0, &value, &e), -EBADMSG);
    assert_non_null(strstr(e.message, "giga"));
    assert_int_equal(row_file_table(f, "data", &e), 0);
    assert_int_equal(row_file_column(f, "b", &e), 1);
    assert_int_equal(row_file_column(f, "z", &e), -ENOENT);
    assert_int_equal(row_file_next(f, &e), 1);
    assert_int_equal(row_file_number(f, 0, &value, &e), 0);
    assert_true(value == 0.5);
    assert_int_equal(row_file_number(f, 2, &value, &e), 0);
    assert_true(isnan(value));
    assert_string_equal(row_file_text(f, 1), "x, \"y\"");
    assert_int_equal(row_file_next(f, &e), 1);
    assert_string_equal(row_file_name(f, 2), "c");
    assert_int_equal(row_file_next(f, &e), 0);
    row_file_close(f);
}

static void test_csv(void **state)
{
    const char *path = scratch_write("a.csv", "unit,cores\r\ngiga,12\r\na,b,c\r\n"
                                              "0.5,\"x, \"\"y\"\"\",\r\n\r\n2,z,3");
    struct row_file *f = opened(path);
    assert_int_equal(row_file_format(f), ROWS_CSV);
    row_file_close(f);
    check_two_tables(path);
}

static void test_sqlite(void **state)
{
    if (!sqlite_is_built_in())
        skip();
    struct sqlite *db;
    struct toll_error e = {0};
    const char *path = scratch_path("a.sqlite");
    assert_int_equal(sqlite_open(&db, path, SQLITE_MODE_WRITE, 0, &e), 0);
    assert_int_equal(sqlite_run(db,
                                "CREATE TABLE static_data (unit VARCHAR, cores INTEGER);"
                                "INSERT INTO static_data VALUES ('giga', 12);"
                                "CREATE TABLE data (a FLOAT, b VARCHAR, c FLOAT);"
                                "INSERT INTO data VALUES (0.5, 'x, \"y\"', NULL), (2, 'z', 3)",
                                &e),
                     0);
    sqlite_close(db);
    check_two_tables(path);
    struct row_file *f = opened(path);
    assert_int_equal(row_file_format(f), ROWS_SQLITE);
    assert_int_equal(row_file_table(f, "nothing", &e), -ENODATA);
    assert_non_null(strstr(e.message, "\"nothing\""));
    row_file_close(f);
}

static void test_quoted_newline(void **state)
{
    struct toll_error e = {0};
    struct row_file *f = opened(scratch_write("a.csv", "a,b\n\"one\n\ntwo\",2\n\"open\n"));
    assert_int_equal(row_file_table(f, "data", &e), 0);
    assert_int_equal(row_file_next(f, &e), 1);
    assert_string_equal(row_file_text(f, 0), "one\n\ntwo");
    assert_int_equal(row_file_next(f, &e), -EBADMSG);
    row_file_close(f);
}

static void test_bad(void **state)
{
    struct toll_error e = {0};
    struct row_file *f = NULL;
    assert_int_equal(row_file_open(&f, "a.txt", &e), -EINVAL);
    assert_non_null(strstr(e.message, "Valid file extensions are \".csv\" and \".sqlite\"."));
    assert_int_equal(row_file_open(&f, ".csv", &e), -EINVAL);
    assert_int_equal(row_file_open(&f, "/tmp/no/such.csv", &e), -ENOENT);
    assert_null(f);
    f = opened(scratch_write("a.csv", ""));
    assert_int_equal(row_file_table(f, "data", &e), -ENODATA);
    row_file_close(f);
    f = opened(scratch_write("a.csv", "a,b\n1\n"));
    assert_int_equal(row_file_table(f, "data", &e), 0);
    assert_int_equal(row_file_next(f, &e), -EBADMSG);
    assert_non_null(strstr(e.message, "line 2 has 1 columns"));
    row_file_close(f);
    row_file_close(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_csv, scratch_make, scratch_remove),
        cmocka_unit_test_setup_teardown(test_sqlite, scratch_make, scratch_remove),
        cmocka_unit_test_setup_teardown(test_quoted_newline, scratch_make, scratch_remove),
        cmocka_unit_test_setup_teardown(test_bad, scratch_make, scratch_remove),
    };
    return RUN("row_file", tests);
}
