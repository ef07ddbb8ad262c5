/* SPDX-License-Identifier: MIT */
#include "collect/gpu_round.h"

#include "base/clock.h"

/* The figures of drivers are no finer than this. */
#define SPACING_NS (100 * NS_PER_MS)
#define MARGIN_NS  (3 * NS_PER_MS)

/* Where there is much to look at, it takes a fiftieth of a core at most, but for one look in so
 * long.
 */
enum { REST = 50 };
#define LONGEST_NS (10 * NS_PER_SECOND)

static struct gpu_opened *find_opened(struct gpu_round *r, const struct gpu_vendor *vendor)
{
    for (size_t i = 0; i < r->opened_count; i++)
        if (r->opened[i].vendor == vendor)
            return &r->opened[i];
    return NULL;
}

/* One that stands for another is tried where that one is not to be had. */
static void open_vendor(struct gpu_round *r, const struct gpu_vendor *vendor)
{
    struct gpu_opened *first = vendor->instead_of ? find_opened(r, vendor->instead_of) : NULL;
    if ((first && first->result == 0) || r->opened_count == GPU_VENDORS_MAX ||
        !(r->all || vendor->is_likely(r->root)))
        return;
    struct gpu_context context = {.root = r->root, .helpers = r->helpers};
    struct gpu_opened *o = &r->opened[r->opened_count++];
    *o = (struct gpu_opened){.vendor = vendor};
    r->turn_to(r->turn_arg, vendor);
    o->result = vendor->open(&o->state, &context, &o->trouble);
    if (first && o->result == 0)
        first->trouble.sentence[0] = '\0'; /* it is made up for */
}

int gpu_round_open(struct gpu_round *r)
{
    int count = 0;
    for (size_t i = 0; r->vendors[i]; i++)
        open_vendor(r, r->vendors[i]);
    for (size_t i = 0; i < r->opened_count; i++)
        count += r->opened[i].result == 0;
    return count;
}

uint64_t gpu_round_begin_at(const struct gpu_round *r, uint64_t due_ns)
{
    if (!due_ns)
        return 0;
    return max_u64(r->began_ns + r->rest_ns, left_u64(due_ns, r->cost_ns * 3 / 2 + MARGIN_NS));
}

static void read_vendor(struct gpu_round *r, struct gpu_opened *o, const pid_t *pids, size_t count)
{
    size_t first = r->frame.device_count;
    o->trouble.sentence[0] = '\0';
    if (o->result < 0)
        return;
    r->turn_to(r->turn_arg, o->vendor);
    o->vendor->read(o->state, &r->frame, pids, count, &o->trouble);
    for (size_t i = first; i < r->frame.device_count; i++) {
        r->frame.devices[i].facts.means = o->vendor->means;
        r->frame.devices[i].vendor = o->vendor;
    }
}

void gpu_round_read(struct gpu_round *r, const pid_t *pids, size_t count)
{
    uint64_t cpu_ns = clock_thread_cpu();
    gpu_frame_clear(&r->frame);
    r->frame.began_ns = clock_mono(NULL);
    for (size_t i = 0; i < r->opened_count; i++)
        read_vendor(r, &r->opened[i], pids, count);
    r->frame.ended_ns = clock_mono(NULL);
    r->began_ns = r->frame.began_ns;
    r->cost_ns = r->frame.ended_ns - r->frame.began_ns;
    uint64_t rest_ns = min_u64(REST * left_u64(clock_thread_cpu(), cpu_ns), LONGEST_NS);
    r->frame.rest_ns = r->rest_ns = max_u64(rest_ns, SPACING_NS);
}

void gpu_round_close(struct gpu_round *r)
{
    for (size_t i = 0; i < r->opened_count; i++)
        if (r->opened[i].result == 0)
            r->opened[i].vendor->close(r->opened[i].state);
}
