/* SPDX-License-Identifier: MIT
 * Writes and reads objects of the record by the table of its keys, record.def: as members of JSON
 * objects here, as rows of tables in sqlite/. */
#pragma once

#include "base/text/json.h"
#include "metric/frame.h"
#include "metric/metric.h"
#include "summary/phases.h"
#include "summary/summary.h"

#define RECORD_SCHEMA  "toll.record/1"
#define SUMMARY_SCHEMA "toll.summary/1"

/* ==== Words =================================================================================== */

/* "status" of an end. */
enum end_status { END_RUNNING, END_EXITED, END_SIGNALED, END_UNKNOWN, END_STATUSES };
extern const char *const record_words_end[END_STATUSES];

/* "left" of a process. */
extern const char *const record_words_left[DEPARTURES];

/* "way" of an output. */
extern const char *const record_words_way[OUTPUT_WAYS];

/* "of" of a phase. */
extern const char *const record_words_scope[2];

/* "type" of a mark's line; NULL: it has none. */
extern const char *const record_words_mark[MARK_KINDS];

/* Keys of "limits". */
extern const char *const record_words_limit[LIMITS];

/* ==== Structs that exist for the record only ================================================== */

struct record_end {
    enum end_status status;
    int code, signal;
    bool has_code, has_signal;
    bool core_dumped, oom_killed, timed_out, cut_short;
};

struct record_end record_end_of(const struct toll_end *end);
struct toll_end record_end_back(const struct record_end *end);

struct record_details {
    uint64_t start_real_ns;
    pid_t own_pid, group;
    unsigned online_cpus;
    bool gpus, has_gpus;
    const char *left_out; /* NULL: none */
};

struct record_sample {
    uint64_t tick, real_ns, elapsed_ns, interval_ns;
    bool last, between, has_target;
    unsigned gpu_count; /* 0: not known */
    size_t target_count, process_count;
    const struct frame *frame; /* borrowed; of a sample that is written */
};

struct record_mark {
    uint64_t elapsed_ns;
    const char *name, *text;
    pid_t pid;
    bool has_pid;
    double value;
    struct scan attributes; /* for mark_text_attribute */
    uint64_t begin_ns, end_ns, duration_ns, looks;
    bool ended, of_target;
    const struct phase *phase; /* borrowed; of a mark that is written */
};

struct record_phase_figure {
    double total, mean, max;
    bool has_total, has_mean, has_max;
    enum quality quality;
};

enum { RECORD_QUANTILES = 3 };
extern const double record_quantiles[RECORD_QUANTILES]; /* in rising order */

struct record_figure {
    union value value; /* total of a counter, last of a gauge */
    bool is_observed;  /* a gauge has that value, and a mean */
    double mean, min, max, at_peak;
    uint64_t max_at_ns;
    double quantiles[RECORD_QUANTILES];
    bool has_total, has_rate_mean, has_rate_max, has_rate_max_at; /* of a counter */
    bool has_gauge, has_extremes, has_max_at, has_at_peak, has_quantile[RECORD_QUANTILES];
    bool has_quality, partial, unlimited;
    enum quality quality;
    const char *from;
};

/* ==== The table =============================================================================== */

enum record_object {
#define OBJECT(name, ...) RECORD_OBJECT_##name,
#include "record/record.def"
    RECORD_OBJECTS,
};

/* What the writers of values need beside the object. */
struct record_context {
    const struct run *run;
    const struct selection *selection;
    const struct metric *metric; /* of a figure */
    enum limit_kind limit;       /* of a limit */
};

struct reading;

/* A value with functions of its own. They get the object that the key is of; those of RECORD_MEMBER
 * its member. */
struct record_special {
    void (*write)(struct json_out *j, const void *object, const struct record_context *c);
    bool (*read)(struct reading *r, void *object); /* NULL: it follows from other keys */
    bool (*is_set)(const void *object, const struct record_context *c); /* NULL: by the member */
};

enum record_type {
    RECORD_NAME,
    RECORD_OWNED,
    RECORD_KEPT,
    RECORD_COUNT,
    RECORD_PID,
    RECORD_INT,
    RECORD_SECONDS,
    RECORD_TIME,
    RECORD_REAL6,
    RECORD_REAL9,
    RECORD_NUMBER,
    RECORD_FLAG,
    RECORD_NOT,
    RECORD_QUALITY,
    RECORD_WORD,
    RECORD_SPECIAL,
    RECORD_MEMBER,
};

enum record_presence {
    RECORD_ALWAYS,
    RECORD_OPTIONAL,
    RECORD_NULLABLE,
    RECORD_WITH,
    RECORD_UNLESS,
};

struct record_key {
    const char *key;
    const char *column; /* "": none */
    enum record_object object;
    enum record_type type;
    enum record_presence presence;
    unsigned offset, size;                     /* of the member */
    unsigned condition_offset, condition_size; /* of the member that decides whether it is set */
    const char *const *words;                  /* of RECORD_WORD, otherwise NULL */
    unsigned word_count;
    const struct record_special *special; /* of RECORD_SPECIAL and RECORD_MEMBER, otherwise NULL */
};

/* The keys of an object, from its first on. */
const struct record_key *record_keys(enum record_object object, unsigned *ret_count);

/* Whether a value has to be written. */
bool record_key_is_set(const struct record_key *k, const void *object,
                       const struct record_context *c);

/* The value of a key as a number; of the types that are whole numbers, flags or words. */
uint64_t record_key_whole(const struct record_key *k, const void *object);

/* Puts a number there. False when it does not fit. */
bool record_key_put_whole(const struct record_key *k, void *object, uint64_t value);

/* A text; "" for none. */
const char *record_key_text(const struct record_key *k, const void *object);
bool record_key_put_text(struct reading *r, const struct record_key *k, void *object,
                         struct scan text);

/* Notes that the value was there. */
void record_key_note(const struct record_key *k, void *object);

/* ==== JSON ==================================================================================== */

/* The members of an object, into the JSON object that is open. */
void record_write(struct json_out *j, enum record_object object, const void *data,
                  const struct record_context *c);

/* The same as an object of its own. */
void record_write_object(struct json_out *j, enum record_object object, const void *data,
                         const struct record_context *c);

/* Where the keys of one JSON object go. */
struct record_fields {
    enum record_object object;
    void *data;
};

/* Reads a JSON object whose keys are those of several objects. A key that is of none is handed to
 * other(), which returns false when it does not know it either: then it is skipped, and noted
 * unless it is the type of the line. other may be NULL. Returns false when the JSON is not as
 * expected. */
bool record_read(struct reading *r, const struct record_fields *fields, unsigned count,
                 bool (*other)(struct reading *r, const struct scan *key, void *arg), void *arg);

/* The same for keys of one object alone. */
bool record_read_object(struct reading *r, enum record_object object, void *data);

/* ==== Writing ================================================================================= */

/* Writes the lines of a record, and the summary, which is one of them, as JSON. Each writes members
 * of the object that is open; record.def has their keys. */

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
