/* SPDX-License-Identifier: MIT
 * Tables in the block of a summary: each of several targets, phases, the largest processes. */
#include "sink/text/text.h"

#include "summary/summary.h"

#include <stdio.h>
#include <stdlib.h>
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

enum { USAGE_HEADINGS = 2 }; /* and network bytes, where they are known of processes */
static const char *const usage_headings[] = {"peak RSS", "CPU", "network"};

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

/* The mark of a process's memory is that of the last look while it lived, unless the kernel
 * recorded its end: it may have grown. */
static enum quality glance_peak_quality(uint64_t peak_bytes, bool is_recorded)
{
    return !peak_bytes ? QUALITY_UNKNOWN : is_recorded ? QUALITY_EXACT : QUALITY_LOWER_BOUND;
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
    glance_add_heading(g, RANK_FIGURE, "Target", usage_headings, USAGE_HEADINGS);
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

/* From so many processes on, programs are of more interest. */
enum { MANY_PROCESSES = 12 };

static bool glance_has_all_processes(const struct glance *g, const struct largest *l)
{
    return glance_quality(g, process_processes_started_count) > QUALITY_LOWER_BOUND &&
           glance_figure(g, process_processes_started_count) <= (double)l->count;
}

void glance_put_busiest(const struct glance *g, struct buf *b)
{
    const double noticeable = 0.1; /* the least that is worth a lower bound */
    const struct largest *l = g->summary->largest;
    if (!l || l->count <= MANY_PROCESSES || !l->program_count ||
        glance_quality(g, process_cpu_seconds) <= QUALITY_LOWER_BOUND)
        return;
    const struct largest_program *sorted[LARGEST_PROGRAMS];
    largest_programs_by_cpu(l, sorted);
    double all = glance_figure(g, process_cpu_seconds);
    double share = all > 0 ? (double)sorted[0]->cpu_ns / 1e9 / all : 0;
    if (share > 1)
        share = 1;
    bool is_exact = sorted[0]->is_complete && glance_has_all_processes(g, l);
    if (share <= 0 || (!is_exact && share < noticeable))
        return;
    buf_printable(b, sorted[0]->name, strlen(sorted[0]->name));
    buf_puts(b, is_exact ? " " : " " AT_LEAST);
    human_percent(b, is_exact ? share : (double)(unsigned)(share * 100) / 100);
    buf_puts(b, " of CPU");
}

static unsigned glance_pid_digits(const struct largest_process *p)
{
    return (unsigned)snprintf(NULL, 0, "%d", (int)p->pid);
}

static void glance_add_process(struct glance *g, const struct largest_process *p, unsigned digits,
                               bool has_sockets)
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
    struct buf memory = buf_like(&line->text), cpu = {0}, sockets = {0};
    const char *cells[] = {glance_cell(&memory, process_memory_rss_bytes,
                                       glance_peak_quality(p->peak_bytes, p->is_recorded),
                                       (double)p->peak_bytes),
                           glance_cell(&cpu, process_cpu_seconds,
                                       glance_cpu_quality(p->is_complete && p->has_cpu, p->cpu_ns),
                                       (double)p->cpu_ns / 1e9),
                           NULL};
    if (has_sockets)
        cells[USAGE_HEADINGS] = glance_cell(&sockets, process_socket_sent_bytes,
                                            !p->has_sockets  ? QUALITY_UNKNOWN
                                            : p->is_recorded ? QUALITY_EXACT
                                                             : QUALITY_LOWER_BOUND,
                                            (double)p->socket_bytes);
    glance_put_cells(g, line, cells, USAGE_HEADINGS + has_sockets);
    buf_done(&memory);
    buf_done(&cpu);
    buf_done(&sockets);
}

/* A build has a thousand compilers: those with one name are a line together. "× 24+": there were
 * processes that were not seen, of this program or another. */
static void glance_add_program(struct glance *g, const struct largest_program *p, bool is_complete,
                               const char *remark)
{
    struct text_line *line = text_block_add(&g->block, RANK_DETAIL, NULL);
    buf_puts(&line->text, "  ");
    buf_printable(&line->text, p->name, strlen(p->name));
    if (p->count > 1) {
        buf_puts(&line->text, " × ");
        human_count(&line->text, (double)p->count);
        buf_puts(&line->text, is_complete ? "" : "+");
    }
    buf_puts(&line->text, remark);
    glance_row(g, line, glance_peak_quality(p->peak_bytes, p->is_recorded), (double)p->peak_bytes,
               glance_cpu_quality(p->is_complete, p->cpu_ns), (double)p->cpu_ns / 1e9);
}

/* By CPU time, and the one with most memory in the last line if it is not among them: what waits
 * can be the largest and have used no CPU time. It is a process where its program has no line of
 * its own: programs are counted up to a limit, and a record has fewer. */
static void glance_add_programs(struct glance *g, const struct largest *l, unsigned lines)
{
    const struct largest_program *sorted[LARGEST_PROGRAMS], *largest = NULL;
    unsigned count = largest_programs_by_cpu(l, sorted);
    unsigned shown = count < lines ? count : lines;
    const struct largest_process *process = &l->by_memory[0];
    bool is_complete = glance_has_all_processes(g, l);
    for (unsigned i = 0; i < count; i++)
        if (sorted[i]->peak_bytes > (largest ? largest->peak_bytes : 0))
            largest = sorted[i];
    if (largest && largest->peak_bytes >= process->peak_bytes)
        process = NULL;
    for (unsigned i = 0; i < shown && !process && largest; i++)
        if (sorted[i]->peak_bytes == largest->peak_bytes)
            largest = NULL;
    if (shown == lines && (process || largest))
        shown--;
    for (unsigned i = 0; i < shown; i++)
        glance_add_program(g, sorted[i], is_complete, "");
    if (process)
        glance_add_process(g, process, glance_pid_digits(process), false);
    else if (largest)
        glance_add_program(g, largest, is_complete, " (most memory)");
}

void glance_add_largest(struct glance *g)
{
    enum { LINES = 3 };
    const struct largest *l = g->summary->largest;
    if (!l || l->count < 2 || !l->by_memory_count)
        return;
    bool by_program = l->count > MANY_PROCESSES, has_sockets = false;
    for (unsigned i = 0; !by_program && i < l->by_memory_count; i++)
        has_sockets |= l->by_memory[i].has_sockets;
    glance_add_heading(g, RANK_DETAIL, by_program ? "Programs by CPU time" : "Largest processes",
                       usage_headings, USAGE_HEADINGS + has_sockets);
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
        glance_add_process(g, &l->by_memory[i], digits, has_sockets);
    if (busiest)
        glance_add_process(g, busiest, digits, has_sockets);
}

/* ==== Threads ================================================================================= */

/* The threads of --threads: the busiest in the block of a summary, all that have a row below it. */

static const char *thread_label(const struct instance_summary *t, const char *key)
{
    const char *value = entity_label(&t->instance->entity, key);
    return value ? value : ""; /* a record may lack it */
}

/* Whether more than one process has rows. */
static bool threads_are_mixed(const struct instance_summary *const *sorted, size_t count)
{
    for (size_t i = 1; i < count; i++)
        if (strcmp(thread_label(sorted[0], "pid"), thread_label(sorted[i], "pid")) != 0)
            return true;
    return false;
}

static void thread_put_name(struct buf *b, const struct instance_summary *t, bool is_mixed)
{
    const char *name = entity_name(&t->instance->entity), *process = thread_label(t, "process");
    buf_printable(b, name, strlen(name));
    if (!is_mixed)
        return;
    buf_puts(b, " of ");
    buf_printable(b, process, strlen(process));
    buf_printf(b, " %s", thread_label(t, "pid"));
}

static void thread_put_seconds(const struct sink *s, struct buf *b,
                               const struct instance_summary *t, enum metric_id id)
{
    const struct series *series = &t->series[id - thread_first];
    enum quality q = summary_instance_quality(series, metric_of(id));
    if (!(s->selection.of[ENTITY_THREAD] >> (id - thread_first) & 1) || q == QUALITY_UNKNOWN) {
        buf_putc(b, '?');
        return;
    }
    buf_puts(b, q == QUALITY_LOWER_BOUND ? AT_LEAST : "");
    human_number(b, metric_of(id), metric_number(metric_of(id), series->last));
}

/* Columns: the name, time waiting for a CPU, CPU time. */
enum { FIGURE = 11, NAME_AT_LEAST = 8 };

static void threads_put_line(struct buf *b, unsigned width, const char *waiting, const char *cpu)
{
    unsigned figure = text_wide(b, FIGURE), needed = 2 * figure + 2;
    unsigned room = width > needed + NAME_AT_LEAST ? width - needed : NAME_AT_LEAST;
    if (buf_failed(b))
        return;
    text_cut(b, 0, room - 1);
    buf_pad(b, 0, room);
    for (unsigned i = 0; i < 2; i++) {
        size_t start = b->length;
        buf_puts(b, i ? cpu : waiting);
        buf_pad_left(b, start, figure);
    }
}

static void threads_put_row(const struct sink *s, struct buf *b, unsigned width,
                            const struct instance_summary *t, bool is_mixed)
{
    struct buf waiting = {0}, cpu = {0};
    thread_put_seconds(s, &waiting, t, thread_cpu_wait_seconds);
    thread_put_seconds(s, &cpu, t, thread_cpu_seconds);
    buf_putc(&waiting, '\0');
    buf_putc(&cpu, '\0');
    buf_puts(b, "  ");
    thread_put_name(b, t, is_mixed);
    threads_put_line(b, width, buf_failed(&waiting) ? "?" : waiting.data,
                     buf_failed(&cpu) ? "?" : cpu.data);
    buf_done(&waiting);
    buf_done(&cpu);
}

void glance_add_threads(struct glance *g)
{
    enum { MOST = 5 };
    size_t count;
    const struct instance_summary **sorted = summary_threads(g->summary, &count);
    size_t shown = count > MOST ? MOST - 1 : count;
    if (count) {
        struct text_line *head = text_block_add(&g->block, RANK_DETAIL, NULL);
        head->style = DIM;
        head->is_heading = true;
        buf_puts(&head->text, "Busiest threads");
        threads_put_line(&head->text, g->width, "waiting", "CPU");
    }
    for (size_t i = 0; i < shown; i++) {
        struct text_line *line = text_block_add(&g->block, RANK_DETAIL, NULL);
        line->is_row = true;
        threads_put_row(g->sink, &line->text, g->width, sorted[i],
                        threads_are_mixed(sorted, count));
    }
    if (count > shown) {
        struct text_line *line = text_block_add(&g->block, RANK_DETAIL, NULL);
        line->is_row = true;
        buf_printf(&line->text, "  %zu more: -v", count - shown);
    }
    free(sorted);
}

void text_threads(struct sink *s, const struct summary *summary)
{
    size_t count;
    const struct instance_summary **sorted = summary_threads(summary, &count);
    for (size_t i = 0; i < count; i++) {
        struct buf line = buf_like(&s->text);
        if (!i) {
            text_style(s, DIM);
            buf_puts(&line, entity_kind_plural(ENTITY_THREAD));
            threads_put_line(&line, text_width(s), "waiting", "CPU");
            buf_add(&s->text, line.data, line.length);
            text_style(s, PLAIN);
            buf_putc(&s->text, '\n');
            line.length = 0;
        }
        threads_put_row(s, &line, text_width(s), sorted[i], threads_are_mixed(sorted, count));
        s->text.failed |= buf_failed(&line);
        buf_add(&s->text, line.data, line.length);
        buf_putc(&s->text, '\n');
        buf_done(&line);
    }
    if (count)
        buf_putc(&s->text, '\n');
    free(sorted);
}

/* ==== Marks =================================================================================== */

/* What the job reported about itself, after the summary: phases, gauges, events. */

enum { NAME = 20, TIMES = 6, TIME = 9, DIGITS = 5, DIGITS_AT_MOST = 10 };
enum { LINES = 20 }; /* of a table, unless the output is verbose */
enum { GAUGE_NAME = 26, GAUGE_FIGURE = 12 };

static unsigned text_marks_width_of(const struct metric *m)
{
    return m->unit == UNIT_cores ? 6 : m->unit == UNIT_seconds ? 9 : 10;
}

static void text_marks_add_words(struct sink *s, const char *const words[], const unsigned widths[],
                                 size_t count)
{
    for (size_t i = 0; i < count; i++) {
        size_t start = s->text.length;
        buf_puts(&s->text, words[i]);
        if (i)
            buf_pad_left(&s->text, start, widths[i]);
        else
            buf_pad(&s->text, start, widths[i]);
    }
}

static size_t text_marks_lines(const struct sink *s, size_t count)
{
    return s->flags & TOLL_OUTPUT_VERBOSE || count < LINES ? count : LINES;
}

static void text_marks_add_rest(struct sink *s, size_t count)
{
    size_t shown = text_marks_lines(s, count);
    if (shown < count)
        buf_printf(&s->text, "… and %zu more; in the record and in JSON\n", count - shown);
}

/* ---- Phases ---------------------------------------------------------------------------------- */

/* Of a metric without a heading in a line, the first word of its name. */
static void text_marks_add_phase_heading(struct sink *s, uint64_t shown)
{
    static const char *const words[] = {"phase", "times", "time"};
    static const unsigned widths[] = {NAME, TIMES, TIME};
    text_style(s, DIM);
    text_marks_add_words(s, words, widths, ARRAY_LEN(words));
    FOR_EACH_BIT(id, shown)
    {
        const struct metric *m = metric_of(id);
        char heading[64];
        const char *word = text_heading(m, false, heading, sizeof heading);
        size_t start = s->text.length;
        buf_add(&s->text, word, strcspn(word, "/_"));
        buf_pad_left(&s->text, start, text_marks_width_of(m));
    }
    text_style(s, PLAIN);
    buf_putc(&s->text, '\n');
}

static void text_marks_add_phase_figure(struct sink *s, const struct phase_total *p,
                                        enum metric_id id)
{
    const struct metric *m = metric_of(id);
    struct phase_figure f = phase_total_figure(p, id);
    buf_putc(&s->text, ' ');
    size_t start = s->text.length;
    double number = m->kind == METRIC_COUNTER ? f.total : f.max >= 0 ? f.max : f.mean;
    if (f.quality == QUALITY_UNKNOWN || text_is_nothing(f.quality, number)) {
        buf_putc(&s->text, '?');
    } else {
        buf_puts(&s->text, f.quality == QUALITY_LOWER_BOUND ? "≥" : "");
        human_number(&s->text, m, number);
    }
    buf_pad_left(&s->text, start, text_marks_width_of(m) - 1);
}

static void text_marks_add_phase(struct sink *s, const struct phase_total *p, uint64_t shown)
{
    text_name_column(s, p->name, NAME);
    size_t start = s->text.length;
    human_count(&s->text, (double)p->count);
    buf_pad_left(&s->text, start, TIMES);
    buf_putc(&s->text, ' ');
    start = s->text.length;
    human_seconds(&s->text, (double)p->total_ns / 1e9);
    buf_pad_left(&s->text, start, TIME - 1);
    FOR_EACH_BIT(id, shown)
    text_marks_add_phase_figure(s, p, id);
    buf_putc(&s->text, '\n');
}

static void text_marks_add_phases(struct sink *s, const struct mark_totals *t)
{
    uint64_t shown = 0; /* the figures of the first lines of the summary */
    FOR_EACH_BIT(id, s->selection.parts[PART_COMBINED])
    if (metric_of(id)->show == SHOW_HEAD && phase_figures_has(metric_of(id)))
        shown |= BIT(id);
    text_marks_add_phase_heading(s, shown);
    struct buf not_ended = {0}, widened = {0};
    bool has_sampled = false; /* in the lines only a lower bound is marked */
    for (size_t i = 0; i < text_marks_lines(s, t->phase_count); i++) {
        const struct phase_total *p = &t->phases[i];
        text_marks_add_phase(s, p, shown);
        FOR_EACH_BIT(id, shown)
        has_sampled |= phase_total_figure(p, id).quality == QUALITY_SAMPLED;
        if (p->not_ended)
            buf_printf(&not_ended, "%s%s", not_ended.length ? ", " : "", p->name);
        if (p->widened)
            buf_printf(&widened, "%s%s", widened.length ? ", " : "", p->name);
    }
    text_marks_add_rest(s, t->phase_count);
    if (has_sampled)
        text_paragraph(s, "",
                       "figures of phases are sampled; CPU time of children may be counted late, "
                       "in the next phase");
    text_paragraph_done(s, "phases that had not ended by the end of the run: ", &not_ended);
    text_paragraph_done(s, "phases with the figures of the whole job: ", &widened);
}

/* ---- The program's own figures --------------------------------------------------------------- */

static void text_marks_add_gauge(struct sink *s, const struct gauge_total *g)
{
    const double numbers[] = {g->last, g->min, g->sum / (double)g->count, g->max};
    text_name_column(s, g->name, GAUGE_NAME);
    size_t start = s->text.length;
    human_count(&s->text, (double)g->count);
    buf_pad_left(&s->text, start, TIMES);
    for (size_t i = 0; i < ARRAY_LEN(numbers); i++) {
        buf_putc(&s->text, ' ');
        start = s->text.length;
        char text[64];
        int digits = DIGITS_AT_MOST; /* as many as fit */
        while (digits > DIGITS &&
               snprintf(text, sizeof text, "%.*g", digits, numbers[i]) >= GAUGE_FIGURE)
            digits--;
        buf_number_short(&s->text, numbers[i], (unsigned)digits);
        buf_pad_left(&s->text, start, GAUGE_FIGURE - 1);
    }
    buf_putc(&s->text, '\n');
}

static void text_marks_add_gauges(struct sink *s, const struct mark_totals *t)
{
    static const char *const words[] = {"gauge", "times", "last", "min", "mean", "max"};
    static const unsigned widths[] = {GAUGE_NAME,   TIMES,        GAUGE_FIGURE,
                                      GAUGE_FIGURE, GAUGE_FIGURE, GAUGE_FIGURE};
    text_style(s, DIM);
    text_marks_add_words(s, words, widths, ARRAY_LEN(words));
    text_style(s, PLAIN);
    buf_putc(&s->text, '\n');
    for (size_t i = 0; i < text_marks_lines(s, t->gauge_count); i++)
        text_marks_add_gauge(s, &t->gauges[i]);
    text_marks_add_rest(s, t->gauge_count);
}

void text_marks(struct sink *s, const struct mark_totals *t)
{
    const struct {
        uint64_t count;
        const char *one, *several;
    } counts[] = {
        {t->events, "event in the record", "events in the record"},
        {t->ignored, "mark was ignored: not understood, or of another user",
         "marks were ignored: not understood, or of another user"},
        {t->lost, "mark was lost", "marks were lost"},
    };
    if (!mark_totals_any(t))
        return;
    if (t->phase_count)
        text_marks_add_phases(s, t);
    if (t->phase_count && t->gauge_count)
        buf_putc(&s->text, '\n');
    if (t->gauge_count)
        text_marks_add_gauges(s, t);
    for (size_t i = 0; i < ARRAY_LEN(counts); i++)
        if (counts[i].count)
            buf_printf(&s->text, "%llu %s\n", (unsigned long long)counts[i].count,
                       counts[i].count == 1 ? counts[i].one : counts[i].several);
    buf_putc(&s->text, '\n');
}
