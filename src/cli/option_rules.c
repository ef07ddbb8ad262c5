/* SPDX-License-Identifier: MIT
 * Options that would do nothing beside the others: a mistake that is answered before anything runs.
 *
 * Only what is on the command line counts: a default of a configuration file or of the environment
 * may well have nothing to do in one run, and may not turn an option of the command line into a
 * mistake. */
#include "cli/options.h"

#include <string.h>

/* ---- What is written ------------------------------------------------------------------------- */

/* The format of the summary as the command line has it, or NULL when it turns the summary off. */
static const char *rules_summary(const struct settings *s)
{
    if (!(s->mode & FOR_MEASURING))
        return NULL;
    if (s->quiet && !s->summary_to && option_is_on_command_line(s, "quiet"))
        return NULL;
    if (s->mode == FOR_RUN && s->json)
        return "json";
    if (option_is_on_command_line(s, "summary"))
        return s->summary == SUMMARY_NONE ? NULL : s->summary == SUMMARY_JSON ? "json" : "text";
    return s->summary_to && ends_with(s->summary_to, ".json") ? "json" : "text";
}

/* Whether samples go to stdout without an --output that asks for it; *ret_format: in which format.
 */
static bool rules_stdout(const struct settings *s, const char **ret_format)
{
    bool is_asked = s->mode != FOR_RUN && (s->mode & FOR_MEASURING) && (s->json || s->csv);
    const char *otherwise = s->mode == FOR_EXPORT ? "csv" : "lines";
    *ret_format = is_asked ? s->json ? "jsonl" : "csv" : s->format ? s->format : otherwise;
    return is_asked || (s->mode != FOR_RUN && !s->outputs);
}

/* Whether some output, the summary not among them, is in one of the formats, which are separated by
 * blanks. */
static bool rules_have_output(const struct settings *s, const char *formats)
{
    const char *format, *path;
    if (rules_stdout(s, &format) && option_choose(formats, format) >= 0)
        return true;
    for (const char **o = s->outputs; o && *o; o++) {
        format = output_format(s, *o, &path);
        if (!format && strcmp(path, "-") == 0)
            format = s->mode == FOR_EXPORT ? "csv" : "lines";
        if (format && option_choose(formats, format) >= 0)
            return true;
    }
    return false;
}

static bool rules_have_text_summary(const struct settings *s)
{
    const char *summary = rules_summary(s);
    return (summary && strcmp(summary, "text") == 0) || rules_have_output(s, "text");
}

static bool rules_have_text(const struct settings *s)
{
    return rules_have_text_summary(s) || rules_have_output(s, "lines");
}

static bool rules_have_result(const struct settings *s)
{
    return s->mode != FOR_RUN || rules_summary(s) || s->outputs;
}

/* Of a baseline with runs of several names those with the name of this run count. */
static bool rules_name_matters(const struct settings *s)
{
    return rules_have_result(s) || s->baseline;
}

static bool rules_have_any_output(const struct settings *s)
{
    return s->mode != FOR_RUN || s->outputs;
}

/* Programs that call toll may ask for the default, or for none. */
static bool rules_process_rows_matter(const struct settings *s)
{
    return s->tracker.processes != TOLL_PROCESSES_ALL || rules_have_output(s, "jsonl sqlite");
}

/* An output without a format in its name gets it, and one with the same agrees. */
static bool rules_use_format(const struct settings *s)
{
    return !s->outputs || rules_have_output(s, s->format);
}

static bool rules_have_timeout(const struct settings *s)
{
    return s->tracker.timeout_ns;
}

/* -q is for what is printed without being asked for. */
static bool rules_print_summary(const struct settings *s)
{
    return s->summary == SUMMARY_NONE || s->summary_to || !s->quiet ||
           !option_is_on_command_line(s, "quiet");
}

static bool rules_json_is_printed(const struct settings *s)
{
    return s->mode != FOR_RUN || rules_print_summary(s);
}

static bool rules_have_summary(const struct settings *s)
{
    return s->summary != SUMMARY_NONE || !option_is_on_command_line(s, "summary");
}

static bool rules_color_matters(const struct settings *s)
{
    return s->color != COLOR_ALWAYS || rules_have_text(s);
}

/* ---- Options that ask for two different things ------------------------------------------------
 */

static bool rules_one_summary(const struct settings *s)
{
    return s->mode != FOR_RUN || s->summary == SUMMARY_JSON ||
           !option_is_on_command_line(s, "summary");
}

static bool rules_one_stdout(const struct settings *s)
{
    return s->mode == FOR_RUN || !(s->mode & FOR_MEASURING) || s->outputs ||
           !option_is_on_command_line(s, "format");
}

static bool rules_no_bytes(const struct settings *s)
{
    return !s->bytes || !option_is_on_command_line(s, "bytes");
}

static bool rules_no_json(const struct settings *s)
{
    return !s->json;
}

static bool rules_repeat(const struct settings *s)
{
    return s->repeat.runs || s->repeat.warmup || s->repeat.prepare || s->repeat.parameters;
}

static bool rules_no_json_beside_tool(const struct settings *s)
{
    return s->mode != FOR_RECOMMEND || !s->json;
}

/* ---- The rules ------------------------------------------------------------------------------- */

#define LEAVE_OUT_ONE "(leave out one of them)"
#define NO_TEXT       "no effect: no text is written (leave out --quiet, --json or --summary)"
#define NO_RESULT     "no effect without a summary or an output (leave out --quiet, or add -o FILE)"

static const struct {
    const char *option;
    bool (*has_effect)(const struct settings *s);
    const char *otherwise; /* what is wrong, and the next step */
} rules[] = {
    {"csv", rules_no_json, "conflicts with --json " LEAVE_OUT_ONE},
    {"for", rules_no_json_beside_tool, "conflicts with --json " LEAVE_OUT_ONE},
    {"markdown", rules_no_json, "conflicts with --json " LEAVE_OUT_ONE},
    {"json", rules_one_summary, "conflicts with --summary " LEAVE_OUT_ONE},
    {"json", rules_json_is_printed, "no effect with --quiet " LEAVE_OUT_ONE},
    {"json", rules_one_stdout, "conflicts with --format " LEAVE_OUT_ONE},
    {"csv", rules_one_stdout, "conflicts with --format " LEAVE_OUT_ONE},
    {"format", rules_have_any_output,
     "no effect without an output (add -o FILE, or use --json for a summary in JSON)"},
    {"format", rules_use_format,
     "no effect: the names of all outputs have another format (leave it out, or use -o "
     "TYPE:FILE)"},
    {"ignore-failure", rules_repeat, "no effect without repeated runs (add --runs N)"},
    {"grace", rules_have_timeout, "no effect without --timeout (add --timeout TIME)"},
    {"summary", rules_print_summary,
     "no effect with --quiet (leave out one of them, or add --summary-to FILE)"},
    {"summary-to", rules_have_summary, "no effect with --summary none " LEAVE_OUT_ONE},
    {"verbose", rules_have_text_summary,
     "no effect without a text summary (leave out --quiet, --json or --summary)"},
    {"si", rules_no_bytes, "conflicts with --bytes " LEAVE_OUT_ONE},
    {"si", rules_have_text, NO_TEXT},
    {"bytes", rules_have_text, NO_TEXT},
    {"color", rules_color_matters, NO_TEXT},
    {"processes", rules_process_rows_matter,
     "no effect without an output that has rows of single processes (add -o FILE.jsonl or -o "
     "FILE.sqlite)"},
    {"name", rules_name_matters, NO_RESULT},
    {"label", rules_have_result, NO_RESULT},
    {"metrics", rules_have_result, NO_RESULT},
    {"no-args", rules_have_result, NO_RESULT},
    {"show-secrets", rules_have_result, NO_RESULT},
};

int option_rules_check(const struct settings *s, struct toll_error *e)
{
    if (!(s->mode & (FOR_MEASURING | FOR_EXPORT | FOR_METRICS | FOR_RECOMMEND)))
        return 0; /* options of these names have no rules elsewhere */
    if (s->mode == FOR_MEASURING)
        return 0; /* a replay has the options of its run, with other outputs */
    if (s->mode == FOR_DOCTOR)
        return s->verbose && s->json ? err_set(e, -EINVAL,
                                               "--verbose: no effect with --json, which has all "
                                               "checks " LEAVE_OUT_ONE)
                                     : 0;
    for (size_t i = 0; i < ARRAY_LEN(rules); i++)
        if (option_is_on_command_line(s, rules[i].option) && !rules[i].has_effect(s))
            return err_set(e, -EINVAL, "--%s: %s", rules[i].option, rules[i].otherwise);
    return 0;
}
