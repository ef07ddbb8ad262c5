/* SPDX-License-Identifier: MIT */
#include "engine/timeout.h"

#include "engine/outputs.h"
#include "engine/walk.h"
#include "parse/pid_stat.h"

#include <signal.h>
#include <sys/syscall.h>

#define DEFAULT_GRACE_NS (10 * NS_PER_SECOND)

/* SIGKILL is sent again to what was born in the meantime. What it has not ended after a second
 * hangs in the kernel, or is another user's. */
#define KILL_AGAIN_NS (20 * NS_PER_MS)
#define KILL_FOR_NS   NS_PER_SECOND

static uint64_t kill_ns(const struct toll_tracker *t)
{
    const struct toll_options *o = &t->options;
    return sum_u64(sum_u64(t->start_ns, o->timeout_ns),
                   o->grace_ns ? o->grace_ns : DEFAULT_GRACE_NS);
}

uint64_t timeout_due(const struct toll_tracker *t)
{
    if (!t->options.timeout_ns || t->replay || t->timeout.is_over)
        return UINT64_MAX;
    if (!t->timeout.told)
        return sum_u64(t->start_ns, t->options.timeout_ns);
    return t->timeout.killed ? t->timeout.again_ns : kill_ns(t);
}

int timeout_signal(struct process_reader *r, const struct entity *e, int number)
{
    /* The descriptor first: what is then read is of the process it holds, or of none. */
    CLEANUP_CLOSE int pidfd = launch_open_pidfd(e->pid);
    struct pid_stat st;
    ssize_t n = process_read_once(r, e->pid, "stat");
    if (n < 0 || parse_pid_stat(scan_text(r->text, (size_t)n), &st) < 0 ||
        st.start_ticks != e->start_ticks)
        return -ESRCH;
#ifdef SYS_pidfd_send_signal
    if (pidfd >= 0 && (syscall(SYS_pidfd_send_signal, pidfd, number, NULL, 0) == 0))
        return 0;
    if (pidfd >= 0 && errno != ENOSYS)
        return -errno;
#endif
    return kill(e->pid, number) < 0 ? -errno : 0;
}

static void signal_all(struct toll_tracker *t, int number)
{
    bool has_main = t->reaper.main_reaped;
    walk(t, clock_mono(NULL));
    for (size_t i = 0; i < t->members.count; i++) {
        const struct member *m = t->members.order[i];
        if (!m->was_seen || m->gone)
            continue;
        has_main |= m->process.entity.pid == t->launched.pid;
        if (!m->process.has_ended)
            timeout_signal(&t->reader, &m->process.entity, number);
    }
    if (!has_main) /* it could not be looked at; a child that was not reaped keeps its number */
        kill(t->launched.pid, number);
}

static void kill_all(struct toll_tracker *t, uint64_t now_ns)
{
    if (!t->timeout.killed)
        outputs_note(t, "what went on after SIGTERM was ended by SIGKILL");
    t->timeout.killed = true;
    t->timeout.again_ns = now_ns + KILL_AGAIN_NS;
    t->timeout.is_over = now_ns >= sum_u64(kill_ns(t), KILL_FOR_NS);
    signal_all(t, SIGKILL);
}

void timeout_step(struct toll_tracker *t)
{
    uint64_t now_ns = clock_mono(NULL);
    if (now_ns < timeout_due(t))
        return;
    if (t->timeout.told) {
        kill_all(t, now_ns);
    } else {
        t->timeout.told = true;
        signal_all(t, SIGTERM);
        signal_all(t, SIGCONT); /* one that is stopped could not hear it */
    }
}

bool timeout_goes_on(const struct toll_tracker *t)
{
    return t->timeout.told && !t->timeout.is_over && !t->reaper.no_children_left &&
           !t->run.no_children;
}
