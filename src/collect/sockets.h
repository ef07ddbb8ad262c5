/* SPDX-License-Identifier: MIT
 * Bytes that targets receive and send over TCP, without privileges: the kernel lists the sockets of
 * our network namespace with what each has carried (NETLINK_SOCK_DIAG), and the descriptors of
 * processes show whose they are.
 *
 * It is a lower bound, TCP only and sampled: exact for sockets that were seen alive, because their
 * last words come after their end, while a connection that came and went between two reads is
 * nobody's. Payload is counted, not what headers and repeated segments add to it.
 *
 * At each sample: sockets_read, then sockets_owner for the members, then sockets_total. */
#pragma once

#include "base/sysroot.h"
#include "base/util.h"

#include <sys/types.h>

struct sockets;

/* The sockets that are there now count from now on, later ones from their birth. since_start: the
 * targets were started for this measuring, so that what they have counts from its birth, unless
 * they have inherited it from us. root is borrowed.
 * 0; -ENOENT in a recorded tree, which has no sockets; -errno when the kernel cannot list them. */
int sockets_open(struct sockets **ret, const struct sysroot *root, bool since_start);
void sockets_close(struct sockets *s);

/* Brings the totals up to date with the kernel. */
void sockets_read(struct sockets *s);

/* The sockets of a process belong to these targets (bits). To be called for members that are new or
 * have run since the last call; costs next to nothing when no socket came since. */
void sockets_owner(struct sockets *s, pid_t pid, uint64_t targets);

/* The last read: waits some milliseconds when last words are outstanding. */
void sockets_finish(struct sockets *s);

/* What a target has received and sent, which never falls. False when that is not known: the kernel
 * does not count it (before Linux 4.1), or nobody's descriptors could be looked at. */
bool sockets_total(const struct sockets *s, unsigned target, uint64_t *ret_received,
                   uint64_t *ret_sent);
