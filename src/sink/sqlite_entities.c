/* SPDX-License-Identifier: MIT */
#include "sink/sqlite_entities.h"

#include "sink/sqlite_schema.h"
#include "sink/sqlite_tape.h"

struct known_process {
    uint64_t looks; /* a hash of all that is told of it */
    unsigned entity;
    pid_t pid;
};

void sqlite_entities_done(struct sqlite_entities *x)
{
    buf_done(&x->met);
    free(x->things);
    map_done(&x->pids);
    free(x->known);
}

static unsigned new_number(struct sqlite_entities *x)
{
    if (!x->next)
        x->next = SQLITE_ENTITY_OTHERS;
    return x->next++;
}

/* A row of the table entities up to the name; what follows is added by the caller. */
static void describe(struct sqlite_entities *x, unsigned number, enum entity_kind kind,
                     const char *part, const char *name)
{
    sqlite_tape_row(&x->met, STATEMENT_ENTITY);
    sqlite_tape_i64(&x->met, number);
    sqlite_tape_text(&x->met, entity_kind_name(kind));
    sqlite_tape_text(&x->met, part);
    sqlite_tape_text(&x->met, name);
}

static void describe_no_process(struct buf *b)
{
    for (unsigned i = 0; i < 4; i++) /* pid, parent, start, targets */
        sqlite_tape_null(b);
}

/* ---- Targets, toll and the machine ----------------------------------------------------------- */

static unsigned fixed(struct sqlite_entities *x, unsigned number, enum entity_kind kind,
                      const char *part)
{
    if (x->fixed >> number & 1)
        return number;
    x->fixed |= BIT(number);
    describe(x, number, kind, part, "");
    describe_no_process(&x->met);
    sqlite_tape_null(&x->met);
    return number;
}

unsigned sqlite_entities_part(struct sqlite_entities *x, const struct run_target *target,
                              size_t index, enum part part)
{
    if (!target || index >= SQLITE_TARGETS_AT_MOST)
        return fixed(x, SQLITE_ENTITY_COMBINED + part, ENTITY_TARGET, part_name(part));
    unsigned *number = &x->targets[index][part];
    if (*number)
        return *number;
    *number = new_number(x);
    describe(x, *number, ENTITY_TARGET, part_name(part), target->name);
    describe_no_process(&x->met);
    sqlite_tape_null(&x->met);
    return *number;
}

unsigned sqlite_entities_self(struct sqlite_entities *x)
{
    return fixed(x, SQLITE_ENTITY_SELF, ENTITY_SELF, "");
}

static void add_labels(struct buf *b, const struct entity *e)
{
    struct json_out j;
    if (!e->labels[0].key) {
        sqlite_tape_null(b);
        return;
    }
    size_t began = sqlite_tape_json(b, &j);
    json_object(&j);
    for (unsigned i = 0; i < ENTITY_LABELS && e->labels[i].key; i++)
        json_put_string(&j, e->labels[i].key, e->labels[i].value);
    json_object_end(&j);
    sqlite_tape_json_end(b, began);
}

/* NULL without memory. */
static unsigned *place_of(struct sqlite_entities *x, unsigned thing)
{
    if (thing >= x->thing_capacity) {
        size_t capacity = (size_t)thing * 2 + 16;
        unsigned *longer = realloc(x->things, capacity * sizeof *longer);
        if (!longer) {
            x->met.failed = true;
            return NULL;
        }
        memset(longer + x->thing_capacity, 0, (capacity - x->thing_capacity) * sizeof *longer);
        x->things = longer;
        x->thing_capacity = capacity;
    }
    return &x->things[thing];
}

unsigned sqlite_entities_thing(struct sqlite_entities *x, const struct measured *m)
{
    if (m->entity.kind == ENTITY_SYSTEM)
        return fixed(x, SQLITE_ENTITY_SYSTEM, ENTITY_SYSTEM, "");
    unsigned *place = place_of(x, m->number);
    if (!place || *place)
        return place ? *place : 0;
    *place = new_number(x);
    describe(x, *place, m->entity.kind, "", entity_name(&m->entity));
    describe_no_process(&x->met);
    add_labels(&x->met, &m->entity);
    return *place;
}

/* ---- Processes ------------------------------------------------------------------------------- */

static uint64_t mix(uint64_t hash, const void *data, size_t length)
{
    for (const unsigned char *at = data, *end = at + length; at < end; at++)
        hash = (hash ^ *at) * UINT64_C(0x100000001b3); /* FNV-1a */
    return hash;
}

static uint64_t looks_of(const struct entity *e)
{
    uint64_t hash = mix(UINT64_C(0xcbf29ce484222325), e->name, strlen(e->name));
    hash = mix(hash, &e->start_ticks, sizeof e->start_ticks);
    hash = mix(hash, &e->parent, sizeof e->parent);
    return mix(hash, &e->targets, sizeof e->targets);
}

void sqlite_entities_targets(struct buf *b, const struct run *run, uint64_t targets)
{
    struct json_out j;
    if (!run || run->target_count <= 1) {
        sqlite_tape_null(b);
        return;
    }
    size_t began = sqlite_tape_json(b, &j);
    json_array(&j);
    for (size_t i = 0; i < run->target_count; i++)
        if (targets >> i & 1)
            json_string(&j, run->targets[i].name);
    json_array_end(&j);
    sqlite_tape_json_end(b, began);
}

static struct known_process *new_place(struct sqlite_entities *x, pid_t pid)
{
    if (x->known_count == x->known_capacity) {
        size_t capacity = x->known_capacity * 2 + 64;
        struct known_process *longer = realloc(x->known, capacity * sizeof *longer);
        if (!longer)
            return NULL;
        x->known = longer;
        x->known_capacity = capacity;
    }
    if (map_put(&x->pids, (uint32_t)pid, (uint32_t)x->known_count) < 0)
        return NULL;
    return &x->known[x->known_count++];
}

unsigned sqlite_entities_process(struct sqlite_entities *x, const struct run *run,
                                 const struct entity *e)
{
    uint64_t looks = looks_of(e);
    uint32_t at;
    bool was_met = map_get(&x->pids, (uint32_t)e->pid, &at);
    struct known_process *k = was_met ? &x->known[at] : new_place(x, e->pid);
    if (was_met && k->looks == looks)
        return k->entity;
    unsigned number = new_number(x);
    if (k)
        *k = (struct known_process){looks, number, e->pid};
    describe(x, number, ENTITY_PROCESS, "", e->name);
    sqlite_tape_i64(&x->met, e->pid);
    sqlite_tape_i64(&x->met, e->parent);
    sqlite_tape_u64(&x->met, e->start_ticks);
    sqlite_entities_targets(&x->met, run, e->targets);
    sqlite_tape_null(&x->met);
    return number;
}

void sqlite_entities_left(struct sqlite_entities *x, const struct entity *e)
{
    uint32_t at;
    if (!map_get(&x->pids, (uint32_t)e->pid, &at))
        return;
    map_remove(&x->pids, (uint32_t)e->pid);
    struct known_process *last = &x->known[--x->known_count];
    if (at == x->known_count)
        return;
    x->known[at] = *last;
    map_put(&x->pids, (uint32_t)last->pid, at); /* replaces what is there: needs no memory */
}
