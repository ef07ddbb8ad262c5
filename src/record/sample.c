/* SPDX-License-Identifier: MIT
 * Samples and processes that left: rows of figures by the names of their metrics. */
#include "record/keys.h"
#include "record/reading.h"

/* ==== Rows ==================================================================================== */

void record_json_value(struct json_out *j, const struct metric *m, union value v)
{
    if (metric_is_double(m))
        json_double(j, v.d, METRIC_DECIMALS);
    else if (m->unit == UNIT_seconds)
        json_seconds(j, v.u);
    else if (m->unit == UNIT_joules)
        json_double(j, metric_number(m, v), METRIC_DECIMALS);
    else
        json_u64(j, v.u);
}

void record_json_row(struct json_out *j, const struct row *row, uint64_t selected)
{
    FOR_EACH_BIT(i, selected)
    {
        enum metric_id id = row->first + i;
        json_key(j, metric_of(id)->facts.name);
        if (row_has(row, id))
            record_json_value(j, metric_of(id), row_value(row, id));
        else
            json_null(j);
    }
    if (row->at_least & selected) {
        json_key(j, "lower_bound");
        record_json_bounds(j, row, selected);
    }
}

void record_json_bounds(struct json_out *j, const struct row *row, uint64_t selected)
{
    json_object(j);
    FOR_EACH_BIT(i, row->at_least & selected)
    {
        enum metric_id id = row->first + i;
        json_key(j, metric_of(id)->facts.name);
        record_json_value(j, metric_of(id), row_value(row, id));
    }
    json_object_end(j);
}

int read_row_find(enum entity_kind kind, const struct scan *key, unsigned *next)
{
    unsigned count = metric_count(kind);
    enum metric_id first = metric_first(kind);
    for (unsigned tries = 0, i = *next; tries < count; tries++, i++) {
        i = i < count ? i : 0;
        if (json_in_is(key, metric_of(first + i)->facts.name)) {
            *next = i + 1;
            return (int)i;
        }
    }
    return -1;
}

bool read_row_value(struct json_in *j, const struct metric *m, union value *ret, bool *ret_known)
{
    struct decimal n;
    unsigned decimals = m->unit == UNIT_seconds ? 9 : m->unit == UNIT_joules ? 6 : 0;
    *ret_known = !json_in_null(j);
    if (!*ret_known)
        return true;
    return json_in_number(j, &n) && ((metric_is_double(m) ? decimal_double(&n, &ret->d)
                                                          : decimal_u64(&n, decimals, &ret->u)) ||
                                     json_in_fail(j));
}

static bool read_row_put(struct reading *r, unsigned i, struct row *row, uint64_t *keys)
{
    bool known;
    if (!read_row_value(&r->json, metric_of(row->first + i), &row->values[i], &known))
        return false;
    *keys |= BIT(i);
    row->present = known ? row->present | BIT(i) : row->present & ~BIT(i);
    return true;
}

/* What comes next, as long as it is figures in the order of the table, from *next on: fast. */
static void read_row_expected(struct reading *r, enum entity_kind kind, struct row *row,
                              uint64_t *keys, unsigned *next)
{
    unsigned count = metric_count(kind);
    for (unsigned i = *next; i < count; i++)
        if (json_in_expect(&r->json, metric_of(row->first + i)->facts.name)) {
            *next = i + 1;
            if (!read_row_put(r, i, row, keys))
                return;
        }
}

bool read_bounds(struct reading *r, enum entity_kind kind, struct row *row)
{
    struct json_in *j = &r->json;
    struct scan key;
    unsigned next = 0;
    json_in_object(j);
    while (json_in_key(j, &key)) {
        int i = read_row_find(kind, &key, &next);
        union value value;
        bool known;
        if (i < 0) {
            reading_skip(r, &key);
            continue;
        }
        if (!read_row_value(j, metric_of(row->first + (unsigned)i), &value, &known) || !known)
            continue;
        row->at_least |= BIT(i);
        row->values[i] = value;
    }
    return !j->failed;
}

bool read_row_is_sound(struct reading *r, const struct row *row)
{
    return !(row->present & row->at_least) ||
           reading_wrong(r, "a figure listed as known and as a lower bound");
}

/* A row that is read beside other keys of its object. */
struct row_members {
    enum entity_kind kind;
    struct row *row;
    uint64_t *keys; /* gets the bit of each metric that was there */
    unsigned next;
};

/* For record_read: a metric, or "lower_bound" of processes. */
static bool read_row_member(struct reading *r, const struct scan *key, void *members)
{
    struct row_members *m = members;
    int i = read_row_find(m->kind, key, &m->next);
    if (i >= 0)
        read_row_put(r, (unsigned)i, m->row, m->keys);
    else if ((m->kind == ENTITY_TARGET || m->kind == ENTITY_PROCESS) &&
             json_in_is(key, "lower_bound"))
        read_bounds(r, m->kind, m->row);
    else
        return false;
    return true;
}

/* An object with nothing but figures. */
static bool read_row(struct reading *r, enum entity_kind kind, struct row *row, uint64_t *keys)
{
    struct row_members m = {.kind = kind, .row = row, .keys = keys};
    struct json_in *j = &r->json;
    struct scan key;
    row_init(row, kind);
    json_in_object(j);
    read_row_expected(r, kind, row, keys, &m.next);
    while (json_in_key(j, &key))
        if (!read_row_member(r, &key, &m))
            reading_skip(r, &key);
    return !j->failed && read_row_is_sound(r, row);
}

/* ==== Instances of the machine ================================================================ */

/* Each is known by its kind, its name and its labels. */

void record_json_entity(struct json_out *j, const struct entity *e)
{
    json_put_string(j, "name", entity_name(e));
    for (unsigned i = 0; i < ENTITY_LABELS && e->labels[i].key; i++)
        json_put_string(j, e->labels[i].key, e->labels[i].value);
}

/* The machine is one object, other kinds are lists. Figures that were not read for this
 * sample are left out. */
static void write_instances(struct json_out *j, const struct frame *f, enum entity_kind kind,
                            uint64_t selected)
{
    bool any = false, alone = kind == ENTITY_SYSTEM;
    for (size_t i = 0; i < f->machine_count && selected; i++) {
        const struct instance *m = f->machine[i];
        if (m->entity.kind != kind)
            continue;
        if (!any) {
            json_key(j, entity_kind_plural(kind));
            if (!alone)
                json_array(j);
        }
        any = true;
        json_object(j);
        if (!alone)
            record_json_entity(j, &m->entity);
        record_json_row(j, &m->row, selected & m->row.present);
        json_object_end(j);
    }
    if (any && !alone)
        json_array_end(j);
}

int read_instances_kind(const struct scan *key)
{
    for (unsigned kind = 0; kind < ENTITY_KINDS; kind++)
        if (kind != ENTITY_PROCESS && kind != ENTITY_SELF &&
            json_in_is(key, entity_kind_plural(kind)))
            return (int)kind;
    return -1;
}

bool read_instances_word(struct reading *r, const struct scan *key, struct entity *e)
{
    struct scan text;
    unsigned next = 0, i = 0;
    if (read_row_find(e->kind, key, &next) >= 0)
        return reading_wrong(r, "a string in place of a figure");
    if (!json_in_string(&r->json, &text))
        return false;
    while (i < ENTITY_LABELS && e->labels[i].key)
        i++;
    /* Most instances were met before, and have their texts: until then these are in the arena of
     * the frame. Labels beyond the last are more than anything has. */
    r->text = &r->frame.arena;
    if (json_in_is(key, "name"))
        e->path = reading_keep(r, text);
    else if (i < ENTITY_LABELS)
        e->labels[i] = (struct label){reading_keep(r, *key), reading_keep(r, text)};
    r->text = &r->kept;
    return true;
}

static bool read_instances_same(const struct entity *a, const struct entity *b)
{
    if (a->kind != b->kind || strcmp(entity_name(a), entity_name(b)) != 0)
        return false;
    for (unsigned i = 0; i < ENTITY_LABELS; i++) {
        const struct label *x = &a->labels[i], *y = &b->labels[i];
        if (!x->key || !y->key)
            return x->key == y->key;
        if (strcmp(x->key, y->key) != 0 || strcmp(x->value, y->value) != 0)
            return false;
    }
    return true;
}

void read_instances_begin(struct reading *r)
{
    r->instances.expected = 0;
    r->instances.line++;
}

struct instance *read_instances_find(struct reading *r, const struct entity *e)
{
    struct instances *t = &r->instances;
    for (size_t tries = 0, i = t->expected; tries < t->count; tries++, i++) {
        i = i < t->count ? i : 0;
        if (!read_instances_same(&t->items[i].instance->entity, e))
            continue;
        if (t->items[i].line == t->line) {
            reading_wrong(r, "a duplicate device");
            return NULL;
        }
        t->expected = i + 1;
        t->items[i].line = t->line;
        return t->items[i].instance;
    }
    t->expected = t->count + 1;
    struct instance *m = arena_take(&r->kept, sizeof *m);
    if (!m || !ARRAY_GROW(t->items, t->count)) {
        r->no_memory = true;
        return NULL;
    }
    instance_init(m, e->kind);
    m->entity.path = reading_keep(r, scan_string(entity_name(e)));
    for (unsigned i = 0; i < ENTITY_LABELS && e->labels[i].key; i++)
        m->entity.labels[i] = (struct label){
            reading_keep(r, scan_string(e->labels[i].key)),
            reading_keep(r, scan_string(e->labels[i].value)),
        };
    t->items[t->count].instance = m;
    t->items[t->count++].line = t->line;
    m->number = (unsigned)t->count;
    return m;
}

static void read_instance(struct reading *r, enum entity_kind kind)
{
    struct json_in *j = &r->json;
    struct entity e = {.kind = kind};
    struct row row;
    struct row_members m = {.kind = kind, .row = &row, .keys = &r->selection.of[kind]};
    struct scan key;
    row_init(&row, kind);
    json_in_object(j);
    while (json_in_key(j, &key)) {
        if (json_in_next(j) == JSON_STRING && kind != ENTITY_SYSTEM)
            read_instances_word(r, &key, &e);
        else if (!read_row_member(r, &key, &m))
            reading_skip(r, &key);
        read_row_expected(r, kind, &row, m.keys, &m.next);
    }
    struct instance *found = j->failed ? NULL : read_instances_find(r, &e);
    if (!found)
        return;
    found->row = row;
    r->no_memory |= instance_list_add(&r->machine, found) < 0;
}

/* ==== Targets ================================================================================= */

int read_part(const struct scan *key)
{
    for (unsigned part = 0; part < PARTS; part++)
        if (json_in_is(key, part_name(part)))
            return (int)part;
    return -1;
}

/* What the descendants of a command are that has started none: there are none of anything. */
static void parts_no_descendants(const struct row *combined, struct row *ret)
{
    *ret = (struct row){0};
    row_init(ret, ENTITY_TARGET);
    ret->present = combined->present & ~BIT(process_memory_peak_bytes);
    ret->values[process_wall_seconds] = combined->values[process_wall_seconds];
}

static bool parts_are_same(const struct row *a, const struct row *b, uint64_t selected)
{
    bool is_same = !((a->present ^ b->present) & selected) &&
                   !((a->at_least | b->at_least) & selected);
    FOR_EACH_BIT(i, selected & a->present & b->present)
    {
        is_same &= a->values[i].u == b->values[i].u;
    }
    return is_same;
}

/* Of a process, with its descendants: only then a reader knows that the parts were there. */
static bool parts_may_be_left_out(const struct run *run, pid_t main_pid)
{
    return !run->no_children && main_pid > 0;
}

static pid_t parts_main_of_whole(const struct run *run)
{
    return run && run->target_count <= 1 ? run->pid : 0;
}

/* A command without descendants has every figure three times: once is enough. */
static bool parts_follow_from_combined(const struct frame_row parts[PARTS],
                                       const struct selection *selection)
{
    const struct row *combined = parts[PART_COMBINED].row;
    uint64_t selected = selection->parts[PART_COMBINED];
    struct row none;
    if (!combined || !parts[PART_MAIN].row || !parts[PART_DESCENDANTS].row ||
        selection->parts[PART_MAIN] != selected || selection->parts[PART_DESCENDANTS] != selected)
        return false;
    parts_no_descendants(combined, &none);
    return parts_are_same(parts[PART_MAIN].row, combined, selected) &&
           parts_are_same(parts[PART_DESCENDANTS].row, &none, selected);
}

static void write_parts(struct json_out *j, const struct frame_row parts[PARTS], pid_t main_pid,
                        const struct record_context *c)
{
    const struct selection *selection = c->selection;
    bool is_alone = c->run && parts_may_be_left_out(c->run, main_pid) &&
                    parts_follow_from_combined(parts, selection);
    for (unsigned part = 0; part < PARTS; part++) {
        if (!parts[part].row || (is_alone && part != PART_COMBINED))
            continue;
        json_put_object(j, part_name(part));
        record_json_row(j, parts[part].row, selection->parts[part]);
        json_object_end(j);
    }
}

struct part_rows {
    struct row *rows;
    struct frame_row *parts;
};

/* For record_read: a part of a target. */
static bool read_part_member(struct reading *r, const struct scan *key, void *part_rows)
{
    struct part_rows *p = part_rows;
    int part = read_part(key);
    if (part >= 0 && read_row(r, ENTITY_TARGET, &p->rows[part], &r->selection.parts[part]))
        p->parts[part] = (struct frame_row){&r->entities[part], &p->rows[part]};
    return part >= 0;
}

/* The parts that a command without descendants does not have in its sample. */
static void read_parts_left_out(struct reading *r, const struct part_rows *p, pid_t main_pid)
{
    uint64_t *keys = r->selection.parts;
    if (!parts_may_be_left_out(&r->run, main_pid) || !p->parts[PART_COMBINED].row ||
        p->parts[PART_MAIN].row || p->parts[PART_DESCENDANTS].row)
        return;
    p->rows[PART_MAIN] = p->rows[PART_COMBINED];
    parts_no_descendants(&p->rows[PART_COMBINED], &p->rows[PART_DESCENDANTS]);
    for (unsigned part = 0; part < PARTS; part++) {
        keys[part] |= keys[PART_COMBINED];
        p->parts[part] = (struct frame_row){&r->entities[part], &p->rows[part]};
    }
}

static void write_whole(struct json_out *j, const void *object, const struct record_context *c)
{
    json_object(j);
    write_parts(j, ((const struct record_sample *)object)->frame->target,
                parts_main_of_whole(c->run), c);
    json_object_end(j);
}

static bool read_whole(struct reading *r, void *object)
{
    struct part_rows p = {r->whole, r->frame.target};
    struct scan key;
    json_in_object(&r->json);
    while (json_in_key(&r->json, &key))
        if (!read_part_member(r, &key, &p))
            reading_skip(r, &key);
    read_parts_left_out(r, &p, parts_main_of_whole(&r->run));
    return !r->json.failed;
}

const struct record_special record_special_whole = {write_whole, read_whole, NULL};

static void write_targets(struct json_out *j, const void *object, const struct record_context *c)
{
    const struct frame *f = ((const struct record_sample *)object)->frame;
    json_array(j);
    for (size_t i = 0; i < f->target_count; i++) {
        json_object(j);
        record_write(j, RECORD_OBJECT_target, &f->targets[i], c);
        write_parts(j, f->targets[i].parts, c->run->targets[i].pid, c);
        json_object_end(j);
    }
    json_array_end(j);
}

/* They come in the order of the run line. */
static bool read_targets(struct reading *r, void *object)
{
    struct json_in *j = &r->json;
    size_t count = r->targets ? r->run.target_count : 0, i = 0;
    json_in_array(j);
    for (; json_in_item(j); i++) {
        if (i >= count)
            return reading_wrong(r, "more targets than in the run");
        struct frame_target *t = &r->targets[i];
        struct part_rows p = {r->rows[i], t->parts};
        *t = (struct frame_target){.name = r->run.targets[i].name};
        r->text = &r->frame.arena;
        record_read(r, &(struct record_fields){RECORD_OBJECT_target, t}, 1, read_part_member, &p);
        r->text = &r->kept;
        read_parts_left_out(r, &p, r->run.targets[i].pid);
        if (!j->failed && strcmp(t->name, r->run.targets[i].name) != 0)
            return reading_wrong(r, "an unexpected target");
        t->name = r->run.targets[i].name;
    }
    if (i != count)
        reading_wrong(r, "fewer targets than in the run");
    r->frame.targets = r->targets;
    r->frame.target_count = count;
    return !j->failed;
}

const struct record_special record_special_targets = {write_targets, read_targets, NULL};

/* ==== Processes =============================================================================== */

static bool memberships_are_set(const void *object, const struct record_context *c)
{
    return c->run && c->run->target_count > 1;
}

static void write_memberships(struct json_out *j, const void *object,
                              const struct record_context *c)
{
    json_array(j);
    for (size_t i = 0; i < c->run->target_count; i++)
        if (((const struct entity *)object)->targets >> i & 1)
            json_string(j, c->run->targets[i].name);
    json_array_end(j);
}

static bool read_memberships(struct reading *r, void *object)
{
    struct scan name;
    json_in_array(&r->json);
    while (json_in_item(&r->json) && json_in_string(&r->json, &name))
        for (size_t i = 0; i < r->run.target_count; i++)
            if (json_in_is(&name, r->run.targets[i].name)) {
                ((struct entity *)object)->targets |= BIT(i);
                break;
            }
    return !r->json.failed;
}

const struct record_special record_special_memberships = {write_memberships, read_memberships,
                                                          memberships_are_set};

static void write_process(struct json_out *j, const struct entity *e, const struct row *row,
                          const struct record_context *c)
{
    record_write(j, RECORD_OBJECT_identity, e, c);
    record_json_row(j, row, c->selection->of[ENTITY_PROCESS] & ~metric_fold_mask(FOLD_WHOLE));
}

static void write_processes(struct json_out *j, const void *object, const struct record_context *c)
{
    const struct frame *f = ((const struct record_sample *)object)->frame;
    json_array(j);
    for (size_t i = 0; i < f->process_count; i++) {
        json_object(j);
        write_process(j, f->processes[i].entity, f->processes[i].row, c);
        json_object_end(j);
    }
    json_array_end(j);
}

struct process_row *read_sample_add_process(struct reading *r)
{
    size_t pointers = r->process_capacity;
    if (!ARRAY_RESERVE(r->process_rows, pointers, r->process_count + 1) ||
        !ARRAY_RESERVE(r->processes, r->process_capacity, r->process_count + 1)) {
        r->no_memory = true;
        return NULL;
    }
    struct process_row *p = &r->processes[r->process_count++];
    p->entity = (struct entity){.kind = ENTITY_PROCESS};
    row_init(&p->row, ENTITY_PROCESS);
    return p;
}

static bool read_processes(struct reading *r, void *object)
{
    struct process_row *p;
    json_in_array(&r->json);
    while (json_in_item(&r->json) && (p = read_sample_add_process(r))) {
        struct row_members m = {
            .kind = ENTITY_PROCESS, .row = &p->row, .keys = &r->selection.of[ENTITY_PROCESS]};
        record_read(r, &(struct record_fields){RECORD_OBJECT_identity, &p->entity}, 1,
                    read_row_member, &m);
        read_row_is_sound(r, &p->row);
    }
    return !r->json.failed;
}

const struct record_special record_special_processes = {write_processes, read_processes, NULL};

void record_json_process(struct json_out *j, const struct process_end *e, const struct run *run,
                         const struct selection *selection)
{
    struct record_context c = {.run = run, .selection = selection};
    struct row copy;
    record_write(j, RECORD_OBJECT_departure, e, &c);
    write_process(j, &e->process->entity, process_shown(e->process, &copy), &c);
}

void read_process_begin(struct reading *r)
{
    r->process = (struct process){.entity = {.kind = ENTITY_PROCESS}};
    row_init(&r->process.own, ENTITY_PROCESS);
    r->process_end = (struct process_end){.process = &r->process};
}

bool read_process(struct reading *r)
{
    struct row_members m = {
        .kind = ENTITY_PROCESS, .row = &r->process.own, .keys = &r->selection.of[ENTITY_PROCESS]};
    struct record_fields fields[] = {
        {RECORD_OBJECT_departure, &r->process_end},
        {RECORD_OBJECT_identity, &r->process.entity},
    };
    record_read(r, fields, ARRAY_LEN(fields), read_row_member, &m);
    return json_in_end(&r->json) && read_row_is_sound(r, &r->process.own);
}

/* ==== Samples ================================================================================= */

static void write_self(struct json_out *j, const void *object, const struct record_context *c)
{
    json_object(j);
    record_json_row(j, ((const struct record_sample *)object)->frame->self.row,
                    c->selection->of[ENTITY_SELF]);
    json_object_end(j);
}

static bool read_self(struct reading *r, void *object)
{
    return read_row(r, ENTITY_SELF, &r->self, &r->selection.of[ENTITY_SELF]);
}

const struct record_special record_special_self = {write_self, read_self, NULL};

void record_json_sample(struct json_out *j, const struct frame *f, const struct run *run,
                        const struct selection *selection)
{
    struct record_context c = {.run = run, .selection = selection};
    struct record_sample s = record_sample_of(f, run);
    record_write(j, RECORD_OBJECT_sample, &s, &c);
    for (unsigned kind = 0; kind < ENTITY_KINDS; kind++)
        write_instances(j, f, kind, selection->of[kind]);
    record_write(j, RECORD_OBJECT_rest, &s, &c);
}

struct record_sample record_sample_of(const struct frame *f, const struct run *run)
{
    return (struct record_sample){
        .tick = f->tick,
        .real_ns = f->real_ns,
        .elapsed_ns = f->elapsed_ns,
        .interval_ns = f->interval_ns,
        .last = f->last,
        .between = f->between,
        .gpu_count = run ? run->gpu_count : 0,
        .has_target = f->target[PART_COMBINED].row != NULL,
        .target_count = f->target_count,
        .process_count = f->process_count,
        .frame = f,
    };
}

void read_sample_begin(struct reading *r)
{
    struct frame *f = &r->frame;
    struct arena arena = f->arena;
    arena_empty(&arena);
    r->last_tick = f->tick;
    r->last_elapsed_ns = f->elapsed_ns;
    *f = (struct frame){.arena = arena};
    r->machine.count = 0;
    r->process_count = 0;
    read_instances_begin(r);
    row_init(&r->self, ENTITY_SELF);
    f->self = (struct frame_row){&r->self_entity, &r->self};
}

/* For record_read: what the machine has of a kind. */
static bool read_sample_other(struct reading *r, const struct scan *key, void *arg)
{
    int kind = read_instances_kind(key);
    if (kind == ENTITY_SYSTEM) {
        r->run.system = true;
        read_instance(r, ENTITY_SYSTEM);
    } else if (kind >= 0) {
        json_in_array(&r->json);
        while (json_in_item(&r->json))
            read_instance(r, (enum entity_kind)kind);
    }
    return kind >= 0;
}

bool read_sample(struct reading *r)
{
    struct record_sample s = {.tick = r->has_frame ? r->last_tick + 1 : 0};
    struct record_fields fields[] = {{RECORD_OBJECT_sample, &s}, {RECORD_OBJECT_rest, &s}};
    record_read(r, fields, ARRAY_LEN(fields), read_sample_other, NULL);
    return json_in_end(&r->json) && read_sample_end(r, &s);
}

bool read_sample_end(struct reading *r, const struct record_sample *s)
{
    struct frame *f = &r->frame;
    f->tick = s->tick;
    f->real_ns = s->real_ns;
    f->elapsed_ns = s->elapsed_ns;
    f->interval_ns = s->interval_ns;
    f->last = s->last;
    f->between = s->between;
    if (s->gpu_count)
        r->run.gpu_count = s->gpu_count;
    for (size_t i = 0; i < r->process_count; i++)
        r->process_rows[i] = (struct frame_row){&r->processes[i].entity, &r->processes[i].row};
    f->processes = r->process_rows;
    f->process_count = r->process_count;
    f->machine = r->machine.items;
    f->machine_count = r->machine.count;
    f->mono_ns = sum_u64(NS_PER_SECOND, f->elapsed_ns); /* never 0, which is no time */

    /* Whether the sample can be the next one of the run. */
    if (f->target_count != (r->targets ? r->run.target_count : 0))
        return reading_wrong(r, "no figures of the targets");
    for (size_t i = 0; i <= f->target_count; i++) {
        const struct frame_row *parts = i ? f->targets[i - 1].parts : f->target;
        unsigned shape = 0;
        for (unsigned part = 0; part < PARTS; part++)
            shape |= parts[part].row ? BIT(part) : 0;
        if (shape && !(shape & BIT(PART_COMBINED)))
            return reading_wrong(r, "parts of a target without its total");
        if (r->has_frame && shape != r->shape[i])
            return reading_wrong(r, "other parts of a target than in the previous sample");
        r->shape[i] = (uint8_t)shape;
    }
    if (r->has_frame && f->tick <= r->last_tick)
        return reading_wrong(r, "a tick that does not follow the previous one");
    if (r->has_frame && f->elapsed_ns < r->last_elapsed_ns)
        return reading_wrong(r, "a time earlier than in the previous sample");
    r->has_frame = true;
    summary_frame(&r->summary, f);
    summary_curves(&r->summary, f);
    return true;
}
