/* SPDX-License-Identifier: MIT
 * A small server for those who scrape: GET and HEAD of /metrics, a connection for each, some at a
 * time, each with a limit of time and of bytes. It has a thread of its own. */
#pragma once

#include "base/buf.h"
#include "toll.h"

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
