/* SPDX-License-Identifier: MIT
 * Makes calls of a program fail, to be loaded with LD_PRELOAD.
 *
 *   TOLL_FAULT=malloc:17              the 17th malloc gives NULL, with ENOMEM
 *   TOLL_FAULT=write:3+:EIO,fork:1    every write from the 3rd on, and the first fork
 *   TOLL_FAULT=write:2:SHORT          the 2nd write takes half of what it is given
 *   TOLL_FAULT_FIRED=FILE             made when a fault has come up
 *
 * Only the process that was started so is troubled: its children neither inherit the variables nor
 * count. Calls are counted from main() on. */
#undef _FILE_OFFSET_BITS /* open and open64 are two names here */

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

enum kind {
    K_MALLOC,
    K_CALLOC,
    K_REALLOC,
    K_OPEN,
    K_READ,
    K_PREAD,
    K_WRITE,
    K_FORK,
    K_EPOLL,
    K_TIMERFD,
    K_SIGNALFD,
    K_PIPE,
    K_MMAP,
    K_POLL,
    K_WAITID,
    K_WAIT4,
    KINDS
};

static const struct {
    const char *name;
    int usual; /* errno */
} kinds[KINDS] = {
    [K_MALLOC] = {"malloc", ENOMEM},
    [K_CALLOC] = {"calloc", ENOMEM},
    [K_REALLOC] = {"realloc", ENOMEM},
    [K_OPEN] = {"open", EMFILE},
    [K_READ] = {"read", EIO},
    [K_PREAD] = {"pread", EIO},
    [K_WRITE] = {"write", ENOSPC},
    [K_FORK] = {"fork", EAGAIN},
    [K_EPOLL] = {"epoll_create1", EMFILE},
    [K_TIMERFD] = {"timerfd_create", EMFILE},
    [K_SIGNALFD] = {"signalfd", EMFILE},
    [K_PIPE] = {"pipe2", EMFILE},
    [K_MMAP] = {"mmap", ENOMEM},
    [K_POLL] = {"poll", ENOMEM},
    [K_WAITID] = {"waitid", EINVAL},
    [K_WAIT4] = {"wait4", EINVAL},
};

static const struct {
    const char *name;
    int number;
} errnos[] = {
    {"ENOMEM", ENOMEM}, {"EMFILE", EMFILE}, {"ENFILE", ENFILE}, {"EIO", EIO},
    {"ENOSPC", ENOSPC}, {"EINTR", EINTR},   {"EAGAIN", EAGAIN}, {"EACCES", EACCES},
    {"ENOENT", ENOENT}, {"ESRCH", ESRCH},   {"EPIPE", EPIPE},   {"EINVAL", EINVAL},
    {"EPERM", EPERM},   {"ENOSYS", ENOSYS},
};

static struct fault {
    unsigned long at; /* 0 = none */
    bool and_after;
    bool is_short;
    int error;
    unsigned long seen;
} faults[KINDS];

static pid_t troubled; /* 0 until main is about to run */
static char fired[4096];

/* ---- What was asked for ---------------------------------------------------------------------- */

static void read_error(struct fault *f, const char *word, size_t length)
{
    f->is_short = length == 5 && strncmp(word, "SHORT", 5) == 0;
    for (size_t i = 0; i < sizeof errnos / sizeof errnos[0]; i++)
        if (strlen(errnos[i].name) == length && strncmp(word, errnos[i].name, length) == 0)
            f->error = errnos[i].number;
}

static void read_fault(const char *text, size_t length)
{
    for (unsigned k = 0; k < KINDS; k++) {
        size_t name = strlen(kinds[k].name);
        if (name >= length || strncmp(text, kinds[k].name, name) != 0 || text[name] != ':')
            continue;
        char *end;
        struct fault *f = &faults[k];
        f->at = strtoul(text + name + 1, &end, 10);
        f->error = kinds[k].usual;
        f->and_after = *end == '+';
        end += f->and_after;
        if (*end == ':')
            read_error(f, end + 1, (size_t)(text + length - end - 1));
        return;
    }
}

__attribute__((constructor)) static void begin(void)
{
    const char *wanted = getenv("TOLL_FAULT");
    const char *path = getenv("TOLL_FAULT_FIRED");
    while (wanted && *wanted) {
        size_t length = strcspn(wanted, ",");
        read_fault(wanted, length);
        wanted += length;
        wanted += *wanted == ',';
    }
    if (path && strlen(path) < sizeof fired)
        strcpy(fired, path);
    unsetenv("LD_PRELOAD");
    unsetenv("TOLL_FAULT");
    unsetenv("TOLL_FAULT_FIRED");
    troubled = getpid();
}

/* Whether this call fails; errno is then set. */
static bool fails(enum kind k)
{
    struct fault *f = &faults[k];
    if (!f->at || !troubled || getpid() != troubled)
        return false;
    f->seen++;
    if (f->seen != f->at && !(f->and_after && f->seen > f->at))
        return false;
    if (*fired)
        syscall(SYS_close, syscall(SYS_open, fired, O_CREAT | O_WRONLY | O_CLOEXEC, 0666));
    errno = f->error;
    return true;
}

/* The function that would have been called. */
#define REAL(name) real(&real_##name, #name)

static void *real(void **kept, const char *name)
{
    if (!*kept)
        *kept = dlsym(RTLD_NEXT, name);
    return *kept;
}

/* ---- The calls ------------------------------------------------------------------------------- */

#define FORWARD(type, name, parameters, arguments, kind, failed)                                   \
    type name parameters;                                                                          \
    type name parameters                                                                           \
    {                                                                                              \
        static void *real_##name;                                                                  \
        if (fails(kind))                                                                           \
            return failed;                                                                         \
        return ((type(*) parameters)REAL(name))arguments;                                          \
    }

#pragma GCC diagnostic ignored "-Wpedantic" /* data to function pointers: dlsym means it so */
#pragma GCC diagnostic ignored "-Wredundant-decls"

FORWARD(void *, malloc, (size_t size), (size), K_MALLOC, NULL)
FORWARD(void *, calloc, (size_t n, size_t size), (n, size), K_CALLOC, NULL)
FORWARD(void *, realloc, (void *p, size_t size), (p, size), K_REALLOC, NULL)
FORWARD(ssize_t, read, (int fd, void *data, size_t n), (fd, data, n), K_READ, -1)
FORWARD(ssize_t, pread, (int fd, void *data, size_t n, off_t at), (fd, data, n, at), K_PREAD, -1)
FORWARD(ssize_t, pread64, (int fd, void *data, size_t n, off64_t at), (fd, data, n, at), K_PREAD,
        -1)
FORWARD(pid_t, fork, (void), (), K_FORK, -1)
FORWARD(int, epoll_create1, (int flags), (flags), K_EPOLL, -1)
FORWARD(int, timerfd_create, (clockid_t clock, int flags), (clock, flags), K_TIMERFD, -1)
FORWARD(int, signalfd, (int fd, const sigset_t *mask, int flags), (fd, mask, flags), K_SIGNALFD, -1)
FORWARD(int, pipe2, (int ends[2], int flags), (ends, flags), K_PIPE, -1)
FORWARD(int, waitid, (idtype_t type, id_t id, siginfo_t *info, int options),
        (type, id, info, options), K_WAITID, -1)
FORWARD(pid_t, wait4, (pid_t pid, int *status, int options, struct rusage *usage),
        (pid, status, options, usage), K_WAIT4, -1)
FORWARD(int, poll, (struct pollfd * fds, nfds_t n, int timeout), (fds, n, timeout), K_POLL, -1)
FORWARD(void *, mmap, (void *p, size_t n, int prot, int flags, int fd, off_t at),
        (p, n, prot, flags, fd, at), K_MMAP, MAP_FAILED)
FORWARD(void *, mmap64, (void *p, size_t n, int prot, int flags, int fd, off64_t at),
        (p, n, prot, flags, fd, at), K_MMAP, MAP_FAILED)

ssize_t write(int fd, const void *data, size_t n);
ssize_t write(int fd, const void *data, size_t n)
{
    static void *real_write;
    if (fails(K_WRITE)) {
        if (!faults[K_WRITE].is_short)
            return -1;
        n -= n / 2;
    }
    return ((ssize_t(*)(int, const void *, size_t))REAL(write))(fd, data, n);
}

#define FORWARD_OPEN(name)                                                                         \
    int name(const char *path, int flags, ...);                                                    \
    int name(const char *path, int flags, ...)                                                     \
    {                                                                                              \
        static void *real_##name;                                                                  \
        va_list rest;                                                                              \
        va_start(rest, flags);                                                                     \
        int mode = flags & O_CREAT ? va_arg(rest, int) : 0;                                        \
        va_end(rest);                                                                              \
        if (fails(K_OPEN))                                                                         \
            return -1;                                                                             \
        return ((int (*)(const char *, int, ...))REAL(name))(path, flags, mode);                   \
    }

#define FORWARD_OPENAT(name)                                                                       \
    int name(int dir, const char *path, int flags, ...);                                           \
    int name(int dir, const char *path, int flags, ...)                                            \
    {                                                                                              \
        static void *real_##name;                                                                  \
        va_list rest;                                                                              \
        va_start(rest, flags);                                                                     \
        int mode = flags & O_CREAT ? va_arg(rest, int) : 0;                                        \
        va_end(rest);                                                                              \
        if (fails(K_OPEN))                                                                         \
            return -1;                                                                             \
        return ((int (*)(int, const char *, int, ...))REAL(name))(dir, path, flags, mode);         \
    }

FORWARD_OPEN(open)
FORWARD_OPEN(open64)
FORWARD_OPENAT(openat)
FORWARD_OPENAT(openat64)
