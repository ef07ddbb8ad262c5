/* SPDX-License-Identifier: MIT
 * The summary for a person at a terminal: what the job used, how each figure was obtained, what
 * could not be read, and what measuring cost. */
#include "sink/text/text.h"

#include "base/process.h"
#include "sink/sink.h"

#include <string.h>

/* ==== Outputs ================================================================================= */

static void text_add_count(struct buf *b, uint64_t count, const char *noun)
{
    buf_printf(b, "%llu %s%s", (unsigned long long)count, noun, count == 1 ? "" : "s");
}

/* How many samples arrived; if some did not, what happened to them and why. */
static void text_outputs_describe(struct buf *b, const struct output_summary *o)
{
    buf_printf(b, "%s: ", o->name);
    text_add_count(b, o->delivered, "sample");
    if (o->way == OUTPUT_FILE && o->has_bytes && o->bytes) {
        buf_puts(b, ", ");
        buf_bytes(b, (double)o->bytes);
    }
    if (o->kept)
        buf_printf(b, ", %llu put aside", (unsigned long long)o->kept);
    else if (o->has_kept)
        buf_puts(b, ", the end put aside");
    if (o->dropped)
        buf_printf(b, ", %llu lost", (unsigned long long)o->dropped);
    else if (!o->is_whole)
        buf_puts(b, ", not everything arrived");
    if (o->retries) {
        buf_puts(b, ", ");
        text_add_count(b, o->retries, "attempt");
        buf_puts(b, " repeated");
    }
    if (*o->why && (!o->is_whole || o->kept || o->has_kept))
        buf_printf(b, ": %s", o->why);
}

void text_outputs(struct sink *s, const struct summary *summary)
{
    struct buf files = {0}; /* complete files share a line */
    for (size_t i = 0; i < summary->output_count; i++) {
        const struct output_summary *o = &summary->outputs[i];
        if (o->way != OUTPUT_FILE || !o->is_whole)
            continue;
        buf_puts(&files, files.length ? "; " : "");
        text_outputs_describe(&files, o);
    }
    text_paragraph_done(s, "written to ", &files);
    for (size_t i = 0; i < summary->output_count; i++) {
        const struct output_summary *o = &summary->outputs[i];
        struct buf b = {0};
        if (o->way == OUTPUT_SCRAPED) {
            buf_printf(&b, "%s: ", o->name);
            if (o->scrapes)
                text_add_count(&b, o->scrapes, "time");
            else
                buf_puts(&b, "never");
            if (*o->why)
                buf_printf(&b, ": %s", o->why);
            text_paragraph_done(s, "scraped at ", &b);
        } else if (o->way == OUTPUT_SENT || !o->is_whole) {
            text_outputs_describe(&b, o);
            text_paragraph_done(s, o->way == OUTPUT_SENT ? "sent to " : "written to ", &b);
        }
    }
}

/* ==== Head ==================================================================================== */

static void text_add_exit(struct sink *s, const struct toll_end *end)
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

static void text_add_end(struct sink *s, const struct summary *summary)
{
    const struct toll_end *end = &summary->whole.end;
    bool attached = summary->run->target_count > 0;
    bool is_cut = end->unknown && !end->ended; /* the record does not have the end */
    if (is_cut)
        buf_puts(&s->text, "the record ends after ");
    else if (!summary->has_target)
        buf_puts(&s->text, "measured for ");
    else if (end->ended && (!attached || !end->unknown))
        text_add_exit(s, end);
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
static void text_add_answer_figure(struct buf *b, const struct text_rows *r, unsigned i)
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

/* The answer in a line or two; an average tells more of a rate than its peak. */
static void text_add_answer(struct sink *s, const struct text_rows *r)
{
    struct buf answer = {0};
    for (unsigned i = 0; i < r->count; i++) {
        enum quality q = text_quality(r, PART_COMBINED, i);
        if (metric_of(r->first + i)->show == SHOW_HEAD && text_has_line(s, r, i) &&
            q != QUALITY_UNKNOWN && !text_is_nothing(q, text_figure(r, PART_COMBINED, i)))
            text_add_answer_figure(&answer, r, i);
    }
    text_paragraph_done(s, "", &answer);
}

static void text_add_head(struct sink *s, const struct summary *summary)
{
    const struct run *run = summary->run;
    const struct toll_end *end = &summary->whole.end;
    text_style(s, BOLD);
    buf_puts(&s->text, "toll: ");
    if (run_is_named(run)) {
        text_foreign(s, run->name);
        buf_puts(&s->text, ": ");
    }
    if (run->command) {
        text_command(s, run->command);
    } else if (run->target_count == 1) {
        text_foreign(s, run->targets[0].what);
    } else if (run->target_count) {
        buf_printf(&s->text, "%zu targets", run->target_count);
    } else {
        buf_puts(&s->text, "the machine ");
        text_foreign(s, run->host);
    }
    buf_putc(&s->text, '\n');
    for (char **label = run->labels; label && *label; label++) {
        buf_puts(&s->text, label == run->labels ? "" : ", ");
        text_foreign(s, *label);
    }
    if (run->labels && run->labels[0])
        buf_putc(&s->text, '\n');
    text_style(s, end->signaled || end->status ? RED : BOLD);
    text_add_end(s, summary);
    text_style(s, PLAIN);
    buf_putc(&s->text, '\n');
}

/* ==== Limits ================================================================================== */

/* Limits of one process are shown when they were nearly used up, or the output is verbose. */
#define NEARLY 0.9

static void text_add_allowance(struct buf *b, const struct limit *l, enum limit_kind kind,
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

static void text_add_allowances(struct sink *s, const struct summary *summary,
                                const struct text_rows *r)
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
            text_add_allowance(&b, &summary->whole.limits.of[kinds[i].kind], kinds[i].kind,
                               kinds[i].unit, kinds[i].noun, s->flags & TOLL_OUTPUT_VERBOSE);
    text_paragraph_done(s, "of what was allowed: ", &b);
}

/* ==== Foot ==================================================================================== */

static void text_add_survivors(struct sink *s, const struct summary *summary)
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
    struct buf b = {0};
    double elapsed = (double)summary->elapsed_ns / 1e9;
    for (unsigned i = 0; i < SELF_METRICS; i++) {
        const struct metric *m = metric_of(metric_first(ENTITY_SELF) + i);
        const struct series *series = &summary->self[i];
        double number = m->kind == METRIC_COUNTER ? metric_number(m, series->last)
                                                  : series_mean(series, m);
        if (!(number > 0) || (m->show != SHOW_HEAD && !(s->flags & TOLL_OUTPUT_VERBOSE)))
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

static void text_add_target(struct sink *s, const struct summary *summary)
{
    struct text_rows r = text_rows_of_target(s, &summary->whole);
    text_add_answer(s, &r);
    text_add_allowances(s, summary, &r);
    buf_putc(&s->text, '\n');
    text_table(s, &r, summary->elapsed_ns);
    if (summary->target_count)
        text_targets(s, summary);
    text_rest(s, &r);
}

static void text_add_system(struct sink *s, const struct summary *summary,
                            const struct instance_summary *system)
{
    struct text_rows r = text_rows_of_instance(s, system);
    if (summary->has_target) {
        text_style(s, BOLD);
        buf_puts(&s->text, "\nthe machine ");
        text_foreign(s, summary->run->host);
        buf_putc(&s->text, '\n');
        text_style(s, PLAIN);
    }
    text_add_answer(s, &r);
    buf_putc(&s->text, '\n');
    text_table(s, &r, summary->elapsed_ns);
    for (unsigned kind = 0; kind < ENTITY_KINDS; kind++)
        if (kind != ENTITY_SYSTEM && kind != ENTITY_CGROUP && kind != ENTITY_CGROUP_DISK)
            text_kind(s, summary, kind);
    text_rest(s, &r);
}

/* Other processes are in it too, so its figures are not the job's; they show how near the limits
 * were. */
static void text_add_cgroup(struct sink *s, const struct summary *summary,
                            const struct instance_summary *cgroup)
{
    struct text_rows r = text_rows_of_instance(s, cgroup);
    buf_puts(&s->text, "\n");
    text_style(s, BOLD);
    buf_puts(&s->text, "everything in cgroup ");
    text_foreign(s, entity_name(&cgroup->instance->entity));
    text_style(s, PLAIN);
    buf_puts(&s->text, "\n");
    text_table(s, &r, summary->elapsed_ns);
}

/* A cgroup without limits and without trouble is shown only when the output is verbose. */
static bool text_is_cgroup_tight(const struct instance_summary *t)
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

static void text_add_machine(struct sink *s, const struct summary *summary)
{
    bool has_system = false;
    for (size_t i = 0; i < summary->instance_count; i++)
        if (summary->instances[i].instance->entity.kind == ENTITY_SYSTEM) {
            text_add_system(s, summary, &summary->instances[i]);
            has_system = true;
        }
    for (size_t i = 0; i < summary->instance_count; i++) {
        const struct instance_summary *t = &summary->instances[i];
        if (t->instance->entity.kind == ENTITY_CGROUP &&
            ((s->flags & TOLL_OUTPUT_VERBOSE) || text_is_cgroup_tight(t)))
            text_add_cgroup(s, summary, t);
    }
    text_gpus(s, summary, has_system);
}

static void text_summary(struct sink *s, const struct summary *summary)
{
    struct text_rows r = text_rows_of_target(s, &summary->whole);
    bool has_unmarked = false;
    text_add_head(s, summary);
    if (summary->has_target)
        text_add_target(s, summary);
    text_marks(s, &summary->marks);
    text_add_machine(s, summary);
    text_add_survivors(s, summary);
    for (size_t i = 0; i < summary->note_count && i < SUMMARY_NOTES; i++)
        text_paragraph(s, "note: ", summary->notes[i]);
    if (summary->note_count > SUMMARY_NOTES)
        buf_printf(&s->text, "note: and %zu more\n", summary->note_count - SUMMARY_NOTES);
    text_outputs(s, summary);
    text_style(s, DIM);
    for (unsigned i = 0; summary->has_target && i < r.count; i++)
        has_unmarked |= text_has_line(s, &r, i) &&
                        text_quality(&r, PART_COMBINED, i) == QUALITY_EXACT_IF_REAPED;
    if (has_unmarked)
        text_paragraph(s, "unmarked: ",
                       "kernel counters, complete unless a process discarded a child without "
                       "waiting for it; no such loss was seen");
    if (summary->has_target && text_has_sampled_parts(s, &r))
        text_paragraph(s, "~ ", "sampled, where the total is not");
    text_add_self(s, summary);
    text_style(s, PLAIN);
}

const struct sink_kind sink_text = {
    .format = {"text", ".txt", "the summary for people", "FILE"},
    .summary = text_summary,
};
