/* SPDX-License-Identifier: MIT */
#include "dialect/term_figure.h"

#include <math.h>
#include <string.h>

/* The machine is read about once a second, its filesystems every ten seconds: what was not for so
 * long cannot be read any more. */
static bool is_too_old(const struct term *t, double age)
{
    return age > (t->kind == ENTITY_MOUNT ? 30 : 5);
}

static double ask(const struct row_of *r, const struct term *t, size_t thing,
                  enum dialect_take take)
{
    struct dialect_place place = {t->kind, t->part, r->target, thing, t->id};
    return r->source->figure(r->source->of, &place, take);
}

/* Space on disks: each counts once, and what is behind the network when it answers. An overlay
 * counts where nothing else is to be seen, as in a container. */
static double disk_space(const struct row_of *r, const struct term *t, enum dialect_take take)
{
    const struct dialect_source *s = r->source;
    size_t count = s->count(s->of, ENTITY_MOUNT), used = 0;
    enum space_kind least = SPACE_OVERLAY;
    for (size_t i = 0; i < count; i++)
        if (s->space(s->of, i) == SPACE_LOCAL)
            least = SPACE_NETWORK;
    double sum = 0;
    for (size_t i = 0; i < count; i++) {
        enum space_kind space = s->space(s->of, i);
        double value = space < least ? (double)NAN : ask(r, t, i, take);
        if (space < least || (space == SPACE_NETWORK && isnan(value)))
            continue;
        sum += value;
        used++;
    }
    return used ? sum : (double)NAN;
}

static double of_root(const struct row_of *r, const struct term *t, enum dialect_take take)
{
    const struct dialect_source *s = r->source;
    size_t count = s->count(s->of, t->kind);
    for (size_t i = 0; i < count; i++)
        if (strcmp(s->name(s->of, t->kind, i), "/") == 0)
            return ask(r, t, i, take);
    return (double)NAN;
}

static double over_things(const struct row_of *r, const struct term *t, enum dialect_take take)
{
    size_t count = r->source->count(r->source->of, t->kind);
    if (r->each == EACH_GPU && t->kind == ENTITY_GPU && t->of == TERM_SUM)
        return ask(r, t, r->thing, take);
    if (t->of == TERM_COUNT)
        return (double)count;
    if (t->of == TERM_ROOT)
        return of_root(r, t, take);
    if (t->of == TERM_SUM && t->kind == ENTITY_MOUNT)
        return disk_space(r, t, take);
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

bool row_has_target(const struct row_of *r)
{
    struct term wall = {.kind = ENTITY_TARGET, .part = PART_COMBINED, .id = process_wall_seconds};
    return !isnan(ask(r, &wall, 0, TAKE_VALUE)); /* it is known of whatever there is */
}

double row_living(const struct row_of *r, enum part part)
{
    struct term living = {.kind = ENTITY_TARGET, .part = part, .id = process_processes_count};
    return ask(r, &living, 0, TAKE_VALUE);
}

bool terms_are_partial(const struct row_of *r, const struct terms *terms)
{
    for (size_t i = 0; i < terms->count; i++) {
        const struct term *t = &terms->items[i];
        struct dialect_place place = {t->kind, t->part, r->target, 0, t->id};
        if (t->of == TERM_FIGURE && t->kind == ENTITY_TARGET && r->source->is_partial &&
            r->source->is_partial(r->source->of, &place))
            return true;
    }
    return false;
}

bool terms_may_hold(const struct row_of *r, const struct terms *terms, double age)
{
    for (size_t i = 0; i < terms->count; i++) {
        const struct term *t = &terms->items[i];
        if (t->of >= TERM_FACT)
            return false;
        if (t->kind != ENTITY_TARGET && is_too_old(t, age))
            return false;
        if (t->kind != ENTITY_TARGET)
            continue;
        if (metric_of(t->id)->cost == COST_CHEAP || !(row_living(r, t->part) > 0))
            return false;
    }
    return !terms_are_partial(r, terms);
}
