/* SPDX-License-Identifier: MIT */
#include "sink/http.h"

#include "http_server.h"

static const struct sink_option options[] = {SINK_HTTP_OPTIONS, {.facts = {0}}};
static const struct sink_kind kind = {.format = {"kind", "", "", "URL"}, .options = options};

static int open_it(struct sink *s, const char *place, const char *behind,
                   const struct http_settings *otherwise, struct http **ret, struct toll_error *e)
{
    *s = (struct sink){.kind = &kind, .fd = -1, .place = strdup(place), .name = strdup("x")};
    int r = sink_options_take(&s->settings, "kind", options, behind, e);
    if (r == 0)
        r = http_sink_open_with(s, otherwise, ret, e);
    if (r == -EOPNOTSUPP)
        skip();
    return r;
}

static void close_it(struct sink *s, struct http *h)
{
    http_close(h);
    sink_options_done(&s->settings);
    free(s->place);
    free(s->name);
}

static void test_mistakes(void **state)
{
    static const char *const bad[][3] = {
        {"host:9090", "", "takes a URL"},
        {"http://me:hunter2@", "", "takes a URL"},
        {"http://h", ",timeout=0", "takes a time above 0"},
        {"http://h", ",header=: x", "takes 'Name: value'"},
        {"http://h", ",token_file=/dev/null", "is empty"},
        {"http://h", ",password_file=/dev/null", "needs the option user"},
        {"http://h", ",user=me,token_file=/dev/null", "not both"},
    };
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        struct sink s;
        struct http *h = NULL;
        struct toll_error e = {0};
        assert_int_equal(open_it(&s, bad[i][0], bad[i][1], NULL, &h, &e), -EINVAL);
        assert_null(h);
        assert_non_null(strstr(e.message, bad[i][2]));
        assert_null(strstr(e.message, "hunter2"));
        close_it(&s, NULL);
    }
}

/* What an answer means for a batch. */
static void test_answers(void **state)
{
    static const struct {
        const char *answer;
        enum delivery delivery;
        const char *why;
        uint64_t wait_ns, bytes;
    } cases[] = {
        {"HTTP/1.1 204 No Content\r\nContent-Length: 0\r\n\r\n", DELIVERY_DONE, "", 0, 3},
        {"HTTP/1.1 400 Bad\r\nContent-Length: 2\r\n\r\nno", DELIVERY_REFUSED, "it answered 400: no",
         0, 0},
        {"HTTP/1.1 429 Slow\r\nRetry-After: 2\r\nContent-Length: 0\r\n\r\n", DELIVERY_AGAIN,
         "it answered 429", 2 * NS_PER_SECOND, 0},
        {"HTTP/1.1 503 Away\r\nContent-Length: 0\r\n\r\n", DELIVERY_AGAIN, "it answered 503", 0, 0},
        {"HTTP/1.1 302 There\r\nLocation: /\r\nContent-Length: 0\r\n\r\n", DELIVERY_REFUSED,
         "it answered 302", 0, 0},
    };
    struct http_server server;
    char url[64];
    server_start(&server);
    snprintf(url, sizeof url, "http://127.0.0.1:%u/x", server.port);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct sink s;
        struct http *h = NULL;
        struct attempt a = {0};
        struct toll_error e = {0};
        assert_int_equal(open_it(&s, url, "", NULL, &h, &e), 0);
        assert_int_equal(s.way, OUTPUT_SENT);
        server_answer(&server, cases[i].answer);
        struct http_request q = {.url = url, .body = "abc", .length = 3};
        assert_int_equal(http_sink_send(&s, h, &q, NULL, &a), cases[i].delivery);
        assert_memory_equal(a.why, cases[i].why, strlen(cases[i].why));
        assert_int_equal(a.wait_ns, cases[i].wait_ns);
        assert_int_equal(s.bytes, cases[i].bytes);
        close_it(&s, h);
    }
    server_stop(&server);
}

/* What the options say comes first; who one is, only as a whole. */
static void test_otherwise(void **state)
{
    static const struct http_settings others = {.token = "sesame"};
    struct http_server server;
    struct sink s;
    struct http *h = NULL;
    struct attempt a = {0};
    char url[64], named[64];
    server_start(&server);
    snprintf(url, sizeof url, "http://127.0.0.1:%u/x", server.port);
    snprintf(named, sizeof named, "http://me:pw@127.0.0.1:%u/x", server.port);
    struct http_request q = {.url = url};
    assert_int_equal(open_it(&s, url, "", &others, &h, NULL), 0);
    assert_int_equal(http_sink_send(&s, h, &q, NULL, &a), DELIVERY_DONE);
    assert_non_null(strstr(server.request, "Authorization: Bearer sesame\r\n"));
    close_it(&s, h);
    q = (struct http_request){.url = named};
    assert_int_equal(open_it(&s, named, "", &others, &h, NULL), 0);
    assert_null(strstr(s.name, "pw"));
    assert_int_equal(http_sink_send(&s, h, &q, NULL, &a), DELIVERY_DONE);
    assert_non_null(strstr(server.request, "Authorization: Basic "));
    close_it(&s, h);
    server_stop(&server);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_mistakes),
        cmocka_unit_test(test_answers),
        cmocka_unit_test(test_otherwise),
    };
    return RUN("http_sink", tests);
}
