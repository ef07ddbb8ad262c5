/* SPDX-License-Identifier: MIT */
#include "source/bpf/task_ends.h"

#include "cgroup2_place.h"

#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>

enum { CHILDREN = 20, THREADS = 10, RECORDS_AT_MOST = 200, PEAK_MIB = 64 };

struct taken {
    struct task_end records[RECORDS_AT_MOST];
    size_t count;
};

static void take(void *arg, const struct task_end *e)
{
    struct taken *t = arg;
    if (t->count < RECORDS_AT_MOST)
        t->records[t->count++] = *e;
}

static void open_or_skip(struct task_ends **t, struct cgroup2 *place)
{
    cgroup2_make(place);
    int r = task_ends_open(t, place->directory);
    if (r < 0) {
        cgroup2_remove(place);
        print_message("needs CAP_BPF and CAP_PERFMON, and a kernel with BTF: %s\n", strerror(-r));
        skip();
    }
}

/* A parent returns from wait when the child is a zombie, a moment before its last switch. */
static void read_until(struct task_ends *t, uint64_t tasks, struct taken *taken)
{
    for (int i = 0; i < 2000 && task_ends_totals(t).tasks < tasks; i++)
        usleep(1000);
    task_ends_read(t, take, taken);
}

static uint64_t cgroup2_cpu_us(const struct cgroup2 *place)
{
    char text[2000] = "";
    int fd = openat(place->directory, "cpu.stat", O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0 && read(fd, text, sizeof text - 1) > 0);
    close(fd);
    const char *at = strstr(text, "usage_usec ");
    assert_non_null(at);
    return strtoull(at + strlen("usage_usec "), NULL, 10);
}

static void burn(unsigned rounds)
{
    for (volatile unsigned i = 0; i < rounds; i++)
        ;
}

/* Children that no process waits for. */
static int leave_children(void)
{
    signal(SIGCHLD, SIG_IGN);
    for (int i = 0; i < CHILDREN; i++) {
        pid_t child = fork();
        if (child == 0) {
            burn(300000);
            _exit(7);
        }
        if (child < 0)
            return 1;
    }
    while (waitpid(-1, NULL, 0) > 0)
        ;
    return 3;
}

static void test_children_that_are_not_waited_for(void **state)
{
    (void)state;
    struct task_ends *t;
    struct cgroup2 place;
    static struct taken taken;
    taken.count = 0;
    open_or_skip(&t, &place);
    assert_int_equal(cgroup2_run(&place, leave_children), 3);
    read_until(t, CHILDREN + 1, &taken);
    struct task_totals totals = task_ends_totals(t);
    assert_int_equal(totals.tasks, CHILDREN + 1);
    assert_int_equal(totals.lost, 0);
    uint64_t cpu_ns = 0, threads = 0, processes = 0, sevens = 0;
    for (size_t i = 0; i < taken.count; i++) {
        const struct task_end *e = &taken.records[i];
        threads += e->kind == TASK_END_THREAD;
        processes += e->kind == TASK_END_PROCESS;
        cpu_ns += e->cpu_ns;
        sevens += e->kind == TASK_END_THREAD && WIFEXITED(task_end_status(e)) &&
                  WEXITSTATUS(task_end_status(e)) == 7;
        assert_true(e->pid > 0 && e->pid == e->thread && e->parent > 0);
        assert_true(e->start_ns && e->end_ns && e->name[0]);
    }
    assert_int_equal(threads, CHILDREN + 1);
    assert_int_equal(sevens, CHILDREN);
    assert_int_equal(cpu_ns, totals.cpu_ns);
    if (task_ends_has_processes(t)) {
        assert_int_equal(processes, CHILDREN + 1);
        assert_int_equal(totals.processes, CHILDREN + 1);
    }
    /* The child was moved in after its birth: what it used before is in its record, not in the
     * cgroup; that is some hundred microseconds of fork. The rest is the same to the microsecond. */
    assert_true(totals.cpu_ns / 1000 + CHILDREN + 2 >= cgroup2_cpu_us(&place));
    assert_true(totals.cpu_ns / 1000 <= cgroup2_cpu_us(&place) + 50000);
    task_ends_close(t);
    cgroup2_remove(&place);
}

static void *thread_of_job(void *arg)
{
    burn(100000);
    return arg;
}

static int run_threads(void)
{
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], NULL, thread_of_job, NULL) != 0)
            return 1;
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    size_t bytes = (size_t)PEAK_MIB << 20;
    char *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return 2;
    memset(memory, 1, bytes);
    munmap(memory, bytes);
    raise(SIGTERM);
    return 0;
}

static void test_threads_are_one_process(void **state)
{
    (void)state;
    struct task_ends *t;
    struct cgroup2 place;
    static struct taken taken;
    taken.count = 0;
    open_or_skip(&t, &place);
    signal(SIGTERM, SIG_DFL);
    assert_int_equal(cgroup2_run(&place, run_threads), -1);
    read_until(t, THREADS + 1, &taken);
    assert_int_equal(task_ends_totals(t).tasks, THREADS + 1);
    for (size_t i = 0; i < taken.count; i++) {
        const struct task_end *e = &taken.records[i];
        assert_int_equal(e->signals, taken.records[0].signals);
        assert_int_equal(e->pid, taken.records[0].pid);
        if (e->kind == TASK_END_THREAD && e->thread == e->pid)
            assert_int_equal(WTERMSIG(task_end_status(e)), SIGTERM);
        if (e->kind == TASK_END_PROCESS) {
            uint64_t mib = e->peak_pages * (uint64_t)sysconf(_SC_PAGESIZE) >> 20;
            assert_in_range(mib, PEAK_MIB, PEAK_MIB + 100); /* and the test program itself */
            assert_int_equal(WTERMSIG(task_end_status(e)), SIGTERM);
            assert_non_null(strstr(e->arguments, "task_ends")); /* this program */
        }
    }
    if (task_ends_has_processes(t))
        assert_int_equal(task_ends_totals(t).processes, 1);
    task_ends_close(t);
    cgroup2_remove(&place);
}

static int nothing(void)
{
    return 0;
}

static void test_others_are_not_recorded(void **state)
{
    (void)state;
    struct task_ends *t;
    struct cgroup2 place;
    static struct taken taken;
    taken.count = 0;
    open_or_skip(&t, &place);
    pid_t child = fork();
    if (child == 0)
        _exit(0);
    waitpid(child, NULL, 0);
    assert_int_equal(cgroup2_run(&place, nothing), 0);
    read_until(t, 1, &taken);
    assert_int_equal(task_ends_totals(t).tasks, 1);
    for (size_t i = 0; i < taken.count; i++)
        assert_int_not_equal(taken.records[i].pid, child);
    task_ends_close(t);
    cgroup2_remove(&place);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_children_that_are_not_waited_for),
        cmocka_unit_test(test_threads_are_one_process),
        cmocka_unit_test(test_others_are_not_recorded),
    };
    return RUN("task_ends", tests);
}
