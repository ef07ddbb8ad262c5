/* SPDX-License-Identifier: MIT */
#include "source/gpu/drm.h"

#include "gpu_tree.h"

static const char *const amd[] = {"amdgpu", NULL};
static const char *const intel[] = {"i915", "xe", NULL};

static void test_none(void **state)
{
    struct gpu_tree g;
    struct drm_cards cards;
    gpu_tree_make(&g);
    assert_int_equal(drm_cards_find(&cards, &g.root, amd), -ENODEV);
    gpu_tree_card(&g, 0, "i915", "8086:56A0", "0000:03:00.0");
    assert_int_equal(drm_cards_find(&cards, &g.root, amd), -ENODEV);
    struct sysroot without_sys = g.root;
    without_sys.sys = -1;
    assert_int_equal(drm_cards_find(&cards, &without_sys, intel), -ENODEV);
    gpu_tree_remove(&g);
}

static void test_order_and_facts(void **state)
{
    struct gpu_tree g;
    struct drm_cards cards;
    gpu_tree_make(&g);
    gpu_tree_card(&g, 10, "amdgpu", "1002:73BF", "0000:03:00.0");
    gpu_tree_card(&g, 1, "amdgpu", "1002:740F", "0000:C1:00.0");
    gpu_tree_card(&g, 2, "i915", "8086:56A0", "0000:00:02.0");
    gpu_tree_card_file(&g, 3, "device/uevent", "DRIVER=vkms\n"); /* no PCI address */
    tree_write(&g.tree, "sys/class/drm/card1-DP-1/status", "connected\n");
    tree_write(&g.tree, "sys/class/drm/renderD128/device/uevent",
               "DRIVER=amdgpu\nPCI_SLOT_NAME=0000:c1:00.0\n");
    tree_write(&g.tree, "sys/class/drm/version", "drm 1.1.0\n");
    assert_int_equal(drm_cards_find(&cards, &g.root, amd), 0);
    assert_int_equal(cards.count, 2);
    assert_string_equal(cards.items[0].pci, "0000:03:00.0");
    assert_string_equal(cards.items[0].folder, "class/drm/card10");
    assert_string_equal(cards.items[0].pci_id, "1002:73bf");
    assert_string_equal(cards.items[1].pci, "0000:c1:00.0");
    assert_ptr_equal(drm_cards_at(&cards, "0000:c1:00.0"), &cards.items[1]);
    assert_null(drm_cards_at(&cards, "0000:00:02.0"));
    drm_cards_done(&cards);
    gpu_tree_remove(&g);
}

static void test_hwmon(void **state)
{
    struct gpu_tree g;
    struct drm_cards cards;
    gpu_tree_make(&g);
    gpu_tree_card(&g, 0, "i915", "8086:56A0", "0000:03:00.0");
    gpu_tree_card_file(&g, 0, "device/hwmon/hwmon2/name", "i915_gt0\n");
    gpu_tree_card_file(&g, 0, "device/hwmon/hwmon3/name", "i915\n");
    assert_int_equal(drm_cards_find(&cards, &g.root, intel), 0);
    assert_string_equal(cards.items[0].hwmon, "class/drm/card0/device/hwmon/hwmon3");
    drm_cards_done(&cards);
    gpu_tree_remove(&g);
}

static void test_asleep_and_gone(void **state)
{
    struct gpu_tree g;
    struct drm_cards cards;
    gpu_tree_make(&g);
    gpu_tree_card(&g, 0, "amdgpu", "1002:73BF", "0000:03:00.0");
    assert_int_equal(drm_cards_find(&cards, &g.root, amd), 0);
    assert_false(drm_card_is_asleep(&cards.items[0], &g.root)); /* an old kernel */
    gpu_tree_card_file(&g, 0, "device/power/runtime_status", "suspended\n");
    assert_true(drm_card_is_asleep(&cards.items[0], &g.root));
    gpu_tree_card_file(&g, 0, "device/power/runtime_status", "active\n");
    assert_false(drm_card_is_asleep(&cards.items[0], &g.root));
    assert_false(drm_card_is_gone(&cards.items[0], &g.root));
    tree_unlink(&g.tree, "sys/class/drm/card0/device/uevent");
    assert_true(drm_card_is_gone(&cards.items[0], &g.root));
    drm_cards_done(&cards);
    gpu_tree_remove(&g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_none),
        cmocka_unit_test(test_order_and_facts),
        cmocka_unit_test(test_hwmon),
        cmocka_unit_test(test_asleep_and_gone),
    };
    return RUN("drm_cards", tests);
}
