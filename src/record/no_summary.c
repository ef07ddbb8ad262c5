/* SPDX-License-Identifier: MIT */
#include "record/no_summary.h"

static void judge(struct target_summary *t)
{
    for (unsigned part = 0; part < PARTS; part++)
        for (unsigned id = 0; id < PROCESS_METRICS; id++)
            if (t->series[part][id].observed_ns) {
                uint64_t partial = t->denied[part] & BIT(id);
                t->verdicts[part][id] = (struct verdict){
                    partial ? QUALITY_LOWER_BOUND : QUALITY_SAMPLED, "samples"};
                t->partial[part] |= partial;
                t->has_parts |= part != PART_COMBINED;
            }
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
    struct toll_end end = {.ended = writer != WRITER_THERE, .unknown = true};
    const char *sentence = why_no_end(writer, is_sqlite);
    summary_end(s, r->has_frame ? r->frame.elapsed_ns : 0);
    judge(&s->whole);
    s->has_target = s->whole.series[PART_COMBINED][process_wall_seconds].observed_ns ||
                    r->run.command || r->run.target_count;
    for (size_t i = 0; i < s->target_count; i++) {
        judge(&s->targets[i]);
        s->targets[i].end = end;
    }
    s->whole.end = end;
    summary_note(s, sentence);
    return sentence;
}
