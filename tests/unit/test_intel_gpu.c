/* SPDX-License-Identifier: MIT */
#include "gpu_tree.h"

#define I915 "0000:00:02.0"
#define XE   "0000:03:00.0"

static void write_cards(const struct gpu_tree *g)
{
    gpu_tree_card(g, 0, "i915", "8086:46A6", I915);
    gpu_tree_card_file(g, 0, "gt_act_freq_mhz", "1300\n");
    gpu_tree_card(g, 1, "xe", "8086:56A0", XE);
    gpu_tree_card_file(g, 1, "device/tile0/gt0/freq0/act_freq", "2400\n");
    gpu_tree_card_file(g, 1, "device/hwmon/hwmon4/name", "xe\n");
    gpu_tree_card_file(g, 1, "device/hwmon/hwmon4/energy1_input", "5000000\n");
    gpu_tree_card_file(g, 1, "device/hwmon/hwmon4/temp2_input", "48000\n");
}

static void test_none(void **state)
{
    struct gpu_tree g;
    gpu_tree_make(&g);
    assert_false(gpu_vendor_intel.is_likely(&g.root));
    assert_int_equal(gpu_tree_open(&g, &gpu_vendor_intel), -ENODEV);
    gpu_vendor_intel.close(NULL);
    gpu_tree_remove(&g);
}

static void test_devices(void **state)
{
    struct gpu_tree g;
    gpu_tree_make(&g);
    write_cards(&g);
    assert_true(gpu_vendor_intel.is_likely(&g.root));
    assert_int_equal(gpu_tree_open(&g, &gpu_vendor_intel), 0);
    gpu_tree_read(&g, NULL, 0);
    assert_int_equal(g.frame.device_count, 2);
    const struct gpu_device *d = &g.frame.devices[0];
    assert_string_equal(d->facts.vendor, "intel");
    assert_string_equal(d->facts.name, "Intel GPU 8086:46a6");
    assert_value(&d->row, gpu_clock_sm_hertz, 1300000000);
    assert_unknown(&d->row, gpu_energy_joules);
    assert_unknown(&d->row, gpu_utilization_ratio);
    d = &g.frame.devices[1];
    assert_string_equal(d->facts.pci, XE);
    assert_value(&d->row, gpu_clock_sm_hertz, 2400000000);
    assert_value(&d->row, gpu_energy_joules, 5000000); /* held in millionths */
    assert_number(&d->row, gpu_temperature_celsius, 48);
    assert_unknown(&d->row, gpu_power_watts); /* needs two readings */
    gpu_tree_remove(&g);
}

static void test_power(void **state)
{
    struct gpu_tree g;
    gpu_tree_make(&g);
    write_cards(&g);
    assert_int_equal(gpu_tree_open(&g, &gpu_vendor_intel), 0);
    gpu_tree_read(&g, NULL, 0);
    gpu_tree_card_file(&g, 1, "device/hwmon/hwmon4/energy1_input", "5100000\n");
    gpu_tree_read(&g, NULL, 0);
    assert_true(row_has(&g.frame.devices[1].row, gpu_power_watts));
    assert_true(row_value(&g.frame.devices[1].row, gpu_power_watts).d > 0);
    assert_unknown(&g.frame.devices[0].row, gpu_power_watts);
    /* The counter began anew: no power below nothing. */
    gpu_tree_card_file(&g, 1, "device/hwmon/hwmon4/energy1_input", "7\n");
    gpu_tree_read(&g, NULL, 0);
    assert_unknown(&g.frame.devices[1].row, gpu_power_watts);
    gpu_tree_remove(&g);
}

static void test_processes(void **state)
{
    static const pid_t pids[] = {100, 200};
    struct gpu_tree g;
    gpu_tree_make(&g);
    write_cards(&g);
    gpu_tree_process(&g, 100, 5);
    gpu_tree_process(&g, 200, 6);
    gpu_tree_client(&g, 100, 4, "i915", I915, 1,
                    "drm-total-system0: 8 KiB\ndrm-resident-system0: 4 KiB\n"
                    "drm-engine-render: 9000 ns\n");
    gpu_tree_client(&g, 200, 4, "i915", I915, 1,
                    "drm-total-system0: 8 KiB\ndrm-resident-system0: 4 KiB\n"
                    "drm-engine-render: 9000 ns\n");
    gpu_tree_client(&g, 200, 5, "xe", XE, 1,
                    "drm-resident-vram0: 2 MiB\ndrm-cycles-rcs: 5\ndrm-total-cycles-rcs: 10\n");
    assert_int_equal(gpu_tree_open(&g, &gpu_vendor_intel), 0);
    gpu_tree_read(&g, pids, ARRAY_LEN(pids));
    assert_int_equal(g.frame.process_count, 2);
    const struct gpu_process *p = gpu_tree_find(&g.frame, 0, 100);
    assert_int_equal(p->memory_bytes, 4096);
    assert_int_equal(p->busy_ns, 9000);
    p = gpu_tree_find(&g.frame, 1, 200);
    assert_int_equal(p->memory_bytes, 2 << 20);
    assert_false(p->has_busy);
    gpu_tree_remove(&g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_none),
        cmocka_unit_test(test_devices),
        cmocka_unit_test(test_power),
        cmocka_unit_test(test_processes),
    };
    return RUN("intel_gpu", tests);
}
