/* SPDX-License-Identifier: MIT */
#include "summary/summary.h"

#include <string.h>

/* Quantiles are kept of the target as a whole and of toll itself. One block, so that the kernel
 * gives memory only for the few buckets that are touched. */
enum { HISTOGRAMS = PROCESS_METRICS + SELF_METRICS };

int summary_init(struct summary *s, const struct run *run)
{
    memset(s, 0, sizeof *s);
    s->run = run;
    s->histograms = calloc(HISTOGRAMS, sizeof *s->histograms);
    if (!s->histograms)
        return -ENOMEM;
    for (unsigned i = 0; i < PROCESS_METRICS; i++)
        s->target[PART_COMBINED][i].histogram = &s->histograms[i];
    for (unsigned part = 0; part < PARTS; part++)
        for (unsigned i = 0; i < PROCESS_METRICS; i++)
            s->verdicts[part][i].rung = "";
    for (unsigned i = 0; i < SELF_METRICS; i++)
        s->self[i].histogram = &s->histograms[PROCESS_METRICS + i];
    return 0;
}

void summary_done(struct summary *s)
{
    for (size_t i = 0; i < SUMMARY_NOTES; i++)
        free(s->notes[i]);
    free(s->histograms);
    memset(s, 0, sizeof *s);
}

static void put_row(struct series *series, const struct row *row, uint64_t elapsed_ns)
{
    if (!row)
        return;
    FOR_EACH_BIT(i, row->present)
    {
        enum metric_id id = row->first + (enum metric_id)i;
        series_put(&series[i], metric_of(id), row_value(row, id), elapsed_ns);
    }
}

void summary_frame(struct summary *s, const struct frame *f)
{
    for (unsigned part = 0; part < PARTS; part++)
        put_row(s->target[part], f->target[part].row, f->elapsed_ns);
    put_row(s->self, f->self.row, f->elapsed_ns);
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

void summary_end(struct summary *s, uint64_t elapsed_ns)
{
    s->elapsed_ns = elapsed_ns;
    for (unsigned id = 0; id < PROCESS_METRICS; id++)
        for (unsigned part = 0; part < PARTS; part++)
            series_end(&s->target[part][id], metric_of(id), elapsed_ns);
    for (unsigned i = 0; i < SELF_METRICS; i++)
        series_end(&s->self[i], metric_of(metric_first(ENTITY_SELF) + i), elapsed_ns);
}

bool summary_knows(const struct summary *s, enum part part, enum metric_id id)
{
    return s->verdicts[part][id].quality != QUALITY_UNKNOWN;
}
