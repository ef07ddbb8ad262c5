/* SPDX-License-Identifier: MIT
 * An interface that is made anew begins at 0; what its predecessor of the same name had is carried
 * on. One of a new name may be an old one that was renamed or moved in, with all its past: it
 * counts from its first reading. The sum for the machine is not added up from the interfaces of the
 * moment: it grows by what those that count have grown by, so that it stays when one of them goes.
 */
#include "source/net/interfaces.h"

#include "base/io/file.h"
#include "base/util.h"
#include "source/collector.h"
#include "source/probe.h"

#include <fcntl.h>
#include <net/if_arp.h>
#include <stdio.h>
#include <string.h>

/* ==== Netns =================================================================================== */

int netns_number(const struct sysroot *root, pid_t pid, uint64_t *ret)
{
    char path[32] = "self/ns/net", link[64];
    if (pid)
        snprintf(path, sizeof path, "%d/ns/net", (int)pid);
    ssize_t n = readlinkat(pid ? root->pids : root->proc, path, link, sizeof link);
    if (n < 0)
        return -errno;
    struct scan s = scan_text(link, (size_t)n); /* net:[4026531840] */
    return scan_word(&s, "net:[") && scan_u64(&s, ret) && scan_word(&s, "]") ? 0 : -EBADMSG;
}

int netns_compare(const struct sysroot *root, pid_t pid)
{
    uint64_t theirs, ours;
    int r = netns_number(root, pid, &theirs);
    if (r == 0)
        r = netns_number(root, 0, &ours);
    return r < 0 ? r : theirs != ours;
}

int netns_open(const struct sysroot *root, pid_t pid)
{
    char path[32] = "net/dev";
    if (pid)
        snprintf(path, sizeof path, "%d/net/dev", (int)pid);
    int fd = openat(pid ? root->pids : root->proc, path, O_RDONLY | O_CLOEXEC);
    return fd < 0 ? -errno : fd;
}

enum { SHORTEST_PAGE = 4096 };

/* The kernel gives a page at a time: the beginning of a line is kept for the next read. */
int netns_each(int net_dev, void (*visit)(void *arg, const struct net_dev *dev), void *arg)
{
    char text[8192];
    size_t kept = 0;
    off_t at = 0;
    for (;;) {
        ssize_t n = pread(net_dev, text + kept, sizeof text - kept, at);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -errno;
        if (n == 0)
            return kept ? -EBADMSG : 0;
        at += n;
        struct scan rest = scan_text(text, kept + (size_t)n);
        struct net_dev dev;
        int r;
        while ((r = parse_net_dev(&rest, &dev)) > 0)
            visit(arg, &dev);
        if (r < 0)
            return r;
        kept = (size_t)(rest.end - rest.at);
        if (kept == sizeof text)
            return -EBADMSG; /* no line is that long */
        memmove(text, rest.at, kept);
        if (!kept && n < SHORTEST_PAGE / 2)
            return 0; /* all pages but the last are full */
    }
}

struct netns_sums {
    unsigned interfaces;
    uint64_t received;
    uint64_t sent;
};

static void netns_add_unless_loopback(void *arg, const struct net_dev *dev)
{
    struct netns_sums *sums = arg;
    sums->interfaces++;
    if (strcmp(dev->name, "lo") == 0)
        return;
    sums->received += dev->received.bytes;
    sums->sent += dev->sent.bytes;
}

int netns_read(int net_dev, uint64_t *ret_received, uint64_t *ret_sent)
{
    struct netns_sums sums = {0};
    int r = netns_each(net_dev, netns_add_unless_loopback, &sums);
    if (r < 0)
        return r;
    if (!sums.interfaces)
        return -ENODATA; /* a namespace has its loopback at least */
    *ret_received = sums.received;
    *ret_sent = sums.sent;
    return 0;
}

/* ==== Netif class ============================================================================= */

/* /sys/class/net/eth0/type      1, or 772 for loopback
 * /sys/class/net/eth0/device    when it is a hardware device
 * /sys/class/net/eth0/master    when it is part of a bridge, a bond, a team
 * /sys/class/net/eth0/brport    when it is part of a bridge, on kernels before 3.9
 * /sys/class/net/eth0.7/lower_eth0    the interface below it */

enum { PATH_BYTES = 128 };

static void netif_class_path(char ret[PATH_BYTES], const char *name, const char *file)
{
    snprintf(ret, PATH_BYTES, "class/net/%.64s/%.16s", name, file);
}

static bool netif_class_has(const struct sysroot *root, const char *name, const char *file)
{
    char path[PATH_BYTES];
    netif_class_path(path, name, file);
    return faccessat(root->sys, path, F_OK, 0) == 0;
}

static bool netif_class_is_loopback_type(const struct sysroot *root, const char *name)
{
    char path[PATH_BYTES], text[32];
    netif_class_path(path, name, "type");
    ssize_t n = file_read_at(root->sys, path, text, sizeof text);
    struct scan s = scan_text(text, n > 0 ? (size_t)n : 0);
    uint64_t type;
    return scan_u64(&s, &type) && type == ARPHRD_LOOPBACK;
}

const char *netif_class(const struct sysroot *root, bool in_sys, const char *name)
{
    in_sys = in_sys && root->sys >= 0;
    if (strcmp(name, "lo") == 0 || (in_sys && netif_class_is_loopback_type(root, name)))
        return "loopback";
    return in_sys && netif_class_has(root, name, "device") ? "physical" : "virtual";
}

struct lower_walk {
    const struct sysroot *root;
    bool has_lower;
};

/* A bond has its parts below it, too; but it is their master, so that they are left out. */
static void netif_class_look_for_lower(void *arg, const char *name)
{
    static const char prefix[] = "lower_";
    struct lower_walk *w = arg;
    if (strncmp(name, prefix, strlen(prefix)) == 0)
        w->has_lower |= !netif_class_has(w->root, name + strlen(prefix), "master");
}

bool netif_counts_twice(const struct sysroot *root, bool in_sys, const char *name)
{
    if (!in_sys || root->sys < 0)
        return false;
    if (netif_class_has(root, name, "master") || netif_class_has(root, name, "brport"))
        return true;
    char path[PATH_BYTES];
    netif_class_path(path, name, "");
    CLEANUP_CLOSE int dir = openat(root->sys, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct lower_walk w = {.root = root};
    if (dir >= 0)
        file_each_entry(dir, netif_class_look_for_lower, &w);
    return w.has_lower;
}

/* ==== Net dev ================================================================================= */

/* Inter-|   Receive                                                |  Transmit
 *  face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop …
 *     lo:    6534      58    0    0    0     0          0         0     6534      58    0    0 …
 *   eth0: 31595188    891    0    0    0     0          0         0    46464     550    0    0 …
 *   eth0:1:1500 …
 *
 * Eight numbers each way. Old kernels put no blank after the colon, and list aliases, which have a
 * colon in their names: the last colon of the line ends the name. */

static bool net_dev_read_name(struct scan *line, char ret[NET_DEV_NAME_BYTES])
{
    const char *colon = memrchr(line->at, ':', scan_length(*line));
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

static bool net_dev_read_way(struct scan *line, struct net_dev_way *ret)
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

/* A blank separates a number from columns that a later kernel may add. */
static bool net_dev_at_blank(const struct scan *line)
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
        /* A name may contain the bar of the headings, but no heading has a colon. */
    } while (memchr(line.at, '|', scan_length(line)) && !memchr(line.at, ':', scan_length(line)));
    struct net_dev dev = {0};
    if (!net_dev_read_name(&line, dev.name) || !net_dev_read_way(&line, &dev.received) ||
        !net_dev_at_blank(&line) || !net_dev_read_way(&line, &dev.sent) || !net_dev_at_blank(&line))
        return -EBADMSG;
    *text = rest;
    *ret = dev;
    return 1;
}

/* ==== Netifs ================================================================================== */

/* Whether an interface is part of another one is looked up when it appears and now and then. */
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
    struct instance instance;
    bool is_physical, is_loopback, counts_twice;
    uint64_t tick;                /* that saw it last */
    uint64_t read[COUNTERS];      /* the last reading */
    uint64_t carried[COUNTERS];   /* of interfaces that had the name before */
    uint64_t summed_up[SENT + 1]; /* how far the machine's sum has followed it */
};

struct netifs {
    int kept; /* net/dev of our own namespace; -1 = not open */
    bool in_sys;
    bool is_elsewhere; /* not our namespace: these are no figures of the machine */
    struct netif *first;
    struct netif **expected; /* where to look first for the next interface of net/dev */
    uint64_t tick;           /* counts from 1 */
    uint64_t total_bytes[SENT + 1];
    const struct collect_context *context; /* during a tick */
    struct instance_list *out;
};

/* ---- One interface --------------------------------------------------------------------------- */

static struct netif *netif_new(const struct netifs *s, const char *name)
{
    const struct sysroot *root = s->context->root;
    struct netif *n = calloc(1, sizeof *n);
    if (!n)
        return NULL;
    instance_init(&n->instance, ENTITY_NETIF);
    memcpy(n->instance.entity.name, name, NET_DEV_NAME_BYTES);
    const char *class = netif_class(root, s->in_sys, name);
    n->instance.entity.labels[0] = (struct label){"class", class};
    if (s->is_elsewhere)
        n->instance.entity.labels[1] = (struct label){"namespace", "of the target"};
    n->is_physical = strcmp(class, "physical") == 0;
    n->is_loopback = strcmp(class, "loopback") == 0;
    n->counts_twice = netif_counts_twice(root, s->in_sys, name);
    return n;
}

static uint64_t netif_total(const struct netif *n, unsigned counter)
{
    return n->carried[counter] + n->read[counter];
}

static void netif_put(struct netif *n, const struct net_dev *dev)
{
    for (unsigned i = 0; i < COUNTERS; i++) {
        uint64_t value;
        memcpy(&value, (const char *)dev + counters[i].offset, sizeof value);
        if (value < n->read[i])
            n->carried[i] += n->read[i];
        n->read[i] = value;
        row_put_u64(&n->instance.read, counters[i].metric, netif_total(n, i));
    }
}

static void netifs_visit(void *arg, const struct net_dev *dev)
{
    struct netifs *s = arg;
    /* Interfaces come in the same order at every tick, so that it nearly always is the next one. */
    struct netif **at = s->expected;
    if (!*at || strcmp((*at)->instance.entity.name, dev->name) != 0)
        for (at = &s->first; *at && strcmp((*at)->instance.entity.name, dev->name) != 0;)
            at = &(*at)->next;
    bool is_late = !*at && s->tick > 1;
    if (!*at)
        *at = netif_new(s, dev->name);
    struct netif *n = *at;
    if (!n || n->tick == s->tick)
        return;
    n->tick = s->tick;
    s->expected = &n->next;
    netif_put(n, dev);
    for (unsigned i = RECEIVED; is_late && i <= SENT; i++)
        n->summed_up[i] = netif_total(n, i);
    instance_list_add(s->out, &n->instance);
}

/* ---- The machine ----------------------------------------------------------------------------- */

static void netifs_sum_up(struct netifs *s)
{
    bool has_physical = false;
    for (const struct netif *n = s->first; n; n = n->next)
        has_physical |= n->tick == s->tick && n->is_physical;
    bool looks_again = !has_physical && s->tick % LOOK_AGAIN_TICKS == 0;
    for (struct netif *n = s->first; n; n = n->next) {
        if (n->tick != s->tick) /* it is gone */
            continue;
        if (looks_again)
            n->counts_twice = netif_counts_twice(s->context->root, s->in_sys,
                                                 n->instance.entity.name);
        bool counts = has_physical ? n->is_physical : !n->is_loopback && !n->counts_twice;
        for (unsigned i = RECEIVED; i <= SENT; i++) {
            if (counts)
                s->total_bytes[i] += netif_total(n, i) - n->summed_up[i];
            n->summed_up[i] = netif_total(n, i);
        }
    }
    struct row *row = &s->context->system->read;
    row_put_u64(row, system_network_received_bytes, s->total_bytes[RECEIVED]);
    row_put_u64(row, system_network_sent_bytes, s->total_bytes[SENT]);
}

/* ---- The collector --------------------------------------------------------------------------- */

static void netifs_collect(void *state, const struct collect_context *c, struct instance_list *out)
{
    struct netifs *s = state;
    s->context = c;
    s->out = out;
    row_unknown(&c->system->read, system_network_received_bytes);
    row_unknown(&c->system->read, system_network_sent_bytes);
    /* Only the descriptor of our own namespace is kept: an open one keeps the namespace of a job
     * alive after its end. */
    int fd = s->kept >= 0 ? s->kept : netns_open(c->root, c->net_pid);
    if (fd < 0)
        return;
    if (c->root->live && !c->net_pid)
        s->kept = fd;
    s->tick++;
    s->expected = &s->first;
    size_t before = out->count;
    int r = netns_each(fd, netifs_visit, s);
    if (r == 0 && out->count > before && !s->is_elsewhere)
        netifs_sum_up(s);
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

/* ==== Probe =================================================================================== */

void probe_interfaces(const struct probe_facts *p, struct finding *f)
{
    struct probe_look l;
    finding_ok(f, "exact", "/proc/net/dev");
    int r = probe_look_begin(&l, p, &collector_netifs);
    if (r < 0 || !l.list.count) {
        finding_missing(f, "/proc/net/dev lists no interfaces");
        finding_remedy(f, "a kernel with CONFIG_NET=y, and /proc of the same network namespace");
    } else if (probe_has_sys_class(p, f, "types of interfaces are guessed")) {
        finding_detail(f, "%u physical, %u virtual, %u loopback", probe_look_count(&l, "physical"),
                       probe_look_count(&l, "virtual"), probe_look_count(&l, "loopback"));
    }
    probe_look_end(&l);
}
