/* SPDX-License-Identifier: MIT
 * What NETLINK_SOCK_DIAG tells of TCP sockets: answers to a dump, and last words of sockets. */
#pragma once

#include "base/scan.h"
#include "base/util.h"

enum inet_diag_kind {
    INET_DIAG_ANSWER_SOCKET,
    INET_DIAG_ANSWER_DONE,  /* the dump is complete */
    INET_DIAG_ANSWER_ERROR, /* … or ended with `error` */
    INET_DIAG_ANSWER_OTHER, /* to be passed over */
};

struct inet_diag_answer {
    enum inet_diag_kind kind;
    uint32_t sequence; /* of the request that is answered */
    int error;         /* -errno */
    /* of a socket */
    bool has_bytes; /* since Linux 4.1 */
    uint32_t inode; /* 0 when no descriptor leads to it: not accepted yet, or closed */
    uint64_t cookie;
    uint64_t received_bytes; /* in order; the end of the connection counts as one */
    uint64_t sent_bytes;     /* and acknowledged */
};

/* Takes the next message off what was received: 1; 0 at the end; -EBADMSG when the lengths in it
 * lead outside, or a socket of another protocol or none is told of. */
int parse_inet_diag(struct scan *messages, struct inet_diag_answer *ret);
