/* SPDX-License-Identifier: MIT
 * Completions of gpu-tracker, from the table of its options. */
#include "cli/completion.h"
#include "cli/gpu_tracker/options.h"

#include <string.h>

#define SUB_TASKS "combine analyze compare"

static const struct {
    unsigned task;
    const char *word;
} tasks[] = {
    {TASK_EXECUTE, "execute"},
    {TASK_COMBINE, "combine"},
    {TASK_ANALYZE, "analyze"},
    {TASK_COMPARE, "compare"},
};

static const struct tracker_option *gpu_tracker_completion_next_option(size_t *at, unsigned task)
{
    while (*at < tracker_option_count) {
        const struct tracker_option *o = &tracker_options[(*at)++];
        if ((o->name || o->letter) && (o->tasks & task))
            return o;
    }
    return NULL;
}

static bool takes_file(const struct tracker_option *o)
{
    return strstr(o->value, "file") || strstr(o->value, "output");
}

static bool takes_command(const struct tracker_option *o)
{
    return strstr(o->value, "command");
}

/* ---- bash ------------------------------------------------------------------------------------ */

/* readline cuts words at = too, where it is told to. */
static const char bash_words[] =
    "# bash completion of gpu-tracker\n"
    "_gpu_tracker()\n"
    "{\n"
    "    local typed=${COMP_WORDS[COMP_CWORD]} option=${COMP_WORDS[COMP_CWORD - 1]}\n"
    "    local before='' task=execute words=''\n"
    "    COMPREPLY=()\n"
    "    if [[ $typed == = ]]; then\n"
    "        typed=''\n"
    "    elif [[ $option == = ]]; then\n"
    "        option=${COMP_WORDS[COMP_CWORD - 2]}\n"
    "    elif [[ $typed == --*=* ]]; then\n"
    "        option=${typed%%=*} before=${typed%%=*}= typed=${typed#*=}\n"
    "    fi\n"
    "    ((COMP_CWORD > 2)) && [[ ${COMP_WORDS[1]} == sub-track ]] && task=${COMP_WORDS[2]}\n"
    "    case $option in\n";

static void add_bash_value(struct buf *b, const struct tracker_option *o)
{
    buf_puts(b, "    ");
    if (o->letter)
        buf_printf(b, o->name ? "-%c | " : "-%c", o->letter);
    if (o->name)
        buf_printf(b, "--%s", o->name);
    buf_puts(b, ")\n");
    if (o->choices)
        buf_printf(b, "        words='%s'\n", o->choices);
    else if (takes_file(o))
        buf_puts(b, "        [[ $before ]] || compopt -o default\n        return\n");
    else if (takes_command(o))
        buf_puts(b, "        mapfile -t COMPREPLY < <(compgen -P \"$before\" -c -- \"$typed\")\n"
                    "        return\n");
    else
        buf_puts(b, "        return\n");
    buf_puts(b, "        ;;\n");
}

static void add_bash_names(struct buf *b, unsigned task)
{
    const struct tracker_option *o;
    for (size_t at = 0; (o = gpu_tracker_completion_next_option(&at, task));) {
        if (o->name)
            buf_printf(b, " --%s", o->name);
        else
            buf_printf(b, " -%c", o->letter);
    }
}

void gpu_tracker_completion_bash(struct buf *b)
{
    const struct tracker_option *o;
    buf_puts(b, bash_words);
    for (size_t at = 0; (o = gpu_tracker_completion_next_option(&at, ~0U));)
        if (o->value)
            add_bash_value(b, o);
    buf_puts(b, "    sub-track)\n        words='" SUB_TASKS "'\n        ;;\n    esac\n"
                "    if [[ ! $words && $typed == -* ]]; then\n        case $task in\n");
    for (size_t i = 0; i < ARRAY_LEN(tasks); i++) {
        buf_printf(b, "        %s) words='--help --version", tasks[i].word);
        add_bash_names(b, tasks[i].task);
        buf_puts(b, "' ;;\n");
    }
    buf_puts(b, "        esac\n"
                "    elif [[ ! $words ]] && ((COMP_CWORD == 1)); then\n"
                "        words=sub-track\n"
                "    fi\n"
                "    mapfile -t COMPREPLY < <(compgen -P \"$before\" -W \"$words\" -- \"$typed\")\n"
                "}\n"
                "complete -F _gpu_tracker gpu-tracker\n");
}

/* ---- zsh ------------------------------------------------------------------------------------- */

static void add_zsh_option(struct buf *b, const struct tracker_option *o)
{
    const char *ends = o->value ? "=" : "";
    buf_puts(b, " \\\n        ");
    if (o->name && o->letter)
        buf_printf(b, "'(-%c --%s)'{-%c+,--%s%s}'", o->letter, o->name, o->letter, o->name, ends);
    else if (o->name)
        buf_printf(b, "'--%s%s", o->name, ends);
    else
        buf_printf(b, "'*-%c+", o->letter);
    buf_putc(b, '[');
    completion_add_text(b, o->help, "'\\''", "[]:");
    buf_putc(b, ']');
    if (o->value) {
        buf_putc(b, ':');
        buf_add(b, o->value + 1, strcspn(o->value, ">") - 1);
        buf_putc(b, ':');
    }
    if (o->choices)
        buf_printf(b, "(%s)", o->choices);
    else if (o->value && takes_file(o))
        buf_puts(b, "_files");
    else if (o->value && takes_command(o))
        buf_puts(b, "_command_names -e");
    buf_putc(b, '\'');
}

void gpu_tracker_completion_zsh(struct buf *b)
{
    const struct tracker_option *o;
    buf_puts(b, "#compdef gpu-tracker\n"
                "local task=execute\n"
                "(( CURRENT > 3 )) && [[ $words[2] == sub-track ]] && task=$words[3]\n"
                "case $task in\n");
    for (size_t i = 0; i < ARRAY_LEN(tasks); i++) {
        buf_printf(b,
                   "%s)\n    _arguments '(- *)'{-h,--help}'[help]' "
                   "'(- *)'{-v,--version}'[version]'",
                   tasks[i].word);
        for (size_t at = 0; (o = gpu_tracker_completion_next_option(&at, tasks[i].task));)
            add_zsh_option(b, o);
        buf_puts(b, " \\\n        '1:task:(sub-track)' '2:task:(" SUB_TASKS ")' ;;\n");
    }
    buf_puts(b, "esac\n");
}

/* ---- fish ------------------------------------------------------------------------------------ */

static void add_fish_condition(struct buf *b, unsigned of)
{
    if (of & TASK_EXECUTE)
        buf_puts(b, "not __fish_seen_subcommand_from sub-track");
    if ((of & TASK_EXECUTE) && (of & ~TASK_EXECUTE))
        buf_puts(b, "; or ");
    if (of & ~TASK_EXECUTE)
        buf_puts(b, "__fish_seen_subcommand_from");
    for (size_t i = 1; i < ARRAY_LEN(tasks); i++)
        if (of & tasks[i].task)
            buf_printf(b, " %s", tasks[i].word);
}

static void add_fish_option(struct buf *b, const struct tracker_option *o)
{
    buf_puts(b, "complete -c gpu-tracker -n '");
    add_fish_condition(b, o->tasks);
    buf_putc(b, '\'');
    if (o->letter)
        buf_printf(b, " -s %c", o->letter);
    if (o->name)
        buf_printf(b, " -l %s", o->name);
    if (o->choices)
        buf_printf(b, " -x -a '%s'", o->choices);
    else if (o->value && takes_file(o))
        buf_puts(b, " -r -F");
    else if (o->value && takes_command(o))
        buf_puts(b, " -x -a '(__fish_complete_command)'");
    else if (o->value)
        buf_puts(b, " -x");
    buf_puts(b, " -d '");
    completion_add_text(b, o->help, "\\'", "\\");
    buf_puts(b, "'\n");
}

void gpu_tracker_completion_fish(struct buf *b)
{
    const struct tracker_option *o;
    buf_puts(b, "# fish completion of gpu-tracker\n"
                "complete -c gpu-tracker -f\n"
                "complete -c gpu-tracker -s h -l help -d help\n"
                "complete -c gpu-tracker -s v -l version -d version\n"
                "complete -c gpu-tracker -n __fish_use_subcommand -a sub-track\n"
                "complete -c gpu-tracker -n '__fish_seen_subcommand_from sub-track; and not "
                "__fish_seen_subcommand_from " SUB_TASKS "' -a '" SUB_TASKS "'\n");
    for (size_t at = 0; (o = gpu_tracker_completion_next_option(&at, ~0U));)
        add_fish_option(b, o);
}
