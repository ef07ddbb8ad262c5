/* SPDX-License-Identifier: MIT
 * The summary for a person at a terminal: what the job used, how each figure was obtained, what
 * could not be read, and what measuring cost. */
#include "base/signal_name.h"
#include "sink/human.h"
#include "sink/sinks.h"

#include <string.h>

/* Eighty columns: a title, four figures, a word on how they were obtained. */
enum { TITLE = 25, FIGURE = 12, MEAN = 11, MAIN = 11, DESCENDANTS = 12, LINE = 80 };

/* Stands for a blank at which no line is broken. */
#define UNBROKEN '\x1f'

/* A rate over less than this says nothing. */
#define SHORTEST_FOR_RATES NS_PER_SECOND
#define SHORTEST_FOR_SHARE 0.1

#define BOLD  "\033[1m"
#define RED   "\033[1;31m"
#define DIM   "\033[2m"
#define PLAIN "\033[0m"

static void style(struct sink *s, const char *sequence)
{
    if (s->flags & TOLL_OUTPUT_COLOR)
        buf_puts(&s->text, sequence);
}

/* Text with a lead, broken at words, the further lines hanging below the first. */
static void add_paragraph(struct sink *s, const char *lead, const char *text)
{
    size_t at = strlen(lead);
    size_t indent = at;
    buf_puts(&s->text, lead);
    while (*text) {
        size_t word = strcspn(text, " ");
        if (at > indent && at + 1 + word > LINE) {
            buf_putc(&s->text, '\n');
            size_t start = s->text.length;
            buf_pad(&s->text, start, (unsigned)indent);
            at = indent;
        } else if (at > indent) {
            buf_putc(&s->text, ' ');
            at++;
        }
        for (const char *c = text; c < text + word; c++)
            buf_putc(&s->text, *c == UNBROKEN ? ' ' : *c);
        at += word;
        text += word;
        text += strspn(text, " ");
    }
    buf_putc(&s->text, '\n');
}

/* ---- What stands for a series ---------------------------------------------------------------- */

/* The total of a counter, the peak of a gauge. */
static double figure(const struct series *s, const struct metric *m)
{
    return m->kind == METRIC_COUNTER ? metric_number(m, s->last) : s->max;
}

static bool is_zero(const struct summary *summary, enum metric_id id)
{
    return figure(&summary->target[PART_COMBINED][id], metric_of(id)) == 0;
}

/* At least nothing is not known. */
static bool is_known(const struct summary *summary, enum metric_id id)
{
    enum quality q = summary->verdicts[PART_COMBINED][id].quality;
    return q != QUALITY_UNKNOWN && !(q == QUALITY_LOWER_BOUND && is_zero(summary, id));
}

static bool is_shown(const struct sink *s, enum metric_id id)
{
    bool verbose = s->flags & TOLL_OUTPUT_VERBOSE;
    return (s->selection.parts[PART_COMBINED] >> id & 1) &&
           metric_of(id)->show <= (verbose ? SHOW_MORE : SHOW_TABLE);
}

/* Unless all is asked for, what is zero and what is unknown get one line together. */
static bool has_line(const struct sink *s, const struct summary *summary, enum metric_id id)
{
    return is_shown(s, id) &&
           ((s->flags & TOLL_OUTPUT_VERBOSE) || (is_known(summary, id) && !is_zero(summary, id)));
}

/* The parts say something only when there is more than one of them. */
static bool has_parts(const struct summary *summary)
{
    for (unsigned id = 0; id < PROCESS_METRICS; id++)
        if (summary_knows(summary, PART_DESCENDANTS, id) && metric_of(id)->kind == METRIC_COUNTER &&
            metric_of(id)->fold == FOLD_CONSERVED &&
            figure(&summary->target[PART_DESCENDANTS][id], metric_of(id)) > 0)
            return true;
    return false;
}

/* ---- Head ------------------------------------------------------------------------------------ */

static bool needs_quotes(const char *word)
{
    return !*word || strpbrk(word, " \t\n\"'\\$`*?[]{}()<>|&;!#~");
}

/* A name from outside, without what could move the cursor or change colours: control characters,
 * and those of the second set (U+0080 to U+009F). */
static void add_foreign(struct sink *s, const char *text, const char *for_quote)
{
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;
        bool second_set = c == 0xC2 && ((unsigned char)text[1] & 0xE0) == 0x80;
        if (c == '\'' && *for_quote)
            buf_puts(&s->text, for_quote);
        else
            buf_putc(&s->text, c < 0x20 || c == 0x7F || second_set ? '?' : *text);
        text += second_set;
    }
}

/* As one could type it. */
static void add_command(struct sink *s, char *const *command)
{
    enum { LONGEST = 300 };
    size_t start = s->text.length;
    for (char *const *arg = command; arg && *arg && s->text.length - start < LONGEST; arg++) {
        const char *quote = needs_quotes(*arg) ? "'" : "";
        buf_puts(&s->text, arg == command ? "" : " ");
        buf_puts(&s->text, quote);
        add_foreign(s, *arg, "'\\''");
        buf_puts(&s->text, quote);
    }
    if (s->text.length - start > LONGEST && !buf_failed(&s->text)) {
        s->text.length = start + LONGEST;
        while ((s->text.data[s->text.length] & 0xC0) == 0x80)
            s->text.length--; /* not in the middle of a letter */
        buf_puts(&s->text, "…");
    }
}

static void add_end(struct sink *s, const struct summary *summary)
{
    const struct toll_end *end = &summary->end;
    const char *name = end->signaled ? signal_name(end->status) : NULL;
    if (!end->ended)
        buf_puts(&s->text, "still running");
    else if (end->unknown)
        buf_puts(&s->text, "ended, it is not known how,");
    else if (name)
        buf_printf(&s->text, "killed by SIG%s", name);
    else if (end->signaled)
        buf_printf(&s->text, "killed by signal %d", end->status);
    else
        buf_printf(&s->text, "exit %d", end->status);
    if (end->core_dumped)
        buf_puts(&s->text, ", core dumped,");
    buf_puts(&s->text, " after ");
    human_seconds(&s->text, (double)summary->elapsed_ns / 1e9);
}

/* The answer in a line or two; an average tells more of a rate than its peak. */
static void add_answer(struct sink *s, const struct summary *summary)
{
    struct buf answer = {0};
    for (unsigned id = 0; id < PROCESS_METRICS; id++) {
        const struct metric *m = metric_of(id);
        const struct series *series = &summary->target[PART_COMBINED][id];
        if (m->show != SHOW_HEAD || !has_line(s, summary, id))
            continue;
        buf_puts(&answer, answer.length ? ", " : "");
        size_t start = answer.length;
        bool bound = summary->verdicts[PART_COMBINED][id].quality == QUALITY_LOWER_BOUND;
        buf_puts(&answer, bound ? "≥ " : "");
        human_number(&answer, m,
                     m->unit == UNIT_cores ? series_mean(series, m) : figure(series, m));
        buf_printf(&answer, " %s", m->facts.title);
        for (size_t i = start; i < answer.length; i++)
            if (answer.data[i] == ' ')
                answer.data[i] = UNBROKEN;
    }
    if (answer.length && !buf_failed(&answer))
        add_paragraph(s, "", answer.data);
    buf_done(&answer);
}

static void add_head(struct sink *s, const struct summary *summary)
{
    bool failed = summary->end.signaled || summary->end.status;
    style(s, BOLD);
    buf_puts(&s->text, "toll: ");
    if (summary->run->is_named) {
        add_foreign(s, summary->run->name, "");
        buf_puts(&s->text, ": ");
    }
    add_command(s, summary->run->command);
    buf_putc(&s->text, '\n');
    for (char **label = summary->run->labels; label && *label; label++) {
        buf_puts(&s->text, label == summary->run->labels ? "" : ", ");
        add_foreign(s, *label, "");
    }
    if (summary->run->labels && summary->run->labels[0])
        buf_putc(&s->text, '\n');
    style(s, failed ? RED : BOLD);
    add_end(s, summary);
    style(s, PLAIN);
    buf_putc(&s->text, '\n');
    add_answer(s, summary);
    buf_putc(&s->text, '\n');
}

/* ---- Table ----------------------------------------------------------------------------------- */

static const char *word_for(enum quality q)
{
    switch (q) {
    case QUALITY_LOWER_BOUND: return " at least";
    case QUALITY_SAMPLED: return " sampled";
    case QUALITY_UNKNOWN: return " unknown";
    default: return "";
    }
}

static void add_figure(struct sink *s, const struct summary *summary, enum part part,
                       enum metric_id id, unsigned width)
{
    buf_putc(&s->text, ' '); /* stays when the figure is wider than its column */
    size_t start = s->text.length;
    enum quality q = summary->verdicts[part][id].quality;
    double number = figure(&summary->target[part][id], metric_of(id));
    if (q == QUALITY_UNKNOWN || (q == QUALITY_LOWER_BOUND && number == 0)) {
        buf_puts(&s->text, "?");
    } else {
        buf_puts(&s->text, q == QUALITY_LOWER_BOUND ? "≥ " : "");
        human_number(&s->text, metric_of(id), number);
    }
    buf_pad_left(&s->text, start, width - 1);
}

/* The mean of a gauge; of bytes, how many a second. */
static void add_mean(struct sink *s, const struct summary *summary, enum metric_id id)
{
    const struct metric *m = metric_of(id);
    const struct series *series = &summary->target[PART_COMBINED][id];
    bool rate = m->kind == METRIC_COUNTER;
    bool says_something = rate ? m->unit == UNIT_bytes && summary->elapsed_ns >= SHORTEST_FOR_RATES
                               : m->fold != FOLD_MAX;
    size_t start = s->text.length;
    if (says_something && series->observed_ns) {
        human_number(&s->text, m, series_mean(series, m));
        buf_puts(&s->text, rate ? "/s" : "");
    }
    buf_pad_left(&s->text, start, MEAN);
}

/* The last column; without a word the line ends with its last figure. */
static void add_word(struct sink *s, const char *word)
{
    while (!*word && s->text.length && s->text.data[s->text.length - 1] == ' ')
        s->text.length--;
    style(s, *word ? DIM : "");
    buf_puts(&s->text, word);
    style(s, *word ? PLAIN : "");
    buf_putc(&s->text, '\n');
}

static void add_line(struct sink *s, const struct summary *summary, enum metric_id id, bool parts)
{
    size_t start = s->text.length;
    buf_puts(&s->text, metric_of(id)->facts.title);
    buf_pad(&s->text, start, TITLE);
    style(s, BOLD);
    add_figure(s, summary, PART_COMBINED, id, FIGURE);
    style(s, PLAIN);
    add_mean(s, summary, id);
    if (parts) {
        add_figure(s, summary, PART_MAIN, id, MAIN);
        add_figure(s, summary, PART_DESCENDANTS, id, DESCENDANTS);
    }
    add_word(s, word_for(summary->verdicts[PART_COMBINED][id].quality));
}

static void add_heading(struct sink *s, bool parts)
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
    style(s, DIM);
    for (size_t i = 0; i < (parts ? ARRAY_LEN(columns) : 3); i++) {
        size_t start = s->text.length;
        buf_puts(&s->text, columns[i].name);
        buf_pad_left(&s->text, start, columns[i].width);
    }
    style(s, PLAIN);
    buf_putc(&s->text, '\n');
}

static void add_table(struct sink *s, const struct summary *summary)
{
    bool parts = has_parts(summary);
    bool any = false;
    for (unsigned id = 0; id < PROCESS_METRICS; id++) {
        if (!has_line(s, summary, id))
            continue;
        if (!any)
            add_heading(s, parts);
        any = true;
        add_line(s, summary, id, parts);
    }
    if (any)
        buf_putc(&s->text, '\n');
}

/* ---- Foot ------------------------------------------------------------------------------------ */

/* The titles of what is known to be zero, or not known. */
static void add_rest(struct sink *s, const struct summary *summary, bool known)
{
    struct buf titles = {0};
    for (unsigned id = 0; id < PROCESS_METRICS; id++) {
        if (!is_shown(s, id) || has_line(s, summary, id) || is_known(summary, id) != known)
            continue;
        buf_printf(&titles, "%s%s", titles.length ? "; " : "", metric_of(id)->facts.title);
    }
    if (titles.length && !buf_failed(&titles))
        add_paragraph(s, known ? "zero: " : "unknown: ", titles.data);
    buf_done(&titles);
}

static void add_survivors(struct sink *s, const struct summary *summary)
{
    size_t count = summary->survivor_count;
    if (!count)
        return;
    buf_printf(&s->text, "still running, counted up to now (--wait all waits for %s):\n",
               count == 1 ? "it" : "them");
    for (size_t i = 0; i < count && i < SUMMARY_STILL_RUNNING; i++) {
        const struct survivor *p = &summary->survivors[i];
        buf_printf(&s->text, "  %d ", (int)p->pid);
        add_foreign(s, p->name, "");
        buf_puts(&s->text, ": ");
        human_seconds(&s->text, (double)p->cpu_ns / 1e9);
        buf_puts(&s->text, " CPU, ");
        human_bytes(&s->text, (double)p->rss_bytes);
        buf_putc(&s->text, '\n');
    }
    if (count > SUMMARY_STILL_RUNNING)
        buf_printf(&s->text, "  and %zu more\n", count - SUMMARY_STILL_RUNNING);
}

static void add_notes(struct sink *s, const struct summary *summary)
{
    for (size_t i = 0; i < summary->note_count && i < SUMMARY_NOTES; i++)
        add_paragraph(s, "note: ", summary->notes[i]);
    if (summary->note_count > SUMMARY_NOTES)
        buf_printf(&s->text, "note: and %zu more\n", summary->note_count - SUMMARY_NOTES);
}

static bool has_quality(const struct sink *s, const struct summary *summary, enum quality q)
{
    for (unsigned id = 0; id < PROCESS_METRICS; id++)
        if (has_line(s, summary, id) && summary->verdicts[PART_COMBINED][id].quality == q)
            return true;
    return false;
}

static void add_self_figure(struct buf *b, const struct metric *m, double number, double elapsed)
{
    buf_puts(b, b->length ? ", " : "");
    human_number(b, m, number);
    size_t title = strlen(m->facts.title);
    bool one = m->unit == UNIT_count && number == 1 && m->facts.title[title - 1] == 's';
    buf_putc(b, ' ');
    buf_add(b, m->facts.title, title - one);
    if (m->kind == METRIC_COUNTER && m->unit == UNIT_seconds && elapsed >= SHORTEST_FOR_SHARE) {
        buf_puts(b, " (");
        buf_double_fixed(b, number / elapsed * 100, number / elapsed < 0.01 ? 3 : 1);
        buf_puts(b, " % of one core)");
    }
}

static void add_self(struct sink *s, const struct summary *summary)
{
    struct buf figures = {0};
    double elapsed = (double)summary->elapsed_ns / 1e9;
    for (unsigned i = 0; i < SELF_METRICS; i++) {
        const struct metric *m = metric_of(metric_first(ENTITY_SELF) + i);
        const struct series *series = &summary->self[i];
        double number = m->kind == METRIC_COUNTER ? metric_number(m, series->last)
                                                  : series_mean(series, m);
        bool shown = m->show == SHOW_HEAD || (s->flags & TOLL_OUTPUT_VERBOSE);
        if (number > 0 && shown)
            add_self_figure(&figures, m, number, elapsed);
    }
    if (figures.length && !buf_failed(&figures))
        add_paragraph(s, "measuring took ", figures.data);
    buf_done(&figures);
}

static void text_summary(struct sink *s, const struct summary *summary)
{
    add_head(s, summary);
    add_table(s, summary);
    add_rest(s, summary, true);
    add_rest(s, summary, false);
    add_survivors(s, summary);
    add_notes(s, summary);
    style(s, DIM);
    if (has_quality(s, summary, QUALITY_EXACT_IF_REAPED))
        add_paragraph(s, "no word: ",
                      "exact, counted by the kernel; only a child that nobody waits for could be "
                      "missing, and none was seen");
    add_self(s, summary);
    style(s, PLAIN);
}

const struct sink_kind sink_text = {
    .format = {"text", ".txt", "the summary for people"},
    .summary = text_summary,
};
