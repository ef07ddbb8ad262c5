/* SPDX-License-Identifier: MIT */
#include "source/cgroup/place.h"

#include "base/err.h"
#include "base/io/file.h"
#include "base/memory.h"
#include "base/util.h"
#include "source/kernel_file.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>

/* ==== Cgroup walk ============================================================================= */

enum { MOST_LEVELS = 32 }; /* each takes a buffer of the stack */

struct walk_level {
    int dir;
    unsigned depth;
    void (*visit)(void *arg, int dir);
    void *arg;
};

static void cgroup_walk_level(const struct walk_level *l);

static void cgroup_walk_enter(void *arg, const char *name)
{
    const struct walk_level *above = arg;
    CLEANUP_CLOSE int dir = openat(above->dir, name,
                                   O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (dir < 0)
        return; /* a file, or removed in this moment */
    struct walk_level l = *above;
    l.dir = dir;
    l.depth++;
    cgroup_walk_level(&l);
}

static void cgroup_walk_level(const struct walk_level *l)
{
    l->visit(l->arg, l->dir);
    /* A directory has two links of its own and one for each directory in it; some filesystems
     * always say 1. */
    struct walk_level here = *l;
    struct stat st;
    if (l->depth < MOST_LEVELS && fstat(l->dir, &st) == 0 && st.st_nlink != 2)
        file_each_entry(l->dir, cgroup_walk_enter, &here);
}

void cgroup_walk_from(int dir, void (*visit)(void *arg, int dir), void *arg)
{
    cgroup_walk_level(&(struct walk_level){.dir = dir, .visit = visit, .arg = arg});
}

int cgroup_walk(const struct sysroot *root, const char *directory,
                void (*visit)(void *arg, int dir), void *arg)
{
    CLEANUP_CLOSE int dir = openat(root->root, directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (dir < 0)
        return -errno;
    cgroup_walk_from(dir, visit, arg);
    return 0;
}

/* ==== Cgroup mounts =========================================================================== */

const char *cgroup_path_below(const char *path, const char *above)
{
    size_t length = strlen(above);
    while (length && above[length - 1] == '/')
        length--;
    if (strncmp(path, above, length) != 0)
        return NULL;
    const char *rest = path + length;
    if (strcmp(rest, "/") == 0)
        return rest + 1;
    return *rest == '\0' || *rest == '/' ? rest : NULL;
}

static bool cgroup_mounts_is_word(struct scan field, const char *word)
{
    return scan_word(&field, word) && scan_done(&field);
}

static char *cgroup_mounts_copy_path(struct scan field)
{
    char path[PATH_MAX];
    return *field.at != '/' || mountinfo_decode(field, path, sizeof path) < 0 ? NULL : strdup(path);
}

static void mounted_hierarchy_done(struct mounted_hierarchy *h)
{
    free(h->root);
    free(h->point);
    free(h->options);
}

static int cgroup_mounts_add(struct cgroup_mounts *m, const struct mountinfo *found)
{
    if (!ARRAY_GROW(m->list, m->count))
        return -ENOMEM;
    struct scan options = found->super_options;
    struct mounted_hierarchy h = {
        .v2 = cgroup_mounts_is_word(found->type, "cgroup2"),
        .root = cgroup_mounts_copy_path(found->root),
        .point = cgroup_mounts_copy_path(found->point),
        .options = scan_copy(options),
    };
    if (h.root && h.point && h.options)
        m->list[m->count++] = h;
    else
        mounted_hierarchy_done(&h);
    return 0;
}

int cgroup_mounts_read(struct cgroup_mounts *ret, const struct sysroot *root)
{
    struct buf text = {0};
    struct cgroup_mounts m = {0};
    int r = file_read_whole_at(root->proc, "self/mountinfo", FILE_ANY_LINE, &text);
    struct scan s = scan_text(text.data, text.length);
    struct mountinfo found;
    while (r == 0 && mountinfo_next(&s, &found))
        if (cgroup_mounts_is_word(found.type, "cgroup") ||
            cgroup_mounts_is_word(found.type, "cgroup2"))
            r = cgroup_mounts_add(&m, &found);
    buf_done(&text);
    if (r < 0)
        cgroup_mounts_done(&m);
    else
        *ret = m;
    return r;
}

void cgroup_mounts_done(struct cgroup_mounts *m)
{
    for (size_t i = 0; i < m->count; i++)
        mounted_hierarchy_done(&m->list[i]);
    free(m->list);
    *m = (struct cgroup_mounts){0};
}

/* ==== Pid cgroup ============================================================================== */

/* 12:memory:/system.slice/cron.service
 * 4:cpu,cpuacct:/
 * 1:name=systemd:/system.slice/cron.service
 * 0::/system.slice/cron.service
 *
 * A path begins with "/.." when it is outside of the reader's cgroup namespace, and ends with
 * " (deleted)" when the directory is gone. The kernel allows no newline in a name. */

static bool pid_cgroup_cut(struct scan *s, struct scan *ret)
{
    const char *colon = memchr(s->at, ':', scan_length(*s));
    if (!colon)
        return false;
    *ret = (struct scan){.at = s->at, .end = colon};
    s->at = colon + 1;
    return true;
}

int parse_pid_cgroup(struct scan *text, struct pid_cgroup *ret)
{
    struct scan line, number;
    if (!scan_line(text, &line) || line.end == text->at) /* without its newline it was cut */
        return 0;
    struct pid_cgroup p = {0};
    if (!pid_cgroup_cut(&line, &number) || !pid_cgroup_cut(&line, &p.controllers) ||
        !scan_u64(&number, &p.hierarchy) || !scan_done(&number) || scan_done(&line) ||
        *line.at != '/')
        return -EBADMSG;
    static const char mark[] = " (deleted)";
    size_t length = sizeof mark - 1;
    p.path = line;
    p.deleted = scan_length(line) > length && memcmp(line.end - length, mark, length) == 0;
    if (p.deleted)
        p.path.end -= length;
    *ret = p;
    return 1;
}

uint64_t pid_cgroup_hash(const char *text, size_t length)
{
    uint64_t hash = 14695981039346656037U; /* FNV-1a */
    for (size_t i = 0; i < length; i++)
        hash = (hash ^ (unsigned char)text[i]) * 1099511628211U;
    return length ? hash : 0;
}

/* ==== Cgroup place ============================================================================ */

static const char *const cgroup_controller_words[CGROUP_OTHER] = {
    [CGROUP_MEMORY] = "memory", [CGROUP_CPU] = "cpu",   [CGROUP_CPUACCT] = "cpuacct",
    [CGROUP_BLKIO] = "blkio",   [CGROUP_PIDS] = "pids", [CGROUP_CPUSET] = "cpuset",
};

/* One call of the kernel: there may be a dozen hierarchies, and a job may be waiting. */
static bool cgroup_place_has_file(const struct sysroot *root, const char *directory,
                                  const char *name)
{
    char path[PATH_MAX];
    int n = snprintf(path, sizeof path, "%s/%s", directory, name);
    return n < (int)sizeof path && faccessat(root->root, path, F_OK, 0) == 0;
}

static void cgroup_place_done(struct cgroup_place *p)
{
    free(p->directory);
    free(p->path);
    *p = (struct cgroup_place){0};
}

/* The directory `below` ("" or "/job") in a mounted hierarchy. 0, -ENOENT when it is not that of a
 * cgroup, -ENOMEM. */
static int cgroup_place_init(struct cgroup_place *ret, const struct sysroot *root,
                             const struct mounted_hierarchy *h, const char *below)
{
    const char *point = h->point + strspn(h->point, "/");
    const char *top = strcmp(h->root, "/") == 0 ? "" : h->root;
    struct cgroup_place p = {.v2 = h->v2};
    if (asprintf(&p.directory, "%s%s", *point ? point : ".", below) < 0)
        p.directory = NULL;
    if (asprintf(&p.path, "%s%s", top, *top || *below ? below : "/") < 0)
        p.path = NULL;
    p.mount_length = *point ? strlen(point) : 1;
    int r = p.directory && p.path ? 0 : -ENOMEM;
    /* The root of a hierarchy has files that no other cgroup has, or lacks one that all others
     * have. A container may see its own cgroup as "/", so the path is not enough. */
    const char *mount = *point ? point : ".";
    p.sees_root = r == 0 && !*top &&
                  (h->v2 ? !cgroup_place_has_file(root, mount, "cgroup.events") &&
                               cgroup_place_has_file(root, mount, "cgroup.procs")
                         : cgroup_place_has_file(root, mount, "release_agent") ||
                               cgroup_place_has_file(root, mount, "cgroup.sane_behavior"));
    p.is_root = p.sees_root && !*below;
    if (r == 0 && !p.is_root && !cgroup_place_has_file(root, p.directory, "cgroup.procs"))
        r = -ENOENT;
    if (r < 0) {
        cgroup_place_done(&p);
        return r;
    }
    *ret = p;
    return 0;
}

static unsigned cgroup_place_depth(const struct cgroup_place *p)
{
    unsigned depth = 0;
    for (const char *c = p->path; c && *c; c++)
        depth += *c == '/' && c[1];
    return depth;
}

/* Takes ownership of p. Of several hierarchies without figures the deepest place is kept. */
static void cgroup_places_keep(struct cgroup_places *places, enum cgroup_controller controller,
                               struct cgroup_place *p)
{
    struct cgroup_place *at = &places->at[controller];
    if (at->directory &&
        (controller != CGROUP_OTHER || cgroup_place_depth(at) >= cgroup_place_depth(p))) {
        cgroup_place_done(p);
        return;
    }
    cgroup_place_done(at);
    *at = *p;
}

static enum cgroup_controller cgroup_controller_of(struct scan word)
{
    for (unsigned c = 0; c < CGROUP_OTHER; c++) {
        struct scan s = word;
        if (cgroup_controller_words[c] && scan_word(&s, cgroup_controller_words[c]) &&
            scan_done(&s))
            return (enum cgroup_controller)c;
    }
    return CGROUP_OTHER;
}

/* ---- Of a process ---------------------------------------------------------------------------- */

static int cgroup_places_add(struct cgroup_places *places, const struct sysroot *root,
                             const struct cgroup_mounts *mounts, struct scan word, bool v2,
                             const char *path)
{
    CLEANUP_FREE char *name = scan_copy(word);
    if (!name)
        return -ENOMEM;
    for (size_t i = 0; i < mounts->count; i++) {
        const struct mounted_hierarchy *h = &mounts->list[i];
        if (h->v2 != v2 || (!v2 && !comma_list_has(scan_string(h->options), name)))
            continue;
        const char *below = cgroup_path_below(path, h->root);
        if (below && !*below && !v2 && cgroup_controller_of(word) == CGROUP_OTHER)
            return 0; /* neither figures nor a cgroup of its own */
        struct cgroup_place p;
        int r = below ? cgroup_place_init(&p, root, h, below) : -ENOENT;
        if (r == 0)
            cgroup_places_keep(places, v2 ? CGROUP_UNIFIED : cgroup_controller_of(word), &p);
        if (r != -ENOENT)
            return r;
    }
    return 0;
}

static int cgroup_places_add_line(struct cgroup_places *places, const struct sysroot *root,
                                  const struct cgroup_mounts *mounts, const struct pid_cgroup *line)
{
    CLEANUP_FREE char *path = scan_copy(line->path);
    if (!path)
        return -ENOMEM;
    if (line->deleted || cgroup_path_below(path, "/..")) /* outside of our namespace */
        return 0;
    bool v2 = scan_done(&line->controllers);
    struct scan list = line->controllers, word = list;
    if (v2)
        return line->hierarchy ? 0 : cgroup_places_add(places, root, mounts, word, true, path);
    int r = 0;
    while (r == 0 && comma_list_next(&list, &word))
        r = cgroup_places_add(places, root, mounts, word, false, path);
    return r;
}

static int cgroup_places_finish(struct cgroup_places *ret, struct cgroup_places *places, int r)
{
    if (r == 0 && !cgroup_place_main(places))
        r = -ENOENT;
    if (r < 0)
        cgroup_places_done(places);
    else
        *ret = *places;
    return r;
}

int cgroup_places_of_pid(struct cgroup_places *ret, const struct sysroot *root, pid_t pid)
{
    char name[32] = "self/cgroup";
    if (pid)
        snprintf(name, sizeof name, "%d/cgroup", (int)pid);
    struct buf text = {0};
    struct cgroup_mounts mounts = {0};
    struct cgroup_places places = {0};
    int r = file_read_whole_at(pid ? root->pids : root->proc, name, FILE_ANY_LINE, &text);
    if (r == 0)
        r = cgroup_mounts_read(&mounts, root);
    struct scan s = scan_text(text.data, text.length);
    struct pid_cgroup line;
    int more;
    while (r == 0 && (more = parse_pid_cgroup(&s, &line)) != 0)
        if (more > 0)
            r = cgroup_places_add_line(&places, root, &mounts, &line);
    places.hash = pid_cgroup_hash(text.data, text.length);
    buf_done(&text);
    cgroup_mounts_done(&mounts);
    return cgroup_places_finish(ret, &places, r);
}

/* ---- By name --------------------------------------------------------------------------------- */

/* "/job" of "job", "/job/" and of the directory /sys/fs/cgroup/memory/job. The caller frees. */
static char *cgroup_places_path(const struct cgroup_mounts *mounts, const char *path)
{
    size_t length = strlen(path);
    while (length && path[length - 1] == '/')
        length--;
    CLEANUP_FREE char *whole = NULL;
    if (asprintf(&whole, "%s%.*s", *path == '/' ? "" : "/", (int)length, path) < 0) {
        whole = NULL;
        return NULL;
    }
    const char *shortest = strcmp(whole, "/") == 0 ? "" : whole;
    for (size_t i = 0; i < mounts->count; i++) {
        const char *below = cgroup_path_below(whole, mounts->list[i].point);
        if (below && strlen(below) < strlen(shortest))
            shortest = below;
    }
    return strdup(shortest);
}

/* The path may begin with what of the hierarchy is not mounted, as in /proc/PID/cgroup. */
static int cgroup_places_find_one(struct cgroup_places *places, const struct sysroot *root,
                                  const struct mounted_hierarchy *h,
                                  enum cgroup_controller controller, const char *path)
{
    const char *below = cgroup_path_below(path, h->root);
    struct cgroup_place p;
    int r = below ? cgroup_place_init(&p, root, h, below) : -ENOENT;
    if (r == -ENOENT && below != path)
        r = cgroup_place_init(&p, root, h, path);
    if (r == 0)
        cgroup_places_keep(places, controller, &p);
    return r == -ENOENT ? 0 : r;
}

static int cgroup_places_find(struct cgroup_places *places, const struct sysroot *root,
                              const struct mounted_hierarchy *h, const char *path)
{
    if (h->v2)
        return cgroup_places_find_one(places, root, h, CGROUP_UNIFIED, path);
    bool has_figures = false;
    int r = 0;
    for (unsigned c = 0; r == 0 && c < CGROUP_OTHER; c++) {
        if (!cgroup_controller_words[c] ||
            !comma_list_has(scan_string(h->options), cgroup_controller_words[c]))
            continue;
        has_figures = true;
        r = cgroup_places_find_one(places, root, h, (enum cgroup_controller)c, path);
    }
    return has_figures ? r : cgroup_places_find_one(places, root, h, CGROUP_OTHER, path);
}

static int cgroup_places_not_found(const struct sysroot *root, const struct cgroup_mounts *mounts,
                                   const char *path, struct toll_error *e)
{
    if (!mounts->count)
        return err_set(e, -ENOENT, "cgroup: no cgroup '%s': no cgroup hierarchy is mounted", path);
    const char *below_root = path + strspn(path, "/");
    if (*path == '/' && *below_root && faccessat(root->root, below_root, F_OK, 0) == 0)
        return err_set(
            e, -EINVAL,
            "cgroup: '%s' is not a cgroup (expected a directory below %s, or a path inside it)",
            path, mounts->list[0].point);
    return err_set(
        e, -ENOENT, "cgroup: no cgroup '%s' below %s%s (expected a path as in /proc/PID/cgroup)",
        path, mounts->list[0].point, mounts->count > 1 ? " or in the other hierarchies" : "");
}

int cgroup_places_of_path(struct cgroup_places *ret, const struct sysroot *root, const char *path,
                          struct toll_error *e)
{
    bool is_valid = *path;
    for (const char *at = path; (at = strstr(at, "..")); at += 2)
        is_valid &= !((at == path || at[-1] == '/') && (at[2] == '/' || at[2] == '\0'));
    if (!is_valid)
        return err_set(e, -EINVAL,
                       "cgroup: invalid path '%s' (expected one that is not empty and has no '..')",
                       path);
    struct cgroup_mounts mounts = {0};
    struct cgroup_places places = {0};
    int r = cgroup_mounts_read(&mounts, root);
    CLEANUP_FREE char *inside = r < 0 ? NULL : cgroup_places_path(&mounts, path);
    if (r == 0 && !inside)
        r = -ENOMEM;
    for (size_t i = 0; r == 0 && i < mounts.count; i++)
        r = cgroup_places_find(&places, root, &mounts.list[i], inside);
    bool failed = r < 0;
    r = cgroup_places_finish(ret, &places, r);
    if (failed)
        err_set(e, r, "cgroup: cannot find '%s': %s", path, strerror(-r));
    else if (r < 0)
        r = cgroup_places_not_found(root, &mounts, path, e);
    cgroup_mounts_done(&mounts);
    return r;
}

/* ---- Places ---------------------------------------------------------------------------------- */

void cgroup_places_done(struct cgroup_places *p)
{
    for (unsigned c = 0; c < CGROUP_CONTROLLERS; c++)
        cgroup_place_done(&p->at[c]);
}

const struct cgroup_place *cgroup_place_for(const struct cgroup_places *p,
                                            enum cgroup_controller controller)
{
    const struct cgroup_place *own = &p->at[controller], *unified = &p->at[CGROUP_UNIFIED];
    if (own->directory && !own->is_root)
        return own;
    return unified->directory && !unified->is_root ? unified : NULL;
}

const struct cgroup_place *cgroup_place_main(const struct cgroup_places *p)
{
    const struct cgroup_place *first = NULL;
    for (unsigned c = 0; c < CGROUP_CONTROLLERS; c++) {
        if (!p->at[c].directory)
            continue;
        if (!p->at[c].is_root)
            return &p->at[c];
        first = first ? first : &p->at[c];
    }
    return first;
}

const struct cgroup_place *cgroup_place_deepest(const struct cgroup_places *p)
{
    const struct cgroup_place *best = cgroup_place_main(p);
    for (unsigned c = 0; c < CGROUP_CONTROLLERS; c++)
        if (p->at[c].directory && cgroup_place_depth(&p->at[c]) > cgroup_place_depth(best))
            best = &p->at[c];
    return best;
}
