/* SPDX-License-Identifier: MIT
 * A small server for those who scrape: GET and HEAD of /metrics, a connection for each, some at a
 * time, each with a limit of time and of bytes. It has a thread of its own. */
#pragma once

#include "base/text/buf.h"
#include "base/util.h"
#include "toll.h"

/* ==== Om server =============================================================================== */

/* What is served: adds the text; open: as OpenMetrics, otherwise as the older text. Called in the
 * thread. */
typedef void om_server_text(void *arg, bool open, struct buf *b);

struct om_server;

/* fd listens, and is closed by the caller after the server has ended. Begins to answer. 0 or
 * -errno. */
int om_server_start(struct om_server **ret, int fd, om_server_text *text, void *arg);
/* Whether only programs of this machine can reach it. */
bool om_server_is_local(const struct om_server *s);

pid_t om_server_thread(const struct om_server *s);

/* How often it was asked for the text, and how much it gave. */
void om_server_count(struct om_server *s, uint64_t *ret_scrapes, uint64_t *ret_bytes);

/* Ends at once. Accepts NULL. */
void om_server_stop(struct om_server *s);

/* ==== Om address ============================================================================== */

/* Where to listen: "HOST:PORT", "[::1]:PORT" or ":PORT", which is loopback. */

bool om_address_is(const char *text);

/* Whether its port is 0: any that is free, as the kernel chooses. */
bool om_address_has_any_port(const char *text);

/* *ret_fd is the socket. -EINVAL, -EADDRINUSE, … and a sentence. */
int om_address_listen(const char *address, int *ret_fd, struct toll_error *e);

/* Where a socket really listens: "127.0.0.1:40123", "[::1]:40123". False: it cannot be found out.
 */
bool om_address_name(int fd, char *ret, size_t capacity);

/* ==== Om request ============================================================================== */

/* What somebody asks of the endpoint: the head of a request, from anybody who can connect. */

enum om_verdict {
    OM_SERVE,
    OM_BAD,    /* no HTTP/1 */
    OM_METHOD, /* neither GET nor HEAD */
    OM_PATH,   /* not /metrics, a query may follow it */
    OM_HOST,   /* a name that is not this machine's */
};

struct om_request {
    bool is_head;
    bool wants_openmetrics; /* its Accept names it, as Prometheus writes it */
};

/* The head has come to its end. */
bool om_request_is_whole(const char *text);

/* local_only: the server listens on loopback. Then a Host that is neither an address nor a name of
 * this machine is a page of somebody else, whose name was made to mean 127.0.0.1 so that a browser
 * lets it read here. */
enum om_verdict om_request_read(const char *text, bool local_only, struct om_request *ret);
