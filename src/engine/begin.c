/* SPDX-License-Identifier: MIT */
#include "engine/begin.h"

#include "base/err.h"
#include "base/file.h"
#include "engine/attach.h"
#include "engine/machine.h"
#include "engine/membership.h"
#include "engine/network.h"
#include "engine/outputs.h"
#include "engine/reap.h"
#include "engine/replay.h"
#include "engine/surroundings.h"
#include "engine/targets.h"
#include "engine/wakeup.h"

#include <string.h>

/* All that can fail is done before the command starts. */
static int prepare(struct toll_tracker *t, char *const argv[], struct toll_error *e)
{
    if (t->used)
        return err_set(e, -EINVAL, "the tracker was used before");
    t->used = true;
    int r = sysroot_open_proc(&t->root, e);
    if (r < 0)
        return r;
    r = process_reader_init(&t->reader, &t->root, selection_wanted(&t->selection));
    if (r == 0 && argv && argv[0])
        r = run_set_command(&t->run, argv);
    if (r == 0)
        r = wakeup_open(t, !argv && !t->target_count); /* the machine alone does not end */
    if (r < 0)
        return err_set(e, r, "cannot prepare to measure: %s", strerror(-r));
    return 0;
}

/* What all ways to begin have in common: the targets are known. */
static void begin_common(struct toll_tracker *t)
{
    machine_open(t);
    surroundings_open(t);
    network_open(t);
    t->started = true;
    outputs_begin(t);
}

/* … and those that are not a replay. */
static void begin_live(struct toll_tracker *t)
{
    schedule_begin(&t->schedule, t->start_ns, t->options.interval_ns,
                   t->options.budget_percent / 100);
    wakeup_arm(t);
    t->cpu_ns = left_u64(clock_own_cpu(), t->cpu_base_ns);
    begin_common(t);
}

int begin_launch(struct toll_tracker *t, char *const argv[], struct toll_launch *request,
                 struct toll_error *e)
{
    struct toll_launch asked = {0};
    if (request)
        memcpy(&asked, request, min_u64(request->size, sizeof asked));
    if (t->target_count)
        return err_set(e, -EINVAL, "a tracker with targets is attached, not launched");
    int r = prepare(t, argv, e);
    if (r < 0)
        return r;
    surroundings_prepare(t);
    membership_note_strangers(t);
    reap_begin(t);
    t->start_ns = clock_mono(NULL);
    t->run.start_real_ns = clock_real(NULL);
    if (targets_set_launched(t) < 0)
        return err_set(e, -ENOMEM, "no memory to measure");
    r = launch(&t->launched, argv, &asked, e);
    if (request && request->size >= offsetof(struct toll_launch, exec_errno) + sizeof(int))
        request->exec_errno = asked.exec_errno;
    if (r < 0)
        return r;
    t->run.pid = t->launched.pid;
    file_raise_limit(); /* the command itself has its old limit already */
    sysroot_open_rest(&t->root);
    process_reader_keep_files(&t->reader);
    t->reader.no_children = !process_lists_children(&t->reader, t->launched.pid);
    if (t->launched.pidfd >= 0)
        wakeup_watch(t, t->launched.pidfd);
    targets_add_roots(t);
    if (!t->members.count)
        return err_set(e, -ENOMEM, "cannot begin to measure: no memory");
    begin_live(t);
    return 0;
}

int begin_attach(struct toll_tracker *t, struct toll_error *e)
{
    if (!t->target_count && !t->run.system)
        return err_set(e, -EINVAL, "there is nothing to attach to: no target, and not the machine");
    if (t->options.timeout_ns)
        return err_set(e, -EINVAL,
                       "a timeout is for a command that is launched: what runs already "
                       "is never ended");
    int r = prepare(t, NULL, e);
    if (r < 0)
        return r;
    sysroot_open_rest(&t->root);
    process_reader_keep_files(&t->reader);
    t->start_ns = clock_mono(NULL);
    t->run.start_real_ns = clock_real(NULL);
    r = attach(t, e);
    if (r < 0)
        return r;
    begin_live(t);
    targets_watch(t); /* it may find that somebody has ended, which the outputs are told */
    return 0;
}

int begin_replay(struct toll_tracker *t, const char *directory, struct toll_error *e)
{
    if (t->used)
        return err_set(e, -EINVAL, "the tracker was used before");
    t->used = true;
    t->reaper.peak_is_exact = true;
    t->discovery.tracker_pid = 0;
    if (process_reader_init(&t->reader, &t->root, selection_wanted(&t->selection)) < 0)
        return err_set(e, -ENOMEM, "no memory for a replay");
    int r = replay_open(t, directory, e);
    if (r == 0)
        begin_common(t);
    return r;
}
