/* SPDX-License-Identifier: MIT */
#include "engine/lifetime.h"

#include "base/err.h"
#include "engine/exits.h"
#include "engine/finish.h"
#include "engine/gpus.h"
#include "engine/machine.h"
#include "engine/mark_intake.h"
#include "engine/membership.h"
#include "engine/network.h"
#include "engine/outputs.h"
#include "engine/reap.h"
#include "engine/replay.h"
#include "engine/settings.h"
#include "engine/surroundings.h"
#include "engine/targets.h"
#include "engine/wakeup.h"

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
    surroundings_close(t);
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
