/* SPDX-License-Identifier: MIT
 * Lines with a label, a text, a remark at the right and a curve, fitted to the width of a terminal.
 */
#include "sink/text/text.h"

#include <math.h>
#include <string.h>

enum { LABEL = 13, CURVE = 8, CURVE_WIDE = 16, WIDE = 110 };

static void text_line_done(struct text_line *line)
{
    buf_done(&line->text);
    buf_done(&line->detail);
    buf_done(&line->remark);
    buf_done(&line->shorter);
}

struct text_line *text_block_add(struct text_block *b, enum text_rank rank, const char *label)
{
    /* One line too many replaces the last: the block will be cut anyway. */
    if (b->count == TEXT_BLOCK_LINES)
        text_line_done(&b->lines[--b->count]);
    struct text_line *line = &b->lines[b->count++];
    *line = (struct text_line){.rank = rank, .label = label};
    return line;
}

void text_cut(struct buf *b, size_t start, unsigned columns)
{
    if (buf_failed(b) || utf8_columns(b->data + start, b->length - start) <= columns)
        return;
    while (b->length > start && utf8_columns(b->data + start, b->length - start) + 1 > columns) {
        b->length--;
        while (b->length > start && (b->data[b->length] & 0xC0) == 0x80)
            b->length--; /* not in the middle of a character */
    }
    buf_puts(b, "…");
}

/* The largest value of the whole curve has the full height. */
static void text_put_curve(struct buf *b, const struct text_line *line, unsigned columns)
{
    static const char *const heights[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    double values[CURVE_WIDE], most = 0;
    unsigned count = curve_columns(line->curve, columns, line->curve_is_peak, values);
    for (unsigned i = 0; i < count; i++)
        most = values[i] > most ? values[i] : most; /* false for NAN */
    for (unsigned i = 0; i < count; i++)
        if (isnan(values[i]))
            buf_putc(b, ' ');
        else
            buf_puts(b, heights[most > 0 && values[i] > 0 ? (int)(values[i] / most * 7 + 0.5) : 0]);
}

static size_t text_columns(const struct buf *b)
{
    return buf_failed(b) || !b->length ? 0 : utf8_columns(b->data, b->length);
}

/* A text that is too long continues below its beginning. */
static void text_wrap(struct buf *out, const struct buf *text, unsigned indent, unsigned width)
{
    const char *at = text->data, *end = at + text->length;
    size_t column = indent;
    while (at < end) {
        const char *blank = memchr(at, ' ', (size_t)(end - at));
        size_t length = (size_t)((blank ? blank : end) - at), columns = utf8_columns(at, length);
        if (column > indent && column + 1 + columns > width) {
            buf_putc(out, '\n');
            buf_pad(out, out->length, indent);
            column = indent;
        } else if (column > indent) {
            buf_putc(out, ' ');
            column++;
        }
        buf_add(out, at, length);
        column += columns;
        at += length + (blank != NULL);
    }
}

/* What does not fit is left out, the least important first: the longer form of the remark, the
 * detail, the curve, the remark. */
static void text_write_line(struct sink *s, const struct text_line *line, unsigned width)
{
    struct buf *out = &s->text;
    unsigned indent = line->label ? LABEL : 2;
    size_t room = width > indent ? width - indent : 0;
    size_t text = text_columns(&line->text), detail = text_columns(&line->detail);
    const struct buf *remark_text = &line->remark;
    size_t remark = text_columns(remark_text), curve = width >= WIDE ? CURVE_WIDE : CURVE;
    double unused[CURVE_WIDE];
    bool has_curve = line->curve &&
                     curve_columns(line->curve, (unsigned)curve, false, unused) == curve;
    curve = has_curve ? curve + 2 : 0;
    remark += remark ? 2 : 0;
    if (text + detail + remark + curve > room && text_columns(&line->shorter)) {
        remark_text = &line->shorter;
        remark = text_columns(remark_text) + 2;
    }
    if (text + detail + remark + curve > room)
        detail = 0;
    if (text + detail + remark + curve > room)
        curve = 0;
    if (text + detail + remark + curve > room)
        remark = 0;

    text_style(s, line->style ? line->style : "");
    size_t start = out->length;
    buf_puts(out, "  ");
    if (line->label) {
        size_t label = out->length;
        buf_puts(out, line->label);
        text_cut(out, label, LABEL - 3);
        buf_pad(out, start, indent);
    }
    if (text > room) {
        text_wrap(out, &line->text, indent, width);
    } else if (text) {
        buf_add(out, line->text.data, line->text.length);
        if (detail)
            buf_add(out, line->detail.data, line->detail.length);
        if (remark) {
            buf_pad(out, start, (unsigned)(width - (remark - 2) - curve));
            buf_add(out, remark_text->data, remark_text->length);
        }
        if (curve) {
            buf_pad(out, start, (unsigned)(width - curve + 2));
            text_put_curve(out, line, (unsigned)(curve - 2));
        }
    }
    while (!buf_failed(out) && out->length > start && out->data[out->length - 1] == ' ')
        out->length--;
    text_style(s, line->style ? PLAIN : "");
    buf_putc(out, '\n');
}

void text_block_write(struct text_block *b, struct sink *s, unsigned most, unsigned width)
{
    /* Lines of the lowest rank go first, and of those the last. */
    for (enum text_rank rank = RANK_REMARK; rank < RANK_TROUBLE; rank++)
        for (unsigned i = b->count; i-- && b->count > most;) {
            if (b->lines[i].rank != rank)
                continue;
            text_line_done(&b->lines[i]);
            b->count--;
            memmove(&b->lines[i], &b->lines[i + 1], (b->count - i) * sizeof b->lines[i]);
        }
    for (unsigned i = 0; i < b->count; i++) {
        text_write_line(s, &b->lines[i], width);
        text_line_done(&b->lines[i]);
    }
}

/* Each has the same width as its replacement, so that columns stay aligned. */
void text_to_ascii(struct buf *b, size_t start)
{
    static const struct {
        const char *from, *to;
    } signs[] = {
        {"≥ ", ">="}, {"≥", ">"}, {"…", "~"}, {"×", "x"}, {"µ", "u"}, {"°", " "},
        {"–", "-"},   {"▁", "_"}, {"▂", "."}, {"▃", "-"}, {"▄", "="}, {"▅", "+"},
        {"▆", "*"},   {"▇", "%"}, {"█", "#"}, {"σ", "s"}, {"±", "~"},
    };
    if (buf_failed(b))
        return;
    size_t to = start;
    for (size_t from = start; from < b->length;) {
        size_t length = 1;
        const char *ascii = NULL;
        for (size_t i = 0; i < ARRAY_LEN(signs) && !ascii && (b->data[from] & 0x80); i++) {
            length = strlen(signs[i].from);
            if (b->length - from >= length && memcmp(b->data + from, signs[i].from, length) == 0)
                ascii = signs[i].to;
        }
        if (!ascii && (b->data[from] & 0x80)) { /* a name from outside */
            ascii = "?";
            for (length = 1; from + length < b->length && (b->data[from + length] & 0xC0) == 0x80;)
                length++;
        } else if (!ascii) {
            length = 1;
        }
        size_t count = ascii ? strlen(ascii) : 1;
        memmove(b->data + to, ascii ? ascii : b->data + from, count);
        to += count;
        from += length;
    }
    b->length = to;
}
