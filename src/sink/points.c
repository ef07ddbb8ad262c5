/* SPDX-License-Identifier: MIT */
#include "sink/points.h"

#include "dialect/frame_view.h"

#include <string.h>

/* A row has a block of 64 numbers, one for each metric it can have. The rows: the parts of all
 * targets together, toll itself, the parts of each of several targets, things of the machine. */
enum { ROW_SELF = PARTS, ROWS_FIXED };

void points_init(struct points *p)
{
    *p = (struct points){0};
    pthread_mutex_init(&p->lock, NULL);
}

void points_done(struct points *p)
{
    for (size_t i = 0; i < p->row_count; i++) {
        struct point_row *r = p->rows[i];
        if (!r)
            continue;
        labels_done(&r->labels);
        free(r->target);
        free(r->name);
        for (size_t k = 0; k < ENTITY_LABELS; k++) {
            free(r->about[k].key);
            free(r->about[k].value);
        }
        free(r);
    }
    free(p->rows);
    pthread_mutex_destroy(&p->lock);
}

const char *point_row_about(const struct point_row *r, const char *key)
{
    for (size_t i = 0; i < ENTITY_LABELS && r->about[i].key; i++)
        if (strcmp(r->about[i].key, key) == 0)
            return r->about[i].value;
    return NULL;
}

/* A copy of what the row is of: what lacks memory is not known. */
static void describe_row(struct point_row *r, const char *target, const struct entity *thing)
{
    r->target = target ? strdup(target) : NULL;
    if (!thing || r->kind == ENTITY_SYSTEM)
        return;
    r->name = strdup(entity_name(thing));
    for (unsigned i = 0, k = 0; i < ENTITY_LABELS && thing->labels[i].key; i++) {
        r->about[k].key = strdup(thing->labels[i].key);
        r->about[k].value = strdup(thing->labels[i].value);
        k += r->about[k].key && r->about[k].value;
    }
}

static struct point_row *make_row(const struct points *p, enum entity_kind kind, enum part part,
                                  const char *scope, const char *target, const struct entity *thing)
{
    struct point_row *r = calloc(1, sizeof *r);
    if (!r)
        return NULL;
    r->kind = kind;
    r->part = part;
    describe_row(r, target, thing);
    labels_add_run(&r->labels, p->run, p->with_id);
    labels_add(&r->labels, "scope", scope);
    if (target)
        labels_add(&r->labels, "target", target);
    if (thing && kind != ENTITY_SYSTEM) {
        labels_add(&r->labels, entity_kind_name(kind), entity_name(thing));
        for (unsigned i = 0; i < ENTITY_LABELS && thing->labels[i].key; i++)
            labels_add(&r->labels, thing->labels[i].key, thing->labels[i].value);
    }
    labels_add_users(&r->labels, p->run);
    return r;
}

/* Makes room; 0 or -ENOMEM. */
static int reach(struct points *p, size_t row)
{
    if (row < p->row_count)
        return 0;
    size_t count = max_u64(row + 1, p->row_count * 2);
    struct point_row **longer = reallocarray(p->rows, count, sizeof *longer);
    if (!longer)
        return -ENOMEM;
    memset(longer + p->row_count, 0, (count - p->row_count) * sizeof *longer);
    p->rows = longer;
    p->row_count = count;
    return 0;
}

static void add_row(struct points *p, size_t number, enum entity_kind kind, enum part part,
                    const char *scope, const char *target, const struct entity *thing,
                    const struct row *row, uint64_t selected, struct buf *out)
{
    pthread_mutex_lock(&p->lock);
    if (reach(p, number) == 0 && !p->rows[number])
        p->rows[number] = make_row(p, kind, part, scope, target, thing);
    struct point_row *r = number < p->row_count ? p->rows[number] : NULL;
    uint64_t bits = row->present & selected;
    if (r)
        r->seen |= bits;
    pthread_mutex_unlock(&p->lock);
    if (!r) {
        out->failed = true;
        return;
    }
    FOR_EACH_BIT(i, bits)
    {
        const struct metric *m = metric_of(row->first + i);
        struct point point = {number * METRICS_PER_ENTITY + i,
                              frame_view_recorded(m, metric_number(m, row->values[i]))};
        buf_add(out, (const char *)&point, sizeof point);
    }
}

static void add_parts(struct points *p, size_t first, const struct frame_row parts[PARTS],
                      const char *target, const struct selection *selection, struct buf *out)
{
    for (unsigned part = 0; part < PARTS; part++)
        if (parts[part].row)
            add_row(p, first + part, ENTITY_TARGET, part, part_name(part), target, NULL,
                    parts[part].row, selection->parts[part], out);
}

static size_t begin_piece(struct points *p, int64_t time_ms, struct buf *out)
{
    struct points_head head = {.time_ms = time_ms > p->last_ms ? time_ms : p->last_ms + 1};
    p->last_ms = head.time_ms;
    buf_add(out, (const char *)&head, sizeof head);
    return out->length;
}

static void end_piece(size_t began, struct buf *out)
{
    if (buf_failed(out))
        return;
    uint64_t count = (out->length - began) / sizeof(struct point);
    memcpy(out->data + began - sizeof(struct points_head) + offsetof(struct points_head, count),
           &count, sizeof count);
}

void points_add(struct points *p, const struct run *run, const struct selection *selection,
                const struct frame *f, struct buf *out)
{
    p->run = run;
    size_t began = begin_piece(p, (int64_t)(f->real_ns / NS_PER_MS), out);
    add_parts(p, 0, f->target, NULL, selection, out);
    for (size_t i = 0; i < f->target_count; i++)
        add_parts(p, ROWS_FIXED + i * PARTS, f->targets[i].parts, f->targets[i].name, selection,
                  out);
    for (size_t i = 0; i < f->machine_count; i++) {
        const struct measured *m = f->machine[i];
        enum entity_kind kind = m->entity.kind;
        add_row(p, ROWS_FIXED + f->target_count * PARTS + m->number, kind, PART_COMBINED,
                entity_kind_name(kind), NULL, &m->entity, &m->row, selection->of[kind], out);
    }
    if (f->self.row)
        add_row(p, ROW_SELF, ENTITY_SELF, PART_COMBINED, entity_kind_name(ENTITY_SELF), NULL, NULL,
                f->self.row, selection->of[ENTITY_SELF], out);
    end_piece(began, out);
}

void points_add_end(struct points *p, struct buf *out)
{
    double end;
    uint64_t bits = POINTS_END_BITS;
    memcpy(&end, &bits, sizeof end);
    size_t began = begin_piece(p, 0, out);
    for (size_t number = 0; number < p->row_count; number++) {
        FOR_EACH_BIT(i, p->rows[number] ? p->rows[number]->seen : 0)
        {
            struct point point = {number * METRICS_PER_ENTITY + i, end};
            buf_add(out, (const char *)&point, sizeof point);
        }
    }
    end_piece(began, out);
}

void points_read(const char *piece, size_t length,
                 void (*each)(void *arg, int64_t time_ms, const struct point *point), void *arg)
{
    struct points_head head;
    struct point point;
    if (length < sizeof head)
        return;
    memcpy(&head, piece, sizeof head);
    for (size_t at = sizeof head; at + sizeof point <= length; at += sizeof point) {
        memcpy(&point, piece + at, sizeof point);
        each(arg, head.time_ms, &point);
    }
}

size_t points_row_count(struct points *p)
{
    pthread_mutex_lock(&p->lock);
    size_t count = p->row_count;
    pthread_mutex_unlock(&p->lock);
    return count;
}

const struct point_row *points_row(struct points *p, size_t row)
{
    pthread_mutex_lock(&p->lock);
    const struct point_row *r = row < p->row_count ? p->rows[row] : NULL;
    pthread_mutex_unlock(&p->lock);
    return r;
}

const struct point_row *points_series(struct points *p, uint64_t series,
                                      const struct metric **ret_metric)
{
    pthread_mutex_lock(&p->lock);
    const struct point_row *r = p->rows[series / METRICS_PER_ENTITY];
    pthread_mutex_unlock(&p->lock);
    *ret_metric = metric_of(metric_first(r->kind) + series % METRICS_PER_ENTITY);
    return r;
}

void points_name(struct buf *b, enum entity_kind kind, const struct metric *m)
{
    buf_printf(b, "toll_%s_%s",
               kind == ENTITY_TARGET ? part_prefix(PART_COMBINED) : entity_kind_name(kind),
               m->facts.name);
}
