/* SPDX-License-Identifier: MIT */
#include "sink/text/table.h"

#include "sink/words.h"

#include <string.h>

/* Eighty columns: a title, four figures, a word on how they were obtained. */
enum { TITLE = 25, FIGURE = 12, MEAN = 11, MAIN = 11, DESCENDANTS = 12 };

/* A rate over less than this says nothing. */
#define SHORTEST_FOR_RATES NS_PER_SECOND

/* ---- Where figures come from ----------------------------------------------------------------- */

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

static const struct metric *metric_at(const struct text_rows *r, unsigned i)
{
    return metric_of(r->first + i);
}

enum quality text_quality(const struct text_rows *r, enum part part, unsigned i)
{
    if (!r->series[part] || r->series[part][i].is_unlimited) /* no number to print */
        return QUALITY_UNKNOWN;
    if (r->provenance[part])
        return r->provenance[part][i].quality;
    return summary_instance_quality(&r->series[part][i], metric_at(r, i));
}

double text_figure(const struct text_rows *r, enum part part, unsigned i)
{
    const struct series *s = &r->series[part][i];
    return metric_at(r, i)->kind == METRIC_COUNTER ? metric_number(metric_at(r, i), s->last)
                                                   : s->max;
}

static bool text_table_is_zero(const struct text_rows *r, unsigned i)
{
    return text_figure(r, PART_COMBINED, i) == 0;
}

/* At least nothing is not known. */
static bool is_known(const struct text_rows *r, unsigned i)
{
    enum quality q = text_quality(r, PART_COMBINED, i);
    return q != QUALITY_UNKNOWN && !(q == QUALITY_LOWER_BOUND && text_table_is_zero(r, i));
}

static bool text_table_is_shown(const struct sink *s, const struct text_rows *r, unsigned i)
{
    bool verbose = s->flags & TOLL_OUTPUT_VERBOSE;
    return (r->selected >> i & 1) && metric_at(r, i)->show <= (verbose ? SHOW_MORE : SHOW_TABLE);
}

bool text_has_line(const struct sink *s, const struct text_rows *r, unsigned i)
{
    return text_table_is_shown(s, r, i) &&
           ((s->flags & TOLL_OUTPUT_VERBOSE) || (is_known(r, i) && !text_table_is_zero(r, i)));
}

/* The parts say something only when there is more than one of them. */
static bool has_parts(const struct text_rows *r)
{
    for (unsigned i = 0; i < r->count && r->series[PART_DESCENDANTS]; i++)
        if (metric_at(r, i)->fold == FOLD_CONSERVED &&
            text_quality(r, PART_DESCENDANTS, i) != QUALITY_UNKNOWN &&
            text_figure(r, PART_DESCENDANTS, i) > 0)
            return true;
    return false;
}

/* ---- Figures below each other ---------------------------------------------------------------- */

static const char *word_for(enum quality q)
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

static bool is_no_limit(const struct text_rows *r, enum part part, unsigned i)
{
    return r->series[part] && r->series[part][i].is_unlimited;
}

static void text_table_add_number(struct sink *s, const struct text_rows *r, enum part part,
                                  unsigned i)
{
    enum quality q = text_quality(r, part, i);
    double number = r->series[part] ? text_figure(r, part, i) : 0;
    if (q == QUALITY_UNKNOWN) {
        buf_puts(&s->text, is_no_limit(r, part, i) ? "no limit" : "?");
        return;
    }
    if (text_is_nothing(q, number)) {
        buf_puts(&s->text, "none seen");
        return;
    }
    buf_puts(&s->text, q == QUALITY_LOWER_BOUND ? "≥ " : is_marked_sampled(r, part, i) ? "~ " : "");
    human_number(&s->text, metric_at(r, i), number);
}

static void text_table_add_figure(struct sink *s, const struct text_rows *r, enum part part,
                                  unsigned i, unsigned width)
{
    buf_putc(&s->text, ' '); /* stays when the figure is wider than its column */
    size_t start = s->text.length;
    text_table_add_number(s, r, part, i);
    buf_pad_left(&s->text, start, width - 1);
}

/* The mean of a gauge; of bytes, how many a second. */
static void text_table_add_mean(struct sink *s, const struct text_rows *r, unsigned i,
                                uint64_t elapsed_ns)
{
    const struct metric *m = metric_at(r, i);
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

/* The last column; without a word the line ends with its last figure. */
static void text_table_add_word(struct sink *s, const char *word)
{
    while (!*word && s->text.length && s->text.data[s->text.length - 1] == ' ')
        s->text.length--;
    text_style(s, *word ? DIM : "");
    buf_puts(&s->text, word);
    text_style(s, *word ? PLAIN : "");
    buf_putc(&s->text, '\n');
}

static void text_table_add_line(struct sink *s, const struct text_rows *r, unsigned i, bool parts,
                                uint64_t elapsed_ns)
{
    size_t start = s->text.length;
    buf_puts(&s->text, metric_at(r, i)->facts.title);
    buf_pad(&s->text, start, TITLE);
    text_style(s, BOLD);
    text_table_add_figure(s, r, PART_COMBINED, i, FIGURE);
    text_style(s, PLAIN);
    text_table_add_mean(s, r, i, elapsed_ns);
    if (parts) {
        text_table_add_figure(s, r, PART_MAIN, i, MAIN);
        text_table_add_figure(s, r, PART_DESCENDANTS, i, DESCENDANTS);
    }
    text_table_add_word(
        s, is_no_limit(r, PART_COMBINED, i) ? "" : word_for(text_quality(r, PART_COMBINED, i)));
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

static const char *lead_for(const struct text_rows *r, unsigned i)
{
    switch (text_quality(r, PART_COMBINED, i)) {
    case QUALITY_UNKNOWN: return "unknown: ";
    case QUALITY_LOWER_BOUND: return "none seen: ";
    default: return "zero: ";
    }
}

/* The titles of those that begin with this lead. */
static void text_table_add_rest(struct sink *s, const struct text_rows *r, const char *lead)
{
    struct buf titles = {0};
    for (unsigned i = 0; i < r->count; i++) {
        if (!text_table_is_shown(s, r, i) || text_has_line(s, r, i) ||
            strcmp(lead_for(r, i), lead) != 0)
            continue;
        buf_printf(&titles, "%s%s", titles.length ? "; " : "", metric_at(r, i)->facts.title);
    }
    if (titles.length && !buf_failed(&titles))
        text_paragraph(s, lead, titles.data);
    buf_done(&titles);
}

void text_rest(struct sink *s, const struct text_rows *r)
{
    text_table_add_rest(s, r, "zero: ");
    text_table_add_rest(s, r, "none seen: ");
    text_table_add_rest(s, r, "unknown: ");
}
