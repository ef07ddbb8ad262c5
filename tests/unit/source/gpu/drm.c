/* SPDX-License-Identifier: MIT */
#include "source/gpu/drm.h"
#include "base/util.h"
#include "gpu_tree.h"
#include "unit.h"

#include <stdio.h>

/* ---- drm vendor ----------------------------------------------------------------------------- */

static const char *const drm_vendor_drivers[] = {"amdgpu", NULL};

static const struct drm_figure figures[] = {
    {gpu_utilization_ratio, DRM_DEVICE, {"gpu_busy_percent"}, 0.01},
};

static const struct drm_vendor_table drm_vendor_test_table = {"amd", "AMD", drm_vendor_drivers,
                                                              figures, ARRAY_LEN(figures)};

/* Cards behind those of another vendor, and their processes with them. */
static void test_drm_vendor_behind_others(void **state)
{
    static const pid_t pids[] = {100};
    struct gpu_tree g;
    struct drm_vendor v;
    gpu_tree_make(&g);
    assert_false(drm_vendor_is_likely(&drm_vendor_test_table, &g.root));
    assert_int_equal(drm_vendor_open(&v, &drm_vendor_test_table, &g.root), -ENODEV);
    gpu_tree_card_file(&g, 0, "device/uevent", "DRIVER=amdgpu\nPCI_SLOT_NAME=0000:03:00.0\n");
    gpu_tree_card_file(&g, 0, "device/gpu_busy_percent", "50\n");
    gpu_tree_process(&g, 100, 5);
    gpu_tree_client(&g, 100, 4, "amdgpu", "0000:03:00.0", 1, "drm-memory-vram: 1 KiB\n");
    assert_true(drm_vendor_is_likely(&drm_vendor_test_table, &g.root));
    assert_int_equal(drm_vendor_open(&v, &drm_vendor_test_table, &g.root), 0);
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

/* One that is gone lists nothing of processes any more. */
static void test_drm_vendor_gone(void **state)
{
    struct gpu_tree g;
    struct drm_vendor v;
    char path[512];
    gpu_tree_make(&g);
    gpu_tree_card(&g, 0, "amdgpu", "1002:73BF", "0000:03:00.0");
    gpu_tree_card(&g, 1, "amdgpu", "1002:73BF", "0000:04:00.0");
    assert_int_equal(drm_vendor_open(&v, &drm_vendor_test_table, &g.root), 0);
    unlink(tree_path(&g.tree, path, "sys/class/drm/card0/device/uevent"));
    unlink(tree_path(&g.tree, path, "sys/class/drm/card1/device/uevent"));
    drm_vendor_read(&v, &g.frame, NULL, 0, NS_PER_SECOND, &g.trouble);
    assert_true(g.frame.devices[0].is_lost && g.frame.devices[1].is_lost);
    assert_int_equal(g.frame.devices[0].lists, 0);
    drm_vendor_close(&v);
    gpu_tree_remove(&g);
}

/* ---- drm cards ------------------------------------------------------------------------------ */

static const char *const amd[] = {"amdgpu", NULL};

static const char *const intel[] = {"i915", "xe", NULL};

static void test_drm_cards_none(void **state)
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

static void test_drm_cards_order_and_facts(void **state)
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

static void test_drm_cards_hwmon(void **state)
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

static void test_drm_cards_asleep_and_gone(void **state)
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

/* ---- drm clients ---------------------------------------------------------------------------- */

#define CARD  "0000:03:00.0"
#define OTHER "0000:c1:00.0"

static const char *const drm_clients_drivers[] = {"amdgpu", "i915", "xe", NULL};

struct fixture {
    struct gpu_tree g;
    struct drm_cards cards;
    struct drm_clients clients;
    uint64_t now_ns;
};

static void make(struct fixture *x, const char *driver)
{
    gpu_tree_make(&x->g);
    gpu_tree_card(&x->g, 0, driver, "1:2", CARD);
    gpu_tree_card(&x->g, 1, driver, "1:2", OTHER);
    assert_int_equal(drm_cards_find(&x->cards, &x->g.root, drm_clients_drivers), 0);
    assert_int_equal(drm_clients_init(&x->clients, x->cards.count), 0);
    x->now_ns = 77 * NS_PER_SECOND;
}

static void remove_all(struct fixture *x)
{
    drm_clients_done(&x->clients);
    drm_cards_done(&x->cards);
    gpu_tree_remove(&x->g);
}

/* A second later. */
static void look(struct fixture *x, const pid_t *pids, size_t count)
{
    x->now_ns += NS_PER_SECOND;
    gpu_frame_clear(&x->g.frame);
    drm_clients_read(&x->clients, &x->g.root, &x->cards, pids, count, x->now_ns);
    drm_clients_put(&x->clients, &x->g.frame, 0);
}

static const struct gpu_process *find(const struct fixture *x, pid_t pid)
{
    return gpu_tree_find(&x->g.frame, 0, pid);
}

static const pid_t two[] = {100, 200};

static void test_drm_clients_nobody(void **state)
{
    struct fixture x;
    make(&x, "amdgpu");
    look(&x, NULL, 0);
    gpu_tree_process(&x.g, 100, 5);
    gpu_tree_client(&x.g, 100, 4, "amdgpu", "0000:99:00.0", 1, ""); /* a card we do not have */
    gpu_tree_client(&x.g, 100, 5, "nouveau", CARD, 1, "");          /* another driver's */
    look(&x, two, 2);                                               /* 200 is not there */
    assert_int_equal(x.g.frame.process_count, 0);
    assert_int_equal(x.clients.denied, 0);
    remove_all(&x);
}

/* One client by three descriptors in two processes, and another client of its own. */
static void test_drm_clients_each_client_once(void **state)
{
    struct fixture x;
    make(&x, "amdgpu");
    gpu_tree_process(&x.g, 100, 5);
    gpu_tree_process(&x.g, 200, 6);
    const char shared[] = "drm-memory-vram: 1024 KiB\ndrm-engine-gfx: 5000 ns\n"
                          "drm-engine-compute: 70 ns\n";
    gpu_tree_client(&x.g, 100, 4, "amdgpu", CARD, 1, shared);
    gpu_tree_client(&x.g, 100, 5, "amdgpu", CARD, 1, shared);
    gpu_tree_client(&x.g, 200, 4, "amdgpu", CARD, 1, shared);
    gpu_tree_client(&x.g, 200, 6, "amdgpu", CARD, 2,
                    "drm-memory-vram: 1 KiB\ndrm-engine-gfx: 30 ns\n");
    look(&x, two, 2);
    assert_int_equal(x.g.frame.process_count, 2);
    assert_int_equal(find(&x, 100)->memory_bytes, 1 << 20);
    assert_int_equal(find(&x, 100)->busy_ns, 5000);
    assert_true(find(&x, 100)->has_busy && find(&x, 100)->has_memory);
    assert_false(find(&x, 100)->has_share); /* just now is between two looks */
    assert_int_equal(find(&x, 200)->memory_bytes, 1024);
    assert_int_equal(find(&x, 200)->busy_ns, 30);
    remove_all(&x);
}

/* The same number on another card is another client. */
static void test_drm_clients_clients_of_two_cards(void **state)
{
    struct fixture x;
    make(&x, "amdgpu");
    gpu_tree_process(&x.g, 100, 5);
    gpu_tree_client(&x.g, 100, 4, "amdgpu", CARD, 1, "drm-memory-vram: 1 KiB\n");
    gpu_tree_client(&x.g, 100, 5, "amdgpu", "0000:C1:00.0", 1, "drm-memory-vram: 2 KiB\n");
    look(&x, two, 1);
    assert_int_equal(gpu_tree_find(&x.g.frame, 0, 100)->memory_bytes, 1024);
    assert_int_equal(gpu_tree_find(&x.g.frame, 1, 100)->memory_bytes, 2048);
    assert_false(gpu_tree_find(&x.g.frame, 0, 100)->has_busy); /* no engine is told */
    remove_all(&x);
}

static void test_drm_clients_share(void **state)
{
    struct fixture x;
    make(&x, "i915");
    gpu_tree_process(&x.g, 100, 5);
    gpu_tree_client(&x.g, 100, 4, "i915", CARD, 1,
                    "drm-engine-render: 1000000000 ns\ndrm-engine-video: 0 ns\n"
                    "drm-engine-capacity-video: 2\n");
    look(&x, two, 1);
    assert_false(find(&x, 100)->has_memory); /* an old kernel */
    gpu_tree_client(&x.g, 100, 4, "i915", CARD, 1,
                    "drm-engine-render: 1250000000 ns\ndrm-engine-video: 1000000000 ns\n"
                    "drm-engine-capacity-video: 2\n");
    look(&x, two, 1);
    assert_true(find(&x, 100)->has_share);
    assert_float_equal(find(&x, 100)->share, 0.5, 1e-9); /* half of two video engines */
    assert_int_equal(find(&x, 100)->busy_ns, 1250000000);
    /* More than there is time: never more than all of it. */
    gpu_tree_client(&x.g, 100, 4, "i915", CARD, 1, "drm-engine-render: 2350000000 ns\n");
    look(&x, two, 1);
    assert_float_equal(find(&x, 100)->share, 1, 1e-9);
    look(&x, two, 1);
    assert_float_equal(find(&x, 100)->share, 0, 1e-9);
    remove_all(&x);
}

static void test_drm_clients_steps_back(void **state)
{
    struct fixture x;
    make(&x, "amdgpu");
    gpu_tree_process(&x.g, 100, 5);
    static const char *const values[] = {"5000", "4000", "4900", "5100"};
    static const uint64_t busy_ns[] = {5000, 5000, 5000, 5100};
    for (size_t i = 0; i < ARRAY_LEN(values); i++) {
        char line[64];
        snprintf(line, sizeof line, "drm-engine-gfx: %s ns\n", values[i]);
        gpu_tree_client(&x.g, 100, 4, "amdgpu", CARD, 1, line);
        look(&x, two, 1);
        assert_int_equal(find(&x, 100)->busy_ns, busy_ns[i]);
    }
    remove_all(&x);
}

/* What was used stays with who used it, and what comes later goes to who has it then. */
static void test_drm_clients_handed_on(void **state)
{
    struct fixture x;
    make(&x, "amdgpu");
    gpu_tree_process(&x.g, 100, 5);
    gpu_tree_process(&x.g, 200, 6);
    const char early[] = "drm-memory-vram: 4 KiB\ndrm-engine-gfx: 5000 ns\n";
    const char late[] = "drm-memory-vram: 8 KiB\ndrm-engine-gfx: 5300 ns\n";
    gpu_tree_client(&x.g, 200, 4, "amdgpu", CARD, 1, early);
    look(&x, two, 2);
    /* The lower pid has it too: the first to be seen with it keeps it. */
    gpu_tree_client(&x.g, 100, 7, "amdgpu", CARD, 1, early);
    look(&x, two, 2);
    assert_null(find(&x, 100));
    assert_int_equal(find(&x, 200)->busy_ns, 5000);
    /* It closes it; the other goes on. */
    tree_unlink(&x.g.tree, "proc/200/fdinfo/4");
    gpu_tree_client(&x.g, 100, 7, "amdgpu", CARD, 1, late);
    look(&x, two, 2);
    assert_int_equal(find(&x, 200)->busy_ns, 5000);
    assert_int_equal(find(&x, 200)->memory_bytes, 0);
    assert_true(find(&x, 200)->has_memory && find(&x, 200)->has_left);
    assert_false(find(&x, 100)->has_left);
    assert_int_equal(find(&x, 100)->busy_ns, 300);
    assert_int_equal(find(&x, 100)->memory_bytes, 8192);
    remove_all(&x);
}

/* A client that was out of sight for a moment is not booked again. */
static void test_drm_clients_comes_back(void **state)
{
    struct fixture x;
    make(&x, "amdgpu");
    gpu_tree_process(&x.g, 100, 5);
    gpu_tree_client(&x.g, 100, 4, "amdgpu", CARD, 1, "drm-engine-gfx: 5000 ns\n");
    look(&x, two, 1);
    tree_unlink(&x.g.tree, "proc/100/fdinfo/4");
    look(&x, two, 1);
    gpu_tree_client(&x.g, 100, 4, "amdgpu", CARD, 1, "drm-engine-gfx: 5001 ns\n");
    look(&x, two, 1);
    assert_int_equal(find(&x, 100)->busy_ns, 5001);
    /* Long forgotten clients do not pile up. */
    tree_unlink(&x.g.tree, "proc/100/fdinfo/4");
    for (int i = 0; i < 20; i++)
        look(&x, two, 1);
    assert_int_equal(x.clients.client_count, 0);
    assert_int_equal(find(&x, 100)->busy_ns, 5001);
    remove_all(&x);
}

static void test_drm_clients_pid_used_again(void **state)
{
    struct fixture x;
    make(&x, "amdgpu");
    gpu_tree_process(&x.g, 100, 5);
    gpu_tree_client(&x.g, 100, 4, "amdgpu", CARD, 1, "drm-engine-gfx: 5000 ns\n");
    look(&x, two, 1);
    gpu_tree_process(&x.g, 100, 999);
    gpu_tree_client(&x.g, 100, 4, "amdgpu", CARD, 2, "drm-engine-gfx: 40 ns\n");
    look(&x, two, 1);
    assert_int_equal(find(&x, 100)->busy_ns, 40);
    assert_false(find(&x, 100)->has_share);
    look(&x, two + 1, 1); /* nobody asks for it any more */
    assert_int_equal(x.g.frame.process_count, 0);
    remove_all(&x);
}

static void write_cycles(struct fixture *x, unsigned client, uint64_t cycles, uint64_t total)
{
    char lines[256];
    snprintf(lines, sizeof lines,
             "drm-resident-vram0: 16 MiB\ndrm-cycles-rcs: 0\ndrm-total-cycles-rcs: %llu\n"
             "drm-cycles-ccs: %llu\ndrm-total-cycles-ccs: %llu\ndrm-engine-capacity-ccs: 4\n",
             (unsigned long long)total, (unsigned long long)cycles, (unsigned long long)total);
    gpu_tree_client(&x->g, 100, 4 + client, "xe", CARD, client, lines);
}

/* 19.2 million cycles in a second. */
static void test_drm_clients_cycles(void **state)
{
    struct fixture x;
    make(&x, "xe");
    gpu_tree_process(&x.g, 100, 5);
    write_cycles(&x, 1, 9600000, 1000000000);
    look(&x, two, 1);
    assert_false(find(&x, 100)->has_busy); /* how long a cycle is, is not known yet */
    assert_false(find(&x, 100)->has_share);
    assert_int_equal(find(&x, 100)->memory_bytes, 16 << 20);
    write_cycles(&x, 1, 9600000 + 4800000, 1000000000 + 19200000);
    look(&x, two, 1);
    assert_true(find(&x, 100)->has_busy);
    assert_in_range(find(&x, 100)->busy_ns, 749999990, 750000010); /* with what was before */
    look(&x, two, 1);                                              /* nothing has gone by */
    assert_in_range(find(&x, 100)->busy_ns, 749999990, 750000010);
    write_cycles(&x, 1, 9600000 + 2 * 19200000, 1000000000 + 2 * 19200000);
    look(&x, two, 1);
    assert_true(find(&x, 100)->has_share);
    remove_all(&x);
}

static void test_drm_clients_share_of_cycles(void **state)
{
    struct fixture x;
    make(&x, "xe");
    gpu_tree_process(&x.g, 100, 5);
    uint64_t total = 1000000000, cycles = 0;
    write_cycles(&x, 1, cycles, total);
    look(&x, two, 1);
    write_cycles(&x, 1, cycles += 19200000, total += 19200000);
    look(&x, two, 1);
    write_cycles(&x, 1, cycles += 2 * 19200000, total += 19200000);
    look(&x, two, 1);
    assert_float_equal(find(&x, 100)->share, 0.5, 1e-6); /* two of four engines */
    /* A new client on a card that is known is known at once. */
    write_cycles(&x, 2, 19200000, total);
    look(&x, two, 1);
    assert_true(find(&x, 100)->has_busy);
    assert_in_range(find(&x, 100)->busy_ns, 3999999000, 4000001000);
    remove_all(&x);
}

/* Nothing is said of the engines of a card that sleeps, and its clock stands still. */
static void test_drm_clients_card_asleep(void **state)
{
    struct fixture x;
    make(&x, "xe");
    gpu_tree_process(&x.g, 100, 5);
    write_cycles(&x, 1, 0, 1000000000);
    look(&x, two, 1);
    write_cycles(&x, 1, 9600000, 1000000000 + 19200000);
    look(&x, two, 1);
    gpu_tree_client(&x.g, 100, 5, "xe", CARD, 1, "drm-resident-vram0: 0\n");
    look(&x, two, 1);
    assert_true(find(&x, 100)->has_busy);
    assert_in_range(find(&x, 100)->busy_ns, 499999990, 500000010);
    write_cycles(&x, 1, 2 * 9600000, 1000000000 + 2 * 19200000);
    look(&x, two, 1);
    assert_in_range(find(&x, 100)->busy_ns, 999999980, 1000000020);
    remove_all(&x);
}

/* This process, with its own descriptors: no card is among them. */
static void test_drm_clients_live(void **state)
{
    struct fixture x;
    struct sysroot live;
    make(&x, "amdgpu");
    assert_int_equal(sysroot_open(&live, NULL, NULL), 0);
    pid_t self = getpid();
    unsigned fds = tree_open_fds();
    drm_clients_read(&x.clients, &live, &x.cards, &self, 1, x.now_ns);
    assert_int_equal(tree_open_fds(), fds);
    assert_int_equal(x.clients.user_count, 0);
    assert_int_equal(x.clients.denied, 0);
    sysroot_close(&live);
    remove_all(&x);
}

static void test_drm_clients_what_cannot_be_read(void **state)
{
    struct fixture x;
    make(&x, "amdgpu");
    gpu_tree_process(&x.g, 100, 5);
    gpu_tree_client(&x.g, 100, 4, "amdgpu", CARD, 1, "drm-engine-gfx: many ns\n");
    look(&x, two, 1);
    assert_int_equal(x.clients.denied, 100);
    gpu_tree_client(&x.g, 100, 4, "amdgpu", CARD, 1, "drm-engine-gfx: 1 ns\n");
    look(&x, two, 1);
    assert_int_equal(x.clients.denied, 0);
    tree_write(&x.g.tree, "proc/200/fdinfo", "no directory\n");
    look(&x, two, 2);
    assert_int_equal(x.clients.denied, 200);
    remove_all(&x);
}

/* ---- drm fdinfo ----------------------------------------------------------------------------- */

static const char amdgpu[] = "pos:\t0\n"
                             "flags:\t02100002\n"
                             "mnt_id:\t27\n"
                             "ino:\t1041\n"
                             "drm-driver:\tamdgpu\n"
                             "drm-client-id:\t141\n"
                             "drm-pdev:\t0000:0A:00.0\n"
                             "pasid:\t32781\n"
                             "drm-memory-vram:\t2048 KiB\n"
                             "drm-memory-gtt: \t1024 KiB\n"
                             "drm-memory-cpu: \t0 KiB\n"
                             "amd-memory-visible-vram:\t2048 KiB\n"
                             "drm-engine-gfx:\t28301 ns\n"
                             "drm-engine-compute:\t9 ns\n"
                             "drm-engine-enc_1:\t0 ns\n";

static const char i915[] = "drm-driver: i915\n"
                           "drm-client-id: 39\n"
                           "drm-pdev: 0000:00:02.0\n"
                           "drm-total-system0: 6044 KiB\n"
                           "drm-shared-system0: 0\n"
                           "drm-active-system0: 0\n"
                           "drm-resident-system0: 6040 KiB\n"
                           "drm-purgeable-system0: 1688 KiB\n"
                           "drm-total-stolen-system0: 5\n"
                           "drm-engine-render: 9288864723 ns\n"
                           "drm-engine-video: 7 ns\n"
                           "drm-engine-capacity-video: 2\n"
                           "drm-engine-video-enhance: 0 ns\n";

static const char xe[] = "drm-driver:\txe\n"
                         "drm-client-id:\t3\n"
                         "drm-pdev:\t0000:03:00.0\n"
                         "drm-total-gtt:\t192 KiB\n"
                         "drm-total-vram0:\t23992 KiB\n"
                         "drm-shared-vram0:\t16 MiB\n"
                         "drm-resident-vram0:\t16 MiB\n"
                         "drm-resident-vram1:\t4096\n"
                         "drm-cycles-rcs:\t28257900\n"
                         "drm-total-cycles-rcs:\t7655183225\n"
                         "drm-cycles-vcs:\t0\n"
                         "drm-total-cycles-vcs:\t7655183225\n"
                         "drm-engine-capacity-vcs:\t2\n";

static bool same(const struct drm_fdinfo *whole, const struct drm_fdinfo *cut)
{
    /* Fewer lines, but those that are there say the same. */
    bool is_same = strcmp(whole->driver, cut->driver) == 0 && whole->client == cut->client;
    for (unsigned i = 0; i < cut->engine_count; i++) {
        const struct drm_engine *a = &whole->engines[i], *b = &cut->engines[i];
        is_same &= strcmp(a->name, b->name) == 0;
        is_same &= !b->has_busy || a->busy_ns == b->busy_ns;
        is_same &= !b->has_cycles || a->cycles == b->cycles;
        is_same &= !b->has_total || a->total_cycles == b->total_cycles;
    }
    for (unsigned i = 0; i < cut->region_count; i++) {
        const struct drm_region *a = &whole->regions[i], *b = &cut->regions[i];
        is_same &= !b->has_total || a->total_bytes == b->total_bytes;
        is_same &= !b->has_resident || a->resident_bytes == b->resident_bytes;
    }
    return is_same;
}

static int parse_n(const char *text, size_t length, struct drm_fdinfo *ret)
{
    char *copy = exact_copy(text, length);
    memset(ret, UNTOUCHED, sizeof *ret);
    int r = parse_drm_fdinfo(scan_text(copy, length), ret);
    free(copy);
    assert_true(r == 0 || is_untouched(ret, sizeof *ret));
    return r;
}

static int parse(const char *text, struct drm_fdinfo *ret)
{
    return parse_n(text, strlen(text), ret);
}

static void test_drm_fdinfo_amdgpu(void **state)
{
    struct drm_fdinfo d;
    uint64_t bytes;
    assert_int_equal(parse(amdgpu, &d), 0);
    assert_string_equal(d.driver, "amdgpu");
    assert_string_equal(d.pci, "0000:0a:00.0");
    assert_int_equal(d.client, 141);
    assert_int_equal(d.engine_count, 3);
    assert_string_equal(d.engines[0].name, "gfx");
    assert_true(d.engines[0].has_busy && !d.engines[0].has_cycles);
    assert_int_equal(d.engines[0].busy_ns, 28301);
    assert_int_equal(d.engines[0].capacity, 1);
    assert_string_equal(d.engines[2].name, "enc_1");
    assert_true(drm_fdinfo_memory(&d, &bytes));
    assert_int_equal(bytes, 2048 * 1024); /* what is on the card alone */
}

static void test_drm_fdinfo_i915(void **state)
{
    struct drm_fdinfo d;
    uint64_t bytes;
    assert_int_equal(parse(i915, &d), 0);
    assert_string_equal(d.pci, "0000:00:02.0");
    assert_int_equal(d.engine_count, 3);
    assert_int_equal(d.engines[0].busy_ns, 9288864723);
    assert_string_equal(d.engines[1].name, "video");
    assert_int_equal(d.engines[1].capacity, 2);
    assert_string_equal(d.engines[2].name, "video-enhance");
    assert_true(drm_fdinfo_memory(&d, &bytes));
    assert_int_equal(bytes, 6040 * 1024); /* resident, of the machine: it has none of its own */
}

static void test_drm_fdinfo_xe(void **state)
{
    struct drm_fdinfo d;
    uint64_t bytes;
    assert_int_equal(parse(xe, &d), 0);
    assert_int_equal(d.engine_count, 2);
    assert_true(d.engines[0].has_cycles && d.engines[0].has_total && !d.engines[0].has_busy);
    assert_int_equal(d.engines[0].cycles, 28257900);
    assert_int_equal(d.engines[0].total_cycles, 7655183225);
    assert_int_equal(d.engines[1].capacity, 2);
    assert_true(drm_fdinfo_memory(&d, &bytes));
    assert_int_equal(bytes, (16 << 20) + 4096);
}

static void test_drm_fdinfo_older_kernels(void **state)
{
    struct drm_fdinfo d;
    uint64_t bytes;
    /* Linux 5.19: no memory. */
    assert_int_equal(parse("drm-driver: i915\ndrm-client-id: 1\ndrm-engine-render: 5 ns\n", &d), 0);
    assert_string_equal(d.pci, "");
    assert_false(drm_fdinfo_memory(&d, &bytes));
    /* Total alone. */
    assert_int_equal(parse("drm-driver: i915\ndrm-client-id: 1\ndrm-total-local0: 3 MiB\n", &d), 0);
    assert_true(drm_fdinfo_memory(&d, &bytes));
    assert_int_equal(bytes, 3 << 20);
    /* Both names of one figure: the later line says the same. */
    assert_int_equal(parse("drm-driver: amdgpu\ndrm-client-id: 1\ndrm-memory-vram: 4 KiB\n"
                           "drm-total-vram: 8 KiB\ndrm-resident-vram: 4 KiB\n",
                           &d),
                     0);
    assert_true(drm_fdinfo_memory(&d, &bytes));
    assert_int_equal(bytes, 4096);
}

static void test_drm_fdinfo_not_of_a_gpu(void **state)
{
    struct drm_fdinfo d;
    assert_int_equal(parse("", &d), -ENODATA);
    assert_int_equal(parse("pos:\t0\nflags:\t02\nmnt_id:\t15\n", &d), -ENODATA);
    assert_int_equal(parse("drm-driver: ast\n", &d), -ENODATA); /* it does not tell clients apart */
    assert_int_equal(parse("drm-client-id: 7\n", &d), -ENODATA);
}

static void test_drm_fdinfo_garbage(void **state)
{
    static const char *const lines[] = {
        "drm-client-id: x\n",
        "drm-client-id:\n",
        "drm-client-id: 99999999999999999999\n",
        "drm-driver: two words\n",
        "drm-driver: a-name-that-is-far-too-long-to-be-one\n",
        "drm-engine-gfx: 5\n",
        "drm-engine-gfx: 5 s\n",
        "drm-engine-gfx: ns\n",
        "drm-engine-gfx 5 ns\n",
        "drm-engine-: 5 ns\n",
        "drm-engine-\x01: 5 ns\n",
        "drm-engine-gfx: -5 ns\n",
        "drm-engine-capacity-gfx: 0\n",
        "drm-engine-capacity-gfx: x\n",
        "drm-cycles-rcs: 5 ns\n",
        "drm-total-cycles-rcs:\n",
        "drm-memory-vram: 5 kB\n",
        "drm-memory-vram: 18014398509481984 KiB\n",
        "drm-resident-vram: KiB\n",
        "drm-total-vram: 5 KiB 6\n",
    };
    for (size_t i = 0; i < ARRAY_LEN(lines); i++) {
        char text[256];
        struct drm_fdinfo d;
        snprintf(text, sizeof text, "drm-driver: xe\ndrm-client-id: 1\n%s", lines[i]);
        assert_int_equal(parse(text, &d), -EBADMSG);
    }
}

static void test_drm_fdinfo_more_than_fits(void **state)
{
    char text[4096] = "drm-driver: xe\ndrm-client-id: 1\n";
    for (int i = 0; i < 2 * DRM_ENGINES; i++) {
        size_t length = strlen(text);
        snprintf(text + length, sizeof text - length,
                 "drm-engine-e%d: %d ns\ndrm-engine-capacity-e%d: 2\ndrm-memory-vram%d: 1\n"
                 "drm-total-vram%d: 1\ndrm-cycles-e%d: 1\ndrm-total-cycles-e%d: 1\n",
                 i, i, i, i, i, i, i);
    }
    struct drm_fdinfo d;
    assert_int_equal(parse(text, &d), 0);
    assert_int_equal(d.engine_count, DRM_ENGINES);
    assert_int_equal(d.region_count, DRM_REGIONS);
    assert_int_equal(d.engines[DRM_ENGINES - 1].busy_ns, DRM_ENGINES - 1);
}

static void test_drm_fdinfo_cut_short(void **state)
{
    static const char *const texts[] = {amdgpu, i915, xe};
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        struct drm_fdinfo whole, cut;
        assert_int_equal(parse(texts[i], &whole), 0);
        for (size_t length = 0; length < strlen(texts[i]); length++) {
            int r = parse_n(texts[i], length, &cut);
            assert_true(r == -ENODATA || (r == 0 && same(&whole, &cut)));
        }
    }
}

/* ---- drm figures ---------------------------------------------------------------------------- */

static const struct drm_figure drm_figures_table[] = {
    {gpu_utilization_ratio, DRM_DEVICE, {"gpu_busy_percent"}, 0.01},
    {gpu_memory_used_bytes, DRM_DEVICE, {"mem_info_vram_used"}, 1},
    {gpu_power_watts, DRM_HWMON, {"power1_average", "power1_input"}, 1e-6},
    {gpu_temperature_celsius, DRM_HWMON, {"temp1_input"}, 1e-3},
    {gpu_clock_sm_hertz, DRM_CARD, {"gt_act_freq_mhz"}, 1e6},
};

static void open_figures(struct gpu_tree *g, struct drm_cards *cards, struct drm_figures *f)
{
    assert_int_equal(drm_cards_find(cards, &g->root, amd), 0);
    drm_figures_init(f, drm_figures_table, ARRAY_LEN(drm_figures_table), &cards->items[0],
                     &g->root);
}

static void test_drm_figures_values(void **state)
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

static void test_drm_figures_what_cannot_be(void **state)
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

/* ---- uevent --------------------------------------------------------------------------------- */

static const char uevent_text[] = "DRIVER=amdgpu\nPCI_CLASS=30000\nPCI_ID=1002:73BF\n"
                                  "PCI_SLOT_NAME=0000:03:00.0\nEMPTY=\nODD=a\tb\n";

static int get(const char *whole, const char *key, char *ret, size_t capacity)
{
    char *copy = exact_copy(whole, strlen(whole));
    int r = parse_uevent(scan_text(copy, strlen(whole)), key, ret, capacity);
    free(copy);
    return r;
}

static void test_uevent_values(void **state)
{
    char value[32];
    assert_int_equal(get(uevent_text, "DRIVER", value, sizeof value), 0);
    assert_string_equal(value, "amdgpu");
    assert_int_equal(get(uevent_text, "PCI_SLOT_NAME", value, sizeof value), 0);
    assert_string_equal(value, "0000:03:00.0");
}

static void test_uevent_not_there(void **state)
{
    char value[32] = "before";
    assert_int_equal(get(uevent_text, "PCI", value, sizeof value), -ENODATA);
    assert_int_equal(get("", "DRIVER", value, sizeof value), -ENODATA);
    assert_int_equal(get("DRIVER=xe", "DRIVER", value, sizeof value), -ENODATA); /* cut */
    assert_string_equal(value, "before");
}

static void test_uevent_not_as_expected(void **state)
{
    char value[8] = "before";
    assert_int_equal(get(uevent_text, "EMPTY", value, sizeof value), -EBADMSG);
    assert_int_equal(get(uevent_text, "ODD", value, sizeof value), -EBADMSG);
    assert_int_equal(get(uevent_text, "PCI_ID", value, sizeof value), -EBADMSG);
    assert_string_equal(value, "before");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_drm_vendor_behind_others),
        cmocka_unit_test(test_drm_vendor_gone),
        cmocka_unit_test(test_drm_cards_none),
        cmocka_unit_test(test_drm_cards_order_and_facts),
        cmocka_unit_test(test_drm_cards_hwmon),
        cmocka_unit_test(test_drm_cards_asleep_and_gone),
        cmocka_unit_test(test_drm_clients_nobody),
        cmocka_unit_test(test_drm_clients_each_client_once),
        cmocka_unit_test(test_drm_clients_clients_of_two_cards),
        cmocka_unit_test(test_drm_clients_share),
        cmocka_unit_test(test_drm_clients_steps_back),
        cmocka_unit_test(test_drm_clients_handed_on),
        cmocka_unit_test(test_drm_clients_comes_back),
        cmocka_unit_test(test_drm_clients_pid_used_again),
        cmocka_unit_test(test_drm_clients_cycles),
        cmocka_unit_test(test_drm_clients_share_of_cycles),
        cmocka_unit_test(test_drm_clients_card_asleep),
        cmocka_unit_test(test_drm_clients_live),
        cmocka_unit_test(test_drm_clients_what_cannot_be_read),
        cmocka_unit_test(test_drm_fdinfo_amdgpu),
        cmocka_unit_test(test_drm_fdinfo_i915),
        cmocka_unit_test(test_drm_fdinfo_xe),
        cmocka_unit_test(test_drm_fdinfo_older_kernels),
        cmocka_unit_test(test_drm_fdinfo_not_of_a_gpu),
        cmocka_unit_test(test_drm_fdinfo_garbage),
        cmocka_unit_test(test_drm_fdinfo_more_than_fits),
        cmocka_unit_test(test_drm_fdinfo_cut_short),
        cmocka_unit_test(test_drm_figures_values),
        cmocka_unit_test(test_drm_figures_what_cannot_be),
        cmocka_unit_test(test_uevent_values),
        cmocka_unit_test(test_uevent_not_there),
        cmocka_unit_test(test_uevent_not_as_expected),
    };
    return RUN("source/gpu/drm", tests);
}
