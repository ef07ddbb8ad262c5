/* SPDX-License-Identifier: MIT */
#include "fake_smi.h"

#define MIB UINT64_C(1048576)

static void test_amd_smi(void **state)
{
    struct fake_smi x;
    fake_smi_make(&x, "smi", "", "");
    assert_int_equal(fake_smi_open(&x, &gpu_vendor_amd_smi), 0);
    fake_smi_read(&x);
    assert_int_equal(x.frame.device_count, 2);
    const struct gpu_device *d = &x.frame.devices[0];
    assert_string_equal(d->facts.vendor, "amd");
    assert_number(&d->row, gpu_utilization_ratio, 0.37);
    assert_number(&d->row, gpu_memory_controller_ratio, 0.04);
    assert_value(&d->row, gpu_memory_used_bytes, 1811 * MIB);
    assert_value(&d->row, gpu_memory_total_bytes, 65520 * MIB);
    assert_number(&d->row, gpu_power_watts, 61);
    assert_number(&d->row, gpu_temperature_celsius, 41);
    assert_value(&d->row, gpu_clock_sm_hertz, 1310000000);
    assert_int_equal(d->tells, 0); /* nothing is known of processes */
    d = &x.frame.devices[1];
    assert_int_equal(d->facts.index, 1);
    assert_unknown(&d->row, gpu_power_watts);
    assert_number(&d->row, gpu_utilization_ratio, 0);
    fake_smi_remove(&x);
}

static void test_rocm_smi(void **state)
{
    struct fake_smi x;
    fake_smi_make(&x, "smi-rocm", "", "");
    assert_int_equal(fake_smi_open(&x, &gpu_vendor_amd_smi), 0);
    fake_smi_read(&x);
    assert_int_equal(x.frame.device_count, 1);
    const struct gpu_device *d = &x.frame.devices[0];
    assert_string_equal(d->facts.uuid, "7f9c3a5d1e2b4c68");
    assert_string_equal(d->facts.pci, "0000:c1:00.0");
    assert_number(&d->row, gpu_utilization_ratio, 0.37);
    assert_value(&d->row, gpu_memory_used_bytes, 1811939328);
    assert_value(&d->row, gpu_memory_total_bytes, 68702699520);
    assert_number(&d->row, gpu_power_watts, 61.25);
    assert_number(&d->row, gpu_temperature_celsius, 41);
    fake_smi_remove(&x);
}

static void test_nothing(void **state)
{
    struct fake_smi x;
    fake_smi_make(&x, "smi", "", "none");
    assert_int_equal(fake_smi_open(&x, &gpu_vendor_amd_smi), -ENODEV);
    fake_smi_remove(&x);
    fake_smi_make(&x, "no-such-folder", "", "");
    assert_int_equal(fake_smi_open(&x, &gpu_vendor_amd_smi), -ENODEV);
    fake_smi_remove(&x);
    gpu_vendor_amd_smi.close(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_amd_smi),
        cmocka_unit_test(test_rocm_smi),
        cmocka_unit_test(test_nothing),
    };
    return RUN("amd_smi", tests);
}
