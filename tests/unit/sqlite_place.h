/* SPDX-License-Identifier: MIT
 * A SQLite file of a test's own, and questions to it. */
#pragma once

#include "base/io/sqlite.h"
#include "tree.h"

static inline struct sqlite *sqlite_place_open(const char *path, enum sqlite_mode mode)
{
    struct sqlite *db;
    struct toll_error e = {0};
    assert_int_equal(sqlite_open(&db, path, mode, 0, &e), 0);
    return db;
}

/* The first value of the first row, as text that the caller frees; "none" without a row. */
static inline char *sqlite_place_ask(struct sqlite *db, const char *sql)
{
    struct sqlite_statement *st;
    struct toll_error e = {0};
    size_t length;
    int r = sqlite_prepare(&st, db, sql, &e);
    assert_string_equal(e.message, "");
    assert_int_equal(r, 0);
    r = sqlite_step(st, &e);
    assert_true(r >= 0);
    char *text = r == 0 ? strdup("none") : strdup(sqlite_column_text(st, 0, &length));
    sqlite_end(st);
    return text;
}

static inline void sqlite_place_expect(struct sqlite *db, const char *sql, const char *expected)
{
    char *found = sqlite_place_ask(db, sql);
    assert_string_equal(found, expected);
    free(found);
}

static inline void sqlite_place_expect_in(const char *path, const char *sql, const char *expected)
{
    struct sqlite *db = sqlite_place_open(path, SQLITE_MODE_APPEND);
    sqlite_place_expect(db, sql, expected);
    sqlite_close(db);
}

static inline int sqlite_place_is_built_in(void **state)
{
    if (!sqlite_is_built_in())
        skip();
    return 0;
}
