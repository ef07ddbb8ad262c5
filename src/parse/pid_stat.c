/* SPDX-License-Identifier: MIT
 *
 * 1234 (a b) R 1) S 1200 1234 1200 34816 1234 4194304 101 5 0 0 12 3 40 2 20 0 1 0 54223
 * 3133440 397 18446744073709551615 94212 94313 140725 …
 *  pid name state ppid pgrp session tty tpgid flags minflt cminflt majflt cmajflt utime stime
 *  cutime cstime priority nice threads itrealvalue starttime vsize rss rsslim startcode endcode
 *  startstack …
 *
 * The name may hold blanks and parentheses, so the fields are counted from the last ')'. A kernel
 * may add fields at the end, never in between.
 */
#include "parse/pid_stat.h"

#include "base/util.h"

#include <limits.h>
#include <string.h>

/* Of linux/sched.h, where they are PF_EXITING, PF_FORKNOEXEC and PF_KTHREAD. */
#define LEAVING       0x00000004
#define FORK_NO_EXEC  0x00000040
#define KERNEL_THREAD 0x00200000

static const char *last_parenthesis(struct scan text)
{
    return memrchr(text.at, ')', (size_t)(text.end - text.at));
}

/* 0 is the kernel's, or somebody's outside of a pid namespace; -1 was seen of a process that is
 * being reaped. */
static bool is_pid(int64_t number)
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
    const char *close = last_parenthesis(text);
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
    if (!whole || pid > INT_MAX || !is_pid(parent) || !is_pid(group) || !is_pid(session))
        return -EBADMSG;
    st.pid = (pid_t)pid;
    st.parent = (pid_t)parent;
    st.group = (pid_t)group;
    st.session = (pid_t)session;
    st.of_kernel = flags & KERNEL_THREAD;
    st.is_leaving = flags & LEAVING;
    st.before_exec = flags & FORK_NO_EXEC;
    if (!scan_skip_fields(&s, 3) || !scan_u64(&s, &st.start_stack))
        st.start_stack = 0;
    *ret = st;
    return 0;
}
