/* SPDX-License-Identifier: MIT */
#include "sink/run_end.h"

void run_end_take(struct run_end *ret, const struct summary *s)
{
    const struct toll_end *how = &s->whole.end;
    *ret = (struct run_end){
        .time_ms = (s->run->start_real_ns + s->elapsed_ns) / NS_PER_MS,
        .has_status = s->has_target && !s->target_count && how->ended && !how->unknown,
        .is_signal = how->signaled,
        .status = how->status,
    };
}

size_t run_end_facts(const struct run_end *e, struct run_fact ret[RUN_FACTS_AT_MOST])
{
    size_t count = 0;
    if (!e->time_ms)
        return 0;
    ret[count++] = (struct run_fact){"end_time_seconds", "When the run was over, since 1970",
                                     e->time_ms, 3};
    if (e->has_status && e->is_signal)
        ret[count++] = (struct run_fact){"exit_signal", "The signal that ended the command",
                                         (uint64_t)e->status, 0};
    else if (e->has_status)
        ret[count++] = (struct run_fact){"exit_code", "The exit status of the command",
                                         (uint64_t)e->status, 0};
    return count;
}

double run_fact_value(const struct run_fact *f)
{
    double below = 1;
    for (unsigned i = 0; i < f->decimals; i++)
        below *= 10;
    return (double)f->number / below;
}
