/* SPDX-License-Identifier: MIT */
#include "source/bpf/task_ends.h"

#include "cgroup2_place.h"

#include <linux/io_uring.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>

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
    int r = task_ends_open(t, place->directory, true);
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
    assert_int_equal(totals.born, CHILDREN);
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
        assert_int_equal(e->threads, e->kind == TASK_END_THREAD);
        assert_false(task_end_has_executed(e));
    }
    assert_int_equal(threads, CHILDREN + 1);
    assert_int_equal(sevens, CHILDREN);
    assert_int_equal(cpu_ns, totals.cpu_ns);
    if (task_ends_has_processes(t)) {
        assert_int_equal(processes, CHILDREN + 1);
        assert_int_equal(totals.processes, CHILDREN + 1);
    }
    /* The child was moved in after its birth: what it used before is in its record, not in the
     * cgroup; that is some hundred microseconds of fork. The rest is the same to the microsecond.
     */
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
    unsigned with_threads = 0;
    uint64_t start_ns = 0;
    for (size_t i = 0; i < taken.count; i++) {
        const struct task_end *e = &taken.records[i];
        with_threads += e->threads != 0;
        assert_true(e->threads == 0 || e->threads == THREADS + 1);
        if (e->kind == TASK_END_PROCESS || e->thread == e->pid) {
            assert_true(!start_ns || e->start_ns == start_ns);
            start_ns = e->start_ns;
        }
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
    assert_int_equal(with_threads, 1);
    assert_int_equal(task_ends_totals(t).born, THREADS);
    if (task_ends_has_processes(t))
        assert_int_equal(task_ends_totals(t).processes, 1);
    task_ends_close(t);
    cgroup2_remove(&place);
}

static void *exec_of_thread(void *arg)
{
    burn(3000000);
    execl("/bin/true", "true", (char *)NULL);
    return arg;
}

static int run_exec_in_thread(void)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, exec_of_thread, NULL) == 0)
        pthread_join(thread, NULL);
    return 1;
}

/* The thread takes over the pid of the process, while the first thread dies under it. */
static void test_exec_in_a_thread(void **state)
{
    (void)state;
    struct task_ends *t;
    struct cgroup2 place;
    static struct taken taken;
    taken.count = 0;
    open_or_skip(&t, &place);
    assert_int_equal(cgroup2_run(&place, run_exec_in_thread), 0);
    read_until(t, 2, &taken);
    assert_int_equal(task_ends_totals(t).tasks, 2);
    unsigned threads = 0, first = 0, last = 0;
    uint64_t cpu_ns = 0;
    for (size_t i = 0; i < taken.count; i++) {
        const struct task_end *e = &taken.records[i];
        assert_int_equal(e->signals, taken.records[0].signals);
        assert_int_equal(e->pid, taken.records[0].pid);
        threads += e->kind == TASK_END_THREAD;
        first += e->kind == TASK_END_THREAD && e->thread == e->pid;
        last += e->threads == 2;
        cpu_ns += e->cpu_ns;
        if (e->kind == TASK_END_PROCESS) {
            assert_string_equal(e->name, "true");
            assert_true(task_end_has_executed(e));
        }
    }
    assert_int_equal(threads, 2);
    assert_in_range(first, 1, 2); /* the first thread may have gone under its old number */
    assert_int_equal(last, 1);
    assert_int_equal(cpu_ns, task_ends_totals(t).cpu_ns);
    task_ends_close(t);
    cgroup2_remove(&place);
}

/* A ring whose entries a thread of the kernel takes, which the process gets without a call of fork.
 */
static int use_ring_with_thread(void)
{
    struct io_uring_params params = {.flags = IORING_SETUP_SQPOLL, .sq_thread_idle = 10};
    int ring = (int)syscall(SYS_io_uring_setup, 1, &params);
    burn(3000000);
    return ring < 0 ? 77 : 0;
}

/* It is a thread of the process like others: that it ends first, last or at the same time must not
 * make the figures of the process incomplete. */
static void test_thread_that_the_kernel_makes(void **state)
{
    (void)state;
    struct task_ends *t;
    struct cgroup2 place;
    static struct taken taken;
    open_or_skip(&t, &place);
    for (uint64_t run = 1; run <= 10; run++) {
        taken.count = 0;
        int status = cgroup2_run(&place, use_ring_with_thread);
        if (status == 77) {
            task_ends_close(t);
            cgroup2_remove(&place);
            print_message("io_uring is not available\n");
            skip();
        }
        assert_int_equal(status, 0);
        read_until(t, 2 * run, &taken);
        assert_int_equal(task_ends_totals(t).tasks, 2 * run);
        assert_int_equal(task_ends_totals(t).born, run);
        unsigned last = 0;
        for (size_t i = 0; i < taken.count; i++) {
            assert_true(taken.records[i].threads == 0 || taken.records[i].threads == 2);
            last += taken.records[i].threads == 2;
        }
        assert_int_equal(last, 1);
    }
    task_ends_close(t);
    cgroup2_remove(&place);
}

enum { TCP_BYTES = 3000000, DATAGRAMS = 50, DATAGRAM_BYTES = 400, LOCAL_BYTES = 5000 };

static void *send_all(void *arg)
{
    static char bytes[TCP_BYTES];
    int fd = *(int *)arg;
    for (ssize_t n, sent = 0; sent < TCP_BYTES; sent += n)
        if ((n = send(fd, bytes, (size_t)(TCP_BYTES - sent), 0)) <= 0)
            break;
    shutdown(fd, SHUT_WR);
    return NULL;
}

static int listen_on_loopback(int type, struct sockaddr_in *ret)
{
    *ret = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof *ret;
    int fd = socket(AF_INET, type, 0);
    if (bind(fd, (struct sockaddr *)ret, length) < 0 ||
        getsockname(fd, (struct sockaddr *)ret, &length) < 0)
        return -1;
    if (type == SOCK_STREAM && listen(fd, 1) < 0)
        return -1;
    return fd;
}

/* Both ends of each connection are in this process: it sends and receives all of it. One byte is
 * looked at first. A pair of local sockets is not the network. It ends when the input does. */
static int use_sockets(void)
{
    struct sockaddr_in tcp, udp;
    pthread_t thread;
    char bytes[65536];
    int pair[2], listener = listen_on_loopback(SOCK_STREAM, &tcp);
    int receiver = listen_on_loopback(SOCK_DGRAM, &udp);
    int sender = socket(AF_INET, SOCK_STREAM, 0), datagrams = socket(AF_INET, SOCK_DGRAM, 0);
    if (listener < 0 || receiver < 0 || connect(sender, (struct sockaddr *)&tcp, sizeof tcp) < 0)
        return 1;
    int accepted = accept(listener, NULL, NULL);
    pthread_create(&thread, NULL, send_all, &sender);
    recv(accepted, bytes, 1, MSG_PEEK);
    while (recv(accepted, bytes, sizeof bytes, 0) > 0)
        ;
    pthread_join(thread, NULL);
    memset(bytes, 0, sizeof bytes);
    for (int i = 0; i < DATAGRAMS; i++)
        if (sendto(datagrams, bytes, DATAGRAM_BYTES, 0, (struct sockaddr *)&udp, sizeof udp) < 0 ||
            recv(receiver, bytes, sizeof bytes, 0) != DATAGRAM_BYTES)
            return 2;
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) < 0 ||
        send(pair[0], bytes, LOCAL_BYTES, 0) != LOCAL_BYTES ||
        recv(pair[1], bytes, LOCAL_BYTES, 0) != LOCAL_BYTES)
        return 3;
    return 0;
}

static void test_bytes_of_sockets(void **state)
{
    (void)state;
    struct task_ends *t;
    struct cgroup2 place;
    static struct taken taken;
    enum { ALL = TCP_BYTES + DATAGRAMS * DATAGRAM_BYTES };
    taken.count = 0;
    open_or_skip(&t, &place);
    if (!task_ends_has_traffic(t)) {
        task_ends_close(t);
        cgroup2_remove(&place);
        print_message("needs the tracepoints of sockets, Linux 6.3\n");
        skip();
    }
    assert_int_equal(cgroup2_run(&place, use_sockets), 0);
    read_until(t, 2, &taken);
    struct task_totals totals = task_ends_totals(t);
    assert_int_equal(totals.sent_bytes, ALL);
    assert_int_equal(totals.received_bytes, ALL);
    assert_int_equal(totals.uncounted, 0);
    uint64_t sent = 0, received = 0;
    for (size_t i = 0; i < taken.count; i++) {
        const struct task_end *e = &taken.records[i];
        sent += e->sent_bytes;
        received += e->received_bytes;
        assert_true(!e->sent_bytes || e->threads == 2);
    }
    assert_int_equal(sent, ALL);
    assert_int_equal(received, ALL);
    const struct process_traffic *live;
    assert_int_equal(task_ends_read_traffic(t, &live), 0);
    task_ends_close(t);
    cgroup2_remove(&place);
}

static int ready[2], hold[2];

static int use_sockets_and_wait(void)
{
    int r = use_sockets();
    char byte;
    if (write(ready[1], "", 1) != 1 || read(hold[0], &byte, 1) != 1)
        return 4;
    return r;
}

struct asked {
    struct task_ends *t;
    struct process_traffic found;
};

static void *read_live_traffic(void *arg)
{
    struct asked *a = arg;
    const struct process_traffic *live = NULL;
    char byte;
    if (read(ready[0], &byte, 1) == 1 && task_ends_read_traffic(a->t, &live) == 1)
        a->found = live[0];
    if (write(hold[1], "", 1) != 1)
        a->found.pid = 0;
    return NULL;
}

static void test_bytes_of_a_living_process(void **state)
{
    (void)state;
    struct task_ends *t;
    struct cgroup2 place;
    pthread_t thread;
    open_or_skip(&t, &place);
    struct asked u = {.t = t};
    assert_int_equal(pipe(ready) | pipe(hold), 0);
    assert_int_equal(pthread_create(&thread, NULL, read_live_traffic, &u), 0);
    assert_int_equal(cgroup2_run(&place, use_sockets_and_wait), 0);
    pthread_join(thread, NULL);
    if (task_ends_has_traffic(t)) {
        assert_int_equal(u.found.sent_bytes, TCP_BYTES + DATAGRAMS * DATAGRAM_BYTES);
        assert_int_equal(u.found.received_bytes, u.found.sent_bytes);
        assert_true(u.found.pid > 0);
    }
    task_ends_close(t);
    cgroup2_remove(&place);
}

enum { STORM = 9000 }; /* more than the ring has room for */

static int run_storm(void)
{
    for (int i = 0; i < STORM; i++) {
        pid_t child = vfork();
        if (child == 0)
            _exit(0);
        if (child < 0 || waitpid(child, NULL, 0) < 0)
            return 1;
    }
    return 0;
}

struct reader {
    struct task_ends *t;
    uint64_t records, wakeups;
};

static void count_record(void *arg, const struct task_end *e)
{
    struct reader *r = arg;
    r->records += e->kind == TASK_END_THREAD || e->kind == TASK_END_PROCESS;
}

/* Reads whenever the ring asks for it, until the end of the storm. */
static void *read_when_asked(void *arg)
{
    struct reader *r = arg;
    struct epoll_event event = {.events = EPOLLIN | EPOLLET};
    int events = epoll_create1(EPOLL_CLOEXEC);
    epoll_ctl(events, EPOLL_CTL_ADD, task_ends_fd(r->t), &event);
    while (task_ends_totals(r->t).tasks < STORM + 1 && epoll_wait(events, &event, 1, 2000) == 1) {
        task_ends_read(r->t, count_record, r);
        r->wakeups++;
    }
    close(events);
    return NULL;
}

static void test_a_reader_is_woken(void **state)
{
    (void)state;
    struct reader r = {0};
    struct cgroup2 place;
    pthread_t thread;
    open_or_skip(&r.t, &place);
    assert_int_equal(pthread_create(&thread, NULL, read_when_asked, &r), 0);
    assert_int_equal(cgroup2_run(&place, run_storm), 0);
    pthread_join(thread, NULL);
    for (int i = 0; i < 2000 && task_ends_totals(r.t).tasks < STORM + 1; i++)
        usleep(1000);
    task_ends_read(r.t, count_record, &r);
    struct task_totals totals = task_ends_totals(r.t);
    assert_true(r.wakeups > 0);
    assert_int_equal(r.records + totals.lost, totals.tasks + totals.processes);
    task_ends_close(r.t);
    cgroup2_remove(&place);
}

static void test_totals_without_records(void **state)
{
    (void)state;
    struct task_ends *t;
    struct cgroup2 place;
    static struct taken taken;
    taken.count = 0;
    open_or_skip(&t, &place);
    assert_int_equal(cgroup2_run(&place, run_storm), 0);
    read_until(t, STORM + 1, &taken);
    struct task_totals totals = task_ends_totals(t);
    assert_int_equal(totals.tasks, STORM + 1);
    assert_int_equal(totals.born, STORM);
    assert_true(totals.lost > 0);
    assert_true(totals.cpu_ns / 1000 + 2 >= cgroup2_cpu_us(&place));
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
        cmocka_unit_test(test_exec_in_a_thread),
        cmocka_unit_test(test_thread_that_the_kernel_makes),
        cmocka_unit_test(test_bytes_of_sockets),
        cmocka_unit_test(test_bytes_of_a_living_process),
        cmocka_unit_test(test_totals_without_records),
        cmocka_unit_test(test_a_reader_is_woken),
        cmocka_unit_test(test_others_are_not_recorded),
    };
    return RUN("task_ends", tests);
}
