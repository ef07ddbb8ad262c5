/* SPDX-License-Identifier: MIT
 *
 * Limit                     Soft Limit           Hard Limit           Units
 * Max cpu time              unlimited            unlimited            seconds
 * Max core file size        0                    unlimited            bytes
 * Max open files            20000                20000                files
 */
#include "parse/pid_limits.h"

#include "parse/keyed.h"

/* The soft limit; what stands behind it on the line is passed over. */
static bool soft_limit(struct scan *s, uint64_t *ret)
{
    scan_blanks(s);
    if (scan_word(s, "unlimited"))
        *ret = PID_LIMIT_NONE;
    else if (!scan_u64(s, ret))
        return false;
    bool has_hard = !scan_done(s) && *s->at == ' ' && scan_skip_fields(s, 1);
    s->at = s->end;
    return has_hard;
}

static const struct keyed keys[PID_LIMITS] = {
    [PID_LIMIT_CPU_SECONDS] = {"Max cpu time ", soft_limit},
    [PID_LIMIT_FILE_BYTES] = {"Max file size ", soft_limit},
    [PID_LIMIT_CORE_BYTES] = {"Max core file size ", soft_limit},
    [PID_LIMIT_PROCESSES] = {"Max processes ", soft_limit},
    [PID_LIMIT_OPEN_FILES] = {"Max open files ", soft_limit},
    [PID_LIMIT_LOCKED_BYTES] = {"Max locked memory ", soft_limit},
    [PID_LIMIT_ADDRESS_BYTES] = {"Max address space ", soft_limit},
};

int parse_pid_limits(struct scan text, struct pid_limits *ret)
{
    if (scan_done(&text))
        return -ESRCH;
    struct pid_limits limits = {0};
    int seen = keyed_read(text, keys, PID_LIMITS, limits.soft);
    if (seen <= 0)
        return -EBADMSG;
    limits.known = (unsigned)seen;
    *ret = limits;
    return 0;
}
