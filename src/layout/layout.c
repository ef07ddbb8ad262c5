/* SPDX-License-Identifier: MIT */
#include "layout/layout.h"

#include "base/err.h"
#include "base/text/buf.h"
#include "base/text/scan.h"
#include "base/text/suggest.h"

#include <math.h>
#include <string.h>

/* ==== Layouts ================================================================================ */

const struct layout *const layouts[] = {
    &layout_resource_tracker,
    &layout_gpu_tracker,
    &layout_spdl,
    &layout_process_metrics,
    &layout_sweep,
    &layout_mlflow_system,
    &layout_nextflow,
    &layout_snakemake,
    &layout_prmon,
    &layout_gnu_time,
    &layout_github_action_benchmark,
    &layout_gitlab,
    &layout_codecarbon,
    NULL,
};

/* ==== Layout choice ========================================================================== */

enum { MOST = 1000000 }; /* of what is counted */

/* ---- Sentences ------------------------------------------------------------------------------- */

static int no_layout(const char *name, struct toll_error *e)
{
    struct suggestion near;
    struct buf names = {0};
    suggestion_begin(&near, name);
    for (size_t i = 0; layouts[i]; i++) {
        buf_printf(&names, "%s%s", i ? ", " : "", layouts[i]->facts.name);
        suggestion_offer(&near, layouts[i]->facts.name);
    }
    int r = *suggestion_text(&near)
                ? err_set(e, -EINVAL, "unknown layout '%s'%s", name, suggestion_text(&near))
                : err_set(e, -EINVAL, "unknown layout '%s' (expected one of: %s)", name,
                          names.data ? names.data : "none");
    buf_done(&names);
    return r;
}

static int no_option(const struct layout *d, const char *name, struct toll_error *e)
{
    struct buf names = {0};
    for (size_t i = 0; i < d->option_count; i++)
        buf_printf(&names, "%s%s=", i ? ", " : "", d->options[i].name);
    int r = err_set(e, -EINVAL, "layout %s: unknown option '%s' (expected %s)", d->facts.name, name,
                    names.data ? names.data : "no options");
    buf_done(&names);
    return r;
}

static int no_word(const struct layout_option *o, const char *value, struct toll_error *e)
{
    struct buf words = {0};
    for (const struct layout_word *w = o->words; w->word; w++)
        buf_printf(&words, "%s%s", w == o->words ? "" : w[1].word ? ", " : " or ", w->word);
    int r = err_set(e, -EINVAL, "layout: invalid %s '%s' (expected %s)", o->name, value,
                    words.data ? words.data : "nothing");
    buf_done(&words);
    return r;
}

/* ---- Options --------------------------------------------------------------------------------- */

int layout_option_number(const struct layout *d, const char *name, size_t length)
{
    for (size_t i = 0; i < d->option_count; i++)
        if (strlen(d->options[i].name) == length && strncmp(d->options[i].name, name, length) == 0)
            return (int)i;
    return -ENOENT;
}

static int set_option(struct layout_choice *c, size_t i, const char *value, struct toll_error *e)
{
    const struct layout_option *o = &c->layout->options[i];
    const struct layout_word *w = o->words;
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
        return err_set(e, -EINVAL, "layout: invalid %s '%s' (expected a number %s)", o->name, value,
                       o->may_be_zero ? "from 0" : "above 0");
    if (o->is_whole && (number > MOST || number != (double)(int)number))
        return err_set(e, -EINVAL, "layout: invalid %s '%s' (expected a whole number from 1 to %d)",
                       o->name, value, MOST);
    c->options[i].number = number * (o->factor != 0 ? o->factor : 1);
    return 0;
}

/* Ends the word at the next single comma and makes one of each double comma. Returns what follows,
 * or NULL. */
static char *layout_choice_cut_word(char *word)
{
    char *to = word, *from = word;
    for (; *from; from++) {
        if (*from == ',' && from[1] != ',')
            break;
        from += *from == ',';
        *to++ = *from;
    }
    char *rest = *from ? from + 1 : NULL;
    *to = '\0';
    return rest;
}

/* The words after the name, each cut off at its comma. */
static int layout_choice_take_options(struct layout_choice *c, char *rest, struct toll_error *e)
{
    while (rest) {
        char *word = rest;
        rest = layout_choice_cut_word(word);
        char *equals = strchr(word, '=');
        int i = layout_option_number(c->layout, word,
                                     equals ? (size_t)(equals - word) : strlen(word));
        if (i < 0 || !equals)
            return no_option(c->layout, word, e);
        int r = set_option(c, (size_t)i, equals + 1, e);
        if (r < 0)
            return r;
    }
    return 0;
}

int layout_choice_parse(struct layout_choice *ret, const char *text, struct toll_error *e)
{
    struct layout_choice c = {.text = strdup(text)};
    if (!c.text)
        return err_set(e, -ENOMEM, "cannot open the layout: out of memory");
    char *rest = strchr(c.text, ',');
    if (rest)
        *rest++ = '\0';
    for (size_t i = 0; layouts[i] && !c.layout; i++)
        if (strcmp(layouts[i]->facts.name, c.text) == 0)
            c.layout = layouts[i];
    int r = c.layout ? 0 : no_layout(c.text, e);
    for (size_t i = 0; r == 0 && i < c.layout->option_count; i++) {
        c.options[i].factor = 1;
        c.options[i].number = (double)NAN;
        if (c.layout->options[i].value)
            r = set_option(&c, i, c.layout->options[i].value, e);
    }
    if (r == 0)
        r = layout_choice_take_options(&c, rest, e);
    if (r < 0)
        layout_choice_done(&c);
    else
        *ret = c;
    return r;
}

void layout_choice_done(struct layout_choice *c)
{
    free(c->text);
    *c = (struct layout_choice){0};
}

const char *layout_choice_value(const struct layout_choice *c, const char *name)
{
    int i = layout_option_number(c->layout, name, strlen(name));
    return i >= 0 && c->options[i].value ? c->options[i].value : "";
}

/* ---- Tables ---------------------------------------------------------------------------------- */

const struct layout_table *layout_choice_table(const struct layout_choice *c, const char *format,
                                               enum layout_subject subject)
{
    const char *variant = layout_choice_value(c, "columns");
    for (size_t i = 0; i < c->layout->table_count; i++) {
        const struct layout_table *t = &c->layout->tables[i];
        bool is_meant = !t->variant || strcmp(t->variant, variant) == 0;
        bool fits = subject == SUBJECT_ANY || t->subject == SUBJECT_ANY || t->subject == subject;
        bool is_other = c->file && t->file && strcmp(t->file, c->file) != 0;
        if (is_meant && fits && !is_other && strcmp(t->format, format) == 0)
            return t;
    }
    return NULL;
}

bool layout_table_is_sampled(const struct layout_table *t)
{
    bool is_usual = strcmp(t->format, "json") != 0 && strcmp(t->format, "text") != 0;
    return t->when == WHEN_USUAL ? is_usual : t->when == WHEN_SAMPLED;
}

bool layout_choice_take_file(struct layout_choice *c, const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;
    for (size_t i = 0; i < c->layout->table_count; i++)
        if (c->layout->tables[i].file && strcmp(c->layout->tables[i].file, name) == 0)
            c->file = c->layout->tables[i].file;
    return c->file;
}

int layout_choice_check_format(const struct layout_choice *c, const char *format,
                               struct toll_error *e)
{
    if (layout_choice_table(c, format, SUBJECT_ANY))
        return 0;
    return err_set(e, -EINVAL, "layout %s: unsupported format '%s' (expected %s)",
                   c->layout->facts.name, format, c->layout->facts.formats);
}
