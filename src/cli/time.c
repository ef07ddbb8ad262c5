/* SPDX-License-Identifier: MIT
 * toll time: a drop-in for GNU time. The line is made by the layout gnu-time. */
#include "base/err.h"
#include "base/text/buf.h"
#include "cli/session.h"

#include "toll_compat.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

/* What GNU time has for --verbose and --portability. */
static const char verbose_format[] = "\tCommand being timed: \"%C\"\n"
                                     "\tUser time (seconds): %U\n"
                                     "\tSystem time (seconds): %S\n"
                                     "\tPercent of CPU this job got: %P\n"
                                     "\tElapsed (wall clock) time (h:mm:ss or m:ss): %E\n"
                                     "\tAverage shared text size (kbytes): %X\n"
                                     "\tAverage unshared data size (kbytes): %D\n"
                                     "\tAverage stack size (kbytes): %p\n"
                                     "\tAverage total size (kbytes): %K\n"
                                     "\tMaximum resident set size (kbytes): %M\n"
                                     "\tAverage resident set size (kbytes): %t\n"
                                     "\tMajor (requiring I/O) page faults: %F\n"
                                     "\tMinor (reclaiming a frame) page faults: %R\n"
                                     "\tVoluntary context switches: %w\n"
                                     "\tInvoluntary context switches: %c\n"
                                     "\tSwaps: %W\n"
                                     "\tFile system inputs: %I\n"
                                     "\tFile system outputs: %O\n"
                                     "\tSocket messages sent: %s\n"
                                     "\tSocket messages received: %r\n"
                                     "\tSignals delivered: %k\n"
                                     "\tPage size (bytes): %Z\n"
                                     "\tExit status: %x";
static const char portable_format[] = "real %e\nuser %U\nsys %S";

/* NULL: that of the layout. As there, the last of --format and --portability counts, and --verbose
 * wherever it is. */
static const char *time_format(const struct settings *set)
{
    const char *of_environment = getenv("TIME");
    if (set->time.is_verbose)
        return verbose_format;
    if (set->time.is_portable &&
        option_is_given(set, "portability") > option_is_given(set, "format"))
        return portable_format;
    return set->time.format ? set->time.format : of_environment;
}

/* "gnu-time,format=…", with each comma of the format doubled. */
static void time_layout(struct buf *b, const char *format)
{
    buf_puts(b, "gnu-time");
    if (format)
        buf_puts(b, ",format=");
    for (; format && *format; format++)
        buf_printf(b, "%s%c", *format == ',' ? "," : "", *format);
}

static int time_write(struct session *s, const struct outcome *o, int fd, struct toll_error *e)
{
    struct buf layout = {0}, text = {0};
    CLEANUP_FREE char *line = NULL;
    const char *format = time_format(&s->settings);
    time_layout(&layout, format);
    struct toll_output like = {.size = sizeof like, .format = "text", .layout = layout.data};
    int r = buf_failed(&layout) ? err_set(e, -ENOMEM, "cannot prepare the format: out of memory")
                                : toll_tracker_report_as(s->tracker, &like, &line, e);
    buf_done(&layout);
    if (r < 0)
        return r;
    /* POSIX allows no other lines in its form. */
    bool has_status_line = !s->settings.time.is_quiet && format != portable_format;
    if (has_status_line && o->end.signaled)
        buf_printf(&text, "Command terminated by signal %d\n", o->end.status);
    else if (has_status_line && o->status)
        buf_printf(&text, "Command exited with non-zero status %d\n", o->status);
    buf_puts(&text, line);
    for (size_t at = 0; r == 0 && !buf_failed(&text) && at < text.length;) {
        ssize_t n = write(fd, text.data + at, text.length - at);
        if (n < 0 && errno != EINTR)
            r = err_set(e, -errno, "cannot write the times: %s", strerror(errno));
        at += n > 0 ? (size_t)n : 0;
    }
    buf_done(&text);
    return r;
}

int time_main(int argc, char **argv)
{
    struct session s;
    struct outcome outcome = {.status = 0};
    struct toll_error e = {0};
    CLEANUP_CLOSE int file = -1;
    int fd = STDERR_FILENO;
    if (session_read(&s, argc, argv, &outcome.status) == 0) {
        const char *output = s.settings.time.output;
        char **command = argv + s.first_word;
        s.settings.quiet = true; /* nothing but the times */
        if (output && !s.settings.time.version)
            fd = file = open(output,
                             O_WRONLY | O_CREAT | O_CLOEXEC |
                                 (s.settings.time.appends ? O_APPEND : O_TRUNC),
                             0666);
        if (s.settings.time.version) {
            struct buf version = {0};
            buf_printf(&version, "toll %s\n", toll_version());
            outcome.status = print(&version);
        } else if (s.first_word >= argc)
            outcome.status = complain(
                "time: no command given (expected toll time [options] COMMAND…)");
        else if (fd < 0)
            outcome.status = complain("time: cannot open '%s': %s", output, strerror(errno));
        else if (toll_tracker_new(&s.tracker, &s.settings.tracker, &e) < 0)
            outcome.status = complain_error(NULL, &e);
        else {
            run_command(&s, command, &outcome);
            if (!outcome.has_run)
                complain_error(NULL, &outcome.error);
            else if (!outcome.is_measured || time_write(&s, &outcome, fd, &e) < 0)
                complain("time: cannot show the times: %s",
                         *e.message ? e.message : "nothing was measured");
        }
    }
    session_close(&s);
    if (outcome.interrupted)
        signals_die_interrupted();
    return outcome.status;
}
