/* SPDX-License-Identifier: MIT */
#include "cli/cli.h"

#include "base/io/output_file.h"
#include "base/text/buf.h"
#include "base/text/secrets.h"
#include "base/util.h"
#include "cli/gpu_tracker/command.h"
#include "cli/options.h"

#include <fcntl.h>
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
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (variable_is_set(names[i])) {
            const char *value = getenv(names[i]);
            return strcasestr(value, "utf-8") || strcasestr(value, "utf8");
        }
    return false;
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
    "Options end at -- or at the first word that is none; the rest is the command. The "
    "summary goes to stderr, and toll exits as the command did.\n";

static const char about_attach[] =
    "A PID stands for the process and all its descendants; NAME=PID names it. Several "
    "targets are several series, and their union. Options may stand behind PIDs. Without "
    "--output there is a line on stdout each second; Ctrl-C ends toll with a summary on "
    "stderr, and the targets never notice.\n";

static const char about_system[] =
    "Without --output there is a line on stdout each second; Ctrl-C or --for ends toll with "
    "a summary on stderr.\n";

static const char about_mark[] =
    "  toll mark phase begin NAME [KEY=VALUE…]\n"
    "  toll mark phase end NAME\n"
    "  toll mark event NAME [KEY=VALUE…]\n"
    "  toll mark gauge NAME VALUE\n"
    "\n"
    "The mark goes to the 'toll run' that this runs under, and counts for the process that "
    "called it, a shell for instance. Where nobody listens it does nothing and exits with 0; "
    "-v, --verbose says so.\n";

static const char about_phases[] =
    "  toll phases analyze POINTS [BLOCKS]\n"
    "  toll phases combine -o FILE BLOCKS… | DIRECTORY\n"
    "  toll phases compare [--stat min|max|mean|std] NAME=FILE…\n"
    "\n"
    "For files of gpu-tracker, CSV or SQLite: POINTS has a row for each sample, BLOCKS the "
    "moments at which code blocks began and ended. A record of toll is both: without BLOCKS its "
    "phases are meant. compare takes analyses that were written with -f json or pickle, the "
    "formats beside text, and POINTS. -o, --output FILE is where the results go.\n";

static const char about_export[] =
    "RECORD is a .jsonl or .sqlite file that toll has written, or - for stdin (.jsonl); it "
    "may still grow, or end in the middle. Each --output is written as it would have been "
    "while the run was measured; without one it goes to stdout, as CSV unless --format says "
    "otherwise (-f text is the summary). Of several runs in a file all are taken, one after "
    "the other. Files are replaced once all is written; a damaged record changes none.\n";

static const char about_list[] =
    "The runs in each record: number, start, time, samples, how it ended, name and command. "
    "The number is for 'toll export --run'.\n";

static const char about_send[] =
    "SPOOL is the file that 'toll run -o mlflow:…' has named. It goes where it was meant to "
    "go, or to DESTINATION, written as behind -o, and is removed when it has arrived. "
    "Nothing arrives twice.\n";

const struct subcommand subcommands[] = {
    {"run", "[options] [--] COMMAND…", "run a command, tell what it used", run_main, false, FOR_RUN,
     about_run, NULL},
    {"attach", "[options] [PID…]", "measure what runs already", attach_main, false, FOR_ATTACH,
     about_attach, NULL},
    {"system", "[options]", "measure the whole machine", system_main, false, FOR_SYSTEM,
     about_system, NULL},
    {"mark", "[-v] phase | event | gauge WORD…", "say where a job is, from inside it", mark_main,
     false, 0, about_mark, "phase begin end"},
    {"export", "[options] RECORD", "write a record in another format", export_main, false,
     FOR_EXPORT, about_export, NULL},
    {"list", "[options] RECORD…", "list the runs in records", list_main, false, FOR_LIST,
     about_list, NULL},
    {"doctor", "[--json] [--strict] [WHAT…]", "tell what can be measured here", doctor_main, false,
     FOR_DOCTOR, NULL, NULL},
    {"metrics", "[--json | --markdown]", "list what can be measured", metrics_main, false,
     FOR_METRICS, NULL, NULL},
    {"dialects", "[--json] [NAME]", "list whose columns can be written", layouts_main, false,
     FOR_LAYOUTS, NULL, NULL},
    {"sinks", "[--json] [FORMAT]", "list where figures can go", sinks_main, false, FOR_SINKS, NULL,
     NULL},
    {"phases", "analyze | combine | compare WORD…", "tell what code blocks used", phases_main,
     false, 0, about_phases, NULL},
    {"send", "SPOOL [DESTINATION]", "send what a server did not take", send_main, false, FOR_SEND,
     about_send, NULL},
    {"help", "[SUBCOMMAND]", "explain toll or a subcommand", help_main, false, 0, NULL, NULL},
    {"completion", "bash | zsh | fish", "print a shell's completion script", completion_main, true,
     0, NULL, NULL},
    {"replay", "[options] DIRECTORY", "measure a recorded run instead of a live one", replay_main,
     true, FOR_RUN | FOR_ATTACH | FOR_SYSTEM, NULL, NULL},
    {0},
};

enum { COMPLAIN_WAIT_MS = 100 };

int complain(const char *format, ...)
{
    char sentence[1024], line[sizeof sentence + 16];
    struct stream out;
    va_list args;
    va_start(args, format);
    vsnprintf(sentence, sizeof sentence, format, args);
    va_end(args);
    secrets_mask_sentence(sentence, sizeof sentence);
    text_make_printable(sentence);
    size_t length = (size_t)snprintf(line, sizeof line, "toll: %s\n", sentence);
    stream_open(&out, STDERR_FILENO); /* it may be a pipe that is full: the job comes first */
    stream_write_patiently(&out, line, length, COMPLAIN_WAIT_MS);
    stream_close(&out);
    return EXIT_TOLL;
}

int print(struct buf *b)
{
    bool written = !buf_failed(b) &&
                   (!b->length || fwrite(b->data, 1, b->length, stdout) == b->length) &&
                   fflush(stdout) == 0;
    buf_done(b);
    return written ? 0 : complain("cannot write to stdout");
}

int subcommand_main(int argc, char **argv, size_t least, size_t most, const char *expected,
                    int (*run)(struct settings *s))
{
    struct settings s = {0};
    struct toll_error e = {0};
    int rest, status;
    size_t count = 0;
    int r = options_read(&s, argc, argv, &rest, &e);
    while (s.words && s.words[count])
        count++;
    if (r < 0)
        status = complain("%s", e.message);
    else if (s.help)
        status = help_subcommand(argv[0]);
    else if (count < least || count > most)
        status = complain("%s", expected);
    else
        status = run(&s);
    settings_done(&s);
    return status;
}

static int run_subcommand(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "__complete") == 0)
        return complete_main(argc, argv);
    if (argc && strcmp(basename(argv[0]), "gpu-tracker") == 0)
        return gpu_tracker_main(argc, argv);
    if (argc < 2) {
        fputs("usage: toll run [options] [--] COMMAND… | toll attach PID… | toll system     ('toll "
              "help' tells more)\n",
              stderr);
        return EXIT_TOLL;
    }
    if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0) {
        printf("toll %s\n", toll_version());
        return 0;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)
        return help_main(1, argv + 1);
    const struct subcommand *s = subcommand_by_name(argv[1]);
    if (s)
        return s->main(argc - 1, argv + 1);
    if (argv[1][0] == '-')
        return complain("toll has no option %s; there are --help and --version, and 'toll help' "
                        "lists the subcommands",
                        argv[1]);
    return complain("'%s' is not a subcommand; to measure it: toll run -- %s; 'toll help' lists "
                    "the subcommands",
                    argv[1], argv[1]);
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
     * in it. The command still finds it closed. */
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", O_RDWR | O_CLOEXEC) < 0)
            break;
    words.argc = argc;
    words.argv = argv;
    leave_small_stack();
    run_words();
    return EXIT_TOLL;
}
