/* SPDX-License-Identifier: MIT */
#include "engine/target/gpus.h"

#include "base/clock.h"
#include "base/err.h"
#include "base/memory.h"

#include <string.h>

/* Figures of a driver are of the last second at most. They do not hold longer than this, unless the
 * next ones cannot be there yet. */
#define HOLDS_NS (1500 * NS_PER_MS)
#define LATE_NS  NS_PER_SECOND

enum { CHECK_MS = 10000, LOOK_MS = 50, ASKED_MS = 250, LAST_FRAME_MS = 60, END_MS = 20 };

/* ---- Beginning and end ----------------------------------------------------------------------- */

static bool gpus_are_likely(void)
{
    struct sysroot root;
    if (!gpu_traces_are_here() || sysroot_open(&root, NULL, NULL) < 0)
        return false;
    bool likely = gpu_vendors_are_likely(gpu_vendors, &root);
    sysroot_close(&root);
    return likely;
}

int gpus_take(struct gpus *g, const struct toll_options *o, struct selection *s, struct run *run,
              struct toll_error *e)
{
    struct gpu_choice *c = &g->choice;
    int r = gpu_choice_parse(c, o->gpus, e);
    if (r < 0)
        return r == -ENOMEM ? err_set(e, r, "cannot choose GPUs: out of memory") : r;
    if (c->kind != GPUS_NONE && o->metrics && strstr(o->metrics, "gpu"))
        c->is_asked = true;
    bool is_wanted = s->of[ENTITY_GPU] || (selection_wanted(s) & PROCESS_GPU_BITS);
    if ((c->kind == GPUS_NONE || !is_wanted) && gpus_are_likely())
        run->gpus_unread = true;
    if (c->kind != GPUS_NONE && is_wanted && (c->is_asked || gpus_are_likely()))
        return 0;
    gpu_choice_done(c);
    for (unsigned part = 0; part < PARTS; part++)
        s->parts[part] &= ~PROCESS_GPU_BITS;
    s->of[ENTITY_PROCESS] &= ~PROCESS_GPU_BITS;
    s->of[ENTITY_GPU] = 0;
    s->of[ENTITY_SYSTEM] &= ~(BIT(system_gpu_utilization_ratio - system_first) |
                              BIT(system_gpu_memory_used_bytes - system_first));
    return 0;
}

int gpus_count(struct gpus *g, const char *names, struct toll_error *e)
{
    struct gpu_choice counted;
    int r = gpu_choice_parse(&counted, names, e);
    if (r < 0)
        return r == -ENOMEM ? err_set(e, r, "cannot choose GPUs: out of memory") : r;
    gpu_choice_done(&g->counted);
    g->counted = counted;
    return 0;
}

static int gpus_start(struct gpus *g, const struct sysroot *root)
{
    if (g->readers)
        return 0;
    open_files_note(&g->files_before);
    return gpu_readers_start(&g->readers, root, gpu_vendors, g->choice.is_asked);
}

/* GPUs that are named have to be there. A vendor of which no device is named is not waited for. */
static int gpus_check_names(struct gpus *g, const struct gpu_choice *choice, struct toll_error *e)
{
    uint64_t until_ns = clock_mono(NULL) + CHECK_MS * NS_PER_MS;
    bool is_beginning, are_all;
    do {
        are_all = gpu_readers_wait(g->readers, LOOK_MS, true);
        g->is_unseen |= gpu_readers_take(g->readers, &g->frame);
    } while (!are_all && gpu_choice_awaits(choice, g->frame.devices, g->frame.device_count) &&
             clock_mono(NULL) < until_ns);
    if (are_all && !g->frame.device_count)
        return -ENODEV;
    int r = gpu_choice_check(choice, g->frame.devices, g->frame.device_count, e);
    if (r == 0 || are_all)
        return r;
    const struct gpu_vendor *late = gpu_readers_late(g->readers, LATE_NS, &is_beginning);
    return late ? err_set(e, -ETIMEDOUT, "gpus: no response from %s GPUs (%s) for %d s",
                          late->people, late->means, CHECK_MS / 1000)
                : r;
}

int gpus_check(struct gpus *g, const struct tracked *t, struct toll_error *e)
{
    struct gpu_trouble why;
    if (g->choice.kind == GPUS_NONE)
        return 0;
    int r = gpus_start(g, &t->root);
    if (!g->choice.is_asked)
        return 0; /* no wait and no error either */
    if (r < 0)
        return err_set(e, r, "cannot read GPUs: %s", strerror(-r));
    gpu_readers_ask(g->readers, NULL, 0, 0);
    if (g->counted.kind == GPUS_NAMED && (r = gpus_check_names(g, &g->counted, e)) < 0 &&
        r != -ENODEV)
        return r; /* where there is no GPU at all, none can be missing */
    if (g->choice.kind != GPUS_NAMED) {
        gpu_readers_wait(g->readers, ASKED_MS, true);
        return 0;
    }
    r = gpus_check_names(g, &g->choice, e);
    if (r != -ENODEV)
        return r;
    gpu_readers_excuse(g->readers, &why);
    gpu_readers_say(g->readers, &why);
    return err_set(e, -ENODEV, "gpus: no GPU found%s%s", *why.sentence ? ": " : "", why.sentence);
}

void gpus_hide_files(struct gpus *g)
{
    if (g->readers)
        open_files_hide_new(&g->files_before);
}

void gpus_open(struct gpus *g, struct tracked *t, struct run *run)
{
    if (g->choice.kind == GPUS_NONE)
        return;
    int r = gpus_start(g, &t->root);
    if (r < 0 && g->choice.is_asked)
        tracked_note(t, "cannot read GPUs: %s", strerror(-r));
    /* Where no file shows a GPU and no vendor's library finds one, there is none. */
    run->gpus = g->readers && (gpu_readers_open_count(g->readers) != 0 || gpus_are_likely());
    gpus_ask(g, t, clock_mono(NULL));
}

void gpus_stop(struct gpus *g)
{
    gpu_readers_free(g->readers, END_MS);
    g->readers = NULL;
    open_files_done(&g->files_before);
    gpu_frame_done(&g->frame);
}

void gpus_close(struct gpus *g)
{
    gpus_stop(g);
    gpu_instances_done(&g->instances);
    gpu_uses_done(&g->uses);
    gpu_choice_done(&g->choice);
    gpu_choice_done(&g->counted);
    free(g->pids);
    g->pids = NULL;
}

size_t gpus_threads(const struct gpus *g, pid_t ret[GPU_READERS_MAX])
{
    return g->readers ? gpu_readers_threads(g->readers, ret) : 0;
}

uint64_t gpus_helper_cpu_ns(const struct gpus *g)
{
    return g->readers ? gpu_readers_helper_cpu_ns(g->readers) : 0;
}

bool gpus_own_child(const struct gpus *g, pid_t pid)
{
    return g->readers && gpu_readers_have_child(g->readers, pid);
}

/* ---- Frames ---------------------------------------------------------------------------------- */

static int gpus_compare_pids(const void *a, const void *b)
{
    return *(const pid_t *)a - *(const pid_t *)b;
}

void gpus_ask(struct gpus *g, const struct tracked *t, uint64_t due_ns)
{
    size_t count = 0;
    if (!g->readers || (due_ns && gpu_readers_are_asked(g->readers)))
        return;
    if (ARRAY_RESERVE(g->pids, g->pid_capacity, t->members.count))
        for (size_t i = 0; i < t->members.count; i++) {
            const struct member *m = t->members.order[i];
            if (m->targets && !m->gone && !m->process.has_ended)
                g->pids[count++] = m->process.entity.pid;
        }
    if (count)
        qsort(g->pids, count, sizeof *g->pids, gpus_compare_pids);
    gpu_readers_ask(g->readers, g->pids, count, due_ns);
}

/* Sums over all GPUs are unknown while one of them is. */
static void gpus_note_trouble(struct gpus *g, struct tracked *t)
{
    struct gpu_trouble said;
    const struct gpu_vendor *late;
    bool is_beginning;
    while (gpu_readers_say(g->readers, &said))
        tracked_note(t, "%s", said.sentence);
    if (!g->none_said && g->choice.is_asked && gpu_readers_open_count(g->readers) == 0) {
        g->none_said = true;
        gpu_readers_excuse(g->readers, &said);
        tracked_note(t, "no GPU found%s%s", *said.sentence ? ": " : "", said.sentence);
    }
    while ((late = gpu_readers_late(g->readers, LATE_NS, &is_beginning)))
        if (is_beginning)
            tracked_note(t,
                         "the driver of %s GPUs (%s) is slow to start; figures of these GPUs and "
                         "totals of all GPUs are unknown until it has started",
                         late->people, late->means);
        else
            tracked_note(t,
                         "%s GPUs (%s) do not respond in time; their figures and totals of all "
                         "GPUs are unknown until they do",
                         late->people, late->means);
}

void gpus_tick(struct gpus *g, struct tracked *t, const struct frame *f, struct run *run,
               struct instance_list *list, struct row *system)
{
    if (!g->readers)
        return;
    if (f->last || t->is_probe) {
        gpus_ask(g, t, 0);
        int more_ms = f->last ? gpu_readers_hurry(g->readers) : 0;
        gpu_readers_wait(g->readers, t->is_probe ? ASKED_MS : LAST_FRAME_MS + more_ms, false);
    }
    g->is_new = gpu_readers_take(g->readers, &g->frame) || g->is_unseen;
    g->is_unseen = false;
    bool are_complete = gpu_readers_are_complete(g->readers);
    if (g->is_new) {
        gpu_instances_meet(&g->instances, &g->frame, &g->choice, &g->counted);
        if (are_complete)
            run->gpu_count = (unsigned)g->frame.device_count;
        uint64_t most_ns = max_u64(NS_PER_SECOND, 2 * f->interval_ns);
        gpu_instances_put(&g->instances, &g->frame, t->start_ns, most_ns, list);
        if (!g->scope_said && gpu_instances_are_unclear(&g->instances, &g->frame)) {
            g->scope_said = true;
            tracked_note(t, "cannot distinguish the processes on GPUs in this container; GPU "
                            "figures are of the whole device (scope: device)");
        }
    }
    gpus_note_trouble(g, t);
    bool was_fresh = g->is_fresh;
    /* A vendor that has not listed its devices yet may have some that are chosen. */
    run->gpus_awaited = !are_complete &&
                        gpu_choice_awaits(&g->choice, g->frame.devices, g->frame.device_count);
    g->is_fresh = !run->gpus_awaited &&
                  gpu_instances_are_fresh(&g->instances, &g->frame, f->mono_ns, HOLDS_NS);
    t->members_changed |= g->is_new || was_fresh != g->is_fresh;
    if (g->is_fresh)
        gpu_instances_sum(&g->instances, &g->frame, system);
    if (!row_has(system, system_gpu_utilization_ratio))
        g->utilization_missing_ns += f->interval_ns;
    if (!row_has(system, system_gpu_memory_used_bytes))
        g->memory_missing_ns += f->interval_ns;
}

void gpus_judge(const struct gpus *g, struct summary *s, const struct instance *system,
                uint64_t start_ns, uint64_t elapsed_ns)
{
    if (!g->readers)
        return;
    gpu_instances_judge(&g->instances, s, start_ns, start_ns + elapsed_ns);
    const struct {
        enum metric_id id;
        uint64_t missing_ns;
    } sums[] = {{system_gpu_utilization_ratio, g->utilization_missing_ns},
                {system_gpu_memory_used_bytes, g->memory_missing_ns}};
    for (size_t n = 0; n < s->instance_count; n++)
        for (size_t i = 0; s->instances[n].instance == system && i < ARRAY_LEN(sums); i++)
            s->instances[n].series[sums[i].id - system_first].coverage =
                gpu_instances_is_partial(sums[i].missing_ns, elapsed_ns) ? COVERED_PARTLY : COVERED;
}

/* ---- Members --------------------------------------------------------------------------------- */

/* Engine time of a process that has used a GPU whose driver does not count it is never known. */
static bool gpus_lack_time(const struct member *m)
{
    return m->process.denied & BIT(process_gpu_seconds);
}

static void gpus_add_share(struct row *own, bool is_known, double share)
{
    if (!row_has(own, process_gpu_utilization_ratio))
        return;
    if (is_known)
        row_put_double(own, process_gpu_utilization_ratio,
                       row_value(own, process_gpu_utilization_ratio).d + share);
    else
        row_unknown(own, process_gpu_utilization_ratio);
}

/* Adds what a process of the frame has of one GPU to its member. */
static void gpus_add_process(struct gpus *g, const struct tracked *t, struct member *m,
                             const struct gpu_process *p)
{
    struct row *own = &m->process.own;
    const struct gpu_device *d = &g->frame.devices[p->device];
    if (!p->has_left)
        m->gpus |= BIT(p->device & 63);
    if (row_has(own, process_gpu_memory_bytes) && p->has_memory)
        row_put_u64(own, process_gpu_memory_bytes,
                    sum_u64(row_u64(own, process_gpu_memory_bytes), p->memory_bytes));
    else
        row_unknown(own, process_gpu_memory_bytes);
    if (d->lists & GPU_LISTS_SHARE)
        gpus_add_share(own, p->has_share, p->share);
    if (p->has_busy) {
        bool from_birth = is_launched(t) || t->options->since_start ||
                          m->process.entity.start_ticks >= t->discovery.start_ticks;
        const struct gpu_use *use = gpu_uses_look(&g->uses, p, from_birth, d->read_ns);
        if (use && !p->has_share)
            gpus_add_share(own, use->share >= 0, use->share);
        return;
    }
    /* Its time is not known now, or never, where it is not counted: then the time on other devices
     * is not all of it. */
    bool is_counted = d->lists & GPU_LISTS_BUSY && !p->is_uncounted;
    bool was_known = gpu_uses_keep(&g->uses, p);
    if (!is_counted)
        m->process.denied |= BIT(process_gpu_seconds);
    if (!is_counted || !was_known)
        row_unknown(own, process_gpu_seconds);
}

void gpus_members(struct gpus *g, struct tracked *t)
{
    if (!g->readers || !t->members_changed)
        return;
    /* What all chosen devices report for every process: a sum without one of them is unknown. The
     * instances of a divided device take its place. */
    bool any = false, all_memory = true, all_share = true, all_users = true, any_busy = false;
    for (unsigned i = 0; i < g->frame.device_count; i++) {
        const struct gpu_device *d = &g->frame.devices[i];
        if (!gpu_instances_chosen(&g->instances, i) || d->is_divided)
            continue;
        any = true;
        all_memory &= (d->lists & GPU_LISTS_MEMORY) != 0;
        all_share &= (d->lists & (GPU_LISTS_SHARE | GPU_LISTS_BUSY)) != 0;
        any_busy |= (d->lists & GPU_LISTS_BUSY) != 0;
        all_users &= d->lists != 0;
    }
    bool is_clear = any && all_users && !gpu_instances_are_unclear(&g->instances, &g->frame);
    g->is_known = g->is_fresh && is_clear;
    /* A process that is not listed has nothing. Engine time is a counter, and is kept. */
    for (size_t i = 0; i < t->members.count; i++) {
        struct member *m = t->members.order[i];
        struct row *own = &m->process.own;
        m->gpus = 0;
        own->present &= ~(BIT(process_gpu_memory_bytes) | BIT(process_gpu_utilization_ratio));
        if (g->is_known && all_memory)
            row_put_u64(own, process_gpu_memory_bytes, 0);
        if (g->is_known && all_share)
            row_put_double(own, process_gpu_utilization_ratio, 0);
        if (g->is_known && any_busy && !row_has(own, process_gpu_seconds) && !gpus_lack_time(m))
            row_put_u64(own, process_gpu_seconds, 0);
    }
    if (!is_clear)
        return;
    /* Engine time goes on where one vendor of several does not answer. */
    gpu_uses_begin(&g->uses);
    for (size_t i = 0; i < g->frame.process_count; i++) {
        const struct gpu_process *p = &g->frame.processes[i];
        struct member *m = p->pid > 0 ? members_find(&t->members, p->pid) : NULL;
        if (m && m->was_seen && gpu_instances_chosen(&g->instances, p->device))
            gpus_add_process(g, t, m, p);
    }
    gpu_uses_end(&g->uses, &g->frame);
    /* Engine time is the sum over all devices, also over those that the process has left. */
    for (unsigned pass = 0; pass < 2; pass++)
        for (size_t i = 0; i < g->uses.count; i++) {
            struct member *m = members_find(&t->members, g->uses.items[i].pid);
            if (!m || gpus_lack_time(m))
                continue;
            struct row *own = &m->process.own;
            uint64_t sum_ns = row_u64(own, process_gpu_seconds) + g->uses.items[i].total_ns;
            row_put_u64(own, process_gpu_seconds, pass == 0 ? 0 : sum_ns);
        }
}

/* ---- Targets --------------------------------------------------------------------------------- */

/* Gauges that a driver may report at one moment and not at the next. */
static const enum metric_id gauges[TARGET_GPU_GAUGES] = {
    process_gpu_memory_bytes, process_gpu_utilization_ratio, process_gpus_count};

void gpus_put(const struct gpus *g, const struct tracked *t, const struct frame *f,
              struct target *target)
{
    if (!g->readers)
        return;
    uint64_t devices[PARTS] = {0};
    for (size_t i = 0; g->is_known && i < t->members.count; i++) {
        const struct member *m = t->members.order[i];
        if (!(member_targets(t, m) & target->bit) || m->gone)
            continue;
        devices[PART_COMBINED] |= m->gpus;
        devices[m->main_of & target->bit ? PART_MAIN : PART_DESCENDANTS] |= m->gpus;
    }
    for (unsigned part = 0; part < PARTS; part++) {
        struct row *row = &target->parts[part];
        if (g->is_known && row_has(row, process_processes_count)) /* a process is alive */
            row_put_u64(row, process_gpus_count, (uint64_t)__builtin_popcountll(devices[part]));
        for (unsigned i = 0; i < TARGET_GPU_GAUGES; i++)
            if (row_u64(row, process_processes_count) && !row_has(row, gauges[i]))
                target->gpu_missing_ns[part][i] += f->interval_ns;
    }
}

void gpus_judge_target(const struct gpus *g, const struct target *target, uint64_t elapsed_ns,
                       struct target_summary *s)
{
    if (!g->readers)
        return;
    for (unsigned part = 0; part < PARTS; part++)
        for (unsigned i = 0; i < TARGET_GPU_GAUGES; i++) {
            struct provenance *v = &s->provenance[part][gauges[i]];
            if (v->quality == QUALITY_UNKNOWN ||
                !gpu_instances_is_partial(target->gpu_missing_ns[part][i], elapsed_ns))
                continue;
            if (s->series[part][gauges[i]].max > 0)
                v->quality = QUALITY_LOWER_BOUND;
            else
                *v = (struct provenance){.quality = QUALITY_UNKNOWN, .source = ""};
        }
}
