/* SPDX-License-Identifier: MIT
 * "Did you mean": the known word that is nearest to one that was mistyped. */
#pragma once

#include <stddef.h>

enum { SUGGESTION_BYTES = 64 };

/* One search; all known words are offered, then the text goes behind the error. */
struct suggestion {
    const char *typed;           /* borrowed */
    size_t distance;             /* of the best so far */
    char word[SUGGESTION_BYTES]; /* the best so far, "" while none is near enough */
    char text[SUGGESTION_BYTES + 24];
};

void suggestion_begin(struct suggestion *s, const char *typed);

/* A word that begins with what was typed is nearer than others; of several that are equally near
 * the first one stays. */
void suggestion_offer(struct suggestion *s, const char *known);

/* " (did you mean 'doctor'?)", or "" when nothing is near. Valid as long as s is. */
const char *suggestion_text(struct suggestion *s);

/* How many letters to insert, remove, replace or swap with their neighbour to make one word of the
 * other, upper and lower case being the same; SIZE_MAX for words of SUGGESTION_BYTES and more. */
size_t suggestion_distance(const char *a, const char *b);
