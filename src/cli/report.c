/* SPDX-License-Identifier: MIT
 * toll report: what runs used, as text on a terminal or as files to look at. */
#include "base/err.h"
#include "base/memory.h"
#include "base/text/buf.h"
#include "base/text/scan.h"
#include "cli/cli.h"
#include "cli/options.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static void report_note(void *arg, const char *sentence)
{
    const struct settings *s = arg;
    if (!s->quiet)
        complain("report: %s", sentence);
}

/* The format of a file: its suffix names it, or --format. NULL: neither does. */
static const char *report_format_of(const struct settings *s, const char *file)
{
    static const struct {
        const char *suffix, *format;
    } suffixes[] = {
        {".html", "html"}, {".htm", "html"}, {".md", "markdown"},
        {".json", "json"}, {".svg", "svg"},  {".txt", "text"},
    };
    for (size_t i = 0; i < ARRAY_LEN(suffixes) && !s->results_format; i++)
        if (ends_with(file, suffixes[i].suffix))
            return suffixes[i].format;
    return s->results_format;
}

/* Text on stdout, as wide as the terminal; in a pipe $COLUMNS counts, as for toll list. */
static void report_describe_stdout(struct toll_output *out, const struct settings *s)
{
    const char *columns = getenv("COLUMNS");
    struct scan text = scan_string(columns ? columns : "");
    uint64_t width;
    out->fd = STDOUT_FILENO;
    terminal_describe(out, s->color);
    if (!out->columns && columns && scan_u64(&text, &width) && scan_done(&text) && width < 1000)
        out->columns = (unsigned)width;
}

/* Whether the file is a record in the directory. */
static bool directory_has_record(const char *path, const struct stat *file)
{
    DIR *directory = opendir(path);
    bool found = false;
    for (struct dirent *entry; directory && !found && (entry = readdir(directory));) {
        const char *name = entry->d_name;
        struct stat record;
        found = (ends_with(name, ".jsonl") || ends_with(name, ".sqlite") ||
                 ends_with(name, ".db")) &&
                fstatat(dirfd(directory), name, &record, 0) == 0 && record.st_dev == file->st_dev &&
                record.st_ino == file->st_ino;
    }
    if (directory)
        closedir(directory);
    return found;
}

/* Where runs are read: a path, the path of "RECORD:RUN", or that of runs without a path. */
static bool place_has_record(const char *text, const char *in, const struct stat *file)
{
    struct stat place;
    const char *colon = strrchr(text, ':');
    CLEANUP_FREE char *before = colon ? strndup(text, (size_t)(colon - text)) : NULL;
    const char *path = text;
    if (stat(path, &place) < 0) {
        path = before && stat(before, &place) == 0 ? before : in;
        if (path == in && stat(in, &place) < 0)
            return false;
    }
    return S_ISDIR(place.st_mode) ? directory_has_record(path, file)
                                  : place.st_dev == file->st_dev && place.st_ino == file->st_ino;
}

/* Whether a file that is about to be written is one of the records that are read: named by one of
 * the places (a record, RECORD:RUN, a directory), or in `in`, where other places are looked up.
 * NULL is the current directory. */
static bool is_record_that_is_read(const char *file, const char *const *places, const char *in)
{
    static const char *const here[] = {".", NULL};
    struct stat found;
    if (stat(file, &found) < 0 || !S_ISREG(found.st_mode))
        return false;
    for (places = places && *places ? places : here; *places; places++)
        if (place_has_record(*places, in ? in : ".", &found))
            return true;
    return false;
}

/* One report: to a file, or to stdout for "-". */
static int report_write(struct settings *s, const char *file)
{
    bool is_stdout = strcmp(file, "-") == 0;
    const char *format = report_format_of(s, file);
    CLEANUP_FREE char *text = NULL;
    struct toll_error e = {0};
    struct toll_report asked = {
        .size = sizeof asked,
        .records = s->words,
        .name = s->list.name,
        .labels = s->labels,
        .run = s->run,
        .run_id = s->run_id,
        .all = s->all,
        .note = report_note,
        .note_arg = s,
    };
    struct toll_output out = {.size = sizeof out, .format = format, .flags = output_flags(s)};
    if (!format && !is_stdout)
        return complain(
            "--output: unknown suffix of '%s' (expected .html, .md, .json, .svg or .txt, or "
            "--format)",
            file);
    if (!is_stdout && is_record_that_is_read(file, s->words, NULL))
        return complain("report: cannot write to '%s': it is the record being read (choose another "
                        "file)",
                        file);
    if (!format)
        out.format = s->json ? "json" : "text";
    bool is_text = strcmp(out.format, "text") == 0;
    if (is_stdout && is_text)
        report_describe_stdout(&out, s);
    int r = toll_report(&asked, &out, &text, &e);
    if (r == 0 && !is_stdout)
        r = phase_deliver(text, "text", file, &e);
    if (r < 0)
        return complain("report: %s", e.message);
    if (!is_stdout)
        return 0;
    struct buf b = {0};
    buf_puts(&b, text);
    return is_text ? print_paged(&b) : print(&b);
}

static int report_run(struct settings *s)
{
    static const char *to_stdout[] = {"-", NULL};
    int failed = 0;
    if (s->json && (s->results_format || s->outputs))
        return complain("--json conflicts with --%s (leave out one of them)",
                        s->outputs ? "output" : "format");
    for (const char **file = s->outputs ? s->outputs : to_stdout; *file && !failed; file++)
        failed = report_write(s, *file);
    return failed;
}

int report_main(int argc, char **argv)
{
    return subcommand_main(argc, argv, 0, SIZE_MAX, report_run);
}

/* ==== Compare ================================================================================= */

/* toll compare: groups of runs, as text, Markdown, JSON or HTML. */

static void compare_say(void *arg, const char *sentence)
{
    complain("compare: %s", sentence);
}

/* By the suffix of a file; NULL: that of --format. */
static const char *compare_format(const char *file)
{
    static const struct {
        const char *suffix, *format;
    } known[] = {
        {".md", "markdown"}, {".html", "html"}, {".htm", "html"},
        {".json", "json"},   {".txt", "text"},
    };
    for (size_t i = 0; i < ARRAY_LEN(known); i++)
        if (ends_with(file, known[i].suffix))
            return known[i].format;
    return NULL;
}

static int compare_write(const struct settings *s, const struct toll_compared *c, const char *file)
{
    bool is_stdout = strcmp(file, "-") == 0;
    struct toll_output out = {.size = sizeof out, .fd = STDOUT_FILENO, .flags = output_flags(s)};
    struct toll_error e = {0};
    char *text = NULL;
    if (is_stdout)
        terminal_describe(&out, s->color);
    else
        out.format = compare_format(file);
    if (!out.format)
        out.format = s->json ? "json" : s->results_format;
    if (!is_stdout && !out.format)
        return complain("--output: unknown suffix of '%s' (expected .md, .html, .json or .txt, or "
                        "--format)",
                        file);
    int r = toll_compared_text(c, &out, &text, &e);
    if (r == 0 && is_stdout) {
        struct buf b = {0};
        buf_puts(&b, text);
        free(text);
        return print(&b);
    }
    if (r == 0)
        r = write_file(text, strlen(text), file, &e);
    free(text);
    return r < 0 ? complain("compare: %s", e.message) : 0;
}

static bool compare_wants_html(const struct settings *s)
{
    bool wants = s->results_format && strcmp(s->results_format, "html") == 0;
    for (const char **file = s->outputs; file && *file; file++) {
        const char *format = compare_format(*file);
        wants |= format && strcmp(format, "html") == 0;
    }
    return wants;
}

static int run_compare(struct settings *s)
{
    static const char *to_stdout[] = {"-", NULL};
    struct toll_compared *c = NULL;
    struct toll_error e = {0};
    CLEANUP_FREE const char **groups = NULL;
    bool ok = !s->baseline || list_append(&groups, s->baseline);
    for (const char **word = s->words; ok && word && *word; word++)
        ok = list_append(&groups, *word);
    if (!ok)
        return complain("compare: out of memory");
    if (!groups[1])
        return complain("compare: only one group of runs given (expected a baseline and a group)");
    const char **files = s->outputs ? s->outputs : to_stdout;
    for (const char **file = files; *file; file++)
        if (strcmp(*file, "-") != 0 && is_record_that_is_read(*file, groups, s->in))
            return complain("compare: cannot write to '%s': it is a record being read (choose "
                            "another file)",
                            *file);
    struct toll_compare asked = {
        .size = sizeof asked,
        .groups = groups,
        .in = s->in,
        .conditions = s->fail_if,
        .curves = compare_wants_html(s),
        .note = compare_say,
    };
    if (toll_compare(&c, &asked, &e) < 0) {
        bool is_condition = strncmp(e.message, "condition", strlen("condition")) == 0;
        return complain("%s: %s", is_condition ? "--fail-if" : "compare", e.message);
    }
    int status = 0;
    for (; status == 0 && *files; files++)
        status = compare_write(s, c, *files);
    const struct toll_judgement *j;
    for (size_t i = 0; (j = toll_compared_judgement(c, i)); i++) {
        if (j->state != TOLL_PASSED)
            complain("%s: %s", j->state == TOLL_FAILED ? "failed" : "not proven", j->sentence);
        if (j->state == TOLL_FAILED && status == 0)
            status = 1;
    }
    toll_compared_free(c);
    return status;
}

int compare_main(int argc, char **argv)
{
    return subcommand_main(argc, argv, 1, SIZE_MAX, run_compare);
}
