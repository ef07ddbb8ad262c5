/* SPDX-License-Identifier: MIT */
#include "base/text/suggest.h"

#include "base/util.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

/* Optimal string alignment; three rows of the matrix are enough, since a swap looks two back. */
size_t suggestion_distance(const char *a, const char *b)
{
    size_t rows[3][SUGGESTION_BYTES];
    size_t *before = rows[0], *above = rows[1], *row = rows[2];
    size_t rows_count = strlen(a), columns = strlen(b);
    if (rows_count >= SUGGESTION_BYTES || columns >= SUGGESTION_BYTES)
        return SIZE_MAX;
    for (size_t j = 0; j <= columns; j++)
        above[j] = j;
    for (size_t i = 1; i <= rows_count; i++) {
        row[0] = i;
        for (size_t j = 1; j <= columns; j++) {
            int here = tolower((unsigned char)a[i - 1]), there = tolower((unsigned char)b[j - 1]);
            size_t best = min_u64(min_u64(above[j], row[j - 1]) + 1,
                                  above[j - 1] + (here != there));
            if (i > 1 && j > 1 && here == tolower((unsigned char)b[j - 2]) &&
                there == tolower((unsigned char)a[i - 2]))
                best = min_u64(best, before[j - 2] + 1);
            row[j] = best;
        }
        size_t *oldest = before;
        before = above;
        above = row;
        row = oldest;
    }
    return above[columns];
}

void suggestion_begin(struct suggestion *s, const char *typed)
{
    size_t length = strlen(typed);
    *s = (struct suggestion){.typed = typed};
    s->distance = (length < 2 ? 0 : length < 6 ? 1 : length < 9 ? 2 : 3) + 1;
}

void suggestion_offer(struct suggestion *s, const char *known)
{
    enum { ABBREVIATION_BYTES = 3 };
    size_t length = strlen(s->typed);
    size_t distance = suggestion_distance(s->typed, known);
    if (length >= ABBREVIATION_BYTES && strncasecmp(known, s->typed, length) == 0)
        distance = 0; /* an abbreviation is no mistake */
    if (distance >= s->distance || strlen(known) >= sizeof s->word)
        return;
    s->distance = distance;
    snprintf(s->word, sizeof s->word, "%s", known);
}

const char *suggestion_text(struct suggestion *s)
{
    s->text[0] = '\0';
    if (*s->word)
        snprintf(s->text, sizeof s->text, " (did you mean '%s'?)", s->word);
    return s->text;
}
