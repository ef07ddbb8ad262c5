/* SPDX-License-Identifier: MIT
 * toll under the name of gpu-tracker. The command is run as toll run does it; what is printed, and
 * where, is what that tool prints: the results on stdout behind what the command wrote there, and
 * what is wrong on stderr, with the exit status 1. Other than there, the command is split as a
 * shell does, everything is checked before it is started, and its exit status is passed on. */
#include "cli/gpu_tracker_errors.h"

#include "base/clock.h"
#include "base/err.h"
#include "base/output_file.h"
#include "base/uuid.h"
#include "cli/phase_jobs.h"
#include "cli/session.h"
#include "cli/shell_words.h"
#include "cli/signals.h"

#include <stdio.h>
#include <string.h>

/* How many UUIDs there are in a list, each counted once. */
static size_t count_uuids(const char *list)
{
    size_t count = 0;
    for (const char *at = list; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL) {
        size_t length = strcspn(at, ",");
        bool is_new = length > 0;
        for (const char *before = list; before < at; before = strchr(before, ',') + 1)
            is_new &= strcspn(before, ",") != length || strncmp(before, at, length) != 0;
        count += is_new;
    }
    return count;
}

/* "gpu-tracker,ram_unit=megabytes": what was said, in the words of the dialect. */
static void add_dialect(struct buf *b, const struct gpu_tracker *g)
{
    const char *const said[][2] = {
        {"ram_unit", g->ram_unit},
        {"gpu_ram_unit", g->gpu_ram_unit},
        {"time_unit", g->time_unit},
        {"n_expected_cores", g->cores},
    };
    buf_puts(b, "gpu-tracker");
    for (size_t i = 0; i < ARRAY_LEN(said); i++)
        if (said[i][1])
            buf_printf(b, ",%s=%s", said[i][0], said[i][1]);
    if (g->gpu_uuids)
        buf_printf(b, ",n_expected_gpus=%zu", count_uuids(g->gpu_uuids));
}

/* ---- The tracking file ----------------------------------------------------------------------- */

/* Samples are written as they come, into a CSV: the tracking file itself, or one beside it of which
 * SQLite is made at the end. */
static int points_path(struct buf *ret, const char *target, struct toll_error *e)
{
    CLEANUP_FREE char *beside = NULL;
    if (target && ends_with(target, ".sqlite")) {
        beside = output_file_make_beside(target, ".csv", e);
        if (!beside)
            return e->code;
        target = beside;
    }
    if (target)
        buf_puts(ret, target);
    return buf_failed(ret) ? err_set(e, -ENOMEM, "no memory") : 0;
}

/* Somebody else may have made the file since it was checked; what cannot be stored lies beside. */
static int points_store(const struct gpu_tracker *g, const char *written, struct toll_error *e)
{
    const char *target = g->tracking_file;
    if (strcmp(written, target) == 0)
        return 0;
    int r = !g->overwrite && access(target, F_OK) == 0
                ? err_set(e, -EEXIST, "File %s was made by somebody else meanwhile", target)
                : toll_phases_store(written, target, e);
    if (r == 0) {
        unlink(written);
        return 0;
    }
    struct toll_error why = *e;
    return err_set(e, r, "%s; its rows are in %s", why.message, written);
}

/* ---- Running --------------------------------------------------------------------------------- */

/* What a crash of this program leaves, under the name that the original gives it, or the one that
 * was asked for. A directory that takes no file has none. */
static int keep_backup(struct toll_tracker *t, const struct gpu_tracker *g, const char *dialect,
                       struct toll_error *e)
{
    char id[UUID_BYTES], name[UUID_BYTES + 32];
    if (g->backup)
        return toll_tracker_keep_backup(t, g->backup, dialect, e);
    if (access(".", W_OK | X_OK) < 0)
        return 0;
    uuid_make(id, clock_real(NULL), NULL);
    snprintf(name, sizeof name, ".gpu-tracker_%s.pkl", id);
    return toll_tracker_keep_backup(t, name, dialect, e);
}

static int open_session(struct session *s, const struct gpu_tracker *g, const char *dialect,
                        const char *points, struct toll_error *e)
{
    struct toll_options *o = &s->settings.tracker;
    *o = (struct toll_options){
        .size = sizeof *o,
        .system = true,
        .memory = TOLL_MEMORY_PSS, /* what is private and what is shared stands in its results */
        .gpus = "all",
    };
    s->settings.summary = SUMMARY_NONE;
    if (!g->disable_logs)
        o->note = gpu_tracker_warn;
    int r = g->sleep_time ? gpu_tracker_interval(g->sleep_time, &o->interval_ns, e)
            : points      ? gpu_tracker_interval("1", &o->interval_ns, e)
                          : 0; /* fine at first, so that a short command has its peak */
    if (r == 0)
        r = toll_tracker_new(&s->tracker, o, e);
    if (r == 0 && g->gpu_uuids)
        r = toll_tracker_count_gpus(s->tracker, g->gpu_uuids, e);
    if (r == 0)
        r = keep_backup(s->tracker, g, dialect, e);
    if (r == 0 && points) {
        struct toll_output out = {
            .size = sizeof out,
            .destination = points,
            .format = "csv",
            .dialect = dialect,
        };
        r = toll_tracker_add_output(s->tracker, &out, e);
    }
    return r;
}

/* As Popen counts: a signal is negative. */
static int return_code(const struct toll_end *end)
{
    return end->signaled ? -end->status : end->status;
}

static int print_results(struct session *s, const struct gpu_tracker *g, const char *dialect,
                         const struct outcome *outcome)
{
    struct toll_error e = {0};
    CLEANUP_FREE char *text = NULL;
    struct toll_output like = {
        .size = sizeof like,
        .format = g->format ? phase_format(g->format) : "text",
        .dialect = dialect,
    };
    char complete[128];
    signals_end_waiting(s->tracker); /* for stdout, too: the command has ended */
    snprintf(complete, sizeof complete,
             "Resource tracking complete. Process completed with status code: %d",
             return_code(&outcome->end));
    int r = phase_deliver(complete, "text", NULL, &e);
    if (outcome->is_measured && (r == 0 || g->output))
        r = toll_tracker_report_as(s->tracker, &like, &text, &e);
    if (r == 0 && text) {
        size_t length = strlen(text);
        if (length && text[length - 1] == '\n')
            text[length - 1] = '\0'; /* its files end without */
        r = phase_deliver(text, g->format, g->output, &e);
    }
    if (r < 0)
        gpu_tracker_raise(&e); /* the command has its own status to tell */
    signals_end_waiting(NULL);
    return outcome->status;
}

static int run_it(const struct gpu_tracker *g, char **command, const char *dialect)
{
    struct session s = {0};
    struct buf points = {0}; /* where samples go, or nothing */
    struct toll_error e = {0};
    struct outcome outcome = {0};
    int status;
    int r = points_path(&points, g->tracking_file, &e);
    if (r == 0)
        r = open_session(&s, g, dialect, points.data, &e);
    if (r < 0) {
        status = gpu_tracker_raise(&e);
    } else {
        run_command(&s, command, &outcome);
        status = outcome.has_run ? print_results(&s, g, dialect, &outcome)
                                 : gpu_tracker_not_started(g, command[0], &outcome);
    }
    session_close(&s);
    if (points.data && outcome.has_run && points_store(g, points.data, &e) < 0)
        gpu_tracker_raise(&e);
    else if (points.data && !outcome.has_run && strcmp(points.data, g->tracking_file) != 0)
        unlink(points.data);
    buf_done(&points);
    if (outcome.interrupted)
        signals_die_interrupted();
    return status;
}

static int execute(const struct gpu_tracker *g)
{
    CLEANUP_FREE char **command = NULL;
    struct toll_error e = {0};
    const char *why = "no memory";
    if (shell_words(g->execute, &command, &why) < 0) {
        err_set(&e, -EINVAL, "%s", why);
        return gpu_tracker_raise(&e);
    }
    if (!command[0])
        return gpu_tracker_say("Empty command provided.");
    if (gpu_tracker_check(g, &e) < 0)
        return gpu_tracker_raise(&e);
    struct buf dialect = {0};
    add_dialect(&dialect, g);
    int status = buf_failed(&dialect) ? gpu_tracker_say("no memory")
                                      : run_it(g, command, dialect.data);
    buf_done(&dialect);
    return status;
}

/* ---- Code blocks ----------------------------------------------------------------------------- */

static int sub_track(const struct gpu_tracker *g, struct toll_error *e)
{
    static const char *const none[] = {NULL};
    CLEANUP_FREE char *text = NULL;
    const char *const *paths = g->paths ? g->paths : none;
    if (g->task == TASK_COMBINE)
        return phase_combine(g->sub_tracking_file, paths, e);
    struct toll_comparison c = {
        .size = sizeof c,
        .sessions = g->sessions,
        .statistic = g->statistic,
        .format = phase_format(g->format),
        .note = gpu_tracker_warn,
    };
    int r = g->task == TASK_COMPARE ? toll_phases_compare(&c, &text, e)
                                    : toll_phases_analyze(g->tracking_file, g->sub_tracking_file,
                                                          phase_format(g->format), &text, e);
    return r < 0 ? r : phase_deliver(text, g->format, g->output, e);
}

/* ---- The command ----------------------------------------------------------------------------- */

static int do_task(const struct gpu_tracker *g)
{
    struct toll_error e = {0};
    if (!gpu_tracker_has_format(g->format)) {
        err_set(&e, -EINVAL, "\"%s\" is not a valid format. Valid values are \"json\" or \"text\".",
                g->format);
        return gpu_tracker_say(e.message);
    }
    if (g->task == TASK_COMPARE && !g->sessions)
        return gpu_tracker_say("A mapping of tracking session name to file path must be provided "
                               "either through the -m option or a config file.");
    if (g->task == TASK_EXECUTE)
        return execute(g);
    return sub_track(g, &e) < 0 ? gpu_tracker_raise(&e) : 0;
}

/* What is wrong with the words, and those there are. */
static int usage(const struct toll_error *e)
{
    gpu_tracker_note(e->message);
    struct buf b = {0};
    gpu_tracker_usage(&b);
    fputs(b.data ? b.data : "", stderr);
    buf_done(&b);
    return EXIT_WRONG;
}

int gpu_tracker_main(int argc, char **argv)
{
    struct gpu_tracker g = {0};
    struct toll_error e = {0};
    struct buf b = {0};
    int status, r = gpu_tracker_read(&g, argc, argv, &e);
    if (r < 0)
        status = g.shows_usage ? usage(&e) : gpu_tracker_raise(&e);
    else if (g.help) {
        gpu_tracker_help(&b);
        status = print(&b);
    } else if (g.version) {
        buf_printf(&b, "%s\n", toll_version());
        status = print(&b);
    } else {
        status = do_task(&g);
    }
    gpu_tracker_done(&g);
    return status;
}
