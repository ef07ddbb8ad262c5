/* SPDX-License-Identifier: MIT
 * On a live connection over loopback. */
#include "source/net/sockets.h"

#include "unit.h"

#include <arpa/inet.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>

struct sought {
    uint64_t inode;
    unsigned times;
    uint64_t cookie;
    uint64_t sent_bytes;
};

static void seek_inode(void *arg, const struct inet_diag_answer *socket)
{
    struct sought *s = arg;
    if (socket->inode != s->inode)
        return;
    s->times++;
    s->cookie = socket->cookie;
    s->sent_bytes = socket->sent_bytes;
}

static void seek_cookie(void *arg, const struct inet_diag_answer *socket)
{
    struct sought *s = arg;
    s->times += socket->cookie == s->cookie;
}

static void connect_pair(int ret[2])
{
    struct sockaddr_in address = {.sin_family = AF_INET};
    socklen_t length = sizeof address;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(listener, (struct sockaddr *)&address, length), 0);
    assert_int_equal(listen(listener, 1), 0);
    assert_int_equal(getsockname(listener, (struct sockaddr *)&address, &length), 0);
    ret[0] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(connect(ret[0], (struct sockaddr *)&address, length), 0);
    ret[1] = accept(listener, NULL, NULL);
    assert_true(ret[1] >= 0);
    close(listener);
}

static void end_pair(int pair[2])
{
    const struct linger at_once = {.l_onoff = 1};
    setsockopt(pair[0], SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    close(pair[0]);
    close(pair[1]);
}

/* 7 bytes are sent; what has carried them is listed once, and its last words are heard. */
static void test_a_connection(void **state)
{
    static struct sock_diag d;
    if (sock_diag_open(&d) < 0)
        skip(); /* a sandbox without it */
    int pair[2];
    char text[7];
    struct stat st;
    connect_pair(pair);
    assert_int_equal(write(pair[0], "1234567", 7), 7);
    assert_int_equal(recv(pair[1], text, 7, MSG_WAITALL), 7);
    assert_int_equal(fstat(pair[0], &st), 0);
    struct sought s = {.inode = st.st_ino};
    if (sock_diag_dump(&d, AF_INET, seek_inode, &s) < 0)
        skip();
    assert_int_equal(s.times, 1);
    assert_int_equal(s.sent_bytes, 7);

    assert_true(sock_diag_hear(&d, seek_cookie, &s));
    assert_int_equal(s.times, 1); /* it lives */
    end_pair(pair);
    for (unsigned i = 0; d.last_words >= 0 && s.times == 1 && i < 2000; i++) {
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
        assert_true(sock_diag_hear(&d, seek_cookie, &s));
    }
    if (d.last_words >= 0)
        assert_int_equal(s.times, 2);
    sock_diag_close(&d);
    sock_diag_close(&d);
}

/* A dump that the kernel refuses does not disturb the next one. */
static void test_refused(void **state)
{
    static struct sock_diag d;
    struct sought s = {0};
    if (sock_diag_open(&d) < 0 || sock_diag_dump(&d, AF_INET, seek_inode, &s) < 0)
        skip();
    assert_true(sock_diag_dump(&d, 255, seek_inode, &s) < 0);
    assert_int_equal(sock_diag_dump(&d, AF_INET, seek_inode, &s), 0);
    sock_diag_close(&d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_connection),
        cmocka_unit_test(test_refused),
    };
    return RUN("sock_diag", tests);
}
