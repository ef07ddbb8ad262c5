/* SPDX-License-Identifier: MIT */
#include "dialect/term_figure.h"

#include <math.h>

static double ask(const struct row_of *r, const struct term *t, size_t thing,
                  enum dialect_take take)
{
    struct dialect_place place = {t->kind, t->part, r->target, thing, t->id};
    return r->source->figure(r->source->of, &place, take);
}

static double over_things(const struct row_of *r, const struct term *t, enum dialect_take take)
{
    size_t count = r->source->count(r->source->of, t->kind);
    if (r->each == EACH_GPU && t->kind == ENTITY_GPU && t->of == TERM_SUM)
        return ask(r, t, r->thing, take);
    if (t->of == TERM_COUNT)
        return (double)count;
    double sum = count ? 0 : (double)NAN;
    for (size_t i = 0; i < count; i++) {
        double value = ask(r, t, i, take);
        if (isnan(value) || isnan(sum))
            sum = (double)NAN;
        else if (t->of == TERM_LARGEST)
            sum = value > sum ? value : sum;
        else
            sum += t->of == TERM_SUM ? value : value > 0;
    }
    return sum;
}

double terms_figure(const struct row_of *r, const struct terms *terms, enum dialect_take take,
                    uint64_t step)
{
    double sum = 0;
    for (size_t i = 0; i < terms->count; i++) {
        const struct term *t = &terms->items[i];
        double value;
        if (t->of == TERM_FACT && t->fact == FACT_STEP)
            value = (double)step;
        else if (t->of == TERM_FACT && t->fact == FACT_NUMBER)
            value = (double)r->thing;
        else if (t->of == TERM_FACT)
            value = r->source->fact(r->source->of, t->fact, r->target);
        else if (t->of == TERM_OWN)
            value = r->source->own(r->source->of, t->option);
        else if (t->of == TERM_FIGURE)
            value = ask(r, t, 0, take);
        else
            value = over_things(r, t, take);
        sum += t->minus ? -value : value;
    }
    return sum;
}

bool terms_may_hold(const struct row_of *r, const struct terms *terms)
{
    for (size_t i = 0; i < terms->count; i++) {
        const struct term *t = &terms->items[i];
        if (t->of >= TERM_FACT)
            return false;
        if (t->kind != ENTITY_TARGET)
            continue;
        struct term live = {.kind = ENTITY_TARGET, .part = t->part, .id = process_processes_count};
        if (metric_of(t->id)->cost == COST_CHEAP || !(ask(r, &live, 0, TAKE_VALUE) > 0))
            return false;
    }
    return true;
}
