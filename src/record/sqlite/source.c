/* SPDX-License-Identifier: MIT */
#include "record/sqlite/source.h"

#include "record/sqlite/lines.h"
#include "record/sqlite/schema.h"
#include "record/write.h"

enum { BUSY_MS = 10000 };

struct sqlite_source {
    struct sqlite *db;
    char *path;                    /* owned */
    struct sqlite_statement *runs; /* of which one is there while in_run */
    struct sqlite_statement *figures;
    bool in_run, has_selection;
    bool is_over; /* there is no run any more */
    int64_t run;
    int64_t last_tick; /* of a run that has ended; -1: it has not */
    struct {
        struct sqlite_statement *statement;
        bool is_there;
        int64_t seq; /* of the row that is there */
    } streams[STREAMS];
    int between, gpu_count; /* columns of a sample, -1: a file from before them */
    struct sqlite_figures process_figures;
    struct sqlite_samples samples;
    struct selection selection;
    struct buf line;
};

/* ---- Opening --------------------------------------------------------------------------------- */

static int sqlite_source_check_owner(const char *path, struct toll_error *e)
{
    int64_t application = 0, version = 0;
    int r = sqlite_schema_peek(path, &application, &version, e);
    return r == 0 ? sqlite_schema_is_ours(path, application, version, e) : r;
}

static int sqlite_source_prepare(struct sqlite_source *s, struct toll_error *e)
{
    /* One state of the file, whoever writes to it meanwhile. */
    int r = sqlite_run(s->db, "BEGIN", e);
    if (r == 0)
        r = sqlite_schema_check_kinds(s->db, e);
    if (r == 0)
        r = sqlite_prepare(&s->runs, s->db,
                           "SELECT run, facts, summary, (SELECT max(tick) FROM samples s WHERE "
                           "s.run = runs.run) FROM runs WHERE run > ?1 ORDER BY run",
                           e);
    if (r == 0)
        r = sqlite_prepare(&s->figures, s->db,
                           "SELECT entity, metric FROM summary WHERE run = ?1 AND entity <= ?2", e);
    for (unsigned i = 0; i < STREAMS && r == 0; i++)
        r = sqlite_prepare(&s->streams[i].statement, s->db, sqlite_lines_question(i), e);
    if (r == 0)
        r = sqlite_samples_init(&s->samples, s->db, e);
    if (r < 0)
        return r;
    const struct sqlite_statement *samples = s->streams[STREAM_SAMPLES].statement;
    s->between = sqlite_column_called(samples, "for_mark", SAMPLE_ALL);
    s->gpu_count = sqlite_column_called(samples, "gpu_count", SAMPLE_ALL);
    sqlite_lines_figures(&s->process_figures, s->streams[STREAM_PROCESSES].statement);
    sqlite_bind_i64(s->runs, 1, INT64_MIN);
    return 0;
}

int sqlite_source_open(struct sqlite_source **ret, const char *path, struct toll_error *e)
{
    int r = sqlite_source_check_owner(path, e);
    if (r < 0)
        return r == -EBADMSG ? 0 : r;
    struct sqlite_source *s = calloc(1, sizeof *s);
    if (!s || !(s->path = strdup(path))) {
        free(s);
        return err_set(e, -ENOMEM, "no memory to read a record");
    }
    r = sqlite_open(&s->db, path, SQLITE_MODE_READ, BUSY_MS, e);
    if (r == 0)
        r = sqlite_source_prepare(s, e);
    if (r < 0) {
        sqlite_source_close(s);
        return r;
    }
    *ret = s;
    return 1;
}

void sqlite_source_close(struct sqlite_source *s)
{
    if (!s)
        return;
    sqlite_samples_done(&s->samples);
    for (unsigned i = 0; i < STREAMS; i++)
        sqlite_end(s->streams[i].statement);
    sqlite_end(s->figures);
    sqlite_end(s->runs);
    sqlite_close(s->db);
    buf_done(&s->line);
    free(s->path);
    free(s);
}

uint64_t sqlite_source_run(const struct sqlite_source *s)
{
    return (uint64_t)s->run;
}

/* ---- Runs ------------------------------------------------------------------------------------ */

/* An object of the file with what a line has before it. */
static void add_object(struct sqlite_source *s, const char *type, const char *schema, int at)
{
    size_t length;
    const char *text = sqlite_column_text(s->runs, at, &length);
    buf_printf(&s->line, "{\"type\":\"%s\",\"schema\":\"%s\",", type, schema);
    buf_add(&s->line, text + (length > 0), length - (length > 0));
}

static int step_stream(struct sqlite_source *s, unsigned i, struct toll_error *e)
{
    int r = sqlite_step(s->streams[i].statement, e);
    s->streams[i].is_there = r > 0;
    if (r > 0)
        s->streams[i].seq = sqlite_column_i64(s->streams[i].statement, 0);
    return r < 0 ? r : 0;
}

/* Whether the summary is of a run that was there to its end. In a string of JSON the quotes of the
 * key would have backslashes before them. */
static bool has_end(const struct sqlite_source *s)
{
    static const char cut_short[] = "\"cut_short\":true";
    size_t length;
    const char *summary = sqlite_column_text(s->runs, 2, &length);
    return summary && !memmem(summary, length, cut_short, sizeof cut_short - 1);
}

static int sqlite_source_begin_run(struct sqlite_source *s, struct toll_error *e)
{
    int r = s->is_over ? 0 : sqlite_step(s->runs, e);
    s->is_over = r == 0;
    if (r <= 0)
        return r;
    bool has_ended = sqlite_column_type(s->runs, 2) != SQLITE_IS_NULL && has_end(s) &&
                     sqlite_column_type(s->runs, 3) != SQLITE_IS_NULL;
    s->run = sqlite_column_i64(s->runs, 0);
    s->last_tick = has_ended ? sqlite_column_i64(s->runs, 3) : -1;
    s->in_run = true;
    s->has_selection = false;
    add_object(s, "run", RECORD_SCHEMA, 1);
    for (unsigned i = 0; i < STREAMS && r >= 0; i++) {
        sqlite_bind_i64(s->streams[i].statement, 1, s->run);
        r = step_stream(s, i, e);
    }
    return r < 0 ? r : 1;
}

/* 1: the run has a summary. Without one the next run follows. */
static int sqlite_source_end_run(struct sqlite_source *s)
{
    s->in_run = false;
    if (sqlite_column_type(s->runs, 2) == SQLITE_IS_NULL)
        return 0;
    add_object(s, "summary", SUMMARY_SCHEMA, 2);
    return 1;
}

/* ---- What a run has figures of --------------------------------------------------------------- */

static uint64_t sqlite_source_metric_called(enum entity_kind kind, const char *name)
{
    for (unsigned i = 0; i < metric_count(kind); i++)
        if (strcmp(metric_of(metric_first(kind) + i)->facts.name, name) == 0)
            return BIT(i);
    return 0;
}

/* A summary has a row for each figure that was read, also for those that nobody could tell. What a
 * machine has nothing for was left out of all parts, and what is of the whole alone of the others
 * and of single processes. */
static void sqlite_source_narrow(struct selection *s, const uint64_t found[SQLITE_ENTITY_SELF + 1])
{
    uint64_t combined = found[SQLITE_ENTITY_COMBINED], self = found[SQLITE_ENTITY_SELF];
    uint64_t left_out = combined ? s->parts[PART_COMBINED] & ~combined : 0;
    for (unsigned part = 0; part < PARTS; part++) {
        uint64_t own = found[SQLITE_ENTITY_COMBINED + part];
        left_out |= own && part == PART_MAIN ? s->parts[part] & ~own : 0;
        s->parts[part] &= own ? own : ~left_out;
    }
    s->of[ENTITY_PROCESS] &= ~left_out;
    if (self)
        s->of[ENTITY_SELF] &= self;
}

/* What was asked for, as far as the summary has it: in the tables both what was not read and what
 * is unknown are NULL. */
static int sqlite_source_choose_metrics(struct sqlite_source *s, const struct run *run,
                                        struct toll_error *e)
{
    uint64_t found[SQLITE_ENTITY_SELF + 1] = {0};
    size_t length;
    int r = 0;
    if (selection_parse(&s->selection, run->metrics, NULL) < 0)
        r = selection_parse(&s->selection, NULL, e); /* of a later version: whatever is there */
    if (r < 0)
        return r;
    sqlite_bind_i64(s->figures, 1, s->run);
    sqlite_bind_i64(s->figures, 2, SQLITE_ENTITY_SELF);
    while ((r = sqlite_step(s->figures, e)) > 0) {
        int64_t entity = sqlite_column_i64(s->figures, 0);
        enum entity_kind kind = entity == SQLITE_ENTITY_SELF ? ENTITY_SELF : ENTITY_TARGET;
        if (entity >= SQLITE_ENTITY_COMBINED)
            found[entity] |= sqlite_source_metric_called(
                kind, sqlite_column_text(s->figures, 1, &length));
    }
    sqlite_source_narrow(&s->selection, found);
    s->has_selection = true;
    return r;
}

/* ---- Lines of a run -------------------------------------------------------------------------- */

static bool take_sample(const struct sqlite_source *s, const struct sqlite_statement *st,
                        struct sqlite_sample *ret)
{
    const struct {
        int at;
        bool may_be_null;
        uint64_t *value;
    } columns[] = {
        {SAMPLE_TICK, false, &ret->tick},          {SAMPLE_TIME, false, &ret->time_ns},
        {SAMPLE_ELAPSED, false, &ret->elapsed_ns}, {SAMPLE_INTERVAL, false, &ret->interval_ns},
        {s->between, true, &ret->is_between},      {s->gpu_count, true, &ret->gpu_count},
    };
    for (size_t i = 0; i < ARRAY_LEN(columns); i++) {
        bool is_null = columns[i].at < 0 || sqlite_column_type(st, columns[i].at) == SQLITE_IS_NULL;
        if (!(is_null && columns[i].may_be_null) &&
            !sqlite_column_u64(st, columns[i].at, columns[i].value))
            return false;
    }
    return true;
}

static int sqlite_source_add_sample(struct sqlite_source *s, const struct run *run,
                                    struct toll_error *e)
{
    const struct sqlite_statement *st = s->streams[STREAM_SAMPLES].statement;
    struct sqlite_sample sample = {.run = s->run, .facts = run, .selection = &s->selection};
    if (!take_sample(s, st, &sample))
        return err_set(e, -EBADMSG, "'%s': run %lld has a sample whose tick or time is no number",
                       s->path, (long long)s->run);
    sample.is_last = s->last_tick >= 0 && sample.tick == (uint64_t)s->last_tick;
    return sqlite_samples_add(&s->samples, &s->line, &sample, e);
}

static int sqlite_source_add_line(struct sqlite_source *s, unsigned stream, const struct run *run,
                                  struct toll_error *e)
{
    int r = s->has_selection ? 0 : sqlite_source_choose_metrics(s, run, e);
    if (r == 0 && stream == STREAM_SAMPLES)
        r = sqlite_source_add_sample(s, run, e);
    else if (r == 0 && !sqlite_lines_add(&s->line, stream, s->streams[stream].statement,
                                         &s->process_figures, &s->selection))
        r = err_set(e, -EBADMSG,
                    "'%s': a figure of a process in run %lld is below zero, or no number", s->path,
                    (long long)s->run);
    return r < 0 ? r : step_stream(s, stream, e);
}

/* Whose row was told first, or STREAMS at the end of the run. */
static unsigned next_stream(const struct sqlite_source *s)
{
    unsigned first = STREAMS;
    for (unsigned i = 0; i < STREAMS; i++)
        if (s->streams[i].is_there &&
            (first == STREAMS || s->streams[i].seq < s->streams[first].seq))
            first = i;
    return first;
}

int sqlite_source_next(struct sqlite_source *s, const struct run *run, const char **ret,
                       size_t *ret_length, struct toll_error *e)
{
    int r = 0;
    buf_clear(&s->line);
    if (s->in_run) {
        unsigned stream = next_stream(s);
        r = stream == STREAMS ? sqlite_source_end_run(s)
                              : sqlite_source_add_line(s, stream, run, e);
        if (r < 0)
            return r;
    }
    if (!s->line.length) {
        r = sqlite_source_begin_run(s, e);
        if (r <= 0)
            return r;
    }
    if (buf_failed(&s->line))
        return err_set(e, -ENOMEM, "no memory to read '%s'", s->path);
    *ret = s->line.data;
    *ret_length = s->line.length;
    return 1;
}
