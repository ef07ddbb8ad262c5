/* SPDX-License-Identifier: MIT */
#include "layout/layout.h"

#include "base/err.h"
#include "base/text/buf.h"
#include "base/text/scan.h"

#include <math.h>
#include <string.h>

/* ==== Dialects ================================================================================ */

const struct dialect *const dialects[] = {
    &dialect_resource_tracker,
    &dialect_gpu_tracker,
    &dialect_spdl,
    &dialect_process_metrics,
    &dialect_sweep,
    &dialect_mlflow_system,
    NULL,
};

/* ==== Dialect choice ========================================================================== */

enum { MOST = 1000000 }; /* of what is counted */

/* ---- Sentences ------------------------------------------------------------------------------- */

static int no_dialect(const char *name, struct toll_error *e)
{
    struct buf names = {0};
    for (size_t i = 0; dialects[i]; i++)
        buf_printf(&names, "%s%s", i ? ", " : "", dialects[i]->facts.name);
    int r = err_set(e, -EINVAL, "'%s' is not a dialect; there are %s", name,
                    names.data ? names.data : "none");
    buf_done(&names);
    return r;
}

static int no_option(const struct dialect *d, const char *name, struct toll_error *e)
{
    struct buf names = {0};
    for (size_t i = 0; i < d->option_count; i++)
        buf_printf(&names, "%s%s=", i ? ", " : "", d->options[i].name);
    int r = err_set(e, -EINVAL, "the dialect %s does not take '%s'; it takes %s", d->facts.name,
                    name, names.data ? names.data : "no options");
    buf_done(&names);
    return r;
}

static int no_word(const struct dialect_option *o, const char *value, struct toll_error *e)
{
    struct buf words = {0};
    for (const struct dialect_word *w = o->words; w->word; w++)
        buf_printf(&words, "%s%s", w == o->words ? "" : w[1].word ? ", " : " or ", w->word);
    int r = err_set(e, -EINVAL, "the option %s of the dialect is '%s'; it takes %s", o->name, value,
                    words.data ? words.data : "nothing");
    buf_done(&words);
    return r;
}

/* ---- Options --------------------------------------------------------------------------------- */

int dialect_option_number(const struct dialect *d, const char *name, size_t length)
{
    for (size_t i = 0; i < d->option_count; i++)
        if (strlen(d->options[i].name) == length && strncmp(d->options[i].name, name, length) == 0)
            return (int)i;
    return -ENOENT;
}

static int set_option(struct dialect_choice *c, size_t i, const char *value, struct toll_error *e)
{
    const struct dialect_option *o = &c->dialect->options[i];
    const struct dialect_word *w = o->words;
    c->options[i].value = value;
    while (w && w->word && strcmp(w->word, value) != 0)
        w++;
    if (w && !w->word)
        return no_word(o, value, e);
    if (w)
        c->options[i].factor = w->factor;
    if (!o->is_number)
        return 0;
    struct scan text = scan_string(value);
    double number;
    if (!scan_decimal(&text, &number) || !scan_done(&text) || number < 0 ||
        (number == 0 && !o->may_be_zero))
        return err_set(e, -EINVAL, "the option %s of the dialect is '%s'; it takes a number %s",
                       o->name, value, o->may_be_zero ? "from 0 on" : "above 0");
    if (o->is_whole && (number > MOST || number != (double)(int)number))
        return err_set(e, -EINVAL,
                       "the option %s of the dialect is '%s'; it takes a whole number from 1 to %d",
                       o->name, value, MOST);
    c->options[i].number = number * (o->factor != 0 ? o->factor : 1);
    return 0;
}

/* The words behind the name, each cut off at its comma. */
static int dialect_choice_take_options(struct dialect_choice *c, char *rest, struct toll_error *e)
{
    while (rest) {
        char *word = rest;
        rest = strchr(word, ',');
        if (rest)
            *rest++ = '\0';
        char *equals = strchr(word, '=');
        int i = dialect_option_number(c->dialect, word,
                                      equals ? (size_t)(equals - word) : strlen(word));
        if (i < 0 || !equals)
            return no_option(c->dialect, word, e);
        int r = set_option(c, (size_t)i, equals + 1, e);
        if (r < 0)
            return r;
    }
    return 0;
}

int dialect_choice_parse(struct dialect_choice *ret, const char *text, struct toll_error *e)
{
    struct dialect_choice c = {.text = strdup(text)};
    if (!c.text)
        return err_set(e, -ENOMEM, "no memory for a dialect");
    char *rest = strchr(c.text, ',');
    if (rest)
        *rest++ = '\0';
    for (size_t i = 0; dialects[i] && !c.dialect; i++)
        if (strcmp(dialects[i]->facts.name, c.text) == 0)
            c.dialect = dialects[i];
    int r = c.dialect ? 0 : no_dialect(c.text, e);
    for (size_t i = 0; r == 0 && i < c.dialect->option_count; i++) {
        c.options[i].factor = 1;
        c.options[i].number = (double)NAN;
        if (c.dialect->options[i].value)
            r = set_option(&c, i, c.dialect->options[i].value, e);
    }
    if (r == 0)
        r = dialect_choice_take_options(&c, rest, e);
    if (r < 0)
        dialect_choice_done(&c);
    else
        *ret = c;
    return r;
}

void dialect_choice_done(struct dialect_choice *c)
{
    free(c->text);
    *c = (struct dialect_choice){0};
}

const char *dialect_choice_value(const struct dialect_choice *c, const char *name)
{
    int i = dialect_option_number(c->dialect, name, strlen(name));
    return i >= 0 && c->options[i].value ? c->options[i].value : "";
}

/* ---- Tables ---------------------------------------------------------------------------------- */

const struct dialect_table *dialect_choice_table(const struct dialect_choice *c, const char *format,
                                                 enum dialect_subject subject)
{
    const char *variant = dialect_choice_value(c, "columns");
    for (size_t i = 0; i < c->dialect->table_count; i++) {
        const struct dialect_table *t = &c->dialect->tables[i];
        bool is_meant = !t->variant || strcmp(t->variant, variant) == 0;
        bool fits = subject == SUBJECT_ANY || t->subject == SUBJECT_ANY || t->subject == subject;
        bool is_other = c->file && t->file && strcmp(t->file, c->file) != 0;
        if (is_meant && fits && !is_other && strcmp(t->format, format) == 0)
            return t;
    }
    return NULL;
}

bool dialect_choice_take_file(struct dialect_choice *c, const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;
    for (size_t i = 0; i < c->dialect->table_count; i++)
        if (c->dialect->tables[i].file && strcmp(c->dialect->tables[i].file, name) == 0)
            c->file = c->dialect->tables[i].file;
    return c->file;
}

int dialect_choice_check_format(const struct dialect_choice *c, const char *format,
                                struct toll_error *e)
{
    if (dialect_choice_table(c, format, SUBJECT_ANY))
        return 0;
    return err_set(e, -EINVAL, "the dialect %s has no format '%s'; it has %s",
                   c->dialect->facts.name, format, c->dialect->facts.formats);
}
