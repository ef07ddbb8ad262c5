/* SPDX-License-Identifier: MIT
 * What gpu-tracker says of itself. */
#include "cli/gpu_tracker_options.h"
#include "cli/help.h"

#include <string.h>

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
             o < tracker_options + tracker_option_count; o++) {
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

static void add_line(struct buf *b, const char *left, const char *help)
{
    struct buf text = {0};
    buf_printf(&text, "    %s", left);
    help_line(b, text.data ? text.data : "", help, 28);
    buf_done(&text);
}

void gpu_tracker_help(struct buf *b)
{
    buf_puts(b, "What a command uses while it runs: RAM, GPU RAM, CPU, GPUs and time. This\n"
                "is toll under the name of gpu-tracker; toll(1) tells more.\n\n");
    gpu_tracker_usage(b);
    buf_puts(b, "\nOptions:\n");
    add_line(b, "-h --help", "this text");
    add_line(b, "-v --version", "the version of toll");
    for (const struct tracker_option *o = tracker_options;
         o < tracker_options + tracker_option_count; o++) {
        struct buf left = {0};
        if (o->letter)
            buf_printf(&left, o->name ? "-%c " : "-%c %s", o->letter, o->value);
        if (o->name)
            buf_printf(&left, o->value ? "--%s=%s" : "--%s", o->name, o->value);
        if (o->tasks && left.data)
            add_line(b, left.data, o->help);
        buf_done(&left);
    }
    add_line(b, "sub-track combine", "several sub-tracking files into one");
    add_line(b, "sub-track analyze", "what each code block used");
    add_line(b, "sub-track compare", "what several tracking sessions used, side by side");
}
