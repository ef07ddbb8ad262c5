/* SPDX-License-Identifier: MIT
 *
 * 5628027a0000-7ffc90b4e000 ---p 00000000 00:00 0                          [rollup]
 * Rss:                1628 kB
 * Pss:                 506 kB
 * Pss_Dirty:           116 kB
 * …
 * Private_Clean:        76 kB
 * Private_Dirty:       116 kB
 * Referenced:         1628 kB
 * …
 */
#include "parse/smaps_rollup.h"

#include "parse/keyed.h"

enum { RSS, PSS, PRIVATE_CLEAN, PRIVATE_DIRTY, KEYS };

static const struct keyed keys[KEYS] = {
    [RSS] = {"Rss:", keyed_kib},
    [PSS] = {"Pss:", keyed_kib},
    [PRIVATE_CLEAN] = {"Private_Clean:", keyed_kib},
    [PRIVATE_DIRTY] = {"Private_Dirty:", keyed_kib},
};

int parse_smaps_rollup(struct scan text, struct smaps_rollup *ret)
{
    if (scan_done(&text))
        return -ESRCH;
    uint64_t values[KEYS];
    if (keyed_read(text, keys, KEYS, values) != BIT(KEYS) - 1)
        return -EBADMSG;
    if (values[PRIVATE_CLEAN] > UINT64_MAX - values[PRIVATE_DIRTY])
        return -EBADMSG;
    *ret = (struct smaps_rollup){
        .rss_bytes = values[RSS],
        .pss_bytes = values[PSS],
        .uss_bytes = values[PRIVATE_CLEAN] + values[PRIVATE_DIRTY],
    };
    return 0;
}
