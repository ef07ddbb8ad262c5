/* SPDX-License-Identifier: MIT
 *
 * 0.27 0.06 0.02 1/81 3799
 *  load over 1, 5 and 15 minutes, running/all threads, last pid
 */
#include "parse/loadavg.h"

#include "base/util.h"

int parse_loadavg(struct scan text, struct loadavg *ret)
{
    if (scan_done(&text))
        return -ENODATA;
    struct loadavg l;
    /* What follows the last number used shows that it was not cut short. */
    if (!scan_decimal(&text, &l.load[0]) || !scan_word(&text, " ") ||
        !scan_decimal(&text, &l.load[1]) || !scan_word(&text, " ") ||
        !scan_decimal(&text, &l.load[2]) || !scan_word(&text, " ") ||
        !scan_u64(&text, &l.running) || !scan_word(&text, "/") || !scan_u64(&text, &l.threads) ||
        !scan_word(&text, " "))
        return -EBADMSG;
    *ret = l;
    return 0;
}

int parse_loadavg_last_pid(struct scan text, uint64_t *ret)
{
    if (scan_done(&text))
        return -ENODATA;
    uint64_t pid;
    /* The newline shows that the number was not cut short. */
    if (!scan_skip_fields(&text, 4) || !scan_u64(&text, &pid) || !scan_word(&text, "\n"))
        return -EBADMSG;
    *ret = pid;
    return 0;
}
