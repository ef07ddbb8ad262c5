/* SPDX-License-Identifier: MIT */
#include "sink/record_json.h"

#include "sink/record_words.h"

#include <string.h>

static void add_labels(struct json_out *j, char **labels)
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
    add_labels(j, run->labels);
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

static void add_value(struct json_out *j, const struct metric *m, union value v)
{
    if (metric_is_double(m))
        json_double(j, v.d, 6);
    else if (m->unit == UNIT_seconds)
        json_seconds(j, v.u);
    else if (m->unit == UNIT_joules)
        json_double(j, metric_number(m, v), 6);
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
            add_value(j, metric_of(id), row_value(row, id));
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
        add_value(j, metric_of(id), row_value(row, id));
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

enum { DECIMALS = SERIES_DECIMALS };

/* ---- Summary --------------------------------------------------------------------------------- */

static void add_counter(struct json_out *j, const struct series *s, const struct metric *m)
{
    json_key(j, "total");
    add_value(j, m, s->last);
    json_put_double(j, "rate_mean", series_mean(s, m), DECIMALS);
    if (s->count) {
        json_put_double(j, "rate_max", s->max, DECIMALS);
        json_put_seconds(j, "rate_max_at_seconds", s->max_at_ns);
    }
}

static void add_gauge(struct json_out *j, const struct series *s, const struct metric *m)
{
    json_key(j, "mean");
    if (s->observed_ns)
        json_double(j, series_mean(s, m), DECIMALS);
    else
        json_null(j);
    if (!s->count)
        return;
    json_put_double(j, "min", s->min, DECIMALS);
    json_put_double(j, "max", s->max, DECIMALS);
    json_put_seconds(j, "max_at_seconds", s->max_at_ns);
    json_key(j, "last");
    if (s->observed_ns)
        add_value(j, m, s->last);
    else
        json_null(j);
    for (size_t i = 0; i < RECORD_QUANTILES; i++) {
        double value;
        if (series_quantile(s, m, record_words_quantile[i].share, &value))
            json_put_double(j, record_words_quantile[i].key, value, DECIMALS);
    }
}

/* is_partial: a process that has some of it could not be read. */
static void add_series(struct json_out *j, const struct series *s, const struct metric *m,
                       const struct verdict *verdict, bool is_partial)
{
    json_key(j, m->facts.name);
    json_object(j);
    bool unlimited = s->is_unlimited && !s->observed_ns;
    bool known = !unlimited && (verdict ? verdict->quality != QUALITY_UNKNOWN : s->observed_ns > 0);
    if (known && m->kind == METRIC_COUNTER)
        add_counter(j, s, m);
    else if (known)
        add_gauge(j, s, m);
    if (verdict) {
        json_put_string(j, "quality", quality_word(verdict->quality));
        json_put_string(j, "from", verdict->rung);
    }
    if (is_partial)
        json_put_bool(j, "partial", true);
    if (unlimited)
        json_put_bool(j, "unlimited", true);
    json_object_end(j);
}

static void add_parts(struct json_out *j, const struct target_summary *t,
                      const struct selection *selection)
{
    for (unsigned part = 0; part < PARTS; part++) {
        if (part != PART_COMBINED && !t->has_parts)
            continue;
        json_key(j, part_name(part));
        json_object(j);
        FOR_EACH_BIT(id, selection->parts[part])
        add_series(j, &t->series[part][id], metric_of(id), &t->verdicts[part][id],
                   t->partial[part] >> id & 1);
        json_object_end(j);
    }
}

static void add_targets(struct json_out *j, const struct summary *s,
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
        add_parts(j, &s->targets[i], selection);
        json_object_end(j);
    }
    json_array_end(j);
}

static void add_thing(struct json_out *j, const struct thing_summary *t, uint64_t selected)
{
    const struct entity *e = &t->thing->entity;
    json_object(j);
    if (e->kind != ENTITY_SYSTEM)
        record_json_entity(j, e);
    FOR_EACH_BIT(i, selected)
    {
        const struct metric *m = metric_of(metric_first(e->kind) + i);
        struct verdict v = {summary_thing_quality(&t->series[i], m), "kernel"};
        if (v.quality == QUALITY_UNKNOWN && t->series[i].is_unlimited)
            v.quality = QUALITY_SAMPLED; /* without a number: it is known that there is none */
        else if (v.quality == QUALITY_UNKNOWN)
            v.rung = "";
        add_series(j, &t->series[i], m, &v, false);
    }
    json_object_end(j);
}

static void add_things(struct json_out *j, const struct summary *s, enum entity_kind kind,
                       uint64_t selected)
{
    bool any = false, alone = kind == ENTITY_SYSTEM;
    for (size_t i = 0; i < s->thing_count && selected; i++) {
        if (s->things[i].thing->entity.kind != kind)
            continue;
        if (!any) {
            json_key(j, entity_kind_plural(kind));
            if (!alone)
                json_array(j);
        }
        any = true;
        add_thing(j, &s->things[i], selected);
    }
    if (any && !alone)
        json_array_end(j);
}

static void add_survivors(struct json_out *j, const struct summary *s)
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
        add_parts(j, &s->whole, selection);
        json_object_end(j);
    }
    if (s->target_count)
        add_targets(j, s, selection);
    if (s->has_target && !s->target_count)
        record_json_limits(j, &s->whole.limits);
    for (unsigned kind = 0; kind < ENTITY_KINDS; kind++)
        add_things(j, s, kind, selection->of[kind]);
    record_json_energy(j, s);
    json_key(j, "self");
    json_object(j);
    FOR_EACH_BIT(i, selection->of[ENTITY_SELF])
    add_series(j, &s->self[i], metric_of(metric_first(ENTITY_SELF) + i), NULL, false);
    json_object_end(j);
    if (mark_totals_any(&s->marks))
        record_json_marks(j, &s->marks, selection);
    add_survivors(j, s);
    record_json_outputs(j, s);
    json_key(j, "notes");
    json_array(j);
    for (size_t i = 0; i < s->note_count && i < SUMMARY_NOTES; i++)
        json_string(j, s->notes[i]);
    json_array_end(j);
    if (s->note_count > SUMMARY_NOTES)
        json_put_u64(j, "notes_left_out", s->note_count - SUMMARY_NOTES);
}
