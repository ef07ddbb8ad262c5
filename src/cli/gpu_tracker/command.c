/* SPDX-License-Identifier: MIT
 * toll under the name of gpu-tracker. The command is run as toll run does it; what is printed, and
 * where, is what that tool prints: the results on stdout after what the command wrote there, and
 * what is wrong on stderr, with the exit status 1. Other than there, the command is split as a
 * shell does, everything is checked before it is started, and its exit status is passed on. */
#include "cli/gpu_tracker/command.h"

#include "base/clock.h"
#include "base/err.h"
#include "base/io/output_file.h"
#include "base/io/sqlite.h"
#include "base/text/buf.h"
#include "base/text/scan.h"
#include "base/text/secrets.h"
#include "cli/cli.h"
#include "cli/options.h"
#include "cli/session.h"

#include <libgen.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum { EXIT_WRONG = 1 };

/* ==== Gpu tracker errors ====================================================================== */

/* Sentences of gpu-tracker. Each of those that say that something is wrong returns the exit status.
 */

/* What gpu-tracker says on stderr, as its users know it. */

/* What it quotes may be anything. */
static void gpu_tracker_errors_print(const char *kind, const char *sentence)
{
    char shown[1024];
    snprintf(shown, sizeof shown, "%s", sentence);
    secrets_mask_sentence(shown, sizeof shown);
    text_make_printable(shown);
    fprintf(stderr, "%s%s\n", kind, shown);
}

/* As Python's logging prints it. */
static int gpu_tracker_say(const char *sentence)
{
    gpu_tracker_errors_print("ERROR:root:", sentence);
    return EXIT_WRONG;
}

/* For notes. */
static void gpu_tracker_warn(void *arg, const char *sentence)
{
    gpu_tracker_errors_print("WARNING:root:", sentence);
}

/* As Python prints an uncaught exception. */
static int gpu_tracker_raise(const struct toll_error *e)
{
    gpu_tracker_errors_print(e->code == -EEXIST    ? "FileExistsError: "
                             : e->code == -ENOENT  ? "FileNotFoundError: "
                             : e->code == -EACCES  ? "PermissionError: "
                             : e->code == -EINVAL  ? "ValueError: "
                             : e->code == -EBADMSG ? "ValueError: "
                                                   : "OSError: ",
                             e->message);
    return EXIT_WRONG;
}

/* Of "nvidia0 (GPU-a), nvidia1 (GPU-b)" what stands in parentheses. */
static void add_uuids(struct buf *b, const char *there)
{
    for (const char *open; (open = strchr(there, '(')); there = open) {
        size_t length = strcspn(++open, ")");
        buf_printf(b, "%s%.*s", b->length ? ", " : "", (int)length, open);
    }
    if (!b->length)
        buf_puts(b, there);
}

/* "no GPU 'x'; available: …", as that tool says it. */
static int unknown_gpu(const struct toll_error *e)
{
    struct toll_error said;
    struct buf uuids = {0};
    const char *name = strchr(e->message, '\''), *end = name ? strchr(name + 1, '\'') : NULL;
    const char *there = strstr(e->message, "available: ");
    if (!end || !there)
        return gpu_tracker_raise(e);
    add_uuids(&uuids, there + strlen("available: "));
    err_set(&said, -EINVAL, "GPU UUID of %.*s is not valid. Available UUIDs are: %s",
            (int)(end - name - 1), name + 1, uuids.data ? uuids.data : "?");
    buf_done(&uuids);
    return gpu_tracker_raise(&said);
}

/* Why the command does not run. */
static int gpu_tracker_not_started(const struct gpu_tracker *g, const char *command,
                                   const struct outcome *outcome)
{
    char sentence[sizeof outcome->error.message + 64];
    if (outcome->exec_errno == ENOENT) {
        snprintf(sentence, sizeof sentence, "Command not found: \"%s\"", command);
        return gpu_tracker_say(sentence);
    }
    if (!outcome->exec_errno && g->gpu_uuids)
        return unknown_gpu(&outcome->error);
    snprintf(sentence, sizeof sentence,
             "The following error occurred when starting the command \"%s\":", command);
    gpu_tracker_say(sentence);
    struct toll_error said;
    if (outcome->exec_errno)
        err_set(&said, -outcome->exec_errno, "[Errno %d] %s: '%s'", outcome->exec_errno,
                strerror(outcome->exec_errno), command);
    printf("%s\n", outcome->exec_errno ? said.message : outcome->error.message);
    return EXIT_WRONG;
}

/* ==== Gpu tracker command ===================================================================== */

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

/* "gpu-tracker,ram_unit=megabytes": what was said, in the words of the layout. */
static void add_layout(struct buf *b, const struct gpu_tracker *g)
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
    return buf_failed(ret) ? err_set(e, -ENOMEM, "out of memory") : 0;
}

/* Another process may have made the file since the check; rows that cannot be stored stay beside
 * it. */
static int points_store(const struct gpu_tracker *g, const char *written, struct toll_error *e)
{
    const char *target = g->tracking_file;
    if (strcmp(written, target) == 0)
        return 0;
    int r = !g->overwrite && access(target, F_OK) == 0
                ? err_set(e, -EEXIST, "File %s was made by another process meanwhile", target)
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
static int keep_backup(struct toll_tracker *t, const struct gpu_tracker *g, const char *layout,
                       struct toll_error *e)
{
    char id[UUID_BYTES], name[UUID_BYTES + 32];
    if (g->backup)
        return toll_tracker_keep_backup(t, g->backup, layout, e);
    if (access(".", W_OK | X_OK) < 0)
        return 0;
    uuid_make(id, clock_real(NULL), NULL);
    snprintf(name, sizeof name, ".gpu-tracker_%s.pkl", id);
    return toll_tracker_keep_backup(t, name, layout, e);
}

/* Seconds, as text. */
static int gpu_tracker_interval(const char *text, uint64_t *ret, struct toll_error *e)
{
    struct scan s = scan_string(text);
    double seconds;
    if (!scan_number(&s, &seconds) || !scan_done(&s))
        return err_set(e, -EINVAL, "could not convert string to float: '%s'", text);
    if (!(seconds >= 0.001 && seconds <= 86400))
        return err_set(e, -EINVAL, "Sleep time of %s is invalid. Must be at least 0.001 seconds.",
                       text);
    *ret = (uint64_t)(seconds * 1e9);
    return 0;
}

static int open_session(struct session *s, const struct gpu_tracker *g, const char *layout,
                        const char *points, struct toll_error *e)
{
    struct toll_options *o = &s->settings.tracker;
    *o = (struct toll_options){
        .size = sizeof *o,
        .system = true,
        .memory = TOLL_MEMORY_PSS, /* its results separate private from shared memory */
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
        r = keep_backup(s->tracker, g, layout, e);
    if (r == 0 && points) {
        struct toll_output out = {
            .size = sizeof out,
            .destination = points,
            .format = "csv",
            .layout = layout,
        };
        r = toll_tracker_add_output(s->tracker, &out, e);
    }
    return r;
}

static int print_results(struct session *s, const struct gpu_tracker *g, const char *layout,
                         const struct outcome *outcome)
{
    struct toll_error e = {0};
    CLEANUP_FREE char *text = NULL;
    struct toll_output like = {
        .size = sizeof like,
        .format = g->format ? phase_format(g->format) : "text",
        .layout = layout,
    };
    char complete[128];
    signals_end_waiting(s->tracker); /* for stdout, too: the command has ended */
    snprintf(complete, sizeof complete,
             "Resource tracking complete. Process completed with status code: %d",
             outcome->end.signaled ? -outcome->end.status : outcome->end.status);
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
        gpu_tracker_raise(&e); /* the command has its own exit status */
    signals_end_waiting(NULL);
    return outcome->status;
}

static int run_it(const struct gpu_tracker *g, char **command, const char *layout)
{
    struct session s = {0};
    struct buf points = {0}; /* where samples go, or nothing */
    struct toll_error e = {0};
    struct outcome outcome = {0};
    int status;
    int r = points_path(&points, g->tracking_file, &e);
    if (r == 0)
        r = open_session(&s, g, layout, points.data, &e);
    if (r < 0) {
        status = gpu_tracker_raise(&e);
    } else {
        run_command(&s, command, &outcome);
        status = outcome.has_run ? print_results(&s, g, layout, &outcome)
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

static int gpu_tracker_command_execute(const struct gpu_tracker *g)
{
    CLEANUP_FREE char **command = NULL;
    struct toll_error e = {0};
    const char *why = "out of memory";
    if (shell_words(g->execute, &command, &why) < 0) {
        err_set(&e, -EINVAL, "%s", why);
        return gpu_tracker_raise(&e);
    }
    if (!command[0])
        return gpu_tracker_say("Empty command provided.");
    if (gpu_tracker_check(g, &e) < 0)
        return gpu_tracker_raise(&e);
    struct buf layout = {0};
    add_layout(&layout, g);
    int status = buf_failed(&layout) ? gpu_tracker_say("out of memory")
                                     : run_it(g, command, layout.data);
    buf_done(&layout);
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
    if (g->format && strcmp(g->format, "text") != 0 && strcmp(g->format, "json") != 0 &&
        strcmp(g->format, "pickle") != 0) {
        err_set(&e, -EINVAL, "\"%s\" is not a valid format. Valid values are \"json\" or \"text\".",
                g->format);
        return gpu_tracker_say(e.message);
    }
    if (g->task == TASK_COMPARE && !g->sessions)
        return gpu_tracker_say("A mapping of tracking session name to file path must be provided "
                               "either through the -m option or a config file.");
    if (g->task == TASK_EXECUTE)
        return gpu_tracker_command_execute(g);
    return sub_track(g, &e) < 0 ? gpu_tracker_raise(&e) : 0;
}

/* What is wrong with the words, and those there are. */
static int gpu_tracker_command_usage(const struct toll_error *e)
{
    gpu_tracker_errors_print("", e->message);
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
        status = g.shows_usage ? gpu_tracker_command_usage(&e) : gpu_tracker_raise(&e);
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

/* ==== Gpu tracker checks ====================================================================== */

/* Checks of the settings before anything runs, in the sentences that its
 * users know. */

static int check_cores(const char *text, struct toll_error *e)
{
    struct scan s = scan_string(text);
    uint64_t cores;
    if (!scan_u64(&s, &cores) || !scan_done(&s))
        return err_set(e, -EINVAL, "invalid literal for int() with base 10: '%s'", text);
    return cores ? 0 : err_set(e, -EINVAL, "The number of expected cores has to be at least 1");
}

static int check_unit(const char *unit, const char *kind, const char *const *units,
                      struct toll_error *e)
{
    struct buf all = {0};
    for (const char *const *u = units; *u; u++) {
        if (!unit || strcmp(unit, *u) == 0) {
            buf_done(&all);
            return 0;
        }
        buf_printf(&all, "%s%s", u == units ? "" : ", ", *u);
    }
    int r = err_set(e, -EINVAL, "\"%s\" is not a valid %s unit. Valid values are %s", unit, kind,
                    all.data ? all.data : "?");
    buf_done(&all);
    return r;
}

static int check_units(const struct gpu_tracker *g, struct toll_error *e)
{
    static const char *const sizes[] = {"bytes",     "gigabytes", "kilobytes",
                                        "megabytes", "terabytes", NULL};
    static const char *const times[] = {"days", "hours", "minutes", "seconds", NULL};
    int r = check_unit(g->ram_unit, "RAM", sizes, e);
    if (r == 0)
        r = check_unit(g->gpu_ram_unit, "GPU RAM", sizes, e);
    return r == 0 ? check_unit(g->time_unit, "time", times, e) : r;
}

/* Where the results will go, and may go: known before the command has run for hours. */
static int gpu_tracker_checks_check_output(const char *path, struct toll_error *e)
{
    struct stat there;
    if (!path)
        return 0;
    if (stat(path, &there) == 0) {
        if (S_ISDIR(there.st_mode))
            return err_set(e, -EISDIR, "%s: %s", path, strerror(EISDIR));
        return access(path, W_OK) == 0 ? 0 : err_set(e, -errno, "%s: %s", path, strerror(errno));
    }
    CLEANUP_FREE char *copy = strdup(path);
    if (!copy || access(dirname(copy), W_OK | X_OK) == 0)
        return 0;
    return err_set(e, -errno, "%s: %s", path, strerror(errno));
}

static int check_tracking_file(const struct gpu_tracker *g, struct toll_error *e)
{
    const char *path = g->tracking_file;
    struct stat there;
    if (!path)
        return 0;
    if (!ends_with(path, ".csv") && !ends_with(path, ".sqlite"))
        return err_set(e, -EINVAL,
                       "Invalid file name: \"%s\". Valid file extensions are \".csv\" and "
                       "\".sqlite\".",
                       path);
    if (!g->overwrite && stat(path, &there) == 0)
        return err_set(e, -EEXIST,
                       "File %s already exists. Set overwrite to True to overwrite the existing "
                       "file.",
                       path);
    struct sqlite *nowhere = NULL;
    int r = ends_with(path, ".sqlite")
                ? sqlite_open(&nowhere, ":memory:", SQLITE_MODE_WRITE, 0, e) /* can it be had? */
                : 0;
    sqlite_close(nowhere);
    return r < 0 ? r : gpu_tracker_checks_check_output(path, e);
}

static int check_gpus(const struct gpu_tracker *g, struct toll_error *e)
{
    if (g->gpu_uuids && !g->gpu_uuids[strspn(g->gpu_uuids, ", ")])
        return err_set(e, -EINVAL,
                       "gpu_uuids is not None but the set is empty. Please provide a set of at "
                       "least one GPU UUID.");
    if (g->gpu_brand && strcmp(g->gpu_brand, "nvidia") != 0 && strcmp(g->gpu_brand, "amd") != 0)
        return err_set(e, -EINVAL,
                       "\"%s\" is not a valid GPU brand. Supported values are \"nvidia\" and "
                       "\"amd\".",
                       g->gpu_brand);
    return 0;
}

int gpu_tracker_check(const struct gpu_tracker *g, struct toll_error *e)
{
    uint64_t interval_ns;
    int r = g->sleep_time ? gpu_tracker_interval(g->sleep_time, &interval_ns, e) : 0;
    if (r == 0)
        r = check_units(g, e);
    if (r == 0 && g->cores)
        r = check_cores(g->cores, e);
    if (r == 0)
        r = check_gpus(g, e);
    if (r == 0)
        r = check_tracking_file(g, e);
    return r == 0 ? gpu_tracker_checks_check_output(g->output, e) : r;
}
