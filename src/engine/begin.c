/* SPDX-License-Identifier: MIT */
#include "engine/begin.h"

#include "base/err.h"
#include "base/file.h"
#include "base/sized.h"
#include "engine/attach.h"
#include "engine/exits.h"
#include "engine/gpus.h"
#include "engine/machine.h"
#include "engine/mark_intake.h"
#include "engine/membership.h"
#include "engine/network.h"
#include "engine/outputs.h"
#include "engine/own_threads.h"
#include "engine/reap.h"
#include "engine/replay.h"
#include "engine/surroundings.h"
#include "engine/targets.h"
#include "engine/wakeup.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* Whose the main process is, for outputs that describe it. */
static void begin_describe_main(struct toll_tracker *t)
{
    char pid[16];
    struct stat st;
    if (!t->root.live || t->root.pids < 0 || t->run.pid <= 0)
        return;
    snprintf(pid, sizeof pid, "%d", (int)t->run.pid);
    t->run.has_uid = fstatat(t->root.pids, pid, &st, 0) == 0;
    t->run.uid = t->run.has_uid ? st.st_uid : 0;
}

/* A dialect may be for a target alone, or for the machine. */
static int check_outputs(const struct toll_tracker *t, bool has_target, struct toll_error *e)
{
    int r = 0;
    for (size_t i = 0; r == 0 && i < t->sink_count; i++)
        r = sink_check_subject(t->sinks[i], has_target, e);
    return r;
}

/* All that can fail is done before the command starts. */
static int prepare(struct toll_tracker *t, char *const argv[], struct toll_error *e)
{
    if (t->used)
        return err_set(e, -EINVAL, "the tracker was used before");
    t->used = true;
    int r = check_outputs(t, argv || t->target_count, e);
    if (r == 0)
        r = sysroot_open_proc(&t->root, e);
    if (r == 0 && t->target_count && sysroot_why_no_pids(&t->root))
        r = err_set(e, -ENOENT,
                    "processes cannot be looked up: %s (mount it with: mount -t proc proc /proc)",
                    sysroot_why_no_pids(&t->root));
    if (r < 0)
        return r;
    r = process_reader_init(&t->reader, &t->root, selection_wanted(&t->selection));
    if (r == 0 && argv && argv[0])
        r = run_set_command(&t->run, argv);
    if (r == 0 && !t->is_probe) /* the machine alone does not end, and a thread has to be woken */
        r = wakeup_open(t, !argv && !t->target_count && !t->background.is_on);
    if (r < 0)
        return err_set(e, r, "cannot prepare to measure: %s", strerror(-r));
    return gpus_check(t, e);
}

/* What all ways to begin have in common: the targets are known. */
static void begin_common(struct toll_tracker *t)
{
    machine_open(t);
    surroundings_open(t);
    network_open(t);
    gpus_open(t);
    t->started = true;
    outputs_begin(t);
    backup_write(t);
    own_threads_leave_out(t);
}

/* … and those that are not a replay. */
static void begin_live(struct toll_tracker *t)
{
    schedule_begin(&t->schedule, t->start_ns, t->options.interval_ns,
                   t->options.budget_percent / 100);
    wakeup_arm(t);
    t->cpu_ns = left_u64(t->own_cpu(), t->cpu_base_ns);
    begin_common(t);
}

static void watch_child(void *arg, pid_t child)
{
    exits_open(arg, child);
}

/* The command is told where its marks go, and what its outputs have to tell it. */
static int launch_informed(struct toll_tracker *t, char *const argv[], struct environment *more,
                           struct toll_launch *asked, struct toll_error *e)
{
    mark_intake_listen(t);
    if (t->marks.socket.fd >= 0)
        mark_socket_tell(&t->marks.socket, more);
    char **environment = more->count ? environment_make(more) : NULL;
    gpus_hide_files(t);
    bool watch = t->options.watch_exits && !t->run.no_children;
    const struct launch_hook hook = {watch ? watch_child : NULL, t};
    int r = launch(&t->launched, argv, environment, asked, &hook, e);
    free(environment);
    if (r < 0)
        mark_socket_close(&t->marks.socket);
    return r;
}

int begin_launch(struct toll_tracker *t, char *const argv[], struct toll_launch *request,
                 struct toll_error *e)
{
    struct toll_launch asked;
    int r = sized_take(&asked, sizeof asked, request, "launch", e);
    if (r < 0)
        return r;
    if (t->target_count)
        return err_set(e, -EINVAL, "a tracker with targets is attached, not launched");
    r = prepare(t, argv, e);
    if (r < 0)
        return r;
    struct environment more = {0};
    outputs_environment(t, &more); /* which may take a moment, and helpers: neither is the job's */
    surroundings_prepare(t);
    membership_note_strangers(t);
    reap_begin(t);
    t->start_ns = clock_mono(NULL);
    t->run.start_real_ns = clock_real(NULL);
    r = targets_set_launched(t) < 0 ? err_set(e, -ENOMEM, "no memory to measure")
                                    : launch_informed(t, argv, &more, &asked, e);
    environment_done(&more);
    if (request && request->size >= offsetof(struct toll_launch, exec_errno) + sizeof(int))
        request->exec_errno = asked.exec_errno;
    if (r < 0)
        return r;
    t->run.pid = t->launched.pid;
    begin_describe_main(t);
    pid_t group = getpgid(t->launched.pid);
    t->run.group = group > 0 ? group : 0;
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
    exits_begin(t);
    if (sysroot_why_no_pids(&t->root))
        outputs_note(
            t,
            "%s: no process can be looked at, only what wait4 reports at the end is known, "
            "and children that are discarded without a wait go unnoticed (mount it with: "
            "mount -t proc proc /proc)",
            sysroot_why_no_pids(&t->root));
    return 0;
}

/* The program measures itself: what the tracker uses is told apart by its thread. */
static int begin_with_own(struct toll_tracker *t, struct toll_error *e)
{
    bool has_self = false;
    t->discovery.with_tracker = (t->background.is_on && !t->options.without_self) || t->is_probe;
    if (t->background.is_on)
        own_thread_begin(&t->reader.own, 1 + t->background.has_teller);
    for (size_t i = 0; i < t->target_count; i++)
        has_self |= t->targets[i].kind == TOLL_TARGET_PROCESS && t->targets[i].id == t->owner_pid;
    if (has_self && !t->discovery.with_tracker)
        return err_set(e, -EINVAL,
                       "process %d is toll itself, which is not measured as a target; a program "
                       "measures itself in the background, with toll_tracker_start",
                       (int)t->owner_pid);
    return 0;
}

int begin_attach(struct toll_tracker *t, struct toll_error *e)
{
    if (!t->target_count && !t->run.system)
        return err_set(e, -EINVAL, "there is nothing to attach to: no target, and not the machine");
    if (t->options.watch_exits)
        return err_set(e, -EINVAL, "watch_exits is for a command that is launched");
    if (t->options.timeout_ns)
        return err_set(e, -EINVAL,
                       "a timeout is for a command that is launched: what runs already "
                       "is never ended");
    int r = prepare(t, NULL, e);
    if (r == 0)
        r = begin_with_own(t, e);
    if (r < 0)
        return r;
    sysroot_open_rest(&t->root);
    process_reader_keep_files(&t->reader);
    t->start_ns = clock_mono(NULL);
    t->run.start_real_ns = clock_real(NULL);
    r = attach(t, e);
    if (r < 0)
        return r;
    begin_describe_main(t);
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
    t->run.own_pid = 0; /* unless the script tells them */
    t->run.online_cpus = 0;
    t->run.job = (struct batch_job){0};
    t->run.rank[0] = '\0';
    int r = replay_open(t, directory, e);
    if (r == 0) /* the same at each replay */
        uuid_make(t->run.id, t->run.start_real_ns, (const uint8_t[UUID_RANDOM_BYTES]){0});
    if (r == 0)
        r = check_outputs(t, t->whole, e);
    if (r == 0)
        begin_common(t);
    return r;
}
