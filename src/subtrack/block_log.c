/* SPDX-License-Identifier: MIT */
#include "subtrack/block_log.h"

#include "base/err.h"
#include "base/file.h"
#include "base/output_file.h"
#include "base/sqlite.h"
#include "dialect/python_number.h"
#include "parse/csv_record.h"

#include <string.h>

enum { ENOUGH = 1 << 16, BUSY_MS = 5000 };

const char block_log_create[] = "CREATE TABLE data (process_id INTEGER, code_block_name VARCHAR, "
                                "position INTEGER, timestamp FLOAT)";
const char block_log_insert[] = "INSERT INTO data VALUES (?, ?, ?, ?)";

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

static int open_database(struct block_log *l, struct toll_error *e)
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
        return err_set(e, -ENOMEM, "%s: no memory", path);
    }
    int r = replacement_open(&l->file, path, REPLACEMENT_NAMED | REPLACEMENT_IS_NEW, e);
    if (r == 0 && format == ROWS_SQLITE)
        r = open_database(l, e);
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

static int write_out(struct block_log *l, struct toll_error *e)
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
        return l->text.length < ENOUGH ? 0 : write_out(l, e);
    }
    sqlite_bind_i64(l->insert, BLOCK_PID + 1, s->pid);
    sqlite_bind_text(l->insert, BLOCK_NAME + 1, s->name, strlen(s->name));
    sqlite_bind_i64(l->insert, BLOCK_POSITION + 1, s->is_stop);
    sqlite_bind_double(l->insert, BLOCK_TIME + 1, s->time);
    return sqlite_step(l->insert, e);
}

int block_log_commit(struct block_log *l, struct toll_error *e)
{
    int r = l->db ? sqlite_run(l->db, "COMMIT", e) : write_out(l, e);
    if (r < 0)
        return r;
    sqlite_end(l->insert);
    sqlite_close(l->db);
    l->insert = NULL;
    l->db = NULL;
    r = replacement_commit(&l->file);
    return r < 0 ? err_set(e, r, "%s: %s", l->path, strerror(-r)) : 0;
}
