/* SPDX-License-Identifier: MIT
 * A comparison as text, Markdown, JSON and HTML. */
#include "study/compare.h"

#include "base/text/json.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ==== Shared parts ============================================================================ */

static void put_title(struct buf *b, const struct compare_row *r)
{
    buf_puts(b, study_figures[r->figure].title);
}

/* "1.20 s ± 1.0 %" */
static void put_cell(struct buf *b, const struct compare_row *r, size_t group, bool ascii)
{
    const struct compare_cell *cell = &r->cells[group];
    if (!cell->of.count) {
        buf_puts(b, "unknown");
        return;
    }
    bool is_bound = cell->quality == QUALITY_LOWER_BOUND;
    if (is_bound)
        buf_puts(b, ascii ? ">= " : "≥ ");
    study_put_number(b, r->figure, cell->of.mean);
    if (is_bound || cell->of.count < 2 || study_shows_zero(r->figure, cell->of.mean))
        return;
    double percent = 100 * cell->of.sd / cell->of.mean;
    buf_puts(b, ascii ? " +- " : " ± ");
    buf_double_fixed(b, percent, percent < 9.95 ? 1 : 0);
    buf_puts(b, " %");
}

static void put_signed(struct buf *b, const struct compare_row *r, double change)
{
    buf_putc(b, change < 0 && !study_shows_zero(r->figure, change) ? '-' : '+');
    study_put_number(b, r->figure, change < 0 ? -change : change);
}

/* "+118 ms to +172 ms (+9.8 % to +14.3 %)"; "at least +118 ms" where the other end is not known. */
static void put_interval(struct buf *b, const struct compare_row *r,
                         const struct compare_change *change)
{
    const struct difference *d = &change->difference;
    if (change->is_at_least) {
        buf_puts(b, "at least ");
        put_signed(b, r, d->low > 0 ? d->low : d->high);
        return;
    }
    put_signed(b, r, d->low);
    buf_puts(b, " to ");
    put_signed(b, r, d->high);
    if (study_shows_zero(r->figure, r->cells[0].of.mean))
        return;
    buf_puts(b, " (");
    compare_put_percent(b, r, d->low);
    buf_puts(b, " to ");
    compare_put_percent(b, r, d->high);
    buf_putc(b, ')');
}

/* What the change means, in words. */
static const char *result_words(const struct compare_row *r, size_t group)
{
    switch (r->changes[group].result) {
    case COMPARE_SHOWN: return "different";
    case COMPARE_NOT_SHOWN: return "no difference shown";
    case COMPARE_SINGLE: return "one run each: a difference cannot be tested";
    case COMPARE_BOUND: return "not compared: a lower bound";
    case COMPARE_UNKNOWN:
        return r->cells[group].of.count ? "unknown in the baseline" : "unknown here";
    case COMPARE_ZERO: return "0 in both";
    }
    return "";
}

static bool has_intervals(const struct toll_compared *c, size_t *ret_least)
{
    bool any = false;
    *ret_least = SIZE_MAX;
    for (size_t i = 0; i < c->group_count; i++)
        *ret_least = c->groups[i].used < *ret_least ? c->groups[i].used : *ret_least;
    for (size_t i = 0; i < c->row_count; i++)
        for (size_t g = 1; g < c->group_count; g++)
            any |= c->rows[i].changes[g].difference.has_interval;
    return any;
}

/* How far the intervals can be trusted. */
static void put_about_intervals(struct buf *b, const struct toll_compared *c)
{
    size_t least;
    if (!has_intervals(c, &least)) {
        buf_puts(b, "With one run in each group, any change may be chance. Repeat the runs to get "
                    "intervals.");
        return;
    }
    buf_printf(
        b,
        "Intervals are Welch's, with %d %% confidence for time, CPU time and memory together "
        "and for all other figures together. They can be trusted from %d runs in each group",
        (int)(COMPARE_CONFIDENCE * 100 + 0.5), COMPARE_TRUSTED_RUNS);
    if (least < COMPARE_TRUSTED_RUNS)
        buf_printf(b, "; with %zu they are rough", least);
    buf_putc(b, '.');
}

/* ==== Text ==================================================================================== */

/* Words, broken before `width`, further lines below the first. */
static void put_wrapped(struct buf *b, const char *text, unsigned indent, unsigned width)
{
    size_t column = 0;
    for (unsigned i = 0; i < indent; i++, column++)
        buf_putc(b, ' ');
    for (bool is_first = true; *text; is_first = false) {
        size_t length = strcspn(text, " ");
        size_t wide = utf8_columns(text, length);
        if (!is_first && column + 1 + wide > width) {
            buf_putc(b, '\n');
            column = 0;
            for (unsigned i = 0; i < indent; i++, column++)
                buf_putc(b, ' ');
        } else if (!is_first) {
            buf_putc(b, ' ');
            column++;
        }
        buf_add(b, text, length);
        column += wide;
        text += length + (text[length] == ' ');
    }
    buf_putc(b, '\n');
}

static void put_wrapped_done(struct buf *b, struct buf *text, unsigned indent, unsigned width)
{
    if (!buf_failed(text) && text->length)
        put_wrapped(b, text->data, indent, width);
    b->failed |= text->failed;
    buf_done(text);
}

/* Widths of the table: 78 columns with the blanks between. */
enum { TITLE_WIDTH = 24, CELL_WIDTH = 16, CHANGE_WIDTH = 10, PERCENT_WIDTH = 8 };

static void text_put_row(struct buf *b, const struct compare_row *r, size_t group, bool ascii)
{
    const struct compare_change *change = &r->changes[group];
    size_t start = b->length;
    buf_puts(b, "  ");
    put_title(b, r);
    buf_pad(b, start, TITLE_WIDTH);
    for (unsigned i = 0; i < 2; i++) {
        buf_putc(b, ' ');
        start = b->length;
        put_cell(b, r, i ? group : 0, ascii);
        buf_pad_left(b, start, CELL_WIDTH);
    }
    if (change->result != COMPARE_UNKNOWN && change->result != COMPARE_BOUND) {
        buf_putc(b, ' ');
        start = b->length;
        put_signed(b, r, change->difference.change);
        buf_pad_left(b, start, CHANGE_WIDTH);
        buf_putc(b, ' ');
        start = b->length;
        compare_put_percent(b, r, change->difference.change);
        buf_pad_left(b, start, PERCENT_WIDTH);
    }
    buf_putc(b, '\n');
    if (change->result == COMPARE_SHOWN) {
        start = b->length;
        buf_puts(b, change->is_at_least ? "" : "interval ");
        put_interval(b, r, change);
        buf_pad_left(b, start,
                     TITLE_WIDTH + 2 * (CELL_WIDTH + 1) + CHANGE_WIDTH + PERCENT_WIDTH + 2);
        buf_putc(b, '\n');
    }
}

static const struct {
    enum compare_result result;
    const char *heading;
} sections[] = {
    {COMPARE_SHOWN, "Different"},
    {COMPARE_NOT_SHOWN, "No difference shown"},
    {COMPARE_SINGLE, "One run each: a difference cannot be tested"},
    {COMPARE_BOUND, "Not compared: lower bounds"},
    {COMPARE_UNKNOWN, "Not compared: unknown in one group"},
};

static void text_put_sections(struct buf *b, const struct toll_compared *c, size_t group,
                              const char *phase, const char *bold, const char *plain, bool ascii)
{
    for (size_t s = 0; s < ARRAY_LEN(sections); s++) {
        bool has_heading = false;
        for (size_t i = 0; i < c->row_count; i++) {
            const struct compare_row *r = &c->rows[i];
            bool is_here = phase ? r->phase && strcmp(phase, r->phase) == 0 : !r->phase;
            if (!is_here || r->changes[group].result != sections[s].result)
                continue;
            if (!has_heading)
                buf_printf(b, "%s%s%s\n", bold, sections[s].heading, plain);
            has_heading = true;
            text_put_row(b, r, group, ascii);
        }
    }
    struct buf zeros = {0};
    for (size_t i = 0; i < c->row_count; i++)
        if (!phase && !c->rows[i].phase && c->rows[i].changes[group].result == COMPARE_ZERO) {
            buf_puts(&zeros, zeros.length ? ", " : "0 in both: ");
            put_title(&zeros, &c->rows[i]);
        }
    put_wrapped_done(b, &zeros, 0, TEXT_LINE - 2);
}

static void text_put_heading(struct buf *b, const struct toll_compared *c, size_t group)
{
    size_t start = b->length;
    buf_pad(b, start, TITLE_WIDTH);
    for (unsigned i = 0; i < 2; i++) {
        const struct compare_group *g = &c->groups[i ? group : 0];
        size_t length = strlen(g->shown), fits = utf8_fitting(g->shown, length, CELL_WIDTH);
        buf_putc(b, ' ');
        start = b->length;
        buf_add(b, g->shown, fits);
        buf_pad_left(b, start, CELL_WIDTH);
    }
    buf_putc(b, ' ');
    start = b->length;
    buf_puts(b, "change");
    buf_pad_left(b, start, CHANGE_WIDTH);
    buf_putc(b, '\n');
    start = b->length;
    buf_pad(b, start, TITLE_WIDTH);
    for (unsigned i = 0; i < 2; i++) {
        size_t runs = c->groups[i ? group : 0].used;
        buf_putc(b, ' ');
        start = b->length;
        buf_printf(b, "%zu run%s", runs, runs == 1 ? "" : "s");
        buf_pad_left(b, start, CELL_WIDTH);
    }
    buf_putc(b, '\n');
}

void compare_put_text(struct buf *b, const struct toll_compared *c, unsigned flags,
                      unsigned columns)
{
    const bool ascii = flags & TOLL_OUTPUT_ASCII;
    const size_t start = b->length;
    const char *bold = flags & TOLL_OUTPUT_COLOR ? BOLD : "";
    const char *plain = flags & TOLL_OUTPUT_COLOR ? PLAIN : "";
    unsigned width = columns >= 40 && columns < TEXT_LINE ? columns : TEXT_LINE;
    for (size_t g = 1; g < c->group_count; g++) {
        struct buf verdict = {0};
        buf_puts(b, bold);
        compare_put_verdict(&verdict, c, g);
        put_wrapped_done(b, &verdict, 0, width);
        buf_puts(b, plain);
    }
    for (size_t g = 1; g < c->group_count; g++) {
        buf_putc(b, '\n');
        text_put_heading(b, c, g);
        text_put_sections(b, c, g, NULL, bold, plain, ascii);
        const char *last = NULL;
        for (size_t i = 0; i < c->row_count; i++) {
            const char *phase = c->rows[i].phase;
            if (!phase || (last && strcmp(last, phase) == 0))
                continue;
            last = phase;
            buf_printf(b, "\n%sPhase ", bold);
            buf_printable(b, phase, strlen(phase));
            buf_printf(b, "%s\n", plain);
            text_put_sections(b, c, g, phase, "", "", ascii);
        }
    }
    struct buf about = {0};
    buf_putc(b, '\n');
    put_about_intervals(&about, c);
    put_wrapped_done(b, &about, 0, width);
    for (size_t i = 0; i < c->note_count; i++)
        put_wrapped(b, c->notes[i], 0, width);
    if (ascii)
        text_to_ascii(b, start);
}

/* ==== Markdown ================================================================================ */

/* What Markdown or HTML inside of it would take for its own. */
static void markdown_put(struct buf *b, const char *text)
{
    for (; *text; text++) {
        if (strchr("\\`*_[]<>#|~&", *text))
            buf_putc(b, '\\');
        buf_putc(b, *text);
    }
}

static void markdown_put_done(struct buf *b, struct buf *text)
{
    if (!buf_failed(text))
        markdown_put(b, text->data ? text->data : "");
    b->failed |= text->failed;
    buf_done(text);
}

static void markdown_put_row(struct buf *b, const struct compare_row *r, size_t group)
{
    const struct compare_change *change = &r->changes[group];
    bool has_change = change->result != COMPARE_UNKNOWN && change->result != COMPARE_BOUND;
    buf_puts(b, "| ");
    if (r->phase) {
        struct buf name = {0};
        buf_printable(&name, r->phase, strlen(r->phase));
        markdown_put_done(b, &name);
        buf_puts(b, ": ");
    }
    markdown_put(b, study_figures[r->figure].title);
    buf_puts(b, " | ");
    put_cell(b, r, 0, false);
    buf_puts(b, " | ");
    put_cell(b, r, group, false);
    buf_puts(b, " | ");
    if (has_change) {
        put_signed(b, r, change->difference.change);
        buf_putc(b, ' ');
        compare_put_percent(b, r, change->difference.change);
    }
    buf_puts(b, " | ");
    if (change->result == COMPARE_SHOWN)
        put_interval(b, r, change);
    else
        buf_puts(b, result_words(r, group));
    buf_puts(b, " |\n");
}

void compare_put_markdown(struct buf *b, const struct toll_compared *c)
{
    for (size_t g = 1; g < c->group_count; g++) {
        struct buf verdict = {0};
        compare_put_verdict(&verdict, c, g);
        buf_puts(b, "**");
        markdown_put_done(b, &verdict);
        buf_puts(b, "**\n\n");
    }
    for (size_t g = 1; g < c->group_count; g++) {
        buf_puts(b, "| | ");
        for (unsigned i = 0; i < 2; i++) {
            const struct compare_group *group = &c->groups[i ? g : 0];
            markdown_put(b, group->shown);
            buf_printf(b, ", %zu run%s | ", group->used, group->used == 1 ? "" : "s");
        }
        buf_puts(b, "change | interval |\n|---|---:|---:|---:|---|\n");
        for (size_t i = 0; i < c->row_count; i++)
            if (c->rows[i].changes[g].result != COMPARE_ZERO)
                markdown_put_row(b, &c->rows[i], g);
        buf_putc(b, '\n');
    }
    put_about_intervals(b, c);
    buf_puts(b, "\n");
    for (size_t i = 0; i < c->note_count; i++) {
        buf_puts(b, i ? "- " : "\n- ");
        markdown_put(b, c->notes[i]);
        buf_putc(b, '\n');
    }
    for (size_t i = 0; i < c->judgement_count; i++) {
        const struct toll_judgement *j = &c->judgements[i].judgement;
        buf_puts(b, i ? "- " : "\n- ");
        buf_puts(b, j->state == TOLL_PASSED   ? "passed: "
                    : j->state == TOLL_FAILED ? "**failed**: "
                                              : "not proven: ");
        markdown_put(b, j->sentence);
        buf_putc(b, '\n');
    }
}

/* ==== JSON ==================================================================================== */

static void json_cell(struct json_out *j, const struct compare_cell *cell,
                      const struct compare_group *g)
{
    json_object(j);
    json_put_u64(j, "runs", cell->runs);
    json_put_u64(j, "known", cell->of.count);
    json_put_string(j, "quality", quality_word(cell->of.count ? cell->quality : QUALITY_UNKNOWN));
    const struct {
        const char *key;
        double value;
        bool is_known;
    } numbers[] = {
        {"mean", cell->of.mean, cell->of.count > 0},     {"sd", cell->of.sd, cell->of.count > 1},
        {"min", cell->of.min, cell->of.count > 0},       {"max", cell->of.max, cell->of.count > 0},
        {"median", cell->of.median, cell->of.count > 0},
    };
    for (size_t i = 0; i < ARRAY_LEN(numbers); i++) {
        json_key(j, numbers[i].key);
        if (numbers[i].is_known)
            json_number(j, numbers[i].value);
        else
            json_null(j);
    }
    json_put_array(j, "outliers");
    for (size_t i = 0; i < cell->outlier_count; i++) {
        const struct study_run *r = &g->runs.items[cell->outliers[i]];
        json_object(j);
        json_put_string(j, "record", r->path);
        json_put_u64(j, "run", r->number);
        json_object_end(j);
    }
    json_array_end(j);
    json_object_end(j);
}

static void json_row(struct json_out *j, const struct toll_compared *c, const struct compare_row *r,
                     size_t group)
{
    static const char *const words[] = {
        [COMPARE_SHOWN] = "different",     [COMPARE_NOT_SHOWN] = "no difference shown",
        [COMPARE_SINGLE] = "one run each", [COMPARE_BOUND] = "lower bound",
        [COMPARE_UNKNOWN] = "unknown",     [COMPARE_ZERO] = "zero",
    };
    const struct compare_change *change = &r->changes[group];
    bool has_change = change->result != COMPARE_UNKNOWN;
    double mean = r->cells[0].of.mean;
    json_object(j);
    json_put_string(j, "figure", study_figures[r->figure].key);
    json_key(j, "phase");
    if (r->phase)
        json_string(j, r->phase);
    else
        json_null(j);
    json_put_string(j, "result", words[change->result]);
    json_put_bool(j, "at_least", change->is_at_least);
    json_key(j, "change");
    if (has_change)
        json_number(j, change->difference.change);
    else
        json_null(j);
    json_key(j, "change_ratio");
    if (has_change && mean > 0)
        json_number(j, change->difference.change / mean);
    else
        json_null(j);
    json_key(j, "interval");
    if (change->difference.has_interval) {
        json_object(j);
        json_put_number(j, "low", change->difference.low);
        json_put_number(j, "high", change->difference.high);
        json_put_number(j, "confidence", 1 - (compare_is_main(r) ? c->alpha_main : c->alpha_other));
        json_object_end(j);
    } else {
        json_null(j);
    }
    json_key(j, "baseline");
    json_cell(j, &r->cells[0], &c->groups[0]);
    json_key(j, "group");
    json_cell(j, &r->cells[group], &c->groups[group]);
    json_object_end(j);
}

void compare_put_json(struct buf *b, const struct toll_compared *c)
{
    struct json_out json, *j = &json;
    json_begin(j, b, 2);
    json_object(j);
    json_put_string(j, "schema", "toll.compare/1");
    json_put_string(j, "toll", TOLL_VERSION);
    json_put_number(j, "confidence", COMPARE_CONFIDENCE);
    json_put_array(j, "groups");
    for (size_t i = 0; i < c->group_count; i++) {
        const struct compare_group *g = &c->groups[i];
        json_object(j);
        json_put_string(j, "group", g->text);
        json_put_string(j, "name", g->shown);
        json_put_array(j, "runs");
        for (size_t k = 0; k < g->runs.count; k++) {
            const struct study_run *r = &g->runs.items[k];
            bool has_code = r->end.ended && !r->end.unknown;
            json_object(j);
            json_put_string(j, "record", r->path);
            json_put_u64(j, "run", r->number);
            json_put_string(j, "id", r->id);
            json_put_string(j, "name", r->name);
            json_put_utc(j, "start", r->start_ns);
            json_put_bool(j, "used", g->is_used[k]);
            json_key(j, "exit_status");
            if (has_code)
                json_i64(j, r->end.signaled ? 128 + r->end.status : r->end.status);
            else
                json_null(j);
            json_put_bool(j, "cut_short", r->cut_short);
            json_object_end(j);
        }
        json_array_end(j);
        json_object_end(j);
    }
    json_array_end(j);
    json_put_array(j, "comparisons");
    for (size_t g = 1; g < c->group_count; g++) {
        struct buf verdict = {0};
        compare_put_verdict(&verdict, c, g);
        json_object(j);
        json_put_string(j, "baseline", c->groups[0].shown);
        json_put_string(j, "group", c->groups[g].shown);
        json_put_string(j, "sentence", buf_failed(&verdict) ? "" : verdict.data);
        b->failed |= verdict.failed;
        buf_done(&verdict);
        json_put_array(j, "figures");
        for (size_t i = 0; i < c->row_count; i++)
            json_row(j, c, &c->rows[i], g);
        json_array_end(j);
        json_object_end(j);
    }
    json_array_end(j);
    json_put_array(j, "conditions");
    for (size_t i = 0; i < c->judgement_count; i++) {
        const struct compare_judgement *k = &c->judgements[i];
        json_object(j);
        json_put_string(j, "condition", k->condition);
        json_put_string(j, "group", c->groups[k->group].shown);
        json_put_string(j, "state",
                        k->judgement.state == TOLL_PASSED   ? "passed"
                        : k->judgement.state == TOLL_FAILED ? "failed"
                                                            : "not proven");
        json_put_string(j, "sentence", k->sentence);
        json_object_end(j);
    }
    json_array_end(j);
    json_put_array(j, "notes");
    for (size_t i = 0; i < c->note_count; i++)
        json_string(j, c->notes[i]);
    json_array_end(j);
    json_object_end(j);
    buf_putc(b, '\n');
}

/* ==== HTML ==================================================================================== */

static void html_put_done(struct buf *b, struct buf *text)
{
    if (!buf_failed(text) && text->length)
        html_put(b, text->data);
    b->failed |= text->failed;
    buf_done(text);
}

enum { GROUP_COLORS = 5 };

static const struct trace *curve_of(const struct compare_group *g, size_t run, bool is_memory)
{
    if (run >= g->curve_count || !g->is_used[run])
        return NULL;
    const struct trace *t = is_memory ? &g->curves[run].memory.trace : &g->curves[run].cores.trace;
    return t->count ? t : NULL;
}

/* One chart with a curve for each run. Nothing without curves. */
static void html_put_chart(struct buf *b, const struct toll_compared *c, bool is_memory)
{
    const struct metric *m = metric_of(is_memory ? process_memory_rss_bytes : process_cpu_cores);
    const char *title = is_memory ? "Memory" : "CPU";
    double top = 0;
    uint64_t end_ns = 0;
    for (size_t g = 0; g < c->group_count; g++)
        for (size_t i = 0; i < c->groups[g].runs.count; i++) {
            const struct trace *t = curve_of(&c->groups[g], i, is_memory);
            const struct trace *other = curve_of(&c->groups[g], i, !is_memory);
            top = t && t->max > top ? t->max : top;
            /* Both charts have the same time. */
            end_ns = t ? max_u64(end_ns, t->end_ns) : end_ns;
            end_ns = other ? max_u64(end_ns, other->end_ns) : end_ns;
        }
    if (!end_ns || !(top > 0))
        return;
    struct chart_scale scale = chart_scale_of(m, top, end_ns);
    buf_printf(b, "<figure><h3>%s</h3>\n<p class=\"legend\">%s, a curve for each run", title,
               is_memory ? "RSS of all processes" : "cores in use");
    for (size_t g = 0; g < c->group_count; g++) {
        buf_printf(b, "<span><i style=\"background:var(--c%zu)\"></i>", g % GROUP_COLORS);
        html_put(b, c->groups[g].shown);
        buf_puts(b, "</span> ");
    }
    buf_puts(b, "</p>\n<div class=\"wide\">");
    chart_begin(b, false, 0);
    buf_printf(b, "%s over time, a curve for each run\">", title);
    chart_draw_axes(b, m, &scale);
    for (size_t g = 0; g < c->group_count; g++)
        for (size_t i = 0; i < c->groups[g].runs.count; i++) {
            const struct trace *t = curve_of(&c->groups[g], i, is_memory);
            if (t)
                chart_draw_trace(b, &scale, t, (unsigned)(g % GROUP_COLORS), CHART_LINE);
        }
    buf_puts(b, "</svg></div></figure>\n");
}

/* The change as a share of the baseline; NAN where that is 0 or unknown. */
static double change_share(const struct compare_row *r, double change)
{
    double mean = r->cells[0].of.mean;
    return mean > 0 && !study_shows_zero(r->figure, mean) ? change / mean : NAN;
}

/* How far the picture of the changes reaches to both sides: for those that matter. */
static double changes_reach(const struct toll_compared *c, size_t g)
{
    double reach = 0.05;
    for (size_t i = 0; i < c->row_count; i++) {
        const struct compare_row *r = &c->rows[i];
        const struct difference *d = &r->changes[g].difference;
        if (!d->has_interval || (!compare_is_main(r) && r->changes[g].result != COMPARE_SHOWN))
            continue;
        double low = fabs(change_share(r, d->low)), high = fabs(change_share(r, d->high));
        reach = low > reach ? low : reach;
        reach = high > reach ? high : reach;
    }
    return reach > 1 ? 1 : reach;
}

/* The change as a point, its interval as a line, and 0. Words have the same, so no reader misses
 * it. */
static void html_put_fork(struct buf *b, const struct compare_row *r, size_t g, double reach)
{
    enum { HALF = 48 /* percent of the width */ };
    const struct compare_change *change = &r->changes[g];
    const struct difference *d = &change->difference;
    double at = change_share(r, d->change);
    if (isnan(at) || change->result == COMPARE_UNKNOWN || change->result == COMPARE_BOUND)
        return;
    buf_puts(b, "<svg aria-hidden=\"true\"><line class=\"zero\" x1=\"50%\" x2=\"50%\" y1=\"0\" "
                "y2=\"100%\"/>");
    double ends[] = {d->has_interval ? change_share(r, d->low) : at,
                     d->has_interval ? change_share(r, d->high) : at, at};
    for (unsigned i = 0; i < ARRAY_LEN(ends); i++) {
        double share = ends[i] / reach;
        ends[i] = 50 + HALF * (share > 1 ? 1 : share < -1 ? -1 : share);
    }
    buf_puts(b, "<line class=\"span\" y1=\"50%\" y2=\"50%\" x1=\"");
    buf_double_fixed(b, ends[0], 1);
    buf_puts(b, "%\" x2=\"");
    buf_double_fixed(b, ends[1], 1);
    buf_puts(b, "%\"/><circle class=\"dot\" r=\"4\" cy=\"50%\" cx=\"");
    buf_double_fixed(b, ends[2], 1);
    buf_puts(b, "%\"/></svg>");
}

static void html_put_cell(struct buf *b, const struct toll_compared *c, const struct compare_row *r,
                          size_t g)
{
    buf_puts(b, "<td class=\"n\" data-is=\"");
    html_put(b, c->groups[g].shown);
    buf_puts(b, "\">");
    put_cell(b, r, g, false);
    buf_puts(b, "</td>");
}

static void html_put_row(struct buf *b, const struct toll_compared *c, const struct compare_row *r,
                         size_t g, double reach)
{
    const struct compare_change *change = &r->changes[g];
    buf_printf(b, "<tr%s><th scope=\"row\">",
               change->result == COMPARE_SHOWN ? " class=\"shown\"" : "");
    if (r->phase) {
        html_put(b, r->phase);
        buf_puts(b, ": ");
    }
    html_put(b, study_figures[r->figure].title);
    buf_puts(b, "</th>");
    html_put_cell(b, c, r, 0);
    html_put_cell(b, c, r, g);
    bool has_change = change->result != COMPARE_UNKNOWN && change->result != COMPARE_BOUND;
    for (unsigned i = 0; i < 2; i++) {
        buf_printf(b, "<td class=\"n\"%s>", has_change && !i ? " data-is=\"change\"" : "");
        if (has_change && !i)
            put_signed(b, r, change->difference.change);
        else if (has_change)
            compare_put_percent(b, r, change->difference.change);
        buf_puts(b, "</td>");
    }
    buf_puts(b, "<td class=\"fork\">");
    html_put_fork(b, r, g, reach);
    buf_puts(b, "</td><td class=\"words\">");
    if (change->result == COMPARE_SHOWN)
        put_interval(b, r, change);
    else if (change->result != COMPARE_NOT_SHOWN && change->result != COMPARE_SINGLE)
        buf_puts(b, result_words(r, g));
    else if (change->is_same)
        buf_puts(b, "the same");
    buf_puts(b, "</td></tr>\n");
}

static void html_put_table(struct buf *b, const struct toll_compared *c, size_t g)
{
    double reach = changes_reach(c, g);
    buf_puts(b, "<div class=\"wide\"><table class=\"compare\">\n<thead><tr><th>figure</th>");
    for (unsigned i = 0; i < 2; i++) {
        const struct compare_group *group = &c->groups[i ? g : 0];
        buf_puts(b, "<th class=\"n\" scope=\"col\">");
        html_put(b, group->shown);
        buf_printf(b, ", %zu run%s</th>", group->used, group->used == 1 ? "" : "s");
    }
    buf_puts(b,
             "<th class=\"n\" scope=\"col\">change</th><th></th><th class=\"fork\" scope=\"col\">");
    buf_printf(b, "−%d %% to +%d %%</th><th scope=\"col\">interval</th></tr></thead>\n",
               (int)ceil(100 * reach), (int)ceil(100 * reach));
    for (size_t s = 0; s < ARRAY_LEN(sections); s++) {
        bool has_heading = false;
        for (size_t i = 0; i < c->row_count; i++) {
            if (c->rows[i].changes[g].result != sections[s].result)
                continue;
            if (!has_heading)
                buf_printf(b, "<tbody><tr><th scope=\"rowgroup\" colspan=\"7\">%s</th></tr>\n",
                           sections[s].heading);
            has_heading = true;
            html_put_row(b, c, &c->rows[i], g, reach);
        }
        buf_puts(b, has_heading ? "</tbody>\n" : "");
    }
    buf_puts(b, "</table></div>\n");
}

/* The figures that most people ask for, each with its change in large letters. */
static void html_put_cards(struct buf *b, const struct toll_compared *c, size_t g)
{
    buf_puts(b, "<dl class=\"cards\">\n");
    for (size_t i = 0; i < c->row_count; i++) {
        const struct compare_row *r = &c->rows[i];
        const struct compare_change *change = &r->changes[g];
        if (r->phase || !compare_is_main(r) || change->result == COMPARE_ZERO)
            continue;
        bool has_change = change->result != COMPARE_UNKNOWN && change->result != COMPARE_BOUND;
        buf_printf(b, "<div%s><dt>%s</dt><dd>",
                   change->result == COMPARE_SHOWN ? "" : " class=\"quiet\"",
                   study_figures[r->figure].title);
        if (!has_change)
            buf_puts(b, "?");
        else if (isnan(change_share(r, change->difference.change)))
            put_signed(b, r, change->difference.change);
        else
            compare_put_percent(b, r, change->difference.change);
        buf_puts(b, "<small>");
        put_cell(b, r, 0, false);
        buf_puts(b, " → ");
        put_cell(b, r, g, false);
        buf_printf(b, "</small><small>%s</small></dd></div>\n",
                   change->is_same ? "the same" : result_words(r, g));
    }
    buf_puts(b, "</dl>\n");
}

static void html_put_verdicts(struct buf *b, const struct toll_compared *c)
{
    bool is_one = c->group_count == 2;
    if (!is_one) {
        buf_printf(b, "<h1>%zu groups of runs compared with ", c->group_count - 1);
        html_put(b, c->groups[0].shown);
        buf_puts(b, "</h1>\n<ul class=\"findings\">\n");
    }
    for (size_t g = 1; g < c->group_count; g++) {
        struct buf verdict = {0};
        compare_put_verdict(&verdict, c, g);
        buf_puts(b, is_one ? "<h1>" : "<li class=\"note\">");
        html_put_done(b, &verdict);
        buf_puts(b, is_one ? "</h1>\n" : "</li>\n");
    }
    buf_puts(b, is_one ? "" : "</ul>\n");
    if (!c->judgement_count)
        return;
    buf_puts(b, "<section><h2>Conditions</h2>\n<ul class=\"findings\">\n");
    for (size_t i = 0; i < c->judgement_count; i++) {
        const struct toll_judgement *j = &c->judgements[i].judgement;
        bool is_failed = j->state == TOLL_FAILED, is_passed = j->state == TOLL_PASSED;
        buf_printf(b, "<li class=\"%s\">%s: ",
                   is_failed   ? "problem"
                   : is_passed ? "note"
                               : "warning",
                   is_failed   ? "Failed"
                   : is_passed ? "Passed"
                               : "Not proven");
        html_put(b, j->sentence);
        buf_puts(b, "</li>\n");
    }
    buf_puts(b, "</ul></section>\n");
}

void compare_put_html(struct buf *b, const struct toll_compared *c)
{
    buf_puts(b, "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
                "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n"
                "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
                "style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'\">\n"
                "<title>Comparison of runs · toll</title>\n");
    buf_printf(b, "<style>%s%s</style></head>\n<body><main>\n<header>", report_chart_style,
               report_page_style);
    html_put_verdicts(b, c);
    buf_puts(b, "</header>\n");
    for (size_t g = 1; g < c->group_count; g++) {
        buf_puts(b, "<section><h2>");
        html_put(b, c->groups[0].shown);
        buf_puts(b, " → ");
        html_put(b, c->groups[g].shown);
        buf_puts(b, "</h2>\n");
        html_put_cards(b, c, g);
        if (g == 1) { /* of all groups, after the answer for the first */
            html_put_chart(b, c, false);
            html_put_chart(b, c, true);
            buf_puts(b, "<h3>All figures</h3>\n");
        }
        html_put_table(b, c, g);
        buf_puts(b, "</section>\n");
    }
    struct buf about = {0};
    put_about_intervals(&about, c);
    buf_puts(b, "<p class=\"legend\">");
    html_put_done(b, &about);
    buf_puts(b, "</p>\n");
    for (size_t i = 0; i < c->note_count; i++) {
        buf_puts(b, "<p class=\"legend\">");
        html_put(b, c->notes[i]);
        buf_puts(b, "</p>\n");
    }
    buf_printf(b, "<footer>Written by toll %s.</footer>\n</main></body></html>\n", TOLL_VERSION);
}
