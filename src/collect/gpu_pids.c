/* SPDX-License-Identifier: MIT */
#include "collect/gpu_pids.h"

#include "base/file.h"
#include "collect/gpu_vendor.h"
#include "parse/pid_status.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

enum { NAMESPACES = 8 };

#define KNOWN_FOR_NS NS_PER_SECOND

/* The first pid namespace of a machine has this number in every kernel. */
#define FIRST_NAMESPACE "pid:[4026531836]"

void gpu_pids_init(struct gpu_pids *p, const struct sysroot *root)
{
    char link[64] = "";
    *p = (struct gpu_pids){.root = root};
    ssize_t n = readlinkat(root->proc, "self/ns/pid", link, sizeof link - 1);
    p->is_nested = n > 0 && strcmp(link, FIRST_NAMESPACE) != 0;
}

void gpu_pids_done(struct gpu_pids *p)
{
    map_done(&p->known);
}

void gpu_pids_begin(struct gpu_pids *p, const pid_t *interest, size_t count, uint64_t now_ns)
{
    p->interest = interest;
    p->interest_count = count;
    if (now_ns - p->renewed_ns < KNOWN_FOR_NS)
        return;
    map_clear(&p->known);
    p->renewed_ns = now_ns;
}

/* Whether the process has that pid in a namespace above or below another one that we see. */
static bool is_called(const struct gpu_pids *p, pid_t pid, unsigned driver_pid)
{
    char path[64], text[4096];
    pid_t pids[NAMESPACES];
    snprintf(path, sizeof path, "%d/status", (int)pid);
    ssize_t n = file_read_at(p->root->proc, path, text, sizeof text);
    int count = n > 0 ? parse_pid_namespaces(scan_text(text, (size_t)n), pids, NAMESPACES) : 0;
    for (int i = 0; i < count && count > 1; i++)
        if ((unsigned)pids[i] == driver_pid)
            return true;
    return false;
}

struct search {
    int files;
    bool found;
};

static void look_at_file(void *arg, const char *name)
{
    struct search *s = arg;
    static const char *const devices[] = {"/dev/nvidia", "/dev/kfd"};
    char link[64] = "";
    if (s->found || readlinkat(s->files, name, link, sizeof link - 1) <= 0)
        return;
    for (size_t i = 0; i < ARRAY_LEN(devices); i++)
        s->found |= strncmp(link, devices[i], strlen(devices[i])) == 0;
}

static bool has_device_open(const struct gpu_pids *p, unsigned pid)
{
    char path[64];
    snprintf(path, sizeof path, "%u/fd", pid);
    CLEANUP_CLOSE int files = openat(p->root->proc, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct search s = {.files = files};
    if (files >= 0)
        file_each_entry(files, look_at_file, &s);
    return s.found;
}

static pid_t find_out(const struct gpu_pids *p, unsigned driver_pid)
{
    pid_t found = GPU_UNKNOWN_PID;
    for (size_t i = 0; i < p->interest_count; i++) {
        if (!is_called(p, p->interest[i], driver_pid))
            continue;
        if (found != GPU_UNKNOWN_PID)
            return GPU_UNKNOWN_PID; /* it might be either */
        found = p->interest[i];
    }
    if (found == GPU_UNKNOWN_PID && has_device_open(p, driver_pid))
        found = (pid_t)driver_pid;
    return found;
}

pid_t gpu_pids_map(struct gpu_pids *p, unsigned driver_pid)
{
    uint32_t known;
    if (!driver_pid || driver_pid > INT32_MAX)
        return GPU_UNKNOWN_PID;
    if (!p->is_nested)
        return (pid_t)driver_pid;
    if (map_get(&p->known, driver_pid, &known))
        return (pid_t)known;
    pid_t found = find_out(p, driver_pid);
    map_put(&p->known, driver_pid, (uint32_t)found);
    return found;
}
