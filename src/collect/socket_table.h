/* SPDX-License-Identifier: MIT
 * The TCP sockets of the machine, whose they are, and what they add up to for each target.
 *
 * A socket is known by its cookie, which no other ever has, and found by its inode, which
 * descriptors show. What it carried is added to the totals of its targets as it grows, so that a
 * total never falls and nothing is lost when the socket is forgotten. */
#pragma once

#include "base/map.h"

struct tcp_socket {
    uint64_t cookie;
    uint64_t targets; /* bits: those that own it */
    uint64_t received_bytes, sent_bytes;
    uint64_t received_before, sent_before; /* of that, before it was to be counted */
    uint32_t inode;                        /* 0: no descriptor leads to it */
    uint32_t next;                         /* of the same place by cookie, or free; from 1 */
    uint32_t round;                        /* that saw it last; 0: this place is free */
};

enum { SOCKET_TARGETS = 64 };

struct socket_table {
    struct tcp_socket *sockets; /* owned */
    uint32_t used, capacity;
    uint32_t free;        /* the first free place below `used`, from 1; 0: none */
    struct map by_cookie; /* folded cookie -> first place, from 1 */
    struct map by_inode;  /* -> place, from 1 */
    uint32_t round;
    uint32_t appeared; /* counts sockets that came into reach of a descriptor */
    uint64_t received_bytes[SOCKET_TARGETS], sent_bytes[SOCKET_TARGETS];
};

void socket_table_done(struct socket_table *t);

/* A round begins, in which every socket that is there is to be told of. */
void socket_table_begin(struct socket_table *t);

/* A socket is there and has carried that much in its life. */
void socket_table_see(struct socket_table *t, uint64_t cookie, uint32_t inode,
                      uint64_t received_bytes, uint64_t sent_bytes);

/* The round is complete. Sockets that were not told of may still have last words; when none are to
 * be expected, they are forgotten soon. */
void socket_table_end(struct socket_table *t, bool last_words);

/* The last words of a socket. One that was not seen alive is nobody's. */
void socket_table_closed(struct socket_table *t, uint64_t cookie, uint64_t received_bytes,
                         uint64_t sent_bytes);

/* Whoever it belongs to, what it has carried so far is not counted. */
void socket_table_count_from_now(struct socket_table *t, uint32_t inode);
void socket_table_count_all_from_now(struct socket_table *t);

/* The socket with this inode, if there is one, belongs to these targets too. */
void socket_table_own(struct socket_table *t, uint32_t inode, uint64_t targets);

/* Whether there is a socket that does not belong to all of these targets yet, and could. */
bool socket_table_can_own(const struct socket_table *t, uint64_t targets);

/* Whether a socket of a target was not in the last round and has not said its last words. */
bool socket_table_waits(const struct socket_table *t);
