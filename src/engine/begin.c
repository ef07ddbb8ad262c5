/* SPDX-License-Identifier: MIT */
#include "engine/step.h"

#include "base/err.h"
#include "base/io/file.h"
#include "engine/marks/marks.h"
#include "engine/outputs.h"
#include "engine/settings.h"
#include "engine/target/cgroups.h"
#include "engine/target/gpus.h"
#include "engine/target/network.h"
#include "engine/target/reap.h"
#include "engine/target/targets.h"
#include "engine/target/walk.h"
#include "engine/tick.h"
#include "engine/tracker.h"
#include "source/cgroup/cgroup.h"
#include "source/machine/machine.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* ==== Attach ================================================================================== */

/* Now, in the unit of the kernel's start times of processes. In a container
 * /proc/uptime may be the container's, which the starts of processes are not. */
static uint64_t ticks_since_boot(struct tracked *t)
{
    uint64_t live_ns = t->root.live ? clock_since_boot() : 0;
    if (live_ns)
        return live_ns / t->reader.ns_per_tick;
    char text[128];
    uint64_t uptime_ns;
    ssize_t n = file_read_at(t->root.proc, "uptime", text, sizeof text);
    if (n <= 0 || parse_uptime(scan_text(text, (size_t)n), &uptime_ns) < 0)
        return UINT64_MAX; /* nothing counts from its birth: a lower bound */
    return uptime_ns / t->reader.ns_per_tick;
}

static int open_cgroups(struct tracked *t, struct toll_error *e)
{
    for (size_t i = 0; i < t->target_count; i++) {
        struct target *g = &t->targets[i];
        int r = g->kind == TOLL_TARGET_CGROUP && !g->is_union
                    ? cgroup_open_path(&g->cgroup, &t->root, g->text, e)
                    : 0;
        if (r < 0)
            return r;
    }
    return 0;
}

/* One cgroup within another: who is in the inner one is in both, also those that nobody sees. */
static bool cgroups_overlap(const struct tracked *t)
{
    for (size_t i = 0; i < t->target_count; i++)
        for (size_t k = 0; k < t->target_count; k++)
            if (i != k && t->targets[i].cgroup && t->targets[k].cgroup &&
                cgroup_contains(t->targets[i].cgroup, t->targets[k].cgroup))
                return true;
    return false;
}

static int attach_describe(struct tracked *t, struct run *run)
{
    for (size_t i = 0; i < t->target_count; i++) {
        struct buf what = {0};
        asked_describe(t, &t->targets[i], &what);
        int r = buf_failed(&what) ? -ENOMEM : run_add_target(run, t->targets[i].name, what.data);
        buf_done(&what);
        if (r < 0)
            return r;
        const struct target *g = &t->targets[i];
        const struct member *m = target_has_main(g) ? members_find(&t->members, g->id) : NULL;
        run->targets[i].group = g->kind == TOLL_TARGET_GROUP ? g->id : m ? m->process.group : 0;
        run->targets[i].pid = target_has_main(g) ? g->id : 0;
    }
    return 0;
}

/* A child may be reaped after its parent was read and before its own turn: all it ever used would
 * count as the parent's, from now on. Read again after everything else, the parent has it. A child
 * that was read and then reaped is subtracted twice: rather too little than too much. */
static void read_baseline_again(struct tracked *t)
{
    for (size_t i = 0; i < t->members.count; i++) {
        struct member *m = t->members.order[i];
        struct process before = m->process;
        if (m->gone || !m->was_seen)
            continue;
        m->process.baseline = (struct tick_times){0};
        if (process_visit(&t->reader, source_of(m), &m->process, DEPTH_CHANGE) < 0) {
            m->process = before;
            continue;
        }
        membership_set_baseline(t, &m->process);
        m->base_unknown = ledger_unknown_base(&t->whole->ledger, &m->process);
        for (size_t k = 0; k < book_count(t); k++)
            if (m->targets & t->targets[k].bit)
                ledger_rebase(&t->targets[k].ledger, m, &before);
    }
    t->discovery.first_booking = t->discovery.bookings + 1;
}

int attach(struct toll_tracker *t, struct toll_error *e)
{
    int r = open_cgroups(&t->tracked, e);
    if (r < 0)
        return r;
    t->tracked.discovery.overlap = cgroups_overlap(&t->tracked);
    r = targets_open_books(&t->tracked, &t->summary);
    if (r < 0)
        return err_set(e, r, "cannot open the targets: out of memory");
    if (!t->replay)
        t->tracked.reader.no_children = !process_lists_children(&t->tracked.reader, getpid());
    t->tracked.discovery.start_ticks = ticks_since_boot(&t->tracked);
    t->tracked.discovery.attaching = true;
    targets_add_roots(&t->tracked);
    if (t->tracked.whole)
        walk(&t->tracked, t->tracked.start_ns);
    if (t->tracked.whole && !t->options.since_start && t->tracked.root.live)
        read_baseline_again(&t->tracked);
    t->tracked.discovery.attaching = false;
    r = targets_check(&t->tracked, e);
    if (r == 0 && attach_describe(&t->tracked, &t->run) < 0)
        r = err_set(e, -ENOMEM, "cannot open the targets: out of memory");
    if (t->tracked.target_count == 1 && target_has_main(t->tracked.whole))
        t->run.pid = t->tracked.whole->id;
    if (t->run.target_count == 1)
        t->run.group = t->run.targets[0].group;
    return r;
}

/* ==== Begin =================================================================================== */

/* Whose the main process is, for outputs that describe it. */
static void begin_describe_main(const struct tracked *t, struct run *run)
{
    char pid[16];
    struct stat st;
    if (!t->root.live || t->root.pids < 0 || run->pid <= 0)
        return;
    snprintf(pid, sizeof pid, "%d", (int)run->pid);
    run->has_uid = fstatat(t->root.pids, pid, &st, 0) == 0;
    run->uid = run->has_uid ? st.st_uid : 0;
}

/* A layout may be for a target alone, or for the machine. */
static int check_outputs(const struct outputs *o, bool has_target, struct toll_error *e)
{
    int r = 0;
    for (size_t i = 0; r == 0 && i < o->count; i++)
        r = sink_check_subject(o->sinks[i], has_target, e);
    return r;
}

/* A refused start leaves the tracker as it was, to be corrected and tried again. */
static void begin_undo(struct toll_tracker *t)
{
    exits_close(&t->exits);
    process_ends_abandon(&t->ends, &t->tracked, 0);
    cgroups_close(&t->cgroups);
    network_abandon(&t->tracked);
    job_cgroup_close(&t->job, &t->tracked);
    gpus_stop(&t->gpus);
    membership_done(&t->tracked);
    membership_init(&t->tracked, t->owner_pid);
    targets_reset(&t->tracked, &t->summary);
    process_reader_done(&t->tracked.reader);
    sysroot_close(&t->tracked.root);
    t->tracked.root = SYSROOT_NONE;
    wakeup_close(&t->wakeup);
    run_forget(&t->run, t->options.name);
    events_clear(&t->tracked.events);
    t->used = false;
}

/* All that can fail is done before the command starts. */
static int begin_prepare(struct toll_tracker *t, char *const argv[], struct toll_error *e)
{
    t->used = true;
    int r = check_outputs(&t->outputs, argv || t->tracked.target_count, e);
    if (r == 0)
        r = sysroot_open_proc(&t->tracked.root, e);
    if (r == 0 && t->tracked.target_count && sysroot_why_no_pids(&t->tracked.root))
        r = err_set(e, -ENOENT, "cannot find processes: %s (try: mount -t proc proc /proc)",
                    sysroot_why_no_pids(&t->tracked.root));
    if (r < 0)
        return r;
    r = process_reader_init(&t->tracked.reader, &t->tracked.root, selection_wanted(&t->selection));
    t->tracked.reader.commands = t->run.no_args || t->tracked.is_probe ? COMMANDS_NOT_READ
                                 : t->run.shows_secrets                ? COMMANDS_AS_THEY_ARE
                                                                       : COMMANDS_MASKED;
    if (r == 0 && argv && argv[0])
        r = run_set_command(&t->run, argv);
    if (r == 0 &&
        !t->tracked.is_probe) /* the machine alone does not end, and a thread has to be woken */
        r = wakeup_open(&t->wakeup, !argv && !t->tracked.target_count && !t->background.is_on);
    if (r < 0)
        return err_set(e, r, "cannot start measuring: %s", strerror(-r));
    return gpus_check(&t->gpus, &t->tracked, e);
}

/* What all ways to begin have in common: the targets are known. */
static void begin_common(struct toll_tracker *t)
{
    machine_open(t);
    cgroups_open(&t->cgroups);
    network_open(&t->network, &t->tracked);
    threads_begin(&t->threads, &t->tracked);
    if (!t->replay)
        gpus_open(&t->gpus, &t->tracked, &t->run);
    t->started = true;
    outputs_begin(&t->outputs, &t->run);
    backup_write(t);
    own_threads_leave_out(t);
}

/* What all ways to begin but a replay have in common. */
static void begin_live(struct toll_tracker *t)
{
    schedule_begin(&t->schedule, t->tracked.start_ns, t->options.interval_ns,
                   t->tracked.budget * BUDGET_SAMPLES);
    step_arm(t);
    t->self.cpu_ns = left_u64(t->self.cpu(), t->self.cpu_base_ns);
    begin_common(t);
}

/* Before the child executes the command. */
static int prepare_child(void *arg, pid_t child, bool born_inside, struct toll_error *e)
{
    struct toll_tracker *t = arg;
    int r = own_cgroup_join(&t->job.own, child, born_inside);
    if (r < 0 && t->job.is_optional) {
        own_cgroup_leave(&t->job.own, child); /* some may have taken it */
        network_abandon(&t->tracked);
        process_ends_abandon(&t->ends, &t->tracked, -ENODEV);
        job_cgroup_close(&t->job, &t->tracked);
    } else if (r < 0)
        return err_set(e, r, "cannot move the command to its own cgroup: %s", strerror(-r));
    if (t->options.watch_exits && !t->options.no_children)
        exits_open(&t->exits, child);
    return 0;
}

/* Environment of the command: where its marks go, and what its outputs add. */
static int launch_informed(struct toll_tracker *t, char *const argv[], struct environment *more,
                           struct toll_launch *asked, struct toll_error *e)
{
    marks_listen(&t->marks, &t->wakeup);
    if (t->marks.socket.fd >= 0)
        mark_socket_export(&t->marks.socket, more);
    char **environment = more->count ? environment_make(more) : NULL;
    gpus_hide_files(&t->gpus);
    network_prepare(&t->tracked, t->job.own.dir);
    bool watch = t->options.watch_exits && !t->options.no_children;
    const struct launch_hook hook = {
        .cgroup = t->job.own.dir,
        .call = prepare_child,
        .arg = t,
        .is_needed = watch || own_cgroup_needs_join(&t->job.own),
    };
    int r = launch(&t->tracked.launched, argv, environment, asked, &hook, e);
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
    if (t->tracked.target_count)
        return err_set(e, -EINVAL,
                       "cannot launch a command: the tracker has targets (attach it instead)");
    if (t->used)
        return err_set(e, -EINVAL, "tracker was already started (create a new one)");
    r = begin_prepare(t, argv, e);
    if (r < 0) {
        begin_undo(t);
        return r;
    }
    struct environment more = {0};
    outputs_environment(&t->outputs, &t->run,
                        &more); /* which may take a moment, and helpers: neither is the job's */
    r = job_cgroup_open(&t->job, &t->tracked, e);
    if (r < 0) {
        environment_done(&more);
        begin_undo(t);
        return r;
    }
    process_ends_open(&t->ends, &t->tracked, &t->job);
    cgroups_prepare(&t->cgroups, &t->job.own);
    membership_note_strangers(&t->tracked);
    reap_begin(&t->tracked);
    t->tracked.start_ns = clock_mono(NULL);
    t->run.start_real_ns = clock_real(NULL);
    r = targets_set_launched(&t->tracked, &t->summary) < 0
            ? err_set(e, -ENOMEM, "cannot start measuring: out of memory")
            : launch_informed(t, argv, &more, &asked, e);
    environment_done(&more);
    if (request && request->size >= offsetof(struct toll_launch, exec_errno) + sizeof(int))
        request->exec_errno = asked.exec_errno;
    if (r < 0) {
        begin_undo(t);
        t->tracked.target_count = 0; /* the command that was refused */
        return r;
    }
    t->run.pid = t->tracked.launched.pid;
    begin_describe_main(&t->tracked, &t->run);
    pid_t group = getpgid(t->tracked.launched.pid);
    t->run.group = group > 0 ? group : 0;
    file_raise_limit(); /* the command itself has its old limit already */
    sysroot_open_rest(&t->tracked.root);
    process_reader_keep_files(&t->tracked.reader);
    t->tracked.reader.no_children = !process_lists_children(&t->tracked.reader,
                                                            t->tracked.launched.pid);
    if (t->tracked.launched.pidfd >= 0)
        wakeup_watch(&t->wakeup, t->tracked.launched.pidfd);
    targets_add_roots(&t->tracked);
    if (!t->tracked.members.count)
        return err_set(e, -ENOMEM, "cannot start measuring: out of memory");
    begin_live(t);
    exits_begin(&t->exits, &t->tracked, &t->wakeup);
    process_ends_begin(&t->ends, &t->tracked, &t->wakeup);
    if (sysroot_why_no_pids(&t->tracked.root))
        tracked_note(
            &t->tracked,
            "%s: cannot sample processes; only the totals from wait4 at the end are known, "
            "without children that are not waited for (try: mount -t proc proc /proc)",
            sysroot_why_no_pids(&t->tracked.root));
    outputs_send_events(&t->outputs, &t->tracked.events);
    return 0;
}

/* The program measures itself: what the tracker uses is known by its thread. */
static int begin_with_own(struct toll_tracker *t, struct toll_error *e)
{
    bool has_self = false;
    t->tracked.discovery.with_tracker = (t->background.is_on && !t->options.without_self) ||
                                        t->tracked.is_probe;
    if (t->background.is_on)
        own_thread_begin(&t->tracked.reader.own, 1 + t->background.has_callback_thread);
    for (size_t i = 0; i < t->tracked.target_count; i++)
        has_self |= t->tracked.targets[i].kind == TOLL_TARGET_PROCESS &&
                    t->tracked.targets[i].id == t->owner_pid;
    if (has_self && !t->tracked.discovery.with_tracker)
        return err_set(e, -EINVAL,
                       "process %d is toll itself and cannot be a target (a program measures "
                       "itself with toll_tracker_start)",
                       (int)t->owner_pid);
    return 0;
}

int begin_attach(struct toll_tracker *t, struct toll_error *e)
{
    if (t->used)
        return err_set(e, -EINVAL, "tracker was already started (create a new one)");
    if (!t->tracked.target_count && !t->run.system)
        return err_set(e, -EINVAL,
                       "nothing to attach to (expected a target, or the option system)");
    if (t->options.watch_exits || t->options.exact)
        return err_set(e, -EINVAL, "%s: works only with a launched command",
                       t->options.exact ? "exact" : "watch_exits");
    if (t->options.timeout_ns)
        return err_set(
            e, -EINVAL,
            "timeout: works only with a launched command (attached processes are never killed)");
    int r = begin_prepare(t, NULL, e);
    if (r == 0)
        r = begin_with_own(t, e);
    if (r == 0) {
        sysroot_open_rest(&t->tracked.root);
        process_reader_keep_files(&t->tracked.reader);
        t->tracked.start_ns = clock_mono(NULL);
        t->run.start_real_ns = clock_real(NULL);
        r = attach(t, e);
    }
    if (r < 0) {
        begin_undo(t);
        return r;
    }
    begin_describe_main(&t->tracked, &t->run);
    begin_live(t);
    targets_watch(&t->tracked, &t->wakeup); /* it may find that a process has ended */
    outputs_send_events(&t->outputs, &t->tracked.events);
    return 0;
}

int begin_replay(struct toll_tracker *t, const char *directory, struct toll_error *e)
{
    if (t->used)
        return err_set(e, -EINVAL, "tracker was already started (create a new one)");
    t->used = true;
    t->tracked.reaper.peak_is_exact = true;
    t->tracked.discovery.tracker_pid = 0;
    if (process_reader_init(&t->tracked.reader, &t->tracked.root, selection_wanted(&t->selection)) <
        0)
        return err_set(e, -ENOMEM, "cannot replay: out of memory");
    t->run.own_pid = 0; /* unless the script has them */
    t->run.online_cpus = 0;
    t->run.job = (struct batch_job){0};
    t->run.parallel = (struct parallel){0};
    int r = replay_open(t, directory, e);
    if (r == 0) /* the same at each replay */
        uuid_make(t->run.id, t->run.start_real_ns, (const uint8_t[UUID_RANDOM_BYTES]){0});
    if (r == 0)
        r = check_outputs(&t->outputs, t->tracked.whole, e);
    if (r == 0)
        begin_common(t);
    return r;
}
