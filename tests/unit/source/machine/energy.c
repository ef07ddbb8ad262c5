/* SPDX-License-Identifier: MIT */
#include "machine_tree.h"
#include "source/collector.h"

#include <sys/wait.h>

/* ---- rapl ----------------------------------------------------------------------------------- */

#define POWERCAP "sys/class/powercap/"
#define RANGE    "262143328850\n"

static void write_zone(const struct machine *m, const char *zone, const char *name,
                       const char *energy)
{
    char path[128];
    snprintf(path, sizeof path, POWERCAP "%s/name", zone);
    tree_write(&m->tree, path, name);
    snprintf(path, sizeof path, POWERCAP "%s/energy_uj", zone);
    tree_write(&m->tree, path, energy);
    snprintf(path, sizeof path, POWERCAP "%s/max_energy_range_uj", zone);
    tree_write(&m->tree, path, RANGE);
}

static void write_two_packages(const struct machine *m)
{
    tree_write(&m->tree, POWERCAP "intel-rapl/enabled", "1\n");
    write_zone(m, "intel-rapl:0", "package-0\n", "1000000\n");
    write_zone(m, "intel-rapl:0:0", "core\n", "400000\n");
    write_zone(m, "intel-rapl:0:1", "dram\n", "30000\n");
    write_zone(m, "intel-rapl:1", "package-1\n", "2000000\n");
    write_zone(m, "intel-rapl:1:0", "core\n", "500000\n");
    write_zone(m, "intel-rapl:1:1", "dram\n", "40000\n");
    write_zone(m, "intel-rapl:2", "psys\n", "9000000\n");
    write_zone(m, "intel-rapl-mmio:0", "package-0\n", "1000000\n");
}

static void assert_energy(const struct machine *m, const char *name, uint64_t uj)
{
    const struct instance *zone = machine_find(m, name);
    assert_non_null(zone);
    assert_value(&zone->read, rapl_energy_joules, uj);
}

static void test_rapl_none(void **state)
{
    struct machine m;
    void *rapl;
    machine_make(&m);
    assert_int_equal(collector_rapl.open(&rapl, &m.context), -ENOENT);
    tree_write(&m.tree, POWERCAP "intel-rapl/enabled", "1\n");
    assert_int_equal(collector_rapl.open(&rapl, &m.context), -ENOENT);
    machine_remove(&m);
}

static void test_rapl_two_packages(void **state)
{
    struct machine m;
    machine_make(&m);
    write_two_packages(&m);
    machine_open(&m, &collector_rapl);
    unsigned fds = tree_open_fds();
    machine_collect(&m);
    assert_int_equal(tree_open_fds(), fds);
    assert_int_equal(m.list.count, 7);
    assert_energy(&m, "package-0", 1000000);
    assert_energy(&m, "package-0 core", 400000);
    assert_energy(&m, "package-0 dram", 30000);
    assert_energy(&m, "package-1 dram", 40000);
    assert_energy(&m, "psys", 9000000);
    assert_string_equal(label_of(machine_find(&m, "package-1 core"), "zone"), "intel-rapl:1:0");
    assert_value(&m.system.read, system_energy_joules, 3070000);
    assert_int_equal(m.notes, 0);
    machine_remove(&m);
}

static void test_rapl_turns(void **state)
{
    struct machine m;
    machine_make(&m);
    write_zone(&m, "intel-rapl:0", "package-0\n", "262143328000\n");
    machine_open(&m, &collector_rapl);
    machine_collect(&m);
    assert_energy(&m, "package-0", 262143328000);
    tree_write(&m.tree, POWERCAP "intel-rapl:0/energy_uj", "150\n");
    machine_collect(&m);
    assert_energy(&m, "package-0", 262143328000 + 1000);
    tree_write(&m.tree, POWERCAP "intel-rapl:0/energy_uj", "650\n");
    machine_collect(&m);
    assert_energy(&m, "package-0", 262143328000 + 1500);
    assert_value(&m.system.read, system_energy_joules, 262143328000 + 1500);
    machine_remove(&m);
}

static void test_rapl_turn_without_a_range(void **state)
{
    struct machine m;
    machine_make(&m);
    write_zone(&m, "intel-rapl:0", "package-0\n", "5000\n");
    tree_unlink(&m.tree, POWERCAP "intel-rapl:0/max_energy_range_uj");
    machine_open(&m, &collector_rapl);
    machine_collect(&m);
    tree_write(&m.tree, POWERCAP "intel-rapl:0/energy_uj", "20\n");
    machine_collect(&m);
    assert_energy(&m, "package-0", 5020);
    machine_remove(&m);
}

/* A sum that leaves a package out is none. */
static void test_rapl_one_cannot_be_read(void **state)
{
    struct machine m;
    machine_make(&m);
    write_two_packages(&m);
    machine_open(&m, &collector_rapl);
    machine_collect(&m);
    tree_unlink(&m.tree, POWERCAP "intel-rapl:1/energy_uj");
    tree_write(&m.tree, POWERCAP "intel-rapl:1/energy_uj/x", ""); /* EISDIR as if it were EIO */
    machine_collect(&m);
    assert_int_equal(m.list.count, 6);
    assert_null(machine_find(&m, "package-1"));
    assert_unknown(&m.system.read, system_energy_joules);
    machine_remove(&m);
}

static void test_rapl_core_is_not_needed_for_the_sum(void **state)
{
    struct machine m;
    machine_make(&m);
    write_two_packages(&m);
    machine_open(&m, &collector_rapl);
    tree_write(&m.tree, POWERCAP "intel-rapl:0:0/energy_uj", "-1\n");
    tree_write(&m.tree, POWERCAP "intel-rapl:2/energy_uj", "garbage\n");
    machine_collect(&m);
    assert_int_equal(m.list.count, 5);
    assert_value(&m.system.read, system_energy_joules, 3070000);
    machine_remove(&m);
}

/* In a child, which gives root up. The number of notes, or 100 when something else was wrong. */
static int notes_when_denied(struct machine *m, const char *globs)
{
    pid_t pid = fork();
    if (pid == 0) {
        void *rapl;
        if ((geteuid() == 0 && setresuid(65534, 65534, 65534) < 0) ||
            selection_parse(&m->selection, globs, NULL) < 0 ||
            collector_rapl.open(&rapl, &m->context) < 0)
            _exit(100);
        machine_use(m, &collector_rapl, rapl);
        machine_collect(m);
        bool is_right = m->list.count == 0 && !row_has(&m->system.read, system_energy_joules) &&
                        (!m->notes || strstr(m->note, "chmod a+r /sys/class/powercap"));
        _exit(is_right ? (int)m->notes : 100);
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void test_rapl_denied(void **state)
{
    struct machine m;
    char path[512];
    machine_make(&m);
    write_zone(&m, "intel-rapl:0", "package-0\n", "5000\n");
    static const char *const folders[] = {"",          "proc",   "sys",
                                          "sys/class", POWERCAP, POWERCAP "intel-rapl:0"};
    for (size_t i = 0; i < ARRAY_LEN(folders); i++)
        assert_int_equal(chmod(tree_path(&m.tree, path, folders[i]), 0755), 0);
    assert_int_equal(chmod(tree_path(&m.tree, path, POWERCAP "intel-rapl:0/energy_uj"), 0), 0);
    assert_int_equal(notes_when_denied(&m, NULL), 1);
    assert_int_equal(notes_when_denied(&m, "cpu_seconds"), 0); /* nobody asked for it */
    assert_int_equal(notes_when_denied(&m, "rapl_*"), 1);
    assert_int_equal(notes_when_denied(&m, "system_energy_joules"), 1);
    machine_remove(&m);
}

static void test_rapl_kept_when_live(void **state)
{
    struct machine m;
    machine_make(&m);
    write_two_packages(&m);
    m.root.live = true;
    unsigned fds = tree_open_fds();
    machine_open(&m, &collector_rapl);
    machine_collect(&m);
    machine_collect(&m);
    assert_int_equal(tree_open_fds(), fds + 7);
    machine_close(&m);
    assert_int_equal(tree_open_fds(), fds);
    machine_remove(&m);
}

/* ---- sensors -------------------------------------------------------------------------------- */

#define HWMON "sys/class/hwmon/"

static void assert_celsius(const struct machine *m, const char *name, double celsius)
{
    const struct instance *sensor = machine_find(m, name);
    assert_non_null(sensor);
    assert_number(&sensor->read, sensor_temperature_celsius, celsius);
}

static void test_sensors_none(void **state)
{
    struct machine m;
    void *sensors;
    machine_make(&m);
    assert_int_equal(collector_sensors.open(&sensors, &m.context), -ENOENT);
    tree_write(&m.tree, HWMON "hwmon0/name", "acad\n"); /* no temperature in it */
    assert_int_equal(collector_sensors.open(&sensors, &m.context), -ENOENT);
    int sys = m.root.sys;
    m.root.sys = -1;
    assert_int_equal(collector_sensors.open(&sensors, &m.context), -ENOENT);
    m.root.sys = sys;
    machine_remove(&m);
}

static void write_two_disks(const struct machine *m)
{
    tree_write(&m->tree, HWMON "hwmon0/name", "nvme\n");
    tree_write(&m->tree, HWMON "hwmon0/temp1_input", "38850\n");
    tree_write(&m->tree, HWMON "hwmon0/temp1_label", "Composite\n");
    tree_write(&m->tree, HWMON "hwmon1/name", "nvme\n");
    tree_write(&m->tree, HWMON "hwmon1/temp1_input", "41850\n");
    tree_write(&m->tree, HWMON "hwmon1/temp1_label", "Composite\n");
}

static void test_sensors_hwmon(void **state)
{
    struct machine m;
    machine_make(&m);
    write_two_disks(&m);
    tree_write(&m.tree, HWMON "hwmon2/name", "coretemp\n");
    tree_write(&m.tree, HWMON "hwmon2/temp1_input", "46000\n");
    tree_write(&m.tree, HWMON "hwmon2/temp1_label", "Package id 0\n");
    tree_write(&m.tree, HWMON "hwmon2/temp1_max", "100000\n");
    tree_write(&m.tree, HWMON "hwmon2/temp10_input", "45000\n");
    tree_write(&m.tree, HWMON "hwmon2/temp2_input", "44000\n"); /* no label */
    tree_write(&m.tree, HWMON "hwmon2/fan1_input", "900\n");
    tree_write(&m.tree, "sys/class/thermal/thermal_zone0/type", "x86_pkg_temp\n");
    tree_write(&m.tree, "sys/class/thermal/thermal_zone0/temp", "99000\n");
    machine_open(&m, &collector_sensors);
    unsigned fds = tree_open_fds();
    machine_collect(&m);
    assert_int_equal(tree_open_fds(), fds);
    assert_int_equal(m.list.count, 5);
    assert_celsius(&m, "nvme Composite", 38.85);
    assert_celsius(&m, "nvme#2 Composite", 41.85);
    assert_celsius(&m, "coretemp Package id 0", 46);
    assert_celsius(&m, "coretemp temp2", 44);
    assert_celsius(&m, "coretemp temp10", 45);
    assert_string_equal(label_of(machine_find(&m, "nvme#2 Composite"), "device"), "hwmon1");
    assert_number(&m.system.read, system_temperature_celsius, 46);
    machine_remove(&m);
}

static void test_sensors_labels_that_repeat(void **state)
{
    struct machine m;
    machine_make(&m);
    tree_write(&m.tree, HWMON "hwmon0/name", "chip\n");
    tree_write(&m.tree, HWMON "hwmon0/temp1_input", "1000\n");
    tree_write(&m.tree, HWMON "hwmon0/temp1_label", "CPU\n");
    tree_write(&m.tree, HWMON "hwmon0/temp2_input", "2000\n");
    tree_write(&m.tree, HWMON "hwmon0/temp2_label", "CPU\n");
    machine_open(&m, &collector_sensors);
    machine_collect(&m);
    assert_celsius(&m, "chip CPU", 1);
    assert_celsius(&m, "chip temp2", 2);
    machine_remove(&m);
}

static void test_sensors_what_does_not_answer(void **state)
{
    struct machine m;
    machine_make(&m);
    write_two_disks(&m);
    machine_open(&m, &collector_sensors);
    /* A directory answers EISDIR where a sensor would EIO. */
    tree_unlink(&m.tree, HWMON "hwmon1/temp1_input");
    tree_write(&m.tree, HWMON "hwmon1/temp1_input/x", "");
    machine_collect(&m);
    assert_int_equal(m.list.count, 1);
    assert_number(&m.system.read, system_temperature_celsius, 38.85);
    /* Cold is a temperature; 255 degrees is nothing connected. */
    tree_write(&m.tree, HWMON "hwmon0/temp1_input", "-12500\n");
    machine_collect(&m);
    assert_celsius(&m, "nvme Composite", -12.5);
    assert_number(&m.system.read, system_temperature_celsius, -12.5);
    tree_write(&m.tree, HWMON "hwmon0/temp1_input", "255000\n");
    machine_collect(&m);
    assert_int_equal(m.list.count, 0);
    assert_unknown(&m.system.read, system_temperature_celsius);
    tree_write(&m.tree, HWMON "hwmon0/temp1_input", "garbage\n");
    machine_collect(&m);
    assert_int_equal(m.list.count, 0);
    machine_remove(&m);
}

static void test_sensors_old_kernel(void **state)
{
    struct machine m;
    machine_make(&m);
    tree_write(&m.tree, HWMON "hwmon0/device/name", "coretemp\n");
    tree_write(&m.tree, HWMON "hwmon0/device/temp2_input", "51000\n");
    tree_write(&m.tree, HWMON "hwmon0/device/temp2_label", "Core 0\n");
    machine_open(&m, &collector_sensors);
    machine_collect(&m);
    assert_celsius(&m, "coretemp Core 0", 51);
    machine_remove(&m);
}

static void test_sensors_thermal_zones(void **state)
{
    struct machine m;
    machine_make(&m);
    tree_write(&m.tree, "sys/class/thermal/cooling_device0/type", "Processor\n");
    tree_write(&m.tree, "sys/class/thermal/thermal_zone0/type", "cpu-thermal\n");
    tree_write(&m.tree, "sys/class/thermal/thermal_zone0/temp", "55000\n");
    tree_write(&m.tree, "sys/class/thermal/thermal_zone1/type", "cpu-thermal\n");
    tree_write(&m.tree, "sys/class/thermal/thermal_zone1/temp", "57000\n");
    machine_open(&m, &collector_sensors);
    machine_collect(&m);
    assert_int_equal(m.list.count, 2);
    assert_celsius(&m, "cpu-thermal", 55);
    assert_celsius(&m, "cpu-thermal#2", 57);
    assert_number(&m.system.read, system_temperature_celsius, 57);
    machine_remove(&m);
}

static void test_sensors_kept_when_live(void **state)
{
    struct machine m;
    machine_make(&m);
    write_two_disks(&m);
    m.root.live = true;
    machine_open(&m, &collector_sensors);
    unsigned fds = tree_open_fds();
    machine_collect(&m);
    machine_collect(&m);
    assert_int_equal(tree_open_fds(), fds + 2);
    machine_close(&m);
    assert_int_equal(tree_open_fds(), fds);
    machine_remove(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rapl_none),
        cmocka_unit_test(test_rapl_two_packages),
        cmocka_unit_test(test_rapl_turns),
        cmocka_unit_test(test_rapl_turn_without_a_range),
        cmocka_unit_test(test_rapl_one_cannot_be_read),
        cmocka_unit_test(test_rapl_core_is_not_needed_for_the_sum),
        cmocka_unit_test(test_rapl_denied),
        cmocka_unit_test(test_rapl_kept_when_live),
        cmocka_unit_test(test_sensors_none),
        cmocka_unit_test(test_sensors_hwmon),
        cmocka_unit_test(test_sensors_labels_that_repeat),
        cmocka_unit_test(test_sensors_what_does_not_answer),
        cmocka_unit_test(test_sensors_old_kernel),
        cmocka_unit_test(test_sensors_thermal_zones),
        cmocka_unit_test(test_sensors_kept_when_live),
    };
    return RUN("source/machine/energy", tests);
}
