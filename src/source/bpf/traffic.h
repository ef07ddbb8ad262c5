/* SPDX-License-Identifier: MIT
 * What the sockets of a cgroup (version 2) receive and send, counted by a program that the kernel
 * runs for each packet (cgroup_skb). Needs CAP_BPF and CAP_NET_ADMIN, and Linux 5.8.
 *
 * A socket belongs to the cgroup in which it was created, and to those above; one that a process
 * has brought along from elsewhere is not counted. On loopback a byte is sent once and received
 * once. */
#pragma once

#include "base/util.h"

enum traffic_direction { TRAFFIC_RECEIVED, TRAFFIC_SENT, TRAFFIC_DIRECTIONS };
enum traffic_protocol { TRAFFIC_TCP, TRAFFIC_UDP, TRAFFIC_OTHER, TRAFFIC_PROTOCOLS };
enum traffic_family { TRAFFIC_IPV4, TRAFFIC_IPV6, TRAFFIC_FAMILIES };

/* Payload is what follows the headers of IP and of TCP or UDP, repeated segments included. Wire
 * bytes have these headers, once for each packet, and not those of Ethernet. A large segment that
 * the kernel or the card cuts into packets counts as those packets. */
struct traffic_count {
    uint64_t payload_bytes, packets, wire_bytes;
};

struct traffic_counts {
    struct traffic_count of[TRAFFIC_DIRECTIONS][TRAFFIC_FAMILIES][TRAFFIC_PROTOCOLS];
};

struct traffic {
    int links[TRAFFIC_DIRECTIONS];       /* owned; -1: closed */
    const struct traffic_counts *counts; /* shared with the kernel; NULL: not open */
};

#define TRAFFIC_CLOSED ((struct traffic){.links = {-1, -1}})

/* Counts from now on. directory: of the cgroup. 0, or -errno: -EPERM without the capabilities or
 * when a program of a cgroup above forbids others, -EINVAL or -ENOSYS when the kernel is old. */
int traffic_open(struct traffic *t, int directory);
/* Whether the kernel accepts the program, which is not attached to anything. 0 or -errno. */
int traffic_check(void);
void traffic_close(struct traffic *t);

/* Costs no system call. */
void traffic_read(const struct traffic *t, struct traffic_counts *ret);

/* The sum over both families. */
struct traffic_count traffic_of(const struct traffic_counts *c, enum traffic_direction direction,
                                enum traffic_protocol protocol);
