/* SPDX-License-Identifier: MIT */
#include "summary/phase_figures.h"

void phase_figures_init(struct phase_figures *f)
{
    *f = (struct phase_figures){0};
    row_init(&f->base, ENTITY_PROCESS);
    row_init(&f->most, ENTITY_PROCESS);
}

static void look_at_counter(struct phase_figures *f, enum metric_id id, uint64_t value)
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

static void look_at_gauge(struct phase_figures *f, enum metric_id id, double value,
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
static bool look_at_bound(struct phase_figures *f, enum metric_id id)
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

/* Read before the phase began, so that what was used in between would count for the phase: it
 * counts from the first look that has read it since. */
static bool is_outdated(const struct phase_figures *f, enum metric_id id, uint64_t refreshed_ns)
{
    return id == process_cpu_wait_seconds && !row_has(&f->base, id) && refreshed_ns < f->first_ns;
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
        if (row->at_least >> id & 1 && !look_at_bound(f, id))
            continue;
        if (is_outdated(f, id, refreshed_ns)) {
            f->late |= BIT(id);
            continue;
        }
        if (m->kind == METRIC_COUNTER && row_has(row, id))
            f->lacking &= ~BIT(id);
        if (m->kind == METRIC_COUNTER)
            look_at_counter(f, id, row_value(row, id).u);
        else
            look_at_gauge(f, id, metric_number(m, row_value(row, id)), since_ns);
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

/* The moment until the look after the end adds next to nothing. */
static bool ends_on_time(const struct phase_figures *f, uint64_t begin_ns, uint64_t end_ns)
{
    enum { NEXT_TO_NOTHING = 100 };
    return outside_ns(f, begin_ns, end_ns) <= left_u64(end_ns, begin_ns) / NEXT_TO_NOTHING;
}

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
    if (ends_on_time(f, begin_ns, end_ns))
        return QUALITY_LOWER_BOUND;
    return lacks ? QUALITY_UNKNOWN : quality;
}

static struct phase_figure counter(const struct phase_figures *f, enum metric_id id,
                                   uint64_t begin_ns, uint64_t end_ns)
{
    enum quality quality = quality_of_counter(f, id, begin_ns, end_ns);
    if (!row_has(&f->base, id) || quality == QUALITY_UNKNOWN)
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
    if (f->told)
        return f->told[id];
    if (m->kind == METRIC_COUNTER)
        return counter(f, id, begin_ns, end_ns);
    if (m->fold == FOLD_RATE) { /* of the counter in the row above */
        struct phase_figure grown = counter(f, id - 1, begin_ns, end_ns);
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
