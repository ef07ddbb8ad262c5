/* SPDX-License-Identifier: MIT */
#include "source/machine/memory.h"

#include "base/util.h"
#include "unit.h"

static const char good[] = "nr_free_pages 5932459\npgpgin 9645001\npswpin 12\npswpout 34\n"
                           "pgfault 58\npgmajfault 19264\noom_kill 3\nthp_swpout 9\n";

/* A cut text may have less, never anything else. */
static bool same(const struct vmstat *whole, const struct vmstat *cut)
{
    for (unsigned n = 0; n < VMSTAT_KEYS; n++)
        if (cut->seen & BIT(n) && whole->counts[n] != cut->counts[n])
            return false;
    return true;
}

PARSER_HARNESS(parse_vmstat, struct vmstat, same)

static void test_good(void **state)
{
    struct vmstat v;
    assert_int_equal(parse(good, &v), 0);
    assert_int_equal(v.seen, BIT(VMSTAT_KEYS) - 1);
    assert_int_equal(v.counts[VMSTAT_SWAP_IN], 12);
    assert_int_equal(v.counts[VMSTAT_SWAP_OUT], 34);
    assert_int_equal(v.counts[VMSTAT_FAULTS_MAJOR], 19264);
    assert_int_equal(v.counts[VMSTAT_OOM_KILLS], 3);
}

static void test_cut_short(void **state)
{
    check_cuts(good, -ENODATA);
}

static void test_old_kernel(void **state)
{
    struct vmstat v;
    assert_int_equal(parse("pswpin 1\npswpout 2\npgmajfault 3\n", &v), 0);
    assert_int_equal(v.seen, BIT(VMSTAT_OOM_KILLS) - 1);
}

static void test_garbage(void **state)
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
        assert_int_equal(parse(texts[i], &v), -EBADMSG);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_good),
        cmocka_unit_test(test_cut_short),
        cmocka_unit_test(test_old_kernel),
        cmocka_unit_test(test_garbage),
    };
    return RUN("vmstat", tests);
}
