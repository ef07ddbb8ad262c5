/* SPDX-License-Identifier: MIT */
#include "record/sqlite_figures.h"

#include "sink/sqlite_schema.h"

#include <math.h>

static int metric_called(enum entity_kind kind, const char *column)
{
    struct buf name = {0};
    int found = COLUMN_IS_UNKNOWN;
    FOR_EACH_BIT(i, sqlite_schema_metrics(kind))
    {
        buf_clear(&name);
        sqlite_schema_column(&name, metric_of(metric_first(kind) + i));
        if (!buf_failed(&name) && strcmp(name.data, column) == 0)
            found = (int)i;
    }
    buf_done(&name);
    return found;
}

static bool is_among(const char *word, const char *words)
{
    size_t length = strlen(word);
    for (const char *at = words; (at = strstr(at, word)); at += length)
        if ((at == words || at[-1] == ' ') && (at[length] == ' ' || !at[length]))
            return true;
    return false;
}

void sqlite_figures_find(struct sqlite_figures *f, const struct sqlite_statement *st,
                         enum entity_kind kind, int first, const char *others)
{
    int columns = sqlite_columns(st);
    f->kind = kind;
    f->columns = columns < SQLITE_COLUMNS_AT_MOST ? columns : SQLITE_COLUMNS_AT_MOST;
    for (int i = 0; i < f->columns; i++) {
        const char *name = sqlite_column_name(st, i);
        f->of[i] = i < first || is_among(name, others) ? COLUMN_IS_NO_METRIC
                                                       : metric_called(kind, name);
    }
}

bool sqlite_figures_take(const struct sqlite_figures *f, const struct sqlite_statement *st,
                         struct row *ret)
{
    row_init(ret, f->kind);
    for (int i = 0; i < f->columns; i++) {
        if (f->of[i] < 0 || sqlite_column_type(st, i) == SQLITE_IS_NULL)
            continue;
        enum metric_id id = ret->first + (unsigned)f->of[i];
        uint64_t whole;
        double number = sqlite_column_double(st, i);
        if (!metric_is_double(metric_of(id)) && sqlite_column_u64(st, i, &whole))
            row_put_u64(ret, id, whole);
        else if (metric_is_double(metric_of(id)) && isfinite(number) &&
                 sqlite_column_type(st, i) != SQLITE_IS_TEXT)
            row_put_double(ret, id, number);
        else
            return false;
    }
    return true;
}

const char *sqlite_figures_unknown(const struct sqlite_figures *f,
                                   const struct sqlite_statement *st)
{
    for (int i = 0; i < f->columns; i++)
        if (f->of[i] == COLUMN_IS_UNKNOWN && sqlite_column_type(st, i) != SQLITE_IS_NULL)
            return sqlite_column_name(st, i);
    return NULL;
}
