/* SPDX-License-Identifier: MIT
 * toll completion: scripts for shells, made from the tables. */
#include "base/buf.h"
#include "cli/options.h"

#include <stdio.h>
#include <string.h>

static void add_subcommands(struct buf *b, const char *between)
{
    bool first = true;
    for (const struct subcommand *s = subcommands; s->name; s++) {
        if (s->hidden)
            continue;
        buf_printf(b, "%s%s", first ? "" : between, s->name);
        first = false;
    }
}

static void add_metrics(struct buf *b)
{
    const struct toll_metric *m;
    for (size_t i = 0; (m = toll_metric_at(i)); i++)
        buf_printf(b, "%s%s", i ? " " : "", m->name);
}

/* Text between single quotes of a shell. */
static void add_quoted(struct buf *b, const char *text, const char *quote)
{
    for (; *text; text++)
        if (*text == '\'')
            buf_puts(b, quote);
        else
            buf_putc(b, *text);
}

static void add_bash(struct buf *b)
{
    buf_puts(b, "# bash completion of toll\n_toll()\n{\n"
                "    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} i\n"
                "    if ((COMP_CWORD == 1)); then\n"
                "        COMPREPLY=($(compgen -W '");
    add_subcommands(b, " ");
    buf_puts(b, " --help --version' -- \"$cur\"))\n        return\n    fi\n"
                "    [[ ${COMP_WORDS[1]} == run ]] || return\n    case $prev in\n");
    for (const struct option *o = options; o->name; o++) {
        if (!o->value)
            continue;
        buf_printf(b, "    --%s", o->name);
        if (o->letter)
            buf_printf(b, "|-%c", o->letter);
        buf_puts(b, ") ");
        if (o->choices)
            buf_printf(b, "COMPREPLY=($(compgen -W '%s' -- \"$cur\"))", o->choices);
        else if (strcmp(o->name, "metrics") == 0) {
            buf_puts(b, "COMPREPLY=($(compgen -W '");
            add_metrics(b);
            buf_puts(b, "' -- \"$cur\"))");
        } else if (strstr(o->value, "FILE"))
            buf_puts(b, "COMPREPLY=($(compgen -f -- \"$cur\"))");
        else
            buf_puts(b, "COMPREPLY=()");
        buf_puts(b, "; return ;;\n");
    }
    buf_puts(b, "    esac\n    for ((i = 2; i < COMP_CWORD; i++)); do\n"
                "        case ${COMP_WORDS[i]} in\n        --) break ;;\n        -*) ;;\n"
                "        *) case ${COMP_WORDS[i-1]} in ");
    bool first = true;
    for (const struct option *o = options; o->name; o++) {
        if (!o->value)
            continue;
        buf_printf(b, "%s--%s", first ? "" : "|", o->name);
        if (o->letter)
            buf_printf(b, "|-%c", o->letter);
        first = false;
    }
    buf_puts(b, ") ;; *) break ;; esac ;;\n        esac\n    done\n"
                "    if ((i < COMP_CWORD)) || [[ $cur != -* ]]; then\n"
                "        if ((i < COMP_CWORD)); then COMPREPLY=($(compgen -f -- \"$cur\"))\n"
                "        else COMPREPLY=($(compgen -c -- \"$cur\")); fi\n        return\n    fi\n"
                "    COMPREPLY=($(compgen -W '");
    for (const struct option *o = options; o->name; o++)
        buf_printf(b, "--%s ", o->name);
    buf_puts(b, "' -- \"$cur\"))\n}\ncomplete -o filenames -F _toll toll\n");
}

static void add_zsh(struct buf *b)
{
    buf_puts(b, "#compdef toll\n_toll() {\n    if (( CURRENT == 2 )); then\n"
                "        compadd -- ");
    add_subcommands(b, " ");
    buf_puts(b, "\n        return\n    fi\n    [[ ${words[2]} == run ]] || return\n"
                "    shift words; (( CURRENT-- ))\n    _arguments -S \\\n");
    for (const struct option *o = options; o->name; o++) {
        const char *star = o->list ? "*" : "";
        for (int letter = 0; letter <= (o->letter != 0); letter++) {
            if (letter)
                buf_printf(b, "        '%s-%c%s[", star, o->letter, o->value ? "+" : "");
            else
                buf_printf(b, "        '%s--%s%s[", star, o->name, o->value ? "=" : "");
            for (const char *c = o->help; *c; c++)
                if (*c == '\'')
                    buf_puts(b, "'\\''");
                else if (*c == '[' || *c == ']' || *c == ':')
                    buf_printf(b, "\\%c", *c);
                else
                    buf_putc(b, *c);
            buf_puts(b, "]");
            if (o->choices)
                buf_printf(b, ":%s:(%s)", o->value, o->choices);
            else if (o->value && strstr(o->value, "FILE"))
                buf_puts(b, ":file:_files");
            else if (o->value)
                buf_puts(b, ":value: ");
            buf_puts(b, "' \\\n");
        }
    }
    buf_puts(b, "        '(-)1:command: _command_names -e' '*::arguments: _normal'\n}\n"
                "_toll \"$@\"\n");
}

static void add_fish(struct buf *b)
{
    buf_puts(b, "# fish completion of toll\ncomplete -c toll -n __fish_use_subcommand -f\n");
    for (const struct subcommand *s = subcommands; s->name; s++)
        if (!s->hidden)
            buf_printf(b, "complete -c toll -n __fish_use_subcommand -f -a %s -d '%s'\n", s->name,
                       s->help);
    for (const struct option *o = options; o->name; o++) {
        buf_printf(b, "complete -c toll -n '__fish_seen_subcommand_from run' -l %s", o->name);
        if (o->letter)
            buf_printf(b, " -s %c", o->letter);
        if (o->choices)
            buf_printf(b, " -x -a '%s'", o->choices);
        else if (o->value)
            buf_puts(b, strstr(o->value, "FILE") ? " -r" : " -x");
        buf_puts(b, " -d '");
        add_quoted(b, o->help, "\\'");
        buf_puts(b, "'\n");
    }
}

int completion_main(int argc, char **argv)
{
    struct buf b = {0};
    if (argc == 2 && strcmp(argv[1], "bash") == 0)
        add_bash(&b);
    else if (argc == 2 && strcmp(argv[1], "zsh") == 0)
        add_zsh(&b);
    else if (argc == 2 && strcmp(argv[1], "fish") == 0)
        add_fish(&b);
    else
        return complain("toll completion takes bash, zsh or fish");
    return print(&b);
}
