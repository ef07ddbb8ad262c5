/* SPDX-License-Identifier: MIT */
#include "layout/layout.h"

#include "base/text/scan.h"
#include "base/util.h"
#include "layout/translation.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* ==== Python number =========================================================================== */

/* The locale of the host program decides on the point, here and in what reads it again. */
enum { NEARLY_ALL = 15, ALL = 17, TEXT_BYTES = 40 };

/* "e-05", "e+17", or the end. */
static int exponent_of(const char *text)
{
    int64_t exponent = 0;
    struct scan s = scan_string(*text ? text + 1 : text);
    if (!scan_done(&s) && *s.at == '+')
        s.at++;
    scan_i64(&s, &exponent);
    return (int)exponent;
}

/* The fewest digits that give it again, without point and sign; the place of the point behind the
 * first digit moves by *ret_exponent. */
static size_t python_number_shortest(double value, char digits[TEXT_BYTES], int *ret_exponent)
{
    char text[TEXT_BYTES];
    for (int precision = NEARLY_ALL - 1; precision < ALL; precision++) {
        snprintf(text, sizeof text, "%.*e", precision, value);
        if (strtod(text, NULL) == value)
            break;
    }
    size_t n = 0;
    const char *at = text;
    for (; *at && *at != 'e'; at++)
        if (*at >= '0' && *at <= '9')
            digits[n++] = *at;
    *ret_exponent = exponent_of(at);
    while (n > 1 && digits[n - 1] == '0')
        n--;
    return n;
}

static void put_plain(struct buf *b, const char *digits, size_t n, int exponent)
{
    if (exponent < 0) {
        buf_puts(b, "0.");
        for (int i = exponent + 1; i < 0; i++)
            buf_putc(b, '0');
        buf_add(b, digits, n);
        return;
    }
    for (size_t i = 0; i < n || i <= (size_t)exponent; i++) {
        buf_putc(b, i < n ? digits[i] : '0');
        if (i == (size_t)exponent)
            buf_putc(b, '.');
    }
    if (n <= (size_t)exponent + 1)
        buf_putc(b, '0');
}

void python_float(struct buf *b, double value)
{
    char digits[TEXT_BYTES];
    int exponent;
    if (!isfinite(value)) {
        buf_puts(b, "null");
        return;
    }
    if (signbit(value))
        buf_putc(b, '-');
    size_t n = python_number_shortest(fabs(value), digits, &exponent);
    if (exponent >= -4 && exponent < 16) {
        put_plain(b, digits, n, exponent);
        return;
    }
    buf_putc(b, digits[0]);
    if (n > 1) {
        buf_putc(b, '.');
        buf_add(b, digits + 1, n - 1);
    }
    buf_printf(b, "e%c%02d", exponent < 0 ? '-' : '+', abs(exponent));
}

double python_round(double value, unsigned decimals)
{
    char text[400];
    int n = snprintf(text, sizeof text, "%.*f", (int)decimals, value);
    return n > 0 && (size_t)n < sizeof text ? strtod(text, NULL) : value;
}

void python_integer(struct buf *b, double value)
{
    if (!isfinite(value) || fabs(value) >= 0x1p63) {
        buf_puts(b, "null");
        return;
    }
    uint64_t whole = (uint64_t)(fabs(value) + 0.5);
    if (value < 0 && whole)
        buf_putc(b, '-');
    buf_u64(b, whole);
}

/* ==== Cell text =============================================================================== */

/* Four decimals; the locale of the host program does not matter. */
static void cell_text_seconds(char room[64], double seconds)
{
    uint64_t units = (uint64_t)(seconds * 10000 + 0.5);
    snprintf(room, 64, "%" PRIu64 ".%04" PRIu64, units / 10000, units % 10000);
}

/* "1 day, 2:03:04" as Python writes a timedelta, without fractions of a second. */
static void cell_text_hours(char room[64], double seconds)
{
    uint64_t whole = (uint64_t)seconds, days = whole / 86400;
    int n = days ? snprintf(room, 64, "%" PRIu64 " day%s, ", days, days == 1 ? "" : "s") : 0;
    snprintf(room + n, 64 - (size_t)n, "%" PRIu64 ":%02" PRIu64 ":%02" PRIu64, whole % 86400 / 3600,
             whole % 3600 / 60, whole % 60);
}

/* "1:02:03", or "0:01.25" below an hour: hundredths are cut off, as GNU time does. */
static void cell_text_minutes(char room[64], double seconds)
{
    uint64_t hundredths = (uint64_t)(seconds * 100 + 1e-6), whole = hundredths / 100;
    if (whole >= 3600)
        snprintf(room, 64, "%" PRIu64 ":%02" PRIu64 ":%02" PRIu64, whole / 3600, whole % 3600 / 60,
                 whole % 60);
    else
        snprintf(room, 64, "%" PRIu64 ":%02" PRIu64 ".%02" PRIu64, whole / 60, whole % 60,
                 hundredths % 100);
}

static const char *cell_text_time(const struct layout_source *s, enum layout_fact fact,
                                  char room[64])
{
    double now = s->fact(s->of, FACT_TIME, 0);
    time_t seconds = (time_t)now;
    unsigned ms = (unsigned)((now - (double)seconds) * 1000);
    bool is_utc = fact == FACT_UTC;
    struct tm tm;
    if (!(is_utc ? gmtime_r(&seconds, &tm) : localtime_r(&seconds, &tm)))
        return NULL;
    size_t n = fact == FACT_LOCAL ? strftime(room, 64, "%Y/%m/%d %H:%M:%S", &tm)
                                  : strftime(room, 64, "%Y-%m-%dT%H:%M:%S", &tm);
    if (fact != FACT_SECOND)
        snprintf(room + n, 64 - n, ".%03u%s", ms, is_utc ? "+00:00" : "");
    return room;
}

/* Seconds since the start. */
static double cell_elapsed(const struct row_of *r)
{
    return r->source->fact(r->source->of, FACT_ELAPSED, 0);
}

const char *cell_text(struct translation *t, const struct row_of *r, size_t column, char room[64])
{
    const struct layout_source *s = r->source;
    const struct term *term = &t->terms[column].items[0];
    const struct run *run = s->run;
    const char *text = NULL;
    if (term->of == TERM_OPTION)
        return layout_choice_value(t->choice, term->option);
    switch (term->fact) {
    case FACT_NAME:
        return r->each == EACH_GPU ? s->name(s->of, ENTITY_GPU, r->instance)
                                   : s->name(s->of, ENTITY_TARGET, r->target);
    case FACT_UNKNOWN: return NULL;
    case FACT_RUN: text = run ? run->name : NULL; break;
    case FACT_ID: text = run ? run->id : NULL; break;
    case FACT_KERNEL: text = run ? run->kernel : NULL; break;
    case FACT_TRACKING: return s->fact(s->of, FACT_TRACKING, 0) > 0 ? "process" : "machine";
    case FACT_ELAPSED_TEXT: cell_text_seconds(room, cell_elapsed(r)); return room;
    case FACT_HOURS: cell_text_hours(room, cell_elapsed(r)); return room;
    case FACT_MINUTES: cell_text_minutes(room, cell_elapsed(r)); return room;
    case FACT_COMMAND:
        buf_clear(&t->command);
        for (char **word = run ? run->command : NULL; word && *word; word++)
            buf_printf(&t->command, "%s%s", word == run->command ? "" : " ", *word);
        text = buf_failed(&t->command) ? NULL : t->command.data;
        break;
    default: return cell_text_time(s, term->fact, room);
    }
    return text && *text ? text : NULL;
}

void cell_write(struct buf *b, const struct layout_column *c, const struct layout_cell *cell)
{
    if (cell->text)
        buf_puts(b, cell->text);
    else if (isnan(cell->number))
        return;
    else if (c->flags & FIXED_DECIMALS)
        buf_double_fixed(b, cell->number, c->decimals);
    else if (c->type == LAYOUT_INTEGER || (cell->number == 0 && (c->flags & BARE_ZERO)))
        python_integer(b, cell->number);
    else
        python_float(b, cell->number);
}

/* ==== Cell figure ============================================================================= */

enum { ARRAYS = 13 };

int translation_row_init(struct translation_row *row, size_t columns)
{
    double *block = calloc(ARRAYS * columns, sizeof *block);
    if (!block)
        return -ENOMEM;
    *row = (struct translation_row){0};
    double **arrays[ARRAYS] = {
        &row->before,     &row->since,   &row->earlier, &row->earlier_since, &row->next_earlier,
        &row->next_since, &row->at_mark, &row->whole,   &row->held,          &row->held_at,
        &row->shown,      &row->means,   &row->weights};
    for (size_t i = 0; i < ARRAYS; i++)
        *arrays[i] = block + i * columns;
    for (size_t i = 0; i < columns; i++)
        row->held[i] = row->shown[i] = row->earlier[i] = row->next_since[i] = (double)NAN;
    return 0;
}

/* ---- What it is divided by ------------------------------------------------------------------- */

static double factor_of(const struct layout_column *c)
{
    return c->factor != 0 ? c->factor : 1;
}

/* An option by its name, or -1. */
static int find_option(const struct layout_choice *c, const char *name)
{
    return name ? layout_option_number(c->layout, name, strlen(name)) : -1;
}

/* The option whose number a column is, or is divided by. */
static const char *numbered_option(const struct layout_choice *c,
                                   const struct layout_column *column)
{
    bool is_option = column->terms[0] == '=' && column->type != LAYOUT_TEXT;
    const char *name = is_option ? column->terms + 1 : column->per;
    return find_option(c, name) < 0 ? NULL : name;
}

const char *cell_divisor(const struct layout_choice *c, const struct layout_column *column)
{
    const char *name = numbered_option(c, column);
    if (!name)
        return column->per;
    int i = find_option(c, name);
    return isnan(c->options[i].number) ? c->layout->options[i].otherwise : NULL;
}

/* The number of an option, or what stands for it; NAN when there is none. */
static double divisor_of(const struct translation *t, const struct row_of *r, size_t column)
{
    const struct layout_column *c = &t->table->columns[column];
    const char *name = numbered_option(t->choice, c);
    double number = name ? t->choice->options[find_option(t->choice, name)].number : (double)NAN;
    const struct terms *terms = &t->divisors[column];
    enum layout_take take = c->take == TAKE_SHARE ? TAKE_SHARE : TAKE_VALUE;
    return isnan(number) && terms->count ? terms_figure(r, terms, take, t->step) : number;
}

static double cell_figure_divide(const struct translation *t, const struct row_of *r, size_t column,
                                 double value)
{
    const char *name = numbered_option(t->choice, &t->table->columns[column]);
    if (!t->table->columns[column].per)
        return value;
    if (name && !t->divisors[column].count &&
        isnan(t->choice->options[find_option(t->choice, name)].number))
        return value; /* it was not asked for */
    double divisor = divisor_of(t, r, column);
    if (name && divisor == 0)
        return isnan(value) ? value : 0;         /* an option that may be 0 */
    return value == 0 ? value : value / divisor; /* none of no GPUs is none */
}

/* ---- Figures --------------------------------------------------------------------------------- */

bool cell_is_averaged(const struct translation *t, const struct layout_column *c)
{
    return t->table->averages && c->take == TAKE_VALUE && c->type != LAYOUT_TEXT &&
           c->terms[0] != '@';
}

/* What is read seldom stands until it is read again, unless what is always read says that not even
 * half of it is there: a process that has ended since takes its memory along. */
static double cell_figure_hold(const struct translation *t, const struct row_of *r, size_t column,
                               struct translation_row *state, double value)
{
    if (isnan(value) &&
        terms_may_hold(r, &t->terms[column], cell_elapsed(r) - state->held_at[column])) {
        const struct terms *bound = &t->otherwise[column];
        double most = bound->count ? terms_figure(r, bound, TAKE_VALUE, t->step) : (double)NAN;
        return state->held[column] > 2 * most ? most : state->held[column];
    }
    state->held[column] = value;
    state->held_at[column] = cell_elapsed(r);
    return value;
}

/* Of processes that have ended nothing can be read: the row of their end says what they had when
 * they were looked at last. */
static double cell_figure_keep(const struct translation *t, const struct row_of *r, size_t column,
                               struct translation_row *state, double value)
{
    if (!r->has_ended || !isnan(value) || !terms_have(&t->terms[column], ENTITY_TARGET)) {
        state->shown[column] = value;
        return value;
    }
    if ((t->table->columns[column].flags & ENDED_IS_ZERO) && state->has_lived)
        return 0;
    return t->table->keeps_ended ? state->shown[column] : value;
}

/* A share is of what grew, and is divided by that later; but of a summary there is no row before.
 */
static bool is_share_of_rows(const struct row_of *r, const struct layout_column *c)
{
    return c->take == TAKE_SHARE && !r->source->is_summary;
}

/* The number of an option, or the terms that replace it. */
static double cell_scale_number(const struct translation *t, const struct row_of *r, int option)
{
    double number = t->choice->options[option].number;
    const char *otherwise = t->choice->layout->options[option].otherwise;
    struct terms terms = {0};
    if (!isnan(number) || !otherwise)
        return number;
    terms_parse(&terms, otherwise);
    return terms_figure(r, &terms, TAKE_VALUE, t->step);
}

double cell_look(const struct translation *t, const struct row_of *r, size_t column,
                 struct translation_row *state)
{
    const struct layout_column *c = &t->table->columns[column];
    double value = t->terms[column].items[0].of == TERM_OPTION
                       ? divisor_of(t, r, column)
                       : terms_figure(r, &t->terms[column], c->take, t->step);
    if (t->terms[column].items[0].of == TERM_OPTION && (c->flags & ABSENT_IS_ZERO) && !t->has_gpus)
        value = 0; /* none is expected where there is none */
    bool is_gauge = c->take == TAKE_VALUE && r->each != EACH_GPU;
    if (is_gauge)
        value = cell_figure_hold(t, r, column, state, value);
    if (isnan(value) && c->otherwise)
        value = terms_figure(r, &t->otherwise[column], c->take, t->step);
    if (is_gauge)
        value = cell_figure_keep(t, r, column, state, value);
    if (isnan(value) && (c->flags & ABSENT_IS_ZERO) && !t->has_gpus)
        value = 0;
    if (is_share_of_rows(r, c))
        return value;
    value *= factor_of(c);
    const char *const scales[] = {c->scale, c->second_scale};
    for (size_t i = 0; i < ARRAY_LEN(scales); i++) {
        int scale = find_option(t->choice, scales[i]);
        if (scale >= 0 && t->choice->layout->options[scale].is_number)
            value *= cell_scale_number(t, r, scale);
        else if (scale >= 0)
            value *= t->choice->options[scale].factor;
    }
    return cell_figure_divide(t, r, column, value);
}

/* ---- Beside the row before ------------------------------------------------------------------- */

/* Of whole numbers the sum is kept, not each step: what is rounded off once comes with the next
 * row. */
static double cell_figure_counted(const struct layout_column *c, double value)
{
    return c->type == LAYOUT_INTEGER && fabs(value) < 0x1p62 ? (double)(int64_t)(value + 1e-6)
                                                             : value;
}

void cell_base(const struct translation *t, const struct row_of *r, size_t column,
               struct translation_row *state, bool makes_row)
{
    const struct layout_column *c = &t->table->columns[column];
    bool grows = c->take == TAKE_DELTA || c->take == TAKE_RATE || c->take == TAKE_SHARE;
    state->before[column] = state->whole[column] = (double)NAN;
    if (makes_row || !grows)
        return;
    state->before[column] = cell_figure_counted(c, cell_look(t, r, column, state));
    state->since[column] = cell_elapsed(r);
    if (c->take == TAKE_SHARE)
        state->whole[column] = divisor_of(t, r, column);
}

/* A row that was cut short says nothing of a rate alone: by the end, or since it is one of a mark,
 * or comes just behind one. */
static bool is_cut_short(const struct translation *t, const struct row_of *r, size_t column,
                         const struct translation_row *state)
{
    bool is_cut = t->is_last || r->source->between || state->at_mark[column] != 0;
    return is_cut && cell_elapsed(r) - state->since[column] < SHORT_SECONDS;
}

/* In a second. Of a row that was cut short it is that of the rows before and of itself, over
 * SHORT_SECONDS or more. A run that was shorter has a rate as far as one can be known. */
static double cell_figure_rate(const struct translation *t, const struct row_of *r, size_t column,
                               const struct translation_row *state, double now)
{
    bool is_short = is_cut_short(t, r, column, state);
    bool goes_back = is_short && !isnan(state->earlier[column]);
    double from = goes_back ? state->earlier[column] : state->before[column];
    double since = goes_back ? state->earlier_since[column] : state->since[column];
    double seconds = cell_elapsed(r) - since;
    double value = seconds > 0 ? (now - from) / seconds : (double)NAN;
    if (!is_short || seconds >= SHORT_SECONDS)
        return value;
    /* What was used is known exactly at the end alone: within milliseconds it would be more than
     * all CPUs have. */
    double most = r->source->fact(r->source->of, FACT_CPUS, 0) *
                  factor_of(&t->table->columns[column]);
    bool is_unknown = value > most ||
                      (terms_have(&t->terms[column], ENTITY_SYSTEM) && seconds < SHORTEST_SECONDS);
    return is_unknown ? (double)NAN : value;
}

/* The row before becomes one that a short row goes back to: as soon as SHORT_SECONDS are between
 * that one and the row which is made now, so that they are also between it and any later one. */
static void remember_earlier(const struct row_of *r, size_t column, struct translation_row *state)
{
    double now = cell_elapsed(r), since = state->since[column];
    if (isnan(state->earlier[column]) || now - since >= SHORT_SECONDS) {
        state->earlier[column] = state->before[column];
        state->earlier_since[column] = since;
        state->next_since[column] = (double)NAN;
        return;
    }
    bool has_next = !isnan(state->next_since[column]);
    if (has_next && now - state->next_since[column] < SHORT_SECONDS)
        return; /* rows come so often that some lie between */
    if (has_next) {
        state->earlier[column] = state->next_earlier[column];
        state->earlier_since[column] = state->next_since[column];
    }
    state->next_earlier[column] = state->before[column];
    state->next_since[column] = since;
}

/* What it grew by since it was last known, or that in a second. A moment at a mark has no rate, and
 * what was used in it is in that of the next row. */
static double cell_figure_grown(const struct translation *t, const struct row_of *r, size_t column,
                                struct translation_row *state, double value)
{
    const struct layout_column *c = &t->table->columns[column];
    double now = cell_figure_counted(c, value);
    bool is_at_mark = r->source->between;
    if (isnan(now))
        return now;
    if (c->take == TAKE_RATE && is_at_mark && is_cut_short(t, r, column, state))
        return (double)NAN;
    double growth = c->take == TAKE_DELTA ? now - state->before[column]
                                          : cell_figure_rate(t, r, column, state, now);
    remember_earlier(r, column, state);
    state->before[column] = now;
    state->since[column] = cell_elapsed(r);
    state->at_mark[column] = is_at_mark;
    return growth;
}

/* What part it was of what the others grew by: never more than all of it. */
static double cell_figure_share(const struct translation *t, const struct row_of *r, size_t column,
                                struct translation_row *state, double now)
{
    const struct layout_column *c = &t->table->columns[column];
    double whole = divisor_of(t, r, column);
    if (isnan(now) || isnan(whole))
        return (double)NAN;
    double growth = now - state->before[column], of = whole - state->whole[column];
    state->before[column] = now;
    state->whole[column] = whole;
    return of > 0 ? growth / of * factor_of(c) : (double)NAN;
}

double cell_figure(const struct translation *t, const struct row_of *r, size_t column,
                   struct translation_row *state)
{
    const struct layout_column *c = &t->table->columns[column];
    double value = cell_look(t, r, column, state);
    if (cell_is_averaged(t, c))
        value = state->weights[column] > 0 ? state->means[column] : (double)NAN;
    if (c->take == TAKE_DELTA || c->take == TAKE_RATE)
        value = cell_figure_grown(t, r, column, state, value);
    if (is_share_of_rows(r, c))
        value = cell_figure_share(t, r, column, state, value);
    if (c->take == TAKE_TOTAL && value < state->before[column])
        value = state->before[column]; /* one of those that are added up is gone */
    else if (c->take == TAKE_TOTAL)
        state->before[column] = value;
    if ((c->flags & NOT_AT_FIRST) && !state->has_begun && !t->is_paced_by_caller)
        value = (double)NAN;
    unsigned decimals = c->decimals ? c->decimals : t->table->decimals;
    if ((c->flags & ROUND_DOWN) && value > 0 && value < 1e15) {
        double unit = 1;
        for (unsigned i = 0; c->type != LAYOUT_INTEGER && i < decimals; i++)
            unit *= 10;
        value = (double)(uint64_t)(value * unit + 1e-6) / unit;
    }
    if (decimals && c->type == LAYOUT_FLOAT && isfinite(value))
        value = python_round(value, decimals);
    return value == 0 ? 0 : value; /* never -0 */
}
