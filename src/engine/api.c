/* SPDX-License-Identifier: MIT
 * The public calls of toll.h. */
#include "engine/tracker.h"

#include "base/err.h"
#include "base/thread.h"
#include "engine/background.h"
#include "engine/marks/marks.h"
#include "engine/outputs.h"
#include "engine/settings.h"
#include "engine/step.h"
#include "engine/target/cgroups.h"
#include "engine/target/gpus.h"
#include "engine/target/network.h"
#include "engine/target/reap.h"
#include "engine/target/targets.h"
#include "engine/target/walk.h"
#include "engine/tick.h"
#include "metric/metric.h"
#include "sink/words.h"

#include <math.h>
#include <poll.h>
#include <string.h>

/* ==== Lifetime ================================================================================ */

/* Which subsystem knows which, and what is open: nothing. */
static void lifetime_wire(struct toll_tracker *t)
{
    t->wakeup.timer = t->wakeup.epoll = -1;
    t->self.cpu = clock_own_cpu;
    t->self.entity = (struct entity){.kind = ENTITY_SELF};
    t->tracked.options = &t->options;
    t->tracked.gpus = &t->gpus;
    t->tracked.root = SYSROOT_NONE;
    t->tracked.launched.pidfd = -1;
    t->tracked.discovery.loadavg = -1;
    t->tracked.budget = t->options.budget_percent / 100;
    t->tracked.reaper.list_threads = own_threads_list;
    t->tracked.reaper.list_threads_arg = t;
    t->cgroups.tracked = &t->tracked;
    t->cgroups.summary = &t->summary;
    job_cgroup_init(&t->job);
    t->marks.tracked = &t->tracked;
    t->marks.outputs = &t->outputs;
    t->marks.frame = &t->frame;
    t->marks.totals = &t->summary.marks;
    t->outputs.options = &t->options;
    t->outputs.background = &t->background;
    t->outputs.summary = &t->summary;
    t->outputs.tracked = &t->tracked;
}

int lifetime_new(struct toll_tracker **ret, const struct toll_options *options,
                 struct toll_error *e)
{
    struct toll_options o;
    int r = settings_check(&o, options, e);
    if (r < 0)
        return r;
    struct toll_tracker *t = calloc(1, sizeof *t);
    if (!t)
        return err_set(e, -ENOMEM, "cannot create a tracker: out of memory");
    t->owner_pid = getpid();
    t->options = o;
    lifetime_wire(t);
    marks_init(&t->marks);
    t->self.cpu_base_ns = t->self.cpu();
    t->gpus.counted.kind = GPUS_ALL;
    r = settings_take(t, e);
    if (r == 0 && summary_init(&t->summary, &t->run) < 0)
        r = err_set(e, -ENOMEM, "cannot create a tracker: out of memory");
    if (r < 0) {
        lifetime_close(t);
        free(t);
        return r;
    }
    membership_init(&t->tracked, t->owner_pid);
    *ret = t;
    return 0;
}

int lifetime_finish(struct toll_tracker *t)
{
    if (!t->replay && is_launched(&t->tracked))
        step_reap(t);
    finish(t);
    /* Other threads read the figures meanwhile: disks and servers may take their time. */
    background_unlock(&t->background);
    int r = outputs_summary(&t->outputs);
    outputs_close(&t->outputs, false);
    backup_remove(&t->backup);
    background_lock(&t->background);
    t->finished = true;
    return r;
}

void lifetime_close(struct toll_tracker *t)
{
    outputs_close(&t->outputs, !t->started);
    backup_done(&t->backup);
    marks_done(&t->marks);
    machine_close(&t->machine);
    cgroups_close(&t->cgroups);
    job_cgroup_close(&t->job, &t->tracked);
    network_close(&t->network, &t->tracked);
    gpus_close(&t->gpus);
    threads_done(&t->threads);
    energy_done(&t->energy);
    exits_close(&t->exits);
    process_ends_close(&t->ends);
    membership_done(&t->tracked);
    targets_done(&t->tracked);
    process_reader_done(&t->tracked.reader);
    replay_close(t);
    sysroot_close(&t->tracked.root);
    close_p(&t->tracked.launched.pidfd);
    wakeup_close(&t->wakeup);
    frame_done(&t->frame);
    summary_done(&t->summary);
    events_done(&t->tracked.events);
    run_done(&t->run);
}

int lifetime_check_owner(const struct toll_tracker *t, struct toll_error *e)
{
    if (!t)
        return err_set(e, -EINVAL, "tracker is NULL");
    return t->owner_pid == getpid()
               ? 0
               : err_set(e, -ESRCH,
                         "tracker belongs to the parent process (create a new one after fork)");
}

/* ==== Api ===================================================================================== */

/* A struct that grows must not have padding at its end: a new field would be put there, and the
 * size that an old program gives would include it. */
#define HAS_NO_TAIL_PADDING(type, last)                                                            \
    _Static_assert(sizeof(struct type) ==                                                          \
                       offsetof(struct type, last) + sizeof(((struct type *)0)->last),             \
                   "struct " #type " ends with padding, or " #last " is not its last field")
HAS_NO_TAIL_PADDING(toll_options, pue);
HAS_NO_TAIL_PADDING(toll_output, reserved);
HAS_NO_TAIL_PADDING(toll_sent, run);
HAS_NO_TAIL_PADDING(toll_chart, about);
HAS_NO_TAIL_PADDING(toll_drawing, memory_limit_bytes);
HAS_NO_TAIL_PADDING(toll_launch, exec_errno);
HAS_NO_TAIL_PADDING(toll_target, name);
HAS_NO_TAIL_PADDING(toll_end, elapsed_ns);
HAS_NO_TAIL_PADDING(toll_summary, exit_status);
HAS_NO_TAIL_PADDING(toll_figure, metric);
HAS_NO_TAIL_PADDING(toll_phase, max_ns);
HAS_NO_TAIL_PADDING(toll_gauge, max_at_ns);
HAS_NO_TAIL_PADDING(toll_energy, total_joules);
HAS_NO_TAIL_PADDING(toll_mark, value);
HAS_NO_TAIL_PADDING(toll_export, fd);
HAS_NO_TAIL_PADDING(toll_recommend, columns);
HAS_NO_TAIL_PADDING(toll_report, note_arg);
HAS_NO_TAIL_PADDING(toll_comparison, note_arg);
HAS_NO_TAIL_PADDING(toll_compare, note_arg);

_Static_assert((int)TOLL_QUALITY_UNKNOWN == QUALITY_UNKNOWN &&
                   (int)TOLL_QUALITY_LOWER_BOUND == QUALITY_LOWER_BOUND &&
                   (int)TOLL_QUALITY_SAMPLED == QUALITY_SAMPLED &&
                   (int)TOLL_QUALITY_EXACT_IF_REAPED == QUALITY_EXACT_IF_REAPED &&
                   (int)TOLL_QUALITY_EXACT == QUALITY_EXACT,
               "both enums have the same numbers");

const char *toll_version(void)
{
    return TOLL_VERSION;
}

int toll_version_number(void)
{
    return TOLL_VERSION_NUMBER;
}

const char *toll_quality_word(enum toll_quality quality)
{
    return (unsigned)quality < QUALITIES ? quality_word((enum quality)quality) : NULL;
}

int toll_metric_find(const char *entity, const char *name)
{
    if (!entity || !name)
        return -EINVAL;
    if (strcmp(entity, "target") == 0)
        entity = "process";
    for (int id = 0; id < METRIC_COUNT; id++) {
        const struct toll_metric *m = &metric_of((enum metric_id)id)->facts;
        if (strcmp(m->name, name) == 0 && strcmp(m->entity, entity) == 0)
            return id;
    }
    return -ENOENT;
}

const struct toll_metric *toll_metric_at(size_t i)
{
    return i < METRIC_COUNT ? &metric_of((enum metric_id)i)->facts : NULL;
}

size_t toll_number_text(double number, const char *unit, char *buf, size_t size)
{
    const struct metric *m = NULL; /* one with that unit, a gauge if there is one: it has parts */
    for (unsigned id = 0; unit && id < METRIC_COUNT && (!m || m->kind != METRIC_GAUGE); id++)
        if (strcmp(metric_of((enum metric_id)id)->facts.unit, unit) == 0)
            m = metric_of((enum metric_id)id);
    struct buf text = {0};
    const double most = 1e18; /* whole numbers are shown digit by digit */
    if (m && !isfinite(number)) {
        buf_puts(&text, "unknown");
    } else if (m) {
        buf_puts(&text, number < 0 ? "-" : "");
        if (number < 0)
            number = -number;
        human_number(&text, m, number < most ? number : most);
    }
    size_t length = buf_copy_out(&text, buf, size);
    buf_done(&text);
    return length;
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
        r = err_set(e, -EINVAL, "output is NULL");
    if (r == 0)
        r = sized_take(&o, sizeof o, output, "output", e);
    if (r < 0)
        return r;
    if (t->used)
        return err_set(e, -EINVAL, "cannot add an output: the tracker has already started");
    return outputs_add(t, &o, e);
}

int toll_tracker_count_gpus(struct toll_tracker *t, const char *gpus, struct toll_error *e)
{
    int r = lifetime_check_owner(t, e);
    if (r == 0 && t->used)
        r = err_set(e, -EINVAL, "cannot choose the GPUs to count: the tracker has already started");
    return r < 0 ? r : gpus_count(&t->gpus, gpus ? gpus : "all", e);
}

int toll_tracker_keep_backup(struct toll_tracker *t, const char *path, const char *layout,
                             struct toll_error *e)
{
    int r = lifetime_check_owner(t, e);
    if (r == 0 && t->used)
        r = err_set(e, -EINVAL, "cannot set the backup: the tracker has already started");
    if (r == 0 && (!path || !*path))
        r = err_set(e, -EINVAL, "cannot set the backup: no file given");
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
        return err_set(e, -EINVAL, "cannot add a target: the tracker has already started");
    return targets_add(&t->tracked, &asked, e);
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
        r = err_set(e, -EINVAL, "no recorded run given (expected a directory)");
    return r < 0 ? r : begin_replay(t, directory, e);
}

/* ---- The run --------------------------------------------------------------------------------- */

pid_t toll_tracker_pid(const struct toll_tracker *t)
{
    return !t || t->tracked.reaper.main_reaped ? 0 : t->tracked.launched.pid;
}

bool toll_tracker_contains(struct toll_tracker *t, pid_t pid)
{
    bool may_look = !is_elsewhere(t) && t->started && !t->background.is_on;
    for (unsigned hops = 0; may_look && pid > 1 && hops < 1000; hops++) {
        if (pid == t->tracked.launched.pid)
            return true;
        pid_t parent = process_parent(&t->tracked.reader, pid);
        if (parent == t->tracked.discovery.tracker_pid)
            return !membership_is_stranger(&t->tracked, pid);
        pid = parent;
    }
    return false;
}

int toll_tracker_fd(const struct toll_tracker *t)
{
    /* In the background it is a number of the sampler's own table. */
    return !t || t->background.is_on || t->wakeup.epoll < 0 ? -EINVAL : t->wakeup.epoll;
}

int toll_tracker_step(struct toll_tracker *t)
{
    int r = lifetime_check_owner(t, NULL);
    if (r < 0)
        return r;
    return t->background.is_on ? -EINVAL : step(t);
}

int toll_tracker_start(struct toll_tracker *t, struct toll_error *e)
{
    int r = lifetime_check_owner(t, e);
    return r < 0 ? r : background_start(t, e);
}

int toll_measure_self(struct toll_tracker **ret, const struct toll_options *options,
                      struct toll_error *e)
{
    struct toll_tracker *t = NULL;
    int r = toll_tracker_new(ret ? &t : NULL, options, e);
    if (r == 0)
        r = toll_tracker_add_target(t, NULL, e);
    if (r == 0)
        r = toll_tracker_start(t, e);
    if (r == 0)
        *ret = t;
    else
        toll_tracker_free(t);
    return r;
}

int toll_tracker_wait(struct toll_tracker *t, int timeout_ms)
{
    int r = lifetime_check_owner(t, NULL);
    if (r < 0)
        return r;
    struct background *b = &t->background;
    if (!b->is_on)
        return -EINVAL;
    uint64_t until_ns = wait_until(timeout_ms);
    pthread_mutex_lock(&b->lock);
    while (!b->ended && !b->finished && wait_for(&b->changed, &b->lock, until_ns))
        ;
    bool ended = b->ended;
    pthread_mutex_unlock(&b->lock);
    return ended ? TOLL_ENDED : TOLL_RUNNING;
}

/* ---- The end --------------------------------------------------------------------------------- */

int toll_tracker_finish(struct toll_tracker *t, struct toll_end *ret_end)
{
    int r = lifetime_check_owner(t, NULL);
    if (r < 0)
        return r;
    if (background_is_callback_thread(&t->background))
        return -EDEADLK; /* it would wait for itself */
    if (!t->started || t->finished || (ret_end && sized_check(ret_end, "end", NULL) < 0))
        return -EINVAL;
    r = t->background.is_on ? background_finish(t) : lifetime_finish(t);
    if (ret_end) {
        struct toll_end end = t->summary.whole.end;
        end.elapsed_ns = t->summary.elapsed_ns;
        sized_give(ret_end, &end, sizeof end);
    }
    return r;
}

int toll_run_command(char *const argv[], const struct toll_options *options,
                     struct toll_summary *ret, struct toll_error *e)
{
    if (!argv || !argv[0])
        return err_set(e, -EINVAL, "no command given");
    int r = ret ? sized_check(ret, "summary", e) : err_set_no_place(e);
    if (r < 0)
        return r;
    struct toll_tracker *t = NULL;
    r = toll_tracker_new(&t, options, e);
    if (r == 0)
        r = toll_tracker_launch(t, argv, NULL, e);
    if (r == 0) {
        struct pollfd fd = {.fd = toll_tracker_fd(t), .events = POLLIN};
        while ((r = toll_tracker_step(t)) == TOLL_RUNNING)
            poll(&fd, 1, 1000); /* a wake-up that is lost costs a second at most */
        if (r == 0)
            r = toll_tracker_finish(t, NULL);
        if (r == 0)
            r = toll_tracker_summary(t, ret);
        if (r < 0)
            err_set(e, r, "cannot measure '%s': %s", argv[0], strerror(-r));
    }
    toll_tracker_free(t);
    return r;
}

void toll_tracker_hurry(struct toll_tracker *t)
{
    if (t)
        atomic_store(&t->outputs.is_hurried, true);
}

void toll_tracker_free(struct toll_tracker *t)
{
    if (is_elsewhere(t) || background_is_callback_thread(&t->background))
        return; /* what a fork has of it goes with the fork; a callback's tracker is in use */
    if (t->background.is_on)
        background_end(t);
    else
        lifetime_close(t);
    free(t);
}
