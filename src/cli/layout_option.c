/* SPDX-License-Identifier: MIT */
#include "cli/options.h"

#include "base/io/file.h"

#include <string.h>

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

/* Whether rows of a layout go to an output. */
static bool takes_series(const struct settings *s, const char *output, const char *layout)
{
    const char *path, *format = output_format(s, output, &path);
    return file_is_directory(path) || has_series(layout, format);
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
        is_set = takes_series(s, *o, layout) && set_interval_of(s, layout);
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
