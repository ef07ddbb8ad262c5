/* SPDX-License-Identifier: MIT
 * What could not be sent is kept in a spool file, for later.
 *
 * A kind of sink with a spool encodes a batch as operations, and sends one operation at a time.
 * When the server is away for longer, operations go to the file; when it is back, the file is sent
 * first. What is left at the end of the grace period stays in the file, for toll resend. */
#pragma once

#include "base/text/buf.h"
#include "base/text/scan.h"
#include "sink/sender.h"
#include "sink/sink.h"
#include "toll.h"

/* ==== Operations ============================================================================== */

/* What is sent and what is in the file are the same bytes. An operation is a line with its kind, a
 * name or "-", and the length of its body, then the body and a newline. Those of every sink:
 *
 *     toll-spool mlflow 36   first in a file: the kind of sink; the body is the id of the output
 *     0193…
 *     to - 26                the destination
 *     mlflow:http://localhost:5000
 *     samples 12 0           the operations since the last such line have 12 samples
 *     sent 4711 0            the first 4711 bytes of the file were sent to its destination; a body
 *                            is the number of figures of the next operation that were sent
 *     skip 20 0              the first 20 figures of the next operation were sent before
 *
 * Those of remote write and OTLP:
 *
 *     request 105 2150       105 figures: the protocol buffer, not compressed
 *     request metadata 900   descriptions of metrics; samples are complete without them
 *
 * Those of MLflow, whose bodies are JSON objects without the ID of the run:
 *
 *     create - 30            makes the run of all other operations
 *     run ID 0               the run was made and has this ID
 *     batch - 53             metrics and tags
 *     {"metrics":[{"key":"system/target_threads",…}]}
 *     params - 58            as a batch; if refused, nothing else is refused with it
 *     artifact toll/summary.json 2150    its path, encoded for a URL
 *     update - 46            how the run ended
 */

enum spool_op_kind {
    SPOOL_HEAD,
    SPOOL_TO,
    SPOOL_CREATE,
    SPOOL_EXPERIMENT,
    SPOOL_RUN,
    SPOOL_BATCH,
    SPOOL_PARAMS,
    SPOOL_ARTIFACT,
    SPOOL_UPDATE,
    SPOOL_SAMPLES,
    SPOOL_SENT,
    SPOOL_REQUEST,
    SPOOL_SKIP,
    SPOOL_OPS
};

struct spool_op {
    enum spool_op_kind kind;
    struct scan name; /* empty for "-" */
    struct scan body;
};

/* The name has neither blanks nor newlines in it. */
void spool_op_add(struct buf *b, enum spool_op_kind kind, const char *name, const char *body,
                  size_t length);

/* 1: *ret is the next operation, and the text is moved after it. 0: the end. -EBADMSG: malformed or
 * cut short. */
int spool_op_next(struct scan *text, struct spool_op *ret);

/* ==== The file ================================================================================ */

/* Made when it is needed, readable by its owner alone, removed when all of it was sent. */
struct spool_file {
    char *path;          /* owned; NULL: nothing is kept */
    struct buf head;     /* what a new file begins with */
    int fd;              /* -1: no file yet */
    uint64_t length;     /* of the file */
    uint64_t sent;       /* bytes of it that were sent */
    uint64_t most_bytes; /* limit of its length; 0: none */
    bool is_ours;        /* in the state directory, which is made when it is needed */
};

/* kind: of the sink, for the file name and error messages; file: a path, "none", or NULL for a file
 * in the state directory of the user with the id in its name. Makes nothing, but checks the path:
 * -EINVAL and a sentence. */
int spool_file_init(struct spool_file *f, const char *kind, const char *file, const char *id,
                    struct toll_error *e);

bool spool_file_has_unsent(const struct spool_file *f);

/* Adds all of the data or nothing. A new file gets a number after its name when the name is taken.
 * is_last: data that must not be missing, whatever the limit. 0 or -errno; -EFBIG: limit reached.
 */
int spool_file_add(struct spool_file *f, const char *data, size_t length, bool is_last);

/* Opens and locks an existing file, to be sent. -EBUSY: another toll writes to it; -EBADMSG: not a
 * regular file. */
int spool_file_open(struct spool_file *f, const char *path);

/* Calls visit with every operation from *at on, and moves *at after those for which it returned 0;
 * another result ends the loop and is returned. 0 at the end; -EBADMSG: malformed or cut short. */
int spool_file_each(const struct spool_file *f, uint64_t *at,
                    int (*visit)(void *arg, const struct spool_op *op), void *arg);

void spool_file_remove(struct spool_file *f);

/* Closes the file, and removes it when all of it was sent. */
void spool_file_done(struct spool_file *f);

/* ==== The spool of a sink ===================================================================== */

#define SINK_SPOOL_OPTIONS                                                                         \
    SINK_OPTION("spool", "FILE", "",                                                               \
                "file for samples that cannot be sent, or 'none'; otherwise one below "            \
                "~/.local/state/toll",                                                             \
                OPTION_TEXT),                                                                      \
        SINK_OPTION("spool_size", "SIZE", "1GiB",                                                  \
                    "size limit of the spool; when reached, samples are lost", OPTION_SIZE)

struct spool {
    struct sink *sink; /* borrowed */
    struct spool_file file;
    char id[UUID_BYTES]; /* of the output, part of the file's name */

    /* The batch in work. */
    struct buf ops;
    size_t at;        /* bytes of ops that are done */
    uint64_t done;    /* figures of the operation there that are done */
    size_t count_at;  /* where ops has its number of samples */
    uint64_t lacking; /* samples that lack figures */
    bool is_refused;  /* some of it was refused */

    /* The file. */
    bool file_is_refused;  /* something was refused since its last number of samples */
    uint64_t file_lacking; /* samples since then that lack figures */
    uint64_t file_done;    /* figures of its next operation that are done */
    bool is_elsewhere;     /* it goes to another destination than it was written for */
    bool is_mark_due;      /* file.sent has to be written to it */

    uint64_t next_ns; /* when the server is asked again, while something is in the file */
    uint64_t wait_ns;
    int failure;   /* of writing the file, the last one, or 0 */
    char why[256]; /* the last failure to send, or "" */
};

/* Of a kind with encode() and send(); reads the options of the spool. 0, or -errno and a sentence.
 * spool_free accepts NULL. */
int spool_new(struct spool **ret, struct sink *sink, struct toll_error *e);
void spool_free(struct spool *s);

/* The callbacks of the sender. */
enum delivery spool_deliver(struct spool *s, const struct batch *b, struct attempt *a);
enum delivery spool_leave(struct spool *s, const struct batch *b, struct attempt *a);

/* Sends the file. DELIVERY_DONE: all of it, and it is removed. */
enum delivery spool_send_file(struct spool *s, struct attempt *a);

/* toll_send of the public API. */
int spool_send(const char *path, const char *destination, struct toll_sent *ret,
               struct toll_error *e);
