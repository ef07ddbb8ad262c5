/* SPDX-License-Identifier: MIT */
#include "engine/background.h"

#include "base/err.h"
#include "base/thread.h"
#include "engine/step.h"
#include "engine/target/gpus.h"
#include "engine/tracker.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/syscall.h>

/* ==== Frame queue ============================================================================= */

int frame_queue_init(struct frame_queue *q, size_t capacity)
{
    *q = (struct frame_queue){.capacity = capacity};
    if (capacity && !(q->ring = calloc(capacity, sizeof(struct frame_copy *))))
        return -ENOMEM;
    pthread_mutex_init(&q->lock, NULL);
    wait_init(&q->came);
    return 0;
}

void frame_queue_done(struct frame_queue *q)
{
    frame_copy_release(q->latest);
    for (size_t i = 0; i < q->note_count; i++)
        free(q->notes[i].sentence);
    for (size_t i = 0; i < q->count; i++)
        frame_copy_release(q->ring[(q->first + i) % q->capacity]);
    free(q->ring);
    pthread_mutex_destroy(&q->lock);
    pthread_cond_destroy(&q->came);
}

static struct frame_copy *take_first(struct frame_queue *q)
{
    struct frame_copy *first = q->ring[q->first];
    q->first = (q->first + 1) % q->capacity;
    q->count--;
    return first;
}

void frame_queue_put(struct frame_queue *q, struct frame_copy *frame)
{
    struct frame_copy *surplus = NULL;
    pthread_mutex_lock(&q->lock);
    struct frame_copy *before = q->latest;
    q->latest = frame;
    if (q->capacity) {
        if (q->count == q->capacity) {
            surplus = take_first(q);
            q->dropped++;
        }
        q->ring[(q->first + q->count++) % q->capacity] = frame_copy_hold(frame);
    }
    frame->head.dropped = q->dropped;
    pthread_cond_broadcast(&q->came);
    pthread_mutex_unlock(&q->lock);
    frame_copy_release(before);
    frame_copy_release(surplus);
}

void frame_queue_lose(struct frame_queue *q)
{
    pthread_mutex_lock(&q->lock);
    q->dropped++;
    pthread_mutex_unlock(&q->lock);
}

void frame_queue_end(struct frame_queue *q)
{
    pthread_mutex_lock(&q->lock);
    q->is_over = true;
    pthread_cond_broadcast(&q->came);
    pthread_mutex_unlock(&q->lock);
}

/* Those that wait will not be taken any more. */
static void frame_queue_drop(struct frame_queue *q)
{
    pthread_mutex_lock(&q->lock);
    while (q->count) {
        frame_copy_release(take_first(q));
        q->dropped++;
    }
    pthread_mutex_unlock(&q->lock);
}

static void frame_queue_add_note(struct frame_queue *q, struct queued_note note,
                                 const char *sentence)
{
    pthread_mutex_lock(&q->lock);
    note.sentence = q->note_count < NOTES_THAT_WAIT ? strdup(sentence) : NULL;
    if (note.sentence)
        q->notes[q->note_count++] = note;
    pthread_cond_broadcast(&q->came);
    pthread_mutex_unlock(&q->lock);
}

void frame_queue_put_note(struct frame_queue *q, const char *sentence)
{
    frame_queue_add_note(q, (struct queued_note){0}, sentence);
}

void frame_queue_put_ending(struct frame_queue *q, bool has_failed, const char *sentence)
{
    frame_queue_add_note(q, (struct queued_note){.is_ending = true, .has_failed = has_failed},
                         sentence);
}

bool frame_queue_wait(struct frame_queue *q, bool for_frames)
{
    pthread_mutex_lock(&q->lock);
    while (!q->note_count && !(for_frames && q->count) && !q->is_over)
        pthread_cond_wait(&q->came, &q->lock);
    bool has_any = q->note_count || (for_frames && q->count);
    pthread_mutex_unlock(&q->lock);
    return has_any;
}

bool frame_queue_take_note(struct frame_queue *q, struct queued_note *ret)
{
    pthread_mutex_lock(&q->lock);
    bool has_any = q->note_count > 0;
    if (has_any) {
        *ret = q->notes[0];
        memmove(q->notes, q->notes + 1, --q->note_count * sizeof *q->notes);
    }
    pthread_mutex_unlock(&q->lock);
    return has_any;
}

struct frame_copy *frame_queue_latest(struct frame_queue *q)
{
    pthread_mutex_lock(&q->lock);
    struct frame_copy *latest = q->latest ? frame_copy_hold(q->latest) : NULL;
    pthread_mutex_unlock(&q->lock);
    return latest;
}

struct frame_copy *frame_queue_next(struct frame_queue *q, int timeout_ms)
{
    uint64_t until_ns = wait_until(timeout_ms);
    pthread_mutex_lock(&q->lock);
    while (!q->count && !q->is_over && wait_for(&q->came, &q->lock, until_ns))
        ;
    struct frame_copy *first = q->count ? take_first(q) : NULL;
    pthread_mutex_unlock(&q->lock);
    return first;
}

/* ==== Own threads ============================================================================= */

size_t own_threads_list(const void *arg, pid_t ret[OWN_THREADS_AT_MOST])
{
    const struct toll_tracker *t = arg;
    size_t count = gpus_threads(&t->gpus, ret);
    for (size_t i = 0; i < t->outputs.count; i++) {
        pid_t sender = sink_thread(t->outputs.sinks[i]);
        if (sender && count < OWN_THREADS_AT_MOST)
            ret[count] = sender;
        count += sender != 0;
    }
    return count;
}

uint64_t own_threads_cpu_ns(const struct toll_tracker *t)
{
    pid_t threads[OWN_THREADS_AT_MOST];
    size_t count = min_u64(own_threads_list(t, threads), OWN_THREADS_AT_MOST);
    uint64_t ns = 0;
    for (size_t i = 0; i < count; i++)
        ns += clock_cpu_of_thread(threads[i]);
    return ns;
}

void own_threads_leave_out(struct toll_tracker *t)
{
    pid_t threads[OWN_THREADS_AT_MOST];
    size_t count = own_threads_list(t, threads);
    for (size_t i = 0; t->tracked.reader.own.pid && i < count && i < OWN_THREADS_AT_MOST; i++)
        own_thread_add(&t->tracked.reader.own, threads[i]);
}

/* ==== Background ============================================================================== */

enum { FRAMES_FOR_A_CALLBACK = 64, WITHOUT_A_WAKE_MS = 50 };

void background_lock(struct background *b)
{
    if (b->is_on)
        pthread_mutex_lock(&b->lock);
}

void background_unlock(struct background *b)
{
    if (b->is_on)
        pthread_mutex_unlock(&b->lock);
}

/* ---- The sampler ----------------------------------------------------------------------------- */

static int background_by_number(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

/* What of the program's descriptors the sampler needs: where to write, and its end of the pipe. */
static int part_files(const struct background *b, const struct outputs *o)
{
    size_t count = 0;
    int *keep = calloc(o->count + 1, sizeof *keep);
    if (!keep)
        return -ENOMEM;
    for (size_t i = 0; i < o->count; i++)
        keep[count++] = o->sinks[i]->fd;
    keep[count++] = b->woken;
    qsort(keep, count, sizeof *keep, background_by_number);
    int r = own_files_only(keep, count, b->starter_id);
    free(keep);
    return r;
}

/* Until it is time, or something has ended, or the program wakes the sampler. */
static void sleep_unlocked(struct background *b, int epoll)
{
    struct epoll_event event;
    char nothing[64];
    pthread_mutex_unlock(&b->lock);
    int n = epoll_wait(epoll, &event, 1, b->is_deaf ? WITHOUT_A_WAKE_MS : -1);
    ssize_t got = 1;
    while (n > 0 && event.data.fd == b->woken &&
           (got = read(b->woken, nothing, sizeof nothing)) == sizeof nothing)
        ;
    pthread_mutex_lock(&b->lock);
    if (got == 0) { /* the program has closed its end: from now on we look by ourselves */
        epoll_ctl(epoll, EPOLL_CTL_DEL, b->woken, NULL);
        b->is_deaf = true;
    }
}

static void background_announce(struct background *b, bool *what)
{
    *what = true;
    pthread_cond_broadcast(&b->changed);
}

static void sample_until_stopped(struct toll_tracker *t)
{
    struct background *b = &t->background;
    while (!b->stop) {
        sleep_unlocked(b, t->wakeup.epoll);
        if (b->stop)
            return;
        if (step(t) <= 0) {
            background_announce(b, &b->ended);
            break;
        }
    }
    while (!b->stop)
        pthread_cond_wait(&b->changed, &b->lock);
}

static void *background_sample(void *arg)
{
    struct toll_tracker *t = arg;
    struct background *b = &t->background;
    pthread_mutex_lock(&b->lock);
    b->sampler_id = (pid_t)syscall(SYS_gettid);
    b->has_own_files = part_files(b, &t->outputs) == 0;
    b->result = begin_attach(t, &b->error);
    if (b->result == 0)
        b->result = wakeup_watch(&t->wakeup, b->woken);
    int begun = b->result;
    background_announce(b, &b->begun);
    if (!t->started) { /* refused, and undone */
        pthread_mutex_unlock(&b->lock);
        return NULL;
    }
    if (begun == 0)
        sample_until_stopped(t);
    if (begun == 0 && !b->leave)
        b->result = lifetime_finish(t);
    frame_queue_end(&b->frames);
    background_announce(b, &b->finished);
    while (!b->leave)
        pthread_cond_wait(&b->changed, &b->lock);
    lifetime_close(t);
    close_p(&b->woken);
    pthread_mutex_unlock(&b->lock);
    return NULL;
}

/* Calls the program for notes and frames. */
static void *background_call(void *arg)
{
    struct toll_tracker *t = arg;
    const struct toll_options *o = &t->options;
    struct frame_queue *q = &t->background.frames;
    t->background.callback_id = (pid_t)syscall(SYS_gettid);
    while (frame_queue_wait(q, o->frame)) {
        for (struct queued_note n; frame_queue_take_note(q, &n); free(n.sentence))
            if (n.is_ending)
                o->ending(o->ending_arg, n.has_failed, n.sentence);
            else
                o->note(o->note_arg, n.sentence);
        struct frame_copy *frame = o->frame ? frame_queue_next(q, 0) : NULL;
        if (frame)
            o->frame(o->frame_arg, &frame->head);
        frame_copy_release(frame);
    }
    return NULL;
}

bool background_is_callback_thread(const struct background *b)
{
    return b->is_on && b->has_callback_thread && pthread_equal(pthread_self(), b->callback_thread);
}

/* ---- For the program's threads --------------------------------------------------------------- */

static int open_pipe(struct background *b)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) < 0)
        return -errno;
    b->woken = ends[0];
    known_file_set(&b->wake, ends[1]);
    return 0;
}

static int background_prepare(struct background *b, const struct toll_options *o)
{
    size_t kept = o->frames_kept;
    int r = frame_queue_init(&b->frames, kept || !o->frame ? kept : FRAMES_FOR_A_CALLBACK);
    if (r < 0)
        return r;
    r = open_pipe(b);
    if (r < 0) {
        frame_queue_done(&b->frames);
        return r;
    }
    pthread_mutex_init(&b->lock, NULL);
    wait_init(&b->changed);
    return 0;
}

static void background_undo(struct background *b)
{
    known_file_close(&b->wake);
    frame_queue_done(&b->frames);
    pthread_mutex_destroy(&b->lock);
    pthread_cond_destroy(&b->changed);
    b->is_on = false;
}

/* What waits is still delivered. */
static void end_callback_thread(struct background *b)
{
    frame_queue_end(&b->frames);
    if (b->has_callback_thread)
        thread_join(b->callback_thread, &b->callback_id);
    b->has_callback_thread = false;
}

/* The sampler has its own copies of them by now. */
static void close_copies(const struct background *b, const struct outputs *o)
{
    if (!b->has_own_files)
        return;
    close(b->woken);
    for (size_t i = 0; i < o->count; i++)
        if (o->sinks[i]->owns_fd)
            close(o->sinks[i]->fd);
}

/* The tracker is as it was before toll_tracker_start. */
static void background_give_up(struct toll_tracker *t)
{
    end_callback_thread(&t->background);
    close_p(&t->background.woken);
    background_undo(&t->background);
    t->background = (struct background){0};
    for (size_t i = 0; i < t->outputs.count; i++)
        t->outputs.sinks[i]->stays_open = false;
    t->self.cpu = clock_own_cpu;
    t->self.cpu_base_ns = t->self.cpu();
}

int background_start(struct toll_tracker *t, struct toll_error *e)
{
    struct background *b = &t->background;
    if (t->used || b->is_on)
        return err_set(e, -EINVAL, "tracker was already started (create a new one)");
    int r = background_prepare(b, &t->options);
    if (r < 0)
        return err_set(e, r, "cannot measure in the background: %s", strerror(-r));
    b->is_on = true;
    b->starter_id = (pid_t)syscall(SYS_gettid);
    for (size_t i = 0; i < t->outputs.count; i++)
        t->outputs.sinks[i]->stays_open =
            true; /* the program may be elsewhere, and somebody else, then */
    t->self.cpu = clock_thread_cpu;
    t->self.cpu_base_ns = 0;
    bool tells = t->options.frame || t->options.note || t->options.ending;
    b->has_callback_thread = tells &&
                             (r = thread_start(&b->callback_thread, 0, background_call, t)) == 0;
    if (r == 0)
        r = thread_start(&b->sampler, THREAD_STACK_BYTES, background_sample, t);
    if (r < 0) {
        background_give_up(t);
        return err_set(e, r, "cannot start a thread: %s", strerror(-r));
    }
    pthread_mutex_lock(&b->lock);
    while (!b->begun)
        pthread_cond_wait(&b->changed, &b->lock);
    r = b->result;
    if (r < 0 && e)
        *e = b->error;
    bool is_refused = !t->started;
    if (!is_refused)
        close_copies(b, &t->outputs);
    pthread_mutex_unlock(&b->lock);
    if (is_refused) {
        thread_join(b->sampler, &b->sampler_id);
        background_give_up(t);
    }
    return r;
}

void background_wake(struct toll_tracker *t)
{
    const struct background *b = &t->background;
    if (!b->is_on)
        return;
    atomic_fetch_add(&t->tracked.reader.own.wakes, 1);
    bool is_there = known_file_is_there(&b->wake);
    CLEANUP_CLOSE int again = -1;
    if (!is_there) { /* the program has closed its end of the pipe: through the sampler's */
        char path[64];
        snprintf(path, sizeof path, "/proc/self/task/%d/fd/%d", (int)b->sampler_id, b->woken);
        again = open(path, O_WRONLY | O_CLOEXEC | O_NONBLOCK);
    }
    if (write(is_there ? b->wake.fd : again, "", 1) < 0)
        return; /* the pipe is full: it is awake */
}

/* With the lock held. */
static void background_ask(struct toll_tracker *t, bool *what)
{
    background_announce(&t->background, what);
    background_wake(t);
}

int background_finish(struct toll_tracker *t)
{
    struct background *b = &t->background;
    pthread_mutex_lock(&b->lock);
    background_ask(t, &b->stop);
    while (!b->finished)
        pthread_cond_wait(&b->changed, &b->lock);
    int r = b->result;
    pthread_mutex_unlock(&b->lock);
    end_callback_thread(b);
    return r;
}

void background_end(struct toll_tracker *t)
{
    struct background *b = &t->background;
    pthread_mutex_lock(&b->lock);
    b->leave = true; /* no summary any more */
    frame_queue_drop(&b->frames);
    background_ask(t, &b->stop);
    pthread_mutex_unlock(&b->lock);
    thread_join(b->sampler, &b->sampler_id);
    end_callback_thread(b);
    background_undo(&t->background);
}
