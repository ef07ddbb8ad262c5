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
#include <stdio.h>

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
