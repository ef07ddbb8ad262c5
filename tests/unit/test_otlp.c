/* SPDX-License-Identifier: MIT */
#include "http_place.h"

/* What a message is of is tested by test_otlp.py. */
static void test_sends(void **state)
{
    struct sample s;
    struct http_server server;
    struct output_summary o;
    sample_make(&s, "target_cpu_seconds");
    server_start(&server);
    struct sink *sink = http_place_open(&s, &server, "otlp", ",grace=20s");
    assert_int_equal(http_place_run(&s, sink, 3, &o), 0);
    assert_int_equal(o.delivered, 3);
    assert_int_equal(o.way, OUTPUT_SENT);
    assert_true(o.is_whole && o.bytes > 0);
    assert_non_null(strstr(server.request, "POST /v1/metrics HTTP/1.1\r\n"));
    assert_non_null(strstr(server.request, "Content-Type: application/x-protobuf\r\n"));
    assert_non_null(memmem(server.request, server.length, "toll.process.cpu.total", 22));
    assert_non_null(memmem(server.request, server.length, "service.name", 12));
    sink_close(sink, false);
    server_stop(&server);
    sample_remove(&s);
}

/* 3 samples, the end of their series and two figures of the end of the run are 6 points. */
static void expect_rejection(const char *answer, uint64_t lost, const char *why)
{
    struct sample s;
    struct http_server server;
    struct output_summary o;
    sample_make(&s, "target_cpu_seconds");
    server_start(&server);
    server_answer(&server, answer);
    struct sink *sink = http_place_open(&s, &server, "otlp", "/x,grace=20s");
    assert_int_equal(http_place_run(&s, sink, 3, &o), lost || *why ? -EIO : 0);
    assert_non_null(strstr(server.request, "POST /x HTTP/1.1\r\n"));
    assert_int_equal(o.samples, 3);
    assert_int_equal(o.dropped, lost);
    assert_int_equal(o.delivered, 3 - lost);
    assert_int_equal(o.is_whole, !*why);
    assert_string_equal(o.why, why);
    sink_close(sink, false);
    server_stop(&server);
    sample_remove(&s);
}

static void test_taken_in_part(void **state)
{
#define OK(length) "HTTP/1.1 200 OK\r\nContent-Length: " length "\r\n\r\n"
    expect_rejection(OK("8") "\x0a\x06\x08\x01\x12\x02\033x", 1, "it rejected 1 of 6 figures: ?x");
    expect_rejection(OK("4") "\x0a\x02\x08\x09", 3, "it rejected 9 of 6 figures");
    expect_rejection(OK("5") "\x0a\x03\x12\x01x", 0, ""); /* a warning */
    expect_rejection(OK("2") "{}", 0, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sends),
        cmocka_unit_test(test_taken_in_part),
    };
    return RUN("otlp", tests);
}
