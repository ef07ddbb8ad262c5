/* SPDX-License-Identifier: MIT */
#include "sink/openmetrics/server.h"

#include "unit.h"

#include <stdio.h>
#include <unistd.h>

#define HEAD "GET /metrics HTTP/1.1\r\n"

static void test_verdicts(void **state)
{
    static const struct {
        const char *text;
        enum om_verdict verdict;
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

static void test_what_is_wanted(void **state)
{
    struct om_request q;
    om_request_read("HEAD /metrics HTTP/1.1\r\n\r\n", true, &q);
    assert_true(q.is_head && !q.wants_openmetrics);
    om_request_read(HEAD "Accept: Application/OpenMetrics-Text;q=1\r\n\r\n", true, &q);
    assert_true(!q.is_head && q.wants_openmetrics);
    om_request_read(HEAD "Accept: text/plain\r\nX: application/openmetrics-text\r\n\r\n", true, &q);
    assert_false(q.wants_openmetrics);
}

static void test_hosts(void **state)
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

static void test_whole(void **state)
{
    assert_false(om_request_is_whole(""));
    assert_false(om_request_is_whole(HEAD));
    assert_true(om_request_is_whole(HEAD "\r\n"));
    assert_true(om_request_is_whole("GET\n\n"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_verdicts),
        cmocka_unit_test(test_what_is_wanted),
        cmocka_unit_test(test_hosts),
        cmocka_unit_test(test_whole),
    };
    return RUN("om_request", tests);
}
