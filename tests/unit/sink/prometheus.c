/* SPDX-License-Identifier: MIT */
#include "http_place.h"
#include "http_server.h"
#include "sample.h"
#include "sink/points.h"
#include "unit.h"

#include <stdio.h>

/* ---- prometheus ----------------------------------------------------------------------------- */

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

static void test_prometheus_sends_and_tells(void **state)
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
    assert_false(sink_take_report(sink, why, sizeof why));
    assert_int_equal(server.requests, 2); /* the samples, and what they mean */
    assert_non_null(strstr(server.request, "POST /w HTTP/1.1\r\n"));
    assert_non_null(strstr(server.request, "Content-Encoding: snappy\r\n"));
    assert_non_null(memmem(server.request, server.length, "toll_target_cpu_seconds_total", 29));
    sink_close(sink, false);
    server_stop(&server);
    sample_remove(&s);
}

static void test_prometheus_what_is_refused_is_lost(void **state)
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
    assert_string_equal(o.why, "server answered 400: nope");
    sink_close(sink, false);
    server_stop(&server);
    sample_remove(&s);
}

static void test_prometheus_mistakes(void **state)
{
    static const char *const bad[][2] = {
        {"prometheus:", "invalid URL"},
        {"prometheus:host:9090", "invalid URL"},
        {"prometheus:http://u:hunter2@/", "invalid URL"},
        {"prometheus:http://h,header=hunter2", "expected 'Name: value'"},
        {"prometheus:http://h,token_file=/no/such/file", "cannot read '/no/such/file'"},
        {"prometheus:http://h,user=me,password_file=/dev/null", "is empty"},
        {"prometheus:http://h,password_file=/dev/null", "needs the option user"},
        {"prometheus:http://h,user=me,token_file=/dev/null", "cannot be combined"},
        {"prometheus:http://me:hunter1,hunter2@h/", "expected \",name=value\""},
        {"promotheus:http://me:hunter2@h/", "output type of 'promotheus:http://…'"},
        {"prometheus:http://h,every=x", "expected a time"},
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

/* ---- pushgateway ---------------------------------------------------------------------------- */

static void push(const char *behind, const char *run, const char *expected)
{
    struct sample s;
    struct http_server server;
    struct output_summary o;
    char line[256];
    sample_make(&s, "target_cpu_seconds");
    sample_name(&s, run);
    server_start(&server);
    struct sink *sink = http_place_open(&s, &server, "pushgateway", behind);
    assert_int_equal(http_place_run(&s, sink, 2, &o), 0);
    assert_int_equal(o.delivered, 2);
    snprintf(line, sizeof line, "PUT %s HTTP/1.1\r\n", expected);
    assert_non_null(strstr(server.request, line));
    assert_non_null(strstr(server.request, "Content-Type: text/plain; version=0.0.4\r\n"));
    assert_non_null(strstr(server.request, "\ntoll_target_cpu_seconds_total{"));
    assert_non_null(strstr(server.request, " 1.5\n"));
    sink_close(sink, false);
    server_stop(&server);
    sample_remove(&s);
}

static void test_pushgateway_groups(void **state)
{
    push(",grace=20s", "job", "/metrics/job/toll/instance/box/run/job");
    push("/,grace=20s", "a b%", "/metrics/job/toll/instance/box/run/a%20b%25");
    push("/below/,grace=20s", "job", "/below/metrics/job/toll/instance/box/run/job");
    /* A slash cannot stand in a path, nor dots alone. */
    push(",grace=20s", "a/b", "/metrics/job/toll/instance/box/run@base64/YS9i");
    push(",grace=20s", "..", "/metrics/job/toll/instance/box/run@base64/Li4=");
    push("/metrics/job/mine,grace=20s", "job", "/metrics/job/mine");
}

/* ---- write request -------------------------------------------------------------------------- */

static void add_series(struct buf *b, const char *name, unsigned samples)
{
    struct labels labels = {0};
    labels_add(&labels, "run", "train");
    labels_add(&labels, "A", "before the name");
    size_t began = write_request_begin_series(b, name, &labels);
    for (unsigned i = 0; i < samples; i++)
        write_request_add_sample(b, i, 1000 + i);
    write_request_end_series(b, began);
    labels_done(&labels);
}

static struct scan text_of(const struct buf *b)
{
    return scan_text(b->data ? b->data : "", b->length);
}

static void test_write_request_the_bytes(void **state)
{
    static const char expected[] = "\x0a\x32"
                                   "\x0a\x14\x0a\x01"
                                   "A\x12\x0f"
                                   "before the name"
                                   "\x0a\x0d\x0a\x08__name__\x12\x01x"
                                   "\x0a\x0b\x0a\x03run\x12\x04run1";
    struct labels labels = {0};
    struct buf b = {0};
    labels_add(&labels, "run", "run1");
    labels_add(&labels, "A", "before the name");
    size_t began = write_request_begin_series(&b, "x", &labels);
    write_request_end_series(&b, began);
    assert_int_equal(b.length, sizeof expected - 1);
    assert_memory_equal(b.data, expected, b.length);
    buf_clear(&b);
    write_request_add_metadata(&b, "x_total", true, "what", "s");
    assert_int_equal(b.length, 22);
    assert_memory_equal(b.data, "\x1a\x14\x08\x01\x12\x07x_total\x22\x04what\x2a\x01s", 22);
    labels_done(&labels);
    buf_done(&b);
}

/* All parts of any size together have each figure once, in their order; a part that ends where a
 * series does is made of the same bytes. */
static void test_write_request_parts(void **state)
{
    struct buf whole = {0}, first = {0}, part = {0};
    add_series(&whole, "a", 3);
    add_series(&first, "a", 3);
    add_series(&whole, "b", 1);
    add_series(&whole, "c", 4);
    write_request_add_metadata(&whole, "d", false, "what", "");
    write_request_add_metadata(&whole, "e", true, "what", "bytes");
    assert_int_equal(write_request_count(text_of(&whole)), 10);
    write_request_cut(&part, text_of(&whole), 0, 10);
    assert_int_equal(part.length, whole.length);
    assert_memory_equal(part.data, whole.data, whole.length);
    buf_clear(&part);
    write_request_cut(&part, text_of(&whole), 0, 3);
    assert_int_equal(part.length, first.length);
    assert_memory_equal(part.data, first.data, first.length);
    for (unsigned size = 1; size <= 10; size++)
        for (unsigned at = 0; at < 10; at += size) {
            struct buf again = {0};
            unsigned expected = at + size > 10 ? 10 - at : size;
            buf_clear(&part);
            write_request_cut(&part, text_of(&whole), at, size);
            assert_int_equal(write_request_count(text_of(&part)), expected);
            /* A part of a part is that part of the whole. */
            buf_clear(&first);
            write_request_cut(&first, text_of(&part), expected - 1, 1);
            write_request_cut(&again, text_of(&whole), at + expected - 1, 1);
            assert_int_equal(first.length, again.length);
            assert_memory_equal(first.data, again.data, again.length);
            buf_done(&again);
        }
    buf_clear(&part);
    write_request_cut(&part, scan_text("\x0a\x7f", 2), 0, 10); /* cut short */
    assert_int_equal(part.length, 0);
    buf_done(&whole);
    buf_done(&first);
    buf_done(&part);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_prometheus_sends_and_tells),
        cmocka_unit_test(test_prometheus_what_is_refused_is_lost),
        cmocka_unit_test(test_prometheus_mistakes),
        cmocka_unit_test(test_pushgateway_groups),
        cmocka_unit_test(test_write_request_the_bytes),
        cmocka_unit_test(test_write_request_parts),
    };
    return RUN("sink/prometheus", tests);
}
