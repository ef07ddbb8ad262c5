/* SPDX-License-Identifier: MIT */
#include "engine/marks/client.h"

#include "engine/tracker.h"
#include "metric/mark.h"
#include "tree.h"

static int send_event(void)
{
    struct buf b = {0};
    mark_text_begin(&b, MARK_EVENT, "e");
    int r = mark_client_send(&b);
    buf_done(&b);
    return r;
}

static void test_nobody_listens(void **state)
{
    static const char *const paths[] = {"", "/no/such/socket", "/etc/passwd", "/etc", "relative"};
    char long_path[300];
    unsetenv(MARK_SOCKET_VARIABLE);
    assert_false(mark_client_has_listener());
    errno = 77;
    assert_int_equal(send_event(), 1);
    for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
        setenv(MARK_SOCKET_VARIABLE, paths[i], 1);
        assert_int_equal(mark_client_has_listener(), *paths[i] != '\0');
        assert_int_equal(send_event(), 1);
    }
    memset(long_path, 'x', sizeof long_path);
    long_path[sizeof long_path - 1] = '\0';
    setenv(MARK_SOCKET_VARIABLE, long_path, 1);
    assert_int_equal(send_event(), 1);
    assert_int_equal(errno, 77); /* the program's own */
}

/* The kernel holds some; then they are lost, which the next one tells. */
static void test_a_listener_that_does_not_keep_up(void **state)
{
    struct mark_socket s;
    struct mark_text m;
    char text[MARK_TEXT_BYTES];
    pid_t sender;
    unsigned sent = 0, lost = 0, received = 0;
    assert_int_equal(mark_socket_open(&s), 0);
    setenv(MARK_SOCKET_VARIABLE, s.address.sun_path, 1);
    unsigned before = tree_open_fds();
    while (lost < 3 && sent < 100000) {
        int r = send_event();
        assert_true(r == 0 || r == -EAGAIN);
        sent += r == 0;
        lost += r < 0;
    }
    assert_int_equal(lost, 3);
    assert_int_equal(tree_open_fds(), before);
    ssize_t n;
    while ((n = mark_socket_receive(&s, text, sizeof text, &sender)) > 0)
        received++;
    assert_int_equal(received, sent);
    assert_int_equal(send_event(), 0);
    n = mark_socket_receive(&s, text, sizeof text, &sender);
    assert_true(n > 0);
    assert_int_equal(parse_mark_text(scan_text(text, (size_t)n), &m), 0);
    assert_int_equal(m.lost, 3);
    assert_int_equal(send_event(), 0); /* told once */
    n = mark_socket_receive(&s, text, sizeof text, &sender);
    assert_int_equal(parse_mark_text(scan_text(text, (size_t)n), &m), 0);
    assert_int_equal(m.lost, 0);
    mark_socket_close(&s);
    assert_int_equal(send_event(), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nobody_listens),
        cmocka_unit_test(test_a_listener_that_does_not_keep_up),
    };
    return RUN("mark_client", tests);
}
