/* SPDX-License-Identifier: MIT */
#include "source/collector.h"

#include "machine_tree.h"

#define HWMON "sys/class/hwmon/"

static void assert_celsius(const struct machine *m, const char *name, double celsius)
{
    const struct instance *sensor = machine_find(m, name);
    assert_non_null(sensor);
    assert_number(&sensor->read, sensor_temperature_celsius, celsius);
}

static void test_none(void **state)
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

static void test_hwmon(void **state)
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

static void test_labels_that_repeat(void **state)
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

static void test_what_does_not_answer(void **state)
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

static void test_old_kernel(void **state)
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

static void test_thermal_zones(void **state)
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

static void test_kept_when_live(void **state)
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
        cmocka_unit_test(test_none),
        cmocka_unit_test(test_hwmon),
        cmocka_unit_test(test_labels_that_repeat),
        cmocka_unit_test(test_what_does_not_answer),
        cmocka_unit_test(test_old_kernel),
        cmocka_unit_test(test_thermal_zones),
        cmocka_unit_test(test_kept_when_live),
    };
    return RUN("sensors", tests);
}
