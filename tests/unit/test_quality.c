/* SPDX-License-Identifier: MIT */
#include "metric/metric.h"

#include "unit.h"

/* These words stand in files: they do not change. */
static void test_words(void **state)
{
    assert_string_equal(quality_word(QUALITY_UNKNOWN), "unknown");
    assert_string_equal(quality_word(QUALITY_LOWER_BOUND), "lower bound");
    assert_string_equal(quality_word(QUALITY_SAMPLED), "sampled");
    assert_string_equal(quality_word(QUALITY_EXACT_IF_REAPED), "exact if reaped");
    assert_string_equal(quality_word(QUALITY_EXACT), "exact");
}

static void test_order(void **state)
{
    assert_true(QUALITY_UNKNOWN == 0); /* what is not set is unknown */
    assert_true(QUALITY_UNKNOWN < QUALITY_LOWER_BOUND);
    assert_true(QUALITY_LOWER_BOUND < QUALITY_SAMPLED);
    assert_true(QUALITY_SAMPLED < QUALITY_EXACT_IF_REAPED);
    assert_true(QUALITY_EXACT_IF_REAPED < QUALITY_EXACT);
    assert_int_equal(QUALITY_EXACT + 1, QUALITIES);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_words),
        cmocka_unit_test(test_order),
    };
    return RUN("quality", tests);
}
