/* SPDX-License-Identifier: MIT
 * The summary for a person at a terminal: what the job used, how each figure was obtained, what
 * could not be read, and what measuring cost. */
#include "base/signal_name.h"
#include "sink/human.h"
#include "sink/sinks.h"
#include "sink/text_gpus.h"
#include "sink/text_outputs.h"
#include "sink/text_table.h"

#include <string.h>

#define SHORTEST_FOR_SHARE 0.1

/* ---- Head ------------------------------------------------------------------------------------ */

static void add_how(struct sink *s, const struct toll_end *end)
{
    const char *name = end->signaled ? signal_name(end->status) : NULL;
    if (end->unknown)
        buf_puts(&s->text, "exit status unknown,");
    else if (name)
        buf_printf(&s->text, "killed by SIG%s", name);
    else if (end->signaled)
        buf_printf(&s->text, "killed by signal %d", end->status);
    else
        buf_printf(&s->text, "exit %d", end->status);
    if (end->core_dumped)
        buf_puts(&s->text, ", core dumped,");
    if (end->oom_killed)
        buf_puts(&s->text, " for want of memory (OOM)");
    if (end->timed_out)
        buf_puts(&s->text, ", timed out,");
}

static void add_end(struct sink *s, const struct summary *summary)
{
    const struct toll_end *end = &summary->whole.end;
    bool attached = summary->run->target_count > 0;
    bool is_cut = end->unknown && !end->ended; /* the record does not have the end */
    if (is_cut)
        buf_puts(&s->text, "the record ends after ");
    else if (!summary->has_target)
        buf_puts(&s->text, "measured for ");
    else if (end->ended && (!attached || !end->unknown))
        add_how(s, end);
    else
        buf_puts(&s->text, end->ended ? "ended" : attached ? "measured for " : "still running");
    if (!is_cut && summary->has_target && (end->ended || !attached))
        buf_puts(&s->text, " after ");
    human_seconds(&s->text, (double)summary->elapsed_ns / 1e9);
    if (is_cut && summary->run->command)
        buf_puts(&s->text, "; exit status unknown");
    else if (attached && !end->ended && !is_cut)
        buf_puts(&s->text, ", still running");
    if (attached)
        buf_puts(&s->text, summary->run->since_start ? "; counted from the birth of each process"
                                                     : "; counted from the attach on");
}

/* A mean is a lower bound when a process could not be read; when the run went on after the record,
 * it is the mean of the record, and may be more or less than that of the run. */
static void add_answer_figure(struct buf *b, const struct text_rows *r, unsigned i)
{
    const struct metric *m = metric_of(r->first + i);
    bool is_mean = m->unit == UNIT_cores;
    bool is_least = text_quality(r, PART_COMBINED, i) == QUALITY_LOWER_BOUND &&
                    (!is_mean || r->partial >> i & 1);
    buf_puts(b, b->length ? ", " : "");
    size_t start = b->length;
    buf_puts(b, is_least ? "≥ " : "");
    human_number(b, m,
                 is_mean ? series_mean(&r->series[PART_COMBINED][i], m)
                         : text_figure(r, PART_COMBINED, i));
    buf_printf(b, " %s", m->facts.title);
    for (size_t k = start; k < b->length; k++)
        if (b->data[k] == ' ')
            b->data[k] = UNBROKEN;
}

static bool is_an_answer(const struct text_rows *r, unsigned i)
{
    enum quality q = text_quality(r, PART_COMBINED, i);
    return q != QUALITY_UNKNOWN && !text_is_nothing(q, text_figure(r, PART_COMBINED, i));
}

/* The answer in a line or two; an average tells more of a rate than its peak. */
static void add_answer(struct sink *s, const struct text_rows *r)
{
    struct buf answer = {0};
    for (unsigned i = 0; i < r->count; i++)
        if (metric_of(r->first + i)->show == SHOW_HEAD && text_has_line(s, r, i) &&
            is_an_answer(r, i))
            add_answer_figure(&answer, r, i);
    if (answer.length && !buf_failed(&answer))
        text_paragraph(s, "", answer.data);
    buf_done(&answer);
}

static void add_subject(struct sink *s, const struct run *run)
{
    if (run->command)
        text_command(s, run->command);
    else if (run->target_count == 1)
        text_foreign(s, run->targets[0].what);
    else if (run->target_count)
        buf_printf(&s->text, "%zu targets", run->target_count);
    else {
        buf_puts(&s->text, "the machine ");
        text_foreign(s, run->host);
    }
}

static void add_head(struct sink *s, const struct summary *summary)
{
    const struct run *run = summary->run;
    const struct toll_end *end = &summary->whole.end;
    text_style(s, BOLD);
    buf_puts(&s->text, "toll: ");
    if (run_is_named(run)) {
        text_foreign(s, run->name);
        buf_puts(&s->text, ": ");
    }
    add_subject(s, run);
    buf_putc(&s->text, '\n');
    for (char **label = run->labels; label && *label; label++) {
        buf_puts(&s->text, label == run->labels ? "" : ", ");
        text_foreign(s, *label);
    }
    if (run->labels && run->labels[0])
        buf_putc(&s->text, '\n');
    text_style(s, end->signaled || end->status ? RED : BOLD);
    add_end(s, summary);
    text_style(s, PLAIN);
    buf_putc(&s->text, '\n');
}

/* ---- What was allowed ------------------------------------------------------------------------ */

/* Limits of one process are of interest when they were nearly used up, or all is asked for. */
#define NEARLY 0.9

static void add_allowance(struct buf *b, const struct limit *l, enum limit_kind kind,
                          enum metric_id unit, const char *noun, bool is_verbose)
{
    const struct metric *m = metric_of(unit);
    double allowed = kind == LIMIT_CPUS ? l->cores : (double)l->value;
    bool is_of_cgroup = kind == LIMIT_MEMORY_BYTES && l->whose && strcmp(l->whose, "cgroup") == 0;
    if (!l->known || l->unlimited || !l->has_used || !(allowed > 0))
        return;
    bool is_common = kind == LIMIT_CPUS || kind == LIMIT_MEMORY_BYTES;
    if (!is_common && !is_verbose && !l->reached && l->used < NEARLY * allowed)
        return;
    buf_puts(b, b->length ? "; " : "");
    buf_puts(b, l->used_is_least && !l->reached ? "≥ " : "");
    human_number(b, m, l->used);
    buf_puts(b, " of ");
    human_number(b, m, allowed);
    buf_printf(b, " %s%s (", noun, is_of_cgroup ? ", all that is charged to the cgroup" : "");
    buf_double_fixed(b, l->used / allowed * 100, 0);
    buf_printf(b, " %%, %s", l->by);
    if (l->cgroup)
        buf_printf(b, " of %s", l->cgroup);
    if (l->reached)
        buf_printf(b, ", reached: %s", l->reached);
    if (l->reached_times)
        buf_printf(b, ", %llu time%s", (unsigned long long)l->reached_times,
                   l->reached_times == 1 ? "" : "s");
    buf_puts(b, ")");
}

/* The denominators: how much of what it could have had it used. */
static void add_allowances(struct sink *s, const struct summary *summary, const struct text_rows *r)
{
    static const struct {
        enum limit_kind kind;
        enum metric_id unit;
        bool beside; /* only where the figure of that unit is shown */
        const char *noun;
    } kinds[] = {
        {LIMIT_CPUS, process_cpu_cores, true, "cores"},
        {LIMIT_MEMORY_BYTES, process_memory_rss_bytes, true, "memory"},
        {LIMIT_TASKS, process_threads_count, false, "tasks of the cgroup"},
        {LIMIT_ADDRESS_BYTES, process_memory_rss_bytes, false, "address space of the main process"},
        {LIMIT_OPEN_FILES, process_threads_count, false, "open files of the main process"},
        {LIMIT_CPU_SECONDS, process_cpu_seconds, false, "CPU time of the main process"},
    };
    struct buf b = {0};
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
        if (!kinds[i].beside || text_has_line(s, r, kinds[i].unit))
            add_allowance(&b, &summary->whole.limits.of[kinds[i].kind], kinds[i].kind,
                          kinds[i].unit, kinds[i].noun, s->flags & TOLL_OUTPUT_VERBOSE);
    if (b.length && !buf_failed(&b))
        text_paragraph(s, "of what was allowed: ", b.data);
    buf_done(&b);
}

/* ---- Foot ------------------------------------------------------------------------------------ */

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
        text_foreign(s, p->name);
        buf_puts(&s->text, ": ");
        human_seconds(&s->text, (double)p->cpu_ns / 1e9);
        buf_puts(&s->text, " CPU, ");
        if (p->has_rss)
            human_bytes(&s->text, (double)p->rss_bytes);
        else
            buf_puts(&s->text, "memory unknown");
        buf_putc(&s->text, '\n');
    }
    if (count > SUMMARY_STILL_RUNNING)
        buf_printf(&s->text, "  and %zu more\n", count - SUMMARY_STILL_RUNNING);
}

static void add_notes(struct sink *s, const struct summary *summary)
{
    for (size_t i = 0; i < summary->note_count && i < SUMMARY_NOTES; i++)
        text_paragraph(s, "note: ", summary->notes[i]);
    if (summary->note_count > SUMMARY_NOTES)
        buf_printf(&s->text, "note: and %zu more\n", summary->note_count - SUMMARY_NOTES);
}

static bool has_quality(const struct sink *s, const struct text_rows *r, enum quality q)
{
    for (unsigned i = 0; i < r->count; i++)
        if (text_has_line(s, r, i) && text_quality(r, PART_COMBINED, i) == q)
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
        text_paragraph(s, "measuring took ", figures.data);
    buf_done(&figures);
}

/* ---- The whole ------------------------------------------------------------------------------- */

static void add_target(struct sink *s, const struct summary *summary)
{
    struct text_rows r = text_rows_of_target(s, &summary->whole);
    add_answer(s, &r);
    add_allowances(s, summary, &r);
    buf_putc(&s->text, '\n');
    text_table(s, &r, summary->elapsed_ns);
    if (summary->target_count)
        text_targets(s, summary);
    text_rest(s, &r);
}

static void add_system(struct sink *s, const struct summary *summary,
                       const struct thing_summary *system)
{
    struct text_rows r = text_rows_of_thing(s, system);
    if (summary->has_target) {
        text_style(s, BOLD);
        buf_puts(&s->text, "\nthe machine ");
        text_foreign(s, summary->run->host);
        buf_putc(&s->text, '\n');
        text_style(s, PLAIN);
    }
    add_answer(s, &r);
    buf_putc(&s->text, '\n');
    text_table(s, &r, summary->elapsed_ns);
    for (unsigned kind = 0; kind < ENTITY_KINDS; kind++)
        if (kind != ENTITY_SYSTEM && kind != ENTITY_CGROUP && kind != ENTITY_CGROUP_DISK)
            text_kind(s, summary, kind);
    text_rest(s, &r);
}

/* Others are in it too, so its figures are not the job's; they say how near the limits were. */
static void add_cgroup(struct sink *s, const struct summary *summary,
                       const struct thing_summary *cgroup)
{
    struct text_rows r = text_rows_of_thing(s, cgroup);
    buf_puts(&s->text, "\n");
    text_style(s, BOLD);
    buf_puts(&s->text, "everything in cgroup ");
    text_foreign(s, entity_name(&cgroup->thing->entity));
    text_style(s, PLAIN);
    buf_puts(&s->text, "\n");
    text_table(s, &r, summary->elapsed_ns);
}

/* A cgroup without limits and without trouble is of interest only when all is. */
static bool is_tight(const struct thing_summary *t)
{
    static const enum metric_id signs[] = {cgroup_cpu_limit_cores, cgroup_memory_limit_bytes,
                                           cgroup_oom_kills_count, cgroup_cpu_throttled_seconds};
    for (size_t i = 0; i < ARRAY_LEN(signs); i++) {
        const struct series *s = &t->series[signs[i] - cgroup_first];
        if (s->observed_ns && (s->max > 0 || s->last.u))
            return true;
    }
    return false;
}

static void add_machine(struct sink *s, const struct summary *summary)
{
    bool has_system = false;
    for (size_t i = 0; i < summary->thing_count; i++)
        if (summary->things[i].thing->entity.kind == ENTITY_SYSTEM) {
            add_system(s, summary, &summary->things[i]);
            has_system = true;
        }
    for (size_t i = 0; i < summary->thing_count; i++) {
        const struct thing_summary *t = &summary->things[i];
        if (t->thing->entity.kind == ENTITY_CGROUP &&
            ((s->flags & TOLL_OUTPUT_VERBOSE) || is_tight(t)))
            add_cgroup(s, summary, t);
    }
    text_gpus(s, summary, has_system);
}

static void text_summary(struct sink *s, const struct summary *summary)
{
    struct text_rows r = text_rows_of_target(s, &summary->whole);
    add_head(s, summary);
    if (summary->has_target)
        add_target(s, summary);
    text_marks(s, &summary->marks);
    add_machine(s, summary);
    add_survivors(s, summary);
    add_notes(s, summary);
    text_outputs(s, summary);
    text_style(s, DIM);
    if (summary->has_target && has_quality(s, &r, QUALITY_EXACT_IF_REAPED))
        text_paragraph(s, "unmarked: ",
                       "kernel counters, complete unless a process discarded a child without "
                       "waiting for it; no such loss was seen");
    if (summary->has_target && text_has_sampled_parts(s, &r))
        text_paragraph(s, "~ ", "sampled, where the total is not");
    add_self(s, summary);
    text_style(s, PLAIN);
}

const struct sink_kind sink_text = {
    .format = {"text", ".txt", "the summary for people", "FILE"},
    .summary = text_summary,
};
