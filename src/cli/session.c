/* SPDX-License-Identifier: MIT */
#include "cli/session.h"

#include "base/clock.h"
#include "base/err.h"
#include "base/io/file.h"
#include "base/memory.h"
#include "base/rank.h"
#include "base/text/scan.h"
#include "base/util.h"
#include "cli/cli.h"
#include "cli/options.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>

/* ==== Signals ================================================================================= */

/* Blocked, not handled: dispositions survive exec, and a blocked signal cannot break a call. */
int signals_open(struct signals *s)
{
    sigset_t all;
    sigfillset(&all);
    struct sigaction child;
    sigaction(SIGCHLD, NULL, &child);
    s->ignore_sigchld = child.sa_handler == SIG_IGN;
    if (s->ignore_sigchld)
        signal(SIGCHLD, SIG_DFL); /* ignored, nothing could be waited for */
    if (sigprocmask(SIG_BLOCK, &all, &s->mask) < 0)
        return -errno;
    s->fd = signalfd(-1, &all, SFD_CLOEXEC | SFD_NONBLOCK);
    return s->fd < 0 ? -errno : 0;
}

/* When the command is stopped from the terminal, toll stops too, for the shell that waits for it.
 * What sends SIGSTOP continues the command alone: then toll goes on. */
static void signals_follow_stop(pid_t command)
{
    siginfo_t info = {0};
    if (waitid(P_PID, (id_t)command, &info, WSTOPPED | WNOHANG) < 0 || !info.si_pid)
        return;
    int by = info.si_status;
    CLEANUP_CLOSE int terminal = open("/dev/tty", O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if ((by == SIGTSTP || by == SIGTTIN || by == SIGTTOU) && terminal >= 0)
        kill(getpid(), SIGSTOP);
}

/* A shell continues the whole group: then the command goes on already, or was stopped anew since,
 * which one more SIGCONT would undo. */
static bool was_continued(pid_t command)
{
    siginfo_t info = {0};
    if (waitid(P_PID, (id_t)command, &info, WCONTINUED | WNOHANG) == 0 && info.si_pid)
        return true;
    info = (siginfo_t){0};
    return waitid(P_PID, (id_t)command, &info, WSTOPPED | WNOHANG | WNOWAIT) == 0 && info.si_pid;
}

/* The terminal signals the whole foreground group, and so does a member that signals its group:
 * then the command has it already. A timer that was set before toll was executed belongs to it.
 */
static bool signals_reached_command(const struct signals *s, struct toll_tracker *t,
                                    const struct signalfd_siginfo *info, pid_t command)
{
    int number = (int)info->ssi_signo;
    bool is_of_terminal = number == SIGINT || number == SIGQUIT || number == SIGTSTP ||
                          number == SIGTTIN || number == SIGTTOU || number == SIGWINCH ||
                          number == SIGHUP || number == SIGCONT;
    if (info->ssi_code > 0 && is_of_terminal) {
        /* The kernel reports a lost terminal to the leader of the session alone. */
        bool leader_only = (number == SIGHUP || number == SIGCONT) && getsid(0) == getpid();
        return !leader_only && getpgid(command) == getpgrp();
    }
    if (info->ssi_code > 0 || info->ssi_pid == (uint32_t)getpid())
        return number == SIGPIPE || number == SIGXFSZ || number == SIGXCPU; /* of toll itself */
    if (s->come_to_group && getpgid(command) == getpgrp())
        return true;
    return info->ssi_pid && toll_tracker_contains(t, (pid_t)info->ssi_pid);
}

/* t may be NULL. */
static bool signals_pass_on(struct signals *s, struct toll_tracker *t, pid_t command)
{
    struct signalfd_siginfo info;
    while (read(s->fd, &info, sizeof info) == (ssize_t)sizeof info) {
        int number = (int)info.ssi_signo;
        s->interrupted |= number == SIGINT && info.ssi_code > 0;
        bool ends = number == SIGINT || number == SIGTERM || number == SIGHUP || number == SIGQUIT;
        if (ends && !s->ended_by)
            s->ended_by = number;
        if (!command && ends)
            return true;
        if (!command)
            continue;
        if (number == SIGCHLD)
            signals_follow_stop(command);
        else if (number == SIGCONT && was_continued(command))
            continue;
        else if (!signals_reached_command(s, t, &info, command))
            kill(command, number);
    }
    return false;
}

bool signals_forward(struct signals *s, struct toll_tracker *t)
{
    return signals_pass_on(s, t, toll_tracker_pid(t));
}

void signals_forward_to(struct signals *s, pid_t process)
{
    signals_pass_on(s, NULL, process);
}

void signals_die_interrupted(void)
{
    sigset_t only;
    sigemptyset(&only);
    sigaddset(&only, SIGINT);
    signal(SIGINT, SIG_DFL);
    kill(getpid(), SIGINT);
    sigprocmask(SIG_UNBLOCK, &only, NULL);
}

static struct toll_tracker *volatile waiting;
static volatile sig_atomic_t wait_ended_by; /* the signal that did; 0: none */

/* The terminal has shown ^C: what is printed now begins on a line of its own. */
static void end_wait(int number)
{
    wait_ended_by = number;
    if (!waiting)
        return;
    toll_tracker_hurry(waiting);
    if (number == SIGINT && isatty(STDERR_FILENO) && write(STDERR_FILENO, "\n", 1) < 0)
        return;
}

void signals_end_waiting(struct toll_tracker *t)
{
    static const int ends[] = {SIGINT, SIGTERM, SIGHUP};
    waiting = t;
    if (!t)
        return;
    struct sigaction handler = {.sa_handler = end_wait, .sa_flags = SA_RESTART};
    sigset_t set;
    sigemptyset(&set);
    sigemptyset(&handler.sa_mask);
    for (size_t i = 0; i < ARRAY_LEN(ends); i++) {
        struct sigaction before;
        if (sigaction(ends[i], NULL, &before) < 0 || before.sa_handler == SIG_IGN)
            continue; /* as nohup says */
        sigaction(ends[i], &handler, NULL);
        sigaddset(&set, ends[i]);
    }
    sigprocmask(SIG_UNBLOCK, &set, NULL);
}

void signals_hold_again(struct signals *s)
{
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, NULL);
    if (wait_ended_by && !s->ended_by)
        s->ended_by = wait_ended_by;
    wait_ended_by = 0;
}

/* ==== Session ================================================================================= */

/* Whether the reader of toll's stdout has gone, such as head in a pipeline. */
static bool session_reader_is_gone(const struct session *s)
{
    struct pollfd fd = {.fd = STDOUT_FILENO};
    return s->writes_stdout && poll(&fd, 1, 0) > 0 && (fd.revents & POLLERR);
}

/* A default of the environment or of a file that is quiet gives way to a summary that the command
 * line asks for. */
static bool session_wants_summary(const struct settings *set)
{
    bool is_asked = (set->mode == FOR_RUN && set->json) || set->summary_to ||
                    option_is_on_command_line(set, "summary");
    bool is_quiet = set->quiet && !(is_asked && !option_is_on_command_line(set, "quiet"));
    return set->summary != SUMMARY_NONE && (!is_quiet || set->summary_to);
}

static bool has_summary_here(const struct session *s)
{
    return session_wants_summary(&s->settings) && !s->settings.summary_to;
}

/* Said at once, but not twice on the same screen. */
static void session_say(void *arg, const char *sentence)
{
    struct session *s = arg;
    for (char **noted = s->noted; noted && *noted; noted++)
        if (strcmp(*noted, sentence) == 0)
            return; /* by a run before this one */
    if (s->settings.quiet || (s->finishing && has_summary_here(s)) || session_reader_is_gone(s))
        return;
    complain("%s", sentence);
    char *copy = strdup(sentence);
    if (!copy || !list_append(&s->noted, copy))
        free(copy);
}

/* An incomplete output is reported even with --quiet. */
static void say_ending(void *arg, bool has_failed, const char *sentence)
{
    struct session *s = arg;
    s->failure_printed |= has_failed;
    if (!has_failed)
        signals_end_waiting(s->tracker);
    bool is_wanted = has_failed ? !has_summary_here(s)
                                : !s->settings.quiet && isatty(STDERR_FILENO);
    if (is_wanted && !session_reader_is_gone(s))
        complain("%s%s", sentence, has_failed ? "" : " (Ctrl-C ends the wait)");
}

/* In its own layout, or in the one that was asked for, where that has the format. */
static int session_add_output(struct session *s, struct toll_output *out, struct toll_error *e)
{
    if (out->layout)
        return toll_tracker_add_output(s->tracker, out, e);
    bool is_directory = s->settings.layout && out->destination &&
                        file_is_directory(out->destination);
    if (is_directory || layout_has(&s->settings, out->format)) {
        out->layout = s->settings.layout;
        s->carries_layout = true;
    }
    return toll_tracker_add_output(s->tracker, out, e);
}

int session_summary_output(const struct session *s, struct toll_output *ret, struct toll_error *e)
{
    const struct settings *set = &s->settings;
    if (!session_wants_summary(set))
        return false;
    struct toll_output out = {
        .size = sizeof out,
        .fd = STDERR_FILENO,
        .format = set->summary == SUMMARY_JSON ? "json" : "text",
        .flags = output_flags(set),
    };
    if (set->summary_to) {
        struct scan text = scan_string(set->summary_to); /* a number is a descriptor */
        uint64_t number = STDOUT_FILENO;
        bool is_number = (scan_u64(&text, &number) && scan_done(&text) && number < 65536) ||
                         strcmp(set->summary_to, "-") == 0;
        out.fd = is_number ? (int)number : -1;
        if (out.fd >= 0 && fcntl(out.fd, F_GETFD) < 0)
            return err_set(e, -EINVAL,
                           "--summary-to: descriptor %d is not open (expected a file name, an open "
                           "descriptor or -)",
                           out.fd);
        if (out.fd < 0) {
            out.destination = set->summary_to;
            if (!option_is_given(set, "summary") && ends_with(out.destination, ".json"))
                out.format = "json";
        }
    }
    if (!out.destination)
        terminal_describe(&out, set->color);
    *ret = out;
    return true;
}

/* stdout, which is toll's own: lines for people unless a format or a layout is named. */
static int add_stdout(struct session *s, const char *format, const char *layout,
                      struct toll_error *e)
{
    if (s->writes_stdout)
        return err_set(e, -EINVAL, "stdout given twice (expected one of '-', --json and --csv)");
    s->writes_stdout = true;
    struct toll_output out = {
        .size = sizeof out,
        .fd = STDOUT_FILENO,
        .format = format ? format : "lines",
        .layout = layout,
        .flags = output_flags(&s->settings) |
                 (color_is_wanted(STDOUT_FILENO, s->settings.color) ? TOLL_OUTPUT_COLOR : 0U),
    };
    return session_add_output(s, &out, e);
}

/* The text of a key in a line of JSON; false: it is not there. A quote in a value is escaped: what
 * is found is a key. */
static bool line_find_text(const char *line, const char *key, char *ret, size_t capacity)
{
    char quoted[40];
    snprintf(quoted, sizeof quoted, "\"%s\":\"", key);
    const char *from = strstr(line, quoted);
    size_t length = from ? strcspn(from += strlen(quoted), "\"") : capacity;
    if (length >= capacity)
        return false;
    memcpy(ret, from, length);
    ret[length] = '\0';
    return true;
}

/* Whether the file is the record of another rank of the same launch, which has ended. */
static bool has_other_rank(const char *path, const struct parallel *place, char other[RANK_BYTES])
{
    char line[16384], launch[LAUNCH_BYTES];
    CLEANUP_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    struct stat st;
    if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
        return false;
    ssize_t length = pread(fd, line, sizeof line - 1, 0);
    line[length > 0 ? length : 0] = '\0';
    line[strcspn(line, "\n")] = '\0';
    return *place->launch && line_find_text(line, "launch", launch, sizeof launch) &&
           strcmp(launch, place->launch) == 0 && line_find_text(line, "rank", other, RANK_BYTES) &&
           strcmp(other, place->rank) != 0;
}

/* Several ranks that share a file would write over each other: the first keeps it. A file of SQLite
 * takes all of them. */
static int session_add_file_of_rank(struct session *s, struct toll_output *out,
                                    struct toll_error *e)
{
    static const char hint[] = "put %r into the name for one file per rank, such as "
                               "-o 'runs/%j/%r.jsonl'";
    struct parallel place;
    char other[RANK_BYTES];
    if (!parallel_find(&place))
        return session_add_output(s, out, e);
    if (has_other_rank(out->destination, &place, other))
        return err_set(e, -EBUSY, "cannot write to '%s': it has the record of rank %s (%s)",
                       out->destination, other, hint);
    int r = session_add_output(s, out, e);
    CLEANUP_FREE char *why = r == -EBUSY ? strdup(e->message) : NULL;
    return why ? err_set(e, r, "%s (this is rank %s: %s)", why, place.rank, hint) : r;
}

static int add_file(struct session *s, const char *file, bool appends, struct toll_error *e)
{
    CLEANUP_FREE char *own = output_layout(file);
    struct toll_output out = {
        .size = sizeof out,
        .flags = output_flags(&s->settings) | (appends ? TOLL_OUTPUT_APPEND : 0U),
        .layout = own,
    };
    out.format = output_format(&s->settings, file, &out.destination);
    if (strcmp(out.destination, "-") != 0)
        return session_add_file_of_rank(s, &out, e);
    if (s->settings.mode == FOR_RUN)
        return err_set(e, -EINVAL, "stdout belongs to the command (expected a file name)");
    return add_stdout(s, out.format, own, e);
}

/* The status for --live. Without a terminal there is none, which is not an error; the reason is
 * printed only where a person may read it. */
static int add_live(struct session *s, struct toll_error *e)
{
    const char *why;
    if (!s->settings.live)
        return 0;
    bool has_terminal = !(s->settings.mode & FOR_RUN) && !s->writes_stdout;
    if (live_open(&s->live, has_terminal, &why) < 0) {
        char sentence[160];
        snprintf(sentence, sizeof sentence, "--live: no status is shown: %s", why);
        if (isatty(STDERR_FILENO))
            session_say(s, sentence);
        return 0;
    }
    struct toll_output out = {
        .size = sizeof out,
        .fd = s->live.lines,
        .format = "status",
        .flags = output_flags(&s->settings),
    };
    terminal_describe(&out, s->settings.color);
    return toll_tracker_add_output(s->tracker, &out, e);
}

static int add_outputs(struct session *s, struct toll_error *e)
{
    const struct settings *set = &s->settings;
    bool live = set->mode == FOR_ATTACH || set->mode == FOR_SYSTEM;
    const char *asked = set->json ? "jsonl" : set->csv ? "csv" : NULL; /* --json, --csv */
    if (set->mode != FOR_RUN && (asked || (live && !set->outputs))) {
        const char *format = set->format ? set->format : layout_series(set);
        int r = add_stdout(s, asked ? asked : format, NULL, e);
        if (r < 0)
            return r;
    }
    for (const char **file = s->settings.outputs; file && *file; file++) {
        int r = add_file(s, *file, s->appends && s->appends[file - s->settings.outputs], e);
        if (r == -EBUSY && !option_is_on_command_line(&s->settings, "output"))
            complain("%s; output skipped",
                     e->message); /* inherited from the toll around this one */
        else if (r < 0)
            return err_wrap(e, r, "--output");
    }
    struct toll_output summary;
    int r = session_summary_output(s, &summary, e);
    if (r > 0)
        r = session_add_output(s, &summary, e);
    return r < 0 ? r : add_live(s, e);
}

/* A gate that has nothing to compare with must not pass silently, even with --quiet. */
static void session_say_of_baseline(void *arg, const char *sentence)
{
    (void)arg;
    complain("--baseline: %s", sentence);
}

/* Before the outputs are opened: what they replace may be the baseline. */
static int session_make_gate(struct session *s, struct toll_error *e)
{
    const struct settings *set = &s->settings;
    const char *const groups[] = {set->baseline, NULL};
    struct toll_compare asked = {
        .size = sizeof asked,
        .groups = groups,
        .conditions = set->fail_if,
        .note = session_say_of_baseline,
    };
    if (!set->fail_if)
        return set->baseline ? err_set(e, -EINVAL,
                                       "--baseline: no effect without a condition (add --fail-if)")
                             : 0;
    int r = toll_gate_new(&s->gate, &asked, e);
    bool is_condition = strncmp(e->message, "condition", strlen("condition")) == 0;
    return r < 0 ? err_wrap(e, r, is_condition ? "--fail-if" : "--baseline") : 0;
}

int session_judge_group(struct session *s, const char *group, int status, char ***sentences)
{
    if (!s->gate)
        return status;
    int failed = toll_gate_judge(s->gate);
    const struct toll_judgement *j;
    for (size_t i = 0; (j = toll_gate_judgement(s->gate, i)); i++) {
        struct buf b = {0};
        if (j->state != TOLL_FAILED && (j->state != TOLL_NOT_PROVEN || s->settings.quiet))
            continue;
        buf_printf(&b, "%s%s%s: %s", group, *group ? ": " : "",
                   j->state == TOLL_FAILED ? "failed" : "not proven", j->sentence);
        char *sentence = buf_take(&b);
        if (!sentence || !list_append(sentences, sentence)) {
            free(sentence);
            failed = -ENOMEM;
        }
    }
    if (failed < 0)
        complain("--fail-if: %s", strerror(-failed));
    toll_gate_clear(s->gate);
    return status == 0 && failed ? 1 : status;
}

int session_judge(struct session *s, int status)
{
    char **sentences = NULL;
    status = session_judge_group(s, "", status, &sentences);
    for (char **sentence = sentences; sentence && *sentence; sentence++) {
        complain("%s", *sentence);
        free(*sentence);
    }
    free(sentences);
    return status;
}

/* The directories of an output whose name has placeholders: each job may have one of its own. */
static int session_make_directories(const char *path, struct toll_error *e)
{
    for (const char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        CLEANUP_FREE char *above = strndup(path, (size_t)(slash - path));
        if (!above)
            return err_set(e, -ENOMEM, "cannot open the output: out of memory");
        if (mkdir(above, 0777) < 0 && errno != EEXIST && errno != EISDIR)
            return err_set(e, -errno, "cannot create directory '%s': %s", above, strerror(errno));
    }
    return 0;
}

/* Replaces the placeholders in a file name, and makes its directories. *name stays, or is kept by
 * the settings. */
static int session_fill_name(struct settings *set, const char *job_name, uint64_t now_ns,
                             const char **name, struct toll_error *e)
{
    struct buf b = {0};
    const char *path;
    if (!rank_path_has_placeholder(*name))
        return 0;
    int r = rank_put_path(&b, *name, job_name, now_ns, e);
    char *text = r == 0 ? buf_take(&b) : NULL;
    buf_done(&b);
    if (r == 0 && (!text || !list_append(&set->kept, text))) {
        free(text);
        return err_set(e, -ENOMEM, "cannot open the output: out of memory");
    }
    if (r < 0)
        return r;
    *name = text;
    output_format(set, text, &path);
    return session_make_directories(path, e);
}

/* File names with %j, %r and the like, once: all runs of --runs go to the same files. */
static int session_fill_names(struct settings *set, const char *command, struct toll_error *e)
{
    const char *slash = command ? strrchr(command, '/') : NULL;
    const char *name = set->tracker.name ? set->tracker.name : slash ? slash + 1 : command;
    uint64_t now_ns = clock_real(NULL);
    for (const char **file = set->outputs; file && *file; file++) {
        int r = session_fill_name(set, name, now_ns, file, e);
        if (r < 0)
            return err_wrap(e, r, "--output");
    }
    int r = set->summary_to ? session_fill_name(set, name, now_ns, &set->summary_to, e) : 0;
    return r < 0 ? err_wrap(e, r, "--summary-to") : 0;
}

/* Of the ranks of a parallel job only the first prints a summary and notes, unless they are asked
 * for; errors are printed by all. */
static void session_quiet_other_ranks(struct settings *set)
{
    static const char *const asking[] = {"summary", "summary-to", "json", "verbose", "quiet"};
    struct parallel place;
    if (set->mode != FOR_RUN || !parallel_find(&place) || strcmp(place.rank, "0") == 0 ||
        !parallel_shares_terminal(&place))
        return;
    for (size_t i = 0; i < ARRAY_LEN(asking); i++)
        if (option_is_given(set, asking[i]))
            return;
    set->quiet = true;
}

int session_read(struct session *s, int argc, char **argv, int *ret_status)
{
    struct toll_error e = {0};
    *s = (struct session){0};
    int r = options_read(&s->settings, argc, argv, &s->first_word, &e);
    if (r == 0 && s->settings.help) {
        *ret_status = help_subcommand(argv[0]);
        return 1;
    }
    if (r == 0)
        r = option_rules_check(&s->settings, &e);
    if (r == 0 && s->settings.mode == FOR_RUN && s->settings.json)
        s->settings.summary = SUMMARY_JSON;
    for (char **w = s->settings.warnings; w && *w && !s->settings.quiet; w++)
        complain("%s", *w);
    if (s->settings.mode & (FOR_ATTACH | FOR_SYSTEM) && !(s->settings.mode & FOR_RUN) &&
        !option_is_given(&s->settings, "interval"))
        s->settings.tracker.interval_ns = NS_PER_SECOND;
    s->settings.tracker.system |= s->settings.mode == FOR_SYSTEM;
    s->settings.tracker.note = session_say;
    s->settings.tracker.note_arg = s;
    s->settings.tracker.ending = say_ending;
    s->settings.tracker.ending_arg = s;
    if (r == 0)
        r = session_fill_names(&s->settings, s->first_word < argc ? argv[s->first_word] : NULL, &e);
    session_quiet_other_ranks(&s->settings);
    layout_set_interval(&s->settings);
    if (r == 0 && s->settings.mode == FOR_RUN)
        r = session_make_gate(s, &e);
    if (r < 0)
        *ret_status = complain("%s", e.message);
    return r < 0;
}

int session_start(struct session *s, struct toll_error *e)
{
    int r = toll_tracker_new(&s->tracker, &s->settings.tracker, e);
    if (r == 0)
        r = add_outputs(s, e);
    if (r == 0)
        r = layout_check_carried(&s->settings, s->carries_layout, e);
    return r;
}

void session_stop(struct session *s)
{
    toll_tracker_free(s->tracker);
    live_close(&s->live);
    s->tracker = NULL;
    s->writes_stdout = s->carries_layout = s->interrupted = s->finishing = false;
    s->failure_printed = false;
}

int session_open(struct session *s, int argc, char **argv, int *ret_status)
{
    struct toll_error e = {0};
    int r = session_read(s, argc, argv, ret_status);
    if (r == 0 && session_start(s, &e) < 0) {
        *ret_status = complain_error(NULL, &e);
        return 1;
    }
    return r;
}

void session_close(struct session *s)
{
    toll_gate_free(s->gate);
    session_stop(s);
    settings_done(&s->settings);
    for (char **noted = s->noted; noted && *noted; noted++)
        free(*noted);
    free(s->noted);
}

bool session_finish(struct session *s, struct toll_end *ret_end)
{
    s->finishing = true;
    live_end(&s->live);
    bool gone = session_reader_is_gone(s);
    if (gone && !s->interrupted && !option_is_given(&s->settings, "summary")) {
        /* The end of the pipeline has seen enough: no summary below what it has shown. */
        CLEANUP_CLOSE int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
        if (nowhere >= 0)
            dup2(nowhere, STDERR_FILENO);
    }
    int r = toll_tracker_finish(s->tracker, ret_end);
    signals_end_waiting(NULL);
    if (r == -ENOMEM)
        complain("cannot write the outputs: out of memory"); /* the summary included */
    else if (r < 0 && !s->failure_printed && !has_summary_here(s))
        complain("output incomplete: %s", r == -EAGAIN ? "destination too slow" : strerror(-r));
    return r == 0 || gone;
}
