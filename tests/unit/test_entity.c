/* SPDX-License-Identifier: MIT */
#include "metric/metric.h"

#include "unit.h"

static void test_names(void **state)
{
    assert_string_equal(part_name(PART_COMBINED), "combined");
    assert_string_equal(part_name(PART_MAIN), "main");
    assert_string_equal(part_name(PART_DESCENDANTS), "descendants");
    assert_string_equal(part_prefix(PART_COMBINED), "target");
    assert_string_equal(part_prefix(PART_MAIN), "main");
    assert_string_equal(part_prefix(PART_DESCENDANTS), "descendants");
}

/* Names become keys and columns: they must differ. */
static void test_unique(void **state)
{
    for (enum part a = 0; a < PARTS; a++) {
        for (enum part b = 0; b < a; b++) {
            assert_string_not_equal(part_name(a), part_name(b));
            assert_string_not_equal(part_prefix(a), part_prefix(b));
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_unique),
    };
    return RUN("entity", tests);
}
