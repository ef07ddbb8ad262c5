/* SPDX-License-Identifier: MIT
 *
 * /sys/class/powercap/intel-rapl:0/name                  package-0
 * /sys/class/powercap/intel-rapl:0/energy_uj             118253491324
 * /sys/class/powercap/intel-rapl:0/max_energy_range_uj   262143328850
 * /sys/class/powercap/intel-rapl:0:0/name                core
 *
 * The driver has this name with processors of AMD too. intel-rapl-mmio:N is another way to the
 * package of intel-rapl:N and is left out.
 *
 * A counter goes back to 0 at the end of its range, every few minutes under load. A value lower
 * than the one before is taken for one such turn, and the range is added; several turns between two
 * readings cannot be seen. The kernel gives the range as the largest value, so that a turn is in
 * truth one step of the counter (some 15 to 61 millionths of a joule) longer; this is left out. */
#include "collect/collectors.h"

#include "base/file.h"
#include "collect/number_file.h"

#include <fcntl.h>
#include <stdio.h>

enum { ZONE_BYTES = 48 };

struct zone {
    struct measured measured;
    struct zone *next;
    struct number_file energy;
    char label[ZONE_BYTES]; /* intel-rapl:0:1 */
    uint64_t range_uj;      /* 0 when unknown */
    uint64_t last_uj;
    uint64_t total_uj; /* never falls */
    bool was_read;
    bool is_added; /* it is a part of the machine's energy that no other zone contains */
};

struct rapl {
    struct zone *first; /* owned */
    struct zone **end;
    const struct sysroot *root; /* while zones are looked for */
};

/* core and uncore are inside the package, and psys contains packages. */
static bool counts_for_system(const char *name)
{
    struct scan s = scan_string(name);
    return scan_word(&s, "package") || strcmp(name, "dram") == 0;
}

/* The name of the zone that "intel-rapl:0:1" is a part of. */
static bool parent_name(const struct rapl *r, const char *zone, char ret[ZONE_BYTES])
{
    const char *colon = strrchr(zone, ':');
    char folder[96];
    if (strchr(zone, ':') == colon)
        return false;
    snprintf(folder, sizeof folder, "class/powercap/%.*s", (int)(colon - zone), zone);
    return number_file_read_word(r->root, folder, "name", ret, ZONE_BYTES) == 0;
}

static void visit_zone(void *arg, const char *zone)
{
    struct rapl *r = arg;
    struct scan rest = scan_string(zone);
    char folder[96], name[ZONE_BYTES], parent[ZONE_BYTES];
    snprintf(folder, sizeof folder, "class/powercap/%s", zone);
    if (!scan_word(&rest, "intel-rapl:") || strlen(zone) >= ZONE_BYTES ||
        number_file_read_word(r->root, folder, "name", name, sizeof name) < 0)
        return;
    struct zone *z = calloc(1, sizeof *z);
    struct number_file range;
    int64_t range_uj = 0;
    if (!z || number_file_init(&z->energy, folder, "energy_uj") < 0 ||
        number_file_init(&range, folder, "max_energy_range_uj") < 0) {
        free(z);
        return;
    }
    if (number_file_read(&range, r->root, &range_uj) == 0 && range_uj > 0)
        z->range_uj = (uint64_t)range_uj;
    number_file_done(&range);
    measured_init(&z->measured, ENTITY_RAPL);
    struct entity *e = &z->measured.entity;
    bool has_parent = parent_name(r, zone, parent);
    snprintf(e->name, sizeof e->name, "%s%s%s", has_parent ? parent : "", has_parent ? " " : "",
             name);
    memcpy(z->label, zone, strlen(zone) + 1);
    e->labels[0] = (struct label){"zone", z->label};
    z->is_added = counts_for_system(name);
    *r->end = z;
    r->end = &z->next;
}

static void rapl_close(void *state)
{
    struct rapl *r = state;
    if (!r)
        return;
    for (struct zone *next, *z = r->first; z; z = next) {
        next = z->next;
        number_file_done(&z->energy);
        free(z);
    }
    free(r);
}

static int rapl_open(void **ret_state, const struct collect_context *c)
{
    CLEANUP_CLOSE int dir = c->root->sys < 0 ? -1
                                             : openat(c->root->sys, "class/powercap",
                                                      O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (dir < 0)
        return -ENOENT;
    struct rapl *r = calloc(1, sizeof *r);
    if (!r)
        return -ENOMEM;
    r->end = &r->first;
    r->root = c->root;
    file_each_entry_sorted(dir, visit_zone, r);
    r->root = NULL;
    if (!r->first) {
        rapl_close(r);
        return -ENOENT;
    }
    *ret_state = r;
    return 0;
}

static int read_zone(struct zone *z, const struct sysroot *root)
{
    int64_t value;
    int r = number_file_read(&z->energy, root, &value);
    if (r < 0)
        return r;
    if (value < 0)
        return -EBADMSG;
    uint64_t now_uj = (uint64_t)value;
    if (!z->was_read)
        z->total_uj = now_uj;
    else if (now_uj >= z->last_uj)
        z->total_uj += now_uj - z->last_uj;
    else /* without a range, what came after the turn is all that is certain */
        z->total_uj += now_uj + left_u64(z->range_uj, z->last_uj);
    z->last_uj = now_uj;
    z->was_read = true;
    return 0;
}

static bool is_asked_for(const struct selection *s)
{
    uint64_t of_system = BIT(system_energy_joules - system_first) |
                         BIT(system_power_watts - system_first);
    return s->of[ENTITY_RAPL] || (s->of[ENTITY_SYSTEM] & of_system);
}

static void say_denied(const struct collect_context *c)
{
    if (c->note && is_asked_for(c->selection))
        c->note(c->note_arg, "the energy counters can be read by root only: chmod a+r "
                             "/sys/class/powercap/*/energy_uj, or run toll as root");
}

/* The machine's energy is a sum, and a sum that leaves somebody out is none. */
static void rapl_collect(void *state, const struct collect_context *c, struct measured_list *out)
{
    struct rapl *r = state;
    uint64_t sum_uj = 0;
    bool has_sum = false, is_whole = true, is_denied = false;
    for (struct zone *z = r->first; z; z = z->next) {
        int code = read_zone(z, c->root);
        z->measured.read.present = 0;
        is_denied |= code == -EACCES || code == -EPERM;
        if (code < 0) {
            is_whole &= !z->is_added;
            continue;
        }
        row_put_u64(&z->measured.read, rapl_energy_joules, z->total_uj);
        measured_list_add(out, &z->measured);
        if (z->is_added) {
            sum_uj += z->total_uj;
            has_sum = true;
        }
    }
    if (has_sum && is_whole)
        row_put_u64(&c->system->read, system_energy_joules, sum_uj);
    else
        row_unknown(&c->system->read, system_energy_joules);
    if (is_denied)
        say_denied(c);
}

const struct collector collector_rapl = {
    .name = "rapl",
    .gives = BIT(ENTITY_RAPL) | BIT(ENTITY_SYSTEM),
    .gives_of_system = SYSTEM_BITS(energy_joules, power_watts),
    .cost = COST_REFRESH,
    .open = rapl_open,
    .collect = rapl_collect,
    .close = rapl_close,
};
