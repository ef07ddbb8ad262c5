/* SPDX-License-Identifier: MIT
 * The summary for a person at a terminal: what the job used, how each figure was obtained, what
 * could not be read, and what measuring cost. */
#include "sink/text/text.h"

#include "base/process.h"
#include "sink/sink.h"

#include <string.h>

/* ==== Limits ================================================================================== */

/* How much of each limit was used, for those of which that is known. */
static void text_add_limits(struct sink *s, const struct limits *limits)
{
    enum { NAME_AT_MOST = 34, NAME_OF_BYTES = 24, FIGURE = 12, SET_BY = 18 };
    struct limit_used used[LIMITS];
    unsigned count = limits_used(limits, used);
    const unsigned figure = text_wide(&s->text, FIGURE);
    const unsigned width = text_width(s);
    unsigned name = figure > FIGURE && width <= TEXT_LINE ? NAME_OF_BYTES : NAME_AT_MOST;
    if (width < name + 2 * figure + SET_BY)
        name = width > 2 * figure + SET_BY + 12 ? width - 2 * figure - SET_BY : 12;
    if (count) {
        text_style(s, DIM);
        buf_printf(&s->text, "%-*s%*s%*s%*s\n", (int)name, "Limits", (int)figure, "used",
                   (int)figure, "of", FIGURE, "set by");
        text_style(s, PLAIN);
    }
    for (unsigned i = 0; i < count; i++) {
        const struct limit_used *u = &used[i];
        size_t start = s->text.length;
        buf_puts(&s->text, u->name);
        text_cut(&s->text, start, name - 1);
        buf_pad(&s->text, start, name);
        start = s->text.length;
        buf_puts(&s->text, u->is_least ? "≥ " : "");
        human_number(&s->text, u->unit, u->used);
        buf_pad_left(&s->text, start, figure);
        start = s->text.length;
        human_number(&s->text, u->unit, u->allowed);
        buf_pad_left(&s->text, start, figure);
        buf_puts(&s->text, "    ");
        text_foreign(s, u->limit->by); /* a record has any text */
        if (u->limit->cgroup) {
            buf_puts(&s->text, " of ");
            text_foreign(s, u->limit->cgroup);
        }
        buf_printf(&s->text, "%s%s\n", u->limit->reached ? ", reached: " : "",
                   u->limit->reached ? u->limit->reached : "");
    }
    if (count)
        buf_putc(&s->text, '\n');
}

/* ==== Foot ==================================================================================== */

static void text_add_survivors(struct sink *s, const struct summary *summary)
{
    size_t count = summary->survivor_count;
    if (!count)
        return;
    buf_printf(&s->text, "still running, counted until now (--wait all waits for %s):\n",
               count == 1 ? "it" : "them");
    for (size_t i = 0; i < count && i < SUMMARY_STILL_RUNNING; i++) {
        const struct survivor *p = &summary->survivors[i];
        buf_printf(&s->text, "  %d ", (int)p->pid);
        text_foreign(s, p->name);
        buf_puts(&s->text, ": ");
        human_seconds(&s->text, (double)p->cpu_ns / 1e9);
        buf_puts(&s->text, " CPU, ");
        if (p->has_rss)
            buf_bytes(&s->text, (double)p->rss_bytes);
        else
            buf_puts(&s->text, "memory unknown");
        buf_putc(&s->text, '\n');
    }
    if (count > SUMMARY_STILL_RUNNING)
        buf_printf(&s->text, "  and %zu more\n", count - SUMMARY_STILL_RUNNING);
}

/* What measuring cost. */
static void text_add_self(struct sink *s, const struct summary *summary)
{
    struct buf b = buf_like(&s->text);
    double elapsed = (double)summary->elapsed_ns / 1e9;
    for (unsigned i = 0; i < SELF_METRICS; i++) {
        const struct metric *m = metric_of(metric_first(ENTITY_SELF) + i);
        const struct series *series = &summary->self[i];
        double number = m->kind == METRIC_COUNTER ? metric_number(m, series->last)
                                                  : series_mean(series, m);
        if (!(number > 0))
            continue;
        size_t title = strlen(m->facts.title);
        bool is_one = m->unit == UNIT_count && number == 1 && m->facts.title[title - 1] == 's';
        buf_puts(&b, b.length ? ", " : "");
        human_number(&b, m, number);
        buf_putc(&b, ' ');
        buf_add(&b, m->facts.title, title - is_one);
        /* The share of a very short time says nothing. */
        if (m->kind == METRIC_COUNTER && m->unit == UNIT_seconds && elapsed >= 0.1) {
            buf_puts(&b, " (");
            buf_double_fixed(&b, number / elapsed * 100, number / elapsed < 0.01 ? 3 : 1);
            buf_puts(&b, " % of one core)");
        }
    }
    text_paragraph_done(s, "measuring took ", &b);
}

/* ==== Summary ================================================================================= */

static void text_add_heading(struct sink *s, const char *text, const char *name)
{
    text_style(s, BOLD);
    buf_puts(&s->text, text);
    text_foreign(s, name);
    text_style(s, PLAIN);
    buf_putc(&s->text, '\n');
}

/* The machine with its devices, and the cgroups around the job. Other processes are in those too,
 * so the figures are not the job's; they show how near the limits were. */
static void text_add_machine(struct sink *s, const struct summary *summary)
{
    bool has_system = false;
    for (size_t i = 0; i < summary->instance_count; i++) {
        const struct instance_summary *t = &summary->instances[i];
        if (t->instance->entity.kind != ENTITY_SYSTEM)
            continue;
        struct text_rows r = text_rows_of_instance(s, t);
        has_system = true;
        if (summary->has_target)
            text_add_heading(s, "Machine ", summary->run->host);
        text_table(s, &r, summary->elapsed_ns);
        for (unsigned kind = 0; kind < ENTITY_KINDS; kind++)
            if (kind != ENTITY_SYSTEM && kind != ENTITY_CGROUP && kind != ENTITY_CGROUP_DISK &&
                kind != ENTITY_THREAD)
                text_kind(s, summary, kind);
        text_unavailable(s, &r);
    }
    for (size_t i = 0; i < summary->instance_count; i++) {
        const struct instance_summary *t = &summary->instances[i];
        if (t->instance->entity.kind != ENTITY_CGROUP)
            continue;
        struct text_rows r = text_rows_of_instance(s, t);
        text_add_heading(s, "All processes in cgroup ", entity_name(&t->instance->entity));
        text_table(s, &r, summary->elapsed_ns);
    }
    text_gpus(s, summary, has_system);
}

static void text_add_details(struct sink *s, const struct summary *summary)
{
    buf_putc(&s->text, '\n');
    if (summary->has_target) {
        struct text_rows r = text_rows_of_target(s, &summary->whole);
        text_table(s, &r, summary->elapsed_ns);
        text_add_limits(s, &summary->whole.limits);
        if (summary->target_count)
            text_targets(s, summary);
        text_unavailable(s, &r);
    }
    text_marks(s, &summary->marks);
    text_threads(s, summary);
    text_add_machine(s, summary);
    text_add_survivors(s, summary);
    for (size_t i = 0; i < summary->note_count && i < SUMMARY_NOTES; i++)
        text_paragraph(s, "note: ", summary->notes[i]);
    if (summary->note_count > SUMMARY_NOTES)
        buf_printf(&s->text, "note: and %zu more\n", summary->note_count - SUMMARY_NOTES);
    text_style(s, DIM);
    text_add_self(s, summary);
    text_style(s, PLAIN);
}

static void text_summary(struct sink *s, const struct summary *summary)
{
    size_t start = s->text.length;
    text_glance(s, summary);
    if (s->flags & TOLL_OUTPUT_VERBOSE)
        text_add_details(s, summary);
    if (s->flags & TOLL_OUTPUT_ASCII)
        text_to_ascii(&s->text, start);
}

const struct sink_kind sink_text = {
    .format = {"text", ".txt", "the summary for people", "FILE"},
    .summary = text_summary,
};
