/* SPDX-License-Identifier: MIT
 *
 * nr_free_pages 5932459
 * …
 * pswpin 0
 * pswpout 0
 * …
 * pgmajfault 19264
 * …
 * oom_kill 3
 * …
 */
#include "parse/vmstat.h"

#include "parse/keyed.h"

/* A blank ends a key here. */
static const struct keyed keys[VMSTAT_KEYS] = {
    [VMSTAT_SWAP_IN] = {"pswpin ", scan_u64},
    [VMSTAT_SWAP_OUT] = {"pswpout ", scan_u64},
    [VMSTAT_FAULTS_MAJOR] = {"pgmajfault ", scan_u64},
    [VMSTAT_OOM_KILLS] = {"oom_kill ", scan_u64},
};

int parse_vmstat(struct scan text, struct vmstat *ret)
{
    if (scan_done(&text))
        return -ENODATA;
    struct vmstat v = {0};
    int seen = keyed_read(text, keys, VMSTAT_KEYS, v.counts);
    if (seen <= 0)
        return -EBADMSG;
    v.seen = (unsigned)seen;
    *ret = v;
    return 0;
}
