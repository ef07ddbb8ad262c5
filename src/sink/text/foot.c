/* SPDX-License-Identifier: MIT
 * The last lines of the block: how far its figures can be trusted, what toll noted, where samples
 * went, and what measuring cost. */
#include "sink/text/text.h"

#include <string.h>

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
    struct text_line *line = text_block_add(&g->block, RANK_REMARK, NULL);
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
