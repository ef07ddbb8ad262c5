/* SPDX-License-Identifier: MIT
 * Tables in the block of a summary: each of several targets, phases, the largest processes. */
#include "sink/text/text.h"

#include <stdio.h>
#include <string.h>

/* Columns of the table of processes, from the right. */
enum { TABLE_FIGURE = 11 };

/* What the kernel keeps of the name of a program. */
enum { KERNEL_NAME = 15 };

/* Ends a line with cells at the right; its text so far is cut to what they leave. */
static void glance_put_cells(const struct glance *g, struct text_line *line,
                             const char *const cells[], unsigned count)
{
    unsigned figure = text_wide(&line->text, TABLE_FIGURE);
    const unsigned least = 8; /* a narrow terminal breaks the line, rather than have no name */
    unsigned needed = 2 + count * figure;
    unsigned room = g->width > needed + least ? g->width - needed : least;
    if (buf_failed(&line->text))
        return;
    line->is_row = !line->is_heading;
    text_cut(&line->text, 0, room - 1);
    buf_pad(&line->text, 0, room);
    for (unsigned i = 0; i < count; i++) {
        size_t start = line->text.length;
        buf_puts(&line->text, cells[i]);
        buf_pad_left(&line->text, start, figure);
    }
}

static void glance_add_heading(struct glance *g, enum text_rank rank, const char *title,
                               const char *const cells[], unsigned count)
{
    struct text_line *head = text_block_add(&g->block, rank, NULL);
    head->style = DIM;
    head->is_heading = true;
    buf_puts(&head->text, title);
    glance_put_cells(g, head, cells, count);
}

static const char *const usage_headings[] = {"peak RSS", "CPU"};

/* A figure as a cell, in `b`, which the caller frees. */
static const char *glance_cell(struct buf *b, enum metric_id id, enum quality q, double number)
{
    buf_puts(b, q == QUALITY_LOWER_BOUND ? AT_LEAST : "");
    human_number(b, metric_of(id), number);
    buf_putc(b, '\0');
    return q == QUALITY_UNKNOWN || buf_failed(b) ? "?" : b->data;
}

static void glance_row(const struct glance *g, struct text_line *line, enum quality memory_quality,
                       double peak, enum quality cpu_quality, double cpu_seconds)
{
    struct buf memory = buf_like(&line->text), cpu = {0};
    const char *const cells[] = {
        glance_cell(&memory, process_memory_rss_bytes, memory_quality, peak),
        glance_cell(&cpu, process_cpu_seconds, cpu_quality, cpu_seconds)};
    glance_put_cells(g, line, cells, ARRAY_LEN(cells));
    buf_done(&memory);
    buf_done(&cpu);
}

/* The mark of a process's memory is that of the last look while it lived: it may have grown. */
static enum quality glance_peak_quality(uint64_t peak_bytes)
{
    return peak_bytes ? QUALITY_LOWER_BOUND : QUALITY_UNKNOWN;
}

static enum quality glance_cpu_quality(bool is_complete, uint64_t cpu_ns)
{
    return is_complete ? QUALITY_EXACT : cpu_ns ? QUALITY_LOWER_BOUND : QUALITY_UNKNOWN;
}

void glance_add_targets(struct glance *g)
{
    enum { EACH = 6 };
    if (!g->summary->target_count)
        return;
    glance_add_heading(g, RANK_FIGURE, "Target", usage_headings, ARRAY_LEN(usage_headings));
    for (size_t i = 0; i < g->summary->target_count && i < EACH; i++) {
        struct text_rows r = text_rows_of_target(g->sink, &g->summary->targets[i]);
        enum quality cpu = text_quality(&r, PART_COMBINED, process_cpu_seconds);
        enum quality rss = text_quality(&r, PART_COMBINED, process_memory_rss_bytes);
        struct text_line *line = text_block_add(&g->block, RANK_FIGURE, NULL);
        const char *name = g->summary->run->targets[i].name;
        buf_puts(&line->text, "  ");
        buf_printable(&line->text, name, strlen(name));
        glance_row(g, line, rss, text_figure(&r, PART_COMBINED, process_memory_rss_bytes), cpu,
                   text_figure(&r, PART_COMBINED, process_cpu_seconds));
    }
    if (g->summary->target_count > EACH) {
        struct text_line *line = text_block_add(&g->block, RANK_DETAIL, NULL);
        buf_printf(&line->text, "  %zu more: -v", g->summary->target_count - EACH);
    }
}

void glance_add_phases(struct glance *g)
{
    enum { MOST = 5 };
    static const char *const headings[] = {"time", "peak RSS", "CPU"};
    const struct mark_totals *t = &g->summary->marks;
    if (!t->phase_count)
        return;
    size_t shown = t->phase_count > MOST ? MOST - 1 : t->phase_count;
    glance_add_heading(g, RANK_DETAIL, "Phase", headings, ARRAY_LEN(headings));
    for (size_t i = 0; i < shown; i++) {
        const struct phase_total *p = &t->phases[i];
        struct text_line *line = text_block_add(&g->block, RANK_DETAIL, NULL);
        struct phase_figure cpu = phase_total_figure(p, process_cpu_seconds);
        struct phase_figure rss = phase_total_figure(p, process_memory_rss_bytes);
        struct buf seconds = {0}, peak = buf_like(&line->text), used = {0};
        buf_puts(&line->text, "  ");
        buf_printable(&line->text, p->name, strlen(p->name));
        if (p->count > 1) {
            buf_puts(&line->text, " × ");
            human_count(&line->text, (double)p->count);
        }
        const char *const cells[] = {
            glance_cell(&seconds, process_wall_seconds, QUALITY_EXACT, (double)p->total_ns / 1e9),
            glance_cell(&peak, process_memory_rss_bytes,
                        rss.max < 0 ? QUALITY_UNKNOWN : rss.quality, rss.max),
            glance_cell(&used, process_cpu_seconds, cpu.total < 0 ? QUALITY_UNKNOWN : cpu.quality,
                        cpu.total)};
        glance_put_cells(g, line, cells, ARRAY_LEN(cells));
        buf_done(&seconds);
        buf_done(&peak);
        buf_done(&used);
    }
    if (t->phase_count > shown) {
        struct text_line *line = text_block_add(&g->block, RANK_DETAIL, NULL);
        line->is_row = true;
        buf_printf(&line->text, "  %zu more: -v", t->phase_count - shown);
    }
}

/* A build has a thousand compilers: those with one name are a line together. "× 24+": there were
 * processes that were not seen, of this program or another. */
static void glance_add_programs(struct glance *g, const struct largest *l, unsigned lines)
{
    const struct largest_program *sorted[LARGEST_PROGRAMS];
    unsigned count = largest_programs_by_cpu(l, sorted);
    bool is_complete = glance_quality(g, process_processes_started_count) > QUALITY_LOWER_BOUND &&
                       glance_figure(g, process_processes_started_count) <= (double)l->count;
    for (unsigned i = 0; i < count && i < lines; i++) {
        struct text_line *line = text_block_add(&g->block, RANK_DETAIL, NULL);
        buf_puts(&line->text, "  ");
        buf_printable(&line->text, sorted[i]->name, strlen(sorted[i]->name));
        if (sorted[i]->count > 1) {
            buf_puts(&line->text, " × ");
            human_count(&line->text, (double)sorted[i]->count);
            buf_puts(&line->text, is_complete ? "" : "+");
        }
        glance_row(g, line, glance_peak_quality(sorted[i]->peak_bytes),
                   (double)sorted[i]->peak_bytes,
                   glance_cpu_quality(sorted[i]->is_complete, sorted[i]->cpu_ns),
                   (double)sorted[i]->cpu_ns / 1e9);
    }
}

static unsigned glance_pid_digits(const struct largest_process *p)
{
    return (unsigned)snprintf(NULL, 0, "%d", (int)p->pid);
}

static void glance_add_process(struct glance *g, const struct largest_process *p, unsigned digits)
{
    struct text_line *line = text_block_add(&g->block, RANK_DETAIL, NULL);
    const struct run *run = g->summary->run;
    const char *slash = run->command ? strrchr(run->command[0], '/') : NULL;
    const char *program = slash ? slash + 1 : run->command ? run->command[0] : "";
    /* What was started is what runs, unless it has replaced itself by another program. */
    bool is_as_started = p->pid == run->pid && run->command &&
                         strncmp(program, p->name, KERNEL_NAME) == 0;
    buf_printf(&line->text, "  %*d  ", (int)digits, (int)p->pid);
    if (*p->command) { /* without the directory of the program */
        size_t word = strcspn(p->command, " "), directory = word;
        while (directory && p->command[directory - 1] != '/')
            directory--;
        buf_printable(&line->text, p->command + directory, strlen(p->command + directory));
    } else if (is_as_started) {
        for (char **arg = run->command; *arg; arg++) {
            buf_puts(&line->text, arg == run->command ? "" : " ");
            buf_printable(&line->text, *arg, strlen(*arg));
        }
    } else {
        buf_printable(&line->text, p->name, strlen(p->name));
    }
    glance_row(g, line, glance_peak_quality(p->peak_bytes), (double)p->peak_bytes,
               glance_cpu_quality(p->is_complete && p->has_cpu, p->cpu_ns),
               (double)p->cpu_ns / 1e9);
}

void glance_add_largest(struct glance *g)
{
    enum { LINES = 3, MANY = 12 };
    const struct largest *l = g->summary->largest;
    if (!l || l->count < 2 || !l->by_memory_count)
        return;
    bool by_program = l->count > MANY;
    glance_add_heading(g, RANK_DETAIL, by_program ? "Programs by CPU time" : "Largest processes",
                       usage_headings, ARRAY_LEN(usage_headings));
    if (by_program) {
        glance_add_programs(g, l, LINES);
        return;
    }
    /* By memory, and the one with most CPU time if it is not among them. */
    unsigned shown = l->by_memory_count < LINES ? l->by_memory_count : LINES;
    const struct largest_process *busiest = l->by_cpu_count ? &l->by_cpu[0] : NULL;
    for (unsigned i = 0; i < shown && busiest; i++)
        if (l->by_memory[i].pid == busiest->pid && l->by_memory[i].start == busiest->start)
            busiest = NULL;
    if (busiest && shown == LINES)
        shown--;
    unsigned digits = busiest ? glance_pid_digits(busiest) : 0;
    for (unsigned i = 0; i < shown; i++) {
        unsigned of_this = glance_pid_digits(&l->by_memory[i]);
        digits = of_this > digits ? of_this : digits;
    }
    for (unsigned i = 0; i < shown; i++)
        glance_add_process(g, &l->by_memory[i], digits);
    if (busiest)
        glance_add_process(g, busiest, digits);
}
