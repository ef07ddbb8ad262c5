/* SPDX-License-Identifier: MIT
 * Up to its end the helper makes system calls only: the program around us may have threads, and one
 * of them may hold any lock when we fork. */
#include "source/gpu/smi_command.h"

#include "base/clock.h"
#include "base/process.h"
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

/* ==== Smi table =============================================================================== */

/* index, uuid, utilization.gpu [%], memory.used [MiB]
 * 0, GPU-5a1c, 37, 1024
 * 1, GPU-77ef, [N/A], [Unknown Error]
 *
 * # gpu         pid   type     sm    mem    enc    dec    jpg    ofa    fb   command
 * # Idx           #    C/G      %      %      %      %      %      %    MB   name
 *     0       81231     C     45     20      -      -      -      -   1024   python
 *
 * Field "memory.reserved" is not a valid field to query. */

static bool smi_table_is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

static struct scan smi_table_trim(struct scan s)
{
    while (s.at < s.end && smi_table_is_blank(*s.at))
        s.at++;
    while (s.at < s.end && smi_table_is_blank(s.end[-1]))
        s.end--;
    return s;
}

void smi_cells_of_csv(struct scan line, struct smi_cells *ret)
{
    ret->count = 0;
    if (scan_done(&line))
        return;
    while (ret->count < SMI_COLUMNS) {
        const char *comma = memchr(line.at, ',', (size_t)(line.end - line.at));
        const char *end = comma ? comma : line.end;
        ret->cells[ret->count++] = smi_table_trim((struct scan){line.at, end});
        if (!comma)
            break;
        line.at = comma + 1;
    }
}

void smi_cells_of_words(struct scan line, struct smi_cells *ret)
{
    ret->count = 0;
    line = smi_table_trim(line);
    scan_word(&line, "#");
    for (line = smi_table_trim(line); !scan_done(&line) && ret->count < SMI_COLUMNS;
         line = smi_table_trim(line)) {
        struct scan cell = {line.at, line.at};
        while (cell.end < line.end && !smi_table_is_blank(*cell.end))
            cell.end++;
        ret->cells[ret->count++] = cell;
        line.at = cell.end;
    }
}

static bool smi_table_is_name(struct scan cell, const char *name, size_t length)
{
    const char *unit = memchr(cell.at, '[', (size_t)(cell.end - cell.at));
    if (unit)
        cell.end = unit;
    cell = smi_table_trim(cell);
    return (size_t)(cell.end - cell.at) == length && memcmp(cell.at, name, length) == 0;
}

int smi_column(const struct smi_cells *heading, const char *names)
{
    for (const char *name = names, *end; *name; name = *end ? end + 1 : end) {
        end = strchrnul(name, '|');
        for (unsigned i = 0; i < heading->count; i++)
            if (smi_table_is_name(heading->cells[i], name, (size_t)(end - name)))
                return (int)i;
    }
    return -1;
}

static bool cell_of(const struct smi_cells *row, int column, struct scan *ret)
{
    if (column < 0 || (unsigned)column >= row->count)
        return false;
    *ret = row->cells[column];
    return true;
}

bool smi_number(const struct smi_cells *row, int column, double *ret)
{
    struct scan cell;
    double value;
    if (!cell_of(row, column, &cell) || !scan_decimal(&cell, &value) || !scan_done(&cell))
        return false;
    *ret = value;
    return true;
}

bool smi_whole(const struct smi_cells *row, int column, uint64_t *ret)
{
    struct scan cell;
    uint64_t value;
    if (!cell_of(row, column, &cell) || !scan_u64(&cell, &value) || !scan_done(&cell))
        return false;
    *ret = value;
    return true;
}

bool smi_word(const struct smi_cells *row, int column, char *ret, size_t capacity)
{
    struct scan cell;
    if (!cell_of(row, column, &cell))
        return false;
    size_t length = (size_t)(cell.end - cell.at);
    if (!length || length >= capacity || *cell.at == '[' || smi_table_is_name(cell, "-", 1) ||
        smi_table_is_name(cell, "N/A", 3))
        return false;
    for (const char *c = cell.at; c < cell.end; c++)
        if ((unsigned char)*c < ' ' || *c == 127)
            return false;
    memcpy(ret, cell.at, length);
    ret[length] = '\0';
    return true;
}

void smi_fold_pci(char *pci)
{
    for (char *c = pci; *c; c++)
        if (*c >= 'A' && *c <= 'Z')
            *c = (char)(*c + 'a' - 'A');
    if (strncmp(pci, "0000", 4) == 0 && strlen(pci) > 8 && pci[8] == ':')
        memmove(pci, pci + 4, strlen(pci + 4) + 1);
}

/* The field at that place of the list, with the comma in front of it or behind it. */
static void cut_out(char *fields, char *at, size_t length)
{
    char *end = at + length;
    if (*end == ',')
        end++;
    else if (at > fields)
        at--;
    memmove(at, end, strlen(end) + 1);
}

bool smi_drop_field(char *fields, struct scan text)
{
    if (!scan_word(&text, "Field \""))
        return false;
    const char *quote = memchr(text.at, '"', (size_t)(text.end - text.at));
    size_t length = quote ? (size_t)(quote - text.at) : 0;
    for (char *at = fields, *end; length && *at; at = *end ? end + 1 : end) {
        end = strchrnul(at, ',');
        if ((size_t)(end - at) != length || memcmp(at, text.at, length) != 0)
            continue;
        cut_out(fields, at, length);
        return true;
    }
    return false;
}

/* ==== Smi pace ================================================================================ */

/* It rests so many times as long as it ran, within these limits. */
enum { REST = 4 };
#define SHORTEST_NS NS_PER_SECOND
#define LONGEST_NS  (10 * NS_PER_SECOND)

bool smi_pace_is_due(const struct smi_pace *p, uint64_t now_ns)
{
    return now_ns >= p->next_ns;
}

void smi_pace_took(struct smi_pace *p, uint64_t began_ns, uint64_t ended_ns)
{
    uint64_t rest_ns = min_u64(REST * (ended_ns - began_ns), LONGEST_NS);
    p->next_ns = max_u64(ended_ns + rest_ns, began_ns + SHORTEST_NS);
}

void smi_pace_copy(const struct smi_pace *p, struct gpu_frame *f)
{
    unsigned first = (unsigned)f->device_count;
    for (size_t i = 0; i < p->kept.device_count; i++) {
        struct gpu_device *d = gpu_frame_add_device(f);
        if (!d) {
            f->device_count = first;
            return;
        }
        *d = p->kept.devices[i];
    }
    for (size_t i = 0; i < p->kept.process_count; i++) {
        const struct gpu_process *from = &p->kept.processes[i];
        struct gpu_process *to = gpu_frame_process(f, first + from->device, from->pid);
        if (!to)
            return;
        *to = *from;
        to->device = first + from->device;
    }
}

void smi_pace_done(struct smi_pace *p)
{
    gpu_frame_done(&p->kept);
}

/* ==== Smi command ============================================================================= */

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

static int smi_command_serve(void *arg)
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
    c->helper = gpu_helpers_start(helpers, smi_command_serve, &ends[1]);
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
static int smi_command_fill_in(struct smi_request *r, const char *path,
                               const char *const *arguments, size_t *ret_size)
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
static int smi_command_await(struct smi_command *c, unsigned ms)
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
    int r = c->is_waiting ? smi_command_await(c, 0) : 0;
    if (r == 0)
        r = smi_command_fill_in(&request, c->path, arguments, &size);
    if (r < 0)
        return r;
    request.serial = ++c->serial;
    request.deadline_ms = deadline_ms;
    if (send(c->fd, &request, size, MSG_NOSIGNAL) < 0)
        return -EPIPE;
    c->is_waiting = true;
    r = smi_command_await(c, deadline_ms + MOST_MS_TO_ANSWER);
    if (r < 0)
        return r;
    *ret_text = scan_text(c->answer->text, c->answer->length);
    return (int)c->answer->status;
}
