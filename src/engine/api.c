/* SPDX-License-Identifier: MIT
 * The public calls of toll.h. */
#include "base/err.h"
#include "engine/finish.h"
#include "engine/outputs.h"
#include "engine/reap.h"
#include "engine/replay.h"
#include "engine/tick.h"
#include "engine/walk.h"

#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <sys/utsname.h>

const char *toll_version(void)
{
    return TOLL_VERSION;
}

const struct toll_metric *toll_metric_at(size_t i)
{
    return i < METRIC_COUNT ? &metric_of((enum metric_id)i)->facts : NULL;
}

const struct toll_format *toll_format_at(size_t i)
{
    for (size_t k = 0; sink_kinds[k]; k++)
        if (k == i)
            return &sink_kinds[k]->format;
    return NULL;
}

/* ---- Settings -------------------------------------------------------------------------------- */

static int check_labels(const char *const *labels, struct toll_error *e)
{
    for (const char *const *l = labels; l && *l; l++) {
        const char *equals = strchr(*l, '=');
        if (!equals || equals == *l)
            return err_set(e, -EINVAL, "the label '%s' is not of the form KEY=VALUE", *l);
    }
    return 0;
}

static int check_options(struct toll_options *o, struct toll_error *e)
{
    if (o->interval_ns && o->interval_ns < NS_PER_MS)
        return err_set(e, -EINVAL, "the interval is shorter than 1 ms");
    if (o->interval_ns > 86400 * NS_PER_SECOND)
        return err_set(e, -EINVAL, "the interval is longer than a day");
    if (o->budget_percent == 0)
        o->budget_percent = 1;
    if (!(o->budget_percent > 0 && o->budget_percent <= 100))
        return err_set(e, -EINVAL, "the budget is not between 0 and 100 percent");
    return check_labels(o->labels, e);
}

static void describe_machine(struct run *run)
{
    struct utsname u;
    cpu_set_t cpus;
    if (uname(&u) == 0) {
        snprintf(run->host, sizeof run->host, "%s", u.nodename);
        snprintf(run->kernel, sizeof run->kernel, "%s", u.release);
    }
    if (sched_getaffinity(0, sizeof cpus, &cpus) == 0)
        run->cpus = (unsigned)CPU_COUNT(&cpus);
    else
        run->cpus = (unsigned)sysconf(_SC_NPROCESSORS_ONLN);
}

static int copy_settings(struct toll_tracker *t, const struct toll_options *o)
{
    if (o->name && !(t->run.name = strdup(o->name)))
        return -ENOMEM;
    if (o->labels && run_set_labels(&t->run, o->labels) < 0)
        return -ENOMEM;
    t->run.is_named = o->name != NULL;
    t->run.interval_ns = o->interval_ns;
    t->run.no_children = o->no_children;
    return 0;
}

int toll_tracker_new(struct toll_tracker **ret, const struct toll_options *options,
                     struct toll_error *e)
{
    struct toll_options o = {0};
    if (!options || options->size < sizeof options->size)
        return err_set(e, -EINVAL, "the options have no size: it is sizeof (struct toll_options)");
    memcpy(&o, options, min_u64(options->size, sizeof o));
    int r = check_options(&o, e);
    if (r < 0)
        return r;
    struct toll_tracker *t = calloc(1, sizeof *t);
    if (!t)
        return err_set(e, -ENOMEM, "no memory for a tracker");
    t->options = o;
    t->cpu_base_ns = clock_own_cpu();
    t->timer = t->epoll = t->launched.pidfd = -1;
    t->root = SYSROOT_NONE;
    t->discovery.loadavg = -1;
    r = selection_parse(&t->selection, o.metrics, e);
    if (r == 0 && (copy_settings(t, &o) < 0 || summary_init(&t->summary, &t->run) < 0))
        r = err_set(e, -ENOMEM, "no memory for a tracker");
    if (r < 0) {
        toll_tracker_free(t);
        return r;
    }
    ledger_init(&t->ledger, o.no_children);
    describe_machine(&t->run);
    for (unsigned part = 0; part < PARTS; part++)
        t->part_entities[part] = (struct entity){.kind = ENTITY_TARGET, .part = part};
    t->self_entity = (struct entity){.kind = ENTITY_SELF};
    *ret = t;
    return 0;
}

static void close_fd(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

void toll_tracker_free(struct toll_tracker *t)
{
    if (!t)
        return;
    outputs_close(t, !t->started);
    walk_done(t);
    process_reader_done(&t->reader);
    replay_close(t);
    sysroot_close(&t->root);
    close_fd(&t->launched.pidfd);
    close_fd(&t->timer);
    close_fd(&t->epoll);
    frame_done(&t->frame);
    summary_done(&t->summary);
    run_done(&t->run);
    free(t);
}

int toll_tracker_add_output(struct toll_tracker *t, const struct toll_output *output,
                            struct toll_error *e)
{
    struct toll_output o = {0};
    if (!output || output->size < sizeof output->size)
        return err_set(e, -EINVAL, "the output has no size: it is sizeof (struct toll_output)");
    memcpy(&o, output, min_u64(output->size, sizeof o));
    if (t->started)
        return err_set(e, -EINVAL, "outputs are added before the start");
    for (size_t i = 0; o.destination && i < t->sink_count; i++)
        if (sink_writes_to(t->sinks[i], o.destination))
            return err_set(e, -EINVAL, "'%s' is given twice", o.destination);
    struct sink **sinks = realloc(t->sinks, (t->sink_count + 1) * sizeof *sinks);
    if (!sinks)
        return err_set(e, -ENOMEM, "no memory for an output");
    t->sinks = sinks;
    struct sink *s;
    int r = sink_open(&s, &o, &t->selection, e);
    if (r < 0)
        return r;
    t->sinks[t->sink_count++] = s;
    return 0;
}

/* ---- The start ------------------------------------------------------------------------------- */

static int watch(struct toll_tracker *t, int fd)
{
    struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};
    return epoll_ctl(t->epoll, EPOLL_CTL_ADD, fd, &event) < 0 ? -errno : 0;
}

static void arm(struct toll_tracker *t)
{
    struct itimerspec when = {
        .it_value = {(time_t)(t->schedule.deadline_ns / NS_PER_SECOND),
                     (long)(t->schedule.deadline_ns % NS_PER_SECOND)},
    };
    timerfd_settime(t->timer, TFD_TIMER_ABSTIME, &when, NULL);
}

static int open_events(struct toll_tracker *t)
{
    t->epoll = epoll_create1(EPOLL_CLOEXEC);
    t->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    return t->epoll < 0 || t->timer < 0 || watch(t, t->timer) < 0 ? -errno : 0;
}

/* Each process keeps a few descriptors; the command itself has its old limit already. */
static void raise_file_limit(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
}

/* All that can fail is done before the command starts. */
static int prepare(struct toll_tracker *t, char *const argv[], struct toll_error *e)
{
    int r = sysroot_open(&t->root, NULL, e);
    if (r < 0)
        return r;
    r = process_reader_init(&t->reader, &t->root, selection_wanted(&t->selection));
    if (r == 0 && argv && argv[0])
        r = run_set_command(&t->run, argv);
    if (r == 0)
        r = open_events(t);
    if (r < 0)
        return err_set(e, r, "cannot prepare to measure: %s", strerror(-r));
    walk_init(t, getpid());
    walk_note_strangers(t);
    reap_begin(t);
    return 0;
}

/* What a live run and a replay have in common. */
static int begin(struct toll_tracker *t)
{
    int r = walk_begin(t, t->launched.pid);
    if (r < 0)
        return r;
    t->started = true;
    outputs_begin(t);
    return 0;
}

int toll_tracker_launch(struct toll_tracker *t, char *const argv[], struct toll_launch *request,
                        struct toll_error *e)
{
    if (t->used)
        return err_set(e, -EINVAL, "the tracker was used before");
    t->used = true;
    struct toll_launch asked = {0};
    if (request)
        memcpy(&asked, request, min_u64(request->size, sizeof asked));
    int r = prepare(t, argv, e);
    if (r < 0)
        return r;
    t->start_ns = clock_mono(NULL);
    t->run.start_real_ns = clock_real(NULL);
    r = launch(&t->launched, argv, &asked, e);
    if (request && request->size >= offsetof(struct toll_launch, exec_errno) + sizeof(int))
        request->exec_errno = asked.exec_errno;
    if (r < 0)
        return r;
    t->run.pid = t->launched.pid;
    raise_file_limit();
    process_reader_keep_files(&t->reader);
    t->reader.no_children = !process_lists_children(&t->reader, t->launched.pid);
    if (t->launched.pidfd >= 0)
        watch(t, t->launched.pidfd);
    schedule_begin(&t->schedule, t->start_ns, t->options.interval_ns,
                   t->options.budget_percent / 100);
    arm(t);
    t->cpu_ns = left_u64(clock_own_cpu(), t->cpu_base_ns);
    r = begin(t);
    return r < 0 ? err_set(e, r, "cannot begin to measure: %s", strerror(-r)) : 0;
}

int toll_tracker_replay(struct toll_tracker *t, const char *directory, struct toll_error *e)
{
    if (t->used)
        return err_set(e, -EINVAL, "the tracker was used before");
    t->used = true;
    walk_init(t, 0);
    t->reaper.peak_is_exact = true;
    if (process_reader_init(&t->reader, &t->root, selection_wanted(&t->selection)) < 0)
        return err_set(e, -ENOMEM, "no memory for a replay");
    int r = replay_open(t, directory, e);
    if (r == 0 && begin(t) < 0)
        r = err_set(e, -ENOMEM, "no memory for a replay");
    return r;
}

/* ---- The run --------------------------------------------------------------------------------- */

pid_t toll_tracker_pid(const struct toll_tracker *t)
{
    return t->reaper.main_reaped ? 0 : t->launched.pid;
}

bool toll_tracker_contains(struct toll_tracker *t, pid_t pid)
{
    for (unsigned hops = 0; t->started && pid > 1 && hops < 1000; hops++) {
        if (pid == t->launched.pid)
            return true;
        pid_t parent = process_parent(&t->reader, pid);
        if (parent == t->discovery.tracker_pid)
            return !walk_is_stranger(t, pid);
        pid = parent;
    }
    return false;
}

int toll_tracker_fd(const struct toll_tracker *t)
{
    return t->epoll;
}

static bool has_ended(const struct toll_tracker *t)
{
    return t->options.wait == TOLL_WAIT_ALL ? t->reaper.no_children_left : t->reaper.main_reaped;
}

static int step_replay(struct toll_tracker *t)
{
    int r = replay_step(t);
    if (r > 0)
        tick(t, false);
    return r;
}

int toll_tracker_step(struct toll_tracker *t)
{
    if (!t->started || t->finished)
        return -EINVAL;
    if (t->replay)
        return step_replay(t);
    reap(t);
    if (t->reaper.main_reaped)
        close_fd(&t->launched.pidfd); /* it would stay readable */
    if (has_ended(t))
        return 0;
    uint64_t now_ns = clock_mono(NULL);
    if (now_ns < t->schedule.deadline_ns)
        return 1;
    t->lateness_ns = now_ns - t->schedule.deadline_ns;
    tick(t, false);
    uint64_t cpu_ns = row_u64(&t->self_row, self_cpu_seconds);
    uint64_t cost_ns = left_u64(cpu_ns, t->cpu_ns + t->slow.tick_cpu_ns);
    t->cpu_ns = cpu_ns;
    schedule_advance(&t->schedule, clock_mono(NULL), cost_ns);
    arm(t);
    return 1;
}

int toll_tracker_finish(struct toll_tracker *t, struct toll_end *ret_end)
{
    if (!t->started || t->finished)
        return -EINVAL;
    if (!t->replay)
        reap(t);
    int r = finish(t);
    t->finished = true;
    if (ret_end)
        *ret_end = t->reaper.end;
    outputs_close(t, false);
    return r;
}
