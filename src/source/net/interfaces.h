/* SPDX-License-Identifier: MIT
 * /proc/PID/net/dev: the network interfaces of the namespace a process is in. */
#pragma once

#include "base/io/file.h"
#include "base/text/scan.h"
#include "base/util.h"

#include <sys/types.h>

/* ==== Net dev ================================================================================= */

/* The kernel's limit on the name of an interface; the rest is for an alias of old kernels. */
enum { NET_DEV_NAME_BYTES = 32 };

struct net_dev_way {
    uint64_t bytes;
    uint64_t packets;
    uint64_t errors;
    uint64_t dropped;
};

struct net_dev {
    char name[NET_DEV_NAME_BYTES]; /* filled up with zeros */
    struct net_dev_way received;
    struct net_dev_way sent;
};

/* Takes the next interface off the text, past the headings: 1; 0 when no whole line is left, what
 * is left then being the part of a line that is still to come; -EBADMSG when a line is not as
 * expected. */
int parse_net_dev(struct scan *text, struct net_dev *ret);

/* ==== Netif class ============================================================================= */

/* What kind of thing a network interface is, as /sys/class/net shows it. That is our own network
 * namespace only; of another one the name has to do. */

/* "loopback", "physical" or "virtual": a string that lives for ever. */
const char *netif_class(const struct sysroot *root, bool in_sys, const char *name);

/* Whether what goes over this interface goes over another one of the list too: it is part of a
 * bridge or a bond, or it is a VLAN on top of one. Of both the other one is to be counted. */
bool netif_counts_twice(const struct sysroot *root, bool in_sys, const char *name);

/* ==== Netns =================================================================================== */

/* Network namespaces of processes. A target that has one of its own has exact figures: whatever
 * goes over its interfaces is the target's. */

/* The number of the namespace that a process is in, 0 for ourselves. 0 or -errno. */
int netns_number(const struct sysroot *root, pid_t pid, uint64_t *ret);

/* 1: the process is in another network namespace than we; 0: in the same; -errno: unknown. */
int netns_compare(const struct sysroot *root, pid_t pid);

/* A descriptor of net/dev of the process, 0: of ourselves; for the caller to close, or -errno.
 * As long as it is open the kernel keeps the namespace, and with it both ends of its virtual
 * cables, also when every process in it has ended: that of a job is to be closed with its end. */
int netns_open(const struct sysroot *root, pid_t pid);

/* Bytes received and sent over all interfaces but loopback. 0 or -errno: -ENODATA when no interface
 * is listed. */
int netns_read(int net_dev, uint64_t *ret_received, uint64_t *ret_sent);

/* Calls visit with every interface in net/dev, however long that is. 0 or -errno. */
int netns_each(int net_dev, void (*visit)(void *arg, const struct net_dev *dev), void *arg);
