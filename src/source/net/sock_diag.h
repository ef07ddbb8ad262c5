/* SPDX-License-Identifier: MIT
 * The kernel's lists of TCP sockets with what each has carried, by netlink. */
#pragma once

#include "base/io/file.h"
#include "base/text/scan.h"

#include <linux/inet_diag.h>
#include <stdalign.h>
#include <sys/types.h>

/* ==== Inet diag =============================================================================== */

/* Messages of NETLINK_SOCK_DIAG about TCP sockets: answers to a dump, and notices of their end. */

enum inet_diag_kind {
    INET_DIAG_ANSWER_SOCKET,
    INET_DIAG_ANSWER_DONE,  /* the dump is complete */
    INET_DIAG_ANSWER_ERROR, /* the dump ended with `error` */
    INET_DIAG_ANSWER_OTHER, /* ignore it */
};

struct inet_diag_answer {
    enum inet_diag_kind kind;
    uint32_t sequence; /* of the request that is answered */
    int error;         /* -errno */
    /* of a socket */
    uint8_t family;
    struct inet_diag_sockid id; /* addresses and cookie, to ask for it again */
    bool has_bytes;             /* since Linux 4.1 */
    uint32_t inode;             /* 0 when no descriptor leads to it: not accepted yet, or closed */
    uint64_t cookie;
    uint64_t received_bytes; /* in order; the end of the connection counts as one */
    uint64_t sent_bytes;     /* and acknowledged */
    uint32_t unsent_bytes;   /* of a connection that is closing, the end itself counts as one */
    uint64_t cgroup;         /* its number since Linux 5.8; otherwise 0 */
};

/* Takes the next message off what was received: 1; 0 at the end; -EBADMSG when a length in it is
 * too large, or the socket is not one of TCP. */
int parse_inet_diag(struct scan *messages, struct inet_diag_answer *ret);

/* ==== Sock diag =============================================================================== */

/* The kernel's list of TCP sockets of our network namespace (NETLINK_SOCK_DIAG), and its notices of
 * sockets that end (SKNLGRP_INET_TCP_DESTROY), which stay in a large buffer until they are read. */

struct sock_diag {
    int dumps;
    int end_notices; /* -1: this kernel has none (before Linux 4.3) */
    uint32_t states; /* of the sockets in dumps, a bit each; after opening, all that carry bytes */
    uint32_t sequence;
    alignas(8) char answer[32768]; /* the kernel never puts more into one answer to a dump */
};

/* 0, or -errno when the kernel cannot list sockets. */
int sock_diag_open(struct sock_diag *d);
void sock_diag_close(struct sock_diag *d);

/* Calls visit with every socket of the family (AF_INET, AF_INET6; AF_UNSPEC for both) in one of the
 * states. 0 or -errno, when some may be missing. */
int sock_diag_dump(struct sock_diag *d, int family,
                   void (*visit)(void *arg, const struct inet_diag_answer *socket), void *arg);

/* Calls visit with each of these sockets that still carries bytes, at most SOCK_DIAG_QUESTIONS of
 * them: cheaper than a dump, which goes through the kernel's whole table, where they are few. 0 or
 * -errno, when some may be missing. */
struct sock_diag_question {
    uint8_t family;
    struct inet_diag_sockid id;
};

enum { SOCK_DIAG_QUESTIONS = 32 };

int sock_diag_ask(struct sock_diag *d, const struct sock_diag_question *questions, unsigned count,
                  void (*visit)(void *arg, const struct inet_diag_answer *socket), void *arg);

/* Calls visit with every socket that has ended since the last time. False when some were lost:
 * there were too many. */
bool sock_diag_read_ends(struct sock_diag *d,
                         void (*visit)(void *arg, const struct inet_diag_answer *socket),
                         void *arg);

/* ==== Connections made ======================================================================== */

/* How many connections were made in a network namespace, from either side, by the text of
 * /proc/net/snmp. As long as the number stays, there is no new socket that carries bytes. 0, or
 * -EBADMSG. */
int parse_connections_made(struct scan text, uint64_t *ret);

/* ==== What a count of packets misses ========================================================== */

/* Whether TCP connections of the cgroup that are closed have data that was not acknowledged yet: 1,
 * 0, or -errno when the kernel does not list them. In the network namespace of the caller, and of
 * sockets created in exactly this cgroup. */
int unsent_of_cgroup(uint64_t cgroup);

/* Whether a command that this process starts inherits a socket of IPv4 or IPv6; also true when that
 * cannot be known. */
bool sockets_are_inherited(const struct sysroot *root);
