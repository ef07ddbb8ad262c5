/* SPDX-License-Identifier: MIT */
#include "engine/marks/marks.h"

#include "base/err.h"
#include "base/util.h"
#include "engine/tracker.h"
#include "metric/frame.h"

#include <math.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <sys/time.h>

/* ==== Mark client ============================================================================= */

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

static void add_lost(uint64_t count)
{
    uint64_t self = (uint64_t)getpid(), before = atomic_load(&lost), now;
    do
        now = self << PID_SHIFT | min_u64(lost_of(before, self) + count, LOST_AT_MOST);
    while (!atomic_compare_exchange_weak(&lost, &before, now));
}

static const char *mark_client_listener(void)
{
    const char *path = getenv(MARK_SOCKET_VARIABLE);
    return path && *path ? path : NULL;
}

bool mark_client_has_listener(void)
{
    return mark_client_listener() != NULL;
}

static int mark_client_send_to(int fd, const struct sockaddr_un *to, const struct buf *text,
                               int flags)
{
    ssize_t n;
    do
        n = sendto(fd, text->data, text->length, flags | MSG_NOSIGNAL, (const struct sockaddr *)to,
                   sizeof *to);
    while (n < 0 && errno == EINTR);
    return n < 0 ? -errno : 0;
}

/* One that was lost before was waited for in vain: not again. */
static int mark_client_deliver(const char *path, const struct buf *text, bool may_wait)
{
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof to.sun_path)
        return -ENOENT;
    memcpy(to.sun_path, path, strlen(path));
    CLEANUP_CLOSE int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -errno;
    int r = mark_client_send_to(fd, &to, text, MSG_DONTWAIT);
    const struct timeval patience = {.tv_usec = WAIT_US};
    if (r == -EAGAIN && may_wait &&
        setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience) == 0)
        r = mark_client_send_to(fd, &to, text, 0);
    return r;
}

static bool mark_is_not_received(int r)
{
    return r == -ENOENT || r == -ECONNREFUSED || r == -EACCES || r == -EPERM || r == -ENOTDIR ||
           r == -EPROTOTYPE || r == -ENOTSOCK || r == -ELOOP || r == -ENAMETOOLONG;
}

int mark_client_send(struct buf *text)
{
    int saved_errno = errno;
    const char *path = mark_client_listener();
    if (!path)
        return 1;
    uint64_t self = (uint64_t)getpid();
    uint64_t before = lost_of(atomic_exchange(&lost, self << PID_SHIFT), self);
    if (before)
        mark_text_add_number(text, "lost", before);
    int r = buf_failed(text) ? -ENOMEM : mark_client_deliver(path, text, !before);
    if (r == -EAGAIN || r == -ENOBUFS || r == -ENOMEM || r == -EMFILE || r == -ENFILE)
        add_lost(before + 1);
    errno = saved_errno;
    return r == 0 ? 0 : mark_is_not_received(r) ? 1 : r == -ENOBUFS ? -EAGAIN : r;
}

/* ==== Marks =================================================================================== */

/* The public calls for marks: what is said is checked, written down, and sent on its way. */

static const enum mark_kind kinds[] = {
    [TOLL_MARK_PHASE_BEGIN] = MARK_PHASE_BEGIN,
    [TOLL_MARK_PHASE_END] = MARK_PHASE_END,
    [TOLL_MARK_EVENT] = MARK_EVENT,
    [TOLL_MARK_GAUGE] = MARK_GAUGE,
};

static int marks_check(const struct toll_mark *m)
{
    if ((unsigned)m->kind >= ARRAY_LEN(kinds) || !mark_text_is_name(m->name) || m->pid < 0)
        return -EINVAL;
    if (m->kind == TOLL_MARK_GAUGE && !isfinite(m->value))
        return -EINVAL;
    bool may_have = m->kind == TOLL_MARK_EVENT || m->kind == TOLL_MARK_PHASE_BEGIN;
    for (const char *const *a = m->attributes; a && *a; a++)
        if (!may_have || !mark_text_is_attribute(*a))
            return -EINVAL;
    return 0;
}

static void write_down(struct buf *b, const struct toll_mark *m)
{
    mark_text_begin(b, kinds[m->kind], m->name);
    if (m->kind == TOLL_MARK_GAUGE)
        mark_text_add_value(b, m->value);
    for (const char *const *a = m->attributes; a && *a; a++)
        mark_text_add(b, *a);
    mark_text_add_number(b, "time", clock_mono(NULL));
    if (m->pid)
        mark_text_add_number(b, "pid", (uint64_t)m->pid);
}

/* To the tracker of this program. */
static int marks_hand_over(struct toll_tracker *t, struct buf *b)
{
    if (buf_failed(b))
        return -ENOMEM;
    char *text = b->data;
    *b = (struct buf){0};
    int r = mark_queue_put(&t->marks.queue, text);
    if (r == 0)
        background_wake(t);
    return r;
}

int toll_mark(struct toll_tracker *t, const struct toll_mark *mark)
{
    enum { FOR_WHAT_IS_ADDED = 64 };
    struct toll_mark m;
    int r = mark ? sized_take(&m, sizeof m, mark, "mark", NULL) : -EINVAL;
    if (r == 0)
        r = marks_check(&m);
    if (r < 0)
        return r;
    if (t && is_elsewhere(t))
        return -ESRCH;
    if (!t && !m.attributes && !mark_client_has_listener())
        return TOLL_MARK_NO_LISTENER; /* attributes may be too long, which is an error in any case
                                       */
    struct buf b = {0};
    write_down(&b, &m);
    if (!buf_failed(&b) && b.length > MARK_TEXT_BYTES - FOR_WHAT_IS_ADDED)
        r = -EINVAL;
    else
        r = t ? marks_hand_over(t, &b) : mark_client_send(&b);
    buf_done(&b);
    return r;
}

static int marks_mark(struct toll_tracker *t, enum toll_mark_kind kind, const char *name,
                      double value, const char *const *attributes)
{
    const struct toll_mark m = {
        .size = sizeof m,
        .kind = kind,
        .name = name,
        .value = value,
        .attributes = attributes,
    };
    return toll_mark(t, &m);
}

int toll_mark_phase_begin(struct toll_tracker *t, const char *name)
{
    return marks_mark(t, TOLL_MARK_PHASE_BEGIN, name, 0, NULL);
}

int toll_mark_phase_end(struct toll_tracker *t, const char *name)
{
    return marks_mark(t, TOLL_MARK_PHASE_END, name, 0, NULL);
}

int toll_mark_gauge(struct toll_tracker *t, const char *name, double value)
{
    return marks_mark(t, TOLL_MARK_GAUGE, name, value, NULL);
}

int toll_mark_event(struct toll_tracker *t, const char *name, const char *const *attributes)
{
    return marks_mark(t, TOLL_MARK_EVENT, name, 0, attributes);
}
