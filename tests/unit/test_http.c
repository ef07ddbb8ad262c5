/* SPDX-License-Identifier: MIT */
#include "base/http.h"

#include "base/clock.h"
#include "base/util.h"
#include "http_server.h"

#include <fcntl.h>

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_request_and_answer),
        cmocka_unit_test(test_basic_wins_over_bearer),
        cmocka_unit_test(test_those_who_do_not_answer),
        cmocka_unit_test(test_large_answers_are_cut),
    };
    return RUN("http", tests);
}
