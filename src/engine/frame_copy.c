/* SPDX-License-Identifier: MIT */
#include "engine/frame_copy.h"

#include "metric/metric.h"

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
