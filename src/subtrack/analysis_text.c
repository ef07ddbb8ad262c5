/* SPDX-License-Identifier: MIT */
#include "base/utf8.h"
#include "subtrack/analysis.h"
#include "subtrack/results_text.h"

#include <string.h>

static struct buf *new_cells(size_t count)
{
    return calloc(count + 1, sizeof(struct buf));
}

static void free_cells(struct buf *cells, size_t count)
{
    for (size_t i = 0; cells && i < count; i++)
        buf_done(&cells[i]);
    free(cells);
}

static void write_frame(struct buf *b, struct text_frame *f, unsigned tabs)
{
    size_t count = f->rows * f->columns;
    for (size_t i = 0; f->cells && i < count; i++)
        b->failed |= buf_failed(&f->cells[i]);
    if (f->cells)
        text_frame_write(b, f, tabs);
    else
        b->failed = true;
    free_cells(f->cells, count);
}

static void write_usage(struct buf *b, const struct analysis *a, const struct usage *u,
                        unsigned tabs)
{
    struct text_frame f = {
        .rows = a->figure_count,
        .columns = STATISTICS,
        .row_names = (const char *const *)a->figures,
        .column_names = statistic_names,
        .cells = new_cells(a->figure_count * STATISTICS),
    };
    for (size_t i = 0; f.cells && i < f.rows * f.columns; i++)
        text_number(&f.cells[i], u[i / STATISTICS].of[i % STATISTICS]);
    write_frame(b, &f, tabs);
}

static void write_facts(struct buf *b, const struct analysis *a)
{
    const char **names = calloc(a->fact_count + 1, sizeof *names);
    struct text_frame f = {
        .rows = 1,
        .columns = a->fact_count,
        .column_names = names,
        .cells = names ? new_cells(a->fact_count) : NULL,
        .is_text = true,
    };
    for (size_t i = 0; f.cells && i < a->fact_count; i++) {
        const struct session_fact *fact = &a->facts[i];
        names[i] = fact->name;
        if (fact->is_number && !fact->is_integer)
            text_number(&f.cells[i], fact->number);
        else
            buf_printf(&f.cells[i], " %s", fact->text);
    }
    write_frame(b, &f, 1);
    free(names);
}

static void write_times(struct buf *b, const struct block_results *r)
{
    const char *names[STATISTICS + 1];
    memcpy(names, statistic_names, sizeof statistic_names);
    names[STATISTICS] = "total";
    struct text_frame f = {
        .rows = 1,
        .columns = STATISTICS + 1,
        .column_names = names,
        .cells = new_cells(STATISTICS + 1),
    };
    for (unsigned i = 0; f.cells && i < f.columns; i++)
        text_number(&f.cells[i], i < STATISTICS ? r->compute_time.of[i] : r->total_time);
    write_frame(b, &f, 2);
}

static void write_block(struct buf *b, const struct analysis *a, const struct block_results *r)
{
    buf_puts(b, "\tName:                ");
    buf_printable(b, r->name, strlen(r->name));
    buf_putc(b, '\n');
    buf_printf(b, "\tNum Timepoints:      %llu\n", (unsigned long long)r->timepoints);
    buf_printf(b, "\tNum Calls:           %llu\n", (unsigned long long)r->calls);
    buf_printf(b, "\tNum Non Empty Calls: %llu\n", (unsigned long long)r->non_empty_calls);
    text_title(b, "compute_time", 1);
    write_times(b, r);
    text_title(b, "resource_usage", 1);
    write_usage(b, a, r->usage, 2);
    buf_putc(b, '\n');
}

void analysis_write_text(struct buf *b, const struct analysis *a)
{
    text_title(b, "overall", 0);
    write_usage(b, a, a->overall, 1);
    text_title(b, "static_data", 0);
    write_facts(b, a);
    text_title(b, "code_block_results", 0);
    for (size_t i = 0; i < a->block_count; i++)
        write_block(b, a, &a->blocks[i]);
}
