/* SPDX-License-Identifier: MIT */
#include "sink/sink_options.h"

#include "base/err.h"
#include "base/scan.h"

#include <string.h>

/* The next part up to a single comma, with doubled ones made single, added to *b. *text is behind
 * the comma then, or at the end. */
static void cut_part(struct buf *b, const char **text)
{
    const char *c = *text;
    for (; *c; c++) {
        if (*c == ',' && c[1] != ',')
            break;
        c += *c == ',';
        buf_putc(b, *c);
    }
    *text = *c ? c + 1 : c;
}

static int find(const struct sink_option *options, const char *name, size_t length)
{
    for (int i = 0; options && options[i].facts.name; i++)
        if (strlen(options[i].facts.name) == length &&
            strncmp(options[i].facts.name, name, length) == 0)
            return i;
    return -1;
}

bool sink_options_begin_at(const struct sink_option *options, const char *text)
{
    const char *equals = strchr(text, '=');
    return equals && find(options, text, (size_t)(equals - text)) >= 0;
}

/* ---- Values ---------------------------------------------------------------------------------- */

static int choose(const char *words, const char *word)
{
    size_t length = strlen(word);
    for (int i = 0; *words; i++) {
        size_t this = strcspn(words, "|");
        if (this == length && strncmp(words, word, length) == 0)
            return i;
        words += this + (words[this] == '|');
    }
    return -1;
}

/* What a value of that kind looks like, for people. */
static const char *accepted(const struct sink_option *o)
{
    switch (o->kind) {
    case OPTION_DURATION: return "a time such as 500ms, 10s or 2m";
    case OPTION_SIZE: return "a size such as 4096, 64K or 16MiB";
    case OPTION_QUEUE: return "a size from 4K on, such as 64K or 16MiB";
    case OPTION_NUMBER: return "a number";
    case OPTION_TEXT: return "something that is not empty";
    case OPTION_WORD: return o->facts.value;
    }
    return "";
}

enum { QUEUE_AT_LEAST = 4096 }; /* a sample has to fit */

static int set(struct sink_settings *s, int i, const char *text)
{
    const struct sink_option *o = &s->options[i];
    struct scan number = scan_string(text);
    int word;
    switch (o->kind) {
    case OPTION_DURATION:
        if (scan_duration(text, &s->values[i].u) < 0)
            return -EINVAL;
        break;
    case OPTION_SIZE:
    case OPTION_QUEUE:
        if (scan_size(text, &s->values[i].u) < 0 ||
            (o->kind == OPTION_QUEUE && s->values[i].u < QUEUE_AT_LEAST))
            return -EINVAL;
        break;
    case OPTION_NUMBER:
        if (!scan_number(&number, &s->values[i].d) || !scan_done(&number))
            return -EINVAL;
        break;
    case OPTION_TEXT:
        if (!*text)
            return -EINVAL;
        break;
    case OPTION_WORD:
        if ((word = choose(o->facts.value, text)) < 0)
            return -EINVAL;
        s->values[i].u = (uint64_t)word;
        break;
    }
    struct buf all = {0};
    if (o->repeats && s->values[i].is_given)
        buf_printf(&all, "%s\n", s->values[i].text);
    buf_puts(&all, text);
    if (buf_failed(&all)) {
        buf_done(&all);
        return -ENOMEM;
    }
    free(s->values[i].text);
    s->values[i].text = all.data;
    return 0;
}

/* ---- Reading --------------------------------------------------------------------------------- */

/* What may be an option that was mistyped is said again; anything else may be half a password. */
static bool is_like_a_name(const struct sink_option *options, const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if (!(text[i] >= 'a' && text[i] <= 'z') && !strchr("-_", text[i]))
            return false;
    return length && (text[length] == '=' || find(options, text, length) >= 0);
}

static int unknown(const char *kind_name, const struct sink_option *options, const char *part,
                   struct toll_error *e)
{
    struct buf names = {0};
    for (int i = 0; options && options[i].facts.name; i++)
        buf_printf(&names, "%s%s", i ? ", " : "", options[i].facts.name);
    size_t length = strcspn(part, "="); /* its value may be a secret */
    const char *there = names.data ? names.data : "none";
    int r = is_like_a_name(options, part, length)
                ? err_set(e, -EINVAL,
                          "%s has no option '%.*s'; there are %s (a comma that is meant is "
                          "written twice)",
                          kind_name, (int)length, part, there)
                : err_set(e, -EINVAL,
                          "what stands behind a comma of %s is no option, name=value; there are "
                          "%s (a comma that is meant is written twice)",
                          kind_name, there);
    buf_done(&names);
    return r;
}

static int take_one(struct sink_settings *s, const char *kind_name, const char *part,
                    struct toll_error *e)
{
    const char *equals = strchr(part, '=');
    int i = equals ? find(s->options, part, (size_t)(equals - part)) : -1;
    if (i < 0)
        return unknown(kind_name, s->options, part, e);
    const struct sink_option *o = &s->options[i];
    if (s->values[i].is_given && !o->repeats)
        return err_set(e, -EINVAL, "the option %s of %s is given twice", o->facts.name, kind_name);
    int r = set(s, i, equals + 1);
    if (r == -ENOMEM)
        return err_set(e, r, "no memory for the options of %s", kind_name);
    if (r < 0)
        return err_set(e, r, "the option %s of %s takes %s, not '%s'", o->facts.name, kind_name,
                       accepted(o), equals + 1);
    s->values[i].is_given = true;
    return 0;
}

static int take_defaults(struct sink_settings *s, const char *kind_name, struct toll_error *e)
{
    for (int i = 0; s->options && s->options[i].facts.name; i++) {
        const char *fallback = s->options[i].facts.fallback;
        int r = *fallback ? set(s, i, fallback) : 0;
        if (r < 0)
            return err_set(e, r, "the option %s of %s has the wrong default '%s'",
                           s->options[i].facts.name, kind_name, fallback);
    }
    return 0;
}

int sink_options_take(struct sink_settings *ret, const char *kind_name,
                      const struct sink_option *options, const char *text, struct toll_error *e)
{
    *ret = (struct sink_settings){.options = options};
    int r = take_defaults(ret, kind_name, e);
    text += *text == ',';
    while (r == 0 && *text) {
        struct buf part = {0};
        cut_part(&part, &text);
        r = buf_failed(&part) ? err_set(e, -ENOMEM, "no memory for the options of %s", kind_name)
                              : take_one(ret, kind_name, part.data ? part.data : "", e);
        buf_done(&part);
    }
    if (r < 0)
        sink_options_done(ret);
    return r;
}

int sink_options_read(struct sink_settings *ret, char **ret_place, const char *kind_name,
                      const struct sink_option *options, const char *text, struct toll_error *e)
{
    struct buf place = {0};
    if (options) {
        cut_part(&place, &text);
    } else {
        buf_puts(&place, text);
        text = "";
    }
    buf_puts(&place, "");
    char *copy = strdup(place.data ? place.data : "");
    bool failed = buf_failed(&place) || !copy;
    buf_done(&place);
    int r = failed ? err_set(e, -ENOMEM, "no memory for an output")
                   : sink_options_take(ret, kind_name, options, text, e);
    if (r < 0) {
        free(copy);
        return r;
    }
    *ret_place = copy;
    return 0;
}

void sink_options_done(struct sink_settings *s)
{
    for (int i = 0; i < SINK_OPTIONS_AT_MOST; i++)
        free(s->values[i].text);
    *s = (struct sink_settings){.options = s->options};
}

/* ---- Asking ---------------------------------------------------------------------------------- */

uint64_t sink_options_u64(const struct sink_settings *s, const char *name)
{
    int i = find(s->options, name, strlen(name));
    return i < 0 ? 0 : s->values[i].u;
}

double sink_options_double(const struct sink_settings *s, const char *name)
{
    int i = find(s->options, name, strlen(name));
    return i < 0 ? 0 : s->values[i].d;
}

const char *sink_options_text(const struct sink_settings *s, const char *name)
{
    int i = find(s->options, name, strlen(name));
    return i < 0 ? NULL : s->values[i].text;
}

bool sink_options_has(const struct sink_settings *s, const char *name)
{
    int i = find(s->options, name, strlen(name));
    return i >= 0 && s->values[i].is_given;
}
