/* SPDX-License-Identifier: MIT */
#include "source/net/interfaces.h"
#include "base/text/buf.h"
#include "machine_tree.h"
#include "source/collector.h"
#include "tree.h"
#include "unit.h"

#include <arpa/inet.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/wait.h>

/* ---- netifs --------------------------------------------------------------------------------- */

#define HEADINGS                                                                                   \
    "Inter-|   Receive                                                |  Transmit\n"               \
    " face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop" \
    " fifo colls carrier compressed\n"

#define NETIFS_ETH0(received, sent) "  eth0: " received " 2 3 4 0 0 0 0 " sent " 5 6 7 0 0 0 0\n"
#define NETIFS_LO                   "    lo: 999 9 0 0 0 0 0 0 999 9 0 0 0 0 0 0\n"

static void begin(struct machine *m, const char *text)
{
    tree_write(&m->tree, "sys/class/net/lo/type", "772\n");
    tree_write(&m->tree, "proc/net/dev", text);
    machine_open(m, &collector_netifs);
}

static void look(struct machine *m, const char *text)
{
    tree_write(&m->tree, "proc/net/dev", text);
    machine_collect(m);
}

static void assert_system(const struct machine *m, uint64_t received, uint64_t sent)
{
    assert_value(&m->system.read, system_network_received_bytes, received);
    assert_value(&m->system.read, system_network_sent_bytes, sent);
}

static void test_netifs_figures(void **state)
{
    (void)state;
    struct machine m;
    machine_make(&m);
    tree_write(&m.tree, "sys/class/net/eth0/device", "");
    begin(&m, HEADINGS);
    look(&m,
         HEADINGS NETIFS_LO NETIFS_ETH0("100", "200") "tun0: 7 0 0 0 0 0 0 0 7 0 0 0 0 0 0 0\n");
    assert_int_equal(m.list.count, 3);
    const struct instance *lo = m.list.items[0], *eth0 = m.list.items[1];
    assert_string_equal(entity_name(&lo->entity), "lo");
    assert_string_equal(lo->entity.labels[0].key, "class");
    assert_string_equal(lo->entity.labels[0].value, "loopback");
    assert_string_equal(entity_name(&eth0->entity), "eth0");
    assert_string_equal(eth0->entity.labels[0].value, "physical");
    assert_string_equal(m.list.items[2]->entity.labels[0].value, "virtual");
    assert_false(eth0->is_new);
    assert_value(&eth0->read, netif_received_bytes, 100);
    assert_value(&eth0->read, netif_packets_received_count, 2);
    assert_value(&eth0->read, netif_errors_received_count, 3);
    assert_value(&eth0->read, netif_dropped_received_count, 4);
    assert_value(&eth0->read, netif_sent_bytes, 200);
    assert_value(&eth0->read, netif_packets_sent_count, 5);
    assert_value(&eth0->read, netif_errors_sent_count, 6);
    assert_value(&eth0->read, netif_dropped_sent_count, 7);
    assert_system(&m, 100, 200);
    machine_remove(&m);
}

static void test_netifs_comes_goes_and_comes_again(void **state)
{
    (void)state;
    struct machine m;
    machine_make(&m);
    begin(&m, HEADINGS NETIFS_LO);
    look(&m, HEADINGS NETIFS_LO);
    assert_system(&m, 0, 0);
    look(&m, HEADINGS NETIFS_LO NETIFS_ETH0("100", "200"));
    assert_int_equal(m.list.count, 2);
    const struct instance *eth0 = m.list.items[1];
    assert_false(eth0->is_new); /* it may have been here under another name */
    assert_system(&m, 0, 0);
    look(&m, HEADINGS NETIFS_LO NETIFS_ETH0("101", "202"));
    assert_system(&m, 1, 2);

    look(&m, HEADINGS NETIFS_LO);
    assert_int_equal(m.list.count, 1);
    assert_system(&m, 1, 2);

    look(&m, HEADINGS NETIFS_ETH0("10", "300") NETIFS_LO);
    assert_int_equal(m.list.count, 2);
    assert_ptr_equal(m.list.items[0], eth0);
    assert_value(&eth0->read, netif_received_bytes, 111);
    assert_value(&eth0->read, netif_sent_bytes, 300);
    assert_system(&m, 11, 100);
    machine_remove(&m);
}

/* Where a real interface appears, the others do not count any more; the sum goes on. */
static void test_netifs_physical_appears(void **state)
{
    (void)state;
    struct machine m;
    machine_make(&m);
    begin(&m, HEADINGS NETIFS_LO);
    look(&m, HEADINGS NETIFS_LO "veth0: 50 0 0 0 0 0 0 0 60 0 0 0 0 0 0 0\n");
    assert_system(&m, 50, 60);
    tree_write(&m.tree, "sys/class/net/eth0/device", "");
    look(&m, HEADINGS NETIFS_LO "veth0: 70 0 0 0 0 0 0 0 80 0 0 0 0 0 0 0\n" NETIFS_ETH0("1", "2"));
    assert_system(&m, 50, 60);
    look(&m, HEADINGS NETIFS_LO "veth0: 90 0 0 0 0 0 0 0 99 0 0 0 0 0 0 0\n" NETIFS_ETH0("2", "4"));
    assert_system(&m, 51, 62);
    machine_remove(&m);
}

static void test_netifs_parts_do_not_count(void **state)
{
    (void)state;
    struct machine m;
    machine_make(&m);
    tree_write(&m.tree, "sys/class/net/veth1/master", "");
    tree_write(&m.tree, "sys/class/net/br0/lower_veth1", "");
    begin(&m, HEADINGS NETIFS_LO);
    look(&m, HEADINGS NETIFS_LO "br0: 50 0 0 0 0 0 0 0 60 0 0 0 0 0 0 0\n"
                                "veth1: 51 0 0 0 0 0 0 0 61 0 0 0 0 0 0 0\n");
    assert_int_equal(m.list.count, 3);
    assert_system(&m, 50, 60);
    machine_remove(&m);
}

static void test_netifs_nonsense_is_unknown(void **state)
{
    (void)state;
    struct machine m;
    machine_make(&m);
    begin(&m, HEADINGS NETIFS_LO);
    static const char *const texts[] = {"", HEADINGS, HEADINGS "eth0: x\n",
                                        HEADINGS NETIFS_LO "  eth0: 100 2 3"};
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        look(&m, HEADINGS NETIFS_LO);
        assert_system(&m, 0, 0);
        look(&m, texts[i]);
        assert_false(row_has(&m.system.read, system_network_received_bytes));
        assert_false(row_has(&m.system.read, system_network_sent_bytes));
    }
    tree_unlink(&m.tree, "proc/net/dev");
    m.list.count = 0;
    collector_netifs.collect(m.state, &m.context, &m.list);
    assert_int_equal(m.list.count, 0);
    machine_remove(&m);
}

/* What grew while a text could not be read to its end is not lost. */
static void test_netifs_growth_during_nonsense(void **state)
{
    (void)state;
    struct machine m;
    machine_make(&m);
    begin(&m, HEADINGS NETIFS_LO);
    look(&m, HEADINGS NETIFS_ETH0("100", "200"));
    look(&m, HEADINGS NETIFS_ETH0("150", "250") "nonsense\n");
    look(&m, HEADINGS NETIFS_ETH0("160", "260"));
    assert_system(&m, 160, 260);
    machine_remove(&m);
}

/* More than fits into one piece, in another order each time. */
static void test_netifs_many(void **state)
{
    (void)state;
    enum { MANY = 500 };
    struct machine m;
    machine_make(&m);
    begin(&m, HEADINGS NETIFS_LO);
    struct buf text = {0};
    for (unsigned tick = 0; tick < 3; tick++) {
        buf_clear(&text);
        buf_puts(&text, HEADINGS);
        for (unsigned i = 0; i < MANY; i++)
            buf_printf(&text, "veth%u: %u 0 0 0 0 0 0 0 1 0 0 0 0 0 0 0\n", (i + tick) % MANY,
                       10 + tick);
        buf_putc(&text, '\0');
        look(&m, text.data);
        assert_int_equal(m.list.count, MANY);
        assert_system(&m, MANY * (10 + tick), MANY);
    }
    buf_done(&text);
    machine_remove(&m);
}

static void test_netifs_other_namespace(void **state)
{
    (void)state;
    struct machine m;
    machine_make(&m);
    tree_write(&m.tree, "sys/class/net/eth0/device", "");
    tree_write(&m.tree, "proc/77/net/dev", HEADINGS NETIFS_LO NETIFS_ETH0("1", "2"));
    m.context.net_pid = 77;
    begin(&m, HEADINGS NETIFS_LO);
    look(&m, HEADINGS NETIFS_LO);
    assert_int_equal(m.list.count, 2);
    assert_string_equal(m.list.items[1]->entity.labels[0].value, "virtual");
    assert_system(&m, 1, 2); /* it cannot be told whose they are */
    machine_remove(&m);
}

static void netifs_make_link(const struct tree *t, const char *name, const char *target)
{
    char path[512];
    tree_write(t, name, ""); /* with the directories above it */
    tree_unlink(t, name);
    assert_int_equal(symlink(target, tree_path(t, path, name)), 0);
}

/* Its interfaces are shown; they are not the machine's. */
static void test_netifs_known_to_be_another_namespace(void **state)
{
    (void)state;
    struct machine m;
    machine_make(&m);
    tree_write(&m.tree, "proc/77/net/dev", HEADINGS NETIFS_LO NETIFS_ETH0("1", "2"));
    netifs_make_link(&m.tree, "proc/77/ns/net", "net:[2]");
    netifs_make_link(&m.tree, "proc/self/ns/net", "net:[1]");
    m.context.net_pid = 77;
    begin(&m, HEADINGS NETIFS_LO);
    look(&m, HEADINGS NETIFS_LO);
    assert_int_equal(m.list.count, 2);
    assert_string_equal(m.list.items[1]->entity.labels[1].key, "namespace");
    assert_false(row_has(&m.system.read, system_network_received_bytes));
    machine_remove(&m);
}

static void test_netifs_not_there(void **state)
{
    (void)state;
    struct machine m;
    machine_make(&m);
    assert_int_equal(collector_netifs.open(&m.state, &m.context), -ENOENT);
    machine_remove(&m);
}

/* On this machine: one descriptor is kept, and the file is read through it. */
static void test_netifs_live(void **state)
{
    (void)state;
    struct sysroot root;
    struct instance system;
    assert_int_equal(sysroot_open(&root, NULL, NULL), 0);
    instance_init(&system, ENTITY_SYSTEM);
    struct collect_context context = {.root = &root, .system = &system};
    struct instance_list list = {0};
    void *netifs;
    unsigned fds = tree_open_fds();
    assert_int_equal(collector_netifs.open(&netifs, &context), 0);
    for (unsigned i = 0; i < 3; i++) {
        list.count = 0;
        collector_netifs.collect(netifs, &context, &list);
        assert_true(list.count >= 1);
        assert_int_equal(tree_open_fds(), fds + 1);
    }
    collector_netifs.close(netifs);
    assert_int_equal(tree_open_fds(), fds);
    instance_list_done(&list);
    sysroot_close(&root);
}

/* ---- net dev -------------------------------------------------------------------------------- */

static const char headings[] =
    "Inter-|   Receive                                                |  Transmit\n"
    " face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop "
    "fifo colls carrier compressed\n";

#define NET_DEV_LO                                                                                 \
    "    lo:    6534      58    0    0    0     0          0         0     6534      58    0    "  \
    "0    0     0       0          0\n"

#define NET_DEV_ETH0                                                                               \
    "  eth0: 31595188     891    1    2    3     4          5         6    46464     550    7    " \
    "8    9    10      11         12\n"

/* The first interface of a text, for the harness. */
static int parse_first(struct scan text, struct net_dev *ret)
{
    int r = parse_net_dev(&text, ret);
    return r == 1 ? 0 : r == 0 ? -EBADMSG : r;
}

PARSER_HARNESS(net_dev, parse_first, struct net_dev, SAME_BYTES)

static void test_net_dev_good(void **state)
{
    (void)state;
    char text[1024];
    snprintf(text, sizeof text, "%s" NET_DEV_LO NET_DEV_ETH0, headings);
    struct scan s = scan_string(text);
    struct net_dev dev;
    assert_int_equal(parse_net_dev(&s, &dev), 1);
    assert_string_equal(dev.name, "lo");
    assert_int_equal(dev.received.bytes, 6534);
    assert_int_equal(dev.sent.packets, 58);
    assert_int_equal(parse_net_dev(&s, &dev), 1);
    assert_string_equal(dev.name, "eth0");
    assert_int_equal(dev.received.bytes, 31595188);
    assert_int_equal(dev.received.packets, 891);
    assert_int_equal(dev.received.errors, 1);
    assert_int_equal(dev.received.dropped, 2);
    assert_int_equal(dev.sent.bytes, 46464);
    assert_int_equal(dev.sent.packets, 550);
    assert_int_equal(dev.sent.errors, 7);
    assert_int_equal(dev.sent.dropped, 8);
    assert_int_equal(parse_net_dev(&s, &dev), 0);
    assert_true(scan_done(&s));
}

static void test_net_dev_cut_short(void **state)
{
    (void)state;
    char text[1024];
    snprintf(text, sizeof text, "%s" NET_DEV_ETH0, headings);
    net_dev_check_cuts(text, -EBADMSG);
    net_dev_check_cuts(NET_DEV_ETH0, -EBADMSG);
}

static void test_net_dev_rest_of_a_line_stays(void **state)
{
    (void)state;
    struct net_dev dev;
    struct scan s = scan_string(NET_DEV_LO "  eth0: 31595");
    assert_int_equal(parse_net_dev(&s, &dev), 1);
    assert_int_equal(parse_net_dev(&s, &dev), 0);
    assert_int_equal(s.end - s.at, strlen("  eth0: 31595"));
}

static void test_net_dev_names(void **state)
{
    (void)state;
    static const struct {
        const char *text, *name;
    } cases[] = {
        {"eth0:1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16\n", "eth0"},
        {"eth0:1:1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16\n", "eth0:1"},
        {"  eth0:1: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16\n", "eth0:1"},
        {"enp3s0.100: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16\n", "enp3s0.100"},
        {"a|b: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16\n", "a|b"},
        {"later: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18\n", "later"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct net_dev dev;
        assert_int_equal(net_dev_parse(cases[i].text, &dev), 0);
        assert_string_equal(dev.name, cases[i].name);
        assert_int_equal(dev.received.bytes, 1);
        assert_int_equal(dev.received.dropped, 4);
        assert_int_equal(dev.sent.bytes, 9);
        assert_int_equal(dev.sent.dropped, 12);
    }
}

static void test_net_dev_garbage(void **state)
{
    (void)state;
    static const char *const cases[] = {
        "",
        "\n",
        "no such thing\n",
        "eth0\n",
        ": 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16\n",
        "   : 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16\n",
        "a b: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16\n",
        "eth0: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15\n",
        "eth0: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 x\n",
        "eth0: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16x\n",
        "eth0: 1 -2 3 4 5 6 7 8 9 10 11 12 13 14 15 16\n",
        "an_interface_with_a_name_that_is_far_too_long: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16\n",
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct net_dev dev;
        assert_int_equal(net_dev_parse(cases[i], &dev), -EBADMSG);
    }
}

static void test_net_dev_huge(void **state)
{
    (void)state;
    struct net_dev dev;
    assert_int_equal(
        net_dev_parse("e: 18446744073709551615 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16\n", &dev), 0);
    assert_true(dev.received.bytes == UINT64_MAX);
    assert_int_equal(
        net_dev_parse("e: 18446744073709551616 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16\n", &dev),
        -EBADMSG);
}

/* ---- netif class ---------------------------------------------------------------------------- */

struct netif_class_machine {
    struct tree tree;
    struct sysroot root;
};

static void netif_class_machine_make(struct netif_class_machine *m)
{
    tree_make(&m->tree);
    tree_write(&m->tree, "proc/version", "Linux\n");
    tree_write(&m->tree, "sys/class/net/lo/type", "772\n");
    tree_write(&m->tree, "sys/class/net/dummyloop/type", "772\n");
    tree_write(&m->tree, "sys/class/net/eth0/type", "1\n");
    tree_write(&m->tree, "sys/class/net/eth0/device", "");
    tree_write(&m->tree, "sys/class/net/eth0/upper_eth0.7", "");
    tree_write(&m->tree, "sys/class/net/eth0.7/type", "1\n");
    tree_write(&m->tree, "sys/class/net/eth0.7/lower_eth0", "");
    tree_write(&m->tree, "sys/class/net/br0/type", "1\n");
    tree_write(&m->tree, "sys/class/net/br0/lower_veth1", "");
    tree_write(&m->tree, "sys/class/net/veth1/type", "1\n");
    tree_write(&m->tree, "sys/class/net/veth1/master", "");
    tree_write(&m->tree, "sys/class/net/veth2/brport", "");
    tree_write(&m->tree, "sys/class/net/odd/type", "not a number\n");
    assert_int_equal(sysroot_open(&m->root, m->tree.path, NULL), 0);
}

static void netif_class_machine_remove(struct netif_class_machine *m)
{
    sysroot_close(&m->root);
    tree_remove(&m->tree);
}

static void test_netif_class_class(void **state)
{
    (void)state;
    struct netif_class_machine m;
    netif_class_machine_make(&m);
    assert_string_equal(netif_class(&m.root, true, "lo"), "loopback");
    assert_string_equal(netif_class(&m.root, true, "dummyloop"), "loopback");
    assert_string_equal(netif_class(&m.root, true, "eth0"), "physical");
    assert_string_equal(netif_class(&m.root, true, "eth0.7"), "virtual");
    assert_string_equal(netif_class(&m.root, true, "br0"), "virtual");
    assert_string_equal(netif_class(&m.root, true, "odd"), "virtual");
    assert_string_equal(netif_class(&m.root, true, "not_there"), "virtual");
    netif_class_machine_remove(&m);
}

/* The eth0 of another namespace is not ours. */
static void test_netif_class_class_by_name(void **state)
{
    (void)state;
    struct netif_class_machine m;
    netif_class_machine_make(&m);
    assert_string_equal(netif_class(&m.root, false, "lo"), "loopback");
    assert_string_equal(netif_class(&m.root, false, "eth0"), "virtual");
    assert_false(netif_counts_twice(&m.root, false, "veth1"));
    netif_class_machine_remove(&m);

    struct sysroot none = SYSROOT_NONE;
    assert_string_equal(netif_class(&none, true, "lo"), "loopback");
    assert_string_equal(netif_class(&none, true, "eth0"), "virtual");
    assert_false(netif_counts_twice(&none, true, "veth1"));
}

static void test_netif_class_counts_twice(void **state)
{
    (void)state;
    struct netif_class_machine m;
    netif_class_machine_make(&m);
    assert_false(netif_counts_twice(&m.root, true, "eth0"));
    assert_true(netif_counts_twice(&m.root, true, "eth0.7"));
    assert_false(netif_counts_twice(&m.root, true, "br0"));
    assert_true(netif_counts_twice(&m.root, true, "veth1"));
    assert_true(netif_counts_twice(&m.root, true, "veth2"));
    assert_false(netif_counts_twice(&m.root, true, "not_there"));
    netif_class_machine_remove(&m);
}

/* ---- netns ---------------------------------------------------------------------------------- */

static void netns_make_link(const struct tree *t, const char *process, const char *target)
{
    char name[64], path[512];
    snprintf(name, sizeof name, "proc/%s/ns/keep", process);
    tree_write(t, name, "");
    snprintf(name, sizeof name, "proc/%s/ns/net", process);
    assert_int_equal(symlink(target, tree_path(t, path, name)), 0);
}

static int read_of(const struct sysroot *root, pid_t pid, uint64_t *received, uint64_t *sent)
{
    int fd = netns_open(root, pid);
    int r = fd < 0 ? fd : netns_read(fd, received, sent);
    if (fd >= 0)
        close(fd);
    return r;
}

static void test_netns_compare(void **state)
{
    (void)state;
    struct tree t;
    struct sysroot root;
    tree_make(&t);
    netns_make_link(&t, "10", "net:[4026531840]");
    netns_make_link(&t, "11", "net:[4026532000]");
    assert_int_equal(sysroot_open(&root, t.path, NULL), 0);
    assert_int_equal(netns_compare(&root, 10), -ENOENT);
    netns_make_link(&t, "self", "net:[4026531840]");
    assert_int_equal(netns_compare(&root, 10), 0);
    assert_int_equal(netns_compare(&root, 11), 1);
    assert_int_equal(netns_compare(&root, 12), -ENOENT);
    sysroot_close(&root);
    tree_remove(&t);
}

static void test_netns_read(void **state)
{
    (void)state;
    struct tree t;
    struct sysroot root;
    tree_make(&t);
    tree_write(&t, "proc/10/net/dev",
               HEADINGS "lo: 1000 2 0 0 0 0 0 0 1000 2 0 0 0 0 0 0\n"
                        "eth0: 30 2 0 0 0 0 0 0 40 2 0 0 0 0 0 0\n"
                        "eth1: 500 2 0 0 0 0 0 0 600 2 0 0 0 0 0 0\n");
    tree_write(&t, "proc/11/net/dev", HEADINGS "lo: 1000 2 0 0 0 0 0 0 1000 2 0 0 0 0 0 0\n");
    tree_write(&t, "proc/12/net/dev", HEADINGS);
    tree_write(&t, "proc/13/net/dev", HEADINGS "eth0: 30 2 0 0 0 0");
    assert_int_equal(sysroot_open(&root, t.path, NULL), 0);
    uint64_t received = 7, sent = 7;
    assert_int_equal(read_of(&root, 12, &received, &sent), -ENODATA);
    assert_int_equal(read_of(&root, 13, &received, &sent), -EBADMSG);
    assert_int_equal(read_of(&root, 14, &received, &sent), -ENOENT);
    assert_int_equal(received, 7);
    assert_int_equal(read_of(&root, 10, &received, &sent), 0);
    assert_int_equal(received, 530);
    assert_int_equal(sent, 640);
    assert_int_equal(read_of(&root, 11, &received, &sent), 0);
    assert_int_equal(received, 0);
    sysroot_close(&root);
    tree_remove(&t);
}

static void ignore(void *arg, const struct net_dev *dev)
{
    (void)arg;
    (void)dev;
}

/* A line that is longer than anything the kernel writes. */
static void test_netns_endless_line(void **state)
{
    (void)state;
    struct tree t;
    struct sysroot root;
    static char text[20000];
    memset(text, 'x', sizeof text - 1);
    tree_make(&t);
    tree_write(&t, "proc/net/dev", text);
    assert_int_equal(sysroot_open(&root, t.path, NULL), 0);
    int fd = netns_open(&root, 0);
    assert_true(fd >= 0);
    assert_int_equal(netns_each(fd, ignore, NULL), -EBADMSG);
    close(fd);
    sysroot_close(&root);
    tree_remove(&t);
}

/* ---- On this machine ------------------------------------------------------------------------- */

/* A process in a network namespace of its own that takes what comes over a virtual cable, or -1. */
struct other_side {
    pid_t pid;
    int ready;
};

static void run(const char *command)
{
    if (system(command) != 0)
        _exit(1);
}

/* Waits for the cable, then takes one connection to its end. */
static void take_connection(int ready)
{
    run("ip link set lo up && ip link set toll-in up && ip addr add 10.231.7.2/24 dev toll-in");
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(4711)};
    if (bind(listener, (struct sockaddr *)&a, sizeof a) < 0 || listen(listener, 1) < 0 ||
        write(ready, "r", 1) != 1)
        _exit(1);
    int fd = accept(listener, NULL, NULL);
    static char sink[1 << 16];
    while (read(fd, sink, sizeof sink) > 0)
        ;
    if (write(ready, "e", 1) != 1)
        _exit(1);
    pause();
}

/* Both ends of the cable vanish with the namespace, at the latest with the test. */
static bool start_other_side(struct other_side *o)
{
    int up[2], down[2];
    assert_int_equal(pipe(up), 0);
    assert_int_equal(pipe(down), 0);
    o->pid = fork();
    assert_true(o->pid >= 0);
    char word;
    if (o->pid == 0) {
        if (unshare(CLONE_NEWNET) < 0 || write(up[1], "u", 1) != 1 || read(down[0], &word, 1) != 1)
            _exit(1);
        take_connection(up[1]);
        _exit(0);
    }
    close(up[1]);
    close(down[0]);
    o->ready = up[0];
    char command[160];
    snprintf(command, sizeof command,
             "ip link add toll-out type veth peer name toll-in netns %d 2>/dev/null && "
             "ip addr add 10.231.7.1/24 dev toll-out && ip link set toll-out up",
             (int)o->pid);
    bool works = read(o->ready, &word, 1) == 1 && system(command) == 0 &&
                 write(down[1], "d", 1) == 1 && read(o->ready, &word, 1) == 1;
    close(down[1]);
    return works;
}

static void stop_other_side(struct other_side *o)
{
    kill(o->pid, SIGKILL);
    waitpid(o->pid, NULL, 0);
    close(o->ready);
}

static void send_over_cable(size_t bytes)
{
    static const char zeros[1 << 16];
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(4711)};
    assert_int_equal(inet_pton(AF_INET, "10.231.7.2", &a.sin_addr), 1);
    assert_int_equal(connect(fd, (struct sockaddr *)&a, sizeof a), 0);
    while (bytes) {
        ssize_t n = write(fd, zeros, bytes < sizeof zeros ? bytes : sizeof zeros);
        assert_true(n > 0);
        bytes -= (size_t)n;
    }
    close(fd);
}

static void test_netns_namespace_of_its_own(void **state)
{
    (void)state;
    enum { BYTES = 50 * 1000 * 1000 };
    if (geteuid() != 0 || system("ip -V >/dev/null 2>&1") != 0)
        skip();
    struct other_side o;
    if (!start_other_side(&o)) {
        stop_other_side(&o);
        skip();
    }
    struct sysroot root;
    assert_int_equal(sysroot_open(&root, NULL, NULL), 0);
    assert_int_equal(netns_compare(&root, o.pid), 1);
    assert_int_equal(netns_compare(&root, getpid()), 0);
    uint64_t received_before, sent_before, received, sent;
    assert_int_equal(read_of(&root, o.pid, &received_before, &sent_before), 0);
    send_over_cable(BYTES);
    char word;
    assert_int_equal(read(o.ready, &word, 1), 1);
    assert_int_equal(read_of(&root, o.pid, &received, &sent), 0);
    stop_other_side(&o);
    sysroot_close(&root);
    /* The wire has headers too: 66 bytes with up to 64 KiB of payload, or with 1448. */
    assert_in_range(received - received_before, BYTES, BYTES + BYTES / 10);
    assert_in_range(sent - sent_before, 1, BYTES / 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_netifs_figures),
        cmocka_unit_test(test_netifs_comes_goes_and_comes_again),
        cmocka_unit_test(test_netifs_physical_appears),
        cmocka_unit_test(test_netifs_parts_do_not_count),
        cmocka_unit_test(test_netifs_nonsense_is_unknown),
        cmocka_unit_test(test_netifs_growth_during_nonsense),
        cmocka_unit_test(test_netifs_many),
        cmocka_unit_test(test_netifs_other_namespace),
        cmocka_unit_test(test_netifs_known_to_be_another_namespace),
        cmocka_unit_test(test_netifs_not_there),
        cmocka_unit_test(test_netifs_live),
        cmocka_unit_test(test_net_dev_good),
        cmocka_unit_test(test_net_dev_cut_short),
        cmocka_unit_test(test_net_dev_rest_of_a_line_stays),
        cmocka_unit_test(test_net_dev_names),
        cmocka_unit_test(test_net_dev_garbage),
        cmocka_unit_test(test_net_dev_huge),
        cmocka_unit_test(test_netif_class_class),
        cmocka_unit_test(test_netif_class_class_by_name),
        cmocka_unit_test(test_netif_class_counts_twice),
        cmocka_unit_test(test_netns_compare),
        cmocka_unit_test(test_netns_read),
        cmocka_unit_test(test_netns_endless_line),
        cmocka_unit_test(test_netns_namespace_of_its_own),
    };
    return RUN("source/net/interfaces", tests);
}
