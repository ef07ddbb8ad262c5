/* SPDX-License-Identifier: MIT
 * What GPUs did: in the block a line for each of a few, or one for many in which those are named
 * that differ; after it a table, and how long each idled. */
#include "sink/text/text.h"

#include "summary/summary.h"

#include <string.h>

static const struct series *gpu_series(const struct instance_summary *t, enum metric_id id)
{
    const struct series *s = &t->series[id - gpu_first];
    return s->observed_ns ? s : NULL;
}

static const struct instance_summary *gpu_next(const struct summary *summary, size_t *at)
{
    while (*at < summary->instance_count) {
        const struct instance_summary *t = &summary->instances[(*at)++];
        if (t->instance->entity.kind == ENTITY_GPU)
            return t;
    }
    return NULL;
}

/* ==== In the block ============================================================================ */

static void gpu_put_percent(struct buf *b, double share, const char *word)
{
    buf_double_fixed(b, share * 100, 0);
    buf_printf(b, " %% %s", word);
}

/* "12.0 of 40.0 GiB"; the unit of both where they differ. */
static void gpu_put_of(struct buf *b, enum metric_id id, double used, double most)
{
    size_t start = b->length;
    human_number(b, metric_of(id), used);
    if (!(most > 0) || buf_failed(b))
        return;
    size_t end = b->length, unit = end;
    while (unit > start && b->data[unit - 1] != ' ')
        unit--;
    buf_puts(b, " of ");
    human_number(b, metric_of(id), most);
    size_t length = end - unit;
    if (!buf_failed(b) && unit > start && b->length - end > length + 1 &&
        memcmp(b->data + b->length - length - 1, b->data + unit - 1, length + 1) == 0) {
        memmove(b->data + unit - 1, b->data + end, b->length - end);
        b->length -= length + 1;
    }
}

/* What one GPU did. Memory is the peak, the rest the mean. */
struct gpu_figures {
    const char *name;
    bool has_busy, has_memory, has_power;
    double busy, memory, memory_total, power, power_limit;
    double throttled;     /* share of the time */
    bool memory_is_least; /* more may have been used while it was unknown */
    bool is_partly;       /* a mean is of a part of the run: of this share, or 0, not known */
    double watched;
};

/* As a record has it: where a part of the run is not known, zero says nothing. */
static const struct series *gpu_gauge(const struct instance_summary *t, enum metric_id id)
{
    const struct series *s = gpu_series(t, id);
    enum quality q = s ? summary_instance_quality(s, metric_of(id)) : QUALITY_UNKNOWN;
    return q == QUALITY_UNKNOWN || text_is_nothing(q, s->max) ? NULL : s;
}

static bool gpu_is_partly_known(const struct series *s, enum metric_id id)
{
    return summary_instance_quality(s, metric_of(id)) == QUALITY_LOWER_BOUND;
}

static struct gpu_figures gpu_figures_of(const struct summary *summary,
                                         const struct instance_summary *t)
{
    struct gpu_figures f = {.name = entity_name(&t->instance->entity)};
    const struct series *s;
    if ((s = gpu_gauge(t, gpu_utilization_ratio))) {
        f.has_busy = true;
        f.busy = series_mean(s, metric_of(gpu_utilization_ratio));
        f.is_partly = gpu_is_partly_known(s, gpu_utilization_ratio);
    }
    if ((s = gpu_gauge(t, gpu_memory_used_bytes))) {
        f.has_memory = true;
        f.memory = s->max;
        f.memory_is_least = gpu_is_partly_known(s, gpu_memory_used_bytes);
    }
    if ((s = gpu_gauge(t, gpu_memory_total_bytes)))
        f.memory_total = s->max;
    if ((s = gpu_gauge(t, gpu_power_watts))) {
        f.has_power = true;
        f.power = series_mean(s, metric_of(gpu_power_watts));
        f.is_partly |= gpu_is_partly_known(s, gpu_power_watts);
    }
    if ((s = gpu_gauge(t, gpu_power_limit_watts)))
        f.power_limit = s->max;
    if ((s = gpu_gauge(t, gpu_throttled_count)) && s->max > 0)
        f.throttled = series_mean(s, metric_of(gpu_throttled_count));
    if (f.is_partly && (s = gpu_series(t, gpu_watched_seconds)) && summary->elapsed_ns)
        f.watched = (double)s->last.u / (double)summary->elapsed_ns;
    return f;
}

static void gpu_put_throttled(struct buf *b, const char *comma, double share)
{
    buf_printf(b, "%sthrottled", comma);
    if (share >= 0.995)
        return;
    buf_puts(b, share < 0.01 ? " < " : " ");
    gpu_put_percent(b, share < 0.01 ? 0.01 : share, "of the time");
}

static void gpu_put_line(struct text_line *line, const struct gpu_figures *f)
{
    const char *comma = "";
    if (f->has_busy) {
        gpu_put_percent(&line->text, f->busy, "busy");
        comma = ", ";
    }
    if (f->has_memory) {
        buf_printf(&line->text, "%smemory %s", comma, f->memory_is_least ? AT_LEAST : "");
        gpu_put_of(&line->text, gpu_memory_used_bytes, f->memory, f->memory_total);
        comma = ", ";
    }
    if (f->has_power) {
        buf_puts(&line->text, comma);
        gpu_put_of(&line->text, gpu_power_watts, f->power, f->power_limit);
        comma = ", ";
    }
    if (f->throttled > 0) {
        gpu_put_throttled(&line->text, comma, f->throttled);
        comma = ", ";
    }
    if (f->is_partly) { /* means say nothing of the rest of the time */
        buf_printf(&line->text, "%swatched ", comma);
        if (f->watched > 0 && f->watched < 0.995)
            gpu_put_percent(&line->text, f->watched < 0.01 ? 0.01 : f->watched, "of the time");
        else
            buf_puts(&line->text, "a part of the time");
    }
    if (!*comma)
        buf_puts(&line->text, "no figures");
}

/* The middle one of the shares that are known. */
static double gpu_median_busy(const struct summary *summary)
{
    enum { MOST = 1024 };
    double sorted[MOST];
    size_t count = 0;
    const struct instance_summary *t;
    for (size_t at = 0; count < MOST && (t = gpu_next(summary, &at));) {
        struct gpu_figures f = gpu_figures_of(summary, t);
        if (!f.has_busy)
            continue;
        size_t i = count++;
        for (; i && sorted[i - 1] > f.busy; i--)
            sorted[i] = sorted[i - 1];
        sorted[i] = f.busy;
    }
    return count ? sorted[count / 2] : 0;
}

/* "nvidia2 3 % busy, nvidia5 throttled": those that were busy far more or less than the others,
 * that were throttled while most were not, or that have no figures. */
static void glance_add_outliers(struct glance *g, unsigned throttled, unsigned count)
{
    enum { NAMED = 4 };
    const double far = 0.2;
    double median = gpu_median_busy(g->summary);
    struct text_line *line = NULL;
    unsigned found = 0;
    const struct instance_summary *t;
    for (size_t at = 0; (t = gpu_next(g->summary, &at));) {
        struct gpu_figures f = gpu_figures_of(g->summary, t);
        bool is_busy_otherwise = f.has_busy && (f.busy > median + far || f.busy < median - far);
        bool is_throttled = f.throttled > 0 && throttled <= count / 2;
        bool is_silent = !f.has_busy && !f.has_memory && !f.has_power;
        if ((!is_busy_otherwise && !is_throttled && !is_silent) || found++ >= NAMED)
            continue;
        if (!line)
            line = text_block_add(&g->block, RANK_FIGURE, "");
        buf_printf(&line->text, "%s", line->text.length ? "; " : "");
        buf_printable(&line->text, f.name, strlen(f.name));
        buf_putc(&line->text, ' ');
        if (is_silent)
            buf_puts(&line->text, "no figures");
        if (is_busy_otherwise)
            gpu_put_percent(&line->text, f.busy, "busy");
        if (is_throttled)
            gpu_put_throttled(&line->text, is_busy_otherwise ? ", " : "", f.throttled);
    }
    if (found > NAMED)
        buf_printf(&line->text, "; %u more: -v", found - NAMED);
}

static void glance_add_many_gpus(struct glance *g, unsigned count)
{
    struct text_line *line = text_block_add(&g->block, RANK_FIGURE, "GPUs");
    struct gpu_figures all = {0};
    unsigned known = 0, powered = 0, throttled = 0, partly = 0;
    const struct instance_summary *t;
    for (size_t at = 0; (t = gpu_next(g->summary, &at));) {
        struct gpu_figures f = gpu_figures_of(g->summary, t);
        all.busy += f.busy;
        known += f.has_busy;
        if (f.memory > all.memory || !all.has_memory) {
            all.memory = f.memory;
            all.memory_total = f.memory_total;
        }
        all.has_memory |= f.has_memory;
        all.memory_is_least |= f.memory_is_least || !f.has_memory;
        all.power += f.power;
        powered += f.has_power;
        all.power_limit = f.power_limit > all.power_limit ? f.power_limit : all.power_limit;
        throttled += f.throttled > 0;
        partly += f.is_partly;
    }
    buf_printf(&line->text, "%u", count);
    if (known) {
        buf_puts(&line->text, ", ");
        gpu_put_percent(&line->text, all.busy / known, "busy");
    }
    if (all.has_memory) {
        buf_printf(&line->text, ", memory up to %s", all.memory_is_least ? AT_LEAST : "");
        gpu_put_of(&line->text, gpu_memory_used_bytes, all.memory, all.memory_total);
    }
    if (powered) {
        buf_puts(&line->detail, ", ");
        gpu_put_of(&line->detail, gpu_power_watts, all.power / powered, all.power_limit);
        buf_puts(&line->detail, " each");
    }
    if (throttled > count / 2) {
        line = text_block_add(&g->block, RANK_FIGURE, "");
        if (throttled == count)
            buf_puts(&line->text, "all throttled");
        else
            buf_printf(&line->text, "%u of %u throttled", throttled, count);
    }
    if (partly) {
        line = text_block_add(&g->block, RANK_FIGURE, "");
        buf_printf(&line->text, "%u of %u watched a part of the time", partly, count);
    }
    glance_add_outliers(g, throttled, count);
}

void glance_add_gpus(struct glance *g)
{
    enum { EACH = 3 };
    unsigned count = 0;
    const struct instance_summary *t;
    for (size_t at = 0; gpu_next(g->summary, &at);)
        count++;
    if (count > EACH)
        glance_add_many_gpus(g, count);
    for (size_t at = 0; count <= EACH && (t = gpu_next(g->summary, &at));) {
        struct gpu_figures f = gpu_figures_of(g->summary, t);
        gpu_put_line(text_block_add(&g->block, RANK_FIGURE, entity_name(&t->instance->entity)), &f);
    }
    if (!g->summary->has_target || !count ||
        glance_quality(g, process_gpu_memory_bytes) == QUALITY_UNKNOWN)
        return;
    struct text_line *line = text_block_add(&g->block, RANK_DETAIL, "GPU use");
    if (glance_figure(g, process_gpu_memory_bytes) <= 0) {
        buf_puts(&line->text, "none by this job");
        return;
    }
    glance_put(g, &line->text, process_gpu_memory_bytes);
    buf_puts(&line->text, " at peak by this job");
    if (glance_quality(g, process_gpu_utilization_ratio) != QUALITY_UNKNOWN) {
        buf_puts(&line->text, ", ");
        gpu_put_percent(&line->text, glance_mean(g, process_gpu_utilization_ratio), "busy");
        if (glance_quality(g, process_gpu_utilization_ratio) == QUALITY_LOWER_BOUND)
            buf_puts(&line->text, " while watched");
    }
}

void glance_add_energy(struct glance *g)
{
    struct energy e = energy_of(g->summary);
    e.knows_gpus &= e.gpus_joules > 0;
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

/* The share of the job; a second line has what it comes to. */
void glance_add_job_energy(struct glance *g)
{
    const struct job_energy *j = &g->summary->job_energy;
    if (!j->is_asked)
        return;
    struct text_line *line = text_block_add(&g->block, RANK_FIGURE, "Job energy");
    if (!words_put_energy(&line->text, "", AT_LEAST, j, ENERGY_JOULES))
        buf_puts(&line->text, "unknown");
    words_put_energy(&line->text, ", ", AT_LEAST, j, ENERGY_KWH);
    if (j->pue > 0 && j->kwh.has_low) {
        buf_puts(&line->text, " with PUE ");
        buf_double(&line->text, j->pue, 2);
    }
    if (*j->why)
        buf_printf(&line->text, " (%s)", j->why);
    if (!j->has_carbon && !j->has_price)
        return;
    line = text_block_add(&g->block, RANK_FIGURE, "");
    if (j->has_carbon && !words_put_energy(&line->text, "", AT_LEAST, j, ENERGY_CO2E))
        buf_puts(&line->text, "CO2e unknown");
    const char *comma = j->has_carbon ? ", " : "";
    if (j->has_price && !words_put_energy(&line->text, comma, AT_LEAST, j, ENERGY_COST))
        buf_printf(&line->text, "%scost unknown", comma);
}

/* ==== After it ================================================================================ */

/* What a GPU that costs money did not do, in a line; the most it did is in the table. */
static void gpu_add_idle(struct sink *s, const struct summary *summary,
                         const struct instance_summary *t)
{
    const struct series *idle = gpu_series(t, gpu_idle_seconds);
    const struct series *watched = gpu_series(t, gpu_watched_seconds);
    if (!idle || !watched || !watched->last.u ||
        !(s->selection.of[ENTITY_GPU] >> (gpu_idle_seconds - gpu_first) & 1))
        return;
    struct gpu_figures f = gpu_figures_of(summary, t);
    struct buf b = {0};
    buf_printf(&b, "%s idled ", f.name);
    gpu_put_percent(&b, (double)idle->last.u / (double)watched->last.u, "of the time");
    if (watched->last.u < summary->elapsed_ns / 10 * 9) { /* a driver that was late or silent */
        buf_puts(&b, " in which it was watched, ");
        human_seconds(&b, (double)watched->last.u / 1e9);
        buf_puts(&b, " of ");
        human_seconds(&b, (double)summary->elapsed_ns / 1e9);
    }
    if (f.has_busy) {
        buf_puts(&b, "; on average ");
        human_number(&b, metric_of(gpu_utilization_ratio), f.busy);
        buf_puts(&b, " busy");
    }
    if (f.has_power) {
        buf_puts(&b, ", ");
        human_number(&b, metric_of(gpu_power_watts), f.power);
    }
    text_paragraph_done(s, "the GPU ", &b);
}

void text_gpus(struct sink *s, const struct summary *summary, bool has_table)
{
    const struct instance_summary *t;
    size_t first = 0;
    if (!gpu_next(summary, &first))
        return;
    if (!has_table) {
        buf_putc(&s->text, '\n');
        text_kind(s, summary, ENTITY_GPU);
    }
    for (size_t at = 0; (t = gpu_next(summary, &at));)
        gpu_add_idle(s, summary, t);
}
