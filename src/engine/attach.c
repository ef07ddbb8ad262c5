/* SPDX-License-Identifier: MIT */
#include "engine/attach.h"

#include "base/err.h"
#include "base/file.h"
#include "collect/cgroup.h"
#include "engine/asked.h"
#include "engine/membership.h"
#include "engine/targets.h"
#include "engine/walk.h"
#include "parse/uptime.h"

/* Now, in the unit in which the kernel tells when a process was started. In a container
 * /proc/uptime may be the container's, which the starts of processes are not. */
static uint64_t ticks_since_boot(struct toll_tracker *t)
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

static int open_cgroups(struct toll_tracker *t, struct toll_error *e)
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
static bool cgroups_overlap(const struct toll_tracker *t)
{
    for (size_t i = 0; i < t->target_count; i++)
        for (size_t k = 0; k < t->target_count; k++)
            if (i != k && t->targets[i].cgroup && t->targets[k].cgroup &&
                cgroup_contains(t->targets[i].cgroup, t->targets[k].cgroup))
                return true;
    return false;
}

static pid_t group_of(const struct toll_tracker *t, const struct target *g)
{
    if (g->kind == TOLL_TARGET_GROUP)
        return g->id;
    const struct member *m = target_has_main(g) ? members_find(&t->members, g->id) : NULL;
    return m ? m->process.group : 0;
}

static int describe(struct toll_tracker *t)
{
    for (size_t i = 0; i < t->target_count; i++) {
        struct buf what = {0};
        asked_describe(t, &t->targets[i], &what);
        int r = buf_failed(&what) ? -ENOMEM
                                  : run_add_target(&t->run, t->targets[i].name, what.data);
        buf_done(&what);
        if (r < 0)
            return r;
        t->run.targets[i].group = group_of(t, &t->targets[i]);
        t->run.targets[i].pid = target_has_main(&t->targets[i]) ? t->targets[i].id : 0;
    }
    return 0;
}

/* A child may be reaped after its parent was read and before its own turn: all it ever used would
 * count as the parent's, from now on. Read again after everything else, the parent has it. A child
 * that was read and then reaped is subtracted twice: rather too little than too much. */
static void read_baseline_again(struct toll_tracker *t)
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
        for (size_t k = 0; k < book_count(t); k++)
            if (m->targets & t->targets[k].bit)
                ledger_rebase(&t->targets[k].ledger, m, &before);
    }
    t->discovery.first_booking = t->discovery.bookings + 1;
}

int attach(struct toll_tracker *t, struct toll_error *e)
{
    int r = open_cgroups(t, e);
    if (r < 0)
        return r;
    t->discovery.overlap = cgroups_overlap(t);
    r = targets_open_books(t);
    if (r < 0)
        return err_set(e, r, "no memory for the targets");
    if (!t->replay)
        t->reader.no_children = !process_lists_children(&t->reader, getpid());
    t->discovery.start_ticks = ticks_since_boot(t);
    t->discovery.attaching = true;
    targets_add_roots(t);
    if (t->whole)
        walk(t, t->start_ns);
    if (t->whole && !t->options.since_start && t->root.live)
        read_baseline_again(t);
    t->discovery.attaching = false;
    r = targets_check(t, e);
    if (r == 0 && describe(t) < 0)
        r = err_set(e, -ENOMEM, "no memory for the targets");
    if (t->target_count == 1 && target_has_main(t->whole))
        t->run.pid = t->whole->id;
    if (t->run.target_count == 1)
        t->run.group = t->run.targets[0].group;
    return r;
}
