/* SPDX-License-Identifier: MIT */
#include "base/thread.h"
#include "base/clock.h"
#include "base/util.h"
#include "toll.h"
#include "tree.h"
#include "unit.h"

#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

/* ---- worker --------------------------------------------------------------------------------- */

enum { LONG_MS = 20000 }; /* for what comes soon unless the machine is very busy */

static atomic_int disposed;

static sigset_t blocked; /* in the thread */

struct owner {
    struct worker worker;
    bool may_end;
};

static void work(void *arg)
{
    struct owner *o = arg;
    pthread_sigmask(SIG_SETMASK, NULL, &blocked);
    pthread_mutex_lock(&o->worker.lock);
    while (!o->may_end)
        pthread_cond_wait(&o->worker.changed, &o->worker.lock);
    pthread_mutex_unlock(&o->worker.lock);
}

static void dispose(void *arg)
{
    struct owner *o = arg;
    worker_done(&o->worker);
    free(o);
    disposed++;
}

static struct owner *make(void)
{
    struct owner *o = calloc(1, sizeof *o);
    assert_non_null(o);
    worker_init(&o->worker,
                &(struct worker_plan){.name = "worker", .work = work, .dispose = dispose}, o);
    disposed = 0;
    return o;
}

static void let_end(struct owner *o)
{
    pthread_mutex_lock(&o->worker.lock);
    o->may_end = true;
    pthread_cond_broadcast(&o->worker.changed);
    pthread_mutex_unlock(&o->worker.lock);
}

static void test_worker_the_owner_leaves_last(void **state)
{
    struct owner *o = make();
    assert_int_equal(worker_start(&o->worker), 0);
    assert_true(o->worker.id > 0);
    assert_false(worker_wait(&o->worker, wait_until(1)));
    let_end(o);
    assert_true(worker_wait(&o->worker, wait_until(LONG_MS)));
    assert_int_equal(disposed, 0);
    assert_true(sigismember(&blocked, SIGINT) && sigismember(&blocked, SIGSEGV));
    assert_true(worker_leave(&o->worker, wait_until(LONG_MS)));
    assert_int_equal(disposed, 1);
}

/* As one that hangs in a call. */
static void test_worker_the_thread_leaves_last(void **state)
{
    struct owner *o = make();
    assert_int_equal(worker_start(&o->worker), 0);
    assert_false(worker_leave(&o->worker, wait_until(1)));
    assert_int_equal(disposed, 0);
    let_end(o); /* the thread has not, so it is still there */
    for (unsigned i = 0; i < LONG_MS && !disposed; i++)
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    assert_int_equal(disposed, 1);
    assert_true(sigismember(&blocked, SIGINT) && sigismember(&blocked, SIGSEGV));
}

static void test_worker_never_started(void **state)
{
    struct owner *o = make();
    assert_true(worker_wait(&o->worker, wait_until(0)));
    assert_true(worker_leave(&o->worker, wait_until(0)));
    assert_int_equal(disposed, 1);
}

static void *note_mask(void *arg)
{
    pthread_sigmask(SIG_SETMASK, NULL, arg);
    return arg;
}

static void test_worker_signals_are_the_programs(void **state)
{
    pthread_t thread;
    sigset_t mask, before, after;
    sigemptyset(&mask);
    pthread_sigmask(SIG_SETMASK, NULL, &before);
    assert_int_equal(thread_start(&thread, 0, note_mask, &mask), 0);
    pthread_join(thread, NULL);
    pthread_sigmask(SIG_SETMASK, NULL, &after);
    assert_true(sigismember(&mask, SIGTERM) && sigismember(&mask, SIGSEGV));
    assert_int_equal(sigismember(&after, SIGTERM), sigismember(&before, SIGTERM));
}

/* The tracer of a thread that has ended keeps it in the kernel, as a busy machine does, for a
 * moment. 0, or 1 when tracing is not allowed here. */
static int keep_ended_thread(pid_t thread, int go, int ready)
{
    char byte;
    siginfo_t end;
    if (read(go, &byte, 1) != 1)
        return 2;
    bool is_allowed = ptrace(PTRACE_SEIZE, thread, NULL, NULL) == 0;
    if (write(ready, "", 1) != 1 || !is_allowed)
        return 1;
    if (waitid(P_PID, (id_t)thread, &end, WEXITED | WNOWAIT | __WALL) < 0)
        return 2;
    nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL);
    return waitpid(thread, NULL, __WALL) == thread ? 0 : 2;
}

static size_t threads_of_this_program(void)
{
    struct stat tasks;
    assert_int_equal(stat("/proc/self/task", &tasks), 0);
    return tasks.st_nlink - 2;
}

static void test_worker_does_not_count_any_more(void **state)
{
    int go[2], ready[2], status;
    char byte;
    struct owner *o = make();
    size_t before = threads_of_this_program();
    assert_int_equal(worker_start(&o->worker), 0);
    assert_int_equal(threads_of_this_program(), before + 1);
    assert_int_equal(pipe2(go, O_CLOEXEC), 0);
    assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
    pid_t tracer = fork();
    if (tracer == 0)
        _exit(keep_ended_thread(o->worker.id, go[0], ready[1]));
    prctl(PR_SET_PTRACER, tracer, 0, 0, 0); /* where only ancestors may trace */
    assert_int_equal(write(go[1], "", 1), 1);
    assert_int_equal(read(ready[0], &byte, 1), 1);
    let_end(o);
    assert_true(worker_leave(&o->worker, wait_until(LONG_MS)));
    size_t after = threads_of_this_program();
    assert_int_equal(waitpid(tracer, &status, 0), tracer);
    for (unsigned i = 0; i < 2; i++) {
        close(go[i]);
        close(ready[i]);
    }
    if (WIFEXITED(status) && WEXITSTATUS(status) == 1)
        skip();
    assert_int_equal(status, 0);
    assert_int_equal(after, before);
}

/* ---- own files ------------------------------------------------------------------------------ */

struct ends {
    int kept, other;
    pid_t from;
    int result;
    bool kept_is_there, other_is_there, wrote;
    int made;
};

static void *part(void *arg)
{
    struct ends *e = arg;
    e->result = own_files_only(&e->kept, 1, e->from);
    e->kept_is_there = fcntl(e->kept, F_GETFD) >= 0;
    e->other_is_there = fcntl(e->other, F_GETFD) >= 0;
    e->wrote = write(e->kept, "x", 1) == 1;
    e->made = open("/dev/null", O_RDONLY | O_CLOEXEC);
    return NULL;
}

/* The thread keeps what it was told to; neither sees what the other opens and closes. */
static void test_own_files_a_table_of_its_own(void **state)
{
    int ends[2];
    assert_int_equal(pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
    unsigned before = tree_open_fds();
    struct ends e = {.kept = ends[1], .other = ends[0], .from = getpid()};
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, part, &e), 0);
    pthread_join(thread, NULL);
    if (e.result < 0)
        return; /* not allowed here */
    assert_true(e.kept_is_there && e.wrote && !e.other_is_there);
    assert_true(e.made > 2);
    assert_int_equal(tree_open_fds(), before);
    char byte;
    assert_int_equal(read(ends[0], &byte, 1), 1);
    close(ends[0]);
    close(ends[1]);
}

/* What the calls return instead of being made; -1: they are made. Of close_range, only when it is
 * asked to unshare. */
struct answers {
    int close_range, unshare, kcmp;
};

static bool answer_instead(const struct answers *a)
{
    enum { UNSHARE_FLAG = 2, NUMBER = offsetof(struct seccomp_data, nr) };
    const unsigned flags = offsetof(struct seccomp_data, args) + 2 * sizeof(uint64_t);
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, NUMBER),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_unshare, 3, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_kcmp, 3, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_close_range, 3, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (unsigned)a->unshare),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (unsigned)a->kcmp),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, flags),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, UNSHARE_FLAG, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (unsigned)a->close_range),
    };
    if (a->unshare < 0)
        filter[5].k = SECCOMP_RET_ALLOW;
    if (a->kcmp < 0)
        filter[6].k = SECCOMP_RET_ALLOW;
    if (a->close_range < 0)
        filter[10].k = SECCOMP_RET_ALLOW;
    struct sock_fprog program = {.len = ARRAY_LEN(filter), .filter = filter};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

enum { SEPARATE, SHARED, BROKEN, NOT_TRIED };

static int part_with(const struct answers *a)
{
    int ends[2], other = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (!answer_instead(a) || pipe2(ends, O_CLOEXEC | O_NONBLOCK) < 0)
        return NOT_TRIED;
    unsigned before = tree_open_fds();
    struct ends e = {.kept = ends[1], .other = other, .from = getpid()};
    pthread_t thread;
    if (pthread_create(&thread, NULL, part, &e) != 0)
        return NOT_TRIED;
    pthread_join(thread, NULL);
    if (fcntl(other, F_GETFD) < 0)
        return BROKEN; /* the program has lost a descriptor */
    if (e.result == 0)
        return !e.other_is_there && tree_open_fds() == before ? SEPARATE : BROKEN;
    return e.other_is_there && tree_open_fds() == before + 1 ? SHARED : BROKEN; /* with e.made */
}

/* valgrind's close_range returns 0 and shares the table as before. */
static void test_own_files_a_call_that_claims_to_unshare(void **state)
{
    static const struct {
        struct answers answers;
        int expected;
    } cases[] = {
        {{0, EPERM, -1}, SHARED},         {{0, 0, -1}, SHARED},
        {{EPERM, 0, -1}, SHARED},         {{0, -1, -1}, SEPARATE},
        {{0, 0, EPERM}, SHARED},          {{0, EPERM, ENOSYS}, SHARED},
        {{-1, EPERM, EPERM}, SEPARATE},   {{ENOSYS, -1, ENOSYS}, SEPARATE},
        {{ENOSYS, EPERM, EPERM}, SHARED},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        pid_t child = fork();
        if (child == 0)
            _exit(part_with(&cases[i].answers));
        int status;
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFEXITED(status));
        if (WEXITSTATUS(status) != NOT_TRIED)
            assert_int_equal(WEXITSTATUS(status), cases[i].expected);
    }
}

static void test_own_files_a_file_that_is_known(void **state)
{
    int ends[2];
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    struct known_file f;
    known_file_set(&f, ends[1]);
    assert_true(known_file_is_there(&f));
    close(ends[1]);
    assert_false(known_file_is_there(&f));
    int other = open("/dev/null", O_RDONLY | O_CLOEXEC); /* has its number now */
    assert_int_equal(other, ends[1]);
    assert_false(known_file_is_there(&f));
    known_file_close(&f);
    assert_true(fcntl(other, F_GETFD) >= 0); /* is not ours to close */
    known_file_set(&f, other);
    known_file_close(&f);
    assert_true(fcntl(other, F_GETFD) < 0);
    known_file_set(&f, -1);
    assert_false(known_file_is_there(&f));
    known_file_close(&f);
    close(ends[0]);
}

/* ---- wait ----------------------------------------------------------------------------------- */

static void test_wait_the_time_is_over(void **state)
{
    pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_cond_t condition;
    wait_init(&condition);
    assert_true(wait_until(-1) == UINT64_MAX);
    uint64_t until = wait_until(5);
    pthread_mutex_lock(&lock);
    while (wait_for(&condition, &lock, until))
        ;
    assert_true(clock_mono(NULL) >= until);
    assert_false(wait_for(&condition, &lock, wait_until(0)));
    pthread_mutex_unlock(&lock);
    pthread_cond_destroy(&condition);
}

/* ---- probe ---------------------------------------------------------------------------------- */

static const struct toll_options alone = {
    .size = sizeof alone,
    .no_children = true,
    .processes = TOLL_PROCESSES_NONE,
    .memory = TOLL_MEMORY_RSS,
};

static struct toll_frame *snapshot(const struct toll_target *target, const struct toll_options *o)
{
    struct toll_frame *f = NULL;
    struct toll_error e = {0};
    int r = toll_snapshot(&f, target, o, &e);
    assert_string_equal(e.message, "");
    assert_int_equal(r, 0);
    return f;
}

/* By calls and by files: the same figures. What only grows is asked for before and after. */
static void test_probe_the_same_both_ways(void **state)
{
    struct toll_target self = {.size = sizeof self};
    struct toll_options with_pss = alone;
    with_pss.memory = TOLL_MEMORY_PSS;
    struct toll_frame *before = snapshot(&self, &alone);
    struct toll_frame *files = snapshot(&self, &with_pss);
    struct toll_frame *after = snapshot(&self, &alone);
    static const char *const counters[] = {"target_cpu_seconds", "target_faults_minor",
                                           "target_io_read_calls", "target_io_read_bytes"};
    for (size_t i = 0; i < ARRAY_LEN(counters); i++) {
        double least = frame_value(before, counters[i]);
        double told = frame_value(files, counters[i]);
        /* The calls know microseconds. */
        assert_true(told + 1e-6 >= least && told <= frame_value(after, counters[i]) + 1e-6);
    }
    assert_true(frame_value(before, "target_threads") == frame_value(files, "target_threads"));
    assert_true(frame_value(before, "target_memory_rss_bytes") > 0);
    assert_true(frame_value(files, "target_memory_pss_bytes") > 0);
    assert_true(isnan(frame_value(before, "target_memory_pss_bytes")));
    assert_true(isnan(frame_value(before, "target_wall_seconds")));
    toll_frame_free(before);
    toll_frame_free(files);
    toll_frame_free(after);
}

/* Reading it takes longer than a tracker spends on it in one tick: a look reads it all the same. */
static void test_probe_a_large_tree(void **state)
{
    enum { CHILDREN = 40, BYTES = 64 << 20 };
    char *block = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(block != MAP_FAILED);
    madvise(block, BYTES, MADV_NOHUGEPAGE); /* single pages take their time */
    memset(block, 1, BYTES);
    pid_t children[CHILDREN];
    for (unsigned i = 0; i < CHILDREN; i++) {
        children[i] = fork();
        if (children[i] == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL); /* a test that fails leaves nobody behind */
            pause();
            _exit(0);
        }
        assert_true(children[i] > 0);
    }
    struct toll_target self = {.size = sizeof self};
    struct toll_options o = {.size = sizeof o, .memory = TOLL_MEMORY_PSS};
    struct toll_frame *f = snapshot(&self, &o);
    assert_true(frame_value(f, "target_processes") == CHILDREN + 1);
    assert_true(frame_value(f, "target_memory_pss_bytes") >= BYTES);
    toll_frame_free(f);
    for (unsigned i = 0; i < CHILDREN; i++) {
        kill(children[i], SIGKILL);
        waitpid(children[i], NULL, 0);
    }
    munmap(block, BYTES);
}

static void test_probe_a_tree(void **state)
{
    pid_t child = fork();
    if (child == 0) {
        pause();
        _exit(0);
    }
    struct toll_target self = {.size = sizeof self};
    struct toll_options o = {.size = sizeof o};
    struct toll_frame *f = snapshot(&self, &o);
    assert_true(frame_value(f, "target_processes") == 2);
    assert_true(frame_value(f, "descendants_processes") == 1);
    bool met = false;
    for (size_t i = 0; i < f->row_count; i++)
        met |= toll_frame_row(f, i)->pid == child && toll_frame_row(f, i)->parent == getpid();
    assert_true(met);
    toll_frame_free(f);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
}

static void test_probe_the_machine(void **state)
{
    struct toll_frame *f = snapshot(NULL, NULL);
    assert_true(frame_value(f, "system_uptime_seconds") > 0);
    assert_true(frame_value(f, "system_memory_used_bytes") > 0);
    assert_true(isnan(frame_value(f, "target_cpu_seconds")));
    toll_frame_free(f);
}

static void test_probe_again_and_again(void **state)
{
    pid_t child = fork();
    if (child == 0) {
        uint64_t until = clock_mono(NULL) + 60 * NS_PER_SECOND;
        while (clock_mono(NULL) < until)
            ;
        _exit(0);
    }
    struct toll_target target = {.size = sizeof target, .id = child};
    struct toll_probe *p = NULL;
    struct toll_frame *f;
    unsigned fds = tree_open_fds();
    assert_int_equal(toll_probe_new(&p, &target, &alone, NULL), 0);
    double before = -1;
    for (unsigned i = 0; i < 5; i++) {
        assert_int_equal(toll_probe_read(p, &f), 0);
        double cpu = frame_value(f, "target_cpu_seconds");
        assert_true(cpu >= before);
        before = cpu;
        toll_frame_free(f);
    }
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    assert_int_equal(toll_probe_read(p, &f), -ESRCH);
    toll_probe_free(p);
    toll_probe_free(NULL);
    assert_int_equal(tree_open_fds(), fds);
}

static void test_probe_what_is_refused(void **state)
{
    struct toll_frame *f;
    struct toll_error e;
    struct toll_target nobody = {.size = sizeof nobody, .id = 0x7FFFFFFF};
    struct toll_target no_size = {.id = 1};
    struct toll_options odd = {.size = sizeof odd, .metrics = "no_such_*"};
    struct toll_options no_options = {0};
    assert_int_equal(toll_snapshot(&f, &nobody, NULL, &e), -ESRCH);
    assert_non_null(strstr(e.message, "no process"));
    assert_int_equal(toll_snapshot(&f, &no_size, NULL, &e), -EINVAL);
    assert_int_equal(toll_snapshot(&f, NULL, &odd, &e), -EINVAL);
    assert_non_null(strstr(e.message, "no_such_"));
    assert_int_equal(toll_snapshot(&f, NULL, &no_options, &e), -EINVAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_worker_the_owner_leaves_last),
        cmocka_unit_test(test_worker_the_thread_leaves_last),
        cmocka_unit_test(test_worker_never_started),
        cmocka_unit_test(test_worker_signals_are_the_programs),
        cmocka_unit_test(test_worker_does_not_count_any_more),
        cmocka_unit_test(test_own_files_a_table_of_its_own),
        cmocka_unit_test(test_own_files_a_call_that_claims_to_unshare),
        cmocka_unit_test(test_own_files_a_file_that_is_known),
        cmocka_unit_test(test_wait_the_time_is_over),
        cmocka_unit_test(test_probe_the_same_both_ways),
        cmocka_unit_test(test_probe_a_tree),
        cmocka_unit_test(test_probe_a_large_tree),
        cmocka_unit_test(test_probe_the_machine),
        cmocka_unit_test(test_probe_again_and_again),
        cmocka_unit_test(test_probe_what_is_refused),
    };
    return RUN("base/thread", tests);
}
