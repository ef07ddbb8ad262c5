/* SPDX-License-Identifier: MIT
 * Where settings come from: configuration file, environment, command line. */
#include "cli/options.h"

#include "base/memory.h"
#include "base/text/scan.h"
#include "base/util.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

/* ==== Options ================================================================================= */

const struct subcommand *subcommand_by_name(const char *name)
{
    for (const struct subcommand *s = subcommands; s->name; s++)
        if (strcmp(s->name, name) == 0)
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

bool option_is_given(const struct settings *s, const char *name)
{
    return s->given & BIT(option_by_name(name) - options);
}

static int options_append(const char ***list, const char *value)
{
    return list_append(list, value) ? 0 : -ENOMEM;
}

int options_apply(struct settings *s, const struct option *o, const char *value, const char *source,
                  struct toll_error *e)
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
    case OPTION_TEXT: *(const char **)field = value; break;
    case OPTION_LIST: r = options_append(field, value); break;
    case OPTION_OWN: break;
    }
    if (r == -EINVAL || choice < 0)
        return err_set(e, -EINVAL, "%s: '%s' is not accepted; it takes %s", source, value,
                       *accepted ? accepted : inner.message);
    s->given |= BIT(o - options);
    return r < 0 ? err_set(e, r, "no memory for the options") : 0;
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
        return err_set(e, -ENOMEM, "no memory for the options");
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

static int options_read_environment(struct settings *s, struct toll_error *e)
{
    for (const struct option *o = options; o->name; o++) {
        char variable[64];
        option_variable(o, variable, sizeof variable);
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
    char shown[80];              /* "--interval" or "-i" */
};

/* -q, -qv, -i1s, -i=1s */
static void take_letter(struct arguments *a, struct given *g)
{
    snprintf(g->shown, sizeof g->shown, "-%c", *a->more);
    g->option = option_by_letter(*a->more++);
    if (g->option && g->option->value && *a->more) {
        g->value = a->more + (*a->more == '=');
        a->more = NULL;
    } else if (!*a->more) {
        a->more = NULL;
    }
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
            g->option = option_by_name(g->shown + 2);
            g->value = word[length] ? word + length + 1 : NULL;
        } else {
            a->more = word + 1;
        }
    }
    if (a->more)
        take_letter(a, g);
    if (!g->option)
        return err_set(e, -EINVAL, "there is no option %s; 'toll help %s' lists them", g->shown,
                       s->subcommand);
    if (!(g->option->modes & s->mode))
        return err_set(e, -EINVAL, "%s is not an option of toll %s; 'toll help %s' lists them",
                       g->shown, s->subcommand, s->subcommand);
    if (g->option->value && !g->value && a->at < a->argc)
        g->value = a->argv[a->at++];
    if (g->option->value && !g->value)
        return err_set(e, -EINVAL, "%s needs a value: %s", g->shown, g->option->value);
    return 1;
}

/* The next option, or a word between options where options may follow words: then g->option is
 * NULL, and the word goes to the list if there is one. */
static int next_word(struct settings *s, struct arguments *a, struct given *g, const char ***words,
                     struct toll_error *e)
{
    int r = options_next_option(s, a, g, e);
    if (r != 0 || s->mode == FOR_RUN || a->at >= a->argc || a->ended)
        return r;
    const char *word = a->argv[a->at++];
    if (words && options_append(words, word) < 0)
        return err_set(e, -ENOMEM, "no memory for the options");
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
    uint64_t lists_replaced = 0; /* what other sources listed gives way at the first value */
    int r;
    while ((r = next_word(s, &a, &g, &s->words, e)) > 0) {
        if (!g.option)
            continue;
        if (g.option->kind == OPTION_LIST && !(lists_replaced & BIT(g.option - options))) {
            options_forget_list(s, g.option);
            lists_replaced |= BIT(g.option - options);
        }
        r = options_apply(s, g.option, g.value, g.shown, e);
        if (r < 0)
            return r;
    }
    s->outputs_on_command_line = lists_replaced & BIT(option_by_name("output") - options);
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
        return err_set(e, -ENOMEM, "no memory for the options");
    }
    s->tracker.metrics = joined.data;
    return 0;
}

int options_read(struct settings *s, int argc, char **argv, int *ret_rest, struct toll_error *e)
{
    const struct subcommand *sub = subcommand_by_name(argv[0]);
    s->mode = sub ? sub->options : FOR_RUN;
    s->subcommand = argv[0];
    int r = 0;
    if (s->mode & FOR_MEASURING) {
        r = find_config(s, argc, argv, e);
        if (r == 0 && s->config)
            r = config_read(s, s->config, e);
        if (r == 0)
            r = options_read_environment(s, e);
    }
    if (r == 0)
        r = read_command_line(s, argc, argv, ret_rest, e);
    if (r == 0)
        r = join_metrics(s, e);
    s->tracker.size = sizeof s->tracker;
    s->tracker.labels = s->labels;
    return r;
}

void settings_done(struct settings *s)
{
    for (char **text = s->kept; text && *text; text++)
        free(*text);
    free(s->kept);
    free(s->outputs);
    free(s->labels);
    free(s->metrics);
    free(s->groups);
    free(s->sessions);
    free(s->cgroups);
    free(s->matches);
    free(s->users);
    free(s->words);
    *s = (struct settings){0};
}

/* ==== Config ================================================================================== */

/* # options as on the command line, without the dashes
 *   label = team=blue         for every subcommand that has it
 *   [run]                     only for that subcommand, until the next heading
 *   interval = 250ms */

enum { CONFIG_BYTES = 65536 };

static char *config_trim(char *text)
{
    text += strspn(text, " \t\r");
    size_t length = strlen(text);
    while (length && strchr(" \t\r", text[length - 1]))
        text[--length] = '\0';
    return text;
}

/* What a line is for. */
enum section { FOR_EVERYBODY, FOR_THIS, FOR_ANOTHER };

/* [run]: what follows is for that subcommand alone. */
static int take_section(const struct settings *s, char *line, enum section *section,
                        const char *where, struct toll_error *e)
{
    size_t length = strlen(line);
    bool closed = line[length - 1] == ']';
    line[length - 1] = '\0';
    const struct subcommand *named = closed ? subcommand_by_name(line + 1) : NULL;
    if (!named || !named->options)
        return err_set(e, -EINVAL,
                       "%s: '%s%s' is not a section; there are [run], [attach] and "
                       "[system]",
                       where, line, closed ? "]" : "");
    *section = named->options & s->mode ? FOR_THIS : FOR_ANOTHER;
    return 0;
}

static int config_take_line(struct settings *s, char *line, enum section *section,
                            const char *where, struct toll_error *e)
{
    line = config_trim(line);
    if (!*line || *line == '#' || *line == ';')
        return 0;
    if (*line == '[')
        return take_section(s, line, section, where, e);
    if (*section == FOR_ANOTHER)
        return 0;
    char *equals = strchr(line, '=');
    if (!equals)
        return err_set(e, -EINVAL, "%s: '%s' is not of the form 'option = value'", where, line);
    *equals = '\0';
    const char *name = config_trim(line);
    const struct option *o = option_by_name(name);
    if (!o || o->command_line_only)
        return err_set(e, -EINVAL, "%s: there is no option '%s'; 'toll help %s' lists them", where,
                       name, s->subcommand);
    if (!(o->modes & s->mode) && *section == FOR_THIS)
        return err_set(e, -EINVAL,
                       "%s: '%s' is not an option of toll %s; 'toll help %s' lists them", where,
                       name, s->subcommand, s->subcommand);
    if (!(o->modes & s->mode))
        return 0; /* for another subcommand */
    return options_apply(s, o, config_trim(equals + 1), where, e);
}

/* A pipe will do, so it is read to its end. The length, or -errno. */
static ssize_t config_read_all(const char *path, char *text, size_t capacity)
{
    CLEANUP_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
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

int config_read(struct settings *s, const char *path, struct toll_error *e)
{
    char *text = malloc(CONFIG_BYTES);
    if (!text || keep_string(s, text) < 0) { /* the settings point into it */
        free(text);
        return err_set(e, -ENOMEM, "no memory for the configuration file");
    }
    ssize_t n = config_read_all(path, text, CONFIG_BYTES - 1);
    if (n < 0)
        return err_set(e, -EINVAL, "cannot read the configuration file '%s': %s", path,
                       strerror((int)-n));
    if (n == CONFIG_BYTES - 1)
        return err_set(e, -EINVAL, "the configuration file '%s' is larger than 64 KiB", path);
    text[n] = '\0';
    if (memchr(text, '\0', (size_t)n))
        return err_set(e, -EINVAL, "the configuration file '%s' is not a text", path);
    unsigned number = 1;
    enum section section = FOR_EVERYBODY;
    for (char *line = text, *next; line; line = next, number++) {
        next = strchr(line, '\n');
        if (next)
            *next++ = '\0';
        char where[256];
        snprintf(where, sizeof where, "%s, line %u", path, number);
        int r = config_take_line(s, line, &section, where, e);
        if (r < 0)
            return r;
    }
    return 0;
}
