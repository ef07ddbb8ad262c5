/* SPDX-License-Identifier: MIT
 * The first line of a run: what does not change while it goes. */
#include "record/reading.h"

#include "sink/record_words.h"

/* A list of strings that grows, NULL behind the last. */
static void add_string(struct reading *r, char ***list, size_t *count, char *text)
{
    char **longer = realloc(*list, (*count + 2) * sizeof *longer);
    if (!longer || !text) {
        *list = longer ? longer : *list;
        if (longer)
            longer[*count] = NULL;
        free(text);
        r->no_memory = true;
        return;
    }
    longer[(*count)++] = text;
    longer[*count] = NULL;
    *list = longer;
}

static char *copy(struct scan text)
{
    return strndup(text.at ? text.at : "", (size_t)(text.end - text.at));
}

/* An empty one stays NULL: there was no command. */
static void read_command(struct reading *r)
{
    struct json_in *j = &r->json;
    struct scan word;
    size_t count = 0;
    json_in_array(j);
    while (json_in_item(j) && json_in_string(j, &word))
        add_string(r, &r->run.command, &count, copy(word));
}

static void read_labels(struct reading *r)
{
    struct json_in *j = &r->json;
    struct scan key, value;
    size_t count = 0;
    json_in_object(j);
    while (json_in_key(j, &key)) {
        struct buf label = {0};
        if (!read_key_fits(&key)) {
            reading_wrong(r, "a label without a key, or with a '=' in it");
            return;
        }
        buf_add(&label, key.at, (size_t)(key.end - key.at));
        buf_putc(&label, '=');
        if (json_in_string(j, &value))
            buf_add(&label, value.at, (size_t)(value.end - value.at));
        if (buf_failed(&label))
            buf_done(&label);
        add_string(r, &r->run.labels, &count, label.data);
    }
}

static void read_targets(struct reading *r)
{
    struct json_in *j = &r->json;
    struct scan key;
    json_in_array(j);
    while (json_in_item(j)) {
        const char *name = "", *what = "";
        pid_t pid = 0, group = 0;
        json_in_object(j);
        while (json_in_key(j, &key))
            if (json_in_is(&key, "name"))
                name = read_kept(r);
            else if (json_in_is(&key, "what"))
                what = read_kept(r);
            else if (json_in_is(&key, "pid"))
                read_pid(j, &pid);
            else if (json_in_is(&key, "group"))
                read_pid(j, &group);
            else
                reading_skip(r, &key);
        if (run_add_target(&r->run, name, what) < 0) {
            r->no_memory = true;
        } else {
            r->run.targets[r->run.target_count - 1].pid = pid;
            r->run.targets[r->run.target_count - 1].group = group;
        }
        if (r->run.target_count > RUN_TARGETS)
            reading_wrong(r, "more targets than toll measures");
    }
}

static void read_text(struct reading *r, char **ret)
{
    struct scan text;
    if (!json_in_string(&r->json, &text))
        return;
    free(*ret);
    *ret = copy(text);
    r->no_memory |= !*ret;
}

static void read_schema(struct reading *r)
{
    char schema[sizeof r->schema];
    r->has_schema = true;
    if (!read_name(&r->json, schema, sizeof schema) || strcmp(schema, RECORD_SCHEMA) == 0)
        return;
    memcpy(r->schema, schema, sizeof schema);
    json_in_fail(&r->json);
}

static void read_count(struct json_in *j, unsigned *ret)
{
    uint64_t count = *ret;
    read_u64(j, &count);
    *ret = (unsigned)min_u64(count, UINT32_MAX);
}

/* What is no identifier is none: it would be a label and a part of URLs. */
static void read_id(struct json_in *j, char ret[UUID_BYTES])
{
    char id[UUID_BYTES + 1]; /* one that is longer stays so */
    if (read_name(j, id, sizeof id) && uuid_is(id, strlen(id)))
        memcpy(ret, id, UUID_BYTES);
}

/* What only some formats need; records of before have none of it. */
static bool read_detail(struct reading *r, const struct scan *key)
{
    struct json_in *j = &r->json;
    struct run *run = &r->run;
    if (json_in_is(key, "id"))
        read_id(j, run->id);
    else if (json_in_is(key, "job_id"))
        read_name(j, run->job.id, sizeof run->job.id);
    else if (json_in_is(key, "array_index"))
        read_name(j, run->job.array_index, sizeof run->job.array_index);
    else if (json_in_is(key, "rank"))
        read_name(j, run->rank, sizeof run->rank);
    else if (json_in_is(key, "unix_seconds"))
        read_seconds(j, &r->exact_start_ns);
    else if (json_in_is(key, "toll_pid"))
        read_pid(j, &run->own_pid);
    else if (json_in_is(key, "group"))
        read_pid(j, &run->group);
    else if (json_in_is(key, "online_cpus"))
        read_count(j, &run->online_cpus);
    else if (json_in_is(key, "reads_gpus"))
        run->gpus_untold = !json_in_bool(j, &run->gpus);
    else
        return false;
    return true;
}

static void read_member(struct reading *r, const struct scan *key)
{
    struct json_in *j = &r->json;
    struct run *run = &r->run;
    bool children;
    if (json_in_is(key, "schema"))
        read_schema(r);
    else if (json_in_is(key, "toll"))
        read_text(r, &run->version);
    else if (json_in_is(key, "name"))
        read_text(r, &run->name);
    else if (json_in_is(key, "metrics"))
        read_text(r, &run->metrics);
    else if (json_in_is(key, "left_out")) {
        run->system = true;
        r->left_out = read_kept(r);
    } else if (json_in_is(key, "command"))
        read_command(r);
    else if (json_in_is(key, "labels"))
        read_labels(r);
    else if (json_in_is(key, "host"))
        read_name(j, run->host, sizeof run->host);
    else if (json_in_is(key, "kernel"))
        read_name(j, run->kernel, sizeof run->kernel);
    else if (json_in_is(key, "cpus"))
        read_count(j, &run->cpus);
    else if (json_in_is(key, "pid"))
        read_pid(j, &run->pid);
    else if (json_in_is(key, "start"))
        read_utc(j, &run->start_real_ns);
    else if (json_in_is(key, "interval_seconds"))
        read_seconds(j, &run->interval_ns);
    else if (json_in_is(key, "children") && json_in_bool(j, &children))
        run->no_children = !children;
    else if (json_in_is(key, "since_start"))
        json_in_bool(j, &run->since_start);
    else if (json_in_is(key, "attached_to"))
        read_targets(r);
    else if (json_in_is(key, "type"))
        json_in_skip(j);
    else if (!read_detail(r, key))
        reading_skip(r, key);
}

/* Room for what samples have of each of several targets. */
static void make_targets(struct reading *r)
{
    size_t count = r->run.target_count;
    r->targets = arena_take(&r->kept, count * sizeof *r->targets);
    r->rows = arena_take(&r->kept, count * sizeof *r->rows);
    r->no_memory |= !r->targets || !r->rows || summary_add_targets(&r->summary, count) < 0;
    for (size_t i = 0; r->targets && i < count; i++)
        r->targets[i].name = r->run.targets[i].name;
}

/* What is not told is meant to be all; samples tell more. */
static void choose_metrics(struct reading *r)
{
    struct selection left_out;
    r->no_memory |= selection_parse(&r->selection, r->run.metrics, NULL) < 0 &&
                    selection_parse(&r->selection, NULL, NULL) < 0;
    r->selection.by_name = r->run.metrics != NULL;
    memset(r->selection.parts, 0, sizeof r->selection.parts);
    r->selection.of[ENTITY_SELF] = r->selection.of[ENTITY_PROCESS] = 0;
    if (r->left_out && selection_parse(&left_out, r->left_out, NULL) == 0)
        for (unsigned kind = 0; kind < ENTITY_KINDS; kind++)
            r->selection.of[kind] &= ~left_out.of[kind];
}

bool read_run(struct reading *r)
{
    struct json_in *j = &r->json;
    struct scan key;
    r->run.gpus_untold = true;
    r->exact_start_ns = 0;
    json_in_object(j);
    while (json_in_key(j, &key))
        read_member(r, &key);
    if (!json_in_end(j) || !r->has_schema)
        return false;
    if (r->exact_start_ns)
        r->run.start_real_ns = r->exact_start_ns;
    r->run.shows_secrets = r->shows_secrets;
    r->run.no_args = r->no_args;
    r->no_memory |= run_mask_secrets(&r->run) < 0;
    choose_metrics(r);
    r->no_memory |= summary_init(&r->summary, &r->run) < 0;
    if (r->run.target_count > 1)
        make_targets(r);
    return true;
}
