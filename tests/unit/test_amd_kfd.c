/* SPDX-License-Identifier: MIT */
#include "source/gpu/amd.h"

#include "gpu_tree.h"

#define NODES "sys/class/kfd/kfd/topology/nodes"
#define PROC  "sys/class/kfd/kfd/proc"

static void write_nodes(const struct gpu_tree *g)
{
    tree_write(&g->tree, NODES "/0/gpu_id", "0\n");
    tree_write(&g->tree, NODES "/0/properties", "cpu_cores_count 64\nsimd_count 0\n");
    tree_write(&g->tree, NODES "/1/gpu_id", "53458\n");
    tree_write(&g->tree, NODES "/1/properties",
               "cpu_cores_count 0\nsimd_count 416\nmem_banks_count 1\nsimd_per_cu 4\n"
               "vendor_id 4098\nlocation_id 49408\ndomain 0\n");
    tree_write(&g->tree, NODES "/2/gpu_id", "777\n");
    tree_write(&g->tree, NODES "/2/properties", "simd_count 8\nlocation_id 1291\ndomain 1\n");
    tree_write(&g->tree, NODES "/3/gpu_id", "778\n"); /* without properties */
}

struct seen {
    struct amd_kfd_use uses[8];
    size_t count;
};

static void note_use(void *arg, const struct amd_kfd_use *use)
{
    struct seen *s = arg;
    assert_true(s->count < ARRAY_LEN(s->uses));
    s->uses[s->count++] = *use;
}

static void test_none(void **state)
{
    struct gpu_tree g;
    struct amd_kfd k;
    gpu_tree_make(&g);
    assert_int_equal(amd_kfd_open(&k, &g.root), -ENODEV);
    tree_write(&g.tree, NODES "/0/gpu_id", "0\n"); /* a processor alone */
    assert_int_equal(amd_kfd_open(&k, &g.root), -ENODEV);
    gpu_tree_remove(&g);
}

static void test_nodes(void **state)
{
    struct gpu_tree g;
    struct amd_kfd k;
    gpu_tree_make(&g);
    write_nodes(&g);
    assert_int_equal(amd_kfd_open(&k, &g.root), 0);
    assert_int_equal(k.count, 2);
    assert_int_equal(k.nodes[0].gpu_id, 53458);
    assert_int_equal(k.nodes[0].compute_units, 104);
    assert_string_equal(k.nodes[0].pci, "0000:c1:00.0");
    assert_string_equal(k.nodes[1].pci, "0001:05:01.3");
    assert_int_equal(k.nodes[1].compute_units, 0);
    amd_kfd_close(&k);
    gpu_tree_remove(&g);
}

static void test_processes(void **state)
{
    struct gpu_tree g;
    struct amd_kfd k;
    struct seen seen = {.count = 0};
    gpu_tree_make(&g);
    write_nodes(&g);
    assert_int_equal(amd_kfd_open(&k, &g.root), 0);
    amd_kfd_read(&k, &g.root, note_use, &seen);
    assert_int_equal(seen.count, 0);
    tree_write(&g.tree, PROC "/4711/pasid", "32770\n");
    tree_write(&g.tree, PROC "/4711/vram_53458", "1073741824\n");
    tree_write(&g.tree, PROC "/4711/vram_777", "0\n");
    tree_write(&g.tree, PROC "/4711/sdma_53458", "12\n");
    tree_write(&g.tree, PROC "/4711/stats_53458/cu_occupancy", "26\n");
    tree_write(&g.tree, PROC "/99/vram_777", "4096\n");
    tree_write(&g.tree, PROC "/98/vram_777", "broken\n");
    tree_write(&g.tree, PROC "/odd/vram_777", "1\n");
    amd_kfd_read(&k, &g.root, note_use, &seen);
    assert_int_equal(seen.count, 2);
    assert_int_equal(seen.uses[0].pid, 99);
    assert_ptr_equal(seen.uses[0].node, &k.nodes[1]);
    assert_true(seen.uses[0].has_memory && !seen.uses[0].has_units);
    assert_int_equal(seen.uses[1].pid, 4711);
    assert_int_equal(seen.uses[1].memory_bytes, 1 << 30);
    assert_true(seen.uses[1].has_units);
    assert_int_equal(seen.uses[1].units, 26);
    amd_kfd_close(&k);
    gpu_tree_remove(&g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_none),
        cmocka_unit_test(test_nodes),
        cmocka_unit_test(test_processes),
    };
    return RUN("amd_kfd", tests);
}
