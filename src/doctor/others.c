/* SPDX-License-Identifier: MIT
 * The check of what may be known of other users' processes: whether they are seen at all (hidepid),
 * and whether the files that only their owner may read can be read. The kernel's ptrace_scope does
 * not matter for that: it is about stopping processes, not about reading of them. */
#include "base/io/file.h"
#include "doctor/doctor.h"
#include "engine/target/gpu_choice.h"
#include "source/gpu/readers.h"
#include "source/kernel_file.h"
#include "source/pid_files.h"

#include <stdio.h>
#include <string.h>

/* ==== Doctor gpus ============================================================================= */

/* GPUs: their drivers are asked as a run asks them, in a thread of its own. */

enum { BEGIN_MS = 5000, END_MS = 200 };

#define LATE_NS (4 * NS_PER_SECOND)

#define REMEDY                                                                                     \
    "load the driver of the GPU (nvidia, amdgpu, i915 or xe); in a container hand the devices in " \
    "(docker run --gpus all)"

/* Devices that are read by the same means stand together. */
static size_t group_end(const struct gpu_frame *frame, size_t first)
{
    size_t end = first;
    while (end < frame->device_count &&
           strcmp(frame->devices[end].facts.means, frame->devices[first].facts.means) == 0)
        end++;
    return end;
}

/* Power comes with the second reading where a counter of energy gives it. */
static bool doctor_gpus_lacks(const struct gpu_device *d, enum metric_id id)
{
    if (*d->facts.instance || (d->is_divided && id == gpu_utilization_ratio))
        return false;
    if (id == gpu_power_watts && row_has(&d->row, gpu_energy_joules))
        return false;
    return !row_has(&d->row, id);
}

/* "without energy counter, power (nvidia1)" */
static void doctor_gpus_add_missing(struct buf *b, const struct gpu_frame *frame, size_t first,
                                    size_t end)
{
    static const struct {
        enum metric_id id;
        const char *word;
    } figures[] = {
        {gpu_utilization_ratio, "utilisation"},
        {gpu_memory_used_bytes, "memory"},
        {gpu_power_watts, "power"},
        {gpu_energy_joules, "energy counter"},
    };
    bool any = false;
    for (size_t i = 0; i < ARRAY_LEN(figures); i++) {
        struct buf who = {0};
        bool all = true;
        for (size_t d = first; d < end; d++) {
            char name[GPU_TEXT_BYTES];
            bool is_missing = doctor_gpus_lacks(&frame->devices[d], figures[i].id);
            gpu_facts_name(&frame->devices[d].facts, name, sizeof name);
            all &= is_missing;
            if (is_missing)
                buf_printf(&who, "%s%s", who.length ? ", " : "", name);
        }
        if (who.length)
            buf_printf(b, "%s%s", any ? ", " : "; without ", figures[i].word);
        if (who.length && !all)
            buf_printf(b, " (%s)", who.data);
        any |= who.length > 0;
        buf_done(&who);
    }
}

/* "nvidia0 NVIDIA A100-SXM4-40GB, nvidia1 … (NVML, driver 550.54.14); without …" */
static struct buf doctor_gpus_describe(const struct gpu_frame *frame)
{
    struct buf b = {0};
    for (size_t first = 0, end; first < frame->device_count; first = end) {
        end = group_end(frame, first);
        for (size_t i = first; i < end; i++) {
            const struct gpu_facts *facts = &frame->devices[i].facts;
            char name[GPU_TEXT_BYTES];
            gpu_facts_name(facts, name, sizeof name);
            buf_printf(&b, "%s%s%s%s",
                       i > first ? ", "
                       : first   ? "; "
                                 : "",
                       name, *facts->name ? " " : "", facts->name);
        }
        const struct gpu_facts *facts = &frame->devices[first].facts;
        buf_printf(&b, " (%s%s%s)", facts->means, *facts->driver ? ", driver " : "", facts->driver);
        doctor_gpus_add_missing(&b, frame, first, end);
    }
    return b;
}

static bool tells_processes(const struct gpu_frame *frame)
{
    for (size_t i = 0; i < frame->device_count; i++)
        if (frame->devices[i].tells)
            return true;
    return false;
}

/* What is wrong beside the devices that are there: the first sentence that a vendor has, or one for
 * the vendor that has not answered. */
static bool find_trouble(struct gpu_readers *r, struct gpu_trouble *ret)
{
    bool is_beginning;
    const struct gpu_vendor *late = gpu_readers_late(r, LATE_NS, &is_beginning);
    if (gpu_readers_say(r, ret))
        return true;
    if (late)
        snprintf(ret->sentence, sizeof ret->sentence, "%s GPUs (%s) have not answered for %d s",
                 late->people, late->means, BEGIN_MS / 1000);
    return late;
}

static void doctor_gpus_ask(struct gpu_readers *r, bool likely, struct finding *f)
{
    struct gpu_frame frame = {0};
    struct gpu_trouble why;
    gpu_readers_ask(r, NULL, 0, 0);
    bool has_answer = gpu_readers_wait(r, BEGIN_MS, true);
    gpu_readers_take(r, &frame);
    gpu_readers_excuse(r, &why);
    bool has_trouble = find_trouble(r, &why);
    if (frame.device_count) {
        struct buf devices = doctor_gpus_describe(&frame);
        const char *known = buf_failed(&devices) ? "" : devices.data;
        if (has_trouble)
            finding_partly(f, "%s; %s", known, why.sentence);
        else if (!tells_processes(&frame))
            finding_partly(f, "%s; they do not tell which process uses them", known);
        else
            finding_detail(f, "%s", known);
        buf_done(&devices);
    } else {
        bool is_reason = (has_trouble || likely) && *why.sentence;
        finding_missing(f, "%s", is_reason ? why.sentence : "no GPU that has a driver");
        finding_remedy(f, "%s",
                       !has_answer   ? "see what the driver writes to the kernel log: dmesg"
                       : has_trouble ? "mend that, then see: toll doctor gpus"
                                     : REMEDY);
    }
    gpu_frame_done(&frame);
}

void doctor_gpus(const struct doctor_facts *d, struct finding *f)
{
    struct gpu_readers *r;
    finding_ok(f, "sampled", "NVML, sysfs, fdinfo");
    if (!d->root.live) {
        if (gpu_vendors_are_likely(gpu_vendors, &d->root)) {
            finding_unknown(f, "a recorded machine has no driver to ask");
        } else {
            finding_missing(f, "no GPU that has a driver");
            finding_remedy(f, REMEDY);
        }
        return;
    }
    int result = gpu_readers_start(&r, &d->root, gpu_vendors, true);
    if (result < 0) {
        finding_unknown(f, "no thread to ask in: %s", strerror(-result));
        return;
    }
    doctor_gpus_ask(r, gpu_vendors_are_likely(gpu_vendors, &d->root), f);
    gpu_readers_free(r, END_MS);
}

/* ==== Doctor others =========================================================================== */

enum { TEXT_BYTES = 16384, MOST_PROCESSES = 20000 };

/* ---- How /proc is mounted -------------------------------------------------------------------- */

/* "rw,hidepid=2,gid=1000" or, since Linux 5.8, "hidepid=invisible" */
struct proc_mount {
    char hidepid[16]; /* "" when everybody is seen */
    bool has_group;
    uint64_t group; /* whose members see everybody */
};

static void take_option(struct proc_mount *m, struct scan option)
{
    if (scan_word(&option, "hidepid=")) {
        size_t length = min_u64((size_t)(option.end - option.at), sizeof m->hidepid - 1);
        memcpy(m->hidepid, option.at, length);
        m->hidepid[length] = '\0';
        if (strcmp(m->hidepid, "0") == 0 || strcmp(m->hidepid, "off") == 0)
            m->hidepid[0] = '\0';
    } else if (scan_word(&option, "gid=")) {
        m->has_group = scan_u64(&option, &m->group);
    }
}

static void doctor_others_take_options(struct proc_mount *m, struct scan options)
{
    struct scan option;
    while (comma_list_next(&options, &option))
        take_option(m, option);
}

static struct proc_mount read_proc_mount(const struct doctor_facts *d)
{
    static const char proc[] = "/proc";
    char text[4 * TEXT_BYTES];
    struct scan s;
    struct mountinfo line;
    struct proc_mount m = {0};
    if (doctor_read(d, "self/mountinfo", text, sizeof text, &s) < 0)
        return m;
    while (mountinfo_next(&s, &line)) {
        struct scan point = line.point;
        if (!scan_word(&point, proc) || !scan_done(&point))
            continue;
        m = (struct proc_mount){0}; /* the last one lies on top */
        doctor_others_take_options(&m, line.options);
        doctor_others_take_options(&m, line.super_options);
    }
    return m;
}

/* ---- Somebody else's process ----------------------------------------------------------------- */

struct search {
    const struct doctor_facts *d;
    unsigned looked_at;
    bool is_done;
    bool was_refused; /* a process is listed, but even its status is not shown */
    bool saw_other;
    bool read_other; /* also what is for its owner alone */
};

static bool may_read(const struct doctor_facts *d, const char *pid, const char *name)
{
    char path[64], text[4096];
    struct scan s;
    snprintf(path, sizeof path, "%.20s/%s", pid, name);
    return doctor_read(d, path, text, sizeof text, &s) == 0;
}

static void doctor_others_look_at(void *arg, const char *name)
{
    struct search *s = arg;
    char path[64], text[TEXT_BYTES];
    struct scan status, number = scan_string(name);
    uint64_t pid;
    uid_t user;
    if (s->is_done || !scan_u64(&number, &pid) || !scan_done(&number))
        return;
    s->is_done = ++s->looked_at >= MOST_PROCESSES;
    snprintf(path, sizeof path, "%llu/status", (unsigned long long)pid);
    int r = doctor_read(s->d, path, text, sizeof text, &status);
    s->was_refused |= r == -EACCES || r == -EPERM;
    if (r < 0 || parse_pid_user(status, &user) < 0 || user == s->d->user)
        return;
    s->saw_other = true;
    s->read_other = may_read(s->d, name, "io");
    s->is_done |= s->read_other; /* one may have ended meanwhile: the next one is asked */
}

/* ---- The check ------------------------------------------------------------------------------- */

static void say_hidden(const struct proc_mount *m, struct finding *f)
{
    finding_missing(f, "hidden by hidepid=%s of /proc", *m->hidepid ? m->hidepid : "?");
    if (m->has_group && m->group)
        finding_remedy(f, "a user of group %llu (gid= of /proc)", (unsigned long long)m->group);
    else
        finding_remedy(f, "mount -o remount,hidepid=0 /proc");
}

/* Two capabilities would do, CAP_SYS_PTRACE and CAP_DAC_READ_SEARCH; but a toll that has them from
 * its file reads every file for everybody, so they are not advised. A root that lacks the first is
 * in a container, and cannot give it to itself. */
static void say_no_io(const struct doctor_facts *d, struct finding *f)
{
    finding_partly(f, "no I/O, PSS, sockets");
    if (d->user == 0)
        finding_remedy(f, "docker run --cap-add=SYS_PTRACE");
    else
        finding_remedy(f, "sudo toll attach …");
}

void doctor_others(const struct doctor_facts *d, struct finding *f)
{
    struct proc_mount m = read_proc_mount(d);
    struct search s = {.d = d};
    finding_ok(f, "exact", "their files in /proc");
    file_each_entry_sorted(d->root.pids, doctor_others_look_at, &s);
    if (s.read_other)
        return;
    bool sees = doctor_has_capability(d, CAP_NUMBER_SYS_PTRACE);
    bool reads = sees && (doctor_has_capability(d, CAP_NUMBER_DAC_OVERRIDE) ||
                          doctor_has_capability(d, CAP_NUMBER_DAC_READ_SEARCH));
    if (!s.saw_other && (s.was_refused || (*m.hidepid && !sees)))
        say_hidden(&m, f);
    else if (s.saw_other || !reads)
        say_no_io(d, f);
    else
        finding_detail(f, "there are none now");
}
