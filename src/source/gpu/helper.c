/* SPDX-License-Identifier: MIT
 * Both processes are of the same build, so they send each other structs as they are in memory. The
 * tracker checks them all the same: a library that has overwritten memory may send anything. */
#include "source/gpu/readers.h"

#include "base/clock.h"
#include "base/process.h"
#include "base/thread.h"

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

#define HELPER_PROGRAM "toll-gpu"

enum { MOST_DEVICES = 1024, MOST_PROCESSES = 1 << 20, MOST_MS_TO_CLOSE = 20 };

/* When a look takes longer than this, the next one sends its energy counters ahead. */
#define LONG_LOOK_NS (20 * NS_PER_MS)

/* When the tracker is gone, the helper leaves a driver that hangs after this time. */
#define MOST_US_TO_LEAVE 200000

/* Without padding: it is sent as it is in memory. */
struct helper_request {
    enum { ASK_LOOK, ASK_HURRY } kind;
    uint32_t is_energy_only;
    uint32_t pid_count; /* the pids follow */
};

struct helper_answer {
    enum { HAS_BEGUN, HAS_OPENED, HAS_ENERGY, HAS_LOOKED } kind; /* begun: the program toll-gpu */
    int result;                                                  /* of opening */
    bool is_whole;
    uint32_t device_count, process_count; /* both follow */
    uint64_t cpu_ns;
    struct gpu_trouble trouble;
};

static bool helper_send(int fd, const void *bytes, size_t size)
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

static bool helper_receive(int fd, void *bytes, size_t size)
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

/* ---- In the helper process ------------------------------------------------------------------- */

/* The first thread calls the driver, a second one listens to the tracker. */
struct helper_server {
    const struct gpu_vendor *vendor;
    struct sysroot root;
    int socket;
    int life;        /* a pipe that the tracker sees closed when this process ends, or negative */
    bool is_program; /* toll-gpu, not a copy of the program that the tracker is part of */
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool is_asked; /* for a look */
    bool is_over;  /* the tracker is gone */
    struct helper_request request;
    pid_t *pids; /* owned; of the request */
    atomic_bool hurry;
    bool sends_energy;
};

static bool helper_server_answer(const struct helper_server *s, struct helper_answer *a,
                                 const struct gpu_frame *f)
{
    a->device_count = f ? (uint32_t)f->device_count : 0;
    a->process_count = f && a->kind == HAS_LOOKED ? (uint32_t)f->process_count : 0;
    clock_process_cpu(getpid(), &a->cpu_ns);
    return helper_send(s->socket, a, sizeof *a) &&
           (!a->device_count ||
            helper_send(s->socket, f->devices, f->device_count * sizeof *f->devices)) &&
           (!a->process_count ||
            helper_send(s->socket, f->processes, f->process_count * sizeof *f->processes));
}

static void helper_server_send_energy(void *arg, const struct gpu_frame *f)
{
    const struct helper_server *s = arg;
    struct helper_answer a = {.kind = HAS_ENERGY};
    if (s->sends_energy)
        helper_server_answer(s, &a, f);
}

static void *helper_server_listen(void *arg)
{
    struct helper_server *s = arg;
    struct helper_request r;
    while (helper_receive(s->socket, &r, sizeof r) && r.pid_count <= MOST_PROCESSES) {
        if (r.kind == ASK_HURRY) {
            s->hurry = true;
            continue;
        }
        pid_t *pids = reallocarray(NULL, r.pid_count + 1, sizeof *pids);
        if (!pids || !helper_receive(s->socket, pids, r.pid_count * sizeof *pids)) {
            free(pids);
            break;
        }
        pthread_mutex_lock(&s->lock);
        free(s->pids);
        s->pids = pids;
        s->request = r;
        s->is_asked = true;
        pthread_cond_signal(&s->changed);
        pthread_mutex_unlock(&s->lock);
    }
    pthread_mutex_lock(&s->lock);
    s->is_over = true;
    s->hurry = true;
    pthread_cond_signal(&s->changed);
    pthread_mutex_unlock(&s->lock);
    usleep(MOST_US_TO_LEAVE); /* by then the process is gone, unless the driver hangs */
    _exit(0);
}

static bool helper_server_wait(struct helper_server *s, struct helper_request *ret,
                               pid_t **ret_pids)
{
    pthread_mutex_lock(&s->lock);
    while (!s->is_asked && !s->is_over)
        pthread_cond_wait(&s->changed, &s->lock);
    bool is_asked = !s->is_over;
    *ret = s->request;
    *ret_pids = s->pids;
    s->pids = NULL;
    s->is_asked = false;
    pthread_mutex_unlock(&s->lock);
    return is_asked;
}

static void helper_server_loop(struct helper_server *s, void *state)
{
    struct gpu_frame f = {0};
    struct helper_request r;
    pid_t *pids;
    s->sends_energy = true;
    while (helper_server_wait(s, &r, &pids)) {
        struct helper_answer a = {.kind = HAS_LOOKED};
        uint64_t began_ns = clock_mono(NULL);
        gpu_frame_clear(&f);
        f.energy_only = r.is_energy_only;
        if (r.is_energy_only)
            s->hurry = false; /* that was for the look before this one */
        s->vendor->read(state, &f, pids, r.pid_count, &a.trouble);
        free(pids);
        a.is_whole = !r.is_energy_only && !s->hurry;
        s->sends_energy = clock_mono(NULL) - began_ns > LONG_LOOK_NS;
        if (!helper_server_answer(s, &a, &f))
            break;
    }
}

/* Closes the descriptors of the program around us, and gives the library /dev/null to print to. */
static void helper_server_keep_own_files(struct helper_server *s)
{
    int *const all[] = {&s->socket, &s->life, &s->root.proc, &s->root.sys, &s->root.root};
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

static int helper_server_run(void *arg)
{
    struct helper_server s = *(const struct helper_server *)arg;
    struct gpu_context context = {
        .root = &s.root, .energy_ready = helper_server_send_energy, .arg = &s, .hurry = &s.hurry};
    struct helper_answer a = {.kind = HAS_OPENED};
    pthread_t listener;
    void *state = NULL;
    prctl(PR_SET_NAME, HELPER_PROGRAM);
    /* A crash here neither runs handlers of the program around us nor dumps a core of it. */
    static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
    for (size_t i = 0; i < ARRAY_LEN(faults); i++)
        signal(faults[i], SIG_DFL);
    prctl(PR_SET_DUMPABLE, 0);
    helper_server_keep_own_files(&s);
    pthread_mutex_init(&s.lock, NULL);
    pthread_cond_init(&s.changed, NULL);
    if (thread_start(&listener, THREAD_STACK_BYTES, helper_server_listen, &s) < 0)
        return 1;
    if (s.is_program && !helper_server_answer(&s, &(struct helper_answer){.kind = HAS_BEGUN}, NULL))
        return 1;
    a.result = s.vendor->open(&state, &context, &a.trouble);
    /* A working directory could not be unmounted. The loader needed it for relative paths. */
    if (chdir("/") < 0)
        return 1;
    if (!helper_server_answer(&s, &a, NULL) || a.result < 0)
        return 0;
    helper_server_loop(&s, state);
    s.vendor->close(state);
    return 0;
}

/* ---- The program toll-gpu -------------------------------------------------------------------- */

/* Its descriptors from 3 on. */
enum { FILE_SOCKET, FILE_LIFE, FILE_PROC, FILE_SYS, FILE_ROOT, PROGRAM_FILES };

enum { ARG_BUILD = 1, ARG_VENDOR, ARG_ROOT, PROGRAM_ARGS };

/* What both sides have to agree on: the version, and the layout of what is sent. */
static void helper_describe_build(char *text, size_t size)
{
    const size_t sizes[] = {sizeof(struct helper_request), sizeof(struct helper_answer),
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

int gpu_helper_main(int argc, char **argv)
{
    char build[64];
    int files[PROGRAM_FILES];
    helper_describe_build(build, sizeof build);
    if (argc != PROGRAM_ARGS || strcmp(argv[ARG_BUILD], build) != 0)
        return 2;
    for (int i = 0; i < PROGRAM_FILES; i++) {
        files[i] = STDERR_FILENO + 1 + i;
        if (fcntl(files[i], F_SETFD, FD_CLOEXEC) < 0)
            files[i] = -1;
    }
    struct helper_server s = {
        .root = {.proc = files[FILE_PROC],
                 .pids = strchr(argv[ARG_ROOT], 'p') ? files[FILE_PROC] : -1,
                 .sys = files[FILE_SYS],
                 .root = files[FILE_ROOT],
                 .live = strchr(argv[ARG_ROOT], 'l')},
        .socket = files[FILE_SOCKET],
        .life = files[FILE_LIFE],
        .is_program = true,
    };
    for (const struct gpu_vendor *const *v = gpu_vendors; *v && !s.vendor; v++)
        if ((*v)->in_helper && strcmp((*v)->name, argv[ARG_VENDOR]) == 0)
            s.vendor = *v;
    return s.vendor && s.socket >= 0 ? helper_server_run(&s) : 2;
}

/* Finds toll-gpu beside the shared object that this code is part of. False where it is part of a
 * program: the command toll, whose memory is not measured, or one linked with the archive. */
static bool helper_find_program(char *path, size_t size)
{
    static const char *const places[] = {"/toll/" HELPER_PROGRAM, /* installed */
                                         "/bin/" HELPER_PROGRAM,  /* in a wheel */
                                         "/" HELPER_PROGRAM};     /* in the build directory */
    static const char here;                                       /* part of this object */
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

struct gpu_helper {
    const struct gpu_vendor *vendor;
    const struct sysroot *root; /* borrowed */
    int socket;
    bool is_program; /* toll-gpu; otherwise a copy of this program */

    /* Of toll-gpu, until it has opened the vendor; -1 afterwards: */
    int other_end; /* of the socket, for a copy that may have to take its place */
    int life;      /* a pipe that is closed when the process ends */

    pthread_mutex_t starting; /* a process is in the list before another thread looks for it */
    pid_t pids[2];            /* of toll-gpu and of a copy; the last one is the helper */
    unsigned pid_count;
    pthread_mutex_t sending; /* requests of two threads are not mixed */
    atomic_bool is_hung_up;
    _Atomic uint64_t cpu_ns;
};

static void helper_close_spare_ends(struct gpu_helper *h)
{
    if (h->other_end >= 0)
        close(h->other_end);
    if (h->life >= 0)
        close(h->life);
    h->other_end = h->life = -1;
}

/* False where there is no toll-gpu. One that was started has yet to say that it has begun. */
static bool helper_start_program(struct gpu_helper *h)
{
    char path[PATH_MAX], build[64], vendor[32], root[] = "--", name[] = HELPER_PROGRAM;
    int life[2];
    const struct gpu_vendor *const *known = gpu_vendors;
    while (*known && *known != h->vendor)
        known++;
    if (!*known || !helper_find_program(path, sizeof path) || pipe2(life, O_CLOEXEC) < 0)
        return false;
    helper_describe_build(build, sizeof build);
    snprintf(vendor, sizeof vendor, "%s", h->vendor->name);
    if (h->root->live)
        root[0] = 'l';
    if (h->root->pids >= 0)
        root[1] = 'p';
    char *argv[] = {name, build, vendor, root, NULL};
    const int files[] = {h->other_end, life[1], h->root->proc, h->root->sys, h->root->root};
    pthread_mutex_lock(&h->starting);
    pid_t pid = quiet_fork_program(path, argv, files, ARRAY_LEN(files));
    if (pid > 0)
        h->pids[h->pid_count++] = pid;
    pthread_mutex_unlock(&h->starting);
    close(life[1]);
    h->life = life[0];
    h->is_program = pid > 0;
    return h->is_program;
}

/* 0 or -errno. */
static int helper_start_copy(struct gpu_helper *h)
{
    struct helper_server s = {
        .vendor = h->vendor, .root = *h->root, .socket = h->other_end, .life = -1};
    h->is_program = false;
    pthread_mutex_lock(&h->starting);
    pid_t pid = quiet_fork_whole(helper_server_run, &s);
    if (pid > 0)
        h->pids[h->pid_count++] = pid;
    pthread_mutex_unlock(&h->starting);
    helper_close_spare_ends(h);
    return pid < 0 ? pid : 0;
}

int gpu_helper_start(struct gpu_helper **ret, const struct gpu_vendor *vendor,
                     const struct sysroot *root)
{
    int ends[2];
    struct gpu_helper *h = calloc(1, sizeof *h);
    if (!h)
        return -ENOMEM;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0) {
        free(h);
        return -errno;
    }
    h->vendor = vendor;
    h->root = root;
    h->socket = ends[0];
    h->other_end = ends[1];
    h->life = -1;
    pthread_mutex_init(&h->starting, NULL);
    pthread_mutex_init(&h->sending, NULL);
    int r = helper_start_program(h) ? 0 : helper_start_copy(h);
    if (r < 0) {
        gpu_helper_free(h);
        return r;
    }
    *ret = h;
    return 0;
}

/* Reads an answer and what follows it into the frame, and makes texts and pointers safe to use;
 * false when the process sent none. */
static bool helper_receive_answer(struct gpu_helper *h, struct helper_answer *ret,
                                  struct gpu_frame *f)
{
    if (!helper_receive(h->socket, ret, sizeof *ret) || ret->device_count > MOST_DEVICES ||
        ret->process_count > MOST_PROCESSES)
        return false;
    ret->trouble.sentence[sizeof ret->trouble.sentence - 1] = '\0';
    h->cpu_ns = ret->cpu_ns;
    for (uint32_t i = 0; i < ret->device_count; i++) {
        struct gpu_device *d = gpu_frame_add_device(f);
        if (!d || !helper_receive(h->socket, d, sizeof *d))
            return false;
        struct gpu_facts *facts = &d->facts;
        facts->uuid[sizeof facts->uuid - 1] = '\0';
        facts->name[sizeof facts->name - 1] = '\0';
        facts->pci[sizeof facts->pci - 1] = '\0';
        facts->instance[sizeof facts->instance - 1] = '\0';
        facts->legacy[sizeof facts->legacy - 1] = '\0';
        facts->driver[sizeof facts->driver - 1] = '\0';
        facts->vendor = h->vendor->name;
        facts->means = h->vendor->means;
        d->vendor = h->vendor;
        d->row.first = gpu_first;
        d->row.present &= BIT(GPU_METRICS) - 1;
    }
    for (uint32_t i = 0; i < ret->process_count; i++) {
        struct gpu_process p;
        if (!helper_receive(h->socket, &p, sizeof p) || p.device >= f->device_count ||
            !gpu_frame_add_process(f, &p))
            return false;
    }
    return true;
}

static void helper_say_crashed(const struct gpu_helper *h, struct gpu_trouble *trouble,
                               const char *what)
{
    if (!h->is_hung_up)
        snprintf(trouble->sentence, sizeof trouble->sentence, "%s library (%s) crashed; %s",
                 h->vendor->people, h->vendor->means, what);
}

/* Waits for an answer without devices. The end of toll-gpu does not close its socket, whose other
 * end this process has as well: its pipe shows it. */
static bool helper_receive_kind(struct gpu_helper *h, struct helper_answer *ret, int kind)
{
    struct gpu_frame none = {0};
    if (h->is_program) {
        struct pollfd polled[] = {{.fd = h->socket, .events = POLLIN}, {.fd = h->life}};
        while (poll(polled, ARRAY_LEN(polled), -1) < 0)
            if (errno != EINTR)
                return false;
        if (!polled[0].revents && poll(polled, 1, 0) <= 0) /* it may have ended with an answer */
            return false;
    }
    bool is_it = helper_receive_answer(h, ret, &none) && ret->kind == (unsigned)kind &&
                 !ret->device_count;
    gpu_frame_done(&none);
    return is_it;
}

int gpu_helper_open(struct gpu_helper *h, struct gpu_trouble *trouble)
{
    struct helper_answer said = {0};
    bool has_answer = false, is_copy = !h->is_program;
    if (h->is_program) {
        bool has_begun = helper_receive_kind(h, &said, HAS_BEGUN);
        has_answer = has_begun && helper_receive_kind(h, &said, HAS_OPENED);
        /* A program that cannot be run here, or is of another build, does not begin. A copy may
         * have a library loaded already that toll-gpu does not find. */
        bool needs_copy = !has_begun ||
                          (has_answer && said.result < 0 && h->vendor->is_likely(h->root));
        is_copy = needs_copy && !h->is_hung_up && helper_start_copy(h) == 0;
    }
    if (is_copy)
        has_answer = helper_receive_kind(h, &said, HAS_OPENED);
    helper_close_spare_ends(h);
    if (has_answer) {
        *trouble = said.trouble;
        return said.result;
    }
    helper_say_crashed(h, trouble, "its GPUs are not read");
    return -EIO;
}

enum gpu_look gpu_helper_read(struct gpu_helper *h, struct gpu_frame *f, const pid_t *pids,
                              size_t count, struct gpu_trouble *trouble,
                              void (*energy)(void *arg, const struct gpu_frame *f), void *arg)
{
    struct helper_answer said;
    struct helper_request r = {
        .kind = ASK_LOOK, .is_energy_only = f->energy_only, .pid_count = (uint32_t)count};
    pthread_mutex_lock(&h->sending);
    bool has_answer = helper_send(h->socket, &r, sizeof r) &&
                      helper_send(h->socket, pids, count * sizeof *pids);
    pthread_mutex_unlock(&h->sending);
    while (has_answer && (has_answer = helper_receive_answer(h, &said, f)) &&
           said.kind == HAS_ENERGY) {
        energy(arg, f);
        gpu_frame_clear(f);
    }
    if (has_answer) {
        *trouble = said.trouble;
        return said.is_whole ? GPU_LOOK_WHOLE : GPU_LOOK_ENERGY;
    }
    gpu_frame_clear(f);
    helper_say_crashed(h, trouble, "figures of its GPUs end here");
    return GPU_LOOK_DEAD;
}

void gpu_helper_hurry(struct gpu_helper *h)
{
    struct helper_request r = {.kind = ASK_HURRY};
    if (pthread_mutex_trylock(&h->sending) != 0)
        return; /* a request is being sent: the process is busy or hangs, and cannot hurry */
    ssize_t n = send(h->socket, &r, sizeof r, MSG_NOSIGNAL | MSG_DONTWAIT);
    (void)n;
    pthread_mutex_unlock(&h->sending);
}

void gpu_helper_hang_up(struct gpu_helper *h)
{
    h->is_hung_up = true;
    shutdown(h->socket, SHUT_RDWR);
}

uint64_t gpu_helper_cpu_ns(const struct gpu_helper *h)
{
    return h->cpu_ns;
}

/* A process that has ended stays in the list: other threads may have seen its pid. */
bool gpu_helper_is(struct gpu_helper *h, pid_t pid)
{
    bool found = false;
    pthread_mutex_lock(&h->starting);
    for (unsigned i = 0; i < h->pid_count; i++)
        found |= h->pids[i] == pid;
    pthread_mutex_unlock(&h->starting);
    return found;
}

/* The process closes the driver itself, unless that takes long. */
void gpu_helper_free(struct gpu_helper *h)
{
    if (!h)
        return;
    gpu_helper_hang_up(h);
    close(h->socket);
    helper_close_spare_ends(h);
    pid_t pid = h->pid_count ? h->pids[h->pid_count - 1] : 0;
    if (pid)
        quiet_fork_end(pid, MOST_MS_TO_CLOSE);
    pthread_mutex_destroy(&h->starting);
    pthread_mutex_destroy(&h->sending);
    free(h);
}
