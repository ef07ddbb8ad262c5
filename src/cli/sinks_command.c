/* SPDX-License-Identifier: MIT
 * toll sinks: where figures can go, and what can be said about how. */
#include "base/json_out.h"
#include "cli/cli.h"
#include "cli/help.h"

#include <string.h>

enum { COLUMN = 26 };

static void add_format(struct buf *b, const struct toll_format *f)
{
    size_t start = b->length;
    if (*f->suffix)
        buf_printf(b, "FILE%s or ", f->suffix);
    buf_printf(b, "%s:%s  ", f->name, f->place);
    if (b->length - start > COLUMN) {
        b->length -= 2;
        buf_putc(b, '\n');
        start = b->length;
    }
    buf_pad(b, start, COLUMN);
    help_wrap(b, f->help, COLUMN);
}

static void add_options(struct buf *b, const struct toll_format *f)
{
    const struct toll_format_option *o;
    for (size_t i = 0; (o = toll_format_option_at(f, i)); i++) {
        struct buf text = {0};
        size_t start = b->length;
        buf_printf(b, "  ,%s=%s  ", o->name, o->value);
        buf_pad(b, start, COLUMN);
        buf_puts(&text, o->help);
        if (*o->fallback)
            buf_printf(&text, "; %s by default", o->fallback);
        help_wrap(b, text.data ? text.data : "", COLUMN);
        buf_done(&text);
    }
}

static void as_text(struct buf *b, const char *name)
{
    const struct toll_format *f;
    for (size_t i = 0; (f = toll_format_at(i)); i++) {
        if (name && strcmp(name, f->name) != 0)
            continue;
        add_format(b, f);
        add_options(b, f);
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

static void as_json(struct buf *b, const char *name)
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

static bool is_format(const char *name)
{
    const struct toll_format *f;
    for (size_t i = 0; (f = toll_format_at(i)); i++)
        if (strcmp(f->name, name) == 0)
            return true;
    return false;
}

int sinks_main(int argc, char **argv)
{
    struct buf b = {0};
    const char *name = NULL;
    bool json = false;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--json") == 0)
            json = true;
        else if (argv[i][0] == '-' || name)
            return complain("toll sinks takes --json and the name of one of them");
        else
            name = argv[i];
    }
    if (name && !is_format(name))
        return complain("'%s' is not a sink; 'toll sinks' lists them", name);
    if (json)
        as_json(&b, name);
    else
        as_text(&b, name);
    return print(&b);
}
