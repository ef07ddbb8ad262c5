/* SPDX-License-Identifier: MIT
 * What the job reported about itself, after the summary: phases, gauges, events. */
#include "sink/text/text.h"

#include "summary/summary.h"

#include <stdio.h>

enum { NAME = 20, TIMES = 6, TIME = 9, DIGITS = 5, DIGITS_AT_MOST = 10 };
enum { LINES = 20 }; /* of a table, unless the output is verbose */
enum { GAUGE_NAME = 26, GAUGE_FIGURE = 12 };

static unsigned text_marks_width_of(const struct metric *m)
{
    return m->unit == UNIT_cores ? 6 : m->unit == UNIT_seconds ? 9 : 10;
}

static void text_marks_add_words(struct sink *s, const char *const words[], const unsigned widths[],
                                 size_t count)
{
    for (size_t i = 0; i < count; i++) {
        size_t start = s->text.length;
        buf_puts(&s->text, words[i]);
        if (i)
            buf_pad_left(&s->text, start, widths[i]);
        else
            buf_pad(&s->text, start, widths[i]);
    }
}

static size_t text_marks_lines(const struct sink *s, size_t count)
{
    return s->flags & TOLL_OUTPUT_VERBOSE || count < LINES ? count : LINES;
}

static void text_marks_add_rest(struct sink *s, size_t count)
{
    size_t shown = text_marks_lines(s, count);
    if (shown < count)
        buf_printf(&s->text, "… and %zu more; in the record and in JSON\n", count - shown);
}

/* ---- Phases ---------------------------------------------------------------------------------- */

/* Of a metric without a heading in a line, the first word of its name. */
static void text_marks_add_phase_heading(struct sink *s, uint64_t shown)
{
    static const char *const words[] = {"phase", "times", "time"};
    static const unsigned widths[] = {NAME, TIMES, TIME};
    text_style(s, DIM);
    text_marks_add_words(s, words, widths, ARRAY_LEN(words));
    FOR_EACH_BIT(id, shown)
    {
        const struct metric *m = metric_of(id);
        char heading[64];
        const char *word = text_heading(m, false, heading, sizeof heading);
        size_t start = s->text.length;
        buf_add(&s->text, word, strcspn(word, "/_"));
        buf_pad_left(&s->text, start, text_marks_width_of(m));
    }
    text_style(s, PLAIN);
    buf_putc(&s->text, '\n');
}

static void text_marks_add_phase_figure(struct sink *s, const struct phase_total *p,
                                        enum metric_id id)
{
    const struct metric *m = metric_of(id);
    struct phase_figure f = phase_total_figure(p, id);
    buf_putc(&s->text, ' ');
    size_t start = s->text.length;
    double number = m->kind == METRIC_COUNTER ? f.total : f.max >= 0 ? f.max : f.mean;
    if (f.quality == QUALITY_UNKNOWN || text_is_nothing(f.quality, number)) {
        buf_putc(&s->text, '?');
    } else {
        buf_puts(&s->text, f.quality == QUALITY_LOWER_BOUND ? "≥" : "");
        human_number(&s->text, m, number);
    }
    buf_pad_left(&s->text, start, text_marks_width_of(m) - 1);
}

static void text_marks_add_phase(struct sink *s, const struct phase_total *p, uint64_t shown)
{
    text_name_column(s, p->name, NAME);
    size_t start = s->text.length;
    human_count(&s->text, (double)p->count);
    buf_pad_left(&s->text, start, TIMES);
    buf_putc(&s->text, ' ');
    start = s->text.length;
    human_seconds(&s->text, (double)p->total_ns / 1e9);
    buf_pad_left(&s->text, start, TIME - 1);
    FOR_EACH_BIT(id, shown)
    text_marks_add_phase_figure(s, p, id);
    buf_putc(&s->text, '\n');
}

static void text_marks_add_phases(struct sink *s, const struct mark_totals *t)
{
    uint64_t shown = 0; /* the figures of the first lines of the summary */
    FOR_EACH_BIT(id, s->selection.parts[PART_COMBINED])
    if (metric_of(id)->show == SHOW_HEAD && phase_figures_has(metric_of(id)))
        shown |= BIT(id);
    text_marks_add_phase_heading(s, shown);
    struct buf not_ended = {0}, widened = {0};
    bool has_sampled = false; /* in the lines only a lower bound is marked */
    for (size_t i = 0; i < text_marks_lines(s, t->phase_count); i++) {
        const struct phase_total *p = &t->phases[i];
        text_marks_add_phase(s, p, shown);
        FOR_EACH_BIT(id, shown)
        has_sampled |= phase_total_figure(p, id).quality == QUALITY_SAMPLED;
        if (p->not_ended)
            buf_printf(&not_ended, "%s%s", not_ended.length ? ", " : "", p->name);
        if (p->widened)
            buf_printf(&widened, "%s%s", widened.length ? ", " : "", p->name);
    }
    text_marks_add_rest(s, t->phase_count);
    if (has_sampled)
        text_paragraph(s, "",
                       "figures of phases are sampled; CPU time of children may count late, for "
                       "the next phase");
    text_paragraph_done(s, "not ended when the run was over: ", &not_ended);
    text_paragraph_done(s, "figures of the whole target: ", &widened);
}

/* ---- The program's own figures --------------------------------------------------------------- */

static void text_marks_add_gauge(struct sink *s, const struct gauge_total *g)
{
    const double numbers[] = {g->last, g->min, g->sum / (double)g->count, g->max};
    text_name_column(s, g->name, GAUGE_NAME);
    size_t start = s->text.length;
    human_count(&s->text, (double)g->count);
    buf_pad_left(&s->text, start, TIMES);
    for (size_t i = 0; i < ARRAY_LEN(numbers); i++) {
        buf_putc(&s->text, ' ');
        start = s->text.length;
        char text[64];
        int digits = DIGITS_AT_MOST; /* as many as fit */
        while (digits > DIGITS &&
               snprintf(text, sizeof text, "%.*g", digits, numbers[i]) >= GAUGE_FIGURE)
            digits--;
        buf_number_short(&s->text, numbers[i], (unsigned)digits);
        buf_pad_left(&s->text, start, GAUGE_FIGURE - 1);
    }
    buf_putc(&s->text, '\n');
}

static void text_marks_add_gauges(struct sink *s, const struct mark_totals *t)
{
    static const char *const words[] = {"gauge", "times", "last", "min", "mean", "max"};
    static const unsigned widths[] = {GAUGE_NAME,   TIMES,        GAUGE_FIGURE,
                                      GAUGE_FIGURE, GAUGE_FIGURE, GAUGE_FIGURE};
    text_style(s, DIM);
    text_marks_add_words(s, words, widths, ARRAY_LEN(words));
    text_style(s, PLAIN);
    buf_putc(&s->text, '\n');
    for (size_t i = 0; i < text_marks_lines(s, t->gauge_count); i++)
        text_marks_add_gauge(s, &t->gauges[i]);
    text_marks_add_rest(s, t->gauge_count);
}

void text_marks(struct sink *s, const struct mark_totals *t)
{
    const struct {
        uint64_t count;
        const char *one, *several;
    } counts[] = {
        {t->events, "event in the record", "events in the record"},
        {t->ignored, "mark was ignored: not understood, or of another user",
         "marks were ignored: not understood, or of another user"},
        {t->lost, "mark was lost", "marks were lost"},
    };
    if (!mark_totals_any(t))
        return;
    if (t->phase_count)
        text_marks_add_phases(s, t);
    if (t->phase_count && t->gauge_count)
        buf_putc(&s->text, '\n');
    if (t->gauge_count)
        text_marks_add_gauges(s, t);
    for (size_t i = 0; i < ARRAY_LEN(counts); i++)
        if (counts[i].count)
            buf_printf(&s->text, "%llu %s\n", (unsigned long long)counts[i].count,
                       counts[i].count == 1 ? counts[i].one : counts[i].several);
    buf_putc(&s->text, '\n');
}
