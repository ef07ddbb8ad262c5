/* SPDX-License-Identifier: MIT */
#include "engine/target/gpu_choice.h"

#include "base/err.h"
#include "base/text/scan.h"

#include <stdio.h>
#include <string.h>

enum { NAME_BYTES = GPU_TEXT_BYTES, SHORT_UUID = 12, LIST_BYTES = 380, GPUS_COUNTED = 256 };

/* Cuts the next name off the list; false at its end. */
static bool next_name(const char **list, char ret[NAME_BYTES])
{
    *list += strspn(*list, ", ");
    size_t length = strcspn(*list, ", ");
    if (!length)
        return false;
    snprintf(ret, NAME_BYTES, "%.*s", (int)length, *list);
    *list += length;
    return true;
}

static bool gpu_choice_is_number(const char *text)
{
    struct scan s = scan_string(text);
    uint64_t number;
    return scan_u64(&s, &number) && scan_done(&s);
}

/* A UUID may be cut short, as CUDA allows it. */
static bool is_uuid(const char *name)
{
    return strncmp(name, "GPU-", 4) == 0 || strncmp(name, "MIG-", 4) == 0;
}

static bool is_called(const struct gpu_facts *f, const char *name)
{
    char own[NAME_BYTES], number[64];
    gpu_facts_name(f, own, sizeof own);
    snprintf(number, sizeof number, "%u%s%s", f->index, *f->instance ? ":" : "", f->instance);
    if (strcmp(name, own) == 0 || strcmp(name, number) == 0 || strcmp(name, f->uuid) == 0)
        return true;
    /* A divided GPU is meant with its instances. */
    snprintf(number, sizeof number, "%u", f->index);
    if (strcmp(name, number) == 0)
        return true;
    if (!is_uuid(name) || strlen(name) <= 4)
        return false;
    if (*f->legacy && strcmp(name, f->legacy) == 0)
        return true;
    /* ROCm writes GPU- in front of what the driver calls the unique id. */
    const char *own_uuid = strcmp(f->vendor, "amd") == 0 ? name + 4 : name;
    return strncmp(f->uuid, own_uuid, strlen(own_uuid)) == 0;
}

static bool gpu_choice_is_in(const char *list, const struct gpu_facts *f)
{
    char name[NAME_BYTES];
    while (next_name(&list, name))
        if (is_called(f, name))
            return true;
    return false;
}

/* ---- The environment ------------------------------------------------------------------------- */

static bool copy_value(const char *value, char **ret)
{
    *ret = value ? strdup(value) : NULL;
    return !value || *ret;
}

/* Of a variable that speaks of the machine's GPUs: an empty value says nothing, and neither does
 * "void", which container runtimes write when they hand GPUs in by other means (CDI). */
static const char *host_list(const char *variable)
{
    const char *value = getenv(variable);
    return value && *value && strcmp(value, "void") != 0 ? value : NULL;
}

static int gpu_choice_read_environment(struct gpu_choice *c)
{
    bool has_memory = copy_value(getenv("CUDA_VISIBLE_DEVICES"), &c->cuda) &&
                      copy_value(getenv("ROCR_VISIBLE_DEVICES"), &c->rocr) &&
                      copy_value(getenv("HIP_VISIBLE_DEVICES"), &c->hip) &&
                      copy_value(getenv("ZE_AFFINITY_MASK"), &c->ze) &&
                      copy_value(host_list("NVIDIA_VISIBLE_DEVICES"), &c->nvidia_of_host) &&
                      copy_value(host_list("SLURM_JOB_GPUS"), &c->slurm);
    return has_memory ? 0 : -ENOMEM;
}

/* The devices of one vendor, in the order in which a runtime counts them. */
struct counted {
    const struct gpu_facts *items[GPUS_COUNTED];
    size_t count;
};

static struct counted count_vendor(const struct gpu_device *devices, size_t count,
                                   const char *vendor)
{
    struct counted all = {.count = 0};
    for (size_t i = 0; i < count && all.count < GPUS_COUNTED; i++)
        if (strcmp(devices[i].facts.vendor, vendor) == 0)
            all.items[all.count++] = &devices[i].facts;
    return all;
}

static bool is_counted(const struct counted *all, const struct gpu_facts *f)
{
    for (size_t i = 0; i < all->count; i++)
        if (all->items[i]->index == f->index && strcmp(all->items[i]->instance, f->instance) == 0)
            return true;
    return false;
}

/* Those that a runtime leaves: CUDA's and ROCm's lists end at the first entry that names no device,
 * and what is listed is counted anew in that order. */
static struct counted leave_listed(const struct counted *all, const char *list, bool by_place)
{
    struct counted left = {.count = 0};
    char name[NAME_BYTES];
    while (next_name(&list, name)) {
        size_t before = left.count;
        struct scan s = scan_string(name);
        uint64_t place;
        bool is_place = by_place && scan_u64(&s, &place) && scan_done(&s);
        for (size_t i = 0; i < all->count && left.count < GPUS_COUNTED; i++)
            if (is_place ? i == place : is_called(all->items[i], name))
                left.items[left.count++] = all->items[i];
        if (left.count == before)
            break;
    }
    return left;
}

/* Whether a list that counts as the machine does means this device. In a container that shows only
 * some of the machine's GPUs they are numbered anew: a list with an entry that names none of those
 * here counts them differently, and all that are here are meant. */
static bool is_in_host_list(const char *list, const struct counted *all, const struct gpu_facts *f)
{
    char name[NAME_BYTES];
    if (strcmp(list, "all") == 0)
        return true;
    if (strcmp(list, "none") == 0)
        return false;
    for (const char *rest = list; next_name(&rest, name);) {
        bool is_here = false;
        for (size_t i = 0; i < all->count; i++)
            is_here |= is_called(all->items[i], name);
        if (!is_here)
            return true;
    }
    return gpu_choice_is_in(list, f);
}

static bool is_visible_to_cuda(const struct gpu_choice *c, const struct counted *all,
                               const struct gpu_facts *f)
{
    if (c->cuda) {
        struct counted left = leave_listed(all, c->cuda, false);
        return is_counted(&left, f);
    }
    const char *list = c->nvidia_of_host ? c->nvidia_of_host : c->slurm;
    return !list || is_in_host_list(list, all, f);
}

/* HIP counts what ROCr leaves. */
static bool is_visible_to_rocm(const struct gpu_choice *c, const struct counted *all,
                               const struct gpu_facts *f)
{
    struct counted left = *all;
    if (!c->rocr && !c->hip)
        return !c->slurm || is_in_host_list(c->slurm, all, f);
    if (c->rocr)
        left = leave_listed(&left, c->rocr, true);
    if (c->hip)
        left = leave_listed(&left, c->hip, true);
    return is_counted(&left, f);
}

/* Numbers of devices, or of parts of them behind a dot; an empty mask hides nothing. Where a part
 * is counted as a device (ZE_FLAT_DEVICE_HIERARCHY) numbers may be larger than there are devices:
 * when none of them is one, all are meant. */
static bool is_visible_to_level_zero(const struct gpu_choice *c, const struct counted *all,
                                     const struct gpu_facts *f)
{
    char name[NAME_BYTES];
    bool any = false;
    for (const char *list = c->ze ? c->ze : ""; next_name(&list, name);) {
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

static bool is_visible(const struct gpu_choice *c, const struct gpu_device *devices, size_t count,
                       const struct gpu_facts *f)
{
    struct counted all = count_vendor(devices, count, f->vendor);
    if (strcmp(f->vendor, "nvidia") == 0)
        return is_visible_to_cuda(c, &all, f);
    if (strcmp(f->vendor, "amd") == 0)
        return is_visible_to_rocm(c, &all, f);
    return is_visible_to_level_zero(c, &all, f);
}

/* ---- What was asked for ---------------------------------------------------------------------- */

static int gpu_choice_refuse(struct toll_error *e, const char *text)
{
    return err_set(e, -EINVAL,
                   "'%s' names no GPUs: accepted are 'all', 'none', 'visible', or numbers, names "
                   "such as nvidia0 and UUIDs such as GPU-… with commas between",
                   text);
}

/* A number, 0:1, nvidia0, or a UUID: letters, digits and a few signs. */
static bool gpu_choice_is_name(const char *name)
{
    for (const char *c = name; *c; c++)
        if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-:/.", *c))
            return false;
    return is_uuid(name) || gpu_choice_is_number(name) || strpbrk(name, "0123456789");
}

static int take_names(struct gpu_choice *c, const char *text, struct toll_error *e)
{
    const char *list = text;
    char name[NAME_BYTES];
    size_t count = 0;
    for (; next_name(&list, name); count++)
        if (!gpu_choice_is_name(name))
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
        r = take_names(&c, text, e);
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
    case GPUS_NAMED: return gpu_choice_is_in(c->names, f);
    case GPUS_VISIBLE: return is_visible(c, devices, count, f);
    }
    return false;
}

/* Of each the UUID, or its beginning, which will do; as many as a sentence has room for. */
static void list_devices(struct buf *b, const struct gpu_device *devices, size_t count,
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
}

static void list_all(struct buf *b, const struct gpu_device *devices, size_t count)
{
    list_devices(b, devices, count, NAME_BYTES);
    if (b->length <= LIST_BYTES)
        return;
    buf_clear(b);
    list_devices(b, devices, count, SHORT_UUID);
}

static bool gpu_choice_is_there(const char *name, const struct gpu_device *devices, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (is_called(&devices[i].facts, name))
            return true;
    return false;
}

/* A number is every vendor's. */
bool gpu_choice_awaits(const struct gpu_choice *c, const struct gpu_device *devices, size_t count)
{
    if (c->kind != GPUS_NAMED)
        return c->kind != GPUS_NONE;
    const char *list = c->names;
    char name[NAME_BYTES];
    while (next_name(&list, name))
        if (!name[strspn(name, "0123456789:")] || !gpu_choice_is_there(name, devices, count))
            return true;
    return false;
}

int gpu_choice_check(const struct gpu_choice *c, const struct gpu_device *devices, size_t count,
                     struct toll_error *e)
{
    const char *list = c->kind == GPUS_NAMED ? c->names : "";
    char name[NAME_BYTES];
    while (next_name(&list, name)) {
        if (gpu_choice_is_there(name, devices, count))
            continue;
        struct buf there = {0};
        list_all(&there, devices, count);
        int r = err_set(e, -EINVAL, "there is no GPU '%s'; there are: %s", name,
                        count && there.data ? there.data : "none at all");
        buf_done(&there);
        return r;
    }
    return 0;
}
