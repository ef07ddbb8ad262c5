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

/* ---- Figures --------------------------------------------------------------------------------- */

enum quality glance_quality(const struct glance *g, enum metric_id id)
{
    unsigned i = id - g->rows.first;
    if (!(g->rows.selected >> i & 1))
        return QUALITY_UNKNOWN;
    enum quality q = text_quality(&g->rows, PART_COMBINED, i);
    return text_is_nothing(q, text_figure(&g->rows, PART_COMBINED, i)) ? QUALITY_UNKNOWN : q;
}

double glance_figure(const struct glance *g, enum metric_id id)
{
    return text_figure(&g->rows, PART_COMBINED, id - g->rows.first);
}

double glance_mean(const struct glance *g, enum metric_id id)
{
    return series_mean(&g->rows.series[PART_COMBINED][id - g->rows.first], metric_of(id));
}

/* A figure with its sign; "unknown" where there is none. */
void glance_put(const struct glance *g, struct buf *b, enum metric_id id)
{
    enum quality q = glance_quality(g, id);
    if (q == QUALITY_UNKNOWN) {
        buf_puts(b, "unknown");
        return;
    }
    buf_puts(b, q == QUALITY_LOWER_BOUND ? AT_LEAST : "");
    human_number(b, metric_of(id), glance_figure(g, id));
}

/* Two figures of one kind in a line, "12 MiB read, 431 MiB written"; nothing when both are unknown.
 */
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

/* What was written to a file that was removed or cut before the disk had it. The kernel counts it
 * for the process that removes the file, which may not be the one that wrote it: it is never more
 * than what was written. */
static void glance_add_cancelled(struct glance *g)
{
    const double noticeable = 0.1, least = 1 << 20; /* of what was written; bytes */
    if (glance_quality(g, process_storage_written_bytes) == QUALITY_UNKNOWN ||
        glance_quality(g, process_storage_cancelled_bytes) == QUALITY_UNKNOWN)
        return;
    double written = glance_figure(g, process_storage_written_bytes);
    double cancelled = glance_figure(g, process_storage_cancelled_bytes);
    if (cancelled < least || cancelled < noticeable * written || cancelled > written)
        return;
    struct text_line *line = &g->block.lines[g->block.count - 1];
    buf_puts(&line->text, ", ");
    glance_put(g, &line->text, process_storage_cancelled_bytes);
    buf_puts(&line->text, " of it cancelled");
}

/* Every job has figures of the disk: that they are not known is an answer, too. */
static void glance_add_disk(struct glance *g)
{
    const uint64_t bits = BIT(process_storage_read_bytes) | BIT(process_storage_written_bytes);
    const struct target_summary *t = &g->summary->whole;
    if (!(g->rows.selected & bits) ||
        glance_quality(g, process_storage_read_bytes) != QUALITY_UNKNOWN ||
        glance_quality(g, process_storage_written_bytes) != QUALITY_UNKNOWN) {
        glance_add_pair(g, "Disk", process_storage_read_bytes, "read",
                        process_storage_written_bytes, "written");
        glance_add_cancelled(g);
        return;
    }
    struct text_line *line = text_block_add(&g->block, RANK_FIGURE, "Disk");
    buf_puts(&line->text, "unknown");
    if ((t->denied[PART_COMBINED] | t->partial[PART_COMBINED]) & bits)
        buf_puts(&line->detail, " (not permitted to read it)");
}

/* ---- What ran, and how it ended -------------------------------------------------------------- */

static void glance_write_title(struct glance *g)
{
    struct sink *s = g->sink;
    const struct run *run = g->summary->run;
    const struct toll_end *end = &g->summary->whole.end;
    struct buf how = {0};
    human_end(&how, g->summary);
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
    buf_putc(&s->text, ' ');
    buf_pad(&s->text, line, (unsigned)left_u64(g->width, how_columns));
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
    const struct run *run = g->summary->run;
    if (*run->parallel.rank || *run->job.id) {
        struct text_line *line = text_block_add(&g->block, RANK_DETAIL,
                                                *run->parallel.rank ? "Rank" : "Job");
        words_put_place(&line->text, run);
    }
    char **labels = run->labels;
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

/* The time that the quota of a cgroup took from the job; NULL: none is known. */
static const struct series *glance_throttled(const struct glance *g)
{
    const unsigned i = cgroup_cpu_throttled_seconds - cgroup_first;
    const struct series *most = NULL;
    for (size_t k = 0; k < g->summary->instance_count; k++) {
        const struct instance_summary *t = &g->summary->instances[k];
        if (t->instance->entity.kind != ENTITY_CGROUP)
            continue;
        const struct series *s = &t->series[i];
        if (s->observed_ns && s->last.u && (!most || s->last.u > most->last.u))
            most = s;
    }
    return most;
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
        g->has_limit_hit = true;
        buf_printf(&line->text, "%s of ", glance_limits[kind].noun);
        glance_put_limit(&line->text, kind, allowed);
        const struct series *throttled = kind == LIMIT_CPUS ? glance_throttled(g) : NULL;
        if (throttled) {
            buf_puts(&line->text, ": throttled for ");
            human_number(&line->text, metric_of(cgroup_cpu_throttled_seconds),
                         metric_number(metric_of(cgroup_cpu_throttled_seconds), throttled->last));
        } else {
            /* A count is its own proof; a signal or a kill is named. */
            bool is_named = !l->reached_times || kind == LIMIT_CPUS;
            buf_printf(&line->text, ": %s", is_named ? l->reached : "reached");
        }
        if (l->reached_times > 1) {
            buf_puts(&line->text, kind == LIMIT_CPUS ? ", in " : " ");
            human_count(&line->text, (double)l->reached_times);
            buf_puts(&line->text, kind == LIMIT_CPUS ? " periods" : " times");
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

/* A curve of a few samples would show where they happened to fall: none then. */
static const struct curve *glance_curve(const struct glance *g, const struct curve *curve)
{
    enum { SAMPLES_AT_LEAST = 10 };
    const struct series *ticks = &g->summary->self[self_ticks_count - self_first];
    return ticks->last.u >= SAMPLES_AT_LEAST ? curve : NULL;
}

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
    /* CPU time since the start of the processes has no share of the time since the attach. */
    bool is_since_attach = !(g->summary->run->target_count && g->summary->run->since_start);
    if (is_since_attach && glance_quality(g, process_cpu_cores) != QUALITY_UNKNOWN) {
        double cores = glance_mean(g, process_cpu_cores), most = limit->cores;
        bool is_idle = cores < 0.01;
        if (!limit->known || limit->unlimited || !(most > 0)) {
            buf_double_fixed(&line->remark, cores, 2);
            buf_puts(&line->remark, " cores");
        } else {
            unsigned decimals = (double)(uint64_t)most == most ? 0 : 2;
            const char *word = most == 1 ? " core" : " cores";
            /* "14 % of 2 cores", and if there is room "0.28 of 2 cores, 14 %" */
            struct buf *share = is_idle ? &line->remark : &line->shorter;
            human_percent(share, cores / most);
            buf_puts(share, " of ");
            buf_double_fixed(share, most, decimals);
            buf_puts(share, word);
            if (!is_idle) {
                buf_double_fixed(&line->remark, cores, 2);
                buf_puts(&line->remark, " of ");
                buf_double_fixed(&line->remark, most, decimals);
                buf_printf(&line->remark, "%s, ", word);
                human_percent(&line->remark, cores / most);
            }
        }
        if (!is_idle) /* a curve would show noise */
            line->curve = glance_curve(g, &g->summary->cores_curve);
    }
}

struct memory_peak glance_memory(const struct glance *g)
{
    return summary_memory_peak(g->summary, g->rows.selected);
}

static void glance_add_memory(struct glance *g)
{
    const struct limit *limit = &g->summary->whole.limits.of[LIMIT_MEMORY_BYTES];
    if (!(g->rows.selected >> process_memory_rss_bytes & 1))
        return;
    struct text_line *line = text_block_add(&g->block, RANK_ANSWER, "Memory");
    struct memory_peak m = glance_memory(g);
    double peak = m.bytes;
    if (m.quality == QUALITY_UNKNOWN) {
        buf_puts(&line->text, "unknown");
        if (m.why)
            buf_printf(&line->detail, " (%s)", m.why);
        return;
    }
    buf_puts(&line->text, m.quality == QUALITY_LOWER_BOUND ? AT_LEAST : "");
    buf_bytes(&line->text, peak);
    buf_puts(&line->text, " at peak");
    buf_puts(&line->detail, m.is_of_largest && m.why ? " (RSS of the largest process)" : " (RSS)");
    line->curve = glance_curve(g, &g->summary->memory_curve);
    line->curve_is_peak = true;
    if (limit->known && !limit->unlimited && limit->value && peak > 0) {
        bool is_charged = limit->has_used && limit->whose && strcmp(limit->whose, "cgroup") == 0;
        human_percent(&line->remark, (is_charged ? limit->used : peak) / (double)limit->value);
        buf_puts(&line->remark, " of ");
        buf_bytes(&line->remark, (double)limit->value);
        if (strcmp(limit->by, "machine") != 0) {
            buf_add(&line->shorter, line->remark.data, line->remark.length);
            buf_puts(&line->remark, ", cgroup limit");
        }
    }
    if (glance_quality(g, process_memory_swap_bytes) != QUALITY_UNKNOWN &&
        glance_figure(g, process_memory_swap_bytes) > 0) {
        struct text_line *swap = text_block_add(&g->block, RANK_FIGURE, "Swap");
        glance_put(g, &swap->text, process_memory_swap_bytes);
        buf_puts(&swap->text, " at peak");
    }
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
            if (waited > (double)g->summary->elapsed_ns / 1e9) /* more than the run lasted */
                buf_puts(&line->detail, ", all processes together");
        }
    }
    const struct series *throttled = glance_throttled(g);
    if (throttled && !g->summary->whole.limits.of[LIMIT_CPUS].reached) {
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
        buf_puts(&line->text, " seen at once");
    }
    if (glance_quality(g, process_processes_started_count) == QUALITY_LOWER_BOUND)
        buf_puts(&line->detail, " (short ones may be missing)");
    glance_put_busiest(g, &line->remark);
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

/* ---- The machine ----------------------------------------------------------------------------- */

static void glance_add_machine(struct glance *g)
{
    struct text_line *line = text_block_add(&g->block, RANK_ANSWER, "CPU");
    if (glance_quality(g, system_cpu_cores) != QUALITY_UNKNOWN) {
        double cores = glance_mean(g, system_cpu_cores);
        buf_double_fixed(&line->text, cores, 2);
        if (g->summary->run->online_cpus) {
            buf_printf(&line->text, " of %u cores busy on average", g->summary->run->online_cpus);
            human_percent(&line->remark, cores / g->summary->run->online_cpus);
        } else {
            buf_puts(&line->text, " cores busy on average");
        }
        line->curve = glance_curve(g, &g->summary->cores_curve);
    } else {
        buf_puts(&line->text, "unknown");
    }
    line = text_block_add(&g->block, RANK_ANSWER, "Memory");
    glance_put(g, &line->text, system_memory_used_bytes);
    if (glance_quality(g, system_memory_used_bytes) != QUALITY_UNKNOWN) {
        buf_puts(&line->text, " used at peak");
        line->curve = glance_curve(g, &g->summary->memory_curve);
        line->curve_is_peak = true;
        if (glance_quality(g, system_memory_total_bytes) != QUALITY_UNKNOWN) {
            double total = glance_figure(g, system_memory_total_bytes);
            human_percent(&line->remark, glance_figure(g, system_memory_used_bytes) / total);
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

/* ---- The block --------------------------------------------------------------------------------
 */

void text_glance(struct sink *s, const struct summary *summary)
{
    struct glance g = {
        .sink = s,
        .summary = summary,
        .width = text_width(s),
        .block.units = s->text.units,
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
        glance_add_disk(&g);
        glance_add_pair(&g, "Network", process_network_received_bytes, "received",
                        process_network_sent_bytes, "sent");
        glance_add_waiting(&g);
        glance_add_processes(&g);
        glance_add_survivors(&g);
        glance_add_gpus(&g);
        glance_add_energy(&g);
        glance_add_job_energy(&g);
        if (system)
            glance_add_beside(&g, system);
        glance_add_phases(&g);
        glance_add_targets(&g);
        glance_add_threads(&g);
        glance_add_largest(&g);
    } else if (system) {
        glance_add_machine(&g);
        glance_add_gpus(&g);
        glance_add_energy(&g);
    }
    glance_add_foot(&g);

    glance_write_title(&g);
    text_block_write(&g.block, s, GLANCE_LINES - 1, g.width);
}
