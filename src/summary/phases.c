/* SPDX-License-Identifier: MIT */
#include "summary/phases.h"

#include "base/memory.h"
#include "summary/series.h"

/* ==== Mark totals ============================================================================= */

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
static struct phase_total *mark_totals_find_phase(struct mark_totals *t, const char *name)
{
    for (size_t i = 0; i < t->phase_count; i++)
        if (strcmp(t->phases[i].name, name) == 0)
            return &t->phases[i];
    if (t->phase_count == MARK_NAMES_AT_MOST)
        return NULL;
    char *copy = ARRAY_GROW(t->phases, t->phase_count) ? strdup(name) : NULL;
    if (!copy)
        return NULL;
    t->phases[t->phase_count] = (struct phase_total){.name = copy, .min_ns = UINT64_MAX};
    return &t->phases[t->phase_count++];
}

static void mark_totals_add_figure(struct phase_total *p, enum metric_id id,
                                   const struct phase_figure *f, double seconds)
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
    struct phase_total *p = mark_totals_find_phase(t, over->name);
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
    bool instance = false;
    for (unsigned id = 0; id < PROCESS_METRICS; id++) {
        struct phase_figure f = phase_figures_of(over->figures, id, over->begin_ns, over->end_ns);
        bool counter = metric_of(id)->kind == METRIC_COUNTER;
        if (f.quality == QUALITY_UNKNOWN || (again && counter))
            continue;
        mark_totals_add_figure(p, id, &f, (double)length / 1e9);
        instance |= counter;
    }
    p->instance += instance;
    return true;
}

static double phase_as_written(double value)
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
        .total = counter ? phase_as_written(p->figures[id].total) : 0,
        .max = phase_as_written(p->figures[id].max),
        .mean = phase_as_written(p->figures[id].seconds > 0
                                     ? p->figures[id].weighted / p->figures[id].seconds
                                     : p->figures[id].max),
    };
}

/* ---- The program's own figures --------------------------------------------------------------- */

static struct gauge_total *mark_totals_find_gauge(struct mark_totals *t, const char *name)
{
    for (size_t i = 0; i < t->gauge_count; i++)
        if (strcmp(t->gauges[i].name, name) == 0)
            return &t->gauges[i];
    if (t->gauge_count == MARK_NAMES_AT_MOST)
        return NULL;
    char *copy = ARRAY_GROW(t->gauges, t->gauge_count) ? strdup(name) : NULL;
    if (!copy)
        return NULL;
    t->gauges[t->gauge_count] = (struct gauge_total){.name = copy};
    return &t->gauges[t->gauge_count++];
}

bool mark_totals_gauge(struct mark_totals *t, const char *name, double value, uint64_t elapsed_ns)
{
    struct gauge_total *g = mark_totals_find_gauge(t, name);
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

/* ==== Phase figures =========================================================================== */

void phase_figures_init(struct phase_figures *f)
{
    *f = (struct phase_figures){0};
    row_init(&f->base, ENTITY_PROCESS);
    row_init(&f->most, ENTITY_PROCESS);
}

static void phase_look_at_counter(struct phase_figures *f, enum metric_id id, uint64_t value)
{
    if (!row_has(&f->base, id)) {
        row_put_u64(&f->base, id, value);
        row_put_u64(&f->most, id, value);
        return;
    }
    uint64_t most = row_u64(&f->most, id);
    bool was_low = f->low >> id & 1;
    f->low = value < most ? f->low | BIT(id) : f->low & ~BIT(id);
    /* Who was reaped behind the back of one look is there at the next; an orphan never again. */
    if (value < most && (was_low || metric_of(id)->fold == FOLD_KEPT))
        f->fell |= BIT(id);
    row_put_u64(&f->most, id, max_u64(most, value));
}

static void phase_look_at_gauge(struct phase_figures *f, enum metric_id id, double value,
                                uint64_t since_ns)
{
    double seconds = (double)since_ns / 1e9;
    f->peak[id] = f->gauges >> id & 1 && f->peak[id] > value ? f->peak[id] : value;
    f->weighted[id] += value * seconds;
    f->seconds[id] += seconds;
    f->gauges |= BIT(id);
}

/* A process could not be read: what the row has is a lower bound. What that process had used before
 * the phase may come to light in it, so a counter counts from the first look that lacks none. False
 * when the figure is of no use. */
static bool phase_look_at_bound(struct phase_figures *f, enum metric_id id)
{
    if (metric_of(id)->kind == METRIC_COUNTER && !row_has(&f->base, id)) {
        f->late |= BIT(id);
        return false;
    }
    f->lacking |= BIT(id);
    return true;
}

/* What a process that comes and goes between two looks is not in, and comes to light with nothing
 * that happens later: at least so much. Context switches do when a process is reaped. */
static const uint64_t at_least = BIT(process_cpu_wait_seconds) |
                                 BIT(process_processes_started_count);

static bool is_looked_at(const struct metric *m)
{
    return m->fold == FOLD_SUM || m->fold == FOLD_CONSERVED || m->fold == FOLD_KEPT ||
           m->fold == FOLD_WHOLE;
}

bool phase_figures_has(const struct metric *m)
{
    return is_looked_at(m) || m->fold == FOLD_RATE;
}

void phase_figures_look(struct phase_figures *f, const struct row *row, uint64_t at_ns,
                        uint64_t refreshed_ns)
{
    if (!f->looks)
        f->first_ns = f->last_ns = at_ns;
    uint64_t since_ns = left_u64(at_ns, f->last_ns);
    FOR_EACH_BIT(id, row_seen(row))
    {
        const struct metric *m = metric_of(id);
        if (!is_looked_at(m))
            continue;
        if (row->at_least >> id & 1 && !phase_look_at_bound(f, id))
            continue;
        /* Read before the phase began, so that what was used in between would count for the phase:
         * it counts from the first look that has read it since. */
        if (id == process_cpu_wait_seconds && !row_has(&f->base, id) &&
            refreshed_ns < f->first_ns) {
            f->late |= BIT(id);
            continue;
        }
        if (m->kind == METRIC_COUNTER && row_has(row, id))
            f->lacking &= ~BIT(id);
        if (m->kind == METRIC_COUNTER)
            phase_look_at_counter(f, id, row_value(row, id).u);
        else
            phase_look_at_gauge(f, id, metric_number(m, row_value(row, id)), since_ns);
    }
    f->last_ns = max_u64(f->last_ns, at_ns);
    f->looks++;
}

void phase_figures_miss(struct phase_figures *f)
{
    f->missed = true;
}

/* How much of the neighbours may be in the figures. */
static uint64_t outside_ns(const struct phase_figures *f, uint64_t begin_ns, uint64_t end_ns)
{
    return left_u64(begin_ns, f->first_ns) + left_u64(f->last_ns, end_ns);
}

/* Looks that leave out more than a tenth of the phase have seen a part of it: a lower bound, unless
 * they have also seen something of what followed. One that came so late after the end that it may
 * have seen as much again of that has seen nothing of use. */
static enum quality quality_of_looks(const struct phase_figures *f, uint64_t begin_ns,
                                     uint64_t end_ns)
{
    uint64_t length = left_u64(end_ns, begin_ns), outside = outside_ns(f, begin_ns, end_ns);
    uint64_t inside = left_u64(min_u64(f->last_ns, end_ns), max_u64(f->first_ns, begin_ns));
    if (f->looks < 2 || outside > length / 4)
        return QUALITY_UNKNOWN;
    return inside < length - length / 10 && !outside ? QUALITY_LOWER_BOUND : QUALITY_SAMPLED;
}

enum { NEXT_TO_NOTHING = 100 };

/* What a process took along is more than the moment until the look after the end adds. What one
 * that was not read has may be more or less than that. */
static enum quality quality_of_counter(const struct phase_figures *f, enum metric_id id,
                                       uint64_t begin_ns, uint64_t end_ns)
{
    enum quality quality = quality_of_looks(f, begin_ns, end_ns);
    bool misses = f->missed || (f->low | f->fell | at_least) >> id & 1;
    bool lacks = (f->lacking | f->late) >> id & 1;
    if (quality == QUALITY_UNKNOWN || (!misses && !lacks))
        return quality;
    /* The moment until the look after the end adds next to nothing. */
    if (outside_ns(f, begin_ns, end_ns) <= left_u64(end_ns, begin_ns) / NEXT_TO_NOTHING)
        return QUALITY_LOWER_BOUND;
    return lacks ? QUALITY_UNKNOWN : quality;
}

static struct phase_figure phase_figures_counter(const struct phase_figures *f, enum metric_id id,
                                                 uint64_t begin_ns, uint64_t end_ns)
{
    enum quality quality = quality_of_counter(f, id, begin_ns, end_ns);
    /* Counters of energy are renewed up to ten times a second. */
    bool is_too_short = metric_of(id)->unit == UNIT_joules &&
                        left_u64(end_ns, begin_ns) < NS_PER_SECOND;
    if (!row_has(&f->base, id) || quality == QUALITY_UNKNOWN || is_too_short)
        return (struct phase_figure){.quality = QUALITY_UNKNOWN};
    union value grown = {.u = left_u64(row_u64(&f->most, id), row_u64(&f->base, id))};
    return (struct phase_figure){
        .quality = quality,
        .total = metric_number(metric_of(id), grown),
    };
}

struct phase_figure phase_figures_of(const struct phase_figures *f, enum metric_id id,
                                     uint64_t begin_ns, uint64_t end_ns)
{
    const struct metric *m = metric_of(id);
    if (f->recorded)
        return f->recorded[id];
    if (m->kind == METRIC_COUNTER)
        return phase_figures_counter(f, id, begin_ns, end_ns);
    if (m->fold == FOLD_RATE) { /* of the counter in the row above */
        struct phase_figure grown = phase_figures_counter(f, id - 1, begin_ns, end_ns);
        double seconds = (double)left_u64(end_ns, begin_ns) / 1e9;
        bool known = grown.quality != QUALITY_UNKNOWN && seconds > 0;
        return (struct phase_figure){
            .quality = known ? grown.quality : QUALITY_UNKNOWN,
            .mean = known ? grown.total / seconds : 0,
            .max = -1,
        };
    }
    bool too_late = left_u64(f->first_ns, end_ns) > left_u64(end_ns, begin_ns) / 4;
    if (!(f->gauges >> id & 1) || too_late)
        return (struct phase_figure){.quality = QUALITY_UNKNOWN};
    return (struct phase_figure){
        .quality = f->lacking >> id & 1 ? QUALITY_LOWER_BOUND : QUALITY_SAMPLED,
        .max = f->peak[id],
        .mean = f->seconds[id] > 0 ? f->weighted[id] / f->seconds[id] : f->peak[id],
    };
}

/* ==== Phases ================================================================================== */

void phase_free(struct phase *p)
{
    if (!p)
        return;
    free(p->name);
    free(p->attributes);
    free(p);
}

void phases_done(struct phases *p)
{
    for (size_t i = 0; i < p->count; i++)
        phase_free(p->open[i]);
    free(p->open);
    *p = (struct phases){0};
}

/* The index behind the newest one of that name and process; 0: there is none. */
static size_t phases_find(const struct phases *p, const char *name, pid_t pid, bool alive)
{
    for (size_t i = p->count; i; i--) {
        const struct phase *one = p->open[i - 1];
        if (one->pid == pid && !(alive && one->process_left) && strcmp(one->name, name) == 0)
            return i;
    }
    return 0;
}

/* … of that name that nobody is left to end. */
static size_t find_abandoned(const struct phases *p, const char *name,
                             const struct phase_owner *owner)
{
    for (size_t i = p->count; i; i--) {
        const struct phase *one = p->open[i - 1];
        if (strcmp(one->name, name) == 0 &&
            (one->process_left || owner->has_left(owner->context, one)))
            return i;
    }
    return 0;
}

static struct phase *phases_take_out(struct phases *p, size_t at, uint64_t at_ns)
{
    struct phase *one = p->open[at];
    memmove(&p->open[at], &p->open[at + 1], (p->count - at - 1) * sizeof *p->open);
    p->count--;
    one->end_ns = max_u64(at_ns, one->begin_ns);
    return one;
}

int phases_begin(struct phases *p, const char *name, pid_t pid, uint64_t at_ns, struct phase **ret)
{
    size_t at = phases_find(p, name, pid, true); /* another one may have the pid now */
    if (at) {
        p->open[at - 1]->depth++;
        return 1;
    }
    if (p->count == PHASES_AT_MOST)
        return -ENOSPC;
    if (!ARRAY_RESERVE(p->open, p->capacity, p->count + 1))
        return -ENOMEM;
    struct phase *one = calloc(1, sizeof *one);
    char *copy = strdup(name);
    if (!one || !copy) {
        free(one);
        free(copy);
        return -ENOMEM;
    }
    one->name = copy;
    one->pid = pid;
    one->depth = 1;
    one->begin_ns = at_ns;
    phase_figures_init(&one->of_process);
    phase_figures_init(&one->of_target);
    p->open[p->count++] = *ret = one;
    return 0;
}

bool phases_was_begun_for(const struct phases *p, const char *name, pid_t pid)
{
    size_t at = phases_find(p, name, pid, false); /* it may have left since */
    return at && p->open[at - 1]->is_reported_for;
}

int phases_end(struct phases *p, const char *name, pid_t pid, uint64_t at_ns,
               const struct phase_owner *owner, struct phase **ret)
{
    size_t own = phases_find(p, name, pid, false);
    size_t at = own ? own : find_abandoned(p, name, owner);
    if (!at)
        return -ENOENT;
    struct phase *one = p->open[at - 1];
    if (--one->depth)
        return 1;
    /* The process may have said the end and left before anybody looked. */
    one->process_left = !own;
    *ret = phases_take_out(p, at - 1, at_ns);
    return 0;
}

struct phase *phases_cut(struct phases *p, uint64_t at_ns)
{
    if (!p->count)
        return NULL;
    struct phase *one = p->open[0];
    bool died = one->scope == SCOPE_PROCESS && one->process_left;
    phases_take_out(p, 0, died ? one->of_process.last_ns : at_ns);
    one->not_ended = true;
    if (died)
        phase_figures_miss(&one->of_process);
    return one;
}

bool phase_is_of_target(const struct phase *p)
{
    return p->scope != SCOPE_PROCESS || (p->process_left && !p->not_ended);
}

bool phase_is_widened(const struct phase *p)
{
    return p->scope != SCOPE_UNKNOWN && !p->by_main && phase_is_of_target(p);
}

const struct phase_figures *phase_figures(const struct phase *p)
{
    return phase_is_of_target(p) ? &p->of_target : &p->of_process;
}
