/* SPDX-License-Identifier: MIT
 * Groups of runs: where their records are, which runs count, and their curves over time. */
#include "study/compare.h"

#include "base/err.h"
#include "base/io/file.h"
#include "base/memory.h"
#include "base/text/scan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ==== Where the runs of a group are =========================================================== */

/* As many digits of an id as 'toll export --run' asks for. */
enum { ID_DIGITS = 8 };

void compare_place_done(struct compare_place *p)
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

int compare_place_parse(struct compare_place *ret, const char *text, const char *in,
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
            return err_set(e, -ENOENT,
                           "no such record or directory: '%s' (expected a record, RECORD:RUN, a "
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
