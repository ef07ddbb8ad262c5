/* SPDX-License-Identifier: MIT
 * 1234 (a b) R 1) S 1200 1234 1200 34816 1234 4194304 101 5 0 0 12 3 40 2 20 0 1 0 54223
 * 3133440 397 18446744073709551615 94212 94313 140725 …
 *  pid name state ppid pgrp session tty tpgid flags minflt cminflt majflt cmajflt utime stime
 *  cutime cstime priority nice threads itrealvalue starttime vsize rss rsslim startcode endcode
 *  startstack …
 *
 * The name may hold blanks and parentheses, so the fields are counted from the last ')'. A kernel
 * may add fields at the end, never in between. */
#include "source/pid_files.h"

#include "base/util.h"
#include "source/kernel_file.h"

#include <limits.h>
#include <string.h>

/* ==== Smaps rollup ============================================================================ */

/* 5628027a0000-7ffc90b4e000 ---p 00000000 00:00 0                          [rollup]
 * Rss:                1628 kB
 * Pss:                 506 kB
 * Pss_Dirty:           116 kB
 * …
 * Private_Clean:        76 kB
 * Private_Dirty:       116 kB
 * Referenced:         1628 kB
 * … */

enum { SMAPS_ROLLUP_RSS, PSS, PRIVATE_CLEAN, PRIVATE_DIRTY, SMAPS_ROLLUP_KEYS };

static const struct keyed smaps_rollup_keys[SMAPS_ROLLUP_KEYS] = {
    [SMAPS_ROLLUP_RSS] = {"Rss:", keyed_kib},
    [PSS] = {"Pss:", keyed_kib},
    [PRIVATE_CLEAN] = {"Private_Clean:", keyed_kib},
    [PRIVATE_DIRTY] = {"Private_Dirty:", keyed_kib},
};

int parse_smaps_rollup(struct scan text, struct smaps_rollup *ret)
{
    if (scan_done(&text))
        return -ESRCH;
    uint64_t values[SMAPS_ROLLUP_KEYS];
    if (keyed_read(text, smaps_rollup_keys, SMAPS_ROLLUP_KEYS, values) !=
        BIT(SMAPS_ROLLUP_KEYS) - 1)
        return -EBADMSG;
    if (values[PRIVATE_CLEAN] > UINT64_MAX - values[PRIVATE_DIRTY])
        return -EBADMSG;
    *ret = (struct smaps_rollup){
        .rss_bytes = values[SMAPS_ROLLUP_RSS],
        .pss_bytes = values[PSS],
        .uss_bytes = values[PRIVATE_CLEAN] + values[PRIVATE_DIRTY],
    };
    return 0;
}

/* ==== Schedstat =============================================================================== */

/* 1084908 52110 17
 *  ns on a CPU, ns waiting for one, turns */

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

/* ==== Statm =================================================================================== */

/* 765 407 378 5 0 123 0
 *  size resident shared text lib data dirty */

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

/* ==== Pid io ================================================================================== */

/* rchar: 323934931
 * wchar: 323929600
 * syscr: 632687
 * syscw: 632675
 * read_bytes: 0
 * write_bytes: 323932160
 * cancelled_write_bytes: 0 */

enum { RCHAR, WCHAR, SYSCR, SYSCW, READ, WRITE, CANCELLED, PID_IO_KEYS };

static const struct keyed pid_io_keys[PID_IO_KEYS] = {
    [RCHAR] = {"rchar:", scan_u64},
    [WCHAR] = {"wchar:", scan_u64},
    [SYSCR] = {"syscr:", scan_u64},
    [SYSCW] = {"syscw:", scan_u64},
    [READ] = {"read_bytes:", scan_u64},
    [WRITE] = {"write_bytes:", scan_u64},
    [CANCELLED] = {"cancelled_write_bytes:", scan_u64},
};

static inline bool pid_io_read_line(struct scan *text, const char *key, uint64_t *ret)
{
    return scan_word(text, key) && scan_u64(text, ret) && scan_word(text, "\n");
}

int parse_pid_io(struct scan text, struct pid_io *ret)
{
    if (scan_done(&text))
        return -ESRCH;
    uint64_t values[PID_IO_KEYS];
    /* All kernels so far write the lines in this order. To compare with literals takes half the
     * time of keyed_read. */
    struct scan s = text;
    bool in_order = pid_io_read_line(&s, "rchar:", &values[RCHAR]) &&
                    pid_io_read_line(&s, "wchar:", &values[WCHAR]) &&
                    pid_io_read_line(&s, "syscr:", &values[SYSCR]) &&
                    pid_io_read_line(&s, "syscw:", &values[SYSCW]) &&
                    pid_io_read_line(&s, "read_bytes:", &values[READ]) &&
                    pid_io_read_line(&s, "write_bytes:", &values[WRITE]) &&
                    pid_io_read_line(&s, "cancelled_write_bytes:", &values[CANCELLED]);
    if (!in_order && keyed_read(text, pid_io_keys, PID_IO_KEYS, values) != BIT(PID_IO_KEYS) - 1)
        return -EBADMSG;
    *ret = (struct pid_io){
        .read_bytes = values[RCHAR],
        .written_bytes = values[WCHAR],
        .read_calls = values[SYSCR],
        .write_calls = values[SYSCW],
        .storage_read_bytes = values[READ],
        .storage_written_bytes = values[WRITE],
        .storage_cancelled_bytes = values[CANCELLED],
    };
    return 0;
}

/* ==== Pid status ============================================================================== */

/* Name:	cat
 * Umask:	0022
 * …
 * NSpid:	4242	17
 * VmHWM:	    1628 kB
 * VmRSS:	    1628 kB
 * RssFile:	    1512 kB
 * RssShmem:	       0 kB
 * VmSwap:	       0 kB
 * …
 * SigPnd:	0000000000000000
 * …
 * SigIgn:	0000000000001000
 * …
 * voluntary_ctxt_switches:	150
 * nonvoluntary_ctxt_switches:	545
 *
 * The kernel escapes a newline in the name, so no process can forge a line. */

enum {
    HIGH_WATER,
    PID_STATUS_RSS,
    FILES,
    SHMEM,
    SWAP,
    IGNORED,
    VOLUNTARY,
    INVOLUNTARY,
    PID_STATUS_KEYS
};

static const struct keyed pid_status_keys[PID_STATUS_KEYS] = {
    [HIGH_WATER] = {"VmHWM:", keyed_kib},
    [PID_STATUS_RSS] = {"VmRSS:", keyed_kib},
    [FILES] = {"RssFile:", keyed_kib},
    [SHMEM] = {"RssShmem:", keyed_kib},
    [SWAP] = {"VmSwap:", keyed_kib},
    [IGNORED] = {"SigIgn:", scan_hex},
    [VOLUNTARY] = {"voluntary_ctxt_switches:", scan_u64},
    [INVOLUNTARY] = {"nonvoluntary_ctxt_switches:", scan_u64},
};

static bool pid_status_has(int seen, uint64_t bits)
{
    return ((uint64_t)seen & bits) == bits;
}

/* "Uid:	1000	1000	1000	1000": real, effective, saved, of the filesystem */
static bool pid_status_read_effective(struct scan *s, uint64_t *ret)
{
    uint64_t other;
    return scan_u64(s, &other) && scan_u64(s, ret) && scan_u64(s, &other) && scan_u64(s, &other);
}

int parse_pid_user(struct scan text, uid_t *ret_effective)
{
    static const struct keyed user = {"Uid:", pid_status_read_effective};
    uint64_t value;
    if (scan_done(&text))
        return -ESRCH;
    if (keyed_read(text, &user, 1, &value) != 1 || value > UINT32_MAX)
        return -EBADMSG;
    *ret_effective = (uid_t)value;
    return 0;
}

int parse_pid_pending(struct scan text, uint64_t *ret_signals)
{
    static const struct keyed pending = {"SigPnd:", scan_hex};
    if (scan_done(&text))
        return -ESRCH;
    return keyed_read(text, &pending, 1, ret_signals) == 1 ? 0 : -EBADMSG;
}

int parse_pid_status(struct scan text, struct pid_status *ret)
{
    if (scan_done(&text))
        return -ESRCH;
    uint64_t values[PID_STATUS_KEYS] = {0};
    int seen = keyed_read(text, pid_status_keys, PID_STATUS_KEYS, values);
    if (seen < 0)
        return seen;
    if (!pid_status_has(seen, BIT(IGNORED) | BIT(VOLUNTARY) | BIT(INVOLUNTARY)))
        return -EBADMSG;
    bool has_shared = pid_status_has(seen, BIT(FILES) | BIT(SHMEM));
    if (has_shared && values[FILES] > UINT64_MAX - values[SHMEM])
        return -EBADMSG;
    bool has_memory = pid_status_has(seen, BIT(HIGH_WATER) | BIT(PID_STATUS_RSS));
    *ret = (struct pid_status){
        .has_memory = has_memory,
        .has_shared = has_shared,
        .has_swap = pid_status_has(seen, BIT(SWAP)),
        .high_water_bytes = has_memory ? values[HIGH_WATER] : 0,
        .rss_bytes = has_memory ? values[PID_STATUS_RSS] : 0,
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

/* ==== Pid stat ================================================================================ */

/* Flags of the kernel's include/linux/sched.h, which programs cannot include. */
#define PF_EXITING    0x00000004
#define PF_FORKNOEXEC 0x00000040
#define PF_KTHREAD    0x00200000

/* 0 is the kernel, or a process outside of the pid namespace; -1 is read while a process is
 * reaped. */
static bool pid_stat_is_pid(int64_t number)
{
    return number >= -1 && number <= INT_MAX;
}

int parse_pid_stat(struct scan text, struct pid_stat *ret)
{
    if (scan_done(&text))
        return -ESRCH;
    struct pid_stat st = {0};
    uint64_t pid, flags;
    int64_t parent, group, session;
    if (!scan_u64(&text, &pid) || !scan_word(&text, " ("))
        return -EBADMSG;
    const char *close = memrchr(text.at, ')', (size_t)(text.end - text.at));
    if (!close)
        return -EBADMSG;
    st.name = text.at;
    st.name_length = (size_t)(close - text.at);

    struct scan s = {.at = close + 1, .end = text.end};
    scan_blanks(&s);
    if (scan_done(&s))
        return -EBADMSG;
    st.state = *s.at++;
    bool whole = scan_i64(&s, &parent) && scan_i64(&s, &group) && scan_i64(&s, &session) &&
                 scan_skip_fields(&s, 2) && scan_u64(&s, &flags) &&
                 scan_u64(&s, &st.faults_minor) && scan_u64(&s, &st.children_faults_minor) &&
                 scan_u64(&s, &st.faults_major) && scan_u64(&s, &st.children_faults_major) &&
                 scan_u64(&s, &st.user_ticks) && scan_u64(&s, &st.system_ticks) &&
                 scan_u64(&s, &st.children_user_ticks) && scan_u64(&s, &st.children_system_ticks) &&
                 scan_skip_fields(&s, 2) && scan_u64(&s, &st.threads) && scan_skip_fields(&s, 1) &&
                 scan_u64(&s, &st.start_ticks) && scan_u64(&s, &st.virtual_bytes) &&
                 scan_u64(&s, &st.rss_pages) && !scan_done(&s); /* else rss may be cut short */
    if (!whole || pid > INT_MAX || !pid_stat_is_pid(parent) || !pid_stat_is_pid(group) ||
        !pid_stat_is_pid(session))
        return -EBADMSG;
    st.pid = (pid_t)pid;
    st.parent = (pid_t)parent;
    st.group = (pid_t)group;
    st.session = (pid_t)session;
    st.of_kernel = flags & PF_KTHREAD;
    st.is_leaving = flags & PF_EXITING;
    st.before_exec = flags & PF_FORKNOEXEC;
    if (!scan_skip_fields(&s, 3) || !scan_u64(&s, &st.start_stack))
        st.start_stack = 0;
    *ret = st;
    return 0;
}
