/* SPDX-License-Identifier: MIT
 * The parts of the sink for MLflow: the client that talks to the server, frames as metrics, facts
 * about the run, and the setup from options and variables. */
#pragma once

#include "base/text/buf.h"
#include "base/text/json.h"
#include "layout/translation.h"
#include "sink/http.h"
#include "sink/points.h"
#include "sink/sink.h"
#include "sink/spool.h"

/* ==== Client (client.c) ======================================================================= */

/* The conversation with a tracking server. The run is made or joined when the first request needs
 * it. One thread at a time. */

enum { MLFLOW_ID_BYTES = 64, MLFLOW_URI_BYTES = 512 };

/* The tag that nests a run below another one. */
#define MLFLOW_PARENT_TAG "mlflow.parentRunId"

/* Plain bytes: it goes through a pipe. */
struct mlflow_run {
    char experiment_id[MLFLOW_ID_BYTES]; /* "": unknown */
    char run_id[MLFLOW_ID_BYTES];        /* "": none yet */
    char artifacts[MLFLOW_URI_BYTES];    /* the URI for them; "": unknown */
    bool may_exist;                      /* it was requested, and no answer came */
};

struct mlflow_client {
    struct sink *sink; /* borrowed */
    struct http *http; /* owned */
    char *base;        /* owned: the URL without a slash at its end */
    char *experiment;  /* owned: its name, NULL: by its ID */
    char *create; /* owned: the body that makes the run, without the experiment; NULL: joined */
    char id[UUID_BYTES]; /* a tag of the run, to find it by when no answer came */
    struct mlflow_run run;
    uint64_t timeout_ns; /* of a request, 0: as the sink says */
    bool is_joined;      /* the run is not ours: it is never ended */
    bool has_spool;      /* a refused request can wait in a file */
    bool is_refused;     /* the run cannot be made */
    char refusal[256];   /* why */
    unsigned html_errors;
    struct buf url, body;
};

/* Whether the text may be the ID of a run or of an experiment. */
bool mlflow_client_is_id(const char *text);

/* Makes or finds the run, unless it is known already. */
enum delivery mlflow_client_prepare(struct mlflow_client *c, struct attempt *a);

/* 1: the run has that metric, and not that tag. 0: otherwise. -EAGAIN: no answer. */
int mlflow_client_run_has(struct mlflow_client *c, const char *metric, const char *tag);

/* Does one operation, after making the run. DELIVERY_KEPT: no retry helps, but other credentials,
 * another URL or another run may. */
enum delivery mlflow_client_do(struct mlflow_client *c, const struct spool_op *op,
                               struct attempt *a);

void mlflow_client_done(struct mlflow_client *c);

/* In the JSON of an answer, the text of the first member with that name at any depth:
 * {"run":{"info":{"run_id":"ab"}}}. False: none, not plain ASCII, or too long. */
bool mlflow_answer_text(const char *body, size_t length, const char *name, char *ret,
                        size_t capacity);

/* Whether its "error_code" is that word. */
bool mlflow_answer_is(const char *body, size_t length, const char *error_code);

/* ==== Metrics and keys (frames.c) ============================================================= */

/* What the server accepts in one request. */
enum { MLFLOW_METRICS_AT_MOST = 1000, MLFLOW_TAGS_AT_MOST = 100 };

/* Collects metrics into operations that are not too large. */
struct mlflow_metrics {
    struct buf *ops; /* borrowed */
    struct buf body;
    struct json_out json;
    size_t count;
};

/* NaN and infinity are written as the strings that the server reads. */
void mlflow_metrics_add(struct mlflow_metrics *m, const char *key, double value, int64_t time_ms,
                        uint64_t step);
void mlflow_metrics_end(struct mlflow_metrics *m);

/* Names that an MLflow server accepts for metrics and tags: [A-Za-z0-9_./: -], at most 250 bytes,
 * and valid as a path (no empty part, no "." or "..", no slash at either end). */

enum { MLFLOW_KEY_BYTES = 250 };

/* Adds the name with other letters replaced by _. One that is too long is cut and ends with a hash.
 */
void mlflow_key(struct buf *b, const char *name);

/* The same for one part of a name: slashes are replaced, too. */
void mlflow_key_part(struct buf *b, const char *name);

/* ==== Frames (frames.c) ======================================================================= */

/* Numbers while a sample is taken, keys and JSON when they are sent.
 *
 * MLflow's own monitor logs a point of each metric every ten seconds, and servers and charts are
 * made for that. So several samples make one point: the last value of a counter, the mean of a
 * gauge since the point before, each value weighted by its time. */

enum { MLFLOW_TABLES = 2 };

/* One series since the point before. */
struct mlflow_folded {
    double last;
    double weighted;    /* sum of value times nanoseconds */
    uint64_t weight_ns; /* sum of these nanoseconds */
    uint64_t seen_ns;   /* when it was last known, since the start of the run */
    uint64_t count;     /* of values */
};

struct mlflow_fold {
    uint64_t interval_ns;         /* between points; 0: every sample is a point */
    struct mlflow_folded *series; /* owned, by number */
    size_t count;
    uint64_t point_ns;       /* when the point before was, since the start of the run */
    struct points_head head; /* of the last sample */
    uint64_t step;           /* number of the last sample */
    unsigned samples;        /* since the point before */
    struct buf sample;       /* the last one */
};

/* How often a phase of that name has ended. */
struct mlflow_phase {
    char *name; /* owned */
    uint64_t count;
};

struct mlflow_frames {
    struct points points;
    bool has_points; /* toll's own figures, not those of a layout alone */
    bool all_parts;
    struct mlflow_fold fold;     /* of toll's own figures */
    struct mlflow_phase *phases; /* owned */
    size_t phase_count;
    _Atomic bool is_doubled;      /* the program logs the names of the table itself: ours differ */
    struct layout_choice *choice; /* borrowed, or &own; NULL: no tables */
    struct layout_choice own;
    struct translation tables[MLFLOW_TABLES];
    size_t table_count;
    char *prefix;  /* owned: "system/" */
    char *node;    /* owned: "" or "rank_3/" */
    uint64_t step; /* of the last frame */
    struct buf key, name;
};

/* all_parts: also main process and descendants apart, the cgroup, and toll itself. 0 or -errno. */
int mlflow_frames_init(struct mlflow_frames *f, struct sink *s, bool all_parts, const char *prefix,
                       const char *node, uint64_t interval_ns, struct toll_error *e);
void mlflow_frames_done(struct mlflow_frames *f);

/* Each adds a chunk to sink->text, or nothing; sink->folded is the number of samples in it. */
void mlflow_frames_put(struct mlflow_frames *f, struct sink *s, const struct frame *frame);
void mlflow_frames_put_gauge(struct mlflow_frames *f, struct sink *s, const struct run_mark *m);
void mlflow_frames_put_phase(struct mlflow_frames *f, struct sink *s, const struct run_mark *m);

/* For a run without a last sample, such as a record that is cut short: adds what is left to *out.
 * Returns the number of samples in it. */
unsigned mlflow_frames_rest(struct mlflow_frames *f, struct buf *out);

/* The key that MLflow's own monitor always logs, if toll would log it too; otherwise NULL. Valid
 * until the next call of this or of mlflow_frames_encode(). */
const char *mlflow_frames_key_of_monitor(struct mlflow_frames *f);

/* Adds a batch as operations. Chunks other than frames and marks are operations already. */
void mlflow_frames_encode(struct mlflow_frames *f, const struct batch *b, struct buf *ops);

/* ==== Facts (facts.c) ========================================================================= */

/* The beginning and the end of a run, as operations. */

/* Names of phases begin with it, after "toll/" and the node. */
#define MLFLOW_PHASE_PREFIX "phase/"

struct mlflow_facts {
    const char *node;     /* "", or "rank_3/": one of several in one run */
    const char *id;       /* a tag to find the run by */
    const char *run_name; /* NULL: the name of toll's run */
    const char *parent;   /* the run above it, or NULL */
    bool with_command;    /* the whole command line, which may have secrets in it */
    bool with_params;     /* command, host and settings as parameters */
    bool with_artifact;   /* the summary as a file */
    bool ends_run;        /* toll made it */
};

/* The body that makes the run, without its experiment. */
void mlflow_facts_create(struct buf *body, const struct mlflow_facts *f, const struct run *run);

void mlflow_facts_begin(struct buf *ops, const struct mlflow_facts *f, const struct run *run);

void mlflow_facts_end(struct buf *ops, const struct mlflow_facts *f, const struct summary *summary,
                      const struct selection *selection);

/* The run was made, but the command could not be started. */
void mlflow_facts_nothing_ran(struct buf *ops);

/* ==== Setup (setup.c) ========================================================================= */

/* Puts the URL of the server, without slashes at its end, into sink->place, and opens HTTP with the
 * variables that MLflow's own clients know. */
int mlflow_setup_server(struct sink *s, struct http **ret, struct toll_error *e);

/* The run to join, or the experiment for a new one. by_variable: MLFLOW_RUN_ID counts. */
int mlflow_setup_run(struct sink *s, struct mlflow_client *c, bool by_variable,
                     struct toll_error *e);

/* A part of the names that keeps several tolls in one run apart, or "". */
void mlflow_setup_node(const struct sink *s, bool is_joined, char ret[MLFLOW_ID_BYTES]);

/* Whether a variable makes programs log MLflow's own system metrics. */
bool mlflow_setup_has_monitor(void);

/* Whether MLFLOW_TRACKING_URI names that server, with or without a password. */
bool mlflow_setup_is_known(const struct sink *s);

/* ==== Sink (mlflow.c) ========================================================================= */

struct mlflow {
    struct mlflow_client client; /* used by the sender's thread, once there is one */
    struct mlflow_frames frames;
    struct mlflow_facts facts;
    bool has_begun;
    bool run_in_spool;   /* the spool file has the ID of the run */
    unsigned looks_left; /* at a run that is joined, for MLflow's own system metrics in it */
    char node[MLFLOW_ID_BYTES];
    struct buf variables[2]; /* for the command */
    const char *environment[3];
};
