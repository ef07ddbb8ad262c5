/* SPDX-License-Identifier: MIT
 * Marks of the program itself on their way to the thread that measures. From any thread. */
#pragma once

#include "base/util.h"

#include <pthread.h>

enum { MARK_QUEUE_AT_MOST = 4096 };

struct mark_queue {
    pthread_mutex_t lock; /* of all below */
    char **texts;         /* owned ring of owned marks, see parse/mark_text.h */
    size_t first;
    size_t count;
    uint64_t lost; /* since it was last asked */
    bool closed;
};

void mark_queue_init(struct mark_queue *q);
void mark_queue_done(struct mark_queue *q);

/* Takes the text. 0; 1 when it is closed; -EAGAIN when it is full, which is counted; -ENOMEM. */
int mark_queue_put(struct mark_queue *q, char *text);

/* The oldest, which the caller frees, or NULL; adds what was lost. */
char *mark_queue_take(struct mark_queue *q, uint64_t *lost);

/* Nobody will take any more. */
void mark_queue_close(struct mark_queue *q);
