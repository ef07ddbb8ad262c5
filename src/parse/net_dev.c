/* SPDX-License-Identifier: MIT
 *
 * Inter-|   Receive                                                |  Transmit
 *  face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop …
 *     lo:    6534      58    0    0    0     0          0         0     6534      58    0    0 …
 *   eth0: 31595188    891    0    0    0     0          0         0    46464     550    0    0 …
 *   eth0:1:1500 …
 *
 * Eight numbers each way. Old kernels put no blank behind the colon, and list aliases, which have a
 * colon in their names: the last colon of the line ends the name.
 */
#include "parse/net_dev.h"

#include <string.h>

static const char *last_colon(const struct scan *line)
{
    return memrchr(line->at, ':', (size_t)(line->end - line->at));
}

/* A name may have the sign of the headings in it, but no heading has a colon. */
static bool is_heading(const struct scan *line)
{
    return memchr(line->at, '|', (size_t)(line->end - line->at)) && !last_colon(line);
}

static bool read_name(struct scan *line, char ret[NET_DEV_NAME_BYTES])
{
    const char *colon = last_colon(line);
    if (!colon)
        return false;
    scan_blanks(line);
    size_t length = colon > line->at ? (size_t)(colon - line->at) : 0;
    if (!length || length >= NET_DEV_NAME_BYTES || memchr(line->at, ' ', length) ||
        memchr(line->at, '\0', length))
        return false;
    memcpy(ret, line->at, length);
    line->at = colon + 1;
    return true;
}

static bool read_way(struct scan *line, struct net_dev_way *ret)
{
    uint64_t not_used;
    if (!scan_u64(line, &ret->bytes) || !scan_u64(line, &ret->packets) ||
        !scan_u64(line, &ret->errors) || !scan_u64(line, &ret->dropped))
        return false;
    for (unsigned i = 0; i < 4; i++) /* fifo, frame or collisions, carrier, compressed */
        if (!scan_u64(line, &not_used))
            return false;
    return true;
}

/* Numbers stand apart from each other, and from columns that a later kernel may add. */
static bool ends_number(const struct scan *line)
{
    return scan_done(line) || *line->at == ' ';
}

int parse_net_dev(struct scan *text, struct net_dev *ret)
{
    struct scan rest = *text, line;
    do {
        *text = rest;
        if (!scan_line(&rest, &line) || line.end == rest.at)
            return 0;
    } while (is_heading(&line));
    struct net_dev dev = {0};
    if (!read_name(&line, dev.name) || !read_way(&line, &dev.received) || !ends_number(&line) ||
        !read_way(&line, &dev.sent) || !ends_number(&line))
        return -EBADMSG;
    *text = rest;
    *ret = dev;
    return 1;
}
