/* SPDX-License-Identifier: MIT */
#include "base/util.h"
#include "machine_tree.h"
#include "source/collector.h"
#include "source/machine/machine.h"
#include "unit.h"

#include <sys/sysinfo.h>

/* ---- machine memory ------------------------------------------------------------------------- */

static const uint64_t kib = 1024;

static void test_machine_memory_meminfo(void **state)
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

static void test_machine_memory_old_kernel(void **state)
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

static void test_machine_memory_vmstat(void **state)
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

static void test_machine_memory_live(void **state)
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

/* ---- meminfo -------------------------------------------------------------------------------- */

static const char meminfo_good[] = "MemTotal:       24682416 kB\n"
                                   "MemFree:        23729836 kB\n"
                                   "MemAvailable:   24024612 kB\n"
                                   "Buffers:           84556 kB\n"
                                   "Cached:           537488 kB\n"
                                   "SwapCached:            3 kB\n"
                                   "Active:           391200 kB\n"
                                   "Inactive:         290516 kB\n"
                                   "Active(anon):       1556 kB\n"
                                   "Inactive(anon):    71212 kB\n"
                                   "Active(file):     389644 kB\n"
                                   "SwapTotal:          1000 kB\n"
                                   "SwapFree:            900 kB\n"
                                   "Dirty:               228 kB\n"
                                   "Writeback:            28 kB\n"
                                   "AnonPages:         57072 kB\n"
                                   "Shmem:             12780 kB\n"
                                   "Slab:             191984 kB\n"
                                   "KReclaimable:     161000 kB\n"
                                   "SReclaimable:     160000 kB\n"
                                   "WritebackTmp:          9 kB\n"
                                   "ShmemHugePages:        9 kB\n"
                                   "HugePages_Total:       8\n"
                                   "HugePages_Free:        3\n"
                                   "HugePages_Rsvd:        0\n"
                                   "Hugepagesize:       2048 kB\n"
                                   "DirectMap4k:       30720 kB\n";

/* A cut text may have less, never anything else. */
static bool meminfo_same(const struct meminfo *whole, const struct meminfo *cut)
{
    for (unsigned n = 0; n < MEMINFO_KEYS; n++)
        if (cut->seen & BIT(n) && whole->bytes[n] != cut->bytes[n])
            return false;
    return (cut->seen & ~whole->seen) == 0;
}

PARSER_HARNESS(meminfo, parse_meminfo, struct meminfo, meminfo_same)

static void test_meminfo_good(void **state)
{
    struct meminfo m;
    assert_int_equal(meminfo_parse(meminfo_good, &m), 0);
    assert_int_equal(m.seen, BIT(MEMINFO_KEYS) - 1);
    assert_int_equal(m.bytes[MEMINFO_TOTAL], UINT64_C(24682416) * 1024);
    assert_int_equal(m.bytes[MEMINFO_CACHED], UINT64_C(537488) * 1024);
    assert_int_equal(m.bytes[MEMINFO_ACTIVE], 391200 * 1024);
    assert_int_equal(m.bytes[MEMINFO_INACTIVE_ANON], 71212 * 1024);
    assert_int_equal(m.bytes[MEMINFO_RECLAIMABLE], 160000 * 1024);
    assert_int_equal(m.bytes[MEMINFO_WRITEBACK], 28 * 1024);
    assert_int_equal(m.bytes[MEMINFO_HUGE_TOTAL], 8 * 2048 * 1024);
    assert_int_equal(m.bytes[MEMINFO_HUGE_FREE], 3 * 2048 * 1024);
}

static void test_meminfo_cut_short(void **state)
{
    meminfo_check_cuts(meminfo_good, -ENODATA);
}

static void test_meminfo_old_kernel(void **state)
{
    struct meminfo m;
    assert_int_equal(meminfo_parse("MemTotal: 10 kB\nMemFree: 4 kB\nCached: 1 kB\n", &m), 0);
    assert_int_equal(m.seen, BIT(MEMINFO_TOTAL) | BIT(MEMINFO_FREE) | BIT(MEMINFO_CACHED));
}

static void test_meminfo_huge_pages_without_size(void **state)
{
    struct meminfo m;
    assert_int_equal(meminfo_parse("MemTotal: 10 kB\nHugePages_Total: 4\nHugePages_Free: 4\n", &m),
                     0);
    assert_int_equal(m.seen, BIT(MEMINFO_TOTAL));
}

static void test_meminfo_garbage(void **state)
{
    static const char *const texts[] = {
        "\n",
        "nonsense",
        "MemFree: 4 kB\n",
        "MemTotal: x kB\n",
        "MemTotal: 10 MB\n",
        "MemTotal: 10\n",
        "MemTotal: 10 kB\nHugePages_Total: 4 kB\n",
        "MemTotal: 18014398509481984 kB\n",
        "MemTotal: 1 kB\nHugePages_Total: 18446744073709551615\nHugePages_Free: 0\n"
        "Hugepagesize: 2048 kB\n",
    };
    struct meminfo m;
    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        assert_int_equal(meminfo_parse(texts[i], &m), -EBADMSG);
}

/* ---- vmstat --------------------------------------------------------------------------------- */

static const char vmstat_good[] = "nr_free_pages 5932459\npgpgin 9645001\npswpin 12\npswpout 34\n"
                                  "pgfault 58\npgmajfault 19264\noom_kill 3\nthp_swpout 9\n";

/* A cut text may have less, never anything else. */
static bool vmstat_same(const struct vmstat *whole, const struct vmstat *cut)
{
    for (unsigned n = 0; n < VMSTAT_KEYS; n++)
        if (cut->seen & BIT(n) && whole->counts[n] != cut->counts[n])
            return false;
    return true;
}

PARSER_HARNESS(vmstat, parse_vmstat, struct vmstat, vmstat_same)

static void test_vmstat_good(void **state)
{
    struct vmstat v;
    assert_int_equal(vmstat_parse(vmstat_good, &v), 0);
    assert_int_equal(v.seen, BIT(VMSTAT_KEYS) - 1);
    assert_int_equal(v.counts[VMSTAT_SWAP_IN], 12);
    assert_int_equal(v.counts[VMSTAT_SWAP_OUT], 34);
    assert_int_equal(v.counts[VMSTAT_FAULTS_MAJOR], 19264);
    assert_int_equal(v.counts[VMSTAT_OOM_KILLS], 3);
}

static void test_vmstat_cut_short(void **state)
{
    vmstat_check_cuts(vmstat_good, -ENODATA);
}

static void test_vmstat_old_kernel(void **state)
{
    struct vmstat v;
    assert_int_equal(vmstat_parse("pswpin 1\npswpout 2\npgmajfault 3\n", &v), 0);
    assert_int_equal(v.seen, BIT(VMSTAT_OOM_KILLS) - 1);
}

static void test_vmstat_garbage(void **state)
{
    static const char *const texts[] = {"\n",
                                        "nonsense",
                                        "pswpins 3\n",
                                        "pswpin x\n",
                                        "pswpin 3 \n",
                                        "pswpin -3\n",
                                        "pswpin 18446744073709551616\n"};
    struct vmstat v;
    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        assert_int_equal(vmstat_parse(texts[i], &v), -EBADMSG);
}

/* ---- collectors ----------------------------------------------------------------------------- */

/* A figure of the machine that no collector names would never be read when it is asked for by name;
 * one that two give would be read twice. */
static void test_collectors_each_figure_of_the_machine_has_one_source(void **state)
{
    uint64_t given = 0;
    for (unsigned i = 0; collectors[i]; i++) {
        const struct collector *c = collectors[i];
        assert_true(!(given & c->gives_of_system));
        given |= c->gives_of_system;
        assert_int_equal(c->gives_of_system != 0, c->gives >> ENTITY_SYSTEM & 1);
    }
    given |= SYSTEM_BITS(gpu_utilization_ratio, gpu_memory_used_bytes); /* no collector: a thread */
    assert_true(given == SYSTEM_BITS(uptime_seconds, gpu_memory_used_bytes));
    assert_int_equal(__builtin_popcountll(given), SYSTEM_METRICS);
}

static void test_collectors_each_is_whole(void **state)
{
    for (unsigned i = 0; collectors[i]; i++) {
        assert_true(*collectors[i]->name && collectors[i]->gives);
        assert_true(collectors[i]->open && collectors[i]->collect && collectors[i]->close);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_machine_memory_meminfo),
        cmocka_unit_test(test_machine_memory_old_kernel),
        cmocka_unit_test(test_machine_memory_vmstat),
        cmocka_unit_test(test_machine_memory_live),
        cmocka_unit_test(test_meminfo_good),
        cmocka_unit_test(test_meminfo_cut_short),
        cmocka_unit_test(test_meminfo_old_kernel),
        cmocka_unit_test(test_meminfo_huge_pages_without_size),
        cmocka_unit_test(test_meminfo_garbage),
        cmocka_unit_test(test_vmstat_good),
        cmocka_unit_test(test_vmstat_cut_short),
        cmocka_unit_test(test_vmstat_old_kernel),
        cmocka_unit_test(test_vmstat_garbage),
        cmocka_unit_test(test_collectors_each_figure_of_the_machine_has_one_source),
        cmocka_unit_test(test_collectors_each_is_whole),
    };
    return RUN("source/machine/memory", tests);
}
