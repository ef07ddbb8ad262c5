/* SPDX-License-Identifier: MIT */
#include "engine/verdicts.h"

#include "engine/exits.h"
#include "engine/gpus.h"
#include "engine/network.h"
#include "engine/targets.h"

bool verdicts_has_hidden(const struct toll_tracker *t)
{
    return is_launched(t) && t->reaper.main_reaped && !t->reaper.no_children_left &&
           !t->members.count && !t->run.no_children;
}

static struct evidence gather(struct toll_tracker *t, const struct target *g,
                              const struct target_summary *s)
{
    const struct ledger *l = &g->ledger;
    struct evidence e = {
        .all_reaped = g->is_launched && t->reaper.main_reaped && t->reaper.no_children_left,
        .auto_reaping = l->losing || l->ignoring || verdicts_has_hidden(t),
        .started_is_exact = g->is_launched && exits_are_complete(t),
        .peak_is_exact = t->reaper.peak_is_exact,
        .main_at_end = l->main_fresh,
        .of_cgroup = g->cgroup_bits,
        .cgroup_has_ticks = g->cgroup_has_ticks,
        .cgroup_is_gone = g->cgroup && g->ended,
        .of_network = network_verdict(t, g),
    };
    /* Counters come to light when the process is reaped; a gauge was without it, and so is what no
     * kernel hands on. */
    uint64_t for_good = l->folds[FOLD_SUM] | l->folds[FOLD_ONCE] | BIT(process_gpu_seconds) |
                        BIT(process_processes_count);
    for (unsigned part = 0; part < PARTS; part++)
        e.denied[part] = l->denied[part] | (s->denied[part] & for_good);
    return e;
}

/* A gauge may be unknown at the end, when nobody is left to have it: it is known when it ever was.
 */
static struct row known_figures(const struct target *g, const struct target_summary *of,
                                enum part part)
{
    struct row row = g->parts[part];
    for (unsigned id = 0; id < PROCESS_METRICS; id++) {
        const struct series *s = &of->series[part][id];
        if (s->observed_ns && !row_has(&row, id))
            row_put_u64(&row, id, s->last.u);
    }
    return row;
}

/* Reads that are rare may all have missed the time of most memory, or the part altogether. Which
 * pages several processes share with one another is not told: what is counted once is at least so
 * much. */
static void judge_slow(struct target_summary *s, const struct target *g, enum part part)
{
    double most = s->series[part][process_memory_rss_bytes].max;
    double seen = (double)g->most_slow_rss[part];
    bool of_several = s->series[part][process_processes_count].max > 1;
    FOR_EACH_BIT(id, PROCESS_ROLLUP_BITS)
    {
        struct verdict *v = &s->verdicts[part][id];
        if (v->quality == QUALITY_UNKNOWN)
            continue;
        if (most > 0 && seen == 0)
            *v = (struct verdict){.quality = QUALITY_UNKNOWN, .rung = ""};
        else if (most > seen * 1.1 || (of_several && metric_of(id)->fold == FOLD_ONCE))
            v->quality = QUALITY_LOWER_BOUND;
    }
    struct verdict *once = &s->verdicts[part][process_memory_distinct_bytes];
    if (of_several && most > 0 && seen == 0) { /* what one had alone says nothing of all */
        *once = (struct verdict){.quality = QUALITY_UNKNOWN, .rung = ""};
        s->series[part][process_memory_distinct_bytes] = (struct series){0};
    } else if (of_several && once->quality != QUALITY_UNKNOWN)
        once->quality = QUALITY_LOWER_BOUND;
}

/* Samples were skipped: most of what was seen is no less than what was, and may be much less. */
static void judge_pauses(struct target_summary *s, const struct ledger *l)
{
    uint64_t gauges = l->folds[FOLD_SUM] | l->folds[FOLD_ONCE] | BIT(process_processes_count);
    for (unsigned part = 0; part < PARTS; part++)
        FOR_EACH_BIT(id, gauges)
        {
            if (s->verdicts[part][id].quality == QUALITY_SAMPLED)
                s->verdicts[part][id].quality = QUALITY_LOWER_BOUND;
        }
}

static void judge(struct toll_tracker *t, const struct target *g, struct target_summary *s)
{
    struct evidence e = gather(t, g, s);
    for (unsigned part = 0; part < PARTS; part++) {
        struct row row = known_figures(g, s, part);
        if (e.of_network.quality == QUALITY_UNKNOWN) { /* also when they were thought to be known */
            row_unknown(&row, process_network_received_bytes);
            row_unknown(&row, process_network_sent_bytes);
        }
        struct rung rungs[LADDER_RUNGS];
        size_t count = ladder_build(rungs, part, g->ledger.own_only, &row, &e);
        for (unsigned id = 0; id < PROCESS_METRICS; id++) {
            union value value;
            struct verdict v = ladder_pick(rungs, count, id, &value);
            bool difference = part == PART_DESCENDANTS && v.quality != QUALITY_UNKNOWN &&
                              metric_of(id)->kind == METRIC_COUNTER;
            /* What nothing tells when a process is reaped was read of each by itself. */
            bool of_others = metric_of(id)->fold != FOLD_CONSERVED &&
                             !row_has(&g->ledger.reaped, id);
            if (difference)
                v = ladder_difference(s->verdicts[PART_COMBINED][id], s->verdicts[PART_MAIN][id],
                                      of_others);
            s->verdicts[part][id] = v;
        }
        judge_slow(s, g, part);
        s->partial[part] = 0;
        FOR_EACH_BIT(id, e.denied[part])
        {
            enum quality quality = s->verdicts[part][id].quality;
            if (quality == QUALITY_LOWER_BOUND || quality == QUALITY_SAMPLED)
                s->partial[part] |= BIT(id);
        }
        /* Every process has some: those that were read are threads of the kernel and the like. */
        FOR_EACH_BIT(id, s->partial[part] & PROCESS_ROLLUP_BITS)
        {
            if (s->series[part][id].max > 0)
                continue;
            s->verdicts[part][id] = (struct verdict){.quality = QUALITY_UNKNOWN, .rung = ""};
            s->partial[part] &= ~BIT(id);
        }
    }
    if (t->schedule.pauses)
        judge_pauses(s, &g->ledger);
}

/* All processes together once had at least what the largest of them had: for a short job the
 * kernel's high-water mark says more than the samples. */
static void raise_peak(struct target_summary *s)
{
    struct series *series = s->series[PART_COMBINED];
    struct verdict *verdicts = s->verdicts[PART_COMBINED];
    if (!series[process_memory_peak_bytes].observed_ns)
        return;
    series_at_least(&series[process_memory_rss_bytes],
                    (double)series[process_memory_peak_bytes].last.u);
    if (verdicts[process_memory_rss_bytes].quality == QUALITY_UNKNOWN)
        verdicts[process_memory_rss_bytes] = (struct verdict){
            QUALITY_LOWER_BOUND, verdicts[process_memory_peak_bytes].rung};
    for (unsigned part = 0; part < PARTS; part++) {
        struct series *of = s->series[part];
        if (of[process_memory_distinct_bytes].observed_ns &&
            of[process_memory_peak_bytes].observed_ns)
            series_at_least(&of[process_memory_distinct_bytes], of[process_memory_peak_bytes].max);
    }
}

/* What toll itself may run on is no bound for a target that it did not start. */
double verdicts_most_cores(const struct toll_tracker *t)
{
    return !t->replay && t->run.online_cpus ? t->run.online_cpus : t->run.cpus;
}

static void bound_series(struct series *s, enum metric_id id, double most)
{
    double mean = series_mean(s, metric_of(id));
    if (most > 0 && s->max > most)
        s->max = mean > most ? mean : most;
}

/* Times come to light in steps: what comes in one moment was not all used in it. No more cores are
 * used than there are, and a thread waits for one CPU at a time. */
static void bound_rates(const struct toll_tracker *t, struct target_summary *s)
{
    for (unsigned part = 0; part < PARTS; part++) {
        struct series *series = s->series[part];
        bound_series(&series[process_cpu_cores], process_cpu_cores, verdicts_most_cores(t));
        bound_series(&series[process_cpu_wait_seconds], process_cpu_wait_seconds,
                     series[process_threads_count].max);
    }
}

void verdicts_make(struct toll_tracker *t, struct summary *summary)
{
    gpus_judge(t);
    for (size_t i = 0; t->whole && i < book_count(t); i++) {
        const struct target *g = &t->targets[i];
        struct target_summary *s = g == t->whole ? &summary->whole : &summary->targets[i];
        judge(t, g, s);
        raise_peak(s);
        bound_rates(t, s);
        gpus_judge_target(t, g, s);
    }
}
