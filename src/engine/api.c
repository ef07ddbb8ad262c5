/* SPDX-License-Identifier: MIT
 * The public calls of toll.h. */
#include "base/err.h"
#include "base/sized.h"
#include "base/wait.h"
#include "engine/begin.h"
#include "engine/gpus.h"
#include "engine/lifetime.h"
#include "engine/membership.h"
#include "engine/outputs_open.h"
#include "engine/step.h"
#include "engine/targets.h"

#include <string.h>

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

int toll_tracker_keep_backup(struct toll_tracker *t, const char *path, const char *dialect,
                             struct toll_error *e)
{
    int r = lifetime_check_owner(t, e);
    if (r == 0 && t->used)
        r = err_set(e, -EINVAL, "a backup is asked for before the start");
    if (r == 0 && (!path || !*path))
        r = err_set(e, -EINVAL, "no file is named for the backup");
    return r < 0 ? r : backup_set(t, path, dialect ? dialect : "gpu-tracker", e);
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
    if (background_is_teller(t))
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
    if (is_elsewhere(t) || background_is_teller(t))
        return; /* what a fork has of it goes with the fork; a callback's tracker is in use */
    if (t->background.is_on)
        background_end(t);
    else
        lifetime_close(t);
    free(t);
}
