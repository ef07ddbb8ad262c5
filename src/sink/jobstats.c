/* SPDX-License-Identifier: MIT
 * The string that jobstats keeps in the comment of a job of Slurm: "JS1:", and in base64 of gzip
 *
 *   {"nodes": {"node12": {
 *      "cpus": 4,
 *      "total_memory": 8589934592,       what the job may use, bytes
 *      "used_memory": 3221225472,        at most
 *      "total_time": 120.5,              of its CPUs, seconds
 *      "gpu_total_memory": {"0": …}, "gpu_used_memory": {"0": …}, "gpu_utilization": {"0": 87.5}
 *    }},
 *    "total_time": 60.1,                 wall time
 *    "gpus": 1}
 *
 * A figure that is not known is missing. "JS1:None" is the word for a job without figures. */
#include "base/text/encoding.h"
#include "base/text/json.h"
#include "sink/sink.h"

#include <math.h>
#include <stdio.h>

static void jobstats_put(struct json_out *j, const char *key, double value, unsigned decimals)
{
    struct buf text = {0};
    if (isnan(value))
        return;
    buf_double_fixed(&text, value, decimals);
    json_key(j, key);
    json_raw(j, text.data ? text.data : "null", text.data ? text.length : 4);
    j->buf->failed |= buf_failed(&text);
    buf_done(&text);
}

/* One figure of every GPU, by its number. */
static void jobstats_put_gpus(struct json_out *j, const struct summary *s, const char *key,
                              enum metric_id id, bool is_mean, double factor)
{
    json_key(j, key);
    json_object(j);
    for (size_t i = 0, number = 0; i < s->instance_count; i++) {
        const struct instance_summary *gpu = &s->instances[i];
        const struct series *series = &gpu->series[id - metric_first(ENTITY_GPU)];
        char name[24];
        if (gpu->instance->entity.kind != ENTITY_GPU)
            continue;
        snprintf(name, sizeof name, "%zu", number++);
        if (series->count)
            jobstats_put(j, name,
                         (is_mean ? series_mean(series, metric_of(id)) : series->max) * factor,
                         is_mean ? 1 : 0);
    }
    json_object_end(j);
}

static void jobstats_add_json(struct buf *b, const struct summary *s)
{
    const struct target_summary *t = &s->whole;
    const struct limit *memory = &t->limits.of[LIMIT_MEMORY_BYTES];
    const struct series *cpu = &t->series[PART_COMBINED][process_cpu_seconds];
    struct memory_peak peak = summary_memory_peak(s, UINT64_MAX);
    size_t gpus = 0;
    for (size_t i = 0; i < s->instance_count; i++)
        gpus += s->instances[i].instance->entity.kind == ENTITY_GPU;
    bool knows_cpu = cpu->count &&
                     t->provenance[PART_COMBINED][process_cpu_seconds].quality != QUALITY_UNKNOWN;
    struct json_out j;
    json_begin(&j, b, 0);
    json_object(&j);
    json_key(&j, "nodes");
    json_object(&j);
    json_key(&j, s->run->host);
    json_object(&j);
    jobstats_put(&j, "cpus", s->run->cpus ? (double)s->run->cpus : (double)NAN, 0);
    jobstats_put(&j, "total_memory",
                 memory->known && !memory->unlimited ? (double)memory->value : (double)NAN, 0);
    jobstats_put(&j, "used_memory", peak.quality == QUALITY_UNKNOWN ? (double)NAN : peak.bytes, 0);
    jobstats_put(&j, "total_time",
                 knows_cpu ? metric_number(metric_of(process_cpu_seconds), cpu->last) : (double)NAN,
                 1);
    if (gpus) {
        jobstats_put_gpus(&j, s, "gpu_total_memory", gpu_memory_total_bytes, false, 1);
        jobstats_put_gpus(&j, s, "gpu_used_memory", gpu_memory_used_bytes, false, 1);
        jobstats_put_gpus(&j, s, "gpu_utilization", gpu_utilization_ratio, true, 100);
    }
    json_object_end(&j);
    json_object_end(&j);
    jobstats_put(&j, "total_time", (double)s->elapsed_ns / 1e9, 1);
    jobstats_put(&j, "gpus", (double)gpus, 0);
    json_object_end(&j);
}

static void jobstats_summary(struct sink *s, const struct summary *summary)
{
    struct gzip *gzip = NULL;
    struct toll_error e = {0};
    struct buf text = {0}, packed = {0};
    jobstats_add_json(&text, summary);
    buf_puts(&s->text, "JS1:");
    if (!summary->has_target || gzip_open(&gzip, &e) < 0)
        buf_puts(&s->text, "None");
    else if (buf_failed(&text) || gzip_pack(gzip, text.data, text.length, &packed) < 0)
        s->text.failed = true;
    else
        base64_add(&s->text, packed.data, packed.length, false);
    buf_putc(&s->text, '\n');
    gzip_close(gzip);
    buf_done(&text);
    buf_done(&packed);
}

const struct sink_kind sink_jobstats = {
    .format = {"jobstats", "", "the summary of a job of Slurm as jobstats keeps it (JS1)", "FILE"},
    .holds_one_run = true,
    .summary = jobstats_summary,
};
