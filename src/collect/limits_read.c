/* SPDX-License-Identifier: MIT */
#include "collect/limits_read.h"

#include "base/file.h"
#include "parse/cgroup_value.h"
#include "parse/cpu_list.h"
#include "parse/keyed.h"
#include "parse/pid_limits.h"

#include <stdio.h>

enum { TEXT_BYTES = 16384 };

static void process_path(char ret[48], pid_t pid, const char *name)
{
    if (pid)
        snprintf(ret, 48, "%d/%s", (int)pid, name);
    else
        snprintf(ret, 48, "self/%s", name);
}

static void set(struct limit *l, uint64_t value, const char *by)
{
    *l = (struct limit){.known = true, .value = value, .by = by};
}

/* ---- CPUs ------------------------------------------------------------------------------------ */

static int read_cpu_list(int dir, const char *path, struct cpu_list *ret)
{
    char text[TEXT_BYTES];
    ssize_t n = dir < 0 ? -ENOENT : file_read_at(dir, path, text, sizeof text);
    return n < 0 ? (int)n : parse_cpu_list(scan_text(text, (size_t)n), ret);
}

/* A CPU that is online has a line of its own: "cpu3 …". */
static int online_in_stat(const struct sysroot *root, struct cpu_list *ret)
{
    char text[TEXT_BYTES];
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
        if (!scan_u64(&line, &cpu) || cpu >= CPU_LIST_MOST)
            return -EBADMSG;
        list.bits[cpu / 64] |= BIT(cpu % 64);
        any = true;
    }
    return -ENODATA;
}

/* Cpus_allowed_list of status: readable for everybody, and cut to the cpuset by the kernel. */
static int read_affinity(const struct sysroot *root, pid_t pid, struct cpu_list *ret)
{
    char path[48], text[TEXT_BYTES];
    process_path(path, pid, "status");
    ssize_t n = file_read_at(pid ? root->pids : root->proc, path, text, sizeof text);
    struct scan rest = scan_text(text, n > 0 ? (size_t)n : 0), line;
    while (scan_line(&rest, &line) && line.end != rest.at)
        if (scan_word(&line, "Cpus_allowed_list:"))
            return parse_cpu_list(line, ret);
    return -ENODATA;
}

static int read_cpuset(const struct cgroup *c, struct cpu_list *ret)
{
    static const char *const names[] = {"cpuset.cpus.effective", "cpuset.effective_cpus",
                                        "cpuset.cpus"};
    char text[TEXT_BYTES];
    for (size_t i = 0; c && i < ARRAY_LEN(names); i++) {
        ssize_t n = cgroup_read_file(c, CGROUP_CPUSET, names[i], text, sizeof text);
        if (n > 0 && parse_cpu_list(scan_text(text, (size_t)n), ret) == 0)
            return 0;
    }
    return -ENODATA;
}

static void lower_cpus(struct limit *l, double cores, const char *by)
{
    if (!l->known || cores < l->cores)
        *l = (struct limit){.known = true, .cores = cores, .by = by};
}

/* Each set is cut to the one before: the kernel lists CPUs as allowed that are not there. */
static void read_cpus(struct limit *l, const struct sysroot *root, pid_t pid,
                      const struct cgroup *c)
{
    struct cpu_list left, next;
    if (read_cpu_list(root->sys, "devices/system/cpu/online", &left) < 0 &&
        online_in_stat(root, &left) < 0)
        memset(&left, 0xff, sizeof left);
    else
        lower_cpus(l, cpu_list_count(&left), "machine");
    if (read_cpuset(c, &next) == 0) {
        cpu_list_keep(&left, &next);
        lower_cpus(l, cpu_list_count(&left), "cpuset");
    }
    if (read_affinity(root, pid, &next) == 0) {
        cpu_list_keep(&left, &next);
        if (cpu_list_count(&left))
            lower_cpus(l, cpu_list_count(&left), "affinity");
    }
}

/* ---- The rest of the machine ----------------------------------------------------------------- */

static void read_memory(struct limit *l, const struct sysroot *root)
{
    static const struct keyed total = {"MemTotal:", keyed_kib};
    char text[TEXT_BYTES];
    uint64_t bytes;
    ssize_t n = file_read_at(root->proc, "meminfo", text, sizeof text);
    if (n > 0 && keyed_read(scan_text(text, (size_t)n), &total, 1, &bytes) == 1)
        set(l, bytes, "machine");
}

static void read_tasks(struct limit *l, const struct sysroot *root)
{
    static const char *const names[] = {"sys/kernel/threads-max", "sys/kernel/pid_max"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        char text[64];
        struct cgroup_value v;
        ssize_t n = file_read_at(root->proc, names[i], text, sizeof text);
        if (n > 0 && parse_cgroup_value(scan_text(text, (size_t)n), &v) == 0 && !v.unlimited &&
            (!l->known || v.value < l->value))
            set(l, v.value, "machine");
    }
}

/* ---- Cgroups and resource limits ------------------------------------------------------------- */

static void apply_cgroup(struct limits *l, const struct cgroup *c)
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
    char path[48], text[TEXT_BYTES];
    struct pid_limits p;
    process_path(path, pid, "limits");
    ssize_t n = file_read_at(pid ? root->pids : root->proc, path, text, sizeof text);
    if (n <= 0 || parse_pid_limits(scan_text(text, (size_t)n), &p) < 0)
        return;
    for (unsigned i = 0; i < PID_LIMITS; i++) {
        if (!(p.known >> i & 1))
            continue;
        bool unlimited = p.soft[i] == PID_LIMIT_NONE;
        set(&l->of[kinds[i]], unlimited ? 0 : p.soft[i], "resource limit");
        l->of[kinds[i]].unlimited = unlimited;
    }
}

void limits_read(struct limits *ret, const struct sysroot *root, pid_t pid, const struct cgroup *c)
{
    *ret = (struct limits){0};
    read_cpus(&ret->of[LIMIT_CPUS], root, pid, c);
    read_memory(&ret->of[LIMIT_MEMORY_BYTES], root);
    read_tasks(&ret->of[LIMIT_TASKS], root);
    if (c)
        apply_cgroup(ret, c);
    limits_read_resources(ret, root, pid);
}

void limits_done(struct limits *l)
{
    for (unsigned i = 0; i < LIMITS; i++)
        free(l->of[i].cgroup);
    *l = (struct limits){0};
}
