/* SPDX-License-Identifier: MIT */
#include "sink/text/text.h"

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

void text_unavailable(struct sink *s, const struct text_rows *r)
{
    struct buf titles = {0};
    for (unsigned i = 0; i < r->count; i++)
        if (text_table_is_shown(r, i) && !text_has_line(r, i))
            buf_printf(&titles, "%s%s", titles.length ? "; " : "", text_metric(r, i)->facts.title);
    if (!titles.length)
        return;
    buf_puts(&titles, " (why: toll doctor)");
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
