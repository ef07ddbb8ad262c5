/* SPDX-License-Identifier: MIT
 * Lines with a label, a text, a remark at the right and a curve, fitted to the width of a terminal.
 */
#include "sink/text/text.h"

#include <math.h>
#include <string.h>

/* A curve has a column for every second one that the terminal has beyond eighty. */
enum { LABEL = 13, CURVE = 8, CURVE_MOST = 32, WRAPPED_LINES = 3, TROUBLE_LINES = 5 };

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
    line->text.units = line->detail.units = line->remark.units = line->shorter.units = b->units;
    return line;
}

/* The largest value of the whole curve has the full height. */
static void text_put_curve(struct buf *b, const struct text_line *line, unsigned columns)
{
    static const char *const heights[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    double values[CURVE_MOST], most = 0;
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

/* The end of a line that begins at `at`: after the last word that fits, or after the last clause if
 * that is not much earlier ("87 % busy, memory 30 of 40 GiB," and not "…, 310 of"). */
static const char *text_line_end(const char *at, const char *end, size_t room)
{
    const char *word = at, *last = at, *clause = NULL;
    for (size_t column = 0; word < end;) {
        size_t length = text_word(word, (size_t)(end - word));
        column += (column ? 1 : 0) + utf8_columns(word, length);
        if (column > room)
            return clause ? clause : last > at ? last : word + length;
        last = word + length;
        if (length && strchr(",;:", last[-1]) && column * 5 >= room * 3)
            clause = last;
        word = last + (last < end); /* and the blank */
    }
    return end;
}

/* A text that is too long continues below its beginning, for a few lines. A word is never broken:
 * one that is longer than a line is cut, unless it is the path of a file in a line about trouble,
 * which has to be copied. Without `out` only the lines are counted. */
static unsigned text_wrap(struct buf *out, const struct text_line *line, unsigned indent,
                          unsigned width)
{
    enum { MARGIN = 2, PATH_LINES = 3 };
    const char *at = line->text.data, *end = at + line->text.length;
    const bool is_trouble = line->rank == RANK_TROUBLE;
    const unsigned most = is_trouble ? TROUBLE_LINES : WRAPPED_LINES;
    const size_t room = width > indent ? width - indent : 1;
    for (unsigned lines = 1;; lines++) {
        const char *stop = text_line_end(at, end, room);
        const size_t columns = utf8_columns(at, (size_t)(stop - at));
        const size_t rows = (columns + MARGIN + width - 1) / width; /* the terminal breaks it */
        const bool is_path = is_trouble && columns > room && rows <= PATH_LINES;
        if (out) {
            if (lines > 1 || is_path) {
                while (!buf_failed(out) && out->length && out->data[out->length - 1] == ' ')
                    out->length--; /* after a label that is alone */
                buf_putc(out, '\n');
                buf_pad(out, out->length, is_path ? MARGIN : indent);
            }
            size_t start = out->length;
            buf_add(out, at, (size_t)(stop - at));
            if (stop < end && lines >= most) /* the rest is in the details */
                buf_puts(out, " …");
            if (!is_path)
                text_cut(out, start, (unsigned)room);
        }
        if (is_path)
            lines += (unsigned)rows - (at > line->text.data);
        at = stop + (stop < end);
        if (at >= end || lines >= most)
            return lines;
    }
}

static unsigned text_line_height(const struct text_line *line, unsigned width)
{
    unsigned indent = line->label ? LABEL : 2;
    if (text_columns(&line->text) + indent <= width)
        return 1;
    return text_wrap(NULL, line, indent, width);
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
    size_t remark = text_columns(remark_text);
    size_t curve = width > TEXT_LINE ? CURVE + (width - TEXT_LINE) / 2 : CURVE;
    double values[CURVE_MOST];
    curve = curve > CURVE_MOST ? CURVE_MOST : curve;
    /* A run that is too short for that many has a shorter one, which begins at the same column. */
    unsigned points = line->curve ? curve_columns(line->curve, (unsigned)curve, false, values) : 0;
    bool has_curve = false; /* one without a value leaves its place to the remark */
    for (unsigned i = 0; i < points && points >= CURVE; i++)
        has_curve |= !isnan(values[i]);
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
        text_wrap(out, line, indent, width);
    } else {
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

static void text_block_remove(struct text_block *b, unsigned i)
{
    text_line_done(&b->lines[i]);
    b->count--;
    memmove(&b->lines[i], &b->lines[i + 1], (b->count - i) * sizeof b->lines[i]);
}

/* Lines of the lowest rank go first, and of those the last; a heading goes with its last line. */
static void text_block_fit(struct text_block *b, unsigned most, unsigned width)
{
    unsigned height = 0;
    for (unsigned i = 0; i < b->count; i++)
        height += text_line_height(&b->lines[i], width);
    for (enum text_rank rank = RANK_REMARK; rank < RANK_ANSWER; rank++)
        for (unsigned i = b->count; i-- && height > most;) {
            if (b->lines[i].rank != rank)
                continue;
            height -= text_line_height(&b->lines[i], width);
            text_block_remove(b, i);
            if (i && b->lines[i - 1].is_heading && (i == b->count || !b->lines[i].is_row)) {
                height -= text_line_height(&b->lines[--i], width);
                text_block_remove(b, i);
            }
        }
}

void text_block_write(struct text_block *b, struct sink *s, unsigned most, unsigned width)
{
    text_block_fit(b, most, width);
    for (unsigned i = 0; i < b->count; i++) {
        text_write_line(s, &b->lines[i], width);
        text_line_done(&b->lines[i]);
    }
}
