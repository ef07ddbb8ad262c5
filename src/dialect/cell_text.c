/* SPDX-License-Identifier: MIT */
#include "dialect/cell_text.h"

#include "dialect/python_number.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

const char *cell_text(const struct translation *t, const struct row_of *r, size_t column,
                      char room[64])
{
    const struct dialect_source *s = r->source;
    const struct term *term = &t->terms[column].items[0];
    if (term->of == TERM_OPTION)
        return dialect_choice_value(t->choice, term->option);
    if (term->fact == FACT_NAME)
        return r->each == EACH_GPU ? s->name(s->of, ENTITY_GPU, r->thing)
                                   : s->name(s->of, ENTITY_TARGET, r->target);
    double now = s->fact(s->of, FACT_TIME, 0);
    time_t seconds = (time_t)now;
    unsigned ms = (unsigned)((now - (double)seconds) * 1000);
    bool is_utc = term->fact == FACT_UTC;
    struct tm tm;
    if (!(is_utc ? gmtime_r(&seconds, &tm) : localtime_r(&seconds, &tm)))
        return NULL;
    size_t n = strftime(room, 64, is_utc ? "%Y-%m-%dT%H:%M:%S" : "%Y/%m/%d %H:%M:%S", &tm);
    snprintf(room + n, 64 - n, ".%03u%s", ms, is_utc ? "+00:00" : "");
    return room;
}

void cell_write(struct buf *b, const struct dialect_column *c, const struct dialect_cell *cell)
{
    if (cell->text)
        buf_puts(b, cell->text);
    else if (isnan(cell->number))
        return;
    else if (c->flags & FIXED_DECIMALS)
        buf_double_fixed(b, cell->number, c->decimals);
    else if (c->type == DIALECT_INTEGER || (cell->number == 0 && (c->flags & BARE_ZERO)))
        python_integer(b, cell->number);
    else
        python_float(b, cell->number);
}
