/* SPDX-License-Identifier: MIT
 * Lines for people while it runs: "lines", and the one of "status".
 *
 * One readable line a sample, in the manner of vmstat: what has a heading in the table of metrics,
 * or what was asked for by name; counters as rates. The heading comes back after a screen of lines.
 * On a terminal there are as many columns as fit.
 *
 *                           CPU   memory     disk     disk
 *       time target       cores      RSS   read/s  write/s processes
 *   21:27:53 process-1234  0.98  412 MiB      0 B 1.21 MiB         3 */
#include "sink/sink.h"
#include "sink/words.h"

#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>

/* ==== GPUs ==================================================================================== */

enum { INDENT = 4 };

static void lines_gpus_add_words(struct buf *b, const struct metric *m)
{
    char upper[64], lower[64];
    text_heading(m, true, upper, sizeof upper);
    buf_printf(b, "  %s%s%s ", upper, *upper ? " " : "",
               text_heading(m, false, lower, sizeof lower));
}

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
        lines_gpus_add_words(b, m);
        buf_double_fixed(b, number * 100, 0);
        buf_putc(b, '%');
        break;
    case UNIT_bytes:
        lines_gpus_add_words(b, m);
        buf_bytes(b, number);
        break;
    default:
        lines_gpus_add_words(b, m);
        human_short(b, m, number);
        break;
    }
}

unsigned lines_gpus(struct sink *s, const struct frame *f, unsigned columns)
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
            size_t end = s->text.length;
            if (*m->line && m->kind != METRIC_COUNTER)
                lines_gpus_add_figure(&s->text, m, metric_number(m, gpu->row.values[k]));
            if (!buf_failed(&s->text) &&
                utf8_columns(s->text.data + start, s->text.length - start) > columns)
                s->text.length = end; /* no room for it */
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
    bool is_count;
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
    unsigned width; /* of the screen */
    bool is_last;   /* the line shows the last sample */
};

static void lines_add_columns(struct sink *s, enum entity_kind kind)
{
    struct lines *l = s->state;
    uint64_t selected = kind == ENTITY_TARGET ? s->selection.parts[PART_COMBINED]
                                              : s->selection.of[kind];
    FOR_EACH_BIT(i, selected)
    {
        char upper[64], lower[64];
        const struct metric *m = metric_of(metric_first(kind) + i);
        if (!*m->line && !s->selection.by_name)
            continue;
        uint64_t words = max_u64(strlen(text_heading(m, true, upper, sizeof upper)),
                                 strlen(text_heading(m, false, lower, sizeof lower)));
        const char *widest = m->unit == UNIT_ratio          ? "99.95%"
                             : m->unit != UNIT_bytes        ? "1023M"
                             : s->text.units == BYTES_PLAIN ? "9999999999999 B"
                                                            : "1023 KiB";
        unsigned width = (unsigned)max_u64(words, strlen(widest));
        l->columns[l->column_count++] = (struct lines_column){kind, i, width + 1,
                                                              m->unit == UNIT_count};
    }
}

static unsigned lines_width_of(const struct lines *l, enum entity_kind kind)
{
    unsigned width = 0;
    for (unsigned c = 0; c < l->column_count; c++)
        width += l->columns[c].kind == kind ? l->columns[c].width : 0;
    return width;
}

/* A line that is broken by the terminal cannot be read: long names give way first, then columns
 * that count something, then those on the right. */
static void lines_fit(struct lines *l, unsigned terminal)
{
    unsigned whole = TIME + lines_width_of(l, ENTITY_TARGET) + lines_width_of(l, ENTITY_SYSTEM);
    if (l->name_width > NAME_CUT && whole + 1 + l->name_width > terminal)
        l->name_width = (unsigned)max_u64(NAME_CUT, left_u64(terminal, whole + 1));
    whole += l->name_width ? l->name_width + 1 : 0;
    for (unsigned c = 0; c < l->column_count && l->column_count > 1 && whole > terminal;) {
        if (!l->columns[c].is_count) {
            c++;
            continue;
        }
        whole -= l->columns[c].width;
        l->column_count--;
        memmove(&l->columns[c], &l->columns[c + 1], (l->column_count - c) * sizeof *l->columns);
    }
    while (l->column_count > 1 && whole > terminal)
        whole -= l->columns[--l->column_count].width;
}

static bool lines_has_upper(const struct lines *l)
{
    for (unsigned c = 0; c < l->column_count; c++)
        if (strchr(metric_of(metric_first(l->columns[c].kind) + l->columns[c].i)->line, '|'))
            return true;
    return false;
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
    l->width = terminal && window.ws_col ? window.ws_col : TEXT_LINE;
    if (terminal && window.ws_col)
        lines_fit(l, window.ws_col);
    /* The line of the prompt, and the heading, stay on the screen with them. */
    bool has_groups = lines_width_of(l, ENTITY_TARGET) && lines_width_of(l, ENTITY_SYSTEM);
    unsigned around = 2U + lines_has_upper(l) + has_groups;
    return terminal && window.ws_row > around + 1 ? window.ws_row - around : 22;
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
    if (target && system) { /* a line above separates their columns */
        start = s->text.length;
        buf_pad(&s->text, start, TIME + (l->name_width ? l->name_width + 1 : 0));
        lines_add_group(s, "target", target);
        lines_add_group(s, "machine", system);
        buf_putc(&s->text, '\n');
    }
    for (int upper = lines_has_upper(l); upper >= 0; upper--) {
        start = s->text.length;
        buf_puts(&s->text, upper ? "" : "time");
        buf_pad_left(&s->text, start, TIME);
        if (l->name_width) {
            start = s->text.length;
            buf_puts(&s->text, upper ? "" : " target");
            buf_pad(&s->text, start, l->name_width + 1);
        }
        for (unsigned c = 0; c < l->column_count; c++) {
            char word[64];
            const struct metric *m = metric_of(metric_first(l->columns[c].kind) + l->columns[c].i);
            start = s->text.length;
            buf_puts(&s->text, text_heading(m, upper, word, sizeof word));
            buf_pad_left(&s->text, start, l->columns[c].width);
        }
        while (!buf_failed(&s->text) && s->text.data[s->text.length - 1] == ' ')
            s->text.length--;
        if (!upper)
            text_style(s, PLAIN);
        buf_putc(&s->text, '\n');
    }
}

static void lines_remember_row(struct lines_before *before, const struct row *row, uint64_t now_ns)
{
    before->last = (struct lines_row){*row, now_ns};
    if (before->next.at_ns && now_ns - before->next.at_ns < METRIC_CATCHES_UP_NS)
        return;
    before->slow = before->next.at_ns ? before->next : before->last;
    before->next = before->last;
}

static void lines_put_figure(struct buf *b, const struct metric *m, double number)
{
    if (m->unit == UNIT_bytes)
        buf_bytes(b, number);
    else
        human_short(b, m, number);
}

/* The i-th figure of the row, a counter per second since the row that is remembered. False: not
 * known. */
static bool lines_take_number(const struct row *row, const struct lines_before *remembered,
                              uint64_t now_ns, unsigned i, double *ret)
{
    const struct metric *m = metric_of(row->first + i);
    /* What is read some times a second is new at a line as late as this. */
    bool is_new = m->cost == COST_OFTEN &&
                  now_ns - remembered->last.at_ns >= METRIC_CATCHES_UP_NS / 2;
    const struct lines_row *before = metric_catches_up(m) && !is_new ? &remembered->slow
                                                                     : &remembered->last;
    if (!(row->present >> i & 1))
        return false;
    if (m->kind != METRIC_COUNTER) {
        *ret = metric_number(m, row->values[i]);
        return true;
    }
    if (!before->at_ns || !(before->row.present >> i & 1) || now_ns <= before->at_ns)
        return false;
    union value grown = {.u = left_u64(row->values[i].u, before->row.values[i].u)};
    *ret = metric_number(m, grown) / ((double)(now_ns - before->at_ns) / 1e9);
    if (row->first + i == process_cpu_wait_seconds && row_has(row, process_threads_count) &&
        *ret > (double)row_u64(row, process_threads_count))
        *ret = (double)row_u64(row, process_threads_count);
    return true;
}

static void lines_add_cell(struct sink *s, const struct row *row,
                           const struct lines_before *remembered, uint64_t now_ns,
                           const struct lines_column *c)
{
    unsigned i = c->i;
    const struct metric *m = metric_of(row->first + i);
    size_t start = s->text.length;
    double number;
    buf_putc(&s->text, ' ');
    bool known = lines_take_number(row, remembered, now_ns, i, &number);
    /* Of a target that has ended nothing is left: zero, not unknown. */
    bool is_gone = ((const struct lines *)s->state)->is_last && row->first == process_first &&
                   !row_has(row, process_processes_count);
    uint64_t of_the_living = BIT(process_processes_count) | BIT(process_threads_count) |
                             BIT(process_memory_rss_bytes);
    if (known)
        lines_put_figure(&s->text, m, number);
    else if (is_gone && (of_the_living >> i & 1))
        lines_put_figure(&s->text, m, 0);
    else
        buf_putc(&s->text, '?');
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
        l->since_heading += lines_gpus(s, f, l->width);
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

/* ==== Status ================================================================================== */

/* 1:12  3.91 cores  memory 412M  read 1.2M/s  write 35M/s  42 processes */

/* A figure of the status and the words around it, the most important first: what does not fit on a
 * narrow terminal is cut off at the right, between two blanks. */
struct status_figure {
    enum metric_id id;
    const char *before, *after;
};

static const struct status_figure status_of_target[] = {
    {process_cpu_seconds, "", " cores"}, /* per second, since the line before */
    {process_memory_rss_bytes, "memory ", ""},
    {process_storage_read_bytes, "read ", "/s"},
    {process_storage_written_bytes, "write ", "/s"},
    {process_network_received_bytes, "in ", "/s"},
    {process_network_sent_bytes, "out ", "/s"},
    {process_processes_count, "", " processes"},
};

static const struct status_figure status_of_system[] = {
    {system_cpu_seconds, "", " cores"},           {system_memory_used_bytes, "memory ", ""},
    {system_disk_read_bytes, "read ", "/s"},      {system_disk_written_bytes, "write ", "/s"},
    {system_network_received_bytes, "in ", "/s"}, {system_network_sent_bytes, "out ", "/s"},
};

#define STATUS_INTERVAL_NS (500 * NS_PER_MS)
#define STATUS_GPUS_NS     (3 * NS_PER_SECOND) /* figures of GPUs are shown for this long */

struct status {
    struct lines_before before; /* as it was in the last line */
    uint64_t at_ns;             /* when that was; 0: there was none */
    char gpus[64];              /* the text about them, "": there are none */
    uint64_t gpus_at_ns;
};

/* 0 is nothing at all: what rounds to it is "<0.01". */
static void status_put_number(struct buf *b, const struct metric *m, double number)
{
    size_t start = b->length;
    if (number <= 0) {
        buf_putc(b, '0');
        return;
    }
    human_short(b, m, number);
    if (buf_failed(b) || b->data[start + strspn(b->data + start, "0.")] >= '1')
        return;
    bool is_whole = !memchr(b->data + start, '.', b->length - start);
    b->length = start;
    buf_puts(b, is_whole ? "<1" : "<0.01");
}

static void status_add_figure(struct sink *s, const struct status_figure *f, const struct row *row,
                              uint64_t now_ns)
{
    const struct status *status = s->state;
    const struct metric *m = metric_of(f->id);
    unsigned i = (unsigned)(f->id - row->first);
    double number;
    bool is_bound = row->at_least >> i & 1 && m->kind != METRIC_COUNTER;
    bool is_known = lines_take_number(row, &status->before, now_ns, i, &number);
    buf_printf(&s->text, "  %s", f->before);
    if (is_bound)
        buf_puts(&s->text, s->flags & TOLL_OUTPUT_ASCII ? ">=" : "≥");
    if (is_known || is_bound)
        status_put_number(&s->text, m, is_known ? number : metric_number(m, row->values[i]));
    else
        buf_putc(&s->text, '?');
    bool is_one = is_known && f->id == process_processes_count && number == 1;
    buf_puts(&s->text, is_one ? " process" : f->after);
}

/* How busy the GPUs are, on average, and their memory that is in use. A driver may answer after the
 * sample, so that not each has figures. */
static void status_take_gpus(struct status *status, const struct sink *s, const struct frame *f)
{
    const struct metric *busy = metric_of(gpu_utilization_ratio);
    const struct metric *memory = metric_of(gpu_memory_used_bytes);
    unsigned count = 0, busy_count = 0, memory_count = 0;
    double busy_sum = 0, memory_sum = 0;
    for (size_t i = 0; i < f->machine_count; i++) {
        const struct row *row = &f->machine[i]->row;
        if (f->machine[i]->entity.kind != ENTITY_GPU)
            continue;
        count++;
        if (row_has(row, gpu_utilization_ratio)) {
            busy_sum += metric_number(busy, row_value(row, gpu_utilization_ratio));
            busy_count++;
        }
        if (row_has(row, gpu_memory_used_bytes)) {
            memory_sum += metric_number(memory, row_value(row, gpu_memory_used_bytes));
            memory_count++;
        }
    }
    if (!count)
        return;
    struct buf b = {.units = s->text.units};
    if (count > 1)
        buf_printf(&b, "%u GPUs ", count);
    else
        buf_puts(&b, "GPU ");
    if (busy_count < count)
        buf_putc(&b, '?');
    else if (busy_sum > 0 && busy_sum / count < 0.005)
        buf_puts(&b, "<1%");
    else
        buf_double_fixed(&b, busy_sum / count * 100, 0), buf_putc(&b, '%');
    buf_putc(&b, ' ');
    if (memory_count < count)
        buf_putc(&b, '?');
    else
        status_put_number(&b, memory, memory_sum);
    status->gpus_at_ns = f->mono_ns;
    snprintf(status->gpus, sizeof status->gpus, "%s", buf_failed(&b) ? "" : b.data);
    buf_done(&b);
}

/* At most two lines a second; the rates are those since the line before. */
static void status_frame(struct sink *s, const struct frame *f)
{
    const struct row *row = f->target[PART_COMBINED].row;
    const struct status_figure *figures = row ? status_of_target : status_of_system;
    size_t count = row ? ARRAY_LEN(status_of_target) : ARRAY_LEN(status_of_system);
    uint64_t selected = row ? s->selection.parts[PART_COMBINED] : s->selection.of[ENTITY_SYSTEM];
    for (size_t i = 0; !row && i < f->machine_count; i++)
        if (f->machine[i]->entity.kind == ENTITY_SYSTEM)
            row = &f->machine[i]->row;
    struct status *status = s->state;
    if (!status)
        s->state = status = calloc(1, sizeof *status);
    if (!status || !row || f->last)
        return;
    status_take_gpus(status, s, f);
    if (status->at_ns && f->mono_ns - status->at_ns < STATUS_INTERVAL_NS)
        return;
    if (status->at_ns) { /* the first sample has no rates yet, and comes after a millisecond */
        uint64_t seconds = f->elapsed_ns / NS_PER_SECOND;
        if (seconds >= 3600)
            buf_printf(&s->text, "%llu:%02llu:", (unsigned long long)(seconds / 3600),
                       (unsigned long long)(seconds / 60 % 60));
        else
            buf_printf(&s->text, "%llu:", (unsigned long long)(seconds / 60));
        buf_printf(&s->text, "%02llu", (unsigned long long)(seconds % 60));
        for (size_t i = 0; i < count; i++) {
            if (selected >> (figures[i].id - row->first) & 1)
                status_add_figure(s, &figures[i], row, f->mono_ns);
            if (i == 1 && *status->gpus)
                buf_printf(&s->text, "  %s",
                           f->mono_ns - status->gpus_at_ns < STATUS_GPUS_NS ? status->gpus
                                                                            : "GPU ?");
        }
        buf_putc(&s->text, '\n');
    }
    status->at_ns = f->mono_ns;
    lines_remember_row(&status->before, row, f->mono_ns);
}

static void status_close(struct sink *s)
{
    free(s->state);
}

const struct sink_kind sink_status = {
    .format = {"status", "", "a short line, at most twice a second, as for --live", "FILE"},
    .frame = status_frame,
    .close = status_close,
};
