/* SPDX-License-Identifier: MIT
 * Lists with commas between their words, as in "cpu,cpuacct". */
#pragma once

#include "base/scan.h"
#include "base/util.h"

/* Cuts the next word off; false at the end. Empty words are handed out as such. */
static inline bool comma_list_next(struct scan *list, struct scan *ret_word)
{
    if (scan_done(list))
        return false;
    const char *comma = memchr(list->at, ',', (size_t)(list->end - list->at));
    *ret_word = (struct scan){.at = list->at, .end = comma ? comma : list->end};
    list->at = comma ? comma + 1 : list->end;
    return true;
}

static inline bool comma_list_has(struct scan list, const char *wanted)
{
    struct scan word;
    while (comma_list_next(&list, &word))
        if (scan_word(&word, wanted) && scan_done(&word))
            return true;
    return false;
}
