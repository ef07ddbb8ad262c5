/* SPDX-License-Identifier: MIT
 * What the processes of targets have of GPUs. */
#include "engine/gpus.h"

/* What all chosen devices tell of every process: a sum that leaves one of them out is none. A
 * divided one is its instances. */
struct told {
    bool memory, share;
    bool busy;  /* one counts engine time at least … */
    bool users; /* … and all say who uses them */
};

static struct told told(const struct gpus *g)
{
    struct told all = {.memory = true, .share = true, .users = true};
    bool any = false;
    for (unsigned i = 0; i < g->frame.device_count; i++) {
        const struct gpu_device *d = &g->frame.devices[i];
        if (!gpu_things_chosen(&g->things, i) || d->is_divided)
            continue;
        any = true;
        all.memory &= (d->tells & GPU_TELLS_MEMORY) != 0;
        all.share &= (d->tells & (GPU_TELLS_SHARE | GPU_TELLS_BUSY)) != 0;
        all.busy |= (d->tells & GPU_TELLS_BUSY) != 0;
        all.users &= d->tells != 0;
    }
    return any ? all : (struct told){0};
}

/* It has used a GPU for a time that nobody counts. */
static bool has_untold_time(const struct member *m)
{
    return m->process.denied & BIT(process_gpu_seconds);
}

/* Whoever is not listed has nothing. Engine time is a counter, and stays what it was. */
static void begin_member(struct member *m, const struct told *told)
{
    struct row *own = &m->process.own;
    m->gpus = 0;
    own->present &= ~(BIT(process_gpu_memory_bytes) | BIT(process_gpu_utilization_ratio));
    if (told->memory)
        row_put_u64(own, process_gpu_memory_bytes, 0);
    if (told->share)
        row_put_double(own, process_gpu_utilization_ratio, 0);
    if (told->busy && told->users && !row_has(own, process_gpu_seconds) && !has_untold_time(m))
        row_put_u64(own, process_gpu_seconds, 0);
}

static void add_share(struct row *own, bool is_known, double share)
{
    if (!row_has(own, process_gpu_utilization_ratio))
        return;
    if (is_known)
        row_put_double(own, process_gpu_utilization_ratio,
                       row_value(own, process_gpu_utilization_ratio).d + share);
    else
        row_unknown(own, process_gpu_utilization_ratio);
}

static void add_busy(struct toll_tracker *t, struct member *m, const struct gpu_process *p)
{
    struct gpus *g = &t->gpus;
    struct row *own = &m->process.own;
    bool from_birth = is_launched(t) || t->options.since_start ||
                      m->process.entity.start_ticks >= t->discovery.start_ticks;
    const struct gpu_use *use = gpu_uses_look(&g->uses, p, from_birth,
                                              g->frame.devices[p->device].read_ns);
    if (!use)
        return;
    if (!p->has_share)
        add_share(own, use->share >= 0, use->share);
}

/* What it used of all devices, also of those it has left. */
static void sum_busy(struct toll_tracker *t)
{
    const struct gpu_uses *u = &t->gpus.uses;
    for (size_t i = 0; i < u->count; i++) {
        struct member *m = members_find(&t->members, u->items[i].pid);
        if (m && !has_untold_time(m))
            row_put_u64(&m->process.own, process_gpu_seconds, 0);
    }
    for (size_t i = 0; i < u->count; i++) {
        struct member *m = members_find(&t->members, u->items[i].pid);
        if (m && !has_untold_time(m))
            row_put_u64(&m->process.own, process_gpu_seconds,
                        row_u64(&m->process.own, process_gpu_seconds) + u->items[i].total_ns);
    }
}

static void add_memory(struct row *own, const struct gpu_process *p)
{
    if (!row_has(own, process_gpu_memory_bytes))
        return;
    if (p->has_memory)
        row_put_u64(own, process_gpu_memory_bytes,
                    sum_u64(row_u64(own, process_gpu_memory_bytes), p->memory_bytes));
    else
        row_unknown(own, process_gpu_memory_bytes);
}

/* Its time cannot be told just now; or never, where it is not counted: then what other devices
 * count is not all of it. */
static void miss_busy(struct toll_tracker *t, struct member *m, const struct gpu_process *p)
{
    bool is_counted = t->gpus.frame.devices[p->device].tells & GPU_TELLS_BUSY && !p->is_uncounted;
    bool was_told = gpu_uses_keep(&t->gpus.uses, p);
    if (!is_counted)
        m->process.denied |= BIT(process_gpu_seconds);
    if (!is_counted || !was_told)
        row_unknown(&m->process.own, process_gpu_seconds);
}

static void add_process(struct toll_tracker *t, struct member *m, const struct gpu_process *p)
{
    struct row *own = &m->process.own;
    unsigned tells = t->gpus.frame.devices[p->device].tells;
    if (!p->has_left)
        m->gpus |= BIT(p->device & 63);
    add_memory(own, p);
    if (tells & GPU_TELLS_SHARE)
        add_share(own, p->has_share, p->share);
    if (p->has_busy)
        add_busy(t, m, p);
    else
        miss_busy(t, m, p);
}

static void fill_in(struct toll_tracker *t)
{
    struct gpus *g = &t->gpus;
    gpu_uses_begin(&g->uses);
    for (size_t i = 0; i < g->frame.process_count; i++) {
        const struct gpu_process *p = &g->frame.processes[i];
        struct member *m = p->pid > 0 ? members_find(&t->members, p->pid) : NULL;
        if (m && m->was_seen && gpu_things_chosen(&g->things, p->device))
            add_process(t, m, p);
    }
    gpu_uses_end(&g->uses, &g->frame);
    sum_busy(t);
}

void gpus_members(struct toll_tracker *t)
{
    struct gpus *g = &t->gpus;
    if (!g->readers || !t->members_changed)
        return;
    struct told all = told(g);
    bool is_clear = all.users && !gpu_things_are_unclear(&g->things, &g->frame);
    g->is_known = g->is_fresh && is_clear;
    if (!g->is_known)
        all = (struct told){0};
    for (size_t i = 0; i < t->members.count; i++)
        begin_member(t->members.order[i], &all);
    if (is_clear) /* engine time goes on where one vendor of several does not answer */
        fill_in(t);
}

/* ---- How many ------------------------------------------------------------------------------- */

static void put_count(struct row *row, uint64_t devices)
{
    row_put_u64(row, process_gpus_count, (uint64_t)__builtin_popcountll(devices));
}

/* What a driver can tell of one moment and not of the next. */
static const enum metric_id gauges[TARGET_GPU_GAUGES] = {
    process_gpu_memory_bytes, process_gpu_utilization_ratio, process_gpus_count};

static void count_missing(const struct toll_tracker *t, struct target *g)
{
    for (unsigned part = 0; part < PARTS; part++)
        for (unsigned i = 0; i < TARGET_GPU_GAUGES; i++)
            if (row_u64(&g->parts[part], process_processes_count) &&
                !row_has(&g->parts[part], gauges[i]))
                g->gpu_missing_ns[part][i] += t->frame.interval_ns;
}

void gpus_judge_target(const struct toll_tracker *t, const struct target *g,
                       struct target_summary *s)
{
    if (!t->gpus.readers)
        return;
    for (unsigned part = 0; part < PARTS; part++)
        for (unsigned i = 0; i < TARGET_GPU_GAUGES; i++) {
            struct verdict *v = &s->verdicts[part][gauges[i]];
            if (v->quality == QUALITY_UNKNOWN ||
                !gpu_things_is_partial(g->gpu_missing_ns[part][i], t->frame.elapsed_ns))
                continue;
            if (s->series[part][gauges[i]].max > 0)
                v->quality = QUALITY_LOWER_BOUND;
            else
                *v = (struct verdict){.quality = QUALITY_UNKNOWN, .rung = ""};
        }
}

static void put_counts(const struct toll_tracker *t, struct target *g)
{
    uint64_t of[PARTS] = {0};
    for (size_t i = 0; i < t->members.count; i++) {
        const struct member *m = t->members.order[i];
        if (!(member_targets(t, m) & g->bit) || m->gone)
            continue;
        of[PART_COMBINED] |= m->gpus;
        of[m->main_of & g->bit ? PART_MAIN : PART_DESCENDANTS] |= m->gpus;
    }
    for (unsigned part = 0; part < PARTS; part++)
        if (row_has(&g->parts[part], process_processes_count)) /* somebody lives */
            put_count(&g->parts[part], of[part]);
}

void gpus_put(const struct toll_tracker *t, struct target *g)
{
    if (!t->gpus.readers)
        return;
    if (t->gpus.is_known)
        put_counts(t, g);
    count_missing(t, g);
}
