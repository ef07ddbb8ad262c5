/* SPDX-License-Identifier: MIT */
#include "source/cgroup/cgroup.h"

#include "base/util.h"
#include "unit.h"

static bool same(const struct cgroup_value *a, const struct cgroup_value *b)
{
    return a->unlimited == b->unlimited && a->value == b->value;
}

PARSER_HARNESS(parse_cgroup_value, struct cgroup_value, same)

static void check(const char *text, bool unlimited, uint64_t value)
{
    struct cgroup_value v;
    assert_int_equal(parse(text, &v), 0);
    assert_int_equal(v.unlimited, unlimited);
    assert_int_equal(v.value, value);
    check_cuts(text, -EBADMSG);
}

static void test_good(void **state)
{
    check("1073741824\n", false, 1073741824);
    check("0\n", false, 0);
    check("max\n", true, 0);
    check("-1\n", true, 0);
    check("9223372036854771712\n", true, 0);  /* pages of 4 KiB */
    check("9223372036854710272\n", true, 0);  /* pages of 64 KiB */
    check("18446744073709551615\n", true, 0); /* before Linux 4.0 */
    check("4611686018427387904\n", false, UINT64_C(1) << 62);
}

static void test_garbage(void **state)
{
    static const char *const texts[] = {"\n",    "maximum\n", "-2\n",   "-12\n",
                                        " 1\n",  "1 2\n",     "1\n2\n", "99999999999999999999\n",
                                        "0x10\n"};
    struct cgroup_value v;
    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        assert_int_equal(parse(texts[i], &v), -EBADMSG);
}

static void test_cpu_max(void **state)
{
    struct cgroup_cpu_max m;
    assert_int_equal(parse_cgroup_cpu_max(scan_string("max 100000\n"), &m), 0);
    assert_true(m.unlimited && m.quota_us == 0 && m.period_us == 100000);
    assert_int_equal(parse_cgroup_cpu_max(scan_string("50000 100000\n"), &m), 0);
    assert_true(!m.unlimited && m.quota_us == 50000 && m.period_us == 100000);
    static const char *const texts[] = {"",        "max",     "max\n",      "50000\n", "50000 0\n",
                                        "1 max\n", "1 2 3\n", "50000 1000", "x 1\n"};
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        memset(&m, UNTOUCHED, sizeof m);
        assert_int_equal(parse_cgroup_cpu_max(scan_string(texts[i]), &m), -EBADMSG);
        assert_true(is_untouched(&m, sizeof m));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_good),
        cmocka_unit_test(test_garbage),
        cmocka_unit_test(test_cpu_max),
    };
    return RUN("cgroup_value", tests);
}
