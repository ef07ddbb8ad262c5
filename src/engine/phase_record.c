/* SPDX-License-Identifier: MIT */
#include "engine/phase_record.h"

#include "base/err.h"

#include <string.h>

static void count_run(void *count, const struct toll_run *run)
{
    (void)run;
    ++*(size_t *)count;
}

/* 1: it is one, with one run. A tracking file may be of SQLite, too. */
static int check_runs(const char *path, struct toll_error *e)
{
    size_t runs = 0;
    bool can_be_nothing_else = ends_with(path, ".jsonl");
    if (!can_be_nothing_else && !ends_with(path, ".sqlite"))
        return 0;
    int r = toll_record_runs(path, count_run, &runs, can_be_nothing_else ? e : NULL);
    if (r < 0)
        return can_be_nothing_else ? r : 0;
    if (runs == 1)
        return 1;
    return err_set(
        e, -EINVAL,
        "there are %zu runs in '%s'; 'toll export --run N %s -o FILE.jsonl' takes one of "
        "them out",
        runs, path, path);
}

static int make_directory(struct phase_record *p, struct toll_error *e)
{
    const char *place = getenv("TMPDIR");
    struct buf name = {0};
    buf_printf(&name, "%s/toll-phases-XXXXXX", place && *place ? place : "/tmp");
    if (buf_failed(&name) || !mkdtemp(name.data)) {
        int r = buf_failed(&name) ? -ENOMEM : -errno;
        buf_done(&name);
        return err_set(e, r, "cannot make a directory for what the record has: %s", strerror(-r));
    }
    p->directory = name.data;
    buf_printf(&p->points, "%s/points.csv", p->directory);
    buf_printf(&p->blocks, "%s/run.sub-tracking.csv", p->directory);
    return buf_failed(&p->points) || buf_failed(&p->blocks)
               ? err_set(e, -ENOMEM, "no memory for the results")
               : 0;
}

int phase_record_open(struct phase_record *ret, const char *path, struct toll_error *e)
{
    struct phase_record p = {0};
    int r = check_runs(path, e);
    if (r <= 0)
        return r;
    r = make_directory(&p, e);
    struct toll_output points = {
        .size = sizeof points, .destination = p.points.data, .dialect = "gpu-tracker"};
    struct toll_output blocks = {.size = sizeof blocks, .destination = p.blocks.data};
    const struct toll_output *const outputs[] = {&points, &blocks, NULL};
    struct toll_export asked = {.size = sizeof asked, .record = path, .outputs = outputs};
    if (r == 0)
        r = toll_record_export(&asked, e);
    if (r < 0) {
        phase_record_close(&p);
        return r;
    }
    *ret = p;
    return 1;
}

void phase_record_close(struct phase_record *p)
{
    if (p->points.data)
        unlink(p->points.data);
    if (p->blocks.data)
        unlink(p->blocks.data);
    if (p->directory)
        rmdir(p->directory);
    free(p->directory);
    buf_done(&p->points);
    buf_done(&p->blocks);
}
