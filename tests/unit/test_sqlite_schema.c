/* SPDX-License-Identifier: MIT */
#include "record/sqlite/schema.h"

#include "sqlite_place.h"

static void test_columns(void **state)
{
    struct buf b = {0};
    sqlite_schema_column(&b, metric_of(process_cpu_user_seconds));
    buf_putc(&b, ' ');
    sqlite_schema_column(&b, metric_of(process_memory_rss_bytes));
    buf_putc(&b, ' ');
    sqlite_schema_column(&b, metric_of(rapl_energy_joules));
    assert_string_equal(b.data, "cpu_user_ns memory_rss_bytes energy_microjoules");
    buf_done(&b);
    assert_true(sqlite_schema_metrics(ENTITY_TARGET) >> process_processes_count & 1);
    assert_false(sqlite_schema_metrics(ENTITY_PROCESS) >> process_processes_count & 1);
}

static void test_statement(void **state)
{
    struct buf b = {0};
    sqlite_schema_statement(&b, STATEMENT_NOTE);
    assert_string_equal(b.data,
                        "INSERT INTO notes (run, seq, elapsed_ns, sentence) VALUES (?1, ?2, ?3, "
                        "?4)");
    buf_done(&b);
}

/* Every statement is one that SQLite accepts, for the tables that were made. */
static void test_make(void **state)
{
    struct toll_error e = {0};
    struct sqlite *db = sqlite_place_open(":memory:", SQLITE_MODE_WRITE);
    bool is_complete = true;
    assert_int_equal(sqlite_schema_check(db, &is_complete, &e), 0);
    assert_false(is_complete);
    assert_int_equal(sqlite_schema_make(db, &e), 0);
    assert_int_equal(sqlite_schema_check(db, &is_complete, &e), 0);
    assert_true(is_complete);
    sqlite_place_expect(db, "PRAGMA application_id", "1953459308");
    sqlite_place_expect(db, "PRAGMA user_version", "1");
    for (unsigned i = 0; i < STATEMENTS; i++) {
        struct buf sql = {0};
        struct sqlite_statement *st;
        sqlite_schema_statement(&sql, i);
        assert_int_equal(sqlite_prepare(&st, db, sql.data, &e), 0);
        sqlite_end(st);
        buf_done(&sql);
    }
    assert_int_equal(sqlite_schema_make(db, &e), 0); /* nothing is made twice */
    sqlite_close(db);
}

static void test_what_is_missing(void **state)
{
    struct toll_error e = {0};
    struct sqlite *db = sqlite_place_open(":memory:", SQLITE_MODE_WRITE);
    bool is_complete = true;
    assert_int_equal(sqlite_run(db,
                                "CREATE TABLE core_samples (run INTEGER, tick INTEGER, entity "
                                "INTEGER, later INTEGER)",
                                &e),
                     0);
    assert_int_equal(sqlite_schema_make(db, &e), 0);
    assert_int_equal(sqlite_schema_check(db, &is_complete, &e), 0);
    assert_true(is_complete);
    sqlite_place_expect(db, "SELECT count(busy_ratio) + count(later) FROM core_samples", "0");
    sqlite_close(db);

    db = sqlite_place_open(":memory:", SQLITE_MODE_WRITE);
    assert_int_equal(sqlite_run(db, "CREATE TABLE events (run INTEGER, seq INTEGER)", &e), 0);
    assert_int_equal(sqlite_schema_make(db, &e), -EBADMSG);
    assert_non_null(strstr(e.message, "events"));
    sqlite_close(db);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_columns),
        cmocka_unit_test(test_statement),
        cmocka_unit_test_setup(test_make, sqlite_place_is_built_in),
        cmocka_unit_test_setup(test_what_is_missing, sqlite_place_is_built_in),
    };
    return RUN("sqlite_schema", tests);
}
