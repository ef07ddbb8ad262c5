/* SPDX-License-Identifier: MIT
 *
 * usage_usec 1836400
 * user_usec 1170128
 * system_usec 666272
 * nr_periods 0
 *
 * A last line without its newline was cut short: its number may be too, so it is not there.
 */
#include "parse/cgroup_flat.h"

#include "base/util.h"

/* The number of the key that the line begins with, or count. */
static unsigned find_key(struct scan *line, const char *const *keys, unsigned count)
{
    for (unsigned k = 0; k < count; k++) {
        struct scan s = *line;
        if (*s.at == *keys[k] && scan_word(&s, keys[k]) && scan_word(&s, " ")) {
            *line = s;
            return k;
        }
    }
    return count;
}

int parse_cgroup_flat(struct scan text, const char *const *keys, unsigned count, uint64_t *values)
{
    if (count > CGROUP_FLAT_KEYS)
        return -EINVAL;
    uint64_t found[CGROUP_FLAT_KEYS];
    unsigned seen = 0;
    unsigned all = (unsigned)BIT(count) - 1;
    struct scan line;
    while (seen != all && scan_line(&text, &line) && line.end != text.at) {
        unsigned k = scan_done(&line) ? count : find_key(&line, keys, count);
        if (k == count)
            continue;
        if (!scan_u64(&line, &found[k]) || !scan_done(&line))
            return -EBADMSG;
        seen |= 1U << k;
    }
    for (unsigned k = 0; k < count; k++)
        if (seen >> k & 1)
            values[k] = found[k];
    return (int)seen;
}
