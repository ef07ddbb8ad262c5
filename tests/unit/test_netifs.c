/* SPDX-License-Identifier: MIT */
#include "source/collector.h"

#include "base/text/buf.h"
#include "machine_tree.h"

#define HEADINGS                                                                                   \
    "Inter-|   Receive                                                |  Transmit\n"               \
    " face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop" \
    " fifo colls carrier compressed\n"
#define ETH0(received, sent) "  eth0: " received " 2 3 4 0 0 0 0 " sent " 5 6 7 0 0 0 0\n"
#define LO                   "    lo: 999 9 0 0 0 0 0 0 999 9 0 0 0 0 0 0\n"

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

static void test_figures(void **state)
{
    (void)state;
    struct machine m;
    machine_make(&m);
    tree_write(&m.tree, "sys/class/net/eth0/device", "");
    begin(&m, HEADINGS);
    look(&m, HEADINGS LO ETH0("100", "200") "tun0: 7 0 0 0 0 0 0 0 7 0 0 0 0 0 0 0\n");
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

static void test_comes_goes_and_comes_again(void **state)
{
    (void)state;
    struct machine m;
    machine_make(&m);
    begin(&m, HEADINGS LO);
    look(&m, HEADINGS LO);
    assert_system(&m, 0, 0);
    look(&m, HEADINGS LO ETH0("100", "200"));
    assert_int_equal(m.list.count, 2);
    const struct instance *eth0 = m.list.items[1];
    assert_false(eth0->is_new); /* it may have been here under another name */
    assert_system(&m, 0, 0);
    look(&m, HEADINGS LO ETH0("101", "202"));
    assert_system(&m, 1, 2);

    look(&m, HEADINGS LO);
    assert_int_equal(m.list.count, 1);
    assert_system(&m, 1, 2);

    look(&m, HEADINGS ETH0("10", "300") LO);
    assert_int_equal(m.list.count, 2);
    assert_ptr_equal(m.list.items[0], eth0);
    assert_value(&eth0->read, netif_received_bytes, 111);
    assert_value(&eth0->read, netif_sent_bytes, 300);
    assert_system(&m, 11, 100);
    machine_remove(&m);
}

/* Where a real interface appears, the others do not count any more; the sum goes on. */
static void test_physical_appears(void **state)
{
    (void)state;
    struct machine m;
    machine_make(&m);
    begin(&m, HEADINGS LO);
    look(&m, HEADINGS LO "veth0: 50 0 0 0 0 0 0 0 60 0 0 0 0 0 0 0\n");
    assert_system(&m, 50, 60);
    tree_write(&m.tree, "sys/class/net/eth0/device", "");
    look(&m, HEADINGS LO "veth0: 70 0 0 0 0 0 0 0 80 0 0 0 0 0 0 0\n" ETH0("1", "2"));
    assert_system(&m, 50, 60);
    look(&m, HEADINGS LO "veth0: 90 0 0 0 0 0 0 0 99 0 0 0 0 0 0 0\n" ETH0("2", "4"));
    assert_system(&m, 51, 62);
    machine_remove(&m);
}

static void test_parts_do_not_count(void **state)
{
    (void)state;
    struct machine m;
    machine_make(&m);
    tree_write(&m.tree, "sys/class/net/veth1/master", "");
    tree_write(&m.tree, "sys/class/net/br0/lower_veth1", "");
    begin(&m, HEADINGS LO);
    look(&m, HEADINGS LO "br0: 50 0 0 0 0 0 0 0 60 0 0 0 0 0 0 0\n"
                         "veth1: 51 0 0 0 0 0 0 0 61 0 0 0 0 0 0 0\n");
    assert_int_equal(m.list.count, 3);
    assert_system(&m, 50, 60);
    machine_remove(&m);
}

static void test_nonsense_is_unknown(void **state)
{
    (void)state;
    struct machine m;
    machine_make(&m);
    begin(&m, HEADINGS LO);
    static const char *const texts[] = {"", HEADINGS, HEADINGS "eth0: x\n",
                                        HEADINGS LO "  eth0: 100 2 3"};
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        look(&m, HEADINGS LO);
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
static void test_growth_during_nonsense(void **state)
{
    (void)state;
    struct machine m;
    machine_make(&m);
    begin(&m, HEADINGS LO);
    look(&m, HEADINGS ETH0("100", "200"));
    look(&m, HEADINGS ETH0("150", "250") "nonsense\n");
    look(&m, HEADINGS ETH0("160", "260"));
    assert_system(&m, 160, 260);
    machine_remove(&m);
}

/* More than fits into one piece, in another order each time. */
static void test_many(void **state)
{
    (void)state;
    enum { MANY = 500 };
    struct machine m;
    machine_make(&m);
    begin(&m, HEADINGS LO);
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

static void test_other_namespace(void **state)
{
    (void)state;
    struct machine m;
    machine_make(&m);
    tree_write(&m.tree, "sys/class/net/eth0/device", "");
    tree_write(&m.tree, "proc/77/net/dev", HEADINGS LO ETH0("1", "2"));
    m.context.net_pid = 77;
    begin(&m, HEADINGS LO);
    look(&m, HEADINGS LO);
    assert_int_equal(m.list.count, 2);
    assert_string_equal(m.list.items[1]->entity.labels[0].value, "virtual");
    assert_system(&m, 1, 2); /* it cannot be told whose they are */
    machine_remove(&m);
}

static void make_link(const struct tree *t, const char *name, const char *target)
{
    char path[512];
    tree_write(t, name, ""); /* with the directories above it */
    tree_unlink(t, name);
    assert_int_equal(symlink(target, tree_path(t, path, name)), 0);
}

/* Its interfaces are shown; they are not the machine's. */
static void test_known_to_be_another_namespace(void **state)
{
    (void)state;
    struct machine m;
    machine_make(&m);
    tree_write(&m.tree, "proc/77/net/dev", HEADINGS LO ETH0("1", "2"));
    make_link(&m.tree, "proc/77/ns/net", "net:[2]");
    make_link(&m.tree, "proc/self/ns/net", "net:[1]");
    m.context.net_pid = 77;
    begin(&m, HEADINGS LO);
    look(&m, HEADINGS LO);
    assert_int_equal(m.list.count, 2);
    assert_string_equal(m.list.items[1]->entity.labels[1].key, "namespace");
    assert_false(row_has(&m.system.read, system_network_received_bytes));
    machine_remove(&m);
}

static void test_not_there(void **state)
{
    (void)state;
    struct machine m;
    machine_make(&m);
    assert_int_equal(collector_netifs.open(&m.state, &m.context), -ENOENT);
    machine_remove(&m);
}

/* On this machine: one descriptor is kept, and the file is read through it. */
static void test_live(void **state)
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_figures),
        cmocka_unit_test(test_comes_goes_and_comes_again),
        cmocka_unit_test(test_physical_appears),
        cmocka_unit_test(test_parts_do_not_count),
        cmocka_unit_test(test_nonsense_is_unknown),
        cmocka_unit_test(test_growth_during_nonsense),
        cmocka_unit_test(test_many),
        cmocka_unit_test(test_other_namespace),
        cmocka_unit_test(test_known_to_be_another_namespace),
        cmocka_unit_test(test_not_there),
        cmocka_unit_test(test_live),
    };
    return RUN("netifs", tests);
}
