/* SPDX-License-Identifier: MIT
 * toll help: made from the tables of subcommands and options. */
#include "cli/cli.h"

#include "base/text/buf.h"
#include "cli/options.h"

#include <stdio.h>
#include <string.h>

enum { COLUMN = 30, OVERVIEW = 44, GAP = 1, WIDTH = 79 };

void help_wrap(struct buf *b, const char *text, size_t column)
{
    size_t at = column;
    while (*text) {
        size_t word = strcspn(text, " ");
        if (at + word > WIDTH && at > column) {
            buf_putc(b, '\n');
            buf_pad(b, b->length, column);
            at = column;
        }
        if (at > column)
            buf_putc(b, ' ');
        buf_add(b, text, word);
        at += word + 1;
        text += word;
        text += strspn(text, " ");
    }
    buf_putc(b, '\n');
}

void help_line(struct buf *b, const char *left, const char *text, size_t column)
{
    size_t start = b->length;
    buf_puts(b, left);
    if (b->length - start + GAP > column) {
        buf_putc(b, '\n');
        start = b->length;
    }
    buf_pad(b, start, column);
    help_wrap(b, text, column);
}

/* A line is a paragraph; one that begins with blanks stays as it is. */
static void add_paragraphs(struct buf *b, const char *text)
{
    while (*text) {
        size_t length = strcspn(text, "\n");
        struct buf line = {0};
        buf_add(&line, text, length);
        if (*text == ' ' || !length || buf_failed(&line))
            buf_add(b, text, length), buf_putc(b, '\n');
        else
            help_wrap(b, line.data, 0);
        buf_done(&line);
        text += length + (text[length] == '\n');
    }
}

static void add_accepted(struct buf *b, const struct option *o)
{
    buf_puts(b, o->help);
    if (!o->choices)
        return;
    buf_puts(b, ": ");
    bool first = true;
    for (const char *c = o->choices; *c; c++) {
        if (*c == ' ' && first)
            buf_puts(b, " (the default)");
        first &= *c != ' ';
        buf_puts(b, *c == ' ' ? " | " : (char[]){*c, '\0'});
    }
}

static void help_add_option(struct buf *b, const struct option *o)
{
    struct buf left = {0}, text = {0};
    if (o->letter)
        buf_printf(&left, "  -%c, --%s", o->letter, o->name);
    else
        buf_printf(&left, "      --%s", o->name);
    if (o->value)
        buf_printf(&left, " %s", o->value);
    add_accepted(&text, o);
    if (!buf_failed(&left) && !buf_failed(&text))
        help_line(b, left.data, text.data, COLUMN);
    buf_done(&left);
    buf_done(&text);
}

int help_subcommand(const char *name)
{
    const struct subcommand *s = subcommand_by_name(name);
    if (!s)
        return complain("'%s' is not a subcommand; 'toll help' lists them", name);
    struct buf b = {0};
    buf_printf(&b, "usage: toll %s %s\n\n%s\n", s->name, s->arguments, s->help);
    if (s->more) {
        buf_putc(&b, '\n');
        add_paragraphs(&b, s->more);
    }
    if (s->main == doctor_main)
        doctor_add_help(&b);
    if (s->options) {
        buf_puts(&b, "\n");
        for (const struct option *o = options; o->name; o++)
            if (o->modes & s->options)
                help_add_option(&b, o);
    }
    if (s->options & FOR_MEASURING)
        buf_puts(&b, "\nAn option may also be given as a variable (TOLL_INTERVAL=1s) or in a "
                     "file\nthat --config names (interval = 1s). The command line wins over the "
                     "variable,\nthe variable over the file.\n");
    return print(&b);
}

static int help_overview(void)
{
    struct buf b = {0};
    buf_puts(&b, "toll tells what a job cost.\n\n");
    for (const struct subcommand *s = subcommands; s->name; s++) {
        if (s->hidden)
            continue;
        struct buf left = {0};
        buf_printf(&left, "  toll %s %s", s->name, s->arguments);
        if (!buf_failed(&left))
            help_line(&b, left.data, s->help, OVERVIEW);
        buf_done(&left);
    }
    buf_puts(&b, "\n  toll run -- make -j4                 what did it use?\n"
                 "  toll run -o run.csv -- ./train.sh    with a curve\n"
                 "  toll attach 1234                     what does it use, line by line?\n"
                 "  toll system                          … and the whole machine?\n"
                 "  toll export run.jsonl -o run.csv     the same in another format\n\n"
                 "'toll help run', 'toll help attach' and so on list the options; the manual is\n"
                 "toll(1).\n");
    return print(&b);
}

/* ---- The options for the man page ------------------------------------------------------------ */

static void add_roff(struct buf *b, const char *text)
{
    for (; *text; text++)
        if (*text == '-')
            buf_puts(b, "\\-");
        else if (*text == '\\')
            buf_puts(b, "\\e");
        else
            buf_putc(b, *text);
}

/* "Only for toll run and toll attach." unless it is for all that measure. */
static void add_modes(struct buf *b, const struct option *o)
{
    unsigned left = o->modes;
    if ((left & FOR_MEASURING) == FOR_MEASURING)
        return;
    const char *before = "Only for";
    for (const struct subcommand *s = subcommands; s->name && left; s++) {
        if (!(s->options & left))
            continue;
        left &= ~s->options;
        buf_printf(b, "%s\n.B toll %s\n", before, s->name);
        before = "and";
    }
    b->length--; /* the full stop is on the last line, not in bold */
    buf_puts(b, "\\fR.\n");
}

static int options_for_man(void)
{
    struct buf b = {0};
    for (const struct option *o = options; o->name; o++) {
        buf_puts(&b, ".TP\n");
        buf_puts(&b, "\\fB");
        if (o->letter)
            buf_printf(&b, "\\-%c\\fR, \\fB", o->letter);
        buf_puts(&b, "\\-\\-");
        add_roff(&b, o->name);
        buf_puts(&b, "\\fR");
        if (o->value) {
            buf_puts(&b, " \\fI");
            add_roff(&b, o->value);
            buf_puts(&b, "\\fR");
        }
        buf_putc(&b, '\n');
        struct buf text = {0};
        add_accepted(&text, o);
        if (text.data)
            add_roff(&b, text.data);
        buf_done(&text);
        if (!o->command_line_only) {
            char variable[64];
            option_variable(o, variable, sizeof variable);
            buf_printf(&b, " (%s)", variable);
        }
        if (o->kind == OPTION_LIST)
            buf_puts(&b, ". May be repeated");
        buf_puts(&b, ".\n");
        add_modes(&b, o);
    }
    return print(&b);
}

int help_main(int argc, char **argv)
{
    if (argc > 2)
        return complain("toll help takes one subcommand, or nothing");
    if (argc == 2 && strcmp(argv[1], "--man") == 0)
        return options_for_man();
    return argc == 2 ? help_subcommand(argv[1]) : help_overview();
}
