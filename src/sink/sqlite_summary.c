/* SPDX-License-Identifier: MIT
 * What a run came to, as rows of a SQLite file: a row for each figure, and the whole as JSON. */
#include "sink/record_json.h"
#include "sink/sqlite_rows.h"
#include "sink/sqlite_schema.h"
#include "sink/sqlite_tape.h"

/* In base units: a figure that is whole stays so. */
static void add_number(struct buf *b, const struct metric *m, union value v)
{
    if (metric_is_double(m) || m->unit == UNIT_seconds || m->unit == UNIT_joules)
        sqlite_tape_double(b, metric_number(m, v));
    else
        sqlite_tape_u64(b, v.u);
}

static void add_if(struct buf *b, bool is_known, double value)
{
    if (is_known)
        sqlite_tape_double(b, value);
    else
        sqlite_tape_null(b);
}

static void add_quantiles(struct buf *b, const struct series *s, const struct metric *m,
                          bool is_known)
{
    static const double shares[] = {0.5, 0.9, 0.99};
    for (size_t i = 0; i < ARRAY_LEN(shares); i++) {
        double value;
        bool has = is_known && series_quantile(s, m, shares[i], &value);
        add_if(b, has, has ? value : 0);
    }
}

/* total, last, mean, min, max and when, quantiles; the words for them are those of the record. */
static void add_series(struct buf *b, const struct series *s, const struct metric *m, bool is_known)
{
    bool counts = m->kind == METRIC_COUNTER;
    bool is_observed = is_known && s->observed_ns;
    if (is_known && counts)
        add_number(b, m, s->last);
    else
        sqlite_tape_null(b);
    if (is_observed && !counts && s->count)
        add_number(b, m, s->last);
    else
        sqlite_tape_null(b);
    add_if(b, counts ? is_known : is_observed, is_known ? series_mean(s, m) : 0);
    add_if(b, is_known && s->count && !counts, s->min);
    add_if(b, is_known && s->count, s->max);
    if (is_known && s->count)
        sqlite_tape_u64(b, s->max_at_ns);
    else
        sqlite_tape_null(b);
    add_quantiles(b, s, m, is_known && s->count && !counts);
}

/* verdict NULL: there is none. */
static void add_figure(struct buf *b, unsigned entity, const struct series *s,
                       const struct metric *m, const struct verdict *verdict)
{
    bool is_known = verdict && !s->is_unlimited ? verdict->quality != QUALITY_UNKNOWN
                                                : s->observed_ns > 0;
    sqlite_tape_row(b, STATEMENT_FIGURE);
    sqlite_tape_i64(b, entity);
    sqlite_tape_text(b, m->facts.name);
    add_series(b, s, m, is_known);
    sqlite_tape_text(b, verdict ? quality_word(verdict->quality) : NULL);
    sqlite_tape_text(b, verdict ? verdict->rung : NULL);
}

static void add_target(struct buf *b, struct sqlite_entities *x, const struct target_summary *t,
                       const struct run_target *target, size_t index,
                       const struct selection *selection)
{
    for (unsigned part = 0; part < PARTS; part++) {
        if (part != PART_COMBINED && !t->has_parts)
            continue;
        unsigned entity = sqlite_entities_part(x, target, index, part);
        FOR_EACH_BIT(id, selection->parts[part])
        add_figure(b, entity, &t->series[part][id], metric_of(id), &t->verdicts[part][id]);
    }
}

static void add_thing(struct buf *b, struct sqlite_entities *x, const struct thing_summary *t,
                      uint64_t selected)
{
    enum metric_id first = metric_first(t->thing->entity.kind);
    unsigned entity = selected ? sqlite_entities_thing(x, t->thing) : 0;
    FOR_EACH_BIT(i, selected)
    {
        const struct metric *m = metric_of(first + i);
        struct verdict v = {summary_thing_quality(&t->series[i], m), "kernel"};
        if (v.quality == QUALITY_UNKNOWN && t->series[i].is_unlimited)
            v.quality = QUALITY_SAMPLED; /* it was read that there is no limit */
        if (v.quality == QUALITY_UNKNOWN)
            v.rung = "";
        add_figure(b, entity, &t->series[i], m, &v);
    }
}

void sqlite_summary(struct buf *b, struct sqlite_rows *rows, const struct summary *s,
                    const struct selection *selection)
{
    struct sqlite_entities *x = &rows->entities;
    struct json_out j;
    if (s->has_target)
        add_target(b, x, &s->whole, NULL, 0, selection);
    for (size_t i = 0; i < s->target_count; i++)
        add_target(b, x, &s->targets[i], &s->run->targets[i], i, selection);
    for (size_t i = 0; i < s->thing_count; i++)
        if (s->things[i].thing)
            add_thing(b, x, &s->things[i], selection->of[s->things[i].thing->entity.kind]);
    unsigned self = sqlite_entities_self(x);
    FOR_EACH_BIT(i, selection->of[ENTITY_SELF])
    add_figure(b, self, &s->self[i], metric_of(metric_first(ENTITY_SELF) + i), NULL);
    sqlite_tape_row(b, STATEMENT_RUN_END);
    sqlite_tape_u64(b, s->elapsed_ns);
    sqlite_rows_end(b, &s->whole.end);
    size_t began = sqlite_tape_json(b, &j);
    json_object(&j);
    record_json_summary(&j, s, selection);
    json_object_end(&j);
    sqlite_tape_json_end(b, began);
}
