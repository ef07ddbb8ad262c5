/* SPDX-License-Identifier: MIT
 * What a tracker has found out, read by the program while it runs and afterwards. */
#include "engine/tracker.h"

#include "base/err.h"
#include "engine/background.h"
#include "engine/step.h"
#include "engine/target/cgroups.h"
#include "metric/metric.h"
#include "study/study.h"

#include <math.h>
#include <string.h>

/* ---- Figures --------------------------------------------------------------------------------- */

/* A series of the summary, and how good it is. */
struct found_series {
    const struct series *series;
    const struct metric *metric;
    int id;
    struct provenance provenance;
};

static bool results_find_in_target(struct found_series *f, const struct target_summary *t,
                                   const char *target, const char *name)
{
    for (unsigned part = 0; part < (t->has_parts ? (unsigned)PARTS : 1); part++) {
        int id = column_metric(ENTITY_TARGET, part, target, name);
        if (id < 0)
            continue;
        *f = (struct found_series){&t->series[part][id], metric_of((enum metric_id)id), id,
                                   t->provenance[part][id]};
        return true;
    }
    return false;
}

/* Of the machine and of toll itself: counters are exact, gauges sampled. */
static bool results_find_in_instance(struct found_series *f, enum entity_kind kind,
                                     const char *instance, const struct series *series,
                                     const char *name)
{
    int id = column_metric(kind, PART_COMBINED, instance, name);
    if (id < 0)
        return false;
    f->id = id;
    f->series = &series[(enum metric_id)id - metric_first(kind)];
    f->metric = metric_of((enum metric_id)id);
    f->provenance = (struct provenance){summary_instance_quality(f->series, f->metric),
                                        f->series->observed_ns ? f->metric->facts.source : ""};
    return true;
}

static struct toll_figure results_figure(const struct found_series *f)
{
    const struct series *s = f->series;
    bool is_known = f->provenance.quality != QUALITY_UNKNOWN;
    bool is_counter = f->metric->kind == METRIC_COUNTER;
    bool has_range = is_known && s->count, has_last = is_known && s->observed_ns;
    double last = has_last && !s->last_is_old ? metric_number(f->metric, s->last) : (double)NAN;
    return (struct toll_figure){
        .total = is_counter ? last : (double)NAN,
        .last = is_counter ? (double)NAN : last,
        .min = has_range ? s->min : (double)NAN,
        .max = has_range ? s->max : (double)NAN,
        .mean = has_last ? series_mean(s, f->metric) : (double)NAN,
        .max_at_ns = has_range ? s->max_at_ns : UINT64_MAX,
        .from = f->provenance.source ? f->provenance.source : "",
        .quality_word = quality_word(f->provenance.quality),
        .quality = (enum toll_quality)f->provenance.quality,
        .metric = f->id,
    };
}

/* A series by the name of its column. */
static bool results_find(struct found_series *f, const struct summary *s, const char *name)
{
    bool is_found = s->has_target && results_find_in_target(f, &s->whole, NULL, name);
    for (size_t i = 0; !is_found && i < s->target_count; i++)
        is_found = results_find_in_target(f, &s->targets[i], s->run->targets[i].name, name);
    for (size_t i = 0; !is_found && i < s->instance_count; i++) {
        const struct entity *e = &s->instances[i].instance->entity;
        is_found = results_find_in_instance(f, e->kind, entity_name(e), s->instances[i].series,
                                            name);
    }
    return is_found || results_find_in_instance(f, ENTITY_SELF, NULL, s->self, name);
}

/* The summary as of the last sample, judged; at the end all is settled. Asking changes nothing: all
 * statistics that are judged are copies, owned by the caller, who ends them with judged_done; the
 * rest is borrowed. 0 or -ENOMEM. */
static int judged_init(struct toll_tracker *t, struct summary *ret)
{
    const struct summary *s = &t->summary;
    *ret = *s;
    if (t->settled)
        return 0;
    size_t series = 0, target_bytes = s->target_count * sizeof *s->targets;
    for (size_t i = 0; i < s->instance_count; i++)
        series += metric_count(s->instances[i].instance->entity.kind);
    ret->targets = target_bytes ? malloc(target_bytes) : NULL;
    ret->instances = malloc(1 + s->instance_count * sizeof *s->instances +
                            series * sizeof *s->instances->series);
    if ((target_bytes && !ret->targets) || !ret->instances) {
        free(ret->targets);
        free(ret->instances);
        *ret = *s;
        return -ENOMEM;
    }
    if (target_bytes)
        memcpy(ret->targets, s->targets, target_bytes);
    struct series *copy = (struct series *)(ret->instances + s->instance_count);
    for (size_t i = 0; i < s->instance_count; i++) {
        size_t count = metric_count(s->instances[i].instance->entity.kind);
        ret->instances[i] = s->instances[i];
        ret->instances[i].series = memcpy(copy, s->instances[i].series, count * sizeof *copy);
        copy += count;
    }
    ret->elapsed_ns = t->frame.elapsed_ns;
    quality_judge_all(t, ret);
    cgroups_use_limits(&t->cgroups, ret);
    return 0;
}

static void judged_done(const struct toll_tracker *t, struct summary *judged)
{
    if (judged->instances == t->summary.instances)
        return;
    free(judged->targets);
    free(judged->instances);
}

/* What all public calls for results begin with: the tracker is ours and has started, and *ret has a
 * size. */
static int results_check(const struct toll_tracker *t, const void *ret)
{
    int r = lifetime_check_owner(t, NULL);
    return r == 0 && (!ret || sized_check(ret, "result", NULL) < 0 || !t->started) ? -EINVAL : r;
}

int toll_tracker_figure(struct toll_tracker *t, const char *name, struct toll_figure *ret)
{
    int r = name ? results_check(t, ret) : -EINVAL;
    if (r < 0)
        return r;
    struct summary judged;
    struct found_series found;
    struct toll_figure figure;
    background_lock(&t->background);
    r = judged_init(t, &judged);
    if (r == 0 && !results_find(&found, &judged, name))
        r = -ENOENT;
    if (r == 0)
        figure = results_figure(&found);
    judged_done(t, &judged);
    background_unlock(&t->background);
    if (r == 0)
        sized_give(ret, &figure, sizeof figure);
    return r;
}

struct toll_summary results_summarize(const struct summary *summary)
{
    struct toll_summary s = {.size = sizeof s, .memory_peak_bytes = (double)NAN, .exit_status = -1};
    struct toll_figure f;
    const struct {
        enum metric_id id;
        double *value;
        enum toll_quality *quality; /* or NULL */
    } totals[] = {
        {process_cpu_seconds, &s.cpu_seconds, &s.cpu_quality},
        {process_cpu_user_seconds, &s.cpu_user_seconds, NULL},
        {process_cpu_system_seconds, &s.cpu_system_seconds, NULL},
        {process_io_read_bytes, &s.io_read_bytes, NULL},
        {process_io_written_bytes, &s.io_written_bytes, &s.io_quality},
        {process_processes_started_count, &s.processes_started, NULL},
    };
    for (size_t i = 0; i < ARRAY_LEN(totals); i++) {
        enum metric_id id = totals[i].id;
        f = results_figure(&(struct found_series){&summary->whole.series[PART_COMBINED][id],
                                                  metric_of(id), (int)id,
                                                  summary->whole.provenance[PART_COMBINED][id]});
        *totals[i].value = f.total;
        if (totals[i].quality)
            *totals[i].quality = f.quality;
    }
    struct memory_peak memory = summary_memory_peak(summary, UINT64_MAX);
    s.memory_quality = (enum toll_quality)memory.quality;
    if (memory.quality != QUALITY_UNKNOWN)
        s.memory_peak_bytes = memory.bytes;
    const struct toll_end *end = &summary->whole.end;
    if (end->ended && !end->unknown && summary->target_count == 0)
        s.exit_status = end->signaled ? 128 + end->status : end->status;
    s.wall_seconds = (double)summary->elapsed_ns / 1e9;
    return s;
}

int toll_tracker_summary(struct toll_tracker *t, struct toll_summary *ret)
{
    int r = results_check(t, ret);
    if (r < 0)
        return r;
    struct summary judged;
    struct toll_summary s;
    background_lock(&t->background);
    r = judged_init(t, &judged);
    if (r == 0)
        s = results_summarize(&judged);
    judged_done(t, &judged);
    background_unlock(&t->background);
    if (r == 0)
        sized_give(ret, &s, sizeof s);
    return r;
}

int toll_gate_add(struct toll_gate *g, struct toll_tracker *t)
{
    int r = g ? lifetime_check_owner(t, NULL) : -EINVAL;
    if (r < 0 || !t->started)
        return r < 0 ? r : -EINVAL;
    struct summary judged;
    background_lock(&t->background);
    r = judged_init(t, &judged);
    if (r == 0)
        r = study_gate_add(g, &judged);
    judged_done(t, &judged);
    background_unlock(&t->background);
    return r;
}

/* ---- Marks and energy ------------------------------------------------------------------------ */

int toll_tracker_phase(struct toll_tracker *t, size_t i, struct toll_phase *ret)
{
    int r = results_check(t, ret);
    if (r < 0)
        return r;
    background_lock(&t->background);
    const struct mark_totals *marks = &t->summary.marks;
    struct toll_phase phase = {0};
    if (i < marks->phase_count) {
        const struct phase_total *p = &marks->phases[i];
        phase = (struct toll_phase){
            .name = p->name,
            .count = p->count,
            .not_ended = p->not_ended,
            .total_ns = p->total_ns,
            .min_ns = p->min_ns,
            .max_ns = p->max_ns,
        };
    }
    background_unlock(&t->background);
    if (!phase.name)
        return -ENOENT;
    sized_give(ret, &phase, sizeof phase);
    return 0;
}

int toll_tracker_phase_figure(struct toll_tracker *t, const char *phase, const char *metric,
                              struct toll_figure *ret)
{
    int r = phase && metric ? results_check(t, ret) : -EINVAL;
    int id = r == 0 ? toll_metric_find("process", metric) : r;
    if (id < 0)
        return id;
    const struct metric *m = metric_of((enum metric_id)id);
    struct phase_figure f;
    bool is_found = false;
    background_lock(&t->background);
    const struct mark_totals *marks = &t->summary.marks;
    for (size_t i = 0; !is_found && i < marks->phase_count; i++) {
        is_found = strcmp(marks->phases[i].name, phase) == 0;
        if (is_found)
            f = phase_total_figure(&marks->phases[i], (enum metric_id)id);
    }
    background_unlock(&t->background);
    if (!is_found || !phase_figures_has(m))
        return -ENOENT;
    bool is_known = f.quality != QUALITY_UNKNOWN, is_gauge = m->kind == METRIC_GAUGE;
    struct toll_figure figure = {
        .total = is_known && !is_gauge ? f.total : (double)NAN,
        .last = (double)NAN,
        .min = (double)NAN,
        .max = is_known && is_gauge && f.max >= 0 ? f.max : (double)NAN,
        .mean = is_known && is_gauge ? f.mean : (double)NAN,
        .max_at_ns = UINT64_MAX,
        .from = "",
        .quality_word = quality_word(f.quality),
        .quality = (enum toll_quality)f.quality,
        .metric = id,
    };
    sized_give(ret, &figure, sizeof figure);
    return 0;
}

int toll_tracker_gauge(struct toll_tracker *t, size_t i, struct toll_gauge *ret)
{
    int r = results_check(t, ret);
    if (r < 0)
        return r;
    background_lock(&t->background);
    const struct mark_totals *marks = &t->summary.marks;
    struct toll_gauge gauge = {0};
    if (i < marks->gauge_count) {
        const struct gauge_total *g = &marks->gauges[i];
        gauge = (struct toll_gauge){
            .name = g->name,
            .count = g->count,
            .last = g->last,
            .min = g->min,
            .max = g->max,
            .mean = g->sum / (double)g->count,
            .max_at_ns = g->max_at_ns,
        };
    }
    background_unlock(&t->background);
    if (!gauge.name)
        return -ENOENT;
    sized_give(ret, &gauge, sizeof gauge);
    return 0;
}

int toll_tracker_energy(struct toll_tracker *t, struct toll_energy *ret)
{
    int r = results_check(t, ret);
    if (r < 0)
        return r;
    background_lock(&t->background);
    struct energy e = energy_of(&t->summary);
    background_unlock(&t->background);
    enum quality quality = e.knows_gpus ? e.gpus_quality : QUALITY_UNKNOWN;
    bool knows_total = e.knows_processors && (e.knows_gpus || !e.has_gpus);
    struct toll_energy energy = {
        .has_gpus = e.has_gpus,
        .quality = (enum toll_quality)quality,
        .quality_word = quality_word(quality),
        .gpus_joules = e.knows_gpus ? e.gpus_joules : (double)NAN,
        .processors_joules = e.knows_processors ? e.processors_joules : (double)NAN,
        .total_joules = knows_total ? e.gpus_joules + e.processors_joules : (double)NAN,
    };
    sized_give(ret, &energy, sizeof energy);
    return 0;
}

/* ---- Reports --------------------------------------------------------------------------------- */

int results_write(struct toll_tracker *t, const struct toll_output *like, struct buf *ret,
                  struct toll_error *e)
{
    struct summary judged;
    int r = judged_init(t, &judged);
    r = r < 0 ? err_set(e, r, "cannot write the summary: out of memory")
              : sink_report(ret, like, &t->selection, &judged, e);
    judged_done(t, &judged);
    return r == 0 && buf_failed(ret)
               ? err_set(e, -ENOMEM, "cannot write the summary: out of memory")
               : r;
}

int toll_tracker_report(struct toll_tracker *t, const char *format, unsigned flags, char **ret,
                        struct toll_error *e)
{
    struct toll_output like = {.size = sizeof like, .format = format, .flags = flags};
    return toll_tracker_report_as(t, &like, ret, e);
}

int toll_tracker_report_as(struct toll_tracker *t, const struct toll_output *output, char **ret,
                           struct toll_error *e)
{
    struct toll_output like;
    int r = lifetime_check_owner(t, e);
    if (r == 0 && !ret)
        r = err_set_no_place(e);
    if (r == 0 && !output)
        r = err_set(e, -EINVAL, "output is NULL (expected a format)");
    if (r == 0)
        r = sized_take(&like, sizeof like, output, "output", e);
    if (r < 0)
        return r;
    if (!t->started)
        return err_set(e, -EINVAL, "cannot write the summary: the tracker has not started");
    struct buf text = {0};
    background_lock(&t->background);
    r = results_write(t, &like, &text, e);
    background_unlock(&t->background);
    if (r < 0)
        buf_done(&text);
    else
        *ret = text.data;
    return r;
}

int toll_repeats_add(struct toll_repeats *r, struct toll_tracker *t, const char *const *parameters,
                     struct toll_error *e)
{
    struct summary judged;
    int result = r ? lifetime_check_owner(t, e) : err_set(e, -EINVAL, "repeats is NULL");
    if (result < 0)
        return result;
    if (!t->finished)
        return err_set(e, -EINVAL, "cannot add the run: it is not finished");
    background_lock(&t->background);
    result = judged_init(t, &judged);
    if (result == 0)
        result = repeats_add(r, &judged, parameters);
    judged_done(t, &judged);
    background_unlock(&t->background);
    return result < 0 ? err_set(e, result, "cannot add the run: out of memory") : 0;
}

/* ---- Frames ---------------------------------------------------------------------------------- */

int toll_tracker_frame(struct toll_tracker *t, struct toll_frame **ret)
{
    int r = lifetime_check_owner(t, NULL);
    if (r < 0)
        return r;
    if (!ret || !t->background.is_on)
        return -EINVAL;
    struct frame_copy *frame = frame_queue_latest(&t->background.frames);
    if (!frame)
        return -EAGAIN;
    *ret = &frame->head;
    return 0;
}

int toll_tracker_next_frame(struct toll_tracker *t, int timeout_ms, struct toll_frame **ret)
{
    int r = lifetime_check_owner(t, NULL);
    if (r < 0)
        return r;
    if (!ret || !t->background.is_on || t->options.frame || !t->options.frames_kept)
        return -EINVAL;
    struct frame_copy *frame = frame_queue_next(&t->background.frames, timeout_ms);
    if (!frame)
        return TOLL_FRAME_NONE;
    *ret = &frame->head;
    return TOLL_FRAME_READY;
}
