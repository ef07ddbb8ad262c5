/* SPDX-License-Identifier: MIT
 * toll compare: groups of runs, as text, Markdown, JSON or HTML. */
#include "base/err.h"
#include "base/memory.h"
#include "cli/cli.h"
#include "cli/options.h"

#include <stdio.h>
#include <string.h>

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
