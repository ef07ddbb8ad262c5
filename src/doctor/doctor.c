/* SPDX-License-Identifier: MIT */
#include "doctor/doctor.h"

#include "base/err.h"
#include "base/io/file.h"
#include "engine/launch.h"
#include "engine/settings.h"

#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

/* ==== Doctor ================================================================================== */

/* A check of which only the name is known yet. */
#define CHECK(word, words, is_essential)                                                           \
    {                                                                                              \
        .name = word, .title = words, .state = TOLL_CHECK_UNKNOWN, .essential = is_essential,      \
        .means = "", .quality = "", .detail = "", .remedy = ""                                     \
    }

/* THE list of checks: first a job's figures, then its cgroups, then the machine. */
static const struct {
    struct toll_check check;
    probe_function *probe;
} checks[] = {
    {CHECK("cpu", "CPU time", true), doctor_cpu},
    {CHECK("memory", "Resident memory", true), doctor_memory},
    {CHECK("pss", "Shared memory", false), doctor_pss},
    {CHECK("io", "I/O", true), doctor_io},
    {CHECK("waits", "Waits for a CPU", false), doctor_waits},
    {CHECK("children", "New processes", false), doctor_children},
    {CHECK("unwaited", "Short-lived processes", true), doctor_unwaited},
    {CHECK("watch-exits", "Every start and end", false), doctor_watch_exits},
    {CHECK("others", "Other users' processes", false), doctor_others},
    {CHECK("ends", "Ends of processes", false), doctor_ends},
    {CHECK("open-files", "Open files", false), doctor_open_files},
    {CHECK("network", "Network of a job", false), doctor_network},
    {CHECK("limits", "Limits", true), doctor_limits},
    {CHECK("cgroup", "Cgroup", false), doctor_cgroup},
    {CHECK("own-cgroup", "Cgroup for a job", false), doctor_own_cgroup},
    {CHECK("oom", "Kills by the kernel", false), doctor_oom},
    {CHECK("system", "CPUs, memory, load", true), doctor_system},
    {CHECK("pressure", "Pressure", false), doctor_pressure},
    {CHECK("disks", "Disks", true), doctor_disks},
    {CHECK("filesystems", "Filesystems", true), doctor_filesystems},
    {CHECK("interfaces", "Network interfaces", true), doctor_interfaces},
    {CHECK("sensors", "Temperature", false), doctor_sensors},
    {CHECK("energy", "Energy", false), doctor_energy},
    {CHECK("gpus", "GPUs", false), doctor_gpus},
    {CHECK("formats", "Formats", true), doctor_formats},
};

struct toll_diagnosis {
    struct finding findings[ARRAY_LEN(checks)]; /* own the texts */
    struct toll_check checks[ARRAY_LEN(checks)];
};

/* ---- What came of a probe -------------------------------------------------------------------- */

static void write_over(struct buf *b, const char *format, va_list args)
{
    char text[512];
    vsnprintf(text, sizeof text, format, args);
    buf_clear(b);
    buf_puts(b, text);
}

#define WRITE_OVER(b, format)                                                                      \
    do {                                                                                           \
        va_list args;                                                                              \
        va_start(args, format);                                                                    \
        write_over(b, format, args);                                                               \
        va_end(args);                                                                              \
    } while (0)

void finding_ok(struct finding *f, const char *quality, const char *means, ...)
{
    f->state = TOLL_CHECK_OK;
    f->quality = quality;
    WRITE_OVER(&f->means, means);
}

void finding_partly(struct finding *f, const char *detail, ...)
{
    f->state = TOLL_CHECK_PARTLY;
    WRITE_OVER(&f->detail, detail);
}

void finding_missing(struct finding *f, const char *detail, ...)
{
    f->state = TOLL_CHECK_MISSING;
    f->quality = "";
    WRITE_OVER(&f->detail, detail);
}

void finding_unknown(struct finding *f, const char *detail, ...)
{
    f->state = TOLL_CHECK_UNKNOWN;
    f->quality = "";
    WRITE_OVER(&f->detail, detail);
}

void finding_detail(struct finding *f, const char *format, ...)
{
    WRITE_OVER(&f->detail, format);
}

void finding_remedy(struct finding *f, const char *format, ...)
{
    WRITE_OVER(&f->remedy, format);
}

/* ---- The public calls ------------------------------------------------------------------------ */

static const char *text_of(const struct buf *b)
{
    return b->data ? b->data : "";
}

static int doctor_examine(struct toll_diagnosis *d, const struct doctor_facts *facts, size_t i)
{
    struct finding *f = &d->findings[i];
    *f = (struct finding){.state = TOLL_CHECK_UNKNOWN, .quality = ""};
    checks[i].probe(facts, f);
    if (buf_failed(&f->means) || buf_failed(&f->detail) || buf_failed(&f->remedy))
        return -ENOMEM;
    struct toll_check *c = &d->checks[i];
    *c = checks[i].check;
    c->state = f->state;
    c->means = text_of(&f->means);
    c->quality = f->quality;
    c->detail = text_of(&f->detail);
    c->remedy = text_of(&f->remedy);
    return 0;
}

const struct toll_check *toll_check_at(size_t i)
{
    return i < ARRAY_LEN(checks) ? &checks[i].check : NULL;
}

int toll_diagnosis_new(struct toll_diagnosis **ret, const char *root, struct toll_error *e)
{
    struct doctor_facts facts;
    if (!ret)
        return err_set_no_place(e);
    int r = doctor_facts_read(&facts, root, e);
    if (r < 0)
        return r;
    struct toll_diagnosis *d = calloc(1, sizeof *d);
    r = d ? 0 : -ENOMEM;
    for (size_t i = 0; r == 0 && i < ARRAY_LEN(checks); i++)
        r = doctor_examine(d, &facts, i);
    doctor_facts_done(&facts);
    if (r < 0) {
        toll_diagnosis_free(d);
        return err_set(e, r, "no memory to find out what can be measured");
    }
    *ret = d;
    return 0;
}

const struct toll_check *toll_diagnosis_at(const struct toll_diagnosis *d, size_t i)
{
    return d && i < ARRAY_LEN(checks) ? &d->checks[i] : NULL;
}

void toll_diagnosis_free(struct toll_diagnosis *d)
{
    for (size_t i = 0; d && i < ARRAY_LEN(checks); i++) {
        buf_done(&d->findings[i].means);
        buf_done(&d->findings[i].detail);
        buf_done(&d->findings[i].remedy);
    }
    free(d);
}

/* ==== Doctor facts ============================================================================ */

/* Facts that several checks rest on: the kernel, the user, the machine below. */

enum { TEXT_BYTES = 16384, CHILD_STATUS = 42 };

bool doctor_is_since(const struct doctor_facts *f, unsigned major, unsigned minor)
{
    return f->version >= major * 1000 + minor;
}

bool doctor_has_capability(const struct doctor_facts *f, unsigned number)
{
    return f->capabilities >> number & 1;
}

int doctor_read(const struct doctor_facts *f, const char *path, char *buf, size_t capacity,
                struct scan *ret)
{
    ssize_t n = file_read_at(f->root.proc, path, buf, capacity);
    if (n < 0)
        return (int)n;
    *ret = scan_text(buf, (size_t)n);
    return 0;
}

/* "6.18.44-amd64" */
static void read_release(struct doctor_facts *f)
{
    struct scan text;
    char buf[sizeof f->release];
    uint64_t major, minor;
    if (doctor_read(f, "sys/kernel/osrelease", buf, sizeof buf, &text) < 0)
        return;
    struct scan line = {0};
    scan_line(&text, &line);
    for (const char *c = line.at; c < line.end; c++) /* it is shown to people */
        f->release[c - line.at] = *c > ' ' && *c < 0x7F ? *c : '?';
    if (scan_u64(&line, &major) && scan_word(&line, ".") && scan_u64(&line, &minor) &&
        major < 1000 && minor < 1000)
        f->version = (unsigned)(major * 1000 + minor);
}

/* Uid: real, effective, …; CapEff and SigIgn as bits. */
static void read_identity(struct doctor_facts *f)
{
    char buf[TEXT_BYTES];
    struct scan text, line;
    uint64_t number;
    f->user = f->root.live ? geteuid() : (uid_t)-1;
    if (doctor_read(f, "self/status", buf, sizeof buf, &text) < 0)
        return;
    while (scan_line(&text, &line))
        if (scan_word(&line, "Uid:") && scan_u64(&line, &number) && scan_u64(&line, &number))
            f->user = (uid_t)number;
        else if (scan_word(&line, "CapEff:") && scan_hex(&line, &number))
            f->capabilities = number;
        else if (scan_word(&line, "SigIgn:") && scan_hex(&line, &number))
            f->ignores_sigchld = number >> (SIGCHLD - 1) & 1;
}

static void read_processor(struct doctor_facts *f)
{
    char buf[TEXT_BYTES];
    ssize_t n = file_read_at(f->root.proc, "cpuinfo", buf, sizeof buf - 1);
    buf[n > 0 ? n : 0] = '\0';
    f->is_virtual = strstr(buf, " hypervisor");
    f->is_amd = strstr(buf, "AuthenticAMD");
}

/* ---- A child to learn from ------------------------------------------------------------------- */

/* The arguments of clone3 that every kernel with it knows. */
struct clone_request {
    uint64_t flags, pidfd, child_tid, parent_tid, exit_signal, stack, stack_size, tls;
};

/* A child whose end is told by no signal, so that a program which counts its children is not
 * disturbed. It does nothing but end. Its pid, or -errno. */
static pid_t start_child(void)
{
#ifdef SYS_clone3
    struct clone_request request = {0};
    long pid = syscall(SYS_clone3, &request, sizeof request);
    if (pid == 0)
        for (;;)
            syscall(SYS_exit_group, CHILD_STATUS);
    return pid < 0 ? -errno : (pid_t)pid;
#else
    return -ENOSYS;
#endif
}

/* After it was reaped its pidfd tells how it ended to everybody. */
static void try_child(struct doctor_facts *f)
{
    int status = 0;
    struct rusage used;
    pid_t reaped, pid = start_child();
    if (pid < 0)
        return;
    CLEANUP_CLOSE int pidfd = launch_open_pidfd(pid);
    do
        reaped = wait4(pid, &status, __WALL, &used);
    while (reaped < 0 && errno == EINTR);
    f->started_child = true;
    f->waited_child = reaped == pid && WIFEXITED(status) && WEXITSTATUS(status) == CHILD_STATUS;
    f->tells_exit_status = asked_exit_status(pidfd, &status) && WIFEXITED(status) &&
                           WEXITSTATUS(status) == CHILD_STATUS;
}

/* ---- The whole ------------------------------------------------------------------------------- */

int doctor_facts_read(struct doctor_facts *f, const char *root, struct toll_error *e)
{
    *f = (struct doctor_facts){.root = SYSROOT_NONE};
    int r = sysroot_open(&f->root, root, e);
    if (r < 0)
        return r;
    read_release(f);
    read_identity(f);
    read_processor(f);
    f->has_systemd = faccessat(f->root.root, "run/systemd/system", F_OK, 0) == 0;
    if (f->root.live)
        try_child(f);
    return 0;
}

void doctor_facts_done(struct doctor_facts *f)
{
    sysroot_close(&f->root);
}
