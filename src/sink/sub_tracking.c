/* SPDX-License-Identifier: MIT
 * The phases of the job as code blocks in a sub-tracking file of gpu-tracker, two rows for each
 * when it has ended:
 *
 *   process_id,code_block_name,position,timestamp
 *   812,load,0,1746129778.99568
 *   812,load,1,1746129781.7855892
 */
#include "sink/sinks.h"
#include "subtrack/block_log.h"

static const char newline[] = "\r\n";

static void sub_tracking_begin(struct sink *s, const struct run *run)
{
    if (!s->follows)
        block_log_heading(&s->text, newline);
}

static void add_row(struct sink *s, const struct told_mark *m, bool is_stop)
{
    uint64_t at_ns = is_stop ? m->phase->end_ns : m->phase->begin_ns;
    struct block_stamp stamp = {
        .pid = m->pid,
        .name = m->name,
        .is_stop = is_stop,
        .time = (double)(s->run->start_real_ns + left_u64(at_ns, m->start_ns)) / 1e9,
    };
    block_log_row(&s->text, &stamp, newline);
}

static void sub_tracking_mark(struct sink *s, const struct told_mark *m)
{
    if (!m->phase || !s->run)
        return;
    add_row(s, m, false);
    if (!m->phase->not_ended) /* a call without an end does not count there */
        add_row(s, m, true);
}

const struct sink_kind sink_sub_tracking = {
    .format = {"sub-tracking", ".sub-tracking.csv", "the phases, as code blocks of gpu-tracker",
               "FILE"},
    .begin = sub_tracking_begin,
    .mark = sub_tracking_mark,
};
