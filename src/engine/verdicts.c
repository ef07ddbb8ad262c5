/* SPDX-License-Identifier: MIT */
#include "engine/verdicts.h"

#include "engine/network.h"
#include "engine/targets.h"

bool verdicts_has_hidden(const struct toll_tracker *t)
{
    return is_launched(t) && t->reaper.main_reaped && !t->reaper.no_children_left &&
           !t->members.count && !t->run.no_children;
}

static struct evidence gather(struct toll_tracker *t, const struct target *g)
{
    const struct ledger *l = &g->ledger;
    const struct target_summary *s = target_summary_of(t, g);
    return (struct evidence){
        .all_reaped = g->is_launched && t->reaper.main_reaped && t->reaper.no_children_left,
        .auto_reaping = l->losing || l->ignoring || verdicts_has_hidden(t),
        .peak_is_exact = t->reaper.peak_is_exact,
        /* Counters come to light when the process is reaped; a gauge was without it, and so is
         * what no kernel hands on. */
        .denied = l->denied | (s->denied & (l->folds[FOLD_SUM] | l->folds[FOLD_ONCE] |
                                            BIT(process_gpu_seconds))),
        .main_at_end = l->main_fresh,
        .of_cgroup = g->cgroup_bits,
        .cgroup_is_gone = g->cgroup && g->ended,
        .of_network = network_verdict(t, g),
    };
}

/* A gauge may be unknown at the end, when nobody is left to have it: it is known when it ever was.
 */
static struct row known_figures(struct toll_tracker *t, const struct target *g, enum part part)
{
    struct row row = g->parts[part];
    for (unsigned id = 0; id < PROCESS_METRICS; id++) {
        const struct series *s = &target_summary_of(t, g)->series[part][id];
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

static void judge(struct toll_tracker *t, struct target *g)
{
    struct evidence e = gather(t, g);
    struct target_summary *s = target_summary_of(t, g);
    for (unsigned part = 0; part < PARTS; part++) {
        struct row row = known_figures(t, g, part);
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
            s->verdicts[part][id] = difference ? ladder_difference(s->verdicts[PART_COMBINED][id],
                                                                   s->verdicts[PART_MAIN][id])
                                               : v;
        }
        judge_slow(s, g, part);
    }
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

/* The kernel hands times on in steps: what comes in one moment was not all used in it. */
static void bound_cores(const struct toll_tracker *t, struct target_summary *s)
{
    double most = verdicts_most_cores(t);
    for (unsigned part = 0; part < PARTS; part++) {
        struct series *cores = &s->series[part][process_cpu_cores];
        double mean = series_mean(cores, metric_of(process_cpu_cores));
        if (most > 0 && cores->max > most)
            cores->max = mean > most ? mean : most;
    }
}

void verdicts_make(struct toll_tracker *t)
{
    for (size_t i = 0; i < book_count(t); i++) {
        struct target *g = &t->targets[i];
        judge(t, g);
        raise_peak(target_summary_of(t, g));
        bound_cores(t, target_summary_of(t, g));
    }
}
