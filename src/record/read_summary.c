/* SPDX-License-Identifier: MIT
 * The last line of a run: what it came to. */
#include "record/reading.h"

#include "sink/record_words.h"

/* ---- Limits ---------------------------------------------------------------------------------- */

static void read_limit(struct reading *r, enum limit_kind kind, struct limit *l)
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

static void read_limits(struct reading *r, struct limits *ret)
{
    struct json_in *j = &r->json;
    struct scan key;
    json_in_object(j);
    while (json_in_key(j, &key)) {
        unsigned kind = 0;
        while (kind < LIMITS && !json_in_is(&key, record_words_limit[kind]))
            kind++;
        if (kind < LIMITS)
            read_limit(r, kind, &ret->of[kind]);
        else
            reading_skip(r, &key);
    }
}

/* ---- Targets --------------------------------------------------------------------------------- */

static void read_part(struct reading *r, struct target_summary *t, unsigned part)
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
        read_series(r, &t->series[part][id], metric_of((enum metric_id)id), &t->verdicts[part][id],
                    &partial);
        t->partial[part] |= partial ? BIT(id) : 0;
    }
}

static bool read_part_member(struct reading *r, const struct scan *key, struct target_summary *t)
{
    for (unsigned part = 0; part < PARTS; part++)
        if (json_in_is(key, part_name(part))) {
            read_part(r, t, part);
            return true;
        }
    return false;
}

static void read_whole(struct reading *r)
{
    struct json_in *j = &r->json;
    struct scan key;
    r->summary.has_target = true;
    json_in_object(j);
    while (json_in_key(j, &key))
        if (!read_part_member(r, &key, &r->summary.whole))
            reading_skip(r, &key);
}

static void read_target(struct reading *r, struct target_summary *t)
{
    struct json_in *j = &r->json;
    struct scan key;
    json_in_object(j);
    while (json_in_key(j, &key))
        if (json_in_is(&key, "end"))
            read_end(r, &t->end);
        else if (json_in_is(&key, "limits"))
            read_limits(r, &t->limits);
        else if (json_in_is(&key, "name"))
            json_in_skip(j); /* they come in the order of the run line */
        else if (!read_part_member(r, &key, t))
            reading_skip(r, &key);
}

static void read_targets(struct reading *r)
{
    struct json_in *j = &r->json;
    size_t i = 0;
    json_in_array(j);
    for (; json_in_item(j); i++)
        if (i < r->summary.target_count)
            read_target(r, &r->summary.targets[i]);
        else
            json_in_fail(j);
    if (i != r->summary.target_count)
        reading_wrong(r, "other targets than the run has");
}

/* ---- The machine ----------------------------------------------------------------------------- */

static void add_thing(struct reading *r, const struct entity *e, struct series *series)
{
    struct summary *s = &r->summary;
    struct measured *m = read_things_find(r, e);
    struct thing_summary *longer = realloc(s->things, (s->thing_count + 1) * sizeof *longer);
    s->things = longer ? longer : s->things;
    r->no_memory |= !longer;
    if (!longer || !m) {
        free(series);
        return;
    }
    s->things[s->thing_count++] = (struct thing_summary){.thing = m, .series = series};
}

/* The quality follows from what is known, and from how much of the run was covered. */
static void read_thing_series(struct reading *r, struct series *s, const struct metric *m)
{
    struct verdict v = {.quality = summary_thing_quality(s, m)};
    read_series(r, s, m, &v, NULL);
    if (v.quality == QUALITY_LOWER_BOUND)
        s->coverage = COVERED_SO_FAR; /* also of nothing: it was written as a lower bound */
    else if (v.quality == QUALITY_SAMPLED && m->kind == METRIC_COUNTER)
        s->coverage = COVERED_ROUGHLY;
}

static void read_thing(struct reading *r, enum entity_kind kind)
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
            read_things_word(r, &key, &e);
            continue;
        }
        int i = read_row_find(kind, &key, &next);
        if (i >= 0)
            read_thing_series(r, &series[i], metric_of(metric_first(kind) + (unsigned)i));
        else
            reading_skip(r, &key);
    }
    if (j->failed)
        free(series);
    else
        add_thing(r, &e, series);
}

static void read_things(struct reading *r, enum entity_kind kind)
{
    struct json_in *j = &r->json;
    if (kind == ENTITY_SYSTEM) {
        read_thing(r, kind);
        return;
    }
    json_in_array(j);
    while (json_in_item(j))
        read_thing(r, kind);
}

static void read_joules(struct json_in *j, bool *ret_known, double *ret)
{
    *ret_known = !json_in_null(j);
    if (*ret_known)
        read_double(j, ret);
}

static void read_energy(struct reading *r)
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

static void read_member(struct reading *r, const struct scan *key)
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
        read_whole(r);
    else if (json_in_is(key, "targets"))
        read_targets(r);
    else if (json_in_is(key, "limits"))
        read_limits(r, &s->whole.limits);
    else if (json_in_is(key, "run_joules"))
        read_energy(r);
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
    } else if ((kind = read_things_kind(key)) >= 0)
        read_things(r, (enum entity_kind)kind);
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
    read_things_begin(r);
    json_in_object(j);
    while (json_in_key(j, &key))
        read_member(r, &key);
    r->has_summary = json_in_end(j);
    return r->has_summary;
}
