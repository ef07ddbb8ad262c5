/* SPDX-License-Identifier: MIT */
#include "engine/doctor.h"

#include "base/err.h"

#include <stdarg.h>
#include <stdio.h>

/* A check of which only the name is known yet. */
#define CHECK(word, words, is_essential)                                                           \
    {                                                                                              \
        .name = word, .title = words, .state = TOLL_CHECK_UNKNOWN, .essential = is_essential,      \
        .means = "", .quality = "", .detail = "", .remedy = ""                                     \
    }

/* THE list of checks: first a job's figures, then its surroundings, then the machine. */
static const struct {
    struct toll_check check;
    probe_function *probe;
} checks[] = {
    {CHECK("cpu", "CPU time", true), doctor_cpu},
    {CHECK("memory", "Resident memory", true), doctor_memory},
    {CHECK("pss", "Shared memory", false), doctor_pss},
    {CHECK("io", "I/O", true), doctor_io},
    {CHECK("waits", "Waits for a CPU", false), doctor_waits},
    {CHECK("children", "New processes", false), doctor_children},
    {CHECK("unwaited", "Short-lived processes", true), doctor_unwaited},
    {CHECK("watch-exits", "Every start and end", false), doctor_watch_exits},
    {CHECK("others", "Other users' processes", false), doctor_others},
    {CHECK("ends", "Ends of processes", false), doctor_ends},
    {CHECK("open-files", "Open files", false), doctor_open_files},
    {CHECK("network", "Network of a job", false), doctor_network},
    {CHECK("limits", "Limits", true), doctor_limits},
    {CHECK("cgroup", "Cgroup", false), doctor_cgroup},
    {CHECK("own-cgroup", "Cgroup for a job", false), doctor_own_cgroup},
    {CHECK("oom", "Kills by the kernel", false), doctor_oom},
    {CHECK("system", "CPUs, memory, load", true), doctor_system},
    {CHECK("pressure", "Pressure", false), doctor_pressure},
    {CHECK("disks", "Disks", true), doctor_disks},
    {CHECK("filesystems", "Filesystems", true), doctor_filesystems},
    {CHECK("interfaces", "Network interfaces", true), doctor_interfaces},
    {CHECK("sensors", "Temperature", false), doctor_sensors},
    {CHECK("energy", "Energy", false), doctor_energy},
    {CHECK("gpus", "GPUs", false), doctor_gpus},
    {CHECK("formats", "Formats", true), doctor_formats},
};

struct toll_diagnosis {
    struct finding findings[ARRAY_LEN(checks)]; /* own the texts */
    struct toll_check checks[ARRAY_LEN(checks)];
};

/* ---- What came of a probe -------------------------------------------------------------------- */

static void write_over(struct buf *b, const char *format, va_list args)
{
    char text[512];
    vsnprintf(text, sizeof text, format, args);
    buf_clear(b);
    buf_puts(b, text);
}

#define WRITE_OVER(b, format)                                                                      \
    do {                                                                                           \
        va_list args;                                                                              \
        va_start(args, format);                                                                    \
        write_over(b, format, args);                                                               \
        va_end(args);                                                                              \
    } while (0)

void finding_ok(struct finding *f, const char *quality, const char *means, ...)
{
    f->state = TOLL_CHECK_OK;
    f->quality = quality;
    WRITE_OVER(&f->means, means);
}

void finding_partly(struct finding *f, const char *detail, ...)
{
    f->state = TOLL_CHECK_PARTLY;
    WRITE_OVER(&f->detail, detail);
}

void finding_missing(struct finding *f, const char *detail, ...)
{
    f->state = TOLL_CHECK_MISSING;
    f->quality = "";
    WRITE_OVER(&f->detail, detail);
}

void finding_unknown(struct finding *f, const char *detail, ...)
{
    f->state = TOLL_CHECK_UNKNOWN;
    f->quality = "";
    WRITE_OVER(&f->detail, detail);
}

void finding_detail(struct finding *f, const char *format, ...)
{
    WRITE_OVER(&f->detail, format);
}

void finding_remedy(struct finding *f, const char *format, ...)
{
    WRITE_OVER(&f->remedy, format);
}

/* ---- The public calls ------------------------------------------------------------------------ */

static const char *text_of(const struct buf *b)
{
    return b->data ? b->data : "";
}

static int examine(struct toll_diagnosis *d, const struct doctor_facts *facts, size_t i)
{
    struct finding *f = &d->findings[i];
    *f = (struct finding){.state = TOLL_CHECK_UNKNOWN, .quality = ""};
    checks[i].probe(facts, f);
    if (buf_failed(&f->means) || buf_failed(&f->detail) || buf_failed(&f->remedy))
        return -ENOMEM;
    struct toll_check *c = &d->checks[i];
    *c = checks[i].check;
    c->state = f->state;
    c->means = text_of(&f->means);
    c->quality = f->quality;
    c->detail = text_of(&f->detail);
    c->remedy = text_of(&f->remedy);
    return 0;
}

const struct toll_check *toll_check_at(size_t i)
{
    return i < ARRAY_LEN(checks) ? &checks[i].check : NULL;
}

int toll_diagnosis_new(struct toll_diagnosis **ret, const char *root, struct toll_error *e)
{
    struct doctor_facts facts;
    if (!ret)
        return err_set_no_place(e);
    int r = doctor_facts_read(&facts, root, e);
    if (r < 0)
        return r;
    struct toll_diagnosis *d = calloc(1, sizeof *d);
    r = d ? 0 : -ENOMEM;
    for (size_t i = 0; r == 0 && i < ARRAY_LEN(checks); i++)
        r = examine(d, &facts, i);
    doctor_facts_done(&facts);
    if (r < 0) {
        toll_diagnosis_free(d);
        return err_set(e, r, "no memory to find out what can be measured");
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
