/* SPDX-License-Identifier: MIT */
#include "sink/mlflow/mlflow.h"

#include "base/clock.h"
#include "base/io/http.h"
#include "base/process.h"
#include "record/keys.h"

#include <pwd.h>
#include <stdio.h>
#include <string.h>

/* What older servers accept as a value; what databases have room for as a name of a run. */
enum { TAG_BYTES = 5000, PARAM_BYTES = 500, NAME_BYTES = 250 };

/* A request may have a million bytes: a tag is at most some 30000, should each of its letters have
 * to be escaped. */
enum { TAGS_BYTES = 900000 };

/* elapsed_ns after the start of the run; now, when it has not begun. */
static int64_t mlflow_facts_time_ms(const struct run *run, uint64_t elapsed_ns)
{
    uint64_t start_ns = run ? run->start_real_ns : 0;
    return (int64_t)((start_ns ? start_ns + elapsed_ns : clock_real(NULL)) / NS_PER_MS);
}

static void mlflow_add_pair(struct json_out *j, const char *key, const char *value, size_t most)
{
    json_object(j);
    json_put_string(j, "key", key);
    json_key(j, "value");
    json_string_n(j, value, min_u64(strlen(value), most));
    json_object_end(j);
}

enum { USER_BYTES = 1024 };

static const char *mlflow_facts_user(char room[USER_BYTES])
{
    static const char *const names[] = {"LOGNAME", "USER"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        const char *name = getenv(names[i]);
        if (name && *name)
            return name;
    }
    struct passwd entry, *found = NULL;
    if (getpwuid_r(geteuid(), &entry, room, USER_BYTES, &found) == 0 && found && *found->pw_name)
        return found->pw_name;
    snprintf(room, USER_BYTES, "%u", (unsigned)geteuid());
    return room;
}

/* Without its directories, which may contain the name of a user. */
static const char *mlflow_facts_program(const struct run *run)
{
    const char *program = run->command && run->command[0] ? run->command[0] : "toll";
    const char *slash = strrchr(program, '/');
    return slash && slash[1] ? slash + 1 : program;
}

void mlflow_facts_create(struct buf *body, const struct mlflow_facts *f, const struct run *run)
{
    struct json_out j;
    char room[USER_BYTES], name[NAME_BYTES + 1];
    const char *program = mlflow_facts_program(run);
    snprintf(name, sizeof name, "%s", f->run_name ? f->run_name : run->name ? run->name : program);
    json_begin(&j, body, 0);
    json_object(&j);
    json_put_string(&j, "run_name", name);
    json_put_i64(&j, "start_time", mlflow_facts_time_ms(run, 0));
    json_put_array(&j, "tags");
    mlflow_add_pair(&j, "mlflow.runName", name, TAG_BYTES);
    mlflow_add_pair(&j, "mlflow.user", mlflow_facts_user(room), TAG_BYTES);
    mlflow_add_pair(&j, "mlflow.source.name", program, TAG_BYTES);
    mlflow_add_pair(&j, "mlflow.source.type", "LOCAL", TAG_BYTES);
    mlflow_add_pair(&j, "toll.output_id", f->id, TAG_BYTES);
    if (f->parent)
        mlflow_add_pair(&j, MLFLOW_PARENT_TAG, f->parent, TAG_BYTES);
    json_array_end(&j);
    json_object_end(&j);
}

/* ---- Tags and parameters --------------------------------------------------------------------- */

/* A request with tags or with parameters. */
struct mlflow_pairs {
    struct buf *ops;
    const char *name; /* "tags", "params" */
    enum spool_op_kind kind;
    const char *node;
    struct buf body;
    struct json_out json;
    size_t count;
};

static void mlflow_pairs_end(struct mlflow_pairs *p)
{
    if (p->count) {
        json_array_end(&p->json);
        json_object_end(&p->json);
        p->ops->failed |= buf_failed(&p->body);
        spool_op_add(p->ops, p->kind, "", p->body.data, p->body.length);
    }
    p->count = 0;
    buf_done(&p->body);
}

/* before: "toll." for toll's own, "" for those of the user. The node keeps several tolls in one run
 * apart. All parameters are one request, since they are refused together. */
static void mlflow_pairs_add(struct mlflow_pairs *p, const char *before, const char *name,
                             const char *value)
{
    struct buf raw = {0}, key = {0};
    bool is_tag = p->kind == SPOOL_BATCH;
    if (!p->count) {
        json_begin(&p->json, &p->body, 0);
        json_object(&p->json);
        json_put_array(&p->json, p->name);
    }
    buf_printf(&raw, "%s%s%s", before, p->node, name);
    mlflow_key(&key, buf_failed(&raw) ? "" : raw.data);
    p->ops->failed |= buf_failed(&key);
    mlflow_add_pair(&p->json, key.data ? key.data : "", value, is_tag ? TAG_BYTES : PARAM_BYTES);
    buf_done(&raw);
    buf_done(&key);
    if ((++p->count == MLFLOW_TAGS_AT_MOST || p->body.length > TAGS_BYTES) && is_tag)
        mlflow_pairs_end(p);
}

static void mlflow_facts_add_command(struct buf *line, const struct run *run)
{
    for (char **arg = run->command; arg && *arg; arg++)
        buf_printf(line, "%s%s", line->length ? " " : "", *arg);
}

/* Command, host and settings, by which runs are compared. A parameter can be written only once, so
 * results are metrics and tags. */
static void mlflow_facts_add_params(struct buf *ops, const struct mlflow_facts *f,
                                    const struct run *run)
{
    struct mlflow_pairs p = {.ops = ops, .name = "params", .kind = SPOOL_PARAMS, .node = f->node};
    struct buf command = {0};
    char number[32];
    if (f->with_command)
        mlflow_facts_add_command(&command, run);
    if (run->command)
        mlflow_pairs_add(&p, "toll.", "command",
                         command.length && !buf_failed(&command) ? command.data
                                                                 : mlflow_facts_program(run));
    for (size_t i = 0; i < run->target_count; i++) {
        snprintf(number, sizeof number, i ? "target_%zu" : "target", i + 1);
        mlflow_pairs_add(&p, "toll.", number, run->targets[i].what);
    }
    mlflow_pairs_add(&p, "toll.", "host", run->host);
    mlflow_pairs_add(&p, "toll.", "kernel", run->kernel);
    if (run->cpus) {
        snprintf(number, sizeof number, "%u", run->cpus);
        mlflow_pairs_add(&p, "toll.", "cpus", number);
    }
    snprintf(number, sizeof number, "%g", (double)run->interval_ns / 1e9);
    mlflow_pairs_add(&p, "toll.", "interval_seconds", run->interval_ns ? number : "auto");
    mlflow_pairs_add(&p, "toll.", "metrics", run->metrics ? run->metrics : "all");
    mlflow_pairs_add(&p, "toll.", "system", run->system ? "yes" : "no");
    mlflow_pairs_add(&p, "toll.", "network", run->network ? "yes" : "no");
    mlflow_pairs_add(&p, "toll.", "reads_gpus", run->gpus ? "yes" : "no");
    mlflow_pairs_add(&p, "toll.", "children", run->no_children ? "no" : "yes");
    mlflow_pairs_add(&p, "toll.", "since_start", run->since_start ? "yes" : "no");
    mlflow_pairs_end(&p);
    buf_done(&command);
}

/* ---- The beginning --------------------------------------------------------------------------- */

void mlflow_facts_begin(struct buf *ops, const struct mlflow_facts *f, const struct run *run)
{
    struct mlflow_pairs tags = {.ops = ops, .name = "tags", .kind = SPOOL_BATCH, .node = f->node};
    struct buf command = {0};
    mlflow_pairs_add(&tags, "toll.", "version", TOLL_VERSION);
    if (*run->id)
        mlflow_pairs_add(&tags, "toll.", "id", run->id);
    mlflow_pairs_add(&tags, "toll.", "host", run->host);
    const struct parallel *place = &run->parallel;
    const char *const of_job[][2] = {{"job_id", run->job.id},
                                     {"array_index", run->job.array_index},
                                     {"rank", place->rank},
                                     {"local_rank", place->local_rank},
                                     {"world_size", place->world_size},
                                     {"launcher", place->launcher},
                                     {"launch", place->launch}};
    for (size_t i = 0; i < ARRAY_LEN(of_job); i++)
        if (*of_job[i][1])
            mlflow_pairs_add(&tags, "toll.", of_job[i][0], of_job[i][1]);
    if (f->with_command)
        mlflow_facts_add_command(&command, run);
    if (command.length && !buf_failed(&command))
        mlflow_pairs_add(&tags, "toll.", "command", command.data);
    buf_done(&command);
    for (char **label = run->labels; label && *label; label++) {
        const char *equals = strchr(*label, '=');
        char *name = equals && equals > *label ? strndup(*label, (size_t)(equals - *label)) : NULL;
        if (name)
            mlflow_pairs_add(&tags, "", name, equals + 1);
        free(name);
    }
    mlflow_pairs_end(&tags);
    if (f->with_params)
        mlflow_facts_add_params(ops, f, run);
}

/* ---- The end --------------------------------------------------------------------------------- */

static void mlflow_facts_put_metric(struct mlflow_metrics *m, const struct mlflow_facts *f,
                                    const char *name, const char *suffix, double value,
                                    int64_t time_ms)
{
    struct buf raw = {0}, key = {0};
    buf_printf(&raw, "toll/%s%s%s", f->node, name, suffix);
    mlflow_key(&key, buf_failed(&raw) ? "" : raw.data);
    if (!buf_failed(&key))
        mlflow_metrics_add(m, key.data, value, time_ms, 0);
    buf_done(&raw);
    buf_done(&key);
}

/* What all phases of each name took and used, as far as known. */
static void mlflow_facts_put_phases(struct mlflow_metrics *m, const struct mlflow_facts *f,
                                    const struct summary *summary, uint64_t selected,
                                    int64_t time_ms)
{
    const struct mark_totals *marks = &summary->marks;
    struct buf name = {0};
    for (size_t i = 0; i < marks->phase_count; i++) {
        const struct phase_total *p = &marks->phases[i];
        buf_clear(&name);
        buf_printf(&name, MLFLOW_PHASE_PREFIX "%s/", p->name);
        if (buf_failed(&name))
            break;
        mlflow_facts_put_metric(m, f, name.data, "count", (double)p->count, time_ms);
        mlflow_facts_put_metric(m, f, name.data, "total_seconds", (double)p->total_ns / 1e9,
                                time_ms);
        mlflow_facts_put_metric(m, f, name.data, "max_seconds", (double)p->max_ns / 1e9, time_ms);
        FOR_EACH_BIT(id, selected)
        {
            const struct metric *metric = metric_of(id);
            struct phase_figure figure = phase_total_figure(p, id);
            char stem[96];
            if (!phase_figures_has(metric) || figure.quality == QUALITY_UNKNOWN)
                continue;
            if (metric->kind == METRIC_COUNTER) {
                mlflow_facts_put_metric(m, f, name.data, metric->facts.name, figure.total, time_ms);
                continue;
            }
            snprintf(stem, sizeof stem, "%s_mean", metric->facts.name);
            mlflow_facts_put_metric(m, f, name.data, stem, figure.mean, time_ms);
            snprintf(stem, sizeof stem, "%s_max", metric->facts.name);
            if (figure.max >= 0)
                mlflow_facts_put_metric(m, f, name.data, stem, figure.max, time_ms);
        }
    }
    m->ops->failed |= buf_failed(&name);
    buf_done(&name);
}

/* The total of a counter, the mean and the maximum of a gauge. */
static void mlflow_facts_put_figures(struct buf *ops, const struct mlflow_facts *f,
                                     const struct summary *summary, uint64_t selected,
                                     int64_t time_ms)
{
    struct mlflow_metrics m = {.ops = ops};
    mlflow_facts_put_metric(&m, f, "run_seconds", "", (double)summary->elapsed_ns / 1e9, time_ms);
    FOR_EACH_BIT(id, summary->has_target ? selected : 0)
    {
        const struct metric *metric = metric_of(id);
        const struct series *s = &summary->whole.series[PART_COMBINED][id];
        const char *name = metric->facts.name;
        if (summary->whole.provenance[PART_COMBINED][id].quality == QUALITY_UNKNOWN)
            continue;
        if (metric->kind == METRIC_COUNTER) {
            mlflow_facts_put_metric(&m, f, name, "", metric_number(metric, s->last), time_ms);
            continue;
        }
        if (s->observed_ns)
            mlflow_facts_put_metric(&m, f, name, "_mean", series_mean(s, metric), time_ms);
        if (s->count)
            mlflow_facts_put_metric(&m, f, name, "_max", s->max, time_ms);
    }
    mlflow_facts_put_phases(&m, f, summary, selected, time_ms);
    mlflow_metrics_end(&m);
}

/* The document of -o FILE.json, without the arguments of the command unless with_command. */
static void mlflow_facts_put_document(struct buf *ops, const struct mlflow_facts *f,
                                      const struct summary *summary,
                                      const struct selection *selection)
{
    struct buf text = {0}, name = {0};
    struct json_out j;
    struct run brief = *summary->run;
    char *command[] = {brief.command ? brief.command[0] : NULL, NULL};
    struct summary *copy = malloc(sizeof *copy);
    if (!copy) {
        ops->failed = true;
        return;
    }
    if (!f->with_command && brief.command)
        brief.command = command;
    *copy = *summary;
    copy->run = &brief;
    json_begin(&j, &text, 2);
    json_object(&j);
    json_put_string(&j, "schema", "toll.summary/1");
    record_json_summary(&j, copy, selection);
    json_object_end(&j);
    buf_putc(&text, '\n');
    buf_puts(&name, "toll/");
    url_encode(&name, f->node, strlen(f->node), "/");
    buf_puts(&name, "summary.json");
    if (buf_failed(&text) || buf_failed(&name))
        ops->failed = true;
    else
        spool_op_add(ops, SPOOL_ARTIFACT, name.data, text.data, text.length);
    buf_done(&text);
    buf_done(&name);
    free(copy);
}

static void mlflow_facts_put_status(struct buf *ops, const char *status, int64_t time_ms)
{
    struct buf body = {0};
    buf_printf(&body, "{\"status\":\"%s\",\"end_time\":%lld}", status, (long long)time_ms);
    if (buf_failed(&body))
        ops->failed = true;
    else
        spool_op_add(ops, SPOOL_UPDATE, "", body.data, body.length);
    buf_done(&body);
}

void mlflow_facts_end(struct buf *ops, const struct mlflow_facts *f, const struct summary *summary,
                      const struct selection *selection)
{
    struct mlflow_pairs tags = {.ops = ops, .name = "tags", .kind = SPOOL_BATCH, .node = f->node};
    int64_t time_ms = mlflow_facts_time_ms(summary->run, summary->elapsed_ns);
    const struct toll_end *end = &summary->whole.end;
    const char *status = "FINISHED"; /* also when it still runs, or its status is unknown */
    if (end->ended && !end->unknown) {
        char text[32];
        const char *signal = end->signaled ? signal_name(end->status) : NULL;
        snprintf(text, sizeof text, "%d", end->status);
        if (signal)
            snprintf(text, sizeof text, "SIG%s", signal);
        mlflow_pairs_add(&tags, "toll.", end->signaled ? "exit_signal" : "exit_code", text);
        if (end->oom_killed)
            mlflow_pairs_add(&tags, "toll.", "oom_killed", "true");
        if (end->timed_out)
            mlflow_pairs_add(&tags, "toll.", "timed_out", "true");
        status = end->signaled || end->timed_out ? "KILLED" : end->status ? "FAILED" : "FINISHED";
    }
    mlflow_pairs_end(&tags);
    mlflow_facts_put_figures(ops, f, summary, selection->parts[PART_COMBINED], time_ms);
    if (f->ends_run)
        mlflow_facts_put_status(ops, status, time_ms);
    if (f->with_artifact) /* last: a server that has trouble with files holds up nothing else */
        mlflow_facts_put_document(ops, f, summary, selection);
}

void mlflow_facts_nothing_ran(struct buf *ops)
{
    mlflow_facts_put_status(ops, "FAILED", mlflow_facts_time_ms(NULL, 0));
}
