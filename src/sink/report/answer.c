/* SPDX-License-Identifier: MIT
 * What every form of a report begins with: what ran, what it used, and how much of what it was
 * allowed to. */
#include "sink/report/report.h"

#include <string.h>

void report_put_title(const struct report *r, struct buf *b)
{
    const struct run *run = r->summary->run;
    if (run_is_named(run)) {
        buf_printable(b, run->name, strlen(run->name));
        buf_puts(b, run->command || run->target_count == 1 ? ": " : "");
    }
    human_command(b, run->command);
    if (!run->command && run->target_count == 1)
        buf_printable(b, run->targets[0].what, strlen(run->targets[0].what));
    else if (!run->command && run->target_count)
        buf_printf(b, "%zu targets", run->target_count);
    else if (!run->command && !run_is_named(run))
        buf_printable(b, run->host, strlen(run->host));
}

bool report_put_name(const struct report *r, struct buf *b)
{
    const struct run *run = r->summary->run;
    if (!run_is_named(run) || !run->command)
        return false;
    buf_printable(b, run->name, strlen(run->name));
    return true;
}

const char *report_quality_word(enum quality q)
{
    return q == QUALITY_EXACT_IF_REAPED ? "counted by the kernel" : quality_word(q);
}

void report_put_time(struct buf *b, uint64_t real_ns)
{
    size_t start = b->length;
    buf_utc(b, real_ns);
    if (buf_failed(b) || b->length < start + 19)
        return;
    b->data[start + 10] = ' ';
    b->length = start + 19;
    buf_puts(b, " UTC");
}

const struct report_answer report_answers[REPORT_ANSWERS] = {
    {"CPU time", process_cpu_seconds, false, "", 0},
    {"Cores in use", process_cpu_cores, true, "on average", 0},
    {"Peak memory", process_memory_rss_bytes, false, "RSS of all processes", 0},
    {"Read from disk", process_storage_read_bytes, false, "", 0},
    {"Written to disk", process_storage_written_bytes, false, "", 0},
    {"Received", process_network_received_bytes, false, "from the network", 0},
    {"Sent", process_network_sent_bytes, false, "to the network", 0},
    {"Processes", process_processes_started_count, false, "started", 0},
    {"GPU memory", process_gpu_memory_bytes, false, "at peak", 0},
    {"Energy", 0, false, "share of the job", 1 + ENERGY_JOULES},
    {"CO2e", 0, false, "for that energy", 1 + ENERGY_CO2E},
    {"Cost", 0, false, "of energy and hours", 1 + ENERGY_COST},
    {"Cores busy", system_cpu_cores, true, "on average", 0},
    {"Memory in use", system_memory_used_bytes, false, "at peak", 0},
    {"Read from disks", system_disk_read_bytes, false, "", 0},
    {"Written to disks", system_disk_written_bytes, false, "", 0},
    {"Received", system_network_received_bytes, false, "from the network", 0},
    {"Sent", system_network_sent_bytes, false, "to the network", 0},
    {"Load", system_load_1m_number, false, "of one minute, at peak", 0},
};

/* A figure of the machine, where no job was measured. */
static bool report_put_machine_answer(const struct report *r, const struct report_answer *a,
                                      struct buf *b, enum quality *ret_quality)
{
    const struct metric *m = metric_of(a->id);
    for (size_t i = 0; i < r->summary->instance_count && !r->summary->has_target; i++) {
        const struct instance_summary *t = &r->summary->instances[i];
        if (t->instance->entity.kind != ENTITY_SYSTEM)
            continue;
        const struct series *s = &t->series[a->id - system_first];
        *ret_quality = summary_instance_quality(s, m);
        if (!s->observed_ns || *ret_quality == QUALITY_UNKNOWN)
            return false;
        human_number(b, m,
                     a->is_mean                  ? series_mean(s, m)
                     : m->kind == METRIC_COUNTER ? metric_number(m, s->last)
                                                 : s->max);
        return true;
    }
    return false;
}

static struct memory_peak report_memory_peak(const struct report *r)
{
    return summary_memory_peak(r->summary, r->selection->parts[PART_COMBINED]);
}

bool report_put_answer(const struct report *r, const struct report_answer *a, struct buf *b,
                       enum quality *ret_quality)
{
    if (a->id >= system_first)
        return report_put_machine_answer(r, a, b, ret_quality);
    if (a->energy) {
        const struct job_energy *j = &r->summary->job_energy;
        *ret_quality = j->quality == QUALITY_UNKNOWN ? QUALITY_LOWER_BOUND : j->quality;
        return j->is_asked && words_put_energy(b, "", "≥ ", j, a->energy - 1);
    }
    enum quality q = report_quality(r, a->id);
    double figure = a->is_mean ? report_mean(r, a->id) : report_figure(r, a->id);
    if (a->id == process_memory_rss_bytes && r->summary->has_target) {
        struct memory_peak peak = report_memory_peak(r);
        q = peak.quality;
        figure = peak.bytes;
    }
    if (q == QUALITY_UNKNOWN)
        return false;
    buf_puts(b, q == QUALITY_LOWER_BOUND ? "≥ " : "");
    human_number(b, metric_of(a->id), figure);
    *ret_quality = q;
    return true;
}

bool report_misses_processes(const struct report *r)
{
    return report_quality(r, process_processes_started_count) < QUALITY_EXACT_IF_REAPED;
}

unsigned report_used(const struct report *r, struct limit_used ret[LIMITS])
{
    struct limits limits;
    if (!r->summary->has_target)
        return 0;
    limits = r->summary->whole.limits;
    /* Of the cores the mean: a peak of a moment fills every bar. */
    struct limit *cpus = &limits.of[LIMIT_CPUS];
    cpus->has_used = report_quality(r, process_cpu_cores) != QUALITY_UNKNOWN;
    cpus->used = cpus->has_used ? report_mean(r, process_cpu_cores) : 0;
    cpus->used_is_least = report_quality(r, process_cpu_cores) == QUALITY_LOWER_BOUND;
    /* The peak is that of the answer, with its quality. */
    struct limit *memory = &limits.of[LIMIT_MEMORY_BYTES];
    if (memory->has_used && memory->whose && strcmp(memory->whose, "target") == 0) {
        struct memory_peak peak = report_memory_peak(r);
        memory->has_used = peak.quality != QUALITY_UNKNOWN;
        memory->used = peak.bytes;
        memory->used_is_least |= peak.quality == QUALITY_LOWER_BOUND;
    }
    unsigned count = limits_used(&limits, ret);
    for (unsigned i = 0; i < count; i++)
        ret[i].limit = &r->summary->whole.limits.of[ret[i].kind];
    return count;
}

void report_put_used(struct buf *b, const struct limit_used *u)
{
    buf_putc(b, (char)(u->name[0] - ('a' <= u->name[0] && u->name[0] <= 'z' ? 'a' - 'A' : 0)));
    buf_puts(b, u->name + 1);
    buf_puts(b, u->kind == LIMIT_CPUS ? ", mean" : u->kind == LIMIT_MEMORY_BYTES ? ", peak" : "");
}
