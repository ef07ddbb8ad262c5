/* SPDX-License-Identifier: MIT
 * toll completion: scripts for shells, made from the tables. */
#include "cli/completion.h"

#include <ctype.h>
#include <string.h>

/* ==== Completion ============================================================================== */

enum completion_value completion_value(const struct option *o)
{
    if (!o->value)
        return VALUE_NONE;
    if (o->choices)
        return VALUE_CHOICE;
    if (strstr(o->value, "GLOB"))
        return VALUE_METRICS;
    if (strcmp(o->value, "FORMAT") == 0)
        return VALUE_FORMAT;
    if (strcmp(o->name, "dialect") == 0)
        return VALUE_LAYOUT;
    if (strcmp(o->value, "PATH") == 0)
        return VALUE_DIRECTORY;
    if (strstr(o->value, "UID"))
        return VALUE_USER;
    return strstr(o->value, "FILE") ? VALUE_FILE : VALUE_OTHER;
}

enum completion_arguments completion_arguments(const struct subcommand *s)
{
    if (!strstr(s->arguments, "[options]"))
        return ARGUMENTS_WORDS;
    if (strstr(s->arguments, " COMMAND"))
        return ARGUMENTS_COMMAND;
    if (strstr(s->arguments, "PID"))
        return ARGUMENTS_PIDS;
    return strcmp(s->arguments, "[options]") == 0 ? ARGUMENTS_NONE : ARGUMENTS_FILE;
}

void completion_add_subcommands(struct buf *b, const char *between)
{
    bool first = true;
    for (const struct subcommand *s = subcommands; s->name; s++) {
        if (s->hidden)
            continue;
        buf_printf(b, "%s%s", first ? "" : between, s->name);
        first = false;
    }
}

/* Of a synopsis such as "[--json | --markdown]": what is written as it stands. */
void completion_add_words(struct buf *b, const struct subcommand *s, const char *between)
{
    static const char marks[] = " []|";
    bool first = true;
    size_t length;
    for (const char *word = s->arguments; *(word += strspn(word, marks)); word += length) {
        length = strcspn(word, marks);
        bool subcommand = strncmp(word, "SUBCOMMAND", length) == 0;
        bool format = strncmp(word, "FORMAT", length) == 0;
        bool layout = strncmp(word, "NAME", length) == 0 && strcmp(s->name, "dialects") == 0;
        if (!subcommand && !format && !layout && isupper((unsigned char)*word))
            continue;
        buf_puts(b, first ? "" : between);
        first = false;
        if (subcommand)
            completion_add_subcommands(b, between);
        else if (format)
            completion_add_formats(b, between);
        else if (layout)
            completion_add_layouts(b, between);
        else
            buf_add(b, word, length);
    }
}

bool completion_then(const struct subcommand *s, char *ret_word, size_t capacity,
                     const char **ret_next)
{
    size_t length = s->then ? strcspn(s->then, " ") : 0;
    if (!length || length >= capacity || !s->then[length])
        return false;
    memcpy(ret_word, s->then, length);
    ret_word[length] = '\0';
    *ret_next = s->then + length + 1;
    return true;
}

void completion_add_formats(struct buf *b, const char *between)
{
    const struct toll_format *f;
    for (size_t i = 0; (f = toll_format_at(i)); i++)
        buf_printf(b, "%s%s", i ? between : "", f->name);
}

void completion_add_layouts(struct buf *b, const char *between)
{
    const struct toll_layout *d;
    for (size_t i = 0; (d = toll_layout_at(i)); i++)
        buf_printf(b, "%s%s", i ? between : "", d->name);
}

void completion_add_long(struct buf *b, unsigned modes, bool with_value, const char *between)
{
    bool first = true;
    for (const struct option *o = options; o->name; o++) {
        if (!(o->modes & modes) || (o->value != NULL) != with_value)
            continue;
        buf_printf(b, "%s%s", first ? "" : between, o->name);
        first = false;
    }
}

void completion_add_letters(struct buf *b, unsigned modes, bool with_value)
{
    for (const struct option *o = options; o->name; o++)
        if (o->letter && (o->modes & modes) && (o->value != NULL) == with_value)
            buf_putc(b, o->letter);
}

static bool named_before(size_t at)
{
    for (size_t i = 0; i < at; i++)
        if (strcmp(toll_metric_at(i)->name, toll_metric_at(at)->name) == 0)
            return true;
    return false;
}

const struct toll_metric *completion_next_metric(size_t *at)
{
    const struct toll_metric *m;
    while ((m = toll_metric_at((*at)++)))
        if (!named_before(*at - 1))
            return m;
    return NULL;
}

void completion_add_text(struct buf *b, const char *text, const char *quote, const char *special)
{
    for (; *text; text++) {
        if (strchr(special, *text))
            buf_putc(b, '\\');
        if (*text == '\'')
            buf_puts(b, quote);
        else
            buf_putc(b, *text);
    }
}

int completion_main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*add)(struct buf *b);
        void (*add_gpu_tracker)(struct buf *b);
    } shells[] = {
        {"bash", completion_bash, gpu_tracker_completion_bash},
        {"zsh", completion_zsh, gpu_tracker_completion_zsh},
        {"fish", completion_fish, gpu_tracker_completion_fish},
    };
    struct buf b = {0};
    bool is_ours = argc == 3 && strcmp(argv[2], "gpu-tracker") == 0;
    for (size_t i = 0; (argc == 2 || is_ours) && i < ARRAY_LEN(shells); i++)
        if (strcmp(argv[1], shells[i].name) == 0) {
            (is_ours ? shells[i].add_gpu_tracker : shells[i].add)(&b);
            return print(&b);
        }
    return complain("toll completion takes bash, zsh or fish, and the command: gpu-tracker, or "
                    "nothing for toll");
}

/* ==== Completion zsh ========================================================================== */

/* toll completion zsh: as a file _toll in fpath, or read by source. */

/* Words for _describe: 'name:text'. */
static void add_described(struct buf *b, const char *name, const char *text)
{
    buf_printf(b, "        '%s:", name);
    completion_add_text(b, text, "'\\''", "\\:");
    buf_puts(b, "'\n");
}

static void completion_zsh_add_metrics(struct buf *b)
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
    case VALUE_LAYOUT:
        buf_puts(b, ":dialect:(");
        completion_add_layouts(b, " ");
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
static const char *completion_zsh_behind(enum completion_arguments arguments)
{
    switch (arguments) {
    case ARGUMENTS_COMMAND:
        return "'(-)1:command: _command_names -e' '*::arguments: _toll_command'";
    case ARGUMENTS_FILE: return "'*:file:_files'";
    case ARGUMENTS_PIDS: return "'*:process: _toll_pids'";
    default: return "";
    }
}

static void completion_zsh_add_options(struct buf *b, const struct subcommand *s)
{
    buf_puts(b, "_arguments -s -S \\\n");
    for (const struct option *o = options; o->name; o++) {
        if (!(o->modes & s->options))
            continue;
        add_spelling(b, o, false);
        if (o->letter)
            add_spelling(b, o, true);
    }
    buf_printf(b, "        %s ;;\n", completion_zsh_behind(completion_arguments(s)));
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
    completion_zsh_add_metrics(b);
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
            completion_zsh_add_options(b, s);
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

/* ==== Completion fish ========================================================================= */

/* toll completion fish. */

static const char completion_fish_helpers[] =
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
static void completion_fish_add_quoted(struct buf *b, const char *text)
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

static void completion_fish_add_metrics(struct buf *b)
{
    buf_puts(b, "function __toll_metrics\n    printf '%s\\t%s\\n'");
    const struct toll_metric *m;
    for (size_t at = 0; (m = completion_next_metric(&at));) {
        buf_printf(b, " \\\n        %s ", m->name);
        completion_fish_add_quoted(b, m->title);
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

static void completion_fish_add_option(struct buf *b, const struct option *o)
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
    case VALUE_LAYOUT:
        buf_puts(b, " -x -a '");
        completion_add_layouts(b, " ");
        buf_putc(b, '\'');
        break;
    case VALUE_DIRECTORY: buf_puts(b, " -x -a '(__toll_directories)'"); break;
    case VALUE_USER: buf_puts(b, " -x -a '(__fish_complete_users)'"); break;
    case VALUE_METRICS: buf_puts(b, " -x -a '(__toll_metric_list)'"); break;
    case VALUE_FILE: buf_puts(b, " -r -F"); break;
    case VALUE_OTHER: buf_puts(b, " -x"); break;
    }
    buf_puts(b, " -d ");
    completion_fish_add_quoted(b, o->help);
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
    buf_puts(b, completion_fish_helpers);
    add_takes_value(b);
    add_accepts(b);
    completion_fish_add_metrics(b);
    buf_puts(b, "complete -c toll -f\n");
    for (const struct subcommand *s = subcommands; s->name; s++) {
        if (!s->hidden) {
            buf_printf(b, "complete -c toll -n __fish_use_subcommand -a %s -d ", s->name);
            completion_fish_add_quoted(b, s->help);
            buf_putc(b, '\n');
        }
        add_arguments(b, s);
    }
    for (const char *const *name = (const char *const[]){"help", "version", NULL}; *name; name++)
        buf_printf(b, "complete -c toll -n __fish_use_subcommand -l %s\n", *name);
    for (const struct option *o = options; o->name; o++)
        completion_fish_add_option(b, o);
}

/* ==== Completion bash ========================================================================= */

/* toll completion bash. Needs nothing but bash; where the package bash-completion is loaded, the
 * command that is measured completes as it would alone. */

/* Shared by the functions of the script: `words` as the command gets them, of which the last, up
 * to the cursor, is `typed`; `starts`, where each begins in COMP_WORDS; `before`, what readline
 * replaces in front of `typed`. */
static const char completion_bash_helpers[] =
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

static void completion_bash_add_metrics(struct buf *b)
{
    const struct toll_metric *m;
    for (size_t at = 0; (m = completion_next_metric(&at));)
        buf_printf(b, "%s%s", at > 1 ? " " : "", m->name);
}

static void completion_bash_add_value(struct buf *b, const struct option *o)
{
    switch (completion_value(o)) {
    case VALUE_CHOICE: buf_printf(b, "_toll_offer '%s'", o->choices); break;
    case VALUE_FORMAT:
        buf_puts(b, "_toll_offer '");
        completion_add_formats(b, " ");
        buf_putc(b, '\'');
        break;
    case VALUE_LAYOUT:
        buf_puts(b, "_toll_offer '");
        completion_add_layouts(b, " ");
        buf_putc(b, '\'');
        break;
    case VALUE_METRICS:
        buf_puts(b, "_toll_offer_list '");
        completion_bash_add_metrics(b);
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
static void completion_bash_add_values(struct buf *b)
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
        completion_bash_add_value(b, o);
        buf_puts(b, " ;;\n");
    }
    buf_puts(b, "    esac\n}\n");
}

/* A function for subcommands with options: finds what the last word is. */
static void completion_bash_add_options(struct buf *b)
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
    buf_puts(b, completion_bash_helpers);
    completion_bash_add_values(b);
    completion_bash_add_options(b);
    buf_puts(b, join_words);
    buf_puts(b, "    case $last,${words[1]} in\n    1,*) _toll_offer '");
    completion_add_subcommands(b, " ");
    buf_puts(b, " --help --version' ;;\n");
    for (const struct subcommand *s = subcommands; s->name; s++)
        add_subcommand(b, s);
    buf_puts(b, "    esac\n}\ncomplete -F _toll toll\n");
}
