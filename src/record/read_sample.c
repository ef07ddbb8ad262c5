/* SPDX-License-Identifier: MIT
 * A sample: a frame with all its rows. */
#include "record/reading.h"

/* ---- Targets --------------------------------------------------------------------------------- */

static int part_of(const struct scan *key)
{
    for (unsigned part = 0; part < PARTS; part++)
        if (json_in_is(key, part_name(part)))
            return (int)part;
    return -1;
}

static void read_part(struct reading *r, unsigned part, struct row rows[PARTS],
                      struct frame_row parts[PARTS])
{
    if (read_row(r, ENTITY_TARGET, &rows[part], &r->selection.parts[part]))
        parts[part] = (struct frame_row){&r->entities[part], &rows[part]};
}

static void read_whole(struct reading *r)
{
    struct json_in *j = &r->json;
    struct scan key;
    json_in_object(j);
    while (json_in_key(j, &key)) {
        int part = part_of(&key);
        if (part >= 0)
            read_part(r, (unsigned)part, r->whole, r->frame.target);
        else
            reading_skip(r, &key);
    }
}

/* They come in the order of the run line. */
static void read_target(struct reading *r, size_t i)
{
    struct json_in *j = &r->json;
    struct frame_target *t = &r->targets[i];
    struct scan key, name;
    *t = (struct frame_target){.name = t->name};
    json_in_object(j);
    while (json_in_key(j, &key)) {
        int part = part_of(&key);
        if (part >= 0)
            read_part(r, (unsigned)part, r->rows[i], t->parts);
        else if (json_in_is(&key, "ended"))
            json_in_bool(j, &t->has_ended);
        else if (json_in_is(&key, "name")) {
            if (json_in_string(j, &name) && !json_in_is(&name, t->name))
                reading_wrong(r, "a target that the run does not have at this place");
        } else
            reading_skip(r, &key);
    }
}

static void read_targets(struct reading *r)
{
    struct json_in *j = &r->json;
    size_t count = r->targets ? r->run.target_count : 0, i = 0;
    json_in_array(j);
    for (; json_in_item(j); i++)
        if (i < count)
            read_target(r, i);
        else
            reading_wrong(r, "more targets than the run has");
    if (i != count)
        reading_wrong(r, "fewer targets than the run has");
    r->frame.targets = r->targets;
    r->frame.target_count = count;
}

/* ---- The machine ----------------------------------------------------------------------------- */

static void read_thing(struct reading *r, enum entity_kind kind)
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
            read_things_word(r, &key, &e);
        else
            read_row_member(r, kind, &key, &row, &r->selection.of[kind], &next);
        read_row_expected(r, kind, &row, &r->selection.of[kind], &next);
    }
    if (j->failed)
        return;
    struct measured *m = read_things_find(r, &e);
    if (!m)
        return;
    m->row = row;
    r->no_memory |= measured_list_add(&r->machine, m) < 0;
}

static void read_things(struct reading *r, enum entity_kind kind)
{
    struct json_in *j = &r->json;
    if (kind == ENTITY_SYSTEM) {
        r->run.system = true;
        read_thing(r, kind);
        return;
    }
    json_in_array(j);
    while (json_in_item(j))
        read_thing(r, kind);
}

/* ---- Processes ------------------------------------------------------------------------------- */

static bool make_room(struct reading *r, size_t count)
{
    if (count < r->process_capacity)
        return true;
    size_t capacity = r->process_capacity ? 2 * r->process_capacity : 32;
    struct process_row *rows = realloc(r->processes, capacity * sizeof *rows);
    struct frame_row *pointers = realloc(r->process_rows, capacity * sizeof *pointers);
    r->processes = rows ? rows : r->processes;
    r->process_rows = pointers ? pointers : r->process_rows;
    if (rows && pointers)
        r->process_capacity = capacity;
    else
        r->no_memory = true;
    return rows && pointers;
}

static void read_processes(struct reading *r)
{
    struct json_in *j = &r->json;
    struct frame *f = &r->frame;
    size_t count = 0;
    json_in_array(j);
    while (json_in_item(j) && make_room(r, count))
        read_process_row(r, &r->processes[count++]);
    for (size_t i = 0; i < count; i++)
        r->process_rows[i] = (struct frame_row){&r->processes[i].entity, &r->processes[i].row};
    f->processes = r->process_rows;
    f->process_count = count;
}

/* ---- The whole ------------------------------------------------------------------------------- */

static void read_member(struct reading *r, const struct scan *key)
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
        read_whole(r);
    else if (json_in_is(key, "targets"))
        read_targets(r);
    else if (json_in_is(key, "processes"))
        read_processes(r);
    else if (json_in_is(key, "self"))
        read_row(r, ENTITY_SELF, &r->self, &r->selection.of[ENTITY_SELF]);
    else if ((kind = read_things_kind(key)) >= 0)
        read_things(r, (enum entity_kind)kind);
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
static bool fits(struct reading *r, uint64_t tick, uint64_t elapsed_ns)
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
    read_things_begin(r);
    row_init(&r->self, ENTITY_SELF);
    f->self = (struct frame_row){&r->self_entity, &r->self};
    json_in_object(j);
    while (json_in_key(j, &key))
        read_member(r, &key);
    if (!json_in_end(j) || !fits(r, tick, elapsed_ns))
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
