/* SPDX-License-Identifier: MIT */
#include "parse/csv_record.h"

#include <string.h>

void csv_record_done(struct csv_record *r)
{
    buf_done(&r->text);
    free(r->starts);
    *r = (struct csv_record){0};
}

static int begin_cell(struct csv_record *r)
{
    if (r->count == CSV_CELLS_AT_MOST)
        return -E2BIG;
    if (r->count == r->capacity) {
        size_t capacity = r->capacity ? 2 * r->capacity : 32;
        size_t *longer = realloc(r->starts, capacity * sizeof *longer);
        if (!longer)
            return -ENOMEM;
        r->starts = longer;
        r->capacity = capacity;
    }
    r->starts[r->count++] = r->text.length;
    return 0;
}

/* Behind the opening quote; two quotes are one. */
static int take_quoted(struct scan *s, struct buf *text)
{
    for (;;) {
        const char *quote = memchr(s->at, '"', (size_t)(s->end - s->at));
        if (!quote)
            return -EAGAIN;
        buf_add(text, s->at, (size_t)(quote - s->at));
        s->at = quote + 1;
        if (scan_done(s) || *s->at != '"')
            break;
        buf_putc(text, '"');
        s->at++;
    }
    return scan_done(s) || *s->at == ',' ? 0 : -EBADMSG;
}

static void take_plain(struct scan *s, struct buf *text)
{
    const char *comma = memchr(s->at, ',', (size_t)(s->end - s->at));
    const char *end = comma ? comma : s->end;
    buf_add(text, s->at, (size_t)(end - s->at));
    s->at = end;
}

int parse_csv_record(struct scan line, struct csv_record *r)
{
    buf_clear(&r->text);
    r->count = 0;
    if (!scan_done(&line) && line.end[-1] == '\r')
        line.end--;
    if (memchr(line.at, '\0', (size_t)(line.end - line.at)))
        return -EBADMSG;
    for (;; line.at++) { /* past the comma */
        int result = begin_cell(r);
        if (result == 0 && !scan_done(&line) && *line.at == '"') {
            line.at++;
            result = take_quoted(&line, &r->text);
        } else if (result == 0) {
            take_plain(&line, &r->text);
        }
        if (result < 0)
            return result;
        buf_putc(&r->text, '\0');
        if (scan_done(&line))
            return buf_failed(&r->text) ? -ENOMEM : 0;
    }
}

void csv_record_write(struct buf *b, const char *cell)
{
    bool quoted = strpbrk(cell, ",\"\r\n") != NULL;
    if (quoted)
        buf_putc(b, '"');
    for (const char *c = cell; *c; c++) {
        if (*c == '"')
            buf_putc(b, '"');
        buf_putc(b, *c);
    }
    if (quoted)
        buf_putc(b, '"');
}

static bool is_formula(const char *text)
{
    return *text && strchr("=+-@\t\r", *text);
}

void csv_record_write_name(struct buf *b, const char *name)
{
    if (!is_formula(name + strspn(name, "'"))) {
        csv_record_write(b, name);
        return;
    }
    struct buf marked = {0};
    buf_printf(&marked, "'%s", name);
    b->failed |= buf_failed(&marked);
    csv_record_write(b, marked.data ? marked.data : "");
    buf_done(&marked);
}

const char *csv_record_plain(const char *cell)
{
    return *cell == '\'' && is_formula(cell + strspn(cell, "'")) ? cell + 1 : cell;
}
