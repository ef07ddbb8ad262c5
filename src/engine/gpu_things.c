/* SPDX-License-Identifier: MIT */
#include "engine/gpu_things.h"

#include <stdio.h>
#include <string.h>

/* ---- Things ---------------------------------------------------------------------------------- */

static void add_label(struct entity *e, const char *key, const char *value)
{
    for (unsigned i = 0; i < ENTITY_LABELS && *value; i++)
        if (!e->labels[i].key) {
            e->labels[i] = (struct label){key, value};
            return;
        }
}

static struct gpu_thing *make_thing(const struct gpu_facts *facts)
{
    struct gpu_thing *thing = calloc(1, sizeof *thing);
    if (!thing)
        return NULL;
    thing->facts = *facts;
    snprintf(thing->index, sizeof thing->index, "%u", facts->index);
    measured_init(&thing->measured, ENTITY_GPU);
    struct entity *e = &thing->measured.entity;
    gpu_choice_name(facts, e->name, sizeof e->name);
    add_label(e, "index", thing->index);
    add_label(e, "instance", thing->facts.instance);
    add_label(e, "vendor", thing->facts.vendor);
    add_label(e, "model", thing->facts.name);
    add_label(e, "uuid", thing->facts.uuid);
    add_label(e, "pci", thing->facts.pci);
    add_label(e, "driver", thing->facts.driver);
    return thing;
}

void gpu_things_meet(struct gpu_things *t, const struct gpu_frame *f, const struct gpu_choice *c)
{
    if (f->device_count <= t->count)
        return;
    struct gpu_thing **items = reallocarray(t->items, f->device_count, sizeof *items);
    if (!items)
        return;
    t->items = items;
    for (; t->count < f->device_count; t->count++) {
        const struct gpu_facts *facts = &f->devices[t->count].facts;
        struct gpu_thing *thing = items[t->count] = make_thing(facts);
        if (thing)
            thing->is_chosen = gpu_choice_has(c, f->devices, f->device_count, facts);
    }
}

/* Both count from the beginning of the run, not from what was read first. */
static void put_counter(struct measured *m, enum metric_id id, uint64_t value_ns)
{
    row_put_u64(&m->base, id, 0);
    row_put_u64(&m->read, id, value_ns);
}

static void count_idle(struct gpu_thing *thing, const struct row *row, uint64_t span_ns)
{
    if (row_has(row, gpu_utilization_ratio)) {
        thing->is_watched = true;
        thing->watched_ns += span_ns;
        if (row_value(row, gpu_utilization_ratio).d == 0)
            thing->idle_ns += span_ns;
    }
    if (!thing->is_watched)
        return;
    put_counter(&thing->measured, gpu_watched_seconds, thing->watched_ns);
    put_counter(&thing->measured, gpu_idle_seconds, thing->idle_ns);
}

/* A counter never falls. The driver's begins anew when the driver is loaded again, far below where
 * it was: what it counted before stays, and it counts on from there. A little lower it is held. */
static void keep_energy(struct gpu_thing *thing)
{
    struct row *row = &thing->measured.read;
    if (!row_has(row, gpu_energy_joules))
        return;
    uint64_t now_uj = row_u64(row, gpu_energy_joules);
    if (now_uj < thing->energy_uj / 2)
        thing->energy_more_uj += thing->energy_uj - now_uj;
    else
        now_uj = max_u64(now_uj, thing->energy_uj);
    thing->energy_uj = now_uj;
    row_put_u64(row, gpu_energy_joules, sum_u64(now_uj, thing->energy_more_uj));
}

/* Somebody uses the device, and it cannot be told who. */
static bool has_unknown(const struct gpu_frame *f, unsigned device)
{
    for (size_t i = 0; i < f->process_count; i++)
        if (f->processes[i].device == device && f->processes[i].pid == GPU_UNKNOWN_PID)
            return true;
    return false;
}

static void label_scope(struct gpu_thing *thing)
{
    for (unsigned i = 0; i < ENTITY_LABELS; i++)
        if (thing->measured.entity.labels[i].key &&
            strcmp(thing->measured.entity.labels[i].key, "scope") == 0)
            return;
    add_label(&thing->measured.entity, "scope", "device");
}

void gpu_things_put(struct gpu_things *t, const struct gpu_frame *f, uint64_t start_ns,
                    uint64_t most_ns, struct measured_list *list)
{
    for (unsigned i = 0; i < f->device_count && i < t->count; i++) {
        struct gpu_thing *thing = t->items[i];
        const struct gpu_device *d = &f->devices[i];
        if (!gpu_things_chosen(t, i) || d->read_ns == thing->read_ns)
            continue;
        uint64_t span_ns = left_u64(d->read_ns, max_u64(thing->read_ns, start_ns));
        thing->read_ns = d->read_ns;
        if (d->is_lost)
            continue;
        thing->measured.read = d->row;
        keep_energy(thing);
        count_idle(thing, &d->row, min_u64(span_ns, max_u64(most_ns, d->rest_ns)));
        if (has_unknown(f, i))
            label_scope(thing);
        measured_list_add(list, &thing->measured);
    }
}

void gpu_things_sum(const struct gpu_things *t, const struct gpu_frame *f, struct row *system)
{
    double busy = 0;
    uint64_t used = 0;
    bool any = false, knows_busy = true, knows_used = true;
    for (unsigned i = 0; i < f->device_count; i++) {
        const struct row *row = &f->devices[i].row;
        if (!gpu_things_chosen(t, i))
            continue;
        any = true;
        knows_busy &= !f->devices[i].is_lost && row_has(row, gpu_utilization_ratio);
        knows_used &= !f->devices[i].is_lost && row_has(row, gpu_memory_used_bytes);
        if (knows_busy)
            busy += row_value(row, gpu_utilization_ratio).d;
        if (knows_used)
            used += row_u64(row, gpu_memory_used_bytes);
    }
    if (any && knows_busy)
        row_put_double(system, system_gpu_utilization_ratio, busy);
    if (any && knows_used)
        row_put_u64(system, system_gpu_memory_used_bytes, used);
}

bool gpu_things_are_fresh(const struct gpu_things *t, const struct gpu_frame *f, uint64_t now_ns,
                          uint64_t holds_ns)
{
    for (unsigned i = 0; i < f->device_count; i++) {
        const struct gpu_device *d = &f->devices[i];
        if (gpu_things_chosen(t, i) && left_u64(now_ns, d->read_ns) > holds_ns + d->rest_ns)
            return false;
    }
    return f->device_count;
}

bool gpu_things_are_unclear(const struct gpu_things *t, const struct gpu_frame *f)
{
    for (unsigned i = 0; i < f->device_count; i++)
        if (gpu_things_chosen(t, i) && has_unknown(f, i))
            return true;
    return false;
}

void gpu_things_done(struct gpu_things *t)
{
    for (size_t i = 0; i < t->count; i++)
        free(t->items[i]);
    free(t->items);
    *t = (struct gpu_things){0};
}

/* ---- Uses ------------------------------------------------------------------------------------ */

void gpu_uses_begin(struct gpu_uses *u)
{
    for (size_t i = 0; i < u->count; i++)
        u->items[i].is_there = false;
}

void gpu_uses_end(struct gpu_uses *u, const struct gpu_frame *f)
{
    size_t kept = 0;
    for (size_t i = 0; i < u->count; i++) {
        struct gpu_use *use = &u->items[i];
        if (!use->is_there) /* when it comes back it counts from zero */
            use->last_ns = 0;
        if (use->device < f->device_count)
            use->looked_ns = f->devices[use->device].read_ns;
        if (use->is_there || use->total_ns)
            u->items[kept++] = *use;
    }
    u->count = kept;
}

static struct gpu_use *find(struct gpu_uses *u, const struct gpu_process *p)
{
    for (size_t i = 0; i < u->count; i++)
        if (u->items[i].pid == p->pid && u->items[i].device == p->device)
            return &u->items[i];
    return NULL;
}

static struct gpu_use *add(struct gpu_uses *u, const struct gpu_process *p)
{
    if (u->count == u->capacity) {
        size_t capacity = u->capacity ? 2 * u->capacity : 16;
        struct gpu_use *items = reallocarray(u->items, capacity, sizeof *items);
        if (!items)
            return NULL;
        u->items = items;
        u->capacity = capacity;
    }
    struct gpu_use *use = &u->items[u->count++];
    *use = (struct gpu_use){.pid = p->pid, .device = p->device, .share = -1};
    return use;
}

const struct gpu_use *gpu_uses_look(struct gpu_uses *u, const struct gpu_process *p,
                                    bool from_birth, uint64_t read_ns)
{
    struct gpu_use *use = find(u, p);
    bool is_new = !use;
    if (!use)
        use = add(u, p);
    if (!use)
        return NULL;
    use->is_there = true;
    if (!is_new && use->looked_ns == read_ns)
        return use; /* what has been read since is of others */
    if (is_new && !from_birth)
        use->last_ns = p->busy_ns;
    uint64_t grown = left_u64(p->busy_ns, use->last_ns);
    use->share = -1;
    if (!is_new && read_ns > use->looked_ns)
        use->share = (double)grown / (double)(read_ns - use->looked_ns);
    if (use->share > 1)
        use->share = 1; /* what came late */
    use->total_ns += grown;
    use->last_ns = max_u64(use->last_ns, p->busy_ns);
    return use;
}

bool gpu_uses_keep(struct gpu_uses *u, const struct gpu_process *p)
{
    struct gpu_use *use = find(u, p);
    if (use)
        use->is_there = true;
    return use;
}

void gpu_uses_done(struct gpu_uses *u)
{
    free(u->items);
    *u = (struct gpu_uses){0};
}
