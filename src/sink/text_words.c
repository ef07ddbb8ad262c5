/* SPDX-License-Identifier: MIT */
#include "sink/text_words.h"

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
        if (at > indent && at + 1 + word > TEXT_LINE) {
            buf_putc(&s->text, '\n');
            size_t start = s->text.length;
            buf_pad(&s->text, start, (unsigned)indent);
            at = indent;
        } else if (at > indent) {
            buf_putc(&s->text, ' ');
            at++;
        }
        for (const char *c = text; c < text + word; c++)
            buf_putc(&s->text, *c == UNBROKEN ? ' ' : *c);
        at += word;
        text += word;
        text += strspn(text, " ");
    }
    buf_putc(&s->text, '\n');
}

static bool needs_quotes(const char *word)
{
    return !*word || strpbrk(word, " \t\n\"'\\$`*?[]{}()<>|&;!#~");
}

/* Without control characters, and those of the second set (U+0080 to U+009F). */
static void add_foreign(struct sink *s, const char *text, const char *for_quote)
{
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;
        bool second_set = c == 0xC2 && ((unsigned char)text[1] & 0xE0) == 0x80;
        if (c == '\'' && *for_quote)
            buf_puts(&s->text, for_quote);
        else
            buf_putc(&s->text, c < 0x20 || c == 0x7F || second_set ? '?' : *text);
        text += second_set;
    }
}

void text_foreign(struct sink *s, const char *text)
{
    add_foreign(s, text, "");
}

void text_command(struct sink *s, char *const *command)
{
    enum { LONGEST = 300 };
    size_t start = s->text.length;
    for (char *const *arg = command; arg && *arg && s->text.length - start < LONGEST; arg++) {
        const char *quote = needs_quotes(*arg) ? "'" : "";
        buf_puts(&s->text, arg == command ? "" : " ");
        buf_puts(&s->text, quote);
        add_foreign(s, *arg, "'\\''");
        buf_puts(&s->text, quote);
    }
    if (s->text.length - start > LONGEST && !buf_failed(&s->text)) {
        s->text.length = start + LONGEST;
        while ((s->text.data[s->text.length] & 0xC0) == 0x80)
            s->text.length--; /* not in the middle of a letter */
        buf_puts(&s->text, "…");
    }
}
