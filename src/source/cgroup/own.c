/* SPDX-License-Identifier: MIT */
#include "source/cgroup/cgroup.h"

#include "base/err.h"
#include "base/text/buf.h"
#include "base/util.h"
#include "source/kernel_file.h"

#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#ifndef CGROUP2_SUPER_MAGIC
#define CGROUP2_SUPER_MAGIC 0x63677270
#endif

static const char prefix[] = "toll-";

/* ---- Files ----------------------------------------------------------------------------------- */

static int own_write(int dir, const char *name, const char *text)
{
    CLEANUP_CLOSE int fd = openat(dir, name, O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    return write(fd, text, strlen(text)) < 0 ? -errno : 0;
}

static int own_write_number(int dir, const char *name, uint64_t number)
{
    char text[24];
    snprintf(text, sizeof text, "%llu", (unsigned long long)number);
    return own_write(dir, name, text);
}

/* ---- Making ---------------------------------------------------------------------------------- */

/* Whether the open directory is the one with its name, which another toll may have made again. */
static bool own_is_there(const struct sysroot *root, const struct own_cgroup_directory *d)
{
    struct stat opened, named;
    return fstat(d->dir, &opened) == 0 && fstatat(root->root, d->directory, &named, 0) == 0 &&
           opened.st_ino == named.st_ino && opened.st_dev == named.st_dev;
}

/* Makes a directory below `above` and opens it. Another toll may have the same pid, in another pid
 * namespace, or may have left it there. */
static int own_make_directory(struct own_cgroup_directory *ret, const struct sysroot *root,
                              const char *above, const char *path_above, bool v2)
{
    enum { NAMES = 16 };
    struct own_cgroup_directory d = {.dir = -1, .v2 = v2};
    for (unsigned i = 0; i < NAMES; i++) {
        char name[48] = "";
        snprintf(name, sizeof name, i ? "%s%d.%u" : "%s%d", prefix, (int)getpid(), i);
        if (asprintf(&d.directory, "%s/%s", above, name) < 0)
            d.directory = NULL;
        if (asprintf(&d.path, "%s/%s", strcmp(path_above, "/") == 0 ? "" : path_above, name) < 0)
            d.path = NULL;
        int r = d.directory && d.path ? 0 : -ENOMEM;
        if (r == 0 && mkdirat(root->root, d.directory, 0755) < 0)
            r = -errno;
        if (r == 0) {
            d.dir = openat(root->root, d.directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
            /* Until it is locked, another toll may take it for a stale one: then the lock fails, or
             * the directory is gone. */
            if (d.dir < 0 || flock(d.dir, LOCK_EX | LOCK_NB) < 0) {
                r = -errno;
                unlinkat(root->root, d.directory, AT_REMOVEDIR);
                close_p(&d.dir);
            } else if (!own_is_there(root, &d)) {
                r = -ENOENT;
                close_p(&d.dir);
            }
        }
        if (r == 0) {
            *ret = d;
            return 0;
        }
        free(d.directory);
        free(d.path);
        if (r != -EEXIST && r != -EWOULDBLOCK && r != -ENOENT)
            return r;
    }
    return -EEXIST;
}

/* Makes one below `above`, unless a controller of the same hierarchy has done so. 0 or -errno. */
static int own_add(struct own_cgroup *o, const char *above, const char *path_above, bool v2)
{
    size_t length = strlen(above);
    for (size_t i = 0; i < o->count; i++)
        if (strncmp(o->directories[i].directory, above, length) == 0 &&
            strchr(o->directories[i].directory + length + 1, '/') == NULL &&
            o->directories[i].directory[length] == '/')
            return 0;
    if (o->count == OWN_CGROUP_DIRECTORIES)
        return -ENOSPC;
    struct own_cgroup_directory *d = &o->directories[o->count];
    int r = own_make_directory(d, o->root, above, path_above, v2);
    struct stat st;
    if (r < 0)
        return r;
    o->count++;
    if (v2) {
        o->dir = d->dir;
        o->id = fstat(d->dir, &st) == 0 ? st.st_ino : 0;
    }
    return 0;
}

/* The kept descriptor of its CPU time: version 2 counts from birth on. */
static void own_open_cpu(struct own_cgroup *o)
{
    for (unsigned version = 2; version >= 1 && o->cpu < 0; version--)
        for (size_t i = 0; i < o->count && o->cpu < 0; i++) {
            if (o->directories[i].v2 != (version == 2))
                continue;
            o->cpu = openat(o->directories[i].dir, version == 2 ? "cpu.stat" : "cpuacct.usage",
                            O_RDONLY | O_CLOEXEC);
            o->cpu_at = i;
        }
}

/* ---- Where nothing can be misread ------------------------------------------------------------ */

/* Programs that size themselves (the JVM, Go, .NET, libuv, container runtimes) read the limits of
 * the cgroup in /proc/self/cgroup, and some read only that one, not those above. A new cgroup below
 * it has no limits of its own and, without controllers, not even the files. So nothing may be lost
 * with that: the cgroup has none of these controllers, or is the root, which never has limits and
 * gives none of them to the cgroups below: these would also share CPUs by group. */
static bool own_hides_nothing(int dir)
{
    static const char *const sizing[] = {"cpu", "cpuset", "memory", "pids", "io"};
    char text[512];
    bool is_root = faccessat(dir, "cgroup.events", F_OK, 0) < 0 && errno == ENOENT;
    ssize_t n = file_read_at(dir, is_root ? "cgroup.subtree_control" : "cgroup.controllers", text,
                             sizeof text);
    if (n < 0 || n == (ssize_t)sizeof text)
        return false;
    struct scan s = scan_text(text, (size_t)n);
    while (!scan_done(&s)) {
        const char *from = s.at;
        while (s.at < s.end && *s.at != ' ' && *s.at != '\n')
            s.at++;
        for (size_t i = 0; i < ARRAY_LEN(sizing); i++)
            if (strlen(sizing[i]) == (size_t)(s.at - from) &&
                memcmp(sizing[i], from, (size_t)(s.at - from)) == 0)
                return false;
        s.at += s.at < s.end;
    }
    return true;
}

/* Version 2 where it usually is: a job waits, and the list of mounts may be long. */
static int own_open_quiet(struct own_cgroup *o)
{
    static const char *const mounts[] = {"sys/fs/cgroup/unified", "sys/fs/cgroup"};
    char text[4096];
    struct pid_cgroup line = {.hierarchy = UINT64_MAX};
    ssize_t n = file_read_at(o->root->proc, "self/cgroup", text, sizeof text);
    struct scan s = scan_text(text, n > 0 ? (size_t)n : 0);
    while (line.hierarchy && parse_pid_cgroup(&s, &line) != 0)
        ;
    if (line.hierarchy || line.deleted || scan_length(line.path) >= PATH_MAX / 2)
        return -ENOENT;
    char path[PATH_MAX / 2], above[PATH_MAX];
    snprintf(path, sizeof path, "%.*s", (int)scan_length(line.path), line.path.at);
    if (cgroup_path_below(path, "/..")) /* outside of our namespace */
        return -ENOENT;
    for (size_t i = 0; i < ARRAY_LEN(mounts); i++) {
        struct statfs fs;
        snprintf(above, sizeof above, "%s%s", mounts[i], strcmp(path, "/") == 0 ? "" : path);
        CLEANUP_CLOSE int dir = openat(o->root->root, above, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (dir < 0 || fstatfs(dir, &fs) < 0 || fs.f_type != CGROUP2_SUPER_MAGIC)
            continue;
        return own_hides_nothing(dir) ? own_add(o, above, path, true) : -EOPNOTSUPP;
    }
    return -ENOENT;
}

/* ---- In every hierarchy ---------------------------------------------------------------------- */

struct own_lone {
    unsigned count;
    bool has_self;
};

static void own_meet_lone(void *arg, pid_t pid)
{
    struct own_lone *lone = arg;
    lone->count++;
    lone->has_self |= pid == getpid();
}

static int own_read_pids(int dir, void (*meet)(void *arg, pid_t pid), void *arg)
{
    enum { LONGEST_PID = 16 };
    struct buf text = {0};
    int r = file_read_whole_at(dir, "cgroup.procs", LONGEST_PID, &text);
    struct scan rest = scan_text(text.data, r < 0 ? 0 : text.length), line;
    while (scan_line(&rest, &line)) {
        uint64_t pid;
        if (scan_u64(&line, &pid) && scan_done(&line) && pid <= INT_MAX)
            meet(arg, (pid_t)pid);
    }
    buf_done(&text);
    return r;
}

/* Version 2 gives controllers to the cgroups below only where no process is in the cgroup itself.
 * toll moves to one of its own if it is the only one. */
static int own_move_away(struct own_cgroup *o, int above, const char *above_name)
{
    struct own_lone lone = {0};
    if (o->supervisor || own_read_pids(above, own_meet_lone, &lone) < 0 || lone.count != 1 ||
        !lone.has_self)
        return -EBUSY;
    if (asprintf(&o->supervisor, "%s/%s%d.self", above_name, prefix, (int)getpid()) < 0) {
        o->supervisor = NULL;
        return -ENOMEM;
    }
    int r = mkdirat(o->root->root, o->supervisor, 0755) < 0 ? -errno : 0;
    CLEANUP_CLOSE int own =
        r < 0 ? -1 : openat(o->root->root, o->supervisor, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (r == 0)
        r = own < 0 ? -errno : own_write(own, "cgroup.procs", "0");
    if (r < 0) {
        unlinkat(o->root->root, o->supervisor, AT_REMOVEDIR);
        free(o->supervisor);
        o->supervisor = NULL;
    }
    return r;
}

/* Controllers for the cgroups below, as far as they are there and not enabled already. */
static void own_enable_controllers(struct own_cgroup *o, const char *above)
{
    static const char *const wanted[] = {"cpu", "memory", "io", "pids"};
    struct buf enabled = {0};
    CLEANUP_CLOSE int dir = openat(o->root->root, above, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    char has[512] = "", below[512] = "";
    if (dir < 0 || file_read_at(dir, "cgroup.controllers", has, sizeof has - 1) <= 0 ||
        file_read_at(dir, "cgroup.subtree_control", below, sizeof below - 1) < 0)
        return;
    for (size_t i = 0; i < ARRAY_LEN(wanted); i++) {
        char word[16];
        const char *at = strstr(has, wanted[i]);
        bool is_there = false;
        for (; at && !is_there; at = strstr(at + 1, wanted[i])) {
            char after = at[strlen(wanted[i])];
            is_there = (at == has || at[-1] == ' ') && (after == ' ' || after == '\n' || !after);
        }
        if (!is_there || strstr(below, wanted[i]))
            continue;
        snprintf(word, sizeof word, "+%s", wanted[i]);
        int r = own_write(dir, "cgroup.subtree_control", word);
        if (r == -EBUSY && own_move_away(o, dir, above) == 0)
            r = own_write(dir, "cgroup.subtree_control", word);
        if (r == 0)
            buf_printf(&enabled, "%s-%s", enabled.length ? " " : "", wanted[i]);
    }
    if (enabled.length && !buf_failed(&enabled))
        o->enabled = strdup(enabled.data);
    buf_done(&enabled);
}

/* *p becomes the directory that was made below it, if one was. */
static int own_replace_place(const struct own_cgroup *o, struct cgroup_place *p)
{
    for (size_t i = 0; p->directory && i < o->count; i++) {
        const struct own_cgroup_directory *d = &o->directories[i];
        const char *below = cgroup_path_below(d->directory, p->directory);
        if (!below || strchr(below + 1, '/'))
            continue;
        char *directory = strdup(d->directory), *path = strdup(d->path);
        if (!directory || !path) {
            free(directory);
            free(path);
            return -ENOMEM;
        }
        free(p->directory);
        free(p->path);
        p->directory = directory;
        p->path = path;
        p->is_root = false;
        return 0;
    }
    return 0;
}

static int own_open_whole(struct own_cgroup *o)
{
    /* A cpuset takes no process before it has CPUs; device, freezer and the like have no figures.
     */
    static const enum cgroup_controller wanted[] = {CGROUP_UNIFIED, CGROUP_CPUACCT, CGROUP_CPU,
                                                    CGROUP_MEMORY,  CGROUP_BLKIO,   CGROUP_PIDS};
    int r = cgroup_places_of_pid(&o->places, o->root, 0), first = 0;
    if (r < 0)
        return r;
    for (size_t i = 0; i < ARRAY_LEN(wanted); i++) {
        const struct cgroup_place *p = &o->places.at[wanted[i]];
        if (!p->directory)
            continue;
        if (p->v2)
            own_enable_controllers(o, p->directory);
        r = own_add(o, p->directory, p->path, p->v2);
        /* Kernels before 5.11 may count the cgroups below by themselves. */
        if (r == 0 && wanted[i] == CGROUP_MEMORY)
            own_write(o->directories[o->count - 1].dir, "memory.use_hierarchy", "1");
        first = r < 0 && !first ? r : first;
    }
    if (!o->count)
        return first ? first : -ENOENT;
    r = 0;
    for (unsigned c = 0; r == 0 && c < CGROUP_CONTROLLERS; c++)
        r = own_replace_place(o, &o->places.at[c]);
    return r;
}

/* ---- Limits ---------------------------------------------------------------------------------- */

/* In the first directory that has the file. -ENOENT: none has. */
static int own_limit(const struct own_cgroup *o, const char *name, const char *text)
{
    int r = -ENOENT;
    for (size_t i = 0; i < o->count && r == -ENOENT; i++)
        r = own_write(o->directories[i].dir, name, text);
    return r;
}

static int own_refuse(int why, const char *option, const char *controller, struct toll_error *e)
{
    return why == -ENOENT
               ? err_set(e, why,
                         "%s: cannot create a cgroup with the %s controller for the command (see "
                         "'toll doctor own-cgroup')",
                         option, controller)
               : err_set(e, why, "%s: the kernel refused the limit: %s", option, strerror(-why));
}

static int own_set_limits(const struct own_cgroup *o, const struct own_cgroup_limits *limits,
                          struct toll_error *e)
{
    enum { PERIOD_US = 100000 };
    char text[64];
    int r = 0;
    if (limits->memory_bytes) {
        snprintf(text, sizeof text, "%llu", (unsigned long long)limits->memory_bytes);
        r = own_limit(o, "memory.max", text);
        if (r == -ENOENT)
            r = own_limit(o, "memory.limit_in_bytes", text);
        if (r < 0)
            return own_refuse(r, "memory_max", "memory", e);
    }
    if (limits->tasks) {
        snprintf(text, sizeof text, "%llu", (unsigned long long)limits->tasks);
        r = own_limit(o, "pids.max", text);
        if (r < 0)
            return own_refuse(r, "pids_max", "pids", e);
    }
    if (limits->cores > 0) {
        unsigned long long quota = (unsigned long long)(limits->cores * PERIOD_US + 0.5);
        snprintf(text, sizeof text, "%llu %d", quota, PERIOD_US);
        r = own_limit(o, "cpu.max", text);
        if (r == -ENOENT) {
            snprintf(text, sizeof text, "%d", PERIOD_US);
            r = own_limit(o, "cpu.cfs_period_us", text);
            snprintf(text, sizeof text, "%llu", quota);
            r = r < 0 ? r : own_limit(o, "cpu.cfs_quota_us", text);
        }
        if (r < 0)
            return own_refuse(r, "cpu_max", "cpu", e);
    }
    return 0;
}

int own_cgroup_open(struct own_cgroup *ret, const struct sysroot *root, bool whole,
                    const struct own_cgroup_limits *limits, struct toll_error *e)
{
    struct own_cgroup o = OWN_CGROUP_NONE;
    pid_t left;
    o.root = root;
    o.is_quiet = !whole;
    int r = whole ? own_open_whole(&o) : own_open_quiet(&o);
    if (r < 0)
        err_set(e, r, "cannot create a cgroup for the command: %s (see 'toll doctor own-cgroup')",
                r == -ENOENT   ? "no cgroup hierarchy is mounted"
                : r == -EROFS  ? "cgroups are mounted read-only"
                : r == -EACCES ? "the cgroup is not delegated to this user"
                               : strerror(-r));
    if (r == 0)
        r = own_set_limits(&o, limits, e);
    if (r < 0) {
        own_cgroup_remove(&o, &left);
        own_cgroup_close(&o);
        return r;
    }
    own_open_cpu(&o);
    *ret = o;
    return 0;
}

/* ---- Members --------------------------------------------------------------------------------- */

bool own_cgroup_needs_join(const struct own_cgroup *o)
{
    return o->count > (o->dir >= 0);
}

/* By its parent, not by itself: a write would count as the command's. */
int own_cgroup_join(const struct own_cgroup *o, pid_t pid, bool born_inside)
{
    for (size_t i = 0; i < o->count; i++) {
        if (o->directories[i].v2 && born_inside)
            continue;
        int r = own_write_number(o->directories[i].dir, "cgroup.procs", (uint64_t)pid);
        if (r < 0)
            return r;
    }
    return 0;
}

struct own_meeting {
    void (*meet)(void *arg, pid_t pid);
    void *arg;
};

static void own_meet_directory(void *arg, int dir)
{
    const struct own_meeting *m = arg;
    own_read_pids(dir, m->meet, m->arg);
}

int own_cgroup_each_pid(const struct own_cgroup *o, void (*meet)(void *arg, pid_t pid), void *arg)
{
    if (o->cpu < 0 || o->directories[o->cpu_at].dir < 0)
        return -ENOENT;
    struct own_meeting m = {meet, arg};
    cgroup_walk_from(o->directories[o->cpu_at].dir, own_meet_directory, &m);
    return 0;
}

bool own_cgroup_counts(const struct own_cgroup *o, struct scan text)
{
    const struct own_cgroup_directory *d = &o->directories[o->cpu_at];
    struct pid_cgroup line;
    int more;
    size_t length = strlen(d->path);
    while ((more = parse_pid_cgroup(&text, &line)) != 0) {
        bool is_it = more > 0 &&
                     (d->v2 ? line.hierarchy == 0 : comma_list_has(line.controllers, "cpuacct"));
        if (is_it)
            return scan_length(line.path) >= length && memcmp(line.path.at, d->path, length) == 0 &&
                   (scan_length(line.path) == length || line.path.at[length] == '/');
    }
    return true;
}

/* ---- CPU time -------------------------------------------------------------------------------- */

/* usage_usec 1234
 * user_usec 1000
 * system_usec 234 */
static int parse_own_cgroup_cpu(struct scan text, struct own_cgroup_cpu *ret)
{
    static const char *const keys[] = {"usage_usec", "user_usec", "system_usec"};
    uint64_t values[ARRAY_LEN(keys)];
    int seen = parse_cgroup_flat(text, keys, ARRAY_LEN(keys), values);
    if (seen < 0 || !(seen & 1) || values[0] > UINT64_MAX / NS_PER_US)
        return -EBADMSG;
    *ret = (struct own_cgroup_cpu){.cpu_ns = values[0] * NS_PER_US};
    ret->has_kinds = seen == 7 && values[1] <= values[0] && values[2] <= values[0];
    if (ret->has_kinds) {
        ret->user_ns = values[1] * NS_PER_US;
        ret->system_ns = values[2] * NS_PER_US;
    }
    return 0;
}

int own_cgroup_read_cpu(const struct own_cgroup *o, struct own_cgroup_cpu *ret)
{
    char text[2048];
    if (o->cpu < 0)
        return -ENOENT;
    ssize_t n = file_reread(o->cpu, text, sizeof text);
    if (n < 0)
        return (int)n;
    struct scan s = scan_text(text, (size_t)n);
    if (o->directories[o->cpu_at].v2)
        return parse_own_cgroup_cpu(s, ret);
    *ret = (struct own_cgroup_cpu){0};
    return scan_u64(&s, &ret->cpu_ns) ? 0 : -EBADMSG;
}

/* ---- Removing -------------------------------------------------------------------------------- */

struct own_search {
    bool found;
    pid_t first;
};

static void own_find_pid(void *arg, pid_t pid)
{
    struct own_search *s = arg;
    s->first = s->first ? s->first : pid;
    s->found = true;
}

static void own_remove_below(void *arg, const char *name)
{
    int above = *(const int *)arg;
    CLEANUP_CLOSE int dir = openat(above, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (dir < 0)
        return; /* a file */
    file_each_entry(dir, own_remove_below, &dir);
    unlinkat(above, name, AT_REMOVEDIR);
}

/* Deepest first, if no process is in any of them: what the command made below is of use to the
 * processes it left. */
static int own_remove_tree(int parent, const char *name, int dir, pid_t *ret_pid)
{
    struct own_search s = {0};
    struct own_meeting m = {own_find_pid, &s};
    struct stat st;
    cgroup_walk_from(dir, own_meet_directory, &m);
    *ret_pid = s.first;
    if (s.found)
        return -EBUSY;
    if (fstat(dir, &st) == 0 && st.st_nlink != 2)
        file_each_entry(dir, own_remove_below, &dir);
    return unlinkat(parent, name, AT_REMOVEDIR) < 0 && errno != ENOENT ? -errno : 0;
}

/* The cgroup that it was made below. */
static int own_open_above(const struct own_cgroup *o, const struct own_cgroup_directory *d)
{
    char above[PATH_MAX];
    snprintf(above, sizeof above, "%.*s", (int)(strrchr(d->directory, '/') - d->directory),
             d->directory);
    return openat(o->root->root, above, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

/* Back to where toll was, for the controllers that were given to the cgroups below. */
static void own_move_back(struct own_cgroup *o)
{
    for (size_t i = 0; i < o->count; i++) {
        if (!o->directories[i].v2 || (!o->enabled && !o->supervisor))
            continue;
        CLEANUP_CLOSE int dir = own_open_above(o, &o->directories[i]);
        if (dir < 0)
            return;
        if (o->enabled)
            own_write(dir, "cgroup.subtree_control", o->enabled);
        if (o->supervisor && own_write(dir, "cgroup.procs", "0") == 0)
            unlinkat(o->root->root, o->supervisor, AT_REMOVEDIR);
    }
}

/* Controllers first: where they are given to the cgroups below, no process may be above. */
void own_cgroup_leave(struct own_cgroup *o, pid_t pid)
{
    own_move_back(o);
    for (size_t i = 0; i < o->count; i++) {
        CLEANUP_CLOSE int dir = own_open_above(o, &o->directories[i]);
        if (dir >= 0)
            own_write_number(dir, "cgroup.procs", (uint64_t)pid);
    }
}

int own_cgroup_remove(struct own_cgroup *o, pid_t *ret_pid)
{
    int result = 0;
    *ret_pid = 0;
    for (size_t i = 0; i < o->count; i++) {
        struct own_cgroup_directory *d = &o->directories[i];
        pid_t pid;
        if (d->dir < 0)
            continue;
        int r = own_remove_tree(o->root->root, d->directory, d->dir, &pid);
        if (r == 0)
            continue;
        result = r;
        *ret_pid = *ret_pid ? *ret_pid : pid;
    }
    if (result == 0)
        own_move_back(o);
    return result;
}

struct own_stale {
    int above;
    const char *own;
};

static void own_remove_if_stale(void *arg, const char *name)
{
    const struct own_stale *s = arg;
    struct stat st;
    pid_t pid;
    size_t length = sizeof prefix - 1;
    if (strncmp(name, prefix, length) != 0 || name[length] < '0' || name[length] > '9' ||
        strcmp(name, s->own) == 0)
        return;
    CLEANUP_CLOSE int dir = openat(s->above, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (dir < 0 || fstat(dir, &st) < 0 || st.st_uid != geteuid() ||
        flock(dir, LOCK_EX | LOCK_NB) < 0)
        return;
    own_remove_tree(s->above, name, dir, &pid);
}

void own_cgroup_remove_stale(const struct own_cgroup *o)
{
    for (size_t i = 0; i < o->count; i++) {
        const char *slash = strrchr(o->directories[i].directory, '/');
        struct stat st;
        CLEANUP_CLOSE int dir = own_open_above(o, &o->directories[i]);
        /* Its own two links, and one for the directory that was just made. */
        if (dir < 0 || (fstat(dir, &st) == 0 && st.st_nlink == 3))
            continue;
        struct own_stale s = {dir, slash + 1};
        file_each_entry(dir, own_remove_if_stale, &s);
    }
}

void own_cgroup_close(struct own_cgroup *o)
{
    for (size_t i = 0; i < o->count; i++) {
        free(o->directories[i].directory);
        free(o->directories[i].path);
        close_p(&o->directories[i].dir);
    }
    close_p(&o->cpu);
    cgroup_places_done(&o->places);
    free(o->supervisor);
    free(o->enabled);
    *o = OWN_CGROUP_NONE;
}
