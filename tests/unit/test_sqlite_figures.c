/* SPDX-License-Identifier: MIT */
#include "record/sqlite/lines.h"

#include "sqlite_place.h"

static void test_columns(void **state)
{
    struct sqlite *db = sqlite_place_open(":memory:", SQLITE_MODE_WRITE);
    struct sqlite_statement *st;
    struct sqlite_figures f;
    struct row row;
    const char *sql = "SELECT 1 AS cpu_ns, 9 AS run, 2 AS cpu_ns, NULL AS memory_rss_bytes, "
                      "0.5 AS cpu_cores, 3 AS threads, 7 AS dreams";
    assert_int_equal(sqlite_prepare(&st, db, sql, NULL), 0);
    sqlite_figures_find(&f, st, ENTITY_TARGET, 1, "run tick");
    assert_int_equal(f.of[1], COLUMN_IS_NO_METRIC);
    assert_int_equal(f.of[6], COLUMN_IS_UNKNOWN);
    assert_int_equal(sqlite_step(st, NULL), 1);
    assert_true(sqlite_figures_take(&f, st, &row));
    assert_int_equal(row.values[process_threads_count - row.first].u, 3);
    assert_true(row.values[process_cpu_cores - row.first].d == 0.5);
    assert_false(row.present & BIT(process_memory_rss_bytes - row.first));
    assert_string_equal(sqlite_figures_unknown(&f, st), "dreams");
    sqlite_end(st);
    sqlite_close(db);
}

static void test_below_zero(void **state)
{
    struct sqlite *db = sqlite_place_open(":memory:", SQLITE_MODE_WRITE);
    struct sqlite_statement *st;
    struct sqlite_figures f;
    struct row row;
    assert_int_equal(sqlite_prepare(&st, db, "SELECT -1 AS threads, NULL AS dreams", NULL), 0);
    sqlite_figures_find(&f, st, ENTITY_TARGET, 0, "");
    assert_int_equal(sqlite_step(st, NULL), 1);
    assert_false(sqlite_figures_take(&f, st, &row));
    assert_null(sqlite_figures_unknown(&f, st)); /* without a value it means nothing */
    sqlite_end(st);
    sqlite_close(db);
}

/* What SQLite would make 0 of, or less than it is, is refused: unknown is NULL. */
static void test_other_types(void **state)
{
    static const char *const bad[] = {
        "'abc' AS threads", "'3' AS threads",   "1.5 AS threads",   "x'01' AS threads",
        "1e30 AS threads",  "'1' AS cpu_cores", "x'' AS cpu_cores", "9e999 AS cpu_cores",
    };
    struct sqlite *db = sqlite_place_open(":memory:", SQLITE_MODE_WRITE);
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        struct sqlite_statement *st;
        struct sqlite_figures f;
        struct row row;
        char sql[64];
        snprintf(sql, sizeof sql, "SELECT %s", bad[i]);
        assert_int_equal(sqlite_prepare(&st, db, sql, NULL), 0);
        sqlite_figures_find(&f, st, ENTITY_TARGET, 0, "");
        assert_int_equal(sqlite_step(st, NULL), 1);
        if (sqlite_figures_take(&f, st, &row))
            fail_msg("taken: %s", bad[i]);
        sqlite_end(st);
    }
    sqlite_close(db);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_columns, sqlite_place_is_built_in),
        cmocka_unit_test_setup(test_below_zero, sqlite_place_is_built_in),
        cmocka_unit_test_setup(test_other_types, sqlite_place_is_built_in),
    };
    return RUN("sqlite_figures", tests);
}
