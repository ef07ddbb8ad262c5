/* SPDX-License-Identifier: MIT
 * What can be said to a subcommand that measures, and what each setting accepts. */
#include "base/text/scan.h"
#include "cli/options.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

int option_choose(const char *choices, const char *word)
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

/* ---- Setters --------------------------------------------------------------------------------- */

static int set_interval(struct settings *s, const char *value, int choice, struct toll_error *e)
{
    s->interval_is_given = true;
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

static int set_output(struct settings *s, const char *value, int choice, struct toll_error *e)
{
    if (strcmp(value, "-") == 0 && s->mode == FOR_RUN)
        return err_set(e, -EINVAL, "a file: stdout belongs to the command that is run");
    if (!*value)
        return err_set(e, -EINVAL, "a file name");
    return 0;
}

static int set_metrics(struct settings *s, const char *value, int choice, struct toll_error *e)
{
    return *value ? 0 : err_set(e, -EINVAL, "names of metrics; 'toll metrics' lists them");
}

static int set_quiet(struct settings *s, const char *value, int choice, struct toll_error *e)
{
    s->quiet = choice;
    return 0;
}

static int set_verbose(struct settings *s, const char *value, int choice, struct toll_error *e)
{
    s->verbose = choice;
    return 0;
}

static int set_summary(struct settings *s, const char *value, int choice, struct toll_error *e)
{
    s->summary = (enum summary_format)choice;
    s->summary_is_given = true;
    return 0;
}

static int set_summary_to(struct settings *s, const char *value, int choice, struct toll_error *e)
{
    if (!*value)
        return err_set(e, -EINVAL, "a file name or the number of an open descriptor");
    s->summary_to = value;
    return 0;
}

static int set_name(struct settings *s, const char *value, int choice, struct toll_error *e)
{
    s->tracker.name = value;
    return 0;
}

static int set_label(struct settings *s, const char *value, int choice, struct toll_error *e)
{
    const char *equals = strchr(value, '=');
    if (!equals || equals == value)
        return err_set(e, -EINVAL, "KEY=VALUE");
    return 0;
}

static int set_no_children(struct settings *s, const char *value, int choice, struct toll_error *e)
{
    s->tracker.no_children = choice;
    return 0;
}

static int set_memory(struct settings *s, const char *value, int choice, struct toll_error *e)
{
    s->tracker.memory = (enum toll_memory)choice;
    return 0;
}

static int set_budget(struct settings *s, const char *value, int choice, struct toll_error *e)
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

static int set_processes(struct settings *s, const char *value, int choice, struct toll_error *e)
{
    s->tracker.processes = (enum toll_processes)choice;
    return 0;
}

static int set_wait(struct settings *s, const char *value, int choice, struct toll_error *e)
{
    s->tracker.wait = (enum toll_wait)choice;
    return 0;
}

static int set_signals(struct settings *s, const char *value, int choice, struct toll_error *e)
{
    s->signals_come_to_group = choice;
    return 0;
}

static int set_config(struct settings *s, const char *value, int choice, struct toll_error *e)
{
    s->config = value;
    return 0;
}

static int set_help(struct settings *s, const char *value, int choice, struct toll_error *e)
{
    s->help = choice;
    return 0;
}

static int set_format(struct settings *s, const char *value, int choice, struct toll_error *e)
{
    const struct toll_format *f;
    for (size_t i = 0; (f = toll_format_at(i)); i++)
        if (strcmp(f->name, value) == 0) {
            s->format = value;
            return 0;
        }
    struct buf names = {0};
    for (size_t i = 0; (f = toll_format_at(i)); i++)
        buf_printf(&names, "%s%s", i ? ", " : "", f->name);
    int r = err_set(e, -EINVAL, "one of %s", names.data ? names.data : "none");
    buf_done(&names);
    return r;
}

static int set_layout(struct settings *s, const char *value, int choice, struct toll_error *e)
{
    const struct toll_layout *d;
    s->layout = value;
    if (layout_named(value))
        return 0;
    struct buf names = {0};
    for (size_t i = 0; (d = toll_layout_at(i)); i++)
        buf_printf(&names, "%s%s", i ? ", " : "", d->name);
    int r = err_set(e, -EINVAL,
                    "one of %s, with its options behind it ('toll dialects' lists them)",
                    names.data ? names.data : "none");
    buf_done(&names);
    return r;
}

static int set_word(struct settings *s, const char *value, int choice, struct toll_error *e)
{
    return *value ? 0 : err_set(e, -EINVAL, "something that is not empty");
}

static int set_since_start(struct settings *s, const char *value, int choice, struct toll_error *e)
{
    s->tracker.since_start = choice;
    return 0;
}

static int set_system(struct settings *s, const char *value, int choice, struct toll_error *e)
{
    s->tracker.system = choice;
    return 0;
}

static int set_network(struct settings *s, const char *value, int choice, struct toll_error *e)
{
    s->tracker.network = choice;
    return 0;
}

static int set_gpus(struct settings *s, const char *value, int choice, struct toll_error *e)
{
    if (!*value)
        return err_set(e, -EINVAL, "'all', 'none', 'visible', or numbers and UUIDs of GPUs");
    s->tracker.gpus = value;
    return 0;
}

static int take_time(uint64_t *ret_ns, const char *value, struct toll_error *e)
{
    if (scan_duration(value, ret_ns) < 0 || !*ret_ns ||
        *ret_ns > UINT64_C(315360000) * NS_PER_SECOND)
        return err_set(e, -EINVAL, "a time above 0 such as 90s, 5m or 1.5h");
    return 0;
}

static int set_timeout(struct settings *s, const char *value, int choice, struct toll_error *e)
{
    return take_time(&s->tracker.timeout_ns, value, e);
}

static int set_grace(struct settings *s, const char *value, int choice, struct toll_error *e)
{
    return take_time(&s->tracker.grace_ns, value, e);
}

static int set_no_marks(struct settings *s, const char *value, int choice, struct toll_error *e)
{
    s->tracker.no_marks = choice;
    return 0;
}

static int set_watch_exits(struct settings *s, const char *value, int choice, struct toll_error *e)
{
    s->tracker.watch_exits = choice;
    return 0;
}

static int set_no_args(struct settings *s, const char *value, int choice, struct toll_error *e)
{
    s->tracker.no_args = choice;
    return 0;
}

static int set_show_secrets(struct settings *s, const char *value, int choice, struct toll_error *e)
{
    s->tracker.show_secrets = choice;
    return 0;
}

static int set_for(struct settings *s, const char *value, int choice, struct toll_error *e)
{
    return take_time(&s->for_ns, value, e);
}

/* What may be the end of an id is one, also when it has no letter in it. */
static int option_table_set_run(struct settings *s, const char *value, int choice,
                                struct toll_error *e)
{
    struct scan text = scan_string(value);
    size_t length = strlen(value);
    bool is_id = length >= RUN_ID_DIGITS && strspn(value, "0123456789abcdefABCDEF-") == length;
    s->run = 0;
    s->run_id = is_id ? value : NULL;
    if (!is_id && (!scan_u64(&text, &s->run) || !scan_done(&text) || !s->run))
        return err_set(e, -EINVAL,
                       "the number of a run, from 1 on, or the last %d digits of its id or more; "
                       "'toll list' shows them",
                       RUN_ID_DIGITS);
    return 0;
}

static int set_json(struct settings *s, const char *value, int choice, struct toll_error *e)
{
    s->json = choice;
    return 0;
}

/* ---- The table ------------------------------------------------------------------------------- */

#define ANY FOR_MEASURING

const struct option options[] = {
    {"interval", 'i', "auto|TIME", NULL, 0, false, ANY,
     "time between samples, from 1ms up; auto begins with 10ms and grows with the age of the run "
     "to 1s. A command has auto, what runs already 1s",
     set_interval},
    {"output", 'o', "FILE", NULL, offsetof(struct settings, outputs), false, ANY | FOR_EXPORT,
     "write to FILE; its suffix tells the format: .csv, .jsonl, .sqlite (samples), .json, .txt "
     "(summary); or FORMAT:FILE, or FORMAT:URL, with options behind commas (see 'toll sinks'); - "
     "is stdout "
     "where no command has it",
     set_output},
    {"format", 'f', "FORMAT", NULL, 0, false, ANY | FOR_EXPORT,
     "the format of outputs whose name does not tell one: csv, jsonl, json, text, lines, …",
     set_format},
    {"dialect", 0, "NAME[,OPTION=VALUE]", NULL, 0, false, ANY | FOR_EXPORT,
     "write with the columns and units of another tool, where the format of an output has it; see "
     "'toll dialects'. -o @NAME:FILE chooses one for a single output",
     set_layout},
    {"metrics", 'm', "GLOB", NULL, offsetof(struct settings, metrics), false, ANY | FOR_EXPORT,
     "only the metrics with these names, with commas between and * for any letters; see 'toll "
     "metrics'",
     set_metrics},
    {"quiet", 'q', NULL, NULL, 0, false, ANY | FOR_EXPORT,
     "no summary and no notes on the terminal, only of outputs that fail", set_quiet},
    {"verbose", 'v', NULL, NULL, 0, false, ANY | FOR_EXPORT,
     "every figure in the summary, also those that are zero or unknown", set_verbose},
    {"summary", 0, "FORMAT", "text json none", 0, false, ANY, "what to print at the end",
     set_summary},
    {"summary-to", 0, "FILE|FD", NULL, 0, false, ANY,
     "where the summary goes, a file or the number of an open descriptor, instead of stderr",
     set_summary_to},
    {"name", 0, "NAME", NULL, 0, false, ANY,
     "what the run is called, instead of the command's name", set_name},
    {"label", 0, "KEY=VALUE", NULL, offsetof(struct settings, labels), false, ANY,
     "a label of the run", set_label},
    {"no-args", 0, NULL, NULL, 0, false, FOR_RUN | FOR_EXPORT,
     "keep the program's name of the command alone, without its arguments", set_no_args},
    {"show-secrets", 0, NULL, NULL, 0, false, ANY | FOR_EXPORT,
     "write what looks like a password, token or key on the command line as it is, not as ***",
     set_show_secrets},
    {"no-children", 0, NULL, NULL, 0, false, FOR_RUN | FOR_ATTACH,
     "measure the command or the processes named alone, not what they start", set_no_children},
    {"watch-exits", 0, NULL, NULL, 0, false, FOR_RUN,
     "let the kernel record every process that starts or ends: counts them exactly, and notices "
     "children that were discarded between two looks; starting a process takes longer",
     set_watch_exits},
    {"group", 'g', "[NAME=]PGID", NULL, offsetof(struct settings, groups), true, FOR_ATTACH,
     "attach to a process group", set_word},
    {"session", 0, "[NAME=]SID", NULL, offsetof(struct settings, sessions), true, FOR_ATTACH,
     "attach to a session", set_word},
    {"cgroup", 0, "PATH", NULL, offsetof(struct settings, cgroups), true, FOR_ATTACH,
     "attach to all processes of a cgroup and those below it", set_word},
    {"match", 0, "REGEX", NULL, offsetof(struct settings, matches), true, FOR_ATTACH,
     "attach to the processes whose command line an extended regular expression matches, with "
     "their descendants",
     set_word},
    {"user", 0, "NAME|UID", NULL, offsetof(struct settings, users), true, FOR_ATTACH,
     "attach to all processes of a user", set_word},
    {"since-start", 0, NULL, NULL, 0, false, FOR_ATTACH | FOR_SYSTEM,
     "count from the birth of the processes and the start of the machine, not from now on",
     set_since_start},
    {"system", 0, NULL, NULL, 0, false, FOR_RUN | FOR_ATTACH, "measure the machine too",
     set_system},
    {"network", 0, NULL, NULL, 0, false, FOR_RUN | FOR_ATTACH,
     "count network bytes too: those of TCP, or all when the target has a network namespace of its "
     "own; costs about half a millisecond a look",
     set_network},
    {"no-marks", 0, NULL, NULL, 0, false, FOR_RUN,
     "no socket for the marks of the command (see 'toll help mark')", set_no_marks},
    {"gpus", 0, "WHICH", NULL, 0, false, ANY,
     "read these GPUs: all, none, visible (what CUDA_VISIBLE_DEVICES and the like leave, the "
     "default), or numbers and UUIDs with commas between",
     set_gpus},
    {"timeout", 0, "TIME", NULL, 0, false, FOR_RUN,
     "end a command that runs longer, and all it started, with SIGTERM", set_timeout},
    {"grace", 0, "TIME", NULL, 0, false, FOR_RUN,
     "how long after SIGTERM a --timeout sends SIGKILL; 10s by default", set_grace},
    {"for", 0, "TIME", NULL, 0, false, FOR_ATTACH | FOR_SYSTEM, "measure for this long, then end",
     set_for},
    {"memory", 0, "KIND", "auto rss pss", 0, false, FOR_RUN | FOR_ATTACH,
     "how memory that several processes share is divided among them (PSS), which is dear to read: "
     "auto as often as the budget allows, rss never, pss at every sample",
     set_memory},
    {"budget", 0, "PERCENT", NULL, 0, false, FOR_RUN | FOR_ATTACH,
     "share of one core that dear reads may take; 1 by default", set_budget},
    {"processes", 0, "WHICH", "top none all", 0, false, FOR_RUN | FOR_ATTACH,
     "rows of single processes in .jsonl: the twenty largest once a second, none, or all always",
     set_processes},
    {"wait", 0, "FOR", "main all", 0, false, FOR_RUN | FOR_ATTACH,
     "end with the command, or with the last process it left behind", set_wait},
    {"signals", 0, "HOW", "forward group", 0, false, FOR_RUN,
     "pass on every signal sent to toll, or only those that did not reach the process group of the "
     "command by themselves: for senders that signal the whole group (default: forward)",
     set_signals},
    {"run", 0, "NUMBER|ID", NULL, 0, true, FOR_EXPORT,
     "of several runs in the record only this one, by its number or its id as 'toll list' shows "
     "them",
     option_table_set_run},
    {"json", 0, NULL, NULL, 0, true, FOR_LIST, "for programs", set_json},
    {"config", 0, "FILE", NULL, 0, true, ANY, "read options from FILE, lines of 'option = value'",
     set_config},
    {"help", 'h', NULL, NULL, 0, true, ANY | FOR_EXPORT | FOR_LIST, "show this", set_help},
    {0},
};

const struct option *option_by_name(const char *name)
{
    for (const struct option *o = options; o->name; o++)
        if (strcmp(o->name, name) == 0)
            return o;
    return NULL;
}

const struct option *option_by_letter(char letter)
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
