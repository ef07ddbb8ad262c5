/* SPDX-License-Identifier: MIT */
#include "http_place.h"

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

static void test_groups(void **state)
{
    push(",grace=20s", "job", "/metrics/job/toll/instance/box/run/job");
    push("/,grace=20s", "a b%", "/metrics/job/toll/instance/box/run/a%20b%25");
    push("/below/,grace=20s", "job", "/below/metrics/job/toll/instance/box/run/job");
    /* A slash cannot stand in a path, nor dots alone. */
    push(",grace=20s", "a/b", "/metrics/job/toll/instance/box/run@base64/YS9i");
    push(",grace=20s", "..", "/metrics/job/toll/instance/box/run@base64/Li4=");
    push("/metrics/job/mine,grace=20s", "job", "/metrics/job/mine");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_groups),
    };
    return RUN("pushgateway", tests);
}
