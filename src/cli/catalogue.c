/* SPDX-License-Identifier: MIT
 * toll outputs, toll metrics and toll layouts: the tables of the library, for people and for
 * programs. */
#include "base/err.h"
#include "base/text/json.h"
#include "cli/cli.h"
#include "cli/options.h"

#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

/* ==== Outputs ================================================================================= */

/* toll outputs: where figures can go, and the options of each. */

enum { OUTPUTS_COLUMN = 26 };

static void add_format(struct buf *b, const struct toll_format *f)
{
    size_t start = b->length, column = help_column(OUTPUTS_COLUMN);
    if (*f->suffix)
        buf_printf(b, "FILE%s or ", f->suffix);
    buf_printf(b, "%s:%s  ", f->name, f->place);
    if (b->length - start > column) {
        b->length -= 2;
        buf_putc(b, '\n');
        start = b->length;
    }
    buf_pad(b, start, (unsigned)column);
    help_wrap(b, f->help, column);
}

static void outputs_add_options(struct buf *b, const struct toll_format *f)
{
    const struct toll_format_option *o;
    for (size_t i = 0; (o = toll_format_option_at(f, i)); i++) {
        struct buf left = {0}, text = {0};
        buf_printf(&left, "  ,%s=%s", o->name, o->value);
        buf_puts(&text, o->help);
        if (*o->fallback)
            buf_printf(&text, " (default: %s)", o->fallback);
        if (!buf_failed(&left) && !buf_failed(&text))
            help_line(b, left.data, text.data, OUTPUTS_COLUMN);
        buf_done(&left);
        buf_done(&text);
    }
}

static void outputs_as_text(struct buf *b, const char *name)
{
    const struct toll_format *f;
    for (size_t i = 0; (f = toll_format_at(i)); i++) {
        if (name && strcmp(name, f->name) != 0)
            continue;
        add_format(b, f);
        outputs_add_options(b, f);
    }
    if (name)
        return;
    buf_putc(b, '\n');
    help_wrap(b, "Options follow the destination, each after a comma:", 0);
    buf_puts(b, "-o 'prometheus:http://host:9090/api/v1/write,every=10s'.\n");
    help_wrap(b, "In a destination that takes options, write ',,' for a comma.", 0);
}

static void json_format(struct json_out *j, const struct toll_format *f)
{
    const struct toll_format_option *o;
    json_object(j);
    json_put_string(j, "name", f->name);
    json_put_string(j, "suffix", f->suffix);
    json_put_string(j, "place", f->place);
    json_put_string(j, "help", f->help);
    json_put_array(j, "options");
    for (size_t i = 0; (o = toll_format_option_at(f, i)); i++) {
        json_object(j);
        json_put_string(j, "name", o->name);
        json_put_string(j, "value", o->value);
        json_put_string(j, "default", o->fallback);
        json_put_string(j, "help", o->help);
        json_object_end(j);
    }
    json_array_end(j);
    json_object_end(j);
}

static void outputs_as_json(struct buf *b, const char *name)
{
    struct json_out j;
    const struct toll_format *f;
    json_begin(&j, b, 2);
    json_array(&j);
    for (size_t i = 0; (f = toll_format_at(i)); i++)
        if (!name || strcmp(name, f->name) == 0)
            json_format(&j, f);
    json_array_end(&j);
    buf_putc(b, '\n');
}

static int list_outputs(struct settings *s)
{
    struct buf b = {0};
    const char *name = s->words ? s->words[0] : NULL;
    const struct toll_format *f = toll_format_at(0);
    for (size_t i = 1; name && f && strcmp(f->name, name) != 0; i++)
        f = toll_format_at(i);
    if (!f) {
        struct suggestion near;
        suggestion_begin(&near, name);
        for (size_t i = 0; (f = toll_format_at(i)); i++)
            suggestion_offer(&near, f->name);
        return complain("unknown output type '%s'%s; see 'toll outputs'", name,
                        suggestion_text(&near));
    }
    (s->json ? outputs_as_json : outputs_as_text)(&b, name);
    return s->json ? print(&b) : print_paged(&b);
}

int outputs_main(int argc, char **argv)
{
    return subcommand_main(argc, argv, 0, 1, list_outputs);
}

/* ==== List metrics ============================================================================ */

/* toll metrics: the table of metrics for people, for programs and for the documentation. */

/* Whether -m basic selects it. */
static bool metric_is_basic(const char *name, const char *whole)
{
    for (const char *at = TOLL_METRICS_BASIC; *at; at += *at == ',') {
        char glob[64];
        size_t length = strcspn(at, ",");
        snprintf(glob, sizeof glob, "%.*s", (int)length, at);
        if (fnmatch(glob, name, 0) == 0 || fnmatch(glob, whole, 0) == 0)
            return true;
        at += length;
    }
    return false;
}

/* Whether a word is for the metric: a part of its name, its entity, or a pattern with * for one of
 * them or for both, system_memory*. */
static bool metric_is_meant(const struct toll_metric *m, const char *word)
{
    char whole[128];
    snprintf(whole, sizeof whole, "%s_%s", m->entity, m->name);
    if (strcmp(word, "basic") == 0)
        return metric_is_basic(m->name, whole);
    if (!strpbrk(word, "*?["))
        return strstr(m->name, word) || strcmp(m->entity, word) == 0 || strcmp(whole, word) == 0;
    return fnmatch(word, m->name, 0) == 0 || fnmatch(word, m->entity, 0) == 0 ||
           fnmatch(word, whole, 0) == 0;
}

/* The next metric that one of the words is for, or all without words; NULL after the last. */
static const struct toll_metric *next_metric(const char *const *words, size_t *at)
{
    const struct toll_metric *m;
    while ((m = toll_metric_at((*at)++))) {
        const char *const *word = words;
        while (word && *word && !metric_is_meant(m, *word))
            word++;
        if (!word || *word)
            return m;
    }
    return NULL;
}

/* 125 and a sentence when a word is for none. */
static int check_metric_words(const char *const *words)
{
    for (; words && *words; words++) {
        const char *const one[] = {*words, NULL};
        const struct toll_metric *m;
        size_t at = 0;
        if (next_metric(one, &at))
            continue;
        struct suggestion near;
        suggestion_begin(&near, *words);
        for (size_t i = 0; (m = toll_metric_at(i)); i++) {
            char stem[64]; /* words are parts of names, too */
            snprintf(stem, sizeof stem, "%.*s", (int)strcspn(m->name, "_"), m->name);
            suggestion_offer(&near, stem);
            suggestion_offer(&near, m->name);
            suggestion_offer(&near, m->entity);
        }
        return complain("metrics: no metric matches '%s'%s; see 'toll metrics'", *words,
                        suggestion_text(&near));
    }
    return 0;
}

static void list_metrics_as_text(struct buf *b, const char *const *words)
{
    enum { HELP_COLUMN = 32 };
    const char *entity = "";
    const struct toll_metric *m;
    for (size_t i = 0; (m = next_metric(words, &i));) {
        struct buf left = {0}, text = {0};
        if (strcmp(entity, m->entity) != 0)
            buf_printf(b, "%s%s\n", *entity ? "\n" : "", m->entity);
        entity = m->entity;
        buf_printf(&left, "  %s", m->name);
        buf_printf(&text, "%s (%s; %s%s)", m->help, m->kind, m->source,
                   strcmp(m->cost, "slow") == 0 ? "; expensive" : "");
        if (!buf_failed(&left) && !buf_failed(&text))
            help_line(b, left.data, text.data, HELP_COLUMN);
        buf_done(&left);
        buf_done(&text);
    }
    if (words)
        return;
    buf_putc(b, '\n');
    help_wrap(b,
              "A job (the target) has the metrics of a process three times: target_… for all of "
              "its processes, main_… for the command itself, descendants_… for what it started.",
              0);
}

static void list_metrics_as_json(struct buf *b, const char *const *words)
{
    struct json_out j;
    json_begin(&j, b, 2);
    json_array(&j);
    const struct toll_metric *m;
    for (size_t i = 0; (m = next_metric(words, &i));) {
        const char *fields[][2] = {
            {"entity", m->entity}, {"name", m->name}, {"title", m->title}, {"kind", m->kind},
            {"unit", m->unit},     {"fold", m->fold}, {"cost", m->cost},   {"source", m->source},
            {"otel", m->otel},     {"help", m->help},
        };
        json_object(&j);
        for (size_t f = 0; f < ARRAY_LEN(fields); f++) {
            json_put_string(&j, fields[f][0], fields[f][1]);
        }
        json_object_end(&j);
    }
    json_array_end(&j);
    buf_putc(b, '\n');
}

static const char metrics_preface[] =
    "# Metrics\n\nEvery metric that toll measures, as `toll metrics` lists them. A job (the "
    "target) has the\nmetrics of `process` three times: `target_…` for all of its processes, "
    "`main_…` for the command\nitself, `descendants_…` for everything it started. Other metrics "
    "begin with their entity:\n`system_…`, `disk.vda.…` (the name of the disk).\n\n- **kind**: a "
    "counter only grows; a gauge goes up and down.\n- **read**: *cheap* at every sample, "
    "*refresh* about once a second, *slow* as often as\n  `--budget` allows.\n- **fold**, how "
    "the values of processes are combined for a target: *sum* over live processes;\n  *max*, the "
    "largest; *once*, private memory plus shared memory once; *conserved*, a counter\n  that the "
    "kernel adds to the parent; *kept*, the last value of an ended process still counts;\n  "
    "*whole*, of the target only; *rate* of the counter above; *none*.\n\nThis page is made by "
    "`toll metrics --markdown`.\n";

static void list_metrics_as_markdown(struct buf *b, const char *const *words)
{
    const char *entity = "";
    const struct toll_metric *m;
    if (!words)
        buf_puts(b, metrics_preface);
    for (size_t i = 0; (m = next_metric(words, &i));) {
        if (strcmp(entity, m->entity) != 0)
            buf_printf(b,
                       "\n## %s\n\n"
                       "| name | meaning | kind | unit | source | read | fold | OpenTelemetry |\n"
                       "|---|---|---|---|---|---|---|---|\n",
                       entity = m->entity);
        buf_printf(b, "| `%s` | %s | %s | %s | %s | %s | %s | %s |\n", m->name, m->help, m->kind,
                   m->unit, m->source, m->cost, m->fold, m->otel);
    }
}

static int list_metrics(struct settings *s)
{
    struct buf b = {0};
    int status = check_metric_words(s->words);
    if (status)
        return status;
    (s->json       ? list_metrics_as_json
     : s->markdown ? list_metrics_as_markdown
                   : list_metrics_as_text)(&b, s->words);
    return s->json || s->markdown ? print(&b) : print_paged(&b);
}

int metrics_main(int argc, char **argv)
{
    return subcommand_main(argc, argv, 0, SIZE_MAX, list_metrics);
}

/* ==== List layouts =========================================================================== */

enum { FORMATS = 25, HELP = 42, LIST_LAYOUTS_COLUMN = 28, INDENT = 6 };

static void list_layouts_add_names(struct buf *b)
{
    const struct toll_layout *d;
    for (size_t i = 0; (d = toll_layout_at(i)); i++) {
        struct buf left = {0};
        buf_puts(&left, d->name);
        buf_pad(&left, 0, FORMATS);
        buf_puts(&left, d->formats);
        if (!buf_failed(&left))
            help_line(b, left.data, d->help, HELP);
        buf_done(&left);
    }
    buf_putc(b, '\n');
    help_wrap(b, "'toll layouts NAME' lists the options and columns of a layout,", 0);
    help_wrap(b, "'toll run --layout NAME -o FILE' writes it.", 0);
}

static void list_layouts_add_options(struct buf *b, const char *name)
{
    const struct toll_layout_option *o;
    for (size_t i = 0; (o = toll_layout_option_at(name, i)); i++) {
        buf_printf(b, "%s  %s=", i ? "" : "\noptions\n", o->name);
        for (const char *c = o->accepted; *c; c++)
            buf_putc(b, *c == ' ' ? '|' : *c);
        buf_putc(b, '\n');
        struct buf text = {0};
        buf_puts(&text, o->help);
        if (*o->value)
            buf_printf(&text, " (default: %s)", o->value);
        buf_pad(b, b->length, INDENT);
        help_wrap(b, text.data ? text.data : "", INDENT);
        buf_done(&text);
    }
}

/* Above the columns of one table. */
static void list_layouts_add_heading(struct buf *b, const struct toll_layout_column *c)
{
    buf_printf(b, "\n%s", c->format);
    if (*c->file)
        buf_printf(b, ", %s", c->file);
    if (*c->columns)
        buf_printf(b, ", columns=%s", c->columns);
    if (*c->subject)
        buf_printf(b, ", of %s", strcmp(c->subject, "target") == 0 ? "a target" : "the machine");
    buf_putc(b, '\n');
}

/* A sum that is scaled is put in parentheses. */
static void add_terms(struct buf *b, const struct toll_layout_column *c)
{
    bool is_sum = (c->factor != 1 || *c->per) && strpbrk(c->terms, "+-");
    buf_printf(b, is_sum ? "(%s)" : "%s", c->terms);
    if (*c->per)
        buf_printf(b, strpbrk(c->per, "+-") ? " / (%s)" : " / %s", c->per);
    if (c->factor != 1) {
        buf_puts(b, c->factor < 1 ? " / " : " * ");
        buf_number_short(b, c->factor < 1 ? 1 / c->factor : c->factor, 12);
    }
    if (*c->scale)
        buf_printf(b, " in %s", c->scale);
    if (c->decimals)
        buf_printf(b, ", %u decimal%s", c->decimals, c->decimals == 1 ? "" : "s");
}

static void list_layouts_add_column(struct buf *b, const struct toll_layout_column *c)
{
    struct buf left = {0}, text = {0};
    buf_printf(&left, "  %s", c->name);
    buf_puts(&text, c->take);
    buf_pad(&text, 0, 6);
    size_t taken = text.length;
    add_terms(&text, c);
    if (!buf_failed(&left) && !buf_failed(&text)) {
        size_t start = b->length;
        buf_puts(b, left.data);
        if (left.length >= LIST_LAYOUTS_COLUMN) {
            buf_putc(b, '\n');
            start = b->length;
        }
        buf_pad(b, start, LIST_LAYOUTS_COLUMN);
        buf_add(b, text.data, taken);
        help_wrap(b, text.data + taken, LIST_LAYOUTS_COLUMN + taken);
    }
    buf_done(&left);
    buf_done(&text);
}

static void list_layouts_add_columns(struct buf *b, const char *name)
{
    const struct toll_layout_column *c, *before = NULL;
    for (size_t i = 0; (c = toll_layout_column_at(name, i)); i++) {
        bool is_same_table = before && strcmp(before->format, c->format) == 0 &&
                             strcmp(before->columns, c->columns) == 0 &&
                             strcmp(before->subject, c->subject) == 0 &&
                             strcmp(before->file, c->file) == 0;
        if (!is_same_table)
            list_layouts_add_heading(b, c);
        before = c;
        list_layouts_add_column(b, c);
    }
}

static int refuse_layout(const char *name)
{
    const struct toll_layout *d;
    struct suggestion near;
    suggestion_begin(&near, name);
    for (size_t i = 0; (d = toll_layout_at(i)); i++)
        suggestion_offer(&near, d->name);
    return complain("unknown layout '%s'%s; see 'toll layouts'", name, suggestion_text(&near));
}

static int show_one(const char *name, struct buf *b)
{
    const struct toll_layout *d = strchr(name, ',') ? NULL : layout_named(name);
    if (!d)
        return refuse_layout(name);
    size_t start = b->length;
    buf_printf(b, "%s: ", d->name);
    help_wrap(b, d->help, b->length - start);
    buf_printf(b, "formats: %s\n", d->formats);
    list_layouts_add_options(b, d->name);
    list_layouts_add_columns(b, d->name);
    return 0;
}

/* ---- For programs ---------------------------------------------------------------------------- */

static void add_json_options(struct json_out *j, const char *name)
{
    const struct toll_layout_option *o;
    json_put_array(j, "options");
    for (size_t i = 0; (o = toll_layout_option_at(name, i)); i++) {
        json_object(j);
        json_put_string(j, "name", o->name);
        json_put_string(j, "value", o->value);
        json_put_string(j, "accepted", o->accepted);
        json_put_string(j, "help", o->help);
        json_object_end(j);
    }
    json_array_end(j);
}

static void add_json_columns(struct json_out *j, const char *name)
{
    const struct toll_layout_column *c;
    json_put_array(j, "columns");
    for (size_t i = 0; (c = toll_layout_column_at(name, i)); i++) {
        json_object(j);
        const char *fields[][2] = {
            {"format", c->format}, {"columns", c->columns}, {"subject", c->subject},
            {"file", c->file},     {"name", c->name},       {"label", c->label},
            {"terms", c->terms},   {"take", c->take},       {"type", c->type},
            {"scale", c->scale},   {"per", c->per},
        };
        for (size_t f = 0; f < ARRAY_LEN(fields); f++)
            json_put_string(j, fields[f][0], fields[f][1]);
        json_put_number(j, "factor", c->factor);
        json_put_u64(j, "decimals", c->decimals);
        json_object_end(j);
    }
    json_array_end(j);
}

static void add_json_layout(struct json_out *j, const struct toll_layout *d)
{
    json_object(j);
    json_put_string(j, "name", d->name);
    json_put_string(j, "formats", d->formats);
    json_put_string(j, "help", d->help);
    json_put_seconds(j, "interval_seconds", d->interval_ns);
    add_json_options(j, d->name);
    add_json_columns(j, d->name);
    json_object_end(j);
}

static int list_layouts_as_json(const char *name, struct buf *b)
{
    const struct toll_layout *d;
    struct json_out j;
    if (name && !layout_named(name))
        return refuse_layout(name);
    json_begin(&j, b, 2);
    json_array(&j);
    for (size_t i = 0; (d = toll_layout_at(i)); i++)
        if (!name || d == layout_named(name))
            add_json_layout(&j, d);
    json_array_end(&j);
    buf_putc(b, '\n');
    return 0;
}

static int list_layouts(struct settings *s)
{
    struct buf b = {0};
    const char *name = s->words ? s->words[0] : NULL;
    int status = 0;
    if (s->json)
        status = list_layouts_as_json(name, &b);
    else if (name)
        status = show_one(name, &b);
    else
        list_layouts_add_names(&b);
    if (status == 0)
        return s->json ? print(&b) : print_paged(&b);
    buf_done(&b);
    return status;
}

int layouts_main(int argc, char **argv)
{
    return subcommand_main(argc, argv, 0, 1, list_layouts);
}
