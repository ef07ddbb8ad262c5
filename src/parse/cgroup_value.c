/* SPDX-License-Identifier: MIT
 *
 * memory.max             max                   or 1073741824
 * memory.limit_in_bytes  9223372036854771712   or 1073741824
 * cpu.cfs_quota_us       -1                    or 50000
 * cpu.max                max 100000            or 50000 100000
 *
 * Without a limit version 1 writes the largest number of bytes in whole pages, so it depends on the
 * size of pages; kernels before 4.0 wrote the largest number there is.
 */
#include "parse/cgroup_value.h"

#include "base/util.h"

static const uint64_t largest_page = 65536;

struct cgroup_value cgroup_value_of(uint64_t number)
{
    bool unlimited = number > INT64_MAX - largest_page;
    return (struct cgroup_value){.unlimited = unlimited, .value = unlimited ? 0 : number};
}

static bool read_limit(struct scan *s, struct cgroup_value *ret)
{
    uint64_t value;
    if (scan_word(s, "max") || scan_word(s, "-1")) {
        *ret = (struct cgroup_value){.unlimited = true};
        return true;
    }
    if (scan_done(s) || *s->at == ' ' || !scan_u64(s, &value))
        return false;
    *ret = cgroup_value_of(value);
    return true;
}

/* One line and its newline: without it the number may have been cut. */
static bool at_end(struct scan s)
{
    return scan_word(&s, "\n") && scan_done(&s);
}

int parse_cgroup_value(struct scan text, struct cgroup_value *ret)
{
    struct cgroup_value v;
    if (!read_limit(&text, &v) || !at_end(text))
        return -EBADMSG;
    *ret = v;
    return 0;
}

int parse_cgroup_cpu_max(struct scan text, struct cgroup_cpu_max *ret)
{
    struct cgroup_value quota;
    uint64_t period;
    if (!read_limit(&text, &quota) || !scan_word(&text, " ") || !scan_u64(&text, &period) ||
        !at_end(text) || period == 0)
        return -EBADMSG;
    *ret = (struct cgroup_cpu_max){
        .unlimited = quota.unlimited, .quota_us = quota.value, .period_us = period};
    return 0;
}
