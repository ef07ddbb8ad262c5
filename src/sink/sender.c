/* SPDX-License-Identifier: MIT */
#include "sink/sender.h"

#include "base/clock.h"
#include "base/thread.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

/* ==== Piece queue ============================================================================= */

enum { SPARE_NODES = 64, BATCH_CHUNKS = 4096 };

/* A piece on its way. Nodes are used again, so that whoever keeps up allocates nothing. */
struct chunk_node {
    struct chunk_node *next;
    size_t capacity, length;
    enum chunk_of of;
    unsigned samples;
    uint64_t put_ns;
    char data[];
};

int chunk_queue_init(struct chunk_queue *q, size_t limit_bytes)
{
    *q = (struct chunk_queue){.limit_bytes = limit_bytes, .behind_last = &q->first};
    q->chunks = calloc(BATCH_CHUNKS, sizeof *q->chunks);
    return q->chunks ? 0 : -ENOMEM;
}

static void free_nodes(struct chunk_node *n)
{
    for (struct chunk_node *next; n; n = next) {
        next = n->next;
        free(n);
    }
}

void chunk_queue_done(struct chunk_queue *q)
{
    free_nodes(q->first);
    free_nodes(q->spare);
    free_nodes(q->batch);
    free(q->chunks);
}

static size_t chunk_queue_size_of(const struct chunk_node *n)
{
    return sizeof *n + n->length;
}

size_t chunk_queue_size(const struct chunk *p)
{
    return sizeof(struct chunk_node) + p->length;
}

uint64_t chunk_queue_since(const struct chunk_queue *q)
{
    return q->first->put_ns;
}

static struct chunk_node *make_node(struct chunk_queue *q, size_t length)
{
    struct chunk_node **link = &q->spare;
    while (*link && (*link)->capacity < length)
        link = &(*link)->next;
    struct chunk_node *n = *link;
    if (n) {
        *link = n->next;
        q->spare_count--;
        return n;
    }
    size_t capacity = length + length / 4 + 64;
    n = malloc(sizeof *n + capacity);
    if (n)
        n->capacity = capacity;
    return n;
}

static void put_back(struct chunk_queue *q, struct chunk_node *n)
{
    if (q->spare_count >= SPARE_NODES) {
        struct chunk_node *one = q->spare;
        q->spare = one->next;
        q->spare_count--;
        free(one);
    }
    n->next = q->spare;
    q->spare = n;
    q->spare_count++;
}

/* The oldest sample; what is no sample stays. False when there is none. */
static bool drop_oldest(struct chunk_queue *q, uint64_t *dropped)
{
    struct chunk_node **link = &q->first;
    while (*link && !(*link)->samples)
        link = &(*link)->next;
    struct chunk_node *n = *link;
    if (!n)
        return false;
    *link = n->next;
    if (!*link)
        q->behind_last = link;
    q->waiting_bytes -= chunk_queue_size_of(n);
    *dropped += n->samples;
    put_back(q, n);
    return true;
}

/* Whether there is room for it, or can be made. Pieces that are no samples are few and small: they
 * may use as much again. */
static bool chunk_queue_make_room(struct chunk_queue *q, const struct chunk *p, uint64_t *dropped)
{
    size_t size = chunk_queue_size(p);
    while (q->waiting_bytes + size > q->limit_bytes)
        if (!drop_oldest(q, dropped))
            return !p->samples && q->waiting_bytes + size <= 2 * q->limit_bytes;
    return true;
}

int chunk_queue_put(struct chunk_queue *q, const struct chunk *p, bool is_forced, uint64_t *dropped)
{
    if (!(is_forced && !q->first) && !chunk_queue_make_room(q, p, dropped))
        return -ENOBUFS;
    struct chunk_node *n = make_node(q, p->length);
    if (!n)
        return -ENOMEM;
    n->next = NULL;
    n->length = p->length;
    n->of = p->of;
    n->samples = p->samples;
    n->put_ns = clock_mono(NULL);
    memcpy(n->data, p->data, p->length);
    *q->behind_last = n;
    q->behind_last = &n->next;
    q->waiting_bytes += chunk_queue_size_of(n);
    return 0;
}

struct batch chunk_queue_take(struct chunk_queue *q, size_t most)
{
    struct batch b = {.chunks = q->chunks};
    struct chunk_node **link = &q->batch;
    size_t bytes = 0;
    while (q->first && b.count < BATCH_CHUNKS && (!b.count || bytes + q->first->length <= most)) {
        struct chunk_node *n = q->first;
        q->first = n->next;
        q->waiting_bytes -= chunk_queue_size_of(n);
        bytes += n->length;
        b.samples += n->samples;
        q->chunks[b.count++] = (struct chunk){n->of, n->samples, n->data, n->length};
        *link = n;
        link = &n->next;
    }
    *link = NULL;
    if (!q->first)
        q->behind_last = &q->first;
    return b;
}

void chunk_queue_return(struct chunk_queue *q)
{
    for (struct chunk_node *n = q->batch, *next; n; n = next) {
        next = n->next;
        put_back(q, n);
    }
    q->batch = NULL;
}

bool batch_has_end(const struct batch *b)
{
    for (size_t i = 0; i < b->count; i++)
        if (b->chunks[i].of == CHUNK_SUMMARY)
            return true;
    return false;
}

/* ==== Sender ================================================================================= */

#define FIRST_WAIT_NS   (250 * NS_PER_MS)
#define LONGEST_WAIT_NS (30 * NS_PER_SECOND)
#define STUCK_NS        (2 * NS_PER_SECOND) /* behind the grace, to come back and put things aside */

struct sender {
    struct sender_plan plan;
    struct worker worker;
    struct chunk_queue queue;

    uint64_t no_progress_ns; /* whoever puts waits for room, but no longer; 0: it never waits */
    bool is_awaited;         /* … and does: nothing is gathered */

    bool has_begun; /* to deliver */
    bool is_ending;
    _Atomic uint64_t until_ns; /* when time is up */
    struct sender_counts counts;
    char told[256]; /* to be said */
    bool is_failing;
    uint64_t random; /* the thread's alone */
};

/* ---- Putting in ------------------------------------------------------------------------------ */

/* Until so much may be added, whatever it is to an empty queue. With the lock held. */
static bool wait_for_room(struct sender *c, size_t size)
{
    const struct chunk_queue *q = &c->queue;
    while (c->worker.id && !c->is_ending && !chunk_queue_is_empty(q) &&
           q->waiting_bytes + size > q->limit_bytes) {
        size_t before = q->waiting_bytes;
        c->is_awaited = true;
        worker_tell(&c->worker);
        uint64_t until = sum_u64(clock_mono(NULL), c->no_progress_ns);
        while (q->waiting_bytes == before && worker_wait_for_change(&c->worker, until))
            ;
        c->is_awaited = false;
        if (q->waiting_bytes == before)
            return false;
    }
    return true;
}

/* With the lock held. */
static int sender_put_locked(struct sender *c, const struct chunk *p)
{
    uint64_t dropped = 0;
    bool was_empty = chunk_queue_is_empty(&c->queue);
    int r = c->is_ending ? -ENOBUFS : chunk_queue_put(&c->queue, p, c->no_progress_ns, &dropped);
    if (r == 0 && (was_empty || c->queue.waiting_bytes >= c->plan.batch_bytes))
        worker_tell(&c->worker);
    c->counts.taken += p->samples;
    c->counts.dropped += dropped + (r < 0 ? p->samples : 0);
    if (r == 0 && !dropped)
        return 0;
    c->counts.is_whole = false;
    if (!*c->counts.why)
        snprintf(c->counts.why, sizeof c->counts.why, "it does not keep up");
    return r < 0 ? r : -ENOBUFS;
}

int sender_put(struct sender *c, const struct chunk *p)
{
    worker_lock(&c->worker);
    int r = !c->no_progress_ns || wait_for_room(c, chunk_queue_size(p)) ? sender_put_locked(c, p)
                                                                        : -ETIMEDOUT;
    worker_unlock(&c->worker);
    return r;
}

/* ---- The thread ------------------------------------------------------------------------------ */

/* Until there is enough, or the oldest has waited long enough. False: nothing will come any more.
 */
static bool wait_for_chunks(struct sender *c)
{
    for (;;) {
        bool is_empty = chunk_queue_is_empty(&c->queue);
        if (c->is_ending)
            return !is_empty;
        uint64_t gather_ns = c->plan.first_at_once && !c->has_begun ? 0 : c->plan.gather_ns;
        uint64_t at = is_empty ? UINT64_MAX : sum_u64(chunk_queue_since(&c->queue), gather_ns);
        if (!is_empty && (c->is_awaited || c->queue.waiting_bytes >= c->plan.batch_bytes ||
                          clock_mono(NULL) >= at))
            return true;
        worker_wait_for_change(&c->worker, at);
    }
}

/* With the lock held. */
static struct batch take_batch(struct sender *c)
{
    struct batch b = chunk_queue_take(&c->queue, c->plan.batch_bytes);
    c->has_begun = true;
    if (c->is_awaited)
        worker_tell(&c->worker);
    return b;
}

/* Between half and all of it: many that failed together shall not come back together. */
static uint64_t sender_jitter(struct sender *c, uint64_t ns)
{
    c->random ^= c->random << 13;
    c->random ^= c->random >> 7;
    c->random ^= c->random << 17;
    return ns / 2 + c->random % (ns / 2 + 1);
}

static void sender_note_failure(struct sender *c, const struct attempt *a)
{
    snprintf(c->counts.why, sizeof c->counts.why, "%s", a->why);
    if (!c->is_failing)
        snprintf(c->told, sizeof c->told, "%s", a->why);
    c->is_failing = true;
}

/* The same batch after a while; with the lock held. At the end it goes faster, and not beyond. */
static void wait_before_retry(struct sender *c, uint64_t *wait_ns, const struct attempt *a)
{
    uint64_t longest = c->plan.longest_wait_ns;
    uint64_t until = sum_u64(clock_mono(NULL), a->wait_ns ? min_u64(a->wait_ns, longest * 4)
                                                          : sender_jitter(c, *wait_ns));
    *wait_ns = min_u64(*wait_ns * 2, longest);
    bool was_ending = c->is_ending;
    while (clock_mono(NULL) < min_u64(until, atomic_load(&c->until_ns)) &&
           (was_ending || !c->is_ending))
        worker_wait_for_change(&c->worker, min_u64(until, atomic_load(&c->until_ns)));
    if (c->is_ending && !was_ending)
        *wait_ns = c->plan.first_wait_ns;
}

static void sender_count_batch(struct sender *c, const struct batch *b, enum delivery d,
                               uint64_t lacking)
{
    uint64_t *to = d == DELIVERY_DONE      ? &c->counts.delivered
                   : d == DELIVERY_KEPT    ? &c->counts.kept
                   : d == DELIVERY_REFUSED ? &c->counts.refused
                                           : &c->counts.dropped;
    *to += b->samples - lacking;
    c->counts.refused += lacking;
    c->counts.has_kept = d == DELIVERY_KEPT;
    if (d == DELIVERY_DONE)
        c->is_failing = false;
    else if (d != DELIVERY_KEPT)
        c->counts.is_whole = false;
}

/* What came of an attempt beside its batch. */
static void count_beside(struct sender *c, enum delivery d, const struct attempt *a)
{
    c->counts.kept -= a->returned + a->rejected;
    c->counts.delivered += a->returned;
    c->counts.refused += a->rejected;
    if (a->rejected || (d == DELIVERY_DONE && a->is_partly)) {
        c->counts.is_whole = false;
        c->is_failing = false;
    }
    if (d != DELIVERY_DONE || a->is_partly)
        sender_note_failure(c, a);
}

/* With the lock held at both ends. */
static void sender_deliver(struct sender *c, struct batch b)
{
    uint64_t wait_ns = c->plan.first_wait_ns;
    enum delivery d = DELIVERY_AGAIN;
    struct attempt a;
    while (d == DELIVERY_AGAIN && !sender_is_over(c)) {
        c->counts.retries += b.attempt > 0;
        worker_unlock(&c->worker);
        a = (struct attempt){0};
        d = c->plan.deliver(c->plan.arg, &b, &a);
        worker_lock(&c->worker);
        b.attempt++;
        count_beside(c, d, &a);
        if (d == DELIVERY_AGAIN)
            wait_before_retry(c, &wait_ns, &a);
    }
    if (!b.attempt && !*c->counts.why)
        snprintf(c->counts.why, sizeof c->counts.why, "there was no time left to send it");
    if (d == DELIVERY_AGAIN && c->plan.leave) {
        worker_unlock(&c->worker);
        a = (struct attempt){0};
        d = c->plan.leave(c->plan.arg, &b, &a);
        worker_lock(&c->worker);
        if (*a.why)
            sender_note_failure(c, &a);
    }
    sender_count_batch(c, &b, d, d == DELIVERY_DONE ? min_u64(a.lacking, b.samples) : 0);
    chunk_queue_return(&c->queue);
}

static void sender_work(void *arg)
{
    struct sender *c = arg;
    worker_lock(&c->worker);
    while (wait_for_chunks(c))
        sender_deliver(c, take_batch(c));
    worker_unlock(&c->worker);
}

static void sender_dispose(void *arg)
{
    struct sender *c = arg;
    chunk_queue_done(&c->queue);
    worker_done(&c->worker);
    free(c);
}

/* ---- Those who send -------------------------------------------------------------------------- */

int sender_new(struct sender **ret, const struct sender_plan *plan)
{
    struct sender *c = calloc(1, sizeof *c);
    if (!c || chunk_queue_init(&c->queue, plan->queue_bytes) < 0) {
        free(c);
        return -ENOMEM;
    }
    c->plan = *plan;
    if (!c->plan.first_wait_ns)
        c->plan.first_wait_ns = FIRST_WAIT_NS;
    if (!c->plan.longest_wait_ns)
        c->plan.longest_wait_ns = LONGEST_WAIT_NS;
    c->counts.is_whole = true;
    c->random = clock_mono(NULL) | 1;
    atomic_init(&c->until_ns, UINT64_MAX);
    struct worker_plan thread = {
        .name = plan->thread_name, .work = sender_work, .dispose = sender_dispose};
    worker_init(&c->worker, &thread, c);
    *ret = c;
    return 0;
}

int sender_start(struct sender *c)
{
    return worker_start(&c->worker);
}

void sender_wait_for_room(struct sender *c, uint64_t no_progress_ns)
{
    c->no_progress_ns = no_progress_ns;
}

void sender_flush(struct sender *c)
{
    worker_lock(&c->worker);
    if (c->no_progress_ns)
        wait_for_room(c, c->queue.limit_bytes);
    worker_unlock(&c->worker);
}

void sender_end(struct sender *c, uint64_t grace_ns)
{
    worker_lock(&c->worker);
    uint64_t until = sum_u64(clock_mono(NULL), grace_ns);
    if (until < atomic_load(&c->until_ns))
        atomic_store(&c->until_ns, until);
    c->is_ending = true;
    worker_tell(&c->worker);
    worker_unlock(&c->worker);
}

bool sender_wait_until(struct sender *c, uint64_t until_ns)
{
    return worker_wait(&c->worker, until_ns);
}

/* To come back from deliver(), and to put aside what is left. */
static uint64_t last_moment(const struct sender *c)
{
    return sum_u64(atomic_load(&c->until_ns), STUCK_NS);
}

bool sender_wait(struct sender *c)
{
    if (sender_wait_until(c, last_moment(c)))
        return true;
    worker_lock(&c->worker);
    c->counts.is_whole = false; /* whatever it has in its hands is lost to us */
    if (!*c->counts.why)
        snprintf(c->counts.why, sizeof c->counts.why, "sending did not come to an end in time");
    worker_unlock(&c->worker);
    return false;
}

bool sender_free(struct sender *c)
{
    if (!c)
        return true;
    sender_end(c, 0);
    return worker_leave(&c->worker, last_moment(c));
}

bool sender_is_over(void *sender)
{
    struct sender *c = sender;
    uint64_t until = atomic_load(&c->until_ns);
    return until != UINT64_MAX && clock_mono(NULL) >= until;
}

bool sender_is_ending(void *sender)
{
    struct sender *c = sender;
    return atomic_load(&c->until_ns) != UINT64_MAX;
}

void sender_count(struct sender *c, struct sender_counts *ret)
{
    worker_lock(&c->worker);
    *ret = c->counts;
    bool is_over = c->is_ending && (!c->worker.id || c->worker.has_ended || sender_is_over(c));
    worker_unlock(&c->worker);
    if (is_over) /* with a thread that is stuck, some are neither here nor there */
        ret->dropped = ret->taken - ret->delivered - ret->kept - ret->refused;
}

enum delivery sender_lacks_memory(struct attempt *a)
{
    snprintf(a->why, sizeof a->why, "no memory for a request");
    return DELIVERY_REFUSED;
}

void sender_tell(struct sender *c, const char *why)
{
    worker_lock(&c->worker);
    snprintf(c->told, sizeof c->told, "%s", why);
    worker_unlock(&c->worker);
}

bool sender_says(struct sender *c, char *ret, size_t capacity)
{
    worker_lock(&c->worker);
    bool has = *c->told;
    if (has)
        snprintf(ret, capacity, "%s", c->told);
    c->told[0] = '\0';
    worker_unlock(&c->worker);
    return has;
}

pid_t sender_thread(const struct sender *c)
{
    return c->worker.id;
}
