/* SPDX-License-Identifier: MIT
 * Checks of what is known of the processes of a job. */
#include "base/clock.h"
#include "doctor/doctor.h"
#include "engine/launch.h"
#include "source/pid_files.h"
#include "source/proc/task_records.h"

#include <fcntl.h>

enum { TEXT_BYTES = 16384 };

/* Why a file could not be read, for people. */
static const char *doctor_process_reason(int code)
{
    return code == -EACCES || code == -EPERM ? "not permitted"
           : code == -ENOENT                 ? "not there"
           : code == -EBADMSG                ? "not as expected"
           : code == -ENODATA                ? "empty"
                                             : strerror(-code);
}

/* ---- Files of each process: ours is read as theirs will be ----------------------------------- */

static int try_stat(struct scan text)
{
    struct pid_stat st;
    return parse_pid_stat(text, &st);
}

static int try_smaps_rollup(struct scan text)
{
    struct smaps_rollup rollup;
    return parse_smaps_rollup(text, &rollup);
}

static int try_io(struct scan text)
{
    struct pid_io io;
    return parse_pid_io(text, &io);
}

/* A kernel that does not keep these accounts shows zeros, for us who have just run. */
static int try_schedstat(struct scan text)
{
    struct schedstat waits;
    int r = parse_schedstat(text, &waits);
    return r == 0 && !waits.run_ns ? -ENODATA : r;
}

static const struct process_file {
    const char *path;
    const char *shown;
    int (*try)(struct scan text); /* 0 or -errno */
} stat_file = {"self/stat", "/proc/PID/stat", try_stat},
  rollup_file = {"self/smaps_rollup", "smaps_rollup", try_smaps_rollup},
  io_file = {"self/io", "/proc/PID/io", try_io},
  schedstat_file = {"self/schedstat", "/proc/PID/schedstat", try_schedstat};

/* Files of "self" may be there all the same: they are found by another way than by number. */
static bool lacks_pids(const struct doctor_facts *d, struct finding *f)
{
    const char *why = sysroot_why_no_pids(&d->root);
    if (!why)
        return false;
    finding_missing(f, "%s", why);
    finding_remedy(f, "mount -t proc proc /proc");
    return true;
}

static bool doctor_process_lacks(const struct doctor_facts *d, struct finding *f,
                                 const struct process_file *file, const char *remedy)
{
    char text[TEXT_BYTES];
    struct scan s;
    if (lacks_pids(d, f))
        return true;
    int r = doctor_read(d, file->path, text, sizeof text, &s);
    if (r == 0)
        r = file->try(s);
    if (r == 0)
        return false;
    finding_missing(f, "%s is %s", file->shown, doctor_process_reason(r));
    finding_remedy(f, "%s", remedy);
    return true;
}

static bool lacks_stat(const struct doctor_facts *d, struct finding *f)
{
    return doctor_process_lacks(d, f, &stat_file, "mount -t proc proc /proc");
}

void doctor_cpu(const struct doctor_facts *d, struct finding *f)
{
    uint64_t ns;
    finding_ok(f, "exact", "wait4 and the CPU clocks of processes");
    if (lacks_stat(d, f)) {
        if (sysroot_why_no_pids(&d->root))
            finding_partly(f, "wait4 alone: %s", sysroot_why_no_pids(&d->root));
        return;
    }
    if (d->started_child && !d->waited_child)
        finding_partly(f, "wait4 does not tell what a child used");
    if (d->root.live && clock_process_cpu(getpid(), &ns) < 0) {
        finding_ok(f, "exact", "wait4 and /proc/PID/stat");
        finding_partly(f, "no CPU clocks: in steps of 10 ms while it runs");
        finding_remedy(f, "a kernel with CONFIG_POSIX_TIMERS=y");
    }
}

void doctor_memory(const struct doctor_facts *d, struct finding *f)
{
    finding_ok(f, "sampled", "stat and status of each process");
    lacks_stat(d, f);
}

void doctor_pss(const struct doctor_facts *d, struct finding *f)
{
    finding_ok(f, "sampled", "PSS and USS of smaps_rollup");
    doctor_process_lacks(d, f, &rollup_file,
                         doctor_is_since(d, 4, 14) ? "a kernel with CONFIG_PROC_PAGE_MONITOR=y"
                                                   : "Linux 4.14 or later");
}

void doctor_io(const struct doctor_facts *d, struct finding *f)
{
    finding_ok(f, "exact", "io of each process and of toll itself");
    doctor_process_lacks(d, f, &io_file, "a kernel with CONFIG_TASK_IO_ACCOUNTING=y");
}

/* A thread that ends takes its waits along. */
void doctor_waits(const struct doctor_facts *d, struct finding *f)
{
    finding_ok(f, "lower bound", "schedstat of live threads");
    doctor_process_lacks(d, f, &schedstat_file, "a kernel with CONFIG_SCHEDSTATS=y");
}

/* ---- Their children, their ends, our descriptors --------------------------------------------- */

void doctor_children(const struct doctor_facts *d, struct finding *f)
{
    if (lacks_pids(d, f))
        return;
    if (faccessat(d->root.proc, "thread-self/children", R_OK, 0) == 0) {
        finding_ok(f, "exact", "children of each thread");
        return;
    }
    finding_ok(f, "exact", "all of /proc");
    finding_partly(f, "no children files: /proc is searched");
    finding_remedy(f, "a kernel with CONFIG_PROC_CHILDREN=y");
}

/* Their parent inherits their figures when it waits for them, which nobody who ignores SIGCHLD
 * does; a command gets that from whoever starts it. */
void doctor_unwaited(const struct doctor_facts *d, struct finding *f)
{
    finding_ok(f, "exact", "inherited by those who wait");
    if (!d->ignores_sigchld)
        return;
    f->quality = "lower bound";
    finding_partly(f, "SIGCHLD is ignored");
    finding_remedy(f, "env --default-signal=CHLD toll run …");
}

/* Ordinary users may have records of their own processes up to 2. */
static bool is_paranoid(const struct doctor_facts *d, uint64_t *ret_level)
{
    char text[32];
    struct scan s;
    return doctor_read(d, "sys/kernel/perf_event_paranoid", text, sizeof text, &s) == 0 &&
           scan_u64(&s, ret_level) && *ret_level > 2 &&
           !doctor_has_capability(d, CAP_NUMBER_PERFMON) &&
           !doctor_has_capability(d, CAP_NUMBER_SYS_ADMIN);
}

/* Those of --watch-exits, of ourselves here: they would begin with an exec. */
static int try_watch_exits(const struct doctor_facts *d)
{
    struct task_records records;
    bool is_in_kernel = faccessat(d->root.proc, "sys/kernel/perf_event_paranoid", F_OK, 0) == 0;
    if (!d->root.live)
        return is_in_kernel ? 0 : -ENOSYS;
    int r = task_records_open(&records, getpid());
    if (r == 0)
        task_records_close(&records);
    return r == -ENOSYS && is_in_kernel ? -EPERM : r; /* some sandboxes say so */
}

void doctor_watch_exits(const struct doctor_facts *d, struct finding *f)
{
    uint64_t level;
    finding_ok(f, "exact", "task records, with --watch-exits");
    int r = try_watch_exits(d);
    bool is_refused = r == -EACCES || r == -EPERM;
    if ((is_refused || !d->root.live) && is_paranoid(d, &level)) {
        finding_missing(f, "perf_event_paranoid is %llu", (unsigned long long)level);
        finding_remedy(f, "sysctl kernel.perf_event_paranoid=2");
    } else if (is_refused) {
        finding_missing(f, "perf_event_open is not permitted");
        finding_remedy(f, "allow the call perf_event_open (seccomp)");
    } else if (r == -ENOMEM) {
        finding_missing(f, "too little memory may be locked");
        finding_remedy(f, "sysctl kernel.perf_event_mlock_kb=516");
    } else if (r == -EMFILE) {
        finding_missing(f, "they need a descriptor for each CPU");
        finding_remedy(f, "ulimit -n 65536");
    } else if (r < 0) {
        finding_missing(f, "no perf_event_open: %s", strerror(-r));
        finding_remedy(f, "a kernel with CONFIG_PERF_EVENTS=y");
    }
}

void doctor_ends(const struct doctor_facts *d, struct finding *f)
{
    CLEANUP_CLOSE int pidfd = d->root.live ? launch_open_pidfd(getpid()) : -1;
    bool at_once = d->root.live ? pidfd >= 0 : doctor_is_since(d, 5, 3);
    bool status = d->started_child ? d->tells_exit_status : at_once && doctor_is_since(d, 6, 15);
    finding_ok(f, "exact", at_once ? "pidfd" : "/proc/PID/stat");
    if (at_once && status) {
        finding_detail(f, "with exit status");
        return;
    }
    if (at_once) {
        finding_partly(f, "at once, no exit status");
        finding_remedy(f, "Linux 6.15 or later");
        return;
    }
    f->quality = "sampled";
    finding_partly(f, "noticed late, no exit status");
    finding_remedy(f, doctor_is_since(d, 5, 3) ? "allow the call pidfd_open (seccomp)"
                                               : "Linux 5.3 or later; 6.15 for the exit status");
}

/* Max open files            1024                 524288               files */
static bool read_file_limit(const struct doctor_facts *d, uint64_t *ret_hard)
{
    char text[TEXT_BYTES];
    struct scan s, line;
    if (doctor_read(d, "self/limits", text, sizeof text, &s) < 0)
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

/* Up to four for each process. With fewer everything works, it only costs more. */
void doctor_open_files(const struct doctor_facts *d, struct finding *f)
{
    enum { PER_PROCESS = 4, FEW = 1024 };
    uint64_t hard;
    finding_ok(f, "", "hard limit");
    if (!read_file_limit(d, &hard)) {
        finding_unknown(f, "/proc/self/limits does not tell");
        return;
    }
    if (hard == UINT64_MAX)
        finding_detail(f, "unlimited");
    else
        finding_detail(f, "%llu", (unsigned long long)hard);
    if (hard >= FEW)
        return;
    finding_partly(f, "%llu, for about %llu processes; more cost more", (unsigned long long)hard,
                   (unsigned long long)hard / PER_PROCESS);
    finding_remedy(f, "ulimit -Hn 65536");
}
