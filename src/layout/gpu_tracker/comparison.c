/* SPDX-License-Identifier: MIT */
#include "layout/gpu_tracker/analysis.h"

#include "base/err.h"
#include "base/text/buf.h"
#include "base/text/json.h"
#include "layout/cells.h"
#include "layout/gpu_tracker/row_file.h"

#include <math.h>
#include <string.h>

/* ==== Comparison ============================================================================== */

/* The digits behind the last colon, or NULL. */
static const char *block_line_number(const char *name)
{
    const char *colon = strrchr(name, ':');
    if (!colon || !colon[1] || colon[1 + strspn(colon + 1, "0123456789")])
        return NULL;
    return colon + 1;
}

/* A name as gpu_tracker sorts it: the number of its line with zeros in front, as many digits as the
 * longest of the session has. */
struct sorted_name {
    const char *name;
    size_t lead;  /* bytes in front of the number; all of the name when there is none */
    size_t zeros; /* that follow them */
};

static struct sorted_name sorted_name(const char *name, size_t digits)
{
    const char *line = block_line_number(name);
    if (!line)
        return (struct sorted_name){name, strlen(name), 0};
    return (struct sorted_name){name, (size_t)(line - name), digits - strlen(line)};
}

static unsigned char sorted_byte(const struct sorted_name *s, size_t i)
{
    if (i < s->lead)
        return (unsigned char)s->name[i];
    return i < s->lead + s->zeros ? '0' : (unsigned char)s->name[i - s->zeros];
}

static int by_name(const void *a, const void *b, void *digits)
{
    struct sorted_name x = sorted_name(((const struct block_results *)a)->name, *(size_t *)digits);
    struct sorted_name y = sorted_name(((const struct block_results *)b)->name, *(size_t *)digits);
    size_t i = 0;
    while (sorted_byte(&x, i) && sorted_byte(&x, i) == sorted_byte(&y, i))
        i++;
    return sorted_byte(&x, i) - sorted_byte(&y, i);
}

static void comparison_sort_blocks(struct analysis *a)
{
    size_t digits = 0;
    for (size_t i = 0; i < a->block_count; i++) {
        const char *line = block_line_number(a->blocks[i].name);
        digits = line && strlen(line) > digits ? strlen(line) : digits;
    }
    qsort_r(a->blocks, a->block_count, sizeof *a->blocks, by_name, &digits);
}

static int comparison_match_figures(const struct comparison *c, size_t other, struct toll_error *e)
{
    const struct analysis *first = &c->sessions[c->first], *a = &c->sessions[other];
    for (size_t i = 0; i < first->figure_count || i < a->figure_count; i++)
        if (i >= first->figure_count || i >= a->figure_count ||
            strcmp(first->figures[i], a->figures[i]) != 0)
            return err_set(e, -EINVAL,
                           "The measurements of tracking session \"%s\" are not those of tracking "
                           "session \"%s\".",
                           c->names[other], c->names[c->first]);
    return 0;
}

static int comparison_match_blocks(const struct comparison *c, size_t other,
                                   void (*note)(void *arg, const char *sentence), void *arg,
                                   struct toll_error *e)
{
    const struct analysis *first = &c->sessions[c->first], *a = &c->sessions[other];
    if (first->block_count != a->block_count)
        return err_set(e, -EINVAL,
                       "All sub-tracking results must have the same number of code blocks. The "
                       "first has %zu code blocks but tracking session \"%s\" has %zu code blocks.",
                       first->block_count, c->names[other], a->block_count);
    for (size_t i = 0; i < a->block_count; i++) {
        const char *mine = first->blocks[i].name, *its = a->blocks[i].name;
        if (strcmp(mine, its) == 0)
            continue;
        const char *my_line = block_line_number(mine), *its_line = block_line_number(its);
        if (!my_line || !its_line || my_line - mine != its_line - its ||
            memcmp(mine, its, (size_t)(my_line - mine)) != 0)
            return err_set(e, -EINVAL,
                           "Code block name \"%s\" of tracking session \"%s\" does not match code "
                           "block name \"%s\" of tracking session \"%s\"",
                           mine, c->names[c->first], its, c->names[other]);
        struct buf sentence = {0};
        buf_printf(&sentence,
                   "Code block name \"%s\" of tracking session \"%s\" matched with code block name "
                   "\"%s\" of tracking session \"%s\" but they differ by line number. If these "
                   "code blocks were not meant to match, their comparison will not be valid and "
                   "their names must be disambiguated.",
                   mine, c->names[c->first], its, c->names[other]);
        if (note && !buf_failed(&sentence))
            note(arg, sentence.data);
        buf_done(&sentence);
    }
    return 0;
}

int comparison_match(struct comparison *c, void (*note)(void *arg, const char *sentence), void *arg,
                     struct toll_error *e)
{
    int r = 0;
    c->first = 0;
    for (size_t i = 0; i < c->count; i++) {
        comparison_sort_blocks(&c->sessions[i]);
        if (strcmp(c->names[i], c->names[c->first]) < 0)
            c->first = i;
    }
    for (size_t i = 0; i < c->count && r == 0; i++) {
        r = i == c->first ? 0 : comparison_match_figures(c, i, e);
        if (r == 0 && i != c->first)
            r = comparison_match_blocks(c, i, note, arg, e);
    }
    return r;
}

/* ==== Comparison write ======================================================================== */

/* A comparison as text and as JSON: both get the same figures in the same order. */

/* Where it is written to: one of them is NULL. */
struct writer {
    const struct comparison *c;
    struct buf *text;
    struct json_out *json;
    size_t *order; /* of the sessions, the smallest first */
    double *values;
    bool are_whole;
    unsigned tabs;
};

static void comparison_open_part(struct writer *w, const char *key, bool is_title)
{
    if (w->json) {
        json_key(w->json, key);
        json_object(w->json);
    } else if (is_title) {
        text_title(w->text, key, w->tabs);
    } else {
        text_tabs(w->text, w->tabs);
        buf_printable(w->text, key, strlen(key));
        buf_puts(w->text, ":\n");
    }
    w->tabs++;
}

static void comparison_close_part(struct writer *w)
{
    if (w->json)
        json_object_end(w->json);
    w->tabs--;
}

/* Those that are equal stand as they were given, what is not known stands last. */
static void comparison_sort(struct writer *w)
{
    for (size_t i = 0; i < w->c->count; i++) {
        size_t at = i;
        for (; at &&
               (isnan(w->values[w->order[at - 1]]) || w->values[w->order[at - 1]] > w->values[i]) &&
               !isnan(w->values[i]);
             at--)
            w->order[at] = w->order[at - 1];
        w->order[at] = i;
    }
}

static void comparison_put_json(struct writer *w)
{
    for (size_t i = 0; i < w->c->count; i++) {
        struct buf number = {0};
        (w->are_whole ? python_integer : python_float)(&number, w->values[w->order[i]]);
        json_key(w->json, w->c->names[w->order[i]]);
        json_raw(w->json, number.data, number.length);
        w->json->buf->failed |= buf_failed(&number);
        buf_done(&number);
    }
}

static void comparison_put_text(struct writer *w)
{
    size_t count = w->c->count;
    const char **names = calloc(count, sizeof *names);
    struct buf *cells = calloc(count, sizeof *cells);
    if (names && cells) {
        for (size_t i = 0; i < count; i++) {
            names[i] = w->c->names[w->order[i]];
            if (w->are_whole) {
                buf_puts(&cells[i], w->values[w->order[i]] < 0 ? "" : " "); /* as pandas does */
                python_integer(&cells[i], w->values[w->order[i]]);
            } else {
                text_number(&cells[i], w->values[w->order[i]]);
            }
            w->text->failed |= buf_failed(&cells[i]);
        }
        struct text_frame f = {.rows = 1, .columns = count, .column_names = names, .cells = cells};
        text_frame_write(w->text, &f, w->tabs);
    } else {
        w->text->failed = true;
    }
    for (size_t i = 0; cells && i < count; i++)
        buf_done(&cells[i]);
    free(cells);
    free(names);
}

static void comparison_put_values(struct writer *w)
{
    comparison_sort(w);
    if (w->json)
        comparison_put_json(w);
    else
        comparison_put_text(w);
}

/* The names it has in the sessions, each once, sorted. */
static void comparison_put_block_name(struct buf *b, const struct comparison *c, size_t block)
{
    const char *last = NULL, *next;
    do {
        next = NULL;
        for (size_t i = 0; i < c->count; i++) {
            const char *name = c->sessions[i].blocks[block].name;
            if ((!last || strcmp(name, last) > 0) && (!next || strcmp(name, next) < 0))
                next = name;
        }
        if (next)
            buf_printf(b, "%s%s", last ? " -> " : "", next);
        last = next;
    } while (next);
}

/* One statistic of one session. Whole numbers are written as such when all of them are. */
static void comparison_set_value(struct writer *w, size_t session, const struct usage *u)
{
    w->values[session] = u->of[w->c->statistic];
    w->are_whole = (w->are_whole || !session) && u->is_integer[w->c->statistic];
}

/* figure: NULL for the time of a call. */
static void comparison_put_blocks(struct writer *w, const size_t *figure)
{
    const struct comparison *c = w->c;
    for (size_t block = 0; block < c->sessions[0].block_count; block++) {
        struct buf name = {0};
        comparison_put_block_name(&name, c, block);
        for (size_t i = 0; i < c->count; i++) {
            const struct block_results *r = &c->sessions[i].blocks[block];
            comparison_set_value(w, i, figure ? &r->usage[*figure] : &r->compute_time);
        }
        if (name.data)
            comparison_open_part(w, name.data, false);
        comparison_put_values(w);
        comparison_close_part(w);
        buf_done(&name);
    }
}

static void comparison_put_all(struct writer *w)
{
    const struct comparison *c = w->c;
    const struct analysis *first = &c->sessions[0];
    comparison_open_part(w, "overall_resource_usage", true);
    for (size_t figure = 0; figure < first->figure_count; figure++) {
        for (size_t i = 0; i < c->count; i++)
            comparison_set_value(w, i, &c->sessions[i].overall[figure]);
        comparison_open_part(w, first->figures[figure], true);
        comparison_put_values(w);
        comparison_close_part(w);
    }
    comparison_close_part(w);
    comparison_open_part(w, "code_block_resource_usage", true);
    for (size_t figure = 0; first->block_count && figure < first->figure_count; figure++) {
        comparison_open_part(w, first->figures[figure], true);
        comparison_put_blocks(w, &figure);
        comparison_close_part(w);
    }
    comparison_close_part(w);
    comparison_open_part(w, "code_block_compute_time", true);
    comparison_put_blocks(w, NULL);
    comparison_close_part(w);
}

static void comparison_write(struct writer *w, struct buf *b)
{
    w->order = calloc(w->c->count, sizeof *w->order);
    w->values = calloc(w->c->count, sizeof *w->values);
    if (w->order && w->values)
        comparison_put_all(w);
    else
        b->failed = true;
    free(w->order);
    free(w->values);
}

void comparison_write_text(struct buf *b, const struct comparison *c)
{
    struct writer w = {.c = c, .text = b};
    comparison_write(&w, b);
}

void comparison_write_json(struct buf *b, const struct comparison *c)
{
    struct json_out j;
    struct writer w = {.c = c, .json = &j};
    json_begin(&j, b, 1);
    json_object(&j);
    comparison_write(&w, b);
    json_object_end(&j);
}
