/* SPDX-License-Identifier: MIT */
#include "sink/sender.h"
#include "base/clock.h"
#include "sink/spool.h"
#include "unit.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* ---- courier -------------------------------------------------------------------------------- */

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
            p->samples += b->chunks[i].weight;
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

static int put_chunk(struct sender *c, enum chunk_kind kind, const char *text)
{
    struct chunk p = {kind, kind == CHUNK_FRAME, text, strlen(text)};
    return sender_put(c, &p);
}

static void test_sender_all_arrive_in_order(void **state)
{
    struct place p = {0};
    struct sender *c = make(&p, 1 << 20, false);
    assert_int_equal(sender_thread(c), 0);
    assert_int_equal(sender_start(c), 0);
    assert_true(sender_thread(c) > 0);
    put_chunk(c, CHUNK_BEGIN, "a");
    for (char x = 'b'; x < 'z'; x++)
        assert_int_equal(put_chunk(c, CHUNK_FRAME, (char[]){x, 0}), 0);
    put_chunk(c, CHUNK_SUMMARY, "z");
    sender_end(c, NS_PER_SECOND * 10);
    assert_true(sender_wait(c));
    struct sender_counts n;
    sender_count(c, &n);
    assert_int_equal(n.accepted, 24);
    assert_int_equal(n.delivered, 24);
    assert_int_equal(n.dropped + n.kept + n.refused + n.retries, 0);
    assert_true(n.is_whole);
    assert_string_equal(n.why, "");
    assert_string_equal(p.seen, "abcdefghijklmnopqrstuvwxyz");
    assert_true(p.signals_blocked);
    assert_int_equal(put_chunk(c, CHUNK_FRAME, "too late"), -ENOBUFS);
    assert_true(sender_free(c));
    assert_true(sender_free(NULL));
}

/* That there is something shall be known at once; the rest may gather. */
static void test_sender_the_first_does_not_wait(void **state)
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

static void test_sender_failures_are_repeated_and_told_once(void **state)
{
    struct place p = {.answers = {DELIVERY_AGAIN, DELIVERY_AGAIN, DELIVERY_AGAIN, DELIVERY_DONE}};
    struct sender *c = make(&p, 1 << 20, false);
    put_chunk(c, CHUNK_FRAME, "a");
    sender_start(c);
    sender_end(c, NS_PER_SECOND * 10);
    assert_true(sender_wait(c));
    struct sender_counts n;
    sender_count(c, &n);
    assert_int_equal(n.delivered, 1);
    assert_int_equal(n.retries, 3);
    assert_true(n.is_whole);
    char why[64];
    assert_true(sender_take_report(c, why, sizeof why));
    assert_string_equal(why, "no");
    assert_false(sender_take_report(c, why, sizeof why));
    sender_free(c);
}

static void test_sender_what_is_refused_is_counted(void **state)
{
    struct place p = {.answers = {DELIVERY_REFUSED, DELIVERY_DONE}};
    struct sender *c = make(&p, 1 << 20, false);
    char long_text[900] = {0};
    memset(long_text, 'x', sizeof long_text - 1);
    put_chunk(c, CHUNK_FRAME, long_text); /* a batch each */
    put_chunk(c, CHUNK_FRAME, long_text);
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

static void test_sender_the_oldest_samples_make_room(void **state)
{
    struct place p = {0};
    struct sender *c = make(&p, 800, false);
    put_chunk(c, CHUNK_BEGIN, "B");
    int r = 0;
    for (unsigned i = 0; i < 26; i++)
        r |= put_chunk(c, CHUNK_FRAME, (char[]){(char)('a' + i), 0});
    assert_int_equal(r, -ENOBUFS);
    assert_int_equal(put_chunk(c, CHUNK_SUMMARY, "S"), -ENOBUFS);
    sender_start(c);
    sender_end(c, NS_PER_SECOND * 10);
    sender_wait(c);
    struct sender_counts n;
    sender_count(c, &n);
    assert_int_equal(n.accepted, 26);
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

static void test_sender_a_chunk_that_is_too_large(void **state)
{
    struct place p = {0};
    struct sender *c = make(&p, 200, false);
    char text[300] = {0};
    memset(text, 'x', sizeof text - 1);
    assert_int_equal(put_chunk(c, CHUNK_FRAME, text), -ENOBUFS);
    assert_int_equal(put_chunk(c, CHUNK_SUMMARY, text), 0); /* there is one of these */
    struct sender_counts n;
    sender_count(c, &n);
    assert_int_equal(n.dropped, 1);
    sender_free(c);
}

static void test_sender_the_grace_ends_it(void **state)
{
    for (unsigned keeps = 0; keeps < 2; keeps++) {
        struct place p = {.answers = {DELIVERY_AGAIN, DELIVERY_AGAIN, DELIVERY_AGAIN,
                                      DELIVERY_AGAIN, DELIVERY_AGAIN, DELIVERY_AGAIN,
                                      DELIVERY_AGAIN, DELIVERY_AGAIN}};
        struct sender *c = make(&p, 1 << 20, keeps);
        sender_start(c);
        for (unsigned i = 0; i < 3; i++)
            put_chunk(c, CHUNK_FRAME, "a");
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

static void test_sender_a_call_that_hangs_and_obeys(void **state)
{
    struct place p = {.answers = {DELIVERY_AGAIN}, .obeys = true};
    memset(p.answers, 0, sizeof p.answers);
    for (size_t i = 0; i < ARRAY_LEN(p.answers); i++)
        p.answers[i] = DELIVERY_AGAIN;
    atomic_store(&p.is_held, true);
    struct sender *c = make(&p, 1 << 20, false);
    sender_start(c);
    put_chunk(c, CHUNK_FRAME, "a");
    sender_end(c, 20 * NS_PER_MS);
    assert_true(sender_wait(c));
    struct sender_counts n;
    sender_count(c, &n);
    assert_int_equal(n.dropped, 1);
    sender_free(c);
}

/* The thread frees the sender when it comes back; leaks are looked for by the sanitizers. */
static void test_sender_a_call_that_never_returns(void **state)
{
    static struct place p;
    atomic_store(&p.is_held, true);
    struct sender *c = make(&p, 1 << 20, false);
    sender_start(c);
    put_chunk(c, CHUNK_FRAME, "a");
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

static void test_sender_what_was_kept_comes_back(void **state)
{
    struct place p = {.answers = {DELIVERY_KEPT, DELIVERY_DONE}, .returned = 2, .rejected = 1};
    struct sender_counts n;
    for (unsigned round = 0; round < 2; round++) {
        p.calls = 0;
        struct sender *c = make(&p, 1 << 20, false);
        for (unsigned i = 0; i < 3; i++)
            put_chunk(c, CHUNK_FRAME, "a");
        sender_start(c);
        for (unsigned ms = 0; p.calls < 1 && ms < 10000; ms++)
            usleep(1000);
        put_chunk(c, CHUNK_FRAME, "b");
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

static void test_sender_what_is_told_before_it_begins(void **state)
{
    struct place p = {0};
    char said[64];
    struct sender *c = make(&p, 1 << 20, false);
    sender_report(c, "listen");
    assert_true(sender_take_report(c, said, sizeof said));
    assert_string_equal(said, "listen");
    assert_false(sender_take_report(c, said, sizeof said));
    sender_free(c);
}

static void test_sender_the_other_side_says_when(void **state)
{
    struct place p = {.answers = {DELIVERY_AGAIN, DELIVERY_DONE}, .wait_ns = 10 * NS_PER_MS};
    struct sender *c = make(&p, 1 << 20, false);
    uint64_t before = clock_mono(NULL);
    put_chunk(c, CHUNK_FRAME, "a");
    sender_start(c);
    while (p.calls < 2 && clock_mono(NULL) - before < 10 * NS_PER_SECOND)
        usleep(1000);
    assert_true(clock_mono(NULL) - before >= 10 * NS_PER_MS);
    sender_end(c, NS_PER_SECOND);
    assert_true(sender_wait(c));
    sender_free(c);
}

/* ---- spool ---------------------------------------------------------------------------------- */

static int count_ops(void *arg, const struct spool_op *op)
{
    unsigned *left = arg;
    return *left && --*left ? 0 : 1;
}

static void add(struct spool_file *s, size_t length)
{
    struct buf op = {0};
    char *body = calloc(1, length + 1);
    memset(body, 'x', length);
    spool_op_add(&op, SPOOL_BATCH, "", body, length);
    assert_int_equal(spool_file_add(s, op.data, op.length, false), 0);
    buf_done(&op);
    free(body);
}

static void test_spool_the_life_of_a_spool(void **state)
{
    char directory[] = "/tmp/toll-unit-XXXXXX", path[64];
    struct spool_file s, again;
    struct stat st;
    assert_non_null(mkdtemp(directory));
    setenv("XDG_STATE_HOME", directory, 1);
    snprintf(path, sizeof path, "%s/toll/mlflow-x.spool", directory);
    assert_int_equal(spool_file_init(&s, "mlflow", NULL, "x", NULL), 0);
    assert_string_equal(s.path, path);
    spool_op_add(&s.head, SPOOL_HEAD, "mlflow", "", 0);
    assert_int_not_equal(stat(path, &st), 0); /* not before it is needed */
    assert_false(spool_file_has_unsent(&s));
    for (unsigned i = 0; i < 3; i++)
        add(&s, 10);
    add(&s, 3 << 20); /* larger than what is read at once */
    add(&s, 10);
    assert_true(spool_file_has_unsent(&s));
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0600);
    assert_int_equal(st.st_size, s.length);
    assert_int_equal(spool_file_open(&again, path), -EBUSY);
    unsigned left = 3; /* the third one stops it */
    assert_int_equal(spool_file_each(&s, &s.sent, count_ops, &left), 1);
    left = 100;
    assert_int_equal(spool_file_each(&s, &s.sent, count_ops, &left), 0);
    assert_int_equal(left, 100 - 3);
    assert_int_equal(s.sent, s.length);
    add(&s, 1);
    spool_file_done(&s); /* something is in it: it stays */
    assert_int_equal(spool_file_open(&s, path), 0);
    left = 100;
    uint64_t at = 0;
    assert_int_equal(spool_file_each(&s, &at, count_ops, &left), 0);
    assert_int_equal(left, 100 - 7);
    spool_file_remove(&s);
    assert_int_not_equal(stat(path, &st), 0);
    spool_file_done(&s);
    snprintf(path, sizeof path, "rm -r %s", directory);
    assert_int_equal(system(path), 0);
}

static void test_spool_what_cannot_be(void **state)
{
    struct spool_file s;
    uint64_t at = 0;
    unsigned left = 100;
    char path[] = "/tmp/toll-unit-XXXXXX";
    assert_int_equal(spool_file_init(&s, "mlflow", "none", "x", NULL), 0);
    assert_int_equal(spool_file_add(&s, "x", 1, false), -ENOENT);
    spool_file_done(&s);
    int fd = mkstemp(path);
    assert_int_equal(write(fd, "batch - 5\nab", 12), 12);
    assert_int_equal(spool_file_open(&s, path), 0);
    assert_int_equal(spool_file_each(&s, &at, count_ops, &left), -EBADMSG);
    assert_int_equal(at, 0);
    spool_file_done(&s);
    close(fd);
    unlink(path);
    assert_int_equal(spool_file_open(&s, path), -ENOENT);
    assert_int_equal(spool_file_open(&s, "/dev/null"), -EBADMSG);
    assert_int_equal(spool_file_open(&s, "/tmp"), -EISDIR);
}

/* Neither written to nor a reason to lose anything. */
static void test_spool_somebodys_file(void **state)
{
    struct spool_file s, again;
    struct stat st;
    char directory[] = "/tmp/toll-unit-XXXXXX", path[64], next[64];
    assert_non_null(mkdtemp(directory));
    snprintf(path, sizeof path, "%s/spool", directory);
    snprintf(next, sizeof next, "%s/spool.2", directory);
    assert_int_equal(symlink("/dev/null", path), 0);
    assert_int_equal(spool_file_init(&s, "mlflow", path, "x", NULL), 0);
    assert_int_equal(spool_file_init(&again, "mlflow", path, "x", NULL), 0);
    assert_int_equal(spool_file_add(&s, "x", 1, false), 0);
    assert_int_equal(spool_file_add(&again, "xy", 2, false), 0);
    assert_string_equal(again.path, next);
    assert_int_equal(stat(next, &st), 0);
    assert_int_equal(st.st_size, 2);
    spool_file_remove(&s);
    spool_file_remove(&again);
    spool_file_done(&s);
    spool_file_done(&again);
    unlink(path);
    assert_int_equal(rmdir(directory), 0);
}

static void expect_refused(const char *file, const char *word)
{
    struct spool_file s;
    struct toll_error e = {0};
    assert_int_equal(spool_file_init(&s, "mlflow", file, "x", &e), -EINVAL);
    assert_non_null(strstr(e.message, word));
    spool_file_done(&s);
}

/* Before anything runs, and nothing is made. */
static void test_spool_a_place_that_cannot_be(void **state)
{
    struct stat st;
    char directory[] = "/tmp/toll-unit-XXXXXX", path[64];
    assert_non_null(mkdtemp(directory));
    snprintf(path, sizeof path, "%s/typo/spool", directory);
    expect_refused(path, "typo': No such file");
    expect_refused(directory, "not a directory");
    snprintf(path, sizeof path, "%s/typo/", directory);
    expect_refused(path, "not a directory");
    snprintf(path, sizeof path, "%s/typo", directory);
    assert_int_not_equal(stat(path, &st), 0);
    if (geteuid() != 0)
        expect_refused("/x", "'/': ");
    assert_int_equal(rmdir(directory), 0);
}

static void test_spool_as_large_as_it_may_be(void **state)
{
    struct spool_file s;
    char path[] = "/tmp/toll-unit-XXXXXX";
    close(mkstemp(path));
    unlink(path);
    assert_int_equal(spool_file_init(&s, "mlflow", path, "x", NULL), 0);
    s.most_bytes = 100;
    char text[80] = {0};
    assert_int_equal(spool_file_add(&s, text, 80, false), 0);
    assert_int_equal(spool_file_add(&s, text, 20, false), 0);
    assert_int_equal(spool_file_add(&s, text, 1, false), -EFBIG);
    assert_int_equal(s.length, 100);
    assert_int_equal(spool_file_add(&s, text, 40, true), 0); /* the end of a run */
    assert_int_equal(s.length, 140);
    spool_file_remove(&s);
    spool_file_done(&s);
}

/* Where anybody can make a directory, one that somebody else can write to is none for us. */
static void test_spool_a_directory_that_is_not_ours(void **state)
{
    struct spool_file s;
    char home[] = "/tmp/toll-unit-XXXXXX", path[64];
    assert_non_null(mkdtemp(home));
    snprintf(path, sizeof path, "%s/toll", home);
    setenv("XDG_STATE_HOME", home, 1);
    assert_int_equal(spool_file_init(&s, "mlflow", NULL, "x", NULL), 0);
    assert_int_equal(symlink("/tmp", path), 0);
    assert_int_equal(spool_file_add(&s, "x", 1, true), -EPERM);
    unlink(path);
    assert_int_equal(mkdir(path, 0700), 0);
    assert_int_equal(chmod(path, 0777), 0);
    assert_int_equal(spool_file_add(&s, "x", 1, true), -EPERM);
    assert_int_equal(chmod(path, 0700), 0);
    if (geteuid() == 0) {
        assert_int_equal(chown(path, 65534, 65534), 0);
        assert_int_equal(spool_file_add(&s, "x", 1, true), -EPERM);
        assert_int_equal(chown(path, 0, 0), 0);
    }
    assert_int_equal(spool_file_add(&s, "x", 1, true), 0);
    spool_file_remove(&s);
    spool_file_done(&s);
    rmdir(path);
    assert_int_equal(rmdir(home), 0);
}

static void test_spool_where_it_is(void **state)
{
    struct spool_file s;
    setenv("XDG_STATE_HOME", "/state", 1);
    spool_file_init(&s, "mlflow", NULL, "ab", NULL);
    assert_string_equal(s.path, "/state/toll/mlflow-ab.spool");
    spool_file_done(&s);
    unsetenv("XDG_STATE_HOME");
    setenv("HOME", "/home/me", 1);
    spool_file_init(&s, "mlflow", NULL, "ab", NULL);
    assert_string_equal(s.path, "/home/me/.local/state/toll/mlflow-ab.spool");
    spool_file_done(&s);
    unsetenv("HOME");
    spool_file_init(&s, "mlflow", NULL, "ab", NULL);
    assert_int_equal(strncmp(s.path, "/tmp/toll-", 10), 0);
    spool_file_done(&s);
}

/* ---- spool ops ------------------------------------------------------------------------------ */

static bool is(struct scan s, const char *text)
{
    return (size_t)(s.end - s.at) == strlen(text) && memcmp(s.at, text, strlen(text)) == 0;
}

static void test_spool_op_what_is_added_is_read(void **state)
{
    static const char body[] = "{\"a\":\n\"batch - 0\"}";
    struct buf b = {0};
    struct spool_op op;
    spool_op_add(&b, SPOOL_HEAD, "mlflow", "", 0);
    spool_op_add(&b, SPOOL_BATCH, "", body, sizeof body - 1);
    spool_op_add(&b, SPOOL_SAMPLES, "12", "", 0);
    assert_int_equal(strncmp(b.data, "toll-spool mlflow 0\n\nbatch - 18\n{\"a\"", 36), 0);
    struct scan text = scan_text(b.data, b.length);
    assert_int_equal(spool_op_next(&text, &op), 1);
    assert_true(op.kind == SPOOL_HEAD && is(op.name, "mlflow") && is(op.body, ""));
    assert_int_equal(spool_op_next(&text, &op), 1);
    assert_true(op.kind == SPOOL_BATCH && is(op.name, "") && is(op.body, body));
    assert_int_equal(spool_op_next(&text, &op), 1);
    assert_true(op.kind == SPOOL_SAMPLES && is(op.name, "12"));
    assert_int_equal(spool_op_next(&text, &op), 0);
    for (size_t cut = 1; cut < b.length; cut++) { /* whole ones, then that it is cut */
        int r;
        text = scan_text(b.data, cut);
        while ((r = spool_op_next(&text, &op)) > 0)
            ;
        assert_int_equal(r, text.at == text.end ? 0 : -EBADMSG);
    }
    buf_done(&b);
}

static void test_spool_op_nonsense(void **state)
{
    static const char *const bad[] = {
        "\n",
        "batch\n",
        "batch - \n\n",
        "batch - x\n\n",
        "batch - 1\n\n",
        "batch -1 0 0",
        "batches - 0\n\n",
        "batch - 2\nab ",
        "batch  0\n\n",
        "batch - 18446744073709551615\n\n",
        "batch - 99999999999999999999\n\n",
    };
    struct spool_op op;
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        struct scan text = scan_string(bad[i]);
        assert_int_equal(spool_op_next(&text, &op), -EBADMSG);
        assert_ptr_equal(text.at, bad[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sender_all_arrive_in_order),
        cmocka_unit_test(test_sender_the_first_does_not_wait),
        cmocka_unit_test(test_sender_failures_are_repeated_and_told_once),
        cmocka_unit_test(test_sender_what_is_refused_is_counted),
        cmocka_unit_test(test_sender_the_oldest_samples_make_room),
        cmocka_unit_test(test_sender_a_chunk_that_is_too_large),
        cmocka_unit_test(test_sender_the_grace_ends_it),
        cmocka_unit_test(test_sender_a_call_that_hangs_and_obeys),
        cmocka_unit_test(test_sender_a_call_that_never_returns),
        cmocka_unit_test(test_sender_what_was_kept_comes_back),
        cmocka_unit_test(test_sender_what_is_told_before_it_begins),
        cmocka_unit_test(test_sender_the_other_side_says_when),
        cmocka_unit_test(test_spool_the_life_of_a_spool),
        cmocka_unit_test(test_spool_what_cannot_be),
        cmocka_unit_test(test_spool_somebodys_file),
        cmocka_unit_test(test_spool_a_place_that_cannot_be),
        cmocka_unit_test(test_spool_as_large_as_it_may_be),
        cmocka_unit_test(test_spool_a_directory_that_is_not_ours),
        cmocka_unit_test(test_spool_where_it_is),
        cmocka_unit_test(test_spool_op_what_is_added_is_read),
        cmocka_unit_test(test_spool_op_nonsense),
    };
    return RUN("sink/sender", tests);
}
