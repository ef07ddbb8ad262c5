/* SPDX-License-Identifier: MIT */
#include "source/machine/mounts.h"

#include "base/clock.h"
#include "base/io/file.h"
#include "base/memory.h"
#include "base/util.h"
#include "source/kernel_file.h"
#include "source/probe.h"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>

/* ==== Mount types ============================================================================= */

/* Those not named here are local. */
static const struct {
    enum mount_class class;
    const char *type;
} types[] = {
    {MOUNT_MEMORY, "tmpfs"},
    {MOUNT_OVERLAY, "overlay"},
    {MOUNT_OVERLAY, "aufs"},
    {MOUNT_OVERLAY, "fuse.fuse-overlayfs"},

    {MOUNT_NETWORK, "9p"},
    {MOUNT_NETWORK, "acfs"},
    {MOUNT_NETWORK, "afs"},
    {MOUNT_NETWORK, "beegfs"},
    {MOUNT_NETWORK, "ceph"},
    {MOUNT_NETWORK, "cifs"},
    {MOUNT_NETWORK, "coda"},
    {MOUNT_NETWORK, "fuse"},
    {MOUNT_NETWORK, "gfs2"},
    {MOUNT_NETWORK, "glusterfs"},
    {MOUNT_NETWORK, "gpfs"},
    {MOUNT_NETWORK, "lustre"},
    {MOUNT_NETWORK, "ncpfs"},
    {MOUNT_NETWORK, "nfs"},
    {MOUNT_NETWORK, "nfs4"},
    {MOUNT_NETWORK, "ocfs2"},
    {MOUNT_NETWORK, "orangefs"},
    {MOUNT_NETWORK, "panfs"},
    {MOUNT_NETWORK, "pvfs2"},
    {MOUNT_NETWORK, "smb3"},
    {MOUNT_NETWORK, "smbfs"},

    {MOUNT_PSEUDO, "autofs"},
    {MOUNT_PSEUDO, "binder"},
    {MOUNT_PSEUDO, "binfmt_misc"},
    {MOUNT_PSEUDO, "bpf"},
    {MOUNT_PSEUDO, "cgroup"},
    {MOUNT_PSEUDO, "cgroup2"},
    {MOUNT_PSEUDO, "configfs"},
    {MOUNT_PSEUDO, "cpuset"},
    {MOUNT_PSEUDO, "cramfs"},
    {MOUNT_PSEUDO, "debugfs"},
    {MOUNT_PSEUDO, "devpts"},
    {MOUNT_PSEUDO, "devtmpfs"}, /* device nodes */
    {MOUNT_PSEUDO, "efivarfs"},
    {MOUNT_PSEUDO, "erofs"},
    {MOUNT_PSEUDO, "fuse.gvfsd-fuse"},
    {MOUNT_PSEUDO, "fuse.lxcfs"},
    {MOUNT_PSEUDO, "fuse.portal"},
    {MOUNT_PSEUDO, "fusectl"},
    {MOUNT_PSEUDO, "hugetlbfs"},
    {MOUNT_PSEUDO, "iso9660"},
    {MOUNT_PSEUDO, "mqueue"},
    {MOUNT_PSEUDO, "nfsd"},
    {MOUNT_PSEUDO, "nsfs"},
    {MOUNT_PSEUDO, "proc"},
    {MOUNT_PSEUDO, "pstore"},
    {MOUNT_PSEUDO, "ramfs"},
    {MOUNT_PSEUDO, "resctrl"},
    {MOUNT_PSEUDO, "rootfs"},
    {MOUNT_PSEUDO, "rpc_pipefs"},
    {MOUNT_PSEUDO, "securityfs"},
    {MOUNT_PSEUDO, "selinuxfs"},
    {MOUNT_PSEUDO, "smackfs"},
    {MOUNT_PSEUDO, "squashfs"}, /* the packages of snap, all of them full */
    {MOUNT_PSEUDO, "sysfs"},
    {MOUNT_PSEUDO, "tracefs"},
    {MOUNT_PSEUDO, "xenfs"},
};

enum mount_class mount_class_of(struct scan type)
{
    size_t length = (size_t)(type.end - type.at);
    for (size_t i = 0; i < ARRAY_LEN(types); i++)
        if (strlen(types[i].type) == length && memcmp(types[i].type, type.at, length) == 0)
            return types[i].class;
    return scan_word(&type, "fuse.") ? MOUNT_NETWORK : MOUNT_LOCAL;
}

bool mount_may_hang(struct scan type)
{
    return mount_class_of(type) == MOUNT_NETWORK || scan_word(&type, "fuse.") ||
           scan_word(&type, "fuseblk");
}

const char *mount_class_name(enum mount_class class)
{
    static const char *const names[] = {"local", "memory", "overlay", "network", "pseudo"};
    return names[class];
}

/* ==== Mount table ============================================================================= */

/* One filesystem may be mounted at many places. It is shown at one of them: where it was shown
 * before, else where all of it is seen (no bind mount of a part), else where the path is shortest.
 *
 * A mount may be out of reach because another one was put over it or over a directory on the way.
 * Its path leads to the other one then, whose figures would be taken for its own. */

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
static bool mount_table_is_hidden(const struct listing *l, const struct mount_line *m)
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

static void mount_table_choose(struct listing *l)
{
    for (size_t i = 0; i < l->count; i++) {
        struct mount_line *m = &l->lines[i];
        if (mount_class_of(m->info.type) == MOUNT_PSEUDO)
            continue;
        struct mount_line *rival = NULL;
        for (size_t k = 0; k < i && !rival; k++)
            if (l->lines[k].is_chosen && same_filesystem(&l->lines[k].info, &m->info))
                rival = &l->lines[k];
        if ((rival && !is_better(m, rival)) || mount_table_is_hidden(l, m))
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
    instance_init(&m->instance, ENTITY_MOUNT);
    struct entity *e = &m->instance.entity;
    m->point = decoded_copy(info->point);
    m->type = decoded_copy(info->type);
    m->source = decoded_copy(info->source);
    if (!m->point || !m->type || !m->source) {
        free_mount(m);
        return NULL;
    }
    m->instance.is_new = is_new;
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
        if (!ARRAY_RESERVE(t->lines, t->line_capacity, count + 1))
            return -ENOMEM;
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
        mount_table_choose(&l);
        show_chosen(t, &l);
        t->was_read = true;
        t->is_outdated = false;
    }
    map_done(&l.by_id);
    if (root->live)
        t->fd = take_fd(&fd);
    return r;
}

/* ==== Mounts ================================================================================== */

enum { RECORD_BYTES = 1 << 16 };

static void mounts_close(void *state)
{
    struct mounts *m = state;
    if (!m)
        return;
    space_asker_done(&m->asker);
    mount_table_done(&m->table);
    free(m->record);
    free(m);
}

int mounts_open(struct mounts **ret, const struct collect_context *c, statvfs_function *ask)
{
    struct mounts *m = calloc(1, sizeof *m);
    if (!m)
        return -ENOMEM;
    m->statvfs = ask;
    mount_table_init(&m->table);
    space_asker_init(&m->asker, ask);
    int r = mount_table_refresh(&m->table, c->root);
    if (r == 0 && !c->root->live && !(m->record = malloc(RECORD_BYTES)))
        r = -ENOMEM;
    if (r < 0)
        mounts_close(m);
    else
        *ret = m;
    return r;
}

static int mounts_open_live(void **ret_state, const struct collect_context *c)
{
    struct mounts *m;
    int r = mounts_open(&m, c, statvfs);
    if (r == 0)
        *ret_state = m;
    return r;
}

static bool mounts_product(uint64_t a, uint64_t b, uint64_t *ret)
{
    return !__builtin_mul_overflow(a, b, ret);
}

static void put_space(struct row *row, const struct space *s)
{
    uint64_t size, used = 0, available = 0;
    /* Below nothing is how some filesystems say that only root may still write. */
    uint64_t blocks_available = s->blocks_available > INT64_MAX ? 0 : s->blocks_available;
    bool has_used = s->blocks_free <= s->blocks &&
                    mounts_product(s->blocks - s->blocks_free, s->block_bytes, &used);
    bool has_available = mounts_product(blocks_available, s->block_bytes, &available);
    if (mounts_product(s->blocks, s->block_bytes, &size))
        row_put_u64(row, mount_size_bytes, size);
    if (has_used)
        row_put_u64(row, mount_used_bytes, used);
    if (has_available)
        row_put_u64(row, mount_available_bytes, available);
    /* As df does: what is kept for root is neither used nor available. */
    double both = has_used && has_available ? (double)used + (double)available : 0;
    if (both > 0)
        row_put_double(row, mount_used_ratio, (double)used / both);
    if (!s->files)
        return; /* it makes them as they are needed */
    row_put_u64(row, mount_files_count, s->files);
    if (s->files_free <= s->files)
        row_put_u64(row, mount_files_free_count, s->files_free);
}

/* A piece of text that is not full: it may end within a line, which is left out then. */
static struct scan read_record(struct mounts *m, const struct sysroot *root)
{
    ssize_t n = file_read_at(root->root, "statvfs", m->record, RECORD_BYTES);
    return scan_text(m->record, n > 0 ? (size_t)n : 0);
}

static void say_late(const struct collect_context *c, const struct mount *m)
{
    char sentence[PATH_MAX + 80];
    snprintf(sentence, sizeof sentence,
             "the filesystem at '%s' does not answer; its figures are unknown", m->point);
    if (c->note)
        c->note(c->note_arg, sentence);
}

static int ask_at_once(const struct mounts *m, const struct mount *mount, struct space *ret)
{
    struct statvfs st;
    if (m->statvfs(mount->point, &st) < 0)
        return -errno;
    *ret = space_of_statvfs(&st);
    return 0;
}

static int mounts_answered(const struct space_question *q, struct space *ret)
{
    if (!q->has_answer)
        return -EAGAIN;
    if (q->error == 0)
        *ret = q->space;
    return q->error;
}

/* The questions leave first, so that the helper can work while the others are asked. */
static void ask_the_slow(struct mounts *m, const struct collect_context *c)
{
    m->asker.own_child = c->own_child;
    m->asker.arg = c->note_arg;
    for (struct mount *mount = m->table.first; mount; mount = mount->next)
        space_asker_open(&m->asker, &mount->question, mount->is_there && mount->may_hang);
    space_asker_round(&m->asker, clock_mono(NULL));
}

static void collect_one(struct mounts *m, struct mount *mount, const struct collect_context *c,
                        struct scan record, struct instance_list *out)
{
    struct space space = {0};
    int r;
    if (!c->root->live)
        r = statvfs_record_find(record, mount->point, &space);
    else if (mount->may_hang)
        r = mounts_answered(&mount->question, &space);
    else
        r = ask_at_once(m, mount, &space);
    if (mount->question.is_late)
        say_late(c, mount);
    mount->instance.read.present = 0;
    if (r == 0 && !space.blocks)
        return; /* it has no space to speak of */
    if (r == 0)
        put_space(&mount->instance.read, &space);
    instance_list_add(out, &mount->instance);
}

static void mounts_collect(void *state, const struct collect_context *c, struct instance_list *out)
{
    struct mounts *m = state;
    struct scan record = scan_string("");
    mount_table_refresh(&m->table, c->root); /* if it fails the list is as before */
    if (c->root->live)
        ask_the_slow(m, c);
    else
        record = read_record(m, c->root);
    for (struct mount *mount = m->table.first; mount; mount = mount->next)
        if (mount->is_there && !mount->may_hang)
            collect_one(m, mount, c, record, out);
    if (c->root->live)
        space_asker_take(&m->asker, clock_mono(NULL));
    for (struct mount *mount = m->table.first; mount; mount = mount->next)
        if (mount->is_there && mount->may_hang)
            collect_one(m, mount, c, record, out);
}

/* A local filesystem costs about a microsecond, so that there is no need to look less often. */
const struct collector collector_mounts = {
    .name = "mounts",
    .gives = BIT(ENTITY_MOUNT),
    .cost = COST_SLOW,
    .open = mounts_open_live,
    .collect = mounts_collect,
    .close = mounts_close,
};

/* ==== Probe =================================================================================== */

void probe_filesystems(const struct probe_facts *p, struct finding *f)
{
    struct mount_table table;
    unsigned all = 0, network = 0;
    finding_ok(f, "exact", "mountinfo, statvfs");
    mount_table_init(&table);
    int r = mount_table_refresh(&table, &p->root);
    for (const struct mount *m = table.first; m; m = m->next) {
        all++;
        network += m->class == MOUNT_NETWORK;
    }
    mount_table_done(&table);
    if (r < 0) {
        finding_missing(f, "/proc/self/mountinfo cannot be read");
        finding_remedy(f, "mount -t proc proc /proc");
    } else {
        finding_detail(f, "%u local, %u network", all - network, network);
    }
}
