/* SPDX-License-Identifier: MIT
 * What the job said of itself, as JSON: lines of the record, and what it came to. */
#include "sink/record_json.h"

enum { DECIMALS = SERIES_DECIMALS };

/* "figures" of a phase, or of all of a name. */
struct source {
    const struct phase *phase;
    const struct phase_total *total;
};

static struct phase_figure figure_of(const struct source *s, enum metric_id id)
{
    if (s->total)
        return phase_total_figure(s->total, id);
    return phase_figures_of(phase_figures(s->phase), id, s->phase->begin_ns, s->phase->end_ns);
}

static void add_figure(struct json_out *j, const struct metric *m, const struct phase_figure *f)
{
    json_key(j, m->facts.name);
    json_object(j);
    if (f->quality != QUALITY_UNKNOWN && m->kind == METRIC_COUNTER) {
        json_put_double(j, "total", f->total, DECIMALS);
    } else if (f->quality != QUALITY_UNKNOWN) {
        json_put_double(j, "mean", f->mean, DECIMALS);
        if (f->max >= 0)
            json_put_double(j, "max", f->max, DECIMALS);
    }
    json_put_string(j, "quality", quality_word(f->quality));
    json_object_end(j);
}

static void add_figures(struct json_out *j, const struct source *s,
                        const struct selection *selection)
{
    json_object(j);
    FOR_EACH_BIT(id, selection->parts[PART_COMBINED])
    {
        const struct metric *m = metric_of(id);
        struct phase_figure f = figure_of(s, id);
        if (phase_figures_has(m))
            add_figure(j, m, &f);
    }
    json_object_end(j);
}

void record_json_phase_figures(struct json_out *j, const struct phase *p,
                               const struct selection *selection)
{
    add_figures(j, &(struct source){.phase = p}, selection);
}

void record_json_attributes(struct json_out *j, struct scan attributes)
{
    char text[MARK_TEXT_BYTES];
    const char *value;
    json_object(j);
    while (mark_text_attribute(&attributes, text, sizeof text, &value))
        json_put_string(j, text, value);
    json_object_end(j);
}

static void add_phase(struct json_out *j, const struct told_mark *m,
                      const struct selection *selection)
{
    const struct phase *p = m->phase;
    uint64_t begin = left_u64(p->begin_ns, m->start_ns);
    json_put_seconds(j, "begin_seconds", begin);
    json_put_seconds(j, "end_seconds", left_u64(p->end_ns, m->start_ns));
    json_put_seconds(j, "seconds", left_u64(p->end_ns, p->begin_ns));
    json_put_bool(j, "ended", !p->not_ended);
    json_put_string(j, "of", phase_is_of_target(p) ? "target" : "process");
    json_put_u64(j, "looks", phase_figures(p)->looks);
    json_key(j, "figures");
    record_json_phase_figures(j, p, selection);
}

void record_json_mark(struct json_out *j, const struct told_mark *m,
                      const struct selection *selection)
{
    json_put_seconds(j, "elapsed_seconds", m->elapsed_ns);
    json_put_string(j, "name", m->name);
    json_put_i64(j, "pid", m->pid);
    if (m->kind == MARK_GAUGE) {
        json_put_number(j, "value", m->value);
    } else {
        json_key(j, "attributes");
        record_json_attributes(j, m->attributes);
    }
    if (m->phase)
        add_phase(j, m, selection);
}

/* ---- Summary --------------------------------------------------------------------------------- */

static void add_phase_total(struct json_out *j, const struct phase_total *p,
                            const struct selection *selection)
{
    struct source source = {.total = p};
    json_object(j);
    json_put_string(j, "name", p->name);
    json_put_u64(j, "count", p->count);
    json_put_u64(j, "not_ended_count", p->not_ended);
    json_put_u64(j, "measured_count", p->measured);
    json_put_bool(j, "of_several_processes", p->of_several);
    json_put_string(j, "of", p->of_target ? "target" : "process");
    if (p->widened)
        json_put_bool(j, "widened", true);
    json_put_seconds(j, "total_seconds", p->total_ns);
    json_put_seconds(j, "min_seconds", p->min_ns);
    json_put_seconds(j, "mean_seconds", p->total_ns / p->count);
    json_put_seconds(j, "max_seconds", p->max_ns);
    json_key(j, "figures");
    add_figures(j, &source, selection);
    json_object_end(j);
}

static void add_gauge_total(struct json_out *j, const struct gauge_total *g)
{
    json_object(j);
    json_put_string(j, "name", g->name);
    json_put_u64(j, "count", g->count);
    json_put_number(j, "last", g->last);
    json_put_number(j, "min", g->min);
    json_put_number(j, "mean", g->sum / (double)g->count);
    json_put_number(j, "max", g->max);
    json_put_seconds(j, "max_at_seconds", g->max_at_ns);
    json_object_end(j);
}

void record_json_marks(struct json_out *j, const struct mark_totals *t,
                       const struct selection *selection)
{
    json_key(j, "phases");
    json_array(j);
    for (size_t i = 0; i < t->phase_count; i++)
        add_phase_total(j, &t->phases[i], selection);
    json_array_end(j);
    json_key(j, "gauges");
    json_array(j);
    for (size_t i = 0; i < t->gauge_count; i++)
        add_gauge_total(j, &t->gauges[i]);
    json_array_end(j);
    json_put_u64(j, "events", t->events);
    json_key(j, "marks");
    json_object(j);
    json_put_u64(j, "taken", t->taken);
    json_put_u64(j, "ignored", t->ignored);
    json_put_u64(j, "lost", t->lost);
    json_put_u64(j, "left_out", t->left_out);
    json_put_u64(j, "unmatched", t->unmatched);
    json_object_end(j);
}
