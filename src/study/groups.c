/* SPDX-License-Identifier: MIT
 * Groups of runs: where their records are, which runs count, and their curves over time. */
#include "study/compare.h"

#include "base/err.h"
#include "base/io/file.h"
#include "base/memory.h"
#include "base/text/scan.h"
#include "study/study.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ==== Statistics ============================================================================== */

/* Statistics of repeated runs: spread, outliers, the difference of two groups. Without libm. */

static int compare_numbers(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

static double distance(double a, double b)
{
    return a > b ? a - b : b - a;
}

/* Sorts the values. */
static double median_of(double *values, size_t count)
{
    qsort(values, count, sizeof *values, compare_numbers);
    return count % 2 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
}

int statistics_of(const double *values, size_t count, struct statistics *ret)
{
    struct statistics s = {.count = count};
    if (!count) {
        *ret = s;
        return 0;
    }
    double *sorted = calloc(count, sizeof *sorted);
    if (!sorted)
        return -ENOMEM;
    memcpy(sorted, values, count * sizeof *sorted);
    s.median = median_of(sorted, count);
    s.min = sorted[0];
    s.max = sorted[count - 1];
    /* Distances from the median are small beside the values: no digits are lost in the sums. */
    double sum = 0, squares = 0;
    for (size_t i = 0; i < count; i++)
        sum += sorted[i] - s.median;
    double shift = sum / (double)count;
    s.mean = s.median + shift;
    for (size_t i = 0; i < count; i++) {
        double d = sorted[i] - s.median - shift;
        squares += d * d;
    }
    s.sd = count > 1 ? square_root(squares / (double)(count - 1)) : 0;
    free(sorted);
    *ret = s;
    return 0;
}

int statistics_outliers(const double *values, size_t count, bool *is_outlier)
{
    enum { FEWEST = 5 };
    /* The median of few deviations is often far too small: a fixed limit of 3.5 finds outliers in
     * a fifth of normal samples of five values. This one finds them in a few per cent at most. */
    const double few = 3.5 * (1 + 6 / ((double)count - 3.5)), least_share = 0.02;
    if (count)
        memset(is_outlier, 0, count * sizeof *is_outlier);
    if (count < FEWEST)
        return 0;
    double *room = calloc(count, sizeof *room);
    if (!room)
        return -ENOMEM;
    memcpy(room, values, count * sizeof *room);
    double median = median_of(room, count), sum = 0;
    for (size_t i = 0; i < count; i++) {
        room[i] = distance(values[i], median);
        sum += room[i];
    }
    double mad = median_of(room, count);
    /* Both estimate the standard deviation of normal values. */
    double spread = mad > 0 ? mad / 0.6745 : 1.253314 * sum / (double)count;
    double limit = mad > 0 ? few : 3.5; /* without MAD, most values are equal */
    int found = 0;
    for (size_t i = 0; i < count; i++) {
        double d = distance(values[i], median);
        is_outlier[i] = d > limit * spread && d > least_share * distance(median, 0);
        found += is_outlier[i];
    }
    free(room);
    return found;
}

/* ==== Student's t ============================================================================= */

#define PI 3.14159265358979323846 /* M_PI is not in ISO C */

/* Of x >= 0. Two halvings of the angle bring it below 0.4, where the series converges fast. */
static double arc_tangent(double x)
{
    for (int i = 0; i < 2; i++)
        x = x / (1 + square_root(1 + x * x));
    double power = x, sum = 0;
    for (int i = 0; i < 24; i++) {
        sum += (i % 2 ? -power : power) / (2 * i + 1);
        power *= x * x;
    }
    return 4 * sum;
}

/* The probability of |T| > t for whole degrees of freedom (Abramowitz and Stegun 26.7.3, .4). */
static double student_outside(double t, unsigned freedom)
{
    double n = freedom, cos2 = n / (n + t * t), sine = t / square_root(n + t * t);
    if (freedom == 1)
        return 1 - 2 / PI * arc_tangent(t);
    bool is_odd = freedom % 2;
    double term = is_odd ? square_root(cos2) : 1, sum = 0;
    for (unsigned i = is_odd ? 3 : 2; i <= freedom; i += 2) {
        sum += term;
        term *= cos2 * (double)(i - 1) / (double)i;
    }
    double inside = is_odd ? 2 / PI * (arc_tangent(t / square_root(n)) + sine * sum) : sine * sum;
    return 1 - inside;
}

double student_quantile(double freedom, double alpha)
{
    enum { MOST = 400 };
    freedom = freedom >= 1 ? freedom : 1; /* NaN, too */
    if (freedom > MOST)
        freedom = MOST;
    unsigned below = (unsigned)freedom;
    /* Between two whole numbers the distribution is nearly linear in 1 / freedom. */
    double weight = (1.0 / below - 1 / freedom) / (1.0 / below - 1.0 / (below + 1));
    double low = 0, high = 1;
    while (high < 1e10 && student_outside(high, below) > alpha)
        high *= 2;
    for (int i = 0; i < 60; i++) {
        double t = (low + high) / 2, outside = student_outside(t, below);
        if (weight > 0)
            outside += weight * (student_outside(t, below + 1) - outside);
        *(outside > alpha ? &low : &high) = t;
    }
    return high;
}

/* ==== Differences ============================================================================= */

struct difference statistics_difference(const struct statistics *a, const struct statistics *b,
                                        double alpha, double least_sd)
{
    struct difference d = {.change = b->mean - a->mean};
    d.low = d.high = d.change;
    if (!a->count || !b->count || (a->count < 2 && b->count < 2))
        return d;
    double sd_a = a->count > 1 ? a->sd : b->sd, sd_b = b->count > 1 ? b->sd : a->sd;
    sd_a = sd_a > least_sd ? sd_a : least_sd;
    sd_b = sd_b > least_sd ? sd_b : least_sd;
    double error_a = sd_a * sd_a / (double)a->count, error_b = sd_b * sd_b / (double)b->count;
    double error = error_a + error_b;
    d.has_interval = true;
    if (a->count < 2 || b->count < 2)
        d.freedom = (double)(a->count + b->count - 2);
    else if (error > 0)
        d.freedom = error * error /
                    (error_a * error_a / (double)(a->count - 1) +
                     error_b * error_b / (double)(b->count - 1));
    else
        d.freedom = (double)(a->count + b->count - 2);
    double margin = student_quantile(d.freedom, alpha) * square_root(error);
    d.low -= margin;
    d.high += margin;
    d.is_shown = d.low > 0 || d.high < 0;
    return d;
}

/* ==== Where the runs of a group are =========================================================== */

/* As many digits of an id as 'toll export --run' asks for. */
enum { ID_DIGITS = 8 };

static void compare_place_done(struct compare_place *p)
{
    free(p->path);
    free(p->text);
    free(p->labels);
    *p = (struct compare_place){0};
}

/* "name=build,branch=main": p->text is cut into pieces. */
static int place_take_filter(struct compare_place *p, const char *whole, struct toll_error *e)
{
    for (char *word = p->text; word;) {
        char *comma = strchr(word, ',');
        if (comma)
            *comma = '\0';
        bool is_name = strncmp(word, "name=", 5) == 0;
        if (!*word || *word == '=' || (is_name && p->filter.name))
            return err_set(e, -EINVAL,
                           "invalid group '%s' (expected name=NAME and labels such as branch=main, "
                           "separated by commas)",
                           whole);
        if (is_name)
            p->filter.name = word + 5;
        else if (!list_append(&p->labels, word))
            return err_set(e, -ENOMEM, "cannot read '%s': out of memory", whole);
        word = comma ? comma + 1 : NULL;
    }
    p->filter.labels = p->labels;
    return 0;
}

/* "2", or the end of an id. */
static bool place_take_run(struct compare_place *p)
{
    struct scan s = scan_string(p->text);
    size_t length = strlen(p->text);
    if (length >= ID_DIGITS && strspn(p->text, "0123456789abcdefABCDEF-") == length) {
        for (char *c = p->text; *c; c++) /* ids are written in small letters */
            *c = (char)(*c >= 'A' && *c <= 'F' ? *c - 'A' + 'a' : *c);
        p->filter.id = p->text;
        return true;
    }
    return scan_u64_here(&s, &p->filter.number) && scan_done(&s) && p->filter.number;
}

static bool has_record_suffix(const char *text, size_t length)
{
    static const char *const suffixes[] = {".jsonl", ".sqlite", ".db"};
    for (size_t i = 0; i < ARRAY_LEN(suffixes); i++) {
        size_t n = strlen(suffixes[i]);
        if (length > n && memcmp(text + length - n, suffixes[i], n) == 0)
            return true;
    }
    return false;
}

/* "a.jsonl:7", whether or not there is such a file; a label is not meant ("from=a.jsonl:7"). */
static bool has_record_and_run(const char *text)
{
    size_t length = strcspn(text, ":=");
    return text[length] == ':' && has_record_suffix(text, length);
}

bool compare_is_path(const char *text)
{
    return strchr(text, '/') || has_record_suffix(text, strlen(text)) || has_record_and_run(text);
}

/* names_runs: a bare word is the name of runs. 0 or -errno and a sentence. */
static int compare_place_parse(struct compare_place *ret, const char *text, const char *in,
                               bool names_runs, struct toll_error *e)
{
    struct compare_place p = {0};
    const char *colon = strrchr(text, ':'), *rest = NULL;
    in = in ? in : ".";
    /* A file that happens to have the name of the runs, such as the program, is not meant. */
    bool is_name = names_runs && !compare_is_path(text) && !file_is_directory(text);
    if (access(text, F_OK) == 0 && !is_name) {
        p.is_path = true;
        p.path = strdup(text);
    } else if (colon && colon != text && (p.path = strndup(text, (size_t)(colon - text))) &&
               access(p.path, F_OK) == 0) {
        rest = colon + 1;
    } else {
        free(p.path);
        p.path = strdup(in);
        p.is_here = true;
        bool is_filter = strchr(text, '=') && !has_record_and_run(text);
        rest = is_filter ? text : NULL;
        if (!is_filter && names_runs && !compare_is_path(text)) {
            p.text = strdup(text);
            p.filter.name = p.text;
        } else if (!is_filter) {
            compare_place_done(&p);
            return err_set(
                e, -ENOENT,
                "cannot read '%s': no such record or directory (expected a record, RECORD:RUN, a "
                "directory, or name=NAME and labels such as branch=main)",
                text);
        }
    }
    int r = 0;
    if (rest && !(p.text = strdup(rest)))
        r = err_set(e, -ENOMEM, "cannot read '%s': out of memory", text);
    else if (rest && strchr(rest, '='))
        r = place_take_filter(&p, text, e);
    else if (rest && !place_take_run(&p))
        r = err_set(e, -EINVAL,
                    "invalid run '%s' in '%s' (expected the number of a run, at least the last %d "
                    "digits of its id, or name=NAME)",
                    rest, text, ID_DIGITS);
    if (r == 0 && (!p.path || (p.filter.name && !p.text)))
        r = err_set(e, -ENOMEM, "cannot read '%s': out of memory", text);
    if (r < 0)
        compare_place_done(&p);
    else
        *ret = p;
    return r;
}

/* ==== Groups ================================================================================== */

void compare_group_done(struct compare_group *g)
{
    for (size_t i = 0; i < g->curve_count; i++) {
        trace_done(&g->curves[i].cores.trace);
        trace_done(&g->curves[i].memory.trace);
    }
    free(g->curves);
    study_runs_done(&g->runs);
    free(g->is_used);
    free(g->text);
    free(g->shown);
    *g = (struct compare_group){0};
}

/* The record without its directories, printable, and not too long for a heading. */
static char *group_name(const char *text)
{
    enum { LONGEST = 28 };
    struct buf b = {0};
    const char *slash = strrchr(text, '/');
    const char *equals = strchr(text, '=');
    if (slash && slash[1] && (!equals || equals > slash))
        text = slash + 1;
    size_t length = strlen(text);
    size_t fits = utf8_fitting(text, length, LONGEST);
    buf_printable(&b, text, fits);
    if (fits < length)
        buf_puts(&b, "…");
    return buf_take(&b);
}

bool compare_run_failed(const struct study_run *r)
{
    const struct toll_end *end = &r->end;
    return end->oom_killed || end->timed_out ||
           (end->ended && !end->unknown && (end->signaled || end->status != 0));
}

/* Collects the curves of the run that is being read; see struct study_hook. */
struct curve_watch {
    struct compare_group *group;
    bool has_failed;
};

static void curve_add_figure(struct chart_series *s, const struct frame *f, bool *failed)
{
    const struct row *row = f->target[PART_COMBINED].row;
    if (row && row_has(row, s->id))
        *failed |= !chart_series_add(s, row_value(row, s->id), f);
}

static void curve_drop(struct compare_group *g, size_t i)
{
    trace_done(&g->curves[i].cores.trace);
    trace_done(&g->curves[i].memory.trace);
    g->curve_count--;
    memmove(&g->curves[i], &g->curves[i + 1], (g->curve_count - i) * sizeof *g->curves);
}

static void curve_drop_run(void *arg, const struct study_run *run, size_t number)
{
    struct compare_group *g = ((struct curve_watch *)arg)->group;
    (void)run;
    if (number < g->curve_count)
        curve_drop(g, number);
}

static void curve_take_item(void *arg, const struct record_item *item)
{
    enum { CURVES = 8 }; /* of one group: more could not be told apart */
    struct curve_watch *w = arg;
    struct compare_group *g = w->group;
    size_t number = g->runs.count; /* of the run that is read */
    if (number >= CURVES)
        return;
    if (item->kind == RECORD_RUN) {
        if (!ARRAY_RESERVE(g->curves, g->curve_capacity, number + 1)) {
            w->has_failed = true;
            return;
        }
        while (g->curve_count > number) /* of a record that broke off, or of a copy */
            curve_drop(g, g->curve_count - 1);
        g->curves[number] = (struct compare_curve){
            .cores.id = process_cpu_cores,
            .memory.id = process_memory_rss_bytes,
        };
        g->curve_count = number + 1;
    } else if (item->kind == RECORD_FRAME && g->curve_count == number + 1) {
        curve_add_figure(&g->curves[number].cores, item->frame, &w->has_failed);
        curve_add_figure(&g->curves[number].memory, item->frame, &w->has_failed);
    }
}

int compare_group_read(struct compare_group *g, const char *text, const struct toll_compare *asked,
                       bool names_runs, struct toll_error *e)
{
    struct compare_place place;
    struct curve_watch watch = {.group = g};
    struct study_hook hook = {curve_take_item, curve_drop_run, &watch};
    int r = compare_place_parse(&place, text, asked->in, names_runs, e);
    if (r < 0)
        return r;
    g->text = strdup(text);
    g->shown = group_name(text);
    r = study_add(&g->runs, place.path, &place.filter, asked->curves ? &hook : NULL, asked->note,
                  asked->note_arg, e);
    g->is_path = place.is_path;
    bool is_chosen = place.filter.name || place.filter.id || place.filter.number || place.labels;
    bool is_empty = r == -ENOENT && file_is_directory(place.path); /* there are no records */
    g->is_none_yet = (r == 0 || is_empty) && !g->runs.count && is_chosen && place.is_here;
    if (r == 0 && !g->runs.count && is_chosen)
        r = err_set(e, -ENOENT,
                    "no run matches '%s' in '%s' (runs read: %zu; 'toll list' shows them)", text,
                    place.path, g->runs.seen);
    else if (r == 0 && !g->runs.count)
        r = err_set(e, -ENOENT, "no runs in '%s'", place.path);
    else if (r == 0 && place.filter.id && g->runs.count > 1)
        r = err_set(e, -EINVAL, "%zu runs have an id that ends in '%s' (expected more digits)",
                    g->runs.count, place.filter.id);
    compare_place_done(&place);
    if (r < 0)
        return r;
    g->is_used = calloc(g->runs.count, sizeof *g->is_used);
    if (!g->text || !g->shown || !g->is_used || watch.has_failed)
        return err_set(e, -ENOMEM, "cannot compare: out of memory");
    for (size_t i = 0; i < g->runs.count; i++) {
        const struct study_run *run = &g->runs.items[i];
        g->is_used[i] = !run->cut_short && !compare_run_failed(run);
        g->used += g->is_used[i];
    }
    for (size_t i = 0; !g->used && i < g->runs.count; i++)
        g->is_used[i] = true; /* there are no others */
    g->used = g->used ? g->used : g->runs.count;
    return 0;
}
