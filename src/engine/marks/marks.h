/* SPDX-License-Identifier: MIT
 * From marks as they were sent to phases with figures, in the summary and the record.
 *
 * A step collects the marks that have come. When a phase begins or ends, the step takes a sample at
 * once, so that short phases have figures too; all such samples together keep to a share of one
 * core. A phase without a sample has unknown figures. */
#pragma once

#include "base/text/buf.h"
#include "engine/launch.h"
#include "engine/outputs.h"
#include "engine/step.h"
#include "engine/target/tracked.h"
#include "metric/frame.h"
#include "summary/phases.h"
#include "toll.h"

#include <pthread.h>
#include <sys/un.h>

/* ==== Mark queue ============================================================================== */

/* Marks of the program itself on their way to the thread that measures. From any thread. */

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

/* ==== Mark socket ============================================================================= */

/* Where the marks of a command arrive: a socket in a directory that only the user can enter. */

/* The variable with the address to which a command sends its marks. */
#define MARK_SOCKET_VARIABLE "TOLL_SOCKET"

struct mark_socket {
    int fd; /* -1: not there */
    pid_t owner;
    char directory[sizeof((struct sockaddr_un *)0)->sun_path];
    struct sockaddr_un address;
};

/* 0 or -errno; then nothing is left behind. */
int mark_socket_open(struct mark_socket *s);

/* Removes it with its directory, and some that a toll which was killed left beside it. Accepts one
 * that is not there; in a forked child nothing is removed. */
void mark_socket_close(struct mark_socket *s);

/* The variable, for a command. 0 or -ENOMEM. */
int mark_socket_export(const struct mark_socket *s, struct environment *e);

/* One mark: its length and whose it is. -EAGAIN when there is none; -EPERM for one of another user,
 * -EMSGSIZE for one that is too long. */
ssize_t mark_socket_receive(const struct mark_socket *s, char *text, size_t capacity,
                            pid_t *ret_sender);

/* ==== Marks =================================================================================== */

struct mark_waiting;

struct marks {
    struct mark_queue queue;      /* of this program, from any thread */
    struct mark_socket socket;    /* of a command */
    int failure;                  /* why there is no socket, or 0 */
    struct mark_waiting *waiting; /* owned: collected in this step */
    size_t waiting_count;
    size_t waiting_capacity;
    struct phases phases;
    struct row summed; /* what the process summed_pid and its descendants have used */
    pid_t summed_pid;
    uint64_t summed_tick;
    uint64_t refreshed_ns;  /* of the last sample, see phase_figures_look; 0: not asked */
    uint64_t looks_cost_ns; /* CPU time of all samples for marks */
    uint64_t look_cost_ns;  /* CPU time of the last one */
    bool looks_rest;        /* too much was used: no more samples for now */
    /* Borrowed: */
    struct tracked *tracked;
    struct outputs *outputs;
    const struct frame *frame;  /* the last sample */
    struct mark_totals *totals; /* of the summary */
};

void marks_init(struct marks *m);
void marks_done(struct marks *m);

/* Makes the socket for a command that is about to be launched. Without one the run goes on. */
void marks_listen(struct marks *m, const struct wakeup *w);

/* Collects what has come. True when a sample is wanted before it is applied, and may be taken. */
bool marks_collect(struct marks *m);

/* A sample was taken for them, at that CPU time. */
void marks_sampled(struct marks *m, uint64_t cost_ns);

/* Begins and ends the phases that were collected. */
void marks_apply(struct marks *m);

/* The targets were folded: brings the figures of open phases up to date. */
void marks_look(struct marks *m);

/* The run is over: before its last sample, and after. */
void marks_close(struct marks *m);
void marks_finish(struct marks *m);

/* A mark of a recorded run. */
void marks_apply_one(struct marks *m, const struct mark_text *text, uint64_t at_ns);

/* ==== Phase record ============================================================================ */

/* A record of toll in the place of the files of code blocks. */

/* The files that the record is written to, for as long as they are read. */
struct phase_record {
    char *directory; /* owned, and gone with it */
    struct buf points, blocks;
};

/* Writes what a record with one run has as a tracking file and a sub-tracking file. 1; 0 when the
 * path is not that of a record, which may be the tracking file itself. */
int phase_record_open(struct phase_record *ret, const char *path, struct toll_error *e);
void phase_record_close(struct phase_record *p);

/* ==== Mark client =========================================================================== */

/* Sending a mark to the `toll run` around this program. */

/* Whether there may be somebody who listens; costs nothing. */
bool mark_client_has_listener(void);

/* Adds what is known about the mark, and sends it: 0; 1 when no tracker listens; -EAGAIN when the
 * listener does not keep up, which the next mark reports; -errno. */
int mark_client_send(struct buf *text);
