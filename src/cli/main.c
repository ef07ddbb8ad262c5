/* SPDX-License-Identifier: MIT */
#include "cli/cli.h"

#include "base/err.h"
#include "base/io/output_file.h"
#include "base/text/buf.h"
#include "base/text/secrets.h"
#include "base/util.h"
#include "cli/gpu_tracker/command.h"
#include "cli/options.h"

#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <ucontext.h>

/* ==== Terminal ================================================================================ */

static bool variable_is_set(const char *name)
{
    const char *value = getenv(name);
    return value && *value;
}

bool color_is_wanted(int fd, enum color_choice choice)
{
    const char *force = getenv("CLICOLOR_FORCE"), *term = getenv("TERM");
    if (choice != COLOR_AUTO)
        return choice == COLOR_ALWAYS;
    if (variable_is_set("NO_COLOR"))
        return false;
    if (force && *force && strcmp(force, "0") != 0)
        return true;
    return isatty(fd) && term && strcmp(term, "dumb") != 0;
}

/* By the variables of the locale, in the order in which libc asks for them. */
static bool locale_is_utf8(void)
{
    static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        const char *value = variable_is_set(names[i]) ? getenv(names[i]) : NULL;
        if (value)
            return strcasestr(value, "utf-8") || strcasestr(value, "utf8");
    }
    return false;
}

unsigned terminal_width(void)
{
    enum { NARROWEST = 40, WIDEST = 80 };
    struct winsize size;
    if (!isatty(STDOUT_FILENO) || ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) < 0 || !size.ws_col)
        return WIDEST;
    return size.ws_col < NARROWEST ? NARROWEST : size.ws_col > WIDEST ? WIDEST : size.ws_col;
}

void add_in_charset(struct buf *b, const char *text, size_t length)
{
    static const char *const signs[][2] = {{"…", "..."}, {"≥", ">="}, {"→", "->"}, {"–", "-"},
                                           {"±", "+-"},  {"×", "x"},  {"µ", "u"},  {"°", ""}};
    if (locale_is_utf8()) {
        buf_add(b, text, length);
        return;
    }
    for (const char *end = text + length; text < end;) {
        const char *ascii = NULL;
        size_t bytes = 1;
        for (size_t i = 0; i < ARRAY_LEN(signs) && !ascii && (*text & 0x80); i++) {
            bytes = strlen(signs[i][0]);
            if ((size_t)(end - text) >= bytes && memcmp(text, signs[i][0], bytes) == 0)
                ascii = signs[i][1];
        }
        if (!ascii) { /* one character, whatever it is */
            for (bytes = 1; text + bytes < end && (text[bytes] & 0xC0) == 0x80 && (*text & 0x80);)
                bytes++;
            buf_putc(b, *text & 0x80 ? '?' : *text);
        } else {
            buf_puts(b, ascii);
        }
        text += bytes;
    }
}

void terminal_describe(struct toll_output *out, enum color_choice choice)
{
    struct winsize size;
    if (color_is_wanted(out->fd, choice))
        out->flags |= TOLL_OUTPUT_COLOR;
    if (!locale_is_utf8())
        out->flags |= TOLL_OUTPUT_ASCII;
    if (isatty(out->fd)) {
        out->flags |= TOLL_OUTPUT_HINTS;
        if (ioctl(out->fd, TIOCGWINSZ, &size) == 0)
            out->columns = size.ws_col;
    }
}

/* ==== Main ==================================================================================== */

static const char about_run[] =
    "The summary goes to stderr, and toll exits with the exit status of the command. Options end "
    "at -- or at the first non-option argument; 'toll -- COMMAND' is short for 'toll run -- "
    "COMMAND'.\n";

static const char about_attach[] =
    "Each PID is measured with all its descendants; NAME=PID gives it a name. Without --output, "
    "toll prints a line per second on stdout. Ctrl-C ends toll with a summary on stderr; the "
    "processes keep running.\n";

static const char about_system[] =
    "Without --output, toll prints a line per second on stdout. Ctrl-C or --for ends toll with a "
    "summary on stderr.\n";

static const char about_mark[] =
    "  toll mark phase begin NAME [KEY=VALUE…]\n  toll mark phase end NAME\n  toll mark event "
    "NAME [KEY=VALUE…]\n  toll mark gauge NAME VALUE\n\nSends a mark to the 'toll run' that "
    "measures this process. The mark belongs to the process that calls 'toll mark', such as a "
    "shell. Outside 'toll run' it does nothing and exits with 0.\n";

static const char about_sub_tracking[] =
    "  toll sub-tracking analyze POINTS [BLOCKS]\n  toll sub-tracking combine -o FILE BLOCKS… | "
    "DIRECTORY\n  toll sub-tracking compare [--stat STATISTIC] NAME=FILE…\n\nPOINTS (a tracking "
    "file) has a row per sample, BLOCKS (a sub-tracking file) the start and stop times of code "
    "blocks; both are CSV or SQLite files of gpu-tracker. A record of toll can be used as "
    "POINTS; without BLOCKS, its phases are analysed. compare reads the results of analyze, in "
    "json or pickle format.\n";

static const char about_export[] =
    "RECORD is a .jsonl or .sqlite file written by toll, or - for .jsonl on stdin; it may be "
    "incomplete or still growing. Each --output is written as it would have been during the run; "
    "without --output, CSV goes to stdout, or the type that --format names. All runs of the "
    "record are exported unless --run selects one. If the record is damaged, no file is "
    "changed.\n";

static const char about_list[] =
    "Lists the runs in the given records, newest first. A record is a .jsonl or .sqlite file "
    "that toll wrote; a directory means all records in it, but not in its subdirectories "
    "(default: the current directory). A run that was saved to two files is listed once. The "
    "ranks of a parallel job share one line: the longest duration, the total CPU time, the "
    "memory of the largest rank, and the end of the first rank that failed. 'toll export RECORD "
    "--run RUN' exports one run; RUN is its ID, or its number in the first column or, in a list "
    "of several records, after the name of the record ('runs.jsonl:2'). '?' is unknown, '≥' a "
    "lower bound. On a narrow terminal, cells are shortened and columns left out; in a pipe, "
    "only names longer than 60 characters are shortened.\n\n  toll list --label team=blue "
    "--since 7d runs/   last week's runs of a team\n  toll list --sort -memory -n 5 runs.sqlite  "
    "    the five with the most memory\n";

static const char about_report[] =
    "Shows the newest run in the given records, and a table of earlier runs of the same name. A "
    "record is a .jsonl or .sqlite file that toll wrote; a directory means all records in it, "
    "but not in its subdirectories (default: the current directory). If the newest run is a rank "
    "of a parallel job, all ranks are shown together. --run, --name and --label choose another "
    "run. Without --output, the report is text on stdout.\n\n  toll report run.jsonl             "
    "        in the terminal\n  toll report runs/ --name build -o r.html  a page with charts and "
    "earlier builds\n  toll report runs/1234/                    the ranks of a job together\n";

static const char about_recommend[] =
    "Suggests what to request for the next run, and why: one block for each name, from the last "
    "20 runs of that name that finished. RECORD is a .jsonl or .sqlite file that toll wrote; a "
    "directory means all records in it (default: the current directory). Runs ended by the OOM "
    "killer or a timeout show what was too little; other failed runs are left out. Fewer than "
    "three runs are weak evidence.\n\n  toll recommend --name train runs/               with the "
    "reasons\n  toll recommend --name train --for sbatch runs/  lines for the job script\n";

static const char about_compare[] =
    "Compares each group of runs with the first group, the baseline. A group is a record "
    "(.jsonl, .sqlite), RECORD:RUN, a directory of records, or a name and labels to look up in "
    "--in, such as name=build,branch=main. If groups have several runs, differences come with "
    "confidence intervals, and those that may be chance are not reported. toll exits with 1 if a "
    "--fail-if condition holds.\n\n  toll compare old.jsonl new.jsonl\n  toll compare --in "
    "runs.sqlite branch=main branch=new -o compare.html\n  toll compare old/ new/ --fail-if 'cpu "
    "> +5%'\n";

static const char about_doctor[] =
    "CHECK selects checks by name. Those marked with * are needed by every job.\n";

static const char about_metrics[] =
    "WORD selects metrics by a part of their name (memory), by entity (disk) or by pattern "
    "('system_cpu*'); basic selects those that most people plot. With several words, metrics "
    "that match any of them are listed.\n";

static const char about_outputs[] = "TYPE selects one output type.\n";

static const char about_layouts[] = "With NAME: the options and columns of that layout.\n";

static const char about_resend[] =
    "SPOOL is the file in which a run kept what a server did not accept; the run printed its "
    "name. It is sent to the same server, or to DESTINATION (written as for --output), and "
    "removed on success. Nothing is sent twice.\n";

static const char about_time[] =
    "A drop-in replacement for GNU time (/usr/bin/time): same options, same output on stderr, "
    "same exit status. Unlike GNU time, it also counts orphans: processes that the command "
    "started but did not wait for. $TIME is the default of --format; 'toll layouts gnu-time' "
    "lists the conversions.\n\n  toll time -v make -j4\n  toll time -f '%e s, %M KiB' -o "
    "times.txt -a ./job\n";

static const char about_help[] =
    "'toll COMMAND --help' is the same as 'toll help COMMAND'. On a terminal, long pages are "
    "shown with $PAGER (default: less).\n";

static const char about_completion[] =
    "PROGRAM is toll or gpu-tracker (default: toll). To use it in this shell: 'source <(toll "
    "completion bash)', 'source <(toll completion zsh)', 'toll completion fish | source'.\n";

const struct subcommand subcommands[] = {
    {"run", NULL, COMMANDS_MEASURE, false, "[options] [--] COMMAND…",
     "run a command and measure what it uses", run_main, FOR_RUN, about_run, NULL},
    {"attach", NULL, COMMANDS_MEASURE, false, "[options] [PID…]", "measure running processes",
     attach_main, FOR_ATTACH, about_attach, NULL},
    {"system", NULL, COMMANDS_MEASURE, false, "[options]", "measure the whole machine", system_main,
     FOR_SYSTEM, about_system, NULL},
    {"list", NULL, COMMANDS_RESULTS, false, "[options] [RECORD… | DIRECTORY…]",
     "list the runs in records", list_main, FOR_LIST, about_list, NULL},
    {"report", NULL, COMMANDS_RESULTS, false, "[options] [RECORD… | DIRECTORY…]",
     "show what a run used, with charts", report_main, FOR_REPORT, about_report, NULL},
    {"compare", NULL, COMMANDS_RESULTS, false, "[options] BASELINE GROUP…",
     "compare runs and show what differs", compare_main, FOR_COMPARE, about_compare, NULL},
    {"recommend", NULL, COMMANDS_RESULTS, false, "[options] [RECORD… | DIRECTORY…]",
     "suggest CPUs, memory and time to request", recommend_main, FOR_RECOMMEND, about_recommend,
     NULL},
    {"export", NULL, COMMANDS_RESULTS, false, "[options] RECORD",
     "convert a record to another format", export_main, FOR_EXPORT, about_export, NULL},
    {"sub-tracking", "phases", COMMANDS_RESULTS, true,
     "analyze | combine | compare [options] FILE…", "analyse code blocks in gpu-tracker files",
     sub_tracking_main, FOR_SUB_TRACKING, about_sub_tracking, NULL},
    {"resend", "send", COMMANDS_RESULTS, true, "SPOOL [DESTINATION]",
     "send data that a server did not accept during a run", resend_main, FOR_RESEND, about_resend,
     NULL},
    {"doctor", NULL, COMMANDS_SETUP, false, "[options] [CHECK…]", "check what can be measured here",
     doctor_main, FOR_DOCTOR, about_doctor, NULL},
    {"metrics", NULL, COMMANDS_SETUP, false, "[--json | --markdown] [WORD…]", "list all metrics",
     metrics_main, FOR_METRICS, about_metrics, NULL},
    {"outputs", "sinks", COMMANDS_SETUP, false, "[--json] [TYPE]",
     "list output types and their options", outputs_main, FOR_OUTPUTS, about_outputs, NULL},
    {"layouts", "dialects", COMMANDS_SETUP, true, "[--json] [NAME]",
     "list the tools whose formats toll can write", layouts_main, FOR_LAYOUTS, about_layouts, NULL},
    {"mark", NULL, COMMANDS_SETUP, false, "[-v] phase | event | gauge WORD…",
     "mark phases and events from inside a job", mark_main, FOR_MARK, about_mark,
     "phase begin end"},
    {"time", NULL, COMMANDS_OTHER, true, "[options] COMMAND…", "run a command like GNU time",
     time_main, FOR_TIME, about_time, NULL},
    {"help", NULL, COMMANDS_OTHER, true, "[--all] [COMMAND]", "show help for toll or a command",
     help_main, FOR_HELP, about_help, NULL},
    {"version", NULL, COMMANDS_OTHER, true, "", "show the version", version_main, FOR_VERSION, NULL,
     NULL},
    {"completion", NULL, COMMANDS_OTHER, true, "bash | zsh | fish [PROGRAM]",
     "print a shell completion script", completion_main, FOR_COMPLETION, about_completion, NULL},
    {"replay", NULL, COMMANDS_OTHER, true, "[options] DIRECTORY",
     "measure a recorded machine, for tests and bug reports", replay_main, FOR_MEASURING, NULL,
     NULL},
    {0},
};

enum { COMPLAIN_WAIT_MS = 100 };

int complain(const char *format, ...)
{
    char sentence[1024], line[sizeof sentence + 16];
    struct buf shown = {0};
    struct stream out;
    va_list args;
    va_start(args, format);
    vsnprintf(sentence, sizeof sentence, format, args);
    va_end(args);
    secrets_mask_sentence(sentence, sizeof sentence);
    text_make_printable(sentence);
    size_t length = (size_t)snprintf(line, sizeof line, "toll: %s\n", sentence);
    add_in_charset(&shown, line, length);
    bool is_shown = !buf_failed(&shown); /* otherwise there is no memory */
    stream_open(&out, STDERR_FILENO);    /* it may be a pipe that is full: the job comes first */
    stream_write_patiently(&out, is_shown ? shown.data : line, is_shown ? shown.length : length,
                           COMPLAIN_WAIT_MS);
    stream_close(&out);
    buf_done(&shown);
    return EXIT_TOLL;
}

int complain_error(const char *context, const struct toll_error *e)
{
    char name[64];
    size_t length = strcspn(e->message, ": ");
    bool has_context = e->message[length] == ':' &&
                       (strncmp(e->message, "--", 2) == 0 ||
                        (context && strncmp(e->message, context, length) == 0));
    if (!has_context && e->message[length] == ':' && length < sizeof name) {
        memcpy(name, e->message, length);
        name[length] = '\0';
        for (char *c = name; (c = strchr(c, '_'));)
            *c = '-';
        if (option_by_name(name, ~0U))
            return complain("--%s%s", name, e->message + length);
    }
    context = has_context ? NULL : context;
    return context ? complain("%s: %s", context, e->message) : complain("%s", e->message);
}

int print(struct buf *b)
{
    errno = 0;
    bool written = !buf_failed(b) &&
                   (!b->length || fwrite(b->data, 1, b->length, stdout) == b->length) &&
                   fflush(stdout) == 0;
    int why = buf_failed(b) ? ENOMEM : errno;
    buf_done(b);
    return written ? 0 : complain("cannot write to stdout: %s", strerror(why));
}

int subcommand_main(int argc, char **argv, size_t least, size_t most,
                    int (*run)(struct settings *s))
{
    const struct subcommand *sub = subcommand_by_name(argv[0]);
    char synopsis[160] = "no arguments";
    if (*sub->arguments)
        snprintf(synopsis, sizeof synopsis, "toll %s %s", sub->name, sub->arguments);
    struct settings s = {0};
    struct toll_error e = {0};
    int rest, status;
    size_t count = 0;
    int r = options_read(&s, argc, argv, &rest, &e);
    while (s.words && s.words[count])
        count++;
    bool has_words = count >= least && count <= most;
    if (r == 0 && !s.help && has_words)
        r = option_rules_check(&s, &e);
    if (r < 0)
        status = complain("%s", e.message);
    else if (s.help)
        status = help_subcommand(argv[0]);
    else if (count < least)
        status = complain("%s: missing argument (expected %s)", sub->name, synopsis);
    else if (count > most)
        status = complain("%s: unexpected argument '%s' (expected %s)", sub->name, s.words[most],
                          synopsis);
    else
        status = run(&s);
    settings_done(&s);
    return status;
}

static int print_version(struct settings *s)
{
    struct buf b = {0};
    buf_printf(&b, "toll %s\n", toll_version());
    return print(&b);
}

int version_main(int argc, char **argv)
{
    return subcommand_main(argc, argv, 0, 0, print_version);
}

bool is_program(const char *name)
{
    const char *path = getenv("PATH");
    char file[PATH_MAX];
    if (strchr(name, '/'))
        return access(name, X_OK) == 0;
    for (size_t length; path && *name && *path; path += length + (path[length] == ':')) {
        length = strcspn(path, ":");
        snprintf(file, sizeof file, "%.*s/%s", (int)length, path, name);
        if (access(file, X_OK) == 0)
            return true;
    }
    return false;
}

void add_shell_word(struct buf *b, const char *word)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "-_./=:,+@%";
    if (*word && word[strspn(word, plain)] == '\0') {
        buf_puts(b, word);
        return;
    }
    buf_putc(b, '\'');
    for (; *word; word++)
        buf_puts(b, *word == '\'' ? "'\\''" : (char[]){*word, '\0'});
    buf_putc(b, '\'');
}

/* The option that a word begins with, of any subcommand, or NULL. *ret_takes_next: its value, or
 * that of a letter after it, is the next word. */
static const struct option *option_of_word(const char *word, bool *ret_takes_next)
{
    char name[64];
    *ret_takes_next = false;
    if (word[0] != '-' || !word[1])
        return NULL;
    if (word[1] == '-') { /* --name, --name=value */
        size_t length = strcspn(word + 2, "=");
        snprintf(name, sizeof name, "%.*s", (int)min_u64(length, sizeof name), word + 2);
        const struct option *o = option_by_name(name, FOR_RUN);
        *ret_takes_next = o && o->value && !word[2 + length];
        return o;
    }
    for (const char *letter = word + 1; *letter; letter++) { /* -qo */
        const struct option *o = option_by_letter(*letter, FOR_RUN);
        *ret_takes_next = o && o->value && !letter[1];
        if (!o || o->value)
            break;
    }
    return option_by_letter(word[1], FOR_RUN);
}

/* The subcommand that follows options, NULL when there is none. */
static char **subcommand_after_options(char **words)
{
    bool takes_next;
    while (*words && option_of_word(*words, &takes_next))
        words += takes_next && words[1] ? 2 : 1;
    return *words && subcommand_by_name(*words) ? words : NULL;
}

/* The first word is no command: it may be mistyped, or be what should be measured, or an option
 * that belongs after the command. */
static int refuse_command(char **words)
{
    struct suggestion near;
    struct buf line = {0};
    enum { MOST_BYTES = 400 };
    suggestion_begin(&near, *words);
    for (const struct subcommand *s = subcommands; s->name; s++)
        suggestion_offer(&near, s->name);
    bool is_option = **words == '-';
    if (is_option) {
        suggestion_offer(&near, "--help");
        suggestion_offer(&near, "--version");
    }
    bool takes_next;
    bool is_run = is_option ? option_of_word(*words, &takes_next) != NULL : is_program(*words);
    if (is_run) {
        char **command = is_option ? subcommand_after_options(words) : NULL;
        buf_printf(&line, "toll %s%s", command ? *command : "run", is_option ? "" : " --");
        for (char **word = words; *word && line.length < MOST_BYTES; word++) {
            if (word == command)
                continue;
            buf_putc(&line, ' ');
            add_shell_word(&line, *word);
        }
    }
    const char *what = is_option ? "option" : "command";
    int status = is_run && !buf_failed(&line)
                     ? complain("unknown %s '%s'; did you mean: %s", what, *words, line.data)
                     : complain("unknown %s '%s'%s; see 'toll help'", what, *words,
                                suggestion_text(&near));
    buf_done(&line);
    return status;
}

static int run_subcommand(int argc, char **argv)
{
    enum { EXIT_USAGE = 2 };
    if (argc > 1 && strcmp(argv[1], "__complete") == 0)
        return complete_main(argc, argv);
    if (argc && strcmp(basename(argv[0]), "gpu-tracker") == 0)
        return gpu_tracker_main(argc, argv);
    if (argc < 2) {
        struct buf b = {0};
        help_overview(&b);
        fwrite(b.data, 1, b.length, stderr);
        buf_done(&b);
        return EXIT_USAGE;
    }
    static char run[] = "run", help[] = "help", version[] = "version";
    if (strcmp(argv[1], "--") == 0) { /* toll -- COMMAND */
        argv[0] = run;
        return run_main(argc, argv);
    }
    if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0)
        argv[1] = version;
    else if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)
        argv[1] = help;
    const struct subcommand *s = subcommand_by_name(argv[1]);
    return s ? s->main(argc - 1, argv + 1) : refuse_command(argv + 1);
}

/* When a thread is left behind, libraries are not asked to tidy up: one that hangs may hold what
 * they wait for. */
static _Noreturn void end_program(int status)
{
    struct stat tasks;
    enum { OF_A_DIRECTORY = 2 };
    if (stat("/proc/self/task", &tasks) < 0 || tasks.st_nlink <= OF_A_DIRECTORY + 1)
        exit(status);
    fflush(stdout); /* not all there are: a thread may hold one of its own */
    _exit(status);
}

/* ---- A stack of its own ---------------------------------------------------------------------- */

enum { STACK_BYTES = 1024 * 1024, ENOUGH_STACK_BYTES = STACK_BYTES / 2 };

static struct {
    int argc;
    char **argv;
} words;

static void run_words(void)
{
    end_program(run_subcommand(words.argc, words.argv));
}

/* A small limit of the stack is for the command, which inherits it. toll reads files of the kernel
 * into buffers of some ten KiB, and libraries need as much: it then leaves the stack it was given,
 * and the limit as it is. */
static void leave_small_stack(void)
{
    static ucontext_t own;
    struct rlimit limit;
    if (getrlimit(RLIMIT_STACK, &limit) < 0 || limit.rlim_cur >= ENOUGH_STACK_BYTES)
        return;
    void *stack = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
    if (stack == MAP_FAILED || getcontext(&own) < 0)
        return;
    own.uc_stack.ss_sp = stack;
    own.uc_stack.ss_size = STACK_BYTES;
    makecontext(&own, run_words, 0);
    setcontext(&own);
}

int main(int argc, char **argv)
{
    /* A closed standard stream must not become the next file that is opened: messages would end up
     * in it. The command still finds it closed, and toll that it cannot write to stdout. */
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0 &&
            open("/dev/null", (fd == STDOUT_FILENO ? O_RDONLY : O_RDWR) | O_CLOEXEC) < 0)
            break;
    words.argc = argc;
    words.argv = argv;
    leave_small_stack();
    run_words();
    return EXIT_TOLL;
}
