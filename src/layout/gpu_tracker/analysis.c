/* SPDX-License-Identifier: MIT */
#include "layout/gpu_tracker/analysis.h"

#include "base/err.h"
#include "base/memory.h"
#include "base/text/scan.h"
#include "layout/gpu_tracker/blocks.h"
#include "layout/gpu_tracker/row_file.h"

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
