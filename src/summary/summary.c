/* SPDX-License-Identifier: MIT */
#include "summary/summary.h"

#include <string.h>

/* Quantiles are kept of the target as a whole, of the machine and of toll itself. */
enum { HISTOGRAMS = PROCESS_METRICS + SELF_METRICS + SYSTEM_METRICS };

static void init_target(struct target_summary *t)
{
    for (unsigned part = 0; part < PARTS; part++)
        for (unsigned i = 0; i < PROCESS_METRICS; i++)
            t->verdicts[part][i].rung = "";
}

int summary_init(struct summary *s, const struct run *run)
{
    memset(s, 0, sizeof *s);
    s->run = run;
    s->histograms = calloc(HISTOGRAMS, sizeof *s->histograms);
    if (!s->histograms || octave_store_init(&s->octaves, HISTOGRAMS) < 0)
        return -ENOMEM;
    for (unsigned i = 0; i < HISTOGRAMS; i++)
        s->histograms[i].store = &s->octaves;
    init_target(&s->whole);
    for (unsigned i = 0; i < PROCESS_METRICS; i++)
        s->whole.series[PART_COMBINED][i].histogram = &s->histograms[i];
    for (unsigned i = 0; i < SELF_METRICS; i++)
        s->self[i].histogram = &s->histograms[PROCESS_METRICS + i];
    return 0;
}

int summary_add_targets(struct summary *s, size_t count)
{
    s->targets = calloc(count, sizeof *s->targets);
    if (!s->targets)
        return -ENOMEM;
    s->target_count = count;
    for (size_t i = 0; i < count; i++)
        init_target(&s->targets[i]);
    return 0;
}

void summary_done(struct summary *s)
{
    free(s->outputs);
    for (size_t i = 0; i < SUMMARY_NOTES; i++)
        free(s->notes[i]);
    for (size_t i = 0; i < s->thing_count; i++)
        free(s->things[i].series);
    free(s->things);
    mark_totals_done(&s->marks);
    free(s->targets);
    free(s->histograms);
    octave_store_done(&s->octaves);
    memset(s, 0, sizeof *s);
}

static void put_row(const struct summary *s, struct series *series, const struct row *row,
                    uint64_t elapsed_ns)
{
    if (!row)
        return;
    FOR_EACH_BIT(i, row_seen(row))
    {
        enum metric_id id = row->first + (enum metric_id)i;
        const struct metric *m = metric_of(id);
        if (s->run->since_start && m->kind == METRIC_COUNTER && !series[i].last.u)
            series[i].last = row_value(row, id); /* what was before has no rate */
        series_put(&series[i], m, row_value(row, id), elapsed_ns);
    }
}

/* A counter has what it lacked when the process is reaped; a gauge is for good without it. */
static void note_bounds(uint64_t *denied, const struct row *row)
{
    if (!row || !(*denied | row->at_least))
        return;
    FOR_EACH_BIT(id, *denied & row->present)
    {
        if (metric_of(id)->kind == METRIC_COUNTER)
            *denied &= ~BIT(id);
    }
    *denied |= row->at_least;
}

static void put_target(const struct summary *s, struct target_summary *t,
                       const struct frame_row parts[PARTS], uint64_t elapsed_ns)
{
    for (unsigned part = 0; part < PARTS; part++) {
        put_row(s, t->series[part], parts[part].row, elapsed_ns);
        note_bounds(&t->denied[part], parts[part].row);
    }
}

/* By its number, as long as there was memory for all that were met before. */
static struct series *find_series(const struct summary *s, const struct measured *m)
{
    if (m->number <= s->thing_count && s->things[m->number - 1].thing == m)
        return s->things[m->number - 1].series;
    for (size_t i = 0; i < s->thing_count; i++)
        if (s->things[i].thing == m)
            return s->things[i].series;
    return NULL;
}

struct histogram *summary_system_histogram(const struct summary *s, unsigned i)
{
    return &s->histograms[PROCESS_METRICS + SELF_METRICS + i];
}

/* A thing is met when it is first read: its number is one more than there were. */
static struct series *series_of(struct summary *s, const struct measured *m)
{
    struct series *met = find_series(s, m);
    if (met)
        return met;
    struct thing_summary *longer = realloc(s->things, (s->thing_count + 1) * sizeof *longer);
    if (!longer)
        return NULL;
    s->things = longer;
    struct series *series = calloc(metric_count(m->entity.kind), sizeof *series);
    if (!series)
        return NULL;
    if (m->entity.kind == ENTITY_SYSTEM)
        for (unsigned i = 0; i < SYSTEM_METRICS; i++)
            series[i].histogram = summary_system_histogram(s, i);
    s->things[s->thing_count++] = (struct thing_summary){.thing = m, .series = series};
    return series;
}

void summary_frame(struct summary *s, const struct frame *f)
{
    put_target(s, &s->whole, f->target, f->elapsed_ns);
    for (size_t i = 0; i < f->target_count && i < s->target_count; i++)
        put_target(s, &s->targets[i], f->targets[i].parts, f->elapsed_ns);
    for (size_t i = 0; i < f->machine_count; i++) {
        struct series *series = series_of(s, f->machine[i]);
        if (series)
            put_row(s, series, &f->machine[i]->row, f->elapsed_ns);
        FOR_EACH_BIT(k, series ? f->machine[i]->unlimited : 0)
        series[k].is_unlimited = !series[k].observed_ns;
    }
    put_row(s, s->self, f->self.row, f->elapsed_ns);
}

bool summary_note(struct summary *s, const char *sentence)
{
    size_t kept = s->note_count < SUMMARY_NOTES ? s->note_count : SUMMARY_NOTES;
    for (size_t i = 0; i < kept; i++)
        if (strcmp(s->notes[i], sentence) == 0)
            return false;
    s->note_count++;
    if (kept == SUMMARY_NOTES)
        return false; /* enough is enough */
    s->notes[kept] = strdup(sentence);
    if (!s->notes[kept])
        s->note_count--;
    return true;
}

static void end_target(struct target_summary *t, uint64_t elapsed_ns)
{
    for (unsigned part = 0; part < PARTS; part++)
        for (unsigned id = 0; id < PROCESS_METRICS; id++)
            series_end(&t->series[part][id], metric_of(id), elapsed_ns);
}

void summary_end(struct summary *s, uint64_t elapsed_ns)
{
    s->elapsed_ns = elapsed_ns;
    end_target(&s->whole, elapsed_ns);
    for (size_t i = 0; i < s->target_count; i++)
        end_target(&s->targets[i], elapsed_ns);
    for (size_t t = 0; t < s->thing_count; t++)
        for (unsigned i = 0; i < metric_count(s->things[t].thing->entity.kind); i++)
            series_end(&s->things[t].series[i], metric_of(s->things[t].thing->row.first + i),
                       elapsed_ns);
    for (unsigned i = 0; i < SELF_METRICS; i++)
        series_end(&s->self[i], metric_of(metric_first(ENTITY_SELF) + i), elapsed_ns);
}

enum quality summary_thing_quality(const struct series *s, const struct metric *m)
{
    if (!s->observed_ns)
        return QUALITY_UNKNOWN;
    bool counts = m->kind == METRIC_COUNTER;
    if (s->coverage == COVERED_SO_FAR)
        return QUALITY_LOWER_BOUND;
    if (s->coverage == COVERED_PARTLY) { /* at least nothing is not known */
        double figure = counts ? metric_number(m, s->last) : s->max;
        return figure > 0 ? QUALITY_LOWER_BOUND : QUALITY_UNKNOWN;
    }
    return counts && s->coverage == COVERED ? QUALITY_EXACT : QUALITY_SAMPLED;
}
