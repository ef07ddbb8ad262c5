/* SPDX-License-Identifier: MIT */
#include "sink/dialect_sink.h"

#include "base/err.h"
#include "dialect/cell_text.h"
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

struct translation *dialect_sink_translation(struct sink *s, bool has_target)
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
    struct translation *t = dialect_sink_translation(s, f->target[PART_COMBINED].row != NULL);
    if (!t || !s->run)
        return NULL;
    struct frame_view view = {.frame = f, .run = s->run};
    struct dialect_source source = frame_view_source(&view);
    if (translation_put(t, &source, f->last) < 0)
        s->text.failed = true;
    return t;
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
    bool is_number = !cell->text && dialect_cell_is_known(cell);
    bool has_quotes = !is_number && t->table->quotes_text;
    add_separator(s, t->table, column);
    buf_puts(&s->text, has_quotes ? "\"" : "");
    if (dialect_cell_is_known(cell))
        cell_write(&s->text, &t->table->columns[column], cell);
    else
        buf_puts(&s->text, t->table->unknown ? t->table->unknown : "");
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

/* Of another run the columns are the same: one heading is for all. */
static void add_heading(struct sink *s, const struct translation *t)
{
    if (s->follows && !t->table->preface)
        return;
    if (t->table->heading)
        buf_puts(&s->text, t->table->heading);
    else if (!t->table->no_heading)
        add_names(s, t);
}

/* A file that may stay empty has it with the first row. */
static void csv_heading(struct sink *s, const struct frame *f)
{
    const struct translation *t = dialect_sink_translation(s, f->target[PART_COMBINED].row != NULL);
    if (!t)
        return;
    if (t->table->preface && s->run)
        add_preface(s, t->table->preface, f);
    if (!s->may_stay_empty)
        add_heading(s, t);
}

static void csv_frame(struct sink *s, const struct frame *f)
{
    const struct translation *t = put_frame(s, f);
    if (t && t->ready && !s->pieces && s->may_stay_empty)
        add_heading(s, t);
    if (t)
        add_rows(s, t);
}

/* ---- JSON ------------------------------------------------------------------------------------ */

void dialect_sink_json_cell(struct sink *s, struct json_out *j, const struct dialect_column *c,
                            const struct dialect_cell *cell)
{
    struct buf text = {0};
    if (cell->text) {
        json_string(j, cell->text);
    } else if (!dialect_cell_is_known(cell)) {
        json_null(j);
    } else {
        cell_write(&text, c, cell);
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
    const struct dialect_table *table = dialect_choice_table(s->dialect, "jsonl", SUBJECT_ANY);
    if (table && table->is_log)
        return;
    const struct translation *t = put_frame(s, f);
    for (size_t row = 0; t && row < t->ready; row++) {
        struct json_out j;
        json_begin(&j, &s->text, 0);
        json_object(&j);
        for (size_t i = 0; i < t->table->count; i++) {
            add_key(s, &j, t, i);
            dialect_sink_json_cell(s, &j, &t->table->columns[i], translation_cell(t, row, i));
        }
        json_object_end(&j);
        buf_putc(&s->text, '\n');
    }
}

/* ---- The kinds ------------------------------------------------------------------------------- */

static const struct sink_kind kinds[] = {
    {.format = {"csv", ".csv", "", "FILE"},
     .heading = csv_heading,
     .frame = csv_frame,
     .close = dialect_close},
    {.format = {"jsonl", ".jsonl", "", "FILE"},
     .frame = jsonl_frame,
     .mark = dialect_log_mark,
     .close = dialect_close},
    {.format = {"json", ".json", "", "FILE"},
     .holds_one_run = true,
     .summary = dialect_document_json,
     .close = dialect_close},
    {.format = {"text", ".txt", "", "FILE"},
     .summary = dialect_document_text,
     .close = dialect_close},
};

int sink_choose_dialect(const struct sink_kind *kind, const struct dialect_choice *choice,
                        const struct sink_kind **ret, struct toll_error *e)
{
    int r = dialect_choice_check_format(choice, kind->format.name, e);
    if (r == 0 && kind->has_dialects) {
        *ret = kind;
        return 0;
    }
    for (size_t i = 0; r == 0 && i < ARRAY_LEN(kinds); i++)
        if (strcmp(kinds[i].format.name, kind->format.name) == 0) {
            *ret = &kinds[i];
            return 0;
        }
    return r < 0 ? r
                 : err_set(e, -EINVAL, "'%s' cannot be written in a dialect", kind->format.name);
}
