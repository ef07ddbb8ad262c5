/* SPDX-License-Identifier: MIT */
#include "parse/loadavg.h"

#include "base/util.h"
#include "unit.h"

PARSER_HARNESS(parse_loadavg_last_pid, uint64_t, SAME_BYTES)

static void test_good(void **state)
{
    uint64_t pid;
    assert_int_equal(parse("0.27 0.06 0.02 1/81 3799\n", &pid), 0);
    assert_int_equal(pid, 3799);
}

static void test_cut_short(void **state)
{
    check_cuts("0.27 0.06 0.02 1/81 3799\n", -ENODATA);
    uint64_t pid;
    assert_int_equal(parse("0.27 0.06 0.02 1/81 379", &pid), -EBADMSG);
}

static void test_garbage(void **state)
{
    static const char *const texts[] = {"\n",
                                        "x",
                                        "0.27 0.06 0.02 1/81\n",
                                        "0.27 0.06\n0.02 1/81 3799\n",
                                        "1 2 3 4 x\n",
                                        "0.27 0.06 0.02 1/81 -1\n"};
    uint64_t pid;
    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        assert_int_equal(parse(texts[i], &pid), -EBADMSG);
}

static void test_huge(void **state)
{
    uint64_t pid;
    assert_int_equal(parse("99999.99 0.06 0.02 1/4194304 18446744073709551615\n", &pid), 0);
    assert_true(pid == UINT64_MAX);
    assert_int_equal(parse("0.27 0.06 0.02 1/81 18446744073709551616\n", &pid), -EBADMSG);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_good),
        cmocka_unit_test(test_cut_short),
        cmocka_unit_test(test_garbage),
        cmocka_unit_test(test_huge),
    };
    return RUN("loadavg", tests);
}
