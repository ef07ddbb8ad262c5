/* SPDX-License-Identifier: MIT */
#include "collect/netns.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

enum { LINK_BYTES = 64 };

/* "net:[4026531840]", with the number that is the namespace's own. */
static int read_link(int proc, const char *process, char ret[LINK_BYTES])
{
    char path[32];
    snprintf(path, sizeof path, "%s/ns/net", process);
    ssize_t n = readlinkat(proc, path, ret, LINK_BYTES - 1);
    if (n < 0)
        return -errno;
    ret[n] = '\0';
    return 0;
}

int netns_number(const struct sysroot *root, pid_t pid, uint64_t *ret)
{
    char process[16] = "self", link[LINK_BYTES];
    if (pid)
        snprintf(process, sizeof process, "%d", (int)pid);
    int r = read_link(pid ? root->pids : root->proc, process, link);
    if (r < 0)
        return r;
    struct scan s = scan_string(link);
    return scan_word(&s, "net:[") && scan_u64(&s, ret) && scan_word(&s, "]") ? 0 : -EBADMSG;
}

int netns_compare(const struct sysroot *root, pid_t pid)
{
    uint64_t theirs, ours;
    int r = netns_number(root, pid, &theirs);
    if (r == 0)
        r = netns_number(root, 0, &ours);
    return r < 0 ? r : theirs != ours;
}

int netns_open(const struct sysroot *root, pid_t pid)
{
    char path[32] = "net/dev";
    if (pid)
        snprintf(path, sizeof path, "%d/net/dev", (int)pid);
    int fd = openat(pid ? root->pids : root->proc, path, O_RDONLY | O_CLOEXEC);
    return fd < 0 ? -errno : fd;
}

/* The kernel gives a page at a time: the beginning of a line stays for the next piece. */
enum { SHORTEST_PAGE = 4096 };

int netns_each(int net_dev, void (*visit)(void *arg, const struct net_dev *dev), void *arg)
{
    char text[8192];
    size_t kept = 0;
    off_t at = 0;
    for (;;) {
        ssize_t n = pread(net_dev, text + kept, sizeof text - kept, at);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -errno;
        if (n == 0)
            return kept ? -EBADMSG : 0;
        at += n;
        struct scan rest = scan_text(text, kept + (size_t)n);
        struct net_dev dev;
        int r;
        while ((r = parse_net_dev(&rest, &dev)) > 0)
            visit(arg, &dev);
        if (r < 0)
            return r;
        kept = (size_t)(rest.end - rest.at);
        if (kept == sizeof text)
            return -EBADMSG; /* no line is that long */
        memmove(text, rest.at, kept);
        if (!kept && n < SHORTEST_PAGE / 2)
            return 0; /* the kernel fills a page before it hands it out: that was the last */
    }
}

struct sums {
    unsigned interfaces;
    uint64_t received;
    uint64_t sent;
};

static void add_unless_loopback(void *arg, const struct net_dev *dev)
{
    struct sums *sums = arg;
    sums->interfaces++;
    if (strcmp(dev->name, "lo") == 0)
        return;
    sums->received += dev->received.bytes;
    sums->sent += dev->sent.bytes;
}

int netns_read(int net_dev, uint64_t *ret_received, uint64_t *ret_sent)
{
    struct sums sums = {0};
    int r = netns_each(net_dev, add_unless_loopback, &sums);
    if (r < 0)
        return r;
    if (!sums.interfaces)
        return -ENODATA; /* a namespace has its loopback at least */
    *ret_received = sums.received;
    *ret_sent = sums.sent;
    return 0;
}
