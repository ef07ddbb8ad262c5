/* SPDX-License-Identifier: MIT
 * toll completion: scripts for shells, made from the tables. */
#include "cli/completion.h"

#include <ctype.h>
#include <string.h>

enum completion_value completion_value(const struct option *o)
{
    if (!o->value)
        return VALUE_NONE;
    if (o->choices)
        return VALUE_CHOICE;
    if (strstr(o->value, "GLOB"))
        return VALUE_METRICS;
    if (strcmp(o->value, "FORMAT") == 0)
        return VALUE_FORMAT;
    if (strcmp(o->name, "dialect") == 0)
        return VALUE_DIALECT;
    if (strcmp(o->value, "PATH") == 0)
        return VALUE_DIRECTORY;
    if (strstr(o->value, "UID"))
        return VALUE_USER;
    return strstr(o->value, "FILE") ? VALUE_FILE : VALUE_OTHER;
}

enum completion_arguments completion_arguments(const struct subcommand *s)
{
    if (!strstr(s->arguments, "[options]"))
        return ARGUMENTS_WORDS;
    if (strstr(s->arguments, " COMMAND"))
        return ARGUMENTS_COMMAND;
    if (strstr(s->arguments, "PID"))
        return ARGUMENTS_PIDS;
    return strcmp(s->arguments, "[options]") == 0 ? ARGUMENTS_NONE : ARGUMENTS_FILE;
}

void completion_add_subcommands(struct buf *b, const char *between)
{
    bool first = true;
    for (const struct subcommand *s = subcommands; s->name; s++) {
        if (s->hidden)
            continue;
        buf_printf(b, "%s%s", first ? "" : between, s->name);
        first = false;
    }
}

/* Of a synopsis such as "[--json | --markdown]": what is written as it stands. */
void completion_add_words(struct buf *b, const struct subcommand *s, const char *between)
{
    static const char marks[] = " []|";
    bool first = true;
    size_t length;
    for (const char *word = s->arguments; *(word += strspn(word, marks)); word += length) {
        length = strcspn(word, marks);
        bool subcommand = strncmp(word, "SUBCOMMAND", length) == 0;
        bool format = strncmp(word, "FORMAT", length) == 0;
        bool dialect = strncmp(word, "NAME", length) == 0 && strcmp(s->name, "dialects") == 0;
        if (!subcommand && !format && !dialect && isupper((unsigned char)*word))
            continue;
        buf_puts(b, first ? "" : between);
        first = false;
        if (subcommand)
            completion_add_subcommands(b, between);
        else if (format)
            completion_add_formats(b, between);
        else if (dialect)
            completion_add_dialects(b, between);
        else
            buf_add(b, word, length);
    }
}

bool completion_then(const struct subcommand *s, char *ret_word, size_t capacity,
                     const char **ret_next)
{
    size_t length = s->then ? strcspn(s->then, " ") : 0;
    if (!length || length >= capacity || !s->then[length])
        return false;
    memcpy(ret_word, s->then, length);
    ret_word[length] = '\0';
    *ret_next = s->then + length + 1;
    return true;
}

void completion_add_formats(struct buf *b, const char *between)
{
    const struct toll_format *f;
    for (size_t i = 0; (f = toll_format_at(i)); i++)
        buf_printf(b, "%s%s", i ? between : "", f->name);
}

void completion_add_dialects(struct buf *b, const char *between)
{
    const struct toll_dialect *d;
    for (size_t i = 0; (d = toll_dialect_at(i)); i++)
        buf_printf(b, "%s%s", i ? between : "", d->name);
}

void completion_add_long(struct buf *b, unsigned modes, bool with_value, const char *between)
{
    bool first = true;
    for (const struct option *o = options; o->name; o++) {
        if (!(o->modes & modes) || (o->value != NULL) != with_value)
            continue;
        buf_printf(b, "%s%s", first ? "" : between, o->name);
        first = false;
    }
}

void completion_add_letters(struct buf *b, unsigned modes, bool with_value)
{
    for (const struct option *o = options; o->name; o++)
        if (o->letter && (o->modes & modes) && (o->value != NULL) == with_value)
            buf_putc(b, o->letter);
}

static bool named_before(size_t at)
{
    for (size_t i = 0; i < at; i++)
        if (strcmp(toll_metric_at(i)->name, toll_metric_at(at)->name) == 0)
            return true;
    return false;
}

const struct toll_metric *completion_next_metric(size_t *at)
{
    const struct toll_metric *m;
    while ((m = toll_metric_at((*at)++)))
        if (!named_before(*at - 1))
            return m;
    return NULL;
}

void completion_add_text(struct buf *b, const char *text, const char *quote, const char *special)
{
    for (; *text; text++) {
        if (strchr(special, *text))
            buf_putc(b, '\\');
        if (*text == '\'')
            buf_puts(b, quote);
        else
            buf_putc(b, *text);
    }
}

int completion_main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*add)(struct buf *b);
        void (*add_gpu_tracker)(struct buf *b);
    } shells[] = {
        {"bash", completion_bash, gpu_tracker_completion_bash},
        {"zsh", completion_zsh, gpu_tracker_completion_zsh},
        {"fish", completion_fish, gpu_tracker_completion_fish},
    };
    struct buf b = {0};
    bool is_ours = argc == 3 && strcmp(argv[2], "gpu-tracker") == 0;
    for (size_t i = 0; (argc == 2 || is_ours) && i < ARRAY_LEN(shells); i++)
        if (strcmp(argv[1], shells[i].name) == 0) {
            (is_ours ? shells[i].add_gpu_tracker : shells[i].add)(&b);
            return print(&b);
        }
    return complain("toll completion takes bash, zsh or fish, and the command: gpu-tracker, or "
                    "nothing for toll");
}
