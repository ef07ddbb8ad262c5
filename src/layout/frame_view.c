/* SPDX-License-Identifier: MIT */
#include "layout/translation.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

static const struct instance *frame_view_find_instance(const struct frame *f, enum entity_kind kind,
                                                       size_t i)
{
    for (size_t k = 0; k < f->machine_count; k++)
        if (f->machine[k]->entity.kind == kind && !i--)
            return f->machine[k];
    return NULL;
}

static const struct row *frame_view_find_row(const struct frame *f, const struct layout_place *p)
{
    if (p->kind == ENTITY_TARGET && p->target)
        return p->target <= f->target_count ? f->targets[p->target - 1].parts[p->part].row : NULL;
    if (p->kind == ENTITY_TARGET)
        return f->target[p->part].row;
    if (p->kind == ENTITY_SELF)
        return f->self.row;
    const struct instance *m = frame_view_find_instance(f, p->kind, p->instance);
    return m ? &m->row : NULL;
}

/* Every run has the number of CPUs, also where the machine was not measured. */
static double of_the_run(const struct run *run, const struct layout_place *place)
{
    return place->id == system_cpus_online_count && run->online_cpus ? (double)run->online_cpus
                                                                     : (double)NAN;
}

static double frame_figure(const void *of, const struct layout_place *place, enum layout_take take)
{
    const struct frame_view *view = of;
    const struct metric *m = metric_of(place->id);
    const struct row *row = frame_view_find_row(view->frame, place);
    return row && row_has(row, place->id) ? metric_recorded(m, row_value(row, place->id))
                                          : of_the_run(view->run, place);
}

static bool frame_is_partial(const void *of, const struct layout_place *place)
{
    const struct row *row = frame_view_find_row(((const struct frame_view *)of)->frame, place);
    return row && row->at_least >> (place->id - row->first) & 1;
}

static size_t frame_count(const void *of, enum entity_kind kind)
{
    const struct frame *f = ((const struct frame_view *)of)->frame;
    size_t count = 0;
    if (kind == ENTITY_TARGET)
        return f->target_count;
    for (size_t i = 0; i < f->machine_count; i++)
        count += f->machine[i]->entity.kind == kind;
    return count;
}

/* What a run says of itself, whatever is looked at. */
static double run_fact(const struct run *run, enum layout_fact fact, size_t target)
{
    const struct run_target *one = target && target <= run->target_count ? &run->targets[target - 1]
                                                                         : NULL;
    pid_t group = one ? one->group : run->group;
    pid_t pid = one ? one->pid : run->pid;
    switch (fact) {
    case FACT_PID: return pid ? (double)pid : (double)NAN;
    case FACT_OWN_PID: return run->own_pid ? (double)run->own_pid : (double)NAN;
    case FACT_GROUP: return group ? (double)group : (double)NAN;
    case FACT_CPUS: return run->online_cpus ? (double)run->online_cpus : (double)NAN;
    case FACT_GPUS:
        return run->gpus_unlisted && !run->gpu_count ? (double)NAN : (double)run->gpu_count;
    case FACT_SINCE: return run->since_start;
    case FACT_HAS_GPUS: return run->gpus || run->gpus_unlisted || run->gpus_unread;
    case FACT_PAGE: return (double)sysconf(_SC_PAGESIZE);
    default: return (double)NAN;
    }
}

static double frame_fact(const void *of, enum layout_fact fact, size_t target)
{
    const struct frame_view *v = of;
    switch (fact) {
    case FACT_TIME: return layout_seconds(v->frame->real_ns);
    case FACT_ELAPSED: return (double)v->frame->elapsed_ns / 1e9;
    case FACT_INTERVAL: return (double)v->frame->interval_ns / 1e9;
    default: return run_fact(v->run, fact, target);
    }
}

static const char *frame_name(const void *of, enum entity_kind kind, size_t number)
{
    const struct frame *f = ((const struct frame_view *)of)->frame;
    if (kind == ENTITY_TARGET)
        return number && number <= f->target_count ? f->targets[number - 1].name : "";
    const struct instance *m = frame_view_find_instance(f, kind, number);
    return m ? entity_name(&m->entity) : "";
}

/* The summary has it. */
static double frame_own(const void *of, const char *name)
{
    return (double)NAN;
}

static enum space_kind frame_space(const void *of, size_t instance)
{
    const struct instance *m = frame_view_find_instance(((const struct frame_view *)of)->frame,
                                                        ENTITY_MOUNT, instance);
    return m ? entity_space(&m->entity) : SPACE_NONE;
}

struct layout_source frame_view_source(const struct frame_view *view)
{
    return (struct layout_source){
        .of = view,
        .figure = frame_figure,
        .count = frame_count,
        .fact = frame_fact,
        .name = frame_name,
        .own = frame_own,
        .space = frame_space,
        .between = view->frame->between,
        .is_paced = true,
        .run = view->run,
        .is_partial = frame_is_partial,
    };
}

/* ---- A summary ------------------------------------------------------------------------------- */

static const struct instance_summary *find_summary(const struct summary *s, enum entity_kind kind,
                                                   size_t i)
{
    for (size_t k = 0; k < s->instance_count; k++)
        if (s->instances[k].instance->entity.kind == kind && !i--)
            return &s->instances[k];
    return NULL;
}

static const struct target_summary *find_target(const struct summary *s, size_t target)
{
    if (!s->has_target || target > s->target_count)
        return NULL;
    return target ? &s->targets[target - 1] : &s->whole;
}

/* The statistics, when anything is known of it. */
static const struct series *frame_view_find_series(const struct summary *s,
                                                   const struct layout_place *p)
{
    unsigned i = p->id - metric_first(p->kind);
    if (p->kind == ENTITY_TARGET) {
        const struct target_summary *t = find_target(s, p->target);
        bool is_known = t && (t->has_parts || p->part == PART_COMBINED) &&
                        t->provenance[p->part][p->id].quality != QUALITY_UNKNOWN;
        return is_known ? &t->series[p->part][p->id] : NULL;
    }
    if (p->kind == ENTITY_SELF)
        return &s->self[i];
    const struct instance_summary *instance = find_summary(s, p->kind, p->instance);
    return instance ? &instance->series[i] : NULL;
}

static bool summary_is_partial(const void *of, const struct layout_place *p)
{
    const struct target_summary *t = p->kind == ENTITY_TARGET ? find_target(of, p->target) : NULL;
    return t && t->partial[p->part] >> p->id & 1;
}

static double summary_figure(const void *of, const struct layout_place *place,
                             enum layout_take take)
{
    const struct series *s = frame_view_find_series(of, place);
    const struct metric *m = metric_of(place->id);
    if (summary_is_partial(of, place))
        return (double)NAN;
    if (!s || !s->observed_ns)
        return of_the_run(((const struct summary *)of)->run, place);
    switch (take) {
    case TAKE_MAX: return s->count ? s->max : (double)NAN;
    case TAKE_MEAN:
    case TAKE_SHARE:
    case TAKE_RATE: return series_mean(s, m);
    default: return metric_number(m, s->last);
    }
}

static size_t summary_count(const void *of, enum entity_kind kind)
{
    const struct summary *s = of;
    size_t count = 0;
    if (kind == ENTITY_TARGET)
        return s->target_count;
    for (size_t i = 0; i < s->instance_count; i++)
        count += s->instances[i].instance->entity.kind == kind;
    return count;
}

/* Of a program that ended at once, a mark that was read before it had its memory says nothing. */
static double summary_largest_process(const struct summary *s)
{
    const double least_of_a_program = 1 << 20;
    const struct series *series = &s->whole.series[PART_COMBINED][process_memory_peak_bytes];
    enum quality q = s->whole.provenance[PART_COMBINED][process_memory_peak_bytes].quality;
    bool is_premature = q == QUALITY_LOWER_BOUND && series->max < least_of_a_program;
    return !series->count || q == QUALITY_UNKNOWN || is_premature ? (double)NAN : series->max;
}

static double summary_fact(const void *of, enum layout_fact fact, size_t target)
{
    const struct summary *s = of;
    const struct toll_end *end = &s->whole.end;
    struct energy energy = energy_of(s); /* of the machine */
    const struct job_energy *job = &s->job_energy;
    struct memory_peak peak = summary_memory_peak(s, UINT64_MAX);
    switch (fact) {
    case FACT_EXIT:
        return !end->ended || end->unknown ? (double)NAN : end->signaled ? 0 : (double)end->status;
    case FACT_MEMORY_PEAK: return peak.quality == QUALITY_UNKNOWN ? (double)NAN : peak.bytes;
    case FACT_LARGEST: return summary_largest_process(s);
    case FACT_CARBON: return job->grams.has_high ? job->grams.high / job->kwh.high : (double)NAN;
    case FACT_PUE: return job->pue > 0 ? job->pue : 1;
    case FACT_TRACKING: return job->is_asked;
    case FACT_PROCESSORS_ENERGY:
        if (job->is_asked)
            return job->cpu.has_high ? job->cpu.high : (double)NAN;
        return energy.knows_processors ? energy.processors_joules : (double)NAN;
    case FACT_GPUS_ENERGY: /* none where there is no GPU */
        if (job->is_asked)
            return job->gpu.has_high ? job->gpu.high : (double)NAN;
        return energy.knows_gpus                             ? energy.gpus_joules
               : summary_fact(of, FACT_HAS_GPUS, target) > 0 ? (double)NAN
                                                             : 0;
    case FACT_TIME: return layout_seconds(s->run->start_real_ns + s->elapsed_ns);
    case FACT_ELAPSED:
    case FACT_INTERVAL: return (double)s->elapsed_ns / 1e9;
    case FACT_HAS_GPUS: /* by now they would have shown */
        return s->run->gpus_unlisted || s->run->gpus_unread || s->run->gpu_count;
    default: return run_fact(s->run, fact, target);
    }
}

static const char *summary_name(const void *of, enum entity_kind kind, size_t number)
{
    const struct summary *s = of;
    if (kind == ENTITY_TARGET)
        return number && number <= s->run->target_count ? s->run->targets[number - 1].name : "";
    const struct instance_summary *t = find_summary(s, kind, number);
    return t ? entity_name(&t->instance->entity) : "";
}

static double summary_own(const void *of, const char *name)
{
    const struct mark_totals *m = &((const struct summary *)of)->marks;
    for (size_t i = 0; i < m->gauge_count; i++)
        if (strcmp(m->gauges[i].name, name) == 0)
            return m->gauges[i].max;
    return (double)NAN;
}

static enum space_kind summary_space(const void *of, size_t instance)
{
    const struct instance_summary *t = find_summary(of, ENTITY_MOUNT, instance);
    return t ? entity_space(&t->instance->entity) : SPACE_NONE;
}

struct layout_source summary_view_source(const struct summary *summary)
{
    return (struct layout_source){
        .of = summary,
        .figure = summary_figure,
        .count = summary_count,
        .fact = summary_fact,
        .name = summary_name,
        .own = summary_own,
        .space = summary_space,
        .is_summary = true,
        .run = summary->run,
        .end = &summary->whole.end,
        .is_partial = summary_is_partial,
    };
}
