/* SPDX-License-Identifier: MIT
 * The first line of a run: what does not change while it goes. */
#include "base/memory.h"
#include "record/read_figures.h"
#include "record/write.h"

/* ==== Read sample ============================================================================= */

/* A sample: a frame with all its rows. */

/* ---- Targets --------------------------------------------------------------------------------- */

static int part_of(const struct scan *key)
{
    for (unsigned part = 0; part < PARTS; part++)
        if (json_in_is(key, part_name(part)))
            return (int)part;
    return -1;
}

static void read_sample_read_part(struct reading *r, unsigned part, struct row rows[PARTS],
                                  struct frame_row parts[PARTS])
{
    if (read_row(r, ENTITY_TARGET, &rows[part], &r->selection.parts[part]))
        parts[part] = (struct frame_row){&r->entities[part], &rows[part]};
}

static void read_sample_read_whole(struct reading *r)
{
    struct json_in *j = &r->json;
    struct scan key;
    json_in_object(j);
    while (json_in_key(j, &key)) {
        int part = part_of(&key);
        if (part >= 0)
            read_sample_read_part(r, (unsigned)part, r->whole, r->frame.target);
        else
            reading_skip(r, &key);
    }
}

/* They come in the order of the run line. */
static void read_sample_read_target(struct reading *r, size_t i)
{
    struct json_in *j = &r->json;
    struct frame_target *t = &r->targets[i];
    struct scan key, name;
    *t = (struct frame_target){.name = t->name};
    json_in_object(j);
    while (json_in_key(j, &key)) {
        int part = part_of(&key);
        if (part >= 0)
            read_sample_read_part(r, (unsigned)part, r->rows[i], t->parts);
        else if (json_in_is(&key, "ended"))
            json_in_bool(j, &t->has_ended);
        else if (json_in_is(&key, "name")) {
            if (json_in_string(j, &name) && !json_in_is(&name, t->name))
                reading_wrong(r, "a target that the run does not have at this place");
        } else
            reading_skip(r, &key);
    }
}

static void read_sample_read_targets(struct reading *r)
{
    struct json_in *j = &r->json;
    size_t count = r->targets ? r->run.target_count : 0, i = 0;
    json_in_array(j);
    for (; json_in_item(j); i++)
        if (i < count)
            read_sample_read_target(r, i);
        else
            reading_wrong(r, "more targets than the run has");
    if (i != count)
        reading_wrong(r, "fewer targets than the run has");
    r->frame.targets = r->targets;
    r->frame.target_count = count;
}

/* ---- The machine ----------------------------------------------------------------------------- */

static void read_sample_read_instance(struct reading *r, enum entity_kind kind)
{
    struct json_in *j = &r->json;
    struct entity e = {.kind = kind};
    struct row row;
    struct scan key;
    unsigned next = 0;
    row_init(&row, kind);
    json_in_object(j);
    while (json_in_key(j, &key)) {
        if (json_in_next(j) == JSON_STRING && kind != ENTITY_SYSTEM)
            read_instances_word(r, &key, &e);
        else
            read_row_member(r, kind, &key, &row, &r->selection.of[kind], &next);
        read_row_expected(r, kind, &row, &r->selection.of[kind], &next);
    }
    if (j->failed)
        return;
    struct instance *m = read_instances_find(r, &e);
    if (!m)
        return;
    m->row = row;
    r->no_memory |= instance_list_add(&r->machine, m) < 0;
}

static void read_sample_read_instances(struct reading *r, enum entity_kind kind)
{
    struct json_in *j = &r->json;
    if (kind == ENTITY_SYSTEM) {
        r->run.system = true;
        read_sample_read_instance(r, kind);
        return;
    }
    json_in_array(j);
    while (json_in_item(j))
        read_sample_read_instance(r, kind);
}

/* ---- Processes ------------------------------------------------------------------------------- */

static bool read_sample_make_room(struct reading *r, size_t count)
{
    size_t pointers = r->process_capacity;
    bool has_room = ARRAY_RESERVE(r->process_rows, pointers, count + 1) &&
                    ARRAY_RESERVE(r->processes, r->process_capacity, count + 1);
    r->no_memory |= !has_room;
    return has_room;
}

static void read_processes(struct reading *r)
{
    struct json_in *j = &r->json;
    struct frame *f = &r->frame;
    size_t count = 0;
    json_in_array(j);
    while (json_in_item(j) && read_sample_make_room(r, count))
        read_process_row(r, &r->processes[count++]);
    for (size_t i = 0; i < count; i++)
        r->process_rows[i] = (struct frame_row){&r->processes[i].entity, &r->processes[i].row};
    f->processes = r->process_rows;
    f->process_count = count;
}

/* ---- The whole ------------------------------------------------------------------------------- */

static void read_sample_read_member(struct reading *r, const struct scan *key)
{
    struct json_in *j = &r->json;
    struct frame *f = &r->frame;
    uint64_t gpus = 0;
    int kind;
    if (json_in_is(key, "tick"))
        read_u64(j, &f->tick);
    else if (json_in_is(key, "time"))
        read_utc(j, &f->real_ns);
    else if (json_in_is(key, "unix_seconds"))
        read_seconds(j, &r->exact_ns);
    else if (json_in_is(key, "elapsed_seconds"))
        read_seconds(j, &f->elapsed_ns);
    else if (json_in_is(key, "interval_seconds"))
        read_seconds(j, &f->interval_ns);
    else if (json_in_is(key, "last"))
        json_in_bool(j, &f->last);
    else if (json_in_is(key, "between"))
        json_in_bool(j, &f->between);
    else if (json_in_is(key, "gpu_count") && read_u64(j, &gpus))
        r->run.gpu_count = (unsigned)min_u64(gpus, UINT32_MAX);
    else if (json_in_is(key, "target"))
        read_sample_read_whole(r);
    else if (json_in_is(key, "targets"))
        read_sample_read_targets(r);
    else if (json_in_is(key, "processes"))
        read_processes(r);
    else if (json_in_is(key, "self"))
        read_row(r, ENTITY_SELF, &r->self, &r->selection.of[ENTITY_SELF]);
    else if ((kind = read_instances_kind(key)) >= 0)
        read_sample_read_instances(r, (enum entity_kind)kind);
    else if (json_in_is(key, "type"))
        json_in_skip(j);
    else
        reading_skip(r, key);
}

static unsigned shape_of(const struct frame_row parts[PARTS])
{
    unsigned shape = 0;
    for (unsigned part = 0; part < PARTS; part++)
        shape |= parts[part].row ? BIT(part) : 0;
    return shape;
}

/* Whether the sample can be the next one of the run. */
static bool read_sample_fits(struct reading *r, uint64_t tick, uint64_t elapsed_ns)
{
    const struct frame *f = &r->frame;
    if (f->target_count != (r->targets ? r->run.target_count : 0))
        return reading_wrong(r, "no figures of the targets of the run");
    for (size_t i = 0; i <= f->target_count; i++) {
        unsigned shape = shape_of(i ? f->targets[i - 1].parts : f->target);
        if (shape && !(shape & BIT(PART_COMBINED)))
            return reading_wrong(r, "parts of a target, and no whole");
        if (r->has_frame && shape != r->shape[i])
            return reading_wrong(r, "other parts of a target than the sample before");
        r->shape[i] = (uint8_t)shape;
    }
    if (r->has_frame && f->tick <= tick)
        return reading_wrong(r, "a tick that is not after the one before");
    if (r->has_frame && f->elapsed_ns < elapsed_ns)
        return reading_wrong(r, "a time before that of the sample before");
    return true;
}

bool read_sample(struct reading *r)
{
    uint64_t tick = r->frame.tick, elapsed_ns = r->frame.elapsed_ns;
    struct json_in *j = &r->json;
    struct frame *f = &r->frame;
    struct scan key;
    struct arena arena = f->arena;
    arena_empty(&arena);
    *f = (struct frame){.arena = arena, .tick = r->has_frame ? tick + 1 : 0};
    r->exact_ns = 0;
    r->machine.count = 0;
    read_instances_begin(r);
    row_init(&r->self, ENTITY_SELF);
    f->self = (struct frame_row){&r->self_entity, &r->self};
    json_in_object(j);
    while (json_in_key(j, &key))
        read_sample_read_member(r, &key);
    if (!json_in_end(j) || !read_sample_fits(r, tick, elapsed_ns))
        return false;
    if (r->exact_ns)
        f->real_ns = r->exact_ns;
    f->machine = r->machine.items;
    f->machine_count = r->machine.count;
    f->mono_ns = sum_u64(NS_PER_SECOND, f->elapsed_ns); /* never 0, which is no time */
    r->has_frame = true;
    summary_frame(&r->summary, f);
    return true;
}

/* ==== Read run ================================================================================ */

/* A list of strings that grows, NULL behind the last. */
static void add_string(struct reading *r, char ***list, size_t *count, char *text)
{
    if (!text || !ARRAY_GROW(*list, *count) || !ARRAY_GROW(*list, *count + 1)) {
        free(text);
        r->no_memory = true;
        return;
    }
    (*list)[(*count)++] = text;
    (*list)[*count] = NULL;
}

/* An empty one stays NULL: there was no command. */
static void read_command(struct reading *r)
{
    struct json_in *j = &r->json;
    struct scan word;
    size_t count = 0;
    json_in_array(j);
    while (json_in_item(j) && json_in_string(j, &word))
        add_string(r, &r->run.command, &count, scan_copy(word));
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

static void read_run_read_targets(struct reading *r)
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

static void read_run_read_text(struct reading *r, char **ret)
{
    struct scan text;
    if (!json_in_string(&r->json, &text))
        return;
    free(*ret);
    *ret = scan_copy(text);
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

static void read_run_read_count(struct json_in *j, unsigned *ret)
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
        read_run_read_count(j, &run->online_cpus);
    else if (json_in_is(key, "reads_gpus"))
        run->gpus_untold = !json_in_bool(j, &run->gpus);
    else
        return false;
    return true;
}

static void read_run_read_member(struct reading *r, const struct scan *key)
{
    struct json_in *j = &r->json;
    struct run *run = &r->run;
    bool children;
    if (json_in_is(key, "schema"))
        read_schema(r);
    else if (json_in_is(key, "toll"))
        read_run_read_text(r, &run->version);
    else if (json_in_is(key, "name"))
        read_run_read_text(r, &run->name);
    else if (json_in_is(key, "metrics"))
        read_run_read_text(r, &run->metrics);
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
        read_run_read_count(j, &run->cpus);
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
        read_run_read_targets(r);
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
static void read_run_choose_metrics(struct reading *r)
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
        read_run_read_member(r, &key);
    if (!json_in_end(j) || !r->has_schema)
        return false;
    if (r->exact_start_ns)
        r->run.start_real_ns = r->exact_start_ns;
    r->run.shows_secrets = r->shows_secrets;
    r->run.no_args = r->no_args;
    r->no_memory |= run_mask_secrets(&r->run) < 0;
    read_run_choose_metrics(r);
    r->no_memory |= summary_init(&r->summary, &r->run) < 0;
    if (r->run.target_count > 1)
        make_targets(r);
    return true;
}
