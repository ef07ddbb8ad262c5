/* SPDX-License-Identifier: MIT
 * The options of all commands, and what each accepts. */
#include "base/clock.h"
#include "base/err.h"
#include "base/text/scan.h"
#include "cli/options.h"

#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

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

/* ---- Values that are more than a field ------------------------------------------------------- */

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
        return err_set(e, -EINVAL, "a file name; stdout belongs to the command");
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

static int option_set_memory_max(struct settings *s, const char *value, struct toll_error *e)
{
    if (scan_size(value, &s->tracker.memory_max_bytes) < 0 || !s->tracker.memory_max_bytes)
        return err_set(e, -EINVAL, "a size such as 512M or 2G");
    return 0;
}

static int option_set_cpu_max(struct settings *s, const char *value, struct toll_error *e)
{
    struct scan text = scan_string(value);
    double cores;
    if (!scan_decimal(&text, &cores) || !scan_done(&text) || cores < 0.01 || cores > 1e6)
        return err_set(e, -EINVAL, "a number of cores, 0.01 or more, such as 1.5");
    s->tracker.cpu_max_cores = cores;
    return 0;
}

static int option_set_pids_max(struct settings *s, const char *value, struct toll_error *e)
{
    struct scan text = scan_string(value);
    if (!scan_u64(&text, &s->tracker.pids_max) || !scan_done(&text) || !s->tracker.pids_max ||
        s->tracker.pids_max > INT_MAX)
        return err_set(e, -EINVAL, "a number of processes and threads, 1 or more");
    return 0;
}

static int option_set_pue(struct settings *s, const char *value, struct toll_error *e)
{
    struct scan text = scan_string(value);
    if (!scan_decimal(&text, &s->tracker.pue) || !scan_done(&text) ||
        !(s->tracker.pue >= 1 && s->tracker.pue <= 100))
        return err_set(e, -EINVAL, "a number from 1 to 100, such as 1.2");
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
    struct suggestion near;
    struct buf names = {0};
    suggestion_begin(&near, value);
    for (size_t i = 0; (f = toll_format_at(i)); i++) {
        buf_printf(&names, "%s%s", i ? ", " : "", f->name);
        suggestion_offer(&near, f->name);
    }
    bool is_near = *near.word;
    int r = err_set(e, -EINVAL, "one of %s%s%s%s", names.data ? names.data : "none",
                    is_near ? "; did you mean '" : "", near.word, is_near ? "'?" : "");
    buf_done(&names);
    return r;
}

static int option_set_layout(struct settings *s, const char *value, struct toll_error *e)
{
    const struct toll_layout *d;
    s->layout = value;
    if (layout_named(value))
        return 0;
    struct suggestion near;
    struct buf names = {0};
    suggestion_begin(&near, value);
    for (size_t i = 0; (d = toll_layout_at(i)); i++) {
        buf_printf(&names, "%s%s", i ? ", " : "", d->name);
        suggestion_offer(&near, d->name);
    }
    bool is_near = *near.word;
    int r = err_set(e, -EINVAL, "one of %s%s%s%s", names.data ? names.data : "none",
                    is_near ? "; did you mean '" : "", near.word, is_near ? "'?" : "");
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
                       "the number of a run, or at least the last %d digits of its ID, as shown "
                       "by 'toll list'",
                       RUN_ID_DIGITS);
    return 0;
}

/* A date of the local calendar, or one that ends in Z. */
static bool option_scan_date(const char *text, uint64_t *ret_ns)
{
    struct tm tm = {.tm_isdst = -1}, given;
    const char *end = strptime(text, "%Y-%m-%d", &tm);
    if (end && (*end == 'T' || *end == ' ')) {
        const char *clock = strptime(end + 1, "%H:%M:%S", &tm);
        end = clock ? clock : strptime(end + 1, "%H:%M", &tm);
    }
    bool is_utc = end && *end == 'Z';
    if (!end || end[is_utc] || strspn(text, "0123456789") != 4)
        return false;
    given = tm;
    time_t seconds = is_utc ? timegm(&tm) : mktime(&tm);
    bool is_real = tm.tm_mday == given.tm_mday && tm.tm_mon == given.tm_mon; /* 31 April */
    if (seconds < 0 || !is_real)
        return false;
    *ret_ns = (uint64_t)seconds * NS_PER_SECOND;
    return true;
}

static int option_set_since(struct settings *s, const char *value, struct toll_error *e)
{
    uint64_t ns, now = clock_real(NULL);
    if (option_scan_date(value, &ns))
        s->list.since_ns = ns;
    else if (scan_duration(value, &ns) == 0 && ns)
        s->list.since_ns = ns < now ? now - ns : 0;
    else
        return err_set(e, -EINVAL, "a time such as 12h or 7d, or a date such as 2026-11-15");
    return 0;
}

static int option_set_sort(struct settings *s, const char *value, struct toll_error *e)
{
    static const char keys[] = "time name duration cpu memory exit";
    bool is_descending = *value == '-';
    int key = option_choose(keys, value + is_descending);
    if (key < 0)
        return err_set(e, -EINVAL,
                       "time, name, duration, cpu, memory or exit, or one of them after - for "
                       "descending order");
    s->list.sort = (enum list_sort)key;
    s->list.is_descending = is_descending;
    return 0;
}

static int option_set_limit(struct settings *s, const char *value, struct toll_error *e)
{
    struct scan text = scan_string(value);
    if (!scan_u64(&text, &s->list.limit) || !scan_done(&text) || !s->list.limit)
        return err_set(e, -EINVAL, "a number, 1 or more");
    return 0;
}

/* How often a command is run, at most. */
enum { RUNS_AT_MOST = 1000000 };

static int option_set_runs(struct settings *s, const char *value, struct toll_error *e)
{
    struct scan text = scan_string(value);
    if (!scan_u64(&text, &s->repeat.runs) || !scan_done(&text) || !s->repeat.runs ||
        s->repeat.runs > RUNS_AT_MOST)
        return err_set(e, -EINVAL, "a number from 1 to %d", RUNS_AT_MOST);
    return 0;
}

static int option_set_warmup(struct settings *s, const char *value, struct toll_error *e)
{
    struct scan text = scan_string(value);
    if (!scan_u64(&text, &s->repeat.warmup) || !scan_done(&text) || s->repeat.warmup > RUNS_AT_MOST)
        return err_set(e, -EINVAL, "a number from 0 to %d", RUNS_AT_MOST);
    return 0;
}

/* "threads=1,2,4" */
static int option_check_parameter(struct settings *s, const char *value, struct toll_error *e)
{
    static const char letters[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-";
    size_t length = strcspn(value, "=");
    const char *values = value[length] ? value + length + 1 : "";
    size_t first = strlen(values) ? strlen(values) - 1 : 0;
    if (!length || strspn(value, letters) != length)
        return err_set(e, -EINVAL,
                       "a name of letters, digits, _ and -, and its values: "
                       "--parameter threads 1,2,4");
    if (!*values || *values == ',' || values[first] == ',' || strstr(values, ",,"))
        return err_set(e, -EINVAL,
                       "comma-separated values that are not empty: --parameter threads 1,2,4");
    for (const char **other = s->repeat.parameters; other && *other; other++)
        if (strncmp(*other, value, length + 1) == 0)
            return err_set(e, -EINVAL, "each name once");
    if (length == strlen("run") && strncmp(value, "run", length) == 0)
        return err_set(e, -EINVAL, "a name other than run and repeat");
    if (length == strlen("repeat") && strncmp(value, "repeat", length) == 0)
        return err_set(e, -EINVAL, "a name other than run and repeat");
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

/* A text that is one of the choices. */
#define CHOSEN_TEXT(value, choices, field) value, choices, OPTION_TEXT, AT(field)

#define OUTPUT_HELP                                                                                \
    "write to FILE, whose suffix selects the type: .csv, .jsonl or .sqlite (samples), .json or "   \
    ".txt (summary), .html, .md or .svg (report); or to TYPE:FILE or TYPE:URL (see 'toll "         \
    "outputs')"
#define OUTPUT_PATTERNS                                                                            \
    "FILE may contain %r (rank), %j (job), %n (name), %h (host), %t (time) and %% (a percent "     \
    "sign)"

/* In the order of the help: by group, most used first. */
const struct option options[] = {
    /* Targets of attach */
    {"pid", 'p', LIST("[NAME=]PID[,…]", pids), "a PID such as 1234, or NAME=1234", NULL, true,
     FOR_ATTACH, GROUP_TARGETS, NULL,
     "attach to processes and their descendants, as PID arguments do"},
    {"group", 'g', LIST("[NAME=]PGID", groups),
     "the ID of a process group such as 1234, or NAME=1234", NULL, true, FOR_ATTACH, GROUP_TARGETS,
     NULL, "attach to a process group"},
    {"session", 0, LIST("[NAME=]SID", sessions), "the ID of a session such as 1234, or NAME=1234",
     NULL, true, FOR_ATTACH, GROUP_TARGETS, NULL, "attach to a session"},
    {"match", 0, LIST("REGEX", matches), "a regular expression", NULL, true, FOR_ATTACH,
     GROUP_TARGETS, NULL,
     "attach to processes whose command line matches an extended regular expression, and their "
     "descendants"},
    {"cgroup", 0, LIST("PATH", cgroups), "a path such as /system.slice/web.service", NULL, true,
     FOR_ATTACH, GROUP_TARGETS, NULL, "attach to all processes of a cgroup and of those below it"},
    {"user", 0, LIST("NAME|UID", users), "the name of a user, or a UID", NULL, true, FOR_ATTACH,
     GROUP_TARGETS, NULL, "attach to all processes of a user"},

    /* Output */
    {"output", 'o', LIST("FILE", outputs), NULL, option_check_output, false, FOR_RUN, GROUP_OUTPUT,
     NULL, OUTPUT_HELP ". " OUTPUT_PATTERNS},
    {"output", 'o', LIST("FILE", outputs), NULL, option_check_output, false, ANY & ~FOR_RUN,
     GROUP_OUTPUT, NULL, OUTPUT_HELP "; - is stdout. " OUTPUT_PATTERNS},
    {"output", 'o', LIST("FILE", outputs), NULL, option_check_output, false, FOR_EXPORT,
     GROUP_OUTPUT, NULL, OUTPUT_HELP "; - is stdout"},
    {"format", 'f', OWN("TYPE"), NULL, option_set_format, false, ANY | FOR_EXPORT, GROUP_OUTPUT,
     NULL, "output type for destinations whose name has no known suffix"},
    {"json", 0, SWITCH(json), NULL, NULL, true, FOR_RUN, GROUP_OUTPUT, NULL,
     "print the summary as JSON"},
    {"json", 0, SWITCH(json), NULL, NULL, true, FOR_ATTACH | FOR_SYSTEM, GROUP_OUTPUT, NULL,
     "print samples as JSON lines on stdout"},
    {"csv", 0, SWITCH(csv), NULL, NULL, true, FOR_ATTACH | FOR_SYSTEM, GROUP_OUTPUT, NULL,
     "print samples as CSV on stdout"},
    {"verbose", 'v', SWITCH(verbose), NULL, NULL, false, ANY | FOR_EXPORT, GROUP_OUTPUT, NULL,
     "print a table of all figures after the summary"},
    {"quiet", 'q', SWITCH(quiet), NULL, NULL, false, ANY, GROUP_OUTPUT, NULL,
     "print no summary and no notes, only errors"},
    {"quiet", 'q', SWITCH(quiet), NULL, NULL, false, FOR_EXPORT | FOR_REPORT, GROUP_OUTPUT, NULL,
     "print no notes, only errors"},
    {"live", 0, SWITCH(live), NULL, NULL, false, FOR_RUN, GROUP_OUTPUT, NULL,
     "show a live status in the title of the terminal, or on a line if stdout and stderr are "
     "both files"},
    {"live", 0, SWITCH(live), NULL, NULL, false, FOR_ATTACH | FOR_SYSTEM, GROUP_OUTPUT, NULL,
     "show a live status on a line, or in the title of the terminal if samples go to stdout"},
    {"summary", 0, CHOICE("FORMAT", "text json none", summary), NULL, NULL, false, ANY,
     GROUP_OUTPUT, "text", "format of the summary"},
    {"summary-to", 0, TEXT("FILE|FD|-", summary_to),
     "a file name, the number of an open descriptor, or - for stdout", NULL, false, ANY,
     GROUP_OUTPUT, "stderr", "write the summary to a file, an open descriptor, or - for stdout"},
    {"color", 0, CHOICE("WHEN", "auto always never", color), NULL, NULL, false,
     ANY | FOR_EXPORT | FOR_REPORT | FOR_COMPARE, GROUP_OUTPUT, "auto", "when to use colours"},
    {"bytes", 0, SWITCH(bytes), NULL, NULL, false, ANY | FOR_EXPORT | FOR_REPORT | FOR_COMPARE,
     GROUP_OUTPUT, NULL, "print sizes in bytes, not in KiB or MiB"},
    {"si", 0, SWITCH(si), NULL, NULL, false, ANY | FOR_EXPORT | FOR_REPORT | FOR_COMPARE,
     GROUP_OUTPUT, NULL, "print sizes in powers of 1000: kB, MB, …"},
    {"layout", 0, OWN("NAME[,OPTION=VALUE]"), NULL, option_set_layout, false, ANY | FOR_EXPORT,
     GROUP_OUTPUT, NULL,
     "write the columns and units of another tool (see 'toll layouts'); -o @NAME:FILE does so "
     "for one output"},
    {"no-args", 0, SWITCH(tracker.no_args), NULL, NULL, false, FOR_RUN | FOR_EXPORT, GROUP_OUTPUT,
     NULL, "store the name of the program without its arguments"},
    {"show-secrets", 0, SWITCH(tracker.show_secrets), NULL, NULL, false, ANY | FOR_EXPORT,
     GROUP_OUTPUT, NULL, "do not mask passwords, tokens and keys in command lines"},

    /* What to measure, or to export */
    {"run", 0, OWN("NUMBER|ID"), NULL, option_set_run, true, FOR_EXPORT | FOR_REPORT, GROUP_MEASURE,
     NULL, "only this run, by the number or ID that 'toll list' shows"},
    {"metrics", 'm', LIST("GLOB", metrics), "names of metrics; 'toll metrics' lists them", NULL,
     false, ANY | FOR_EXPORT, GROUP_MEASURE, NULL,
     "only these metrics: comma-separated names, in which * matches any characters, or basic for "
     "those that most people plot; see 'toll metrics'"},
    {"system", 0, SWITCH(tracker.system), NULL, NULL, false, FOR_RUN | FOR_ATTACH, GROUP_MEASURE,
     NULL, "also measure the whole machine"},
    {"network", 0, SWITCH(tracker.network), NULL, NULL, false, FOR_RUN | FOR_ATTACH, GROUP_MEASURE,
     NULL,
     "also count network bytes: of all packets if toll runs as root, otherwise of TCP "
     "connections, which takes about 0.5 ms per sample"},
    {"gpus", 0, TEXT("WHICH", tracker.gpus),
     "'all', 'none', 'visible', or numbers and UUIDs of GPUs", NULL, false, ANY, GROUP_MEASURE,
     "visible",
     "GPUs to measure: all, none, visible (those that CUDA_VISIBLE_DEVICES and similar variables "
     "select), or comma-separated numbers and UUIDs"},
    {"energy", 0, SWITCH(tracker.energy), NULL, NULL, false, FOR_RUN | FOR_ATTACH, GROUP_MEASURE,
     NULL,
     "also estimate the job's share of the energy of processors (RAPL) and GPUs, as a range; see "
     "docs/energy.md"},
    {"carbon", 0, TEXT("G_PER_KWH|FILE", tracker.carbon), "a number or a file name", NULL, false,
     FOR_RUN | FOR_ATTACH, GROUP_MEASURE, NULL,
     "also estimate emissions, from the grams of CO2e per kWh or a file with a UTC time and "
     "grams on each line; implies --energy"},
    {"price", 0, TEXT("PER_KWH", tracker.price), "a number such as 0.30, or 0.30EUR", NULL, false,
     FOR_RUN | FOR_ATTACH, GROUP_MEASURE, NULL,
     "also estimate the cost of energy, from the price of a kWh such as 0.30 or 0.30EUR; implies "
     "--energy"},
    {"price-hour", 0, TEXT("PER_HOUR", tracker.price_hour), "a number such as 1.50, or 1.50EUR",
     NULL, false, FOR_RUN | FOR_ATTACH, GROUP_MEASURE, NULL,
     "price of an hour of run time, such as the rent of the machine, added to the cost of energy"},
    {"pue", 0, OWN("FACTOR"), NULL, option_set_pue, false, FOR_RUN | FOR_ATTACH, GROUP_MEASURE,
     NULL,
     "power usage effectiveness of the data centre, such as 1.2, by which energy is "
     "multiplied"},
    {"memory", 0, CHOICE("KIND", "auto rss pss", tracker.memory), NULL, NULL, false,
     FOR_RUN | FOR_ATTACH, GROUP_MEASURE, "auto",
     "when to read PSS, which is slow to read: as often as --budget allows (auto), never (rss), "
     "or at every sample (pss)"},
    {"processes", 0, CHOICE("WHICH", "top none all", tracker.processes), NULL, NULL, false,
     FOR_RUN | FOR_ATTACH, GROUP_MEASURE, "top",
     "processes to write to .jsonl and .sqlite: the 20 largest once a second (top), none, or all "
     "at every sample"},
    {"threads", 0, SWITCH(threads), NULL, NULL, false, FOR_RUN | FOR_ATTACH, GROUP_MEASURE, NULL,
     "also measure the threads of the processes that use the most CPU time, and show the busiest"},
    {"no-children", 0, SWITCH(tracker.no_children), NULL, NULL, false, FOR_RUN | FOR_ATTACH,
     GROUP_MEASURE, NULL, "do not measure descendants"},
    {"since-start", 0, SWITCH(tracker.since_start), NULL, NULL, false, FOR_ATTACH, GROUP_MEASURE,
     NULL, "count from the start of each process, not from now"},
    {"since-start", 0, SWITCH(tracker.since_start), NULL, NULL, false, FOR_SYSTEM, GROUP_MEASURE,
     NULL, "count from the start of the machine, not from now"},
    {"watch-exits", 0, SWITCH(tracker.watch_exits), NULL, NULL, false, FOR_RUN, GROUP_MEASURE, NULL,
     "count every process, and find children that are not waited for, from kernel records; slows "
     "down process creation"},
    {"exact", 0, SWITCH(tracker.exact), NULL, NULL, false, FOR_RUN, GROUP_MEASURE, NULL,
     "record every process, however short it lives, and count CPU time and I/O exactly; needs "
     "root"},
    {"own-cgroup", 0, CHOICE("WHEN", "auto always never", tracker.own_cgroup), NULL, NULL, false,
     FOR_RUN, GROUP_MEASURE, "auto",
     "run the command in its own cgroup, which makes CPU time exact; auto does so only for "
     "--network and limits"},
    {"no-marks", 0, SWITCH(tracker.no_marks), NULL, NULL, false, FOR_RUN, GROUP_MEASURE, NULL,
     "do not listen for marks from the command (see 'toll help mark')"},

    /* The run */
    {"name", 0, TEXT("NAME", tracker.name), NULL, NULL, false, FOR_RUN, GROUP_RUN,
     "name of the program", "name of the run"},
    {"name", 0, TEXT("NAME", tracker.name), NULL, NULL, false, ANY & ~FOR_RUN, GROUP_RUN, NULL,
     "name of the run"},
    {"label", 0, LIST("KEY=VALUE", labels), NULL, option_check_label, false, ANY, GROUP_RUN, NULL,
     "label of the run"},
    {"timeout", 0, TIME("TIME", tracker.timeout_ns), NULL, NULL, false, FOR_RUN, GROUP_RUN, NULL,
     "send SIGTERM to the command and its descendants after this time"},
    {"grace", 0, TIME("TIME", tracker.grace_ns), NULL, NULL, false, FOR_RUN, GROUP_RUN, "10s",
     "time from SIGTERM to SIGKILL after a --timeout"},
    {"memory-max", 0, OWN("SIZE"), NULL, option_set_memory_max, false, FOR_RUN, GROUP_RUN, NULL,
     "limit the total memory of the command and its descendants, such as 2G; needs a cgroup"},
    {"cpu-max", 0, OWN("CORES"), NULL, option_set_cpu_max, false, FOR_RUN, GROUP_RUN, NULL,
     "limit the command and its descendants to this number of cores, such as 1.5; needs a cgroup"},
    {"pids-max", 0, OWN("N"), NULL, option_set_pids_max, false, FOR_RUN, GROUP_RUN, NULL,
     "limit the number of processes and threads of the job; needs a cgroup"},
    {"for", 0, TIME("TIME", for_ns), NULL, NULL, false, FOR_ATTACH | FOR_SYSTEM, GROUP_RUN, NULL,
     "stop measuring after this time"},
    {"wait", 0, CHOICE("FOR", "main all", tracker.wait), NULL, NULL, false, FOR_RUN | FOR_ATTACH,
     GROUP_RUN, "main", "end with the main process, or with its last descendant"},
    {"signals", 0, CHOICE("HOW", "forward group", signals_come_to_group), NULL, NULL, false,
     FOR_RUN, GROUP_RUN, "forward",
     "signals that toll passes on to the command: all, or (for senders that signal the whole "
     "process group) only those that have not reached it already"},

    {"fail-if", 0, LIST("CONDITION", fail_if), "a condition such as 'memory_peak > 2G'", NULL,
     false, FOR_RUN | FOR_COMPARE, GROUP_RUN, NULL,
     "exit with 1 if the condition holds, such as 'memory_peak > 2G' or, for a change from the "
     "baseline, 'cpu > +5%'; see 'man toll-compare'"},
    {"baseline", 0, TEXT("FILE|NAME", baseline),
     "a record, a directory, or the name of earlier runs", NULL, false, FOR_RUN, GROUP_RUN, NULL,
     "runs that --fail-if compares with: a record, a directory, or the name of earlier runs "
     "recorded in the current directory"},
    {"baseline", 0, TEXT("GROUP", baseline), "a group of runs", NULL, true, FOR_COMPARE, GROUP_RUN,
     "the first group", "compare all groups with this one"},
    {"in", 0, TEXT("RECORD|DIRECTORY", in), "a record or a directory", NULL, true, FOR_COMPARE,
     GROUP_RUN, "the current directory", "where to look up groups given by name and labels"},

    /* Repeated runs */
    {"runs", 'n', OWN("N"), NULL, option_set_runs, true, FOR_RUN, GROUP_REPEAT, NULL,
     "run the command N times; the summary shows mean, deviation, range and outliers"},
    {"warmup", 0, OWN("N"), NULL, option_set_warmup, true, FOR_RUN, GROUP_REPEAT, "0",
     "first run the command N times without recording it"},
    {"prepare", 0, TEXT("COMMAND", repeat.prepare), "a command for the shell", NULL, true, FOR_RUN,
     GROUP_REPEAT, NULL, "shell command to run before each run; not measured"},
    {"parameter", 0, LIST("NAME VALUE,…", repeat.parameters), NULL, option_check_parameter, true,
     FOR_RUN, GROUP_REPEAT, NULL,
     "run the command with each value in place of {NAME}, and compare; several parameters give "
     "all combinations"},
    {"ignore-failure", 0, SWITCH(repeat.ignore_failure), NULL, NULL, true, FOR_RUN, GROUP_REPEAT,
     NULL, "continue after failed runs, and count them"},

    /* Sampling */
    {"interval", 'i', OWN("auto|TIME"), NULL, option_set_interval, false, ANY, GROUP_SAMPLING,
     "auto for run, 1s for attach and system",
     "time between samples, 1ms or more; auto grows from 10ms to 1s with the age of the run"},
    {"budget", 0, OWN("PERCENT"), NULL, option_set_budget, false, FOR_RUN | FOR_ATTACH,
     GROUP_SAMPLING, "1", "CPU time that slow reads may use, in percent of one core"},

    /* Reports */
    {"output", 'o', LIST("FILE", outputs), "a file name", NULL, true, FOR_REPORT, GROUP_OUTPUT,
     "text on stdout",
     "write to FILE; the suffix selects the format: .html (a page with charts), .md, .json, .svg "
     "(one "
     "chart) or .txt; - is stdout"},
    {"format", 'f', CHOSEN_TEXT("FORMAT", "text markdown html json svg", results_format), NULL,
     NULL, true, FOR_REPORT, GROUP_OUTPUT, NULL,
     "format, instead of the one that the suffix "
     "selects"},
    {"all", 'a', SWITCH(all), NULL, NULL, true, FOR_REPORT, GROUP_MEASURE, NULL,
     "report every run, not only the newest"},

    /* Files of code blocks */
    {"output", 'o', TEXT("FILE", results_file), "a file name", NULL, true, FOR_SUB_TRACKING,
     GROUP_OUTPUT, "stdout", "write the results to FILE"},
    {"format", 'f', CHOSEN_TEXT("FORMAT", "text json pickle", results_format), NULL, NULL, true,
     FOR_SUB_TRACKING, GROUP_OUTPUT, "text", "format of the results"},
    {"stat", 0, CHOSEN_TEXT("STATISTIC", "min max mean std", statistic), NULL, NULL, true,
     FOR_SUB_TRACKING, GROUP_OUTPUT, "mean", "statistic that compare shows"},

    /* Comparisons */
    {"output", 'o', LIST("FILE", outputs), NULL, option_check_output, true, FOR_COMPARE,
     GROUP_OUTPUT, "text on stdout",
     "write the comparison to FILE: .md, .html, .json or .txt; or - for stdout"},
    {"format", 'f', CHOSEN_TEXT("FORMAT", "text markdown json html", results_format), NULL, NULL,
     true, FOR_COMPARE, GROUP_OUTPUT, NULL, "format for stdout, and for files with another suffix"},

    /* Which runs to list */
    {"label", 0, LIST("KEY[=VALUE]", labels), "the key of a label, or KEY=VALUE", NULL, true,
     FOR_LIST | FOR_RECOMMEND | FOR_REPORT, GROUP_MEASURE, NULL,
     "only runs with this label; if repeated, with all of them"},
    {"name", 0, TEXT("GLOB", list.name), "a name, in which * matches any characters", NULL, true,
     FOR_LIST | FOR_RECOMMEND | FOR_REPORT, GROUP_MEASURE, NULL,
     "only runs with this name; * matches any characters"},
    {"since", 0, OWN("TIME|DATE"), NULL, option_set_since, true, FOR_LIST, GROUP_MEASURE, NULL,
     "only runs that started in the last TIME (7d, 12h) or since DATE (2026-11-15, "
     "2026-11-15T09:30)"},
    {"limit", 'n', OWN("N"), NULL, option_set_limit, true, FOR_LIST, GROUP_MEASURE, NULL,
     "only the first N runs"},
    {"sort", 's', OWN("KEY"), NULL, option_set_sort, true, FOR_LIST, GROUP_OUTPUT, "-time",
     "sort by time, name, duration, cpu, memory or exit; -KEY is descending"},
    {"reverse", 'r', SWITCH(list.is_reversed), NULL, NULL, true, FOR_LIST, GROUP_OUTPUT, NULL,
     "reverse the order"},
    {"ranks", 0, SWITCH(list.each_rank), NULL, NULL, true, FOR_LIST, GROUP_OUTPUT, NULL,
     "list each rank of a parallel job"},

    /* Of single commands */
    {"for", 0,
     CHOSEN_TEXT("TOOL", "sbatch kubernetes docker systemd nextflow snakemake cwl condor",
                 advised_tool),
     NULL, NULL, true, FOR_RECOMMEND, GROUP_OUTPUT, NULL,
     "print lines to paste into the settings of this tool"},
    {"json", 0, SWITCH(json), NULL, NULL, true,
     FOR_LIST | FOR_RECOMMEND | FOR_REPORT | FOR_COMPARE | FOR_NO_TARGET, GROUP_OUTPUT, NULL,
     "print JSON"},
    {"markdown", 0, SWITCH(markdown), NULL, NULL, true, FOR_METRICS, GROUP_OUTPUT, NULL,
     "print Markdown"},
    {"verbose", 'v', SWITCH(verbose), NULL, NULL, true, FOR_DOCTOR, GROUP_OUTPUT, NULL,
     "list all checks, not only problems"},
    {"strict", 0, SWITCH(strict), NULL, NULL, true, FOR_DOCTOR, GROUP_OUTPUT, NULL,
     "exit with 1 unless every named check is ok; without names, every check marked with *"},
    {"root", 0, TEXT("PATH", root), "a directory with proc and sys", NULL, true, FOR_DOCTOR,
     GROUP_MEASURE, NULL, "check a recorded machine: a directory with its proc and sys"},
    {"verbose", 'v', SWITCH(verbose), NULL, NULL, true, FOR_MARK, GROUP_OUTPUT, NULL,
     "print a note if the mark was not received"},
    {"all", 'a', SWITCH(all), NULL, NULL, true, FOR_HELP, GROUP_OUTPUT, NULL, "list all commands"},

    /* GNU time */
    {"format", 'f', TEXT("FORMAT", time.format), NULL, NULL, true, FOR_TIME, GROUP_OUTPUT,
     "$TIME, or the default of GNU time",
     "format of the output, in which conversions such as %e, %U, "
     "%S and %M are replaced by figures"},
    {"output", 'o', TEXT("FILE", time.output), "a file name", NULL, true, FOR_TIME, GROUP_OUTPUT,
     "stderr", "write to FILE"},
    {"append", 'a', SWITCH(time.appends), NULL, NULL, true, FOR_TIME, GROUP_OUTPUT, NULL,
     "with --output: append to the file"},
    {"verbose", 'v', SWITCH(time.is_verbose), NULL, NULL, true, FOR_TIME, GROUP_OUTPUT, NULL,
     "print all figures, one on each line"},
    {"portability", 'p', SWITCH(time.is_portable), NULL, NULL, true, FOR_TIME, GROUP_OUTPUT, NULL,
     "print the three lines of POSIX: real, user, sys"},
    {"quiet", 'q', SWITCH(time.is_quiet), NULL, NULL, true, FOR_TIME, GROUP_OUTPUT, NULL,
     "do not report that the command failed"},
    {"version", 'V', SWITCH(time.version), NULL, NULL, true, FOR_TIME, GROUP_SETUP, NULL,
     "show the version of toll"},

    /* Set up */
    {"config", 0, TEXT("FILE", config), NULL, NULL, true, ANY, GROUP_SETUP, NULL,
     "read options from FILE: lines of 'option = value'"},
    {"help", 'h', SWITCH(help), NULL, NULL, true, FOR_ANY_COMMAND, GROUP_SETUP, NULL,
     "show this help"},
    {0},
};

_Static_assert(ARRAY_LEN(options) <= OPTIONS_AT_MOST + 1, "struct settings has room for each");

/* Names of before, which keep working. */
static const struct {
    const char *before, *now;
} old_option_names[] = {{"dialect", "layout"}};

const char *option_old_name(const struct option *o)
{
    for (size_t i = 0; i < ARRAY_LEN(old_option_names); i++)
        if (strcmp(old_option_names[i].now, o->name) == 0)
            return old_option_names[i].before;
    return NULL;
}

const struct option *option_by_name(const char *name, unsigned modes)
{
    const struct option *other = NULL;
    for (size_t i = 0; i < ARRAY_LEN(old_option_names); i++)
        if (strcmp(old_option_names[i].before, name) == 0)
            name = old_option_names[i].now;
    for (const struct option *o = options; o->name; o++) {
        if (strcmp(o->name, name) != 0)
            continue;
        if (o->modes & modes)
            return o;
        other = other ? other : o;
    }
    return other;
}

const struct option *option_by_variable(const char *variable, struct suggestion *ret_near)
{
    const struct option *found = NULL;
    suggestion_begin(ret_near, variable);
    for (const struct option *o = options; o->name; o++) {
        char known[64];
        const char *names[] = {o->name, option_old_name(o)};
        for (size_t i = 0; i < ARRAY_LEN(names) && names[i]; i++) {
            option_variable(names[i], known, sizeof known);
            if (strcmp(known, variable) == 0 && (!found || found->command_line_only))
                found = o;
            if (!o->command_line_only)
                suggestion_offer(ret_near, known);
        }
    }
    return found;
}

const struct option *option_by_letter(char letter, unsigned modes)
{
    const struct option *other = NULL;
    for (const struct option *o = options; o->name; o++) {
        if (o->letter != letter)
            continue;
        if (o->modes & modes)
            return o;
        other = other ? other : o;
    }
    return other;
}

void option_variable(const char *name, char *ret, size_t capacity)
{
    size_t n = (size_t)snprintf(ret, capacity, "TOLL_%s", name);
    for (size_t i = 0; i < n && i + 1 < capacity; i++)
        ret[i] = ret[i] == '-' ? '_' : (char)toupper((unsigned char)ret[i]);
}
