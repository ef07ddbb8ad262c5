/* SPDX-License-Identifier: MIT */
#include "engine/target/network.h"

#include "source/net/interfaces.h"
#include "source/net/sockets.h"

#include <sys/stat.h>
#include <time.h>

/* To ask for sockets takes a tenth of a millisecond and more. A connection that comes and goes
 * between two of them is missed: a young target is looked at more often. */
#define SPACING_NS       (95 * NS_PER_MS)
#define SPACING_YOUNG_NS (5 * NS_PER_MS)

/* Who is in a target's namespace: a link to read for each member, or for each process there is. */
#define MEMBERS_NS (950 * NS_PER_MS)
#define OTHERS_NS  (9500 * NS_PER_MS)

/* After the end of a job its connections may still send what they have: so long it is waited. */
#define UNSENT_STEP_NS (2 * NS_PER_MS)
#define UNSENT_TRIES   25

/* ---- A cgroup of its own --------------------------------------------------------------------- */

void network_prepare(struct tracked *t, int cgroup)
{
    struct cgroup_traffic *traffic = &t->whole->traffic;
    if (!t->options->network || cgroup < 0 || t->options->no_children)
        return;
    traffic->is_on = traffic_open(&traffic->counter, cgroup) == 0;
    struct stat st;
    if (fstat(cgroup, &st) == 0)
        traffic->cgroup = st.st_ino;
    traffic->is_partial = sockets_are_inherited(&t->root);
}

void network_abandon(struct tracked *t)
{
    if (!t->whole)
        return;
    struct cgroup_traffic *traffic = &t->whole->traffic;
    if (traffic->is_on)
        traffic_close(&traffic->counter);
    *traffic = (struct cgroup_traffic){0};
}

/* At the end nothing may be left to send that would be missing. In another network namespace that
 * is not known. */
static void traffic_finish(struct tracked *t, struct cgroup_traffic *traffic)
{
    int unsent = unsent_of_cgroup(traffic->cgroup);
    for (unsigned i = 0; unsent == 1 && i < UNSENT_TRIES; i++) {
        nanosleep(&(struct timespec){.tv_nsec = UNSENT_STEP_NS}, NULL);
        unsent = unsent_of_cgroup(traffic->cgroup);
    }
    uint64_t ours;
    bool is_elsewhere = t->whole->namespace.number && netns_number(&t->root, 0, &ours) == 0 &&
                        t->whole->namespace.number != ours;
    traffic->is_partial |= unsent != 0 || is_elsewhere;
}

static void traffic_put(const struct cgroup_traffic *traffic, bool has_bytes, struct row *ret)
{
    static const struct {
        enum metric_id all, tcp, udp, wire, packets;
    } metrics[] = {
        [TRAFFIC_RECEIVED] = {process_network_received_bytes, process_network_received_tcp_bytes,
                              process_network_received_udp_bytes,
                              process_network_received_wire_bytes,
                              process_network_packets_received_count},
        [TRAFFIC_SENT] = {process_network_sent_bytes, process_network_sent_tcp_bytes,
                          process_network_sent_udp_bytes, process_network_sent_wire_bytes,
                          process_network_packets_sent_count},
    };
    for (unsigned way = 0; way < TRAFFIC_DIRECTIONS; way++) {
        struct traffic_count of[TRAFFIC_PROTOCOLS], all = {0};
        for (unsigned i = 0; i < TRAFFIC_PROTOCOLS; i++) {
            of[i] = traffic_of(&traffic->counts, way, i);
            all.payload_bytes += of[i].payload_bytes;
            all.wire_bytes += of[i].wire_bytes;
            all.packets += of[i].packets;
        }
        row_put_u64(ret, metrics[way].tcp, of[TRAFFIC_TCP].payload_bytes);
        row_put_u64(ret, metrics[way].udp, of[TRAFFIC_UDP].payload_bytes);
        row_put_u64(ret, metrics[way].wire, all.wire_bytes);
        row_put_u64(ret, metrics[way].packets, all.packets);
        if (!has_bytes)
            row_put_u64(ret, metrics[way].all, all.payload_bytes);
    }
}

static struct provenance traffic_quality(const struct cgroup_traffic *traffic)
{
    if (!traffic->is_on)
        return (struct provenance){.quality = QUALITY_UNKNOWN, .source = ""};
    return (struct provenance){traffic->is_partial ? QUALITY_LOWER_BOUND : QUALITY_EXACT,
                               "packets of the cgroup"};
}

struct provenance network_packets_quality(const struct tracked *t, const struct target *g)
{
    return t->options->network ? traffic_quality(&g->traffic) : (struct provenance){.source = ""};
}

/* ---- Sockets --------------------------------------------------------------------------------- */

void network_open(struct network *n, struct tracked *t)
{
    if (!t->options->network || !t->whole)
        return;
    if (t->whole->traffic.is_on) {
        if (t->whole->traffic.is_partial)
            tracked_note(t, "the command inherits a network socket, whose traffic is not "
                            "counted; network bytes are a lower bound");
        return;
    }
    if (sockets_open(&n->sockets, &t->root, is_launched(t) || t->options->since_start) < 0)
        tracked_note(t, "this kernel does not list sockets (sock_diag); network bytes are known "
                        "only for a target with its own network namespace");
}

/* ---- A namespace of its own ------------------------------------------------------------------ */

struct search {
    struct tracked *t;
    const struct target *g;
    bool others;
};

static bool descends_from(struct tracked *t, const struct target *g, pid_t pid)
{
    for (unsigned hops = 0; pid > 1 && hops < 1000; hops++) {
        const struct member *m = members_find(&t->members, pid);
        if (m && (m->targets & g->bit))
            return true;
        pid = process_parent(&t->reader, pid);
        if (g->is_launched && pid == t->discovery.tracker_pid)
            return true;
    }
    return false;
}

static void look_for_others(void *arg, pid_t pid)
{
    struct search *s = arg;
    uint64_t number;
    if (!s->others && netns_number(&s->t->root, pid, &number) == 0 &&
        number == s->g->namespace.number)
        s->others = !descends_from(s->t, s->g, pid);
}

static void leave_namespace(struct namespace_bytes *n)
{
    if (n->net_dev >= 0)
        close(n->net_dev);
    n->net_dev = -1;
}

/* Bytes of others cannot be separated from the target's, nor those that were counted before. */
static bool has_others(struct tracked *t, struct target *g, uint64_t now_ns)
{
    struct namespace_bytes *n = &g->namespace;
    struct search s = {.t = t, .g = g};
    process_scan(&t->reader, look_for_others, &s);
    n->others_at_ns = now_ns + OTHERS_NS;
    if (!s.others)
        return false;
    n->is_shared = true;
    n->known = false;
    leave_namespace(n);
    tracked_note(t, "the target shares a network namespace with other processes; its network bytes "
                    "are unknown");
    return true;
}

/* What a member does in another namespace is missing. Bytes of processes outside of the target
 * spoil the figures. */
static void check_namespace(struct tracked *t, struct target *g, uint64_t now_ns)
{
    struct namespace_bytes *n = &g->namespace;
    if (n->net_dev < 0)
        return;
    if (now_ns >= n->members_at_ns || t->is_last) {
        n->members_at_ns = now_ns + MEMBERS_NS;
        for (size_t i = 0; i < t->members.count && !n->is_partial; i++) {
            const struct member *m = t->members.order[i];
            uint64_t number;
            if (!(member_targets(t, m) & g->bit) || m->gone || m->process.has_ended)
                continue;
            int r = netns_number(&t->root, m->process.entity.pid, &number);
            n->is_partial = r == -EACCES || (r == 0 && number != n->number);
        }
    }
    if (now_ns >= n->others_at_ns || t->is_last || g->ended)
        has_others(t, g, now_ns);
}

/* Whatever goes over the interfaces of a namespace that only the target is in is the target's. One
 * that was left before may go on being used. */
static void enter_namespace(struct tracked *t, struct target *g, uint64_t number, uint64_t now_ns)
{
    struct namespace_bytes *n = &g->namespace;
    uint64_t ours;
    leave_namespace(n);
    n->is_partial |= n->known;
    n->number = number;
    if (n->is_shared && (n->received || n->sent))
        return; /* what was counted cannot be taken back */
    n->is_shared = false;
    if (netns_number(&t->root, 0, &ours) < 0 || number == ours || has_others(t, g, now_ns))
        return;
    n->net_dev = netns_open(&t->root, g->ledger.main);
    uint64_t received, sent;
    if (n->net_dev < 0 || netns_read(n->net_dev, &received, &sent) < 0)
        return;
    n->known = true;
    if (g->traffic.is_on) /* what was counted before is not in it */
        n->is_partial |= g->traffic.counts.of[TRAFFIC_SENT][TRAFFIC_IPV4][TRAFFIC_TCP].packets;
    n->read_received = t->options->since_start ? 0 : received;
    n->read_sent = t->options->since_start ? 0 : sent;
    n->is_partial |= is_launched(t) && (received || sent);
}

static void read_namespace(struct tracked *t, struct target *g, uint64_t now_ns)
{
    struct namespace_bytes *n = &g->namespace;
    uint64_t number, received, sent;
    if (g->ledger.main && !g->ended && netns_number(&t->root, g->ledger.main, &number) == 0 &&
        number != n->number)
        enter_namespace(t, g, number, now_ns);
    check_namespace(t, g, now_ns);
    if (n->net_dev < 0 || netns_read(n->net_dev, &received, &sent) < 0)
        return;
    n->received += left_u64(received, n->read_received);
    n->sent += left_u64(sent, n->read_sent);
    n->read_received = received;
    n->read_sent = sent;
    if (g->ended || t->is_last)
        leave_namespace(n);
}

/* ---- Both ------------------------------------------------------------------------------------ */

void network_close(struct network *n, struct tracked *t)
{
    sockets_close(n->sockets);
    n->sockets = NULL;
    for (size_t i = 0; i < t->target_count; i++) {
        leave_namespace(&t->targets[i].namespace);
        if (t->targets[i].traffic.is_on)
            traffic_close(&t->targets[i].traffic.counter);
    }
}

void network_tick(struct network *n, struct tracked *t, const struct frame *f, bool has_left)
{
    uint64_t now_ns = f->mono_ns;
    struct cgroup_traffic *traffic = &t->whole->traffic;
    traffic->is_partial |= has_left;
    if (traffic->is_on && f->last)
        traffic_finish(t, traffic);
    if (traffic->is_on)
        traffic_read(&traffic->counter, &traffic->counts);
    if (!t->options->network || (now_ns < n->next_ns && !f->last))
        return;
    n->next_ns = now_ns + min_u64(SPACING_NS, max_u64(f->elapsed_ns / 4, SPACING_YOUNG_NS));
    if (n->sockets) {
        sockets_read(n->sockets);
        for (size_t i = 0; i < t->members.count; i++) {
            const struct member *m = t->members.order[i];
            if (!m->was_seen || m->gone || m->process.has_ended)
                continue;
            int r = sockets_owner(n->sockets, m->process.entity.pid, member_targets(t, m));
            if (r == -EACCES && !n->has_noted_denied)
                tracked_note(t, "cannot read the sockets of a process of another user; its network "
                                "bytes are not counted");
            n->has_noted_denied |= r == -EACCES;
        }
        if (f->last)
            sockets_finish(n->sockets);
    }
    for (size_t i = 0; i < t->target_count; i++)
        read_namespace(t, &t->targets[i], now_ns);
}

/* Bytes were counted for a target before others were found in its namespace. */
static bool has_spoiled(const struct tracked *t)
{
    for (size_t i = 0; i < t->target_count; i++)
        if (t->targets[i].namespace.is_shared &&
            t->targets[i].namespace.received + t->targets[i].namespace.sent)
            return true;
    return false;
}

/* All targets together have what went over their namespaces, each once, which no socket of ours
 * shows. */
static bool add_namespaces(const struct tracked *t, uint64_t *received, uint64_t *sent)
{
    bool any = false;
    for (size_t i = 0; i < t->target_count; i++) {
        const struct namespace_bytes *n = &t->targets[i].namespace;
        bool is_counted = false;
        for (size_t k = 0; k < i; k++)
            is_counted |= t->targets[k].namespace.known &&
                          t->targets[k].namespace.number == n->number;
        if (!n->known || is_counted)
            continue;
        any = true;
        *received += n->received;
        *sent += n->sent;
    }
    return any;
}

void network_count(const struct network *n, const struct tracked *t, const struct target *g,
                   struct row *ret)
{
    if (!t->options->network)
        return;
    uint64_t received = g->namespace.received, sent = g->namespace.sent;
    bool known = g->namespace.known;
    if (!known && !g->namespace.is_shared && n->sockets)
        known = sockets_total(n->sockets, (unsigned)(g - t->targets), &received, &sent);
    if (g->is_union && has_spoiled(t))
        known = false;
    else if (g->is_union)
        known |= add_namespaces(t, &received, &sent);
    if (g->traffic.is_on && !g->namespace.is_shared)
        traffic_put(&g->traffic, known, ret);
    if (!known)
        return;
    row_put_u64(ret, process_network_received_bytes, received);
    row_put_u64(ret, process_network_sent_bytes, sent);
}

struct provenance network_quality(const struct tracked *t, const struct target *g)
{
    if (!t->options->network)
        return (struct provenance){.source = ""};
    if (g->namespace.is_shared || (g->is_union && has_spoiled(t)))
        return (struct provenance){.quality = QUALITY_UNKNOWN, .source = ""};
    if (g->namespace.known)
        return (struct provenance){g->namespace.is_partial ? QUALITY_LOWER_BOUND : QUALITY_EXACT,
                                   "network namespace"};
    if (g->traffic.is_on)
        return traffic_quality(&g->traffic);
    /* A connection that came and went between two looks was seen by nobody. */
    return (struct provenance){QUALITY_LOWER_BOUND, "TCP sockets, sampled"};
}
