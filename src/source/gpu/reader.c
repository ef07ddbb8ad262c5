/* SPDX-License-Identifier: MIT */
#include "source/gpu/reader.h"

#include "base/clock.h"
#include "base/memory.h"
#include "base/thread.h"
#include "source/gpu/vendor.h"

#include <string.h>

/* ==== Gpu round =============================================================================== */

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

static int gpu_round_try(struct gpu_round *r, const struct gpu_vendor *vendor)
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
        if (gpu_round_try(r, *v) == 0)
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

/* ==== Gpu reader ============================================================================== */

struct gpu_reader {
    struct worker worker;

    /* The thread's alone: */
    struct sysroot root;
    struct gpu_round round;
    pid_t *pids; /* owned; of this round */
    size_t pid_count;

    /* Of both: */
    struct gpu_helpers helpers;
    struct gpu_apart *apart; /* owned; NULL: the vendor runs here */
    bool stop, has_begun, is_open;
    bool is_dead; /* the process that it ran in: there will be no more frames */
    bool energy_only;
    struct gpu_frame energy; /* counters that were read ahead of the rest */
    bool has_energy;
    uint64_t energy_cost_ns, look_cost_ns; /* how long the last one of each took */
    uint64_t busy_since_ns;                /* it began or reads since then; 0: it rests */
    const struct gpu_vendor *busy_with;
    bool is_asked, is_reading;
    uint64_t due_ns;
    pid_t *asked_pids; /* owned */
    size_t asked_count, asked_capacity;
    struct gpu_frame ready;
    bool is_ready;
    struct gpu_sentences sentences;
    struct gpu_trouble excuse;
};

/* ---- The thread ------------------------------------------------------------------------------ */

static void turn_to(void *arg, const struct gpu_vendor *vendor)
{
    struct gpu_reader *r = arg;
    worker_lock(&r->worker);
    r->busy_with = vendor;
    worker_unlock(&r->worker);
}

/* With the lock held. */
static void gpu_reader_keep_energy(struct gpu_reader *r, const struct gpu_frame *f)
{
    gpu_frame_clear(&r->energy);
    gpu_frame_join(&r->energy, f, 0, (unsigned)f->device_count);
    r->energy.process_count = 0;
    r->has_energy = f->device_count;
    r->energy_cost_ns = clock_mono(NULL) - r->busy_since_ns;
    worker_tell(&r->worker);
}

static void take_energy_ahead(void *arg, const struct gpu_frame *f)
{
    struct gpu_reader *r = arg;
    worker_lock(&r->worker);
    gpu_reader_keep_energy(r, f);
    worker_unlock(&r->worker);
}

static void gpu_reader_begin(struct gpu_reader *r)
{
    bool is_open = gpu_round_open(&r->round);
    worker_lock(&r->worker);
    for (size_t i = 0; i < r->round.attempt_count; i++) {
        const struct gpu_attempt *a = &r->round.attempts[i];
        if (a->result != -ENODEV)
            gpu_sentences_say(&r->sentences, &a->trouble);
        else if (!*r->excuse.sentence)
            r->excuse = a->trouble;
    }
    r->is_open = is_open;
    r->has_begun = true;
    r->busy_since_ns = 0;
    worker_tell(&r->worker);
    worker_unlock(&r->worker);
}

/* Whether to go on; with the lock held. */
static bool wait_for_request(struct gpu_reader *r)
{
    for (;;) {
        if (r->stop)
            return false;
        uint64_t at = gpu_round_begin_at(&r->round, r->due_ns);
        if (!r->is_asked || !r->is_open || r->is_dead)
            worker_wait_for_change(&r->worker, UINT64_MAX);
        else if (clock_mono(NULL) >= at)
            return true;
        else
            worker_wait_for_change(&r->worker, at);
    }
}

/* With the lock held: the pids change hands. */
static void accept_request(struct gpu_reader *r)
{
    pid_t *mine = r->pids;
    r->pids = r->asked_pids;
    r->pid_count = r->asked_count;
    r->asked_pids = mine;
    r->asked_count = r->asked_capacity = 0;
    r->is_asked = false;
    r->is_reading = true;
    r->busy_since_ns = clock_mono(NULL);
}

/* With the lock held. */
static void gpu_reader_hand_over(struct gpu_reader *r, enum gpu_look look)
{
    if (look == GPU_LOOK_WHOLE) {
        struct gpu_frame before = r->ready;
        r->ready = r->round.frame;
        r->round.frame = before;
        r->is_ready = true;
        r->look_cost_ns = r->round.cost_ns;
        for (size_t i = 0; i < r->ready.device_count; i++)
            if (r->ready.devices[i].is_lost)
                gpu_sentences_say_lost(&r->sentences, &r->ready.devices[i]);
    } else if (look == GPU_LOOK_ENERGY) {
        gpu_reader_keep_energy(r, &r->round.frame);
    }
    r->is_dead = look == GPU_LOOK_DEAD;
    r->is_reading = false;
    r->busy_since_ns = 0;
    gpu_sentences_say(&r->sentences, &r->round.trouble);
    worker_tell(&r->worker);
}

static void gpu_reader_work(void *arg)
{
    struct gpu_reader *r = arg;
    gpu_reader_begin(r);
    worker_lock(&r->worker);
    while (wait_for_request(r)) {
        accept_request(r);
        bool energy_only = r->energy_only;
        worker_unlock(&r->worker);
        enum gpu_look look = gpu_round_read(&r->round, r->pids, r->pid_count, energy_only);
        worker_lock(&r->worker);
        gpu_reader_hand_over(r, look);
    }
    worker_unlock(&r->worker);
    gpu_round_close(&r->round);
}

static void gpu_reader_dispose(void *arg)
{
    struct gpu_reader *r = arg;
    gpu_apart_free(r->apart);
    gpu_frame_done(&r->energy);
    gpu_frame_done(&r->round.frame);
    gpu_frame_done(&r->ready);
    gpu_helpers_done(&r->helpers);
    sysroot_close(&r->root);
    free(r->pids);
    free(r->asked_pids);
    worker_done(&r->worker);
    free(r);
}

/* ---- Those who ask --------------------------------------------------------------------------- */

static const struct worker_plan plan = {
    .name = "toll-gpu",
    .work = gpu_reader_work,
    .dispose = gpu_reader_dispose,
};

int gpu_reader_start(struct gpu_reader **ret, const struct sysroot *root,
                     const struct gpu_vendor *const *vendors, bool all)
{
    struct gpu_reader *r = calloc(1, sizeof *r);
    if (!r)
        return -ENOMEM;
    sysroot_copy(&r->root, root);
    r->round = (struct gpu_round){.root = &r->root,
                                  .helpers = &r->helpers,
                                  .vendors = vendors,
                                  .all = all,
                                  .turn_to = turn_to,
                                  .energy = take_energy_ahead,
                                  .turn_arg = r};
    r->busy_since_ns = clock_mono(NULL);
    gpu_helpers_init(&r->helpers);
    worker_init(&r->worker, &plan, r);
    int result = 0;
    /* Here and not in the thread: the fewer there are when it is forked, the better. */
    if (vendors[0]->in_helper && (all || vendors[0]->is_likely(&r->root)))
        result = gpu_apart_start(&r->apart, vendors[0], &r->root, &r->helpers);
    r->round.apart = r->apart;
    if (result == 0)
        result = worker_start(&r->worker);
    if (result < 0) {
        gpu_reader_dispose(r);
        return result;
    }
    *ret = r;
    return 0;
}

void gpu_reader_stop(struct gpu_reader *r)
{
    worker_lock(&r->worker);
    r->stop = true;
    if (r->apart && (r->is_reading || !r->has_begun)) /* it waits for the other process */
        gpu_apart_hang_up(r->apart);
    worker_tell(&r->worker);
    worker_unlock(&r->worker);
}

bool gpu_reader_free(struct gpu_reader *r, uint64_t until_ns)
{
    gpu_reader_stop(r);
    return worker_leave(&r->worker, until_ns);
}

bool gpu_reader_is_asked(struct gpu_reader *r)
{
    worker_lock(&r->worker);
    bool is_asked = r->is_asked || r->is_reading;
    worker_unlock(&r->worker);
    return is_asked;
}

/* With the lock held. False when there is no memory. */
static bool take_pids(struct gpu_reader *r, const pid_t *pids, size_t count)
{
    if (!ARRAY_RESERVE(r->asked_pids, r->asked_capacity, count))
        return false;
    if (count)
        memcpy(r->asked_pids, pids, count * sizeof *pids);
    r->asked_count = count;
    return true;
}

void gpu_reader_ask(struct gpu_reader *r, const pid_t *pids, size_t count, uint64_t due_ns)
{
    worker_lock(&r->worker);
    if (take_pids(r, pids, count)) {
        r->is_asked = true;
        r->due_ns = due_ns;
        worker_tell(&r->worker);
    }
    worker_unlock(&r->worker);
}

bool gpu_reader_take(struct gpu_reader *r, struct gpu_frame *f)
{
    worker_lock(&r->worker);
    bool is_new = r->is_ready;
    if (is_new) {
        struct gpu_frame newest = r->ready;
        r->ready = *f;
        *f = newest;
        r->is_ready = false;
    }
    worker_unlock(&r->worker);
    return is_new;
}

bool gpu_reader_take_energy(struct gpu_reader *r, struct gpu_frame *f)
{
    worker_lock(&r->worker);
    bool is_new = r->has_energy;
    r->has_energy = false;
    if (is_new && !f->device_count)
        gpu_frame_join(f, &r->energy, 0, (unsigned)r->energy.device_count);
    for (size_t i = 0; is_new && i < f->device_count && i < r->energy.device_count; i++) {
        const struct gpu_device *read = &r->energy.devices[i];
        struct gpu_device *d = &f->devices[i];
        if (read->energy_ns < d->energy_ns || read->is_lost ||
            !row_has(&read->row, gpu_energy_joules))
            continue;
        row_put_u64(&d->row, gpu_energy_joules, row_u64(&read->row, gpu_energy_joules));
        d->energy_ns = read->energy_ns;
    }
    worker_unlock(&r->worker);
    return is_new;
}

/* A look that takes longer than this is not over when the run ends. */
#define LONG_LOOK_NS (50 * NS_PER_MS)

void gpu_reader_hurry(struct gpu_reader *r)
{
    worker_lock(&r->worker);
    bool is_long = r->look_cost_ns > LONG_LOOK_NS ||
                   (r->is_reading && clock_mono(NULL) - r->busy_since_ns > LONG_LOOK_NS);
    if (r->apart && r->is_open && !r->is_dead && is_long) {
        r->energy_only = true;
        gpu_apart_hurry(r->apart);
    }
    worker_unlock(&r->worker);
}

uint64_t gpu_reader_energy_cost_ns(struct gpu_reader *r)
{
    worker_lock(&r->worker);
    uint64_t cost_ns = r->energy_cost_ns;
    worker_unlock(&r->worker);
    return cost_ns;
}

uint64_t gpu_reader_helper_cpu_ns(struct gpu_reader *r)
{
    return r->apart ? gpu_apart_cpu_ns(r->apart) : 0;
}

/* With the lock held. */
static bool is_awaited(const struct gpu_reader *r)
{
    return (r->is_asked || r->is_reading) && (r->is_open || !r->has_begun) && !r->is_dead;
}

bool gpu_reader_wait_frame(struct gpu_reader *r, uint64_t until_ns)
{
    worker_lock(&r->worker);
    while (is_awaited(r) && worker_wait_for_change(&r->worker, until_ns))
        ;
    bool is_there = !is_awaited(r);
    worker_unlock(&r->worker);
    return is_there;
}

int gpu_reader_is_open(struct gpu_reader *r)
{
    worker_lock(&r->worker);
    int result = r->has_begun ? r->is_open : -EAGAIN;
    worker_unlock(&r->worker);
    return result;
}

bool gpu_reader_says(struct gpu_reader *r, struct gpu_trouble *ret)
{
    worker_lock(&r->worker);
    bool has = gpu_sentences_tell(&r->sentences, ret);
    worker_unlock(&r->worker);
    return has;
}

void gpu_reader_excuse(struct gpu_reader *r, struct gpu_trouble *ret)
{
    worker_lock(&r->worker);
    *ret = r->excuse;
    worker_unlock(&r->worker);
}

bool gpu_reader_has_child(struct gpu_reader *r, pid_t pid)
{
    return gpu_helpers_has(&r->helpers, pid);
}

uint64_t gpu_reader_busy_ns(struct gpu_reader *r, const struct gpu_vendor **ret_with)
{
    worker_lock(&r->worker);
    uint64_t since_ns = r->busy_since_ns;
    *ret_with = r->busy_with;
    worker_unlock(&r->worker);
    return since_ns ? clock_mono(NULL) - since_ns : 0;
}

pid_t gpu_reader_thread(const struct gpu_reader *r)
{
    return r->worker.id;
}
