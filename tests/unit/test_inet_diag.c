/* SPDX-License-Identifier: MIT */
#include "source/net/sockets.h"

#include "unit.h"

#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <linux/tcp.h>
#include <netinet/in.h>

/* Messages as the kernel puts them together. */
struct messages {
    char bytes[2048];
    size_t length;
    size_t begin; /* of the message that is being put together */
};

static void put(struct messages *m, const void *bytes, size_t length)
{
    assert_true(m->length + NLMSG_ALIGN(length) <= sizeof m->bytes);
    memcpy(m->bytes + m->length, bytes, length);
    m->length += NLMSG_ALIGN(length);
}

static void begin(struct messages *m, uint16_t type, uint32_t sequence)
{
    struct nlmsghdr header = {.nlmsg_type = type, .nlmsg_seq = sequence};
    m->begin = m->length;
    put(m, &header, sizeof header);
}

static void end(struct messages *m)
{
    uint32_t length = (uint32_t)(m->length - m->begin);
    memcpy(m->bytes + m->begin, &length, sizeof length);
}

static void put_attribute(struct messages *m, uint16_t type, const void *value, size_t length)
{
    struct nlattr a = {.nla_len = (uint16_t)(sizeof a + length), .nla_type = type};
    put(m, &a, sizeof a);
    put(m, value, length);
}

/* A socket whose struct tcp_info has that length. */
static void put_socket(struct messages *m, const struct tcp_info *info, size_t length)
{
    struct inet_diag_msg message = {.idiag_family = AF_INET, .idiag_inode = 4711};
    message.id.idiag_cookie[0] = 0x1234;
    message.id.idiag_cookie[1] = 0x5;
    uint8_t protocol = IPPROTO_TCP;
    begin(m, SOCK_DIAG_BY_FAMILY, 9);
    put(m, &message, sizeof message);
    put_attribute(m, INET_DIAG_PROTOCOL, &protocol, sizeof protocol);
    if (length)
        put_attribute(m, INET_DIAG_INFO, info, length);
    end(m);
}

/* The first message of exactly that many bytes; a failure must leave the output alone. */
static int parse_first(const struct messages *m, size_t length, struct inet_diag_answer *ret)
{
    char *copy = exact_copy(m->bytes, length);
    struct scan s = scan_text(copy, length);
    memset(ret, UNTOUCHED, sizeof *ret);
    int r = parse_inet_diag(&s, ret);
    assert_true(r == 1 || (is_untouched(ret, sizeof *ret) && s.at == copy));
    free(copy);
    return r;
}

static const struct tcp_info info = {.tcpi_bytes_acked = 1002,
                                     .tcpi_bytes_received = 500,
                                     .tcpi_bytes_sent = 1100,
                                     .tcpi_bytes_retrans = 100};

static void test_good(void **state)
{
    (void)state;
    struct messages m = {0};
    struct inet_diag_answer a;
    put_socket(&m, &info, sizeof info);
    assert_int_equal(parse_first(&m, m.length, &a), 1);
    assert_int_equal(a.kind, INET_DIAG_ANSWER_SOCKET);
    assert_int_equal(a.sequence, 9);
    assert_int_equal(a.inode, 4711);
    assert_true(a.cookie == UINT64_C(0x500001234));
    assert_true(a.has_bytes);
    assert_int_equal(a.received_bytes, 500);
    assert_int_equal(a.sent_bytes, 1000); /* not the beginning and the end of the connection */
}

static void test_not_all_acknowledged(void **state)
{
    (void)state;
    struct messages m = {0};
    struct inet_diag_answer a;
    struct tcp_info some = info;
    some.tcpi_bytes_acked = 300;
    put_socket(&m, &some, sizeof some);
    assert_int_equal(parse_first(&m, m.length, &a), 1);
    assert_int_equal(a.sent_bytes, 300);
}

static void test_old_kernels(void **state)
{
    (void)state;
    struct inet_diag_answer a;
    struct messages m = {0};
    put_socket(&m, &info, offsetof(struct tcp_info, tcpi_bytes_sent));
    assert_int_equal(parse_first(&m, m.length, &a), 1);
    assert_true(a.has_bytes);
    assert_int_equal(a.sent_bytes, 1002);

    static const size_t lengths[] = {0, 4, offsetof(struct tcp_info, tcpi_bytes_acked),
                                     offsetof(struct tcp_info, tcpi_bytes_received)};
    for (size_t i = 0; i < ARRAY_LEN(lengths); i++) {
        m = (struct messages){0};
        put_socket(&m, &info, lengths[i]);
        assert_int_equal(parse_first(&m, m.length, &a), 1);
        assert_false(a.has_bytes);
        assert_int_equal(a.sent_bytes, 0);
    }
}

static void test_cut_short(void **state)
{
    (void)state;
    struct messages m = {0};
    struct inet_diag_answer a;
    put_socket(&m, &info, sizeof info);
    assert_int_equal(parse_first(&m, 0, &a), 0);
    for (size_t length = 1; length < m.length; length++)
        assert_int_equal(parse_first(&m, length, &a), -EBADMSG);
}

static void test_several(void **state)
{
    (void)state;
    struct messages m = {0};
    put_socket(&m, &info, sizeof info);
    begin(&m, NLMSG_NOOP, 9);
    end(&m);
    begin(&m, NLMSG_DONE, 9);
    put(&m, &(int){0}, sizeof(int));
    end(&m);
    struct scan s = scan_text(m.bytes, m.length);
    static const enum inet_diag_kind kinds[] = {INET_DIAG_ANSWER_SOCKET, INET_DIAG_ANSWER_OTHER,
                                                INET_DIAG_ANSWER_DONE};
    struct inet_diag_answer a;
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        assert_int_equal(parse_inet_diag(&s, &a), 1);
        assert_int_equal(a.kind, kinds[i]);
    }
    assert_int_equal(parse_inet_diag(&s, &a), 0);
}

static void test_error(void **state)
{
    (void)state;
    struct messages m = {0};
    struct inet_diag_answer a;
    begin(&m, NLMSG_ERROR, 9);
    put(&m, &(int){-ENOENT}, sizeof(int));
    end(&m);
    assert_int_equal(parse_first(&m, m.length, &a), 1);
    assert_int_equal(a.kind, INET_DIAG_ANSWER_ERROR);
    assert_int_equal(a.error, -ENOENT);

    m = (struct messages){0};
    begin(&m, NLMSG_ERROR, 9);
    end(&m);
    assert_int_equal(parse_first(&m, m.length, &a), -EBADMSG);
}

static void test_garbage(void **state)
{
    (void)state;
    struct inet_diag_answer a;
    struct messages good = {0}, m;
    put_socket(&good, &info, sizeof info);
    size_t attribute = sizeof(struct nlmsghdr) + sizeof(struct inet_diag_msg);

    static const uint32_t lengths[] = {0, 15, UINT32_MAX, INT32_MAX, 4096};
    for (size_t i = 0; i < ARRAY_LEN(lengths); i++) {
        m = good;
        memcpy(m.bytes, &lengths[i], sizeof lengths[i]);
        assert_int_equal(parse_first(&m, m.length, &a), -EBADMSG);
    }
    static const uint16_t attribute_lengths[] = {0, 3, UINT16_MAX, 1024};
    for (size_t i = 0; i < ARRAY_LEN(attribute_lengths); i++) {
        m = good;
        memcpy(m.bytes + attribute, &attribute_lengths[i], sizeof attribute_lengths[i]);
        assert_int_equal(parse_first(&m, m.length, &a), -EBADMSG);
    }
    m = good;
    m.bytes[attribute + sizeof(struct nlattr)] = IPPROTO_UDP;
    assert_int_equal(parse_first(&m, m.length, &a), -EBADMSG);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_good),        cmocka_unit_test(test_not_all_acknowledged),
        cmocka_unit_test(test_old_kernels), cmocka_unit_test(test_cut_short),
        cmocka_unit_test(test_several),     cmocka_unit_test(test_error),
        cmocka_unit_test(test_garbage),
    };
    return RUN("inet_diag", tests);
}
