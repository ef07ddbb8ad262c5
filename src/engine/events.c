/* SPDX-License-Identifier: MIT */
#include "engine/events.h"

#include "base/memory.h"
#include "base/text/secrets.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROOM_KEPT = 256 };

static struct event *events_append(struct events *e)
{
    if (!ARRAY_RESERVE(e->items, e->capacity, e->count + 1))
        return NULL;
    return &e->items[e->count++];
}

void events_add_note(struct events *e, uint64_t elapsed_ns, const char *format, va_list args)
{
    char sentence[NOTE_BYTES];
    vsnprintf(sentence, sizeof sentence, format, args);
    secrets_mask_sentence(sentence, sizeof sentence);
    text_make_printable(sentence); /* a process may call itself anything */
    char *copy = strdup(sentence);
    struct event *event = copy ? events_append(e) : NULL;
    if (!event) {
        free(copy);
        return;
    }
    event->elapsed_ns = elapsed_ns;
    event->note = copy;
}

void events_add_end(struct events *e, const struct process_end *end, bool is_recorded)
{
    struct event *event = events_append(e);
    if (!event)
        return;
    event->note = NULL;
    event->elapsed_ns = end->elapsed_ns;
    event->end = *end;
    event->process = *end->process;
    event->process.command = end->process->command ? strdup(end->process->command) : NULL;
    event->is_recorded = is_recorded;
}

void events_clear(struct events *e)
{
    for (size_t i = 0; i < e->count; i++) {
        if (!e->items[i].note)
            free(e->items[i].process.command);
        free(e->items[i].note);
    }
    e->count = 0;
    if (e->capacity > ROOM_KEPT) {
        free(e->items);
        e->items = NULL;
        e->capacity = 0;
    }
}

void events_done(struct events *e)
{
    events_clear(e);
    free(e->items);
    *e = (struct events){0};
}
