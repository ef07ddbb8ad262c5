/* SPDX-License-Identifier: MIT */
#include "source/probe.h"
#include "source/bpf/members.h"
#include "source/bpf/task_ends.h"
#include "source/bpf/traffic.h"

#include <string.h>

/* Linux takes CAP_SYS_ADMIN in place of either. */
static bool bpf_may(const struct probe_facts *p, unsigned capability)
{
    return probe_has_capability(p, capability) || probe_has_capability(p, CAP_NUMBER_SYS_ADMIN);
}

void probe_bpf(const struct probe_facts *p, struct finding *f)
{
    finding_ok(f, "exact", "packets of a job's cgroup, with --network");
    if (!p->root.live) {
        finding_unknown(f, "not available on a recorded machine");
        return;
    }
    int r = traffic_check();
    if (r == 0 && bpf_may(p, CAP_NUMBER_NET_ADMIN))
        return;
    if (r == 0 || !bpf_may(p, CAP_NUMBER_BPF)) {
        finding_missing(f, "needs CAP_BPF and CAP_NET_ADMIN");
        finding_remedy(f, "setcap cap_bpf,cap_net_admin+ep $(command -v toll)");
        finding_needs_root(f, p);
    } else if (r == -EPERM || r == -EACCES) {
        finding_missing(f, "bpf is not permitted");
        finding_remedy(f, "allow the call bpf (seccomp)");
    } else {
        finding_missing(f, "the kernel does not accept the program: %s", strerror(-r));
        finding_remedy(f, "Linux 5.8 or later with CONFIG_BPF_SYSCALL=y and CONFIG_CGROUP_BPF=y");
    }
}

void probe_exact(const struct probe_facts *p, struct finding *f)
{
    finding_ok(f, "exact",
               "each process, however short it lives, with --exact; with --network its "
               "network bytes");
    if (!p->root.live) {
        finding_unknown(f, "not available on a recorded machine");
        return;
    }
    int r = task_ends_check();
    if (r >= 0 && !task_ends_may_have_traffic()) {
        finding_partly(f, "the network bytes of each process are unknown");
        finding_remedy(f, "Linux 6.3 or later");
    } else if (r == 0) {
        return;
    } else if (r > 0) {
        finding_partly(f, "the largest memory of each process is unknown");
        finding_remedy(f, "Linux 6.16 or later");
    } else if (!bpf_may(p, CAP_NUMBER_BPF) || !bpf_may(p, CAP_NUMBER_PERFMON)) {
        finding_missing(f, "needs CAP_BPF and CAP_PERFMON");
        finding_remedy(f, "setcap cap_bpf,cap_perfmon+ep $(command -v toll)");
        finding_needs_root(f, p);
    } else if (r == -EPERM || r == -EACCES) {
        finding_missing(f, "bpf is not permitted");
        finding_remedy(f, "allow the call bpf (seccomp)");
    } else if (r == -EXDEV) {
        finding_missing(f, "not possible inside a pid namespace");
        finding_remedy(f, "docker run --pid=host");
    } else {
        finding_missing(f, "the kernel does not accept the programs: %s", strerror(-r));
        finding_remedy(f, "Linux 5.18 or later with CONFIG_DEBUG_INFO_BTF=y");
    }
}

void probe_one_pass(const struct probe_facts *p, struct finding *f)
{
    finding_ok(f, "exact", "only processes that ran are read, with --own-cgroup always");
    if (!p->root.live) {
        finding_unknown(f, "not available on a recorded machine");
        return;
    }
    int r = bpf_members_check();
    if (r == 0)
        return;
    if (!bpf_may(p, CAP_NUMBER_BPF) || !bpf_may(p, CAP_NUMBER_PERFMON)) {
        finding_missing(f, "each process is read; finding those that ran needs CAP_BPF and "
                           "CAP_PERFMON");
        finding_remedy(f, "setcap cap_bpf,cap_perfmon+ep $(command -v toll)");
        finding_needs_root(f, p);
    } else if (r == -EPERM || r == -EACCES) {
        finding_missing(f, "each process is read; bpf is not permitted");
        finding_remedy(f, "allow the call bpf (seccomp)");
    } else {
        finding_missing(f, "each process is read; this kernel has no iterator over tasks (%s)",
                        strerror(-r));
        finding_remedy(f, "Linux 6.7 or later with CONFIG_DEBUG_INFO_BTF=y");
    }
}
