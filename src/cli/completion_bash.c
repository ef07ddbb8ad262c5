/* SPDX-License-Identifier: MIT
 * toll completion bash. Needs nothing but bash; where the package bash-completion is loaded, the
 * command that is measured completes as it would alone. */
#include "cli/completion.h"

/* Shared by the functions of the script: `words` as the command gets them, of which the last, up
 * to the cursor, is `typed`; `starts`, where each begins in COMP_WORDS; `before`, what readline
 * replaces in front of `typed`. */
static const char helpers[] =
    "# bash completion of toll\n"
    "_toll_offer() # WORDS\n"
    "{\n"
    "    mapfile -t COMPREPLY < <(compgen -P \"$before\" -W \"$1\" -- \"$typed\")\n"
    "}\n"
    "_toll_offer_list() # WORDS, of which several may be given with commas between\n"
    "{\n"
    "    before+=${typed%\"${typed##*,}\"}\n"
    "    typed=${typed##*,}\n"
    "    compopt -o nospace\n"
    "    _toll_offer \"$1\"\n"
    "}\n"
    "_toll_files()\n"
    "{\n"
    "    [[ $before ]] || compopt -o default\n"
    "}\n"
    "_toll_directories()\n"
    "{\n"
    "    [[ $before ]] || compopt -o dirnames\n"
    "}\n"
    "_toll_users()\n"
    "{\n"
    "    mapfile -t COMPREPLY < <(compgen -P \"$before\" -u -- \"$typed\")\n"
    "}\n"
    "_toll_pids() # or NAME=PID\n"
    "{\n"
    "    local pids=(/proc/[0-9]*)\n"
    "    if [[ $typed == *=* ]]; then\n"
    "        [[ $COMP_WORDBREAKS == *=* ]] || before=${typed%%=*}=\n"
    "        typed=${typed#*=}\n"
    "    fi\n"
    "    _toll_offer \"${pids[*]##*/}\"\n"
    "}\n"
    "_toll_nothing()\n"
    "{\n"
    "    :\n"
    "}\n"
    "_toll_command() # INDEX of the command in words\n"
    "{\n"
    "    if declare -F _command_offset >/dev/null; then\n"
    "        _command_offset \"${starts[$1]}\"\n"
    "    elif (($1 < last)) || [[ $typed == */* ]]; then\n"
    "        _toll_files\n"
    "    else\n"
    "        mapfile -t COMPREPLY < <(compgen -c -- \"$typed\")\n"
    "    fi\n"
    "}\n";

static const char options_loop[] =
    "    for ((i = 2; i < last; i++)); do\n"
    "        if [[ ${words[i]} == -- ]]; then\n"
    "            \"$1\" $((i + 1))\n"
    "            return\n"
    "        elif [[ ${words[i]} =~ $long || ${words[i]} =~ $letter ]]; then\n"
    "            if [[ ! ${BASH_REMATCH[2]} ]] && ((++i == last)); then\n"
    "                _toll_value \"${BASH_REMATCH[1]#--}\"\n"
    "                return\n"
    "            fi\n"
    "        elif [[ ${words[i]} != -?* && $1 == _toll_command ]]; then\n"
    "            break\n"
    "        fi\n"
    "    done\n"
    "    if ((i < last)) || [[ $typed != -* ]]; then\n"
    "        \"$1\" \"$i\"\n"
    "    elif [[ $typed =~ $long || $typed =~ $letter ]] && [[ ${BASH_REMATCH[2]} ]]; then\n"
    "        typed=${BASH_REMATCH[2]#=}\n"
    "        typed=${typed#[\\'\\\"]}\n"
    "        before=${words[last]%\"$typed\"}\n"
    "        [[ $COMP_WORDBREAKS == *=* ]] && before=${before##*[=\\'\\\"]}\n"
    "        _toll_value \"${BASH_REMATCH[1]#--}\"\n"
    "    else\n";

/* readline cuts words at = and : too; what has no blank in front belongs to the word before. */
static const char join_words[] =
    "_toll()\n"
    "{\n"
    "    local words=() starts=() line=${COMP_LINE:0:COMP_POINT} before= typed last word i\n"
    "    COMPREPLY=()\n"
    "    for ((i = 0; i <= COMP_CWORD; i++)); do\n"
    "        if ((i == 0)) || [[ $line == [[:blank:]]* ]]; then\n"
    "            words+=(\"\")\n"
    "            starts+=(\"$i\")\n"
    "        fi\n"
    "        line=${line#\"${line%%[![:blank:]]*}\"}\n"
    "        word=${COMP_WORDS[i]}\n"
    "        ((i < COMP_CWORD)) || word=$line\n"
    "        words[-1]+=$word\n"
    "        line=${line#\"$word\"}\n"
    "    done\n"
    "    last=$((${#words[@]} - 1))\n"
    "    typed=${words[last]#[\\'\\\"]}\n";

static void add_metrics(struct buf *b)
{
    const struct toll_metric *m;
    for (size_t at = 0; (m = completion_next_metric(&at));)
        buf_printf(b, "%s%s", at > 1 ? " " : "", m->name);
}

static void add_value(struct buf *b, const struct option *o)
{
    switch (completion_value(o)) {
    case VALUE_CHOICE: buf_printf(b, "_toll_offer '%s'", o->choices); break;
    case VALUE_FORMAT:
        buf_puts(b, "_toll_offer '");
        completion_add_formats(b, " ");
        buf_putc(b, '\'');
        break;
    case VALUE_DIALECT:
        buf_puts(b, "_toll_offer '");
        completion_add_dialects(b, " ");
        buf_putc(b, '\'');
        break;
    case VALUE_METRICS:
        buf_puts(b, "_toll_offer_list '");
        add_metrics(b);
        buf_putc(b, '\'');
        break;
    case VALUE_FILE: buf_puts(b, "_toll_files"); break;
    case VALUE_DIRECTORY: buf_puts(b, "_toll_directories"); break;
    case VALUE_USER: buf_puts(b, "_toll_users"); break;
    case VALUE_NONE:
    case VALUE_OTHER: break;
    }
}

/* A function that offers values of the option with a name or a letter. */
static void add_values(struct buf *b)
{
    buf_puts(b, "_toll_value() # OPTION\n{\n    case $1 in\n");
    for (const struct option *o = options; o->name; o++) {
        enum completion_value value = completion_value(o);
        if (value == VALUE_NONE || value == VALUE_OTHER)
            continue;
        buf_printf(b, "    %s", o->name);
        if (o->letter)
            buf_printf(b, "|%c", o->letter);
        buf_puts(b, ") ");
        add_value(b, o);
        buf_puts(b, " ;;\n");
    }
    buf_puts(b, "    esac\n}\n");
}

/* A function for subcommands with options: finds what the last word is. */
static void add_options(struct buf *b)
{
    buf_puts(b, "_toll_options() # FUNCTION for what is no option, NAMES and LETTERS of options "
                "that take a\n"
                "                # value, of those that do not\n{\n"
                "    local i long=\"^(${2// /|})(=.*)?$\" letter=\"^-[$5]*([$3])(.+)?$\"\n");
    buf_puts(b, options_loop);
    buf_puts(b, "        _toll_offer \"$2 $4\"\n    fi\n}\n");
}

static void add_subcommand(struct buf *b, const struct subcommand *s)
{
    static const char *const functions[] = {
        [ARGUMENTS_COMMAND] = "_toll_command",
        [ARGUMENTS_FILE] = "_toll_files",
        [ARGUMENTS_PIDS] = "_toll_pids",
        [ARGUMENTS_NONE] = "_toll_nothing",
    };
    enum completion_arguments arguments = completion_arguments(s);
    if (arguments == ARGUMENTS_WORDS) {
        buf_printf(b, "    2,%s) _toll_offer '", s->name);
        completion_add_words(b, s, " ");
        buf_puts(b, "' ;;\n");
        char word[32];
        const char *next;
        if (completion_then(s, word, sizeof word, &next))
            buf_printf(b, "    3,%s) [[ ${words[2]} == %s ]] && _toll_offer '%s' ;;\n", s->name,
                       word, next);
        return;
    }
    buf_printf(b, "    *,%s) _toll_options %s", s->name, functions[arguments]);
    for (unsigned with_value = 2; with_value--;) {
        buf_puts(b, " \\\n        '--");
        completion_add_long(b, s->options, with_value, " --");
        buf_puts(b, "' '");
        completion_add_letters(b, s->options, with_value);
        buf_putc(b, '\'');
    }
    buf_puts(b, " ;;\n");
}

void completion_bash(struct buf *b)
{
    buf_puts(b, helpers);
    add_values(b);
    add_options(b);
    buf_puts(b, join_words);
    buf_puts(b, "    case $last,${words[1]} in\n    1,*) _toll_offer '");
    completion_add_subcommands(b, " ");
    buf_puts(b, " --help --version' ;;\n");
    for (const struct subcommand *s = subcommands; s->name; s++)
        add_subcommand(b, s);
    buf_puts(b, "    esac\n}\ncomplete -F _toll toll\n");
}
