/* SPDX-License-Identifier: MIT */
#include "sink/openmetrics/server.h"

#include "base/util.h"
#include "unit.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <sys/socket.h>

static void test_addresses(void **state)
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

static void test_a_port_that_is_taken(void **state)
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_addresses),
        cmocka_unit_test(test_a_port_that_is_taken),
    };
    return RUN("om_address", tests);
}
