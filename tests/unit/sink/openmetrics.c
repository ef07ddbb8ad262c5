/* SPDX-License-Identifier: MIT */
#include "sink/openmetrics/openmetrics.h"
#include "base/util.h"
#include "sample.h"
#include "unit.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

/* ---- om file -------------------------------------------------------------------------------- */

static void add_frames(struct sample *s, struct points *p, struct om_file *f, unsigned count)
{
    struct buf chunk = {0};
    for (unsigned i = 0; i < count; i++) {
        buf_clear(&chunk);
        row_put_u64(&s->parts[PART_COMBINED], process_cpu_seconds, i * 1000000000ULL);
        row_put_u64(&s->parts[PART_MAIN], process_cpu_seconds, i * 500000000ULL);
        if (i) /* one that comes later */
            row_put_u64(&s->parts[PART_MAIN], process_threads_count, i);
        points_add(p, &s->run, &s->selection, &s->frame, &chunk);
        assert_int_equal(om_file_add(f, chunk.data, chunk.length), 0);
        s->frame.real_ns += NS_PER_SECOND;
    }
    buf_done(&chunk);
}

#define LABELS "{instance=\"box\",run=\"make\",scope=\""
#define CPU                                                                                        \
    "# TYPE toll_target_cpu_seconds counter\n# UNIT toll_target_cpu_seconds seconds\n"             \
    "# HELP toll_target_cpu_seconds CPU time in user and system mode together\n"

#define THREADS "# TYPE toll_target_threads gauge\n# HELP toll_target_threads Threads\n"
#define TOTAL   "toll_target_cpu_seconds_total" LABELS "combined\"} "
#define MAIN    "toll_target_cpu_seconds_total" LABELS "main\"} "
#define MANY    "toll_target_threads" LABELS "main\"} "

static const char in_order[] = CPU TOTAL
    "0 1731000000.123\n" TOTAL "1 1731000001.123\n" TOTAL "2 1731000002.123\n" MAIN
    "0 1731000000.123\n" MAIN "0.5 1731000001.123\n" MAIN "1 1731000002.123\n" THREADS MANY
    "1 1731000001.123\n" MANY "2 1731000002.123\n# EOF\n";

static const char as_they_came[] = CPU TOTAL
    "0 1731000000.123\n" MAIN "0 1731000000.123\n" TOTAL "1 1731000001.123\n" MAIN
    "0.5 1731000001.123\n" THREADS MANY "1 1731000001.123\n" TOTAL "2 1731000002.123\n" MAIN
    "1 1731000002.123\n" MANY "2 1731000002.123\n# EOF\n";

static void check(size_t points_at_once, bool is_replaced, const char *expected)
{
    struct sample s;
    struct points p;
    struct om_file f;
    char path[512];
    sample_make(&s, "cpu_seconds,threads");
    s.selection.of[ENTITY_SELF] = 0;
    tree_write(&s.tree, "run.om", "");
    tree_path(&s.tree, path, "run.om");
    int fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
    points_init(&p);
    om_file_init(&f, &p, fd, is_replaced ? path : NULL);
    f.points_at_once = points_at_once;
    add_frames(&s, &p, &f, 3);
    assert_int_equal(om_file_finish(&f), 0);
    char *text = tree_read(&s.tree, "run.om");
    assert_string_equal(text, expected);
    free(text);
    assert_false(tree_has(&s.tree, "run.om.order"));
    om_file_done(&f);
    points_done(&p);
    close(fd);
    sample_remove(&s);
}

static void test_om_file_in_order(void **state)
{
    check(0, true, in_order);
    check(1, true, in_order); /* a series at a time */
    check(4, true, in_order);
}

static void test_om_file_what_cannot_be_replaced(void **state)
{
    check(0, false, as_they_came);
}

static void test_om_file_a_full_disk(void **state)
{
    struct sample s;
    struct points p;
    struct om_file f;
    struct buf chunk = {0};
    sample_make(&s, NULL);
    points_init(&p);
    int fd = open("/dev/full", O_WRONLY | O_CLOEXEC);
    om_file_init(&f, &p, fd, "/dev/full");
    row_put_u64(&s.parts[PART_MAIN], process_cpu_seconds, 1);
    points_add(&p, &s.run, &s.selection, &s.frame, &chunk);
    assert_int_equal(om_file_add(&f, chunk.data, chunk.length), -ENOSPC);
    assert_int_equal(om_file_finish(&f), -ENOSPC);
    om_file_done(&f);
    points_done(&p);
    close(fd);
    buf_done(&chunk);
    sample_remove(&s);
}

/* ---- om server ------------------------------------------------------------------------------ */

static void om_server_test_text(void *arg, bool open, struct buf *b)
{
    buf_puts(b, open ? "open" : "text");
}

static unsigned port_of(int fd)
{
    struct sockaddr_in a;
    socklen_t size = sizeof a;
    assert_int_equal(getsockname(fd, (struct sockaddr *)&a, &size), 0);
    assert_int_equal(a.sin_addr.s_addr, htonl(INADDR_LOOPBACK));
    return ntohs(a.sin_port);
}

static void ask(unsigned port, const char *request, size_t length, const char *expected)
{
    struct sockaddr_in a = {.sin_family = AF_INET,
                            .sin_port = htons((uint16_t)port),
                            .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    char got[4096] = "";
    size_t n = 0;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&a, sizeof a), 0);
    for (size_t i = 0; i < length; i++) /* one byte at a time */
        if (send(fd, request + i, 1, MSG_NOSIGNAL) < 0)
            break;
    for (ssize_t r; n < sizeof got - 1 && (r = recv(fd, got + n, sizeof got - 1 - n, 0)) > 0;)
        n += (size_t)r;
    got[n] = '\0';
    assert_non_null(strstr(got, expected));
    close(fd);
}

static void test_om_server_answers(void **state)
{
    struct om_server *s;
    uint64_t scrapes, bytes;
    int fd;
    assert_int_equal(om_address_listen(":0", &fd, NULL), 0);
    assert_int_equal(om_server_start(&s, fd, om_server_test_text, NULL), 0);
    assert_true(om_server_thread(s) > 0);
    unsigned port = port_of(fd);
#define ASK(request, expected) ask(port, request, sizeof request - 1, expected)
    ASK("GET /metrics HTTP/1.1\r\n\r\n", "\r\n\r\ntext");
    ASK("GET /metrics HTTP/1.1\naccept: Application/OpenMetrics-Text\n\n", "\r\n\r\nopen");
    ASK("GET /metrics HTTP/1.1\r\nX: application/openmetrics-text\r\n\r\n", "\r\n\r\ntext");
    om_server_count(s, &scrapes, &bytes);
    assert_int_equal(scrapes, 3);
    assert_int_equal(bytes, 12);
    ASK("GET /other HTTP/1.1\r\n\r\n", "404 Not Found");
    ASK("DELETE /metrics HTTP/1.1\r\n\r\n", "405 Method");
    ASK("GET /metrics\r\n\r\n", "400 Bad");
    ASK("GE\0 /metrics HTTP/1.1\r\n\r\n", "400 Bad");
    om_server_count(s, &scrapes, &bytes);
    assert_int_equal(scrapes, 3);
    om_server_stop(s);
    om_server_stop(NULL);
    close(fd);
}

/* ---- om address ----------------------------------------------------------------------------- */

static void test_om_address_addresses(void **state)
{
    static const char *const yes[] = {":9464", "localhost:1", "0.0.0.0:80", "[::1]:9464", ":0"};
    static const char *const no[] = {"",      "run.om", "9464",     ":x",       ":70000", "./a:1",
                                     "a:b:1", "::1:1",  "/tmp/x:1", "host: 80", ":-1",    "[::1]"};
    for (size_t i = 0; i < ARRAY_LEN(yes); i++)
        assert_true(om_address_is(yes[i]));
    for (size_t i = 0; i < ARRAY_LEN(no); i++)
        assert_false(om_address_is(no[i]));
    int fd;
    struct toll_error e;
    assert_int_equal(om_address_listen("no.such.host.invalid:1", &fd, &e), -EINVAL);
    assert_int_equal(om_address_listen("what", &fd, &e), -EINVAL);
}

static void test_om_address_a_port_that_is_taken(void **state)
{
    struct sockaddr_in a;
    socklen_t size = sizeof a;
    struct toll_error e = {0};
    char address[32];
    int fd, second;
    assert_int_equal(om_address_listen(":0", &fd, &e), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&a, &size), 0);
    assert_int_equal(ntohl(a.sin_addr.s_addr), INADDR_LOOPBACK);
    snprintf(address, sizeof address, ":%u", ntohs(a.sin_port));
    assert_int_equal(om_address_listen(address, &second, &e), -EADDRINUSE);
    assert_non_null(strstr(e.message, address));
    close(fd);
}

/* ---- om request ----------------------------------------------------------------------------- */

#define HEAD "GET /metrics HTTP/1.1\r\n"

static void test_om_request_verdicts(void **state)
{
    static const struct {
        const char *text;
        enum om_check verdict;
    } cases[] = {
        {HEAD "\r\n", OM_SERVE},
        {"HEAD /metrics?a=b HTTP/1.0\r\n\r\n", OM_SERVE},
        {"GET /metrics HTTP/2\r\n\r\n", OM_BAD},
        {"GET /metrics\r\n\r\n", OM_BAD},
        {"GET /metrics\r\n HTTP/1.1\r\n\r\n", OM_BAD},
        {"GET  HTTP/1.1\r\n\r\n", OM_PATH},
        {"GET /metric HTTP/1.1\r\n\r\n", OM_PATH},
        {"GET /metrics/ HTTP/1.1\r\n\r\n", OM_PATH},
        {"PUT /metrics HTTP/1.1\r\n\r\n", OM_METHOD},
        {"", OM_METHOD},
    };
    struct om_request q;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        assert_int_equal(om_request_read(cases[i].text, true, &q), cases[i].verdict);
}

static void test_om_request_what_is_wanted(void **state)
{
    struct om_request q;
    om_request_read("HEAD /metrics HTTP/1.1\r\n\r\n", true, &q);
    assert_true(q.is_head && !q.wants_openmetrics);
    om_request_read(HEAD "Accept: Application/OpenMetrics-Text;q=1\r\n\r\n", true, &q);
    assert_true(!q.is_head && q.wants_openmetrics);
    om_request_read(HEAD "Accept: text/plain\r\nX: application/openmetrics-text\r\n\r\n", true, &q);
    assert_false(q.wants_openmetrics);
}

static void test_om_request_hosts(void **state)
{
    static const char *const own[] = {
        "", " localhost", "LocalHost:9464", "127.0.0.1:9464", "[::1]:80", "10.0.0.1", "[::1"};
    static const char *const others[] = {"example.org", "localhost.example.org:80",
                                         "127.0.0.1.nip.io", "x@localhost", "[evil]"};
    struct om_request q;
    char text[1000];
    for (size_t i = 0; i < ARRAY_LEN(own); i++) {
        snprintf(text, sizeof text, HEAD "host:%s \r\n\r\n", own[i]);
        assert_int_equal(om_request_read(text, true, &q), OM_SERVE);
    }
    for (size_t i = 0; i < ARRAY_LEN(others); i++) {
        snprintf(text, sizeof text, HEAD "A: b\r\nHost: %s\r\n\r\n", others[i]);
        assert_int_equal(om_request_read(text, true, &q), OM_HOST);
        assert_int_equal(om_request_read(text, false, &q), OM_SERVE);
    }
    char name[300];
    memset(name, 'a', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    snprintf(text, sizeof text, HEAD "Host: %s\r\n\r\n", name);
    assert_int_equal(om_request_read(text, true, &q), OM_HOST);
    gethostname(name, sizeof name);
    snprintf(text, sizeof text, HEAD "Host: %s:9464\r\n\r\n", name);
    assert_int_equal(om_request_read(text, true, &q), OM_SERVE);
}

static void test_om_request_whole(void **state)
{
    assert_false(om_request_is_whole(""));
    assert_false(om_request_is_whole(HEAD));
    assert_true(om_request_is_whole(HEAD "\r\n"));
    assert_true(om_request_is_whole("GET\n\n"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_om_file_in_order),
        cmocka_unit_test(test_om_file_what_cannot_be_replaced),
        cmocka_unit_test(test_om_file_a_full_disk),
        cmocka_unit_test(test_om_server_answers),
        cmocka_unit_test(test_om_address_addresses),
        cmocka_unit_test(test_om_address_a_port_that_is_taken),
        cmocka_unit_test(test_om_request_verdicts),
        cmocka_unit_test(test_om_request_what_is_wanted),
        cmocka_unit_test(test_om_request_hosts),
        cmocka_unit_test(test_om_request_whole),
    };
    return RUN("sink/openmetrics", tests);
}
