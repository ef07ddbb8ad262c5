/* SPDX-License-Identifier: MIT */
#include "subtrack/results_text.h"

#include "base/utf8.h"
#include "dialect/python_number.h"

#include <math.h>
#include <string.h>

void text_tabs(struct buf *b, unsigned tabs)
{
    for (unsigned i = 0; i < tabs; i++)
        buf_putc(b, '\t');
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

void text_title(struct buf *b, const char *key, unsigned tabs)
{
    struct buf title = {0};
    char before = ' ';
    for (const char *c = key; *c; before = *c++) {
        char shown = *c == '_' ? ' ' : *c;
        if (is_letter(shown))
            shown = (char)(is_letter(before) ? shown | 0x20 : shown & ~0x20);
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

static unsigned columns_of(const char *text)
{
    return (unsigned)utf8_columns(text, strlen(text));
}

static const char *cell(const struct text_frame *f, size_t row, size_t column)
{
    const struct buf *b = &f->cells[row * f->columns + column];
    return b->data ? b->data : "";
}

static unsigned width_of(const struct text_frame *f, size_t column)
{
    unsigned width = columns_of(f->column_names[column]) + !f->is_text;
    for (size_t row = 0; row < f->rows; row++) {
        unsigned wide = columns_of(cell(f, row, column));
        width = wide > width ? wide : width;
    }
    return width;
}

static void put_right(struct buf *b, const char *text, unsigned width)
{
    buf_putc(b, ' ');
    size_t start = b->length;
    buf_printable(b, text, strlen(text));
    buf_pad_left(b, start, width);
}

void text_frame_write(struct buf *b, const struct text_frame *f, unsigned tabs)
{
    unsigned names = 0;
    for (size_t row = 0; f->row_names && row < f->rows; row++) {
        unsigned wide = columns_of(f->row_names[row]);
        names = wide > names ? wide : names;
    }
    for (size_t line = 0; line <= f->rows; line++) { /* the first is the heading */
        text_tabs(b, tabs);
        size_t start = b->length;
        const char *name = line && f->row_names ? f->row_names[line - 1] : "";
        buf_printable(b, name, strlen(name));
        buf_pad(b, start, names);
        for (size_t i = 0; i < f->columns; i++)
            put_right(b, line ? cell(f, line - 1, i) : f->column_names[i], width_of(f, i));
        buf_putc(b, '\n');
    }
}
