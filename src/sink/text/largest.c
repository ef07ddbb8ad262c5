/* SPDX-License-Identifier: MIT
 * Tables in the block of a summary: each of several targets, and the largest processes. */
#include "sink/text/text.h"

#include <string.h>

/* Columns of the table of processes, from the right. */
enum { TABLE_FIGURE = 11 };

static void glance_put_row(const struct glance *g, struct text_line *line, const char *memory,
                           const char *cpu)
{
    unsigned room = g->width - 2 - 2 * TABLE_FIGURE;
    if (buf_failed(&line->text))
        return;
    text_cut(&line->text, 0, room - 1);
    buf_pad(&line->text, 0, room);
    size_t start = line->text.length;
    buf_puts(&line->text, memory);
    buf_pad_left(&line->text, start, TABLE_FIGURE);
    start = line->text.length;
    buf_puts(&line->text, cpu);
    buf_pad_left(&line->text, start, TABLE_FIGURE);
}

static void glance_row(const struct glance *g, struct text_line *line, bool has_peak, double peak,
                       bool has_cpu, double cpu_seconds, bool is_complete)
{
    struct buf memory = {0}, cpu = {0};
    const char *sign = is_complete ? "" : AT_LEAST;
    if (has_peak) {
        buf_puts(&memory, sign);
        buf_bytes(&memory, peak);
    }
    if (has_cpu) {
        buf_puts(&cpu, sign);
        human_seconds(&cpu, cpu_seconds);
    }
    buf_putc(&memory, '\0');
    buf_putc(&cpu, '\0');
    if (!buf_failed(&memory) && !buf_failed(&cpu))
        glance_put_row(g, line, has_peak ? memory.data : "?", has_cpu ? cpu.data : "?");
    buf_done(&memory);
    buf_done(&cpu);
}

void glance_add_targets(struct glance *g)
{
    enum { EACH = 6 };
    if (!g->summary->target_count)
        return;
    struct text_line *head = text_block_add(&g->block, RANK_FIGURE, NULL);
    head->style = DIM;
    buf_puts(&head->text, "Target");
    glance_put_row(g, head, "peak RSS", "CPU");
    for (size_t i = 0; i < g->summary->target_count && i < EACH; i++) {
        struct text_rows r = text_rows_of_target(g->sink, &g->summary->targets[i]);
        enum quality cpu = text_quality(&r, PART_COMBINED, process_cpu_seconds);
        enum quality rss = text_quality(&r, PART_COMBINED, process_memory_rss_bytes);
        struct text_line *line = text_block_add(&g->block, RANK_FIGURE, NULL);
        const char *name = g->summary->run->targets[i].name;
        buf_puts(&line->text, "  ");
        buf_printable(&line->text, name, strlen(name));
        glance_row(g, line, rss != QUALITY_UNKNOWN,
                   text_figure(&r, PART_COMBINED, process_memory_rss_bytes), cpu != QUALITY_UNKNOWN,
                   text_figure(&r, PART_COMBINED, process_cpu_seconds),
                   cpu != QUALITY_LOWER_BOUND && rss != QUALITY_LOWER_BOUND);
    }
    if (g->summary->target_count > EACH) {
        struct text_line *line = text_block_add(&g->block, RANK_DETAIL, NULL);
        buf_printf(&line->text, "  %zu more: -v", g->summary->target_count - EACH);
    }
}

/* A build has a thousand compilers: those with one name are a line together. */
static void glance_add_programs(struct glance *g, const struct largest *l, unsigned lines)
{
    const struct largest_program *sorted[LARGEST_PROGRAMS];
    unsigned count = largest_programs_by_cpu(l, sorted);
    for (unsigned i = 0; i < count && i < lines; i++) {
        struct text_line *line = text_block_add(&g->block, RANK_DETAIL, NULL);
        buf_puts(&line->text, "  ");
        buf_printable(&line->text, sorted[i]->name, strlen(sorted[i]->name));
        if (sorted[i]->count > 1) {
            buf_puts(&line->text, " × ");
            human_count(&line->text, (double)sorted[i]->count);
        }
        glance_row(g, line, true, (double)sorted[i]->peak_bytes, true,
                   (double)sorted[i]->cpu_ns / 1e9, sorted[i]->is_complete);
    }
}

static void glance_add_process(struct glance *g, const struct largest_process *p)
{
    struct text_line *line = text_block_add(&g->block, RANK_DETAIL, NULL);
    const struct run *run = g->summary->run;
    buf_printf(&line->text, "  %d  ", (int)p->pid);
    if (*p->command) { /* without the directory of the program */
        size_t word = strcspn(p->command, " "), directory = word;
        while (directory && p->command[directory - 1] != '/')
            directory--;
        buf_printable(&line->text, p->command + directory, strlen(p->command + directory));
    } else if (p->pid == run->pid && run->command) {
        for (char **arg = run->command; *arg; arg++) {
            buf_puts(&line->text, arg == run->command ? "" : " ");
            buf_printable(&line->text, *arg, strlen(*arg));
        }
    } else {
        buf_printable(&line->text, p->name, strlen(p->name));
    }
    glance_row(g, line, p->has_peak, (double)p->peak_bytes, p->has_cpu, (double)p->cpu_ns / 1e9,
               p->is_complete);
}

void glance_add_largest(struct glance *g)
{
    enum { LINES = 3, MANY = 12 };
    const struct largest *l = g->summary->largest;
    if (!l || l->count < 2 || !l->by_memory_count)
        return;
    struct text_line *head = text_block_add(&g->block, RANK_DETAIL, NULL);
    head->style = DIM;
    bool by_program = l->count > MANY;
    buf_puts(&head->text, by_program ? "Programs by CPU time" : "Largest processes");
    glance_put_row(g, head, "peak RSS", "CPU");
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
    for (unsigned i = 0; i < shown; i++)
        glance_add_process(g, &l->by_memory[i]);
    if (busiest)
        glance_add_process(g, busiest);
}
