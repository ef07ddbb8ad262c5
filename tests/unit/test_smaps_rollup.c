/* SPDX-License-Identifier: MIT */
#include "source/pid_files.h"

#include "base/util.h"
#include "unit.h"

#define HEAD "5628027a0000-7ffc90b4e000 ---p 00000000 00:00 0                          [rollup]\n"

static const char new_kernel[] = HEAD "Rss:                1628 kB\n"
                                      "Pss:                 506 kB\n"
                                      "Pss_Dirty:           117 kB\n"
                                      "Pss_Anon:            116 kB\n"
                                      "Pss_File:            390 kB\n"
                                      "Pss_Shmem:             0 kB\n"
                                      "Shared_Clean:       1436 kB\n"
                                      "Shared_Dirty:          0 kB\n"
                                      "Private_Clean:        76 kB\n"
                                      "Private_Dirty:       116 kB\n"
                                      "Referenced:         1628 kB\n"
                                      "KSM:                   0 kB\n"
                                      "Private_Hugetlb:       0 kB\n"
                                      "SwapPss:               0 kB\n"
                                      "Locked:                0 kB\n";

/* Linux 4.14, the first with the file. */
static const char old_kernel[] = HEAD "Rss:                 884 kB\n"
                                      "Pss:                 385 kB\n"
                                      "Shared_Clean:        696 kB\n"
                                      "Shared_Dirty:          0 kB\n"
                                      "Private_Clean:       120 kB\n"
                                      "Private_Dirty:        68 kB\n"
                                      "Referenced:          884 kB\n"
                                      "Anonymous:            68 kB\n"
                                      "LazyFree:              0 kB\n"
                                      "Swap:                  0 kB\n"
                                      "SwapPss:               0 kB\n"
                                      "Locked:              385 kB\n";

PARSER_HARNESS(parse_smaps_rollup, struct smaps_rollup, SAME_BYTES)

static void test_new_kernel(void **state)
{
    struct smaps_rollup st;
    assert_int_equal(parse(new_kernel, &st), 0);
    assert_int_equal(st.rss_bytes, 1628 * 1024);
    assert_int_equal(st.pss_bytes, 506 * 1024);
    assert_int_equal(st.uss_bytes, 192 * 1024);
}

static void test_old_kernel(void **state)
{
    struct smaps_rollup st;
    assert_int_equal(parse(old_kernel, &st), 0);
    assert_int_equal(st.pss_bytes, 385 * 1024);
    assert_int_equal(st.uss_bytes, 188 * 1024);
}

static void test_cut_short(void **state)
{
    check_cuts(new_kernel, -ESRCH);
    check_cuts(old_kernel, -ESRCH);
}

static void test_garbage(void **state)
{
    static const char *const texts[] = {
        "\n",
        HEAD,
        "Pss_Dirty: 1 kB\nPrivate_Clean: 1 kB\nPrivate_Dirty: 1 kB\n",
        "Pss: 1 kB\nPrivate_Clean: 1 kB\nPrivate_Dirty: 1 kB\n",
        "Rss: 1 kB\nPss: 1 kB\nPrivate_Clean: 1 kB\n",
        "Pss: 1 kB\nPrivate_Dirty: 1 kB\n",
        "Pss: 1\nPrivate_Clean: 1 kB\nPrivate_Dirty: 1 kB\n",
        "Pss: 1 mB\nPrivate_Clean: 1 kB\nPrivate_Dirty: 1 kB\n",
        "Pss: kB\nPrivate_Clean: 1 kB\nPrivate_Dirty: 1 kB\n",
        " Pss: 1 kB\nPrivate_Clean: 1 kB\nPrivate_Dirty: 1 kB\n",
    };
    struct smaps_rollup st;
    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        assert_int_equal(parse(texts[i], &st), -EBADMSG);
}

static void test_huge(void **state)
{
    struct smaps_rollup st;
    assert_int_equal(
        parse("Rss: 9 kB\nPss: 18014398509481983 kB\nPrivate_Clean: 0 kB\nPrivate_Dirty: 1 kB\n",
              &st),
        0);
    assert_true(st.pss_bytes == UINT64_MAX - 1023);
    assert_int_equal(
        parse("Rss: 9 kB\nPss: 18014398509481984 kB\nPrivate_Clean: 0 kB\nPrivate_Dirty: 1 kB\n",
              &st),
        -EBADMSG);
    assert_int_equal(
        parse("Rss: 9 kB\nPss: 1 kB\nPrivate_Clean: 18014398509481983 kB\nPrivate_Dirty: 1 kB\n",
              &st),
        -EBADMSG);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_new_kernel), cmocka_unit_test(test_old_kernel),
        cmocka_unit_test(test_cut_short),  cmocka_unit_test(test_garbage),
        cmocka_unit_test(test_huge),
    };
    return RUN("smaps_rollup", tests);
}
