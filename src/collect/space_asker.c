/* SPDX-License-Identifier: MIT */
#include "collect/space_asker.h"

#include "base/quiet_fork.h"

#include <poll.h>
#include <sys/socket.h>

#define DEADLINE_NS (2 * NS_PER_SECOND)

void space_asker_init(struct space_asker *a, statvfs_function *ask)
{
    *a = (struct space_asker){.statvfs = ask, .deadline_ns = DEADLINE_NS};
    for (unsigned i = 0; i < SPACE_HELPERS; i++)
        a->helpers[i].fd = -1;
}

/* The pid of a helper that has ended may be somebody else's by now; its socket cannot. */
static bool is_alive(const struct space_helper *h)
{
    struct pollfd fd = {.fd = h->fd, .events = POLLIN};
    return poll(&fd, 1, 0) >= 0 && !(fd.revents & (POLLHUP | POLLERR));
}

void space_asker_done(struct space_asker *a)
{
    for (unsigned i = 0; i < a->started; i++) {
        struct space_helper *h = &a->helpers[i];
        if (h->fd < 0)
            continue;
        if (is_alive(h))
            quiet_fork_end(h->pid);
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

/* Questions the helper has are free to be asked elsewhere; what is known of them is old. */
static void release(struct space_asker *a, const struct space_helper *h,
                    const struct space_question *except)
{
    for (struct space_question *q = a->first; q; q = q->next)
        if (q->helper == h && q != except) {
            q->helper = NULL;
            q->has_answer = false;
        }
}

static void bury(struct space_asker *a, struct space_helper *h)
{
    close(take_fd(&h->fd));
    release(a, h, NULL);
}

static void accept_answer(struct space_asker *a, struct space_helper *h,
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

static void take_from(struct space_asker *a, struct space_helper *h, uint64_t now_ns)
{
    struct space_answer answer;
    ssize_t n;
    while ((n = recv(h->fd, &answer, sizeof answer, MSG_DONTWAIT)) > 0) {
        h->heard_ns = now_ns;
        h->is_stuck = false;
        if (n == (ssize_t)sizeof answer)
            accept_answer(a, h, &answer);
    }
    if (n == 0 || (errno != EAGAIN && errno != EINTR))
        bury(a, h);
}

void space_asker_take(struct space_asker *a, uint64_t now_ns)
{
    for (unsigned i = 0; i < a->started; i++)
        if (a->helpers[i].fd >= 0)
            take_from(a, &a->helpers[i], now_ns);
}

/* Answers come in the order of the questions: the helper is at the oldest. */
static struct space_question *oldest_of(const struct space_asker *a, const struct space_helper *h)
{
    struct space_question *oldest = NULL;
    for (struct space_question *q = a->first; q; q = q->next)
        if (q->helper == h && (!oldest || q->serial < oldest->serial))
            oldest = q;
    return oldest;
}

static void find_late(struct space_asker *a, struct space_helper *h, uint64_t now_ns)
{
    struct space_question *q = oldest_of(a, h);
    if (!q || now_ns - max_u64(q->asked_ns, h->heard_ns) <= a->deadline_ns)
        return;
    h->is_stuck = true;
    q->is_late = true;
    q->has_answer = false;
    release(a, h, q);
}

static struct space_helper *start_helper(struct space_asker *a)
{
    if (a->started == SPACE_HELPERS)
        return NULL;
    /* One that cannot be started counts: nothing is tried for ever. */
    struct space_helper *h = &a->helpers[a->started++];
    pid_t pid = space_helper_start(a->statvfs, &h->fd);
    if (pid < 0)
        return NULL;
    h->pid = pid;
    if (a->own_child)
        a->own_child(a->arg, pid);
    return h;
}

static struct space_helper *free_helper(struct space_asker *a)
{
    for (unsigned i = 0; i < a->started; i++)
        if (a->helpers[i].fd >= 0 && !a->helpers[i].is_stuck)
            return &a->helpers[i];
    return start_helper(a);
}

static void ask(struct space_asker *a, struct space_question *q, uint64_t now_ns)
{
    struct space_request request;
    size_t length = strlen(q->path);
    struct space_helper *h = length < sizeof request.path ? free_helper(a) : NULL;
    if (!h) {
        q->has_answer = false; /* nobody is left to tell whether it still holds */
        return;
    }
    request.serial = ++a->serial;
    memcpy(request.path, q->path, length + 1);
    size_t size = offsetof(struct space_request, path) + length + 1;
    if (send(h->fd, &request, size, MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
        return; /* it has ended, or enough to do: the next round will tell */
    q->helper = h;
    q->serial = request.serial;
    q->asked_ns = now_ns;
}

void space_asker_round(struct space_asker *a, uint64_t now_ns)
{
    space_asker_take(a, now_ns);
    for (unsigned i = 0; i < a->started; i++)
        if (a->helpers[i].fd >= 0 && !a->helpers[i].is_stuck)
            find_late(a, &a->helpers[i], now_ns);
    for (struct space_question *q = a->first; q; q = q->next)
        if (q->is_open && !q->helper)
            ask(a, q, now_ns);
}
