/* SPDX-License-Identifier: MIT */
#include "engine/step.h"

#include "engine/exits.h"
#include "engine/gpus.h"
#include "engine/mark_intake.h"
#include "engine/own_threads.h"
#include "engine/reap.h"
#include "engine/replay.h"
#include "engine/targets.h"
#include "engine/tick.h"
#include "engine/timeout.h"
#include "engine/wakeup.h"
#include "engine/walk.h"

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

int step(struct toll_tracker *t)
{
    if (!t->started || t->finished)
        return -EINVAL;
    if (t->replay)
        return step_replay(t);
    exits_read(t, false); /* before a parent is reaped that could prove a loss */
    if (is_launched(t))
        reap(t);
    else
        reap_helpers(t);
    if (t->reaper.main_reaped)
        close_p(&t->launched.pidfd); /* it would stay readable */
    if (has_ended(t))
        return 0;
    timeout_step(t);
    mark_intake_step(t);
    uint64_t now_ns = clock_mono(NULL);
    if (now_ns < t->schedule.deadline_ns) {
        bool is_look_due = t->whole && now_ns >= t->schedule.look_ns;
        if (is_look_due)
            walk_between(t, now_ns);
        wakeup_arm(t);
        return is_look_due ? !has_ended(t) : 1;
    }
    t->lateness_ns = now_ns - t->schedule.deadline_ns;
    tick(t, false);
    uint64_t cpu_ns = row_u64(&t->self_row, self_cpu_seconds);
    /* Drivers and servers do not make samples more expensive. */
    uint64_t beside_ns = own_threads_cpu_ns(t) + gpus_helper_cpu_ns(t);
    uint64_t apart_ns = t->slow.tick_cpu_ns + t->discovery.apart_ns + t->reader.threads_cpu_ns;
    uint64_t cost_ns = left_u64(cpu_ns, t->cpu_ns + apart_ns + beside_ns - t->beside_cpu_ns);
    t->discovery.apart_ns = t->reader.threads_cpu_ns = 0;
    t->cpu_ns = cpu_ns;
    t->beside_cpu_ns = beside_ns;
    uint64_t ended_ns = clock_mono(NULL);
    schedule_advance(&t->schedule, ended_ns, cost_ns);
    if (t->whole)
        schedule_looked(&t->schedule, ended_ns, 0);
    gpus_ask(t, t->schedule.deadline_ns);
    wakeup_arm(t);
    return !has_ended(t); /* the walk may have seen the last of them leave */
}
