/* SPDX-License-Identifier: MIT
 * The summary for a person at a terminal: what the job used, how each figure was obtained, what
 * could not be read, and what measuring cost. */
#include "sink/text/text.h"

#include "base/process.h"
#include "sink/sink.h"

#include <string.h>

/* ==== Foot ==================================================================================== */

/* The last lines of the block: how far its figures can be trusted, what toll noted, where samples
 * went, and what measuring cost. */

/* ---- Quality --------------------------------------------------------------------------------- */

static double foot_self(const struct glance *g, enum metric_id id)
{
    return metric_number(metric_of(id), g->summary->self[id - self_first].last);
}

/* "from 412 samples"; how many were skipped, where that is more than a few. */
static void foot_put_samples(const struct glance *g, struct buf *b)
{
    const double noticeable = 0.1; /* of those that were due */
    double taken = foot_self(g, self_ticks_count), missed = foot_self(g, self_ticks_missed_count);
    if (!(taken > 0)) {
        buf_puts(b, "sampled");
        return;
    }
    buf_puts(b, "from ");
    human_count(b, taken);
    buf_puts(b, taken == 1 ? " sample" : " samples");
    if (missed > noticeable * (taken + missed)) {
        buf_puts(b, ", ");
        human_count(b, missed);
        buf_puts(b, " more skipped");
    }
}

/* "CPU and disk", and their verb. */
static void foot_put_names(struct buf *b, const char *const names[], unsigned count)
{
    buf_puts(b, b->length ? "; " : "");
    for (unsigned i = 0; i < count; i++)
        buf_printf(b, "%s%s", i == 0 ? "" : i + 1 == count ? " and " : ", ", names[i]);
    buf_puts(b, count == 1 ? " is " : " are ");
}

/* "CPU and disk are exact kernel counters; memory is from 412 samples". */
static void glance_add_trust(struct glance *g)
{
    static const struct {
        enum metric_id id;
        const char *name;
    } figures[] = {
        {process_cpu_seconds, "CPU"},
        {process_storage_written_bytes, "disk"},
        {process_network_received_bytes, "network"},
    };
    struct buf words = {0};
    enum { AT_MOST = ARRAY_LEN(figures) + 1 }; /* and memory */
    const char *counted[AT_MOST], *sampled[AT_MOST];
    unsigned counted_count = 0, sampled_count = 0;
    bool is_conditional = false;
    for (size_t i = 0; i < ARRAY_LEN(figures); i++) {
        enum quality q = glance_quality(g, figures[i].id);
        if (q >= QUALITY_EXACT_IF_REAPED)
            counted[counted_count++] = figures[i].name;
        else if (q == QUALITY_SAMPLED)
            sampled[sampled_count++] = figures[i].name;
        is_conditional |= q == QUALITY_EXACT_IF_REAPED;
    }
    struct memory_peak memory = glance_memory(g);
    if (memory.quality == QUALITY_SAMPLED)
        sampled[sampled_count++] = "memory";
    else if (memory.quality >= QUALITY_EXACT_IF_REAPED)
        counted[counted_count++] = "memory";
    if (counted_count) {
        foot_put_names(&words, counted, counted_count);
        buf_printf(&words, "%s%s%s",
                   counted_count > 1 ? ""
                   : is_conditional  ? "a "
                                     : "an ",
                   is_conditional ? "kernel counter" : "exact kernel counter",
                   counted_count > 1 ? "s" : "");
    }
    if (sampled_count) {
        foot_put_names(&words, sampled, sampled_count);
        foot_put_samples(g, &words);
    }
    if (memory.quality == QUALITY_LOWER_BOUND && memory.why)
        buf_printf(&words, "%smemory is a lower bound: %s", words.length ? "; " : "", memory.why);
    if (words.length && !buf_failed(&words)) {
        bool has_reason = memory.quality == QUALITY_LOWER_BOUND;
        struct text_line *line = text_block_add(&g->block, has_reason ? RANK_FIGURE : RANK_REMARK,
                                                NULL);
        line->style = DIM;
        /* A sentence begins with a capital letter. */
        if (words.data[0] >= 'a' && words.data[0] <= 'z')
            words.data[0] = (char)(words.data[0] - 'a' + 'A');
        buf_add(&line->text, words.data, words.length);
        buf_putc(&line->text, '.');
    }
    buf_done(&words);
}

/* ---- Notes and outputs ----------------------------------------------------------------------- */

/* Whether a line at the top of the block has the same. */
static bool foot_repeats_limit(const struct glance *g, const char *note)
{
    const struct target_summary *whole = &g->summary->whole;
    if (strstr(note, "OOM killer"))
        return whole->end.oom_killed || whole->limits.of[LIMIT_MEMORY_BYTES].reached;
    return g->has_limit_hit && strstr(note, "limit on ") && strstr(note, " reached");
}

static void glance_add_notes(struct glance *g)
{
    enum { EACH = 2 };
    size_t kept = g->summary->note_count < SUMMARY_NOTES ? g->summary->note_count : SUMMARY_NOTES;
    size_t more = g->summary->note_count - kept, shown = 0;
    struct text_line *line = NULL;
    for (size_t i = 0; i < kept; i++) {
        const char *note = g->summary->notes[i];
        if (foot_repeats_limit(g, note))
            continue;
        if (shown++ >= EACH) {
            more++;
            continue;
        }
        line = text_block_add(&g->block, RANK_TROUBLE, "Note");
        buf_printable(&line->text, note, strlen(note));
    }
    if (line && more)
        buf_printf(&line->detail, " (%zu more note%s: -v)", more, more == 1 ? "" : "s");
}

/* How many samples arrived; if some did not, what happened to them and why. */
static void glance_put_output(struct buf *b, const struct output_summary *o)
{
    buf_printable(b, o->name, strlen(o->name));
    if (o->way == OUTPUT_SCRAPED) {
        buf_puts(b, ", ");
        human_count(b, (double)o->scrapes);
        buf_puts(b, o->scrapes == 1 ? " time" : " times");
    } else {
        buf_puts(b, ", ");
        human_count(b, (double)o->delivered);
        buf_puts(b, o->delivered == 1 ? " sample" : " samples");
    }
    if (o->way == OUTPUT_FILE && o->has_bytes && o->bytes) {
        buf_puts(b, ", ");
        buf_bytes(b, (double)o->bytes);
    }
    if (o->kept) {
        buf_puts(b, ", ");
        human_count(b, (double)o->kept);
        buf_puts(b, " kept to send later");
    } else if (o->has_kept) {
        buf_puts(b, ", the end kept to send later");
    }
    if (o->dropped) {
        buf_puts(b, ", ");
        human_count(b, (double)o->dropped);
        buf_puts(b, " lost");
    } else if (!o->is_whole) {
        buf_puts(b, ", incomplete");
    }
    if (o->retries)
        buf_printf(b, ", %llu retr%s", (unsigned long long)o->retries,
                   o->retries == 1 ? "y" : "ies");
    if (*o->why && (!o->is_whole || o->kept || o->has_kept || o->way == OUTPUT_SCRAPED)) {
        buf_puts(b, ": ");
        buf_printable(b, o->why, strlen(o->why));
    }
}

static void glance_add_outputs(struct glance *g)
{
    struct text_line *files = NULL; /* complete files share a line */
    for (size_t i = 0; i < g->summary->output_count; i++) {
        const struct output_summary *o = &g->summary->outputs[i];
        bool is_fine = o->is_whole && !o->kept && !o->has_kept;
        if (o->way == OUTPUT_STREAM && is_fine)
            continue; /* what a terminal or a pipe has shown */
        if (o->way == OUTPUT_FILE && is_fine) {
            if (files)
                buf_puts(&files->text, "; ");
            else
                files = text_block_add(&g->block, RANK_REMARK, "Saved");
            glance_put_output(&files->text, o);
        }
    }
    for (size_t i = 0; i < g->summary->output_count; i++) {
        const struct output_summary *o = &g->summary->outputs[i];
        bool is_fine = o->is_whole && !o->kept && !o->has_kept;
        if ((o->way == OUTPUT_STREAM || o->way == OUTPUT_FILE) && is_fine)
            continue;
        const char *label = o->way == OUTPUT_SENT      ? "Sent"
                            : o->way == OUTPUT_SCRAPED ? "Scraped"
                            : o->delivered             ? "Saved"
                                                       : "Not saved";
        glance_put_output(
            &text_block_add(&g->block, is_fine ? RANK_REMARK : RANK_TROUBLE, label)->text, o);
    }
}

/* ---- Cost ------------------------------------------------------------------------------------ */

static void glance_add_cost(struct glance *g)
{
    double cpu = foot_self(g, self_cpu_seconds);
    double elapsed = (double)g->summary->elapsed_ns / 1e9;
    bool is_known =
        g->summary->self[self_cpu_seconds - self_first].observed_ns; /* not in replays */
    bool has_hints = (g->sink->flags & TOLL_OUTPUT_HINTS) &&
                     !(g->sink->flags & TOLL_OUTPUT_VERBOSE);
    if (!is_known && !has_hints)
        return;
    struct text_line *line = text_block_add(&g->block, is_known ? RANK_FIGURE : RANK_REMARK, NULL);
    line->style = DIM;
    if (is_known && elapsed >= 0.5) {
        buf_puts(&line->text, "toll used ");
        buf_double_fixed(&line->text, cpu / elapsed * 100, cpu / elapsed < 0.001 ? 2 : 1);
        buf_puts(&line->text, " % of one core.");
    } else if (is_known) {
        buf_puts(&line->text, "toll used ");
        human_seconds(&line->text, cpu);
        buf_puts(&line->text, " of CPU time.");
    }
    if (has_hints)
        buf_puts(&line->remark, g->summary->output_count ? "All figures: -v"
                                                         : "All figures: -v   Save: -o run.jsonl");
}

void glance_add_foot(struct glance *g)
{
    glance_add_notes(g);
    if (g->summary->has_target)
        glance_add_trust(g);
    glance_add_outputs(g);
    glance_add_cost(g);
}

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
        buf_puts(&s->text, u->is_least ? "≥" : "");
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
    buf_printf(&s->text,
               "still running, counted up to the end of toll (--wait all waits for "
               "%s):\n",
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
        text_unavailable(s, &r, summary->elapsed_ns);
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
        text_unavailable(s, &r, summary->elapsed_ns);
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
