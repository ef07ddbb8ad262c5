/* SPDX-License-Identifier: MIT
 * The options of gpu-tracker as data: for its command line, its JSON file, its help and its
 * completions. */
#include "cli/gpu_tracker/command.h"

#include "base/err.h"
#include "base/io/file.h"
#include "base/memory.h"
#include "base/text/json.h"
#include "cli/cli.h"

#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>

/* ==== Gpu tracker options ===================================================================== */

enum value_kind { IS_TEXT, IS_NUMBER, IS_SWITCH, IS_WORDS, IS_IGNORED };

struct tracker_option {
    const char *name; /* NULL: a letter alone, or in the file alone */
    char letter;      /* 0: none */
    const char *value;
    unsigned tasks;      /* TASK_… it is for */
    size_t at;           /* in struct gpu_tracker */
    const char *keyword; /* its name in the JSON file, or NULL */
    enum value_kind kind;
    const char *help;
    const char *choices; /* words that it takes, with blanks between; NULL: anything */
};

#define AT(field) offsetof(struct gpu_tracker, field)
#define FILES     (TASK_ANALYZE | TASK_COMPARE)
#define SIZES     "bytes kilobytes megabytes gigabytes terabytes"

/* clang-format off */
static const struct tracker_option tracker_options[] = {
    {"execute",      'e', "<command>",        TASK_EXECUTE, AT(execute), NULL, IS_TEXT,
     "the command to run, with its arguments, in quotes; split as a shell splits words", NULL},
    {"output",       'o', "<output>",         TASK_EXECUTE | FILES, AT(output), NULL, IS_TEXT,
     "write the results to a file (default: stdout)", NULL},
    {"format",       'f', "<format>",         TASK_EXECUTE | FILES, AT(format), NULL, IS_TEXT,
     "format of the results: text, json or pickle (default: text)", "text json pickle"},
    {"tconfig",      0,   "<config-file>",    TASK_EXECUTE, AT(config), NULL, IS_TEXT,
     "read the options below from a JSON file, by their names in the Python class; the command line overrides it", NULL},
    {"st",           0,   "<sleep-time>",     TASK_EXECUTE, AT(sleep_time), "sleep_time", IS_NUMBER,
     "seconds between samples (default: 1 with --tf, otherwise adaptive)", NULL},
    {"ru",           0,   "<ram-unit>",       TASK_EXECUTE, AT(ram_unit), "ram_unit", IS_TEXT,
     "bytes, kilobytes, megabytes, gigabytes or terabytes", SIZES},
    {"gru",          0,   "<gpu-ram-unit>",   TASK_EXECUTE, AT(gpu_ram_unit), "gpu_ram_unit", IS_TEXT,
     "bytes, kilobytes, megabytes, gigabytes or terabytes", SIZES},
    {"tu",           0,   "<time-unit>",      TASK_EXECUTE, AT(time_unit), "time_unit", IS_TEXT,
     "seconds, minutes, hours or days", "seconds minutes hours days"},
    {"nec",          0,   "<num-cores>",      TASK_EXECUTE, AT(cores), "n_expected_cores", IS_NUMBER,
     "number of cores that the command is expected to use (default: all)", NULL},
    {"guuids",       0,   "<gpu-uuids>",      TASK_EXECUTE, AT(gpu_uuids), "gpu_uuids", IS_WORDS,
     "comma-separated UUIDs of the GPUs whose utilisation counts (default: all)", NULL},
    {"disable-logs", 0,   NULL,               TASK_EXECUTE, AT(disable_logs), "disable_logs", IS_SWITCH,
     "print no warnings", NULL},
    {"gb",           0,   "<gpu-brand>",      TASK_EXECUTE, AT(gpu_brand), "gpu_brand", IS_TEXT,
     "nvidia or amd (default: GPUs of every brand)", "nvidia amd"},
    {"tf",           0,   "<tracking-file>",  TASK_EXECUTE | TASK_ANALYZE, AT(tracking_file), "tracking_file", IS_TEXT,
     "file with the figures of every sample, .csv or .sqlite, which analyze reads", NULL},
    {"overwrite",    0,   NULL,               TASK_EXECUTE, AT(overwrite), "overwrite", IS_SWITCH,
     "overwrite an existing tracking file", NULL},
    {"stf",          0,   "<sub-track-file>", TASK_COMBINE | TASK_ANALYZE, AT(sub_tracking_file), NULL, IS_TEXT,
     "file with the calls of code blocks, .csv or .sqlite, with the columns process_id, code_block_name, position (0: start, 1: stop) and timestamp", NULL},
    {NULL,           'p', "<file-path>",      TASK_COMBINE, AT(paths), NULL, IS_TEXT,
     "sub-tracking file to combine, or one directory with such files", NULL},
    {"cconfig",      0,   "<config-file>",    TASK_COMPARE, AT(config), NULL, IS_TEXT,
     "read file_path_map and statistic from a JSON file; -m adds to it, --stat overrides it", NULL},
    {NULL,           'm', "<name>=<file-path>", TASK_COMPARE, AT(sessions), NULL, IS_TEXT,
     "name of a tracking session, and its json or pickle file from sub-track analyze", NULL},
    {"stat",         0,   "<statistic>",      TASK_COMPARE, AT(statistic), NULL, IS_TEXT,
     "statistic to compare: min, max, mean or std (default: mean)", "min max mean std"},
    /* In the file alone; the first two are of processes of the original that there are none of here. */
    {NULL,           0,   NULL,               0, 0, "n_join_attempts", IS_IGNORED, NULL, NULL},
    {NULL,           0,   NULL,               0, 0, "join_timeout", IS_IGNORED, NULL, NULL},
    {NULL,           0,   NULL,               0, AT(backup), "resource_usage_file", IS_TEXT, NULL, NULL},
};

/* clang-format on */

void gpu_tracker_done(struct gpu_tracker *g)
{
    for (char **text = g->kept; text && *text; text++)
        free(*text);
    free(g->kept);
    free(g->paths);
    free(g->sessions);
}

/* ---- The command line ------------------------------------------------------------------------ */

/* The field of an option that does not repeat. */
static const char **gpu_tracker_text_at(struct gpu_tracker *g, const struct tracker_option *o)
{
    return (const char **)((char *)g + o->at);
}

static int gpu_tracker_options_take(struct gpu_tracker *g, const struct tracker_option *o,
                                    const char *value)
{
    if (!o->name) /* -p and -m repeat */
        return list_append((char *)g + o->at, value) ? 0 : -ENOMEM;
    *gpu_tracker_text_at(g, o) = value ? value : "";
    return 0;
}

/* getopt_long returns options of the table as their index plus BEYOND. */
enum { BEYOND = 256 };

/* What getopt_long stumbled over: a letter, or the word before the one that comes next. */
static int wrong_option(int c, char *const *argv, struct toll_error *e)
{
    char letter[3] = {'-', (char)optopt, '\0'};
    bool is_letter = optopt > 0 && optopt < BEYOND && optopt != 'h' && optopt != 'v';
    const char *word = is_letter ? letter : argv[optind - 1];
    if (c == ':')
        return err_set(e, -EINVAL, "%s: value missing", word);
    return err_set(e, -EINVAL,
                   !is_letter && strchr(word, '=') && optopt ? "%s: no value expected"
                                                             : "unknown option '%s'",
                   word);
}

static int gpu_tracker_options_read_options(struct gpu_tracker *g, int argc, char **argv,
                                            unsigned *ret_tasks, struct toll_error *e)
{
    struct option names[ARRAY_LEN(tracker_options) + 3] = {{"help", no_argument, NULL, 'h'},
                                                           {"version", no_argument, NULL, 'v'}};
    size_t count = 2;
    for (size_t i = 0; i < ARRAY_LEN(tracker_options); i++)
        if (tracker_options[i].name)
            names[count++] = (struct option){
                tracker_options[i].name, tracker_options[i].value ? required_argument : no_argument,
                NULL, BEYOND + (int)i};
    opterr = 0;
    for (int c; (c = getopt_long(argc, argv, ":hve:o:f:p:m:", names, NULL)) != -1;) {
        const struct tracker_option *o = c >= BEYOND ? &tracker_options[c - BEYOND] : NULL;
        for (size_t i = 0; c < BEYOND && i < ARRAY_LEN(tracker_options); i++)
            if (tracker_options[i].letter == c)
                o = &tracker_options[i];
        if (c == 'h')
            g->help = true;
        else if (c == 'v')
            g->version = true;
        else if (!o)
            return wrong_option(c, argv, e);
        if (o && gpu_tracker_options_take(g, o, optarg) < 0)
            return err_set(e, -ENOMEM, "out of memory");
        if (o)
            *ret_tasks &= o->tasks;
    }
    return 0;
}

/* ==== Gpu tracker config ====================================================================== */

/* The JSON file that gpu-tracker takes in the place of options. */

/* A copy that lives as long as the options. */
static const char *gpu_tracker_config_keep(struct gpu_tracker *g, struct buf *text)
{
    if (buf_failed(text) || !list_append(&g->kept, text->data)) {
        buf_done(text);
        return NULL;
    }
    return text->data;
}

static bool gpu_tracker_config_read_value(struct gpu_tracker *g, struct json_in *j,
                                          const struct tracker_option *o)
{
    struct scan text;
    struct buf value = {0};
    enum json_kind kind = json_in_next(j);
    const char *start = j->text.at;
    if (kind == JSON_NULL)
        return json_in_null(j); /* as if it were not there */
    if (o->kind == IS_SWITCH) {
        bool on = false;
        if (json_in_bool(j, &on) && on && !*gpu_tracker_text_at(g, o))
            *gpu_tracker_text_at(g, o) = "";
        return !j->failed;
    }
    if (o->kind == IS_TEXT && json_in_string(j, &text)) {
        buf_add(&value, text.at, (size_t)(text.end - text.at));
    } else if (o->kind == IS_NUMBER && kind == JSON_NUMBER) {
        json_in_skip(j);
        buf_add(&value, start, (size_t)(j->text.at - start));
    } else if (o->kind == IS_WORDS && json_in_array(j)) {
        while (json_in_item(j) && json_in_string(j, &text)) {
            buf_puts(&value, value.length ? "," : "");
            buf_add(&value, text.at, (size_t)(text.end - text.at));
        }
    }
    buf_puts(&value, ""); /* an empty one is a text too */
    if (j->failed || (kind != JSON_STRING && kind != JSON_NUMBER && kind != JSON_ARRAY)) {
        buf_done(&value);
        return json_in_fail(j);
    }
    const char *kept = gpu_tracker_config_keep(g, &value);
    if (kept && !*gpu_tracker_text_at(g, o))
        *gpu_tracker_text_at(g, o) = kept;
    return kept;
}

static int read_keyword(struct gpu_tracker *g, struct json_in *j, struct scan key,
                        struct toll_error *e)
{
    char name[64];
    size_t length = min_u64((uint64_t)(key.end - key.at), sizeof name - 1);
    memcpy(name, key.at, length);
    name[length] = '\0';
    for (const struct tracker_option *o = tracker_options;
         o < tracker_options + ARRAY_LEN(tracker_options); o++) {
        if (!o->keyword || strcmp(o->keyword, name) != 0)
            continue;
        if (o->kind == IS_IGNORED)
            json_in_skip(j);
        else if (!gpu_tracker_config_read_value(g, j, o))
            return err_set(e, -EINVAL, "%s: the value of \"%s\" has the wrong type", g->config,
                           name);
        return 0;
    }
    return err_set(e, -EINVAL, "%s: Tracker.__init__() got an unexpected keyword argument '%s'",
                   g->config, name);
}

/* "file_path_map": {"A": "a.json", …}; -m comes behind those. */
static int gpu_tracker_config_read_sessions(struct gpu_tracker *g, struct json_in *j)
{
    const char **given = g->sessions;
    struct scan key, path;
    g->sessions = NULL;
    bool good = json_in_object(j);
    while (good && json_in_key(j, &key)) {
        struct buf text = {0};
        buf_add(&text, key.at, (size_t)(key.end - key.at));
        buf_putc(&text, '=');
        good = json_in_string(j, &path);
        if (good)
            buf_add(&text, path.at, (size_t)(path.end - path.at));
        const char *kept = gpu_tracker_config_keep(g, &text);
        good = good && kept && list_append(&g->sessions, kept);
    }
    for (const char **s = given; s && *s; s++)
        good &= list_append(&g->sessions, *s);
    free(given);
    return good ? 0 : -EINVAL;
}

static int read_comparison(struct gpu_tracker *g, struct json_in *j, struct scan key,
                           struct toll_error *e)
{
    static const struct tracker_option statistic = {
        .at = offsetof(struct gpu_tracker, statistic), .keyword = "statistic", .kind = IS_TEXT};
    if (json_in_is(&key, "statistic"))
        return gpu_tracker_config_read_value(g, j, &statistic)
                   ? 0
                   : err_set(e, -EINVAL, "%s: the statistic is not a string", g->config);
    if (json_in_is(&key, "file_path_map"))
        return gpu_tracker_config_read_sessions(g, j) == 0
                   ? 0
                   : err_set(e, -EINVAL, "%s: file_path_map does not map names to files",
                             g->config);
    return err_set(e, -EINVAL, "%s: unknown key (expected file_path_map and statistic)", g->config);
}

/* The file that g->config names; the command line wins. -errno and a sentence. */
static int gpu_tracker_read_config(struct gpu_tracker *g, struct toll_error *e)
{
    struct buf text = {0};
    struct json_in j = {0};
    struct scan key;
    CLEANUP_CLOSE int fd = open(g->config, O_RDONLY | O_CLOEXEC);
    int r = fd < 0 ? -errno : file_reread_whole(fd, FILE_ANY_LINE, &text);
    if (r < 0) {
        buf_done(&text);
        return err_set(e, r, "%s: %s", g->config, strerror(-r));
    }
    json_in_begin(&j, text.data ? text.data : "", text.length);
    bool is_object = json_in_object(&j);
    while (r == 0 && is_object && json_in_key(&j, &key))
        r = g->task == TASK_COMPARE ? read_comparison(g, &j, key, e) : read_keyword(g, &j, key, e);
    if (r == 0 && !json_in_end(&j))
        r = err_set(e, -EINVAL, "%s: malformed JSON (expected one object)", g->config);
    json_in_done(&j);
    buf_done(&text);
    return r;
}

/* ==== Gpu tracker command line ================================================================ */

static unsigned task_of(int count, char *const *words)
{
    if (count == 0)
        return TASK_EXECUTE;
    if (count != 2 || strcmp(words[0], "sub-track") != 0)
        return 0;
    return strcmp(words[1], "combine") == 0   ? TASK_COMBINE
           : strcmp(words[1], "analyze") == 0 ? TASK_ANALYZE
           : strcmp(words[1], "compare") == 0 ? TASK_COMPARE
                                              : 0;
}

/* What it needs and has not got, or NULL. */
static const char *gpu_tracker_options_missing(const struct gpu_tracker *g)
{
    switch (g->task) {
    case TASK_EXECUTE: return g->execute ? NULL : "--execute=<command>";
    case TASK_COMBINE: return g->sub_tracking_file ? NULL : "--stf=<sub-track-file>";
    case TASK_ANALYZE:
        return !g->tracking_file       ? "--tf=<tracking-file>"
               : !g->sub_tracking_file ? "--stf=<sub-track-file>"
                                       : NULL;
    default: return NULL;
    }
}

static int wrong_words(unsigned task, int count, char *const *words, struct toll_error *e)
{
    if (task)
        return err_set(e, -EINVAL, "these options cannot be combined");
    if (strcmp(words[0], "sub-track") != 0)
        return err_set(e, -EINVAL, "unexpected argument '%s' (a command is one argument after -e)",
                       words[0]);
    return err_set(e, -EINVAL, "sub-track: expected combine, analyze or compare%s%s",
                   count > 1 ? ", not " : "", count > 1 ? words[count == 2 ? 1 : 2] : "");
}

int gpu_tracker_read(struct gpu_tracker *g, int argc, char **argv, struct toll_error *e)
{
    unsigned tasks = TASK_EXECUTE | TASK_COMBINE | TASK_ANALYZE | TASK_COMPARE;
    *e = (struct toll_error){0};
    int r = gpu_tracker_options_read_options(g, argc, argv, &tasks, e);
    g->shows_usage = r == -EINVAL;
    if (r < 0 || g->help || g->version)
        return r;
    unsigned task = task_of(argc - optind, argv + optind);
    g->task = task & tasks;
    g->shows_usage = !g->task || gpu_tracker_options_missing(g);
    if (!g->task)
        return wrong_words(task, argc - optind, argv + optind, e);
    if (gpu_tracker_options_missing(g))
        return err_set(e, -EINVAL, "%s is missing", gpu_tracker_options_missing(g));
    return g->config ? gpu_tracker_read_config(g, e) : 0;
}

/* ==== Gpu tracker help ======================================================================== */

/* What gpu-tracker says of itself. */

void gpu_tracker_usage(struct buf *b)
{
    static const struct {
        unsigned task;
        const char *words;
    } lines[] = {
        {TASK_EXECUTE, "--execute=<command>"},
        {TASK_COMBINE, "sub-track combine --stf=<sub-track-file> [-p <file-path>]..."},
        {TASK_ANALYZE, "sub-track analyze --tf=<tracking-file> --stf=<sub-track-file>"},
        {TASK_COMPARE, "sub-track compare"},
    };
    buf_puts(b, "Usage:\n    gpu-tracker -h | --help\n    gpu-tracker -v | --version\n");
    for (size_t i = 0; i < ARRAY_LEN(lines); i++) {
        struct buf words = {0};
        buf_puts(&words, lines[i].words);
        for (const struct tracker_option *o = tracker_options;
             o < tracker_options + ARRAY_LEN(tracker_options); o++) {
            if (!(o->tasks & lines[i].task) || strstr(lines[i].words, o->value ? o->value : "\n"))
                continue;
            if (!o->name)
                buf_printf(&words, " [-%c %s...]", o->letter, o->value);
            else
                buf_printf(&words, o->value ? " [--%s=%s]" : " [--%s]", o->name, o->value);
        }
        buf_puts(b, "    gpu-tracker ");
        help_wrap(b, words.data ? words.data : "", 16);
        buf_done(&words);
    }
}

static void gpu_tracker_help_add_line(struct buf *b, const char *left, const char *help)
{
    struct buf text = {0};
    buf_printf(&text, "    %s", left);
    help_line(b, text.data ? text.data : "", help, 28);
    buf_done(&text);
}

void gpu_tracker_help(struct buf *b)
{
    buf_puts(b, "Measures what a command uses: RAM, GPU RAM, CPU, GPUs and time. This is toll\n"
                "under the name of gpu-tracker; see gpu-tracker(1) and toll(1).\n\n");
    gpu_tracker_usage(b);
    buf_puts(b, "\nOptions:\n");
    gpu_tracker_help_add_line(b, "-h --help", "show this help");
    gpu_tracker_help_add_line(b, "-v --version", "show the version of toll");
    for (const struct tracker_option *o = tracker_options;
         o < tracker_options + ARRAY_LEN(tracker_options); o++) {
        struct buf left = {0};
        if (o->letter)
            buf_printf(&left, o->name ? "-%c " : "-%c %s", o->letter, o->value);
        if (o->name)
            buf_printf(&left, o->value ? "--%s=%s" : "--%s", o->name, o->value);
        if (o->tasks && left.data)
            gpu_tracker_help_add_line(b, left.data, o->help);
        buf_done(&left);
    }
    gpu_tracker_help_add_line(b, "sub-track combine",
                              "combine several sub-tracking files into one");
    gpu_tracker_help_add_line(b, "sub-track analyze", "show what each code block used");
    gpu_tracker_help_add_line(b, "sub-track compare", "compare several tracking sessions");
}

/* ==== Gpu tracker completion ================================================================== */

void gpu_tracker_complete(struct completion *c, size_t count, char **words)
{
    unsigned task = count > 2 && strcmp(words[0], "sub-track") == 0 ? task_of(2, words)
                                                                    : TASK_EXECUTE;
    char before[64], name[64]; /* the option whose value may be typed, and one that there is */
    size_t equals = strcspn(c->last, "=");
    snprintf(before, sizeof before, "%s", count > 1 ? words[count - 2] : "");
    if (strncmp(c->last, "--", 2) == 0 && c->last[equals]) {
        snprintf(before, sizeof before, "%.*s", (int)equals, c->last);
        c->before = equals + 1;
    }
    if (strcmp(before, "sub-track") == 0)
        completion_offer_words(c, "combine analyze compare");
    else if (count == 1)
        completion_offer(c, "sub-track", "");
    if (c->last[0] == '-' && !c->before)
        completion_offer_words(c, "--help --version");
    for (const struct tracker_option *o = tracker_options;
         o < tracker_options + ARRAY_LEN(tracker_options); o++) {
        char letter[] = {'-', o->letter, '\0'};
        snprintf(name, sizeof name, o->name ? "--%s" : "%s", o->name ? o->name : letter);
        bool is_before = strcmp(before, name) == 0 || (o->letter && strcmp(before, letter) == 0);
        if (o->value && is_before && o->choices)
            completion_offer_words(c, o->choices);
        else if (o->value && is_before && (strstr(o->value, "file") || strstr(o->value, "output")))
            completion_ask_shell(c, "file", c->before);
        else if (o->value && is_before && strstr(o->value, "command"))
            completion_ask_shell(c, "program", 0);
        else if (c->last[0] == '-' && !c->before && (o->tasks & task))
            completion_offer(c, name, o->help);
    }
}
