/* SPDX-License-Identifier: MIT */
#include "engine/background.h"
#include "self_tracker.h"
#include "unit.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

/* ---- background ----------------------------------------------------------------------------- */

/* A tracker on a thread of its own, as a program uses it. */

static void *background_nothing(void *arg)
{
    return arg;
}

/* A sanitizer may have one of its own, from the first thread on. */
static double threads_now(void)
{
    pthread_t first;
    assert_int_equal(pthread_create(&first, NULL, background_nothing, NULL), 0);
    pthread_join(first, NULL);
    struct toll_target self = {.size = sizeof self};
    struct toll_frame *f;
    assert_int_equal(toll_snapshot(&f, &self, NULL, NULL), 0);
    double threads = frame_value(f, "target_threads");
    toll_frame_free(f);
    return threads;
}

/* The sampler works at 1 kHz: what it uses is not the program's. */
static void test_background_the_program_alone(void **state)
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

static void test_background_nothing_stays_behind(void **state)
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

static void test_background_out_of_turn(void **state)
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
    assert_non_null(strstr(e.message, "toll_tracker_start"));
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

static void test_background_it_cannot_begin(void **state)
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
    assert_int_equal(toll_tracker_start(t, &e), -ESRCH); /* it may be tried again */
    toll_tracker_free(t);
    assert_int_equal(tree_open_fds(), fds);
    assert_int_equal(access(out.destination, F_OK), -1);
}

/* A refused start is tried again, and the output is the same. */
static void test_background_second_try(void **state)
{
    unsigned fds = tree_open_fds();
    struct toll_tracker *t = NULL;
    struct toll_target late = {
        .size = sizeof late, .kind = TOLL_TARGET_MATCH, .text = "sleep 98766[.]4"};
    struct toll_output out = {.size = sizeof out, .destination = "/tmp/toll-unit-again.jsonl"};
    struct toll_error e;
    assert_int_equal(toll_tracker_new(&t, NULL, NULL), 0);
    assert_int_equal(toll_tracker_add_target(t, &late, NULL), 0);
    assert_int_equal(toll_tracker_add_output(t, &out, &e), 0);
    assert_int_equal(toll_tracker_start(t, &e), -ESRCH);
    pid_t child = fork();
    if (child == 0) {
        execlp("sleep", "sleep", "98766.4", (char *)NULL);
        _exit(127);
    }
    int r = -ESRCH;
    for (unsigned i = 0; i < 1000 && r == -ESRCH; i++, usleep(1000))
        r = toll_tracker_start(t, &e);
    assert_int_equal(r, 0);
    assert_int_equal(toll_tracker_wait(t, 0), TOLL_RUNNING);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    assert_int_equal(toll_tracker_wait(t, 60000), TOLL_ENDED);
    assert_int_equal(toll_tracker_finish(t, NULL), 0);
    toll_tracker_free(t);
    assert_int_equal(tree_open_fds(), fds);
    struct stat written;
    assert_int_equal(stat(out.destination, &written), 0);
    assert_true(written.st_size > 1000);
    unlink(out.destination);
}

static void test_background_frames_in_order(void **state)
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
static void test_background_a_slow_callback(void **state)
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
static void test_background_a_fork(void **state)
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
static void test_background_a_tracker_of_the_fork(void **state)
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
static void test_background_a_child_among_threads(void **state)
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
static void test_background_the_program_is_one_of_them(void **state)
{
    struct toll_target above = {.size = sizeof above, .id = getpid()};
    pid_t child = fork();
    if (child == 0) {
        struct toll_frame *f = NULL;
        int r = toll_snapshot(&f, &above, NULL, NULL);
        _exit(r == 0 && frame_value(f, "descendants_processes") == 1 ? 0 : 1);
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
static void test_background_notes(void **state)
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
    *(atomic_bool *)arg = has_failed && strstr(sentence, "cannot write");
}

/* An output that is not complete is told of apart from the notes, by the end of finish. */
static void test_background_an_ending(void **state)
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
    if (!has_failed && strstr(sentence, "sending the rest"))
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
static void test_background_figures_while_it_finishes(void **state)
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

static void test_background_wait_for_others(void **state)
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

/* ---- background host ------------------------------------------------------------------------ */

/* Programs that do to a tracker in the background what servers do: close everything, go elsewhere,
 * give up their rights. */

/* The host closes what it does not know, goes elsewhere, and opens files of its own: they are not
 * written to, and the record is where it was meant to be. */
static void test_background_host_a_host_that_closes_everything(void **state)
{
    char here[] = "/tmp/toll-unit-XXXXXX", path[64], other[64];
    assert_non_null(mkdtemp(here));
    snprintf(path, sizeof path, "%s/summary.json", here);
    snprintf(other, sizeof other, "%s/other", here);
    assert_int_equal(chdir(here), 0);
    struct toll_tracker *t = make((struct toll_options){.interval_ns = 5 * NS_PER_MS});
    struct toll_output out = {.size = sizeof out, .destination = "summary.json"};
    assert_int_equal(toll_tracker_add_output(t, &out, NULL), 0);
    assert_int_equal(toll_tracker_start(t, NULL), 0);
    int mine[40];
    for (int fd = 3; fd < 100; fd++)
        close(fd);
    assert_int_equal(chdir("/"), 0);
    for (size_t i = 0; i < 40; i++)
        mine[i] = open(other, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    burn(50 * NS_PER_MS);
    assert_int_equal(toll_tracker_finish(t, NULL), 0);
    assert_true(total(t, "target_cpu_seconds") >= 0.05);
    toll_tracker_free(t);
    struct stat st;
    assert_int_equal(stat(other, &st), 0);
    assert_int_equal(st.st_size, 0);
    for (size_t i = 0; i < 40; i++) {
        assert_true(fcntl(mine[i], F_GETFD) >= 0);
        close(mine[i]);
    }
    assert_int_equal(stat(path, &st), 0);
    assert_true(st.st_size > 100);
    unlink(path);
    unlink(other);
    rmdir(here);
}

/* In a child, so that this process stays who it is. */
static int live_as_nobody(const char *directory)
{
    struct toll_tracker *t = make((struct toll_options){.interval_ns = 5 * NS_PER_MS});
    struct toll_output out = {.size = sizeof out, .destination = "summary.json"};
    if (chdir(directory) < 0 || toll_tracker_add_output(t, &out, NULL) < 0 ||
        toll_tracker_start(t, NULL) < 0)
        return 1;
    if (chroot(directory) < 0 || chdir("/") < 0 || setgid(65534) < 0 || setuid(65534) < 0)
        return 2;
    burn(50 * NS_PER_MS);
    struct toll_figure cpu = {.size = sizeof cpu}, read = {.size = sizeof read};
    if (toll_tracker_finish(t, NULL) < 0)
        return 3;
    if (toll_tracker_figure(t, "target_cpu_seconds", &cpu) < 0 || !(cpu.total >= 0.05))
        return 4;
    if (toll_tracker_figure(t, "target_io_read_bytes", &read) < 0 || !(read.total >= 0))
        return 5;
    toll_tracker_free(t);
    return 0;
}

/* A server that gives up its root and its rights after the start. */
static void test_background_host_a_host_that_drops_its_rights(void **state)
{
    char here[] = "/tmp/toll-unit-XXXXXX", path[64];
    if (geteuid() != 0)
        return;
    assert_non_null(mkdtemp(here));
    snprintf(path, sizeof path, "%s/summary.json", here);
    pid_t child = fork();
    if (child == 0)
        _exit(live_as_nobody(here));
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    assert_true(st.st_size > 100);
    unlink(path);
    rmdir(here);
}

/* Whoever closes everything and gives up its rights is not kept waiting for the next sample. */
static int finish_at_once(void)
{
    struct toll_tracker *t = make((struct toll_options){.interval_ns = 3600 * NS_PER_SECOND});
    if (toll_tracker_start(t, NULL) < 0)
        return 1;
    for (int fd = 3; fd < 100; fd++)
        close(fd);
    if (geteuid() == 0 && (setgid(65534) < 0 || setuid(65534) < 0))
        return 2;
    alarm(60);
    if (toll_tracker_finish(t, NULL) < 0)
        return 3;
    toll_tracker_free(t);
    return 0;
}

static void test_background_host_nobody_can_wake_it(void **state)
{
    pid_t child = fork();
    if (child == 0)
        _exit(finish_at_once());
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

static __thread char large[400 * 1024];

/* Of such a program every thread has that much on its stack. */
static void test_background_host_much_data_of_threads(void **state)
{
    large[sizeof large - 1] = 1;
    struct toll_tracker *t = start((struct toll_options){0});
    assert_int_equal(toll_tracker_finish(t, NULL), 0);
    toll_tracker_free(t);
}

/* A summary that cannot be written takes nobody else's file away. */
static int lose_the_summary(const char *directory)
{
    struct rlimit none = {0, RLIM_INFINITY};
    struct toll_tracker *t = make((struct toll_options){0});
    struct toll_output out = {.size = sizeof out, .destination = "summary.json"};
    if (chdir(directory) < 0 || toll_tracker_add_output(t, &out, NULL) < 0 ||
        toll_tracker_start(t, NULL) < 0 || chdir("elsewhere") < 0)
        return 1;
    setrlimit(RLIMIT_FSIZE, &none);
    int r = toll_tracker_finish(t, NULL);
    toll_tracker_free(t);
    return r == -EFBIG && access("summary.json", F_OK) == 0 ? 0 : 2;
}

static void test_background_host_a_file_of_the_same_name(void **state)
{
    struct tree tree;
    tree_make(&tree);
    tree_write(&tree, "elsewhere/summary.json", "not toll's\n");
    pid_t child = fork();
    if (child == 0)
        _exit(lose_the_summary(tree.path));
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    tree_remove(&tree);
}

/* Neither close_range nor unshare, as in an old kernel or a strict container. */
static int forbid_own_files(void)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_unshare, 2, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_close_range, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
    };
    struct sock_fprog program = {.len = ARRAY_LEN(filter), .filter = filter};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
                   prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0
               ? 0
               : -errno;
}

static int live_without_own_files(void)
{
    if (forbid_own_files() < 0)
        return 0; /* nor can it be tried */
    unsigned fds = tree_open_fds();
    struct toll_tracker *t = make((struct toll_options){.interval_ns = 5 * NS_PER_MS});
    struct toll_output out = {.size = sizeof out, .destination = "/dev/null", .format = "jsonl"};
    if (toll_tracker_add_output(t, &out, NULL) < 0 || toll_tracker_start(t, NULL) < 0)
        return 1;
    burn(50 * NS_PER_MS);
    if (toll_tracker_finish(t, NULL) < 0 || !(total(t, "target_cpu_seconds") >= 0.05))
        return 2;
    toll_tracker_free(t);
    return tree_open_fds() == fds ? 0 : 3;
}

static void test_background_host_no_descriptors_of_its_own(void **state)
{
    pid_t child = fork();
    if (child == 0)
        _exit(live_without_own_files());
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

struct ended_inside {
    struct toll_tracker *t;
    atomic_int finished;
};

static void end_inside(void *arg, const struct toll_frame *frame)
{
    struct ended_inside *inside = arg;
    inside->finished = toll_tracker_finish(inside->t, NULL);
    toll_tracker_free(inside->t);
}

/* Frames come from a thread of the tracker, which cannot wait for itself. */
static void test_background_host_a_callback_that_ends_it(void **state)
{
    struct ended_inside inside = {0};
    inside.t = make((struct toll_options){.frame = end_inside, .frame_arg = &inside});
    assert_int_equal(toll_tracker_start(inside.t, NULL), 0);
    assert_int_equal(toll_tracker_finish(inside.t, NULL), 0); /* every frame was told by then */
    assert_int_equal(inside.finished, -EDEADLK);
    assert_true(total(inside.t, "self_ticks") > 0);
    toll_tracker_free(inside.t);
}

/* ---- frame queue ---------------------------------------------------------------------------- */

static struct frame_copy *numbered(uint64_t number)
{
    static const struct selection nothing;
    struct frame f = {.tick = number};
    struct frame_copy *t = frame_copy_new(&f, &nothing);
    assert_non_null(t);
    return t;
}

static void expect_next(struct frame_queue *q, uint64_t number, uint64_t dropped)
{
    struct frame_copy *t = frame_queue_next(q, 0);
    assert_non_null(t);
    assert_int_equal(t->head.number, number);
    assert_int_equal(t->head.dropped, dropped);
    frame_copy_release(t);
}

static void test_frame_queue_the_oldest_are_dropped(void **state)
{
    struct frame_queue q;
    assert_int_equal(frame_queue_init(&q, 3), 0);
    assert_null(frame_queue_latest(&q));
    assert_null(frame_queue_next(&q, 0));
    for (uint64_t i = 0; i < 5; i++)
        frame_queue_put(&q, numbered(i));
    struct frame_copy *latest = frame_queue_latest(&q);
    assert_int_equal(latest->head.number, 4);
    frame_copy_release(latest);
    expect_next(&q, 2, 0); /* when it came, nothing had been lost */
    expect_next(&q, 3, 1);
    frame_queue_put(&q, numbered(5));
    expect_next(&q, 4, 2);
    frame_queue_end(&q);
    expect_next(&q, 5, 2); /* what is there is still told */
    assert_null(frame_queue_next(&q, -1));
    frame_queue_put(&q, numbered(6)); /* left for the end to free */
    frame_queue_done(&q);
}

static void test_frame_queue_none_are_kept(void **state)
{
    struct frame_queue q;
    assert_int_equal(frame_queue_init(&q, 0), 0);
    frame_queue_put(&q, numbered(1));
    frame_queue_put(&q, numbered(2));
    struct frame_copy *latest = frame_queue_latest(&q);
    assert_int_equal(latest->head.number, 2);
    assert_int_equal(latest->head.dropped, 0);
    frame_copy_release(latest);
    assert_null(frame_queue_next(&q, 0));
    frame_queue_done(&q);
}

static void *put_some(void *arg)
{
    for (uint64_t i = 0; i < 1000; i++)
        frame_queue_put(arg, numbered(i));
    frame_queue_end(arg);
    return NULL;
}

/* Whatever was not read was told as dropped. */
static void test_frame_queue_a_reader_of_its_own(void **state)
{
    struct frame_queue q;
    assert_int_equal(frame_queue_init(&q, 8), 0);
    pthread_t writer;
    assert_int_equal(pthread_create(&writer, NULL, put_some, &q), 0);
    uint64_t seen = 0;
    for (struct frame_copy *t; (t = frame_queue_next(&q, -1)); seen++)
        frame_copy_release(t);
    pthread_join(writer, NULL);
    assert_int_equal(seen + q.dropped, 1000);
    frame_queue_done(&q);
}

static void expect_note(struct frame_queue *q, const char *sentence, bool is_ending, bool failed)
{
    struct queued_note n;
    assert_true(frame_queue_take_note(q, &n));
    assert_string_equal(n.sentence, sentence);
    assert_int_equal(n.is_ending, is_ending);
    assert_int_equal(n.has_failed, failed);
    free(n.sentence);
}

static void test_frame_queue_notes_and_endings(void **state)
{
    struct frame_queue q;
    struct queued_note none;
    assert_int_equal(frame_queue_init(&q, 0), 0);
    frame_queue_put_note(&q, "one");
    frame_queue_put_ending(&q, true, "two");
    frame_queue_put_ending(&q, false, "three");
    assert_true(frame_queue_wait(&q, false));
    expect_note(&q, "one", false, false);
    expect_note(&q, "two", true, true);
    expect_note(&q, "three", true, false);
    assert_false(frame_queue_take_note(&q, &none));
    for (unsigned i = 0; i < NOTES_THAT_WAIT + 2; i++)
        frame_queue_put_note(&q, "left for the end to free");
    assert_int_equal(q.note_count, NOTES_THAT_WAIT);
    frame_queue_done(&q);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_background_the_program_alone),
        cmocka_unit_test(test_background_nothing_stays_behind),
        cmocka_unit_test(test_background_out_of_turn),
        cmocka_unit_test(test_background_it_cannot_begin),
        cmocka_unit_test(test_background_second_try),
        cmocka_unit_test(test_background_frames_in_order),
        cmocka_unit_test(test_background_a_slow_callback),
        cmocka_unit_test(test_background_a_fork),
        cmocka_unit_test(test_background_a_tracker_of_the_fork),
        cmocka_unit_test(test_background_a_child_among_threads),
        cmocka_unit_test(test_background_the_program_is_one_of_them),
        cmocka_unit_test(test_background_notes),
        cmocka_unit_test(test_background_an_ending),
        cmocka_unit_test(test_background_figures_while_it_finishes),
        cmocka_unit_test(test_background_wait_for_others),
        cmocka_unit_test(test_background_host_a_host_that_closes_everything),
        cmocka_unit_test(test_background_host_a_host_that_drops_its_rights),
        cmocka_unit_test(test_background_host_nobody_can_wake_it),
        cmocka_unit_test(test_background_host_much_data_of_threads),
        cmocka_unit_test(test_background_host_a_file_of_the_same_name),
        cmocka_unit_test(test_background_host_no_descriptors_of_its_own),
        cmocka_unit_test(test_background_host_a_callback_that_ends_it),
        cmocka_unit_test(test_frame_queue_the_oldest_are_dropped),
        cmocka_unit_test(test_frame_queue_none_are_kept),
        cmocka_unit_test(test_frame_queue_a_reader_of_its_own),
        cmocka_unit_test(test_frame_queue_notes_and_endings),
    };
    return RUN("engine/background", tests);
}
