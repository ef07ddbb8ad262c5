/* SPDX-License-Identifier: MIT */
#include "base/io/http.h"

#include "base/clock.h"
#include "base/util.h"
#include "http_server.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <netdb.h>

static struct http *open_or_skip(const struct http_settings *settings)
{
    struct http *h = NULL;
    struct toll_error e = {0};
    if (http_open(&h, settings, &e) < 0) {
        assert_non_null(strstr(e.message, "libcurl"));
        skip();
    }
    return h;
}

static int ask(struct http *h, struct http_server *s, struct http_request q,
               struct http_response *ret)
{
    char url[64];
    snprintf(url, sizeof url, "http://%s:%u/x?y", s->port % 2 ? "localhost" : "127.0.0.1", s->port);
    q.url = url;
    return http_send(h, &q, ret);
}

static void test_request_and_answer(void **state)
{
    struct http_server s;
    struct http_settings settings = {.token = "sesame", .headers = "X-A: 1\nX-B: 2"};
    struct http *h = open_or_skip(&settings);
    struct http_response r;
    static const char *const headers[] = {"Content-Type: text/plain", NULL};
    server_start(&s);
    server_answer(&s, "HTTP/1.1 429 Slow\r\nRetry-After: 7\r\nContent-Length: 5\r\n\r\nlater");
    assert_int_equal(
        ask(h, &s, (struct http_request){.headers = headers, .body = "a\0b", .length = 3}, &r), 0);
    assert_int_equal(r.status, 429);
    assert_int_equal(r.retry_after_ns, 7 * NS_PER_SECOND);
    assert_int_equal(r.length, 5);
    assert_memory_equal(r.body, "later", 5);
    assert_non_null(strstr(s.request, "POST /x?y HTTP/1.1\r\n"));
    assert_non_null(strstr(s.request, "Authorization: Bearer sesame\r\n"));
    assert_non_null(strstr(s.request, "X-A: 1\r\nX-B: 2\r\n"));
    assert_non_null(strstr(s.request, "Content-Type: text/plain\r\n"));
    assert_memory_equal(s.request + s.length - 3, "a\0b", 3);
    server_answer(&s, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
    assert_int_equal(ask(h, &s, (struct http_request){0}, &r), 0);
    assert_non_null(strstr(s.request, "GET /x?y"));
    assert_int_equal(r.status, 200);
    assert_int_equal(r.retry_after_ns, 0);
    assert_int_equal(ask(h, &s, (struct http_request){.method = "DELETE"}, &r), 0);
    assert_non_null(strstr(s.request, "DELETE /x?y"));
    http_close(h);
    server_stop(&s);
}

static void test_basic_wins_over_bearer(void **state)
{
    struct http_server s;
    struct http_settings settings = {.token = "sesame", .user = "u", .password = "p"};
    struct http *h = open_or_skip(&settings);
    struct http_response r;
    server_start(&s);
    assert_int_equal(ask(h, &s, (struct http_request){0}, &r), 0);
    assert_non_null(strstr(s.request, "Authorization: Basic dTpw\r\n"));
    assert_null(strstr(s.request, "sesame"));
    http_close(h);
    http_close(NULL);
    server_stop(&s);
}

static bool is_over(void *arg)
{
    return ++*(unsigned *)arg > 1;
}

static void test_those_who_do_not_answer(void **state)
{
    struct http_server s;
    struct http *h = open_or_skip(NULL);
    struct http_response r;
    unsigned asked = 0;
    server_start(&s);
    server_answer(&s, NULL);
    uint64_t before = clock_mono(NULL);
    struct http_request q = {.is_over = is_over, .is_over_arg = &asked};
    assert_int_equal(ask(h, &s, q, &r), -ECANCELED);
    assert_true(strlen(r.why) > 0);
    q = (struct http_request){.timeout_ns = 50 * NS_PER_MS};
    assert_int_equal(ask(h, &s, q, &r), -ETIMEDOUT);
    assert_non_null(strstr(r.why, "did not answer in time"));
    assert_true(clock_mono(NULL) - before < 5 * NS_PER_SECOND);
    server_stop(&s);
    server_start(&s);
    server_answer(&s, "");
    assert_int_equal(ask(h, &s, (struct http_request){0}, &r), -EIO);
    server_answer(&s, "what?\r\n\r\n");
    assert_true(ask(h, &s, (struct http_request){0}, &r) < 0);
    server_stop(&s);
    assert_int_equal(ask(h, &s, (struct http_request){0}, &r), -ECONNREFUSED);
    struct http_request nowhere = {.url = "http://no.such.host.invalid/"};
    assert_int_equal(http_send(h, &nowhere, &r), -EHOSTUNREACH);
    assert_non_null(strstr(r.why, "no.such.host.invalid"));
    nowhere.url = "file:///etc/passwd";
    assert_int_equal(http_send(h, &nowhere, &r), -EINVAL);
    nowhere.url = "http://127.0.0.1/a b";
    assert_int_equal(http_send(h, &nowhere, &r), -EINVAL);
    http_close(h);
}

static void test_large_answers_are_cut(void **state)
{
    static char answer[100 + 3 * HTTP_BODY_BYTES];
    struct http_server s;
    struct http *h = open_or_skip(NULL);
    struct http_response r;
    int n = snprintf(answer, sizeof answer, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n",
                     2 * HTTP_BODY_BYTES);
    memset(answer + n, 'x', 2 * HTTP_BODY_BYTES);
    server_start(&s);
    server_answer(&s, answer);
    for (unsigned i = 0; i < 2; i++) { /* the connection is good for another one */
        assert_int_equal(ask(h, &s, (struct http_request){0}, &r), 0);
        assert_int_equal(r.length, HTTP_BODY_BYTES);
    }
    http_close(h);
    server_stop(&s);
}

/* Sends a head to whoever connects, then the same bytes again and again until they are not taken
 * any more, or there were more than a gigabyte. */
struct endless_server {
    int fd;
    const char *head, *again;
    uint64_t sent;
};

static void *endless_run(void *arg)
{
    struct endless_server *s = arg;
    char question[4096], text[65536];
    int fd = accept4(s->fd, NULL, NULL, SOCK_CLOEXEC);
    assert_true(fd >= 0 && recv(fd, question, sizeof question, 0) > 0);
    assert_true(send(fd, s->head, strlen(s->head), MSG_NOSIGNAL) > 0);
    size_t length = 0, one = strlen(s->again);
    while (length + one <= sizeof text) {
        memcpy(text + length, s->again, one);
        length += one;
    }
    for (ssize_t n; s->sent < UINT64_C(1) << 30; s->sent += (uint64_t)n)
        if ((n = send(fd, text, length, MSG_NOSIGNAL)) <= 0)
            break;
    close(fd);
    return NULL;
}

static int ask_endless(const char *head, const char *again, struct http_response *ret)
{
    struct endless_server s = {.head = head, .again = again};
    struct http_server place = {0};
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof a;
    pthread_t thread;
    struct http *h = open_or_skip(NULL);
    s.fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(s.fd, (struct sockaddr *)&a, sizeof a), 0);
    assert_int_equal(listen(s.fd, 5), 0);
    assert_int_equal(getsockname(s.fd, (struct sockaddr *)&a, &size), 0);
    place.port = ntohs(a.sin_port);
    assert_int_equal(pthread_create(&thread, NULL, endless_run, &s), 0);
    int r = ask(h, &place, (struct http_request){.timeout_ns = 300 * NS_PER_SECOND}, ret);
    assert_int_equal(ret->length, r == 0 ? HTTP_BODY_BYTES : 0);
    pthread_join(thread, NULL);
    http_close(h);
    close(s.fd);
    /* What two sockets hold between them may have been sent beside what was read. */
    assert_true(s.sent < 64 << 20);
    return r;
}

static void test_answers_without_an_end(void **state)
{
    struct http_response r;
    assert_int_equal(ask_endless("HTTP/1.1 200 OK\r\nContent-Length: 1073741824\r\n\r\n", "x", &r),
                     0);
    assert_int_equal(r.status, 200);
    assert_int_equal(ask_endless("HTTP/1.1 503 No\r\n\r\n", "text ", &r), 0);
    assert_int_equal(r.status, 503);
    assert_int_equal(ask_endless("HTTP/1.1 200 OK\r\n", "X-Header: value\r\n", &r), -EPROTO);
    assert_non_null(strstr(r.why, "headers"));
}

static atomic_uint lookups;

/* Counts what is asked of the C library's. */
int getaddrinfo(const char *host, const char *service, const struct addrinfo *wanted,
                struct addrinfo **ret)
{
    static int (*real)(const char *, const char *, const struct addrinfo *, struct addrinfo **);
    if (!real)
        *(void **)&real = dlsym(RTLD_NEXT, "getaddrinfo");
    atomic_fetch_add(&lookups, strcmp(host, "localhost") == 0);
    return real(host, service, wanted, ret);
}

/* An address is of a host, whatever is asked of it there. */
static void test_a_name_is_looked_up_once(void **state)
{
    struct http_server s;
    struct http *h = open_or_skip(NULL);
    struct http_response r;
    char url[64];
    server_start(&s);
    server_answer(&s, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
    lookups = 0;
    for (unsigned i = 0; i < 5; i++) {
        snprintf(url, sizeof url, "http://localhost:%u/path/%u?query=%u", s.port, i, i);
        assert_int_equal(http_send(h, &(struct http_request){.url = url}, &r), 0);
    }
    assert_int_equal(lookups, 1);
    snprintf(url, sizeof url, "http://localhost:%u/", s.port == 65535 ? 1 : s.port + 1);
    http_send(h, &(struct http_request){.url = url}, &r); /* its address belongs to its port */
    assert_int_equal(lookups, 2);
    http_close(h);
    server_stop(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_request_and_answer),
        cmocka_unit_test(test_basic_wins_over_bearer),
        cmocka_unit_test(test_those_who_do_not_answer),
        cmocka_unit_test(test_large_answers_are_cut),
        cmocka_unit_test(test_answers_without_an_end),
        cmocka_unit_test(test_a_name_is_looked_up_once),
    };
    return RUN("http", tests);
}
