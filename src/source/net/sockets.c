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

struct tcp_socket *socket_table_see(struct socket_table *t, uint64_t cookie, uint32_t inode,
                                    uint64_t received_bytes, uint64_t sent_bytes)
{
    struct tcp_socket *s = socket_table_find_cookie(t, cookie);
    if (!s)
        s = socket_table_add(t, cookie);
    if (!s)
        return NULL;
    s->round = t->round;
    s->is_absent = false;
    socket_table_grow(t, s, received_bytes, sent_bytes);
    if (inode == s->inode)
        return s;
    socket_table_forget_inode(t, s);
    if (inode && map_put(&t->by_inode, inode, socket_table_place_of(t, s)) == 0) {
        s->inode = inode;
        t->appeared++;
    }
    return s;
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

/* ==== Sockets ================================================================================= */

/* Reads in which single sockets are asked for before all are listed again: for a socket that was
 * moved here with its connection, as programs that restore others from an image do. */
enum { ASKED_IN_A_ROW = 64 };

enum {
    END_NOTICES_MS = 20,          /* they come from a queue of the kernel, a moment after the end */
    PROCESSES_REMEMBERED = 65536, /* that were looked at */
};

struct sockets {
    const struct sysroot *root; /* borrowed */
    bool has_families;          /* all in one dump; else IPv6 has one of its own */
    bool has_ipv6;
    struct socket_table table;
    struct map looked_at; /* pid -> folded targets, since `appeared` */
    uint32_t appeared;
    uint64_t known; /* targets with a member that was looked at */
    bool no_bytes;
    int snmp;      /* kept descriptor, or -1 */
    uint64_t made; /* connections made when all sockets were listed last */
    bool is_calm;  /* and none was made between that and the list before */
    unsigned asked_in_a_row;
    struct sock_diag diag;
};

/* ---- What they carried ----------------------------------------------------------------------- */

static void sockets_see(void *arg, const struct inet_diag_answer *a)
{
    struct sockets *s = arg;
    if (!a->has_bytes) {
        s->no_bytes |= a->inode != 0; /* without an inode it is the rest of a connection */
        return;
    }
    struct tcp_socket *seen = socket_table_see(&s->table, a->cookie, a->inode, a->received_bytes,
                                               a->sent_bytes);
    if (seen)
        seen->question = (struct sock_diag_question){a->family, a->id};
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

static void sockets_list_all(struct sockets *s)
{
    socket_table_begin(&s->table);
    int r = sockets_dump(s, s->has_families ? AF_UNSPEC : AF_INET);
    if (r == 0 && !s->has_families && s->has_ipv6)
        r = sockets_dump(s, AF_INET6);
    sockets_read_ends(s);
    if (r == 0)
        socket_table_end(&s->table, s->diag.end_notices >= 0);
    s->asked_in_a_row = 0;
}

/* Whether connections were made since all sockets were listed. A socket of the other side is
 * counted a moment before it can be listed: so all are listed once more after that. */
static bool sockets_may_be_new(struct sockets *s)
{
    char text[8192];
    uint64_t made;
    ssize_t n = s->snmp < 0 ? -1 : file_reread(s->snmp, text, sizeof text);
    if (n <= 0 || parse_connections_made(scan_text(text, (size_t)n), &made) < 0)
        return true;
    bool was_calm = s->is_calm;
    s->is_calm = made == s->made;
    s->made = made;
    return !was_calm || !s->is_calm;
}

/* Those of targets, and those that have no descriptor yet, and may get one of a target. */
static bool sockets_is_asked(const struct sockets *s, const struct tcp_socket *socket)
{
    return socket->round == s->table.round && !socket->is_absent &&
           (socket->targets || !socket->inode);
}

/* False when that is not possible, or not cheaper than to list all. */
static bool sockets_ask_for_own(struct sockets *s)
{
    /* One costs about as much as two in a list, a list as much as 80 more. */
    enum { TIMES_AS_EXPENSIVE = 2, OF_LIST = 80 };
    uint32_t all = 0, asked = 0;
    for (uint32_t i = 0; i < s->table.used; i++) {
        all += s->table.sockets[i].round == s->table.round;
        asked += sockets_is_asked(s, &s->table.sockets[i]);
    }
    if (asked * TIMES_AS_EXPENSIVE > all + OF_LIST)
        return false;
    struct sock_diag_question questions[SOCK_DIAG_QUESTIONS];
    unsigned count = 0;
    for (uint32_t i = 0; i < s->table.used; i++) {
        if (sockets_is_asked(s, &s->table.sockets[i])) {
            questions[count++] = s->table.sockets[i].question;
            s->table.sockets[i].is_absent = true; /* until it answers */
        }
        bool is_full = count == SOCK_DIAG_QUESTIONS || i + 1 == s->table.used;
        if (!count || !is_full)
            continue;
        if (sock_diag_ask(&s->diag, questions, count, sockets_see, s) < 0)
            return false;
        count = 0;
    }
    return true;
}

void sockets_read(struct sockets *s)
{
    if (sockets_may_be_new(s) || ++s->asked_in_a_row > ASKED_IN_A_ROW || !sockets_ask_for_own(s))
        sockets_list_all(s);
    else
        sockets_read_ends(s);
}

void sockets_finish(struct sockets *s)
{
    sockets_list_all(s);
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
    s->has_families = sockets_dump(s, AF_UNSPEC) == 0;
    int r = s->has_families ? 0 : sockets_dump(s, AF_INET);
    if (r < 0)
        return r;
    s->has_ipv6 = !s->has_families && sockets_dump(s, AF_INET6) == 0;
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
    s->snmp = openat(root->proc, "thread-self/net/snmp", O_RDONLY | O_CLOEXEC);
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
    close_p(&s->snmp);
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
        finding_unknown(f, "not available on a recorded machine");
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
