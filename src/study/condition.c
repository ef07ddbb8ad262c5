/* SPDX-License-Identifier: MIT
 * Conditions: "memory_peak > 2G" is parsed, and judged for a figure whose quality is known. */
#include "base/err.h"
#include "base/io/file.h"
#include "base/memory.h"
#include "base/text/scan.h"
#include "sink/words.h"
#include "study/compare.h"
#include "study/study.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ==== Parsing ================================================================================= */

static const struct {
    const char *sign; /* the longer first */
    enum condition_operator operator;
} operators[] = {
    {">=", IS_AT_LEAST}, {"<=", IS_AT_MOST}, {"==", IS_EQUAL}, {">", IS_ABOVE}, {"<", IS_BELOW}};

struct condition_unit {
    const char *name;
    double factor;
};

/* As for other sizes on the command line: powers of 1024, and kB, MB, … of 1000. */
static const struct condition_unit size_units[] = {
    {"", 1},         {"B", 1},        {"k", 0x1p10},  {"K", 0x1p10},   {"Ki", 0x1p10},
    {"KiB", 0x1p10}, {"M", 0x1p20},   {"Mi", 0x1p20}, {"MiB", 0x1p20}, {"G", 0x1p30},
    {"Gi", 0x1p30},  {"GiB", 0x1p30}, {"T", 0x1p40},  {"Ti", 0x1p40},  {"TiB", 0x1p40},
    {"kB", 1e3},     {"MB", 1e6},     {"GB", 1e9},    {"TB", 1e12},    {0},
};
static const struct condition_unit time_units[] = {
    {"", 1},     {"s", 1},    {"ms", 1e-3}, {"us", 1e-6}, {"m", 60},
    {"min", 60}, {"h", 3600}, {"d", 86400}, {0},
};
static const struct condition_unit energy_units[] = {
    {"", 1}, {"J", 1}, {"kJ", 1e3}, {"MJ", 1e6}, {"Wh", 3600}, {"kWh", 3.6e6}, {0},
};
static const struct condition_unit count_units[] = {
    {"", 1}, {"k", 1e3}, {"M", 1e6}, {"G", 1e9}, {"T", 1e12}, {0},
};

static const struct condition_unit *units_of(enum study_figure f, const char **ret_example)
{
    switch (metric_of(study_figures[f].unit)->unit) {
    case UNIT_seconds: *ret_example = "a time such as 90s, 250ms, 5m or 2h"; return time_units;
    case UNIT_bytes: *ret_example = "a size such as 512M, 2G or 2GB"; return size_units;
    case UNIT_joules: *ret_example = "an energy such as 500J or 2kJ"; return energy_units;
    default: *ret_example = "a number such as 4 or 2.5"; return count_units;
    }
}

static const char *figure_name(enum study_figure f)
{
    return study_figures[f].short_key ? study_figures[f].short_key : study_figures[f].key;
}

static int refuse_figure(const char *name, size_t length, struct toll_error *e)
{
    char typed[SUGGESTION_BYTES] = "";
    struct suggestion near;
    struct buf all = {0};
    if (length < sizeof typed)
        memcpy(typed, name, length);
    suggestion_begin(&near, typed);
    for (unsigned f = 0; f < STUDY_FIGURES; f++) {
        if (study_figures[f].short_key)
            suggestion_offer(&near, study_figures[f].short_key);
        suggestion_offer(&near, study_figures[f].key);
        buf_printf(&all, "%s%s", f ? ", " : "", figure_name(f));
    }
    const char *meant = suggestion_text(&near);
    int shown = (int)min_u64(length, 60);
    int r = *meant || !all.data ? err_set(e, -EINVAL, "unknown figure '%.*s'%s", shown, name, meant)
                                : err_set(e, -EINVAL, "unknown figure '%.*s' (expected one of %s)",
                                          shown, name, all.data);
    buf_done(&all);
    return r;
}

/* The number and its unit; the sign was taken. */
static bool scan_limit(struct scan s, const struct condition_unit *units, struct condition *c)
{
    double number;
    scan_blanks(&s);
    if (scan_done(&s) || !strchr("0123456789.", *s.at) || !scan_number(&s, &number))
        return false;
    scan_blanks(&s);
    while (!scan_done(&s) && strchr(" \t\r\n", s.end[-1]))
        s.end--;
    size_t length = scan_length(s);
    c->is_percent = length == 1 && *s.at == '%';
    if (c->is_percent) {
        c->limit = number / 100;
        return c->is_relative;
    }
    for (; units->name; units++)
        if (strlen(units->name) == length && memcmp(units->name, s.at, length) == 0) {
            c->limit = number * units->factor;
            return c->limit <= 1e300;
        }
    return false;
}

int condition_parse(const char *text, size_t length, struct condition *ret, struct toll_error *e)
{
    struct scan s = scan_text(text, length);
    struct condition c = {0};
    scan_blanks(&s);
    const char *name = s.at;
    while (!scan_done(&s) && !strchr(" \t\r\n<>=!+-", *s.at) && *s.at)
        s.at++;
    size_t name_length = (size_t)(s.at - name);
    if (!name_length)
        return err_set(e, -EINVAL,
                       "no figure (expected a condition such as 'memory_peak > 2G' or "
                       "'cpu_seconds > +5%%')");
    int figure = study_figure_find(name, name_length);
    if (figure < 0)
        return refuse_figure(name, name_length, e);
    c.figure = (enum study_figure)figure;
    scan_blanks(&s);
    const char *reversed = scan_word(&s, "=>") ? ">=" : scan_word(&s, "=<") ? "<=" : NULL;
    if (reversed)
        return err_set(e, -EINVAL, "invalid operator '%c%c' after '%.*s' (expected %s)",
                       reversed[1], reversed[0], (int)name_length, name, reversed);
    size_t i = 0;
    while (i < ARRAY_LEN(operators) && !scan_word(&s, operators[i].sign))
        i++;
    if (i == ARRAY_LEN(operators))
        return err_set(e, -EINVAL, "no operator after '%.*s' (expected >, >=, <, <= or ==)",
                       (int)name_length, name);
    c.operator= operators[i].operator;
    scan_blanks(&s);
    struct scan limit = s;
    bool is_negative = !scan_done(&s) && *s.at == '-';
    c.is_relative = !scan_done(&s) && (*s.at == '+' || *s.at == '-');
    s.at += c.is_relative;
    const char *example;
    const struct condition_unit *units = units_of(c.figure, &example);
    if (!scan_limit(s, units, &c)) {
        int shown = (int)min_u64(scan_length(limit), 60);
        return c.is_percent
                   ? err_set(e, -EINVAL,
                             "'%.*s' has no sign (expected +5%% or -5%%: a change from the "
                             "baseline)",
                             shown, limit.at)
                   : err_set(e, -EINVAL,
                             "invalid limit '%.*s' (expected %s, or a change from the "
                             "baseline such as +5%%)",
                             shown, limit.at, example);
    }
    c.limit = is_negative ? -c.limit : c.limit;
    *ret = c;
    return 0;
}

/* ==== Judging ================================================================================= */

static bool holds(enum condition_operator operator, double value, double limit)
{
    switch (operator) {
    case IS_ABOVE: return value > limit;
    case IS_AT_LEAST: return value >= limit;
    case IS_BELOW: return value < limit;
    case IS_AT_MOST: return value <= limit;
    default: return value == limit;
    }
}

/* Values between these bounds are possible. */
struct bounds {
    double low;
    bool has_no_end; /* a lower bound */
};

/* Whether it holds for all values that are possible (1), for none (0), or for some (-1). */
static int holds_for_all(enum condition_operator operator, struct bounds v, struct bounds limit)
{
    bool now = holds(operator, v.low, limit.low);
    if (!v.has_no_end && !limit.has_no_end)
        return now;
    if (v.has_no_end && limit.has_no_end)
        return -1;
    bool is_upward = operator== IS_ABOVE || operator== IS_AT_LEAST;
    bool is_downward = operator== IS_BELOW || operator== IS_AT_MOST;
    /* A value that may be larger stays above the limit; a limit that may be larger stays above the
     * value. */
    if (v.has_no_end)
        return is_upward && now ? 1 : is_downward && !now ? 0 : v.low > limit.low ? 0 : -1;
    return is_downward && now ? 1 : is_upward && !now ? 0 : v.low < limit.low ? 0 : -1;
}

static void put_figure(struct buf *b, enum study_figure f, double value)
{
    if (value < 0 && !study_shows_zero(f, value))
        buf_putc(b, '-');
    study_put_number(b, f, value < 0 ? -value : value);
}

/* "+5 %", "+100 MiB" */
static void put_change(struct buf *b, const struct condition *c, double change)
{
    if (change >= 0)
        buf_putc(b, '+');
    if (c->is_percent) {
        buf_double(b, change * 100, 1);
        buf_puts(b, " %");
    } else {
        put_figure(b, c->figure, change);
    }
}

static const char *word_of(enum condition_operator operator, bool is_broken)
{
    static const char *const broken[] = {"above", "at or above", "below", "at or below",
                                         "equal to"};
    static const char *const kept[] = {"not above", "below", "not below", "above", "not equal to"};
    return is_broken ? broken[operator] : kept[operator];
}

enum toll_judged condition_judge(const struct condition *c, const struct condition_side *value,
                                 const struct condition_side *baseline, struct buf *b)
{
    const char *name = figure_name(c->figure);
    if (c->is_relative && !baseline) {
        buf_printf(b, "%s cannot be checked: the baseline has no runs", name);
        return TOLL_NOT_PROVEN;
    }
    if (value->value.quality == QUALITY_UNKNOWN) {
        buf_printf(b, "%s cannot be checked: it is unknown in this run", name);
        return TOLL_FAILED;
    }
    if (c->is_relative && baseline->value.quality == QUALITY_UNKNOWN) {
        buf_printf(b, "%s cannot be checked: it is unknown in the baseline", name);
        return TOLL_FAILED;
    }
    double base = c->is_relative ? baseline->value.value : 0, v = value->value.value;
    if (c->is_relative && c->is_percent && base <= 0 && v > 0) {
        buf_printf(b,
                   "%s cannot be checked: it is 0 in the baseline (expected a limit without "
                   "%%)",
                   name);
        return TOLL_FAILED;
    }
    bool value_is_bound = value->value.quality == QUALITY_LOWER_BOUND;
    bool base_is_bound = c->is_relative && baseline->value.quality == QUALITY_LOWER_BOUND;
    double limit = !c->is_relative ? c->limit
                   : c->is_percent ? base * (1 + c->limit)
                                   : base + c->limit;
    int result = holds_for_all(c->operator,(struct bounds){v, value_is_bound},
                               (struct bounds){limit, base_is_bound});
    /* "memory_peak was 2.3 GiB, above the limit of 2 GiB" */
    buf_printf(b, "%s was %s", name, value_is_bound ? "at least " : "");
    put_figure(b, c->figure, v);
    if (value->runs > 1)
        buf_printf(b, " (mean of %zu runs)", value->runs);
    if (c->is_relative) {
        bool has_share = base > 0;
        buf_puts(b, ", ");
        if (has_share && c->is_percent) {
            put_change(b, c, v / base - 1);
        } else {
            struct condition absolute = *c;
            absolute.is_percent = false;
            put_change(b, &absolute, v - base);
        }
        buf_printf(b, " from the baseline of %s", base_is_bound ? "at least " : "");
        put_figure(b, c->figure, base);
        if (baseline->runs > 1)
            buf_printf(b, " (mean of %zu runs)", baseline->runs);
    }
    if (result < 0) {
        buf_puts(b, "; whether that is ");
        buf_printf(b, "%s the limit of ", word_of(c->operator, true));
    } else {
        buf_printf(b, ", %s the limit of ", word_of(c->operator, result == 1));
    }
    if (c->is_relative)
        put_change(b, c, c->limit);
    else
        put_figure(b, c->figure, c->limit);
    if (result < 0)
        buf_puts(b, " is unknown, since a lower bound may be too low");
    bool is_partly_unknown = value->runs < value->total;
    if (is_partly_unknown)
        buf_printf(b, "; unknown in %zu of %zu runs", value->total - value->runs, value->total);
    if (result == 1)
        return TOLL_FAILED;
    return result < 0 || is_partly_unknown ? TOLL_NOT_PROVEN : TOLL_PASSED;
}

/* ==== Gate ==================================================================================== */

/* Conditions on a run that is measured now: --fail-if and --baseline of `toll run`. */

struct toll_gate {
    struct condition *conditions;      /* owned */
    char **texts;                      /* owned, NULL-terminated */
    struct toll_judgement *judgements; /* owned, one for each condition */
    char **sentences;                  /* owned, the same */
    size_t count, judged;
    struct compare_group baseline;
    struct compare_group runs; /* that were added */
    bool has_baseline;
};

void toll_gate_free(struct toll_gate *g)
{
    if (!g)
        return;
    for (size_t i = 0; i < g->count; i++) {
        free(g->texts[i]);
        free(g->sentences[i]);
    }
    compare_group_done(&g->baseline);
    compare_group_done(&g->runs);
    free(g->conditions);
    free(g->texts);
    free(g->sentences);
    free(g->judgements);
    free(g);
}

int toll_gate_new(struct toll_gate **ret, const struct toll_compare *asked, struct toll_error *e)
{
    struct toll_compare own;
    if (!ret)
        return err_set_no_place(e);
    if (!asked)
        return err_set(e, -EINVAL, "no conditions given");
    int r = sized_take(&own, sizeof own, asked, "comparison", e);
    if (r < 0)
        return r;
    const char *baseline = own.groups ? own.groups[0] : NULL;
    if (baseline && own.groups[1])
        return err_set(e, -EINVAL, "several baselines given (expected one)");
    struct toll_gate *g = calloc(1, sizeof *g);
    size_t count = 0;
    while (own.conditions && own.conditions[count])
        count++;
    if (!g)
        return err_set(e, -ENOMEM, "cannot keep the conditions: out of memory");
    r = compare_parse_conditions(own.conditions, &g->conditions, e);
    g->texts = calloc(count + 1, sizeof *g->texts);
    g->sentences = calloc(count + 1, sizeof *g->sentences);
    g->judgements = calloc(count + 1, sizeof *g->judgements);
    if (r == 0 && (!g->texts || !g->sentences || !g->judgements))
        r = err_set(e, -ENOMEM, "cannot keep the conditions: out of memory");
    for (size_t i = 0; r == 0 && i < count; i++) {
        g->count++;
        g->texts[i] = strdup(own.conditions[i]);
        if (!g->texts[i])
            r = err_set(e, -ENOMEM, "cannot keep the conditions: out of memory");
        else if (g->conditions[i].is_relative && !baseline)
            r = err_set(e, -EINVAL,
                        "condition '%s': no baseline given (expected one run to compare with)",
                        own.conditions[i]);
    }
    if (r == 0 && baseline) {
        r = compare_group_read(&g->baseline, baseline, &own, true, e);
        if (r == -ENOENT && g->baseline.is_path && !compare_is_path(baseline)) {
            /* A directory without records has the name of the runs: "build". */
            CLEANUP_FREE char *name = NULL;
            compare_group_done(&g->baseline);
            r = asprintf(&name, "name=%s", baseline) < 0 ? -ENOMEM : 0;
            r = r < 0 ? err_set(e, r, "cannot keep the conditions: out of memory")
                      : compare_group_read(&g->baseline, name, &own, true, e);
        }
        g->has_baseline = r == 0;
        /* Of a record or a run that is not there the path is wrong; of a name this may be the first
         * run. */
        if (r == -ENOENT && g->baseline.is_none_yet) {
            struct buf b = {0};
            buf_printf(&b, "no run has the name '%s' here: changes from it are not checked",
                       baseline);
            buf_putc(&b, '\0');
            if (own.note && !buf_failed(&b))
                own.note(own.note_arg, b.data);
            buf_done(&b);
            r = 0;
        }
    }
    if (r < 0)
        toll_gate_free(g);
    else
        *ret = g;
    return r;
}

int study_gate_add(struct toll_gate *g, const struct summary *s)
{
    size_t count = g->runs.runs.count;
    bool *is_used = realloc(g->runs.is_used, (count + 1) * sizeof *is_used);
    if (!is_used)
        return -ENOMEM;
    g->runs.is_used = is_used;
    if (!study_add_summary(&g->runs.runs, s))
        return -ENOMEM;
    is_used[count] = true;
    g->runs.used++;
    return 0;
}

void toll_gate_clear(struct toll_gate *g)
{
    if (!g)
        return;
    compare_group_done(&g->runs);
    g->judged = 0;
}

/* Of a baseline with several names only runs of the same name count, if there are any. The view
 * borrows all of the baseline but is_used, which the caller frees. */
static bool gate_view_baseline(const struct toll_gate *g, struct compare_group *ret)
{
    const char *name = g->runs.runs.count ? g->runs.runs.items[0].name : "";
    *ret = g->baseline;
    ret->is_used = calloc(ret->runs.count + 1, sizeof *ret->is_used);
    if (!ret->is_used)
        return false;
    ret->used = 0;
    for (size_t i = 0; i < ret->runs.count; i++) {
        ret->is_used[i] = g->baseline.is_used[i] && strcmp(ret->runs.items[i].name, name) == 0;
        ret->used += ret->is_used[i];
    }
    if (!ret->used && ret->runs.count) {
        memcpy(ret->is_used, g->baseline.is_used, ret->runs.count * sizeof *ret->is_used);
        ret->used = g->baseline.used;
    }
    return true;
}

int toll_gate_judge(struct toll_gate *g)
{
    int failed = 0;
    if (!g)
        return -EINVAL;
    g->judged = 0;
    struct compare_group view = {0};
    if (g->has_baseline && !gate_view_baseline(g, &view))
        return -ENOMEM;
    for (size_t i = 0; i < g->count; i++) {
        const struct condition *c = &g->conditions[i];
        struct compare_cell value = {0}, baseline = {0};
        struct buf b = {0};
        bool ok = compare_cell_fill(&value, &g->runs, NULL, c->figure) &&
                  (!g->has_baseline || compare_cell_fill(&baseline, &view, NULL, c->figure));
        struct condition_side v = compare_side(&value), base = compare_side(&baseline);
        enum toll_judged state = TOLL_FAILED;
        if (ok)
            state = condition_judge(c, &v, g->has_baseline ? &base : NULL, &b);
        free(value.outliers);
        free(baseline.outliers);
        free(g->sentences[i]);
        g->sentences[i] = buf_take(&b);
        if (!ok || !g->sentences[i]) {
            failed = -ENOMEM;
            break;
        }
        g->judgements[i] = (struct toll_judgement){g->texts[i], g->sentences[i], state};
        g->judged++;
        failed += state == TOLL_FAILED;
    }
    free(view.is_used);
    return failed;
}

const struct toll_judgement *toll_gate_judgement(const struct toll_gate *g, size_t i)
{
    return g && i < g->judged ? &g->judgements[i] : NULL;
}
