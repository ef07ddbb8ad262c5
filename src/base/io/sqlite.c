/* SPDX-License-Identifier: MIT */
#include "base/io/sqlite.h"

#include "base/io/http.h"
#include "base/process.h"

#include <math.h>
#include <sqlite3.h>
#include <string.h>
#include <sys/stat.h>

/* What is used of the library, under its own names. */
#define FUNCTIONS(X)                                                                               \
    X(open_v2)                                                                                     \
    X(close)                                                                                       \
    X(busy_timeout)                                                                                \
    X(db_config)                                                                                   \
    X(limit)                                                                                       \
    X(progress_handler)                                                                            \
    X(exec)                                                                                        \
    X(prepare_v2)                                                                                  \
    X(finalize)                                                                                    \
    X(reset)                                                                                       \
    X(step)                                                                                        \
    X(bind_null)                                                                                   \
    X(bind_int64)                                                                                  \
    X(bind_double)                                                                                 \
    X(bind_text)                                                                                   \
    X(column_count)                                                                                \
    X(column_name)                                                                                 \
    X(column_type)                                                                                 \
    X(column_int64)                                                                                \
    X(column_double)                                                                               \
    X(column_text)                                                                                 \
    X(column_bytes)                                                                                \
    X(errmsg)                                                                                      \
    X(errstr)                                                                                      \
    X(system_errno)

struct functions {
#define POINTER(name) __typeof__(sqlite3_##name) *name;
    FUNCTIONS(POINTER)
};

static const struct dynlib_symbol symbols[] = {
#define SYMBOL(name) {offsetof(struct functions, name), {"sqlite3_" #name}},
    FUNCTIONS(SYMBOL)};

struct sqlite {
    void *library;
    struct functions call;
    sqlite3 *handle;
    char *path;
    uint64_t steps_left; /* of SQLite's machine, in STEPS_AT_ONCE; when reading */
    bool is_spent;       /* steps_left has reached 0 */
};

struct sqlite_statement {
    struct sqlite *db; /* borrowed */
    sqlite3_stmt *handle;
    int bind_failure; /* SQLite's code */
    bool has_run;
};

bool sqlite_is_built_in(void)
{
    return true;
}

static int sqlite_errno_of(const struct sqlite *db, int code)
{
    switch (code & 0xFF) {
    case SQLITE_NOMEM: return -ENOMEM;
    case SQLITE_FULL: return -ENOSPC;
    case SQLITE_BUSY:
    case SQLITE_LOCKED: return -EBUSY;
    case SQLITE_READONLY: return -EROFS;
    case SQLITE_PERM:
    case SQLITE_AUTH: return -EACCES;
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
    case SQLITE_TOOBIG:
    case SQLITE_INTERRUPT: return -EBADMSG;
    case SQLITE_CANTOPEN:
    case SQLITE_IOERR: {
        int why = db->handle ? db->call.system_errno(db->handle) : 0;
        return why > 0 ? -why : -EIO;
    }
    default: return -EINVAL;
    }
}

/* SQLite says "unable to open database file"; the system knows why. */
static int sqlite_fail(const struct sqlite *db, int code, struct toll_error *e)
{
    int r = sqlite_errno_of(db, code);
    int kind = code & 0xFF;
    const char *said = db->handle ? db->call.errmsg(db->handle) : db->call.errstr(code);
    if (kind == SQLITE_CANTOPEN || kind == SQLITE_IOERR)
        said = strerror(-r);
    else if (kind == SQLITE_INTERRUPT && db->is_spent)
        said = "reading takes too long for a file of this size";
    return err_set(e, r, "%s: %s", db->path, said);
}

static int sqlite_load(struct sqlite *db, enum sqlite_mode mode, struct toll_error *e)
{
    char why[256];
    db->library = (mode == SQLITE_MODE_APPEND_APART ? dynlib_open_apart : dynlib_open)(
        "libsqlite3.so.0", why, sizeof why);
    if (!db->library)
        return err_set(e, -EOPNOTSUPP, "%s: cannot load SQLite: %s (install libsqlite3)", db->path,
                       why);
    if (dynlib_find(db->library, symbols, ARRAY_LEN(symbols), &db->call) < ARRAY_LEN(symbols))
        return err_set(e, -EOPNOTSUPP, "%s: the installed SQLite is too old", db->path);
    return 0;
}

static int sqlite_open_handle(struct sqlite *db, enum sqlite_mode mode)
{
    int flags = SQLITE_OPEN_NOMUTEX;
    CLEANUP_FREE char *uri = NULL;
    if (mode == SQLITE_MODE_PEEK) {
        struct buf b = {0};
        buf_puts(&b, "file:");
        url_encode(&b, db->path, strlen(db->path), "/");
        buf_puts(&b, "?immutable=1");
        uri = buf_take(&b);
        if (!uri)
            return SQLITE_NOMEM;
    }
    if (mode == SQLITE_MODE_READ || uri)
        flags |= SQLITE_OPEN_READONLY | (uri ? SQLITE_OPEN_URI : 0);
    else
        flags |= SQLITE_OPEN_READWRITE | (mode == SQLITE_MODE_WRITE ? SQLITE_OPEN_CREATE : 0);
    return db->call.open_v2(uri ? uri : db->path, &db->handle, flags, NULL);
}

/* ---- Files of others ------------------------------------------------------------------------- */

/* These are newer than the oldest library that will do; one that does not know them has neither
 * what they forbid, or sqlite_find_table finds it. */
#ifndef SQLITE_DBCONFIG_ENABLE_VIEW
#define SQLITE_DBCONFIG_ENABLE_VIEW 1015
#endif
#ifndef SQLITE_DBCONFIG_TRUSTED_SCHEMA
#define SQLITE_DBCONFIG_TRUSTED_SCHEMA 1017
#endif

enum { STEPS_AT_ONCE = 100000, LONGEST_VALUE = 256 << 20 };

/* Reading a record takes about one step for each byte of its file. A table without the keys that
 * toll gives it would be searched again and again. */
enum { STEPS_PER_BYTE = 50, STEPS_AT_LEAST = 20000000 };

/* Views and triggers are programs, written by the author of the file. */
static void sqlite_distrust(struct sqlite *db, bool reads_only)
{
    db->call.db_config(db->handle, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
    if (reads_only) {
        db->call.db_config(db->handle, SQLITE_DBCONFIG_ENABLE_VIEW, 0, NULL);
        db->call.db_config(db->handle, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
    }
    db->call.limit(db->handle, SQLITE_LIMIT_LENGTH, LONGEST_VALUE);
}

/* Called every STEPS_AT_ONCE; not 0 makes SQLite stop. */
static int sqlite_count_steps(void *arg)
{
    struct sqlite *db = arg;
    db->is_spent = !db->steps_left;
    db->steps_left -= !db->is_spent;
    return db->is_spent;
}

static int sqlite_limit_steps(struct sqlite *db, struct toll_error *e)
{
    int64_t pages = 0, size = 0;
    db->steps_left = STEPS_AT_LEAST / STEPS_AT_ONCE;
    db->call.progress_handler(db->handle, STEPS_AT_ONCE, sqlite_count_steps, db);
    int r = sqlite_ask(db, "PRAGMA page_count", &pages, e);
    if (r == 0)
        r = sqlite_ask(db, "PRAGMA page_size", &size, e);
    if (r == 0 && pages > 0 && size > 0)
        db->steps_left += (uint64_t)pages * (uint64_t)size / (STEPS_AT_ONCE / STEPS_PER_BYTE);
    return r;
}

/* SQLite opens what lies beside a file without a look at what it is: a pipe would hold it up for
 * good. */
static int sqlite_check_is_regular(const struct sqlite *db, struct toll_error *e)
{
    static const char *const suffixes[] = {"", "-journal", "-wal", "-shm"};
    struct stat st;
    int r = 0;
    for (size_t i = 0; i < ARRAY_LEN(suffixes) && r == 0; i++) {
        struct buf path = {0};
        buf_printf(&path, "%s%s", db->path, suffixes[i]);
        if (buf_failed(&path))
            r = err_set(e, -ENOMEM, "%s: out of memory", db->path);
        else if (stat(path.data, &st) == 0 && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode))
            r = err_set(e, -EINVAL, "%s: not a regular file", path.data);
        buf_done(&path);
    }
    return r;
}

int sqlite_open(struct sqlite **ret, const char *path, enum sqlite_mode mode, int busy_ms,
                struct toll_error *e)
{
    struct sqlite *db = calloc(1, sizeof *db);
    if (db)
        db->path = strdup(path);
    if (!db || !db->path) {
        free(db);
        return err_set(e, -ENOMEM, "%s: out of memory", path);
    }
    bool reads_only = mode == SQLITE_MODE_READ || mode == SQLITE_MODE_PEEK;
    int r = sqlite_load(db, mode, e);
    if (r == 0)
        r = sqlite_check_is_regular(db, e);
    if (r == 0) {
        int code = sqlite_open_handle(db, mode);
        r = code == SQLITE_OK ? 0 : sqlite_fail(db, code, e);
    }
    if (r == 0) {
        db->call.busy_timeout(db->handle, busy_ms);
        sqlite_distrust(db, reads_only);
    }
    /* While the rest of a file is still in its log, as after a full disk, its header promises more
     * than there is, and SQLite would call it malformed. */
    if (r == 0 && mode == SQLITE_MODE_PEEK)
        r = sqlite_run(db, "PRAGMA writable_schema = ON", e);
    /* Any file can be opened; only reading shows whether it is a database. CHECK runs code, too.
     */
    if (r == 0)
        r = sqlite_run(db, "PRAGMA ignore_check_constraints = ON; PRAGMA schema_version", e);
    if (r == 0 && reads_only)
        r = sqlite_limit_steps(db, e);
    if (r < 0) {
        sqlite_close(db);
        return r;
    }
    *ret = db;
    return 0;
}

/* What sqlite_master says of it is not enough: the text is what SQLite makes the table from. */
int sqlite_find_table(struct sqlite *db, const char *name, struct toll_error *e)
{
    struct sqlite_statement *st;
    bool is_there = false, is_plain = true;
    int r = sqlite_prepare(&st, db,
                           "SELECT type = 'table' AND substr(sql, 1, 13) = 'CREATE TABLE ' FROM "
                           "sqlite_master WHERE name = ?1 COLLATE NOCASE AND type <> 'index' AND "
                           "type <> 'trigger'",
                           e);
    if (r < 0)
        return r;
    sqlite_bind_text(st, 1, name, strlen(name));
    while ((r = sqlite_step(st, e)) > 0) {
        is_there = true;
        is_plain &= sqlite_column_i64(st, 0) == 1;
    }
    sqlite_end(st);
    if (r < 0 || !is_there)
        return r;
    struct buf sql = {0};
    buf_puts(&sql, "PRAGMA table_xinfo(");
    sqlite_quote(&sql, name);
    buf_putc(&sql, ')');
    r = buf_failed(&sql) ? err_set(e, -ENOMEM, "%s: out of memory", db->path)
                         : sqlite_prepare(&st, db, sql.data, e);
    buf_done(&sql);
    if (r < 0)
        return r;
    int hidden = sqlite_column_called(st, "hidden", 0); /* a column that is computed */
    while ((r = sqlite_step(st, e)) > 0)
        is_plain &= hidden < 0 || sqlite_column_i64(st, hidden) == 0;
    sqlite_end(st);
    if (r < 0)
        return r;
    return is_plain ? 1
                    : err_set(e, -EBADMSG,
                              "%s: '%s' is not a plain table (views, virtual tables and generated "
                              "columns are not read)",
                              db->path, name);
}

void sqlite_close(struct sqlite *db)
{
    if (!db)
        return;
    if (db->handle)
        db->call.close(db->handle);
    dynlib_close(db->library);
    free(db->path);
    free(db);
}

int sqlite_run(struct sqlite *db, const char *sql, struct toll_error *e)
{
    int code = db->call.exec(db->handle, sql, NULL, NULL, NULL);
    return code == SQLITE_OK ? 0 : sqlite_fail(db, code, e);
}

int sqlite_prepare(struct sqlite_statement **ret, struct sqlite *db, const char *sql,
                   struct toll_error *e)
{
    struct sqlite_statement *st = calloc(1, sizeof *st);
    if (!st)
        return err_set(e, -ENOMEM, "%s: out of memory", db->path);
    st->db = db;
    int code = db->call.prepare_v2(db->handle, sql, -1, &st->handle, NULL);
    if (code != SQLITE_OK) {
        free(st);
        return sqlite_fail(db, code, e);
    }
    *ret = st;
    return 0;
}

void sqlite_end(struct sqlite_statement *st)
{
    if (!st)
        return;
    st->db->call.finalize(st->handle);
    free(st);
}

/* A failed bind is reported by the next step. */
static void sqlite_bound(struct sqlite_statement *st, int code)
{
    if (code != SQLITE_OK)
        st->bind_failure = code;
}

/* SQLite requires a reset between two runs. */
static sqlite3_stmt *sqlite_to_bind(struct sqlite_statement *st)
{
    if (st->has_run)
        st->db->call.reset(st->handle);
    st->has_run = false;
    return st->handle;
}

void sqlite_bind_null(struct sqlite_statement *st, int at)
{
    sqlite_bound(st, st->db->call.bind_null(sqlite_to_bind(st), at));
}

void sqlite_bind_i64(struct sqlite_statement *st, int at, int64_t value)
{
    sqlite_bound(st, st->db->call.bind_int64(sqlite_to_bind(st), at, value));
}

void sqlite_bind_double(struct sqlite_statement *st, int at, double value)
{
    if (isnan(value))
        sqlite_bind_null(st, at);
    else
        sqlite_bound(st, st->db->call.bind_double(sqlite_to_bind(st), at, value));
}

void sqlite_bind_text(struct sqlite_statement *st, int at, const char *text, size_t length)
{
    if (length > INT32_MAX)
        sqlite_bound(st, SQLITE_TOOBIG);
    else
        sqlite_bound(st, st->db->call.bind_text(sqlite_to_bind(st), at, text, (int)length,
                                                SQLITE_TRANSIENT));
}

int sqlite_step(struct sqlite_statement *st, struct toll_error *e)
{
    struct sqlite *db = st->db;
    int code = st->bind_failure;
    st->bind_failure = SQLITE_OK;
    if (code == SQLITE_OK) {
        code = db->call.step(st->handle);
        st->has_run = true;
    }
    if (code == SQLITE_ROW)
        return 1;
    int r = code == SQLITE_DONE ? 0 : sqlite_fail(db, code, e);
    db->call.reset(st->handle);
    st->has_run = false;
    return r;
}

int sqlite_columns(const struct sqlite_statement *st)
{
    return st->db->call.column_count(st->handle);
}

const char *sqlite_column_name(const struct sqlite_statement *st, int at)
{
    const char *name = st->db->call.column_name(st->handle, at);
    return name ? name : "";
}

enum sqlite_type sqlite_column_type(const struct sqlite_statement *st, int at)
{
    switch (st->db->call.column_type(st->handle, at)) {
    case SQLITE_INTEGER: return SQLITE_IS_INTEGER;
    case SQLITE_FLOAT: return SQLITE_IS_FLOAT;
    case SQLITE_NULL: return SQLITE_IS_NULL;
    default: return SQLITE_IS_TEXT; /* or bytes */
    }
}

int64_t sqlite_column_i64(const struct sqlite_statement *st, int at)
{
    return st->db->call.column_int64(st->handle, at);
}

bool sqlite_column_u64(const struct sqlite_statement *st, int at, uint64_t *ret)
{
    int64_t number = sqlite_column_i64(st, at);
    if (sqlite_column_type(st, at) != SQLITE_IS_INTEGER || number < 0)
        return false;
    *ret = (uint64_t)number;
    return true;
}

double sqlite_column_double(const struct sqlite_statement *st, int at)
{
    return sqlite_column_type(st, at) == SQLITE_IS_NULL
               ? NAN
               : st->db->call.column_double(st->handle, at);
}

const char *sqlite_column_text(const struct sqlite_statement *st, int at, size_t *ret_length)
{
    const unsigned char *text = st->db->call.column_text(st->handle, at);
    *ret_length = text ? (size_t)st->db->call.column_bytes(st->handle, at) : 0;
    return text ? (const char *)text : "";
}

int sqlite_ask(struct sqlite *db, const char *sql, int64_t *ret, struct toll_error *e)
{
    struct sqlite_statement *st;
    int r = sqlite_prepare(&st, db, sql, e);
    if (r < 0)
        return r;
    r = sqlite_step(st, e);
    *ret = r > 0 ? sqlite_column_i64(st, 0) : 0;
    sqlite_end(st);
    return r < 0 ? r : 0;
}
