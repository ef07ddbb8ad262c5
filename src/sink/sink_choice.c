/* SPDX-License-Identifier: MIT */
#include "sink/sink_choice.h"

#include "base/err.h"

#include <string.h>

static void list_formats(struct buf *b)
{
    for (size_t i = 0; sink_kinds[i]; i++) {
        const struct toll_format *f = &sink_kinds[i]->format;
        buf_printf(b, "%s%s (%s%s%s)", i ? ", " : "", f->name, f->suffix, *f->suffix ? "" : f->name,
                   *f->suffix ? "" : ":");
    }
}

/* "csv:run.txt" */
static const struct sink_kind *kind_by_prefix(const char *destination, const char **ret_rest)
{
    for (size_t i = 0; sink_kinds[i]; i++) {
        size_t length = strlen(sink_kinds[i]->format.name);
        if (strncmp(destination, sink_kinds[i]->format.name, length) == 0 &&
            destination[length] == ':') {
            *ret_rest = destination + length + 1;
            return sink_kinds[i];
        }
    }
    return NULL;
}

static bool has_suffix(const char *path, size_t length, const char *suffix)
{
    size_t tail = suffix ? strlen(suffix) : 0;
    return tail && length > tail && strncmp(path + length - tail, suffix, tail) == 0;
}

static bool ends_like(const struct sink_kind *kind, const char *path, size_t length)
{
    for (const char *const *other = kind->other_suffixes; *other; other++)
        if (has_suffix(path, length, *other))
            return true;
    return has_suffix(path, length, kind->format.suffix);
}

/* What is behind a comma should be an option; when none is, it was meant to be. */
const char *sink_options_behind(const struct sink_kind *kind, const char *path)
{
    size_t length = strlen(path);
    for (unsigned sure = 2; sure--;) {
        for (const char *c = kind->options ? strchr(path, ',') : NULL; c; c = strchr(c + 1, ','))
            if (ends_like(kind, path, (size_t)(c - path)) &&
                (!sure || sink_options_begin_at(kind->options, c + 1)))
                return c;
        if (ends_like(kind, path, length))
            return path + length;
    }
    return NULL;
}

/* Options that are sure come before the end of all: "run.om,ca=x.csv". */
static const struct sink_kind *kind_by_path(const char *path)
{
    const struct sink_kind *found = NULL;
    for (size_t i = 0; sink_kinds[i]; i++) {
        const char *behind = sink_options_behind(sink_kinds[i], path);
        bool is_sure = behind && *behind &&
                       sink_options_begin_at(sink_kinds[i]->options, behind + 1);
        if (is_sure || (behind && (!found || !*behind)))
            found = sink_kinds[i];
        if (is_sure)
            break;
    }
    return found;
}

/* "run.csv,every=1s" of a kind that has no options: whoever writes that means no file. */
static bool has_vain_options(const struct sink_kind *kind, const char *path)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz_-";
    if (kind->options || ends_like(kind, path, strlen(path)))
        return false;
    for (const char *c = strchr(path, ','); c; c = strchr(c + 1, ',')) {
        size_t name = strspn(c + 1, letters);
        if (name && c[1 + name] == '=' && ends_like(kind, path, (size_t)(c - path)))
            return true;
    }
    return false;
}

static const struct sink_kind *kind_with_vain_options(const char *path)
{
    for (size_t i = 0; sink_kinds[i]; i++)
        if (has_vain_options(sink_kinds[i], path))
            return sink_kinds[i];
    return NULL;
}

/* As far as it may be said: behind the scheme of a URL there may be a password. */
static size_t harmless_length(const char *destination)
{
    const char *url = strstr(destination, "://");
    return url ? (size_t)(url - destination) + 3 : strlen(destination);
}

int sink_choose(const char *format, const char *destination, const struct sink_kind **ret,
                const char **ret_rest, struct toll_error *e)
{
    const char *rest = destination ? destination : "";
    const struct sink_kind *kind = format ? NULL : kind_by_prefix(rest, &rest);
    if (!format && !kind)
        kind = kind_by_path(rest);
    for (size_t i = 0; format && sink_kinds[i]; i++)
        if (strcmp(format, sink_kinds[i]->format.name) == 0)
            kind = sink_kinds[i];
    const struct sink_kind *in_vain = !kind                          ? kind_with_vain_options(rest)
                                      : has_vain_options(kind, rest) ? kind
                                                                     : NULL;
    if (in_vain)
        return err_set(
            e, -EINVAL,
            "%s has no options, and behind the comma stands one; a path with commas ends "
            "with %s",
            in_vain->format.name, in_vain->format.suffix);
    if (kind) {
        *ret = kind;
        *ret_rest = rest;
        return 0;
    }
    struct buf formats = {0};
    list_formats(&formats);
    if (format)
        err_set(e, -EINVAL, "'%s' is not a format; there are %s", format,
                formats.data ? formats.data : "none");
    else
        err_set(e, -EINVAL, "the name of '%.*s%s' does not tell a format; there are %s",
                (int)harmless_length(rest), rest, rest[harmless_length(rest)] ? "…" : "",
                formats.data ? formats.data : "none");
    buf_done(&formats);
    return -EINVAL;
}
