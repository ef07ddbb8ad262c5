/* SPDX-License-Identifier: MIT */
#include "sink/layout.h"

#include "base/err.h"
#include "base/text/json.h"
#include "layout/cells.h"
#include "layout/frame_view.h"
#include "layout/gpu_tracker/blocks.h"
#include "layout/translation.h"
#include "sink/open.h"

#include <math.h>
#include <string.h>

/* ==== Sub tracking ============================================================================ */

/* The phases of the job as code blocks in a sub-tracking file of gpu-tracker, two rows for each
 * when it has ended:
 *
 *   process_id,code_block_name,position,timestamp
 *   812,load,0,1746129778.99568
 *   812,load,1,1746129781.7855892 */

static const char newline[] = "\r\n";

static void sub_tracking_begin(struct sink *s, const struct run *run)
{
    if (!s->follows)
        block_log_heading(&s->text, newline);
}

static void sub_tracking_add_row(struct sink *s, const struct told_mark *m, bool is_stop)
{
    uint64_t at_ns = is_stop ? m->phase->end_ns : m->phase->begin_ns;
    struct block_stamp stamp = {
        .pid = m->pid,
        .name = m->name,
        .is_stop = is_stop,
        .time = (double)(s->run->start_real_ns + left_u64(at_ns, m->start_ns)) / 1e9,
    };
    block_log_row(&s->text, &stamp, newline);
}

static void sub_tracking_mark(struct sink *s, const struct told_mark *m)
{
    if (!m->phase || !s->run)
        return;
    sub_tracking_add_row(s, m, false);
    if (!m->phase->not_ended) /* a call without an end does not count there */
        sub_tracking_add_row(s, m, true);
}

const struct sink_kind sink_sub_tracking = {
    .format = {"sub-tracking", ".sub-tracking.csv", "the phases, as code blocks of gpu-tracker",
               "FILE"},
    .begin = sub_tracking_begin,
    .mark = sub_tracking_mark,
};

/* ==== Layout sink ============================================================================ */

/* ---- What they have in common ---------------------------------------------------------------- */

static void layout_close(struct sink *s)
{
    if (s->state)
        translation_done(s->state);
    free(s->state);
    s->state = NULL;
}

struct translation *layout_sink_translation(struct sink *s, bool has_target)
{
    if (s->state)
        return s->state;
    enum layout_subject subject = has_target ? SUBJECT_TARGET : SUBJECT_MACHINE;
    const struct layout_table *table = layout_choice_table(s->layout, s->kind->format.name,
                                                           subject);
    if (!table)
        return NULL;
    s->state = calloc(1, sizeof(struct translation));
    if (!s->state || translation_open(s->state, s->layout, table) < 0)
        s->text.failed = true;
    return s->text.failed ? NULL : s->state;
}

/* The rows that come of a frame. */
static struct translation *put_frame(struct sink *s, const struct frame *f)
{
    struct translation *t = layout_sink_translation(s, f->target[PART_COMBINED].row != NULL);
    if (!t || !s->run)
        return NULL;
    struct frame_view view = {.frame = f, .run = s->run};
    struct layout_source source = frame_view_source(&view);
    if (translation_put(t, &source, f->last) < 0)
        s->text.failed = true;
    return t;
}

/* ---- CSV ------------------------------------------------------------------------------------- */

static void add_separator(struct sink *s, const struct layout_table *table, size_t column)
{
    if (column)
        buf_puts(&s->text, table->separator ? table->separator : ",");
}

static void layout_sink_end_row(struct sink *s, const struct layout_table *table)
{
    buf_puts(&s->text, table->newline ? table->newline : "\n");
}

static void layout_sink_add_names(struct sink *s, const struct translation *t)
{
    const char *quote = t->table->quotes_text ? "\"" : "";
    for (size_t i = 0; i < t->table->count; i++) {
        add_separator(s, t->table, i);
        buf_puts(&s->text, quote);
        translation_name(&s->text, t, i);
        buf_puts(&s->text, quote);
    }
    layout_sink_end_row(s, t->table);
}

static void add_csv_cell(struct sink *s, const struct translation *t, size_t row, size_t column)
{
    const struct layout_cell *cell = translation_cell(t, row, column);
    bool is_number = !cell->text && layout_cell_is_known(cell);
    bool has_quotes = !is_number && t->table->quotes_text;
    add_separator(s, t->table, column);
    buf_puts(&s->text, has_quotes ? "\"" : "");
    if (layout_cell_is_known(cell))
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
        layout_sink_end_row(s, t->table);
    }
}

/* What does not change while the run goes, as it is at the first sample. */
static void add_preface(struct sink *s, const struct layout_table *table, const struct frame *f)
{
    struct translation t;
    struct frame_view view = {.frame = f, .run = s->run};
    struct layout_source source = frame_view_source(&view);
    if (translation_open(&t, s->layout, table) < 0) {
        s->text.failed = true;
        return;
    }
    if (translation_put(&t, &source, true) < 0)
        s->text.failed = true;
    layout_sink_add_names(s, &t);
    add_rows(s, &t);
    translation_done(&t);
}

/* Of another run the columns are the same: one heading is for all. */
static void layout_sink_add_heading(struct sink *s, const struct translation *t)
{
    if (s->follows && !t->table->preface)
        return;
    if (t->table->heading)
        buf_puts(&s->text, t->table->heading);
    else if (!t->table->no_heading)
        layout_sink_add_names(s, t);
}

/* A file that may stay empty has it with the first row. */
static void layout_sink_csv_heading(struct sink *s, const struct frame *f)
{
    const struct translation *t = layout_sink_translation(s, f->target[PART_COMBINED].row != NULL);
    if (!t)
        return;
    if (t->table->preface && s->run)
        add_preface(s, t->table->preface, f);
    if (!s->may_stay_empty)
        layout_sink_add_heading(s, t);
}

static void layout_sink_csv_frame(struct sink *s, const struct frame *f)
{
    const struct translation *t = put_frame(s, f);
    if (t && t->ready && !s->chunks && s->may_stay_empty)
        layout_sink_add_heading(s, t);
    if (t)
        add_rows(s, t);
}

/* ---- JSON ------------------------------------------------------------------------------------ */

void layout_sink_json_cell(struct sink *s, struct json_out *j, const struct layout_column *c,
                           const struct layout_cell *cell)
{
    struct buf text = {0};
    if (cell->text) {
        json_string(j, cell->text);
    } else if (!layout_cell_is_known(cell)) {
        json_null(j);
    } else {
        cell_write(&text, c, cell);
        s->text.failed |= buf_failed(&text);
        json_raw(j, text.data ? text.data : "", text.length);
    }
    buf_done(&text);
}

static void layout_sink_add_key(struct sink *s, struct json_out *j, const struct translation *t,
                                size_t column)
{
    struct buf name = {0};
    translation_name(&name, t, column);
    s->text.failed |= buf_failed(&name);
    json_key(j, name.data ? name.data : "");
    buf_done(&name);
}

static void layout_sink_jsonl_frame(struct sink *s, const struct frame *f)
{
    const struct layout_table *table = layout_choice_table(s->layout, "jsonl", SUBJECT_ANY);
    if (table && table->is_log)
        return;
    const struct translation *t = put_frame(s, f);
    for (size_t row = 0; t && row < t->ready; row++) {
        struct json_out j;
        json_begin(&j, &s->text, 0);
        json_object(&j);
        for (size_t i = 0; i < t->table->count; i++) {
            layout_sink_add_key(s, &j, t, i);
            layout_sink_json_cell(s, &j, &t->table->columns[i], translation_cell(t, row, i));
        }
        json_object_end(&j);
        buf_putc(&s->text, '\n');
    }
}

/* ---- The kinds ------------------------------------------------------------------------------- */

static const struct sink_kind kinds[] = {
    {.format = {"csv", ".csv", "", "FILE"},
     .heading = layout_sink_csv_heading,
     .frame = layout_sink_csv_frame,
     .close = layout_close},
    {.format = {"jsonl", ".jsonl", "", "FILE"},
     .frame = layout_sink_jsonl_frame,
     .mark = layout_log_mark,
     .close = layout_close},
    {.format = {"json", ".json", "", "FILE"},
     .holds_one_run = true,
     .summary = layout_document_json,
     .close = layout_close},
    {.format = {"text", ".txt", "", "FILE"},
     .summary = layout_document_text,
     .close = layout_close},
};

int sink_choose_layout(const struct sink_kind *kind, const struct layout_choice *choice,
                       const struct sink_kind **ret, struct toll_error *e)
{
    int r = layout_choice_check_format(choice, kind->format.name, e);
    if (r == 0 && kind->has_layouts) {
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

/* ==== Layout log ============================================================================= */

/* A log of marks in a layout: a line of JSON for each phase that has ended, and each event. */

/* As JSON writes numbers: 3, -0.5, 1e-05; not 007, nor a number that is too large to be one. */
static bool layout_log_is_number(const char *text)
{
    struct json_in in = {0};
    struct json_number found;
    double number;
    json_in_begin(&in, text, strlen(text));
    return !strpbrk(text, " \t\r\n") && json_in_next(&in) == JSON_NUMBER &&
           json_in_number(&in, &found) && json_in_end(&in) && json_number_double(&found, &number);
}

/* Marks are text; who looks for numbers in the log finds them. */
static void add_attributes(struct json_out *j, struct scan attributes)
{
    char text[MARK_TEXT_BYTES];
    const char *value;
    while (mark_text_attribute(&attributes, text, sizeof text, &value)) {
        json_key(j, text);
        if (layout_log_is_number(value))
            json_raw(j, value, strlen(value));
        else
            json_string(j, value);
    }
}

static void layout_log_add_seconds(struct json_out *j, uint64_t ns)
{
    struct buf text = {0};
    python_float(&text, python_round((double)ns / 1e9, 3));
    json_key(j, "seconds");
    json_raw(j, text.data ? text.data : "null", text.data ? text.length : 4);
    buf_done(&text);
}

/* Behind the name there may be other words too: whose mark it is. */
static bool has_attributes(struct scan attributes)
{
    char text[MARK_TEXT_BYTES];
    const char *value;
    return mark_text_attribute(&attributes, text, sizeof text, &value);
}

static void layout_log_add_mark(struct json_out *j, const struct told_mark *m)
{
    if (m->phase) {
        uint64_t ns = left_u64(m->phase->end_ns, m->phase->begin_ns);
        json_put_string(j, "type", "phase");
        json_put_string(j, "name", m->name);
        layout_log_add_seconds(j, ns);
        add_attributes(j, m->attributes);
    } else if (m->kind == MARK_GAUGE) {
        json_put_string(j, "type", "gauge");
        json_put_string(j, "name", m->name);
        json_put_number(j, "value", m->value);
    } else {
        json_put_string(j, "type", "event");
        json_put_string(j, "event", m->name);
        if (has_attributes(m->attributes)) {
            json_key(j, "data");
            json_object(j);
            add_attributes(j, m->attributes);
            json_object_end(j);
        }
    }
}

/* A phase is written when it has ended; its beginning is no line of its own. */
void layout_log_mark(struct sink *s, const struct told_mark *m)
{
    const struct layout_table *table = layout_choice_table(s->layout, "jsonl", SUBJECT_ANY);
    if (!table || !table->is_log || !s->run || (m->kind == MARK_PHASE_BEGIN && !m->phase))
        return;
    struct buf time = {0};
    buf_utc(&time, s->run->start_real_ns + m->elapsed_ns);
    if (time.length)
        time.data[--time.length] = '\0'; /* +00:00 instead of Z */
    buf_puts(&time, "+00:00");
    s->text.failed |= buf_failed(&time);
    struct json_out j;
    json_begin(&j, &s->text, 0);
    j.spaced = true;
    json_object(&j);
    json_put_string(&j, table->columns[0].name, time.data ? time.data : "");
    layout_log_add_mark(&j, m);
    json_object_end(&j);
    buf_putc(&s->text, '\n');
    buf_done(&time);
}

/* ==== Layout document ======================================================================== */

/* A summary in a layout: one document, nested by the dots in the names of its columns. */

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
    struct translation *t = layout_sink_translation(s, summary->has_target);
    struct layout_source source = summary_view_source(summary);
    if (t && translation_put(t, &source, true) < 0)
        s->text.failed = true;
    return t;
}

static bool is_left_out(const struct layout_column *c, const struct layout_cell *cell)
{
    return (c->flags & OMIT_ZERO) && !cell->text && !(cell->number > 0);
}

void layout_document_json(struct sink *s, const struct summary *summary)
{
    const struct translation *t = put_summary(s, summary);
    struct json_out j;
    const char *before = "";
    json_begin(&j, &s->text, t ? t->table->indent : 0);
    json_object(&j);
    for (size_t i = 0; t && t->ready && i < t->table->count; i++) {
        const struct layout_column *c = &t->table->columns[i];
        const struct layout_cell *cell = translation_cell(t, 0, i);
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
        layout_sink_json_cell(s, &j, c, cell);
        before = c->name;
    }
    for (unsigned open = count_dots(before); open; open--)
        json_object_end(&j);
    json_object_end(&j);
    buf_putc(&s->text, '\n');
}

static void add_indent(struct sink *s, const struct layout_table *table, unsigned depth)
{
    for (unsigned i = 0; i < depth * table->indent; i++)
        buf_putc(&s->text, ' ');
}

void layout_document_text(struct sink *s, const struct summary *summary)
{
    const struct translation *t = put_summary(s, summary);
    const char *before = "";
    for (size_t i = 0; t && t->ready && i < t->table->count; i++) {
        const struct layout_column *c = &t->table->columns[i];
        const struct layout_cell *cell = translation_cell(t, 0, i);
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
        if (layout_cell_is_known(cell))
            cell_write(&s->text, c, cell);
        else
            buf_puts(&s->text, "unknown");
        buf_putc(&s->text, '\n');
        before = c->label;
    }
}
