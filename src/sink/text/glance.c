/* SPDX-License-Identifier: MIT
 * The answer at a glance: what ran, how it ended, and what it used, in at most sixteen lines.
 *
 *   toll: make -j8                                        exit 0 in 1m 12s
 *     CPU        4m 31s (user 4m 02s, system 29.0 s)      3.7 of 8 cores, 47 %  ▂▅▇▇▇▆▃
 *     Memory     1.82 GiB at peak (RSS)                 11 % of 16 GiB, cgroup  ▁▃▅▇▇▂▁
 */
#include "sink/text/text.h"

#include "base/process.h"

#include <string.h>

enum { GLANCE_LINES = 16 };

#define SHORTEST_FOR_MEMORY_NS (50 * NS_PER_MS)

/* ---- Figures --------------------------------------------------------------------------------- */

static enum quality glance_quality(const struct glance *g, enum metric_id id)
{
    unsigned i = id - g->rows.first;
    if (!(g->rows.selected >> i & 1))
        return QUALITY_UNKNOWN;
    enum quality q = text_quality(&g->rows, PART_COMBINED, i);
    return text_is_nothing(q, text_figure(&g->rows, PART_COMBINED, i)) ? QUALITY_UNKNOWN : q;
}

static double glance_figure(const struct glance *g, enum metric_id id)
{
    return text_figure(&g->rows, PART_COMBINED, id - g->rows.first);
}

static double glance_mean(const struct glance *g, enum metric_id id)
{
    return series_mean(&g->rows.series[PART_COMBINED][id - g->rows.first], metric_of(id));
}

/* A figure with its sign; "unknown" where there is none. */
static void glance_put(const struct glance *g, struct buf *b, enum metric_id id)
{
    enum quality q = glance_quality(g, id);
    if (q == QUALITY_UNKNOWN) {
        buf_puts(b, "unknown");
        return;
    }
    buf_puts(b, q == QUALITY_LOWER_BOUND ? AT_LEAST : "");
    human_number(b, metric_of(id), glance_figure(g, id));
}

/* Two figures of one kind in a line, "12 MiB read, 431 MiB written"; nothing when both are unknown
 * and were not asked for. */
static void glance_add_pair(struct glance *g, const char *label, enum metric_id one,
                            const char *one_word, enum metric_id other, const char *other_word)
{
    bool knows_one = glance_quality(g, one) != QUALITY_UNKNOWN;
    bool knows_other = glance_quality(g, other) != QUALITY_UNKNOWN;
    if (!knows_one && !knows_other)
        return;
    struct text_line *line = text_block_add(&g->block, RANK_FIGURE, label);
    glance_put(g, &line->text, one);
    buf_printf(&line->text, " %s, ", one_word);
    glance_put(g, &line->text, other);
    buf_printf(&line->text, " %s", other_word);
}

/* "47 %"; one decimal below ten. */
static void glance_put_percent(const struct glance *g, struct buf *b, double share)
{
    bool is_tiny = share > 0 && share < 0.001;
    buf_puts(b, is_tiny ? "< " : "");
    buf_double_fixed(b, is_tiny ? 0.1 : share * 100, share < 0.0995 && share > 0 ? 1 : 0);
    buf_puts(b, " %");
}

/* ---- What ran, and how it ended -------------------------------------------------------------- */

static void glance_put_end(const struct summary *summary, struct buf *b)
{
    const struct toll_end *end = &summary->whole.end;
    bool attached = summary->run->target_count > 0;
    bool is_cut = end->unknown && !end->ended; /* the record does not have the end */
    const char *link = " in ";
    if (is_cut) {
        buf_puts(b, "record ends");
        link = " after ";
    } else if (!summary->has_target) {
        buf_puts(b, "measured");
        link = " for ";
    } else if (attached && end->ended && !end->unknown && !end->signaled) {
        buf_printf(b, "exit %d, measured", end->status);
        link = " for ";
    } else if (!end->ended) {
        buf_puts(b, attached ? "still running, measured" : "still running");
        link = attached ? " for " : " after ";
    } else if (end->unknown) {
        buf_puts(b, attached ? "ended" : "exit status unknown,");
        link = " after ";
    } else if (end->signaled) {
        const char *name = signal_name(end->status);
        link = " after ";
        if (end->oom_killed)
            buf_puts(b, "killed by the OOM killer");
        else if (name)
            buf_printf(b, "%skilled by SIG%s", end->timed_out ? "timed out, " : "", name);
        else
            buf_printf(b, "%skilled by signal %d", end->timed_out ? "timed out, " : "",
                       end->status);
        if (end->core_dumped)
            buf_puts(b, " (core dumped)");
    } else {
        buf_printf(b, "%sexit %d", end->timed_out ? "timed out, " : "", end->status);
        if (end->oom_killed)
            buf_puts(b, ", out of memory,");
    }
    buf_puts(b, link);
    human_seconds(b, (double)summary->elapsed_ns / 1e9);
}

static void glance_write_title(struct glance *g)
{
    struct sink *s = g->sink;
    const struct run *run = g->summary->run;
    const struct toll_end *end = &g->summary->whole.end;
    struct buf how = {0};
    glance_put_end(g->summary, &how);
    size_t how_columns = buf_failed(&how) ? 0 : utf8_columns(how.data, how.length);

    text_style(s, BOLD);
    size_t line = s->text.length;
    buf_puts(&s->text, "toll: ");
    size_t start = s->text.length;
    if (run_is_named(run)) {
        text_foreign(s, run->name);
        buf_puts(&s->text, ": ");
    }
    if (run->command)
        text_command(s, run->command);
    else if (run->target_count == 1)
        text_foreign(s, run->targets[0].what);
    else if (run->target_count)
        buf_printf(&s->text, "%zu targets", run->target_count);
    else
        text_foreign(s, run->host);
    unsigned used = 6 + 2 + (unsigned)how_columns;
    text_cut(&s->text, start, g->width > used + 12 ? g->width - used : 12);
    buf_pad(&s->text, line, g->width - (unsigned)how_columns);
    bool is_bad = end->ended && !end->unknown && (end->signaled || end->status);
    text_style(s, PLAIN);
    text_style(s, is_bad ? RED : BOLD);
    if (!buf_failed(&how))
        buf_add(&s->text, how.data, how.length);
    buf_done(&how);
    text_style(s, PLAIN);
    buf_putc(&s->text, '\n');
}

static void glance_add_labels(struct glance *g)
{
    if (g->summary->run->target_count && g->summary->run->since_start)
        buf_puts(&text_block_add(&g->block, RANK_DETAIL, "Counted")->text,
                 "from the start of each process, not from the attach");
    char **labels = g->summary->run->labels;
    if (!labels || !labels[0])
        return;
    struct text_line *line = text_block_add(&g->block, RANK_DETAIL, "Labels");
    for (char **label = labels; *label; label++) {
        buf_puts(&line->text, label == labels ? "" : ", ");
        buf_printable(&line->text, *label, strlen(*label));
    }
}

/* Limits by their kinds: what is counted, and of what. */
static const struct {
    const char *noun;
    enum metric_id unit;
} glance_limits[LIMITS] = {
    [LIMIT_CPUS] = {"CPU limit", process_cpu_cores},
    [LIMIT_MEMORY_BYTES] = {"memory limit", process_memory_rss_bytes},
    [LIMIT_SWAP_BYTES] = {"swap limit", process_memory_rss_bytes},
    [LIMIT_TASKS] = {"limit on tasks", process_threads_count},
    [LIMIT_OPEN_FILES] = {"limit on open files (ulimit -n)", process_threads_count},
    [LIMIT_PROCESSES] = {"limit on processes of the user (ulimit -u)", process_threads_count},
    [LIMIT_ADDRESS_BYTES] = {"limit on address space (ulimit -v)", process_memory_rss_bytes},
    [LIMIT_CPU_SECONDS] = {"limit on CPU time (ulimit -t)", process_cpu_seconds},
    [LIMIT_FILE_BYTES] = {"limit on file size (ulimit -f)", process_memory_rss_bytes},
    [LIMIT_CORE_BYTES] = {"limit on core files (ulimit -c)", process_memory_rss_bytes},
    [LIMIT_LOCKED_BYTES] = {"limit on locked memory (ulimit -l)", process_memory_rss_bytes},
};

static void glance_put_limit(struct buf *b, unsigned kind, double number)
{
    const struct metric *m = metric_of(glance_limits[kind].unit);
    human_number(b, m, number);
    buf_puts(b, kind == LIMIT_CPUS ? " cores" : "");
}

/* A limit that was reached comes before all figures: it explains them. One of a process that was
 * nearly used up comes after those that were. */
static void glance_add_limits(struct glance *g)
{
    const double nearly = 0.9;
    for (unsigned kind = 0; kind < LIMITS; kind++) {
        const struct limit *l = &g->summary->whole.limits.of[kind];
        double allowed = kind == LIMIT_CPUS ? l->cores : (double)l->value;
        if (!l->known || l->unlimited || !l->reached)
            continue;
        struct text_line *line = text_block_add(&g->block, RANK_TROUBLE, "Limit hit");
        line->style = RED;
        buf_printf(&line->text, "%s of ", glance_limits[kind].noun);
        glance_put_limit(&line->text, kind, allowed);
        buf_printf(&line->text, ": %s", l->reached);
        if (l->reached_times > 1) {
            buf_puts(&line->text, ", ");
            human_count(&line->text, (double)l->reached_times);
            buf_puts(&line->text, " times");
        }
    }
    for (unsigned kind = LIMIT_SWAP_BYTES; kind < LIMITS; kind++) {
        const struct limit *l = &g->summary->whole.limits.of[kind];
        if (!l->known || l->unlimited || l->reached || !l->has_used || !l->value ||
            l->used < nearly * (double)l->value)
            continue;
        struct text_line *line = text_block_add(&g->block, RANK_FIGURE, "Near limit");
        buf_puts(&line->text, l->used_is_least ? AT_LEAST : "");
        glance_put_limit(&line->text, kind, l->used);
        buf_puts(&line->text, " of ");
        glance_put_limit(&line->text, kind, (double)l->value);
        /* "limit on address space" → "of address space" */
        const char *on = strstr(glance_limits[kind].noun, " on ");
        buf_printf(&line->text, " of %s", on ? on + 4 : glance_limits[kind].noun);
    }
}

/* ---- Figures of a job ------------------------------------------------------------------------ */

static void glance_add_cpu(struct glance *g)
{
    const struct limit *limit = &g->summary->whole.limits.of[LIMIT_CPUS];
    if (!(g->rows.selected >> process_cpu_seconds & 1))
        return;
    struct text_line *line = text_block_add(&g->block, RANK_ANSWER, "CPU");
    glance_put(g, &line->text, process_cpu_seconds);
    if (glance_quality(g, process_cpu_user_seconds) != QUALITY_UNKNOWN &&
        glance_quality(g, process_cpu_system_seconds) != QUALITY_UNKNOWN) {
        buf_puts(&line->detail, " (user ");
        glance_put(g, &line->detail, process_cpu_user_seconds);
        buf_puts(&line->detail, ", system ");
        glance_put(g, &line->detail, process_cpu_system_seconds);
        buf_puts(&line->detail, ")");
    }
    if (glance_quality(g, process_cpu_cores) != QUALITY_UNKNOWN) {
        double cores = glance_mean(g, process_cpu_cores), most = limit->cores;
        buf_double_fixed(&line->remark, cores, 2);
        if (limit->known && !limit->unlimited && most > 0) {
            unsigned decimals = (double)(uint64_t)most == most ? 0 : 2;
            const char *word = most == 1 ? " core" : " cores";
            buf_puts(&line->remark, " of ");
            buf_double_fixed(&line->remark, most, decimals);
            buf_printf(&line->remark, "%s, ", word);
            glance_put_percent(g, &line->remark, cores / most);
            glance_put_percent(g, &line->shorter, cores / most);
            buf_puts(&line->shorter, " of ");
            buf_double_fixed(&line->shorter, most, decimals);
            buf_puts(&line->shorter, word);
        } else {
            buf_puts(&line->remark, " cores");
        }
        line->curve = &g->summary->cores_curve;
    }
}

/* The peak of all processes is sampled. The kernel's own mark of the largest process is not, so the
 * headline is never below it: a job of a few milliseconds may not have been sampled at all. */
static void glance_add_memory(struct glance *g)
{
    const struct limit *limit = &g->summary->whole.limits.of[LIMIT_MEMORY_BYTES];
    if (!(g->rows.selected >> process_memory_rss_bytes & 1))
        return;
    struct text_line *line = text_block_add(&g->block, RANK_ANSWER, "Memory");
    enum quality q = glance_quality(g, process_memory_rss_bytes);
    double peak = q == QUALITY_UNKNOWN ? 0 : glance_figure(g, process_memory_rss_bytes);
    double largest = glance_quality(g, process_memory_peak_bytes) == QUALITY_UNKNOWN
                         ? 0
                         : glance_figure(g, process_memory_peak_bytes);
    if (largest > peak) {
        buf_bytes(&line->text, largest);
        buf_puts(&line->text, " at peak");
        buf_puts(&line->detail, " (RSS of the largest process)");
        peak = largest;
    } else if (q == QUALITY_UNKNOWN) {
        buf_puts(&line->text, "unknown");
    } else if (g->summary->run->command && g->summary->elapsed_ns < SHORTEST_FOR_MEMORY_NS) {
        /* Whatever was sampled, most of it was before the program had its memory. */
        buf_puts(&line->text, "unknown");
        buf_puts(&line->detail, " (it ran too short to be sampled)");
        return;
    } else {
        buf_puts(&line->text, q == QUALITY_LOWER_BOUND ? AT_LEAST : "");
        buf_bytes(&line->text, peak);
        buf_puts(&line->text, " at peak");
        buf_puts(&line->detail, " (RSS)");
        line->curve = &g->summary->memory_curve;
        line->curve_is_peak = true;
    }
    if (limit->known && !limit->unlimited && limit->value && peak > 0) {
        bool is_charged = limit->has_used && limit->whose && strcmp(limit->whose, "cgroup") == 0;
        glance_put_percent(g, &line->remark,
                           (is_charged ? limit->used : peak) / (double)limit->value);
        buf_puts(&line->remark, " of ");
        buf_bytes(&line->remark, (double)limit->value);
        if (strcmp(limit->by, "machine") != 0)
            buf_puts(&line->remark, ", cgroup limit");
    }
    if (glance_quality(g, process_memory_swap_bytes) != QUALITY_UNKNOWN &&
        glance_figure(g, process_memory_swap_bytes) > 0) {
        struct text_line *swap = text_block_add(&g->block, RANK_FIGURE, "Swap");
        glance_put(g, &swap->text, process_memory_swap_bytes);
        buf_puts(&swap->text, " at peak");
    }
}

static const struct series *glance_cgroup_series(const struct glance *g, enum metric_id id)
{
    const struct series *most = NULL;
    for (size_t i = 0; i < g->summary->instance_count; i++) {
        const struct instance_summary *t = &g->summary->instances[i];
        if (t->instance->entity.kind != ENTITY_CGROUP)
            continue;
        const struct series *s = &t->series[id - cgroup_first];
        if (s->observed_ns && (!most || s->last.u > most->last.u))
            most = s;
    }
    return most;
}

/* Waiting for a core that others use, and for the quota of a cgroup. */
static void glance_add_waiting(struct glance *g)
{
    const double noticeable = 0.01; /* of the time that was used and waited for */
    double used = glance_quality(g, process_cpu_seconds) == QUALITY_UNKNOWN
                      ? 0
                      : glance_figure(g, process_cpu_seconds);
    if (glance_quality(g, process_cpu_wait_seconds) != QUALITY_UNKNOWN) {
        double waited = glance_figure(g, process_cpu_wait_seconds);
        if (waited > 0.01 && waited > noticeable * (used + waited)) {
            struct text_line *line = text_block_add(&g->block, RANK_FIGURE, "Waiting");
            glance_put(g, &line->text, process_cpu_wait_seconds);
            buf_puts(&line->text, " for a free core");
        }
    }
    const struct series *throttled = glance_cgroup_series(g, cgroup_cpu_throttled_seconds);
    if (throttled && throttled->last.u) {
        struct text_line *line = text_block_add(&g->block, RANK_TROUBLE, "Throttled");
        human_number(&line->text, metric_of(cgroup_cpu_throttled_seconds),
                     metric_number(metric_of(cgroup_cpu_throttled_seconds), throttled->last));
        buf_puts(&line->text, " by the CPU quota of the cgroup");
    }
}

static void glance_add_processes(struct glance *g)
{
    if (glance_quality(g, process_processes_started_count) == QUALITY_UNKNOWN ||
        glance_figure(g, process_processes_started_count) < 2)
        return;
    struct text_line *line = text_block_add(&g->block, RANK_FIGURE, "Processes");
    glance_put(g, &line->text, process_processes_started_count);
    if (glance_quality(g, process_processes_count) != QUALITY_UNKNOWN) {
        buf_puts(&line->text, ", up to ");
        human_count(&line->text, glance_figure(g, process_processes_count));
        buf_puts(&line->text, " at once");
    }
}

/* Processes of the job that are still there. */
static void glance_add_survivors(struct glance *g)
{
    size_t left = g->summary->survivor_count;
    if (left) {
        struct text_line *still = text_block_add(&g->block, RANK_TROUBLE, "Running");
        buf_printf(&still->text, "%zu process%s left:", left, left == 1 ? "" : "es");
        for (size_t i = 0; i < left && i < 3; i++) {
            const struct survivor *p = &g->summary->survivors[i];
            buf_printf(&still->text, "%s %d ", i ? "," : "", (int)p->pid);
            buf_printable(&still->text, p->name, strlen(p->name));
        }
        if (left > 3)
            buf_puts(&still->text, ", …");
    }
}

/* ---- GPUs, energy, phases -------------------------------------------------------------------- */

static void glance_put_gpu(const struct glance *g, struct buf *b, const struct instance_summary *t)
{
    const struct series *busy = &t->series[gpu_utilization_ratio - gpu_first];
    const struct series *memory = &t->series[gpu_memory_used_bytes - gpu_first];
    const struct series *total = &t->series[gpu_memory_total_bytes - gpu_first];
    const struct series *power = &t->series[gpu_power_watts - gpu_first];
    const struct series *cap = &t->series[gpu_power_limit_watts - gpu_first];
    const struct series *throttled = &t->series[gpu_throttled_count - gpu_first];
    const char *comma = "";
    (void)g;
    if (busy->observed_ns) {
        buf_double_fixed(b, series_mean(busy, metric_of(gpu_utilization_ratio)) * 100, 0);
        buf_puts(b, " % busy");
        comma = ", ";
    }
    if (memory->observed_ns) {
        buf_printf(b, "%smemory ", comma);
        buf_bytes(b, memory->max);
        if (total->observed_ns && total->max > 0) {
            buf_puts(b, " of ");
            buf_bytes(b, total->max);
        }
        comma = ", ";
    }
    if (power->observed_ns) {
        buf_puts(b, comma);
        human_number(b, metric_of(gpu_power_watts), series_mean(power, metric_of(gpu_power_watts)));
        if (cap->observed_ns && cap->max > 0) {
            buf_puts(b, " of ");
            human_number(b, metric_of(gpu_power_limit_watts), cap->max);
        }
        comma = ", ";
    }
    if (throttled->observed_ns && throttled->max > 0)
        buf_printf(b, "%sthrottled", comma);
}

static void glance_add_gpus(struct glance *g)
{
    enum { EACH = 3 };
    unsigned count = 0, known = 0, idle = 0;
    double busy = 0, memory = 0, total = 0;
    for (size_t i = 0; i < g->summary->instance_count; i++) {
        const struct instance_summary *t = &g->summary->instances[i];
        if (t->instance->entity.kind != ENTITY_GPU)
            continue;
        count++;
        const struct series *s = &t->series[gpu_utilization_ratio - gpu_first];
        if (s->observed_ns) {
            double mean = series_mean(s, metric_of(gpu_utilization_ratio));
            busy += mean;
            idle += mean < 0.05;
            known++;
        }
        s = &t->series[gpu_memory_used_bytes - gpu_first];
        if (s->observed_ns && s->max > memory)
            memory = s->max;
        s = &t->series[gpu_memory_total_bytes - gpu_first];
        if (s->observed_ns && s->max > total)
            total = s->max;
    }
    if (count > EACH) {
        struct text_line *line = text_block_add(&g->block, RANK_FIGURE, "GPUs");
        buf_printf(&line->text, "%u", count);
        if (known) {
            buf_puts(&line->text, ", ");
            buf_double_fixed(&line->text, busy / known * 100, 0);
            buf_puts(&line->text, " % busy on average");
            if (idle)
                buf_printf(&line->text, ", %u idle", idle);
        }
        if (total > 0) {
            buf_puts(&line->text, ", memory up to ");
            buf_bytes(&line->text, memory);
            buf_puts(&line->text, " of ");
            buf_bytes(&line->text, total);
        }
    }
    for (size_t i = 0; i < g->summary->instance_count && count <= EACH; i++) {
        const struct instance_summary *t = &g->summary->instances[i];
        if (t->instance->entity.kind != ENTITY_GPU)
            continue;
        struct text_line *line = text_block_add(&g->block, RANK_FIGURE,
                                                entity_name(&t->instance->entity));
        glance_put_gpu(g, &line->text, t);
        if (!line->text.length)
            buf_puts(&line->text, "no figures");
    }
    if (g->summary->has_target && count &&
        glance_quality(g, process_gpu_memory_bytes) != QUALITY_UNKNOWN) {
        struct text_line *line = text_block_add(&g->block, RANK_DETAIL, "Job on GPU");
        glance_put(g, &line->text, process_gpu_memory_bytes);
        buf_puts(&line->text, " at peak");
        if (glance_quality(g, process_gpu_utilization_ratio) != QUALITY_UNKNOWN) {
            buf_puts(&line->text, ", ");
            buf_double_fixed(&line->text, glance_mean(g, process_gpu_utilization_ratio) * 100, 0);
            buf_puts(&line->text, " % busy");
        }
    }
}

static void glance_add_energy(struct glance *g)
{
    struct energy e = energy_of(g->summary);
    if (!e.knows_processors && !e.knows_gpus)
        return;
    const struct metric *joules = metric_of(gpu_energy_joules);
    struct text_line *line = text_block_add(&g->block, RANK_FIGURE, "Energy");
    const char *comma = "";
    if (e.knows_processors) {
        human_number(&line->text, joules, e.processors_joules);
        buf_puts(&line->text, " processors");
        comma = ", ";
    }
    if (e.knows_gpus) {
        buf_puts(&line->text, comma);
        buf_puts(&line->text, e.gpus_quality == QUALITY_LOWER_BOUND ? AT_LEAST : "");
        human_number(&line->text, joules, e.gpus_joules);
        buf_puts(&line->text, " GPUs");
    }
    buf_puts(&line->detail, " (whole machine)");
}

static void glance_add_phases(struct glance *g)
{
    enum { EACH = 5, NAME = 20 };
    const struct mark_totals *t = &g->summary->marks;
    for (size_t i = 0; i < t->phase_count && i < EACH; i++) {
        const struct phase_total *p = &t->phases[i];
        struct text_line *line = text_block_add(&g->block, RANK_DETAIL, i ? "" : "Phases");
        buf_printable(&line->text, p->name, strlen(p->name));
        text_cut(&line->text, 0, NAME);
        buf_pad(&line->text, 0, NAME + 1);
        size_t start = line->text.length;
        human_seconds(&line->text, (double)p->total_ns / 1e9);
        buf_pad_left(&line->text, start, 9);
        static const enum metric_id figures[] = {process_cpu_seconds, process_memory_rss_bytes};
        static const char *const words[] = {"CPU", "peak"};
        for (size_t k = 0; k < ARRAY_LEN(figures); k++) {
            struct phase_figure f = phase_total_figure(p, figures[k]);
            double number = k ? f.max : f.total;
            if (f.quality == QUALITY_UNKNOWN || number < 0)
                continue;
            buf_puts(&line->text, ", ");
            buf_puts(&line->text, f.quality == QUALITY_LOWER_BOUND ? AT_LEAST : "");
            human_number(&line->text, metric_of(figures[k]), number);
            buf_printf(&line->text, " %s", words[k]);
        }
        if (p->count > 1) {
            buf_puts(&line->detail, ", ");
            human_count(&line->detail, (double)p->count);
            buf_puts(&line->detail, " times");
        }
        if (i + 1 == EACH && t->phase_count > EACH)
            buf_printf(&line->remark, "%zu more: -v", t->phase_count - EACH);
    }
}

/* ---- The machine ----------------------------------------------------------------------------- */

static void glance_add_machine(struct glance *g)
{
    struct text_line *line = text_block_add(&g->block, RANK_ANSWER, "CPU");
    if (glance_quality(g, system_cpu_cores) != QUALITY_UNKNOWN) {
        double cores = glance_mean(g, system_cpu_cores);
        buf_double_fixed(&line->text, cores, 2);
        if (g->summary->run->online_cpus) {
            buf_printf(&line->text, " of %u cores busy on average", g->summary->run->online_cpus);
            glance_put_percent(g, &line->remark, cores / g->summary->run->online_cpus);
        } else {
            buf_puts(&line->text, " cores busy on average");
        }
        line->curve = &g->summary->cores_curve;
    } else {
        buf_puts(&line->text, "unknown");
    }
    line = text_block_add(&g->block, RANK_ANSWER, "Memory");
    glance_put(g, &line->text, system_memory_used_bytes);
    if (glance_quality(g, system_memory_used_bytes) != QUALITY_UNKNOWN) {
        buf_puts(&line->text, " used at peak");
        line->curve = &g->summary->memory_curve;
        line->curve_is_peak = true;
        if (glance_quality(g, system_memory_total_bytes) != QUALITY_UNKNOWN) {
            double total = glance_figure(g, system_memory_total_bytes);
            glance_put_percent(g, &line->remark,
                               glance_figure(g, system_memory_used_bytes) / total);
            buf_puts(&line->remark, " of ");
            buf_bytes(&line->remark, total);
        }
    }
    if (glance_quality(g, system_swap_used_bytes) != QUALITY_UNKNOWN &&
        glance_figure(g, system_swap_used_bytes) > 0) {
        line = text_block_add(&g->block, RANK_FIGURE, "Swap");
        glance_put(g, &line->text, system_swap_used_bytes);
        buf_puts(&line->text, " used at peak");
    }
    glance_add_pair(g, "Disks", system_disk_read_bytes, "read", system_disk_written_bytes,
                    "written");
    glance_add_pair(g, "Network", system_network_received_bytes, "received",
                    system_network_sent_bytes, "sent");
    if (glance_quality(g, system_load_1m_number) != QUALITY_UNKNOWN) {
        line = text_block_add(&g->block, RANK_FIGURE, "Load");
        glance_put(g, &line->text, system_load_1m_number);
        buf_puts(&line->text, " at peak (average of one minute)");
    }
}

/* The machine beside a job, in a line. */
static void glance_add_beside(struct glance *g, const struct instance_summary *system)
{
    const struct text_rows r = text_rows_of_instance(g->sink, system);
    unsigned cores = system_cpu_cores - system_first,
             used = system_memory_used_bytes - system_first;
    bool has_cores = text_quality(&r, PART_COMBINED, cores) != QUALITY_UNKNOWN;
    bool has_memory = text_quality(&r, PART_COMBINED, used) != QUALITY_UNKNOWN;
    if (!has_cores && !has_memory)
        return;
    struct text_line *line = text_block_add(&g->block, RANK_FIGURE, "Machine");
    if (has_cores) {
        buf_double_fixed(&line->text,
                         series_mean(&r.series[PART_COMBINED][cores], metric_of(system_cpu_cores)),
                         2);
        buf_printf(&line->text, " cores busy on average%s", has_memory ? ", " : "");
    }
    if (has_memory) {
        buf_bytes(&line->text, text_figure(&r, PART_COMBINED, used));
        buf_puts(&line->text, " of memory used at peak");
    }
}

/* ---- How far the figures can be trusted, and what measuring cost ------------------------------
 */

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
        {process_memory_rss_bytes, "memory"},
    };
    struct buf words = {0};
    bool is_first = true;
    for (int sampled = 0; sampled < 2; sampled++) {
        const char *names[ARRAY_LEN(figures)];
        unsigned count = 0;
        bool is_conditional = false;
        for (size_t i = 0; i < ARRAY_LEN(figures); i++) {
            enum quality q = glance_quality(g, figures[i].id);
            if (sampled ? q != QUALITY_SAMPLED : q < QUALITY_EXACT_IF_REAPED)
                continue;
            names[count++] = figures[i].name;
            is_conditional |= q == QUALITY_EXACT_IF_REAPED;
        }
        if (!count)
            continue;
        buf_puts(&words, is_first ? "" : "; ");
        is_first = false;
        for (unsigned i = 0; i < count; i++)
            buf_printf(&words, "%s%s", i == 0 ? "" : i + 1 == count ? " and " : ", ", names[i]);
        buf_puts(&words, count == 1 ? " is " : " are ");
        if (sampled) {
            double ticks = metric_number(metric_of(self_ticks_count),
                                         g->summary->self[self_ticks_count - self_first].last);
            if (ticks > 0) {
                buf_puts(&words, "from ");
                human_count(&words, ticks);
                buf_puts(&words, ticks == 1 ? " sample" : " samples");
            } else {
                buf_puts(&words, "sampled");
            }
        } else {
            buf_printf(&words, "%s%s",
                       is_conditional ? (count == 1 ? "a kernel counter" : "kernel counters")
                       : count == 1   ? "an exact kernel counter"
                                      : "exact kernel counters",
                       is_conditional ? ", no loss seen" : "");
        }
    }
    if (words.length && !buf_failed(&words)) {
        struct text_line *line = text_block_add(&g->block, RANK_REMARK, NULL);
        line->style = DIM;
        /* A sentence begins with a capital letter. */
        if (words.data[0] >= 'a' && words.data[0] <= 'z')
            words.data[0] = (char)(words.data[0] - 'a' + 'A');
        buf_add(&line->text, words.data, words.length);
        buf_putc(&line->text, '.');
    }
    buf_done(&words);
}

static void glance_add_notes(struct glance *g)
{
    enum { EACH = 2 };
    size_t count = g->summary->note_count;
    for (size_t i = 0; i < count && i < EACH && i < SUMMARY_NOTES; i++) {
        struct text_line *line = text_block_add(&g->block, RANK_TROUBLE, "Note");
        buf_printable(&line->text, g->summary->notes[i], strlen(g->summary->notes[i]));
        if (i + 1 == EACH && count > EACH)
            buf_printf(&line->detail, " (%zu more notes: -v)", count - EACH);
    }
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
                files = text_block_add(&g->block, RANK_DETAIL, "Saved");
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
                                                       : "Saved";
        glance_put_output(
            &text_block_add(&g->block, is_fine ? RANK_DETAIL : RANK_TROUBLE, label)->text, o);
    }
}

static void glance_add_cost(struct glance *g)
{
    double cpu = metric_number(metric_of(self_cpu_seconds),
                               g->summary->self[self_cpu_seconds - self_first].last);
    double elapsed = (double)g->summary->elapsed_ns / 1e9;
    struct text_line *line = text_block_add(&g->block, RANK_REMARK, NULL);
    line->style = DIM;
    if (elapsed >= 0.5) {
        buf_puts(&line->text, "toll used ");
        buf_double_fixed(&line->text, cpu / elapsed * 100, cpu / elapsed < 0.001 ? 2 : 1);
        buf_puts(&line->text, " % of one core.");
    } else {
        buf_puts(&line->text, "toll used ");
        human_seconds(&line->text, cpu);
        buf_puts(&line->text, " of CPU time.");
    }
    if ((g->sink->flags & TOLL_OUTPUT_HINTS) && !(g->sink->flags & TOLL_OUTPUT_VERBOSE))
        buf_puts(&line->remark, g->summary->output_count ? "All figures: -v"
                                                         : "All figures: -v   Save: -o run.jsonl");
}

void text_glance(struct sink *s, const struct summary *summary)
{
    struct glance g = {
        .sink = s,
        .summary = summary,
        .width = s->columns ? s->columns : TEXT_LINE,
    };
    const struct instance_summary *system = NULL;
    for (size_t i = 0; i < summary->instance_count && !system; i++)
        if (summary->instances[i].instance->entity.kind == ENTITY_SYSTEM)
            system = &summary->instances[i];
    if (summary->has_target)
        g.rows = text_rows_of_target(s, &summary->whole);
    else if (system)
        g.rows = text_rows_of_instance(s, system);

    glance_add_labels(&g);
    glance_add_limits(&g);
    if (summary->has_target) {
        glance_add_cpu(&g);
        glance_add_memory(&g);
        glance_add_pair(&g, "Disk", process_storage_read_bytes, "read",
                        process_storage_written_bytes, "written");
        glance_add_pair(&g, "Network", process_network_received_bytes, "received",
                        process_network_sent_bytes, "sent");
        glance_add_waiting(&g);
        glance_add_processes(&g);
        glance_add_survivors(&g);
        glance_add_gpus(&g);
        glance_add_energy(&g);
        if (system)
            glance_add_beside(&g, system);
        glance_add_phases(&g);
        glance_add_targets(&g);
        glance_add_largest(&g);
        glance_add_notes(&g);
        glance_add_trust(&g);
    } else if (system) {
        glance_add_machine(&g);
        glance_add_gpus(&g);
        glance_add_energy(&g);
        glance_add_notes(&g);
    }
    glance_add_outputs(&g);
    glance_add_cost(&g);

    glance_write_title(&g);
    text_block_write(&g.block, s, GLANCE_LINES - 1, g.width);
}
