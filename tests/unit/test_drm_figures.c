/* SPDX-License-Identifier: MIT */
#include "source/gpu/drm.h"

#include "gpu_tree.h"

static const char *const amd[] = {"amdgpu", NULL};

static const struct drm_figure table[] = {
    {gpu_utilization_ratio, DRM_DEVICE, {"gpu_busy_percent"}, 0.01},
    {gpu_memory_used_bytes, DRM_DEVICE, {"mem_info_vram_used"}, 1},
    {gpu_power_watts, DRM_HWMON, {"power1_average", "power1_input"}, 1e-6},
    {gpu_temperature_celsius, DRM_HWMON, {"temp1_input"}, 1e-3},
    {gpu_clock_sm_hertz, DRM_CARD, {"gt_act_freq_mhz"}, 1e6},
};

static void open_figures(struct gpu_tree *g, struct drm_cards *cards, struct drm_figures *f)
{
    assert_int_equal(drm_cards_find(cards, &g->root, amd), 0);
    drm_figures_init(f, table, ARRAY_LEN(table), &cards->items[0], &g->root);
}

static void test_values(void **state)
{
    struct gpu_tree g;
    struct drm_cards cards;
    struct drm_figures f;
    struct row row;
    gpu_tree_make(&g);
    gpu_tree_card(&g, 0, "amdgpu", "1002:73BF", "0000:03:00.0");
    gpu_tree_card_file(&g, 0, "gt_act_freq_mhz", "1550\n");
    gpu_tree_card_file(&g, 0, "device/gpu_busy_percent", "37\n");
    gpu_tree_card_file(&g, 0, "device/mem_info_vram_used", "9007199254740993\n");
    gpu_tree_card_file(&g, 0, "device/hwmon/hwmon3/name", "amdgpu\n");
    gpu_tree_card_file(&g, 0, "device/hwmon/hwmon3/power1_input", "68250000\n");
    gpu_tree_card_file(&g, 0, "device/hwmon/hwmon3/temp1_input", "-4500\n");
    open_figures(&g, &cards, &f);
    row_init(&row, ENTITY_GPU);
    drm_figures_read(&f, &g.root, &row);
    assert_number(&row, gpu_utilization_ratio, 0.37);
    assert_value(&row, gpu_memory_used_bytes, 9007199254740993); /* more digits than a double */
    assert_number(&row, gpu_power_watts, 68.25);
    assert_number(&row, gpu_temperature_celsius, -4.5);
    assert_value(&row, gpu_clock_sm_hertz, 1550000000);
    assert_unknown(&row, gpu_energy_joules);
    drm_figures_done(&f);
    drm_cards_done(&cards);
    gpu_tree_remove(&g);
}

static void test_what_cannot_be(void **state)
{
    struct gpu_tree g;
    struct drm_cards cards;
    struct drm_figures f;
    struct row row;
    gpu_tree_make(&g);
    gpu_tree_card(&g, 0, "amdgpu", "1002:73BF", "0000:03:00.0");
    gpu_tree_card_file(&g, 0, "gt_act_freq_mhz", "9223372036854775807\n");
    gpu_tree_card_file(&g, 0, "device/gpu_busy_percent", "65535\n");
    gpu_tree_card_file(&g, 0, "device/mem_info_vram_used", "-1\n");
    gpu_tree_card_file(&g, 0, "device/hwmon/hwmon3/name", "amdgpu\n");
    gpu_tree_card_file(&g, 0, "device/hwmon/hwmon3/power1_average", "n/a\n");
    open_figures(&g, &cards, &f);
    row_init(&row, ENTITY_GPU);
    drm_figures_read(&f, &g.root, &row);
    assert_int_equal(row.present, 0);
    /* It may get better. */
    gpu_tree_card_file(&g, 0, "device/gpu_busy_percent", "100\n");
    drm_figures_read(&f, &g.root, &row);
    assert_number(&row, gpu_utilization_ratio, 1);
    drm_figures_done(&f);
    drm_cards_done(&cards);
    gpu_tree_remove(&g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_what_cannot_be),
    };
    return RUN("drm_figures", tests);
}
