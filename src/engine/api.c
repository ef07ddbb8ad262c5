/* SPDX-License-Identifier: MIT
 * The public calls of toll.h. */
#include "engine/api.h"

#include "base/err.h"
#include "base/thread.h"
#include "engine/background.h"
#include "engine/begin.h"
#include "engine/compat/replay.h"
#include "engine/finish.h"
#include "engine/marks/marks.h"
#include "engine/outputs.h"
#include "engine/settings.h"
#include "engine/step.h"
#include "engine/target/cgroups.h"
#include "engine/target/exits.h"
#include "engine/target/gpus.h"
#include "engine/target/membership.h"
#include "engine/target/network.h"
#include "engine/target/reap.h"
#include "engine/target/targets.h"
#include "engine/tick.h"
#include "metric/metric.h"

#include <math.h>
#include <string.h>

/* ==== Lifetime ================================================================================ */

int lifetime_new(struct toll_tracker **ret, const struct toll_options *options,
                 struct toll_error *e)
{
    struct toll_options o;
    int r = settings_check(&o, options, e);
    if (r < 0)
        return r;
    struct toll_tracker *t = calloc(1, sizeof *t);
    if (!t)
        return err_set(e, -ENOMEM, "no memory for a tracker");
    t->owner_pid = getpid();
    t->options = o;
    mark_intake_init(t);
    t->own_cpu = clock_own_cpu;
    t->cpu_base_ns = t->own_cpu();
    t->timer = t->epoll = t->launched.pidfd = -1;
    t->root = SYSROOT_NONE;
    t->discovery.loadavg = -1;
    t->gpus.counted.kind = GPUS_ALL;
    r = settings_take(t, e);
    if (r == 0 && summary_init(&t->summary, &t->run) < 0)
        r = err_set(e, -ENOMEM, "no memory for a tracker");
    if (r < 0) {
        lifetime_close(t);
        free(t);
        return r;
    }
    membership_init(t, t->owner_pid);
    t->self_entity = (struct entity){.kind = ENTITY_SELF};
    *ret = t;
    return 0;
}

int lifetime_finish(struct toll_tracker *t)
{
    if (!t->replay && is_launched(t))
        reap(t);
    finish(t);
    /* Other threads read the figures meanwhile: disks and servers may take their time. */
    background_unlock(t);
    int r = outputs_summary(t);
    outputs_close(t, false);
    backup_remove(t);
    background_lock(t);
    t->finished = true;
    return r;
}

void lifetime_close(struct toll_tracker *t)
{
    outputs_close(t, !t->started);
    backup_done(t);
    mark_intake_done(t);
    machine_close(t);
    cgroups_close(t);
    network_close(t);
    gpus_close(t);
    exits_close(t);
    membership_done(t);
    targets_done(t);
    process_reader_done(&t->reader);
    replay_close(t);
    sysroot_close(&t->root);
    close_p(&t->launched.pidfd);
    wakeup_close(t);
    frame_done(&t->frame);
    summary_done(&t->summary);
    run_done(&t->run);
}

int lifetime_check_owner(const struct toll_tracker *t, struct toll_error *e)
{
    if (!t)
        return err_set(e, -ESRCH, "there is no tracker");
    return is_elsewhere(t) ? err_set(e, -ESRCH, "the tracker belongs to the parent of this process")
                           : 0;
}

/* ==== Results ================================================================================= */

/* What a tracker has found out, read by the program while it runs and afterwards. */

/* ---- Figures --------------------------------------------------------------------------------- */

/* A series of the summary, and how good it is. */
struct found {
    const struct series *series;
    const struct metric *metric;
    struct provenance provenance;
};

static bool find_in_target(struct found *f, const struct target_summary *t, const char *target,
                           const char *name)
{
    for (unsigned part = 0; part < (t->has_parts ? (unsigned)PARTS : 1); part++) {
        int id = column_metric(ENTITY_TARGET, part, target, name);
        if (id < 0)
            continue;
        *f = (struct found){&t->series[part][id], metric_of((enum metric_id)id),
                            t->provenance[part][id]};
        return true;
    }
    return false;
}

/* Of the machine and of toll itself: counters are exact, gauges sampled. */
static bool find_in_instances(struct found *f, enum entity_kind kind, const char *instance,
                              const struct series *series, const char *name)
{
    int id = column_metric(kind, PART_COMBINED, instance, name);
    if (id < 0)
        return false;
    f->series = &series[(enum metric_id)id - metric_first(kind)];
    f->metric = metric_of((enum metric_id)id);
    f->provenance = (struct provenance){summary_instance_quality(f->series, f->metric),
                                        f->series->observed_ns ? f->metric->facts.source : ""};
    return true;
}

static bool results_find(struct found *f, const struct summary *s, const char *name)
{
    if (s->has_target && find_in_target(f, &s->whole, NULL, name))
        return true;
    for (size_t i = 0; i < s->target_count; i++)
        if (find_in_target(f, &s->targets[i], s->run->targets[i].name, name))
            return true;
    for (size_t i = 0; i < s->instance_count; i++) {
        const struct entity *e = &s->instances[i].instance->entity;
        if (find_in_instances(f, e->kind, entity_name(e), s->instances[i].series, name))
            return true;
    }
    return find_in_instances(f, ENTITY_SELF, NULL, s->self, name);
}

static struct toll_figure results_figure_of(const struct found *f)
{
    const struct series *s = f->series;
    bool known = f->provenance.quality != QUALITY_UNKNOWN;
    bool is_counter = f->metric->kind == METRIC_COUNTER;
    bool has_range = known && s->count;
    double last = known && s->observed_ns ? metric_number(f->metric, s->last) : (double)NAN;
    return (struct toll_figure){
        .total = is_counter ? last : (double)NAN,
        .last = is_counter ? (double)NAN : last,
        .min = has_range ? s->min : (double)NAN,
        .max = has_range ? s->max : (double)NAN,
        .mean = known && s->observed_ns ? series_mean(s, f->metric) : (double)NAN,
        .max_at_ns = has_range ? s->max_at_ns : UINT64_MAX,
        .quality = quality_word(f->provenance.quality),
        .from = f->provenance.source ? f->provenance.source : "",
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
    quality_judge_all(t, ret);
    cgroups_use_limits(t, ret);
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
    if (r == 0 && !results_find(&found, &judged, name))
        r = -ENOENT;
    if (r == 0)
        figure = results_figure_of(&found);
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
    struct frame_copy *frame = frame_queue_latest(&t->background.frames);
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
    struct frame_copy *frame = frame_queue_next(&t->background.frames, timeout_ms);
    if (!frame)
        return 1;
    *ret = &frame->head;
    return 0;
}

/* ==== Api ===================================================================================== */

const char *toll_version(void)
{
    return TOLL_VERSION;
}

const struct toll_metric *toll_metric_at(size_t i)
{
    return i < METRIC_COUNT ? &metric_of((enum metric_id)i)->facts : NULL;
}

const struct toll_format *toll_format_at(size_t i)
{
    for (size_t k = 0; sink_kinds[k]; k++)
        if (k == i)
            return &sink_kinds[k]->format;
    return NULL;
}

const struct toll_format *toll_format_of(const char *destination)
{
    const struct sink_kind *kind;
    const char *rest;
    if (!destination)
        return NULL;
    return sink_choose(NULL, destination, &kind, &rest, NULL) < 0 ? NULL : &kind->format;
}

const struct toll_format_option *toll_format_option_at(const struct toll_format *format, size_t i)
{
    for (size_t k = 0; sink_kinds[k]; k++)
        for (size_t n = 0; format == &sink_kinds[k]->format && sink_kinds[k]->options &&
                           sink_kinds[k]->options[n].facts.name;
             n++)
            if (n == i)
                return &sink_kinds[k]->options[n].facts;
    return NULL;
}

/* ---- A tracker ------------------------------------------------------------------------------- */

int toll_tracker_new(struct toll_tracker **ret, const struct toll_options *options,
                     struct toll_error *e)
{
    return ret ? lifetime_new(ret, options, e) : err_set_no_place(e);
}

int toll_tracker_add_output(struct toll_tracker *t, const struct toll_output *output,
                            struct toll_error *e)
{
    struct toll_output o;
    int r = lifetime_check_owner(t, e);
    if (r == 0 && !output)
        r = err_set(e, -EINVAL, "no output is given");
    if (r == 0)
        r = sized_take(&o, sizeof o, output, "output", e);
    if (r < 0)
        return r;
    if (t->used)
        return err_set(e, -EINVAL, "outputs are added before the start");
    return outputs_add(t, &o, e);
}

int toll_tracker_count_gpus(struct toll_tracker *t, const char *gpus, struct toll_error *e)
{
    int r = lifetime_check_owner(t, e);
    if (r == 0 && t->used)
        r = err_set(e, -EINVAL, "which GPUs count is said before the start");
    return r < 0 ? r : gpus_count(t, gpus ? gpus : "all", e);
}

int toll_tracker_keep_backup(struct toll_tracker *t, const char *path, const char *layout,
                             struct toll_error *e)
{
    int r = lifetime_check_owner(t, e);
    if (r == 0 && t->used)
        r = err_set(e, -EINVAL, "a backup is asked for before the start");
    if (r == 0 && (!path || !*path))
        r = err_set(e, -EINVAL, "no file is named for the backup");
    return r < 0 ? r : backup_set(t, path, layout ? layout : "gpu-tracker", e);
}

int toll_tracker_add_target(struct toll_tracker *t, const struct toll_target *target,
                            struct toll_error *e)
{
    struct toll_target asked;
    int r = lifetime_check_owner(t, e);
    if (r == 0)
        r = sized_take(&asked, sizeof asked, target, "target", e);
    if (r < 0)
        return r;
    if (t->used)
        return err_set(e, -EINVAL, "targets are added before the start");
    return targets_add(t, &asked, e);
}

/* ---- The start ------------------------------------------------------------------------------- */

int toll_tracker_launch(struct toll_tracker *t, char *const argv[], struct toll_launch *request,
                        struct toll_error *e)
{
    int r = lifetime_check_owner(t, e);
    return r < 0 ? r : begin_launch(t, argv, request, e);
}

int toll_tracker_attach(struct toll_tracker *t, struct toll_error *e)
{
    int r = lifetime_check_owner(t, e);
    return r < 0 ? r : begin_attach(t, e);
}

int toll_tracker_replay(struct toll_tracker *t, const char *directory, struct toll_error *e)
{
    int r = lifetime_check_owner(t, e);
    if (r == 0 && !directory)
        r = err_set(e, -EINVAL, "no recorded run is named");
    return r < 0 ? r : begin_replay(t, directory, e);
}

/* ---- The run --------------------------------------------------------------------------------- */

pid_t toll_tracker_pid(const struct toll_tracker *t)
{
    return !t || t->reaper.main_reaped ? 0 : t->launched.pid;
}

bool toll_tracker_contains(struct toll_tracker *t, pid_t pid)
{
    bool may_look = !is_elsewhere(t) && t->started && !t->background.is_on;
    for (unsigned hops = 0; may_look && pid > 1 && hops < 1000; hops++) {
        if (pid == t->launched.pid)
            return true;
        pid_t parent = process_parent(&t->reader, pid);
        if (parent == t->discovery.tracker_pid)
            return !membership_is_stranger(t, pid);
        pid = parent;
    }
    return false;
}

int toll_tracker_fd(const struct toll_tracker *t)
{
    return !t || t->background.is_on ? -1 : t->epoll; /* the sampler's number means nothing here */
}

int toll_tracker_step(struct toll_tracker *t)
{
    if (is_elsewhere(t))
        return -ESRCH;
    return t->background.is_on ? -EINVAL : step(t);
}

int toll_tracker_start(struct toll_tracker *t, struct toll_error *e)
{
    int r = lifetime_check_owner(t, e);
    return r < 0 ? r : background_start(t, e);
}

int toll_tracker_wait(struct toll_tracker *t, int timeout_ms)
{
    if (is_elsewhere(t))
        return -ESRCH;
    struct background *b = &t->background;
    if (!b->is_on)
        return -EINVAL;
    uint64_t until_ns = wait_until(timeout_ms);
    pthread_mutex_lock(&b->lock);
    while (!b->ended && !b->finished && wait_for(&b->changed, &b->lock, until_ns))
        ;
    bool ended = b->ended;
    pthread_mutex_unlock(&b->lock);
    return !ended;
}

/* ---- The end --------------------------------------------------------------------------------- */

int toll_tracker_finish(struct toll_tracker *t, struct toll_end *ret_end)
{
    if (is_elsewhere(t))
        return -ESRCH;
    if (background_is_callback_thread(t))
        return -EDEADLK; /* it would wait for itself */
    if (!t->started || t->finished || (ret_end && sized_check(ret_end, "end", NULL) < 0))
        return -EINVAL;
    int r = t->background.is_on ? background_finish(t) : lifetime_finish(t);
    if (ret_end)
        sized_give(ret_end, &t->summary.whole.end, sizeof *ret_end);
    return r;
}

void toll_tracker_hurry(struct toll_tracker *t)
{
    if (t)
        atomic_store(&t->is_hurried, true);
}

void toll_tracker_free(struct toll_tracker *t)
{
    if (is_elsewhere(t) || background_is_callback_thread(t))
        return; /* what a fork has of it goes with the fork; a callback's tracker is in use */
    if (t->background.is_on)
        background_end(t);
    else
        lifetime_close(t);
    free(t);
}
