/* SPDX-License-Identifier: MIT */
#include "record/sqlite/schema.h"

#include "unit.h"

/* Each has a name and keys that are among its columns, and none is wider than there is room. */
static void test_tables(void **state)
{
    for (unsigned number = STATEMENT_ENTITY; number < STATEMENTS; number++) {
        const struct sqlite_table *t = sqlite_table(number);
        unsigned columns = 0;
        assert_true(t->name && *t->name);
        while (columns < SQLITE_TABLE_COLUMNS && t->columns[columns].name) {
            assert_non_null(t->columns[columns].type);
            columns++;
        }
        assert_true(t->keys >= 1 && t->keys <= columns);
        for (unsigned i = 0; i < t->keys; i++) /* what tells rows apart is never unknown */
            assert_non_null(strstr(t->columns[i].type, "NOT NULL"));
    }
}

static void test_rows_of_targets_may_end(void **state)
{
    assert_string_equal(sqlite_table(STATEMENT_ROW + ENTITY_TARGET)->columns[2].name, "ended");
    assert_null(sqlite_table(STATEMENT_ROW + ENTITY_DISK)->columns[2].name);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tables),
        cmocka_unit_test(test_rows_of_targets_may_end),
    };
    return RUN("sqlite_tables", tests);
}
