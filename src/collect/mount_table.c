/* SPDX-License-Identifier: MIT
 *
 * One filesystem may be mounted at many places. It is shown at one of them: where it was shown
 * before, else where all of it is seen (no bind mount of a part), else where the path is shortest.
 *
 * A mount may be out of reach because another one was put over it or over a directory on the way.
 * Its path leads to the other one then, whose figures would be taken for its own. */
#include "collect/mount_table.h"

#include "base/file.h"
#include "base/map.h"
#include "parse/mountinfo.h"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>

struct mount_line {
    struct mountinfo info;
    struct mount *known; /* the thing that shows this very mount already, or NULL */
    bool is_chosen;
};

/* All lines of one reading. */
struct listing {
    struct mount_line *lines;
    size_t count;
    struct map by_id; /* index + 1 of a line */
};

void mount_table_init(struct mount_table *t)
{
    *t = (struct mount_table){.fd = -1};
}

static void free_mount(struct mount *m)
{
    if (!m)
        return;
    free(m->point);
    free(m->type);
    free(m->source);
    free(m);
}

void mount_table_done(struct mount_table *t)
{
    for (struct mount *next, *m = t->first; m; m = next) {
        next = m->next;
        free_mount(m);
    }
    if (t->fd >= 0)
        close(t->fd);
    buf_done(&t->text);
    free(t->lines);
    mount_table_init(t);
}

static size_t length_of(struct scan s)
{
    return (size_t)(s.end - s.at);
}

static bool same_text(struct scan a, struct scan b)
{
    return length_of(a) == length_of(b) && memcmp(a.at, b.at, length_of(a)) == 0;
}

/* Whether a path leads through a directory, or is it. */
static bool leads_through(struct scan path, struct scan directory)
{
    size_t length = length_of(directory);
    if (length > length_of(path) || memcmp(path.at, directory.at, length) != 0)
        return false;
    return length == 1 || length == length_of(path) || path.at[length] == '/';
}

static const struct mount_line *line_of_id(const struct listing *l, uint64_t id)
{
    uint32_t number;
    return id && id <= UINT32_MAX && map_get(&l->by_id, (uint32_t)id, &number)
               ? &l->lines[number - 1]
               : NULL;
}

static bool stands_on(const struct listing *l, const struct mount_line *m,
                      const struct mount_line *below)
{
    size_t steps = 0; /* nonsense may go in circles */
    while (m && m != below && steps++ < l->count)
        m = m->info.parent == m->info.id ? NULL : line_of_id(l, m->info.parent);
    return m == below;
}

/* Whoever is mounted on the way to m must carry it; otherwise the path ends in another place. */
static bool is_hidden(const struct listing *l, const struct mount_line *m)
{
    for (size_t i = 0; i < l->count; i++)
        if (leads_through(m->info.point, l->lines[i].info.point) && !stands_on(l, m, &l->lines[i]))
            return true;
    return false;
}

static bool same_filesystem(const struct mountinfo *a, const struct mountinfo *b)
{
    if (a->device == b->device)
        return true;
    enum mount_class class = mount_class_of(a->type);
    if (class != mount_class_of(b->type))
        return false;
    /* All overlays together show the space below them once more, and that is enough once. */
    if (class == MOUNT_OVERLAY)
        return true;
    /* Subvolumes may have numbers of their own, but the disk is one. */
    struct scan source = a->source;
    return class == MOUNT_LOCAL && scan_word(&source, "/dev/") && same_text(a->source, b->source);
}

static bool shows_all(const struct mount_line *m)
{
    return length_of(m->info.root) == 1;
}

static bool is_better(const struct mount_line *a, const struct mount_line *b)
{
    if (!a->known != !b->known)
        return a->known;
    if (shows_all(a) != shows_all(b))
        return shows_all(a);
    return length_of(a->info.point) < length_of(b->info.point);
}

static void choose(struct listing *l)
{
    for (size_t i = 0; i < l->count; i++) {
        struct mount_line *m = &l->lines[i];
        if (mount_class_of(m->info.type) == MOUNT_PSEUDO)
            continue;
        struct mount_line *rival = NULL;
        for (size_t k = 0; k < i && !rival; k++)
            if (l->lines[k].is_chosen && same_filesystem(&l->lines[k].info, &m->info))
                rival = &l->lines[k];
        if ((rival && !is_better(m, rival)) || is_hidden(l, m))
            continue;
        m->is_chosen = true;
        if (rival)
            rival->is_chosen = false;
    }
}

static struct mount *find_known(const struct mount_table *t, const struct mountinfo *info)
{
    char point[PATH_MAX], text[PATH_MAX];
    if (mountinfo_decode(info->point, point, sizeof point) < 0)
        return NULL;
    for (struct mount *m = t->first; m; m = m->next)
        if (m->device == info->device && strcmp(m->point, point) == 0 &&
            same_text(info->type, scan_string(m->type)) &&
            mountinfo_decode(info->source, text, sizeof text) >= 0 && strcmp(text, m->source) == 0)
            return m;
    return NULL;
}

static char *decoded_copy(struct scan field)
{
    char text[PATH_MAX];
    return mountinfo_decode(field, text, sizeof text) < 0 ? NULL : strdup(text);
}

/* NULL without memory, or when a text is longer than any path. */
static struct mount *make_mount(const struct mountinfo *info, bool is_new)
{
    struct mount *m = calloc(1, sizeof *m);
    if (!m)
        return NULL;
    measured_init(&m->measured, ENTITY_MOUNT);
    struct entity *e = &m->measured.entity;
    m->point = decoded_copy(info->point);
    m->type = decoded_copy(info->type);
    m->source = decoded_copy(info->source);
    if (!m->point || !m->type || !m->source) {
        free_mount(m);
        return NULL;
    }
    m->measured.is_new = is_new;
    m->device = info->device;
    m->class = mount_class_of(info->type);
    m->question.path = m->point;
    e->path = m->point;
    e->labels[0] = (struct label){"class", mount_class_name(m->class)};
    e->labels[1] = (struct label){"type", m->type};
    e->labels[2] = (struct label){"source", m->source};
    return m;
}

static bool way_may_hang(const struct listing *l, const struct mountinfo *info)
{
    for (size_t i = 0; i < l->count; i++)
        if (mount_may_hang(l->lines[i].info.type) &&
            leads_through(info->point, l->lines[i].info.point))
            return true;
    return false;
}

static void show_chosen(struct mount_table *t, const struct listing *l)
{
    struct mount **end = &t->first;
    for (; *end; end = &(*end)->next)
        (*end)->is_there = false;
    for (size_t i = 0; i < l->count; i++) {
        if (!l->lines[i].is_chosen)
            continue;
        struct mount *m = l->lines[i].known;
        if (!m) {
            m = make_mount(&l->lines[i].info, t->was_read);
            if (!m)
                continue;
            *end = m;
            end = &m->next;
        }
        m->is_there = true;
        m->may_hang = way_may_hang(l, &l->lines[i].info);
    }
}

/* The lines of the text, windows on it. */
static int list_lines(struct mount_table *t, struct listing *ret)
{
    struct scan text = scan_text(t->text.data, t->text.length);
    struct mountinfo info;
    size_t count = 0;
    while (mountinfo_next(&text, &info)) {
        if (count == t->line_capacity) {
            size_t capacity = count ? 2 * count : 32;
            struct mount_line *lines = realloc(t->lines, capacity * sizeof *lines);
            if (!lines)
                return -ENOMEM;
            t->lines = lines;
            t->line_capacity = capacity;
        }
        t->lines[count++] = (struct mount_line){.info = info, .known = find_known(t, &info)};
        if (info.id && info.id <= UINT32_MAX &&
            map_put(&ret->by_id, (uint32_t)info.id, (uint32_t)count) < 0)
            return -ENOMEM;
    }
    ret->lines = t->lines;
    ret->count = count;
    return 0;
}

/* The kernel tells a poll that something was mounted or unmounted since the last one. */
static bool has_changed(const struct mount_table *t)
{
    struct pollfd fd = {.fd = t->fd, .events = POLLPRI};
    return t->is_outdated || t->fd < 0 ||
           (poll(&fd, 1, 0) > 0 && (fd.revents & (POLLPRI | POLLERR)));
}

int mount_table_refresh(struct mount_table *t, const struct sysroot *root)
{
    if (!has_changed(t))
        return 0;
    CLEANUP_CLOSE int fd = t->fd < 0 ? openat(root->proc, "self/mountinfo", O_RDONLY | O_CLOEXEC)
                                     : take_fd(&t->fd);
    if (fd < 0)
        return -errno;
    t->is_outdated = true;
    struct listing l = {0};
    int r = file_reread_whole(fd, FILE_ANY_LINE, &t->text);
    if (r == 0)
        r = list_lines(t, &l);
    if (r == 0) {
        choose(&l);
        show_chosen(t, &l);
        t->was_read = true;
        t->is_outdated = false;
    }
    map_done(&l.by_id);
    if (root->live)
        t->fd = take_fd(&fd);
    return r;
}
