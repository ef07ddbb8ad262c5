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

/* Takes the next interface off the text, past the headings: 1; 0 when no whole line is left, and
 * the text is the beginning of a line; -EBADMSG when a line is not as expected. */
int parse_net_dev(struct scan *text, struct net_dev *ret);

/* ==== Netif class ============================================================================= */

/* The kind of a network interface. /sys/class/net shows our own network namespace only (in_sys); in
 * another one the name must do. */

/* "loopback", "physical" or "virtual": a static string. */
const char *netif_class(const struct sysroot *root, bool in_sys, const char *name);

/* Whether the traffic of this interface is counted at another one too: it is part of a bridge or a
 * bond, or a VLAN on top of one. Count the other one. */
bool netif_counts_twice(const struct sysroot *root, bool in_sys, const char *name);

/* ==== Netns =================================================================================== */

/* Network namespaces of processes. A target with a namespace of its own has exact figures: all
 * traffic of the interfaces in it is the target's. */

/* The number of the namespace that a process is in, 0 for ourselves. 0 or -errno. */
int netns_number(const struct sysroot *root, pid_t pid, uint64_t *ret);

/* 1: the process is in another network namespace than we; 0: in the same; -errno: unknown. */
int netns_compare(const struct sysroot *root, pid_t pid);

/* Opens net/dev of the process, pid 0 for ourselves. A descriptor that the caller closes, or
 * -errno. While it is open the kernel keeps the namespace and both ends of its virtual cables, also
 * when every process in it has ended: close it when the job ends. */
int netns_open(const struct sysroot *root, pid_t pid);

/* Bytes received and sent over all interfaces but loopback. 0 or -errno: -ENODATA when no interface
 * is listed. */
int netns_read(int net_dev, uint64_t *ret_received, uint64_t *ret_sent);

/* Calls visit with every interface in net/dev, however long that is. 0 or -errno. */
int netns_each(int net_dev, void (*visit)(void *arg, const struct net_dev *dev), void *arg);
