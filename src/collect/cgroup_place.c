/* SPDX-License-Identifier: MIT */
#include "collect/cgroup_place.h"

#include "base/err.h"
#include "base/file.h"
#include "collect/cgroup_mounts.h"
#include "parse/comma_list.h"
#include "parse/pid_cgroup.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>

static const char *const controller_words[CGROUP_OTHER] = {
    [CGROUP_MEMORY] = "memory", [CGROUP_CPU] = "cpu",   [CGROUP_CPUACCT] = "cpuacct",
    [CGROUP_BLKIO] = "blkio",   [CGROUP_PIDS] = "pids", [CGROUP_CPUSET] = "cpuset",
};

/* One call for each question: there may be a dozen hierarchies, and a job may be waiting. */
static bool has_file(const struct sysroot *root, const char *directory, const char *name)
{
    char path[PATH_MAX];
    int n = snprintf(path, sizeof path, "%s/%s", directory, name);
    return n < (int)sizeof path && faccessat(root->root, path, F_OK, 0) == 0;
}

/* The root of everything has files that no other cgroup has, or lacks one that all others have. In
 * a namespace of its own a container sees its cgroup as "/" too, so the path does not tell. */
static bool is_hierarchy_root(const struct sysroot *root, const char *directory, bool v2)
{
    if (v2)
        return !has_file(root, directory, "cgroup.events") &&
               has_file(root, directory, "cgroup.procs");
    return has_file(root, directory, "release_agent") ||
           has_file(root, directory, "cgroup.sane_behavior");
}

static void place_done(struct cgroup_place *p)
{
    free(p->directory);
    free(p->path);
    *p = (struct cgroup_place){0};
}

/* The directory `below` ("" or "/job") in a mounted hierarchy. 0, -ENOENT when it is none of a
 * cgroup, -ENOMEM. */
static int place_init(struct cgroup_place *ret, const struct sysroot *root,
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
    p.sees_root = r == 0 && !*top && is_hierarchy_root(root, *point ? point : ".", h->v2);
    p.is_root = p.sees_root && !*below;
    if (r == 0 && !p.is_root && !has_file(root, p.directory, "cgroup.procs"))
        r = -ENOENT;
    if (r < 0) {
        place_done(&p);
        return r;
    }
    *ret = p;
    return 0;
}

static unsigned depth_of(const struct cgroup_place *p)
{
    unsigned depth = 0;
    for (const char *c = p->path; c && *c; c++)
        depth += *c == '/' && c[1];
    return depth;
}

/* Takes p. Of several hierarchies without figures the one farthest down is kept. */
static void keep_place(struct cgroup_places *places, enum cgroup_controller controller,
                       struct cgroup_place *p)
{
    struct cgroup_place *at = &places->at[controller];
    if (at->directory && (controller != CGROUP_OTHER || depth_of(at) >= depth_of(p))) {
        place_done(p);
        return;
    }
    place_done(at);
    *at = *p;
}

static enum cgroup_controller controller_of(struct scan word)
{
    for (unsigned c = 0; c < CGROUP_OTHER; c++) {
        struct scan s = word;
        if (controller_words[c] && scan_word(&s, controller_words[c]) && scan_done(&s))
            return (enum cgroup_controller)c;
    }
    return CGROUP_OTHER;
}

/* ---- Of a process ---------------------------------------------------------------------------- */

static int add_place(struct cgroup_places *places, const struct sysroot *root,
                     const struct cgroup_mounts *mounts, struct scan word, bool v2,
                     const char *path)
{
    CLEANUP_FREE char *name = strndup(word.at, (size_t)(word.end - word.at));
    if (!name)
        return -ENOMEM;
    for (size_t i = 0; i < mounts->count; i++) {
        const struct mounted_hierarchy *h = &mounts->list[i];
        if (h->v2 != v2 || (!v2 && !comma_list_has(scan_string(h->options), name)))
            continue;
        const char *below = cgroup_path_below(path, h->root);
        if (below && !*below && !v2 && controller_of(word) == CGROUP_OTHER)
            return 0; /* neither figures nor a cgroup of its own */
        struct cgroup_place p;
        int r = below ? place_init(&p, root, h, below) : -ENOENT;
        if (r == 0)
            keep_place(places, v2 ? CGROUP_UNIFIED : controller_of(word), &p);
        if (r != -ENOENT)
            return r;
    }
    return 0;
}

static int add_line(struct cgroup_places *places, const struct sysroot *root,
                    const struct cgroup_mounts *mounts, const struct pid_cgroup *line)
{
    CLEANUP_FREE char *path = strndup(line->path.at, (size_t)(line->path.end - line->path.at));
    if (!path)
        return -ENOMEM;
    if (line->deleted || cgroup_path_below(path, "/..")) /* outside of our namespace */
        return 0;
    bool v2 = scan_done(&line->controllers);
    struct scan list = line->controllers, word = list;
    if (v2)
        return line->hierarchy ? 0 : add_place(places, root, mounts, word, true, path);
    int r = 0;
    while (r == 0 && comma_list_next(&list, &word))
        r = add_place(places, root, mounts, word, false, path);
    return r;
}

static int finish(struct cgroup_places *ret, struct cgroup_places *places, int r)
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
            r = add_line(&places, root, &mounts, &line);
    buf_done(&text);
    cgroup_mounts_done(&mounts);
    return finish(ret, &places, r);
}

/* ---- By name --------------------------------------------------------------------------------- */

/* "/job" of "job", "/job/" and of the directory /sys/fs/cgroup/memory/job. The caller frees. */
static char *path_in_hierarchies(const struct cgroup_mounts *mounts, const char *path)
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

/* A path may be meant as /proc/PID/cgroup has it, with what is not mounted in front. */
static int find_one(struct cgroup_places *places, const struct sysroot *root,
                    const struct mounted_hierarchy *h, enum cgroup_controller controller,
                    const char *path)
{
    const char *below = cgroup_path_below(path, h->root);
    struct cgroup_place p;
    int r = below ? place_init(&p, root, h, below) : -ENOENT;
    if (r == -ENOENT && below != path)
        r = place_init(&p, root, h, path);
    if (r == 0)
        keep_place(places, controller, &p);
    return r == -ENOENT ? 0 : r;
}

static int find_in(struct cgroup_places *places, const struct sysroot *root,
                   const struct mounted_hierarchy *h, const char *path)
{
    if (h->v2)
        return find_one(places, root, h, CGROUP_UNIFIED, path);
    bool has_figures = false;
    int r = 0;
    for (unsigned c = 0; r == 0 && c < CGROUP_OTHER; c++) {
        if (!controller_words[c] || !comma_list_has(scan_string(h->options), controller_words[c]))
            continue;
        has_figures = true;
        r = find_one(places, root, h, (enum cgroup_controller)c, path);
    }
    return has_figures ? r : find_one(places, root, h, CGROUP_OTHER, path);
}

static bool has_parent_steps(const char *path)
{
    for (const char *at = path; (at = strstr(at, "..")); at += 2)
        if ((at == path || at[-1] == '/') && (at[2] == '/' || at[2] == '\0'))
            return true;
    return false;
}

static int say_not_found(const struct sysroot *root, const struct cgroup_mounts *mounts,
                         const char *path, struct toll_error *e)
{
    if (!mounts->count)
        return err_set(e, -ENOENT, "there is no cgroup %s: no cgroup hierarchy is mounted here",
                       path);
    const char *below_root = path + strspn(path, "/");
    if (*path == '/' && *below_root && faccessat(root->root, below_root, F_OK, 0) == 0)
        return err_set(e, -EINVAL, "%s is no cgroup: give a directory below %s, or a path in it",
                       path, mounts->list[0].point);
    return err_set(e, -ENOENT, "there is no cgroup %s: it was looked for below %s%s", path,
                   mounts->list[0].point, mounts->count > 1 ? " and in the other hierarchies" : "");
}

int cgroup_places_of_path(struct cgroup_places *ret, const struct sysroot *root, const char *path,
                          struct toll_error *e)
{
    if (!*path || has_parent_steps(path))
        return err_set(e, -EINVAL, "'%s' is no path of a cgroup: it is empty or has .. in it",
                       path);
    struct cgroup_mounts mounts = {0};
    struct cgroup_places places = {0};
    int r = cgroup_mounts_read(&mounts, root);
    CLEANUP_FREE char *inside = r < 0 ? NULL : path_in_hierarchies(&mounts, path);
    if (r == 0 && !inside)
        r = -ENOMEM;
    for (size_t i = 0; r == 0 && i < mounts.count; i++)
        r = find_in(&places, root, &mounts.list[i], inside);
    bool failed = r < 0;
    r = finish(ret, &places, r);
    if (failed)
        err_set(e, r, "cannot look for the cgroup %s: %s", path, strerror(-r));
    else if (r < 0)
        r = say_not_found(root, &mounts, path, e);
    cgroup_mounts_done(&mounts);
    return r;
}

/* ---- Places ---------------------------------------------------------------------------------- */

void cgroup_places_done(struct cgroup_places *p)
{
    for (unsigned c = 0; c < CGROUP_CONTROLLERS; c++)
        place_done(&p->at[c]);
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
        if (p->at[c].directory && depth_of(&p->at[c]) > depth_of(best))
            best = &p->at[c];
    return best;
}
