/* SPDX-License-Identifier: MIT */
#include "source/gpu/drm.h"

#include "gpu_tree.h"

static const char *const drivers[] = {"amdgpu", NULL};
static const struct drm_figure figures[] = {
    {gpu_utilization_ratio, DRM_DEVICE, {"gpu_busy_percent"}, 0.01},
};
static const struct drm_vendor_table table = {"amd", "AMD", drivers, figures, ARRAY_LEN(figures)};

/* Cards behind those of another vendor, and their processes with them. */
static void test_behind_others(void **state)
{
    static const pid_t pids[] = {100};
    struct gpu_tree g;
    struct drm_vendor v;
    gpu_tree_make(&g);
    assert_false(drm_vendor_is_likely(&table, &g.root));
    assert_int_equal(drm_vendor_open(&v, &table, &g.root), -ENODEV);
    gpu_tree_card_file(&g, 0, "device/uevent", "DRIVER=amdgpu\nPCI_SLOT_NAME=0000:03:00.0\n");
    gpu_tree_card_file(&g, 0, "device/gpu_busy_percent", "50\n");
    gpu_tree_process(&g, 100, 5);
    gpu_tree_client(&g, 100, 4, "amdgpu", "0000:03:00.0", 1, "drm-memory-vram: 1 KiB\n");
    assert_true(drm_vendor_is_likely(&table, &g.root));
    assert_int_equal(drm_vendor_open(&v, &table, &g.root), 0);
    assert_non_null(gpu_frame_add_device(&g.frame));
    assert_int_equal(drm_vendor_read(&v, &g.frame, pids, 1, NS_PER_SECOND, &g.trouble), 1);
    assert_int_equal(g.frame.device_count, 2);
    assert_string_equal(g.frame.devices[1].facts.name, "AMD GPU");
    assert_number(&g.frame.devices[1].row, gpu_utilization_ratio, 0.5);
    assert_int_equal(gpu_tree_find(&g.frame, 1, 100)->memory_bytes, 1024);
    drm_vendor_close(&v);
    drm_vendor_close(&v);
    gpu_tree_remove(&g);
}

/* One that is gone tells nothing of processes any more. */
static void test_gone(void **state)
{
    struct gpu_tree g;
    struct drm_vendor v;
    char path[512];
    gpu_tree_make(&g);
    gpu_tree_card(&g, 0, "amdgpu", "1002:73BF", "0000:03:00.0");
    gpu_tree_card(&g, 1, "amdgpu", "1002:73BF", "0000:04:00.0");
    assert_int_equal(drm_vendor_open(&v, &table, &g.root), 0);
    unlink(tree_path(&g.tree, path, "sys/class/drm/card0/device/uevent"));
    unlink(tree_path(&g.tree, path, "sys/class/drm/card1/device/uevent"));
    drm_vendor_read(&v, &g.frame, NULL, 0, NS_PER_SECOND, &g.trouble);
    assert_true(g.frame.devices[0].is_lost && g.frame.devices[1].is_lost);
    assert_int_equal(g.frame.devices[0].tells, 0);
    drm_vendor_close(&v);
    gpu_tree_remove(&g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_behind_others),
                                       cmocka_unit_test(test_gone)};
    return RUN("drm_vendor", tests);
}
