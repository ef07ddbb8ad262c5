/* SPDX-License-Identifier: MIT */
#include "engine/mark_queue.h"

void mark_queue_init(struct mark_queue *q)
{
    *q = (struct mark_queue){0};
    pthread_mutex_init(&q->lock, NULL);
}

void mark_queue_done(struct mark_queue *q)
{
    for (size_t i = 0; i < q->count; i++)
        free(q->texts[(q->first + i) % MARK_QUEUE_AT_MOST]);
    free(q->texts);
    pthread_mutex_destroy(&q->lock);
    *q = (struct mark_queue){0};
}

static int put(struct mark_queue *q, char *text)
{
    if (q->closed)
        return 1;
    if (!q->texts && !(q->texts = calloc(MARK_QUEUE_AT_MOST, sizeof *q->texts)))
        return -ENOMEM;
    if (q->count == MARK_QUEUE_AT_MOST) {
        q->lost++;
        return -EAGAIN;
    }
    q->texts[(q->first + q->count++) % MARK_QUEUE_AT_MOST] = text;
    return 0;
}

int mark_queue_put(struct mark_queue *q, char *text)
{
    pthread_mutex_lock(&q->lock);
    int r = put(q, text);
    pthread_mutex_unlock(&q->lock);
    if (r != 0)
        free(text);
    return r;
}

char *mark_queue_take(struct mark_queue *q, uint64_t *lost)
{
    char *text = NULL;
    pthread_mutex_lock(&q->lock);
    if (q->count) {
        text = q->texts[q->first];
        q->first = (q->first + 1) % MARK_QUEUE_AT_MOST;
        q->count--;
    }
    *lost += q->lost;
    q->lost = 0;
    pthread_mutex_unlock(&q->lock);
    return text;
}

void mark_queue_close(struct mark_queue *q)
{
    pthread_mutex_lock(&q->lock);
    q->closed = true;
    pthread_mutex_unlock(&q->lock);
}
