/* SPDX-License-Identifier: MIT
 * What can be measured by cgroups, and which limits are known. */
#include "source/probe.h"

#include "base/clock.h"
#include "source/cgroup/cgroup.h"
#include "source/cgroup/limits.h"
#include "source/cgroup/place.h"

#include <fcntl.h>
#include <stdio.h>

/* Gives a job a cgroup of its own where systemd runs. */
static const char scope[] = "systemd-run --user --scope -p Delegate=yes toll run …";

/* ---- Figures of the cgroup ------------------------------------------------------------------- */

static const struct {
    enum metric_id metric;
    const char *what;
    enum cgroup_controller controller;
    const char *controller_name; /* of version 2 */
} wanted[] = {
    {cgroup_cpu_seconds, "CPU", CGROUP_CPUACCT, "cpu"},
    {cgroup_memory_bytes, "memory", CGROUP_MEMORY, "memory"},
    {cgroup_tasks_count, "tasks", CGROUP_PIDS, "pids"},
};

/* With version 1: a cgroup of one's own in the hierarchies in which toll is at the root, where they
 * are mounted side by side as usual. False when there is none. */
static bool cgroup_remedy_v1(const struct cgroup_places *places, uint64_t missing,
                             struct finding *f)
{
    static const char usual[] = "sys/fs/cgroup/";
    struct buf names = {0};
    unsigned count = 0;
    for (size_t i = 0; i < ARRAY_LEN(wanted); i++) {
        const struct cgroup_place *at = &places->at[wanted[i].controller];
        if (!(missing >> i & 1) || !at->directory || at->v2 || !at->is_root ||
            strncmp(at->directory, usual, sizeof usual - 1) != 0)
            continue;
        const char *name = at->directory + sizeof usual - 1;
        buf_printf(&names, "%s%.*s", count ? "," : "", (int)min_u64(strcspn(name, "/"), 63), name);
        count++;
    }
    if (count) {
        const char *open = count > 1 ? "{" : "", *close = count > 1 ? "}" : "";
        const char *words = names.data ? names.data : "";
        finding_remedy(f,
                       "mkdir /sys/fs/cgroup/%s%s%s/job && echo $$ | tee "
                       "/sys/fs/cgroup/%s%s%s/job/cgroup.procs",
                       open, words, close, open, words, close);
    }
    buf_done(&names);
    return count > 0;
}

static void cgroup_remedy_v2(const struct cgroup_places *places, uint64_t missing,
                             struct finding *f)
{
    const struct cgroup_place *at = &places->at[CGROUP_UNIFIED];
    struct buf names = {0};
    for (size_t i = 0; i < ARRAY_LEN(wanted); i++)
        if (missing >> i & 1)
            buf_printf(&names, "%s+%s", names.length ? " " : "", wanted[i].controller_name);
    const char *words = names.data ? names.data : "", *slash = strrchr(at->directory, '/');
    if (slash && at->directory[at->mount_length]) /* else its parent cannot be seen from here */
        finding_remedy(f, "echo \"%s\" >/%.*s/cgroup.subtree_control", words,
                       (int)(slash - at->directory), at->directory);
    else
        finding_remedy(f, "\"%s\" in cgroup.subtree_control of the parent, on the host", words);
    buf_done(&names);
}

/* missing: bit i for wanted[i]. */
static void cgroup_find_missing(const struct probe_facts *p, const struct cgroup_places *places,
                                uint64_t missing, bool is_root, struct finding *f)
{
    struct buf what = {0};
    for (size_t i = 0; i < ARRAY_LEN(wanted); i++)
        if (missing >> i & 1)
            buf_printf(&what, "%s%s", what.length ? ", " : "", wanted[i].what);
    const char *words = what.data ? what.data : "it";
    if (is_root)
        finding_missing(f, "toll is in the root cgroup, which counts the whole machine");
    else if (missing == BIT(ARRAY_LEN(wanted)) - 1)
        finding_missing(f, "no counters for %s", words);
    else
        finding_partly(f, "no counters for %s", words);
    buf_done(&what);
    const struct cgroup_place *v2 = &places->at[CGROUP_UNIFIED];
    if (p->has_systemd)
        finding_remedy(f, "%s", scope);
    else if (cgroup_remedy_v1(places, missing, f))
        return;
    else if (v2->directory && !v2->is_root)
        cgroup_remedy_v2(places, missing, f);
    else if (v2->directory)
        finding_remedy(f, "mkdir /%s/job && echo $$ >/%s/job/cgroup.procs", v2->directory,
                       v2->directory);
}

void probe_cgroup(const struct probe_facts *p, struct finding *f)
{
    struct cgroup_mounts mounts;
    struct cgroup_places places;
    struct cgroup *c = NULL;
    bool v1 = false, v2 = false;
    if (cgroup_mounts_read(&mounts, &p->root) == 0) {
        for (size_t i = 0; i < mounts.count; i++)
            *(mounts.list[i].v2 ? &v2 : &v1) = true;
        cgroup_mounts_done(&mounts);
    }
    finding_ok(f, "exact", v1 && v2 ? "versions 1 and 2" : v1 ? "version 1" : "version 2");
    if (!v1 && !v2) {
        finding_missing(f, "no cgroups are mounted");
        finding_remedy(f, "mount -t cgroup2 none /sys/fs/cgroup");
        return;
    }
    if (cgroup_open_of(&c, &p->root, 0) < 0) {
        finding_missing(f, "the cgroup of toll is not visible here");
        finding_remedy(f, "a cgroup namespace (docker run --cgroupns=private)");
        return;
    }
    struct instance_list list = {0};
    uint64_t missing = BIT(ARRAY_LEN(wanted)) - 1;
    cgroup_collect(c, &list);
    for (size_t i = 0; list.count && i < ARRAY_LEN(wanted); i++)
        if (row_has(&list.items[0]->read, wanted[i].metric))
            missing &= ~BIT(i);
    instance_list_done(&list);
    if (!missing) {
        finding_detail(f, "%s", cgroup_name(c));
    } else if (cgroup_places_of_pid(&places, &p->root, 0) == 0) {
        cgroup_find_missing(p, &places, missing, cgroup_is_root(c), f);
        cgroup_places_done(&places);
    }
    cgroup_close(c);
}

/* ---- A cgroup for a job ---------------------------------------------------------------------- */

/* 0 or -errno. A recorded machine does not keep permissions: there, root alone may write. */
static int cgroup_try_write(const struct probe_facts *p, const struct cgroup_place *at)
{
    char path[4096];
    if (!p->root.live)
        return p->user == 0 ? 0 : -EACCES;
    if (faccessat(p->root.root, at->directory, W_OK | X_OK, AT_EACCESS) < 0)
        return -errno;
    snprintf(path, sizeof path, "%s/cgroup.procs", at->directory);
    return faccessat(p->root.root, path, W_OK, AT_EACCESS) < 0 ? -errno : 0;
}

void probe_own_cgroup(const struct probe_facts *p, struct finding *f)
{
    struct cgroup_places places;
    finding_ok(f, "exact", "toll run --own-cgroup always");
    if (cgroup_places_of_pid(&places, &p->root, 0) < 0) {
        finding_missing(f, "no cgroups are mounted");
        finding_remedy(f, "mount -t cgroup2 none /sys/fs/cgroup");
        return;
    }
    const struct cgroup_place *at = cgroup_place_main(&places);
    int r = cgroup_try_write(p, at);
    if (r == -EROFS) {
        finding_missing(f, "cgroups are mounted read-only");
        finding_remedy(f, "mount -o remount,rw /%.*s", (int)at->mount_length, at->directory);
    } else if (r < 0) {
        finding_missing(f, "the cgroup is not delegated to this user");
        if (p->has_systemd)
            finding_remedy(f, "%s", scope);
        else
            finding_remedy(f, "cd /%s && chown %u . cgroup.procs%s", at->directory,
                           (unsigned)p->user, at->v2 ? " cgroup.subtree_control" : "");
    }
    cgroup_places_done(&places);
}

/* ---- Limits ---------------------------------------------------------------------------------- */

/* What sets a limit is named where it is not the machine. */
static void limits_add_origin(struct buf *b, const struct limit *l)
{
    if (strcmp(l->by, "machine") != 0)
        buf_printf(b, " (%s)", l->by);
}

void probe_limits(const struct probe_facts *p, struct finding *f)
{
    struct limits l = {0};
    struct cgroup *c = NULL;
    finding_ok(f, "exact", "cgroups, affinity, rlimits");
    if (cgroup_open_of(&c, &p->root, 0) < 0)
        c = NULL;
    limits_read(&l, &p->root, 0, c);
    const struct limit *cpus = &l.of[LIMIT_CPUS], *memory = &l.of[LIMIT_MEMORY_BYTES];
    bool has_cpus = cpus->known && !cpus->unlimited;
    bool has_memory = memory->known && !memory->unlimited;
    if (has_cpus && has_memory) {
        struct buf text = {0};
        buf_double(&text, cpus->cores, 2);
        buf_puts(&text, cpus->cores == 1 ? " CPU" : " CPUs");
        limits_add_origin(&text, cpus);
        buf_puts(&text, ", ");
        buf_bytes(&text, (double)memory->value);
        limits_add_origin(&text, memory);
        finding_detail(f, "%s", text.data ? text.data : "");
        buf_done(&text);
    } else if (has_cpus || has_memory) {
        finding_partly(f, "the limit on %s is unknown", has_cpus ? "memory" : "CPUs");
    } else {
        finding_missing(f, "/proc lists neither CPUs nor memory");
    }
    if (!has_cpus || !has_memory)
        finding_remedy(f, "mount -t proc proc /proc");
    limits_done(&l);
    cgroup_close(c);
}

/* ---- Kills by the OOM killer ----------------------------------------------------------------- */

/* Whether a setting keeps the log from this user. In a pid namespace it is not read either, since
 * its pids mean nothing there. */
static bool oom_log_is_restricted(const struct probe_facts *p)
{
    char text[16];
    struct scan s;
    uint64_t on;
    CLEANUP_CLOSE int log = openat(p->root.root, "dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    return log < 0 && errno == EPERM &&
           probe_read(p, "sys/kernel/dmesg_restrict", text, sizeof text, &s) == 0 &&
           scan_u64(&s, &on) && on;
}

void probe_oom(const struct probe_facts *p, struct finding *f)
{
    struct cgroup *c = NULL;
    uint64_t kills;
    bool log = p->root.live &&
               kernel_log_killed(&p->root, getpid(), clock_mono(NULL)) != KERNEL_LOG_UNKNOWN;
    bool counter = cgroup_open_of(&c, &p->root, 0) == 0 && cgroup_oom_kills(c, &kills);
    cgroup_close(c);
    finding_ok(f, "exact",
               log == counter ? "kernel log, cgroup counter"
               : log          ? "kernel log"
                              : "cgroup counter");
    if (log || counter)
        return;
    if (p->root.live && oom_log_is_restricted(p)) {
        finding_missing(f, "only root can read the kernel log; no cgroup counter");
        finding_remedy(f, "sysctl kernel.dmesg_restrict=0");
        finding_needs_root(f, p);
    } else {
        finding_missing(f, "no kernel log, no cgroup counter");
        finding_remedy(f, probe_is_since(p, 4, 13) ? "a cgroup with the memory controller"
                                                   : "Linux 4.13 or later");
    }
}
