/* SPDX-License-Identifier: MIT
 * toll completion zsh: as a file _toll in fpath, or read by source. */
#include "cli/completion.h"

/* Words for _describe: 'name:text'. */
static void add_described(struct buf *b, const char *name, const char *text)
{
    buf_printf(b, "        '%s:", name);
    completion_add_text(b, text, "'\\''", "\\:");
    buf_puts(b, "'\n");
}

static void add_metrics(struct buf *b)
{
    buf_puts(b, "_toll_metrics() {\n    local -a metrics=(\n");
    const struct toll_metric *m;
    for (size_t at = 0; (m = completion_next_metric(&at));)
        add_described(b, m->name, m->title);
    /* A comma behind each, which goes when something else than a further name is typed. */
    buf_puts(b, "    )\n    compset -P '*,'\n"
                "    _describe -t metrics metric metrics -S , -r $', \\t\\n\\'\"\\\\-'\n}\n");
}

static void add_subcommands(struct buf *b)
{
    buf_puts(b, "_toll_subcommands() {\n    local -a subcommands=(\n");
    for (const struct subcommand *s = subcommands; s->name; s++)
        if (!s->hidden)
            add_described(b, s->name, s->help);
    buf_puts(b, "    )\n    _describe -t commands subcommand subcommands\n"
                "    [[ $PREFIX == -* ]] && compadd -- --help --version\n}\n");
}

/* One way to write an option, as _arguments wants it. */
static void add_spelling(struct buf *b, const struct option *o, bool letter)
{
    buf_puts(b, "        '");
    if (o->list)
        buf_putc(b, '*');
    else if (o->letter)
        buf_printf(b, "(-%c --%s)", o->letter, o->name);
    if (letter)
        buf_printf(b, "-%c%s[", o->letter, o->value ? "+" : "");
    else
        buf_printf(b, "--%s%s[", o->name, o->value ? "=" : "");
    completion_add_text(b, o->help, "'\\''", "\\[]:");
    buf_putc(b, ']');
    switch (completion_value(o)) {
    case VALUE_NONE: break;
    case VALUE_CHOICE: buf_printf(b, ":%s:(%s)", o->value, o->choices); break;
    case VALUE_FORMAT:
        buf_printf(b, ":%s:(", o->value);
        completion_add_formats(b, " ");
        buf_putc(b, ')');
        break;
    case VALUE_DIALECT:
        buf_puts(b, ":dialect:(");
        completion_add_dialects(b, " ");
        buf_putc(b, ')');
        break;
    case VALUE_METRICS: buf_puts(b, ":metric:_toll_metrics"); break;
    case VALUE_FILE: buf_puts(b, ":file:_files"); break;
    case VALUE_DIRECTORY: buf_puts(b, ":directory:_directories"); break;
    case VALUE_USER: buf_puts(b, ":user:_users"); break;
    case VALUE_OTHER: buf_printf(b, ":%s: ", o->value); break;
    }
    buf_puts(b, "' \\\n");
}

/* What stands behind the options, as _arguments wants it. */
static const char *behind(enum completion_arguments arguments)
{
    switch (arguments) {
    case ARGUMENTS_COMMAND:
        return "'(-)1:command: _command_names -e' '*::arguments: _toll_command'";
    case ARGUMENTS_FILE: return "'*:file:_files'";
    case ARGUMENTS_PIDS: return "'*:process: _toll_pids'";
    default: return "";
    }
}

static void add_options(struct buf *b, const struct subcommand *s)
{
    buf_puts(b, "_arguments -s -S \\\n");
    for (const struct option *o = options; o->name; o++) {
        if (!(o->modes & s->options))
            continue;
        add_spelling(b, o, false);
        if (o->letter)
            add_spelling(b, o, true);
    }
    buf_printf(b, "        %s ;;\n", behind(completion_arguments(s)));
}

/* With their names; NAME=PID names one anew. */
static const char pids[] = "_toll_pids() {\n"
                           "    local -a pids\n"
                           "    local directory name\n"
                           "    for directory in /proc/<->(N); do\n"
                           "        { read -r name <$directory/comm } 2>/dev/null || continue\n"
                           "        pids+=(\"${directory:t}:\"${name//:/\\\\:})\n"
                           "    done\n"
                           "    compset -P '*='\n"
                           "    _describe -t processes process pids\n"
                           "}\n";

/* _arguments counts a -- among the words of the command. */
static const char command[] = "_toll_command() {\n"
                              "    [[ $words[1] == -- ]] && { shift words; (( CURRENT-- )) }\n"
                              "    _normal\n"
                              "}\n";

void completion_zsh(struct buf *b)
{
    buf_puts(b, "#compdef toll\n");
    add_metrics(b);
    add_subcommands(b);
    buf_puts(b, pids);
    buf_puts(b, command);
    buf_puts(b, "_toll() {\n"
                "    if (( CURRENT == 2 )); then\n        _toll_subcommands\n        return\n"
                "    fi\n"
                "    shift words\n    (( CURRENT-- ))\n    case $words[1] in\n");
    for (const struct subcommand *s = subcommands; s->name; s++) {
        buf_printf(b, "    %s) ", s->name);
        if (completion_arguments(s) != ARGUMENTS_WORDS) {
            add_options(b, s);
            continue;
        }
        char word[32];
        const char *next;
        if (completion_then(s, word, sizeof word, &next))
            buf_printf(b, "(( CURRENT == 3 )) && [[ $words[2] == %s ]] && compadd -- %s\n        ",
                       word, next);
        buf_puts(b, "(( CURRENT == 2 )) && compadd -- ");
        completion_add_words(b, s, " ");
        buf_puts(b, " ;;\n");
    }
    buf_puts(b, "    esac\n}\n"
                "if [[ $funcstack[1] == _toll ]]; then\n    _toll \"$@\"\n"
                "else\n    compdef _toll toll\nfi\n");
}
