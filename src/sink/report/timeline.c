/* SPDX-License-Identifier: MIT
 * Events, phases and processes as bars over time. Bars that are not at the same time share a row,
 * so that hundreds of short processes of a build take as many rows as ran at once. The picture is
 * as wide as the page, and texts keep their size: what a bar has room for differs between a screen
 * and a phone, where a letter takes about three times as much of the width. */
#include "sink/report/report.h"

#include <stdlib.h>
#include <string.h>

enum {
    BAR = 18,      /* height of a bar */
    BAR_STEP = 23, /* from one row to the next */
    NAME_LETTERS = 24,
    EVENT_LETTERS = 20,
    CPU_LETTERS = 14, /* ", CPU ≥ 1.23 ms" and a little */
    PHONE = 3,        /* times the width of a letter */
    ROWS_NAMED = 16,  /* with more rows than these, bars do not keep room for their names */
    ROWS = 30,        /* with more, processes with little CPU time are left out */
    MOST_BARS = REPORT_PHASES > REPORT_PROCESSES ? REPORT_PHASES : REPORT_PROCESSES,
};

enum timeline_side { SIDE_NONE, SIDE_IN, SIDE_RIGHT, SIDE_LEFT };

struct timeline_bar {
    const struct report_span *span;
    double from, until;  /* in units of the picture */
    double name, figure; /* width of its name, and of its CPU time after it */
    double start, end;   /* what it keeps free in its row */
    unsigned row;
};

/* What has bars: phases or processes. */
struct timeline_part {
    struct timeline_bar bars[MOST_BARS]; /* in the order of their beginning */
    unsigned count, rows;
};

bool timeline_is_empty(const struct report *r)
{
    return !r->phase_count && !r->event_count && r->process_count < 2;
}

/* ==== Rows ==================================================================================== */

static int timeline_compare(const void *a, const void *b)
{
    const struct timeline_bar *x = a, *y = b;
    return x->span->from_ns != y->span->from_ns ? (x->span->from_ns < y->span->from_ns ? -1 : 1)
                                                : x->span->pid - y->span->pid;
}

static void timeline_add(struct timeline_part *p, const struct report_span *s, uint64_t all_ns)
{
    size_t fits = utf8_fitting(s->name, strlen(s->name), NAME_LETTERS);
    struct timeline_bar *bar = &p->bars[p->count++];
    *bar = (struct timeline_bar){
        .span = s,
        .from = chart_x(min_u64(s->from_ns, all_ns), all_ns),
        .until = chart_x(min_u64(s->until_ns, all_ns), all_ns),
        .name = (double)(utf8_columns(s->name, fits) + 2) * CHART_LETTER,
        .figure = s->cpu_seconds > 0 ? CPU_LETTERS * CHART_LETTER : 0,
    };
    bar->until = bar->until > bar->from + 1 ? bar->until : bar->from + 1;
}

/* Gives each bar the first row that is free when it begins. A name has its room in the bar, else
 * right of it, and left of it at the end of the axis. */
static void timeline_choose_rows(struct timeline_part *p, bool is_named)
{
    double taken[MOST_BARS];
    p->rows = 0;
    for (unsigned i = 0; i < p->count; i++) {
        struct timeline_bar *bar = &p->bars[i];
        double name = bar->name + bar->figure;
        bool is_outside = is_named && bar->until - bar->from < name;
        bool is_left = is_outside && bar->until + name > CHART_WIDTH;
        bar->start = bar->from - (is_left ? name : 0);
        bar->end = bar->until + (is_outside && !is_left ? name : 0);
        bar->row = 0;
        while (bar->row < p->rows && taken[bar->row] > bar->start)
            bar->row++;
        p->rows += bar->row == p->rows;
        taken[bar->row] = bar->end;
    }
}

/* All of them, or as many as there are rows: those that used most CPU time. */
static void timeline_choose(struct timeline_part *p, const struct report_span *spans,
                            unsigned count, unsigned at_most, uint64_t all_ns)
{
    p->count = 0;
    for (unsigned i = 0; i < count; i++) {
        unsigned larger = 0;
        for (unsigned k = 0; k < count && at_most < count; k++)
            larger += spans[k].cpu_seconds > spans[i].cpu_seconds ||
                      (spans[k].cpu_seconds == spans[i].cpu_seconds && k < i);
        if (larger < at_most && spans[i].count < 2) /* of several in one line no time is known */
            timeline_add(p, &spans[i], all_ns);
    }
    qsort(p->bars, p->count, sizeof *p->bars, timeline_compare);
    timeline_choose_rows(p, true);
    if (p->rows > ROWS_NAMED)
        timeline_choose_rows(p, false);
    if (p->rows > ROWS && at_most > ROWS)
        timeline_choose(p, spans, count, ROWS, all_ns);
}

/* ==== Drawing ================================================================================= */

/* A text that a phone has no room for has the class "roomy". */
static void timeline_begin_text(struct buf *b, const char *class, unsigned row, double x,
                                const char *anchor, int dx)
{
    buf_printf(b, "<text class=\"t%s\" y=\"%u\" text-anchor=\"%s\" x=\"", class,
               CHART_TOP + row * BAR_STEP + BAR - 5, anchor);
    chart_put_x(b, x, true);
    buf_printf(b, "\" dx=\"%d\">", dx);
}

/* What the rows from here on are, left of the first of them. */
static void timeline_draw_heading(struct buf *b, unsigned row, const char *name)
{
    timeline_begin_text(b, " roomy", row, CHART_LEFT, "end", -10);
    buf_printf(b, "%s</text>", name);
}

static void timeline_put_cpu(struct buf *b, const struct report_span *s)
{
    if (s->cpu_seconds <= 0)
        return;
    buf_puts(b, s->is_complete ? ", CPU " : ", CPU ≥ ");
    human_seconds(b, s->cpu_seconds);
}

/* The name of a bar with its CPU time, where there is room. `before` and `after` are where the row
 * is taken, on a screen and on a phone; the former is moved if the name is left of its bar. */
static void timeline_draw_name(struct buf *b, const struct timeline_bar *bar, unsigned row,
                               double *before, double *phone_before, double after)
{
    const struct report_span *s = bar->span;
    double all = bar->name + bar->figure, in = bar->until - bar->from, right = after - bar->until;
    double left = bar->from - *before, phone_left = bar->from - *phone_before;
    enum timeline_side side = in >= all            ? SIDE_IN
                              : right >= all       ? SIDE_RIGHT
                              : left >= all        ? SIDE_LEFT
                              : in >= bar->name    ? SIDE_IN
                              : right >= bar->name ? SIDE_RIGHT
                              : left >= bar->name  ? SIDE_LEFT
                                                   : SIDE_NONE;
    double room = side == SIDE_IN ? in : side == SIDE_RIGHT ? right : left;
    double phone_room = side == SIDE_LEFT ? phone_left : room;
    bool is_on_phone = side != SIDE_NONE && PHONE * bar->name <= phone_room;
    bool has_figure_there = is_on_phone && PHONE * all <= phone_room;
    *before = bar->until + (side == SIDE_RIGHT ? (room >= all ? all : bar->name) : 0);
    *phone_before = bar->until + (side != SIDE_RIGHT || !is_on_phone ? 0
                                  : has_figure_there                 ? PHONE * all
                                                                     : PHONE * bar->name);
    if (side == SIDE_NONE)
        return;
    const char *class = side == SIDE_IN ? (is_on_phone ? " in" : " in roomy")
                        : is_on_phone   ? ""
                                        : " roomy";
    timeline_begin_text(b, class, row, side == SIDE_RIGHT ? bar->until : bar->from,
                        side == SIDE_LEFT ? "end" : "start", side == SIDE_LEFT ? -5 : 5);
    html_add(b, s->name, utf8_fitting(s->name, strlen(s->name), NAME_LETTERS));
    bool is_hidden_there = is_on_phone && !has_figure_there;
    if (room >= all && s->cpu_seconds > 0) {
        buf_puts(b, is_hidden_there ? "<tspan class=\"roomy\">" : "");
        timeline_put_cpu(b, s);
        buf_puts(b, is_hidden_there ? "</tspan>" : "");
    }
    buf_puts(b, "</text>");
}

static void timeline_draw_bar(struct buf *b, const struct timeline_bar *bar, unsigned row,
                              bool is_phase)
{
    const struct report_span *s = bar->span;
    buf_puts(b, "<rect class=\"tb");
    if (is_phase)
        buf_printf(b, " ph p%u", s->colour);
    buf_printf(b, "\" rx=\"2\" y=\"%u\" height=\"%d\" x=\"", CHART_TOP + row * BAR_STEP, BAR);
    chart_put_x(b, bar->from, true);
    buf_puts(b, "\" width=\"");
    chart_put_x(b, bar->until - bar->from, true);
    buf_puts(b, "\"><title>");
    html_put(b, s->name);
    if (s->pid)
        buf_printf(b, " (pid %d)", (int)s->pid);
    buf_puts(b, ": ");
    human_seconds(b, (double)(s->until_ns - min_u64(s->from_ns, s->until_ns)) / 1e9);
    timeline_put_cpu(b, s);
    buf_puts(b, "</title></rect>");
}

/* The bars of a part, row by row. A phase has the colour that its band has in the charts. */
static void timeline_draw_part(struct buf *b, const struct timeline_part *p, unsigned first_row,
                               bool is_phases)
{
    for (unsigned row = 0; row < p->rows; row++) {
        double before = CHART_LEFT, phone_before = CHART_LEFT;
        for (unsigned i = 0; i < p->count; i++) {
            const struct timeline_bar *bar = &p->bars[i];
            double after = CHART_WIDTH;
            if (bar->row != row)
                continue;
            for (unsigned k = i + 1; k < p->count && after >= CHART_WIDTH; k++)
                if (p->bars[k].row == row)
                    after = p->bars[k].start;
            timeline_draw_bar(b, bar, first_row + row, is_phases);
            timeline_draw_name(b, bar, first_row + row, &before, &phone_before, after);
        }
    }
}

/* Events as lines through all rows; those with room have their name in their own row. */
static void timeline_draw_events(const struct report *r, struct buf *b, int bottom)
{
    double free_from[] = {0, 0}; /* on a screen, on a phone */
    uint64_t all_ns = r->summary->elapsed_ns;
    for (unsigned i = 0; i < r->event_count; i++) {
        const char *name = r->events[i].name;
        double x = chart_x(min_u64(r->events[i].at_ns, all_ns), all_ns);
        buf_puts(b, "<line class=\"e\" x1=\"");
        chart_put_x(b, x, true);
        buf_puts(b, "\" x2=\"");
        chart_put_x(b, x, true);
        buf_printf(b, "\" y1=\"%d\" y2=\"%d\"><title>event ", CHART_TOP, bottom);
        html_put(b, name);
        buf_puts(b, "</title></line>");
    }
    for (unsigned i = 0; i < r->event_count; i++) {
        const char *name = r->events[i].name;
        double x = chart_x(min_u64(r->events[i].at_ns, all_ns), all_ns);
        size_t fits = utf8_fitting(name, strlen(name), EVENT_LETTERS);
        double width = (double)(utf8_columns(name, fits) + 2) * CHART_LETTER;
        bool at_end = x + width > CHART_WIDTH, is_shown[2];
        for (unsigned k = 0; k < 2; k++) {
            double there = k ? PHONE * width : width;
            is_shown[k] = at_end ? x - there >= free_from[k]
                                 : x >= free_from[k] && x + there <= CHART_WIDTH;
            if (is_shown[k] && (!k || is_shown[0]))
                free_from[k] = at_end ? x : x + there;
        }
        if (!is_shown[0])
            continue;
        timeline_begin_text(b, is_shown[1] ? "" : " roomy", 0, x, at_end ? "end" : "start",
                            at_end ? -5 : 5);
        html_add(b, name, fits);
        buf_puts(b, "</text>");
    }
}

struct timeline_drawn timeline_draw(const struct report *r, struct buf *b)
{
    uint64_t all_ns = r->summary->elapsed_ns;
    struct timeline_part *parts = calloc(2, sizeof *parts), *phases = parts, *processes = parts + 1;
    if (!parts) {
        b->failed = true;
        return (struct timeline_drawn){0};
    }
    timeline_choose(phases, r->phases, r->phase_count, REPORT_PHASES, all_ns);
    timeline_choose(processes, r->processes, r->process_count, REPORT_PROCESSES, all_ns);
    unsigned above = r->event_count ? 1 : 0; /* the row of the events */
    unsigned rows = above + phases->rows + processes->rows;
    int bottom = CHART_TOP + (int)(rows * BAR_STEP);
    /* No viewBox: bars follow the width of the page, and texts keep their size. */
    buf_printf(b,
               "<svg class=\"timeline\" style=\"height:%dpx\" role=\"img\" aria-label=\"Timeline: ",
               bottom + CHART_BOTTOM);
    buf_printf(b, "%u phase%s, %u process%s, %u event%s\">", phases->count,
               phases->count == 1 ? "" : "s", processes->count, processes->count == 1 ? "" : "es",
               r->event_count, r->event_count == 1 ? "" : "s");
    buf_puts(b, "<g class=\"x\">");
    chart_draw_time(b, all_ns, bottom, true);
    buf_puts(b, "</g>");
    if (above) {
        timeline_draw_heading(b, 0, "Events");
        timeline_draw_events(r, b, bottom);
    }
    if (phases->count)
        timeline_draw_heading(b, above, "Phases");
    timeline_draw_part(b, phases, above, true);
    if (processes->count)
        timeline_draw_heading(b, above + phases->rows, "Processes");
    timeline_draw_part(b, processes, above + phases->rows, false);
    buf_puts(b, "</svg>\n");
    struct timeline_drawn drawn = {phases->count, processes->count};
    free(parts);
    return drawn;
}
