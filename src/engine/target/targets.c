/* SPDX-License-Identifier: MIT */
#include "engine/target/targets.h"

#include "account/ledger.h"
#include "base/err.h"
#include "base/memory.h"
#include "base/process.h"
#include "engine/settings.h"
#include "engine/step.h"
#include "engine/target/walk.h"
#include "source/cgroup/cgroup.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>

/* ---- Making ---------------------------------------------------------------------------------- */

static struct target *targets_append(struct tracked *t)
{
    /* Room for the union, which stands behind them. */
    if (!ARRAY_GROW(t->targets, t->target_count) || !ARRAY_GROW(t->targets, t->target_count + 1))
        return NULL;
    struct target *g = &t->targets[t->target_count];
    memset(g, 0, 2 * sizeof *g);
    g[0].pidfd = g[1].pidfd = g[0].main_pidfd = g[1].main_pidfd = -1;
    g[0].namespace.net_dev = g[1].namespace.net_dev = -1;
    g->bit = BIT(t->target_count);
    t->target_count++;
    return g;
}

/* What one that was asked for has. */
static void targets_drop(struct target *g)
{
    if (g->has_regex)
        regfree(&g->regex);
    close_p(&g->pidfd);
    close_p(&g->main_pidfd);
    cgroup_close(g->cgroup);
    map_done(&g->in_cgroup);
    free(g->name);
    free(g->text);
}

int targets_set_launched(struct tracked *t, struct summary *s)
{
    struct target *g = targets_append(t);
    if (!g)
        return -ENOMEM;
    g->is_launched = true;
    return targets_open_books(t, s);
}

int targets_add(struct tracked *t, const struct toll_target *asked, struct toll_error *e)
{
    if (t->target_count >= TARGETS_AT_MOST)
        return err_set(
            e, -EINVAL,
            "too many targets (at most %d; --match and --cgroup count many processes as one)",
            TARGETS_AT_MOST);
    struct target *g = targets_append(t);
    if (!g)
        return err_set(e, -ENOMEM, "cannot add a target: out of memory");
    int r = asked_take(t, g, asked, e);
    for (size_t i = 0; r == 0 && i + 1 < t->target_count; i++)
        if (strcmp(t->targets[i].name, g->name) == 0)
            r = err_set(e, -EINVAL, "target '%s' is given twice (names must be unique)", g->name);
    if (r < 0) {
        targets_drop(g);
        t->target_count--; /* the caller may go on without it */
    }
    return r;
}

static void open_books(struct tracked *t, struct target *g, struct summary *s)
{
    ledger_init(&g->ledger, g->bit, t->options->no_children && target_is_tree(g));
    for (unsigned part = 0; part < PARTS; part++) {
        g->entities[part] = (struct entity){
            .kind = ENTITY_TARGET, .part = part, .target = (unsigned)(g - t->targets)};
        row_init(&g->parts[part], ENTITY_PROCESS);
        if (!t->options->since_start)
            rates_begin(g->rates[part], t->start_ns);
    }
    target_summary_of(s, t, g)->has_parts = target_has_parts(t, g);
}

int targets_open_books(struct tracked *t, struct summary *s)
{
    if (!t->target_count)
        return 0;
    if (t->target_count > 1) {
        struct target *all = &t->targets[t->target_count];
        all->bit = BIT(t->target_count);
        all->is_union = true;
        all->kind = t->targets[0].kind;
        /* As folded, and as published where that differs. */
        t->frame_targets = calloc(2 * t->target_count, sizeof *t->frame_targets);
        if (!t->frame_targets || summary_add_targets(s, t->target_count) < 0)
            return -ENOMEM;
        for (size_t i = 0; i < t->target_count; i++)
            t->frame_targets[i].name = t->targets[i].name;
    }
    t->whole = &t->targets[t->target_count > 1 ? t->target_count : 0];
    s->has_target = true;
    for (size_t i = 0; i < book_count(t); i++)
        open_books(t, &t->targets[i], s);
    membership_plan(t);
    return 0;
}

void targets_reset(struct tracked *t, struct summary *s)
{
    for (size_t i = 0; i < book_count(t); i++) {
        struct target *g = &t->targets[i];
        close_p(&g->pidfd);
        close_p(&g->main_pidfd);
        cgroup_close(g->cgroup);
        map_done(&g->in_cgroup);
        *g = (struct target){
            .kind = g->kind,
            .bit = g->bit,
            .name = g->name,
            .text = g->text,
            .id = g->id,
            .user = g->user,
            .regex = g->regex,
            .has_regex = g->has_regex,
            .pidfd = -1,
            .main_pidfd = -1,
            .namespace = {.net_dev = -1},
        };
    }
    free(t->frame_targets);
    t->frame_targets = NULL;
    free(s->targets);
    s->targets = NULL;
    s->target_count = 0;
    s->has_target = false;
    t->whole = NULL;
}

void targets_done(struct tracked *t)
{
    for (size_t i = 0; i < t->target_count; i++)
        targets_drop(&t->targets[i]);
    free(t->frame_targets);
    free(t->targets);
    t->frame_targets = NULL;
    t->targets = t->whole = NULL;
    t->target_count = 0;
}

/* ---- Beginning ------------------------------------------------------------------------------- */

void targets_add_roots(struct tracked *t)
{
    for (size_t i = 0; i < t->target_count; i++)
        if (target_has_main(&t->targets[i]))
            membership_add_root(t, t->targets[i].is_launched ? t->launched.pid : t->targets[i].id,
                                t->targets[i].bit);
}

struct member *targets_any_member(const struct tracked *t, const struct target *g)
{
    for (size_t i = 0; i < t->members.count; i++) {
        struct member *m = t->members.order[i];
        if ((m->targets & g->bit) && m->was_seen && !m->gone && !m->process.has_ended)
            return m;
    }
    return NULL;
}

/* The kernel shows a thread under its own number, too, as if it were a process. */
static bool is_thread(const struct tracked *t, struct target *g)
{
    if (t->is_recorded)
        return false;
    g->main_pidfd = process_open_pidfd(g->id);
    return g->main_pidfd < 0 && (errno == EINVAL || errno == ENOENT);
}

int targets_check(struct tracked *t, struct toll_error *e)
{
    for (size_t i = 0; i < t->target_count; i++) {
        struct target *g = &t->targets[i];
        if (g->kind == TOLL_TARGET_PROCESS && is_thread(t, g))
            return err_set(e, -ESRCH, "%d is a thread, not a process (see Tgid in /proc/%d/status)",
                           (int)g->id, (int)g->id);
        const struct member *named = target_has_main(g) ? members_find(&t->members, g->id) : NULL;
        if (g->kind != TOLL_TARGET_CGROUP &&
            (!targets_any_member(t, g) || (named && named->process.is_hidden)))
            return asked_nobody(t, g, e);
    }
    return 0;
}

/* ---- Ending ---------------------------------------------------------------------------------- */

/* The main process, or any of those that are left. */
static const struct member *whom_to_watch(const struct tracked *t, const struct target *g)
{
    bool main_only = target_has_main(g) && t->options->wait == TOLL_WAIT_MAIN;
    if (!main_only)
        return targets_any_member(t, g);
    /* Its number may have gone to somebody else by now. */
    const struct member *main = members_find(&t->members, g->id);
    return main && (main->root_of & g->bit) ? main : NULL;
}

static void targets_unwatch(struct target *g)
{
    close_p(&g->pidfd);
    g->watched = 0;
}

/* False when it is gone by now. */
static bool target_watch_pid(struct target *g, const struct wakeup *w, pid_t pid)
{
    if (g->watched == pid)
        return true;
    targets_unwatch(g);
    g->pidfd = process_open_pidfd(pid);
    if (g->pidfd < 0 && errno == ESRCH)
        return false;
    g->watched = pid;
    if (g->pidfd >= 0)
        wakeup_watch(w, g->pidfd);
    return true;
}

/* A descriptor of one that has ended stays readable: with nobody left there is none. False then. */
static bool target_watch(struct tracked *t, struct target *g, const struct wakeup *w,
                         uint64_t now_ns)
{
    const struct member *m;
    while ((m = whom_to_watch(t, g)) && !m->process.has_ended) {
        pid_t pid = m->process.entity.pid;
        if (target_watch_pid(g, w, pid))
            return true;
        walk_end(t, pid, now_ns);
    }
    targets_unwatch(g);
    return false;
}

void targets_watch(struct tracked *t, const struct wakeup *w)
{
    for (size_t i = 0; i < t->target_count; i++)
        target_watch(t, &t->targets[i], w, clock_mono(NULL));
}

static void target_mark_ended(struct tracked *t, struct target *g, uint64_t now_ns)
{
    g->ended = true;
    g->end_ns = now_ns;
    g->end = (struct toll_end){.ended = true, .unknown = true};
    if (target_has_main(g))
        asked_how_it_ended(g);
    targets_unwatch(g);
    if (t->frame_targets) {
        t->frame_targets[g - t->targets].has_ended = true;
        uint64_t tenths = left_u64(now_ns, t->start_ns) / (NS_PER_SECOND / 10);
        tracked_note(t, "target %s ended after %llu.%llu s", g->name,
                     (unsigned long long)tenths / 10, (unsigned long long)tenths % 10);
    }
}

void targets_notice_ends(struct tracked *t, uint64_t now_ns)
{
    struct pollfd watched[TARGETS_AT_MOST];
    for (size_t i = 0; i < t->target_count; i++)
        watched[i] = (struct pollfd){.fd = t->targets[i].ended ? -1 : t->targets[i].pidfd,
                                     .events = POLLIN};
    if (!t->target_count || poll(watched, t->target_count, 0) <= 0)
        return;
    for (size_t i = 0; i < t->target_count; i++)
        if (watched[i].revents) {
            walk_end(t, t->targets[i].watched, now_ns);
            targets_unwatch(&t->targets[i]);
        }
}

static bool targets_has_ended(struct tracked *t, const struct target *g)
{
    if (g->kind == TOLL_TARGET_CGROUP)
        return cgroup_is_gone(g->cgroup);
    const struct member *m = whom_to_watch(t, g);
    return !m || m->process.has_ended;
}

bool targets_check_ends(struct tracked *t, const struct wakeup *w, bool has_walked, uint64_t now_ns,
                        bool *ret_needs_walk)
{
    bool all = t->target_count > 0;
    *ret_needs_walk = false;
    /* All are judged before any is watched, which may read: what a walk has seen holds for all. */
    for (size_t i = 0; i < t->target_count; i++) {
        struct target *g = &t->targets[i];
        if (g->ended || !targets_has_ended(t, g))
            continue;
        bool main_only = target_has_main(g) && t->options->wait == TOLL_WAIT_MAIN;
        if (main_only || has_walked)
            target_mark_ended(t, g, now_ns);
        else
            *ret_needs_walk = true;
    }
    for (size_t i = 0; i < t->target_count; i++) {
        struct target *g = &t->targets[i];
        all &= g->ended;
        if (g->ended || t->is_recorded || targets_has_ended(t, g))
            continue;
        /* The process that is to be watched may have ended by now: then all is asked again. */
        if (!target_watch(t, g, w, now_ns) && g->kind != TOLL_TARGET_CGROUP)
            *ret_needs_walk = true;
    }
    return all;
}

uint64_t targets_end(const struct tracked *t, uint64_t now_ns)
{
    uint64_t last = 0;
    for (size_t i = 0; i < t->target_count; i++) {
        if (!t->targets[i].ended)
            return now_ns;
        last = max_u64(last, t->targets[i].end_ns);
    }
    return last ? last : now_ns;
}

/* ---- What it looks like ---------------------------------------------------------------------- */

bool target_has_parts(const struct tracked *t, const struct target *g)
{
    return target_has_main(g) && !t->options->no_children;
}

struct target_summary *target_summary_of(struct summary *s, const struct tracked *t,
                                         const struct target *g)
{
    return g == t->whole ? &s->whole : &s->targets[g - t->targets];
}
