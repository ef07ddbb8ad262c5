/* SPDX-License-Identifier: MIT
 * The last line of a run: what it came to. */
#include "base/memory.h"
#include "record/read_figures.h"
#include "record/write.h"

#include <float.h>
#include <math.h>

/* ==== Read marks ============================================================================== */

/* What the job said of itself: lines of the record, and what it came to in the summary. */

/* ---- Figures of phases ----------------------------------------------------------------------- */

static void read_figure(struct reading *r, struct phase_figure *ret)
{
    struct json_in *j = &r->json;
    struct scan key;
    *ret = (struct phase_figure){.max = -1};
    json_in_object(j);
    while (json_in_key(j, &key))
        if (json_in_is(&key, "quality"))
            ret->quality = read_quality(j);
        else if (json_in_is(&key, "total"))
            read_double(j, &ret->total);
        else if (json_in_is(&key, "mean"))
            read_double(j, &ret->mean);
        else if (json_in_is(&key, "max"))
            read_double(j, &ret->max);
        else
            reading_skip(r, &key);
}

bool read_marks_figures(struct reading *r, struct phase_figure ret[PROCESS_METRICS])
{
    struct json_in *j = &r->json;
    struct scan key;
    unsigned next = 0;
    json_in_object(j);
    while (json_in_key(j, &key)) {
        int id = read_row_find(ENTITY_TARGET, &key, &next);
        if (id >= 0)
            read_figure(r, &ret[id]);
        else
            reading_skip(r, &key);
    }
    return !j->failed;
}

/* ---- Lines ----------------------------------------------------------------------------------- */

/* As words of a mark, which is what sinks are handed. */
static void read_attributes(struct reading *r)
{
    struct json_in *j = &r->json;
    struct scan key, value;
    struct buf one = {0};
    json_in_object(j);
    while (json_in_key(j, &key)) {
        if (!read_key_fits(&key)) {
            reading_wrong(r, "an attribute without a key, or with a '=' in it");
            break;
        }
        buf_clear(&one);
        buf_add(&one, key.at, (size_t)(key.end - key.at));
        buf_putc(&one, '=');
        if (!json_in_string(j, &value))
            break;
        buf_add(&one, value.at, (size_t)(value.end - value.at));
        if (!buf_failed(&one))
            mark_text_add(&r->attributes, one.data);
        r->no_memory |= buf_failed(&one) || buf_failed(&r->attributes);
    }
    if (r->attributes.length > MARK_TEXT_BYTES)
        reading_wrong(r, "more attributes than a mark can have");
    buf_done(&one);
}

static void read_string(struct reading *r, struct buf *ret)
{
    struct scan text;
    buf_clear(ret);
    if (json_in_string(&r->json, &text))
        buf_add(ret, text.at ? text.at : "", (size_t)(text.end - text.at));
    r->no_memory |= buf_failed(ret);
}

static void read_of(struct reading *r, struct phase *p)
{
    static const char *const words[] = {"process", "target"};
    int of = read_word(&r->json, words, ARRAY_LEN(words));
    p->scope = of == 1 ? SCOPE_TARGET : SCOPE_PROCESS;
}

static void read_phase_member(struct reading *r, const struct scan *key)
{
    struct json_in *j = &r->json;
    struct phase *p = &r->phase;
    bool ended;
    if (json_in_is(key, "begin_seconds"))
        read_seconds(j, &p->begin_ns);
    else if (json_in_is(key, "end_seconds"))
        read_seconds(j, &p->end_ns);
    else if (json_in_is(key, "seconds"))
        json_in_skip(j); /* the difference */
    else if (json_in_is(key, "ended") && json_in_bool(j, &ended))
        p->not_ended = !ended;
    else if (json_in_is(key, "of"))
        read_of(r, p);
    else if (json_in_is(key, "looks"))
        read_u64(j, &p->of_target.looks);
    else if (json_in_is(key, "figures"))
        read_marks_figures(r, r->figures);
    else
        reading_skip(r, key);
}

static void read_marks_read_member(struct reading *r, const struct scan *key)
{
    struct json_in *j = &r->json;
    struct told_mark *m = &r->mark;
    if (json_in_is(key, "type")) {
        json_in_skip(j);
    } else if (json_in_is(key, "elapsed_seconds")) {
        read_seconds(j, &m->elapsed_ns);
    } else if (json_in_is(key, "name")) {
        read_string(r, &r->name);
    } else if (json_in_is(key, "pid")) {
        r->is_note = false;
        read_pid(j, &m->pid);
    } else if (m->kind == MARK_GAUGE && json_in_is(key, "value")) {
        read_double(j, &m->value);
    } else if (m->kind == MARK_EVENT && json_in_is(key, "text")) {
        read_string(r, &r->text);
    } else if (m->kind != MARK_GAUGE && json_in_is(key, "attributes")) {
        read_attributes(r);
    } else if (m->kind == MARK_PHASE_END) {
        read_phase_member(r, key);
    } else {
        reading_skip(r, key);
    }
}

/* For a summary that nobody has written. */
static void read_marks_count(struct reading *r)
{
    struct mark_totals *t = &r->summary.marks;
    const struct told_mark *m = &r->mark;
    const struct phase *p = &r->phase;
    if (m->kind == MARK_PHASE_END)
        mark_totals_phase(t, &(struct phase_over){
                                 .name = m->name,
                                 .pid = m->pid,
                                 .begin_ns = p->begin_ns,
                                 .end_ns = p->end_ns,
                                 .not_ended = p->not_ended,
                                 .of_target = phase_is_of_target(p),
                                 .figures = phase_figures(p),
                             });
    else if (m->kind == MARK_GAUGE)
        mark_totals_gauge(t, m->name, m->value, m->elapsed_ns);
    t->events += m->kind == MARK_EVENT;
    t->taken += m->kind == MARK_PHASE_END ? 2 : 1; /* its beginning and its end */
}

bool read_mark(struct reading *r, enum mark_kind kind)
{
    struct json_in *j = &r->json;
    struct told_mark *m = &r->mark;
    struct phase *p = &r->phase;
    struct scan key;
    *m = (struct told_mark){.kind = kind, .value = NAN};
    *p = (struct phase){.by_main = true};
    memset(r->figures, 0, sizeof r->figures); /* QUALITY_UNKNOWN */
    buf_clear(&r->name);
    buf_clear(&r->attributes);
    buf_clear(&r->text);
    r->is_note = kind == MARK_EVENT;
    json_in_object(j);
    while (json_in_key(j, &key))
        read_marks_read_member(r, &key);
    if (!json_in_end(j) || r->no_memory || !r->name.data)
        return false;
    r->is_note &= r->text.data != NULL;
    if (kind == MARK_GAUGE && isnan(m->value))
        return false;
    m->name = p->name = r->name.data;
    p->pid = m->pid;
    p->of_process.looks = p->of_target.looks;
    p->of_process.told = p->of_target.told = r->figures;
    m->phase = kind == MARK_PHASE_END ? p : NULL;
    if (r->attributes.length) /* without the blank in front of the first */
        m->attributes = scan_text(r->attributes.data + 1, r->attributes.length - 1);
    if (!r->is_note)
        read_marks_count(r);
    return true;
}

/* ---- Summary --------------------------------------------------------------------------------- */

static struct phase_total *read_marks_add_phase(struct reading *r)
{
    struct mark_totals *t = &r->summary.marks;
    if (!ARRAY_GROW(t->phases, t->phase_count)) {
        r->no_memory = true;
        return NULL;
    }
    t->phases[t->phase_count] = (struct phase_total){0};
    return &t->phases[t->phase_count++];
}

static char *read_owned(struct reading *r, char *before)
{
    struct scan text;
    if (!json_in_string(&r->json, &text))
        return before;
    free(before);
    char *copy = scan_copy(text);
    r->no_memory |= !copy;
    return copy;
}

/* So that phase_total_figure says what was read. */
static void take_figures(struct phase_total *p, const struct phase_figure figures[PROCESS_METRICS])
{
    for (unsigned id = 0; id < PROCESS_METRICS; id++) {
        const struct phase_figure *f = &figures[id];
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

static void read_phase_total(struct reading *r)
{
    struct json_in *j = &r->json;
    struct phase_total *p = read_marks_add_phase(r);
    struct phase whose = {0};
    struct scan key;
    if (!p) {
        json_in_fail(j);
        return;
    }
    memset(r->figures, 0, sizeof r->figures);
    json_in_object(j);
    while (json_in_key(j, &key))
        if (json_in_is(&key, "name"))
            p->name = read_owned(r, p->name);
        else if (json_in_is(&key, "count"))
            read_u64(j, &p->count);
        else if (json_in_is(&key, "not_ended_count"))
            read_u64(j, &p->not_ended);
        else if (json_in_is(&key, "measured_count"))
            read_u64(j, &p->instance);
        else if (json_in_is(&key, "of_several_processes"))
            json_in_bool(j, &p->of_several);
        else if (json_in_is(&key, "of"))
            read_of(r, &whose);
        else if (json_in_is(&key, "widened"))
            json_in_bool(j, &p->widened);
        else if (json_in_is(&key, "total_seconds"))
            read_seconds(j, &p->total_ns);
        else if (json_in_is(&key, "min_seconds"))
            read_seconds(j, &p->min_ns);
        else if (json_in_is(&key, "mean_seconds"))
            json_in_skip(j); /* of the total */
        else if (json_in_is(&key, "max_seconds"))
            read_seconds(j, &p->max_ns);
        else if (json_in_is(&key, "figures"))
            read_marks_figures(r, r->figures);
        else
            reading_skip(r, &key);
    p->of_target = whose.scope == SCOPE_TARGET;
    take_figures(p, r->figures);
    if (!p->name || !p->count)
        json_in_fail(j);
}

/* The sum whose mean is that one; a product may be off by the last bit. */
static double sum_of(double mean, uint64_t times)
{
    static const double nudges[] = {0, DBL_EPSILON, -DBL_EPSILON / 2, -DBL_EPSILON};
    double sum = mean * (double)times;
    for (size_t i = 0; i < ARRAY_LEN(nudges); i++)
        if ((sum + sum * nudges[i]) / (double)times == mean)
            return sum + sum * nudges[i];
    return sum;
}

static void read_gauge_total(struct reading *r)
{
    struct json_in *j = &r->json;
    struct mark_totals *t = &r->summary.marks;
    double mean = INFINITY; /* null */
    struct scan key;
    if (!ARRAY_GROW(t->gauges, t->gauge_count)) {
        r->no_memory = true;
        json_in_fail(j);
        return;
    }
    struct gauge_total *g = &t->gauges[t->gauge_count++];
    *g = (struct gauge_total){0};
    json_in_object(j);
    while (json_in_key(j, &key))
        if (json_in_is(&key, "name"))
            g->name = read_owned(r, g->name);
        else if (json_in_is(&key, "count"))
            read_u64(j, &g->count);
        else if (json_in_is(&key, "last"))
            read_double(j, &g->last);
        else if (json_in_is(&key, "min"))
            read_double(j, &g->min);
        else if (json_in_is(&key, "mean"))
            read_double(j, &mean);
        else if (json_in_is(&key, "max"))
            read_double(j, &g->max);
        else if (json_in_is(&key, "max_at_seconds"))
            read_seconds(j, &g->max_at_ns);
        else
            reading_skip(r, &key);
    if (!g->name || !g->count)
        json_in_fail(j);
    else
        g->sum = sum_of(mean, g->count);
}

static void read_counts(struct reading *r)
{
    struct mark_totals *t = &r->summary.marks;
    const struct {
        const char *key;
        uint64_t *count;
    } counts[] = {{"taken", &t->taken},
                  {"ignored", &t->ignored},
                  {"lost", &t->lost},
                  {"left_out", &t->left_out},
                  {"unmatched", &t->unmatched}};
    struct json_in *j = &r->json;
    struct scan key;
    json_in_object(j);
    while (json_in_key(j, &key)) {
        size_t i = 0;
        while (i < ARRAY_LEN(counts) && !json_in_is(&key, counts[i].key))
            i++;
        if (i < ARRAY_LEN(counts))
            read_u64(j, counts[i].count);
        else
            reading_skip(r, &key);
    }
}

bool read_marks_member(struct reading *r, const struct scan *key)
{
    struct json_in *j = &r->json;
    bool phases = json_in_is(key, "phases");
    if (phases || json_in_is(key, "gauges")) {
        json_in_array(j);
        while (json_in_item(j))
            phases ? read_phase_total(r) : read_gauge_total(r);
    } else if (json_in_is(key, "events")) {
        read_u64(j, &r->summary.marks.events);
    } else if (json_in_is(key, "marks")) {
        read_counts(r);
    } else {
        return false;
    }
    return true;
}

/* ==== Read outputs ============================================================================ */

/* What became of the outputs that the run had. */

static struct output_summary *read_outputs_add(struct reading *r)
{
    struct summary *s = &r->summary;
    if (!ARRAY_GROW(s->outputs, s->output_count)) {
        r->no_memory = true;
        return NULL;
    }
    s->outputs[s->output_count] = (struct output_summary){.format = "", .way = OUTPUT_SENT};
    return &s->outputs[s->output_count++];
}

static void read_outputs_read_way(struct json_in *j, struct output_summary *o)
{
    int way = read_word(j, record_words_way, OUTPUT_WAYS);
    if (way >= 0)
        o->way = (enum output_way)way;
}

static void read_outputs_read_member(struct reading *r, const struct scan *key,
                                     struct output_summary *o)
{
    struct json_in *j = &r->json;
    if (json_in_is(key, "name"))
        read_name(j, o->name, sizeof o->name);
    else if (json_in_is(key, "format"))
        o->format = read_kept(r);
    else if (json_in_is(key, "way"))
        read_outputs_read_way(j, o);
    else if (json_in_is(key, "bytes"))
        o->has_bytes = !json_in_null(j) && read_u64(j, &o->bytes);
    else if (json_in_is(key, "scrapes"))
        read_u64(j, &o->scrapes);
    else if (json_in_is(key, "samples"))
        read_u64(j, &o->samples);
    else if (json_in_is(key, "delivered"))
        read_u64(j, &o->delivered);
    else if (json_in_is(key, "kept"))
        read_u64(j, &o->kept);
    else if (json_in_is(key, "dropped"))
        read_u64(j, &o->dropped);
    else if (json_in_is(key, "retries"))
        read_u64(j, &o->retries);
    else if (json_in_is(key, "complete"))
        json_in_bool(j, &o->is_whole);
    else if (!json_in_is(key, "failure"))
        reading_skip(r, key);
    else if (!json_in_null(j))
        read_name(j, o->why, sizeof o->why);
}

bool read_outputs(struct reading *r)
{
    struct json_in *j = &r->json;
    struct output_summary *o;
    struct scan key;
    json_in_array(j);
    while (json_in_item(j) && (o = read_outputs_add(r)))
        for (json_in_object(j); json_in_key(j, &key);)
            read_outputs_read_member(r, &key, o);
    return !j->failed;
}

/* ==== Read summary ============================================================================ */

/* ---- Limits ---------------------------------------------------------------------------------- */

static void read_summary_read_limit(struct reading *r, enum limit_kind kind, struct limit *l)
{
    struct json_in *j = &r->json;
    struct scan key, text;
    *l = (struct limit){.known = true, .by = ""};
    json_in_object(j);
    while (json_in_key(j, &key))
        if (json_in_is(&key, "value") && kind == LIMIT_CPUS)
            read_double(j, &l->cores);
        else if (json_in_is(&key, "value"))
            read_u64(j, &l->value);
        else if (json_in_is(&key, "unlimited"))
            json_in_bool(j, &l->unlimited);
        else if (json_in_is(&key, "by"))
            l->by = read_kept(r);
        else if (json_in_is(&key, "used"))
            l->has_used = read_double(j, &l->used);
        else if (json_in_is(&key, "used_at_least"))
            json_in_bool(j, &l->used_is_least);
        else if (json_in_is(&key, "used_by"))
            l->whose = read_kept(r);
        else if (json_in_is(&key, "reached"))
            l->reached = read_kept(r);
        else if (json_in_is(&key, "reached_count"))
            read_u64(j, &l->reached_times);
        else if (json_in_is(&key, "cgroup") && json_in_string(j, &text)) {
            l->cgroup = arena_take(&r->kept, (size_t)(text.end - text.at) + 1);
            if (l->cgroup && text.at)
                memcpy(l->cgroup, text.at, (size_t)(text.end - text.at));
        } else
            reading_skip(r, &key);
}

static void read_summary_read_limits(struct reading *r, struct limits *ret)
{
    struct json_in *j = &r->json;
    struct scan key;
    json_in_object(j);
    while (json_in_key(j, &key)) {
        unsigned kind = 0;
        while (kind < LIMITS && !json_in_is(&key, record_words_limit[kind]))
            kind++;
        if (kind < LIMITS)
            read_summary_read_limit(r, kind, &ret->of[kind]);
        else
            reading_skip(r, &key);
    }
}

/* ---- Targets --------------------------------------------------------------------------------- */

static void read_summary_read_part(struct reading *r, struct target_summary *t, unsigned part)
{
    struct json_in *j = &r->json;
    struct scan key;
    unsigned next = 0;
    t->has_parts |= part != PART_COMBINED;
    json_in_object(j);
    while (json_in_key(j, &key)) {
        int id = read_row_find(ENTITY_TARGET, &key, &next);
        if (id < 0) {
            reading_skip(r, &key);
            continue;
        }
        r->selection.parts[part] |= BIT(id);
        bool partial = false;
        read_series(r, &t->series[part][id], metric_of((enum metric_id)id),
                    &t->provenance[part][id], &partial);
        t->partial[part] |= partial ? BIT(id) : 0;
    }
}

static bool read_part_member(struct reading *r, const struct scan *key, struct target_summary *t)
{
    for (unsigned part = 0; part < PARTS; part++)
        if (json_in_is(key, part_name(part))) {
            read_summary_read_part(r, t, part);
            return true;
        }
    return false;
}

static void read_summary_read_whole(struct reading *r)
{
    struct json_in *j = &r->json;
    struct scan key;
    r->summary.has_target = true;
    json_in_object(j);
    while (json_in_key(j, &key))
        if (!read_part_member(r, &key, &r->summary.whole))
            reading_skip(r, &key);
}

static void read_summary_read_target(struct reading *r, struct target_summary *t)
{
    struct json_in *j = &r->json;
    struct scan key;
    json_in_object(j);
    while (json_in_key(j, &key))
        if (json_in_is(&key, "end"))
            read_end(r, &t->end);
        else if (json_in_is(&key, "limits"))
            read_summary_read_limits(r, &t->limits);
        else if (json_in_is(&key, "name"))
            json_in_skip(j); /* they come in the order of the run line */
        else if (!read_part_member(r, &key, t))
            reading_skip(r, &key);
}

static void read_summary_read_targets(struct reading *r)
{
    struct json_in *j = &r->json;
    size_t i = 0;
    json_in_array(j);
    for (; json_in_item(j); i++)
        if (i < r->summary.target_count)
            read_summary_read_target(r, &r->summary.targets[i]);
        else
            json_in_fail(j);
    if (i != r->summary.target_count)
        reading_wrong(r, "other targets than the run has");
}

/* ---- The machine ----------------------------------------------------------------------------- */

static void read_summary_add_instance(struct reading *r, const struct entity *e,
                                      struct series *series)
{
    struct summary *s = &r->summary;
    struct instance *m = read_instances_find(r, e);
    bool has_room = ARRAY_GROW(s->instances, s->instance_count);
    r->no_memory |= !has_room;
    if (!has_room || !m) {
        free(series);
        return;
    }
    s->instances[s->instance_count++] = (struct instance_summary){.instance = m, .series = series};
}

/* The quality follows from what is known, and from how much of the run was covered. */
static void read_instance_series(struct reading *r, struct series *s, const struct metric *m)
{
    struct provenance v = {.quality = summary_instance_quality(s, m)};
    read_series(r, s, m, &v, NULL);
    if (v.quality == QUALITY_LOWER_BOUND)
        s->coverage = COVERED_SO_FAR; /* also of nothing: it was written as a lower bound */
    else if (v.quality == QUALITY_SAMPLED && m->kind == METRIC_COUNTER)
        s->coverage = COVERED_ROUGHLY;
}

static void read_summary_read_instance(struct reading *r, enum entity_kind kind)
{
    struct json_in *j = &r->json;
    struct entity e = {.kind = kind};
    struct series *series = calloc(metric_count(kind), sizeof *series);
    struct scan key;
    unsigned next = 0;
    if (!series) {
        r->no_memory = true;
        json_in_fail(j);
        return;
    }
    if (kind == ENTITY_SYSTEM)
        for (unsigned i = 0; i < SYSTEM_METRICS; i++)
            series[i].histogram = summary_system_histogram(&r->summary, i);
    json_in_object(j);
    while (json_in_key(j, &key)) {
        if (json_in_next(j) == JSON_STRING && kind != ENTITY_SYSTEM) {
            read_instances_word(r, &key, &e);
            continue;
        }
        int i = read_row_find(kind, &key, &next);
        if (i >= 0)
            read_instance_series(r, &series[i], metric_of(metric_first(kind) + (unsigned)i));
        else
            reading_skip(r, &key);
    }
    if (j->failed)
        free(series);
    else
        read_summary_add_instance(r, &e, series);
}

static void read_summary_read_instances(struct reading *r, enum entity_kind kind)
{
    struct json_in *j = &r->json;
    if (kind == ENTITY_SYSTEM) {
        read_summary_read_instance(r, kind);
        return;
    }
    json_in_array(j);
    while (json_in_item(j))
        read_summary_read_instance(r, kind);
}

static void read_joules(struct json_in *j, bool *ret_known, double *ret)
{
    *ret_known = !json_in_null(j);
    if (*ret_known)
        read_double(j, ret);
}

static void read_summary_read_energy(struct reading *r)
{
    struct json_in *j = &r->json;
    struct energy *e = &r->energy;
    struct scan key;
    *e = (struct energy){.has_gpus = true};
    json_in_object(j);
    while (json_in_key(j, &key))
        if (json_in_is(&key, "gpu"))
            read_joules(j, &e->knows_gpus, &e->gpus_joules);
        else if (json_in_is(&key, "processor"))
            read_joules(j, &e->knows_processors, &e->processors_joules);
        else if (json_in_is(&key, "total"))
            json_in_skip(j);
        else if (json_in_is(&key, "quality"))
            e->gpus_quality = read_quality(j);
        else
            reading_skip(r, &key);
    if (!e->gpus_quality && e->knows_gpus) /* records of older versions do not have it */
        e->gpus_quality = QUALITY_SAMPLED;
    r->summary.energy = e;
}

/* ---- The rest -------------------------------------------------------------------------------- */

static void read_self(struct reading *r)
{
    struct json_in *j = &r->json;
    struct scan key;
    unsigned next = 0;
    json_in_object(j);
    while (json_in_key(j, &key)) {
        int i = read_row_find(ENTITY_SELF, &key, &next);
        if (i < 0) {
            reading_skip(r, &key);
            continue;
        }
        r->selection.of[ENTITY_SELF] |= BIT(i);
        read_series(r, &r->summary.self[i], metric_of(metric_first(ENTITY_SELF) + (unsigned)i),
                    NULL, NULL);
    }
}

static void read_survivor(struct reading *r, struct survivor *ret)
{
    struct json_in *j = &r->json;
    struct scan key;
    *ret = (struct survivor){0};
    json_in_object(j);
    while (json_in_key(j, &key))
        if (json_in_is(&key, "pid"))
            read_pid(j, &ret->pid);
        else if (json_in_is(&key, "name"))
            read_name(j, ret->name, sizeof ret->name);
        else if (json_in_is(&key, metric_of(process_cpu_seconds)->facts.name))
            read_seconds(j, &ret->cpu_ns);
        else if (json_in_is(&key, metric_of(process_memory_rss_bytes)->facts.name)) {
            ret->has_rss = !json_in_null(j);
            if (ret->has_rss)
                read_u64(j, &ret->rss_bytes);
        } else
            reading_skip(r, &key);
}

static void read_survivors(struct reading *r)
{
    struct json_in *j = &r->json;
    size_t count = 0;
    json_in_array(j);
    while (json_in_item(j))
        if (count < SUMMARY_STILL_RUNNING)
            read_survivor(r, &r->summary.survivors[count++]);
        else
            json_in_skip(j);
    r->summary.survivor_count = max_u64(r->summary.survivor_count, count);
}

static void read_survivor_count(struct reading *r)
{
    uint64_t count = 0;
    if (read_u64(&r->json, &count))
        r->summary.survivor_count = max_u64(r->summary.survivor_count, count);
}

static void read_notes(struct reading *r)
{
    struct json_in *j = &r->json;
    struct scan text;
    json_in_array(j);
    while (json_in_item(j) && json_in_string(j, &text))
        summary_note(&r->summary, reading_keep(r, text));
}

static void read_summary_read_member(struct reading *r, const struct scan *key)
{
    struct json_in *j = &r->json;
    struct summary *s = &r->summary;
    uint64_t left_out = 0;
    int kind;
    if (json_in_is(key, "wall_seconds"))
        read_seconds(j, &s->elapsed_ns);
    else if (json_in_is(key, "end"))
        read_end(r, &s->whole.end);
    else if (json_in_is(key, "target"))
        read_summary_read_whole(r);
    else if (json_in_is(key, "targets"))
        read_summary_read_targets(r);
    else if (json_in_is(key, "limits"))
        read_summary_read_limits(r, &s->whole.limits);
    else if (json_in_is(key, "run_joules"))
        read_summary_read_energy(r);
    else if (json_in_is(key, "self"))
        read_self(r);
    else if (json_in_is(key, "still_running_count"))
        read_survivor_count(r);
    else if (json_in_is(key, "still_running"))
        read_survivors(r);
    else if (json_in_is(key, "outputs"))
        read_outputs(r);
    else if (json_in_is(key, "notes"))
        read_notes(r);
    else if (json_in_is(key, "notes_left_out")) {
        if (read_u64(j, &left_out))
            s->note_count += left_out;
    } else if ((kind = read_instances_kind(key)) >= 0)
        read_summary_read_instances(r, (enum entity_kind)kind);
    else if (!read_marks_member(r, key))
        json_in_skip(j); /* facts of the run, which its first line has told */
}

/* What was made of the samples gives way. */
static bool begin_anew(struct reading *r)
{
    summary_done(&r->summary);
    if (summary_init(&r->summary, &r->run) < 0)
        return false;
    return r->run.target_count < 2 || summary_add_targets(&r->summary, r->run.target_count) == 0;
}

bool read_summary(struct reading *r)
{
    struct json_in *j = &r->json;
    struct scan key;
    if (!begin_anew(r)) {
        r->no_memory = true;
        return false;
    }
    read_instances_begin(r);
    json_in_object(j);
    while (json_in_key(j, &key))
        read_summary_read_member(r, &key);
    r->has_summary = json_in_end(j);
    return r->has_summary;
}
