/* SPDX-License-Identifier: MIT
 * Formats in a layout: the same files with another tool's columns. */
#include "layout/layout.h"
#include "base/err.h"
#include "base/text/json.h"
#include "layout/gpu_tracker/gpu_tracker.h"
#include "layout/translation.h"
#include "sink/sink.h"

#include <math.h>
#include <string.h>

/* ==== Sub-tracking file ======================================================================= */

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

/* A call without an end has no second row. */
static void sub_tracking_mark(struct sink *s, const struct run_mark *m)
{
    unsigned rows = !m->phase || !s->run ? 0 : m->phase->not_ended ? 1 : 2;
    for (unsigned i = 0; i < rows; i++) {
        uint64_t at_ns = i ? m->phase->end_ns : m->phase->begin_ns;
        struct block_stamp stamp = {
            .pid = m->pid,
            .name = m->name,
            .is_stop = i,
            .time = (double)(s->run->start_real_ns + left_u64(at_ns, m->start_ns)) / 1e9,
        };
        block_log_row(&s->text, &stamp, newline);
    }
}

const struct sink_kind sink_sub_tracking = {
    .format = {"sub-tracking", ".sub-tracking.csv", "phases as code blocks of gpu-tracker", "FILE"},
    .begin = sub_tracking_begin,
    .mark = sub_tracking_mark,
};

/* ==== What all formats in a layout share ====================================================== */

static bool layout_cell_is_known(const struct layout_cell *cell)
{
    return cell->text || !isnan(cell->number);
}

static void layout_close(struct sink *s)
{
    if (s->state)
        translation_done(s->state);
    free(s->state);
    s->state = NULL;
}

/* The table for what is measured. NULL: the layout has none for it. */
static struct translation *layout_sink_translation(struct sink *s, bool has_target)
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

static struct translation *layout_sink_put_frame(struct sink *s, const struct frame *f)
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

/* ==== CSV ===================================================================================== */

/* The names of the columns, or a row of cells. */
static void layout_csv_add_row(struct sink *s, const struct translation *t, bool is_heading,
                               size_t row)
{
    const struct layout_table *table = t->table;
    for (size_t i = 0; i < table->count; i++) {
        const struct layout_cell *cell = is_heading ? NULL : translation_cell(t, row, i);
        bool is_number = cell && !cell->text && layout_cell_is_known(cell);
        const char *quote = !is_number && table->quotes_text ? "\"" : "";
        if (i)
            buf_puts(&s->text, table->separator ? table->separator : ",");
        buf_puts(&s->text, quote);
        if (!cell)
            translation_name(&s->text, t, i);
        else if (cell->text && !table->separator && !table->quotes_text)
            csv_record_write_name(&s->text, cell->text); /* it may have a comma */
        else if (layout_cell_is_known(cell))
            cell_write(&s->text, &table->columns[i], cell);
        else
            buf_puts(&s->text, table->unknown ? table->unknown : "");
        buf_puts(&s->text, quote);
    }
    buf_puts(&s->text, table->newline ? table->newline : "\n");
}

static void layout_csv_add_rows(struct sink *s, const struct translation *t)
{
    for (size_t row = 0; row < t->ready; row++)
        layout_csv_add_row(s, t, false, row);
}

/* A table of its own in front: what does not change during the run, as it is at the first sample.
 */
static void layout_csv_add_preface(struct sink *s, const struct layout_table *table,
                                   const struct frame *f)
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
    layout_csv_add_row(s, &t, true, 0);
    layout_csv_add_rows(s, &t);
    translation_done(&t);
}

/* Another run in the same file has the same columns and needs no second heading. */
static void layout_csv_add_heading(struct sink *s, const struct translation *t)
{
    if (s->follows && !t->table->preface)
        return;
    if (t->table->heading)
        buf_puts(&s->text, t->table->heading);
    else if (!t->table->no_heading)
        layout_csv_add_row(s, t, true, 0);
}

/* A file that may stay empty gets its heading with the first row. */
static void layout_csv_heading(struct sink *s, const struct frame *f)
{
    const struct translation *t = layout_sink_translation(s, f->target[PART_COMBINED].row != NULL);
    if (!t)
        return;
    if (t->table->preface && s->run)
        layout_csv_add_preface(s, t->table->preface, f);
    if (!s->may_stay_empty)
        layout_csv_add_heading(s, t);
}

static void layout_csv_frame(struct sink *s, const struct frame *f)
{
    const struct translation *t = layout_sink_put_frame(s, f);
    if (t && t->ready && !s->chunks && s->may_stay_empty)
        layout_csv_add_heading(s, t);
    if (t)
        layout_csv_add_rows(s, t);
}

/* ==== JSON lines ============================================================================== */

static void layout_json_add_cell(struct sink *s, struct json_out *j, const struct layout_column *c,
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

static void layout_jsonl_add_rows(struct sink *s, const struct translation *t)
{
    for (size_t row = 0; t && row < t->ready; row++) {
        struct json_out j;
        json_begin(&j, &s->text, 0);
        json_object(&j);
        for (size_t i = 0; i < t->table->count; i++) {
            struct buf name = {0};
            translation_name(&name, t, i);
            s->text.failed |= buf_failed(&name);
            json_key(&j, name.data ? name.data : "");
            buf_done(&name);
            if (!layout_cell_is_known(translation_cell(t, row, i)) && t->table->unknown)
                json_string(&j, t->table->unknown);
            else
                layout_json_add_cell(s, &j, &t->table->columns[i], translation_cell(t, row, i));
        }
        json_object_end(&j);
        buf_putc(&s->text, '\n');
    }
}

static void layout_jsonl_frame(struct sink *s, const struct frame *f)
{
    const struct layout_table *table = layout_choice_table(s->layout, "jsonl", SUBJECT_ANY);
    if (!table || !table->is_log)
        layout_jsonl_add_rows(s, layout_sink_put_frame(s, f));
}

/* As JSON writes numbers: 3, -0.5, 1e-05; not 007, nor a number that is too large to be one. */
static bool layout_log_is_number(const char *text)
{
    struct json_in in = {0};
    struct decimal found;
    double number;
    json_in_begin(&in, text, strlen(text));
    return !strpbrk(text, " \t\r\n") && json_in_next(&in) == JSON_NUMBER &&
           json_in_number(&in, &found) && json_in_end(&in) && decimal_double(&found, &number);
}

/* Marks are text: what looks like a number is written as one. */
static void layout_log_add_attributes(struct json_out *j, struct scan attributes)
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

static void layout_log_add_mark(struct json_out *j, const struct run_mark *m)
{
    if (m->phase) {
        uint64_t ns = left_u64(m->phase->end_ns, m->phase->begin_ns);
        struct buf seconds = {0};
        python_float(&seconds, python_round((double)ns / 1e9, 3));
        json_put_string(j, "type", "phase");
        json_put_string(j, "name", m->name);
        json_key(j, "seconds");
        json_raw(j, seconds.data ? seconds.data : "null", seconds.data ? seconds.length : 4);
        buf_done(&seconds);
        layout_log_add_attributes(j, m->attributes);
    } else if (m->kind == MARK_GAUGE) {
        json_put_string(j, "type", "gauge");
        json_put_string(j, "name", m->name);
        json_put_number(j, "value", m->value);
    } else {
        char text[MARK_TEXT_BYTES];
        const char *value;
        struct scan attributes = m->attributes; /* may have other words, and no attribute */
        json_put_string(j, "type", "event");
        json_put_string(j, "event", m->name);
        if (mark_text_attribute(&attributes, text, sizeof text, &value)) {
            json_put_object(j, "data");
            layout_log_add_attributes(j, m->attributes);
            json_object_end(j);
        }
    }
}

/* A table that is a log has a line of JSON for each event, and for each phase when it has ended. */
static void layout_log_mark(struct sink *s, const struct run_mark *m)
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

/* ==== Documents =============================================================================== */

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

static struct translation *layout_sink_put_summary(struct sink *s, const struct summary *summary)
{
    struct translation *t = layout_sink_translation(s, summary->has_target);
    struct layout_source source = summary_view_source(summary);
    if (t && translation_put(t, &source, true) < 0)
        s->text.failed = true;
    return t;
}

static void layout_document_json(struct sink *s, const struct summary *summary)
{
    const struct translation *t = layout_sink_put_summary(s, summary);
    struct json_out j;
    const char *before = "";
    json_begin(&j, &s->text, t ? t->table->indent : 0);
    json_object(&j);
    for (size_t i = 0; t && t->ready && i < t->table->count; i++) {
        const struct layout_column *c = &t->table->columns[i];
        const struct layout_cell *cell = translation_cell(t, 0, i);
        if ((c->flags & OMIT_ZERO) && !cell->text && !(cell->number > 0))
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
        layout_json_add_cell(s, &j, c, cell);
        before = c->name;
    }
    for (unsigned open = count_dots(before); open; open--)
        json_object_end(&j);
    json_object_end(&j);
    buf_putc(&s->text, '\n');
}

static void layout_document_indent(struct sink *s, const struct layout_table *table, unsigned depth)
{
    for (unsigned i = 0; i < depth * table->indent; i++)
        buf_putc(&s->text, ' ');
}

static void layout_document_text(struct sink *s, const struct summary *summary)
{
    const struct translation *t = layout_sink_put_summary(s, summary);
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
            layout_document_indent(s, t->table, depth);
            buf_printf(&s->text, "%.*s:\n", (int)(dot - at), at);
        }
        layout_document_indent(s, t->table, depth);
        buf_printf(&s->text, "%s: ", at);
        if (layout_cell_is_known(cell))
            cell_write(&s->text, c, cell);
        else
            buf_puts(&s->text, "unknown");
        buf_putc(&s->text, '\n');
        before = c->label;
    }
}

/* ==== At the end ============================================================================== */

/* A table that is written once: rows of a csv, lines of a text, a list, or a template. */

static void layout_end_csv(struct sink *s, const struct summary *summary)
{
    const struct translation *t = layout_sink_put_summary(s, summary);
    if (!t || !t->ready)
        return;
    layout_csv_add_heading(s, t);
    layout_csv_add_rows(s, t);
}

static void layout_end_lines(struct sink *s, const struct translation *t)
{
    for (size_t i = 0; i < t->table->count; i++) {
        const struct layout_column *c = &t->table->columns[i];
        const struct layout_cell *cell = translation_cell(t, 0, i);
        if (!layout_cell_is_known(cell) && t->table->omits_unknown)
            continue;
        buf_printf(&s->text, "%s%s", c->name, t->table->separator);
        if (layout_cell_is_known(cell))
            cell_write(&s->text, c, cell);
        buf_putc(&s->text, '\n');
    }
}

/* "%e %MKB\n": %X is the column X, backslashes as in GNU time. What is not known is "?", and so is
 * what is no column. A percent sign at the end is "?" and no newline, as there; after a backslash
 * at the end GNU time prints what happens to be in memory. */
static void layout_end_template(struct sink *s, const struct translation *t, const char *text)
{
    for (; *text; text++) {
        size_t i = 0;
        if (*text == '\\') {
            static const char marks[] = "nt\\", meanings[] = "\n\t\\";
            const char *mark = text[1] ? strchr(marks, text[1]) : NULL;
            buf_puts(&s->text, mark ? "" : "?\\");
            if (mark)
                buf_putc(&s->text, meanings[mark - marks]);
            else if (text[1])
                buf_putc(&s->text, text[1]);
            text += text[1] != '\0';
            continue;
        }
        if (*text != '%' || text[1] == '%') {
            text += *text == '%';
            buf_putc(&s->text, *text);
            continue;
        }
        if (!*++text) {
            buf_putc(&s->text, '?');
            return;
        }
        while (i < t->table->count && t->table->columns[i].name[0] != *text)
            i++;
        if (i == t->table->count)
            buf_printf(&s->text, "?%c", *text);
        else if (layout_cell_is_known(translation_cell(t, 0, i)))
            cell_write(&s->text, &t->table->columns[i], translation_cell(t, 0, i));
        else
            buf_putc(&s->text, '?');
        if (i < t->table->count && t->table->columns[i].unit)
            buf_puts(&s->text, t->table->columns[i].unit);
    }
    buf_putc(&s->text, '\n');
}

static void layout_end_text(struct sink *s, const struct summary *summary)
{
    const struct translation *t = layout_sink_translation(s, summary->has_target);
    if (!t)
        return;
    if (!t->table->separator && !t->table->template) {
        layout_document_text(s, summary);
        return;
    }
    t = layout_sink_put_summary(s, summary);
    if (!t || !t->ready)
        return;
    buf_puts(&s->text, t->table->heading ? t->table->heading : "");
    if (t->table->template)
        layout_end_template(s, t, layout_choice_value(s->layout, t->table->template));
    else
        layout_end_lines(s, t);
}

static void layout_end_json(struct sink *s, const struct summary *summary)
{
    const struct translation *t = layout_sink_translation(s, summary->has_target);
    if (!t || !t->table->is_list) {
        layout_document_json(s, summary);
        return;
    }
    t = layout_sink_put_summary(s, summary);
    struct json_out j;
    json_begin(&j, &s->text, t ? t->table->indent : 0);
    json_array(&j);
    for (size_t i = 0; t && t->ready && i < t->table->count; i++) {
        const struct layout_column *c = &t->table->columns[i];
        const struct layout_cell *cell = translation_cell(t, 0, i);
        struct buf name = {0};
        if (!layout_cell_is_known(cell) && t->table->omits_unknown)
            continue;
        if (s->run && s->run->name)
            buf_printf(&name, "%s: ", s->run->name);
        buf_puts(&name, c->name);
        s->text.failed |= buf_failed(&name);
        json_object(&j);
        json_put_string(&j, "name", name.data ? name.data : c->name);
        json_put_string(&j, "unit", c->unit ? c->unit : "");
        json_key(&j, "value");
        layout_json_add_cell(s, &j, c, cell);
        json_object_end(&j);
        buf_done(&name);
    }
    json_array_end(&j);
    buf_putc(&s->text, '\n');
}

/* A line of JSON, as one of a record of benchmarks. */
static void layout_end_jsonl(struct sink *s, const struct summary *summary)
{
    layout_jsonl_add_rows(s, layout_sink_put_summary(s, summary));
}

/* ==== The formats ============================================================================= */

static const struct sink_kind layout_kinds[] = {
    {.format = {"csv", ".csv", "", "FILE"},
     .heading = layout_csv_heading,
     .frame = layout_csv_frame,
     .close = layout_close},
    {.format = {"jsonl", ".jsonl", "", "FILE"},
     .frame = layout_jsonl_frame,
     .mark = layout_log_mark,
     .close = layout_close},
    {.format = {"json", ".json", "", "FILE"},
     .holds_one_run = true,
     .summary = layout_end_json,
     .close = layout_close},
    {.format = {"text", ".txt", "", "FILE"}, .summary = layout_end_text, .close = layout_close},
    {.format = {"text", ".txt", "", "FILE"},
     .heading = layout_csv_heading,
     .frame = layout_csv_frame,
     .close = layout_close},
    {.format = {"csv", ".csv", "", "FILE"}, .summary = layout_end_csv, .close = layout_close},
    {.format = {"jsonl", ".jsonl", "", "FILE"}, .summary = layout_end_jsonl, .close = layout_close},
};

int sink_choose_layout(const struct sink_kind *kind, const struct layout_choice *choice,
                       const struct sink_kind **ret, struct toll_error *e)
{
    int r = layout_choice_check_format(choice, kind->format.name, e);
    if (r == 0 && kind->has_layouts) {
        *ret = kind;
        return 0;
    }
    bool is_sampled = r == 0 && layout_table_is_sampled(
                                    layout_choice_table(choice, kind->format.name, SUBJECT_ANY));
    for (size_t i = 0; r == 0 && i < ARRAY_LEN(layout_kinds); i++)
        if (strcmp(layout_kinds[i].format.name, kind->format.name) == 0 &&
            is_sampled == (layout_kinds[i].frame != NULL)) {
            *ret = &layout_kinds[i];
            return 0;
        }
    return r < 0 ? r
                 : err_set(e, -EINVAL, "format '%s' does not support layouts", kind->format.name);
}
