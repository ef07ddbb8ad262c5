/* SPDX-License-Identifier: MIT */
#include "gpu_tree.h"

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

static void test_none(void **state)
{
    struct gpu_tree g;
    gpu_tree_make(&g);
    assert_false(gpu_vendor_amdgpu.is_likely(&g.root));
    assert_int_equal(gpu_tree_open(&g, &gpu_vendor_amdgpu), -ENODEV);
    assert_string_equal(g.trouble.sentence, "");
    gpu_vendor_amdgpu.close(NULL);
    gpu_tree_remove(&g);
}

static void test_devices(void **state)
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

static void test_asleep_and_lost(void **state)
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

static void test_processes(void **state)
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
static void test_pids_of_a_container(void **state)
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

static void test_denied_is_told_once(void **state)
{
    static const pid_t pids[] = {100};
    struct gpu_tree g;
    gpu_tree_make(&g);
    write_card(&g);
    tree_write(&g.tree, "proc/100/fdinfo", "no directory\n");
    assert_int_equal(gpu_tree_open(&g, &gpu_vendor_amdgpu), 0);
    gpu_tree_read(&g, pids, 1);
    assert_non_null(strstr(g.trouble.sentence, "process 100"));
    assert_int_equal(g.frame.devices[0].tells, 0);
    gpu_tree_read(&g, pids, 1);
    assert_string_equal(g.trouble.sentence, "");
    gpu_tree_remove(&g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_none),
        cmocka_unit_test(test_devices),
        cmocka_unit_test(test_asleep_and_lost),
        cmocka_unit_test(test_processes),
        cmocka_unit_test(test_pids_of_a_container),
        cmocka_unit_test(test_denied_is_told_once),
    };
    return RUN("amdgpu", tests);
}
