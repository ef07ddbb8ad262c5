/* SPDX-License-Identifier: MIT
 *
 * An interface that is made anew begins at 0; what its predecessor of the same name had is carried
 * on. One of a new name may be an old one that was renamed or moved in, with all its past: it
 * counts from its first reading. The sum for the machine is not added up from the interfaces of the
 * moment: it grows by what those that count have grown by, so that it stays when one of them goes.
 */
#include "collect/collectors.h"

#include "base/util.h"
#include "collect/netif_class.h"
#include "collect/netns.h"

#include <string.h>

/* Which interfaces are parts of others is looked up when they appear and now and then. */
enum { LOOK_AGAIN_TICKS = 64 };

struct counter {
    enum metric_id metric;
    size_t offset; /* in struct net_dev */
};

static const struct counter counters[] = {
    {netif_received_bytes, offsetof(struct net_dev, received.bytes)},
    {netif_sent_bytes, offsetof(struct net_dev, sent.bytes)},
    {netif_packets_received_count, offsetof(struct net_dev, received.packets)},
    {netif_packets_sent_count, offsetof(struct net_dev, sent.packets)},
    {netif_errors_received_count, offsetof(struct net_dev, received.errors)},
    {netif_errors_sent_count, offsetof(struct net_dev, sent.errors)},
    {netif_dropped_received_count, offsetof(struct net_dev, received.dropped)},
    {netif_dropped_sent_count, offsetof(struct net_dev, sent.dropped)},
};

enum { RECEIVED, SENT, COUNTERS = ARRAY_LEN(counters) };

struct netif {
    struct netif *next; /* owned, in order of appearance */
    struct measured measured;
    bool is_physical, is_loopback, counts_twice;
    uint64_t tick;                /* that saw it last */
    uint64_t read[COUNTERS];      /* what the kernel said last */
    uint64_t carried[COUNTERS];   /* what predecessors had */
    uint64_t summed_up[SENT + 1]; /* how far the machine's sum has followed it */
};

struct netifs {
    int kept; /* net/dev of our own namespace; -1 = not open */
    bool in_sys;
    bool is_elsewhere; /* a namespace that is not ours: nothing is said of the machine */
    struct netif *first;
    struct netif **expected; /* where the next interface of net/dev is looked for first */
    uint64_t tick;           /* counts from 1 */
    uint64_t total_bytes[SENT + 1];
    const struct collect_context *context; /* during a tick */
    struct measured_list *out;
};

/* ---- One interface --------------------------------------------------------------------------- */

/* Where the interface is linked, or where a new one is to be. They come in the same order in every
 * tick, so that it nearly always is the one behind the last. */
static struct netif **find(struct netifs *s, const char *name)
{
    struct netif **at = s->expected;
    if (!*at || strcmp((*at)->measured.entity.name, name) != 0)
        for (at = &s->first; *at && strcmp((*at)->measured.entity.name, name) != 0;)
            at = &(*at)->next;
    return at;
}

static struct netif *netif_new(const struct netifs *s, const char *name)
{
    const struct sysroot *root = s->context->root;
    struct netif *n = calloc(1, sizeof *n);
    if (!n)
        return NULL;
    measured_init(&n->measured, ENTITY_NETIF);
    memcpy(n->measured.entity.name, name, NET_DEV_NAME_BYTES);
    const char *class = netif_class(root, s->in_sys, name);
    n->measured.entity.labels[0] = (struct label){"class", class};
    if (s->is_elsewhere)
        n->measured.entity.labels[1] = (struct label){"namespace", "of the target"};
    n->is_physical = strcmp(class, "physical") == 0;
    n->is_loopback = strcmp(class, "loopback") == 0;
    n->counts_twice = netif_counts_twice(root, s->in_sys, name);
    return n;
}

static uint64_t total_of(const struct netif *n, unsigned counter)
{
    return n->carried[counter] + n->read[counter];
}

static void take(struct netif *n, const struct net_dev *dev)
{
    for (unsigned i = 0; i < COUNTERS; i++) {
        uint64_t value;
        memcpy(&value, (const char *)dev + counters[i].offset, sizeof value);
        if (value < n->read[i])
            n->carried[i] += n->read[i];
        n->read[i] = value;
        row_put_u64(&n->measured.read, counters[i].metric, total_of(n, i));
    }
}

static void visit(void *arg, const struct net_dev *dev)
{
    struct netifs *s = arg;
    struct netif **at = find(s, dev->name);
    bool is_late = !*at && s->tick > 1;
    if (!*at)
        *at = netif_new(s, dev->name);
    struct netif *n = *at;
    if (!n || n->tick == s->tick)
        return;
    n->tick = s->tick;
    s->expected = &n->next;
    take(n, dev);
    for (unsigned i = RECEIVED; is_late && i <= SENT; i++)
        n->summed_up[i] = total_of(n, i);
    measured_list_add(s->out, &n->measured);
}

/* ---- The machine ----------------------------------------------------------------------------- */

static bool is_here(const struct netifs *s, const struct netif *n)
{
    return n->tick == s->tick;
}

static bool has_physical(const struct netifs *s)
{
    for (const struct netif *n = s->first; n; n = n->next)
        if (is_here(s, n) && n->is_physical)
            return true;
    return false;
}

static bool counts(const struct netif *n, bool physical_only)
{
    return physical_only ? n->is_physical : !n->is_loopback && !n->counts_twice;
}

static void look_again(struct netifs *s)
{
    for (struct netif *n = s->first; n; n = n->next)
        if (is_here(s, n))
            n->counts_twice = netif_counts_twice(s->context->root, s->in_sys,
                                                 n->measured.entity.name);
}

static void sum_up(struct netifs *s)
{
    bool physical_only = has_physical(s);
    if (!physical_only && s->tick % LOOK_AGAIN_TICKS == 0)
        look_again(s);
    for (struct netif *n = s->first; n; n = n->next) {
        if (!is_here(s, n))
            continue;
        for (unsigned i = RECEIVED; i <= SENT; i++) {
            if (counts(n, physical_only))
                s->total_bytes[i] += total_of(n, i) - n->summed_up[i];
            n->summed_up[i] = total_of(n, i);
        }
    }
    struct row *row = &s->context->system->read;
    row_put_u64(row, system_network_received_bytes, s->total_bytes[RECEIVED]);
    row_put_u64(row, system_network_sent_bytes, s->total_bytes[SENT]);
}

/* ---- The collector --------------------------------------------------------------------------- */

/* The descriptor of our own namespace is kept: we keep that alive anyway. The namespace of a job
 * must be free to go. */
static int open_net_dev(struct netifs *s)
{
    const struct collect_context *c = s->context;
    if (s->kept >= 0)
        return s->kept;
    int fd = netns_open(c->root, c->net_pid);
    if (c->root->live && !c->net_pid)
        s->kept = fd < 0 ? -1 : fd;
    return fd;
}

static void netifs_collect(void *state, const struct collect_context *c, struct measured_list *out)
{
    struct netifs *s = state;
    s->context = c;
    s->out = out;
    row_unknown(&c->system->read, system_network_received_bytes);
    row_unknown(&c->system->read, system_network_sent_bytes);
    int fd = open_net_dev(s);
    if (fd < 0)
        return;
    s->tick++;
    s->expected = &s->first;
    size_t before = out->count;
    int r = netns_each(fd, visit, s);
    if (r == 0 && out->count > before && !s->is_elsewhere)
        sum_up(s);
    if (fd != s->kept)
        close(fd);
}

static int netifs_open(void **ret_state, const struct collect_context *c)
{
    CLEANUP_CLOSE int fd = netns_open(c->root, c->net_pid);
    if (fd < 0)
        return fd;
    struct netifs *s = malloc(sizeof *s);
    if (!s)
        return -ENOMEM;
    int compared = c->net_pid ? netns_compare(c->root, c->net_pid) : 0;
    *s = (struct netifs){.kept = -1, .in_sys = compared == 0, .is_elsewhere = compared > 0};
    *ret_state = s;
    return 0;
}

static void netifs_close(void *state)
{
    struct netifs *s = state;
    if (!s)
        return;
    if (s->kept >= 0)
        close(s->kept);
    for (struct netif *n = s->first, *next; n; n = next) {
        next = n->next;
        free(n);
    }
    free(s);
}

const struct collector collector_netifs = {
    .name = "netifs",
    .gives = BIT(ENTITY_NETIF) | BIT(ENTITY_SYSTEM),
    .gives_of_system = SYSTEM_BITS(network_received_bytes, network_sent_bytes),
    .cost = COST_CHEAP,
    .open = netifs_open,
    .collect = netifs_collect,
    .close = netifs_close,
};
