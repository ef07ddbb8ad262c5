/* SPDX-License-Identifier: MIT
 * Bytes that targets receive and send over TCP, without privileges: the kernel lists the sockets of
 * our network namespace with what each has carried (NETLINK_SOCK_DIAG), and the descriptors of
 * processes show whose they are.
 *
 * It is a lower bound, TCP only and sampled: exact for sockets that were seen alive, because a
 * notice comes after their end, while a connection that began and ended between two reads belongs
 * to no target. Payload is counted, without headers and repeated segments.
 *
 * At each sample: sockets_read, then sockets_owner for the members, then sockets_total. */
#pragma once

#include "base/io/file.h"
#include "base/memory.h"
#include "base/util.h"
#include "source/net/sock_diag.h"

#include <sys/types.h>

/* ==== Sockets ================================================================================= */

struct sockets;

/* The sockets that are there now count from now on, later ones from their birth. since_start: the
 * targets were started for this measuring, so that what they have counts from its birth, unless
 * they have inherited it from us. root is borrowed.
 * 0; -ENOENT in a recorded tree, which has no sockets; -errno when the kernel cannot list them. */
int sockets_open(struct sockets **ret, const struct sysroot *root, bool since_start);
void sockets_close(struct sockets *s);

/* Brings the totals up to date with the kernel. As long as no connection was made on the machine,
 * only the sockets of the targets are asked for; else all are listed. */
void sockets_read(struct sockets *s);

/* The sockets of a process belong to these targets (bits). Call it for members that are new or have
 * run since the last call; it costs next to nothing when no socket has appeared since. 0, or
 * -EACCES when its descriptors may not be looked at. */
int sockets_owner(struct sockets *s, pid_t pid, uint64_t targets);

/* The last read: waits some milliseconds when end notices are outstanding. */
void sockets_finish(struct sockets *s);

/* What a target has received and sent, which never falls. False when that is unknown: the kernel
 * does not count it (before Linux 4.1), or no member's descriptors could be read. */
bool sockets_total(const struct sockets *s, unsigned target, uint64_t *ret_received,
                   uint64_t *ret_sent);

/* ==== Socket table ============================================================================ */

/* The TCP sockets of the machine, the targets they belong to, and the totals of each target.
 *
 * A socket is known by its cookie, which is unique, and found by its inode, which descriptors show.
 * What it carried is added to the totals of its targets as it grows, so that a total never falls
 * and nothing is lost when the socket is forgotten. */

struct tcp_socket {
    uint64_t cookie;
    uint64_t targets; /* bits: those that own it */
    uint64_t received_bytes, sent_bytes;
    uint64_t received_before, sent_before; /* of that, before it was to be counted */
    uint32_t inode;                        /* 0: no descriptor leads to it */
    uint32_t next;                         /* of the same place by cookie, or free; from 1 */
    uint32_t round;                        /* that saw it last; 0: this place is free */
    bool is_absent;                        /* it was asked for, and did not answer */
    struct sock_diag_question question;    /* to ask for it alone */
};

enum { SOCKET_TARGETS = 64 };

struct socket_table {
    struct tcp_socket *sockets; /* owned */
    size_t capacity;
    uint32_t used;
    uint32_t free;        /* the first free place below `used`, from 1; 0: none */
    struct map by_cookie; /* folded cookie -> first place, from 1 */
    struct map by_inode;  /* -> place, from 1 */
    uint32_t round;
    uint32_t appeared; /* counts sockets that came into reach of a descriptor */
    uint64_t received_bytes[SOCKET_TARGETS], sent_bytes[SOCKET_TARGETS];
};

void socket_table_done(struct socket_table *t);

/* Begins a round: socket_table_see is then called for every socket there is. */
void socket_table_begin(struct socket_table *t);

/* A socket exists and has carried that much in its life. Returns it, until the next call; NULL
 * without memory. */
struct tcp_socket *socket_table_see(struct socket_table *t, uint64_t cookie, uint32_t inode,
                                    uint64_t received_bytes, uint64_t sent_bytes);

/* The round is complete. Notices may still come for sockets that were not seen; when none are
 * expected, they are forgotten soon. */
void socket_table_end(struct socket_table *t, bool end_notices);

/* The notice of a socket's end. A socket that was not seen alive belongs to no target. */
void socket_table_closed(struct socket_table *t, uint64_t cookie, uint64_t received_bytes,
                         uint64_t sent_bytes);

/* What the socket has carried so far is not counted for any target. */
void socket_table_count_from_now(struct socket_table *t, uint32_t inode);
void socket_table_count_all_from_now(struct socket_table *t);

/* The socket with this inode, if there is one, belongs to these targets too. */
void socket_table_own(struct socket_table *t, uint32_t inode, uint64_t targets);

/* Whether there is a socket that does not belong to all of these targets yet, and could. */
bool socket_table_can_own(const struct socket_table *t, uint64_t targets);

/* Whether a notice is outstanding: a socket of a target was not in the last round. */
bool socket_table_waits(const struct socket_table *t);
