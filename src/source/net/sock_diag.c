/* SPDX-License-Identifier: MIT */
#include "source/net/sock_diag.h"

#include "base/util.h"

#include <fcntl.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

/* Linux 5.8; older headers do not have it. */
#ifndef INET_DIAG_CGROUP_ID
#define INET_DIAG_CGROUP_ID 21
#endif

/* ==== Sock diag =============================================================================== */

/* Two netlink sockets: one requests dumps, the other receives end notices. */

enum { END_NOTICES_BYTES = 8 << 20 }; /* some 9000 sockets that end between two reads */

/* States of a connection as the kernel numbers them. <netinet/tcp.h> has the names too, but not the
 * long form of struct tcp_info, and cannot be included beside <linux/tcp.h>. */
enum {
    TCP_ESTABLISHED = 1,
    TCP_SYN_SENT = 2,
    TCP_FIN_WAIT1 = 4,
    TCP_FIN_WAIT2 = 5,
    TCP_CLOSE_WAIT = 8,
    TCP_LAST_ACK = 9,
    TCP_CLOSING = 11,
};

/* Without the states in which a socket carries nothing. */
#define STATES_WITH_BYTES                                                                          \
    (BIT(TCP_ESTABLISHED) | BIT(TCP_SYN_SENT) | BIT(TCP_FIN_WAIT1) | BIT(TCP_FIN_WAIT2) |          \
     BIT(TCP_CLOSE_WAIT) | BIT(TCP_LAST_ACK) | BIT(TCP_CLOSING))

static int sock_diag_open_netlink(void)
{
    int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_SOCK_DIAG);
    return fd < 0 ? -errno : fd;
}

static int sock_diag_open_ends(void)
{
    static const int groups[] = {SKNLGRP_INET_TCP_DESTROY, SKNLGRP_INET6_TCP_DESTROY};
    CLEANUP_CLOSE int fd = sock_diag_open_netlink();
    if (fd < 0)
        return fd;
    /* A socket without an address gets no notices: the kernel takes it for its own. */
    const struct sockaddr_nl any = {.nl_family = AF_NETLINK};
    if (bind(fd, (const struct sockaddr *)&any, sizeof any) < 0)
        return -errno;
    int bytes = END_NOTICES_BYTES;
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
    d->states = STATES_WITH_BYTES;
    d->end_notices = -1;
    d->dumps = sock_diag_open_netlink();
    if (d->dumps < 0)
        return d->dumps;
    int fd = sock_diag_open_ends();
    d->end_notices = fd < 0 ? -1 : fd;
    return 0;
}

void sock_diag_close(struct sock_diag *d)
{
    close_p(&d->dumps);
    close_p(&d->end_notices);
}

/* Length of the answer, 0 when there is none, or -errno: -EMSGSIZE when it does not fit. */
static ssize_t sock_diag_receive(struct sock_diag *d, int fd)
{
    ssize_t n;
    do
        n = recv(fd, d->answer, sizeof d->answer, MSG_DONTWAIT | MSG_TRUNC);
    while (n < 0 && errno == EINTR);
    if (n < 0)
        return errno == EAGAIN ? 0 : -errno;
    return (size_t)n > sizeof d->answer ? -EMSGSIZE : n;
}

/* Sends requests to the kernel. 0 or -errno. */
static int sock_diag_send(struct sock_diag *d, const void *requests, size_t length)
{
    const struct sockaddr_nl kernel = {.nl_family = AF_NETLINK};
    ssize_t n = sendto(d->dumps, requests, length, 0, (const struct sockaddr *)&kernel,
                       sizeof kernel);
    return n < 0 ? -errno : 0;
}

struct sock_diag_request {
    struct nlmsghdr header;
    struct inet_diag_req_v2 what;
};

static struct sock_diag_request sock_diag_request_of(uint32_t sequence, int flags, uint8_t family)
{
    return (struct sock_diag_request){
        .header = {.nlmsg_len = sizeof(struct sock_diag_request),
                   .nlmsg_type = SOCK_DIAG_BY_FAMILY,
                   .nlmsg_flags = (uint16_t)(NLM_F_REQUEST | flags),
                   .nlmsg_seq = sequence},
        .what = {.sdiag_family = family,
                 .sdiag_protocol = IPPROTO_TCP,
                 .idiag_ext = BIT(INET_DIAG_INFO - 1),
                 .idiag_states = STATES_WITH_BYTES},
    };
}

static int sock_diag_request_dump(struct sock_diag *d, int family)
{
    struct sock_diag_request request = sock_diag_request_of(++d->sequence, NLM_F_DUMP,
                                                            (uint8_t)family);
    request.what.idiag_states = d->states;
    /* The older form of a request has all families: half the way through the kernel's table. */
    const struct {
        struct nlmsghdr header;
        struct inet_diag_req what;
    } older = {
        .header = {.nlmsg_len = sizeof older,
                   .nlmsg_type = TCPDIAG_GETSOCK,
                   .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP,
                   .nlmsg_seq = d->sequence},
        .what = {.idiag_family = AF_INET,
                 .idiag_ext = BIT(INET_DIAG_INFO - 1),
                 .idiag_states = d->states},
    };
    return family == AF_UNSPEC ? sock_diag_send(d, &older, sizeof older)
                               : sock_diag_send(d, &request, sizeof request);
}

/* 1 when the dump is complete, 0 when more is to come, or -errno. */
static int sock_diag_take(struct sock_diag *d, size_t length,
                          void (*visit)(void *arg, const struct inet_diag_answer *socket),
                          void *arg)
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
    int r = sock_diag_request_dump(d, family);
    while (r == 0) {
        ssize_t n = sock_diag_receive(d, d->dumps);
        if (n <= 0)
            return n < 0 ? (int)n : -EAGAIN;
        r = sock_diag_take(d, (size_t)n, visit, arg);
    }
    return r < 0 ? r : 0;
}

int sock_diag_ask(struct sock_diag *d, const struct sock_diag_question *questions, unsigned count,
                  void (*visit)(void *arg, const struct inet_diag_answer *socket), void *arg)
{
    enum { ANSWER_BYTES = sizeof d->answer / SOCK_DIAG_QUESTIONS };
    struct sock_diag_request requests[SOCK_DIAG_QUESTIONS];
    uint32_t first = d->sequence + 1;
    d->sequence += count;
    for (unsigned i = 0; i < count; i++) {
        requests[i] = sock_diag_request_of(first + i, 0, questions[i].family);
        requests[i].what.id = questions[i].id;
    }
    int r = sock_diag_send(d, requests, count * sizeof *requests);
    if (r < 0)
        return r;

    /* The kernel has answered, or reported an error, by now: a message for each request. */
    struct mmsghdr messages[SOCK_DIAG_QUESTIONS];
    struct iovec parts[SOCK_DIAG_QUESTIONS];
    for (unsigned answered = 0; answered < count;) {
        for (unsigned i = 0; i < SOCK_DIAG_QUESTIONS; i++) {
            parts[i] = (struct iovec){d->answer + (size_t)i * ANSWER_BYTES, ANSWER_BYTES};
            messages[i] = (struct mmsghdr){.msg_hdr = {.msg_iov = &parts[i], .msg_iovlen = 1}};
        }
        int n = recvmmsg(d->dumps, messages, count - answered, MSG_DONTWAIT, NULL);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n < 0 ? -errno : -EBADMSG;
        for (int i = 0; i < n; i++) {
            struct scan text = scan_text(parts[i].iov_base, messages[i].msg_len);
            struct inet_diag_answer a;
            if (messages[i].msg_hdr.msg_flags & MSG_TRUNC)
                return -EMSGSIZE;
            if (parse_inet_diag(&text, &a) <= 0)
                return -EBADMSG;
            if (a.sequence - first >= count)
                continue; /* of a dump that was given up */
            answered++;
            if (a.kind == INET_DIAG_ANSWER_SOCKET && a.has_bytes)
                visit(arg, &a);
        }
    }
    return 0;
}

bool sock_diag_read_ends(struct sock_diag *d,
                         void (*visit)(void *arg, const struct inet_diag_answer *socket), void *arg)
{
    bool heard_all = true;
    ssize_t n;
    while (d->end_notices >= 0 && (n = sock_diag_receive(d, d->end_notices)) != 0) {
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

/* ==== Inet diag =============================================================================== */

/* struct nlmsghdr         length, type SOCK_DIAG_BY_FAMILY or TCPDIAG_GETSOCK, sequence
 * struct inet_diag_msg    family, state, addresses, cookie, inode
 * struct nlattr           length, INET_DIAG_INFO
 *   struct tcp_info       grows from kernel to kernel
 * struct nlattr           length, INET_DIAG_PROTOCOL: one byte
 * struct nlattr           length, INET_DIAG_CGROUP_ID: eight bytes
 * …
 *
 * Everything is padded to four bytes. Nothing is taken to be aligned here: fields are copied out.
 */

/* Cuts off a message or an attribute of that length, with its padding. */
static bool inet_diag_cut(struct scan *s, size_t length, size_t header, struct scan *ret_payload)
{
    if (length < header || length > scan_length(*s))
        return false;
    *ret_payload = scan_text(s->at + header, length - header);
    size_t padded = NLMSG_ALIGN(length);
    s->at += padded < scan_length(*s) ? padded : scan_length(*s);
    return true;
}

/* The number at that place of a struct tcp_info; false when the kernel's is shorter. */
static bool inet_diag_field(const struct scan *info, size_t offset, uint64_t *ret)
{
    if (scan_length(*info) < offset + sizeof *ret)
        return false;
    memcpy(ret, info->at + offset, sizeof *ret);
    return true;
}

/* Acknowledged bytes contain one for the beginning of a connection that was made from here, and one
 * for its end. Bytes that were sent for the first time (Linux 4.19) do not: once all of them are
 * acknowledged, the smaller number is exact. */
static void inet_diag_read_info(const struct scan *info, struct inet_diag_answer *a)
{
    uint64_t acked, received, sent, again;
    if (!inet_diag_field(info, offsetof(struct tcp_info, tcpi_bytes_acked), &acked) ||
        !inet_diag_field(info, offsetof(struct tcp_info, tcpi_bytes_received), &received))
        return;
    if (inet_diag_field(info, offsetof(struct tcp_info, tcpi_bytes_sent), &sent) &&
        inet_diag_field(info, offsetof(struct tcp_info, tcpi_bytes_retrans), &again) &&
        again <= sent)
        acked = min_u64(acked, sent - again);
    a->has_bytes = true;
    a->received_bytes = received;
    a->sent_bytes = acked;
}

static int inet_diag_read_socket(struct scan payload, struct inet_diag_answer *a)
{
    struct inet_diag_msg message;
    if (scan_length(payload) < sizeof message)
        return -EBADMSG;
    memcpy(&message, payload.at, sizeof message);
    payload.at += sizeof message;
    a->inode = message.idiag_inode;
    a->unsent_bytes = message.idiag_wqueue;
    a->family = message.idiag_family;
    a->id = message.id;
    a->cookie = (uint64_t)message.id.idiag_cookie[1] << 32 | message.id.idiag_cookie[0];

    struct nlattr attribute;
    while (scan_length(payload) >= sizeof attribute) {
        struct scan value;
        memcpy(&attribute, payload.at, sizeof attribute);
        if (!inet_diag_cut(&payload, attribute.nla_len, sizeof attribute, &value))
            return -EBADMSG;
        int type = attribute.nla_type & NLA_TYPE_MASK;
        if (type == INET_DIAG_INFO)
            inet_diag_read_info(&value, a);
        else if (type == INET_DIAG_CGROUP_ID && scan_length(value) == sizeof a->cgroup)
            memcpy(&a->cgroup, value.at, sizeof a->cgroup);
        else if (type == INET_DIAG_PROTOCOL && (scan_done(&value) || *value.at != IPPROTO_TCP))
            return -EBADMSG;
    }
    return 0;
}

int parse_inet_diag(struct scan *messages, struct inet_diag_answer *ret)
{
    struct nlmsghdr header;
    struct scan rest = *messages, payload;
    if (scan_done(&rest))
        return 0;
    if (scan_length(rest) < sizeof header)
        return -EBADMSG;
    memcpy(&header, rest.at, sizeof header);
    if (!inet_diag_cut(&rest, header.nlmsg_len, sizeof header, &payload))
        return -EBADMSG;

    struct inet_diag_answer a = {.kind = INET_DIAG_ANSWER_OTHER, .sequence = header.nlmsg_seq};
    int r = 0;
    if (header.nlmsg_type == NLMSG_DONE) {
        a.kind = INET_DIAG_ANSWER_DONE;
    } else if (header.nlmsg_type == NLMSG_ERROR) {
        a.kind = INET_DIAG_ANSWER_ERROR;
        if (scan_length(payload) < sizeof a.error)
            return -EBADMSG;
        memcpy(&a.error, payload.at, sizeof a.error);
    } else if (header.nlmsg_type == SOCK_DIAG_BY_FAMILY || header.nlmsg_type == TCPDIAG_GETSOCK) {
        a.kind = INET_DIAG_ANSWER_SOCKET;
        r = inet_diag_read_socket(payload, &a);
    }
    if (r < 0)
        return r;
    *messages = rest;
    *ret = a;
    return 1;
}

/* ==== Connections made ======================================================================== */

/* A line of names and a line of numbers for each protocol:
 * Tcp: RtoAlgorithm RtoMin RtoMax MaxConn ActiveOpens PassiveOpens AttemptFails …
 * Tcp: 1 200 120000 -1 3775 3164 471 …
 */
int parse_connections_made(struct scan text, uint64_t *ret)
{
    static const char names[] = "Tcp: RtoAlgorithm RtoMin RtoMax MaxConn ActiveOpens PassiveOpens ";
    enum { FIELDS_BEFORE = 4 };
    struct scan line;
    uint64_t active, passive;
    do {
        if (!scan_line(&text, &line))
            return -EBADMSG;
    } while (!scan_word(&line, names));
    if (!scan_line(&text, &line) || !scan_word(&line, "Tcp: ") ||
        !scan_skip_fields(&line, FIELDS_BEFORE) || !scan_u64(&line, &active) ||
        !scan_u64(&line, &passive) || scan_done(&line))
        return -EBADMSG;
    *ret = active + passive;
    return 0;
}

/* ==== What a count of packets misses ========================================================== */

#define STATES_OF_CLOSING (BIT(TCP_FIN_WAIT1) | BIT(TCP_CLOSING) | BIT(TCP_LAST_ACK))

struct unsent {
    uint64_t cgroup;
    bool found;
};

static void unsent_see(void *arg, const struct inet_diag_answer *a)
{
    struct unsent *u = arg;
    u->found |= a->unsent_bytes > 1 && a->cgroup == u->cgroup;
}

int unsent_of_cgroup(uint64_t cgroup)
{
    struct unsent u = {.cgroup = cgroup};
    struct sock_diag d = {
        .dumps = sock_diag_open_netlink(), .end_notices = -1, .states = STATES_OF_CLOSING};
    if (d.dumps < 0)
        return d.dumps;
    int r = sock_diag_dump(&d, AF_INET, unsent_see, &u);
    if (r == 0) /* a kernel need not have IPv6 */
        sock_diag_dump(&d, AF_INET6, unsent_see, &u);
    sock_diag_close(&d);
    return r < 0 ? r : u.found;
}

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
