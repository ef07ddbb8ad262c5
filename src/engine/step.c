/* SPDX-License-Identifier: MIT */
#include "engine/step.h"

#include "base/process.h"
#include "base/util.h"
#include "engine/compat/replay.h"
#include "engine/marks/marks.h"
#include "engine/outputs.h"
#include "engine/target/exits.h"
#include "engine/target/gpus.h"
#include "engine/target/reap.h"
#include "engine/target/targets.h"
#include "engine/target/walk.h"
#include "engine/tick.h"
#include "engine/tracker.h"
#include "source/pid_files.h"

#include <signal.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>

/* ==== Timeout ================================================================================= */

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
    if (!t->timeout.term_sent)
        return sum_u64(t->start_ns, t->options.timeout_ns);
    return t->timeout.killed ? t->timeout.again_ns : kill_ns(t);
}

int timeout_signal(struct process_reader *r, const struct entity *e, int number)
{
    /* The descriptor first: what is then read is of the process it holds, or of none. */
    CLEANUP_CLOSE int pidfd = process_open_pidfd(e->pid);
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
    if (t->timeout.term_sent) {
        kill_all(t, now_ns);
    } else {
        t->timeout.term_sent = true;
        signal_all(t, SIGTERM);
        signal_all(t, SIGCONT); /* one that is stopped could not hear it */
    }
}

bool timeout_goes_on(const struct toll_tracker *t)
{
    return t->timeout.term_sent && !t->timeout.is_over && !t->reaper.no_children_left &&
           !t->run.no_children;
}

/* ==== Wakeup ================================================================================== */

int wakeup_watch(struct toll_tracker *t, int fd)
{
    struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};
    return epoll_ctl(t->epoll, EPOLL_CTL_ADD, fd, &event) < 0 ? -errno : 0;
}

void wakeup_arm(struct toll_tracker *t)
{
    uint64_t due_ns = min_u64(schedule_due(&t->schedule), timeout_due(t));
    struct itimerspec when = {
        .it_value = {(time_t)(due_ns / NS_PER_SECOND), (long)(due_ns % NS_PER_SECOND)},
    };
    timerfd_settime(t->timer, TFD_TIMER_ABSTIME, &when, NULL);
}

int wakeup_open(struct toll_tracker *t, bool only_the_clock)
{
    t->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    if (only_the_clock) {
        t->epoll = t->timer;
        return t->timer < 0 ? -errno : 0;
    }
    t->epoll = epoll_create1(EPOLL_CLOEXEC);
    return t->epoll < 0 || t->timer < 0 || wakeup_watch(t, t->timer) < 0 ? -errno : 0;
}

void wakeup_close(struct toll_tracker *t)
{
    if (t->epoll != t->timer)
        close_p(&t->epoll);
    close_p(&t->timer);
    t->epoll = -1;
}

/* ==== Schedule ================================================================================ */

enum { AUTO_SHARE_OF_AGE = 32 };

#define FIRST_NS         NS_PER_MS
#define AUTO_FINEST_NS   (10 * NS_PER_MS)
#define AUTO_COARSEST_NS NS_PER_SECOND
#define AUTO_LONGEST_NS  (10 * NS_PER_SECOND)

void schedule_begin(struct schedule *s, uint64_t now_ns, uint64_t fixed_ns, double budget)
{
    *s = (struct schedule){.fixed_ns = fixed_ns, .budget = budget, .start_ns = now_ns};
    s->deadline_ns = now_ns + FIRST_NS;
    s->look_ns = UINT64_MAX; /* after the first sample */
}

/* At a certain age, when each of them costs so much. */
static uint64_t auto_step(const struct schedule *s, uint64_t age_ns, uint64_t cost_ns)
{
    if (age_ns < AUTO_FINEST_NS)
        return max_u64(age_ns, FIRST_NS);
    uint64_t step = min_u64(max_u64(age_ns / AUTO_SHARE_OF_AGE, AUTO_FINEST_NS), AUTO_COARSEST_NS);
    uint64_t affordable = (uint64_t)((double)cost_ns / s->budget);
    return max_u64(step, min_u64(affordable, AUTO_LONGEST_NS));
}

uint64_t schedule_auto_step(const struct schedule *s, uint64_t age_ns)
{
    return auto_step(s, age_ns, s->cost_ns);
}

static uint64_t schedule_smooth(uint64_t before_ns, uint64_t now_ns)
{
    return before_ns ? (before_ns * 7 + now_ns) / 8 : now_ns;
}

void schedule_advance(struct schedule *s, uint64_t ended_ns, uint64_t cost_ns)
{
    s->cost_ns = schedule_smooth(s->cost_ns, cost_ns);
    uint64_t age = left_u64(s->deadline_ns, s->start_ns);
    uint64_t step = s->fixed_ns ? s->fixed_ns : schedule_auto_step(s, age);
    if (s->fixed_ns && age == FIRST_NS && s->fixed_ns > FIRST_NS)
        s->deadline_ns = s->start_ns; /* from here on a multiple of the interval */
    s->deadline_ns += step;
    if (s->deadline_ns > ended_ns)
        return;
    uint64_t behind = (ended_ns - s->deadline_ns) / step + 1;
    s->missed += behind;
    s->deadline_ns += behind * step;
}

void schedule_note_gap(struct schedule *s, uint64_t now_ns, uint64_t gap_ns)
{
    uint64_t age = left_u64(now_ns, s->start_ns);
    uint64_t expected = s->fixed_ns ? s->fixed_ns : auto_step(s, age, 0);
    if (gap_ns < expected + AUTO_COARSEST_NS)
        return;
    s->pauses++;
    s->longest_ns = max_u64(s->longest_ns, gap_ns);
}

void schedule_looked(struct schedule *s, uint64_t ended_ns, uint64_t cost_ns)
{
    if (cost_ns)
        s->look_cost_ns = schedule_smooth(s->look_cost_ns, cost_ns);
    uint64_t age = left_u64(ended_ns, s->start_ns);
    s->look_ns = s->fixed_ns ? ended_ns + auto_step(s, age, s->look_cost_ns) : UINT64_MAX;
}

uint64_t schedule_due(const struct schedule *s)
{
    return min_u64(s->deadline_ns, s->look_ns);
}

uint64_t schedule_look_spacing(const struct schedule *s)
{
    return (uint64_t)((double)s->look_cost_ns / s->budget);
}

/* ==== Step ==================================================================================== */

static bool step_has_ended(struct toll_tracker *t)
{
    if (!is_launched(t))
        return targets_have_ended(t);
    if (timeout_goes_on(t))
        return false;
    return t->options.wait == TOLL_WAIT_ALL ? t->reaper.no_children_left : t->reaper.main_reaped;
}

static int step_replay(struct toll_tracker *t)
{
    int r = replay_step(t);
    if (r > 0)
        tick(t, false);
    return r;
}

int step(struct toll_tracker *t)
{
    if (!t->started || t->finished)
        return -EINVAL;
    if (t->replay)
        return step_replay(t);
    exits_read(t, false); /* before a parent is reaped that could prove a loss */
    if (is_launched(t))
        reap(t);
    else
        reap_helpers(t);
    if (t->reaper.main_reaped)
        close_p(&t->launched.pidfd); /* it would stay readable */
    if (step_has_ended(t))
        return 0;
    timeout_step(t);
    mark_intake_step(t);
    uint64_t now_ns = clock_mono(NULL);
    if (now_ns < t->schedule.deadline_ns) {
        bool is_look_due = t->whole && now_ns >= t->schedule.look_ns;
        if (is_look_due)
            walk_between(t, now_ns);
        wakeup_arm(t);
        return is_look_due ? !step_has_ended(t) : 1;
    }
    t->lateness_ns = now_ns - t->schedule.deadline_ns;
    tick(t, false);
    uint64_t cpu_ns = row_u64(&t->self_row, self_cpu_seconds);
    /* Drivers and servers do not make samples more expensive. */
    uint64_t beside_ns = own_threads_cpu_ns(t) + gpus_helper_cpu_ns(t);
    uint64_t apart_ns = t->slow.tick_cpu_ns + t->discovery.apart_ns + t->reader.threads_cpu_ns;
    uint64_t cost_ns = left_u64(cpu_ns, t->cpu_ns + apart_ns + beside_ns - t->beside_cpu_ns);
    t->discovery.apart_ns = t->reader.threads_cpu_ns = 0;
    t->cpu_ns = cpu_ns;
    t->beside_cpu_ns = beside_ns;
    uint64_t ended_ns = clock_mono(NULL);
    schedule_advance(&t->schedule, ended_ns, cost_ns);
    if (t->whole)
        schedule_looked(&t->schedule, ended_ns, 0);
    gpus_ask(t, t->schedule.deadline_ns);
    wakeup_arm(t);
    return !step_has_ended(t); /* the walk may have seen the last of them leave */
}
