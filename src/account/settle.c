/* SPDX-License-Identifier: MIT */
#include "account/settle.h"

void settle_base(struct measured *m)
{
    FOR_EACH_BIT(i, m->read.present)
    {
        enum metric_id id = m->read.first + i;
        if (metric_of(id)->kind == METRIC_COUNTER && !row_has(&m->base, id))
            row_put_u64(&m->base, id, m->is_new ? 0 : row_u64(&m->read, id));
    }
}

void settle(struct measured *m, bool since_start, uint64_t now_ns)
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
