/* SPDX-License-Identifier: MIT */
#include "layout/gpu_tracker/gpu_tracker.h"

#include "base/err.h"
#include "base/io/file.h"
#include "base/io/output_file.h"
#include "base/io/sqlite.h"
#include "base/text/buf.h"
#include "base/text/scan.h"
#include "layout/layout.h"

#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* ==== Results text ============================================================================ */

void text_tabs(struct buf *b, unsigned tabs)
{
    for (unsigned i = 0; i < tabs; i++)
        buf_putc(b, '\t');
}

static bool results_text_is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

void text_title(struct buf *b, const char *key, unsigned tabs)
{
    struct buf title = {0};
    char before = ' ';
    for (const char *c = key; *c; before = *c++) {
        char shown = *c == '_' ? ' ' : *c;
        if (results_text_is_letter(shown))
            shown = (char)(results_text_is_letter(before) ? shown | 0x20 : shown & ~0x20);
        buf_putc(&title, shown);
    }
    text_tabs(b, tabs);
    b->failed |= buf_failed(&title);
    buf_printable(b, title.data ? title.data : "", title.length);
    buf_puts(b, ":\n");
    buf_done(&title);
}

void text_number(struct buf *b, double value)
{
    enum { DECIMALS = 8 };
    if (isnan(value))
        buf_puts(b, "NaN");
    else
        python_float(b, python_round(value, DECIMALS));
}

static unsigned results_text_columns_of(const char *text)
{
    return (unsigned)utf8_columns(text, strlen(text));
}

static const char *results_text_cell(const struct text_frame *f, size_t row, size_t column)
{
    const struct buf *b = &f->cells[row * f->columns + column];
    return b->data ? b->data : "";
}

static unsigned results_text_width_of(const struct text_frame *f, size_t column)
{
    unsigned width = results_text_columns_of(f->column_names[column]) + !f->is_text;
    for (size_t row = 0; row < f->rows; row++) {
        unsigned wide = results_text_columns_of(results_text_cell(f, row, column));
        width = wide > width ? wide : width;
    }
    return width;
}

void text_frame_write(struct buf *b, const struct text_frame *f, unsigned tabs)
{
    unsigned names = 0;
    for (size_t row = 0; f->row_names && row < f->rows; row++) {
        unsigned wide = results_text_columns_of(f->row_names[row]);
        names = wide > names ? wide : names;
    }
    for (size_t line = 0; line <= f->rows; line++) { /* the first is the heading */
        text_tabs(b, tabs);
        size_t start = b->length;
        const char *name = line && f->row_names ? f->row_names[line - 1] : "";
        buf_printable(b, name, strlen(name));
        buf_pad(b, start, names);
        for (size_t i = 0; i < f->columns; i++) {
            const char *text = line ? results_text_cell(f, line - 1, i) : f->column_names[i];
            buf_putc(b, ' ');
            size_t began = b->length;
            buf_printable(b, text, strlen(text));
            buf_pad_left(b, began, results_text_width_of(f, i));
        }
        buf_putc(b, '\n');
    }
}

/* ==== Row file ================================================================================ */

enum { LONGEST_LINE = 1 << 20, BUSY_MS = 5000 };

struct row_file {
    enum row_format format;
    char *path;
    uint64_t rows; /* of the table, so far */

    int fd; /* of a CSV */
    struct line_reader lines;
    struct buf joined; /* a record whose quotes hold newlines */
    struct csv_record heading, row;

    struct sqlite *db;
    struct sqlite_statement *select;
};

/* From the suffix; -EINVAL and a sentence with those there are. */
static int row_format_of(const char *path, enum row_format *ret, struct toll_error *e)
{
    if (ends_with(path, ".csv"))
        *ret = ROWS_CSV;
    else if (ends_with(path, ".sqlite"))
        *ret = ROWS_SQLITE;
    else
        return err_set(e, -EINVAL,
                       "Invalid file name: \"%s\". Valid file extensions are \".csv\" and "
                       "\".sqlite\".",
                       path);
    return 0;
}

int row_file_open(struct row_file **ret, const char *path, struct toll_error *e)
{
    enum row_format format;
    int r = row_format_of(path, &format, e);
    if (r < 0)
        return r;
    struct row_file *f = calloc(1, sizeof *f);
    if (f)
        *f = (struct row_file){.format = format, .fd = -1, .path = strdup(path)};
    if (!f || !f->path) {
        row_file_close(f);
        return err_set(e, -ENOMEM, "%s: out of memory", path);
    }
    if (format == ROWS_SQLITE) {
        r = sqlite_open(&f->db, path, SQLITE_MODE_READ, BUSY_MS, e);
    } else {
        f->fd = open(path, O_RDONLY | O_CLOEXEC);
        if (f->fd < 0)
            r = err_set(e, -errno, "%s: %s", path, strerror(errno));
        line_reader_init(&f->lines, f->fd, LONGEST_LINE);
    }
    if (r < 0) {
        row_file_close(f);
        return r;
    }
    *ret = f;
    return 0;
}

void row_file_close(struct row_file *f)
{
    if (!f)
        return;
    sqlite_end(f->select);
    sqlite_close(f->db);
    line_reader_done(&f->lines);
    buf_done(&f->joined);
    csv_record_done(&f->heading);
    csv_record_done(&f->row);
    close_p(&f->fd);
    free(f->path);
    free(f);
}

enum row_format row_file_format(const struct row_file *f)
{
    return f->format;
}

/* ---- CSV ------------------------------------------------------------------------------------- */

static int row_file_bad_line(const struct row_file *f, int r, struct toll_error *e)
{
    const char *why = r == -EBADMSG    ? "not comma-separated values"
                      : r == -EAGAIN   ? "unclosed quote"
                      : r == -EMSGSIZE ? "too long"
                      : r == -E2BIG    ? "too many columns"
                                       : strerror(-r);
    return err_set(e, r == -EAGAIN || r == -EMSGSIZE || r == -E2BIG ? -EBADMSG : r,
                   "%s: line %llu: %s", f->path, (unsigned long long)f->lines.number, why);
}

/* A record is a line, or several where a quoted cell has newlines in it. Empty lines are none. */
static int next_record(struct row_file *f, struct csv_record *record, struct toll_error *e)
{
    buf_clear(&f->joined);
    bool joins = false;
    for (;;) {
        const char *line;
        size_t length;
        bool whole;
        int r = line_reader_next(&f->lines, &line, &length, &whole);
        if (r < 0)
            return row_file_bad_line(f, r, e);
        if (r == 0)
            return joins ? row_file_bad_line(f, -EAGAIN, e) : 0;
        if (!joins && (length == 0 || (length == 1 && *line == '\r')))
            continue;
        struct scan text = scan_text(line, length);
        if (joins) {
            buf_putc(&f->joined, '\n');
            buf_add(&f->joined, line, length);
            text = scan_text(f->joined.data, f->joined.length);
        }
        if (f->joined.length > LONGEST_LINE || buf_failed(&f->joined))
            return row_file_bad_line(f, -EMSGSIZE, e);
        r = parse_csv_record(text, record);
        if (r == 0)
            return 1;
        if (r != -EAGAIN)
            return row_file_bad_line(f, r, e);
        if (!joins)
            buf_add(&f->joined, line, length);
        joins = true;
    }
}

/* ---- Tables ---------------------------------------------------------------------------------- */

int row_file_table(struct row_file *f, const char *name, struct toll_error *e)
{
    f->rows = 0;
    if (f->format == ROWS_CSV) {
        int r = next_record(f, &f->heading, e);
        if (r == 0)
            return err_set(e, -ENODATA, "%s: header row missing (expected the names of columns)",
                           f->path);
        for (size_t i = 0; r > 0 && i < f->heading.count; i++)
            for (size_t k = 0; k < i && r > 0; k++)
                if (strcmp(csv_record_cell(&f->heading, i), csv_record_cell(&f->heading, k)) == 0)
                    r = err_set(e, -EBADMSG, "%s: line %llu: duplicate column '%s'", f->path,
                                (unsigned long long)f->lines.number,
                                csv_record_cell(&f->heading, i));
        return r < 0 ? r : 0;
    }
    sqlite_end(f->select);
    f->select = NULL;
    int there = sqlite_find_table(f->db, name, e);
    if (there < 0)
        return there;
    struct buf sql = {0};
    buf_puts(&sql, "SELECT * FROM ");
    sqlite_quote(&sql, name);
    buf_puts(&sql, " ORDER BY rowid");
    int r = buf_failed(&sql) ? err_set(e, -ENOMEM, "%s: out of memory", f->path)
                             : sqlite_prepare(&f->select, f->db, sql.data, e);
    buf_done(&sql);
    return r == -EINVAL ? err_set(e, -ENODATA, "%s: no table '%s'", f->path, name) : r;
}

size_t row_file_columns(const struct row_file *f)
{
    return f->format == ROWS_CSV ? f->heading.count : (size_t)sqlite_columns(f->select);
}

const char *row_file_name(const struct row_file *f, size_t column)
{
    return f->format == ROWS_CSV ? csv_record_cell(&f->heading, column)
                                 : sqlite_column_name(f->select, (int)column);
}

int row_file_column(const struct row_file *f, const char *name, struct toll_error *e)
{
    for (size_t i = 0; i < row_file_columns(f); i++)
        if (strcmp(row_file_name(f, i), name) == 0)
            return (int)i;
    return err_set(e, -ENOENT, "%s: no column '%s'", f->path, name);
}

/* ---- Rows ------------------------------------------------------------------------------------ */

int row_file_next(struct row_file *f, struct toll_error *e)
{
    int r = f->format == ROWS_CSV ? next_record(f, &f->row, e) : sqlite_step(f->select, e);
    if (r > 0 && f->format == ROWS_CSV && f->row.count != f->heading.count)
        return err_set(e, -EBADMSG, "%s: line %llu: %zu columns (expected %zu, as in the header)",
                       f->path, (unsigned long long)f->lines.number, f->row.count,
                       f->heading.count);
    f->rows += r > 0;
    return r;
}

const char *row_file_text(const struct row_file *f, size_t column)
{
    size_t length;
    return f->format == ROWS_CSV ? csv_record_cell(&f->row, column)
                                 : sqlite_column_text(f->select, (int)column, &length);
}

int row_file_number(const struct row_file *f, size_t column, double *ret, struct toll_error *e)
{
    if (f->format == ROWS_SQLITE && sqlite_column_type(f->select, (int)column) != SQLITE_IS_TEXT) {
        *ret = sqlite_column_double(f->select, (int)column);
        return 0;
    }
    const char *text = row_file_text(f, column);
    struct scan s = scan_string(text);
    if (!*text || strcmp(text, "nan") == 0) {
        *ret = NAN;
        return 0;
    }
    if (scan_number(&s, ret) && scan_done(&s))
        return 0;
    return err_set(e, -EBADMSG, "%s: row %llu: invalid number '%.40s' in column '%s'", f->path,
                   (unsigned long long)f->rows, text, row_file_name(f, column));
}

/* ==== Combine ================================================================================= */

static int copy_rows(struct block_log *to, const char *path, struct toll_error *e)
{
    struct block_rows *rows;
    int r = block_rows_open(&rows, path, e);
    if (r < 0)
        return r;
    struct block_stamp s;
    while (r >= 0 && (r = block_rows_next(rows, &s, e)) > 0)
        r = block_log_put(to, &s, e);
    block_rows_close(rows);
    return r;
}

int combine_blocks(const char *destination, const char *const *files, struct toll_error *e)
{
    enum row_format format, other;
    struct stat there;
    int r = row_format_of(destination, &format, e);
    if (r < 0)
        return r;
    if (lstat(destination, &there) == 0)
        return err_set(e, -EEXIST, "Cannot create sub-tracking file %s. File already exists.",
                       destination);
    for (const char *const *file = files; *file; file++)
        if (row_format_of(*file, &other, NULL) < 0 || other != format)
            return err_set(e, -EINVAL,
                           "File %s does not end with the same extension as %s. Must end in "
                           "\"%s\".",
                           *file, destination, format == ROWS_CSV ? ".csv" : ".sqlite");
    struct held_signals held;
    struct block_log *log = NULL;
    file_signals_hold(&held);
    r = block_log_open(&log, destination, format, e);
    for (const char *const *file = files; *file && r == 0; file++)
        r = copy_rows(log, *file, e);
    if (r == 0)
        r = block_log_commit(log, e);
    block_log_close(log);
    file_signals_release(&held);
    return r;
}

/* ==== Point store ============================================================================= */

static const char *point_store_type_of(const char *text)
{
    struct scan s = scan_string(text);
    double number;
    if (!*text)
        return "FLOAT"; /* not known at first: a figure */
    if (!scan_number(&s, &number) || !scan_done(&s))
        return "VARCHAR";
    return strpbrk(text, ".eE") ? "FLOAT" : "INTEGER";
}

/* The types are those of the first row. */
static int point_store_create(struct sqlite *db, const char *table, const struct row_file *from,
                              bool has_row, struct toll_error *e)
{
    struct buf sql = {0};
    buf_printf(&sql, "CREATE TABLE %s (", table);
    for (size_t i = 0; i < row_file_columns(from); i++) {
        buf_puts(&sql, i ? ", " : "");
        sqlite_quote(&sql, row_file_name(from, i));
        buf_printf(&sql, " %s", has_row ? point_store_type_of(row_file_text(from, i)) : "FLOAT");
    }
    buf_putc(&sql, ')');
    int r = buf_failed(&sql) ? err_set(e, -ENOMEM, "cannot write the table: out of memory")
                             : sqlite_run(db, sql.data, e);
    buf_done(&sql);
    return r;
}

static int prepare_insert(struct sqlite_statement **ret, struct sqlite *db, const char *table,
                          size_t columns, struct toll_error *e)
{
    struct buf sql = {0};
    buf_printf(&sql, "INSERT INTO %s VALUES (", table);
    for (size_t i = 0; i < columns; i++)
        buf_puts(&sql, i ? ", ?" : "?");
    buf_putc(&sql, ')');
    int r = buf_failed(&sql) ? err_set(e, -ENOMEM, "cannot write the table: out of memory")
                             : sqlite_prepare(ret, db, sql.data, e);
    buf_done(&sql);
    return r;
}

static void point_store_bind(struct sqlite_statement *st, int at, const char *text)
{
    struct scan s = scan_string(text), t = s;
    int64_t integer;
    double number;
    if (!*text)
        sqlite_bind_null(st, at);
    else if (scan_i64(&s, &integer) && scan_done(&s))
        sqlite_bind_i64(st, at, integer);
    else if (scan_number(&t, &number) && scan_done(&t))
        sqlite_bind_double(st, at, number);
    else
        sqlite_bind_text(st, at, text, strlen(text));
}

/* most: so many rows, and the next table begins. */
static int copy_table(struct sqlite *db, struct row_file *from, const char *table, uint64_t most,
                      struct toll_error *e)
{
    struct sqlite_statement *insert = NULL;
    int r = row_file_table(from, table, e);
    int row = r < 0 ? r : row_file_next(from, e);
    r = row < 0 ? row : point_store_create(db, table, from, row > 0, e);
    if (r == 0)
        r = prepare_insert(&insert, db, table, row_file_columns(from), e);
    while (r == 0 && row > 0) {
        for (size_t i = 0; i < row_file_columns(from); i++)
            point_store_bind(insert, (int)i + 1, row_file_text(from, i));
        r = sqlite_step(insert, e);
        row = r == 0 && --most ? row_file_next(from, e) : 0;
        if (row < 0)
            r = row;
    }
    sqlite_end(insert);
    return r;
}

static int point_store_copy(const char *csv, const char *path, struct toll_error *e)
{
    struct row_file *from = NULL;
    struct sqlite *db = NULL;
    int r = row_file_open(&from, csv, e);
    if (r == 0)
        r = sqlite_open(&db, path, SQLITE_MODE_WRITE, 0, e);
    if (r == 0)
        r = sqlite_run(db, "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; BEGIN",
                       e); /* nothing else knows the file yet */
    if (r == 0)
        r = copy_table(db, from, "static_data", 1, e);
    if (r == 0)
        r = copy_table(db, from, "data", UINT64_MAX, e);
    if (r == 0)
        r = sqlite_run(db, "COMMIT", e);
    sqlite_close(db);
    row_file_close(from);
    return r;
}

int points_to_sqlite(const char *csv, const char *sqlite, struct toll_error *e)
{
    struct replacement file;
    struct held_signals held;
    int r = replacement_open(&file, sqlite, REPLACEMENT_NAMED, e);
    if (r < 0)
        return r;
    file_signals_hold(&held);
    r = file.is_file ? point_store_copy(csv, file.path, e)
                     : err_set(e, -EINVAL, "%s: not a regular file (needed for SQLite)", sqlite);
    file_signals_release(&held);
    if (r == 0 && (r = replacement_commit(&file)) < 0)
        err_set(e, r, "%s: %s", sqlite, strerror(-r));
    replacement_close(&file);
    return r;
}
