/* SPDX-License-Identifier: MIT
 *
 * 0-3,8,10-11
 */
#include "parse/cpu_list.h"

#include "parse/comma_list.h"

/* Reads "8" or "0-3"; no blanks. */
static bool read_range(struct scan *s, uint64_t *ret_first, uint64_t *ret_last)
{
    if (scan_done(s) || *s->at == ' ' || *s->at == '\t' || !scan_u64(s, ret_first))
        return false;
    *ret_last = *ret_first;
    if (scan_word(s, "-") &&
        (scan_done(s) || *s->at == ' ' || *s->at == '\t' || !scan_u64(s, ret_last)))
        return false;
    return scan_done(s) && *ret_first <= *ret_last && *ret_last < CPU_LIST_MOST;
}

int parse_cpu_list(struct scan text, struct cpu_list *ret)
{
    if (!scan_done(&text) && text.end[-1] == '\n')
        text.end--;
    scan_blanks(&text);
    if (scan_done(&text))
        return -ENODATA;
    if (text.end[-1] == ',')
        return -EBADMSG;
    struct cpu_list list = {0};
    uint64_t next = 0; /* the kernel writes them in their order */
    struct scan word;
    while (comma_list_next(&text, &word)) {
        uint64_t first, last;
        if (!read_range(&word, &first, &last) || first < next)
            return -EBADMSG;
        for (uint64_t cpu = first; cpu <= last; cpu++)
            list.bits[cpu / 64] |= BIT(cpu % 64);
        next = last + 1;
    }
    *ret = list;
    return 0;
}

unsigned cpu_list_count(const struct cpu_list *l)
{
    unsigned count = 0;
    for (size_t i = 0; i < ARRAY_LEN(l->bits); i++)
        count += (unsigned)__builtin_popcountll(l->bits[i]);
    return count;
}

void cpu_list_keep(struct cpu_list *l, const struct cpu_list *other)
{
    for (size_t i = 0; i < ARRAY_LEN(l->bits); i++)
        l->bits[i] &= other->bits[i];
}
