/* SPDX-License-Identifier: MIT
 * Writes the lines of a record, and the summary, which is one of them, as JSON. Each writes members
 * of the object that is open; record.def has their keys. */
#pragma once

#include "record/keys.h"

/* The facts of a run, and the whole of its first line but for type and schema. */
void record_json_run(struct json_out *j, const struct run *run);
void record_json_run_line(struct json_out *j, const struct run *run,
                          const struct selection *selection);

void record_json_sample(struct json_out *j, const struct frame *f, const struct run *run,
                        const struct selection *selection);
void record_json_process(struct json_out *j, const struct process_end *e, const struct run *run,
                         const struct selection *selection);
void record_json_mark(struct json_out *j, const struct run_mark *m,
                      const struct selection *selection);
void record_json_note(struct json_out *j, uint64_t elapsed_ns, const char *sentence);
void record_json_summary(struct json_out *j, const struct summary *s,
                         const struct selection *selection);

/* The selected metrics of a row; unknown is null. Lower bounds follow in an object "lower_bound",
 * where there are any. */
void record_json_row(struct json_out *j, const struct row *row, uint64_t selected);

/* That object alone. */
void record_json_bounds(struct json_out *j, const struct row *row, uint64_t selected);

/* A value of a metric. */
void record_json_value(struct json_out *j, const struct metric *m, union value v);

/* "name" and the labels of an instance. */
void record_json_entity(struct json_out *j, const struct entity *e);

/* A sample or a mark as the record has it. */
struct record_sample record_sample_of(const struct frame *f, const struct run *run);
struct record_mark record_mark_of(const struct run_mark *m);

/* A series as the record has it. provenance NULL: there is none. is_partial: a process that has
 * some of it could not be read. */
struct record_figure record_figure_of(const struct series *s, const struct metric *m,
                                      const struct provenance *provenance, bool is_partial);

/* How a figure of an instance was obtained. */
struct provenance record_instance_provenance(const struct series *s, const struct metric *m);
