/* SPDX-License-Identifier: MIT
 * Network namespaces of processes. A target that has one of its own has exact figures: whatever
 * goes over its interfaces is the target's. */
#pragma once

#include "base/sysroot.h"
#include "parse/net_dev.h"

#include <sys/types.h>

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
