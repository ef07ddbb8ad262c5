/* SPDX-License-Identifier: MIT
 * Changes of a SQLite file for the targets that read one: the input is lines of SQL, and "@AT=BYTE"
 * for a byte of the file itself. Statements that do more than change this file are refused. */
#pragma once

#include "mutate.h"
#include "scratch_file.h"

#include <sqlite3.h>

static int sqlite_allow(void *arg, int action, const char *a, const char *b, const char *c,
                        const char *d)
{
    bool is_pragma = action == SQLITE_PRAGMA &&
                     (strcmp(a, "writable_schema") == 0 || strcmp(a, "user_version") == 0 ||
                      strcmp(a, "application_id") == 0 || strcmp(a, "encoding") == 0);
    bool leaves = action == SQLITE_ATTACH || action == SQLITE_DETACH || action == SQLITE_PRAGMA ||
                  (action == SQLITE_FUNCTION && b && strcmp(b, "load_extension") == 0);
    return leaves && !is_pragma ? SQLITE_DENY : SQLITE_OK;
}

static int sqlite_stop(void *arg)
{
    return ++*(unsigned *)arg > 20;
}

static void sqlite_change(const char *path, const uint8_t *data, size_t size)
{
    sqlite3 *db;
    uint64_t at;
    unsigned steps = 0;
    CHECK(sqlite3_open(path, &db) == SQLITE_OK);
    sqlite3_set_authorizer(db, sqlite_allow, NULL);
    sqlite3_progress_handler(db, 10000, sqlite_stop, &steps);
    sqlite3_limit(db, SQLITE_LIMIT_LENGTH, 1 << 20);
    sqlite3_exec(db, "PRAGMA synchronous = OFF; PRAGMA journal_mode = OFF", NULL, NULL, NULL);
    struct scan text = fuzz_text(data, size), line;
    for (unsigned lines = 0; scan_line(&text, &line) && lines < 64; lines++) {
        struct scan byte = line;
        uint64_t value;
        if (scan_word(&byte, "@") && scan_u64(&byte, &at) && scan_word(&byte, "=") &&
            scan_u64(&byte, &value)) {
            int fd = open(path, O_RDWR | O_CLOEXEC);
            off_t end = lseek(fd, 0, SEEK_END);
            uint8_t one = (uint8_t)value;
            if (end > 0)
                CHECK(pwrite(fd, &one, 1, (off_t)(at % (uint64_t)end)) == 1);
            close(fd);
            continue;
        }
        char *sql = strndup(line.at, (size_t)(line.end - line.at));
        CHECK(sql);
        sqlite3_exec(db, sql, NULL, NULL, NULL);
        free(sql);
    }
    sqlite3_close(db);
}

static const char *const sqlite_contents[] = {
    "NULL",
    "0",
    "-1",
    "9223372036854775807",
    "-9223372036854775808",
    "1.5",
    "9e999",
    "''",
    "'x'",
    "'{}'",
    "'['",
    "'{\"a\":1,\"a\":2}'",
    "x'00ff'",
    "zeroblob(100000)",
    "char(0)",
    "'}'",
    "'\"'",
    "randomblob(9)",
    "'{\"type\":\"run\"}'",
    "rowid",
    "hex(zeroblob(300000))",
    NULL,
};

/* $T and $U are tables, $C and $D columns, $V a value. */
static const char *const sqlite_forms[] = {
    "UPDATE $T SET $C = $V",
    "UPDATE $T SET $C = $V WHERE rowid % 2",
    "UPDATE $T SET $C = $D",
    "DELETE FROM $T WHERE $C > 0",
    "INSERT OR REPLACE INTO $T SELECT * FROM $T LIMIT 1",
    "ALTER TABLE $T RENAME COLUMN $C TO $D",
    "ALTER TABLE $T DROP COLUMN $C",
    "ALTER TABLE $T ADD COLUMN $D DEFAULT 7",
    "ALTER TABLE $T RENAME TO was_$T",
    "CREATE VIEW $T AS WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM c) SELECT x AS "
    "run, x AS seq, * FROM c, $U",
    "CREATE TABLE $T AS SELECT * FROM $U",
    "DROP TABLE $T",
    "CREATE TABLE copy AS SELECT * FROM $T; DROP TABLE $T; ALTER TABLE copy RENAME TO $T; INSERT "
    "INTO $T SELECT * FROM $T",
    "PRAGMA writable_schema = ON; UPDATE sqlite_master SET sql = replace(sql, '$C', '$D') WHERE "
    "name = '$T'",
    "PRAGMA user_version = 0",
    "@$N=$M",
    NULL,
};

static uint64_t sqlite_random(uint64_t *x)
{
    *x = *x * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return *x >> 33;
}

static const char *sqlite_any(const char *const *list, uint64_t *x)
{
    size_t count = 0;
    while (list[count])
        count++;
    return list[sqlite_random(x) % count];
}

static void sqlite_fill_form(struct buf *b, uint64_t *x, const char *const *tables,
                             const char *const *columns)
{
    const char *form = sqlite_any(sqlite_forms, x);
    const char *t = sqlite_any(tables, x), *u = sqlite_any(tables, x);
    for (; *form; form++) {
        if (*form != '$') {
            buf_putc(b, *form);
            continue;
        }
        switch (*++form) {
        case 'T': buf_puts(b, t); break;
        case 'U': buf_puts(b, u); break;
        case 'C':
        case 'D': buf_puts(b, sqlite_any(columns, x)); break;
        case 'V': buf_puts(b, sqlite_any(sqlite_contents, x)); break;
        case 'N': buf_u64(b, sqlite_random(x) % 200000); break;
        default: buf_u64(b, sqlite_random(x) % 256);
        }
    }
}

/* Adds statements about these tables and columns; both lists end with NULL. */
static size_t sqlite_mutate(uint8_t *data, size_t size, size_t max, unsigned seed,
                            const char *const *tables, const char *const *columns)
{
    struct buf lines[4] = {{0}};
    const char *known[ARRAY_LEN(lines) + 1] = {NULL};
    uint64_t x = seed;
    for (size_t i = 0; i < ARRAY_LEN(lines); i++) {
        sqlite_fill_form(&lines[i], &x, tables, columns);
        known[i] = lines[i].data;
    }
    size = mutate_lines(data, size, max, seed, known);
    for (size_t i = 0; i < ARRAY_LEN(lines); i++)
        buf_done(&lines[i]);
    return size;
}
