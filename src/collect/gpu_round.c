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

static bool is_apart(const struct gpu_round *r, const struct gpu_vendor *vendor)
{
    return r->apart && gpu_apart_vendor(r->apart) == vendor;
}

static uint64_t cpu_ns(const struct gpu_round *r)
{
    return clock_thread_cpu() + (r->apart ? gpu_apart_cpu_ns(r->apart) : 0);
}

static int try(struct gpu_round *r, const struct gpu_vendor *vendor)
{
    struct gpu_context context = {.root = r->root, .helpers = r->helpers};
    struct gpu_attempt *a = &r->attempts[r->attempt_count++];
    *a = (struct gpu_attempt){0};
    r->turn_to(r->turn_arg, vendor);
    if (is_apart(r, vendor))
        a->result = gpu_apart_open(r->apart, &a->trouble);
    else
        a->result = vendor->open(&r->state, &context, &a->trouble);
    return a->result;
}

bool gpu_round_open(struct gpu_round *r)
{
    const struct gpu_vendor *const *end = gpu_vendor_next(r->vendors);
    for (const struct gpu_vendor *const *v = r->vendors; v < end && !r->vendor; v++) {
        if (r->attempt_count == GPU_STAND_INS || !(r->all || (*v)->is_likely(r->root)))
            continue;
        if (try(r, *v) == 0)
            r->vendor = *v;
    }
    for (size_t i = 0; r->vendor && i + 1 < r->attempt_count; i++)
        r->attempts[i].trouble.sentence[0] = '\0'; /* they are made up for */
    return r->vendor;
}

uint64_t gpu_round_begin_at(const struct gpu_round *r, uint64_t due_ns)
{
    if (!due_ns)
        return 0;
    return max_u64(r->began_ns + r->rest_ns, left_u64(due_ns, r->cost_ns * 3 / 2 + MARGIN_NS));
}

enum gpu_look gpu_round_read(struct gpu_round *r, const pid_t *pids, size_t count, bool energy_only)
{
    struct gpu_frame *f = &r->frame;
    enum gpu_look look = GPU_LOOK_WHOLE;
    uint64_t cpu_before_ns = cpu_ns(r);
    gpu_frame_clear(f);
    r->trouble.sentence[0] = '\0';
    uint64_t began_ns = clock_mono(NULL);
    r->turn_to(r->turn_arg, r->vendor);
    f->energy_only = energy_only;
    if (is_apart(r, r->vendor))
        look = gpu_apart_read(r->apart, f, pids, count, &r->trouble, r->energy, r->turn_arg);
    else
        r->vendor->read(r->state, f, pids, count, &r->trouble);
    uint64_t ended_ns = clock_mono(NULL);
    f->began_ns = began_ns;
    for (size_t i = 0; i < f->device_count; i++)
        if (!f->devices[i].energy_ns)
            f->devices[i].energy_ns = began_ns;
    if (look != GPU_LOOK_WHOLE)
        return look;
    r->began_ns = began_ns;
    r->cost_ns = ended_ns - began_ns;
    uint64_t rest_ns = min_u64(REST * left_u64(cpu_ns(r), cpu_before_ns), LONGEST_NS);
    r->rest_ns = max_u64(rest_ns, SPACING_NS);
    for (size_t i = 0; i < f->device_count; i++) {
        f->devices[i].facts.means = r->vendor->means;
        f->devices[i].vendor = r->vendor;
        f->devices[i].read_ns = ended_ns;
        f->devices[i].rest_ns = r->rest_ns;
        f->devices[i].look_ns = r->cost_ns;
    }
    return look;
}

void gpu_round_close(struct gpu_round *r)
{
    if (r->vendor && !is_apart(r, r->vendor))
        r->vendor->close(r->state);
}
