/* SPDX-License-Identifier: MIT */
#include "sink/sqlite_tables.h"

#include "sink/sqlite_schema.h"

#define WHOLE "INTEGER NOT NULL"
#define TEXT  "TEXT NOT NULL"

/* By the numbers of their statements. */
static const struct sqlite_table tables[] = {
    [STATEMENT_ENTITY] = {"entities",
                          1,
                          {{"entity", WHOLE},
                           {"kind", TEXT},
                           {"part", TEXT},
                           {"name", TEXT},
                           {"pid", "INTEGER"},
                           {"parent", "INTEGER"},
                           {"start_ticks", "INTEGER"},
                           {"targets", "TEXT"},
                           {"labels", "TEXT"}}},
    [STATEMENT_SAMPLE] = {"samples",
                          1,
                          {{"tick", WHOLE},
                           {"seq", WHOLE},
                           {"time_ns", WHOLE},
                           {"elapsed_ns", WHOLE},
                           {"interval_ns", WHOLE},
                           {"for_mark", "INTEGER"},
                           {"gpu_count", "INTEGER"}}},
    [STATEMENT_PROCESS] = {"processes",
                           1,
                           {{"seq", WHOLE},
                            {"elapsed_ns", WHOLE},
                            {"how", TEXT},
                            {"status", "TEXT"},
                            {"code", "INTEGER"},
                            {"signal", "INTEGER"},
                            {"core_dumped", "INTEGER"},
                            {"oom_killed", "INTEGER"},
                            {"timed_out", "INTEGER"},
                            {"pid", WHOLE},
                            {"parent", WHOLE},
                            {"start_ticks", WHOLE},
                            {"name", TEXT},
                            {"targets", "TEXT"},
                            {"lower_bound", "TEXT"}}},
    [STATEMENT_PHASE] = {"phases",
                         1,
                         {{"seq", WHOLE},
                          {"elapsed_ns", WHOLE},
                          {"name", TEXT},
                          {"pid", WHOLE},
                          {"begin_ns", WHOLE},
                          {"end_ns", WHOLE},
                          {"ended", WHOLE},
                          {"whose", TEXT},
                          {"looks", WHOLE},
                          {"attributes", TEXT},
                          {"figures", TEXT}}},
    [STATEMENT_EVENT] = {"events",
                         1,
                         {{"seq", WHOLE},
                          {"elapsed_ns", WHOLE},
                          {"name", TEXT},
                          {"pid", WHOLE},
                          {"attributes", TEXT}}},
    [STATEMENT_GAUGE] = {"gauges",
                         1,
                         {{"seq", WHOLE},
                          {"elapsed_ns", WHOLE},
                          {"name", TEXT},
                          {"pid", WHOLE},
                          {"value", "REAL NOT NULL"}}},
    [STATEMENT_NOTE] = {"notes", 1, {{"seq", WHOLE}, {"elapsed_ns", WHOLE}, {"sentence", TEXT}}},
    [STATEMENT_FIGURE] = {"summary",
                          2,
                          {{"entity", WHOLE},
                           {"metric", TEXT},
                           {"total", "ANY"},
                           {"last", "ANY"},
                           {"mean", "REAL"},
                           {"min", "REAL"},
                           {"max", "REAL"},
                           {"max_at_ns", "INTEGER"},
                           {"p50", "REAL"},
                           {"p90", "REAL"},
                           {"p99", "REAL"},
                           {"quality", "TEXT"},
                           {"means", "TEXT"}}},
    [STATEMENT_ROW] = {"_samples", 2, {{"tick", WHOLE}, {"entity", WHOLE}}},
};

/* … of targets, which end one by one, … */
static const struct sqlite_table target_rows = {
    "_samples",
    2,
    {{"tick", WHOLE}, {"entity", WHOLE}, {"ended", "INTEGER"}, {"lower_bound", "TEXT"}}};

/* … and of processes. */
static const struct sqlite_table process_rows = {
    "_samples", 2, {{"tick", WHOLE}, {"entity", WHOLE}, {"lower_bound", "TEXT"}}};

const struct sqlite_table *sqlite_table(unsigned number)
{
    if (number == STATEMENT_ROW + ENTITY_TARGET)
        return &target_rows;
    if (number == STATEMENT_ROW + ENTITY_PROCESS)
        return &process_rows;
    return &tables[number < STATEMENT_ROW ? number : STATEMENT_ROW];
}
