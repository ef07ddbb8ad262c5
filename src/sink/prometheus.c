/* SPDX-License-Identifier: MIT
 * Prometheus remote write 1.0: samples to Prometheus, VictoriaMetrics, Mimir, Thanos, … as protocol
 * buffers in snappy.
 *
 *   message WriteRequest { repeated TimeSeries timeseries = 1; }
 *   message TimeSeries   { repeated Label labels = 1; repeated Sample samples = 2; }
 *   message Label        { string name = 1; string value = 2; }
 *   message Sample       { double value = 1; int64 timestamp = 2; }   milliseconds
 *
 * Within a request each series stands once, with its samples in the order of time. */
#include "base/err.h"
#include "base/protobuf.h"
#include "base/snappy.h"
#include "sink/http_sink.h"
#include "sink/point_batch.h"
#include "sink/run_end.h"
#include "sink/sinks.h"

#include <string.h>

enum { BATCH_BYTES = 256 * 1024 };

struct prometheus {
    struct points points;
    struct http *http;
    struct labels of_run;
    struct run_end end; /* told before the piece of end_ms, which ends all series */
    int64_t end_ms;
    /* Of the courier's thread: */
    struct point_batch batch;
    struct buf message, body, name;
    bool may_be_there; /* an attempt before may have arrived all the same */
};

/* ---- While a sample is taken ----------------------------------------------------------------- */

static void prometheus_begin(struct sink *s, const struct run *run)
{
    struct prometheus *p = s->state;
    labels_add_run(&p->of_run, run);
    labels_add_users(&p->of_run, run);
}

static void prometheus_frame(struct sink *s, const struct frame *f)
{
    struct prometheus *p = s->state;
    points_add(&p->points, s->run, &s->selection, f, &s->text);
}

static void prometheus_summary(struct sink *s, const struct summary *summary)
{
    struct prometheus *p = s->state;
    run_end_take(&p->end, summary);
    points_add_end(&p->points, &s->text);
    p->end_ms = p->points.last_ms;
}

/* ---- In the courier's thread ----------------------------------------------------------------- */

static void add_label(struct buf *b, const char *name, const char *value)
{
    size_t began = protobuf_begin(b, 1);
    protobuf_string(b, 1, name);
    protobuf_string(b, 2, value);
    protobuf_end(b, began);
}

/* With p->name among them. */
static void add_labels(struct prometheus *p, const struct labels *l)
{
    static const char name[] = "__name__";
    bool is_named = false;
    for (size_t i = 0; i <= l->count; i++) {
        if (!is_named && (i == l->count || strcmp(l->items[i].name, name) > 0)) {
            add_label(&p->message, name, p->name.data ? p->name.data : "");
            is_named = true;
        }
        if (i < l->count)
            add_label(&p->message, l->items[i].name, l->items[i].value);
    }
}

static void add_series(struct prometheus *p, uint64_t series)
{
    const struct metric *m;
    const struct point_row *row = points_series(&p->points, series, &m);
    buf_clear(&p->name);
    points_name(&p->name, row->kind, m);
    if (m->kind == METRIC_COUNTER)
        buf_puts(&p->name, "_total");
    add_labels(p, &row->labels);
}

static void add_sample(struct buf *b, double value, int64_t time_ms)
{
    size_t began = protobuf_begin(b, 2);
    protobuf_double(b, 1, value);
    protobuf_varint(b, 2, (uint64_t)time_ms);
    protobuf_end(b, began);
}

/* One sample each, which does not end with the others: it is there to be asked for. */
static void add_end(struct prometheus *p)
{
    struct run_fact facts[RUN_FACTS_AT_MOST];
    size_t count = run_end_facts(&p->end, facts);
    for (size_t i = 0; i < count; i++) {
        size_t began = protobuf_begin(&p->message, 1);
        buf_clear(&p->name);
        buf_printf(&p->name, "toll_run_%s", facts[i].name);
        add_labels(p, &p->of_run);
        add_sample(&p->message, run_fact_value(&facts[i]), p->end_ms);
        protobuf_end(&p->message, began);
    }
}

static int encode(struct prometheus *p, const struct batch *b)
{
    int r = point_batch_take(&p->batch, b);
    if (r < 0)
        return r;
    point_batch_sort(&p->batch);
    const struct placed_point *at = p->batch.items, *end = at + p->batch.count;
    buf_clear(&p->message);
    buf_clear(&p->body);
    while (at < end) {
        uint64_t series = at->series;
        size_t began = protobuf_begin(&p->message, 1);
        add_series(p, series);
        for (; at < end && at->series == series; at++)
            add_sample(&p->message, at->value, at->time_ms);
        protobuf_end(&p->message, began);
    }
    if (batch_has_end(b))
        add_end(p);
    snappy_wrap(&p->body, p->message.data, p->message.length);
    return buf_failed(&p->message) || buf_failed(&p->name) || buf_failed(&p->body) ? -ENOMEM : 0;
}

/* What was sent again because no answer came, or one from a proxy that had lost patience, is
 * refused by a server that had taken it. */
static bool has_it_already(const struct http_response *answer)
{
    return answer->status == 400 && (memmem(answer->body, answer->length, "out of order", 12) ||
                                     memmem(answer->body, answer->length, "duplicate sample", 16));
}

/* What the server said is cut when it leaves no room. */
static void add_hint(struct attempt *a, const char *hint)
{
    size_t size = strlen(hint) + 1, length = strnlen(a->why, sizeof a->why - size);
    memcpy(a->why + length, hint, size);
}

static void explain(struct attempt *a, const struct http_response *answer)
{
    /* Two runs of the same command have the same series, and only one can go on with them. */
    if (has_it_already(answer))
        add_hint(a, "; another run with the same labels? --name or --label tell them apart");
    if (answer->status == 404 || answer->status == 405)
        add_hint(a, "; Prometheus takes it at /api/v1/write, with "
                    "--web.enable-remote-write-receiver");
}

static enum delivery prometheus_deliver(struct sink *s, const struct batch *b, struct attempt *a)
{
    static const char *const headers[] = {
        "Content-Type: application/x-protobuf",
        "Content-Encoding: snappy",
        "X-Prometheus-Remote-Write-Version: 0.1.0",
        NULL,
    };
    struct prometheus *p = s->state;
    if (!b->attempt) {
        p->may_be_there = false;
        if (encode(p, b) < 0)
            return courier_lacks_memory(a);
    }
    struct http_request request = {
        .url = s->place,
        .headers = headers,
        .body = p->body.data,
        .length = p->body.length,
    };
    struct http_response answer;
    enum delivery d = http_sink_send(s, p->http, &request, &answer, a);
    if (d == DELIVERY_REFUSED && p->may_be_there && has_it_already(&answer))
        return DELIVERY_DONE;
    if (d == DELIVERY_REFUSED)
        explain(a, &answer);
    p->may_be_there |= d == DELIVERY_AGAIN && (!answer.status || answer.status >= 500);
    return d;
}

/* ---- Its life -------------------------------------------------------------------------------- */

static int prometheus_open(struct sink *s, struct toll_error *e)
{
    struct prometheus *p = s->state = calloc(1, sizeof *p);
    if (!p)
        return err_set(e, -ENOMEM, "no memory for an output");
    points_init(&p->points);
    s->plan.batch_bytes = BATCH_BYTES;
    return http_sink_open(s, &p->http, e);
}

static void prometheus_close(struct sink *s)
{
    struct prometheus *p = s->state;
    if (!p)
        return;
    points_done(&p->points);
    labels_done(&p->of_run);
    http_close(p->http);
    point_batch_done(&p->batch);
    buf_done(&p->message);
    buf_done(&p->body);
    buf_done(&p->name);
    free(p);
}

static const struct sink_option options[] = {
    SINK_COURIER_OPTIONS("5s"),
    SINK_HTTP_OPTIONS,
    {.facts = {0}},
};

const struct sink_kind sink_prometheus = {
    .format = {"prometheus", "", "Prometheus remote write: samples over HTTP, as they come", "URL"},
    .options = options,
    .open = prometheus_open,
    .begin = prometheus_begin,
    .frame = prometheus_frame,
    .summary = prometheus_summary,
    .deliver = prometheus_deliver,
    .close = prometheus_close,
};
