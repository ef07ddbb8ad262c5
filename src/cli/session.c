/* SPDX-License-Identifier: MIT */
#include "cli/session.h"

#include "base/file.h"
#include "base/scan.h"
#include "cli/color.h"
#include "cli/dialect_option.h"
#include "cli/help.h"
#include "cli/signals.h"

#include <fcntl.h>
#include <poll.h>
#include <string.h>

bool session_reader_is_gone(const struct session *s)
{
    struct pollfd fd = {.fd = STDOUT_FILENO};
    return s->writes_stdout && poll(&fd, 1, 0) > 0 && (fd.revents & POLLERR);
}

static bool has_summary_here(const struct session *s)
{
    return s->settings.summary != SUMMARY_NONE && !s->settings.summary_to && !s->settings.quiet;
}

/* Said at once, but not twice on the same screen. */
static void say(void *arg, const char *sentence)
{
    const struct session *s = arg;
    if (!s->settings.quiet && !(s->finishing && has_summary_here(s)) && !session_reader_is_gone(s))
        complain("%s", sentence);
}

/* An output that is not complete is told of however quiet it shall be. */
static void say_ending(void *arg, bool has_failed, const char *sentence)
{
    struct session *s = arg;
    s->told_failure |= has_failed;
    if (!has_failed)
        signals_end_waiting(s->tracker);
    bool is_wanted = has_failed ? !has_summary_here(s)
                                : !s->settings.quiet && isatty(STDERR_FILENO);
    if (is_wanted && !session_reader_is_gone(s))
        complain("%s%s", sentence, has_failed ? "" : " (Ctrl-C ends the wait)");
}

/* A number is a descriptor, anything else a file. */
static int descriptor(const char *text)
{
    struct scan s = scan_string(text);
    uint64_t number;
    return scan_u64(&s, &number) && scan_done(&s) && number < 65536 ? (int)number : -1;
}

/* In its own dialect, or in the one that was asked for, where that has the format. */
static int add_output(struct session *s, struct toll_output *out, struct toll_error *e)
{
    if (out->dialect)
        return toll_tracker_add_output(s->tracker, out, e);
    bool is_directory = s->settings.dialect && out->destination &&
                        file_is_directory(out->destination);
    if (is_directory || dialect_has(&s->settings, out->format)) {
        out->dialect = s->settings.dialect;
        s->carries_dialect = true;
    }
    return toll_tracker_add_output(s->tracker, out, e);
}

static int add_summary(struct session *s, struct toll_error *e)
{
    const struct settings *set = &s->settings;
    if (set->summary == SUMMARY_NONE || (set->quiet && !set->summary_to))
        return 0;
    struct toll_output out = {
        .size = sizeof out,
        .fd = STDERR_FILENO,
        .format = set->summary == SUMMARY_JSON ? "json" : "text",
        .flags = set->verbose ? TOLL_OUTPUT_VERBOSE : 0,
    };
    if (set->summary_to) {
        out.fd = descriptor(set->summary_to);
        if (out.fd >= 0 && fcntl(out.fd, F_GETFD) < 0)
            return err_set(e, -EINVAL, "--summary-to: descriptor %d is not open", out.fd);
        if (out.fd < 0) {
            out.destination = set->summary_to;
            if (!set->summary_is_given && ends_with(out.destination, ".json"))
                out.format = "json";
        }
    }
    if (!out.destination && color_is_wanted(out.fd))
        out.flags |= TOLL_OUTPUT_COLOR;
    return add_output(s, &out, e);
}

/* stdout, which is toll's own: lines for people unless a format or a dialect is named. */
static int add_stdout(struct session *s, const char *format, const char *dialect,
                      struct toll_error *e)
{
    if (s->writes_stdout)
        return err_set(e, -EINVAL, "'-' is given twice");
    s->writes_stdout = true;
    struct toll_output out = {
        .size = sizeof out,
        .fd = STDOUT_FILENO,
        .format = format ? format : "lines",
        .dialect = dialect,
        .flags = color_is_wanted(STDOUT_FILENO) ? TOLL_OUTPUT_COLOR : 0,
    };
    return add_output(s, &out, e);
}

static int add_file(struct session *s, const char *file, struct toll_error *e)
{
    CLEANUP_FREE char *own = output_dialect(file);
    struct toll_output out = {
        .size = sizeof out,
        .flags = s->settings.verbose ? TOLL_OUTPUT_VERBOSE : 0,
        .dialect = own,
    };
    out.format = output_format(&s->settings, file, &out.destination);
    if (strcmp(out.destination, "-") != 0)
        return add_output(s, &out, e);
    if (s->settings.mode == FOR_RUN)
        return err_set(e, -EINVAL, "stdout belongs to the command that is run; it takes a file");
    return add_stdout(s, out.format, own, e);
}

static int add_outputs(struct session *s, struct toll_error *e)
{
    bool live = s->settings.mode == FOR_ATTACH || s->settings.mode == FOR_SYSTEM;
    if (live && !s->settings.outputs) {
        const char *series = dialect_series(&s->settings);
        int r = add_stdout(s, s->settings.format ? s->settings.format : series, NULL, e);
        return r < 0 ? r : add_summary(s, e);
    }
    for (const char **file = s->settings.outputs; file && *file; file++) {
        int r = add_file(s, *file, e);
        if (r == -EBUSY && !s->settings.outputs_on_command_line)
            complain("%s; it is left out",
                     e->message); /* inherited from the toll around this one */
        else if (r < 0)
            return err_wrap(e, r, "--output");
    }
    return add_summary(s, e);
}

int session_open(struct session *s, int argc, char **argv, int *ret_status)
{
    struct toll_error e = {0};
    *s = (struct session){0};
    int r = options_read(&s->settings, argc, argv, &s->first_word, &e);
    if (r == 0 && s->settings.help) {
        *ret_status = help_subcommand(argv[0]);
        return 1;
    }
    if (s->settings.mode & (FOR_ATTACH | FOR_SYSTEM) && !(s->settings.mode & FOR_RUN) &&
        !s->settings.interval_is_given)
        s->settings.tracker.interval_ns = NS_PER_SECOND;
    s->settings.tracker.system |= s->settings.mode == FOR_SYSTEM;
    s->settings.tracker.note = say;
    s->settings.tracker.note_arg = s;
    s->settings.tracker.ending = say_ending;
    s->settings.tracker.ending_arg = s;
    dialect_set_interval(&s->settings);
    if (r == 0)
        r = toll_tracker_new(&s->tracker, &s->settings.tracker, &e);
    if (r == 0)
        r = add_outputs(s, &e);
    if (r == 0)
        r = dialect_check_carried(&s->settings, s->carries_dialect, &e);
    if (r < 0)
        *ret_status = complain("%s", e.message);
    return r < 0;
}

void session_close(struct session *s)
{
    toll_tracker_free(s->tracker);
    settings_done(&s->settings);
}

/* Nobody asked for the summary that would now stand below what head has shown. */
static void say_no_more(const struct session *s)
{
    CLEANUP_CLOSE int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (!s->settings.summary_is_given && nowhere >= 0)
        dup2(nowhere, STDERR_FILENO);
}

bool session_finish(struct session *s, struct toll_end *ret_end)
{
    s->finishing = true;
    bool gone = session_reader_is_gone(s);
    if (gone && !s->interrupted)
        say_no_more(s);
    int r = toll_tracker_finish(s->tracker, ret_end);
    signals_end_waiting(NULL);
    if (r == -ENOMEM)
        complain("no memory for what should be written at the end"); /* the summary included */
    else if (r < 0 && !s->told_failure && !has_summary_here(s))
        complain("an output is not complete: %s",
                 r == -EAGAIN ? "destination too slow" : strerror(-r));
    return r == 0 || gone;
}
