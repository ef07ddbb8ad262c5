/* SPDX-License-Identifier: MIT */
#include "base/process.h"

#include "base/io/file.h"
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
    if (library)
        return library;
    const char *said = dlerror();
    snprintf(why, size, "%s", said ? said : "unknown reason");
    return NULL;
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

static void *dynlib_find_symbol(void *library, const struct dynlib_symbol *s)
{
    for (const char *const *name = s->names; *name; name++) {
        void *function = dlsym(library, *name);
        if (function)
            return function;
    }
    return NULL;
}

size_t dynlib_find(void *library, const struct dynlib_symbol *symbols, size_t count,
                   void *functions)
{
    size_t found = 0;
    for (size_t i = 0; i < count; i++) {
        void *function = dynlib_find_symbol(library, &symbols[i]);
        /* A pointer to a function is no pointer to data in C; in POSIX they look alike. */
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

/* Those that may live, 0 where there is none. */
static _Atomic pid_t helpers[MOST_HELPERS];

static void replace_in_list(pid_t from, pid_t to)
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

pid_t quiet_fork(void)
{
    pid_t pid = (pid_t)syscall(SYS_clone, 0UL, 0UL, 0UL, 0UL, 0UL); /* all 0: in any order */
    if (pid > 0)
        replace_in_list(0, pid);
    return pid;
}

static bool is_only_thread(void)
{
    struct stat tasks;
    enum { OF_A_DIRECTORY = 2 };
    return stat("/proc/self/task", &tasks) == 0 && tasks.st_nlink == OF_A_DIRECTORY + 1;
}

/* clone() by the name under which no sanitizer wraps it. The wrapper of the thread sanitizer takes
 * the child for one with a copy of the memory, and brings what it knows of the thread in order for
 * the child and once more for us: from then on it either does not see which locks the thread takes,
 * and reports races that are none (gcc), or ends the program (clang). */
extern __typeof__(clone) __clone __attribute__((weak));

/* Returns when the child has ended or executed a program. */
static pid_t clone_sharing_memory(int (*run)(void *arg), void *stack_end, void *arg)
{
    return (__clone ? __clone : clone)(run, stack_end, CLONE_VM | CLONE_VFORK, arg);
}

struct detour {
    int (*run)(void *arg);
    void *arg;
    pid_t pid; /* or -errno */
};

/* In a process without an end signal that shares our memory, while we are suspended: its fork is
 * one that the C library knows of, and the child loses its parent at once. */
static int take_detour(void *arg)
{
    struct detour *d = arg;
    pid_t pid = fork();
    if (pid == 0)
        _exit(d->run(d->arg));
    d->pid = pid < 0 ? -errno : pid;
    return 0;
}

/* Runs a process in between that shares our memory. *result becomes -errno where it cannot be had.
 * The second stack is for a process that it starts itself. */
static void run_in_between(int (*run)(void *arg), void *arg, char **ret_second_stack_end,
                           pid_t *result)
{
    enum { STACK_BYTES = 256 * 1024, BOTH_BYTES = 2 * STACK_BYTES };
    char *stack = mmap(NULL, BOTH_BYTES, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
    if (stack == MAP_FAILED) {
        *result = -errno;
        return;
    }
    if (ret_second_stack_end)
        *ret_second_stack_end = stack + STACK_BYTES;
    pid_t between = clone_sharing_memory(run, stack + BOTH_BYTES, arg);
    if (between < 0)
        *result = -errno;
    else
        waitpid(between, NULL, __WALL);
    munmap(stack, BOTH_BYTES);
}

static pid_t fork_by_detour(int (*run)(void *arg), void *arg)
{
    struct detour d = {.run = run, .arg = arg, .pid = -EAGAIN};
    run_in_between(take_detour, &d, NULL, &d.pid);
    return d.pid;
}

pid_t quiet_fork_whole(int (*run)(void *arg), void *arg)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pid_t pid;
    if (is_only_thread()) {
        pid = quiet_fork();
        if (pid == 0)
            _exit(run(arg));
        if (pid < 0)
            pid = -errno;
    } else {
        pid = fork_by_detour(run, arg);
        if (pid > 0)
            replace_in_list(0, pid);
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return pid;
}

struct program {
    const char *path;
    char *const *argv;
    const int *files;
    size_t file_count;
    char *stack_end; /* of the process that becomes it */
    pid_t pid;       /* or -errno */
    int exec_result; /* -errno, where it was not executed */
};

/* With a table of descriptors of its own, and our memory: system calls only. */
static int become_program(void *arg)
{
    struct program *p = arg;
    int moved[QUIET_PROGRAM_FILES];
    int first = STDERR_FILENO + 1, after = first + (int)p->file_count;
    for (size_t i = 0; i < p->file_count; i++) /* none is overwritten before it was moved */
        moved[i] = p->files[i] < 0 ? -1 : fcntl(p->files[i], F_DUPFD_CLOEXEC, after);
    for (size_t i = 0; i < p->file_count; i++)
        if (moved[i] < 0)
            close(first + (int)i);
        else
            dup2(moved[i], first + (int)i);
#ifdef SYS_close_range
    syscall(SYS_close_range, after, ~0U, 0);
#endif
    execve(p->path, p->argv, environ);
    p->exec_result = -errno;
    return 1;
}

static int quiet_fork_start_program(void *arg)
{
    struct program *p = arg;
    pid_t pid = clone_sharing_memory(become_program, p->stack_end, p);
    p->pid = pid < 0 ? -errno : pid;
    return 0;
}

/* Processes that have lost their parent become ours. */
static bool adopts_orphans(void)
{
    int is_subreaper = 0;
    return getpid() == 1 || (prctl(PR_GET_CHILD_SUBREAPER, &is_subreaper) == 0 && is_subreaper);
}

pid_t quiet_fork_program(const char *path, char *const *argv, const int *files, size_t count)
{
    struct program p = {.path = path, .argv = argv, .files = files, .file_count = count};
    sigset_t all, before;
    if (count > QUIET_PROGRAM_FILES)
        return -EINVAL;
    if (is_only_thread() && adopts_orphans())
        return -ECHILD;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    run_in_between(quiet_fork_start_program, &p, &p.stack_end, &p.pid);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return p.pid > 0 && p.exec_result < 0 ? p.exec_result : p.pid;
}

void quiet_fork_end(pid_t pid)
{
    replace_in_list(pid, 0);
    if (waitpid(pid, NULL, WNOHANG | __WALL) != 0)
        return; /* it is gone, and its number may be another's */
    kill(pid, SIGKILL);
    for (unsigned ms = 0; ms < MOST_MS_TO_DIE && waitpid(pid, NULL, WNOHANG | __WALL) == 0; ms++)
        usleep(1000);
}

struct kept_two {
    int first, second;
};

static void close_other(void *arg, const char *name)
{
    const struct kept_two *kept = arg;
    struct scan s = scan_string(name);
    uint64_t fd;
    if (scan_u64(&s, &fd) && fd != (uint64_t)kept->first && fd != (uint64_t)kept->second)
        close((int)fd);
}

void quiet_fork_close_all_but(int fd)
{
#ifdef SYS_close_range
    bool below = fd == 0 || syscall(SYS_close_range, 0, fd - 1, 0) == 0;
    if (below && syscall(SYS_close_range, fd + 1, ~0U, 0) == 0)
        return;
#endif
    struct kept_two kept = {fd, open("/proc/self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
    if (kept.second < 0)
        return;
    file_each_entry(kept.second, close_other, &kept);
    close(kept.second);
}
