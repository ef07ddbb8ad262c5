/* SPDX-License-Identifier: MIT */
#include "gpu_tree.h"

/* ---- amdgpu --------------------------------------------------------------------------------- */

#define CARD "0000:03:00.0"

static void write_card(const struct gpu_tree *g)
{
    gpu_tree_card(g, 1, "amdgpu", "1002:740F", "0000:C1:00.0");
    gpu_tree_card(g, 0, "amdgpu", "1002:73BF", CARD);
    gpu_tree_card_file(g, 0, "device/unique_id", "7f9c3a5d1e2b4c68\n");
    gpu_tree_card_file(g, 0, "device/gpu_busy_percent", "37\n");
    gpu_tree_card_file(g, 0, "device/mem_busy_percent", "4\n");
    gpu_tree_card_file(g, 0, "device/mem_info_vram_total", "17163091968\n");
    gpu_tree_card_file(g, 0, "device/mem_info_vram_used", "1811939328\n");
    gpu_tree_card_file(g, 0, "device/hwmon/hwmon3/name", "amdgpu\n");
    gpu_tree_card_file(g, 0, "device/hwmon/hwmon3/power1_average", "68000000\n");
    gpu_tree_card_file(g, 0, "device/hwmon/hwmon3/power1_cap", "203000000\n");
    gpu_tree_card_file(g, 0, "device/hwmon/hwmon3/temp1_input", "51000\n");
    gpu_tree_card_file(g, 0, "device/hwmon/hwmon3/freq1_input", "2310000000\n");
    gpu_tree_card_file(g, 0, "device/hwmon/hwmon3/freq2_input", "1000000000\n");
    gpu_tree_card_file(g, 1, "device/product_name", "AMD Instinct MI210\n");
}

static void write_kfd(const struct gpu_tree *g)
{
    tree_write(&g->tree, "sys/class/kfd/kfd/topology/nodes/1/gpu_id", "53458\n");
    tree_write(&g->tree, "sys/class/kfd/kfd/topology/nodes/1/properties",
               "simd_count 416\nsimd_per_cu 4\nlocation_id 49408\ndomain 0\n");
    tree_write(&g->tree, "sys/class/kfd/kfd/proc/4711/vram_53458", "1073741824\n");
    tree_write(&g->tree, "sys/class/kfd/kfd/proc/4711/stats_53458/cu_occupancy", "26\n");
}

static void test_amdgpu_none(void **state)
{
    struct gpu_tree g;
    gpu_tree_make(&g);
    assert_false(gpu_vendor_amdgpu.is_likely(&g.root));
    assert_int_equal(gpu_tree_open(&g, &gpu_vendor_amdgpu), -ENODEV);
    assert_string_equal(g.trouble.sentence, "");
    gpu_vendor_amdgpu.close(NULL);
    gpu_tree_remove(&g);
}

static void test_amdgpu_devices(void **state)
{
    struct gpu_tree g;
    gpu_tree_make(&g);
    write_card(&g);
    assert_true(gpu_vendor_amdgpu.is_likely(&g.root));
    assert_int_equal(gpu_tree_open(&g, &gpu_vendor_amdgpu), 0);
    gpu_tree_read(&g, NULL, 0);
    assert_int_equal(g.frame.device_count, 2);
    const struct gpu_device *d = &g.frame.devices[0];
    assert_string_equal(d->facts.vendor, "amd");
    assert_string_equal(d->facts.uuid, "7f9c3a5d1e2b4c68");
    assert_string_equal(d->facts.name, "AMD GPU 1002:73bf");
    assert_string_equal(d->facts.pci, CARD);
    assert_int_equal(d->facts.index, 0);
    assert_number(&d->row, gpu_utilization_ratio, 0.37);
    assert_number(&d->row, gpu_memory_controller_ratio, 0.04);
    assert_value(&d->row, gpu_memory_total_bytes, 17163091968);
    assert_value(&d->row, gpu_memory_used_bytes, 1811939328);
    assert_number(&d->row, gpu_power_watts, 68);
    assert_number(&d->row, gpu_power_limit_watts, 203);
    assert_number(&d->row, gpu_temperature_celsius, 51);
    assert_value(&d->row, gpu_clock_sm_hertz, 2310000000);
    assert_value(&d->row, gpu_clock_memory_hertz, 1000000000);
    assert_unknown(&d->row, gpu_energy_joules);
    assert_unknown(&d->row, gpu_processes_count); /* those of others are not looked at */
    d = &g.frame.devices[1];
    assert_int_equal(d->facts.index, 1);
    assert_string_equal(d->facts.uuid, "");
    assert_string_equal(d->facts.name, "AMD Instinct MI210");
    assert_int_equal(d->row.present, 0);
    gpu_tree_remove(&g);
}

static void test_amdgpu_asleep_and_lost(void **state)
{
    struct gpu_tree g;
    gpu_tree_make(&g);
    write_card(&g);
    assert_int_equal(gpu_tree_open(&g, &gpu_vendor_amdgpu), 0);
    gpu_tree_card_file(&g, 0, "device/power/runtime_status", "suspended\n");
    gpu_tree_read(&g, NULL, 0);
    assert_int_equal(g.frame.devices[0].row.present, 0);
    assert_false(g.frame.devices[0].is_lost);
    gpu_tree_card_file(&g, 0, "device/power/runtime_status", "active\n");
    tree_unlink(&g.tree, "sys/class/drm/card0/device/uevent");
    gpu_tree_read(&g, NULL, 0);
    assert_int_equal(g.frame.device_count, 2); /* always the same in the same order */
    assert_true(g.frame.devices[0].is_lost);
    assert_int_equal(g.frame.devices[0].row.present, 0);
    gpu_tree_remove(&g);
}

static void test_amdgpu_processes(void **state)
{
    static const pid_t pids[] = {100, 4711};
    struct gpu_tree g;
    gpu_tree_make(&g);
    write_card(&g);
    write_kfd(&g);
    gpu_tree_process(&g, 100, 5);
    gpu_tree_process(&g, 4711, 6);
    gpu_tree_client(&g, 100, 4, "amdgpu", CARD, 1,
                    "drm-memory-vram: 8 KiB\ndrm-engine-gfx: 5000 ns\n");
    gpu_tree_client(&g, 4711, 4, "amdgpu", CARD, 1, /* inherited */
                    "drm-memory-vram: 8 KiB\ndrm-engine-gfx: 5000 ns\n");
    gpu_tree_client(&g, 4711, 5, "amdgpu", "0000:c1:00.0", 9,
                    "drm-memory-vram: 64 KiB\ndrm-engine-compute: 0 ns\n");
    assert_int_equal(gpu_tree_open(&g, &gpu_vendor_amdgpu), 0);
    for (int round = 0; round < 2; round++) {
        gpu_tree_read(&g, pids, ARRAY_LEN(pids));
        assert_int_equal(g.frame.process_count, 2);
        const struct gpu_process *p = gpu_tree_find(&g.frame, 0, 100);
        assert_true(p->has_busy && p->has_memory);
        assert_int_equal(p->memory_bytes, 8192);
        assert_int_equal(p->busy_ns, 5000);
        p = gpu_tree_find(&g.frame, 1, 4711);
        assert_int_equal(p->memory_bytes, 1 << 30);
        assert_true(p->has_memory && p->has_share);
        assert_float_equal(p->share, 0.25, 1e-9); /* 26 of 104 compute units */
        assert_false(p->has_busy);                /* fdinfo says 0, which is not true */
    }
    assert_string_equal(g.trouble.sentence, "");
    gpu_tree_remove(&g);
}

/* In a container, the pids of KFD are those of the machine. */
static void test_amdgpu_pids_of_a_container(void **state)
{
    static const pid_t pids[] = {100};
    struct gpu_tree g;
    char link[512];
    gpu_tree_make(&g);
    write_card(&g);
    write_kfd(&g);
    tree_write(&g.tree, "sys/class/kfd/kfd/proc/4712/vram_53458", "4096\n");
    gpu_tree_process(&g, 100, 5);
    tree_write(&g.tree, "proc/self/ns/mnt", "");
    assert_int_equal(symlink("pid:[4026532444]", tree_path(&g.tree, link, "proc/self/ns/pid")), 0);
    assert_int_equal(gpu_tree_open(&g, &gpu_vendor_amdgpu), 0);
    gpu_tree_read(&g, pids, 1);
    const struct gpu_process *p = gpu_tree_find(&g.frame, 1, GPU_UNKNOWN_PID);
    assert_non_null(p);
    assert_int_equal(p->memory_bytes, (1 << 30) + 4096); /* of both, whoever they are */
    assert_null(gpu_tree_find(&g.frame, 1, 4711));
    gpu_tree_remove(&g);
}

static void test_amdgpu_denied_is_told_once(void **state)
{
    static const pid_t pids[] = {100};
    struct gpu_tree g;
    gpu_tree_make(&g);
    write_card(&g);
    tree_write(&g.tree, "proc/100/fdinfo", "no directory\n");
    assert_int_equal(gpu_tree_open(&g, &gpu_vendor_amdgpu), 0);
    gpu_tree_read(&g, pids, 1);
    assert_non_null(strstr(g.trouble.sentence, "process 100"));
    assert_int_equal(g.frame.devices[0].lists, 0);
    gpu_tree_read(&g, pids, 1);
    assert_string_equal(g.trouble.sentence, "");
    gpu_tree_remove(&g);
}

/* ---- Processes that compute ----------------------------------------------------------------- */

#define NODES "sys/class/kfd/kfd/topology/nodes"
#define PROC  "sys/class/kfd/kfd/proc"

/* A processor, two GPUs, and a node without properties. */
static void test_amdgpu_kfd(void **state)
{
    static const char far_card[] = "0001:05:01.3";
    struct gpu_tree g;
    gpu_tree_make(&g);
    write_card(&g);
    gpu_tree_card(&g, 2, "amdgpu", "1002:73BF", far_card);
    tree_write(&g.tree, NODES "/0/gpu_id", "0\n");
    tree_write(&g.tree, NODES "/0/properties", "cpu_cores_count 64\nsimd_count 0\n");
    tree_write(&g.tree, NODES "/1/gpu_id", "53458\n");
    tree_write(&g.tree, NODES "/1/properties",
               "cpu_cores_count 0\nsimd_count 416\nmem_banks_count 1\nsimd_per_cu 4\n"
               "vendor_id 4098\nlocation_id 49408\ndomain 0\n");
    tree_write(&g.tree, NODES "/2/gpu_id", "777\n");
    tree_write(&g.tree, NODES "/2/properties", "simd_count 8\nlocation_id 1291\ndomain 1\n");
    tree_write(&g.tree, NODES "/3/gpu_id", "778\n");
    assert_int_equal(gpu_tree_open(&g, &gpu_vendor_amdgpu), 0);
    gpu_tree_read(&g, NULL, 0);
    assert_int_equal(g.frame.process_count, 0);
    tree_write(&g.tree, PROC "/4711/pasid", "32770\n");
    tree_write(&g.tree, PROC "/4711/vram_53458", "1073741824\n");
    tree_write(&g.tree, PROC "/4711/vram_777", "0\n");
    tree_write(&g.tree, PROC "/4711/sdma_53458", "12\n");
    tree_write(&g.tree, PROC "/4711/stats_53458/cu_occupancy", "26\n");
    tree_write(&g.tree, PROC "/99/vram_777", "4096\n");
    tree_write(&g.tree, PROC "/98/vram_777", "broken\n");
    tree_write(&g.tree, PROC "/odd/vram_777", "1\n");
    gpu_tree_read(&g, NULL, 0);
    assert_int_equal(g.frame.process_count, 2);
    assert_int_equal(g.frame.device_count, 3);
    assert_string_equal(g.frame.devices[2].facts.pci, far_card);
    const struct gpu_process *p = gpu_tree_find(&g.frame, 2, 99);
    assert_true(p && p->has_memory && !p->has_share);
    assert_int_equal(p->memory_bytes, 4096);
    p = gpu_tree_find(&g.frame, 1, 4711);
    assert_int_equal(p->memory_bytes, 1 << 30);
    assert_true(p->has_share && p->is_uncounted);
    assert_float_equal(p->share, 0.25, 1e-9); /* 26 of 104 compute units */
    gpu_tree_remove(&g);
}

/* ---- intel gpu ------------------------------------------------------------------------------ */

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

static void test_intel_gpu_none(void **state)
{
    struct gpu_tree g;
    gpu_tree_make(&g);
    assert_false(gpu_vendor_intel.is_likely(&g.root));
    assert_int_equal(gpu_tree_open(&g, &gpu_vendor_intel), -ENODEV);
    gpu_vendor_intel.close(NULL);
    gpu_tree_remove(&g);
}

static void test_intel_gpu_devices(void **state)
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

static void test_intel_gpu_power(void **state)
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

static void test_intel_gpu_processes(void **state)
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
        cmocka_unit_test(test_amdgpu_none),
        cmocka_unit_test(test_amdgpu_devices),
        cmocka_unit_test(test_amdgpu_asleep_and_lost),
        cmocka_unit_test(test_amdgpu_processes),
        cmocka_unit_test(test_amdgpu_pids_of_a_container),
        cmocka_unit_test(test_amdgpu_denied_is_told_once),
        cmocka_unit_test(test_amdgpu_kfd),
        cmocka_unit_test(test_intel_gpu_none),
        cmocka_unit_test(test_intel_gpu_devices),
        cmocka_unit_test(test_intel_gpu_power),
        cmocka_unit_test(test_intel_gpu_processes),
    };
    return RUN("source/gpu/amd_intel", tests);
}
