/* SPDX-License-Identifier: MIT */
#include "record/sqlite_lines.h"

#include "record/sqlite_json.h"
#include "sink/record_json.h"

/* Columns that several have behind seq; each has its own behind them. */
enum { AT_ELAPSED = 1, AT_NAME, AT_PID, AT_ATTRIBUTES, AT_VALUE = AT_ATTRIBUTES };
enum { AT_BEGIN = AT_ATTRIBUTES + 1, AT_END, AT_ENDED, AT_WHOSE, AT_LOOKS, AT_FIGURES };
enum { AT_SENTENCE = 2 };
enum {
    AT_PARENT = 4,
    AT_START,
    AT_TARGETS,
    AT_HOW,
    AT_STATUS,
    AT_CODE,
    AT_SIGNAL,
    AT_CORE_DUMPED,
    AT_OOM_KILLED,
    AT_TIMED_OUT,
    AT_ALL,
};

#define BEHIND(table) " FROM " table " WHERE run = ?1 ORDER BY "

const char *sqlite_lines_question(enum sqlite_stream stream)
{
    static const char *const questions[STREAMS] = {
        [STREAM_SAMPLES] = "SELECT seq, tick, time_ns, elapsed_ns, interval_ns, *" BEHIND(
            "samples") "tick",
        [STREAM_PROCESSES] =
            "SELECT seq, elapsed_ns, name, pid, parent, start_ticks, targets, how, "
            "status, code, signal, core_dumped, oom_killed, timed_out, *" BEHIND("processes") "seq",
        [STREAM_PHASES] = "SELECT seq, elapsed_ns, name, pid, attributes, begin_ns, end_ns, ended, "
                          "whose, looks, figures" BEHIND("phases") "seq",
        [STREAM_EVENTS] = "SELECT seq, elapsed_ns, name, pid, attributes" BEHIND("events") "seq",
        [STREAM_GAUGES] = "SELECT seq, elapsed_ns, name, pid, value" BEHIND("gauges") "seq",
        [STREAM_NOTES] = "SELECT seq, elapsed_ns, sentence" BEHIND("notes") "seq",
    };
    return questions[stream];
}

void sqlite_lines_figures(struct sqlite_figures *ret, const struct sqlite_statement *st)
{
    sqlite_figures_find(ret, st, ENTITY_PROCESS, AT_ALL,
                        "run seq elapsed_ns how status code signal core_dumped oom_killed "
                        "timed_out pid parent start_ticks name targets lower_bound");
}

/* ---- Pieces ---------------------------------------------------------------------------------- */

/* A text, which no line may have there, when it is no time. */
static void add_seconds(struct json_out *j, const char *key, const struct sqlite_statement *st,
                        int at)
{
    uint64_t ns;
    json_key(j, key);
    if (sqlite_column_u64(st, at, &ns))
        json_seconds(j, ns);
    else
        json_string(j, "");
}

static void add_bool(struct json_out *j, const char *key, const struct sqlite_statement *st, int at)
{
    uint64_t yes;
    json_key(j, key);
    if (sqlite_column_u64(st, at, &yes))
        json_bool(j, yes);
    else
        json_string(j, "");
}

/* ---- Lines ----------------------------------------------------------------------------------- */

static void add_end(struct json_out *j, const struct sqlite_statement *st)
{
    json_key(j, "end");
    if (sqlite_column_type(st, AT_STATUS) == SQLITE_IS_NULL) {
        json_null(j);
        return;
    }
    json_object(j);
    sqlite_json_text(j, "status", st, AT_STATUS);
    sqlite_json_value(j, "code", st, AT_CODE);
    sqlite_json_value(j, "signal", st, AT_SIGNAL);
    add_bool(j, "core_dumped", st, AT_CORE_DUMPED);
    add_bool(j, "oom_killed", st, AT_OOM_KILLED);
    add_bool(j, "timed_out", st, AT_TIMED_OUT);
    json_object_end(j);
}

static bool add_process(struct json_out *j, const struct sqlite_statement *st,
                        const struct sqlite_figures *figures, const struct selection *selection)
{
    const char *unknown = sqlite_figures_unknown(figures, st);
    struct row row;
    if (!sqlite_figures_take(figures, st, &row))
        return false;
    sqlite_json_text(j, "left", st, AT_HOW);
    add_end(j, st);
    sqlite_json_value(j, "pid", st, AT_PID);
    sqlite_json_value(j, "parent", st, AT_PARENT);
    sqlite_json_value(j, "start_ticks", st, AT_START);
    sqlite_json_text(j, "name", st, AT_NAME);
    if (sqlite_column_type(st, AT_TARGETS) != SQLITE_IS_NULL)
        sqlite_json_raw(j, "targets", st, AT_TARGETS);
    record_json_row(j, &row, selection->of[ENTITY_PROCESS] & ~metric_fold_mask(FOLD_WHOLE));
    sqlite_json_bounds(j, st, sqlite_column_called(st, "lower_bound", AT_ALL));
    if (unknown) {
        json_key(j, unknown);
        json_null(j);
    }
    return true;
}

static void add_phase(struct json_out *j, const struct sqlite_statement *st)
{
    add_seconds(j, "begin_seconds", st, AT_BEGIN);
    add_seconds(j, "end_seconds", st, AT_END);
    add_bool(j, "ended", st, AT_ENDED);
    sqlite_json_text(j, "of", st, AT_WHOSE);
    sqlite_json_value(j, "looks", st, AT_LOOKS);
    sqlite_json_raw(j, "figures", st, AT_FIGURES);
}

static void add_mark(struct json_out *j, enum sqlite_stream stream,
                     const struct sqlite_statement *st)
{
    sqlite_json_text(j, "name", st, AT_NAME);
    sqlite_json_value(j, "pid", st, AT_PID);
    if (stream == STREAM_GAUGES)
        sqlite_json_value(j, "value", st, AT_VALUE);
    else
        sqlite_json_raw(j, "attributes", st, AT_ATTRIBUTES);
    if (stream == STREAM_PHASES)
        add_phase(j, st);
}

bool sqlite_lines_add(struct buf *b, enum sqlite_stream stream, const struct sqlite_statement *st,
                      const struct sqlite_figures *figures, const struct selection *selection)
{
    static const char *const types[STREAMS] = {
        [STREAM_PROCESSES] = "process", [STREAM_PHASES] = "phase", [STREAM_EVENTS] = "event",
        [STREAM_GAUGES] = "gauge",      [STREAM_NOTES] = "event",
    };
    struct json_out j;
    bool is_good = true;
    json_begin(&j, b, 0);
    json_object(&j);
    json_put_string(&j, "type", types[stream]);
    add_seconds(&j, "elapsed_seconds", st, AT_ELAPSED);
    if (stream == STREAM_PROCESSES) {
        is_good = add_process(&j, st, figures, selection);
    } else if (stream == STREAM_NOTES) {
        json_put_string(&j, "name", "note");
        sqlite_json_text(&j, "text", st, AT_SENTENCE);
    } else {
        add_mark(&j, stream, st);
    }
    json_object_end(&j);
    return is_good;
}
