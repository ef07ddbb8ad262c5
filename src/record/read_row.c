/* SPDX-License-Identifier: MIT
 * Figures of a row, by the names of their metrics. */
#include "record/reading.h"

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

static bool convert(const struct json_number *n, const struct metric *m, union value *ret)
{
    if (metric_is_double(m))
        return json_number_double(n, &ret->d);
    unsigned decimals = m->unit == UNIT_seconds ? 9 : m->unit == UNIT_joules ? 6 : 0;
    return json_number_u64(n, decimals, &ret->u);
}

bool read_row_value(struct json_in *j, const struct metric *m, union value *ret, bool *ret_known)
{
    struct json_number n;
    *ret_known = !json_in_null(j);
    if (!*ret_known)
        return true;
    return json_in_number(j, &n) && (convert(&n, m, ret) || json_in_fail(j));
}

static bool take_value(struct reading *r, unsigned i, struct row *row, uint64_t *keys)
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
            if (!take_value(r, i, row, keys))
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
        return take_value(r, (unsigned)i, row, keys);
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
