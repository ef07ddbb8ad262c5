/* SPDX-License-Identifier: MIT */
#include "record/sqlite/schema.h"

#include "sqlite_place.h"

/* Base units and names, from whole numbers and numbers. */
static void test_timeline(void **state)
{
    struct toll_error e = {0};
    struct sqlite *db = sqlite_place_open(":memory:", SQLITE_MODE_WRITE);
    assert_int_equal(sqlite_schema_make(db, &e), 0);
    assert_int_equal(
        sqlite_run(
            db,
            "INSERT INTO runs (run, name, host, start_ns, facts) VALUES (1, 'a', 'b', "
            "1731000000123999999, '{\"command\":[\"x\"]}');"
            "INSERT INTO entities (run, entity, kind, part, name) VALUES (1, 1, 'target', "
            "'combined', ''), (1, 9, 'disk', '', 'vda');"
            "INSERT INTO samples VALUES (1, 0, 0, 1731000000123999999, 1500000000, 1, NULL, 2);"
            "INSERT INTO target_samples (run, tick, entity, cpu_ns) VALUES (1, 0, 1, 5);"
            "INSERT INTO disk_samples (run, tick, entity, read_bytes) VALUES (1, 0, 9, 7)",
            &e),
        0);
    sqlite_place_expect(db, "SELECT time FROM timeline", "2024-11-07T17:20:00.123Z");
    sqlite_place_expect(db, "SELECT elapsed_seconds FROM timeline", "1.5");
    sqlite_place_expect(db, "SELECT target_cpu_seconds = 5e-9 FROM timeline", "1");
    sqlite_place_expect(db, "SELECT main_cpu_seconds IS NULL FROM timeline", "1");
    sqlite_place_expect(db, "SELECT name || read_bytes FROM disk_timeline", "vda7");
    sqlite_place_expect(db, "SELECT part FROM target_timeline", "combined");
    sqlite_place_expect(db, "SELECT start || samples || command FROM run_list",
                        "2024-11-07T17:20:00.123Z1[\"x\"]");
    sqlite_close(db);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_timeline, sqlite_place_is_built_in),
    };
    return RUN("sqlite_views", tests);
}
