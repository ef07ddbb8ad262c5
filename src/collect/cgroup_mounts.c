/* SPDX-License-Identifier: MIT */
#include "collect/cgroup_mounts.h"

#include "base/file.h"
#include "parse/mountinfo.h"

#include <fcntl.h>
#include <limits.h>

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

static bool is_word(struct scan field, const char *word)
{
    return scan_word(&field, word) && scan_done(&field);
}

static char *copy_path(struct scan field)
{
    char path[PATH_MAX];
    return *field.at != '/' || mountinfo_decode(field, path, sizeof path) < 0 ? NULL : strdup(path);
}

static void done_one(struct mounted_hierarchy *h)
{
    free(h->root);
    free(h->point);
    free(h->options);
}

static int add(struct cgroup_mounts *m, const struct mountinfo *found)
{
    struct mounted_hierarchy *list = realloc(m->list, (m->count + 1) * sizeof *list);
    if (!list)
        return -ENOMEM;
    m->list = list;
    struct scan options = found->super_options;
    struct mounted_hierarchy h = {
        .v2 = is_word(found->type, "cgroup2"),
        .root = copy_path(found->root),
        .point = copy_path(found->point),
        .options = strndup(options.at, (size_t)(options.end - options.at)),
    };
    if (h.root && h.point && h.options)
        m->list[m->count++] = h;
    else
        done_one(&h);
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
        if (is_word(found.type, "cgroup") || is_word(found.type, "cgroup2"))
            r = add(&m, &found);
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
        done_one(&m->list[i]);
    free(m->list);
    *m = (struct cgroup_mounts){0};
}
