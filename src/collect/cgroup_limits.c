/* SPDX-License-Identifier: MIT
 * A limit holds for everything below it, so that the tightest on the way up counts. */
#include "collect/cgroup_limits.h"

#include "parse/cgroup_flat.h"
#include "parse/cgroup_value.h"

enum { TEXT_BYTES = 8192 };

struct limit_source {
    struct limit_source *next;
    const struct limit_file *what;
    char *directory; /* owned */
    char *path;      /* owned; NULL when the limit may be anybody's above */
    struct cgroup_file file;
    struct cgroup_file period;
};

/* 0 and a limit, which may be none; or -errno. */
typedef int limit_reader(struct limit_source *s, const struct sysroot *root,
                         struct cgroup_limit *ret);

struct limit_file {
    enum cgroup_limit_kind kind;
    enum cgroup_controller controller;
    bool v2;
    bool ancestors_too; /* false: the file speaks for all ancestors, wanted when some are hidden */
    const char *name;
    limit_reader *read;
};

static ssize_t read_text(struct limit_source *s, const struct sysroot *root, char *text)
{
    return cgroup_file_read(&s->file, root, s->directory, s->what->name, text, TEXT_BYTES);
}

static void set_value(struct cgroup_limit *l, const struct cgroup_value *v)
{
    *l = (struct cgroup_limit){.known = !v->unlimited, .value = v->value};
}

static void set_cores(struct cgroup_limit *l, uint64_t quota_us, uint64_t period_us)
{
    *l = (struct cgroup_limit){.known = true, .cores = (double)quota_us / (double)period_us};
}

static int read_value(struct limit_source *s, const struct sysroot *root, struct cgroup_limit *ret)
{
    char text[TEXT_BYTES];
    struct cgroup_value v;
    ssize_t n = read_text(s, root, text);
    int r = n < 0 ? (int)n : parse_cgroup_value(scan_text(text, (size_t)n), &v);
    if (r == 0)
        set_value(ret, &v);
    return r;
}

static int read_cpu_max(struct limit_source *s, const struct sysroot *root,
                        struct cgroup_limit *ret)
{
    char text[TEXT_BYTES];
    struct cgroup_cpu_max m;
    ssize_t n = read_text(s, root, text);
    int r = n < 0 ? (int)n : parse_cgroup_cpu_max(scan_text(text, (size_t)n), &m);
    if (r == 0 && !m.unlimited)
        set_cores(ret, m.quota_us, m.period_us);
    return r;
}

static int read_cfs_quota(struct limit_source *s, const struct sysroot *root,
                          struct cgroup_limit *ret)
{
    char text[TEXT_BYTES];
    struct cgroup_value quota, period;
    ssize_t n = read_text(s, root, text);
    int r = n < 0 ? (int)n : parse_cgroup_value(scan_text(text, (size_t)n), &quota);
    if (r < 0 || quota.unlimited)
        return r;
    n = cgroup_file_read(&s->period, root, s->directory, "cpu.cfs_period_us", text, sizeof text);
    r = n < 0 ? (int)n : parse_cgroup_value(scan_text(text, (size_t)n), &period);
    if (r == 0 && (period.unlimited || !period.value))
        return -EBADMSG;
    if (r == 0)
        set_cores(ret, quota.value, period.value);
    return r;
}

/* Version 1 tells the tightest limit of all ancestors, of those outside of a container too. */
static int read_hierarchical(struct limit_source *s, const struct sysroot *root,
                             struct cgroup_limit *ret)
{
    static const char *const key[] = {"hierarchical_memory_limit"};
    char text[TEXT_BYTES];
    uint64_t value;
    ssize_t n = read_text(s, root, text);
    int r = n < 0 ? (int)n : parse_cgroup_flat(scan_text(text, (size_t)n), key, 1, &value);
    if (r <= 0)
        return r < 0 ? r : -ENODATA;
    struct cgroup_value v = cgroup_value_of(value);
    set_value(ret, &v);
    return 0;
}

static const struct limit_file files[] = {
    {CGROUP_LIMIT_MEMORY, CGROUP_MEMORY, true, true, "memory.max", read_value},
    {CGROUP_LIMIT_SWAP, CGROUP_MEMORY, true, true, "memory.swap.max", read_value},
    {CGROUP_LIMIT_CORES, CGROUP_CPU, true, true, "cpu.max", read_cpu_max},
    {CGROUP_LIMIT_TASKS, CGROUP_PIDS, true, true, "pids.max", read_value},
    {CGROUP_LIMIT_MEMORY, CGROUP_MEMORY, false, true, "memory.limit_in_bytes", read_value},
    {CGROUP_LIMIT_MEMORY, CGROUP_MEMORY, false, false, "memory.stat", read_hierarchical},
    {CGROUP_LIMIT_CORES, CGROUP_CPU, false, true, "cpu.cfs_quota_us", read_cfs_quota},
    {CGROUP_LIMIT_TASKS, CGROUP_PIDS, false, true, "pids.max", read_value},
};

static void source_free(struct limit_source *s)
{
    if (!s)
        return;
    cgroup_file_close(&s->file);
    cgroup_file_close(&s->period);
    free(s->directory);
    free(s->path);
    free(s);
}

void cgroup_limits_close_files(struct cgroup_limits *l)
{
    for (struct limit_source *s = l->sources; s; s = s->next) {
        cgroup_file_close(&s->file);
        cgroup_file_close(&s->period);
    }
}

static struct limit_source *source_new(const struct limit_file *what, const char *directory,
                                       size_t directory_length, const char *path,
                                       size_t path_length)
{
    struct limit_source *s = calloc(1, sizeof *s);
    if (!s)
        return NULL;
    s->what = what;
    s->file = s->period = CGROUP_FILE_CLOSED;
    s->directory = strndup(directory, directory_length);
    s->path = what->ancestors_too ? strndup(path_length ? path : "/", path_length ? path_length : 1)
                                  : NULL;
    if (!s->directory || (what->ancestors_too && !s->path)) {
        source_free(s);
        return NULL;
    }
    return s;
}

/* One source for the cgroup and one for each ancestor up to what is mounted. Returns where the
 * next is to be hooked in, NULL without memory. */
static struct limit_source **add_sources(struct limit_source **tail, const struct limit_file *what,
                                         const struct cgroup_place *p)
{
    size_t length = strlen(p->directory);
    size_t in_path = strlen(p->path);
    for (;;) {
        *tail = source_new(what, p->directory, length, p->path, in_path);
        if (!*tail)
            return NULL;
        tail = &(*tail)->next;
        if (!what->ancestors_too || length <= p->mount_length)
            return tail;
        size_t step = 1;
        while (p->directory[length - step] != '/')
            step++;
        length -= step;
        in_path -= step;
    }
}

int cgroup_limits_init(struct cgroup_limits *l, const struct cgroup_places *places)
{
    *l = (struct cgroup_limits){0};
    struct limit_source **tail = &l->sources;
    for (unsigned i = 0; i < ARRAY_LEN(files); i++) {
        const struct cgroup_place *p = cgroup_place_for(places, files[i].controller);
        if (!p || p->v2 != files[i].v2 || (p->sees_root && !files[i].ancestors_too))
            continue;
        if (!p->sees_root && files[i].ancestors_too)
            l->hidden |= (unsigned)BIT(files[i].kind);
        if (!files[i].ancestors_too)
            l->hidden &= ~(unsigned)BIT(files[i].kind);
        tail = add_sources(tail, &files[i], p);
        if (!tail) {
            cgroup_limits_done(l);
            return -ENOMEM;
        }
    }
    return 0;
}

void cgroup_limits_done(struct cgroup_limits *l)
{
    while (l->sources) {
        struct limit_source *next = l->sources->next;
        source_free(l->sources);
        l->sources = next;
    }
}

static bool is_tighter(const struct cgroup_limit *a, const struct cgroup_limit *b)
{
    return a->known && (!b->known || a->value < b->value || a->cores < b->cores);
}

void cgroup_limits_read(const struct cgroup_limits *l, const struct sysroot *root,
                        struct cgroup_limit ret[CGROUP_LIMIT_KINDS])
{
    bool was_asked[CGROUP_LIMIT_KINDS] = {0}, were_all_read[CGROUP_LIMIT_KINDS] = {0};
    memset(ret, 0, CGROUP_LIMIT_KINDS * sizeof *ret);
    for (struct limit_source *s = l->sources; s; s = s->next) {
        struct cgroup_limit found = {0};
        enum cgroup_limit_kind kind = s->what->kind;
        int r = s->what->read(s, root, &found);
        if (!was_asked[kind]) /* the cgroup's own */
            were_all_read[kind] = r == 0 || (r == -ENOENT && strcmp(s->path, "/") == 0);
        else if (r < 0 && r != -ENOENT) /* the root has no such file */
            were_all_read[kind] = false;
        was_asked[kind] = true;
        if (r < 0 || !is_tighter(&found, &ret[kind]))
            continue;
        found.path = s->path;
        ret[kind] = found;
    }
    for (unsigned kind = 0; kind < CGROUP_LIMIT_KINDS; kind++)
        ret[kind].unlimited = were_all_read[kind] && !ret[kind].known && !(l->hidden >> kind & 1);
}
