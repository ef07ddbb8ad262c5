/* SPDX-License-Identifier: MIT */
#include "source/bpf/traffic.h"

#include "cgroup2_place.h"
#include "source/bpf/program.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

/* ---- Instructions ---------------------------------------------------------------------------- */

static void test_jumps_lead_to_labels(void **state)
{
    (void)state;
    struct bpf_code c = {0};
    code_set_number(&c, BPF_REG_0, 0);
    code_jump_if_number(&c, BPF_JEQ, BPF_REG_0, 0, 1);
    code_set_long(&c, BPF_REG_0, 7); /* which takes two places */
    code_label(&c, 1);
    code_exit(&c);
    const struct bpf_program_kind kind = {.type = BPF_PROG_TYPE_UNSPEC, .licence = "", .name = ""};
    assert_true(bpf_program_load(&c, &kind) < 0); /* a type that is none: only resolved */
    assert_int_equal(c.count, 5);
    assert_int_equal(c.at[1].off, 2);
}

static void test_mistakes_are_refused(void **state)
{
    (void)state;
    const struct bpf_program_kind kind = {
        .type = BPF_PROG_TYPE_SOCKET_FILTER, .licence = "", .name = ""};
    struct bpf_code nowhere = {0}, back = {0}, twice = {0}, large = {0};
    code_jump(&nowhere, 3);
    code_exit(&nowhere);
    assert_int_equal(bpf_program_load(&nowhere, &kind), -EINVAL);
    code_label(&back, 1);
    code_jump(&back, 1);
    assert_int_equal(bpf_program_load(&back, &kind), -EINVAL);
    code_label(&twice, 1);
    code_label(&twice, 1);
    code_exit(&twice);
    assert_int_equal(bpf_program_load(&twice, &kind), -EINVAL);
    for (unsigned i = 0; i <= BPF_CODE_AT_MOST; i++)
        code_exit(&large);
    assert_int_equal(bpf_program_load(&large, &kind), -EINVAL);
}

/* ---- Counting -------------------------------------------------------------------------------- */

enum { DATAGRAMS = 100, DATAGRAM_BYTES = 400, STREAM_BYTES = 200000, IPV4_BYTES = 20 };

struct loopback {
    struct sockaddr_storage address;
    socklen_t length;
    int listener;
};

static bool loopback_bind(struct loopback *l, int family, int type)
{
    *l = (struct loopback){.listener = socket(family, type | SOCK_CLOEXEC, 0)};
    if (family == AF_INET6) {
        struct sockaddr_in6 any = {.sin6_family = AF_INET6, .sin6_addr = in6addr_loopback};
        memcpy(&l->address, &any, l->length = sizeof any);
    } else {
        struct sockaddr_in any = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
        memcpy(&l->address, &any, l->length = sizeof any);
    }
    return bind(l->listener, (struct sockaddr *)&l->address, l->length) == 0 &&
           getsockname(l->listener, (struct sockaddr *)&l->address, &l->length) == 0;
}

static int send_datagrams(int family)
{
    struct loopback l;
    char text[DATAGRAM_BYTES] = {0};
    int out = socket(family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (!loopback_bind(&l, family, SOCK_DGRAM))
        return 1;
    for (int i = 0; i < DATAGRAMS; i++)
        if (sendto(out, text, sizeof text, 0, (struct sockaddr *)&l.address, l.length) !=
                sizeof text ||
            recv(l.listener, text, sizeof text, 0) != sizeof text)
            return 2;
    return 0;
}

static int send_stream(int family)
{
    struct loopback l;
    static char text[STREAM_BYTES];
    if (!loopback_bind(&l, family, SOCK_STREAM) || listen(l.listener, 1) < 0)
        return 1;
    int out = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (connect(out, (struct sockaddr *)&l.address, l.length) < 0)
        return 2;
    int in = accept(l.listener, NULL, NULL);
    for (size_t sent = 0, received = 0; received < sizeof text;) {
        ssize_t n = sent < sizeof text ? send(out, text, min_u64(20000, sizeof text - sent), 0) : 0;
        sent += n > 0 ? (size_t)n : 0;
        n = recv(in, text, sizeof text, 0);
        if (n <= 0)
            return 3;
        received += (size_t)n;
    }
    return 0;
}

static int datagrams_v4(void)
{
    return send_datagrams(AF_INET);
}

static int datagrams_v6(void)
{
    return send_datagrams(AF_INET6);
}

static int stream_v4(void)
{
    return send_stream(AF_INET);
}

static int stream_v6(void)
{
    return send_stream(AF_INET6);
}

static void open_or_skip(struct traffic *t, struct cgroup2 *place)
{
    cgroup2_make(place);
    int r = traffic_open(t, place->directory);
    if (r < 0) {
        cgroup2_remove(place);
        print_message("needs CAP_BPF and CAP_NET_ADMIN, and Linux 5.8: %s\n", strerror(-r));
        skip();
    }
}

static void check_family(enum traffic_family family, int (*datagrams)(void), int (*stream)(void),
                         uint64_t ip_bytes)
{
    struct traffic t;
    struct cgroup2 place;
    struct traffic_counts c;
    open_or_skip(&t, &place);
    int done = cgroup2_run(&place, datagrams);
    if (done == 1 && family == TRAFFIC_IPV6) {
        traffic_close(&t);
        cgroup2_remove(&place);
        print_message("needs the loopback address of IPv6\n");
        skip();
    }
    assert_int_equal(done, 0);
    assert_int_equal(cgroup2_run(&place, stream), 0);
    traffic_read(&t, &c);
    for (unsigned way = 0; way < TRAFFIC_DIRECTIONS; way++) {
        const struct traffic_count *udp = &c.of[way][family][TRAFFIC_UDP];
        const struct traffic_count *tcp = &c.of[way][family][TRAFFIC_TCP];
        assert_int_equal(udp->packets, DATAGRAMS);
        assert_int_equal(udp->payload_bytes, DATAGRAMS * DATAGRAM_BYTES);
        assert_int_equal(udp->wire_bytes, DATAGRAMS * (DATAGRAM_BYTES + 8 + ip_bytes));
        /* Loopback repeats nothing unless the machine stalls for long, then some segments. */
        assert_in_range(tcp->payload_bytes, STREAM_BYTES, STREAM_BYTES + STREAM_BYTES / 2);
        assert_true(tcp->wire_bytes >= tcp->payload_bytes + tcp->packets * (ip_bytes + 20));
        assert_true(tcp->wire_bytes <= tcp->payload_bytes + tcp->packets * (ip_bytes + 60));
        assert_int_equal(traffic_of(&c, way, TRAFFIC_UDP).payload_bytes, udp->payload_bytes);
        assert_int_equal(c.of[way][!family][TRAFFIC_TCP].packets, 0);
    }
    traffic_close(&t);
    cgroup2_remove(&place);
}

static void test_ipv4(void **state)
{
    (void)state;
    check_family(TRAFFIC_IPV4, datagrams_v4, stream_v4, 20);
}

static void test_ipv6(void **state)
{
    (void)state;
    check_family(TRAFFIC_IPV6, datagrams_v6, stream_v6, 40);
}

static int brought_along = -1;

static int send_from_socket_brought_along(void)
{
    return send(brought_along, "hello", 5, 0) == 5 ? 0 : 1;
}

static void test_socket_from_outside_is_not_counted(void **state)
{
    (void)state;
    struct traffic t;
    struct cgroup2 place;
    struct traffic_counts c;
    struct loopback l;
    open_or_skip(&t, &place);
    assert_true(loopback_bind(&l, AF_INET, SOCK_DGRAM));
    brought_along = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    assert_int_equal(connect(brought_along, (struct sockaddr *)&l.address, l.length), 0);
    assert_int_equal(cgroup2_run(&place, send_from_socket_brought_along), 0);
    traffic_read(&t, &c);
    assert_int_equal(traffic_of(&c, TRAFFIC_SENT, TRAFFIC_UDP).packets, 0);
    close(brought_along);
    close(l.listener);
    traffic_close(&t);
    cgroup2_remove(&place);
}

static void test_refused(void **state)
{
    (void)state;
    struct traffic t;
    assert_true(traffic_open(&t, -1) < 0);
    assert_null(t.counts);
    traffic_close(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_jumps_lead_to_labels),
        cmocka_unit_test(test_mistakes_are_refused),
        cmocka_unit_test(test_ipv4),
        cmocka_unit_test(test_ipv6),
        cmocka_unit_test(test_socket_from_outside_is_not_counted),
        cmocka_unit_test(test_refused),
    };
    return RUN("traffic", tests);
}
