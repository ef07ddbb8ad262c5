/* SPDX-License-Identifier: MIT
 * One readable line a sample, in the manner of vmstat: what has a heading in the table of metrics,
 * or what was asked for by name; counters as rates. The heading comes back after a screen of lines.
 * On a terminal there are as many columns as fit.
 *
 *       time target         cores   rss read/s write/s procs
 *   21:27:53 process-1234    0.98  412M      0    1.2M     3 */
#include "sink/sink.h"
#include "sink/words.h"

#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>

/* ==== GPUs ==================================================================================== */

enum { INDENT = 8 };

/* A unit that no other figure here has needs no word beside it: a line holds 80 characters. */
static void lines_gpus_add_figure(struct buf *b, const struct metric *m, double number)
{
    switch (m->unit) {
    case UNIT_watts:
        buf_puts(b, "  ");
        buf_double_fixed(b, number, number < 9.95 ? 1 : 0);
        buf_putc(b, 'W');
        break;
    case UNIT_celsius:
        buf_puts(b, "  ");
        buf_double_fixed(b, number, 0);
        buf_puts(b, "°C");
        break;
    case UNIT_hertz:
        buf_puts(b, "  ");
        human_short(b, m, number);
        buf_puts(b, "Hz");
        break;
    case UNIT_ratio:
        buf_printf(b, "  %s ", m->line);
        buf_double_fixed(b, number * 100, 0);
        buf_putc(b, '%');
        break;
    default:
        buf_printf(b, "  %s ", m->line);
        human_short(b, m, number);
        break;
    }
}

unsigned lines_gpus(struct sink *s, const struct frame *f)
{
    unsigned count = 0;
    for (size_t i = 0; i < f->machine_count; i++) {
        const struct instance *gpu = f->machine[i];
        uint64_t shown = gpu->row.present & s->selection.of[ENTITY_GPU];
        if (gpu->entity.kind != ENTITY_GPU || !shown)
            continue;
        size_t start = s->text.length;
        buf_pad(&s->text, start, INDENT + 1);
        text_foreign(s, entity_name(&gpu->entity));
        FOR_EACH_BIT(k, shown)
        {
            const struct metric *m = metric_of(gpu_first + k);
            if (*m->line && m->kind != METRIC_COUNTER)
                lines_gpus_add_figure(&s->text, m, metric_number(m, gpu->row.values[k]));
        }
        buf_putc(&s->text, '\n');
        count++;
    }
    return count;
}

/* ==== Lines =================================================================================== */

enum {
    TIME = 8,
    NAME_AT_LEAST = 8,
    NAME_CUT = 16,
    NAME_AT_MOST = 24,
    COLUMNS = PROCESS_METRICS + SYSTEM_METRICS
};

/* A row as it was at a moment, for rates. */
struct lines_row {
    struct row row;
    uint64_t at_ns;
};

struct lines_before {
    struct lines_row last;
    struct lines_row
        slow; /* one or two seconds ago, for metrics that are read about once a second */
    struct lines_row next; /* becomes slow */
};

struct lines_column {
    enum entity_kind kind;
    unsigned i;     /* of the metrics of that kind */
    unsigned width; /* with the blank in front */
};

struct lines {
    unsigned since_heading;       /* lines */
    unsigned until_heading;       /* as many fit on the screen; 0: there was none yet */
    unsigned name_width;          /* 0: one line a sample */
    struct lines_before *targets; /* owned: the whole, then each of several targets */
    size_t count;
    struct lines_before system;
    struct lines_column columns[COLUMNS]; /* the target's, then the machine's */
    unsigned column_count;
    bool is_last; /* the line shows the last sample */
};

static const char *lines_heading(const struct metric *m, char *ret, size_t capacity)
{
    snprintf(ret, capacity, "%s%s", *m->line ? m->line : m->facts.name,
             !*m->line && m->kind == METRIC_COUNTER ? "/s" : "");
    return ret;
}

static void lines_add_columns(struct sink *s, enum entity_kind kind)
{
    struct lines *l = s->state;
    uint64_t selected = kind == ENTITY_TARGET ? s->selection.parts[PART_COMBINED]
                                              : s->selection.of[kind];
    FOR_EACH_BIT(i, selected)
    {
        char name[64];
        const struct metric *m = metric_of(metric_first(kind) + i);
        if (!*m->line && !s->selection.by_name)
            continue;
        uint64_t figure = m->unit == UNIT_ratio ? strlen("99.95%") : strlen("1023M");
        unsigned width = (unsigned)max_u64(strlen(lines_heading(m, name, sizeof name)), figure);
        l->columns[l->column_count++] = (struct lines_column){kind, i, width + 1};
    }
}

static unsigned lines_width_of(const struct lines *l, enum entity_kind kind)
{
    unsigned width = 0;
    for (unsigned c = 0; c < l->column_count; c++)
        width += l->columns[c].kind == kind ? l->columns[c].width : 0;
    return width;
}

/* A line that is broken by the terminal cannot be read: long names give way first, then the columns
 * on the right. */
static void lines_fit(struct lines *l, unsigned terminal)
{
    unsigned whole = TIME + lines_width_of(l, ENTITY_TARGET) + lines_width_of(l, ENTITY_SYSTEM);
    if (l->name_width > NAME_CUT && whole + 1 + l->name_width > terminal)
        l->name_width = (unsigned)max_u64(NAME_CUT, left_u64(terminal, whole + 1));
    whole += l->name_width ? l->name_width + 1 : 0;
    while (l->column_count > 1 && whole > terminal)
        whole -= l->columns[--l->column_count].width;
}

/* Chooses the columns, again at every heading because windows change their size. Returns after how
 * many lines the next heading should come. */
static unsigned lines_lay_out(struct sink *s, const struct frame *f, bool system)
{
    struct lines *l = s->state;
    l->column_count = 0;
    l->name_width = f->target_count ? NAME_AT_LEAST : 0; /* "together" */
    for (size_t i = 0; i < f->target_count; i++) {
        size_t columns = utf8_columns(f->targets[i].name, strlen(f->targets[i].name));
        l->name_width = (unsigned)max_u64(l->name_width, min_u64(columns, NAME_AT_MOST));
    }
    if (f->target[PART_COMBINED].row)
        lines_add_columns(s, ENTITY_TARGET);
    if (system)
        lines_add_columns(s, ENTITY_SYSTEM);
    struct winsize window = {0};
    bool terminal = ioctl(s->fd, TIOCGWINSZ, &window) == 0;
    if (terminal && window.ws_col)
        lines_fit(l, window.ws_col);
    return terminal && window.ws_row > 3 ? window.ws_row - 2U : 22;
}

/* ------- target ------- */
static void lines_add_group(struct sink *s, const char *name, unsigned width)
{
    unsigned word = (unsigned)strlen(name) + 3;
    unsigned dashes = width > word ? width - word : 0;
    buf_putc(&s->text, ' ');
    for (unsigned i = 0; i < dashes / 2; i++)
        buf_putc(&s->text, '-');
    if (dashes)
        buf_printf(&s->text, " %s ", name);
    else
        buf_printf(&s->text, "%.*s", (int)width - 1, name);
    for (unsigned i = dashes / 2; i < dashes; i++)
        buf_putc(&s->text, '-');
}

static void lines_add_heading(struct sink *s)
{
    struct lines *l = s->state;
    unsigned target = lines_width_of(l, ENTITY_TARGET), system = lines_width_of(l, ENTITY_SYSTEM);
    size_t start = s->text.length;
    text_style(s, DIM);
    if (target && system) { /* a line above tells their columns apart */
        start = s->text.length;
        buf_pad(&s->text, start, TIME + (l->name_width ? l->name_width + 1 : 0));
        lines_add_group(s, "target", target);
        lines_add_group(s, "machine", system);
        buf_putc(&s->text, '\n');
    }
    start = s->text.length;
    buf_puts(&s->text, "time");
    buf_pad_left(&s->text, start, TIME);
    if (l->name_width) {
        start = s->text.length;
        buf_puts(&s->text, " target");
        buf_pad(&s->text, start, l->name_width + 1);
    }
    for (unsigned c = 0; c < l->column_count; c++) {
        char name[64];
        start = s->text.length;
        buf_puts(&s->text,
                 lines_heading(metric_of(metric_first(l->columns[c].kind) + l->columns[c].i), name,
                               sizeof name));
        buf_pad_left(&s->text, start, l->columns[c].width);
    }
    text_style(s, PLAIN);
    buf_putc(&s->text, '\n');
}

static void lines_remember_row(struct lines_before *before, const struct row *row, uint64_t now_ns)
{
    before->last = (struct lines_row){*row, now_ns};
    if (before->next.at_ns && now_ns - before->next.at_ns < METRIC_CATCHES_UP_NS)
        return;
    before->slow = before->next.at_ns ? before->next : before->last;
    before->next = before->last;
}

static void lines_add_cell(struct sink *s, const struct row *row,
                           const struct lines_before *remembered, uint64_t now_ns,
                           const struct lines_column *c)
{
    unsigned i = c->i;
    const struct metric *m = metric_of(row->first + i);
    const struct lines_row *before = metric_catches_up(m) ? &remembered->slow : &remembered->last;
    size_t start = s->text.length;
    buf_putc(&s->text, ' ');
    bool rate = m->kind == METRIC_COUNTER;
    bool known = row->present >> i & 1;
    if (rate)
        known &= before->at_ns && before->row.present >> i & 1 && now_ns > before->at_ns;
    /* Of a target that has ended nothing is left: zero, not unknown. */
    bool is_gone = ((const struct lines *)s->state)->is_last && row->first == process_first &&
                   !row_has(row, process_processes_count);
    uint64_t of_the_living = BIT(process_processes_count) | BIT(process_threads_count) |
                             BIT(process_memory_rss_bytes);
    if (!known && is_gone && (of_the_living >> i & 1)) {
        buf_putc(&s->text, '0');
    } else if (!known) {
        buf_putc(&s->text, '?');
    } else if (rate) {
        union value grown = {.u = left_u64(row->values[i].u, before->row.values[i].u)};
        double per_second = metric_number(m, grown) / ((double)(now_ns - before->at_ns) / 1e9);
        if (row->first + i == process_cpu_wait_seconds && row_has(row, process_threads_count) &&
            per_second > (double)row_u64(row, process_threads_count))
            per_second = (double)row_u64(row, process_threads_count);
        human_short(&s->text, m, per_second);
    } else {
        human_short(&s->text, m, metric_number(m, row->values[i]));
    }
    buf_pad_left(&s->text, start, c->width);
}

/* Also keeps what the rates of the next line need. */
static void lines_add_cells(struct sink *s, const struct row *row, struct lines_before *before,
                            enum entity_kind kind, uint64_t now_ns)
{
    const struct lines *l = s->state;
    for (unsigned c = 0; c < l->column_count; c++)
        if (l->columns[c].kind == kind)
            lines_add_cell(s, row, before, now_ns, &l->columns[c]);
    lines_remember_row(before, row, now_ns);
}

static void lines_add_line(struct sink *s, const struct frame *f, const char *name,
                           const struct row *row, struct lines_before *before,
                           const struct instance *system)
{
    struct lines *l = s->state;
    time_t seconds = (time_t)(f->real_ns / NS_PER_SECOND);
    struct tm tm;
    char time[16] = "";
    if (localtime_r(&seconds, &tm))
        strftime(time, sizeof time, "%H:%M:%S", &tm);
    buf_puts(&s->text, time);
    if (l->name_width) { /* not cut in the middle of a letter */
        buf_putc(&s->text, ' ');
        size_t start = s->text.length;
        text_foreign(s, name);
        if (!buf_failed(&s->text))
            s->text.length = start + utf8_fitting(s->text.data + start, s->text.length - start,
                                                  l->name_width);
        buf_pad(&s->text, start, l->name_width);
    }
    if (row)
        lines_add_cells(s, row, before, ENTITY_TARGET, f->mono_ns);
    if (system)
        lines_add_cells(s, &system->row, &l->system, ENTITY_SYSTEM, f->mono_ns);
    buf_putc(&s->text, '\n');
    l->since_heading++;
}

/* The first sample has no rates yet and comes after a millisecond: it is remembered, not shown. */
static struct lines *lines_new(const struct frame *f, const struct instance *system)
{
    struct lines *l = calloc(1, sizeof *l);
    if (!l)
        return NULL;
    l->count = f->target_count + 1;
    l->targets = calloc(l->count, sizeof *l->targets);
    if (!l->targets) {
        free(l);
        return NULL;
    }
    for (size_t i = 0; i < l->count; i++) {
        const struct row *row = i ? f->targets[i - 1].parts[PART_COMBINED].row
                                  : f->target[PART_COMBINED].row;
        if (row)
            lines_remember_row(&l->targets[i], row, f->mono_ns);
    }
    if (system)
        lines_remember_row(&l->system, &system->row, f->mono_ns);
    return l;
}

static void lines_frame(struct sink *s, const struct frame *f)
{
    const struct instance *system = NULL;
    const struct row *row = f->target[PART_COMBINED].row;
    struct lines *l = s->state;
    for (size_t i = 0; !system && i < f->machine_count; i++)
        if (f->machine[i]->entity.kind == ENTITY_SYSTEM)
            system = f->machine[i];
    if (!l) {
        s->state = lines_new(f, system);
        return;
    }
    /* The last sample comes when the run is over, perhaps just after the one before: then it
     * repeats that line, and its CPU rate is unknown (see hide_rates in engine/tick.c). */
    bool has_no_rate = row && !row_has(row, process_cpu_cores) &&
                       (s->selection.parts[PART_COMBINED] & BIT(process_cpu_cores));
    if (f->last && (f->interval_ns < 100 * NS_PER_MS || (l->until_heading && has_no_rate)))
        return;
    l->is_last = f->last;
    if (!l->until_heading || l->since_heading + l->count > l->until_heading) {
        l->until_heading = lines_lay_out(s, f, system);
        lines_add_heading(s);
        l->since_heading = 0;
    }
    for (size_t i = 0; i < f->target_count; i++)
        if (!f->targets[i].has_ended)
            lines_add_line(s, f, f->targets[i].name, f->targets[i].parts[PART_COMBINED].row,
                           &l->targets[i + 1], NULL);
    lines_add_line(s, f, "together", row, &l->targets[0], system);
    if (system)
        l->since_heading += lines_gpus(s, f);
}

static void lines_close(struct sink *s)
{
    struct lines *l = s->state;
    if (l)
        free(l->targets);
    free(l);
}

const struct sink_kind sink_lines = {
    .format = {"lines", ".lines", "a readable line for each sample", "FILE"},
    .frame = lines_frame,
    .close = lines_close,
};
