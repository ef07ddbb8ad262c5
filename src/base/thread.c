/* SPDX-License-Identifier: MIT */
#include "base/thread.h"

#include "base/clock.h"
#include "base/io/file.h"
#include "base/text/scan.h"
#include "base/util.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* ==== Own files =============================================================================== */

enum { CLOSE_AND_UNSHARE = 1 << 1 }; /* CLOSE_RANGE_UNSHARE */

static int close_range_of(unsigned first, unsigned last, unsigned flags)
{
#ifdef SYS_close_range
    return syscall(SYS_close_range, first, last, flags) < 0 ? -errno : 0;
#else
    (void)first, (void)last, (void)flags;
    return -ENOSYS;
#endif
}

/* Whether another thread of this program has the same table: 1 or 0, or -errno when the kernel does
 * not compare. */
static int shares_table_with(pid_t thread)
{
#ifdef SYS_kcmp
    enum { COMPARE_FILES = 2 }; /* KCMP_FILES */
    long r = syscall(SYS_kcmp, (pid_t)syscall(SYS_gettid), thread, COMPARE_FILES, 0, 0);
    return r < 0 ? -errno : r == 0;
#else
    (void)thread;
    return -ENOSYS;
#endif
}

/* The same, by a descriptor that is opened here and looked for there. Where the table is shared
 * after all, other threads may close it meanwhile: then it is not found here either. */
static int sees_new_file(pid_t thread)
{
    int ends[2];
    struct known_file probe;
    struct stat there;
    char path[64];
    if (pipe2(ends, O_CLOEXEC) < 0)
        return -errno;
    known_file_set(&probe, ends[0]);
    snprintf(path, sizeof path, "/proc/self/task/%d/fd", (int)thread);
    int r = stat(path, &there) < 0 ? -errno : 0;
    if (r == 0) {
        snprintf(path, sizeof path, "/proc/self/task/%d/fd/%d", (int)thread, ends[0]);
        if (stat(path, &there) == 0)
            r = known_file_is(&probe, &there);
        else
            r = errno == ENOENT ? 0 : -errno;
    }
    if (r == 0 && !known_file_is_there(&probe))
        r = 1;
    known_file_close(&probe);
    known_file_set(&probe, ends[1]);
    known_file_close(&probe);
    return r;
}

struct close_span {
    int dir; /* being read: it stays open meanwhile */
    uint64_t first, last;
};

static void close_if_in_span(void *arg, const char *name)
{
    const struct close_span *span = arg;
    struct scan s = scan_string(name);
    uint64_t fd;
    if (scan_u64(&s, &fd) && fd >= span->first && fd <= span->last && (int)fd != span->dir)
        close((int)fd);
}

static void close_all_from_to(unsigned first, unsigned last)
{
    if (first > last || close_range_of(first, last, 0) == 0)
        return;
    /* One by one where the kernel is older than Linux 5.9. */
    CLEANUP_CLOSE int dir = open("/proc/thread-self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct close_span span = {dir, first, last};
    if (dir >= 0)
        file_each_entry(dir, close_if_in_span, &span);
}

void own_files_close_rest(const int *keep, size_t count)
{
    unsigned next = 0;
    for (size_t i = 0; i < count; i++) {
        if (keep[i] > 0)
            close_all_from_to(next, (unsigned)keep[i] - 1);
        next = (unsigned)keep[i] + 1;
    }
    close_all_from_to(next, ~0U);
    /* What is printed to the standard descriptors must not end up in one of our files. */
    int fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    while (fd >= 0 && fd < 3)
        fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    if (fd >= 3)
        close(fd);
}

/* Programs that stand in for the kernel (valgrind, sandboxes) may claim to have unshared the table
 * without doing so. Every close here would then be one of the program's, hence the check. */
static bool own_files_are_separate(pid_t from)
{
    int shared = shares_table_with(from);
    return (shared < 0 ? sees_new_file(from) : shared) == 0;
}

int own_files_only(const int *keep, size_t count, pid_t from)
{
    /* Containers often forbid unshare, but not close_range. */
    if (close_range_of(~0U, ~0U, CLOSE_AND_UNSHARE) < 0 || !own_files_are_separate(from)) {
        if (unshare(CLONE_FILES) < 0)
            return -errno;
        if (!own_files_are_separate(from))
            return -EOPNOTSUPP;
    }
    own_files_close_rest(keep, count);
    return 0;
}

void known_file_set(struct known_file *f, int fd)
{
    struct stat st = {0};
    *f = (struct known_file){.fd = fd >= 0 && fstat(fd, &st) == 0 ? fd : -1};
    f->device = st.st_dev;
    f->inode = st.st_ino;
}

bool known_file_is(const struct known_file *f, const struct stat *st)
{
    return st->st_dev == f->device && st->st_ino == f->inode;
}

bool known_file_is_there(const struct known_file *f)
{
    struct stat st;
    return f->fd >= 0 && fstat(f->fd, &st) == 0 && known_file_is(f, &st);
}

void known_file_close(struct known_file *f)
{
    if (known_file_is_there(f))
        close(f->fd);
    f->fd = -1;
}

/* ==== Wait ==================================================================================== */

void wait_init(pthread_cond_t *condition)
{
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(condition, &attributes);
    pthread_condattr_destroy(&attributes);
}

uint64_t wait_until(int timeout_ms)
{
    return timeout_ms < 0 ? UINT64_MAX : clock_mono(NULL) + (uint64_t)timeout_ms * NS_PER_MS;
}

bool wait_for(pthread_cond_t *condition, pthread_mutex_t *lock, uint64_t until_ns)
{
    if (until_ns == UINT64_MAX)
        return pthread_cond_wait(condition, lock) == 0;
    struct timespec until = {(time_t)(until_ns / NS_PER_SECOND), (long)(until_ns % NS_PER_SECOND)};
    return pthread_cond_timedwait(condition, lock, &until) == 0;
}

/* ==== Worker ================================================================================== */

int thread_start(pthread_t *ret, size_t stack_bytes, void *(*run)(void *), void *arg)
{
    sigset_t all, before;
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    if (stack_bytes)
        pthread_attr_setstacksize(&attributes, stack_bytes);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before); /* the new thread inherits the mask */
    int r = -pthread_create(ret, &attributes, run, arg);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    return r;
}

/* pthread_join returns before the kernel has taken the thread out of the process: on a busy machine
 * it stays in /proc for some milliseconds more, and whatever counts the threads of the program next
 * would count it. A debugger may hold it there for long, hence the limit. */
void thread_join(pthread_t thread, const pid_t *id)
{
    enum { FIRST_PAUSE_NS = 20000, MOST_PAUSES = 16 }; /* 1.2 s in all */
    pthread_join(thread, NULL);
    struct timespec pause = {.tv_nsec = FIRST_PAUSE_NS};
    for (unsigned i = 0; i < MOST_PAUSES && syscall(SYS_tgkill, getpid(), *id, 0) == 0; i++) {
        nanosleep(&pause, NULL);
        pause.tv_nsec = (long)min_u64((uint64_t)pause.tv_nsec * 2, 500 * NS_PER_MS);
    }
}

void worker_init(struct worker *w, const struct worker_plan *plan, void *owner)
{
    *w = (struct worker){.plan = *plan, .owner = owner};
    pthread_mutex_init(&w->lock, NULL);
    wait_init(&w->changed);
}

/* Releases the lock. Whether the other side has left before: then this side disposes of all. */
static bool worker_let_go(struct worker *w)
{
    bool is_last = !w->is_shared;
    w->is_shared = false;
    worker_unlock(w);
    return is_last;
}

static void *worker_run(void *arg)
{
    struct worker *w = arg;
    if (w->plan.name)
        prctl(PR_SET_NAME, w->plan.name);
    worker_lock(w);
    w->id = (pid_t)syscall(SYS_gettid);
    worker_wake(w);
    worker_unlock(w);
    w->plan.work(w->owner);
    worker_lock(w);
    w->has_ended = true;
    worker_wake(w);
    if (worker_let_go(w))
        w->plan.dispose(w->owner);
    return NULL;
}

int worker_start(struct worker *w)
{
    worker_lock(w);
    int r = thread_start(&w->thread, THREAD_STACK_BYTES, worker_run, w);
    w->is_shared = r == 0;
    while (r == 0 && !w->id)
        worker_wait_for_change(w, UINT64_MAX);
    worker_unlock(w);
    return r;
}

/* With the lock held. */
static bool worker_wait_locked(struct worker *w, uint64_t until_ns)
{
    while (w->id && !w->has_ended && worker_wait_for_change(w, until_ns))
        ;
    return !w->id || w->has_ended;
}

bool worker_wait(struct worker *w, uint64_t until_ns)
{
    worker_lock(w);
    bool has_ended = worker_wait_locked(w, until_ns);
    worker_unlock(w);
    return has_ended;
}

bool worker_leave(struct worker *w, uint64_t until_ns)
{
    void (*dispose)(void *) = w->plan.dispose;
    void *owner = w->owner;
    pthread_t thread = w->thread;
    pid_t id = w->id; /* 0: never started */
    worker_lock(w);
    bool has_ended = worker_wait_locked(w, until_ns);
    bool is_last = worker_let_go(w);
    if (id && has_ended)
        thread_join(thread, &id); /* it returns soon */
    else if (id)
        pthread_detach(thread);
    if (is_last)
        dispose(owner);
    return has_ended;
}

void worker_done(struct worker *w)
{
    pthread_mutex_destroy(&w->lock);
    pthread_cond_destroy(&w->changed);
}

/* ==== Queue =================================================================================== */

enum { QUEUE_SPARE_NODES = 64, QUEUE_TAKE_CHUNKS = 4096 };

struct queue_node {
    struct queue_node *next;
    size_t capacity, length;
    unsigned kind, weight;
    uint64_t added_ns;
    char data[];
};

int queue_init(struct queue *q, size_t limit_bytes)
{
    *q = (struct queue){.limit_bytes = limit_bytes, .end = &q->first};
    q->chunks = calloc(QUEUE_TAKE_CHUNKS, sizeof *q->chunks);
    return q->chunks ? 0 : -ENOMEM;
}

void queue_done(struct queue *q)
{
    struct queue_node *lists[] = {q->first, q->spare, q->taken};
    for (size_t i = 0; i < ARRAY_LEN(lists); i++)
        for (struct queue_node *n = lists[i], *next; n; n = next) {
            next = n->next;
            free(n);
        }
    free(q->chunks);
}

size_t queue_cost(size_t length)
{
    return sizeof(struct queue_node) + length;
}

uint64_t queue_oldest_ns(const struct queue *q)
{
    return q->first->added_ns;
}

static void queue_reuse(struct queue *q, struct queue_node *n)
{
    if (q->spare_count >= QUEUE_SPARE_NODES) {
        struct queue_node *oldest = q->spare;
        q->spare = oldest->next;
        q->spare_count--;
        free(oldest);
    }
    n->next = q->spare;
    q->spare = n;
    q->spare_count++;
}

/* Drops old chunks until there is room. Chunks without a weight are few and small: they may use as
 * much room again. */
static bool queue_make_room(struct queue *q, const struct chunk *chunk, uint64_t *dropped)
{
    size_t cost = queue_cost(chunk->length);
    while (q->bytes + cost > q->limit_bytes) {
        struct queue_node **link = &q->first;
        while (*link && !(*link)->weight)
            link = &(*link)->next;
        struct queue_node *n = *link;
        if (!n)
            return !chunk->weight && q->bytes + cost <= 2 * q->limit_bytes;
        *link = n->next;
        if (!*link)
            q->end = link;
        q->bytes -= queue_cost(n->length);
        *dropped += n->weight;
        queue_reuse(q, n);
    }
    return true;
}

int queue_add(struct queue *q, const struct chunk *chunk, bool is_forced, uint64_t *dropped)
{
    if (!(is_forced && !q->first) && !queue_make_room(q, chunk, dropped))
        return -ENOBUFS;
    struct queue_node **link = &q->spare;
    while (*link && (*link)->capacity < chunk->length)
        link = &(*link)->next;
    struct queue_node *n = *link;
    if (n) {
        *link = n->next;
        q->spare_count--;
    } else {
        size_t capacity = chunk->length + chunk->length / 4 + 64;
        n = malloc(sizeof *n + capacity);
        if (!n)
            return -ENOMEM;
        n->capacity = capacity;
    }
    n->next = NULL;
    n->length = chunk->length;
    n->kind = chunk->kind;
    n->weight = chunk->weight;
    n->added_ns = clock_mono(NULL);
    memcpy(n->data, chunk->data, chunk->length);
    *q->end = n;
    q->end = &n->next;
    q->bytes += queue_cost(n->length);
    return 0;
}

size_t queue_take(struct queue *q, size_t most_bytes, const struct chunk **ret)
{
    struct queue_node **link = &q->taken;
    size_t count = 0, bytes = 0;
    while (q->first && count < QUEUE_TAKE_CHUNKS &&
           (!count || bytes + q->first->length <= most_bytes)) {
        struct queue_node *n = q->first;
        q->first = n->next;
        q->bytes -= queue_cost(n->length);
        bytes += n->length;
        q->chunks[count++] = (struct chunk){n->kind, n->weight, n->data, n->length};
        *link = n;
        link = &n->next;
    }
    *link = NULL;
    if (!q->first)
        q->end = &q->first;
    *ret = q->chunks;
    return count;
}

void queue_release(struct queue *q)
{
    for (struct queue_node *n = q->taken, *next; n; n = next) {
        next = n->next;
        queue_reuse(q, n);
    }
    q->taken = NULL;
}
