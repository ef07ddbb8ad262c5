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
    json_string_n(j, text, length);
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

static inline void sqlite_json_whole(struct json_out *j, const char *key,
                                     const struct sqlite_statement *st, int at)
{
    json_key(j, key);
    if (sqlite_column_type(st, at) == SQLITE_IS_NULL)
        json_null(j);
    else
        json_i64(j, sqlite_column_i64(st, at));
}
