/* SPDX-License-Identifier: MIT */
#include "cli/layout_option.h"

#include "base/io/file.h"

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

static bool has_format(const char *dialect, const char *format)
{
    const struct toll_dialect *d = dialect ? dialect_named(dialect) : NULL;
    return d && format && option_choose(d->formats, format) >= 0;
}

bool dialect_has(const struct settings *s, const char *format)
{
    return has_format(s->dialect, format);
}

static const char *dialect_option_series_of(const char *dialect)
{
    static const char *const series[] = {"csv", "jsonl"};
    for (size_t i = 0; i < ARRAY_LEN(series); i++)
        if (has_format(dialect, series[i]))
            return series[i];
    return NULL;
}

const char *dialect_series(const struct settings *s)
{
    return dialect_option_series_of(s->dialect);
}

/* Where what is named in front of a path ends, "csv", "csv@spdl" or "@spdl", at a ':'; NULL: there
 * is nothing. *ret_format: NULL when only a dialect is named. */
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

char *output_dialect(const char *output)
{
    const struct toll_format *f;
    const char *end = front_of(output, &f);
    const char *at = end ? strchr(output, '@') : NULL;
    return at && at < end ? strndup(at + 1, (size_t)(end - at - 1)) : NULL;
}

const char *output_format(const struct settings *s, const char *output, const char **ret_path)
{
    const struct toll_format *f;
    const char *end = front_of(output, &f);
    CLEANUP_FREE char *own = output_dialect(output);
    *ret_path = output = end ? end + 1 : output;
    if (end && f)
        return f->name;
    f = toll_format_of(output);
    if (f)
        return f->name;
    return s->format ? s->format : dialect_option_series_of(own ? own : s->dialect);
}

/* Whether rows of a dialect go to an output. */
static bool takes_series(const struct settings *s, const char *output, const char *dialect)
{
    const char *path, *format = output_format(s, output, &path);
    return file_is_directory(path) || (has_format(dialect, format) && strcmp(format, "json") != 0 &&
                                       strcmp(format, "text") != 0);
}

static bool set_interval_of(struct settings *s, const char *dialect)
{
    const struct toll_dialect *d = dialect ? dialect_named(dialect) : NULL;
    if (!d || !d->interval_ns)
        return false;
    s->tracker.interval_ns = d->interval_ns;
    return true;
}

void dialect_set_interval(struct settings *s)
{
    bool is_set = s->interval_is_given;
    for (const char **o = s->outputs; o && *o && !is_set; o++) {
        CLEANUP_FREE char *own = output_dialect(*o);
        const char *dialect = own ? own : s->dialect;
        is_set = takes_series(s, *o, dialect) && set_interval_of(s, dialect);
    }
    if (!is_set && !s->outputs && s->mode != FOR_RUN && dialect_series(s))
        set_interval_of(s, s->dialect);
}

/* A tracking file in SQLite is what toll writes under another name. */
static const char *other_way(const struct settings *s)
{
    const char *path;
    for (const char **o = s->outputs; o && *o; o++) {
        const char *format = output_format(s, *o, &path);
        if (format && strcmp(format, "sqlite") == 0 &&
            strcmp(dialect_named(s->dialect)->name, "gpu-tracker") == 0)
            return "; 'gpu-tracker --tf=FILE.sqlite' writes its tracking file in SQLite";
    }
    return "";
}

int dialect_check_carried(const struct settings *s, bool carried, struct toll_error *e)
{
    if (!s->dialect || carried)
        return 0;
    const struct toll_dialect *d = dialect_named(s->dialect);
    return err_set(e, -EINVAL,
                   "--dialect: no output is in a format that %s has; it has %s, and -o FILE names "
                   "one by its suffix%s",
                   d->name, d->formats, other_way(s));
}
