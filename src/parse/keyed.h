/* SPDX-License-Identifier: MIT
 * Texts made of lines "key: value", of which a few are wanted. */
#pragma once

#include "base/scan.h"
#include "base/util.h"

/* Reads one value; like scan_u64. */
typedef bool keyed_value(struct scan *s, uint64_t *ret);

struct keyed {
    const char *key; /* with its colon, so that Pss: is not Pss_Dirty: */
    keyed_value *read;
};

/* "  1628 kB" as bytes; false, and nothing consumed, when they do not fit. */
static inline bool keyed_kib(struct scan *s, uint64_t *ret_bytes)
{
    struct scan t = *s;
    uint64_t kib;
    if (!scan_u64(&t, &kib) || !scan_word(&t, " kB") || kib > UINT64_MAX / 1024)
        return false;
    *s = t;
    *ret_bytes = kib * 1024;
    return true;
}

/* Reads the keys in whatever order they come, skips all other lines, and stops when it has all.
 * Bit k of the answer: values[k] was written. -EBADMSG when a value is not as expected.
 * A last line without its newline was cut short: its number may be too, so it is not there. */
static inline int keyed_read(struct scan text, const struct keyed *keys, unsigned count,
                             uint64_t *values)
{
    int all = (int)(BIT(count) - 1);
    int seen = 0;
    uint64_t letters = 0; /* those that keys begin with: most lines need no closer look */
    for (unsigned k = 0; k < count; k++)
        letters |= BIT(*keys[k].key & 63);
    unsigned next = 0; /* the kernel's order is most often ours */
    struct scan line;
    while (seen != all && scan_line(&text, &line) && line.end < text.at) {
        if (!(letters & BIT(*line.at & 63))) /* an empty line shows its newline */
            continue;
        for (unsigned i = 0, k = next; i < count; i++, k = k + 1 < count ? k + 1 : 0) {
            if (*line.at != *keys[k].key || !scan_word(&line, keys[k].key))
                continue;
            if (!keys[k].read(&line, &values[k]) || !scan_done(&line))
                return -EBADMSG;
            seen |= 1 << k;
            next = k + 1 < count ? k + 1 : 0;
            break;
        }
    }
    return seen;
}
