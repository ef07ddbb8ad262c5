/* SPDX-License-Identifier: MIT */
#include "metric/frame.h"

#include "unit.h"

static void test_each_conserved_metric_has_a_place_of_its_own(void **state)
{
    struct inherited i = {0};
    uint64_t conserved = metric_fold_mask(FOLD_CONSERVED);
    assert_int_equal(__builtin_popcountll(conserved), INHERITED_METRICS);
    FOR_EACH_BIT(id, conserved)
    {
        assert_false(inherited_has(&i, id));
        inherited_put(&i, id, 1000 + id);
    }
    FOR_EACH_BIT(id, conserved)
    assert_int_equal(inherited_u64(&i, id), 1000 + id);
    assert_true(i.present == conserved);
}

static void test_unknown_is_nothing(void **state)
{
    struct inherited i = {0};
    inherited_put(&i, process_cpu_seconds, 7);
    assert_int_equal(inherited_u64(&i, process_faults_minor_count), 0);
    assert_int_equal(inherited_u64(&i, process_memory_rss_bytes), 0);
    assert_false(inherited_has(&i, process_memory_rss_bytes));
    inherited_put(&i, process_cpu_seconds, 8);
    assert_int_equal(inherited_u64(&i, process_cpu_seconds), 8);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_conserved_metric_has_a_place_of_its_own),
        cmocka_unit_test(test_unknown_is_nothing),
    };
    return RUN("inherited", tests);
}
