/* SPDX-License-Identifier: MIT */
#include "source/kernel_file.h"

#include "unit.h"

static void test_has(void **state)
{
    struct scan list = scan_string("rw,cpu,cpuacct");
    assert_true(comma_list_has(list, "rw"));
    assert_true(comma_list_has(list, "cpu"));
    assert_true(comma_list_has(list, "cpuacct"));
    assert_false(comma_list_has(list, "cpuset"));
    assert_false(comma_list_has(list, "acct"));
    assert_false(comma_list_has(scan_string(""), "cpu"));
    assert_false(comma_list_has(scan_string("cpuacct"), "cpu"));
}

static void test_next(void **state)
{
    struct scan list = scan_string("a,,b"), word;
    assert_true(comma_list_next(&list, &word) && word.end - word.at == 1 && *word.at == 'a');
    assert_true(comma_list_next(&list, &word) && scan_done(&word));
    assert_true(comma_list_next(&list, &word) && word.end - word.at == 1 && *word.at == 'b');
    assert_false(comma_list_next(&list, &word));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_has),
        cmocka_unit_test(test_next),
    };
    return RUN("comma_list", tests);
}
