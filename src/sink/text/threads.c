/* SPDX-License-Identifier: MIT
 * The threads of --threads: the busiest in the block of a summary, all that have a row below it. */
#include "sink/text/text.h"

#include <stdlib.h>
#include <string.h>

static const struct series *thread_series(const struct instance_summary *t, enum metric_id id)
{
    return &t->series[id - thread_first];
}

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
    const struct series *series = thread_series(t, id);
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
        threads_put_row(g->sink, &line->text, g->width, sorted[i], threads_are_mixed(sorted, count));
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
