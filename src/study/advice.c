/* SPDX-License-Identifier: MIT
 * The rules by which toll_recommend decides; docs/recommend.md explains them. */
#include "study/study.h"

#include <string.h>

#define MARGIN      1.2 /* with ADVICE_STRONG runs or more */
#define MARGIN_WEAK 1.5
#define NEARLY_ALL  0.95 /* of the allowed cores in use */
#define HELD_BACK   0.10 /* waiting or throttled time, as a share of CPU time */
#define STARVED     0.50 /* waiting time, where not nearly all of the allowed cores were in use */
#define GPU_IN_USE  0.05 /* of the time */
#define MIB         (1024.0 * 1024)
#define MOST_MEMORY (MIB * MIB * MIB) /* a record may be forged; no machine has an exbibyte */
#define MOST_SHARE  1e6

enum { TIME_STEP = 15 * 60 };

enum run_result { RUN_FINISHED, RUN_OOM_KILLED, RUN_TIMED_OUT, RUN_FAILED, RUN_CUT, RUN_LEFT };

static enum run_result run_result(const struct study_run *r)
{
    if (r->cut_short) /* unless its record still grows */
        return r->end.unknown || r->end.ended ? RUN_CUT : RUN_LEFT;
    if (r->end.oom_killed)
        return RUN_OOM_KILLED;
    if (r->end.timed_out)
        return RUN_TIMED_OUT;
    if (!r->end.ended)
        return RUN_LEFT;
    if (r->end.unknown || (!r->end.signaled && r->end.status == 0))
        return RUN_FINISHED;
    return r->memory_limit_hit ? RUN_OOM_KILLED : RUN_FAILED;
}

static void range_add(struct study_range *range, const struct study_value *v)
{
    if (v->quality == QUALITY_UNKNOWN)
        return;
    range->least = !range->count || v->value < range->least ? v->value : range->least;
    range->most = !range->count || v->value > range->most ? v->value : range->most;
    range->is_least |= v->quality == QUALITY_LOWER_BOUND;
    range->count++;
}

double study_round_up(double value, double step)
{
    if (value / step >= 1e15)
        return value; /* of a forged record */
    double steps = (double)(uint64_t)(value / step);
    return (steps + (steps * step < value)) * step;
}

/* A quantile is the middle of a bucket, and may be 1 part in 64 too large: a little above a whole
 * number of cores is that number. */
static unsigned whole_cores(double cores)
{
    cores = cores < 1e6 ? cores : 1e6;
    double tolerance = cores / 50 > 0.1 ? cores / 50 : 0.1;
    double whole = study_round_up(cores - tolerance > 0 ? cores - tolerance : 0, 1);
    return whole < 1 ? 1 : (unsigned)whole;
}

static void advise_cores(struct study_advice *a, const struct study_run *r)
{
    const struct study_value *cores = &r->figures[FIGURE_CORES_P90];
    const struct study_value *cpu = &r->figures[FIGURE_CPU], *wait = &r->figures[FIGURE_CPU_WAIT];
    range_add(&a->cores, cores);
    if (cores->quality == QUALITY_UNKNOWN || cpu->quality == QUALITY_UNKNOWN || cpu->value <= 0 ||
        r->cores_allowed <= 0)
        return;
    double waiting = wait->quality == QUALITY_UNKNOWN ? 0 : wait->value / cpu->value;
    double throttled = r->throttled_seconds / cpu->value;
    waiting = waiting < MOST_SHARE ? waiting : MOST_SHARE;
    bool used_nearly_all = cores->value >= NEARLY_ALL * r->cores_allowed;
    if (cores->value >= a->cores.most)
        a->starved_share = waiting >= STARVED && !used_nearly_all ? waiting : 0;
    if (!used_nearly_all)
        return;
    throttled = throttled < MOST_SHARE ? throttled : MOST_SHARE;
    double worst = waiting > throttled ? waiting : throttled;
    double before = a->wait_share > a->throttled_share ? a->wait_share : a->throttled_share;
    if (worst < HELD_BACK || (a->more_would_help && worst <= before))
        return;
    a->more_would_help = true;
    a->cores_allowed = r->cores_allowed;
    a->wait_share = waiting;
    a->throttled_share = throttled;
}

static void advise_gpus(struct study_advice *a, const struct study_run *r)
{
    unsigned busy = 0;
    for (size_t i = 0; i < r->gpu_count; i++) {
        a->has_gpus = true;
        a->knows_gpus |= r->gpus[i].known_seconds > 0;
        if (r->gpus[i].busy_share > GPU_IN_USE) {
            a->gpu_name = r->gpus[i].name;
            busy++;
        }
    }
    if (busy > a->gpus || (busy == a->gpus && r->gpu_count > a->gpus_seen)) {
        a->gpus = busy;
        a->gpus_seen = (unsigned)r->gpu_count;
    }
    range_add(&a->gpu_memory, &r->figures[FIGURE_GPU_MEMORY_PEAK]);
}

static double after_oom(double limit)
{
    double more = ADVICE_OOM * limit;
    return more > limit + ADVICE_OOM_MORE ? more : limit + ADVICE_OOM_MORE;
}

/* A run that was ended too early needs at least what it had. */
static void advise_too_little(struct study_advice *a, const struct study_run *r)
{
    const struct study_value *peak = &r->figures[FIGURE_MEMORY_PEAK];
    double seconds = (double)r->elapsed_ns / 1e9;
    if (seconds > a->times.most && seconds > a->timed_out_seconds)
        a->timed_out_seconds = seconds;
    if (run_result(r) == RUN_OOM_KILLED) {
        /* The end of the machine's memory says little about this job: its own peak does. */
        double limit = r->memory_limit > 0                ? r->memory_limit
                       : peak->quality != QUALITY_UNKNOWN ? peak->value
                                                          : 0;
        if (limit > a->oom_limit) {
            a->oom_limit = limit;
            a->oom_limit_known = r->memory_limit > 0;
        }
    } else if (peak->quality != QUALITY_UNKNOWN && peak->value > a->peaks.most) {
        struct study_value so_far = {peak->value, QUALITY_LOWER_BOUND};
        range_add(&a->peaks, &so_far);
    }
}

static void advise_memory(struct study_advice *a, size_t finished_peaks)
{
    a->memory_factor = finished_peaks >= ADVICE_STRONG ? MARGIN : MARGIN_WEAK;
    double bytes = a->peaks.count ? a->memory_factor * a->peaks.most + a->memory_rise : 0;
    a->memory_is_least = a->peaks.is_least;
    if (a->oom_limit > 0 && after_oom(a->oom_limit) > bytes) {
        bytes = after_oom(a->oom_limit);
        a->oom_decides = true;
        a->memory_is_least = true; /* it was not enough; how much would be is not known */
    }
    bytes = bytes < MOST_MEMORY ? bytes : MOST_MEMORY;
    /* In steps that leave two or three digits: what is pasted can be read. */
    double step = bytes < 1000 * MIB ? 10 * MIB : bytes < 10000 * MIB ? 100 * MIB : 1024 * MIB;
    a->memory_bytes = bytes > 0 ? study_round_up(bytes, step) : 0;
}

static bool is_evidence(const struct study_run *r)
{
    enum run_result result = run_result(r);
    return result == RUN_FINISHED || result == RUN_OOM_KILLED || result == RUN_TIMED_OUT;
}

static size_t count_commands(const struct study_run *const *runs, size_t count)
{
    size_t different = 0;
    for (size_t i = 0; i < count; i++) {
        bool is_new = is_evidence(runs[i]);
        for (size_t k = 0; k < i && is_new; k++) {
            if (!is_evidence(runs[k]))
                continue;
            char **a = runs[i]->command, **b = runs[k]->command;
            while (a && b && *a && *b && strcmp(*a, *b) == 0)
                a++, b++;
            is_new = a && b && (*a || *b);
        }
        different += is_new;
    }
    return different;
}

void study_advise(const struct study_run *const *runs, size_t count, struct study_advice *ret)
{
    struct study_advice a = {.newest = count ? runs[count - 1] : NULL};
    size_t first = count; /* of those that are considered */
    while (first && a.runs < ADVICE_RUNS) {
        const struct study_run *r = runs[--first];
        switch (run_result(r)) {
        case RUN_FINISHED: a.runs++; break;
        case RUN_OOM_KILLED: a.oom_killed++; break;
        case RUN_TIMED_OUT: a.timed_out++; break;
        case RUN_FAILED: a.failed++; break;
        case RUN_CUT: a.cut_short++; break;
        case RUN_LEFT: a.left_running++; break;
        }
    }
    for (size_t i = 0; i < first; i++)
        a.older += run_result(runs[i]) == RUN_FINISHED;
    for (size_t i = first; i < count; i++) {
        const struct study_run *r = runs[i];
        const struct study_value *peak = &r->figures[FIGURE_MEMORY_PEAK];
        if (run_result(r) != RUN_FINISHED)
            continue;
        a.status_unknown += r->end.unknown;
        range_add(&a.times, &r->figures[FIGURE_WALL]);
        range_add(&a.peaks, peak);
        a.peaks_unknown += peak->quality == QUALITY_UNKNOWN;
        bool is_sampled = peak->quality == QUALITY_SAMPLED || peak->quality == QUALITY_LOWER_BOUND;
        if (is_sampled && r->memory_rise > a.memory_rise)
            a.memory_rise = r->memory_rise;
        advise_cores(&a, r);
        advise_gpus(&a, r);
    }
    size_t finished_peaks = a.peaks.count;
    for (size_t i = first; i < count; i++)
        if (is_evidence(runs[i]) && run_result(runs[i]) != RUN_FINISHED)
            advise_too_little(&a, runs[i]);
    a.cpus = a.cores.count ? whole_cores(a.cores.most) : 0;
    advise_memory(&a, finished_peaks);
    a.seconds_is_least = a.timed_out_seconds > 0;
    double longest = a.seconds_is_least ? a.timed_out_seconds : a.times.most;
    /* A run that only the OOM killer ended says nothing about time. */
    if (a.runs || a.timed_out)
        a.seconds = (uint64_t)study_round_up(ADVICE_TIME * longest, TIME_STEP);
    a.commands = count_commands(runs + first, count - first);
    *ret = a;
}
