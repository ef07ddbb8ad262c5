/* SPDX-License-Identifier: MIT
 * Several things of a kind, one line each. */
#include "base/utf8.h"
#include "sink/human.h"
#include "sink/text_table.h"

#include <string.h>

enum { NAME = 24, NAMES_AT_LEAST = 12, FIGURE = 10 };

/* How many columns fit. */
enum { COLUMNS = (TEXT_LINE - NAME) / FIGURE };

/* What has a heading in a line of figures and is known of any of them. */
struct kind_table {
    unsigned columns[COLUMNS];
    unsigned count;
};

static void add_column(struct kind_table *t, const struct text_rows *r, unsigned i)
{
    for (unsigned c = 0; c < t->count; c++)
        if (t->columns[c] == i)
            return;
    if (t->count < COLUMNS && (r->selected >> i & 1) && *metric_of(r->first + i)->line)
        t->columns[t->count++] = i;
}

/* What matters most first, as far as there is room. */
static void choose(struct kind_table *t, const struct text_rows *r)
{
    for (enum metric_show show = SHOW_HEAD; show <= SHOW_NEVER; show++)
        for (unsigned i = 0; i < r->count; i++)
            if (metric_of(r->first + i)->show == show &&
                text_quality(r, PART_COMBINED, i) != QUALITY_UNKNOWN)
                add_column(t, r, i);
}

static void sort(struct kind_table *t)
{
    for (unsigned i = 1; i < t->count; i++)
        for (unsigned k = i; k && t->columns[k - 1] > t->columns[k]; k--) {
            unsigned other = t->columns[k];
            t->columns[k] = t->columns[k - 1];
            t->columns[k - 1] = other;
        }
}

static void add_heading(struct sink *s, const struct kind_table *t, const char *title,
                        enum metric_id first)
{
    text_style(s, DIM);
    size_t start = s->text.length;
    buf_puts(&s->text, title);
    buf_pad(&s->text, start, NAME);
    for (unsigned c = 0; c < t->count; c++) {
        const struct metric *m = metric_of(first + t->columns[c]);
        start = s->text.length;
        /* A total, not a rate. */
        buf_add(&s->text, m->line, strcspn(m->line, "/"));
        buf_pad_left(&s->text, start, FIGURE);
    }
    text_style(s, PLAIN);
    buf_putc(&s->text, '\n');
}

static void add_number(struct sink *s, const struct text_rows *r, unsigned i)
{
    enum quality q = text_quality(r, PART_COMBINED, i);
    double figure = q == QUALITY_UNKNOWN ? 0 : text_figure(r, PART_COMBINED, i);
    bool is_nothing = text_is_nothing(q, figure);
    if (q == QUALITY_UNKNOWN || is_nothing) {
        buf_puts(&s->text, is_nothing ? "none seen" : "?");
        return;
    }
    buf_puts(&s->text, q == QUALITY_LOWER_BOUND ? "≥" : "");
    human_number(&s->text, metric_of(r->first + i), figure);
}

static void add_figures(struct sink *s, const struct kind_table *t, const struct text_rows *r,
                        const char *name)
{
    size_t start = s->text.length;
    text_foreign(s, name);
    if (utf8_columns(s->text.data + start, s->text.length - start) >= NAME)
        buf_putc(&s->text, '\n'), start = s->text.length;
    buf_pad(&s->text, start, NAME);
    for (unsigned c = 0; c < t->count; c++) {
        unsigned i = t->columns[c];
        start = s->text.length;
        add_number(s, r, i);
        buf_pad_left(&s->text, start, FIGURE);
    }
    buf_putc(&s->text, '\n');
}

/* A thing that did nothing is left out unless all is asked for. */
static bool says_something(const struct sink *s, const struct kind_table *t,
                           const struct text_rows *r)
{
    if (s->flags & TOLL_OUTPUT_VERBOSE)
        return true;
    for (unsigned c = 0; c < t->count; c++)
        if (text_quality(r, PART_COMBINED, t->columns[c]) != QUALITY_UNKNOWN &&
            text_figure(r, PART_COMBINED, t->columns[c]) != 0)
            return true;
    return false;
}

void text_kind(struct sink *s, const struct summary *summary, enum entity_kind kind)
{
    struct kind_table t = {0};
    for (size_t i = 0; i < summary->thing_count; i++) {
        if (summary->things[i].thing->entity.kind != kind)
            continue;
        struct text_rows r = text_rows_of_thing(s, &summary->things[i]);
        choose(&t, &r);
    }
    if (!t.count)
        return;
    sort(&t);
    bool any = false;
    for (size_t i = 0; i < summary->thing_count; i++) {
        const struct thing_summary *thing = &summary->things[i];
        struct text_rows r = text_rows_of_thing(s, thing);
        if (thing->thing->entity.kind != kind || !says_something(s, &t, &r))
            continue;
        if (!any)
            add_heading(s, &t, entity_kind_plural(kind), r.first);
        any = true;
        add_figures(s, &t, &r, entity_name(&thing->thing->entity));
    }
    if (any)
        buf_putc(&s->text, '\n');
}

void text_targets(struct sink *s, const struct summary *summary)
{
    struct kind_table t = {0};
    for (size_t i = 0; i < summary->target_count; i++) {
        struct text_rows r = text_rows_of_target(s, &summary->targets[i]);
        choose(&t, &r);
    }
    if (!t.count)
        return;
    sort(&t);
    add_heading(s, &t, entity_kind_plural(ENTITY_TARGET), process_first);
    for (size_t i = 0; i < summary->target_count; i++) {
        struct text_rows r = text_rows_of_target(s, &summary->targets[i]);
        add_figures(s, &t, &r, summary->run->targets[i].name);
    }
    struct text_rows all = text_rows_of_target(s, &summary->whole);
    add_figures(s, &t, &all, "together");
    buf_putc(&s->text, '\n');
}
