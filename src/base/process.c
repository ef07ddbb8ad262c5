/* SPDX-License-Identifier: MIT */
#include "base/process.h"

#include "base/util.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* ==== Dynlib ================================================================================== */

static void *dynlib_opened(void *library, char *why, size_t size)
{
    const char *reason = library ? "" : dlerror();
    snprintf(why, size, "%s", reason ? reason : "unknown reason");
    return library;
}

void *dynlib_open(const char *name, char *why, size_t size)
{
    return dynlib_opened(dlopen(name, RTLD_NOW | RTLD_LOCAL), why, size);
}

void *dynlib_open_apart(const char *name, char *why, size_t size)
{
    return dynlib_opened(dlmopen(LM_ID_NEWLM, name, RTLD_NOW | RTLD_LOCAL), why, size);
}

void dynlib_close(void *library)
{
    if (library)
        dlclose(library);
}

size_t dynlib_find(void *library, const struct dynlib_symbol *symbols, size_t count,
                   void *functions)
{
    size_t found = 0;
    for (size_t i = 0; i < count; i++) {
        void *function = NULL;
        for (const char *const *name = symbols[i].names; *name && !function; name++)
            function = dlsym(library, *name);
        /* In C a pointer to a function is not a pointer to data; in POSIX they look alike. */
        memcpy((char *)functions + symbols[i].at, &function, sizeof function);
        found += function != NULL;
    }
    return found;
}

/* ==== Pidfd =================================================================================== */

int process_open_pidfd(pid_t pid)
{
#ifdef SYS_pidfd_open
    return (int)syscall(SYS_pidfd_open, pid, 0);
#else
    (void)pid;
    errno = ENOSYS;
    return -1;
#endif
}

/* PIDFD_GET_INFO of Linux 6.13 with the exit status of 6.15; older headers do not have it. */
struct pidfd_exit_info {
    uint64_t mask;
    uint64_t cgroup;
    uint32_t pid, group, parent;
    uint32_t ids[8];
    int32_t exit_code; /* once it was reaped */
};

#define PIDFD_EXIT_BIT (UINT64_C(1) << 3)
#define PIDFD_ASK      _IOWR(0xFF, 11, struct pidfd_exit_info)

bool process_exit_status(int pidfd, int *ret_status)
{
    struct pidfd_exit_info info = {.mask = PIDFD_EXIT_BIT};
    if (pidfd < 0 || ioctl(pidfd, PIDFD_ASK, &info) < 0 || !(info.mask & PIDFD_EXIT_BIT))
        return false;
    *ret_status = info.exit_code;
    return true;
}

/* ==== Signal name ============================================================================= */

const char *signal_name(int number)
{
    static const char *const names[] = {
        [SIGHUP] = "HUP",   [SIGINT] = "INT",       [SIGQUIT] = "QUIT",   [SIGILL] = "ILL",
        [SIGTRAP] = "TRAP", [SIGABRT] = "ABRT",     [SIGBUS] = "BUS",     [SIGFPE] = "FPE",
        [SIGKILL] = "KILL", [SIGUSR1] = "USR1",     [SIGSEGV] = "SEGV",   [SIGUSR2] = "USR2",
        [SIGPIPE] = "PIPE", [SIGALRM] = "ALRM",     [SIGTERM] = "TERM",   [SIGCHLD] = "CHLD",
        [SIGCONT] = "CONT", [SIGSTOP] = "STOP",     [SIGTSTP] = "TSTP",   [SIGTTIN] = "TTIN",
        [SIGTTOU] = "TTOU", [SIGURG] = "URG",       [SIGXCPU] = "XCPU",   [SIGXFSZ] = "XFSZ",
        [SIGPROF] = "PROF", [SIGVTALRM] = "VTALRM", [SIGWINCH] = "WINCH", [SIGIO] = "IO",
        [SIGPWR] = "PWR",   [SIGSYS] = "SYS",
    };
    return number > 0 && (size_t)number < ARRAY_LEN(names) ? names[number] : NULL;
}

/* ==== Quiet fork ============================================================================== */

enum { MOST_MS_TO_DIE = 50, MOST_HELPERS = 64 };

/* Pids of children that may live, 0 in free places. */
static _Atomic pid_t helpers[MOST_HELPERS];

static void helpers_replace(pid_t from, pid_t to)
{
    for (unsigned i = 0; i < MOST_HELPERS; i++) {
        pid_t expected = from;
        if (atomic_compare_exchange_strong(&helpers[i], &expected, to))
            return;
    }
}

bool quiet_fork_shares_memory(void)
{
    for (unsigned i = 0; i < MOST_HELPERS; i++) {
        pid_t pid = atomic_load(&helpers[i]);
        if (pid && (kill(pid, 0) == 0 || errno == EPERM))
            return true;
    }
    return false;
}

/* A fork without a signal at its end, which the C library does not know of. */
static pid_t fork_without_signal(void)
{
    return (pid_t)syscall(SYS_clone, 0UL, 0UL, 0UL, 0UL, 0UL); /* all 0: in any order */
}

/* name: NULL for a child that may outlive the thread that starts it. Signals stay blocked in the
 * child: a Ctrl-C is for the job, and handlers of the program must not run twice. */
static pid_t fork_and_run(pid_t (*how)(void), const char *name, int (*run)(void *arg), void *arg)
{
    sigset_t all, before;
    pid_t parent = getpid();
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pid_t pid = how();
    if (pid == 0) {
        if (name) {
            prctl(PR_SET_NAME, name);
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            if (getppid() != parent)
                _exit(0);
        }
        _exit(run(arg));
    }
    pid_t r = pid < 0 ? -errno : pid;
    if (pid > 0)
        helpers_replace(0, pid);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return r;
}

static bool is_only_thread(void)
{
    struct stat tasks;
    enum { LINKS_OF_DIRECTORY = 2 };
    return stat("/proc/self/task", &tasks) == 0 && tasks.st_nlink == LINKS_OF_DIRECTORY + 1;
}

pid_t quiet_fork(const char *name, int (*run)(void *arg), void *arg)
{
    return fork_and_run(fork_without_signal, name, run, arg);
}

pid_t quiet_fork_child(const char *name, int (*run)(void *arg), void *arg)
{
    return fork_and_run(is_only_thread() ? fork_without_signal : fork, name, run, arg);
}

/* ---- Children of init ------------------------------------------------------------------------ */

/* clone() by the name under which no sanitizer wraps it. The wrapper of the thread sanitizer takes
 * the child for one with a copy of the memory, and repairs its state of the thread for the child
 * and once more for us: from then on it either does not see which locks the thread takes, and
 * reports races that are none (gcc), or ends the program (clang). */
extern __typeof__(clone) __clone __attribute__((weak));

/* Returns when the child has ended or executed a program. */
static pid_t clone_sharing_memory(int (*run)(void *arg), void *stack_end, void *arg)
{
    return (__clone ? __clone : clone)(run, stack_end, CLONE_VM | CLONE_VFORK, arg);
}

/* What the process in between starts: `run`, or else the program at `path`. */
struct detour {
    int (*run)(void *arg);
    void *arg;
    const char *path;
    char *const *argv;
    const int *files;
    size_t file_count;
    char *stack_end; /* of the process that becomes the program */
    pid_t pid;       /* or -errno */
    int exec_result; /* -errno when the program could not be executed */
};

/* With a table of descriptors of its own, and our memory: system calls only. */
static int detour_become_program(void *arg)
{
    struct detour *d = arg;
    int moved[QUIET_PROGRAM_FILES];
    int first = STDERR_FILENO + 1, after = first + (int)d->file_count;
    for (size_t i = 0; i < d->file_count; i++) /* none is overwritten before it was moved */
        moved[i] = d->files[i] < 0 ? -1 : fcntl(d->files[i], F_DUPFD_CLOEXEC, after);
    for (size_t i = 0; i < d->file_count; i++)
        if (moved[i] < 0)
            close(first + (int)i);
        else
            dup2(moved[i], first + (int)i);
#ifdef SYS_close_range
    syscall(SYS_close_range, after, ~0U, 0);
#endif
    execve(d->path, d->argv, environ);
    d->exec_result = -errno;
    return 1;
}

/* In a process without an end signal that shares our memory, while we are suspended: its fork is
 * one that the C library knows of, and its child loses its parent at once. */
static int detour_start(void *arg)
{
    struct detour *d = arg;
    pid_t pid = d->run ? fork() : clone_sharing_memory(detour_become_program, d->stack_end, d);
    if (pid == 0)
        _exit(d->run(d->arg));
    d->pid = pid < 0 ? -errno : pid;
    return 0;
}

static pid_t detour_take(struct detour *d)
{
    enum { STACK_BYTES = 256 * 1024, BOTH_BYTES = 2 * STACK_BYTES };
    sigset_t all, before;
    char *stack = mmap(NULL, BOTH_BYTES, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
    if (stack == MAP_FAILED)
        return -errno;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    d->pid = -EAGAIN;
    d->stack_end = stack + STACK_BYTES;
    pid_t between = clone_sharing_memory(detour_start, stack + BOTH_BYTES, d);
    if (between < 0)
        d->pid = -errno;
    else
        waitpid(between, NULL, __WALL);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    munmap(stack, BOTH_BYTES);
    return d->pid > 0 && d->exec_result < 0 ? d->exec_result : d->pid;
}

pid_t quiet_fork_whole(int (*run)(void *arg), void *arg)
{
    if (is_only_thread())
        return fork_and_run(fork_without_signal, NULL, run, arg);
    struct detour d = {.run = run, .arg = arg};
    pid_t pid = detour_take(&d);
    if (pid > 0)
        helpers_replace(0, pid);
    return pid;
}

pid_t quiet_fork_program(const char *path, char *const *argv, const int *files, size_t count)
{
    struct detour d = {.path = path, .argv = argv, .files = files, .file_count = count};
    int is_subreaper = 0;
    if (count > QUIET_PROGRAM_FILES)
        return -EINVAL;
    /* Pid 1 and subreapers become the parent of processes that have lost theirs. */
    if (is_only_thread() &&
        (getpid() == 1 || (prctl(PR_GET_CHILD_SUBREAPER, &is_subreaper) == 0 && is_subreaper)))
        return -ECHILD;
    return detour_take(&d);
}

void quiet_fork_end(pid_t pid, unsigned grace_ms)
{
    for (unsigned ms = 0; ms < grace_ms + MOST_MS_TO_DIE; ms++) {
        if (waitpid(pid, NULL, WNOHANG | __WALL) != 0)
            break; /* it has ended, and its pid may be in use again */
        if (ms == grace_ms)
            kill(pid, SIGKILL);
        usleep(1000);
    }
    helpers_replace(pid, 0);
}
