/* SPDX-License-Identifier: MIT
 * The check of what may be known of other users' processes: whether they are seen at all (hidepid),
 * and whether the files that only their owner may read can be read. The kernel's ptrace_scope does
 * not matter for that: it is about stopping processes, not about reading of them. */
#include "base/file.h"
#include "engine/doctor.h"
#include "parse/comma_list.h"
#include "parse/mountinfo.h"
#include "parse/pid_status.h"

#include <stdio.h>

enum { TEXT_BYTES = 16384, MOST_PROCESSES = 20000 };

/* ---- How /proc is mounted -------------------------------------------------------------------- */

/* "rw,hidepid=2,gid=1000" or, since Linux 5.8, "hidepid=invisible" */
struct proc_mount {
    char hidepid[16]; /* "" when everybody is seen */
    bool has_group;
    uint64_t group; /* whose members see everybody */
};

static void take_option(struct proc_mount *m, struct scan option)
{
    if (scan_word(&option, "hidepid=")) {
        size_t length = min_u64((size_t)(option.end - option.at), sizeof m->hidepid - 1);
        memcpy(m->hidepid, option.at, length);
        m->hidepid[length] = '\0';
        if (strcmp(m->hidepid, "0") == 0 || strcmp(m->hidepid, "off") == 0)
            m->hidepid[0] = '\0';
    } else if (scan_word(&option, "gid=")) {
        m->has_group = scan_u64(&option, &m->group);
    }
}

static void take_options(struct proc_mount *m, struct scan options)
{
    struct scan option;
    while (comma_list_next(&options, &option))
        take_option(m, option);
}

static struct proc_mount read_proc_mount(const struct doctor_facts *d)
{
    static const char proc[] = "/proc";
    char text[4 * TEXT_BYTES];
    struct scan s;
    struct mountinfo line;
    struct proc_mount m = {0};
    if (doctor_read(d, "self/mountinfo", text, sizeof text, &s) < 0)
        return m;
    while (mountinfo_next(&s, &line)) {
        struct scan point = line.point;
        if (!scan_word(&point, proc) || !scan_done(&point))
            continue;
        m = (struct proc_mount){0}; /* the last one lies on top */
        take_options(&m, line.options);
        take_options(&m, line.super_options);
    }
    return m;
}

/* ---- Somebody else's process ----------------------------------------------------------------- */

struct search {
    const struct doctor_facts *d;
    unsigned looked_at;
    bool is_done;
    bool was_refused; /* a process is listed, but even its status is not shown */
    bool saw_other;
    bool read_other; /* also what is for its owner alone */
};

static bool may_read(const struct doctor_facts *d, const char *pid, const char *name)
{
    char path[64], text[4096];
    struct scan s;
    snprintf(path, sizeof path, "%.20s/%s", pid, name);
    return doctor_read(d, path, text, sizeof text, &s) == 0;
}

static void look_at(void *arg, const char *name)
{
    struct search *s = arg;
    char path[64], text[TEXT_BYTES];
    struct scan status, number = scan_string(name);
    uint64_t pid;
    uid_t user;
    if (s->is_done || !scan_u64(&number, &pid) || !scan_done(&number))
        return;
    s->is_done = ++s->looked_at >= MOST_PROCESSES;
    snprintf(path, sizeof path, "%llu/status", (unsigned long long)pid);
    int r = doctor_read(s->d, path, text, sizeof text, &status);
    s->was_refused |= r == -EACCES || r == -EPERM;
    if (r < 0 || parse_pid_user(status, &user) < 0 || user == s->d->user)
        return;
    s->saw_other = true;
    s->read_other = may_read(s->d, name, "io");
    s->is_done |= s->read_other; /* one may have ended meanwhile: the next one is asked */
}

/* ---- The check ------------------------------------------------------------------------------- */

static void say_hidden(const struct proc_mount *m, struct finding *f)
{
    finding_missing(f, "hidden by hidepid=%s of /proc", *m->hidepid ? m->hidepid : "?");
    if (m->has_group && m->group)
        finding_remedy(f, "a user of group %llu (gid= of /proc)", (unsigned long long)m->group);
    else
        finding_remedy(f, "mount -o remount,hidepid=0 /proc");
}

/* Two capabilities would do, CAP_SYS_PTRACE and CAP_DAC_READ_SEARCH; but a toll that has them from
 * its file reads every file for everybody, so they are not advised. A root that lacks the first is
 * in a container, and cannot give it to itself. */
static void say_no_io(const struct doctor_facts *d, struct finding *f)
{
    finding_partly(f, "no I/O, PSS, sockets");
    if (d->user == 0)
        finding_remedy(f, "docker run --cap-add=SYS_PTRACE");
    else
        finding_remedy(f, "sudo toll attach …");
}

void doctor_others(const struct doctor_facts *d, struct finding *f)
{
    struct proc_mount m = read_proc_mount(d);
    struct search s = {.d = d};
    finding_ok(f, "exact", "their files in /proc");
    file_each_entry_sorted(d->root.pids, look_at, &s);
    if (s.read_other)
        return;
    bool sees = doctor_has_capability(d, CAP_NUMBER_SYS_PTRACE);
    bool reads = sees && (doctor_has_capability(d, CAP_NUMBER_DAC_OVERRIDE) ||
                          doctor_has_capability(d, CAP_NUMBER_DAC_READ_SEARCH));
    if (!s.saw_other && (s.was_refused || (*m.hidepid && !sees)))
        say_hidden(&m, f);
    else if (s.saw_other || !reads)
        say_no_io(d, f);
    else
        finding_detail(f, "there are none now");
}
