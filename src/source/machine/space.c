/* SPDX-License-Identifier: MIT */
#include "source/machine/space.h"

#include "base/io/file.h"
#include "base/process.h"
#include "base/thread.h"
#include "source/kernel_file.h"

#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/syscall.h>

/* ==== Statvfs record ========================================================================== */

/* mount point, block size, blocks, free, available, files, files free:
 *
 * / 4096 5127680 2437116 2170616 1310720 1094213
 * /mnt/with\040blank 1048576 953344 120 0 0 0 */

int parse_statvfs_record(struct scan line, struct statvfs_record *ret)
{
    struct statvfs_record r = {.point.at = line.at};
    if (scan_done(&line) || *line.at != '/' || !scan_skip_fields(&line, 1))
        return -EBADMSG;
    r.point.end = line.at;
    uint64_t *const figures[] = {
        &r.space.block_bytes,      &r.space.blocks, &r.space.blocks_free,
        &r.space.blocks_available, &r.space.files,  &r.space.files_free,
    };
    for (size_t i = 0; i < ARRAY_LEN(figures); i++)
        if (!scan_u64(&line, figures[i]))
            return -EBADMSG;
    if (!scan_done(&line))
        return -EBADMSG;
    *ret = r;
    return 0;
}

int statvfs_record_find(struct scan text, const char *point, struct space *ret)
{
    struct scan line;
    struct statvfs_record record;
    char decoded[PATH_MAX];
    while (scan_line(&text, &line) && line.end < text.at) {
        if (parse_statvfs_record(line, &record) < 0 ||
            mountinfo_decode(record.point, decoded, sizeof decoded) < 0 ||
            strcmp(decoded, point) != 0)
            continue;
        *ret = record.space;
        return 0;
    }
    return -ENODATA;
}

/* ==== Space helper ============================================================================ */

/* The program may have other threads, which may hold any lock when we fork: the helper makes system
 * calls only. */

struct space space_of_statvfs(const struct statvfs *st)
{
    return (struct space){
        .block_bytes = st->f_frsize,
        .blocks = st->f_blocks,
        .blocks_free = st->f_bfree,
        .blocks_available = st->f_bavail,
        .files = st->f_files,
        .files_free = st->f_ffree,
    };
}

struct space_helper_life {
    int fd;
    statvfs_function *ask;
};

static int space_helper_serve(void *arg)
{
    const struct space_helper_life *l = arg;
    int fd = l->fd;
    statvfs_function *ask = l->ask;
    own_files_close_rest(&fd, 1); /* a helper that hangs must not hold a pipe of the program open */
    if (chdir("/") < 0)           /* the current directory could not be unmounted */
        return 1;
    for (;;) {
        struct space_request request;
        ssize_t n = recv(fd, &request, sizeof request, 0);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= (ssize_t)offsetof(struct space_request, path))
            return 0;
        request.path[sizeof request.path - 1] = '\0';
        struct statvfs st;
        struct space_answer answer = {.serial = request.serial};
        if (ask(request.path, &st) == 0)
            answer.space = space_of_statvfs(&st);
        else
            answer.error = -errno;
        if (send(fd, &answer, sizeof answer, MSG_NOSIGNAL) < 0)
            return 0;
    }
}

pid_t space_helper_start(statvfs_function *ask, int *ret_fd)
{
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
        return -errno;
    struct space_helper_life life = {ends[1], ask};
    pid_t pid = quiet_fork("toll-statvfs", space_helper_serve, &life);
    close(ends[1]);
    if (pid < 0)
        close(ends[0]);
    else
        *ret_fd = ends[0];
    return pid;
}

/* ==== Space asker ============================================================================= */

#define DEADLINE_NS (2 * NS_PER_SECOND)

void space_asker_init(struct space_asker *a, statvfs_function *ask)
{
    *a = (struct space_asker){.statvfs = ask, .deadline_ns = DEADLINE_NS};
    for (unsigned i = 0; i < SPACE_HELPERS; i++)
        a->helpers[i].fd = -1;
}

void space_asker_done(struct space_asker *a)
{
    for (unsigned i = 0; i < a->started; i++) {
        struct space_helper *h = &a->helpers[i];
        if (h->fd < 0)
            continue;
        /* The socket shows whether it has ended: another process may have its pid by now. */
        struct pollfd fd = {.fd = h->fd, .events = POLLIN};
        if (poll(&fd, 1, 0) >= 0 && !(fd.revents & (POLLHUP | POLLERR)))
            quiet_fork_end(h->pid, 0);
        close(take_fd(&h->fd));
    }
}

void space_asker_open(struct space_asker *a, struct space_question *q, bool is_open)
{
    if (is_open && !q->serial) {
        q->next = a->first;
        a->first = q;
        q->serial = ++a->serial;
    }
    q->is_open = is_open;
}

/* The helper's questions may be asked of another one; earlier answers to them are outdated. */
static void space_asker_release(struct space_asker *a, const struct space_helper *h,
                                const struct space_question *except)
{
    for (struct space_question *q = a->first; q; q = q->next)
        if (q->helper == h && q != except) {
            q->helper = NULL;
            q->has_answer = false;
        }
}

static void space_asker_accept(struct space_asker *a, struct space_helper *h,
                               const struct space_answer *answer)
{
    for (struct space_question *q = a->first; q; q = q->next) {
        if (q->helper != h || q->serial != answer->serial)
            continue;
        q->helper = NULL;
        q->has_answer = true;
        q->is_late = false;
        q->error = (int)answer->error;
        q->space = answer->space;
    }
}

static void space_asker_take_from(struct space_asker *a, struct space_helper *h, uint64_t now_ns)
{
    struct space_answer answer;
    ssize_t n;
    while ((n = recv(h->fd, &answer, sizeof answer, MSG_DONTWAIT)) > 0) {
        h->heard_ns = now_ns;
        h->is_stuck = false;
        if (n == (ssize_t)sizeof answer)
            space_asker_accept(a, h, &answer);
    }
    if (n == 0 || (errno != EAGAIN && errno != EINTR)) { /* the helper has ended */
        close(take_fd(&h->fd));
        space_asker_release(a, h, NULL);
    }
}

void space_asker_take(struct space_asker *a, uint64_t now_ns)
{
    for (unsigned i = 0; i < a->started; i++)
        if (a->helpers[i].fd >= 0)
            space_asker_take_from(a, &a->helpers[i], now_ns);
}

/* Answers come in the order of the questions: a late helper is at the oldest. */
static void space_asker_find_late(struct space_asker *a, struct space_helper *h, uint64_t now_ns)
{
    struct space_question *q = NULL;
    for (struct space_question *one = a->first; one; one = one->next)
        if (one->helper == h && (!q || one->serial < q->serial))
            q = one;
    if (!q || now_ns - max_u64(q->asked_ns, h->heard_ns) <= a->deadline_ns)
        return;
    h->is_stuck = true;
    q->is_late = true;
    q->has_answer = false;
    space_asker_release(a, h, q);
}

/* A helper that is not stuck, started if there is none; NULL when there are enough of them. */
static struct space_helper *space_asker_helper(struct space_asker *a)
{
    for (unsigned i = 0; i < a->started; i++)
        if (a->helpers[i].fd >= 0 && !a->helpers[i].is_stuck)
            return &a->helpers[i];
    if (a->started == SPACE_HELPERS)
        return NULL;
    /* One that cannot be started counts too, so that the attempts end. */
    struct space_helper *h = &a->helpers[a->started++];
    pid_t pid = space_helper_start(a->statvfs, &h->fd);
    if (pid < 0)
        return NULL;
    h->pid = pid;
    if (a->own_child)
        a->own_child(a->arg, pid);
    return h;
}

static void space_asker_ask(struct space_asker *a, struct space_question *q, uint64_t now_ns)
{
    struct space_request request;
    size_t length = strlen(q->path);
    struct space_helper *h = length < sizeof request.path ? space_asker_helper(a) : NULL;
    if (!h) {
        q->has_answer = false; /* it may be outdated, and cannot be asked for again */
        return;
    }
    request.serial = ++a->serial;
    memcpy(request.path, q->path, length + 1);
    size_t size = offsetof(struct space_request, path) + length + 1;
    if (send(h->fd, &request, size, MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
        return; /* it has ended, or its queue is full: it is asked in the next round */
    q->helper = h;
    q->serial = request.serial;
    q->asked_ns = now_ns;
}

void space_asker_round(struct space_asker *a, uint64_t now_ns)
{
    space_asker_take(a, now_ns);
    for (unsigned i = 0; i < a->started; i++)
        if (a->helpers[i].fd >= 0 && !a->helpers[i].is_stuck)
            space_asker_find_late(a, &a->helpers[i], now_ns);
    for (struct space_question *q = a->first; q; q = q->next)
        if (q->is_open && !q->helper)
            space_asker_ask(a, q, now_ns);
}
