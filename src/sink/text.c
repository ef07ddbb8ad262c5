/* SPDX-License-Identifier: MIT
 * The summary for a person at a terminal: what the job used, how each figure was obtained, what
 * could not be read, and what measuring cost. */
#include "sink/human.h"
#include "sink/sinks.h"

#include <string.h>

enum { TITLE_WIDTH = 31, FIGURE_WIDTH = 13 };

static void style(struct sink *s, const char *sequence)
{
    if (s->flags & TOLL_OUTPUT_COLOR)
        buf_puts(&s->text, sequence);
}

#define BOLD  "\033[1m"
#define DIM   "\033[2m"
#define PLAIN "\033[0m"

/* ---- Head ------------------------------------------------------------------------------------ */

static bool needs_quotes(const char *word)
{
    return !*word || strpbrk(word, " \t\n\"'\\$`*?[]{}()<>|&;!#~");
}

/* As one could type it; what could confuse a terminal is left out. */
static void add_command(struct sink *s, char *const *command)
{
    size_t start = s->text.length;
    for (char *const *arg = command; arg && *arg && s->text.length - start < 300; arg++) {
        bool quoted = needs_quotes(*arg);
        buf_puts(&s->text, arg == command ? "" : " ");
        buf_puts(&s->text, quoted ? "'" : "");
        for (const char *c = *arg; *c; c++)
            buf_putc(&s->text, (unsigned char)*c < 0x20 || *c == 0x7F ? '?' : *c);
        buf_puts(&s->text, quoted ? "'" : "");
    }
    if (s->text.length - start > 300 && !buf_failed(&s->text)) {
        s->text.length = start + 300;
        buf_puts(&s->text, "…");
    }
}

static void add_end(struct sink *s, const struct summary *summary)
{
    const struct toll_end *end = &summary->end;
    if (!end->ended)
        buf_puts(&s->text, "still running");
    else if (end->signaled)
        buf_printf(&s->text, "killed by signal %d (%s)%s", end->status, strsignal(end->status),
                   end->core_dumped ? ", core dumped" : "");
    else
        buf_printf(&s->text, "exit %d", end->status);
    buf_puts(&s->text, " after ");
    human_seconds(&s->text, (double)summary->elapsed_ns / 1e9);
}

static void add_head(struct sink *s, const struct summary *summary)
{
    style(s, BOLD);
    buf_puts(&s->text, "toll: ");
    add_command(s, summary->run->command);
    style(s, PLAIN);
    buf_puts(&s->text, "\n      ");
    add_end(s, summary);
    buf_puts(&s->text, "\n\n");
}

/* ---- Table ----------------------------------------------------------------------------------- */

static const char *quality_for_people(enum quality q)
{
    switch (q) {
    case QUALITY_LOWER_BOUND: return "at least";
    case QUALITY_EXACT_IF_REAPED: return "exact *";
    default: return quality_word(q);
    }
}

/* What stands for a series in the columns of parts: the total, or the peak. */
static double figure(const struct series *s, const struct metric *m)
{
    return m->kind == METRIC_COUNTER ? metric_number(m, s->last) : s->max;
}

static void add_figure(struct sink *s, const struct summary *summary, enum part part,
                       enum metric_id id)
{
    size_t start = s->text.length;
    if (summary_knows(summary, part, id))
        human_number(&s->text, metric_of(id), figure(&summary->target[part][id], metric_of(id)));
    else
        buf_puts(&s->text, "?");
    buf_pad_left(&s->text, start, FIGURE_WIDTH);
}

static void add_mean(struct sink *s, const struct series *series, const struct metric *m)
{
    size_t start = s->text.length;
    double mean = series_mean(series, m);
    if (m->kind == METRIC_COUNTER)
        human_rate(&s->text, m, mean);
    else if (m->fold != FOLD_MAX)
        human_number(&s->text, m, mean);
    buf_pad_left(&s->text, start, FIGURE_WIDTH);
}

static void add_line(struct sink *s, const struct summary *summary, enum metric_id id)
{
    const struct metric *m = metric_of(id);
    size_t start = s->text.length;
    buf_puts(&s->text, m->facts.title);
    buf_pad(&s->text, start, TITLE_WIDTH);
    style(s, BOLD);
    add_figure(s, summary, PART_COMBINED, id);
    style(s, PLAIN);
    add_mean(s, &summary->target[PART_COMBINED][id], m);
    if (!summary->run->no_children) {
        add_figure(s, summary, PART_MAIN, id);
        add_figure(s, summary, PART_DESCENDANTS, id);
    }
    style(s, DIM);
    buf_printf(&s->text, "  %s", quality_for_people(summary->verdicts[PART_COMBINED][id].quality));
    style(s, PLAIN);
    buf_putc(&s->text, '\n');
}

static void add_heading(struct sink *s, const struct summary *summary, enum metric_kind kind)
{
    static const char *const names[][2] = {
        [METRIC_COUNTER] = {"total", "mean rate"},
        [METRIC_GAUGE] = {"peak", "mean"},
    };
    style(s, DIM);
    size_t start = s->text.length;
    buf_pad(&s->text, start, TITLE_WIDTH);
    const char *columns[] = {names[kind][0], names[kind][1], part_name(PART_MAIN),
                             part_name(PART_DESCENDANTS)};
    for (size_t i = 0; i < (summary->run->no_children ? 2 : ARRAY_LEN(columns)); i++) {
        start = s->text.length;
        buf_puts(&s->text, columns[i]);
        buf_pad_left(&s->text, start, FIGURE_WIDTH);
    }
    style(s, PLAIN);
    buf_putc(&s->text, '\n');
}

/* The wall time stands in the head. */
static bool in_table(const struct sink *s, enum metric_id id, enum metric_kind kind)
{
    return metric_of(id)->kind == kind && id != process_wall_seconds &&
           (s->selection.parts[PART_COMBINED] >> id & 1);
}

static bool is_zero(const struct summary *summary, enum metric_id id)
{
    return figure(&summary->target[PART_COMBINED][id], metric_of(id)) == 0;
}

/* Unless everything is asked for, what is zero and what is unknown get one line together. */
static bool has_line(const struct sink *s, const struct summary *summary, enum metric_id id)
{
    return (s->flags & TOLL_OUTPUT_VERBOSE) ||
           (summary_knows(summary, PART_COMBINED, id) && !is_zero(summary, id));
}

static void add_table(struct sink *s, const struct summary *summary, enum metric_kind kind)
{
    bool any = false;
    for (unsigned id = 0; id < PROCESS_METRICS; id++) {
        if (!in_table(s, id, kind) || !has_line(s, summary, id))
            continue;
        if (!any)
            add_heading(s, summary, kind);
        any = true;
        add_line(s, summary, id);
    }
    if (any)
        buf_putc(&s->text, '\n');
}

static void add_rest(struct sink *s, const struct summary *summary, bool known)
{
    bool any = false;
    for (unsigned id = 0; id < PROCESS_METRICS; id++) {
        bool listed = in_table(s, id, METRIC_COUNTER) || in_table(s, id, METRIC_GAUGE);
        if (!listed || has_line(s, summary, id) ||
            summary_knows(summary, PART_COMBINED, id) != known)
            continue;
        buf_puts(&s->text, any ? "; " : known ? "zero:    " : "unknown: ");
        buf_puts(&s->text, metric_of(id)->facts.title);
        any = true;
    }
    if (any)
        buf_putc(&s->text, '\n');
}

/* ---- Foot ------------------------------------------------------------------------------------ */

static bool has_quality(const struct sink *s, const struct summary *summary, enum quality q)
{
    for (unsigned id = 0; id < PROCESS_METRICS; id++)
        if ((s->selection.parts[PART_COMBINED] >> id & 1) &&
            summary->verdicts[PART_COMBINED][id].quality == q)
            return true;
    return false;
}

static void add_survivors(struct sink *s, const struct summary *summary)
{
    if (!summary->survivor_count)
        return;
    buf_printf(&s->text, "still running: %zu %s of the job, counted up to now\n",
               summary->survivor_count, summary->survivor_count == 1 ? "process" : "processes");
    for (size_t i = 0; i < summary->survivor_count && i < SUMMARY_STILL_RUNNING; i++) {
        const struct survivor *p = &summary->survivors[i];
        buf_printf(&s->text, "  %d %s: ", (int)p->pid, p->name);
        human_seconds(&s->text, (double)p->cpu_ns / 1e9);
        buf_puts(&s->text, " CPU, ");
        human_bytes(&s->text, (double)p->rss_bytes);
        buf_putc(&s->text, '\n');
    }
}

static void add_self(struct sink *s, const struct summary *summary)
{
    buf_puts(&s->text, "measuring cost:");
    const char *between = " ";
    for (unsigned i = 0; i < SELF_METRICS; i++) {
        const struct metric *m = metric_of(metric_first(ENTITY_SELF) + i);
        const struct series *series = &summary->self[i];
        double number = m->kind == METRIC_COUNTER ? metric_number(m, series->last)
                                                  : series_mean(series, m);
        if (number == 0)
            continue;
        buf_puts(&s->text, between);
        human_number(&s->text, m, number);
        buf_printf(&s->text, " %s", m->facts.title);
        between = ", ";
    }
    buf_putc(&s->text, '\n');
}

static void text_summary(struct sink *s, const struct summary *summary)
{
    add_head(s, summary);
    add_table(s, summary, METRIC_COUNTER);
    add_table(s, summary, METRIC_GAUGE);
    add_rest(s, summary, true);
    add_rest(s, summary, false);
    add_survivors(s, summary);
    for (size_t i = 0; i < summary->note_count && i < SUMMARY_NOTES; i++)
        buf_printf(&s->text, "note: %s\n", summary->notes[i]);
    if (summary->note_count > SUMMARY_NOTES)
        buf_printf(&s->text, "note: and %zu more\n", summary->note_count - SUMMARY_NOTES);
    style(s, DIM);
    if (has_quality(s, summary, QUALITY_EXACT_IF_REAPED))
        buf_puts(&s->text, "* counted by the kernel; only a child that nobody waits for could be "
                           "missing, and none was seen\n");
    add_self(s, summary);
    style(s, PLAIN);
}

const struct sink_kind sink_text = {
    .format = {"text", ".txt", "the summary for people"},
    .summary = text_summary,
};
