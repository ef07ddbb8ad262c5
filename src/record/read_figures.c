/* SPDX-License-Identifier: MIT */
#include "record/read_figures.h"

#include "base/memory.h"
#include "record/write.h"

#include <limits.h>

/* ==== Reading ================================================================================= */

const char *reading_keep(struct reading *r, struct scan text)
{
    size_t length = (size_t)(text.end - text.at);
    char *copy = arena_take(&r->kept, length + 1);
    r->no_memory |= !copy;
    if (copy && length)
        memcpy(copy, text.at, length);
    return copy ? copy : "";
}

bool reading_wrong(struct reading *r, const char *what)
{
    if (!r->json.failed && !r->wrong)
        r->wrong = what;
    return json_in_fail(&r->json);
}

void reading_skip(struct reading *r, const struct scan *key)
{
    size_t length = min_u64((uint64_t)(key->end - key->at), sizeof r->unknown - 1);
    if (!r->unknown[0] && length) {
        memcpy(r->unknown, key->at, length);
        r->unknown[length] = '\0';
    }
    json_in_skip(&r->json);
}

bool read_seconds(struct json_in *j, uint64_t *ret_ns)
{
    struct decimal n;
    return json_in_null(j) ||
           (json_in_number(j, &n) && (decimal_u64(&n, 9, ret_ns) || json_in_fail(j)));
}

bool read_u64(struct json_in *j, uint64_t *ret)
{
    struct decimal n;
    return json_in_null(j) ||
           (json_in_number(j, &n) && (decimal_u64(&n, 0, ret) || json_in_fail(j)));
}

bool read_double(struct json_in *j, double *ret)
{
    struct decimal n;
    return json_in_null(j) ||
           (json_in_number(j, &n) && (decimal_double(&n, ret) || json_in_fail(j)));
}

bool read_pid(struct json_in *j, pid_t *ret)
{
    uint64_t pid = (uint64_t)*ret;
    if (!read_u64(j, &pid) || pid > INT_MAX)
        return json_in_fail(j);
    *ret = (pid_t)pid;
    return true;
}

bool read_utc(struct json_in *j, uint64_t *ret_real_ns)
{
    struct scan text;
    return json_in_string(j, &text) &&
           ((scan_utc(&text, ret_real_ns) && scan_done(&text)) || json_in_fail(j));
}

const char *read_kept(struct reading *r)
{
    struct scan text;
    return json_in_string(&r->json, &text) ? reading_keep(r, text) : "";
}

bool read_name(struct json_in *j, char *ret, size_t capacity)
{
    struct scan text;
    if (!json_in_string(j, &text))
        return false;
    size_t length = min_u64((uint64_t)(text.end - text.at), capacity - 1);
    memcpy(ret, text.at, length);
    ret[length] = '\0';
    return true;
}

int read_word(struct json_in *j, const char *const *words, size_t count)
{
    struct scan text;
    if (!json_in_string(j, &text))
        return -1;
    for (size_t i = 0; i < count; i++)
        if (words[i] && json_in_is(&text, words[i]))
            return (int)i;
    json_in_fail(j);
    return -1;
}

/* A number of an exit code or a signal, which null leaves alone. */
static bool read_status(struct json_in *j, int *ret)
{
    struct decimal n;
    uint64_t value;
    if (json_in_null(j))
        return true;
    if (!json_in_number(j, &n))
        return false;
    struct decimal size = n;
    size.negative = false;
    if (!decimal_u64(&size, 0, &value) || value > INT_MAX)
        return json_in_fail(j);
    *ret = n.negative ? -(int)value : (int)value;
    return true;
}

bool read_end(struct reading *r, struct toll_end *ret)
{
    struct json_in *j = &r->json;
    struct toll_end end = {0};
    struct scan key;
    int status;
    bool cut_short = false;
    json_in_object(j);
    while (json_in_key(j, &key)) {
        if (json_in_is(&key, "status")) {
            status = read_word(j, record_words_end, END_STATUSES);
            end.ended = status != END_RUNNING;
            end.unknown = status == END_UNKNOWN;
            end.signaled = status == END_SIGNALED;
        } else if (json_in_is(&key, "code") || json_in_is(&key, "signal")) {
            read_status(j, &end.status);
        } else if (json_in_is(&key, "core_dumped")) {
            json_in_bool(j, &end.core_dumped);
        } else if (json_in_is(&key, "oom_killed")) {
            json_in_bool(j, &end.oom_killed);
        } else if (json_in_is(&key, "timed_out")) {
            json_in_bool(j, &end.timed_out);
        } else if (json_in_is(&key, "cut_short")) {
            json_in_bool(j, &cut_short);
        } else {
            reading_skip(r, &key);
        }
    }
    if (cut_short && end.unknown)
        end.ended = false;
    *ret = end;
    return !j->failed;
}

/* ==== Read process ============================================================================ */

/* Single processes: rows of a sample, and those that have left. */

static uint64_t bit_of(const struct reading *r, const struct scan *name)
{
    for (size_t i = 0; i < r->run.target_count; i++)
        if (json_in_is(name, r->run.targets[i].name))
            return BIT(i);
    return 0;
}

static void read_memberships(struct reading *r, struct entity *e)
{
    struct json_in *j = &r->json;
    struct scan name;
    json_in_array(j);
    while (json_in_item(j) && json_in_string(j, &name))
        e->targets |= bit_of(r, &name);
}

/* What rows and lines have in common. */
static void read_process_read_member(struct reading *r, const struct scan *key, struct entity *e,
                                     struct row *row, unsigned *next)
{
    struct json_in *j = &r->json;
    if (json_in_is(key, "pid"))
        read_pid(j, &e->pid);
    else if (json_in_is(key, "parent"))
        read_pid(j, &e->parent);
    else if (json_in_is(key, "start_ticks"))
        read_u64(j, &e->start_ticks);
    else if (json_in_is(key, "name"))
        read_name(j, e->name, sizeof e->name);
    else if (json_in_is(key, "targets"))
        read_memberships(r, e);
    else
        read_row_member(r, ENTITY_PROCESS, key, row, &r->selection.of[ENTITY_PROCESS], next);
}

bool read_process_row(struct reading *r, struct process_row *ret)
{
    struct json_in *j = &r->json;
    struct scan key;
    unsigned next = 0;
    ret->entity = (struct entity){.kind = ENTITY_PROCESS};
    row_init(&ret->row, ENTITY_PROCESS);
    json_in_object(j);
    while (json_in_key(j, &key))
        read_process_read_member(r, &key, &ret->entity, &ret->row, &next);
    return !j->failed && read_row_is_sound(r, &ret->row);
}

bool read_process(struct reading *r)
{
    struct json_in *j = &r->json;
    struct process *p = &r->process;
    struct process_end *e = &r->process_end;
    struct scan key;
    unsigned next = 0;
    int how;
    *p = (struct process){.entity = {.kind = ENTITY_PROCESS}};
    row_init(&p->own, ENTITY_PROCESS);
    *e = (struct process_end){.process = p};
    json_in_object(j);
    while (json_in_key(j, &key)) {
        if (json_in_is(&key, "type")) {
            json_in_skip(j);
        } else if (json_in_is(&key, "elapsed_seconds")) {
            read_seconds(j, &e->elapsed_ns);
        } else if (json_in_is(&key, "left")) {
            how = read_word(j, record_words_left, DEPARTURES);
            e->how = how < 0 ? LEFT_LOST : (enum departure)how;
        } else if (json_in_is(&key, "end")) {
            e->has_status = !json_in_null(j) && read_end(r, &e->end);
        } else {
            read_process_read_member(r, &key, &p->entity, &p->own, &next);
        }
    }
    return json_in_end(j) && read_row_is_sound(r, &p->own);
}

/* ==== Read things ============================================================================= */

/* The things of the machine: each is known by its kind, its name and its labels. */

int read_instances_kind(const struct scan *key)
{
    for (unsigned kind = 0; kind < ENTITY_KINDS; kind++)
        if (kind != ENTITY_PROCESS && kind != ENTITY_SELF &&
            json_in_is(key, entity_kind_plural(kind)))
            return (int)kind;
    return -1;
}

/* Words are kept at once only while they are new: see find. Until then they live in the frame's
 * arena. */
static const char *read_instances_hold(struct reading *r, struct scan text)
{
    size_t length = (size_t)(text.end - text.at);
    char *copy = arena_take(&r->frame.arena, length + 1);
    r->no_memory |= !copy;
    if (copy && length)
        memcpy(copy, text.at, length);
    return copy ? copy : "";
}

bool read_instances_word(struct reading *r, const struct scan *key, struct entity *e)
{
    struct scan text;
    unsigned next = 0;
    if (read_row_find(e->kind, key, &next) >= 0)
        return reading_wrong(r, "a text in the place of a figure");
    if (!json_in_string(&r->json, &text))
        return false;
    if (json_in_is(key, "name")) {
        e->path = read_instances_hold(r, text);
        return true;
    }
    for (unsigned i = 0; i < ENTITY_LABELS; i++)
        if (!e->labels[i].key) {
            e->labels[i] = (struct label){read_instances_hold(r, *key),
                                          read_instances_hold(r, text)};
            return true;
        }
    return true; /* more than anything has */
}

static bool is_same(const struct entity *a, const struct entity *b)
{
    if (a->kind != b->kind || strcmp(entity_name(a), entity_name(b)) != 0)
        return false;
    for (unsigned i = 0; i < ENTITY_LABELS; i++) {
        const struct label *x = &a->labels[i], *y = &b->labels[i];
        if (!x->key || !y->key)
            return x->key == y->key;
        if (strcmp(x->key, y->key) != 0 || strcmp(x->value, y->value) != 0)
            return false;
    }
    return true;
}

static struct instance *read_instances_add(struct reading *r, const struct entity *e)
{
    struct instances *t = &r->instances;
    struct instance *m = arena_take(&r->kept, sizeof *m);
    if (!m || !ARRAY_GROW(t->items, t->count)) {
        r->no_memory = true;
        return NULL;
    }
    instance_init(m, e->kind);
    m->entity.path = reading_keep(r, scan_string(entity_name(e)));
    for (unsigned i = 0; i < ENTITY_LABELS && e->labels[i].key; i++)
        m->entity.labels[i] = (struct label){
            reading_keep(r, scan_string(e->labels[i].key)),
            reading_keep(r, scan_string(e->labels[i].value)),
        };
    t->items[t->count].instance = m;
    t->items[t->count++].line = t->line;
    m->number = (unsigned)t->count;
    return m;
}

void read_instances_begin(struct reading *r)
{
    r->instances.expected = 0;
    r->instances.line++;
}

struct instance *read_instances_find(struct reading *r, const struct entity *e)
{
    struct instances *t = &r->instances;
    for (size_t tries = 0, i = t->expected; tries < t->count; tries++, i++) {
        i = i < t->count ? i : 0;
        if (!is_same(&t->items[i].instance->entity, e))
            continue;
        if (t->items[i].line == t->line) {
            reading_wrong(r, "a thing of the machine twice");
            return NULL;
        }
        t->expected = i + 1;
        t->items[i].line = t->line;
        return t->items[i].instance;
    }
    t->expected = t->count + 1;
    return read_instances_add(r, e);
}

/* ==== Read series ============================================================================= */

/* What a figure came to. A series is made that says what was read: its mean is the one that was
 * recorded, as if of one second, and its distribution has the quantiles that were recorded. */

struct found {
    double mean;
    bool has_mean, has_extremes;
    double quantiles[RECORD_QUANTILES];
    unsigned quantile_count;
};

static int quantile_of(const struct scan *key)
{
    for (int i = 0; i < RECORD_QUANTILES; i++)
        if (json_in_is(key, record_words_quantile[i].key))
            return i;
    return -1;
}

static void read_mean(struct json_in *j, struct found *f)
{
    f->has_mean = !json_in_null(j);
    if (f->has_mean)
        read_double(j, &f->mean);
}

enum quality read_quality(struct json_in *j)
{
    const char *words[QUALITIES];
    for (unsigned q = 0; q < QUALITIES; q++)
        words[q] = quality_word(q);
    int q = read_word(j, words, QUALITIES);
    return q < 0 ? QUALITY_UNKNOWN : (enum quality)q;
}

static void read_provenance(struct reading *r, const struct scan *key, struct provenance *v)
{
    if (json_in_is(key, "quality")) {
        v->quality = read_quality(&r->json);
    } else {
        v->source = read_kept(r);
    }
}

static void read_series_read_member(struct reading *r, const struct scan *key, struct series *s,
                                    const struct metric *m, struct found *f, struct provenance *v,
                                    bool *partial)
{
    struct json_in *j = &r->json;
    bool known;
    int quantile;
    if (json_in_is(key, "total") || json_in_is(key, "last")) {
        read_row_value(j, m, &s->last, &known);
    } else if (json_in_is(key, "mean") || json_in_is(key, "rate_mean")) {
        read_mean(j, f);
    } else if (json_in_is(key, "min")) {
        read_double(j, &s->min);
    } else if (json_in_is(key, "max") || json_in_is(key, "rate_max")) {
        f->has_extremes = true;
        read_double(j, &s->max);
    } else if (json_in_is(key, "max_at_seconds") || json_in_is(key, "rate_max_at_seconds")) {
        read_seconds(j, &s->max_at_ns);
    } else if ((quantile = quantile_of(key)) >= 0) {
        f->quantile_count++;
        read_double(j, &f->quantiles[quantile]);
    } else if (v && (json_in_is(key, "quality") || json_in_is(key, "from"))) {
        read_provenance(r, key, v);
    } else if (partial && json_in_is(key, "partial")) {
        json_in_bool(j, partial);
    } else if (json_in_is(key, "unlimited")) {
        json_in_bool(j, &s->is_unlimited);
    } else {
        reading_skip(r, key);
    }
}

/* As much of the weight lies below a quantile as it says. */
static void fill_histogram(struct series *s, const struct metric *m, const struct found *f)
{
    enum { ALL = 1000 };
    uint64_t below = 0;
    for (unsigned i = 0; i < RECORD_QUANTILES; i++) {
        bool last = i + 1 == RECORD_QUANTILES;
        uint64_t upto = last ? ALL : (uint64_t)(record_words_quantile[i].share * ALL + 0.5);
        series_weigh(s, m, f->quantiles[i], upto - below);
        below = upto;
    }
}

bool read_series(struct reading *r, struct series *s, const struct metric *m, struct provenance *v,
                 bool *partial)
{
    struct json_in *j = &r->json;
    struct histogram *histogram = s->histogram;
    struct found f = {0};
    struct scan key;
    *s = (struct series){.histogram = histogram, .max_at_ns = SERIES_TIME_UNKNOWN};
    json_in_object(j);
    while (json_in_key(j, &key))
        read_series_read_member(r, &key, s, m, &f, v, partial);
    s->count = f.has_extremes;
    if (f.has_mean) {
        s->observed_ns = NS_PER_SECOND;
        s->weighted = f.mean;
    }
    if (f.quantile_count == RECORD_QUANTILES)
        fill_histogram(s, m, &f);
    return !j->failed;
}

/* ==== Read row ================================================================================ */

/* Figures of a row, by the names of their metrics. */

int read_row_find(enum entity_kind kind, const struct scan *key, unsigned *next)
{
    unsigned count = metric_count(kind);
    enum metric_id first = metric_first(kind);
    for (unsigned tries = 0, i = *next; tries < count; tries++, i++) {
        i = i < count ? i : 0;
        if (json_in_is(key, metric_of(first + i)->facts.name)) {
            *next = i + 1;
            return (int)i;
        }
    }
    return -1;
}

static bool read_row_convert(const struct decimal *n, const struct metric *m, union value *ret)
{
    if (metric_is_double(m))
        return decimal_double(n, &ret->d);
    unsigned decimals = m->unit == UNIT_seconds ? 9 : m->unit == UNIT_joules ? 6 : 0;
    return decimal_u64(n, decimals, &ret->u);
}

bool read_row_value(struct json_in *j, const struct metric *m, union value *ret, bool *ret_known)
{
    struct decimal n;
    *ret_known = !json_in_null(j);
    if (!*ret_known)
        return true;
    return json_in_number(j, &n) && (read_row_convert(&n, m, ret) || json_in_fail(j));
}

static bool read_row_take_value(struct reading *r, unsigned i, struct row *row, uint64_t *keys)
{
    bool known;
    if (!read_row_value(&r->json, metric_of(row->first + i), &row->values[i], &known))
        return false;
    *keys |= BIT(i);
    row->present = known ? row->present | BIT(i) : row->present & ~BIT(i);
    return true;
}

void read_row_expected(struct reading *r, enum entity_kind kind, struct row *row, uint64_t *keys,
                       unsigned *next)
{
    unsigned count = metric_count(kind);
    for (unsigned i = *next; i < count; i++)
        if (json_in_expect(&r->json, metric_of(row->first + i)->facts.name)) {
            *next = i + 1;
            if (!read_row_take_value(r, i, row, keys))
                return;
        }
}

/* "lower_bound": figures as the row has them, but known as lower bounds alone. */
static void read_bounds(struct reading *r, enum entity_kind kind, struct row *row)
{
    struct json_in *j = &r->json;
    struct scan key;
    unsigned next = 0;
    json_in_object(j);
    while (json_in_key(j, &key)) {
        int i = read_row_find(kind, &key, &next);
        union value value;
        bool known;
        if (i < 0) {
            reading_skip(r, &key);
            continue;
        }
        if (!read_row_value(j, metric_of(row->first + (unsigned)i), &value, &known) || !known)
            continue;
        row->at_least |= BIT(i);
        row->values[i] = value;
    }
}

bool read_row_is_sound(struct reading *r, const struct row *row)
{
    return !(row->present & row->at_least) ||
           reading_wrong(r, "a figure that is known and a lower bound as well");
}

bool read_row_member(struct reading *r, enum entity_kind kind, const struct scan *key,
                     struct row *row, uint64_t *keys, unsigned *next)
{
    int i = read_row_find(kind, key, next);
    if (i >= 0)
        return read_row_take_value(r, (unsigned)i, row, keys);
    bool is_of_processes = kind == ENTITY_TARGET || kind == ENTITY_PROCESS;
    if (is_of_processes && json_in_is(key, "lower_bound"))
        read_bounds(r, kind, row);
    else
        reading_skip(r, key);
    return !r->json.failed;
}

bool read_row(struct reading *r, enum entity_kind kind, struct row *row, uint64_t *keys)
{
    struct json_in *j = &r->json;
    struct scan key;
    unsigned next = 0;
    row_init(row, kind);
    json_in_object(j);
    read_row_expected(r, kind, row, keys, &next);
    while (json_in_key(j, &key))
        read_row_member(r, kind, &key, row, keys, &next);
    return !j->failed && read_row_is_sound(r, row);
}
