/* SPDX-License-Identifier: MIT */
#include "engine/own_threads.h"

#include "engine/gpus.h"

size_t own_threads_list(const struct toll_tracker *t, pid_t ret[OWN_THREADS_AT_MOST])
{
    size_t count = gpus_threads(t, ret);
    for (size_t i = 0; i < t->sink_count; i++) {
        pid_t courier = sink_thread(t->sinks[i]);
        if (courier && count < OWN_THREADS_AT_MOST)
            ret[count] = courier;
        count += courier != 0;
    }
    return count;
}

uint64_t own_threads_cpu_ns(const struct toll_tracker *t)
{
    pid_t threads[OWN_THREADS_AT_MOST];
    size_t count = min_u64(own_threads_list(t, threads), OWN_THREADS_AT_MOST);
    uint64_t ns = 0;
    for (size_t i = 0; i < count; i++)
        ns += clock_cpu_of_thread(threads[i]);
    return ns;
}

void own_threads_leave_out(struct toll_tracker *t)
{
    pid_t threads[OWN_THREADS_AT_MOST];
    size_t count = own_threads_list(t, threads);
    for (size_t i = 0; t->reader.own.pid && i < count && i < OWN_THREADS_AT_MOST; i++)
        own_thread_add(&t->reader.own, threads[i]);
}
