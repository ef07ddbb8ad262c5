/* SPDX-License-Identifier: MIT
 * Single samples: a tracker that takes a sample on request and writes nothing. The calling
 * process itself is read by calls, without a tracker. */
#include "base/err.h"
#include "base/io/file.h"
#include "engine/step.h"
#include "engine/target/targets.h"
#include "engine/tick.h"
#include "engine/tracker.h"
#include "source/proc/own.h"

#include <string.h>

struct toll_probe {
    struct toll_tracker *tracker; /* owned; NULL: the calling process, by calls */
    struct own_figures own;
    struct selection selection;
};

/* Figures that a single look has not: how long it was watched, what that cost, and what of GPUs
 * counts from the first reading on. Memory on GPUs it has. */
static void probe_leave_out(struct selection *s)
{
    for (unsigned part = 0; part < PARTS; part++)
        s->parts[part] &= ~(BIT(process_wall_seconds) | BIT(process_gpu_seconds));
    s->of[ENTITY_PROCESS] &= ~BIT(process_gpu_seconds);
    s->of[ENTITY_SELF] = 0;
    for (unsigned i = 0; i < metric_count(ENTITY_GPU); i++)
        if (metric_of(gpu_first + i)->kind == METRIC_COUNTER)
            s->of[ENTITY_GPU] &= ~BIT(i);
}

static int probe_take_options(struct toll_options *ret, const struct toll_options *asked,
                              struct toll_error *e)
{
    struct toll_options o;
    int r = sized_take(&o, sizeof o, asked, "options", e);
    if (r < 0)
        return r;
    *ret = (struct toll_options){
        .size = sizeof *ret,
        .metrics = o.metrics,
        .memory = o.memory,
        .processes = o.processes,
        .no_children = o.no_children,
        .system = o.system,
        .network = o.network,
        .since_start = true,
        .gpus = o.gpus ? o.gpus : "none", /* a driver may take its time */
    };
    return 0;
}

/* Calls give most figures of the calling process; the rest is not worth files
 * unless it was asked for by name. */
static bool is_by_calls(const struct toll_probe *p, const struct toll_target *target,
                        const struct toll_options *o)
{
    bool is_self = target && target->kind == TOLL_TARGET_PROCESS &&
                   (target->id == 0 || target->id == getpid());
    bool asks_more = p->selection.by_name && !own_figures_give(p->selection.parts[PART_COMBINED]);
    bool has_gpus = strcmp(o->gpus, "none") != 0;
    return is_self && o->no_children && !o->system && !o->network && !has_gpus &&
           o->memory != TOLL_MEMORY_PSS && o->processes == TOLL_PROCESSES_NONE && !asks_more;
}

static int open_tracker(struct toll_probe *p, const struct toll_target *target,
                        struct toll_options *o, struct toll_error *e)
{
    size_t files_before = target ? open_files_count() : 0;
    o->system |= !target;
    int r = lifetime_new(&p->tracker, o, e);
    if (r < 0)
        return r;
    p->tracker->tracked.is_probe = true;
    if (target)
        r = toll_tracker_add_target(p->tracker, target, e);
    if (r == 0)
        r = begin_attach(p->tracker, e);
    if (r == 0 && files_before) {
        /* A program that looks at itself does not see what it takes to look. */
        struct process_reader *reader = &p->tracker->tracked.reader;
        reader->own_files = left_u64(open_files_count(), files_before + reader->cache.used);
    }
    return r;
}

int toll_probe_new(struct toll_probe **ret, const struct toll_target *target,
                   const struct toll_options *options, struct toll_error *e)
{
    struct toll_options o;
    int r = ret ? probe_take_options(&o, options, e) : err_set_no_place(e);
    if (r < 0)
        return r;
    struct toll_probe *p = calloc(1, sizeof *p);
    if (!p)
        return err_set(e, -ENOMEM, "cannot create a probe: out of memory");
    r = selection_parse(&p->selection, o.metrics, e);
    if (r == 0 && is_by_calls(p, target, &o))
        own_figures_open(&p->own);
    else if (r == 0)
        r = open_tracker(p, target, &o, e);
    probe_leave_out(&p->selection);
    if (r < 0)
        toll_probe_free(p);
    else
        *ret = p;
    return r;
}

static struct frame_copy *copy_own(struct toll_probe *p, int *result)
{
    struct row row;
    *result = own_figures_read(&p->own, p->selection.parts[PART_COMBINED], &row);
    if (*result < 0)
        return NULL;
    static const struct entity entity = {.kind = ENTITY_TARGET};
    struct frame frame = {.real_ns = clock_real(NULL), .last = true};
    frame.target[PART_COMBINED] = (struct frame_row){&entity, &row};
    return frame_copy_new_whole(&frame, &p->selection);
}

int toll_probe_read(struct toll_probe *p, struct toll_frame **ret)
{
    if (!p || !ret)
        return -EINVAL;
    int r = 0;
    struct frame_copy *frame;
    struct toll_tracker *t = p->tracker;
    if (!t)
        frame = copy_own(p, &r);
    else if (is_elsewhere(t) || (t->tracked.whole && step_targets_ended(t)))
        return -ESRCH;
    else
        frame = frame_copy_new(tick(t, TICK_DUE), &p->selection);
    if (!frame)
        return r < 0 ? r : -ENOMEM;
    *ret = &frame->head;
    return 0;
}

void toll_probe_free(struct toll_probe *p)
{
    if (p && p->tracker)
        toll_tracker_free(p->tracker);
    else if (p)
        own_figures_close(&p->own);
    free(p);
}

int toll_snapshot(struct toll_frame **ret, const struct toll_target *target,
                  const struct toll_options *options, struct toll_error *e)
{
    struct toll_probe *p;
    if (!ret)
        return err_set_no_place(e);
    int r = toll_probe_new(&p, target, options, e);
    if (r < 0)
        return r;
    r = toll_probe_read(p, ret);
    toll_probe_free(p);
    return r < 0 ? err_set(e, r, "cannot read the figures: %s", strerror(-r)) : 0;
}
