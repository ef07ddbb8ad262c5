/* SPDX-License-Identifier: MIT */
#include "sink/text/text.h"

#include <math.h>
#include <string.h>

/* Eighty columns: a title, five figures, a word on how they were obtained. Where there are fewer,
 * or figures are wider, the parts of a target are left out, then the mean. */
enum { TITLE = 21, TITLE_ALONE = 32, QUALITY = 9 };
enum { COLUMN_TOTAL, COLUMN_PEAK, COLUMN_MEAN, COLUMN_MAIN, COLUMN_CHILDREN, COLUMNS };

static const struct {
    const char *heading;
    unsigned width;
} text_columns[COLUMNS] = {
    {"total", 9}, {"peak", 10}, {"mean", 11}, {"main", 10}, {"children", 10},
};

/* A rate over less than this says nothing. */
#define SHORTEST_FOR_RATES NS_PER_SECOND

struct text_rows text_rows_of_target(const struct sink *s, const struct target_summary *t)
{
    struct text_rows r = {
        .first = process_first,
        .count = PROCESS_METRICS,
        .selected = s->selection.parts[PART_COMBINED],
        .partial = t->partial[PART_COMBINED],
    };
    for (unsigned part = 0; part < PARTS; part++) {
        r.series[part] = part == PART_COMBINED || t->has_parts ? t->series[part] : NULL;
        r.provenance[part] = t->provenance[part];
    }
    return r;
}

struct text_rows text_rows_of_instance(const struct sink *s, const struct instance_summary *t)
{
    enum entity_kind kind = t->instance->entity.kind;
    return (struct text_rows){
        .first = metric_first(kind),
        .count = metric_count(kind),
        .selected = s->selection.of[kind],
        .series = {[PART_COMBINED] = t->series},
    };
}

static const struct metric *text_metric(const struct text_rows *r, unsigned i)
{
    return metric_of(r->first + i);
}

enum quality text_quality(const struct text_rows *r, enum part part, unsigned i)
{
    if (!r->series[part] || r->series[part][i].is_unlimited) /* no number to print */
        return QUALITY_UNKNOWN;
    if (r->provenance[part])
        return r->provenance[part][i].quality;
    return summary_instance_quality(&r->series[part][i], text_metric(r, i));
}

double text_figure(const struct text_rows *r, enum part part, unsigned i)
{
    const struct series *s = &r->series[part][i];
    return text_metric(r, i)->kind == METRIC_COUNTER ? metric_number(text_metric(r, i), s->last)
                                                     : s->max;
}

static bool text_table_is_no_limit(const struct text_rows *r, enum part part, unsigned i)
{
    return r->series[part] && r->series[part][i].is_unlimited;
}

static bool text_table_is_shown(const struct text_rows *r, unsigned i)
{
    return (r->selected >> i & 1) && text_metric(r, i)->show <= SHOW_MORE;
}

static bool text_has_line(const struct text_rows *r, unsigned i)
{
    enum quality q = text_quality(r, PART_COMBINED, i);
    return text_table_is_shown(r, i) &&
           ((q != QUALITY_UNKNOWN && !text_is_nothing(q, text_figure(r, PART_COMBINED, i))) ||
            text_table_is_no_limit(r, PART_COMBINED, i));
}

/* The parts say something only when there is more than one of them. */
static bool has_parts(const struct text_rows *r)
{
    for (unsigned i = 0; i < r->count && r->series[PART_DESCENDANTS]; i++)
        if (text_metric(r, i)->fold == FOLD_CONSERVED &&
            text_quality(r, PART_DESCENDANTS, i) != QUALITY_UNKNOWN &&
            text_figure(r, PART_DESCENDANTS, i) > 0)
            return true;
    return false;
}

/* ==== The figures of one instance, below each other =========================================== */

/* Figures of a line are of one moment: of a gauge, what the part had when the whole had its peak. A
 * high-water mark of one process has none. */
static void text_table_add_figure(struct sink *s, const struct text_rows *r, enum part part,
                                  unsigned i)
{
    const struct metric *m = text_metric(r, i);
    enum quality q = text_quality(r, part, i);
    double number = r->series[part] ? text_figure(r, part, i) : 0;
    if (part != PART_COMBINED && r->series[part] && m->kind != METRIC_COUNTER &&
        m->fold != FOLD_MAX) {
        number = r->series[part][i].at_peak;
        q = r->series[part][i].at_peak_ns ? q : QUALITY_UNKNOWN;
    }
    if (q == QUALITY_UNKNOWN)
        buf_puts(&s->text, text_table_is_no_limit(r, part, i) ? "no limit" : "?");
    else if (text_is_nothing(q, number))
        buf_putc(&s->text, '?');
    else {
        /* The word at the end of the line is that of the whole: a part that is worse is marked. */
        bool is_worse = part != PART_COMBINED && q == QUALITY_SAMPLED &&
                        text_quality(r, PART_COMBINED, i) != QUALITY_SAMPLED;
        buf_puts(&s->text, q == QUALITY_LOWER_BOUND ? "≥" : is_worse ? "~" : "");
        human_number(&s->text, text_metric(r, i), number);
    }
}

/* What is read rarely weighs the moments of its readings: a mean that is above that of all resident
 * memory is not shown beside it. */
static bool text_table_mean_misleads(const struct text_rows *r, unsigned i)
{
    const struct series *rss = &r->series[PART_COMBINED][process_memory_rss_bytes];
    return r->first == process_first && (BIT(i) & PROCESS_ROLLUP_BITS) && rss->observed_ns &&
           series_mean(&r->series[PART_COMBINED][i], text_metric(r, i)) >
               series_mean(rss, metric_of(process_memory_rss_bytes));
}

/* How much is shown on each line. */
struct text_layout {
    unsigned title;   /* its width */
    unsigned columns; /* the first of them */
};

static unsigned text_table_width(const struct sink *s, unsigned title, unsigned columns)
{
    unsigned width = title + QUALITY;
    for (unsigned column = 0; column < columns; column++)
        width += text_wide(&s->text, text_columns[column].width);
    return width;
}

static struct text_layout text_table_lay_out(const struct sink *s, const struct text_rows *r)
{
    unsigned width = text_width(s);
    if (has_parts(r) && text_table_width(s, TITLE, COLUMNS) <= width)
        return (struct text_layout){TITLE, COLUMNS};
    if (text_table_width(s, TITLE_ALONE, COLUMN_MAIN) <= width)
        return (struct text_layout){TITLE_ALONE, COLUMN_MAIN};
    bool has_mean = text_table_width(s, TITLE, COLUMN_MAIN) <= width;
    return (struct text_layout){has_mean ? TITLE : TITLE - 1, has_mean ? COLUMN_MAIN : COLUMN_MEAN};
}

static void text_table_add_line(struct sink *s, const struct text_rows *r, unsigned i,
                                const struct text_layout *layout, uint64_t elapsed_ns)
{
    const struct metric *m = text_metric(r, i);
    const struct series *whole = &r->series[PART_COMBINED][i];
    bool is_counter = m->kind == METRIC_COUNTER;
    size_t start = s->text.length;
    buf_puts(&s->text, m->facts.title);
    text_cut(&s->text, start, layout->title);
    buf_pad(&s->text, start, layout->title);
    for (unsigned column = 0; column < layout->columns; column++) {
        if (column) /* stays when the figure is wider than its column */
            buf_putc(&s->text, ' ');
        start = s->text.length;
        if (column == (is_counter ? COLUMN_TOTAL : COLUMN_PEAK)) {
            text_style(s, BOLD);
            text_table_add_figure(s, r, PART_COMBINED, i);
            text_style(s, PLAIN);
        } else if (column == COLUMN_MAIN || column == COLUMN_CHILDREN) {
            text_table_add_figure(s, r, column == COLUMN_MAIN ? PART_MAIN : PART_DESCENDANTS, i);
        } else if (column == COLUMN_MEAN && !is_counter && m->fold != FOLD_MAX) {
            if (whole->observed_ns && !text_table_mean_misleads(r, i))
                human_number(&s->text, m, series_mean(whole, m));
        } else if (column == COLUMN_MEAN && is_counter && m->unit == UNIT_bytes &&
                   elapsed_ns >= SHORTEST_FOR_RATES && whole->observed_ns) {
            human_number(&s->text, m, series_mean(whole, m));
            buf_puts(&s->text, "/s");
        }
        /* Escape sequences have no width. */
        unsigned hidden = (s->flags & TOLL_OUTPUT_COLOR) &&
                                  column == (is_counter ? COLUMN_TOTAL : COLUMN_PEAK)
                              ? (unsigned)(strlen(BOLD) + strlen(PLAIN))
                              : 0;
        unsigned width = text_wide(&s->text, text_columns[column].width);
        buf_pad_left(&s->text, start, width - (column > 0) + hidden);
    }
    enum quality q = text_quality(r, PART_COMBINED, i);
    if (text_table_is_no_limit(r, PART_COMBINED, i)) {
        while (!buf_failed(&s->text) && s->text.data[s->text.length - 1] == ' ')
            s->text.length--;
    } else {
        text_style(s, DIM);
        buf_printf(&s->text, " %s",
                   q == QUALITY_LOWER_BOUND ? "at least"
                   : q == QUALITY_SAMPLED   ? "sampled"
                   : q == QUALITY_EXACT     ? "exact"
                                            : "counted");
        text_style(s, PLAIN);
    }
    buf_putc(&s->text, '\n');
}

void text_table(struct sink *s, const struct text_rows *r, uint64_t elapsed_ns)
{
    const struct text_layout layout = text_table_lay_out(s, r);
    bool any = false;
    for (unsigned i = 0; i < r->count; i++) {
        if (!text_has_line(r, i))
            continue;
        if (!any) {
            text_style(s, DIM);
            buf_pad(&s->text, s->text.length, layout.title);
            for (unsigned column = 0; column < layout.columns; column++)
                buf_printf(&s->text, "%*s", (int)text_wide(&s->text, text_columns[column].width),
                           text_columns[column].heading);
            buf_puts(&s->text, " quality");
            text_style(s, PLAIN);
            buf_putc(&s->text, '\n');
        }
        any = true;
        text_table_add_line(s, r, i, &layout, elapsed_ns);
    }
    if (any)
        buf_putc(&s->text, '\n');
}

/* A run of less than this may end before everything was read once. */
#define SHORTEST_FOR_ALL_READS NS_PER_SECOND

void text_unavailable(struct sink *s, const struct text_rows *r, uint64_t elapsed_ns)
{
    struct buf titles = {0};
    for (unsigned i = 0; i < r->count; i++)
        if (text_table_is_shown(r, i) && !text_has_line(r, i))
            buf_printf(&titles, "%s%s", titles.length ? "; " : "", text_metric(r, i)->facts.title);
    if (!titles.length)
        return;
    buf_puts(&titles, elapsed_ns < SHORTEST_FOR_ALL_READS
                          ? " (the run may be too short; see also toll doctor)"
                          : " (why: toll doctor)");
    text_paragraph_done(s, "not available: ", &titles);
    buf_putc(&s->text, '\n');
}

/* ==== Several instances of a kind, one line each ============================================== */

/* As many columns as fit. */
enum { KIND_NAME = 24, KIND_FIGURE = 10, KIND_COLUMNS = 12 };

/* What has a heading in a line of figures and is known of any of them. */
struct kind_table {
    unsigned columns[KIND_COLUMNS];
    unsigned count, most;
};

static struct kind_table text_kind_table(const struct sink *s)
{
    unsigned most = (text_width(s) - KIND_NAME) / text_wide(&s->text, KIND_FIGURE);
    return (struct kind_table){.most = most < KIND_COLUMNS ? most : KIND_COLUMNS};
}

/* Adds what is known of one instance: what matters most first, as far as there is room. */
static void text_kind_choose(struct kind_table *t, const struct text_rows *r)
{
    for (enum metric_show show = SHOW_HEAD; show <= SHOW_NEVER; show++)
        for (unsigned i = 0; i < r->count && t->count < t->most; i++) {
            const struct metric *m = metric_of(r->first + i);
            bool is_wanted = m->show == show && (r->selected >> i & 1) && *m->line &&
                             text_quality(r, PART_COMBINED, i) != QUALITY_UNKNOWN;
            for (unsigned c = 0; c < t->count; c++)
                is_wanted &= t->columns[c] != i;
            if (is_wanted)
                t->columns[t->count++] = i;
        }
}

static void text_kind_sort(struct kind_table *t)
{
    for (unsigned i = 1; i < t->count; i++)
        for (unsigned k = i; k && t->columns[k - 1] > t->columns[k]; k--) {
            unsigned other = t->columns[k];
            t->columns[k] = t->columns[k - 1];
            t->columns[k - 1] = other;
        }
}

static void text_kind_add_heading(struct sink *s, const struct kind_table *t, const char *title,
                                  enum metric_id first)
{
    bool has_upper = false;
    for (unsigned c = 0; c < t->count; c++)
        has_upper |= strchr(metric_of(first + t->columns[c])->line, '|') != NULL;
    text_style(s, DIM);
    for (int upper = has_upper; upper >= 0; upper--) {
        size_t start = s->text.length;
        buf_puts(&s->text, upper ? "" : title);
        buf_pad(&s->text, start, KIND_NAME);
        for (unsigned c = 0; c < t->count; c++) {
            char heading[64];
            text_heading(metric_of(first + t->columns[c]), upper, heading, sizeof heading);
            start = s->text.length;
            /* A total, not a rate. */
            bool is_rate = ends_with(heading, "/s");
            buf_add(&s->text, heading, strlen(heading) - (is_rate ? strlen("/s") : 0));
            buf_pad_left(&s->text, start, text_wide(&s->text, KIND_FIGURE));
        }
        if (!upper)
            text_style(s, PLAIN);
        while (!buf_failed(&s->text) && s->text.data[s->text.length - 1] == ' ')
            s->text.length--;
        buf_putc(&s->text, '\n');
    }
}

static void text_kind_add_line(struct sink *s, const struct kind_table *t,
                               const struct text_rows *r, const char *name)
{
    text_name_column(s, name, KIND_NAME);
    for (unsigned c = 0; c < t->count; c++) {
        unsigned i = t->columns[c];
        enum quality q = text_quality(r, PART_COMBINED, i);
        double figure = q == QUALITY_UNKNOWN ? 0 : text_figure(r, PART_COMBINED, i);
        size_t start = s->text.length;
        if (q == QUALITY_UNKNOWN) {
            buf_putc(&s->text, '?');
        } else if (text_is_nothing(q, figure)) {
            buf_puts(&s->text, "none seen");
        } else {
            buf_puts(&s->text, q == QUALITY_LOWER_BOUND ? "≥" : "");
            human_number(&s->text, metric_of(r->first + i), figure);
        }
        buf_pad_left(&s->text, start, text_wide(&s->text, KIND_FIGURE));
    }
    buf_putc(&s->text, '\n');
}

void text_kind(struct sink *s, const struct summary *summary, enum entity_kind kind)
{
    struct kind_table t = text_kind_table(s);
    for (size_t i = 0; i < summary->instance_count; i++) {
        if (summary->instances[i].instance->entity.kind != kind)
            continue;
        struct text_rows r = text_rows_of_instance(s, &summary->instances[i]);
        text_kind_choose(&t, &r);
    }
    if (!t.count)
        return;
    text_kind_sort(&t);
    bool any = false;
    for (size_t i = 0; i < summary->instance_count; i++) {
        const struct instance_summary *instance = &summary->instances[i];
        struct text_rows r = text_rows_of_instance(s, instance);
        if (instance->instance->entity.kind != kind)
            continue;
        if (!any)
            text_kind_add_heading(s, &t, entity_kind_plural(kind), r.first);
        any = true;
        text_kind_add_line(s, &t, &r, entity_name(&instance->instance->entity));
    }
    if (any)
        buf_putc(&s->text, '\n');
}

void text_targets(struct sink *s, const struct summary *summary)
{
    struct kind_table t = text_kind_table(s);
    for (size_t i = 0; i < summary->target_count; i++) {
        struct text_rows r = text_rows_of_target(s, &summary->targets[i]);
        text_kind_choose(&t, &r);
    }
    if (!t.count)
        return;
    text_kind_sort(&t);
    text_kind_add_heading(s, &t, entity_kind_plural(ENTITY_TARGET), process_first);
    for (size_t i = 0; i < summary->target_count; i++) {
        struct text_rows r = text_rows_of_target(s, &summary->targets[i]);
        text_kind_add_line(s, &t, &r, summary->run->targets[i].name);
    }
    struct text_rows all = text_rows_of_target(s, &summary->whole);
    text_kind_add_line(s, &t, &all, "together");
    buf_putc(&s->text, '\n');
}

/* ==== Blocks ================================================================================== */

/* Lines with a label, a text, a remark at the right and a curve, fitted to the width of a terminal.
 */

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

static size_t text_width_of(const struct buf *b)
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
    if (text_width_of(&line->text) + indent <= width)
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
    size_t text = text_width_of(&line->text), detail = text_width_of(&line->detail);
    const struct buf *remark_text = &line->remark;
    size_t remark = text_width_of(remark_text);
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
    if (text + detail + remark + curve > room && text_width_of(&line->shorter)) {
        remark_text = &line->shorter;
        remark = text_width_of(remark_text) + 2;
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
