/* SPDX-License-Identifier: MIT
 * A tracker on a thread of its own, as a program uses it. */
#include "self_tracker.h"

#include <arpa/inet.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <sys/wait.h>

static void *nothing(void *arg)
{
    return arg;
}

/* A sanitizer may have one of its own, from the first thread on. */
static double threads_now(void)
{
    pthread_t first;
    assert_int_equal(pthread_create(&first, NULL, nothing, NULL), 0);
    pthread_join(first, NULL);
    struct toll_target self = {.size = sizeof self};
    struct toll_frame *f;
    assert_int_equal(toll_snapshot(&f, &self, NULL, NULL), 0);
    double threads = toll_frame_get(f, "target_threads");
    toll_frame_free(f);
    return threads;
}

/* The sampler works at 1 kHz: what it uses is not the program's. */
static void test_the_program_alone(void **state)
{
    double threads_before = threads_now();
    uint64_t before = clock_thread_cpu();
    struct toll_tracker *t = start((struct toll_options){.interval_ns = NS_PER_MS});
    burn(200 * NS_PER_MS);
    assert_int_equal(toll_tracker_finish(t, NULL), 0);
    double used = (double)(clock_thread_cpu() - before) / 1e9;
    double cpu = total(t, "target_cpu_seconds"), self = total(t, "self_cpu_seconds");
    assert_true(cpu >= 0.2 && cpu <= used + 0.001);
    assert_true(self > 0);
    struct toll_figure threads = {.size = sizeof threads};
    assert_int_equal(toll_tracker_figure(t, "target_threads", &threads), 0);
    assert_true(threads.max == threads_before);
    toll_tracker_free(t);
}

static void test_nothing_stays_behind(void **state)
{
    unsigned fds = tree_open_fds();
    for (unsigned i = 0; i < 50; i++) {
        struct toll_tracker *t = start((struct toll_options){0});
        if (i % 2)
            assert_int_equal(toll_tracker_finish(t, NULL), 0);
        toll_tracker_free(t);
    }
    assert_int_equal(tree_open_fds(), fds);
}

static void test_out_of_turn(void **state)
{
    struct toll_figure f = {.size = sizeof f};
    struct toll_frame *frame;
    struct toll_error e;
    char *text;
    struct toll_tracker *t = make((struct toll_options){0});
    assert_int_equal(toll_tracker_figure(t, "target_cpu_seconds", &f), -EINVAL);
    assert_int_equal(toll_tracker_frame(t, &frame), -EINVAL);
    assert_int_equal(toll_tracker_wait(t, 0), -EINVAL);
    assert_int_equal(toll_tracker_report(t, "json", 0, &text, &e), -EINVAL);
    assert_int_equal(toll_tracker_attach(t, &e), -EINVAL); /* itself, without a thread */
    assert_non_null(strstr(e.message, "in the background"));
    toll_tracker_free(t);
    t = start((struct toll_options){0});
    assert_int_equal(toll_tracker_start(t, &e), -EINVAL);
    assert_int_equal(toll_tracker_step(t), -EINVAL);
    assert_int_equal(toll_tracker_next_frame(t, 0, &frame), -EINVAL); /* none are kept */
    assert_int_equal(toll_tracker_wait(t, 0), 1);
    assert_int_equal(toll_tracker_finish(t, NULL), 0);
    assert_int_equal(toll_tracker_finish(t, NULL), -EINVAL);
    toll_tracker_free(t);
}

static void test_it_cannot_begin(void **state)
{
    unsigned fds = tree_open_fds();
    struct toll_tracker *t = NULL;
    struct toll_options o = {.size = sizeof o};
    struct toll_target nobody = {.size = sizeof nobody, .id = 0x7FFFFFFF};
    struct toll_output out = {.size = sizeof out, .destination = "/tmp/toll-unit-begin.jsonl"};
    struct toll_error e;
    assert_int_equal(toll_tracker_new(&t, &o, NULL), 0);
    assert_int_equal(toll_tracker_add_target(t, &nobody, NULL), 0);
    assert_int_equal(toll_tracker_add_output(t, &out, &e), 0);
    assert_int_equal(toll_tracker_start(t, &e), -ESRCH);
    assert_non_null(strstr(e.message, "no process"));
    assert_int_equal(toll_tracker_finish(t, NULL), -EINVAL);
    toll_tracker_free(t);
    assert_int_equal(tree_open_fds(), fds);
    assert_int_equal(access(out.destination, F_OK), -1);
}

static void test_frames_in_order(void **state)
{
    struct toll_tracker *t = start(
        (struct toll_options){.interval_ns = NS_PER_MS, .frames_kept = 1000});
    struct toll_frame *f;
    uint64_t next = 0;
    for (unsigned i = 0; i < 20; i++) {
        assert_int_equal(toll_tracker_next_frame(t, -1, &f), 0);
        assert_int_equal(f->number, next++);
        toll_frame_free(f);
    }
    assert_int_equal(toll_tracker_frame(t, &f), 0);
    assert_true(f->number >= 19);
    toll_frame_free(f);
    assert_int_equal(toll_tracker_finish(t, NULL), 0);
    bool last = false;
    while (toll_tracker_next_frame(t, -1, &f) == 0) {
        assert_int_equal(f->number, next++);
        last = f->last;
        toll_frame_free(f);
    }
    assert_true(last);
    toll_tracker_free(t);
}

struct told {
    atomic_uint calls;
    atomic_ulong dropped, ticks;
    unsigned delay_us;
};

static void on_frame(void *arg, const struct toll_frame *frame)
{
    struct told *told = arg;
    told->calls++;
    told->dropped = frame->dropped;
    told->ticks = frame->number + 1;
    usleep(told->delay_us);
}

/* One that takes its time misses frames and is told how many; the sampler does not wait for it. */
static void test_a_slow_callback(void **state)
{
    struct told told = {.delay_us = 20000};
    struct toll_tracker *t = start((struct toll_options){
        .interval_ns = NS_PER_MS, .frame = on_frame, .frame_arg = &told, .frames_kept = 4});
    usleep(300000);
    assert_int_equal(toll_tracker_finish(t, NULL), 0);
    assert_true(told.dropped > 0);
    assert_int_equal(told.calls + told.dropped, told.ticks);
    assert_true(told.ticks > told.calls * 2);
    toll_tracker_free(t);
}

/* In the child there is no tracker: every call says so, and nothing is touched. */
static void test_a_fork(void **state)
{
    struct toll_tracker *t = start((struct toll_options){.interval_ns = NS_PER_MS});
    pid_t child = fork();
    if (child == 0) {
        struct toll_figure f = {.size = sizeof f};
        struct toll_frame *frame;
        bool right = toll_tracker_figure(t, "target_cpu_seconds", &f) == -ESRCH &&
                     toll_tracker_frame(t, &frame) == -ESRCH &&
                     toll_tracker_next_frame(t, -1, &frame) == -ESRCH &&
                     toll_tracker_wait(t, -1) == -ESRCH && toll_tracker_step(t) == -ESRCH &&
                     toll_tracker_start(t, NULL) == -ESRCH &&
                     toll_tracker_finish(t, NULL) == -ESRCH;
        toll_tracker_free(t);
        _exit(right ? 0 : 1);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    usleep(20000);
    assert_int_equal(toll_tracker_finish(t, NULL), 0);
    assert_true(total(t, "target_cpu_seconds") >= 0);
    toll_tracker_free(t);
}

/* It may make one of its own, as the workers of a pool do. */
static void test_a_tracker_of_the_fork(void **state)
{
#ifdef __SANITIZE_THREAD__
    return; /* it does not allow threads there */
#endif
    struct toll_tracker *t = start((struct toll_options){.interval_ns = NS_PER_MS});
    pid_t child = fork();
    if (child == 0) {
        struct toll_tracker *own = start((struct toll_options){.interval_ns = NS_PER_MS});
        burn(20 * NS_PER_MS);
        bool right = toll_tracker_finish(own, NULL) == 0;
        double used = total(own, "target_cpu_seconds");
        toll_tracker_free(own);
        _exit(right && used >= 0.02 && used < 0.2 ? 0 : 1);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(toll_tracker_finish(t, NULL), 0);
    assert_true(total(t, "descendants_cpu_seconds") >= 0.02);
    toll_tracker_free(t);
}

static void *doze(void *stop)
{
    while (!*(atomic_bool *)stop)
        usleep(20000);
    return NULL;
}

enum { DOZERS = 64 };

/* To ask a program with many threads for its children is dear and spaced out; they are found. */
static void test_a_child_among_threads(void **state)
{
    atomic_bool stop = false;
    pthread_t dozers[DOZERS];
    for (size_t i = 0; i < DOZERS; i++)
        assert_int_equal(pthread_create(&dozers[i], NULL, doze, &stop), 0);
    for (unsigned round = 0; round < 4; round++) {
        struct toll_tracker *t = start((struct toll_options){.interval_ns = 10 * NS_PER_MS});
        usleep(30000);
        pid_t child = fork();
        if (child == 0) {
            usleep(20000000);
            _exit(0);
        }
        struct toll_figure f = {.size = sizeof f};
        for (unsigned ms = 0; ms < 20000 && f.max != 2; ms += 10) {
            usleep(10000);
            assert_int_equal(toll_tracker_figure(t, "target_processes", &f), 0);
        }
        kill(child, SIGKILL);
        assert_int_equal(waitpid(child, NULL, 0), child);
        assert_true(f.max == 2);
        toll_tracker_free(t);
    }
    stop = true;
    for (size_t i = 0; i < DOZERS; i++)
        pthread_join(dozers[i], NULL);
}

/* The process that measures belongs to its parent's tree, and to its group. */
static void test_the_program_is_one_of_them(void **state)
{
    struct toll_target above = {.size = sizeof above, .id = getpid()};
    pid_t child = fork();
    if (child == 0) {
        struct toll_frame *f = NULL;
        int r = toll_snapshot(&f, &above, NULL, NULL);
        _exit(r == 0 && toll_frame_get(f, "descendants_processes") == 1 ? 0 : 1);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    struct toll_target group = {.size = sizeof group, .kind = TOLL_TARGET_GROUP, .id = getpgid(0)};
    struct toll_tracker *t = NULL;
    assert_int_equal(toll_tracker_new(&t, NULL, NULL), 0);
    assert_int_equal(toll_tracker_add_target(t, &group, NULL), 0);
    assert_int_equal(toll_tracker_start(t, NULL), 0);
    burn(50 * NS_PER_MS);
    assert_int_equal(toll_tracker_finish(t, NULL), 0);
    assert_true(total(t, "target_cpu_seconds") >= 0.05);
    toll_tracker_free(t);
}

static void take_note(void *arg, const char *sentence)
{
    *(atomic_bool *)arg = *sentence;
}

/* Told by a thread that has the program's descriptors. */
static void test_notes(void **state)
{
    int ends[2];
    atomic_bool told = false;
    assert_int_equal(pipe(ends), 0);
    close(ends[0]);
    struct toll_tracker *t = make((struct toll_options){.note = take_note, .note_arg = &told});
    struct toll_output out = {.size = sizeof out, .format = "jsonl", .fd = ends[1]};
    assert_int_equal(toll_tracker_add_output(t, &out, NULL), 0);
    assert_int_equal(toll_tracker_start(t, NULL), 0);
    assert_int_equal(toll_tracker_finish(t, NULL), -EPIPE);
    assert_true(told);
    toll_tracker_free(t);
    close(ends[1]);
}

static void take_ending(void *arg, bool has_failed, const char *sentence)
{
    *(atomic_bool *)arg = has_failed && strstr(sentence, "could not be written");
}

/* An output that is not complete is told of apart from the notes, by the end of finish. */
static void test_an_ending(void **state)
{
    int ends[2];
    atomic_bool noted = false, told = false;
    for (int with_notes = 0; with_notes < 2; with_notes++) {
        assert_int_equal(pipe(ends), 0);
        close(ends[0]);
        told = false;
        struct toll_tracker *t = make((struct toll_options){
            .note = with_notes ? take_note : NULL,
            .note_arg = &noted,
            .ending = take_ending,
            .ending_arg = &told,
        });
        struct toll_output out = {.size = sizeof out, .format = "jsonl", .fd = ends[1]};
        assert_int_equal(toll_tracker_add_output(t, &out, NULL), 0);
        assert_int_equal(toll_tracker_start(t, NULL), 0);
        assert_int_equal(toll_tracker_finish(t, NULL), -EPIPE);
        assert_true(told);
        assert_int_equal(noted, with_notes);
        toll_tracker_free(t);
        close(ends[1]);
    }
}

struct finishing {
    struct toll_tracker *t;
    atomic_bool waits, is_over;
    atomic_int result;
};

static void take_wait(void *arg, bool has_failed, const char *sentence)
{
    struct finishing *f = arg;
    if (!has_failed && strstr(sentence, "waiting for what is left"))
        f->waits = true;
}

static void *finish_slowly(void *arg)
{
    struct finishing *f = arg;
    f->result = toll_tracker_finish(f->t, NULL);
    f->is_over = true;
    return NULL;
}

/* A server that never answers is waited for; other threads have the figures meanwhile. */
static void test_figures_while_it_finishes(void **state)
{
    struct finishing f = {0};
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    CLEANUP_CLOSE int silent = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(silent, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(listen(silent, 8), 0);
    assert_int_equal(getsockname(silent, (struct sockaddr *)&address, &length), 0);
    char place[128];
    snprintf(place, sizeof place, "otlp:http://127.0.0.1:%u,grace=1h,timeout=1h,spool=none",
             ntohs(address.sin_port));
    f.t = make((struct toll_options){.ending = take_wait, .ending_arg = &f});
    struct toll_output out = {.size = sizeof out, .destination = place};
    int r = toll_tracker_add_output(f.t, &out, NULL);
    if (r == -EOPNOTSUPP) {
        toll_tracker_free(f.t);
        skip();
    }
    assert_int_equal(r, 0);
    assert_int_equal(toll_tracker_start(f.t, NULL), 0);
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, finish_slowly, &f), 0);
    while (!f.waits && !f.is_over)
        usleep(1000);
    alarm(60); /* the calls would wait for an hour */
    struct toll_figure cpu = {.size = sizeof cpu};
    struct toll_frame *frame = NULL;
    char *text = NULL;
    assert_int_equal(toll_tracker_figure(f.t, "target_cpu_seconds", &cpu), 0);
    assert_true(cpu.total > 0);
    assert_int_equal(toll_tracker_report(f.t, "json", 0, &text, NULL), 0);
    assert_int_equal(toll_tracker_frame(f.t, &frame), 0);
    assert_true(frame->last);
    assert_int_equal(toll_tracker_wait(f.t, 0), 1);
    assert_int_equal(toll_mark_event(f.t, "late", NULL), 1); /* no mark is taken any more */
    assert_false(f.is_over);
    toll_tracker_hurry(f.t);
    pthread_join(thread, NULL);
    alarm(0);
    assert_true(f.result < 0); /* not everything has arrived */
    double before = cpu.total;
    assert_int_equal(toll_tracker_figure(f.t, "target_cpu_seconds", &cpu), 0);
    assert_true(before == cpu.total);
    free(text);
    toll_frame_free(frame);
    toll_tracker_free(f.t);
}

static void test_wait_for_others(void **state)
{
    struct toll_tracker *t = NULL;
    struct toll_options o = {.size = sizeof o};
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    if (child == 0) {
        char word;
        close(ends[1]);
        _exit(read(ends[0], &word, 1) == 0 ? 7 : 1); /* until it is closed, when all is ready */
    }
    struct toll_target target = {.size = sizeof target, .id = child};
    assert_int_equal(toll_tracker_new(&t, &o, NULL), 0);
    assert_int_equal(toll_tracker_add_target(t, &target, NULL), 0);
    assert_int_equal(toll_tracker_start(t, NULL), 0);
    close(ends[0]);
    close(ends[1]);
    assert_int_equal(toll_tracker_wait(t, -1), 0);
    assert_int_equal(waitpid(child, NULL, 0), child);
    struct toll_end end = {.size = sizeof end};
    assert_int_equal(toll_tracker_finish(t, &end), 0);
    assert_true(end.ended);
    toll_tracker_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_program_alone),
        cmocka_unit_test(test_nothing_stays_behind),
        cmocka_unit_test(test_out_of_turn),
        cmocka_unit_test(test_it_cannot_begin),
        cmocka_unit_test(test_frames_in_order),
        cmocka_unit_test(test_a_slow_callback),
        cmocka_unit_test(test_a_fork),
        cmocka_unit_test(test_a_tracker_of_the_fork),
        cmocka_unit_test(test_a_child_among_threads),
        cmocka_unit_test(test_the_program_is_one_of_them),
        cmocka_unit_test(test_notes),
        cmocka_unit_test(test_an_ending),
        cmocka_unit_test(test_figures_while_it_finishes),
        cmocka_unit_test(test_wait_for_others),
    };
    return RUN("background", tests);
}
