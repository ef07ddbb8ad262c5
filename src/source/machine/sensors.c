/* SPDX-License-Identifier: MIT
 * /sys/class/hwmon/hwmon2/name          coretemp
 * /sys/class/hwmon/hwmon2/temp1_input   46000
 * /sys/class/hwmon/hwmon2/temp1_label   Package id 0
 *
 * /sys/class/thermal/thermal_zone0/type   x86_pkg_temp
 * /sys/class/thermal/thermal_zone0/temp   46000
 *
 * Zones repeat what hwmon has, so they are read only where that has no temperature at all. On old
 * kernels the files of hwmon are in hwmon2/device. Numbers are thousandths of a degree. */
#include "base/io/file.h"
#include "source/collector.h"
#include "source/kernel_file.h"
#include "source/probe.h"

#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

/* ==== Sensors ================================================================================= */

/* A chip with nothing connected to it gives values outside of these. */
enum { COLDEST_MILLI = -100000, HOTTEST_MILLI = 250000 };

struct sensor {
    struct instance instance;
    struct sensor *next;
    struct number_file file;
    char device[64]; /* hwmon2, as a label */
};

/* A chip, by its name: the second of the same name is NAME#2. */
struct chip {
    struct chip *next;
    char name[32];
};

struct sensors {
    struct sensor *first; /* owned */
    struct sensor **end;
    struct chip *chips;         /* owned */
    const struct sysroot *root; /* while they are looked for */
    /* Where the search is: */
    char device[64];
    char folder[96];
    char chip[48];
};

static void sensors_add(struct sensors *s, const char *file, const char *chip, const char *label)
{
    struct sensor *sensor = calloc(1, sizeof *sensor);
    if (!sensor || number_file_init(&sensor->file, s->folder, file) < 0) {
        free(sensor);
        return;
    }
    instance_init(&sensor->instance, ENTITY_SENSOR);
    struct entity *e = &sensor->instance.entity;
    snprintf(e->name, sizeof e->name, "%s%s%s", chip, *label ? " " : "", label);
    memcpy(sensor->device, s->device, sizeof sensor->device);
    e->labels[0] = (struct label){"device", sensor->device};
    *s->end = sensor;
    s->end = &sensor->next;
}

static bool sensors_has_name(const struct sensors *s, const char *chip, const char *label)
{
    char name[ENTITY_NAME_BYTES];
    snprintf(name, sizeof name, "%s %s", chip, label);
    for (const struct sensor *sensor = s->first; sensor; sensor = sensor->next)
        if (strcmp(sensor->instance.entity.name, name) == 0)
            return true;
    return false;
}

static void sensors_visit_file(void *arg, const char *name)
{
    struct sensors *s = arg;
    struct scan rest = scan_string(name);
    uint64_t number;
    if (!scan_word(&rest, "temp") || !scan_u64(&rest, &number) || !scan_word(&rest, "_input") ||
        !scan_done(&rest))
        return;
    char file[32], label[ENTITY_NAME_BYTES];
    snprintf(file, sizeof file, "temp%llu_label", (unsigned long long)number);
    bool has_label = number_file_read_word(s->root, s->folder, file, label, sizeof label) == 0 &&
                     !sensors_has_name(s, s->chip, label);
    if (!has_label)
        snprintf(label, sizeof label, "temp%llu", (unsigned long long)number);
    sensors_add(s, name, s->chip, label);
}

static void sensors_each_in(const struct sysroot *root, const char *folder,
                            void (*visit)(void *arg, const char *name), void *arg)
{
    CLEANUP_CLOSE int dir = openat(root->sys, folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (dir >= 0)
        file_each_entry_sorted(dir, visit, arg);
}

static void sensors_name_chip(struct sensors *s, const char *name)
{
    unsigned same = 0;
    for (const struct chip *c = s->chips; c; c = c->next)
        same += strcmp(c->name, name) == 0;
    if (same)
        snprintf(s->chip, sizeof s->chip, "%s#%u", name, same + 1);
    else
        snprintf(s->chip, sizeof s->chip, "%s", name);
    struct chip *chip = calloc(1, sizeof *chip);
    if (!chip)
        return;
    snprintf(chip->name, sizeof chip->name, "%s", name);
    chip->next = s->chips;
    s->chips = chip;
}

/* Whether there is a chip in that folder. */
static bool sensors_look_into(struct sensors *s, const char *below)
{
    char name[32];
    snprintf(s->folder, sizeof s->folder, "class/hwmon/%s%s", s->device, below);
    if (number_file_read_word(s->root, s->folder, "name", name, sizeof name) < 0)
        return false;
    sensors_name_chip(s, name);
    sensors_each_in(s->root, s->folder, sensors_visit_file, s);
    return true;
}

static void sensors_visit_hwmon(void *arg, const char *name)
{
    struct sensors *s = arg;
    snprintf(s->device, sizeof s->device, "%s", name);
    if (!sensors_look_into(s, ""))
        sensors_look_into(s, "/device");
}

static void sensors_visit_zone(void *arg, const char *name)
{
    struct sensors *s = arg;
    struct scan rest = scan_string(name);
    char type[32];
    if (!scan_word(&rest, "thermal_zone"))
        return;
    snprintf(s->device, sizeof s->device, "%s", name);
    snprintf(s->folder, sizeof s->folder, "class/thermal/%s", name);
    if (number_file_read_word(s->root, s->folder, "type", type, sizeof type) < 0)
        return;
    sensors_name_chip(s, type);
    sensors_add(s, "temp", s->chip, "");
}

static void sensors_close(void *state)
{
    struct sensors *s = state;
    if (!s)
        return;
    for (struct sensor *next, *sensor = s->first; sensor; sensor = next) {
        next = sensor->next;
        number_file_done(&sensor->file);
        free(sensor);
    }
    free(s);
}

static int sensors_open(void **ret_state, const struct collect_context *c)
{
    if (c->root->sys < 0)
        return -ENOENT;
    struct sensors *s = calloc(1, sizeof *s);
    if (!s)
        return -ENOMEM;
    s->end = &s->first;
    s->root = c->root;
    sensors_each_in(c->root, "class/hwmon", sensors_visit_hwmon, s);
    if (!s->first)
        sensors_each_in(c->root, "class/thermal", sensors_visit_zone, s);
    for (struct chip *next; s->chips; s->chips = next) {
        next = s->chips->next;
        free(s->chips);
    }
    s->root = NULL;
    if (!s->first) {
        sensors_close(s);
        return -ENOENT;
    }
    *ret_state = s;
    return 0;
}

/* A sensor that does not answer now (asleep, busy, nothing connected) is left out of this tick. */
static void sensors_collect(void *state, const struct collect_context *c, struct instance_list *out)
{
    struct sensors *s = state;
    int64_t hottest = INT64_MIN;
    for (struct sensor *sensor = s->first; sensor; sensor = sensor->next) {
        struct instance *m = &sensor->instance;
        int64_t milli;
        m->read.present = 0;
        if (number_file_read(&sensor->file, c->root, &milli) < 0 || milli <= COLDEST_MILLI ||
            milli >= HOTTEST_MILLI)
            continue;
        row_put_double(&m->read, sensor_temperature_celsius, (double)milli / 1000);
        instance_list_add(out, m);
        if (milli > hottest)
            hottest = milli;
    }
    if (hottest > INT64_MIN)
        row_put_double(&c->system->read, system_temperature_celsius, (double)hottest / 1000);
    else
        row_unknown(&c->system->read, system_temperature_celsius);
}

const struct collector collector_sensors = {
    .name = "sensors",
    .gives = BIT(ENTITY_SENSOR) | BIT(ENTITY_SYSTEM),
    .gives_of_system = SYSTEM_BIT(temperature_celsius),
    .cost = COST_REFRESH,
    .open = sensors_open,
    .collect = sensors_collect,
    .close = sensors_close,
};

/* ==== Probe =================================================================================== */

/* Where there can be none, not even with the right driver. */
static bool probe_has_no_hardware(const struct probe_facts *p, struct finding *f)
{
    if (p->root.sys < 0) {
        finding_missing(f, "/sys is not mounted");
        finding_remedy(f, "mount -t sysfs sysfs /sys");
        return true;
    }
    if (p->is_virtual) {
        finding_missing(f, "not available in a virtual machine");
        finding_remedy(f, "run toll on the host");
    }
    return p->is_virtual;
}

void probe_sensors(const struct probe_facts *p, struct finding *f)
{
    struct probe_look l;
    finding_ok(f, "sampled", "/sys/class/hwmon, thermal");
    int r = probe_look_begin(&l, p, &collector_sensors);
    if (r == 0 && l.list.count) {
        finding_detail(f, "%zu sensor%s", l.list.count, l.list.count == 1 ? "" : "s");
    } else if (r == 0) {
        finding_missing(f, "sensors found, but none can be read now");
        finding_remedy(f, "try again, or check the kernel log: dmesg");
    } else if (!probe_has_no_hardware(p, f)) {
        finding_missing(f, "no sensor driver is loaded");
        finding_remedy(f, "modprobe %s", p->is_amd ? "k10temp" : "coretemp");
    }
    probe_look_end(&l);
}

void probe_energy(const struct probe_facts *p, struct finding *f)
{
    struct probe_look l;
    finding_ok(f, "exact", "/sys/class/powercap (RAPL)");
    int r = probe_look_begin(&l, p, &collector_rapl);
    if (r == 0 && row_has(&l.system.read, system_energy_joules)) {
        const char *zone = l.list.items[0]->entity.labels[0].value;
        if (strncmp(zone, "energy-", strlen("energy-")) == 0)
            finding_ok(f, "exact", "perf (power/energy-pkg)");
        finding_detail(f, "%zu counter%s", l.list.count, l.list.count == 1 ? "" : "s");
    } else if (r == 0 && p->root.sys >= 0 &&
               faccessat(p->root.sys, "class/powercap/intel-rapl:0", F_OK, 0) == 0) {
        finding_missing(f, "counters are readable by root only");
        finding_remedy(f, "chmod a+r /sys/class/powercap/*/energy_uj");
        finding_needs_root(f, p);
    } else if (!probe_has_no_hardware(p, f)) {
        finding_missing(f, "no energy counters: no driver, or an unsupported processor");
        finding_remedy(f, p->is_amd && !probe_is_since(p, 5, 11) ? "Linux 5.11 or later"
                                                                 : "modprobe intel_rapl_msr");
    }
    probe_look_end(&l);
}

/* ==== RAPL ==================================================================================== */

/* RAPL: what the packages of processors and their memory use, from powercap or from perf. */

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
