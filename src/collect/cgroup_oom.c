/* SPDX-License-Identifier: MIT */
#include "collect/cgroup_oom.h"

#include "base/file.h"
#include "collect/cgroup_walk.h"
#include "parse/cgroup_flat.h"

#include <fcntl.h>

void cgroup_oom_init(struct cgroup_oom *o)
{
    *o = (struct cgroup_oom){.events = CGROUP_FILE_CLOSED, .directory = -1};
}

void cgroup_oom_done(struct cgroup_oom *o)
{
    cgroup_file_close(&o->events);
    close_p(&o->directory);
}

void cgroup_oom_note(struct cgroup_oom *o, uint64_t kills)
{
    o->kills = max_u64(o->kills, kills);
    o->known = true;
}

struct count {
    uint64_t kills;
    bool known;
};

static void add(struct count *c, struct scan text)
{
    static const char *const key[] = {"oom_kill"};
    uint64_t value;
    if (parse_cgroup_flat(text, key, 1, &value) != 1)
        return;
    c->kills += value;
    c->known = true;
}

/* Version 1 counts for each cgroup alone. */
static void add_directory(void *arg, int dir)
{
    char text[256];
    ssize_t n = file_read_at(dir, "memory.oom_control", text, sizeof text);
    if (n > 0)
        add(arg, scan_text(text, (size_t)n));
}

static void walk(struct cgroup_oom *o, const struct sysroot *root, const char *path,
                 struct count *count)
{
    CLEANUP_CLOSE int dir = take_fd(&o->directory);
    if (dir < 0)
        dir = openat(root->root, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (dir < 0)
        return;
    cgroup_walk_from(dir, add_directory, count);
    if (root->live)
        o->directory = take_fd(&dir);
}

void cgroup_oom_read(struct cgroup_oom *o, const struct sysroot *root,
                     const struct cgroup_place *place)
{
    struct count count = {0};
    char text[1024];
    ssize_t n;
    if (!place)
        return;
    if (!place->v2)
        walk(o, root, place->directory, &count);
    else if ((n = cgroup_file_read(&o->events, root, place->directory, "memory.events", text,
                                   sizeof text)) > 0)
        add(&count, scan_text(text, (size_t)n));
    if (count.known)
        cgroup_oom_note(o, count.kills);
}
