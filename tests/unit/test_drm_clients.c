/* SPDX-License-Identifier: MIT */
#include "source/gpu/drm.h"

#include "gpu_tree.h"

#define CARD  "0000:03:00.0"
#define OTHER "0000:c1:00.0"

static const char *const drivers[] = {"amdgpu", "i915", "xe", NULL};

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
    assert_int_equal(drm_cards_find(&x->cards, &x->g.root, drivers), 0);
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

static void test_nobody(void **state)
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
    assert_int_equal(drm_clients_tell(&x.clients),
                     GPU_TELLS_MEMORY | GPU_TELLS_SHARE | GPU_TELLS_BUSY);
    remove_all(&x);
}

/* One client by three descriptors in two processes, and another client of its own. */
static void test_each_client_once(void **state)
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
static void test_clients_of_two_cards(void **state)
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

static void test_share(void **state)
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

static void test_steps_back(void **state)
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
static void test_handed_on(void **state)
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
static void test_comes_back(void **state)
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

static void test_pid_used_again(void **state)
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
static void test_cycles(void **state)
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

static void test_share_of_cycles(void **state)
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
static void test_card_asleep(void **state)
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
static void test_live(void **state)
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

static void test_what_cannot_be_read(void **state)
{
    struct fixture x;
    make(&x, "amdgpu");
    gpu_tree_process(&x.g, 100, 5);
    gpu_tree_client(&x.g, 100, 4, "amdgpu", CARD, 1, "drm-engine-gfx: many ns\n");
    look(&x, two, 1);
    assert_int_equal(x.clients.denied, 100);
    assert_int_equal(drm_clients_tell(&x.clients), 0);
    gpu_tree_client(&x.g, 100, 4, "amdgpu", CARD, 1, "drm-engine-gfx: 1 ns\n");
    look(&x, two, 1);
    assert_int_equal(x.clients.denied, 0);
    tree_write(&x.g.tree, "proc/200/fdinfo", "no directory\n");
    look(&x, two, 2);
    assert_int_equal(x.clients.denied, 200);
    remove_all(&x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nobody),
        cmocka_unit_test(test_each_client_once),
        cmocka_unit_test(test_clients_of_two_cards),
        cmocka_unit_test(test_share),
        cmocka_unit_test(test_steps_back),
        cmocka_unit_test(test_handed_on),
        cmocka_unit_test(test_comes_back),
        cmocka_unit_test(test_pid_used_again),
        cmocka_unit_test(test_cycles),
        cmocka_unit_test(test_share_of_cycles),
        cmocka_unit_test(test_card_asleep),
        cmocka_unit_test(test_live),
        cmocka_unit_test(test_what_cannot_be_read),
    };
    return RUN("drm_clients", tests);
}
