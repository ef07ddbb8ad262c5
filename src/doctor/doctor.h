/* SPDX-License-Identifier: MIT
 * toll doctor: what can be measured here. A check is one row of the table in doctor.c and one
 * probe, a function that tries what the measuring itself would do and writes down what came of it.
 */
#pragma once

#include "base/io/file.h"
#include "base/text/buf.h"
#include "base/text/scan.h"
#include "source/cgroup/place.h"
#include "source/collector.h"
#include "toll.h"

/* What several probes have to know. */
struct doctor_facts {
    struct sysroot root;
    char release[80]; /* of the kernel, or "" */
    unsigned version; /* 6 * 1000 + 18; 0 when unknown */
    uid_t user;
    uint64_t capabilities; /* CapEff */
    bool ignores_sigchld;
    bool is_virtual;        /* a hypervisor is below */
    bool is_amd;            /* the processor's maker, for the name of a module */
    bool has_systemd;       /* it runs */
    bool started_child;     /* a child could be started to learn the next two from */
    bool waited_child;      /* wait4 told its end and what it used */
    bool tells_exit_status; /* also to those who do not wait */
};

struct finding {
    enum toll_check_state state;
    const char *quality; /* borrowed */
    struct buf means;
    struct buf detail;
    struct buf remedy;
};

/* ---- Facts ----------------------------------------------------------------------------------- */

int doctor_facts_read(struct doctor_facts *f, const char *root, struct toll_error *e);
void doctor_facts_done(struct doctor_facts *f);

bool doctor_is_since(const struct doctor_facts *f, unsigned major, unsigned minor);
bool doctor_has_capability(const struct doctor_facts *f, unsigned number);

enum {
    CAP_NUMBER_DAC_OVERRIDE = 1,
    CAP_NUMBER_DAC_READ_SEARCH = 2,
    CAP_NUMBER_SYS_PTRACE = 19,
    CAP_NUMBER_SYS_ADMIN = 21,
    CAP_NUMBER_PERFMON = 38,
};

/* Whether the file below /proc can be read: 0 and its text, or -errno. */
int doctor_read(const struct doctor_facts *f, const char *path, char *buf, size_t capacity,
                struct scan *ret);

/* ---- What came of a probe -------------------------------------------------------------------- */

void finding_ok(struct finding *f, const char *quality, const char *means, ...) PRINTF_LIKE(3, 4);

/* Both are written over what was said before. */
void finding_partly(struct finding *f, const char *detail, ...) PRINTF_LIKE(2, 3);
void finding_missing(struct finding *f, const char *detail, ...) PRINTF_LIKE(2, 3);
void finding_unknown(struct finding *f, const char *detail, ...) PRINTF_LIKE(2, 3);

/* A few words about what is as it should be. */
void finding_detail(struct finding *f, const char *format, ...) PRINTF_LIKE(2, 3);
void finding_remedy(struct finding *f, const char *format, ...) PRINTF_LIKE(2, 3);

/* ---- The probes ------------------------------------------------------------------------------ */

typedef void probe_function(const struct doctor_facts *d, struct finding *f);

probe_function doctor_cpu, doctor_children, doctor_unwaited, doctor_memory, doctor_pss, doctor_io,
    doctor_watch_exits, doctor_ends, doctor_open_files, doctor_waits;
probe_function doctor_others;
probe_function doctor_cgroup, doctor_own_cgroup, doctor_limits, doctor_oom;
probe_function doctor_pressure, doctor_system, doctor_disks, doctor_filesystems, doctor_interfaces,
    doctor_sensors, doctor_energy, doctor_network, doctor_formats;
probe_function doctor_gpus;
