/* SPDX-License-Identifier: MIT */
#include "collect/cgroup.h"

#include "base/err.h"
#include "base/file.h"
#include "base/map.h"
#include "collect/cgroup_disks.h"
#include "collect/cgroup_figures.h"
#include "collect/cgroup_mounts.h"
#include "collect/cgroup_oom.h"
#include "collect/cgroup_walk.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>

struct cgroup {
    const struct sysroot *root; /* borrowed */
    struct cgroup_places places;
    struct cgroup_figures figures;
    struct cgroup_limits limits;
    struct cgroup_disks disks;
    struct cgroup_file presence; /* a small file: when it cannot be read any more, all is gone */
    struct cgroup_oom oom;
    struct map pids; /* those met in a walk */
    struct buf pids_text;
    struct measured measured;
};

/* With version 1 a process may be elsewhere in another hierarchy; then its figures are said to be
 * of that cgroup. */
static void label_other_paths(struct cgroup *c)
{
    static const struct {
        enum cgroup_controller controller;
        const char *key;
    } labels[] = {
        {CGROUP_MEMORY, "memory_cgroup"}, {CGROUP_CPUACCT, "cpu_cgroup"},
        {CGROUP_CPU, "quota_cgroup"},     {CGROUP_BLKIO, "storage_cgroup"},
        {CGROUP_PIDS, "tasks_cgroup"},    {CGROUP_UNIFIED, "pressure_cgroup"},
    };
    struct label *next = c->measured.entity.labels;
    for (size_t i = 0; i < ARRAY_LEN(labels); i++) {
        const struct cgroup_place *p = cgroup_place_for(&c->places, labels[i].controller);
        /* Where version 1 has memory, and the process is at its root, there are no such figures. */
        if (labels[i].controller == CGROUP_MEMORY && c->places.at[CGROUP_MEMORY].directory)
            continue;
        if (p && strcmp(p->path, cgroup_name(c)) != 0)
            *next++ = (struct label){labels[i].key, p->path};
    }
}

/* Takes the places. */
static int cgroup_new(struct cgroup **ret, const struct sysroot *root, struct cgroup_places *places)
{
    struct cgroup *c = calloc(1, sizeof *c);
    if (!c) {
        cgroup_places_done(places);
        return -ENOMEM;
    }
    c->root = root;
    c->places = *places;
    c->presence = CGROUP_FILE_CLOSED;
    cgroup_oom_init(&c->oom);
    cgroup_figures_init(&c->figures, root);
    const struct cgroup_place *storage = cgroup_place_for(&c->places, CGROUP_BLKIO);
    cgroup_disks_init(&c->disks, storage ? storage->path : cgroup_name(c));
    measured_init(&c->measured, ENTITY_CGROUP);
    c->measured.entity.path = cgroup_name(c);
    label_other_paths(c);
    int r = cgroup_limits_init(&c->limits, &c->places);
    if (r < 0) {
        cgroup_close(c);
        return r;
    }
    *ret = c;
    return 0;
}

int cgroup_open_of(struct cgroup **ret, const struct sysroot *root, pid_t pid)
{
    struct cgroup_places places;
    int r = cgroup_places_of_pid(&places, root, pid);
    return r < 0 ? r : cgroup_new(ret, root, &places);
}

int cgroup_open_path(struct cgroup **ret, const struct sysroot *root, const char *path,
                     struct toll_error *e)
{
    struct cgroup_places places;
    int r = cgroup_places_of_path(&places, root, path, e);
    if (r < 0)
        return r;
    r = cgroup_new(ret, root, &places);
    if (r < 0)
        return err_set(e, r, "cannot open the cgroup %s: %s", path, strerror(-r));
    cgroup_is_gone(*ret); /* opens what will tell */
    return 0;
}

void cgroup_close_files(struct cgroup *c)
{
    cgroup_figures_close_files(&c->figures);
    cgroup_limits_close_files(&c->limits);
    cgroup_disks_close_files(&c->disks);
    cgroup_oom_done(&c->oom);
    cgroup_file_close(&c->presence);
}

void cgroup_close(struct cgroup *c)
{
    if (!c)
        return;
    cgroup_close_files(c);
    cgroup_limits_done(&c->limits);
    cgroup_disks_done(&c->disks);
    map_done(&c->pids);
    buf_done(&c->pids_text);
    cgroup_places_done(&c->places);
    free(c);
}

const char *cgroup_name(const struct cgroup *c)
{
    return cgroup_place_main(&c->places)->path;
}

bool cgroup_is_root(const struct cgroup *c)
{
    return cgroup_place_main(&c->places)->is_root;
}

bool cgroup_same(const struct cgroup *a, const struct cgroup *b)
{
    for (unsigned i = 0; i < CGROUP_CONTROLLERS; i++) {
        const char *x = a->places.at[i].directory, *y = b->places.at[i].directory;
        if (!x != !y || (x && strcmp(x, y) != 0))
            return false;
    }
    return true;
}

bool cgroup_contains(const struct cgroup *outer, const struct cgroup *inner)
{
    return cgroup_path_below(cgroup_place_main(&inner->places)->directory,
                             cgroup_place_main(&outer->places)->directory) != NULL;
}

bool cgroup_is_gone(struct cgroup *c)
{
    const struct cgroup_place *p = cgroup_place_main(&c->places);
    char text[256];
    if (cgroup_file_read(&c->presence, c->root, p->directory,
                         p->v2 ? "cgroup.subtree_control" : "notify_on_release", text,
                         sizeof text) == -ENODEV)
        return true;
    return faccessat(c->root->root, p->directory, F_OK, 0) < 0;
}

/* ---- Processes ------------------------------------------------------------------------------- */

enum { LONGEST_PID = 16 };

struct meeting {
    struct cgroup *c;
    void (*meet)(void *arg, pid_t pid);
    void *arg;
    int error;
};

static void meet_directory(void *arg, int dir)
{
    struct meeting *m = arg;
    if (file_read_whole_at(dir, "cgroup.procs", LONGEST_PID, &m->c->pids_text) < 0)
        return; /* removed in this moment, or of threads only */
    struct scan rest = scan_text(m->c->pids_text.data, m->c->pids_text.length), line;
    while (scan_line(&rest, &line) && line.end != rest.at) {
        uint64_t pid;
        uint32_t known;
        if (!scan_u64(&line, &pid) || !scan_done(&line) || pid == 0 || pid > INT_MAX)
            continue;
        if (map_get(&m->c->pids, (uint32_t)pid, &known))
            continue;
        if (map_put(&m->c->pids, (uint32_t)pid, 1) < 0)
            m->error = -ENOMEM;
        else
            m->meet(m->arg, (pid_t)pid);
    }
}

int cgroup_each_pid(struct cgroup *c, void (*meet)(void *arg, pid_t pid), void *arg)
{
    struct meeting m = {.c = c, .meet = meet, .arg = arg};
    map_clear(&c->pids);
    int r = cgroup_walk(c->root, cgroup_place_deepest(&c->places)->directory, meet_directory, &m);
    return r < 0 ? r : m.error;
}

/* ---- Figures --------------------------------------------------------------------------------- */

bool cgroup_oom_kills(struct cgroup *c, uint64_t *ret)
{
    cgroup_oom_read(&c->oom, c->root, cgroup_place_for(&c->places, CGROUP_MEMORY));
    return cgroup_oom_kills_seen(c, ret);
}

bool cgroup_oom_kills_seen(const struct cgroup *c, uint64_t *ret)
{
    if (c->oom.known)
        *ret = c->oom.kills;
    return c->oom.known;
}

/* The kernel counts where the limit is set. When that is an ancestor, a 0 of the cgroup itself says
 * nothing of how often it had to wait. */
static void forget_if_counted_above(const struct cgroup *c, struct row *row,
                                    const struct cgroup_limit *limit,
                                    enum cgroup_controller controller, enum metric_id id)
{
    const struct cgroup_place *p = cgroup_place_for(&c->places, controller);
    bool set_above = limit->known && p && (!limit->path || strcmp(limit->path, p->path) != 0);
    if (set_above && row_u64(row, id) == 0)
        row_unknown(row, id);
}

static void put_limits(struct cgroup *c, struct row *row)
{
    static const struct {
        enum cgroup_limit_kind limit;
        enum cgroup_controller controller;
        enum metric_id id;
    } counted[] = {
        {CGROUP_LIMIT_CORES, CGROUP_CPU, cgroup_cpu_periods_count},
        {CGROUP_LIMIT_CORES, CGROUP_CPU, cgroup_cpu_throttled_periods_count},
        {CGROUP_LIMIT_CORES, CGROUP_CPU, cgroup_cpu_throttled_seconds},
        {CGROUP_LIMIT_MEMORY, CGROUP_MEMORY, cgroup_memory_limit_events_count},
    };
    struct cgroup_limit limits[CGROUP_LIMIT_KINDS];
    cgroup_read_limits(c, limits);
    for (size_t i = 0; i < ARRAY_LEN(counted); i++)
        forget_if_counted_above(c, row, &limits[counted[i].limit], counted[i].controller,
                                counted[i].id);
    static const struct {
        enum cgroup_limit_kind limit;
        enum metric_id id;
    } shown[] = {
        {CGROUP_LIMIT_MEMORY, cgroup_memory_limit_bytes},
        {CGROUP_LIMIT_CORES, cgroup_cpu_limit_cores},
        {CGROUP_LIMIT_TASKS, cgroup_tasks_limit_count},
    };
    c->measured.unlimited = 0;
    for (size_t i = 0; i < ARRAY_LEN(shown); i++)
        if (limits[shown[i].limit].unlimited)
            c->measured.unlimited |= BIT(shown[i].id - cgroup_first);
    if (limits[CGROUP_LIMIT_MEMORY].known)
        row_put_u64(row, cgroup_memory_limit_bytes, limits[CGROUP_LIMIT_MEMORY].value);
    if (limits[CGROUP_LIMIT_CORES].known)
        row_put_double(row, cgroup_cpu_limit_cores, limits[CGROUP_LIMIT_CORES].cores);
    if (limits[CGROUP_LIMIT_TASKS].known)
        row_put_u64(row, cgroup_tasks_limit_count, limits[CGROUP_LIMIT_TASKS].value);
}

void cgroup_collect(struct cgroup *c, struct measured_list *out)
{
    if (cgroup_is_root(c))
        return;
    struct row *row = &c->measured.read;
    uint64_t kills;
    row->present = 0;
    cgroup_figures_read(&c->figures, c->root, &c->places, row);
    put_limits(c, row);
    if (row_has(row, cgroup_oom_kills_count))
        cgroup_oom_note(&c->oom, row_u64(row, cgroup_oom_kills_count));
    else if (cgroup_oom_kills(c, &kills))
        row_put_u64(row, cgroup_oom_kills_count, kills);
    size_t place = out->count;
    if (measured_list_add(out, &c->measured) < 0)
        return;
    cgroup_disks_collect(&c->disks, c->root, &c->places, row, out);
    if (!row->present && out->count == place + 1)
        out->count = place; /* gone, or nothing may be read */
}

void cgroup_read_limits(const struct cgroup *c, struct cgroup_limit ret[CGROUP_LIMIT_KINDS])
{
    cgroup_limits_read(&c->limits, c->root, ret);
}

ssize_t cgroup_read_file(const struct cgroup *c, enum cgroup_controller controller,
                         const char *name, char *ret, size_t capacity)
{
    const struct cgroup_place *p = cgroup_place_for(&c->places, controller);
    char path[PATH_MAX];
    if (!p || snprintf(path, sizeof path, "%s/%s", p->directory, name) >= (int)sizeof path)
        return -ENOENT;
    return file_read_at(c->root->root, path, ret, capacity);
}
