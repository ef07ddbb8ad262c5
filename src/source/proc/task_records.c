/* SPDX-License-Identifier: MIT */
#include "source/proc/task_records.h"

#include "base/clock.h"
#include "base/memory.h"

#include <linux/cn_proc.h>
#include <linux/connector.h>
#include <linux/netlink.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>

/* ==== Rings of perf_event_open ================================================================ */

/* The first fits into what an ordinary user may lock by default (516 KiB for each CPU), twice. */
enum { MOST_PAGES = 64, LEAST_PAGES = 8, CPUS_AT_MOST = 1024 };

enum { EXITS_AT_MOST = 1 << 16, LARGEST_RECORD = 4096 + 256 };

/* A record is written within microseconds after its time was taken, without being interrupted. Two
 * rings are in order up to that long ago. */
#define SETTLED_AFTER_NS (20 * NS_PER_MS)

enum exec_state { EXEC_CALLED = 1, EXEC_MAPPED };

struct task_ring {
    int fd;
    struct perf_event_mmap_page *head; /* followed by the records */
    size_t bytes;                      /* of the records: a power of two */
    uint64_t end;                      /* of what was written when last asked */
    uint64_t at;                       /* the next record */
};

static size_t task_ring_page_bytes(void)
{
    return (size_t)sysconf(_SC_PAGESIZE);
}

static int task_ring_map(struct task_ring *ring)
{
    for (size_t pages = MOST_PAGES; pages >= LEAST_PAGES; pages /= 2) {
        size_t bytes = (1 + pages) * task_ring_page_bytes();
        void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, ring->fd, 0);
        if (at != MAP_FAILED) {
            ring->head = at;
            ring->bytes = pages * task_ring_page_bytes();
            return 0;
        }
        if (errno != EPERM && errno != ENOMEM)
            return -errno;
    }
    return -ENOMEM;
}

static int task_ring_open(struct task_ring *ring, pid_t pid, int cpu)
{
    struct perf_event_attr attr = {
        .size = sizeof attr,
        .type = PERF_TYPE_SOFTWARE,
        .config = PERF_COUNT_SW_DUMMY,
        .sample_type = PERF_SAMPLE_TIME,
        .sample_id_all = 1,
        .disabled = 1,
        .enable_on_exec = 1,
        .inherit = 1,
        .task = 1,
        .comm = 1,
        .comm_exec = 1,
        .mmap = 1,
        .exclude_kernel = 1,
        .exclude_hv = 1,
        .use_clockid = 1,
        .clockid = CLOCK_MONOTONIC,
    };
    ring->fd = (int)syscall(SYS_perf_event_open, &attr, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC);
    return ring->fd < 0 ? -errno : task_ring_map(ring);
}

static void task_rings_close(struct task_records *r)
{
    for (size_t i = 0; i < r->ring_count; i++) {
        if (r->rings[i].head)
            munmap(r->rings[i].head, task_ring_page_bytes() + r->rings[i].bytes);
        close_p(&r->rings[i].fd);
    }
    free(r->rings);
    r->rings = NULL;
    r->ring_count = 0;
}

static int task_rings_open(struct task_records *r, pid_t pid)
{
    long cpus = sysconf(_SC_NPROCESSORS_CONF);
    if (cpus < 1 || cpus > CPUS_AT_MOST)
        return -EOPNOTSUPP;
    r->rings = calloc((size_t)cpus, sizeof *r->rings);
    if (!r->rings)
        return -ENOMEM;
    for (int cpu = 0; cpu < cpus; cpu++) {
        struct task_ring *ring = &r->rings[r->ring_count++];
        int e = task_ring_open(ring, pid, cpu);
        if (e == -ENODEV) { /* a CPU that is off */
            r->ring_count--;
            continue;
        }
        if (e < 0) {
            task_rings_close(r);
            return e;
        }
    }
    return r->ring_count ? 0 : -EOPNOTSUPP;
}

/* ---- Reading --------------------------------------------------------------------------------- */

/* Records may be broken at the end of the ring. */
static void task_ring_copy(const struct task_ring *ring, uint64_t at, void *to, size_t length)
{
    const char *records = (const char *)ring->head + task_ring_page_bytes();
    size_t offset = at & (ring->bytes - 1), first = min_u64(length, ring->bytes - offset);
    memcpy(to, records + offset, first);
    memcpy((char *)to + first, records, length - first);
}

/* Its header, and its time, which is at the end of every record. False: the ring is empty. */
static bool task_ring_peek(const struct task_ring *ring, struct perf_event_header *ret,
                           uint64_t *ret_at_ns)
{
    if (ring->end - ring->at < sizeof *ret)
        return false;
    task_ring_copy(ring, ring->at, ret, sizeof *ret);
    if (ret->size < sizeof *ret + sizeof *ret_at_ns || ret->size > ring->end - ring->at)
        return false;
    task_ring_copy(ring, ring->at + ret->size - sizeof *ret_at_ns, ret_at_ns, sizeof *ret_at_ns);
    return true;
}

static void task_records_add_exit(struct task_records *r, const struct task_exit *e)
{
    map_remove(&r->execs, (uint32_t)e->pid);
    if (r->exit_count < EXITS_AT_MOST &&
        ARRAY_RESERVE(r->exits, r->exit_capacity, r->exit_count + 1))
        r->exits[r->exit_count++] = *e;
}

static void task_ring_take_exit(struct task_records *r, pid_t pid, pid_t parent, uint64_t at_ns)
{
    uint32_t state = 0;
    map_get(&r->execs, (uint32_t)pid, &state);
    if (state == EXEC_CALLED)
        r->is_incomplete = true; /* it goes on, as another user, and is not recorded any more */
    const struct task_exit e = {pid, parent, at_ns, state == EXEC_MAPPED};
    task_records_add_exit(r, &e);
}

static void task_ring_take(struct task_records *r, const struct task_ring *ring,
                           const struct perf_event_header *header, uint64_t at_ns)
{
    struct {
        uint32_t pid, parent, thread, parent_thread; /* COMM, MMAP: pid, thread */
    } task;
    if (header->type == PERF_RECORD_LOST)
        r->is_incomplete = true;
    if (header->size < sizeof *header + sizeof task)
        return;
    task_ring_copy(ring, ring->at + sizeof *header, &task, sizeof task);
    switch (header->type) {
    case PERF_RECORD_FORK: r->started += task.pid != task.parent; break;
    case PERF_RECORD_EXIT:
        if (task.pid == task.thread)
            task_ring_take_exit(r, (pid_t)task.pid, (pid_t)task.parent, at_ns);
        break;
    case PERF_RECORD_COMM:
        if ((header->misc & PERF_RECORD_MISC_COMM_EXEC) &&
            map_put(&r->execs, task.pid, EXEC_CALLED) < 0)
            r->is_incomplete = true;
        break;
    case PERF_RECORD_MMAP:
        if (map_get(&r->execs, task.pid, &(uint32_t){0}))
            map_put(&r->execs, task.pid, EXEC_MAPPED);
        break;
    default: break;
    }
}

static void task_rings_read(struct task_records *r, bool all)
{
    uint64_t until_ns = all ? UINT64_MAX : clock_mono(NULL) - SETTLED_AFTER_NS;
    for (size_t i = 0; i < r->ring_count; i++) {
        struct task_ring *ring = &r->rings[i];
        ring->end = __atomic_load_n(&ring->head->data_head, __ATOMIC_ACQUIRE);
        /* The kernel reports what it dropped with the next record, which may never come. */
        if (ring->end - ring->at + LARGEST_RECORD > ring->bytes)
            r->is_incomplete = true;
    }
    if (all && sysconf(_SC_NPROCESSORS_ONLN) != (long)r->ring_count)
        r->is_incomplete = true; /* a CPU came or went, on which nothing was recorded */
    for (;;) {
        struct task_ring *next = NULL;
        struct perf_event_header header = {0}, one;
        uint64_t at_ns = 0, one_ns;
        for (size_t i = 0; i < r->ring_count; i++)
            if (task_ring_peek(&r->rings[i], &one, &one_ns) && (!next || one_ns < at_ns)) {
                next = &r->rings[i];
                header = one;
                at_ns = one_ns;
            }
        if (!next || at_ns > until_ns)
            break;
        task_ring_take(r, next, &header, at_ns);
        next->at += header.size;
    }
    for (size_t i = 0; i < r->ring_count; i++)
        __atomic_store_n(&r->rings[i].head->data_tail, r->rings[i].at, __ATOMIC_RELEASE);
}

/* ==== Process events ========================================================================== */

/* The kernel doubles it. What a user has by default (net.core.rmem_max) is room for some 500
 * events. */
enum { EVENTS_ROOM_BYTES = 4 << 20, EVENTS_AT_ONCE = 1 << 16 };
#define EVENTS_INTERVAL_NS (50 * NS_PER_MS)

/* Times of execs in 32 bits, rounded down: five days. */
#define EXEC_UNIT_NS (100 * NS_PER_US)

struct process_events {
    int fd;
    uint64_t begin_ns;
    struct map threads; /* process of the job -> its threads that have not ended */
    struct map numbers; /* CPU + 1 -> number of its last event */
};

/* Behind both headers there is no room for alignment. */
enum {
    EVENT_CONNECTOR_AT = sizeof(struct nlmsghdr),
    EVENT_DATA_AT = EVENT_CONNECTOR_AT + sizeof(struct cn_msg),
    EVENT_BYTES_AT_MOST = EVENT_DATA_AT + sizeof(struct proc_event),
};

struct event_message {
    uint32_t number, answer; /* as the connector has them: seq, ack */
    struct proc_event event;
};

static int process_events_ask(int fd, enum proc_cn_mcast_op op, uint32_t number)
{
    char text[EVENT_DATA_AT + sizeof op];
    const struct nlmsghdr netlink = {.nlmsg_len = sizeof text, .nlmsg_type = NLMSG_DONE};
    const struct cn_msg connector = {
        .id = {CN_IDX_PROC, CN_VAL_PROC}, .seq = number, .ack = number, .len = sizeof op};
    memcpy(text, &netlink, sizeof netlink);
    memcpy(text + EVENT_CONNECTOR_AT, &connector, sizeof connector);
    memcpy(text + EVENT_DATA_AT, &op, sizeof op);
    return send(fd, text, sizeof text, 0) < 0 ? -errno : 0;
}

/* 1 and the next event, 0 if no event is waiting, -ENOBUFS if some were dropped, or -errno. */
static int process_events_next(int fd, struct event_message *ret)
{
    for (;;) {
        struct sockaddr_nl from = {0};
        struct cn_msg connector;
        socklen_t length = sizeof from;
        char text[EVENT_BYTES_AT_MOST] = "";
        ssize_t n = recvfrom(fd, text, sizeof text, MSG_DONTWAIT, (struct sockaddr *)&from,
                             &length);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return errno == EAGAIN ? 0 : -errno;
        memcpy(&connector, text + EVENT_CONNECTOR_AT, sizeof connector);
        memcpy(&ret->event, text + EVENT_DATA_AT, sizeof ret->event);
        ret->number = connector.seq;
        ret->answer = connector.ack;
        size_t least = EVENT_DATA_AT + offsetof(struct proc_event, event_data);
        if ((size_t)n >= least && from.nl_pid == 0 && connector.id.idx == CN_IDX_PROC &&
            connector.id.val == CN_VAL_PROC)
            return 1;
    }
}

/* Events may come without an answer in a namespace, where others have asked for them. */
static int process_events_await_answer(int fd, uint32_t number)
{
    struct event_message m;
    int r;
    while ((r = process_events_next(fd, &m)) > 0)
        if (m.event.what == PROC_EVENT_NONE && m.answer == number + 1)
            return m.event.event_data.ack.err ? -EPERM : 0;
    return r < 0 ? r : -EPERM;
}

static void process_events_close(struct process_events *e)
{
    if (!e)
        return;
    if (e->fd >= 0)
        process_events_ask(e->fd, PROC_CN_MCAST_IGNORE, 0);
    close_p(&e->fd);
    map_done(&e->threads);
    map_done(&e->numbers);
    free(e);
}

static int process_events_open(struct process_events **ret, pid_t pid)
{
    const struct sockaddr_nl group = {.nl_family = AF_NETLINK, .nl_groups = CN_IDX_PROC};
    int room = EVENTS_ROOM_BYTES;
    struct process_events *e = calloc(1, sizeof *e);
    if (!e)
        return -ENOMEM;
    e->begin_ns = clock_mono(NULL);
    uint32_t number = (uint32_t)(e->begin_ns >> 8) ^ (uint32_t)getpid() << 16;
    e->fd = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_CONNECTOR);
    int r = e->fd < 0 ? -errno : 0;
    if (r == 0 && setsockopt(e->fd, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof room) < 0)
        setsockopt(e->fd, SOL_SOCKET, SO_RCVBUF, &room, sizeof room);
    if (r == 0 && bind(e->fd, (const struct sockaddr *)&group, sizeof group) < 0)
        r = -errno;
    if (r == 0)
        r = process_events_ask(e->fd, PROC_CN_MCAST_LISTEN, number);
    if (r == 0)
        r = process_events_await_answer(e->fd, number);
    if (r == 0)
        r = map_put(&e->threads, (uint32_t)pid, 1);
    if (r < 0) {
        process_events_close(e);
        return r;
    }
    *ret = e;
    return 0;
}

static void process_events_take_exit(struct task_records *r, const struct proc_event *event)
{
    struct process_events *e = r->events;
    uint32_t pid = (uint32_t)event->event_data.exit.process_tgid, threads, units = 0;
    if (!map_get(&e->threads, pid, &threads))
        return;
    if (threads > 1)
        map_put(&e->threads, pid, threads - 1);
    else
        map_remove(&e->threads, pid);
    if ((uint32_t)event->event_data.exit.process_pid != pid)
        return;
    /* The event is sent after the parent was notified, which may have waited already: the time of
     * exec is certain to be before that. */
    map_get(&r->execs, pid, &units);
    const struct task_exit one = {
        .pid = (pid_t)pid,
        .parent = event->event_data.exit.parent_tgid,
        .at_ns = e->begin_ns + units * EXEC_UNIT_NS,
        .has_execed = units != 0,
    };
    task_records_add_exit(r, &one);
}

static void process_events_take_fork(struct task_records *r, const struct proc_event *event)
{
    struct process_events *e = r->events;
    uint32_t parent = (uint32_t)event->event_data.fork.parent_tgid, threads;
    uint32_t child = (uint32_t)event->event_data.fork.child_tgid;
    bool is_process = (uint32_t)event->event_data.fork.child_pid == child;
    bool is_of_job = map_get(&e->threads, is_process ? parent : child, &threads);
    if (is_process) {
        if (parent == (uint32_t)getpid() && map_put(&r->own_children, child, 1) < 0)
            r->is_incomplete = true;
        map_remove(&e->threads, child); /* the number is in use again */
        map_remove(&r->execs, child);
    }
    if (!is_of_job)
        return;
    r->started += is_process;
    if (map_put(&e->threads, child, is_process ? 1 : threads + 1) < 0)
        r->is_incomplete = true;
}

static void process_events_take(struct task_records *r, const struct event_message *m)
{
    struct process_events *e = r->events;
    const struct proc_event *event = &m->event;
    uint32_t last, known, pid = (uint32_t)event->event_data.exec.process_tgid;
    if (event->what == PROC_EVENT_NONE)
        return; /* the answer to another listener: it is of no CPU, and has a number of its own */
    if (map_get(&e->numbers, event->cpu + 1, &last) && m->number != last + 1)
        r->is_incomplete = true;
    if (map_put(&e->numbers, event->cpu + 1, m->number) < 0)
        r->is_incomplete = true;
    switch (event->what) {
    case PROC_EVENT_FORK: process_events_take_fork(r, event); break;
    case PROC_EVENT_EXIT: process_events_take_exit(r, event); break;
    case PROC_EVENT_EXEC:
        if (map_get(&e->threads, pid, &known)) {
            uint64_t units = left_u64(event->timestamp_ns, e->begin_ns) / EXEC_UNIT_NS;
            map_put(&r->execs, pid, (uint32_t)min_u64(max_u64(units, 1), UINT32_MAX));
        }
        break;
    default: break;
    }
}

static void process_events_read(struct task_records *r)
{
    struct event_message m;
    int got = 1;
    for (unsigned i = 0; i < EVENTS_AT_ONCE && (got > 0 || got == -ENOBUFS); i++) {
        got = process_events_next(r->events->fd, &m);
        if (got > 0)
            process_events_take(r, &m);
        else if (got < 0)
            r->is_incomplete = true;
    }
}

/* ==== Either ================================================================================== */

int task_records_open(struct task_records *r, pid_t pid)
{
    *r = (struct task_records){0};
    int error = task_rings_open(r, pid);
    if (error == 0 || process_events_open(&r->events, pid) == 0)
        return 0;
    task_records_close(r);
    return error;
}

uint64_t task_records_interval(const struct task_records *r)
{
    return r->events ? EVENTS_INTERVAL_NS : 0;
}

int task_records_fd(const struct task_records *r, size_t ring)
{
    return ring < r->ring_count ? r->rings[ring].fd : -1;
}

void task_records_read(struct task_records *r, bool all)
{
    r->exit_count = 0;
    map_clear(&r->own_children);
    if (r->events)
        process_events_read(r);
    else
        task_rings_read(r, all);
}

void task_records_close(struct task_records *r)
{
    task_rings_close(r);
    process_events_close(r->events);
    free(r->exits);
    map_done(&r->execs);
    map_done(&r->own_children);
    *r = (struct task_records){0};
}
