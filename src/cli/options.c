/* SPDX-License-Identifier: MIT */
#include "cli/options.h"

#include "base/scan.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

/* ---- Setters --------------------------------------------------------------------------------- */

/* The index of a word among choices with blanks between, or -1. */
static int choose(const char *choices, const char *word)
{
    size_t length = strlen(word);
    for (int i = 0; *choices; i++) {
        size_t this = strcspn(choices, " ");
        if (this == length && strncmp(choices, word, length) == 0)
            return i;
        choices += this + strspn(choices + this, " ");
    }
    return -1;
}

static int append(const char ***list, const char *value)
{
    size_t count = 0;
    while (*list && (*list)[count])
        count++;
    const char **longer = realloc(*list, (count + 2) * sizeof *longer);
    if (!longer)
        return -ENOMEM;
    longer[count] = value;
    longer[count + 1] = NULL;
    *list = longer;
    return 0;
}

static int set_interval(struct settings *s, const char *value, struct toll_error *e)
{
    if (strcmp(value, "auto") == 0) {
        s->tracker.interval_ns = 0;
        return 0;
    }
    uint64_t ns;
    if (scan_duration(value, &ns) < 0 || ns < NS_PER_MS || ns > 86400 * NS_PER_SECOND)
        return err_set(e, -EINVAL, "'auto', or a time from 1ms to 1d such as 250ms, 1s or 2m");
    s->tracker.interval_ns = ns;
    return 0;
}

static int set_output(struct settings *s, const char *value, struct toll_error *e)
{
    if (strcmp(value, "-") == 0)
        return err_set(e, -EINVAL, "a file: stdout belongs to the command that is run");
    if (!*value)
        return err_set(e, -EINVAL, "a file name");
    return append(&s->outputs, value);
}

static int set_metrics(struct settings *s, const char *value, struct toll_error *e)
{
    (void)e;
    s->tracker.metrics = value;
    return 0;
}

static int set_quiet(struct settings *s, const char *value, struct toll_error *e)
{
    (void)e;
    s->quiet = *value == 'y';
    return 0;
}

static int set_verbose(struct settings *s, const char *value, struct toll_error *e)
{
    (void)e;
    s->verbose = *value == 'y';
    return 0;
}

static int set_summary(struct settings *s, const char *value, struct toll_error *e)
{
    (void)e;
    s->summary = (enum summary_format)choose("text json none", value);
    return 0;
}

static int set_summary_to(struct settings *s, const char *value, struct toll_error *e)
{
    if (!*value)
        return err_set(e, -EINVAL, "a file name or the number of an open descriptor");
    s->summary_to = value;
    return 0;
}

static int set_name(struct settings *s, const char *value, struct toll_error *e)
{
    (void)e;
    s->tracker.name = value;
    return 0;
}

static int set_label(struct settings *s, const char *value, struct toll_error *e)
{
    const char *equals = strchr(value, '=');
    if (!equals || equals == value)
        return err_set(e, -EINVAL, "KEY=VALUE");
    return append(&s->labels, value);
}

static int set_no_children(struct settings *s, const char *value, struct toll_error *e)
{
    (void)e;
    s->tracker.no_children = *value == 'y';
    return 0;
}

static int set_memory(struct settings *s, const char *value, struct toll_error *e)
{
    (void)e;
    s->tracker.memory = (enum toll_memory)choose("auto rss pss", value);
    return 0;
}

static int set_budget(struct settings *s, const char *value, struct toll_error *e)
{
    struct scan text = scan_string(value);
    double percent;
    bool number = scan_decimal(&text, &percent);
    if (number)
        scan_word(&text, "%");
    if (!number || !scan_done(&text) || percent <= 0 || percent > 100)
        return err_set(e, -EINVAL, "a percentage above 0 and up to 100, such as 0.5");
    s->tracker.budget_percent = percent;
    return 0;
}

static int set_processes(struct settings *s, const char *value, struct toll_error *e)
{
    (void)e;
    s->tracker.processes = (enum toll_processes)choose("top none all", value);
    return 0;
}

static int set_wait(struct settings *s, const char *value, struct toll_error *e)
{
    (void)e;
    s->tracker.wait = (enum toll_wait)choose("main all", value);
    return 0;
}

static int set_config(struct settings *s, const char *value, struct toll_error *e)
{
    (void)e;
    s->config = value;
    return 0;
}

static int set_help(struct settings *s, const char *value, struct toll_error *e)
{
    (void)e;
    s->help = *value == 'y';
    return 0;
}

/* ---- The table ------------------------------------------------------------------------------- */

const struct option options[] = {
    {"interval", 'i', "auto|TIME", NULL, false, false,
     "time between samples, from 1ms up; auto begins with 10ms and grows with the age of the run "
     "to 1s",
     set_interval},
    {"output", 'o', "FILE", NULL, true, false,
     "write to FILE; its suffix tells the format: .csv, .jsonl (samples), .json, .txt (summary)",
     set_output},
    {"metrics", 'm', "GLOB", NULL, false, false,
     "only the metrics with these names, with commas between and * for any letters; see 'toll "
     "metrics'",
     set_metrics},
    {"quiet", 'q', NULL, NULL, false, false, "no summary and no notes on the terminal", set_quiet},
    {"verbose", 'v', NULL, NULL, false, false,
     "every figure in the summary, also those that are zero or unknown", set_verbose},
    {"summary", 0, "FORMAT", "text json none", false, false, "what to print at the end",
     set_summary},
    {"summary-to", 0, "FILE|FD", NULL, false, false,
     "where the summary goes, a file or the number of an open descriptor, instead of stderr",
     set_summary_to},
    {"name", 0, "NAME", NULL, false, false, "what the run is called, instead of the command's name",
     set_name},
    {"label", 0, "KEY=VALUE", NULL, true, false, "a label of the run", set_label},
    {"no-children", 0, NULL, NULL, false, false, "measure the command alone, not what it starts",
     set_no_children},
    {"memory", 0, "KIND", "auto rss pss", false, false,
     "shared memory divided among its users (PSS) is dear to read: as the budget allows, never, or "
     "always",
     set_memory},
    {"budget", 0, "PERCENT", NULL, false, false,
     "share of one core that dear reads may take; 1 by default", set_budget},
    {"processes", 0, "WHICH", "top none all", false, false,
     "rows of single processes in .jsonl: the twenty largest once a second, none, or all always",
     set_processes},
    {"wait", 0, "FOR", "main all", false, false,
     "end with the command, or with the last process it left behind", set_wait},
    {"config", 0, "FILE", NULL, false, true, "read options from FILE, lines of 'option = value'",
     set_config},
    {"help", 'h', NULL, NULL, false, true, "show this", set_help},
    {0},
};

const struct option *option_by_name(const char *name)
{
    for (const struct option *o = options; o->name; o++)
        if (strcmp(o->name, name) == 0)
            return o;
    return NULL;
}

static const struct option *option_by_letter(char letter)
{
    for (const struct option *o = options; o->name; o++)
        if (o->letter == letter)
            return o;
    return NULL;
}

void option_variable(const struct option *o, char *ret, size_t capacity)
{
    size_t n = (size_t)snprintf(ret, capacity, "TOLL_%s", o->name);
    for (size_t i = 0; i < n && i + 1 < capacity; i++)
        ret[i] = ret[i] == '-' ? '_' : (char)toupper((unsigned char)ret[i]);
}

/* ---- Applying -------------------------------------------------------------------------------- */

/* In files and variables a switch takes yes or no. */
static const char *as_switch(const char *value)
{
    int i = choose("yes true on 1 no false off 0", value);
    return i < 0 ? NULL : i < 4 ? "yes" : "no";
}

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

int options_apply(struct settings *s, const struct option *o, const char *value, const char *source,
                  struct toll_error *e)
{
    char accepted[128] = "";
    const char *given = value;
    if (!o->value && value) {
        value = as_switch(value);
        snprintf(accepted, sizeof accepted, "yes or no");
    } else if (!o->value) {
        value = "yes";
    } else if (o->choices && choose(o->choices, value) < 0) {
        list_choices(accepted, sizeof accepted, o->choices);
        value = NULL;
    }
    struct toll_error inner = {0};
    int r = value ? o->set(s, value, &inner) : -EINVAL;
    if (r == -EINVAL)
        return err_set(e, r, "%s: '%s' is not accepted; it takes %s", source, given,
                       *accepted ? accepted : inner.message);
    return r < 0 ? err_set(e, r, "no memory for the options") : 0;
}

static void forget_list(struct settings *s, const struct option *o)
{
    const char ***list = o->set == set_output ? &s->outputs : &s->labels;
    free(*list);
    *list = NULL;
}

static int keep_string(struct settings *s, char *text)
{
    size_t count = 0;
    while (s->kept && s->kept[count])
        count++;
    char **longer = realloc(s->kept, (count + 2) * sizeof *longer);
    if (!longer)
        return -ENOMEM;
    longer[count] = text;
    longer[count + 1] = NULL;
    s->kept = longer;
    return 0;
}

/* A list in a variable has blanks between its values. */
static int apply_list(struct settings *s, const struct option *o, const char *values,
                      const char *source, struct toll_error *e)
{
    forget_list(s, o);
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

static int read_environment(struct settings *s, struct toll_error *e)
{
    for (const struct option *o = options; o->name; o++) {
        char variable[64];
        option_variable(o, variable, sizeof variable);
        const char *value = getenv(variable);
        if (!value || o->command_line_only)
            continue;
        int r = o->repeats ? apply_list(s, o, value, variable, e)
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
};

/* One option as it was written. */
struct given {
    const struct option *option; /* NULL: there is no such option */
    const char *value;           /* NULL: none */
    char shown[80];              /* "--interval" or "-i" */
};

/* --name, --name=value */
static void take_long(const char *word, struct given *g)
{
    const char *equals = strchr(word, '=');
    int length = (int)(equals ? equals - word : (ptrdiff_t)strlen(word));
    snprintf(g->shown, sizeof g->shown, "%.*s", length, word);
    g->option = option_by_name(g->shown + 2);
    g->value = equals ? equals + 1 : NULL;
}

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
static int next_option(struct arguments *a, struct given *g, struct toll_error *e)
{
    *g = (struct given){0};
    if (!a->more) {
        const char *word = a->at < a->argc ? a->argv[a->at] : NULL;
        if (!word || word[0] != '-' || !word[1])
            return 0;
        a->at++;
        if (strcmp(word, "--") == 0)
            return 0;
        if (word[1] == '-')
            take_long(word, g);
        else
            a->more = word + 1;
    }
    if (a->more)
        take_letter(a, g);
    if (!g->option)
        return err_set(e, -EINVAL, "there is no option %s; 'toll help run' lists them", g->shown);
    if (g->option->value && !g->value && a->at < a->argc)
        g->value = a->argv[a->at++];
    if (g->option->value && !g->value)
        return err_set(e, -EINVAL, "%s needs a value: %s", g->shown, g->option->value);
    return 1;
}

/* The configuration file is named on the command line but read before it. */
static int find_config(struct settings *s, int argc, char **argv, struct toll_error *e)
{
    struct arguments a = {.argc = argc, .argv = argv, .at = 1};
    struct given g;
    int r;
    s->config = getenv("TOLL_CONFIG");
    while ((r = next_option(&a, &g, e)) > 0)
        if (g.option->set == set_config)
            s->config = g.value;
    return r;
}

static int read_command_line(struct settings *s, int argc, char **argv, int *ret_rest,
                             struct toll_error *e)
{
    struct arguments a = {.argc = argc, .argv = argv, .at = 1};
    struct given g;
    bool list_began[2] = {false, false};
    int r;
    while ((r = next_option(&a, &g, e)) > 0) {
        bool *began = &list_began[g.option->set == set_label];
        if (g.option->repeats && !*began) {
            forget_list(s, g.option);
            *began = true;
        }
        r = options_apply(s, g.option, g.value, g.shown, e);
        if (r < 0)
            return r;
    }
    *ret_rest = a.at;
    return r;
}

int options_read(struct settings *s, int argc, char **argv, int *ret_rest, struct toll_error *e)
{
    int r = find_config(s, argc, argv, e);
    if (r == 0 && s->config)
        r = config_read(s, s->config, e);
    if (r == 0)
        r = read_environment(s, e);
    if (r == 0)
        r = read_command_line(s, argc, argv, ret_rest, e);
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
    *s = (struct settings){0};
}
