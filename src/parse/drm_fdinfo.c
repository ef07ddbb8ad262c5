/* SPDX-License-Identifier: MIT
 *
 * drm-driver: amdgpu
 * drm-client-id: 141
 * drm-pdev: 0000:03:00.0
 * drm-memory-vram: 2048 KiB
 * drm-engine-gfx: 28301 ns
 *
 * drm-driver: i915
 * drm-total-system0: 6044 KiB
 * drm-resident-system0: 0
 * drm-engine-video: 9288864723 ns
 * drm-engine-capacity-video: 2
 *
 * drm-driver: xe
 * drm-resident-vram0: 16 MiB
 * drm-cycles-rcs: 28257900
 * drm-total-cycles-rcs: 7655183225
 *
 * drm-memory-X is the older name of drm-resident-X. Sizes without a unit are bytes. A last line
 * without its newline was cut short: its number may be too, so it is not there. */
#include "parse/drm_fdinfo.h"

#include "base/util.h"

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

static bool at_end(struct scan *s)
{
    scan_blanks(s);
    return scan_done(s);
}

/* A word without blanks; one that does not fit, or has control characters in it, is none. */
static bool read_name(struct scan *s, char until, char ret[DRM_NAME_BYTES])
{
    const char *at = s->at;
    for (; at < s->end && *at != until && !is_blank(*at); at++)
        if ((unsigned char)*at < ' ' || *at == 127)
            return false;
    size_t length = (size_t)(at - s->at);
    if (!length || length >= DRM_NAME_BYTES)
        return false;
    memcpy(ret, s->at, length);
    ret[length] = '\0';
    s->at = at;
    return true;
}

static bool read_word(struct scan *s, char ret[DRM_NAME_BYTES])
{
    scan_blanks(s);
    return read_name(s, '\n', ret) && at_end(s);
}

static bool read_count(struct scan *s, uint64_t *ret)
{
    return scan_u64(s, ret) && at_end(s);
}

static bool read_ns(struct scan *s, uint64_t *ret)
{
    return scan_u64(s, ret) && scan_word(s, " ns") && at_end(s);
}

static bool read_bytes(struct scan *s, uint64_t *ret)
{
    static const char *const units[] = {"", " KiB", " MiB", " GiB"};
    uint64_t value;
    if (!scan_u64(s, &value))
        return false;
    unsigned unit = 0;
    for (unsigned u = 1; u < ARRAY_LEN(units); u++)
        if (scan_word(s, units[u]))
            unit = u;
    return at_end(s) && !__builtin_mul_overflow(value, UINT64_C(1) << 10 * unit, ret);
}

/* The one of that name, made if it is new; NULL when there are too many. */
static struct drm_engine *engine_of(struct drm_fdinfo *d, const char *name)
{
    for (unsigned i = 0; i < d->engine_count; i++)
        if (strcmp(d->engines[i].name, name) == 0)
            return &d->engines[i];
    if (d->engine_count == DRM_ENGINES)
        return NULL;
    struct drm_engine *e = &d->engines[d->engine_count++];
    e->capacity = 1;
    memcpy(e->name, name, DRM_NAME_BYTES);
    return e;
}

static struct drm_region *region_of(struct drm_fdinfo *d, const char *name)
{
    for (unsigned i = 0; i < d->region_count; i++)
        if (strcmp(d->regions[i].name, name) == 0)
            return &d->regions[i];
    if (d->region_count == DRM_REGIONS)
        return NULL;
    struct drm_region *r = &d->regions[d->region_count++];
    memcpy(r->name, name, DRM_NAME_BYTES);
    return r;
}

static bool take_capacity(struct drm_fdinfo *d, const char *name, struct scan *s)
{
    uint64_t capacity;
    struct drm_engine *e = engine_of(d, name);
    if (!read_count(s, &capacity) || !capacity)
        return false;
    if (e)
        e->capacity = capacity;
    return true;
}

static bool take_busy(struct drm_fdinfo *d, const char *name, struct scan *s)
{
    struct drm_engine unused, *e = engine_of(d, name);
    e = e ? e : &unused;
    return e->has_busy = read_ns(s, &e->busy_ns);
}

static bool take_cycles(struct drm_fdinfo *d, const char *name, struct scan *s)
{
    struct drm_engine unused, *e = engine_of(d, name);
    e = e ? e : &unused;
    return e->has_cycles = read_count(s, &e->cycles);
}

static bool take_total_cycles(struct drm_fdinfo *d, const char *name, struct scan *s)
{
    struct drm_engine unused, *e = engine_of(d, name);
    e = e ? e : &unused;
    return e->has_total = read_count(s, &e->total_cycles);
}

static bool take_total(struct drm_fdinfo *d, const char *name, struct scan *s)
{
    struct drm_region unused, *r = region_of(d, name);
    r = r ? r : &unused;
    return r->has_total = read_bytes(s, &r->total_bytes);
}

static bool take_resident(struct drm_fdinfo *d, const char *name, struct scan *s)
{
    struct drm_region unused, *r = region_of(d, name);
    r = r ? r : &unused;
    return r->has_resident = read_bytes(s, &r->resident_bytes);
}

static bool take_value(struct drm_fdinfo *d, struct scan *line)
{
    static const struct {
        const char *prefix;
        bool (*take)(struct drm_fdinfo *d, const char *name, struct scan *s);
    } keys[] = {
        /* A longer one before the one it begins with. */
        {"engine-capacity-", take_capacity},
        {"engine-", take_busy},
        {"total-cycles-", take_total_cycles},
        {"cycles-", take_cycles},
        {"total-", take_total},
        {"resident-", take_resident},
        {"memory-", take_resident},
    };
    for (size_t k = 0; k < ARRAY_LEN(keys); k++) {
        char name[DRM_NAME_BYTES] = "";
        if (!scan_word(line, keys[k].prefix))
            continue;
        return read_name(line, ':', name) && scan_word(line, ":") && keys[k].take(d, name, line);
    }
    return true; /* nobody asks for it */
}

static void lower(char *text)
{
    for (; *text; text++)
        if (*text >= 'A' && *text <= 'Z')
            *text = (char)(*text + 'a' - 'A');
}

int parse_drm_fdinfo(struct scan text, struct drm_fdinfo *ret)
{
    struct drm_fdinfo d = {0};
    bool has_client = false, is_good = true;
    struct scan line;
    while (is_good && scan_line(&text, &line) && line.end < text.at) {
        if (!scan_word(&line, "drm-"))
            continue;
        if (scan_word(&line, "driver:"))
            is_good = read_word(&line, d.driver);
        else if (scan_word(&line, "pdev:"))
            is_good = read_word(&line, d.pci);
        else if (scan_word(&line, "client-id:"))
            is_good = has_client = read_count(&line, &d.client);
        else
            is_good = take_value(&d, &line);
    }
    if (!is_good)
        return -EBADMSG;
    if (!*d.driver || !has_client)
        return -ENODATA;
    lower(d.pci);
    *ret = d;
    return 0;
}

static bool begins_with_one_of(const char *name, const char *const *words)
{
    for (; *words; words++)
        if (strncmp(name, *words, strlen(*words)) == 0)
            return true;
    return false;
}

static bool sum_regions(const struct drm_fdinfo *d, const char *const *names, uint64_t *ret_bytes)
{
    uint64_t sum = 0;
    bool has_sum = false;
    for (unsigned i = 0; i < d->region_count; i++) {
        const struct drm_region *r = &d->regions[i];
        if (!begins_with_one_of(r->name, names))
            continue;
        sum = sum_u64(sum, r->has_resident ? r->resident_bytes : r->total_bytes);
        has_sum = true;
    }
    if (has_sum)
        *ret_bytes = sum;
    return has_sum;
}

bool drm_fdinfo_memory(const struct drm_fdinfo *d, uint64_t *ret_bytes)
{
    static const char *const on_card[] = {"vram", "local", NULL};
    static const char *const of_machine[] = {"system", "gtt", NULL};
    return sum_regions(d, on_card, ret_bytes) || sum_regions(d, of_machine, ret_bytes);
}
