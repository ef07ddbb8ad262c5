/* SPDX-License-Identifier: MIT
 * A comparison as text and as JSON: both are told the same things in the same order. */
#include "base/json_out.h"
#include "base/utf8.h"
#include "dialect/python_number.h"
#include "subtrack/comparison.h"
#include "subtrack/results_text.h"

#include <math.h>
#include <string.h>

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

static void open_part(struct writer *w, const char *key, bool is_title)
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

static void close_part(struct writer *w)
{
    if (w->json)
        json_object_end(w->json);
    w->tabs--;
}

/* Those that are equal stand as they were given, what is not known stands last. */
static void sort(struct writer *w)
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

static void put_json(struct writer *w)
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

static void put_text(struct writer *w)
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

static void put_values(struct writer *w)
{
    sort(w);
    if (w->json)
        put_json(w);
    else
        put_text(w);
}

/* The names it has in the sessions, each once, sorted. */
static void put_block_name(struct buf *b, const struct comparison *c, size_t block)
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
static void take_value(struct writer *w, size_t session, const struct usage *u)
{
    w->values[session] = u->of[w->c->statistic];
    w->are_whole = (w->are_whole || !session) && u->is_integer[w->c->statistic];
}

/* figure: NULL for the time of a call. */
static void put_blocks(struct writer *w, const size_t *figure)
{
    const struct comparison *c = w->c;
    for (size_t block = 0; block < c->sessions[0].block_count; block++) {
        struct buf name = {0};
        put_block_name(&name, c, block);
        for (size_t i = 0; i < c->count; i++) {
            const struct block_results *r = &c->sessions[i].blocks[block];
            take_value(w, i, figure ? &r->usage[*figure] : &r->compute_time);
        }
        if (name.data)
            open_part(w, name.data, false);
        put_values(w);
        close_part(w);
        buf_done(&name);
    }
}

static void put_all(struct writer *w)
{
    const struct comparison *c = w->c;
    const struct analysis *first = &c->sessions[0];
    open_part(w, "overall_resource_usage", true);
    for (size_t figure = 0; figure < first->figure_count; figure++) {
        for (size_t i = 0; i < c->count; i++)
            take_value(w, i, &c->sessions[i].overall[figure]);
        open_part(w, first->figures[figure], true);
        put_values(w);
        close_part(w);
    }
    close_part(w);
    open_part(w, "code_block_resource_usage", true);
    for (size_t figure = 0; first->block_count && figure < first->figure_count; figure++) {
        open_part(w, first->figures[figure], true);
        put_blocks(w, &figure);
        close_part(w);
    }
    close_part(w);
    open_part(w, "code_block_compute_time", true);
    put_blocks(w, NULL);
    close_part(w);
}

static void write_all(struct writer *w, struct buf *b)
{
    w->order = calloc(w->c->count, sizeof *w->order);
    w->values = calloc(w->c->count, sizeof *w->values);
    if (w->order && w->values)
        put_all(w);
    else
        b->failed = true;
    free(w->order);
    free(w->values);
}

void comparison_write_text(struct buf *b, const struct comparison *c)
{
    struct writer w = {.c = c, .text = b};
    write_all(&w, b);
}

void comparison_write_json(struct buf *b, const struct comparison *c)
{
    struct json_out j;
    struct writer w = {.c = c, .json = &j};
    json_begin(&j, b, 1);
    json_object(&j);
    write_all(&w, b);
    json_object_end(&j);
}
