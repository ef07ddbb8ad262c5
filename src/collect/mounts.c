/* SPDX-License-Identifier: MIT */
#include "collect/mounts.h"

#include "base/clock.h"
#include "base/file.h"

#include <limits.h>
#include <stdio.h>

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

static bool product(uint64_t a, uint64_t b, uint64_t *ret)
{
    return !__builtin_mul_overflow(a, b, ret);
}

static void put_space(struct row *row, const struct space *s)
{
    uint64_t size, used = 0, available = 0;
    /* Below nothing is how some filesystems say that only root may still write. */
    uint64_t blocks_available = s->blocks_available > INT64_MAX ? 0 : s->blocks_available;
    bool has_used = s->blocks_free <= s->blocks &&
                    product(s->blocks - s->blocks_free, s->block_bytes, &used);
    bool has_available = product(blocks_available, s->block_bytes, &available);
    if (product(s->blocks, s->block_bytes, &size))
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

static int answered(const struct space_question *q, struct space *ret)
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
                        struct scan record, struct measured_list *out)
{
    struct space space = {0};
    int r;
    if (!c->root->live)
        r = statvfs_record_find(record, mount->point, &space);
    else if (mount->may_hang)
        r = answered(&mount->question, &space);
    else
        r = ask_at_once(m, mount, &space);
    if (mount->question.is_late)
        say_late(c, mount);
    mount->measured.read.present = 0;
    if (r == 0 && !space.blocks)
        return; /* it has no space to speak of */
    if (r == 0)
        put_space(&mount->measured.read, &space);
    measured_list_add(out, &mount->measured);
}

static void mounts_collect(void *state, const struct collect_context *c, struct measured_list *out)
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
