/* SPDX-License-Identifier: MIT
 * What programs are told of dialects. */
#include "dialect/dialect.h"

#include "base/util.h"

#include <pthread.h>
#include <string.h>

const struct toll_dialect *toll_dialect_at(size_t i)
{
    for (size_t k = 0; dialects[k]; k++)
        if (k == i)
            return &dialects[k]->facts;
    return NULL;
}

static const struct dialect *find(const char *name)
{
    for (size_t i = 0; name && dialects[i]; i++)
        if (strcmp(dialects[i]->facts.name, name) == 0)
            return dialects[i];
    return NULL;
}

/* ---- As the world outside has them ----------------------------------------------------------- */

/* Made of the tables once, and kept: they are handed out as pointers that live as long as the
 * program. */
enum { DIALECTS_AT_MOST = 16, OPTIONS_AT_MOST = 64, COLUMNS_AT_MOST = 512, WORDS_BYTES = 2048 };

static struct {
    struct toll_dialect_option options[OPTIONS_AT_MOST];
    struct toll_dialect_column columns[COLUMNS_AT_MOST];
    struct {
        size_t option, column;
    } first[DIALECTS_AT_MOST + 1];
    char words[WORDS_BYTES];
} shown;

static pthread_once_t shown_once = PTHREAD_ONCE_INIT;

static const char *or_empty(const char *text)
{
    return text ? text : "";
}

/* The words of an option with blanks between. */
static const char *accepted(const struct dialect_option *o, size_t *at)
{
    if (!o->words)
        return o->is_number ? "NUMBER" : "TEXT";
    char *start = &shown.words[*at];
    for (const struct dialect_word *w = o->words; w->word; w++) {
        size_t length = strlen(w->word);
        if (*at + length + 2 > WORDS_BYTES)
            break;
        if (w != o->words)
            shown.words[(*at)++] = ' ';
        memcpy(&shown.words[*at], w->word, length);
        *at += length;
    }
    shown.words[(*at)++] = '\0';
    return start;
}

static struct toll_dialect_column show_column(const struct dialect_table *t,
                                              const struct dialect_column *c)
{
    static const char *const takes[] = {"value", "delta", "rate", "total", "max", "mean", "share"};
    static const char *const types[] = {"integer", "float", "text"};
    static const char *const subjects[] = {"", "target", "machine"};
    return (struct toll_dialect_column){
        .format = t->format,
        .columns = or_empty(t->variant),
        .subject = subjects[t->subject],
        .file = or_empty(t->file),
        .name = c->name,
        .label = or_empty(c->label),
        .terms = c->terms,
        .take = takes[c->take],
        .type = types[c->type],
        .factor = c->factor != 0 ? c->factor : 1,
        .decimals = c->decimals ? c->decimals : t->decimals,
        .optional = c->flags & OMIT_ZERO,
        .scale = or_empty(c->scale),
        .per = or_empty(c->per),
    };
}

static void show_all(void)
{
    size_t option = 0, column = 0, words = 0, d = 0;
    for (; dialects[d] && d < DIALECTS_AT_MOST; d++) {
        const struct dialect *from = dialects[d];
        shown.first[d].option = option;
        shown.first[d].column = column;
        for (size_t i = 0; i < from->option_count && option < OPTIONS_AT_MOST; i++)
            shown.options[option++] = (struct toll_dialect_option){
                .name = from->options[i].name,
                .value = or_empty(from->options[i].value),
                .accepted = accepted(&from->options[i], &words),
                .help = from->options[i].help,
            };
        for (size_t i = 0; i < from->table_count; i++)
            for (size_t k = 0; k < from->tables[i].count && column < COLUMNS_AT_MOST; k++)
                shown.columns[column++] = show_column(&from->tables[i],
                                                      &from->tables[i].columns[k]);
    }
    shown.first[d].option = option;
    shown.first[d].column = column;
}

/* The number of a dialect in the list, or -1. */
static int number_of(const char *name)
{
    const struct dialect *d = find(name);
    for (int i = 0; d && i < DIALECTS_AT_MOST; i++)
        if (dialects[i] == d) {
            pthread_once(&shown_once, show_all);
            return i;
        }
    return -1;
}

const struct toll_dialect_option *toll_dialect_option_at(const char *dialect, size_t i)
{
    int d = number_of(dialect);
    return d >= 0 && i < shown.first[d + 1].option - shown.first[d].option
               ? &shown.options[shown.first[d].option + i]
               : NULL;
}

const struct toll_dialect_column *toll_dialect_column_at(const char *dialect, size_t i)
{
    int d = number_of(dialect);
    return d >= 0 && i < shown.first[d + 1].column - shown.first[d].column
               ? &shown.columns[shown.first[d].column + i]
               : NULL;
}
