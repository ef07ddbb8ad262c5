/* SPDX-License-Identifier: MIT
 * A small run for the tests of sinks: what is set is written, the rest is as it began. */
#pragma once

#include "sink/sink.h"
#include "tree.h"

struct sample {
    struct tree tree;
    struct run run;
    struct summary summary;
    struct entity entity;
    struct row parts[PARTS];
    struct row self;
    struct frame frame;
    struct process process;
    struct selection selection;
};

/* The name of its run, which the command's is otherwise. */
static inline void sample_name(struct sample *s, const char *name)
{
    free(s->run.name);
    s->run.name = strdup(name);
}

static inline void sample_make(struct sample *s, const char *metrics)
{
    memset(s, 0, sizeof *s);
    tree_make(&s->tree);
    assert_int_equal(selection_parse(&s->selection, metrics, NULL), 0);
    char *command[] = {strdupa("make"), strdupa("-j2"), NULL};
    assert_int_equal(run_set_command(&s->run, command), 0);
    snprintf(s->run.host, sizeof s->run.host, "box");
    snprintf(s->run.kernel, sizeof s->run.kernel, "6.1");
    s->run.cpus = 4;
    s->run.pid = 100;
    s->run.start_real_ns = UINT64_C(1731000000123000000);
    assert_int_equal(summary_init(&s->summary, &s->run), 0);
    s->summary.has_target = s->summary.whole.has_parts = true;
    s->summary.whole.end = (struct toll_end){.ended = true, .status = 3};
    s->summary.elapsed_ns = 2 * NS_PER_SECOND;
    for (unsigned part = 0; part < PARTS; part++) {
        for (unsigned id = 0; id < PROCESS_METRICS; id++)
            s->summary.whole.provenance[part][id].source = "";
        row_init(&s->parts[part], ENTITY_PROCESS);
        s->frame.target[part] = (struct frame_row){&s->entity, &s->parts[part]};
    }
    row_init(&s->self, ENTITY_SELF);
    s->frame.self = (struct frame_row){&s->entity, &s->self};
    s->frame.real_ns = s->run.start_real_ns;
    s->frame.elapsed_ns = 1500000000;
    s->frame.interval_ns = 10000000;
    row_init(&s->process.own, ENTITY_PROCESS);
    s->process.entity = (struct entity){
        .kind = ENTITY_PROCESS, .pid = 101, .parent = 100, .start_ticks = 5, .name = "cc"};
}

static inline void sample_remove(struct sample *s)
{
    frame_done(&s->frame);
    summary_done(&s->summary);
    run_done(&s->run);
    tree_remove(&s->tree);
}

/* A sink that writes to a file of the tree. */
static inline struct sink *sample_sink(struct sample *s, const char *name)
{
    char path[512];
    struct sink *sink;
    struct toll_error e = {0};
    struct toll_output out = {.size = sizeof out, .destination = tree_path(&s->tree, path, name)};
    assert_int_equal(sink_open(&sink, &out, &s->selection, &e), 0);
    return sink;
}

/* Closes the sink; what it wrote must be this. */
static inline void sample_expect(struct sample *s, struct sink *sink, const char *name,
                                 const char *expected)
{
    assert_int_equal(sink->failure, 0);
    sink_close(sink, false);
    char *text = tree_read(&s->tree, name);
    assert_string_equal(text, expected);
    free(text);
}

/* A counter that has come to this in the two seconds of the run. */
static inline void sample_total(struct sample *s, enum part part, enum metric_id id, uint64_t value,
                                enum quality quality)
{
    series_put(&s->summary.whole.series[part][id], metric_of(id), (union value){.u = value},
               2 * NS_PER_SECOND);
    series_end(&s->summary.whole.series[part][id], metric_of(id), 2 * NS_PER_SECOND);
    s->summary.whole.provenance[part][id] = (struct provenance){quality, "test"};
}
