/* SPDX-License-Identifier: MIT */
#include "source/gpu/readers.h"

#include "base/clock.h"
#include "base/thread.h"

#include <stdio.h>
#include <string.h>

/* Figures of drivers are no finer than this. */
#define SPACING_NS (100 * NS_PER_MS)

/* Reading takes a fiftieth of a core at most, except for one look in this time. */
enum { REST_FACTOR = 50 };
#define LONGEST_REST_NS (10 * NS_PER_SECOND)

/* A look should be over this long before it is due. */
#define MARGIN_NS (3 * NS_PER_MS)

/* A look that takes longer than this will not be over when the run ends. */
#define LONG_LOOK_NS (50 * NS_PER_MS)

enum { MOST_MESSAGES = 32 };

/* One vendor and its thread. */
struct gpu_reader {
    struct worker worker;
    const struct gpu_vendor *vendor;

    /* Used by the thread alone: */
    struct sysroot root;
    void *state;            /* the vendor's own, where it does not run in a helper process */
    struct gpu_frame frame; /* of the look that goes on */
    pid_t *pids;            /* owned; of interest in this look */
    size_t pid_count;
    uint64_t began_ns, cost_ns; /* of the last look */
    uint64_t rest_ns;           /* from the beginning of the last look to that of the next */

    /* Used with the lock held: */
    struct gpu_helper *helper; /* owned; NULL: the vendor runs in this process */
    bool stop, has_begun, is_open;
    bool is_dead;           /* the helper process crashed: there will be no more frames */
    uint64_t busy_since_ns; /* beginning or reading since then; 0: idle */
    bool is_asked, is_reading, energy_only;
    uint64_t due_ns;
    pid_t *asked_pids; /* owned */
    size_t asked_count, asked_capacity;
    struct gpu_frame ready;
    bool is_ready;
    struct gpu_frame energy; /* energy counters that were read ahead of the rest */
    bool has_energy;
    uint64_t energy_cost_ns, look_cost_ns; /* how long the last one of each took */
    struct gpu_trouble messages[MOST_MESSAGES];
    unsigned message_count, said_count;
    struct gpu_trouble excuse;
};

struct gpu_readers {
    struct gpu_readers_vendor {
        struct gpu_reader *reader; /* owned */
        struct gpu_frame newest;
        bool has_place;
        unsigned place;       /* of its first device in the common frame */
        unsigned place_count; /* the number of devices it had at first */
        bool late_said;
    } items[GPU_READERS_MAX];
    size_t count;
    unsigned place_count; /* of all vendors */
};

/* ---- The thread ------------------------------------------------------------------------------ */

/* With the lock held. An empty message, or one that was there before, is left out. */
static void reader_add_message(struct gpu_reader *r, const struct gpu_trouble *message)
{
    if (!*message->sentence || r->message_count == MOST_MESSAGES)
        return;
    for (unsigned i = 0; i < r->message_count; i++)
        if (strcmp(r->messages[i].sentence, message->sentence) == 0)
            return;
    r->messages[r->message_count++] = *message;
}

/* With the lock held. */
static void reader_keep_energy(struct gpu_reader *r, const struct gpu_frame *f)
{
    gpu_frame_clear(&r->energy);
    gpu_frame_join(&r->energy, f, 0, (unsigned)f->device_count);
    r->energy.process_count = 0;
    r->has_energy = f->device_count;
    r->energy_cost_ns = clock_mono(NULL) - r->busy_since_ns;
    worker_wake(&r->worker);
}

/* Called by the helper in the middle of a slow look. */
static void reader_take_energy_ahead(void *arg, const struct gpu_frame *f)
{
    struct gpu_reader *r = arg;
    worker_lock(&r->worker);
    reader_keep_energy(r, f);
    worker_unlock(&r->worker);
}

static void reader_open(struct gpu_reader *r)
{
    struct gpu_context context = {.root = &r->root};
    struct gpu_trouble trouble = {0};
    int result = r->helper ? gpu_helper_open(r->helper, &trouble)
                           : r->vendor->open(&r->state, &context, &trouble);
    worker_lock(&r->worker);
    if (result == -ENODEV)
        r->excuse = trouble;
    else
        reader_add_message(r, &trouble);
    r->is_open = result == 0;
    r->has_begun = true;
    r->busy_since_ns = 0;
    worker_wake(&r->worker);
    worker_unlock(&r->worker);
}

/* With the lock held. Waits until it is time to begin a look, so that it is over when it is due;
 * false when the reader was stopped. */
static bool reader_wait_for_request(struct gpu_reader *r)
{
    while (!r->stop) {
        uint64_t at_ns = UINT64_MAX;
        if (r->is_asked && r->is_open && !r->is_dead)
            at_ns = !r->due_ns ? 0
                               : max_u64(r->began_ns + r->rest_ns,
                                         left_u64(r->due_ns, r->cost_ns * 3 / 2 + MARGIN_NS));
        if (clock_mono(NULL) >= at_ns)
            return true;
        worker_wait_for_change(&r->worker, at_ns);
    }
    return false;
}

/* Without the lock: fills in r->frame. */
static enum gpu_look reader_look(struct gpu_reader *r, bool energy_only,
                                 struct gpu_trouble *trouble)
{
    struct gpu_frame *f = &r->frame;
    enum gpu_look look = GPU_LOOK_WHOLE;
    uint64_t cpu_ns = clock_thread_cpu() + (r->helper ? gpu_helper_cpu_ns(r->helper) : 0);
    gpu_frame_clear(f);
    f->energy_only = energy_only;
    uint64_t began_ns = clock_mono(NULL);
    if (r->helper)
        look = gpu_helper_read(r->helper, f, r->pids, r->pid_count, trouble,
                               reader_take_energy_ahead, r);
    else
        r->vendor->read(r->state, f, r->pids, r->pid_count, trouble);
    uint64_t ended_ns = clock_mono(NULL);
    for (size_t i = 0; i < f->device_count; i++)
        if (!f->devices[i].energy_ns)
            f->devices[i].energy_ns = began_ns;
    if (look != GPU_LOOK_WHOLE)
        return look;
    cpu_ns = left_u64(clock_thread_cpu() + (r->helper ? gpu_helper_cpu_ns(r->helper) : 0), cpu_ns);
    r->began_ns = began_ns;
    r->cost_ns = ended_ns - began_ns;
    r->rest_ns = max_u64(min_u64(REST_FACTOR * cpu_ns, LONGEST_REST_NS), SPACING_NS);
    for (size_t i = 0; i < f->device_count; i++) {
        f->devices[i].facts.means = r->vendor->means;
        f->devices[i].vendor = r->vendor;
        f->devices[i].read_ns = ended_ns;
        f->devices[i].rest_ns = r->rest_ns;
        f->devices[i].look_ns = r->cost_ns;
    }
    return look;
}

/* With the lock held. */
static void reader_hand_over(struct gpu_reader *r, enum gpu_look look,
                             const struct gpu_trouble *trouble)
{
    if (look == GPU_LOOK_WHOLE) {
        struct gpu_frame before = r->ready;
        r->ready = r->frame;
        r->frame = before;
        r->is_ready = true;
        r->look_cost_ns = r->cost_ns;
        for (size_t i = 0; i < r->ready.device_count; i++) {
            const struct gpu_device *d = &r->ready.devices[i];
            struct gpu_trouble lost;
            if (!d->is_lost)
                continue;
            snprintf(lost.sentence, sizeof lost.sentence,
                     "%s GPU %u (%s) is lost (%s); its figures end here", r->vendor->people,
                     d->facts.index, *d->facts.uuid ? d->facts.uuid : d->facts.pci,
                     r->vendor->lost);
            reader_add_message(r, &lost);
        }
    } else if (look == GPU_LOOK_ENERGY) {
        reader_keep_energy(r, &r->frame);
    }
    r->is_dead = look == GPU_LOOK_DEAD;
    r->is_reading = false;
    r->busy_since_ns = 0;
    reader_add_message(r, trouble);
    worker_wake(&r->worker);
}

static void reader_work(void *arg)
{
    struct gpu_reader *r = arg;
    reader_open(r);
    worker_lock(&r->worker);
    while (reader_wait_for_request(r)) {
        struct gpu_trouble trouble = {0};
        bool energy_only = r->energy_only;
        pid_t *pids = r->pids;
        r->pids = r->asked_pids;
        r->pid_count = r->asked_count;
        r->asked_pids = pids;
        r->asked_count = r->asked_capacity = 0;
        r->is_asked = false;
        r->is_reading = true;
        r->busy_since_ns = clock_mono(NULL);
        worker_unlock(&r->worker);
        enum gpu_look look = reader_look(r, energy_only, &trouble);
        worker_lock(&r->worker);
        reader_hand_over(r, look, &trouble);
    }
    worker_unlock(&r->worker);
    if (r->is_open && !r->helper)
        r->vendor->close(r->state);
}

static void reader_dispose(void *arg)
{
    struct gpu_reader *r = arg;
    gpu_helper_free(r->helper);
    gpu_frame_done(&r->energy);
    gpu_frame_done(&r->frame);
    gpu_frame_done(&r->ready);
    sysroot_close(&r->root);
    free(r->pids);
    free(r->asked_pids);
    worker_done(&r->worker);
    free(r);
}

/* ---- One reader, from the thread that samples ------------------------------------------------ */

static int reader_start(struct gpu_reader **ret, const struct sysroot *root,
                        const struct gpu_vendor *vendor)
{
    static const struct worker_plan plan = {
        .name = "toll-gpu",
        .work = reader_work,
        .dispose = reader_dispose,
    };
    struct gpu_reader *r = calloc(1, sizeof *r);
    if (!r)
        return -ENOMEM;
    r->vendor = vendor;
    r->busy_since_ns = clock_mono(NULL);
    sysroot_copy(&r->root, root);
    worker_init(&r->worker, &plan, r);
    /* Started here and not in the thread: a fork is safest with few threads. */
    int result = vendor->in_helper ? gpu_helper_start(&r->helper, vendor, &r->root) : 0;
    if (result == 0)
        result = worker_start(&r->worker);
    if (result < 0) {
        reader_dispose(r);
        return result;
    }
    *ret = r;
    return 0;
}

static void reader_stop(struct gpu_reader *r)
{
    worker_lock(&r->worker);
    r->stop = true;
    if (r->helper && (r->is_reading || !r->has_begun)) /* the thread waits for the helper */
        gpu_helper_hang_up(r->helper);
    worker_wake(&r->worker);
    worker_unlock(&r->worker);
}

static bool reader_is_asked(struct gpu_reader *r)
{
    worker_lock(&r->worker);
    bool is_asked = r->is_asked || r->is_reading;
    worker_unlock(&r->worker);
    return is_asked;
}

/* 1 or 0; -EAGAIN while the vendor has not begun. */
static int reader_is_open(struct gpu_reader *r)
{
    worker_lock(&r->worker);
    int result = r->has_begun ? r->is_open : -EAGAIN;
    worker_unlock(&r->worker);
    return result;
}

/* Without memory for the pids nothing is asked for. */
static void reader_ask(struct gpu_reader *r, const pid_t *pids, size_t count, uint64_t due_ns)
{
    worker_lock(&r->worker);
    if (count > r->asked_capacity) {
        pid_t *more = reallocarray(r->asked_pids, count, sizeof *more);
        if (more) {
            r->asked_pids = more;
            r->asked_capacity = count;
        }
    }
    if (count <= r->asked_capacity) {
        if (count)
            memcpy(r->asked_pids, pids, count * sizeof *pids);
        r->asked_count = count;
        r->is_asked = true;
        r->due_ns = due_ns;
        worker_wake(&r->worker);
    }
    worker_unlock(&r->worker);
}

/* Swaps the newest frame with f, or adds the energy counters that were read ahead of it; false when
 * neither is new. */
static bool reader_take(struct gpu_reader *r, struct gpu_frame *f)
{
    worker_lock(&r->worker);
    bool is_new = r->is_ready || r->has_energy;
    if (r->is_ready) {
        struct gpu_frame newest = r->ready;
        r->ready = *f;
        *f = newest;
    }
    if (r->has_energy && !f->device_count)
        gpu_frame_join(f, &r->energy, 0, (unsigned)r->energy.device_count);
    for (size_t i = 0; r->has_energy && i < f->device_count && i < r->energy.device_count; i++) {
        const struct gpu_device *read = &r->energy.devices[i];
        struct gpu_device *d = &f->devices[i];
        if (read->energy_ns < d->energy_ns || read->is_lost ||
            !row_has(&read->row, gpu_energy_joules))
            continue;
        row_put_u64(&d->row, gpu_energy_joules, row_u64(&read->row, gpu_energy_joules));
        d->energy_ns = read->energy_ns;
    }
    r->is_ready = r->has_energy = false;
    worker_unlock(&r->worker);
    return is_new;
}

/* False when the time is over before the frame that was asked for is ready, or will never be. */
static bool reader_wait(struct gpu_reader *r, uint64_t until_ns)
{
    bool is_awaited;
    worker_lock(&r->worker);
    do
        is_awaited = (r->is_asked || r->is_reading) && (r->is_open || !r->has_begun) && !r->is_dead;
    while (is_awaited && worker_wait_for_change(&r->worker, until_ns));
    worker_unlock(&r->worker);
    return !is_awaited;
}

/* How long the energy counters of the vendor took when they were last read alone. */
static uint64_t reader_hurry(struct gpu_reader *r)
{
    worker_lock(&r->worker);
    bool is_long = r->look_cost_ns > LONG_LOOK_NS ||
                   (r->is_reading && clock_mono(NULL) - r->busy_since_ns > LONG_LOOK_NS);
    if (r->helper && r->is_open && !r->is_dead && is_long) {
        r->energy_only = true;
        gpu_helper_hurry(r->helper);
    }
    uint64_t cost_ns = r->energy_cost_ns;
    worker_unlock(&r->worker);
    return cost_ns;
}

/* ---- All readers ----------------------------------------------------------------------------- */

int gpu_readers_start(struct gpu_readers **ret, const struct sysroot *root,
                      const struct gpu_vendor *const *vendors, bool all)
{
    struct gpu_readers *r = calloc(1, sizeof *r);
    if (!r)
        return -ENOMEM;
    struct sysroot whole;
    sysroot_copy(&whole, root);
    sysroot_open_rest(&whole); /* before a command is started there is only /proc */
    int result = 0;
    for (; result == 0 && *vendors && r->count < GPU_READERS_MAX; vendors++) {
        if (!all && !(*vendors)->is_likely(&whole))
            continue;
        result = reader_start(&r->items[r->count].reader, &whole, *vendors);
        if (result == 0)
            r->count++;
    }
    sysroot_close(&whole);
    if (result == 0 && !r->count)
        result = -ENODEV;
    if (result < 0) {
        gpu_readers_free(r, 0);
        return result;
    }
    *ret = r;
    return 0;
}

void gpu_readers_free(struct gpu_readers *r, int wait_ms)
{
    if (!r)
        return;
    uint64_t until_ns = wait_until(wait_ms);
    for (size_t i = 0; i < r->count; i++)
        reader_stop(r->items[i].reader);
    for (size_t i = 0; i < r->count; i++) {
        struct gpu_reader *reader = r->items[i].reader;
        worker_leave(&reader->worker, reader_is_open(reader) == -EAGAIN ? 0 : until_ns);
        gpu_frame_done(&r->items[i].newest);
    }
    free(r);
}

bool gpu_readers_are_asked(struct gpu_readers *r)
{
    bool all = true;
    for (size_t i = 0; i < r->count; i++)
        all &= reader_is_asked(r->items[i].reader);
    return all;
}

void gpu_readers_ask(struct gpu_readers *r, const pid_t *pids, size_t count, uint64_t due_ns)
{
    for (size_t i = 0; i < r->count; i++)
        if (!due_ns || !reader_is_asked(r->items[i].reader))
            reader_ask(r->items[i].reader, pids, count, due_ns);
}

bool gpu_readers_take(struct gpu_readers *r, struct gpu_frame *f)
{
    bool any = false;
    for (size_t i = 0; i < r->count; i++) {
        struct gpu_readers_vendor *v = &r->items[i];
        if (!reader_take(v->reader, &v->newest))
            continue;
        any = true;
        if (v->has_place)
            continue;
        v->has_place = true;
        v->place = r->place_count;
        v->place_count = (unsigned)v->newest.device_count;
        r->place_count += v->place_count;
    }
    if (!any)
        return false;
    f->process_count = 0; /* devices stay where they are */
    for (size_t i = 0; i < r->count; i++) {
        const struct gpu_readers_vendor *v = &r->items[i];
        if (v->has_place)
            gpu_frame_join(f, &v->newest, v->place, v->place_count);
    }
    return true;
}

bool gpu_readers_wait(struct gpu_readers *r, int timeout_ms, bool is_patient)
{
    uint64_t until_ns = wait_until(timeout_ms);
    bool all = true;
    for (size_t i = 0; i < r->count; i++) {
        struct gpu_reader *reader = r->items[i].reader;
        if (is_patient || reader_is_open(reader) != -EAGAIN)
            all &= reader_wait(reader, until_ns);
    }
    return all;
}

int gpu_readers_hurry(struct gpu_readers *r)
{
    enum { MOST_MS = 500 };
    uint64_t most_ns = 0;
    for (size_t i = 0; i < r->count; i++)
        most_ns = max_u64(most_ns, reader_hurry(r->items[i].reader));
    return (int)min_u64(3 * most_ns / NS_PER_MS, MOST_MS);
}

uint64_t gpu_readers_helper_cpu_ns(const struct gpu_readers *r)
{
    uint64_t ns = 0;
    for (size_t i = 0; i < r->count; i++)
        ns += r->items[i].reader->helper ? gpu_helper_cpu_ns(r->items[i].reader->helper) : 0;
    return ns;
}

int gpu_readers_open_count(struct gpu_readers *r)
{
    int count = 0;
    for (size_t i = 0; i < r->count; i++) {
        int is_open = reader_is_open(r->items[i].reader);
        if (is_open < 0)
            return is_open;
        count += is_open;
    }
    return count;
}

bool gpu_readers_are_complete(struct gpu_readers *r)
{
    for (size_t i = 0; i < r->count; i++)
        if (!r->items[i].has_place && reader_is_open(r->items[i].reader) != 0)
            return false;
    return true;
}

bool gpu_readers_say(struct gpu_readers *r, struct gpu_trouble *ret)
{
    bool has_message = false;
    for (size_t i = 0; i < r->count && !has_message; i++) {
        struct gpu_reader *reader = r->items[i].reader;
        worker_lock(&reader->worker);
        has_message = reader->said_count < reader->message_count;
        if (has_message)
            *ret = reader->messages[reader->said_count++];
        worker_unlock(&reader->worker);
    }
    return has_message;
}

void gpu_readers_excuse(struct gpu_readers *r, struct gpu_trouble *ret)
{
    ret->sentence[0] = '\0';
    for (size_t i = 0; i < r->count && !*ret->sentence; i++) {
        struct gpu_reader *reader = r->items[i].reader;
        worker_lock(&reader->worker);
        *ret = reader->excuse;
        worker_unlock(&reader->worker);
    }
}

const struct gpu_vendor *gpu_readers_late(struct gpu_readers *r, uint64_t longer_ns,
                                          bool *ret_is_beginning)
{
    for (size_t i = 0; i < r->count; i++) {
        struct gpu_readers_vendor *v = &r->items[i];
        struct gpu_reader *reader = v->reader;
        worker_lock(&reader->worker);
        uint64_t since_ns = reader->busy_since_ns;
        bool is_beginning = !reader->has_begun;
        worker_unlock(&reader->worker);
        if (v->late_said || !since_ns || clock_mono(NULL) - since_ns <= longer_ns)
            continue;
        v->late_said = true;
        *ret_is_beginning = is_beginning;
        return reader->vendor;
    }
    return NULL;
}

bool gpu_readers_have_child(struct gpu_readers *r, pid_t pid)
{
    for (size_t i = 0; i < r->count; i++)
        if (r->items[i].reader->helper && gpu_helper_is(r->items[i].reader->helper, pid))
            return true;
    return false;
}

size_t gpu_readers_threads(const struct gpu_readers *r, pid_t ret[GPU_READERS_MAX])
{
    for (size_t i = 0; i < r->count; i++)
        ret[i] = r->items[i].reader->worker.id;
    return r->count;
}
