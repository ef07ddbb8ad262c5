/* SPDX-License-Identifier: MIT
 * What can be measured of the processes of a job, and of those of other users. */
#include "source/probe.h"

#include "base/clock.h"
#include "base/process.h"
#include "source/kernel_file.h"
#include "source/pid_files.h"
#include "source/proc/task_records.h"

#include <fcntl.h>
#include <stdio.h>

enum { TEXT_BYTES = 16384, MOST_PROCESSES = 20000 };

/* ---- Files of each process: our own are read and parsed like those of members ---------------- */

static int probe_parse_stat(struct scan text)
{
    struct pid_stat st;
    return parse_pid_stat(text, &st);
}

static int probe_parse_rollup(struct scan text)
{
    struct smaps_rollup rollup;
    return parse_smaps_rollup(text, &rollup);
}

static int probe_parse_io(struct scan text)
{
    struct pid_io io;
    return parse_pid_io(text, &io);
}

/* A kernel that does not keep these accounts shows zeros, even for us who have just run. */
static int probe_parse_schedstat(struct scan text)
{
    struct schedstat waits;
    int r = parse_schedstat(text, &waits);
    return r == 0 && !waits.run_ns ? -ENODATA : r;
}

static const struct probe_file {
    const char *path;
    const char *shown;
    int (*parse)(struct scan text); /* 0 or -errno */
} stat_file = {"self/stat", "/proc/PID/stat", probe_parse_stat},
  rollup_file = {"self/smaps_rollup", "smaps_rollup", probe_parse_rollup},
  io_file = {"self/io", "/proc/PID/io", probe_parse_io},
  schedstat_file = {"self/schedstat", "/proc/PID/schedstat", probe_parse_schedstat};

/* Whether /proc has processes by number. Files of "self" may be there without them. */
static bool probe_has_pids(const struct probe_facts *p, struct finding *f)
{
    const char *why = sysroot_why_no_pids(&p->root);
    if (!why)
        return true;
    finding_missing(f, "%s", why);
    finding_remedy(f, "mount -t proc proc /proc");
    return false;
}

static bool probe_has_file(const struct probe_facts *p, struct finding *f,
                           const struct probe_file *file, const char *remedy)
{
    char text[TEXT_BYTES];
    struct scan s;
    if (!probe_has_pids(p, f))
        return false;
    int r = probe_read(p, file->path, text, sizeof text, &s);
    if (r == 0)
        r = file->parse(s);
    if (r == 0)
        return true;
    finding_missing(f, "%s: %s", file->shown,
                    r == -EACCES || r == -EPERM ? "permission denied"
                    : r == -ENOENT              ? "no such file"
                    : r == -EBADMSG             ? "unexpected format"
                    : r == -ENODATA             ? "no data"
                                                : strerror(-r));
    finding_remedy(f, "%s", remedy);
    return false;
}

void probe_cpu(const struct probe_facts *p, struct finding *f)
{
    uint64_t ns;
    finding_ok(f, "exact", "wait4 and CPU clocks of processes");
    if (!probe_has_file(p, f, &stat_file, "mount -t proc proc /proc")) {
        if (sysroot_why_no_pids(&p->root))
            finding_partly(f, "wait4 only: %s", sysroot_why_no_pids(&p->root));
        return;
    }
    if (p->started_child && !p->waited_child)
        finding_partly(f, "wait4 does not report what child processes used");
    if (p->root.live && clock_process_cpu(getpid(), &ns) < 0) {
        finding_ok(f, "exact", "wait4 and /proc/PID/stat");
        finding_partly(f, "no CPU clocks: running processes in steps of 10 ms");
        finding_remedy(f, "a kernel with CONFIG_POSIX_TIMERS=y");
    }
}

void probe_memory(const struct probe_facts *p, struct finding *f)
{
    finding_ok(f, "sampled", "/proc/PID/stat and status");
    probe_has_file(p, f, &stat_file, "mount -t proc proc /proc");
}

void probe_pss(const struct probe_facts *p, struct finding *f)
{
    finding_ok(f, "sampled", "PSS and USS from smaps_rollup");
    probe_has_file(p, f, &rollup_file,
                   probe_is_since(p, 4, 14) ? "a kernel with CONFIG_PROC_PAGE_MONITOR=y"
                                            : "Linux 4.14 or later");
}

void probe_io(const struct probe_facts *p, struct finding *f)
{
    finding_ok(f, "exact", "/proc/PID/io");
    probe_has_file(p, f, &io_file, "a kernel with CONFIG_TASK_IO_ACCOUNTING=y");
}

/* A lower bound: the waits of a thread are lost when it ends. */
void probe_waits(const struct probe_facts *p, struct finding *f)
{
    finding_ok(f, "lower bound", "schedstat of running threads");
    probe_has_file(p, f, &schedstat_file, "a kernel with CONFIG_SCHEDSTATS=y");
}

/* ---- Children and ends of processes, our descriptors ----------------------------------------- */

void probe_children(const struct probe_facts *p, struct finding *f)
{
    if (!probe_has_pids(p, f))
        return;
    if (faccessat(p->root.proc, "thread-self/children", R_OK, 0) == 0) {
        finding_ok(f, "exact", "lists of child processes in /proc");
        return;
    }
    finding_ok(f, "exact", "scan of /proc");
    finding_partly(f, "no lists of child processes: all of /proc is scanned");
    finding_remedy(f, "a kernel with CONFIG_PROC_CHILDREN=y");
}

/* A parent inherits the figures of a child when it waits for it. One that ignores SIGCHLD does not
 * wait, and a command inherits that setting from toll. */
void probe_unwaited(const struct probe_facts *p, struct finding *f)
{
    finding_ok(f, "exact", "counted when their parent waits for them");
    if (!p->ignores_sigchld)
        return;
    f->quality = "lower bound";
    finding_partly(f, "SIGCHLD is ignored: children are not waited for");
    finding_remedy(f, "env --default-signal=CHLD toll run …");
}

/* The records of --watch-exits are opened for toll itself: they would begin with an exec. */
void probe_watch_exits(const struct probe_facts *p, struct finding *f)
{
    static const char setting[] = "sys/kernel/perf_event_paranoid";
    struct task_records records;
    char text[32];
    struct scan s;
    uint64_t level;
    bool is_in_kernel = faccessat(p->root.proc, setting, F_OK, 0) == 0, has_events = false;
    int r = is_in_kernel ? 0 : -ENOSYS;
    if (p->root.live) {
        r = task_records_open(&records, getpid());
        has_events = r == 0 && records.events;
        if (r == 0)
            task_records_close(&records);
        if (r == -ENOSYS && is_in_kernel) /* some sandboxes answer so */
            r = -EPERM;
    }
    bool is_refused = r == -EACCES || r == -EPERM;
    /* Users without privileges may have records of their own processes up to level 2. */
    bool is_paranoid = probe_read(p, setting, text, sizeof text, &s) == 0 && scan_u64(&s, &level) &&
                       level > 2 && !probe_has_capability(p, CAP_NUMBER_PERFMON) &&
                       !probe_has_capability(p, CAP_NUMBER_SYS_ADMIN);
    finding_ok(f, "exact",
               has_events ? "process events (netlink), with --watch-exits"
                          : "perf task records, with --watch-exits");
    if ((is_refused || !p->root.live) && is_paranoid) {
        finding_missing(f, "perf_event_paranoid is %llu", (unsigned long long)level);
        finding_remedy(f, "sysctl kernel.perf_event_paranoid=2");
        finding_needs_root(f, p);
    } else if (is_refused) {
        finding_missing(f, "perf_event_open is not permitted");
        finding_remedy(f, "allow the call perf_event_open (seccomp)");
    } else if (r == -ENOMEM) {
        finding_missing(f, "the limit on locked memory is too low");
        finding_remedy(f, "sysctl kernel.perf_event_mlock_kb=516");
    } else if (r == -EMFILE) {
        finding_missing(f, "one open file per CPU is needed");
        finding_remedy(f, "ulimit -n 65536");
    } else if (r < 0) {
        finding_missing(f, "perf_event_open: %s", strerror(-r));
        finding_remedy(f, "a kernel with CONFIG_PERF_EVENTS=y");
    }
}

void probe_ends(const struct probe_facts *p, struct finding *f)
{
    CLEANUP_CLOSE int pidfd = p->root.live ? process_open_pidfd(getpid()) : -1;
    bool at_once = p->root.live ? pidfd >= 0 : probe_is_since(p, 5, 3);
    bool status = p->started_child ? p->has_exit_status : at_once && probe_is_since(p, 6, 15);
    finding_ok(f, "exact", at_once ? "pidfd" : "/proc/PID/stat");
    if (at_once && status) {
        finding_detail(f, "with exit status");
    } else if (at_once) {
        finding_partly(f, "no exit status of processes that toll did not start");
        finding_remedy(f, "Linux 6.15 or later");
    } else {
        f->quality = "sampled";
        finding_partly(f, "noticed late, and without exit status");
        finding_remedy(f, probe_is_since(p, 5, 3) ? "allow the call pidfd_open (seccomp)"
                                                  : "Linux 5.3 or later; 6.15 for the exit status");
    }
}

/* Max open files            1024                 524288               files */
static bool probe_read_file_limit(const struct probe_facts *p, uint64_t *ret_hard)
{
    char text[TEXT_BYTES];
    struct scan s, line;
    if (probe_read(p, "self/limits", text, sizeof text, &s) < 0)
        return false;
    while (scan_line(&s, &line)) {
        if (!scan_word(&line, "Max open files"))
            continue;
        scan_blanks(&line);
        if (!scan_skip_fields(&line, 1))
            return false;
        scan_blanks(&line);
        *ret_hard = UINT64_MAX;
        return scan_word(&line, "unlimited") || scan_u64(&line, ret_hard);
    }
    return false;
}

/* Up to four descriptors are kept for each process. With fewer everything works but costs more. */
void probe_open_files(const struct probe_facts *p, struct finding *f)
{
    enum { PER_PROCESS = 4, FEW = 1024 };
    uint64_t hard;
    finding_ok(f, "", "hard limit");
    if (!probe_read_file_limit(p, &hard))
        finding_unknown(f, "/proc/self/limits cannot be read");
    else if (hard == UINT64_MAX)
        finding_detail(f, "unlimited");
    else if (hard >= FEW)
        finding_detail(f, "%llu", (unsigned long long)hard);
    else {
        finding_partly(f, "%llu: enough for %llu processes; measuring more takes longer",
                       (unsigned long long)hard, (unsigned long long)hard / PER_PROCESS);
        finding_remedy(f, "ulimit -Hn 65536");
    }
}

/* ---- Processes of other users ---------------------------------------------------------------- */

/* Whether other users' processes are seen at all (hidepid), and whether files that only their owner
 * may read can be read. The kernel's ptrace_scope does not matter for that: it is about stopping
 * processes, not about reading their files. */

/* "rw,hidepid=2,gid=1000" or, since Linux 5.8, "hidepid=invisible" */
struct proc_mount {
    char hidepid[16]; /* "" when all processes are seen */
    bool has_group;
    uint64_t group; /* members of this group see all processes */
};

static void proc_mount_take_options(struct proc_mount *m, struct scan options)
{
    struct scan option;
    while (comma_list_next(&options, &option))
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

static struct proc_mount proc_mount_read(const struct probe_facts *p)
{
    char text[4 * TEXT_BYTES];
    struct scan s;
    struct mountinfo line;
    struct proc_mount m = {0};
    if (probe_read(p, "self/mountinfo", text, sizeof text, &s) < 0)
        return m;
    while (mountinfo_next(&s, &line)) {
        struct scan point = line.point;
        if (!scan_word(&point, "/proc") || !scan_done(&point))
            continue;
        m = (struct proc_mount){0}; /* the last one lies on top */
        proc_mount_take_options(&m, line.options);
        proc_mount_take_options(&m, line.super_options);
    }
    return m;
}

struct others_search {
    const struct probe_facts *facts;
    unsigned looked_at;
    bool is_done;
    bool was_refused; /* a process is listed, but its status may not be read */
    bool saw_other;
    bool read_other; /* a file that only its owner may read */
};

static void others_visit(void *arg, const char *name)
{
    struct others_search *o = arg;
    char path[64], text[TEXT_BYTES];
    struct scan s, number = scan_string(name);
    uint64_t pid;
    uid_t user;
    if (o->is_done || !scan_u64(&number, &pid) || !scan_done(&number))
        return;
    o->is_done = ++o->looked_at >= MOST_PROCESSES;
    snprintf(path, sizeof path, "%llu/status", (unsigned long long)pid);
    int r = probe_read(o->facts, path, text, sizeof text, &s);
    o->was_refused |= r == -EACCES || r == -EPERM;
    if (r < 0 || parse_pid_user(s, &user) < 0 || user == o->facts->user)
        return;
    o->saw_other = true;
    snprintf(path, sizeof path, "%.20s/io", name);
    o->read_other = probe_read(o->facts, path, text, sizeof text, &s) == 0;
    o->is_done |= o->read_other; /* otherwise it may have ended meanwhile: try the next one */
}

/* Two capabilities would do, CAP_SYS_PTRACE and CAP_DAC_READ_SEARCH. They are not advised, since a
 * toll that has them from its file reads every file for every user. A root that lacks the first is
 * in a container, and cannot give it to itself. */
void probe_others(const struct probe_facts *p, struct finding *f)
{
    struct proc_mount m = proc_mount_read(p);
    struct others_search o = {.facts = p};
    finding_ok(f, "exact", "their files in /proc");
    file_each_entry_sorted(p->root.pids, others_visit, &o);
    if (o.read_other)
        return;
    bool sees = probe_has_capability(p, CAP_NUMBER_SYS_PTRACE);
    bool reads = sees && (probe_has_capability(p, CAP_NUMBER_DAC_OVERRIDE) ||
                          probe_has_capability(p, CAP_NUMBER_DAC_READ_SEARCH));
    if (!o.saw_other && (o.was_refused || (*m.hidepid && !sees))) {
        finding_missing(f, "hidden by hidepid=%s of /proc", *m.hidepid ? m.hidepid : "?");
        if (m.has_group && m.group)
            finding_remedy(f, "a user of group %llu (gid= of /proc)", (unsigned long long)m.group);
        else
            finding_remedy(f, "mount -o remount,hidepid=0 /proc");
    } else if (o.saw_other || !reads) {
        finding_partly(f, "no I/O, PSS, network");
        finding_remedy(f, "%s",
                       p->user == 0 ? "docker run --cap-add=SYS_PTRACE" : "sudo toll attach …");
        finding_needs_root(f, p);
    } else {
        finding_detail(f, "no other user has processes now");
    }
}
