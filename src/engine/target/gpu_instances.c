/* SPDX-License-Identifier: MIT */
#include "engine/target/gpu_instances.h"

#include <stdio.h>
#include <string.h>

/* Drivers renew their counters of energy about this often. A reading this close to the beginning or
 * the end of a run is as good as one at that moment: the energy is exact. */
#define ENERGY_STEP_NS (20 * NS_PER_MS)

/* Up to this far it still covers the run, but not exactly. */
#define ENERGY_TOLERANCE_NS (100 * NS_PER_MS)

/* A first reading may come so long before the run; then the energy is roughly that of the run. */
#define MOST_AHEAD_NS (500 * NS_PER_MS)

/* A driver that was asked for is waited for this long before the command starts. */
#define LEAD_NS (250 * NS_PER_MS)

/* ---- Things ---------------------------------------------------------------------------------- */

static void gpu_things_add_label(struct entity *e, const char *key, const char *value)
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
    gpu_things_add_label(e, "index", thing->index);
    gpu_things_add_label(e, "instance", thing->facts.instance);
    gpu_things_add_label(e, "vendor", thing->facts.vendor);
    gpu_things_add_label(e, "model", thing->facts.name);
    gpu_things_add_label(e, "uuid", thing->facts.uuid);
    gpu_things_add_label(e, "pci", thing->facts.pci);
    gpu_things_add_label(e, "driver", thing->facts.driver);
    return thing;
}

void gpu_things_meet(struct gpu_things *t, const struct gpu_frame *f, const struct gpu_choice *c,
                     const struct gpu_choice *counted)
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
        if (!thing)
            continue;
        thing->is_chosen = gpu_choice_has(c, f->devices, f->device_count, facts);
        thing->is_counted = gpu_choice_has(counted, f->devices, f->device_count, facts);
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
static void gpu_things_keep_energy(struct gpu_thing *thing, uint64_t energy_ns, uint64_t start_ns)
{
    struct row *row = &thing->measured.read;
    if (energy_ns + MOST_AHEAD_NS < start_ns) /* used before the run */
        row_unknown(row, gpu_energy_joules);
    if (!row_has(row, gpu_energy_joules))
        return;
    uint64_t now_uj = row_u64(row, gpu_energy_joules);
    thing->energy_to_ns = energy_ns;
    if (!thing->energy_from_ns)
        thing->energy_from_ns = energy_ns;
    if (now_uj < thing->energy_uj / 2) {
        thing->energy_more_uj += thing->energy_uj - now_uj;
        thing->energy_was_reset = true;
    } else
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
    gpu_things_add_label(&thing->measured.entity, "scope", "device");
}

/* A reading stands for the time before it, but not for all of a long one; what it does not have is
 * missing for all of it. */
static void gpu_things_count_missing(struct gpu_thing *thing, const struct row *row,
                                     uint64_t span_ns, uint64_t holds_ns)
{
    for (unsigned i = 0; i < GPU_METRICS; i++)
        thing->missing_ns[i] += row->present >> i & 1 ? left_u64(span_ns, holds_ns) : span_ns;
}

static enum coverage energy_coverage(const struct gpu_thing *thing, uint64_t start_ns,
                                     uint64_t end_ns)
{
    uint64_t tolerance_ns = min_u64(left_u64(end_ns, start_ns) / 100, ENERGY_TOLERANCE_NS);
    uint64_t missing_ns = left_u64(thing->energy_from_ns, start_ns) +
                          left_u64(end_ns, thing->energy_to_ns);
    uint64_t beyond_ns = left_u64(start_ns, thing->energy_from_ns) +
                         left_u64(thing->energy_to_ns, end_ns);
    if (thing->energy_was_reset || missing_ns > tolerance_ns)
        return COVERED_PARTLY;
    return max_u64(missing_ns, beyond_ns) > ENERGY_STEP_NS ? COVERED_ROUGHLY : COVERED;
}

static enum coverage coverage_of(const struct gpu_thing *thing, unsigned i, uint64_t start_ns,
                                 uint64_t end_ns)
{
    enum metric_id id = gpu_first + i;
    if (id == gpu_energy_joules)
        return energy_coverage(thing, start_ns, end_ns);
    /* Both are made of the utilisation, which is seen at moments. */
    bool is_of_idle = id == gpu_idle_seconds || id == gpu_watched_seconds;
    unsigned known = is_of_idle ? (unsigned)(gpu_utilization_ratio - gpu_first) : i;
    uint64_t since_ns = left_u64(end_ns, max_u64(thing->answered_ns, start_ns));
    bool is_known = thing->known >> known & 1;
    uint64_t missing_ns = thing->missing_ns[known] +
                          (is_known ? left_u64(since_ns, thing->holds_ns) : since_ns);
    if (missing_ns && id != gpu_watched_seconds)
        return COVERED_PARTLY;
    return is_of_idle ? COVERED_ROUGHLY : COVERED;
}

void gpu_things_judge(const struct gpu_things *t, struct summary *s, uint64_t start_ns,
                      uint64_t end_ns)
{
    for (size_t k = 0; k < t->count; k++)
        for (size_t n = 0; t->items[k] && n < s->thing_count; n++) {
            if (s->things[n].thing != &t->items[k]->measured)
                continue;
            for (unsigned i = 0; i < GPU_METRICS; i++)
                s->things[n].series[i].coverage = coverage_of(t->items[k], i, start_ns, end_ns);
        }
}

/* A driver that takes long has told its counter, and the rest is still to come. */
static void put_energy_alone(struct gpu_thing *thing, const struct gpu_device *d, uint64_t start_ns,
                             struct measured_list *list)
{
    if (!row_has(&d->row, gpu_energy_joules))
        return;
    row_init(&thing->measured.read, ENTITY_GPU);
    row_put_u64(&thing->measured.read, gpu_energy_joules, row_u64(&d->row, gpu_energy_joules));
    gpu_things_keep_energy(thing, d->energy_ns, start_ns);
    measured_list_add(list, &thing->measured);
}

void gpu_things_put(struct gpu_things *t, const struct gpu_frame *f, uint64_t start_ns,
                    uint64_t most_ns, struct measured_list *list)
{
    for (unsigned i = 0; i < f->device_count && i < t->count; i++) {
        struct gpu_thing *thing = t->items[i];
        const struct gpu_device *d = &f->devices[i];
        if (!gpu_things_chosen(t, i))
            continue;
        bool is_read = d->read_ns != thing->read_ns;
        if (!is_read && !d->is_lost && d->energy_ns > thing->energy_to_ns)
            put_energy_alone(thing, d, start_ns, list);
        thing->read_ns = d->read_ns;
        if (d->is_lost || !is_read)
            continue;
        uint64_t span_ns = left_u64(d->read_ns, max_u64(thing->answered_ns, start_ns));
        thing->holds_ns = max_u64(most_ns, sum_u64(d->rest_ns, 2 * d->look_ns));
        gpu_things_count_missing(thing, &d->row, span_ns,
                                 thing->answered_ns ? thing->holds_ns : LEAD_NS);
        thing->answered_ns = d->read_ns;
        thing->measured.read = d->row;
        thing->known = d->row.present;
        gpu_things_keep_energy(thing, d->energy_ns, start_ns);
        count_idle(thing, &d->row, min_u64(span_ns, thing->holds_ns));
        if (has_unknown(f, i))
            label_scope(thing);
        measured_list_add(list, &thing->measured);
    }
}

void gpu_things_sum(const struct gpu_things *t, const struct gpu_frame *f, struct row *system)
{
    double busy = 0;
    uint64_t used = 0;
    bool any = false, any_counted = false, knows_busy = true, knows_used = true;
    for (unsigned i = 0; i < f->device_count; i++) {
        const struct row *row = &f->devices[i].row;
        if (!gpu_things_chosen(t, i))
            continue;
        bool is_counted = t->items[i]->is_counted;
        any = true;
        any_counted |= is_counted;
        if (is_counted)
            knows_busy &= !f->devices[i].is_lost && row_has(row, gpu_utilization_ratio);
        knows_used &= !f->devices[i].is_lost && row_has(row, gpu_memory_used_bytes);
        if (is_counted && knows_busy)
            busy += row_value(row, gpu_utilization_ratio).d;
        if (knows_used)
            used += row_u64(row, gpu_memory_used_bytes);
    }
    if (any_counted && knows_busy)
        row_put_double(system, system_gpu_utilization_ratio, busy);
    if (any && knows_used)
        row_put_u64(system, system_gpu_memory_used_bytes, used);
}

bool gpu_things_are_fresh(const struct gpu_things *t, const struct gpu_frame *f, uint64_t now_ns,
                          uint64_t holds_ns)
{
    for (unsigned i = 0; i < f->device_count; i++) {
        const struct gpu_device *d = &f->devices[i];
        if (gpu_things_chosen(t, i) &&
            left_u64(now_ns, d->read_ns) > sum_u64(holds_ns + d->rest_ns, 2 * d->look_ns))
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

static struct gpu_use *gpu_things_find(struct gpu_uses *u, const struct gpu_process *p)
{
    for (size_t i = 0; i < u->count; i++)
        if (u->items[i].pid == p->pid && u->items[i].device == p->device)
            return &u->items[i];
    return NULL;
}

static struct gpu_use *gpu_things_add(struct gpu_uses *u, const struct gpu_process *p)
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
    struct gpu_use *use = gpu_things_find(u, p);
    bool is_new = !use;
    if (!use)
        use = gpu_things_add(u, p);
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
    struct gpu_use *use = gpu_things_find(u, p);
    if (use)
        use->is_there = true;
    return use;
}

void gpu_uses_done(struct gpu_uses *u)
{
    free(u->items);
    *u = (struct gpu_uses){0};
}
