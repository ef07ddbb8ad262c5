/* SPDX-License-Identifier: MIT */
#include "sink/words.h"

#include "base/text/buf.h"

#include <string.h>

/* ==== Human =================================================================================== */

/* As many decimals as make three digits. */
static void human_three_digits(struct buf *b, double value)
{
    buf_double_fixed(b, value, value < 9.995 ? 2 : value < 99.95 ? 1 : 0);
}

/* 12.3 kJ, 2.40 GHz: by thousands. */
static void human_scaled(struct buf *b, double number, const char *unit)
{
    static const char *const prefixes[] = {"", "k", "M", "G", "T"};
    unsigned prefix = 0;
    while (number >= 999.5 && prefix + 1 < ARRAY_LEN(prefixes)) {
        number /= 1000;
        prefix++;
    }
    human_three_digits(b, number);
    buf_printf(b, " %s%s", prefixes[prefix], unit);
}

void human_seconds(struct buf *b, double seconds)
{
    if (seconds >= 86399.5) {
        uint64_t hours = (uint64_t)(seconds / 3600 + 0.5);
        buf_printf(b, "%llud %02lluh", (unsigned long long)(hours / 24),
                   (unsigned long long)(hours % 24));
    } else if (seconds >= 3599.5) {
        uint64_t minutes = (uint64_t)(seconds / 60 + 0.5);
        buf_printf(b, "%lluh %02llum", (unsigned long long)(minutes / 60),
                   (unsigned long long)(minutes % 60));
    } else if (seconds >= 59.95) {
        uint64_t whole = (uint64_t)(seconds + 0.5);
        buf_printf(b, "%llum %02llus", (unsigned long long)(whole / 60),
                   (unsigned long long)(whole % 60));
    } else if (seconds >= 0.9995) {
        human_three_digits(b, seconds);
        buf_puts(b, " s");
    } else if (seconds >= 0.0009995) {
        human_three_digits(b, seconds * 1e3);
        buf_puts(b, " ms");
    } else if (seconds > 0) {
        human_three_digits(b, seconds * 1e6);
        buf_puts(b, " µs");
    } else {
        buf_puts(b, "0 s");
    }
}

void human_count(struct buf *b, double count)
{
    uint64_t whole = (uint64_t)(count + 0.5);
    char digits[32];
    char *at = digits + sizeof digits;
    unsigned n = 0;
    do {
        if (n && n % 3 == 0)
            *--at = ',';
        *--at = (char)('0' + whole % 10);
        n++;
    } while (whole /= 10);
    buf_add(b, at, (size_t)(digits + sizeof digits - at));
}

void human_number(struct buf *b, const struct metric *m, double number)
{
    switch (m->unit) {
    case UNIT_seconds: human_seconds(b, number); break;
    case UNIT_bytes: buf_bytes(b, number); break;
    case UNIT_count:
        if (m->kind == METRIC_GAUGE && number != (double)(uint64_t)number && number < 1000)
            human_three_digits(b, number);
        else
            human_count(b, number);
        break;
    case UNIT_cores:
    case UNIT_number: buf_double_fixed(b, number, 2); break;
    case UNIT_joules: human_scaled(b, number, "J"); break;
    case UNIT_watts: human_scaled(b, number, "W"); break;
    case UNIT_hertz: human_scaled(b, number, "Hz"); break;
    case UNIT_celsius:
        buf_double_fixed(b, number, 1);
        buf_puts(b, " °C");
        break;
    case UNIT_ratio:
        human_three_digits(b, number * 100);
        buf_puts(b, " %");
        break;
    }
}

void human_short(struct buf *b, const struct metric *m, double number)
{
    static const char letters[] = "kMGTPE";
    bool bytes = m->unit == UNIT_bytes;
    double step = bytes ? 1024 : 1000;
    if (m->unit == UNIT_ratio)
        number *= 100;
    if (number < (bytes ? 1023.5 : 999.5)) {
        bool whole = bytes || m->unit == UNIT_count;
        buf_double_fixed(b, number, whole ? 0 : number < 99.95 ? 2 : 1);
        buf_puts(b, m->unit == UNIT_ratio ? "%" : "");
        return;
    }
    unsigned letter = 0;
    for (number /= step; number >= step - 0.5 && letters[letter + 1]; letter++)
        number /= step;
    buf_double_fixed(b, number, number < 9.95 ? 1 : 0);
    buf_putc(b, letters[letter]);
}

void human_rate(struct buf *b, const struct metric *m, double number)
{
    if (m->unit == UNIT_seconds)
        return;
    if (m->unit == UNIT_count && number < 1000)
        human_three_digits(b, number);
    else
        human_number(b, m, number);
    buf_puts(b, "/s");
}

/* ==== Text words ============================================================================== */

void text_style(struct sink *s, const char *sequence)
{
    if (s->flags & TOLL_OUTPUT_COLOR)
        buf_puts(&s->text, sequence);
}

void text_paragraph(struct sink *s, const char *lead, const char *text)
{
    size_t at = strlen(lead);
    size_t indent = at;
    buf_puts(&s->text, lead);
    while (*text) {
        size_t word = strcspn(text, " ");
        size_t columns = utf8_columns(text, word);
        if (at > indent && at + 1 + columns > TEXT_LINE) {
            buf_putc(&s->text, '\n');
            size_t start = s->text.length;
            buf_pad(&s->text, start, (unsigned)indent);
            at = indent;
        } else if (at > indent) {
            buf_putc(&s->text, ' ');
            at++;
        }
        for (const char *end = text + word; text < end;) {
            const char *blank = memchr(text, UNBROKEN, (size_t)(end - text));
            size_t plain = (size_t)((blank ? blank : end) - text);
            buf_printable(&s->text, text, plain);
            text += plain;
            if (blank) {
                buf_putc(&s->text, ' ');
                text++;
            }
        }
        at += columns;
        text += strspn(text, " ");
    }
    buf_putc(&s->text, '\n');
}

void text_paragraph_done(struct sink *s, const char *lead, struct buf *b)
{
    if (b->length && !buf_failed(b))
        text_paragraph(s, lead, b->data);
    buf_done(b);
}

void text_foreign(struct sink *s, const char *text)
{
    buf_printable(&s->text, text, strlen(text));
}

void text_name_column(struct sink *s, const char *name, unsigned width)
{
    size_t start = s->text.length;
    text_foreign(s, name);
    if (utf8_columns(s->text.data + start, s->text.length - start) >= width)
        buf_putc(&s->text, '\n'), start = s->text.length;
    buf_pad(&s->text, start, width);
}

/* In single quotes, where a quote is written '\''. */
static void text_quoted(struct sink *s, const char *text)
{
    buf_putc(&s->text, '\'');
    while (*text) {
        size_t plain = strcspn(text, "'");
        buf_printable(&s->text, text, plain);
        text += plain;
        if (*text == '\'') {
            buf_puts(&s->text, "'\\''");
            text++;
        }
    }
    buf_putc(&s->text, '\'');
}

void text_command(struct sink *s, char *const *command)
{
    enum { LONGEST = 300 };
    size_t start = s->text.length;
    for (char *const *arg = command; arg && *arg && s->text.length - start < LONGEST; arg++) {
        buf_puts(&s->text, arg == command ? "" : " ");
        if (!**arg || strpbrk(*arg, " \t\n\"'\\$`*?[]{}()<>|&;!#~"))
            text_quoted(s, *arg);
        else
            text_foreign(s, *arg);
    }
    if (s->text.length - start > LONGEST && !buf_failed(&s->text)) {
        s->text.length = start + LONGEST;
        while ((s->text.data[s->text.length] & 0xC0) == 0x80)
            s->text.length--; /* not in the middle of a letter */
        buf_puts(&s->text, "…");
    }
}
