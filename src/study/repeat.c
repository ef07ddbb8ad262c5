/* SPDX-License-Identifier: MIT
 * Repeated runs of one command, or of one with several parameters: mean and spread of what they
 * used, for people and for programs.
 *
 *   toll: make -j4                                              10 runs, all exit 0
 *              mean ± deviation         range
 *   Time       1.21 s ± 31.0 ms         1.18 s to 1.30 s
 *   CPU        4.51 s ± 12.1 ms         4.49 s to 4.54 s
 *   …
 *   Outliers: time of run 7 (1.30 s). */
#include "base/err.h"
#include "base/memory.h"
#include "base/text/json.h"
#include "sink/text/text.h"
#include "study/study.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define REPEAT_SCHEMA "toll.repeat/1"

/* The runs of one command with one set of parameters. */
struct repeat_group {
    char **parameters; /* owned, "name=value", NULL-terminated */
    size_t *runs;      /* owned: which of all runs, in their order */
    size_t count, capacity;
    size_t failed;
};

struct toll_repeats {
    struct study_runs runs;
    struct repeat_group *groups; /* owned, in the order of their first runs */
    size_t count, capacity;
};

/* ==== The runs ================================================================================ */

int toll_repeats_new(struct toll_repeats **ret, struct toll_error *e)
{
    if (!ret)
        return err_set_no_place(e);
    *ret = calloc(1, sizeof **ret);
    return *ret ? 0 : err_set(e, -ENOMEM, "cannot keep runs: out of memory");
}

void toll_repeats_free(struct toll_repeats *r)
{
    for (size_t i = 0; r && i < r->count; i++) {
        for (char **p = r->groups[i].parameters; p && *p; p++)
            free(*p);
        free(r->groups[i].parameters);
        free(r->groups[i].runs);
    }
    if (r) {
        free(r->groups);
        study_runs_done(&r->runs);
    }
    free(r);
}

static bool words_are_same(char *const *a, const char *const *b)
{
    static char *const none[] = {NULL};
    a = a ? a : none;
    while (*a && b && *b && strcmp(*a, *b) == 0)
        a++, b++;
    return !*a && (!b || !*b);
}

static struct repeat_group *repeats_group(struct toll_repeats *r, const struct study_run *run,
                                          const char *const *parameters)
{
    for (size_t i = 0; i < r->count; i++) {
        const struct study_run *first = &r->runs.items[r->groups[i].runs[0]];
        if (words_are_same(r->groups[i].parameters, parameters) &&
            words_are_same(first->command, (const char *const *)run->command))
            return &r->groups[i];
    }
    if (!ARRAY_RESERVE(r->groups, r->capacity, r->count + 1))
        return NULL;
    struct repeat_group *g = &r->groups[r->count];
    *g = (struct repeat_group){0};
    for (const char *const *p = parameters; p && *p; p++) {
        char *copy = strdup(*p);
        if (!copy || !list_append(&g->parameters, copy)) {
            free(copy);
            for (char **word = g->parameters; word && *word; word++)
                free(*word);
            free(g->parameters);
            return NULL;
        }
    }
    if (!ARRAY_RESERVE(g->runs, g->capacity, 1)) {
        for (char **word = g->parameters; word && *word; word++)
            free(*word);
        free(g->parameters);
        return NULL;
    }
    r->count++;
    return g;
}

int repeats_add(struct toll_repeats *r, const struct summary *s, const char *const *parameters)
{
    if (!study_add_summary(&r->runs, s))
        return -ENOMEM;
    struct study_run *run = &r->runs.items[r->runs.count - 1];
    struct repeat_group *g = repeats_group(r, run, parameters);
    if (!g || !ARRAY_RESERVE(g->runs, g->capacity, g->count + 1)) {
        study_run_done(run);
        r->runs.count--;
        return -ENOMEM;
    }
    g->runs[g->count++] = r->runs.count - 1;
    g->failed += !run->end.ended || run->end.unknown || run->end.signaled || run->end.status;
    return 0;
}

static const struct study_run *group_run(const struct toll_repeats *r, const struct repeat_group *g,
                                         size_t i)
{
    return &r->runs.items[g->runs[i]];
}

/* ==== Statistics ============================================================================== */

/* A figure of the runs of a group. */
struct repeat_figure {
    struct statistics statistics; /* of the runs that have it */
    enum quality quality;         /* the worst of them; unknown: none has it */
    size_t outliers;
    bool *is_outlier; /* owned: of each run */
};

static void repeat_figure_done(struct repeat_figure *f)
{
    free(f->is_outlier);
    *f = (struct repeat_figure){0};
}

/* False without memory. */
static bool repeat_figure_take(struct repeat_figure *ret, const struct toll_repeats *r,
                               const struct repeat_group *g, enum study_figure id)
{
    CLEANUP_FREE double *values = calloc(g->count + 1, sizeof *values);
    CLEANUP_FREE bool *marks = calloc(g->count + 1, sizeof *marks);
    *ret = (struct repeat_figure){.is_outlier = calloc(g->count + 1, sizeof *ret->is_outlier)};
    size_t known = 0;
    if (!values || !marks || !ret->is_outlier)
        goto fail;
    for (size_t i = 0; i < g->count; i++) {
        const struct study_value *v = &group_run(r, g, i)->figures[id];
        if (v->quality == QUALITY_UNKNOWN)
            continue;
        ret->quality = !known || v->quality < ret->quality ? v->quality : ret->quality;
        values[known++] = v->value;
    }
    int found = statistics_outliers(values, known, marks);
    if (found < 0 || statistics_of(values, known, &ret->statistics) < 0)
        goto fail;
    ret->outliers = (size_t)found;
    known = 0;
    for (size_t i = 0; i < g->count; i++)
        if (group_run(r, g, i)->figures[id].quality != QUALITY_UNKNOWN)
            ret->is_outlier[i] = marks[known++];
    return true;
fail:
    repeat_figure_done(ret);
    return false;
}

/* The fastest first; groups whose time is the same in their order. */
struct repeat_rank {
    const struct repeat_group *group;
    double mean, sd;
};

static int rank_compare(const void *left, const void *right)
{
    const struct repeat_rank *a = left, *b = right;
    if (a->mean != b->mean)
        return a->mean < b->mean ? -1 : 1;
    return (a->group > b->group) - (a->group < b->group);
}

/* Owned by the caller; NULL without memory. */
static struct repeat_rank *repeats_rank(const struct toll_repeats *r)
{
    struct repeat_rank *ranks = calloc(r->count + 1, sizeof *ranks);
    for (size_t i = 0; ranks && i < r->count; i++) {
        struct repeat_figure time;
        if (!repeat_figure_take(&time, r, &r->groups[i], FIGURE_WALL)) {
            free(ranks);
            return NULL;
        }
        ranks[i] = (struct repeat_rank){&r->groups[i], time.statistics.mean, time.statistics.sd};
        repeat_figure_done(&time);
    }
    if (ranks)
        qsort(ranks, r->count, sizeof *ranks, rank_compare);
    return ranks;
}

/* How many times as long as the fastest, and how sure that is; the deviations are taken as
 * independent, as hyperfine does. */
static double rank_relative(const struct repeat_rank *of, const struct repeat_rank *fastest,
                            double *ret_sd)
{
    if (!(fastest->mean > 0) || !(of->mean > 0)) {
        *ret_sd = 0;
        return (double)NAN;
    }
    double ratio = of->mean / fastest->mean;
    double a = of->sd / of->mean, b = fastest->sd / fastest->mean;
    *ret_sd = of == fastest ? 0 : ratio * square_root(a * a + b * b);
    return ratio;
}

/* ==== Text ==================================================================================== */

/* The rows of the text: what most want to know, in lines enough for any command. */
static const struct repeat_row {
    enum study_figure figure;
    const char *label;
    bool is_always;   /* also when it is not known */
    bool is_of_parts; /* of the figure above: its outliers are those of that one */
} repeat_rows[] = {
    {FIGURE_WALL, "Time", true, false},
    {FIGURE_CPU, "CPU", true, false},
    {FIGURE_CPU_USER, "  user", false, true},
    {FIGURE_CPU_SYSTEM, "  system", false, true},
    {FIGURE_MEMORY_PEAK, "Memory", true, false},
    {FIGURE_STORAGE_READ, "Disk read", false, false},
    {FIGURE_STORAGE_WRITTEN, "  written", false, false},
    {FIGURE_NETWORK_RECEIVED, "Received", false, false},
    {FIGURE_NETWORK_SENT, "Sent", false, false},
    {FIGURE_GPU_MEMORY_PEAK, "GPU memory", false, false},
    {FIGURE_ENERGY, "Energy", false, false},
};

enum { LABEL_COLUMNS = 13, MEAN_COLUMNS = 26, RANGE_COLUMNS = 26 };

static void put_value(struct buf *b, enum study_figure id, double value)
{
    human_number(b, metric_of(study_figures[id].unit), value);
}

static void put_mean(struct buf *b, enum study_figure id, const struct repeat_figure *f)
{
    if (f->quality == QUALITY_UNKNOWN) {
        buf_puts(b, "unknown");
        return;
    }
    buf_puts(b, f->quality == QUALITY_LOWER_BOUND ? AT_LEAST : "");
    put_value(b, id, f->statistics.mean);
    if (f->statistics.count > 1 && f->statistics.sd > 0) {
        buf_puts(b, " ± ");
        put_value(b, id, f->statistics.sd);
    }
}

static void put_range(struct buf *b, enum study_figure id, const struct repeat_figure *f)
{
    if (f->quality == QUALITY_UNKNOWN || f->statistics.count < 2 || !(f->statistics.sd > 0))
        return;
    buf_puts(b, f->quality == QUALITY_LOWER_BOUND ? AT_LEAST : "");
    put_value(b, id, f->statistics.min);
    buf_puts(b, " to ");
    put_value(b, id, f->statistics.max);
}

/* The cells of a line are padded to their columns, which a long one pushes to the right. */
static void put_cell(struct buf *b, const struct buf *cell, unsigned columns)
{
    size_t start = b->length;
    if (cell->length)
        buf_add(b, cell->data, cell->length);
    b->failed |= buf_failed(cell);
    buf_pad(b, start, columns - 2);
    buf_puts(b, "  ");
}

static void trim_line(struct buf *b)
{
    while (b->length && b->data[b->length - 1] == ' ')
        b->length--;
    buf_putc(b, '\n');
}

static void text_row(struct buf *b, const struct repeat_group *g, enum study_figure id,
                     const char *label, const struct repeat_figure *f)
{
    struct buf cell = buf_like(b);
    size_t start = b->length;
    buf_printf(b, "  %s", label);
    buf_pad(b, start, LABEL_COLUMNS);
    put_mean(&cell, id, f);
    put_cell(b, &cell, MEAN_COLUMNS);
    buf_clear(&cell);
    put_range(&cell, id, f);
    put_cell(b, &cell, RANGE_COLUMNS);
    if (f->statistics.count && f->statistics.count < g->count)
        buf_printf(b, "in %zu of %zu", f->statistics.count, g->count);
    trim_line(b);
    buf_done(&cell);
}

/* "time of run 3 (1.45 s) and run 7 (1.38 s)". Runs are counted from 1 in their group. */
static void put_outliers(struct buf *b, const struct toll_repeats *r, const struct repeat_group *g,
                         enum study_figure id, const struct repeat_figure *f)
{
    enum { NAMED = 3 };
    static const char *const names[STUDY_FIGURES] = {
        [FIGURE_WALL] = "time",
        [FIGURE_CPU] = "CPU",
        [FIGURE_MEMORY_PEAK] = "memory",
        [FIGURE_STORAGE_READ] = "disk read",
        [FIGURE_STORAGE_WRITTEN] = "disk written",
        [FIGURE_NETWORK_RECEIVED] = "received",
        [FIGURE_NETWORK_SENT] = "sent",
        [FIGURE_GPU_MEMORY_PEAK] = "GPU memory",
        [FIGURE_ENERGY] = "energy",
    };
    size_t named = 0;
    buf_printf(b, "%s%s of", b->length ? "; " : "", names[id]);
    for (size_t i = 0; i < g->count && named < NAMED; i++) {
        if (!f->is_outlier[i])
            continue;
        bool is_last = named + 1 == f->outliers;
        buf_printf(b, "%s run %zu (", !named ? "" : is_last ? " and" : ",", i + 1);
        const struct study_value *v = &group_run(r, g, i)->figures[id];
        size_t start = b->length;
        buf_puts(b, v->quality == QUALITY_LOWER_BOUND ? AT_LEAST : "");
        put_value(b, id, v->value);
        for (size_t k = start; k < b->length; k++)
            b->data[k] = b->data[k] == ' ' ? UNBROKEN : b->data[k];
        buf_putc(b, ')');
        named++;
    }
    if (f->outliers > named)
        buf_printf(b, " and %zu more", f->outliers - named);
}

static void put_parameters(struct buf *b, const struct repeat_group *g)
{
    for (char **p = g->parameters; p && *p; p++) {
        buf_puts(b, p == g->parameters ? "" : ", ");
        buf_printable(b, *p, strlen(*p));
    }
}

/* What ran, and at the right how often. */
static void text_title(struct sink *s, const struct toll_repeats *r, const struct repeat_group *g)
{
    struct buf right = {0};
    struct sink left = {.columns = s->columns};
    buf_puts(&left.text, "toll: ");
    if (g->parameters) {
        put_parameters(&left.text, g);
        buf_puts(&left.text, ": ");
    }
    text_command(&left, group_run(r, g, 0)->command);
    buf_printf(&right, "%zu run%s", g->count, g->count == 1 ? "" : "s");
    if (g->failed)
        buf_printf(&right, ", %zu failed", g->failed);
    size_t width = text_width(s), room = width - right.length - 2;
    text_cut(&left.text, 0, (unsigned)room);
    text_style(s, BOLD);
    size_t start = s->text.length;
    if (left.text.length)
        buf_add(&s->text, left.text.data, left.text.length);
    buf_pad(&s->text, start, (unsigned)room);
    text_style(s, PLAIN);
    buf_puts(&s->text, "  ");
    text_style(s, g->failed ? RED : "");
    if (right.length)
        buf_add(&s->text, right.data, right.length);
    text_style(s, g->failed ? PLAIN : "");
    buf_putc(&s->text, '\n');
    s->text.failed |= buf_failed(&left.text) || buf_failed(&right);
    buf_done(&left.text);
    buf_done(&right);
}

/* One command: at most sixteen lines, more with every figure. */
static void text_group(struct sink *s, const struct toll_repeats *r, const struct repeat_group *g)
{
    struct buf outliers = buf_like(&s->text);
    bool is_first_slow = false;
    text_title(s, r, g);
    if (g->count > 1) {
        struct buf head = {0};
        size_t start = s->text.length;
        buf_pad(&s->text, start, LABEL_COLUMNS);
        buf_puts(&head, "mean ± deviation");
        text_style(s, DIM);
        put_cell(&s->text, &head, MEAN_COLUMNS);
        buf_puts(&s->text, "range");
        text_style(s, PLAIN);
        buf_putc(&s->text, '\n');
        buf_done(&head);
    }
    for (size_t i = 0; i < ARRAY_LEN(repeat_rows); i++) {
        const struct repeat_row *row = &repeat_rows[i];
        struct repeat_figure f;
        if (!repeat_figure_take(&f, r, g, row->figure)) {
            s->text.failed = true;
            break;
        }
        if (row->is_always || f.quality != QUALITY_UNKNOWN)
            text_row(&s->text, g, row->figure, row->label, &f);
        if (f.outliers && !row->is_of_parts)
            put_outliers(&outliers, r, g, row->figure, &f);
        if (row->figure == FIGURE_WALL && f.outliers)
            is_first_slow = f.is_outlier[0] &&
                            group_run(r, g, 0)->figures[FIGURE_WALL].value > f.statistics.mean;
        repeat_figure_done(&f);
    }
    bool has_outliers = outliers.length && !buf_failed(&outliers);
    if (has_outliers) {
        buf_putc(&outliers, '.');
        text_paragraph_done(s, "  Outliers: ", &outliers);
    }
    if (is_first_slow && (s->flags & TOLL_OUTPUT_HINTS))
        text_paragraph(s, "  ", "The first run was slower: --warmup 1 leaves it out.");
    buf_done(&outliers);
}

/* Every figure that is known, after the lines that all want. */
static void text_all_figures(struct sink *s, const struct toll_repeats *r,
                             const struct repeat_group *g)
{
    enum { TITLE_COLUMNS = 30 };
    for (unsigned id = 0; id < STUDY_FIGURES; id++) {
        struct repeat_figure f;
        struct buf cell = buf_like(&s->text);
        bool has_row = false;
        for (size_t i = 0; i < ARRAY_LEN(repeat_rows); i++)
            has_row |= repeat_rows[i].figure == id;
        if (has_row)
            continue;
        if (!repeat_figure_take(&f, r, g, id)) {
            s->text.failed = true;
            return;
        }
        if (f.quality != QUALITY_UNKNOWN) {
            size_t start = s->text.length;
            buf_printf(&s->text, "  %s", study_figures[id].title);
            buf_pad(&s->text, start, TITLE_COLUMNS + 4);
            put_mean(&cell, id, &f);
            put_cell(&s->text, &cell, MEAN_COLUMNS - 2);
            buf_clear(&cell);
            put_range(&cell, id, &f);
            put_cell(&s->text, &cell, RANGE_COLUMNS);
            trim_line(&s->text);
        }
        buf_done(&cell);
        repeat_figure_done(&f);
    }
}

/* ---- Several commands ------------------------------------------------------------------------ */

/* What a table has of each command, beside its parameters. */
enum table_column {
    TABLE_TIME,
    TABLE_RELATIVE,
    TABLE_CPU,
    TABLE_MEMORY,
    TABLE_RUNS,
    TABLE_COLUMNS
};

static const char *const table_headings[TABLE_COLUMNS] = {[TABLE_TIME] = "time",
                                                          [TABLE_RELATIVE] = "relative",
                                                          [TABLE_CPU] = "CPU",
                                                          [TABLE_MEMORY] = "memory",
                                                          [TABLE_RUNS] = "runs"};

static void table_put(struct buf *b, const struct toll_repeats *r, const struct repeat_rank *rank,
                      const struct repeat_rank *fastest, enum table_column column)
{
    static const enum study_figure figures[TABLE_COLUMNS] = {
        [TABLE_TIME] = FIGURE_WALL, [TABLE_CPU] = FIGURE_CPU, [TABLE_MEMORY] = FIGURE_MEMORY_PEAK};
    struct repeat_figure f;
    double sd, ratio;
    switch (column) {
    case TABLE_RELATIVE:
        ratio = rank_relative(rank, fastest, &sd);
        if (isnan(ratio)) {
            buf_puts(b, "unknown");
            break;
        }
        buf_double_fixed(b, ratio, 2);
        if (sd > 0) {
            buf_puts(b, " ± ");
            buf_double_fixed(b, sd, 2);
        }
        break;
    case TABLE_RUNS:
        buf_printf(b, "%zu", rank->group->count);
        if (rank->group->failed)
            buf_printf(b, ", %zu failed", rank->group->failed);
        break;
    default:
        if (!repeat_figure_take(&f, r, rank->group, figures[column])) {
            b->failed = true;
            break;
        }
        if (column == TABLE_TIME) {
            put_mean(b, figures[column], &f);
        } else {
            f.statistics.sd = 0; /* the means alone: the table is to be read at a glance */
            put_mean(b, figures[column], &f);
        }
        repeat_figure_done(&f);
    }
}

/* The name of a row: its parameters, or its command where there are none. */
static void table_put_name(struct buf *b, const struct toll_repeats *r,
                           const struct repeat_group *g)
{
    struct sink command = {0};
    if (g->parameters) {
        put_parameters(b, g);
        return;
    }
    text_command(&command, group_run(r, g, 0)->command);
    if (command.text.length)
        buf_add(b, command.text.data, command.text.length);
    b->failed |= buf_failed(&command.text);
    buf_done(&command.text);
}

static void text_table_of_groups(struct sink *s, const struct toll_repeats *r,
                                 const struct repeat_rank *ranks)
{
    enum { NAME_MOST = 30 };
    size_t name_columns = 0, columns[TABLE_COLUMNS] = {0}, rows = r->count + 1;
    /* All cells first: a column is as wide as its widest cell. */
    struct buf *cells = calloc(rows * (TABLE_COLUMNS + 1), sizeof *cells);
    if (!cells) {
        s->text.failed = true;
        return;
    }
    for (size_t i = 0; i < rows; i++) {
        struct buf *row = &cells[i * (TABLE_COLUMNS + 1)];
        for (unsigned c = 0; c <= TABLE_COLUMNS; c++)
            row[c].units = s->text.units;
        if (i)
            table_put_name(row, r, ranks[i - 1].group);
        text_cut(row, 0, NAME_MOST);
        size_t wide = row->length ? utf8_columns(row->data, row->length) : 0;
        name_columns = wide > name_columns ? wide : name_columns;
        for (unsigned c = 0; c < TABLE_COLUMNS; c++) {
            if (i)
                table_put(&row[c + 1], r, &ranks[i - 1], ranks, c);
            else
                buf_puts(&row[c + 1], table_headings[c]);
            wide = row[c + 1].length ? utf8_columns(row[c + 1].data, row[c + 1].length) : 0;
            columns[c] = wide > columns[c] ? wide : columns[c];
        }
    }
    size_t width = text_width(s);
    for (size_t i = 0; i < rows; i++) {
        struct buf *row = &cells[i * (TABLE_COLUMNS + 1)];
        size_t at = 2 + name_columns;
        text_style(s, i == 0 ? DIM : "");
        buf_puts(&s->text, "  ");
        size_t start = s->text.length;
        if (row->length)
            buf_add(&s->text, row->data, row->length);
        buf_pad(&s->text, start, (unsigned)name_columns);
        for (unsigned c = 0; c < TABLE_COLUMNS && at + 2 + columns[c] <= width; c++) {
            buf_puts(&s->text, "  ");
            start = s->text.length;
            if (row[c + 1].length)
                buf_add(&s->text, row[c + 1].data, row[c + 1].length);
            buf_pad(&s->text, start, (unsigned)columns[c]);
            at += 2 + columns[c];
        }
        while (s->text.length && s->text.data[s->text.length - 1] == ' ')
            s->text.length--;
        text_style(s, i == 0 ? PLAIN : "");
        buf_putc(&s->text, '\n');
    }
    for (size_t i = 0; i < rows * (TABLE_COLUMNS + 1); i++) {
        s->text.failed |= buf_failed(&cells[i]);
        buf_done(&cells[i]);
    }
    free(cells);
}

static void repeats_text(struct sink *s, const struct toll_repeats *r)
{
    bool is_verbose = s->flags & TOLL_OUTPUT_VERBOSE;
    struct repeat_rank *ranks = repeats_rank(r);
    size_t start = s->text.length;
    if (!ranks) {
        s->text.failed = true;
        return;
    }
    for (size_t i = 0; i < r->count && (r->count == 1 || is_verbose); i++) {
        text_group(s, r, ranks[i].group);
        if (is_verbose)
            text_all_figures(s, r, ranks[i].group);
        if (r->count > 1)
            buf_putc(&s->text, '\n');
    }
    if (r->count > 1) {
        text_style(s, BOLD);
        buf_printf(&s->text, "toll: %zu commands, the fastest first", r->count);
        text_style(s, PLAIN);
        buf_putc(&s->text, '\n');
        text_table_of_groups(s, r, ranks);
    }
    if (s->flags & TOLL_OUTPUT_ASCII)
        text_to_ascii(&s->text, start);
    free(ranks);
}

/* ==== Markdown ================================================================================ */

/* In a cell of a table: nothing that ends it or is markup. */
static void markdown_put(struct buf *b, const struct buf *text)
{
    for (size_t i = 0; i < text->length; i++) {
        if (strchr("\\`*_{}[]()#+!|~@<>&", text->data[i]))
            buf_putc(b, '\\');
        buf_putc(b, text->data[i]);
    }
    b->failed |= buf_failed(text);
}

static void repeats_markdown(struct buf *b, const struct toll_repeats *r)
{
    struct repeat_rank *ranks = repeats_rank(r);
    bool has_parameters = r->count && r->groups[0].parameters;
    if (!ranks) {
        b->failed = true;
        return;
    }
    buf_printf(b, "| %s | mean time | range | relative | CPU | memory | runs |\n",
               has_parameters ? "Parameters" : "Command");
    buf_puts(b, "|---|--:|--:|--:|--:|--:|--:|\n");
    for (size_t i = 0; i < r->count; i++) {
        struct buf name = {0};
        struct repeat_figure time;
        table_put_name(&name, r, ranks[i].group);
        buf_puts(b, "| ");
        markdown_put(b, &name);
        buf_done(&name);
        buf_puts(b, " | ");
        table_put(b, r, &ranks[i], ranks, TABLE_TIME);
        buf_puts(b, " | ");
        if (repeat_figure_take(&time, r, ranks[i].group, FIGURE_WALL))
            put_range(b, FIGURE_WALL, &time);
        else
            b->failed = true;
        repeat_figure_done(&time);
        static const enum table_column rest[] = {TABLE_RELATIVE, TABLE_CPU, TABLE_MEMORY,
                                                 TABLE_RUNS};
        for (size_t c = 0; c < ARRAY_LEN(rest); c++) {
            buf_puts(b, " | ");
            table_put(b, r, &ranks[i], ranks, rest[c]);
        }
        buf_puts(b, " |\n");
    }
    free(ranks);
}

/* ==== JSON ==================================================================================== */

static int run_status(const struct study_run *run)
{
    if (!run->end.ended || run->end.unknown)
        return -1;
    return run->end.status + (run->end.signaled ? 128 : 0);
}

static void json_put_figure(struct json_out *j, const struct toll_repeats *r,
                            const struct repeat_group *g, enum study_figure id)
{
    struct repeat_figure f;
    if (!repeat_figure_take(&f, r, g, id)) {
        j->buf->failed = true;
        return;
    }
    json_key(j, study_figures[id].key);
    if (f.quality == QUALITY_UNKNOWN) {
        json_null(j);
        repeat_figure_done(&f);
        return;
    }
    json_object(j);
    json_put_number(j, "mean", f.statistics.mean);
    json_put_number(j, "stddev", f.statistics.count > 1 ? f.statistics.sd : (double)NAN);
    json_put_number(j, "median", f.statistics.median);
    json_put_number(j, "min", f.statistics.min);
    json_put_number(j, "max", f.statistics.max);
    json_put_string(j, "quality", toll_quality_word((enum toll_quality)f.quality));
    json_put_array(j, "values");
    for (size_t i = 0; i < g->count; i++) {
        const struct study_value *v = &group_run(r, g, i)->figures[id];
        json_number(j, v->quality == QUALITY_UNKNOWN ? (double)NAN : v->value);
    }
    json_array_end(j);
    json_put_array(j, "outliers");
    for (size_t i = 0; i < g->count; i++)
        if (f.is_outlier[i])
            json_u64(j, i + 1);
    json_array_end(j);
    json_object_end(j);
    repeat_figure_done(&f);
}

static void json_put_group(struct json_out *j, const struct toll_repeats *r,
                           const struct repeat_group *g)
{
    json_object(j);
    json_put_array(j, "command");
    for (char **word = group_run(r, g, 0)->command; *word; word++)
        json_string(j, *word);
    json_array_end(j);
    json_put_object(j, "parameters");
    for (char **p = g->parameters; p && *p; p++) {
        size_t length = strcspn(*p, "=");
        char name[128];
        snprintf(name, sizeof name, "%.*s", (int)length, *p);
        json_put_string(j, name, (*p)[length] ? *p + length + 1 : "");
    }
    json_object_end(j);
    json_put_u64(j, "runs", g->count);
    json_put_u64(j, "failed", g->failed);
    json_put_array(j, "ids");
    for (size_t i = 0; i < g->count; i++)
        json_string(j, group_run(r, g, i)->id);
    json_array_end(j);
    json_put_array(j, "exit_statuses");
    for (size_t i = 0; i < g->count; i++)
        if (run_status(group_run(r, g, i)) < 0)
            json_null(j);
        else
            json_i64(j, run_status(group_run(r, g, i)));
    json_array_end(j);
    json_put_object(j, "figures");
    for (unsigned id = 0; id < STUDY_FIGURES; id++)
        json_put_figure(j, r, g, id);
    json_object_end(j);
    json_object_end(j);
}

static void repeats_json(struct buf *b, const struct toll_repeats *r)
{
    struct json_out j;
    json_begin(&j, b, 2);
    json_object(&j);
    json_put_string(&j, "schema", REPEAT_SCHEMA);
    json_put_string(&j, "toll", TOLL_VERSION);
    json_put_array(&j, "results");
    for (size_t i = 0; i < r->count; i++)
        json_put_group(&j, r, &r->groups[i]);
    json_array_end(&j);
    json_object_end(&j);
    buf_putc(b, '\n');
}

/* ==== hyperfine =============================================================================== */

static double value_or_nan(const struct study_run *run, enum study_figure id)
{
    const struct study_value *v = &run->figures[id];
    return v->quality > QUALITY_LOWER_BOUND ? v->value : (double)NAN;
}

static void repeats_hyperfine(struct buf *b, const struct toll_repeats *r)
{
    struct hyperfine_result *results = calloc(r->count + 1, sizeof *results);
    struct hyperfine_run *runs = calloc(r->runs.count + 1, sizeof *runs);
    size_t at = 0;
    bool failed = !results || !runs;
    for (size_t i = 0; !failed && i < r->count; i++) {
        const struct repeat_group *g = &r->groups[i];
        struct repeat_figure time;
        if (!repeat_figure_take(&time, r, g, FIGURE_WALL)) {
            failed = true;
            break;
        }
        const struct statistics *s = &time.statistics;
        results[i] = (struct hyperfine_result){
            .command = group_run(r, g, 0)->command,
            .parameters = g->parameters,
            .runs = &runs[at],
            .count = g->count,
            .mean = s->mean,
            .sd = s->count > 1 ? s->sd : (double)NAN,
            .median = s->median,
            .min = s->min,
            .max = s->max,
        };
        repeat_figure_done(&time);
        for (size_t k = 0; k < g->count; k++) {
            const struct study_run *run = group_run(r, g, k);
            runs[at++] = (struct hyperfine_run){
                .wall_seconds = run->figures[FIGURE_WALL].value,
                .user_seconds = value_or_nan(run, FIGURE_CPU_USER),
                .system_seconds = value_or_nan(run, FIGURE_CPU_SYSTEM),
                .memory_bytes = value_or_nan(run, FIGURE_MEMORY_PEAK),
                .status = run_status(run),
            };
        }
    }
    if (failed)
        b->failed = true;
    else
        hyperfine_write(b, results, r->count);
    free(results);
    free(runs);
}

/* ==== All forms =============================================================================== */

int toll_repeats_text(const struct toll_repeats *r, const struct toll_output *output, char **ret,
                      struct toll_error *e)
{
    struct toll_output like = {.size = sizeof like};
    if (!r)
        return err_set(e, -EINVAL, "repeats is NULL");
    if (!ret)
        return err_set_no_place(e);
    int result = output ? sized_take(&like, sizeof like, output, "output", e) : 0;
    if (result < 0)
        return result;
    const char *format = like.format ? like.format : "text";
    struct sink s = {.fd = -1, .flags = like.flags, .columns = like.columns};
    s.text.units = like.flags & TOLL_OUTPUT_BYTES ? BYTES_PLAIN
                   : like.flags & TOLL_OUTPUT_SI  ? BYTES_DECIMAL
                                                  : BYTES_BINARY;
    if (strcmp(format, "text") == 0)
        repeats_text(&s, r);
    else if (strcmp(format, "markdown") == 0)
        repeats_markdown(&s.text, r);
    else if (strcmp(format, "json") == 0)
        repeats_json(&s.text, r);
    else if (strcmp(format, "hyperfine") == 0)
        repeats_hyperfine(&s.text, r);
    else
        return err_set(e, -EINVAL,
                       "format '%s' cannot show repeated runs (expected text, markdown, json or "
                       "hyperfine)",
                       format);
    char *text = buf_take(&s.text);
    if (!text)
        return err_set(e, -ENOMEM, "cannot write the result: out of memory");
    *ret = text;
    return 0;
}
