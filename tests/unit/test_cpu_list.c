/* SPDX-License-Identifier: MIT */
#include "source/kernel_file.h"

#include "base/util.h"
#include "unit.h"

static unsigned count(const char *text)
{
    struct cpu_list l;
    assert_int_equal(parse_cpu_list(scan_string(text), &l), 0);
    return cpu_list_count(&l);
}

static void test_good(void **state)
{
    assert_int_equal(count("0\n"), 1);
    assert_int_equal(count("0-3,8\n"), 5);
    assert_int_equal(count("\t0-127"), 128); /* as behind Cpus_allowed_list: */
    assert_int_equal(count("0,2-3,62-65,8191\n"), 8);
    assert_int_equal(count("0-8191\n"), 8192);
}

static void test_keep(void **state)
{
    struct cpu_list a, b;
    assert_int_equal(parse_cpu_list(scan_string("0-3\n"), &a), 0);
    assert_int_equal(parse_cpu_list(scan_string("2-127\n"), &b), 0);
    cpu_list_keep(&a, &b);
    assert_int_equal(cpu_list_count(&a), 2);
}

static void test_garbage(void **state)
{
    static const char *const texts[] = {
        "x\n",      "0-\n",  "-1\n",    "3-1\n",    "0,\n",   ",0\n",   "0,,1\n",
        "0 1\n",    "1,0\n", "0-3,2\n", "0-8192\n", "0- 3\n", "0, 1\n", "99999999999999999999\n",
        "0-3:1/2\n"};
    struct cpu_list l;
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        memset(&l, UNTOUCHED, sizeof l);
        assert_int_equal(parse_cpu_list(scan_string(texts[i]), &l), -EBADMSG);
        assert_true(is_untouched(&l, sizeof l));
    }
    assert_int_equal(parse_cpu_list(scan_string("\n"), &l), -ENODATA);
    assert_int_equal(parse_cpu_list(scan_string(""), &l), -ENODATA);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_good),
        cmocka_unit_test(test_keep),
        cmocka_unit_test(test_garbage),
    };
    return RUN("cpu_list", tests);
}
