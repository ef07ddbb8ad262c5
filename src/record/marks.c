/* SPDX-License-Identifier: MIT
 * What the job reports about itself: lines of marks, and their totals in the summary. Notes of toll
 * are lines of the same type as events. */
#include "record/keys.h"
#include "record/reading.h"

#include <float.h>
#include <math.h>

/* ==== Figures of phases ======================================================================= */

static void write_phase_figure(struct json_out *j, const struct metric *m,
                               const struct phase_figure *f)
{
    bool is_known = f->quality != QUALITY_UNKNOWN, counts = m->kind == METRIC_COUNTER;
    struct record_phase_figure figure = {
        .quality = f->quality,
        .total = f->total,
        .mean = f->mean,
        .max = f->max,
        .has_total = is_known && counts,
        .has_mean = is_known && !counts,
        .has_max = is_known && !counts && f->max >= 0,
    };
    json_key(j, m->facts.name);
    record_write_object(j, RECORD_OBJECT_phase_figure, &figure, NULL);
}

/* By metric; those that are not there are unknown. */
static bool read_figures(struct reading *r)
{
    struct json_in *j = &r->json;
    struct scan key;
    unsigned next = 0;
    json_in_object(j);
    while (json_in_key(j, &key)) {
        int id = read_row_find(ENTITY_TARGET, &key, &next);
        struct record_phase_figure f = {0};
        if (id < 0) {
            reading_skip(r, &key);
            continue;
        }
        record_read_object(r, RECORD_OBJECT_phase_figure, &f);
        r->figures[id] = (struct phase_figure){
            .quality = f.quality, .total = f.total, .mean = f.mean, .max = f.has_max ? f.max : -1};
    }
    return !j->failed;
}

static void write_phase_figures(struct json_out *j, const void *object,
                                const struct record_context *c)
{
    const struct phase *p = ((const struct record_mark *)object)->phase;
    json_object(j);
    FOR_EACH_BIT(id, c->selection->parts[PART_COMBINED])
    {
        struct phase_figure f = phase_figures_of(phase_figures(p), id, p->begin_ns, p->end_ns);
        if (phase_figures_has(metric_of(id)))
            write_phase_figure(j, metric_of(id), &f);
    }
    json_object_end(j);
}

static bool read_phase_figures(struct reading *r, void *object)
{
    return read_figures(r);
}

const struct record_special record_special_phase_figures = {write_phase_figures, read_phase_figures,
                                                            NULL};

/* ==== Lines =================================================================================== */

static void write_attributes(struct json_out *j, const void *object, const struct record_context *c)
{
    struct scan attributes = ((const struct record_mark *)object)->attributes;
    char text[MARK_TEXT_BYTES];
    const char *value;
    json_object(j);
    while (mark_text_attribute(&attributes, text, sizeof text, &value))
        json_put_string(j, text, value);
    json_object_end(j);
}

static void read_attribute(struct reading *r, const struct buf *word, void *arg)
{
    mark_text_add(&r->attributes, word->data);
    r->no_memory |= buf_failed(&r->attributes);
}

/* As words of a mark, which is what sinks get. */
static bool read_attributes(struct reading *r, void *object)
{
    return read_words(r, "an attribute whose key is empty or contains '='", read_attribute, NULL) &&
           (r->attributes.length <= MARK_TEXT_BYTES || reading_wrong(r, "too many attributes"));
}

const struct record_special record_special_attributes = {write_attributes, read_attributes, NULL};

struct record_mark record_mark_of(const struct run_mark *m)
{
    struct record_mark mark = {
        .elapsed_ns = m->elapsed_ns,
        .name = m->name,
        .pid = m->pid,
        .has_pid = true,
        .value = m->value,
        .attributes = m->attributes,
        .phase = m->phase,
    };
    if (m->phase) {
        mark.begin_ns = left_u64(m->phase->begin_ns, m->start_ns);
        mark.end_ns = left_u64(m->phase->end_ns, m->start_ns);
        mark.duration_ns = left_u64(m->phase->end_ns, m->phase->begin_ns);
        mark.ended = !m->phase->not_ended;
        mark.of_target = phase_is_of_target(m->phase);
        mark.looks = phase_figures(m->phase)->looks;
    }
    return mark;
}

void record_json_mark(struct json_out *j, const struct run_mark *m,
                      const struct selection *selection)
{
    struct record_context c = {.selection = selection};
    struct record_mark mark = record_mark_of(m);
    record_write(j, RECORD_OBJECT_moment, &mark, &c);
    record_write(j, RECORD_OBJECT_mark, &mark, &c);
    record_write(j, m->kind == MARK_GAUGE ? RECORD_OBJECT_gauge : RECORD_OBJECT_event, &mark, &c);
    if (m->phase)
        record_write(j, RECORD_OBJECT_phase, &mark, &c);
}

void record_json_note(struct json_out *j, uint64_t elapsed_ns, const char *sentence)
{
    struct record_mark note = {.elapsed_ns = elapsed_ns, .name = "note", .text = sentence};
    record_write(j, RECORD_OBJECT_moment, &note, NULL);
    record_write(j, RECORD_OBJECT_mark, &note, NULL);
    record_write(j, RECORD_OBJECT_note, &note, NULL);
}

void read_mark_begin(struct reading *r, enum mark_kind kind)
{
    r->said = (struct record_mark){.value = NAN, .pid = -1, .ended = true};
    r->mark = (struct run_mark){.kind = kind};
    memset(r->figures, 0, sizeof r->figures); /* QUALITY_UNKNOWN */
    buf_clear(&r->attributes);
    arena_empty(&r->line);
    r->text = &r->line;
}

bool read_mark_is_note(const struct reading *r)
{
    return r->mark.kind == MARK_EVENT && r->said.pid < 0 && r->said.text;
}

bool read_mark(struct reading *r)
{
    enum mark_kind kind = r->mark.kind;
    struct record_fields fields[4] = {
        {RECORD_OBJECT_moment, &r->said},
        {RECORD_OBJECT_mark, &r->said},
        {kind == MARK_GAUGE ? RECORD_OBJECT_gauge : RECORD_OBJECT_event, &r->said},
        {kind == MARK_PHASE_END ? RECORD_OBJECT_phase : RECORD_OBJECT_note, &r->said},
    };
    record_read(r, fields, kind == MARK_GAUGE ? 3 : 4, NULL, NULL);
    return json_in_end(&r->json) && read_mark_end(r);
}

bool read_mark_end(struct reading *r)
{
    const struct record_mark *said = &r->said;
    struct run_mark *m = &r->mark;
    struct phase *p = &r->phase;
    struct mark_totals *t = &r->summary.marks;
    r->text = &r->kept;
    if (r->no_memory || !said->name || (m->kind == MARK_GAUGE && isnan(said->value)))
        return false;
    m->elapsed_ns = said->elapsed_ns;
    m->name = said->name;
    m->pid = said->pid > 0 ? said->pid : 0;
    m->value = said->value;
    if (r->attributes.length) /* without the blank in front of the first */
        m->attributes = scan_text(r->attributes.data + 1, r->attributes.length - 1);
    if (read_mark_is_note(r))
        return true;

    /* For a summary that the record may lack. */
    t->events += m->kind == MARK_EVENT;
    t->taken += m->kind == MARK_PHASE_END ? 2 : 1; /* its beginning and its end */
    if (m->kind == MARK_GAUGE)
        mark_totals_gauge(t, m->name, m->value, m->elapsed_ns);
    if (m->kind != MARK_PHASE_END)
        return true;
    size_t size = strlen(m->name) + 1;
    char *name = arena_take(&r->line, size);
    if (!name) {
        r->no_memory = true;
        return false;
    }
    *p = (struct phase){
        .name = memcpy(name, m->name, size),
        .pid = m->pid,
        .by_main = true,
        .begin_ns = said->begin_ns,
        .end_ns = said->end_ns,
        .not_ended = !said->ended,
        .scope = said->of_target ? SCOPE_TARGET : SCOPE_PROCESS,
        .of_process = {.looks = said->looks, .recorded = r->figures},
        .of_target = {.looks = said->looks, .recorded = r->figures},
    };
    m->phase = p;
    mark_totals_phase(t, &(struct phase_over){
                             .name = m->name,
                             .pid = m->pid,
                             .begin_ns = p->begin_ns,
                             .end_ns = p->end_ns,
                             .not_ended = p->not_ended,
                             .of_target = phase_is_of_target(p),
                             .figures = phase_figures(p),
                         });
    return true;
}

/* ==== Totals in the summary =================================================================== */

static void write_phase_mean(struct json_out *j, const void *object, const struct record_context *c)
{
    const struct phase_total *p = object;
    json_seconds(j, p->total_ns / p->count);
}

const struct record_special record_special_phase_mean = {write_phase_mean, NULL, NULL};

static void write_total_figures(struct json_out *j, const void *object,
                                const struct record_context *c)
{
    json_object(j);
    FOR_EACH_BIT(id, c->selection->parts[PART_COMBINED])
    {
        struct phase_figure f = phase_total_figure(object, id);
        if (phase_figures_has(metric_of(id)))
            write_phase_figure(j, metric_of(id), &f);
    }
    json_object_end(j);
}

const struct record_special record_special_total_figures = {write_total_figures, read_phase_figures,
                                                            NULL};

static void write_phase_totals(struct json_out *j, const void *object,
                               const struct record_context *c)
{
    const struct mark_totals *t = object;
    json_array(j);
    for (size_t i = 0; i < t->phase_count; i++)
        record_write_object(j, RECORD_OBJECT_phase_total, &t->phases[i], c);
    json_array_end(j);
}

static bool read_phase_totals(struct reading *r, void *object)
{
    struct json_in *j = &r->json;
    struct mark_totals *t = object;
    json_in_array(j);
    while (json_in_item(j)) {
        if (!ARRAY_GROW(t->phases, t->phase_count)) {
            r->no_memory = true;
            return false;
        }
        struct phase_total *p = &t->phases[t->phase_count++];
        *p = (struct phase_total){0};
        memset(r->figures, 0, sizeof r->figures);
        if (!record_read_object(r, RECORD_OBJECT_phase_total, p) || !p->name || !p->count)
            return false;
        /* So that phase_total_figure returns what was read. */
        for (unsigned id = 0; id < PROCESS_METRICS; id++) {
            const struct phase_figure *f = &r->figures[id];
            if (f->quality == QUALITY_UNKNOWN)
                continue;
            p->figures[id].known = p->count;
            p->figures[id].partly = f->quality == QUALITY_LOWER_BOUND;
            p->figures[id].total = f->total;
            p->figures[id].max = f->max;
            p->figures[id].weighted = f->mean;
            p->figures[id].seconds = 1;
        }
    }
    return !j->failed;
}

const struct record_special record_special_phase_totals = {write_phase_totals, read_phase_totals,
                                                           NULL};

static void write_gauge_mean(struct json_out *j, const void *object, const struct record_context *c)
{
    const struct gauge_total *g = object;
    json_number(j, g->sum / (double)g->count);
}

/* The mean, until the number of values is known as well. */
static bool read_gauge_mean(struct reading *r, void *object)
{
    return read_double(&r->json, &((struct gauge_total *)object)->sum);
}

const struct record_special record_special_gauge_mean = {write_gauge_mean, read_gauge_mean, NULL};

static void write_gauge_totals(struct json_out *j, const void *object,
                               const struct record_context *c)
{
    const struct mark_totals *t = object;
    json_array(j);
    for (size_t i = 0; i < t->gauge_count; i++)
        record_write_object(j, RECORD_OBJECT_gauge_total, &t->gauges[i], c);
    json_array_end(j);
}

/* The sum whose mean is that one; a product may be off by the last bit. */
static double sum_of_mean(double mean, uint64_t times)
{
    static const double nudges[] = {0, DBL_EPSILON, -DBL_EPSILON / 2, -DBL_EPSILON};
    double sum = mean * (double)times;
    for (size_t i = 0; i < ARRAY_LEN(nudges); i++)
        if ((sum + sum * nudges[i]) / (double)times == mean)
            return sum + sum * nudges[i];
    return sum;
}

static bool read_gauge_totals(struct reading *r, void *object)
{
    struct json_in *j = &r->json;
    struct mark_totals *t = object;
    json_in_array(j);
    while (json_in_item(j)) {
        if (!ARRAY_GROW(t->gauges, t->gauge_count)) {
            r->no_memory = true;
            return false;
        }
        struct gauge_total *g = &t->gauges[t->gauge_count++];
        *g = (struct gauge_total){.sum = INFINITY}; /* which is written as null */
        if (!record_read_object(r, RECORD_OBJECT_gauge_total, g) || !g->name || !g->count)
            return false;
        g->sum = sum_of_mean(g->sum, g->count);
    }
    return !j->failed;
}

const struct record_special record_special_gauge_totals = {write_gauge_totals, read_gauge_totals,
                                                           NULL};

static void write_mark_counts(struct json_out *j, const void *object,
                              const struct record_context *c)
{
    record_write_object(j, RECORD_OBJECT_mark_counts, object, c);
}

static bool read_mark_counts(struct reading *r, void *object)
{
    return record_read_object(r, RECORD_OBJECT_mark_counts, object);
}

const struct record_special record_special_mark_counts = {write_mark_counts, read_mark_counts,
                                                          NULL};
