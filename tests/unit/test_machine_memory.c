/* SPDX-License-Identifier: MIT */
#include "machine_tree.h"

#include <sys/sysinfo.h>

static const uint64_t kib = 1024;

static void test_meminfo(void **state)
{
    struct machine m;
    machine_make(&m);
    machine_open(&m, &collector_machine_memory);
    tree_write(&m.tree, "proc/meminfo",
               "MemTotal: 1000 kB\nMemFree: 200 kB\nMemAvailable: 600 kB\nBuffers: 10 kB\n"
               "Cached: 300 kB\nSwapTotal: 50 kB\nSwapFree: 20 kB\nDirty: 4 kB\nWriteback: 2 kB\n"
               "AnonPages: 90 kB\nShmem: 7 kB\nSlab: 8 kB\nHugePages_Total: 5\n"
               "HugePages_Free: 2\nHugepagesize: 2048 kB\n");
    machine_collect(&m);
    const struct row *row = &m.system.read;
    assert_value(row, system_memory_total_bytes, 1000 * kib);
    assert_value(row, system_memory_used_bytes, 400 * kib);
    assert_value(row, system_memory_cached_bytes, 300 * kib);
    assert_value(row, system_memory_huge_total_bytes, 5 * 2048 * kib);
    assert_value(row, system_memory_huge_free_bytes, 2 * 2048 * kib);
    assert_value(row, system_swap_total_bytes, 50 * kib);
    assert_value(row, system_swap_used_bytes, 30 * kib);
    assert_int_equal(m.list.count, 0);
    tree_unlink(&m.tree, "proc/meminfo");
    machine_collect(&m);
    assert_true(row->present == 0);
    machine_remove(&m);
}

static void test_old_kernel(void **state)
{
    struct machine m;
    machine_make(&m);
    machine_open(&m, &collector_machine_memory);
    tree_write(&m.tree, "proc/meminfo", "MemTotal: 1000 kB\nMemFree: 200 kB\nCached: 300 kB\n");
    machine_collect(&m);
    assert_value(&m.system.read, system_memory_free_bytes, 200 * kib);
    assert_unknown(&m.system.read, system_memory_available_bytes);
    assert_unknown(&m.system.read, system_memory_used_bytes);
    assert_unknown(&m.system.read, system_swap_used_bytes);
    machine_remove(&m);
}

static void test_vmstat(void **state)
{
    struct machine m;
    machine_make(&m);
    machine_open(&m, &collector_machine_paging);
    tree_write(&m.tree, "proc/vmstat", "pswpin 2\npswpout 3\npgmajfault 50\n");
    machine_collect(&m);
    const struct row *row = &m.system.read;
    assert_value(row, system_swap_in_bytes, 2 * 4096);
    assert_value(row, system_swap_out_bytes, 3 * 4096);
    assert_value(row, system_faults_major_count, 50);
    assert_unknown(row, system_oom_kills_count);
    tree_write(&m.tree, "proc/vmstat", "pswpin x\n");
    machine_collect(&m);
    assert_true(row->present == 0);
    machine_remove(&m);
}

static void test_live(void **state)
{
    struct machine m;
    struct sysinfo info;
    machine_make_live(&m);
    machine_open(&m, &collector_machine_memory);
    machine_collect(&m);
    assert_int_equal(sysinfo(&info), 0);
    uint64_t total = (uint64_t)info.totalram * info.mem_unit;
    assert_value(&m.system.read, system_memory_total_bytes, total);
    assert_value(&m.system.read, system_swap_total_bytes, (uint64_t)info.totalswap * info.mem_unit);
    assert_true(row_u64(&m.system.read, system_memory_free_bytes) <= total);
    machine_remove(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_meminfo),
        cmocka_unit_test(test_old_kernel),
        cmocka_unit_test(test_vmstat),
        cmocka_unit_test(test_live),
    };
    return RUN("machine_memory", tests);
}
