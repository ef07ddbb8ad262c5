/* SPDX-License-Identifier: MIT */
#include "sink/text_words.h"

#include "base/utf8.h"

#include <string.h>

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

static bool needs_quotes(const char *word)
{
    return !*word || strpbrk(word, " \t\n\"'\\$`*?[]{}()<>|&;!#~");
}

void text_foreign(struct sink *s, const char *text)
{
    buf_printable(&s->text, text, strlen(text));
}

/* In single quotes, where a quote is written '\''. */
static void add_quoted(struct sink *s, const char *text)
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
        if (needs_quotes(*arg))
            add_quoted(s, *arg);
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
