/* SPDX-License-Identifier: MIT
 * Prometheus remote write 1.0: samples to Prometheus, VictoriaMetrics, Mimir, Thanos and others, as
 * protocol buffers (points.h) in snappy. Marks of the job are series as well: its gauges,
 * and counts of events and phases. What cannot be sent waits in a spool (spool.h). */
#include "base/clock.h"
#include "base/err.h"
#include "base/memory.h"
#include "base/text/encoding.h"
#include "sink/http.h"
#include "sink/points.h"
#include "sink/sink.h"
#include "sink/spool.h"
#include "summary/phases.h"

#include <stdio.h>
#include <string.h>

enum { BATCH_BYTES = 256 * 1024, MARK_SERIES_AT_MOST = 4 * MARK_NAMES_AT_MOST };

/* Servers forget descriptions of metrics when they restart, some after ten minutes: they are sent
 * again as often as Prometheus does. */
#define METADATA_NS (60 * NS_PER_SECOND)

/* The series of marks. */
static const struct mark_metric {
    const char *name, *help, *unit;
    bool is_counter;
} mark_metrics[] = {
    {"toll_mark_gauge", "a gauge reported by the job", "", false},
    {"toll_mark_events_total", "events reported by the job", "", true},
    {"toll_mark_phases_total", "ended phases", "", true},
    {"toll_mark_phase_seconds_total", "time of ended phases", "seconds", true},
};

enum mark_metric_id { MARK_IS_GAUGE, MARK_IS_EVENT, MARK_IS_PHASE, MARK_IS_PHASE_TIME };

/* Each of the two threads has its own table of these. */
struct mark_series {
    char *name; /* owned */
    enum mark_metric_id metric;
    double total; /* of a counter */
    int64_t last_ms;
};

struct mark_table {
    struct mark_series *items; /* owned */
    size_t count;
};

/* The chunk of a mark has some of them, each followed by its name. Numbers of series would not do:
 * a chunk may be dropped, so that the two tables differ. */
struct mark_point {
    int64_t time_ms;
    double value;
    uint16_t metric;
    uint16_t name_bytes;
};

struct prometheus {
    struct points points;
    struct http *http;
    struct labels of_run;
    struct run_end end; /* set before the chunk of end_ms, which ends all series */
    int64_t end_ms;
    struct mark_table series_added;
    /* Used by the sender's thread: */
    struct mark_table series_sent;
    struct point_batch batch;
    struct buf message, body, name;
    uint64_t families[ENTITY_TARGET + 1]; /* bits of metrics that were ever sent */
    uint64_t mark_families;
    uint64_t described;        /* number of families in the last metadata */
    uint64_t next_metadata_ns; /* when they are described again */
    bool no_metadata;          /* the server refuses it */
    struct http_parts parts;
    bool may_be_there; /* an earlier attempt may have arrived though it failed */
};

/* ---- While a sample is taken ----------------------------------------------------------------- */

static void prometheus_begin(struct sink *s, const struct run *run)
{
    struct prometheus *p = s->state;
    labels_add_run(&p->of_run, run, p->points.with_id);
    labels_add_users(&p->of_run, run);
}

static void prometheus_frame(struct sink *s, const struct frame *f)
{
    struct prometheus *p = s->state;
    points_add(&p->points, s->run, &s->selection, f, &s->text);
}

/* The series of that metric and name, added if missing; NULL: no room. */
static struct mark_series *mark_table_find(struct mark_table *t, enum mark_metric_id metric,
                                           const char *name)
{
    for (size_t i = 0; i < t->count; i++)
        if (t->items[i].metric == metric && strcmp(t->items[i].name, name) == 0)
            return &t->items[i];
    if (t->count == MARK_SERIES_AT_MOST || !ARRAY_GROW(t->items, t->count))
        return NULL;
    char *own = strdup(name);
    if (!own)
        return NULL;
    t->items[t->count] = (struct mark_series){.name = own, .metric = metric};
    return &t->items[t->count++];
}

static void mark_table_done(struct mark_table *t)
{
    for (size_t i = 0; i < t->count; i++)
        free(t->items[i].name);
    free(t->items);
}

/* Times of a series rise: of two marks within a millisecond, the later is sent a millisecond later.
 */
static void prometheus_put_mark(struct sink *s, enum mark_metric_id metric,
                                const struct run_mark *m, double value)
{
    struct prometheus *p = s->state;
    struct mark_series *series = mark_table_find(&p->series_added, metric, m->name);
    if (!series)
        return;
    int64_t time_ms = (int64_t)((s->run->start_real_ns + m->elapsed_ns) / NS_PER_MS);
    series->last_ms = time_ms > series->last_ms ? time_ms : series->last_ms + 1;
    series->total += value;
    struct mark_point point = {
        .time_ms = series->last_ms,
        .value = mark_metrics[metric].is_counter ? series->total : value,
        .metric = (uint16_t)metric,
        .name_bytes = (uint16_t)strlen(series->name),
    };
    buf_add(&s->text, (const char *)&point, sizeof point);
    buf_add(&s->text, series->name, point.name_bytes);
}

static void prometheus_mark(struct sink *s, const struct run_mark *m)
{
    if (m->kind == MARK_GAUGE) {
        prometheus_put_mark(s, MARK_IS_GAUGE, m, m->value);
    } else if (m->kind == MARK_EVENT) {
        prometheus_put_mark(s, MARK_IS_EVENT, m, 1);
    } else if (m->kind == MARK_PHASE_END && m->phase && !m->phase->not_ended) {
        prometheus_put_mark(s, MARK_IS_PHASE, m, 1);
        prometheus_put_mark(s, MARK_IS_PHASE_TIME, m,
                            (double)left_u64(m->phase->end_ns, m->phase->begin_ns) / 1e9);
    }
}

static void prometheus_summary(struct sink *s, const struct summary *summary)
{
    struct prometheus *p = s->state;
    run_end_take(&p->end, summary);
    points_add_end(&p->points, &s->text);
    p->end_ms = p->points.last_ms;
}

/* ---- Requests -------------------------------------------------------------------------------- */

static void prometheus_name(struct buf *b, enum entity_kind kind, const struct metric *m)
{
    buf_clear(b);
    points_name(b, kind, m);
    if (m->kind == METRIC_COUNTER)
        buf_puts(b, "_total");
}

static uint64_t prometheus_add_points(struct prometheus *p, const struct batch *b)
{
    point_batch_sort(&p->batch);
    const struct placed_point *at = p->batch.items, *end = at + p->batch.count;
    while (at < end) {
        const struct metric *m;
        uint64_t series = at->series;
        const struct point_row *row = points_series(&p->points, series, &m);
        prometheus_name(&p->name, row->kind, m);
        p->families[row->kind] |= BIT(series % METRICS_PER_ENTITY);
        size_t began = write_request_begin_series(&p->message, p->name.data ? p->name.data : "",
                                                  &row->labels);
        for (; at < end && at->series == series; at++)
            write_request_add_sample(&p->message, at->value, at->time_ms);
        write_request_end_series(&p->message, began);
    }
    return p->batch.count;
}

/* All points of one series in the batch, and its end if the run ends. */
static uint64_t prometheus_add_mark_series(struct prometheus *p, const struct batch *b,
                                           size_t number)
{
    struct mark_series *series = &p->series_sent.items[number];
    struct labels labels = {0};
    uint64_t count = 0;
    for (size_t i = 0; i < p->of_run.count; i++)
        labels_add(&labels, p->of_run.items[i].name, p->of_run.items[i].value);
    labels_add(&labels, "scope", "mark");
    labels_add(&labels, "mark", series->name);
    size_t began = write_request_begin_series(&p->message, mark_metrics[series->metric].name,
                                              &labels);
    for (size_t i = 0; i < b->count; i++) {
        const struct chunk *chunk = &b->chunks[i];
        struct mark_point point;
        for (size_t at = 0; chunk->kind == CHUNK_MARK && at + sizeof point <= chunk->length;
             at += sizeof point + point.name_bytes) {
            memcpy(&point, chunk->data + at, sizeof point);
            const char *name = chunk->data + at + sizeof point;
            if (point.metric != series->metric || strlen(series->name) != point.name_bytes ||
                memcmp(name, series->name, point.name_bytes) != 0)
                continue;
            write_request_add_sample(&p->message, point.value, point.time_ms);
            series->last_ms = point.time_ms;
            count++;
        }
    }
    if (batch_has_end(b)) {
        double end;
        uint64_t bits = POINTS_END_BITS;
        memcpy(&end, &bits, sizeof end);
        int64_t end_ms = p->end_ms > series->last_ms ? p->end_ms : series->last_ms + 1;
        write_request_add_sample(&p->message, end, end_ms);
        count++;
    }
    write_request_end_series(&p->message, began);
    p->message.failed |= labels.failed;
    p->mark_families |= BIT(series->metric);
    labels_done(&labels);
    return count;
}

static uint64_t prometheus_add_marks(struct prometheus *p, const struct batch *b)
{
    uint64_t count = 0;
    bool is_here[MARK_SERIES_AT_MOST] = {0};
    for (size_t i = 0; i < b->count; i++) {
        const struct chunk *chunk = &b->chunks[i];
        struct mark_point point;
        for (size_t at = 0; chunk->kind == CHUNK_MARK && at + sizeof point <= chunk->length;
             at += sizeof point + point.name_bytes) {
            memcpy(&point, chunk->data + at, sizeof point);
            char name[MARK_NAME_BYTES + 1];
            snprintf(name, sizeof name, "%.*s", (int)point.name_bytes,
                     chunk->data + at + sizeof point);
            const struct mark_series *series = mark_table_find(&p->series_sent, point.metric, name);
            if (series)
                is_here[series - p->series_sent.items] = true;
            p->message.failed |= !series;
        }
    }
    for (size_t i = 0; i < p->series_sent.count; i++)
        if (is_here[i] || batch_has_end(b))
            count += prometheus_add_mark_series(p, b, i);
    return count;
}

/* One sample each, in series that do not end with the others. */
static uint64_t prometheus_add_end(struct prometheus *p)
{
    struct run_fact facts[RUN_FACTS_AT_MOST];
    size_t count = run_end_facts(&p->end, facts);
    for (size_t i = 0; i < count; i++) {
        char name[64];
        snprintf(name, sizeof name, "toll_run_%s", facts[i].name);
        size_t began = write_request_begin_series(&p->message, name, &p->of_run);
        write_request_add_sample(&p->message, run_fact_value(&facts[i]), p->end_ms);
        write_request_end_series(&p->message, began);
    }
    return count;
}

/* Descriptions of the metrics that were sent: a request of its own, as Prometheus does it. */
static void prometheus_add_metadata(struct prometheus *p, bool is_end, struct buf *ops)
{
    uint64_t count = (uint64_t)__builtin_popcountll(p->mark_families) + is_end;
    for (unsigned kind = 0; kind <= ENTITY_TARGET; kind++)
        count += (uint64_t)__builtin_popcountll(p->families[kind]);
    uint64_t now_ns = clock_mono(NULL);
    if (p->no_metadata || (count == p->described && now_ns < p->next_metadata_ns))
        return;
    buf_clear(&p->message);
    for (unsigned kind = 0; kind <= ENTITY_TARGET; kind++) {
        FOR_EACH_BIT(i, p->families[kind])
        {
            const struct metric *m = metric_of(metric_first(kind) + i);
            prometheus_name(&p->name, kind, m);
            write_request_add_metadata(&p->message, p->name.data ? p->name.data : "",
                                       m->kind == METRIC_COUNTER, m->facts.help, m->facts.unit);
        }
    }
    FOR_EACH_BIT(i, p->mark_families)
    {
        write_request_add_metadata(&p->message, mark_metrics[i].name, mark_metrics[i].is_counter,
                                   mark_metrics[i].help, mark_metrics[i].unit);
    }
    struct run_fact facts[RUN_FACTS_AT_MOST];
    size_t fact_count = is_end ? run_end_facts(&p->end, facts) : 0;
    for (size_t i = 0; i < fact_count; i++) {
        char name[64];
        snprintf(name, sizeof name, "toll_run_%s", facts[i].name);
        write_request_add_metadata(&p->message, name, false, facts[i].help,
                                   ends_with(name, "_seconds") ? "seconds" : "");
    }
    p->described = count;
    p->next_metadata_ns = now_ns + METADATA_NS;
    ops->failed |= buf_failed(&p->message) || buf_failed(&p->name);
    if (p->message.length)
        spool_op_add(ops, SPOOL_REQUEST, "metadata", p->message.data, p->message.length);
}

static bool prometheus_encode(struct sink *s, const struct batch *b, struct buf *ops)
{
    struct prometheus *p = s->state;
    char figures[24];
    if (point_batch_take(&p->batch, b) < 0)
        return false;
    buf_clear(&p->message);
    uint64_t count = prometheus_add_points(p, b) + prometheus_add_marks(p, b) +
                     (batch_has_end(b) ? prometheus_add_end(p) : 0);
    if (buf_failed(&p->message) || buf_failed(&p->name))
        return false;
    snprintf(figures, sizeof figures, "%llu", (unsigned long long)count);
    if (count)
        spool_op_add(ops, SPOOL_REQUEST, figures, p->message.data, p->message.length);
    prometheus_add_metadata(p, batch_has_end(b), ops);
    return !buf_failed(ops);
}

/* ---- Sending --------------------------------------------------------------------------------- */

/* Samples that are sent again because no answer came, or that of a proxy which gave up, are refused
 * by a server that has them. */
static bool prometheus_has_it(const struct http_response *answer)
{
    return answer->status == 400 && (memmem(answer->body, answer->length, "out of order", 12) ||
                                     memmem(answer->body, answer->length, "duplicate sample", 16));
}

/* The words of the server are cut to make room. */
static void prometheus_add_hint(struct attempt *a, const char *hint)
{
    size_t size = strlen(hint) + 1, length = strnlen(a->why, sizeof a->why - size);
    memcpy(a->why + length, hint, size);
}

static void prometheus_explain(struct attempt *a, const struct http_response *answer)
{
    /* Two runs of the same command have the same series, and only one can go on with them. */
    if (prometheus_has_it(answer))
        prometheus_add_hint(a,
                            "; another run with the same labels? (use id=yes, --name or --label)");
    if (answer->status == 404 || answer->status == 405)
        prometheus_add_hint(
            a, "; Prometheus accepts it at /api/v1/write with --web.enable-remote-write-receiver");
}

static enum delivery prometheus_send_message(struct sink *s, struct scan message, uint64_t figures,
                                             struct http_response *ret_answer, struct attempt *a)
{
    static const char *const headers[] = {
        "Content-Type: application/x-protobuf",
        "Content-Encoding: snappy",
        "X-Prometheus-Remote-Write-Version: 0.1.0",
        NULL,
    };
    struct prometheus *p = s->state;
    buf_clear(&p->body);
    snappy_compress(&p->body, message.at, (size_t)(message.end - message.at));
    if (buf_failed(&p->body)) {
        buf_done(&p->body);
        return sender_lacks_memory(a);
    }
    struct http_request request = {
        .url = s->place,
        .headers = headers,
        .body = p->body.data,
        .length = p->body.length,
    };
    enum delivery d = http_sink_send(s, p->http, &request, ret_answer, a);
    int status = ret_answer->status;
    if (d == DELIVERY_REFUSED && p->may_be_there && prometheus_has_it(ret_answer))
        d = DELIVERY_DONE;
    if (d == DELIVERY_REFUSED)
        prometheus_explain(a, ret_answer);
    p->may_be_there = d == DELIVERY_AGAIN && (p->may_be_there || !status || status >= 500);
    return d;
}

static enum delivery prometheus_send(struct sink *s, const struct spool_op *op, uint64_t *done,
                                     struct attempt *a)
{
    struct prometheus *p = s->state;
    if (op->kind != SPOOL_REQUEST)
        return DELIVERY_DONE;
    struct scan name = op->name;
    uint64_t figures = 0;
    if (scan_u64(&name, &figures))
        return http_parts_send(&p->parts, op->body, figures, done, a);
    /* Samples are complete without descriptions: a refusal is not a failure. */
    struct attempt of_metadata = *a;
    figures = write_request_count(op->body);
    enum delivery d = http_parts_send(&p->parts, op->body, figures, done, &of_metadata);
    p->no_metadata |= d == DELIVERY_REFUSED || of_metadata.lacking > a->lacking;
    if (d != DELIVERY_AGAIN && d != DELIVERY_KEPT)
        return DELIVERY_DONE;
    uint64_t lacking = a->lacking;
    bool is_partly = a->is_partly;
    *a = of_metadata;
    a->lacking = lacking;
    a->is_partly = is_partly;
    return d;
}

/* ---- Its life -------------------------------------------------------------------------------- */

static int prometheus_open(struct sink *s, struct toll_error *e)
{
    struct prometheus *p = s->state = calloc(1, sizeof *p);
    if (!p)
        return err_set(e, -ENOMEM, "cannot open the output: out of memory");
    p->parts = (struct http_parts){
        .cut = write_request_cut, .send = prometheus_send_message, .sink = s};
    points_init(&p->points);
    p->points.with_id = sink_options_u64(&s->settings, "id");
    s->plan.batch_bytes = BATCH_BYTES;
    return http_sink_open(s, NULL, &p->http, e);
}

static void prometheus_close(struct sink *s)
{
    struct prometheus *p = s->state;
    if (!p)
        return;
    points_done(&p->points);
    labels_done(&p->of_run);
    mark_table_done(&p->series_added);
    mark_table_done(&p->series_sent);
    http_close(p->http);
    point_batch_done(&p->batch);
    buf_done(&p->message);
    buf_done(&p->parts.part);
    buf_done(&p->body);
    buf_done(&p->name);
    free(p);
}

/* The first request in the file may have arrived before it was kept. */
static int prometheus_take_spool(struct sink *s, const struct spool_file *file, bool is_elsewhere,
                                 struct toll_error *e)
{
    struct prometheus *p = s->state;
    p->may_be_there = true;
    return 0;
}

static const struct sink_option options[] = {
    SINK_SENDER_OPTIONS("5s", "5s"),
    SINK_ID_OPTION,
    SINK_SPOOL_OPTIONS,
    SINK_HTTP_OPTIONS,
    {.facts = {0}},
};

const struct sink_kind sink_prometheus = {
    .format = {"prometheus", "", "Prometheus remote write: samples over HTTP, as they are taken",
               "URL"},
    .options = options,
    .open = prometheus_open,
    .begin = prometheus_begin,
    .frame = prometheus_frame,
    .mark = prometheus_mark,
    .summary = prometheus_summary,
    .encode = prometheus_encode,
    .send = prometheus_send,
    .take_spool = prometheus_take_spool,
    .close = prometheus_close,
};
