/* SPDX-License-Identifier: MIT
 * toll help: made from the tables of subcommands and options. */
#include "cli/cli.h"

#include "base/err.h"
#include "base/text/buf.h"
#include "cli/options.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { COLUMN = 28, GAP = 2 };

/* ==== Pager =================================================================================== */

/* How many lines of a terminal the text takes. */
static size_t count_terminal_lines(const struct buf *b, size_t columns)
{
    size_t lines = 0;
    for (size_t at = 0; at < b->length; lines++) {
        const char *end = memchr(b->data + at, '\n', b->length - at);
        size_t length = end ? (size_t)(end - (b->data + at)) : b->length - at;
        size_t width = utf8_columns(b->data + at, length);
        lines += width ? (width - 1) / columns : 0;
        at += length + 1;
    }
    return lines;
}

/* The pager to use for a text, a line for the shell; NULL: none. */
static const char *choose_pager(const struct buf *b)
{
    struct winsize size;
    const char *pager = getenv("PAGER"), *term = getenv("TERM");
    if (!isatty(STDOUT_FILENO) || ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) < 0 || !size.ws_row ||
        !size.ws_col || count_terminal_lines(b, size.ws_col) < size.ws_row)
        return NULL;
    if (pager)
        return *pager && strcmp(pager, "cat") != 0 ? pager : NULL;
    return term && strcmp(term, "dumb") != 0 && is_program("less") ? "less -FRX" : NULL;
}

/* Shows the text with a pager. Returns false when that has failed, and the text has to be printed
 * in another way. */
static bool show_with_pager(const char *pager, const struct buf *b)
{
    int ends[2], status = 0;
    if (pipe2(ends, O_CLOEXEC) < 0)
        return false;
    pid_t child = fork();
    if (child == 0) {
        dup2(ends[0], STDIN_FILENO);
        setenv("LESS", "FRX", 0); /* it shows colours, and leaves what was shown */
        execl("/bin/sh", "sh", "-c", pager, (char *)NULL);
        _exit(EXIT_NOT_FOUND);
    }
    close(ends[0]);
    if (child < 0) {
        close(ends[1]);
        return false;
    }
    /* Ctrl-C is for the pager, which stays; one that quits early breaks the pipe. */
    void (*interrupt)(int) = signal(SIGINT, SIG_IGN), (*quit)(int) = signal(SIGQUIT, SIG_IGN);
    void (*broken)(int) = signal(SIGPIPE, SIG_IGN);
    for (size_t at = 0; at < b->length;) {
        ssize_t n = write(ends[1], b->data + at, b->length - at);
        if (n < 0 && errno != EINTR)
            break;
        at += n > 0 ? (size_t)n : 0;
    }
    close(ends[1]);
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    signal(SIGINT, interrupt);
    signal(SIGQUIT, quit);
    signal(SIGPIPE, broken);
    return WIFEXITED(status) ? WEXITSTATUS(status) == 0
                             : WIFSIGNALED(status) && WTERMSIG(status) == SIGINT;
}

int print_paged(struct buf *raw)
{
    struct buf all = {0}, *b = &all;
    if (buf_failed(raw))
        return print(raw);
    add_in_charset(b, raw->data ? raw->data : "", raw->length);
    buf_done(raw);
    const char *pager = buf_failed(b) || !b->length ? NULL : choose_pager(b);
    if (!pager || !show_with_pager(pager, b))
        return print(b);
    buf_done(b);
    return 0;
}

/* ==== Pages =================================================================================== */

size_t help_column(size_t column)
{
    enum { WHOLE = 80, TO_THE_LEFT = 3 };
    size_t width = terminal_width();
    return width < WHOLE ? min_u64(column, width / TO_THE_LEFT) : column;
}

void help_wrap(struct buf *b, const char *words, size_t column)
{
    size_t at = column, width = terminal_width() - 1;
    struct buf own = {0};
    add_in_charset(&own, words, strlen(words)); /* before its width is known */
    const char *text = buf_failed(&own) || !own.data ? "" : own.data;
    while (*text) {
        size_t word = strcspn(text, " ");
        if (at + utf8_columns(text, word) > width && at > column) {
            buf_putc(b, '\n');
            buf_pad(b, b->length, column);
            at = column;
        }
        if (at > column)
            buf_putc(b, ' ');
        for (size_t i = 0; i < word; i++)
            buf_putc(b, text[i] == *FIXED_BLANK ? ' ' : text[i]);
        at += utf8_columns(text, word) + 1;
        text += word;
        text += strspn(text, " ");
    }
    buf_putc(b, '\n');
    buf_done(&own);
}

void help_line(struct buf *b, const char *left, const char *text, size_t column)
{
    size_t start = b->length;
    column = help_column(column);
    add_in_charset(b, left, strlen(left));
    if (!buf_failed(b) && utf8_columns(b->data + start, b->length - start) + GAP > column) {
        buf_putc(b, '\n');
        start = b->length;
    }
    buf_pad(b, start, column);
    help_wrap(b, text, column);
}

/* A line is a paragraph; one that begins with blanks stays as it is. */
static void add_paragraphs(struct buf *b, const char *text)
{
    while (*text) {
        size_t length = strcspn(text, "\n");
        struct buf line = {0};
        buf_add(&line, text, length);
        if (*text == ' ' || !length || buf_failed(&line))
            buf_add(b, text, length), buf_putc(b, '\n');
        else
            help_wrap(b, line.data, 0);
        buf_done(&line);
        text += length + (text[length] == '\n');
    }
}

/* "-o, --output FILE", "--color auto|always|never" */
static void add_option_name(struct buf *b, const struct option *o)
{
    if (o->letter)
        buf_printf(b, "  -%c, --%s", o->letter, o->name);
    else
        buf_printf(b, "      --%s", o->name);
    if (!o->value)
        return;
    buf_putc(b, ' ');
    for (const char *c = o->choices ? o->choices : o->value; *c; c++)
        buf_putc(b, *c == ' ' && o->choices ? '|' : *c);
}

/* What an option does, with its default. FIXED_BLANK is a blank at which no line is broken. */
static void help_add_option_text(struct buf *b, const struct option *o)
{
    buf_puts(b, o->help);
    if (o->fallback)
        buf_printf(b, " (default:" FIXED_BLANK "%s)", o->fallback);
    else if (o->kind == OPTION_LIST)
        buf_puts(b, " (repeatable)");
}

static void add_option(struct buf *b, const struct option *o)
{
    struct buf left = {0}, text = {0};
    add_option_name(&left, o);
    help_add_option_text(&text, o);
    if (!buf_failed(&left) && !buf_failed(&text))
        help_line(b, left.data, text.data, COLUMN);
    buf_done(&left);
    buf_done(&text);
}

/* The heading of a group in the help and the manual of subcommands; NULL: they have so few options
 * that there are no headings. */
static const char *help_group_heading(enum option_group group, unsigned modes)
{
    static const char *const headings[OPTION_GROUPS] = {
        [GROUP_TARGETS] = "What to attach to",
        [GROUP_OUTPUT] = "Output",
        [GROUP_MEASURE] = "What to measure",
        [GROUP_RUN] = "The run",
        [GROUP_REPEAT] = "Repeated runs",
        [GROUP_SAMPLING] = "Sampling",
        [GROUP_SETUP] = "Set up",
    };
    enum { FEW = 6 };
    size_t count = 0;
    for (const struct option *o = options; o->name; o++)
        count += (o->modes & modes) != 0;
    if (count <= FEW)
        return NULL;
    if (modes & FOR_MEASURING)
        return headings[group];
    return group == GROUP_MEASURE ? "What to include"
           : group == GROUP_RUN   ? "What to compare"
                                  : headings[group];
}

static void add_options(struct buf *b, unsigned modes)
{
    if (!help_group_heading(0, modes))
        buf_puts(b, "\nOptions\n");
    for (enum option_group group = 0; group < OPTION_GROUPS; group++) {
        const char *heading = help_group_heading(group, modes);
        for (const struct option *o = options; o->name; o++) {
            if (!(o->modes & modes) || o->group != group || option_by_name(o->name, modes) != o)
                continue; /* replay has the options of several commands, each once */
            if (heading)
                buf_printf(b, "\n%s\n", heading);
            heading = NULL;
            add_option(b, o);
        }
    }
}

int help_subcommand(const char *name)
{
    const struct subcommand *s = subcommand_by_name(name);
    if (!s) {
        struct suggestion near;
        suggestion_begin(&near, name);
        for (s = subcommands; s->name; s++)
            suggestion_offer(&near, s->name);
        return complain("help: unknown command '%s'%s; see 'toll help --all'", name,
                        suggestion_text(&near));
    }
    struct buf b = {0};
    buf_printf(&b, "usage: toll %s%s%s\n\n", s->name, *s->arguments ? " " : "", s->arguments);
    buf_putc(&b, (char)toupper((unsigned char)*s->help)); /* a clause as a sentence */
    buf_printf(&b, "%s.\n", s->help + 1);
    if (s->more) {
        buf_putc(&b, '\n');
        add_paragraphs(&b, s->more);
    }
    if (s->main == doctor_main)
        doctor_add_help(&b);
    add_options(&b, s->options);
    static const char elsewhere[] =
        "Options can also be set by variables (TOLL_INTERVAL=1s) and in a configuration "
        "file (interval" FIXED_BLANK "=" FIXED_BLANK "1s). The command line overrides "
        "variables, which override the file. ";
    const bool is_measuring = s->options & FOR_MEASURING;
    const bool has_manual = s->group != COMMANDS_OTHER || s->main == time_main;
    if (is_measuring || has_manual) {
        struct buf last = {0};
        buf_puts(&last, is_measuring ? elsewhere : "");
        if (has_manual)
            buf_printf(&last, "The manual is toll-%s(1).", s->name);
        buf_putc(&b, '\n');
        if (!buf_failed(&last))
            help_wrap(&b, last.data, 0);
        buf_done(&last);
    }
    return print_paged(&b);
}

static const char *const command_headings[SUBCOMMAND_GROUPS] = {
    [COMMANDS_MEASURE] = "Measure",
    [COMMANDS_RESULTS] = "Results",
    [COMMANDS_SETUP] = "Set up",
    [COMMANDS_OTHER] = "Other",
};

/* Groups on the left, rare commands only when all are asked for. */
static void add_commands(struct buf *b, bool all)
{
    enum { NAME = 10 };
    unsigned help = all ? NAME + 14 : NAME + 11;
    for (enum subcommand_group group = 0; group < SUBCOMMAND_GROUPS; group++) {
        const char *heading = command_headings[group];
        for (const struct subcommand *s = subcommands; s->name; s++) {
            if ((s->is_rare && !all) || s->group != group)
                continue;
            size_t start = b->length;
            buf_puts(b, heading);
            buf_pad(b, start, NAME);
            buf_puts(b, s->name);
            buf_pad(b, start, help);
            help_wrap(b, s->help, help);
            heading = "";
        }
    }
}

void help_overview(struct buf *b)
{
    buf_puts(b, "usage: toll COMMAND [options]\n\n");
    add_commands(b, false);
    static const char *const examples[][2] = {
        {"Examples  toll run -- make -j4", "show what a build used"},
        {"          toll run -o run.csv -- ./job.sh", "also write the samples to a file"},
        {"          toll attach 1234", "watch a running process"},
    };
    enum { COMMENT = 45 };
    buf_putc(b, '\n');
    for (size_t i = 0; i < ARRAY_LEN(examples); i++)
        help_line(b, examples[i][0], examples[i][1], COMMENT);
    buf_putc(b, '\n');
    help_wrap(b, "'toll help COMMAND' lists options, 'toll help --all' lists all commands.", 0);
}

static void help_all(struct buf *b)
{
    enum { COMMENT = 31 };
    buf_puts(b, "usage: toll COMMAND [options]\n");
    help_line(b, "       toll -- PROGRAM…", "short for 'toll run -- PROGRAM…'", COMMENT);
    buf_putc(b, '\n');
    add_commands(b, true);
    struct buf old = {0};
    buf_puts(&old, "Old names:");
    for (const struct subcommand *s = subcommands; s->name; s++)
        if (s->old_name)
            buf_printf(&old, " %s (now %s),", s->old_name, s->name);
    for (const struct option *o = options; o->name; o++)
        if (option_old_name(o))
            buf_printf(&old, " --%s (now --%s),", option_old_name(o), o->name);
    if (!buf_failed(&old)) {
        old.data[old.length - 1] = '.';
        buf_putc(b, '\n');
        help_wrap(b, old.data, 0);
    }
    buf_done(&old);
    buf_puts(b, "\n'toll help COMMAND' lists options; the manual is toll(1).\n");
}

static int show_help(struct settings *s)
{
    struct buf b = {0};
    if (s->words)
        return help_subcommand(s->words[0]);
    (s->all ? help_all : help_overview)(&b);
    return print_paged(&b);
}

int help_main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "--man") == 0) /* for the build */
        return manual_print(argv[2]);
    return subcommand_main(argc, argv, 0, 1, show_help);
}

/* ==== Manual ================================================================================== */

/* toll help --man SUBCOMMAND: the parts of the manual pages that are made from tables, as man(7)
 * markup. The build inserts them into the pages in man/. */

static void manual_add_text(struct buf *b, const char *text)
{
    for (; *text; text++)
        if (*text == '-')
            buf_puts(b, "\\-");
        else if (*text == '\\')
            buf_puts(b, "\\e");
        else if (*text == *FIXED_BLANK)
            buf_puts(b, "\\ ");
        else
            buf_putc(b, *text);
}

/* A paragraph of one line, with a capital first unless that is a name or a value, and a full stop.
 */
static void manual_add_sentence(struct buf *b, const char *text)
{
    size_t word = strspn(text, "abcdefghijklmnopqrstuvwxyz");
    bool is_word = text[word] == ' ' || text[word] == ',' || !text[word];
    buf_puts(b, "\\&"); /* whatever it begins with, it is no request */
    if (word && is_word)
        buf_putc(b, (char)toupper((unsigned char)*text++));
    manual_add_text(b, text);
    buf_puts(b, ".\n");
}

/* ---- Options of a subcommand ---------------------------------------------------------------- */

static void manual_add_option(struct buf *b, const struct option *o)
{
    struct buf text = {0};
    buf_puts(b, ".TP\n\\fB");
    if (o->letter)
        buf_printf(b, "\\-%c\\fR, \\fB", o->letter);
    buf_puts(b, "\\-\\-");
    manual_add_text(b, o->name);
    buf_puts(b, "\\fR");
    if (o->value) {
        buf_puts(b, " \\fI");
        for (const char *c = o->choices ? o->choices : o->value; *c; c++)
            manual_add_text(b, *c == ' ' && o->choices ? "|" : (char[]){*c, '\0'});
        buf_puts(b, "\\fR");
    }
    buf_putc(b, '\n');
    help_add_option_text(&text, o);
    if (!buf_failed(&text))
        manual_add_sentence(b, text.data);
    buf_done(&text);
}

static void manual_add_options(struct buf *b, unsigned modes)
{
    for (enum option_group group = 0; group < OPTION_GROUPS; group++) {
        const char *heading = help_group_heading(group, modes);
        for (const struct option *o = options; o->name; o++) {
            if (!(o->modes & modes) || o->group != group)
                continue;
            if (heading)
                buf_printf(b, ".SS %s\n", heading);
            heading = NULL;
            manual_add_option(b, o);
        }
    }
}

/* ---- Checks of toll doctor ------------------------------------------------------------------ */

static void manual_add_checks(struct buf *b)
{
    const struct toll_check *c;
    buf_puts(b, ".SH CHECKS\nThose marked with * are needed by every job.\n");
    for (size_t i = 0; (c = toll_check_at(i)); i++) {
        buf_puts(b, i ? ".TQ\n.B " : ".TP 16n\n.B ");
        manual_add_text(b, c->name);
        buf_puts(b, c->essential ? " *\n" : "\n");
        manual_add_sentence(b, c->title);
    }
}

/* ---- Formats and destinations --------------------------------------------------------------- */

/* An option that this many formats describe in the same words is described once for all. */
enum { SHARED_BY = 3 };

static const struct toll_format_option *format_option(const struct toll_format *f, const char *name)
{
    const struct toll_format_option *o;
    for (size_t i = 0; (o = toll_format_option_at(f, i)); i++)
        if (strcmp(o->name, name) == 0)
            return o;
    return NULL;
}

/* Whether an option is described once for all; *ret_first: where it occurs first. */
static bool format_option_is_shared(const struct toll_format_option *o,
                                    const struct toll_format_option **ret_first)
{
    const struct toll_format *f;
    size_t same = 0;
    *ret_first = NULL;
    for (size_t i = 0; (f = toll_format_at(i)); i++) {
        const struct toll_format_option *other = format_option(f, o->name);
        if (!other || strcmp(other->help, o->help) != 0)
            continue;
        if (!same++)
            *ret_first = other;
    }
    return same >= SHARED_BY;
}

static void manual_add_format_option(struct buf *b, const struct toll_format_option *o,
                                     bool has_default)
{
    struct buf text = {0};
    buf_puts(b, ".TP\n\\fB,");
    manual_add_text(b, o->name);
    buf_puts(b, "=\\fI");
    manual_add_text(b, o->value);
    buf_puts(b, "\\fR\n");
    buf_puts(&text, o->help);
    if (has_default && *o->fallback)
        buf_printf(&text, " (default: %s)", o->fallback);
    if (!buf_failed(&text))
        manual_add_sentence(b, text.data);
    buf_done(&text);
}

static void manual_add_format(struct buf *b, const struct toll_format *f)
{
    const struct toll_format_option *o, *first;
    buf_puts(b, ".TP\n");
    if (*f->suffix)
        buf_printf(b, "\\fIFILE\\fB%s\\fR, ", f->suffix);
    buf_puts(b, "\\fB");
    manual_add_text(b, f->name);
    buf_puts(b, ":\\fI");
    manual_add_text(b, f->place);
    buf_puts(b, "\\fR\n");
    manual_add_sentence(b, f->help);
    if (toll_format_option_at(f, 0))
        buf_puts(b, ".RS\n");
    for (size_t i = 0; (o = toll_format_option_at(f, i)); i++)
        if (!format_option_is_shared(o, &first))
            manual_add_format_option(b, o, true);
    const char *before = ".PP\nAlso:\n";
    for (size_t i = 0; (o = toll_format_option_at(f, i)); i++) {
        if (!format_option_is_shared(o, &first))
            continue;
        buf_printf(b, "%s\\fB%s\\fR", before, o->name);
        if (*o->fallback)
            buf_printf(b, " (%s)", o->fallback);
        before = ",\n";
    }
    if (*before == ',')
        buf_puts(b, ".\n");
    if (toll_format_option_at(f, 0))
        buf_puts(b, ".RE\n");
}

static void manual_add_formats(struct buf *b)
{
    const struct toll_format *f;
    const struct toll_format_option *o, *first;
    for (size_t i = 0; (f = toll_format_at(i)); i++)
        manual_add_format(b, f);
    buf_puts(b, ".SS Options that several destinations have\n"
                "The default is in parentheses after \"Also\" above.\n");
    for (size_t i = 0; (f = toll_format_at(i)); i++)
        for (size_t k = 0; (o = toll_format_option_at(f, k)); k++)
            if (format_option_is_shared(o, &first) && o == first)
                manual_add_format_option(b, o, false);
}

int manual_print(const char *name)
{
    const struct subcommand *s = subcommand_by_name(name);
    struct buf b = {0};
    if (!s)
        return complain("help: unknown command '%s'; see 'toll help --all'", name);
    if (s->main == outputs_main)
        manual_add_formats(&b);
    else
        manual_add_options(&b, s->options);
    if (s->main == doctor_main)
        manual_add_checks(&b);
    return print(&b);
}
