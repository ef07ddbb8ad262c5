/* SPDX-License-Identifier: MIT
 * What is known of the run that is being read from a record. Each read_… below takes one line that
 * was found to be of its type and makes of it what sinks are handed. They return false when the
 * line is not as expected. */
#pragma once

#include "base/text/json.h"
#include "metric/frame.h"
#include "metric/metric.h"
#include "summary/phases.h"
#include "summary/summary.h"

enum { RUN_TARGETS = 64 }; /* as many as entity.targets has bits */

/* The things of the machine that were met, each once. */
struct instances {
    struct {
        struct instance *instance;
        uint64_t line; /* the last one that it was in */
    } * items;         /* owned array; the things are in reading.kept */
    size_t count;
    size_t expected; /* things come in the same order in every sample */
    uint64_t line;   /* counts those that have things in them, from 1 */
};

struct process_row {
    struct entity entity;
    struct row row;
};

struct reading {
    struct json_in json;
    struct arena kept; /* text and things that live as long as the run is read */
    bool no_memory;
    bool has_schema;
    char schema[64];   /* another one than is read here, "" when it is this one */
    char unknown[64];  /* the first key that means nothing here, "" when there was none */
    const char *wrong; /* what a line has that a record cannot have; NULL: it is not known */

    bool shows_secrets, no_args; /* as in struct run, of every run of the record */
    struct run run;
    struct selection selection; /* what the record has, as far as it was read */
    const char *left_out;       /* metrics of the machine, in kept; NULL: none */
    uint64_t exact_start_ns;    /* of the day, in full; 0: not told … */
    uint64_t exact_ns;          /* … nor of the sample */
    struct instances instances;

    struct frame frame;
    bool has_frame;
    uint8_t shape[1 + RUN_TARGETS]; /* parts that the first sample has, as bits: of the whole, … */
    struct instance_list machine;   /* of the frame */
    struct row whole[PARTS];
    struct frame_target *targets; /* in kept, one for each of several; … */
    struct row (*rows)[PARTS];    /* … and their figures */
    struct entity entities[PARTS];
    struct row self;
    struct entity self_entity;
    struct process_row *processes; /* owned */
    size_t process_capacity;
    struct frame_row *process_rows; /* owned */

    struct process process; /* of the last line of that type … */
    struct process_end process_end;
    struct told_mark mark; /* … and so on */
    struct phase phase;
    struct phase_figure figures[PROCESS_METRICS];
    struct buf name;       /* of the mark */
    struct buf attributes; /* … as words */
    struct buf text;       /* of a note */
    uint64_t note_at_ns;
    bool is_note;

    struct summary summary; /* up to now from the samples; as recorded once it was read */
    bool has_summary;
    struct energy energy;
};

/* ---- Pieces that lines have in common -------------------------------------------------------- */

/* A copy with a zero behind it that lives as long as the run; "" without memory. */
const char *reading_keep(struct reading *r, struct scan text);

/* The line cannot be of this run; the words say what is wrong with it. Returns false. */
bool reading_wrong(struct reading *r, const char *what);

/* One more key that means nothing: its value is skipped. */
void reading_skip(struct reading *r, const struct scan *key);

/* Values of the types that the format has. Those that may be null leave *ret alone then. */
bool read_seconds(struct json_in *j, uint64_t *ret_ns);
bool read_u64(struct json_in *j, uint64_t *ret);
bool read_double(struct json_in *j, double *ret);
bool read_pid(struct json_in *j, pid_t *ret);
bool read_utc(struct json_in *j, uint64_t *ret_real_ns);
const char *read_kept(struct reading *r);

/* A name in a fixed field; what does not fit is cut. */
bool read_name(struct json_in *j, char *ret, size_t capacity);

/* Whether it can be the key of a label or an attribute, which are KEY=VALUE elsewhere. */
static inline bool read_key_fits(const struct scan *key)
{
    return key->at < key->end && !memchr(key->at, '=', (size_t)(key->end - key->at));
}

/* How something ended. */
bool read_end(struct reading *r, struct toll_end *ret);

/* Which of the words a string is, or -1. */
int read_word(struct json_in *j, const char *const *words, size_t count);

/* The word of a quality; unknown when it is another one. */
enum quality read_quality(struct json_in *j);

/* ---- Figures --------------------------------------------------------------------------------- */

/* What a metric of that kind was called, or -1. Keys come in the order of the table: *next is where
 * the search begins. */
int read_row_find(enum entity_kind kind, const struct scan *key, unsigned *next);

/* A value of a metric, null for unknown. *ret_known tells whether it is. */
bool read_row_value(struct json_in *j, const struct metric *m, union value *ret, bool *ret_known);

/* The value behind a key, when that is a metric of the row. *keys gets its bit. */
bool read_row_member(struct reading *r, enum entity_kind kind, const struct scan *key,
                     struct row *row, uint64_t *keys, unsigned *next);

/* Whether no figure is both known and a lower bound; to be asked behind the last member. */
bool read_row_is_sound(struct reading *r, const struct row *row);

/* What comes next, as long as it is figures in the order of the table, from *next on: fast. */
void read_row_expected(struct reading *r, enum entity_kind kind, struct row *row, uint64_t *keys,
                       unsigned *next);

/* An object with nothing but figures. */
bool read_row(struct reading *r, enum entity_kind kind, struct row *row, uint64_t *keys);

/* ---- Things ---------------------------------------------------------------------------------- */

/* The thing with that name and those labels, new or met before; NULL without memory, or when the
 * line has had it already. What the entity points to need not live on. */
struct instance *read_instances_find(struct reading *r, const struct entity *e);

/* A line begins that may have things in it. */
void read_instances_begin(struct reading *r);

/* A key of an object that describes a thing, when its value is a string: name or label. */
bool read_instances_word(struct reading *r, const struct scan *key, struct entity *e);

/* The kind that the key is the plural of, or -1. */
int read_instances_kind(const struct scan *key);

/* ---- Lines ----------------------------------------------------------------------------------- */

bool read_run(struct reading *r);
bool read_sample(struct reading *r);
bool read_process(struct reading *r);
bool read_process_row(struct reading *r, struct process_row *ret); /* of a sample */
bool read_mark(struct reading *r, enum mark_kind kind);            /* an event may be a note */
bool read_summary(struct reading *r);

/* Of the summary: what one figure came to. provenance, partial NULL: there is none. *partial
 * becomes true when the figure lacks a process that could not be read. */
bool read_series(struct reading *r, struct series *s, const struct metric *m, struct provenance *v,
                 bool *partial);

/* "phases", "gauges", "events" and "marks" of it. False when the key is none of them. */
bool read_marks_member(struct reading *r, const struct scan *key);

/* "outputs" of it. */
bool read_outputs(struct reading *r);

/* "figures" of a phase, by metric; those that are not there are unknown. */
bool read_marks_figures(struct reading *r, struct phase_figure ret[PROCESS_METRICS]);
