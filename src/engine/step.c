/* SPDX-License-Identifier: MIT */
#include "engine/step.h"

#include "base/process.h"
#include "engine/target/gpus.h"
#include "engine/target/reap.h"
#include "engine/target/targets.h"
#include "engine/target/walk.h"
#include "engine/tracker.h"
#include "source/pid_files.h"

#include <signal.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>

/* ==== Wakeup ================================================================================== */

static int wakeup_add(const struct wakeup *w, int fd, uint32_t events)
{
    struct epoll_event event = {.events = events, .data.fd = fd};
    return epoll_ctl(w->epoll, EPOLL_CTL_ADD, fd, &event) < 0 ? -errno : 0;
}

int wakeup_watch(const struct wakeup *w, int fd)
{
    return wakeup_add(w, fd, EPOLLIN);
}

int wakeup_watch_edge(const struct wakeup *w, int fd)
{
    return wakeup_add(w, fd, EPOLLIN | EPOLLET);
}

int wakeup_open(struct wakeup *w, bool only_the_clock)
{
    w->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    if (only_the_clock) {
        w->epoll = w->timer;
        return w->timer < 0 ? -errno : 0;
    }
    w->epoll = epoll_create1(EPOLL_CLOEXEC);
    return w->epoll < 0 || w->timer < 0 || wakeup_watch(w, w->timer) < 0 ? -errno : 0;
}

void wakeup_close(struct wakeup *w)
{
    if (w->epoll != w->timer)
        close_p(&w->epoll);
    close_p(&w->timer);
    w->epoll = -1;
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

void schedule_end(struct schedule *s, uint64_t now_ns)
{
    if (s->fixed_ns && now_ns > s->deadline_ns)
        s->missed += (now_ns - s->deadline_ns) / s->fixed_ns;
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

/* ==== Timeout ================================================================================= */

#define DEFAULT_GRACE_NS (10 * NS_PER_SECOND)

/* SIGKILL is sent again to what was born in the meantime. What it has not ended after a second
 * hangs in the kernel, or is another user's. */
#define KILL_AGAIN_NS (20 * NS_PER_MS)
#define KILL_FOR_NS   NS_PER_SECOND

static uint64_t timeout_kill_ns(const struct tracked *t)
{
    const struct toll_options *o = t->options;
    return sum_u64(sum_u64(t->start_ns, o->timeout_ns),
                   o->grace_ns ? o->grace_ns : DEFAULT_GRACE_NS);
}

uint64_t timeout_due(const struct timeout *timeout, const struct tracked *t)
{
    if (!t->options->timeout_ns || t->is_recorded || timeout->is_over)
        return UINT64_MAX;
    if (!timeout->term_sent)
        return sum_u64(t->start_ns, t->options->timeout_ns);
    return timeout->kill_sent ? timeout->again_ns : timeout_kill_ns(t);
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

static void timeout_signal_all(struct tracked *t, int number)
{
    bool has_main = t->reaper.main_reaped;
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

/* Sends what is due, to all members that were just found. */
static void timeout_act(struct timeout *timeout, struct tracked *t, uint64_t now_ns)
{
    if (!timeout->term_sent) {
        timeout->term_sent = true;
        timeout_signal_all(t, SIGTERM);
        timeout_signal_all(t, SIGCONT); /* one that is stopped could not handle it */
        return;
    }
    if (!timeout->kill_sent)
        tracked_note(t, "processes still running after SIGTERM were killed (SIGKILL)");
    timeout->kill_sent = true;
    timeout->again_ns = now_ns + KILL_AGAIN_NS;
    timeout->is_over = now_ns >= sum_u64(timeout_kill_ns(t), KILL_FOR_NS);
    timeout_signal_all(t, SIGKILL);
}

/* ==== Step ==================================================================================== */

void step_arm(const struct toll_tracker *t)
{
    uint64_t due_ns = min_u64(schedule_due(&t->schedule), exits_due(&t->exits));
    due_ns = min_u64(due_ns, timeout_due(&t->timeout, &t->tracked));
    struct itimerspec when = {
        .it_value = {(time_t)(due_ns / NS_PER_SECOND), (long)(due_ns % NS_PER_SECOND)},
    };
    timerfd_settime(t->wakeup.timer, TFD_TIMER_ABSTIME, &when, NULL);
}

/* A walk between samples; nothing is published. The interval of samples is not that of observation:
 * a child that its parent discards is known only if it was seen before. */
static void step_look(struct toll_tracker *t, uint64_t now_ns)
{
    struct tracked *tracked = &t->tracked;
    uint64_t before_ns = clock_thread_cpu();
    tracked->may_be_brief = true;
    walk(tracked, now_ns);
    tracked->may_be_brief = false;
    uint64_t cost_ns = left_u64(clock_thread_cpu(), before_ns);
    t->self.cpu_ns += cost_ns; /* else it would count as the next sample's */
    uint64_t apart_ns = tracked->discovery.apart_ns + tracked->reader.threads_cpu_ns;
    tracked->discovery.apart_ns = tracked->reader.threads_cpu_ns = 0;
    schedule_looked(&t->schedule, clock_mono(NULL), max_u64(left_u64(cost_ns, apart_ns), 1));
}

void step_reap(struct toll_tracker *t)
{
    struct tracked *tracked = &t->tracked;
    bool has_reaped = false;
    pid_t pid;
    int r;
    reap_helpers(tracked, true);
    while ((r = reap_find(tracked, &pid)) > 0) {
        uint64_t now_ns = clock_mono(NULL);
        if (reap_wants_walk(tracked, pid, schedule_look_spacing(&t->schedule), now_ns))
            step_look(t, now_ns);
        if (pid == tracked->launched.pid)
            cgroups_last_look(&t->cgroups);
        r = reap_one(tracked, pid, now_ns);
        if (r <= 0)
            break;
        has_reaped = true;
    }
    reap_end(tracked, r, has_reaped);
}

bool step_targets_ended(struct toll_tracker *t)
{
    struct tracked *tracked = &t->tracked;
    uint64_t now_ns = clock_mono(tracked->scripted);
    bool has_walked = false, needs_walk;
    if (!t->replay)
        targets_notice_ends(tracked, now_ns);
    while (!targets_check_ends(tracked, &t->wakeup, has_walked, now_ns, &needs_walk)) {
        if (!needs_walk)
            return false;
        tracked->discovery.all_after_ns = 0;
        walk(tracked, now_ns);
        has_walked = true;
    }
    return true;
}

static bool step_has_ended(struct toll_tracker *t)
{
    const struct reaper *r = &t->tracked.reaper;
    if (!is_launched(&t->tracked))
        return step_targets_ended(t);
    /* The time is over, and descendants are left to be ended, whether or not the command ended. */
    if (t->timeout.term_sent && !t->timeout.is_over && !r->no_children_left &&
        !t->options.no_children)
        return false;
    return t->options.wait == TOLL_WAIT_ALL ? r->no_children_left : r->main_reaped;
}

void step_marks(struct toll_tracker *t)
{
    if (marks_collect(&t->marks)) {
        uint64_t before_ns = clock_thread_cpu();
        tick(t, TICK_BETWEEN);
        marks_sampled(&t->marks, left_u64(clock_thread_cpu(), before_ns));
        t->self.cpu_ns = row_u64(&t->self.row, self_cpu_seconds); /* the schedule counts its own */
    }
    marks_apply(&t->marks);
}

/* A sample is due. */
static void step_sample(struct toll_tracker *t, uint64_t now_ns)
{
    struct tracked *tracked = &t->tracked;
    t->self.lateness_ns = now_ns - t->schedule.deadline_ns;
    tick(t, TICK_DUE);
    uint64_t cpu_ns = row_u64(&t->self.row, self_cpu_seconds);
    /* Drivers and servers do not make samples more expensive. */
    uint64_t beside_ns = own_threads_cpu_ns(t) + gpus_helper_cpu_ns(&t->gpus);
    uint64_t apart_ns = t->slow.tick_cpu_ns + tracked->discovery.apart_ns +
                        tracked->reader.threads_cpu_ns;
    uint64_t cost_ns = left_u64(cpu_ns,
                                t->self.cpu_ns + apart_ns + beside_ns - t->self.beside_cpu_ns);
    tracked->discovery.apart_ns = tracked->reader.threads_cpu_ns = 0;
    t->self.cpu_ns = cpu_ns;
    t->self.beside_cpu_ns = beside_ns;
    uint64_t ended_ns = clock_mono(NULL);
    schedule_advance(&t->schedule, ended_ns, cost_ns);
    if (tracked->whole)
        schedule_looked(&t->schedule, ended_ns, 0);
    gpus_ask(&t->gpus, &t->tracked, t->schedule.deadline_ns);
}

/* 1: it goes on; 0: all targets have ended; or -errno. */
static int step_drive(struct toll_tracker *t)
{
    struct tracked *tracked = &t->tracked;
    if (t->replay) {
        int r = replay_step(t);
        if (r > 0)
            tick(t, TICK_DUE);
        return r;
    }
    process_ends_read(&t->ends, tracked);
    exits_read(&t->exits, tracked, false); /* before a parent is reaped that could prove a loss */
    if (is_launched(tracked))
        step_reap(t);
    else
        reap_helpers(tracked, false);
    if (tracked->reaper.main_reaped)
        close_p(&tracked->launched.pidfd); /* it would stay readable */
    if (step_has_ended(t))
        return 0;
    uint64_t now_ns = clock_mono(NULL);
    if (now_ns >= timeout_due(&t->timeout, tracked)) {
        walk(tracked, now_ns);
        timeout_act(&t->timeout, tracked, now_ns);
    }
    step_marks(t);
    now_ns = clock_mono(NULL);
    bool is_due = now_ns >= t->schedule.deadline_ns;
    bool is_look_due = !is_due && tracked->whole && now_ns >= t->schedule.look_ns;
    if (is_due)
        step_sample(t, now_ns);
    else if (is_look_due)
        step_look(t, now_ns);
    step_arm(t);
    /* The walk may have seen the last of them leave. */
    return is_due || is_look_due ? !step_has_ended(t) : 1;
}

int step(struct toll_tracker *t)
{
    if (!t->started || t->finished)
        return -EINVAL;
    int r = step_drive(t);
    outputs_send_events(&t->outputs, &t->tracked.events);
    return r;
}
