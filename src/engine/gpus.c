/* SPDX-License-Identifier: MIT */
#include "engine/gpus.h"

#include "base/err.h"
#include "collect/gpu_reader.h"
#include "engine/outputs.h"

#include <string.h>

/* A driver's figures are of the last second at most: longer a frame does not hold, unless the next
 * one cannot be there yet. */
#define HOLDS_NS (1500 * NS_PER_MS)
#define LATE_NS  NS_PER_SECOND

enum { CHECK_MS = 10000, ASKED_MS = 250, LAST_FRAME_MS = 60, END_MS = 20 };

/* ---- Beginning and end ----------------------------------------------------------------------- */

static bool is_likely(void)
{
    struct sysroot root;
    if (sysroot_open(&root, NULL, NULL) < 0)
        return false;
    bool likely = false;
    for (size_t i = 0; gpu_vendors[i] && !likely; i++)
        likely = gpu_vendors[i]->is_likely(&root);
    sysroot_close(&root);
    return likely;
}

static void leave_out(struct selection *s)
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
        leave_out(&t->selection);
    }
    return 0;
}

static bool is_on(const struct toll_tracker *t)
{
    return t->gpus.choice.kind != GPUS_NONE && !t->replay;
}

static int start(struct toll_tracker *t)
{
    if (t->gpus.reader)
        return 0;
    open_files_note(&t->gpus.files_before);
    return gpu_reader_start(&t->gpus.reader, &t->root, gpu_vendors, t->gpus.choice.is_asked);
}

int gpus_check(struct toll_tracker *t, struct toll_error *e)
{
    struct gpus *g = &t->gpus;
    struct gpu_trouble why;
    if (!is_on(t) || !g->choice.is_asked)
        return 0;
    int r = start(t);
    if (r < 0)
        return err_set(e, r, "cannot read GPUs: %s", strerror(-r));
    gpu_reader_ask(g->reader, NULL, 0, 0);
    if (g->choice.kind != GPUS_NAMED) {
        gpu_reader_wait_frame(g->reader, ASKED_MS);
        return 0;
    }
    if (!gpu_reader_wait_frame(g->reader, CHECK_MS) && gpu_reader_vendors(g->reader) != 0)
        return err_set(e, -ETIMEDOUT, "the GPUs did not answer for %d s", CHECK_MS / 1000);
    g->is_unseen = gpu_reader_take(g->reader, &g->frame);
    if (g->frame.device_count)
        return gpu_choice_check(&g->choice, g->frame.devices, g->frame.device_count, e);
    gpu_reader_excuse(g->reader, &why);
    gpu_reader_says(g->reader, &why);
    return err_set(e, -ENODEV, "there is no GPU here%s%s", *why.sentence ? ": " : "", why.sentence);
}

void gpus_hide_files(struct toll_tracker *t)
{
    if (t->gpus.reader)
        open_files_hide_new(&t->gpus.files_before);
}

void gpus_open(struct toll_tracker *t)
{
    if (!is_on(t))
        return;
    int r = start(t);
    if (r < 0 && t->gpus.choice.is_asked)
        outputs_note(t, "GPUs cannot be read: %s", strerror(-r));
    /* Where nothing looks like a GPU and no vendor's library finds one, there is none. */
    t->run.gpus = t->gpus.reader && (gpu_reader_vendors(t->gpus.reader) != 0 || is_likely());
    gpus_ask(t, clock_mono(NULL));
}

void gpus_close(struct toll_tracker *t)
{
    struct gpus *g = &t->gpus;
    bool has_begun = g->reader && gpu_reader_vendors(g->reader) != -EAGAIN;
    gpu_reader_free(g->reader, has_begun ? END_MS : 0);
    g->reader = NULL;
    open_files_done(&g->files_before);
    gpu_frame_done(&g->frame);
    gpu_things_done(&g->things);
    gpu_uses_done(&g->uses);
    gpu_choice_done(&g->choice);
    free(g->pids);
    g->pids = NULL;
}

pid_t gpus_thread(const struct toll_tracker *t)
{
    return t->gpus.reader ? gpu_reader_thread(t->gpus.reader) : 0;
}

bool gpus_own_child(const struct toll_tracker *t, pid_t pid)
{
    return t->gpus.reader && gpu_reader_has_child(t->gpus.reader, pid);
}

/* ---- Asking ---------------------------------------------------------------------------------- */

static int by_number(const void *a, const void *b)
{
    return *(const pid_t *)a - *(const pid_t *)b;
}

static size_t list_members(struct toll_tracker *t)
{
    struct gpus *g = &t->gpus;
    if (t->members.count > g->pid_capacity) {
        pid_t *more = reallocarray(g->pids, 2 * t->members.count, sizeof *more);
        if (!more)
            return 0;
        g->pids = more;
        g->pid_capacity = 2 * t->members.count;
    }
    size_t count = 0;
    for (size_t i = 0; i < t->members.count; i++) {
        const struct member *m = t->members.order[i];
        if (m->targets && !m->gone && !m->process.has_ended)
            g->pids[count++] = m->process.entity.pid;
    }
    if (count)
        qsort(g->pids, count, sizeof *g->pids, by_number);
    return count;
}

void gpus_ask(struct toll_tracker *t, uint64_t due_ns)
{
    struct gpu_reader *r = t->gpus.reader;
    if (!r || (due_ns && gpu_reader_is_asked(r)))
        return;
    size_t count = list_members(t);
    gpu_reader_ask(r, t->gpus.pids, count, due_ns);
}

/* ---- Taking ---------------------------------------------------------------------------------- */

static void tell_late(struct toll_tracker *t)
{
    struct gpus *g = &t->gpus;
    const struct gpu_vendor *with;
    uint64_t busy_ns = gpu_reader_busy_ns(g->reader, &with);
    if (busy_ns <= LATE_NS || !with || g->late_told)
        return;
    g->late_told = true;
    if (gpu_reader_vendors(g->reader) < 0)
        outputs_note(t,
                     "the driver of %s GPUs (%s) takes long to begin: until it does, no figures of "
                     "GPUs are known",
                     with->people, with->means);
    else
        outputs_note(
            t,
            "%s GPUs (%s) do not answer in time: while they do not, no figures of GPUs are "
            "known",
            with->people, with->means);
}

static void tell(struct toll_tracker *t)
{
    struct gpus *g = &t->gpus;
    struct gpu_trouble said;
    while (gpu_reader_says(g->reader, &said))
        outputs_note(t, "%s", said.sentence);
    if (!g->none_told && g->choice.is_asked && gpu_reader_vendors(g->reader) == 0) {
        g->none_told = true;
        gpu_reader_excuse(g->reader, &said);
        outputs_note(t, "there is no GPU here%s%s", *said.sentence ? ": " : "", said.sentence);
    }
    tell_late(t);
}

static void take(struct toll_tracker *t)
{
    struct gpus *g = &t->gpus;
    uint64_t before_ns = max_u64(g->frame.ended_ns, t->start_ns);
    g->is_new = gpu_reader_take(g->reader, &g->frame) || g->is_unseen;
    g->is_unseen = false;
    if (!g->is_new)
        return;
    gpu_things_meet(&g->things, &g->frame, &g->choice);
    t->run.gpu_count = (unsigned)g->frame.device_count;
    uint64_t most_ns = max_u64(NS_PER_SECOND, 2 * t->frame.interval_ns);
    uint64_t span_ns = min_u64(left_u64(g->frame.ended_ns, before_ns), most_ns);
    gpu_things_put(&g->things, &g->frame, span_ns, &t->machine.list);
    if (!g->scope_told && gpu_things_are_unclear(&g->things, &g->frame)) {
        g->scope_told = true;
        outputs_note(t, "the processes on the GPUs cannot be told apart in this container: figures "
                        "of GPUs are of the whole device (scope: device)");
    }
}

void gpus_tick(struct toll_tracker *t)
{
    struct gpus *g = &t->gpus;
    if (!g->reader)
        return;
    if ((t->frame.last || t->is_probe) && gpu_reader_vendors(g->reader) > 0) {
        gpus_ask(t, 0);
        gpu_reader_wait_frame(g->reader, t->is_probe ? ASKED_MS : LAST_FRAME_MS);
    }
    take(t);
    tell(t);
    bool was_fresh = g->is_fresh;
    g->is_fresh = g->frame.device_count &&
                  left_u64(t->frame.mono_ns, g->frame.ended_ns) <= HOLDS_NS + g->frame.rest_ns;
    t->members_changed |= g->is_new || was_fresh != g->is_fresh;
    if (g->is_fresh)
        gpu_things_sum(&g->things, &g->frame, &t->machine.system.read);
}
