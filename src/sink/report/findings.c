/* SPDX-License-Identifier: MIT
 * What stands out in a run, in plain sentences. Each has its evidence beside it and a threshold
 * that docs/report.md documents. A run with fewer than ten samples, or of less than a second, has
 * none but what the kernel counted.
 *
 * Findings do not contradict each other: idle cores are no finding where the quota or other
 * processes kept the job from using them, and waiting for a CPU is none where the quota caused it.
 */
#include "sink/report/report.h"

#include <string.h>

/* ---- Thresholds ------------------------------------------------------------------------------ */

enum { LEAST_SAMPLES = 10 };

#define LEAST_SECONDS     1
#define SERIAL_MEAN       0.7  /* cores: it computed most of the time */
#define SERIAL_PEAK       1.15 /* cores: never two at a time */
#define IDLE_SHARE        0.5  /* of the allowed cores */
#define WAIT_SHARE        0.1  /* of the time that was used or waited for */
#define WAIT_OF_RUN       0.1  /* of the time the run took: a job that sleeps waits for little */
#define THROTTLED_SHARE   0.05 /* of the time the run took */
#define PRESSURE_SHARE    0.1  /* of the time the run took */
#define MEMORY_NEAR       0.9  /* of the limit */
#define MEMORY_UNUSED     0.25 /* of a limit that is not the machine's */
#define SWAP_BYTES        (1024.0 * 1024)
#define FAULTS_PER_SECOND 100
#define DOMINANT_SHARE    0.8 /* of the CPU time of the job */
#define DOMINANT_SECONDS  0.1 /* of CPU time, below which it does not matter */
#define GROWTH_SHARE      0.2 /* of the peak, after the first third of the run */
#define GROWTH_BYTES      (32.0 * 1024 * 1024)
#define GROWTH_FIT        0.9 /* of the variation is a straight line */
#define GROWTH_SECONDS    10  /* a shorter run is still being set up */
#define GPU_UNUSED        0.01
#define GPU_IDLE          0.3
#define STARVED_CORES     0.9  /* that work while the GPU is idle */
#define STARVED_SHARE     0.25 /* of the time in which both are known */
#define RANK_SHARE        1.25 /* of the mean CPU time of all ranks */

/* ---- List ------------------------------------------------------------------------------------ */

struct report_finding *report_finding_add(struct report_findings *f, const char *key,
                                          enum finding_weight weight)
{
    struct report_finding *one = &f->items[f->count];
    f->count += f->count < REPORT_FINDINGS;
    buf_done(&one->sentence); /* of one that had no room */
    buf_done(&one->evidence);
    *one = (struct report_finding){.key = key, .weight = weight};
    return one;
}

static void put_percent(struct buf *b, double share)
{
    buf_double_fixed(b, share * 100, share < 0.0995 ? 1 : 0);
    buf_puts(b, " %");
}

/* 4, or 2.5. */
static void put_cores(struct buf *b, double cores)
{
    bool is_whole = cores >= 0 && cores < 1e6 && (double)(uint64_t)cores == cores;
    buf_double_fixed(b, cores, is_whole ? 0 : 1);
}

static void put_share_of(struct buf *b, double used, double allowed)
{
    buf_bytes(b, used);
    buf_puts(b, " of ");
    buf_bytes(b, allowed);
    buf_puts(b, ", ");
    put_percent(b, used / allowed);
}

static bool knows(const struct report *r, enum metric_id id)
{
    return report_quality(r, id) != QUALITY_UNKNOWN;
}

static void put_figure(const struct report *r, struct buf *b, enum metric_id id)
{
    buf_puts(b, report_quality(r, id) == QUALITY_LOWER_BOUND ? "at least " : "");
    human_number(b, metric_of(id), report_figure(r, id));
}

/* Whether the run was long enough to be judged by its samples. */
static bool is_long_enough(const struct report *r)
{
    return r->frames >= LEAST_SAMPLES && r->summary->elapsed_ns >= LEAST_SECONDS * NS_PER_SECOND;
}

/* ---- Cgroups --------------------------------------------------------------------------------- */

static const struct series *cgroup_series(const struct instance_summary *t, enum metric_id id)
{
    return &t->series[id - cgroup_first];
}

/* The cgroup of the job with the largest total of a counter of seconds; NULL: no cgroup has any. */
static const struct instance_summary *cgroup_with_most(const struct report *r, enum metric_id id,
                                                       double *ret_seconds)
{
    const struct instance_summary *most = NULL;
    for (size_t i = 0; i < r->summary->instance_count; i++) {
        const struct instance_summary *t = &r->summary->instances[i];
        if (t->instance->entity.kind != ENTITY_CGROUP)
            continue;
        const struct series *s = cgroup_series(t, id);
        double value = s->observed_ns ? metric_number(metric_of(id), s->last) : 0;
        if (value > (most ? *ret_seconds : 0)) {
            most = t;
            *ret_seconds = value;
        }
    }
    return most;
}

/* What the processes of the cgroup of a limit held at most, without the page cache that the kernel
 * takes back when it is needed: anonymous and shared memory. False: unknown. */
static bool held_of_limit(const struct report *r, const struct limit *l, double *ret)
{
    for (size_t i = 0; l->cgroup && i < r->summary->instance_count; i++) {
        const struct instance_summary *t = &r->summary->instances[i];
        const struct entity *e = &t->instance->entity;
        const char *path = entity_name(e);
        if (e->kind != ENTITY_CGROUP)
            continue;
        for (unsigned k = 0; k < ENTITY_LABELS && e->labels[k].key; k++)
            if (strcmp(e->labels[k].key, "memory_cgroup") == 0)
                path = e->labels[k].value;
        const struct series *anon = cgroup_series(t, cgroup_memory_anon_bytes);
        const struct series *shared = cgroup_series(t, cgroup_memory_shmem_bytes);
        if (strcmp(path, l->cgroup) != 0 || !anon->observed_ns)
            continue;
        *ret = anon->max + (shared->observed_ns ? shared->max : 0);
        return true;
    }
    return false;
}

/* ---- Limits ---------------------------------------------------------------------------------- */

/* Limits that the kernel proves to have been reached. That of CPUs is in find_cpu. */
static void find_limits(const struct report *r, struct report_findings *f)
{
    static const char *const names[LIMITS] = {
        [LIMIT_CPUS] = NULL,
        [LIMIT_MEMORY_BYTES] = "memory limit",
        [LIMIT_SWAP_BYTES] = "swap limit",
        [LIMIT_TASKS] = "limit on tasks",
        [LIMIT_OPEN_FILES] = "limit on open files (ulimit -n)",
        [LIMIT_PROCESSES] = "limit on processes (ulimit -u)",
        [LIMIT_ADDRESS_BYTES] = "limit on address space (ulimit -v)",
        [LIMIT_CPU_SECONDS] = "limit on CPU time (ulimit -t)",
        [LIMIT_FILE_BYTES] = "limit on file size (ulimit -f)",
        [LIMIT_CORE_BYTES] = "limit on core files (ulimit -c)",
        [LIMIT_LOCKED_BYTES] = "limit on locked memory (ulimit -l)",
    };
    const struct toll_end *end = &r->summary->whole.end;
    if (end->oom_killed) {
        struct report_finding *one = report_finding_add(f, "oom", FINDING_PROBLEM);
        buf_puts(&one->sentence, "The kernel killed the job because memory ran out.");
        const struct limit *l = &r->summary->whole.limits.of[LIMIT_MEMORY_BYTES];
        if (l->known && !l->unlimited) {
            buf_puts(&one->evidence, "memory limit ");
            buf_bytes(&one->evidence, (double)l->value);
            buf_puts(&one->evidence, " (");
            buf_printable(&one->evidence, l->by, strlen(l->by));
            buf_putc(&one->evidence, ')');
        } else {
            buf_puts(&one->evidence, "counted by the kernel");
        }
    }
    for (unsigned kind = 0; kind < LIMITS; kind++) {
        const struct limit *l = &r->summary->whole.limits.of[kind];
        bool is_memory = kind == LIMIT_MEMORY_BYTES;
        double held = 0;
        if (!names[kind] || !l->known || l->unlimited || !l->reached ||
            (is_memory && end->oom_killed))
            continue;
        /* The page cache fills every limit in time: then the kernel frees some of it, and the job
         * hardly notices. */
        bool is_cache = is_memory && held_of_limit(r, l, &held) &&
                        held < MEMORY_NEAR * (double)l->value;
        struct report_finding *one = report_finding_add(f, "limit-hit",
                                                        is_cache ? FINDING_NOTE : FINDING_PROBLEM);
        buf_printf(&one->sentence, "The job reached its %s%s.", names[kind],
                   is_cache ? ", mostly with the page cache" : "");
        buf_printable(&one->evidence, l->reached, strlen(l->reached));
        if (l->reached_times > 1)
            buf_printf(&one->evidence, ", %llu times", (unsigned long long)l->reached_times);
        if (is_cache) {
            buf_puts(&one->evidence, "; its processes held ");
            put_share_of(&one->evidence, held, (double)l->value);
        }
    }
}

/* How much of the memory limit was used, where it was not reached. */
static void find_memory_use(const struct report *r, struct report_findings *f)
{
    const struct limit *l = &r->summary->whole.limits.of[LIMIT_MEMORY_BYTES];
    if (!l->known || l->unlimited || !l->value || l->reached || r->summary->whole.end.oom_killed)
        return;
    double limit = (double)l->value, used = 0, held;
    if (l->has_used)
        used = l->used;
    else if (knows(r, process_memory_rss_bytes))
        used = report_figure(r, process_memory_rss_bytes);
    bool is_of_cgroup = l->has_used && l->whose && strcmp(l->whose, "cgroup") == 0;
    bool is_peak = is_of_cgroup && !l->used_is_least; /* the kernel's own, whatever samples saw */
    bool has_cache = is_of_cgroup && !held_of_limit(r, l, &held);
    if (is_of_cgroup && !has_cache)
        used = held < used ? held : used;
    if (!is_peak && !is_long_enough(r))
        return;
    if (used >= MEMORY_NEAR * limit) {
        struct report_finding *one = report_finding_add(f, "memory-near-limit", FINDING_WARNING);
        buf_puts(&one->sentence, "Memory came close to the limit.");
        put_share_of(&one->evidence, used, limit);
        buf_puts(&one->evidence, has_cache ? ", with the page cache of the cgroup" : "");
        return;
    }
    /* One process alone may have had more than samples saw of all. */
    if (knows(r, process_memory_peak_bytes) && report_figure(r, process_memory_peak_bytes) > used)
        used = report_figure(r, process_memory_peak_bytes);
    bool is_requested = strcmp(l->by, "machine") != 0;
    /* What could not be read of some processes may be the larger part. */
    bool lacks_some = !is_peak &&
                      report_quality(r, process_memory_rss_bytes) == QUALITY_LOWER_BOUND;
    if (is_requested && !lacks_some && used > 0 && used < MEMORY_UNUSED * limit &&
        is_long_enough(r)) {
        struct report_finding *one = report_finding_add(f, "memory-unused", FINDING_NOTE);
        buf_puts(&one->sentence, "Most of the allowed memory was not used.");
        put_share_of(&one->evidence, used, limit);
        buf_puts(&one->evidence, " at peak");
    }
}

/* ---- CPU ------------------------------------------------------------------------------------- */

static bool find_throttling(const struct report *r, struct report_findings *f)
{
    double elapsed = (double)r->summary->elapsed_ns / 1e9, throttled;
    const struct instance_summary *t = cgroup_with_most(r, cgroup_cpu_throttled_seconds,
                                                        &throttled);
    if (!t || throttled < THROTTLED_SHARE * elapsed)
        return false;
    struct report_finding *one = report_finding_add(f, "cpu-throttled", FINDING_WARNING);
    const struct limit *l = &r->summary->whole.limits.of[LIMIT_CPUS];
    buf_puts(&one->sentence, "The CPU quota of the cgroup held the job back.");
    human_seconds(&one->evidence, throttled);
    buf_puts(&one->evidence, " throttled, added over all CPUs, in ");
    human_seconds(&one->evidence, elapsed);
    const struct series *periods = cgroup_series(t, cgroup_cpu_periods_count);
    const struct series *hits = cgroup_series(t, cgroup_cpu_throttled_periods_count);
    if (periods->observed_ns && hits->observed_ns && periods->last.u) {
        buf_puts(&one->evidence, "; in ");
        human_count(&one->evidence, (double)hits->last.u);
        buf_puts(&one->evidence, " of ");
        human_count(&one->evidence, (double)periods->last.u);
        buf_puts(&one->evidence, " periods");
    }
    if (l->known && !l->unlimited && strcmp(l->by, "cpu quota") == 0) {
        buf_puts(&one->evidence, "; quota ");
        buf_double_fixed(&one->evidence, l->cores, 2);
        buf_puts(&one->evidence, " cores");
    }
    return true;
}

static void find_cpu(const struct report *r, struct report_findings *f)
{
    const struct limit *l = &r->summary->whole.limits.of[LIMIT_CPUS];
    double elapsed = (double)r->summary->elapsed_ns / 1e9;
    double allowed = l->known && !l->unlimited ? l->cores : 0;
    bool is_throttled = find_throttling(r, f);
    if (!knows(r, process_cpu_seconds) || is_throttled)
        return;
    double cpu = report_figure(r, process_cpu_seconds), mean = cpu / elapsed;
    double waited = knows(r, process_cpu_wait_seconds) ? report_figure(r, process_cpu_wait_seconds)
                                                       : 0;
    if (waited >= WAIT_SHARE * (cpu + waited) && waited >= WAIT_OF_RUN * elapsed) {
        struct report_finding *one = report_finding_add(f, "waiting-for-cpu", FINDING_WARNING);
        buf_puts(&one->sentence, "The job often waited for a free CPU.");
        put_figure(r, &one->evidence, process_cpu_wait_seconds);
        buf_puts(&one->evidence, " waiting, ");
        put_figure(r, &one->evidence, process_cpu_seconds);
        buf_puts(&one->evidence, " computing, all tasks together");
        if (allowed > 0) {
            buf_puts(&one->evidence, "; ");
            buf_double_fixed(&one->evidence, mean, 2);
            buf_puts(&one->evidence, " of ");
            put_cores(&one->evidence, allowed);
            buf_puts(&one->evidence, allowed == 1 ? " core in use" : " cores in use");
        }
        return;
    }
    /* A total that is a lower bound does not show that cores were idle. */
    if (allowed < 2 || report_quality(r, process_cpu_seconds) == QUALITY_LOWER_BOUND)
        return;
    double peak = knows(r, process_cpu_cores) ? report_figure(r, process_cpu_cores) : 0;
    bool is_serial = mean >= SERIAL_MEAN && peak > 0 && peak <= SERIAL_PEAK;
    if (!is_serial && mean >= IDLE_SHARE * allowed)
        return;
    struct report_finding *one = is_serial ? report_finding_add(f, "serial", FINDING_WARNING)
                                           : report_finding_add(f, "cores-idle", FINDING_NOTE);
    if (is_serial)
        put_cores(&one->sentence, allowed - 1);
    else
        buf_double_fixed(&one->sentence, allowed - mean, 2);
    buf_puts(&one->sentence, " of ");
    put_cores(&one->sentence, allowed);
    buf_puts(&one->sentence, is_serial ? " cores were idle: the job computes on one at a time."
                                       : " cores were idle on average.");
    buf_double_fixed(&one->evidence, mean, 2);
    buf_puts(&one->evidence, " cores in use on average");
    if (peak > 0) {
        buf_puts(&one->evidence, ", ");
        buf_double_fixed(&one->evidence, peak, 2);
        buf_puts(&one->evidence, " at most");
    }
}

/* ---- Disk and swap --------------------------------------------------------------------------- */

static void find_disk(const struct report *r, struct report_findings *f)
{
    double elapsed = (double)r->summary->elapsed_ns / 1e9, waited;
    if (cgroup_with_most(r, cgroup_io_pressure_some_seconds, &waited) &&
        waited >= PRESSURE_SHARE * elapsed) {
        struct report_finding *one = report_finding_add(f, "waiting-for-disk", FINDING_WARNING);
        buf_puts(&one->sentence, "Tasks in the job's cgroup often waited for the disk.");
        human_seconds(&one->evidence, waited);
        buf_puts(&one->evidence, " with a task waiting for I/O, in ");
        human_seconds(&one->evidence, elapsed);
    }
    if (knows(r, process_memory_swap_bytes) &&
        report_figure(r, process_memory_swap_bytes) >= SWAP_BYTES) {
        struct report_finding *one = report_finding_add(f, "swap", FINDING_WARNING);
        buf_puts(&one->sentence, "A part of the job was swapped out.");
        put_figure(r, &one->evidence, process_memory_swap_bytes);
        buf_puts(&one->evidence, " at peak");
    }
    if (knows(r, process_faults_major_count)) {
        double faults = report_figure(r, process_faults_major_count);
        if (faults >= FAULTS_PER_SECOND * elapsed && faults >= 10 * FAULTS_PER_SECOND) {
            struct report_finding *one = report_finding_add(f, "major-faults", FINDING_WARNING);
            buf_puts(&one->sentence, "Memory was often read back from disk.");
            put_figure(r, &one->evidence, process_faults_major_count);
            buf_puts(&one->evidence, " major page faults in ");
            human_seconds(&one->evidence, elapsed);
        }
    }
}

/* ---- Memory over time, processes, ranks ------------------------------------------------------ */

static const struct trace *trace_of(const struct report *r, enum metric_id id, unsigned instance)
{
    for (unsigned i = 0; i < REPORT_CHARTS; i++)
        for (unsigned k = 0; k < r->charts[i].count; k++)
            if (r->charts[i].series[k].id == id && r->charts[i].series[k].instance == instance)
                return &r->charts[i].series[k].trace;
    return NULL;
}

static void find_growth(const struct report *r, struct report_findings *f)
{
    const struct trace *t = trace_of(r, process_memory_rss_bytes, 0);
    double slope, fit;
    if (!t || t->end_ns < GROWTH_SECONDS * NS_PER_SECOND)
        return;
    /* While a job is ending it frees what it had. */
    uint64_t from = t->end_ns / 3, until = t->end_ns - t->end_ns / 20;
    if (!trace_slope(t, from, until, &slope, &fit))
        return;
    double rise = slope * (double)(until - from) / 1e9;
    if (fit < GROWTH_FIT || rise < GROWTH_SHARE * t->max || rise < GROWTH_BYTES)
        return;
    struct report_finding *one = report_finding_add(f, "memory-grows", FINDING_WARNING);
    buf_puts(&one->sentence, "Memory grew steadily: this may be a leak.");
    buf_bytes(&one->evidence, slope * 60);
    buf_puts(&one->evidence, " per minute since the first third of the run, ");
    put_figure(r, &one->evidence, process_memory_rss_bytes);
    buf_puts(&one->evidence, " at peak");
}

static void find_dominant(const struct report *r, struct report_findings *f)
{
    const struct largest *l = r->summary->largest;
    /* Of a total that is a lower bound, a share is none. */
    if (!l || !l->by_cpu_count || l->count < 3 || !knows(r, process_cpu_seconds) ||
        report_quality(r, process_cpu_seconds) == QUALITY_LOWER_BOUND)
        return;
    const struct largest_process *p = &l->by_cpu[0];
    double cpu = report_figure(r, process_cpu_seconds), own = (double)p->cpu_ns / 1e9;
    if (!p->has_cpu || cpu <= DOMINANT_SECONDS || own < DOMINANT_SHARE * cpu)
        return;
    struct report_finding *one = report_finding_add(f, "one-process", FINDING_NOTE);
    buf_puts(&one->sentence, "One process used most of the CPU time: ");
    buf_printable(&one->sentence, p->name, strlen(p->name));
    buf_printf(&one->sentence, " (pid %d).", (int)p->pid);
    human_seconds(&one->evidence, own);
    buf_puts(&one->evidence, " of ");
    put_figure(r, &one->evidence, process_cpu_seconds);
    buf_puts(&one->evidence, ", ");
    put_percent(&one->evidence, own / cpu > 1 ? 1 : own / cpu);
}

void report_find_imbalance(const struct report_rank *ranks, unsigned count,
                           struct report_findings *f)
{
    const struct report_rank *most = NULL, *least = NULL;
    double sum = 0;
    for (unsigned i = 0; ranks && i < count; i++) {
        const struct report_rank *k = &ranks[i];
        most = !most || k->cpu_seconds > most->cpu_seconds ? k : most;
        least = !least || k->cpu_seconds < least->cpu_seconds ? k : least;
        sum += k->cpu_seconds;
    }
    if (!most || count < 2 || sum <= 0)
        return;
    double mean = sum / count;
    if (most->cpu_seconds < RANK_SHARE * mean)
        return;
    struct report_finding *one = report_finding_add(f, "rank-imbalance", FINDING_WARNING);
    buf_puts(&one->sentence, "Work is uneven between the ranks: rank ");
    buf_printable(&one->sentence, most->name, strlen(most->name));
    buf_puts(&one->sentence, " computed most.");
    human_seconds(&one->evidence, most->cpu_seconds);
    buf_puts(&one->evidence, " of CPU time, ");
    human_seconds(&one->evidence, mean);
    buf_printf(&one->evidence, " on average of %u ranks, ", count);
    human_seconds(&one->evidence, least->cpu_seconds);
    buf_puts(&one->evidence, " in rank ");
    buf_printable(&one->evidence, least->name, strlen(least->name));
}

/* ---- GPUs ------------------------------------------------------------------------------------ */

/* Share of the time in which the GPU was idle while the job worked on the CPU, the cores that it
 * used then, and the time over which both are means. False: unknown. The columns of one trace are a
 * power of two times those of the other. */
static bool gpu_starved_share(const struct trace *gpu, const struct trace *cpu, double least_cores,
                              double *ret_share, double *ret_cores, uint64_t *ret_mean_ns)
{
    double known_ns = 0, starved_ns = 0, cores = 0;
    uint64_t width_ns = min_u64(gpu->width_ns, cpu->width_ns);
    uint64_t end_ns = min_u64(gpu->end_ns, cpu->end_ns);
    if (!gpu->columns || !cpu->columns || gpu->count < LEAST_SAMPLES || cpu->count < LEAST_SAMPLES)
        return false;
    for (uint64_t at = 0; at < end_ns; at += width_ns) {
        const struct trace_column *g = &gpu->columns[at / gpu->width_ns];
        const struct trace_column *c = &cpu->columns[at / cpu->width_ns];
        if (!g->covered_ns || !c->covered_ns)
            continue;
        double covered = (double)(gpu->width_ns < cpu->width_ns ? g : c)->covered_ns;
        known_ns += covered;
        if (trace_mean(g) < GPU_IDLE && trace_mean(c) >= least_cores) {
            starved_ns += covered;
            cores += covered * trace_mean(c);
        }
    }
    if (starved_ns <= 0)
        return false;
    *ret_share = starved_ns / known_ns;
    *ret_cores = cores / starved_ns;
    *ret_mean_ns = max_u64(gpu->width_ns, cpu->width_ns);
    return true;
}

/* How often the GPU was read. A record has no such number in its summary, so it is that of the
 * curve; of a GPU without one, as there are more GPUs than curves, that of the GPU that was read
 * least. */
static uint64_t gpu_readings(const struct report *r, const struct trace *own)
{
    uint64_t least = UINT64_MAX;
    if (own)
        return own->count;
    for (unsigned i = 0; i < REPORT_CHARTS; i++)
        for (unsigned k = 0; k < r->charts[i].count; k++)
            if (r->charts[i].series[k].id == gpu_utilization_ratio)
                least = min_u64(least, r->charts[i].series[k].trace.count);
    return least == UINT64_MAX ? 0 : least;
}

static void find_gpus(const struct report *r, struct report_findings *f)
{
    static const struct {
        const char *after, *of_several;
    } words[] = {
        {" was not used.", " GPUs were not used: "},
        {" was idle while the CPU worked: preparing its data may hold it back.",
         " GPUs were idle while the CPU worked; preparing their data may hold them back: "},
        {" was idle most of the time.", " GPUs were idle most of the time: "},
    };
    const struct limit *l = &r->summary->whole.limits.of[LIMIT_CPUS];
    const struct trace *cpu = trace_of(r, process_cpu_cores, 0);
    double allowed = r->summary->has_target && l->known && !l->unlimited ? l->cores : 1;
    double least_cores = STARVED_CORES * (allowed < 1 ? allowed : 1);
    for (unsigned kind = 0; kind < ARRAY_LEN(words); kind++) {
        unsigned count = 0, all = 0;
        double mean = 0, max = 0, share = 0, cores = 0;
        uint64_t mean_ns = 0;
        struct buf names = {0};
        for (size_t i = 0; i < r->summary->instance_count; i++) {
            const struct instance_summary *t = &r->summary->instances[i];
            if (t->instance->entity.kind != ENTITY_GPU)
                continue;
            const struct series *busy = &t->series[gpu_utilization_ratio - gpu_first];
            const struct trace *trace = trace_of(r, gpu_utilization_ratio, t->instance->number);
            if (!busy->observed_ns || gpu_readings(r, trace) < LEAST_SAMPLES)
                continue;
            all++;
            double own = series_mean(busy, metric_of(gpu_utilization_ratio)), starved, worked;
            bool is_unused = busy->max < GPU_UNUSED;
            bool is_starved = !is_unused && cpu && trace &&
                              gpu_starved_share(trace, cpu, least_cores, &starved, &worked,
                                                &mean_ns) &&
                              starved >= STARVED_SHARE;
            bool is_idle = !is_unused && !is_starved && own < GPU_IDLE;
            if (!(kind == 0 ? is_unused : kind == 1 ? is_starved : is_idle))
                continue;
            const char *name = entity_name(&t->instance->entity);
            buf_puts(&names, count++ ? ", " : "");
            buf_printable(&names, name, strlen(name));
            mean += own;
            max = busy->max > max ? busy->max : max;
            if (is_starved && starved > share) {
                share = starved;
                cores = worked;
            }
        }
        if (!count) {
            buf_done(&names);
            continue;
        }
        struct report_finding *one = kind == 0
                                         ? report_finding_add(f, "gpu-unused", FINDING_WARNING)
                                     : kind == 1
                                         ? report_finding_add(f, "gpu-starved", FINDING_WARNING)
                                         : report_finding_add(f, "gpu-idle", FINDING_WARNING);
        if (count == 1)
            buf_puts(&one->sentence, "GPU ");
        else
            buf_printf(&one->sentence, "%u of %u%s", count, all, words[kind].of_several);
        if (!buf_failed(&names))
            buf_add(&one->sentence, names.data, names.length);
        buf_puts(&one->sentence, count == 1 ? words[kind].after : ".");
        put_percent(&one->evidence, mean / count);
        buf_puts(&one->evidence, " busy on average, ");
        put_percent(&one->evidence, max);
        buf_puts(&one->evidence, " at most");
        if (kind == 1) {
            buf_puts(&one->evidence, "; for ");
            put_percent(&one->evidence, share);
            buf_puts(&one->evidence, " of the time less than 30 % busy with ");
            buf_double_fixed(&one->evidence, cores, 2);
            buf_puts(&one->evidence, " cores in use");
            /* A column of several samples has only their mean. */
            if (mean_ns > 2 * (r->summary->elapsed_ns / r->frames)) {
                buf_puts(&one->evidence, ", as means over ");
                human_seconds(&one->evidence, (double)mean_ns / 1e9);
            }
        }
        buf_done(&names);
    }
}

/* ---- All ------------------------------------------------------------------------------------- */

bool report_is_judged(const struct report *r)
{
    bool is_judged = r->summary->has_target;
    for (size_t i = 0; i < r->summary->instance_count; i++)
        is_judged |= r->summary->instances[i].instance->entity.kind == ENTITY_GPU;
    return is_judged;
}

void report_find(const struct report *r, struct report_findings *ret)
{
    *ret = (struct report_findings){0};
    bool is_judged = is_long_enough(r);
    if (r->summary->has_target) {
        find_limits(r, ret);
        find_memory_use(r, ret);
    }
    if (is_judged && r->summary->has_target) {
        find_cpu(r, ret);
        find_disk(r, ret);
        find_growth(r, ret);
    }
    if (is_judged)
        find_gpus(r, ret);
    if (is_judged && r->summary->has_target)
        find_dominant(r, ret);
    /* The heaviest first, in the order in which they were found. */
    for (unsigned i = 1; i < ret->count; i++) {
        struct report_finding one = ret->items[i];
        unsigned k = i;
        for (; k > 0 && ret->items[k - 1].weight < one.weight; k--)
            ret->items[k] = ret->items[k - 1];
        ret->items[k] = one;
    }
    if (!is_judged) {
        struct report_finding *one = report_finding_add(ret, "too-short", FINDING_NOTE);
        buf_puts(&one->sentence, "The run was too short to judge how it used the machine.");
        buf_printf(&one->evidence, "%llu sample%s in ", (unsigned long long)r->frames,
                   r->frames == 1 ? "" : "s");
        human_seconds(&one->evidence, (double)r->summary->elapsed_ns / 1e9);
        buf_puts(&one->evidence, "; at least 10 in 1 s are needed");
    }
}

void report_findings_done(struct report_findings *f)
{
    for (unsigned i = 0; i <= REPORT_FINDINGS; i++) {
        buf_done(&f->items[i].sentence);
        buf_done(&f->items[i].evidence);
    }
}
