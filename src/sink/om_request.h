/* SPDX-License-Identifier: MIT
 * What somebody asks of the endpoint: the head of a request, from anybody who can connect. */
#pragma once

#include "base/util.h"

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
