/* SPDX-License-Identifier: MIT
 * toll dialects: whose names and units toll can speak, for people and for programs. */
#include "base/json_out.h"
#include "cli/cli.h"
#include "cli/dialect_option.h"
#include "cli/help.h"

#include <stdio.h>
#include <string.h>

enum { FORMATS = 18, HELP = 35, COLUMN = 28, INDENT = 6 };

static void add_names(struct buf *b)
{
    const struct toll_dialect *d;
    for (size_t i = 0; (d = toll_dialect_at(i)); i++) {
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

static void add_options(struct buf *b, const char *name)
{
    const struct toll_dialect_option *o;
    for (size_t i = 0; (o = toll_dialect_option_at(name, i)); i++) {
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
static void add_heading(struct buf *b, const struct toll_dialect_column *c)
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

static bool is_same_table(const struct toll_dialect_column *a, const struct toll_dialect_column *b)
{
    return strcmp(a->format, b->format) == 0 && strcmp(a->columns, b->columns) == 0 &&
           strcmp(a->subject, b->subject) == 0 && strcmp(a->file, b->file) == 0;
}

/* A sum that is scaled stands in parentheses. */
static void add_terms(struct buf *b, const struct toll_dialect_column *c)
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

static void add_column(struct buf *b, const struct toll_dialect_column *c)
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
        if (left.length >= COLUMN) {
            buf_putc(b, '\n');
            start = b->length;
        }
        buf_pad(b, start, COLUMN);
        buf_add(b, text.data, taken);
        help_wrap(b, text.data + taken, COLUMN + taken);
    }
    buf_done(&left);
    buf_done(&text);
}

static void add_columns(struct buf *b, const char *name)
{
    const struct toll_dialect_column *c, *before = NULL;
    for (size_t i = 0; (c = toll_dialect_column_at(name, i)); i++) {
        if (!before || !is_same_table(before, c))
            add_heading(b, c);
        before = c;
        add_column(b, c);
    }
}

static int show_one(const char *name, struct buf *b)
{
    const struct toll_dialect *d = strchr(name, ',') ? NULL : dialect_named(name);
    if (!d)
        return complain("'%s' is not a dialect; 'toll dialects' lists them", name);
    size_t start = b->length;
    buf_printf(b, "%s: ", d->name);
    help_wrap(b, d->help, b->length - start);
    buf_printf(b, "formats: %s\n", d->formats);
    add_options(b, d->name);
    add_columns(b, d->name);
    return 0;
}

/* ---- For programs ---------------------------------------------------------------------------- */

static void add_json_options(struct json_out *j, const char *name)
{
    const struct toll_dialect_option *o;
    json_key(j, "options");
    json_array(j);
    for (size_t i = 0; (o = toll_dialect_option_at(name, i)); i++) {
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
    const struct toll_dialect_column *c;
    json_key(j, "columns");
    json_array(j);
    for (size_t i = 0; (c = toll_dialect_column_at(name, i)); i++) {
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

static void add_json_dialect(struct json_out *j, const struct toll_dialect *d)
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

static int as_json(const char *name, struct buf *b)
{
    const struct toll_dialect *d;
    struct json_out j;
    if (name && !dialect_named(name))
        return complain("'%s' is not a dialect; 'toll dialects' lists them", name);
    json_begin(&j, b, 2);
    json_array(&j);
    for (size_t i = 0; (d = toll_dialect_at(i)); i++)
        if (!name || d == dialect_named(name))
            add_json_dialect(&j, d);
    json_array_end(&j);
    buf_putc(b, '\n');
    return 0;
}

int dialects_main(int argc, char **argv)
{
    struct buf b = {0};
    const char *name = NULL;
    bool json = false;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--json") == 0)
            json = true;
        else if (name || argv[i][0] == '-')
            return complain("toll dialects takes --json and the name of one, or nothing");
        else
            name = argv[i];
    }
    int status = 0;
    if (json)
        status = as_json(name, &b);
    else if (name)
        status = show_one(name, &b);
    else
        add_names(&b);
    if (status == 0)
        return print(&b);
    buf_done(&b);
    return status;
}
