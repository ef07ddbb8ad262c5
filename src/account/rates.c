/* SPDX-License-Identifier: MIT */
#include "account/rates.h"

void rates_of_parts(struct rates *r, struct row parts[PARTS], uint64_t interval_ns)
{
    for (unsigned part = 0; part < PARTS; part++) {
        r->since_ns[part] += interval_ns;
        if (!row_has(&parts[part], process_cpu_seconds))
            continue;
        uint64_t cpu_ns = row_u64(&parts[part], process_cpu_seconds);
        if (r->since_ns[part])
            row_put_double(&parts[part], process_cpu_cores,
                           (double)left_u64(cpu_ns, r->cpu_ns[part]) / (double)r->since_ns[part]);
        r->cpu_ns[part] = cpu_ns;
        r->since_ns[part] = 0;
    }
}

void rates_of_member(struct member *m, uint64_t now_ns)
{
    struct row *own = &m->process.own;
    uint64_t cpu_ns = row_u64(own, process_cpu_seconds);
    if (m->rate_at_ns && now_ns > m->rate_at_ns)
        row_put_double(own, process_cpu_cores,
                       (double)left_u64(cpu_ns, m->rate_cpu_ns) / (double)(now_ns - m->rate_at_ns));
    m->rate_cpu_ns = cpu_ns;
    m->rate_at_ns = now_ns;
}
