/* SPDX-License-Identifier: MIT */
#include "sink/mlflow/mlflow.h"

#include "base/clock.h"
#include "base/io/url.h"
#include "base/process.h"
#include "record/write.h"

#include <pwd.h>
#include <stdio.h>
#include <string.h>

/* What older servers take as a value; what databases have room for as a name of a run. */
enum { TAG_BYTES = 5000, PARAM_BYTES = 500, NAME_BYTES = 250 };

/* A request may have a million bytes: a tag is at most some 30000, should each of its letters have
 * to be escaped. */
enum { TAGS_BYTES = 900000 };

static int64_t mlflow_facts_now_ms(void)
{
    return (int64_t)(clock_real(NULL) / NS_PER_MS);
}

/* Now, or when a record says that it was; before the command is there the run has not begun. */
static int64_t start_ms(const struct run *run)
{
    return run->start_real_ns ? (int64_t)(run->start_real_ns / NS_PER_MS) : mlflow_facts_now_ms();
}

static int64_t end_ms(const struct summary *s)
{
    uint64_t start_ns = s->run->start_real_ns;
    return start_ns ? (int64_t)((start_ns + s->elapsed_ns) / NS_PER_MS) : mlflow_facts_now_ms();
}

static void add_pair(struct json_out *j, const char *key, const char *value, size_t most)
{
    json_object(j);
    json_put_string(j, "key", key);
    json_key(j, "value");
    json_string_n(j, value, min_u64(strlen(value), most));
    json_object_end(j);
}

static void add_tag(struct json_out *j, const char *key, const char *value)
{
    add_pair(j, key, value, TAG_BYTES);
}

enum { USER_BYTES = 1024 };

static const char *own_user(char room[USER_BYTES])
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

/* Without its directories, which may tell who somebody is. */
static const char *program_of(const struct run *run)
{
    const char *program = run->command && run->command[0] ? run->command[0] : "toll";
    const char *slash = strrchr(program, '/');
    return slash && slash[1] ? slash + 1 : program;
}

void mlflow_facts_create(struct buf *body, const struct mlflow_facts *f, const struct run *run)
{
    struct json_out j;
    char room[USER_BYTES], name[NAME_BYTES + 1];
    const char *program = program_of(run);
    snprintf(name, sizeof name, "%s", f->run_name ? f->run_name : run->name ? run->name : program);
    json_begin(&j, body, 0);
    json_object(&j);
    json_put_string(&j, "run_name", name);
    json_put_i64(&j, "start_time", start_ms(run));
    json_key(&j, "tags");
    json_array(&j);
    add_tag(&j, "mlflow.runName", name);
    add_tag(&j, "mlflow.user", own_user(room));
    add_tag(&j, "mlflow.source.name", program);
    add_tag(&j, "mlflow.source.type", "LOCAL");
    add_tag(&j, "toll.output_id", f->id);
    if (f->parent)
        add_tag(&j, MLFLOW_PARENT_TAG, f->parent);
    json_array_end(&j);
    json_object_end(&j);
}

/* ---- Tags in requests of their own ----------------------------------------------------------- */

struct tags {
    struct buf *ops;
    const char *node;
    struct buf body, key;
    struct json_out json;
    size_t count;
};

static void end_tags(struct tags *t)
{
    if (t->count) {
        json_array_end(&t->json);
        json_object_end(&t->json);
        t->ops->failed |= buf_failed(&t->body) || buf_failed(&t->key);
        spool_op_add(t->ops, SPOOL_BATCH, "", t->body.data, t->body.length);
    }
    t->count = 0;
    buf_done(&t->body);
    buf_done(&t->key);
}

/* before: "toll." of what we say, "" of what the user says. Of several in one run, each has its
 * own. */
static void put_tag(struct tags *t, const char *before, const char *name, const char *value)
{
    struct buf raw = {0};
    if (!t->count) {
        json_begin(&t->json, &t->body, 0);
        json_object(&t->json);
        json_key(&t->json, "tags");
        json_array(&t->json);
    }
    buf_printf(&raw, "%s%s%s", before, t->node, name);
    buf_clear(&t->key);
    mlflow_key(&t->key, buf_failed(&raw) ? "" : raw.data);
    buf_done(&raw);
    add_tag(&t->json, t->key.data ? t->key.data : "", value);
    if (++t->count == MLFLOW_TAGS_AT_MOST || t->body.length > TAGS_BYTES)
        end_tags(t);
}

static void add_command(struct buf *line, const struct run *run)
{
    for (char **arg = run->command; arg && *arg; arg++)
        buf_printf(line, "%s%s", line->length ? " " : "", *arg);
}

static void put_command(struct tags *t, const struct run *run)
{
    struct buf line = {0};
    add_command(&line, run);
    if (line.length && !buf_failed(&line))
        put_tag(t, "toll.", "command", line.data);
    buf_done(&line);
}

/* ---- Parameters ------------------------------------------------------------------------------ */

struct params {
    const char *node;
    struct buf body, key;
    struct json_out json;
};

static void put_param(struct params *p, const char *name, const char *value)
{
    struct buf raw = {0};
    buf_printf(&raw, "toll.%s%s", p->node, name);
    buf_clear(&p->key);
    mlflow_key(&p->key, buf_failed(&raw) ? "" : raw.data);
    buf_done(&raw);
    add_pair(&p->json, p->key.data ? p->key.data : "", value, PARAM_BYTES);
}

/* What was run, where, and how it is measured: what runs are compared by. A parameter can be
 * written once only, so results are metrics and tags. */
static void put_params(struct buf *ops, const struct mlflow_facts *f, const struct run *run)
{
    struct params p = {.node = f->node};
    struct buf command = {0};
    char number[32];
    json_begin(&p.json, &p.body, 0);
    json_object(&p.json);
    json_key(&p.json, "params");
    json_array(&p.json);
    if (f->with_command)
        add_command(&command, run);
    if (run->command)
        put_param(&p, "command",
                  command.length && !buf_failed(&command) ? command.data : program_of(run));
    for (size_t i = 0; i < run->target_count; i++) {
        snprintf(number, sizeof number, i ? "target_%zu" : "target", i + 1);
        put_param(&p, number, run->targets[i].what);
    }
    put_param(&p, "host", run->host);
    put_param(&p, "kernel", run->kernel);
    if (run->cpus) {
        snprintf(number, sizeof number, "%u", run->cpus);
        put_param(&p, "cpus", number);
    }
    snprintf(number, sizeof number, "%g", (double)run->interval_ns / 1e9);
    put_param(&p, "interval_seconds", run->interval_ns ? number : "auto");
    put_param(&p, "metrics", run->metrics ? run->metrics : "all");
    put_param(&p, "system", run->system ? "yes" : "no");
    put_param(&p, "network", run->network ? "yes" : "no");
    put_param(&p, "reads_gpus", run->gpus ? "yes" : "no");
    put_param(&p, "children", run->no_children ? "no" : "yes");
    put_param(&p, "since_start", run->since_start ? "yes" : "no");
    json_array_end(&p.json);
    json_object_end(&p.json);
    ops->failed |= buf_failed(&p.body) || buf_failed(&p.key);
    spool_op_add(ops, SPOOL_PARAMS, "", p.body.data, p.body.length);
    buf_done(&p.body);
    buf_done(&p.key);
    buf_done(&command);
}

/* ---- The beginning --------------------------------------------------------------------------- */

static void put_labels(struct tags *t, const struct run *run)
{
    for (char **label = run->labels; label && *label; label++) {
        const char *equals = strchr(*label, '=');
        char *name = equals && equals > *label ? strndup(*label, (size_t)(equals - *label)) : NULL;
        if (name)
            put_tag(t, "", name, equals + 1);
        free(name);
    }
}

void mlflow_facts_begin(struct buf *ops, const struct mlflow_facts *f, const struct run *run)
{
    struct tags t = {.ops = ops, .node = f->node};
    put_tag(&t, "toll.", "version", TOLL_VERSION);
    if (*run->id)
        put_tag(&t, "toll.", "id", run->id);
    put_tag(&t, "toll.", "host", run->host);
    if (f->with_command)
        put_command(&t, run);
    put_labels(&t, run);
    end_tags(&t);
    if (f->with_params)
        put_params(ops, f, run);
}

/* ---- The end --------------------------------------------------------------------------------- */

static void put_end(struct tags *t, const struct toll_end *end)
{
    char text[32];
    if (!end->ended || end->unknown)
        return;
    const char *signal = end->signaled ? signal_name(end->status) : NULL;
    if (signal)
        snprintf(text, sizeof text, "SIG%s", signal);
    else
        snprintf(text, sizeof text, "%d", end->status);
    put_tag(t, "toll.", end->signaled ? "exit_signal" : "exit_code", text);
    if (end->oom_killed)
        put_tag(t, "toll.", "oom_killed", "true");
    if (end->timed_out)
        put_tag(t, "toll.", "timed_out", "true");
}

static void put_metric(struct mlflow_metrics *m, const struct mlflow_facts *f, const char *name,
                       const char *behind, double value, int64_t time_ms)
{
    struct buf raw = {0}, key = {0};
    buf_printf(&raw, "toll/%s%s%s", f->node, name, behind);
    mlflow_key(&key, buf_failed(&raw) ? "" : raw.data);
    if (!buf_failed(&key))
        mlflow_metrics_add(m, key.data, value, time_ms, 0);
    buf_done(&raw);
    buf_done(&key);
}

/* What all phases of each name took and used, as far as it is known. */
static void put_phases(struct mlflow_metrics *m, const struct mlflow_facts *f,
                       const struct summary *summary, uint64_t selected, int64_t time_ms)
{
    const struct mark_totals *marks = &summary->marks;
    struct buf name = {0};
    for (size_t i = 0; i < marks->phase_count; i++) {
        const struct phase_total *p = &marks->phases[i];
        buf_clear(&name);
        buf_printf(&name, MLFLOW_PHASE_PREFIX "%s/", p->name);
        if (buf_failed(&name))
            break;
        put_metric(m, f, name.data, "count", (double)p->count, time_ms);
        put_metric(m, f, name.data, "total_seconds", (double)p->total_ns / 1e9, time_ms);
        put_metric(m, f, name.data, "max_seconds", (double)p->max_ns / 1e9, time_ms);
        FOR_EACH_BIT(id, selected)
        {
            const struct metric *metric = metric_of(id);
            struct phase_figure figure = phase_total_figure(p, id);
            char stem[96];
            if (!phase_figures_has(metric) || figure.quality == QUALITY_UNKNOWN)
                continue;
            if (metric->kind == METRIC_COUNTER) {
                put_metric(m, f, name.data, metric->facts.name, figure.total, time_ms);
                continue;
            }
            snprintf(stem, sizeof stem, "%s_mean", metric->facts.name);
            put_metric(m, f, name.data, stem, figure.mean, time_ms);
            snprintf(stem, sizeof stem, "%s_max", metric->facts.name);
            if (figure.max >= 0)
                put_metric(m, f, name.data, stem, figure.max, time_ms);
        }
    }
    m->ops->failed |= buf_failed(&name);
    buf_done(&name);
}

/* Of a counter what it came to, of a gauge its mean and its largest value. */
static void put_figures(struct buf *ops, const struct mlflow_facts *f,
                        const struct summary *summary, uint64_t selected, int64_t time_ms)
{
    struct mlflow_metrics m = {.ops = ops};
    put_metric(&m, f, "run_seconds", "", (double)summary->elapsed_ns / 1e9, time_ms);
    FOR_EACH_BIT(id, summary->has_target ? selected : 0)
    {
        const struct metric *metric = metric_of(id);
        const struct series *s = &summary->whole.series[PART_COMBINED][id];
        const char *name = metric->facts.name;
        if (summary->whole.provenance[PART_COMBINED][id].quality == QUALITY_UNKNOWN)
            continue;
        if (metric->kind == METRIC_COUNTER) {
            put_metric(&m, f, name, "", metric_number(metric, s->last), time_ms);
            continue;
        }
        if (s->observed_ns)
            put_metric(&m, f, name, "_mean", series_mean(s, metric), time_ms);
        if (s->count)
            put_metric(&m, f, name, "_max", s->max, time_ms);
    }
    put_phases(&m, f, summary, selected, time_ms);
    mlflow_metrics_end(&m);
}

/* The document that -o FILE.json writes; the command's arguments stay here unless asked for. */
static void put_document(struct buf *ops, const struct mlflow_facts *f,
                         const struct summary *summary, const struct selection *selection)
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

static void put_status(struct buf *ops, const char *status, int64_t time_ms)
{
    struct buf body = {0};
    buf_printf(&body, "{\"status\":\"%s\",\"end_time\":%lld}", status, (long long)time_ms);
    if (buf_failed(&body))
        ops->failed = true;
    else
        spool_op_add(ops, SPOOL_UPDATE, "", body.data, body.length);
    buf_done(&body);
}

static const char *mlflow_facts_status_of(const struct toll_end *end)
{
    if (!end->ended || end->unknown)
        return "FINISHED"; /* what was measured goes on, or nobody knows better */
    if (end->signaled || end->timed_out)
        return "KILLED";
    return end->status ? "FAILED" : "FINISHED";
}

void mlflow_facts_end(struct buf *ops, const struct mlflow_facts *f, const struct summary *summary,
                      const struct selection *selection)
{
    struct tags t = {.ops = ops, .node = f->node};
    int64_t time_ms = end_ms(summary);
    put_end(&t, &summary->whole.end);
    end_tags(&t);
    put_figures(ops, f, summary, selection->parts[PART_COMBINED], time_ms);
    if (f->ends_run)
        put_status(ops, mlflow_facts_status_of(&summary->whole.end), time_ms);
    if (f->with_artifact) /* last: a server that has trouble with files holds up nothing else */
        put_document(ops, f, summary, selection);
}

void mlflow_facts_nothing_ran(struct buf *ops)
{
    put_status(ops, "FAILED", mlflow_facts_now_ms());
}
