/* SPDX-License-Identifier: MIT */
#include "subtrack/row_file.h"

#include "base/err.h"
#include "base/line_reader.h"
#include "base/sqlite.h"
#include "parse/csv_record.h"

#include <fcntl.h>
#include <math.h>
#include <string.h>

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

int row_format_of(const char *path, enum row_format *ret, struct toll_error *e)
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
        return err_set(e, -ENOMEM, "%s: no memory", path);
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

static int bad_line(const struct row_file *f, int r, struct toll_error *e)
{
    const char *why = r == -EBADMSG    ? "is no row of comma-separated values"
                      : r == -EAGAIN   ? "has a quote that does not end"
                      : r == -EMSGSIZE ? "is too long"
                      : r == -E2BIG    ? "has too many columns"
                                       : strerror(-r);
    return err_set(e, r == -EAGAIN || r == -EMSGSIZE || r == -E2BIG ? -EBADMSG : r,
                   "%s: line %llu %s", f->path, (unsigned long long)f->lines.number, why);
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
            return bad_line(f, r, e);
        if (r == 0)
            return joins ? bad_line(f, -EAGAIN, e) : 0;
        if (!joins && (length == 0 || (length == 1 && *line == '\r')))
            continue;
        struct scan text = scan_text(line, length);
        if (joins) {
            buf_putc(&f->joined, '\n');
            buf_add(&f->joined, line, length);
            text = scan_text(f->joined.data, f->joined.length);
        }
        if (f->joined.length > LONGEST_LINE || buf_failed(&f->joined))
            return bad_line(f, -EMSGSIZE, e);
        r = parse_csv_record(text, record);
        if (r == 0)
            return 1;
        if (r != -EAGAIN)
            return bad_line(f, r, e);
        if (!joins)
            buf_add(&f->joined, line, length);
        joins = true;
    }
}

static int next_csv_row(struct row_file *f, struct toll_error *e)
{
    int r = next_record(f, &f->row, e);
    if (r > 0 && f->row.count != f->heading.count)
        return err_set(e, -EBADMSG, "%s: line %llu has %zu columns, its heading has %zu", f->path,
                       (unsigned long long)f->lines.number, f->row.count, f->heading.count);
    return r;
}

/* ---- Tables ---------------------------------------------------------------------------------- */

int row_file_table(struct row_file *f, const char *name, struct toll_error *e)
{
    f->rows = 0;
    if (f->format == ROWS_CSV) {
        int r = next_record(f, &f->heading, e);
        if (r == 0)
            return err_set(e, -ENODATA,
                           "%s: it ends where a row with the names of columns should stand",
                           f->path);
        for (size_t i = 0; r > 0 && i < f->heading.count; i++)
            for (size_t k = 0; k < i && r > 0; k++)
                if (strcmp(csv_record_cell(&f->heading, i), csv_record_cell(&f->heading, k)) == 0)
                    r = err_set(e, -EBADMSG, "%s: line %llu has the column \"%s\" twice", f->path,
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
    int r = buf_failed(&sql) ? err_set(e, -ENOMEM, "%s: no memory", f->path)
                             : sqlite_prepare(&f->select, f->db, sql.data, e);
    buf_done(&sql);
    return r == -EINVAL ? err_set(e, -ENODATA, "%s: there is no table \"%s\" in it", f->path, name)
                        : r;
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
    return err_set(e, -ENOENT, "%s: there is no column \"%s\" in it", f->path, name);
}

/* ---- Rows ------------------------------------------------------------------------------------ */

int row_file_next(struct row_file *f, struct toll_error *e)
{
    int r = f->format == ROWS_CSV ? next_csv_row(f, e) : sqlite_step(f->select, e);
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
    return err_set(e, -EBADMSG, "%s: row %llu: '%.40s' in the column \"%s\" is no number", f->path,
                   (unsigned long long)f->rows, text, row_file_name(f, column));
}
