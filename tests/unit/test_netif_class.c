/* SPDX-License-Identifier: MIT */
#include "source/net/interfaces.h"

#include "tree.h"

struct machine {
    struct tree tree;
    struct sysroot root;
};

static void machine_make(struct machine *m)
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

static void machine_remove(struct machine *m)
{
    sysroot_close(&m->root);
    tree_remove(&m->tree);
}

static void test_class(void **state)
{
    (void)state;
    struct machine m;
    machine_make(&m);
    assert_string_equal(netif_class(&m.root, true, "lo"), "loopback");
    assert_string_equal(netif_class(&m.root, true, "dummyloop"), "loopback");
    assert_string_equal(netif_class(&m.root, true, "eth0"), "physical");
    assert_string_equal(netif_class(&m.root, true, "eth0.7"), "virtual");
    assert_string_equal(netif_class(&m.root, true, "br0"), "virtual");
    assert_string_equal(netif_class(&m.root, true, "odd"), "virtual");
    assert_string_equal(netif_class(&m.root, true, "not_there"), "virtual");
    machine_remove(&m);
}

/* The eth0 of another namespace is not ours. */
static void test_class_by_name(void **state)
{
    (void)state;
    struct machine m;
    machine_make(&m);
    assert_string_equal(netif_class(&m.root, false, "lo"), "loopback");
    assert_string_equal(netif_class(&m.root, false, "eth0"), "virtual");
    assert_false(netif_counts_twice(&m.root, false, "veth1"));
    machine_remove(&m);

    struct sysroot none = SYSROOT_NONE;
    assert_string_equal(netif_class(&none, true, "lo"), "loopback");
    assert_string_equal(netif_class(&none, true, "eth0"), "virtual");
    assert_false(netif_counts_twice(&none, true, "veth1"));
}

static void test_counts_twice(void **state)
{
    (void)state;
    struct machine m;
    machine_make(&m);
    assert_false(netif_counts_twice(&m.root, true, "eth0"));
    assert_true(netif_counts_twice(&m.root, true, "eth0.7"));
    assert_false(netif_counts_twice(&m.root, true, "br0"));
    assert_true(netif_counts_twice(&m.root, true, "veth1"));
    assert_true(netif_counts_twice(&m.root, true, "veth2"));
    assert_false(netif_counts_twice(&m.root, true, "not_there"));
    machine_remove(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_class),
        cmocka_unit_test(test_class_by_name),
        cmocka_unit_test(test_counts_twice),
    };
    return RUN("netif_class", tests);
}
