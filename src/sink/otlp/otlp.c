/* SPDX-License-Identifier: MIT
 * OpenTelemetry over HTTP (OTLP), as protocol buffers: any collector, Prometheus from 2.47 on. The
 * names, units and attributes are those of the semantic conventions (names.c); the resource
 * describes the run.
 *
 *   message ExportMetricsServiceRequest { repeated ResourceMetrics resource_metrics = 1; }
 *   message ResourceMetrics { Resource resource = 1; repeated ScopeMetrics scope_metrics = 2;
 *                             string schema_url = 3; }
 *   message Resource        { repeated KeyValue attributes = 1; }
 *   message ScopeMetrics    { InstrumentationScope scope = 1; repeated Metric metrics = 2;
 *                             string schema_url = 3; }
 *   message Metric          { name = 1; description = 2; unit = 3; Gauge gauge = 5; Sum sum = 7; }
 *   message Gauge           { repeated NumberDataPoint data_points = 1; }
 *   message Sum             { … = 1; aggregation_temporality = 2; bool is_monotonic = 3; }
 *   message NumberDataPoint { fixed64 start = 2, time = 3; double as_double = 4;
 *                             sfixed64 as_int = 6; repeated KeyValue attributes = 7;
 *                             uint32 flags = 8; }
 *   message KeyValue        { string key = 1; AnyValue value = 2; }
 *   message AnyValue        { string = 1; int64 = 3; ArrayValue { repeated AnyValue = 1; } = 5; }
 */

#include "sink/otlp/otlp.h"

#include "base/err.h"
#include "base/memory.h"
#include "base/text/buf.h"
#include "base/text/encoding.h"
#include "sink/points.h"
#include "sink/sink.h"
#include "sink/spool.h"

#include <pwd.h>
#include <stdio.h>
#include <string.h>

/* ==== Answers ================================================================================= */

/* message ExportMetricsServiceResponse { PartialSuccess partial_success = 1; }
 *   message PartialSuccess { int64 rejected_data_points = 1; string error_message = 2; }
 *
 * Fields come in any order, and there may be others. */

static bool otlp_read_partial_success(struct scan s, struct otlp_answer *ret)
{
    struct protobuf_field f;
    while (s.at < s.end) {
        if (!protobuf_next(&s, &f))
            return false;
        if (f.number == 1 && f.wire == PROTOBUF_VARINT && f.value <= INT64_MAX)
            ret->rejected = f.value;
        else if (f.number == 2 && f.wire == PROTOBUF_BYTES)
            ret->message = f.bytes;
    }
    return true;
}

bool otlp_answer_read(const char *text, size_t length, struct otlp_answer *ret)
{
    struct scan s = {text, text + length};
    struct protobuf_field f;
    *ret = (struct otlp_answer){0};
    while (s.at < s.end)
        if (!protobuf_next(&s, &f) ||
            (f.number == 1 && f.wire == PROTOBUF_BYTES && !otlp_read_partial_success(f.bytes, ret)))
            return false;
    return true;
}

/* ==== Sink ==================================================================================== */

enum { BATCH_BYTES = 256 * 1024, CUMULATIVE = 2, NO_RECORDED_VALUE = 1, RESOURCE_KEYS = 192 };

/* Fields of the messages Metric, Gauge and Sum. */
enum { METRIC_FIELD = 2, GAUGE_FIELD = 5, SUM_FIELD = 7, POINT_FIELD = 1 };

/* A series has one figure or more, and hardly any figure is in several. */
enum { SERIES_PER_ROW = 2 * METRICS_PER_ENTITY };

/* One value of a series. */
struct otlp_point {
    const struct otlp_series *series;
    const char *prefix; /* see otlp_row_prefix */
    const struct point_row *row;
    uint64_t row_number;
    int64_t time_ms;
    double value;
    bool is_end;
};

struct otlp {
    struct points points;
    struct otlp_setup setup;
    struct http *http;
    struct gzip *gzip; /* NULL: nothing is compressed */
    uint64_t start_ns; /* of the run; 0: counters began earlier, at an unknown time */
    unsigned cpus;     /* that it may use */
    struct buf resource;
    size_t resource_count; /* of keys */
    char *keys[RESOURCE_KEYS];
    pid_t pid;        /* of the main process; 0: it cannot be looked up */
    uid_t uid;        /* of the main process */
    bool has_program; /* its program is known, or it is too late; under points.lock */
    char program[256];
    struct run_end end; /* set before the chunk of end_ms, which ends all series */
    int64_t end_ms;
    /* Used by the sender's thread: */
    struct point_batch batch;
    struct otlp_point *converted; /* owned, reused */
    size_t converted_capacity;
    struct http_parts parts;
    struct buf body, packed;
    bool is_complete; /* the resource */
};

/* ---- The resource ---------------------------------------------------------------------------- */

static void otlp_add_text(struct buf *b, unsigned field, const char *text)
{
    size_t began = protobuf_begin(b, field);
    buf_utf8(b, text, strlen(text));
    protobuf_end(b, began);
}

static void otlp_add_attribute(struct buf *b, unsigned field, const char *key, const char *text)
{
    size_t began = protobuf_begin(b, field);
    otlp_add_text(b, 1, key);
    size_t value = protobuf_begin(b, 2);
    otlp_add_text(b, 1, text);
    protobuf_end(b, value);
    protobuf_end(b, began);
}

static void otlp_add_number(struct buf *b, unsigned field, const char *key, uint64_t number)
{
    size_t began = protobuf_begin(b, field);
    protobuf_string(b, 1, key);
    size_t value = protobuf_begin(b, 2);
    protobuf_varint(b, 3, number);
    protobuf_end(b, value);
    protobuf_end(b, began);
}

static void otlp_add_list(struct buf *b, unsigned field, const char *key, char *const *words)
{
    size_t began = protobuf_begin(b, field);
    protobuf_string(b, 1, key);
    size_t value = protobuf_begin(b, 2), list = protobuf_begin(b, 5);
    for (; *words; words++) {
        size_t word = protobuf_begin(b, 1);
        otlp_add_text(b, 1, *words);
        protobuf_end(b, word);
    }
    protobuf_end(b, list);
    protobuf_end(b, value);
    protobuf_end(b, began);
}

/* Adds a key of the resource. False: it is there already, and its first value stays. */
static bool otlp_claim_key(struct otlp *o, const char *key)
{
    for (size_t i = 0; i < o->resource_count; i++)
        if (strcmp(o->keys[i], key) == 0)
            return false;
    if (o->resource_count == RESOURCE_KEYS || !(o->keys[o->resource_count] = strdup(key)))
        return false;
    o->resource_count++;
    return true;
}

static void otlp_add_to_resource(void *otlp, const char *key, const char *value)
{
    struct otlp *o = otlp;
    if (value && *value && otlp_claim_key(o, key))
        otlp_add_attribute(&o->resource, 1, key, value);
}

/* The command line wins over the variables of OpenTelemetry. */
static void otlp_make_resource(struct sink *s, const struct run *run)
{
    struct otlp *o = s->state;
    for (char **label = run->labels; label && *label; label++) {
        const char *equals = strchr(*label, '=');
        char *key = equals ? strndup(*label, (size_t)(equals - *label)) : NULL;
        if (key)
            otlp_add_to_resource(o, key, equals + 1);
        free(key);
    }
    if (run_is_named(run))
        otlp_add_to_resource(o, "service.name", run->name);
    otlp_add_to_resource(o, "service.name", otlp_setup_service());
    otlp_setup_attributes(s, otlp_add_to_resource, o);
    otlp_add_to_resource(o, "service.name",
                         run->name && *run->name ? run->name : "unknown_service:toll");
    otlp_add_to_resource(o, "service.instance.id", run->id);
    otlp_add_to_resource(o, "host.name", run->host);
    otlp_add_to_resource(o, "toll.job.id", run->job.id);
    otlp_add_to_resource(o, "toll.job.array_index", run->job.array_index);
    otlp_add_to_resource(o, "toll.rank", run->parallel.rank);
    otlp_add_to_resource(o, "toll.local_rank", run->parallel.local_rank);
    otlp_add_to_resource(o, "toll.world_size", run->parallel.world_size);
    otlp_add_to_resource(o, "os.type", "linux");
    if (run->pid > 0 && otlp_claim_key(o, "process.pid"))
        otlp_add_number(&o->resource, 1, "process.pid", (uint64_t)run->pid);
    if (run->command && run->command[0] && sink_options_u64(&s->settings, "command")) {
        otlp_add_to_resource(o, "process.command", run->command[0]);
        if (otlp_claim_key(o, "process.command_args"))
            otlp_add_list(&o->resource, 1, "process.command_args", run->command);
    }
    o->pid = run->has_uid ? run->pid : 0;
    o->uid = run->uid;
}

/* The program of the main process, without directories. Just after the fork it is still toll
 * itself, which is ignored. */
static void otlp_look_at_program(struct otlp *o)
{
    char path[32], program[4096], own[4096];
    snprintf(path, sizeof path, "/proc/%d/exe", (int)o->pid);
    ssize_t n = readlink(path, program, sizeof program);
    ssize_t m = readlink("/proc/self/exe", own, sizeof own);
    if (n <= 0 || n == sizeof program || (n == m && memcmp(program, own, (size_t)n) == 0))
        return;
    program[n] = '\0';
    const char *slash = strrchr(program, '/');
    pthread_mutex_lock(&o->points.lock);
    if (!o->has_program)
        snprintf(o->program, sizeof o->program, "%s", slash ? slash + 1 : program);
    o->has_program = true;
    pthread_mutex_unlock(&o->points.lock);
}

/* Slow lookups, in the sender's thread. Names of users come from /etc/passwd alone: other sources
 * may be across a network. From the first request on the resource does not change. */
static void otlp_complete_resource(struct otlp *o)
{
    char text[4096];
    struct passwd entry, *found = NULL;
    if (o->is_complete)
        return;
    o->is_complete = true;
    pthread_mutex_lock(&o->points.lock);
    o->has_program = true;
    pthread_mutex_unlock(&o->points.lock);
    otlp_add_to_resource(o, "process.executable.name", o->program);
    FILE *f = o->pid && otlp_claim_key(o, "process.owner") ? fopen("/etc/passwd", "re") : NULL;
    if (!f)
        return;
    while (fgetpwent_r(f, &entry, text, sizeof text, &found) == 0 && entry.pw_uid != o->uid)
        found = NULL;
    if (found)
        otlp_add_attribute(&o->resource, 1, "process.owner", entry.pw_name);
    fclose(f);
}

/* ---- While a sample is taken ----------------------------------------------------------------- */

static void otlp_begin(struct sink *s, const struct run *run)
{
    struct otlp *o = s->state;
    o->start_ns = run->since_start ? 0 : run->start_real_ns;
    o->cpus = run->cpus;
    otlp_make_resource(s, run);
    if (o->setup.is_disabled)
        snprintf(s->notice, sizeof s->notice, "nothing is sent: OTEL_SDK_DISABLED is true");
}

static void otlp_frame(struct sink *s, const struct frame *f)
{
    struct otlp *o = s->state;
    if (o->setup.is_disabled)
        return;
    pthread_mutex_lock(&o->points.lock);
    bool is_looked_for = o->pid && !o->has_program;
    pthread_mutex_unlock(&o->points.lock);
    if (is_looked_for)
        otlp_look_at_program(o);
    points_add(&o->points, s->run, &s->selection, f, &s->text);
}

static void otlp_summary(struct sink *s, const struct summary *summary)
{
    struct otlp *o = s->state;
    if (o->setup.is_disabled)
        return;
    run_end_take(&o->end, summary);
    points_add_end(&o->points, &s->text);
    o->end_ms = o->points.last_ms;
}

/* Only a disabled sink has no sender: nothing was to be sent. */
static void otlp_outcome(struct sink *s, struct output_summary *ret)
{
    ret->samples = ret->delivered = 0;
}

/* ---- Conversion to points of OpenTelemetry, in the sender's thread --------------------------- */

static bool otlp_last_word_is(const char *name, const char *begin)
{
    const char *blank = strrchr(name, ' ');
    return strncmp(blank ? blank + 1 : name, begin, strlen(begin)) == 0;
}

/* Rows whose figures are contained in those of another row have metrics of their own, so that
 * series of one name can be added up. NULL for other rows. */
static const char *otlp_row_prefix(const struct point_row *r)
{
    const char *class = point_row_about(r, "class");
    switch (r->kind) {
    case ENTITY_TARGET:
        return r->part != PART_COMBINED ? r->target ? "toll.target.part." : "toll.part."
               : r->target              ? "toll.target."
                                        : NULL;
    case ENTITY_DISK:
        return !class || strcmp(class, "disk") == 0 ? NULL
               : strcmp(class, "stacked") == 0      ? "toll.disk.stacked."
                                                    : "toll.disk.virtual.";
    case ENTITY_NETIF: return point_row_about(r, "namespace") ? "toll.netif.target." : NULL;
    case ENTITY_RAPL:
        return r->name &&
                       (otlp_last_word_is(r->name, "package") || otlp_last_word_is(r->name, "dram"))
                   ? NULL
                   : "toll.rapl.zone.";
    case ENTITY_GPU: return point_row_about(r, "instance") ? "toll.gpu.instance." : NULL;
    default: return NULL;
    }
}

static int otlp_compare_rows(const void *a, const void *b)
{
    const struct placed_point *x = a, *y = b;
    uint64_t row_x = x->series / METRICS_PER_ENTITY, row_y = y->series / METRICS_PER_ENTITY;
    if (row_x != row_y)
        return row_x < row_y ? -1 : 1;
    if (x->time_ms != y->time_ms)
        return x->time_ms < y->time_ms ? -1 : 1;
    return x->series < y->series ? -1 : x->series > y->series;
}

/* By metric, then by series, then by time. */
static int otlp_compare_metrics(const void *a, const void *b)
{
    const struct otlp_point *x = a, *y = b;
    if (x->series->metric != y->series->metric)
        return x->series->metric < y->series->metric ? -1 : 1;
    int prefix = strcmp(x->prefix ? x->prefix : "", y->prefix ? y->prefix : "");
    if (prefix)
        return prefix;
    if (x->row_number != y->row_number)
        return x->row_number < y->row_number ? -1 : 1;
    if (x->series != y->series)
        return x->series < y->series ? -1 : 1;
    return x->time_ms < y->time_ms ? -1 : x->time_ms > y->time_ms;
}

/* The points of one row at one moment, as series of OpenTelemetry. */
static size_t otlp_convert_row(struct otlp *o, const struct placed_point *p, size_t count,
                               struct otlp_point *ret)
{
    double values[METRICS_PER_ENTITY];
    uint64_t present = 0, ended = 0;
    const struct metric *m;
    const struct point_row *row = points_series(&o->points, p->series, &m);
    for (size_t i = 0; i < count; i++) {
        unsigned index = p[i].series % METRICS_PER_ENTITY;
        bool is_end = point_is_end(p[i].value);
        values[index] = is_end ? 0 : p[i].value;
        present |= BIT(index);
        ended |= is_end ? BIT(index) : 0;
    }
    size_t series_count, made = 0;
    const struct otlp_series *series = otlp_series_of(row->kind, &series_count);
    for (size_t i = 0; i < series_count; i++) {
        double value;
        if (!otlp_series_value(&series[i], values, present, o->cpus, &value))
            continue;
        ret[made++] = (struct otlp_point){
            .series = &series[i],
            .prefix = otlp_row_prefix(row),
            .row = row,
            .row_number = p->series / METRICS_PER_ENTITY,
            .time_ms = p->time_ms,
            .value = value,
            .is_end = ended >> series[i].terms[0].index & 1,
        };
    }
    return made;
}

/* All points of the batch. Returns their number, or -ENOMEM. */
static ssize_t otlp_convert_batch(struct otlp *o)
{
    struct placed_point *p = o->batch.items;
    size_t count = o->batch.count, made = 0;
    if (count)
        qsort(p, count, sizeof *p, otlp_compare_rows);
    for (size_t i = 0, next; i < count; i = next) {
        for (next = i + 1; next < count && p[next].time_ms == p[i].time_ms &&
                           p[next].series / METRICS_PER_ENTITY == p[i].series / METRICS_PER_ENTITY;)
            next++;
        if (!ARRAY_RESERVE(o->converted, o->converted_capacity, made + SERIES_PER_ROW))
            return -ENOMEM;
        made += otlp_convert_row(o, &p[i], next - i, &o->converted[made]);
    }
    if (made)
        qsort(o->converted, made, sizeof *o->converted, otlp_compare_metrics);
    return (ssize_t)made;
}

/* ---- Encoding -------------------------------------------------------------------------------- */

static void otlp_add_if(struct buf *b, const char *key, const char *value)
{
    if (value && *value)
        otlp_add_attribute(b, 7, key, value);
}

/* The attributes that identify a row: those of the conventions where there are any. */
static void otlp_add_row_attributes(struct buf *b, const struct point_row *r, const char *metric)
{
    const char *name = r->name, *class = point_row_about(r, "class");
    bool is_hw = strncmp(metric, "hw.", 3) == 0, is_hw_gpu = strncmp(metric, "hw.gpu.", 7) == 0;
    struct scan digits;
    uint64_t number;
    switch (r->kind) {
    case ENTITY_TARGET:
        otlp_add_if(b, "toll.target", r->target);
        if (r->part != PART_COMBINED)
            otlp_add_attribute(b, 7, "toll.part", part_name(r->part));
        break;
    case ENTITY_CORE:
        digits = scan_string(name ? name : "");
        if (scan_u64(&digits, &number))
            otlp_add_number(b, 7, "cpu.logical_number", number);
        break;
    case ENTITY_DISK:
        otlp_add_if(b, "system.device", name);
        otlp_add_if(b, "toll.disk.class", class);
        break;
    case ENTITY_THREAD:
        otlp_add_if(b, "thread.name", name);
        otlp_add_if(b, "toll.thread.pid", point_row_about(r, "pid"));
        otlp_add_if(b, "toll.thread.process", point_row_about(r, "process"));
        break;
    case ENTITY_CGROUP_DISK:
        otlp_add_if(b, "system.device", name);
        otlp_add_if(b, "toll.cgroup", point_row_about(r, "cgroup"));
        break;
    case ENTITY_MOUNT:
        otlp_add_if(b, "system.filesystem.mountpoint", name);
        otlp_add_if(b, "system.filesystem.type", point_row_about(r, "type"));
        otlp_add_if(b, "system.device", point_row_about(r, "source"));
        otlp_add_if(b, "toll.mount.class", class);
        break;
    case ENTITY_NETIF:
        /* The conventions have another key for this one. */
        otlp_add_if(b,
                    strcmp(metric, "system.network.packet.count") == 0 ? "system.device"
                                                                       : "network.interface.name",
                    name);
        otlp_add_if(b, "toll.netif.class", class);
        otlp_add_if(b, "toll.netif.namespace", point_row_about(r, "namespace"));
        break;
    case ENTITY_SENSOR:
        otlp_add_if(b, "hw.id", name);
        otlp_add_if(b, "hw.name", name);
        otlp_add_if(b, "toll.sensor.device", point_row_about(r, "device"));
        break;
    case ENTITY_RAPL:
        otlp_add_if(b, "hw.id", point_row_about(r, "zone") ? point_row_about(r, "zone") : name);
        otlp_add_if(b, "hw.name", name);
        if (is_hw)
            otlp_add_attribute(b, 7, "hw.type", otlp_last_word_is(name, "dram") ? "memory" : "cpu");
        break;
    case ENTITY_GPU: {
        const char *uuid = point_row_about(r, "uuid"), *pci = point_row_about(r, "pci");
        otlp_add_if(b, "hw.id", uuid && *uuid ? uuid : pci && *pci ? pci : name);
        otlp_add_if(b, "hw.name", name);
        if (is_hw && !is_hw_gpu && strcmp(metric, "hw.temperature") != 0)
            otlp_add_attribute(b, 7, "hw.type", "gpu");
        if (is_hw_gpu || !is_hw) {
            otlp_add_if(b, "hw.model", point_row_about(r, "model"));
            otlp_add_if(b, "hw.vendor", point_row_about(r, "vendor"));
        }
        otlp_add_if(b, "toll.gpu.index", point_row_about(r, "index"));
        otlp_add_if(b, "toll.gpu.instance", point_row_about(r, "instance"));
        otlp_add_if(b, "toll.gpu.pci", pci);
        otlp_add_if(b, "toll.gpu.scope", point_row_about(r, "scope"));
        break;
    }
    case ENTITY_CGROUP:
        otlp_add_if(b, "toll.cgroup", name);
        for (size_t i = 0; i < ENTITY_LABELS && r->about[i].key; i++) {
            char key[48];
            snprintf(key, sizeof key, "toll.cgroup.%.*s", (int)strcspn(r->about[i].key, "_"),
                     r->about[i].key);
            otlp_add_if(b, key, r->about[i].value);
        }
        break;
    default: break;
    }
}

static void otlp_add_point(struct otlp *o, const struct otlp_point *p, const char *name)
{
    const struct otlp_metric *m = p->series->metric;
    struct buf *b = &o->body;
    size_t began = protobuf_begin(b, POINT_FIELD);
    if (m->instrument != OTLP_GAUGE && o->start_ns)
        protobuf_fixed64(b, 2, o->start_ns);
    protobuf_fixed64(b, 3, (uint64_t)p->time_ms * NS_PER_MS);
    if (!p->is_end && m->is_whole_number)
        protobuf_fixed64(b, 6, (uint64_t)p->value);
    else if (!p->is_end)
        protobuf_double(b, 4, p->value);
    otlp_add_row_attributes(b, p->row, name);
    if (p->series->key)
        otlp_add_attribute(b, 7, p->series->key, p->series->value);
    if (p->is_end)
        protobuf_varint(b, 8, NO_RECORDED_VALUE);
    protobuf_end(b, began);
}

/* All points from *at on with the metric of the first one. */
static void otlp_add_metric(struct otlp *o, const struct otlp_point **at,
                            const struct otlp_point *end)
{
    const struct otlp_point *first = *at;
    const struct otlp_metric *m = first->series->metric;
    struct buf name = {0}, *b = &o->body;
    size_t metric = protobuf_begin(b, METRIC_FIELD);
    otlp_name(&name, m, first->prefix);
    const char *text = name.data ? name.data : "";
    protobuf_string(b, 1, text);
    protobuf_string(b, 2, m->description);
    protobuf_string(b, 3, m->unit);
    size_t data = protobuf_begin(b, m->instrument == OTLP_GAUGE ? GAUGE_FIELD : SUM_FIELD);
    for (; *at < end && (*at)->series->metric == m && (*at)->prefix == first->prefix; ++*at)
        otlp_add_point(o, *at, text);
    if (m->instrument != OTLP_GAUGE) {
        protobuf_varint(b, 2, CUMULATIVE);
        protobuf_varint(b, 3, m->instrument == OTLP_COUNTER);
    }
    protobuf_end(b, data);
    protobuf_end(b, metric);
    b->failed |= buf_failed(&name);
    buf_done(&name);
}

/* How the run ended: points without attributes, as they are about the resource. */
static size_t otlp_add_end(struct otlp *o)
{
    struct run_fact facts[RUN_FACTS_AT_MOST];
    size_t count = run_end_facts(&o->end, facts);
    for (size_t i = 0; i < count; i++) {
        bool is_time = ends_with(facts[i].name, "_seconds");
        char name[64];
        snprintf(name, sizeof name, "toll.run.%.*s",
                 (int)(strlen(facts[i].name) - (is_time ? strlen("_seconds") : 0)), facts[i].name);
        size_t metric = protobuf_begin(&o->body, METRIC_FIELD);
        protobuf_string(&o->body, 1, name);
        protobuf_string(&o->body, 2, facts[i].help);
        protobuf_string(&o->body, 3, is_time ? "s" : "{number}");
        size_t gauge = protobuf_begin(&o->body, GAUGE_FIELD);
        size_t point = protobuf_begin(&o->body, POINT_FIELD);
        protobuf_fixed64(&o->body, 3, (uint64_t)o->end_ms * NS_PER_MS);
        protobuf_double(&o->body, 4, run_fact_value(&facts[i]));
        protobuf_end(&o->body, point);
        protobuf_end(&o->body, gauge);
        protobuf_end(&o->body, metric);
    }
    return count;
}

/* The body of the request is one operation, whose name is the number of its figures. */
static bool otlp_encode(struct sink *s, const struct batch *b, struct buf *ops)
{
    struct otlp *o = s->state;
    ssize_t points = point_batch_take(&o->batch, b) < 0 ? -ENOMEM : otlp_convert_batch(o);
    if (points < 0)
        return false;
    const struct otlp_point *at = o->converted, *end = at + points;
    otlp_complete_resource(o);
    buf_clear(&o->body);
    size_t resource_metrics = protobuf_begin(&o->body, 1);
    protobuf_bytes(&o->body, 1, o->resource.data ? o->resource.data : "", o->resource.length);
    size_t scope_metrics = protobuf_begin(&o->body, 2);
    size_t scope = protobuf_begin(&o->body, 1);
    protobuf_string(&o->body, 1, "toll");
    protobuf_string(&o->body, 2, TOLL_VERSION);
    protobuf_end(&o->body, scope);
    while (at < end)
        otlp_add_metric(o, &at, end);
    uint64_t count = (uint64_t)points + (batch_has_end(b) ? otlp_add_end(o) : 0);
    protobuf_string(&o->body, 3, OTLP_SCHEMA_URL);
    protobuf_end(&o->body, scope_metrics);
    protobuf_string(&o->body, 3, OTLP_SCHEMA_URL);
    protobuf_end(&o->body, resource_metrics);
    if (buf_failed(&o->body) || buf_failed(&o->resource))
        return false;
    char figures[24];
    snprintf(figures, sizeof figures, "%llu", (unsigned long long)count);
    if (count)
        spool_op_add(ops, SPOOL_REQUEST, figures, o->body.data, o->body.length);
    return !buf_failed(ops);
}

/* ---- A part of a request --------------------------------------------------------------------- */

/* The figures first to last - 1 of a request; at counts them. */
struct otlp_cut {
    uint64_t at, first, last;
};

/* A metric with those of its points that are in the part; nothing without points. */
static void otlp_cut_metric(struct buf *b, struct scan metric, struct otlp_cut *c)
{
    struct protobuf_field f, inner;
    size_t before = b->length, began = protobuf_begin(b, METRIC_FIELD);
    bool has_points = false;
    while (metric.at < metric.end && protobuf_next(&metric, &f)) {
        if ((f.number != GAUGE_FIELD && f.number != SUM_FIELD) || f.wire != PROTOBUF_BYTES) {
            protobuf_add_whole(b, &f);
            continue;
        }
        size_t data = protobuf_begin(b, (unsigned)f.number);
        while (f.bytes.at < f.bytes.end && protobuf_next(&f.bytes, &inner)) {
            bool is_point = inner.number == POINT_FIELD;
            bool is_in = !is_point || (c->at >= c->first && c->at < c->last);
            has_points |= is_point && is_in;
            c->at += is_point;
            if (is_in)
                protobuf_add_whole(b, &inner);
        }
        protobuf_end(b, data);
    }
    protobuf_end(b, began);
    if (!has_points)
        b->length = before;
}

/* Resource, scope and schema are in every part. */
static void otlp_cut(struct buf *b, struct scan request, uint64_t first, uint64_t count)
{
    struct otlp_cut c = {.first = first, .last = sum_u64(first, count)};
    struct protobuf_field resource_metrics, scope_metrics, f;
    while (request.at < request.end && protobuf_next(&request, &resource_metrics)) {
        struct scan outer = resource_metrics.bytes;
        if (resource_metrics.number != 1 || resource_metrics.wire != PROTOBUF_BYTES)
            continue;
        size_t began = protobuf_begin(b, 1);
        while (outer.at < outer.end && protobuf_next(&outer, &scope_metrics)) {
            if (scope_metrics.number != 2 || scope_metrics.wire != PROTOBUF_BYTES) {
                protobuf_add_whole(b, &scope_metrics);
                continue;
            }
            struct scan inner = scope_metrics.bytes;
            size_t scope = protobuf_begin(b, 2);
            while (inner.at < inner.end && protobuf_next(&inner, &f)) {
                if (f.number == METRIC_FIELD && f.wire == PROTOBUF_BYTES)
                    otlp_cut_metric(b, f.bytes, &c);
                else
                    protobuf_add_whole(b, &f);
            }
            protobuf_end(b, scope);
        }
        protobuf_end(b, began);
    }
}

/* ---- Sending --------------------------------------------------------------------------------- */

/* The server may have rejected some figures without saying which: each may be of another sample. */
static enum delivery otlp_read_answer(uint64_t figures, const struct http_response *answer,
                                      struct attempt *a)
{
    struct otlp_answer said;
    otlp_answer_read(answer->body, answer->length, &said);
    if (!said.rejected)
        return DELIVERY_DONE;
    int length = (int)min_u64((uint64_t)(said.message.end - said.message.at), 160);
    snprintf(a->why, sizeof a->why, "server rejected %llu of %llu figures%s%.*s",
             (unsigned long long)said.rejected, (unsigned long long)figures, length ? ": " : "",
             length, length ? said.message.at : "");
    text_make_printable(a->why);
    if (said.rejected >= figures)
        return DELIVERY_REFUSED;
    a->lacking += said.rejected;
    return DELIVERY_DONE;
}

static enum delivery otlp_send_message(struct sink *s, struct scan message, uint64_t figures,
                                       struct http_response *ret_answer, struct attempt *a)
{
    static const char *const headers[] = {"Content-Type: application/x-protobuf", NULL};
    static const char *const packed[] = {"Content-Type: application/x-protobuf",
                                         "Content-Encoding: gzip", NULL};
    struct otlp *o = s->state;
    struct http_request request = {
        .url = o->setup.url,
        .headers = o->gzip ? packed : headers,
        .body = message.at,
        .length = (size_t)(message.end - message.at),
    };
    if (o->gzip) {
        if (gzip_pack(o->gzip, request.body, request.length, &o->packed) < 0)
            return sender_lacks_memory(a);
        request.body = o->packed.data;
        request.length = o->packed.length;
    }
    enum delivery d = http_sink_send(s, o->http, &request, ret_answer, a);
    return d == DELIVERY_DONE ? otlp_read_answer(figures, ret_answer, a) : d;
}

static enum delivery otlp_send(struct sink *s, const struct spool_op *op, uint64_t *done,
                               struct attempt *a)
{
    struct otlp *o = s->state;
    struct scan name = op->name;
    uint64_t figures = 0;
    if (op->kind != SPOOL_REQUEST || !scan_u64(&name, &figures))
        return DELIVERY_DONE;
    return http_parts_send(&o->parts, op->body, figures, done, a);
}

/* ---- Opening and closing --------------------------------------------------------------------- */

static int otlp_open(struct sink *s, struct toll_error *e)
{
    struct otlp *o = s->state = calloc(1, sizeof *o);
    if (!o)
        return err_set(e, -ENOMEM, "cannot open the output: out of memory");
    o->parts = (struct http_parts){.cut = otlp_cut, .send = otlp_send_message, .sink = s};
    points_init(&o->points);
    o->points.with_id = true;
    s->plan.batch_bytes = BATCH_BYTES;
    int r = otlp_setup_read(s, &o->setup, e);
    if (r == 0)
        r = http_sink_open(s, &o->setup.http, &o->http, e);
    if (r < 0)
        return r;
    if (o->setup.is_disabled)
        s->plan.deliver = NULL;
    struct toll_error why = {0};
    r = o->setup.wants_gzip ? gzip_open(&o->gzip, &why) : 0;
    if (r < 0 && sink_options_has(&s->settings, "compression"))
        return err_set(e, r, "otlp: %s", why.message);
    if (r < 0 && !*s->notice)
        snprintf(s->notice, sizeof s->notice, "no compression: %.100s", why.message);
    return 0;
}

static void otlp_close(struct sink *s)
{
    struct otlp *o = s->state;
    if (!o)
        return;
    points_done(&o->points);
    point_batch_done(&o->batch);
    http_close(o->http);
    gzip_close(o->gzip);
    otlp_setup_done(&o->setup);
    for (size_t i = 0; i < o->resource_count; i++)
        free(o->keys[i]);
    free(o->converted);
    buf_done(&o->resource);
    buf_done(&o->body);
    buf_done(&o->packed);
    buf_done(&o->parts.part);
    free(o);
}

static const struct sink_option options[] = {
    SINK_SENDER_OPTIONS("10s", "5s"),
    SINK_SPOOL_OPTIONS,
    SINK_HTTP_OPTIONS,
    SINK_OPTION("compression", "none|gzip", "none",
                "compression of requests; or OTEL_EXPORTER_OTLP_COMPRESSION", OPTION_WORD),
    SINK_OPTION("protocol", "TEXT", "", "http/protobuf; overrides OTEL_EXPORTER_OTLP_PROTOCOL",
                OPTION_TEXT),
    SINK_OPTION("command", "no|yes", "yes", "send process.command_args, with secrets masked",
                OPTION_WORD),
    {.facts = {0}},
};

const struct sink_kind sink_otlp = {
    .format = {"otlp", "", "OpenTelemetry over HTTP: samples to a collector, as they are taken",
               "[URL]"},
    .options = options,
    .open = otlp_open,
    .begin = otlp_begin,
    .frame = otlp_frame,
    .summary = otlp_summary,
    .outcome = otlp_outcome,
    .encode = otlp_encode,
    .send = otlp_send,
    .close = otlp_close,
};
