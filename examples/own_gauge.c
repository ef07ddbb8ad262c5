/* SPDX-License-Identifier: MIT
 * A value of the program's own, beside those of the kernel: the memory in use by an allocator. The
 * record has it with its time, the summary its minimum, mean and maximum.
 *
 *   own_gauge RECORD.jsonl */
#include <toll.h>

#include <stdio.h>
#include <stdlib.h>

/* An allocator that frees everything at once. */
struct pool {
    char *memory;
    size_t used, peak, capacity;
};

static void *pool_take(struct pool *p, size_t bytes)
{
    if (bytes > p->capacity - p->used)
        return NULL;
    void *taken = p->memory + p->used;
    p->used += bytes;
    p->peak = p->used > p->peak ? p->used : p->peak;
    return taken;
}

/* One phase of work; the gauge reports the memory it needed. */
static void run_phase(struct toll_tracker *t, struct pool *p, const char *name, size_t chunks)
{
    toll_mark_phase_begin(t, name);
    for (size_t i = 0; i < chunks; i++) {
        char *chunk = pool_take(p, 1 << 16);
        for (size_t k = 0; chunk && k < 1 << 16; k++)
            chunk[k] = (char)(i + k);
    }
    toll_mark_gauge(t, "pool_used_bytes", (double)p->used);
    toll_mark_phase_end(t, name);
    p->used = 0;
}

int main(int argc, char **argv)
{
    struct toll_options options = {.size = sizeof options};
    struct toll_target self = {.size = sizeof self};
    struct toll_output record = {.size = sizeof record, .destination = argv[1]};
    struct toll_tracker *t = NULL;
    struct toll_error e;
    struct pool pool = {.capacity = 32 << 20};

    if (argc != 2) {
        fprintf(stderr, "usage: own_gauge RECORD.jsonl\n");
        return 2;
    }
    pool.memory = malloc(pool.capacity);
    if (!pool.memory)
        return 1;
    if (toll_tracker_new(&t, &options, &e) < 0 || toll_tracker_add_target(t, &self, &e) < 0 ||
        toll_tracker_add_output(t, &record, &e) < 0 || toll_tracker_start(t, &e) < 0) {
        fprintf(stderr, "own_gauge: %s\n", e.message);
        toll_tracker_free(t);
        free(pool.memory);
        return 1;
    }
    run_phase(t, &pool, "read", 16);
    run_phase(t, &pool, "sort", 256);
    run_phase(t, &pool, "write", 32);
    toll_tracker_finish(t, NULL);
    toll_tracker_free(t);
    printf("pool_peak_bytes %zu\n", pool.peak);
    free(pool.memory);
    return 0;
}
