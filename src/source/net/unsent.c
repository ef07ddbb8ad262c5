/* SPDX-License-Identifier: MIT */
#include "source/net/unsent.h"

#include "base/io/file.h"

#include <fcntl.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>

enum { ANSWER_BYTES = 32768, ANSWER_MS = 100 };

/* Of a connection that is closing, the end itself counts as one byte. */
enum { END_BYTES = 1 };

/* Linux 5.8; older headers do not have it. */
#ifndef INET_DIAG_CGROUP_ID
#define INET_DIAG_CGROUP_ID 21
#endif

struct unsent {
    int fd;
    uint64_t cgroup;
    bool found;
};

/* The attributes of a socket follow its fixed part. */
static bool unsent_is_of_cgroup(const char *at, size_t length, uint64_t cgroup)
{
    struct nlattr a;
    while (length >= sizeof a) {
        memcpy(&a, at, sizeof a);
        if (a.nla_len < sizeof a || a.nla_len > length)
            return false;
        uint64_t id;
        if ((a.nla_type & NLA_TYPE_MASK) == INET_DIAG_CGROUP_ID &&
            a.nla_len == sizeof a + sizeof id) {
            memcpy(&id, at + sizeof a, sizeof id);
            return id == cgroup;
        }
        size_t step = min_u64(NLA_ALIGN(a.nla_len), length);
        at += step;
        length -= step;
    }
    return false;
}

/* 1: the dump goes on, 0: it is complete, or -errno. */
static int unsent_take(struct unsent *u, const char *at, size_t length)
{
    struct nlmsghdr header;
    while (length >= sizeof header) {
        memcpy(&header, at, sizeof header);
        if (header.nlmsg_len < sizeof header || header.nlmsg_len > length)
            return -EBADMSG;
        struct inet_diag_msg socket;
        size_t payload = header.nlmsg_len - sizeof header;
        if (header.nlmsg_type == NLMSG_DONE)
            return 0;
        if (header.nlmsg_type == NLMSG_ERROR)
            return -EOPNOTSUPP;
        if (header.nlmsg_type == SOCK_DIAG_BY_FAMILY && payload >= sizeof socket) {
            const char *rest = at + sizeof header + sizeof socket;
            memcpy(&socket, at + sizeof header, sizeof socket);
            u->found |= socket.idiag_wqueue > END_BYTES &&
                        unsent_is_of_cgroup(rest, payload - sizeof socket, u->cgroup);
        }
        size_t step = min_u64(NLMSG_ALIGN(header.nlmsg_len), length);
        at += step;
        length -= step;
    }
    return 1;
}

static int unsent_dump(struct unsent *u, int family)
{
    struct {
        struct nlmsghdr header;
        struct inet_diag_req_v2 body;
    } request = {
        .header = {.nlmsg_len = sizeof request,
                   .nlmsg_type = SOCK_DIAG_BY_FAMILY,
                   .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP},
        .body = {.sdiag_family = (unsigned char)family,
                 .sdiag_protocol = IPPROTO_TCP,
                 .idiag_states = 1U << TCP_FIN_WAIT1 | 1U << TCP_CLOSING | 1U << TCP_LAST_ACK},
    };
    if (send(u->fd, &request, sizeof request, 0) < 0)
        return -errno;
    char answer[ANSWER_BYTES];
    for (;;) {
        struct pollfd p = {.fd = u->fd, .events = POLLIN};
        if (poll(&p, 1, ANSWER_MS) <= 0)
            return -ETIMEDOUT;
        ssize_t n = recv(u->fd, answer, sizeof answer, 0);
        if (n < 0)
            return -errno;
        int r = unsent_take(u, answer, (size_t)n);
        if (r <= 0)
            return r;
    }
}

int unsent_of_cgroup(uint64_t cgroup)
{
    CLEANUP_CLOSE int fd = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
    struct unsent u = {.fd = fd, .cgroup = cgroup};
    if (fd < 0)
        return -errno;
    int r = unsent_dump(&u, AF_INET);
    if (r == 0)
        unsent_dump(&u, AF_INET6); /* which a kernel need not have */
    return r < 0 ? r : u.found;
}

/* ==== Sockets brought along =================================================================== */

static void unsent_look_at_own(void *arg, const char *name)
{
    bool *found = arg;
    int fd = 0;
    for (const char *at = name; *at; at++)
        fd = *at >= '0' && *at <= '9' && fd < 1 << 24 ? fd * 10 + (*at - '0') : -1;
    int domain = 0, flags = fd >= 0 ? fcntl(fd, F_GETFD) : -1;
    socklen_t length = sizeof domain;
    if (flags < 0 || (flags & FD_CLOEXEC) ||
        getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &length) < 0)
        return;
    *found |= domain == AF_INET || domain == AF_INET6;
}

bool sockets_are_inherited(const struct sysroot *root)
{
    bool found = false;
    CLEANUP_CLOSE int dir = openat(root->proc, "self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return dir < 0 || file_each_entry(dir, unsent_look_at_own, &found) < 0 || found;
}
