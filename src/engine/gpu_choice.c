/* SPDX-License-Identifier: MIT */
#include "engine/gpu_choice.h"

#include "base/err.h"
#include "base/scan.h"

#include <stdio.h>
#include <string.h>

enum { NAME_BYTES = GPU_TEXT_BYTES, SHORT_UUID = 12, LIST_BYTES = 380 };

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

static bool is_number(const char *text)
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

void gpu_choice_name(const struct gpu_facts *f, char *ret, size_t size)
{
    snprintf(ret, size, "%s%u%s%s", f->vendor, f->index, *f->instance ? ":" : "", f->instance);
}

static bool is_called(const struct gpu_facts *f, const char *name)
{
    char own[NAME_BYTES], number[64];
    gpu_choice_name(f, own, sizeof own);
    snprintf(number, sizeof number, "%u%s%s", f->index, *f->instance ? ":" : "", f->instance);
    if (strcmp(name, own) == 0 || strcmp(name, number) == 0 || strcmp(name, f->uuid) == 0)
        return true;
    /* A divided GPU is meant with its instances. */
    snprintf(number, sizeof number, "%u", f->index);
    if (strcmp(name, number) == 0)
        return true;
    if (!is_uuid(name) || strlen(name) <= 4)
        return false;
    /* ROCm writes GPU- in front of what the driver calls the unique id. */
    const char *own_uuid = strcmp(f->vendor, "amd") == 0 ? name + 4 : name;
    return strncmp(f->uuid, own_uuid, strlen(own_uuid)) == 0;
}

/* A list ends at -1, as CUDA reads it. */
static bool is_in(const char *list, const struct gpu_facts *f)
{
    char name[NAME_BYTES];
    while (next_name(&list, name) && *name != '-')
        if (is_called(f, name))
            return true;
    return false;
}

/* ---- The environment ------------------------------------------------------------------------- */

static const char *first_set(const char *const *variables)
{
    for (; *variables; variables++)
        if (getenv(*variables))
            return getenv(*variables);
    return NULL;
}

static int read_environment(struct gpu_choice *c)
{
    static const char *const of_nvidia[] = {"CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES",
                                            "SLURM_JOB_GPUS", NULL};
    static const char *const of_amd[] = {"ROCR_VISIBLE_DEVICES", "SLURM_JOB_GPUS", NULL};
    const char *nvidia = first_set(of_nvidia), *amd = first_set(of_amd);
    c->nvidia = nvidia ? strdup(nvidia) : NULL;
    c->amd = amd ? strdup(amd) : NULL;
    return (nvidia && !c->nvidia) || (amd && !c->amd) ? -ENOMEM : 0;
}

static const char *visible_of(const struct gpu_choice *c, const char *vendor)
{
    if (strcmp(vendor, "nvidia") == 0)
        return c->nvidia;
    return strcmp(vendor, "amd") == 0 ? c->amd : NULL;
}

/* Words that stand for no device at all. */
static bool hides_all(const char *list)
{
    static const char *const words[] = {"", "-1", "none", "void", "NoDevFiles"};
    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        if (strcmp(list, words[i]) == 0)
            return true;
    return false;
}

static bool is_visible(const struct gpu_choice *c, const struct gpu_device *devices, size_t count,
                       const struct gpu_facts *f)
{
    const char *list = visible_of(c, f->vendor);
    if (!list || strcmp(list, "all") == 0)
        return true;
    if (hides_all(list))
        return false;
    if (is_in(list, f))
        return true;
    for (size_t i = 0; i < count; i++)
        if (strcmp(devices[i].facts.vendor, f->vendor) == 0 && is_in(list, &devices[i].facts))
            return false;
    return true;
}

/* ---- What was asked for ---------------------------------------------------------------------- */

static int refuse(struct toll_error *e, const char *text)
{
    return err_set(e, -EINVAL,
                   "'%s' names no GPUs: accepted are 'all', 'none', 'visible', or numbers, names "
                   "such as nvidia0 and UUIDs such as GPU-… with commas between",
                   text);
}

/* A number, 0:1, nvidia0, or a UUID: letters, digits and a few signs. */
static bool is_name(const char *name)
{
    for (const char *c = name; *c; c++)
        if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-:/.", *c))
            return false;
    return is_uuid(name) || is_number(name) || strpbrk(name, "0123456789");
}

static int take_names(struct gpu_choice *c, const char *text, struct toll_error *e)
{
    const char *list = text;
    char name[NAME_BYTES];
    size_t count = 0;
    for (; next_name(&list, name); count++)
        if (!is_name(name))
            return refuse(e, text);
    if (!count)
        return refuse(e, text);
    c->kind = GPUS_NAMED;
    c->names = strdup(text);
    return c->names ? 0 : -ENOMEM;
}

int gpu_choice_parse(struct gpu_choice *ret, const char *text, struct toll_error *e)
{
    struct gpu_choice c = {.kind = GPUS_VISIBLE, .is_asked = text != NULL};
    int r = 0;
    if (!text || strcmp(text, "visible") == 0)
        r = read_environment(&c);
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
    free(c->nvidia);
    free(c->amd);
    *c = (struct gpu_choice){.kind = GPUS_NONE};
}

bool gpu_choice_has(const struct gpu_choice *c, const struct gpu_device *devices, size_t count,
                    const struct gpu_facts *f)
{
    switch (c->kind) {
    case GPUS_ALL: return true;
    case GPUS_NONE: return false;
    case GPUS_NAMED: return is_in(c->names, f);
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
        gpu_choice_name(f, name, sizeof name);
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

static bool is_there(const char *name, const struct gpu_device *devices, size_t count)
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
        if (!name[strspn(name, "0123456789:")] || !is_there(name, devices, count))
            return true;
    return false;
}

int gpu_choice_check(const struct gpu_choice *c, const struct gpu_device *devices, size_t count,
                     struct toll_error *e)
{
    const char *list = c->kind == GPUS_NAMED ? c->names : "";
    char name[NAME_BYTES];
    while (next_name(&list, name)) {
        if (is_there(name, devices, count))
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
