/* SPDX-License-Identifier: MIT
 * Network bytes of the targets: by the interfaces of a namespace of their own, by the packets of
 * their own cgroup, or by their TCP sockets. Only when asked for: listing sockets costs more than
 * all the rest. */
#pragma once

#include "engine/target/tracked.h"

struct sockets;

struct network {
    struct sockets *sockets; /* owned, NULL: not available */
    uint64_t next_ns;
    bool has_noted_denied; /* that descriptors of a member may not be looked at */
};

/* Before the command starts: counts the packets of the cgroup that it will be born in, from its
 * directory; -1: it has none of its own. Without the capabilities for it other sources are used. */
void network_prepare(struct tracked *t, int cgroup);

/* The command is not in that cgroup after all. */
void network_abandon(struct tracked *t);

void network_open(struct network *n, struct tracked *t);
void network_close(struct network *n, struct tracked *t);

/* After the walk: brings the totals up to date, when it is time. has_left: a member left the cgroup
 * of its target. */
void network_tick(struct network *n, struct tracked *t, const struct frame *f, bool has_left);

/* Puts the bytes of a target into the row; nothing when they are not known. */
void network_count(const struct network *n, const struct tracked *t, const struct target *g,
                   struct row *ret);

/* How good they are; no source when they were not asked for. */
struct provenance network_quality(const struct tracked *t, const struct target *g);
struct provenance network_packets_quality(const struct tracked *t, const struct target *g);
