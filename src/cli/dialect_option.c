/* SPDX-License-Identifier: MIT */
#include "cli/dialect_option.h"

#include <string.h>

const struct toll_dialect *dialect_named(const char *text)
{
    const struct toll_dialect *d;
    size_t length = strcspn(text, ",");
    for (size_t i = 0; (d = toll_dialect_at(i)); i++)
        if (strlen(d->name) == length && strncmp(d->name, text, length) == 0)
            return d;
    return NULL;
}

bool dialect_has(const struct settings *s, const char *format)
{
    const struct toll_dialect *d = s->dialect ? dialect_named(s->dialect) : NULL;
    return d && format && option_choose(d->formats, format) >= 0;
}

const char *dialect_series(const struct settings *s)
{
    static const char *const series[] = {"csv", "jsonl"};
    for (size_t i = 0; i < ARRAY_LEN(series); i++)
        if (dialect_has(s, series[i]))
            return series[i];
    return NULL;
}

/* "run.om,every=5s": the suffix stands before options. */
static bool has_options_behind(const char *path, const struct toll_format *f)
{
    if (!toll_format_option_at(f, 0))
        return false;
    for (const char *at = strstr(path, f->suffix); at; at = strstr(at + 1, f->suffix))
        if (at > path && at[strlen(f->suffix)] == ',')
            return true;
    return false;
}

const char *output_format(const struct settings *s, const char *output, const char **ret_path)
{
    const struct toll_format *f;
    *ret_path = output;
    for (size_t i = 0; (f = toll_format_at(i)); i++) {
        size_t length = strlen(f->name);
        if (strncmp(output, f->name, length) == 0 && output[length] == ':') {
            *ret_path = output + length + 1; /* "csv:/dev/fd/3" */
            return f->name;
        }
    }
    const struct toll_format *longest = NULL; /* a suffix may be the end of another */
    for (size_t i = 0; (f = toll_format_at(i)); i++)
        if (*f->suffix && (ends_with(output, f->suffix) || has_options_behind(output, f)) &&
            (!longest || strlen(f->suffix) > strlen(longest->suffix)))
            longest = f;
    if (longest)
        return longest->name;
    return s->format ? s->format : dialect_series(s);
}

/* Whether rows of the dialect go anywhere. */
static bool writes_series(const struct settings *s)
{
    const char *path;
    for (const char **o = s->outputs; o && *o; o++) {
        const char *format = output_format(s, *o, &path);
        if (ends_with(path, "/"))
            return true;
        if (dialect_has(s, format) && strcmp(format, "json") != 0 && strcmp(format, "text") != 0)
            return true;
    }
    return !s->outputs && s->mode != FOR_RUN && dialect_series(s);
}

void dialect_set_interval(struct settings *s)
{
    if (!s->dialect || s->interval_is_given || !writes_series(s))
        return;
    const struct toll_dialect *d = dialect_named(s->dialect);
    if (d->interval_ns)
        s->tracker.interval_ns = d->interval_ns;
}

int dialect_check_carried(const struct settings *s, bool carried, struct toll_error *e)
{
    if (!s->dialect || carried)
        return 0;
    const struct toll_dialect *d = dialect_named(s->dialect);
    return err_set(e, -EINVAL,
                   "--dialect: no output is in a format that %s has; it has %s, and -o FILE names "
                   "one by its suffix",
                   d->name, d->formats);
}
