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

static void glance_row(const struct glance *g, struct text_line *line, enum quality memory_quality,
                       double peak, enum quality cpu_quality, double cpu_seconds)
{
    struct buf memory = {0}, cpu = {0};
    buf_puts(&memory, memory_quality == QUALITY_LOWER_BOUND ? AT_LEAST : "");
    buf_bytes(&memory, peak);
    buf_putc(&memory, '\0');
    buf_puts(&cpu, cpu_quality == QUALITY_LOWER_BOUND ? AT_LEAST : "");
    human_seconds(&cpu, cpu_seconds);
    buf_putc(&cpu, '\0');
    if (!buf_failed(&memory) && !buf_failed(&cpu))
        glance_put_row(g, line, memory_quality == QUALITY_UNKNOWN ? "?" : memory.data,
                       cpu_quality == QUALITY_UNKNOWN ? "?" : cpu.data);
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
        glance_row(g, line, rss, text_figure(&r, PART_COMBINED, process_memory_rss_bytes), cpu,
                   text_figure(&r, PART_COMBINED, process_cpu_seconds));
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
        glance_row(g, line, glance_peak_quality(sorted[i]->peak_bytes),
                   (double)sorted[i]->peak_bytes,
                   glance_cpu_quality(sorted[i]->is_complete, sorted[i]->cpu_ns),
                   (double)sorted[i]->cpu_ns / 1e9);
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
