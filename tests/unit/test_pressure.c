/* SPDX-License-Identifier: MIT */
#include "source/kernel_file.h"

#include "base/util.h"
#include "unit.h"

#define SOME "some avg10=31.72 avg60=10.26 avg300=7.68 total=1634313557\n"
#define FULL "full avg10=0.00 avg60=0.00 avg300=0.00 total=42\n"

/* Cut behind its first line it looks like that of an older kernel. */
static bool same(const struct pressure *whole, const struct pressure *cut)
{
    return whole->some_ns == cut->some_ns && (!cut->has_full || whole->full_ns == cut->full_ns);
}

PARSER_HARNESS(parse_pressure, struct pressure, same)

static void test_good(void **state)
{
    struct pressure p;
    assert_int_equal(parse(SOME FULL, &p), 0);
    assert_true(p.has_full);
    assert_int_equal(p.some_ns, UINT64_C(1634313557000));
    assert_int_equal(p.full_ns, 42000);
}

/* Before Linux 5.13 the CPU has no line of "full". */
static void test_old_kernel(void **state)
{
    struct pressure p;
    assert_int_equal(parse(SOME, &p), 0);
    assert_false(p.has_full);
    assert_int_equal(p.full_ns, 0);
}

static void test_new_kernel(void **state)
{
    struct pressure p;
    assert_int_equal(parse("irq total=x\nsome avg10=0.00 new=1 total=5\n", &p), 0);
    assert_int_equal(p.some_ns, 5000);
    assert_false(p.has_full);
    assert_int_equal(parse(SOME FULL "more total=1\n", &p), 0);
    assert_true(p.has_full);
}

static void test_cut_short(void **state)
{
    check_cuts(SOME FULL, -ENODATA);
}

static void test_garbage(void **state)
{
    static const char *const texts[] = {
        "\n",
        "nonsense",
        FULL,
        "some avg10=0.00 avg60=0.00 avg300=0.00\n",
        "some avg10=0.00 avg60=0.00 avg300=0.00 total=x\n",
        "some\n",
        "some \n",
        "some total=\n",
        "some total= 5\n",
        "some total=5 6\n",
        "some total=99999999999999999999\n",
        "some total=1\nfull total=-1\n",
        SOME "full avg10=0.00 avg60=0.00 avg300=0.00\n",
        "some avg10=0.00 avg60=0.00 avg300=0.00 total=18446744073709552\n",
    };
    struct pressure p;
    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        assert_int_equal(parse(texts[i], &p), -EBADMSG);
    assert_int_equal(parse("some avg10=0 avg60=0 avg300=0 total=18446744073709551\n", &p), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_good),       cmocka_unit_test(test_old_kernel),
        cmocka_unit_test(test_new_kernel), cmocka_unit_test(test_cut_short),
        cmocka_unit_test(test_garbage),
    };
    return RUN("pressure", tests);
}
