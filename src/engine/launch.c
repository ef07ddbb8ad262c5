/* SPDX-License-Identifier: MIT */
#include "engine/launch.h"

#include "base/clock.h"
#include "base/err.h"
#include "base/io/file.h"
#include "base/memory.h"
#include "base/process.h"
#include "base/util.h"
#include "engine/tracker.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <linux/sched.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

/* ==== Environment ============================================================================= */

int environment_add(struct environment *e, const char *variable)
{
    char *copy = strdup(variable);
    if (!copy || !ARRAY_GROW(e->more, e->count)) {
        free(copy);
        return -ENOMEM;
    }
    e->more[e->count++] = copy;
    return 0;
}

static bool is_replaced(const struct environment *e, const char *variable)
{
    for (size_t i = 0; i < e->count; i++) {
        size_t name = strcspn(e->more[i], "=") + 1;
        if (strncmp(variable, e->more[i], name) == 0)
            return true;
    }
    return false;
}

char **environment_make(const struct environment *e)
{
    size_t count = 0, kept = 0;
    while (environ && environ[count])
        count++;
    char **all = calloc(count + e->count + 1, sizeof *all);
    if (!all)
        return NULL;
    for (size_t i = 0; i < count; i++)
        if (!is_replaced(e, environ[i]))
            all[kept++] = environ[i];
    for (size_t i = 0; i < e->count; i++)
        all[kept++] = e->more[i];
    return all;
}

void environment_done(struct environment *e)
{
    for (size_t i = 0; i < e->count; i++)
        free(e->more[i]);
    free(e->more);
    *e = (struct environment){0};
}

/* ==== Launch ================================================================================== */

#define LOOK_AFTER_CHILD_NS (20 * NS_PER_MS)
#define WAIT_AT_MOST_NS     (10 * NS_PER_SECOND) /* where nothing says when the command runs */
#define LOOK_AT_NAME_NS     NS_PER_MS

/* No thread has this number. */
#define NOTHING_HELD FUTEX_TID_MASK

/* What the child is called until exec has given it the name of the program's file, which has no
 * slash. That is the last that exec does: the files of this program are closed by then. */
#define NAME_BEFORE_EXEC "exec/"

/* What the child leaves for its parent through shared memory: a write would count as the command's,
 * and a pipe that closes with exec stays open when another thread of this program forks meanwhile.
 *
 * The word is a robust futex that the child holds: the kernel marks it when the child gives up its
 * memory, by exec or by its end. */
struct message {
    int exec_errno; /* why exec failed, or 0 */
    _Atomic uint32_t held;
    _Atomic uint32_t gate; /* 1: the child waits before exec */
    struct robust_list entry;
    struct robust_list_head list;
};

static void hold_until_exec(struct message *m)
{
    prctl(PR_SET_NAME, NAME_BEFORE_EXEC);
    m->entry.next = &m->list.list;
    m->list = (struct robust_list_head){
        .list.next = &m->entry,
        .futex_offset = (long)offsetof(struct message, held) -
                        (long)offsetof(struct message, entry),
    };
    if (syscall(SYS_set_robust_list, &m->list, sizeof m->list) == 0) {
        atomic_store(&m->held, (uint32_t)syscall(SYS_gettid) | FUTEX_WAITERS);
    } else {
        /* A filter of system calls refuses it. */
        atomic_store(&m->held, NOTHING_HELD);
        syscall(SYS_futex, &m->held, FUTEX_WAKE, 1, NULL, NULL, 0);
    }
}

/* A fork, not a vfork: the kernel's high-water mark survives exec, and a forked child has the pages
 * it touches, a vforked one all of ours. */
static _Noreturn void launch_become(char *const argv[], char *const environment[],
                                    const struct toll_launch *options, struct message *m)
{
    hold_until_exec(m);
    /* Waits at the gate; not for ever, since the parent may be killed meanwhile. */
    const struct timespec a_while = {.tv_nsec = LOOK_AFTER_CHILD_NS};
    uint64_t give_up_ns = clock_mono(NULL) + WAIT_AT_MOST_NS;
    while (atomic_load(&m->gate) && clock_mono(NULL) < give_up_ns)
        syscall(SYS_futex, &m->gate, FUTEX_WAIT, 1, &a_while, NULL, 0);
    if (options && options->ignore_sigchld)
        signal(SIGCHLD, SIG_IGN);
    if (options && options->signal_mask)
        sigprocmask(SIG_SETMASK, options->signal_mask, NULL);
    execvpe(argv[0], argv, environment);
    m->exec_errno = errno;
    _exit(127);
}

static bool is_stopped_or_ended(pid_t pid)
{
    siginfo_t info = {0};
    return waitid(P_PID, (id_t)pid, &info, WSTOPPED | WEXITED | WNOHANG | WNOWAIT) == 0 &&
           info.si_pid;
}

/* Also true where it cannot be known. */
static bool may_have_executed(pid_t pid)
{
    char path[32], text[64];
    snprintf(path, sizeof path, "/proc/%d/comm", (int)pid);
    ssize_t n = file_read_at(AT_FDCWD, path, text, sizeof text);
    return n <= 0 || n != sizeof NAME_BEFORE_EXEC ||
           memcmp(text, NAME_BEFORE_EXEC "\n", (size_t)n) != 0;
}

/* Until the child has executed the command, or ended. A Ctrl-Z may stop it before it comes to that:
 * then it is for the caller to stop too, and not to sit here.
 *
 * The mark on the futex comes when exec begins to replace the memory. A child that loses its CPU at
 * that moment still has the name and the files of this program, which would count as the command's.
 */
static void wait_for_exec(struct message *m, pid_t child)
{
    uint64_t give_up_ns = clock_mono(NULL) + WAIT_AT_MOST_NS;
    uint32_t held;
    while (!((held = atomic_load(&m->held)) & FUTEX_OWNER_DIED) || !may_have_executed(child)) {
        if (held == NOTHING_HELD && may_have_executed(child))
            return;
        const struct timespec until_look = {
            .tv_nsec = held == NOTHING_HELD || held & FUTEX_OWNER_DIED ? LOOK_AT_NAME_NS
                                                                       : LOOK_AFTER_CHILD_NS};
        if (syscall(SYS_futex, &m->held, FUTEX_WAIT, held, &until_look, NULL, 0) == 0 ||
            errno == EAGAIN)
            continue;
        if (is_stopped_or_ended(child) || clock_mono(NULL) >= give_up_ns)
            return;
    }
}

/* A fork whose child is born in a cgroup of version 2 (Linux 5.7). A sandbox may refuse the call,
 * as does a cgroup that may not take it. */
static pid_t fork_into_cgroup(int cgroup)
{
#if defined(SYS_clone3) && defined(CLONE_INTO_CGROUP)
    struct clone_args args = {
        .flags = CLONE_INTO_CGROUP,
        .exit_signal = SIGCHLD,
        .cgroup = (uint64_t)cgroup,
    };
    long pid = syscall(SYS_clone3, &args, sizeof args);
    return pid < 0 ? -errno : (pid_t)pid;
#else
    (void)cgroup;
    return -ENOSYS;
#endif
}

/* Forks; the child is the command, or has left the reason in *m, when this returns. */
static pid_t launch_start(char *const argv[], char *const environment[],
                          const struct toll_launch *options, const struct launch_hook *hook,
                          struct message *m, struct toll_error *e)
{
    bool is_called = hook->call && hook->is_needed;
    atomic_store(&m->gate, is_called);
    pid_t pid = hook->cgroup >= 0 ? fork_into_cgroup(hook->cgroup) : -ENOSYS;
    bool born_inside = pid >= 0;
    if (pid < 0) {
        is_called = hook->call && (hook->is_needed || hook->cgroup >= 0);
        atomic_store(&m->gate, is_called);
        pid = fork();
    }
    if (pid == 0)
        launch_become(argv, environment, options, m);
    if (pid < 0)
        return err_set(e, -errno, "cannot start a process: %s", strerror(errno));
    if (is_called) {
        int r = hook->call(hook->arg, pid, born_inside, e);
        if (r < 0) { /* it is a copy of this program still */
            kill(pid, SIGKILL);
            while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
                ;
            return r;
        }
        atomic_store(&m->gate, 0);
        syscall(SYS_futex, &m->gate, FUTEX_WAKE, 1, NULL, NULL, 0);
    }
    wait_for_exec(m, pid);
    return pid;
}

int launch(struct launched *ret, char *const argv[], char *const environment[],
           struct toll_launch *options, const struct launch_hook *hook, struct toll_error *e)
{
    if (!argv || !argv[0] || !*argv[0])
        return err_set(e, -EINVAL, "no command given");
    struct sigaction child = {0};
    if (sigaction(SIGCHLD, NULL, &child) == 0 &&
        (child.sa_handler == SIG_IGN || (child.sa_flags & SA_NOCLDWAIT)))
        return err_set(
            e, -EINVAL,
            "cannot run a command: this program ignores SIGCHLD, so it cannot wait for children");
    if (prctl(PR_SET_CHILD_SUBREAPER, 1) < 0)
        return err_set(e, -errno, "cannot become a subreaper: %s", strerror(errno));
    struct message *shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE,
                                  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED)
        return err_set(e, -errno, "cannot start a process: %s", strerror(errno));
    static const struct launch_hook no_hook = {.cgroup = -1};
    pid_t pid = launch_start(argv, environment ? environment : environ, options,
                             hook ? hook : &no_hook, shared, e);
    int exec_errno = shared->exec_errno;
    munmap(shared, sizeof *shared);
    if (pid < 0)
        return pid;
    if (exec_errno) {
        while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
            ;
        if (options)
            options->exec_errno = exec_errno;
        return err_set(e, -exec_errno, "cannot run '%s': %s", argv[0], strerror(exec_errno));
    }
    *ret = (struct launched){
        .pid = pid,
        .pidfd = process_open_pidfd(pid),
    };
    return 0;
}
