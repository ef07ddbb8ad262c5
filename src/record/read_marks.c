/* SPDX-License-Identifier: MIT
 * What the job said of itself: lines of the record, and what it came to in the summary. */
#include "record/reading.h"

#include <float.h>
#include <math.h>

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

static void read_member(struct reading *r, const struct scan *key)
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
static void count(struct reading *r)
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
        read_member(r, &key);
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
        count(r);
    return true;
}

/* ---- Summary --------------------------------------------------------------------------------- */

static struct phase_total *add_phase(struct reading *r)
{
    struct mark_totals *t = &r->summary.marks;
    struct phase_total *longer = realloc(t->phases, (t->phase_count + 1) * sizeof *longer);
    if (!longer) {
        r->no_memory = true;
        return NULL;
    }
    t->phases = longer;
    longer[t->phase_count] = (struct phase_total){0};
    return &longer[t->phase_count++];
}

static char *read_owned(struct reading *r, char *before)
{
    struct scan text;
    if (!json_in_string(&r->json, &text))
        return before;
    free(before);
    char *copy = strndup(text.at ? text.at : "", (size_t)(text.end - text.at));
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
    struct phase_total *p = add_phase(r);
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
            read_u64(j, &p->measured);
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
    struct gauge_total *longer = realloc(t->gauges, (t->gauge_count + 1) * sizeof *longer);
    double mean = INFINITY; /* null */
    struct scan key;
    if (!longer) {
        r->no_memory = true;
        json_in_fail(j);
        return;
    }
    t->gauges = longer;
    struct gauge_total *g = &longer[t->gauge_count++];
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
