/* SPDX-License-Identifier: MIT */
#include "engine/target/cgroups.h"

#include "account/ledger.h"
#include "base/io/file.h"
#include "base/memory.h"
#include "engine/target/targets.h"
#include "engine/target/walk.h"
#include "source/cgroup/cgroup.h"
#include "source/cgroup/limits.h"
#include "source/cgroup/place.h"

#include <stdio.h>

/* ==== The job's own =========================================================================== */

#define CHECK_FIRST_NS (20 * NS_PER_MS)

/* Loading a program takes some milliseconds: it pays where samples are frequent, for many. With
 * `auto` they are so for the first seconds only. */
enum { MANY_MEMBERS = 64, MANY_MEMBERS_OF_AUTO = 256 };
#define FREQUENT_NS   (250 * NS_PER_MS)
#define OLD_ENOUGH_NS (500 * NS_PER_MS)
#define YOUNG_NS      (4 * NS_PER_SECOND)
#define CHECK_NS      NS_PER_SECOND

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
    bool is_wanted = o->network || o->exact;
    struct toll_error ignored;
    /* Where descriptors are scarce the command needs them more. */
    if (!insists && (o->own_cgroup == TOLL_OWN_CGROUP_NEVER || !is_wanted || o->no_children ||
                     file_limit_is_below(ENOUGH_FILES)))
        return 0;
    sysroot_open_rest(&t->root);
    int r = own_cgroup_open(&j->own, &t->root, insists, &limits, insists ? e : &ignored);
    /* One that programs could take for one without limits only if it was asked for. */
    if (r < 0 && !insists && o->exact)
        own_cgroup_open(&j->own, &t->root, true, &limits, &ignored);
    j->is_optional = !insists;
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
    bool is_worth_it = interval_ns
                           ? interval_ns < FREQUENT_NS && t->members.count >= MANY_MEMBERS
                           : elapsed_ns < YOUNG_NS && t->members.count >= MANY_MEMBERS_OF_AUTO;
    if (j->own.dir < 0 || t->options->no_children || !is_worth_it || elapsed_ns < OLD_ENOUGH_NS)
        return;
    uint64_t before_ns = clock_thread_cpu();
    changes_open(&t->changes, j->own.dir);
    t->discovery.apart_ns += left_u64(clock_thread_cpu(), before_ns);
}

void job_cgroup_read_cpu(struct job_cgroup *j)
{
    struct own_cgroup_cpu now;
    if (own_cgroup_read_cpu(&j->own, &now) < 0)
        return;
    j->cpu = now;
    j->has_cpu = true;
}

void job_cgroup_tick(struct job_cgroup *j, struct tracked *t, const struct frame *f)
{
    if (!t->changes.was_tried)
        job_cgroup_watch_changes(j, t, f->elapsed_ns);
    if (j->has_outside && t->changes.source)
        changes_close(&t->changes);
    if (j->own.cpu < 0 || t->options->no_children)
        return;
    job_cgroup_read_cpu(j);
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
    /* One that was just reaped by another, or was left, may still be on its way out. */
    for (unsigned i = 0; i < TRIES; i++) {
        r = own_cgroup_remove(&j->own, &pid);
        if (r != -EBUSY || !(t->reaper.no_children_left || process_is_leaving(&t->reader, pid)))
            break;
        usleep(STEP_US);
    }
    if (r == -EBUSY)
        tracked_note(
            t,
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

#define REFRESH_NS (950 * NS_PER_MS)
#define FOLLOW_NS  (20 * NS_PER_MS)
#define NOT_KNOWN  UINT64_MAX

/* ---- Finding them ---------------------------------------------------------------------------- */

static pid_t main_pid(const struct tracked *t, const struct target *g)
{
    return g->is_launched ? t->launched.pid : g->id;
}

/* A process that can be asked: the main process, or the first there is. 0 when it has ended: its
 * number may be a stranger's by now. */
static pid_t cgroups_representative(const struct tracked *t, const struct target *g)
{
    if (g->is_launched)
        return t->reaper.main_reaped ? 0 : t->launched.pid;
    if (target_has_main(g)) {
        const struct member *m = members_find(&t->members, g->id);
        bool is_there = m && !m->process.has_ended && (m->root_of & g->bit);
        return is_there ? g->id : 0;
    }
    const struct member *first = targets_any_member(t, g);
    return first ? first->process.entity.pid : 0;
}

/* One that was met before: a target is in it again. */
static struct cgroup *cgroups_find(const struct cgroups *s, const struct cgroup *c)
{
    for (size_t i = 0; i < s->count; i++)
        if (cgroup_same(s->around[i].cgroup, c)) {
            s->around[i].was_left = false;
            return s->around[i].cgroup;
        }
    return NULL;
}

/* Counters count from the moment at which the cgroup is met. The kernel's peak does not: what it
 * was then shows whether a later one is of this run. */
static void take_base(struct cgroup *c, uint64_t *ret_peak_bytes)
{
    struct instance_list list = {0};
    cgroup_collect_base(c, &list);
    for (size_t i = 0; i < list.count; i++) {
        const struct row *row = &list.items[i]->read;
        if (list.items[i]->entity.kind == ENTITY_CGROUP && row_has(row, cgroup_memory_peak_bytes))
            *ret_peak_bytes = row_u64(row, cgroup_memory_peak_bytes);
        settle_base(list.items[i]);
    }
    instance_list_done(&list);
}

static int cgroups_add(struct cgroups *s, struct cgroup *c, bool is_target)
{
    if (!ARRAY_GROW(s->around, s->count))
        return -ENOMEM;
    struct around *a = &s->around[s->count++];
    *a = (struct around){
        .cgroup = c, .is_target = is_target, .oom_kills = NOT_KNOWN, .peak_bytes = NOT_KNOWN};
    take_base(c, &a->peak_bytes);
    cgroup_oom_kills_seen(c, &a->oom_kills);
    return 0;
}

/* The cgroup a process is in, each once. NULL when there is none to be had. */
static struct cgroup *cgroup_around(struct cgroups *s, pid_t pid)
{
    struct cgroup *c, *known;
    if (cgroup_open_of(&c, &s->tracked->root, pid) < 0)
        return NULL;
    known = cgroups_find(s, c);
    if (!known && cgroups_add(s, c, false) == 0)
        return c;
    cgroup_close(c);
    return known;
}

/* Of the process, and of the cgroup it is in. */
static void cgroups_read_limits(struct cgroups *s, struct target *g, pid_t pid, struct cgroup *c)
{
    struct limits *limits = &target_summary_of(s->summary, s->tracked, g)->limits;
    limits_done(limits);
    limits_read(limits, &s->tracked->root, pid, g->cgroup ? g->cgroup : c);
}

/* A hash of what the kernel says of the cgroups of a process; 0 when it says nothing. A cgroup that
 * was made for the command only to count counts as the one that it was made in. */
static uint64_t cgroups_of(const struct cgroups *s, pid_t pid)
{
    struct process_reader *r = &s->tracked->reader;
    ssize_t n = process_read_once(r, pid, "cgroup");
    bool is_quiet = s->job && own_cgroup_exists(s->job) && s->job->is_quiet;
    const char *path = is_quiet ? s->job->directories[0].path : "";
    size_t length = strlen(path);
    /* "0::/job/toll-123" is the last line, and has no more than that if it was not moved. */
    if (is_quiet && n > (ssize_t)length && r->text[n - 1] == '\n' &&
        memcmp(r->text + n - 1 - length, path, length) == 0) {
        const char *slash = strrchr(path, '/');
        n = n - 1 - (ssize_t)length + (slash == path ? 1 : slash - path);
        r->text[n++] = '\n';
    }
    return n > 0 ? pid_cgroup_hash(r->text, (size_t)n) : 0;
}

/* Many launchers put a job into its cgroup after its start. */
static void cgroups_follow(struct cgroups *s)
{
    struct tracked *t = s->tracked;
    if (t->is_probe)
        return; /* a single look has no limits, and only the cgroups it was asked for */
    for (size_t i = 0; i < t->target_count; i++) {
        struct target *g = &t->targets[i];
        pid_t pid = g->ended ? 0 : cgroups_representative(t, g);
        if (!pid)
            continue;
        uint64_t now = cgroups_of(s, pid);
        /* Of a process in its last moments version 1 says that it is in the root. */
        if (!now || now == g->in.hash || process_is_leaving(&t->reader, pid)) {
            limits_read_resources(&target_summary_of(s->summary, t, g)->limits, &t->root, pid);
            continue;
        }
        g->in.hash = now;
        g->in.inside = g->cgroup ? NULL : cgroup_around(s, pid);
        cgroups_read_limits(s, g, pid, g->in.inside);
    }
}

/* The files of a cgroup stay open, some thirty. Where descriptors are scarce the command needs them
 * more: then they are opened when it runs and our limit is raised. */
void cgroups_prepare(struct cgroups *s, const struct own_cgroup *job)
{
    enum { ENOUGH_FILES = 128 };
    struct cgroup *c;
    s->job = job;
    if (own_cgroup_exists(job) && !job->is_quiet &&
        cgroup_open_places(&c, &s->tracked->root, &job->places) == 0) {
        if (cgroups_add(s, c, false) == 0)
            s->own = c;
        else
            cgroup_close(c);
        return;
    }
    if (file_limit_is_below(ENOUGH_FILES))
        return;
    sysroot_open_rest(&s->tracked->root);
    s->own = cgroup_around(s, 0);
}

void cgroups_open(struct cgroups *s)
{
    struct tracked *t = s->tracked;
    for (size_t i = 0; i < t->target_count; i++)
        if (t->targets[i].cgroup)
            cgroups_add(s, t->targets[i].cgroup, true);
    /* A command may have ended already: then it was where we are. */
    if (is_launched(t)) {
        struct target_cgroup *in = &t->whole->in;
        in->inside = s->own ? s->own : cgroup_around(s, 0);
        in->hash = t->is_recorded ? 0
                   : s->own       ? cgroup_hash(s->own)
                                  : cgroups_of(s, t->discovery.tracker_pid);
        cgroups_read_limits(s, t->whole, t->launched.pid, in->inside);
    }
    if (!is_launched(t) || t->is_recorded) /* a command begins where we are */
        cgroups_follow(s);
    if (t->is_recorded) /* a recorded machine is there from the first tick on */
        return;
    s->follow_ns = t->start_ns + FOLLOW_NS;
    /* A command that is shorter has one reading of its cgroup, at the end. */
    if (is_launched(t)) {
        s->next_ns = s->follow_ns;
        s->collected = s->count;
    }
}

void cgroups_close(struct cgroups *s)
{
    const struct tracked *t = s->tracked;
    for (size_t i = 0; i < s->count; i++)
        if (!s->around[i].is_target)
            cgroup_close(s->around[i].cgroup);
    for (size_t i = 0; t->whole && i < t->target_count; i++)
        limits_done(&target_summary_of(s->summary, t, &t->targets[i])->limits);
    free(s->around);
    s->around = NULL;
    s->own = NULL;
    s->count = 0;
}

/* ---- Reading --------------------------------------------------------------------------------- */

struct cgroup_search {
    const struct tracked *t;
    bool has_members;
};

static void cgroups_meet_member(void *arg, pid_t pid)
{
    struct cgroup_search *search = arg;
    const struct member *m = members_find(&search->t->members, pid);
    search->has_members |= m && m->targets;
}

static bool cgroups_is_inhabited(const struct tracked *t, struct cgroup *c)
{
    struct cgroup_search search = {.t = t};
    for (size_t i = 0; i < t->target_count; i++)
        if (!t->targets[i].ended && t->targets[i].in.inside == c)
            return true;
    cgroup_each_pid(c, cgroups_meet_member, &search);
    return search.has_members;
}

static uint64_t kills_in(const struct around *a)
{
    uint64_t now;
    bool known = a->oom_kills != NOT_KNOWN && cgroup_oom_kills_seen(a->cgroup, &now);
    return known ? left_u64(now, a->oom_kills) : 0;
}

/* The kernel counts a kill, and sends the signal right after that. */
#define OUTLIVED_NS (100 * NS_PER_MS)

static bool has_outlived(const struct target *g, const struct around *a)
{
    return kills_in(a) == a->last_kills && g->in.continued_ns >= a->kill_ns + OUTLIVED_NS;
}

/* A command that continues after a kill was not the victim, whatever ends it later. */
static void cgroups_follow_kills(struct cgroups *s, uint64_t now_ns)
{
    struct tracked *t = s->tracked;
    for (size_t i = 0; i < s->count; i++) {
        struct around *a = &s->around[i];
        uint64_t kills = kills_in(a);
        if (!kills)
            continue;
        if (kills != a->last_kills)
            a->kill_ns = now_ns;
        a->last_kills = kills;
        for (size_t k = 0; k < t->target_count && now_ns >= a->kill_ns + OUTLIVED_NS; k++) {
            struct target *g = &t->targets[k];
            bool is_asked = target_has_main(g) && !g->ended && !has_outlived(g, a);
            pid_t pid = is_asked ? cgroups_representative(t, g) : 0;
            if (pid && process_continues(&t->reader, pid))
                g->in.continued_ns = now_ns;
        }
    }
}

void cgroups_tick(struct cgroups *s, const struct frame *f, struct instance_list *list)
{
    struct tracked *t = s->tracked;
    uint64_t now_ns = f->mono_ns;
    if (now_ns >= s->follow_ns) {
        cgroups_follow(s);
        /* A young target is followed more closely. */
        s->follow_ns = now_ns + min_u64(REFRESH_NS, max_u64(f->elapsed_ns / 2, FOLLOW_NS));
    }
    for (size_t i = 0; i < t->target_count; i++) {
        struct target *g = &t->targets[i];
        size_t at = list->count;
        if (!g->cgroup)
            continue;
        /* The cgroup's own row comes before those of its devices. When the cgroup is gone, what was
         * last read of it still counts. */
        cgroup_collect(g->cgroup, list);
        if (list->count > at)
            g->in.instance = list->items[at];
    }
    cgroups_follow_kills(s, now_ns);
    if (now_ns < s->next_ns && !f->last && s->count == s->collected)
        return;
    /* A short job is over before a second is: the older, the rarer. */
    s->next_ns = now_ns + min_u64(REFRESH_NS, max_u64(f->elapsed_ns, FOLLOW_NS));
    s->collected = s->count;
    for (size_t i = 0; i < s->count; i++) {
        struct around *a = &s->around[i];
        if (a->is_target || a->was_left)
            continue;
        /* A target may pass through hundreds of cgroups. What was last read of one that it has left
         * stays; the descriptors do not. */
        cgroup_collect(a->cgroup, list);
        a->was_left = !f->last && !cgroups_is_inhabited(t, a->cgroup);
        if (a->was_left)
            cgroup_close_files(a->cgroup);
    }
}

/* Not the bytes of storage: version 1 leaves out what is written back later, and what version 2
 * counts is not what the processes caused. */
bool cgroups_count(struct target *g, struct row *ret)
{
    static const enum metric_id same[][2] = {
        {process_cpu_seconds, cgroup_cpu_seconds},
        {process_cpu_user_seconds, cgroup_cpu_user_seconds},
        {process_cpu_system_seconds, cgroup_cpu_system_seconds},
    };
    if (!g->in.instance)
        return false;
    const struct row *row = &g->in.instance->row;
    for (size_t i = 0; i < ARRAY_LEN(same); i++)
        if (row_has(row, same[i][1])) {
            row_put_u64(ret, same[i][0], row_u64(row, same[i][1]));
            g->in.bits |= BIT(same[i][0]);
        }
    return cgroup_counts_ticks(g->cgroup);
}

void cgroups_last_look(struct cgroups *s)
{
    const struct tracked *t = s->tracked;
    if (t->whole && !t->is_recorded)
        limits_read_resources(&s->summary->whole.limits, &t->root, t->launched.pid);
}

/* ---- What was used of the limits ------------------------------------------------------------- */

/* The path that a controller's figures are of: with version 1 it may be another than the name. */
static const char *path_of_figures(const struct entity *e, const char *label)
{
    for (unsigned i = 0; i < ENTITY_LABELS && e->labels[i].key; i++)
        if (strcmp(e->labels[i].key, label) == 0)
            return e->labels[i].value;
    return entity_name(e);
}

static const struct instance_summary *cgroup_instance(const struct summary *s, const char *path,
                                                      const char *label)
{
    for (size_t i = 0; path && i < s->instance_count; i++) {
        const struct instance_summary *instance = &s->instances[i];
        if (instance->instance->entity.kind == ENTITY_CGROUP &&
            strcmp(path_of_figures(&instance->instance->entity, label), path) == 0)
            return instance;
    }
    return NULL;
}

static const struct series *cgroup_series(const struct instance_summary *instance,
                                          enum metric_id id)
{
    return &instance->series[id - cgroup_first];
}

/* How often a counter of the cgroup has counted in this run. */
static uint64_t cgroups_counted(const struct instance_summary *instance, enum metric_id id)
{
    const struct series *s = cgroup_series(instance, id);
    return s->observed_ns ? s->last.u : 0;
}

static void cgroups_use(struct limit *l, double used, bool is_least, const char *whose)
{
    l->has_used = true;
    l->used = used;
    l->used_is_least = is_least;
    l->whose = whose;
}

/* The kernel keeps the most that was ever charged, which is of this run when it was less before. */
static bool has_peak_of_this_run(const struct cgroups *all, const struct instance_summary *instance)
{
    const struct series *peak = cgroup_series(instance, cgroup_memory_peak_bytes);
    uint64_t before = NOT_KNOWN;
    for (size_t i = 0; i < all->count; i++)
        if (strcmp(cgroup_name(all->around[i].cgroup), entity_name(&instance->instance->entity)) ==
            0)
            before = all->around[i].peak_bytes;
    return peak->count && before != NOT_KNOWN && peak->max > (double)before;
}

/* A limit of a cgroup is on what is charged to it. Without a peak of this run only what samples saw
 * is known, unless the kernel counted that the limit was met. */
static void use_memory_of_cgroup(const struct cgroups *all, const struct summary *summary,
                                 struct limit *l)
{
    const struct instance_summary *instance = cgroup_instance(summary, l->cgroup, "memory_cgroup");
    if (!instance)
        return;
    const struct series *now = cgroup_series(instance, cgroup_memory_bytes);
    const struct series *peak = cgroup_series(instance, cgroup_memory_peak_bytes);
    if (has_peak_of_this_run(all, instance))
        cgroups_use(l, peak->max, false, "cgroup");
    else if (now->count)
        cgroups_use(l, now->max, true, "cgroup");
    uint64_t kills = cgroups_counted(instance, cgroup_oom_kills_count);
    uint64_t hits = cgroups_counted(instance, cgroup_memory_limit_events_count);
    /* A kill alone proves nothing of this limit: that of a cgroup above may have been reached, or
     * the end of the machine's memory. */
    if (hits) {
        l->reached = kills ? "OOM killer" : "counted by the kernel";
        l->reached_times = kills ? 0 : hits;
        cgroups_use(l, (double)l->value, false, "cgroup");
    }
}

static void use_of_main(struct limit *l, const struct target_summary *s, enum metric_id id)
{
    const struct series *main = &s->series[s->has_parts ? PART_MAIN : PART_COMBINED][id];
    const struct metric *m = metric_of(id);
    if (!l->known || l->unlimited || !main->observed_ns || !s->has_parts)
        return;
    if (m->kind == METRIC_COUNTER)
        cgroups_use(l, metric_number(m, main->last), true, "main process");
    else if (main->count)
        cgroups_use(l, main->max, true, "main process");
}

/* A signal proves nothing where there is no limit: another process may have sent it. */
static void reach_by_signal(struct limit *l, const struct toll_end *end, int signal,
                            const char *name)
{
    if (end->signaled && end->status == signal && !(l->known && l->unlimited))
        l->reached = name;
}

static void use_of_target(const struct cgroups *all, const struct summary *summary,
                          struct target_summary *s)
{
    struct limit *of = s->limits.of;
    const struct series *cores = &s->series[PART_COMBINED][process_cpu_cores];
    const struct series *rss = &s->series[PART_COMBINED][process_memory_rss_bytes];
    const struct instance_summary *instance;
    for (unsigned i = 0; i < LIMITS; i++) {
        of[i].has_used = false;
        of[i].reached = NULL;
        of[i].reached_times = 0;
    }
    if (of[LIMIT_CPUS].known && cores->observed_ns)
        cgroups_use(&of[LIMIT_CPUS], series_mean(cores, metric_of(process_cpu_cores)), false,
                    "target");
    if ((instance = cgroup_instance(summary, of[LIMIT_CPUS].cgroup, "quota_cgroup")) &&
        cgroups_counted(instance, cgroup_cpu_throttled_periods_count)) {
        of[LIMIT_CPUS].reached = "CPU throttled";
        of[LIMIT_CPUS].reached_times = cgroups_counted(instance,
                                                       cgroup_cpu_throttled_periods_count);
    }
    bool has_rss = s->provenance[PART_COMBINED][process_memory_rss_bytes].quality !=
                   QUALITY_UNKNOWN;
    if (of[LIMIT_MEMORY_BYTES].known && rss->count && has_rss)
        cgroups_use(&of[LIMIT_MEMORY_BYTES], rss->max, of[LIMIT_MEMORY_BYTES].cgroup != NULL,
                    "target");
    if (of[LIMIT_MEMORY_BYTES].cgroup)
        use_memory_of_cgroup(all, summary, &of[LIMIT_MEMORY_BYTES]);
    if ((instance = cgroup_instance(summary, of[LIMIT_TASKS].cgroup, "tasks_cgroup"))) {
        const struct series *tasks = cgroup_series(instance, cgroup_tasks_count);
        uint64_t refused = cgroups_counted(instance, cgroup_tasks_limit_events_count);
        if (tasks->count)
            cgroups_use(&of[LIMIT_TASKS], tasks->max, true, "cgroup");
        if (refused) {
            cgroups_use(&of[LIMIT_TASKS], (double)of[LIMIT_TASKS].value, false, "cgroup");
            of[LIMIT_TASKS].reached = "counted by the kernel";
            of[LIMIT_TASKS].reached_times = refused;
        }
    }
    use_of_main(&of[LIMIT_ADDRESS_BYTES], s, process_memory_virtual_bytes);
    use_of_main(&of[LIMIT_OPEN_FILES], s, process_open_files_count);
    use_of_main(&of[LIMIT_CPU_SECONDS], s, process_cpu_seconds);
    struct limit *cpu = &of[LIMIT_CPU_SECONDS];
    /* At a hard limit the kernel sends SIGKILL by what it counted in ticks, which may be a fifth
     * more than the process had: that alone proves nothing. */
    if (cpu->has_used && cpu->value && cpu->used >= (double)cpu->value)
        cpu->reached = "CPU time";
    reach_by_signal(cpu, &s->end, SIGXCPU, "SIGXCPU");
    reach_by_signal(&of[LIMIT_FILE_BYTES], &s->end, SIGXFSZ, "SIGXFSZ");
}

void cgroups_use_limits(const struct cgroups *all, struct summary *s)
{
    for (size_t i = 0; i < s->instance_count; i++) {
        const struct instance_summary *instance = &s->instances[i];
        if (instance->instance->entity.kind != ENTITY_CGROUP)
            continue;
        /* What was charged rises and falls between two reads. The most it was in this run is at
         * least what was read, and what the kernel kept where that is of this run. */
        struct series *now = &instance->series[cgroup_memory_bytes - cgroup_first];
        if (now->count && has_peak_of_this_run(all, instance))
            series_at_least(now, cgroup_series(instance, cgroup_memory_peak_bytes)->max);
    }
    for (size_t i = 0; all->tracked->whole && i < s->target_count; i++)
        use_of_target(all, s, &s->targets[i]);
    if (all->tracked->whole && !s->target_count)
        use_of_target(all, s, &s->whole);
}

/* ---- The end --------------------------------------------------------------------------------- */

struct neighbours {
    struct tracked *t;
    const struct target *g;
    bool others;
};

static void meet_neighbour(void *arg, pid_t pid)
{
    struct neighbours *n = arg;
    const struct member *m = members_find(&n->t->members, pid);
    bool is_ours = (m && (m->targets & n->g->bit)) || pid == main_pid(n->t, n->g) ||
                   membership_is_stranger(n->t, pid);
    /* Our own process and its ancestors live: none of them was the victim. */
    n->others |= !is_ours && !process_is_above(&n->t->reader, pid, n->t->discovery.tracker_pid);
}

/* By the kernel's log, else by the counters of the cgroups the targets are in, never by the signal
 * alone. Where other processes are in the same cgroup, the victim may have been one of them. */
static bool was_oom_killed(const struct cgroups *s, const struct target *g, bool was_killed)
{
    struct tracked *t = s->tracked;
    enum kernel_log_answer log = KERNEL_LOG_UNKNOWN;
    if (t->root.live)
        log = kernel_log_killed(&t->root, main_pid(t, g), t->start_ns);
    if (log != KERNEL_LOG_UNKNOWN)
        return log == KERNEL_LOG_YES;
    struct neighbours n = {.t = t, .g = g};
    bool grown = false;
    for (size_t i = 0; i < s->count; i++) {
        if (!kills_in(&s->around[i]) || has_outlived(g, &s->around[i]))
            continue;
        grown = true;
        cgroup_each_pid(s->around[i].cgroup, meet_neighbour, &n);
    }
    return grown && !n.others && !was_killed;
}

/* The limits that signals prove; the others are in the line of limits. */
static void note_limits(struct tracked *t, const struct target_summary *s)
{
    static const struct {
        enum limit_kind kind;
        const char *unit, *what, *name;
    } kinds[] = {
        {LIMIT_CPU_SECONDS, " s", "CPU time", "RLIMIT_CPU"},
        {LIMIT_FILE_BYTES, " bytes", "file size", "RLIMIT_FSIZE"},
    };
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        const struct limit *l = &s->limits.of[kinds[i].kind];
        char value[40] = "";
        if (!l->reached)
            continue;
        if (l->known && !l->unlimited) /* the job may have set it, and died before it was read */
            snprintf(value, sizeof value, " of %llu%s", (unsigned long long)l->value,
                     kinds[i].unit);
        tracked_note(t, "limit on %s%s reached (%s)", kinds[i].what, value, kinds[i].name);
    }
}

void cgroups_finish(struct cgroups *s, bool was_killed)
{
    struct tracked *t = s->tracked;
    const struct summary *summary = s->summary;
    for (size_t i = 0; i < s->count; i++) {
        uint64_t grown = kills_in(&s->around[i]);
        if (grown)
            tracked_note(t, "the OOM killer killed %llu process%s of cgroup %s",
                         (unsigned long long)grown, grown == 1 ? "" : "es",
                         cgroup_name(s->around[i].cgroup));
    }
    for (size_t i = 0; i < t->target_count; i++) {
        struct target *g = &t->targets[i];
        struct toll_end *end = &target_summary_of(s->summary, t, g)->end;
        if (target_has_main(g) && end->signaled && end->status == SIGKILL)
            end->oom_killed = was_oom_killed(s, g, was_killed);
    }
    cgroups_use_limits(s, s->summary);
    for (size_t i = 0; i < t->target_count; i++) {
        struct target_summary *of = target_summary_of(s->summary, t, &t->targets[i]);
        struct limit *l = &of->limits.of[LIMIT_CPU_SECONDS];
        /* With SIGXCPU the kernel raises the soft limit by a second, and it is read after that. Its
         * own count, in ticks, may be ahead of the time that the process had. */
        if (l->reached && l->has_used && l->value > 1 && l->used + 0.5 < (double)l->value)
            l->value--;
        note_limits(t, of);
    }
    for (size_t i = 0; i < summary->instance_count; i++) {
        const struct instance_summary *instance = &summary->instances[i];
        const struct entity *e = &instance->instance->entity;
        if (e->kind != ENTITY_CGROUP)
            continue;
        uint64_t hits = instance->series[cgroup_tasks_limit_events_count - cgroup_first].last.u;
        if (hits)
            tracked_note(t, "limit on tasks of cgroup %s reached %llu time%s",
                         path_of_figures(e, "tasks_cgroup"), (unsigned long long)hits,
                         hits == 1 ? "" : "s");
    }
}
