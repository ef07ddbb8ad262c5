/* SPDX-License-Identifier: MIT
 * The public calls of toll.h. */
#include "base/err.h"
#include "engine/begin.h"
#include "engine/finish.h"
#include "engine/machine.h"
#include "engine/membership.h"
#include "engine/network.h"
#include "engine/outputs.h"
#include "engine/reap.h"
#include "engine/replay.h"
#include "engine/settings.h"
#include "engine/surroundings.h"
#include "engine/targets.h"
#include "engine/tick.h"
#include "engine/timeout.h"
#include "engine/wakeup.h"

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

/* ---- A tracker ------------------------------------------------------------------------------- */

int toll_tracker_new(struct toll_tracker **ret, const struct toll_options *options,
                     struct toll_error *e)
{
    struct toll_options o;
    int r = settings_check(&o, options, e);
    if (r < 0)
        return r;
    struct toll_tracker *t = calloc(1, sizeof *t);
    if (!t)
        return err_set(e, -ENOMEM, "no memory for a tracker");
    t->options = o;
    t->cpu_base_ns = clock_own_cpu();
    t->timer = t->epoll = t->launched.pidfd = -1;
    t->root = SYSROOT_NONE;
    t->discovery.loadavg = -1;
    r = settings_take(t, e);
    if (r == 0 && summary_init(&t->summary, &t->run) < 0)
        r = err_set(e, -ENOMEM, "no memory for a tracker");
    if (r < 0) {
        toll_tracker_free(t);
        return r;
    }
    membership_init(t, getpid());
    t->self_entity = (struct entity){.kind = ENTITY_SELF};
    *ret = t;
    return 0;
}

void toll_tracker_free(struct toll_tracker *t)
{
    if (!t)
        return;
    outputs_close(t, !t->started);
    machine_close(t);
    surroundings_close(t);
    network_close(t);
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
    free(t);
}

int toll_tracker_add_output(struct toll_tracker *t, const struct toll_output *output,
                            struct toll_error *e)
{
    struct toll_output o = {0};
    if (!output || output->size < sizeof output->size)
        return err_set(e, -EINVAL, "the output has no size: it is sizeof (struct toll_output)");
    memcpy(&o, output, min_u64(output->size, sizeof o));
    if (t->started)
        return err_set(e, -EINVAL, "outputs are added before the start");
    for (size_t i = 0; o.destination && i < t->sink_count; i++)
        if (sink_writes_to(t->sinks[i], o.destination))
            return err_set(e, -EINVAL, "'%s' is given twice", o.destination);
    struct sink **sinks = realloc(t->sinks, (t->sink_count + 1) * sizeof *sinks);
    if (!sinks)
        return err_set(e, -ENOMEM, "no memory for an output");
    t->sinks = sinks;
    struct sink *s;
    int r = sink_open(&s, &o, &t->selection, e);
    if (r < 0)
        return r;
    t->sinks[t->sink_count++] = s;
    return 0;
}

int toll_tracker_add_target(struct toll_tracker *t, const struct toll_target *target,
                            struct toll_error *e)
{
    struct toll_target asked = {0};
    if (!target || target->size < sizeof target->size)
        return err_set(e, -EINVAL, "the target has no size: it is sizeof (struct toll_target)");
    memcpy(&asked, target, min_u64(target->size, sizeof asked));
    if (t->used)
        return err_set(e, -EINVAL, "targets are added before the start");
    return targets_add(t, &asked, e);
}

/* ---- The start ------------------------------------------------------------------------------- */

int toll_tracker_launch(struct toll_tracker *t, char *const argv[], struct toll_launch *request,
                        struct toll_error *e)
{
    return begin_launch(t, argv, request, e);
}

int toll_tracker_attach(struct toll_tracker *t, struct toll_error *e)
{
    return begin_attach(t, e);
}

int toll_tracker_replay(struct toll_tracker *t, const char *directory, struct toll_error *e)
{
    return begin_replay(t, directory, e);
}

/* ---- The run --------------------------------------------------------------------------------- */

pid_t toll_tracker_pid(const struct toll_tracker *t)
{
    return t->reaper.main_reaped ? 0 : t->launched.pid;
}

bool toll_tracker_contains(struct toll_tracker *t, pid_t pid)
{
    for (unsigned hops = 0; t->started && pid > 1 && hops < 1000; hops++) {
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
    return t->epoll;
}

static bool has_ended(struct toll_tracker *t)
{
    if (!is_launched(t))
        return targets_have_ended(t);
    if (timeout_goes_on(t))
        return false;
    return t->options.wait == TOLL_WAIT_ALL ? t->reaper.no_children_left : t->reaper.main_reaped;
}

static int step_replay(struct toll_tracker *t)
{
    int r = replay_step(t);
    if (r > 0)
        tick(t, false);
    return r;
}

int toll_tracker_step(struct toll_tracker *t)
{
    if (!t->started || t->finished)
        return -EINVAL;
    if (t->replay)
        return step_replay(t);
    if (is_launched(t))
        reap(t);
    else
        reap_helpers(t);
    if (t->reaper.main_reaped)
        close_p(&t->launched.pidfd); /* it would stay readable */
    if (has_ended(t))
        return 0;
    timeout_step(t);
    uint64_t now_ns = clock_mono(NULL);
    if (now_ns < t->schedule.deadline_ns) {
        wakeup_arm(t);
        return 1;
    }
    t->lateness_ns = now_ns - t->schedule.deadline_ns;
    tick(t, false);
    uint64_t cpu_ns = row_u64(&t->self_row, self_cpu_seconds);
    uint64_t cost_ns = left_u64(cpu_ns, t->cpu_ns + t->slow.tick_cpu_ns);
    t->cpu_ns = cpu_ns;
    schedule_advance(&t->schedule, clock_mono(NULL), cost_ns);
    wakeup_arm(t);
    return !has_ended(t); /* the walk may have seen the last of them leave */
}

int toll_tracker_finish(struct toll_tracker *t, struct toll_end *ret_end)
{
    if (!t->started || t->finished)
        return -EINVAL;
    if (!t->replay && is_launched(t))
        reap(t);
    int r = finish(t);
    t->finished = true;
    if (ret_end)
        *ret_end = t->summary.whole.end;
    outputs_close(t, false);
    return r;
}
