/* SPDX-License-Identifier: MIT
 *
 * 11898.49 15080.54
 *  seconds since the start, seconds that CPUs were idle
 */
#include "parse/uptime.h"

#include "base/util.h"

int parse_uptime(struct scan text, uint64_t *ret_ns)
{
    if (scan_done(&text))
        return -ENODATA;
    uint64_t seconds, hundredths, ns;
    if (!scan_u64(&text, &seconds) || !scan_word(&text, "."))
        return -EBADMSG;
    const char *fraction = text.at;
    /* What follows the number shows that it was not cut short. */
    if (!scan_u64(&text, &hundredths) || text.at - fraction != 2 || *fraction == ' ' ||
        *fraction == '\t' || !scan_word(&text, " ") ||
        __builtin_mul_overflow(seconds, NS_PER_SECOND, &ns) ||
        __builtin_add_overflow(ns, hundredths * (NS_PER_SECOND / 100), &ns))
        return -EBADMSG;
    *ret_ns = ns;
    return 0;
}
