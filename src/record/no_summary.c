/* SPDX-License-Identifier: MIT */
#include "record/no_summary.h"

/* The run went on after the last sample: totals and peaks are at least what the samples have. */
static void judge_target(struct target_summary *t)
{
    for (unsigned part = 0; part < PARTS; part++)
        for (unsigned id = 0; id < PROCESS_METRICS; id++)
            if (t->series[part][id].observed_ns) {
                t->verdicts[part][id] = (struct verdict){QUALITY_LOWER_BOUND, "samples"};
                t->partial[part] |= t->denied[part] & BIT(id);
                t->has_parts |= part != PART_COMBINED;
            }
}

/* What there is or may be used, which the rest of a run seldom changes, is as good as ever. */
static bool is_capacity(enum metric_id id)
{
    static const enum metric_id capacities[] = {
        cgroup_cpu_limit_cores,   cgroup_memory_limit_bytes, cgroup_tasks_limit_count,
        system_cpus_online_count, system_memory_total_bytes, system_memory_huge_total_bytes,
        system_swap_total_bytes,  disk_size_bytes,           mount_size_bytes,
        gpu_memory_total_bytes,   gpu_power_limit_watts,
    };
    for (size_t i = 0; i < ARRAY_LEN(capacities); i++)
        if (capacities[i] == id)
            return true;
    return false;
}

static void judge_thing(const struct thing_summary *t)
{
    enum metric_id first = metric_first(t->thing->entity.kind);
    for (unsigned i = 0; i < metric_count(t->thing->entity.kind); i++)
        if (!is_capacity(first + i))
            t->series[i].coverage = COVERED_SO_FAR;
}

static const char *why_no_end(enum writer writer, bool is_sqlite)
{
    switch (writer) {
    case WRITER_THERE: return "the run still goes on: the figures are those of the samples so far";
    case WRITER_UNKNOWN:
        return "the file has no end of the run: it goes on, or was cut short; the figures are "
               "those of its samples so far";
    case WRITER_GONE: break;
    }
    return is_sqlite ? "the file has no end of the run, and whoever measured it is gone: the "
                       "figures are those of its samples"
                     : "the record ends before the run did: the figures are those of its "
                       "samples, up to the last whole line";
}

const char *no_summary_make(struct reading *r, enum writer writer, bool is_sqlite)
{
    struct summary *s = &r->summary;
    struct toll_end end = {.unknown = writer != WRITER_THERE};
    const char *sentence = why_no_end(writer, is_sqlite);
    summary_end(s, r->has_frame ? r->frame.elapsed_ns : 0);
    judge_target(&s->whole);
    s->has_target = s->whole.series[PART_COMBINED][process_wall_seconds].observed_ns ||
                    r->run.command || r->run.target_count;
    for (size_t i = 0; i < s->target_count; i++) {
        judge_target(&s->targets[i]);
        s->targets[i].end = end;
    }
    for (size_t i = 0; i < s->thing_count; i++)
        judge_thing(&s->things[i]);
    s->whole.end = end;
    summary_note(s, sentence);
    return sentence;
}
