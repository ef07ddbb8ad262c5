/* SPDX-License-Identifier: MIT
 * Reading the links of all descriptors is the expensive part. It is skipped for a process that was
 * looked at since the last time a socket got a descriptor. */
#include "source/net/sockets.h"

#include "base/clock.h"
#include "base/io/file.h"
#include "base/memory.h"
#include "metric/metric.h"
#include "source/pid_files.h"
#include "source/probe.h"

#include <fcntl.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

/* ==== Socket table ============================================================================ */

/* A dump can miss a socket that moves, and end notices come a little after the end: a socket that
 * is missing is forgotten after that many rounds. */
enum { ROUNDS_ABSENT = 16 };

/* A connection that has ended while its descriptor is open is in no dump, and its end notice comes
 * when the descriptor is closed, maybe much later. That many sockets of targets are kept for it. */
enum { ABSENT_AT_MOST = 4096 };

void socket_table_done(struct socket_table *t)
{
    free(t->sockets);
    map_done(&t->by_cookie);
    map_done(&t->by_inode);
    *t = (struct socket_table){0};
}

/* Keys of a map have 32 bits and are not 0. Sockets with the same key form a list. */
static uint32_t socket_table_key(uint64_t cookie)
{
    uint32_t folded = (uint32_t)(cookie ^ cookie >> 32);
    return folded ? folded : 1;
}

static struct tcp_socket *socket_table_at(const struct socket_table *t, uint32_t place)
{
    return place ? &t->sockets[place - 1] : NULL;
}

static uint32_t socket_table_place_of(const struct socket_table *t, const struct tcp_socket *s)
{
    return (uint32_t)(s - t->sockets) + 1;
}

static struct tcp_socket *socket_table_find_cookie(const struct socket_table *t, uint64_t cookie)
{
    uint32_t place = 0;
    map_get(&t->by_cookie, socket_table_key(cookie), &place);
    struct tcp_socket *s = socket_table_at(t, place);
    while (s && s->cookie != cookie)
        s = socket_table_at(t, s->next);
    return s;
}

static struct tcp_socket *socket_table_find_inode(const struct socket_table *t, uint32_t inode)
{
    uint32_t place = 0;
    if (inode)
        map_get(&t->by_inode, inode, &place);
    return socket_table_at(t, place);
}

/* ---- Coming and leaving ---------------------------------------------------------------------- */

static struct tcp_socket *socket_table_free_place(struct socket_table *t)
{
    struct tcp_socket *s = socket_table_at(t, t->free);
    if (s) {
        t->free = s->next;
        return s;
    }
    if (!ARRAY_RESERVE(t->sockets, t->capacity, t->used + 1))
        return NULL;
    return &t->sockets[t->used++];
}

static void socket_table_give_back(struct socket_table *t, struct tcp_socket *s)
{
    *s = (struct tcp_socket){.next = t->free};
    t->free = socket_table_place_of(t, s);
}

static struct tcp_socket *socket_table_add(struct socket_table *t, uint64_t cookie)
{
    struct tcp_socket *s = socket_table_free_place(t);
    if (!s)
        return NULL;
    uint32_t next = 0;
    map_get(&t->by_cookie, socket_table_key(cookie), &next);
    *s = (struct tcp_socket){.cookie = cookie, .next = next};
    if (map_put(&t->by_cookie, socket_table_key(cookie), socket_table_place_of(t, s)) == 0)
        return s;
    socket_table_give_back(t, s);
    return NULL;
}

static void socket_table_forget_inode(struct socket_table *t, struct tcp_socket *s)
{
    if (socket_table_find_inode(t, s->inode) == s)
        map_remove(&t->by_inode, s->inode);
    s->inode = 0;
}

static void socket_table_forget(struct socket_table *t, struct tcp_socket *s)
{
    socket_table_forget_inode(t, s);
    uint32_t place = socket_table_place_of(t, s), first = 0;
    map_get(&t->by_cookie, socket_table_key(s->cookie), &first);
    struct tcp_socket *before = socket_table_at(t, first);
    if (first == place) {
        if (s->next)
            map_put(&t->by_cookie, socket_table_key(s->cookie), s->next);
        else
            map_remove(&t->by_cookie, socket_table_key(s->cookie));
    } else {
        while (before->next != place)
            before = socket_table_at(t, before->next);
        before->next = s->next;
    }
    socket_table_give_back(t, s);
}

/* ---- Counting -------------------------------------------------------------------------------- */

static void socket_table_credit(struct socket_table *t, uint64_t targets, uint64_t received,
                                uint64_t sent)
{
    FOR_EACH_BIT(target, targets)
    {
        t->received_bytes[target] += received;
        t->sent_bytes[target] += sent;
    }
}

static void socket_table_grow(struct socket_table *t, struct tcp_socket *s, uint64_t received,
                              uint64_t sent)
{
    socket_table_credit(t, s->targets, counter_growth(&s->received_bytes, received),
                        counter_growth(&s->sent_bytes, sent));
}

void socket_table_begin(struct socket_table *t)
{
    t->round += t->round == UINT32_MAX ? 2 : 1; /* 0 is the sign of a free place */
}

void socket_table_see(struct socket_table *t, uint64_t cookie, uint32_t inode,
                      uint64_t received_bytes, uint64_t sent_bytes)
{
    struct tcp_socket *s = socket_table_find_cookie(t, cookie);
    if (!s)
        s = socket_table_add(t, cookie);
    if (!s)
        return;
    s->round = t->round;
    socket_table_grow(t, s, received_bytes, sent_bytes);
    if (inode == s->inode)
        return;
    socket_table_forget_inode(t, s);
    if (inode && map_put(&t->by_inode, inode, socket_table_place_of(t, s)) == 0) {
        s->inode = inode;
        t->appeared++;
    }
}

void socket_table_end(struct socket_table *t, bool end_notices)
{
    unsigned waiting = 0;
    for (uint32_t i = 0; i < t->used; i++) {
        struct tcp_socket *s = &t->sockets[i];
        if (!s->round || t->round - s->round < ROUNDS_ABSENT)
            continue;
        if (!s->targets || !end_notices || ++waiting > ABSENT_AT_MOST)
            socket_table_forget(t, s);
    }
}

void socket_table_closed(struct socket_table *t, uint64_t cookie, uint64_t received_bytes,
                         uint64_t sent_bytes)
{
    struct tcp_socket *s = socket_table_find_cookie(t, cookie);
    if (!s)
        return;
    socket_table_grow(t, s, received_bytes, sent_bytes);
    socket_table_forget(t, s);
}

/* ---- Owning ---------------------------------------------------------------------------------- */

static void tcp_socket_count_from_now(struct tcp_socket *s)
{
    s->received_before = s->received_bytes;
    s->sent_before = s->sent_bytes;
}

void socket_table_count_from_now(struct socket_table *t, uint32_t inode)
{
    struct tcp_socket *s = socket_table_find_inode(t, inode);
    if (s)
        tcp_socket_count_from_now(s);
}

void socket_table_count_all_from_now(struct socket_table *t)
{
    for (uint32_t i = 0; i < t->used; i++)
        tcp_socket_count_from_now(&t->sockets[i]);
}

void socket_table_own(struct socket_table *t, uint32_t inode, uint64_t targets)
{
    struct tcp_socket *s = socket_table_find_inode(t, inode);
    if (!s)
        return;
    socket_table_credit(t, targets & ~s->targets, s->received_bytes - s->received_before,
                        s->sent_bytes - s->sent_before);
    s->targets |= targets;
}

bool socket_table_can_own(const struct socket_table *t, uint64_t targets)
{
    for (uint32_t i = 0; i < t->used; i++)
        if (t->sockets[i].inode && targets & ~t->sockets[i].targets)
            return true;
    return false;
}

bool socket_table_waits(const struct socket_table *t)
{
    for (uint32_t i = 0; i < t->used; i++)
        if (t->sockets[i].targets && t->sockets[i].round != t->round)
            return true;
    return false;
}

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

static int sock_diag_request(struct sock_diag *d, int family)
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
    int r = sock_diag_request(d, family);
    while (r == 0) {
        ssize_t n = sock_diag_receive(d, d->dumps);
        if (n <= 0)
            return n < 0 ? (int)n : -EAGAIN;
        r = sock_diag_take(d, (size_t)n, visit, arg);
    }
    return r < 0 ? r : 0;
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

/* struct nlmsghdr         length, type SOCK_DIAG_BY_FAMILY, sequence
 * struct inet_diag_msg    family, state, addresses, cookie, inode
 * struct nlattr           length, INET_DIAG_INFO
 *   struct tcp_info       grows from kernel to kernel
 * struct nlattr           length, INET_DIAG_PROTOCOL: one byte
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
    } else if (header.nlmsg_type == SOCK_DIAG_BY_FAMILY) {
        a.kind = INET_DIAG_ANSWER_SOCKET;
        r = inet_diag_read_socket(payload, &a);
    }
    if (r < 0)
        return r;
    *messages = rest;
    *ret = a;
    return 1;
}

/* ==== Sockets ================================================================================= */

enum {
    END_NOTICES_MS = 20,          /* they come from a queue of the kernel, a moment after the end */
    PROCESSES_REMEMBERED = 65536, /* that were looked at */
};

struct sockets {
    const struct sysroot *root; /* borrowed */
    bool has_ipv6;
    struct socket_table table;
    struct map looked_at; /* pid -> folded targets, since `appeared` */
    uint32_t appeared;
    uint64_t known; /* targets with a member that was looked at */
    bool no_bytes;
    struct sock_diag diag;
};

/* ---- What they carried ----------------------------------------------------------------------- */

static void sockets_see(void *arg, const struct inet_diag_answer *a)
{
    struct sockets *s = arg;
    if (a->has_bytes)
        socket_table_see(&s->table, a->cookie, a->inode, a->received_bytes, a->sent_bytes);
    else
        s->no_bytes |= a->inode != 0; /* without an inode it is the rest of a connection */
}

static void sockets_see_end(void *arg, const struct inet_diag_answer *a)
{
    struct sockets *s = arg;
    if (a->has_bytes)
        socket_table_closed(&s->table, a->cookie, a->received_bytes, a->sent_bytes);
}

static int sockets_dump(struct sockets *s, int family)
{
    return sock_diag_dump(&s->diag, family, sockets_see, s);
}

static void sockets_read_ends(struct sockets *s)
{
    sock_diag_read_ends(&s->diag, sockets_see_end, s);
}

void sockets_read(struct sockets *s)
{
    socket_table_begin(&s->table);
    int r = sockets_dump(s, AF_INET);
    if (r == 0 && s->has_ipv6)
        r = sockets_dump(s, AF_INET6);
    sockets_read_ends(s);
    if (r == 0)
        socket_table_end(&s->table, s->diag.end_notices >= 0);
}

void sockets_finish(struct sockets *s)
{
    sockets_read(s);
    uint64_t until_ns = clock_mono(NULL) + END_NOTICES_MS * NS_PER_MS;
    struct pollfd p = {.fd = s->diag.end_notices, .events = POLLIN};
    while (s->diag.end_notices >= 0 && socket_table_waits(&s->table) &&
           clock_mono(NULL) < until_ns) {
        poll(&p, 1, 1);
        sockets_read_ends(s);
    }
}

/* ---- Whose they are -------------------------------------------------------------------------- */

struct fd_walk {
    int dir;
    void (*visit)(void *arg, uint32_t inode);
    void *arg;
    int error;
};

/* The link of a descriptor says socket:[4026] for a socket with that inode. */
static void sockets_visit_fd(void *arg, const char *name)
{
    struct fd_walk *w = arg;
    char link[32];
    ssize_t n = readlinkat(w->dir, name, link, sizeof link);
    if (n < 0 && (errno == EACCES || errno == EPERM))
        w->error = -errno;
    if (n < 0)
        return;
    struct scan text = scan_text(link, (size_t)n);
    uint64_t inode;
    if (scan_word(&text, "socket:[") && scan_u64(&text, &inode) && scan_word(&text, "]") &&
        inode <= UINT32_MAX)
        w->visit(w->arg, (uint32_t)inode);
}

/* 0 or -errno. */
static int sockets_each(const struct sysroot *root, const char *process,
                        void (*visit)(void *arg, uint32_t inode), void *arg)
{
    char path[32];
    snprintf(path, sizeof path, "%s/fd", process);
    CLEANUP_CLOSE int dir = openat(root->proc, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (dir < 0)
        return -errno;
    struct fd_walk w = {.dir = dir, .visit = visit, .arg = arg};
    int r = file_each_entry(dir, sockets_visit_fd, &w);
    return r < 0 ? r : w.error;
}

struct ownership {
    struct socket_table *table;
    uint64_t targets;
};

static void sockets_own(void *arg, uint32_t inode)
{
    const struct ownership *o = arg;
    socket_table_own(o->table, inode, o->targets);
}

static void sockets_count_from_now(void *arg, uint32_t inode)
{
    struct sockets *s = arg;
    socket_table_count_from_now(&s->table, inode);
}

/* 0, -EACCES when its descriptors may not be looked at, -ESRCH when it is at its end. */
static int sockets_own_all(struct sockets *s, pid_t pid, uint64_t targets)
{
    struct ownership o = {.table = &s->table, .targets = targets};
    char process[16];
    if (s->root->pids < 0)
        return -ESRCH;
    snprintf(process, sizeof process, "%d", (int)pid);
    int r = sockets_each(s->root, process, sockets_own, &o);
    if (r != -EACCES && r != -EPERM)
        return r == 0 ? 0 : -ESRCH;
    /* A process that ends loses its memory before its descriptors, which cannot be read then: that
     * is its end, not a refusal. */
    char path[32], text[128];
    struct statm memory;
    snprintf(path, sizeof path, "%s/statm", process);
    ssize_t n = file_read_at(s->root->proc, path, text, sizeof text);
    bool has_memory = n > 0 && parse_statm(scan_text(text, (size_t)n), &memory) == 0 &&
                      memory.virtual_pages;
    return has_memory ? -EACCES : -ESRCH;
}

int sockets_owner(struct sockets *s, pid_t pid, uint64_t targets)
{
    if (s->appeared != s->table.appeared || s->looked_at.count >= PROCESSES_REMEMBERED)
        map_clear(&s->looked_at);
    s->appeared = s->table.appeared;
    uint32_t folded = (uint32_t)(targets ^ targets >> 32), before;
    bool was_looked_at = map_get(&s->looked_at, (uint32_t)pid, &before) && before == folded;
    if (pid <= 0 || was_looked_at)
        return 0;
    /* A process that has no socket now is looked at all the same until one of the target could be:
     * otherwise nothing is known of the sockets to come. */
    bool is_known = !(targets & ~s->known);
    bool can_own = socket_table_can_own(&s->table, targets);
    int r = can_own || !is_known ? sockets_own_all(s, pid, targets) : 0;
    if (r == 0)
        s->known |= targets;
    map_put(&s->looked_at, (uint32_t)pid, folded);
    return r == -EACCES ? r : 0;
}

/* ---- The whole ------------------------------------------------------------------------------- */

/* The first dump, which also shows what this kernel can do. */
static int sockets_begin(struct sockets *s, bool since_start)
{
    socket_table_begin(&s->table);
    int r = sockets_dump(s, AF_INET);
    if (r < 0)
        return r;
    s->has_ipv6 = sockets_dump(s, AF_INET6) == 0;
    if (!since_start)
        socket_table_count_all_from_now(&s->table);
    else
        sockets_each(s->root, "self", sockets_count_from_now, s);
    return 0;
}

int sockets_open(struct sockets **ret, const struct sysroot *root, bool since_start)
{
    if (!root->live)
        return -ENOENT;
    struct sockets *s = malloc(sizeof *s);
    if (!s)
        return -ENOMEM;
    *s = (struct sockets){.root = root};
    int r = sock_diag_open(&s->diag);
    if (r == 0)
        r = sockets_begin(s, since_start);
    if (r < 0)
        sockets_close(s);
    else
        *ret = s;
    return r;
}

void sockets_close(struct sockets *s)
{
    if (!s)
        return;
    sock_diag_close(&s->diag);
    socket_table_done(&s->table);
    map_done(&s->looked_at);
    free(s);
}

bool sockets_total(const struct sockets *s, unsigned target, uint64_t *ret_received,
                   uint64_t *ret_sent)
{
    if (target >= SOCKET_TARGETS || s->no_bytes || !(s->known & BIT(target)))
        return false;
    *ret_received = s->table.received_bytes[target];
    *ret_sent = s->table.sent_bytes[target];
    return true;
}

/* ==== Probe =================================================================================== */

void probe_network(const struct probe_facts *p, struct finding *f)
{
    struct sockets *s = NULL;
    finding_ok(f, "lower bound", "TCP sockets by sock_diag");
    if (!p->root.live) {
        finding_unknown(f, "a recorded machine has no sockets");
        return;
    }
    int r = sockets_open(&s, &p->root, false);
    sockets_close(s);
    if (r < 0) {
        finding_missing(f,
                        "the kernel does not list sockets: %s; only targets with their own network "
                        "namespace are counted",
                        strerror(-r));
        finding_remedy(f, "modprobe tcp_diag");
    } else if (!probe_is_since(p, 4, 1)) {
        finding_missing(f, "the kernel does not count bytes per socket");
        finding_remedy(f, "Linux 4.1 or later");
    }
}
