/* SPDX-License-Identifier: MIT
 * What is known of the run that is being read from a record. Each read_… below takes one line of
 * its type, as JSON in reading.json, and makes what sinks get; where it has _begin and _end, a
 * source that is not JSON fills in what is between. All return false when the line is not as
 * expected. */
#pragma once

#include "base/memory.h"
#include "record/keys.h"

enum { RUN_TARGETS = 64 }; /* as many as entity.targets has bits */

/* The instances of the machine that were met, each once. */
struct instances {
    struct {
        struct instance *instance;
        uint64_t line; /* the last one that had it */
    } * items;         /* owned array; the instances are in reading.kept */
    size_t count;
    size_t expected; /* instances come in the same order in every sample */
    uint64_t line;   /* number of the line that is read, from 1 */
};

struct process_row {
    struct entity entity;
    struct row row;
};

struct reading {
    struct json_in json;
    struct arena kept;  /* text and instances that live as long as the run is read */
    struct arena *text; /* where texts are copied to: kept, or that of a line */
    bool no_memory;
    bool has_schema;
    char schema[64];   /* another one than is read here, "" when it is this one */
    char unknown[64];  /* the first key that is not known here, "" when there was none */
    const char *wrong; /* what a line has that a record cannot have; NULL: not known */

    bool shows_secrets, no_args; /* as in struct run, of every run of the record */
    struct run run;
    struct selection selection; /* what the record has, as far as it was read */
    struct instances instances;

    struct frame frame;
    bool has_frame;
    uint64_t last_tick, last_elapsed_ns; /* of the sample before */
    uint8_t shape[1 + RUN_TARGETS]; /* parts that the first sample has, as bits; the whole first */
    struct instance_list machine;   /* of the frame */
    struct row whole[PARTS];
    struct frame_target *targets; /* in kept, one for each of several */
    struct row (*rows)[PARTS];    /* in kept, their figures */
    struct entity entities[PARTS];
    struct row self;
    struct entity self_entity;
    struct process_row *processes; /* owned */
    size_t process_count, process_capacity;
    struct frame_row *process_rows; /* owned */

    struct process process; /* of the last line of that type */
    struct process_end process_end;
    struct record_mark said; /* the last mark as its line has it */
    struct run_mark mark;    /* the last mark as sinks get it */
    struct phase phase;
    struct phase_figure figures[PROCESS_METRICS];
    struct arena line;     /* texts of the mark */
    struct buf attributes; /* of the mark, as words */

    struct summary summary; /* so far of the samples; as recorded once it was read */
    bool has_summary;
    struct energy energy;
    enum limit_kind limit; /* that is being read */
    const struct metric *metric;
};

/* ==== What lines have in common =============================================================== */

/* A copy that ends with a zero byte and lives as long as reading.text; "" without memory. */
const char *reading_keep(struct reading *r, struct scan text);

/* The line cannot be of this run; the words describe what is wrong with it. Returns false. */
bool reading_wrong(struct reading *r, const char *what);

/* Skips the value of a key that is not known. */
void reading_skip(struct reading *r, const struct scan *key);

/* The same for a key or a type of line that has no value to skip. */
void reading_note_unknown(struct reading *r, const struct scan *key);

/* Null leaves *ret alone. */
bool read_u64(struct json_in *j, uint64_t *ret);
bool read_double(struct json_in *j, double *ret);

bool read_utc(struct json_in *j, uint64_t *ret_real_ns);

/* An object of texts as "key=value" words, each of them handed to add. kind is for sentences. */
bool read_words(struct reading *r, const char *wrong,
                void (*add)(struct reading *r, const struct buf *word, void *arg), void *arg);

/* The part that a key names, or -1. */
int read_part(const struct scan *key);

/* ==== Figures ================================================================================= */

/* The number of the metric that a key names, or -1. Keys come in the order of the table: *next is
 * where the search begins. */
int read_row_find(enum entity_kind kind, const struct scan *key, unsigned *next);

/* A value of a metric; null is unknown. */
bool read_row_value(struct json_in *j, const struct metric *m, union value *ret, bool *ret_known);

/* The object "lower_bound" of a row. */
bool read_bounds(struct reading *r, enum entity_kind kind, struct row *row);

/* Whether no figure is both known and a lower bound; to be called after the last member. */
bool read_row_is_sound(struct reading *r, const struct row *row);

/* ==== Instances of the machine ================================================================ */

/* The instance with that name and those labels, new or met before; NULL without memory, or when the
 * line has had it already. The texts of the entity are copied. */
struct instance *read_instances_find(struct reading *r, const struct entity *e);

/* A line begins that may have instances in it. */
void read_instances_begin(struct reading *r);

/* A member of an object that describes an instance, when its value is a string: name or label. */
bool read_instances_word(struct reading *r, const struct scan *key, struct entity *e);

/* The kind that the key is the plural of, or -1. */
int read_instances_kind(const struct scan *key);

/* ==== Lines =================================================================================== */

enum record_line {
    LINE_RUN,
    LINE_SAMPLE,
    LINE_PROCESS,
    LINE_MARK,
    LINE_SUMMARY,
    LINE_OTHER, /* of a later version */
};

/* json: the line, or the facts of a SQLite file. */
bool read_run(struct reading *r);

void read_sample_begin(struct reading *r);
bool read_sample(struct reading *r); /* the JSON of it, and its end */
bool read_sample_end(struct reading *r, const struct record_sample *s);

/* Room for one more process of the sample; NULL without memory. */
struct process_row *read_sample_add_process(struct reading *r);

void read_process_begin(struct reading *r);
bool read_process(struct reading *r); /* the JSON of it */

void read_mark_begin(struct reading *r, enum mark_kind kind);
bool read_mark(struct reading *r); /* the JSON of it, and its end */
bool read_mark_end(struct reading *r);

/* Whether the mark is a note of toll. */
bool read_mark_is_note(const struct reading *r);

bool read_summary(struct reading *r);
