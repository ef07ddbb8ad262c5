/* SPDX-License-Identifier: MIT */
#include "source/net/sockets.h"
#include "tree.h"
#include "unit.h"

#include <arpa/inet.h>
#include <grp.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

/* ---- sockets -------------------------------------------------------------------------------- */

/* On live sockets over loopback. The truth is what the test itself has written. */

enum { SENDER, RECEIVER, BOTH, NOBODY };

enum { CHUNK = 1 << 16, TRANSFER = 200 * 1000 * 1000 };

static void pause_ms(long ms)
{
    nanosleep(&(struct timespec){.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000}, NULL);
}

/* ---- Connections ----------------------------------------------------------------------------- */

/* A pair of connected TCP sockets. */
static void sockets_connect_pair(int family, int ret[2])
{
    struct sockaddr_in6 six = {.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT};
    struct sockaddr_in four = {.sin_family = AF_INET};
    four.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    struct sockaddr_storage address = {0};
    socklen_t length = family == AF_INET6 ? sizeof six : sizeof four;
    memcpy(&address, family == AF_INET6 ? (void *)&six : (void *)&four, length);

    int listener = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(listener >= 0);
    if (bind(listener, (struct sockaddr *)&address, length) < 0)
        skip(); /* a machine without IPv6 */
    assert_int_equal(listen(listener, 1), 0);
    assert_int_equal(getsockname(listener, (struct sockaddr *)&address, &length), 0);
    ret[0] = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(connect(ret[0], (struct sockaddr *)&address, length), 0);
    ret[1] = accept(listener, NULL, NULL);
    assert_true(ret[1] >= 0);
    close(listener);
}

static void send_bytes(int fd, size_t bytes)
{
    static const char zeros[CHUNK];
    while (bytes) {
        ssize_t n = write(fd, zeros, bytes < CHUNK ? bytes : CHUNK);
        if (n <= 0)
            _exit(1);
        bytes -= (size_t)n;
    }
}

static void receive_all(int fd)
{
    static char sink[CHUNK];
    while (read(fd, sink, sizeof sink) > 0)
        ;
}

/* One process for each end, which closes it by its own end at once. Both say when they have no
 * other socket any more, and begin when they are let. */
struct transfer {
    pid_t sender, receiver;
    int go;
};

static pid_t start_end(int mine, int other, int ready, int go[2], size_t bytes)
{
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid > 0)
        return pid;
    char word;
    close(other);
    close(go[1]);
    if (write(ready, "r", 1) != 1 || read(go[0], &word, 1) != 1)
        _exit(1);
    if (bytes)
        send_bytes(mine, bytes);
    else
        receive_all(mine);
    _exit(0);
}

static void transfer_prepare(struct transfer *t, int family, size_t bytes)
{
    int ends[2], go[2], ready[2];
    char word;
    sockets_connect_pair(family, ends);
    assert_int_equal(pipe(go), 0);
    assert_int_equal(pipe(ready), 0);
    t->sender = start_end(ends[0], ends[1], ready[1], go, bytes);
    t->receiver = start_end(ends[1], ends[0], ready[1], go, 0);
    close(ends[0]);
    close(ends[1]);
    close(go[0]);
    t->go = go[1];
    for (unsigned i = 0; i < 2; i++)
        assert_int_equal(read(ready[0], &word, 1), 1);
    close(ready[0]);
    close(ready[1]);
}

static void own_both(struct sockets *s, const struct transfer *t)
{
    sockets_owner(s, t->sender, BIT(SENDER) | BIT(BOTH));
    sockets_owner(s, t->receiver, BIT(RECEIVER) | BIT(BOTH));
}

static bool have_ended(struct transfer *t)
{
    int status;
    if (t->sender && waitpid(t->sender, &status, WNOHANG) == t->sender)
        t->sender = WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : -1;
    if (t->receiver && waitpid(t->receiver, &status, WNOHANG) == t->receiver)
        t->receiver = 0;
    assert_true(t->sender >= 0);
    return !t->sender && !t->receiver;
}

static struct sysroot root;

static struct sockets *open_or_skip(bool since_start)
{
    struct sockets *s = NULL;
    int r = sockets_open(&s, &root, since_start);
    if (r < 0)
        skip();
    return s;
}

/* On a busy machine end notices can be later than sockets_finish waits. */
static void finish_patiently(struct sockets *s, unsigned target, uint64_t expected_sent)
{
    uint64_t received, sent = 0;
    for (unsigned i = 0; i < 100 && sent < expected_sent; i++) {
        sockets_finish(s);
        if (!sockets_total(s, target, &received, &sent))
            return;
    }
}

/* The end notices make it exact, but for the beginning and the end of the connection, which may
 * count as a byte each. 2 % is what is promised. */
static void assert_near(uint64_t value, uint64_t truth)
{
    if (value < truth - truth / 50 || value > truth + truth / 50 + 2)
        fail_msg("%llu is not near %llu", (unsigned long long)value, (unsigned long long)truth);
}

static void sockets_assert_total(const struct sockets *s, unsigned target, uint64_t received,
                                 uint64_t sent)
{
    uint64_t has_received, has_sent;
    assert_true(sockets_total(s, target, &has_received, &has_sent));
    assert_near(has_received, received);
    assert_near(has_sent, sent);
}

/* ---- Tests ----------------------------------------------------------------------------------- */

static void check_transfer(int family, size_t bytes, long every_ms)
{
    struct transfer t;
    struct sockets *s = open_or_skip(true);
    transfer_prepare(&t, family, bytes);
    assert_int_equal(write(t.go, "gg", 2), 2);
    uint64_t received_before = 0, sent_before = 0, received, sent;
    do {
        sockets_read(s);
        own_both(s, &t);
        if (sockets_total(s, BOTH, &received, &sent)) {
            assert_true(received >= received_before && sent >= sent_before);
            received_before = received;
            sent_before = sent;
        }
        pause_ms(every_ms);
    } while (!have_ended(&t));
    close(t.go);
    finish_patiently(s, BOTH, bytes);
    sockets_assert_total(s, SENDER, 0, bytes);
    sockets_assert_total(s, RECEIVER, bytes, 0);
    sockets_assert_total(s, BOTH, bytes, bytes);
    assert_false(sockets_total(s, NOBODY, &received, &sent));
    sockets_close(s);
}

static void test_sockets_transfer(void **state)
{
    (void)state;
    check_transfer(AF_INET, TRANSFER, 100);
}

static void test_sockets_transfer_ipv6(void **state)
{
    (void)state;
    check_transfer(AF_INET6, TRANSFER, 10);
}

/* As somebody who may do nothing; what fails there is told by the exit status. */
static void test_sockets_transfer_unprivileged(void **state)
{
    (void)state;
    if (geteuid() != 0)
        skip();
    pid_t pid = fork();
    if (pid == 0) {
        if (setgroups(0, NULL) < 0 || setgid(65534) < 0 || setuid(65534) < 0 ||
            prctl(PR_SET_DUMPABLE, 1) < 0) /* which a change of user takes away */
            _exit(2);
        const struct CMUnitTest tests[] = {cmocka_unit_test(test_sockets_transfer)};
        fclose(stdout);
        _exit(RUN("unprivileged", tests) == 0 ? 0 : 1);
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

/* What was there before counts from then on; what was inherited from us, too. */
static void test_sockets_older_sockets(void **state)
{
    (void)state;
    for (int since_start = 0; since_start < 2; since_start++) {
        int ends[2];
        sockets_connect_pair(AF_INET, ends);
        send_bytes(ends[0], 5000);
        struct sockets *s = open_or_skip(since_start);
        sockets_read(s);
        sockets_owner(s, getpid(), BIT(0));
        uint64_t received, sent;
        assert_true(sockets_total(s, 0, &received, &sent));
        assert_int_equal(received, 0);
        assert_int_equal(sent, 0);
        send_bytes(ends[0], 3000);
        pause_ms(10);
        sockets_read(s);
        assert_true(sockets_total(s, 0, &received, &sent));
        assert_int_equal(received, 3000);
        assert_int_equal(sent, 3000);
        sockets_close(s);
        close(ends[0]);
        close(ends[1]);
    }
}

/* The connection is over while its descriptor stays open: no dump has it any more. */
static void test_sockets_ended_before_its_descriptor(void **state)
{
    (void)state;
    struct sockets *s = open_or_skip(true);
    int ends[2];
    sockets_connect_pair(AF_INET, ends);
    sockets_read(s);
    sockets_owner(s, getpid(), BIT(0));
    send_bytes(ends[0], 7000);
    shutdown(ends[0], SHUT_WR);
    receive_all(ends[1]);
    close(ends[1]);
    receive_all(ends[0]);
    pause_ms(10);
    for (unsigned i = 0; i < 40; i++)
        sockets_read(s);
    close(ends[0]);
    finish_patiently(s, 0, 7000);
    uint64_t received, sent;
    assert_true(sockets_total(s, 0, &received, &sent));
    assert_int_equal(sent, 7000);
    assert_in_range(received, 7000, 7002); /* the end of a connection counts as a byte */
    sockets_close(s);
}

static void test_sockets_many(void **state)
{
    (void)state;
    enum { PAIRS = 200, BYTES = 1000 };
    static int ends[PAIRS][2];
    struct rlimit limit;
    getrlimit(RLIMIT_NOFILE, &limit);
    if (limit.rlim_cur < 2 * PAIRS + 50)
        skip();
    struct sockets *s = open_or_skip(true);
    unsigned fds = tree_open_fds();
    for (unsigned i = 0; i < PAIRS; i++) {
        sockets_connect_pair(AF_INET, ends[i]);
        send_bytes(ends[i][0], BYTES);
    }
    sockets_read(s);
    sockets_owner(s, getpid(), BIT(0));
    for (unsigned i = 0; i < PAIRS; i++) {
        send_bytes(ends[i][0], BYTES);
        close(ends[i][0]);
        receive_all(ends[i][1]);
        close(ends[i][1]);
    }
    finish_patiently(s, 0, 2 * PAIRS * BYTES);
    uint64_t received, sent;
    assert_true(sockets_total(s, 0, &received, &sent));
    assert_int_equal(sent, 2 * PAIRS * BYTES);
    assert_in_range(received, 2 * PAIRS * BYTES, 2 * PAIRS * BYTES + 2 * PAIRS);
    assert_int_equal(tree_open_fds(), fds);
    sockets_close(s);
}

static void test_sockets_nobody_to_look_at(void **state)
{
    (void)state;
    struct sockets *s = open_or_skip(true);
    int ends[2];
    sockets_connect_pair(AF_INET, ends);
    sockets_read(s);
    sockets_owner(s, 0, BIT(0));
    sockets_owner(s, 0x7ffffff0, BIT(0));
    uint64_t received, sent;
    assert_false(sockets_total(s, 0, &received, &sent));
    assert_false(sockets_total(s, 64, &received, &sent));
    sockets_close(s);
    sockets_close(NULL);
    close(ends[0]);
    close(ends[1]);
}

static void test_sockets_recorded_tree(void **state)
{
    (void)state;
    struct sysroot recorded = root;
    recorded.live = false;
    struct sockets *s;
    assert_int_equal(sockets_open(&s, &recorded, true), -ENOENT);
}

/* ---- socket table --------------------------------------------------------------------------- */

static void round_of(struct socket_table *t, uint64_t cookie, uint32_t inode, uint64_t received,
                     uint64_t sent)
{
    socket_table_begin(t);
    if (cookie)
        socket_table_see(t, cookie, inode, received, sent);
    socket_table_end(t, true);
}

static void socket_table_assert_total(const struct socket_table *t, unsigned target,
                                      uint64_t received, uint64_t sent)
{
    assert_int_equal(t->received_bytes[target], received);
    assert_int_equal(t->sent_bytes[target], sent);
}

static unsigned count(const struct socket_table *t)
{
    unsigned n = 0;
    for (uint32_t i = 0; i < t->used; i++)
        n += t->sockets[i].round != 0;
    return n;
}

static void test_socket_table_from_birth_to_end_notices(void **state)
{
    (void)state;
    struct socket_table t = {0};
    round_of(&t, 1, 100, 10, 20);
    socket_table_assert_total(&t, 0, 0, 0);
    socket_table_own(&t, 100, BIT(0));
    socket_table_assert_total(&t, 0, 10, 20);
    round_of(&t, 1, 100, 15, 20);
    socket_table_assert_total(&t, 0, 15, 20);
    round_of(&t, 1, 0, 16, 30); /* closed, and still sending */
    socket_table_closed(&t, 1, 16, 44);
    socket_table_assert_total(&t, 0, 16, 44);
    assert_int_equal(count(&t), 0);
    assert_int_equal(t.by_cookie.count + t.by_inode.count, 0);
    socket_table_done(&t);
}

static void test_socket_table_never_falls(void **state)
{
    (void)state;
    struct socket_table t = {0};
    round_of(&t, 1, 100, 10, 20);
    socket_table_own(&t, 100, BIT(0));
    round_of(&t, 1, 100, 3, 4);
    socket_table_assert_total(&t, 0, 10, 20);
    socket_table_closed(&t, 1, 0, 0);
    socket_table_assert_total(&t, 0, 10, 20);
    socket_table_done(&t);
}

static void test_socket_table_shared(void **state)
{
    (void)state;
    struct socket_table t = {0};
    round_of(&t, 1, 100, 10, 20);
    socket_table_own(&t, 100, BIT(0) | BIT(63));
    socket_table_own(&t, 100, BIT(0)); /* another process of it */
    socket_table_assert_total(&t, 0, 10, 20);
    assert_true(socket_table_can_own(&t, BIT(1)));
    socket_table_own(&t, 100, BIT(1) | BIT(63));
    assert_false(socket_table_can_own(&t, BIT(1)));
    round_of(&t, 1, 100, 11, 22);
    socket_table_assert_total(&t, 0, 11, 22);
    socket_table_assert_total(&t, 1, 11, 22);
    socket_table_assert_total(&t, 63, 11, 22);
    socket_table_assert_total(&t, 2, 0, 0);
    socket_table_done(&t);
}

static void test_socket_table_count_from_now(void **state)
{
    (void)state;
    struct socket_table t = {0};
    socket_table_begin(&t);
    socket_table_see(&t, 1, 100, 10, 20);
    socket_table_see(&t, 2, 200, 10, 20);
    socket_table_count_from_now(&t, 100);
    socket_table_count_from_now(&t, 300);
    socket_table_own(&t, 100, BIT(0));
    socket_table_own(&t, 200, BIT(1));
    socket_table_assert_total(&t, 0, 0, 0);
    socket_table_assert_total(&t, 1, 10, 20);
    socket_table_see(&t, 1, 100, 11, 25);
    socket_table_assert_total(&t, 0, 1, 5);
    socket_table_count_all_from_now(&t);
    socket_table_own(&t, 200, BIT(2));
    socket_table_assert_total(&t, 2, 0, 0);
    socket_table_done(&t);
}

static void test_socket_table_accepted_later(void **state)
{
    (void)state;
    struct socket_table t = {0};
    round_of(&t, 1, 0, 10, 0);
    assert_int_equal(t.appeared, 0);
    assert_false(socket_table_can_own(&t, BIT(0)));
    socket_table_own(&t, 0, BIT(0));
    socket_table_assert_total(&t, 0, 0, 0);
    round_of(&t, 1, 100, 12, 0);
    assert_int_equal(t.appeared, 1);
    socket_table_own(&t, 100, BIT(0));
    socket_table_assert_total(&t, 0, 12, 0);
    round_of(&t, 1, 100, 12, 0);
    assert_int_equal(t.appeared, 1);
    socket_table_done(&t);
}

static void test_socket_table_unseen_is_nobodys(void **state)
{
    (void)state;
    struct socket_table t = {0};
    socket_table_closed(&t, 7, 1000, 1000);
    socket_table_own(&t, 7, BIT(0));
    socket_table_assert_total(&t, 0, 0, 0);
    socket_table_done(&t);
}

/* A socket of a target may be out of every dump for long and still have end notices. */
static void test_socket_table_waits_for_end_notices(void **state)
{
    (void)state;
    struct socket_table t = {0};
    socket_table_begin(&t);
    socket_table_see(&t, 1, 100, 10, 20);
    socket_table_see(&t, 2, 200, 10, 20);
    socket_table_end(&t, true);
    socket_table_own(&t, 100, BIT(0));
    assert_false(socket_table_waits(&t));
    for (unsigned i = 0; i < 100; i++)
        round_of(&t, 0, 0, 0, 0);
    assert_true(socket_table_waits(&t));
    assert_int_equal(count(&t), 1);
    socket_table_closed(&t, 1, 11, 21);
    socket_table_assert_total(&t, 0, 11, 21);
    assert_false(socket_table_waits(&t));
    socket_table_done(&t);
}

static void test_socket_table_without_end_notices(void **state)
{
    (void)state;
    struct socket_table t = {0};
    round_of(&t, 1, 100, 10, 20);
    socket_table_own(&t, 100, BIT(0));
    for (unsigned i = 0; i < 100; i++) {
        socket_table_begin(&t);
        socket_table_end(&t, false);
    }
    assert_int_equal(count(&t), 0);
    socket_table_assert_total(&t, 0, 10, 20);
    socket_table_done(&t);
}

/* Many thousands that never have end notices: the memory stays small. */
static void test_socket_table_bounded(void **state)
{
    (void)state;
    struct socket_table t = {0};
    for (uint32_t i = 1; i <= 100000; i++) {
        socket_table_begin(&t);
        socket_table_see(&t, i, i, 1, 2);
        socket_table_own(&t, i, BIT(0));
        if (i % 64 == 0)
            socket_table_end(&t, true);
    }
    socket_table_end(&t, true);
    assert_true(count(&t) < 8192);
    assert_true(t.capacity <= 8192);
    socket_table_assert_total(&t, 0, 100000, 200000);
    socket_table_done(&t);
}

/* Cookies that fold to one number hang together; any of them can go first. */
static void test_socket_table_same_place(void **state)
{
    (void)state;
    static const uint64_t cookies[] = {5, UINT64_C(0x100000004), UINT64_C(0x200000007), 1,
                                       UINT64_C(0x700000007)};
    for (unsigned first = 0; first < ARRAY_LEN(cookies); first++) {
        struct socket_table t = {0};
        socket_table_begin(&t);
        for (unsigned i = 0; i < ARRAY_LEN(cookies); i++) {
            socket_table_see(&t, cookies[i], 100 + i, 10 + i, 0);
            socket_table_own(&t, 100 + i, BIT(i));
        }
        for (unsigned i = 0; i < ARRAY_LEN(cookies); i++) {
            unsigned which = (first + 3 * i) % ARRAY_LEN(cookies);
            socket_table_closed(&t, cookies[which], 20 + which, 0);
            socket_table_assert_total(&t, which, 20 + which, 0);
        }
        assert_int_equal(count(&t), 0);
        assert_int_equal(t.by_cookie.count + t.by_inode.count, 0);
        socket_table_done(&t);
    }
}

/* The inode of a socket that is gone is used again: the new one has it. */
static void test_socket_table_inode_used_again(void **state)
{
    (void)state;
    struct socket_table t = {0};
    round_of(&t, 1, 100, 10, 0);
    socket_table_own(&t, 100, BIT(0));
    round_of(&t, 2, 100, 5, 0);
    socket_table_own(&t, 100, BIT(1));
    socket_table_closed(&t, 1, 12, 0);
    socket_table_own(&t, 100, BIT(2));
    socket_table_assert_total(&t, 0, 12, 0);
    socket_table_assert_total(&t, 1, 5, 0);
    socket_table_assert_total(&t, 2, 5, 0);
    socket_table_done(&t);
}

/* ---- sock diag ------------------------------------------------------------------------------ */

/* On a live connection over loopback. */

struct sought {
    uint64_t inode;
    unsigned times;
    uint64_t cookie;
    uint64_t sent_bytes;
    struct sock_diag_question question;
};

static void seek_inode(void *arg, const struct inet_diag_answer *socket)
{
    struct sought *s = arg;
    if (socket->inode != s->inode)
        return;
    s->times++;
    s->cookie = socket->cookie;
    s->sent_bytes = socket->sent_bytes;
    s->question = (struct sock_diag_question){socket->family, socket->id};
}

static void seek_cookie(void *arg, const struct inet_diag_answer *socket)
{
    struct sought *s = arg;
    s->times += socket->cookie == s->cookie;
}

static void sock_diag_connect_pair(int ret[2])
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

/* 7 bytes are sent; what has carried them is listed once, and its end notices are heard. */
static void test_sock_diag_a_connection(void **state)
{
    static struct sock_diag d;
    if (sock_diag_open(&d) < 0)
        skip(); /* a sandbox without it */
    int pair[2];
    char text[7];
    struct stat st;
    sock_diag_connect_pair(pair);
    assert_int_equal(write(pair[0], "1234567", 7), 7);
    assert_int_equal(recv(pair[1], text, 7, MSG_WAITALL), 7);
    assert_int_equal(fstat(pair[0], &st), 0);
    struct sought s = {.inode = st.st_ino};
    if (sock_diag_dump(&d, AF_INET, seek_inode, &s) < 0)
        skip();
    assert_int_equal(s.times, 1);
    assert_int_equal(s.sent_bytes, 7);

    assert_true(sock_diag_read_ends(&d, seek_cookie, &s));
    assert_int_equal(s.times, 1); /* it lives */
    end_pair(pair);
    for (unsigned i = 0; d.end_notices >= 0 && s.times == 1 && i < 2000; i++) {
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
        assert_true(sock_diag_read_ends(&d, seek_cookie, &s));
    }
    if (d.end_notices >= 0)
        assert_int_equal(s.times, 2);
    sock_diag_close(&d);
    sock_diag_close(&d);
}

/* What is asked for alone has the same figures as in a list; what has ended is not there, which
 * does not disturb the others. */
static void test_sock_diag_single_sockets(void **state)
{
    static struct sock_diag d;
    if (sock_diag_open(&d) < 0)
        skip();
    int pairs[2][2];
    struct sock_diag_question questions[3];
    struct sought listed[3] = {0};
    for (unsigned i = 0; i < 2; i++)
        sock_diag_connect_pair(pairs[i]);
    assert_int_equal(write(pairs[0][0], "1234567", 7), 7);
    pause_ms(10);
    const int fds[] = {pairs[0][0], pairs[1][0], pairs[0][1]};
    for (unsigned i = 0; i < 3; i++) {
        struct stat st;
        assert_int_equal(fstat(fds[i], &st), 0);
        listed[i].inode = st.st_ino;
        if (sock_diag_dump(&d, AF_INET, seek_inode, &listed[i]) < 0)
            skip();
        assert_int_equal(listed[i].times, 1);
        questions[i] = listed[i].question;
    }
    end_pair(pairs[1]);
    for (unsigned i = 0; i < 3; i++) {
        struct sought asked = {.inode = listed[i].inode};
        assert_int_equal(sock_diag_ask(&d, questions, 3, seek_inode, &asked), 0);
        assert_int_equal(asked.times, i == 1 ? 0 : 1);
        assert_int_equal(asked.sent_bytes, i == 0 ? 7 : 0);
    }
    /* The older form of a list has it once, too. */
    struct sought older = {.inode = listed[0].inode};
    if (sock_diag_dump(&d, AF_UNSPEC, seek_inode, &older) == 0)
        assert_int_equal(older.times, 1);
    end_pair(pairs[0]);
    sock_diag_close(&d);
}

/* A connection grows while no other is made, and its other side is accepted later: whether the list
 * or single sockets are asked for, which other programs of this machine decide, nothing is missing.
 */
static void test_sockets_grow_between_lists(void **state)
{
    (void)state;
    enum { STEPS = 150, BYTES = 100 };
    struct sockets *s = open_or_skip(true);
    struct sockaddr_in address = {.sin_family = AF_INET};
    socklen_t length = sizeof address;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), other = -1;
    assert_int_equal(bind(listener, (struct sockaddr *)&address, length), 0);
    assert_int_equal(listen(listener, 1), 0);
    assert_int_equal(getsockname(listener, (struct sockaddr *)&address, &length), 0);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&address, length), 0);
    uint64_t received, sent;
    for (unsigned i = 1; i <= STEPS; i++) {
        send_bytes(fd, BYTES);
        pause_ms(1);
        if (i == STEPS / 2)
            other = accept(listener, NULL, NULL);
        sockets_read(s);
        sockets_owner(s, getpid(), BIT(0));
        assert_true(sockets_total(s, 0, &received, &sent));
        assert_true(sent <= i * (uint64_t)BYTES + 1); /* acknowledged, which may take a while */
        assert_true(i < STEPS / 2 ? received == 0 : received > 0);
    }
    char text[STEPS * BYTES];
    assert_int_equal(recv(other, text, sizeof text, MSG_WAITALL), sizeof text);
    for (unsigned i = 0; i < 200 && (sent < sizeof text || received < sizeof text); i++) {
        pause_ms(1);
        sockets_read(s);
        assert_true(sockets_total(s, 0, &received, &sent));
    }
    assert_int_equal(sent, sizeof text);
    assert_int_equal(received, sizeof text);
    close(fd);
    close(other);
    close(listener);
    sockets_close(s);
}

static void test_connections_made(void **state)
{
    (void)state;
    static const char names[] = "Ip: Forwarding DefaultTTL\nIp: 1 64\n"
                                "Tcp: RtoAlgorithm RtoMin RtoMax MaxConn ActiveOpens PassiveOpens "
                                "AttemptFails\n";
    char text[256];
    uint64_t made = 1;
    snprintf(text, sizeof text, "%sTcp: 1 200 120000 -1 3775 3164 471\nUdp: InDatagrams\n", names);
    assert_int_equal(parse_connections_made(scan_string(text), &made), 0);
    assert_int_equal(made, 3775 + 3164);
    snprintf(text, sizeof text, "%sTcp: 1 200 120000 -1 3775 31", names);
    assert_int_equal(parse_connections_made(scan_string(text), &made), -EBADMSG);
    assert_int_equal(parse_connections_made(scan_string("Tcp: ActiveOpens\nTcp: 1\n"), &made),
                     -EBADMSG);
    assert_int_equal(parse_connections_made(scan_string(""), &made), -EBADMSG);
}

/* A dump that the kernel refuses does not disturb the next one. */
static void test_sock_diag_refused(void **state)
{
    static struct sock_diag d;
    struct sought s = {0};
    if (sock_diag_open(&d) < 0 || sock_diag_dump(&d, AF_INET, seek_inode, &s) < 0)
        skip();
    assert_true(sock_diag_dump(&d, 255, seek_inode, &s) < 0);
    assert_int_equal(sock_diag_dump(&d, AF_INET, seek_inode, &s), 0);
    sock_diag_close(&d);
}

/* ---- inet diag ------------------------------------------------------------------------------ */

/* Messages as the kernel puts them together. */
struct messages {
    char bytes[2048];
    size_t length;
    size_t begin; /* of the message that is being put together */
};

static void put(struct messages *m, const void *bytes, size_t length)
{
    assert_true(m->length + NLMSG_ALIGN(length) <= sizeof m->bytes);
    memcpy(m->bytes + m->length, bytes, length);
    m->length += NLMSG_ALIGN(length);
}

static void begin(struct messages *m, uint16_t type, uint32_t sequence)
{
    struct nlmsghdr header = {.nlmsg_type = type, .nlmsg_seq = sequence};
    m->begin = m->length;
    put(m, &header, sizeof header);
}

static void end(struct messages *m)
{
    uint32_t length = (uint32_t)(m->length - m->begin);
    memcpy(m->bytes + m->begin, &length, sizeof length);
}

static void put_attribute(struct messages *m, uint16_t type, const void *value, size_t length)
{
    struct nlattr a = {.nla_len = (uint16_t)(sizeof a + length), .nla_type = type};
    put(m, &a, sizeof a);
    put(m, value, length);
}

/* A socket whose struct tcp_info has that length. */
static void put_socket(struct messages *m, const struct tcp_info *info, size_t length)
{
    struct inet_diag_msg message = {.idiag_family = AF_INET, .idiag_inode = 4711};
    message.id.idiag_cookie[0] = 0x1234;
    message.id.idiag_cookie[1] = 0x5;
    uint8_t protocol = IPPROTO_TCP;
    begin(m, SOCK_DIAG_BY_FAMILY, 9);
    put(m, &message, sizeof message);
    put_attribute(m, INET_DIAG_PROTOCOL, &protocol, sizeof protocol);
    if (length)
        put_attribute(m, INET_DIAG_INFO, info, length);
    end(m);
}

/* The first message of exactly that many bytes; a failure must leave the output alone. */
static int parse_first(const struct messages *m, size_t length, struct inet_diag_answer *ret)
{
    char *copy = exact_copy(m->bytes, length);
    struct scan s = scan_text(copy, length);
    memset(ret, UNTOUCHED, sizeof *ret);
    int r = parse_inet_diag(&s, ret);
    assert_true(r == 1 || (is_untouched(ret, sizeof *ret) && s.at == copy));
    free(copy);
    return r;
}

static const struct tcp_info info = {.tcpi_bytes_acked = 1002,
                                     .tcpi_bytes_received = 500,
                                     .tcpi_bytes_sent = 1100,
                                     .tcpi_bytes_retrans = 100};

static void test_inet_diag_good(void **state)
{
    (void)state;
    struct messages m = {0};
    struct inet_diag_answer a;
    put_socket(&m, &info, sizeof info);
    assert_int_equal(parse_first(&m, m.length, &a), 1);
    assert_int_equal(a.kind, INET_DIAG_ANSWER_SOCKET);
    assert_int_equal(a.sequence, 9);
    assert_int_equal(a.inode, 4711);
    assert_true(a.cookie == UINT64_C(0x500001234));
    assert_true(a.has_bytes);
    assert_int_equal(a.received_bytes, 500);
    assert_int_equal(a.sent_bytes, 1000); /* not the beginning and the end of the connection */
}

static void test_inet_diag_not_all_acknowledged(void **state)
{
    (void)state;
    struct messages m = {0};
    struct inet_diag_answer a;
    struct tcp_info some = info;
    some.tcpi_bytes_acked = 300;
    put_socket(&m, &some, sizeof some);
    assert_int_equal(parse_first(&m, m.length, &a), 1);
    assert_int_equal(a.sent_bytes, 300);
}

static void test_inet_diag_old_kernels(void **state)
{
    (void)state;
    struct inet_diag_answer a;
    struct messages m = {0};
    put_socket(&m, &info, offsetof(struct tcp_info, tcpi_bytes_sent));
    assert_int_equal(parse_first(&m, m.length, &a), 1);
    assert_true(a.has_bytes);
    assert_int_equal(a.sent_bytes, 1002);

    static const size_t lengths[] = {0, 4, offsetof(struct tcp_info, tcpi_bytes_acked),
                                     offsetof(struct tcp_info, tcpi_bytes_received)};
    for (size_t i = 0; i < ARRAY_LEN(lengths); i++) {
        m = (struct messages){0};
        put_socket(&m, &info, lengths[i]);
        assert_int_equal(parse_first(&m, m.length, &a), 1);
        assert_false(a.has_bytes);
        assert_int_equal(a.sent_bytes, 0);
    }
}

static void test_inet_diag_cut_short(void **state)
{
    (void)state;
    struct messages m = {0};
    struct inet_diag_answer a;
    put_socket(&m, &info, sizeof info);
    assert_int_equal(parse_first(&m, 0, &a), 0);
    for (size_t length = 1; length < m.length; length++)
        assert_int_equal(parse_first(&m, length, &a), -EBADMSG);
}

static void test_inet_diag_several(void **state)
{
    (void)state;
    struct messages m = {0};
    put_socket(&m, &info, sizeof info);
    begin(&m, NLMSG_NOOP, 9);
    end(&m);
    begin(&m, NLMSG_DONE, 9);
    put(&m, &(int){0}, sizeof(int));
    end(&m);
    struct scan s = scan_text(m.bytes, m.length);
    static const enum inet_diag_kind kinds[] = {INET_DIAG_ANSWER_SOCKET, INET_DIAG_ANSWER_OTHER,
                                                INET_DIAG_ANSWER_DONE};
    struct inet_diag_answer a;
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        assert_int_equal(parse_inet_diag(&s, &a), 1);
        assert_int_equal(a.kind, kinds[i]);
    }
    assert_int_equal(parse_inet_diag(&s, &a), 0);
}

static void test_inet_diag_error(void **state)
{
    (void)state;
    struct messages m = {0};
    struct inet_diag_answer a;
    begin(&m, NLMSG_ERROR, 9);
    put(&m, &(int){-ENOENT}, sizeof(int));
    end(&m);
    assert_int_equal(parse_first(&m, m.length, &a), 1);
    assert_int_equal(a.kind, INET_DIAG_ANSWER_ERROR);
    assert_int_equal(a.error, -ENOENT);

    m = (struct messages){0};
    begin(&m, NLMSG_ERROR, 9);
    end(&m);
    assert_int_equal(parse_first(&m, m.length, &a), -EBADMSG);
}

static void test_inet_diag_garbage(void **state)
{
    (void)state;
    struct inet_diag_answer a;
    struct messages good = {0}, m;
    put_socket(&good, &info, sizeof info);
    size_t attribute = sizeof(struct nlmsghdr) + sizeof(struct inet_diag_msg);

    static const uint32_t lengths[] = {0, 15, UINT32_MAX, INT32_MAX, 4096};
    for (size_t i = 0; i < ARRAY_LEN(lengths); i++) {
        m = good;
        memcpy(m.bytes, &lengths[i], sizeof lengths[i]);
        assert_int_equal(parse_first(&m, m.length, &a), -EBADMSG);
    }
    static const uint16_t attribute_lengths[] = {0, 3, UINT16_MAX, 1024};
    for (size_t i = 0; i < ARRAY_LEN(attribute_lengths); i++) {
        m = good;
        memcpy(m.bytes + attribute, &attribute_lengths[i], sizeof attribute_lengths[i]);
        assert_int_equal(parse_first(&m, m.length, &a), -EBADMSG);
    }
    m = good;
    m.bytes[attribute + sizeof(struct nlattr)] = IPPROTO_UDP;
    assert_int_equal(parse_first(&m, m.length, &a), -EBADMSG);
}

static int set_up(void **state)
{
    if (sysroot_open(&root, NULL, NULL) < 0)
        return -1;
    return 0;
}

static int clean_up(void **state)
{
    sysroot_close(&root);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sockets_transfer),
        cmocka_unit_test(test_sockets_transfer_ipv6),
        cmocka_unit_test(test_sockets_transfer_unprivileged),
        cmocka_unit_test(test_sockets_older_sockets),
        cmocka_unit_test(test_sockets_ended_before_its_descriptor),
        cmocka_unit_test(test_sockets_many),
        cmocka_unit_test(test_sockets_nobody_to_look_at),
        cmocka_unit_test(test_sockets_recorded_tree),
        cmocka_unit_test(test_socket_table_from_birth_to_end_notices),
        cmocka_unit_test(test_socket_table_never_falls),
        cmocka_unit_test(test_socket_table_shared),
        cmocka_unit_test(test_socket_table_count_from_now),
        cmocka_unit_test(test_socket_table_accepted_later),
        cmocka_unit_test(test_socket_table_unseen_is_nobodys),
        cmocka_unit_test(test_socket_table_waits_for_end_notices),
        cmocka_unit_test(test_socket_table_without_end_notices),
        cmocka_unit_test(test_socket_table_bounded),
        cmocka_unit_test(test_socket_table_same_place),
        cmocka_unit_test(test_socket_table_inode_used_again),
        cmocka_unit_test(test_sock_diag_a_connection),
        cmocka_unit_test(test_sock_diag_single_sockets),
        cmocka_unit_test(test_sockets_grow_between_lists),
        cmocka_unit_test(test_connections_made),
        cmocka_unit_test(test_sock_diag_refused),
        cmocka_unit_test(test_inet_diag_good),
        cmocka_unit_test(test_inet_diag_not_all_acknowledged),
        cmocka_unit_test(test_inet_diag_old_kernels),
        cmocka_unit_test(test_inet_diag_cut_short),
        cmocka_unit_test(test_inet_diag_several),
        cmocka_unit_test(test_inet_diag_error),
        cmocka_unit_test(test_inet_diag_garbage),
    };
    return cmocka_run_group_tests_name("source/net/sockets", tests, set_up, clean_up);
}
