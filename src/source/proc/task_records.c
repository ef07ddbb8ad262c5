/* SPDX-License-Identifier: MIT */
#include "source/proc/task_records.h"

#include "base/clock.h"
#include "base/memory.h"

#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>

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

int task_records_open(struct task_records *r, pid_t pid)
{
    long cpus = sysconf(_SC_NPROCESSORS_CONF);
    *r = (struct task_records){0};
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
            task_records_close(r);
            return e;
        }
    }
    return r->ring_count ? 0 : -EOPNOTSUPP;
}

int task_records_fd(const struct task_records *r, size_t ring)
{
    return ring < r->ring_count ? r->rings[ring].fd : -1;
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

static void task_records_note_exit(struct task_records *r, pid_t pid, pid_t parent, uint64_t at_ns)
{
    uint32_t state = 0;
    map_get(&r->execs, (uint32_t)pid, &state);
    map_remove(&r->execs, (uint32_t)pid);
    if (state == EXEC_CALLED)
        r->is_incomplete = true; /* it goes on, as another user, and is not recorded any more */
    if (r->exit_count < EXITS_AT_MOST &&
        ARRAY_RESERVE(r->exits, r->exit_capacity, r->exit_count + 1))
        r->exits[r->exit_count++] = (struct task_exit){
            .pid = pid, .parent = parent, .at_ns = at_ns, .has_execed = state == EXEC_MAPPED};
}

static void task_records_take(struct task_records *r, const struct task_ring *ring,
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
            task_records_note_exit(r, (pid_t)task.pid, (pid_t)task.parent, at_ns);
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

void task_records_read(struct task_records *r, bool all)
{
    uint64_t until_ns = all ? UINT64_MAX : clock_mono(NULL) - SETTLED_AFTER_NS;
    r->exit_count = 0;
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
        task_records_take(r, next, &header, at_ns);
        next->at += header.size;
    }
    for (size_t i = 0; i < r->ring_count; i++)
        __atomic_store_n(&r->rings[i].head->data_tail, r->rings[i].at, __ATOMIC_RELEASE);
}

void task_records_close(struct task_records *r)
{
    for (size_t i = 0; i < r->ring_count; i++) {
        if (r->rings[i].head)
            munmap(r->rings[i].head, task_ring_page_bytes() + r->rings[i].bytes);
        close_p(&r->rings[i].fd);
    }
    free(r->rings);
    free(r->exits);
    map_done(&r->execs);
    *r = (struct task_records){0};
}
