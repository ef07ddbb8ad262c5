/* SPDX-License-Identifier: MIT */
#include "base/json_out.h"

#include "base/utf8.h"

#include <string.h>

void json_begin(struct json_out *j, struct buf *b, unsigned indent)
{
    *j = (struct json_out){.buf = b, .indent = indent, .empty = true};
}

static void new_line(struct json_out *j)
{
    if (!j->indent)
        return;
    buf_putc(j->buf, '\n');
    for (unsigned i = 0; i < j->depth * j->indent; i++)
        buf_putc(j->buf, ' ');
}

/* What stands in front of any value or key. */
static void lead(struct json_out *j)
{
    if (j->after_key) {
        j->after_key = false;
        return;
    }
    if (!j->empty)
        buf_puts(j->buf, j->spaced ? ", " : ",");
    if (j->depth)
        new_line(j);
    j->empty = false;
}

static void open_with(struct json_out *j, char bracket)
{
    lead(j);
    buf_putc(j->buf, bracket);
    j->depth++;
    j->empty = true;
}

static void close_with(struct json_out *j, char bracket)
{
    j->depth--;
    if (!j->empty)
        new_line(j);
    buf_putc(j->buf, bracket);
    j->empty = false;
}

void json_object(struct json_out *j)
{
    open_with(j, '{');
}

void json_object_end(struct json_out *j)
{
    close_with(j, '}');
}

void json_array(struct json_out *j)
{
    open_with(j, '[');
}

void json_array_end(struct json_out *j)
{
    close_with(j, ']');
}

static void escape(struct buf *b, unsigned char c)
{
    static const char names[] = "\"\\\b\f\n\r\t";
    static const char letters[] = "\"\\bfnrt";
    const char *known = c ? strchr(names, c) : NULL;
    if (known) {
        buf_putc(b, '\\');
        buf_putc(b, letters[known - names]);
    } else {
        buf_printf(b, "\\u%04x", c);
    }
}

static bool is_plain(unsigned char c)
{
    return c >= 0x20 && c < 0x7F && c != '"' && c != '\\';
}

void json_string_n(struct json_out *j, const char *text, size_t length)
{
    lead(j);
    buf_putc(j->buf, '"');
    const unsigned char *at = (const unsigned char *)text;
    const unsigned char *end = at + length;
    while (at < end) {
        size_t taken = 0;
        while (at + taken < end && is_plain(at[taken]))
            taken++;
        uint32_t point = 0;
        if (!taken && *at >= 0x80)
            taken = utf8_decode(at, (size_t)(end - at), &point);
        if (point && utf8_is_control(point)) { /* the same text, harmless on a terminal */
            buf_printf(j->buf, "\\u%04x", (unsigned)point);
            at += taken;
        } else if (taken) {
            buf_add(j->buf, (const char *)at, taken);
            at += taken;
        } else {
            escape(j->buf, *at++);
        }
    }
    buf_putc(j->buf, '"');
}

void json_string(struct json_out *j, const char *text)
{
    json_string_n(j, text, strlen(text));
}

void json_key(struct json_out *j, const char *key)
{
    json_string(j, key);
    buf_puts(j->buf, j->indent || j->spaced ? ": " : ":");
    j->after_key = true;
}

void json_u64(struct json_out *j, uint64_t value)
{
    lead(j);
    buf_u64(j->buf, value);
}

void json_i64(struct json_out *j, int64_t value)
{
    lead(j);
    if (value < 0)
        buf_putc(j->buf, '-');
    buf_u64(j->buf, value < 0 ? 0 - (uint64_t)value : (uint64_t)value);
}

void json_bool(struct json_out *j, bool value)
{
    lead(j);
    buf_puts(j->buf, value ? "true" : "false");
}

void json_null(struct json_out *j)
{
    lead(j);
    buf_puts(j->buf, "null");
}

void json_double(struct json_out *j, double value, unsigned decimals)
{
    lead(j);
    buf_double(j->buf, value, decimals);
}

void json_number(struct json_out *j, double value)
{
    lead(j);
    buf_number(j->buf, value);
}

void json_seconds(struct json_out *j, uint64_t ns)
{
    lead(j);
    buf_seconds(j->buf, ns);
}

void json_utc(struct json_out *j, uint64_t real_ns)
{
    lead(j);
    buf_putc(j->buf, '"');
    buf_utc(j->buf, real_ns);
    buf_putc(j->buf, '"');
}

void json_raw(struct json_out *j, const char *text, size_t length)
{
    lead(j);
    buf_add(j->buf, text, length);
}

void json_put_string(struct json_out *j, const char *key, const char *text)
{
    json_key(j, key);
    json_string(j, text);
}

void json_put_u64(struct json_out *j, const char *key, uint64_t value)
{
    json_key(j, key);
    json_u64(j, value);
}

void json_put_i64(struct json_out *j, const char *key, int64_t value)
{
    json_key(j, key);
    json_i64(j, value);
}

void json_put_bool(struct json_out *j, const char *key, bool value)
{
    json_key(j, key);
    json_bool(j, value);
}

void json_put_double(struct json_out *j, const char *key, double value, unsigned decimals)
{
    json_key(j, key);
    json_double(j, value, decimals);
}

void json_put_number(struct json_out *j, const char *key, double value)
{
    json_key(j, key);
    json_number(j, value);
}

void json_put_seconds(struct json_out *j, const char *key, uint64_t ns)
{
    json_key(j, key);
    json_seconds(j, ns);
}

void json_put_utc(struct json_out *j, const char *key, uint64_t real_ns)
{
    json_key(j, key);
    json_utc(j, real_ns);
}
