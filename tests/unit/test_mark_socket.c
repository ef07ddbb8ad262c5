/* SPDX-License-Identifier: MIT */
#include "engine/tracker.h"

#include "base/util.h"
#include "tree.h"

#include <sys/socket.h>
#include <sys/wait.h>

static void send_text(const struct mark_socket *s, const void *text, size_t length)
{
    int fd = socket(AF_UNIX, SOCK_DGRAM, 0);
    assert_true(sendto(fd, text, length, 0, (const struct sockaddr *)&s->address,
                       sizeof s->address) == (ssize_t)length);
    close(fd);
}

static void in_tree(const struct tree *t)
{
    setenv("XDG_RUNTIME_DIR", t->path, 1);
}

static void test_receives(void **state)
{
    struct tree t;
    struct mark_socket s;
    struct stat st;
    char text[64];
    pid_t sender = 0;
    tree_make(&t);
    in_tree(&t);
    unsigned before = tree_open_fds();
    assert_int_equal(mark_socket_open(&s), 0);
    assert_int_equal(stat(s.directory, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0700);
    assert_true(fcntl(s.fd, F_GETFD) & FD_CLOEXEC);
    assert_int_equal(mark_socket_receive(&s, text, sizeof text, &sender), -EAGAIN);
    send_text(&s, "hello", 5);
    assert_int_equal(mark_socket_receive(&s, text, sizeof text, &sender), 5);
    assert_memory_equal(text, "hello", 5);
    assert_int_equal(sender, getpid());
    char large[100] = {0};
    send_text(&s, large, sizeof large);
    assert_int_equal(mark_socket_receive(&s, text, sizeof text, &sender), -EMSGSIZE);
    send_text(&s, "", 0);
    assert_int_equal(mark_socket_receive(&s, text, sizeof text, &sender), 0);
    mark_socket_close(&s);
    mark_socket_close(&s);
    assert_int_equal(tree_open_fds(), before);
    tree_remove(&t);
}

/* Descriptors that come along are closed, not kept. */
static void test_takes_no_descriptors(void **state)
{
    struct tree t;
    struct mark_socket s;
    tree_make(&t);
    in_tree(&t);
    assert_int_equal(mark_socket_open(&s), 0);
    int fd = socket(AF_UNIX, SOCK_DGRAM, 0);
    union {
        char room[CMSG_SPACE(sizeof(int))];
        struct cmsghdr aligned;
    } control = {0};
    struct iovec text = {.iov_base = (char[]){"x"}, .iov_len = 1};
    struct msghdr m = {.msg_name = &s.address,
                       .msg_namelen = sizeof s.address,
                       .msg_iov = &text,
                       .msg_iovlen = 1,
                       .msg_control = &control,
                       .msg_controllen = sizeof control};
    struct cmsghdr *c = CMSG_FIRSTHDR(&m);
    c->cmsg_level = SOL_SOCKET;
    c->cmsg_type = SCM_RIGHTS;
    c->cmsg_len = CMSG_LEN(sizeof fd);
    memcpy(CMSG_DATA(c), &fd, sizeof fd);
    assert_int_equal(sendmsg(fd, &m, 0), 1);
    unsigned before = tree_open_fds();
    char to[8];
    pid_t sender;
    assert_int_equal(mark_socket_receive(&s, to, sizeof to, &sender), 1);
    assert_int_equal(tree_open_fds(), before);
    close(fd);
    mark_socket_close(&s);
    tree_remove(&t);
}

/* A toll that was killed leaves its socket, which nobody listens on. */
static void test_removes_what_was_left(void **state)
{
    struct tree t;
    struct mark_socket left, live, own;
    struct stat st;
    tree_make(&t);
    in_tree(&t);
    assert_int_equal(mark_socket_open(&left), 0);
    assert_int_equal(mark_socket_open(&live), 0);
    assert_int_equal(mark_socket_open(&own), 0);
    close(left.fd);
    mark_socket_close(&own);
    assert_int_equal(stat(left.directory, &st), -1);
    assert_int_equal(stat(live.address.sun_path, &st), 0);
    mark_socket_close(&live);
    tree_remove(&t);
}

static void test_a_fork_removes_nothing(void **state)
{
    struct tree t;
    struct mark_socket s;
    struct stat st;
    int status;
    tree_make(&t);
    in_tree(&t);
    assert_int_equal(mark_socket_open(&s), 0);
    char path[sizeof s.address.sun_path];
    memcpy(path, s.address.sun_path, sizeof path);
    pid_t child = fork();
    if (!child) {
        mark_socket_close(&s);
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(stat(path, &st), 0);
    mark_socket_close(&s);
    assert_int_equal(stat(path, &st), -1);
    tree_remove(&t);
}

static void test_environment(void **state)
{
    struct mark_socket s = {.address.sun_path = "/x/y"};
    struct environment e = {0};
    assert_int_equal(mark_socket_tell(&s, &e), 0);
    assert_int_equal(e.count, 1);
    assert_string_equal(e.more[0], "TOLL_SOCKET=/x/y");
    environment_done(&e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_receives),
        cmocka_unit_test(test_takes_no_descriptors),
        cmocka_unit_test(test_removes_what_was_left),
        cmocka_unit_test(test_a_fork_removes_nothing),
        cmocka_unit_test(test_environment),
    };
    return RUN("mark_socket", tests);
}
