/* SPDX-License-Identifier: MIT */
#include "sink/openmetrics/server.h"

#include "base/util.h"
#include "unit.h"

#include <arpa/inet.h>
#include <sys/socket.h>

static void text(void *arg, bool open, struct buf *b)
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

static void test_answers(void **state)
{
    struct om_server *s;
    uint64_t scrapes, bytes;
    int fd;
    assert_int_equal(om_address_listen(":0", &fd, NULL), 0);
    assert_int_equal(om_server_start(&s, fd, text, NULL), 0);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_answers),
    };
    return RUN("om_server", tests);
}
