/* SPDX-License-Identifier: MIT
 * toll_compare: groups of runs are read, and each is compared with the first, figure by figure. */
#include "study/compare.h"

#include "base/err.h"
#include "base/io/file.h"
#include "base/memory.h"
#include "base/text/scan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ==== Figures ================================================================================= */

static struct study_value run_value(const struct study_run *r, const char *phase,
                                    enum study_figure figure)
{
    if (!phase)
        return r->figures[figure];
    for (size_t i = 0; i < r->phase_count; i++) {
        const struct study_phase *p = &r->phases[i];
        if (strcmp(p->name, phase) == 0)
            return figure == FIGURE_WALL ? p->wall : figure == FIGURE_CPU ? p->cpu : p->memory_peak;
    }
    return (struct study_value){0};
}

bool compare_cell_fill(struct compare_cell *cell, const struct compare_group *g, const char *phase,
                       enum study_figure figure)
{
    size_t count = g->runs.count, known = 0;
    double *values = calloc(count + 1, sizeof *values);
    size_t *numbers = calloc(count + 1, sizeof *numbers);
    bool *is_outlier = calloc(count + 1, sizeof *is_outlier);
    bool ok = values && numbers && is_outlier;
    *cell = (struct compare_cell){.runs = g->used};
    for (size_t i = 0; ok && i < count; i++) {
        struct study_value v = run_value(&g->runs.items[i], phase, figure);
        if (!g->is_used[i] || v.quality == QUALITY_UNKNOWN)
            continue;
        if (!known || v.quality < cell->quality)
            cell->quality = v.quality;
        numbers[known] = i;
        values[known++] = v.value;
    }
    ok = ok && statistics_of(values, known, &cell->of) == 0;
    int found = ok ? statistics_outliers(values, known, is_outlier) : -1;
    for (size_t i = 0; i < known && found > 0; i++)
        if (is_outlier[i])
            numbers[cell->outlier_count++] = numbers[i];
    free(values);
    free(is_outlier);
    if (found > 0)
        cell->outliers = numbers;
    else
        free(numbers);
    return found >= 0;
}

/* Values that happen to be the same are not known better than this. */
static double least_deviation(enum study_figure f, double mean)
{
    double share = 0.001 * mean, least = 0;
    switch (metric_of(study_figures[f].unit)->unit) {
    case UNIT_seconds: least = 0.001; break;
    case UNIT_bytes: least = 16384; break;
    case UNIT_count: least = 0.5; break;
    case UNIT_joules: least = 0.1; break;
    default: least = 0.01;
    }
    return share > least ? share : least;
}

bool compare_is_main(const struct compare_row *r)
{
    return !r->phase &&
           (r->figure == FIGURE_WALL || r->figure == FIGURE_CPU || r->figure == FIGURE_MEMORY_PEAK);
}

static bool cell_is_bound(const struct compare_cell *c)
{
    return c->of.count && c->quality == QUALITY_LOWER_BOUND;
}

static struct compare_change row_compare(const struct compare_row *r, size_t group, double alpha)
{
    const double same = 0.02;
    const struct compare_cell *a = &r->cells[0], *b = &r->cells[group];
    struct compare_change c = {.result = COMPARE_UNKNOWN};
    if (!a->of.count || !b->of.count)
        return c;
    double mean = a->of.mean > b->of.mean ? a->of.mean : b->of.mean;
    struct difference d = statistics_difference(&a->of, &b->of, alpha,
                                                least_deviation(r->figure, mean));
    bool is_single = a->of.count < 2 && b->of.count < 2;
    c.difference = d;
    if (a->of.max == 0 && b->of.max == 0 && a->of.min == 0 && b->of.min == 0)
        c.result = COMPARE_ZERO;
    else if (cell_is_bound(a) || cell_is_bound(b)) {
        /* A lower bound that is above the other is a difference all the same. */
        bool is_above = !cell_is_bound(a) && d.low > 0, is_below = !cell_is_bound(b) && d.high < 0;
        c.is_at_least = d.is_shown && (is_above || is_below);
        c.result = c.is_at_least ? COMPARE_SHOWN : COMPARE_BOUND;
    } else
        c.result = is_single ? COMPARE_SINGLE : d.is_shown ? COMPARE_SHOWN : COMPARE_NOT_SHOWN;
    c.is_same = c.result == COMPARE_NOT_SHOWN && d.low > -same * a->of.mean &&
                d.high < same * a->of.mean;
    return c;
}

/* ==== All groups ============================================================================== */

static int compare_add_row(struct toll_compared *c, const char *phase, enum study_figure figure)
{
    if (!ARRAY_RESERVE(c->rows, c->row_capacity, c->row_count + 1))
        return -ENOMEM;
    struct compare_row *row = &c->rows[c->row_count++];
    bool is_known = false;
    *row = (struct compare_row){.phase = phase, .figure = figure};
    row->cells = calloc(c->group_count, sizeof *row->cells);
    row->changes = calloc(c->group_count, sizeof *row->changes);
    if (!row->cells || !row->changes)
        return -ENOMEM;
    for (size_t g = 0; g < c->group_count; g++) {
        if (!compare_cell_fill(&row->cells[g], &c->groups[g], phase, figure))
            return -ENOMEM;
        is_known |= row->cells[g].of.count > 0;
    }
    if (!is_known) { /* in all groups: left out */
        free(row->cells);
        free(row->changes);
        *row = (struct compare_row){0};
        c->row_count--;
    }
    return 0;
}

static bool has_phase(const struct toll_compared *c, const char *name)
{
    for (size_t i = 0; i < c->row_count; i++)
        if (c->rows[i].phase && strcmp(c->rows[i].phase, name) == 0)
            return true;
    return false;
}

static bool compare_note(struct toll_compared *c, struct buf *b)
{
    char *sentence = buf_take(b);
    if (sentence && list_append(&c->notes, sentence)) {
        c->note_count++;
        return true;
    }
    free(sentence);
    return false;
}

static int compare_add_phases(struct toll_compared *c)
{
    enum { PHASES_COMPARED = 50 };
    static const enum study_figure figures[] = {FIGURE_WALL, FIGURE_CPU, FIGURE_MEMORY_PEAK};
    size_t phases = 0, left_out = 0;
    int r = 0;
    for (size_t g = 0; g < c->group_count; g++)
        for (size_t i = 0; i < c->groups[g].runs.count; i++) {
            const struct study_run *run = &c->groups[g].runs.items[i];
            for (size_t p = 0; c->groups[g].is_used[i] && p < run->phase_count; p++) {
                if (has_phase(c, run->phases[p].name))
                    continue;
                if (phases == PHASES_COMPARED) {
                    left_out++;
                    continue;
                }
                phases++;
                for (size_t f = 0; r == 0 && f < ARRAY_LEN(figures); f++)
                    r = compare_add_row(c, run->phases[p].name, figures[f]);
            }
        }
    if (r == 0 && left_out) {
        struct buf b = {0};
        buf_printf(&b, "only the first %d phases are compared", PHASES_COMPARED);
        r = compare_note(c, &b) ? 0 : -ENOMEM;
    }
    return r;
}

/* False alarms are held below 1 % for the figures of the verdict together, and below 1 % for all
 * others together (Bonferroni), however many groups and phases there are. */
static void compare_all_rows(struct toll_compared *c)
{
    size_t mains = 0, others = 0;
    for (size_t i = 0; i < c->row_count; i++)
        *(compare_is_main(&c->rows[i]) ? &mains : &others) += c->group_count - 1;
    c->alpha_main = (1 - COMPARE_CONFIDENCE) / (double)(mains ? mains : 1);
    c->alpha_other = (1 - COMPARE_CONFIDENCE) / (double)(others ? others : 1);
    for (size_t i = 0; i < c->row_count; i++)
        for (size_t g = 1; g < c->group_count; g++)
            c->rows[i].changes[g] = row_compare(
                &c->rows[i], g, compare_is_main(&c->rows[i]) ? c->alpha_main : c->alpha_other);
}

/* "old.jsonl: run 2 has failed (exit 3)": each run by its number in its record. */
static bool note_runs(struct toll_compared *c, const struct compare_group *g)
{
    bool ok = true;
    size_t named = 0, more = 0;
    enum { NAMED_AT_MOST = 5 };
    for (size_t i = 0; i < g->runs.count; i++) {
        const struct study_run *r = &g->runs.items[i];
        bool has_failed = compare_run_failed(r);
        if (!has_failed && !r->cut_short)
            continue;
        if (named++ >= NAMED_AT_MOST) {
            more++;
            continue;
        }
        struct buf b = {0};
        buf_printf(&b, "%s: ", g->shown);
        buf_printable(&b, r->path, strlen(r->path));
        buf_printf(&b, ", run %llu", (unsigned long long)r->number);
        if (r->cut_short)
            buf_puts(&b, " is incomplete");
        else if (r->end.oom_killed)
            buf_puts(&b, " was killed by the OOM killer");
        else if (r->end.timed_out)
            buf_puts(&b, " timed out");
        else
            buf_printf(&b, " failed (%s %d)", r->end.signaled ? "signal" : "exit", r->end.status);
        buf_puts(&b, g->is_used[i] ? "; compared anyway, since every run of the group failed or "
                                     "is incomplete"
                                   : "; left out");
        ok &= compare_note(c, &b);
    }
    if (more) {
        struct buf b = {0};
        buf_printf(&b, "%s: %zu more runs failed or are incomplete", g->shown, more);
        ok &= compare_note(c, &b);
    }
    return ok;
}

static bool note_outliers(struct toll_compared *c)
{
    bool ok = true;
    for (size_t i = 0; i < c->row_count; i++)
        for (size_t k = 0; compare_is_main(&c->rows[i]) && k < c->group_count; k++) {
            const struct compare_cell *cell = &c->rows[i].cells[k];
            const struct compare_group *g = &c->groups[k];
            if (!cell->outlier_count)
                continue;
            struct buf b = {0};
            buf_printf(&b, "%s: outlier%s in %s: ", g->shown, cell->outlier_count == 1 ? "" : "s",
                       study_figures[c->rows[i].figure].title);
            for (size_t o = 0; o < cell->outlier_count; o++) {
                const struct study_run *r = &g->runs.items[cell->outliers[o]];
                buf_puts(&b, o ? ", " : "");
                buf_printable(&b, r->path, strlen(r->path));
                buf_printf(&b, ":%llu (", (unsigned long long)r->number);
                human_number(&b, metric_of(study_figures[c->rows[i].figure].unit),
                             r->figures[c->rows[i].figure].value);
                buf_putc(&b, ')');
            }
            ok &= compare_note(c, &b);
        }
    return ok;
}

static bool note_shared_runs(struct toll_compared *c)
{
    bool ok = true;
    for (size_t k = 1; k < c->group_count; k++) {
        const struct study_runs *a = &c->groups[0].runs, *b = &c->groups[k].runs;
        size_t shared = 0;
        for (size_t i = 0; i < b->count; i++)
            for (size_t j = 0; j < a->count; j++)
                shared += *b->items[i].id && strcmp(a->items[j].id, b->items[i].id) == 0;
        if (!shared)
            continue;
        struct buf s = {0};
        buf_printf(&s, "%zu run%s both in %s and in %s: the groups are not independent", shared,
                   shared == 1 ? " is" : "s are", c->groups[0].shown, c->groups[k].shown);
        ok &= compare_note(c, &s);
    }
    return ok;
}

/* Groups that would read the same are shown as they were given. */
static bool tell_groups_apart(struct toll_compared *c)
{
    for (size_t i = 0; i < c->group_count; i++)
        for (size_t k = 0; k < c->group_count; k++) {
            struct buf b = {0};
            if (i == k || strcmp(c->groups[i].shown, c->groups[k].shown) != 0)
                continue;
            buf_printable(&b, c->groups[k].text, strlen(c->groups[k].text));
            if (strcmp(c->groups[i].text, c->groups[k].text) == 0)
                buf_printf(&b, " (%zu)", k + 1);
            free(c->groups[k].shown);
            c->groups[k].shown = buf_take(&b);
            if (!c->groups[k].shown)
                return false;
        }
    return true;
}

/* ==== Verdicts ================================================================================ */

void compare_put_percent(struct buf *b, const struct compare_row *r, double change)
{
    double baseline = r->cells[0].of.mean;
    if (!(baseline > 0) || study_shows_zero(r->figure, baseline))
        return;
    double percent = 100 * change / baseline;
    double size = percent < 0 ? -percent : percent;
    buf_puts(b, percent < 0 && size >= 0.05 ? "-" : "+");
    buf_double_fixed(b, size, size < 99.95 ? 1 : 0);
    buf_puts(b, " %");
}

/* "12 %" */
static void put_share(struct buf *b, const struct compare_cell *baseline, double change)
{
    double size = 100 * (change < 0 ? -change : change) / baseline->of.mean;
    if (size < 0.05)
        buf_puts(b, "less than 0.1");
    else
        buf_double(b, size, size < 9.95 ? 1 : 0);
    buf_puts(b, " %");
}

static const char *main_word(enum study_figure f)
{
    return f == FIGURE_WALL ? "time" : f == FIGURE_CPU ? "CPU time" : "memory";
}

/* "is 12 % slower", "uses 5 % more memory", "the same memory" */
static void put_clause(struct buf *b, const struct compare_row *r, const struct compare_change *c,
                       const char **verb)
{
    const struct compare_cell *a = &r->cells[0];
    double change = c->difference.change;
    const char *wanted = c->is_same ? (r->figure == FIGURE_WALL ? "takes " : "uses ")
                         : r->figure == FIGURE_WALL && a->of.mean > 0 ? "is "
                                                                      : "uses ";
    if (!*verb || strcmp(*verb, wanted) != 0)
        buf_puts(b, wanted);
    *verb = wanted;
    if (c->is_same) {
        buf_printf(b, "the same %s", main_word(r->figure));
        return;
    }
    if (c->is_at_least)
        buf_puts(b, "at least ");
    if (a->of.mean > 0) {
        put_share(b, a, change);
    } else {
        human_number(b, metric_of(study_figures[r->figure].unit), change < 0 ? -change : change);
    }
    if (r->figure == FIGURE_WALL && a->of.mean > 0)
        buf_puts(b, change > 0 ? " slower" : " faster");
    else
        buf_printf(b, " %s %s", change > 0 ? "more" : "less", main_word(r->figure));
}

/* A list in words: the separator before the item with this number. */
static const char *separator(size_t i, size_t count)
{
    return i == 0 ? "" : i + 1 == count ? " and " : ", ";
}

static size_t put_names(struct buf *b, const struct toll_compared *c, size_t group,
                        enum compare_result result, bool with_same)
{
    const char *names[8];
    size_t count = 0;
    for (size_t i = 0; i < c->row_count && count < ARRAY_LEN(names); i++) {
        const struct compare_change *change = &c->rows[i].changes[group];
        if (compare_is_main(&c->rows[i]) && change->result == result &&
            (with_same || !change->is_same))
            names[count++] = main_word(c->rows[i].figure);
    }
    for (size_t i = 0; i < count; i++)
        buf_printf(b, "%s%s", separator(i, count), names[i]);
    return count;
}

void compare_put_verdict(struct buf *b, const struct toll_compared *c, size_t group)
{
    size_t counts[COMPARE_ZERO + 1] = {0}, same = 0, others = 0;
    for (size_t i = 0; i < c->row_count; i++) {
        const struct compare_change *change = &c->rows[i].changes[group];
        bool is_main = compare_is_main(&c->rows[i]);
        counts[change->result] += is_main;
        same += is_main && change->is_same;
        others += !is_main && change->result == COMPARE_SHOWN;
    }
    buf_puts(b, c->groups[group].shown);
    if (!counts[COMPARE_SHOWN]) {
        struct buf names = {0};
        bool is_single = counts[COMPARE_SINGLE] > 0;
        size_t count = put_names(&names, c, group, is_single ? COMPARE_SINGLE : COMPARE_NOT_SHOWN,
                                 true);
        if (is_single) {
            buf_puts(b, ": one run each: a difference cannot be tested");
            for (size_t i = 0, put = 0; i < c->row_count; i++) {
                const struct compare_row *r = &c->rows[i];
                if (!compare_is_main(r) || r->changes[group].result != COMPARE_SINGLE ||
                    !(r->cells[0].of.mean > 0))
                    continue;
                buf_printf(b, "%s%s ", put++ ? ", " : "; ", main_word(r->figure));
                compare_put_percent(b, r, r->changes[group].difference.change);
            }
        } else {
            buf_puts(b, ": no difference shown");
            if (count && names.data)
                buf_printf(b, " in %s", names.data);
        }
        b->failed |= names.failed;
        buf_done(&names);
    } else {
        size_t clauses = counts[COMPARE_SHOWN] + same, put = 0;
        const char *verb = NULL;
        buf_putc(b, ' ');
        for (unsigned pass = 0; pass < 2; pass++) /* differences first */
            for (size_t i = 0; i < c->row_count; i++) {
                const struct compare_change *change = &c->rows[i].changes[group];
                bool is_wanted = pass ? change->is_same : change->result == COMPARE_SHOWN;
                if (!compare_is_main(&c->rows[i]) || !is_wanted)
                    continue;
                buf_puts(b, separator(put++, clauses));
                put_clause(b, &c->rows[i], change, &verb);
            }
        if (counts[COMPARE_NOT_SHOWN] > same) {
            buf_puts(b, "; no difference shown in ");
            put_names(b, c, group, COMPARE_NOT_SHOWN, false);
        }
    }
    if (counts[COMPARE_BOUND]) {
        buf_puts(b, "; ");
        put_names(b, c, group, COMPARE_BOUND, true);
        buf_puts(b, " cannot be compared (lower bounds)");
    }
    if (counts[COMPARE_UNKNOWN]) {
        buf_puts(b, "; ");
        put_names(b, c, group, COMPARE_UNKNOWN, true);
        buf_puts(b, " cannot be compared (unknown)");
    }
    if (others)
        buf_printf(b, "; %zu other figure%s", others, others == 1 ? " differs" : "s differ");
}

/* ==== Conditions ============================================================================== */

struct condition_side compare_side(const struct compare_cell *cell)
{
    struct condition_side side = {.runs = cell->of.count, .total = cell->runs};
    if (cell->of.count)
        side.value = (struct study_value){cell->of.mean, cell->quality};
    return side;
}

static const struct compare_row *row_of(const struct toll_compared *c, enum study_figure f)
{
    for (size_t i = 0; i < c->row_count; i++)
        if (!c->rows[i].phase && c->rows[i].figure == f)
            return &c->rows[i];
    return NULL;
}

static int compare_judge(struct toll_compared *c, const char *text,
                         const struct condition *condition)
{
    const struct compare_row *row = row_of(c, condition->figure);
    for (size_t g = 1; g < c->group_count; g++) {
        struct condition_side value = {0}, baseline = {0};
        struct buf b = {0};
        if (row) {
            value = compare_side(&row->cells[g]);
            baseline = compare_side(&row->cells[0]);
        }
        buf_printf(&b, "%s: ", c->groups[g].shown);
        enum toll_judged state = condition_judge(condition, &value, &baseline, &b);
        if (state == TOLL_FAILED && condition->is_relative && row &&
            row->changes[g].result == COMPARE_NOT_SHOWN)
            buf_puts(&b, "; the difference is not significant, since the runs vary as much");
        char *sentence = buf_take(&b), *copy = strdup(text);
        if (!sentence || !copy ||
            !ARRAY_RESERVE(c->judgements, c->judgement_capacity, c->judgement_count + 1)) {
            free(sentence);
            free(copy);
            return -ENOMEM;
        }
        c->judgements[c->judgement_count++] = (struct compare_judgement){
            .judgement = {.condition = copy, .sentence = sentence, .state = state},
            .condition = copy,
            .sentence = sentence,
            .group = g,
        };
    }
    return 0;
}

/* ==== The public calls ======================================================================== */

void toll_compared_free(struct toll_compared *c)
{
    if (!c)
        return;
    for (size_t i = 0; i < c->group_count; i++)
        compare_group_done(&c->groups[i]);
    for (size_t i = 0; i < c->row_count; i++) {
        for (size_t g = 0; c->rows[i].cells && g < c->group_count; g++)
            free(c->rows[i].cells[g].outliers);
        free(c->rows[i].cells);
        free(c->rows[i].changes);
    }
    for (size_t i = 0; i < c->judgement_count; i++) {
        free(c->judgements[i].condition);
        free(c->judgements[i].sentence);
    }
    for (size_t i = 0; i < c->note_count; i++)
        free(c->notes[i]);
    free(c->notes);
    free(c->judgements);
    free(c->rows);
    free(c->groups);
    free(c);
}

int compare_groups(struct toll_compared *c)
{
    int r = tell_groups_apart(c) ? 0 : -ENOMEM;
    for (unsigned f = 0; r == 0 && f < STUDY_FIGURES; f++)
        r = compare_add_row(c, NULL, (enum study_figure)f);
    if (r == 0)
        r = compare_add_phases(c);
    if (r == 0)
        compare_all_rows(c);
    for (size_t i = 0; r == 0 && i < c->group_count; i++)
        r = note_runs(c, &c->groups[i]) ? 0 : -ENOMEM;
    return r == 0 && note_shared_runs(c) && note_outliers(c) ? 0 : -ENOMEM;
}

static int compare_make(struct toll_compared *c, const struct toll_compare *asked,
                        const struct condition *conditions, struct toll_error *e)
{
    size_t count = c->group_count;
    int r = 0;
    c->group_count = 0;
    for (size_t i = 0; r == 0 && i < count; i++) {
        c->group_count++;
        r = compare_group_read(&c->groups[i], asked->groups[i], asked, false, e);
    }
    if (r < 0)
        return r;
    r = compare_groups(c);
    for (size_t i = 0; r == 0 && asked->conditions && asked->conditions[i]; i++)
        r = compare_judge(c, asked->conditions[i], &conditions[i]);
    return r == 0 ? 0 : err_set(e, -ENOMEM, "cannot compare: out of memory");
}

/* Before anything is read. The caller frees *ret. */
int compare_parse_conditions(const char *const *texts, struct condition **ret, struct toll_error *e)
{
    size_t count = 0;
    while (texts && texts[count])
        count++;
    struct condition *all = calloc(count + 1, sizeof *all);
    int r = all ? 0 : err_set(e, -ENOMEM, "cannot compare: out of memory");
    for (size_t i = 0; r == 0 && i < count; i++) {
        r = condition_parse(texts[i], strlen(texts[i]), &all[i], e);
        if (r < 0)
            err_wrap(e, r, "condition '%s'", texts[i]);
    }
    if (r < 0)
        free(all);
    else
        *ret = all;
    return r;
}

int toll_compare(struct toll_compared **ret, const struct toll_compare *asked, struct toll_error *e)
{
    struct toll_compare own;
    struct condition *conditions = NULL;
    size_t count = 0;
    if (!ret)
        return err_set_no_place(e);
    if (!asked)
        return err_set(e, -EINVAL, "no runs given to compare (expected at least two groups)");
    int r = sized_take(&own, sizeof own, asked, "comparison", e);
    while (r == 0 && own.groups && own.groups[count])
        count++;
    if (r == 0 && count < 2)
        r = err_set(e, -EINVAL, "%s given to compare (expected at least two groups)",
                    count ? "only one group of runs" : "no runs");
    if (r == 0)
        r = compare_parse_conditions(own.conditions, &conditions, e);
    if (r < 0)
        return r;
    struct toll_compared *c = calloc(1, sizeof *c);
    if (c)
        c->groups = calloc(count, sizeof *c->groups);
    if (!c || !c->groups) {
        r = err_set(e, -ENOMEM, "cannot compare: out of memory");
    } else {
        c->group_count = count;
        r = compare_make(c, &own, conditions, e);
    }
    free(conditions);
    if (r < 0)
        toll_compared_free(c);
    else
        *ret = c;
    return r;
}

const struct toll_judgement *toll_compared_judgement(const struct toll_compared *c, size_t i)
{
    return c && i < c->judgement_count ? &c->judgements[i].judgement : NULL;
}

int toll_compared_text(const struct toll_compared *c, const struct toll_output *output, char **ret,
                       struct toll_error *e)
{
    struct toll_output own = {0};
    struct buf b = {0};
    if (!ret)
        return err_set_no_place(e);
    if (!c)
        return err_set(e, -EINVAL, "no comparison given");
    int r = output ? sized_take(&own, sizeof own, output, "output", e) : 0;
    if (r < 0)
        return r;
    const char *format = own.format ? own.format : "text";
    b.units = own.flags & TOLL_OUTPUT_BYTES ? BYTES_PLAIN
              : own.flags & TOLL_OUTPUT_SI  ? BYTES_DECIMAL
                                            : BYTES_BINARY;
    if (strcmp(format, "text") == 0)
        compare_put_text(&b, c, own.flags, own.columns);
    else if (strcmp(format, "markdown") == 0)
        compare_put_markdown(&b, c);
    else if (strcmp(format, "json") == 0)
        compare_put_json(&b, c);
    else if (strcmp(format, "html") == 0)
        compare_put_html(&b, c);
    else
        return err_set(
            e, -EINVAL,
            "unknown format '%s' of a comparison (expected text, markdown, json or html)", format);
    char *text = buf_take(&b);
    if (!text)
        return err_set(e, -ENOMEM, "cannot write the comparison: out of memory");
    *ret = text;
    return 0;
}
