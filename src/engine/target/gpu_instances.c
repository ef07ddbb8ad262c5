/* SPDX-License-Identifier: MIT */
#include "engine/target/gpu_instances.h"

#include "base/err.h"
#include "base/memory.h"
#include "base/text/scan.h"

#include <stdio.h>
#include <string.h>

/* ==== Choice ================================================================================== */

enum { NAME_BYTES = GPU_TEXT_BYTES, SHORT_UUID = 12, LIST_BYTES = 380, GPUS_COUNTED = 256 };

/* Takes the next name from the list; false at its end. */
static bool gpu_list_next(const char **list, char ret[NAME_BYTES])
{
    *list += strspn(*list, ", ");
    size_t length = strcspn(*list, ", ");
    if (!length)
        return false;
    snprintf(ret, NAME_BYTES, "%.*s", (int)length, *list);
    *list += length;
    return true;
}

/* A UUID may be cut short, as CUDA allows it. */
static bool gpu_name_is_uuid(const char *name)
{
    return strncmp(name, "GPU-", 4) == 0 || strncmp(name, "MIG-", 4) == 0;
}

static bool gpu_is_called(const struct gpu_facts *f, const char *name)
{
    char own[NAME_BYTES], number[64];
    gpu_facts_name(f, own, sizeof own);
    snprintf(number, sizeof number, "%u%s%s", f->index, *f->instance ? ":" : "", f->instance);
    if (strcmp(name, own) == 0 || strcmp(name, number) == 0 || strcmp(name, f->uuid) == 0)
        return true;
    /* The number of a divided GPU stands for its instances, too. */
    snprintf(number, sizeof number, "%u", f->index);
    if (strcmp(name, number) == 0)
        return true;
    if (!gpu_name_is_uuid(name) || strlen(name) <= 4)
        return false;
    if (*f->legacy && strcmp(name, f->legacy) == 0)
        return true;
    /* ROCm writes GPU- in front of what the driver calls the unique id. */
    const char *own_uuid = strcmp(f->vendor, "amd") == 0 ? name + 4 : name;
    return strncmp(f->uuid, own_uuid, strlen(own_uuid)) == 0;
}

static bool gpu_list_has(const char *list, const struct gpu_facts *f)
{
    char name[NAME_BYTES];
    while (gpu_list_next(&list, name))
        if (gpu_is_called(f, name))
            return true;
    return false;
}

/* ---- The environment ------------------------------------------------------------------------- */

static bool gpu_copy_value(const char *value, char **ret)
{
    *ret = value ? strdup(value) : NULL;
    return !value || *ret;
}

/* A variable that counts the machine's GPUs. An empty value says nothing, and neither does "void",
 * which container runtimes write when they hand GPUs in by other means (CDI). */
static const char *gpu_host_list(const char *variable)
{
    const char *value = getenv(variable);
    return value && *value && strcmp(value, "void") != 0 ? value : NULL;
}

static int gpu_choice_read_environment(struct gpu_choice *c)
{
    bool has_memory = gpu_copy_value(getenv("CUDA_VISIBLE_DEVICES"), &c->cuda) &&
                      gpu_copy_value(getenv("ROCR_VISIBLE_DEVICES"), &c->rocr) &&
                      gpu_copy_value(getenv("HIP_VISIBLE_DEVICES"), &c->hip) &&
                      gpu_copy_value(getenv("ZE_AFFINITY_MASK"), &c->ze) &&
                      gpu_copy_value(gpu_host_list("NVIDIA_VISIBLE_DEVICES"), &c->nvidia_of_host) &&
                      gpu_copy_value(gpu_host_list("SLURM_JOB_GPUS"), &c->slurm);
    return has_memory ? 0 : -ENOMEM;
}

/* Devices of one vendor, in the order in which a runtime counts them. */
struct gpu_list {
    const struct gpu_facts *items[GPUS_COUNTED];
    size_t count;
};

static bool gpu_list_has_device(const struct gpu_list *all, const struct gpu_facts *f)
{
    for (size_t i = 0; i < all->count; i++)
        if (all->items[i]->index == f->index && strcmp(all->items[i]->instance, f->instance) == 0)
            return true;
    return false;
}

/* The devices that a runtime leaves: lists of CUDA and ROCm end at the first entry that names no
 * device, and the listed ones are counted anew in that order. */
static struct gpu_list gpu_list_filter(const struct gpu_list *all, const char *list, bool by_place)
{
    struct gpu_list left = {.count = 0};
    char name[NAME_BYTES];
    while (gpu_list_next(&list, name)) {
        size_t before = left.count;
        struct scan s = scan_string(name);
        uint64_t place;
        bool is_place = by_place && scan_u64(&s, &place) && scan_done(&s);
        for (size_t i = 0; i < all->count && left.count < GPUS_COUNTED; i++)
            if (is_place ? i == place : gpu_is_called(all->items[i], name))
                left.items[left.count++] = all->items[i];
        if (left.count == before)
            break;
    }
    return left;
}

/* Whether a list that counts the machine's GPUs has this device. A container that shows only some
 * of them numbers them anew: when an entry names none of those here, the list counts differently,
 * and all that are here are chosen. */
static bool gpu_host_list_has(const char *list, const struct gpu_list *all,
                              const struct gpu_facts *f)
{
    char name[NAME_BYTES];
    if (strcmp(list, "all") == 0)
        return true;
    if (strcmp(list, "none") == 0)
        return false;
    for (const char *rest = list; gpu_list_next(&rest, name);) {
        bool is_here = false;
        for (size_t i = 0; i < all->count; i++)
            is_here |= gpu_is_called(all->items[i], name);
        if (!is_here)
            return true;
    }
    return gpu_list_has(list, f);
}

static bool gpu_is_visible_to_cuda(const struct gpu_choice *c, const struct gpu_list *all,
                                   const struct gpu_facts *f)
{
    if (c->cuda) {
        struct gpu_list left = gpu_list_filter(all, c->cuda, false);
        return gpu_list_has_device(&left, f);
    }
    const char *list = c->nvidia_of_host ? c->nvidia_of_host : c->slurm;
    return !list || gpu_host_list_has(list, all, f);
}

/* HIP counts the devices that ROCr leaves. */
static bool gpu_is_visible_to_rocm(const struct gpu_choice *c, const struct gpu_list *all,
                                   const struct gpu_facts *f)
{
    struct gpu_list left = *all;
    if (!c->rocr && !c->hip)
        return !c->slurm || gpu_host_list_has(c->slurm, all, f);
    if (c->rocr)
        left = gpu_list_filter(&left, c->rocr, true);
    if (c->hip)
        left = gpu_list_filter(&left, c->hip, true);
    return gpu_list_has_device(&left, f);
}

/* Numbers of devices, or of their parts after a dot; an empty mask hides nothing. Where a part is
 * counted as a device (ZE_FLAT_DEVICE_HIERARCHY) numbers may be larger than there are devices: when
 * none of them is one, all are chosen. */
static bool gpu_is_visible_to_level_zero(const struct gpu_choice *c, const struct gpu_list *all,
                                         const struct gpu_facts *f)
{
    char name[NAME_BYTES];
    bool any = false;
    for (const char *list = c->ze ? c->ze : ""; gpu_list_next(&list, name);) {
        name[strcspn(name, ".")] = '\0';
        struct scan s = scan_string(name);
        uint64_t index;
        if (!scan_u64(&s, &index) || !scan_done(&s))
            continue;
        if (index == f->index)
            return true;
        for (size_t i = 0; i < all->count; i++)
            any |= all->items[i]->index == index;
    }
    return !any;
}

static bool gpu_is_visible(const struct gpu_choice *c, const struct gpu_device *devices,
                           size_t count, const struct gpu_facts *f)
{
    struct gpu_list all = {.count = 0};
    for (size_t i = 0; i < count && all.count < GPUS_COUNTED; i++)
        if (strcmp(devices[i].facts.vendor, f->vendor) == 0)
            all.items[all.count++] = &devices[i].facts;
    if (strcmp(f->vendor, "nvidia") == 0)
        return gpu_is_visible_to_cuda(c, &all, f);
    if (strcmp(f->vendor, "amd") == 0)
        return gpu_is_visible_to_rocm(c, &all, f);
    return gpu_is_visible_to_level_zero(c, &all, f);
}

/* ---- What was asked for ---------------------------------------------------------------------- */

static int gpu_choice_refuse(struct toll_error *e, const char *text)
{
    return err_set(
        e, -EINVAL,
        "gpus: invalid GPUs '%s' (expected 'all', 'none', 'visible', or a comma-separated "
        "list of numbers, names such as nvidia0 and UUIDs such as GPU-…)",
        text);
}

/* A name is a number, 0:1, nvidia0, or a UUID: letters, digits and a few signs. */
static int gpu_choice_take_names(struct gpu_choice *c, const char *text, struct toll_error *e)
{
    static const char signs[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-:/.";
    const char *list = text;
    char name[NAME_BYTES];
    size_t count = 0;
    for (; gpu_list_next(&list, name); count++)
        if (name[strspn(name, signs)] || !(gpu_name_is_uuid(name) || strpbrk(name, "0123456789")))
            return gpu_choice_refuse(e, text);
    if (!count)
        return gpu_choice_refuse(e, text);
    c->kind = GPUS_NAMED;
    c->names = strdup(text);
    return c->names ? 0 : -ENOMEM;
}

int gpu_choice_parse(struct gpu_choice *ret, const char *text, struct toll_error *e)
{
    struct gpu_choice c = {.kind = GPUS_VISIBLE, .is_asked = text != NULL};
    int r = 0;
    if (!text || strcmp(text, "visible") == 0)
        r = gpu_choice_read_environment(&c);
    else if (strcmp(text, "all") == 0)
        c.kind = GPUS_ALL;
    else if (strcmp(text, "none") == 0)
        c = (struct gpu_choice){.kind = GPUS_NONE};
    else
        r = gpu_choice_take_names(&c, text, e);
    if (r < 0) {
        gpu_choice_done(&c);
        return r;
    }
    *ret = c;
    return 0;
}

void gpu_choice_done(struct gpu_choice *c)
{
    free(c->names);
    free(c->cuda);
    free(c->rocr);
    free(c->hip);
    free(c->ze);
    free(c->nvidia_of_host);
    free(c->slurm);
    *c = (struct gpu_choice){.kind = GPUS_NONE};
}

bool gpu_choice_has(const struct gpu_choice *c, const struct gpu_device *devices, size_t count,
                    const struct gpu_facts *f)
{
    switch (c->kind) {
    case GPUS_ALL: return true;
    case GPUS_NONE: return false;
    case GPUS_NAMED: return gpu_list_has(c->names, f);
    case GPUS_VISIBLE: return gpu_is_visible(c, devices, count, f);
    }
    return false;
}

/* Lists the devices with their UUIDs, or where that is too long with the beginnings of these, which
 * are accepted, too; as many as a message has room for. */
static void gpu_choice_list(struct buf *b, const struct gpu_device *devices, size_t count,
                            int uuid_bytes)
{
    for (size_t i = 0; i < count; i++) {
        const struct gpu_facts *f = &devices[i].facts;
        char name[NAME_BYTES];
        gpu_facts_name(f, name, sizeof name);
        if (b->length + strlen(name) + strlen(f->uuid) > LIST_BYTES && uuid_bytes < NAME_BYTES) {
            buf_printf(b, " and %zu more", count - i);
            return;
        }
        buf_printf(b, "%s%s%s%.*s%s", i ? ", " : "", name, *f->uuid ? " (" : "", uuid_bytes,
                   f->uuid, *f->uuid ? ")" : "");
    }
    if (b->length > LIST_BYTES && uuid_bytes == NAME_BYTES) {
        buf_clear(b);
        gpu_choice_list(b, devices, count, SHORT_UUID);
    }
}

static bool gpu_choice_is_there(const char *name, const struct gpu_device *devices, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (gpu_is_called(&devices[i].facts, name))
            return true;
    return false;
}

/* A number names a GPU of every vendor. */
bool gpu_choice_awaits(const struct gpu_choice *c, const struct gpu_device *devices, size_t count)
{
    if (c->kind != GPUS_NAMED)
        return c->kind != GPUS_NONE;
    const char *list = c->names;
    char name[NAME_BYTES];
    while (gpu_list_next(&list, name))
        if (!name[strspn(name, "0123456789:")] || !gpu_choice_is_there(name, devices, count))
            return true;
    return false;
}

int gpu_choice_check(const struct gpu_choice *c, const struct gpu_device *devices, size_t count,
                     struct toll_error *e)
{
    const char *list = c->kind == GPUS_NAMED ? c->names : "";
    char name[NAME_BYTES];
    while (gpu_list_next(&list, name)) {
        if (gpu_choice_is_there(name, devices, count))
            continue;
        struct buf there = {0};
        gpu_choice_list(&there, devices, count, NAME_BYTES);
        int r = err_set(e, -EINVAL, "gpus: no GPU '%s'; available: %s", name,
                        count && there.data ? there.data : "none");
        buf_done(&there);
        return r;
    }
    return 0;
}

/* Drivers renew their counters of energy about this often. A reading this close to the beginning or
 * the end of a run is as good as one at that moment: the energy is exact. */
#define ENERGY_STEP_NS (20 * NS_PER_MS)

/* Up to this far a reading still covers the run, but not exactly. */
#define ENERGY_TOLERANCE_NS (100 * NS_PER_MS)

/* A first reading may be this long before the run: the energy is roughly that of the run then. */
#define MOST_AHEAD_NS (500 * NS_PER_MS)

/* A run waits this long at most for a driver before the command starts. */
#define LEAD_NS (250 * NS_PER_MS)

/* ---- Instances ----------------------------------------------------------------------------------
 */

static void gpu_instance_add_label(struct entity *e, const char *key, const char *value)
{
    for (unsigned i = 0; i < ENTITY_LABELS && *value; i++)
        if (!e->labels[i].key) {
            e->labels[i] = (struct label){key, value};
            return;
        }
}

static struct gpu_instance *gpu_instance_new(const struct gpu_facts *facts)
{
    struct gpu_instance *instance = calloc(1, sizeof *instance);
    if (!instance)
        return NULL;
    instance->facts = *facts;
    snprintf(instance->index, sizeof instance->index, "%u", facts->index);
    instance_init(&instance->instance, ENTITY_GPU);
    struct entity *e = &instance->instance.entity;
    gpu_facts_name(facts, e->name, sizeof e->name);
    gpu_instance_add_label(e, "index", instance->index);
    gpu_instance_add_label(e, "instance", instance->facts.instance);
    gpu_instance_add_label(e, "vendor", instance->facts.vendor);
    gpu_instance_add_label(e, "model", instance->facts.name);
    gpu_instance_add_label(e, "uuid", instance->facts.uuid);
    gpu_instance_add_label(e, "pci", instance->facts.pci);
    gpu_instance_add_label(e, "driver", instance->facts.driver);
    return instance;
}

void gpu_instances_meet(struct gpu_instances *t, const struct gpu_frame *f,
                        const struct gpu_choice *c, const struct gpu_choice *counted)
{
    if (f->device_count <= t->count)
        return;
    struct gpu_instance **items = reallocarray(t->items, f->device_count, sizeof *items);
    if (!items)
        return;
    t->items = items;
    for (; t->count < f->device_count; t->count++) {
        const struct gpu_facts *facts = &f->devices[t->count].facts;
        struct gpu_instance *instance = items[t->count] = gpu_instance_new(facts);
        if (!instance)
            continue;
        instance->is_chosen = gpu_choice_has(c, f->devices, f->device_count, facts);
        instance->is_counted = gpu_choice_has(counted, f->devices, f->device_count, facts);
    }
}

/* A counter from the beginning of the run, not from the first reading. */
static void gpu_instance_put_counter(struct instance *m, enum metric_id id, uint64_t value_ns)
{
    row_put_u64(&m->base, id, 0);
    row_put_u64(&m->read, id, value_ns);
}

static void gpu_instance_count_idle(struct gpu_instance *instance, const struct row *row,
                                    uint64_t span_ns)
{
    if (row_has(row, gpu_utilization_ratio)) {
        instance->is_watched = true;
        instance->watched_ns += span_ns;
        if (row_value(row, gpu_utilization_ratio).d == 0)
            instance->idle_ns += span_ns;
    }
    if (!instance->is_watched)
        return;
    gpu_instance_put_counter(&instance->instance, gpu_watched_seconds, instance->watched_ns);
    gpu_instance_put_counter(&instance->instance, gpu_idle_seconds, instance->idle_ns);
}

/* A counter never falls. The driver's begins anew when the driver is loaded again, far below where
 * it was: what it counted before is kept and added. When it is a little lower it is held. */
static void gpu_instance_keep_energy(struct gpu_instance *instance, uint64_t energy_ns,
                                     uint64_t start_ns)
{
    struct row *row = &instance->instance.read;
    if (energy_ns + MOST_AHEAD_NS < start_ns) /* used before the run */
        row_unknown(row, gpu_energy_joules);
    if (!row_has(row, gpu_energy_joules))
        return;
    uint64_t now_uj = row_u64(row, gpu_energy_joules);
    instance->energy_to_ns = energy_ns;
    if (!instance->energy_from_ns)
        instance->energy_from_ns = energy_ns;
    if (now_uj < instance->energy_uj / 2) {
        instance->energy_more_uj += instance->energy_uj - now_uj;
        instance->energy_was_reset = true;
    } else
        now_uj = max_u64(now_uj, instance->energy_uj);
    instance->energy_uj = now_uj;
    row_put_u64(row, gpu_energy_joules, sum_u64(now_uj, instance->energy_more_uj));
}

/* Whether the device is used by a process that is not known. */
static bool gpu_has_unknown_user(const struct gpu_frame *f, unsigned device)
{
    for (size_t i = 0; i < f->process_count; i++)
        if (f->processes[i].device == device && f->processes[i].pid == GPU_UNKNOWN_PID)
            return true;
    return false;
}

static enum coverage gpu_instance_energy_coverage(const struct gpu_instance *instance,
                                                  uint64_t start_ns, uint64_t end_ns)
{
    uint64_t tolerance_ns = min_u64(left_u64(end_ns, start_ns) / 100, ENERGY_TOLERANCE_NS);
    uint64_t missing_ns = left_u64(instance->energy_from_ns, start_ns) +
                          left_u64(end_ns, instance->energy_to_ns);
    uint64_t beyond_ns = left_u64(start_ns, instance->energy_from_ns) +
                         left_u64(instance->energy_to_ns, end_ns);
    if (instance->energy_was_reset || missing_ns > tolerance_ns)
        return COVERED_PARTLY;
    return max_u64(missing_ns, beyond_ns) > ENERGY_STEP_NS ? COVERED_ROUGHLY : COVERED;
}

static enum coverage gpu_instance_coverage(const struct gpu_instance *instance, unsigned i,
                                           uint64_t start_ns, uint64_t end_ns)
{
    enum metric_id id = gpu_first + i;
    if (id == gpu_energy_joules)
        return gpu_instance_energy_coverage(instance, start_ns, end_ns);
    /* Idle and watched time follow from the utilisation, which is sampled. */
    bool is_of_idle = id == gpu_idle_seconds || id == gpu_watched_seconds;
    unsigned known = is_of_idle ? (unsigned)(gpu_utilization_ratio - gpu_first) : i;
    uint64_t since_ns = left_u64(end_ns, max_u64(instance->answered_ns, start_ns));
    bool is_known = instance->known >> known & 1;
    uint64_t missing_ns = instance->missing_ns[known] +
                          (is_known ? left_u64(since_ns, instance->holds_ns) : since_ns);
    if (missing_ns && id != gpu_watched_seconds)
        return COVERED_PARTLY;
    return is_of_idle ? COVERED_ROUGHLY : COVERED;
}

void gpu_instances_judge(const struct gpu_instances *t, struct summary *s, uint64_t start_ns,
                         uint64_t end_ns)
{
    for (size_t k = 0; k < t->count; k++)
        for (size_t n = 0; t->items[k] && n < s->instance_count; n++) {
            if (s->instances[n].instance != &t->items[k]->instance)
                continue;
            for (unsigned i = 0; i < GPU_METRICS; i++)
                s->instances[n].series[i].coverage = gpu_instance_coverage(t->items[k], i, start_ns,
                                                                           end_ns);
        }
}

/* The energy of a driver that takes long, ahead of the other figures. */
static void gpu_instance_put_energy(struct gpu_instance *instance, const struct gpu_device *d,
                                    uint64_t start_ns, struct instance_list *list)
{
    if (!row_has(&d->row, gpu_energy_joules))
        return;
    row_init(&instance->instance.read, ENTITY_GPU);
    row_put_u64(&instance->instance.read, gpu_energy_joules, row_u64(&d->row, gpu_energy_joules));
    gpu_instance_keep_energy(instance, d->energy_ns, start_ns);
    instance_list_add(list, &instance->instance);
}

void gpu_instances_put(struct gpu_instances *t, const struct gpu_frame *f, uint64_t start_ns,
                       uint64_t most_ns, struct instance_list *list)
{
    for (unsigned i = 0; i < f->device_count && i < t->count; i++) {
        struct gpu_instance *instance = t->items[i];
        const struct gpu_device *d = &f->devices[i];
        if (!gpu_instances_chosen(t, i))
            continue;
        bool is_read = d->read_ns != instance->read_ns;
        if (!is_read && !d->is_lost && d->energy_ns > instance->energy_to_ns)
            gpu_instance_put_energy(instance, d, start_ns, list);
        instance->read_ns = d->read_ns;
        if (d->is_lost || !is_read)
            continue;
        uint64_t span_ns = left_u64(d->read_ns, max_u64(instance->answered_ns, start_ns));
        instance->holds_ns = max_u64(most_ns, sum_u64(d->rest_ns, 2 * d->look_ns));
        /* A reading covers the time before it, but not all of a long one. A figure that it does not
         * have is missing for all of it. */
        uint64_t covered_ns = instance->answered_ns ? instance->holds_ns : LEAD_NS;
        for (unsigned id = 0; id < GPU_METRICS; id++)
            instance->missing_ns[id] += d->row.present >> id & 1 ? left_u64(span_ns, covered_ns)
                                                                 : span_ns;
        instance->answered_ns = d->read_ns;
        instance->instance.read = d->row;
        instance->known = d->row.present;
        gpu_instance_keep_energy(instance, d->energy_ns, start_ns);
        gpu_instance_count_idle(instance, &d->row, min_u64(span_ns, instance->holds_ns));
        if (!instance->is_unclear && gpu_has_unknown_user(f, i)) {
            instance->is_unclear = true;
            gpu_instance_add_label(&instance->instance.entity, "scope", "device");
        }
        instance_list_add(list, &instance->instance);
    }
}

void gpu_instances_sum(const struct gpu_instances *t, const struct gpu_frame *f, struct row *system)
{
    double busy = 0;
    uint64_t used = 0;
    bool any = false, any_counted = false, knows_busy = true, knows_used = true;
    for (unsigned i = 0; i < f->device_count; i++) {
        const struct row *row = &f->devices[i].row;
        if (!gpu_instances_chosen(t, i))
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

bool gpu_instances_are_fresh(const struct gpu_instances *t, const struct gpu_frame *f,
                             uint64_t now_ns, uint64_t holds_ns)
{
    for (unsigned i = 0; i < f->device_count; i++) {
        const struct gpu_device *d = &f->devices[i];
        if (gpu_instances_chosen(t, i) &&
            left_u64(now_ns, d->read_ns) > sum_u64(holds_ns + d->rest_ns, 2 * d->look_ns))
            return false;
    }
    return f->device_count;
}

bool gpu_instances_are_unclear(const struct gpu_instances *t, const struct gpu_frame *f)
{
    for (unsigned i = 0; i < f->device_count; i++)
        if (gpu_instances_chosen(t, i) && gpu_has_unknown_user(f, i))
            return true;
    return false;
}

void gpu_instances_done(struct gpu_instances *t)
{
    for (size_t i = 0; i < t->count; i++)
        free(t->items[i]);
    free(t->items);
    *t = (struct gpu_instances){0};
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

static struct gpu_use *gpu_uses_find(struct gpu_uses *u, const struct gpu_process *p)
{
    for (size_t i = 0; i < u->count; i++)
        if (u->items[i].pid == p->pid && u->items[i].device == p->device)
            return &u->items[i];
    return NULL;
}

const struct gpu_use *gpu_uses_look(struct gpu_uses *u, const struct gpu_process *p,
                                    bool from_birth, uint64_t read_ns)
{
    struct gpu_use *use = gpu_uses_find(u, p);
    bool is_new = !use;
    if (is_new) {
        if (!ARRAY_RESERVE(u->items, u->capacity, u->count + 1))
            return NULL;
        use = &u->items[u->count++];
        *use = (struct gpu_use){.pid = p->pid, .device = p->device, .share = -1};
    }
    use->is_there = true;
    if (!is_new && use->looked_ns == read_ns)
        return use; /* its device was not read since */
    if (is_new && !from_birth)
        use->last_ns = p->busy_ns;
    uint64_t grown = counter_growth(&use->last_ns, p->busy_ns);
    use->share = -1;
    if (!is_new && read_ns > use->looked_ns)
        use->share = (double)grown / (double)(read_ns - use->looked_ns);
    if (use->share > 1)
        use->share = 1; /* the driver may count late */
    use->total_ns += grown;
    return use;
}

bool gpu_uses_keep(struct gpu_uses *u, const struct gpu_process *p)
{
    struct gpu_use *use = gpu_uses_find(u, p);
    if (use)
        use->is_there = true;
    return use;
}

void gpu_uses_done(struct gpu_uses *u)
{
    free(u->items);
    *u = (struct gpu_uses){0};
}
