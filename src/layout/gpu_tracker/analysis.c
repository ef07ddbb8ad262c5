/* SPDX-License-Identifier: MIT */
#include "layout/gpu_tracker/gpu_tracker.h"

#include "base/err.h"
#include "base/memory.h"
#include "base/text/buf.h"
#include "base/text/json.h"
#include "base/text/scan.h"
#include "layout/layout.h"

#include <errno.h>
#include <math.h>
#include <string.h>

/* ==== Spread ================================================================================== */

const char *const statistic_names[STATISTICS] = {"min", "max", "mean", "std"};

int statistic_by_name(const char *name)
{
    for (int i = 0; i < STATISTICS; i++)
        if (strcmp(statistic_names[i], name) == 0)
            return i;
    return -EINVAL;
}

void spread_add(struct spread *s, double value)
{
    if (isnan(value))
        return;
    s->min = s->count && s->min <= value ? s->min : value;
    s->max = s->count && s->max >= value ? s->max : value;
    s->sum += (long double)value;
    s->count++;
    double away = value - s->center;
    s->center += away / (double)s->count;
    s->squares += away * (value - s->center);
}

double spread_get(const struct spread *s, enum statistic which)
{
    if (!s->count)
        return NAN;
    switch (which) {
    case STATISTIC_MIN: return s->min;
    case STATISTIC_MAX: return s->max;
    case STATISTIC_MEAN: return (double)(s->sum / (long double)s->count);
    default: return sqrt(s->squares / (double)s->count);
    }
}

/* ==== Analysis ================================================================================ */

/* So soon after its beginning nothing can be said of a call. */
#define BEGINNING_SECONDS 0.01

/* What is gathered while the rows go by. */
struct gathering {
    const char *path;
    struct row_file *points;
    struct blocks blocks;
    size_t *columns; /* of each figure, in the file … */
    bool *is_use;    /* … and whether it covers the time since the row before */
    size_t time_column;
    struct spread *overall;  /* of each figure */
    struct spread *in_block; /* of each figure of each block */
    uint64_t *block_points;  /* rows of each block */
    double *row;             /* the figures of a row */
    double *times;           /* of all rows */
    double before;           /* when the last row was */
    size_t count, capacity;
};

void analysis_done(struct analysis *a)
{
    for (size_t i = 0; i < a->figure_count; i++)
        free(a->figures[i]);
    for (size_t i = 0; i < a->fact_count; i++) {
        free(a->facts[i].name);
        free(a->facts[i].text);
    }
    for (size_t i = 0; i < a->block_count; i++) {
        free(a->blocks[i].name);
        free(a->blocks[i].usage);
    }
    free(a->figures);
    free(a->overall);
    free(a->facts);
    free(a->blocks);
    *a = (struct analysis){0};
}

static void gathering_done(struct gathering *g)
{
    row_file_close(g->points);
    blocks_done(&g->blocks);
    free(g->columns);
    free(g->is_use);
    free(g->overall);
    free(g->in_block);
    free(g->block_points);
    free(g->row);
    free(g->times);
}

static int analysis_no_memory(const struct gathering *g, struct toll_error *e)
{
    return err_set(e, -ENOMEM, "%s: out of memory", g->path);
}

/* ---- Facts and names ------------------------------------------------------------------------- */

static int analysis_add_fact(struct analysis *a, const char *name, const char *text)
{
    struct session_fact fact = {.name = strdup(name), .text = strdup(text)};
    if (!fact.name || !fact.text) {
        free(fact.name);
        free(fact.text);
        return -ENOMEM;
    }
    struct scan s = scan_string(text);
    fact.is_number = scan_number(&s, &fact.number) && scan_done(&s);
    fact.is_integer = fact.is_number && session_fact_is_integer(text, fact.number);
    a->facts[a->fact_count++] = fact;
    return 0;
}

static int analysis_read_facts(struct analysis *a, struct gathering *g, struct toll_error *e)
{
    int r = row_file_next(g->points, e);
    if (r <= 0)
        return r < 0 ? r : err_set(e, -ENODATA, "%s: static data missing", g->path);
    size_t count = row_file_columns(g->points);
    a->facts = calloc(count + 1, sizeof *a->facts);
    r = a->facts ? 0 : -ENOMEM;
    for (size_t i = 0; i < count && r == 0; i++)
        r = analysis_add_fact(a, row_file_name(g->points, i), row_file_text(g->points, i));
    return r < 0 ? analysis_no_memory(g, e) : 0;
}

/* A CSV of an older version has no static data: its first heading is that of the time points. */
static int analysis_find_points(struct analysis *a, struct gathering *g, struct toll_error *e)
{
    struct toll_error ignored;
    int r = row_file_table(g->points, "static_data", e);
    if (r < 0)
        return r;
    if (row_file_format(g->points) == ROWS_CSV &&
        row_file_column(g->points, "timestamp", &ignored) >= 0)
        return 0;
    r = analysis_read_facts(a, g, e);
    return r < 0 ? r : row_file_table(g->points, "data", e);
}

static int analysis_read_names(struct analysis *a, struct gathering *g, struct toll_error *e)
{
    size_t count = row_file_columns(g->points);
    int time = row_file_column(g->points, "timestamp", e);
    if (time < 0)
        return time;
    g->time_column = (size_t)time;
    a->figures = calloc(count + 1, sizeof *a->figures);
    g->columns = calloc(count + 1, sizeof *g->columns);
    g->is_use = calloc(count + 1, sizeof *g->is_use);
    if (!a->figures || !g->columns || !g->is_use)
        return analysis_no_memory(g, e);
    for (size_t i = 0; i < count; i++) {
        if (i == g->time_column)
            continue;
        char *name = strdup(row_file_name(g->points, i));
        if (!name)
            return analysis_no_memory(g, e);
        g->columns[a->figure_count] = i;
        g->is_use[a->figure_count] = ends_with(name, "_utilization_percent");
        a->figures[a->figure_count++] = name;
    }
    g->overall = calloc(count + 1, sizeof *g->overall);
    g->in_block = calloc((count + 1) * (g->blocks.count + 1), sizeof *g->in_block);
    g->block_points = calloc(g->blocks.count + 1, sizeof *g->block_points);
    g->row = calloc(count + 1, sizeof *g->row);
    return g->overall && g->in_block && g->block_points && g->row ? 0 : analysis_no_memory(g, e);
}

/* ---- Rows ------------------------------------------------------------------------------------ */

static void analysis_add_to_block(const struct analysis *a, struct gathering *g, size_t number,
                                  double time)
{
    double since = block_since(&g->blocks.list[number], time);
    if (isnan(since))
        return;
    /* A row where a call begins, as those of marks are, has its memory, but the utilization of the
     * time before it. */
    bool leaves_use = since < BEGINNING_SECONDS &&
                      (isnan(g->before) || since < (time - g->before) / 2);
    g->block_points[number]++;
    for (size_t i = 0; i < a->figure_count; i++)
        if (!leaves_use || !g->is_use[i])
            spread_add(&g->in_block[number * a->figure_count + i], g->row[i]);
}

static int analysis_add_row(const struct analysis *a, struct gathering *g, struct toll_error *e)
{
    double time;
    int r = row_file_number(g->points, g->time_column, &time, e);
    for (size_t i = 0; i < a->figure_count && r == 0; i++)
        r = row_file_number(g->points, g->columns[i], &g->row[i], e);
    if (r < 0)
        return r;
    for (size_t i = 0; i < a->figure_count; i++)
        spread_add(&g->overall[i], g->row[i]);
    for (size_t b = 0; b < g->blocks.count; b++)
        analysis_add_to_block(a, g, b, time);
    g->before = time;
    if (isnan(time))
        return 0;
    if (!ARRAY_RESERVE(g->times, g->capacity, g->count + 1))
        return analysis_no_memory(g, e);
    g->times[g->count++] = time;
    return 0;
}

/* ---- Results --------------------------------------------------------------------------------- */

static struct usage usage_of(const struct spread *s)
{
    struct usage u = {0};
    for (unsigned i = 0; i < STATISTICS; i++)
        u.of[i] = spread_get(s, i);
    return u;
}

static int by_time(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static bool call_has_point(const struct gathering *g, const struct block_call *call)
{
    size_t low = 0, high = g->count;
    while (low < high) { /* the first point that is not before the call */
        size_t middle = low + (high - low) / 2;
        if (g->times[middle] < call->start)
            low = middle + 1;
        else
            high = middle;
    }
    return low < g->count && g->times[low] <= call->stop;
}

static int analysis_block_results(struct analysis *a, const struct gathering *g, size_t number)
{
    const struct block *b = &g->blocks.list[number];
    struct block_results *r = &a->blocks[a->block_count++];
    *r = (struct block_results){
        .name = strdup(b->name),
        .timepoints = g->block_points[number],
        .calls = b->call_count,
        .usage = calloc(a->figure_count + 1, sizeof *r->usage),
    };
    if (!r->name || !r->usage)
        return -ENOMEM;
    struct spread times = {0};
    for (size_t i = 0; i < b->call_count; i++) {
        spread_add(&times, b->calls[i].stop - b->calls[i].start);
        r->non_empty_calls += call_has_point(g, &b->calls[i]);
    }
    r->compute_time = usage_of(&times);
    r->total_time = (double)times.sum;
    for (size_t i = 0; i < a->figure_count; i++)
        r->usage[i] = usage_of(&g->in_block[number * a->figure_count + i]);
    return 0;
}

static int analysis_results(struct analysis *a, struct gathering *g, struct toll_error *e)
{
    if (g->count)
        qsort(g->times, g->count, sizeof *g->times, by_time);
    a->overall = calloc(a->figure_count + 1, sizeof *a->overall);
    a->blocks = calloc(g->blocks.count + 1, sizeof *a->blocks);
    if (!a->overall || !a->blocks)
        return analysis_no_memory(g, e);
    for (size_t i = 0; i < a->figure_count; i++)
        a->overall[i] = usage_of(&g->overall[i]);
    for (size_t i = 0; i < g->blocks.count; i++)
        if (analysis_block_results(a, g, i) < 0)
            return analysis_no_memory(g, e);
    return 0;
}

int analysis_make(struct analysis *ret, const char *points, const char *blocks,
                  struct toll_error *e)
{
    struct gathering g = {.path = points, .before = (double)NAN};
    *ret = (struct analysis){0};
    int r = blocks ? blocks_read(&g.blocks, blocks, e) : 0;
    if (r == 0)
        r = row_file_open(&g.points, points, e);
    if (r == 0)
        r = analysis_find_points(ret, &g, e);
    if (r == 0)
        r = analysis_read_names(ret, &g, e);
    while (r == 0 && (r = row_file_next(g.points, e)) > 0)
        r = analysis_add_row(ret, &g, e);
    if (r == 0)
        r = analysis_results(ret, &g, e);
    gathering_done(&g);
    if (r < 0)
        analysis_done(ret);
    return r;
}

/* ==== Comparison ============================================================================== */

/* ==== Comparison ============================================================================== */

/* The digits behind the last colon, or NULL. */
static const char *block_line_number(const char *name)
{
    const char *colon = strrchr(name, ':');
    if (!colon || !colon[1] || colon[1 + strspn(colon + 1, "0123456789")])
        return NULL;
    return colon + 1;
}

/* A name as gpu_tracker sorts it: the number of its line with zeros in front, as many digits as the
 * longest of the session has. */
struct sorted_name {
    const char *name;
    size_t lead;  /* bytes in front of the number; all of the name when there is none */
    size_t zeros; /* that follow them */
};

static struct sorted_name sorted_name(const char *name, size_t digits)
{
    const char *line = block_line_number(name);
    if (!line)
        return (struct sorted_name){name, strlen(name), 0};
    return (struct sorted_name){name, (size_t)(line - name), digits - strlen(line)};
}

static unsigned char sorted_byte(const struct sorted_name *s, size_t i)
{
    if (i < s->lead)
        return (unsigned char)s->name[i];
    return i < s->lead + s->zeros ? '0' : (unsigned char)s->name[i - s->zeros];
}

static int by_name(const void *a, const void *b, void *digits)
{
    struct sorted_name x = sorted_name(((const struct block_results *)a)->name, *(size_t *)digits);
    struct sorted_name y = sorted_name(((const struct block_results *)b)->name, *(size_t *)digits);
    size_t i = 0;
    while (sorted_byte(&x, i) && sorted_byte(&x, i) == sorted_byte(&y, i))
        i++;
    return sorted_byte(&x, i) - sorted_byte(&y, i);
}

static void comparison_sort_blocks(struct analysis *a)
{
    size_t digits = 0;
    for (size_t i = 0; i < a->block_count; i++) {
        const char *line = block_line_number(a->blocks[i].name);
        digits = line && strlen(line) > digits ? strlen(line) : digits;
    }
    qsort_r(a->blocks, a->block_count, sizeof *a->blocks, by_name, &digits);
}

static int comparison_match_figures(const struct comparison *c, size_t other, struct toll_error *e)
{
    const struct analysis *first = &c->sessions[c->first], *a = &c->sessions[other];
    for (size_t i = 0; i < first->figure_count || i < a->figure_count; i++)
        if (i >= first->figure_count || i >= a->figure_count ||
            strcmp(first->figures[i], a->figures[i]) != 0)
            return err_set(e, -EINVAL,
                           "The measurements of tracking session \"%s\" are not those of tracking "
                           "session \"%s\".",
                           c->names[other], c->names[c->first]);
    return 0;
}

static int comparison_match_blocks(const struct comparison *c, size_t other,
                                   void (*note)(void *arg, const char *sentence), void *arg,
                                   struct toll_error *e)
{
    const struct analysis *first = &c->sessions[c->first], *a = &c->sessions[other];
    if (first->block_count != a->block_count)
        return err_set(e, -EINVAL,
                       "All sub-tracking results must have the same number of code blocks. The "
                       "first has %zu code blocks but tracking session \"%s\" has %zu code blocks.",
                       first->block_count, c->names[other], a->block_count);
    for (size_t i = 0; i < a->block_count; i++) {
        const char *mine = first->blocks[i].name, *its = a->blocks[i].name;
        if (strcmp(mine, its) == 0)
            continue;
        const char *my_line = block_line_number(mine), *its_line = block_line_number(its);
        if (!my_line || !its_line || my_line - mine != its_line - its ||
            memcmp(mine, its, (size_t)(my_line - mine)) != 0)
            return err_set(e, -EINVAL,
                           "Code block name \"%s\" of tracking session \"%s\" does not match code "
                           "block name \"%s\" of tracking session \"%s\"",
                           mine, c->names[c->first], its, c->names[other]);
        struct buf sentence = {0};
        buf_printf(&sentence,
                   "Code block name \"%s\" of tracking session \"%s\" matched with code block name "
                   "\"%s\" of tracking session \"%s\" but they differ by line number. If these "
                   "code blocks were not meant to match, their comparison will not be valid and "
                   "their names must be disambiguated.",
                   mine, c->names[c->first], its, c->names[other]);
        if (note && !buf_failed(&sentence))
            note(arg, sentence.data);
        buf_done(&sentence);
    }
    return 0;
}

int comparison_match(struct comparison *c, void (*note)(void *arg, const char *sentence), void *arg,
                     struct toll_error *e)
{
    int r = 0;
    c->first = 0;
    for (size_t i = 0; i < c->count; i++) {
        comparison_sort_blocks(&c->sessions[i]);
        if (strcmp(c->names[i], c->names[c->first]) < 0)
            c->first = i;
    }
    for (size_t i = 0; i < c->count && r == 0; i++) {
        r = i == c->first ? 0 : comparison_match_figures(c, i, e);
        if (r == 0 && i != c->first)
            r = comparison_match_blocks(c, i, note, arg, e);
    }
    return r;
}

/* ==== Comparison write ======================================================================== */

/* A comparison as text and as JSON: both get the same figures in the same order. */

/* Where it is written to: one of them is NULL. */
struct writer {
    const struct comparison *c;
    struct buf *text;
    struct json_out *json;
    size_t *order; /* of the sessions, the smallest first */
    double *values;
    bool are_whole;
    unsigned tabs;
};

static void comparison_open_part(struct writer *w, const char *key, bool is_title)
{
    if (w->json) {
        json_put_object(w->json, key);
    } else if (is_title) {
        text_title(w->text, key, w->tabs);
    } else {
        text_tabs(w->text, w->tabs);
        buf_printable(w->text, key, strlen(key));
        buf_puts(w->text, ":\n");
    }
    w->tabs++;
}

static void comparison_close_part(struct writer *w)
{
    if (w->json)
        json_object_end(w->json);
    w->tabs--;
}

/* Those that are equal stand as they were given, what is not known stands last. */
static void comparison_sort(struct writer *w)
{
    for (size_t i = 0; i < w->c->count; i++) {
        size_t at = i;
        for (; at &&
               (isnan(w->values[w->order[at - 1]]) || w->values[w->order[at - 1]] > w->values[i]) &&
               !isnan(w->values[i]);
             at--)
            w->order[at] = w->order[at - 1];
        w->order[at] = i;
    }
}

static void comparison_put_json(struct writer *w)
{
    for (size_t i = 0; i < w->c->count; i++) {
        struct buf number = {0};
        (w->are_whole ? python_integer : python_float)(&number, w->values[w->order[i]]);
        json_key(w->json, w->c->names[w->order[i]]);
        json_raw(w->json, number.data, number.length);
        w->json->buf->failed |= buf_failed(&number);
        buf_done(&number);
    }
}

static void comparison_put_text(struct writer *w)
{
    size_t count = w->c->count;
    const char **names = calloc(count, sizeof *names);
    struct buf *cells = calloc(count, sizeof *cells);
    if (names && cells) {
        for (size_t i = 0; i < count; i++) {
            names[i] = w->c->names[w->order[i]];
            if (w->are_whole) {
                buf_puts(&cells[i], w->values[w->order[i]] < 0 ? "" : " "); /* as pandas does */
                python_integer(&cells[i], w->values[w->order[i]]);
            } else {
                text_number(&cells[i], w->values[w->order[i]]);
            }
            w->text->failed |= buf_failed(&cells[i]);
        }
        struct text_frame f = {.rows = 1, .columns = count, .column_names = names, .cells = cells};
        text_frame_write(w->text, &f, w->tabs);
    } else {
        w->text->failed = true;
    }
    for (size_t i = 0; cells && i < count; i++)
        buf_done(&cells[i]);
    free(cells);
    free(names);
}

static void comparison_put_values(struct writer *w)
{
    comparison_sort(w);
    if (w->json)
        comparison_put_json(w);
    else
        comparison_put_text(w);
}

/* The names it has in the sessions, each once, sorted. */
static void comparison_put_block_name(struct buf *b, const struct comparison *c, size_t block)
{
    const char *last = NULL, *next;
    do {
        next = NULL;
        for (size_t i = 0; i < c->count; i++) {
            const char *name = c->sessions[i].blocks[block].name;
            if ((!last || strcmp(name, last) > 0) && (!next || strcmp(name, next) < 0))
                next = name;
        }
        if (next)
            buf_printf(b, "%s%s", last ? " -> " : "", next);
        last = next;
    } while (next);
}

/* One statistic of one session. Whole numbers are written as such when all of them are. */
static void comparison_set_value(struct writer *w, size_t session, const struct usage *u)
{
    w->values[session] = u->of[w->c->statistic];
    w->are_whole = (w->are_whole || !session) && u->is_integer[w->c->statistic];
}

/* figure: NULL for the time of a call. */
static void comparison_put_blocks(struct writer *w, const size_t *figure)
{
    const struct comparison *c = w->c;
    for (size_t block = 0; block < c->sessions[0].block_count; block++) {
        struct buf name = {0};
        comparison_put_block_name(&name, c, block);
        for (size_t i = 0; i < c->count; i++) {
            const struct block_results *r = &c->sessions[i].blocks[block];
            comparison_set_value(w, i, figure ? &r->usage[*figure] : &r->compute_time);
        }
        if (name.data)
            comparison_open_part(w, name.data, false);
        comparison_put_values(w);
        comparison_close_part(w);
        buf_done(&name);
    }
}

static void comparison_put_all(struct writer *w)
{
    const struct comparison *c = w->c;
    const struct analysis *first = &c->sessions[0];
    comparison_open_part(w, "overall_resource_usage", true);
    for (size_t figure = 0; figure < first->figure_count; figure++) {
        for (size_t i = 0; i < c->count; i++)
            comparison_set_value(w, i, &c->sessions[i].overall[figure]);
        comparison_open_part(w, first->figures[figure], true);
        comparison_put_values(w);
        comparison_close_part(w);
    }
    comparison_close_part(w);
    comparison_open_part(w, "code_block_resource_usage", true);
    for (size_t figure = 0; first->block_count && figure < first->figure_count; figure++) {
        comparison_open_part(w, first->figures[figure], true);
        comparison_put_blocks(w, &figure);
        comparison_close_part(w);
    }
    comparison_close_part(w);
    comparison_open_part(w, "code_block_compute_time", true);
    comparison_put_blocks(w, NULL);
    comparison_close_part(w);
}

static void comparison_write(struct writer *w, struct buf *b)
{
    w->order = calloc(w->c->count, sizeof *w->order);
    w->values = calloc(w->c->count, sizeof *w->values);
    if (w->order && w->values)
        comparison_put_all(w);
    else
        b->failed = true;
    free(w->order);
    free(w->values);
}

void comparison_write_text(struct buf *b, const struct comparison *c)
{
    struct writer w = {.c = c, .text = b};
    comparison_write(&w, b);
}

void comparison_write_json(struct buf *b, const struct comparison *c)
{
    struct json_out j;
    struct writer w = {.c = c, .json = &j};
    json_begin(&j, b, 1);
    json_object(&j);
    comparison_write(&w, b);
    json_object_end(&j);
}
