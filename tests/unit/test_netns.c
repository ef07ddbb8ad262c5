/* SPDX-License-Identifier: MIT */
#include "source/net/interfaces.h"

#include "tree.h"

#include <arpa/inet.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/wait.h>

#define HEADINGS                                                                                   \
    "Inter-|   Receive                                                |  Transmit\n"               \
    " face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop" \
    " fifo colls carrier compressed\n"

static void make_link(const struct tree *t, const char *process, const char *target)
{
    char name[64], path[512];
    snprintf(name, sizeof name, "proc/%s/ns/keep", process);
    tree_write(t, name, "");
    snprintf(name, sizeof name, "proc/%s/ns/net", process);
    assert_int_equal(symlink(target, tree_path(t, path, name)), 0);
}

static int read_of(const struct sysroot *root, pid_t pid, uint64_t *received, uint64_t *sent)
{
    int fd = netns_open(root, pid);
    int r = fd < 0 ? fd : netns_read(fd, received, sent);
    if (fd >= 0)
        close(fd);
    return r;
}

static void test_compare(void **state)
{
    (void)state;
    struct tree t;
    struct sysroot root;
    tree_make(&t);
    make_link(&t, "10", "net:[4026531840]");
    make_link(&t, "11", "net:[4026532000]");
    assert_int_equal(sysroot_open(&root, t.path, NULL), 0);
    assert_int_equal(netns_compare(&root, 10), -ENOENT);
    make_link(&t, "self", "net:[4026531840]");
    assert_int_equal(netns_compare(&root, 10), 0);
    assert_int_equal(netns_compare(&root, 11), 1);
    assert_int_equal(netns_compare(&root, 12), -ENOENT);
    sysroot_close(&root);
    tree_remove(&t);
}

static void test_read(void **state)
{
    (void)state;
    struct tree t;
    struct sysroot root;
    tree_make(&t);
    tree_write(&t, "proc/10/net/dev",
               HEADINGS "lo: 1000 2 0 0 0 0 0 0 1000 2 0 0 0 0 0 0\n"
                        "eth0: 30 2 0 0 0 0 0 0 40 2 0 0 0 0 0 0\n"
                        "eth1: 500 2 0 0 0 0 0 0 600 2 0 0 0 0 0 0\n");
    tree_write(&t, "proc/11/net/dev", HEADINGS "lo: 1000 2 0 0 0 0 0 0 1000 2 0 0 0 0 0 0\n");
    tree_write(&t, "proc/12/net/dev", HEADINGS);
    tree_write(&t, "proc/13/net/dev", HEADINGS "eth0: 30 2 0 0 0 0");
    assert_int_equal(sysroot_open(&root, t.path, NULL), 0);
    uint64_t received = 7, sent = 7;
    assert_int_equal(read_of(&root, 12, &received, &sent), -ENODATA);
    assert_int_equal(read_of(&root, 13, &received, &sent), -EBADMSG);
    assert_int_equal(read_of(&root, 14, &received, &sent), -ENOENT);
    assert_int_equal(received, 7);
    assert_int_equal(read_of(&root, 10, &received, &sent), 0);
    assert_int_equal(received, 530);
    assert_int_equal(sent, 640);
    assert_int_equal(read_of(&root, 11, &received, &sent), 0);
    assert_int_equal(received, 0);
    sysroot_close(&root);
    tree_remove(&t);
}

static void ignore(void *arg, const struct net_dev *dev)
{
    (void)arg;
    (void)dev;
}

/* A line that is longer than anything the kernel writes. */
static void test_endless_line(void **state)
{
    (void)state;
    struct tree t;
    struct sysroot root;
    static char text[20000];
    memset(text, 'x', sizeof text - 1);
    tree_make(&t);
    tree_write(&t, "proc/net/dev", text);
    assert_int_equal(sysroot_open(&root, t.path, NULL), 0);
    int fd = netns_open(&root, 0);
    assert_true(fd >= 0);
    assert_int_equal(netns_each(fd, ignore, NULL), -EBADMSG);
    close(fd);
    sysroot_close(&root);
    tree_remove(&t);
}

/* ---- On this machine ------------------------------------------------------------------------- */

/* A process in a network namespace of its own that takes what comes over a virtual cable, or -1. */
struct other_side {
    pid_t pid;
    int ready;
};

static void run(const char *command)
{
    if (system(command) != 0)
        _exit(1);
}

/* Waits for the cable, then takes one connection to its end. */
static void take_connection(int ready)
{
    run("ip link set lo up && ip link set toll-in up && ip addr add 10.231.7.2/24 dev toll-in");
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(4711)};
    if (bind(listener, (struct sockaddr *)&a, sizeof a) < 0 || listen(listener, 1) < 0 ||
        write(ready, "r", 1) != 1)
        _exit(1);
    int fd = accept(listener, NULL, NULL);
    static char sink[1 << 16];
    while (read(fd, sink, sizeof sink) > 0)
        ;
    if (write(ready, "e", 1) != 1)
        _exit(1);
    pause();
}

/* Both ends of the cable vanish with the namespace, at the latest with the test. */
static bool start_other_side(struct other_side *o)
{
    int up[2], down[2];
    assert_int_equal(pipe(up), 0);
    assert_int_equal(pipe(down), 0);
    o->pid = fork();
    assert_true(o->pid >= 0);
    char word;
    if (o->pid == 0) {
        if (unshare(CLONE_NEWNET) < 0 || write(up[1], "u", 1) != 1 || read(down[0], &word, 1) != 1)
            _exit(1);
        take_connection(up[1]);
        _exit(0);
    }
    close(up[1]);
    close(down[0]);
    o->ready = up[0];
    char command[160];
    snprintf(command, sizeof command,
             "ip link add toll-out type veth peer name toll-in netns %d 2>/dev/null && "
             "ip addr add 10.231.7.1/24 dev toll-out && ip link set toll-out up",
             (int)o->pid);
    bool works = read(o->ready, &word, 1) == 1 && system(command) == 0 &&
                 write(down[1], "d", 1) == 1 && read(o->ready, &word, 1) == 1;
    close(down[1]);
    return works;
}

static void stop_other_side(struct other_side *o)
{
    kill(o->pid, SIGKILL);
    waitpid(o->pid, NULL, 0);
    close(o->ready);
}

static void send_over_cable(size_t bytes)
{
    static const char zeros[1 << 16];
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(4711)};
    assert_int_equal(inet_pton(AF_INET, "10.231.7.2", &a.sin_addr), 1);
    assert_int_equal(connect(fd, (struct sockaddr *)&a, sizeof a), 0);
    while (bytes) {
        ssize_t n = write(fd, zeros, bytes < sizeof zeros ? bytes : sizeof zeros);
        assert_true(n > 0);
        bytes -= (size_t)n;
    }
    close(fd);
}

static void test_namespace_of_its_own(void **state)
{
    (void)state;
    enum { BYTES = 50 * 1000 * 1000 };
    if (geteuid() != 0 || system("ip -V >/dev/null 2>&1") != 0)
        skip();
    struct other_side o;
    if (!start_other_side(&o)) {
        stop_other_side(&o);
        skip();
    }
    struct sysroot root;
    assert_int_equal(sysroot_open(&root, NULL, NULL), 0);
    assert_int_equal(netns_compare(&root, o.pid), 1);
    assert_int_equal(netns_compare(&root, getpid()), 0);
    uint64_t received_before, sent_before, received, sent;
    assert_int_equal(read_of(&root, o.pid, &received_before, &sent_before), 0);
    send_over_cable(BYTES);
    char word;
    assert_int_equal(read(o.ready, &word, 1), 1);
    assert_int_equal(read_of(&root, o.pid, &received, &sent), 0);
    stop_other_side(&o);
    sysroot_close(&root);
    /* The wire has headers too: 66 bytes with up to 64 KiB of payload, or with 1448. */
    assert_in_range(received - received_before, BYTES, BYTES + BYTES / 10);
    assert_in_range(sent - sent_before, 1, BYTES / 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_compare),
        cmocka_unit_test(test_read),
        cmocka_unit_test(test_endless_line),
        cmocka_unit_test(test_namespace_of_its_own),
    };
    return RUN("netns", tests);
}
