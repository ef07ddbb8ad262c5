/* SPDX-License-Identifier: MIT
 * RAPL: what the packages of processors and their memory use, from powercap or from perf. */
#include "base/io/file.h"
#include "source/collector.h"
#include "source/kernel_file.h"

#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

/* ==== Zones ====================================================================================
 */

/* /sys/class/powercap/intel-rapl:0/name                  package-0
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

enum { ZONE_BYTES = 48 };

struct zone {
    struct instance instance;
    struct zone *next;
    struct number_file energy;
    int perf_fd;            /* of an event instead of the file; -1 */
    double perf_uj;         /* millionths of a joule for a count of it */
    char label[ZONE_BYTES]; /* intel-rapl:0:1, energy-pkg */
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

/* The name of the zone that "intel-rapl:0:1" is a part of. */
static bool rapl_parent_name(const struct rapl *r, const char *zone, char ret[ZONE_BYTES])
{
    const char *colon = strrchr(zone, ':');
    char folder[96];
    if (strchr(zone, ':') == colon)
        return false;
    snprintf(folder, sizeof folder, "class/powercap/%.*s", (int)(colon - zone), zone);
    return number_file_read_word(r->root, folder, "name", ret, ZONE_BYTES) == 0;
}

/* core and uncore are inside the package, and psys contains packages. */
static void rapl_add_zone(struct rapl *r, struct zone *z, const char *label, const char *name)
{
    snprintf(z->label, sizeof z->label, "%s", label);
    z->instance.entity.labels[0] = (struct label){"zone", z->label};
    z->is_added = strncmp(name, "package", strlen("package")) == 0 || strcmp(name, "dram") == 0;
    *r->end = z;
    r->end = &z->next;
}

static void rapl_visit_zone(void *arg, const char *zone)
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
    instance_init(&z->instance, ENTITY_RAPL);
    struct entity *e = &z->instance.entity;
    bool has_parent = rapl_parent_name(r, zone, parent);
    snprintf(e->name, sizeof e->name, "%s%s%s", has_parent ? parent : "", has_parent ? " " : "",
             name);
    z->perf_fd = -1;
    rapl_add_zone(r, z, zone, name);
}

static void rapl_free_zone(struct zone *z)
{
    number_file_done(&z->energy);
    if (z->perf_fd >= 0)
        close(z->perf_fd);
    free(z);
}

static void rapl_close(void *state)
{
    struct rapl *r = state;
    if (!r)
        return;
    for (struct zone *next, *z = r->first; z; z = next) {
        next = z->next;
        rapl_free_zone(z);
    }
    free(r);
}

/* ---- Events ---------------------------------------------------------------------------------- */

/* Where energy_uj is readable by root only, or powercap is missing, perf may have the same
 * counters:
 *
 * /sys/bus/event_source/devices/power/type                      15
 * /sys/bus/event_source/devices/power/cpumask                   0,32
 * /sys/bus/event_source/devices/power/events/energy-pkg         event=0x02
 * /sys/bus/event_source/devices/power/events/energy-pkg.scale   2.3283064365386962890625e-10
 *
 * The scale gives joules. cpumask has one CPU of each package. The kernel counts in 64 bits, so
 * nothing wraps; it asks for perf_event_paranoid of 0 or less, or CAP_PERFMON. */

#define EVENTS "bus/event_source/devices/power"

struct energy_event {
    uint32_t type;
    uint64_t config;
    double scale; /* joules for a count */
};

static int rapl_find_event(const struct sysroot *root, const char *name, struct energy_event *ret)
{
    char file[48], text[64];
    uint64_t type;
    int r = number_file_read_word(root, EVENTS, "type", text, sizeof text);
    struct scan s = scan_string(text);
    if (r < 0)
        return r;
    if (!scan_u64(&s, &type) || !scan_done(&s) || type > UINT32_MAX)
        return -EBADMSG;
    r = number_file_read_word(root, EVENTS "/events", name, text, sizeof text);
    s = scan_string(text);
    if (r < 0)
        return r;
    if (!scan_word(&s, "event=0x") || !scan_hex(&s, &ret->config) || !scan_done(&s))
        return -EBADMSG;
    snprintf(file, sizeof file, "%s.scale", name);
    r = number_file_read_word(root, EVENTS "/events", file, text, sizeof text);
    s = scan_string(text);
    if (r < 0)
        return r;
    ret->type = (uint32_t)type;
    return scan_number(&s, &ret->scale) && scan_done(&s) && ret->scale > 0 ? 0 : -EBADMSG;
}

/* "package-0", or "package-0-die-1" where a package has several, as powercap names them. */
static int rapl_name_package(const struct sysroot *root, unsigned cpu, char ret[ZONE_BYTES])
{
    char folder[64], package[16], die[256], other[256];
    snprintf(folder, sizeof folder, "devices/system/cpu/cpu%u/topology", cpu);
    int r = number_file_read_word(root, folder, "physical_package_id", package, sizeof package);
    if (r < 0)
        return r;
    bool has_dies = number_file_read_word(root, folder, "die_cpus_list", die, sizeof die) == 0 &&
                    number_file_read_word(root, folder, "package_cpus_list", other, sizeof other) ==
                        0 &&
                    strcmp(die, other) != 0 &&
                    number_file_read_word(root, folder, "die_id", die, sizeof die) == 0;
    snprintf(ret, ZONE_BYTES, "package-%s%s%s", package, has_dies ? "-die-" : "",
             has_dies ? die : "");
    return 0;
}

static void rapl_add_event(struct rapl *r, const struct energy_event *event, unsigned cpu,
                           const char *label, const char *part)
{
    char package[ZONE_BYTES];
    struct perf_event_attr attr = {
        .size = sizeof attr, .type = event->type, .config = event->config};
    int fd = (int)syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
    struct zone *z = fd < 0 || rapl_name_package(r->root, cpu, package) < 0 ? NULL
                                                                            : calloc(1, sizeof *z);
    if (!z) {
        if (fd >= 0)
            close(fd);
        return;
    }
    z->perf_fd = fd;
    z->perf_uj = event->scale * 1e6;
    z->energy.fd = -1;
    instance_init(&z->instance, ENTITY_RAPL);
    snprintf(z->instance.entity.name, sizeof z->instance.entity.name, "%s%s", package, part);
    rapl_add_zone(r, z, label, *part ? part + 1 : package);
}

/* Adds the events of every package; zones that cannot be read make room for them. */
static void rapl_use_events(struct rapl *r)
{
    static const struct {
        const char *event, *part;
    } parts[] = {{"energy-pkg", ""}, {"energy-ram", " dram"}};
    struct zone *zones = r->first;
    char cpus[256];
    if (number_file_read_word(r->root, EVENTS, "cpumask", cpus, sizeof cpus) < 0)
        return;
    r->first = NULL;
    r->end = &r->first;
    for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
        struct energy_event event;
        uint64_t first, last;
        struct scan list = scan_string(cpus);
        if (rapl_find_event(r->root, parts[i].event, &event) < 0)
            continue;
        while (scan_u64(&list, &first)) {
            last = first;
            if (scan_word(&list, "-") && !scan_u64(&list, &last))
                break;
            for (uint64_t cpu = first; cpu <= last && cpu - first < 1024; cpu++)
                rapl_add_event(r, &event, (unsigned)cpu, parts[i].event, parts[i].part);
            if (!scan_word(&list, ","))
                break;
        }
    }
    if (!r->first) {
        r->first = zones;
        return;
    }
    for (struct zone *next, *z = zones; z; z = next) {
        next = z->next;
        rapl_free_zone(z);
    }
}

/* Whether one of the packages can be read. */
static bool rapl_can_read_zones(struct rapl *r)
{
    int64_t value;
    for (struct zone *z = r->first; z; z = z->next)
        if (z->is_added && number_file_read(&z->energy, r->root, &value) == 0)
            return true;
    return false;
}

/* ==== Collector =============================================================================== */

static int rapl_open(void **ret_state, const struct collect_context *c)
{
    if (c->root->sys < 0)
        return -ENOENT;
    struct rapl *r = calloc(1, sizeof *r);
    if (!r)
        return -ENOMEM;
    r->end = &r->first;
    r->root = c->root;
    CLEANUP_CLOSE int dir = openat(c->root->sys, "class/powercap",
                                   O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (dir >= 0)
        file_each_entry_sorted(dir, rapl_visit_zone, r);
    if (c->root->live && !rapl_can_read_zones(r))
        rapl_use_events(r);
    r->root = NULL;
    if (!r->first) {
        rapl_close(r);
        return -ENOENT;
    }
    *ret_state = r;
    return 0;
}

static int rapl_read_zone(struct zone *z, const struct sysroot *root)
{
    int64_t value;
    uint64_t count;
    if (z->perf_fd >= 0) {
        if (read(z->perf_fd, &count, sizeof count) != sizeof count)
            return -EIO;
        value = (int64_t)min_double((double)count * z->perf_uj, 9e18);
    } else {
        int r = number_file_read(&z->energy, root, &value);
        if (r < 0)
            return r;
    }
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

/* The machine's energy is unknown when one of the zones that make it up cannot be read. */
static void rapl_collect(void *state, const struct collect_context *c, struct instance_list *out)
{
    struct rapl *r = state;
    uint64_t sum_uj = 0;
    bool has_sum = false, is_whole = true, is_denied = false;
    for (struct zone *z = r->first; z; z = z->next) {
        int code = rapl_read_zone(z, c->root);
        z->instance.read.present = 0;
        is_denied |= code == -EACCES || code == -EPERM;
        if (code < 0) {
            is_whole &= !z->is_added;
            continue;
        }
        row_put_u64(&z->instance.read, rapl_energy_joules, z->total_uj);
        instance_list_add(out, &z->instance);
        if (z->is_added) {
            sum_uj += z->total_uj;
            has_sum = true;
        }
    }
    if (has_sum && is_whole)
        row_put_u64(&c->system->read, system_energy_joules, sum_uj);
    else
        row_unknown(&c->system->read, system_energy_joules);
    bool is_wanted = c->selection->of[ENTITY_RAPL] ||
                     c->selection->of[ENTITY_SYSTEM] & collector_rapl.gives_of_system;
    if (is_denied && is_wanted && c->note)
        c->note(c->note_arg, "only root can read the energy counters (run toll as root, or: chmod "
                             "a+r /sys/class/powercap/*/energy_uj)");
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
