/* SPDX-License-Identifier: MIT */
#include "engine/target/cgroups.h"

#include "base/io/file.h"
#include "base/memory.h"
#include "engine/outputs.h"
#include "engine/target/membership.h"
#include "engine/target/targets.h"
#include "source/cgroup/cgroup.h"
#include "source/cgroup/limits.h"

#include <stdio.h>

#define REFRESH_NS (950 * NS_PER_MS)
#define FOLLOW_NS  (20 * NS_PER_MS)
#define NOT_KNOWN  UINT64_MAX

/* ---- Finding them ---------------------------------------------------------------------------- */

static pid_t main_pid(const struct toll_tracker *t, const struct target *g)
{
    return g->is_launched ? t->launched.pid : g->id;
}

static bool cgroups_is_there(const struct member *m)
{
    return m && !m->gone && !m->process.has_ended;
}

/* Somebody who can be asked: the main process, or the first there is. 0 when it has ended: its
 * number may be a stranger's by now. */
static pid_t cgroups_representative(const struct toll_tracker *t, const struct target *g)
{
    if (g->is_launched)
        return t->reaper.main_reaped ? 0 : t->launched.pid;
    if (target_has_main(g)) {
        const struct member *m = members_find(&t->members, g->id);
        return cgroups_is_there(m) && (m->root_of & g->bit) ? g->id : 0;
    }
    const struct member *first = targets_any_member(t, g);
    return first ? first->process.entity.pid : 0;
}

/* Somebody is in it again. */
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
 * was then tells whether a later one is of this run. */
static void take_base(struct cgroup *c, uint64_t *ret_peak_bytes)
{
    struct instance_list list = {0};
    cgroup_collect(c, &list);
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
static struct cgroup *cgroup_around(struct toll_tracker *t, pid_t pid)
{
    struct cgroup *c, *known;
    if (cgroup_open_of(&c, &t->root, pid) < 0)
        return NULL;
    known = cgroups_find(&t->cgroups, c);
    if (!known && cgroups_add(&t->cgroups, c, false) == 0)
        return c;
    cgroup_close(c);
    return known;
}

/* Of the process, and of the cgroup it is in. */
static void cgroups_read_limits(struct toll_tracker *t, struct target *g, pid_t pid,
                                struct cgroup *c)
{
    struct limits *limits = &target_summary_of(t, g)->limits;
    limits_done(limits);
    limits_read(limits, &t->root, pid, g->cgroup ? g->cgroup : c);
}

/* What the kernel says of the cgroups of a process, in a number; 0 when it says nothing. */
static uint64_t cgroups_of(struct toll_tracker *t, pid_t pid)
{
    ssize_t n = process_read_once(&t->reader, pid, "cgroup");
    uint64_t hash = 14695981039346656037U; /* FNV-1a */
    for (ssize_t i = 0; i < n; i++)
        hash = (hash ^ (unsigned char)t->reader.text[i]) * 1099511628211U;
    return n > 0 ? hash : 0;
}

/* Whether the process is in other cgroups than when it was last asked. Of one in its last moments
 * version 1 says that it is in the root. */
static bool has_moved(struct toll_tracker *t, struct target *g, pid_t pid)
{
    uint64_t now = cgroups_of(t, pid);
    if (!now || now == g->cgroups_hash || process_is_leaving(&t->reader, pid))
        return false;
    g->cgroups_hash = now;
    return true;
}

/* Many who start a job put it into its cgroup afterwards. */
static void cgroups_follow(struct toll_tracker *t)
{
    if (t->is_probe)
        return; /* a single look has no limits, and the cgroups it was told to look at */
    for (size_t i = 0; i < t->target_count; i++) {
        struct target *g = &t->targets[i];
        pid_t pid = g->ended ? 0 : cgroups_representative(t, g);
        if (!pid)
            continue;
        if (!has_moved(t, g, pid)) {
            limits_read_resources(&target_summary_of(t, g)->limits, &t->root, pid);
            continue;
        }
        g->inside = g->cgroup ? NULL : cgroup_around(t, pid);
        cgroups_read_limits(t, g, pid, g->inside);
    }
}

/* The files of a cgroup stay open, some thirty. Where descriptors are scarce the command needs them
 * more: then they are opened when it runs and our limit is raised. */
void cgroups_prepare(struct toll_tracker *t)
{
    enum { ENOUGH_FILES = 128 };
    if (file_limit_is_below(ENOUGH_FILES))
        return;
    sysroot_open_rest(&t->root);
    t->cgroups.own = cgroup_around(t, 0);
}

void cgroups_open(struct toll_tracker *t)
{
    for (size_t i = 0; i < t->target_count; i++)
        if (t->targets[i].cgroup)
            cgroups_add(&t->cgroups, t->targets[i].cgroup, true);
    /* A command may have ended already: then it was where we are. */
    if (is_launched(t)) {
        t->whole->cgroups_hash = t->replay ? 0 : cgroups_of(t, t->discovery.tracker_pid);
        t->whole->inside = t->cgroups.own ? t->cgroups.own : cgroup_around(t, 0);
        cgroups_read_limits(t, t->whole, t->launched.pid, t->whole->inside);
    }
    cgroups_follow(t);
    if (!t->replay) /* a recorded machine is there from the first tick on */
        t->cgroups.follow_ns = t->start_ns + FOLLOW_NS;
}

void cgroups_close(struct toll_tracker *t)
{
    struct cgroups *s = &t->cgroups;
    for (size_t i = 0; i < s->count; i++)
        if (!s->around[i].is_target)
            cgroup_close(s->around[i].cgroup);
    for (size_t i = 0; t->whole && i < t->target_count; i++)
        limits_done(&target_summary_of(t, &t->targets[i])->limits);
    free(s->around);
    *s = (struct cgroups){0};
}

/* ---- Reading --------------------------------------------------------------------------------- */

/* The cgroup's own row stands before those of its devices. When it is gone, what was last read of
 * it still counts. */
static void collect_target(struct toll_tracker *t, struct target *g)
{
    struct instance_list *list = &t->machine.list;
    size_t at = list->count;
    cgroup_collect(g->cgroup, list);
    if (list->count > at)
        g->cgroup_instance = list->items[at];
}

struct company {
    const struct toll_tracker *t;
    bool has_members;
};

static void meet_member(void *arg, pid_t pid)
{
    struct company *c = arg;
    const struct member *m = members_find(&c->t->members, pid);
    c->has_members |= m && m->targets;
}

static bool is_inhabited(const struct toll_tracker *t, struct cgroup *c)
{
    struct company company = {.t = t};
    for (size_t i = 0; i < t->target_count; i++)
        if (!t->targets[i].ended && t->targets[i].inside == c)
            return true;
    cgroup_each_pid(c, meet_member, &company);
    return company.has_members;
}

/* A target may pass through hundreds of cgroups. What was last read of one that it has left stays;
 * the descriptors do not. */
static void collect_around(struct toll_tracker *t, struct around *a)
{
    if (a->is_target || a->was_left)
        return;
    cgroup_collect(a->cgroup, &t->machine.list);
    a->was_left = !t->frame.last && !is_inhabited(t, a->cgroup);
    if (a->was_left)
        cgroup_close_files(a->cgroup);
}

/* A young target is followed more closely. */
static uint64_t follow_again_ns(const struct toll_tracker *t)
{
    return t->frame.mono_ns + min_u64(REFRESH_NS, max_u64(t->frame.elapsed_ns / 2, FOLLOW_NS));
}

void cgroups_tick(struct toll_tracker *t)
{
    struct cgroups *s = &t->cgroups;
    uint64_t now_ns = t->frame.mono_ns;
    if (now_ns >= s->follow_ns) {
        cgroups_follow(t);
        s->follow_ns = follow_again_ns(t);
    }
    for (size_t i = 0; i < t->target_count; i++)
        if (t->targets[i].cgroup)
            collect_target(t, &t->targets[i]);
    if (now_ns < s->next_ns && !t->frame.last && s->count == s->collected)
        return;
    /* A short job is over before a second is: the older, the rarer. */
    s->next_ns = now_ns + min_u64(REFRESH_NS, max_u64(t->frame.elapsed_ns, FOLLOW_NS));
    s->collected = s->count;
    for (size_t i = 0; i < s->count; i++)
        collect_around(t, &s->around[i]);
}

/* Version 2 divides the CPU time into user and system time, in microseconds. Version 1 counts ticks
 * beside it, cut off at both ends: they say in what proportion it is divided. Neither ever falls.
 */
static void divide_cpu_of_cgroup(struct target *g, const struct row *before)
{
    struct row *row = &g->parts[PART_COMBINED];
    uint64_t cpu = row_u64(row, process_cpu_seconds);
    uint64_t user = row_u64(row, process_cpu_user_seconds);
    uint64_t system = row_u64(row, process_cpu_system_seconds);
    if (max_u64(cpu, user + system) - min_u64(cpu, user + system) > 10 * NS_PER_US)
        g->cgroup_has_ticks = true;
    if (!g->cgroup_has_ticks)
        return;
    user = ledger_user_share(cpu, user, system, row_u64(before, process_cpu_user_seconds),
                             row_u64(before, process_cpu_system_seconds));
    row_put_u64(row, process_cpu_user_seconds, user);
    row_put_u64(row, process_cpu_system_seconds, cpu - user);
}

/* Not the bytes of storage: version 1 leaves out what is written back later, and what version 2
 * counts is not what the processes caused. */
void cgroups_put(struct target *g)
{
    static const enum metric_id same[][2] = {
        {process_cpu_seconds, cgroup_cpu_seconds},
        {process_cpu_user_seconds, cgroup_cpu_user_seconds},
        {process_cpu_system_seconds, cgroup_cpu_system_seconds},
    };
    const struct row *row = g->cgroup_instance ? &g->cgroup_instance->row : NULL;
    uint64_t bits = 0;
    for (size_t i = 0; row && i < ARRAY_LEN(same); i++) {
        if (!row_has(row, same[i][1]))
            continue;
        row_put_u64(&g->parts[PART_COMBINED], same[i][0], row_u64(row, same[i][1]));
        bits |= BIT(same[i][0]);
    }
    g->cgroup_bits |= bits;
    if (bits == (BIT(process_cpu_seconds) | BIT(process_cpu_user_seconds) |
                 BIT(process_cpu_system_seconds)))
        divide_cpu_of_cgroup(g, &g->of_cgroup);
    g->of_cgroup = g->parts[PART_COMBINED];
}

void cgroups_last_look(struct toll_tracker *t)
{
    if (t->whole && !t->replay)
        limits_read_resources(&t->summary.whole.limits, &t->root, t->launched.pid);
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
static bool has_peak_of_this_run(const struct toll_tracker *t,
                                 const struct instance_summary *instance)
{
    const struct series *peak = cgroup_series(instance, cgroup_memory_peak_bytes);
    uint64_t before = NOT_KNOWN;
    for (size_t i = 0; i < t->cgroups.count; i++)
        if (strcmp(cgroup_name(t->cgroups.around[i].cgroup),
                   entity_name(&instance->instance->entity)) == 0)
            before = t->cgroups.around[i].peak_bytes;
    return peak->count && before != NOT_KNOWN && peak->max > (double)before;
}

/* What was charged rises and falls between two reads. The most it was in this run is at least what
 * was read, and what the kernel kept where that is of this run. */
static void take_kernels_peak(const struct toll_tracker *t, const struct instance_summary *instance)
{
    struct series *now = &instance->series[cgroup_memory_bytes - cgroup_first];
    if (now->count && has_peak_of_this_run(t, instance))
        series_at_least(now, cgroup_series(instance, cgroup_memory_peak_bytes)->max);
}

/* A limit of a cgroup is on what is charged to it. Without a peak of this run only what samples saw
 * is known, unless the kernel counted that the limit was met. */
static void use_memory_of_cgroup(const struct toll_tracker *t, const struct summary *summary,
                                 struct limit *l)
{
    const struct instance_summary *instance = cgroup_instance(summary, l->cgroup, "memory_cgroup");
    if (!instance)
        return;
    const struct series *now = cgroup_series(instance, cgroup_memory_bytes);
    const struct series *peak = cgroup_series(instance, cgroup_memory_peak_bytes);
    if (has_peak_of_this_run(t, instance))
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

static void use_of_target(const struct toll_tracker *t, const struct summary *summary,
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
        use_memory_of_cgroup(t, summary, &of[LIMIT_MEMORY_BYTES]);
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

void cgroups_use_limits(const struct toll_tracker *t, struct summary *s)
{
    for (size_t i = 0; i < s->instance_count; i++)
        if (s->instances[i].instance->entity.kind == ENTITY_CGROUP)
            take_kernels_peak(t, &s->instances[i]);
    for (size_t i = 0; t->whole && i < s->target_count; i++)
        use_of_target(t, s, &s->targets[i]);
    if (t->whole && !s->target_count)
        use_of_target(t, s, &s->whole);
}

/* ---- The end --------------------------------------------------------------------------------- */

static void note_kills(struct toll_tracker *t, struct cgroup *c, uint64_t grown)
{
    outputs_note(t, "the kernel killed %llu process%s of cgroup %s for want of memory",
                 (unsigned long long)grown, grown == 1 ? "" : "es", cgroup_name(c));
}

static uint64_t kills_in(const struct around *a)
{
    uint64_t now;
    bool known = a->oom_kills != NOT_KNOWN && cgroup_oom_kills_seen(a->cgroup, &now);
    return known ? left_u64(now, a->oom_kills) : 0;
}

static void note_all_kills(struct toll_tracker *t)
{
    const struct cgroups *s = &t->cgroups;
    for (size_t i = 0; i < s->count; i++) {
        uint64_t grown = kills_in(&s->around[i]);
        if (grown)
            note_kills(t, s->around[i].cgroup, grown);
    }
}

struct neighbours {
    struct toll_tracker *t;
    const struct target *g;
    bool others;
};

static void meet_neighbour(void *arg, pid_t pid)
{
    struct neighbours *n = arg;
    const struct member *m = members_find(&n->t->members, pid);
    bool is_ours = (m && (m->targets & n->g->bit)) || pid == main_pid(n->t, n->g) ||
                   membership_is_stranger(n->t, pid);
    /* We and those who wait for us live: none of them was the victim. */
    n->others |= !is_ours && !process_is_above(&n->t->reader, pid, n->t->discovery.tracker_pid);
}

/* By the counters of the cgroups the targets are in, never by the signal alone. Where others are in
 * the same cgroup, the victim may have been one of them. */
static bool must_be_victim(struct toll_tracker *t, const struct target *g)
{
    const struct cgroups *s = &t->cgroups;
    struct neighbours n = {.t = t, .g = g};
    bool grown = false;
    for (size_t i = 0; i < s->count; i++) {
        if (!kills_in(&s->around[i]))
            continue;
        grown = true;
        cgroup_each_pid(s->around[i].cgroup, meet_neighbour, &n);
    }
    return grown && !n.others && !t->timeout.killed;
}

static bool was_oom_killed(struct toll_tracker *t, const struct target *g)
{
    enum kernel_log_answer log = KERNEL_LOG_UNKNOWN;
    if (t->root.live)
        log = kernel_log_killed(&t->root, main_pid(t, g), t->start_ns);
    return log == KERNEL_LOG_YES || (log == KERNEL_LOG_UNKNOWN && must_be_victim(t, g));
}

/* What signals prove; the rest stands in the line of what was allowed. */
static void note_limit(struct toll_tracker *t, const struct target_summary *s)
{
    static const struct {
        enum limit_kind kind;
        const char *unit, *what, *name;
    } kinds[] = {
        {LIMIT_CPU_SECONDS, " s", "of CPU time", "RLIMIT_CPU"},
        {LIMIT_FILE_BYTES, " bytes", "for a file", "RLIMIT_FSIZE"},
    };
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        const struct limit *l = &s->limits.of[kinds[i].kind];
        char value[40] = "";
        if (!l->reached)
            continue;
        if (l->known && !l->unlimited) /* the job may have set it, and died before it was read */
            snprintf(value, sizeof value, "of %llu%s ", (unsigned long long)l->value,
                     kinds[i].unit);
        outputs_note(t, "the limit %s%s was reached (%s)", value, kinds[i].what, kinds[i].name);
    }
}

static void note_task_limit(struct toll_tracker *t)
{
    for (size_t i = 0; i < t->summary.instance_count; i++) {
        const struct instance_summary *instance = &t->summary.instances[i];
        const struct entity *e = &instance->instance->entity;
        if (e->kind != ENTITY_CGROUP)
            continue;
        uint64_t hits = instance->series[cgroup_tasks_limit_events_count - cgroup_first].last.u;
        if (hits)
            outputs_note(t, "the limit on tasks of cgroup %s was reached %llu times",
                         path_of_figures(e, "tasks_cgroup"), (unsigned long long)hits);
    }
}

/* With SIGXCPU the kernel raises the soft limit by a second, and it is read after that. Its own
 * count, in ticks, may be ahead of the time that the process had. */
static void undo_raised_cpu_limit(struct target_summary *s)
{
    struct limit *l = &s->limits.of[LIMIT_CPU_SECONDS];
    if (l->reached && l->has_used && l->value > 1 && l->used + 0.5 < (double)l->value)
        l->value--;
}

void cgroups_finish(struct toll_tracker *t)
{
    note_all_kills(t);
    for (size_t i = 0; i < t->target_count; i++) {
        struct target *g = &t->targets[i];
        struct target_summary *s = target_summary_of(t, g);
        if (target_has_main(g) && s->end.signaled && s->end.status == SIGKILL)
            s->end.oom_killed = was_oom_killed(t, g);
    }
    cgroups_use_limits(t, &t->summary);
    for (size_t i = 0; i < t->target_count; i++) {
        undo_raised_cpu_limit(target_summary_of(t, &t->targets[i]));
        note_limit(t, target_summary_of(t, &t->targets[i]));
    }
    note_task_limit(t);
}
