/* SPDX-License-Identifier: MIT
 *
 * 12:memory:/system.slice/cron.service
 * 4:cpu,cpuacct:/
 * 1:name=systemd:/system.slice/cron.service
 * 0::/system.slice/cron.service
 *
 * A path begins with "/.." when it stands outside of the reader's cgroup namespace, and has
 * " (deleted)" behind it when the directory is gone. The kernel allows no newline in a name.
 */
#include "parse/pid_cgroup.h"

#include "base/util.h"

static bool cut_at_colon(struct scan *s, struct scan *ret)
{
    const char *colon = memchr(s->at, ':', (size_t)(s->end - s->at));
    if (!colon)
        return false;
    *ret = (struct scan){.at = s->at, .end = colon};
    s->at = colon + 1;
    return true;
}

static bool cut_deleted(struct scan *path)
{
    static const char mark[] = " (deleted)";
    size_t length = sizeof mark - 1;
    if ((size_t)(path->end - path->at) <= length || memcmp(path->end - length, mark, length) != 0)
        return false;
    path->end -= length;
    return true;
}

int parse_pid_cgroup(struct scan *text, struct pid_cgroup *ret)
{
    struct scan line, number;
    if (!scan_line(text, &line) || line.end == text->at) /* without its newline it was cut */
        return 0;
    struct pid_cgroup p = {0};
    if (!cut_at_colon(&line, &number) || !cut_at_colon(&line, &p.controllers))
        return -EBADMSG;
    if (!scan_u64(&number, &p.hierarchy) || !scan_done(&number))
        return -EBADMSG;
    if (scan_done(&line) || *line.at != '/')
        return -EBADMSG;
    p.path = line;
    p.deleted = cut_deleted(&p.path);
    *ret = p;
    return 1;
}
