/* SPDX-License-Identifier: MIT */
#include "sink/sender.h"

#include "base/clock.h"
#include "base/thread.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

/* ==== Piece queue ============================================================================= */

enum { SPARE_NODES = 64, BATCH_PIECES = 4096 };

/* A piece on its way. Nodes are used again, so that whoever keeps up allocates nothing. */
struct piece_node {
    struct piece_node *next;
    size_t capacity, length;
    enum piece_of of;
    unsigned samples;
    uint64_t put_ns;
    char data[];
};

int piece_queue_init(struct piece_queue *q, size_t limit_bytes)
{
    *q = (struct piece_queue){.limit_bytes = limit_bytes, .behind_last = &q->first};
    q->pieces = calloc(BATCH_PIECES, sizeof *q->pieces);
    return q->pieces ? 0 : -ENOMEM;
}

static void free_nodes(struct piece_node *n)
{
    for (struct piece_node *next; n; n = next) {
        next = n->next;
        free(n);
    }
}

void piece_queue_done(struct piece_queue *q)
{
    free_nodes(q->first);
    free_nodes(q->spare);
    free_nodes(q->batch);
    free(q->pieces);
}

static size_t piece_queue_size_of(const struct piece_node *n)
{
    return sizeof *n + n->length;
}

size_t piece_queue_size(const struct piece *p)
{
    return sizeof(struct piece_node) + p->length;
}

uint64_t piece_queue_since(const struct piece_queue *q)
{
    return q->first->put_ns;
}

static struct piece_node *make_node(struct piece_queue *q, size_t length)
{
    struct piece_node **link = &q->spare;
    while (*link && (*link)->capacity < length)
        link = &(*link)->next;
    struct piece_node *n = *link;
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

static void put_back(struct piece_queue *q, struct piece_node *n)
{
    if (q->spare_count >= SPARE_NODES) {
        struct piece_node *one = q->spare;
        q->spare = one->next;
        q->spare_count--;
        free(one);
    }
    n->next = q->spare;
    q->spare = n;
    q->spare_count++;
}

/* The oldest sample; what is no sample stays. False when there is none. */
static bool drop_oldest(struct piece_queue *q, uint64_t *dropped)
{
    struct piece_node **link = &q->first;
    while (*link && !(*link)->samples)
        link = &(*link)->next;
    struct piece_node *n = *link;
    if (!n)
        return false;
    *link = n->next;
    if (!*link)
        q->behind_last = link;
    q->waiting_bytes -= piece_queue_size_of(n);
    *dropped += n->samples;
    put_back(q, n);
    return true;
}

/* Whether there is room for it, or can be made. Pieces that are no samples are few and small: they
 * may use as much again. */
static bool piece_queue_make_room(struct piece_queue *q, const struct piece *p, uint64_t *dropped)
{
    size_t size = piece_queue_size(p);
    while (q->waiting_bytes + size > q->limit_bytes)
        if (!drop_oldest(q, dropped))
            return !p->samples && q->waiting_bytes + size <= 2 * q->limit_bytes;
    return true;
}

int piece_queue_put(struct piece_queue *q, const struct piece *p, bool is_forced, uint64_t *dropped)
{
    if (!(is_forced && !q->first) && !piece_queue_make_room(q, p, dropped))
        return -ENOBUFS;
    struct piece_node *n = make_node(q, p->length);
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
    q->waiting_bytes += piece_queue_size_of(n);
    return 0;
}

struct batch piece_queue_take(struct piece_queue *q, size_t most)
{
    struct batch b = {.pieces = q->pieces};
    struct piece_node **link = &q->batch;
    size_t bytes = 0;
    while (q->first && b.count < BATCH_PIECES && (!b.count || bytes + q->first->length <= most)) {
        struct piece_node *n = q->first;
        q->first = n->next;
        q->waiting_bytes -= piece_queue_size_of(n);
        bytes += n->length;
        b.samples += n->samples;
        q->pieces[b.count++] = (struct piece){n->of, n->samples, n->data, n->length};
        *link = n;
        link = &n->next;
    }
    *link = NULL;
    if (!q->first)
        q->behind_last = &q->first;
    return b;
}

void piece_queue_return(struct piece_queue *q)
{
    for (struct piece_node *n = q->batch, *next; n; n = next) {
        next = n->next;
        put_back(q, n);
    }
    q->batch = NULL;
}

bool batch_has_end(const struct batch *b)
{
    for (size_t i = 0; i < b->count; i++)
        if (b->pieces[i].of == PIECE_SUMMARY)
            return true;
    return false;
}

/* ==== Courier ================================================================================= */

#define FIRST_WAIT_NS   (250 * NS_PER_MS)
#define LONGEST_WAIT_NS (30 * NS_PER_SECOND)
#define STUCK_NS        (2 * NS_PER_SECOND) /* behind the grace, to come back and put things aside */

struct courier {
    struct courier_plan plan;
    struct worker worker;
    struct piece_queue queue;

    uint64_t no_progress_ns; /* whoever puts waits for room, but no longer; 0: it never waits */
    bool is_awaited;         /* … and does: nothing is gathered */

    bool has_begun; /* to deliver */
    bool is_ending;
    _Atomic uint64_t until_ns; /* when time is up */
    struct courier_counts counts;
    char told[256]; /* to be said */
    bool is_failing;
    uint64_t random; /* the thread's alone */
};

/* ---- Putting in ------------------------------------------------------------------------------ */

/* Until so much may be added, whatever it is to an empty queue. With the lock held. */
static bool wait_for_room(struct courier *c, size_t size)
{
    const struct piece_queue *q = &c->queue;
    while (c->worker.id && !c->is_ending && !piece_queue_is_empty(q) &&
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
static int courier_put_locked(struct courier *c, const struct piece *p)
{
    uint64_t dropped = 0;
    bool was_empty = piece_queue_is_empty(&c->queue);
    int r = c->is_ending ? -ENOBUFS : piece_queue_put(&c->queue, p, c->no_progress_ns, &dropped);
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

int courier_put(struct courier *c, const struct piece *p)
{
    worker_lock(&c->worker);
    int r = !c->no_progress_ns || wait_for_room(c, piece_queue_size(p)) ? courier_put_locked(c, p)
                                                                        : -ETIMEDOUT;
    worker_unlock(&c->worker);
    return r;
}

/* ---- The thread ------------------------------------------------------------------------------ */

/* Until there is enough, or the oldest has waited long enough. False: nothing will come any more.
 */
static bool wait_for_pieces(struct courier *c)
{
    for (;;) {
        bool is_empty = piece_queue_is_empty(&c->queue);
        if (c->is_ending)
            return !is_empty;
        uint64_t gather_ns = c->plan.first_at_once && !c->has_begun ? 0 : c->plan.gather_ns;
        uint64_t at = is_empty ? UINT64_MAX : sum_u64(piece_queue_since(&c->queue), gather_ns);
        if (!is_empty && (c->is_awaited || c->queue.waiting_bytes >= c->plan.batch_bytes ||
                          clock_mono(NULL) >= at))
            return true;
        worker_wait_for_change(&c->worker, at);
    }
}

/* With the lock held. */
static struct batch take_batch(struct courier *c)
{
    struct batch b = piece_queue_take(&c->queue, c->plan.batch_bytes);
    c->has_begun = true;
    if (c->is_awaited)
        worker_tell(&c->worker);
    return b;
}

/* Between half and all of it: many that failed together shall not come back together. */
static uint64_t courier_jitter(struct courier *c, uint64_t ns)
{
    c->random ^= c->random << 13;
    c->random ^= c->random >> 7;
    c->random ^= c->random << 17;
    return ns / 2 + c->random % (ns / 2 + 1);
}

static void courier_note_failure(struct courier *c, const struct attempt *a)
{
    snprintf(c->counts.why, sizeof c->counts.why, "%s", a->why);
    if (!c->is_failing)
        snprintf(c->told, sizeof c->told, "%s", a->why);
    c->is_failing = true;
}

/* The same batch after a while; with the lock held. At the end it goes faster, and not beyond. */
static void wait_before_retry(struct courier *c, uint64_t *wait_ns, const struct attempt *a)
{
    uint64_t longest = c->plan.longest_wait_ns;
    uint64_t until = sum_u64(clock_mono(NULL), a->wait_ns ? min_u64(a->wait_ns, longest * 4)
                                                          : courier_jitter(c, *wait_ns));
    *wait_ns = min_u64(*wait_ns * 2, longest);
    bool was_ending = c->is_ending;
    while (clock_mono(NULL) < min_u64(until, atomic_load(&c->until_ns)) &&
           (was_ending || !c->is_ending))
        worker_wait_for_change(&c->worker, min_u64(until, atomic_load(&c->until_ns)));
    if (c->is_ending && !was_ending)
        *wait_ns = c->plan.first_wait_ns;
}

static void courier_count_batch(struct courier *c, const struct batch *b, enum delivery d,
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
static void count_beside(struct courier *c, enum delivery d, const struct attempt *a)
{
    c->counts.kept -= a->returned + a->rejected;
    c->counts.delivered += a->returned;
    c->counts.refused += a->rejected;
    if (a->rejected || (d == DELIVERY_DONE && a->is_partly)) {
        c->counts.is_whole = false;
        c->is_failing = false;
    }
    if (d != DELIVERY_DONE || a->is_partly)
        courier_note_failure(c, a);
}

/* With the lock held at both ends. */
static void courier_deliver(struct courier *c, struct batch b)
{
    uint64_t wait_ns = c->plan.first_wait_ns;
    enum delivery d = DELIVERY_AGAIN;
    struct attempt a;
    while (d == DELIVERY_AGAIN && !courier_is_over(c)) {
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
            courier_note_failure(c, &a);
    }
    courier_count_batch(c, &b, d, d == DELIVERY_DONE ? min_u64(a.lacking, b.samples) : 0);
    piece_queue_return(&c->queue);
}

static void courier_work(void *arg)
{
    struct courier *c = arg;
    worker_lock(&c->worker);
    while (wait_for_pieces(c))
        courier_deliver(c, take_batch(c));
    worker_unlock(&c->worker);
}

static void courier_dispose(void *arg)
{
    struct courier *c = arg;
    piece_queue_done(&c->queue);
    worker_done(&c->worker);
    free(c);
}

/* ---- Those who send -------------------------------------------------------------------------- */

int courier_new(struct courier **ret, const struct courier_plan *plan)
{
    struct courier *c = calloc(1, sizeof *c);
    if (!c || piece_queue_init(&c->queue, plan->queue_bytes) < 0) {
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
        .name = plan->thread_name, .work = courier_work, .dispose = courier_dispose};
    worker_init(&c->worker, &thread, c);
    *ret = c;
    return 0;
}

int courier_start(struct courier *c)
{
    return worker_start(&c->worker);
}

void courier_wait_for_room(struct courier *c, uint64_t no_progress_ns)
{
    c->no_progress_ns = no_progress_ns;
}

void courier_flush(struct courier *c)
{
    worker_lock(&c->worker);
    if (c->no_progress_ns)
        wait_for_room(c, c->queue.limit_bytes);
    worker_unlock(&c->worker);
}

void courier_end(struct courier *c, uint64_t grace_ns)
{
    worker_lock(&c->worker);
    uint64_t until = sum_u64(clock_mono(NULL), grace_ns);
    if (until < atomic_load(&c->until_ns))
        atomic_store(&c->until_ns, until);
    c->is_ending = true;
    worker_tell(&c->worker);
    worker_unlock(&c->worker);
}

bool courier_wait_until(struct courier *c, uint64_t until_ns)
{
    return worker_wait(&c->worker, until_ns);
}

/* To come back from deliver(), and to put aside what is left. */
static uint64_t last_moment(const struct courier *c)
{
    return sum_u64(atomic_load(&c->until_ns), STUCK_NS);
}

bool courier_wait(struct courier *c)
{
    if (courier_wait_until(c, last_moment(c)))
        return true;
    worker_lock(&c->worker);
    c->counts.is_whole = false; /* whatever it has in its hands is lost to us */
    if (!*c->counts.why)
        snprintf(c->counts.why, sizeof c->counts.why, "sending did not come to an end in time");
    worker_unlock(&c->worker);
    return false;
}

bool courier_free(struct courier *c)
{
    if (!c)
        return true;
    courier_end(c, 0);
    return worker_leave(&c->worker, last_moment(c));
}

bool courier_is_over(void *courier)
{
    struct courier *c = courier;
    uint64_t until = atomic_load(&c->until_ns);
    return until != UINT64_MAX && clock_mono(NULL) >= until;
}

bool courier_is_ending(void *courier)
{
    struct courier *c = courier;
    return atomic_load(&c->until_ns) != UINT64_MAX;
}

void courier_count(struct courier *c, struct courier_counts *ret)
{
    worker_lock(&c->worker);
    *ret = c->counts;
    bool is_over = c->is_ending && (!c->worker.id || c->worker.has_ended || courier_is_over(c));
    worker_unlock(&c->worker);
    if (is_over) /* with a thread that is stuck, some are neither here nor there */
        ret->dropped = ret->taken - ret->delivered - ret->kept - ret->refused;
}

enum delivery courier_lacks_memory(struct attempt *a)
{
    snprintf(a->why, sizeof a->why, "no memory for a request");
    return DELIVERY_REFUSED;
}

void courier_tell(struct courier *c, const char *why)
{
    worker_lock(&c->worker);
    snprintf(c->told, sizeof c->told, "%s", why);
    worker_unlock(&c->worker);
}

bool courier_says(struct courier *c, char *ret, size_t capacity)
{
    worker_lock(&c->worker);
    bool has = *c->told;
    if (has)
        snprintf(ret, capacity, "%s", c->told);
    c->told[0] = '\0';
    worker_unlock(&c->worker);
    return has;
}

pid_t courier_thread(const struct courier *c)
{
    return c->worker.id;
}
