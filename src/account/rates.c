/* SPDX-License-Identifier: MIT */
#include "account/rates.h"

void rates_begin(struct rate rates[RATES_PER_ENTITY], uint64_t now_ns)
{
    for (unsigned i = 0; i < RATES_PER_ENTITY; i++)
        rates[i] = (struct rate){.at_ns = now_ns, .known = true};
}

static void put(struct rate *rate, struct row *row, enum metric_id id, uint64_t now_ns)
{
    if (!row_has(row, id - 1))
        return;
    uint64_t value = row_u64(row, id - 1);
    if (rate->known && now_ns > rate->at_ns) {
        union value grown = {.u = left_u64(value, rate->value)};
        double seconds = (double)(now_ns - rate->at_ns) / 1e9;
        double per_second = metric_number(metric_of(id - 1), grown) / seconds;
        /* The kernel counts in ticks: over a short time a share may seem to be more than all. */
        double most = metric_of(id)->unit == UNIT_ratio ? 1
                      : id == system_cpu_cores && row_has(row, system_cpus_online_count)
                          ? (double)row_u64(row, system_cpus_online_count)
                          : per_second;
        row_put_double(row, id, per_second > most ? most : per_second);
    }
    *rate = (struct rate){.value = value, .at_ns = now_ns, .known = true};
}

void rates_put(struct rate rates[RATES_PER_ENTITY], struct row *row, enum entity_kind kind,
               uint64_t now_ns)
{
    unsigned slot = 0;
    for (unsigned i = 0; i < metric_count(kind) && slot < RATES_PER_ENTITY; i++)
        if (metric_of(row->first + i)->fold == FOLD_RATE)
            put(&rates[slot++], row, row->first + i, now_ns);
}
