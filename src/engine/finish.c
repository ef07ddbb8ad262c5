/* SPDX-License-Identifier: MIT */
#include "engine/finish.h"

#include "engine/outputs.h"
#include "engine/tick.h"

#include <string.h>

/* Somebody is left whom no list shows: born a moment ago, or hidden from us. */
static bool has_hidden(const struct toll_tracker *t)
{
    return t->reaper.main_reaped && !t->reaper.no_children_left && !t->members.count &&
           !t->run.no_children;
}

static struct evidence gather(const struct toll_tracker *t)
{
    return (struct evidence){
        .all_reaped = t->reaper.main_reaped && t->reaper.no_children_left,
        .auto_reaping = t->ledger.losing || t->ledger.ignoring || has_hidden(t),
        .peak_is_exact = t->reaper.peak_is_exact,
        /* Counters come to light when the process is reaped; a gauge was without it. */
        .denied = t->ledger.denied | (t->summary.denied & t->ledger.folds[FOLD_SUM]),
        .main_at_end = t->ledger.main_fresh,
    };
}

/* A gauge may be unknown at the end, when nobody is left to have it: it is known when it ever was.
 */
static struct row known_figures(const struct toll_tracker *t, enum part part)
{
    struct row row = t->parts[part];
    for (unsigned id = 0; id < PROCESS_METRICS; id++) {
        const struct series *s = &t->summary.target[part][id];
        if (s->observed_ns && !row_has(&row, id))
            row_put_u64(&row, id, s->last.u);
    }
    return row;
}

/* Reads that are rare may all have missed the time of most memory, or the part altogether. */
static void judge_slow(struct toll_tracker *t, enum part part)
{
    double most = t->summary.target[part][process_memory_rss_bytes].max;
    double seen = (double)t->slow.most_rss_bytes[part];
    static const enum metric_id slow[] = {process_memory_pss_bytes, process_memory_uss_bytes};
    for (size_t i = 0; i < ARRAY_LEN(slow); i++) {
        struct verdict *v = &t->summary.verdicts[part][slow[i]];
        if (v->quality == QUALITY_UNKNOWN)
            continue;
        if (most > 0 && seen == 0)
            *v = (struct verdict){.quality = QUALITY_UNKNOWN, .rung = ""};
        else if (most > seen * 1.1)
            v->quality = QUALITY_LOWER_BOUND;
    }
}

static void judge(struct toll_tracker *t)
{
    struct evidence e = gather(t);
    struct summary *s = &t->summary;
    for (unsigned part = 0; part < PARTS; part++) {
        struct row row = known_figures(t, part);
        struct rung rungs[LADDER_RUNGS];
        size_t count = ladder_build(rungs, part, t->run.no_children, &row, &e);
        for (unsigned id = 0; id < PROCESS_METRICS; id++) {
            union value value;
            struct verdict v = ladder_pick(rungs, count, id, &value);
            bool difference = part == PART_DESCENDANTS && v.quality != QUALITY_UNKNOWN &&
                              metric_of(id)->kind == METRIC_COUNTER;
            s->verdicts[part][id] = difference ? ladder_difference(s->verdicts[PART_COMBINED][id],
                                                                   s->verdicts[PART_MAIN][id])
                                               : v;
        }
        judge_slow(t, part);
    }
}

/* All processes together once had at least what the largest of them had: for a short job the
 * kernel's high-water mark says more than the samples. */
static void raise_peak(struct toll_tracker *t)
{
    struct series *series = t->summary.target[PART_COMBINED];
    struct verdict *verdicts = t->summary.verdicts[PART_COMBINED];
    if (!series[process_memory_peak_bytes].observed_ns)
        return;
    series_at_least(&series[process_memory_rss_bytes],
                    (double)series[process_memory_peak_bytes].last.u);
    if (verdicts[process_memory_rss_bytes].quality == QUALITY_UNKNOWN)
        verdicts[process_memory_rss_bytes] = (struct verdict){
            QUALITY_LOWER_BOUND, verdicts[process_memory_peak_bytes].rung};
}

/* The kernel hands times on in steps: what comes in one moment was not all used in it. */
static void bound_cores(struct toll_tracker *t)
{
    for (unsigned part = 0; part < PARTS; part++) {
        struct series *s = &t->summary.target[part][process_cpu_cores];
        if (t->run.cpus && s->max > t->run.cpus)
            s->max = t->run.cpus;
    }
}

static void list_survivors(struct toll_tracker *t)
{
    struct summary *s = &t->summary;
    for (size_t i = 0; i < t->members.count; i++) {
        const struct process *p = &t->members.order[i]->process;
        if (p->has_ended)
            continue;
        if (s->survivor_count < SUMMARY_STILL_RUNNING) {
            struct survivor *one = &s->survivors[s->survivor_count];
            one->pid = p->entity.pid;
            memcpy(one->name, p->entity.name, sizeof one->name);
            one->cpu_ns = row_u64(&p->own, process_cpu_seconds);
            one->rss_bytes = row_u64(&p->own, process_memory_rss_bytes);
        }
        s->survivor_count++;
    }
}

static void note_what_is_missing(struct toll_tracker *t)
{
    if (t->ledger.denied & t->reader.wanted & BIT(process_storage_read_bytes))
        outputs_note(t, "the I/O of a process of another user could not be read; it counts once "
                        "the process is reaped");
    if (t->summary.denied & t->reader.wanted & BIT(process_memory_pss_bytes))
        outputs_note(
            t, "a process of another user does not show all: what is said of PSS, USS and open "
               "files may leave it out");
    if (has_hidden(t))
        outputs_note(t, "a process of the job still runs and could not be seen: it is missing in "
                        "the totals");
    if (t->ledger.ignoring && !t->ledger.losing)
        outputs_note(t, "a process of the job ignores SIGCHLD: children that nobody waits for may "
                        "be missing in the totals");
}

int finish(struct toll_tracker *t)
{
    tick(t, true);
    if (t->replay)
        t->reaper.no_children_left = !t->members.count; /* a script ends with whom it shows */
    summary_end(&t->summary, t->frame.elapsed_ns);
    t->summary.end = t->reaper.end;
    list_survivors(t);
    note_what_is_missing(t);
    judge(t);
    raise_peak(t);
    bound_cores(t);
    return outputs_summary(t);
}
