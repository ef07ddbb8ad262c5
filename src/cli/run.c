/* SPDX-License-Identifier: MIT
 * toll run: start a command, measure it, be gone when it is. */
#include "base/clock.h"
#include "base/err.h"
#include "base/io/file.h"
#include "base/memory.h"
#include "base/text/scan.h"
#include "cli/session.h"

#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>

/* ==== Observe ================================================================================= */

/* Measuring what toll did not start, until it ends or is interrupted. */

/* Ctrl-C is the usual way to end; the targets never hear of it. From here on it waits until it is
 * looked for. */
static sigset_t hold_signals(void)
{
    sigset_t ends;
    sigemptyset(&ends);
    sigaddset(&ends, SIGINT);
    sigaddset(&ends, SIGTERM);
    sigaddset(&ends, SIGHUP);
    signal(SIGPIPE, SIG_IGN);
    sigprocmask(SIG_BLOCK, &ends, NULL);
    return ends;
}

/* The terminal has shown ^C: what is printed now begins on a line of its own. */
static void take_signal(struct session *s, int fd)
{
    struct signalfd_siginfo info;
    s->interrupted = true;
    live_end(&s->live);
    while (read(fd, &info, sizeof info) == (ssize_t)sizeof info)
        if (info.ssi_signo == SIGINT && info.ssi_code > 0 && !s->settings.quiet &&
            isatty(STDERR_FILENO))
            fputc('\n', stderr);
}

static uint64_t observe_now_ms(void)
{
    return clock_mono(NULL) / NS_PER_MS;
}

/* toll_tracker_attach, with as many descriptors as we may have.
 *
 * Each process that is measured keeps a few descriptors. The library leaves the limit of a program
 * that attaches as it is; this one is ours. */
static int observe_attach(struct session *s, struct toll_error *e)
{
    file_raise_limit();
    hold_signals(); /* a reader of the first lines of a record may ask for the end */
    return toll_tracker_attach(s->tracker, e);
}

/* The tracker is attached: measure, then finish. Returns the exit status. */
static int observe(struct session *s)
{
    sigset_t ends = hold_signals();
    CLEANUP_CLOSE int signals = signalfd(-1, &ends, SFD_CLOEXEC | SFD_NONBLOCK);
    if (signals < 0)
        return complain("cannot watch for signals: %s", strerror(errno));
    struct pollfd fds[] = {
        {.fd = signals, .events = POLLIN},
        {.fd = toll_tracker_fd(s->tracker), .events = POLLIN},
        {.fd = s->writes_stdout ? STDOUT_FILENO : -1}, /* a reader that is gone shows as an error */
    };
    uint64_t for_ms = s->settings.for_ns / NS_PER_MS;
    uint64_t deadline_ms = s->settings.for_ns ? observe_now_ms() + max_u64(for_ms, 1) : UINT64_MAX;
    while (toll_tracker_step(s->tracker) == TOLL_RUNNING) {
        uint64_t left_ms = min_u64(left_u64(deadline_ms, observe_now_ms()), 1000000);
        int timeout_ms = deadline_ms == UINT64_MAX ? -1 : (int)left_ms;
        if (poll(fds, 3, timeout_ms) < 0 && errno != EINTR)
            usleep(10000); /* no memory to wait with: looked for now and then */
        if (fds[0].revents & POLLIN)
            take_signal(s, signals);
        if (s->interrupted || (fds[2].revents & POLLERR) || observe_now_ms() >= deadline_ms)
            break;
    }
    struct toll_end end = {.size = sizeof end};
    return session_finish(s, &end) ? 0 : EXIT_TOLL;
}

/* ==== System command ========================================================================== */

/* toll system: measure the whole machine. */

int system_main(int argc, char **argv)
{
    struct session s;
    struct toll_error e = {0};
    int status;
    if (session_open(&s, argc, argv, &status) == 0) {
        if (s.settings.words)
            status = complain("system: unexpected argument '%s' (expected options only; "
                              "'toll help system' lists them)",
                              s.settings.words[0]);
        else if (observe_attach(&s, &e) < 0)
            status = complain_error(NULL, &e);
        else
            status = observe(&s);
    }
    session_close(&s);
    return status;
}

/* ==== Attach command ========================================================================== */

/* toll attach: measure running processes. */

/* "web=1234" is 1234 by the name of web. */
static int attach_command_take_number(const char *word, const char *source, const char *what,
                                      struct toll_target *target, char *name, size_t capacity,
                                      struct toll_error *e)
{
    const char *equals = strchr(word, '=');
    struct scan s = scan_string(equals ? equals + 1 : word);
    uint64_t number;
    if (!scan_u64(&s, &number) || !scan_done(&s) || !number || number > INT_MAX || equals == word)
        return err_set(
            e, -EINVAL, "%s: invalid %s '%s' (expected a number such as 1234, or NAME=1234%s)",
            source, what, word, strcmp(what, "PID") == 0 ? "; --match finds command lines" : "");
    target->id = (pid_t)number;
    if (equals) {
        snprintf(name, capacity, "%.*s", (int)(equals - word), word);
        target->name = name;
    }
    return 0;
}

/* -p 12,web=34 names several. */
static int attach_command_split_pids(struct settings *s, const char ***ret, struct toll_error *e)
{
    for (const char **given = s->pids; given && *given; given++)
        for (const char *from = *given; from;) {
            size_t length = strcspn(from, ",");
            char *one = strndup(from, length);
            if (!one || !list_append(&s->kept, one)) {
                free(one);
                return err_set(e, -ENOMEM, "--pid: out of memory");
            }
            if (!list_append(ret, one))
                return err_set(e, -ENOMEM, "--pid: out of memory");
            from = from[length] ? from + length + 1 : NULL;
        }
    return 0;
}

/* Where targets of one kind are named. */
struct attach_source {
    const char *name;
    enum toll_target_kind kind;
    const char **words;
    const char *number; /* what its numbers are; NULL: its words are texts */
};

static int attach_command_add(struct session *s, const struct attach_source *source,
                              struct toll_error *e)
{
    for (const char **word = source->words; word && *word; word++) {
        char name[256];
        struct toll_target target = {.size = sizeof target, .kind = source->kind, .text = *word};
        int r = 0;
        if (source->number)
            r = attach_command_take_number(*word, source->name, source->number, &target, name,
                                           sizeof name, e);
        if (r == 0)
            r = toll_tracker_add_target(s->tracker, &target, e);
        if (r < 0)
            return r;
    }
    return 0;
}

static int attach_command_add_targets(struct session *s, struct toll_error *e)
{
    struct settings *set = &s->settings;
    CLEANUP_FREE const char **pids = NULL;
    int r = attach_command_split_pids(set, &pids, e);
    if (r < 0)
        return r;
    const struct attach_source all[] = {
        {"attach", TOLL_TARGET_PROCESS, set->words, "PID"},
        {"--pid", TOLL_TARGET_PROCESS, pids, "PID"},
        {"--group", TOLL_TARGET_GROUP, set->groups, "process group"},
        {"--session", TOLL_TARGET_SESSION, set->sessions, "session"},
        {"--cgroup", TOLL_TARGET_CGROUP, set->cgroups, NULL},
        {"--match", TOLL_TARGET_MATCH, set->matches, NULL},
        {"--user", TOLL_TARGET_USER, set->users, NULL},
    };
    bool any = false;
    for (size_t i = 0; i < ARRAY_LEN(all); i++) {
        any |= all[i].words != NULL;
        r = attach_command_add(s, &all[i], e);
        if (r < 0)
            return r;
    }
    return any ? 0
               : err_set(e, -EINVAL,
                         "nothing to attach to (expected a PID, --group, --session, "
                         "--cgroup, --match or --user)");
}

int attach_main(int argc, char **argv)
{
    struct session s;
    struct toll_error e = {0};
    int status;
    if (session_open(&s, argc, argv, &status) == 0) {
        int r = attach_command_add_targets(&s, &e);
        if (r == 0)
            r = observe_attach(&s, &e);
        status = r < 0 ? complain_error("attach", &e) : observe(&s);
    }
    session_close(&s);
    return status;
}

/* ==== Run ===================================================================================== */

/* Until something has come. Where the kernel cannot wait (it has no memory) it is looked for now
 * and then: nothing ends the wait but the command. */
static void wait_for(struct pollfd *fds, nfds_t count, int timeout_ms)
{
    for (nfds_t i = 0; i < count; i++)
        fds[i].revents = 0;
    if (poll(fds, count, timeout_ms) < 0 && errno != EINTR) {
        usleep(10000);
        fds[0].revents = POLLIN;
    }
}

/* toll cannot measure, but the command runs: see it to its end. */
static void just_wait(struct session *s, struct signals *signals, struct toll_end *ret)
{
    pid_t command = toll_tracker_pid(s->tracker), found;
    int status = 0;
    while ((found = waitpid(command, &status, WNOHANG)) == 0 || (found < 0 && errno == EINTR)) {
        struct pollfd fd = {.fd = signals->fd, .events = POLLIN};
        wait_for(&fd, 1, 1000);
        signals_forward(signals, s->tracker);
    }
    ret->ended = true;
    ret->unknown = found < 0;
    ret->signaled = WIFSIGNALED(status);
    ret->status = ret->signaled ? WTERMSIG(status) : WEXITSTATUS(status);
}

/* Until the target has ended, or the wait for what the command left behind is cut short. */
static void run_measure(struct session *s, struct signals *signals)
{
    struct pollfd fds[] = {
        {.fd = signals->fd, .events = POLLIN},
        {.fd = toll_tracker_fd(s->tracker), .events = POLLIN},
    };
    while (toll_tracker_step(s->tracker) > 0) {
        wait_for(fds, 2, -1);
        if ((fds[0].revents & POLLIN) && signals_forward(signals, s->tracker))
            break;
    }
}

void run_command_held(struct session *s, struct signals *signals, char **command,
                      struct outcome *ret)
{
    *ret = (struct outcome){.status = EXIT_TOLL, .end = {.size = sizeof ret->end}};
    struct toll_launch launch = {
        .size = sizeof launch,
        .signal_mask = &signals->mask,
        .ignore_sigchld = signals->ignore_sigchld,
    };
    int r = toll_tracker_launch(s->tracker, command, &launch, &ret->error);
    if (r < 0 && !toll_tracker_pid(s->tracker)) {
        bool is_found = launch.exec_errno != ENOENT && launch.exec_errno != ENOTDIR;
        ret->exec_errno = launch.exec_errno;
        if (launch.exec_errno)
            ret->status = is_found ? EXIT_NOT_EXECUTABLE : EXIT_NOT_FOUND;
        return;
    }
    ret->has_run = true;
    if (r < 0) {
        complain_error(NULL, &ret->error);
        just_wait(s, signals, &ret->end);
    } else {
        run_measure(s, signals);
        signals_forward(signals, s->tracker); /* the end may have been seen before its reason */
        session_finish(s, &ret->end);
        ret->is_measured = true;
    }
    ret->interrupted = signals->interrupted && ret->end.signaled && ret->end.status == SIGINT &&
                       ret->is_measured;
    if (!ret->end.unknown)
        ret->status = ret->end.signaled ? EXIT_SIGNAL + ret->end.status : ret->end.status;
}

void run_command(struct session *s, char **command, struct outcome *ret)
{
    struct signals signals = {.fd = -1, .come_to_group = s->settings.signals_come_to_group};
    *ret = (struct outcome){.status = EXIT_TOLL};
    if (signals_open(&signals) < 0)
        err_set(&ret->error, -errno, "cannot watch for signals: %s", strerror(errno));
    else
        run_command_held(s, &signals, command, ret);
}

int run_main(int argc, char **argv)
{
    struct session s;
    struct outcome outcome = {.status = 0};
    struct toll_error e = {0};
    if (session_read(&s, argc, argv, &outcome.status) == 0) {
        bool is_repeated = s.settings.repeat.runs || s.settings.repeat.warmup ||
                           s.settings.repeat.prepare || s.settings.repeat.parameters;
        char **command = argv + s.first_word;
        if (s.first_word >= argc)
            outcome.status = complain(
                "run: no command given (expected toll run [options] [--] COMMAND…)");
        else if (is_repeated)
            outcome.status = repeat_command(&s, command, &outcome.interrupted);
        else if (session_start(&s, &e) < 0)
            outcome.status = complain_error(NULL, &e);
        else {
            run_command(&s, command, &outcome);
            if (!outcome.has_run && outcome.error.message[0])
                complain_error(NULL, &outcome.error);
            if (outcome.is_measured && s.gate)
                toll_gate_add(s.gate, s.tracker);
            if (outcome.has_run && !outcome.interrupted)
                outcome.status = session_judge(&s, outcome.status);
        }
    }
    session_close(&s);
    if (outcome.interrupted)
        signals_die_interrupted();
    return outcome.status;
}

/* ==== Replay command ========================================================================== */

/* toll replay: the same figures and outputs from a recorded run, for tests and bug reports. */

int replay_main(int argc, char **argv)
{
    struct session s;
    int status;
    setenv("TOLL_GPUS", "none", 0); /* those of this machine have nothing to do with it */
    if (session_open(&s, argc, argv, &status) != 0) {
        session_close(&s);
        return status;
    }
    struct toll_error e = {0};
    struct toll_end end = {.size = sizeof end};
    status = 0;
    const char **words = s.settings.words;
    const char *directory = words && words[0] && !words[1] ? words[0] : NULL;
    if (!directory)
        status = complain("replay: no recorded run given (expected one directory)");
    else if (toll_tracker_replay(s.tracker, directory, &e) < 0)
        status = complain_error("replay", &e);
    if (status == 0) {
        int r;
        while ((r = toll_tracker_step(s.tracker)) > 0)
            ;
        session_finish(&s, &end);
        if (r < 0)
            status = complain("replay: '%s': malformed script", directory);
    }
    session_close(&s);
    return status;
}
