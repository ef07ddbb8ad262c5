/* SPDX-License-Identifier: MIT
 * Two netlink sockets: one asks for dumps, the other listens to last words. */
#include "collect/sock_diag.h"

#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

enum { LAST_WORDS_BYTES = 8 << 20 }; /* some 9000 sockets that end between two reads */

/* Not those that carry nothing: listening, waiting, asked for and not yet there. */
#define STATES_WITH_BYTES                                                                          \
    (BIT(TCP_ESTABLISHED) | BIT(TCP_SYN_SENT) | BIT(TCP_FIN_WAIT1) | BIT(TCP_FIN_WAIT2) |          \
     BIT(TCP_CLOSE_WAIT) | BIT(TCP_LAST_ACK) | BIT(TCP_CLOSING))

static int open_netlink(void)
{
    int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_SOCK_DIAG);
    return fd < 0 ? -errno : fd;
}

static int open_last_words(void)
{
    static const int groups[] = {SKNLGRP_INET_TCP_DESTROY, SKNLGRP_INET6_TCP_DESTROY};
    CLEANUP_CLOSE int fd = open_netlink();
    if (fd < 0)
        return fd;
    /* A socket without an address of its own is taken for the kernel's, and told nothing. */
    const struct sockaddr_nl any = {.nl_family = AF_NETLINK};
    if (bind(fd, (const struct sockaddr *)&any, sizeof any) < 0)
        return -errno;
    int bytes = LAST_WORDS_BYTES;
    if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof bytes) < 0)
        setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes);
    for (size_t i = 0; i < ARRAY_LEN(groups); i++)
        if (setsockopt(fd, SOL_NETLINK, NETLINK_ADD_MEMBERSHIP, &groups[i], sizeof groups[i]) < 0)
            return -errno;
    return take_fd(&fd);
}

int sock_diag_open(struct sock_diag *d)
{
    d->sequence = 0;
    d->last_words = -1;
    d->dumps = open_netlink();
    if (d->dumps < 0)
        return d->dumps;
    int fd = open_last_words();
    d->last_words = fd < 0 ? -1 : fd;
    return 0;
}

void sock_diag_close(struct sock_diag *d)
{
    close_p(&d->dumps);
    close_p(&d->last_words);
}

/* Length of what came, 0 when nothing is there, or -errno. An answer that is larger than the
 * buffer is none. */
static ssize_t receive(struct sock_diag *d, int fd)
{
    ssize_t n;
    do
        n = recv(fd, d->answer, sizeof d->answer, MSG_DONTWAIT | MSG_TRUNC);
    while (n < 0 && errno == EINTR);
    if (n < 0)
        return errno == EAGAIN ? 0 : -errno;
    return (size_t)n > sizeof d->answer ? -EMSGSIZE : n;
}

static int ask_for_dump(struct sock_diag *d, int family)
{
    struct {
        struct nlmsghdr header;
        struct inet_diag_req_v2 what;
    } request = {
        .header = {.nlmsg_len = sizeof request,
                   .nlmsg_type = SOCK_DIAG_BY_FAMILY,
                   .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP,
                   .nlmsg_seq = ++d->sequence},
        .what = {.sdiag_family = (uint8_t)family,
                 .sdiag_protocol = IPPROTO_TCP,
                 .idiag_ext = BIT(INET_DIAG_INFO - 1),
                 .idiag_states = STATES_WITH_BYTES},
    };
    const struct sockaddr_nl kernel = {.nl_family = AF_NETLINK};
    ssize_t n = sendto(d->dumps, &request, sizeof request, 0, (const struct sockaddr *)&kernel,
                       sizeof kernel);
    return n < 0 ? -errno : 0;
}

/* 1 when the dump is complete, 0 when more is to come, or -errno. */
static int take_answers(struct sock_diag *d, size_t length,
                        void (*visit)(void *arg, const struct inet_diag_answer *socket), void *arg)
{
    struct scan messages = scan_text(d->answer, length);
    struct inet_diag_answer a;
    int r;
    while ((r = parse_inet_diag(&messages, &a)) > 0) {
        if (a.sequence != d->sequence)
            continue; /* of a dump that was given up */
        if (a.kind == INET_DIAG_ANSWER_DONE)
            return 1;
        if (a.kind == INET_DIAG_ANSWER_ERROR)
            return a.error < 0 ? a.error : -EBADMSG;
        if (a.kind == INET_DIAG_ANSWER_SOCKET)
            visit(arg, &a);
    }
    return r;
}

int sock_diag_dump(struct sock_diag *d, int family,
                   void (*visit)(void *arg, const struct inet_diag_answer *socket), void *arg)
{
    int r = ask_for_dump(d, family);
    while (r == 0) {
        ssize_t n = receive(d, d->dumps);
        if (n <= 0)
            return n < 0 ? (int)n : -EAGAIN;
        r = take_answers(d, (size_t)n, visit, arg);
    }
    return r < 0 ? r : 0;
}

bool sock_diag_hear(struct sock_diag *d,
                    void (*visit)(void *arg, const struct inet_diag_answer *socket), void *arg)
{
    bool heard_all = true;
    ssize_t n;
    while (d->last_words >= 0 && (n = receive(d, d->last_words)) != 0) {
        if (n == -ENOBUFS)
            heard_all = false;
        else if (n < 0)
            break;
        struct scan messages = scan_text(d->answer, n > 0 ? (size_t)n : 0);
        struct inet_diag_answer a;
        while (parse_inet_diag(&messages, &a) > 0)
            if (a.kind == INET_DIAG_ANSWER_SOCKET)
                visit(arg, &a);
    }
    return heard_all;
}
