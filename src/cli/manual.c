/* SPDX-License-Identifier: MIT
 * toll help --man SUBCOMMAND: the parts of the manual pages that are made from tables, as man(7)
 * markup. The build inserts them into the pages in man/. */
#include "cli/cli.h"
#include "cli/options.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

static void manual_add_text(struct buf *b, const char *text)
{
    for (; *text; text++)
        if (*text == '-')
            buf_puts(b, "\\-");
        else if (*text == '\\')
            buf_puts(b, "\\e");
        else if (*text == *FIXED_BLANK)
            buf_puts(b, "\\ ");
        else
            buf_putc(b, *text);
}

/* A paragraph of one line, with a capital first unless that is a name or a value, and a full stop.
 */
static void manual_add_sentence(struct buf *b, const char *text)
{
    size_t word = strspn(text, "abcdefghijklmnopqrstuvwxyz");
    bool is_word = text[word] == ' ' || text[word] == ',' || !text[word];
    buf_puts(b, "\\&"); /* whatever it begins with, it is no request */
    if (word && is_word)
        buf_putc(b, (char)toupper((unsigned char)*text++));
    manual_add_text(b, text);
    buf_puts(b, ".\n");
}

/* ---- Options of a subcommand ---------------------------------------------------------------- */

static void manual_add_option(struct buf *b, const struct option *o)
{
    struct buf text = {0};
    buf_puts(b, ".TP\n\\fB");
    if (o->letter)
        buf_printf(b, "\\-%c\\fR, \\fB", o->letter);
    buf_puts(b, "\\-\\-");
    manual_add_text(b, o->name);
    buf_puts(b, "\\fR");
    if (o->value) {
        buf_puts(b, " \\fI");
        for (const char *c = o->choices ? o->choices : o->value; *c; c++)
            manual_add_text(b, *c == ' ' && o->choices ? "|" : (char[]){*c, '\0'});
        buf_puts(b, "\\fR");
    }
    buf_putc(b, '\n');
    help_add_option_text(&text, o);
    if (!buf_failed(&text))
        manual_add_sentence(b, text.data);
    buf_done(&text);
}

static void manual_add_options(struct buf *b, unsigned modes)
{
    for (enum option_group group = 0; group < OPTION_GROUPS; group++) {
        const char *heading = help_group_heading(group, modes);
        for (const struct option *o = options; o->name; o++) {
            if (!(o->modes & modes) || o->group != group)
                continue;
            if (heading)
                buf_printf(b, ".SS %s\n", heading);
            heading = NULL;
            manual_add_option(b, o);
        }
    }
}

/* ---- Checks of toll doctor ------------------------------------------------------------------ */

static void manual_add_checks(struct buf *b)
{
    const struct toll_check *c;
    buf_puts(b, ".SH CHECKS\nThose marked with * are needed by every job.\n");
    for (size_t i = 0; (c = toll_check_at(i)); i++) {
        buf_puts(b, i ? ".TQ\n.B " : ".TP 16n\n.B ");
        manual_add_text(b, c->name);
        buf_puts(b, c->essential ? " *\n" : "\n");
        manual_add_sentence(b, c->title);
    }
}

/* ---- Formats and destinations --------------------------------------------------------------- */

/* An option that this many formats describe in the same words is described once for all. */
enum { SHARED_BY = 3 };

static const struct toll_format_option *format_option(const struct toll_format *f, const char *name)
{
    const struct toll_format_option *o;
    for (size_t i = 0; (o = toll_format_option_at(f, i)); i++)
        if (strcmp(o->name, name) == 0)
            return o;
    return NULL;
}

/* Whether an option is described once for all; *ret_first: where it occurs first. */
static bool format_option_is_shared(const struct toll_format_option *o,
                                    const struct toll_format_option **ret_first)
{
    const struct toll_format *f;
    size_t same = 0;
    *ret_first = NULL;
    for (size_t i = 0; (f = toll_format_at(i)); i++) {
        const struct toll_format_option *other = format_option(f, o->name);
        if (!other || strcmp(other->help, o->help) != 0)
            continue;
        if (!same++)
            *ret_first = other;
    }
    return same >= SHARED_BY;
}

static void manual_add_format_option(struct buf *b, const struct toll_format_option *o,
                                     bool has_default)
{
    struct buf text = {0};
    buf_puts(b, ".TP\n\\fB,");
    manual_add_text(b, o->name);
    buf_puts(b, "=\\fI");
    manual_add_text(b, o->value);
    buf_puts(b, "\\fR\n");
    buf_puts(&text, o->help);
    if (has_default && *o->fallback)
        buf_printf(&text, " (default: %s)", o->fallback);
    if (!buf_failed(&text))
        manual_add_sentence(b, text.data);
    buf_done(&text);
}

static void manual_add_format(struct buf *b, const struct toll_format *f)
{
    const struct toll_format_option *o, *first;
    buf_puts(b, ".TP\n");
    if (*f->suffix)
        buf_printf(b, "\\fIFILE\\fB%s\\fR, ", f->suffix);
    buf_puts(b, "\\fB");
    manual_add_text(b, f->name);
    buf_puts(b, ":\\fI");
    manual_add_text(b, f->place);
    buf_puts(b, "\\fR\n");
    manual_add_sentence(b, f->help);
    if (toll_format_option_at(f, 0))
        buf_puts(b, ".RS\n");
    for (size_t i = 0; (o = toll_format_option_at(f, i)); i++)
        if (!format_option_is_shared(o, &first))
            manual_add_format_option(b, o, true);
    const char *before = ".PP\nAlso:\n";
    for (size_t i = 0; (o = toll_format_option_at(f, i)); i++) {
        if (!format_option_is_shared(o, &first))
            continue;
        buf_printf(b, "%s\\fB%s\\fR", before, o->name);
        if (*o->fallback)
            buf_printf(b, " (%s)", o->fallback);
        before = ",\n";
    }
    if (*before == ',')
        buf_puts(b, ".\n");
    if (toll_format_option_at(f, 0))
        buf_puts(b, ".RE\n");
}

static void manual_add_formats(struct buf *b)
{
    const struct toll_format *f;
    const struct toll_format_option *o, *first;
    for (size_t i = 0; (f = toll_format_at(i)); i++)
        manual_add_format(b, f);
    buf_puts(b, ".SS Options that several destinations have\n"
                "The default is in parentheses after \"Also\" above.\n");
    for (size_t i = 0; (f = toll_format_at(i)); i++)
        for (size_t k = 0; (o = toll_format_option_at(f, k)); k++)
            if (format_option_is_shared(o, &first) && o == first)
                manual_add_format_option(b, o, false);
}

int manual_print(const char *name)
{
    const struct subcommand *s = subcommand_by_name(name);
    struct buf b = {0};
    if (!s)
        return complain("help: unknown command '%s'; see 'toll help --all'", name);
    if (s->main == outputs_main)
        manual_add_formats(&b);
    else
        manual_add_options(&b, s->options);
    if (s->main == doctor_main)
        manual_add_checks(&b);
    return print(&b);
}
