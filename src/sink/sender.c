/* SPDX-License-Identifier: MIT */
#include "sink/sender.h"

#include "base/clock.h"
#include "base/thread.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#define FIRST_WAIT_NS   (250 * NS_PER_MS)
#define LONGEST_WAIT_NS (30 * NS_PER_SECOND)
#define STUCK_NS        (2 * NS_PER_SECOND) /* after the grace period, to return and to leave() */

struct sender {
    struct sender_plan plan;
    struct worker worker; /* its lock is that of everything below */
    struct queue queue;

    uint64_t no_progress_ns; /* see sender_wait_for_room; 0: sender_put never waits */
    bool is_awaited;         /* sender_put waits now: nothing is gathered */

    bool has_begun; /* to deliver */
    bool is_ending;
    _Atomic uint64_t until_ns; /* end of the grace period */
    struct sender_counts counts;
    char report[256]; /* for the user, or "" */
    bool is_failing;
    uint64_t random; /* used by the thread alone */
};

struct batch batch_take(struct queue *q, size_t most_bytes)
{
    struct batch b = {0};
    b.count = queue_take(q, most_bytes, &b.chunks);
    for (size_t i = 0; i < b.count; i++)
        b.samples += b.chunks[i].weight;
    return b;
}

bool batch_has_end(const struct batch *b)
{
    for (size_t i = 0; i < b->count; i++)
        if (b->chunks[i].kind == CHUNK_SUMMARY)
            return true;
    return false;
}

/* ---- Adding chunks --------------------------------------------------------------------------- */

/* Waits until a chunk of that cost fits, or the queue is empty. With the lock held. */
static bool sender_await_room(struct sender *s, size_t cost)
{
    const struct queue *q = &s->queue;
    while (s->worker.id && !s->is_ending && !queue_is_empty(q) &&
           q->bytes + cost > q->limit_bytes) {
        size_t before = q->bytes;
        s->is_awaited = true;
        worker_wake(&s->worker);
        uint64_t until = sum_u64(clock_mono(NULL), s->no_progress_ns);
        while (q->bytes == before && worker_wait_for_change(&s->worker, until))
            ;
        s->is_awaited = false;
        if (q->bytes == before)
            return false;
    }
    return true;
}

int sender_put(struct sender *s, const struct chunk *chunk)
{
    uint64_t dropped = 0;
    worker_lock(&s->worker);
    if (s->no_progress_ns && !sender_await_room(s, queue_cost(chunk->length))) {
        worker_unlock(&s->worker);
        return -ETIMEDOUT;
    }
    bool was_empty = queue_is_empty(&s->queue);
    int r = s->is_ending ? -ENOBUFS : queue_add(&s->queue, chunk, s->no_progress_ns, &dropped);
    if (r == 0 && (was_empty || s->queue.bytes >= s->plan.batch_bytes))
        worker_wake(&s->worker);
    s->counts.accepted += chunk->weight;
    s->counts.dropped += dropped + (r < 0 ? chunk->weight : 0);
    if (r < 0 || dropped) {
        s->counts.is_whole = false;
        if (!*s->counts.why)
            snprintf(s->counts.why, sizeof s->counts.why, "destination too slow");
    }
    worker_unlock(&s->worker);
    return r < 0 ? r : dropped ? -ENOBUFS : 0;
}

/* ---- The thread ------------------------------------------------------------------------------ */

/* Waits until there is enough, or the oldest chunk has waited long enough. False: no more chunks
 * come. With the lock held. */
static bool sender_await_batch(struct sender *s)
{
    for (;;) {
        bool is_empty = queue_is_empty(&s->queue);
        if (s->is_ending)
            return !is_empty;
        uint64_t gather_ns = s->plan.first_at_once && !s->has_begun ? 0 : s->plan.gather_ns;
        uint64_t at = is_empty ? UINT64_MAX : sum_u64(queue_oldest_ns(&s->queue), gather_ns);
        if (!is_empty &&
            (s->is_awaited || s->queue.bytes >= s->plan.batch_bytes || clock_mono(NULL) >= at))
            return true;
        worker_wait_for_change(&s->worker, at);
    }
}

static void sender_note_failure(struct sender *s, const struct attempt *a)
{
    snprintf(s->counts.why, sizeof s->counts.why, "%s", a->why);
    if (!s->is_failing)
        snprintf(s->report, sizeof s->report, "%s", a->why);
    s->is_failing = true;
}

/* Waits before the same batch is tried again; *wait_ns grows. The end of the run cuts a wait short
 * and starts over with short ones. With the lock held. */
static void sender_await_retry(struct sender *s, uint64_t *wait_ns, const struct attempt *a)
{
    uint64_t longest = s->plan.longest_wait_ns, wait = min_u64(a->wait_ns, longest * 4);
    if (!wait) { /* between half and all of it: senders that failed together do not retry together
                  */
        s->random ^= s->random << 13;
        s->random ^= s->random >> 7;
        s->random ^= s->random << 17;
        wait = *wait_ns / 2 + s->random % (*wait_ns / 2 + 1);
    }
    uint64_t until = sum_u64(clock_mono(NULL), wait);
    *wait_ns = min_u64(*wait_ns * 2, longest);
    bool was_ending = s->is_ending;
    while (clock_mono(NULL) < min_u64(until, atomic_load(&s->until_ns)) &&
           (was_ending || !s->is_ending))
        worker_wait_for_change(&s->worker, min_u64(until, atomic_load(&s->until_ns)));
    if (s->is_ending && !was_ending)
        *wait_ns = s->plan.first_wait_ns;
}

/* Delivers one batch, however often it takes, and counts its samples. With the lock held, except
 * during the callbacks. */
static void sender_deliver(struct sender *s, struct batch b)
{
    uint64_t wait_ns = s->plan.first_wait_ns, lacking = 0;
    struct sender_counts *n = &s->counts;
    enum delivery d = DELIVERY_AGAIN;
    struct attempt a;
    while (d == DELIVERY_AGAIN && !sender_is_over(s)) {
        n->retries += b.attempt > 0;
        worker_unlock(&s->worker);
        a = (struct attempt){0};
        d = s->plan.deliver(s->plan.arg, &b, &a);
        worker_lock(&s->worker);
        b.attempt++;
        /* Samples of earlier batches. */
        n->kept -= a.returned + a.rejected;
        n->delivered += a.returned;
        n->refused += a.rejected;
        if (a.rejected || (d == DELIVERY_DONE && a.is_partly)) {
            n->is_whole = false;
            s->is_failing = false;
        }
        if (d != DELIVERY_DONE || a.is_partly)
            sender_note_failure(s, &a);
        if (d == DELIVERY_AGAIN)
            sender_await_retry(s, &wait_ns, &a);
        lacking = d == DELIVERY_DONE ? min_u64(a.lacking, b.samples) : 0;
    }
    if (!b.attempt && !*n->why)
        snprintf(n->why, sizeof n->why, "no time left to send it");
    if (d == DELIVERY_AGAIN && s->plan.leave) {
        worker_unlock(&s->worker);
        a = (struct attempt){0};
        d = s->plan.leave(s->plan.arg, &b, &a);
        worker_lock(&s->worker);
        if (*a.why)
            sender_note_failure(s, &a);
    }
    uint64_t *to = d == DELIVERY_DONE      ? &n->delivered
                   : d == DELIVERY_KEPT    ? &n->kept
                   : d == DELIVERY_REFUSED ? &n->refused
                                           : &n->dropped;
    *to += b.samples - lacking;
    n->refused += lacking;
    n->has_kept = d == DELIVERY_KEPT;
    n->has_arrived |= d == DELIVERY_DONE || d == DELIVERY_KEPT;
    if (d == DELIVERY_DONE)
        s->is_failing = false;
    else if (d != DELIVERY_KEPT)
        n->is_whole = false;
    queue_release(&s->queue);
}

static void sender_work(void *arg)
{
    struct sender *s = arg;
    worker_lock(&s->worker);
    while (sender_await_batch(s)) {
        struct batch b = batch_take(&s->queue, s->plan.batch_bytes);
        s->has_begun = true;
        if (s->is_awaited)
            worker_wake(&s->worker);
        sender_deliver(s, b);
    }
    worker_unlock(&s->worker);
}

static void sender_dispose(void *arg)
{
    struct sender *s = arg;
    queue_done(&s->queue);
    worker_done(&s->worker);
    free(s);
}

/* ---- For the owner --------------------------------------------------------------------------- */

int sender_new(struct sender **ret, const struct sender_plan *plan)
{
    struct sender *s = calloc(1, sizeof *s);
    if (!s || queue_init(&s->queue, plan->queue_bytes) < 0) {
        free(s);
        return -ENOMEM;
    }
    s->plan = *plan;
    if (!s->plan.first_wait_ns)
        s->plan.first_wait_ns = FIRST_WAIT_NS;
    if (!s->plan.longest_wait_ns)
        s->plan.longest_wait_ns = LONGEST_WAIT_NS;
    s->counts.is_whole = true;
    s->random = clock_mono(NULL) | 1;
    atomic_init(&s->until_ns, UINT64_MAX);
    struct worker_plan thread = {
        .name = plan->thread_name, .work = sender_work, .dispose = sender_dispose};
    worker_init(&s->worker, &thread, s);
    *ret = s;
    return 0;
}

int sender_start(struct sender *s)
{
    return worker_start(&s->worker);
}

void sender_wait_for_room(struct sender *s, uint64_t no_progress_ns)
{
    s->no_progress_ns = no_progress_ns;
}

void sender_flush(struct sender *s)
{
    worker_lock(&s->worker);
    if (s->no_progress_ns)
        sender_await_room(s, s->queue.limit_bytes);
    worker_unlock(&s->worker);
}

void sender_end(struct sender *s, uint64_t grace_ns)
{
    worker_lock(&s->worker);
    uint64_t until = sum_u64(clock_mono(NULL), grace_ns);
    if (until < atomic_load(&s->until_ns))
        atomic_store(&s->until_ns, until);
    s->is_ending = true;
    worker_wake(&s->worker);
    worker_unlock(&s->worker);
}

bool sender_wait_until(struct sender *s, uint64_t until_ns)
{
    return worker_wait(&s->worker, until_ns);
}

bool sender_wait(struct sender *s)
{
    if (sender_wait_until(s, sum_u64(atomic_load(&s->until_ns), STUCK_NS)))
        return true;
    worker_lock(&s->worker);
    s->counts.is_whole = false; /* the batch in deliver() is lost to the caller */
    if (!*s->counts.why)
        snprintf(s->counts.why, sizeof s->counts.why, "sending did not finish in time");
    worker_unlock(&s->worker);
    return false;
}

bool sender_free(struct sender *s)
{
    if (!s)
        return true;
    sender_end(s, 0);
    return worker_leave(&s->worker, sum_u64(atomic_load(&s->until_ns), STUCK_NS));
}

bool sender_is_over(void *sender)
{
    struct sender *s = sender;
    uint64_t until = atomic_load(&s->until_ns);
    return until != UINT64_MAX && clock_mono(NULL) >= until;
}

bool sender_is_ending(void *sender)
{
    struct sender *s = sender;
    return atomic_load(&s->until_ns) != UINT64_MAX;
}

void sender_count(struct sender *s, struct sender_counts *ret)
{
    worker_lock(&s->worker);
    *ret = s->counts;
    bool is_over = s->is_ending && (!s->worker.id || s->worker.has_ended || sender_is_over(s));
    worker_unlock(&s->worker);
    if (is_over) /* with a stuck thread, some are not counted yet */
        ret->dropped = ret->accepted - ret->delivered - ret->kept - ret->refused;
}

enum delivery sender_lacks_memory(struct attempt *a)
{
    snprintf(a->why, sizeof a->why, "out of memory for a request");
    return DELIVERY_REFUSED;
}

void sender_report(struct sender *s, const char *message)
{
    worker_lock(&s->worker);
    snprintf(s->report, sizeof s->report, "%s", message);
    worker_unlock(&s->worker);
}

bool sender_take_report(struct sender *s, char *ret, size_t capacity)
{
    worker_lock(&s->worker);
    bool has_any = *s->report;
    if (has_any)
        snprintf(ret, capacity, "%s", s->report);
    s->report[0] = '\0';
    worker_unlock(&s->worker);
    return has_any;
}

pid_t sender_thread(const struct sender *s)
{
    return s->worker.id;
}
