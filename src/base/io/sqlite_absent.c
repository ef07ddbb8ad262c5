/* SPDX-License-Identifier: MIT
 * In the place of sqlite.c where toll is built without SQLite: opening says so, and nothing else is
 * ever called. */
#include "base/io/sqlite.h"

bool sqlite_is_built_in(void)
{
    return false;
}

int sqlite_open(struct sqlite **ret, const char *path, enum sqlite_mode mode, int busy_ms,
                struct toll_error *e)
{
    return err_set(e, -EOPNOTSUPP, "%s: toll was built without SQLite", path);
}

void sqlite_close(struct sqlite *db)
{
}

int sqlite_run(struct sqlite *db, const char *sql, struct toll_error *e)
{
    return -EOPNOTSUPP;
}

int sqlite_prepare(struct sqlite_statement **ret, struct sqlite *db, const char *sql,
                   struct toll_error *e)
{
    return -EOPNOTSUPP;
}

void sqlite_end(struct sqlite_statement *st)
{
}

void sqlite_bind_null(struct sqlite_statement *st, int at)
{
}

void sqlite_bind_i64(struct sqlite_statement *st, int at, int64_t value)
{
}

void sqlite_bind_double(struct sqlite_statement *st, int at, double value)
{
}

void sqlite_bind_text(struct sqlite_statement *st, int at, const char *text, size_t length)
{
}

int sqlite_step(struct sqlite_statement *st, struct toll_error *e)
{
    return -EOPNOTSUPP;
}

int sqlite_columns(const struct sqlite_statement *st)
{
    return 0;
}

const char *sqlite_column_name(const struct sqlite_statement *st, int at)
{
    return "";
}

enum sqlite_type sqlite_column_type(const struct sqlite_statement *st, int at)
{
    return SQLITE_IS_NULL;
}

bool sqlite_column_u64(const struct sqlite_statement *st, int at, uint64_t *ret)
{
    return false;
}

int sqlite_find_table(struct sqlite *db, const char *name, struct toll_error *e)
{
    return -EOPNOTSUPP;
}

int64_t sqlite_column_i64(const struct sqlite_statement *st, int at)
{
    return 0;
}

double sqlite_column_double(const struct sqlite_statement *st, int at)
{
    return 0;
}

const char *sqlite_column_text(const struct sqlite_statement *st, int at, size_t *ret_length)
{
    *ret_length = 0;
    return "";
}

int sqlite_ask(struct sqlite *db, const char *sql, int64_t *ret, struct toll_error *e)
{
    return -EOPNOTSUPP;
}
