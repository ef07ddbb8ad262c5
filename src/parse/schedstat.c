/* SPDX-License-Identifier: MIT
 *
 * 1084908 52110 17
 *  ns on a CPU, ns waiting for one, turns
 */
#include "parse/schedstat.h"

#include "base/util.h"

int parse_schedstat(struct scan text, struct schedstat *ret)
{
    if (scan_done(&text))
        return -ESRCH;
    struct schedstat st;
    /* What follows the last number used shows that it was not cut short. */
    if (!scan_u64(&text, &st.run_ns) || !scan_u64(&text, &st.wait_ns) || !scan_word(&text, " "))
        return -EBADMSG;
    *ret = st;
    return 0;
}
