/* SPDX-License-Identifier: MIT */
#include "record/write.h"

#include "summary/summary.h"

#include <string.h>

/* ==== Record words ============================================================================ */

const char *const record_words_end[END_STATUSES] = {
    [END_RUNNING] = "running",
    [END_EXITED] = "exited",
    [END_SIGNALED] = "signaled",
    [END_UNKNOWN] = "unknown",
};

const char *const record_words_left[DEPARTURES] = {
    [LEFT_REAPED] = "reaped by toll",
    [LEFT_INSIDE] = "reaped inside",
    [LEFT_LOST] = "reaped by nobody",
};

const char *const record_words_way[OUTPUT_WAYS] = {
    [OUTPUT_FILE] = "file",
    [OUTPUT_STREAM] = "stream",
    [OUTPUT_SENT] = "sent",
    [OUTPUT_SCRAPED] = "scraped",
};

const char *const record_words_mark[MARK_KINDS] = {
    [MARK_PHASE_END] = "phase",
    [MARK_EVENT] = "event",
    [MARK_GAUGE] = "gauge",
};

const char *const record_words_limit[LIMITS] = {
    [LIMIT_CPUS] = "cpus",
    [LIMIT_MEMORY_BYTES] = "memory_bytes",
    [LIMIT_SWAP_BYTES] = "swap_bytes",
    [LIMIT_TASKS] = "tasks",
    [LIMIT_OPEN_FILES] = "open_files",
    [LIMIT_PROCESSES] = "processes",
    [LIMIT_ADDRESS_BYTES] = "address_space_bytes",
    [LIMIT_CPU_SECONDS] = "cpu_time_seconds",
    [LIMIT_FILE_BYTES] = "file_size_bytes",
    [LIMIT_CORE_BYTES] = "core_file_bytes",
    [LIMIT_LOCKED_BYTES] = "locked_memory_bytes",
};

const struct record_quantile record_words_quantile[RECORD_QUANTILES] = {
    {"p50", 0.5},
    {"p90", 0.9},
    {"p99", 0.99},
};

/* ==== Record json ============================================================================= */

static void record_json_add_labels(struct json_out *j, char **labels)
{
    json_key(j, "labels");
    json_object(j);
    for (char **l = labels; l && *l; l++) {
        const char *equals = strchr(*l, '=');
        if (!equals)
            continue;
        char *key = strndup(*l, (size_t)(equals - *l));
        json_put_string(j, key ? key : "", equals + 1);
        free(key);
    }
    json_object_end(j);
}

void record_json_run(struct json_out *j, const struct run *run)
{
    json_put_string(j, "toll", run->version ? run->version : TOLL_VERSION);
    if (*run->id)
        json_put_string(j, "id", run->id);
    json_put_string(j, "name", run->name ? run->name : "");
    json_key(j, "command");
    json_array(j);
    for (char **arg = run->command; arg && *arg; arg++)
        json_string(j, *arg);
    json_array_end(j);
    record_json_add_labels(j, run->labels);
    if (*run->job.id)
        json_put_string(j, "job_id", run->job.id);
    if (*run->job.array_index)
        json_put_string(j, "array_index", run->job.array_index);
    if (*run->rank)
        json_put_string(j, "rank", run->rank);
    json_put_string(j, "host", run->host);
    json_put_string(j, "kernel", run->kernel);
    json_put_u64(j, "cpus", run->cpus);
    json_key(j, "pid");
    if (run->pid)
        json_i64(j, run->pid);
    else
        json_null(j);
    json_put_utc(j, "start", run->start_real_ns);
    json_key(j, "interval_seconds");
    if (run->interval_ns)
        json_seconds(j, run->interval_ns);
    else
        json_null(j);
    if (run->metrics)
        json_put_string(j, "metrics", run->metrics);
    json_put_bool(j, "children", !run->no_children);
    if (!run->command)
        json_put_bool(j, "since_start", run->since_start);
    if (!run->target_count)
        return;
    json_key(j, "attached_to");
    json_array(j);
    for (size_t i = 0; i < run->target_count; i++) {
        json_object(j);
        json_put_string(j, "name", run->targets[i].name);
        json_put_string(j, "what", run->targets[i].what);
        if (run->targets[i].pid)
            json_put_i64(j, "pid", run->targets[i].pid);
        if (run->targets[i].group)
            json_put_i64(j, "group", run->targets[i].group);
        json_object_end(j);
    }
    json_array_end(j);
}

void record_json_run_details(struct json_out *j, const struct run *run)
{
    json_put_seconds(j, "unix_seconds", run->start_real_ns);
    if (run->own_pid)
        json_put_i64(j, "toll_pid", run->own_pid);
    if (run->group)
        json_put_i64(j, "group", run->group);
    if (run->online_cpus)
        json_put_u64(j, "online_cpus", run->online_cpus);
    if (!run->gpus_untold && !run->gpus_unread)
        json_put_bool(j, "reads_gpus", run->gpus);
}

void record_json_left_out(struct json_out *j, const struct run *run,
                          const struct selection *selection)
{
    struct selection asked, left_out = {0};
    struct buf names = {0};
    if (!run->system || selection_parse(&asked, run->metrics, NULL) < 0)
        return;
    left_out.of[ENTITY_SYSTEM] = asked.of[ENTITY_SYSTEM] & ~selection->of[ENTITY_SYSTEM];
    selection_write(&names, &left_out);
    if (names.data && !buf_failed(&names))
        json_put_string(j, "left_out", names.data);
    buf_done(&names);
}

void record_json_entity(struct json_out *j, const struct entity *e)
{
    json_put_string(j, "name", entity_name(e));
    for (unsigned i = 0; i < ENTITY_LABELS && e->labels[i].key; i++)
        json_put_string(j, e->labels[i].key, e->labels[i].value);
}

static void record_json_add_value(struct json_out *j, const struct metric *m, union value v)
{
    if (metric_is_double(m))
        json_double(j, v.d, METRIC_DECIMALS);
    else if (m->unit == UNIT_seconds)
        json_seconds(j, v.u);
    else if (m->unit == UNIT_joules)
        json_double(j, metric_number(m, v), METRIC_DECIMALS);
    else
        json_u64(j, v.u);
}

void record_json_row(struct json_out *j, const struct row *row, uint64_t selected)
{
    FOR_EACH_BIT(i, selected)
    {
        enum metric_id id = row->first + i;
        json_key(j, metric_of(id)->facts.name);
        if (row_has(row, id))
            record_json_add_value(j, metric_of(id), row_value(row, id));
        else
            json_null(j);
    }
    if (row->at_least & selected) {
        json_key(j, "lower_bound");
        record_json_bounds(j, row, selected);
    }
}

void record_json_bounds(struct json_out *j, const struct row *row, uint64_t selected)
{
    json_object(j);
    FOR_EACH_BIT(i, row->at_least & selected)
    {
        enum metric_id id = row->first + i;
        json_key(j, metric_of(id)->facts.name);
        record_json_add_value(j, metric_of(id), row_value(row, id));
    }
    json_object_end(j);
}

const char *record_json_end_word(const struct toll_end *end)
{
    if (!end->ended && !end->unknown)
        return record_words_end[END_RUNNING];
    return record_words_end[end->unknown ? END_UNKNOWN : end->signaled ? END_SIGNALED : END_EXITED];
}

const char *record_json_departure(enum departure how)
{
    return record_words_left[how];
}

void record_json_end(struct json_out *j, const struct toll_end *end)
{
    json_object(j);
    json_put_string(j, "status", record_json_end_word(end));
    json_key(j, "code");
    if (end->ended && !end->signaled && !end->unknown)
        json_i64(j, end->status);
    else
        json_null(j);
    json_key(j, "signal");
    if (end->ended && end->signaled)
        json_i64(j, end->status);
    else
        json_null(j);
    json_put_bool(j, "core_dumped", end->core_dumped);
    json_put_bool(j, "oom_killed", end->oom_killed);
    json_put_bool(j, "timed_out", end->timed_out);
    if (end->unknown && !end->ended)
        json_put_bool(j, "cut_short", true);
    json_object_end(j);
}

enum { RECORD_JSON_DECIMALS = SERIES_DECIMALS };

/* ---- Summary --------------------------------------------------------------------------------- */

static void add_counter(struct json_out *j, const struct series *s, const struct metric *m)
{
    json_key(j, "total");
    record_json_add_value(j, m, s->last);
    json_put_double(j, "rate_mean", series_mean(s, m), RECORD_JSON_DECIMALS);
    if (s->count) {
        json_put_double(j, "rate_max", s->max, RECORD_JSON_DECIMALS);
        if (s->max_at_ns != SERIES_TIME_UNKNOWN)
            json_put_seconds(j, "rate_max_at_seconds", s->max_at_ns);
    }
}

static void record_json_add_gauge(struct json_out *j, const struct series *s,
                                  const struct metric *m)
{
    json_key(j, "mean");
    if (s->observed_ns)
        json_double(j, series_mean(s, m), RECORD_JSON_DECIMALS);
    else
        json_null(j);
    if (!s->count)
        return;
    json_put_double(j, "min", s->min, RECORD_JSON_DECIMALS);
    json_put_double(j, "max", s->max, RECORD_JSON_DECIMALS);
    if (s->max_at_ns != SERIES_TIME_UNKNOWN)
        json_put_seconds(j, "max_at_seconds", s->max_at_ns);
    json_key(j, "last");
    if (s->observed_ns)
        record_json_add_value(j, m, s->last);
    else
        json_null(j);
    for (size_t i = 0; i < RECORD_QUANTILES; i++) {
        double value;
        if (series_quantile(s, m, record_words_quantile[i].share, &value))
            json_put_double(j, record_words_quantile[i].key, value, RECORD_JSON_DECIMALS);
    }
}

/* is_partial: a process that has some of it could not be read. */
static void record_json_add_series(struct json_out *j, const struct series *s,
                                   const struct metric *m, const struct provenance *provenance,
                                   bool is_partial)
{
    json_key(j, m->facts.name);
    json_object(j);
    bool unlimited = s->is_unlimited && !s->observed_ns;
    bool known = !unlimited &&
                 (provenance ? provenance->quality != QUALITY_UNKNOWN : s->observed_ns > 0);
    if (known && m->kind == METRIC_COUNTER)
        add_counter(j, s, m);
    else if (known)
        record_json_add_gauge(j, s, m);
    if (provenance) {
        json_put_string(j, "quality", quality_word(provenance->quality));
        json_put_string(j, "from", provenance->source);
    }
    if (is_partial)
        json_put_bool(j, "partial", true);
    if (unlimited)
        json_put_bool(j, "unlimited", true);
    json_object_end(j);
}

static void record_json_add_parts(struct json_out *j, const struct target_summary *t,
                                  const struct selection *selection)
{
    for (unsigned part = 0; part < PARTS; part++) {
        if (part != PART_COMBINED && !t->has_parts)
            continue;
        json_key(j, part_name(part));
        json_object(j);
        FOR_EACH_BIT(id, selection->parts[part])
        record_json_add_series(j, &t->series[part][id], metric_of(id), &t->provenance[part][id],
                               t->partial[part] >> id & 1);
        json_object_end(j);
    }
}

static void record_json_add_targets(struct json_out *j, const struct summary *s,
                                    const struct selection *selection)
{
    json_key(j, "targets");
    json_array(j);
    for (size_t i = 0; i < s->target_count; i++) {
        json_object(j);
        json_put_string(j, "name", s->run->targets[i].name);
        json_key(j, "end");
        record_json_end(j, &s->targets[i].end);
        record_json_limits(j, &s->targets[i].limits);
        record_json_add_parts(j, &s->targets[i], selection);
        json_object_end(j);
    }
    json_array_end(j);
}

static void record_json_add_instance(struct json_out *j, const struct instance_summary *t,
                                     uint64_t selected)
{
    const struct entity *e = &t->instance->entity;
    json_object(j);
    if (e->kind != ENTITY_SYSTEM)
        record_json_entity(j, e);
    FOR_EACH_BIT(i, selected)
    {
        const struct metric *m = metric_of(metric_first(e->kind) + i);
        struct provenance v = {summary_instance_quality(&t->series[i], m), "kernel"};
        if (v.quality == QUALITY_UNKNOWN)
            v.source = "";
        record_json_add_series(j, &t->series[i], m, &v, false);
    }
    json_object_end(j);
}

static void record_json_add_instances(struct json_out *j, const struct summary *s,
                                      enum entity_kind kind, uint64_t selected)
{
    bool any = false, alone = kind == ENTITY_SYSTEM;
    for (size_t i = 0; i < s->instance_count && selected; i++) {
        if (s->instances[i].instance->entity.kind != kind)
            continue;
        if (!any) {
            json_key(j, entity_kind_plural(kind));
            if (!alone)
                json_array(j);
        }
        any = true;
        record_json_add_instance(j, &s->instances[i], selected);
    }
    if (any && !alone)
        json_array_end(j);
}

static void record_json_add_survivors(struct json_out *j, const struct summary *s)
{
    json_put_u64(j, "still_running_count", s->survivor_count);
    json_key(j, "still_running");
    json_array(j);
    for (size_t i = 0; i < s->survivor_count && i < SUMMARY_STILL_RUNNING; i++) {
        json_object(j);
        json_put_i64(j, "pid", s->survivors[i].pid);
        json_put_string(j, "name", s->survivors[i].name);
        json_put_seconds(j, metric_of(process_cpu_seconds)->facts.name, s->survivors[i].cpu_ns);
        json_key(j, metric_of(process_memory_rss_bytes)->facts.name);
        if (s->survivors[i].has_rss)
            json_u64(j, s->survivors[i].rss_bytes);
        else
            json_null(j);
        json_object_end(j);
    }
    json_array_end(j);
}

void record_json_summary(struct json_out *j, const struct summary *s,
                         const struct selection *selection)
{
    record_json_run(j, s->run);
    json_put_seconds(j, "wall_seconds", s->elapsed_ns);
    json_key(j, "end");
    record_json_end(j, &s->whole.end);
    if (s->has_target) {
        json_key(j, "target");
        json_object(j);
        record_json_add_parts(j, &s->whole, selection);
        json_object_end(j);
    }
    if (s->target_count)
        record_json_add_targets(j, s, selection);
    if (s->has_target && !s->target_count)
        record_json_limits(j, &s->whole.limits);
    for (unsigned kind = 0; kind < ENTITY_KINDS; kind++)
        record_json_add_instances(j, s, kind, selection->of[kind]);
    record_json_energy(j, s);
    json_key(j, "self");
    json_object(j);
    FOR_EACH_BIT(i, selection->of[ENTITY_SELF])
    record_json_add_series(j, &s->self[i], metric_of(metric_first(ENTITY_SELF) + i), NULL, false);
    json_object_end(j);
    if (mark_totals_any(&s->marks))
        record_json_marks(j, &s->marks, selection);
    record_json_add_survivors(j, s);
    record_json_outputs(j, s);
    json_key(j, "notes");
    json_array(j);
    for (size_t i = 0; i < s->note_count && i < SUMMARY_NOTES; i++)
        json_string(j, s->notes[i]);
    json_array_end(j);
    if (s->note_count > SUMMARY_NOTES)
        json_put_u64(j, "notes_left_out", s->note_count - SUMMARY_NOTES);
}

/* ==== Record outputs ========================================================================== */

void record_json_outputs(struct json_out *j, const struct summary *s)
{
    if (!s->output_count)
        return;
    json_key(j, "outputs");
    json_array(j);
    for (size_t i = 0; i < s->output_count; i++) {
        const struct output_summary *o = &s->outputs[i];
        json_object(j);
        json_put_string(j, "name", o->name);
        json_put_string(j, "format", o->format);
        json_put_string(j, "way", record_words_way[o->way]);
        json_put_u64(j, "samples", o->samples);
        json_put_u64(j, "delivered", o->delivered);
        json_put_u64(j, "kept", o->kept);
        json_put_u64(j, "dropped", o->dropped);
        json_put_u64(j, "retries", o->retries);
        json_key(j, "bytes");
        if (o->has_bytes)
            json_u64(j, o->bytes);
        else
            json_null(j);
        if (o->way == OUTPUT_SCRAPED)
            json_put_u64(j, "scrapes", o->scrapes);
        json_put_bool(j, "complete", o->is_whole);
        json_key(j, "failure");
        if (*o->why)
            json_string(j, o->why);
        else
            json_null(j);
        json_object_end(j);
    }
    json_array_end(j);
}

/* ==== Record marks ============================================================================ */

/* What the job said of itself, as JSON: lines of the record, and what it came to. */

enum { RECORD_MARKS_DECIMALS = SERIES_DECIMALS };

/* "figures" of a phase, or of all of a name. */
struct source {
    const struct phase *phase;
    const struct phase_total *total;
};

static struct phase_figure record_marks_figure_of(const struct source *s, enum metric_id id)
{
    if (s->total)
        return phase_total_figure(s->total, id);
    return phase_figures_of(phase_figures(s->phase), id, s->phase->begin_ns, s->phase->end_ns);
}

static void record_marks_add_figure(struct json_out *j, const struct metric *m,
                                    const struct phase_figure *f)
{
    json_key(j, m->facts.name);
    json_object(j);
    if (f->quality != QUALITY_UNKNOWN && m->kind == METRIC_COUNTER) {
        json_put_double(j, "total", f->total, RECORD_MARKS_DECIMALS);
    } else if (f->quality != QUALITY_UNKNOWN) {
        json_put_double(j, "mean", f->mean, RECORD_MARKS_DECIMALS);
        if (f->max >= 0)
            json_put_double(j, "max", f->max, RECORD_MARKS_DECIMALS);
    }
    json_put_string(j, "quality", quality_word(f->quality));
    json_object_end(j);
}

static void record_marks_add_figures(struct json_out *j, const struct source *s,
                                     const struct selection *selection)
{
    json_object(j);
    FOR_EACH_BIT(id, selection->parts[PART_COMBINED])
    {
        const struct metric *m = metric_of(id);
        struct phase_figure f = record_marks_figure_of(s, id);
        if (phase_figures_has(m))
            record_marks_add_figure(j, m, &f);
    }
    json_object_end(j);
}

void record_json_phase_figures(struct json_out *j, const struct phase *p,
                               const struct selection *selection)
{
    record_marks_add_figures(j, &(struct source){.phase = p}, selection);
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

static void record_marks_add_phase(struct json_out *j, const struct told_mark *m,
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
        record_marks_add_phase(j, m, selection);
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
    json_put_u64(j, "measured_count", p->instance);
    json_put_bool(j, "of_several_processes", p->of_several);
    json_put_string(j, "of", p->of_target ? "target" : "process");
    if (p->widened)
        json_put_bool(j, "widened", true);
    json_put_seconds(j, "total_seconds", p->total_ns);
    json_put_seconds(j, "min_seconds", p->min_ns);
    json_put_seconds(j, "mean_seconds", p->total_ns / p->count);
    json_put_seconds(j, "max_seconds", p->max_ns);
    json_key(j, "figures");
    record_marks_add_figures(j, &source, selection);
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

/* ==== Record limits =========================================================================== */

/* What a target may use, as JSON. */

static void add_limit(struct json_out *j, enum limit_kind kind, const struct limit *l)
{
    json_key(j, record_words_limit[kind]);
    json_object(j);
    json_key(j, "value");
    if (l->unlimited)
        json_null(j);
    else if (kind == LIMIT_CPUS)
        json_double(j, l->cores, 6);
    else
        json_u64(j, l->value);
    json_put_bool(j, "unlimited", l->unlimited);
    json_put_string(j, "by", l->by ? l->by : "");
    if (l->cgroup)
        json_put_string(j, "cgroup", l->cgroup);
    if (l->has_used) {
        json_put_double(j, "used", l->used, 6);
        json_put_bool(j, "used_at_least", l->used_is_least);
        json_put_string(j, "used_by", l->whose);
    }
    if (l->reached)
        json_put_string(j, "reached", l->reached);
    if (l->reached_times)
        json_put_u64(j, "reached_count", l->reached_times);
    json_object_end(j);
}

void record_json_limits(struct json_out *j, const struct limits *limits)
{
    json_key(j, "limits");
    json_object(j);
    for (unsigned kind = 0; kind < LIMITS; kind++)
        if (limits->of[kind].known)
            add_limit(j, kind, &limits->of[kind]);
    json_object_end(j);
}

/* ==== Record energy =========================================================================== */

enum { RECORD_ENERGY_DECIMALS = 6 };

static void record_energy_add(struct json_out *j, const char *key, bool is_known, double joules)
{
    json_key(j, key);
    if (is_known)
        json_double(j, joules, RECORD_ENERGY_DECIMALS);
    else
        json_null(j);
}

void record_json_energy(struct json_out *j, const struct summary *s)
{
    struct energy e = energy_of(s);
    if (!e.has_gpus)
        return;
    json_key(j, "run_joules");
    json_object(j);
    record_energy_add(j, "gpu", e.knows_gpus, e.gpus_joules);
    record_energy_add(j, "processor", e.knows_processors, e.processors_joules);
    record_energy_add(j, "total", e.knows_gpus && e.knows_processors,
                      e.gpus_joules + e.processors_joules);
    json_put_string(j, "quality", quality_word(e.knows_gpus ? e.gpus_quality : QUALITY_UNKNOWN));
    json_object_end(j);
}
