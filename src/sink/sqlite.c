/* SPDX-License-Identifier: MIT
 * A SQLite file: the record for queries. While a sample is taken its rows are put into a log; the
 * sender's thread writes them to the file, a transaction for each batch. docs/sqlite.md describes
 * the tables. */
#include "sink/sink.h"

#include "base/io/file.h"
#include "base/io/output_file.h"
#include "base/io/sqlite.h"
#include "record/sqlite/sqlite.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>

/* ==== Sqlite file ============================================================================= */

enum {
    BUSY_MS = 10000,      /* others are done after milliseconds, unless very many start at once */
    BATCH_BUSY_MS = 1000, /* then the sender looks whether time is up, and tries again */
    SHORT_MS = 20,
    TRIES = 5,
};

/* The sentence without the path that SQLite's begin with: the caller names the file. */
static const char *without_path(const char *path, const struct toll_error *e)
{
    size_t length = strlen(path);
    bool has_it = strncmp(e->message, path, length) == 0 &&
                  strncmp(e->message + length, ": ", 2) == 0;
    return e->message + (has_it ? length + 2 : 0);
}

static int sqlite_file_cannot_write(const char *path, int r, struct toll_error *e)
{
    struct toll_error inner = *e;
    return err_set(e, r, "cannot write to '%s': %s", path, without_path(path, &inner));
}

/* ---- Whose file it is ------------------------------------------------------------------------ */

/* 1: there is nothing yet; 0: it is one of ours. What it says of itself stands in the file from the
 * moment it has tables, but another toll may be making them just now. */
static int sqlite_file_check_owner(const char *path, struct toll_error *e)
{
    struct stat st;
    int64_t application = 0, version = 0;
    for (unsigned tries = 0; tries < TRIES; tries++) {
        if (stat(path, &st) < 0)
            return errno == ENOENT
                       ? 1
                       : err_set(e, -errno, "cannot write to '%s': %s", path, strerror(errno));
        if (!S_ISREG(st.st_mode))
            return err_set(e, -EINVAL,
                           "cannot write to '%s': not a regular file (needed for SQLite)", path);
        if (st.st_size == 0)
            return 1;
        int r = sqlite_schema_peek(path, &application, &version, e);
        if (r == -EBADMSG)
            return err_set(e, r, "cannot write to '%s': not a SQLite file (left unchanged)", path);
        if (r < 0)
            return sqlite_file_cannot_write(path, r, e);
        if (application == SQLITE_SCHEMA_APPLICATION)
            break;
        nanosleep(&(struct timespec){.tv_nsec = SHORT_MS * NS_PER_MS}, NULL);
    }
    return sqlite_schema_is_ours(path, application, version, e);
}

/* SQLite opens for reading what it may not write to, and makes files beside its own only when it
 * needs them: both would be known too late. */
static int check_permissions(const char *path, struct toll_error *e)
{
    const char *slash = strrchr(path, '/');
    CLEANUP_FREE char *directory = slash ? strndup(path, (size_t)(slash - path) + 1) : strdup(".");
    if (!directory)
        return err_set(e, -ENOMEM, "cannot open the output: out of memory");
    if (faccessat(AT_FDCWD, path, W_OK, AT_EACCESS) < 0)
        return err_set(e, -errno, "cannot write to '%s': %s", path, strerror(errno));
    if (faccessat(AT_FDCWD, directory, W_OK, AT_EACCESS) < 0)
        return err_set(e, -errno, "cannot write to '%s': SQLite creates files next to it: %s", path,
                       strerror(errno));
    return 0;
}

static const char *const file_suffixes[] = {"", "-wal", "-shm", "-journal"};

/* SQLite opens what it finds under the names beside the file, a pipe too, and waits for it. */
static int sqlite_file_check_names(const char *path, struct toll_error *e)
{
    int r = output_file_check(path, e);
    CLEANUP_FREE char *real = r < 0 ? NULL : output_file_resolve(path);
    path = real ? real : path;
    for (size_t i = 0; r == 0 && i < ARRAY_LEN(file_suffixes); i++) {
        struct buf name = {0};
        buf_printf(&name, "%s%s", path, file_suffixes[i]);
        r = buf_failed(&name) ? err_set(e, -ENOMEM, "cannot open the output: out of memory")
                              : output_file_check(name.data, e);
        buf_done(&name);
    }
    return r;
}

/* ---- Making ---------------------------------------------------------------------------------- */

/* STRICT tables are the newest thing that is used. */
static int check_version(struct sqlite *db, struct toll_error *e)
{
    int64_t is_new = 0;
    int r = sqlite_ask(db,
                       "SELECT (substr(sqlite_version(), 1, 2) + 0) * 100 + "
                       "substr(sqlite_version(), 3) >= 338",
                       &is_new, e);
    if (r == 0 && !is_new)
        return err_set(e, -EOPNOTSUPP, "SQLite is too old (expected 3.38 or later)");
    return r;
}

/* While a file is written it has a log beside it (WAL), so that readers and writers do not wait for
 * each other, and a commit does not wait for the disk. The last one that writes puts it away again:
 * a file without it can be read by any program, also where nothing can be written. Switching needs
 * the file for itself; where that cannot be, all goes on as it is. It changes a few bytes of the
 * first sector, and either state is good: there is no need to wait for the disk. */
static int sqlite_file_use_wal(struct sqlite *db, struct toll_error *e)
{
    /* While SQLite waits for those that read, it lets no new ones in: trying again and again
     * without a wait would never succeed among many. */
    int r = sqlite_run(db, "PRAGMA synchronous = OFF; PRAGMA journal_mode = WAL", e);
    return r == -EBUSY ? 0 : r;
}

/* What a file says of itself is in it before it has a log beside it: see check_owner. */
static int make_tables(struct sqlite *db, bool is_new, struct toll_error *e)
{
    /* Nothing is lost with a file that has nothing in it yet. */
    int r = is_new ? sqlite_run(db, "PRAGMA synchronous = OFF", e) : 0;
    if (r == 0)
        r = sqlite_run(db, "BEGIN IMMEDIATE", e);
    if (r == 0)
        r = sqlite_schema_make(db, e);
    if (r == 0)
        r = sqlite_run(db, "COMMIT", e);
    if (r < 0)
        sqlite_run(db, "ROLLBACK", NULL);
    return r;
}

enum { CHECKED_BYTES = 8 << 20 }; /* some hundredths of a second */

/* A damaged file takes rows that cannot be read afterwards. All of a small one is looked at, of
 * others the runs. */
static int sqlite_file_check_damage(struct sqlite *db, struct toll_error *e)
{
    int64_t pages = 0, page_bytes = 0, good = 0;
    int r = sqlite_ask(db, "PRAGMA page_count", &pages, e);
    if (r == 0)
        r = sqlite_ask(db, "PRAGMA page_size", &page_bytes, e);
    if (r == 0)
        r = sqlite_ask(db,
                       pages * page_bytes <= CHECKED_BYTES
                           ? "SELECT quick_check = 'ok' FROM pragma_quick_check(1)"
                           : "SELECT count(length(start_ns)) >= 0 FROM runs NOT INDEXED",
                       &good, e);
    if (r == -EBADMSG || (r == 0 && !good))
        return err_set(e, -EBADMSG, "file is damaged (left unchanged)");
    return r;
}

/* All questions are one transaction: each alone would take and give back the locks of the file, of
 * which there are eighty questions, and many short runs may share a file. */
static int sqlite_file_make(struct sqlite *db, bool is_new, struct toll_error *e)
{
    bool is_complete;
    int r = sqlite_run(db, "BEGIN", e);
    if (r == 0)
        r = check_version(db, e);
    if (r == 0 && !is_new)
        r = sqlite_schema_check_kinds(db, e);
    if (r == 0 && !is_new)
        r = sqlite_file_check_damage(db, e);
    if (r == 0)
        r = sqlite_schema_check(db, &is_complete, e);
    if (r == 0)
        r = sqlite_run(db, "COMMIT", e);
    if (r == 0 && !is_complete)
        r = make_tables(db, is_new, e);
    if (r == 0) {
        /* It can be written to. Where another program does that just now, it can, too. */
        r = sqlite_run(db, "PRAGMA busy_timeout = 0; BEGIN IMMEDIATE; ROLLBACK", e);
        r = r == -EBUSY ? 0 : r;
    }
    return r;
}

static void sqlite_file_remove(const char *path)
{
    struct buf name = {0};
    CLEANUP_FREE char *real = output_file_resolve(path);
    path = real ? real : path;
    for (size_t i = 0; i < ARRAY_LEN(file_suffixes); i++) {
        buf_clear(&name);
        buf_printf(&name, "%s%s", path, file_suffixes[i]);
        if (!buf_failed(&name))
            unlink(name.data);
    }
    buf_done(&name);
}

static int sqlite_file_prepare_schema(const char *path, bool *ret_made, struct toll_error *e)
{
    struct stat st;
    struct sqlite *db = NULL;
    bool is_new = stat(path, &st) < 0 && errno == ENOENT;
    int r = sqlite_file_check_names(path, e);
    if (r == 0)
        r = sqlite_file_check_owner(path, e);
    if (r == 0)
        r = check_permissions(path, e);
    if (r < 0)
        return r;
    r = sqlite_open(&db, path, SQLITE_MODE_WRITE, BUSY_MS, e);
    if (r == 0)
        r = sqlite_file_make(db, is_new, e);
    sqlite_close(db);
    /* It has its tables by now, and there is time until the end of the run to write to it. */
    if (r == -EBUSY && sqlite_file_check_owner(path, NULL) == 0)
        r = 0;
    if (r < 0) {
        if (is_new && r != -EBUSY) /* then another toll is making it */
            sqlite_file_remove(path);
        if (r == -ENOSPC)
            return err_set(e, r, "cannot write to '%s': disk full, its tables do not fit", path);
        return sqlite_file_cannot_write(path, r, e);
    }
    *ret_made = is_new;
    return 0;
}

int sqlite_file_prepare(const char *path, bool *ret_made, struct toll_error *e)
{
    struct held_signals held;
    file_signals_hold(&held);
    int r = sqlite_file_prepare_schema(path, ret_made, e);
    file_signals_release(&held);
    return r;
}

void sqlite_file_discard(const char *path)
{
    struct held_signals held;
    struct sqlite *db = NULL;
    int64_t count = 1;
    file_signals_hold(&held);
    if (sqlite_open(&db, path, SQLITE_MODE_APPEND, SHORT_MS, NULL) < 0 ||
        sqlite_ask(db, "SELECT count(*) FROM runs", &count, NULL) < 0)
        count = 1;
    sqlite_close(db);
    if (!count)
        sqlite_file_remove(path);
    file_signals_release(&held);
}

/* ---- Writing --------------------------------------------------------------------------------- */

struct sqlite_file {
    struct sqlite *db;
    char *path;
    dev_t device;
    ino_t inode;
    int64_t run; /* its number in the file, 0: not there yet */
    struct sqlite_statement *statements[STATEMENTS];
};

/* SQLite goes on writing to a file that has no name any more. */
static int sqlite_file_check_place(struct sqlite_file *f, struct toll_error *e)
{
    struct stat st;
    if (stat(f->path, &st) < 0 || st.st_dev != f->device || st.st_ino != f->inode)
        return err_set(e, -ESTALE, "the file was removed or replaced");
    return 0;
}

void sqlite_file_close(struct sqlite_file *f)
{
    if (!f)
        return;
    struct held_signals held;
    file_signals_hold(&held);
    for (unsigned i = 0; i < STATEMENTS; i++)
        sqlite_end(f->statements[i]);
    int64_t is_busy = 1;
    /* Where others write, the last of them does it: none waits for another here. */
    if (f->db && f->run && sqlite_file_check_place(f, NULL) == 0 &&
        sqlite_run(f->db, "PRAGMA busy_timeout = 0", NULL) == 0)
        sqlite_ask(f->db, "PRAGMA wal_checkpoint(TRUNCATE)", &is_busy, NULL);
    if (!is_busy)
        sqlite_run(f->db, "PRAGMA synchronous = OFF; PRAGMA journal_mode = DELETE", NULL);
    sqlite_close(f->db);
    file_signals_release(&held);
    free(f->path);
    free(f);
}

static void drop_path(const char *path, struct toll_error *e)
{
    struct toll_error inner = *e;
    snprintf(e->message, sizeof e->message, "%s", without_path(path, &inner));
}

int sqlite_file_open(struct sqlite_file **ret, const char *path, bool is_apart,
                     struct toll_error *e)
{
    struct stat st;
    if (stat(path, &st) < 0)
        return err_set(e, -ESTALE, "the file was removed");
    int r = sqlite_file_check_names(path, e); /* since it was prepared */
    if (r < 0)
        return r;
    struct sqlite_file *f = calloc(1, sizeof *f);
    if (f)
        f->path = strdup(path);
    if (!f || !f->path) {
        free(f);
        return err_set(e, -ENOMEM, "cannot open the output: out of memory");
    }
    f->device = st.st_dev;
    f->inode = st.st_ino;
    r = sqlite_open(&f->db, path, is_apart ? SQLITE_MODE_APPEND_APART : SQLITE_MODE_APPEND,
                    BATCH_BUSY_MS, e);
    if (r == -ENOENT) /* since it was looked at */
        r = err_set(e, -ESTALE, "the file was removed");
    /* What was committed survives a kill at any time; when the machine itself goes down, the last
     * seconds may be missing, and the file is whole. */
    if (r == 0)
        r = sqlite_file_use_wal(f->db, e);
    if (r == 0)
        r = sqlite_run(f->db, "PRAGMA synchronous = NORMAL; PRAGMA cache_size = -1024", e);
    if (r < 0) {
        drop_path(path, e);
        sqlite_file_close(f);
        return r;
    }
    *ret = f;
    return 0;
}

static int find_statement(struct sqlite_file *f, unsigned number, struct toll_error *e)
{
    if (number >= STATEMENTS)
        return err_set(e, -EINVAL, "unknown statement %u", number);
    if (f->statements[number])
        return 0;
    struct buf sql = {0};
    sqlite_schema_statement(&sql, number);
    int r = buf_failed(&sql) ? err_set(e, -ENOMEM, "out of memory")
                             : sqlite_prepare(&f->statements[number], f->db, sql.data, e);
    buf_done(&sql);
    return r;
}

static int sqlite_file_end_row(struct sqlite_file *f, unsigned number, int64_t *run,
                               struct toll_error *e)
{
    struct sqlite_statement *st = f->statements[number];
    int r = sqlite_step(st, e);
    if (r > 0) { /* the number that the run has got */
        *run = sqlite_column_i64(st, 0);
        r = sqlite_step(st, e);
    }
    return r;
}

/* Binds the rows of a log to the statements. */
static int sqlite_file_write_rows(struct sqlite_file *f, const struct chunk *p, int64_t *run,
                                  struct toll_error *e)
{
    struct scan row_log = scan_text(p->data, p->length);
    struct row_log_item item;
    struct sqlite_statement *st = NULL;
    unsigned number = 0;
    int at = 0, r = 0;
    for (;;) {
        enum row_log_is is = sqlite_row_log_next(&row_log, &item);
        if (st && (is == ROW_LOG_ROW || is == ROW_LOG_END) &&
            (r = sqlite_file_end_row(f, number, run, e)) < 0)
            return r;
        switch (is) {
        case ROW_LOG_END: return 0;
        case ROW_LOG_ROW:
            number = item.statement;
            r = find_statement(f, number, e);
            if (r < 0)
                return r;
            st = f->statements[number];
            at = 1;
            if (*run)
                sqlite_bind_i64(st, at++, *run);
            else
                sqlite_bind_null(st, at++);
            break;
        case ROW_LOG_NULL: sqlite_bind_null(st, at++); break;
        case ROW_LOG_I64: sqlite_bind_i64(st, at++, item.i); break;
        case ROW_LOG_DOUBLE: sqlite_bind_double(st, at++, item.d); break;
        case ROW_LOG_TEXT:
            sqlite_bind_text(st, at++, item.text.at, (size_t)(item.text.end - item.text.at));
            break;
        }
    }
}

static int sqlite_file_write_all(struct sqlite_file *f, const struct batch *b, struct toll_error *e)
{
    int64_t run = f->run;
    int r = sqlite_run(f->db, "BEGIN IMMEDIATE", e);
    if (r < 0)
        return r;
    for (size_t i = 0; r == 0 && i < b->count; i++)
        r = sqlite_file_write_rows(f, &b->chunks[i], &run, e);
    if (r == 0)
        r = sqlite_run(f->db, "COMMIT", e);
    if (r < 0)
        sqlite_run(f->db, "ROLLBACK", NULL);
    else
        f->run = run;
    return r;
}

int sqlite_file_write(struct sqlite_file *f, const struct batch *b, struct toll_error *e)
{
    int r = sqlite_file_check_place(f, e);
    if (r == 0)
        r = sqlite_file_write_all(f, b, e);
    if (r < 0)
        drop_path(f->path, e);
    return r;
}

/* ==== Sqlite sink ============================================================================= */

struct state {
    char *path; /* owned, absolute: the program may go elsewhere */
    bool is_ours_to_remove;
    bool has_begun;
    struct sqlite_rows rows;  /* of the side that samples */
    struct sqlite_file *file; /* owned, of the sender's thread; NULL: not open */
};

static int sqlite_open_place(struct sink *s, struct toll_error *e)
{
    struct state *x = s->state = calloc(1, sizeof *x);
    if (!x)
        return err_set(e, -ENOMEM, "cannot open the output: out of memory");
    int r = sqlite_file_prepare(s->place, &x->is_ours_to_remove, e);
    if (r < 0)
        return r;
    x->path = realpath(s->place, NULL);
    if (!x->path)
        return err_set(e, -errno, "cannot write to '%s': %s", s->place, strerror(errno));
    s->plan.first_at_once = true; /* that there is a run */
    /* To know the file again; a descriptor of this kind disturbs none of SQLite's locks. */
    s->fd = open(x->path, O_PATH | O_CLOEXEC);
    s->owns_fd = s->fd >= 0;
    return 0;
}

static void sqlite_close_place(struct sink *s)
{
    struct state *x = s->state;
    if (!x)
        return;
    sqlite_file_close(x->file);
    if (x->is_ours_to_remove && !x->has_begun && x->path)
        sqlite_file_discard(x->path);
    sqlite_entities_done(&x->rows.entities);
    free(x->path);
    free(x);
}

/* ---- While a sample is taken ----------------------------------------------------------------- */

/* What was met for the first time goes before the rows that are of it, in a chunk that is not
 * dropped with a sample. */
static void sqlite_sink_describe(struct sink *s)
{
    struct buf *met = &((struct state *)s->state)->rows.entities.met;
    struct chunk p = {.kind = CHUNK_HEADING, .data = met->data, .length = met->length};
    if (buf_failed(met) || (met->length && sender_put(s->sender, &p) == -ENOMEM))
        s->text.failed = true; /* rows of an unknown entity are useless: it is tried again */
    else
        buf_clear(met);
}

static struct sqlite_rows *rows_of(struct sink *s)
{
    return &((struct state *)s->state)->rows;
}

static void sqlite_sink_begin(struct sink *s, const struct run *run)
{
    ((struct state *)s->state)->has_begun = true;
    sqlite_rows_run(&s->text, run, &s->selection);
}

static void sqlite_sink_frame(struct sink *s, const struct frame *f)
{
    sqlite_rows_frame(&s->text, rows_of(s), f, s->run, &s->selection);
    sqlite_sink_describe(s);
}

static void process_end(struct sink *s, const struct process_end *e)
{
    sqlite_rows_process_end(&s->text, rows_of(s), e, s->run, &s->selection);
}

static void sqlite_sink_mark(struct sink *s, const struct run_mark *m)
{
    sqlite_rows_mark(&s->text, rows_of(s), m, &s->selection);
}

static void sqlite_sink_note(struct sink *s, uint64_t elapsed_ns, const char *sentence)
{
    sqlite_rows_note(&s->text, rows_of(s), elapsed_ns, sentence);
}

static void sqlite_sink_summary(struct sink *s, const struct summary *summary)
{
    sqlite_summary(&s->text, rows_of(s), summary, &s->selection);
    sqlite_sink_describe(s);
}

/* ---- The sender's thread -------------------------------------------------------------------- */

/* What will not get better; anything else may: another program writes, or the disk is full. At the
 * end only the former is waited for. */
static bool sqlite_sink_is_final(int error, bool is_ending)
{
    return (is_ending && error != -EBUSY) || error == -ESTALE || error == -EBADMSG ||
           error == -EINVAL || error == -EOPNOTSUPP || error == -EROFS || error == -EACCES;
}

static enum delivery sqlite_sink_deliver(struct sink *s, const struct batch *b, struct attempt *a)
{
    struct state *x = s->state;
    struct toll_error e = {0};
    int r = x->file ? 0 : sqlite_file_open(&x->file, x->path, s->stays_open, &e);
    if (r == 0)
        r = sqlite_file_write(x->file, b, &e);
    bool is_last = b->count && b->chunks[b->count - 1].kind == CHUNK_SUMMARY;
    if (is_last && r == 0) {
        sqlite_file_close(x->file);
        x->file = NULL;
    }
    if (r == 0)
        return DELIVERY_DONE;
    snprintf(a->why, sizeof a->why, "%s", e.message);
    if (r == -EBUSY) /* SQLite has waited for others already */
        a->wait_ns = SHORT_MS * NS_PER_MS;
    return sqlite_sink_is_final(r, sender_is_ending(s->sender)) ? DELIVERY_REFUSED : DELIVERY_AGAIN;
}

static const struct sink_option options[] = {SINK_SENDER_OPTIONS("1s", "30s"), {.facts = {0}}};

const struct sink_kind sink_sqlite = {
    .format = {"sqlite", ".sqlite",
               "a SQLite file (.db, .sqlite3 too): the record for queries, as it happens", "FILE"},
    .other_suffixes = {".db", ".sqlite3"},
    .options = options,
    .has_no_bytes = true, /* others may write to the file */
    .open = sqlite_open_place,
    .begin = sqlite_sink_begin,
    .frame = sqlite_sink_frame,
    .process_end = process_end,
    .mark = sqlite_sink_mark,
    .note = sqlite_sink_note,
    .summary = sqlite_sink_summary,
    .close = sqlite_close_place,
    .deliver = sqlite_sink_deliver,
};
