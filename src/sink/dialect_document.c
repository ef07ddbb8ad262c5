/* SPDX-License-Identifier: MIT
 * A summary in a dialect: one document, nested by the dots in the names of its columns. */
#include "dialect/cell_text.h"
#include "dialect/frame_view.h"
#include "sink/dialect_sink.h"

#include <string.h>

/* How much of a name with dots it has in common with the one before, up to and with a dot. */
static size_t common_lead(const char *a, const char *b)
{
    size_t lead = 0;
    for (size_t i = 0; a[i] && a[i] == b[i]; i++)
        if (a[i] == '.')
            lead = i + 1;
    return lead;
}

static unsigned count_dots(const char *text)
{
    unsigned dots = 0;
    for (; *text; text++)
        dots += *text == '.';
    return dots;
}

static struct translation *put_summary(struct sink *s, const struct summary *summary)
{
    struct translation *t = dialect_sink_translation(s, summary->has_target);
    struct dialect_source source = summary_view_source(summary);
    if (t && translation_put(t, &source, true) < 0)
        s->text.failed = true;
    return t;
}

static bool is_left_out(const struct dialect_column *c, const struct dialect_cell *cell)
{
    return (c->flags & OMIT_ZERO) && !cell->text && !(cell->number > 0);
}

void dialect_document_json(struct sink *s, const struct summary *summary)
{
    const struct translation *t = put_summary(s, summary);
    struct json_out j;
    const char *before = "";
    json_begin(&j, &s->text, t ? t->table->indent : 0);
    json_object(&j);
    for (size_t i = 0; t && t->ready && i < t->table->count; i++) {
        const struct dialect_column *c = &t->table->columns[i];
        const struct dialect_cell *cell = translation_cell(t, 0, i);
        if (is_left_out(c, cell))
            continue;
        const char *at = c->name + common_lead(before, c->name);
        for (unsigned open = count_dots(before + (at - c->name)); open; open--)
            json_object_end(&j);
        for (const char *dot; (dot = strchr(at, '.')); at = dot + 1) {
            json_string_n(&j, at, (size_t)(dot - at));
            buf_puts(&s->text, t->table->indent ? ": " : ":");
            j.after_key = true;
            json_object(&j);
        }
        json_key(&j, at);
        dialect_sink_json_cell(s, &j, c, cell);
        before = c->name;
    }
    for (unsigned open = count_dots(before); open; open--)
        json_object_end(&j);
    json_object_end(&j);
    buf_putc(&s->text, '\n');
}

static void add_indent(struct sink *s, const struct dialect_table *table, unsigned depth)
{
    for (unsigned i = 0; i < depth * table->indent; i++)
        buf_putc(&s->text, ' ');
}

void dialect_document_text(struct sink *s, const struct summary *summary)
{
    const struct translation *t = put_summary(s, summary);
    const char *before = "";
    for (size_t i = 0; t && t->ready && i < t->table->count; i++) {
        const struct dialect_column *c = &t->table->columns[i];
        const struct dialect_cell *cell = translation_cell(t, 0, i);
        size_t lead = common_lead(before, c->label);
        unsigned depth = 0;
        for (size_t k = 0; k < lead; k++)
            depth += c->label[k] == '.';
        const char *at = c->label + lead;
        for (const char *dot; (dot = strchr(at, '.')); at = dot + 1, depth++) {
            add_indent(s, t->table, depth);
            buf_printf(&s->text, "%.*s:\n", (int)(dot - at), at);
        }
        add_indent(s, t->table, depth);
        buf_printf(&s->text, "%s: ", at);
        if (dialect_cell_is_known(cell))
            cell_write(&s->text, c, cell);
        else
            buf_puts(&s->text, "unknown");
        buf_putc(&s->text, '\n');
        before = c->label;
    }
}
