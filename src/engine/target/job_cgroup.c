/* SPDX-License-Identifier: MIT */
#include "engine/target/job_cgroup.h"

#include "base/memory.h"
#include "engine/target/walk.h"

#include <stdio.h>

#define CHECK_FIRST_NS (20 * NS_PER_MS)

/* Loading a program takes some milliseconds: it pays where samples are frequent, for many. With
 * `auto` they are so for the first seconds only. */
enum { MANY_MEMBERS = 64, MANY_MEMBERS_OF_AUTO = 256 };
#define FREQUENT_NS  (250 * NS_PER_MS)
#define OLD_ENOUGH_NS (500 * NS_PER_MS)
#define YOUNG_NS     (4 * NS_PER_SECOND)
#define CHECK_NS       NS_PER_SECOND

void job_cgroup_init(struct job_cgroup *j)
{
    *j = (struct job_cgroup){.own = OWN_CGROUP_NONE};
}

int job_cgroup_open(struct job_cgroup *j, struct tracked *t, struct toll_error *e)
{
    enum { ENOUGH_FILES = 128 };
    const struct toll_options *o = t->options;
    const struct own_cgroup_limits limits = {o->memory_max_bytes, o->cpu_max_cores, o->pids_max};
    bool is_limited = limits.memory_bytes || limits.cores > 0 || limits.tasks;
    bool insists = is_limited || o->own_cgroup == TOLL_OWN_CGROUP_ALWAYS;
    struct toll_error ignored;
    /* Where descriptors are scarce the command needs them more. */
    if (!insists && (o->own_cgroup == TOLL_OWN_CGROUP_NEVER || !o->network || o->no_children ||
                     file_limit_is_below(ENOUGH_FILES)))
        return 0;
    sysroot_open_rest(&t->root);
    int r = own_cgroup_open(&j->own, &t->root, insists, &limits, insists ? e : &ignored);
    return insists ? r : 0;
}

/* ---- Members outside ------------------------------------------------------------------------- */

static void job_cgroup_meet(void *arg, pid_t pid)
{
    map_put(arg, (uint32_t)pid, 1);
}

/* A process may move itself elsewhere (systemd-run --scope, a container runtime), and is not
 * counted from then on. What is not in the list is asked: it may have been born since. */
static void job_cgroup_check(struct job_cgroup *j, struct tracked *t)
{
    map_clear(&j->inside);
    if (own_cgroup_each_pid(&j->own, job_cgroup_meet, &j->inside) < 0)
        return;
    for (size_t i = 0; i < t->members.count && !j->has_outside; i++) {
        const struct member *m = t->members.order[i];
        pid_t pid = m->process.entity.pid;
        uint32_t known;
        if (!m->was_seen || m->gone || m->process.has_ended ||
            map_get(&j->inside, (uint32_t)pid, &known))
            continue;
        ssize_t n = process_read_once(&t->reader, pid, "cgroup");
        if (n <= 0 || own_cgroup_counts(&j->own, scan_text(t->reader.text, (size_t)n)) ||
            process_is_leaving(&t->reader, pid))
            continue;
        j->has_outside = true;
        tracked_note(t,
                     "process %d (%s) left the cgroup of the command; CPU time is counted by wait4",
                     (int)pid, m->process.entity.name);
    }
}

/* Members are asked together from now on whether they have run. */
static void job_cgroup_watch_changes(const struct job_cgroup *j, struct tracked *t,
                                     uint64_t elapsed_ns)
{
    uint64_t interval_ns = t->options->interval_ns;
    bool is_worth_it = interval_ns ? interval_ns < FREQUENT_NS && t->members.count >= MANY_MEMBERS
                                   : elapsed_ns < YOUNG_NS &&
                                         t->members.count >= MANY_MEMBERS_OF_AUTO;
    if (j->own.dir < 0 || t->options->no_children || !is_worth_it || elapsed_ns < OLD_ENOUGH_NS)
        return;
    uint64_t before_ns = clock_thread_cpu();
    changes_open(&t->changes, j->own.dir);
    t->discovery.apart_ns += left_u64(clock_thread_cpu(), before_ns);
}

void job_cgroup_tick(struct job_cgroup *j, struct tracked *t, const struct frame *f)
{
    if (!t->changes.was_tried)
        job_cgroup_watch_changes(j, t, f->elapsed_ns);
    if (j->has_outside && t->changes.source)
        changes_close(&t->changes);
    if (j->own.cpu < 0 || t->options->no_children)
        return;
    struct own_cgroup_cpu now;
    if (own_cgroup_read_cpu(&j->own, &now) == 0) {
        j->cpu = now;
        j->has_cpu = true;
    }
    if (f->mono_ns < j->check_ns || j->has_outside || t->root.pids < 0)
        return;
    /* Not at the first sample: a command of a few milliseconds is over before. */
    if (j->check_ns) {
        job_cgroup_check(j, t);
        if (!j->is_swept)
            own_cgroup_remove_stale(&j->own);
        j->is_swept = true;
    }
    j->check_ns = f->mono_ns + min_u64(CHECK_NS, max_u64(f->elapsed_ns / 2, CHECK_FIRST_NS));
}

/* ---- Figures --------------------------------------------------------------------------------- */

void job_cgroup_count(struct job_cgroup *j, struct target *g, bool last)
{
    if (!j->has_cpu || !g->is_launched)
        return;
    j->folded_ns = row_u64(&g->parts[PART_COMBINED], process_cpu_seconds);
    ledger_raise_cpu(&g->ledger, j->cpu.cpu_ns, j->cpu.has_kinds ? j->cpu.user_ns : 0,
                     j->cpu.has_kinds ? j->cpu.system_ns : 0, last, g->parts);
    g->in.bits = j->has_outside ? 0
                                : BIT(process_cpu_seconds) | BIT(process_cpu_user_seconds) |
                                      BIT(process_cpu_system_seconds);
    g->in.has_ticks = !j->cpu.has_kinds;
}

void job_cgroup_reconcile(struct job_cgroup *j, struct tracked *t)
{
    struct target *g = t->whole;
    if (!j->has_cpu || !g || !t->reaper.main_reaped || !t->reaper.no_children_left)
        return;
    uint64_t counted = j->cpu.cpu_ns, reaped = j->folded_ns;
    /* With version 1 the command moves in after its birth, which takes some 0.1 ms. */
    uint64_t error = max_u64(reaped / 1000, 2 * NS_PER_MS);
    if (reaped > counted + error && !j->has_outside) {
        j->has_outside = true;
        tracked_note(t,
                     "processes left the cgroup of the command, which counted %.2f s of CPU time; "
                     "wait4 counted %.2f s",
                     (double)counted / NS_PER_SECOND, (double)reaped / NS_PER_SECOND);
    }
    if (j->has_outside) {
        g->in.bits = 0;
        /* Neither has all of it. */
        if (counted > reaped + error)
            ledger_note_loss(&g->ledger);
        return;
    }
    if (counted > reaped + max_u64(counted / 100, 20 * NS_PER_MS))
        tracked_note(t,
                     "wait4 counted %.2f s of %.2f s of CPU time; the rest was used by processes "
                     "that were not waited for, and is counted by the cgroup of the command",
                     (double)reaped / NS_PER_SECOND, (double)counted / NS_PER_SECOND);
}

/* ---- The end --------------------------------------------------------------------------------- */

void job_cgroup_finish(struct job_cgroup *j, struct tracked *t)
{
    enum { TRIES = 5, STEP_US = 1000 };
    pid_t pid = 0;
    int r = -EBUSY;
    if (!own_cgroup_exists(&j->own))
        return;
    if (!j->is_swept)
        own_cgroup_remove_stale(&j->own);
    j->is_swept = true;
    /* A process that was just reaped by another may still be on its way out. */
    for (unsigned i = 0; i < TRIES; i++) {
        r = own_cgroup_remove(&j->own, &pid);
        if (r != -EBUSY || !t->reaper.no_children_left)
            break;
        usleep(STEP_US);
    }
    if (r == -EBUSY)
        tracked_note(t,
                     "cgroup %s was not removed: process %d is still in it; a later toll run removes "
                     "it once it is empty",
                     j->own.directories[0].path, (int)pid);
    own_cgroup_close(&j->own);
}

void job_cgroup_close(struct job_cgroup *j, struct tracked *t)
{
    pid_t pid;
    changes_close(&t->changes);
    t->changes.was_tried = false;
    own_cgroup_remove(&j->own, &pid);
    own_cgroup_close(&j->own);
    map_done(&j->inside);
    job_cgroup_init(j);
}
