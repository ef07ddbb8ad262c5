/* SPDX-License-Identifier: MIT
 *
 *   {
 *     "results": [
 *       {
 *         "command": "sleep 0.1",
 *         "mean": 0.1032,
 *         "stddev": 0.0015,            null: one run
 *         "median": 0.1030,
 *         "user": 0.0012,              means
 *         "system": 0.0011,
 *         "min": 0.1018,
 *         "max": 0.1059,
 *         "times": [0.1018, …],
 *         "memory_usage_byte": [1793024, …],
 *         "exit_codes": [0, …],
 *         "parameters": {"threads": "4"}
 *       }
 *     ]
 *   } */
#include "study/study.h"

#include "base/text/json.h"
#include "layout/layout.h"
#include "sink/words.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

/* Readers of the file tell 0 from 0.0. */
static void hyperfine_put_float(struct json_out *j, double value)
{
    struct buf text = {0};
    python_float(&text, value); /* "null" when it is not known */
    if (!buf_failed(&text))
        json_raw(j, text.data, text.length);
    j->buf->failed |= buf_failed(&text);
    buf_done(&text);
}

static void hyperfine_put(struct json_out *j, const char *key, double value)
{
    json_key(j, key);
    hyperfine_put_float(j, value);
}

/* Of a figure that some runs may lack; NAN when all do. */
static double hyperfine_mean(const struct hyperfine_result *r, size_t at)
{
    double sum = 0;
    size_t known = 0;
    for (size_t i = 0; i < r->count; i++) {
        double value = *(const double *)((const char *)&r->runs[i] + at);
        if (isnan(value))
            continue;
        sum += value;
        known++;
    }
    return known ? sum / (double)known : (double)NAN;
}

static void hyperfine_write_result(struct json_out *j, const struct hyperfine_result *r)
{
    bool has_memory = false;
    for (size_t i = 0; i < r->count; i++)
        has_memory |= !isnan(r->runs[i].memory_bytes);
    json_object(j);
    struct sink command = {0};
    text_command(&command, r->command);
    json_put_string(j, "command", command.text.data ? command.text.data : "");
    j->buf->failed |= buf_failed(&command.text);
    buf_done(&command.text);
    hyperfine_put(j, "mean", r->mean);
    hyperfine_put(j, "stddev", r->sd);
    hyperfine_put(j, "median", r->median);
    hyperfine_put(j, "user", hyperfine_mean(r, offsetof(struct hyperfine_run, user_seconds)));
    hyperfine_put(j, "system", hyperfine_mean(r, offsetof(struct hyperfine_run, system_seconds)));
    hyperfine_put(j, "min", r->min);
    hyperfine_put(j, "max", r->max);
    json_put_array(j, "times");
    for (size_t i = 0; i < r->count; i++)
        hyperfine_put_float(j, r->runs[i].wall_seconds);
    json_array_end(j);
    if (has_memory) {
        json_put_array(j, "memory_usage_byte");
        for (size_t i = 0; i < r->count; i++)
            if (isnan(r->runs[i].memory_bytes))
                json_null(j);
            else
                json_u64(j, (uint64_t)r->runs[i].memory_bytes);
        json_array_end(j);
    }
    json_put_array(j, "exit_codes");
    for (size_t i = 0; i < r->count; i++)
        if (r->runs[i].status < 0)
            json_null(j);
        else
            json_i64(j, r->runs[i].status);
    json_array_end(j);
    if (r->parameters && *r->parameters) {
        json_put_object(j, "parameters");
        for (char *const *p = r->parameters; *p; p++) {
            size_t length = strcspn(*p, "=");
            char name[128];
            snprintf(name, sizeof name, "%.*s", (int)length, *p);
            json_put_string(j, name, (*p)[length] ? *p + length + 1 : "");
        }
        json_object_end(j);
    }
    json_object_end(j);
}

void hyperfine_write(struct buf *b, const struct hyperfine_result *results, size_t count)
{
    struct json_out j;
    json_begin(&j, b, 2);
    json_object(&j);
    json_put_array(&j, "results");
    for (size_t i = 0; i < count; i++)
        hyperfine_write_result(&j, &results[i]);
    json_array_end(&j);
    json_object_end(&j);
    buf_putc(b, '\n');
}

/* ==== Of one run ============================================================================== */

static double hyperfine_seconds(const struct summary *s, enum metric_id id)
{
    const struct series *series = &s->whole.series[PART_COMBINED][id];
    bool is_known = series->count &&
                    s->whole.provenance[PART_COMBINED][id].quality > QUALITY_LOWER_BOUND;
    return is_known ? metric_number(metric_of(id), series->last) : (double)NAN;
}

static void hyperfine_summary(struct sink *s, const struct summary *summary)
{
    const struct toll_end *end = &summary->whole.end;
    struct memory_peak peak = summary_memory_peak(summary, UINT64_MAX);
    const struct hyperfine_run run = {
        .wall_seconds = (double)summary->elapsed_ns / 1e9,
        .user_seconds = hyperfine_seconds(summary, process_cpu_user_seconds),
        .system_seconds = hyperfine_seconds(summary, process_cpu_system_seconds),
        .memory_bytes = peak.quality > QUALITY_LOWER_BOUND ? peak.bytes : (double)NAN,
        .status = !end->ended || end->unknown ? -1 : end->status + (end->signaled ? 128 : 0),
    };
    double time = run.wall_seconds;
    const struct hyperfine_result result = {
        .command = summary->run->command,
        .runs = &run,
        .count = 1,
        .mean = time,
        .sd = (double)NAN,
        .median = time,
        .min = time,
        .max = time,
    };
    hyperfine_write(&s->text, &result, 1);
}

const struct sink_kind sink_hyperfine = {
    .format = {"hyperfine", "", "times of the runs in the JSON of hyperfine", "FILE"},
    .holds_one_run = true,
    .summary = hyperfine_summary,
};
