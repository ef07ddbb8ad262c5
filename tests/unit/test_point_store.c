/* SPDX-License-Identifier: MIT */
#include "layout/gpu_tracker/row_file.h"

#include "base/io/sqlite.h"

#include "scratch.h"

#include <errno.h>

static struct toll_error e;

static int64_t number_from(const char *path, const char *sql)
{
    struct sqlite *db;
    struct sqlite_statement *st;
    assert_int_equal(sqlite_open(&db, path, SQLITE_MODE_READ, 0, &e), 0);
    assert_int_equal(sqlite_prepare(&st, db, sql, &e), 0);
    assert_int_equal(sqlite_step(st, &e), 1);
    int64_t value = sqlite_column_i64(st, 0);
    sqlite_end(st);
    sqlite_close(db);
    return value;
}

static void test_tables(void **state)
{
    if (!sqlite_is_built_in())
        skip();
    const char *to = scratch_path("p.sqlite");
    const char *from = scratch_write("p.csv", "unit,cores\r\nmega,4\r\n"
                                              "ram,n,x,timestamp\r\n0.5,2,,1746129778.99568\r\n"
                                              "1.5,3,7,1746129779.5\r\n");
    assert_int_equal(points_to_sqlite(from, to, &e), 0);
    assert_int_equal(points_to_sqlite(from, to, &e), 0); /* over the one that is there */
    assert_true(number_from(to,
                            "SELECT count(*) FROM data WHERE timestamp = 1746129778.99568 AND "
                            "x IS NULL AND typeof(ram) = 'real' AND typeof(n) = 'integer'") == 1);
    assert_true(number_from(to, "SELECT count(*) FROM data") == 2);
    assert_true(number_from(to, "SELECT cores FROM static_data WHERE unit = 'mega'") == 4);
    assert_true(number_from(to, "SELECT count(*) FROM sqlite_master WHERE sql LIKE "
                                "'%\"ram\" FLOAT, \"n\" INTEGER, \"x\" FLOAT, %'") == 1);
}

static void test_bad_leaves_what_was_there(void **state)
{
    if (!sqlite_is_built_in())
        skip();
    const char *to = scratch_write("p.sqlite", "precious");
    const char *from = scratch_write("p.csv", "unit,cores\nmega,4\nram,timestamp\n1\n");
    assert_int_equal(points_to_sqlite(from, to, &e), -EBADMSG);
    assert_int_equal(points_to_sqlite("/no/such.csv", to, &e), -ENOENT);
    assert_int_equal(points_to_sqlite(from, "/no/such.sqlite", &e), -ENOENT);
    assert_file_is(to, "precious");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_tables, scratch_make, scratch_remove),
        cmocka_unit_test_setup_teardown(test_bad_leaves_what_was_there, scratch_make,
                                        scratch_remove),
    };
    return RUN("point_store", tests);
}
