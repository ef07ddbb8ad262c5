/* SPDX-License-Identifier: MIT */
#include "engine/target/gpu_choice.h"

#include "base/err.h"
#include "base/text/scan.h"

#include <stdio.h>
#include <string.h>

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
    return err_set(e, -EINVAL,
                   "invalid GPUs '%s' (expected 'all', 'none', 'visible', or a comma-separated "
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
        int r = err_set(e, -EINVAL, "no GPU '%s'; available: %s", name,
                        count && there.data ? there.data : "none");
        buf_done(&there);
        return r;
    }
    return 0;
}
