/* SPDX-License-Identifier: MIT */
#include "source/machine/space.h"

#include "base/clock.h"
#include "base/io/file.h"
#include "base/memory.h"
#include "base/process.h"
#include "base/thread.h"
#include "base/util.h"
#include "source/kernel_file.h"
#include "source/probe.h"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/syscall.h>

/* ==== Statvfs record ========================================================================== */

/* mount point, block size, blocks, free, available, files, files free:
 *
 * / 4096 5127680 2437116 2170616 1310720 1094213
 * /mnt/with\040blank 1048576 953344 120 0 0 0 */

int parse_statvfs_record(struct scan line, struct statvfs_record *ret)
{
    struct statvfs_record r = {.point.at = line.at};
    if (scan_done(&line) || *line.at != '/' || !scan_skip_fields(&line, 1))
        return -EBADMSG;
    r.point.end = line.at;
    uint64_t *const figures[] = {
        &r.space.block_bytes,      &r.space.blocks, &r.space.blocks_free,
        &r.space.blocks_available, &r.space.files,  &r.space.files_free,
    };
    for (size_t i = 0; i < ARRAY_LEN(figures); i++)
        if (!scan_u64(&line, figures[i]))
            return -EBADMSG;
    if (!scan_done(&line))
        return -EBADMSG;
    *ret = r;
    return 0;
}

int statvfs_record_find(struct scan text, const char *point, struct space *ret)
{
    struct scan line;
    struct statvfs_record record;
    char decoded[PATH_MAX];
    while (scan_line(&text, &line) && line.end < text.at) {
        if (parse_statvfs_record(line, &record) < 0 ||
            mountinfo_decode(record.point, decoded, sizeof decoded) < 0 ||
            strcmp(decoded, point) != 0)
            continue;
        *ret = record.space;
        return 0;
    }
    return -ENODATA;
}

/* ==== Space helper ============================================================================ */

/* The program may have other threads, which may hold any lock when we fork: the helper makes system
 * calls only. */

/* Converts what statvfs returned. */
static struct space space_of_statvfs(const struct statvfs *st)
{
    return (struct space){
        .block_bytes = st->f_frsize,
        .blocks = st->f_blocks,
        .blocks_free = st->f_bfree,
        .blocks_available = st->f_bavail,
        .files = st->f_files,
        .files_free = st->f_ffree,
    };
}

struct space_helper_life {
    int fd;
    statvfs_function *ask;
};

static int space_helper_serve(void *arg)
{
    const struct space_helper_life *l = arg;
    int fd = l->fd;
    statvfs_function *ask = l->ask;
    own_files_close_rest(&fd, 1); /* a helper that hangs must not hold a pipe of the program open */
    if (chdir("/") < 0)           /* the current directory could not be unmounted */
        return 1;
    for (;;) {
        struct space_request request;
        ssize_t n = recv(fd, &request, sizeof request, 0);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= (ssize_t)offsetof(struct space_request, path))
            return 0;
        request.path[sizeof request.path - 1] = '\0';
        struct statvfs st;
        struct space_answer answer = {.serial = request.serial};
        if (ask(request.path, &st) == 0)
            answer.space = space_of_statvfs(&st);
        else
            answer.error = -errno;
        if (send(fd, &answer, sizeof answer, MSG_NOSIGNAL) < 0)
            return 0;
    }
}

pid_t space_helper_start(statvfs_function *ask, int *ret_fd)
{
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
        return -errno;
    struct space_helper_life life = {ends[1], ask};
    pid_t pid = quiet_fork("toll-statvfs", space_helper_serve, &life);
    close(ends[1]);
    if (pid < 0)
        close(ends[0]);
    else
        *ret_fd = ends[0];
    return pid;
}

/* ==== Space asker ============================================================================= */

#define DEADLINE_NS (2 * NS_PER_SECOND)

void space_asker_init(struct space_asker *a, statvfs_function *ask)
{
    *a = (struct space_asker){.statvfs = ask, .deadline_ns = DEADLINE_NS};
    for (unsigned i = 0; i < SPACE_HELPERS; i++)
        a->helpers[i].fd = -1;
}

void space_asker_done(struct space_asker *a)
{
    for (unsigned i = 0; i < a->started; i++) {
        struct space_helper *h = &a->helpers[i];
        if (h->fd < 0)
            continue;
        /* The socket shows whether it has ended: another process may have its pid by now. */
        struct pollfd fd = {.fd = h->fd, .events = POLLIN};
        if (poll(&fd, 1, 0) >= 0 && !(fd.revents & (POLLHUP | POLLERR)))
            quiet_fork_end(h->pid, 0);
        close(take_fd(&h->fd));
    }
}

void space_asker_open(struct space_asker *a, struct space_question *q, bool is_open)
{
    if (is_open && !q->serial) {
        q->next = a->first;
        a->first = q;
        q->serial = ++a->serial;
    }
    q->is_open = is_open;
}

/* The helper's questions may be asked of another one; earlier answers to them are outdated. */
static void space_asker_release(struct space_asker *a, const struct space_helper *h,
                                const struct space_question *except)
{
    for (struct space_question *q = a->first; q; q = q->next)
        if (q->helper == h && q != except) {
            q->helper = NULL;
            q->has_answer = false;
        }
}

static void space_asker_accept(struct space_asker *a, struct space_helper *h,
                               const struct space_answer *answer)
{
    for (struct space_question *q = a->first; q; q = q->next) {
        if (q->helper != h || q->serial != answer->serial)
            continue;
        q->helper = NULL;
        q->has_answer = true;
        q->is_late = false;
        q->error = (int)answer->error;
        q->space = answer->space;
    }
}

static void space_asker_take_from(struct space_asker *a, struct space_helper *h, uint64_t now_ns)
{
    struct space_answer answer;
    ssize_t n;
    while ((n = recv(h->fd, &answer, sizeof answer, MSG_DONTWAIT)) > 0) {
        h->heard_ns = now_ns;
        h->is_stuck = false;
        if (n == (ssize_t)sizeof answer)
            space_asker_accept(a, h, &answer);
    }
    if (n == 0 || (errno != EAGAIN && errno != EINTR)) { /* the helper has ended */
        close(take_fd(&h->fd));
        space_asker_release(a, h, NULL);
    }
}

void space_asker_take(struct space_asker *a, uint64_t now_ns)
{
    for (unsigned i = 0; i < a->started; i++)
        if (a->helpers[i].fd >= 0)
            space_asker_take_from(a, &a->helpers[i], now_ns);
}

/* Answers come in the order of the questions: a late helper is at the oldest. */
static void space_asker_find_late(struct space_asker *a, struct space_helper *h, uint64_t now_ns)
{
    struct space_question *q = NULL;
    for (struct space_question *one = a->first; one; one = one->next)
        if (one->helper == h && (!q || one->serial < q->serial))
            q = one;
    if (!q || now_ns - max_u64(q->asked_ns, h->heard_ns) <= a->deadline_ns)
        return;
    h->is_stuck = true;
    q->is_late = true;
    q->has_answer = false;
    space_asker_release(a, h, q);
}

/* A helper that is not stuck, started if there is none; NULL when there are enough of them. */
static struct space_helper *space_asker_helper(struct space_asker *a)
{
    for (unsigned i = 0; i < a->started; i++)
        if (a->helpers[i].fd >= 0 && !a->helpers[i].is_stuck)
            return &a->helpers[i];
    if (a->started == SPACE_HELPERS)
        return NULL;
    /* One that cannot be started counts too, so that the attempts end. */
    struct space_helper *h = &a->helpers[a->started++];
    pid_t pid = space_helper_start(a->statvfs, &h->fd);
    if (pid < 0)
        return NULL;
    h->pid = pid;
    if (a->own_child)
        a->own_child(a->arg, pid);
    return h;
}

static void space_asker_ask(struct space_asker *a, struct space_question *q, uint64_t now_ns)
{
    struct space_request request;
    size_t length = strlen(q->path);
    struct space_helper *h = length < sizeof request.path ? space_asker_helper(a) : NULL;
    if (!h) {
        q->has_answer = false; /* it may be outdated, and cannot be asked for again */
        return;
    }
    request.serial = ++a->serial;
    memcpy(request.path, q->path, length + 1);
    size_t size = offsetof(struct space_request, path) + length + 1;
    if (send(h->fd, &request, size, MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
        return; /* it has ended, or its queue is full: it is asked in the next round */
    q->helper = h;
    q->serial = request.serial;
    q->asked_ns = now_ns;
}

void space_asker_round(struct space_asker *a, uint64_t now_ns)
{
    space_asker_take(a, now_ns);
    for (unsigned i = 0; i < a->started; i++)
        if (a->helpers[i].fd >= 0 && !a->helpers[i].is_stuck)
            space_asker_find_late(a, &a->helpers[i], now_ns);
    for (struct space_question *q = a->first; q; q = q->next)
        if (q->is_open && !q->helper)
            space_asker_ask(a, q, now_ns);
}

/* ==== Mounts ================================================================================== */

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
 * before, else where all of it is visible (no bind mount of a part), else where the path is
 * shortest.
 *
 * A mount may be hidden by another one on the same directory or on a directory above. Its path
 * leads to the other one then, whose figures must not be taken for its own. */

struct mount_line {
    struct mountinfo info;
    struct mount *known; /* the entry of the table for this very mount, or NULL */
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

static void mount_free(struct mount *m)
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
        mount_free(m);
    }
    if (t->fd >= 0)
        close(t->fd);
    buf_done(&t->text);
    free(t->lines);
    mount_table_init(t);
}

static bool mount_same_text(struct scan a, struct scan b)
{
    return scan_length(a) == scan_length(b) && memcmp(a.at, b.at, scan_length(a)) == 0;
}

/* Whether a path leads through a directory, or to it. */
static bool mount_path_through(struct scan path, struct scan directory)
{
    size_t length = scan_length(directory);
    if (length > scan_length(path) || memcmp(path.at, directory.at, length) != 0)
        return false;
    return length == 1 || length == scan_length(path) || path.at[length] == '/';
}

/* A mount on the way to m that m is not mounted on, directly or indirectly, hides m. */
static bool listing_is_hidden(const struct listing *l, const struct mount_line *m)
{
    for (size_t i = 0; i < l->count; i++) {
        const struct mount_line *other = &l->lines[i], *at = m;
        if (!mount_path_through(m->info.point, other->info.point))
            continue;
        /* Up from m to the other one; a damaged list may go in circles. */
        for (size_t steps = 0; at && at != other && steps < l->count; steps++) {
            uint64_t parent = at->info.parent == at->info.id ? 0 : at->info.parent;
            uint32_t number;
            at = parent && parent <= UINT32_MAX && map_get(&l->by_id, (uint32_t)parent, &number)
                     ? &l->lines[number - 1]
                     : NULL;
        }
        if (at != other)
            return true;
    }
    return false;
}

static bool mountinfo_same_filesystem(const struct mountinfo *a, const struct mountinfo *b)
{
    if (a->device == b->device)
        return true;
    enum mount_class class = mount_class_of(a->type);
    if (class != mount_class_of(b->type))
        return false;
    /* All overlays show the space of the filesystem below them again: one of them is enough. */
    if (class == MOUNT_OVERLAY)
        return true;
    /* Subvolumes of one disk may have different device numbers. */
    struct scan source = a->source;
    return class == MOUNT_LOCAL && scan_word(&source, "/dev/") &&
           mount_same_text(a->source, b->source);
}

static void listing_choose(struct listing *l)
{
    for (size_t i = 0; i < l->count; i++) {
        struct mount_line *m = &l->lines[i];
        if (mount_class_of(m->info.type) == MOUNT_PSEUDO)
            continue;
        struct mount_line *rival = NULL;
        for (size_t k = 0; k < i && !rival; k++)
            if (l->lines[k].is_chosen && mountinfo_same_filesystem(&l->lines[k].info, &m->info))
                rival = &l->lines[k];
        if (rival) {
            bool shows_all = scan_length(m->info.root) == 1;
            bool rival_shows_all = scan_length(rival->info.root) == 1;
            bool is_better = !m->known != !rival->known ? m->known != NULL
                             : shows_all != rival_shows_all
                                 ? shows_all
                                 : scan_length(m->info.point) < scan_length(rival->info.point);
            if (!is_better)
                continue;
        }
        if (listing_is_hidden(l, m))
            continue;
        m->is_chosen = true;
        if (rival)
            rival->is_chosen = false;
    }
}

static struct mount *mount_table_find(const struct mount_table *t, const struct mountinfo *info)
{
    char point[PATH_MAX], text[PATH_MAX];
    if (mountinfo_decode(info->point, point, sizeof point) < 0)
        return NULL;
    for (struct mount *m = t->first; m; m = m->next)
        if (m->device == info->device && strcmp(m->point, point) == 0 &&
            mount_same_text(info->type, scan_string(m->type)) &&
            mountinfo_decode(info->source, text, sizeof text) >= 0 && strcmp(text, m->source) == 0)
            return m;
    return NULL;
}

static char *mountinfo_copy(struct scan field)
{
    char text[PATH_MAX];
    return mountinfo_decode(field, text, sizeof text) < 0 ? NULL : strdup(text);
}

/* NULL without memory, or when a text is longer than any path. */
static struct mount *mount_new(const struct mountinfo *info, bool is_new)
{
    struct mount *m = calloc(1, sizeof *m);
    if (!m)
        return NULL;
    instance_init(&m->instance, ENTITY_MOUNT);
    struct entity *e = &m->instance.entity;
    m->point = mountinfo_copy(info->point);
    m->type = mountinfo_copy(info->type);
    m->source = mountinfo_copy(info->source);
    if (!m->point || !m->type || !m->source) {
        mount_free(m);
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

static void mount_table_show(struct mount_table *t, const struct listing *l)
{
    struct mount **end = &t->first;
    for (; *end; end = &(*end)->next)
        (*end)->is_there = false;
    for (size_t i = 0; i < l->count; i++) {
        if (!l->lines[i].is_chosen)
            continue;
        struct mount *m = l->lines[i].known;
        if (!m) {
            m = mount_new(&l->lines[i].info, t->was_read);
            if (!m)
                continue;
            *end = m;
            end = &m->next;
        }
        m->is_there = true;
        m->may_hang = false;
        for (size_t k = 0; k < l->count && !m->may_hang; k++)
            m->may_hang = mount_may_hang(l->lines[k].info.type) &&
                          mount_path_through(l->lines[i].info.point, l->lines[k].info.point);
    }
}

static int mount_table_list(struct mount_table *t, struct listing *ret)
{
    struct scan text = scan_text(t->text.data, t->text.length);
    struct mountinfo info;
    size_t count = 0;
    while (mountinfo_next(&text, &info)) {
        if (!ARRAY_RESERVE(t->lines, t->line_capacity, count + 1))
            return -ENOMEM;
        t->lines[count++] = (struct mount_line){.info = info, .known = mount_table_find(t, &info)};
        if (info.id && info.id <= UINT32_MAX &&
            map_put(&ret->by_id, (uint32_t)info.id, (uint32_t)count) < 0)
            return -ENOMEM;
    }
    ret->lines = t->lines;
    ret->count = count;
    return 0;
}

int mount_table_refresh(struct mount_table *t, const struct sysroot *root)
{
    /* A poll returns these events when something was mounted or unmounted since the last one. */
    struct pollfd change = {.fd = t->fd, .events = POLLPRI};
    if (t->fd >= 0 && !t->is_outdated &&
        (poll(&change, 1, 0) <= 0 || !(change.revents & (POLLPRI | POLLERR))))
        return 0;
    CLEANUP_CLOSE int fd = t->fd < 0 ? openat(root->proc, "self/mountinfo", O_RDONLY | O_CLOEXEC)
                                     : take_fd(&t->fd);
    if (fd < 0)
        return -errno;
    t->is_outdated = true;
    struct listing l = {0};
    int r = file_reread_whole(fd, FILE_ANY_LINE, &t->text);
    if (r == 0)
        r = mount_table_list(t, &l);
    if (r == 0) {
        listing_choose(&l);
        mount_table_show(t, &l);
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

static void mounts_put_space(struct row *row, const struct space *s)
{
    uint64_t size, used = 0, available = 0;
    /* Some filesystems have less than nothing available when only root may still write. */
    uint64_t blocks_available = s->blocks_available > INT64_MAX ? 0 : s->blocks_available;
    bool has_used = s->blocks_free <= s->blocks &&
                    !__builtin_mul_overflow(s->blocks - s->blocks_free, s->block_bytes, &used);
    bool has_available = !__builtin_mul_overflow(blocks_available, s->block_bytes, &available);
    if (!__builtin_mul_overflow(s->blocks, s->block_bytes, &size))
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
        return; /* it makes inodes as they are needed */
    row_put_u64(row, mount_files_count, s->files);
    if (s->files_free <= s->files)
        row_put_u64(row, mount_files_free_count, s->files_free);
}

static void mounts_collect_one(struct mounts *m, struct mount *mount,
                               const struct collect_context *c, struct scan record,
                               struct instance_list *out)
{
    const struct space_question *q = &mount->question;
    struct space space = {0};
    struct statvfs st;
    int r = 0;
    if (!c->root->live) {
        r = statvfs_record_find(record, mount->point, &space);
    } else if (mount->may_hang) {
        r = q->has_answer ? q->error : -EAGAIN;
        space = q->space;
    } else if (m->statvfs(mount->point, &st) == 0) {
        space = space_of_statvfs(&st);
    } else {
        r = -errno;
    }
    if (q->is_late && c->note) {
        char sentence[PATH_MAX + 80];
        snprintf(sentence, sizeof sentence,
                 "filesystem '%s' does not respond; its figures are unknown", mount->point);
        c->note(c->note_arg, sentence);
    }
    mount->instance.read.present = 0;
    if (r == 0 && !space.blocks)
        return; /* a filesystem without space of its own */
    if (r == 0)
        mounts_put_space(&mount->instance.read, &space);
    instance_list_add(out, &mount->instance);
}

static void mounts_collect(void *state, const struct collect_context *c, struct instance_list *out)
{
    struct mounts *m = state;
    struct scan record = scan_string("");
    mount_table_refresh(&m->table, c->root); /* if it fails the list is as before */
    if (c->root->live) {
        /* The questions leave first, so that the helper works while the others are asked. */
        m->asker.own_child = c->own_child;
        m->asker.arg = c->note_arg;
        for (struct mount *mount = m->table.first; mount; mount = mount->next)
            space_asker_open(&m->asker, &mount->question, mount->is_there && mount->may_hang);
        space_asker_round(&m->asker, clock_mono(NULL));
    } else {
        ssize_t n = file_read_at(c->root->root, "statvfs", m->record, RECORD_BYTES);
        record = scan_text(m->record, n > 0 ? (size_t)n : 0);
    }
    for (struct mount *mount = m->table.first; mount; mount = mount->next)
        if (mount->is_there && !mount->may_hang)
            mounts_collect_one(m, mount, c, record, out);
    if (c->root->live)
        space_asker_take(&m->asker, clock_mono(NULL));
    for (struct mount *mount = m->table.first; mount; mount = mount->next)
        if (mount->is_there && mount->may_hang)
            mounts_collect_one(m, mount, c, record, out);
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
