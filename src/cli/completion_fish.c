/* SPDX-License-Identifier: MIT
 * toll completion fish. */
#include "cli/completion.h"

#include <string.h>

static const char helpers[] =
    "# fish completion of toll\n"
    "function __toll_subcommand # NAME…: is it one of these?\n"
    "    set -l words (commandline -opc)\n"
    "    contains -- \"$words[2]\" $argv\n"
    "end\n"
    "function __toll_first_word # NAME: is the word behind this subcommand being typed?\n"
    "    test (count (commandline -opc)) -eq 2; and __toll_subcommand $argv\n"
    "end\n"
    "function __toll_behind # NAME WORD: is the word behind these being typed?\n"
    "    set -l words (commandline -opc)\n"
    "    test (count $words) -eq 3 -a \"$words[2]\" = $argv[1] -a \"$words[3]\" = $argv[2]\n"
    "end\n"
    "function __toll_rest # the words behind the options; fails while still among these\n"
    "    set -l words (commandline -opc)\n"
    "    set -e words[1..2]\n"
    "    while set -q words[1]\n"
    "        set -l word $words[1]\n"
    "        if not string match -q -- '-?*' $word\n"
    "            string escape -- $words\n"
    "            return 0\n"
    "        end\n"
    "        set -e words[1]\n"
    "        if test $word = --\n"
    "            string escape -- $words\n"
    "            return 0\n"
    "        else if __toll_takes_value $word; and set -q words[1]\n"
    "            set -e words[1]\n"
    "        end\n"
    "    end\n"
    "    return 1\n"
    "end\n"
    "function __toll_command # offers what the measured command would\n"
    "    set -l words (__toll_rest) (commandline -ct)\n"
    "    string match -q -- '-*' $words[1]; or __fish_complete_subcommand --commandline $words\n"
    "end\n"
    "function __toll_pids # or NAME=PID\n"
    "    set -l before (commandline -ct | string replace -r '[^=]*$' '')\n"
    "    printf '%s\\n' $before(__fish_complete_pids)\n"
    "end\n"
    "function __toll_directories\n"
    "    __fish_complete_directories (commandline -ct | string replace -r '^--[^=]*=' '')\n"
    "end\n"
    "function __toll_metric_list # offers metrics, of which several have commas between\n"
    "    set -l typed (commandline -ct | string replace -r '^(--[^=]*=|-.)' '')\n"
    "    set -l before (string trim -l -c '\\'\"' -- $typed | string replace -r '[^,]*$' '')\n"
    "    printf '%s\\n' $before(__toll_metrics)\n"
    "end\n";

/* Text in single quotes. */
static void add_quoted(struct buf *b, const char *text)
{
    buf_putc(b, '\'');
    completion_add_text(b, text, "\\'", "\\");
    buf_putc(b, '\'');
}

static void add_takes_value(struct buf *b)
{
    buf_puts(b, "function __toll_takes_value # WORD: is the next one its value?\n"
                "    string match -qr -- '^(--(");
    completion_add_long(b, ~0U, true, "|");
    buf_puts(b, ")|-[");
    completion_add_letters(b, ~0U, false);
    buf_puts(b, "]*[");
    completion_add_letters(b, ~0U, true);
    buf_puts(b, "])$' $argv[1]\nend\n");
}

static void add_metrics(struct buf *b)
{
    buf_puts(b, "function __toll_metrics\n    printf '%s\\t%s\\n'");
    const struct toll_metric *m;
    for (size_t at = 0; (m = completion_next_metric(&at));) {
        buf_printf(b, " \\\n        %s ", m->name);
        add_quoted(b, m->title);
    }
    buf_puts(b, "\nend\n");
}

/* The subcommands that take an option. */
static void add_takers(struct buf *b, const struct option *o)
{
    for (const struct subcommand *s = subcommands; s->name; s++)
        if (s->options & o->modes)
            buf_printf(b, " %s", s->name);
}

/* Behind the first word all belongs to the command that is run; others take options anywhere but
 * behind --. */
static void add_accepts(struct buf *b)
{
    buf_puts(b, "function __toll_accepts # NAME…: may an option of one of these stand here?\n"
                "    __toll_subcommand $argv; or return 1\n"
                "    if __toll_subcommand");
    for (const struct subcommand *s = subcommands; s->name; s++)
        if (completion_arguments(s) == ARGUMENTS_COMMAND)
            buf_printf(b, " %s", s->name);
    buf_puts(b, "\n        not __toll_rest >/dev/null\n"
                "    else\n        not contains -- -- (commandline -opc)\n    end\nend\n");
}

static void add_choices(struct buf *b, const char *choices)
{
    /* A text of its own for each, an empty one: else the help of the option stands there. */
    buf_puts(b, " -x -a '");
    for (const char *c = choices; *c; c++)
        buf_puts(b, *c == ' ' ? "\\t " : (char[]){*c, '\0'});
    buf_puts(b, "\\t'");
}

static void add_formats(struct buf *b)
{
    struct buf names = {0};
    completion_add_formats(&names, " ");
    add_choices(b, names.data ? names.data : "");
    buf_done(&names);
}

static void add_option(struct buf *b, const struct option *o)
{
    buf_puts(b, "complete -c toll -n '__toll_accepts");
    add_takers(b, o);
    buf_printf(b, "' -l %s", o->name);
    if (o->letter)
        buf_printf(b, " -s %c", o->letter);
    switch (completion_value(o)) {
    case VALUE_NONE: break;
    case VALUE_CHOICE: add_choices(b, o->choices); break;
    case VALUE_FORMAT: add_formats(b); break;
    case VALUE_DIALECT:
        buf_puts(b, " -x -a '");
        completion_add_dialects(b, " ");
        buf_putc(b, '\'');
        break;
    case VALUE_DIRECTORY: buf_puts(b, " -x -a '(__toll_directories)'"); break;
    case VALUE_USER: buf_puts(b, " -x -a '(__fish_complete_users)'"); break;
    case VALUE_METRICS: buf_puts(b, " -x -a '(__toll_metric_list)'"); break;
    case VALUE_FILE: buf_puts(b, " -r -F"); break;
    case VALUE_OTHER: buf_puts(b, " -x"); break;
    }
    buf_puts(b, " -d ");
    add_quoted(b, o->help);
    buf_putc(b, '\n');
}

static void add_arguments(struct buf *b, const struct subcommand *s)
{
    switch (completion_arguments(s)) {
    case ARGUMENTS_COMMAND:
        buf_printf(b, "complete -c toll -n '__toll_subcommand %s' -a '(__toll_command)'\n",
                   s->name);
        break;
    case ARGUMENTS_FILE:
        buf_printf(b, "complete -c toll -n '__toll_subcommand %s' -F\n", s->name);
        break;
    case ARGUMENTS_PIDS:
        buf_printf(b, "complete -c toll -n '__toll_subcommand %s' -a '(__toll_pids)'\n", s->name);
        break;
    case ARGUMENTS_NONE: break;
    case ARGUMENTS_WORDS:
        buf_printf(b, "complete -c toll -n '__toll_first_word %s' -a '", s->name);
        completion_add_words(b, s, " ");
        buf_puts(b, "'\n");
        char word[32];
        const char *next;
        if (completion_then(s, word, sizeof word, &next))
            buf_printf(b, "complete -c toll -n '__toll_behind %s %s' -a '%s'\n", s->name, word,
                       next);
        break;
    }
}

void completion_fish(struct buf *b)
{
    buf_puts(b, helpers);
    add_takes_value(b);
    add_accepts(b);
    add_metrics(b);
    buf_puts(b, "complete -c toll -f\n");
    for (const struct subcommand *s = subcommands; s->name; s++) {
        if (!s->hidden) {
            buf_printf(b, "complete -c toll -n __fish_use_subcommand -a %s -d ", s->name);
            add_quoted(b, s->help);
            buf_putc(b, '\n');
        }
        add_arguments(b, s);
    }
    for (const char *const *name = (const char *const[]){"help", "version", NULL}; *name; name++)
        buf_printf(b, "complete -c toll -n __fish_use_subcommand -l %s\n", *name);
    for (const struct option *o = options; o->name; o++)
        add_option(b, o);
}
