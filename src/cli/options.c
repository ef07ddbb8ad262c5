/* SPDX-License-Identifier: MIT
 * Where settings come from: configuration file, environment, command line. */
#include "cli/options.h"

#include "base/err.h"
#include "base/memory.h"
#include "base/text/scan.h"
#include "base/util.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* ==== Options ================================================================================= */

const struct subcommand *subcommand_by_name(const char *name)
{
    for (const struct subcommand *s = subcommands; s->name; s++)
        if (strcmp(s->name, name) == 0 || (s->old_name && strcmp(s->old_name, name) == 0))
            return s;
    return NULL;
}

/* ---- Applying -------------------------------------------------------------------------------- */

static void list_choices(char *ret, size_t capacity, const char *choices)
{
    size_t n = 0;
    for (const char *c = choices; *c && n + 6 < capacity; c++) {
        if (*c == ' ' && !strchr(c + 1, ' '))
            n += (size_t)snprintf(ret + n, capacity - n, " or ");
        else if (*c == ' ')
            n += (size_t)snprintf(ret + n, capacity - n, ", ");
        else
            ret[n++] = *c;
    }
    ret[n] = '\0';
}

static void *option_field(struct settings *s, const struct option *o)
{
    return (char *)s + o->at;
}

static void options_forget_list(struct settings *s, const struct option *o)
{
    const char ***list = option_field(s, o);
    free(*list);
    *list = NULL;
}

unsigned option_is_given(const struct settings *s, const char *name)
{
    return s->given[option_by_name(name, s->mode) - options];
}

bool option_is_on_command_line(const struct settings *s, const char *name)
{
    return s->on_command_line[option_by_name(name, s->mode) - options];
}

static int options_append(const char ***list, const char *value)
{
    return list_append(list, value) ? 0 : -ENOMEM;
}

/* One value from a named source; name is as on the command line. */
static int options_apply(struct settings *s, const struct option *o, const char *value,
                         const char *source, struct toll_error *e)
{
    char accepted[128] = "";
    struct toll_error inner = {0};
    void *field = option_field(s, o);
    int r = 0, choice = 0;
    if (o->expected && !*value)
        r = err_set(&inner, -EINVAL, "%s", o->expected);
    else if (o->take)
        r = o->take(s, value, &inner);
    switch (r < 0 ? OPTION_OWN : o->kind) {
    case OPTION_SWITCH:
        choice = value ? option_choose("yes true on 1 no false off 0", value) : 0;
        snprintf(accepted, sizeof accepted, "yes or no");
        if (choice >= 0)
            *(bool *)field = choice < 4;
        break;
    case OPTION_CHOICE:
        choice = option_choose(o->choices, value);
        list_choices(accepted, sizeof accepted, o->choices);
        if (choice >= 0)
            *(unsigned *)field = (unsigned)choice;
        break;
    case OPTION_TIME:
        if (scan_duration(value, field) < 0 || !*(uint64_t *)field ||
            *(uint64_t *)field > UINT64_C(315360000) * NS_PER_SECOND)
            r = err_set(&inner, -EINVAL, "a time above 0 such as 90s, 5m or 1.5h");
        break;
    case OPTION_TEXT:
        choice = o->choices ? option_choose(o->choices, value) : 0;
        list_choices(accepted, sizeof accepted, o->choices ? o->choices : "");
        if (choice >= 0)
            *(const char **)field = value;
        break;
    case OPTION_LIST: r = options_append(field, value); break;
    case OPTION_OWN: break;
    }
    if (r == -EINVAL || choice < 0)
        return err_set(e, -EINVAL, "%s: invalid value '%s' (expected %s)", source,
                       value ? value : "", *accepted ? accepted : inner.message);
    s->given[o - options] = ++s->given_count;
    return r < 0 ? err_set(e, r, "%s: out of memory", source) : 0;
}

static int keep_string(struct settings *s, char *text)
{
    return list_append(&s->kept, text) ? 0 : -ENOMEM;
}

/* A list in a variable has blanks between its values. */
static int apply_list(struct settings *s, const struct option *o, const char *values,
                      const char *source, struct toll_error *e)
{
    options_forget_list(s, o);
    char *copy = strdup(values);
    if (!copy || keep_string(s, copy) < 0) {
        free(copy);
        return err_set(e, -ENOMEM, "%s: out of memory", source);
    }
    int r = 0;
    for (char *value = copy; r == 0 && *(value += strspn(value, " \t\n"));) {
        char *end = value + strcspn(value, " \t\n");
        char *next = *end ? end + 1 : end;
        *end = '\0';
        r = options_apply(s, o, value, source, e);
        value = next;
    }
    return r;
}

/* A sentence that does not stop anything; without memory it is lost. */
static void PRINTF_LIKE(2, 3) options_warn(struct settings *s, const char *format, ...)
{
    char *sentence;
    va_list args;
    va_start(args, format);
    int length = vasprintf(&sentence, format, args);
    va_end(args);
    if (length >= 0 && !list_append(&s->warnings, sentence))
        free(sentence);
}

/* A misspelt variable would do nothing, unnoticed. Under another toll, which has passed on its
 * environment, that one has warned. */
static void options_check_variables(struct settings *s)
{
    /* What else has meaning here, or for the tests. */
    static const char others[] = "TOLL_CONFIG TOLL_SOCKET TOLL_BUILD TOLL_SANITIZED TOLL_FAULT "
                                 "TOLL_FAULT_FIRED";
    if (getenv("TOLL_SOCKET"))
        return;
    for (char **variable = environ; *variable; variable++) {
        char name[64];
        size_t length = strcspn(*variable, "=");
        if (strncmp(*variable, "TOLL_", 5) != 0 || !(*variable)[length] || length >= sizeof name)
            continue;
        snprintf(name, sizeof name, "%.*s", (int)length, *variable);
        if (option_choose(others, name) >= 0)
            continue;
        struct suggestion near;
        const struct option *o = option_by_variable(name, &near);
        if (o && o->command_line_only)
            options_warn(s, "%s: ignored: --%s is accepted on the command line only", name,
                         o->name);
        else if (!o)
            options_warn(s, "%s: unknown variable, ignored%s", name, suggestion_text(&near));
    }
}

static bool has_variables(void)
{
    bool any = false;
    for (char **v = environ; v && *v && !any; v++)
        any = strncmp(*v, "TOLL_", 5) == 0;
    return any;
}

static int options_read_environment(struct settings *s, struct toll_error *e)
{
    if (!has_variables())
        return 0;
    for (const struct option *o = options; o->name; o++) {
        char variable[64];
        const char *old_name = option_old_name(o);
        option_variable(o->name, variable, sizeof variable);
        if (old_name && !getenv(variable))
            option_variable(old_name, variable, sizeof variable);
        const char *value = getenv(variable);
        if (!value || !*value || o->command_line_only || !(o->modes & s->mode))
            continue;
        int r = o->kind == OPTION_LIST ? apply_list(s, o, value, variable, e)
                                       : options_apply(s, o, value, variable, e);
        if (r < 0)
            return r;
    }
    return 0;
}

/* ---- The command line ------------------------------------------------------------------------ */

struct arguments {
    int argc;
    char **argv;
    int at;           /* the next word */
    const char *more; /* further letters of -qv, or NULL */
    bool ended;       /* there was a --: words alone from here on */
};

/* One option as it was written. */
struct given {
    const struct option *option; /* NULL: there is no such option */
    const char *value;           /* NULL: none */
    const char *second;          /* of an option with two values; NULL: none */
    char shown[80];              /* "--interval" or "-i" */
};

/* -q, -qv, -i1s, -i=1s */
static void take_letter(struct arguments *a, unsigned modes, struct given *g)
{
    snprintf(g->shown, sizeof g->shown, "-%c", *a->more);
    g->option = option_by_letter(*a->more++, modes);
    if (g->option && g->option->value && *a->more) {
        g->value = a->more + (*a->more == '=');
        a->more = NULL;
    } else if (!*a->more) {
        a->more = NULL;
    }
}

/* An option of another subcommand, with what this one has instead. */
static int options_refuse_mode(const struct settings *s, const struct given *g,
                               struct toll_error *e)
{
    static const struct {
        const char *option;
        unsigned modes; /* where the advice is right */
        const char *instead;
    } advice[] = {
        {"csv", FOR_RUN, "stdout belongs to the command; save the samples with -o run.csv"},
        {"for", FOR_RUN, "--timeout ends a command that runs longer"},
        {"timeout", FOR_ATTACH | FOR_SYSTEM, "--for ends measuring after a time"},
        {"pid", FOR_RUN | FOR_SYSTEM, "'toll attach -p PID' measures a running process"},
    };
    for (size_t i = 0; i < ARRAY_LEN(advice); i++)
        if (strcmp(advice[i].option, g->option->name) == 0 && (advice[i].modes & s->mode))
            return err_set(e, -EINVAL, "%s: not an option of toll %s (%s)", g->shown, s->subcommand,
                           advice[i].instead);
    return err_set(e, -EINVAL, "%s: not an option of toll %s ('toll help %s' lists the options)",
                   g->shown, s->subcommand, s->subcommand);
}

/* No subcommand has such an option: name the nearest, or where all are listed. */
static int options_refuse_unknown(const struct settings *s, const char *where, const char *dashes,
                                  const char *shown, struct toll_error *e)
{
    struct suggestion near;
    char name[64];
    suggestion_begin(&near, shown);
    for (const struct option *o = options; o->name; o++) {
        snprintf(name, sizeof name, "%s%s", dashes, o->name);
        if ((o->modes & s->mode) && (*dashes || !o->command_line_only))
            suggestion_offer(&near, name);
    }
    if (*suggestion_text(&near))
        return err_set(e, -EINVAL, "%s: unknown option '%s'%s", where, shown,
                       suggestion_text(&near));
    return err_set(e, -EINVAL, "%s: unknown option '%s' ('toll help %s' lists the options)", where,
                   shown, s->subcommand);
}

/* The next option and its value. 1, 0 when the options are over, -EINVAL. */
static int options_next_option(const struct settings *s, struct arguments *a, struct given *g,
                               struct toll_error *e)
{
    *g = (struct given){0};
    if (!a->more) {
        const char *word = a->at < a->argc ? a->argv[a->at] : NULL;
        if (!word || word[0] != '-' || !word[1])
            return 0;
        a->at++;
        if (strcmp(word, "--") == 0) {
            a->ended = true;
            return 0;
        }
        if (word[1] == '-') { /* --name, --name=value */
            size_t length = strcspn(word, "=");
            snprintf(g->shown, sizeof g->shown, "%.*s", (int)length, word);
            g->option = option_by_name(g->shown + 2, s->mode);
            g->value = word[length] ? word + length + 1 : NULL;
        } else {
            a->more = word + 1;
        }
    }
    if (a->more)
        take_letter(a, s->mode, g);
    if (!g->option)
        return options_refuse_unknown(s, s->subcommand, "--", g->shown, e);
    if (!(g->option->modes & s->mode))
        return options_refuse_mode(s, g, e);
    if (g->option->value && !g->value && a->at < a->argc)
        g->value = a->argv[a->at++];
    if (g->option->value && !g->value)
        return err_set(e, -EINVAL, "%s: value missing (expected %s)", g->shown, g->option->value);
    if (g->option->value && strchr(g->option->value, ' ') && !strchr(g->value, '=')) {
        if (a->at >= a->argc)
            return err_set(e, -EINVAL, "%s: value missing after '%s' (expected %s)", g->shown,
                           g->value, g->option->value);
        g->second = a->argv[a->at++];
    }
    return 1;
}

/* The next option, or a word between options where options may follow words: then g->option is
 * NULL, and the word goes to the list if there is one. */
static int next_word(struct settings *s, struct arguments *a, struct given *g, const char ***words,
                     struct toll_error *e)
{
    int r = options_next_option(s, a, g, e);
    if (r != 0 || !(s->mode & ~FOR_OPTIONS_FIRST) || a->at >= a->argc || a->ended)
        return r;
    const char *word = a->argv[a->at++];
    if (words && options_append(words, word) < 0)
        return err_set(e, -ENOMEM, "command line: out of memory");
    return 1;
}

/* The configuration file is named on the command line but read before it. */
static int find_config(struct settings *s, int argc, char **argv, struct toll_error *e)
{
    struct arguments a = {.argc = argc, .argv = argv, .at = 1};
    struct given g;
    int r;
    s->config = getenv("TOLL_CONFIG");
    if (s->config && !*s->config)
        s->config = NULL;
    while ((r = next_word(s, &a, &g, NULL, e)) > 0)
        if (g.option && strcmp(g.option->name, "config") == 0)
            s->config = g.value;
    return r;
}

static int read_command_line(struct settings *s, int argc, char **argv, int *ret_rest,
                             struct toll_error *e)
{
    struct arguments a = {.argc = argc, .argv = argv, .at = 1};
    struct given g;
    bool lists_replaced[OPTIONS_AT_MOST] = {0}; /* what other sources listed gives way */
    int r;
    while ((r = next_word(s, &a, &g, &s->words, e)) > 0) {
        if (!g.option)
            continue;
        if (g.option->kind == OPTION_LIST && !lists_replaced[g.option - options]) {
            options_forget_list(s, g.option);
            lists_replaced[g.option - options] = true;
        }
        if (g.second) {
            char *both;
            if (asprintf(&both, "%s=%s", g.value, g.second) < 0)
                return err_set(e, -ENOMEM, "command line: out of memory");
            if (keep_string(s, both) < 0) {
                free(both);
                return err_set(e, -ENOMEM, "command line: out of memory");
            }
            g.value = both;
        }
        r = options_apply(s, g.option, g.value, g.shown, e);
        if (r < 0)
            return r;
        s->on_command_line[g.option - options] = true;
    }
    *ret_rest = a.at;
    for (; r == 0 && s->mode != FOR_RUN && a.at < argc; a.at++)
        r = options_append(&s->words, argv[a.at]);
    return r;
}

/* The library takes one list. */
static int join_metrics(struct settings *s, struct toll_error *e)
{
    if (!s->metrics)
        return 0;
    struct buf joined = {0};
    for (const char **glob = s->metrics; *glob; glob++)
        buf_printf(&joined, "%s%s", glob == s->metrics ? "" : ",", *glob);
    if (buf_failed(&joined) || keep_string(s, joined.data) < 0) {
        buf_done(&joined);
        return err_set(e, -ENOMEM, "--metrics: out of memory");
    }
    s->tracker.metrics = joined.data;
    return 0;
}

int options_read(struct settings *s, int argc, char **argv, int *ret_rest, struct toll_error *e)
{
    const struct subcommand *sub = subcommand_by_name(argv[0]);
    s->mode = sub ? sub->options : FOR_RUN;
    s->subcommand = sub ? sub->name : argv[0];
    int r = 0;
    if (s->mode & FOR_MEASURING) {
        r = find_config(s, argc, argv, e);
        if (r == 0)
            r = config_read_of_user(s, e);
        if (r == 0 && s->config)
            r = config_read(s, s->config, e);
        if (r == 0)
            r = options_read_environment(s, e);
        options_check_variables(s);
    }
    if (r == 0)
        r = read_command_line(s, argc, argv, ret_rest, e);
    if (r == 0)
        r = join_metrics(s, e);
    s->tracker.size = sizeof s->tracker;
    s->tracker.threads = s->threads ? 32 : 0;
    s->tracker.labels = s->labels;
    return r;
}

void settings_done(struct settings *s)
{
    for (char **text = s->kept; text && *text; text++)
        free(*text);
    free(s->kept);
    for (char **sentence = s->warnings; sentence && *sentence; sentence++)
        free(*sentence);
    free(s->warnings);
    free(s->outputs);
    free(s->labels);
    free(s->metrics);
    free(s->pids);
    free(s->groups);
    free(s->sessions);
    free(s->cgroups);
    free(s->matches);
    free(s->users);
    free(s->words);
    free(s->repeat.parameters);
    free(s->fail_if);
    *s = (struct settings){0};
}

/* ==== Config ================================================================================== */

/* # options as on the command line, without the dashes
 *   label = team=blue         for every subcommand that has it
 *   [run]                     only for that subcommand, until the next heading
 *   interval = 250ms */

enum { CONFIG_BYTES = 65536 };

/* What a line is for. */
enum section { FOR_ALL, FOR_THIS, FOR_ANOTHER };

struct config {
    const char *path;
    unsigned line;
    enum section section;
    bool lists_begun[OPTIONS_AT_MOST]; /* the first value of a list replaces what another file has
                                        * listed */
};

static char *config_trim(char *text)
{
    text += strspn(text, " \t\r");
    size_t length = strlen(text);
    while (length && strchr(" \t\r", text[length - 1]))
        text[--length] = '\0';
    return text;
}

/* [run]: what follows is for that subcommand alone. */
static int config_take_section(const struct settings *s, struct config *c, char *line,
                               struct toll_error *e)
{
    size_t length = strlen(line);
    bool closed = line[length - 1] == ']';
    line[length - 1] = '\0';
    const struct subcommand *named = closed ? subcommand_by_name(line + 1) : NULL;
    if (!named || !(named->options & FOR_MEASURING))
        return err_set(e, -EINVAL,
                       "%s:%u: unknown section '%s%s' (expected [run], [attach] or [system])",
                       c->path, c->line, line, closed ? "]" : "");
    c->section = named->options & s->mode ? FOR_THIS : FOR_ANOTHER;
    return 0;
}

static int config_take_line(struct settings *s, struct config *c, char *line, struct toll_error *e)
{
    line = config_trim(line);
    if (!*line || *line == '#' || *line == ';')
        return 0;
    if (*line == '[')
        return config_take_section(s, c, line, e);
    if (c->section == FOR_ANOTHER)
        return 0;
    char *equals = strchr(line, '=');
    if (!equals)
        return err_set(e, -EINVAL, "%s:%u: invalid line '%s' (expected 'option = value')", c->path,
                       c->line, line);
    *equals = '\0';
    const char *name = config_trim(line);
    const struct option *o = option_by_name(name, s->mode);
    if (!o) {
        char where[512];
        snprintf(where, sizeof where, "%s:%u", c->path, c->line);
        return options_refuse_unknown(s, where, "", name, e);
    }
    if (o->command_line_only)
        return err_set(e, -EINVAL, "%s:%u: %s: accepted on the command line only", c->path, c->line,
                       name);
    if (!(o->modes & s->mode) && c->section == FOR_THIS)
        return err_set(e, -EINVAL,
                       "%s:%u: %s: not an option of toll %s ('toll help %s' lists the options)",
                       c->path, c->line, name, s->subcommand, s->subcommand);
    if (!(o->modes & s->mode))
        return 0; /* for another subcommand */
    char where[512];
    snprintf(where, sizeof where, "%s:%u: %s", c->path, c->line, name);
    if (o->kind == OPTION_LIST && !c->lists_begun[o - options])
        options_forget_list(s, o);
    c->lists_begun[o - options] = true;
    return options_apply(s, o, config_trim(equals + 1), where, e);
}

/* Reads to the end, since it may be a pipe. The length, or -errno. */
static ssize_t config_read_all(int fd, char *text, size_t capacity)
{
    size_t have = 0;
    while (have < capacity) {
        ssize_t n = read(fd, text + have, capacity - have);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -errno;
        if (n == 0)
            break;
        have += (size_t)n;
    }
    return (ssize_t)have;
}

/* fd: -errno when it could not be opened. */
static int config_read_open(struct settings *s, const char *path, int fd, struct toll_error *e)
{
    char *text = calloc(1, CONFIG_BYTES);
    if (!text || keep_string(s, text) < 0) { /* the settings point into it */
        free(text);
        return err_set(e, -ENOMEM, "%s: out of memory", path);
    }
    ssize_t n = fd < 0 ? fd : config_read_all(fd, text, CONFIG_BYTES - 1);
    if (n < 0)
        return err_set(e, -EINVAL, "%s: cannot read the configuration: %s", path,
                       strerror((int)-n));
    if (n == CONFIG_BYTES - 1)
        return err_set(e, -EINVAL, "%s: too large for a configuration file (expected up to 64 KiB)",
                       path);
    text[n] = '\0';
    if (memchr(text, '\0', (size_t)n))
        return err_set(e, -EINVAL, "%s: not a text file (expected 'option = value' on each line)",
                       path);
    struct config c = {.path = path, .line = 1};
    for (char *line = text, *next; line; line = next, c.line++) {
        next = strchr(line, '\n');
        if (next)
            *next++ = '\0';
        int r = config_take_line(s, &c, line, e);
        if (r < 0)
            return r;
    }
    return 0;
}

int config_read(struct settings *s, const char *path, struct toll_error *e)
{
    CLEANUP_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
    return config_read_open(s, path, fd < 0 ? -errno : fd, e);
}

/* The user has not named this file for this run: one that others may have written could make toll
 * write files in the user's name. */
int config_read_of_user(struct settings *s, struct toll_error *e)
{
    const char *base = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
    bool has_base = base && *base == '/';
    if (!has_base && (!home || *home != '/'))
        return 0;
    char *path;
    if (asprintf(&path, "%s%s/toll/config", has_base ? base : home, has_base ? "" : "/.config") < 0)
        return err_set(e, -ENOMEM, "configuration file: out of memory");
    if (keep_string(s, path) < 0) {
        free(path);
        return err_set(e, -ENOMEM, "configuration file: out of memory");
    }
    struct stat file;
    CLEANUP_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    int why = fd < 0 ? errno : 0;
    if (fd < 0 && (why == ENOENT || stat(path, &file) < 0))
        return 0; /* not there, or the directory of another user */
    if (fd < 0 || fstat(fd, &file) < 0) {
        options_warn(s, "%s: ignored: %s", path, strerror(why ? why : errno));
        return 0;
    }
    if (!S_ISREG(file.st_mode))
        options_warn(s, "%s: ignored: not a regular file", path);
    else if (file.st_uid != geteuid() && file.st_uid != 0)
        options_warn(s, "%s: ignored: owned by another user", path);
    else if (file.st_mode & (S_IWGRP | S_IWOTH))
        options_warn(s, "%s: ignored: other users can write to it (chmod go-w to use it)", path);
    else
        return config_read_open(s, path, fd, e);
    return 0;
}
