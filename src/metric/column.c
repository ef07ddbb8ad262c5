/* SPDX-License-Identifier: MIT */
#include "metric/column.h"

enum { PIECES = 5 };

/* The lead in pieces, NULL behind the last. */
static void split(enum entity_kind kind, enum part part, const char *name,
                  const char *pieces[PIECES + 1])
{
    size_t n = 0;
    bool is_one = kind == ENTITY_SYSTEM || kind == ENTITY_SELF;
    if (kind == ENTITY_TARGET && name) {
        pieces[n++] = "target.";
        pieces[n++] = name;
        pieces[n++] = ".";
        if (part != PART_COMBINED) {
            pieces[n++] = part_prefix(part);
            pieces[n++] = "_";
        }
    } else {
        pieces[n++] = kind == ENTITY_TARGET ? part_prefix(part) : entity_kind_name(kind);
        pieces[n++] = kind == ENTITY_TARGET || is_one ? "_" : ".";
        if (kind != ENTITY_TARGET && !is_one) {
            pieces[n++] = name;
            pieces[n++] = ".";
        }
    }
    pieces[n] = NULL;
}

void column_lead(struct buf *b, enum entity_kind kind, enum part part, const char *name)
{
    const char *pieces[PIECES + 1];
    split(kind, part, name, pieces);
    for (const char **piece = pieces; *piece; piece++)
        buf_puts(b, *piece);
}

int column_metric(enum entity_kind kind, enum part part, const char *name, const char *column)
{
    const char *pieces[PIECES + 1];
    split(kind, part, name, pieces);
    for (const char **piece = pieces; *piece; piece++) {
        size_t length = strlen(*piece);
        if (strncmp(column, *piece, length) != 0)
            return -ENOENT;
        column += length;
    }
    enum metric_id first = metric_first(kind);
    for (unsigned i = 0; i < metric_count(kind); i++)
        if (strcmp(metric_of(first + i)->facts.name, column) == 0)
            return (int)(first + i);
    return -ENOENT;
}
