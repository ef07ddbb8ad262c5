/* SPDX-License-Identifier: MIT
 * toll sinks, toll metrics and toll dialects: the tables of the library, for people and for
 * programs. */
#include "base/text/json.h"
#include "cli/cli.h"
#include "cli/options.h"

#include <stdio.h>
#include <string.h>

/* ==== Sinks command =========================================================================== */

/* toll sinks: where figures can go, and what can be said about how. */

enum { SINKS_COMMAND_COLUMN = 26 };

static void add_format(struct buf *b, const struct toll_format *f)
{
    size_t start = b->length;
    if (*f->suffix)
        buf_printf(b, "FILE%s or ", f->suffix);
    buf_printf(b, "%s:%s  ", f->name, f->place);
    if (b->length - start > SINKS_COMMAND_COLUMN) {
        b->length -= 2;
        buf_putc(b, '\n');
        start = b->length;
    }
    buf_pad(b, start, SINKS_COMMAND_COLUMN);
    help_wrap(b, f->help, SINKS_COMMAND_COLUMN);
}

static void sinks_command_add_options(struct buf *b, const struct toll_format *f)
{
    const struct toll_format_option *o;
    for (size_t i = 0; (o = toll_format_option_at(f, i)); i++) {
        struct buf text = {0};
        size_t start = b->length;
        buf_printf(b, "  ,%s=%s  ", o->name, o->value);
        buf_pad(b, start, SINKS_COMMAND_COLUMN);
        buf_puts(&text, o->help);
        if (*o->fallback)
            buf_printf(&text, "; %s by default", o->fallback);
        help_wrap(b, text.data ? text.data : "", SINKS_COMMAND_COLUMN);
        buf_done(&text);
    }
}

static void sinks_command_as_text(struct buf *b, const char *name)
{
    const struct toll_format *f;
    for (size_t i = 0; (f = toll_format_at(i)); i++) {
        if (name && strcmp(name, f->name) != 0)
            continue;
        add_format(b, f);
        sinks_command_add_options(b, f);
    }
    if (!name)
        buf_puts(b, "\nOptions stand behind the place, each after a comma:\n"
                    "-o 'prometheus:http://host:9090/api/v1/write,every=10s'.\n"
                    "Where there are options, a comma that is meant is written twice.\n");
}

static void json_format(struct json_out *j, const struct toll_format *f)
{
    const struct toll_format_option *o;
    json_object(j);
    json_put_string(j, "name", f->name);
    json_put_string(j, "suffix", f->suffix);
    json_put_string(j, "place", f->place);
    json_put_string(j, "help", f->help);
    json_key(j, "options");
    json_array(j);
    for (size_t i = 0; (o = toll_format_option_at(f, i)); i++) {
        json_object(j);
        json_put_string(j, "name", o->name);
        json_put_string(j, "value", o->value);
        json_put_string(j, "default", o->fallback);
        json_put_string(j, "help", o->help);
        json_object_end(j);
    }
    json_array_end(j);
    json_object_end(j);
}

static void sinks_command_as_json(struct buf *b, const char *name)
{
    struct json_out j;
    const struct toll_format *f;
    json_begin(&j, b, 2);
    json_array(&j);
    for (size_t i = 0; (f = toll_format_at(i)); i++)
        if (!name || strcmp(name, f->name) == 0)
            json_format(&j, f);
    json_array_end(&j);
    buf_putc(b, '\n');
}

static int list_sinks(struct settings *s)
{
    struct buf b = {0};
    const char *name = s->words ? s->words[0] : NULL;
    const struct toll_format *f = toll_format_at(0);
    for (size_t i = 1; name && f && strcmp(f->name, name) != 0; i++)
        f = toll_format_at(i);
    if (!f)
        return complain("'%s' is not a sink; 'toll sinks' lists them", name);
    (s->json ? sinks_command_as_json : sinks_command_as_text)(&b, name);
    return print(&b);
}

int sinks_main(int argc, char **argv)
{
    return subcommand_main(argc, argv, 0, 1, "toll sinks takes --json and the name of one of them",
                           list_sinks);
}

/* ==== List metrics ============================================================================ */

/* toll metrics: the table of metrics for people, for programs and for the documentation. */

static void list_metrics_as_text(struct buf *b)
{
    const char *entity = "";
    const struct toll_metric *m;
    for (size_t i = 0; (m = toll_metric_at(i)); i++) {
        if (strcmp(entity, m->entity) != 0)
            buf_printf(b, "%s%s\n", i ? "\n" : "", entity = m->entity);
        size_t start = b->length;
        buf_printf(b, "  %s", m->name);
        buf_pad(b, start, 28);
        start = b->length;
        buf_puts(b, m->kind);
        buf_pad(b, start, 9);
        buf_printf(b, "%s\n", m->help);
        start = b->length;
        buf_pad(b, start, 28);
        buf_printf(b, "from %s, %s\n", m->source, m->cost);
    }
    buf_puts(b, "\nA target (the job) has the metrics of a process in three parts: target_… is "
                "the whole,\nmain_… the command itself, descendants_… what it started.\n");
}

static void list_metrics_as_json(struct buf *b)
{
    struct json_out j;
    json_begin(&j, b, 2);
    json_array(&j);
    const struct toll_metric *m;
    for (size_t i = 0; (m = toll_metric_at(i)); i++) {
        const char *fields[][2] = {
            {"entity", m->entity}, {"name", m->name}, {"title", m->title}, {"kind", m->kind},
            {"unit", m->unit},     {"fold", m->fold}, {"cost", m->cost},   {"source", m->source},
            {"otel", m->otel},     {"help", m->help},
        };
        json_object(&j);
        for (size_t f = 0; f < ARRAY_LEN(fields); f++) {
            json_put_string(&j, fields[f][0], fields[f][1]);
        }
        json_object_end(&j);
    }
    json_array_end(&j);
    buf_putc(b, '\n');
}

static void list_metrics_as_markdown(struct buf *b)
{
    const char *entity = "";
    const struct toll_metric *m;
    buf_puts(b, "# Metrics\n\nMade by `toll metrics --markdown`.\n");
    for (size_t i = 0; (m = toll_metric_at(i)); i++) {
        if (strcmp(entity, m->entity) != 0)
            buf_printf(b,
                       "\n## %s\n\n"
                       "| name | kind | unit | fold | cost | source | OpenTelemetry | meaning |\n"
                       "|---|---|---|---|---|---|---|---|\n",
                       entity = m->entity);
        buf_printf(b, "| `%s` | %s | %s | %s | %s | %s | %s | %s |\n", m->name, m->kind, m->unit,
                   m->fold, m->cost, m->source, m->otel, m->help);
    }
}

static int list_metrics(struct settings *s)
{
    struct buf b = {0};
    (s->json       ? list_metrics_as_json
     : s->markdown ? list_metrics_as_markdown
                   : list_metrics_as_text)(&b);
    return print(&b);
}

int metrics_main(int argc, char **argv)
{
    return subcommand_main(argc, argv, 0, 0, "toll metrics takes --json, --markdown or nothing",
                           list_metrics);
}

/* ==== List layouts =========================================================================== */

enum { FORMATS = 18, HELP = 35, LIST_LAYOUTS_COLUMN = 28, INDENT = 6 };

static void list_layouts_add_names(struct buf *b)
{
    const struct toll_layout *d;
    for (size_t i = 0; (d = toll_layout_at(i)); i++) {
        size_t start = b->length;
        buf_puts(b, d->name);
        buf_pad(b, start, FORMATS);
        buf_puts(b, d->formats);
        buf_pad(b, start, HELP);
        help_wrap(b, d->help, HELP);
    }
    buf_puts(b, "\n'toll dialects NAME' lists the options and columns of one,\n"
                "'toll run --dialect NAME -o FILE' writes in it.\n");
}

static void list_layouts_add_options(struct buf *b, const char *name)
{
    const struct toll_layout_option *o;
    for (size_t i = 0; (o = toll_layout_option_at(name, i)); i++) {
        buf_printf(b, "%s  %s=", i ? "" : "\noptions\n", o->name);
        for (const char *c = o->accepted; *c; c++)
            buf_putc(b, *c == ' ' ? '|' : *c);
        buf_putc(b, '\n');
        struct buf text = {0};
        buf_printf(&text, "%s%s%s", o->help, *o->value ? "; otherwise " : "", o->value);
        buf_pad(b, b->length, INDENT);
        help_wrap(b, text.data ? text.data : "", INDENT);
        buf_done(&text);
    }
}

/* Above the columns of one table. */
static void list_layouts_add_heading(struct buf *b, const struct toll_layout_column *c)
{
    buf_printf(b, "\n%s", c->format);
    if (*c->file)
        buf_printf(b, ", %s", c->file);
    if (*c->columns)
        buf_printf(b, ", columns=%s", c->columns);
    if (*c->subject)
        buf_printf(b, ", of %s", strcmp(c->subject, "target") == 0 ? "a target" : "the machine");
    buf_putc(b, '\n');
}

static bool is_same_table(const struct toll_layout_column *a, const struct toll_layout_column *b)
{
    return strcmp(a->format, b->format) == 0 && strcmp(a->columns, b->columns) == 0 &&
           strcmp(a->subject, b->subject) == 0 && strcmp(a->file, b->file) == 0;
}

/* A sum that is scaled is put in parentheses. */
static void add_terms(struct buf *b, const struct toll_layout_column *c)
{
    bool is_sum = (c->factor != 1 || *c->per) && strpbrk(c->terms, "+-");
    buf_printf(b, is_sum ? "(%s)" : "%s", c->terms);
    if (*c->per)
        buf_printf(b, strpbrk(c->per, "+-") ? " / (%s)" : " / %s", c->per);
    if (c->factor != 1) {
        buf_puts(b, c->factor < 1 ? " / " : " * ");
        buf_number_short(b, c->factor < 1 ? 1 / c->factor : c->factor, 12);
    }
    if (*c->scale)
        buf_printf(b, " in %s", c->scale);
    if (c->decimals)
        buf_printf(b, ", %u decimal%s", c->decimals, c->decimals == 1 ? "" : "s");
}

static void list_layouts_add_column(struct buf *b, const struct toll_layout_column *c)
{
    struct buf left = {0}, text = {0};
    buf_printf(&left, "  %s", c->name);
    buf_puts(&text, c->take);
    buf_pad(&text, 0, 6);
    size_t taken = text.length;
    add_terms(&text, c);
    if (!buf_failed(&left) && !buf_failed(&text)) {
        size_t start = b->length;
        buf_puts(b, left.data);
        if (left.length >= LIST_LAYOUTS_COLUMN) {
            buf_putc(b, '\n');
            start = b->length;
        }
        buf_pad(b, start, LIST_LAYOUTS_COLUMN);
        buf_add(b, text.data, taken);
        help_wrap(b, text.data + taken, LIST_LAYOUTS_COLUMN + taken);
    }
    buf_done(&left);
    buf_done(&text);
}

static void list_layouts_add_columns(struct buf *b, const char *name)
{
    const struct toll_layout_column *c, *before = NULL;
    for (size_t i = 0; (c = toll_layout_column_at(name, i)); i++) {
        if (!before || !is_same_table(before, c))
            list_layouts_add_heading(b, c);
        before = c;
        list_layouts_add_column(b, c);
    }
}

static int show_one(const char *name, struct buf *b)
{
    const struct toll_layout *d = strchr(name, ',') ? NULL : layout_named(name);
    if (!d)
        return complain("'%s' is not a dialect; 'toll dialects' lists them", name);
    size_t start = b->length;
    buf_printf(b, "%s: ", d->name);
    help_wrap(b, d->help, b->length - start);
    buf_printf(b, "formats: %s\n", d->formats);
    list_layouts_add_options(b, d->name);
    list_layouts_add_columns(b, d->name);
    return 0;
}

/* ---- For programs ---------------------------------------------------------------------------- */

static void add_json_options(struct json_out *j, const char *name)
{
    const struct toll_layout_option *o;
    json_key(j, "options");
    json_array(j);
    for (size_t i = 0; (o = toll_layout_option_at(name, i)); i++) {
        json_object(j);
        json_put_string(j, "name", o->name);
        json_put_string(j, "value", o->value);
        json_put_string(j, "accepted", o->accepted);
        json_put_string(j, "help", o->help);
        json_object_end(j);
    }
    json_array_end(j);
}

static void add_json_columns(struct json_out *j, const char *name)
{
    const struct toll_layout_column *c;
    json_key(j, "columns");
    json_array(j);
    for (size_t i = 0; (c = toll_layout_column_at(name, i)); i++) {
        json_object(j);
        const char *fields[][2] = {
            {"format", c->format}, {"columns", c->columns}, {"subject", c->subject},
            {"file", c->file},     {"name", c->name},       {"label", c->label},
            {"terms", c->terms},   {"take", c->take},       {"type", c->type},
            {"scale", c->scale},   {"per", c->per},
        };
        for (size_t f = 0; f < ARRAY_LEN(fields); f++)
            json_put_string(j, fields[f][0], fields[f][1]);
        json_put_number(j, "factor", c->factor);
        json_put_u64(j, "decimals", c->decimals);
        json_object_end(j);
    }
    json_array_end(j);
}

static void add_json_layout(struct json_out *j, const struct toll_layout *d)
{
    json_object(j);
    json_put_string(j, "name", d->name);
    json_put_string(j, "formats", d->formats);
    json_put_string(j, "help", d->help);
    json_put_seconds(j, "interval_seconds", d->interval_ns);
    add_json_options(j, d->name);
    add_json_columns(j, d->name);
    json_object_end(j);
}

static int list_layouts_as_json(const char *name, struct buf *b)
{
    const struct toll_layout *d;
    struct json_out j;
    if (name && !layout_named(name))
        return complain("'%s' is not a dialect; 'toll dialects' lists them", name);
    json_begin(&j, b, 2);
    json_array(&j);
    for (size_t i = 0; (d = toll_layout_at(i)); i++)
        if (!name || d == layout_named(name))
            add_json_layout(&j, d);
    json_array_end(&j);
    buf_putc(b, '\n');
    return 0;
}

static int list_layouts(struct settings *s)
{
    struct buf b = {0};
    const char *name = s->words ? s->words[0] : NULL;
    int status = 0;
    if (s->json)
        status = list_layouts_as_json(name, &b);
    else if (name)
        status = show_one(name, &b);
    else
        list_layouts_add_names(&b);
    if (status == 0)
        return print(&b);
    buf_done(&b);
    return status;
}

int layouts_main(int argc, char **argv)
{
    return subcommand_main(argc, argv, 0, 1,
                           "toll dialects takes --json and the name of one, or nothing",
                           list_layouts);
}
