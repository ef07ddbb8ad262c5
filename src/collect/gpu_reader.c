/* SPDX-License-Identifier: MIT */
#include "collect/gpu_reader.h"

#include "base/clock.h"
#include "base/wait.h"

#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

/* The figures of drivers are no finer than this. */
#define SPACING_NS (100 * NS_PER_MS)
#define MARGIN_NS  (3 * NS_PER_MS)

/* Where there is much to look at, it takes a fiftieth of a core at most, but for one look in so
 * long.
 */
enum { REST = 50 };
#define LONGEST_NS (10 * NS_PER_SECOND)

enum { STACK_BYTES = 1024 * 1024, VENDORS = 8, SENTENCES = 8 };

struct opened {
    const struct gpu_vendor *vendor;
    void *state; /* its own */
    int result;  /* of opening it */
    struct gpu_trouble trouble;
};

struct gpu_reader {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    pthread_t thread;
    pid_t thread_id;
    bool is_shared; /* both the owner and the thread are there; the last one frees it */

    /* The thread's alone: */
    struct sysroot root;
    const struct gpu_vendor *const *vendors;
    bool all;
    struct opened opened[VENDORS];
    size_t opened_count;
    struct gpu_frame frame; /* being read */
    pid_t *pids;            /* owned; of this round */
    size_t pid_count;
    uint64_t began_ns, cost_ns; /* of the round before … */
    uint64_t rest_ns;           /* … and from its beginning to that of the next */

    /* Of both: */
    struct gpu_helpers helpers;
    bool stop, has_begun, has_ended;
    uint64_t busy_since_ns; /* it began or reads since then; 0: it rests */
    const struct gpu_vendor *busy_with;
    int vendors_open;
    bool is_asked, is_reading;
    uint64_t due_ns;
    pid_t *asked_pids; /* owned */
    size_t asked_count, asked_capacity;
    struct gpu_frame ready;
    bool is_ready;
    struct gpu_trouble said[SENTENCES];
    unsigned said_count, told_count;
    struct gpu_trouble excuse;
};

/* ---- The thread ------------------------------------------------------------------------------ */

/* Once each: a sentence that was said is not said again. With the lock held. */
static void say(struct gpu_reader *r, const struct gpu_trouble *trouble)
{
    if (!*trouble->sentence || r->said_count == SENTENCES)
        return;
    for (unsigned i = 0; i < r->said_count; i++)
        if (strcmp(r->said[i].sentence, trouble->sentence) == 0)
            return;
    r->said[r->said_count++] = *trouble;
}

static void turn_to(struct gpu_reader *r, const struct gpu_vendor *vendor)
{
    pthread_mutex_lock(&r->lock);
    r->busy_with = vendor;
    pthread_mutex_unlock(&r->lock);
}

static struct opened *find_opened(struct gpu_reader *r, const struct gpu_vendor *vendor)
{
    for (size_t i = 0; i < r->opened_count; i++)
        if (r->opened[i].vendor == vendor)
            return &r->opened[i];
    return NULL;
}

/* One that stands for another is tried where that one is not to be had. */
static void open_vendor(struct gpu_reader *r, const struct gpu_vendor *vendor)
{
    struct opened *first = vendor->instead_of ? find_opened(r, vendor->instead_of) : NULL;
    if ((first && first->result == 0) || r->opened_count == VENDORS ||
        !(r->all || vendor->is_likely(&r->root)))
        return;
    struct gpu_context context = {.root = &r->root, .helpers = &r->helpers};
    struct opened *o = &r->opened[r->opened_count++];
    *o = (struct opened){.vendor = vendor};
    turn_to(r, vendor);
    o->result = vendor->open(&o->state, &context, &o->trouble);
    if (first && o->result == 0)
        first->trouble.sentence[0] = '\0'; /* it is made up for */
}

static void begin(struct gpu_reader *r)
{
    for (size_t i = 0; r->vendors[i]; i++)
        open_vendor(r, r->vendors[i]);
    pthread_mutex_lock(&r->lock);
    for (size_t i = 0; i < r->opened_count; i++) {
        const struct opened *o = &r->opened[i];
        r->vendors_open += o->result == 0;
        if (o->result != -ENODEV)
            say(r, &o->trouble);
        else if (!*r->excuse.sentence)
            r->excuse = o->trouble;
    }
    r->has_begun = true;
    r->busy_since_ns = 0;
    pthread_cond_broadcast(&r->changed);
    pthread_mutex_unlock(&r->lock);
}

/* When to begin so that the frame is there by the time it is due. */
static uint64_t begin_at(const struct gpu_reader *r)
{
    if (!r->due_ns)
        return 0;
    return max_u64(r->began_ns + r->rest_ns, left_u64(r->due_ns, r->cost_ns * 3 / 2 + MARGIN_NS));
}

/* Whether to go on; with the lock held. */
static bool wait_for_request(struct gpu_reader *r)
{
    for (;;) {
        if (r->stop)
            return false;
        uint64_t at = begin_at(r);
        if (!r->is_asked || !r->vendors_open)
            pthread_cond_wait(&r->changed, &r->lock);
        else if (clock_mono(NULL) >= at)
            return true;
        else
            wait_for(&r->changed, &r->lock, at);
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

static void read_vendor(struct gpu_reader *r, const struct opened *o, struct gpu_trouble *trouble)
{
    size_t first = r->frame.device_count;
    if (o->result < 0)
        return;
    turn_to(r, o->vendor);
    o->vendor->read(o->state, &r->frame, r->pids, r->pid_count, trouble);
    for (size_t i = first; i < r->frame.device_count; i++)
        r->frame.devices[i].facts.means = o->vendor->means;
}

static void read_all(struct gpu_reader *r, struct gpu_trouble troubles[VENDORS])
{
    uint64_t cpu_ns = clock_thread_cpu();
    gpu_frame_clear(&r->frame);
    r->frame.began_ns = clock_mono(NULL);
    for (size_t i = 0; i < r->opened_count; i++) {
        troubles[i].sentence[0] = '\0';
        read_vendor(r, &r->opened[i], &troubles[i]);
    }
    r->frame.ended_ns = clock_mono(NULL);
    r->began_ns = r->frame.began_ns;
    r->cost_ns = r->frame.ended_ns - r->frame.began_ns;
    uint64_t rest_ns = min_u64(REST * left_u64(clock_thread_cpu(), cpu_ns), LONGEST_NS);
    r->frame.rest_ns = r->rest_ns = max_u64(rest_ns, SPACING_NS);
}

/* With the lock held. */
static void hand_over(struct gpu_reader *r, const struct gpu_trouble troubles[VENDORS])
{
    struct gpu_frame before = r->ready;
    r->ready = r->frame;
    r->frame = before;
    r->is_ready = true;
    r->is_reading = false;
    r->busy_since_ns = 0;
    for (size_t i = 0; i < r->opened_count; i++)
        say(r, &troubles[i]);
    pthread_cond_broadcast(&r->changed);
}

static void dispose(struct gpu_reader *r)
{
    gpu_frame_done(&r->frame);
    gpu_frame_done(&r->ready);
    gpu_helpers_done(&r->helpers);
    sysroot_close(&r->root);
    free(r->pids);
    free(r->asked_pids);
    pthread_mutex_destroy(&r->lock);
    pthread_cond_destroy(&r->changed);
    free(r);
}

/* Whether the other side has left it already; then it is ours to free. */
static bool let_go(struct gpu_reader *r)
{
    bool is_last = !r->is_shared;
    r->is_shared = false;
    pthread_mutex_unlock(&r->lock);
    return is_last;
}

static void *run(void *arg)
{
    struct gpu_reader *r = arg;
    struct gpu_trouble troubles[VENDORS];
    prctl(PR_SET_NAME, "toll-gpu");
    pthread_mutex_lock(&r->lock);
    r->thread_id = (pid_t)syscall(SYS_gettid);
    pthread_cond_broadcast(&r->changed);
    pthread_mutex_unlock(&r->lock);
    begin(r);
    pthread_mutex_lock(&r->lock);
    while (wait_for_request(r)) {
        accept_request(r);
        pthread_mutex_unlock(&r->lock);
        read_all(r, troubles);
        pthread_mutex_lock(&r->lock);
        hand_over(r, troubles);
    }
    pthread_mutex_unlock(&r->lock);
    for (size_t i = 0; i < r->opened_count; i++)
        if (r->opened[i].result == 0)
            r->opened[i].vendor->close(r->opened[i].state);
    pthread_mutex_lock(&r->lock);
    r->has_ended = true;
    pthread_cond_broadcast(&r->changed);
    if (let_go(r))
        dispose(r);
    return NULL;
}

/* ---- Those who ask --------------------------------------------------------------------------- */

/* Signals are for the program's own threads. Those that a fault in a driver's library raises are
 * the thread's: a program that would rather lose GPUs than end can catch them (cli/crash.c). */
static void block_signals(sigset_t *ret_before)
{
    static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL};
    sigset_t blocked;
    sigfillset(&blocked);
    for (size_t i = 0; i < ARRAY_LEN(faults); i++)
        sigdelset(&blocked, faults[i]);
    pthread_sigmask(SIG_SETMASK, &blocked, ret_before);
}

static int start_thread(struct gpu_reader *r)
{
    sigset_t before;
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    block_signals(&before);
    int result = -pthread_create(&r->thread, &attributes, run, r);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    return result;
}

static bool is_any_likely(const struct gpu_vendor *const *vendors, const struct sysroot *root)
{
    for (size_t i = 0; vendors[i]; i++)
        if (vendors[i]->is_likely(root))
            return true;
    return false;
}

int gpu_reader_start(struct gpu_reader **ret, const struct sysroot *root,
                     const struct gpu_vendor *const *vendors, bool all)
{
    struct sysroot own;
    sysroot_copy(&own, root);
    sysroot_open_rest(&own); /* before a command is started there is but /proc */
    struct gpu_reader *r = all || is_any_likely(vendors, &own) ? calloc(1, sizeof *r) : NULL;
    if (!r) {
        sysroot_close(&own);
        return all ? -ENOMEM : -ENODEV;
    }
    r->root = own;
    r->vendors = vendors;
    r->all = all;
    r->is_shared = true;
    r->busy_since_ns = clock_mono(NULL);
    pthread_mutex_init(&r->lock, NULL);
    wait_init(&r->changed);
    gpu_helpers_init(&r->helpers);
    pthread_mutex_lock(&r->lock);
    int result = start_thread(r);
    while (result == 0 && !r->thread_id)
        pthread_cond_wait(&r->changed, &r->lock);
    pthread_mutex_unlock(&r->lock);
    if (result < 0) {
        dispose(r);
        return result;
    }
    *ret = r;
    return 0;
}

bool gpu_reader_free(struct gpu_reader *r, int wait_ms)
{
    if (!r)
        return true;
    uint64_t until_ns = wait_until(wait_ms);
    pthread_t thread = r->thread;
    pthread_mutex_lock(&r->lock);
    r->stop = true;
    pthread_cond_broadcast(&r->changed);
    while (!r->has_ended && wait_for(&r->changed, &r->lock, until_ns))
        ;
    bool has_ended = r->has_ended;
    bool is_last = let_go(r);
    if (has_ended)
        pthread_join(thread, NULL); /* it is about to return */
    else
        pthread_detach(thread);
    if (is_last)
        dispose(r);
    return has_ended;
}

bool gpu_reader_is_asked(struct gpu_reader *r)
{
    pthread_mutex_lock(&r->lock);
    bool is_asked = r->is_asked || r->is_reading;
    pthread_mutex_unlock(&r->lock);
    return is_asked;
}

/* With the lock held. False when there is no memory. */
static bool take_pids(struct gpu_reader *r, const pid_t *pids, size_t count)
{
    if (count > r->asked_capacity) {
        pid_t *more = reallocarray(r->asked_pids, count, sizeof *more);
        if (!more)
            return false;
        r->asked_pids = more;
        r->asked_capacity = count;
    }
    if (count)
        memcpy(r->asked_pids, pids, count * sizeof *pids);
    r->asked_count = count;
    return true;
}

void gpu_reader_ask(struct gpu_reader *r, const pid_t *pids, size_t count, uint64_t due_ns)
{
    pthread_mutex_lock(&r->lock);
    if (take_pids(r, pids, count)) {
        r->is_asked = true;
        r->due_ns = due_ns;
        pthread_cond_broadcast(&r->changed);
    }
    pthread_mutex_unlock(&r->lock);
}

bool gpu_reader_take(struct gpu_reader *r, struct gpu_frame *f)
{
    pthread_mutex_lock(&r->lock);
    bool is_new = r->is_ready;
    if (is_new) {
        struct gpu_frame newest = r->ready;
        r->ready = *f;
        *f = newest;
        r->is_ready = false;
    }
    pthread_mutex_unlock(&r->lock);
    return is_new;
}

bool gpu_reader_wait_frame(struct gpu_reader *r, int timeout_ms)
{
    uint64_t until_ns = wait_until(timeout_ms);
    pthread_mutex_lock(&r->lock);
    while ((r->is_asked || r->is_reading) && !(r->has_begun && !r->vendors_open) &&
           wait_for(&r->changed, &r->lock, until_ns))
        ;
    bool is_there = !r->is_asked && !r->is_reading;
    pthread_mutex_unlock(&r->lock);
    return is_there;
}

int gpu_reader_vendors(struct gpu_reader *r)
{
    pthread_mutex_lock(&r->lock);
    int count = r->has_begun ? r->vendors_open : -EAGAIN;
    pthread_mutex_unlock(&r->lock);
    return count;
}

bool gpu_reader_says(struct gpu_reader *r, struct gpu_trouble *ret)
{
    pthread_mutex_lock(&r->lock);
    bool has = r->told_count < r->said_count;
    if (has)
        *ret = r->said[r->told_count++];
    pthread_mutex_unlock(&r->lock);
    return has;
}

void gpu_reader_excuse(struct gpu_reader *r, struct gpu_trouble *ret)
{
    pthread_mutex_lock(&r->lock);
    *ret = r->excuse;
    pthread_mutex_unlock(&r->lock);
}

bool gpu_reader_has_child(struct gpu_reader *r, pid_t pid)
{
    return gpu_helpers_has(&r->helpers, pid);
}

uint64_t gpu_reader_busy_ns(struct gpu_reader *r, const struct gpu_vendor **ret_with)
{
    pthread_mutex_lock(&r->lock);
    uint64_t since_ns = r->busy_since_ns;
    *ret_with = r->busy_with;
    pthread_mutex_unlock(&r->lock);
    return since_ns ? clock_mono(NULL) - since_ns : 0;
}

pid_t gpu_reader_thread(const struct gpu_reader *r)
{
    return r->thread_id;
}
