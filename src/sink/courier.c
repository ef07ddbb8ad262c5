/* SPDX-License-Identifier: MIT */
#include "sink/courier.h"

#include "base/clock.h"
#include "base/wait.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#define FIRST_WAIT_NS   (250 * NS_PER_MS)
#define LONGEST_WAIT_NS (30 * NS_PER_SECOND)
#define STUCK_NS        (NS_PER_SECOND) /* behind the grace, to come back and put things aside */

enum { STACK_BYTES = 1024 * 1024, SPARE_NODES = 64, BATCH_PIECES = 4096 };

/* A piece on its way. Nodes are used again, so that a courier that keeps up allocates nothing. */
struct node {
    struct node *next;
    size_t capacity, length;
    enum piece_of of;
    unsigned samples;
    uint64_t put_ns;
    char data[];
};

struct courier {
    struct courier_plan plan;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    pthread_t thread;
    pid_t thread_id;
    bool is_started;
    bool is_shared; /* both the owner and the thread are there; the last one frees it */

    struct node *first, **behind_last;
    size_t waiting_bytes;
    struct node *spare;
    unsigned spare_count;

    uint64_t no_progress_ns; /* whoever puts waits for room, but no longer; 0: it never waits */
    bool is_awaited;         /* … and does: nothing is gathered */

    bool is_ending, has_ended;
    _Atomic uint64_t until_ns; /* when time is up */
    struct courier_counts counts;
    char told[256]; /* to be said */
    bool is_failing;

    /* The thread's alone: */
    struct node *batch;
    struct piece *pieces; /* owned */
    uint64_t random;
};

/* ---- The queue, with the lock held ----------------------------------------------------------- */

static size_t size_of(const struct node *n)
{
    return sizeof *n + n->length;
}

static struct node *make_node(struct courier *c, size_t length)
{
    struct node **link = &c->spare;
    while (*link && (*link)->capacity < length)
        link = &(*link)->next;
    struct node *n = *link;
    if (n) {
        *link = n->next;
        c->spare_count--;
        return n;
    }
    size_t capacity = length + length / 4 + 64;
    n = malloc(sizeof *n + capacity);
    if (n)
        n->capacity = capacity;
    return n;
}

static void put_back(struct courier *c, struct node *n)
{
    if (c->spare_count >= SPARE_NODES) {
        struct node *one = c->spare;
        c->spare = one->next;
        c->spare_count--;
        free(one);
    }
    n->next = c->spare;
    c->spare = n;
    c->spare_count++;
}

/* The oldest sample; what is no sample stays. False when there is none. */
static bool drop_oldest(struct courier *c)
{
    struct node **link = &c->first;
    while (*link && !(*link)->samples)
        link = &(*link)->next;
    struct node *n = *link;
    if (!n)
        return false;
    *link = n->next;
    if (!*link)
        c->behind_last = link;
    c->waiting_bytes -= size_of(n);
    c->counts.dropped += n->samples;
    c->counts.is_whole = false;
    put_back(c, n);
    return true;
}

/* Whether there is room for it, or can be made; *ret_dropped when it was made. Pieces that are no
 * samples are few and small: they may use as much again. */
static bool make_room(struct courier *c, const struct piece *p, bool *ret_dropped)
{
    size_t size = sizeof(struct node) + p->length;
    while (c->waiting_bytes + size > c->plan.queue_bytes) {
        if (!drop_oldest(c))
            return !p->samples && c->waiting_bytes + size <= 2 * c->plan.queue_bytes;
        *ret_dropped = true;
    }
    return true;
}

static void append(struct courier *c, struct node *n, const struct piece *p)
{
    n->next = NULL;
    n->length = p->length;
    n->of = p->of;
    n->samples = p->samples;
    n->put_ns = clock_mono(NULL);
    memcpy(n->data, p->data, p->length);
    bool was_empty = !c->first;
    *c->behind_last = n;
    c->behind_last = &n->next;
    c->waiting_bytes += size_of(n);
    if (was_empty || c->waiting_bytes >= c->plan.batch_bytes)
        pthread_cond_broadcast(&c->changed);
}

/* Until so much may be added, whatever it is to an empty queue. */
static bool wait_for_room(struct courier *c, size_t size)
{
    while (c->is_started && !c->is_ending && c->first &&
           c->waiting_bytes + size > c->plan.queue_bytes) {
        size_t before = c->waiting_bytes;
        c->is_awaited = true;
        pthread_cond_broadcast(&c->changed);
        uint64_t until = sum_u64(clock_mono(NULL), c->no_progress_ns);
        while (c->waiting_bytes == before && wait_for(&c->changed, &c->lock, until))
            ;
        c->is_awaited = false;
        if (c->waiting_bytes == before)
            return false;
    }
    return true;
}

int courier_put(struct courier *c, const struct piece *p)
{
    bool has_dropped = false;
    pthread_mutex_lock(&c->lock);
    if (c->no_progress_ns && !wait_for_room(c, sizeof(struct node) + p->length)) {
        pthread_mutex_unlock(&c->lock);
        return -ETIMEDOUT;
    }
    c->counts.taken += p->samples;
    bool fits = !c->is_ending &&
                ((c->no_progress_ns && !c->first) || make_room(c, p, &has_dropped));
    struct node *n = fits ? make_node(c, p->length) : NULL;
    if (n) {
        append(c, n, p);
    } else {
        c->counts.dropped += p->samples;
        c->counts.is_whole = false;
    }
    if ((!n || has_dropped) && !*c->counts.why)
        snprintf(c->counts.why, sizeof c->counts.why, "it does not keep up");
    pthread_mutex_unlock(&c->lock);
    return n ? has_dropped ? -ENOBUFS : 0 : fits ? -ENOMEM : -ENOBUFS;
}

/* ---- The thread ------------------------------------------------------------------------------ */

/* Until there is enough, or the oldest has waited long enough. False: nothing will come any more.
 */
static bool wait_for_pieces(struct courier *c)
{
    for (;;) {
        if (c->is_ending)
            return c->first != NULL;
        if (!c->first) {
            pthread_cond_wait(&c->changed, &c->lock);
            continue;
        }
        uint64_t at = sum_u64(c->first->put_ns, c->plan.gather_ns);
        if (c->is_awaited || c->waiting_bytes >= c->plan.batch_bytes || clock_mono(NULL) >= at)
            return true;
        wait_for(&c->changed, &c->lock, at);
    }
}

/* Takes a batch off the queue; with the lock held. */
static struct batch take_batch(struct courier *c)
{
    struct batch b = {.pieces = c->pieces};
    struct node **link = &c->batch;
    size_t bytes = 0;
    while (c->first && b.count < BATCH_PIECES &&
           (!b.count || bytes + c->first->length <= c->plan.batch_bytes)) {
        struct node *n = c->first;
        c->first = n->next;
        c->waiting_bytes -= size_of(n);
        bytes += n->length;
        b.samples += n->samples;
        c->pieces[b.count++] = (struct piece){n->of, n->samples, n->data, n->length};
        *link = n;
        link = &n->next;
    }
    *link = NULL;
    if (!c->first)
        c->behind_last = &c->first;
    if (c->is_awaited)
        pthread_cond_broadcast(&c->changed);
    return b;
}

static void return_batch(struct courier *c)
{
    for (struct node *n = c->batch, *next; n; n = next) {
        next = n->next;
        put_back(c, n);
    }
    c->batch = NULL;
}

/* Between half and all of it: many that failed together shall not come back together. */
static uint64_t jitter(struct courier *c, uint64_t ns)
{
    c->random ^= c->random << 13;
    c->random ^= c->random >> 7;
    c->random ^= c->random << 17;
    return ns / 2 + c->random % (ns / 2 + 1);
}

static void note_failure(struct courier *c, const struct attempt *a)
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
    uint64_t until = sum_u64(clock_mono(NULL),
                             a->wait_ns ? min_u64(a->wait_ns, longest * 4) : jitter(c, *wait_ns));
    *wait_ns = min_u64(*wait_ns * 2, longest);
    bool was_ending = c->is_ending;
    while (clock_mono(NULL) < min_u64(until, atomic_load(&c->until_ns)) &&
           (was_ending || !c->is_ending))
        wait_for(&c->changed, &c->lock, min_u64(until, atomic_load(&c->until_ns)));
    if (c->is_ending && !was_ending)
        *wait_ns = c->plan.first_wait_ns;
}

static void count(struct courier *c, const struct batch *b, enum delivery d)
{
    uint64_t *to = d == DELIVERY_DONE      ? &c->counts.delivered
                   : d == DELIVERY_KEPT    ? &c->counts.kept
                   : d == DELIVERY_REFUSED ? &c->counts.refused
                                           : &c->counts.dropped;
    *to += b->samples;
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
        note_failure(c, a);
}

/* With the lock held at both ends. */
static void deliver(struct courier *c, struct batch b)
{
    uint64_t wait_ns = c->plan.first_wait_ns;
    enum delivery d = DELIVERY_AGAIN;
    struct attempt a;
    while (d == DELIVERY_AGAIN && !courier_is_over(c)) {
        c->counts.retries += b.attempt > 0;
        pthread_mutex_unlock(&c->lock);
        a = (struct attempt){0};
        d = c->plan.deliver(c->plan.arg, &b, &a);
        pthread_mutex_lock(&c->lock);
        b.attempt++;
        count_beside(c, d, &a);
        if (d == DELIVERY_AGAIN)
            wait_before_retry(c, &wait_ns, &a);
    }
    if (d == DELIVERY_AGAIN && c->plan.leave) {
        pthread_mutex_unlock(&c->lock);
        a = (struct attempt){0};
        d = c->plan.leave(c->plan.arg, &b, &a);
        pthread_mutex_lock(&c->lock);
        if (*a.why)
            note_failure(c, &a);
    }
    count(c, &b, d);
    return_batch(c);
}

static void free_nodes(struct node *n)
{
    for (struct node *next; n; n = next) {
        next = n->next;
        free(n);
    }
}

static void dispose(struct courier *c)
{
    free_nodes(c->first);
    free_nodes(c->spare);
    free_nodes(c->batch);
    free(c->pieces);
    pthread_mutex_destroy(&c->lock);
    pthread_cond_destroy(&c->changed);
    free(c);
}

/* Whether the other side has left it already; then it is ours to free. With the lock held. */
static bool let_go(struct courier *c)
{
    bool is_last = !c->is_shared;
    c->is_shared = false;
    pthread_mutex_unlock(&c->lock);
    return is_last;
}

static void *run(void *arg)
{
    struct courier *c = arg;
    if (c->plan.thread_name)
        prctl(PR_SET_NAME, c->plan.thread_name);
    pthread_mutex_lock(&c->lock);
    c->thread_id = (pid_t)syscall(SYS_gettid);
    pthread_cond_broadcast(&c->changed);
    while (wait_for_pieces(c))
        deliver(c, take_batch(c));
    c->has_ended = true;
    pthread_cond_broadcast(&c->changed);
    if (let_go(c))
        dispose(c);
    return NULL;
}

/* ---- Those who send -------------------------------------------------------------------------- */

int courier_new(struct courier **ret, const struct courier_plan *plan)
{
    struct courier *c = calloc(1, sizeof *c);
    struct piece *pieces = c ? calloc(BATCH_PIECES, sizeof *pieces) : NULL;
    if (!pieces) {
        free(c);
        return -ENOMEM;
    }
    c->plan = *plan;
    if (!c->plan.first_wait_ns)
        c->plan.first_wait_ns = FIRST_WAIT_NS;
    if (!c->plan.longest_wait_ns)
        c->plan.longest_wait_ns = LONGEST_WAIT_NS;
    c->pieces = pieces;
    c->behind_last = &c->first;
    c->counts.is_whole = true;
    c->random = clock_mono(NULL) | 1;
    atomic_init(&c->until_ns, UINT64_MAX);
    pthread_mutex_init(&c->lock, NULL);
    wait_init(&c->changed);
    *ret = c;
    return 0;
}

int courier_start(struct courier *c)
{
    sigset_t all, before;
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pthread_mutex_lock(&c->lock);
    c->is_shared = true;
    int r = -pthread_create(&c->thread, &attributes, run, c);
    c->is_started = r == 0;
    while (r == 0 && !c->thread_id)
        pthread_cond_wait(&c->changed, &c->lock);
    pthread_mutex_unlock(&c->lock);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    return r;
}

void courier_wait_for_room(struct courier *c, uint64_t no_progress_ns)
{
    c->no_progress_ns = no_progress_ns;
}

void courier_flush(struct courier *c)
{
    pthread_mutex_lock(&c->lock);
    if (c->no_progress_ns)
        wait_for_room(c, c->plan.queue_bytes);
    pthread_mutex_unlock(&c->lock);
}

void courier_end(struct courier *c, uint64_t grace_ns)
{
    pthread_mutex_lock(&c->lock);
    uint64_t until = sum_u64(clock_mono(NULL), grace_ns);
    if (until < atomic_load(&c->until_ns))
        atomic_store(&c->until_ns, until);
    c->is_ending = true;
    pthread_cond_broadcast(&c->changed);
    pthread_mutex_unlock(&c->lock);
}

bool courier_wait_until(struct courier *c, uint64_t until_ns)
{
    pthread_mutex_lock(&c->lock);
    while (c->is_started && !c->has_ended && wait_for(&c->changed, &c->lock, until_ns))
        ;
    bool is_done = !c->is_started || c->has_ended;
    pthread_mutex_unlock(&c->lock);
    return is_done;
}

bool courier_wait(struct courier *c)
{
    if (courier_wait_until(c, sum_u64(atomic_load(&c->until_ns), STUCK_NS)))
        return true;
    pthread_mutex_lock(&c->lock);
    c->counts.is_whole = false; /* whatever it has in its hands is lost to us */
    pthread_mutex_unlock(&c->lock);
    return false;
}

bool courier_free(struct courier *c)
{
    if (!c)
        return true;
    courier_end(c, 0);
    if (!c->is_started) {
        dispose(c);
        return true;
    }
    bool has_ended = courier_wait(c);
    pthread_t thread = c->thread;
    pthread_mutex_lock(&c->lock);
    bool is_last = let_go(c);
    if (has_ended)
        pthread_join(thread, NULL);
    else
        pthread_detach(thread);
    if (is_last)
        dispose(c);
    return has_ended;
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
    pthread_mutex_lock(&c->lock);
    *ret = c->counts;
    bool is_over = c->is_ending && (!c->is_started || c->has_ended || courier_is_over(c));
    pthread_mutex_unlock(&c->lock);
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
    snprintf(c->told, sizeof c->told, "%s", why);
}

bool courier_says(struct courier *c, char *ret, size_t capacity)
{
    pthread_mutex_lock(&c->lock);
    bool has = *c->told;
    if (has)
        snprintf(ret, capacity, "%s", c->told);
    c->told[0] = '\0';
    pthread_mutex_unlock(&c->lock);
    return has;
}

pid_t courier_thread(const struct courier *c)
{
    return c->thread_id;
}
