/* SPDX-License-Identifier: MIT */
#include "base/sqlite.h"

#include "base/dynlib.h"
#include "base/url.h"

#include <math.h>
#include <sqlite3.h>
#include <string.h>

/* What is used of the library, under its own names. */
#define FUNCTIONS(X)                                                                               \
    X(open_v2)                                                                                     \
    X(close)                                                                                       \
    X(busy_timeout)                                                                                \
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

static int errno_of(const struct sqlite *db, int code)
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
    case SQLITE_NOTADB: return -EBADMSG;
    case SQLITE_CANTOPEN:
    case SQLITE_IOERR: {
        int why = db->handle ? db->call.system_errno(db->handle) : 0;
        return why > 0 ? -why : -EIO;
    }
    default: return -EINVAL;
    }
}

/* SQLite says "unable to open database file"; the system knows why. */
static int fail(const struct sqlite *db, int code, struct toll_error *e)
{
    int r = errno_of(db, code);
    int kind = code & 0xFF;
    const char *said = db->handle ? db->call.errmsg(db->handle) : db->call.errstr(code);
    if (kind == SQLITE_CANTOPEN || kind == SQLITE_IOERR)
        said = strerror(-r);
    return err_set(e, r, "%s: %s", db->path, said);
}

static int load(struct sqlite *db, enum sqlite_mode mode, struct toll_error *e)
{
    char why[256];
    db->library = (mode == SQLITE_MODE_APPEND_APART ? dynlib_open_apart : dynlib_open)(
        "libsqlite3.so.0", why, sizeof why);
    if (!db->library)
        return err_set(e, -EOPNOTSUPP, "%s: SQLite cannot be loaded: %s", db->path, why);
    if (dynlib_find(db->library, symbols, ARRAY_LEN(symbols), &db->call) < ARRAY_LEN(symbols))
        return err_set(e, -EOPNOTSUPP, "%s: the SQLite of this machine is too old", db->path);
    return 0;
}

/* A path as a URI, so that something can be said with it. */
static char *immutable(const char *path)
{
    struct buf b = {0};
    buf_puts(&b, "file:");
    url_encode(&b, path, strlen(path), "/");
    buf_puts(&b, "?immutable=1");
    if (buf_failed(&b))
        buf_done(&b);
    return b.data;
}

static int open_handle(struct sqlite *db, enum sqlite_mode mode)
{
    int flags = SQLITE_OPEN_NOMUTEX;
    CLEANUP_FREE char *uri = mode == SQLITE_MODE_PEEK ? immutable(db->path) : NULL;
    if (mode == SQLITE_MODE_PEEK && !uri)
        return SQLITE_NOMEM;
    if (mode == SQLITE_MODE_READ || uri)
        flags |= SQLITE_OPEN_READONLY | (uri ? SQLITE_OPEN_URI : 0);
    else
        flags |= SQLITE_OPEN_READWRITE | (mode == SQLITE_MODE_WRITE ? SQLITE_OPEN_CREATE : 0);
    return db->call.open_v2(uri ? uri : db->path, &db->handle, flags, NULL);
}

int sqlite_open(struct sqlite **ret, const char *path, enum sqlite_mode mode, int busy_ms,
                struct toll_error *e)
{
    struct sqlite *db = calloc(1, sizeof *db);
    if (db)
        db->path = strdup(path);
    if (!db || !db->path) {
        free(db);
        return err_set(e, -ENOMEM, "%s: no memory", path);
    }
    int r = load(db, mode, e);
    if (r == 0) {
        int code = open_handle(db, mode);
        r = code == SQLITE_OK ? 0 : fail(db, code, e);
    }
    if (r == 0)
        db->call.busy_timeout(db->handle, busy_ms);
    /* Where the rest of a file is still in its log, as after a full disk, its header tells of more
     * than there is; reading it as it lies there, SQLite would call it malformed. */
    if (r == 0 && mode == SQLITE_MODE_PEEK)
        r = sqlite_run(db, "PRAGMA writable_schema = ON", e);
    /* It opens anything; what is no database is found out by reading. */
    if (r == 0)
        r = sqlite_run(db, "PRAGMA schema_version", e);
    if (r < 0) {
        sqlite_close(db);
        return r;
    }
    *ret = db;
    return 0;
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
    return code == SQLITE_OK ? 0 : fail(db, code, e);
}

int sqlite_prepare(struct sqlite_statement **ret, struct sqlite *db, const char *sql,
                   struct toll_error *e)
{
    struct sqlite_statement *st = calloc(1, sizeof *st);
    if (!st)
        return err_set(e, -ENOMEM, "%s: no memory", db->path);
    st->db = db;
    int code = db->call.prepare_v2(db->handle, sql, -1, &st->handle, NULL);
    if (code != SQLITE_OK) {
        free(st);
        return fail(db, code, e);
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

/* Between two runs SQLite wants to be told that the one before is over. */
static void bound(struct sqlite_statement *st, int code)
{
    if (code != SQLITE_OK)
        st->bind_failure = code;
}

static sqlite3_stmt *to_bind(struct sqlite_statement *st)
{
    if (st->has_run)
        st->db->call.reset(st->handle);
    st->has_run = false;
    return st->handle;
}

void sqlite_bind_null(struct sqlite_statement *st, int at)
{
    bound(st, st->db->call.bind_null(to_bind(st), at));
}

void sqlite_bind_i64(struct sqlite_statement *st, int at, int64_t value)
{
    bound(st, st->db->call.bind_int64(to_bind(st), at, value));
}

void sqlite_bind_double(struct sqlite_statement *st, int at, double value)
{
    if (isnan(value))
        sqlite_bind_null(st, at);
    else
        bound(st, st->db->call.bind_double(to_bind(st), at, value));
}

void sqlite_bind_text(struct sqlite_statement *st, int at, const char *text, size_t length)
{
    if (length > INT32_MAX)
        bound(st, SQLITE_TOOBIG);
    else
        bound(st, st->db->call.bind_text(to_bind(st), at, text, (int)length, SQLITE_TRANSIENT));
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
    int r = code == SQLITE_DONE ? 0 : fail(db, code, e);
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
    default: return SQLITE_IS_TEXT;
    }
}

int64_t sqlite_column_i64(const struct sqlite_statement *st, int at)
{
    return st->db->call.column_int64(st->handle, at);
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
