/* SPDX-License-Identifier: MIT
 *
 * Name:	cat
 * Umask:	0022
 * …
 * NSpid:	4242	17
 * VmHWM:	    1628 kB
 * VmRSS:	    1628 kB
 * RssFile:	    1512 kB
 * RssShmem:	       0 kB
 * VmSwap:	       0 kB
 * …
 * SigIgn:	0000000000001000
 * …
 * voluntary_ctxt_switches:	150
 * nonvoluntary_ctxt_switches:	545
 *
 * The kernel escapes a newline in the name, so no process can forge a line.
 */
#include "parse/pid_status.h"

#include "parse/keyed.h"

enum { HIGH_WATER, RSS, FILES, SHMEM, SWAP, IGNORED, VOLUNTARY, INVOLUNTARY, KEYS };

static const struct keyed keys[KEYS] = {
    [HIGH_WATER] = {"VmHWM:", keyed_kib},
    [RSS] = {"VmRSS:", keyed_kib},
    [FILES] = {"RssFile:", keyed_kib},
    [SHMEM] = {"RssShmem:", keyed_kib},
    [SWAP] = {"VmSwap:", keyed_kib},
    [IGNORED] = {"SigIgn:", scan_hex},
    [VOLUNTARY] = {"voluntary_ctxt_switches:", scan_u64},
    [INVOLUNTARY] = {"nonvoluntary_ctxt_switches:", scan_u64},
};

static bool has(int seen, uint64_t bits)
{
    return ((uint64_t)seen & bits) == bits;
}

/* "Uid:	1000	1000	1000	1000": real, effective, saved, of the filesystem */
static bool read_effective(struct scan *s, uint64_t *ret)
{
    uint64_t other;
    return scan_u64(s, &other) && scan_u64(s, ret) && scan_u64(s, &other) && scan_u64(s, &other);
}

int parse_pid_user(struct scan text, uid_t *ret_effective)
{
    static const struct keyed user = {"Uid:", read_effective};
    uint64_t value;
    if (scan_done(&text))
        return -ESRCH;
    if (keyed_read(text, &user, 1, &value) != 1 || value > UINT32_MAX)
        return -EBADMSG;
    *ret_effective = (uid_t)value;
    return 0;
}

int parse_pid_status(struct scan text, struct pid_status *ret)
{
    if (scan_done(&text))
        return -ESRCH;
    uint64_t values[KEYS] = {0};
    int seen = keyed_read(text, keys, KEYS, values);
    if (seen < 0)
        return seen;
    if (!has(seen, BIT(IGNORED) | BIT(VOLUNTARY) | BIT(INVOLUNTARY)))
        return -EBADMSG;
    bool has_shared = has(seen, BIT(FILES) | BIT(SHMEM));
    if (has_shared && values[FILES] > UINT64_MAX - values[SHMEM])
        return -EBADMSG;
    bool has_memory = has(seen, BIT(HIGH_WATER) | BIT(RSS));
    *ret = (struct pid_status){
        .has_memory = has_memory,
        .has_shared = has_shared,
        .has_swap = has(seen, BIT(SWAP)),
        .high_water_bytes = has_memory ? values[HIGH_WATER] : 0,
        .rss_bytes = has_memory ? values[RSS] : 0,
        .shared_bytes = has_shared ? values[FILES] + values[SHMEM] : 0,
        .swap_bytes = values[SWAP],
        .ignored_signals = values[IGNORED],
        .switches_voluntary = values[VOLUNTARY],
        .switches_involuntary = values[INVOLUNTARY],
    };
    return 0;
}

int parse_pid_namespaces(struct scan text, pid_t *pids, unsigned most)
{
    struct scan line;
    if (scan_done(&text))
        return -ESRCH;
    while (scan_line(&text, &line) && line.end < text.at) {
        if (!scan_word(&line, "NSpid:"))
            continue;
        unsigned count = 0;
        uint64_t pid;
        for (; count < most && scan_u64(&line, &pid); count++) {
            if (pid > INT32_MAX)
                return -EBADMSG;
            pids[count] = (pid_t)pid;
        }
        return count && (count == most || scan_done(&line)) ? (int)count : -EBADMSG;
    }
    return -ENODATA;
}
