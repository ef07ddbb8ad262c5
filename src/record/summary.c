/* SPDX-License-Identifier: MIT
 * The last line of a run: its summary. */
#include "record/keys.h"
#include "record/reading.h"

#include <math.h>

/* ==== Figures ================================================================================= */

struct record_figure record_figure_of(const struct series *s, const struct metric *m,
                                      const struct provenance *provenance, bool is_partial)
{
    bool unlimited = s->is_unlimited && !s->observed_ns;
    bool known = !unlimited &&
                 (provenance ? provenance->quality != QUALITY_UNKNOWN : s->observed_ns > 0);
    bool counts = m->kind == METRIC_COUNTER;
    struct record_figure f = {
        .value = s->last,
        .is_observed = counts || (s->observed_ns && !s->last_is_old),
        .mean = known && (counts || s->observed_ns) ? series_mean(s, m) : NAN,
        .min = s->min,
        .max = s->max,
        .max_at_ns = s->max_at_ns,
        .at_peak = s->at_peak,
        .has_at_peak = known && !counts && s->count && s->at_peak_ns,
        .has_total = known && counts,
        .has_rate_mean = known && counts,
        .has_rate_max = known && counts && s->count,
        .has_rate_max_at = known && counts && s->count && s->max_at_ns != SERIES_TIME_UNKNOWN,
        .has_gauge = known && !counts,
        .has_extremes = known && !counts && s->count,
        .has_max_at = known && !counts && s->count && s->max_at_ns != SERIES_TIME_UNKNOWN,
        .has_quality = provenance != NULL,
        .quality = provenance ? provenance->quality : QUALITY_UNKNOWN,
        .from = provenance ? provenance->source : NULL,
        .partial = is_partial,
        .unlimited = unlimited,
    };
    for (unsigned i = 0; i < RECORD_QUANTILES; i++)
        f.has_quantile[i] = f.has_extremes &&
                            series_quantile(s, m, record_quantiles[i], &f.quantiles[i]);
    return f;
}

struct provenance record_instance_provenance(const struct series *s, const struct metric *m)
{
    struct provenance v = {summary_instance_quality(s, m), "kernel"};
    if (v.quality == QUALITY_UNKNOWN)
        v.source = "";
    return v;
}

static void write_value(struct json_out *j, const void *object, const struct record_context *c)
{
    const struct record_figure *f = object;
    if (f->is_observed)
        record_json_value(j, c->metric, f->value);
    else
        json_null(j);
}

static bool read_value(struct reading *r, void *object)
{
    struct record_figure *f = object;
    return read_row_value(&r->json, r->metric, &f->value, &f->is_observed);
}

const struct record_special record_special_value = {write_value, read_value, NULL};
const struct record_special record_special_last = {write_value, read_value, NULL};

static void write_series(struct json_out *j, const struct series *s, const struct metric *m,
                         const struct provenance *provenance, bool is_partial)
{
    struct record_figure f = record_figure_of(s, m, provenance, is_partial);
    json_key(j, m->facts.name);
    record_write_object(j, RECORD_OBJECT_figure, &f, &(struct record_context){.metric = m});
}

/* Makes a series that has what was read: its mean is as if of one second, and its distribution has
 * the quantiles. */
static struct record_figure read_series(struct reading *r, struct series *s, const struct metric *m)
{
    enum { ALL = 1000 };
    struct record_figure f = {.from = ""};
    uint64_t below = 0;
    r->metric = m;
    record_read_object(r, RECORD_OBJECT_figure, &f);
    *s = (struct series){
        .histogram = s->histogram,
        .last = f.value,
        .min = f.min,
        .max = f.max,
        .max_at_ns = f.has_max_at || f.has_rate_max_at ? f.max_at_ns : SERIES_TIME_UNKNOWN,
        .count = f.has_extremes || f.has_rate_max,
        .at_peak = f.at_peak,
        .at_peak_ns = f.has_at_peak ? 1 : 0,
        .last_is_old = f.has_extremes && !f.is_observed,
        .is_unlimited = f.unlimited,
    };
    if (f.has_rate_mean || f.has_gauge) {
        s->observed_ns = NS_PER_SECOND;
        s->weighted = f.mean;
    }
    if (!f.has_quantile[0] || !f.has_quantile[1] || !f.has_quantile[2])
        return f;
    /* As much of the weight lies below a quantile as its share. */
    for (unsigned i = 0; i < RECORD_QUANTILES; i++) {
        bool last = i + 1 == RECORD_QUANTILES;
        uint64_t upto = last ? ALL : (uint64_t)(record_quantiles[i] * ALL + 0.5);
        series_weigh(s, m, f.quantiles[i], upto - below);
        below = upto;
    }
    return f;
}

/* ==== Limits ================================================================================== */

static void write_limit_value(struct json_out *j, const void *object,
                              const struct record_context *c)
{
    const struct limit *l = object;
    if (l->unlimited)
        json_null(j);
    else if (c->limit == LIMIT_CPUS)
        json_double(j, l->cores, 6);
    else
        json_u64(j, l->value);
}

static bool read_limit_value(struct reading *r, void *object)
{
    struct limit *l = object;
    return r->limit == LIMIT_CPUS ? read_double(&r->json, &l->cores)
                                  : read_u64(&r->json, &l->value);
}

const struct record_special record_special_limit_value = {write_limit_value, read_limit_value,
                                                          NULL};

static void write_limits(struct json_out *j, const void *member, const struct record_context *c)
{
    const struct limits *limits = member;
    json_object(j);
    for (unsigned kind = 0; kind < LIMITS; kind++) {
        if (!limits->of[kind].known)
            continue;
        json_key(j, record_words_limit[kind]);
        record_write_object(j, RECORD_OBJECT_limit, &limits->of[kind],
                            &(struct record_context){.limit = kind});
    }
    json_object_end(j);
}

static bool read_limits(struct reading *r, void *member)
{
    struct limits *limits = member;
    struct json_in *j = &r->json;
    struct scan key;
    json_in_object(j);
    while (json_in_key(j, &key)) {
        unsigned kind = 0;
        while (kind < LIMITS && !json_in_is(&key, record_words_limit[kind]))
            kind++;
        if (kind == LIMITS) {
            reading_skip(r, &key);
            continue;
        }
        r->limit = kind;
        limits->of[kind] = (struct limit){.known = true, .by = ""};
        record_read_object(r, RECORD_OBJECT_limit, &limits->of[kind]);
    }
    return !j->failed;
}

const struct record_special record_special_limits = {write_limits, read_limits, NULL};

/* ==== Targets ================================================================================= */

static void write_target_parts(struct json_out *j, const struct target_summary *t,
                               const struct selection *selection)
{
    for (unsigned part = 0; part < PARTS; part++) {
        if (part != PART_COMBINED && !t->has_parts)
            continue;
        json_put_object(j, part_name(part));
        FOR_EACH_BIT(id, selection->parts[part])
        write_series(j, &t->series[part][id], metric_of(id), &t->provenance[part][id],
                     t->partial[part] >> id & 1);
        json_object_end(j);
    }
}

/* For record_read: a part of a target; its name follows from the place. */
static bool read_target_part(struct reading *r, const struct scan *key, void *target)
{
    struct target_summary *t = target;
    struct json_in *j = &r->json;
    struct scan metric;
    unsigned next = 0;
    int part = read_part(key);
    if (part < 0)
        return false;
    t->has_parts |= part != PART_COMBINED;
    json_in_object(j);
    while (json_in_key(j, &metric)) {
        int id = read_row_find(ENTITY_TARGET, &metric, &next);
        if (id < 0) {
            reading_skip(r, &metric);
            continue;
        }
        struct record_figure f = read_series(r, &t->series[part][id], metric_of((unsigned)id));
        r->selection.parts[part] |= BIT(id);
        t->provenance[part][id] = (struct provenance){f.quality, f.from};
        t->partial[part] |= f.partial ? BIT(id) : 0;
    }
    return true;
}

static void write_whole_parts(struct json_out *j, const void *object,
                              const struct record_context *c)
{
    json_object(j);
    write_target_parts(j, &((const struct summary *)object)->whole, c->selection);
    json_object_end(j);
}

static bool read_whole_parts(struct reading *r, void *object)
{
    struct summary *s = object;
    struct scan key;
    s->has_target = true;
    json_in_object(&r->json);
    while (json_in_key(&r->json, &key))
        if (!read_target_part(r, &key, &s->whole))
            reading_skip(r, &key);
    return !r->json.failed;
}

const struct record_special record_special_whole_parts = {write_whole_parts, read_whole_parts,
                                                          NULL};

static void write_target_results(struct json_out *j, const void *object,
                                 const struct record_context *c)
{
    const struct summary *s = object;
    json_array(j);
    for (size_t i = 0; i < s->target_count; i++) {
        json_object(j);
        json_put_string(j, "name", s->run->targets[i].name);
        record_write(j, RECORD_OBJECT_target_result, &s->targets[i], c);
        record_write(j, RECORD_OBJECT_limited, &s->targets[i], c);
        write_target_parts(j, &s->targets[i], c->selection);
        json_object_end(j);
    }
    json_array_end(j);
}

/* For record_read: a part of a target, or its name, which follows from its place. */
static bool read_target_result_other(struct reading *r, const struct scan *key, void *target)
{
    bool is_name = json_in_is(key, "name");
    if (is_name)
        json_in_skip(&r->json);
    return is_name || read_target_part(r, key, target);
}

static bool read_target_results(struct reading *r, void *object)
{
    struct summary *s = object;
    size_t i = 0;
    json_in_array(&r->json);
    for (; json_in_item(&r->json); i++) {
        if (i >= s->target_count)
            return reading_wrong(r, "other targets than in the run");
        struct target_summary *t = &s->targets[i];
        struct record_fields fields[] = {{RECORD_OBJECT_target_result, t},
                                         {RECORD_OBJECT_limited, t}};
        if (!record_read(r, fields, ARRAY_LEN(fields), read_target_result_other, t))
            return false;
    }
    return i == s->target_count || reading_wrong(r, "other targets than in the run");
}

const struct record_special record_special_target_results = {write_target_results,
                                                             read_target_results, NULL};

/* ==== The machine ============================================================================= */

static void write_instances(struct json_out *j, const struct summary *s, enum entity_kind kind,
                            uint64_t selected)
{
    bool any = false, alone = kind == ENTITY_SYSTEM;
    for (size_t n = 0; n < s->instance_count && selected; n++) {
        const struct instance_summary *t = &s->instances[n];
        if (t->instance->entity.kind != kind)
            continue;
        if (!any) {
            json_key(j, entity_kind_plural(kind));
            if (!alone)
                json_array(j);
        }
        any = true;
        json_object(j);
        if (!alone)
            record_json_entity(j, &t->instance->entity);
        FOR_EACH_BIT(i, selected)
        {
            const struct metric *m = metric_of(metric_first(kind) + i);
            struct provenance v = record_instance_provenance(&t->series[i], m);
            write_series(j, &t->series[i], m, &v, false);
        }
        json_object_end(j);
    }
    if (any && !alone)
        json_array_end(j);
}

static void read_instance(struct reading *r, enum entity_kind kind)
{
    struct json_in *j = &r->json;
    struct summary *s = &r->summary;
    struct entity e = {.kind = kind};
    CLEANUP_FREE struct series *series = calloc(metric_count(kind), sizeof *series);
    struct scan key;
    unsigned next = 0;
    if (!series || !ARRAY_GROW(s->instances, s->instance_count)) {
        r->no_memory = true;
        json_in_fail(j);
        return;
    }
    if (kind == ENTITY_SYSTEM)
        for (unsigned i = 0; i < SYSTEM_METRICS; i++)
            series[i].histogram = summary_system_histogram(s, i);
    json_in_object(j);
    while (json_in_key(j, &key)) {
        if (json_in_next(j) == JSON_STRING && kind != ENTITY_SYSTEM) {
            read_instances_word(r, &key, &e);
            continue;
        }
        int i = read_row_find(kind, &key, &next);
        if (i < 0) {
            reading_skip(r, &key);
            continue;
        }
        /* The quality follows from what is known, and from how much of the run was covered. */
        const struct metric *m = metric_of(metric_first(kind) + (unsigned)i);
        struct record_figure f = read_series(r, &series[i], m);
        if (f.quality == QUALITY_LOWER_BOUND)
            series[i].coverage = COVERED_SO_FAR; /* even without a value */
        else if (f.quality == QUALITY_SAMPLED && m->kind == METRIC_COUNTER)
            series[i].coverage = COVERED_ROUGHLY;
    }
    struct instance *found = j->failed ? NULL : read_instances_find(r, &e);
    if (found) {
        s->instances[s->instance_count++] = (struct instance_summary){found, series};
        series = NULL;
    }
}

static bool energy_is_set(const void *object, const struct record_context *c)
{
    return energy_of(object).has_gpus;
}

static void write_energy(struct json_out *j, const void *object, const struct record_context *c)
{
    struct energy e = energy_of(object);
    if (!e.knows_gpus)
        e.gpus_quality = QUALITY_UNKNOWN;
    record_write_object(j, RECORD_OBJECT_energy, &e, c);
}

static bool read_energy(struct reading *r, void *object)
{
    struct energy *e = &r->energy;
    *e = (struct energy){.has_gpus = true};
    record_read_object(r, RECORD_OBJECT_energy, e);
    if (!e->gpus_quality && e->knows_gpus) /* records of older versions do not have it */
        e->gpus_quality = QUALITY_SAMPLED;
    ((struct summary *)object)->energy = e;
    return !r->json.failed;
}

const struct record_special record_special_energy = {write_energy, read_energy, energy_is_set};

static bool job_energy_is_set(const void *object, const struct record_context *c)
{
    return ((const struct summary *)object)->job_energy.is_asked;
}

static void write_job_energy(struct json_out *j, const void *object, const struct record_context *c)
{
    record_write_object(j, RECORD_OBJECT_job_energy, &((const struct summary *)object)->job_energy,
                        c);
}

static bool read_job_energy(struct reading *r, void *object)
{
    struct job_energy *e = &((struct summary *)object)->job_energy;
    *e = (struct job_energy){.is_asked = true};
    record_read_object(r, RECORD_OBJECT_job_energy, e);
    return !r->json.failed;
}

const struct record_special record_special_job_energy = {write_job_energy, read_job_energy,
                                                         job_energy_is_set};

static void write_joules(struct json_out *j, const void *object, const struct record_context *c)
{
    const struct energy *e = object;
    if (e->knows_gpus && e->knows_processors)
        json_double(j, e->gpus_joules + e->processors_joules, 6);
    else
        json_null(j);
}

const struct record_special record_special_joules = {write_joules, NULL, NULL};

static void write_own_results(struct json_out *j, const void *object,
                              const struct record_context *c)
{
    const struct summary *s = object;
    json_object(j);
    FOR_EACH_BIT(i, c->selection->of[ENTITY_SELF])
    write_series(j, &s->self[i], metric_of(metric_first(ENTITY_SELF) + i), NULL, false);
    json_object_end(j);
}

static bool read_own_results(struct reading *r, void *object)
{
    struct summary *s = object;
    struct scan key;
    unsigned next = 0;
    json_in_object(&r->json);
    while (json_in_key(&r->json, &key)) {
        int i = read_row_find(ENTITY_SELF, &key, &next);
        if (i < 0) {
            reading_skip(r, &key);
            continue;
        }
        r->selection.of[ENTITY_SELF] |= BIT(i);
        read_series(r, &s->self[i], metric_of(metric_first(ENTITY_SELF) + (unsigned)i));
    }
    return !r->json.failed;
}

const struct record_special record_special_own_results = {write_own_results, read_own_results,
                                                          NULL};

/* ==== Processes, outputs and notes ============================================================ */

static void write_survivors(struct json_out *j, const void *object, const struct record_context *c)
{
    const struct summary *s = object;
    json_array(j);
    for (size_t i = 0; i < s->survivor_count && i < SUMMARY_STILL_RUNNING; i++) {
        const struct survivor *left = &s->survivors[i];
        json_object(j);
        record_write(j, RECORD_OBJECT_survivor, left, c);
        json_put_seconds(j, metric_of(process_cpu_seconds)->facts.name, left->cpu_ns);
        json_key(j, metric_of(process_memory_rss_bytes)->facts.name);
        if (left->has_rss)
            json_u64(j, left->rss_bytes);
        else
            json_null(j);
        json_object_end(j);
    }
    json_array_end(j);
}

/* For record_read: the figures of a process that was left. */
static bool read_survivor_figure(struct reading *r, const struct scan *key, void *survivor)
{
    struct survivor *left = survivor;
    union value value = {0};
    bool is_known = false;
    if (json_in_is(key, metric_of(process_cpu_seconds)->facts.name)) {
        read_row_value(&r->json, metric_of(process_cpu_seconds), &value, &is_known);
        left->cpu_ns = value.u;
    } else if (json_in_is(key, metric_of(process_memory_rss_bytes)->facts.name)) {
        read_row_value(&r->json, metric_of(process_memory_rss_bytes), &value, &left->has_rss);
        left->rss_bytes = value.u;
    } else {
        return false;
    }
    return true;
}

static bool read_survivors(struct reading *r, void *object)
{
    struct summary *s = object;
    size_t count = 0;
    json_in_array(&r->json);
    while (json_in_item(&r->json)) {
        struct survivor *left = &s->survivors[count];
        if (count == SUMMARY_STILL_RUNNING) {
            json_in_skip(&r->json);
            continue;
        }
        count++;
        *left = (struct survivor){0};
        record_read(r, &(struct record_fields){RECORD_OBJECT_survivor, left}, 1,
                    read_survivor_figure, left);
    }
    s->survivor_count = max_u64(s->survivor_count, count);
    return !r->json.failed;
}

const struct record_special record_special_survivors = {write_survivors, read_survivors, NULL};

/* ---- The largest processes ------------------------------------------------------------------- */

enum { PROGRAMS_WRITTEN = 32 };

static bool largest_is_set(const void *object, const struct record_context *c)
{
    const struct summary *s = object;
    return s->largest && s->largest->count;
}

static struct largest *largest_to_read(struct reading *r, struct summary *s)
{
    if (!s->largest)
        s->largest = calloc(1, sizeof *s->largest);
    r->no_memory |= !s->largest;
    return s->largest;
}

static void write_seen_count(struct json_out *j, const void *object, const struct record_context *c)
{
    json_u64(j, ((const struct summary *)object)->largest->count);
}

static bool read_seen_count(struct reading *r, void *object)
{
    struct largest *l = largest_to_read(r, object);
    return l && read_u64(&r->json, &l->count);
}

const struct record_special record_special_seen_count = {write_seen_count, read_seen_count,
                                                         largest_is_set};

/* Each once: those with most memory, then those of the others with most CPU time. */
static void write_largest(struct json_out *j, const void *object, const struct record_context *c)
{
    const struct largest *l = ((const struct summary *)object)->largest;
    json_array(j);
    for (unsigned i = 0; i < l->by_memory_count; i++)
        record_write_object(j, RECORD_OBJECT_largest_process, &l->by_memory[i], c);
    for (unsigned i = 0; i < l->by_cpu_count; i++) {
        bool is_written = false;
        for (unsigned k = 0; k < l->by_memory_count && !is_written; k++)
            is_written = l->by_memory[k].pid == l->by_cpu[i].pid &&
                         l->by_memory[k].start == l->by_cpu[i].start;
        if (!is_written)
            record_write_object(j, RECORD_OBJECT_largest_process, &l->by_cpu[i], c);
    }
    json_array_end(j);
}

static bool read_largest(struct reading *r, void *object)
{
    struct largest *l = largest_to_read(r, object);
    json_in_array(&r->json);
    while (l && json_in_item(&r->json)) {
        struct largest_process p = {0};
        record_read_object(r, RECORD_OBJECT_largest_process, &p);
        largest_list(l, &p);
    }
    return l && !r->json.failed;
}

const struct record_special record_special_largest = {write_largest, read_largest, largest_is_set};

static void write_programs(struct json_out *j, const void *object, const struct record_context *c)
{
    const struct largest *l = ((const struct summary *)object)->largest;
    const struct largest_program *sorted[LARGEST_PROGRAMS];
    unsigned count = largest_programs_by_cpu(l, sorted);
    json_array(j);
    for (unsigned i = 0; i < count && i < PROGRAMS_WRITTEN; i++)
        record_write_object(j, RECORD_OBJECT_program, sorted[i], c);
    json_array_end(j);
}

static bool read_programs(struct reading *r, void *object)
{
    struct largest *l = largest_to_read(r, object);
    json_in_array(&r->json);
    while (l && json_in_item(&r->json)) {
        struct largest_program program = {0};
        record_read_object(r, RECORD_OBJECT_program, &program);
        if (l->program_count < LARGEST_PROGRAMS)
            l->programs[l->program_count++] = program;
    }
    return l && !r->json.failed;
}

const struct record_special record_special_programs = {write_programs, read_programs,
                                                       largest_is_set};

static bool scrapes_are_set(const void *object, const struct record_context *c)
{
    return ((const struct output_summary *)object)->way == OUTPUT_SCRAPED;
}

static void write_scrapes(struct json_out *j, const void *object, const struct record_context *c)
{
    json_u64(j, ((const struct output_summary *)object)->scrapes);
}

static bool read_scrapes(struct reading *r, void *object)
{
    return read_u64(&r->json, &((struct output_summary *)object)->scrapes);
}

const struct record_special record_special_scrapes = {write_scrapes, read_scrapes, scrapes_are_set};

static void write_outputs(struct json_out *j, const void *object, const struct record_context *c)
{
    const struct summary *s = object;
    json_array(j);
    for (size_t i = 0; i < s->output_count; i++)
        record_write_object(j, RECORD_OBJECT_output, &s->outputs[i], c);
    json_array_end(j);
}

static bool read_outputs(struct reading *r, void *object)
{
    struct summary *s = object;
    json_in_array(&r->json);
    while (json_in_item(&r->json)) {
        if (!ARRAY_GROW(s->outputs, s->output_count)) {
            r->no_memory = true;
            return false;
        }
        s->outputs[s->output_count] = (struct output_summary){.format = "", .way = OUTPUT_SENT};
        record_read_object(r, RECORD_OBJECT_output, &s->outputs[s->output_count++]);
    }
    return !r->json.failed;
}

const struct record_special record_special_outputs = {write_outputs, read_outputs, NULL};

static void write_notes(struct json_out *j, const void *object, const struct record_context *c)
{
    const struct summary *s = object;
    json_array(j);
    for (size_t i = 0; i < s->note_count && i < SUMMARY_NOTES; i++)
        json_string(j, s->notes[i]);
    json_array_end(j);
}

static bool read_notes(struct reading *r, void *object)
{
    struct scan text;
    json_in_array(&r->json);
    while (json_in_item(&r->json) && json_in_string(&r->json, &text))
        summary_note(object, reading_keep(r, text));
    return !r->json.failed;
}

const struct record_special record_special_notes = {write_notes, read_notes, NULL};

static bool notes_are_left_out(const void *object, const struct record_context *c)
{
    return ((const struct summary *)object)->note_count > SUMMARY_NOTES;
}

static void write_notes_left_out(struct json_out *j, const void *object,
                                 const struct record_context *c)
{
    json_u64(j, ((const struct summary *)object)->note_count - SUMMARY_NOTES);
}

static bool read_notes_left_out(struct reading *r, void *object)
{
    uint64_t left_out = 0;
    if (!read_u64(&r->json, &left_out))
        return false;
    ((struct summary *)object)->note_count += left_out;
    return true;
}

const struct record_special record_special_notes_left_out = {
    write_notes_left_out, read_notes_left_out, notes_are_left_out};

/* ==== The line ================================================================================ */

void record_json_summary(struct json_out *j, const struct summary *s,
                         const struct selection *selection)
{
    struct record_context c = {.run = s->run, .selection = selection};
    record_json_run(j, s->run);
    record_write(j, RECORD_OBJECT_result, s, &c);
    if (s->has_target && !s->target_count)
        record_write(j, RECORD_OBJECT_limited, &s->whole, &c);
    for (unsigned kind = 0; kind < ENTITY_KINDS; kind++)
        write_instances(j, s, kind, selection->of[kind]);
    record_write(j, RECORD_OBJECT_own, s, &c);
    if (mark_totals_any(&s->marks))
        record_write(j, RECORD_OBJECT_marks, &s->marks, &c);
    record_write(j, RECORD_OBJECT_closing, s, &c);
}

/* For record_read: what the machine has of a kind. The facts of the run were in its first line. */
static bool read_summary_other(struct reading *r, const struct scan *key, void *arg)
{
    int kind = read_instances_kind(key);
    if (kind < 0) {
        json_in_skip(&r->json);
    } else if (kind == ENTITY_SYSTEM) {
        read_instance(r, ENTITY_SYSTEM);
    } else {
        json_in_array(&r->json);
        while (json_in_item(&r->json))
            read_instance(r, (enum entity_kind)kind);
    }
    return true;
}

bool read_summary(struct reading *r)
{
    struct summary *s = &r->summary;
    struct record_fields fields[] = {
        {RECORD_OBJECT_result, s},  {RECORD_OBJECT_limited, &s->whole},
        {RECORD_OBJECT_own, s},     {RECORD_OBJECT_marks, &s->marks},
        {RECORD_OBJECT_closing, s},
    };
    /* It replaces the one that was made of the samples, except for the curves. */
    struct curve cores = s->cores_curve, memory = s->memory_curve;
    summary_done(s);
    if (summary_init(s, &r->run) < 0 ||
        (r->run.target_count > 1 && summary_add_targets(s, r->run.target_count) < 0)) {
        r->no_memory = true;
        return false;
    }
    s->cores_curve = cores;
    s->memory_curve = memory;
    r->text = &r->kept;
    read_instances_begin(r);
    record_read(r, fields, ARRAY_LEN(fields), read_summary_other, NULL);
    r->has_summary = json_in_end(&r->json);
    return r->has_summary;
}
