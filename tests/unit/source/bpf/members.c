/* SPDX-License-Identifier: MIT */
#include "source/bpf/members.h"

#include "base/clock.h"
#include "cgroup2_place.h"

#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { CHILDREN = 30, THREADS = 5, MIB = 1 << 20 };

static struct bpf_members *open_or_skip(struct cgroup2 *place)
{
    struct bpf_members *m = NULL;
    cgroup2_make(place);
    int r = bpf_members_open(&m, place->directory);
    if (r < 0) {
        cgroup2_remove(place);
        print_message("needs CAP_BPF and CAP_PERFMON, Linux 6.7, and BTF: %s\n", strerror(-r));
        skip();
    }
    return m;
}

static size_t read_all(struct bpf_members *m, const struct member_task **ret)
{
    ssize_t count = bpf_members_read(m, ret);
    assert_true(count >= 0);
    return (size_t)count;
}

static const struct member_task *find(const struct member_task *tasks, size_t count, pid_t thread)
{
    for (size_t i = 0; i < count; i++)
        if (tasks[i].thread == thread)
            return &tasks[i];
    return NULL;
}

static int ready[2], leave[2];

/* The child has done what it does, and waits; it must not end by itself. */
static _Noreturn void wait_for_the_end(void)
{
    char c;
    assert_int_equal(write(ready[1], "r", 1), 1);
    if (read(leave[0], &c, 1) < 0)
        _exit(1);
    _exit(0);
}

static pid_t start_in(const char *directory, void (*work)(void))
{
    char path[400];
    snprintf(path, sizeof path, "%s/cgroup.procs", directory);
    pid_t child = fork();
    if (child == 0) {
        close(leave[1]);
        int procs = open(path, O_WRONLY | O_CLOEXEC);
        if (procs < 0 || write(procs, "0", 1) != 1)
            _exit(100);
        if (work)
            work();
        wait_for_the_end();
    }
    char c;
    assert_true(child > 0);
    assert_int_equal(read(ready[0], &c, 1), 1);
    return child;
}

static void wait_until_asleep(pid_t pid)
{
    char path[64], text[400] = "";
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    for (int i = 0; i < 5000 && !strstr(text, ") S "); i++) {
        int fd = open(path, O_RDONLY | O_CLOEXEC);
        ssize_t n = read(fd, text, sizeof text - 1);
        text[n > 0 ? n : 0] = '\0';
        close(fd);
        usleep(200);
    }
}

static void end_all(const pid_t *pids, size_t count)
{
    close(leave[1]);
    for (size_t i = 0; i < count; i++)
        waitpid(pids[i], NULL, 0);
    close(leave[0]);
    close(ready[0]);
    close(ready[1]);
}

static void begin(void)
{
    assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
    assert_int_equal(pipe2(leave, O_CLOEXEC), 0);
}

/* Members of cgroups below are there too, and nothing else; the CPU time of one that sleeps is that
 * of its CPU clock. */
static void test_members_of_all_levels(void **state)
{
    (void)state;
    struct cgroup2 place;
    struct bpf_members *m = open_or_skip(&place);
    const struct member_task *tasks;
    char below[320], deeper[340];
    pid_t children[CHILDREN];
    begin();
    snprintf(below, sizeof below, "%s/below", place.path);
    snprintf(deeper, sizeof deeper, "%s/deeper", below);
    assert_int_equal(mkdir(below, 0755), 0);
    assert_int_equal(mkdir(deeper, 0755), 0);
    assert_int_equal(read_all(m, &tasks), 0);
    for (int i = 0; i < CHILDREN; i++)
        children[i] = start_in(i % 3 == 0 ? place.path : i % 3 == 1 ? below : deeper, NULL);
    for (int i = 0; i < CHILDREN; i++)
        wait_until_asleep(children[i]);
    size_t count = read_all(m, &tasks);
    assert_int_equal(count, CHILDREN);
    for (int i = 0; i < CHILDREN; i++) {
        const struct member_task *t = find(tasks, count, children[i]);
        uint64_t clock_ns;
        assert_non_null(t);
        assert_int_equal(t->pid, children[i]);
        assert_int_equal(clock_process_cpu(children[i], &clock_ns), 0);
        assert_int_equal(t->cpu_ns, clock_ns);
        assert_int_equal(t->is_on_cpu, 0);
        assert_true(t->rss_pages > 0);
    }
    end_all(children, CHILDREN);
    assert_int_equal(read_all(m, &tasks), 0);
    rmdir(deeper);
    rmdir(below);
    bpf_members_close(m);
    cgroup2_remove(&place);
}

static pthread_barrier_t all_there;

static void *thread_that_stays(void *arg)
{
    (void)arg;
    for (volatile int i = 0; i < 1000000; i++)
        ;
    pthread_barrier_wait(&all_there);
    pause();
    return NULL;
}

static void *thread_that_ends(void *arg)
{
    for (volatile int i = 0; i < 3000000; i++)
        ;
    return arg;
}

static void make_threads(void)
{
    pthread_t id;
    pthread_barrier_init(&all_there, NULL, THREADS + 1);
    if (pthread_create(&id, NULL, thread_that_ends, NULL) != 0 || pthread_join(id, NULL) != 0)
        _exit(1);
    for (int i = 0; i < THREADS; i++)
        if (pthread_create(&id, NULL, thread_that_stays, NULL) != 0)
            _exit(1);
    pthread_barrier_wait(&all_there);
    char *memory = mmap(NULL, 20 * MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memset(memory, 1, 20 * MIB);
    usleep(20000); /* until all threads sleep */
}

/* The threads of a process, with those that have ended, are its CPU clock. */
static void test_threads_add_up(void **state)
{
    (void)state;
    struct cgroup2 place;
    struct bpf_members *m = open_or_skip(&place);
    const struct member_task *tasks;
    begin();
    pid_t child = start_in(place.path, make_threads);
    wait_until_asleep(child);
    size_t count = read_all(m, &tasks);
    assert_int_equal(count, 1 + THREADS);
    uint64_t sum_ns = 0, clock_ns;
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(tasks[i].pid, child);
        sum_ns += tasks[i].cpu_ns + tasks[i].ended_ns;
    }
    const struct member_task *main_thread = find(tasks, count, child);
    assert_non_null(main_thread);
    assert_true(main_thread->ended_ns > 0);
    /* Counted in batches, so some dozen pages for each CPU may be missing. */
    assert_true(main_thread->rss_pages * (uint64_t)sysconf(_SC_PAGESIZE) > 10 * MIB);
    assert_int_equal(clock_process_cpu(child, &clock_ns), 0);
    assert_int_equal(sum_ns, clock_ns);
    end_all(&child, 1);
    bpf_members_close(m);
    cgroup2_remove(&place);
}

static void burn_on(void)
{
    pid_t child = fork();
    if (child == 0)
        for (;;)
            ;
}

/* One that runs is marked, or its time has grown: it is never taken for one that sleeps. */
static void test_one_that_runs(void **state)
{
    (void)state;
    struct cgroup2 place;
    struct bpf_members *m = open_or_skip(&place);
    const struct member_task *tasks;
    begin();
    pid_t child = start_in(place.path, burn_on), burner = 0;
    wait_until_asleep(child);
    uint64_t before_ns = 0, clock_before_ns = 0;
    for (int i = 0; i < 50; i++) {
        uint64_t clock_ns;
        size_t count = read_all(m, &tasks);
        assert_int_equal(count, 2);
        const struct member_task *t = &tasks[tasks[0].pid == child];
        burner = t->pid;
        assert_int_equal(clock_process_cpu(burner, &clock_ns), 0);
        assert_true(t->cpu_ns <= clock_ns);
        /* What had run until the last reading is in the sum, unless it is on a CPU still. */
        if (!t->is_on_cpu)
            assert_true(t->cpu_ns >= clock_before_ns && t->cpu_ns >= before_ns);
        before_ns = t->cpu_ns;
        clock_before_ns = clock_ns;
        usleep(1000);
    }
    kill(burner, SIGKILL);
    end_all(&child, 1);
    bpf_members_close(m);
    usleep(10000); /* the burner is reaped by init */
    for (int i = 0; i < 500 && rmdir(place.path) < 0; i++)
        usleep(2000);
    close(place.directory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_members_of_all_levels),
        cmocka_unit_test(test_threads_add_up),
        cmocka_unit_test(test_one_that_runs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
