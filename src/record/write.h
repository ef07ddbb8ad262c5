/* SPDX-License-Identifier: MIT
 * The pieces of JSON that the record and the summary share. */
#pragma once

#include "base/text/json.h"
#include "metric/frame.h"
#include "metric/metric.h"
#include "summary/phases.h"
#include "summary/summary.h"

/* ==== Record json ============================================================================= */

/* "name":…, "command":…, … of a run, as members of the object that is open. */
void record_json_run(struct json_out *j, const struct run *run);

/* … and what only those need who write other formats of it later. */
void record_json_run_details(struct json_out *j, const struct run *run);

/* "left_out": what was selected of the machine and yet has no figures: there is nothing that could
 * have them. Of others it shows in the samples, where unknown is null. */
void record_json_left_out(struct json_out *j, const struct run *run,
                          const struct selection *selection);

/* "name" and the labels of a thing, as members of the object that is open. */
void record_json_entity(struct json_out *j, const struct entity *e);

/* The selected metrics of a row as members of the object that is open; unknown is null. What of
 * them is a lower bound follows in an object "lower_bound", where there is any. */
void record_json_row(struct json_out *j, const struct row *row, uint64_t selected);

/* That object alone. */
void record_json_bounds(struct json_out *j, const struct row *row, uint64_t selected);

/* "status", "code", "signal", "core_dumped" as an object. */
void record_json_end(struct json_out *j, const struct toll_end *end);

/* Its status, and how a process left, in one word or a few. */
const char *record_json_end_word(const struct toll_end *end);
const char *record_json_departure(enum departure how);

/* "limits" with what is known of them. */
void record_json_limits(struct json_out *j, const struct limits *limits);

/* A mark, and what all marks came to, as members of the object that is open. */
void record_json_mark(struct json_out *j, const struct told_mark *m,
                      const struct selection *selection);
void record_json_marks(struct json_out *j, const struct mark_totals *t,
                       const struct selection *selection);

/* Objects that stand in a mark. */
void record_json_attributes(struct json_out *j, struct scan attributes);
void record_json_phase_figures(struct json_out *j, const struct phase *p,
                               const struct selection *selection);

/* Everything of a summary as members of the object that is open. */
void record_json_summary(struct json_out *j, const struct summary *s,
                         const struct selection *selection);

/* "outputs": what came of those that were sent somewhere, where there are any. */
void record_json_outputs(struct json_out *j, const struct summary *s);

/* "run_joules", where GPUs were read. */
void record_json_energy(struct json_out *j, const struct summary *s);

/* ==== Record words ============================================================================ */

/* Words of the record that its writer and its reader share. */

#define RECORD_SCHEMA  "toll.record/1"
#define SUMMARY_SCHEMA "toll.summary/1"

/* "status" of an end. */
enum end_status { END_RUNNING, END_EXITED, END_SIGNALED, END_UNKNOWN, END_STATUSES };
extern const char *const record_words_end[END_STATUSES];

/* "left" of a process. */
extern const char *const record_words_left[DEPARTURES];

/* "way" of an output. */
extern const char *const record_words_way[OUTPUT_WAYS];

/* "type" of a mark's line; NULL: it has none. */
extern const char *const record_words_mark[MARK_KINDS];

/* Keys of "limits". */
extern const char *const record_words_limit[LIMITS];

/* Quantiles of a gauge, in rising order. */
enum { RECORD_QUANTILES = 3 };
struct record_quantile {
    const char *key;
    double share;
};
extern const struct record_quantile record_words_quantile[RECORD_QUANTILES];
