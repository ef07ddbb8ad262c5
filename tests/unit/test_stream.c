/* SPDX-License-Identifier: MIT */
#include "base/io/output_file.h"

#include "unit.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/syscall.h>

enum { MANY = 1 << 20 };

static char text[MANY];

/* A reader that takes nothing: no call waits, and the flags of the description stay as they are. */
static void check_without_reader(int fd, int reader)
{
    struct stream s;
    size_t written;
    int flags = fcntl(fd, F_GETFL);
    assert_false(flags & O_NONBLOCK);
    stream_open(&s, fd);
    assert_int_equal(stream_write(&s, text, sizeof text, &written), -EAGAIN);
    assert_true(written > 0 && written < sizeof text);
    assert_false(stream_wait(&s, 0));
    assert_int_equal(stream_write_patiently(&s, text, 1 << 16, 10), -EAGAIN);
    assert_int_equal(fcntl(fd, F_GETFL), flags);
    char got[4096];
    size_t seen = 0;
    while (seen < written) {
        ssize_t n = read(reader, got, sizeof got);
        assert_true(n > 0);
        seen += (size_t)n;
    }
    assert_int_equal(stream_write(&s, "x", 1, &written), 0);
    close(reader);
    stream_close(&s);
}

static void test_pipe(void **state)
{
    int ends[2];
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    check_without_reader(ends[1], ends[0]);
    struct stream s;
    size_t written;
    stream_open(&s, ends[1]);
    assert_int_equal(stream_write(&s, "x", 1, &written), -EPIPE); /* and no signal */
    stream_close(&s);
    close(ends[1]);
}

static void test_socket(void **state)
{
    int ends[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    check_without_reader(ends[1], ends[0]);
    close(ends[1]);
}

/* Where it cannot be opened again, as behind another user's terminal. */
static void test_pipe_that_cannot_be_opened_again(void **state)
{
    int ends[2];
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    struct stream s;
    size_t written;
    stream_open(&s, ends[1]);
    assert_true(s.own >= 0);
    close_p(&s.own);
    s.way = STREAM_IN_SMALL_PARTS;
    assert_int_equal(stream_write(&s, text, sizeof text, &written), -EAGAIN);
    assert_true(written >= 4096 && written < sizeof text);
    assert_int_equal(stream_write(&s, text, 1, &written), -EAGAIN);
    close(ends[0]);
    assert_int_equal(stream_write(&s, text, 1, &written), -EPIPE);
    close(ends[1]);
}

static void test_terminal_that_is_stopped(void **state)
{
    int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (master < 0 || grantpt(master) < 0 || unlockpt(master) < 0)
        skip(); /* no terminals here */
    int terminal = open(ptsname(master), O_RDWR | O_NOCTTY | O_CLOEXEC);
    assert_true(terminal >= 0);
    struct stream s;
    size_t written;
    stream_open(&s, terminal);
    assert_true(s.own >= 0);
    assert_int_equal(stream_write(&s, text, sizeof text, &written), -EAGAIN);
    assert_int_equal(stream_write_patiently(&s, text, sizeof text, 10), -EAGAIN);
    stream_close(&s);
    close(terminal);
    close(master);
}

static void test_file(void **state)
{
    int fd = (int)syscall(SYS_memfd_create, "stream", 0);
    struct stream s;
    size_t written;
    stream_open(&s, fd);
    assert_int_equal(s.own, -1);
    assert_int_equal(stream_write(&s, text, sizeof text, &written), 0);
    assert_int_equal(written, sizeof text);
    stream_close(&s);
    close(fd);
    stream_open(&s, fd);
    assert_int_equal(stream_write(&s, text, 1, &written), -EBADF);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pipe),
        cmocka_unit_test(test_socket),
        cmocka_unit_test(test_pipe_that_cannot_be_opened_again),
        cmocka_unit_test(test_terminal_that_is_stopped),
        cmocka_unit_test(test_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
