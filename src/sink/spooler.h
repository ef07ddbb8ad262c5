/* SPDX-License-Identifier: MIT
 * What sinks with a spool have in common: send batches as operations (spool_ops.h), write them to a
 * file when the server is away for longer, and send that first when it is back. What is left at the
 * end of the grace is in the file, for toll send.
 *
 * A kind has a struct spooler in its state, the options SINK_SPOOL_OPTIONS, and calls spooler_…
 * from its deliver() and leave(). */
#pragma once

#include "sink/sink.h"
#include "sink/spool.h"
#include "toll.h"

/* ==== Spooler ================================================================================= */

#define SINK_SPOOL_OPTIONS                                                                         \
    {{"spool", "FILE", "",                                                                         \
      "where to keep what cannot be sent, or 'none'; otherwise a file below "                      \
      "~/.local/state/toll"},                                                                      \
     OPTION_TEXT,                                                                                  \
     false},                                                                                       \
    {                                                                                              \
        {"spool_size", "SIZE", "1GiB",                                                             \
         "how large it may become; then samples are lost, and counted"},                           \
            OPTION_SIZE, false                                                                     \
    }

struct spooler_plan {
    struct sink *sink; /* borrowed */
    void *arg;
    /* The batch as operations, without the count of its samples; false: no memory. */
    bool (*encode)(void *arg, const struct batch *b, struct buf *ops);
    /* Does one operation. *done: how much of it was done by an earlier attempt, in units of the
     * kind; the kind adds what is done now when it has to stop in the middle, and a later attempt,
     * by another process perhaps, goes on there. DELIVERY_KEPT: asking again changes nothing, but
     * somebody with other credentials or at another URL may. */
    enum delivery (*send)(void *arg, const struct spool_op *op, uint64_t *done, struct attempt *a);
    /* More operations for the head of a file; or NULL. */
    void (*add_head)(void *arg, struct buf *head);
    /* Something was put aside, or sent from the file; or NULL. */
    void (*after)(void *arg);
};

struct spooler {
    struct spooler_plan plan;
    struct spool spool;
    char id[UUID_BYTES];    /* of the output, part of the file's name */
    struct buf ops;         /* of the batch */
    size_t at;              /* … of which so much is done … */
    uint64_t done;          /* … and so much of the operation there */
    size_t count_at;        /* … where it says how many samples are in it */
    uint64_t lacking;       /* … and so many of them lack something */
    bool is_refused;        /* … and some of it was refused */
    bool spool_is_refused;  /* … and of the spool, since its last count of samples */
    uint64_t spool_lacking; /* … and so many figures of them */
    uint64_t spool_done;    /* of the operation where the spool goes on */
    bool is_elsewhere;      /* the spool goes to another destination than it was for */
    bool is_mark_due;       /* how far the spool was sent is to be marked in it */
    uint64_t next_ns;       /* when the server is asked again for what is put aside */
    uint64_t wait_ns;
    int spool_failure; /* the last one, or 0 */
    char why[256];     /* the last failure, or "" */
};

/* From open() of the kind: reads the options of the spool. 0, or -errno and a sentence. */
int spooler_init(struct spooler *s, const struct spooler_plan *plan, struct toll_error *e);
void spooler_done(struct spooler *s);

/* For deliver() and leave() of the kind. */
enum delivery spooler_deliver(struct spooler *s, const struct batch *b, struct attempt *a);
enum delivery spooler_leave(struct spooler *s, const struct batch *b, struct attempt *a);

/* Sends what is in the spool. DELIVERY_DONE: all of it, and the file is gone. */
enum delivery spooler_send(struct spooler *s, struct attempt *a);

/* Whether an answer is about the caller, not about what was sent: no request will be taken before
 * somebody has changed the password or the URL. */
bool spooler_is_for_others(int http_status);

/* "KIND:URL" of the sink as a spool has it, without secrets. */
void spooler_add_url(struct buf *b, const struct sink *s);

/* ==== Spool send ============================================================================== */

/* Sends what an output has put aside in a spool. */

/* As toll_send says. */
int spool_send(const char *path, const char *destination, struct toll_sent *ret,
               struct toll_error *e);
