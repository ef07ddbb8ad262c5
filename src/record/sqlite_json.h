/* SPDX-License-Identifier: MIT
 * A column of the row that is there as a member of the object that is open. */
#pragma once

#include "base/json_out.h"
#include "base/sqlite.h"

static inline void sqlite_json_text(struct json_out *j, const char *key,
                                    const struct sqlite_statement *st, int at)
{
    size_t length;
    const char *text = sqlite_column_text(st, at, &length);
    json_key(j, key);
    if (sqlite_column_type(st, at) == SQLITE_IS_TEXT)
        json_string_n(j, text, length);
    else
        json_null(j); /* no name is a number */
}

/* It is JSON already. */
static inline void sqlite_json_raw(struct json_out *j, const char *key,
                                   const struct sqlite_statement *st, int at)
{
    size_t length;
    const char *text = sqlite_column_text(st, at, &length);
    json_key(j, key);
    json_raw(j, text, length);
}

/* The column "lower_bound", where the file has one, as that member; it is JSON too. */
static inline void sqlite_json_bounds(struct json_out *j, const struct sqlite_statement *st, int at)
{
    if (at >= 0 && sqlite_column_type(st, at) != SQLITE_IS_NULL)
        sqlite_json_raw(j, "lower_bound", st, at);
}

/* The value as the type that it has; the reader of the line refuses one that does not fit. */
static inline void sqlite_json_value(struct json_out *j, const char *key,
                                     const struct sqlite_statement *st, int at)
{
    json_key(j, key);
    switch (sqlite_column_type(st, at)) {
    case SQLITE_IS_NULL: json_null(j); break;
    case SQLITE_IS_INTEGER: json_i64(j, sqlite_column_i64(st, at)); break;
    case SQLITE_IS_FLOAT: json_number(j, sqlite_column_double(st, at)); break;
    case SQLITE_IS_TEXT: json_string(j, ""); break; /* never a number */
    }
}
