/* SPDX-License-Identifier: MIT */
#include "http_server.h"
#include "sample.h"

/* What real servers make of it is in tests/live/test_prometheus.py. */

static struct sink *open_or_skip(struct sample *s, const char *destination)
{
    struct sink *sink = NULL;
    struct toll_error e = {0};
    struct toll_output out = {.size = sizeof out, .destination = destination};
    if (sink_open(&sink, &out, &s->selection, &e) == -EOPNOTSUPP) {
        assert_non_null(strstr(e.message, "libcurl"));
        skip();
    }
    assert_string_equal(e.message, "");
    return sink;
}

static void test_sends_and_tells(void **state)
{
    struct sample s;
    struct http_server server;
    struct output_summary o;
    char destination[128], why[64];
    sample_make(&s, "target_cpu_seconds");
    server_start(&server);
    snprintf(destination, sizeof destination,
             "prometheus:http://me:secret@127.0.0.1:%u/w,grace=20s", server.port);
    struct sink *sink = open_or_skip(&s, destination);
    snprintf(destination, sizeof destination, "prometheus http://127.0.0.1:%u/w", server.port);
    assert_string_equal(sink->name, destination);
    assert_int_equal(sink_begin(sink, &s.run), 0);
    row_put_u64(&s.parts[PART_COMBINED], process_cpu_seconds, 1500000000);
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(sink_frame(sink, &s.frame), 0);
    assert_int_equal(sink_summary(sink, &s.summary), 0);
    sink_end(sink);
    assert_int_equal(sink_wait(sink, &o), 0);
    assert_int_equal(o.samples, 3);
    assert_int_equal(o.delivered, 3);
    assert_true(o.is_whole);
    assert_string_equal(o.format, "prometheus");
    assert_false(sink_says(sink, why, sizeof why));
    assert_int_equal(server.requests, 2); /* the samples, and what they mean */
    assert_non_null(strstr(server.request, "POST /w HTTP/1.1\r\n"));
    assert_non_null(strstr(server.request, "Content-Encoding: snappy\r\n"));
    assert_non_null(memmem(server.request, server.length, "toll_target_cpu_seconds_total", 29));
    sink_close(sink, false);
    server_stop(&server);
    sample_remove(&s);
}

static void test_what_is_refused_is_lost(void **state)
{
    struct sample s;
    struct http_server server;
    struct output_summary o;
    char destination[128];
    sample_make(&s, NULL);
    server_start(&server);
    server_answer(&server, "HTTP/1.1 400 Bad\r\nContent-Length: 4\r\n\r\nnope");
    snprintf(destination, sizeof destination, "prometheus:http://127.0.0.1:%u/w", server.port);
    struct sink *sink = open_or_skip(&s, destination);
    sink_begin(sink, &s.run);
    sink_frame(sink, &s.frame);
    sink_summary(sink, &s.summary);
    sink_end(sink);
    assert_int_equal(sink_wait(sink, &o), -EIO);
    assert_int_equal(o.dropped, 1);
    assert_int_equal(o.retries, 0);
    assert_string_equal(o.why, "it answered 400: nope");
    sink_close(sink, false);
    server_stop(&server);
    sample_remove(&s);
}

static void test_mistakes(void **state)
{
    static const char *const bad[][2] = {
        {"prometheus:", "takes a URL"},
        {"prometheus:host:9090", "takes a URL"},
        {"prometheus:http://u:hunter2@/", "takes a URL"},
        {"prometheus:http://h,header=hunter2", "takes 'Name: value'"},
        {"prometheus:http://h,token_file=/no/such/file", "cannot read '/no/such/file'"},
        {"prometheus:http://h,user=me,password_file=/dev/null", "is empty"},
        {"prometheus:http://h,password_file=/dev/null", "needs the option user"},
        {"prometheus:http://h,user=me,token_file=/dev/null", "not both"},
        {"prometheus:http://me:hunter1,hunter2@h/", "is no option"},
        {"promotheus:http://me:hunter2@h/", "of 'promotheus:http://…' does not tell a format"},
        {"prometheus:http://h,every=x", "takes a time"},
    };
    struct sample s;
    sample_make(&s, NULL);
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        struct sink *sink = NULL;
        struct toll_error e = {0};
        struct toll_output out = {.size = sizeof out, .destination = bad[i][0]};
        assert_true(sink_open(&sink, &out, &s.selection, &e) < 0);
        assert_null(sink);
        assert_non_null(strstr(e.message, bad[i][1]));
        assert_null(strstr(e.message, "hunter2"));
    }
    struct sink *sink = NULL;
    struct toll_output out = {.size = sizeof out, .fd = 1, .format = "prometheus"};
    assert_int_equal(sink_open(&sink, &out, &s.selection, NULL), -EINVAL);
    sample_remove(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sends_and_tells),
        cmocka_unit_test(test_what_is_refused_is_lost),
        cmocka_unit_test(test_mistakes),
    };
    return RUN("prometheus", tests);
}
