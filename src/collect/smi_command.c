/* SPDX-License-Identifier: MIT
 *
 * Up to its end the helper makes system calls only: the program around us may have threads, and one
 * of them may hold any lock when we fork. */
#include "collect/smi_command.h"

#include "base/clock.h"
#include "base/quiet_fork.h"
#include "base/util.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

enum {
    NOT_EXECUTED = 127, /* what a shell says */
    MOST_MS_TO_ANSWER = 500,
    MOST_MS_TO_LEAVE = 200,
};

struct smi_request {
    uint64_t serial;
    uint64_t deadline_ms;
    uint32_t count;
    char words[4096 - 24]; /* the path and the arguments, a zero behind each */
};

struct smi_answer {
    uint64_t serial;
    int64_t status; /* as smi_command_run says */
    uint64_t length;
    char text[SMI_TEXT_BYTES]; /* sent up to its length */
};

/* ---- In the helper --------------------------------------------------------------------------- */

static _Noreturn void become_command(struct smi_request *r, int out, pid_t parent)
{
    char *argv[SMI_ARGUMENTS + 2];
    char *word = r->words;
    uint32_t i = 0;
    for (; i < r->count && i <= SMI_ARGUMENTS; i++, word += strlen(word) + 1)
        argv[i] = word;
    argv[i] = NULL;
    setsid(); /* a Ctrl-C is meant for the job */
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent || dup2(out, STDOUT_FILENO) < 0)
        _exit(NOT_EXECUTED);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    execve(argv[0], argv, environ);
    _exit(NOT_EXECUTED);
}

static uint64_t ms_left(uint64_t until_ns)
{
    return left_u64(until_ns, clock_mono(NULL)) / NS_PER_MS;
}

/* Reads until the command has closed its end. 0, -ETIME, or -EPIPE when nobody waits for it. */
static int take_text(int in, int socket, uint64_t until_ns, struct smi_answer *a)
{
    char beyond[4096];
    for (;;) {
        struct pollfd fds[] = {{.fd = in, .events = POLLIN}, {.fd = socket, .events = POLLRDHUP}};
        uint64_t ms = ms_left(until_ns);
        if (!ms)
            return -ETIME;
        if (poll(fds, ARRAY_LEN(fds), (int)min_u64(ms, 60000)) < 0 && errno != EINTR)
            return -errno;
        if (fds[1].revents)
            return -EPIPE;
        if (!fds[0].revents)
            continue;
        size_t room = sizeof a->text - a->length;
        ssize_t n = room ? read(in, a->text + a->length, room) : read(in, beyond, sizeof beyond);
        if (n <= 0)
            return n == 0 ? 0 : -errno;
        a->length += room ? (size_t)n : 0;
    }
}

/* A command may close its output and go on: that is waited for as long. */
static int take_status(pid_t pid, uint64_t until_ns)
{
    int status;
    pid_t done;
    while ((done = waitpid(pid, &status, WNOHANG | __WALL)) == 0 && ms_left(until_ns))
        usleep(1000);
    if (done != pid)
        return -ETIME;
    if (WIFSIGNALED(status))
        return 128 + WTERMSIG(status);
    return WEXITSTATUS(status) == NOT_EXECUTED ? -ENOENT : WEXITSTATUS(status);
}

static void run_command(struct smi_request *r, int socket, struct smi_answer *a)
{
    int ends[2];
    uint64_t until_ns = clock_mono(NULL) + r->deadline_ms * NS_PER_MS;
    a->length = 0;
    a->status = -EIO;
    if (pipe2(ends, O_CLOEXEC) < 0)
        return;
    pid_t self = getpid();
    pid_t pid = quiet_fork();
    if (pid == 0)
        become_command(r, ends[1], self);
    close(ends[1]);
    if (pid > 0) {
        int code = take_text(ends[0], socket, until_ns, a);
        a->status = code < 0 ? code : take_status(pid, until_ns);
        if (code < 0 || a->status == -ETIME) {
            kill(-pid, SIGKILL); /* with whatever it has started */
            kill(pid, SIGKILL);
            waitpid(pid, NULL, __WALL);
        }
    }
    close(ends[0]);
    while (waitpid(-1, NULL, WNOHANG | __WALL) > 0)
        ; /* what it had started itself comes to us */
}

/* 0, 1 and 2 are there for the command. */
static int keep_socket_only(int socket)
{
    int fd = fcntl(socket, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    if (fd < 0)
        _exit(1);
    quiet_fork_close_all_but(fd);
    for (int i = STDIN_FILENO; i <= STDERR_FILENO; i++)
        if (open("/dev/null", O_RDWR) != i)
            _exit(1);
    if (chdir("/") < 0) /* whatever we stand in could not be unmounted */
        _exit(1);
    return fd;
}

static int serve(void *arg)
{
    int fd = keep_socket_only(*(const int *)arg);
    prctl(PR_SET_CHILD_SUBREAPER, 1); /* nobody who is left behind becomes the job's */
    struct smi_request request;
    struct smi_answer *a = mmap(NULL, sizeof *a, PROT_READ | PROT_WRITE,
                                MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (a == MAP_FAILED)
        return 1;
    for (;;) {
        ssize_t n = recv(fd, &request, sizeof request, 0);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= (ssize_t)offsetof(struct smi_request, words))
            return 0;
        request.words[sizeof request.words - 1] = '\0';
        run_command(&request, fd, a);
        a->serial = request.serial;
        if (send(fd, a, offsetof(struct smi_answer, text) + a->length, MSG_NOSIGNAL) < 0)
            return 0;
    }
}

/* ---- In the program -------------------------------------------------------------------------- */

int smi_command_find(const char *name, char ret[SMI_PATH_BYTES])
{
    const char *path = secure_getenv("PATH");
    for (const char *at = path ? path : "/usr/bin:/bin", *end; *at; at = *end ? end + 1 : end) {
        struct stat st;
        char whole[SMI_PATH_BYTES];
        end = strchrnul(at, ':');
        int length = snprintf(whole, sizeof whole, "%.*s/%s", (int)(end - at), at, name);
        if (*at != '/' || length >= (int)sizeof whole || stat(whole, &st) < 0 ||
            !S_ISREG(st.st_mode) || access(whole, X_OK) < 0)
            continue;
        memcpy(ret, whole, sizeof whole);
        return 0;
    }
    return -ENOENT;
}

int smi_command_open(struct smi_command *c, const char *path, struct gpu_helpers *helpers)
{
    int ends[2];
    *c = (struct smi_command){.fd = -1, .helpers = helpers};
    if (!helpers || strlen(path) >= sizeof c->path)
        return -EINVAL;
    memcpy(c->path, path, strlen(path) + 1);
    c->answer = malloc(sizeof *c->answer);
    if (!c->answer)
        return -ENOMEM;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
        return -errno;
    c->helper = gpu_helpers_start(helpers, serve, &ends[1]);
    close(ends[1]);
    if (c->helper < 0) {
        close(ends[0]);
        return c->helper;
    }
    c->fd = ends[0];
    return 0;
}

/* It is asked to leave: killed, it would leave a command behind, and that would become the job's.
 */
void smi_command_close(struct smi_command *c)
{
    if (c->helper > 0 && c->fd >= 0) {
        struct pollfd fd = {.fd = c->fd};
        shutdown(c->fd, SHUT_WR);
        poll(&fd, 1, MOST_MS_TO_LEAVE);
        close(take_fd(&c->fd));
        gpu_helpers_end(c->helpers, c->helper);
    }
    free(c->answer);
    *c = (struct smi_command){.fd = -1};
}

/* 0, or -ENAMETOOLONG. */
static int fill_in(struct smi_request *r, const char *path, const char *const *arguments,
                   size_t *ret_size)
{
    size_t used = 0;
    r->count = 0;
    for (const char *word = path; word; word = *arguments++) {
        size_t length = strlen(word) + 1;
        if (used + length > sizeof r->words || r->count > SMI_ARGUMENTS)
            return -ENAMETOOLONG;
        memcpy(r->words + used, word, length);
        used += length;
        r->count++;
    }
    *ret_size = offsetof(struct smi_request, words) + used;
    return 0;
}

/* 0 when the answer to what was asked last is there. */
static int await(struct smi_command *c, unsigned ms)
{
    uint64_t until_ns = clock_mono(NULL) + ms * NS_PER_MS;
    do {
        struct pollfd fd = {.fd = c->fd, .events = POLLIN};
        int ready = poll(&fd, 1, (int)ms_left(until_ns));
        if (ready < 0 && errno == EINTR)
            continue;
        if (ready == 0)
            return -ETIME;
        ssize_t n = recv(c->fd, c->answer, sizeof *c->answer, MSG_DONTWAIT);
        if (n <= 0)
            return -EPIPE;
        if (n < (ssize_t)offsetof(struct smi_answer, text) || c->answer->serial != c->serial)
            continue;
        c->is_waiting = false;
        return 0;
    } while (ms_left(until_ns));
    return -ETIME;
}

int smi_command_run(struct smi_command *c, const char *const *arguments, unsigned deadline_ms,
                    struct scan *ret_text)
{
    struct smi_request request;
    size_t size = 0;
    if (c->fd < 0)
        return -EPIPE;
    /* A command that the kernel holds where no signal reaches it: nothing else is tried. */
    int r = c->is_waiting ? await(c, 0) : 0;
    if (r == 0)
        r = fill_in(&request, c->path, arguments, &size);
    if (r < 0)
        return r;
    request.serial = ++c->serial;
    request.deadline_ms = deadline_ms;
    if (send(c->fd, &request, size, MSG_NOSIGNAL) < 0)
        return -EPIPE;
    c->is_waiting = true;
    r = await(c, deadline_ms + MOST_MS_TO_ANSWER);
    if (r < 0)
        return r;
    *ret_text = scan_text(c->answer->text, c->answer->length);
    return (int)c->answer->status;
}
