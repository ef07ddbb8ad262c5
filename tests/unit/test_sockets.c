/* SPDX-License-Identifier: MIT
 * On live sockets over loopback. The truth is what the test itself has written. */
#include "source/net/sockets.h"

#include "tree.h"

#include <arpa/inet.h>
#include <grp.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>

enum { SENDER, RECEIVER, BOTH, NOBODY };
enum { CHUNK = 1 << 16, TRANSFER = 200 * 1000 * 1000 };

static void pause_ms(long ms)
{
    nanosleep(&(struct timespec){.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000}, NULL);
}

/* ---- Connections ----------------------------------------------------------------------------- */

/* A pair of connected TCP sockets. */
static void connect_pair(int family, int ret[2])
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
    connect_pair(family, ends);
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

/* On a busy machine last words can be later than sockets_finish waits. */
static void finish_patiently(struct sockets *s, unsigned target, uint64_t expected_sent)
{
    uint64_t received, sent = 0;
    for (unsigned i = 0; i < 100 && sent < expected_sent; i++) {
        sockets_finish(s);
        if (!sockets_total(s, target, &received, &sent))
            return;
    }
}

/* The last words make it exact, but for the beginning and the end of the connection, which may
 * count as a byte each. 2 % is what is promised. */
static void assert_near(uint64_t value, uint64_t truth)
{
    if (value < truth - truth / 50 || value > truth + truth / 50 + 2)
        fail_msg("%llu is not near %llu", (unsigned long long)value, (unsigned long long)truth);
}

static void assert_total(const struct sockets *s, unsigned target, uint64_t received, uint64_t sent)
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
    assert_total(s, SENDER, 0, bytes);
    assert_total(s, RECEIVER, bytes, 0);
    assert_total(s, BOTH, bytes, bytes);
    assert_false(sockets_total(s, NOBODY, &received, &sent));
    sockets_close(s);
}

static void test_transfer(void **state)
{
    (void)state;
    check_transfer(AF_INET, TRANSFER, 100);
}

static void test_transfer_ipv6(void **state)
{
    (void)state;
    check_transfer(AF_INET6, TRANSFER, 10);
}

/* As somebody who may do nothing; what fails there is told by the exit status. */
static void test_transfer_unprivileged(void **state)
{
    (void)state;
    if (geteuid() != 0)
        skip();
    pid_t pid = fork();
    if (pid == 0) {
        if (setgroups(0, NULL) < 0 || setgid(65534) < 0 || setuid(65534) < 0 ||
            prctl(PR_SET_DUMPABLE, 1) < 0) /* which a change of user takes away */
            _exit(2);
        const struct CMUnitTest tests[] = {cmocka_unit_test(test_transfer)};
        fclose(stdout);
        _exit(RUN("unprivileged", tests) == 0 ? 0 : 1);
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

/* What was there before counts from then on; what was inherited from us, too. */
static void test_older_sockets(void **state)
{
    (void)state;
    for (int since_start = 0; since_start < 2; since_start++) {
        int ends[2];
        connect_pair(AF_INET, ends);
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
static void test_ended_before_its_descriptor(void **state)
{
    (void)state;
    struct sockets *s = open_or_skip(true);
    int ends[2];
    connect_pair(AF_INET, ends);
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

static void test_many(void **state)
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
        connect_pair(AF_INET, ends[i]);
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

static void test_nobody_to_look_at(void **state)
{
    (void)state;
    struct sockets *s = open_or_skip(true);
    int ends[2];
    connect_pair(AF_INET, ends);
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

static void test_recorded_tree(void **state)
{
    (void)state;
    struct sysroot recorded = root;
    recorded.live = false;
    struct sockets *s;
    assert_int_equal(sockets_open(&s, &recorded, true), -ENOENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_transfer),
        cmocka_unit_test(test_transfer_ipv6),
        cmocka_unit_test(test_transfer_unprivileged),
        cmocka_unit_test(test_older_sockets),
        cmocka_unit_test(test_ended_before_its_descriptor),
        cmocka_unit_test(test_many),
        cmocka_unit_test(test_nobody_to_look_at),
        cmocka_unit_test(test_recorded_tree),
    };
    if (sysroot_open(&root, NULL, NULL) < 0)
        return 1;
    int r = RUN("sockets", tests);
    sysroot_close(&root);
    return r;
}
