/* SPDX-License-Identifier: MIT */
#include "engine/mark_client.h"

#include "engine/mark_socket.h"
#include "parse/mark_text.h"

#include <stdatomic.h>
#include <sys/socket.h>
#include <sys/time.h>

/* The kernel's queue may hold ten marks only: wait this long for the listener to take some. */
enum { WAIT_US = 10000 };

/* Marks of this process that could not be delivered, and in the upper half whose they are: a forked
 * child has lost none yet. */
static _Atomic uint64_t lost;
enum { PID_SHIFT = 32, LOST_AT_MOST = 1000000000 };

static uint64_t lost_of(uint64_t both, uint64_t self)
{
    return both >> PID_SHIFT == self ? both & UINT32_MAX : 0;
}

static uint64_t take_lost(void)
{
    uint64_t self = (uint64_t)getpid();
    return lost_of(atomic_exchange(&lost, self << PID_SHIFT), self);
}

static void add_lost(uint64_t count)
{
    uint64_t self = (uint64_t)getpid(), before = atomic_load(&lost), now;
    do
        now = self << PID_SHIFT | min_u64(lost_of(before, self) + count, LOST_AT_MOST);
    while (!atomic_compare_exchange_weak(&lost, &before, now));
}

static const char *listener(void)
{
    const char *path = getenv(MARK_SOCKET_VARIABLE);
    return path && *path ? path : NULL;
}

bool mark_client_has_listener(void)
{
    return listener() != NULL;
}

static int send_to(int fd, const struct sockaddr_un *to, const struct buf *text, int flags)
{
    ssize_t n;
    do
        n = sendto(fd, text->data, text->length, flags | MSG_NOSIGNAL, (const struct sockaddr *)to,
                   sizeof *to);
    while (n < 0 && errno == EINTR);
    return n < 0 ? -errno : 0;
}

/* One that was lost before was waited for in vain: not again. */
static int deliver(const char *path, const struct buf *text, bool may_wait)
{
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof to.sun_path)
        return -ENOENT;
    memcpy(to.sun_path, path, strlen(path));
    CLEANUP_CLOSE int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -errno;
    int r = send_to(fd, &to, text, MSG_DONTWAIT);
    const struct timeval patience = {.tv_usec = WAIT_US};
    if (r == -EAGAIN && may_wait &&
        setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience) == 0)
        r = send_to(fd, &to, text, 0);
    return r;
}

static bool tells_absence(int r)
{
    return r == -ENOENT || r == -ECONNREFUSED || r == -EACCES || r == -EPERM || r == -ENOTDIR ||
           r == -EPROTOTYPE || r == -ENOTSOCK || r == -ELOOP || r == -ENAMETOOLONG;
}

int mark_client_send(struct buf *text)
{
    int saved_errno = errno;
    const char *path = listener();
    if (!path)
        return 1;
    uint64_t before = take_lost();
    if (before)
        mark_text_add_number(text, "lost", before);
    int r = buf_failed(text) ? -ENOMEM : deliver(path, text, !before);
    if (r == -EAGAIN || r == -ENOBUFS || r == -ENOMEM || r == -EMFILE || r == -ENFILE)
        add_lost(before + 1);
    errno = saved_errno;
    return r == 0 ? 0 : tells_absence(r) ? 1 : r == -ENOBUFS ? -EAGAIN : r;
}
