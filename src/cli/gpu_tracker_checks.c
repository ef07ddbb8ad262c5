/* SPDX-License-Identifier: MIT
 * Whether what gpu-tracker was told makes sense, before anything runs; in the sentences that its
 * users know. */
#include "base/err.h"
#include "base/scan.h"
#include "base/sqlite.h"
#include "cli/gpu_tracker_command.h"

#include <libgen.h>
#include <string.h>
#include <sys/stat.h>

int gpu_tracker_interval(const char *text, uint64_t *ret, struct toll_error *e)
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

static int check_cores(const char *text, struct toll_error *e)
{
    struct scan s = scan_string(text);
    uint64_t cores;
    if (!scan_u64(&s, &cores) || !scan_done(&s))
        return err_set(e, -EINVAL, "invalid literal for int() with base 10: '%s'", text);
    return cores ? 0 : err_set(e, -EINVAL, "The number of expected cores has to be at least 1");
}

bool gpu_tracker_has_format(const char *format)
{
    return !format || strcmp(format, "text") == 0 || strcmp(format, "json") == 0 ||
           strcmp(format, "pickle") == 0;
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
static int check_output(const char *path, struct toll_error *e)
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
    return r < 0 ? r : check_output(path, e);
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
    return r == 0 ? check_output(g->output, e) : r;
}
