/* SPDX-License-Identifier: MIT
 * A log of marks in a dialect: a line of JSON for each phase that has ended, and each event. */
#include "base/json_in.h"
#include "dialect/python_number.h"
#include "sink/dialect_sink.h"

#include <string.h>

/* As JSON writes numbers: 3, -0.5, 1e-05; not 007, nor a number that is too large to be one. */
static bool is_number(const char *text)
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
        if (is_number(value))
            json_raw(j, value, strlen(value));
        else
            json_string(j, value);
    }
}

static void add_seconds(struct json_out *j, uint64_t ns)
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

static void add_mark(struct json_out *j, const struct told_mark *m)
{
    if (m->phase) {
        uint64_t ns = left_u64(m->phase->end_ns, m->phase->begin_ns);
        json_put_string(j, "type", "phase");
        json_put_string(j, "name", m->name);
        add_seconds(j, ns);
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
void dialect_log_mark(struct sink *s, const struct told_mark *m)
{
    const struct dialect_table *table = dialect_choice_table(s->dialect, "jsonl", SUBJECT_ANY);
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
    add_mark(&j, m);
    json_object_end(&j);
    buf_putc(&s->text, '\n');
    buf_done(&time);
}
