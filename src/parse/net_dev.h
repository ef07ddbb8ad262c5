/* SPDX-License-Identifier: MIT
 * /proc/PID/net/dev: the network interfaces of the namespace a process is in. */
#pragma once

#include "base/scan.h"
#include "base/util.h"

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
