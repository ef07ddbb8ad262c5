/* SPDX-License-Identifier: MIT
 * Completions. A shell loads a short script (toll completion SHELL), which asks the command itself
 * what may be typed: toll __complete WORD…, with the words of the line up to the cursor.
 *
 * Each line of the answer is a word that may replace the last one, a tab, and a text about it. A
 * line that begins with a colon asks the shell to complete something that it knows better: */
#include "cli/gpu_tracker/command.h"
#include "cli/options.h"

#include <ctype.h>
#include <dirent.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>

/*     :list            no blank after the word, more may follow
 *     :file BEFORE    files, after the first BEFORE bytes of the last word
 *     :directory BEFORE
 *     :program         the name of a program
 *     :command N       a command line of its own, which begins after N words */
void completion_ask_shell(struct completion *c, const char *what, size_t number)
{
    buf_printf(&c->answer, ":%s %zu\n", what, number);
}

void completion_offer(struct completion *c, const char *word, const char *text)
{
    const char *typed = c->last + c->before;
    if (strncmp(word, typed, strlen(typed)) != 0)
        return;
    buf_add(&c->answer, c->last, c->before);
    buf_puts(&c->answer, word);
    buf_putc(&c->answer, '\t');
    buf_printable(&c->answer, text, strlen(text));
    buf_putc(&c->answer, '\n');
}

void completion_offer_words(struct completion *c, const char *words)
{
    char word[64];
    for (size_t length; *(words += strspn(words, " ")); words += length) {
        length = strcspn(words, " ");
        snprintf(word, sizeof word, "%.*s", (int)length, words);
        completion_offer(c, word, "");
    }
}

/* Rare ones when what was typed fits no other. */
static void completion_offer_subcommands(struct completion *c)
{
    for (const struct subcommand *s = subcommands; s->name; s++)
        if (!s->is_rare)
            completion_offer(c, s->name, s->help);
    if (c->answer.length)
        return;
    for (const struct subcommand *s = subcommands; s->name; s++)
        if (s->is_rare)
            completion_offer(c, s->name, s->help);
}

static void completion_offer_formats(struct completion *c)
{
    const struct toll_format *f;
    for (size_t i = 0; (f = toll_format_at(i)); i++)
        completion_offer(c, f->name, "");
}

static void completion_offer_layouts(struct completion *c)
{
    const struct toll_layout *l;
    for (size_t i = 0; (l = toll_layout_at(i)); i++)
        completion_offer(c, l->name, "");
}

static void completion_offer_checks(struct completion *c)
{
    const struct toll_check *check;
    for (size_t i = 0; (check = toll_check_at(i)); i++)
        completion_offer(c, check->name, check->title);
}

/* Several entities may have a metric of the same name, which is offered once. */
static void completion_offer_metrics(struct completion *c)
{
    const char *comma = strrchr(c->last + c->before, ',');
    const struct toll_metric *m;
    c->before = comma ? (size_t)(comma + 1 - c->last) : c->before;
    completion_ask_shell(c, "list", 0);
    completion_offer(c, "basic", "what most people plot");
    for (size_t i = 0; (m = toll_metric_at(i)); i++) {
        size_t first = 0;
        while (strcmp(toll_metric_at(first)->name, m->name) != 0)
            first++;
        if (first == i)
            completion_offer(c, m->name, m->title);
    }
}

static void completion_offer_users(struct completion *c)
{
    setpwent();
    for (const struct passwd *user; (user = getpwent());)
        completion_offer(c, user->pw_name, "");
    endpwent();
}

/* With their names; NAME=PID gives one another name. */
static void completion_offer_processes(struct completion *c)
{
    const char *equals = strchr(c->last, '=');
    c->before = equals ? (size_t)(equals + 1 - c->last) : 0;
    DIR *proc = opendir("/proc");
    for (const struct dirent *entry; proc && (entry = readdir(proc));) {
        char path[300], name[64] = "";
        if (!isdigit((unsigned char)entry->d_name[0]))
            continue;
        snprintf(path, sizeof path, "/proc/%s/comm", entry->d_name);
        FILE *comm = fopen(path, "re");
        if (comm && fgets(name, sizeof name, comm))
            name[strcspn(name, "\n")] = '\0';
        if (comm)
            fclose(comm);
        completion_offer(c, entry->d_name, name);
    }
    if (proc)
        closedir(proc);
}

/* The value of an option, after the first c->before bytes of the last word. */
static void completion_value(struct completion *c, const struct option *o)
{
    if (o->choices)
        completion_offer_words(c, o->choices);
    else if (strcmp(o->name, "metrics") == 0)
        completion_offer_metrics(c);
    else if (strcmp(o->value, "TYPE") == 0)
        completion_offer_formats(c);
    else if (strcmp(o->name, "layout") == 0)
        completion_offer_layouts(c);
    else if (strstr(o->value, "UID"))
        completion_offer_users(c);
    else if (strcmp(o->value, "PATH") == 0)
        completion_ask_shell(c, "directory", c->before);
    else if (strstr(o->value, "FILE"))
        completion_ask_shell(c, "file", c->before);
}

/* The option in a word that takes a value, and where in the word that begins; *ret_at is 0 if it is
 * the next word. NULL: there is none. */
static const struct option *completion_option(const char *word, unsigned modes, size_t *ret_at)
{
    const struct option *o;
    *ret_at = 0;
    if (strncmp(word, "--", 2) == 0) {
        char name[64];
        size_t length = strcspn(word, "=");
        snprintf(name, sizeof name, "%.*s", (int)length - 2, word + 2);
        o = option_by_name(name, modes);
        *ret_at = word[length] ? length + 1 : 0;
        return o && o->value && (o->modes & modes) ? o : NULL;
    }
    for (size_t i = 1; word[0] == '-' && word[i]; i++) {
        o = option_by_letter(word[i], modes);
        if (!o || !(o->modes & modes))
            return NULL;
        if (!o->value)
            continue;
        *ret_at = word[i + 1] ? i + 1 + (word[i + 1] == '=') : 0;
        return o;
    }
    return NULL;
}

/* A word that is no option, as the synopsis has it: "bash | zsh | fish", "[TYPE]". `first` is the
 * first word of its kind on the line, NULL when it is the one to complete. */
static void completion_word(struct completion *c, const struct subcommand *s, const char *first,
                            size_t count)
{
    static const char marks[] = " []|…";
    size_t length = s->then ? strcspn(s->then, " ") : 0;
    if (count == 1 && length && strlen(first) == length && strncmp(first, s->then, length) == 0)
        completion_offer_words(c, s->then + length);
    char word[64];
    bool has_choices = false; /* which come first */
    bool asks_file = false;
    for (const char *at = s->arguments; *(at += strspn(at, marks)); at += length) {
        length = strcspn(at, marks);
        snprintf(word, sizeof word, "%.*s", (int)length, at);
        bool is_choice = islower((unsigned char)word[0]) && strcmp(word, "options") != 0;
        has_choices |= is_choice;
        if (strcmp(word, "CHECK") == 0)
            completion_offer_checks(c);
        else if (strcmp(word, "PID") == 0)
            completion_offer_processes(c);
        else if (option_choose("RECORD SPOOL FILE DIRECTORY", word) >= 0)
            asks_file |= first || !has_choices;
        else if (first)
            continue;
        else if (is_choice)
            completion_offer(c, word, "");
        else if (strcmp(word, "COMMAND") == 0)
            completion_offer_subcommands(c);
        else if (strcmp(word, "TYPE") == 0)
            completion_offer_formats(c);
        else if (strcmp(word, "NAME") == 0)
            completion_offer_layouts(c);
    }
    if (asks_file)
        completion_ask_shell(c, "file", 0);
}

/* The words after a subcommand; words[0] is its name. */
static void completion_subcommand(struct completion *c, const struct subcommand *s, size_t count,
                                  char **words)
{
    bool runs_command = s->main == run_main;
    bool options_first = !(s->options & ~(unsigned)FOR_OPTIONS_FIRST);
    bool are_over = false;
    const char *first = NULL; /* of the words that are no options, and how many there are */
    size_t words_before = 0, i = 1, at;
    const struct option *o;
    for (; i + 1 < count && !(are_over && runs_command); i++) {
        if (are_over || words[i][0] != '-' || !words[i][1]) {
            are_over |= options_first;
            if (runs_command)
                break;
            first = first ? first : words[i];
            words_before++;
            continue;
        }
        are_over = strcmp(words[i], "--") == 0;
        o = completion_option(words[i], s->options, &at);
        if (o && !at && i + 2 == count) {
            completion_value(c, o);
            return;
        }
        i += o && !at;
    }
    if (!are_over && c->last[0] == '-') {
        o = completion_option(c->last, s->options, &at);
        if (o && at) {
            c->before = at;
            completion_value(c, o);
            return;
        }
        for (o = options; o->name; o++) {
            char name[64];
            snprintf(name, sizeof name, "--%s", o->name);
            if (o->modes & s->options)
                completion_offer(c, name, o->help);
        }
    } else if (runs_command) {
        completion_ask_shell(c, "command", i);
    } else {
        completion_word(c, s, first, words_before);
    }
}

int complete_main(int argc, char **argv)
{
    bool is_gpu_tracker = strcmp(basename(argv[0]), "gpu-tracker") == 0;
    char **words = argv + 2;
    size_t count = (size_t)argc - 2;
    if (!count)
        return 0;
    struct completion c = {.last = words[count - 1]};
    const struct subcommand *s = count > 1 ? subcommand_by_name(words[0]) : NULL;
    if (is_gpu_tracker) {
        gpu_tracker_complete(&c, count, words);
    } else if (count == 1) {
        completion_offer_subcommands(&c);
        completion_offer_words(&c, "--help --version");
    } else if (s) {
        completion_subcommand(&c, s, count, words);
    }
    return print(&c.answer);
}

/* ==== Scripts of the shells =================================================================== */

/* In each, \1 stands for the name of the command, and \2 for that in names of functions. */

/* readline cuts words at = and : too; what has no blank in front belongs to the word before. Offers
 * are whole words, of which readline replaces the part after its last cut. */
static const char script_bash[] =
    "# bash completion of \1\n"
    "_\2()\n"
    "{\n"
    "    local words=() starts=() line=${COMP_LINE:0:COMP_POINT} word i answer before\n"
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
    "    word=${words[-1]#[\\'\\\"]}\n"
    "    word=${word/=[\\'\\\"]/=}\n"
    "    words[-1]=$word\n"
    "    before=\n"
    "    [[ $COMP_WORDBREAKS == *=* && $word == *=* ]] && before=${word%\"${word##*=}\"}\n"
    "    while IFS=$'\\t' read -r answer _; do\n"
    "        i=${answer##* }\n"
    "        case $answer in\n"
    "        :list*) compopt -o nospace ;;\n"
    "        :file*) ((i > ${#before})) || compopt -o default ;;\n"
    "        :directory*) ((i > ${#before})) || compopt -o dirnames ;;\n"
    "        :program*) mapfile -t COMPREPLY < <(compgen -c -- \"$word\") ;;\n"
    "        :command*)\n"
    "            if declare -F _command_offset >/dev/null; then\n"
    "                _command_offset \"${starts[i + 1]}\"\n"
    "            elif ((i + 2 < ${#words[@]})) || [[ $word == */* ]]; then\n"
    "                compopt -o default\n"
    "            else\n"
    "                mapfile -t COMPREPLY < <(compgen -c -- \"$word\")\n"
    "            fi\n"
    "            ;;\n"
    "        *) COMPREPLY+=(\"${answer#\"$before\"}\") ;;\n"
    "        esac\n"
    "    done < <(\"${COMP_WORDS[0]}\" __complete \"${words[@]:1}\" 2>/dev/null)\n"
    "}\n"
    "complete -F _\2 \1\n";

static const char script_zsh[] =
    "#compdef \1\n"
    "_\2() {\n"
    "    local answer number\n"
    "    local -a offers suffix before=(\"${(@Q)words[2,CURRENT-1]}\")\n"
    "    for answer in ${(f)\"$(${(Q)words[1]} __complete \"$before[@]\" \"${(Q)PREFIX}\" "
    "2>/dev/null)\"}; do\n"
    "        number=${answer##* }\n"
    "        case $answer in\n"
    "        :list*) suffix=(-S '') ;;\n"
    "        :file*) compset -p $number; _files; return ;;\n"
    "        :directory*) compset -p $number; _directories; return ;;\n"
    "        :program*) _command_names -e; return ;;\n"
    "        :command*) shift $((number + 1)) words; (( CURRENT -= number + 1 )); _normal; return "
    ";;\n"
    "        *) offers+=(\"${${answer%%$'\\t'*}//:/\\\\:}:${answer#*$'\\t'}\") ;;\n"
    "        esac\n"
    "    done\n"
    "    _describe -t words word offers \"${suffix[@]}\"\n"
    "}\n"
    "if [[ $funcstack[1] == _\1 ]]; then\n"
    "    _\2 \"$@\"\n"
    "else\n"
    "    compdef _\2 \1\n"
    "fi\n";

static const char script_fish[] =
    "# fish completion of \1\n"
    "function __\2_complete\n"
    "    set -l words (commandline -opc)\n"
    "    set -l last (commandline -ct | string trim -l -c '\\'\"' | string replace -r '=[\\'\"]' "
    "'=')\n"
    "    for answer in ($words[1] __complete $words[2..] \"$last\" 2>/dev/null)\n"
    "        set -l number (string replace -r '.* ' '' -- $answer)\n"
    "        switch $answer\n"
    "            case ':list*'\n"
    "            case ':file*' ':directory*'\n"
    "                set -l before (string sub -l $number -- $last)\n"
    "                set -l rest (string sub -s (math $number + 1) -- $last)\n"
    "                if string match -q ':file*' $answer\n"
    "                    printf '%s\\n' \"$before\"(complete -C \"__\2_none $rest\")\n"
    "                else\n"
    "                    printf '%s\\n' \"$before\"(__fish_complete_directories \"$rest\" '')\n"
    "                end\n"
    "            case ':program*'\n"
    "                __fish_complete_command\n"
    "            case ':command*'\n"
    "                set -l rest $words (commandline -ct)\n"
    "                __fish_complete_subcommand --commandline $rest[(math $number + 2)..]\n"
    "            case '*'\n"
    "                printf '%s\\n' $answer\n"
    "        end\n"
    "    end\n"
    "end\n"
    "complete -c \1 -f -a '(__\2_complete)'\n";

static int print_completion(struct settings *s)
{
    static const char *const shells[][2] = {
        {"bash", script_bash}, {"zsh", script_zsh}, {"fish", script_fish}};
    const char *program = s->words[1] ? s->words[1] : "toll";
    bool is_gpu_tracker = strcmp(program, "gpu-tracker") == 0;
    struct buf b = {0};
    if (strcmp(program, "toll") != 0 && !is_gpu_tracker)
        return complain("completion: unknown program '%s' (expected toll or gpu-tracker)", program);
    for (size_t i = 0; i < ARRAY_LEN(shells); i++) {
        if (strcmp(s->words[0], shells[i][0]) != 0)
            continue;
        for (const char *at = shells[i][1]; *at; at++)
            if (*at == '\1' || *at == '\2')
                buf_puts(&b, !is_gpu_tracker ? "toll"
                             : *at == '\1'   ? "gpu-tracker"
                                             : "gpu_tracker");
            else
                buf_putc(&b, *at);
        return print(&b);
    }
    return complain("completion: unknown shell '%s' (expected bash, zsh or fish)", s->words[0]);
}

int completion_main(int argc, char **argv)
{
    return subcommand_main(argc, argv, 1, 2, print_completion);
}
