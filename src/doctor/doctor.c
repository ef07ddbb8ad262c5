/* SPDX-License-Identifier: MIT
 * What can be measured here. Each source has its own probes; this is the list of them, and the
 * public calls. */
#include "base/err.h"
#include "source/probe.h"

/* Formats are not measured: all that are built in can be written. */
static void probe_formats(const struct probe_facts *p, struct finding *f)
{
    struct buf names = {0};
    const struct toll_format *format;
    (void)p;
    for (size_t i = 0; (format = toll_format_at(i)); i++)
        buf_printf(&names, "%s%s", i ? ", " : "", format->name);
    finding_ok(f, "", "%s", names.data ? names.data : "");
    buf_done(&names);
}

/* A check that was not made yet. */
#define CHECK(word, words, is_essential)                                                           \
    {                                                                                              \
        .name = word, .title = words, .state = TOLL_CHECK_UNKNOWN, .essential = is_essential,      \
        .means = "", .quality = "", .detail = "", .remedy = ""                                     \
    }

/* The list of checks: first a job's figures, then its cgroups, then the machine. */
static const struct {
    struct toll_check check;
    probe_function *probe;
} checks[] = {
    {CHECK("cpu", "CPU time", true), probe_cpu},
    {CHECK("memory", "Resident memory", true), probe_memory},
    {CHECK("pss", "Shared memory", false), probe_pss},
    {CHECK("io", "I/O", true), probe_io},
    {CHECK("waits", "Waiting for a CPU", false), probe_waits},
    {CHECK("children", "New processes", false), probe_children},
    {CHECK("unwaited", "Short-lived processes", true), probe_unwaited},
    {CHECK("watch-exits", "Exact process counts", false), probe_watch_exits},
    {CHECK("others", "Other users' processes", false), probe_others},
    {CHECK("ends", "Ends of processes", false), probe_ends},
    {CHECK("open-files", "Open files", false), probe_open_files},
    {CHECK("network", "Network bytes of a job", false), probe_network},
    {CHECK("bpf", "Counting in the kernel", false), probe_bpf},
    {CHECK("exact", "Records of every process", false), probe_exact},
    {CHECK("one-pass", "Samples of many processes", false), probe_one_pass},
    {CHECK("limits", "Limits", true), probe_limits},
    {CHECK("cgroup", "Cgroup", false), probe_cgroup},
    {CHECK("own-cgroup", "Cgroup for a job", false), probe_own_cgroup},
    {CHECK("oom", "Kills by the OOM killer", false), probe_oom},
    {CHECK("system", "CPUs, memory, load", true), probe_system},
    {CHECK("pressure", "Pressure", false), probe_pressure},
    {CHECK("disks", "Disks", true), probe_disks},
    {CHECK("filesystems", "Filesystems", true), probe_filesystems},
    {CHECK("interfaces", "Network interfaces", true), probe_interfaces},
    {CHECK("sensors", "Temperature", false), probe_sensors},
    {CHECK("energy", "Energy", false), probe_energy},
    {CHECK("gpus", "GPUs", false), probe_gpus},
    {CHECK("outputs", "Output types", true), probe_formats},
};

struct toll_diagnosis {
    struct finding findings[ARRAY_LEN(checks)]; /* own the texts */
    struct toll_check checks[ARRAY_LEN(checks)];
};

const struct toll_check *toll_check_at(size_t i)
{
    return i < ARRAY_LEN(checks) ? &checks[i].check : NULL;
}

/* 0 or -ENOMEM. */
static int doctor_make_check(struct toll_diagnosis *d, const struct probe_facts *facts, size_t i)
{
    struct finding *f = &d->findings[i];
    *f = (struct finding){.state = TOLL_CHECK_UNKNOWN, .quality = ""};
    checks[i].probe(facts, f);
    if (buf_failed(&f->means) || buf_failed(&f->detail) || buf_failed(&f->remedy))
        return -ENOMEM;
    struct toll_check *c = &d->checks[i];
    *c = checks[i].check;
    c->state = f->state;
    c->means = f->means.data ? f->means.data : "";
    c->quality = f->quality;
    c->detail = f->detail.data ? f->detail.data : "";
    c->remedy = f->remedy.data ? f->remedy.data : "";
    c->needs_root = f->needs_root;
    return 0;
}

int toll_diagnosis_new(struct toll_diagnosis **ret, const char *root, struct toll_error *e)
{
    struct probe_facts facts;
    if (!ret)
        return err_set_no_place(e);
    int r = probe_facts_read(&facts, root, e);
    if (r < 0)
        return r;
    struct toll_diagnosis *d = calloc(1, sizeof *d);
    r = d ? 0 : -ENOMEM;
    for (size_t i = 0; r == 0 && i < ARRAY_LEN(checks); i++)
        r = doctor_make_check(d, &facts, i);
    probe_facts_done(&facts);
    if (r < 0) {
        toll_diagnosis_free(d);
        return err_set(e, r, "cannot make the checks: out of memory");
    }
    *ret = d;
    return 0;
}

const struct toll_check *toll_diagnosis_at(const struct toll_diagnosis *d, size_t i)
{
    return d && i < ARRAY_LEN(checks) ? &d->checks[i] : NULL;
}

void toll_diagnosis_free(struct toll_diagnosis *d)
{
    for (size_t i = 0; d && i < ARRAY_LEN(checks); i++) {
        buf_done(&d->findings[i].means);
        buf_done(&d->findings[i].detail);
        buf_done(&d->findings[i].remedy);
    }
    free(d);
}
