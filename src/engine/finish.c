/* SPDX-License-Identifier: MIT */
#include "engine/step.h"

#include "account/quality.h"
#include "engine/settings.h"
#include "engine/target/gpus.h"
#include "engine/target/targets.h"
#include "engine/tracker.h"
#include "source/cgroup/cgroup.h"

#include <string.h>

/* ==== Quality ================================================================================= */

/* A process is left that no list shows: born a moment ago, or hidden from us. */
static bool quality_has_hidden(const struct tracked *t)
{
    return is_launched(t) && t->reaper.main_reaped && !t->reaper.no_children_left &&
           !t->members.count && !t->options->no_children;
}

static struct evidence quality_gather(const struct toll_tracker *tracker, const struct target *g,
                                      const struct target_summary *s)
{
    const struct tracked *t = &tracker->tracked;
    const struct ledger *l = &g->ledger;
    bool all_recorded = g->is_launched && !tracker->job.has_outside;
    struct evidence e = {
        .all_reaped = g->is_launched && t->reaper.main_reaped && t->reaper.no_children_left,
        .auto_reaping = l->losing || l->ignoring || quality_has_hidden(t),
        .started_is_exact = g->is_launched && exits_are_complete(&tracker->exits),
        .peak_is_exact = t->reaper.peak_is_exact,
        .main_at_end = l->main_fresh,
        .of_cgroup = g->in.bits,
        .cgroup_has_ticks = g->cgroup ? cgroup_counts_ticks(g->cgroup) : g->in.has_ticks,
        .of_records = all_recorded ? tracker->ends.exact : 0,
        .cgroup_is_gone = g->cgroup && g->ended,
        .of_network = network_quality(t, g),
        .of_packets = network_packets_quality(t, g),
    };
    /* Counters come to light when the process is reaped; a gauge was without it, and so is what no
     * kernel hands on. */
    uint64_t for_good = l->folds[FOLD_SUM] | l->folds[FOLD_ONCE] | BIT(process_gpu_seconds) |
                        BIT(process_processes_count);
    for (unsigned part = 0; part < PARTS; part++)
        e.denied[part] = l->denied[part] | (s->denied[part] & for_good);
    return e;
}

/* A gauge may be unknown at the end, when no process is left: it is known when it ever was. */
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
    const struct series *mark = &s->series[part][process_memory_peak_bytes];
    double most = s->series[part][process_memory_rss_bytes].max;
    if (mark->observed_ns && (double)mark->last.u > most) /* samples missed it, too */
        most = (double)mark->last.u;
    double seen = (double)g->most_slow_rss[part];
    bool of_several = s->series[part][process_processes_count].max > 1;
    FOR_EACH_BIT(id, PROCESS_ROLLUP_BITS)
    {
        struct provenance *v = &s->provenance[part][id];
        if (v->quality == QUALITY_UNKNOWN)
            continue;
        if (most > 0 && seen == 0)
            *v = (struct provenance){.quality = QUALITY_UNKNOWN, .source = ""};
        else if (most > seen * 1.1 || (of_several && metric_of(id)->fold == FOLD_ONCE))
            v->quality = QUALITY_LOWER_BOUND;
    }
    struct provenance *once = &s->provenance[part][process_memory_distinct_bytes];
    if (of_several && most > 0 && seen == 0) { /* what one had alone says nothing of all */
        *once = (struct provenance){.quality = QUALITY_UNKNOWN, .source = ""};
        s->series[part][process_memory_distinct_bytes] = (struct series){0};
    } else if (of_several && once->quality != QUALITY_UNKNOWN)
        once->quality = QUALITY_LOWER_BOUND;
}

/* There were descendants, and no sample saw one: that they had no memory and no threads is not
 * known. */
static void judge_unseen(struct target_summary *s, const struct ledger *l, const struct row *row)
{
    const struct series *series = s->series[PART_DESCENDANTS];
    if (!row_u64(row, process_processes_started_count) || series[process_processes_count].max > 0)
        return;
    FOR_EACH_BIT(id, l->folds[FOLD_SUM] | l->folds[FOLD_ONCE] | BIT(process_processes_count))
    s->provenance[PART_DESCENDANTS][id] = (struct provenance){QUALITY_UNKNOWN, ""};
}

/* Samples were skipped, or there was time for hardly any: the most that was seen may be much less
 * than what there was. */
static void judge_few_samples(struct target_summary *s, const struct ledger *l)
{
    uint64_t gauges = l->folds[FOLD_SUM] | l->folds[FOLD_ONCE] | BIT(process_processes_count);
    for (unsigned part = 0; part < PARTS; part++)
        FOR_EACH_BIT(id, gauges)
        {
            if (s->provenance[part][id].quality == QUALITY_SAMPLED)
                s->provenance[part][id].quality = QUALITY_LOWER_BOUND;
        }
}

static void quality_judge_target(const struct toll_tracker *t, const struct target *g,
                                 struct target_summary *s)
{
    struct evidence e = quality_gather(t, g, s);
    for (unsigned part = 0; part < PARTS; part++) {
        struct row row = known_figures(g, s, part);
        /* Also when they were thought to be known. */
        if (e.of_network.quality == QUALITY_UNKNOWN)
            row.present &= ~(PROCESS_NETWORK_BITS & ~PROCESS_PACKET_BITS);
        if (e.of_packets.quality == QUALITY_UNKNOWN)
            row.present &= ~PROCESS_PACKET_BITS;
        struct figure_source sources[QUALITY_SOURCES_AT_MOST];
        size_t count = quality_sources(sources, part, g->ledger.own_only, &row, &e);
        for (unsigned id = 0; id < PROCESS_METRICS; id++) {
            union value value;
            struct provenance v = quality_pick(sources, count, id, &value);
            bool difference = part == PART_DESCENDANTS && v.quality != QUALITY_UNKNOWN &&
                              metric_of(id)->kind == METRIC_COUNTER;
            /* What is not known when a process is reaped was read of each by itself. */
            bool of_others = metric_of(id)->fold != FOLD_CONSERVED &&
                             !row_has(&g->ledger.reaped, id);
            if (difference)
                v = quality_of_difference(s->provenance[PART_COMBINED][id],
                                          s->provenance[PART_MAIN][id], of_others);
            s->provenance[part][id] = v;
        }
        judge_slow(s, g, part);
        if (part == PART_DESCENDANTS)
            judge_unseen(s, &g->ledger, &row);
        s->partial[part] = 0;
        FOR_EACH_BIT(id, e.denied[part])
        {
            enum quality quality = s->provenance[part][id].quality;
            if (quality == QUALITY_LOWER_BOUND || quality == QUALITY_SAMPLED)
                s->partial[part] |= BIT(id);
        }
        /* Every process has some: those that were read are threads of the kernel and the like. */
        FOR_EACH_BIT(id, s->partial[part] & PROCESS_ROLLUP_BITS)
        {
            if (s->series[part][id].max > 0)
                continue;
            s->provenance[part][id] = (struct provenance){.quality = QUALITY_UNKNOWN, .source = ""};
            s->partial[part] &= ~BIT(id);
        }
    }
    bool is_short = t->run.command && t->frame.elapsed_ns < SUMMARY_SHORTEST_FOR_MEMORY_NS;
    if (t->schedule.pauses || is_short)
        judge_few_samples(s, &g->ledger);
}

/* All processes together once had at least what the largest of them had: for a short job the
 * kernel's high-water mark says more than the samples. What several had when it had most is not
 * known. */
static void raise_peak(struct target_summary *s)
{
    struct series *series = s->series[PART_COMBINED];
    struct provenance *provenance = s->provenance[PART_COMBINED];
    if (!series[process_memory_peak_bytes].observed_ns)
        return;
    double mark = (double)series[process_memory_peak_bytes].last.u;
    bool is_missed = mark > SUMMARY_NOTICEABLE * series[process_memory_rss_bytes].max;
    bool is_all = series[process_processes_started_count].last.u <= 1 &&
                  provenance[process_memory_peak_bytes].quality != QUALITY_LOWER_BOUND;
    uint64_t missed = PROCESS_ROLLUP_BITS | BIT(process_memory_distinct_bytes) |
                      BIT(process_memory_virtual_bytes) |
                      (is_all ? 0 : BIT(process_memory_rss_bytes));
    FOR_EACH_BIT(id, is_missed ? missed : 0)
    if (provenance[id].quality == QUALITY_SAMPLED)
        provenance[id].quality = QUALITY_LOWER_BOUND;
    series_at_least(&series[process_memory_rss_bytes],
                    (double)series[process_memory_peak_bytes].last.u);
    if (series[process_memory_rss_bytes].max_at_ns == SERIES_TIME_UNKNOWN) /* nor is theirs known */
        s->series[PART_MAIN][process_memory_rss_bytes].at_peak_ns =
            s->series[PART_DESCENDANTS][process_memory_rss_bytes].at_peak_ns = 0;
    if (provenance[process_memory_rss_bytes].quality == QUALITY_UNKNOWN)
        provenance[process_memory_rss_bytes] = (struct provenance){
            QUALITY_LOWER_BOUND, provenance[process_memory_peak_bytes].source};
    for (unsigned part = 0; part < PARTS; part++) {
        struct series *of = s->series[part];
        if (of[process_memory_distinct_bytes].observed_ns &&
            of[process_memory_peak_bytes].observed_ns)
            series_at_least(&of[process_memory_distinct_bytes], of[process_memory_peak_bytes].max);
        if (series[process_memory_distinct_bytes].max_at_ns == SERIES_TIME_UNKNOWN)
            of[process_memory_distinct_bytes].at_peak_ns = 0;
    }
}

double quality_most_cores(const struct run *run)
{
    /* What toll itself may run on is no bound for a target that it did not start. */
    return run->online_cpus ? run->online_cpus : run->cpus;
}

static void bound_series(struct series *s, enum metric_id id, double most)
{
    double mean = series_mean(s, metric_of(id));
    if (most > 0 && s->max > most)
        s->max = mean > most ? mean : most;
}

/* Times come to light in steps: what comes in one moment was not all used in it. No more cores are
 * used than there are, and a thread waits for one CPU at a time. */
static void bound_rates(double most_cores, struct target_summary *s)
{
    for (unsigned part = 0; part < PARTS; part++) {
        struct series *series = s->series[part];
        bound_series(&series[process_cpu_cores], process_cpu_cores, most_cores);
        bound_series(&series[process_cpu_wait_seconds], process_cpu_wait_seconds,
                     series[process_threads_count].max);
    }
}

void quality_judge_all(struct toll_tracker *t, struct summary *summary)
{
    threads_judge(&t->threads, summary);
    gpus_judge(&t->gpus, summary, &t->machine.system, t->tracked.start_ns, t->frame.elapsed_ns);
    energy_finish(&t->energy, &t->tracked, &t->run, summary);
    for (size_t i = 0; t->tracked.whole && i < book_count(&t->tracked); i++) {
        const struct target *g = &t->tracked.targets[i];
        struct target_summary *s = g == t->tracked.whole ? &summary->whole : &summary->targets[i];
        quality_judge_target(t, g, s);
        raise_peak(s);
        bound_rates(quality_most_cores(&t->run), s);
        gpus_judge_target(&t->gpus, g, t->frame.elapsed_ns, s);
        energy_judge_target(&t->energy, &t->tracked, g, t->frame.elapsed_ns, s);
    }
}

/* ==== Finish ================================================================================== */

static void list_survivors(const struct tracked *t, struct summary *s)
{
    for (size_t i = 0; i < t->members.count; i++) {
        const struct process *p = &t->members.order[i]->process;
        if (p->has_ended)
            continue;
        if (s->survivor_count < SUMMARY_STILL_RUNNING) {
            struct survivor *one = &s->survivors[s->survivor_count];
            one->pid = p->entity.pid;
            memcpy(one->name, p->entity.name, sizeof one->name);
            one->cpu_ns = row_u64(&p->own, process_cpu_seconds);
            one->has_rss = row_has(&p->own, process_memory_rss_bytes);
            one->rss_bytes = row_u64(&p->own, process_memory_rss_bytes);
        }
        s->survivor_count++;
    }
}

static void note_what_is_missing(struct toll_tracker *t)
{
    const struct ledger *l = &t->tracked.whole->ledger;
    bool is_denied = l->denied[PART_COMBINED] & t->tracked.reader.wanted &
                     BIT(process_storage_read_bytes);
    if (is_denied && !t->tracked.io_denial_noted)
        tracked_note(&t->tracked, "cannot read the I/O of a process of another user; it is counted "
                                  "once the process is reaped");
    bool lacks_pss = t->summary.whole.denied[PART_COMBINED] & t->tracked.reader.wanted &
                     BIT(process_memory_pss_bytes);
    if (lacks_pss && !t->tracked.reader.own_was_shared && !t->tracked.io_denial_noted)
        tracked_note(&t->tracked, "cannot read PSS, USS and open files of a process of another "
                                  "user (root can)");
    uint64_t tenths = t->schedule.longest_ns / (NS_PER_SECOND / 10);
    if (t->schedule.pauses)
        tracked_note(&t->tracked,
                     "samples were skipped for up to %llu.%llu s at a time (slow sample, busy CPU "
                     "or sampling budget); peaks are lower bounds",
                     (unsigned long long)tenths / 10, (unsigned long long)tenths % 10);
    if (quality_has_hidden(&t->tracked))
        tracked_note(
            &t->tracked,
            "a process of the job is still running but not visible; totals do not include it");
    if (l->ignoring && !l->losing && !t->tracked.ends)
        tracked_note(&t->tracked,
                     "a process of the job ignores SIGCHLD; totals may not include its children");
}

/* Of a group or a user, what a member inherits from children that nobody saw may be of others. */
static void note_unseen_children(struct tracked *t)
{
    for (size_t i = 0; i < t->members.count; i++) {
        const struct member *m = t->members.order[i];
        uint64_t inherited = left_u64(inherited_u64(&m->process.inherited, process_cpu_seconds),
                                      m->inherited_base_ns);
        if ((m->targets & t->discovery.rule_bits) && m->was_seen &&
            inherited > m->vanished_ns + 3 * t->reader.ns_per_tick) {
            tracked_note(t,
                         "process %d (%s) waited for children that were too short-lived to be "
                         "seen; their usage is counted as its own, whatever their group or user",
                         (int)m->process.entity.pid, m->process.entity.name);
            return; /* once is enough */
        }
    }
}

enum { STATUS_TRIES = 20, STATUS_STEP_US = 5000 };

/* The kernel reports how a process ended only after its parent has reaped it, which most do at
 * once. A missing status means that the kernel does not report it. */
static void wait_for_status(struct target *g, bool is_live)
{
    asked_how_it_ended(g);
    for (unsigned i = 0; i < STATUS_TRIES && g->end.unknown && is_live; i++) {
        bool was_there = kill(g->id, 0) == 0 || errno == EPERM;
        if (was_there)
            usleep(STATUS_STEP_US);
        asked_how_it_ended(g);
        if (!was_there)
            return;
    }
}

static void take_ends(struct toll_tracker *t)
{
    bool all = !is_launched(&t->tracked) && step_targets_ended(t);
    for (size_t i = 0; i < t->tracked.target_count; i++) {
        struct target *g = &t->tracked.targets[i];
        if (g->is_launched)
            g->end = t->tracked.reaper.end;
        else if (g->ended && g->end.unknown && target_has_main(g))
            wait_for_status(g, t->tracked.root.live);
        target_summary_of(&t->summary, &t->tracked, g)->end = g->end;
    }
    if (t->tracked.whole && t->tracked.whole->is_union)
        t->summary.whole.end = (struct toll_end){
            .ended = all,
            .unknown = all,
        };
    t->summary.whole.end.timed_out = t->timeout.term_sent;
}

void finish(struct toll_tracker *t)
{
    struct tracked *tracked = &t->tracked;
    marks_close(&t->marks);
    exits_read(&t->exits, tracked, true);
    tick(t, TICK_LAST);
    marks_finish(&t->marks);
    if (t->replay) /* a script ends with the processes that it shows */
        tracked->reaper.no_children_left = !tracked->members.count;
    summary_end(&t->summary, t->frame.elapsed_ns);
    take_ends(t);
    cgroups_finish(&t->cgroups, t->timeout.kill_sent);
    for (size_t i = 0; i < tracked->members.count; i++) {
        const struct member *m = tracked->members.order[i];
        if (m->targets && m->was_seen && !m->gone && !m->end_is_sent &&
            !process_ends_has_sent(&t->ends, &m->process.entity))
            summary_process(&t->summary, &m->process, NULL);
    }
    job_cgroup_reconcile(&t->job, tracked);
    if (tracked->whole) {
        if (is_launched(tracked))
            list_survivors(tracked, &t->summary);
        note_what_is_missing(t);
        note_unseen_children(tracked);
        threads_finish(&t->threads, tracked);
    }
    quality_judge_all(t, &t->summary);
    cgroups_use_limits(&t->cgroups, &t->summary); /* of figures that are known */
    job_cgroup_finish(&t->job, tracked);
    outputs_send_events(&t->outputs, &tracked->events);
    t->settled = true;
}
