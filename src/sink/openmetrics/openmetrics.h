/* SPDX-License-Identifier: MIT
 * The parts of the sink for OpenMetrics: a file with all samples, and a small server. */
#pragma once

#include "base/text/buf.h"
#include "base/util.h"
#include "sink/points.h"
#include "toll.h"

/* ==== File (openmetrics.c) ==================================================================== */

/* All samples of a run in one OpenMetrics file, with their times.
 *
 * OpenMetrics wants the samples of a series one after the other, and they come one of each at a
 * time. During the run lines are added as they come, each family described before its first line:
 * after a kill the file has whole lines and lacks only "# EOF" (promtool accepts the order). The
 * points are also kept in a file without a name; at the end they are written in order to another
 * file, which replaces the first. */
struct om_file {
    struct points *points; /* borrowed */
    int fd;                /* borrowed: the file itself */
    bool is_regular;       /* not a pipe or a device */
    bool is_cut;           /* a reader took only half of a text */
    const char *path;      /* borrowed; NULL: it cannot be replaced, such as a pipe */
    int points_fd;         /* all points; -1: not kept */
    uint64_t *counts;      /* owned: points in points_fd, by series */
    size_t series_count;
    uint64_t families[ENTITY_TARGET + 1]; /* bits of metrics that were described, by kind */
    struct buf text;
    uint64_t bytes;        /* in the file */
    size_t points_at_once; /* limit of memory for putting them in order; 0: 4 million */
};

/* Only a regular file is replaced. */
void om_file_init(struct om_file *f, struct points *points, int fd, const char *path);
void om_file_done(struct om_file *f);

/* Writes the lines of a chunk. -errno: nothing of it is in the file. */
int om_file_add(struct om_file *f, const char *chunk, size_t length);

/* Puts the lines in order, or adds "# EOF" where that is not possible. 0 or -errno. */
int om_file_finish(struct om_file *f);

/* ==== Server (server.c) ======================================================================= */

/* Answers GET and HEAD of /metrics on its own thread: several connections at a time, one request
 * each, with limits of time and size. */
struct om_server;

/* Adds what is served. open: as OpenMetrics, otherwise as the older text format. In the thread. */
typedef void om_server_text(void *arg, bool open, struct buf *b);

/* fd listens; the caller closes it after om_server_stop. 0 or -errno. */
int om_server_start(struct om_server **ret, int fd, om_server_text *text, void *arg);

/* Whether it listens on loopback. */
bool om_server_is_local(const struct om_server *s);

pid_t om_server_thread(const struct om_server *s);

/* How often the text was served, and its bytes. */
void om_server_count(struct om_server *s, uint64_t *ret_scrapes, uint64_t *ret_bytes);

/* Ends at once. Accepts NULL. */
void om_server_stop(struct om_server *s);

/* Addresses to listen at: "HOST:PORT", "[::1]:PORT" or ":PORT", which is loopback. */
bool om_address_is(const char *text);

/* Whether the port is 0: the kernel chooses. */
bool om_address_has_any_port(const char *text);

/* *ret_fd is the socket. -EINVAL, -EADDRINUSE, … and a sentence. */
int om_address_listen(const char *address, int *ret_fd, struct toll_error *e);

/* The address of a listening socket: "127.0.0.1:40123", "[::1]:40123". False: unknown. */
bool om_address_name(int fd, char *ret, size_t capacity);

enum om_check {
    OM_SERVE,
    OM_BAD,    /* not HTTP/1 */
    OM_METHOD, /* neither GET nor HEAD */
    OM_PATH,   /* not /metrics; a query may follow it */
    OM_HOST,   /* not a name of this machine */
};

struct om_request {
    bool is_head;
    bool wants_openmetrics; /* by its Accept header, as Prometheus writes it */
};

/* Whether the head of a request is complete. */
bool om_request_is_whole(const char *text);

/* Reads the head of a request, which may come from anywhere. local_only: the server listens on
 * loopback. A Host that is neither an address nor a name of this machine is then DNS rebinding: a
 * web page whose name was made to resolve to 127.0.0.1, so that a browser lets it read the answer.
 */
enum om_check om_request_read(const char *text, bool local_only, struct om_request *ret);
