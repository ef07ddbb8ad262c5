/* SPDX-License-Identifier: MIT */
#include "source/cgroup/limits.h"

#include "base/io/file.h"
#include "base/util.h"
#include "source/cgroup/cgroup.h"
#include "source/cgroup/place.h"
#include "source/kernel_file.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>

/* ==== Kmsg ==================================================================================== */

/* 3,4531,3674722581,-;Out of memory: Killed process 29095 (toll) total-vm:24074108kB, …
 * 3,812,91204455,-;Memory cgroup out of memory: Killed process 4711 (job) total-vm:…
 *  SUBSYSTEM=…
 *
 * Kernels before 5.0 write "Kill process 4711 (job) score 9 or sacrifice child" first, which is
 * only a plan, and then this line. Later kernels may add fields before the semicolon. */

int parse_kmsg(struct scan text, struct kmsg *ret)
{
    struct scan line;
    struct kmsg k;
    uint64_t priority;
    if (!scan_line(&text, &line) || !scan_u64(&line, &priority) || !scan_word(&line, ",") ||
        !scan_u64(&line, &k.sequence) || !scan_word(&line, ",") || !scan_u64(&line, &k.time_us))
        return -EBADMSG;
    const char *semicolon = memchr(line.at, ';', scan_length(line));
    if (!semicolon || *line.at != ',')
        return -EBADMSG;
    k.message = (struct scan){.at = semicolon + 1, .end = line.end};
    *ret = k;
    return 0;
}

bool kmsg_is_kill_of(struct scan message, uint64_t pid)
{
    static const char words[] = "Killed process ";
    const char *found = memmem(message.at, scan_length(message), words, sizeof words - 1);
    if (!found)
        return false;
    message.at = found + sizeof words - 1;
    uint64_t killed;
    if (!scan_u64(&message, &killed) || killed != pid)
        return false;
    return scan_word(&message, " (") || scan_word(&message, ",");
}

/* ==== Kernel log ============================================================================== */

enum { MOST_RECORDS = 100000, RECORD_BYTES = 8192 };

enum kernel_log_answer kernel_log_killed(const struct sysroot *root, pid_t pid,
                                         uint64_t since_mono_ns)
{
    /* The log has pids of the first namespace, which are other processes in another one. */
    char link[64];
    ssize_t length = readlinkat(root->proc, "self/ns/pid", link, sizeof link - 1);
    link[length > 0 ? length : 0] = '\0';
    if (!root->live || strcmp(link, "pid:[4026531836]") != 0)
        return KERNEL_LOG_UNKNOWN;
    CLEANUP_CLOSE int fd = openat(root->root, "dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return KERNEL_LOG_UNKNOWN;
    /* The log's clock is not slewed as the monotonic one is, by up to 500 in a million. */
    uint64_t since_us = left_u64(since_mono_ns, since_mono_ns / 1000 + NS_PER_SECOND) / NS_PER_US;
    bool complete = false; /* the log goes back to that moment */
    for (unsigned i = 0; i < MOST_RECORDS; i++) {
        char text[RECORD_BYTES];
        ssize_t n = read(fd, text, sizeof text);
        if (n < 0 && errno == EAGAIN)
            return complete ? KERNEL_LOG_NO : KERNEL_LOG_UNKNOWN;
        if (n < 0 && errno == EPIPE) { /* records were overwritten while we read */
            complete = false;
            continue;
        }
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return KERNEL_LOG_UNKNOWN;
        struct kmsg k;
        if (parse_kmsg(scan_text(text, (size_t)n), &k) < 0)
            continue;
        complete |= k.sequence == 0 || k.time_us < since_us;
        if (k.time_us >= since_us && kmsg_is_kill_of(k.message, (uint64_t)pid))
            return KERNEL_LOG_YES;
    }
    return KERNEL_LOG_UNKNOWN;
}

/* ==== Cgroup oom ============================================================================== */

void cgroup_oom_init(struct cgroup_oom *o)
{
    *o = (struct cgroup_oom){.events = CGROUP_FILE_CLOSED, .directory = -1};
}

void cgroup_oom_done(struct cgroup_oom *o)
{
    cgroup_file_close(&o->events);
    close_p(&o->directory);
}

void cgroup_oom_note(struct cgroup_oom *o, uint64_t kills)
{
    o->kills = max_u64(o->kills, kills);
    o->known = true;
}

struct oom_count {
    uint64_t kills;
    bool known;
};

static void oom_count_add(struct oom_count *c, struct scan text)
{
    static const char *const key[] = {"oom_kill"};
    uint64_t value;
    if (parse_cgroup_flat(text, key, 1, &value) != 1)
        return;
    c->kills += value;
    c->known = true;
}

static void oom_count_add_directory(void *arg, int dir)
{
    char text[256];
    ssize_t n = file_read_at(dir, "memory.oom_control", text, sizeof text);
    if (n > 0)
        oom_count_add(arg, scan_text(text, (size_t)n));
}

void cgroup_oom_read(struct cgroup_oom *o, const struct sysroot *root,
                     const struct cgroup_place *place)
{
    struct oom_count count = {0};
    if (!place)
        return;
    if (place->v2) {
        char text[1024];
        ssize_t n = cgroup_file_read(&o->events, root, place->directory, "memory.events", text,
                                     sizeof text);
        if (n > 0)
            oom_count_add(&count, scan_text(text, (size_t)n));
    } else { /* version 1 counts for each cgroup alone */
        CLEANUP_CLOSE int dir = take_fd(&o->directory);
        if (dir < 0)
            dir = openat(root->root, place->directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (dir < 0)
            return;
        cgroup_walk_from(dir, oom_count_add_directory, &count);
        if (root->live)
            o->directory = take_fd(&dir);
    }
    if (count.known)
        cgroup_oom_note(o, count.kills);
}

/* ==== Cgroup limits =========================================================================== */

/* A limit holds for everything below it, so that the tightest on the way up counts. */

struct limit_source {
    struct limit_source *next;
    const struct limit_file *what;
    char *directory; /* owned */
    char *path;      /* owned; NULL when the limit may be that of any ancestor */
    struct cgroup_file file;
    struct cgroup_file period;
};

/* Parses the text of the file. 0 and a limit, which is not known when there is none; or -errno. */
typedef int limit_parser(struct limit_source *s, const struct sysroot *root, struct scan text,
                         struct cgroup_limit *ret);

struct limit_file {
    enum cgroup_limit_kind kind;
    enum cgroup_controller controller;
    bool v2;
    bool ancestors_too; /* false: the file is about all ancestors, for when some are hidden */
    const char *name;
    limit_parser *parse;
};

static int limit_parse_value(struct limit_source *s, const struct sysroot *root, struct scan text,
                             struct cgroup_limit *ret)
{
    struct cgroup_value v;
    int r = parse_cgroup_value(text, &v);
    if (r == 0)
        *ret = (struct cgroup_limit){.known = !v.unlimited, .value = v.value};
    return r;
}

static int limit_parse_cpu_max(struct limit_source *s, const struct sysroot *root, struct scan text,
                               struct cgroup_limit *ret)
{
    struct cgroup_cpu_max m;
    int r = parse_cgroup_cpu_max(text, &m);
    if (r == 0 && !m.unlimited)
        *ret = (struct cgroup_limit){.known = true,
                                     .cores = (double)m.quota_us / (double)m.period_us};
    return r;
}

static int limit_parse_cfs_quota(struct limit_source *s, const struct sysroot *root,
                                 struct scan text, struct cgroup_limit *ret)
{
    struct cgroup_value quota, period;
    int r = parse_cgroup_value(text, &quota);
    if (r < 0 || quota.unlimited)
        return r;
    char other[64];
    ssize_t n = cgroup_file_read(&s->period, root, s->directory, "cpu.cfs_period_us", other,
                                 sizeof other);
    r = n < 0 ? (int)n : parse_cgroup_value(scan_text(other, (size_t)n), &period);
    if (r == 0 && (period.unlimited || !period.value))
        return -EBADMSG;
    if (r == 0)
        *ret = (struct cgroup_limit){.known = true,
                                     .cores = (double)quota.value / (double)period.value};
    return r;
}

/* Version 1 has the tightest limit of all ancestors, also of those outside of a container. */
static int limit_parse_hierarchical(struct limit_source *s, const struct sysroot *root,
                                    struct scan text, struct cgroup_limit *ret)
{
    static const char *const key[] = {"hierarchical_memory_limit"};
    uint64_t value;
    int r = parse_cgroup_flat(text, key, 1, &value);
    if (r <= 0)
        return r < 0 ? r : -ENODATA;
    struct cgroup_value v = cgroup_value_of(value);
    *ret = (struct cgroup_limit){.known = !v.unlimited, .value = v.value};
    return 0;
}

static const struct limit_file files[] = {
    {CGROUP_LIMIT_MEMORY, CGROUP_MEMORY, true, true, "memory.max", limit_parse_value},
    {CGROUP_LIMIT_SWAP, CGROUP_MEMORY, true, true, "memory.swap.max", limit_parse_value},
    {CGROUP_LIMIT_CORES, CGROUP_CPU, true, true, "cpu.max", limit_parse_cpu_max},
    {CGROUP_LIMIT_TASKS, CGROUP_PIDS, true, true, "pids.max", limit_parse_value},
    {CGROUP_LIMIT_MEMORY, CGROUP_MEMORY, false, true, "memory.limit_in_bytes", limit_parse_value},
    {CGROUP_LIMIT_MEMORY, CGROUP_MEMORY, false, false, "memory.stat", limit_parse_hierarchical},
    {CGROUP_LIMIT_CORES, CGROUP_CPU, false, true, "cpu.cfs_quota_us", limit_parse_cfs_quota},
    {CGROUP_LIMIT_TASKS, CGROUP_PIDS, false, true, "pids.max", limit_parse_value},
};

static void limit_source_free(struct limit_source *s)
{
    if (!s)
        return;
    cgroup_file_close(&s->file);
    cgroup_file_close(&s->period);
    free(s->directory);
    free(s->path);
    free(s);
}

void cgroup_limits_close_files(struct cgroup_limits *l)
{
    for (struct limit_source *s = l->sources; s; s = s->next) {
        cgroup_file_close(&s->file);
        cgroup_file_close(&s->period);
    }
}

static struct limit_source *limit_source_new(const struct limit_file *what, const char *directory,
                                             size_t directory_length, const char *path,
                                             size_t path_length)
{
    struct limit_source *s = calloc(1, sizeof *s);
    if (!s)
        return NULL;
    s->what = what;
    s->file = s->period = CGROUP_FILE_CLOSED;
    s->directory = strndup(directory, directory_length);
    s->path = what->ancestors_too ? strndup(path_length ? path : "/", path_length ? path_length : 1)
                                  : NULL;
    if (!s->directory || (what->ancestors_too && !s->path)) {
        limit_source_free(s);
        return NULL;
    }
    return s;
}

/* Adds one source for the cgroup and one for each ancestor up to the mount point. Returns the end
 * of the list, NULL without memory. */
static struct limit_source **limit_sources_add(struct limit_source **tail,
                                               const struct limit_file *what,
                                               const struct cgroup_place *p)
{
    size_t length = strlen(p->directory);
    size_t in_path = strlen(p->path);
    for (;;) {
        *tail = limit_source_new(what, p->directory, length, p->path, in_path);
        if (!*tail)
            return NULL;
        tail = &(*tail)->next;
        if (!what->ancestors_too || length <= p->mount_length)
            return tail;
        size_t step = 1;
        while (p->directory[length - step] != '/')
            step++;
        length -= step;
        in_path -= step;
    }
}

int cgroup_limits_init(struct cgroup_limits *l, const struct cgroup_places *places)
{
    *l = (struct cgroup_limits){0};
    struct limit_source **tail = &l->sources;
    for (unsigned i = 0; i < ARRAY_LEN(files); i++) {
        const struct cgroup_place *p = cgroup_place_for(places, files[i].controller);
        if (!p || p->v2 != files[i].v2 || (p->sees_root && !files[i].ancestors_too))
            continue;
        if (!p->sees_root && files[i].ancestors_too)
            l->hidden |= (unsigned)BIT(files[i].kind);
        if (!files[i].ancestors_too)
            l->hidden &= ~(unsigned)BIT(files[i].kind);
        tail = limit_sources_add(tail, &files[i], p);
        if (!tail) {
            cgroup_limits_done(l);
            return -ENOMEM;
        }
    }
    return 0;
}

void cgroup_limits_done(struct cgroup_limits *l)
{
    while (l->sources) {
        struct limit_source *next = l->sources->next;
        limit_source_free(l->sources);
        l->sources = next;
    }
}

void cgroup_limits_read(const struct cgroup_limits *l, const struct sysroot *root,
                        struct cgroup_limit ret[CGROUP_LIMIT_KINDS])
{
    bool was_asked[CGROUP_LIMIT_KINDS] = {0}, were_all_read[CGROUP_LIMIT_KINDS] = {0};
    memset(ret, 0, CGROUP_LIMIT_KINDS * sizeof *ret);
    for (struct limit_source *s = l->sources; s; s = s->next) {
        struct cgroup_limit found = {0};
        enum cgroup_limit_kind kind = s->what->kind;
        char text[8192];
        ssize_t n = cgroup_file_read(&s->file, root, s->directory, s->what->name, text,
                                     sizeof text);
        int r = n < 0 ? (int)n : s->what->parse(s, root, scan_text(text, (size_t)n), &found);
        if (!was_asked[kind]) /* the cgroup's own */
            were_all_read[kind] = r == 0 || (r == -ENOENT && strcmp(s->path, "/") == 0);
        else if (r < 0 && r != -ENOENT) /* the root has no such file */
            were_all_read[kind] = false;
        was_asked[kind] = true;
        bool is_tighter = !ret[kind].known || found.value < ret[kind].value ||
                          found.cores < ret[kind].cores;
        if (r < 0 || !found.known || !is_tighter)
            continue;
        found.path = s->path;
        ret[kind] = found;
    }
    for (unsigned kind = 0; kind < CGROUP_LIMIT_KINDS; kind++)
        ret[kind].unlimited = were_all_read[kind] && !ret[kind].known && !(l->hidden >> kind & 1);
}

/* ==== Pid limits ============================================================================== */

/* Limit                     Soft Limit           Hard Limit           Units
 * Max cpu time              unlimited            unlimited            seconds
 * Max core file size        0                    unlimited            bytes
 * Max open files            20000                20000                files */

/* The soft limit; the rest of the line is skipped. */
static bool pid_limits_read_soft(struct scan *s, uint64_t *ret)
{
    scan_blanks(s);
    if (scan_word(s, "unlimited"))
        *ret = PID_LIMIT_NONE;
    else if (!scan_u64(s, ret))
        return false;
    bool has_hard = !scan_done(s) && *s->at == ' ' && scan_skip_fields(s, 1);
    s->at = s->end;
    return has_hard;
}

static const struct keyed pid_limit_keys[PID_LIMITS] = {
    [PID_LIMIT_CPU_SECONDS] = {"Max cpu time ", pid_limits_read_soft},
    [PID_LIMIT_FILE_BYTES] = {"Max file size ", pid_limits_read_soft},
    [PID_LIMIT_CORE_BYTES] = {"Max core file size ", pid_limits_read_soft},
    [PID_LIMIT_PROCESSES] = {"Max processes ", pid_limits_read_soft},
    [PID_LIMIT_OPEN_FILES] = {"Max open files ", pid_limits_read_soft},
    [PID_LIMIT_LOCKED_BYTES] = {"Max locked memory ", pid_limits_read_soft},
    [PID_LIMIT_ADDRESS_BYTES] = {"Max address space ", pid_limits_read_soft},
};

int parse_pid_limits(struct scan text, struct pid_limits *ret)
{
    if (scan_done(&text))
        return -ESRCH;
    struct pid_limits limits = {0};
    int seen = keyed_read(text, pid_limit_keys, PID_LIMITS, limits.soft);
    if (seen <= 0)
        return -EBADMSG;
    limits.known = (unsigned)seen;
    *ret = limits;
    return 0;
}

/* ==== Limits read ============================================================================= */

enum { LIMITS_READ_TEXT_BYTES = 16384 };

/* Text of /proc/PID/name, pid 0 for the caller; empty when it cannot be read. */
static struct scan limits_read_proc(const struct sysroot *root, pid_t pid, const char *name,
                                    char text[LIMITS_READ_TEXT_BYTES])
{
    char path[48];
    if (pid)
        snprintf(path, sizeof path, "%d/%s", (int)pid, name);
    else
        snprintf(path, sizeof path, "self/%s", name);
    ssize_t n = file_read_at(pid ? root->pids : root->proc, path, text, LIMITS_READ_TEXT_BYTES);
    return scan_text(text, n > 0 ? (size_t)n : 0);
}

static void limits_read_set(struct limit *l, uint64_t value, const char *by)
{
    *l = (struct limit){.known = true, .value = value, .by = by};
}

/* ---- CPUs ------------------------------------------------------------------------------------ */

/* A CPU that is online has a line of its own, "cpu3 186345 963 …", after the one of all. */
static int limits_read_online_in_stat(const struct sysroot *root, struct cpu_list *ret)
{
    char text[LIMITS_READ_TEXT_BYTES];
    ssize_t n = file_read_at(root->proc, "stat", text, sizeof text);
    struct scan rest = scan_text(text, n > 0 ? (size_t)n : 0), line;
    struct cpu_list list = {0};
    bool any = false;
    while (scan_line(&rest, &line) && line.end != rest.at) {
        uint64_t cpu;
        if (!scan_word(&line, "cpu"))
            return any ? (*ret = list, 0) : -ENODATA; /* all of them were there */
        if (scan_done(&line) || *line.at == ' ')
            continue;
        if (!scan_u64_here(&line, &cpu) || cpu >= CPU_LIST_MOST)
            return -EBADMSG;
        list.bits[cpu / 64] |= BIT(cpu % 64);
        any = true;
    }
    return -ENODATA;
}

/* Cpus_allowed_list of status, which every user can read; the kernel cuts it to the cpuset. */
static int limits_read_affinity(const struct sysroot *root, pid_t pid, struct cpu_list *ret)
{
    if (root->live && (pid == 0 || root->pids >= 0)) {
        /* The same set by a call, of a machine that has no more CPUs than fit. */
        struct cpu_list list = {0};
        long n = syscall(SYS_sched_getaffinity, pid, sizeof list.bits, list.bits);
        if (n > 0) {
            *ret = list;
            return 0;
        }
    }
    char text[LIMITS_READ_TEXT_BYTES];
    struct scan rest = limits_read_proc(root, pid, "status", text), line;
    while (scan_line(&rest, &line) && line.end != rest.at)
        if (scan_word(&line, "Cpus_allowed_list:"))
            return parse_cpu_list(line, ret);
    return -ENODATA;
}

static int limits_read_cpuset(const struct cgroup *c, struct cpu_list *ret)
{
    static const char *const names[] = {"cpuset.cpus.effective", "cpuset.effective_cpus",
                                        "cpuset.cpus"};
    char text[LIMITS_READ_TEXT_BYTES];
    for (size_t i = 0; c && i < ARRAY_LEN(names); i++) {
        ssize_t n = cgroup_read_file(c, CGROUP_CPUSET, names[i], text, sizeof text);
        if (n > 0 && parse_cpu_list(scan_text(text, (size_t)n), ret) == 0)
            return 0;
    }
    return -ENODATA;
}

static void limits_lower_cpus(struct limit *l, double cores, const char *by)
{
    if (!l->known || cores < l->cores)
        *l = (struct limit){.known = true, .cores = cores, .by = by};
}

/* Each set is cut to the one before: the kernel lists CPUs as allowed that do not exist. */
static void limits_read_cpus(struct limit *l, const struct sysroot *root, pid_t pid,
                             const struct cgroup *c)
{
    struct cpu_list left, next;
    char text[LIMITS_READ_TEXT_BYTES];
    ssize_t n = root->sys < 0
                    ? -1
                    : file_read_at(root->sys, "devices/system/cpu/online", text, sizeof text);
    if ((n < 0 || parse_cpu_list(scan_text(text, (size_t)n), &left) < 0) &&
        limits_read_online_in_stat(root, &left) < 0)
        memset(&left, 0xff, sizeof left);
    else
        limits_lower_cpus(l, cpu_list_count(&left), "machine");
    if (limits_read_cpuset(c, &next) == 0) {
        cpu_list_keep(&left, &next);
        limits_lower_cpus(l, cpu_list_count(&left), "cpuset");
    }
    if (limits_read_affinity(root, pid, &next) == 0) {
        cpu_list_keep(&left, &next);
        if (cpu_list_count(&left))
            limits_lower_cpus(l, cpu_list_count(&left), "affinity");
    }
}

/* ---- The rest of the machine ----------------------------------------------------------------- */

/* The same number by a call, which takes a fiftieth of the time. A container may have a file of its
 * own in the place of the kernel's (lxcfs), with less memory: that one is read. */
static bool limits_ask_memory(const struct sysroot *root, uint64_t *ret_bytes)
{
    struct stat directory, file;
    struct sysinfo machine;
    if (!root->live || fstat(root->proc, &directory) < 0 ||
        fstatat(root->proc, "meminfo", &file, 0) < 0 || file.st_dev != directory.st_dev ||
        sysinfo(&machine) < 0)
        return false;
    *ret_bytes = (uint64_t)machine.totalram * machine.mem_unit;
    return true;
}

static void limits_read_memory(struct limit *l, const struct sysroot *root)
{
    static const struct keyed total = {"MemTotal:", keyed_kib};
    char text[LIMITS_READ_TEXT_BYTES];
    uint64_t bytes;
    if (limits_ask_memory(root, &bytes)) {
        limits_read_set(l, bytes, "machine");
        return;
    }
    ssize_t n = file_read_at(root->proc, "meminfo", text, sizeof text);
    if (n > 0 && keyed_read(scan_text(text, (size_t)n), &total, 1, &bytes) == 1)
        limits_read_set(l, bytes, "machine");
}

static void limits_read_tasks(struct limit *l, const struct sysroot *root)
{
    static const char *const names[] = {"sys/kernel/threads-max", "sys/kernel/pid_max"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        char text[64];
        struct cgroup_value v;
        ssize_t n = file_read_at(root->proc, names[i], text, sizeof text);
        if (n > 0 && parse_cgroup_value(scan_text(text, (size_t)n), &v) == 0 && !v.unlimited &&
            (!l->known || v.value < l->value))
            limits_read_set(l, v.value, "machine");
    }
}

/* ---- Cgroups and resource limits ------------------------------------------------------------- */

static void limits_apply_cgroup(struct limits *l, const struct cgroup *c)
{
    static const struct {
        enum cgroup_limit_kind from;
        enum limit_kind to;
        const char *by;
    } kinds[] = {
        {CGROUP_LIMIT_CORES, LIMIT_CPUS, "cpu quota"},
        {CGROUP_LIMIT_MEMORY, LIMIT_MEMORY_BYTES, "memory limit"},
        {CGROUP_LIMIT_SWAP, LIMIT_SWAP_BYTES, "swap limit"},
        {CGROUP_LIMIT_TASKS, LIMIT_TASKS, "task limit"},
    };
    struct cgroup_limit limits[CGROUP_LIMIT_KINDS];
    cgroup_read_limits(c, limits);
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        const struct cgroup_limit *from = &limits[kinds[i].from];
        struct limit *to = &l->of[kinds[i].to];
        bool tighter = !to->known || from->value < to->value || from->cores < to->cores;
        if (!from->known || !tighter)
            continue;
        *to = (struct limit){
            .known = true,
            .value = from->value,
            .cores = from->cores,
            .by = kinds[i].by,
            .cgroup = from->path ? strdup(from->path) : NULL,
        };
    }
}

/* By calls, which take a tenth of the time. -EPERM for a process of another user, whose file can
 * still be read. */
static int limits_ask_resources(const struct sysroot *root, pid_t pid, struct pid_limits *ret)
{
    static const int resources[PID_LIMITS] = {
        [PID_LIMIT_CPU_SECONDS] = RLIMIT_CPU,   [PID_LIMIT_FILE_BYTES] = RLIMIT_FSIZE,
        [PID_LIMIT_CORE_BYTES] = RLIMIT_CORE,   [PID_LIMIT_PROCESSES] = RLIMIT_NPROC,
        [PID_LIMIT_OPEN_FILES] = RLIMIT_NOFILE, [PID_LIMIT_LOCKED_BYTES] = RLIMIT_MEMLOCK,
        [PID_LIMIT_ADDRESS_BYTES] = RLIMIT_AS,
    };
    struct pid_limits p = {0};
    if (!root->live || (pid && root->pids < 0))
        return -ENOENT;
    for (unsigned i = 0; i < PID_LIMITS; i++) {
        struct rlimit l;
        if (prlimit(pid, (enum __rlimit_resource)resources[i], NULL, &l) < 0)
            return -errno;
        p.soft[i] = l.rlim_cur == RLIM_INFINITY ? PID_LIMIT_NONE : (uint64_t)l.rlim_cur;
        p.known |= 1U << i;
    }
    *ret = p;
    return 0;
}

void limits_read_resources(struct limits *l, const struct sysroot *root, pid_t pid)
{
    static const enum limit_kind kinds[PID_LIMITS] = {
        [PID_LIMIT_CPU_SECONDS] = LIMIT_CPU_SECONDS,
        [PID_LIMIT_FILE_BYTES] = LIMIT_FILE_BYTES,
        [PID_LIMIT_CORE_BYTES] = LIMIT_CORE_BYTES,
        [PID_LIMIT_PROCESSES] = LIMIT_PROCESSES,
        [PID_LIMIT_OPEN_FILES] = LIMIT_OPEN_FILES,
        [PID_LIMIT_LOCKED_BYTES] = LIMIT_LOCKED_BYTES,
        [PID_LIMIT_ADDRESS_BYTES] = LIMIT_ADDRESS_BYTES,
    };
    struct pid_limits p;
    char text[LIMITS_READ_TEXT_BYTES];
    if (limits_ask_resources(root, pid, &p) < 0 &&
        parse_pid_limits(limits_read_proc(root, pid, "limits", text), &p) < 0)
        return;
    for (unsigned i = 0; i < PID_LIMITS; i++) {
        if (!(p.known >> i & 1))
            continue;
        bool unlimited = p.soft[i] == PID_LIMIT_NONE;
        limits_read_set(&l->of[kinds[i]], unlimited ? 0 : p.soft[i], "resource limit");
        l->of[kinds[i]].unlimited = unlimited;
    }
}

void limits_read(struct limits *ret, const struct sysroot *root, pid_t pid, const struct cgroup *c)
{
    *ret = (struct limits){0};
    limits_read_cpus(&ret->of[LIMIT_CPUS], root, pid, c);
    limits_read_memory(&ret->of[LIMIT_MEMORY_BYTES], root);
    limits_read_tasks(&ret->of[LIMIT_TASKS], root);
    if (c)
        limits_apply_cgroup(ret, c);
    limits_read_resources(ret, root, pid);
}

void limits_done(struct limits *l)
{
    for (unsigned i = 0; i < LIMITS; i++)
        free(l->of[i].cgroup);
    *l = (struct limits){0};
}
