/* SPDX-License-Identifier: MIT
 *
 * 765 407 378 5 0 123 0
 *  size resident shared text lib data dirty
 */
#include "parse/statm.h"

#include "base/util.h"

int parse_statm(struct scan text, struct statm *ret)
{
    if (scan_done(&text))
        return -ESRCH;
    struct statm st;
    /* What follows the last number used shows that it was not cut short. */
    if (!scan_u64(&text, &st.virtual_pages) || !scan_u64(&text, &st.rss_pages) ||
        !scan_u64(&text, &st.shared_pages) || !scan_word(&text, " "))
        return -EBADMSG;
    *ret = st;
    return 0;
}
