/* SPDX-License-Identifier: MIT */
#include "source/machine/memory.h"

#include "base/util.h"
#include "unit.h"

static const char good[] = "MemTotal:       24682416 kB\n"
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
static bool same(const struct meminfo *whole, const struct meminfo *cut)
{
    for (unsigned n = 0; n < MEMINFO_KEYS; n++)
        if (cut->seen & BIT(n) && whole->bytes[n] != cut->bytes[n])
            return false;
    return (cut->seen & ~whole->seen) == 0;
}

PARSER_HARNESS(parse_meminfo, struct meminfo, same)

static void test_good(void **state)
{
    struct meminfo m;
    assert_int_equal(parse(good, &m), 0);
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

static void test_cut_short(void **state)
{
    check_cuts(good, -ENODATA);
}

static void test_old_kernel(void **state)
{
    struct meminfo m;
    assert_int_equal(parse("MemTotal: 10 kB\nMemFree: 4 kB\nCached: 1 kB\n", &m), 0);
    assert_int_equal(m.seen, BIT(MEMINFO_TOTAL) | BIT(MEMINFO_FREE) | BIT(MEMINFO_CACHED));
}

static void test_huge_pages_without_size(void **state)
{
    struct meminfo m;
    assert_int_equal(parse("MemTotal: 10 kB\nHugePages_Total: 4\nHugePages_Free: 4\n", &m), 0);
    assert_int_equal(m.seen, BIT(MEMINFO_TOTAL));
}

static void test_garbage(void **state)
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
        assert_int_equal(parse(texts[i], &m), -EBADMSG);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_good),       cmocka_unit_test(test_cut_short),
        cmocka_unit_test(test_old_kernel), cmocka_unit_test(test_huge_pages_without_size),
        cmocka_unit_test(test_garbage),
    };
    return RUN("meminfo", tests);
}
