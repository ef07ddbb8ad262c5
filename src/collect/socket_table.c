/* SPDX-License-Identifier: MIT */
#include "collect/socket_table.h"

#include "metric/metric.h"

/* A dump can pass over a socket that moves, and last words come a little after the end: one that is
 * not told of is forgotten after that many rounds. */
enum { ROUNDS_ABSENT = 16 };

/* A connection that has ended while its descriptor is open is in no dump, and has its last words
 * when the descriptor is closed, maybe much later. That many sockets of targets are waited for. */
enum { ABSENT_AT_MOST = 4096 };

void socket_table_done(struct socket_table *t)
{
    free(t->sockets);
    map_done(&t->by_cookie);
    map_done(&t->by_inode);
    *t = (struct socket_table){0};
}

/* Keys of a map have 32 bits and are not 0. Sockets whose keys are the same hang together. */
static uint32_t cookie_key(uint64_t cookie)
{
    uint32_t folded = (uint32_t)(cookie ^ cookie >> 32);
    return folded ? folded : 1;
}

static struct tcp_socket *at_place(const struct socket_table *t, uint32_t place)
{
    return place ? &t->sockets[place - 1] : NULL;
}

static uint32_t place_of(const struct socket_table *t, const struct tcp_socket *s)
{
    return (uint32_t)(s - t->sockets) + 1;
}

static struct tcp_socket *find_cookie(const struct socket_table *t, uint64_t cookie)
{
    uint32_t place = 0;
    map_get(&t->by_cookie, cookie_key(cookie), &place);
    struct tcp_socket *s = at_place(t, place);
    while (s && s->cookie != cookie)
        s = at_place(t, s->next);
    return s;
}

static struct tcp_socket *find_inode(const struct socket_table *t, uint32_t inode)
{
    uint32_t place = 0;
    if (inode)
        map_get(&t->by_inode, inode, &place);
    return at_place(t, place);
}

/* ---- Coming and leaving ---------------------------------------------------------------------- */

static struct tcp_socket *free_place(struct socket_table *t)
{
    struct tcp_socket *s = at_place(t, t->free);
    if (s) {
        t->free = s->next;
        return s;
    }
    if (t->used == t->capacity) {
        uint32_t capacity = t->capacity ? 2 * t->capacity : 64;
        struct tcp_socket *longer = realloc(t->sockets, capacity * sizeof *longer);
        if (!longer)
            return NULL;
        t->sockets = longer;
        t->capacity = capacity;
    }
    return &t->sockets[t->used++];
}

static void give_back(struct socket_table *t, struct tcp_socket *s)
{
    *s = (struct tcp_socket){.next = t->free};
    t->free = place_of(t, s);
}

static struct tcp_socket *add(struct socket_table *t, uint64_t cookie)
{
    struct tcp_socket *s = free_place(t);
    if (!s)
        return NULL;
    uint32_t next = 0;
    map_get(&t->by_cookie, cookie_key(cookie), &next);
    *s = (struct tcp_socket){.cookie = cookie, .next = next};
    if (map_put(&t->by_cookie, cookie_key(cookie), place_of(t, s)) == 0)
        return s;
    give_back(t, s);
    return NULL;
}

static void forget_inode(struct socket_table *t, struct tcp_socket *s)
{
    if (find_inode(t, s->inode) == s)
        map_remove(&t->by_inode, s->inode);
    s->inode = 0;
}

static void forget(struct socket_table *t, struct tcp_socket *s)
{
    forget_inode(t, s);
    uint32_t place = place_of(t, s), first = 0;
    map_get(&t->by_cookie, cookie_key(s->cookie), &first);
    struct tcp_socket *before = at_place(t, first);
    if (first == place) {
        if (s->next)
            map_put(&t->by_cookie, cookie_key(s->cookie), s->next);
        else
            map_remove(&t->by_cookie, cookie_key(s->cookie));
    } else {
        while (before->next != place)
            before = at_place(t, before->next);
        before->next = s->next;
    }
    give_back(t, s);
}

/* ---- Counting -------------------------------------------------------------------------------- */

static void credit(struct socket_table *t, uint64_t targets, uint64_t received, uint64_t sent)
{
    FOR_EACH_BIT(target, targets)
    {
        t->received_bytes[target] += received;
        t->sent_bytes[target] += sent;
    }
}

static void grow_to(struct socket_table *t, struct tcp_socket *s, uint64_t received, uint64_t sent)
{
    credit(t, s->targets, left_u64(received, s->received_bytes), left_u64(sent, s->sent_bytes));
    s->received_bytes = max_u64(received, s->received_bytes);
    s->sent_bytes = max_u64(sent, s->sent_bytes);
}

void socket_table_begin(struct socket_table *t)
{
    t->round += t->round == UINT32_MAX ? 2 : 1; /* 0 is the sign of a free place */
}

void socket_table_see(struct socket_table *t, uint64_t cookie, uint32_t inode,
                      uint64_t received_bytes, uint64_t sent_bytes)
{
    struct tcp_socket *s = find_cookie(t, cookie);
    if (!s)
        s = add(t, cookie);
    if (!s)
        return;
    s->round = t->round;
    grow_to(t, s, received_bytes, sent_bytes);
    if (inode == s->inode)
        return;
    forget_inode(t, s);
    if (inode && map_put(&t->by_inode, inode, place_of(t, s)) == 0) {
        s->inode = inode;
        t->appeared++;
    }
}

void socket_table_end(struct socket_table *t, bool last_words)
{
    unsigned waiting = 0;
    for (uint32_t i = 0; i < t->used; i++) {
        struct tcp_socket *s = &t->sockets[i];
        if (!s->round || t->round - s->round < ROUNDS_ABSENT)
            continue;
        if (!s->targets || !last_words || ++waiting > ABSENT_AT_MOST)
            forget(t, s);
    }
}

void socket_table_closed(struct socket_table *t, uint64_t cookie, uint64_t received_bytes,
                         uint64_t sent_bytes)
{
    struct tcp_socket *s = find_cookie(t, cookie);
    if (!s)
        return;
    grow_to(t, s, received_bytes, sent_bytes);
    forget(t, s);
}

/* ---- Owning ---------------------------------------------------------------------------------- */

static void count_from_now(struct tcp_socket *s)
{
    s->received_before = s->received_bytes;
    s->sent_before = s->sent_bytes;
}

void socket_table_count_from_now(struct socket_table *t, uint32_t inode)
{
    struct tcp_socket *s = find_inode(t, inode);
    if (s)
        count_from_now(s);
}

void socket_table_count_all_from_now(struct socket_table *t)
{
    for (uint32_t i = 0; i < t->used; i++)
        count_from_now(&t->sockets[i]);
}

void socket_table_own(struct socket_table *t, uint32_t inode, uint64_t targets)
{
    struct tcp_socket *s = find_inode(t, inode);
    if (!s)
        return;
    credit(t, targets & ~s->targets, s->received_bytes - s->received_before,
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
