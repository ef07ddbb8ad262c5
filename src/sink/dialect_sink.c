/* SPDX-License-Identifier: MIT */
#include "sink/dialect_sink.h"

#include "base/err.h"
#include "dialect/frame_view.h"

#include <math.h>
#include <string.h>

/* ---- What they have in common ---------------------------------------------------------------- */

static void dialect_close(struct sink *s)
{
    if (s->state)
        translation_done(s->state);
    free(s->state);
    s->state = NULL;
}

/* The table for what is measured, once that is known. NULL when the dialect has none for it. */
static struct translation *translation_of(struct sink *s, bool has_target)
{
    if (s->state)
        return s->state;
    enum dialect_subject subject = has_target ? SUBJECT_TARGET : SUBJECT_MACHINE;
    const struct dialect_table *table = dialect_choice_table(s->dialect, s->kind->format.name,
                                                             subject);
    if (!table)
        return NULL;
    s->state = calloc(1, sizeof(struct translation));
    if (!s->state || translation_open(s->state, s->dialect, table) < 0)
        s->text.failed = true;
    return s->text.failed ? NULL : s->state;
}

/* The rows that come of a frame. */
static struct translation *put_frame(struct sink *s, const struct frame *f)
{
    struct translation *t = translation_of(s, f->target[PART_COMBINED].row != NULL);
    if (!t || !s->run)
        return NULL;
    struct frame_view view = {.frame = f, .run = s->run};
    struct dialect_source source = frame_view_source(&view);
    if (translation_put(t, &source, f->last) < 0)
        s->text.failed = true;
    return t;
}

static bool is_known(const struct dialect_cell *cell)
{
    return cell->text || !isnan(cell->number);
}

/* ---- CSV ------------------------------------------------------------------------------------- */

static void add_separator(struct sink *s, const struct dialect_table *table, size_t column)
{
    if (column)
        buf_puts(&s->text, table->separator ? table->separator : ",");
}

static void end_row(struct sink *s, const struct dialect_table *table)
{
    buf_puts(&s->text, table->newline ? table->newline : "\n");
}

static void add_names(struct sink *s, const struct translation *t)
{
    const char *quote = t->table->quotes_text ? "\"" : "";
    for (size_t i = 0; i < t->table->count; i++) {
        add_separator(s, t->table, i);
        buf_puts(&s->text, quote);
        translation_name(&s->text, t, i);
        buf_puts(&s->text, quote);
    }
    end_row(s, t->table);
}

static void add_csv_cell(struct sink *s, const struct translation *t, size_t row, size_t column)
{
    const struct dialect_cell *cell = translation_cell(t, row, column);
    bool is_number = !cell->text && is_known(cell);
    bool has_quotes = !is_number && t->table->quotes_text;
    add_separator(s, t->table, column);
    buf_puts(&s->text, has_quotes ? "\"" : "");
    translation_write(&s->text, &t->table->columns[column], cell);
    buf_puts(&s->text, has_quotes ? "\"" : "");
}

static void add_rows(struct sink *s, const struct translation *t)
{
    for (size_t row = 0; row < t->ready; row++) {
        for (size_t i = 0; i < t->table->count; i++)
            add_csv_cell(s, t, row, i);
        end_row(s, t->table);
    }
}

/* What does not change while the run goes, as it is at the first sample. */
static void add_preface(struct sink *s, const struct dialect_table *table, const struct frame *f)
{
    struct translation t;
    struct frame_view view = {.frame = f, .run = s->run};
    struct dialect_source source = frame_view_source(&view);
    if (translation_open(&t, s->dialect, table) < 0) {
        s->text.failed = true;
        return;
    }
    if (translation_put(&t, &source, true) < 0)
        s->text.failed = true;
    add_names(s, &t);
    add_rows(s, &t);
    translation_done(&t);
}

static void csv_heading(struct sink *s, const struct frame *f)
{
    const struct translation *t = translation_of(s, f->target[PART_COMBINED].row != NULL);
    if (!t)
        return;
    if (t->table->preface && s->run)
        add_preface(s, t->table->preface, f);
    if (!t->table->no_heading)
        add_names(s, t);
}

static void csv_frame(struct sink *s, const struct frame *f)
{
    const struct translation *t = put_frame(s, f);
    if (t)
        add_rows(s, t);
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static void add_json_cell(struct sink *s, struct json_out *j, const struct dialect_column *c,
                          const struct dialect_cell *cell)
{
    struct buf text = {0};
    if (cell->text) {
        json_string(j, cell->text);
    } else if (!is_known(cell)) {
        json_null(j);
    } else {
        translation_write(&text, c, cell);
        s->text.failed |= buf_failed(&text);
        json_raw(j, text.data ? text.data : "", text.length);
    }
    buf_done(&text);
}

static void add_key(struct sink *s, struct json_out *j, const struct translation *t, size_t column)
{
    struct buf name = {0};
    translation_name(&name, t, column);
    s->text.failed |= buf_failed(&name);
    json_key(j, name.data ? name.data : "");
    buf_done(&name);
}

static void jsonl_frame(struct sink *s, const struct frame *f)
{
    const struct translation *t = put_frame(s, f);
    for (size_t row = 0; t && row < t->ready; row++) {
        struct json_out j;
        json_begin(&j, &s->text, 0);
        json_object(&j);
        for (size_t i = 0; i < t->table->count; i++) {
            add_key(s, &j, t, i);
            add_json_cell(s, &j, &t->table->columns[i], translation_cell(t, row, i));
        }
        json_object_end(&j);
        buf_putc(&s->text, '\n');
    }
}

/* ---- Documents ------------------------------------------------------------------------------- */

/* How much of a name with dots it has in common with the one before, up to and with a dot. */
static size_t common_lead(const char *a, const char *b)
{
    size_t lead = 0;
    for (size_t i = 0; a[i] && a[i] == b[i]; i++)
        if (a[i] == '.')
            lead = i + 1;
    return lead;
}

static unsigned count_dots(const char *text)
{
    unsigned dots = 0;
    for (; *text; text++)
        dots += *text == '.';
    return dots;
}

static struct translation *put_summary(struct sink *s, const struct summary *summary)
{
    struct translation *t = translation_of(s, summary->has_target);
    struct dialect_source source = summary_view_source(summary);
    if (t && translation_put(t, &source, true) < 0)
        s->text.failed = true;
    return t;
}

static bool is_left_out(const struct dialect_column *c, const struct dialect_cell *cell)
{
    return (c->flags & OMIT_ZERO) && !cell->text && !(cell->number > 0);
}

static void json_summary(struct sink *s, const struct summary *summary)
{
    const struct translation *t = put_summary(s, summary);
    struct json_out j;
    const char *before = "";
    json_begin(&j, &s->text, t ? t->table->indent : 0);
    json_object(&j);
    for (size_t i = 0; t && t->ready && i < t->table->count; i++) {
        const struct dialect_column *c = &t->table->columns[i];
        const struct dialect_cell *cell = translation_cell(t, 0, i);
        if (is_left_out(c, cell))
            continue;
        const char *at = c->name + common_lead(before, c->name);
        for (unsigned open = count_dots(before + (at - c->name)); open; open--)
            json_object_end(&j);
        for (const char *dot; (dot = strchr(at, '.')); at = dot + 1) {
            json_string_n(&j, at, (size_t)(dot - at));
            buf_puts(&s->text, t->table->indent ? ": " : ":");
            j.after_key = true;
            json_object(&j);
        }
        json_key(&j, at);
        add_json_cell(s, &j, c, cell);
        before = c->name;
    }
    for (unsigned open = count_dots(before); open; open--)
        json_object_end(&j);
    json_object_end(&j);
    buf_putc(&s->text, '\n');
}

static void add_indent(struct sink *s, const struct dialect_table *table, unsigned depth)
{
    for (unsigned i = 0; i < depth * table->indent; i++)
        buf_putc(&s->text, ' ');
}

static void text_summary(struct sink *s, const struct summary *summary)
{
    const struct translation *t = put_summary(s, summary);
    const char *before = "";
    for (size_t i = 0; t && t->ready && i < t->table->count; i++) {
        const struct dialect_column *c = &t->table->columns[i];
        const struct dialect_cell *cell = translation_cell(t, 0, i);
        size_t lead = common_lead(before, c->label);
        unsigned depth = 0;
        for (size_t k = 0; k < lead; k++)
            depth += c->label[k] == '.';
        const char *at = c->label + lead;
        for (const char *dot; (dot = strchr(at, '.')); at = dot + 1, depth++) {
            add_indent(s, t->table, depth);
            buf_printf(&s->text, "%.*s:\n", (int)(dot - at), at);
        }
        add_indent(s, t->table, depth);
        buf_printf(&s->text, "%s: ", at);
        if (is_known(cell))
            translation_write(&s->text, c, cell);
        else
            buf_puts(&s->text, "unknown");
        buf_putc(&s->text, '\n');
        before = c->label;
    }
}

/* ---- The kinds ------------------------------------------------------------------------------- */

static const struct sink_kind kinds[] = {
    {.format = {"csv", ".csv", "", "FILE"},
     .heading = csv_heading,
     .frame = csv_frame,
     .close = dialect_close},
    {.format = {"jsonl", ".jsonl", "", "FILE"}, .frame = jsonl_frame, .close = dialect_close},
    {.format = {"json", ".json", "", "FILE"}, .summary = json_summary, .close = dialect_close},
    {.format = {"text", ".txt", "", "FILE"}, .summary = text_summary, .close = dialect_close},
};

int sink_choose_dialect(const struct sink_kind *kind, const struct dialect_choice *choice,
                        const struct sink_kind **ret, struct toll_error *e)
{
    int r = dialect_choice_check_format(choice, kind->format.name, e);
    for (size_t i = 0; r == 0 && i < ARRAY_LEN(kinds); i++)
        if (strcmp(kinds[i].format.name, kind->format.name) == 0) {
            *ret = &kinds[i];
            return 0;
        }
    return r < 0 ? r
                 : err_set(e, -EINVAL, "'%s' cannot be written in a dialect", kind->format.name);
}
