/* SPDX-License-Identifier: MIT */
#include "doctor_tree.h"

#define SYSFS "mount -t sysfs sysfs /sys"
#define DEV_HEADINGS                                                                               \
    "Inter-|   Receive                                                |  Transmit\n"               \
    " face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs "     \
    "drop "                                                                                        \
    "fifo colls carrier compressed\n"

static void make(struct patient *p)
{
    patient_make(p, "6.1.0\n", STATUS_OF_USER);
    tree_write(&p->tree, "sys/class/x", "");
}

static void test_system(void **state)
{
    struct patient p;
    make(&p);
    assert_not_ok(&p, doctor_system, TOLL_CHECK_MISSING, "mount -t proc proc /proc");
    tree_write(&p.tree, "proc/loadavg", "0.50 0.40 0.30 1/100 1234\n");
    tree_write(&p.tree, "proc/meminfo",
               "MemTotal: 2048 kB\nMemFree: 1024 kB\nMemAvailable: 1500 kB\nBuffers: 1 kB\n"
               "Cached: 2 kB\n");
    assert_not_ok(&p, doctor_system, TOLL_CHECK_PARTLY, "mount -t proc proc /proc");
    assert_string_equal(p.finding.detail.data, "not to be read in /proc: stat");
    tree_write(&p.tree, "proc/stat",
               "cpu  10 0 5 100 0 0 0 0 0 0\ncpu0 10 0 5 100 0 0 0 0 0 0\nintr 5 0\nctxt 7\n"
               "btime 1700000000\nprocesses 9\nprocs_running 1\nprocs_blocked 0\n");
    assert_ok(&p, doctor_system, "");
    patient_remove(&p);
}

static void test_pressure(void **state)
{
    struct patient p;
    make(&p);
    tree_write(&p.tree, "proc/loadavg", "0.50 0.40 0.30 1/100 1234\n");
    assert_not_ok(&p, doctor_pressure, TOLL_CHECK_MISSING,
                  "boot with psi=1 (a kernel with CONFIG_PSI=y)");
    tree_write(&p.tree, "proc/pressure/cpu", "some avg10=0.00 avg60=0.00 avg300=0.00 total=100\n");
    assert_ok(&p, doctor_pressure, "");
    tree_write(&p.tree, "proc/sys/kernel/osrelease", "4.19.0\n");
    tree_unlink(&p.tree, "proc/pressure/cpu");
    assert_not_ok(&p, doctor_pressure, TOLL_CHECK_MISSING, "Linux 4.20 or later with CONFIG_PSI=y");
    patient_remove(&p);
}

static void test_disks(void **state)
{
    struct patient p;
    make(&p);
    assert_not_ok(&p, doctor_disks, TOLL_CHECK_MISSING, "mount -t proc proc /proc");
    tree_write(&p.tree, "proc/diskstats",
               "254 0 vda 1 0 8 1 1 0 8 1 0 1 1\n"
               "254 1 vda1 1 0 8 1 1 0 8 1 0 1 1\n");
    tree_write(&p.tree, "sys/block/vda/device/x", "");
    tree_write(&p.tree, "sys/block/vda/size", "100\n");
    assert_ok(&p, doctor_disks, "1 real, 0 stacked, 0 virtual");
    patient_remove(&p);
}

/* A tree without a sys at all, as in some sandboxes. */
static void test_without_sys(void **state)
{
    struct patient p;
    patient_make(&p, "6.1.0\n", STATUS_OF_USER);
    tree_write(&p.tree, "proc/diskstats", "254 0 vda 1 0 8 1 1 0 8 1 0 1 1\n");
    tree_write(&p.tree, "proc/self/net/dev",
               DEV_HEADINGS "  eth0: 1 1 0 0 0 0 0 0 1 1 0 0 0 0 0 0\n");
    tree_write(&p.tree, "proc/net/dev", DEV_HEADINGS "  eth0: 1 1 0 0 0 0 0 0 1 1 0 0 0 0 0 0\n");
    assert_not_ok(&p, doctor_disks, TOLL_CHECK_PARTLY, SYSFS);
    assert_not_ok(&p, doctor_interfaces, TOLL_CHECK_PARTLY, SYSFS);
    assert_not_ok(&p, doctor_sensors, TOLL_CHECK_MISSING, SYSFS);
    assert_not_ok(&p, doctor_energy, TOLL_CHECK_MISSING, SYSFS);
    patient_remove(&p);
}

static void test_filesystems(void **state)
{
    struct patient p;
    make(&p);
    assert_not_ok(&p, doctor_filesystems, TOLL_CHECK_MISSING, "mount -t proc proc /proc");
    tree_write(&p.tree, "proc/self/mountinfo",
               "20 1 254:0 / / rw - ext4 /dev/vda rw\n"
               "21 20 0:30 / /home rw - nfs4 server:/home rw\n");
    assert_ok(&p, doctor_filesystems, "1 local, 1 network");
    patient_remove(&p);
}

static void test_sensors(void **state)
{
    struct patient p;
    make(&p);
    assert_not_ok(&p, doctor_sensors, TOLL_CHECK_MISSING, "modprobe coretemp");
    tree_write(&p.tree, "proc/cpuinfo", "vendor_id : AuthenticAMD\nflags : fpu\n");
    assert_not_ok(&p, doctor_sensors, TOLL_CHECK_MISSING, "modprobe k10temp");
    tree_write(&p.tree, "proc/cpuinfo", "flags : fpu hypervisor\n");
    assert_not_ok(&p, doctor_sensors, TOLL_CHECK_MISSING, "toll on the host");
    tree_write(&p.tree, "sys/class/hwmon/hwmon0/name", "coretemp\n");
    tree_write(&p.tree, "sys/class/hwmon/hwmon0/temp1_input", "46000\n");
    assert_ok(&p, doctor_sensors, "1 sensor");
    tree_write(&p.tree, "sys/class/hwmon/hwmon0/temp1_input", "\n");
    patient_probe(&p, doctor_sensors);
    assert_int_equal(p.finding.state, TOLL_CHECK_MISSING);
    patient_remove(&p);
}

static void test_energy(void **state)
{
    struct patient p;
    make(&p);
    assert_not_ok(&p, doctor_energy, TOLL_CHECK_MISSING, "modprobe intel_rapl_msr");
    tree_write(&p.tree, "proc/cpuinfo", "flags : fpu hypervisor\n");
    assert_not_ok(&p, doctor_energy, TOLL_CHECK_MISSING, "toll on the host");
    tree_write(&p.tree, "sys/class/powercap/intel-rapl:0/name", "package-0\n");
    tree_write(&p.tree, "sys/class/powercap/intel-rapl:0/energy_uj", "");
    assert_not_ok(&p, doctor_energy, TOLL_CHECK_MISSING,
                  "chmod a+r /sys/class/powercap/*/energy_uj");
    tree_write(&p.tree, "sys/class/powercap/intel-rapl:0/energy_uj", "100\n");
    assert_ok(&p, doctor_energy, "1 counter");
    patient_remove(&p);
}

static void test_network_and_formats(void **state)
{
    struct patient p;
    make(&p);
    patient_probe(&p, doctor_network);
    assert_int_equal(p.finding.state, TOLL_CHECK_UNKNOWN);
    assert_ok(&p, doctor_formats, "");
    assert_non_null(strstr(p.finding.means.data, "csv, jsonl, json"));
    patient_remove(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_system),      cmocka_unit_test(test_pressure),
        cmocka_unit_test(test_disks),       cmocka_unit_test(test_without_sys),
        cmocka_unit_test(test_filesystems), cmocka_unit_test(test_sensors),
        cmocka_unit_test(test_energy),      cmocka_unit_test(test_network_and_formats),
    };
    return RUN("doctor_machine", tests);
}
