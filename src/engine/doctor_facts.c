/* SPDX-License-Identifier: MIT
 * Facts that several checks rest on: the kernel, the user, the machine below. */
#include "base/err.h"
#include "base/file.h"
#include "engine/asked.h"
#include "engine/doctor.h"
#include "engine/launch.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

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
