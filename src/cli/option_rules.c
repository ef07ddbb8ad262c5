/* SPDX-License-Identifier: MIT
 * Options that would do nothing beside the others: a mistake that is answered before anything runs.
 *
 * Only what is on the command line counts: a default of a configuration file or of the environment
 * may well have nothing to do in one run, and may not turn an option of the command line into a
 * mistake. */
#include "cli/options.h"

#include "base/io/file.h"

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

/* ==== Layout ================================================================================== */

const struct toll_layout *layout_named(const char *text)
{
    const struct toll_layout *d;
    size_t length = strcspn(text, ",");
    for (size_t i = 0; (d = toll_layout_at(i)); i++)
        if (strlen(d->name) == length && strncmp(d->name, text, length) == 0)
            return d;
    return NULL;
}

static bool has_format(const char *layout, const char *format)
{
    const struct toll_layout *d = layout ? layout_named(layout) : NULL;
    return d && format && option_choose(d->formats, format) >= 0;
}

bool layout_has(const struct settings *s, const char *format)
{
    return has_format(s->layout, format);
}

/* Whether the layout has a row for each sample in that format. */
static bool has_series(const char *layout, const char *format)
{
    const struct toll_layout *d = layout ? layout_named(layout) : NULL;
    return d && d->series && format && option_choose(d->series, format) >= 0;
}

static const char *layout_option_series_of(const char *layout)
{
    static const char *const series[] = {"csv", "jsonl", "text"};
    for (size_t i = 0; i < ARRAY_LEN(series); i++)
        if (has_series(layout, series[i]))
            return series[i];
    return NULL;
}

/* The format of an output in a layout whose name has no suffix of a format. */
static const char *layout_option_usual_format(const char *layout)
{
    static const char *const formats[] = {"csv", "jsonl", "text", "json"};
    const char *series = layout_option_series_of(layout);
    for (size_t i = 0; i < ARRAY_LEN(formats) && !series; i++)
        if (has_format(layout, formats[i]))
            series = formats[i];
    return series;
}

const char *layout_series(const struct settings *s)
{
    return layout_option_series_of(s->layout);
}

/* Where what is named in front of a path ends, "csv", "csv@spdl" or "@spdl", at a ':'; NULL: there
 * is nothing. *ret_format: NULL when only a layout is named. */
static const char *front_of(const char *output, const struct toll_format **ret_format)
{
    const struct toll_format *f;
    *ret_format = NULL;
    if (*output == '@')
        return strchr(output, ':');
    for (size_t i = 0; (f = toll_format_at(i)); i++) {
        const char *behind = output + strlen(f->name);
        if (strncmp(output, f->name, strlen(f->name)) != 0 || (*behind != ':' && *behind != '@'))
            continue;
        *ret_format = f;
        return strchr(behind, ':');
    }
    return NULL;
}

char *output_layout(const char *output)
{
    const struct toll_format *f;
    const char *end = front_of(output, &f);
    const char *at = end ? strchr(output, '@') : NULL;
    return at && at < end ? strndup(at + 1, (size_t)(end - at - 1)) : NULL;
}

unsigned output_flags(const struct settings *s)
{
    return (s->verbose ? TOLL_OUTPUT_VERBOSE : 0U) | (s->bytes ? TOLL_OUTPUT_BYTES : 0U) |
           (s->si ? TOLL_OUTPUT_SI : 0U);
}

const char *output_format(const struct settings *s, const char *output, const char **ret_path)
{
    const struct toll_format *f;
    const char *end = front_of(output, &f);
    CLEANUP_FREE char *own = output_layout(output);
    *ret_path = output = end ? end + 1 : output;
    if (end && f)
        return f->name;
    f = toll_format_of(output);
    if (f)
        return f->name;
    return s->format ? s->format : layout_option_usual_format(own ? own : s->layout);
}

static bool set_interval_of(struct settings *s, const char *layout)
{
    const struct toll_layout *d = layout ? layout_named(layout) : NULL;
    if (!d || !d->interval_ns)
        return false;
    s->tracker.interval_ns = d->interval_ns;
    return true;
}

void layout_set_interval(struct settings *s)
{
    bool is_set = option_is_given(s, "interval");
    for (const char **o = s->outputs; o && *o && !is_set; o++) {
        CLEANUP_FREE char *own = output_layout(*o);
        const char *layout = own ? own : s->layout;
        const char *path, *format = output_format(s, *o, &path);
        is_set = (file_is_directory(path) || has_series(layout, format)) &&
                 set_interval_of(s, layout);
    }
    bool has_stdout = !s->outputs || s->json || s->csv;
    if (!is_set && has_stdout && s->mode != FOR_RUN && layout_series(s))
        set_interval_of(s, s->layout);
}

/* A tracking file in SQLite is what toll writes under another name. */
static const char *other_way(const struct settings *s)
{
    const char *path;
    for (const char **o = s->outputs; o && *o; o++) {
        const char *format = output_format(s, *o, &path);
        if (format && strcmp(format, "sqlite") == 0 &&
            strcmp(layout_named(s->layout)->name, "gpu-tracker") == 0)
            return "; 'gpu-tracker --tf=FILE.sqlite' writes its tracking file in SQLite";
    }
    return "";
}

int layout_check_carried(const struct settings *s, bool carried, struct toll_error *e)
{
    if (!s->layout || carried || !option_is_on_command_line(s, "layout"))
        return 0;
    const struct toll_layout *d = layout_named(s->layout);
    return err_set(e, -EINVAL,
                   "--layout: no effect: no output has a type that %s can write (expected %s; add "
                   "-o FILE with "
                   "such a suffix)%s",
                   d->name, d->formats, other_way(s));
}
