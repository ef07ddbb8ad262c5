/* SPDX-License-Identifier: MIT */
#include "layout/layout.h"

#include "base/err.h"
#include "base/text/buf.h"
#include "base/text/scan.h"
#include "layout/translation.h"
#include "metric/metric.h"

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

/* ==== Terms =================================================================================== */

/* ==== Term figure ============================================================================= */

static double term_figure_ask(const struct row_of *r, const struct term *t, size_t instance,
                              enum layout_take take)
{
    struct layout_place place = {t->kind, t->part, r->target, instance, t->id};
    return r->source->figure(r->source->of, &place, take);
}

/* Space on disks: each counts once, and what is behind the network when it answers. An overlay
 * counts where nothing else is to be seen, as in a container. */
static double disk_space(const struct row_of *r, const struct term *t, enum layout_take take)
{
    const struct layout_source *s = r->source;
    size_t count = s->count(s->of, ENTITY_MOUNT), used = 0;
    enum space_kind least = SPACE_OVERLAY;
    for (size_t i = 0; i < count; i++)
        if (s->space(s->of, i) == SPACE_LOCAL)
            least = SPACE_NETWORK;
    double sum = 0;
    for (size_t i = 0; i < count; i++) {
        enum space_kind space = s->space(s->of, i);
        double value = space < least ? (double)NAN : term_figure_ask(r, t, i, take);
        if (space < least || (space == SPACE_NETWORK && isnan(value)))
            continue;
        sum += value;
        used++;
    }
    return used ? sum : (double)NAN;
}

static double of_root(const struct row_of *r, const struct term *t, enum layout_take take)
{
    const struct layout_source *s = r->source;
    size_t count = s->count(s->of, t->kind);
    for (size_t i = 0; i < count; i++)
        if (strcmp(s->name(s->of, t->kind, i), "/") == 0)
            return term_figure_ask(r, t, i, take);
    return (double)NAN;
}

static double over_instances(const struct row_of *r, const struct term *t, enum layout_take take)
{
    size_t count = r->source->count(r->source->of, t->kind);
    if (r->each == EACH_GPU && t->kind == ENTITY_GPU && t->of == TERM_SUM)
        return term_figure_ask(r, t, r->instance, take);
    if (t->of == TERM_COUNT)
        return (double)count;
    if (t->of == TERM_ROOT)
        return of_root(r, t, take);
    if (t->of == TERM_SUM && t->kind == ENTITY_MOUNT)
        return disk_space(r, t, take);
    double sum = count ? 0 : (double)NAN;
    for (size_t i = 0; i < count; i++) {
        double value = term_figure_ask(r, t, i, take);
        if (isnan(value) || isnan(sum))
            sum = (double)NAN;
        else if (t->of == TERM_LARGEST)
            sum = value > sum ? value : sum;
        else
            sum += t->of == TERM_SUM ? value : value > 0;
    }
    return sum;
}

double terms_figure(const struct row_of *r, const struct terms *terms, enum layout_take take,
                    uint64_t step)
{
    double sum = 0;
    for (size_t i = 0; i < terms->count; i++) {
        const struct term *t = &terms->items[i];
        double value;
        if (t->of == TERM_FACT && t->fact == FACT_STEP)
            value = (double)step;
        else if (t->of == TERM_FACT && t->fact == FACT_NUMBER)
            value = (double)gpu_number(r->source->of, r->source->name,
                                       r->source->count(r->source->of, ENTITY_GPU), r->instance);
        else if (t->of == TERM_FACT && t->fact == FACT_ZERO)
            value = 0;
        else if (t->of == TERM_FACT)
            value = r->source->fact(r->source->of, t->fact, r->target);
        else if (t->of == TERM_OWN)
            value = r->source->own(r->source->of, t->option);
        else if (t->of == TERM_FIGURE)
            value = term_figure_ask(r, t, 0, take);
        else
            value = over_instances(r, t, take);
        sum += t->minus ? -value : value;
    }
    return sum;
}

bool row_has_target(const struct row_of *r)
{
    struct term wall = {.kind = ENTITY_TARGET, .part = PART_COMBINED, .id = process_wall_seconds};
    return !isnan(term_figure_ask(r, &wall, 0, TAKE_VALUE)); /* it is known of whatever there is */
}

double row_living(const struct row_of *r, enum part part)
{
    struct term living = {.kind = ENTITY_TARGET, .part = part, .id = process_processes_count};
    return term_figure_ask(r, &living, 0, TAKE_VALUE);
}

bool terms_are_partial(const struct row_of *r, const struct terms *terms)
{
    for (size_t i = 0; i < terms->count; i++) {
        const struct term *t = &terms->items[i];
        struct layout_place place = {t->kind, t->part, r->target, 0, t->id};
        if (t->of == TERM_FIGURE && t->kind == ENTITY_TARGET && r->source->is_partial &&
            r->source->is_partial(r->source->of, &place))
            return true;
    }
    return false;
}

bool terms_may_hold(const struct row_of *r, const struct terms *terms, double age)
{
    for (size_t i = 0; i < terms->count; i++) {
        const struct term *t = &terms->items[i];
        if (t->of >= TERM_FACT)
            return false;
        /* The machine is read about once a second, its filesystems every ten seconds: what was not
         * for much longer cannot be read any more. */
        if (t->kind != ENTITY_TARGET && age > (t->kind == ENTITY_MOUNT ? 30 : 5))
            return false;
        if (t->kind != ENTITY_TARGET)
            continue;
        if (metric_of(t->id)->cost == COST_CHEAP || !(row_living(r, t->part) > 0))
            return false;
    }
    return !terms_are_partial(r, terms);
}

/* ==== Terms =================================================================================== */

const char *const layout_fact_names[LAYOUT_FACTS] = {
    [FACT_TIME] = "time",
    [FACT_ELAPSED] = "elapsed",
    [FACT_INTERVAL] = "interval",
    [FACT_PID] = "pid",
    [FACT_OWN_PID] = "own_pid",
    [FACT_GROUP] = "group",
    [FACT_CPUS] = "cpus",
    [FACT_GPUS] = "gpus",
    [FACT_STEP] = "step",
    [FACT_SINCE] = "since",
    [FACT_HAS_GPUS] = "has_gpus",
    [FACT_UTC] = "utc",
    [FACT_LOCAL] = "local",
    [FACT_NAME] = "name",
    [FACT_NUMBER] = "number",
    [FACT_ZERO] = "zero",
    [FACT_EXIT] = "exit",
    [FACT_MEMORY_PEAK] = "memory_peak",
    [FACT_PAGE] = "page",
    [FACT_RUN] = "run",
    [FACT_COMMAND] = "command",
    [FACT_ID] = "id",
    [FACT_KERNEL] = "kernel",
    [FACT_SECOND] = "second",
    [FACT_ELAPSED_TEXT] = "elapsed_text",
    [FACT_HOURS] = "hours",
    [FACT_MINUTES] = "minutes",
    [FACT_UNKNOWN] = "unknown",
    [FACT_LARGEST] = "largest",
    [FACT_CARBON] = "carbon",
    [FACT_PUE] = "pue",
    [FACT_TRACKING] = "tracking",
    [FACT_PROCESSORS_ENERGY] = "processors_energy",
    [FACT_GPUS_ENERGY] = "gpus_energy",
};

enum { WORD_BYTES = 96 };

static int parse_fact(struct term *t, const char *word)
{
    t->of = TERM_FACT;
    for (unsigned f = 0; f < LAYOUT_FACTS; f++)
        if (strcmp(layout_fact_names[f], word) == 0) {
            t->fact = f;
            return 0;
        }
    return -EINVAL;
}

/* "gpu.*", "gpu.*.memory_used_bytes", "gpu.*.utilization_ratio>0", "mount./.size_bytes" */
static int parse_instances(struct term *t, char *word, char *star)
{
    bool is_root = star[1] == '/';
    *star = '\0';
    char *rest = star + 2;
    unsigned kind = 0;
    while (kind < ENTITY_KINDS && strcmp(entity_kind_name(kind), word) != 0)
        kind++;
    if (kind == ENTITY_KINDS)
        return -EINVAL;
    t->kind = kind;
    t->of = TERM_COUNT;
    if (!*rest)
        return is_root ? -EINVAL : 0;
    char *above = strstr(rest, ">0");
    if (above && above[2])
        return -EINVAL;
    size_t length = strlen(rest);
    bool is_largest = rest[length - 1] == '^';
    if (above)
        *above = '\0';
    if (is_largest)
        rest[length - 1] = '\0';
    t->of = is_root ? TERM_ROOT : above ? TERM_ABOVE_ZERO : is_largest ? TERM_LARGEST : TERM_SUM;
    if (*rest++ != '.')
        return -EINVAL;
    for (unsigned i = 0; i < metric_count(kind); i++)
        if (strcmp(metric_of(metric_first(kind) + i)->facts.name, rest) == 0) {
            t->id = metric_first(kind) + i;
            return 0;
        }
    return -EINVAL;
}

static int parse_figure(struct term *t, const char *word)
{
    static const enum entity_kind alone[] = {ENTITY_SYSTEM, ENTITY_SELF};
    t->of = TERM_FIGURE;
    for (unsigned part = 0; part < PARTS; part++) {
        int id = column_metric(ENTITY_TARGET, part, NULL, word);
        if (id < 0)
            continue;
        t->kind = ENTITY_TARGET;
        t->part = part;
        t->id = (enum metric_id)id;
        return 0;
    }
    for (size_t i = 0; i < ARRAY_LEN(alone); i++) {
        int id = column_metric(alone[i], PART_COMBINED, NULL, word);
        if (id < 0)
            continue;
        t->kind = alone[i];
        t->id = (enum metric_id)id;
        return 0;
    }
    return -EINVAL;
}

static int parse_word(struct term *t, const char *text, size_t length)
{
    char word[WORD_BYTES];
    if (!length || length >= sizeof word)
        return -EINVAL;
    memcpy(word, text, length);
    word[length] = '\0';
    if (*word == '@')
        return parse_fact(t, word + 1);
    if (*word == '=' || *word == '~') {
        t->of = *word == '=' ? TERM_OPTION : TERM_OWN;
        t->option = text + 1;
        return 0;
    }
    char *star = strstr(word, ".*");
    if (!star)
        star = strstr(word, "./");
    return star ? parse_instances(t, word, star) : parse_figure(t, word);
}

int terms_parse(struct terms *ret, const char *text)
{
    *ret = (struct terms){0};
    bool minus = false;
    for (;;) {
        size_t length = strcspn(text, " ");
        if (ret->count == TERMS_AT_MOST)
            return -EINVAL;
        struct term *t = &ret->items[ret->count++];
        *t = (struct term){.minus = minus};
        int r = parse_word(t, text, length);
        if (r < 0)
            return r;
        text += length;
        if (!*text)
            return 0;
        if (strncmp(text, " + ", 3) != 0 && strncmp(text, " - ", 3) != 0)
            return -EINVAL;
        minus = text[1] == '-';
        text += 3;
    }
}

bool terms_have(const struct terms *t, enum entity_kind kind)
{
    for (size_t i = 0; i < t->count; i++)
        if (t->items[i].of < TERM_FACT && t->items[i].kind == kind)
            return true;
    return false;
}
