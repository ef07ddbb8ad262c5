/* SPDX-License-Identifier: MIT */
#include "sink/text/text.h"

#include <string.h>

/* Eighty columns: a title, four figures, a word on how they were obtained. */
enum { TITLE = 25, FIGURE = 12, MEAN = 11, MAIN = 11, DESCENDANTS = 12 };

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

static bool text_table_is_shown(const struct sink *s, const struct text_rows *r, unsigned i)
{
    bool verbose = s->flags & TOLL_OUTPUT_VERBOSE;
    return (r->selected >> i & 1) && text_metric(r, i)->show <= (verbose ? SHOW_MORE : SHOW_TABLE);
}

bool text_has_line(const struct sink *s, const struct text_rows *r, unsigned i)
{
    return text_table_is_shown(s, r, i) && ((s->flags & TOLL_OUTPUT_VERBOSE) ||
                                            (text_quality(r, PART_COMBINED, i) != QUALITY_UNKNOWN &&
                                             text_figure(r, PART_COMBINED, i) != 0));
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

static const char *text_quality_word(enum quality q)
{
    switch (q) {
    case QUALITY_LOWER_BOUND: return " at least";
    case QUALITY_SAMPLED: return " sampled";
    case QUALITY_UNKNOWN: return " unknown";
    default: return "";
    }
}

/* The word at the end of a line is that of its first figure: a part that is worse is marked. */
static bool is_marked_sampled(const struct text_rows *r, enum part part, unsigned i)
{
    return part != PART_COMBINED && text_quality(r, part, i) == QUALITY_SAMPLED &&
           text_quality(r, PART_COMBINED, i) != QUALITY_SAMPLED;
}

bool text_has_sampled_parts(const struct sink *s, const struct text_rows *r)
{
    for (unsigned i = 0; has_parts(r) && i < r->count; i++)
        if (text_has_line(s, r, i) &&
            (is_marked_sampled(r, PART_MAIN, i) || is_marked_sampled(r, PART_DESCENDANTS, i)))
            return true;
    return false;
}

static bool text_table_is_no_limit(const struct text_rows *r, enum part part, unsigned i)
{
    return r->series[part] && r->series[part][i].is_unlimited;
}

static void text_table_add_figure(struct sink *s, const struct text_rows *r, enum part part,
                                  unsigned i, unsigned width)
{
    enum quality q = text_quality(r, part, i);
    double number = r->series[part] ? text_figure(r, part, i) : 0;
    buf_putc(&s->text, ' '); /* stays when the figure is wider than its column */
    size_t start = s->text.length;
    if (q == QUALITY_UNKNOWN) {
        buf_puts(&s->text, text_table_is_no_limit(r, part, i) ? "no limit" : "?");
    } else if (text_is_nothing(q, number)) {
        buf_puts(&s->text, "none seen");
    } else {
        buf_puts(&s->text, q == QUALITY_LOWER_BOUND        ? "≥ "
                           : is_marked_sampled(r, part, i) ? "~ "
                                                           : "");
        human_number(&s->text, text_metric(r, i), number);
    }
    buf_pad_left(&s->text, start, width - 1);
}

/* The mean of a gauge; of bytes, how many a second. */
static void text_table_add_mean(struct sink *s, const struct text_rows *r, unsigned i,
                                uint64_t elapsed_ns)
{
    const struct metric *m = text_metric(r, i);
    const struct series *series = &r->series[PART_COMBINED][i];
    bool rate = m->kind == METRIC_COUNTER;
    bool says_something = rate ? m->unit == UNIT_bytes && elapsed_ns >= SHORTEST_FOR_RATES
                               : m->fold != FOLD_MAX;
    buf_putc(&s->text, ' '); /* stays when the figure is wider than its column */
    size_t start = s->text.length;
    if (says_something && series->observed_ns) {
        human_number(&s->text, m, series_mean(series, m));
        buf_puts(&s->text, rate ? "/s" : "");
    }
    buf_pad_left(&s->text, start, MEAN - 1);
}

static void text_table_add_line(struct sink *s, const struct text_rows *r, unsigned i, bool parts,
                                uint64_t elapsed_ns)
{
    size_t start = s->text.length;
    buf_puts(&s->text, text_metric(r, i)->facts.title);
    buf_pad(&s->text, start, TITLE);
    text_style(s, BOLD);
    text_table_add_figure(s, r, PART_COMBINED, i, FIGURE);
    text_style(s, PLAIN);
    text_table_add_mean(s, r, i, elapsed_ns);
    if (parts) {
        text_table_add_figure(s, r, PART_MAIN, i, MAIN);
        text_table_add_figure(s, r, PART_DESCENDANTS, i, DESCENDANTS);
    }
    /* The last column; without a word the line ends with its last figure. */
    const char *word = text_table_is_no_limit(r, PART_COMBINED, i)
                           ? ""
                           : text_quality_word(text_quality(r, PART_COMBINED, i));
    while (!*word && s->text.length && s->text.data[s->text.length - 1] == ' ')
        s->text.length--;
    text_style(s, *word ? DIM : "");
    buf_puts(&s->text, word);
    text_style(s, *word ? PLAIN : "");
    buf_putc(&s->text, '\n');
}

static void text_table_add_heading(struct sink *s, bool parts)
{
    const struct {
        const char *name;
        unsigned width;
    } columns[] = {
        {"", TITLE},
        {"total, peak", FIGURE},
        {"mean", MEAN},
        {part_name(PART_MAIN), MAIN},
        {part_name(PART_DESCENDANTS), DESCENDANTS},
    };
    text_style(s, DIM);
    for (size_t i = 0; i < (parts ? ARRAY_LEN(columns) : 3); i++) {
        size_t start = s->text.length;
        buf_puts(&s->text, columns[i].name);
        buf_pad_left(&s->text, start, columns[i].width);
    }
    text_style(s, PLAIN);
    buf_putc(&s->text, '\n');
}

void text_table(struct sink *s, const struct text_rows *r, uint64_t elapsed_ns)
{
    bool parts = has_parts(r);
    bool any = false;
    for (unsigned i = 0; i < r->count; i++) {
        if (!text_has_line(s, r, i))
            continue;
        if (!any)
            text_table_add_heading(s, parts);
        any = true;
        text_table_add_line(s, r, i, parts, elapsed_ns);
    }
    if (any)
        buf_putc(&s->text, '\n');
}

void text_rest(struct sink *s, const struct text_rows *r)
{
    struct buf zero = {0}, none_seen = {0}, unknown = {0};
    for (unsigned i = 0; i < r->count; i++) {
        if (!text_table_is_shown(s, r, i) || text_has_line(s, r, i))
            continue;
        enum quality q = text_quality(r, PART_COMBINED, i);
        struct buf *titles = q == QUALITY_UNKNOWN       ? &unknown
                             : q == QUALITY_LOWER_BOUND ? &none_seen
                                                        : &zero;
        buf_printf(titles, "%s%s", titles->length ? "; " : "", text_metric(r, i)->facts.title);
    }
    text_paragraph_done(s, "zero: ", &zero);
    text_paragraph_done(s, "none seen: ", &none_seen);
    text_paragraph_done(s, "unknown: ", &unknown);
}

/* ==== Several instances of a kind, one line each ============================================== */

/* As many columns as fit. */
enum { KIND_NAME = 24, KIND_FIGURE = 10, KIND_COLUMNS = (TEXT_LINE - KIND_NAME) / KIND_FIGURE };

/* What has a heading in a line of figures and is known of any of them. */
struct kind_table {
    unsigned columns[KIND_COLUMNS];
    unsigned count;
};

/* Adds what is known of one instance: what matters most first, as far as there is room. */
static void text_kind_choose(struct kind_table *t, const struct text_rows *r)
{
    for (enum metric_show show = SHOW_HEAD; show <= SHOW_NEVER; show++)
        for (unsigned i = 0; i < r->count && t->count < KIND_COLUMNS; i++) {
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
    text_style(s, DIM);
    size_t start = s->text.length;
    buf_puts(&s->text, title);
    buf_pad(&s->text, start, KIND_NAME);
    for (unsigned c = 0; c < t->count; c++) {
        const struct metric *m = metric_of(first + t->columns[c]);
        start = s->text.length;
        /* A total, not a rate. */
        buf_add(&s->text, m->line, strcspn(m->line, "/"));
        buf_pad_left(&s->text, start, KIND_FIGURE);
    }
    text_style(s, PLAIN);
    buf_putc(&s->text, '\n');
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
        buf_pad_left(&s->text, start, KIND_FIGURE);
    }
    buf_putc(&s->text, '\n');
}

/* An instance that did nothing is left out unless the output is verbose. */
static bool text_kind_has_line(const struct sink *s, const struct kind_table *t,
                               const struct text_rows *r)
{
    if (s->flags & TOLL_OUTPUT_VERBOSE)
        return true;
    for (unsigned c = 0; c < t->count; c++)
        if (text_quality(r, PART_COMBINED, t->columns[c]) != QUALITY_UNKNOWN &&
            text_figure(r, PART_COMBINED, t->columns[c]) != 0)
            return true;
    return false;
}

void text_kind(struct sink *s, const struct summary *summary, enum entity_kind kind)
{
    struct kind_table t = {0};
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
        if (instance->instance->entity.kind != kind || !text_kind_has_line(s, &t, &r))
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
    struct kind_table t = {0};
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
