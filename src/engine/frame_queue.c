/* SPDX-License-Identifier: MIT */
#include "engine/frame_queue.h"

#include "base/wait.h"

#include <string.h>

int frame_queue_init(struct frame_queue *q, size_t capacity)
{
    *q = (struct frame_queue){.capacity = capacity};
    if (capacity && !(q->ring = calloc(capacity, sizeof(struct taken *))))
        return -ENOMEM;
    pthread_mutex_init(&q->lock, NULL);
    wait_init(&q->came);
    return 0;
}

void frame_queue_done(struct frame_queue *q)
{
    taken_release(q->latest);
    for (size_t i = 0; i < q->note_count; i++)
        free(q->notes[i].sentence);
    for (size_t i = 0; i < q->count; i++)
        taken_release(q->ring[(q->first + i) % q->capacity]);
    free(q->ring);
    pthread_mutex_destroy(&q->lock);
    pthread_cond_destroy(&q->came);
}

static struct taken *take_first(struct frame_queue *q)
{
    struct taken *first = q->ring[q->first];
    q->first = (q->first + 1) % q->capacity;
    q->count--;
    return first;
}

void frame_queue_put(struct frame_queue *q, struct taken *frame)
{
    struct taken *surplus = NULL;
    pthread_mutex_lock(&q->lock);
    struct taken *before = q->latest;
    q->latest = frame;
    if (q->capacity) {
        if (q->count == q->capacity) {
            surplus = take_first(q);
            q->dropped++;
        }
        q->ring[(q->first + q->count++) % q->capacity] = taken_hold(frame);
    }
    frame->head.dropped = q->dropped;
    pthread_cond_broadcast(&q->came);
    pthread_mutex_unlock(&q->lock);
    taken_release(before);
    taken_release(surplus);
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

void frame_queue_drop(struct frame_queue *q)
{
    pthread_mutex_lock(&q->lock);
    while (q->count) {
        taken_release(take_first(q));
        q->dropped++;
    }
    pthread_mutex_unlock(&q->lock);
}

static void put(struct frame_queue *q, struct queued_note note, const char *sentence)
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
    put(q, (struct queued_note){0}, sentence);
}

void frame_queue_put_ending(struct frame_queue *q, bool has_failed, const char *sentence)
{
    put(q, (struct queued_note){.is_ending = true, .has_failed = has_failed}, sentence);
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

struct taken *frame_queue_latest(struct frame_queue *q)
{
    pthread_mutex_lock(&q->lock);
    struct taken *latest = q->latest ? taken_hold(q->latest) : NULL;
    pthread_mutex_unlock(&q->lock);
    return latest;
}

struct taken *frame_queue_next(struct frame_queue *q, int timeout_ms)
{
    uint64_t until_ns = wait_until(timeout_ms);
    pthread_mutex_lock(&q->lock);
    while (!q->count && !q->is_over && wait_for(&q->came, &q->lock, until_ns))
        ;
    struct taken *first = q->count ? take_first(q) : NULL;
    pthread_mutex_unlock(&q->lock);
    return first;
}
