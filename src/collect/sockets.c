/* SPDX-License-Identifier: MIT
 *
 * To read the links of all descriptors is the dear part. It is left out for a process that was
 * looked at since the last time a socket came into reach of a descriptor. */
#include "collect/sockets.h"

#include "base/clock.h"
#include "base/file.h"
#include "collect/sock_diag.h"
#include "collect/socket_table.h"
#include "parse/statm.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>

enum {
    LAST_WORDS_MS = 20,           /* they come from a queue of the kernel, a moment after the end */
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

static void see(void *arg, const struct inet_diag_answer *a)
{
    struct sockets *s = arg;
    if (a->has_bytes)
        socket_table_see(&s->table, a->cookie, a->inode, a->received_bytes, a->sent_bytes);
    else
        s->no_bytes |= a->inode != 0; /* without an inode it is the rest of a connection */
}

static void see_last(void *arg, const struct inet_diag_answer *a)
{
    struct sockets *s = arg;
    if (a->has_bytes)
        socket_table_closed(&s->table, a->cookie, a->received_bytes, a->sent_bytes);
}

static int dump(struct sockets *s, int family)
{
    return sock_diag_dump(&s->diag, family, see, s);
}

static void hear_last_words(struct sockets *s)
{
    sock_diag_hear(&s->diag, see_last, s);
}

void sockets_read(struct sockets *s)
{
    socket_table_begin(&s->table);
    int r = dump(s, AF_INET);
    if (r == 0 && s->has_ipv6)
        r = dump(s, AF_INET6);
    hear_last_words(s);
    if (r == 0)
        socket_table_end(&s->table, s->diag.last_words >= 0);
}

void sockets_finish(struct sockets *s)
{
    sockets_read(s);
    uint64_t until_ns = clock_mono(NULL) + LAST_WORDS_MS * NS_PER_MS;
    struct pollfd p = {.fd = s->diag.last_words, .events = POLLIN};
    while (s->diag.last_words >= 0 && socket_table_waits(&s->table) &&
           clock_mono(NULL) < until_ns) {
        poll(&p, 1, 1);
        hear_last_words(s);
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
static void visit_if_socket(void *arg, const char *name)
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
static int each_socket(const struct sysroot *root, const char *process,
                       void (*visit)(void *arg, uint32_t inode), void *arg)
{
    char path[32];
    snprintf(path, sizeof path, "%s/fd", process);
    CLEANUP_CLOSE int dir = openat(root->proc, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (dir < 0)
        return -errno;
    struct fd_walk w = {.dir = dir, .visit = visit, .arg = arg};
    int r = file_each_entry(dir, visit_if_socket, &w);
    return r < 0 ? r : w.error;
}

struct ownership {
    struct socket_table *table;
    uint64_t targets;
};

static void own(void *arg, uint32_t inode)
{
    const struct ownership *o = arg;
    socket_table_own(o->table, inode, o->targets);
}

static void count_from_now(void *arg, uint32_t inode)
{
    struct sockets *s = arg;
    socket_table_count_from_now(&s->table, inode);
}

/* A process that ends loses its memory before its descriptors, and may be looked at by nobody then:
 * that is its end, not a refusal. */
static bool is_ending(const struct sysroot *root, const char *process)
{
    char path[32], text[128];
    struct statm memory;
    snprintf(path, sizeof path, "%s/statm", process);
    ssize_t n = file_read_at(root->proc, path, text, sizeof text);
    return n <= 0 || parse_statm(scan_text(text, (size_t)n), &memory) < 0 || !memory.virtual_pages;
}

/* 0, -EACCES when its descriptors may not be looked at, -ESRCH when it is at its end. */
static int own_sockets(struct sockets *s, pid_t pid, uint64_t targets)
{
    struct ownership o = {.table = &s->table, .targets = targets};
    char process[16];
    if (s->root->pids < 0)
        return -ESRCH;
    snprintf(process, sizeof process, "%d", (int)pid);
    int r = each_socket(s->root, process, own, &o);
    bool refused = r == -EACCES || r == -EPERM;
    if (r == 0)
        return 0;
    return refused && !is_ending(s->root, process) ? -EACCES : -ESRCH;
}

static uint32_t folded(uint64_t targets)
{
    return (uint32_t)(targets ^ targets >> 32);
}

static bool was_looked_at(const struct sockets *s, pid_t pid, uint64_t targets)
{
    uint32_t then;
    return map_get(&s->looked_at, (uint32_t)pid, &then) && then == folded(targets);
}

void sockets_owner(struct sockets *s, pid_t pid, uint64_t targets)
{
    if (s->appeared != s->table.appeared || s->looked_at.count >= PROCESSES_REMEMBERED)
        map_clear(&s->looked_at);
    s->appeared = s->table.appeared;
    if (pid <= 0 || was_looked_at(s, pid, targets))
        return;
    int r = socket_table_can_own(&s->table, targets) ? own_sockets(s, pid, targets) : 0;
    if (r == 0)
        s->known |= targets;
    map_put(&s->looked_at, (uint32_t)pid, folded(targets));
}

/* ---- The whole ------------------------------------------------------------------------------- */

/* The first dump, which also tells what this kernel can do. */
static int begin(struct sockets *s, bool since_start)
{
    socket_table_begin(&s->table);
    int r = dump(s, AF_INET);
    if (r < 0)
        return r;
    s->has_ipv6 = dump(s, AF_INET6) == 0;
    if (!since_start)
        socket_table_count_all_from_now(&s->table);
    else
        each_socket(s->root, "self", count_from_now, s);
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
        r = begin(s, since_start);
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
