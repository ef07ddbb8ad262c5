/* SPDX-License-Identifier: MIT
 * What a tracker has found out, read by the program while it runs and afterwards. */
#include "engine/results.h"
#include "base/err.h"
#include "base/sized.h"
#include "engine/background.h"
#include "engine/lifetime.h"
#include "engine/surroundings.h"
#include "engine/verdicts.h"
#include "metric/column.h"

#include <math.h>
#include <string.h>

/* ---- Figures --------------------------------------------------------------------------------- */

/* A series of the summary, and how good it is. */
struct found {
    const struct series *series;
    const struct metric *metric;
    struct verdict verdict;
};

static bool find_in_target(struct found *f, const struct target_summary *t, const char *target,
                           const char *name)
{
    for (unsigned part = 0; part < (t->has_parts ? (unsigned)PARTS : 1); part++) {
        int id = column_metric(ENTITY_TARGET, part, target, name);
        if (id < 0)
            continue;
        *f = (struct found){&t->series[part][id], metric_of((enum metric_id)id),
                            t->verdicts[part][id]};
        return true;
    }
    return false;
}

/* Of the machine and of toll itself: counters are exact, gauges sampled. */
static bool find_in_things(struct found *f, enum entity_kind kind, const char *thing,
                           const struct series *series, const char *name)
{
    int id = column_metric(kind, PART_COMBINED, thing, name);
    if (id < 0)
        return false;
    f->series = &series[(enum metric_id)id - metric_first(kind)];
    f->metric = metric_of((enum metric_id)id);
    f->verdict = (struct verdict){summary_thing_quality(f->series, f->metric),
                                  f->series->observed_ns ? f->metric->facts.source : ""};
    return true;
}

static bool find(struct found *f, const struct summary *s, const char *name)
{
    if (s->has_target && find_in_target(f, &s->whole, NULL, name))
        return true;
    for (size_t i = 0; i < s->target_count; i++)
        if (find_in_target(f, &s->targets[i], s->run->targets[i].name, name))
            return true;
    for (size_t i = 0; i < s->thing_count; i++) {
        const struct entity *e = &s->things[i].thing->entity;
        if (find_in_things(f, e->kind, entity_name(e), s->things[i].series, name))
            return true;
    }
    return find_in_things(f, ENTITY_SELF, NULL, s->self, name);
}

static struct toll_figure figure_of(const struct found *f)
{
    const struct series *s = f->series;
    bool known = f->verdict.quality != QUALITY_UNKNOWN;
    bool is_counter = f->metric->kind == METRIC_COUNTER;
    bool has_range = known && s->count;
    double last = known && s->observed_ns ? metric_number(f->metric, s->last) : (double)NAN;
    return (struct toll_figure){
        .total = is_counter ? last : (double)NAN,
        .last = is_counter ? (double)NAN : last,
        .min = has_range ? s->min : (double)NAN,
        .max = has_range ? s->max : (double)NAN,
        .mean = known && s->observed_ns ? series_mean(s, f->metric) : (double)NAN,
        .max_at_ns = s->max_at_ns,
        .quality = quality_word(f->verdict.quality),
        .from = f->verdict.rung ? f->verdict.rung : "",
    };
}

/* The summary as of the last sample, judged; at the end all is settled. Asking changes nothing: the
 * statistics that are judged are a copy, owned by the caller, who ends it with judged_done; all
 * else is borrowed. 0 or -ENOMEM. */
static int judged_init(struct toll_tracker *t, struct summary *ret)
{
    *ret = t->summary;
    if (t->settled)
        return 0;
    ret->elapsed_ns = t->frame.elapsed_ns;
    if (t->summary.target_count) {
        size_t bytes = t->summary.target_count * sizeof *ret->targets;
        ret->targets = malloc(bytes);
        if (!ret->targets)
            return -ENOMEM;
        memcpy(ret->targets, t->summary.targets, bytes);
    }
    verdicts_make(t, ret);
    surroundings_use_limits(t, ret);
    return 0;
}

static void judged_done(const struct toll_tracker *t, struct summary *judged)
{
    if (judged->targets != t->summary.targets)
        free(judged->targets);
}

int toll_tracker_figure(struct toll_tracker *t, const char *name, struct toll_figure *ret)
{
    if (is_elsewhere(t))
        return -ESRCH;
    if (!name || !ret || sized_check(ret, "figure", NULL) < 0 || !t->started)
        return -EINVAL;
    struct found found;
    struct summary judged;
    struct toll_figure figure;
    background_lock(t);
    int r = judged_init(t, &judged);
    if (r == 0 && !find(&found, &judged, name))
        r = -ENOENT;
    if (r == 0)
        figure = figure_of(&found);
    judged_done(t, &judged);
    background_unlock(t);
    if (r == 0)
        sized_give(ret, &figure, sizeof figure);
    return r;
}

int results_write(struct toll_tracker *t, const struct toll_output *like, struct buf *ret,
                  struct toll_error *e)
{
    struct summary judged;
    int r = judged_init(t, &judged);
    r = r < 0 ? err_set(e, r, "no memory for the summary")
              : sink_report(ret, like, &t->selection, &judged, e);
    judged_done(t, &judged);
    return r == 0 && buf_failed(ret) ? err_set(e, -ENOMEM, "no memory for the summary") : r;
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
        r = err_set(e, -EINVAL, "no format is given");
    if (r == 0)
        r = sized_take(&like, sizeof like, output, "output", e);
    if (r < 0)
        return r;
    if (!t->started)
        return err_set(e, -EINVAL, "nothing was measured yet");
    struct buf text = {0};
    background_lock(t);
    r = results_write(t, &like, &text, e);
    background_unlock(t);
    if (r < 0)
        buf_done(&text);
    else
        *ret = text.data;
    return r;
}

/* ---- Frames ---------------------------------------------------------------------------------- */

int toll_tracker_frame(struct toll_tracker *t, struct toll_frame **ret)
{
    if (is_elsewhere(t))
        return -ESRCH;
    if (!ret || !t->background.is_on)
        return -EINVAL;
    struct taken *frame = frame_queue_latest(&t->background.frames);
    if (!frame)
        return -EAGAIN;
    *ret = &frame->head;
    return 0;
}

int toll_tracker_next_frame(struct toll_tracker *t, int timeout_ms, struct toll_frame **ret)
{
    if (is_elsewhere(t))
        return -ESRCH;
    if (!ret || !t->background.is_on || t->options.frame || !t->options.frames_kept)
        return -EINVAL;
    struct taken *frame = frame_queue_next(&t->background.frames, timeout_ms);
    if (!frame)
        return 1;
    *ret = &frame->head;
    return 0;
}
