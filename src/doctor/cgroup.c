/* SPDX-License-Identifier: MIT
 * Checks of cgroups and of what is set by them. */
#include "source/cgroup/cgroup.h"
#include "base/clock.h"
#include "doctor/doctor.h"
#include "sink/words.h"
#include "source/cgroup/limits.h"
#include "source/cgroup/place.h"

#include <fcntl.h>
#include <stdio.h>

/* What gives a job a cgroup of its own where systemd runs. */
static const char scope[] = "systemd-run --user --scope -p Delegate=yes toll run …";

/* ---- Figures of the cgroup ------------------------------------------------------------------- */

/* "version 2", "version 1", "versions 1 and 2"; NULL: none is mounted. */
static const char *doctor_cgroup_versions(const struct doctor_facts *d)
{
    struct cgroup_mounts mounts;
    bool v1 = false, v2 = false;
    if (cgroup_mounts_read(&mounts, &d->root) < 0)
        return NULL;
    for (size_t i = 0; i < mounts.count; i++)
        *(mounts.list[i].v2 ? &v2 : &v1) = true;
    cgroup_mounts_done(&mounts);
    return v1 && v2 ? "versions 1 and 2" : v2 ? "version 2" : v1 ? "version 1" : NULL;
}

static const struct wanted_figure {
    enum metric_id metric;
    const char *what;
    enum cgroup_controller controller;
    const char *controller_name; /* of version 2 */
} wanted[] = {
    {cgroup_cpu_seconds, "CPU", CGROUP_CPUACCT, "cpu"},
    {cgroup_memory_bytes, "memory", CGROUP_MEMORY, "memory"},
    {cgroup_tasks_count, "tasks", CGROUP_PIDS, "pids"},
};

static void doctor_cgroup_add_word(struct buf *b, const char *between, const char *word)
{
    buf_printf(b, "%s%s", b->length ? between : "", word);
}

/* With version 1: a cgroup of one's own in the hierarchies in which we are at the root, where they
 * are mounted side by side as usual. */
static bool remedy_v1(const struct cgroup_places *places, uint64_t missing, struct finding *f)
{
    struct buf names = {0};
    unsigned count = 0;
    for (size_t i = 0; i < ARRAY_LEN(wanted); i++) {
        const struct cgroup_place *p = &places->at[wanted[i].controller];
        static const char usual[] = "sys/fs/cgroup/";
        if (!(missing >> i & 1) || !p->directory || p->v2 || !p->is_root ||
            strncmp(p->directory, usual, sizeof usual - 1) != 0)
            continue;
        const char *name = p->directory + sizeof usual - 1;
        char word[64];
        snprintf(word, sizeof word, "%.*s", (int)strcspn(name, "/"), name);
        doctor_cgroup_add_word(&names, ",", word);
        count++;
    }
    if (count) {
        const char *open = count > 1 ? "{" : "", *close = count > 1 ? "}" : "";
        finding_remedy(f,
                       "mkdir /sys/fs/cgroup/%s%s%s/job && echo $$ | tee "
                       "/sys/fs/cgroup/%s%s%s/job/cgroup.procs",
                       open, names.data ? names.data : "", close, open,
                       names.data ? names.data : "", close);
    }
    buf_done(&names);
    return count > 0;
}

static void remedy_v2(const struct cgroup_places *places, uint64_t missing, struct finding *f)
{
    const struct cgroup_place *p = &places->at[CGROUP_UNIFIED];
    struct buf names = {0};
    for (size_t i = 0; i < ARRAY_LEN(wanted); i++)
        if (missing >> i & 1)
            buf_printf(&names, "%s+%s", names.length ? " " : "", wanted[i].controller_name);
    const char *words = names.data ? names.data : "", *slash = strrchr(p->directory, '/');
    if (slash && p->directory[p->mount_length]) /* else its parent is not to be seen from here */
        finding_remedy(f, "echo \"%s\" >/%.*s/cgroup.subtree_control", words,
                       (int)(slash - p->directory), p->directory);
    else
        finding_remedy(f, "\"%s\" in cgroup.subtree_control of the parent, on the host", words);
    buf_done(&names);
}

static void say_missing(const struct doctor_facts *d, const struct cgroup_places *places,
                        uint64_t missing, bool is_root, struct finding *f)
{
    struct buf what = {0};
    for (size_t i = 0; i < ARRAY_LEN(wanted); i++)
        if (missing >> i & 1)
            doctor_cgroup_add_word(&what, ", ", wanted[i].what);
    bool all = missing == BIT(ARRAY_LEN(wanted)) - 1;
    const struct cgroup_place *v2 = &places->at[CGROUP_UNIFIED];
    if (is_root)
        finding_missing(f, "toll is in the root, whose figures are the machine's");
    else if (all)
        finding_missing(f, "no figures of %s", what.data ? what.data : "it");
    else
        finding_partly(f, "no figures of %s", what.data ? what.data : "it");
    buf_done(&what);
    if (d->has_systemd)
        finding_remedy(f, "%s", scope);
    else if (!remedy_v1(places, missing, f)) {
        if (v2->directory && !v2->is_root)
            remedy_v2(places, missing, f);
        else if (v2->directory)
            finding_remedy(f, "mkdir /%s/job && echo $$ >/%s/job/cgroup.procs", v2->directory,
                           v2->directory);
    }
}

static uint64_t figures_missing(struct cgroup *c)
{
    struct instance_list list = {0};
    uint64_t missing = BIT(ARRAY_LEN(wanted)) - 1;
    cgroup_collect(c, &list);
    for (size_t i = 0; list.count && i < ARRAY_LEN(wanted); i++)
        if (row_has(&list.items[0]->read, wanted[i].metric))
            missing &= ~BIT(i);
    instance_list_done(&list);
    return missing;
}

void doctor_cgroup(const struct doctor_facts *d, struct finding *f)
{
    struct cgroup *c = NULL;
    struct cgroup_places places;
    const char *kind = doctor_cgroup_versions(d);
    finding_ok(f, "exact", "%s", kind ? kind : "version 2");
    if (!kind || cgroup_open_of(&c, &d->root, 0) < 0) {
        finding_missing(f, kind ? "toll is outside of what is mounted" : "no cgroups are mounted");
        finding_remedy(f, kind ? "a cgroup namespace (docker run --cgroupns=private)"
                               : "mount -t cgroup2 none /sys/fs/cgroup");
        return;
    }
    uint64_t missing = figures_missing(c);
    if (!missing)
        finding_detail(f, "%s", cgroup_name(c));
    else if (cgroup_places_of_pid(&places, &d->root, 0) == 0) {
        say_missing(d, &places, missing, cgroup_is_root(c), f);
        cgroup_places_done(&places);
    }
    cgroup_close(c);
}

/* ---- A cgroup for a job ---------------------------------------------------------------------- */

/* 0 or -errno. The permissions of a recorded machine are not kept: there it is root's. */
static int try_to_write(const struct doctor_facts *d, const struct cgroup_place *p)
{
    char path[4096];
    if (!d->root.live)
        return d->user == 0 ? 0 : -EACCES;
    if (faccessat(d->root.root, p->directory, W_OK | X_OK, AT_EACCESS) < 0)
        return -errno;
    snprintf(path, sizeof path, "%s/cgroup.procs", p->directory);
    return faccessat(d->root.root, path, W_OK, AT_EACCESS) < 0 ? -errno : 0;
}

void doctor_own_cgroup(const struct doctor_facts *d, struct finding *f)
{
    struct cgroup_places places;
    finding_ok(f, "exact", "mkdir, attach --cgroup");
    if (cgroup_places_of_pid(&places, &d->root, 0) < 0) {
        finding_missing(f, "no cgroups are mounted");
        finding_remedy(f, "mount -t cgroup2 none /sys/fs/cgroup");
        return;
    }
    const struct cgroup_place *p = cgroup_place_main(&places);
    int r = try_to_write(d, p);
    if (r == -EROFS) {
        finding_missing(f, "cgroups are mounted read-only");
        finding_remedy(f, "mount -o remount,rw /%.*s", (int)p->mount_length, p->directory);
    } else if (r < 0) {
        finding_missing(f, "the cgroup is not delegated to this user");
        if (d->has_systemd)
            finding_remedy(f, "%s", scope);
        else
            finding_remedy(f, "cd /%s && chown %u . cgroup.procs%s", p->directory,
                           (unsigned)d->user, p->v2 ? " cgroup.subtree_control" : "");
    }
    cgroup_places_done(&places);
}

/* ---- Limits ---------------------------------------------------------------------------------- */

static void add_by(struct buf *b, const struct limit *l)
{
    if (strcmp(l->by, "machine") != 0)
        buf_printf(b, " (%s)", l->by);
}

/* Who sets them is said where it is not the machine. */
static void describe_limits(const struct limits *l, struct finding *f)
{
    const struct limit *cpus = &l->of[LIMIT_CPUS], *memory = &l->of[LIMIT_MEMORY_BYTES];
    struct buf text = {0};
    buf_double(&text, cpus->cores, 2);
    buf_puts(&text, cpus->cores == 1 ? " CPU" : " CPUs");
    add_by(&text, cpus);
    buf_puts(&text, ", ");
    human_bytes(&text, (double)memory->value);
    add_by(&text, memory);
    finding_detail(f, "%s", text.data ? text.data : "");
    buf_done(&text);
}

void doctor_limits(const struct doctor_facts *d, struct finding *f)
{
    struct limits l = {0};
    struct cgroup *c = NULL;
    finding_ok(f, "exact", "cgroups, affinity, rlimits");
    if (cgroup_open_of(&c, &d->root, 0) < 0)
        c = NULL;
    limits_read(&l, &d->root, 0, c);
    bool cpus = l.of[LIMIT_CPUS].known && !l.of[LIMIT_CPUS].unlimited;
    bool memory = l.of[LIMIT_MEMORY_BYTES].known && !l.of[LIMIT_MEMORY_BYTES].unlimited;
    if (cpus && memory)
        describe_limits(&l, f);
    else if (cpus || memory)
        finding_partly(f, "it is not known how %s may be used", cpus ? "much memory" : "many CPUs");
    else
        finding_missing(f, "/proc tells neither of CPUs nor of memory");
    if (!cpus || !memory)
        finding_remedy(f, "mount -t proc proc /proc");
    limits_done(&l);
    cgroup_close(c);
}

/* ---- Kills for want of memory ---------------------------------------------------------------- */

/* Whether it is the setting that keeps the log from us, not a pid namespace in which its pids mean
 * nothing. */
static bool is_log_restricted(const struct doctor_facts *d)
{
    char text[16];
    struct scan s;
    uint64_t on;
    CLEANUP_CLOSE int log = openat(d->root.root, "dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    return log < 0 && errno == EPERM &&
           doctor_read(d, "sys/kernel/dmesg_restrict", text, sizeof text, &s) == 0 &&
           scan_u64(&s, &on) && on;
}

void doctor_oom(const struct doctor_facts *d, struct finding *f)
{
    struct cgroup *c = NULL;
    uint64_t kills;
    bool log = d->root.live &&
               kernel_log_killed(&d->root, getpid(), clock_mono(NULL)) != KERNEL_LOG_UNKNOWN;
    bool counter = cgroup_open_of(&c, &d->root, 0) == 0 && cgroup_oom_kills(c, &kills);
    cgroup_close(c);
    bool either = log == counter;
    finding_ok(f, "exact", "%s%s%s", log || either ? "its log" : "", either ? ", " : "",
               counter || either ? "counter of the cgroup" : "");
    if (log || counter)
        return;
    if (d->root.live && is_log_restricted(d)) {
        finding_missing(f, "its log is for root, no counter");
        finding_remedy(f, "sysctl kernel.dmesg_restrict=0");
    } else {
        finding_missing(f, "neither log nor counter to read");
        finding_remedy(f, doctor_is_since(d, 4, 13) ? "a cgroup with the memory controller"
                                                    : "Linux 4.13 or later");
    }
}
