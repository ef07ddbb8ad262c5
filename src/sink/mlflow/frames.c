/* SPDX-License-Identifier: MIT */
#include "sink/mlflow/mlflow.h"

#include "base/memory.h"
#include "layout/layout.h"
#include "layout/translation.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ==== Metrics ================================================================================= */

void mlflow_metrics_add(struct mlflow_metrics *m, const char *key, double value, int64_t time_ms,
                        uint64_t step)
{
    if (!m->count) {
        json_begin(&m->json, &m->body, 0);
        json_object(&m->json);
        json_put_array(&m->json, "metrics");
    }
    json_object(&m->json);
    json_put_string(&m->json, "key", key);
    json_key(&m->json, "value");
    if (isfinite(value))
        json_number(&m->json, value);
    else /* as a bare word, the server would store 0 at the time 0, without an error */
        json_string(&m->json, isnan(value) ? "NaN" : value > 0 ? "Infinity" : "-Infinity");
    json_put_i64(&m->json, "timestamp", time_ms);
    json_put_u64(&m->json, "step", step);
    json_object_end(&m->json);
    if (++m->count == MLFLOW_METRICS_AT_MOST)
        mlflow_metrics_end(m);
}

void mlflow_metrics_end(struct mlflow_metrics *m)
{
    if (m->count) {
        json_array_end(&m->json);
        json_object_end(&m->json);
        m->ops->failed |= buf_failed(&m->body);
        spool_op_add(m->ops, SPOOL_BATCH, "", m->body.data, m->body.length);
    }
    m->count = 0;
    buf_done(&m->body);
}

/* ==== Keys ==================================================================================== */

/* One part between slashes; dots alone, or two in a row, have a meaning in a path. */
static void mlflow_key_add_part(struct buf *b, const char *part, size_t length)
{
    bool is_dot = length == 1 && *part == '.';
    for (size_t i = 0; i < length; i++) {
        bool is_double = part[i] == '.' &&
                         ((i + 1 < length && part[i + 1] == '.') || (i && part[i - 1] == '.'));
        char c = part[i];
        bool is_allowed = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                          (c >= '0' && c <= '9') || (c && strchr("_./: -", c));
        buf_putc(b, is_allowed && !is_double && !is_dot ? c : '_');
    }
}

void mlflow_key(struct buf *b, const char *name)
{
    size_t start = b->length;
    while (*name) {
        size_t length = strcspn(name, "/");
        if (length && b->length > start)
            buf_putc(b, '/');
        mlflow_key_add_part(b, name, length);
        name += length + (name[length] == '/');
    }
    if (b->length == start)
        buf_putc(b, '_');
    if (buf_failed(b) || b->length - start <= MLFLOW_KEY_BYTES)
        return;
    /* Two names that differ only after the limit must stay different. */
    enum { TAIL = 9 };
    uint32_t hash = 2166136261U;
    char tail[TAIL + 1];
    for (size_t i = start; i < b->length; i++)
        hash = (hash ^ (unsigned char)b->data[i]) * 16777619U;
    snprintf(tail, sizeof tail, "-%08x", hash);
    b->length = start + MLFLOW_KEY_BYTES - TAIL;
    while (b->data[b->length - 1] == '/') /* a part must not be "-" and the hash alone */
        b->length--;
    buf_puts(b, tail);
}

void mlflow_key_part(struct buf *b, const char *name)
{
    size_t start = b->length;
    mlflow_key_add_part(b, name, strlen(name));
    for (size_t i = start; i < b->length && !buf_failed(b); i++)
        if (b->data[i] == '/')
            b->data[i] = '_';
    if (b->length == start)
        buf_putc(b, '_');
}

/* ==== Frames ================================================================================== */

/* A series that is a cell of a layout's table: which table, row and column. */
#define OF_TABLE    BIT(63)
#define TABLE_SHIFT 48
#define ROW_SHIFT   24
#define NUMBER_MASK (BIT(24) - 1)
#define CHUNK_BYTES (sizeof(uint64_t) + sizeof(struct points_head))

struct gauge_head {
    int64_t time_ms;
    uint64_t step;
    double value;
};

int mlflow_frames_init(struct mlflow_frames *f, struct sink *s, bool all_parts, const char *prefix,
                       const char *node, uint64_t interval_ns, struct toll_error *e)
{
    int r = 0;
    points_init(&f->points);
    f->fold.interval_ns = interval_ns;
    f->has_points = !s->layout;
    f->all_parts = all_parts;
    f->prefix = strdup(prefix);
    struct buf b = {0};
    if (*node) {
        mlflow_key_part(&b, node);
        buf_putc(&b, '/');
    }
    f->node = buf_failed(&b) ? NULL : strdup(b.data ? b.data : "");
    buf_done(&b);
    f->choice = s->layout;
    if (!s->layout && !s->selection.by_name) { /* toll's names, and those of MLflow's monitor */
        r = layout_choice_parse(&f->own, "mlflow-system", e);
        f->choice = r == 0 ? &f->own : NULL;
    }
    return r < 0 ? r : f->prefix && f->node ? 0 : -ENOMEM;
}

void mlflow_frames_done(struct mlflow_frames *f)
{
    points_done(&f->points);
    for (size_t i = 0; i < f->table_count; i++)
        translation_done(&f->tables[i]);
    if (f->choice == &f->own)
        layout_choice_done(&f->own);
    free(f->prefix);
    free(f->node);
    free(f->fold.series);
    buf_done(&f->fold.sample);
    for (size_t i = 0; i < f->phase_count; i++)
        free(f->phases[i].name);
    free(f->phases);
    buf_done(&f->key);
    buf_done(&f->name);
}

/* ---- Several samples as one point ------------------------------------------------------------ */

/* A value is weighted by the time since the value before, as in the summary, but not by time before
 * the last point. */
static void mlflow_fold_value(struct mlflow_fold *fold, const struct point *p, uint64_t elapsed_ns)
{
    if (!ARRAY_RESERVE(fold->series, fold->count, p->series + 1)) {
        fold->sample.failed = true;
        return;
    }
    struct mlflow_folded *s = &fold->series[p->series];
    uint64_t from_ns = max_u64(s->seen_ns, fold->point_ns);
    uint64_t weight_ns = max_u64(left_u64(elapsed_ns, from_ns), 1);
    s->last = p->value;
    s->weighted += p->value * (double)weight_ns;
    s->weight_ns += weight_ns;
    s->seen_ns = elapsed_ns;
    s->count++;
}

/* The parts would be three times the figures, and a cgroup is not the job's alone: they are logged
 * only with all_parts, or when selected by name. */
static void mlflow_fold_sample(struct mlflow_frames *f, const struct sink *s,
                               const struct frame *frame)
{
    struct mlflow_fold *fold = &f->fold;
    struct selection selection = s->selection;
    struct point point;
    if (!selection.by_name && !f->all_parts) {
        selection.parts[PART_MAIN] = selection.parts[PART_DESCENDANTS] = 0;
        selection.of[ENTITY_CGROUP] = selection.of[ENTITY_SELF] = 0;
    }
    buf_clear(&fold->sample);
    points_add(&f->points, s->run, &selection, frame, &fold->sample);
    if (buf_failed(&fold->sample))
        return;
    memcpy(&fold->head, fold->sample.data, sizeof fold->head);
    for (size_t at = sizeof fold->head; at + sizeof point <= fold->sample.length;
         at += sizeof point) {
        memcpy(&point, fold->sample.data + at, sizeof point);
        mlflow_fold_value(fold, &point, frame->elapsed_ns);
    }
    fold->step = frame->tick;
    fold->samples++;
}

/* Adds the points, and starts over. */
static void mlflow_fold_end(struct mlflow_frames *f, uint64_t elapsed_ns, struct buf *out)
{
    struct mlflow_fold *fold = &f->fold;
    for (size_t i = 0; i < fold->count; i++) {
        struct mlflow_folded *s = &fold->series[i];
        const struct metric *m;
        if (!s->count)
            continue;
        points_series(&f->points, i, &m);
        /* A mean of counters, ages and high-water marks says nothing. */
        bool is_mean = s->count > 1 && m->kind != METRIC_COUNTER && !metric_is_high_water(m) &&
                       m != metric_of(system_uptime_seconds);
        struct point point = {i, is_mean ? s->weighted / (double)s->weight_ns : s->last};
        buf_add(out, (const char *)&point, sizeof point);
        s->weighted = 0;
        s->weight_ns = s->count = 0;
    }
    fold->point_ns = elapsed_ns;
    fold->samples = 0;
}

/* ---- While a sample is taken ----------------------------------------------------------------- */

/* All tables of the layout that are for what is measured. */
static void mlflow_frames_open_tables(struct mlflow_frames *f, struct sink *s, bool has_target)
{
    enum layout_subject subject = has_target ? SUBJECT_TARGET : SUBJECT_MACHINE;
    const struct layout *d = f->choice->layout;
    for (size_t i = 0; i < d->table_count && f->table_count < MLFLOW_TABLES; i++) {
        const struct layout_table *t = &d->tables[i];
        if (strcmp(t->format, s->kind->format.name) != 0 ||
            (t->subject != SUBJECT_ANY && t->subject != subject))
            continue;
        if (translation_open(&f->tables[f->table_count], f->choice, t) < 0)
            s->text.failed = true;
        else
            f->table_count++;
    }
}

static void mlflow_frames_put_table(struct mlflow_frames *f, struct sink *s, size_t table,
                                    const struct layout_source *source, bool last)
{
    struct translation *t = &f->tables[table];
    if (translation_put(t, source, last) < 0)
        s->text.failed = true;
    for (size_t row = 0; row < t->ready; row++)
        for (size_t column = 0; column < t->table->count; column++) {
            const struct layout_cell *cell = translation_cell(t, row, column);
            struct point p = {OF_TABLE | table << TABLE_SHIFT | row << ROW_SHIFT | column,
                              cell->number};
            if (!cell->text && !isnan(cell->number))
                buf_add(&s->text, (const char *)&p, sizeof p);
        }
}

/* With the names of a layout alone, which decides how many samples make a row. */
static void mlflow_frames_put_rows(struct mlflow_frames *f, struct sink *s,
                                   const struct frame *frame, const struct layout_source *source)
{
    size_t start = s->text.length;
    uint64_t step = frame->tick;
    struct points_head head = {.time_ms = (int64_t)(frame->real_ns / NS_PER_MS)};
    buf_add(&s->text, (const char *)&step, sizeof step);
    buf_add(&s->text, (const char *)&head, sizeof head);
    for (size_t i = 0; i < f->table_count; i++)
        mlflow_frames_put_table(f, s, i, source, frame->last);
    if (buf_failed(&s->text))
        return;
    if (f->table_count && f->tables[0].step) /* a step is a row of the layout */
        step = f->tables[0].step - 1;
    f->step = step;
    memcpy(s->text.data + start, &step, sizeof step);
    if (s->text.length - start == CHUNK_BYTES)
        s->text.length = start; /* several samples make a row, and this was not the last */
}

static void mlflow_frames_put_points(struct mlflow_frames *f, struct sink *s,
                                     const struct frame *frame, const struct layout_source *source)
{
    struct mlflow_fold *fold = &f->fold;
    /* The first sample of the next interval ends a point, and so does the last of all. */
    bool is_due = frame->last || !fold->interval_ns ||
                  frame->elapsed_ns / fold->interval_ns != fold->point_ns / fold->interval_ns;
    size_t start = s->text.length;
    f->step = frame->tick;
    mlflow_fold_sample(f, s, frame);
    if (is_due) {
        buf_add(&s->text, (const char *)&fold->step, sizeof fold->step);
        buf_add(&s->text, (const char *)&fold->head, sizeof fold->head);
        s->folded = fold->samples;
        mlflow_fold_end(f, frame->elapsed_ns, &s->text);
    }
    for (size_t i = 0; i < f->table_count; i++) {
        f->tables[i].is_paced_by_caller = true;
        f->tables[i].is_due = is_due;
        mlflow_frames_put_table(f, s, i, source, frame->last);
    }
    s->text.failed |= buf_failed(&fold->sample);
    if (s->text.length - start == CHUNK_BYTES)
        s->text.length = start; /* no selected figure is known */
}

void mlflow_frames_put(struct mlflow_frames *f, struct sink *s, const struct frame *frame)
{
    struct frame_view view = {.frame = frame, .run = s->run};
    struct layout_source source = frame_view_source(&view);
    if (f->choice && !f->table_count)
        mlflow_frames_open_tables(f, s, frame->target[PART_COMBINED].row != NULL);
    if (f->has_points)
        mlflow_frames_put_points(f, s, frame, &source);
    else
        mlflow_frames_put_rows(f, s, frame, &source);
}

unsigned mlflow_frames_rest(struct mlflow_frames *f, struct buf *out)
{
    struct mlflow_fold *fold = &f->fold;
    unsigned samples = f->has_points ? fold->samples : 0;
    if (!samples)
        return 0;
    buf_add(out, (const char *)&fold->step, sizeof fold->step);
    buf_add(out, (const char *)&fold->head, sizeof fold->head);
    mlflow_fold_end(f, fold->point_ns, out);
    return samples;
}

void mlflow_frames_put_gauge(struct mlflow_frames *f, struct sink *s, const struct run_mark *m)
{
    struct gauge_head head = {
        .time_ms = (int64_t)((s->run->start_real_ns + m->elapsed_ns) / NS_PER_MS),
        .step = f->step,
        .value = m->value,
    };
    buf_add(&s->text, (const char *)&head, sizeof head);
    buf_puts(&s->text, m->name);
}

/* How many phases of that name have ended before; with too many names, the number of the sample. */
static uint64_t mlflow_frames_count_phase(struct mlflow_frames *f, const char *name)
{
    for (size_t i = 0; i < f->phase_count; i++)
        if (strcmp(f->phases[i].name, name) == 0)
            return ++f->phases[i].count;
    if (f->phase_count == MARK_NAMES_AT_MOST || !ARRAY_GROW(f->phases, f->phase_count))
        return f->step;
    f->phases[f->phase_count] = (struct mlflow_phase){.name = strdup(name)};
    if (f->phases[f->phase_count].name)
        f->phase_count++;
    return 0;
}

void mlflow_frames_put_phase(struct mlflow_frames *f, struct sink *s, const struct run_mark *m)
{
    const struct phase *p = m->phase;
    struct gauge_head head = {
        .time_ms = (int64_t)((s->run->start_real_ns + m->elapsed_ns) / NS_PER_MS),
        .step = mlflow_frames_count_phase(f, m->name),
        .value = (double)left_u64(p->end_ns, p->begin_ns) / 1e9,
    };
    buf_add(&s->text, (const char *)&head, sizeof head);
    buf_printf(&s->text, "toll/%s" MLFLOW_PHASE_PREFIX "%s/seconds", f->node, m->name);
}

/* ---- Keys ------------------------------------------------------------------------------------ */

static const char *mlflow_frames_label(const struct labels *l, const char *name)
{
    for (size_t i = 0; i < l->count; i++)
        if (strcmp(l->items[i].name, name) == 0)
            return l->items[i].value;
    return NULL;
}

/* "system/target_cpu_seconds", "system/train/target_…" for one of several, "system/disk/sda/…". */
static void mlflow_frames_name_point(struct mlflow_frames *f, uint64_t series)
{
    const struct metric *m;
    const struct point_row *row = points_series(&f->points, series, &m);
    const char *kind = row->kind == ENTITY_TARGET ? NULL : entity_kind_name(row->kind);
    const char *instance = kind ? mlflow_frames_label(&row->labels, kind) : NULL;
    const char *target = mlflow_frames_label(&row->labels, "target");
    const char *scope = mlflow_frames_label(&row->labels, "scope");
    buf_printf(&f->name, "%s%s", f->prefix, f->node);
    if (!kind && target) {
        mlflow_key_part(&f->name, target);
        buf_putc(&f->name, '/');
    }
    if (kind && instance && row->kind != ENTITY_SYSTEM && row->kind != ENTITY_SELF) {
        buf_printf(&f->name, "%s/", kind);
        mlflow_key_part(&f->name, instance);
        buf_printf(&f->name, "/%s", m->facts.name);
    } else {
        bool is_whole = !scope || strcmp(scope, part_name(PART_COMBINED)) == 0;
        buf_printf(&f->name, "%s_%s",
                   kind       ? kind
                   : is_whole ? part_prefix(PART_COMBINED)
                              : scope,
                   m->facts.name);
    }
}

/* The prefix of the layout or of the sink, then the node. N in a name is the number of the row. */
static void mlflow_frames_name_cell(struct mlflow_frames *f, uint64_t series)
{
    const struct translation *t = &f->tables[(series & ~OF_TABLE) >> TABLE_SHIFT];
    uint64_t row = series >> ROW_SHIFT & NUMBER_MASK;
    const struct layout_column *c = &t->table->columns[series & NUMBER_MASK];
    const char *number = t->table->each == EACH_SAMPLE ? NULL : strstr(c->name, "_N_");
    buf_printf(&f->name, "%s%s%s",
               c->flags & WITH_PREFIX ? layout_choice_value(f->choice, "prefix") : f->prefix,
               f->is_doubled && !(c->flags & WITH_PREFIX) ? "toll/" : "", f->node);
    if (number)
        buf_printf(&f->name, "%.*s_%llu_%s", (int)(number - c->name), c->name,
                   (unsigned long long)row, number + 3);
    else
        buf_puts(&f->name, c->name);
}

/* The key of the name in f->name. */
static const char *mlflow_frames_key(struct mlflow_frames *f)
{
    buf_clear(&f->key);
    mlflow_key(&f->key, buf_failed(&f->name) || !f->name.data ? "" : f->name.data);
    return buf_failed(&f->key) ? NULL : f->key.data;
}

const char *mlflow_frames_key_of_monitor(struct mlflow_frames *f)
{
    const struct layout *d = f->choice ? f->choice->layout : NULL;
    if (!d || d != &layout_mlflow_system)
        return NULL;
    buf_clear(&f->name);
    buf_printf(&f->name, "%s%s%s", f->prefix, f->node, d->tables[0].columns[0].name);
    return mlflow_frames_key(f);
}

/* ---- Requests -------------------------------------------------------------------------------- */

static void mlflow_frames_encode_frame(struct mlflow_frames *f, const struct chunk *p,
                                       struct mlflow_metrics *m)
{
    uint64_t step;
    struct points_head head;
    struct point point;
    memcpy(&step, p->data, sizeof step);
    memcpy(&head, p->data + sizeof step, sizeof head);
    for (size_t at = CHUNK_BYTES; at + sizeof point <= p->length; at += sizeof point) {
        memcpy(&point, p->data + at, sizeof point);
        buf_clear(&f->name);
        if (point.series & OF_TABLE)
            mlflow_frames_name_cell(f, point.series);
        else
            mlflow_frames_name_point(f, point.series);
        const char *key = mlflow_frames_key(f);
        if (key)
            mlflow_metrics_add(m, key, point.value, head.time_ms, step);
        else
            m->ops->failed = true;
    }
}

void mlflow_frames_encode(struct mlflow_frames *f, const struct batch *b, struct buf *ops)
{
    struct mlflow_metrics m = {.ops = ops};
    for (size_t i = 0; i < b->count; i++) {
        const struct chunk *p = &b->chunks[i];
        if (p->kind == CHUNK_FRAME) {
            mlflow_frames_encode_frame(f, p, &m);
        } else if (p->kind == CHUNK_MARK) {
            struct gauge_head head;
            memcpy(&head, p->data, sizeof head);
            buf_clear(&f->name);
            buf_add(&f->name, p->data + sizeof head, p->length - sizeof head);
            const char *key = mlflow_frames_key(f);
            if (key)
                mlflow_metrics_add(&m, key, head.value, head.time_ms, head.step);
        } else {
            mlflow_metrics_end(&m);
            buf_add(ops, p->data, p->length);
        }
    }
    mlflow_metrics_end(&m);
}
