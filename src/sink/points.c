/* SPDX-License-Identifier: MIT */
#include "sink/points.h"

#include "base/memory.h"
#include "base/text/buf.h"
#include "base/text/encoding.h"
#include "metric/metric.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

/* ==== Labels ================================================================================== */

static char labels_letter(char c)
{
    return isalnum((unsigned char)c) && (unsigned char)c < 0x80 ? c : '_';
}

/* Names that begin with two _ are reserved for the servers, which may refuse them. */
static char *labels_make_name(const char *text, const char *before)
{
    struct buf b = {0};
    bool is_reserved = *text && labels_letter(text[0]) == '_' && labels_letter(text[1]) == '_' &&
                       text[1];
    if (isdigit((unsigned char)*text) || !*text)
        buf_putc(&b, '_');
    buf_puts(&b, is_reserved && !*before ? "label" : before);
    for (; *text; text++)
        buf_putc(&b, labels_letter(*text));
    if (!buf_failed(&b))
        return b.data;
    buf_done(&b);
    return NULL;
}

static size_t labels_place_of(const struct labels *l, const char *name, bool *ret_taken)
{
    size_t i = 0;
    while (i < l->count && strcmp(l->items[i].name, name) < 0)
        i++;
    *ret_taken = i < l->count && strcmp(l->items[i].name, name) == 0;
    return i;
}

static void labels_add_named(struct labels *l, const char *before, const char *name,
                             const char *value)
{
    bool is_taken = false;
    if (!*value)
        return;
    char *own = labels_make_name(name, before);
    size_t at = own ? labels_place_of(l, own, &is_taken) : 0;
    if (is_taken && !*before) {
        free(own);
        own = labels_make_name(name, "label_");
        at = own ? labels_place_of(l, own, &is_taken) : 0;
    }
    struct buf copy = {0};
    buf_utf8(&copy, value, strlen(value));
    if (!own || buf_failed(&copy) || is_taken || l->count == LABELS_AT_MOST) {
        l->failed |= !is_taken;
        free(own);
        buf_done(&copy);
        return;
    }
    memmove(&l->items[at + 1], &l->items[at], (l->count - at) * sizeof l->items[0]);
    l->items[at].name = own;
    l->items[at].value = copy.data;
    l->count++;
}

void labels_add(struct labels *l, const char *name, const char *value)
{
    labels_add_named(l, "", name, value);
}

/* The batch system's job is job_id: "job" is what Prometheus calls where it scraped a series. */
void labels_add_run(struct labels *l, const struct run *run, bool with_id)
{
    labels_add(l, "run", run->name ? run->name : "");
    labels_add(l, "instance", run->host);
    labels_add(l, "id", with_id ? run->id : "");
    labels_add(l, "job_id", run->job.id);
    labels_add(l, "array_index", run->job.array_index);
    labels_add(l, "rank", run->parallel.rank);
    labels_add(l, "local_rank", run->parallel.local_rank);
    labels_add(l, "world_size", run->parallel.world_size);
}

/* ---- Of the user ----------------------------------------------------------------------------- */

/* Names that mean the same in every series. */
static bool labels_is_own(const char *name)
{
    static const char *const own[] = {"run", "instance", "rank", "scope", "target"};
    for (size_t i = 0; i < ARRAY_LEN(own); i++)
        if (strcmp(name, own[i]) == 0)
            return true;
    for (unsigned kind = 0; kind < ENTITY_TARGET; kind++)
        if (kind != ENTITY_PROCESS && kind != ENTITY_SYSTEM && kind != ENTITY_SELF &&
            strcmp(name, entity_kind_name(kind)) == 0)
            return true;
    return false;
}

bool labels_is_of_instances(const char *name)
{
    static const char *const keys[] = {"class", "namespace", "type",  "source", "device", "zone",
                                       "index", "vendor",    "model", "uuid",   "pci",    "driver"};
    for (size_t i = 0; i < ARRAY_LEN(keys); i++)
        if (strcmp(name, keys[i]) == 0)
            return true;
    return ends_with(name, "_cgroup");
}

void labels_add_users(struct labels *l, const struct run *run)
{
    size_t most = l->count + LABELS_OF_USER_AT_MOST;
    for (char **label = run->labels; label && *label && l->count < most; label++) {
        const char *equals = strchr(*label, '=');
        char *name = equals ? strndup(*label, (size_t)(equals - *label)) : NULL;
        if (name && !labels_has(l, name, equals + 1)) /* --label job_id=… says what is known */
            labels_add_named(l, labels_is_own(name) ? "label_" : "", name, equals + 1);
        free(name);
    }
}

bool labels_has(const struct labels *l, const char *name, const char *value)
{
    bool is_taken;
    size_t at = labels_place_of(l, name, &is_taken);
    return is_taken && strcmp(l->items[at].value, value) == 0;
}

void labels_done(struct labels *l)
{
    for (size_t i = 0; i < l->count; i++) {
        free(l->items[i].name);
        free(l->items[i].value);
    }
    *l = (struct labels){0};
}

/* ==== Point batch ============================================================================= */

static void point_batch_place(void *arg, int64_t time_ms, const struct point *point)
{
    struct point_batch *p = arg;
    if (p->count < p->capacity) {
        p->items[p->count] = (struct placed_point){point->series, p->count, time_ms, point->value};
        p->count++;
    }
}

int point_batch_take(struct point_batch *p, const struct batch *b)
{
    size_t count = 0;
    for (size_t i = 0; i < b->count; i++)
        count += b->chunks[i].length / sizeof(struct point);
    p->count = 0;
    if (!ARRAY_RESERVE(p->items, p->capacity, count))
        return -ENOMEM;
    for (size_t i = 0; i < b->count; i++)
        if (b->chunks[i].kind != CHUNK_MARK) /* it has no points */
            points_read(b->chunks[i].data, b->chunks[i].length, point_batch_place, p);
    return 0;
}

static int point_batch_compare(const void *a, const void *b)
{
    const struct placed_point *x = a, *y = b;
    if (x->series != y->series)
        return x->series < y->series ? -1 : 1;
    return x->number < y->number ? -1 : x->number > y->number;
}

void point_batch_sort(struct point_batch *p)
{
    if (p->count)
        qsort(p->items, p->count, sizeof *p->items, point_batch_compare);
}

bool point_is_end(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits == POINTS_END_BITS;
}

void point_batch_done(struct point_batch *p)
{
    free(p->items);
    *p = (struct point_batch){0};
}

/* ==== Points ================================================================================== */

/* A row has a block of 64 numbers, one for each metric. The rows are the parts of all targets
 * together, toll itself, the parts of each of several targets, and the instances of the machine. */
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

/* Copies of labels are missing without memory. */
static struct point_row *points_make_row(const struct points *p, enum entity_kind kind,
                                         enum part part, const char *scope, const char *target,
                                         const struct entity *instance)
{
    struct point_row *r = calloc(1, sizeof *r);
    if (!r)
        return NULL;
    r->kind = kind;
    r->part = part;
    r->target = target ? strdup(target) : NULL;
    labels_add_run(&r->labels, p->run, p->with_id);
    labels_add(&r->labels, "scope", scope);
    if (target)
        labels_add(&r->labels, "target", target);
    if (instance && kind != ENTITY_SYSTEM) {
        r->name = strdup(entity_name(instance));
        labels_add(&r->labels, entity_kind_name(kind), entity_name(instance));
        for (unsigned i = 0, k = 0; i < ENTITY_LABELS && instance->labels[i].key; i++) {
            labels_add(&r->labels, instance->labels[i].key, instance->labels[i].value);
            r->about[k].key = strdup(instance->labels[i].key);
            r->about[k].value = strdup(instance->labels[i].value);
            k += r->about[k].key && r->about[k].value;
        }
    }
    labels_add_users(&r->labels, p->run);
    return r;
}

static void points_add_row(struct points *p, size_t number, enum entity_kind kind, enum part part,
                           const char *scope, const char *target, const struct entity *instance,
                           const struct row *row, uint64_t selected, struct buf *out)
{
    pthread_mutex_lock(&p->lock);
    if (ARRAY_RESERVE(p->rows, p->row_count, number + 1) && !p->rows[number])
        p->rows[number] = points_make_row(p, kind, part, scope, target, instance);
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
        struct point point = {number * METRICS_PER_ENTITY + i, metric_recorded(m, row->values[i])};
        buf_add(out, (const char *)&point, sizeof point);
    }
}

static void points_add_parts(struct points *p, size_t first, const struct frame_row parts[PARTS],
                             const char *target, const struct selection *selection, struct buf *out)
{
    for (unsigned part = 0; part < PARTS; part++)
        if (parts[part].row)
            points_add_row(p, first + part, ENTITY_TARGET, part, part_name(part), target, NULL,
                           parts[part].row, selection->parts[part], out);
}

static size_t points_begin_chunk(struct points *p, int64_t time_ms, struct buf *out)
{
    struct points_head head = {.time_ms = time_ms > p->last_ms ? time_ms : p->last_ms + 1};
    p->last_ms = head.time_ms;
    buf_add(out, (const char *)&head, sizeof head);
    return out->length;
}

static void points_end_chunk(size_t began, struct buf *out)
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
    size_t began = points_begin_chunk(p, (int64_t)(f->real_ns / NS_PER_MS), out);
    points_add_parts(p, 0, f->target, NULL, selection, out);
    for (size_t i = 0; i < f->target_count; i++)
        points_add_parts(p, ROWS_FIXED + i * PARTS, f->targets[i].parts, f->targets[i].name,
                         selection, out);
    for (size_t i = 0; i < f->machine_count; i++) {
        const struct instance *m = f->machine[i];
        enum entity_kind kind = m->entity.kind;
        points_add_row(p, ROWS_FIXED + f->target_count * PARTS + m->number, kind, PART_COMBINED,
                       entity_kind_name(kind), NULL, &m->entity, &m->row, selection->of[kind], out);
    }
    if (f->self.row)
        points_add_row(p, ROW_SELF, ENTITY_SELF, PART_COMBINED, entity_kind_name(ENTITY_SELF), NULL,
                       NULL, f->self.row, selection->of[ENTITY_SELF], out);
    points_end_chunk(began, out);
}

void points_add_end(struct points *p, struct buf *out)
{
    double end;
    uint64_t bits = POINTS_END_BITS;
    memcpy(&end, &bits, sizeof end);
    size_t began = points_begin_chunk(p, 0, out);
    for (size_t number = 0; number < p->row_count; number++) {
        FOR_EACH_BIT(i, p->rows[number] ? p->rows[number]->seen : 0)
        {
            struct point point = {number * METRICS_PER_ENTITY + i, end};
            buf_add(out, (const char *)&point, sizeof point);
        }
    }
    points_end_chunk(began, out);
}

void points_read(const char *chunk, size_t length,
                 void (*each)(void *arg, int64_t time_ms, const struct point *point), void *arg)
{
    struct points_head head;
    struct point point;
    if (length < sizeof head)
        return;
    memcpy(&head, chunk, sizeof head);
    for (size_t at = sizeof head; at + sizeof point <= length; at += sizeof point) {
        memcpy(&point, chunk + at, sizeof point);
        each(arg, head.time_ms, &point);
    }
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

/* ==== Remote write ============================================================================ */

enum { FIELD_SERIES = 1, FIELD_METADATA = 3, FIELD_LABELS = 1, FIELD_SAMPLES = 2 };
enum { TYPE_COUNTER = 1, TYPE_GAUGE = 2 };

static void write_request_add_label(struct buf *b, const char *name, const char *value)
{
    size_t began = protobuf_begin(b, FIELD_LABELS);
    protobuf_string(b, 1, name);
    protobuf_string(b, 2, value);
    protobuf_end(b, began);
}

/* Labels are sorted; the name is one of them. */
size_t write_request_begin_series(struct buf *b, const char *name, const struct labels *labels)
{
    static const char own[] = "__name__";
    bool is_named = false;
    size_t began = protobuf_begin(b, FIELD_SERIES);
    for (size_t i = 0; i <= labels->count; i++) {
        if (!is_named && (i == labels->count || strcmp(labels->items[i].name, own) > 0)) {
            write_request_add_label(b, own, name);
            is_named = true;
        }
        if (i < labels->count)
            write_request_add_label(b, labels->items[i].name, labels->items[i].value);
    }
    return began;
}

void write_request_add_sample(struct buf *b, double value, int64_t time_ms)
{
    size_t began = protobuf_begin(b, FIELD_SAMPLES);
    protobuf_double(b, 1, value);
    protobuf_varint(b, 2, (uint64_t)time_ms);
    protobuf_end(b, began);
}

void write_request_end_series(struct buf *b, size_t began)
{
    protobuf_end(b, began);
}

void write_request_add_metadata(struct buf *b, const char *name, bool is_counter, const char *help,
                                const char *unit)
{
    size_t began = protobuf_begin(b, FIELD_METADATA);
    protobuf_varint(b, 1, is_counter ? TYPE_COUNTER : TYPE_GAUGE);
    protobuf_string(b, 2, name);
    protobuf_string(b, 4, help);
    if (*unit)
        protobuf_string(b, 5, unit);
    protobuf_end(b, began);
}

static uint64_t write_request_count_samples(struct scan series)
{
    struct protobuf_field f;
    uint64_t count = 0;
    while (series.at < series.end && protobuf_next(&series, &f))
        count += f.number == FIELD_SAMPLES;
    return count;
}

uint64_t write_request_count(struct scan request)
{
    struct protobuf_field f;
    uint64_t count = 0;
    while (request.at < request.end && protobuf_next(&request, &f))
        count += f.number == FIELD_SERIES && f.wire == PROTOBUF_BYTES
                     ? write_request_count_samples(f.bytes)
                     : f.number == FIELD_METADATA;
    return count;
}

void write_request_cut(struct buf *b, struct scan request, uint64_t first, uint64_t count)
{
    struct protobuf_field f;
    uint64_t at = 0, last = sum_u64(first, count);
    while (request.at < request.end && protobuf_next(&request, &f) && at < last) {
        bool is_series = f.number == FIELD_SERIES && f.wire == PROTOBUF_BYTES;
        uint64_t figures = is_series ? write_request_count_samples(f.bytes)
                                     : f.number == FIELD_METADATA;
        if (at + figures > first && at >= first && at + figures <= last) {
            protobuf_add_whole(b, &f);
            at += figures;
        } else if (at + figures > first && is_series) { /* its labels, and some of its samples */
            struct protobuf_field inner;
            size_t began = protobuf_begin(b, FIELD_SERIES);
            while (f.bytes.at < f.bytes.end && protobuf_next(&f.bytes, &inner)) {
                bool is_sample = inner.number == FIELD_SAMPLES;
                if (!is_sample || (at >= first && at < last))
                    protobuf_add_whole(b, &inner);
                at += is_sample;
            }
            protobuf_end(b, began);
        } else {
            at += figures;
        }
    }
}

/* ==== Text format ============================================================================= */

static void exposition_add_escaped(struct buf *b, const char *text, bool quoted)
{
    for (; *text; text++) {
        if (*text == '\\' || (*text == '"' && quoted))
            buf_putc(b, '\\');
        if (*text == '\n')
            buf_puts(b, "\\n");
        else
            buf_putc(b, *text);
    }
}

/* In the older format a counter's family is called like its samples. */
static void exposition_add_comment(struct buf *b, const char *what, enum entity_kind kind,
                                   const struct metric *m, enum exposition_flavour flavour)
{
    buf_printf(b, "# %s ", what);
    points_name(b, kind, m);
    if (m->kind == METRIC_COUNTER && flavour == EXPOSITION_TEXT)
        buf_puts(b, "_total");
    buf_putc(b, ' ');
}

void exposition_family(struct buf *b, enum entity_kind kind, const struct metric *m,
                       enum exposition_flavour flavour)
{
    exposition_add_comment(b, "TYPE", kind, m, flavour);
    buf_printf(b, "%s\n", m->facts.kind);
    if (*m->facts.unit && ends_with(m->facts.name, m->facts.unit) &&
        flavour == EXPOSITION_OPENMETRICS) {
        exposition_add_comment(b, "UNIT", kind, m, flavour);
        buf_printf(b, "%s\n", m->facts.unit);
    }
    exposition_add_comment(b, "HELP", kind, m, flavour);
    exposition_add_escaped(b, m->facts.help, flavour == EXPOSITION_OPENMETRICS);
    buf_putc(b, '\n');
}

static void exposition_add_labels(struct buf *b, const struct labels *l)
{
    for (size_t i = 0; i < l->count; i++) {
        buf_printf(b, "%s%s=\"", i ? "," : "{", l->items[i].name);
        exposition_add_escaped(b, l->items[i].value, true);
        buf_putc(b, '"');
    }
    buf_puts(b, l->count ? "} " : " ");
}

void exposition_series(struct buf *b, const struct point_row *row, const struct metric *m)
{
    points_name(b, row->kind, m);
    if (m->kind == METRIC_COUNTER)
        buf_puts(b, "_total");
    exposition_add_labels(b, &row->labels);
}

void exposition_number(struct buf *b, double value)
{
    if (isnan(value))
        buf_puts(b, "NaN");
    else if (isinf(value))
        buf_puts(b, value > 0 ? "+Inf" : "-Inf");
    else
        buf_number(b, value);
}

void exposition_begin(struct exposition *x, const struct run *run)
{
    labels_done(&x->of_run);
    labels_add_run(&x->of_run, run, x->points->with_id);
    labels_add_users(&x->of_run, run);
}

void exposition_done(struct exposition *x)
{
    labels_done(&x->of_run);
    free(x->values);
    x->values = NULL;
    x->count = 0;
}

static void exposition_take_point(void *arg, int64_t time_ms, const struct point *point)
{
    struct exposition *x = arg;
    size_t before = x->count;
    if (point->series >= before) {
        if (!ARRAY_RESERVE(x->values, x->count, point->series + METRICS_PER_ENTITY))
            return;
        for (size_t i = before; i < x->count; i++)
            x->values[i] = NAN;
    }
    x->values[point->series] = point->value;
}

int exposition_take(struct exposition *x, const char *chunk, size_t length)
{
    points_read(chunk, length, exposition_take_point, x);
    return x->count || length <= sizeof(struct points_head) ? 0 : -ENOMEM;
}

void exposition_add_end(struct buf *b, const struct summary *s)
{
    struct run_end end;
    run_end_take(&end, s);
    buf_add(b, (const char *)&end, sizeof end);
}

void exposition_take_end(struct exposition *x, const char *chunk, size_t length)
{
    const struct metric *m;
    if (length != sizeof x->end)
        return;
    memcpy(&x->end, chunk, length);
    for (size_t i = 0; i < x->count; i++) /* counters and peaks stay */
        if (!isnan(x->values[i]) && points_series(x->points, i, &m) && m->kind != METRIC_COUNTER &&
            m->fold != FOLD_MAX)
            x->values[i] = NAN;
}

void exposition_take_batch(struct exposition *x, const struct batch *b)
{
    for (size_t i = 0; i < b->count; i++) {
        const struct chunk *p = &b->chunks[i];
        if (p->kind == CHUNK_FRAME)
            exposition_take(x, p->data, p->length);
        else if (p->kind == CHUNK_SUMMARY)
            exposition_take_end(x, p->data, p->length);
    }
}

static void exposition_write_family(const struct exposition *x, struct buf *b,
                                    enum entity_kind kind, unsigned metric,
                                    enum exposition_flavour flavour)
{
    const struct metric *m = metric_of(metric_first(kind) + metric);
    bool has_family = false;
    for (size_t row = 0; row * METRICS_PER_ENTITY < x->count; row++) {
        size_t series = row * METRICS_PER_ENTITY + metric;
        pthread_mutex_lock(&x->points->lock);
        const struct point_row *r = row < x->points->row_count ? x->points->rows[row] : NULL;
        pthread_mutex_unlock(&x->points->lock);
        if (!r || r->kind != kind || series >= x->count || isnan(x->values[series]))
            continue;
        if (!has_family)
            exposition_family(b, kind, m, flavour);
        has_family = true;
        exposition_series(b, r, m);
        exposition_number(b, x->values[series]);
        buf_putc(b, '\n');
    }
}

void exposition_write(const struct exposition *x, struct buf *b, enum exposition_flavour flavour)
{
    for (unsigned kind = 0; kind <= ENTITY_TARGET; kind++)
        for (unsigned i = 0; kind != ENTITY_PROCESS && i < metric_count(kind); i++)
            exposition_write_family(x, b, kind, i, flavour);
    struct run_fact facts[RUN_FACTS_AT_MOST];
    size_t count = run_end_facts(&x->end, facts);
    for (size_t i = 0; i < count; i++) {
        const struct run_fact *f = &facts[i];
        buf_printf(b, "# TYPE toll_run_%s gauge\n", f->name);
        if (ends_with(f->name, "_seconds") && flavour == EXPOSITION_OPENMETRICS)
            buf_printf(b, "# UNIT toll_run_%s seconds\n", f->name);
        buf_printf(b, "# HELP toll_run_%s %s\ntoll_run_%s", f->name, f->help, f->name);
        exposition_add_labels(b, &x->of_run);
        buf_fixed(b, f->number, f->decimals);
        buf_putc(b, '\n');
    }
    if (flavour == EXPOSITION_OPENMETRICS)
        buf_puts(b, "# EOF\n");
}
