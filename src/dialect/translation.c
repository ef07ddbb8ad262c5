/* SPDX-License-Identifier: MIT */
#include "dialect/cell_text.h"

#include "dialect/python_number.h"

#include <math.h>
#include <string.h>

/* Shorter than that nothing can be said of a CPU: the kernel counts in hundredths of a second. */
#define SHORT_SECONDS 0.1

struct translation_row {
    double *before;  /* owned: counters at the row before, in the dialect's unit */
    double *held;    /* owned: gauges as they were last known */
    double *means;   /* owned: of the samples so far, where a row is made of several … */
    double *weights; /* … and for how long they stood */
    double *since;   /* owned: when counters were as in before … */
    double *held_at; /* … and gauges as in held */
    bool is_based;   /* what counters had before the first row is known */
    bool has_begun;
};

/* ---- Opening --------------------------------------------------------------------------------- */

/* An option by its name, or -1. */
static int find_option(const struct translation *t, const char *name)
{
    return name ? dialect_option_number(t->choice->dialect, name, strlen(name)) : -1;
}

/* The option whose number a column is, or is divided by. */
static const char *numbered_option(const struct translation *t, const struct dialect_column *c)
{
    const char *name = c->terms[0] == '=' && c->type != DIALECT_TEXT ? c->terms + 1 : c->per;
    return find_option(t, name) < 0 ? NULL : name;
}

/* What stands for the number of that option, or what is no option's. */
static const char *divisor_terms(const struct translation *t, const struct dialect_column *c)
{
    const char *name = numbered_option(t, c);
    if (!name)
        return c->per;
    int i = find_option(t, name);
    return isnan(t->choice->options[i].number) ? t->choice->dialect->options[i].otherwise : NULL;
}

int translation_open(struct translation *t, const struct dialect_choice *choice,
                     const struct dialect_table *table)
{
    *t = (struct translation){.choice = choice, .table = table};
    t->terms = calloc(table->count, sizeof *t->terms);
    t->divisors = calloc(table->count, sizeof *t->divisors);
    t->otherwise = calloc(table->count, sizeof *t->otherwise);
    if (!t->terms || !t->divisors || !t->otherwise)
        return -ENOMEM;
    for (size_t i = 0; i < table->count; i++) {
        const struct dialect_column *c = &table->columns[i];
        const char *divisor = divisor_terms(t, c);
        terms_parse(&t->terms[i], c->terms);
        if (divisor)
            terms_parse(&t->divisors[i], divisor);
        if (c->otherwise)
            terms_parse(&t->otherwise[i], c->otherwise);
    }
    return 0;
}

void translation_done(struct translation *t)
{
    for (size_t i = 0; i < t->row_count; i++)
        free(t->rows[i].before); /* the others are of the same block */
    free(t->rows);
    free(t->terms);
    free(t->divisors);
    free(t->otherwise);
    free(t->cells);
    free(t->texts);
    *t = (struct translation){0};
}

static int make_room(struct translation *t, size_t rows)
{
    size_t columns = t->table->count;
    if (rows <= t->row_count)
        return 0;
    struct translation_row *more = realloc(t->rows, rows * sizeof *more);
    if (more)
        t->rows = more;
    struct dialect_cell *cells = realloc(t->cells, rows * columns * sizeof *cells);
    if (cells)
        t->cells = cells;
    void *texts = realloc(t->texts, rows * columns * sizeof *t->texts);
    if (texts)
        t->texts = texts;
    if (!more || !cells || !texts)
        return -ENOMEM;
    for (; t->row_count < rows; t->row_count++) {
        struct translation_row *r = &t->rows[t->row_count];
        double *block = calloc(6 * columns, sizeof *block);
        if (!block)
            return -ENOMEM;
        *r = (struct translation_row){.before = block,
                                      .held = block + columns,
                                      .means = block + 2 * columns,
                                      .weights = block + 3 * columns,
                                      .since = block + 4 * columns,
                                      .held_at = block + 5 * columns};
        for (size_t i = 0; i < columns; i++)
            r->held[i] = (double)NAN;
    }
    return 0;
}

/* ---- Figures --------------------------------------------------------------------------------- */

static double scale_of(const struct translation *t, const struct dialect_column *c)
{
    int i = find_option(t, c->scale);
    return i < 0 ? 1 : t->choice->options[i].factor;
}

/* The number of an option, or what stands for it; NAN when there is none. */
static double divisor_of(const struct translation *t, const struct row_of *r, size_t column)
{
    const char *name = numbered_option(t, &t->table->columns[column]);
    double number = name ? t->choice->options[find_option(t, name)].number : (double)NAN;
    const struct terms *terms = &t->divisors[column];
    return isnan(number) && terms->count ? terms_figure(r, terms, TAKE_VALUE, t->step) : number;
}

static double divide(const struct translation *t, const struct row_of *r, size_t column,
                     double value)
{
    const char *name = numbered_option(t, &t->table->columns[column]);
    if (!t->table->columns[column].per)
        return value;
    if (name && !t->divisors[column].count &&
        isnan(t->choice->options[find_option(t, name)].number))
        return value;                                             /* it was not asked for */
    return value == 0 ? value : value / divisor_of(t, r, column); /* none of no GPUs is none */
}

static bool is_averaged(const struct translation *t, const struct dialect_column *c)
{
    return t->table->averages && c->take == TAKE_VALUE && c->type != DIALECT_TEXT &&
           c->terms[0] != '@';
}

static double elapsed_at(const struct row_of *r)
{
    return r->source->fact(r->source->of, FACT_ELAPSED, 0);
}

/* What is read seldom stands until it is read again, unless what is always read says that not even
 * half of it is there: a process that has ended since takes its memory along. */
static double hold(const struct translation *t, const struct row_of *r, size_t column,
                   struct translation_row *state, double value)
{
    if (isnan(value) &&
        terms_may_hold(r, &t->terms[column], elapsed_at(r) - state->held_at[column])) {
        const struct terms *bound = &t->otherwise[column];
        double most = bound->count ? terms_figure(r, bound, TAKE_VALUE, t->step) : (double)NAN;
        return state->held[column] > 2 * most ? most : state->held[column];
    }
    state->held[column] = value;
    state->held_at[column] = elapsed_at(r);
    return value;
}

/* The figure of a sample, before it becomes a cell. */
static double look(const struct translation *t, const struct row_of *r, size_t column,
                   struct translation_row *state)
{
    const struct dialect_column *c = &t->table->columns[column];
    double value = t->terms[column].items[0].of == TERM_OPTION
                       ? divisor_of(t, r, column)
                       : terms_figure(r, &t->terms[column], c->take, t->step);
    if (c->take == TAKE_VALUE && r->each != EACH_GPU)
        value = hold(t, r, column, state, value);
    if (isnan(value) && c->otherwise)
        value = terms_figure(r, &t->otherwise[column], c->take, t->step);
    if (isnan(value) && (c->flags & ABSENT_IS_ZERO) && !t->has_gpus)
        value = 0;
    value *= c->factor != 0 ? c->factor : 1;
    value *= scale_of(t, c);
    return divide(t, r, column, value);
}

/* ---- Rows ------------------------------------------------------------------------------------ */

/* Of whole numbers the sum is kept, not each step: what is rounded off once comes with the next
 * row. */
static double counted(const struct dialect_column *c, double value)
{
    return c->type == DIALECT_INTEGER && fabs(value) < 0x1p62 ? (double)(int64_t)(value + 1e-6)
                                                              : value;
}

/* What it grew by since it was last known, or that in a second. */
static double grown(const struct dialect_column *c, struct translation_row *state, size_t column,
                    double value, double elapsed)
{
    double now = counted(c, value);
    double growth = now - state->before[column];
    double seconds = elapsed - state->since[column];
    if (isnan(now))
        return now;
    state->before[column] = now;
    state->since[column] = elapsed;
    if (c->take == TAKE_DELTA)
        return growth;
    return seconds > 0 ? growth / seconds : (double)NAN;
}

/* What was used is known exactly at the end alone: within milliseconds it would be more than there
 * is. NAN when it is not known how much that is. */
static double most_of_cpus(const struct row_of *r, const struct dialect_column *c)
{
    return r->source->fact(r->source->of, FACT_CPUS, 0) * (c->factor != 0 ? c->factor : 1);
}

static struct dialect_cell make_cell(struct translation *t, const struct row_of *r, size_t column,
                                     struct translation_row *state, char room[64])
{
    const struct dialect_column *c = &t->table->columns[column];
    struct dialect_cell cell = {.number = (double)NAN};
    if (c->type == DIALECT_TEXT) {
        cell.text = cell_text(t, r, column, room);
        return cell;
    }
    double value = look(t, r, column, state);
    if (is_averaged(t, c))
        value = state->weights[column] > 0 ? state->means[column] : (double)NAN;
    if (c->take == TAKE_DELTA || c->take == TAKE_RATE)
        value = grown(c, state, column, value, elapsed_at(r));
    if (c->take == TAKE_RATE && t->is_cut && value > most_of_cpus(r, c))
        value = (double)NAN;
    if ((c->flags & NOT_AT_FIRST) && !state->has_begun)
        value = (double)NAN;
    unsigned decimals = c->decimals ? c->decimals : t->table->decimals;
    if (decimals && c->type == DIALECT_FLOAT && isfinite(value))
        value = python_round(value, decimals);
    cell.number = value == 0 ? 0 : value; /* never -0 */
    return cell;
}

static void make_row(struct translation *t, const struct row_of *r, size_t number)
{
    struct translation_row *state = &t->rows[number];
    size_t at = number * t->table->count;
    for (size_t i = 0; i < t->table->count; i++) {
        t->cells[at + i] = make_cell(t, r, i, state, t->texts[at + i]);
        state->means[i] = state->weights[i] = 0;
    }
    state->has_begun = true;
}

/* What is read seldom may be in this one. */
static void see_sample(const struct translation *t, const struct row_of *r, size_t number)
{
    for (size_t i = 0; i < t->table->count; i++)
        if (t->table->columns[i].take == TAKE_VALUE && t->table->columns[i].type != DIALECT_TEXT)
            look(t, r, i, &t->rows[number]);
}

static void add_sample(const struct translation *t, const struct row_of *r, size_t number)
{
    struct translation_row *state = &t->rows[number];
    double weight = r->source->fact(r->source->of, FACT_INTERVAL, 0);
    for (size_t i = 0; i < t->table->count; i++) {
        const struct dialect_column *c = &t->table->columns[i];
        double value = is_averaged(t, c) ? look(t, r, i, state) : (double)NAN;
        if (isnan(value) || !(weight > 0))
            continue;
        state->weights[i] += weight;
        state->means[i] += (value - state->means[i]) * (weight / state->weights[i]);
    }
}

static size_t samples_wanted(const struct translation *t)
{
    int i = t->table->averages ? dialect_option_number(t->choice->dialect, "samples", 7) : -1;
    return i < 0 ? 1 : (size_t)t->choice->options[i].number;
}

/* What counters had before the run is not what it used. A row that more samples come into begins
 * with the first of them. */
static void begin_row(const struct translation *t, const struct row_of *r,
                      struct translation_row *state, bool is_long)
{
    if (state->is_based || !(r->source->fact(r->source->of, FACT_SINCE, r->target) > 0))
        return;
    state->is_based = true;
    for (size_t i = 0; i < t->table->count; i++) {
        const struct dialect_column *c = &t->table->columns[i];
        state->before[i] = (double)NAN;
        if (is_long && (c->take == TAKE_DELTA || c->take == TAKE_RATE)) {
            state->before[i] = counted(c, look(t, r, i, state));
            state->since[i] = elapsed_at(r);
        }
    }
}

/* Whether a sample makes no row of its own: figures of a moment are none, and what was asked for
 * is one row an interval. What it has comes with the next one. */
static bool is_no_row(const struct translation *t, const struct dialect_source *s, bool last)
{
    double elapsed = s->fact(s->of, FACT_ELAPSED, 0);
    bool is_short = elapsed - t->row_at < SHORT_SECONDS;
    if (last)
        return t->table->skips_first && t->step && is_short;
    if (s->between && t->table->keeps_time)
        return true;
    return !t->was_fed &&
           (t->table->skips_first || (t->table->skips_start && s->is_paced && is_short));
}

int translation_put(struct translation *t, const struct dialect_source *s, bool last)
{
    enum dialect_each each = t->table->each;
    size_t things = each == EACH_GPU      ? s->count(s->of, ENTITY_GPU)
                    : each == EACH_TARGET ? s->count(s->of, ENTITY_TARGET)
                                          : 0;
    size_t rows = each == EACH_GPU ? things : things ? things : 1;
    t->has_gpus |= s->count(s->of, ENTITY_GPU) > 0 || s->fact(s->of, FACT_HAS_GPUS, 0) > 0;
    t->ready = 0;
    if (make_room(t, rows) < 0)
        return -ENOMEM;
    bool is_short = is_no_row(t, s, last);
    t->was_fed |= !s->between;
    t->samples += !is_short;
    t->is_cut = s->is_paced && last && t->step && !t->table->averages &&
                s->fact(s->of, FACT_ELAPSED, 0) - t->row_at < SHORT_SECONDS;
    bool is_full = !is_short && (t->samples >= samples_wanted(t) || last);
    for (size_t i = 0; i < rows; i++) {
        struct row_of r = {.source = s, .each = each};
        if (each == EACH_GPU)
            r.thing = i;
        else if (things)
            r.target = i + 1;
        begin_row(t, &r, &t->rows[i], !is_full);
        if (is_short)
            see_sample(t, &r, i);
        else
            add_sample(t, &r, i);
        if (is_full)
            make_row(t, &r, i);
    }
    if (!is_full)
        return 0;
    t->samples = 0;
    t->row_at = s->fact(s->of, FACT_ELAPSED, 0);
    t->step++;
    t->ready = rows;
    return (int)rows;
}

/* ---- Names and needs --------------------------------------------------------------------------
 */

void translation_name(struct buf *b, const struct translation *t, size_t column)
{
    const struct dialect_column *c = &t->table->columns[column];
    if (c->flags & WITH_PREFIX)
        buf_puts(b, dialect_choice_value(t->choice, "prefix"));
    buf_puts(b, c->name);
}

static bool is_of_machine(const struct term *t)
{
    return t->of < TERM_FACT && t->kind != ENTITY_TARGET && t->kind != ENTITY_SELF &&
           t->kind != ENTITY_GPU;
}

static bool any_of_machine(const char *text)
{
    struct terms terms = {0};
    if (text)
        terms_parse(&terms, text);
    for (size_t i = 0; i < terms.count; i++)
        if (is_of_machine(&terms.items[i]))
            return true;
    return false;
}

bool dialect_table_needs_system(const struct dialect_choice *c, const struct dialect_table *table)
{
    struct translation t = {.choice = c, .table = table};
    for (size_t i = 0; i < table->count; i++)
        if (any_of_machine(table->columns[i].terms) ||
            any_of_machine(divisor_terms(&t, &table->columns[i])))
            return true;
    return false;
}
