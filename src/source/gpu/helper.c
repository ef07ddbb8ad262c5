/* SPDX-License-Identifier: MIT
 * Both processes are of the same build, so what they send are the structs themselves. The tracker
 * takes nothing for granted all the same: a library that has overwritten memory may send anything.
 */
#include "source/gpu/helper.h"

#include "base/clock.h"
#include "base/process.h"
#include "base/thread.h"
#include "source/gpu/vendor.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

/* ==== Gpu helpers ============================================================================= */

void gpu_helpers_init(struct gpu_helpers *h)
{
    *h = (struct gpu_helpers){.count = 0};
    pthread_mutex_init(&h->lock, NULL);
}

void gpu_helpers_done(struct gpu_helpers *h)
{
    pthread_mutex_destroy(&h->lock);
}

static _Noreturn void gpu_helpers_become_helper(int (*run)(void *arg), void *arg, pid_t parent)
{
    prctl(PR_SET_NAME, "toll-gpu");
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* of the thread that started it, not of the program alone */
    if (getppid() != parent)
        _exit(0);
    _exit(run(arg));
}

/* Under the lock: whoever meets the child and asks for it waits until it stands in the list. */
static pid_t gpu_helpers_fork_locked(struct gpu_helpers *h, int (*run)(void *arg), void *arg)
{
    sigset_t all, before;
    if (h->count == GPU_HELPERS)
        return -EAGAIN;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pid_t parent = getpid();
    pid_t pid = quiet_fork();
    int fork_errno = errno;
    if (pid == 0)
        gpu_helpers_become_helper(run, arg, parent);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (pid < 0)
        return -fork_errno;
    h->pids[h->count++] = pid;
    return pid;
}

pid_t gpu_helpers_start(struct gpu_helpers *h, int (*run)(void *arg), void *arg)
{
    pthread_mutex_lock(&h->lock);
    pid_t pid = gpu_helpers_fork_locked(h, run, arg);
    pthread_mutex_unlock(&h->lock);
    return pid;
}

pid_t gpu_helpers_start_whole(struct gpu_helpers *h, int (*run)(void *arg), void *arg)
{
    pthread_mutex_lock(&h->lock);
    pid_t pid = h->count == GPU_HELPERS ? -EAGAIN : quiet_fork_whole(run, arg);
    if (pid > 0)
        h->pids[h->count++] = pid;
    pthread_mutex_unlock(&h->lock);
    return pid;
}

pid_t gpu_helpers_start_program(struct gpu_helpers *h, const char *path, char *const *argv,
                                const int *files, size_t count)
{
    pthread_mutex_lock(&h->lock);
    pid_t pid = h->count == GPU_HELPERS ? -EAGAIN : quiet_fork_program(path, argv, files, count);
    if (pid > 0)
        h->pids[h->count++] = pid;
    pthread_mutex_unlock(&h->lock);
    return pid;
}

void gpu_helpers_end_soon(struct gpu_helpers *h, pid_t pid, unsigned most_ms)
{
    for (unsigned ms = 0; ms < most_ms && waitpid(pid, NULL, WNOHANG | __WALL) == 0; ms++)
        usleep(1000);
    gpu_helpers_end(h, pid);
}

void gpu_helpers_end(struct gpu_helpers *h, pid_t pid)
{
    (void)h; /* it stays in the list: its pid is remembered by those who met it */
    quiet_fork_end(pid);
}

bool gpu_helpers_has(struct gpu_helpers *h, pid_t pid)
{
    bool found = false;
    pthread_mutex_lock(&h->lock);
    for (size_t i = 0; i < h->count; i++)
        found |= h->pids[i] == pid;
    pthread_mutex_unlock(&h->lock);
    return found;
}

/* ==== Gpu apart =============================================================================== */

enum { MOST_DEVICES = 1024, MOST_PROCESSES = 1 << 20, MOST_MS_TO_CLOSE = 20 };

/* A look that takes longer has its energy sent ahead. */
#define LONG_LOOK_NS (20 * NS_PER_MS)

/* After this long without an end of its own the helper leaves a driver that hangs. */
#define MOST_US_TO_LEAVE 200000

struct apart_request {
    enum { ASK_LOOK, ASK_HURRY } kind;
    bool energy_only;
    uint32_t pid_count; /* the pids follow */
};

struct apart_answer {
    enum { HAS_BEGUN, HAS_OPENED, HAS_ENERGY, HAS_LOOKED } kind; /* begun: a program of its own */
    int result;                                                  /* of opening */
    bool is_whole;
    uint32_t device_count, process_count; /* both follow */
    uint64_t cpu_ns;
    struct gpu_trouble trouble;
};

struct gpu_apart {
    const struct gpu_vendor *vendor;
    struct gpu_helpers *helpers;
    pid_t pid;
    int socket;
    const struct sysroot *root; /* borrowed */
    bool is_program;            /* it was executed; otherwise it is a copy of us */
    /* Of a program, until it has opened the vendor; -1 afterwards: */
    int other_end;           /* of the socket, for a copy that takes its place */
    int life;                /* a pipe whose other end it alone has: closed when it ends */
    pthread_mutex_t sending; /* a request is not cut in two by another thread's */
    atomic_bool is_hung_up;
    _Atomic uint64_t cpu_ns;
};

static bool gpu_apart_send_all(int fd, const void *bytes, size_t size)
{
    for (const char *at = bytes; size;) {
        ssize_t n = send(fd, at, size, MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        at += n;
        size -= (size_t)n;
    }
    return true;
}

static bool receive_all(int fd, void *bytes, size_t size)
{
    for (char *at = bytes; size;) {
        ssize_t n = recv(fd, at, size, 0);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        at += n;
        size -= (size_t)n;
    }
    return true;
}

/* ---- In the helper --------------------------------------------------------------------------- */

/* The first thread calls the driver, a second one listens to the tracker. */
struct helper {
    const struct gpu_vendor *vendor;
    struct sysroot root;
    int socket;
    int life;        /* negative, or what tells the tracker of our end */
    bool is_program; /* executed, not a copy of the program around us */
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool is_asked, is_over; /* a look is; the tracker is gone */
    struct apart_request request;
    pid_t *pids; /* owned; of the request */
    atomic_bool hurry;
    bool sends_energy;
};

static bool gpu_apart_answer(const struct helper *h, struct apart_answer *a,
                             const struct gpu_frame *f)
{
    a->device_count = f ? (uint32_t)f->device_count : 0;
    a->process_count = f && a->kind == HAS_LOOKED ? (uint32_t)f->process_count : 0;
    clock_process_cpu(getpid(), &a->cpu_ns);
    return gpu_apart_send_all(h->socket, a, sizeof *a) &&
           (!a->device_count ||
            gpu_apart_send_all(h->socket, f->devices, f->device_count * sizeof *f->devices)) &&
           (!a->process_count ||
            gpu_apart_send_all(h->socket, f->processes, f->process_count * sizeof *f->processes));
}

static void send_energy(void *arg, const struct gpu_frame *f)
{
    const struct helper *h = arg;
    struct apart_answer a = {.kind = HAS_ENERGY};
    if (h->sends_energy)
        gpu_apart_answer(h, &a, f);
}

static bool take_request(struct helper *h)
{
    struct apart_request r;
    if (!receive_all(h->socket, &r, sizeof r) || r.pid_count > MOST_PROCESSES)
        return false;
    if (r.kind == ASK_HURRY) {
        h->hurry = true;
        return true;
    }
    pid_t *pids = reallocarray(NULL, r.pid_count + 1, sizeof *pids);
    if (!pids || !receive_all(h->socket, pids, r.pid_count * sizeof *pids)) {
        free(pids);
        return false;
    }
    pthread_mutex_lock(&h->lock);
    free(h->pids);
    h->pids = pids;
    h->request = r;
    h->is_asked = true;
    pthread_cond_signal(&h->changed);
    pthread_mutex_unlock(&h->lock);
    return true;
}

static void *listen_to_tracker(void *arg)
{
    struct helper *h = arg;
    while (take_request(h))
        ;
    pthread_mutex_lock(&h->lock);
    h->is_over = true;
    h->hurry = true;
    pthread_cond_signal(&h->changed);
    pthread_mutex_unlock(&h->lock);
    usleep(MOST_US_TO_LEAVE); /* for a driver that hangs; otherwise the process is gone by then */
    _exit(0);
}

static bool wait_for_look(struct helper *h, struct apart_request *ret, pid_t **ret_pids)
{
    pthread_mutex_lock(&h->lock);
    while (!h->is_asked && !h->is_over)
        pthread_cond_wait(&h->changed, &h->lock);
    bool goes_on = !h->is_over;
    *ret = h->request;
    *ret_pids = h->pids;
    h->pids = NULL;
    h->is_asked = false;
    pthread_mutex_unlock(&h->lock);
    return goes_on;
}

static void serve_looks(struct helper *h, void *state)
{
    struct gpu_frame f = {0};
    struct apart_request r;
    pid_t *pids;
    h->sends_energy = true;
    while (wait_for_look(h, &r, &pids)) {
        struct apart_answer a = {.kind = HAS_LOOKED};
        uint64_t began_ns = clock_mono(NULL);
        gpu_frame_clear(&f);
        f.energy_only = r.energy_only;
        if (r.energy_only)
            h->hurry = false; /* that was for the look before it */
        h->vendor->read(state, &f, pids, r.pid_count, &a.trouble);
        free(pids);
        a.is_whole = !r.energy_only && !h->hurry;
        h->sends_energy = clock_mono(NULL) - began_ns > LONG_LOOK_NS;
        if (!gpu_apart_answer(h, &a, &f))
            break;
    }
}

/* Descriptors of the program around us are not ours to hold open, and what a library prints is
 * not for those who read the program's output. */
static void keep_own_files(struct helper *h)
{
    int *const all[] = {&h->socket, &h->life, &h->root.proc, &h->root.sys, &h->root.root};
    int keep[ARRAY_LEN(all)];
    size_t count = 0;
    for (size_t i = 0; i < ARRAY_LEN(all); i++) {
        size_t at = count;
        if (*all[i] >= 0 && *all[i] <= STDERR_FILENO) /* where libraries print */
            *all[i] = fcntl(*all[i], F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
        if (*all[i] < 0)
            continue;
        for (; at && keep[at - 1] > *all[i]; at--)
            keep[at] = keep[at - 1];
        keep[at] = *all[i];
        count++;
    }
    own_files_close_rest(keep, count);
}

static int gpu_apart_serve(void *arg)
{
    struct helper h = *(const struct helper *)arg;
    struct gpu_context context = {
        .root = &h.root, .energy_ready = send_energy, .arg = &h, .hurry = &h.hurry};
    struct apart_answer a = {.kind = HAS_OPENED};
    pthread_t listener;
    void *state = NULL;
    prctl(PR_SET_NAME, "toll-gpu");
    static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
    for (size_t i = 0; i < ARRAY_LEN(faults); i++)
        signal(faults[i], SIG_DFL); /* handlers of the program around us are not to run here */
    prctl(PR_SET_DUMPABLE, 0);      /* a core of it would be one of the program around us */
    keep_own_files(&h);
    pthread_mutex_init(&h.lock, NULL);
    pthread_cond_init(&h.changed, NULL);
    if (thread_start(&listener, THREAD_STACK_BYTES, listen_to_tracker, &h) < 0)
        return 1;
    if (h.is_program && !gpu_apart_answer(&h, &(struct apart_answer){.kind = HAS_BEGUN}, NULL))
        return 1;
    a.result = h.vendor->open(&state, &context, &a.trouble);
    if (chdir("/") <
        0) /* what we stand in could not be unmounted; not before: paths of the loader */
        return 1;
    if (!gpu_apart_answer(&h, &a, NULL) || a.result < 0)
        return 0;
    serve_looks(&h, state);
    h.vendor->close(state);
    return 0;
}

/* ---- The program ----------------------------------------------------------------------------- */

/* Its descriptors from 3 on. The one of the pipe is closed when it ends. */
enum { FILE_SOCKET, FILE_LIFE, FILE_PROC, FILE_SYS, FILE_ROOT, PROGRAM_FILES };

enum { ARG_BUILD = 1, ARG_VENDOR, ARG_ROOT, PROGRAM_ARGS };

/* What both sides have to agree in: the version, and the shape of what is sent. */
static void describe_build(char *text, size_t size)
{
    const size_t sizes[] = {sizeof(struct apart_request), sizeof(struct apart_answer),
                            sizeof(struct gpu_device), sizeof(struct gpu_process)};
    uint64_t hash = 0xcbf29ce484222325; /* FNV-1a */
    const uint64_t prime = 0x100000001b3;
    for (size_t i = 0; i < ARRAY_LEN(sizes); i++)
        hash = (hash ^ sizes[i]) * prime;
    for (unsigned id = gpu_first; id < gpu_first + GPU_METRICS; id++)
        for (const char *c = metric_of(id)->facts.name; *c; c++)
            hash = (hash ^ (unsigned char)*c) * prime;
    snprintf(text, size, "%s-%016llx", TOLL_VERSION, (unsigned long long)hash);
}

int gpu_apart_main(int argc, char **argv)
{
    char build[64];
    int files[PROGRAM_FILES];
    describe_build(build, sizeof build);
    if (argc != PROGRAM_ARGS || strcmp(argv[ARG_BUILD], build) != 0)
        return 2;
    for (int i = 0; i < PROGRAM_FILES; i++) {
        files[i] = STDERR_FILENO + 1 + i;
        if (fcntl(files[i], F_SETFD, FD_CLOEXEC) < 0)
            files[i] = -1;
    }
    struct helper h = {
        .root = {.proc = files[FILE_PROC],
                 .pids = strchr(argv[ARG_ROOT], 'p') ? files[FILE_PROC] : -1,
                 .sys = files[FILE_SYS],
                 .root = files[FILE_ROOT],
                 .live = strchr(argv[ARG_ROOT], 'l')},
        .socket = files[FILE_SOCKET],
        .life = files[FILE_LIFE],
        .is_program = true,
    };
    for (const struct gpu_vendor *const *v = gpu_vendors; *v && !h.vendor; v++)
        if ((*v)->in_helper && strcmp((*v)->name, argv[ARG_VENDOR]) == 0)
            h.vendor = *v;
    return h.vendor && h.socket >= 0 ? gpu_apart_serve(&h) : 2;
}

/* Beside the shared object that this is part of. False where it is part of a program: the command
 * toll, of whose memory nothing is measured, or one that was linked with the archive. */
static bool find_program(char *path, size_t size)
{
    static const char *const places[] = {"/toll/" GPU_APART_PROGRAM, /* installed */
                                         "/bin/" GPU_APART_PROGRAM,  /* in a wheel */
                                         "/" GPU_APART_PROGRAM};     /* where it is built */
    static const char here;                                          /* part of this object */
    Dl_info object;
    struct stat own, other;
    if (getauxval(AT_SECURE) || !dladdr(&here, &object) || !object.dli_fname ||
        object.dli_fname[0] != '/')
        return false;
    const ElfW(Ehdr) *header = object.dli_fbase;
    if ((uintptr_t)object.dli_fbase + header->e_phoff == getauxval(AT_PHDR) ||
        stat(object.dli_fname, &own) < 0)
        return false;
    int directory = (int)(strrchr(object.dli_fname, '/') - object.dli_fname);
    for (size_t i = 0; i < ARRAY_LEN(places); i++) {
        int n = snprintf(path, size, "%.*s%s", directory, object.dli_fname, places[i]);
        if (n > 0 && (size_t)n < size && stat(path, &other) == 0 && S_ISREG(other.st_mode) &&
            (other.st_uid == own.st_uid || other.st_uid == 0) && !(other.st_mode & S_IWOTH) &&
            access(path, X_OK) == 0)
            return true;
    }
    return false;
}

/* ---- In the tracker -------------------------------------------------------------------------- */

static void close_spare_ends(struct gpu_apart *a)
{
    if (a->other_end >= 0)
        close(a->other_end);
    if (a->life >= 0)
        close(a->life);
    a->other_end = a->life = -1;
}

static bool is_in_list(const struct gpu_vendor *vendor)
{
    const struct gpu_vendor *const *v = gpu_vendors;
    while (*v && *v != vendor)
        v++;
    return *v;
}

/* Whether there is one; it has yet to say that it has begun. */
static bool gpu_apart_start_program(struct gpu_apart *a)
{
    char path[PATH_MAX], build[64], vendor[32], root[] = "--", name[] = GPU_APART_PROGRAM;
    int life[2];
    if (!is_in_list(a->vendor) || !find_program(path, sizeof path))
        return false;
    describe_build(build, sizeof build);
    snprintf(vendor, sizeof vendor, "%s", a->vendor->name);
    if (a->root->live)
        root[0] = 'l';
    if (a->root->pids >= 0)
        root[1] = 'p';
    char *argv[] = {name, build, vendor, root, NULL};
    if (pipe2(life, O_CLOEXEC) < 0)
        return false;
    const int files[] = {a->other_end, life[1], a->root->proc, a->root->sys, a->root->root};
    a->pid = gpu_helpers_start_program(a->helpers, path, argv, files, ARRAY_LEN(files));
    close(life[1]);
    a->life = life[0];
    a->is_program = a->pid > 0;
    return a->is_program;
}

/* 0 or -errno. */
static int start_copy(struct gpu_apart *a)
{
    struct helper h = {.vendor = a->vendor, .root = *a->root, .socket = a->other_end, .life = -1};
    a->is_program = false;
    a->pid = gpu_helpers_start_whole(a->helpers, gpu_apart_serve, &h);
    close_spare_ends(a);
    return a->pid < 0 ? a->pid : 0;
}

int gpu_apart_start(struct gpu_apart **ret, const struct gpu_vendor *vendor,
                    const struct sysroot *root, struct gpu_helpers *helpers)
{
    int ends[2];
    struct gpu_apart *a = calloc(1, sizeof *a);
    if (!a)
        return -ENOMEM;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0) {
        free(a);
        return -errno;
    }
    *a = (struct gpu_apart){.vendor = vendor,
                            .helpers = helpers,
                            .socket = ends[0],
                            .root = root,
                            .other_end = ends[1],
                            .life = -1};
    pthread_mutex_init(&a->sending, NULL);
    int r = gpu_apart_start_program(a) ? 0 : start_copy(a);
    if (r < 0) {
        close(ends[0]);
        free(a);
        return r;
    }
    *ret = a;
    return 0;
}

const struct gpu_vendor *gpu_apart_vendor(const struct gpu_apart *a)
{
    return a->vendor;
}

static void end_text(char *text, size_t size)
{
    text[size - 1] = '\0';
}

static void check_device(const struct gpu_apart *a, struct gpu_device *d)
{
    struct gpu_facts *f = &d->facts;
    end_text(f->uuid, sizeof f->uuid);
    end_text(f->name, sizeof f->name);
    end_text(f->pci, sizeof f->pci);
    end_text(f->instance, sizeof f->instance);
    end_text(f->legacy, sizeof f->legacy);
    end_text(f->driver, sizeof f->driver);
    f->vendor = a->vendor->name;
    f->means = a->vendor->means;
    d->vendor = a->vendor;
    d->row.first = gpu_first;
    d->row.present &= BIT(GPU_METRICS) - 1;
}

/* Reads the answer and what follows it into the frame; false when no answer came. */
static bool receive_answer(struct gpu_apart *a, struct apart_answer *ret, struct gpu_frame *f)
{
    if (!receive_all(a->socket, ret, sizeof *ret) || ret->device_count > MOST_DEVICES ||
        ret->process_count > MOST_PROCESSES)
        return false;
    end_text(ret->trouble.sentence, sizeof ret->trouble.sentence);
    a->cpu_ns = ret->cpu_ns;
    for (uint32_t i = 0; i < ret->device_count; i++) {
        struct gpu_device *d = gpu_frame_add_device(f);
        if (!d || !receive_all(a->socket, d, sizeof *d))
            return false;
        check_device(a, d);
    }
    for (uint32_t i = 0; i < ret->process_count; i++) {
        struct gpu_process p;
        if (!receive_all(a->socket, &p, sizeof p) || p.device >= f->device_count ||
            !gpu_frame_add_process(f, &p))
            return false;
    }
    return true;
}

static void say_crashed(const struct gpu_apart *a, struct gpu_trouble *trouble, const char *what)
{
    if (!a->is_hung_up)
        snprintf(trouble->sentence, sizeof trouble->sentence, "%s's library (%s) crashed: %s",
                 a->vendor->people, a->vendor->means, what);
}

static bool receive_kind(struct gpu_apart *a, struct apart_answer *ret, int kind)
{
    struct gpu_frame none = {0};
    bool is_it = receive_answer(a, ret, &none) && ret->kind == (unsigned)kind && !ret->device_count;
    gpu_frame_done(&none);
    return is_it;
}

/* Of a program: we have the other end of its socket, too, so that its end is not the socket's. */
static bool wait_for_program(struct gpu_apart *a)
{
    struct pollfd polled[] = {{.fd = a->socket, .events = POLLIN}, {.fd = a->life}};
    while (poll(polled, ARRAY_LEN(polled), -1) < 0)
        if (errno != EINTR)
            return false;
    return polled[0].revents || poll(polled, 1, 0) > 0; /* it may have ended with an answer */
}

int gpu_apart_open(struct gpu_apart *a, struct gpu_trouble *trouble)
{
    struct apart_answer said = {0};
    bool is_there = true;
    if (a->is_program) {
        bool has_begun = wait_for_program(a) && receive_kind(a, &said, HAS_BEGUN);
        is_there = has_begun && wait_for_program(a) && receive_kind(a, &said, HAS_OPENED);
        /* A program that cannot be run here, or is of another build, does not begin. And we may
         * have loaded a library already that it does not find. */
        bool needs_copy = !has_begun ||
                          (is_there && said.result < 0 && a->vendor->is_likely(a->root));
        if (needs_copy && !a->is_hung_up && start_copy(a) == 0)
            is_there = receive_kind(a, &said, HAS_OPENED);
        close_spare_ends(a);
    } else {
        is_there = receive_kind(a, &said, HAS_OPENED);
    }
    if (is_there) {
        *trouble = said.trouble;
        return said.result;
    }
    say_crashed(a, trouble, "its GPUs are not read");
    return -EIO;
}

enum gpu_look gpu_apart_read(struct gpu_apart *a, struct gpu_frame *f, const pid_t *pids,
                             size_t count, struct gpu_trouble *trouble,
                             void (*energy)(void *arg, const struct gpu_frame *f), void *arg)
{
    struct apart_answer said;
    struct apart_request r = {
        .kind = ASK_LOOK, .energy_only = f->energy_only, .pid_count = (uint32_t)count};
    pthread_mutex_lock(&a->sending);
    bool is_there = gpu_apart_send_all(a->socket, &r, sizeof r) &&
                    gpu_apart_send_all(a->socket, pids, count * sizeof *pids);
    pthread_mutex_unlock(&a->sending);
    while (is_there && (is_there = receive_answer(a, &said, f)) && said.kind == HAS_ENERGY) {
        energy(arg, f);
        gpu_frame_clear(f);
    }
    if (is_there) {
        *trouble = said.trouble;
        return said.is_whole ? GPU_LOOK_WHOLE : GPU_LOOK_ENERGY;
    }
    gpu_frame_clear(f);
    say_crashed(a, trouble, "the figures of its GPUs end here");
    return GPU_LOOK_DEAD;
}

void gpu_apart_hurry(struct gpu_apart *a)
{
    struct apart_request r = {.kind = ASK_HURRY};
    if (pthread_mutex_trylock(&a->sending) != 0)
        return; /* it takes in a request just now, or nothing any more: it is not to be hurried */
    ssize_t n = send(a->socket, &r, sizeof r, MSG_NOSIGNAL | MSG_DONTWAIT);
    (void)n;
    pthread_mutex_unlock(&a->sending);
}

void gpu_apart_hang_up(struct gpu_apart *a)
{
    a->is_hung_up = true;
    shutdown(a->socket, SHUT_RDWR);
}

uint64_t gpu_apart_cpu_ns(const struct gpu_apart *a)
{
    return a->cpu_ns;
}

/* It tells the driver that it leaves, unless that takes long. */
void gpu_apart_free(struct gpu_apart *a)
{
    if (!a)
        return;
    gpu_apart_hang_up(a);
    close(a->socket);
    close_spare_ends(a);
    gpu_helpers_end_soon(a->helpers, a->pid, MOST_MS_TO_CLOSE);
    pthread_mutex_destroy(&a->sending);
    free(a);
}
