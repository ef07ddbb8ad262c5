/* SPDX-License-Identifier: MIT */
#include "base/stream.h"

#include "base/file.h"

#include <fcntl.h>
#include <limits.h>
#include <linux/major.h>
#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

enum { SHORT_PAUSE_US = 1000 };

/* What a pipe takes as a whole when poll has found room. A terminal that has room takes less. */
enum { PIPE_PART = PIPE_BUF, TERMINAL_PART = 256 };

/* A descriptor of its own on the same; negative where there is none. Opening the master of a
 * pseudoterminal makes a new pair. */
static int open_again(int fd, const struct stat *st)
{
    char itself[64];
    if (S_ISCHR(st->st_mode) && major(st->st_rdev) == TTYAUX_MAJOR)
        return -1;
    snprintf(itself, sizeof itself, "/proc/thread-self/fd/%d", fd);
    return open(itself, O_WRONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
}

void stream_open(struct stream *s, int fd)
{
    struct stat st;
    *s = (struct stream){.fd = fd, .own = -1, .way = STREAM_NEVER_WAITS};
    int flags = fcntl(fd, F_GETFL);
    if (flags < 0 || (flags & O_NONBLOCK) || fstat(fd, &st) < 0)
        return;
    if (S_ISSOCK(st.st_mode)) {
        s->way = STREAM_SOCKET;
        return;
    }
    if (!S_ISFIFO(st.st_mode) && !(S_ISCHR(st.st_mode) && isatty(fd)))
        return;
    s->own = open_again(fd, &st);
    if (s->own < 0)
        s->way = STREAM_IN_SMALL_PARTS;
}

void stream_close(struct stream *s)
{
    close_p(&s->own);
}

static int send_now(int fd, const char *data, size_t length, size_t *ret_written)
{
    for (*ret_written = 0; *ret_written < length;) {
        ssize_t n = send(fd, data + *ret_written, length - *ret_written,
                         MSG_DONTWAIT | MSG_NOSIGNAL);
        if (n < 0 && errno != EINTR)
            return -errno;
        *ret_written += n > 0 ? (size_t)n : 0;
    }
    return 0;
}

static int write_small_parts(int fd, const char *data, size_t length, size_t *ret_written)
{
    size_t most = isatty(fd) ? TERMINAL_PART : PIPE_PART, part;
    int r = 0;
    for (*ret_written = 0; r == 0 && *ret_written < length; *ret_written += part) {
        struct pollfd room = {.fd = fd, .events = POLLOUT};
        if (poll(&room, 1, 0) <= 0)
            return -EAGAIN;
        r = file_write_quietly(fd, data + *ret_written, min_u64(length - *ret_written, most),
                               &part);
    }
    return r;
}

int stream_write(struct stream *s, const char *data, size_t length, size_t *ret_written)
{
    switch (s->way) {
    case STREAM_SOCKET: return send_now(s->fd, data, length, ret_written);
    case STREAM_IN_SMALL_PARTS: return write_small_parts(s->fd, data, length, ret_written);
    case STREAM_NEVER_WAITS: break;
    }
    return file_write_quietly(s->own >= 0 ? s->own : s->fd, data, length, ret_written);
}

bool stream_wait(const struct stream *s, int timeout_ms)
{
    struct pollfd room = {.fd = s->fd, .events = POLLOUT};
    int n = poll(&room, 1, timeout_ms);
    return n > 0 || (n < 0 && errno == EINTR && timeout_ms < 0);
}

int stream_write_patiently(struct stream *s, const char *data, size_t length, int wait_ms)
{
    size_t written;
    int r = stream_write(s, data, length, &written);
    while (r == -EAGAIN && (written || stream_wait(s, wait_ms))) {
        if (!written)
            usleep(SHORT_PAUSE_US); /* there may be room, and still no turn for us */
        data += written;
        length -= written;
        r = stream_write(s, data, length, &written);
    }
    return r;
}
