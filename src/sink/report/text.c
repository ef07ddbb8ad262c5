/* SPDX-License-Identifier: MIT
 * The report for a terminal: the same parts as the page, in as many columns as there are. */
#include "sink/report/job.h"

#include <string.h>

enum { INDENT = 2, COLUMN = 11, CHART_ROWS = 6, AXIS = 11 };

/* ==== Parts of lines ========================================================================== */

static void text_heading_line(struct sink *s, const char *title, const char *after)
{
    buf_puts(&s->text, s->text.length ? "\n" : "");
    text_style(s, BOLD);
    buf_puts(&s->text, title);
    text_style(s, PLAIN);
    buf_puts(&s->text, after);
}

/* Right-aligns what was added since `start` in a column, at least one blank after the last. */
static void text_end_cell(struct buf *b, size_t start, unsigned width)
{
    if (!buf_failed(b) && utf8_columns(b->data + start, b->length - start) >= width)
        buf_pad_left(b, start, (unsigned)utf8_columns(b->data + start, b->length - start) + 1);
    else
        buf_pad_left(b, start, width);
}

/* The mark of a process when it was last read; exact where the kernel recorded its end. */
static void text_put_bytes_cell(struct sink *s, bool is_known, bool is_least, double bytes)
{
    size_t start = s->text.length;
    buf_puts(&s->text, !is_known ? "?" : is_least ? "≥ " : "");
    if (is_known)
        buf_bytes(&s->text, bytes);
    text_end_cell(&s->text, start, COLUMN);
}

static void text_put_cpu_cell(struct sink *s, bool is_known, bool is_least, double seconds)
{
    size_t start = s->text.length;
    buf_puts(&s->text, !is_known ? "?" : is_least ? "≥ " : "");
    if (is_known)
        human_seconds(&s->text, seconds);
    text_end_cell(&s->text, start, COLUMN);
}

/* Headings of a table: the first at the left, the others above their columns. */
static void text_put_headings(struct sink *s, unsigned name, const char *const words[])
{
    size_t start = s->text.length;
    buf_pad(&s->text, start, INDENT);
    buf_puts(&s->text, words[0]);
    buf_pad(&s->text, start, INDENT + name);
    for (unsigned i = 1; words[i]; i++) {
        size_t cell = s->text.length;
        buf_puts(&s->text, words[i]);
        text_end_cell(&s->text, cell, COLUMN);
    }
    buf_putc(&s->text, '\n');
}

/* A name from outside as the first cell, cut to its column. */
static void text_put_name(struct sink *s, const char *name, unsigned width)
{
    size_t start = s->text.length;
    buf_pad(&s->text, start, INDENT);
    size_t text = s->text.length;
    text_foreign(s, name);
    text_cut(&s->text, text, width - 1);
    buf_pad(&s->text, start, INDENT + width);
}

static unsigned text_name_width(const struct sink *s, unsigned columns)
{
    unsigned width = text_width(s), used = INDENT + columns * COLUMN;
    return width > used + 12 ? width - used : 12;
}

/* ==== The answer ============================================================================== */

static void text_put_answer(struct sink *s, const struct report *r)
{
    const struct toll_end *end = &r->summary->whole.end;
    bool is_bad = end->ended && !end->unknown && (end->signaled || end->status);
    unsigned width = text_width(s);
    struct buf how = buf_like(&s->text);
    human_end(&how, r->summary);
    size_t how_columns = buf_failed(&how) ? 0 : utf8_columns(how.data, how.length);
    text_style(s, BOLD);
    size_t start = s->text.length;
    report_put_title(r, &s->text);
    text_cut(&s->text, start, width > how_columns + 14 ? width - (unsigned)how_columns - 2 : 12);
    buf_puts(&s->text, "  ");
    buf_pad(&s->text, start, (unsigned)left_u64(width, how_columns));
    text_style(s, PLAIN);
    text_style(s, is_bad ? RED : BOLD);
    if (!buf_failed(&how))
        buf_add(&s->text, how.data, how.length);
    text_style(s, PLAIN);
    buf_clear(&how);
    buf_puts(&how, "on ");
    buf_printable(&how, r->summary->run->host, strlen(r->summary->run->host));
    buf_puts(&how, ", started ");
    report_put_time(&how, r->summary->run->start_real_ns);
    if (*r->summary->run->parallel.rank || *r->summary->run->job.id) {
        buf_puts(&how, *r->summary->run->parallel.rank ? ", rank " : ", job ");
        words_put_place(&how, r->summary->run);
    }
    for (char **label = r->summary->run->labels; label && *label; label++) {
        buf_puts(&how, ", ");
        buf_printable(&how, *label, strlen(*label));
    }
    buf_puts(&s->text, "\n");
    text_style(s, DIM);
    text_paragraph_done(s, "", &how);
    text_style(s, PLAIN);
    buf_putc(&s->text, '\n');
    struct buf figure = buf_like(&s->text);
    for (size_t i = 0; i < REPORT_ANSWERS; i++) {
        const struct report_answer *a = &report_answers[i];
        enum quality q;
        buf_clear(&figure);
        if (!report_put_answer(r, a, &figure, &q) || buf_failed(&figure))
            continue;
        start = s->text.length;
        buf_printf(&s->text, "  %s", a->label);
        buf_pad(&s->text, start, 18);
        size_t cell = s->text.length;
        buf_add(&s->text, figure.data, figure.length);
        text_end_cell(&s->text, cell, 12);
        text_style(s, DIM);
        const char *after = width < TEXT_LINE ? "" : a->after; /* the label must do */
        buf_printf(&s->text, "  %s%s%s", after, *after ? ", " : "", report_quality_word(q));
        text_style(s, PLAIN);
        buf_putc(&s->text, '\n');
    }
    s->text.failed |= figure.failed;
    buf_done(&figure);
}

static void text_put_findings(struct sink *s, const struct report *r)
{
    static const char *const styles[] = {"", "", RED};
    static const char *const leads[] = {"  - ", "  ! ", "  ! "};
    struct report_findings f;
    if (!report_is_judged(r))
        return;
    report_find(r, &f);
    text_heading_line(s, "Findings", "\n");
    if (!f.count)
        buf_puts(&s->text, "  Nothing stands out.\n");
    for (unsigned i = 0; i < f.count && i < REPORT_FINDINGS_SHOWN; i++) {
        struct report_finding *one = &f.items[i];
        text_style(s, styles[one->weight]);
        text_paragraph_done(s, leads[one->weight], &one->sentence);
        text_style(s, *styles[one->weight] ? PLAIN : "");
        text_style(s, DIM);
        text_paragraph_done(s, "    ", &one->evidence);
        text_style(s, PLAIN);
    }
    if (f.count > REPORT_FINDINGS_SHOWN)
        buf_printf(&s->text, "  and %u more\n", f.count - REPORT_FINDINGS_SHOWN);
    report_findings_done(&f);
    for (size_t i = 0; i < r->summary->note_count && i < SUMMARY_NOTES; i++)
        text_paragraph(s, "  note: ", r->summary->notes[i]);
}

/* A bar of full and partly filled blocks. */
static void text_put_bar(struct buf *b, double share, unsigned columns)
{
    static const char *const parts[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
    share = share > 1 ? 1 : share > 0 ? share : 0;
    unsigned eighths = (unsigned)(share * columns * 8 + 0.5);
    if (share > 0 && !eighths)
        eighths = 1;
    unsigned filled = 0;
    for (; filled < eighths / 8; filled++)
        buf_puts(b, "█");
    if (eighths % 8) {
        buf_puts(b, parts[eighths % 8]);
        filled++;
    }
    for (; filled < columns; filled++)
        buf_puts(b, "·");
}

static void text_put_used(struct sink *s, const struct report *r)
{
    struct limit_used used[LIMITS];
    unsigned count = report_used(r, used), width = text_width(s);
    unsigned names = width >= 76 ? 22 : 17, bar = width >= 76 ? 16 : 8;
    if (!count)
        return;
    /* Where there is room a long name takes it, from the bars. */
    for (unsigned i = 0; i < count && width >= 76; i++) {
        struct buf name = {0};
        report_put_used(&name, &used[i]);
        unsigned wide = buf_failed(&name) ? 0 : (unsigned)utf8_columns(name.data, name.length);
        names = wide > names ? wide : names;
        bar = names > 30 ? 8 : 38 - names;
        buf_done(&name);
    }
    text_heading_line(s, "Limits", "\n");
    for (unsigned i = 0; i < count; i++) {
        const struct limit_used *u = &used[i];
        double share = u->used / u->allowed;
        size_t start = s->text.length;
        buf_puts(&s->text, "  ");
        size_t name = s->text.length;
        report_put_used(&s->text, u);
        text_cut(&s->text, name, names);
        buf_pad(&s->text, start, INDENT + names + 1);
        text_put_bar(&s->text, share, bar);
        size_t cell = s->text.length;
        human_percent(&s->text, share);
        text_end_cell(&s->text, cell, 8);
        buf_printf(&s->text, "  %s", u->is_least ? "≥ " : "");
        human_number(&s->text, u->unit, u->used);
        buf_puts(&s->text, " of ");
        human_number(&s->text, u->unit, u->allowed);
        size_t by = strlen(u->limit->by);
        if (!buf_failed(&s->text) && utf8_columns(s->text.data + start, s->text.length - start) +
                                             utf8_columns(u->limit->by, by) + 3 <=
                                         width) {
            text_style(s, DIM);
            buf_puts(&s->text, " (");
            buf_printable(&s->text, u->limit->by, by);
            buf_putc(&s->text, ')');
            text_style(s, PLAIN);
        }
        buf_putc(&s->text, '\n');
    }
}

/* ==== Curves ================================================================================== */

struct text_point {
    double mean, max; /* NAN: unknown */
};

/* The trace in that many columns of equal width in time. */
static void text_curve_points(const struct trace *t, uint64_t all_ns, unsigned count,
                              struct text_point *points)
{
    for (unsigned i = 0; i < count; i++) {
        uint64_t from = all_ns / count * i, until = all_ns / count * (i + 1);
        double sum = 0, covered = 0, max = 0;
        for (uint64_t k = from / t->width_ns; k < trace_length(t) && k * t->width_ns < until; k++) {
            const struct trace_column *c = &t->columns[k];
            if (!c->covered_ns)
                continue;
            sum += c->sum;
            covered += (double)c->covered_ns / 1e9;
            max = c->max > max ? c->max : max;
        }
        points[i] = covered > 0 ? (struct text_point){sum / covered, max}
                                : (struct text_point){NAN, NAN};
    }
}

/* One cell of a column: filled up to the mean, and lightly up to the largest value. */
static const char *text_curve_cell(const struct text_point *p, double cell, double floor)
{
    static const char *const parts[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇"};
    if (isnan(p->mean))
        return " ";
    if (p->mean >= floor + cell * 0.9375)
        return "█";
    double part = (p->mean - floor) / cell;
    if (part >= 0.0625)
        return parts[(unsigned)(part * 8 + 0.5) - 1];
    if (p->max > floor + cell * 0.5 || (p->max > floor && floor <= 0))
        return floor <= 0 && p->mean <= 0 ? "▁" : "░";
    return floor <= 0 ? "▁" : " ";
}

static void text_put_curve(struct sink *s, const struct report *r, const struct chart *c)
{
    enum { MOST = 160 };
    const struct chart_series *series = &c->series[0];
    const struct metric *m = metric_of(series->id);
    const struct trace *t = &series->trace;
    struct text_point points[MOST];
    uint64_t all_ns = max_u64(r->summary->elapsed_ns, t->end_ns);
    unsigned width = text_width(s) - AXIS - INDENT;
    double limit = chart_limit(r, c);
    if (!t->count || !(t->max > 0) || all_ns < width)
        return;
    text_heading_line(s, c->plan->title, ", ");
    buf_puts(&s->text, *series->name ? series->name : c->plan->about);
    buf_puts(&s->text, ": up to ");
    chart_put_value(&s->text, m, t->max);
    buf_puts(&s->text, ", mean ");
    chart_put_value(&s->text, m, trace_overall_mean(t));
    if (limit > 0) {
        buf_puts(&s->text, ", allowed ");
        chart_put_value(&s->text, m, limit);
    }
    buf_putc(&s->text, '\n');
    text_curve_points(t, all_ns, width, points);
    double cell = t->max / CHART_ROWS;
    for (unsigned row = CHART_ROWS; row-- > 0;) {
        size_t start = s->text.length;
        if (row + 1 == CHART_ROWS)
            chart_put_value(&s->text, m, t->max);
        else if (!row)
            buf_putc(&s->text, '0');
        buf_pad_left(&s->text, start, AXIS);
        buf_puts(&s->text, " │");
        for (unsigned i = 0; i < width; i++)
            buf_puts(&s->text, text_curve_cell(&points[i], cell, cell * row));
        while (s->text.length > start && s->text.data[s->text.length - 1] == ' ')
            s->text.length--;
        buf_putc(&s->text, '\n');
    }
    size_t start = s->text.length;
    buf_pad(&s->text, start, AXIS + INDENT);
    buf_putc(&s->text, '0');
    struct buf end = buf_like(&s->text);
    human_seconds(&end, (double)all_ns / 1e9);
    if (!buf_failed(&end)) {
        buf_pad(&s->text, start,
                AXIS + INDENT + width - (unsigned)utf8_columns(end.data, end.length));
        buf_add(&s->text, end.data, end.length);
    }
    buf_done(&end);
    buf_putc(&s->text, '\n');
}

/* CPU and memory of the target, or of the machine when it was measured alone. */
static void text_put_curves(struct sink *s, const struct report *r)
{
    static const enum metric_id figures[2][2] = {
        {system_cpu_cores, system_memory_used_bytes},
        {process_cpu_cores, process_memory_rss_bytes},
    };
    const enum metric_id *wanted = figures[r->summary->has_target];
    for (unsigned i = 0; i < REPORT_CHARTS; i++)
        if (r->charts[i].count &&
            (r->charts[i].series[0].id == wanted[0] || r->charts[i].series[0].id == wanted[1]))
            text_put_curve(s, r, &r->charts[i]);
}

/* ==== Phases and processes ==================================================================== */

static void text_put_phases(struct sink *s, const struct report *r)
{
    enum { ROWS = 20 };
    static const char *const headings[] = {"phase", "times", "time", "CPU time", "peak RSS", NULL};
    const struct mark_totals *t = &r->summary->marks;
    unsigned name = text_name_width(s, 4);
    if (!t->phase_count)
        return;
    text_heading_line(s, "Phases", "\n");
    text_put_headings(s, name, headings);
    for (size_t i = 0; i < t->phase_count && i < ROWS; i++) {
        const struct phase_total *p = &t->phases[i];
        struct phase_figure cpu = phase_total_figure(p, process_cpu_seconds);
        struct phase_figure rss = phase_total_figure(p, process_memory_rss_bytes);
        text_put_name(s, p->name, name);
        size_t start = s->text.length;
        human_count(&s->text, (double)p->count);
        text_end_cell(&s->text, start, COLUMN);
        start = s->text.length;
        human_seconds(&s->text, (double)p->total_ns / 1e9);
        text_end_cell(&s->text, start, COLUMN);
        text_put_cpu_cell(s, cpu.quality != QUALITY_UNKNOWN && cpu.total >= 0,
                          cpu.quality == QUALITY_LOWER_BOUND, cpu.total);
        start = s->text.length;
        if (rss.quality == QUALITY_UNKNOWN || rss.max < 0) {
            buf_putc(&s->text, '?');
        } else {
            buf_puts(&s->text, rss.quality == QUALITY_LOWER_BOUND ? "≥ " : "");
            buf_bytes(&s->text, rss.max);
        }
        text_end_cell(&s->text, start, COLUMN);
        buf_putc(&s->text, '\n');
    }
    if (t->phase_count > ROWS)
        buf_printf(&s->text, "  and %zu more\n", t->phase_count - ROWS);
}

static void text_put_largest(struct sink *s, const struct report *r)
{
    enum { ROWS = 10 };
    static const char *const headings[] = {"process", "peak RSS", "CPU time", NULL};
    static const char *const programs[] = {"program", "processes", "largest", "CPU time", NULL};
    const struct largest *l = r->summary->largest;
    const struct largest_program *sorted[LARGEST_PROGRAMS];
    struct buf name = {0};
    if (!l || !l->by_memory_count)
        return;
    text_heading_line(s, "Largest processes", "\n");
    unsigned width = text_name_width(s, 2);
    text_put_headings(s, width, headings);
    for (unsigned i = 0; i < l->by_memory_count && i < ROWS; i++) {
        const struct largest_process *p = &l->by_memory[i];
        buf_clear(&name);
        buf_printf(&name, "%d  %s", (int)p->pid, *p->command ? p->command : p->name);
        if (buf_failed(&name))
            break;
        text_put_name(s, name.data, width);
        text_put_bytes_cell(s, p->has_peak && p->peak_bytes, !p->is_recorded,
                            (double)p->peak_bytes);
        text_put_cpu_cell(s, p->has_cpu && (p->is_complete || p->cpu_ns), !p->is_complete,
                          (double)p->cpu_ns / 1e9);
        buf_putc(&s->text, '\n');
    }
    bool is_least = report_misses_processes(r);
    unsigned count = largest_programs_by_cpu(l, sorted);
    if (count > 1 && l->count > l->by_memory_count) {
        text_heading_line(s, "By program", "\n");
        width = text_name_width(s, 3);
        text_put_headings(s, width, programs);
    } else {
        count = 0;
    }
    for (unsigned i = 0; i < count && i < ROWS; i++) {
        text_put_name(s, sorted[i]->name, width);
        size_t start = s->text.length;
        buf_puts(&s->text, is_least ? "≥ " : "");
        human_count(&s->text, (double)sorted[i]->count);
        text_end_cell(&s->text, start, COLUMN);
        text_put_bytes_cell(s, sorted[i]->peak_bytes, !sorted[i]->is_recorded,
                            (double)sorted[i]->peak_bytes);
        text_put_cpu_cell(s, sorted[i]->is_complete || sorted[i]->cpu_ns,
                          is_least || !sorted[i]->is_complete, (double)sorted[i]->cpu_ns / 1e9);
        buf_putc(&s->text, '\n');
    }
    s->text.failed |= name.failed;
    buf_done(&name);
}

/* ==== Earlier runs ============================================================================ */

static void text_put_runs_curve(struct sink *s, const struct report_history *h,
                                enum history_figure f, unsigned most_columns)
{
    static const char *const heights[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    size_t first = h->count > most_columns ? h->count - most_columns : 0;
    double most = 0;
    for (size_t i = first; i < h->count; i++)
        if (h->runs[i].figures[f].quality != QUALITY_UNKNOWN && h->runs[i].figures[f].value > most)
            most = h->runs[i].figures[f].value;
    for (size_t i = first; i < h->count; i++) {
        double value = h->runs[i].figures[f].value;
        bool is_known = h->runs[i].figures[f].quality != QUALITY_UNKNOWN;
        buf_puts(&s->text, !is_known  ? " "
                           : most > 0 ? heights[(unsigned)(value / most * 7 + 0.5)]
                                      : heights[0]);
    }
}

static void text_history(struct sink *s, const struct report_history *h)
{
    enum { ROWS = 10, TIME = 17, ENDED = 10, FIGURE = 10, CHANGE = 7, NAME = 20 };
    unsigned width = text_width(s);
    bool has_names = history_has_names(h);
    unsigned with_changes = INDENT + TIME + ENDED + HISTORY_FIGURES * (FIGURE + CHANGE);
    bool has_changes = width >= with_changes + (has_names ? NAME : 0);
    unsigned name_at = 2 + (has_changes ? with_changes
                                        : INDENT + TIME + ENDED + HISTORY_FIGURES * FIGURE);
    bool has_times = !has_names || width >= name_at + NAME / 2; /* else names in their place */
    size_t begin = s->text.length;
    size_t shown = h->is_overview || h->count < ROWS ? h->count : ROWS;
    text_heading_line(s, h->is_overview ? "Runs" : "Earlier runs of this name",
                      has_changes ? ", with the change from the previous run\n" : "\n");
    size_t start = s->text.length;
    buf_puts(&s->text, has_times ? "  started (UTC)" : "  name");
    buf_pad(&s->text, start, INDENT + TIME);
    buf_puts(&s->text, "ended");
    buf_pad(&s->text, start, INDENT + TIME + ENDED);
    for (unsigned f = 0; f < HISTORY_FIGURES; f++) {
        size_t cell = s->text.length;
        buf_puts(&s->text, f == HISTORY_MEMORY ? "memory" : history_columns[f].title);
        text_end_cell(&s->text, cell, FIGURE);
        for (unsigned i = 0; has_changes && f + 1 < HISTORY_FIGURES && i < CHANGE; i++)
            buf_putc(&s->text, ' ');
    }
    buf_putc(&s->text, '\n');
    for (size_t i = h->count; i-- > h->count - shown;) {
        const struct report_past *p = &h->runs[i];
        start = s->text.length;
        text_style(s, history_is_bad(p) ? RED : "");
        size_t line = s->text.length;
        buf_puts(&s->text, !h->is_overview && i + 1 == h->count ? "* " : "  ");
        size_t time = s->text.length;
        if (has_times)
            report_put_time(&s->text, p->start_ns);
        if (!buf_failed(&s->text) && s->text.length > time + TIME - 1)
            s->text.length = time + TIME - 1; /* to the minute; the heading has the zone */
        if (!has_times)
            text_foreign(s, p->name);
        text_cut(&s->text, time, TIME - 1);
        buf_pad(&s->text, line, INDENT + TIME);
        history_put_end(p, &s->text);
        buf_pad(&s->text, line, INDENT + TIME + ENDED);
        for (unsigned f = 0; f < HISTORY_FIGURES; f++) {
            size_t cell = s->text.length;
            history_put_figure(p, f, &s->text);
            text_end_cell(&s->text, cell, FIGURE);
            cell = s->text.length;
            if (has_changes) {
                history_put_change(h, i, f, &s->text);
                text_end_cell(&s->text, cell, CHANGE);
            }
        }
        while (!buf_failed(&s->text) && s->text.data[s->text.length - 1] == ' ')
            s->text.length--;
        if (has_names && has_times) {
            buf_pad(&s->text, line, name_at);
            size_t name = s->text.length;
            text_foreign(s, p->name);
            text_cut(&s->text, name, width - name_at);
        }
        text_style(s, history_is_bad(p) ? PLAIN : "");
        buf_putc(&s->text, '\n');
    }
    if (shown < h->count)
        buf_printf(&s->text, "  and %zu older ones\n", h->count - shown);
    if (h->count > 2 && !h->is_overview) {
        buf_putc(&s->text, '\n');
        for (unsigned f = 0; f < HISTORY_FIGURES; f++) {
            start = s->text.length;
            buf_printf(&s->text, "  %s", history_columns[f].title);
            buf_pad(&s->text, start, 16);
            text_put_runs_curve(s, h, f, width - 16);
            buf_putc(&s->text, '\n');
        }
    }
    if (h->is_overview)
        buf_putc(&s->text, '\n');
    if (s->flags & TOLL_OUTPUT_ASCII)
        text_to_ascii(&s->text, begin);
}

/* ==== The whole =============================================================================== */

static void text_run(struct sink *s, const struct report *r)
{
    size_t start = s->text.length;
    text_put_answer(s, r);
    text_put_findings(s, r);
    text_put_used(s, r);
    text_put_curves(s, r);
    text_put_phases(s, r);
    text_put_largest(s, r);
    if (s->flags & TOLL_OUTPUT_ASCII)
        text_to_ascii(&s->text, start);
}

const struct report_form report_text = {
    .job = job_text,
    .name = "text",
    .between = "\n",
    .run = text_run,
    .history = text_history,
};
