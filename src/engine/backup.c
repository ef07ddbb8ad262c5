/* SPDX-License-Identifier: MIT */
#include "engine/backup.h"

#include "base/err.h"
#include "base/output_file.h"
#include "base/pickle.h"
#include "base/stream.h"
#include "engine/outputs.h"
#include "engine/results.h"

#include <string.h>

#define EVERY_NS NS_PER_SECOND

enum { WAIT_MS = 1000 };

/* The class of a part, by its name and by that of its first member. */
static const char *class_of(const char *key, const char *first)
{
    static const char *const classes[][2] = {
        {"", "ResourceUsage"},
        {"max_ram", "MaxRAM"},
        {"max_gpu_ram", "MaxGPURAM"},
        {"cpu_utilization", "CPUUtilization"},
        {"gpu_utilization", "GPUUtilization"},
        {"compute_time", "ComputeTime"},
    };
    if (strcmp(first, "total_rss") == 0)
        return "RSSValues";
    if (strcmp(first, "max_sum_percent") == 0)
        return "ProcessingUnitPercentages";
    for (size_t i = 0; i < ARRAY_LEN(classes); i++)
        if (strcmp(classes[i][0], key) == 0)
            return classes[i][1];
    return NULL;
}

static const struct pickle_classes data_classes = {"toll.compat.gpu_tracker.tracker", class_of};

static char *absolute(const char *path)
{
    struct buf all = {0};
    CLEANUP_FREE char *here = *path == '/' ? NULL : getcwd(NULL, 0);
    if (*path != '/' && !here)
        return NULL;
    buf_printf(&all, "%s%s%s", here ? here : "", here ? "/" : "", path);
    return buf_failed(&all) ? NULL : all.data;
}

int backup_set(struct toll_tracker *t, const char *path, const char *dialect, struct toll_error *e)
{
    struct dialect_choice choice;
    int r = dialect_choice_parse(&choice, dialect, e);
    if (r < 0)
        return r;
    r = dialect_choice_check_format(&choice, "json", e);
    dialect_choice_done(&choice);
    if (r < 0)
        return r;
    backup_done(t);
    t->backup.path = absolute(path);
    t->backup.dialect = strdup(dialect);
    if (!t->backup.path || !t->backup.dialect) {
        r = t->backup.dialect ? -errno : -ENOMEM;
        backup_done(t);
        return err_set(e, r, "%s: %s", path, strerror(-r));
    }
    return 0;
}

static int replace_file(const char *path, const struct buf *pickle)
{
    struct replacement file;
    struct stream out;
    int r = replacement_open(&file, path, 0, NULL);
    if (r < 0)
        return r;
    stream_open(&out, file.fd);
    r = stream_write_patiently(&out, pickle->data, pickle->length, WAIT_MS);
    stream_close(&out);
    if (r == 0)
        r = replacement_commit(&file);
    replacement_close(&file);
    return r;
}

void backup_write(struct toll_tracker *t)
{
    struct backup *b = &t->backup;
    struct toll_output like = {.format = "json", .dialect = b->dialect};
    struct buf json = {0}, pickle = {0};
    if (!b->path || b->has_failed || (b->is_written && t->frame.mono_ns < b->due_ns))
        return;
    int r = results_write(t, &like, &json, NULL);
    if (r == 0)
        r = pickle_from_json_as(&pickle, json.data, json.length, &data_classes);
    if (r == 0)
        r = replace_file(b->path, &pickle);
    buf_done(&json);
    buf_done(&pickle);
    b->is_written |= r == 0;
    b->has_failed = r < 0;
    if (t->frame.mono_ns) /* the one of the beginning has nothing in it yet */
        b->due_ns = t->frame.mono_ns + EVERY_NS;
    if (r < 0)
        outputs_note(t, "cannot write the backup '%s': %s; the job goes on", b->path, strerror(-r));
}

void backup_remove(struct toll_tracker *t)
{
    if (t->backup.is_written)
        unlink(t->backup.path);
    t->backup.is_written = false;
}

void backup_done(struct toll_tracker *t)
{
    free(t->backup.path);
    free(t->backup.dialect);
    t->backup = (struct backup){0};
}
