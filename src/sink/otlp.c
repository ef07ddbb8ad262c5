/* SPDX-License-Identifier: MIT
 * OpenTelemetry over HTTP (OTLP), as protocol buffers: any collector, Prometheus from 2.47 on. Each
 * metric has the name that the semantic conventions give it where the table knows one.
 *
 *   message ExportMetricsServiceRequest { repeated ResourceMetrics resource_metrics = 1; }
 *   message ResourceMetrics { Resource resource = 1; repeated ScopeMetrics scope_metrics = 2; }
 *   message ScopeMetrics    { InstrumentationScope scope = 1; repeated Metric metrics = 2; }
 *   message Metric          { name = 1; description = 2; unit = 3; Gauge gauge = 5; Sum sum = 7; }
 *   message Gauge           { repeated NumberDataPoint data_points = 1; }
 *   message Sum             { … = 1; aggregation_temporality = 2; bool is_monotonic = 3; }
 *   message NumberDataPoint { fixed64 start = 2, time = 3; double as_double = 4;
 *                             repeated KeyValue attributes = 7; uint32 flags = 8; }
 */
#include "base/err.h"
#include "base/protobuf.h"
#include "base/url.h"
#include "base/utf8.h"
#include "sink/http_sink.h"
#include "sink/otlp_answer.h"
#include "sink/otlp_names.h"
#include "sink/point_batch.h"
#include "sink/run_end.h"
#include "sink/sinks.h"

#include <stdio.h>
#include <string.h>

enum { BATCH_BYTES = 256 * 1024, CUMULATIVE = 2, NO_RECORDED_VALUE = 1 };

struct otlp {
    struct points points;
    struct http *http;
    struct buf url;
    uint64_t start_ns; /* of the run … */
    unsigned cpus;     /* … which may be gone before the courier's thread is */
    struct labels of_run;
    struct run_end end; /* told before the piece of end_ms, which ends all series */
    int64_t end_ms;
    /* Of the courier's thread: */
    struct point_batch batch;
    struct buf body;
    size_t figures; /* in it */
};

/* ---- While a sample is taken ----------------------------------------------------------------- */

static void otlp_begin(struct sink *s, const struct run *run)
{
    struct otlp *o = s->state;
    o->start_ns = run->start_real_ns;
    o->cpus = run->cpus;
    labels_add_run(&o->of_run, run);
    labels_add_users(&o->of_run, run);
}

static void otlp_frame(struct sink *s, const struct frame *f)
{
    struct otlp *o = s->state;
    points_add(&o->points, s->run, &s->selection, f, &s->text);
}

static void otlp_summary(struct sink *s, const struct summary *summary)
{
    struct otlp *o = s->state;
    run_end_take(&o->end, summary);
    points_add_end(&o->points, &s->text);
    o->end_ms = o->points.last_ms;
}

/* ---- In the courier's thread ----------------------------------------------------------------- */

static void add_attribute(struct buf *b, unsigned field, const char *key, const char *text)
{
    size_t began = protobuf_begin(b, field);
    protobuf_string(b, 1, key);
    size_t value = protobuf_begin(b, 2);
    protobuf_string(b, 1, text);
    protobuf_end(b, value);
    protobuf_end(b, began);
}

/* run and instance under the names that everybody looks for, the others as they are. */
static void add_resource(struct otlp *o)
{
    size_t began = protobuf_begin(&o->body, 1);
    for (size_t i = 0; i < o->of_run.count; i++) {
        const char *name = o->of_run.items[i].name;
        add_attribute(&o->body, 1,
                      strcmp(name, "run") == 0        ? "service.name"
                      : strcmp(name, "instance") == 0 ? "host.name"
                                                      : name,
                      o->of_run.items[i].value);
    }
    protobuf_end(&o->body, began);
}

static void add_point(struct otlp *o, const struct placed_point *point, const struct point_row *row,
                      const struct metric *m)
{
    const struct otlp_attribute *attribute = otlp_attribute(m);
    size_t began = protobuf_begin(&o->body, 1);
    if (m->kind == METRIC_COUNTER)
        protobuf_fixed64(&o->body, 2, o->start_ns);
    protobuf_fixed64(&o->body, 3, (uint64_t)point->time_ms * NS_PER_MS);
    bool is_end = point_is_end(point->value);
    if (!is_end)
        protobuf_double(&o->body, 4, point->value / otlp_divisor(m, o->cpus));
    for (size_t i = 0; i < row->labels.count; i++)
        if (!labels_has(&o->of_run, row->labels.items[i].name, row->labels.items[i].value))
            add_attribute(&o->body, 7, row->labels.items[i].name, row->labels.items[i].value);
    if (attribute)
        add_attribute(&o->body, 7, attribute->key, attribute->value);
    if (is_end)
        protobuf_varint(&o->body, 8, NO_RECORDED_VALUE);
    protobuf_end(&o->body, began);
}

/* Points from *at on that are of the metric of the first, and of those that share its name. */
static void add_metric(struct otlp *o, const struct placed_point **at,
                       const struct placed_point *end)
{
    const struct metric *first, *m;
    const struct point_row *row = points_series(&o->points, (*at)->series, &first);
    struct buf name = {0};
    size_t metric = protobuf_begin(&o->body, 2);
    otlp_name(&name, row->kind, first);
    protobuf_string(&o->body, 1, name.data ? name.data : "");
    protobuf_string(&o->body, 2, first->facts.help);
    protobuf_string(&o->body, 3, otlp_unit(first));
    bool is_sum = first->kind == METRIC_COUNTER;
    size_t data = protobuf_begin(&o->body, is_sum ? 7 : 5);
    for (; *at < end; ++*at) {
        row = points_series(&o->points, (*at)->series, &m);
        if (otlp_first(m) != otlp_first(first))
            break;
        add_point(o, *at, row, m);
    }
    if (is_sum) {
        protobuf_varint(&o->body, 2, CUMULATIVE);
        protobuf_varint(&o->body, 3, true);
    }
    protobuf_end(&o->body, data);
    protobuf_end(&o->body, metric);
    o->body.failed |= buf_failed(&name);
    buf_done(&name);
}

/* How it ended, which is of the resource as a whole: points without attributes. */
static size_t add_end(struct otlp *o)
{
    struct run_fact facts[RUN_FACTS_AT_MOST];
    size_t count = run_end_facts(&o->end, facts);
    for (size_t i = 0; i < count; i++) {
        char name[64];
        snprintf(name, sizeof name, "toll.run.%s", facts[i].name);
        size_t metric = protobuf_begin(&o->body, 2);
        protobuf_string(&o->body, 1, name);
        protobuf_string(&o->body, 2, facts[i].help);
        protobuf_string(&o->body, 3, ends_with(name, "_seconds") ? "s" : "1");
        size_t gauge = protobuf_begin(&o->body, 5), point = protobuf_begin(&o->body, 1);
        protobuf_fixed64(&o->body, 3, (uint64_t)o->end_ms * NS_PER_MS);
        protobuf_double(&o->body, 4, run_fact_value(&facts[i]));
        protobuf_end(&o->body, point);
        protobuf_end(&o->body, gauge);
        protobuf_end(&o->body, metric);
    }
    return count;
}

static int by_metric(const void *a, const void *b, void *points)
{
    const struct placed_point *x = a, *y = b;
    const struct metric *m, *n;
    points_series(points, x->series, &m);
    points_series(points, y->series, &n);
    const struct metric *p = otlp_first(m), *q = otlp_first(n);
    if (p != q)
        return p < q ? -1 : 1;
    if (x->series != y->series)
        return x->series < y->series ? -1 : 1;
    return x->number < y->number ? -1 : x->number > y->number;
}

static int encode(struct otlp *o, const struct batch *b)
{
    int r = point_batch_take(&o->batch, b);
    if (r < 0)
        return r;
    qsort_r(o->batch.items, o->batch.count, sizeof *o->batch.items, by_metric, &o->points);
    const struct placed_point *at = o->batch.items, *end = at + o->batch.count;
    buf_clear(&o->body);
    size_t resource_metrics = protobuf_begin(&o->body, 1);
    add_resource(o);
    size_t scope_metrics = protobuf_begin(&o->body, 2);
    size_t scope = protobuf_begin(&o->body, 1);
    protobuf_string(&o->body, 1, "toll");
    protobuf_string(&o->body, 2, TOLL_VERSION);
    protobuf_end(&o->body, scope);
    while (at < end)
        add_metric(o, &at, end);
    o->figures = o->batch.count + (batch_has_end(b) ? add_end(o) : 0);
    protobuf_end(&o->body, scope_metrics);
    protobuf_end(&o->body, resource_metrics);
    return buf_failed(&o->body) ? -ENOMEM : 0;
}

/* It may have taken a part: which one it does not say, so that as many samples may lack something
 * as there are figures missing. */
static enum delivery read_answer(const struct otlp *o, const struct batch *b,
                                 const struct http_response *answer, struct attempt *a)
{
    struct otlp_answer said;
    otlp_answer_read(answer->body, answer->length, &said);
    if (!said.rejected)
        return DELIVERY_DONE;
    int length = (int)min_u64((uint64_t)(said.message.end - said.message.at), 160);
    snprintf(a->why, sizeof a->why, "it rejected %llu of %zu figures%s%.*s",
             (unsigned long long)said.rejected, o->figures, length ? ": " : "", length,
             length ? said.message.at : "");
    text_make_printable(a->why);
    if (said.rejected >= o->figures)
        return DELIVERY_REFUSED;
    a->is_partly = true;
    a->lacking = min_u64(said.rejected, b->samples);
    return DELIVERY_DONE;
}

static enum delivery otlp_deliver(struct sink *s, const struct batch *b, struct attempt *a)
{
    static const char *const headers[] = {"Content-Type: application/x-protobuf", NULL};
    struct otlp *o = s->state;
    if (!b->attempt && encode(o, b) < 0)
        return courier_lacks_memory(a);
    struct http_request request = {
        .url = o->url.data,
        .headers = headers,
        .body = o->body.data,
        .length = o->body.length,
    };
    struct http_response answer;
    enum delivery d = http_sink_send(s, o->http, &request, &answer, a);
    return d == DELIVERY_DONE ? read_answer(o, b, &answer, a) : d;
}

/* ---- Its life -------------------------------------------------------------------------------- */

static int otlp_open(struct sink *s, struct toll_error *e)
{
    struct url u;
    struct otlp *o = s->state = calloc(1, sizeof *o);
    if (!o)
        return err_set(e, -ENOMEM, "no memory for an output");
    points_init(&o->points);
    s->plan.batch_bytes = BATCH_BYTES;
    int r = http_sink_open(s, &o->http, e);
    if (r < 0)
        return r;
    url_split(s->place, &u);
    bool has_path = u.path.end - u.path.at > 1;
    size_t behind = has_path ? strlen(s->place) : (size_t)(u.path.at - s->place);
    buf_add(&o->url, s->place, behind);
    buf_puts(&o->url, has_path ? "" : "/v1/metrics");
    return buf_failed(&o->url) ? err_set(e, -ENOMEM, "no memory for an output") : 0;
}

static void otlp_close(struct sink *s)
{
    struct otlp *o = s->state;
    if (!o)
        return;
    points_done(&o->points);
    labels_done(&o->of_run);
    point_batch_done(&o->batch);
    http_close(o->http);
    buf_done(&o->url);
    buf_done(&o->body);
    free(o);
}

static const struct sink_option options[] = {
    SINK_COURIER_OPTIONS("10s"),
    SINK_HTTP_OPTIONS,
    {.facts = {0}},
};

const struct sink_kind sink_otlp = {
    .format = {"otlp", "", "OpenTelemetry over HTTP: samples to a collector, as they come", "URL"},
    .options = options,
    .open = otlp_open,
    .begin = otlp_begin,
    .frame = otlp_frame,
    .summary = otlp_summary,
    .deliver = otlp_deliver,
    .close = otlp_close,
};
