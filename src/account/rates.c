/* SPDX-License-Identifier: MIT */
#include "account/rates.h"

#include <math.h>

/* ==== Settle ================================================================================== */

void settle_base(struct instance *m)
{
    FOR_EACH_BIT(i, m->read.present)
    {
        enum metric_id id = m->read.first + i;
        if (metric_of(id)->kind == METRIC_COUNTER && !row_has(&m->base, id))
            row_put_u64(&m->base, id, m->is_new ? 0 : row_u64(&m->read, id));
    }
}

void settle(struct instance *m, bool since_start, uint64_t now_ns)
{
    m->row = m->read;
    settle_base(m);
    FOR_EACH_BIT(i, m->read.present)
    {
        enum metric_id id = m->read.first + i;
        if (metric_of(id)->kind != METRIC_COUNTER || since_start)
            continue;
        row_put_u64(&m->row, id, left_u64(row_u64(&m->read, id), row_u64(&m->base, id)));
    }
    rates_put(m->rates, &m->row, m->entity.kind, now_ns, 0);
}

/* ==== Rates =================================================================================== */

/* The kernel counts the time of CPUs in hundredths of a second: over less than two of them a busy
 * machine may seem to be idle. */
#define LEAST_OF_CPUS_NS (20 * NS_PER_MS)

void rates_begin(struct rate rates[RATES_PER_ENTITY], uint64_t now_ns)
{
    for (unsigned i = 0; i < RATES_PER_ENTITY; i++)
        rates[i] = (struct rate){.at_ns = now_ns, .known = true};
}

static double most_of(const struct row *row, enum metric_id id, double most_cores)
{
    if (metric_of(id)->unit == UNIT_ratio)
        return 1;
    if (id == system_cpu_cores && row_has(row, system_cpus_online_count))
        return (double)row_u64(row, system_cpus_online_count);
    return id == process_cpu_cores && most_cores > 0 ? most_cores : INFINITY;
}

static void rate_update(struct rate *rate, struct row *row, enum metric_id id, uint64_t now_ns,
                        double most_cores)
{
    bool is_of_ticks = id == system_cpu_cores || id == core_busy_ratio;
    if (!row_has(row, id - 1))
        return;
    if (is_of_ticks && rate->known && left_u64(now_ns, rate->at_ns) < LEAST_OF_CPUS_NS)
        return; /* too early, and not lost: the next rate is over all of the time */
    uint64_t value = row_u64(row, id - 1);
    uint64_t grown = left_u64(value, rate->value);
    if (rate->known && now_ns > rate->at_ns) {
        double seconds = (double)(now_ns - rate->at_ns) / 1e9;
        double per_second = metric_number(metric_of(id - 1), (union value){.u = grown}) / seconds;
        /* The kernel counts in ticks: over a short time there may seem to be more than all. What is
         * too much now belongs to the time around it: the next ones have it. */
        double most = most_of(row, id, most_cores);
        if (per_second > most) {
            value = rate->value + (uint64_t)((double)grown * (most / per_second));
            per_second = most;
        }
        row_put_double(row, id, per_second);
    }
    *rate = (struct rate){.value = value, .at_ns = now_ns, .known = true};
}

/* All rates, in the order of the table; few entities have one. */
#define IF_RATE(id) id,
#define IF_SUM(id)
#define IF_MAX(id)
#define IF_ONCE(id)
#define IF_CONSERVED(id)
#define IF_KEPT(id)
#define IF_WHOLE(id)
#define IF_NONE(id)
static const unsigned short rate_ids[] = {
#define METRIC(entity, stem, kind, unit, fold, ...) IF_##fold(entity##_##stem##_##unit)
#include "metric/metrics.def"
    METRIC_COUNT,
};

void rates_put(struct rate rates[RATES_PER_ENTITY], struct row *row, enum entity_kind kind,
               uint64_t now_ns, double most_cores)
{
    enum metric_id end = row->first + metric_count(kind);
    const unsigned short *id = rate_ids;
    while (*id < row->first)
        id++;
    for (unsigned slot = 0; *id < end && slot < RATES_PER_ENTITY; slot++, id++)
        rate_update(&rates[slot], row, *id, now_ns, most_cores);
}
