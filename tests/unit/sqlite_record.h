/* SPDX-License-Identifier: MIT
 * A small run in a SQLite file, for the tests of those who read it. */
#pragma once

#include "sample.h"
#include "sqlite_place.h"

/* A SQLite file with the sample, a process that left, a note and a summary, as the sink writes it;
 * its path. */
static inline const char *sqlite_record_make(struct sample *s, bool has_end)
{
    static char path[512];
    struct output_summary o;
    sample_make(s, "target_cpu_seconds,process_cpu_seconds,ticks");
    sample_name(s, "job");
    struct sink *sink = sample_sink(s, "run.db");
    row_put_u64(&s->parts[PART_COMBINED], process_cpu_seconds, 1500000000);
    row_put_u64(&s->process.own, process_cpu_seconds, 250000000);
    s->frame.between = true;
    s->run.gpu_count = 2;
    struct process_end left = {.process = &s->process, .how = LEFT_INSIDE, .elapsed_ns = 5};
    assert_int_equal(sink_begin(sink, &s->run), 0);
    assert_int_equal(sink_frame(sink, &s->frame), 0);
    assert_int_equal(sink_process_end(sink, &left), 0);
    assert_int_equal(sink_note(sink, 6, "a \"note\""), 0);
    if (has_end)
        assert_int_equal(sink_summary(sink, &s->summary), 0);
    sink_end(sink);
    assert_int_equal(sink_wait(sink, &o), 0);
    sink_close(sink, false);
    return tree_path(&s->tree, path, "run.db");
}
