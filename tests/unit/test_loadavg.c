/* SPDX-License-Identifier: MIT */
#include "source/machine/load.h"

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

static bool same(const struct loadavg *a, const struct loadavg *b)
{
    return a->load[0] == b->load[0] && a->load[1] == b->load[1] && a->load[2] == b->load[2] &&
           a->running == b->running && a->threads == b->threads;
}

static void test_loads(void **state)
{
    static const char text[] = "0.27 1.06 12.50 1/81 3799\n";
    struct loadavg l, cut;
    assert_int_equal(parse_loadavg(scan_string(text), &l), 0);
    assert_true(l.load[0] > 0.2699 && l.load[0] < 0.2701);
    assert_true(l.load[1] > 1.0599 && l.load[1] < 1.0601);
    assert_true(l.load[2] == 12.5);
    assert_int_equal(l.running, 1);
    assert_int_equal(l.threads, 81);
    assert_int_equal(parse_loadavg(scan_text(text, 0), &cut), -ENODATA);
    for (size_t length = 1; length < strlen(text); length++)
        if (parse_loadavg(scan_text(text, length), &cut) == 0)
            assert_true(same(&l, &cut));
}

static void test_loads_of_garbage(void **state)
{
    static const char *const texts[] = {"\n",
                                        "x",
                                        "0.27 1.06 12.50\n",
                                        "0.27 1.06 12.50 1 81 3\n",
                                        "0.27 1.06 x 1/81 3799\n",
                                        "0.27 1.06 12.50 1/x 3799\n",
                                        "0.1 0.1 0.1 1/18446744073709551616 1\n"};
    struct loadavg l;
    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        assert_int_equal(parse_loadavg(scan_string(texts[i]), &l), -EBADMSG);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_good),    cmocka_unit_test(test_cut_short),
        cmocka_unit_test(test_garbage), cmocka_unit_test(test_huge),
        cmocka_unit_test(test_loads),   cmocka_unit_test(test_loads_of_garbage),
    };
    return RUN("loadavg", tests);
}
