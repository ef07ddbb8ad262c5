/* SPDX-License-Identifier: MIT */
#include "source/net/interfaces.h"

#include "unit.h"

#include <stdio.h>

static const char headings[] =
    "Inter-|   Receive                                                |  Transmit\n"
    " face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop "
    "fifo colls carrier compressed\n";

#define LO                                                                                         \
    "    lo:    6534      58    0    0    0     0          0         0     6534      58    0    "  \
    "0    0     0       0          0\n"
#define ETH0                                                                                       \
    "  eth0: 31595188     891    1    2    3     4          5         6    46464     550    7    " \
    "8    9    10      11         12\n"

/* The first interface of a text, for the harness. */
static int parse_first(struct scan text, struct net_dev *ret)
{
    int r = parse_net_dev(&text, ret);
    return r == 1 ? 0 : r == 0 ? -EBADMSG : r;
}

PARSER_HARNESS(parse_first, struct net_dev, SAME_BYTES)

static void test_good(void **state)
{
    (void)state;
    char text[1024];
    snprintf(text, sizeof text, "%s" LO ETH0, headings);
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

static void test_cut_short(void **state)
{
    (void)state;
    char text[1024];
    snprintf(text, sizeof text, "%s" ETH0, headings);
    check_cuts(text, -EBADMSG);
    check_cuts(ETH0, -EBADMSG);
}

static void test_rest_of_a_line_stays(void **state)
{
    (void)state;
    struct net_dev dev;
    struct scan s = scan_string(LO "  eth0: 31595");
    assert_int_equal(parse_net_dev(&s, &dev), 1);
    assert_int_equal(parse_net_dev(&s, &dev), 0);
    assert_int_equal(s.end - s.at, strlen("  eth0: 31595"));
}

static void test_names(void **state)
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
        assert_int_equal(parse(cases[i].text, &dev), 0);
        assert_string_equal(dev.name, cases[i].name);
        assert_int_equal(dev.received.bytes, 1);
        assert_int_equal(dev.received.dropped, 4);
        assert_int_equal(dev.sent.bytes, 9);
        assert_int_equal(dev.sent.dropped, 12);
    }
}

static void test_garbage(void **state)
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
        assert_int_equal(parse(cases[i], &dev), -EBADMSG);
    }
}

static void test_huge(void **state)
{
    (void)state;
    struct net_dev dev;
    assert_int_equal(parse("e: 18446744073709551615 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16\n", &dev),
                     0);
    assert_true(dev.received.bytes == UINT64_MAX);
    assert_int_equal(parse("e: 18446744073709551616 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16\n", &dev),
                     -EBADMSG);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_good),
        cmocka_unit_test(test_cut_short),
        cmocka_unit_test(test_rest_of_a_line_stays),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_garbage),
        cmocka_unit_test(test_huge),
    };
    return RUN("net_dev", tests);
}
