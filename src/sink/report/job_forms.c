/* SPDX-License-Identifier: MIT
 * The ranks of a parallel job as text, Markdown, a page and JSON. */
#include "base/text/json.h"
#include "sink/report/job.h"

#include <stdio.h>
#include <string.h>

enum {
    INDENT = 2,
    LABEL = 18,
    CELL = 11,
    RANKS_IN_TEXT = 16, /* the half that computed most and the half that computed least */
    RANKS_IN_PAGE = 64, /* small multiples */
    HOSTS_IN_TEXT = 16,
    SPARK = 16, /* columns of a small curve */
};

/* ==== Which ranks ============================================================================= */

static int forms_compare_cpu(const void *left, const void *right)
{
    const struct job_rank *a = *(const struct job_rank *const *)left;
    const struct job_rank *b = *(const struct job_rank *const *)right;
    double x = a->figures[JOB_CPU].value, y = b->figures[JOB_CPU].value;
    return x != y ? (x < y) - (x > y) : (a > b) - (a < b);
}

static int forms_compare_order(const void *left, const void *right)
{
    const struct job_rank *a = *(const struct job_rank *const *)left;
    const struct job_rank *b = *(const struct job_rank *const *)right;
    return (a > b) - (a < b);
}

/* All ranks, or of many those with most and with least CPU time, by number. NULL: no memory. */
static const struct job_rank **forms_choose(const struct report_job *j, size_t most,
                                            size_t *ret_count)
{
    const struct job_rank **chosen = calloc(j->count + 1, sizeof *chosen);
    for (size_t i = 0; chosen && i < j->count; i++)
        chosen[i] = &j->ranks[i];
    *ret_count = j->count < most ? j->count : most;
    if (chosen && j->count > most) {
        qsort(chosen, j->count, sizeof *chosen, forms_compare_cpu);
        memmove(&chosen[most / 2], &chosen[j->count - (most - most / 2)],
                (most - most / 2) * sizeof *chosen);
        qsort(chosen, most, sizeof *chosen, forms_compare_order);
    }
    return chosen;
}

static void forms_put_figure(struct buf *b, const struct job_rank *r, enum job_figure f)
{
    if (r->figures[f].quality == QUALITY_UNKNOWN) {
        buf_putc(b, '?');
        return;
    }
    buf_puts(b, r->figures[f].quality == QUALITY_LOWER_BOUND ? "≥ " : "");
    human_number(b, metric_of(job_figures[f].unit), r->figures[f].value);
}

/* "1.20 GiB", or "1.10 GiB to 1.20 GiB" where it is not known better than that. */
static void forms_put_together(struct buf *b, const struct job_together *t)
{
    const struct metric *m = metric_of(process_memory_rss_bytes);
    if (t->memory_high <= 0) {
        buf_putc(b, '?');
        return;
    }
    if (t->memory_low < 0.95 * t->memory_high) {
        human_number(b, m, t->memory_low);
        buf_puts(b, " to ");
    }
    human_number(b, m, t->memory_high);
}

/* When something was, since the start of the job. */
static double forms_seconds_at(const struct report_job *j, unsigned column)
{
    return (double)column * (double)(UINT64_C(1) << j->shift) / 1e9;
}

/* ---- Statistics ------------------------------------------------------------------------------ */

enum statistic_cell {
    CELL_MIN,
    CELL_MIN_RANK,
    CELL_MEAN,
    CELL_MAX,
    CELL_MAX_RANK,
    CELL_SUM,
    CELLS
};

static const char *const statistic_headings[CELLS] = {"min", "rank", "mean", "max", "rank", "sum"};

static void forms_put_statistic(struct buf *b, const struct report_job *j, enum job_figure f,
                                enum statistic_cell c)
{
    const struct job_statistic *s = &j->figures[f];
    const struct metric *m = metric_of(job_figures[f].unit);
    double value = c == CELL_MIN    ? s->min
                   : c == CELL_MEAN ? s->mean
                   : c == CELL_MAX  ? s->max
                                    : s->sum;
    if (c == CELL_MIN_RANK || c == CELL_MAX_RANK)
        buf_puts(b, s->min < s->max ? c == CELL_MIN_RANK ? s->min_rank : s->max_rank : "");
    else if (c != CELL_SUM || job_figures[f].has_sum) {
        buf_puts(b, (c == CELL_SUM ? s->sum_is_least : s->is_least) ? "≥ " : "");
        human_number(b, m, value);
    }
}

/* Sentences about the whole: balance, skew, clocks. Each is handed over as one paragraph. */
static void forms_each_sentence(const struct report_job *j, struct sink *s,
                                void (*put)(struct sink *s, const struct buf *sentence))
{
    struct buf b = buf_like(&s->text);
    if (!isnan(j->imbalance)) {
        buf_puts(&b, "Imbalance of CPU time (max / mean − 1): ");
        human_percent(&b, j->imbalance);
        if (j->imbalance_at < j->columns) {
            buf_puts(&b, "; over time up to ");
            human_percent(&b, (double)j->imbalance_over[j->imbalance_at]);
            buf_puts(&b, ", after ");
            human_seconds(&b, forms_seconds_at(j, j->imbalance_at));
        }
        buf_putc(&b, '.');
        put(s, &b);
    }
    if (j->together.memory_high > 0) {
        buf_clear(&b);
        buf_puts(&b, "All ranks together: ");
        forms_put_together(&b, &j->together);
        buf_puts(&b, " of memory at the same time (sampled; the sum of their peaks is ");
        human_number(&b, metric_of(process_memory_rss_bytes), j->together.memory_peaks);
        buf_puts(&b, "), up to ");
        human_number(&b, metric_of(process_cpu_cores), j->together.cores);
        buf_puts(&b, " cores over ");
        human_seconds(&b, forms_seconds_at(j, 1));
        buf_putc(&b, '.');
        put(s, &b);
    }
    buf_clear(&b);
    buf_puts(&b, "The ranks started within ");
    human_seconds(&b, j->start_skew);
    buf_printf(&b, " (rank %s last)", j->last_start);
    if (!isnan(j->end_skew)) {
        buf_puts(&b, " and ended within ");
        human_seconds(&b, j->end_skew);
        buf_printf(&b, " (rank %s first)", j->first_end);
    }
    size_t compared = 0, shifted = 0;
    double most = 0;
    for (size_t h = 1; h < j->host_count; h++) {
        compared += j->hosts[h].knows_ahead;
        shifted += j->hosts[h].is_ahead;
        double ahead = fabs(j->hosts[h].ahead_seconds) + j->hosts[h].ahead_error;
        most = !j->hosts[h].is_ahead && j->hosts[h].knows_ahead && ahead > most ? ahead : most;
    }
    if (j->host_count > 1 && compared + 1 < j->host_count)
        buf_printf(&b, ". Clocks of %zu of %zu hosts could not be compared",
                   j->host_count - 1 - compared, j->host_count);
    if (compared > shifted) {
        buf_puts(&b, ". Clocks of the hosts agree within ");
        human_seconds(&b, most);
    }
    if (shifted)
        buf_printf(&b, ". The clock%s of %zu host%s differ%s", shifted == 1 ? "" : "s", shifted,
                   shifted == 1 ? "" : "s", shifted == 1 ? "s" : "");
    buf_putc(&b, '.');
    put(s, &b);
    s->text.failed |= b.failed;
    buf_done(&b);
}

/* How the job ended: as its worst rank did. */
static void forms_put_end(const struct report_job *j, struct buf *b, bool *ret_is_bad)
{
    const struct job_rank *worst = &j->ranks[0];
    uint64_t start = UINT64_MAX, end = 0;
    for (size_t i = 0; i < j->count; i++) {
        const struct job_rank *r = &j->ranks[i];
        if (job_rank_is_bad(r) && !job_rank_is_bad(worst))
            worst = r;
        start = r->start_ns < start ? r->start_ns : start;
        end = r->end_ns > end ? r->end_ns : end;
    }
    *ret_is_bad = job_rank_is_bad(worst);
    if (*ret_is_bad)
        buf_printf(b, "rank %s: ", worst->rank);
    job_rank_put_end(worst, b);
    buf_puts(b, " in ");
    human_seconds(b, (double)(end - start) / 1e9);
}

static void forms_put_place(const struct report_job *j, struct buf *b)
{
    buf_puts(b, "started ");
    uint64_t start = j->ranks[0].start_ns;
    for (size_t i = 1; i < j->count; i++)
        start = j->ranks[i].start_ns < start ? j->ranks[i].start_ns : start;
    report_put_time(b, start);
    if (*j->launcher)
        buf_printf(b, ", %s", j->launcher);
    if (*j->job_id)
        buf_printf(b, ", job %s", j->job_id);
    if (*j->array_index)
        buf_printf(b, ", array index %s", j->array_index);
    if (j->world_size)
        buf_printf(b, ", %zu of %zu ranks", j->count, j->world_size);
}

/* ==== Text ==================================================================================== */

static void forms_cell(struct buf *b, size_t start, unsigned width)
{
    unsigned columns = buf_failed(b) ? 0
                                     : (unsigned)utf8_columns(b->data + start, b->length - start);
    buf_pad_left(b, start, columns >= width ? columns + 1 : width);
}

static void forms_text_sentence(struct sink *s, const struct buf *sentence)
{
    if (!buf_failed(sentence))
        text_paragraph(s, "  ", sentence->data);
}

/* A curve of a few columns; blank where the rank was not there. */
static void forms_put_spark(struct sink *s, const struct report_job *j, const struct job_rank *r,
                            double top)
{
    static const char *const heights[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    double width = (double)(UINT64_C(1) << j->shift) / 1e9;
    double sums[SPARK] = {0};
    bool is_there[SPARK] = {false};
    if (!r->curve || !j->columns || top <= 0)
        return;
    double per = (double)j->columns / SPARK;
    for (unsigned k = 0; k < r->curve->count; k++) {
        unsigned column = (unsigned)(r->curve->first - j->first) + k;
        unsigned at = (unsigned)((double)column / (per > 1 ? per : 1));
        if (at >= SPARK)
            continue;
        sums[at] += (double)r->curve->cpu_seconds[k] / width / (per > 1 ? per : 1);
        is_there[at] = true;
    }
    unsigned last = SPARK;
    while (last && !is_there[last - 1])
        last--;
    for (unsigned i = 0; i < last; i++) {
        double height = sums[i] / top * 7.99;
        text_foreign(s, is_there[i] ? heights[height > 7 ? 7 : (unsigned)height] : " ");
    }
}

static void forms_text_hosts(struct sink *s, const struct report_job *j)
{
    if (j->host_count < 2)
        return;
    text_style(s, BOLD);
    buf_puts(&s->text, "\nHosts");
    text_style(s, PLAIN);
    buf_puts(&s->text, ", the most that their ranks used at the same time\n");
    for (size_t h = 0; h < j->host_count && h < HOSTS_IN_TEXT; h++) {
        const struct job_host *host = &j->hosts[h];
        size_t start = s->text.length;
        buf_puts(&s->text, "  ");
        text_foreign(s, host->name);
        text_cut(&s->text, start, LABEL + INDENT - 1);
        buf_pad(&s->text, start, LABEL + INDENT);
        size_t cell = s->text.length;
        buf_printf(&s->text, "%zu rank%s", host->ranks, host->ranks == 1 ? "" : "s");
        forms_cell(&s->text, cell, CELL);
        cell = s->text.length;
        human_number(&s->text, metric_of(process_cpu_cores), host->used.cores);
        buf_puts(&s->text, " cores");
        forms_cell(&s->text, cell, CELL + 3);
        buf_puts(&s->text, "   ");
        forms_put_together(&s->text, &host->used);
        buf_puts(&s->text, " of memory\n");
    }
    if (j->host_count > HOSTS_IN_TEXT)
        buf_printf(&s->text, "  … %zu more\n", j->host_count - HOSTS_IN_TEXT);
}

static void forms_text_ranks(struct sink *s, const struct report_job *j)
{
    size_t count;
    const struct job_rank **ranks = forms_choose(j, RANKS_IN_TEXT, &count);
    double top = 0;
    double width = (double)(UINT64_C(1) << j->shift) / 1e9;
    if (!ranks) {
        s->text.failed = true;
        return;
    }
    for (size_t i = 0; i < count; i++)
        for (unsigned k = 0; ranks[i]->curve && k < ranks[i]->curve->count; k++) {
            double cores = (double)ranks[i]->curve->cpu_seconds[k] / width;
            top = cores > top ? cores : top;
        }
    text_style(s, BOLD);
    buf_puts(&s->text, "\nRanks");
    text_style(s, PLAIN);
    if (count < j->count)
        buf_printf(&s->text, ", the %zu with the most and the least CPU time of %zu", count,
                   j->count);
    buf_putc(&s->text, '\n');
    static const char *const headings[] = {"time", "CPU", "peak RSS"};
    size_t start = s->text.length;
    buf_puts(&s->text, "  rank  host");
    buf_pad(&s->text, start, INDENT + 6 + LABEL);
    for (unsigned i = 0; i < ARRAY_LEN(headings); i++) {
        size_t cell = s->text.length;
        buf_puts(&s->text, headings[i]);
        forms_cell(&s->text, cell, CELL);
    }
    unsigned end_width = 0;
    struct buf ends = {0};
    for (size_t i = 0; i < count; i++) {
        buf_clear(&ends);
        job_rank_put_end(ranks[i], &ends);
        buf_puts(&ends, ranks[i]->is_slow ? ", slow" : "");
        end_width = ends.length > end_width ? (unsigned)ends.length : end_width;
    }
    buf_done(&ends);
    buf_puts(&s->text, "  ");
    start = s->text.length;
    buf_puts(&s->text, "end");
    buf_pad(&s->text, start, end_width);
    buf_puts(&s->text, " cores over time\n");
    for (size_t i = 0; i < count; i++) {
        const struct job_rank *r = ranks[i];
        static const enum job_figure shown[] = {JOB_WALL, JOB_CPU, JOB_MEMORY};
        start = s->text.length;
        buf_printf(&s->text, "%6s  ", r->rank);
        size_t host = s->text.length;
        text_foreign(s, r->host);
        text_cut(&s->text, host, LABEL - 1);
        buf_pad(&s->text, start, INDENT + 6 + LABEL);
        for (unsigned k = 0; k < ARRAY_LEN(shown); k++) {
            size_t cell = s->text.length;
            forms_put_figure(&s->text, r, shown[k]);
            forms_cell(&s->text, cell, CELL);
        }
        buf_puts(&s->text, "  ");
        text_style(s, job_rank_is_bad(r) ? RED : "");
        size_t visible = s->text.length;
        job_rank_put_end(r, &s->text);
        buf_puts(&s->text, r->is_slow ? ", slow" : "");
        buf_pad(&s->text, visible, end_width);
        if (job_rank_is_bad(r))
            text_style(s, PLAIN);
        buf_putc(&s->text, ' ');
        forms_put_spark(s, j, r, top);
        while (s->text.length && s->text.data && s->text.data[s->text.length - 1] == ' ')
            s->text.length--;
        buf_putc(&s->text, '\n');
    }
    free(ranks);
}

void job_text(struct sink *s, const struct report_job *j)
{
    struct buf how = buf_like(&s->text);
    bool is_bad;
    const size_t begin = s->text.length;
    text_style(s, BOLD);
    size_t start = s->text.length;
    report_job_put_title(j, &s->text);
    forms_put_end(j, &how, &is_bad);
    size_t columns = buf_failed(&how) ? 0 : utf8_columns(how.data, how.length);
    unsigned width = text_width(s);
    text_cut(&s->text, start, width > columns + 14 ? width - (unsigned)columns - 2 : 12);
    buf_puts(&s->text, "  ");
    buf_pad(&s->text, start, (unsigned)left_u64(width, columns));
    text_style(s, PLAIN);
    text_style(s, is_bad ? RED : BOLD);
    buf_puts(&s->text, how.data ? how.data : "");
    text_style(s, PLAIN);
    buf_clear(&how);
    forms_put_place(j, &how);
    buf_putc(&s->text, '\n');
    text_style(s, DIM);
    text_paragraph_done(s, "", &how);
    text_style(s, PLAIN);
    buf_putc(&s->text, '\n');
    start = s->text.length;
    buf_pad(&s->text, start, INDENT + LABEL);
    for (unsigned c = 0; c < CELLS; c++) {
        size_t cell = s->text.length;
        buf_puts(&s->text, statistic_headings[c]);
        forms_cell(&s->text, cell, c == CELL_MIN_RANK || c == CELL_MAX_RANK ? 6 : CELL);
    }
    buf_putc(&s->text, '\n');
    for (unsigned f = 0; f < JOB_FIGURES; f++) {
        if (!j->figures[f].known)
            continue;
        start = s->text.length;
        buf_printf(&s->text, "  %s", job_figures[f].title);
        buf_pad(&s->text, start, INDENT + LABEL);
        for (unsigned c = 0; c < CELLS; c++) {
            size_t cell = s->text.length;
            forms_put_statistic(&s->text, j, f, c);
            forms_cell(&s->text, cell, c == CELL_MIN_RANK || c == CELL_MAX_RANK ? 6 : CELL);
        }
        if (j->figures[f].known < j->count)
            buf_printf(&s->text, "  of %zu ranks", j->figures[f].known);
        while (s->text.length && s->text.data && s->text.data[s->text.length - 1] == ' ')
            s->text.length--;
        buf_putc(&s->text, '\n');
    }
    buf_putc(&s->text, '\n');
    struct report_findings f;
    report_job_find(j, &f);
    for (unsigned i = 0; i < f.count && i < REPORT_FINDINGS_SHOWN; i++) {
        struct buf line = buf_like(&s->text);
        const struct report_finding *one = &f.items[i];
        buf_printf(&line, "%s (%s)", one->sentence.data ? one->sentence.data : "",
                   one->evidence.data ? one->evidence.data : "");
        text_style(s, one->weight == FINDING_NOTE ? "" : BOLD);
        text_paragraph_done(s, one->weight == FINDING_NOTE ? "  " : "! ", &line);
        if (one->weight != FINDING_NOTE)
            text_style(s, PLAIN);
    }
    report_findings_done(&f);
    forms_each_sentence(j, s, forms_text_sentence);
    forms_text_hosts(s, j);
    forms_text_ranks(s, j);
    if (s->flags & TOLL_OUTPUT_ASCII)
        text_to_ascii(&s->text, begin);
}

/* ==== Markdown ================================================================================ */

static void forms_markdown_escaped(struct buf *b, const char *text)
{
    for (; *text; text++) {
        if (strchr("\\`*_{}[]<>#|", *text))
            buf_putc(b, '\\');
        buf_putc(b, (unsigned char)*text < ' ' ? '?' : *text);
    }
}

static void forms_markdown_sentence(struct sink *s, const struct buf *sentence)
{
    buf_puts(&s->text, "- ");
    forms_markdown_escaped(&s->text, sentence->data ? sentence->data : "");
    buf_putc(&s->text, '\n');
}

void job_markdown(struct sink *s, const struct report_job *j)
{
    struct buf *b = &s->text, text = {0};
    bool is_bad;
    report_job_put_title(j, &text);
    buf_puts(b, "### ");
    forms_markdown_escaped(b, text.data ? text.data : "");
    buf_puts(b, "\n\n");
    forms_put_end(j, b, &is_bad);
    buf_puts(b, ", ");
    forms_put_place(j, b);
    buf_puts(b, "\n\n| | min | rank | mean | max | rank | sum |\n|---|--:|--:|--:|--:|--:|--:|\n");
    for (unsigned f = 0; f < JOB_FIGURES; f++) {
        if (!j->figures[f].known)
            continue;
        buf_printf(b, "| %s |", job_figures[f].title);
        for (unsigned c = 0; c < CELLS; c++) {
            buf_putc(b, ' ');
            forms_put_statistic(b, j, f, c);
            buf_puts(b, " |");
        }
        buf_putc(b, '\n');
    }
    buf_putc(b, '\n');
    struct report_findings f;
    report_job_find(j, &f);
    for (unsigned i = 0; i < f.count && i < REPORT_FINDINGS_SHOWN; i++) {
        buf_puts(b, "- **");
        forms_markdown_escaped(b, f.items[i].sentence.data ? f.items[i].sentence.data : "");
        buf_puts(b, "** ");
        forms_markdown_escaped(b, f.items[i].evidence.data ? f.items[i].evidence.data : "");
        buf_putc(b, '\n');
    }
    report_findings_done(&f);
    forms_each_sentence(j, s, forms_markdown_sentence);
    b->failed |= text.failed;
    buf_done(&text);
}

/* ==== Page ==================================================================================== */

/* A line through values, and an area below it; gaps where a value is not known. */
static void forms_html_curve(struct buf *b, const struct report_job *j, const float *values,
                             unsigned first, unsigned count, double top, unsigned width,
                             unsigned height, unsigned colour)
{
    bool is_open = false;
    buf_printf(b, "<path class=\"l c%u\" d=\"", colour);
    for (unsigned k = 0; k < count; k++) {
        if (isnan(values[k])) {
            is_open = false;
            continue;
        }
        double x = (double)(first + k) * width / (j->columns ? j->columns : 1);
        double y = height - 2 - (top > 0 ? (double)values[k] / top : 0) * (height - 4);
        buf_putc(b, is_open ? 'L' : 'M');
        buf_double_fixed(b, x, 1);
        buf_putc(b, ' ');
        buf_double_fixed(b, y, 1);
        buf_puts(b, "h");
        buf_double_fixed(b, (double)width / (j->columns ? j->columns : 1), 1);
        is_open = true;
    }
    buf_puts(b, "\"/>");
}

/* One figure of the whole job over time. */
static void forms_html_chart(struct buf *b, const struct report_job *j, const char *title,
                             const float *values, const struct metric *m, unsigned colour)
{
    double top = 0;
    for (unsigned k = 0; k < j->columns; k++)
        top = !isnan(values[k]) && (double)values[k] > top ? (double)values[k] : top;
    if (!j->columns || top <= 0)
        return;
    struct buf number = {0}, most = {0};
    if (m)
        human_number(&number, m, top);
    else
        human_percent(&number, top);
    buf_putc(&number, '\0');
    if (!buf_failed(&number)) /* a small share begins with "<" */
        html_put(&most, number.data);
    buf_putc(&most, '\0');
    buf_done(&number);
    buf_printf(b,
               "<figure><figcaption>%s, up to %s</figcaption><svg class=\"runs\" viewBox=\"0 0 "
               "480 90\" role=\"img\" aria-label=\"%s over time, up to %s\">",
               title, most.data ? most.data : "?", title, most.data ? most.data : "?");
    forms_html_curve(b, j, values, 0, j->columns, top, 480, 90, colour);
    buf_puts(b, "</svg></figure>\n");
    buf_done(&most);
}

static void forms_html_multiples(struct buf *b, const struct report_job *j)
{
    size_t count;
    const struct job_rank **ranks = forms_choose(j, RANKS_IN_PAGE, &count);
    double width = (double)(UINT64_C(1) << j->shift) / 1e9, cores = 0, memory = 0;
    if (!ranks) {
        b->failed = true;
        return;
    }
    for (size_t i = 0; i < count; i++)
        for (unsigned k = 0; ranks[i]->curve && k < ranks[i]->curve->count; k++) {
            double cpu = (double)ranks[i]->curve->cpu_seconds[k] / width;
            double rss = (double)ranks[i]->curve->memory_peak[k];
            cores = cpu > cores ? cpu : cores;
            memory = rss > memory ? rss : memory;
        }
    buf_puts(b,
             "<section><h2>Ranks over time</h2>\n<p class=\"legend\">Cores in use (blue, up to ");
    human_number(b, metric_of(process_cpu_cores), cores);
    buf_puts(b, ") and resident memory (orange, up to ");
    human_number(b, metric_of(process_memory_rss_bytes), memory);
    buf_puts(b, "), all on the same scales.");
    if (count < j->count)
        buf_printf(b, " %zu of %zu ranks: the ones with the most and the least CPU time.", count,
                   j->count);
    buf_puts(b, "</p>\n<div class=\"curves\">\n");
    for (size_t i = 0; i < count; i++) {
        const struct job_rank *r = ranks[i];
        float cpu[JOB_COLUMNS];
        buf_puts(b, "<figure><figcaption>rank ");
        html_put(b, r->rank);
        buf_puts(b, " on ");
        html_put(b, r->host);
        buf_puts(b, ": CPU time ");
        forms_put_figure(b, r, JOB_CPU);
        buf_puts(b, ", ");
        forms_put_figure(b, r, JOB_MEMORY);
        buf_puts(b, ", ");
        job_rank_put_end(r, b);
        buf_puts(b, "</figcaption><svg class=\"runs\" viewBox=\"0 0 240 48\" role=\"img\" "
                    "aria-label=\"cores and memory of rank ");
        html_put(b, r->rank);
        buf_puts(b, "\">");
        if (r->curve) {
            unsigned first = (unsigned)(r->curve->first - j->first);
            for (unsigned k = 0; k < r->curve->count; k++)
                cpu[k] = (float)((double)r->curve->cpu_seconds[k] / width);
            forms_html_curve(b, j, r->curve->memory_peak, first, r->curve->count, memory, 240, 48,
                             1);
            forms_html_curve(b, j, cpu, first, r->curve->count, cores, 240, 48, 0);
        }
        buf_puts(b, "</svg></figure>\n");
    }
    buf_puts(b, "</div></section>\n");
    free(ranks);
}

static void forms_html_sentence(struct sink *s, const struct buf *sentence)
{
    buf_puts(&s->text, "<p class=\"legend\">");
    html_put(&s->text, sentence->data ? sentence->data : "");
    buf_puts(&s->text, "</p>\n");
}

static void forms_html_rank_row(struct buf *b, const struct job_rank *r)
{
    static const enum job_figure shown[] = {JOB_WALL, JOB_CPU, JOB_MEMORY, JOB_READ, JOB_WRITTEN};
    buf_puts(b, "<tr><td class=\"n\">");
    html_put(b, r->rank);
    buf_puts(b, "</td><td>");
    html_put(b, r->host);
    buf_printf(b, "</td><td%s>", job_rank_is_bad(r) ? " class=\"bad\"" : "");
    job_rank_put_end(r, b);
    buf_puts(b, r->is_slow ? ", slow</td>" : "</td>");
    for (unsigned k = 0; k < ARRAY_LEN(shown); k++) {
        buf_puts(b, "<td class=\"n\">");
        forms_put_figure(b, r, shown[k]);
        buf_puts(b, "</td>");
    }
    buf_puts(b, "</tr>\n");
}

void job_html(struct sink *s, const struct report_job *j)
{
    static const char *const weights[] = {"note", "warning", "problem"};
    enum { ROWS = 1000 };
    struct buf *b = &s->text, text = {0};
    bool is_bad;
    report_job_put_title(j, &text);
    buf_puts(b, "<article><header><h1>");
    html_put(b, text.data ? text.data : "");
    buf_clear(&text);
    forms_put_end(j, &text, &is_bad);
    buf_printf(b, "</h1>\n<p class=\"how%s\"><b>", is_bad ? " bad" : " good");
    html_put(b, text.data ? text.data : "");
    buf_puts(b, "</b>, ");
    buf_clear(&text);
    forms_put_place(j, &text);
    html_put(b, text.data ? text.data : "");
    buf_puts(b, "</p></header>\n<div class=\"wide\"><table><tr><th></th>");
    for (unsigned c = 0; c < CELLS; c++)
        buf_printf(b, "<th class=\"n\">%s</th>", statistic_headings[c]);
    buf_puts(b, "</tr>\n");
    for (unsigned f = 0; f < JOB_FIGURES; f++) {
        if (!j->figures[f].known)
            continue;
        buf_printf(b, "<tr><th scope=\"row\">%s</th>", job_figures[f].title);
        for (unsigned c = 0; c < CELLS; c++) {
            buf_puts(b, "<td class=\"n\">");
            forms_put_statistic(b, j, f, c);
            buf_puts(b, "</td>");
        }
        buf_puts(b, "</tr>\n");
    }
    buf_puts(b, "</table></div>\n");
    struct report_findings f;
    report_job_find(j, &f);
    buf_puts(b, f.count ? "<section><h2>Findings</h2>\n<ul class=\"findings\">\n" : "");
    for (unsigned i = 0; i < f.count; i++) {
        buf_printf(b, "<li class=\"%s\">", weights[f.items[i].weight]);
        html_put(b, f.items[i].sentence.data ? f.items[i].sentence.data : "");
        buf_puts(b, "<small>");
        html_put(b, f.items[i].evidence.data ? f.items[i].evidence.data : "");
        buf_puts(b, "</small></li>\n");
    }
    buf_puts(b, f.count ? "</ul></section>\n" : "");
    report_findings_done(&f);
    buf_puts(b, "<section><h2>All ranks together</h2>\n");
    forms_each_sentence(j, s, forms_html_sentence);
    buf_puts(b, "<div class=\"curves\">\n");
    forms_html_chart(b, j, "Cores in use", j->cores_over, metric_of(process_cpu_cores), 0);
    forms_html_chart(b, j, "Resident memory", j->memory_over, metric_of(process_memory_rss_bytes),
                     1);
    forms_html_chart(b, j, "Imbalance of CPU time, max / mean − 1", j->imbalance_over, NULL, 2);
    buf_puts(b, "</div>\n");
    if (j->columns) {
        double width = (double)(UINT64_C(1) << j->shift) / 1e9;
        buf_puts(b, "<p class=\"legend\">These pictures, and those of each rank, show ");
        human_seconds(b, width * j->columns);
        buf_puts(b, " from left to right, from the start of the first rank, in steps of ");
        human_seconds(b, width);
        buf_puts(b, ".</p>\n");
    }
    buf_puts(b,
             "</section>\n<section><h2>Hosts</h2>\n<div class=\"wide\"><table><tr><th>host"
             "</th><th class=\"n\">ranks</th><th class=\"n\">cores, at most</th><th class=\"n\">"
             "memory at the same time, at most</th><th class=\"n\">sum of the peaks</th></tr>\n");
    for (size_t h = 0; h < j->host_count && h < ROWS; h++) {
        const struct job_host *host = &j->hosts[h];
        buf_puts(b, "<tr><td>");
        html_put(b, host->name);
        buf_printf(b, "</td><td class=\"n\">%zu</td><td class=\"n\">", host->ranks);
        human_number(b, metric_of(process_cpu_cores), host->used.cores);
        buf_puts(b, "</td><td class=\"n\">");
        forms_put_together(b, &host->used);
        buf_puts(b, "</td><td class=\"n\">");
        human_number(b, metric_of(process_memory_rss_bytes), host->used.memory_peaks);
        buf_puts(b, "</td></tr>\n");
    }
    buf_puts(b, "</table></div></section>\n");
    forms_html_multiples(b, j);
    size_t count;
    const struct job_rank **ranks = forms_choose(j, ROWS, &count);
    buf_puts(b, "<section><h2>Ranks</h2>\n<div class=\"wide\"><table><tr><th class=\"n\">rank</th>"
                "<th>host</th><th>end</th>");
    for (unsigned k = 0; k < JOB_FIGURES; k++)
        buf_printf(b, "<th class=\"n\">%s</th>", job_figures[k].title);
    buf_puts(b, "</tr>\n");
    for (size_t i = 0; ranks && i < count; i++)
        forms_html_rank_row(b, ranks[i]);
    buf_puts(b, "</table></div></section></article>\n");
    free(ranks);
    b->failed |= text.failed || !ranks;
    buf_done(&text);
}

/* ==== JSON ==================================================================================== */

/* "" is unknown. */
static void forms_json_known(struct json_out *o, const char *key, const char *text)
{
    json_key(o, key);
    if (*text)
        json_string(o, text);
    else
        json_null(o);
}

static void forms_json_together(struct json_out *o, const struct job_together *t)
{
    json_put_double(o, "cores_max", t->cores, 6);
    json_put_double(o, "memory_bytes_max_at_least", t->memory_low, 0);
    json_put_double(o, "memory_bytes_max_at_most", t->memory_high, 0);
    json_put_double(o, "memory_bytes_sum_of_peaks", t->memory_peaks, 0);
}

static void forms_json_columns(struct json_out *o, const char *key, const struct report_job *j,
                               const float *values)
{
    unsigned indent = o->indent;
    json_key(o, key);
    o->indent = 0;
    json_array(o);
    for (unsigned k = 0; k < j->columns; k++)
        json_double(o, isnan(values[k]) ? (double)NAN : (double)values[k], 6);
    json_array_end(o);
    o->indent = indent;
}

static void forms_json_statistics(struct json_out *o, const struct report_job *j)
{
    json_put_object(o, "figures");
    for (unsigned f = 0; f < JOB_FIGURES; f++) {
        const struct job_statistic *s = &j->figures[f];
        if (!s->known)
            continue;
        json_put_object(o, j->keys[f]);
        json_put_u64(o, "ranks", s->known);
        json_put_bool(o, "is_lower_bound", s->is_least);
        json_put_bool(o, "sum_is_lower_bound", s->sum_is_least);
        json_put_double(o, "min", s->min, 9);
        json_put_string(o, "min_rank", s->min_rank);
        json_put_double(o, "mean", s->mean, 9);
        json_put_double(o, "max", s->max, 9);
        json_put_string(o, "max_rank", s->max_rank);
        json_put_double(o, "sum", job_figures[f].has_sum ? s->sum : (double)NAN, 9);
        json_object_end(o);
    }
    json_object_end(o);
}

static void forms_json_rank(struct json_out *o, const struct report_job *j,
                            const struct job_rank *r)
{
    struct buf end = {0};
    job_rank_put_end(r, &end);
    json_object(o);
    json_put_string(o, "rank", r->rank);
    json_put_string(o, "host", r->host);
    json_put_string(o, "record", r->record);
    json_put_string(o, "id", r->id);
    json_put_utc(o, "start", r->start_ns);
    json_put_string(o, "ended", end.data ? end.data : "");
    json_put_bool(o, "failed", job_rank_is_bad(r));
    json_put_bool(o, "slow", r->is_slow);
    for (unsigned f = 0; f < JOB_FIGURES; f++) {
        bool is_known = r->figures[f].quality != QUALITY_UNKNOWN;
        json_put_object(o, j->keys[f]);
        json_put_double(o, "value", is_known ? r->figures[f].value : (double)NAN, 9);
        json_put_string(o, "quality", quality_word(r->figures[f].quality));
        json_object_end(o);
    }
    json_object_end(o);
    o->buf->failed |= end.failed;
    buf_done(&end);
}

void job_json(struct sink *s, const struct report_job *j)
{
    struct json_out o;
    json_begin(&o, &s->text, 2);
    json_object(&o);
    json_put_string(&o, "name", j->name);
    forms_json_known(&o, "job_id", j->job_id);
    forms_json_known(&o, "array_index", j->array_index);
    forms_json_known(&o, "launcher", j->launcher);
    json_put_u64(&o, "ranks_recorded", j->count);
    json_key(&o, "world_size");
    if (j->world_size)
        json_u64(&o, j->world_size);
    else
        json_null(&o);
    json_put_u64(&o, "ranks_missing", j->missing_count);
    json_put_string(&o, "missing", j->missing.data ? j->missing.data : "");
    json_put_double(&o, "imbalance_ratio", j->imbalance, 6);
    json_put_double(&o, "start_skew_seconds", j->start_skew, 6);
    json_put_double(&o, "end_skew_seconds", j->end_skew, 6);
    forms_json_statistics(&o, j);
    json_put_object(&o, "together");
    forms_json_together(&o, &j->together);
    json_put_double(&o, "column_seconds", forms_seconds_at(j, 1), 9);
    forms_json_columns(&o, "cores_over_time", j, j->cores_over);
    forms_json_columns(&o, "memory_over_time", j, j->memory_over);
    forms_json_columns(&o, "imbalance_over_time", j, j->imbalance_over);
    json_object_end(&o);
    json_put_array(&o, "findings");
    struct report_findings f;
    report_job_find(j, &f);
    for (unsigned i = 0; i < f.count; i++) {
        json_object(&o);
        json_put_string(&o, "key", f.items[i].key);
        json_put_string(&o, "sentence", f.items[i].sentence.data ? f.items[i].sentence.data : "");
        json_put_string(&o, "evidence", f.items[i].evidence.data ? f.items[i].evidence.data : "");
        json_object_end(&o);
    }
    report_findings_done(&f);
    json_array_end(&o);
    json_put_array(&o, "hosts");
    for (size_t h = 0; h < j->host_count; h++) {
        const struct job_host *host = &j->hosts[h];
        json_object(&o);
        json_put_string(&o, "host", host->name);
        json_put_u64(&o, "ranks", host->ranks);
        forms_json_together(&o, &host->used);
        json_put_double(&o, "clock_ahead_seconds",
                        !h                  ? 0
                        : host->knows_ahead ? host->ahead_seconds
                                            : (double)NAN,
                        6);
        json_put_double(&o, "clock_error_seconds",
                        host->knows_ahead ? host->ahead_error : (double)NAN, 6);
        json_put_bool(&o, "clock_aligned", host->is_ahead);
        json_object_end(&o);
    }
    json_array_end(&o);
    json_put_array(&o, "ranks");
    for (size_t i = 0; i < j->count; i++)
        forms_json_rank(&o, j, &j->ranks[i]);
    json_array_end(&o);
    json_object_end(&o);
}
