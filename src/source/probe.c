/* SPDX-License-Identifier: MIT */
#include "source/probe.h"

#include "base/process.h"
#include "source/collector.h"

#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

const struct collector *const collectors[] = {
    &collector_machine_cpu,    &collector_machine_memory,
    &collector_machine_paging, &collector_machine_load,
    &collector_disks,          &collector_mounts,
    &collector_netifs,         &collector_sensors,
    &collector_rapl,           NULL,
};

/* ---- Findings -------------------------------------------------------------------------------- */

static void finding_overwrite(struct buf *b, const char *format, va_list args)
{
    char text[512];
    vsnprintf(text, sizeof text, format, args);
    buf_clear(b);
    buf_puts(b, text);
}

#define OVERWRITE(b, format)                                                                       \
    do {                                                                                           \
        va_list args;                                                                              \
        va_start(args, format);                                                                    \
        finding_overwrite(b, format, args);                                                        \
        va_end(args);                                                                              \
    } while (0)

void finding_ok(struct finding *f, const char *quality, const char *means, ...)
{
    f->state = TOLL_CHECK_OK;
    f->quality = quality;
    OVERWRITE(&f->means, means);
}

void finding_partly(struct finding *f, const char *detail, ...)
{
    f->state = TOLL_CHECK_PARTLY;
    OVERWRITE(&f->detail, detail);
}

void finding_missing(struct finding *f, const char *detail, ...)
{
    f->state = TOLL_CHECK_MISSING;
    f->quality = "";
    OVERWRITE(&f->detail, detail);
}

void finding_unknown(struct finding *f, const char *detail, ...)
{
    f->state = TOLL_CHECK_UNKNOWN;
    f->quality = "";
    OVERWRITE(&f->detail, detail);
}

void finding_detail(struct finding *f, const char *format, ...)
{
    OVERWRITE(&f->detail, format);
}

void finding_remedy(struct finding *f, const char *format, ...)
{
    OVERWRITE(&f->remedy, format);
}

/* ---- Facts ----------------------------------------------------------------------------------- */

enum { STATUS_BYTES = 16384, CHILD_STATUS = 42 };

bool probe_is_since(const struct probe_facts *f, unsigned major, unsigned minor)
{
    return f->version >= major * 1000 + minor;
}

bool probe_has_capability(const struct probe_facts *f, unsigned number)
{
    return f->capabilities >> number & 1;
}

int probe_read(const struct probe_facts *f, const char *path, char *buf, size_t capacity,
               struct scan *ret)
{
    ssize_t n = file_read_at(f->root.proc, path, buf, capacity);
    if (n < 0)
        return (int)n;
    *ret = scan_text(buf, (size_t)n);
    return 0;
}

/* Starts a child whose end raises no signal, so that a program which counts its children is not
 * disturbed, and which does nothing but exit. After it was reaped its pidfd may have its status. */
static void probe_try_child(struct probe_facts *f)
{
#ifdef SYS_clone3
    /* The arguments of clone3 that every kernel with it knows. */
    struct {
        uint64_t flags, pidfd, child_tid, parent_tid, exit_signal, stack, stack_size, tls;
    } request = {0};
    int status = 0;
    struct rusage used;
    pid_t reaped, pid = (pid_t)syscall(SYS_clone3, &request, sizeof request);
    if (pid == 0)
        for (;;)
            syscall(SYS_exit_group, CHILD_STATUS);
    if (pid < 0)
        return;
    CLEANUP_CLOSE int pidfd = process_open_pidfd(pid);
    do
        reaped = wait4(pid, &status, __WALL, &used);
    while (reaped < 0 && errno == EINTR);
    f->started_child = true;
    f->waited_child = reaped == pid && WIFEXITED(status) && WEXITSTATUS(status) == CHILD_STATUS;
    f->has_exit_status = process_exit_status(pidfd, &status) && WIFEXITED(status) &&
                         WEXITSTATUS(status) == CHILD_STATUS;
#else
    (void)f;
#endif
}

int probe_facts_read(struct probe_facts *f, const char *root, struct toll_error *e)
{
    char text[STATUS_BYTES];
    struct scan s, line = {0};
    uint64_t number, minor;
    *f = (struct probe_facts){.root = SYSROOT_NONE};
    int r = sysroot_open(&f->root, root, e);
    if (r < 0)
        return r;
    /* "6.18.44-amd64"; it is shown to people */
    if (probe_read(f, "sys/kernel/osrelease", text, sizeof f->release, &s) == 0) {
        scan_line(&s, &line);
        for (const char *c = line.at; c < line.end; c++)
            f->release[c - line.at] = *c > ' ' && *c < 0x7F ? *c : '?';
        if (scan_u64(&line, &number) && scan_word(&line, ".") && scan_u64(&line, &minor) &&
            number < 1000 && minor < 1000)
            f->version = (unsigned)(number * 1000 + minor);
    }
    /* Uid: real, effective, …; CapEff and SigIgn as bits */
    f->user = f->root.live ? geteuid() : (uid_t)-1;
    if (probe_read(f, "self/status", text, sizeof text, &s) < 0)
        s = scan_string("");
    while (scan_line(&s, &line))
        if (scan_word(&line, "Uid:") && scan_u64(&line, &number) && scan_u64(&line, &number))
            f->user = (uid_t)number;
        else if (scan_word(&line, "CapEff:") && scan_hex(&line, &number))
            f->capabilities = number;
        else if (scan_word(&line, "SigIgn:") && scan_hex(&line, &number))
            f->ignores_sigchld = number >> (SIGCHLD - 1) & 1;
    ssize_t n = file_read_at(f->root.proc, "cpuinfo", text, sizeof text - 1);
    text[n > 0 ? n : 0] = '\0';
    f->is_virtual = strstr(text, " hypervisor");
    f->is_amd = strstr(text, "AuthenticAMD");
    f->has_systemd = faccessat(f->root.root, "run/systemd/system", F_OK, 0) == 0;
    if (f->root.live)
        probe_try_child(f);
    return 0;
}

void probe_facts_done(struct probe_facts *f)
{
    sysroot_close(&f->root);
}

void finding_needs_root(struct finding *f, const struct probe_facts *p)
{
    f->needs_root = p->user != 0;
}

/* ---- One look of a collector ----------------------------------------------------------------- */

int probe_look_begin(struct probe_look *l, const struct probe_facts *p, const struct collector *c)
{
    struct selection everything;
    struct collect_context context = {
        .root = &p->root,
        .selection = &everything,
        .system = &l->system,
    };
    *l = (struct probe_look){.collector = c};
    selection_parse(&everything, NULL, NULL);
    instance_init(&l->system, ENTITY_SYSTEM);
    row_init(&l->system.read, ENTITY_SYSTEM);
    int r = c->open(&l->state, &context);
    if (r < 0) {
        l->state = NULL;
        return r;
    }
    c->collect(l->state, &context, &l->list);
    return 0;
}

void probe_look_end(struct probe_look *l)
{
    if (l->state)
        l->collector->close(l->state);
    instance_list_done(&l->list);
}

unsigned probe_look_count(const struct probe_look *l, const char *label)
{
    unsigned count = 0;
    for (size_t n = 0; n < l->list.count; n++) {
        const struct entity *e = &l->list.items[n]->entity;
        bool has_label = false;
        for (size_t i = 0; i < ARRAY_LEN(e->labels); i++)
            has_label |= e->labels[i].value && strcmp(e->labels[i].value, label) == 0;
        count += has_label;
    }
    return count;
}

bool probe_has_sys_class(const struct probe_facts *p, struct finding *f, const char *missing)
{
    if (p->root.sys >= 0 && faccessat(p->root.sys, "class", F_OK, 0) == 0)
        return true;
    finding_partly(f, "no /sys: %s", missing);
    finding_remedy(f, "mount -t sysfs sysfs /sys");
    return false;
}
