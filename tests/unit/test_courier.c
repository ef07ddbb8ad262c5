/* SPDX-License-Identifier: MIT */
#include "sink/sender.h"

#include "base/clock.h"
#include "unit.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>

/* A place that does as it is told, and remembers. */
struct place {
    pthread_mutex_t lock;
    enum delivery answers[8]; /* then the last one for good */
    atomic_uint calls;
    unsigned chunks, samples;
    char seen[4096];      /* the first letter of each piece that was taken */
    atomic_bool is_asked; /* deliver() was called */
    atomic_bool is_held;  /* deliver() does not return */
    bool obeys;           /* … unless time is up */
    struct sender *sender;
    uint64_t wait_ns;
    bool signals_blocked;
    unsigned left;
    unsigned returned, rejected; /* of the second call */
    bool is_partly;
};

static enum delivery deliver(void *arg, const struct batch *b, struct attempt *a)
{
    struct place *p = arg;
    atomic_store(&p->is_asked, true);
    while (atomic_load(&p->is_held) && !(p->obeys && sender_is_over(p->sender)))
        usleep(1000);
    sigset_t blocked;
    pthread_sigmask(SIG_SETMASK, NULL, &blocked);
    pthread_mutex_lock(&p->lock);
    p->signals_blocked = sigismember(&blocked, SIGTERM) && sigismember(&blocked, SIGCHLD);
    unsigned n = p->calls < ARRAY_LEN(p->answers) ? p->calls : ARRAY_LEN(p->answers) - 1;
    assert_int_equal(b->attempt > 0, p->calls > 0 && p->answers[n ? n - 1 : 0] == DELIVERY_AGAIN);
    p->calls++;
    enum delivery d = p->answers[n];
    if (d == DELIVERY_DONE)
        for (size_t i = 0; i < b->count; i++) {
            p->seen[p->chunks++ % sizeof p->seen] = b->chunks[i].data[0];
            p->samples += b->chunks[i].samples;
        }
    else
        snprintf(a->why, sizeof a->why, "no");
    a->wait_ns = p->wait_ns;
    if (p->calls == 2) {
        a->returned = p->returned;
        a->rejected = p->rejected;
        a->is_partly = p->is_partly;
    }
    pthread_mutex_unlock(&p->lock);
    return d;
}

static enum delivery leave(void *arg, const struct batch *b, struct attempt *a)
{
    struct place *p = arg;
    p->left += b->samples;
    return DELIVERY_KEPT;
}

static struct sender *make(struct place *p, size_t queue_bytes, bool keeps)
{
    struct sender_plan plan = {
        .queue_bytes = queue_bytes,
        .batch_bytes = 1000,
        .first_wait_ns = NS_PER_MS,
        .longest_wait_ns = 5 * NS_PER_MS,
        .deliver = deliver,
        .leave = keeps ? leave : NULL,
        .arg = p,
    };
    pthread_mutex_init(&p->lock, NULL);
    assert_int_equal(sender_new(&p->sender, &plan), 0);
    return p->sender;
}

static int put(struct sender *c, enum chunk_of of, const char *text)
{
    struct chunk p = {of, of == CHUNK_FRAME, text, strlen(text)};
    return sender_put(c, &p);
}

static void test_all_arrive_in_order(void **state)
{
    struct place p = {0};
    struct sender *c = make(&p, 1 << 20, false);
    assert_int_equal(sender_thread(c), 0);
    assert_int_equal(sender_start(c), 0);
    assert_true(sender_thread(c) > 0);
    put(c, CHUNK_BEGIN, "a");
    for (char x = 'b'; x < 'z'; x++)
        assert_int_equal(put(c, CHUNK_FRAME, (char[]){x, 0}), 0);
    put(c, CHUNK_SUMMARY, "z");
    sender_end(c, NS_PER_SECOND * 10);
    assert_true(sender_wait(c));
    struct sender_counts n;
    sender_count(c, &n);
    assert_int_equal(n.taken, 24);
    assert_int_equal(n.delivered, 24);
    assert_int_equal(n.dropped + n.kept + n.refused + n.retries, 0);
    assert_true(n.is_whole);
    assert_string_equal(n.why, "");
    assert_string_equal(p.seen, "abcdefghijklmnopqrstuvwxyz");
    assert_true(p.signals_blocked);
    assert_int_equal(put(c, CHUNK_FRAME, "too late"), -ENOBUFS);
    assert_true(sender_free(c));
    assert_true(sender_free(NULL));
}

/* That there is something shall be known at once; the rest may gather. */
static void test_the_first_does_not_wait(void **state)
{
    struct place p = {.lock = PTHREAD_MUTEX_INITIALIZER};
    struct sender *c;
    struct sender_plan plan = {
        .queue_bytes = 100000,
        .gather_ns = 1000 * NS_PER_SECOND,
        .first_at_once = true,
        .batch_bytes = 1000,
        .deliver = deliver,
        .arg = &p,
    };
    assert_int_equal(sender_new(&c, &plan), 0);
    p.sender = c;
    assert_int_equal(sender_start(c), 0);
    struct chunk chunk = {CHUNK_FRAME, 1, "a", 1};
    assert_int_equal(sender_put(c, &chunk), 0);
    while (!atomic_load(&p.calls)) /* the test's own limit of time ends it otherwise */
        usleep(1000);
    assert_int_equal(sender_put(c, &chunk), 0);
    assert_int_equal(sender_put(c, &chunk), 0);
    sender_end(c, 10 * NS_PER_SECOND);
    assert_true(sender_wait(c));
    assert_int_equal(p.samples, 3);
    assert_int_equal(p.calls, 2);
    assert_true(sender_free(c));
}

static void test_failures_are_repeated_and_told_once(void **state)
{
    struct place p = {.answers = {DELIVERY_AGAIN, DELIVERY_AGAIN, DELIVERY_AGAIN, DELIVERY_DONE}};
    struct sender *c = make(&p, 1 << 20, false);
    put(c, CHUNK_FRAME, "a");
    sender_start(c);
    sender_end(c, NS_PER_SECOND * 10);
    assert_true(sender_wait(c));
    struct sender_counts n;
    sender_count(c, &n);
    assert_int_equal(n.delivered, 1);
    assert_int_equal(n.retries, 3);
    assert_true(n.is_whole);
    char why[64];
    assert_true(sender_says(c, why, sizeof why));
    assert_string_equal(why, "no");
    assert_false(sender_says(c, why, sizeof why));
    sender_free(c);
}

static void test_what_is_refused_is_counted(void **state)
{
    struct place p = {.answers = {DELIVERY_REFUSED, DELIVERY_DONE}};
    struct sender *c = make(&p, 1 << 20, false);
    char long_text[900] = {0};
    memset(long_text, 'x', sizeof long_text - 1);
    put(c, CHUNK_FRAME, long_text); /* a batch each */
    put(c, CHUNK_FRAME, long_text);
    sender_start(c);
    sender_end(c, NS_PER_SECOND * 10);
    sender_wait(c);
    struct sender_counts n;
    sender_count(c, &n);
    assert_int_equal(n.refused, 1);
    assert_int_equal(n.delivered, 1);
    assert_false(n.is_whole);
    assert_string_equal(n.why, "no");
    sender_free(c);
}

static void test_the_oldest_samples_make_room(void **state)
{
    struct place p = {0};
    struct sender *c = make(&p, 800, false);
    put(c, CHUNK_BEGIN, "B");
    int r = 0;
    for (unsigned i = 0; i < 26; i++)
        r |= put(c, CHUNK_FRAME, (char[]){(char)('a' + i), 0});
    assert_int_equal(r, -ENOBUFS);
    assert_int_equal(put(c, CHUNK_SUMMARY, "S"), -ENOBUFS);
    sender_start(c);
    sender_end(c, NS_PER_SECOND * 10);
    sender_wait(c);
    struct sender_counts n;
    sender_count(c, &n);
    assert_int_equal(n.taken, 26);
    assert_int_equal(n.delivered + n.dropped, 26);
    assert_true(n.delivered > 3 && n.dropped > 3);
    assert_false(n.is_whole);
    assert_int_equal(p.seen[0], 'B'); /* what is no sample stays */
    size_t last = strlen(p.seen) - 1;
    assert_int_equal(p.seen[last], 'S');
    assert_int_equal(p.seen[last - 1], 'z');
    assert_int_equal(last - 1, n.delivered);
    sender_free(c);
}

static void test_a_chunk_that_is_too_large(void **state)
{
    struct place p = {0};
    struct sender *c = make(&p, 200, false);
    char text[300] = {0};
    memset(text, 'x', sizeof text - 1);
    assert_int_equal(put(c, CHUNK_FRAME, text), -ENOBUFS);
    assert_int_equal(put(c, CHUNK_SUMMARY, text), 0); /* there is one of these */
    struct sender_counts n;
    sender_count(c, &n);
    assert_int_equal(n.dropped, 1);
    sender_free(c);
}

static void test_the_grace_ends_it(void **state)
{
    for (unsigned keeps = 0; keeps < 2; keeps++) {
        struct place p = {.answers = {DELIVERY_AGAIN, DELIVERY_AGAIN, DELIVERY_AGAIN,
                                      DELIVERY_AGAIN, DELIVERY_AGAIN, DELIVERY_AGAIN,
                                      DELIVERY_AGAIN, DELIVERY_AGAIN}};
        struct sender *c = make(&p, 1 << 20, keeps);
        sender_start(c);
        for (unsigned i = 0; i < 3; i++)
            put(c, CHUNK_FRAME, "a");
        uint64_t before = clock_mono(NULL);
        sender_end(c, 50 * NS_PER_MS);
        assert_true(sender_wait(c));
        assert_true(clock_mono(NULL) - before >= 50 * NS_PER_MS);
        struct sender_counts n;
        sender_count(c, &n);
        assert_int_equal(keeps ? n.kept : n.dropped, 3);
        assert_int_equal(n.is_whole, keeps);
        assert_int_equal(p.left, keeps ? 3 : 0);
        assert_true(n.retries > 0);
        sender_free(c);
    }
}

static void test_a_call_that_hangs_and_obeys(void **state)
{
    struct place p = {.answers = {DELIVERY_AGAIN}, .obeys = true};
    memset(p.answers, 0, sizeof p.answers);
    for (size_t i = 0; i < ARRAY_LEN(p.answers); i++)
        p.answers[i] = DELIVERY_AGAIN;
    atomic_store(&p.is_held, true);
    struct sender *c = make(&p, 1 << 20, false);
    sender_start(c);
    put(c, CHUNK_FRAME, "a");
    sender_end(c, 20 * NS_PER_MS);
    assert_true(sender_wait(c));
    struct sender_counts n;
    sender_count(c, &n);
    assert_int_equal(n.dropped, 1);
    sender_free(c);
}

/* The thread frees the sender when it comes back; leaks are looked for by the sanitizers. */
static void test_a_call_that_never_returns(void **state)
{
    static struct place p;
    atomic_store(&p.is_held, true);
    struct sender *c = make(&p, 1 << 20, false);
    sender_start(c);
    put(c, CHUNK_FRAME, "a");
    while (!atomic_load(&p.is_asked)) /* the test's own limit of time ends it otherwise */
        usleep(1000);
    sender_end(c, 0);
    assert_false(sender_wait(c));
    struct sender_counts n;
    sender_count(c, &n);
    assert_int_equal(n.dropped, 1);
    assert_false(n.is_whole);
    assert_false(sender_free(c));
    atomic_store(&p.is_held, false);
    usleep(50000);
}

static void test_what_was_kept_comes_back(void **state)
{
    struct place p = {.answers = {DELIVERY_KEPT, DELIVERY_DONE}, .returned = 2, .rejected = 1};
    struct sender_counts n;
    for (unsigned round = 0; round < 2; round++) {
        p.calls = 0;
        struct sender *c = make(&p, 1 << 20, false);
        for (unsigned i = 0; i < 3; i++)
            put(c, CHUNK_FRAME, "a");
        sender_start(c);
        for (unsigned ms = 0; p.calls < 1 && ms < 10000; ms++)
            usleep(1000);
        put(c, CHUNK_FRAME, "b");
        sender_end(c, 10 * NS_PER_SECOND);
        assert_true(sender_wait(c));
        sender_count(c, &n);
        assert_int_equal(n.kept, round ? 3 : 0);
        assert_int_equal(n.delivered, round ? 1 : 3);
        assert_int_equal(n.refused, round ? 0 : 1);
        assert_false(n.is_whole); /* something was rejected, or is_partly */
        assert_false(n.has_kept); /* the last was not */
        sender_free(c);
        p.returned = p.rejected = 0;
        p.is_partly = true;
    }
}

static void test_what_is_told_before_it_begins(void **state)
{
    struct place p = {0};
    char said[64];
    struct sender *c = make(&p, 1 << 20, false);
    sender_tell(c, "listen");
    assert_true(sender_says(c, said, sizeof said));
    assert_string_equal(said, "listen");
    assert_false(sender_says(c, said, sizeof said));
    sender_free(c);
}

static void test_the_other_side_says_when(void **state)
{
    struct place p = {.answers = {DELIVERY_AGAIN, DELIVERY_DONE}, .wait_ns = 10 * NS_PER_MS};
    struct sender *c = make(&p, 1 << 20, false);
    uint64_t before = clock_mono(NULL);
    put(c, CHUNK_FRAME, "a");
    sender_start(c);
    while (p.calls < 2 && clock_mono(NULL) - before < 10 * NS_PER_SECOND)
        usleep(1000);
    assert_true(clock_mono(NULL) - before >= 10 * NS_PER_MS);
    sender_end(c, NS_PER_SECOND);
    assert_true(sender_wait(c));
    sender_free(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_arrive_in_order),
        cmocka_unit_test(test_the_first_does_not_wait),
        cmocka_unit_test(test_failures_are_repeated_and_told_once),
        cmocka_unit_test(test_what_is_refused_is_counted),
        cmocka_unit_test(test_the_oldest_samples_make_room),
        cmocka_unit_test(test_a_chunk_that_is_too_large),
        cmocka_unit_test(test_the_grace_ends_it),
        cmocka_unit_test(test_a_call_that_hangs_and_obeys),
        cmocka_unit_test(test_a_call_that_never_returns),
        cmocka_unit_test(test_what_was_kept_comes_back),
        cmocka_unit_test(test_what_is_told_before_it_begins),
        cmocka_unit_test(test_the_other_side_says_when),
    };
    return RUN("courier", tests);
}
