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

/* ---- Values that are more than a field
 * --------------------------------------------------------------------------------- */

static int option_set_interval(struct settings *s, const char *value, struct toll_error *e)
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

static int option_check_output(struct settings *s, const char *value, struct toll_error *e)
{
    if (strcmp(value, "-") == 0 && s->mode == FOR_RUN)
        return err_set(e, -EINVAL, "a file: stdout belongs to the command that is run");
    if (!*value)
        return err_set(e, -EINVAL, "a file name");
    return 0;
}

static int option_check_label(struct settings *s, const char *value, struct toll_error *e)
{
    const char *equals = strchr(value, '=');
    if (!equals || equals == value)
        return err_set(e, -EINVAL, "KEY=VALUE");
    return 0;
}

static int option_set_budget(struct settings *s, const char *value, struct toll_error *e)
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

static int option_set_format(struct settings *s, const char *value, struct toll_error *e)
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

static int option_set_layout(struct settings *s, const char *value, struct toll_error *e)
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

/* What may be the end of an id is one, also when it has no letter in it. */
static int option_set_run(struct settings *s, const char *value, struct toll_error *e)
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

/* ---- The table ------------------------------------------------------------------------------- */

#define ANY       FOR_MEASURING
#define AT(field) offsetof(struct settings, field)

/* The value, the choices, the kind of the field and its place. */
#define SWITCH(field)                 NULL, NULL, OPTION_SWITCH, AT(field)
#define CHOICE(value, choices, field) value, choices, OPTION_CHOICE, AT(field)
#define TIME(value, field)            value, NULL, OPTION_TIME, AT(field)
#define TEXT(value, field)            value, NULL, OPTION_TEXT, AT(field)
#define LIST(value, field)            value, NULL, OPTION_LIST, AT(field)
#define OWN(value)                    value, NULL, OPTION_OWN, 0

const struct option options[] = {
    {"interval", 'i', OWN("auto|TIME"), NULL, option_set_interval, false, ANY,
     "time between samples, from 1ms up; auto begins with 10ms and grows with the age of the run "
     "to 1s. A command has auto, what runs already 1s"},
    {"output", 'o', LIST("FILE", outputs), NULL, option_check_output, false, ANY | FOR_EXPORT,
     "write to FILE; its suffix tells the format: .csv, .jsonl, .sqlite (samples), .json, .txt "
     "(summary); or FORMAT:FILE, or FORMAT:URL, with options behind commas (see 'toll sinks'); - "
     "is stdout "
     "where no command has it"},
    {"format", 'f', OWN("FORMAT"), NULL, option_set_format, false, ANY | FOR_EXPORT,
     "the format of outputs whose name does not tell one: csv, jsonl, json, text, lines, …"},
    {"dialect", 0, OWN("NAME[,OPTION=VALUE]"), NULL, option_set_layout, false, ANY | FOR_EXPORT,
     "write with the columns and units of another tool, where the format of an output has it; see "
     "'toll dialects'. -o @NAME:FILE chooses one for a single output"},
    {"metrics", 'm', LIST("GLOB", metrics), "names of metrics; 'toll metrics' lists them", NULL,
     false, ANY | FOR_EXPORT,
     "only the metrics with these names, with commas between and * for any letters; see 'toll "
     "metrics'"},
    {"quiet", 'q', SWITCH(quiet), NULL, NULL, false, ANY | FOR_EXPORT,
     "no summary and no notes on the terminal, only of outputs that fail"},
    {"verbose", 'v', SWITCH(verbose), NULL, NULL, false, ANY | FOR_EXPORT,
     "a table of every figure after the summary"},
    {"color", 0, CHOICE("WHEN", "auto always never", color), NULL, NULL, false, ANY | FOR_EXPORT,
     "colours on the terminal (default: auto)"},
    {"summary", 0, CHOICE("FORMAT", "text json none", summary), NULL, NULL, false, ANY,
     "what to print at the end"},
    {"summary-to", 0, TEXT("FILE|FD", summary_to),
     "a file name or the number of an open descriptor", NULL, false, ANY,
     "where the summary goes, a file or the number of an open descriptor, instead of stderr"},
    {"name", 0, TEXT("NAME", tracker.name), NULL, NULL, false, ANY,
     "what the run is called, instead of the command's name"},
    {"label", 0, LIST("KEY=VALUE", labels), NULL, option_check_label, false, ANY,
     "a label of the run"},
    {"no-args", 0, SWITCH(tracker.no_args), NULL, NULL, false, FOR_RUN | FOR_EXPORT,
     "keep the program's name of the command alone, without its arguments"},
    {"show-secrets", 0, SWITCH(tracker.show_secrets), NULL, NULL, false, ANY | FOR_EXPORT,
     "write what looks like a password, token or key on the command line as it is, not as ***"},
    {"no-children", 0, SWITCH(tracker.no_children), NULL, NULL, false, FOR_RUN | FOR_ATTACH,
     "measure the command or the processes named alone, not what they start"},
    {"watch-exits", 0, SWITCH(tracker.watch_exits), NULL, NULL, false, FOR_RUN,
     "let the kernel record every process that starts or ends: counts them exactly, and notices "
     "children that were discarded between two looks; starting a process takes longer"},
    {"group", 'g', LIST("[NAME=]PGID", groups), "something that is not empty", NULL, true,
     FOR_ATTACH, "attach to a process group"},
    {"session", 0, LIST("[NAME=]SID", sessions), "something that is not empty", NULL, true,
     FOR_ATTACH, "attach to a session"},
    {"cgroup", 0, LIST("PATH", cgroups), "something that is not empty", NULL, true, FOR_ATTACH,
     "attach to all processes of a cgroup and those below it"},
    {"match", 0, LIST("REGEX", matches), "something that is not empty", NULL, true, FOR_ATTACH,
     "attach to the processes whose command line an extended regular expression matches, with "
     "their descendants"},
    {"user", 0, LIST("NAME|UID", users), "something that is not empty", NULL, true, FOR_ATTACH,
     "attach to all processes of a user"},
    {"since-start", 0, SWITCH(tracker.since_start), NULL, NULL, false, FOR_ATTACH | FOR_SYSTEM,
     "count from the birth of the processes and the start of the machine, not from now on"},
    {"system", 0, SWITCH(tracker.system), NULL, NULL, false, FOR_RUN | FOR_ATTACH,
     "measure the machine too"},
    {"network", 0, SWITCH(tracker.network), NULL, NULL, false, FOR_RUN | FOR_ATTACH,
     "count network bytes too: those of TCP, or all when the target has a network namespace of its "
     "own; costs about half a millisecond a look"},
    {"no-marks", 0, SWITCH(tracker.no_marks), NULL, NULL, false, FOR_RUN,
     "no socket for the marks of the command (see 'toll help mark')"},
    {"gpus", 0, TEXT("WHICH", tracker.gpus),
     "'all', 'none', 'visible', or numbers and UUIDs of GPUs", NULL, false, ANY,
     "read these GPUs: all, none, visible (what CUDA_VISIBLE_DEVICES and the like leave, the "
     "default), or numbers and UUIDs with commas between"},
    {"timeout", 0, TIME("TIME", tracker.timeout_ns), NULL, NULL, false, FOR_RUN,
     "end a command that runs longer, and all it started, with SIGTERM"},
    {"grace", 0, TIME("TIME", tracker.grace_ns), NULL, NULL, false, FOR_RUN,
     "how long after SIGTERM a --timeout sends SIGKILL; 10s by default"},
    {"for", 0, TIME("TIME", for_ns), NULL, NULL, false, FOR_ATTACH | FOR_SYSTEM,
     "measure for this long, then end"},
    {"memory", 0, CHOICE("KIND", "auto rss pss", tracker.memory), NULL, NULL, false,
     FOR_RUN | FOR_ATTACH,
     "how memory that several processes share is divided among them (PSS), which is dear to read: "
     "auto as often as the budget allows, rss never, pss at every sample"},
    {"budget", 0, OWN("PERCENT"), NULL, option_set_budget, false, FOR_RUN | FOR_ATTACH,
     "share of one core that dear reads may take; 1 by default"},
    {"processes", 0, CHOICE("WHICH", "top none all", tracker.processes), NULL, NULL, false,
     FOR_RUN | FOR_ATTACH,
     "rows of single processes in .jsonl: the twenty largest once a second, none, or all always"},
    {"wait", 0, CHOICE("FOR", "main all", tracker.wait), NULL, NULL, false, FOR_RUN | FOR_ATTACH,
     "end with the command, or with the last process it left behind"},
    {"signals", 0, CHOICE("HOW", "forward group", signals_come_to_group), NULL, NULL, false,
     FOR_RUN,
     "pass on every signal sent to toll, or only those that did not reach the process group of the "
     "command by themselves: for senders that signal the whole group (default: forward)"},
    {"run", 0, OWN("NUMBER|ID"), NULL, option_set_run, true, FOR_EXPORT,
     "of several runs in the record only this one, by its number or its id as 'toll list' shows "
     "them"},
    {"json", 0, SWITCH(json), NULL, NULL, true, FOR_LIST | FOR_NO_TARGET, "for programs"},
    {"markdown", 0, SWITCH(markdown), NULL, NULL, true, FOR_METRICS, "for the documentation"},
    {"strict", 0, SWITCH(strict), NULL, NULL, true, FOR_DOCTOR,
     "exit with 1 unless everything named is ok; without names, everything marked with *"},
    {"root", 0, TEXT("PATH", root), NULL, NULL, true, FOR_DOCTOR,
     "check a recorded machine, a directory with its proc and sys"},
    {"config", 0, TEXT("FILE", config), NULL, NULL, true, ANY,
     "read options from FILE, lines of 'option = value'"},
    {"help", 'h', SWITCH(help), NULL, NULL, true,
     ANY | FOR_EXPORT | FOR_LIST | FOR_NO_TARGET | FOR_SEND, "show this"},
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
