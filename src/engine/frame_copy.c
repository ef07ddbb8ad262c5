/* SPDX-License-Identifier: MIT */
#include "engine/frame_copy.h"

#include "base/err.h"
#include "metric/metric.h"

#include <limits.h>
#include <math.h>
#include <string.h>

/* ---- Copying --------------------------------------------------------------------------------- */

/* One row of a frame, before it is copied. */
struct source {
    const struct entity *entity;
    const struct row *row;
    uint64_t selected;
    const char *target; /* name of one of several, or NULL */
};

/* What is copied where: measured in a first pass, filled in a second. */
struct copy {
    size_t rows, values, text_bytes;
    struct frame_copy_row *row; /* NULL in the first pass */
    union value *value;
    char *text;
};

static void frame_copy_add_row(struct copy *c, const struct source *s)
{
    const struct entity *e = s->entity;
    const char *name = e->kind != ENTITY_TARGET ? entity_name(e) : s->target ? s->target : "";
    if (!s->selected)
        return;
    unsigned count = metric_count(e->kind);
    c->rows++;
    c->values += count;
    c->text_bytes += strlen(name) + 1;
    if (!c->row)
        return;
    bool is_target = e->kind == ENTITY_TARGET;
    size_t name_bytes = strlen(name) + 1;
    const char *copied = memcpy(c->text, name, name_bytes);
    const union value *values = memcpy(c->value, s->row->values, count * sizeof *values);
    c->text += name_bytes;
    c->value += count;
    *c->row++ = (struct frame_copy_row){
        .facts = {.entity = is_target ? "target" : entity_kind_name(e->kind),
                  .part = is_target ? part_name(e->part) : "",
                  .name = copied,
                  .pid = e->kind == ENTITY_PROCESS ? e->pid : 0,
                  .parent = e->kind == ENTITY_PROCESS ? e->parent : 0},
        .kind = e->kind,
        .part = e->part,
        .space = entity_space(e),
        .target = s->target ? copied : NULL,
        .metrics = metric_of(metric_first(e->kind)),
        .count = count,
        .known = s->row->present & s->selected,
        .at_least = s->row->at_least & s->selected,
        .values = values,
    };
}

static void frame_copy_add_parts(struct copy *c, const struct frame_row parts[PARTS],
                                 const char *target, const struct selection *selection)
{
    for (unsigned part = 0; part < PARTS; part++)
        if (parts[part].row)
            frame_copy_add_row(c, &(struct source){parts[part].entity, parts[part].row,
                                                   selection->parts[part], target});
}

static void add_all(struct copy *c, const struct frame *f, const struct selection *selection)
{
    frame_copy_add_parts(c, f->target, NULL, selection);
    for (size_t i = 0; i < f->target_count; i++)
        frame_copy_add_parts(c, f->targets[i].parts, f->targets[i].name, selection);
    for (size_t i = 0; i < f->machine_count; i++) {
        const struct instance *m = f->machine[i];
        frame_copy_add_row(
            c, &(struct source){&m->entity, &m->row, selection->of[m->entity.kind], NULL});
    }
    for (size_t i = 0; i < f->process_count; i++)
        frame_copy_add_row(c, &(struct source){f->processes[i].entity, f->processes[i].row,
                                               selection->of[ENTITY_PROCESS], NULL});
    if (f->self.row)
        frame_copy_add_row(
            c, &(struct source){f->self.entity, f->self.row, selection->of[ENTITY_SELF], NULL});
}

/* With room for that much, and nothing in it yet. */
static struct frame_copy *frame_copy_make_room(const struct frame *f, const struct copy *size,
                                               struct copy *ret)
{
    struct frame_copy *t = malloc(sizeof *t + size->rows * sizeof *t->rows +
                                  size->values * sizeof *ret->value + size->text_bytes);
    if (!t)
        return NULL;
    struct frame_copy_row *rows = (struct frame_copy_row *)(t + 1);
    union value *values = (union value *)(rows + size->rows);
    *t = (struct frame_copy){
        .head = {.number = f->tick,
                 .real_ns = f->real_ns,
                 .elapsed_ns = f->elapsed_ns,
                 .interval_ns = f->interval_ns,
                 .last = f->last,
                 .row_count = size->rows},
        .holders = 1,
        .rows = rows,
    };
    *ret = (struct copy){.row = rows, .value = values, .text = (char *)(values + size->values)};
    return t;
}

struct frame_copy *frame_copy_new(const struct frame *f, const struct selection *selection)
{
    struct copy size = {0}, c;
    add_all(&size, f, selection);
    struct frame_copy *t = frame_copy_make_room(f, &size, &c);
    if (t)
        add_all(&c, f, selection);
    return t;
}

struct frame_copy *frame_copy_new_whole(const struct frame *f, const struct selection *selection)
{
    const struct frame_row *whole = &f->target[PART_COMBINED];
    struct copy size = {.values = metric_count(ENTITY_TARGET), .text_bytes = 1}, c;
    size.rows = selection->parts[PART_COMBINED] ? 1 : 0;
    struct frame_copy *t = frame_copy_make_room(f, &size, &c);
    if (t)
        frame_copy_add_row(
            &c, &(struct source){whole->entity, whole->row, selection->parts[PART_COMBINED], NULL});
    return t;
}

struct frame_copy *frame_copy_hold(struct frame_copy *frame)
{
    atomic_fetch_add_explicit(&frame->holders, 1, memory_order_relaxed);
    return frame;
}

/* Nobody else can begin to hold what has one holder: without a second one there is nothing to
 * count. */
void frame_copy_release(struct frame_copy *frame)
{
    if (frame && (atomic_load_explicit(&frame->holders, memory_order_acquire) == 1 ||
                  atomic_fetch_sub_explicit(&frame->holders, 1, memory_order_acq_rel) == 1))
        free(frame);
}

/* ---- Reading --------------------------------------------------------------------------------- */

/* The head of a frame is its beginning, as the facts are that of a row. */
static const struct frame_copy *frame_copy_of(const struct toll_frame *frame)
{
    return (const struct frame_copy *)frame;
}

static const struct frame_copy_row *row_of(const struct toll_row *row)
{
    return (const struct frame_copy_row *)row;
}

double frame_copy_number(const struct frame_copy_row *r, size_t i)
{
    return r->known >> i & 1 ? metric_number(&r->metrics[i], r->values[i]) : (double)NAN;
}

const struct toll_row *toll_frame_row(const struct toll_frame *frame, size_t i)
{
    return frame && i < frame->row_count ? &frame_copy_of(frame)->rows[i].facts : NULL;
}

const struct toll_metric *toll_row_at(const struct toll_row *row, size_t i, double *ret_value)
{
    const struct frame_copy_row *r = row_of(row);
    if (!r || i >= r->count)
        return NULL;
    if (ret_value)
        *ret_value = frame_copy_number(r, i);
    return &r->metrics[i].facts;
}

double toll_row_value(const struct toll_row *row, int metric)
{
    const struct frame_copy_row *r = row_of(row);
    if (!r || metric < 0)
        return (double)NAN;
    size_t i = (size_t)metric - metric_first(r->kind);
    return i < r->count ? frame_copy_number(r, i) : (double)NAN;
}

int toll_row_get(const struct toll_row *row, const char *name, double *ret_value)
{
    const struct toll_metric *m;
    if (!row || !name || !ret_value)
        return -EINVAL;
    for (size_t i = 0; (m = toll_row_at(row, i, NULL)); i++)
        if (strcmp(m->name, name) == 0) {
            *ret_value = frame_copy_number(row_of(row), i);
            return 0;
        }
    return -ENOENT;
}

/* Of one of several targets or of a thing; NULL where there is but one of the kind. */
static const char *name_in_columns(const struct frame_copy_row *r)
{
    return r->kind == ENTITY_TARGET ? r->target : r->facts.name;
}

size_t toll_row_column(const struct toll_row *row, const char *metric, char *buf, size_t size)
{
    const struct frame_copy_row *r = row_of(row);
    struct buf text = {0};
    if (r && metric && r->kind != ENTITY_PROCESS) {
        column_lead(&text, r->kind, r->part, name_in_columns(r));
        buf_puts(&text, metric);
    }
    size_t length = buf_copy_out(&text, buf, size);
    buf_done(&text);
    return length;
}

int toll_frame_get(const struct toll_frame *frame, const char *name, double *ret_value)
{
    if (!frame || !name || !ret_value)
        return -EINVAL;
    for (size_t i = 0; i < frame->row_count; i++) {
        const struct frame_copy_row *r = &frame_copy_of(frame)->rows[i];
        if (r->kind == ENTITY_PROCESS)
            continue; /* there are many of them */
        int id = column_metric(r->kind, r->part, name_in_columns(r), name);
        if (id >= 0) {
            *ret_value = frame_copy_number(r, (enum metric_id)id - metric_first(r->kind));
            return 0;
        }
    }
    if (!column_exists(name))
        return -ENOENT;
    *ret_value = (double)NAN;
    return 0;
}

void toll_frame_free(struct toll_frame *frame)
{
    frame_copy_release((struct frame_copy *)frame);
}

/* ==== Pack ==================================================================================== */

/* A frame as bytes, for another process, another machine or another version of toll.
 *   "toll frame 1\n"
 *   number, real_ns, elapsed_ns, interval_ns, missed, dropped   u64 each
 *   last                                                         u8
 *   kinds      u32, then for each: entity, and the metrics that some row of it has:
 *              u32, then for each: name, u8 1 when its values are doubles
 *   rows       u32, then for each: u32 kind, u8 part, u8 space, u8 1 for one of several targets,
 *              name, u32 pid, u32 parent, u64 known, u64 at_least, and u64 for each of their bits
 * Numbers are little-endian; a text is its length as u32 and its bytes. Entities and metrics that
 * the reader does not have are left out, so that both versions may differ in their metrics. */

static const char pack_magic[] = "toll frame 1\n";

/* ---- Writing --------------------------------------------------------------------------------- */

static void pack_number(struct buf *b, uint64_t value, unsigned bytes)
{
    for (unsigned i = 0; i < bytes; i++)
        buf_putc(b, (char)(value >> 8 * i & 0xff));
}

static void pack_text(struct buf *b, const char *text)
{
    size_t length = strlen(text);
    pack_number(b, length, 4);
    buf_add(b, text, length);
}

/* The bits of a mask moved to where their metrics are among those that were written. */
static uint64_t pack_bits(uint64_t bits, uint64_t written)
{
    uint64_t packed = 0;
    unsigned at = 0;
    FOR_EACH_BIT(i, written)
    packed |= (bits >> i & 1) << at++;
    return packed;
}

int toll_frame_pack(const struct toll_frame *frame, void **ret, size_t *ret_size)
{
    if (!frame || !ret || !ret_size)
        return -EINVAL;
    const struct frame_copy *copy = (const struct frame_copy *)frame;
    uint64_t has[ENTITY_KINDS + 1] = {0}; /* metrics that some row has; a target is the last kind */
    bool is_there[ENTITY_KINDS + 1] = {0};
    unsigned place[ENTITY_KINDS + 1], kinds = 0;
    for (size_t i = 0; i < frame->row_count; i++) {
        const struct frame_copy_row *r = &copy->rows[i];
        has[r->kind] |= r->known | r->at_least;
        is_there[r->kind] = true;
    }
    for (unsigned kind = 0; kind < ARRAY_LEN(has); kind++)
        if (is_there[kind])
            place[kind] = kinds++;

    struct buf b = {0};
    buf_puts(&b, pack_magic);
    const uint64_t head[] = {frame->number,      frame->real_ns, frame->elapsed_ns,
                             frame->interval_ns, frame->missed,  frame->dropped};
    for (size_t i = 0; i < ARRAY_LEN(head); i++)
        pack_number(&b, head[i], 8);
    pack_number(&b, frame->last, 1);
    pack_number(&b, kinds, 4);
    for (unsigned kind = 0; kind < ARRAY_LEN(has); kind++) {
        if (!is_there[kind])
            continue;
        pack_text(&b, kind == ENTITY_TARGET ? "target" : entity_kind_name(kind));
        pack_number(&b, (uint64_t)__builtin_popcountll(has[kind]), 4);
        FOR_EACH_BIT(i, has[kind])
        {
            const struct metric *m = metric_of(metric_first(kind) + (enum metric_id)i);
            pack_text(&b, m->facts.name);
            pack_number(&b, metric_is_double(m), 1);
        }
    }
    pack_number(&b, frame->row_count, 4);
    for (size_t i = 0; i < frame->row_count; i++) {
        const struct frame_copy_row *r = &copy->rows[i];
        pack_number(&b, place[r->kind], 4);
        pack_number(&b, r->part, 1);
        pack_number(&b, r->space, 1);
        pack_number(&b, r->target != NULL, 1);
        pack_text(&b, r->facts.name);
        pack_number(&b, (uint64_t)r->facts.pid, 4);
        pack_number(&b, (uint64_t)r->facts.parent, 4);
        pack_number(&b, pack_bits(r->known, has[r->kind]), 8);
        pack_number(&b, pack_bits(r->at_least, has[r->kind]), 8);
        FOR_EACH_BIT(k, r->known | r->at_least)
        pack_number(&b, r->values[k].u, 8); /* a double has the same bits */
    }
    size_t size = b.length;
    void *bytes = buf_take(&b);
    if (!bytes)
        return -ENOMEM;
    *ret = bytes;
    *ret_size = size;
    return 0;
}

/* ---- Reading --------------------------------------------------------------------------------- */

/* What is left to be read. Whatever reads beyond the end fails, and everything after it. */
struct unpack {
    const unsigned char *at, *end;
    bool failed;
};

static uint64_t unpack_number(struct unpack *u, unsigned bytes)
{
    uint64_t value = 0;
    if ((size_t)(u->end - u->at) < bytes) {
        u->failed = true;
        return 0;
    }
    for (unsigned i = 0; i < bytes; i++)
        value |= (uint64_t)*u->at++ << 8 * i;
    return value;
}

/* Borrowed, not terminated; a text has no NUL in it. */
static const char *unpack_text(struct unpack *u, size_t *ret_length)
{
    size_t length = unpack_number(u, 4);
    const char *text = (const char *)u->at;
    if ((size_t)(u->end - u->at) < length || memchr(text, '\0', length)) {
        u->failed = true;
        length = 0;
    }
    u->at += length;
    *ret_length = length;
    return text;
}

static bool unpack_is(const char *text, size_t length, const char *word)
{
    return strlen(word) == length && memcmp(text, word, length) == 0;
}

/* The metrics of one entity in the order of the bytes, each with its number here, or -1. */
struct unpack_kind {
    int kind; /* enum entity_kind, or -1: not known here */
    unsigned count;
    int metrics[METRICS_PER_ENTITY];
};

enum { UNPACK_KINDS = 64 };

static void unpack_kind(struct unpack *u, struct unpack_kind *ret)
{
    size_t length;
    const char *name = unpack_text(u, &length);
    ret->kind = unpack_is(name, length, "target") ? ENTITY_TARGET : -1;
    for (unsigned kind = 0; kind < ENTITY_KINDS; kind++)
        if (unpack_is(name, length, entity_kind_name(kind)))
            ret->kind = (int)kind;
    ret->count = (unsigned)unpack_number(u, 4);
    if (ret->count > METRICS_PER_ENTITY) {
        u->failed = true;
        ret->count = 0;
    }
    uint64_t seen = 0;
    for (unsigned i = 0; i < ret->count && !u->failed; i++) {
        const char *metric = unpack_text(u, &length);
        bool is_double = unpack_number(u, 1) != 0;
        ret->metrics[i] = -1;
        for (unsigned k = 0; ret->kind >= 0 && k < metric_count(ret->kind); k++) {
            const struct metric *m = metric_of(metric_first(ret->kind) + k);
            if (unpack_is(metric, length, m->facts.name) && metric_is_double(m) == is_double)
                ret->metrics[i] = (int)k;
        }
        if (ret->metrics[i] >= 0) {
            u->failed |= (seen >> ret->metrics[i] & 1) != 0; /* the same one twice */
            seen |= BIT(ret->metrics[i]);
        }
    }
}

/* What is made: counted in a first pass, filled in a second one. */
struct unpacked {
    size_t rows, values, text_bytes;
    struct frame_copy_row *row; /* NULL in the first pass */
    union value *value;
    char *text;
};

static void unpack_row(struct unpack *u, const struct unpack_kind *kinds, size_t kind_count,
                       struct unpacked *out)
{
    size_t kind = unpack_number(u, 4), length;
    uint64_t part = unpack_number(u, 1), space = unpack_number(u, 1);
    uint64_t is_one_of_several = unpack_number(u, 1);
    const char *name = unpack_text(u, &length);
    uint64_t pid = unpack_number(u, 4), parent = unpack_number(u, 4);
    uint64_t known = unpack_number(u, 8), at_least = unpack_number(u, 8);
    if (u->failed || kind >= kind_count || part >= PARTS || space > SPACE_LOCAL ||
        is_one_of_several > 1 || pid > INT_MAX || parent > INT_MAX || (known & at_least) ||
        (kinds[kind].count < 64 && (known | at_least) >> kinds[kind].count)) {
        u->failed = true;
        return;
    }
    const struct unpack_kind *k = &kinds[kind];
    bool is_target = k->kind == ENTITY_TARGET;
    if (k->kind < 0 || (part && !is_target) || (is_one_of_several && !is_target)) {
        u->failed |= k->kind >= 0;
        for (int left = __builtin_popcountll(known | at_least); left > 0; left--)
            unpack_number(u, 8);
        return;
    }
    unsigned count = metric_count(k->kind);
    out->rows++;
    out->values += count;
    out->text_bytes += length + 1;
    struct frame_copy_row *row = out->row;
    if (row) {
        memcpy(out->text, name, length);
        out->text[length] = '\0';
        memset(out->value, 0, count * sizeof *out->value);
        *row = (struct frame_copy_row){
            .facts = {.entity = is_target ? "target" : entity_kind_name(k->kind),
                      .part = is_target ? part_name(part) : "",
                      .name = out->text,
                      .pid = k->kind == ENTITY_PROCESS ? (pid_t)pid : 0,
                      .parent = k->kind == ENTITY_PROCESS ? (pid_t)parent : 0},
            .kind = (enum entity_kind)k->kind,
            .part = (enum part)part,
            .space = (enum space_kind)space,
            .target = is_one_of_several ? out->text : NULL,
            .metrics = metric_of(metric_first(k->kind)),
            .count = count,
            .values = out->value,
        };
    }
    FOR_EACH_BIT(i, known | at_least)
    {
        uint64_t value = unpack_number(u, 8);
        int metric = k->metrics[i];
        if (!row || metric < 0)
            continue;
        out->value[metric].u = value;
        *(known >> i & 1 ? &row->known : &row->at_least) |= BIT(metric);
    }
    if (row) {
        out->row++;
        out->value += count;
        out->text += length + 1;
    }
}

int toll_frame_unpack(struct toll_frame **ret, const void *bytes, size_t size, struct toll_error *e)
{
    if (!ret)
        return err_set_no_place(e);
    if (!bytes)
        return err_set(e, -EINVAL, "packed frame: bytes is NULL");
    size_t version = sizeof pack_magic - 3; /* "toll frame " */
    if (size < sizeof pack_magic - 1 || memcmp(bytes, pack_magic, version) != 0)
        return err_set(e, -EBADMSG, "packed frame: not a frame of toll");
    if (memcmp(bytes, pack_magic, sizeof pack_magic - 1) != 0)
        return err_set(e, -EOPNOTSUPP,
                       "packed frame: unknown version (expected 1); a newer toll can read it");

    struct unpack u = {(const unsigned char *)bytes + sizeof pack_magic - 1,
                       (const unsigned char *)bytes + size, false};
    struct toll_frame head = {0};
    uint64_t *const fields[] = {&head.number,      &head.real_ns, &head.elapsed_ns,
                                &head.interval_ns, &head.missed,  &head.dropped};
    for (size_t i = 0; i < ARRAY_LEN(fields); i++)
        *fields[i] = unpack_number(&u, 8);
    head.last = unpack_number(&u, 1) != 0;
    size_t kind_count = unpack_number(&u, 4);
    struct unpack_kind kinds[UNPACK_KINDS];
    u.failed |= kind_count > UNPACK_KINDS;
    for (size_t i = 0; i < kind_count && !u.failed; i++)
        unpack_kind(&u, &kinds[i]);
    size_t row_count = unpack_number(&u, 4);

    struct unpack first_pass = u;
    struct unpacked out = {0};
    for (size_t i = 0; i < row_count && !first_pass.failed; i++)
        unpack_row(&first_pass, kinds, kind_count, &out);
    if (first_pass.failed || first_pass.at != first_pass.end)
        return err_set(e, -EBADMSG, "packed frame: damaged");

    head.row_count = out.rows;
    struct frame_copy *copy = malloc(sizeof *copy + out.rows * sizeof *copy->rows +
                                     out.values * sizeof *out.value + out.text_bytes);
    if (!copy)
        return err_set(e, -ENOMEM, "packed frame: out of memory");
    struct frame_copy_row *rows = (struct frame_copy_row *)(copy + 1);
    *copy = (struct frame_copy){.head = head, .holders = 1, .rows = rows};
    union value *values = (union value *)(rows + out.rows);
    out = (struct unpacked){.row = rows, .value = values, .text = (char *)(values + out.values)};
    for (size_t i = 0; i < row_count; i++)
        unpack_row(&u, kinds, kind_count, &out);
    *ret = &copy->head;
    return 0;
}
