/* SPDX-License-Identifier: MIT
 * Frames of a program in a dialect. */
#include "base/err.h"
#include "dialect/cell_text.h"
#include "engine/taken.h"

#include <math.h>
#include <string.h>

struct toll_translator {
    struct dialect_choice choice;
    struct translation translation;
    bool is_open;                /* the table is known */
    double facts[DIALECT_FACTS]; /* that were told; NAN: not */
    struct buf *names;           /* owned, of the columns */
    struct buf text;             /* the last that was asked for … */
    const struct taken *frame;   /* borrowed while it is read */
};

int toll_translator_new(struct toll_translator **ret, const char *dialect, struct toll_error *e)
{
    struct toll_translator *tr = ret ? calloc(1, sizeof *tr) : NULL;
    if (!ret)
        return err_set_no_place(e);
    if (!tr)
        return err_set(e, -ENOMEM, "no memory for a dialect");
    int r = dialect ? dialect_choice_parse(&tr->choice, dialect, e)
                    : err_set(e, -EINVAL, "no dialect is named");
    for (unsigned f = 0; f < DIALECT_FACTS; f++)
        tr->facts[f] = (double)NAN;
    tr->facts[FACT_OWN_PID] = (double)getpid();
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    if (online > 0)
        tr->facts[FACT_CPUS] = (double)online;
    if (r < 0)
        toll_translator_free(tr);
    else
        *ret = tr;
    return r;
}

void toll_translator_free(struct toll_translator *tr)
{
    if (!tr)
        return;
    for (size_t i = 0; tr->names && i < tr->translation.table->count; i++)
        buf_done(&tr->names[i]);
    free(tr->names);
    if (tr->is_open)
        translation_done(&tr->translation);
    dialect_choice_done(&tr->choice);
    buf_done(&tr->text);
    free(tr);
}

int toll_translator_tell(struct toll_translator *tr, const char *fact, double value)
{
    for (unsigned f = 0; tr && fact && f < DIALECT_FACTS; f++)
        if (strcmp(dialect_fact_names[f], fact) == 0) {
            tr->facts[f] = value;
            return 0;
        }
    return -EINVAL;
}

/* ---- The frame as a source ------------------------------------------------------------------- */

/* Rows of several targets have names, and come in their order; a row of each part. */
static const struct taken_row *find_row(const struct taken *f, const struct dialect_place *p)
{
    size_t target = 0, thing = 0;
    for (size_t i = 0; i < f->head.row_count; i++) {
        const struct taken_row *r = &f->rows[i];
        if (r->kind != p->kind)
            continue;
        if (r->kind != ENTITY_TARGET && thing++ == p->thing)
            return r;
        if (r->kind != ENTITY_TARGET)
            continue;
        target += r->target && r->part == PART_COMBINED;
        if (r->part == p->part && (r->target ? target : 0) == p->target)
            return r;
    }
    return NULL;
}

static double taken_figure(const void *of, const struct dialect_place *place,
                           enum dialect_take take)
{
    (void)take;
    const struct taken_row *r = find_row(((const struct toll_translator *)of)->frame, place);
    return r ? taken_number(r, place->id - metric_first(place->kind)) : (double)NAN;
}

static bool taken_is_partial(const void *of, const struct dialect_place *place)
{
    const struct taken_row *r = find_row(((const struct toll_translator *)of)->frame, place);
    return r && r->at_least >> (place->id - metric_first(place->kind)) & 1;
}

static size_t taken_count(const void *of, enum entity_kind kind)
{
    const struct taken *f = ((const struct toll_translator *)of)->frame;
    size_t count = 0;
    for (size_t i = 0; i < f->head.row_count; i++) {
        const struct taken_row *r = &f->rows[i];
        bool is_one = kind != ENTITY_TARGET || (r->target && r->part == PART_COMBINED);
        count += r->kind == kind && is_one;
    }
    return count;
}

static double taken_fact(const void *of, enum dialect_fact fact, size_t target)
{
    (void)target;
    const struct toll_translator *tr = of;
    if (!isnan(tr->facts[fact]))
        return tr->facts[fact];
    switch (fact) {
    case FACT_TIME: return dialect_seconds(tr->frame->head.real_ns);
    case FACT_ELAPSED: return (double)tr->frame->head.elapsed_ns / 1e9;
    case FACT_INTERVAL: return (double)tr->frame->head.interval_ns / 1e9;
    default: return (double)NAN;
    }
}

static const char *taken_name(const void *of, enum entity_kind kind, size_t number)
{
    const struct taken *f = ((const struct toll_translator *)of)->frame;
    struct dialect_place place = {.kind = kind};
    if (kind == ENTITY_TARGET)
        place.target = number;
    else
        place.thing = number;
    const struct taken_row *r = find_row(f, &place);
    return r ? r->facts.name : "";
}

static double taken_own(const void *of, const char *name)
{
    (void)of;
    (void)name;
    return (double)NAN; /* a frame has none */
}

static enum space_kind taken_space(const void *of, size_t thing)
{
    struct dialect_place place = {.kind = ENTITY_MOUNT, .thing = thing};
    const struct taken_row *r = find_row(((const struct toll_translator *)of)->frame, &place);
    return r ? r->space : SPACE_NONE;
}

/* ---- Rows ------------------------------------------------------------------------------------ */

static const struct dialect_table *find_table(const struct toll_translator *tr)
{
    static const char *const series[] = {"csv", "jsonl"};
    struct dialect_place whole = {.kind = ENTITY_TARGET};
    enum dialect_subject subject = find_row(tr->frame, &whole) ? SUBJECT_TARGET : SUBJECT_MACHINE;
    const struct dialect_table *table = NULL;
    for (size_t i = 0; i < ARRAY_LEN(series) && !table; i++)
        table = dialect_choice_table(&tr->choice, series[i], subject);
    return table;
}

static int open_table(struct toll_translator *tr)
{
    const struct dialect_table *table = find_table(tr);
    if (!table)
        return -EINVAL;
    tr->is_open = true;
    int r = translation_open(&tr->translation, &tr->choice, table);
    tr->names = r == 0 ? calloc(table->count, sizeof *tr->names) : NULL;
    for (size_t i = 0; tr->names && i < table->count; i++)
        translation_name(&tr->names[i], &tr->translation, i);
    return tr->names ? 0 : -ENOMEM;
}

int toll_translator_frame(struct toll_translator *tr, const struct toll_frame *frame)
{
    if (!tr || !frame)
        return -EINVAL;
    tr->frame = (const struct taken *)frame;
    int r = tr->is_open ? 0 : open_table(tr);
    struct dialect_source source = {tr,         taken_figure, taken_count,     taken_fact,
                                    taken_name, taken_own,    taken_space,     false,
                                    false,      false,        taken_is_partial};
    if (r == 0)
        r = translation_put(&tr->translation, &source, frame->last);
    tr->frame = NULL;
    return r;
}

const char *toll_translator_column(const struct toll_translator *tr, size_t i)
{
    return tr && tr->names && i < tr->translation.table->count ? tr->names[i].data : NULL;
}

static const struct dialect_cell *find_cell(const struct toll_translator *tr, size_t row,
                                            size_t column)
{
    if (!tr)
        return NULL;
    const struct translation *t = &tr->translation;
    return tr->is_open && row < t->ready && column < t->table->count
               ? translation_cell(t, row, column)
               : NULL;
}

double toll_translator_value(const struct toll_translator *tr, size_t row, size_t column)
{
    const struct dialect_cell *cell = find_cell(tr, row, column);
    return cell ? cell->number : (double)NAN;
}

const char *toll_translator_text(struct toll_translator *tr, size_t row, size_t column)
{
    const struct dialect_cell *cell = find_cell(tr, row, column);
    if (!cell || (!cell->text && isnan(cell->number)))
        return NULL;
    buf_clear(&tr->text);
    cell_write(&tr->text, &tr->translation.table->columns[column], cell);
    return buf_failed(&tr->text) ? NULL : tr->text.data;
}
