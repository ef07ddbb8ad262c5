/* SPDX-License-Identifier: MIT */
#include "engine/target/gpus.h"

#include "base/err.h"
#include "base/memory.h"
#include "engine/outputs.h"
#include "source/gpu/readers.h"

#include <string.h>

/* ==== Gpus ==================================================================================== */

/* A driver's figures are of the last second at most: longer they do not hold, unless the next ones
 * cannot be there yet. */
#define HOLDS_NS (1500 * NS_PER_MS)
#define LATE_NS  NS_PER_SECOND

enum { CHECK_MS = 10000, LOOK_MS = 50, ASKED_MS = 250, LAST_FRAME_MS = 60, END_MS = 20 };

/* ---- Beginning and end ----------------------------------------------------------------------- */

static bool is_likely(void)
{
    struct sysroot root;
    if (sysroot_open(&root, NULL, NULL) < 0)
        return false;
    bool likely = gpu_vendors_are_likely(gpu_vendors, &root);
    sysroot_close(&root);
    return likely;
}

static void gpus_leave_out(struct selection *s)
{
    for (unsigned part = 0; part < PARTS; part++)
        s->parts[part] &= ~PROCESS_GPU_BITS;
    s->of[ENTITY_PROCESS] &= ~PROCESS_GPU_BITS;
    s->of[ENTITY_GPU] = 0;
    s->of[ENTITY_SYSTEM] &= ~(BIT(system_gpu_utilization_ratio - system_first) |
                              BIT(system_gpu_memory_used_bytes - system_first));
}

int gpus_take(struct toll_tracker *t, const char *choice, struct toll_error *e)
{
    struct gpu_choice *c = &t->gpus.choice;
    int r = gpu_choice_parse(c, choice, e);
    if (r < 0)
        return r == -ENOMEM ? err_set(e, r, "no memory for the choice of GPUs") : r;
    if (c->kind != GPUS_NONE && t->options.metrics && strstr(t->options.metrics, "gpu"))
        c->is_asked = true;
    bool is_wanted = t->selection.of[ENTITY_GPU] ||
                     (selection_wanted(&t->selection) & PROCESS_GPU_BITS);
    if ((c->kind == GPUS_NONE || !is_wanted) && is_likely())
        t->run.gpus_unread = true;
    if (c->kind == GPUS_NONE || !is_wanted || (!c->is_asked && !is_likely())) {
        gpu_choice_done(c);
        gpus_leave_out(&t->selection);
    }
    return 0;
}

int gpus_count(struct toll_tracker *t, const char *names, struct toll_error *e)
{
    struct gpu_choice counted;
    int r = gpu_choice_parse(&counted, names, e);
    if (r < 0)
        return r == -ENOMEM ? err_set(e, r, "no memory for the choice of GPUs") : r;
    gpu_choice_done(&t->gpus.counted);
    t->gpus.counted = counted;
    return 0;
}

static bool is_on(const struct toll_tracker *t)
{
    return t->gpus.choice.kind != GPUS_NONE && !t->replay;
}

static int gpus_start(struct toll_tracker *t)
{
    if (t->gpus.readers)
        return 0;
    open_files_note(&t->gpus.files_before);
    return gpu_readers_start(&t->gpus.readers, &t->tracked.root, gpu_vendors,
                             t->gpus.choice.is_asked);
}

/* Those that are named have to be there; a vendor whose devices nobody named is not waited for. */
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
    return late ? err_set(e, -ETIMEDOUT, "%s GPUs (%s) did not answer for %d s", late->people,
                          late->means, CHECK_MS / 1000)
                : r;
}

int gpus_check(struct toll_tracker *t, struct toll_error *e)
{
    struct gpus *g = &t->gpus;
    struct gpu_trouble why;
    if (!is_on(t))
        return 0;
    int r = gpus_start(t);
    if (!g->choice.is_asked)
        return 0; /* nor is it waited for */
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
    return err_set(e, -ENODEV, "there is no GPU here%s%s", *why.sentence ? ": " : "", why.sentence);
}

void gpus_hide_files(struct toll_tracker *t)
{
    if (t->gpus.readers)
        open_files_hide_new(&t->gpus.files_before);
}

void gpus_open(struct toll_tracker *t)
{
    if (!is_on(t))
        return;
    int r = gpus_start(t);
    if (r < 0 && t->gpus.choice.is_asked)
        tracked_note(&t->tracked, "GPUs cannot be read: %s", strerror(-r));
    /* Where nothing looks like a GPU and no vendor's library finds one, there is none. */
    t->run.gpus = t->gpus.readers && (gpu_readers_open_count(t->gpus.readers) != 0 || is_likely());
    gpus_ask(t, clock_mono(NULL));
}

void gpus_stop(struct toll_tracker *t)
{
    struct gpus *g = &t->gpus;
    gpu_readers_free(g->readers, END_MS);
    g->readers = NULL;
    open_files_done(&g->files_before);
    gpu_frame_done(&g->frame);
}

void gpus_close(struct toll_tracker *t)
{
    struct gpus *g = &t->gpus;
    gpus_stop(t);
    gpu_instances_done(&g->instances);
    gpu_uses_done(&g->uses);
    gpu_choice_done(&g->choice);
    gpu_choice_done(&g->counted);
    free(g->pids);
    g->pids = NULL;
}

size_t gpus_threads(const struct toll_tracker *t, pid_t ret[GPU_READERS_MAX])
{
    return t->gpus.readers ? gpu_readers_threads(t->gpus.readers, ret) : 0;
}

uint64_t gpus_helper_cpu_ns(const struct toll_tracker *t)
{
    return t->gpus.readers ? gpu_readers_helper_cpu_ns(t->gpus.readers) : 0;
}

bool gpus_own_child(const struct gpus *g, pid_t pid)
{
    return g->readers && gpu_readers_have_child(g->readers, pid);
}

/* ---- Asking ---------------------------------------------------------------------------------- */

static int gpus_by_number(const void *a, const void *b)
{
    return *(const pid_t *)a - *(const pid_t *)b;
}

static size_t list_members(struct toll_tracker *t)
{
    struct gpus *g = &t->gpus;
    if (!ARRAY_RESERVE(g->pids, g->pid_capacity, t->tracked.members.count))
        return 0;
    size_t count = 0;
    for (size_t i = 0; i < t->tracked.members.count; i++) {
        const struct member *m = t->tracked.members.order[i];
        if (m->targets && !m->gone && !m->process.has_ended)
            g->pids[count++] = m->process.entity.pid;
    }
    if (count)
        qsort(g->pids, count, sizeof *g->pids, gpus_by_number);
    return count;
}

void gpus_ask(struct toll_tracker *t, uint64_t due_ns)
{
    struct gpu_readers *r = t->gpus.readers;
    if (!r || (due_ns && gpu_readers_are_asked(r)))
        return;
    size_t count = list_members(t);
    gpu_readers_ask(r, t->gpus.pids, count, due_ns);
}

/* ---- Taking ---------------------------------------------------------------------------------- */

/* Sums over all GPUs are unknown with those of one. */
static void tell_late(struct toll_tracker *t)
{
    const struct gpu_vendor *late;
    bool is_beginning;
    while ((late = gpu_readers_late(t->gpus.readers, LATE_NS, &is_beginning)))
        if (is_beginning)
            tracked_note(&t->tracked,
                         "the driver of %s GPUs (%s) takes long to begin: until it does, neither "
                         "their figures nor sums over all GPUs are known",
                         late->people, late->means);
        else
            tracked_note(&t->tracked,
                         "%s GPUs (%s) do not answer in time: while they do not, neither their "
                         "figures nor sums over all GPUs are known",
                         late->people, late->means);
}

static void gpus_tell(struct toll_tracker *t)
{
    struct gpus *g = &t->gpus;
    struct gpu_trouble said;
    while (gpu_readers_say(g->readers, &said))
        tracked_note(&t->tracked, "%s", said.sentence);
    if (!g->none_told && g->choice.is_asked && gpu_readers_open_count(g->readers) == 0) {
        g->none_told = true;
        gpu_readers_excuse(g->readers, &said);
        tracked_note(&t->tracked, "there is no GPU here%s%s", *said.sentence ? ": " : "",
                     said.sentence);
    }
    tell_late(t);
}

static void gpus_take_frame(struct toll_tracker *t)
{
    struct gpus *g = &t->gpus;
    g->is_new = gpu_readers_take(g->readers, &g->frame) || g->is_unseen;
    g->is_unseen = false;
    if (!g->is_new)
        return;
    gpu_instances_meet(&g->instances, &g->frame, &g->choice, &g->counted);
    if (gpu_readers_are_complete(g->readers))
        t->run.gpu_count = (unsigned)g->frame.device_count;
    uint64_t most_ns = max_u64(NS_PER_SECOND, 2 * t->frame.interval_ns);
    gpu_instances_put(&g->instances, &g->frame, t->tracked.start_ns, most_ns, &t->machine.list);
    if (!g->scope_told && gpu_instances_are_unclear(&g->instances, &g->frame)) {
        g->scope_told = true;
        tracked_note(&t->tracked,
                     "the processes on the GPUs cannot be told apart in this container: figures "
                     "of GPUs are of the whole device (scope: device)");
    }
}

/* A vendor that has not told its devices yet may have some that are meant. */
static bool is_awaiting(const struct gpus *g)
{
    return !gpu_readers_are_complete(g->readers) &&
           gpu_choice_awaits(&g->choice, g->frame.devices, g->frame.device_count);
}

void gpus_tick(struct toll_tracker *t)
{
    struct gpus *g = &t->gpus;
    if (!g->readers)
        return;
    if (t->frame.last || t->tracked.is_probe) {
        gpus_ask(t, 0);
        int more_ms = t->frame.last ? gpu_readers_hurry(g->readers) : 0;
        gpu_readers_wait(g->readers, t->tracked.is_probe ? ASKED_MS : LAST_FRAME_MS + more_ms,
                         false);
    }
    gpus_take_frame(t);
    gpus_tell(t);
    bool was_fresh = g->is_fresh;
    t->run.gpus_awaited = is_awaiting(g);
    g->is_fresh = !t->run.gpus_awaited &&
                  gpu_instances_are_fresh(&g->instances, &g->frame, t->frame.mono_ns, HOLDS_NS);
    t->tracked.members_changed |= g->is_new || was_fresh != g->is_fresh;
    struct row *system = &t->machine.system.read;
    if (g->is_fresh)
        gpu_instances_sum(&g->instances, &g->frame, system);
    if (!row_has(system, system_gpu_utilization_ratio))
        g->utilization_missing_ns += t->frame.interval_ns;
    if (!row_has(system, system_gpu_memory_used_bytes))
        g->memory_missing_ns += t->frame.interval_ns;
}

void gpus_judge(const struct toll_tracker *t, struct summary *s)
{
    const struct gpus *g = &t->gpus;
    uint64_t elapsed_ns = t->frame.elapsed_ns;
    if (!g->readers)
        return;
    gpu_instances_judge(&g->instances, s, t->tracked.start_ns, t->tracked.start_ns + elapsed_ns);
    const struct {
        enum metric_id id;
        uint64_t missing_ns;
    } sums[] = {{system_gpu_utilization_ratio, g->utilization_missing_ns},
                {system_gpu_memory_used_bytes, g->memory_missing_ns}};
    for (size_t n = 0; n < s->instance_count; n++)
        for (size_t i = 0; s->instances[n].instance == &t->machine.system && i < ARRAY_LEN(sums);
             i++)
            s->instances[n].series[sums[i].id - system_first].coverage =
                gpu_instances_is_partial(sums[i].missing_ns, elapsed_ns) ? COVERED_PARTLY : COVERED;
}

/* ==== Gpu members ============================================================================= */

/* What the processes of targets have of GPUs. */

/* What all chosen devices tell of every process: a sum that leaves one of them out is none. A
 * divided one is its instances. */
struct gpu_members_told {
    bool memory, share;
    bool busy;  /* one counts engine time at least … */
    bool users; /* … and all say who uses them */
};

static struct gpu_members_told gpu_members_told(const struct gpus *g)
{
    struct gpu_members_told all = {.memory = true, .share = true, .users = true};
    bool any = false;
    for (unsigned i = 0; i < g->frame.device_count; i++) {
        const struct gpu_device *d = &g->frame.devices[i];
        if (!gpu_instances_chosen(&g->instances, i) || d->is_divided)
            continue;
        any = true;
        all.memory &= (d->tells & GPU_TELLS_MEMORY) != 0;
        all.share &= (d->tells & (GPU_TELLS_SHARE | GPU_TELLS_BUSY)) != 0;
        all.busy |= (d->tells & GPU_TELLS_BUSY) != 0;
        all.users &= d->tells != 0;
    }
    return any ? all : (struct gpu_members_told){0};
}

/* It has used a GPU for a time that nobody counts. */
static bool has_untold_time(const struct member *m)
{
    return m->process.denied & BIT(process_gpu_seconds);
}

/* Whoever is not listed has nothing. Engine time is a counter, and stays what it was. */
static void begin_member(struct member *m, const struct gpu_members_told *told)
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
    bool from_birth = is_launched(&t->tracked) || t->options.since_start ||
                      m->process.entity.start_ticks >= t->tracked.discovery.start_ticks;
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
        struct member *m = members_find(&t->tracked.members, u->items[i].pid);
        if (m && !has_untold_time(m))
            row_put_u64(&m->process.own, process_gpu_seconds, 0);
    }
    for (size_t i = 0; i < u->count; i++) {
        struct member *m = members_find(&t->tracked.members, u->items[i].pid);
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

static void gpu_members_add_process(struct toll_tracker *t, struct member *m,
                                    const struct gpu_process *p)
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

static void gpu_members_fill_in(struct toll_tracker *t)
{
    struct gpus *g = &t->gpus;
    gpu_uses_begin(&g->uses);
    for (size_t i = 0; i < g->frame.process_count; i++) {
        const struct gpu_process *p = &g->frame.processes[i];
        struct member *m = p->pid > 0 ? members_find(&t->tracked.members, p->pid) : NULL;
        if (m && m->was_seen && gpu_instances_chosen(&g->instances, p->device))
            gpu_members_add_process(t, m, p);
    }
    gpu_uses_end(&g->uses, &g->frame);
    sum_busy(t);
}

void gpus_members(struct toll_tracker *t)
{
    struct gpus *g = &t->gpus;
    if (!g->readers || !t->tracked.members_changed)
        return;
    struct gpu_members_told all = gpu_members_told(g);
    bool is_clear = all.users && !gpu_instances_are_unclear(&g->instances, &g->frame);
    g->is_known = g->is_fresh && is_clear;
    if (!g->is_known)
        all = (struct gpu_members_told){0};
    for (size_t i = 0; i < t->tracked.members.count; i++)
        begin_member(t->tracked.members.order[i], &all);
    if (is_clear) /* engine time goes on where one vendor of several does not answer */
        gpu_members_fill_in(t);
}

/* ---- How many ------------------------------------------------------------------------------- */

static void put_count(struct row *row, uint64_t devices)
{
    row_put_u64(row, process_gpus_count, (uint64_t)__builtin_popcountll(devices));
}

/* What a driver can tell of one moment and not of the next. */
static const enum metric_id gauges[TARGET_GPU_GAUGES] = {
    process_gpu_memory_bytes, process_gpu_utilization_ratio, process_gpus_count};

static void gpu_members_count_missing(const struct toll_tracker *t, struct target *g)
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
            struct provenance *v = &s->provenance[part][gauges[i]];
            if (v->quality == QUALITY_UNKNOWN ||
                !gpu_instances_is_partial(g->gpu_missing_ns[part][i], t->frame.elapsed_ns))
                continue;
            if (s->series[part][gauges[i]].max > 0)
                v->quality = QUALITY_LOWER_BOUND;
            else
                *v = (struct provenance){.quality = QUALITY_UNKNOWN, .source = ""};
        }
}

static void gpu_members_put_counts(const struct toll_tracker *t, struct target *g)
{
    uint64_t of[PARTS] = {0};
    for (size_t i = 0; i < t->tracked.members.count; i++) {
        const struct member *m = t->tracked.members.order[i];
        if (!(member_targets(&t->tracked, m) & g->bit) || m->gone)
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
        gpu_members_put_counts(t, g);
    gpu_members_count_missing(t, g);
}
