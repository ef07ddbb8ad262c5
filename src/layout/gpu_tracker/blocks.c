/* SPDX-License-Identifier: MIT */
#include "layout/gpu_tracker/gpu_tracker.h"

#include "base/err.h"
#include "base/io/file.h"
#include "base/io/output_file.h"
#include "base/io/sqlite.h"
#include "base/memory.h"
#include "base/text/scan.h"
#include "layout/layout.h"

#include <math.h>
#include <string.h>
#include <strings.h>

/* ==== Block rows ============================================================================== */

static const char *const block_columns[BLOCK_COLUMNS] = {"process_id", "code_block_name",
                                                         "position", "timestamp"};

struct block_rows {
    struct row_file *file;
    size_t at[BLOCK_COLUMNS];
    uint64_t count;
    char path[256]; /* for sentences */
};

int block_rows_open(struct block_rows **ret, const char *path, struct toll_error *e)
{
    struct block_rows *b = calloc(1, sizeof *b);
    if (!b)
        return err_set(e, -ENOMEM, "%s: out of memory", path);
    strncpy(b->path, path, sizeof b->path - 1);
    int r = row_file_open(&b->file, path, e);
    if (r == 0)
        r = row_file_table(b->file, "data", e);
    for (int i = 0; i < BLOCK_COLUMNS && r >= 0; i++) {
        r = row_file_column(b->file, block_columns[i], e);
        b->at[i] = (size_t)r;
    }
    if (r < 0) {
        block_rows_close(b);
        return r;
    }
    *ret = b;
    return 0;
}

void block_rows_close(struct block_rows *b)
{
    if (b)
        row_file_close(b->file);
    free(b);
}

static int block_rows_read_position(const struct block_rows *b, bool *ret, struct toll_error *e)
{
    const char *text = row_file_text(b->file, b->at[BLOCK_POSITION]);
    if (strcmp(text, "0") == 0 || strcasecmp(text, "START") == 0)
        *ret = false;
    else if (strcmp(text, "1") == 0 || strcasecmp(text, "STOP") == 0)
        *ret = true;
    else
        return err_set(e, -EBADMSG,
                       "%s: row %llu: invalid position '%.40s' (expected 0, START, 1 or STOP)",
                       b->path, (unsigned long long)b->count, text);
    return 0;
}

int block_rows_next(struct block_rows *b, struct block_stamp *ret, struct toll_error *e)
{
    double pid;
    int r = row_file_next(b->file, e);
    if (r <= 0)
        return r;
    *ret = (struct block_stamp){.number = ++b->count};
    r = row_file_number(b->file, b->at[BLOCK_PID], &pid, e);
    if (r == 0)
        r = row_file_number(b->file, b->at[BLOCK_TIME], &ret->time, e);
    if (r == 0)
        r = block_rows_read_position(b, &ret->is_stop, e);
    if (r == 0 && (isnan(ret->time) || !(fabs(pid) < 0x1p62) || pid != (double)(int64_t)pid))
        r = err_set(e, -EBADMSG, "%s: row %llu: invalid process_id or timestamp", b->path,
                    (unsigned long long)b->count);
    if (r < 0)
        return r;
    ret->pid = (int64_t)pid;
    ret->name = row_file_text(b->file, b->at[BLOCK_NAME]);
    if (row_file_format(b->file) == ROWS_CSV)
        ret->name = csv_record_plain(ret->name);
    return 1;
}

/* ==== Block log =============================================================================== */

enum { ENOUGH = 1 << 16, BUSY_MS = 5000 };

static const char block_log_create[] =
    "CREATE TABLE data (process_id INTEGER, code_block_name VARCHAR, "
    "position INTEGER, timestamp FLOAT)";
static const char block_log_insert[] = "INSERT INTO data VALUES (?, ?, ?, ?)";

struct block_log {
    char *path;
    struct replacement file;
    struct buf text;
    struct sqlite *db;
    struct sqlite_statement *insert;
};

void block_log_heading(struct buf *b, const char *newline)
{
    for (int i = 0; i < BLOCK_COLUMNS; i++)
        buf_printf(b, "%s%s", i ? "," : "", block_columns[i]);
    buf_puts(b, newline);
}

void block_log_row(struct buf *b, const struct block_stamp *s, const char *newline)
{
    buf_printf(b, "%lld,", (long long)s->pid);
    csv_record_write_name(b, s->name);
    buf_puts(b, s->is_stop ? ",1," : ",0,");
    python_float(b, s->time);
    buf_puts(b, newline);
}

static int block_log_open_database(struct block_log *l, struct toll_error *e)
{
    int r = sqlite_open(&l->db, l->file.path, SQLITE_MODE_WRITE, BUSY_MS, e);
    if (r == 0) /* nothing else knows the file yet: it needs no journal */
        r = sqlite_run(l->db, "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; BEGIN", e);
    if (r == 0)
        r = sqlite_run(l->db, block_log_create, e);
    if (r == 0)
        r = sqlite_prepare(&l->insert, l->db, block_log_insert, e);
    return r;
}

int block_log_open(struct block_log **ret, const char *path, enum row_format format,
                   struct toll_error *e)
{
    struct block_log *l = calloc(1, sizeof *l);
    if (l)
        *l = (struct block_log){.file = REPLACEMENT_CLOSED, .path = strdup(path)};
    if (!l || !l->path) {
        free(l);
        return err_set(e, -ENOMEM, "%s: out of memory", path);
    }
    int r = replacement_open(&l->file, path, REPLACEMENT_NAMED | REPLACEMENT_IS_NEW, e);
    if (r == 0 && format == ROWS_SQLITE)
        r = block_log_open_database(l, e);
    else if (r == 0)
        block_log_heading(&l->text, "\n");
    if (r < 0) {
        block_log_close(l);
        return r;
    }
    *ret = l;
    return 0;
}

void block_log_close(struct block_log *l)
{
    if (!l)
        return;
    sqlite_end(l->insert);
    sqlite_close(l->db);
    replacement_close(&l->file);
    buf_done(&l->text);
    free(l->path);
    free(l);
}

static int block_log_flush(struct block_log *l, struct toll_error *e)
{
    int r = buf_failed(&l->text)
                ? -ENOMEM
                : file_write_quietly(l->file.fd, l->text.data, l->text.length, NULL);
    buf_clear(&l->text);
    return r < 0 ? err_set(e, r, "%s: %s", l->path, strerror(-r)) : 0;
}

int block_log_put(struct block_log *l, const struct block_stamp *s, struct toll_error *e)
{
    if (!l->db) {
        block_log_row(&l->text, s, "\n");
        return l->text.length < ENOUGH ? 0 : block_log_flush(l, e);
    }
    sqlite_bind_i64(l->insert, BLOCK_PID + 1, s->pid);
    sqlite_bind_text(l->insert, BLOCK_NAME + 1, s->name, strlen(s->name));
    sqlite_bind_i64(l->insert, BLOCK_POSITION + 1, s->is_stop);
    sqlite_bind_double(l->insert, BLOCK_TIME + 1, s->time);
    return sqlite_step(l->insert, e);
}

int block_log_commit(struct block_log *l, struct toll_error *e)
{
    int r = l->db ? sqlite_run(l->db, "COMMIT", e) : block_log_flush(l, e);
    if (r < 0)
        return r;
    sqlite_end(l->insert);
    sqlite_close(l->db);
    l->insert = NULL;
    l->db = NULL;
    r = replacement_commit(&l->file);
    return r < 0 ? err_set(e, r, "%s: %s", l->path, strerror(-r)) : 0;
}

/* ==== Block calls ============================================================================= */

/* One row of the file. */
struct stamp {
    int64_t pid;
    uint64_t number; /* of the row */
    char *name;      /* owned */
    double time;
    bool is_stop;
};

struct stamps {
    struct stamp *list;
    size_t count;
};

void blocks_done(struct blocks *b)
{
    for (size_t i = 0; i < b->count; i++) {
        free(b->list[i].name);
        free(b->list[i].calls);
        free(b->list[i].spans);
    }
    free(b->list);
    *b = (struct blocks){0};
}

/* ---- Reading --------------------------------------------------------------------------------- */

static int block_calls_keep(struct stamps *s, const struct block_stamp *row)
{
    struct stamp stamp = {row->pid, row->number, strdup(row->name), row->time, row->is_stop};
    if (!stamp.name || !ARRAY_GROW(s->list, s->count)) {
        free(stamp.name);
        return -ENOMEM;
    }
    s->list[s->count++] = stamp;
    return 0;
}

static int blocks_read_stamps(struct stamps *ret, const char *path, struct toll_error *e)
{
    struct block_rows *rows;
    struct block_stamp row;
    int r = block_rows_open(&rows, path, e);
    if (r < 0)
        return r;
    while ((r = block_rows_next(rows, &row, e)) > 0)
        if (block_calls_keep(ret, &row) < 0) {
            r = err_set(e, -ENOMEM, "%s: out of memory", path);
            break;
        }
    block_rows_close(rows);
    return r;
}

/* ---- Calls ----------------------------------------------------------------------------------- */

/* What was logged at the same moment stands in the order in which it was logged. */
static int by_name_and_process(const void *a, const void *b)
{
    const struct stamp *x = a, *y = b;
    int names = strcmp(x->name, y->name);
    if (names)
        return names;
    if (x->pid != y->pid)
        return x->pid < y->pid ? -1 : 1;
    if (x->time != y->time)
        return x->time < y->time ? -1 : 1;
    return x->number < y->number ? -1 : 1;
}

static int by_start(const void *a, const void *b)
{
    const struct block_call *x = a, *y = b;
    return (x->start > y->start) - (x->start < y->start);
}

/* A stop without a start, in the words of gpu_tracker, which pairs it with the row after it; where
 * that tool would find nothing wrong, or fail without a word, in ours. */
static int block_calls_stray_stop(const struct stamp *s, const struct stamp *next,
                                  struct toll_error *e)
{
    struct buf pair = {0};
    python_float(&pair, s->time);
    if (next) {
        buf_puts(&pair, ", ");
        python_float(&pair, next->time);
    }
    const char *times = pair.data ? pair.data : "?";
    int r;
    if (next && next->pid != s->pid)
        r = err_set(e, -EBADMSG,
                    "Sub-tracking file is invalid. Detected timestamp pair (%s) with differing "
                    "process IDs: %lld and %lld.",
                    times, (long long)s->pid, (long long)next->pid);
    else if (next && !next->is_stop)
        r = err_set(e, -EBADMSG,
                    "Sub-tracking file is invalid. Detected timestamp pair (%s) of process ID %lld "
                    "with a start time greater than the stop time.",
                    times, (long long)s->pid);
    else
        r = err_set(e, -EBADMSG,
                    "Sub-tracking file is invalid. Row %llu stops \"%.200s\" of process ID %lld, "
                    "which had not started.",
                    (unsigned long long)s->number, s->name, (long long)s->pid);
    buf_done(&pair);
    return r;
}

/* The stamps of one block, by process: a stop belongs to the last start that is open. The starts
 * that are open stand at the front of a list of their own. */
static int block_calls_pair(struct block *b, const struct stamp *s, size_t count, const char *path,
                            struct toll_error *e)
{
    double *open = calloc(count, sizeof *open);
    size_t depth = 0;
    int r = 0;
    b->calls = calloc(count, sizeof *b->calls);
    if (!open || !b->calls)
        r = err_set(e, -ENOMEM, "%s: out of memory", path);
    for (size_t i = 0; i < count && r == 0; i++) {
        if (i && s[i].pid != s[i - 1].pid)
            depth = 0;
        if (!s[i].is_stop)
            open[depth++] = s[i].time;
        else if (depth)
            b->calls[b->call_count++] = (struct block_call){open[--depth], s[i].time};
        else
            r = block_calls_stray_stop(&s[i], i + 1 < count ? &s[i + 1] : NULL, e);
    }
    free(open);
    return r;
}

static bool block_merge_spans(struct block *b)
{
    b->spans = calloc(b->call_count + 1, sizeof *b->spans);
    if (!b->spans)
        return false;
    memcpy(b->spans, b->calls, b->call_count * sizeof *b->spans);
    qsort(b->spans, b->call_count, sizeof *b->spans, by_start);
    for (size_t i = 0; i < b->call_count; i++) {
        struct block_call *last = b->span_count ? &b->spans[b->span_count - 1] : NULL;
        if (!last || b->spans[i].start > last->stop)
            b->spans[b->span_count++] = b->spans[i];
        else if (b->spans[i].stop > last->stop)
            last->stop = b->spans[i].stop;
    }
    return true;
}

double block_since(const struct block *b, double time)
{
    size_t low = 0, high = b->span_count;
    while (low < high) { /* the first span that begins later */
        size_t middle = low + (high - low) / 2;
        if (b->spans[middle].start <= time)
            low = middle + 1;
        else
            high = middle;
    }
    const struct block_call *span = low ? &b->spans[low - 1] : NULL;
    return span && time <= span->stop ? time - span->start : (double)NAN;
}

static int blocks_make(struct blocks *ret, const struct stamps *s, const char *path,
                       struct toll_error *e)
{
    int r = 0;
    for (size_t i = 0, next; i < s->count && r == 0; i = next) {
        for (next = i + 1; next < s->count && strcmp(s->list[next].name, s->list[i].name) == 0;)
            next++;
        if (!ARRAY_GROW(ret->list, ret->count))
            return err_set(e, -ENOMEM, "%s: out of memory", path);
        struct block *b = &ret->list[ret->count++];
        *b = (struct block){.name = strdup(s->list[i].name)};
        r = block_calls_pair(b, s->list + i, next - i, path, e);
        if (r == 0 && (!b->name || !block_merge_spans(b)))
            r = err_set(e, -ENOMEM, "%s: out of memory", path);
    }
    return r;
}

int blocks_read(struct blocks *ret, const char *path, struct toll_error *e)
{
    struct stamps s = {0};
    *ret = (struct blocks){0};
    int r = blocks_read_stamps(&s, path, e);
    if (r == 0 && s.count)
        qsort(s.list, s.count, sizeof *s.list, by_name_and_process);
    if (r == 0)
        r = blocks_make(ret, &s, path, e);
    for (size_t i = 0; i < s.count; i++)
        free(s.list[i].name);
    free(s.list);
    if (r < 0)
        blocks_done(ret);
    return r;
}
