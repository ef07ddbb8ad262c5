/* SPDX-License-Identifier: MIT */
#include "summary/mark_totals.h"

#include "summary/series.h"

void mark_totals_done(struct mark_totals *t)
{
    for (size_t i = 0; i < t->phase_count; i++)
        free(t->phases[i].name);
    for (size_t i = 0; i < t->gauge_count; i++)
        free(t->gauges[i].name);
    free(t->phases);
    free(t->gauges);
    *t = (struct mark_totals){0};
}

bool mark_totals_any(const struct mark_totals *t)
{
    return t->taken || t->ignored || t->lost;
}

/* ---- Phases ---------------------------------------------------------------------------------- */

/* The one of that name, a new one, or NULL when there is no room. */
static struct phase_total *find_phase(struct mark_totals *t, const char *name)
{
    for (size_t i = 0; i < t->phase_count; i++)
        if (strcmp(t->phases[i].name, name) == 0)
            return &t->phases[i];
    if (t->phase_count == MARK_NAMES_AT_MOST)
        return NULL;
    struct phase_total *longer = realloc(t->phases, (t->phase_count + 1) * sizeof *longer);
    if (!longer)
        return NULL;
    t->phases = longer;
    char *copy = strdup(name);
    if (!copy)
        return NULL;
    longer[t->phase_count] = (struct phase_total){.name = copy, .min_ns = UINT64_MAX};
    return &longer[t->phase_count++];
}

static void add_figure(struct phase_total *p, enum metric_id id, const struct phase_figure *f,
                       double seconds)
{
    p->figures[id].known++;
    p->figures[id].partly |= f->quality == QUALITY_LOWER_BOUND;
    p->figures[id].total += f->total;
    p->figures[id].max = p->figures[id].known == 1 || f->max > p->figures[id].max
                             ? f->max
                             : p->figures[id].max;
    p->figures[id].weighted += f->mean * seconds;
    p->figures[id].seconds += seconds;
}

bool mark_totals_phase(struct mark_totals *t, const struct phase_over *over)
{
    struct phase_total *p = find_phase(t, over->name);
    if (!p) {
        t->left_out++;
        return false;
    }
    uint64_t length = left_u64(over->end_ns, over->begin_ns);
    p->pid = p->count ? p->pid : over->pid;
    p->of_several |= p->pid != over->pid;
    p->of_target |= over->of_target;
    p->widened |= over->widened;
    p->count++;
    p->not_ended += over->not_ended;
    p->total_ns += length;
    p->min_ns = min_u64(p->min_ns, length);
    p->max_ns = max_u64(p->max_ns, length);
    /* Several at the same time have the figures of the same target: they count once. */
    bool again = over->widened && over->begin_ns < p->widened_until_ns;
    if (over->widened)
        p->widened_until_ns = max_u64(p->widened_until_ns, over->end_ns);
    bool measured = false;
    for (unsigned id = 0; id < PROCESS_METRICS; id++) {
        struct phase_figure f = phase_figures_of(over->figures, id, over->begin_ns, over->end_ns);
        bool counter = metric_of(id)->kind == METRIC_COUNTER;
        if (f.quality == QUALITY_UNKNOWN || (again && counter))
            continue;
        add_figure(p, id, &f, (double)length / 1e9);
        measured |= counter;
    }
    p->measured += measured;
    return true;
}

static double as_written(double value)
{
    return buf_double_again(value, SERIES_DECIMALS);
}

struct phase_figure phase_total_figure(const struct phase_total *p, enum metric_id id)
{
    bool missing = p->figures[id].known < p->count || p->figures[id].partly;
    bool counter = metric_of(id)->kind == METRIC_COUNTER;
    if (!p->figures[id].known)
        return (struct phase_figure){.quality = QUALITY_UNKNOWN};
    return (struct phase_figure){
        .quality = missing ? QUALITY_LOWER_BOUND : QUALITY_SAMPLED,
        .total = counter ? as_written(p->figures[id].total) : 0,
        .max = as_written(p->figures[id].max),
        .mean = as_written(p->figures[id].seconds > 0
                               ? p->figures[id].weighted / p->figures[id].seconds
                               : p->figures[id].max),
    };
}

/* ---- The program's own figures --------------------------------------------------------------- */

static struct gauge_total *find_gauge(struct mark_totals *t, const char *name)
{
    for (size_t i = 0; i < t->gauge_count; i++)
        if (strcmp(t->gauges[i].name, name) == 0)
            return &t->gauges[i];
    if (t->gauge_count == MARK_NAMES_AT_MOST)
        return NULL;
    struct gauge_total *longer = realloc(t->gauges, (t->gauge_count + 1) * sizeof *longer);
    if (!longer)
        return NULL;
    t->gauges = longer;
    char *copy = strdup(name);
    if (!copy)
        return NULL;
    longer[t->gauge_count] = (struct gauge_total){.name = copy};
    return &longer[t->gauge_count++];
}

bool mark_totals_gauge(struct mark_totals *t, const char *name, double value, uint64_t elapsed_ns)
{
    struct gauge_total *g = find_gauge(t, name);
    if (!g) {
        t->left_out++;
        return false;
    }
    if (!g->count || value > g->max) {
        g->max = value;
        g->max_at_ns = elapsed_ns;
    }
    if (!g->count || value < g->min)
        g->min = value;
    g->count++;
    g->sum += value;
    g->last = value;
    return true;
}
