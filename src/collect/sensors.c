/* SPDX-License-Identifier: MIT
 *
 * /sys/class/hwmon/hwmon2/name          coretemp
 * /sys/class/hwmon/hwmon2/temp1_input   46000
 * /sys/class/hwmon/hwmon2/temp1_label   Package id 0
 *
 * /sys/class/thermal/thermal_zone0/type   x86_pkg_temp
 * /sys/class/thermal/thermal_zone0/temp   46000
 *
 * Zones repeat what hwmon has, so they are read only where that has no temperature at all. On old
 * kernels the files of hwmon stand in hwmon2/device. Numbers are thousandths of a degree. */
#include "collect/collectors.h"

#include "base/file.h"
#include "collect/number_file.h"

#include <fcntl.h>
#include <stdio.h>

/* What a chip gives when nothing is connected to it lies outside. */
enum { COLDEST_MILLI = -100000, HOTTEST_MILLI = 250000 };

struct sensor {
    struct measured measured;
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

static void add_sensor(struct sensors *s, const char *file, const char *chip, const char *label)
{
    struct sensor *sensor = calloc(1, sizeof *sensor);
    if (!sensor || number_file_init(&sensor->file, s->folder, file) < 0) {
        free(sensor);
        return;
    }
    measured_init(&sensor->measured, ENTITY_SENSOR);
    struct entity *e = &sensor->measured.entity;
    snprintf(e->name, sizeof e->name, "%s%s%s", chip, *label ? " " : "", label);
    memcpy(sensor->device, s->device, sizeof sensor->device);
    e->labels[0] = (struct label){"device", sensor->device};
    *s->end = sensor;
    s->end = &sensor->next;
}

static bool is_taken(const struct sensors *s, const char *chip, const char *label)
{
    char name[ENTITY_NAME_BYTES];
    snprintf(name, sizeof name, "%s %s", chip, label);
    for (const struct sensor *sensor = s->first; sensor; sensor = sensor->next)
        if (strcmp(sensor->measured.entity.name, name) == 0)
            return true;
    return false;
}

static void visit_hwmon_file(void *arg, const char *name)
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
                     !is_taken(s, s->chip, label);
    if (!has_label)
        snprintf(label, sizeof label, "temp%llu", (unsigned long long)number);
    add_sensor(s, name, s->chip, label);
}

static void each_in(const struct sysroot *root, const char *folder,
                    void (*visit)(void *arg, const char *name), void *arg)
{
    CLEANUP_CLOSE int dir = openat(root->sys, folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (dir >= 0)
        file_each_entry_sorted(dir, visit, arg);
}

static void name_chip(struct sensors *s, const char *name)
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
static bool look_into(struct sensors *s, const char *below)
{
    char name[32];
    snprintf(s->folder, sizeof s->folder, "class/hwmon/%s%s", s->device, below);
    if (number_file_read_word(s->root, s->folder, "name", name, sizeof name) < 0)
        return false;
    name_chip(s, name);
    each_in(s->root, s->folder, visit_hwmon_file, s);
    return true;
}

static void visit_hwmon(void *arg, const char *name)
{
    struct sensors *s = arg;
    snprintf(s->device, sizeof s->device, "%s", name);
    if (!look_into(s, ""))
        look_into(s, "/device");
}

static void visit_zone(void *arg, const char *name)
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
    name_chip(s, type);
    add_sensor(s, "temp", s->chip, "");
}

static void free_chips(struct sensors *s)
{
    for (struct chip *next; s->chips; s->chips = next) {
        next = s->chips->next;
        free(s->chips);
    }
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
    each_in(c->root, "class/hwmon", visit_hwmon, s);
    if (!s->first)
        each_in(c->root, "class/thermal", visit_zone, s);
    free_chips(s);
    s->root = NULL;
    if (!s->first) {
        sensors_close(s);
        return -ENOENT;
    }
    *ret_state = s;
    return 0;
}

/* A sensor that does not answer now (asleep, busy, nothing connected) is left out of this tick. */
static void sensors_collect(void *state, const struct collect_context *c, struct measured_list *out)
{
    struct sensors *s = state;
    int64_t hottest = INT64_MIN;
    for (struct sensor *sensor = s->first; sensor; sensor = sensor->next) {
        struct measured *m = &sensor->measured;
        int64_t milli;
        m->read.present = 0;
        if (number_file_read(&sensor->file, c->root, &milli) < 0 || milli <= COLDEST_MILLI ||
            milli >= HOTTEST_MILLI)
            continue;
        row_put_double(&m->read, sensor_temperature_celsius, (double)milli / 1000);
        measured_list_add(out, m);
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
