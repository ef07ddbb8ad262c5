/* SPDX-License-Identifier: MIT
 * Probes: each source reports whether it can be measured here, and if not why and what would help.
 * A probe is a function in the source's own folder and one row in the table of doctor/doctor.c. It
 * opens the source as measuring does. */
#pragma once

#include "base/io/file.h"
#include "base/text/buf.h"
#include "base/text/scan.h"
#include "source/collector.h"
#include "toll.h"

/* ---- Facts that several probes need ---------------------------------------------------------- */

struct probe_facts {
    struct sysroot root;
    char release[80]; /* of the kernel, or "" */
    unsigned version; /* 6 * 1000 + 18; 0 when unknown */
    uid_t user;
    uint64_t capabilities; /* CapEff */
    bool ignores_sigchld;
    bool is_virtual;      /* a hypervisor is below */
    bool is_amd;          /* the processor's maker, for the name of a module */
    bool has_systemd;     /* it runs */
    bool started_child;   /* a child was started to find out the next two */
    bool waited_child;    /* wait4 returned its exit status and usage */
    bool has_exit_status; /* a pidfd does so, too, after the child was reaped */
};

/* root: of a recorded machine, or NULL. 0, or -errno and a message. */
int probe_facts_read(struct probe_facts *f, const char *root, struct toll_error *e);
void probe_facts_done(struct probe_facts *f);

/* Whether the kernel is of that version or later. */
bool probe_is_since(const struct probe_facts *f, unsigned major, unsigned minor);

enum {
    CAP_NUMBER_DAC_OVERRIDE = 1,
    CAP_NUMBER_DAC_READ_SEARCH = 2,
    CAP_NUMBER_NET_ADMIN = 12,
    CAP_NUMBER_SYS_PTRACE = 19,
    CAP_NUMBER_SYS_ADMIN = 21,
    CAP_NUMBER_PERFMON = 38,
    CAP_NUMBER_BPF = 39,
};

bool probe_has_capability(const struct probe_facts *f, unsigned number);

/* Reads a file below /proc: 0 and its text, or -errno. */
int probe_read(const struct probe_facts *f, const char *path, char *buf, size_t capacity,
               struct scan *ret);

/* ---- Findings -------------------------------------------------------------------------------- */

struct finding {
    enum toll_check_state state;
    const char *quality; /* borrowed */
    struct buf means;
    struct buf detail;
    struct buf remedy;
    bool needs_root; /* root would not need the remedy */
};

/* Each overwrites what was found before. */
void finding_ok(struct finding *f, const char *quality, const char *means, ...) PRINTF_LIKE(3, 4);
void finding_partly(struct finding *f, const char *detail, ...) PRINTF_LIKE(2, 3);
void finding_missing(struct finding *f, const char *detail, ...) PRINTF_LIKE(2, 3);
void finding_unknown(struct finding *f, const char *detail, ...) PRINTF_LIKE(2, 3);

/* A few words about what was found, and what to do where something is missing. */
void finding_detail(struct finding *f, const char *format, ...) PRINTF_LIKE(2, 3);
void finding_remedy(struct finding *f, const char *format, ...) PRINTF_LIKE(2, 3);

/* Notes that root would not have this problem, unless the user is root. */
void finding_needs_root(struct finding *f, const struct probe_facts *p);

/* ---- One look of a collector ----------------------------------------------------------------- */

struct probe_look {
    struct instance system;
    struct instance_list list;
    void *state;
    const struct collector *collector;
};

/* Opens the collector and collects once. 0, or what its open returned. */
int probe_look_begin(struct probe_look *l, const struct probe_facts *p, const struct collector *c);
void probe_look_end(struct probe_look *l);

/* The number of instances that have a label of this value. */
unsigned probe_look_count(const struct probe_look *l, const char *label);

/* Whether /sys shows device classes; if not, the finding says what is missing without it. */
bool probe_has_sys_class(const struct probe_facts *p, struct finding *f, const char *missing);

/* ---- The probes ------------------------------------------------------------------------------ */

typedef void probe_function(const struct probe_facts *p, struct finding *f);

/* source/proc/ */
probe_function probe_cpu, probe_children, probe_unwaited, probe_memory, probe_pss, probe_io,
    probe_watch_exits, probe_ends, probe_open_files, probe_waits, probe_others;
/* source/bpf/ */
probe_function probe_bpf, probe_one_pass, probe_exact;
/* source/cgroup/ */
probe_function probe_cgroup, probe_own_cgroup, probe_limits, probe_oom;
/* source/machine/ */
probe_function probe_pressure, probe_system, probe_disks, probe_filesystems, probe_sensors,
    probe_energy;
/* source/net/ */
probe_function probe_interfaces, probe_network;
/* source/gpu/ */
probe_function probe_gpus;
